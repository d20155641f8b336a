"""/memory open: write all memories to one HTML page and open it in the browser."""

import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from msgspec import structs

from clio.commands.arguments import parse_options
from clio.commands.command import Command, CommandContext, CommandResult, make_refusal, quote_code
from clio.commands.memory.memory_text import (
    describe_author,
    describe_foreign_memory,
    label_foreign_memory,
    requires_memory,
    suggest_options,
)
from clio.commands.session_table import compute_unique_id_length, format_title
from clio.errors import UserError
from clio.memory.retrieval.prompt_prefix import describe_trust
from clio.memory.store.record import PROJECT_KINDS, TYPED_KINDS, MemoryRecord
from clio.memory.store.versions import Version
from clio.storage.files import make_ignored_folder, write_atomic
from clio.text.formatting import format_bytes
from clio.text.translation import mark, tr, tr_count

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
    if not path.parent.is_dir():
        raise UserError(
            tr("There is no folder {parent!r}; create it first, or choose another path", parent=str(path.parent))
        )
    if path.is_dir():
        raise UserError(tr("{path!r} is a folder; choose another path", path=str(path)))
    if path.exists() and not force:
        raise UserError(tr("{path!r} already exists; add --force to replace it", path=str(path)))
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
            if version.left and version.because != "undone":
                add(version.record, scope, "archived")
    for note in memory.store.notes():
        add(note, "project", "live")
    found.sort(key=lambda one: (_STATES.index(one["state"]), -one["confirmed"]))
    changes = [
        {name: getattr(change, name) for name in ("at", "what", "kind", "id", "text", "before", "by", "because")}
        for change in memory.store.changes()
    ]
    changes += [
        {"at": one["created"], "what": "stored", "kind": "note", "id": one["id"], "text": one["text"]}
        | {"before": "", "by": "", "because": ""}
        for one in found
        if one["is_named"]
    ]
    return {"memories": found, "changes": sorted(changes, key=lambda change: -change["at"])}


def _make_record_data(ctx: CommandContext, record: MemoryRecord, sessions: dict[str, str]) -> dict[str, Any]:
    session = record.provenance.session if record.provenance else ""
    return {
        "id": record.id,
        "kind": "limit" if record.is_limit else record.kind,
        "is_named": bool(record.key),
        "text": _format_text(record),
        "by": describe_author(record),
        "session": sessions.get(session, session),
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
        "by": {"user": "you", "model": tr("the model"), "tool": "a tool", "": ""}[record.author],
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
