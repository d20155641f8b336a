"""/memory export, import, wipe and share: all memory as files, to pass on, import, delete or share through git."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import cast

import msgspec

from clio.commands.arguments import ParsedArguments, parse_options, suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    LongWork,
    Suggestion,
    Table,
    WorkControl,
    make_refusal,
    quote_code,
)
from clio.commands.memory.memory_text import (
    make_memory_table,
    make_project_row,
    project_memory_data,
    requires_memory,
    suggest_options,
)
from clio.commands.session_table import suggest_paths
from clio.config.paths import FOLDER_NAME, display_path
from clio.config.project_links import SHARED_NAME
from clio.errors import SessionLocked, SessionNotFound, UsageError, UserError
from clio.memory.portability.export import (
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
from clio.memory.portability.export import wipe as delete
from clio.memory.portability.import_bundle import ImportCounts, ImportSetup, merge_bundle
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.ltm_objects import read_imported_document
from clio.memory.store.memory_store import SCOPES
from clio.memory.store.record import MemoryRecord, Provenance
from clio.memory.store.typed_store import Scope
from clio.memory.team.knowledge import TIDY_DAYS
from clio.memory.team.share import Rule, Status
from clio.sessions.state import SessionInfo
from clio.storage.files import write_atomic
from clio.text.formatting import format_bytes, format_count, format_stored_time
from clio.text.scoring import HARD_LIMIT_SCORE

WHAT = {
    "all": "all memory",
    "knowledge": "project memory, as an ltm.json",
    "memories": "facts, events, notes, preferences",
    "notes": "the notes by their keys",
    "scenarios": "your task types",
    "styles": "ratings of styles, and your own styles",
    "feedback": "ratings of answers",
}
SHOWN = "-"
_NAMES = {
    "knowledge": ("project memory", "project memories"),
    "knowledge_archived": ("archived", "archived"),
    "project_memories": ("memory of the project", "memories of the project"),
    "project_replaced": ("replaced", "replaced"),
    "project_archived": ("archived", "archived"),
    "user_memories": ("user memory", "user memories"),
    "user_replaced": ("replaced", "replaced"),
    "user_archived": ("archived", "archived"),
    "notes": ("note", "notes"),
    "style_files": ("own style", "own styles"),
    "feedback": ("line of feedback", "lines of feedback"),
}


@requires_memory
def export_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Export all memory with secrets replaced, to a file or the screen."""
    given = parse_options(argument, switches=("--force",), valued=("--what",))
    if len(given.words) > 1:
        return make_refusal(f"/memory export takes one path, not {given.text!r}; put quotes around a path with spaces")
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
        return make_refusal(f"{str(path)!r} cannot be written ({error.strerror}); choose a path you can write to")
    if what == ("knowledge",):
        number = counts.get("knowledge", 0)
        counts_text, more = format_count(number, "memory"), {"entries": number}
    else:
        counts_text, more = format_bundle_counts(counts) or "empty, there is no memory yet", {"counts": counts}
    return CommandResult(
        text=f"Wrote {quote_code(str(path))} ({format_bytes(len(data))}): {counts_text}.",
        data={"path": str(path), "bytes": len(data)} | more,
    )


def memory_places(ctx: CommandContext) -> MemoryPaths:
    """Return the folders with the memory of this project and of the user."""
    return MemoryPaths(project=ctx.loaded.main_project, home=ctx.loaded.home)


def format_bundle_counts(counts: dict[str, int]) -> str:
    """Format counts, such as "12 project memories, 3 notes"."""
    return ", ".join(
        format_count(number, *_NAMES[name]) for name, number in counts.items() if number and name in _NAMES
    )


def _encode_export(ctx: CommandContext, what: Collection[Section]) -> tuple[bytes, dict[str, int]]:
    def clean(text: str) -> str:
        return ctx.redactor.redact(text).text

    places = memory_places(ctx)
    if what == ("knowledge",):
        data = make_ltm_document(places, clean)
        return data, {"knowledge": count_project_memories(msgspec.Raw(data))}
    bundle = make_bundle(places, clean=clean, now=time.time(), what=what)
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
    raise UsageError(f"There is no part {name!r} to export; {suggest_name(typed, WHAT)}")


def _explain_unwritable(path: Path, *, force: bool) -> str:
    """Return why the path cannot be written; "" if it can."""
    if path.is_dir():
        return f"{str(path)!r} is a folder; name a file in it, such as {str(path / 'all.json')!r}"
    if path.exists() and not force:
        return f"{str(path)!r} exists; --force replaces it"
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} to write {path.name!r} into; create it first"
    return ""


MAX_IMPORT_BYTES = 500_000_000  # the file is read into memory; a real export has some megabytes


@requires_memory
def import_bundle(ctx: CommandContext, argument: str) -> CommandResult:
    """Import a bundle, or the project memory of another ltm.json, also of the Perl CLIO.

    Memories without an author count as the model's, because the user of this clio did not state them.
    """
    given = parse_options(argument, switches=("--dry-run",), valued=("--scope",))
    if len(given.words) != 1:
        return make_refusal("Which file? Write /memory import PATH, with quotes around a path with spaces")
    path, scope, dry_run = Path(given.words[0]).expanduser(), _parse_import_scope(given), "--dry-run" in given.options
    ctx.memory.raise_if_off()
    data = _read_import_file(path)
    if is_bundle(data):
        bundle = decode_bundle(data, path)
        return _import_in_background(
            lambda track: _import_bundle(ctx, path, bundle, scope, dry_run=dry_run, track=track)
        )
    if scope == "user":
        return make_refusal(f"{str(path)!r} is an ltm.json, which contains only project memory; leave out --scope user")
    return _import_in_background(lambda track: _import_project_memory(ctx, path, data, dry_run=dry_run, track=track))


def _import_in_background(work: Callable[[WorkControl], CommandResult]) -> CommandResult:
    return CommandResult(follow_up=LongWork(label="importing", work=work))


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
        kind = "memory" if scope is None else f"{scope} memory"
        return CommandResult(text=f"There is no {kind} in {quote_code(str(path))}.", data=data)
    changes = sum(one.changes for one in taken)
    head = bundle.head
    origin = f", written {format_stored_time('%Y-%m-%d', head.at)} in {quote_code(head.project or '?')}"
    verb = "Would change" if dry_run else "Changed"
    text = f"{verb} {format_count(changes, 'item')} from {quote_code(str(path))}{origin if head.at else ''}."
    if not changes:
        nothing = "Nothing would change" if dry_run else "Nothing changed"
        text = f"{nothing}: all of {quote_code(str(path))} is already known, or differs and is not replaced."
    # Rules and hard limits are in every prompt, so the user should know how many a stranger's file brings.
    user_changes = sum(one.changes for one in taken if one.section == "memories" and one.scope == "user")
    if user_changes and (rules := _count_rules(bundle, scope)):
        text += (
            f" {format_count(rules, 'rule or hard limit in it reaches', 'rules and hard limits in it reach')}"
            " every prompt."
        )
    if changes and not dry_run:
        text += (
            " `/memory undo` undoes memories and notes as one change; archives, task types, styles and ratings are not "
            "undone."
        )
    return CommandResult(text=text, table=_import_table(taken), data=data)


def _import_project_memory(
    ctx: CommandContext, path: Path, data: bytes, *, dry_run: bool, track: WorkControl
) -> CommandResult:
    # Editors on Windows begin such a file with a byte order mark.
    text = data.decode("utf-8-sig", "replace")
    read_imported_document(text)
    part = KnowledgePart(ltm=msgspec.Raw(text.encode("utf-8", "replace")))
    taken = _merge_bundle(ctx, path, Bundle(knowledge=part), None, dry_run=dry_run, track=track)
    one = taken[0] if taken else ImportCounts(section="knowledge", scope="project", what="")
    parts = [f"{one.new:,} new", f"{one.changed:,} confirmed", f"{one.known:,} already known"]
    undo = " · `/memory undo`" if one.changes and not dry_run else ""
    would = "Would import from" if dry_run else "From"
    return CommandResult(
        text=f"{would} {quote_code(str(path))}: {', '.join(parts)}{undo}",
        data={"path": str(path), "added": one.new, "confirmed": one.changed, "skipped": one.known}
        | ({"dry_run": True} if dry_run else {}),
    )


def _merge_bundle(
    ctx: CommandContext, path: Path, bundle: Bundle, scope: Scope | None, *, dry_run: bool, track: WorkControl
) -> tuple[ImportCounts, ...]:
    places = memory_places(ctx)
    setup = ImportSetup(
        paths=places,
        logs=ScopeLogs(places.folder, places.home),
        by=Provenance(session=ctx.session.id),
        now=time.time(),
        clean=lambda text: ctx.redactor.redact(text).text,
        dry_run=dry_run,
    )
    return merge_bundle(setup, bundle, name=path.name, scope=scope, stop=track.is_stopped, tell=track.report_progress)


def _import_table(taken: tuple[ImportCounts, ...]) -> Table:
    """Return what was imported of each part, without empty columns."""
    names = ("new", "changed", "known", "kept", "forgotten", "unusable")
    heads = {"changed": "newer", "kept": "not replaced", "forgotten": "forgotten here", "unusable": "unreadable"}
    used = [name for name in names if any(getattr(one, name) for one in taken)]
    rows = tuple((one.what, *(f"{getattr(one, name):,}" for name in used)) for one in taken)
    return Table(columns=("what", *(heads.get(name, name) for name in used)), rows=rows)


def _count_rules(bundle: Bundle, scope: Scope | None) -> int:
    """Return how many preferences of the bundle are valid rules or hard limits."""
    part = bundle.memories.user.records if bundle.memories and scope != "project" else ()
    return sum(record.is_live and _is_rule(record) for record in part)


def _is_rule(record: MemoryRecord) -> bool:
    return record.kind == "preference" and (
        record.explicit or (record.score is not None and record.score <= HARD_LIMIT_SCORE)
    )


def _parse_import_scope(given: ParsedArguments) -> Scope | None:
    name = given.options.get("--scope")
    if name is None:
        return None
    if name.lower() not in SCOPES:
        raise UsageError(f"--scope is project or user, not {name!r}")
    return cast(Scope, name.lower())


def _read_import_file(path: Path) -> bytes:
    if not path.exists():
        raise UserError(f"There is no file {str(path)!r} to import; give the path of a bundle or an ltm.json")
    if not path.is_file():
        raise UserError(f"{str(path)!r} is not a file; give the path of a bundle or an ltm.json")
    # Checked before reading: any file may be named by mistake.
    if path.stat().st_size > MAX_IMPORT_BYTES:
        large = format_bytes(path.stat().st_size)
        raise UserError(f"{str(path)!r} has {large}, too large for an export of clio; is it another file?")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read ({error.strerror}); nothing was imported") from error


WIPE_CHOICES = {
    "project": "all memory of this project",
    "user": "your memories and preferences",
    "styles": "what was learned about styles",
    "all": "all three",
}
_SESSIONS_STAY = "the sessions, which --sessions deletes too"
_STAYS = {"user": "scenarios.yaml and config.yaml", "styles": "the style files you wrote"}


@requires_memory
def wipe_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what would be deleted, and delete it after the user has typed the scope."""
    given = parse_options(argument, switches=("--yes", "--dry-run", "--sessions"), valued=("--scope",))
    named = given.options.get("--scope") or (given.words[0] if given.words else None)
    if named is None or len(given.words) > ("--scope" not in given.options):
        return make_refusal(
            f"Wipe what? Write /memory wipe --scope {'|'.join(WIPE_CHOICES)}; it shows what would be deleted, and asks"
        )
    scope, scopes = _parse_wipe_scopes(named)
    with_sessions = "--sessions" in given.options
    if with_sessions and "project" not in scopes:
        return make_refusal("Sessions belong to the project: --sessions needs --scope project or all")
    ctx.memory.raise_if_off()
    file_sets = list_file_sets(memory_places(ctx), scopes)
    to_delete = summarize_file_sets(memory_places(ctx), file_sets)
    sessions = ctx.store.list() if with_sessions else []
    data = {
        "scope": scope,
        "wiped": False,
        "parts": [_make_wipe_data(ctx, one) for one in to_delete],
        "sessions": len(sessions),
    }
    stays = _describe_what_stays(scopes, with_sessions=with_sessions)
    if not to_delete and not sessions:
        return CommandResult(text=f"There is nothing to wipe. {stays}", data=data)
    if "--dry-run" in given.options:
        return CommandResult(
            text=f"This would be deleted permanently. {stays}",
            table=_make_wipe_table(ctx, to_delete, sessions),
            data=data,
        )
    if "--yes" not in given.options:
        then = f"/memory wipe --scope {scope} --yes{' --sessions' if with_sessions else ''}"
        return CommandResult(
            text=f"This is deleted permanently and cannot be undone. {stays} `/memory export all.json` saves a copy.",
            table=_make_wipe_table(ctx, to_delete, sessions),
            data=data,
            follow_up=Confirm(question="Delete all of it permanently?", then=then, required_word=scope),
        )
    table = _make_wipe_table(ctx, to_delete, sessions)
    # Sessions first: the wipe marks those that remain as consolidated, so that nothing is learned from them again.
    gone, left = _delete_sessions(ctx, sessions)
    delete(memory_places(ctx), file_sets)
    # This conversation was given the deleted memories and would otherwise store them again.
    ctx.memory.wiped()
    return CommandResult(
        text=f"Deleted permanently. {stays}{_describe_open_sessions(ctx, left)}",
        table=table,
        data=data | {"wiped": True, "sessions": gone},
    )


def _parse_wipe_scopes(name: str) -> tuple[str, tuple[WipeScope, ...]]:
    wanted = name.strip().lower()
    if wanted == "all":
        return wanted, WIPE_SCOPES
    for scope in WIPE_SCOPES:
        if wanted == scope:
            return wanted, (scope,)
    raise UsageError(f"There is no scope {name!r} to wipe; {suggest_name(wanted, WIPE_CHOICES)}")


def _describe_what_stays(scopes: Sequence[WipeScope], *, with_sessions: bool) -> str:
    """Return what is not deleted, and how to delete the sessions too."""
    kept = [_SESSIONS_STAY] if "project" in scopes and not with_sessions else []
    kept += [_STAYS[scope] for scope in scopes if scope in _STAYS]
    return f"Not deleted: {'; '.join(kept)}." if kept else ""


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
        rows.append(("sessions", f"{len(sessions):,}", "", ".clio/sessions"))
    return Table(columns=("what", "how many", "size", "where"), rows=tuple(rows))


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
    parts = [f" {format_count(left, 'session is', 'sessions are')} open and stay."] if left else []
    if ctx.session.messages:
        parts.append(
            f" This conversation still has the memories it received; {quote_code('/session new')} starts without them."
        )
    if others:
        parts.append(
            f" {format_count(others, 'other conversation is', 'other conversations are')} open here and keep theirs."
        )
    return "".join(parts)


_OPTIONS = suggest_options(
    ("--what", "all, or only one part, such as knowledge"), ("--force", "replace an existing file")
)
_IMPORT_OPTIONS = suggest_options(
    ("--scope", "only the project's or the user's memory"), ("--dry-run", "only count what would change")
)

_WIPE_OPTIONS = suggest_options(
    ("--scope", "project, user, styles or all"),
    ("--sessions", "also the project's conversations"),
    ("--dry-run", "only show what would be deleted"),
)


def _suggest_export(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    before, _, word = argument.rpartition(" ")
    if before.endswith("--what"):
        return (Suggestion(text=name, note=note) for name, note in WHAT.items())
    return _OPTIONS(ctx, argument) if word.startswith("-") else suggest_paths(word)


def _suggest_import(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    before, _, word = argument.rpartition(" ")
    if before.endswith("--scope"):
        return (Suggestion(text=name) for name in SCOPES)
    return _IMPORT_OPTIONS(ctx, argument) if word.startswith("-") else suggest_paths(word)


def _suggest_wipe(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    before, _, word = argument.rpartition(" ")
    if before.endswith("--scope"):
        return (Suggestion(text=name, note=note) for name, note in WIPE_CHOICES.items())
    return _WIPE_OPTIONS(ctx, argument) if not word or word.startswith("-") else ()


CONTROL_ROWS: tuple[Command, ...] = (
    Command(
        name="export",
        argument="[PATH] [--what PART] [--force]",
        summary="export all memory to one file",
        handler=export_memory,
        suggest_word=_suggest_export,
    ),
    Command(
        name="import",
        argument="PATH [--scope S] [--dry-run]",
        summary="import an export of another clio, or an ltm.json",
        handler=import_bundle,
        suggest_word=_suggest_import,
    ),
    Command(
        name="wipe",
        argument="--scope S [--sessions] [--dry-run] [--yes]",
        summary="delete memory permanently, after a question",
        handler=wipe_memory,
        suggest_word=_suggest_wipe,
    ),
)


_FOLDER = f"{FOLDER_NAME}/{SHARED_NAME}"
_SHOWN, _PROBLEMS_SHOWN = 40, 5
_SHARE_VERBS = {
    "on": "share project memory, as files for git",
    "off": "move all of it back into ltm.json",
    "status": "shared memories, their authors, and whether git tracks them",
    "tidy": "delete files without a memory",
}


@requires_memory
def share_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the state of sharing, or change it."""
    given = parse_options(argument, switches=("--yes", "--gitignore"), valued=("--days",))
    word = given.words[0].lower() if given.words else "status"
    if word not in _SHARE_VERBS or len(given.words) > 1:
        return make_refusal(f"/memory share takes one of {', '.join(_SHARE_VERBS)}, not {given.text!r}")
    if "--gitignore" in given.options and word not in ("on", "status"):
        return make_refusal("--gitignore can only be used with /memory share on")
    match word:
        case "on":
            return _turn_on(ctx, agreed="--yes" in given.options, gitignore="--gitignore" in given.options)
        case "off":
            return _turn_off(ctx, agreed="--yes" in given.options)
        case "tidy":
            return _delete_empty_files(ctx, given.options.get("--days"))
        case _:
            return _show_status(ctx)


def _turn_on(ctx: CommandContext, *, agreed: bool, gitignore: bool) -> CommandResult:
    """Show what others would read, and share it after the user has agreed."""
    sharing = ctx.memory.sharing
    entries = sharing.list_shareable()
    data = {"on": False, "entries": [project_memory_data(entry) for entry in entries]}
    if not agreed:
        shown = entries[:_SHOWN]
        rest = f", {len(shown)} shown here; `/memory list` shows all" if len(shown) < len(entries) else ""
        text = (
            f"{format_count(len(entries), 'memory')} would become files in "
            f"`{_FOLDER}/`{rest}. Everyone with the "
            "repository can read them, and those you add from now on, with your git name. Secrets are replaced first. "
            "Notes, facts, events, preferences, styles and sessions stay private. Memories shared by others are read "
            "from then on."
        )
        then = f"/memory share on --yes{' --gitignore' if gitignore else ''}"
        table = make_memory_table([make_project_row(entry) for entry in shown], now=time.time()) if shown else None
        return CommandResult(text=text, table=table, data=data, follow_up=Confirm(question="Share them?", then=then))
    number = sharing.turn_on()
    added = sharing.fix_ignore_rules() if gitignore else ()
    status = sharing.status()
    parts = [f"{format_count(number, 'memory')} are now in `{_FOLDER}/`, {len(status.shared):,} with those of others."]
    parts += [f"Added to {quote_code(rule.file)}: {', '.join(map(quote_code, rule.lines))}." for rule in added]
    parts += [_explain_ignore_rule(status.rule)] if status.rule else []
    parts.append(_explain_commit(ctx, status))
    data = {"on": True, "shared": number, "added": msgspec.to_builtins(added), **_make_share_data(status)}
    return CommandResult(text="\n".join(part for part in parts if part), data=data)


def _turn_off(ctx: CommandContext, *, agreed: bool) -> CommandResult:
    sharing = ctx.memory.sharing
    if not agreed:
        status = sharing.status()
        if status.there and status.trusted:
            text = (
                f"{format_count(len(status.shared), 'memory')} would be moved into `{FOLDER_NAME}/ltm.json`, and "
                f"`{_FOLDER}/` deleted. If you commit that, it is deleted for everyone; agree with them first."
            )
            then = "/memory share off --yes"
            return CommandResult(
                text=text, data=_make_share_data(status), follow_up=Confirm(question="Do it?", then=then)
            )
    number = sharing.turn_off()
    return CommandResult(
        text=f"{format_count(number, 'memory')} are in `{FOLDER_NAME}/ltm.json` again; nothing is shared now.",
        data={"on": False, "taken_back": number},
    )


def _delete_empty_files(ctx: CommandContext, days: str | None) -> CommandResult:
    try:
        old = TIDY_DAYS if days is None else float(days)
    except ValueError:
        raise UsageError(f"--days takes a number of days, not {days!r}") from None
    if not old >= 0:
        raise UsageError(f"--days takes a number of days that is not below 0, not {days!r}")
    number = ctx.memory.sharing.tidy(old)
    return CommandResult(text=f"Deleted {format_count(number, 'file')} without a memory.", data={"deleted": number})


def _show_status(ctx: CommandContext) -> CommandResult:
    status = ctx.memory.sharing.status()
    if not status.there:
        own = format_count(len(status.private), "memory")
        text = f"Nothing is shared; {own} could be. `/memory share on` shares them."
        return CommandResult(text=text, data=_make_share_data(status))
    if not status.trusted:
        text = (
            f"`{_FOLDER}/` came with the project and is not read, because you do not trust it yet. "
            "Trust it with `/trust`; `/memory share on` trusts it and shares yours."
        )
        return CommandResult(text=text, data=_make_share_data(status))
    by = ", ".join(f"{name or 'unnamed'} {number:,}" for name, number in status.by.items())
    parts = [
        f"{format_count(len(status.shared), 'memory')} shared in `{_FOLDER}/`{f' (by {quote_code(by)})' if by else ''}."
    ]
    if status.private:
        parts.append(f"{format_count(len(status.private), 'memory')} not shared yet; `/memory share on` shares them.")
    parts += [
        _list_memories(status.rivals, "contradict a memory of another person; `/memory forget ID` of one resolves it")
    ]
    parts += [
        _list_memories(
            status.late, "changed while another person forgot them; `/memory add` with the same text restores one"
        )
    ]
    if status.problems:
        rows = [f"- {quote_code(f'{one.path}: {one.why}')}" for one in status.problems[:_PROBLEMS_SHOWN]]
        parts.append("\n".join([f"\n{format_count(len(status.problems), 'file')} left out:\n", *rows, ""]))
    if status.emptied:
        parts.append(
            f"{format_count(status.emptied, 'file')} without a memory; `/memory share tidy` deletes the old ones."
        )
    parts += [_explain_ignore_rule(status.rule)] if status.rule else []
    parts.append(_explain_commit(ctx, status))
    return CommandResult(text="\n".join(part for part in parts if part).strip(), data=_make_share_data(status))


def _list_memories(entries: tuple[MemoryRecord, ...], what: str) -> str:
    if not entries:
        return ""
    rows = [f"- {quote_code(f'{entry.id} {entry.content} ({entry.by})')}" for entry in entries[:_SHOWN]]
    return "\n".join([f"\n{format_count(len(entries), 'memory')} {what}:\n", *rows, ""])


def _explain_ignore_rule(rule: Rule) -> str:
    lines = ", ".join(map(quote_code, rule.lines))
    begin = (
        f"git ignores it: {quote_code(rule.pattern)} in {quote_code(rule.where)}"
        if rule.where
        else f"git also tracks your private files in `{FOLDER_NAME}/`"
    )
    return (
        f"{begin}. Put these lines at the end of {quote_code(rule.file)}, or `/memory share on "
        f"--gitignore` does: {lines}."
    )


def _explain_commit(ctx: CommandContext, status: Status) -> str:
    if not status.uncommitted:
        return ""
    files = format_count(status.uncommitted, "file is", "files are")
    ignoring = " .gitignore" if (ctx.loaded.main_project / ".gitignore").exists() else ""
    return f"{files} not committed: {quote_code(f'git add {FOLDER_NAME}{ignoring}')}, then commit."


def _make_share_data(status: Status) -> dict[str, object]:
    return {
        "there": status.there,
        "trusted": status.trusted,
        "shared": [project_memory_data(entry) for entry in status.shared],
        "private": len(status.private),
        "by": status.by,
        "rivals": [entry.id for entry in status.rivals],
        "late": [project_memory_data(entry) for entry in status.late],
        "emptied": status.emptied,
        "problems": msgspec.to_builtins(status.problems),
        "uncommitted": status.uncommitted,
        "rule": msgspec.to_builtins(status.rule),
    }


def _suggest_share(ctx: CommandContext, argument: str) -> list[Suggestion]:
    before, _, typed = argument.rpartition(" ")
    if not before:
        return [Suggestion(text=word, note=note) for word, note in _SHARE_VERBS.items() if word.startswith(typed)]
    options = {"on": [("--gitignore", "let git see the folder"), ("--yes", "without asking")]}
    return [Suggestion(text=text, note=note) for text, note in options.get(before.split(" ")[0], [])]


SHARE_ROWS: tuple[Command, ...] = (
    Command(
        name="share",
        argument="on|off|status|tidy [--gitignore] [--yes]",
        summary="share project memory with a team through git",
        handler=share_memory,
        suggest_word=_suggest_share,
    ),
)
