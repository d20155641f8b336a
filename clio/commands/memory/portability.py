"""/memory export, open, import and wipe: all memory as files, to read, pass on, import or delete."""

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from clio.commands.arguments import parse_options, suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    LongWork,
    Table,
    WorkControl,
    make_refusal,
    quote_code,
)
from clio.commands.memory.edits import parse_scope
from clio.commands.memory.memory_text import (
    AUTHOR_LABELS,
    add_score,
    describe_author,
    describe_foreign_memory,
    label_foreign_memory,
    requires_memory,
    suggest_options,
)
from clio.commands.memory.views import describe_action
from clio.commands.session_table import compute_unique_id_length, format_title, suggest_paths
from clio.config.paths import display_path
from clio.errors import SessionLocked, SessionNotFound, UsageError, UserError
from clio.memory.portability.import_bundle import ImportCounts, ImportSetup, merge_bundle
from clio.memory.portability.memory_files import (
    SECTIONS,
    WIPE_SCOPES,
    Bundle,
    FileSetSummary,
    KnowledgePart,
    MemoryPaths,
    Section,
    WipeScope,
    count_project_memories,
    decode_bundle,
    encode_bundle,
    is_bundle,
    list_file_sets,
    make_bundle,
    make_ltm_document,
    summarize_file_sets,
)
from clio.memory.portability.memory_files import wipe as delete
from clio.memory.retrieval.prompt_prefix import describe_trust
from clio.memory.store.ltm_store import read_imported_document
from clio.memory.store.memory_store import SCOPES
from clio.memory.store.record import KEYED_NOTE, PROJECT_KINDS, TYPED_KINDS, MemoryRecord, Provenance
from clio.memory.store.typed_store import Scope
from clio.memory.store.versions import Version
from clio.sessions.state import SessionInfo
from clio.storage.files import make_ignored_folder, write_atomic
from clio.text.formatting import format_bytes, format_stored_time
from clio.text.translation import mark, tr, tr_count

WHAT = {
    "all": mark("all memory"),
    "knowledge": mark("project memory, as an ltm.json"),
    "memories": mark("facts, events, notes, preferences"),
    "notes": mark("keyed notes"),
    "scenarios": mark("your task types"),
    "styles": mark("ratings of styles, and your own styles"),
    "feedback": mark("ratings of answers"),
}

SHOWN = "-"


@requires_memory
def export_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Export all memory with secrets replaced, to a file or the screen."""
    given = parse_options(argument, switches=("--force",), valued=("--what",))
    if len(given.words) > 1:
        return make_refusal(
            tr("/memory export takes one path, not {text!r}; put quotes around a path with spaces", text=given.text)
        )
    path = Path(given.words[0]).expanduser() if given.words and given.words[0] != SHOWN else None
    what = _parse_sections(given.options.get("--what"), path)
    if path is not None and (reason := _explain_unwritable(path, force="--force" in given.options)):
        return make_refusal(reason)
    ctx.memory.raise_if_off()
    data, counts = _encode_export(ctx, what)
    if path is None:
        return CommandResult(verbatim=data.decode("utf-8"), data=msgspec.json.decode(data))
    try:
        write_atomic(path, data)
    except OSError as error:
        return make_refusal(
            tr(
                "{path!r} cannot be written ({strerror}); choose a path you can write to",
                path=str(path),
                strerror=error.strerror,
            )
        )
    if what == ("knowledge",):
        number = counts.get("knowledge", 0)
        counts_text, more = tr_count(number, "memory"), {"entries": number}
    else:
        counts_text, more = format_bundle_counts(counts) or tr("empty, there is no memory yet"), {"counts": counts}
    return CommandResult(
        text=tr(
            "Wrote {path} ({bytes}): {counts_text}.",
            path=quote_code(str(path)),
            bytes=format_bytes(len(data)),
            counts_text=counts_text,
        ),
        data={"path": str(path), "bytes": len(data)} | more,
    )


def get_memory_paths(ctx: CommandContext) -> MemoryPaths:
    """Return the folders with the memory of this project and of the user."""
    return MemoryPaths(project=ctx.loaded.main_project, home=ctx.loaded.home)


def format_bundle_counts(counts: dict[str, int]) -> str:
    """Format counts: "12 project memories, 3 keyed notes". The two files of project memory are counted together."""

    def add(*names: str) -> int:
        return sum(counts.get(name, 0) for name in names)

    project, project_archived = add("knowledge", "project_memories"), add("knowledge_archived", "project_archived")
    user, styles, ratings = add("user_memories"), add("style_files"), add("feedback")
    parts = (
        (project, tr_count(project, "project memory")),
        (add("project_replaced"), tr("{count:,} replaced", count=add("project_replaced"))),
        (project_archived, tr("{count:,} archived", count=project_archived)),
        (user, tr_count(user, "user memory")),
        (add("user_replaced"), tr("{count:,} replaced", count=add("user_replaced"))),
        (add("user_archived"), tr("{count:,} archived", count=add("user_archived"))),
        (add("notes"), tr_count(add("notes"), "keyed note")),
        (styles, tr_count(styles, "own style")),
        (ratings, tr_count(ratings, "line of feedback", "lines of feedback")),
    )
    return ", ".join(text for number, text in parts if number)


def _encode_export(ctx: CommandContext, what: Collection[Section]) -> tuple[bytes, dict[str, int]]:
    def redact(text: str) -> str:
        return ctx.redactor.redact(text).text

    places = get_memory_paths(ctx)
    if what == ("knowledge",):
        data = make_ltm_document(places, redact)
        return data, {"knowledge": count_project_memories(msgspec.Raw(data))}
    bundle = make_bundle(places, redact=redact, now=time.time(), what=what)
    return encode_bundle(bundle), bundle.head.counts


def _parse_sections(name: str | None, path: Path | None) -> tuple[Section, ...]:
    """Return the requested sections; by default only project memory for a file whose name ends in ltm.json."""
    if name is None:
        return ("knowledge",) if path and path.name.endswith("ltm.json") else SECTIONS
    typed = name.strip().lower()
    if typed == "all":
        return SECTIONS
    for section in SECTIONS:
        if typed == section:
            return (section,)
    raise UsageError(
        tr("There is no part {name!r} to export; {suggest_name}", name=name, suggest_name=suggest_name(typed, WHAT))
    )


def _explain_unwritable(path: Path, *, force: bool) -> str:
    """Return why the path cannot be written; "" if it can."""
    if path.is_dir():
        return tr(
            "{path!r} is a folder; name a file in it, such as {example!r}",
            path=str(path),
            example=str(path / "all.json"),
        )
    if path.exists() and not force:
        return tr("{path!r} exists; --force replaces it", path=str(path))
    if not path.parent.is_dir():
        return tr(
            "There is no folder {parent!r} to write {path!r} into; create it first",
            parent=str(path.parent),
            path=path.name,
        )
    return ""


MAX_IMPORT_BYTES = 500_000_000  # the file is read into memory; a real export has some megabytes


@requires_memory
def import_bundle(ctx: CommandContext, argument: str) -> CommandResult:
    """Import a bundle, or the project memory of another ltm.json, also of the Perl CLIO.

    Memories without an author count as the model's, because the user of this clio did not state them.
    """
    given = parse_options(argument, switches=("--dry-run",), valued=("--scope",))
    if len(given.words) != 1:
        return make_refusal(tr("Which file? Write /memory import PATH, with quotes around a path with spaces"))
    path, dry_run = Path(given.words[0]).expanduser(), "--dry-run" in given.options
    scope = parse_scope(given.options.get("--scope"))
    ctx.memory.raise_if_off()
    data = _read_import_file(path)
    if is_bundle(data):
        bundle = decode_bundle(data, path)
        return _import_in_background(
            lambda track: _import_bundle(ctx, path, bundle, scope, dry_run=dry_run, track=track)
        )
    if scope == "user":
        return make_refusal(
            tr("{path!r} is an ltm.json, which contains only project memory; leave out --scope user", path=str(path))
        )
    return _import_in_background(lambda track: _import_project_memory(ctx, path, data, dry_run=dry_run, track=track))


def _import_in_background(work: Callable[[WorkControl], CommandResult]) -> CommandResult:
    return CommandResult(follow_up=LongWork(label=tr("importing"), work=work))


def _import_bundle(
    ctx: CommandContext, path: Path, bundle: Bundle, scope: Scope | None, *, dry_run: bool, track: WorkControl
) -> CommandResult:
    taken = _merge_bundle(ctx, path, bundle, scope, dry_run=dry_run, track=track)
    data = {
        "path": str(path),
        "dry_run": dry_run,
        "parts": [msgspec.to_builtins(one) for one in taken],
    }
    if not taken:
        kind = tr("memory") if scope is None else tr("{scope} memory", scope=scope)
        return CommandResult(text=tr("There is no {kind} in {path}.", kind=kind, path=quote_code(str(path))), data=data)
    changes = sum(one.changes for one in taken)
    head = bundle.head
    origin = tr(
        ", written {stored_time} in {project}",
        stored_time=format_stored_time("%Y-%m-%d", head.at),
        project=quote_code(head.project or "?"),
    )
    verb = tr("Would change") if dry_run else tr("Changed")
    text = tr(
        "{verb} {items} from {path}{origin}.",
        verb=verb,
        items=tr_count(changes, "item"),
        path=quote_code(str(path)),
        origin=origin if head.at else "",
    )
    if not changes:
        nothing = tr("Nothing would change") if dry_run else tr("Nothing changed")
        text = tr(
            "{nothing}: all of {path} is already known, or differs and is not replaced.",
            nothing=nothing,
            path=quote_code(str(path)),
        )
    # Rules and hard limits are in every prompt, so the user should know how many a stranger's file brings.
    user_changes = sum(one.changes for one in taken if one.section == "memories" and one.scope == "user")
    if user_changes and (rules := _count_rules(bundle, scope)):
        text += tr(
            " {limits} every prompt.",
            limits=tr_count(rules, "rule or hard limit in it reaches", "rules and hard limits in it reach"),
        )
    if changes and not dry_run:
        text += tr(
            " `/memory undo` undoes memories and notes as one change; archives, task types, styles and ratings are not "
            "undone."
        )
    return CommandResult(text=text, table=_make_import_table(taken), data=data)


def _import_project_memory(
    ctx: CommandContext, path: Path, data: bytes, *, dry_run: bool, track: WorkControl
) -> CommandResult:
    # Editors on Windows begin such a file with a byte order mark.
    text = data.decode("utf-8-sig", "replace")
    read_imported_document(text)
    part = KnowledgePart(ltm=msgspec.Raw(text.encode("utf-8", "replace")))
    taken = _merge_bundle(ctx, path, Bundle(knowledge=part), None, dry_run=dry_run, track=track)
    one = taken[0] if taken else ImportCounts(section="knowledge", scope="project", what="")
    parts = [
        tr("{new:,} new", new=one.new),
        tr("{changed:,} confirmed", changed=one.changed),
        tr("{known:,} already known", known=one.known),
    ]
    undo = tr(" · `/memory undo`") if one.changes and not dry_run else ""
    would = tr("Would import from") if dry_run else tr("From")
    return CommandResult(
        text=f"{would} {quote_code(str(path))}: {', '.join(parts)}{undo}",
        data={"path": str(path), "added": one.new, "confirmed": one.changed, "skipped": one.known}
        | ({"dry_run": True} if dry_run else {}),
    )


def _merge_bundle(
    ctx: CommandContext, path: Path, bundle: Bundle, scope: Scope | None, *, dry_run: bool, track: WorkControl
) -> tuple[ImportCounts, ...]:
    places = get_memory_paths(ctx)
    setup = ImportSetup(
        paths=places,
        logs=ctx.memory.store.logs,  # records before the first change that this clio writes the memory here
        by=Provenance(session=ctx.session.id),
        now=time.time(),
        redact=lambda text: ctx.redactor.redact(text).text,
        dry_run=dry_run,
    )
    return merge_bundle(setup, bundle, name=path.name, scope=scope, stop=track.is_stopped, tell=track.report_progress)


def _make_import_table(taken: tuple[ImportCounts, ...]) -> Table:
    """Return what was imported of each part, without empty columns."""
    names = ("new", "changed", "known", "kept", "forgotten", "unusable")
    heads = {
        "new": mark("new"),
        "changed": mark("newer"),
        "known": mark("known"),
        "kept": mark("not replaced"),
        "forgotten": mark("forgotten here"),
        "unusable": mark("unreadable"),
    }
    used = [name for name in names if any(getattr(one, name) for one in taken)]
    rows = tuple((tr(one.what), *(f"{getattr(one, name):,}" for name in used)) for one in taken)
    return Table(columns=(tr("what"), *(tr(heads[name]) for name in used)), rows=rows)


def _count_rules(bundle: Bundle, scope: Scope | None) -> int:
    """Return how many preferences of the bundle are valid rules or hard limits."""
    part = bundle.memories.user.records if bundle.memories and scope != "project" else ()
    return sum(one.is_live and one.kind == "preference" and (one.explicit or one.is_limit) for one in part)


def _read_import_file(path: Path) -> bytes:
    if not path.exists():
        raise UserError(
            tr("There is no file {path!r} to import; give the path of a bundle or an ltm.json", path=str(path))
        )
    if not path.is_file():
        raise UserError(tr("{path!r} is not a file; give the path of a bundle or an ltm.json", path=str(path)))
    # Checked before reading: any file may be named by mistake.
    if path.stat().st_size > MAX_IMPORT_BYTES:
        large = format_bytes(path.stat().st_size)
        raise UserError(
            tr(
                "{path!r} has {large}, too large for an export of clio; is it another file?",
                path=str(path),
                large=large,
            )
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(
            tr("{path!r} cannot be read ({strerror}); nothing was imported", path=str(path), strerror=error.strerror)
        ) from error


WIPE_CHOICES = {
    "project": mark("all memory of this project"),
    "user": mark("your memories and preferences"),
    "styles": mark("what was learned about styles"),
    "all": mark("all three"),
}

_SESSIONS_STAY = mark("the sessions, which --sessions deletes too")

_STAYS = {"user": mark("scenarios.yaml and config.yaml"), "styles": mark("the style files you wrote")}


@requires_memory
def wipe_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what would be deleted, and delete it after the user has typed the scope."""
    given = parse_options(argument, switches=("--yes", "--dry-run", "--sessions"), valued=("--scope",))
    named = given.options.get("--scope") or (given.words[0] if given.words else None)
    if named is None or len(given.words) > ("--scope" not in given.options):
        return make_refusal(
            tr(
                "Wipe what? Write /memory wipe --scope {wipe_choices}; it shows what would be deleted, and asks",
                wipe_choices="|".join(WIPE_CHOICES),
            )
        )
    scope, scopes = _parse_wipe_scopes(named)
    with_sessions = "--sessions" in given.options
    if with_sessions and "project" not in scopes:
        return make_refusal(tr("Sessions belong to the project: --sessions needs --scope project or all"))
    ctx.memory.raise_if_off()
    file_sets = list_file_sets(get_memory_paths(ctx), scopes)
    to_delete = summarize_file_sets(get_memory_paths(ctx), file_sets)
    sessions = ctx.store.list() if with_sessions else []
    data = {
        "scope": scope,
        "wiped": False,
        "parts": [_make_wipe_data(ctx, one) for one in to_delete],
        "sessions": len(sessions),
    }
    stays = _describe_what_stays(scopes, with_sessions=with_sessions)
    if not to_delete and not sessions:
        return CommandResult(text=tr("There is nothing to wipe. {stays}", stays=stays), data=data)
    if "--dry-run" in given.options:
        return CommandResult(
            text=tr("This would be deleted permanently. {stays}", stays=stays),
            table=_make_wipe_table(ctx, to_delete, sessions),
            data=data,
        )
    if reason := _explain_synchronized(ctx, scopes):
        return make_refusal(reason)
    if "--yes" not in given.options:
        then = f"/memory wipe --scope {scope} --yes{' --sessions' if with_sessions else ''}"
        return CommandResult(
            text=tr(
                "This is deleted permanently and cannot be undone. {stays} `/memory export all.json` saves a copy.",
                stays=stays,
            ),
            table=_make_wipe_table(ctx, to_delete, sessions),
            data=data,
            follow_up=Confirm(question=tr("Delete all of it permanently?"), then=then, required_word=scope),
        )
    table = _make_wipe_table(ctx, to_delete, sessions)
    # Sessions first: the wipe marks those that remain as consolidated, so that nothing is learned from them again.
    gone, left = _delete_sessions(ctx, sessions)
    delete(get_memory_paths(ctx), file_sets)
    # This conversation was given the deleted memories and would otherwise store them again.
    ctx.memory.reset_after_wipe()
    return CommandResult(
        text=tr(
            "Deleted permanently. {stays}{open_sessions}", stays=stays, open_sessions=_describe_open_sessions(ctx, left)
        ),
        table=table,
        data=data | {"wiped": True, "sessions": gone},
    )


def _explain_synchronized(ctx: CommandContext, scopes: Sequence[WipeScope]) -> str:
    """Return why these scopes cannot be wiped while they are synchronized; "" if they are not."""
    from clio.sync.engine import SyncFiles

    settings = SyncFiles(ctx.loaded.home).settings()
    is_chosen = str(ctx.loaded.main_project) in settings.projects
    if not settings.remote or (tuple(scopes) == ("project",) and not is_chosen):
        return ""
    return tr(
        "this memory is synchronized, and would come back from {remote}; first run clio sync {off}, and delete the "
        "repository if the memory should be gone there too",
        remote=quote_code(settings.remote),
        off="project --off" if tuple(scopes) == ("project",) else "off",
    )


def _parse_wipe_scopes(name: str) -> tuple[str, tuple[WipeScope, ...]]:
    wanted = name.strip().lower()
    if wanted == "all":
        return wanted, WIPE_SCOPES
    for scope in WIPE_SCOPES:
        if wanted == scope:
            return wanted, (scope,)
    raise UsageError(
        tr(
            "There is no scope {name!r} to wipe; {suggest_name}",
            name=name,
            suggest_name=suggest_name(wanted, WIPE_CHOICES),
        )
    )


def _describe_what_stays(scopes: Sequence[WipeScope], *, with_sessions: bool) -> str:
    """Return what is not deleted, and how to delete the sessions too."""
    kept = [tr(_SESSIONS_STAY)] if "project" in scopes and not with_sessions else []
    kept += [tr(_STAYS[scope]) for scope in scopes if scope in _STAYS]
    return tr("Not deleted: {kept}.", kept="; ".join(kept)) if kept else ""


def _make_wipe_table(
    ctx: CommandContext, to_delete: Sequence[FileSetSummary], sessions: Sequence[SessionInfo]
) -> Table:
    rows = [
        (
            one.file_set.what,
            "" if one.records is None else f"{one.records:,}",
            format_bytes(one.bytes),
            _describe_place(ctx, one),
        )
        for one in to_delete
    ]
    if sessions:
        rows.append((tr("sessions"), f"{len(sessions):,}", "", ".clio/sessions"))
    return Table(columns=(tr("what"), tr("how many"), tr("size"), tr("where")), rows=tuple(rows))


def _describe_place(ctx: CommandContext, one: FileSetSummary) -> str:
    file_set = one.file_set
    files = file_set.files()
    place = files[0] if len(files) == 1 else file_set.folder / file_set.names[0]
    shown = file_set.folder if file_set.names == ("*",) else place
    return display_path(shown, project=ctx.loaded.project, user_home=ctx.loaded.home.parent)


def _make_wipe_data(ctx: CommandContext, one: FileSetSummary) -> dict[str, object]:
    return {
        "what": one.file_set.kind,
        "records": one.records,
        "bytes": one.bytes,
        "files": [str(path) for path in one.file_set.files()],
    }


def _delete_sessions(ctx: CommandContext, sessions: Sequence[SessionInfo]) -> tuple[int, int]:
    """Return how many sessions were deleted, and how many are open and stay."""
    gone = left = 0
    for info in sessions:
        try:
            ctx.store.delete(info.id)
            gone += 1
        # The clio that has it open would write it again; the answer says that it stays.
        except SessionLocked:
            left += 1
        except SessionNotFound:
            gone += 1  # another process has deleted it
    return gone, left


def _describe_open_sessions(ctx: CommandContext, left: int) -> str:
    """Return a note about open conversations, whose context a wipe does not change."""
    others = sum(info.running for info in ctx.store.list() if info.id != ctx.session.id)
    parts = [tr(" {sessions} open and stay.", sessions=tr_count(left, "session is", "sessions are"))] if left else []
    if ctx.session.messages:
        parts.append(
            tr(
                " This conversation still has the memories it received; {value} starts without them.",
                value=quote_code("/session new"),
            )
        )
    if others:
        parts.append(
            tr(
                " {conversations} open here and keep theirs.",
                conversations=tr_count(others, "other conversation is", "other conversations are"),
            )
        )
    return "".join(parts)


PORTABILITY_ROWS: tuple[Command, ...] = (
    Command(
        name="export",
        argument="[PATH] [--what PART] [--force]",
        summary=mark("export all memory to one file"),
        handler=export_memory,
        suggest_word=suggest_options(
            ("--what", mark("all, or only one part, such as knowledge"), WHAT),
            ("--force", mark("replace an existing file")),
            words=suggest_paths,
        ),
    ),
    Command(
        name="import",
        argument="PATH [--scope S] [--dry-run]",
        summary=mark("import an export of another clio, or an ltm.json"),
        handler=import_bundle,
        suggest_word=suggest_options(
            ("--scope", mark("only the project's or the user's memory"), dict.fromkeys(SCOPES, "")),
            ("--dry-run", mark("only count what would change")),
            words=suggest_paths,
        ),
    ),
    Command(
        name="wipe",
        argument="--scope S [--sessions] [--dry-run] [--yes]",
        summary=mark("delete memory permanently, after asking"),
        handler=wipe_memory,
        suggest_word=suggest_options(
            ("--scope", mark("project, user, styles or all"), WIPE_CHOICES),
            ("--sessions", mark("also the project's conversations")),
            ("--dry-run", mark("only show what would be deleted")),
        ),
    ),
)

_NO_BROWSER = "--no-browser"

_STATES = ("live", "variant", "superseded", "archived")


@requires_memory
@label_foreign_memory
def open_page(ctx: CommandContext, argument: str) -> CommandResult:
    """Write the page, and open it in the browser if the output is a terminal and not JSON."""
    given = parse_options(argument, switches=(_NO_BROWSER, "--force"))
    if len(given.words) > 1:
        return make_refusal(tr("/memory open takes one file, not {text!r}", text=given.text))
    from clio.export.memory_page import render_memory_page

    path = _choose_path(ctx, given.words[0] if given.words else "", force="--force" in given.options)
    memory = collect_memory(ctx)
    page = render_memory_page(
        memory,
        project=ctx.loaded.main_project.name,
        warning=describe_foreign_memory(ctx).replace("`", "") if ctx.loaded.has_foreign_memory else "",
        redact=lambda text: ctx.redactor.redact(text).text,
        now=time.time(),
    ).encode("utf-8")
    try:
        write_atomic(path, page)
    except OSError as error:
        raise UserError(
            tr("{path!r} cannot be written: {strerror}; choose another path", path=str(path), strerror=error.strerror)
        ) from error
    may_open = _NO_BROWSER not in given.options and not ctx.is_json and sys.stdout.isatty()
    is_opened = may_open and _show_in_browser(path)
    count = tr_count(len(memory["memories"]), "memory", "memories")
    opened = tr(" Opened it in the browser.") if is_opened else ""
    text = tr(
        "Wrote {path}: {count}, {bytes}.{opened}",
        path=quote_code(str(path)),
        count=count,
        bytes=format_bytes(len(page)),
        opened=opened,
    )
    return CommandResult(text=text, data={"path": str(path)})


def _choose_path(ctx: CommandContext, typed: str, *, force: bool) -> Path:
    """Return the file to write, by default in the project's cache. Raises UserError for an unsuitable path."""
    if not typed:
        own = ctx.loaded.main_project / ".clio"
        make_ignored_folder(own / "cache", own)
        return own / "cache" / "memory.html"
    try:
        path = Path.cwd() / Path(typed).expanduser()
    except RuntimeError:
        raise UserError(tr("There is no home folder for {typed!r}; write the full path", typed=typed)) from None
    if path.is_dir():
        path /= "memory.html"
    elif not path.suffix:
        path = path.with_name(f"{path.name}.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise UserError(tr("{path!r} does not end in .html; /memory export writes other formats", path=path.name))
    if reason := _explain_unwritable(path, force=force):
        raise UserError(reason)
    return path


def _show_in_browser(path: Path) -> bool:
    """Open the page in a browser with a window; return whether one was started.

    A browser that runs in the terminal, such as lynx, would write over clio's screen.
    """
    import webbrowser

    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        browser = webbrowser.get()
        return type(browser) is not webbrowser.GenericBrowser and browser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False


def collect_memory(ctx: CommandContext) -> dict[str, Any]:
    """Return all memories as plain values: {"memories": [...], "changes": [...]}.

    The page is rendered from these values alone, so that it does not depend on the classes of the stores.

    A memory has: id, kind, scope, state ("live", "variant", "superseded" or "archived"), because (why it was
    archived), text, by (its author), session, trust, confidence, importance, score, created, confirmed, uses, times
    (how often it was stated), files [{path, state}], versions [{text, since, until, because, by}] newest first,
    replaced_by {id, text} or None, against {id, text} (the memory that a variant contradicts) or None. A change has:
    at, what, kind, id, text, before (the earlier text), by, because. Times are seconds since the epoch; 0.0 if
    unknown.
    """
    memory = ctx.memory
    infos = ctx.store.list()
    id_chars = compute_unique_id_length(info.id for info in infos)
    sessions = {info.id: f"“{format_title(info)}” ({info.id[:id_chars]})" for info in infos}
    all_versions = memory.store.versions()
    found: list[dict[str, Any]] = []
    seen = set[str]()

    history: defaultdict[str, list[Version]] = defaultdict(list)
    for version in all_versions:
        history[version.record.id].append(version)
    stores = {"project": memory.store.project, "user": memory.store.user}
    typed = {scope: store.records(superseded=True) for scope, store in stores.items()}
    records = {record.id: record for listed in typed.values() for record in listed}

    def add(record: MemoryRecord, scope: str, state: str) -> None:
        if record.id in seen:
            return
        seen.add(record.id)
        versions = history[record.id]
        last = versions[-1] if versions else None
        found.append(
            _make_record_data(ctx, record, sessions)
            | {
                "scope": scope,
                "state": state,
                "because": last.because if state == "archived" and last else "",
                "versions": [_make_version_data(version) for version in reversed(versions)],
                "replaced_by": _make_reference_data(record.superseded_by, records),
                "against": _make_reference_data(record.variants_of, records),
            }
        )

    for entry in memory.store.records(PROJECT_KINDS):
        add(entry, "project", "live")
    for scope, listed in typed.items():
        for record in listed:
            add(record, scope, "superseded" if not record.is_live else "variant" if record.is_variant else "live")
    for entry in memory.store.ltm.archived():
        add(entry, "project", "archived")
    for scope, store in stores.items():
        for version in reversed(store.versions()):
            if version.is_final and version.because != "undone":
                add(version.record, scope, "archived")
    for note in memory.store.notes():
        add(note, "project", "live")
    found.sort(key=lambda one: (_STATES.index(one["state"]), -one["confirmed"]))
    changes: list[dict[str, Any]] = [
        {name: getattr(change, name) for name in ("at", "what", "kind", "id", "before", "by", "because")}
        | {"text": add_score(change.text, change.score, is_rule=change.is_rule), "action": describe_action(change)}
        for change in memory.store.changes()
    ]
    changes += [
        {"at": one["created"], "what": "stored", "kind": KEYED_NOTE, "id": one["id"], "text": one["text"]}
        | {"before": "", "by": "", "because": "", "action": tr("stored")}
        for one in found
        if one["is_named"]
    ]
    return {"memories": found, "changes": sorted(changes, key=lambda change: -change["at"])}


def _make_record_data(ctx: CommandContext, record: MemoryRecord, sessions: dict[str, str]) -> dict[str, Any]:
    return {
        "id": record.id,
        "kind": KEYED_NOTE if record.key else "limit" if record.is_limit else record.kind,
        "is_named": bool(record.key),
        "text": _format_text(record),
        "by": describe_author(record) if record.by or record.author else "",
        "session": sessions.get(record.session, record.session),
        "trust": describe_trust(record),
        "confidence": None if record.key else record.confidence,
        "importance": record.importance if record.kind in TYPED_KINDS and not record.key else None,
        "score": record.score,
        "created": record.created,
        "confirmed": record.updated,
        "uses": record.access_count,
        "times": record.times,
        "files": [
            {"path": path, "state": _compare_file(ctx, record, path)}
            for path in dict.fromkeys((*record.examples, *record.hashes))
        ],
    }


def _make_version_data(version: Version) -> dict[str, Any]:
    record = version.record
    return {
        "text": _format_text(record),
        "since": version.since,
        "until": version.until,
        "because": version.because,
        "by": tr(AUTHOR_LABELS[record.author]) if record.author else "",
    }


def _format_text(record: MemoryRecord) -> str:
    """Return the text of a memory, without its files."""
    line = structs.replace(record, examples=(), rivals=()).render_line(tr)
    return record.content if line == " ".join(record.content.split()) else line


def _make_reference_data(id: str | None, records: dict[str, MemoryRecord]) -> dict[str, str] | None:
    if id is None:
        return None
    return {"id": id, "text": _format_text(records[id]) if id in records else ""}


def _compare_file(ctx: CommandContext, record: MemoryRecord, path: str) -> str:
    """Compare one bound file to its saved hash: "fresh", "drifted", "gone" or "unbound"."""
    if path not in record.hashes:
        return "unbound"
    one = structs.replace(record, hashes={path: record.hashes[path]})
    return ctx.memory.store.freshness((one,))[record.id]


OPEN_ROWS: tuple[Command, ...] = (
    Command(
        name="open",
        argument="[FILE] [--no-browser] [--force]",
        summary=mark("all memories as one HTML page in the browser"),
        handler=open_page,
        suggest_word=suggest_options(
            (_NO_BROWSER, mark("only write the page")), ("--force", mark("replace a file that is there already"))
        ),
    ),
)
