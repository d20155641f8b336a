"""Load a session from its files, and fork a session. The files may be damaged or written by another program."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import CorruptDocument, SessionNotFound, UserError
from clio.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage, blob_handles
from clio.sessions import session_format
from clio.sessions.session_files import LoadedSession, attach_output, find_stored_outputs, output_readers
from clio.sessions.state import (
    Bill,
    PlanMode,
    SessionFiles,
    SessionLimit,
    SessionState,
    Todo,
    TodoStatus,
    Trim,
    derive_id,
    expand_spans,
)
from clio.storage.documents import (
    check_version,
    link_or_copy,
    make_corrupt_error,
    migrate_document,
    refuse_newer_version,
)
from clio.storage.files import make_folder, read_regular, sync_folder, write_atomic
from clio.storage.jsonl import read_lines
from clio.text.json_data import decode_json, repair_double_utf8
from clio.text.translation import tr

Json = dict[str, Any]
TODO_STATUSES: dict[str, TodoStatus] = {
    "pending": "pending",
    "not-started": "pending",
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "completed": "completed",
    "blocked": "blocked",
}


class ForeignSession(Struct, frozen=True, kw_only=True):
    """A session decoded tolerantly, with one warning for each kind of content that could not be decoded."""

    state: SessionState
    warnings: tuple[str, ...] = ()


def decode_foreign_session(document: Json, session_id: str, todos: Any = None) -> ForeignSession:
    """Decode a session from a JSON object of unknown origin.

    todos: the decoded todo list, which the original Perl version of clio stores in a separate file.

    Doubly encoded UTF-8 is repaired, unless the document has a `schema`: clio itself never writes such text.
    """
    # The original Perl version of clio encoded text as UTF-8 twice.
    if "schema" not in document:
        document, todos = _repair_encoding(document), _repair_encoding(todos)
    known: dict[str, Message] = {}
    history = [
        message
        for entry in _message_entries(document.get("history"))
        for message in _decode_message(entry, known, session_id)
    ]
    order = [message.id for message in history]
    threads = _decode_threads(document.get("yarn"), known, session_id, order)
    # The archive has trimmed messages, and the history those that were never trimmed; neither alone is complete.
    messages = _merge_orders(threads.get(session_id, []), order)
    for name in threads:
        messages = _merge_orders(messages, threads[name]) if name != session_id else messages
    stm = [id for id in expand_spans(_list(document.get("stm")), order) if id in known]
    times = [message.created for message in known.values()]
    created_at = _seconds(document.get("created_at")) or min(filter(None, times), default=0.0)
    state = SessionState(
        id=session_id,
        name=_text(document.get("session_name")) or None,
        created_at=created_at,
        updated_at=_seconds(document.get("updated_at")) or max([created_at, *times]),
        working_directory=_text(document.get("working_directory")),
        parent=_text(document.get("parent")) or None,
        model=_text(document.get("selected_model")) or None,
        token_ratio=_number(document.get("token_ratio")) or None,
        todos=decode_todos(document.get("todos") or todos),
        bills=_decode_bills(document.get("billing")),
        messages=[known[id] for id in messages],
        window_ids=stm or order,
        plan_mode=_decode_plan_mode(document.get("plan")),
        limits=_decode_limits(document.get("limits")),
        trims=_decode_trims(document.get("trims")),
        threads={name: ids for name, ids in threads.items() if name != session_id},
    )
    lost = len(_list(document.get("history"))) - sum(1 for _ in _message_entries(document.get("history")))
    warning = tr(
        "{lost} entries in the history of session {session_id!r} are not messages and were skipped.",
        lost=lost,
        session_id=session_id,
    )
    return ForeignSession(state=state, warnings=(warning,) if lost else ())


def decode_todos(value: Any) -> tuple[Todo, ...]:
    """Decode a todo list of the Perl original: `{"todos": [{"id", "title", "description", "status"}]}`, or the list."""
    if isinstance(value, dict):
        value = cast(Json, value).get("todos")
    todos: list[Todo] = []
    for entry in _dicts(value):
        number = int(_number(entry.get("id"))) or len(todos) + 1
        status = TODO_STATUSES.get(_text(entry.get("status")), "pending")
        note = _text(entry.get("note")) or _text(entry.get("description"))
        todos.append(Todo(id=number, title=_text(entry.get("title")), status=status, note=note))
    return tuple(todos)


def _decode_threads(value: Any, known: dict[str, Message], session_id: str, order: list[str]) -> dict[str, list[str]]:
    """Return the threads of the archive as message ids by name; add messages that only it contains to `known`."""
    threads: dict[str, list[str]] = {}
    pairs = cast(Json, value).items() if isinstance(value, dict) else [(session_id, value)]
    for name, thread in pairs:
        if isinstance(thread, dict):
            thread = cast(Json, thread).get("messages")
        ids: list[str] = []
        for entry in _list(thread):
            if isinstance(entry, str | list):
                ids += [id for id in expand_spans([cast("object", entry)], order) if id in known]
            elif isinstance(entry, dict):
                own = _text(cast(Json, entry).get("id"))
                found = [known[own]] if own in known else _decode_message(cast(Json, entry), known, session_id)
                ids += [message.id for message in found]
        if ids:
            threads[name] = list(dict.fromkeys(ids))
    return threads


def _merge_orders(archive: list[str], history: list[str]) -> list[str]:
    """Merge two lists of ids in the archive's order; ids only in `history` follow their predecessor there."""
    present = set(archive)
    after: dict[str, list[str]] = {}
    neighbour = ""
    for id in history:
        if id in present:
            neighbour = id
        else:
            after.setdefault(neighbour, []).append(id)
    merged = after.get("", [])
    for id in archive:
        merged += [id, *after.get(id, [])]
    return merged


def _decode_message(entry: Json, known: dict[str, Message], session_id: str) -> list[Message]:
    """Decode an entry's message and add it to `known`; return [] if it is known already."""
    nested = entry.get("content")
    if isinstance(nested, dict) and "role" in nested:
        entry = cast(Json, nested)
    id = _text(entry.get("id"))
    if id in known:
        return []
    # The same id at every load: archived turns and trims refer to messages by id.
    id = id or _derive_message_id(session_id, len(known), entry)
    known[id] = _convert_message(entry, id)
    return [known[id]]


def _convert_message(entry: Json, id: str) -> Message:
    content, created = _decode_content(entry.get("content")), _find_created(entry)
    try:
        # The strict form first: it keeps fields, such as reasoning, that the tolerant reading below does not know.
        message = msgspec.convert(entry | {"id": id}, Message)
    except msgspec.ValidationError:
        pass
    else:
        return message if message.created else msgspec.structs.replace(message, created=created)
    match entry.get("role"):
        case "user" | "human":
            return UserMessage(content=content, id=id, created=created)
        case "assistant" | "model" | "ai":
            calls = tuple(
                _decode_call(call, f"{id}-{index}") for index, call in enumerate(_dicts(entry.get("tool_calls")))
            )
            return AssistantMessage(content=content, tool_calls=calls, id=id, created=created)
        case "tool" | "function":
            call_id, name = _text(entry.get("tool_call_id")), _text(entry.get("name"))
            return ToolMessage(tool_call_id=call_id, content=content, name=name, id=id, created=created)
        case _:
            return SystemMessage(content=content, id=id, created=created)


def _decode_call(call: Json, fallback_id: str) -> ToolCall:
    function = call.get("function")
    body = cast(Json, function) if isinstance(function, dict) else call
    arguments = body.get("arguments")
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
    return ToolCall(id=_text(call.get("id")) or fallback_id, name=_text(body.get("name")), arguments=text)


def _repair_encoding(value: Any) -> Any:
    """Return the JSON value with doubly encoded UTF-8 repaired in every string."""
    if isinstance(value, str):
        return repair_double_utf8(value)
    if isinstance(value, list):
        return [_repair_encoding(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {key: _repair_encoding(item) for key, item in cast(Json, value).items()}
    return value


def _decode_trims(value: Any) -> list[Trim]:
    """Return the trims in a file of clio that was edited; [] if they do not decode."""
    try:
        return msgspec.convert(value or [], list[Trim])
    except msgspec.ValidationError:
        return []


def _decode_plan_mode(value: Any) -> PlanMode | None:
    """Return the state of plan mode in such a file; None if it is missing or does not decode."""
    try:
        return msgspec.convert(value, PlanMode | None)
    except msgspec.ValidationError:
        return None


def _decode_limits(value: Any) -> tuple[SessionLimit, ...]:
    """Return the limits for the session in such a file; () if they do not decode."""
    try:
        return msgspec.convert(value or (), tuple[SessionLimit, ...])
    except msgspec.ValidationError:
        return ()


def _decode_bills(value: Any) -> list[Bill]:
    requests = cast(Json, value).get("requests") if isinstance(value, dict) else None
    return [
        Bill(
            model=_text(request.get("model")),
            prompt_tokens=int(_number(request.get("prompt_tokens"))),
            completion_tokens=int(_number(request.get("completion_tokens"))),
            cached_tokens=int(_number(request.get("cached_tokens"))),
            timestamp=_seconds(request.get("timestamp")),
        )
        for request in _dicts(requests)
    ]


def _derive_message_id(session_id: str, number: int, entry: Json) -> str:
    """Return an id for a message without one: derived from its content, so that it is the same at every load."""
    seed = f"{session_id}\n{number}\n{entry.get('role')}\n{entry.get('content')}"
    return derive_id(seed.encode("utf-8", "replace"))


def _decode_content(value: Any) -> str:
    """Return a message's text: a string, joined parts, or any other value as JSON."""
    if isinstance(value, list):
        parts = cast(list[Any], value)
        return "\n".join(_text(cast(Json, part).get("text")) if isinstance(part, dict) else str(part) for part in parts)
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    return "" if value is None else str(value)


def _find_created(entry: Json) -> float:
    metadata = entry.get("metadata")
    unix = cast(Json, metadata).get("unix_timestamp") if isinstance(metadata, dict) else None
    return _seconds(entry.get("created")) or _seconds(unix) or _seconds(entry.get("timestamp"))


def _seconds(value: Any) -> float:
    """Return seconds since the epoch from a number, a number as text, or ISO 8601 text; 0.0 for anything else."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):
            return _number(value)
    return _number(value)


def _number(value: Any) -> float:
    if isinstance(value, (int, float, str)):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return 0.0
        return number if abs(number) < 1e15 else 0.0  # excludes NaN and infinity, for which int() raises
    return 0.0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _dicts(value: Any) -> Iterator[Json]:
    return (cast(Json, entry) for entry in _list(value) if isinstance(entry, dict))


def _message_entries(value: Any) -> Iterator[Json]:
    """Yield the entries that are messages: objects with a role, or with a message as `content`."""
    return (entry for entry in _dicts(value) if "role" in entry or isinstance(entry.get("content"), dict))


_MAX_LOAD_ATTEMPTS = 5


class _SchemaAndVersion(Struct):
    schema: Any = None
    version: Any = None


def load_session(files: SessionFiles, *, outputs: bool = True) -> LoadedSession:
    """Load a session from its snapshot and its journal.

    outputs: False skips the full outputs stored by another program, which would have to be read and hashed.

    Raises SessionNotFound, NewerDocument, OSError; CorruptDocument (with `moved_to` None) if nothing can be read.
    """
    # Each repetition needs another process that closes the session at this moment; five in a row do not occur.
    for _ in range(_MAX_LOAD_ATTEMPTS):
        before = _stat_fingerprint(files.snapshot)
        try:
            loaded = _load(files, outputs)
        except (SessionNotFound, CorruptDocument):
            if _stat_fingerprint(files.snapshot) == before:
                raise
        else:
            if _stat_fingerprint(files.snapshot) == before:
                return loaded
    return _load(files, outputs)


def _stat_fingerprint(path: Path) -> tuple[int, int, int] | None:
    """Return values that change when a file is replaced: inode, modification time, size. None if it is missing.

    A process that closes the session merges the journal into a new snapshot and deletes it. A reader that read the
    old snapshot before that would miss the journal's content, so `load_session` compares before and after.
    """
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _load(files: SessionFiles, outputs: bool) -> LoadedSession:
    if not files.any_exist():
        raise SessionNotFound(tr("No session {id!r}; `/session list` shows all sessions.", id=files.id))
    loaded, merged_journal = _load_snapshot(files, outputs)
    read = read_lines(files.journal)
    lines = read.lines
    header = _read_valid_header(lines, files.journal)
    # clio was killed between writing the snapshot and deleting the journal; replaying it would repeat each message.
    if header is not None and header.journal == merged_journal:
        return msgspec.structs.replace(loaded, merged=True)
    replayed = session_format.replay_journal(lines, loaded.state)
    warnings = list(loaded.warnings)
    if replayed.damaged:
        warnings.append(
            tr(
                "{damaged} lines of {journal!r} are damaged and were skipped.",
                damaged=replayed.damaged,
                journal=str(files.journal),
            )
        )
    if b"\0" in read.truncated:  # left by a power failure; a killed process leaves no NUL bytes
        warnings.append(
            tr(
                "The last {count:,} bytes of {journal!r} were damaged and have been removed.",
                count=len(read.truncated),
                journal=str(files.journal),
            )
        )
    if not loaded.state.messages and not loaded.foreign and not loaded.corrupt and not replayed.damaged:
        raise SessionNotFound(
            tr("Session {id!r} ended before its first message; there is nothing to open.", id=files.id)
        )
    if not loaded.state.messages:
        damaged = loaded.corrupt or loaded.foreign
        raise make_corrupt_error(files.snapshot if damaged else files.journal, None, tr("nothing in it can be read"))
    if lines:
        loaded.state.updated_at = max(loaded.state.updated_at, files.journal.stat().st_mtime)
    return msgspec.structs.replace(
        loaded, journal=replayed.journal, damaged=replayed.damaged > 0, warnings=tuple(warnings)
    )


def _read_valid_header(lines: tuple[bytes, ...], path: Path) -> session_format.JournalHeader | None:
    """Return the journal's header; None if it is missing or its version is invalid. Raises NewerDocument."""
    header = session_format.read_journal_header(lines)
    try:
        if header is not None:
            refuse_newer_version(path, header.version, session_format.JOURNAL_VERSION)
    except msgspec.DecodeError:
        return None
    return header


def _load_snapshot(files: SessionFiles, outputs: bool) -> tuple[LoadedSession, str]:
    try:
        data = read_regular(files.snapshot)
    except FileNotFoundError:
        return LoadedSession(state=SessionState(id=files.id)), ""
    try:
        return _decode_any_snapshot(data, files, outputs)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # One number out of range, such as 1e999, would otherwise cost the session all its messages.
        if (repaired := session_format.replace_bad_numbers(data)) is not None:
            with suppress(msgspec.DecodeError):
                loaded, merged_journal = _decode_any_snapshot(repaired, files, outputs)
                warning = tr(
                    "{snapshot!r} contains invalid numbers, which were ignored; the rest was read.",
                    snapshot=str(files.snapshot),
                )
                warnings = (*loaded.warnings, warning)
                return msgspec.structs.replace(loaded, corrupt=True, clean=0, warnings=warnings), merged_journal
        # The schema is added so that the text is not taken for the Perl program's and its encoding repaired.
        rescued = decode_foreign_session(
            {"schema": session_format.SNAPSHOT_SCHEMA} | session_format.rescue_snapshot(data), files.id
        )
        count = len(rescued.state.messages)
        warning = tr(
            "{snapshot!r} is damaged ({error}); {count} messages could be read from it.",
            snapshot=str(files.snapshot),
            error=error,
            count=count,
        )
        return LoadedSession(state=rescued.state, corrupt=True, warnings=(warning,)), ""


def _decode_any_snapshot(data: bytes, files: SessionFiles, outputs: bool) -> tuple[LoadedSession, str]:
    """Decode a snapshot; return it and its `merged_journal`. Raises msgspec.DecodeError, NewerDocument."""
    stamp = decode_json(data, type=_SchemaAndVersion)
    is_large = isinstance(stamp.version, float) and stamp.version > session_format.SNAPSHOT_VERSION + 1
    if stamp.schema == session_format.SNAPSHOT_SCHEMA and is_large:
        refuse_newer_version(files.snapshot, check_version(stamp.version), session_format.SNAPSHOT_VERSION)
    if stamp.schema == session_format.SNAPSHOT_SCHEMA and type(stamp.version) is int:
        refuse_newer_version(files.snapshot, stamp.version, session_format.SNAPSHOT_VERSION)
        if stamp.version < session_format.OLDEST_READABLE_VERSION:
            old = decode_json(data, type=dict[str, Any])
            data = msgspec.json.encode(
                migrate_document(old, stamp.version, session_format.OLDEST_READABLE_VERSION, session_format.MIGRATIONS)
            )
        try:
            state, merged_journal = session_format.decode_snapshot(data)
        except msgspec.ValidationError:
            pass  # edited by another program: decode it tolerantly below, and keep a copy of the file
        else:
            state.id = files.id
            return LoadedSession(state=state, clean=len(state.messages)), merged_journal
    foreign = decode_foreign_session(
        decode_json(data, type=dict[str, Any]), files.id, _read_todos_file(files.attachments / "todos.json")
    )
    # Only the Perl program's sessions have such a directory; it writes no schema.
    stored = find_stored_outputs(files.tool_results) if outputs and stamp.schema is None else {}
    foreign.state.messages = [attach_output(message, stored) for message in foreign.state.messages]
    return LoadedSession(
        state=foreign.state, foreign=True, outputs=tuple(stored.values()), warnings=foreign.warnings
    ), ""


def _read_todos_file(path: Path) -> Any:
    """Return the decoded todo list of the Perl original; None if it is missing or unreadable."""
    try:
        return decode_json(read_regular(path))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def branch_state(state: SessionState, new_id: str, now: float, *, upto: str | None = None) -> SessionState:
    """Return a copy of the session up to the message with the id `upto`, or of all of it, without name and bills. Pure.

    Trims made after that message are undone. Raises UserError if there is no such message.
    """
    end = _index_after(state, upto)
    messages = state.messages[:end]
    copied = {message.id for message in messages}
    # A trim has a time but no position; the first message that is not copied tells which trims came later.
    until = state.messages[end].created if end < len(state.messages) else float("inf")
    earlier_trims = list(takewhile(lambda trim: trim.created < until, state.trims))
    # Messages that a later trim removed were in the window at this point, so the fork has them again.
    restored = {id for trim in state.trims[len(earlier_trims) :] for id in trim.dropped}
    window = {*state.window_ids, *restored}
    return SessionState(
        id=new_id,
        created_at=now,
        updated_at=now,
        working_directory=state.working_directory,
        parent=state.id,
        model=state.model,
        server_alias=state.server_alias,
        efforts=dict(state.efforts),
        token_ratio=state.token_ratio,
        todos=state.todos,
        limits=tuple(limit for limit in state.limits if limit.message < end or end == len(state.messages)),
        messages=messages,
        window_ids=[message.id for message in messages if message.id in window],
        trims=[_restrict_trim(trim, copied) for trim in earlier_trims],
        threads={name: rest for name, ids in state.threads.items() if (rest := [id for id in ids if id in copied])},
    )


def write_fork(source: SessionFiles, target: SessionFiles, now: float, *, upto: str | None, name: str | None) -> None:
    """Write a fork of `source`: first its outputs, then its snapshot, so that it is listed only when complete.

    Raises as `load_session`; UserError if there is no message `upto`; OSError. A failed fork leaves no files.
    """
    loaded = load_session(source)
    state = branch_state(loaded.state, target.id, now, upto=upto)
    state.name = name
    preserved = _find_preserved(source, loaded, state)
    import shutil  # imported late: loading a session does not need it

    make_folder(target.folder)
    try:
        _copy_outputs(source, target, loaded, state.messages)
        write_atomic(target.snapshot, session_format.encode_snapshot(state, "", preserved))
    except BaseException:
        shutil.rmtree(target.attachments, ignore_errors=True)
        raise


def _index_after(state: SessionState, upto: str | None) -> int:
    if upto is None:
        return len(state.messages)
    for index, message in enumerate(state.messages, 1):
        if message.id == upto:
            return index
    raise UserError(
        tr("Session {id!r} has no message {upto!r}; `/context` and searches show message ids.", id=state.id, upto=upto)
    )


def _restrict_trim(trim: Trim, ids: set[str]) -> Trim:
    """Return the trim without messages whose ids are not in `ids`."""
    dropped = tuple(id for id in trim.dropped if id in ids)
    shrunk = {id: chars for id, chars in trim.shrunk.items() if {id, id.partition("#")[0]} & ids}
    return msgspec.structs.replace(trim, dropped=dropped, shrunk=shrunk)


def _find_preserved(
    source: SessionFiles, loaded: LoadedSession, state: SessionState
) -> session_format.PreservedContent:
    """Return the fields of the source's snapshot that clio does not know, including those in its messages."""
    if not loaded.clean:
        return session_format.PreservedContent()
    preserved = session_format.find_preserved_content(read_regular(source.snapshot), loaded.clean)
    return msgspec.structs.replace(preserved, messages=preserved.messages[: len(state.messages)])


def _copy_outputs(source: SessionFiles, target: SessionFiles, loaded: LoadedSession, messages: list[Message]) -> None:
    """Copy the full outputs that the messages refer to; of a missing one only the preview in the message remains."""
    handles = {handle for message in messages for handle in blob_handles(message)}
    if not handles:
        return
    stored = {path.name: path for path in source.blobs.iterdir()} if source.blobs.is_dir() else {}
    referenced = {name: path for name, path in stored.items() if any(name.startswith(handle) for handle in handles)}
    for name, path in referenced.items():
        make_folder(target.blobs)
        # A stored output never changes, so both sessions can share one file; deleting a session removes only its own
        # name.
        link_or_copy(path, target.blobs / name)
    for digest, read in output_readers(loaded.outputs).items():
        if digest not in referenced and any(digest.startswith(handle) for handle in handles):
            make_folder(target.blobs)
            write_atomic(target.blobs / digest, read().encode("utf-8"))
    if target.blobs.is_dir():
        _sync_folders_up_to(target.blobs, target.folder)


def _sync_folders_up_to(folder: Path, top: Path) -> None:
    """Flush the directory entries of a directory and its parents below `top` to the storage device."""
    while folder != top:
        sync_folder(folder)
        folder = folder.parent
