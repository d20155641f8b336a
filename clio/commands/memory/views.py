"""/memory list, search, show, stats and why: looking at project memory, and at what the model was given."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clio.commands.arguments import read, read_text
from clio.commands.command import CommandResult, Shell, Table, code, refuse
from clio.commands.memory.memory_text import (
    PLURALS,
    STATES,
    WHO,
    ago,
    around,
    bare_line,
    block_bar,
    count,
    date,
    entries_of,
    entry_data,
    entry_table,
    kind_named,
    legend,
    names_repository,
    newest_first,
    remembers,
    session_words,
    short_age,
    short_key,
    size,
    who_said,
)
from clio.memory.brain.why import WhyItem, WhyReport
from clio.memory.records import KINDS, Entry, Hit, LtmStats

if TYPE_CHECKING:
    from clio.memory.inject import Injected


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


BAR_CELLS = 9
"""So that all columns of the statistics fit forty columns of a terminal."""
_STATES = {"fresh": "unchanged", "drifted": "changed", "gone": "gone", "unbound": "none named"}


@remembers
@names_repository
def stats(shell: Shell, argument: str) -> CommandResult:
    """The project knowledge in numbers and small bars."""
    if argument:
        return refuse("/memory stats takes nothing")
    found = shell.memory.ltm_stats()
    notes = len(shell.memory.list_notes())
    data = msgspec.to_builtins(found) | {"notes": notes}
    archive = f" and {found.archived:,} in the archive ({size(found.archive_bytes)})" if found.archived else ""
    text = f"{entries_of(found.total)} ({size(found.file_bytes)}){archive}, {count(notes, 'note')}."
    if found.newest:
        now = time.time()
        text += f" Last confirmed {ago(now, found.newest)}, the oldest {ago(now, found.oldest)}."
    if found.last_pruned:
        text += f" Last pruned {date(found.last_pruned)}."
    rows = tuple(_stat_rows(found)) if found.total else ()
    table = Table(columns=("", "", "", ""), rows=rows, wide=3) if rows else None
    return CommandResult(text=text, table=table, data=data)


@remembers
def why(shell: Shell, argument: str) -> CommandResult:
    """What memory gave the model in the last turn, why, and what its limits left out."""
    if argument:
        return refuse("/memory why takes nothing; it shows what the last turn was given")
    report = shell.memory.last_turn()
    if report is not None:
        return _last_turn(report)
    given = shell.memory.why()
    begins = "The next session would begin with:\n\n" if not shell.session.id else ""
    if begins and not given:  # outside of a conversation there is no turn to tell of
        shell.memory.prefix_fragments()
        given = shell.memory.why()
    data = [_injected_data(one) for one in given]
    if not given:
        off = "" if shell.config.ltm else " Project knowledge is off (--no-ltm)."
        text = "Memory would give a new session nothing." if begins else "Memory has given the model nothing so far."
        return CommandResult(text=text + off, data=data)
    now = time.time()
    rows = tuple(
        (
            item.entry.id,
            bare_line(item.entry),
            item.reason,
            short_age(now, item.entry.confirmed),
            f"{item.tokens:,}",
        )
        for one in given
        for item in one.items
    )
    table = Table(columns=("id", "what", "why", "age", "tokens"), rows=rows, wide=1, cut=True)
    return CommandResult(text=begins + "\n".join(f"- {_account(shell, one)}" for one in given), table=table, data=data)


def _last_turn(report: WhyReport) -> CommandResult:
    """Each thing the last turn was given: from where, why, by which signals, at what cost; and what was cut."""
    data = msgspec.to_builtins(report)
    asked = f"“{report.question}”" if report.question else "the last turn"
    work = f", taken for {report.scenario}" if report.scenario else ""
    if not report.items:
        return CommandResult(text=f"Memory gave the model nothing for {code(asked)}{work}.", data=data)
    inside = [item for item in report.items if item.included]
    cut = sum(item.count for item in report.items if not item.included)
    left = f"; {cut:,} left out by limits" if cut else ""
    tokens = sum(item.tokens for item in inside)
    text = f"For {code(asked)}{work}: {count(len(inside), 'item')}, about {tokens:,} tokens{left}."
    rows = tuple(
        (
            item.source if item.included else f"{item.source}, cut",
            f"{' '.join(item.text.split())} · {_because(item)}",
            short_age(report.at, report.at - item.age_s) if item.age_s is not None else "",
            f"{item.tokens:,}" if item.tokens else "",
        )
        for item in report.items
    )
    return CommandResult(
        text=text, table=Table(columns=("from", "what · why", "age", "tokens"), rows=rows, wide=1), data=data
    )


def _because(item: WhyItem) -> str:
    unsaid = {name: value for name, value in item.signals.items() if f"{name} " not in item.reason}
    signals = ", ".join(f"{name} {value:.3g}" for name, value in unsaid.items())
    return f"{item.reason} ({signals})" if signals else item.reason


def _stat_rows(found: LtmStats) -> Iterable[tuple[str, str, str, str]]:
    """Group, label, number, bar; the bars of one group are drawn to one scale."""
    fifths = [(f"{20 * place}–{20 * place + 20}%", bar.count) for place, bar in enumerate(found.confidences)]
    ages = [(bar.label.removeprefix("within "), bar.count) for bar in found.ages]
    groups: list[tuple[str, list[tuple[str, int]]]] = [
        ("kind", list(found.counts.items())),
        ("age up to", [(label, number) for label, number in ages if number or label != "undated"]),
        ("sure", fifths),
        ("examples", [(_STATES[state], number) for state, number in found.freshness.items() if number]),
        ("said by", [(WHO.get(who, who), number) for who, number in found.asserted.items()]),
    ]
    for place, (group, bars) in enumerate(groups):
        if place:
            yield ("", "", "", "")
        most = max((number for _, number in bars), default=0)
        for line, (label, number) in enumerate(bars):
            yield ("" if line else group, label, f"{number:,}", block_bar(number / max(most, 1), BAR_CELLS))


def _account(shell: Shell, one: "Injected") -> str:
    source = one.fragment.source.removeprefix(f"{shell.loaded.project}/")
    used = sum(item.tokens for item in one.items)
    left = f"; {one.left_out:,} left out" if one.left_out else ""
    cap = f"{used:,} of at most {one.fragment.cap_tokens:,} tokens"
    return f"{code(one.fragment.name)} from {code(source)}: {one.fragment.reason}, {cap}{left}."


def _injected_data(one: "Injected") -> dict[str, Any]:
    return {
        "name": one.fragment.name,
        "source": one.fragment.source,
        "reason": one.fragment.reason,
        "cap_tokens": one.fragment.cap_tokens,
        "left_out": one.left_out,
        "items": [
            {"entry": entry_data(item.entry), "score": item.score, "reason": item.reason, "tokens": item.tokens}
            for item in one.items
        ],
    }
