"""/prefs: looking at what a person likes, dislikes and forbids."""

import time
from collections.abc import Sequence

from clio.algorithms.bands import BANDS, HARD_LIMIT, bands_of
from clio.commands.arguments import Given, read
from clio.commands.command import Shell
from clio.commands.free_text import count_of
from clio.commands.markdown_code import code
from clio.commands.matching import nearest
from clio.commands.memory.access import remembers
from clio.commands.memory.words import ago, count, date
from clio.commands.preferences.words import (
    bands_named,
    parted,
    pref_data,
    pref_table,
    score_of,
    standing,
    weighed,
)
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.memory.preferences.book import DEFAULT_TOP, Weighed
from clio.memory.preferences.fragment import context_block

_FORMATS = ("table", "context")
_NOTHING = "No preference is known yet; `/prefs add ITEM` adds one, and clio notices what you say plainly."


@remembers
def top(shell: Shell, argument: str) -> CommandResult:
    """The heaviest; changes nothing."""
    given = read(argument, valued=("--type", "--scenario"))
    if len(given.words) > 1:
        return refuse(f"/prefs top takes a number, not {given.text!r}; /prefs recall looks for words")
    number = count_of(given.words[0], "/prefs top") if given.words else DEFAULT_TOP
    found = shell.memory.preferences.recall("", types=_types(given), scenario=given.options.get("--scenario"))
    return _listed(shell, found[:number], given, of=len(found))


@remembers
def recall(shell: Shell, argument: str) -> CommandResult:
    """What answers a query, as one stretch of text in item, reason or keywords; the heaviest first."""
    given = read(
        argument, switches=("--touch", "--no-touch"), valued=("--type", "--scenario", "--min-score", "--limit")
    )
    limit = given.options.get("--limit")
    found = shell.memory.preferences.recall(
        given.text,
        types=_types(given),
        scenario=given.options.get("--scenario"),
        min_score=score_of(given, "--min-score"),
        limit=None if limit is None else count_of(limit, "--limit"),
        touch="--touch" in given.options,
    )
    return _listed(shell, found, given)


@remembers
def show(shell: Shell, argument: str) -> CommandResult:
    """All of them, as a table or as text for another program; or one whole."""
    given = read(argument, valued=("--format",))
    form = given.options.get("--format", "table").lower()
    if form not in _FORMATS:
        return refuse(f"--format takes {' or '.join(_FORMATS)}, not {form!r}; --json prints JSON")
    if given.text:
        return _one(shell, given.text)
    everything = shell.memory.preferences.all()
    if form == "context":
        block = context_block(everything)
        return CommandResult(verbatim=block, data={"context": block})
    return _listed(shell, everything, given)


@remembers
def keywords(shell: Shell, argument: str) -> CommandResult:
    """Every keyword with how many preferences have it."""
    if argument:
        return refuse("/prefs keywords takes nothing; /prefs recall WORD looks for one")
    found = shell.memory.preferences.keywords()
    if not found:
        return CommandResult(text="No preference has keywords; `/prefs update ID --keywords a,b` gives some.", data={})
    rows = tuple((word, str(number)) for word, number in found.items())
    return CommandResult(table=Table(columns=("keyword", "preferences"), rows=rows), data=found)


@remembers
def scenarios(shell: Shell, argument: str) -> CommandResult:
    """The kinds of work there are, with how many preferences are for each."""
    if argument:
        return refuse("/prefs scenarios takes nothing; /scenario NAME says what the work at hand is")
    preferences = shell.memory.preferences
    book, used = preferences.book, preferences.scenarios()
    rows = tuple(
        (name, str(number), ", ".join(book.aliases(name)), ", ".join(book.keywords(name)))
        for name, number in used.items()
    )
    data = {
        "scenarios": {
            name: {"preferences": number, "aliases": list(book.aliases(name)), "keywords": list(book.keywords(name))}
            for name, number in used.items()
        },
        "problem": book.problem,
    }
    table = Table(columns=("scenario", "preferences", "also called", "words"), rows=rows, wide=3)
    return CommandResult(text=f"{book.problem}." if book.problem else "", table=table, data=data)


@remembers
def info(shell: Shell, argument: str) -> CommandResult:
    """Where they are, how many of which kind, how they fade."""
    if argument:
        return refuse("/prefs info takes nothing")
    preferences = shell.memory.preferences
    everything = preferences.all()
    bands = dict.fromkeys(BANDS, 0)
    for one in everything:
        for name in bands_of(one.score):
            bands[name] += 1
    limits = sum(one.score <= HARD_LIMIT for one in everything)
    rules = sum(one.record.explicit for one in everything)
    rows = (
        ("file", str(preferences.path)),
        ("preferences", f"{len(everything)}, of them {count(limits, 'hard limit')}, {count(rules, 'explicit rule')}"),
        ("by band", ", ".join(f"{name} {number}" for name, number in bands.items())),
        ("fading", f"half-life {preferences.fading.half_life_days:g} days, floor {preferences.fading.floor:g}"),
        ("scenario", shell.memory.scenario or "told from each request"),
    )
    data = {
        "file": str(preferences.path),
        "count": len(everything),
        "hard_limits": limits,
        "explicit": rules,
        "bands": bands,
        "half_life_days": preferences.fading.half_life_days,
        "floor": preferences.fading.floor,
    }
    return CommandResult(
        text="Bands overlap, so one preference may count twice.",
        table=Table(columns=("", ""), rows=rows, wide=1),
        data=data,
    )


def _one(shell: Shell, wanted: str) -> CommandResult:
    preferences = shell.memory.preferences
    one = weighed(preferences, preferences.find(wanted).id)
    record = one.record
    said = {"user": "you", "model": "the model", "tool": "a tool"}
    by = said[record.provenance.asserted_by] if record.provenance else "unknown"
    rows = [
        ("what", record.content),
        ("score", f"{one.score:g}, {standing(one)} ({', '.join(one.bands)})"),
        ("weight", f"{one.weight:.2f} now, fading {one.coefficient:.2f}"),
        ("reason", record.reason),
        ("keywords", ", ".join(record.keywords)),
        ("for", ", ".join(record.scenarios)),
        ("said", f"as a rule, by {by}" if record.explicit else f"not as a rule, by {by}"),
        ("first", date(record.created)),
        ("confirmed", f"{date(record.seen)} ({ago(time.time(), record.seen)}), {count(record.touch_count, 'use')}"),
    ]
    table = Table(columns=("id", record.id), rows=tuple(row for row in rows if row[1]), wide=1)
    return CommandResult(table=table, data=pref_data(one))


def _listed(shell: Shell, found: Sequence[Weighed], given: Given, of: int | None = None) -> CommandResult:
    preferences = shell.memory.preferences
    data = [pref_data(one) for one in found]
    hint = _scenario_hint(shell, given)
    if not found:
        nothing = f"No preference fits. {hint}".strip() if preferences.all() else _NOTHING
        return CommandResult(text=nothing, data=data)
    shown = f"{count(of, 'preference')}, {len(found)} shown." if of and of > len(found) else ""
    text = " ".join(part for part in (shown or f"{count(len(found), 'preference')}.", hint) if part)
    return CommandResult(text=text, table=pref_table(found, time.time()), data=data)


def _scenario_hint(shell: Shell, given: Given) -> str:
    """Who asks for a scenario nobody knows is told which there are."""
    name = given.options.get("--scenario")
    book = shell.memory.preferences.book
    if name is None or book.knows(name) or name.lower() in shell.memory.preferences.scenarios():
        return ""
    return f"There is no scenario {code(name)}; {nearest(name, book.names)}"


def _types(given: Given) -> tuple[str, ...]:
    raw = given.options.get("--type")
    return () if raw is None or not parted(raw) else bands_named(raw)
