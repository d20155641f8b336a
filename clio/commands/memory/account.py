"""/memory stats and why: what there is, and what the model was given of it."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from clio.commands.command import Shell
from clio.commands.markdown_code import code
from clio.commands.memory.access import entry_data, names_repository, remembers
from clio.commands.memory.words import (
    WHO,
    ago,
    bare_line,
    block_bar,
    count,
    date,
    entries_of,
    short_age,
    size,
)
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.memory.brain.why import WhyItem, WhyReport
from clio.memory.records import LtmStats

if TYPE_CHECKING:
    from clio.memory.inject import Injected

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
