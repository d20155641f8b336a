"""Preferences in words and columns for people and in JSON; reading what a person wrote about them; completion."""

from collections.abc import Iterable, Sequence
from typing import Any

from clio.algorithms.bands import ALIASES, BANDS, HARD_LIMIT, band_name, label_of
from clio.algorithms.decay import score_exponent
from clio.commands.arguments import Given
from clio.commands.command import Shell, Suggestion, SuggestWord
from clio.commands.free_text import as_number
from clio.commands.memory.words import short_age, short_id
from clio.commands.tables import Table
from clio.errors import ClioError, UsageError
from clio.memory.preferences.book import Preferences, Weighed

_MAX_SUGGESTED = 60


def pref_table(preferences: Iterable[Weighed], now: float) -> Table:
    """Preferences as a person looks them over, in the order given; `now` in seconds since the epoch."""
    rows = tuple(
        (
            short_id(one.record),
            one.record.content,
            f"{one.score:g}",
            f"{one.weight:.1f}",
            standing(one),
            ", ".join(one.record.scenarios),
            short_age(now, one.record.seen),
        )
        for one in preferences
    )
    return Table(columns=("id", "what", "score", "weight", "is", "for", "age"), rows=rows, wide=1)


def standing(one: Weighed) -> str:
    """What a person calls it: hard limit; rule, where said as one; else liked, neutral or disliked, by its score."""
    if one.score <= HARD_LIMIT:
        return "hard limit"
    return "rule" if one.record.explicit else label_of(one.score)


def pref_data(one: Weighed) -> dict[str, Any]:
    """A preference in JSON's own types; times in seconds since the epoch."""
    record = one.record
    return {
        "id": record.id,
        "item": record.content,
        "reason": record.reason,
        "keywords": list(record.keywords),
        "scenarios": list(record.scenarios),
        "score": one.score,
        "bands": list(one.bands),
        "explicit": record.explicit,
        "added_at": record.created,
        "last_seen": record.seen,
        "touch_count": record.touch_count,
        "score_exponent": round(score_exponent(one.score), 6),
        "decay_coefficient": round(one.coefficient, 6),
        "effective_weight": round(one.weight, 6),
    }


def weighed(preferences: Preferences, id: str) -> Weighed:
    """The preference of that id with its weight. It exists."""
    return next(one for one in preferences.all() if one.record.id == id)


def bands_named(text: str) -> tuple[str, ...]:
    """The bands a person means by "taboo,like". Raises UsageError with the names there are."""
    try:
        return tuple(dict.fromkeys(band_name(name) for name in parted(text)))
    except ValueError as error:
        raise UsageError(f"{error}; also {', '.join(ALIASES)}") from error


def parted(text: str) -> list[str]:
    """The parts of a list written with commas, none empty."""
    return [part for raw in text.split(",") if (part := " ".join(raw.split()))]


def score_of(given: Given, option: str) -> float | None:
    """The score an option gives, if it is there. Raises UsageError outside 0 to 10."""
    raw = given.options.get(option)
    return None if raw is None else as_number(raw.replace("%", "?"), option, low=0, high=10)


def suggest_prefs(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """The ends of ids for the first word, what they stand for beside them, the heaviest first."""
    return () if " " in argument else suggest_several_prefs(shell, argument)


def suggest_several_prefs(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """The same for each word, without those that are named already."""
    named = argument.split(" ")[:-1]
    shown = (one.record for one in _known(shell) if short_id(one.record) not in named)
    return [Suggestion(text=short_id(record), note=record.content[:120]) for record in shown][:_MAX_SUGGESTED]


def suggest_items(shell: Shell) -> Iterable[Suggestion]:
    """The items themselves, the heaviest first."""
    return [Suggestion(text=one.record.content, note=standing(one)) for one in _known(shell)][:_MAX_SUGGESTED]


def suggest_filters(*options: str) -> SuggestWord:
    """Options of a filter, and behind one of them the names it takes."""

    def suggest(shell: Shell, argument: str) -> Iterable[Suggestion]:
        before = argument.split(" ")[:-1]
        match before[-1] if before else "":
            case "--scenario":
                return [Suggestion(text=name) for name in _scenarios(shell)]
            case "--type":
                return [Suggestion(text=name, note=f"{low:g} to {high:g}") for name, (low, high) in BANDS.items()]
            case "--format":
                return [Suggestion(text="context", note="as text for another program"), Suggestion(text="table")]
            case _:
                return [Suggestion(text=name, note=_NOTES[name]) for name in options if name not in before]

    return suggest


def scenario_names(shell: Shell) -> Sequence[str]:
    """The scenarios there are; none where memory is off."""
    return _scenarios(shell)


_NOTES = {
    "--type": "bands of scores, commas between",
    "--scenario": "only for this kind of work",
    "--min-score": "from 0 to 10",
    "--limit": "so many at most",
    "--touch": "what is found counts as confirmed",
    "--format": "context: as text for another program",
    "--yes": "do not ask",
    "--score": "from 0, never, to 10, always",
    "--reason": "why, in a few words",
    "--keywords": "other words for it, commas between",
    "--scenarios": "the kinds of work it is for, commas between",
    "--item": "its words",
    "--rule": "said as a rule: set, not averaged",
}


def _known(shell: Shell) -> list[Weighed]:
    """All preferences; a damaged file is told by the command, not while its name is typed."""
    try:
        return [] if shell.config.incognito else shell.memory.preferences.all()
    except (ClioError, OSError):
        return []


def _scenarios(shell: Shell) -> Sequence[str]:
    try:
        return () if shell.config.incognito else shell.memory.preferences.book.names
    except (ClioError, OSError):
        return ()
