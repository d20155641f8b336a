"""/memory list, search, show: looking at what is known about the project."""

import time
from collections.abc import Sequence
from typing import Any

from clio.commands.arguments import read
from clio.commands.command import Shell
from clio.commands.free_text import read_text
from clio.commands.markdown_code import code
from clio.commands.memory.access import (
    entry_data,
    names_repository,
    newest_first,
    remembers,
)
from clio.commands.memory.words import (
    PLURALS,
    STATES,
    ago,
    around,
    count,
    date,
    entries_of,
    entry_table,
    kind_named,
    legend,
    session_words,
    short_age,
    short_key,
    who_said,
)
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.memory.records import KINDS, Entry, Hit

_ARCHIVE = ("archive", "archived")
LISTED = 40
"""Rows of a list that was not asked for whole."""
FOUND = 20


@remembers
@names_repository
def show_list(shell: Shell, argument: str) -> CommandResult:
    """The project knowledge, kind by kind."""
    given = read(argument, switches=("--all",))
    if len(given.words) > 1:
        return refuse(f"/memory list takes one kind, not {given.text!r}; see /help memory")
    if given.words and given.words[0].lower() in _ARCHIVE:
        return _archive(shell, everything="--all" in given.options)
    kind = kind_named(given.words[0]) if given.words else None
    entries = [entry for entry in newest_first(shell.memory.knowledge()) if kind in (None, entry.kind)]
    freshness = shell.memory.freshness(tuple(entries))
    notes = len(shell.memory.list_notes())
    memories = sum(shell.memory.memories.count().values())
    data = {
        "entries": [entry_data(entry, freshness[entry.id]) for entry in entries],
        "notes": notes,
        "memories": memories,
    }
    beside = f"{_notes(notes)}{_memories(memories)}" if kind is None else ""
    if not entries:
        return CommandResult(text=f"{_nothing(kind, bool(notes or memories))} {beside}".rstrip(), data=data)
    shown = entries if "--all" in given.options else _first(entries)
    what = entries_of(len(entries)) if kind is None else count(len(entries), kind, PLURALS[kind])
    again = f"/memory list{f' {kind}' if kind else ''} --all"
    parts = [
        f"{what}, {len(shown)} shown; `{again}` shows all." if len(shown) < len(entries) else f"{what}.",
        beside,
        legend(freshness[entry.id] for entry in shown),
    ]
    table = entry_table(shown, freshness, now=time.time(), with_kind=kind is None)
    return CommandResult(text=" ".join(part for part in parts if part), table=table, data=data)


@remembers
@names_repository
def search(shell: Shell, argument: str) -> CommandResult:
    """Entries and notes that share a word with the query, the best first."""
    query = read_text(argument).text.strip()
    if not query:
        return refuse("Search for what? Write /memory search WORDS; /session search looks at what was said")
    hits = shell.memory.search(query, FOUND)
    data = {"query": query, "hits": [_hit_data(hit) for hit in hits]}
    said = f"`/session search {' '.join(query.replace('`', ' ').split())}` looks at what was said."
    if not hits:
        return CommandResult(text=f"No entry and no note shares a word with {code(query)}. {said}", data=data)
    return CommandResult(text=f"The best first. {said}", table=_hit_table(query, hits), data=data)


@remembers
@names_repository
def show(shell: Shell, argument: str) -> CommandResult:
    """Everything that is known about one entry."""
    wanted = read(argument).words
    if len(wanted) != 1:
        return refuse("Which entry? Write /memory show ID; /memory list shows the ids")
    memory = shell.memory
    entry = memory.find(wanted[0])
    memory.use((entry.id,))
    state = memory.freshness((entry,))[entry.id]
    others = [other for other in memory.knowledge().of(entry.kind) if _rivals(entry, other)]
    before = [former for former in memory.archived() if _rivals(entry, former) or former.id == entry.id]
    rows = [row for row in _fields(entry) if row[1]]
    rows += [("example", example) for example in entry.examples]
    rows += [("it is" if len(entry.examples) == 1 else "they are", STATES[state])] if STATES[state] else []
    rows += [
        ("sure", f"{entry.confidence:.0%}"),
        *([("times", str(entry.times))] if entry.times > 1 else []),
        ("said by", f"{who_said(entry)}, says the repository" if shell.loaded.has_foreign_memory else who_said(entry)),
        *([("session", session_words(shell, entry.provenance.session))] if entry.provenance else []),
        ("first said", date(entry.created)),
        ("confirmed", f"{date(entry.confirmed)} ({ago(time.time(), entry.confirmed)})" if entry.confirmed else date(0)),
    ]
    rows += [("beside it", f"{other.id}: {other.solution or other.line}") for other in others]
    rows += [("said otherwise", f"in {rival}") for rival in entry.rivals]
    rows += [("in the archive", former.line) for former in before]
    data = entry_data(entry, state) | {
        "beside": [entry_data(other) for other in others],
        "archived": [entry_data(former) for former in before],
    }
    table = Table(columns=(entry.id, entry.kind), rows=tuple(rows), wide=1)
    return CommandResult(table=table, data=data)


def _archive(shell: Shell, *, everything: bool) -> CommandResult:
    """What was forgotten or pruned, the newest to leave first."""
    entries = shell.memory.archived()
    data = {"archived": [entry_data(entry) for entry in entries]}
    if not entries:
        return CommandResult(text="The archive is empty: nothing was forgotten or pruned.", data=data)
    shown = entries if everything else entries[:LISTED]
    rest = f", {len(shown)} shown; `/memory list archive --all` shows all" if len(shown) < len(entries) else ""
    text = f"{entries_of(len(entries))} in the archive{rest}. Added again in the same words, an entry comes back."
    return CommandResult(text=text, table=entry_table(shown, {}, now=time.time()), data=data)


def _first(entries: Sequence[Entry]) -> list[Entry]:
    """So many that a list stays readable: of each kind alike many where there are too many."""
    if len(entries) <= LISTED:
        return list(entries)
    present = {entry.kind for entry in entries}
    each = LISTED // len(present)
    return [entry for kind in KINDS for entry in [one for one in entries if one.kind == kind][:each]]


def _nothing(kind: str | None, other: bool) -> str:
    """other: notes or memories are there."""
    if kind is None:
        lead = "No entry of project knowledge yet" if other else "Nothing is known about this project yet"
        return f"{lead}; `/memory add discovery TEXT` adds the first entry."
    return f"No {kind} is known yet; `/memory add {kind} …` adds one."


def _notes(number: int) -> str:
    return f"{count(number, 'note')}: `/note list`." if number else "No notes."


def _memories(number: int) -> str:
    """With those of the person, who may have said a moment ago that something is to be remembered."""
    return f" {count(number, 'memory', 'memories')}: `/memory recall`." if number else ""


def _hit_table(query: str, hits: Sequence[Hit]) -> Table:
    now = time.time()
    rows = tuple(
        (hit.id or short_key(hit.key), hit.kind, around(hit.text, query), short_age(now, hit.timestamp)) for hit in hits
    )
    return Table(columns=("id", "kind", "what", "age"), rows=rows, wide=2)


def _hit_data(hit: Hit) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "id": hit.id,
        "key": hit.key,
        "text": hit.text,
        "score": hit.score,
        "timestamp": hit.timestamp,
    }


def _fields(entry: Entry) -> list[tuple[str, str]]:
    match entry.kind:
        case "solution":
            return [("error", entry.text), ("solution", entry.solution)]
        case "failure":
            more = [("prevention", other) for other in entry.also]
            return [("failed", entry.text), ("impact", entry.impact), ("prevention", entry.solution), *more]
        case "workflow":
            steps = [(f"step {number}", step) for number, step in enumerate(entry.steps, 1)]
            rate = "" if entry.success_rate is None else f"{entry.success_rate:.0%} of the times"
            named = "" if entry.text == " → ".join(entry.steps) else entry.text
            return [("name", named), *steps, ("went well", rate)]
        case "rule":
            return [("rule", entry.text), ("holds for", entry.context if entry.context not in ("", "*") else "all")]
        case _:
            return [("text", entry.text)]


def _rivals(entry: Entry, other: Entry) -> bool:
    """Whether the other gives another answer to the same error."""
    if entry.kind != "solution" or other.kind != "solution" or other.id == entry.id:
        return False
    return _plain(entry.text) == _plain(other.text)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")
