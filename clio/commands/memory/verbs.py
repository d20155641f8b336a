"""/memory remember, recall, forget, move, count, compact: typed memories, by hand."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from clio.commands.arguments import Text, as_number, join, nearest, read, read_text
from clio.commands.command import CommandResult, Confirm, Shell, Suggestion, Table, code, refuse
from clio.commands.memory.memory_text import (
    bare_line,
    by_user,
    count,
    entries_of,
    entry_data,
    names_repository,
    remembers,
    short_age,
    short_id,
    suggest_several,
)
from clio.commands.preference_commands import add as add_preference
from clio.errors import ClioError, UsageError, UserError
from clio.memory.memories import SCOPES
from clio.memory.records import Entry
from clio.memory.typed.ranked import Ranked
from clio.memory.typed.record import TYPES, MemoryRecord, Remembered, short
from clio.memory.typed.store import DEFAULT_LIMIT, Scope

OWNERS: dict[Scope, str] = {"project": "the project's", "user": "yours"}
MAX_LIMIT = 100_000
_SUGGESTED = 60
_REMEMBER = ("--type", "--importance", "--scope", "--keyword", "--example")


@remembers
def remember(shell: Shell, argument: str) -> CommandResult:
    """Keep a memory because the person says so; a preference is weighed like one of /prefs."""
    given = read_text(argument, valued=_REMEMBER)
    if not given.text.strip():
        return refuse("Remember what? Write /memory remember TEXT, with --type fact, event, note or preference")
    kind = _type(given.one("--type") or "note")
    scope = _scope(given.one("--scope"))
    if kind == "preference" and scope != "project":
        return _preference(shell, given)
    raw = given.one("--importance")
    memories = shell.memory.memories
    done = memories.remember(
        given.text,
        kind,
        0.5 if raw is None else as_number(raw, "--importance", low=0, high=1),
        keywords=given.options.get("--keyword", ()),
        files=given.options.get("--example", ()),
        scope=scope,
        explicit=kind == "preference",
        provenance=by_user(shell),
    )
    owner = memories.scope_of((done.old or done.record).id if done.action == "dropped" else done.record.id)
    data = {"action": done.action, "memory": record_data(done.record, owner)}
    if done.old is not None and done.action != "merged":
        data[_MET.get(done.action, "replaced")] = record_data(done.old, owner)
    return CommandResult(text=_remembered(done, owner), data=data)


@remembers
@names_repository
def recall(shell: Shell, argument: str) -> CommandResult:
    """The memories that answer a query; without one, all preferences and the strongest others. They count as used."""
    given = read_text(argument, valued=("--type", "--limit"))
    kind = given.one("--type") or ""
    wanted = f"!{_type(kind[1:])}" if kind.startswith("!") else _type(kind) if kind else ""
    memories = shell.memory.memories
    found = memories.recall(given.text, _limit(given.one("--limit")), wanted)
    owners: list[Scope] = [memories.scope_of(hit.record.id) for hit in found]
    data = [record_data(hit.record, owner) | _signals(hit) for hit, owner in zip(found, owners, strict=True)]
    if not found:
        return CommandResult(text=_nothing(memories.count(), given.text), data=data)
    stale = {hit.record.id for hit in found if memories.drifted(hit.record)}
    rows = tuple(_row(hit.record, owner, hit.record.id in stale) for hit, owner in zip(found, owners, strict=True))
    text = "≠ its file has changed since, or is gone." if stale else ""
    return CommandResult(text=text, table=Table(columns=_COLUMNS, rows=rows, wide=3), data=data)


@remembers
def forget(shell: Shell, argument: str) -> CommandResult:
    """Move memories and entries of the project knowledge to the archive; several of them only after a question."""
    given = read(argument, switches=("--yes",))
    if not given.words:
        return refuse(
            "Which entry? Write /memory forget ID, or several ids; /memory list and /memory recall show the ids"
        )
    entries, records = _named(shell, given.words)
    ids = [entry.id for entry in entries] + [short_id(record) for record in records]
    what = _what(entries, records)
    if len(ids) > 1 and "--yes" not in given.options:
        shown = [_short(f"{entry.id} {bare_line(entry)}") for entry in entries]
        shown += [_short(f"{short_id(record)} {record.content}") for record in records]
        listed = "; ".join(shown[:5]) + (" …" if len(shown) > 5 else "")
        then = f"/memory forget {' '.join([*ids[: len(entries)], *(record.id for record in records)])} --yes"
        return CommandResult(follow_up=Confirm(question=f"Move {what} to the archive? {listed}", then=then))
    owners: list[Scope] = [shell.memory.memories.scope_of(record.id) for record in records]
    gone = shell.memory.forget([entry.id for entry in entries]) if entries else ()
    for record in records:
        shell.memory.memories.forget(record.id)
    if len(ids) == 1:
        what = f"{ids[0]} {code(bare_line(entries[0]) if entries else short(records[0]))}"
    back = "it back" if len(ids) == 1 else "them back" if not records else "them back, one by one"
    data = [entry_data(entry) for entry in gone]
    data += [record_data(record, owner) for record, owner in zip(records, owners, strict=True)]
    return CommandResult(
        text=f"Forgotten, and kept in the archive: {what}. `/memory undo` brings {back}.",
        data={"forgotten": data},
    )


@remembers
def move(shell: Shell, argument: str) -> CommandResult:
    """Take a memory with its history to the other scope."""
    words = read(argument).words
    if len(words) != 2:
        return refuse("Move which memory, and where? Write /memory move ID project, or /memory move ID user")
    scope = _scope(words[1])
    record = shell.memory.memories.move(words[0], cast(Scope, scope))
    return CommandResult(
        text=f"{short_id(record)} {code(short(record))} is {OWNERS[cast(Scope, scope)]} now.",
        data={"memory": record_data(record, cast(Scope, scope))},
    )


@remembers
def count_all(shell: Shell, argument: str) -> CommandResult:
    """How many memories there are, of the project and of the person."""
    if argument:
        return refuse("/memory count takes nothing")
    found = shell.memory.memories.count()
    total = sum(found.values())
    text = f"{_memories(total)}: {found['project']:,} of the project, {found['user']:,} yours."
    return CommandResult(text=text, data={"total": total, **found})


@remembers
def compact(shell: Shell, argument: str) -> CommandResult:
    """Move what has faded to the archive, and join what says the same."""
    if argument:
        return refuse("/memory compact takes nothing")
    done = shell.memory.memories.compact()
    data = msgspec.to_builtins(done)
    if not done.removed:
        return CommandResult(
            text=f"Nothing has faded, and no two say the same: {_memories(done.remaining)}.", data=data
        )
    same = f", {done.merged:,} of them part of another now" if done.merged else ""
    text = f"{_memories(done.removed)} moved to the archive{same}; {done.remaining:,} kept."
    return CommandResult(text=f"{text} `/memory undo` brings them back.", data=data)


def record_data(record: MemoryRecord, scope: Scope) -> dict[str, Any]:
    """A memory in JSON's own types: all its fields, and whose it is."""
    fields = {name: msgspec.to_builtins(getattr(record, name)) for name in record.__struct_fields__}
    return fields | {"scope": scope}


def suggest_memories(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """The ends of memories' ids for the first word, their words beside them, the newest first."""
    return () if " " in argument else _suggested(shell, argument)


def suggest_forgettable(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """Ids of entries and of memories for each word, without those that are named already."""
    return [*suggest_several(shell, argument), *_suggested(shell, argument)]


def _suggested(shell: Shell, argument: str) -> list[Suggestion]:
    """A damaged file is told by the command, not while its name is typed."""
    named = argument.split(" ")[:-1]
    try:
        records = [] if shell.config.incognito else shell.memory.memories.records()
    except (ClioError, OSError):
        return []
    newest = sorted(records, key=lambda record: -record.updated)[: _SUGGESTED + len(named)]
    return [
        Suggestion(text=short_id(record), note=f"{record.type}: {short(record)}")
        for record in newest
        if short_id(record) not in named
    ]


def _preference(shell: Shell, given: Text) -> CommandResult:
    if "--importance" in given.options or "--example" in given.options:
        raise UsageError(
            "A preference has neither importance nor examples; write /prefs add TEXT --score N, from 0, never, to 10"
        )
    words = given.options.get("--keyword", ())
    options = ("--keywords", ",".join(words)) if words else ()
    result = add_preference(shell, join([*options, "--", " ".join(given.text.split())]))
    data = cast(dict[str, Any], result.data)
    record = shell.memory.memories.find(data["preference"]["id"])
    kept = CommandResult(text=result.text, data={"action": data["action"], "memory": record_data(record, "user")})
    return kept if result.ok else result


def _named(shell: Shell, words: Sequence[str]) -> tuple[list[Entry], list[MemoryRecord]]:
    """The entries and memories of these ids, each once. Raises UserError where one is neither."""
    entries: dict[str, Entry] = {}
    records: dict[str, MemoryRecord] = {}
    for word in words:
        if word[1:2] == "-":
            entry = shell.memory.find(word)
            entries[entry.id] = entry
            continue
        try:
            record = shell.memory.memories.find(word)
        except UserError as error:
            if len(word) >= 4:
                raise
            raise UserError(f"{error}; ids of project knowledge begin with a letter and a dash") from error
        records[record.id] = record
    return list(entries.values()), list(records.values())


def _type(name: str) -> str:
    wanted = name.strip().lower()
    found = wanted if wanted in TYPES else wanted.removesuffix("s")
    if found not in TYPES:
        raise UsageError(f"There is no type {name!r} of memories; {nearest(wanted, TYPES)}")
    return found


def _limit(raw: str | None) -> int:
    if raw is None:
        return DEFAULT_LIMIT
    value = as_number(raw, "--limit", low=-1, high=MAX_LIMIT)
    if value != int(value):
        raise UsageError(f"--limit takes a whole number, or -1 for all, not {raw!r}")
    return int(value)


def _scope(name: str | None) -> Scope | None:
    if name is None:
        return None
    if name.lower() not in SCOPES:
        raise UsageError(f"A memory is the project's or the user's: project or user, not {name!r}")
    return cast(Scope, name.lower())


def _remembered(done: Remembered, owner: Scope) -> str:
    record, old = done.record, done.old
    what = f"{short_id(record)}, a {record.type}, {OWNERS[owner]}: {code(short(record))}."
    match done.action:
        case "merged":
            return f"Confirmed {what}"
        case "superseded" if old:
            return (
                f"Remembered as {what} It takes the place of {short_id(old)} {code(short(old))}; "
                f"`/memory history {short_id(record)}` shows both."
            )
        case "variant" | "replaced_variant" if old:
            gone = f" {short_id(done.outweighed)} gave way to it." if done.outweighed else ""
            return (
                f"Kept as {what} Surer is {short_id(old)} {code(short(old))}, which holds; this is told as what other "
                f"sources say.{gone}"
            )
        case "dropped" if old:
            return (
                f"Not remembered: {short_id(old)} {code(short(old))} is surer, and three variants surer than this are "
                f"kept; `/memory history {short_id(old)}` shows them all."
            )
        case "kept_both" if old:
            return f"Remembered as {what} Kept beside one like it: {short_id(old)} {code(short(old))}."
        case _:
            return f"Remembered as {what}"


_MET = {"kept_both": "beside", "variant": "surer", "replaced_variant": "surer", "dropped": "surer"}
_COLUMNS = ("id", "type", "whose", "what", "age", "")


def _row(record: MemoryRecord, owner: Scope, is_stale: bool) -> tuple[str, ...]:
    age = short_age(time.time(), record.updated)
    said = f"other sources say: {record.content}" if record.is_variant else record.content
    return (short_id(record), record.type, OWNERS[owner], said, age, "≠" if is_stale else "")


def _signals(hit: Ranked) -> dict[str, float]:
    return {"rank": hit.score, "hits": hit.hits, "similarity": hit.similarity, "recency": hit.recency}


def _nothing(counts: dict[Scope, int], query: str) -> str:
    total = sum(counts.values())
    if not total:
        return "Nothing is remembered yet; `/memory remember TEXT --type fact` is the first."
    if not query:
        return f"No memory is of that type, of {_memories(total)}."
    return f"No memory shares a word with {code(query)}, of {_memories(total)}; `/memory search` looks elsewhere."


def _what(entries: Sequence[Entry], records: Sequence[MemoryRecord]) -> str:
    parts = ([entries_of(len(entries))] if entries else []) + ([_memories(len(records))] if records else [])
    return " and ".join(parts)


def _memories(number: int) -> str:
    return count(number, "memory", "memories")


def _short(line: str) -> str:
    flat = " ".join(line.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"
