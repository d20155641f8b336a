"""/loop: repeat a message while the session is open."""

import re
from collections.abc import Iterable

from clio.commands.arguments import parse_cost, parse_count, parse_text
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    RepeatMessage,
    StopRepeating,
    make_refusal,
    quote_code,
)
from clio.errors import UsageError
from clio.text.translation import mark, tr

_UNITS_S = {
    **dict.fromkeys("s sec secs second seconds sek sekunde sekunden".split(), 1.0),
    **dict.fromkeys("m min mins minute minutes minuten".split(), 60.0),
    **dict.fromkeys("h hr hrs hour hours std stunde stunden".split(), 3600.0),
}


def _match_part(units: Iterable[str]) -> str:
    return rf"(\d{{1,6}}) ?({'|'.join(units)})(?![^\W\d_])"


_PART = re.compile(_match_part(_UNITS_S))
_HOURS, _MINUTES = (_match_part(unit for unit, value in _UNITS_S.items() if value == size) for size in (3600.0, 60.0))
# "1 h 30 min", as clio displays an interval, has a space between its parts.
_DURATION = re.compile(rf"(?:{_HOURS} {_MINUTES}|(?:{_PART.pattern})+)(?=[,:;]?(?:\s|$))")
# A word such as "500ms" or "3d" that was meant as an interval must not become the beginning of the message.
_LIKE_DURATION = re.compile(r"\d+(?:[.,]\d+)?[^\W\d_]{1,8}(?=[,:;]?(?:\s|$))")
DEFAULT_INTERVAL_S = 600.0
DEFAULT_TIMES = 20
DEFAULT_LIMIT_S = 8 * 3600.0
DEFAULT_MAX_COST = 5.0
MAX_TIMES = 1_000
_OPTIONS = ("--times", "--for", "--max-cost")


def repeat_message(ctx: CommandContext, argument: str) -> CommandResult:
    """Repeat a message or command until a limit is reached."""
    if argument.strip().lower() == "stop":
        return CommandResult(follow_up=StopRepeating())
    argument = argument.strip()
    interval_s = DEFAULT_INTERVAL_S
    if (found := _DURATION.match(argument.lower())) is not None:
        interval_s, argument = _to_seconds(found[0]), argument[found.end() :].lstrip(",:;")
    elif (other := _LIKE_DURATION.match(argument)) is not None:
        return make_refusal(
            tr(
                "{word} is not an interval: write 30s, 10m, 2h or 1h30m; after an interval the message may begin "
                "with anything",
                word=quote_code(other[0]),
            )
        )
    given = parse_text(argument, valued=_OPTIONS)
    text = given.text.strip()
    if not text:
        return make_refusal(tr("Nothing to repeat: write /loop 10m TEXT, or /loop stop to end a repetition"))
    if text.split()[0].lower() == "/loop":
        return make_refusal(tr("/loop cannot repeat itself"))
    times, limit, cost = (given.get_single(name) for name in _OPTIONS)
    return CommandResult(
        follow_up=RepeatMessage(
            text=text,
            interval_s=interval_s,
            times=min(parse_count(times, "--times"), MAX_TIMES) if times else DEFAULT_TIMES,
            limit_s=_parse_duration(limit) if limit else DEFAULT_LIMIT_S,
            max_cost=parse_cost(cost) if cost else DEFAULT_MAX_COST,
        )
    )


def _parse_duration(text: str) -> float:
    if _DURATION.fullmatch(text.strip().lower()) is None:
        raise UsageError(tr("--for takes a time such as 30m or 2h, not {text!r}", text=text))
    return _to_seconds(text)


def _to_seconds(text: str) -> float:
    seconds = sum(int(part[1]) * _UNITS_S[part[2]] for part in _PART.finditer(text.lower()))
    if not seconds:
        raise UsageError(tr("the time must be at least 1s, not {text}", text=text.strip()))
    return seconds


LOOP: tuple[Command, ...] = (
    Command(
        name="loop",
        argument="[INTERVAL] [--times N] [--for TIME] [--max-cost USD] TEXT|/COMMAND, or stop",
        summary=mark("repeat a message while this session is open; Esc ends it"),
        handler=repeat_message,
        sends_argument=True,
    ),
)
