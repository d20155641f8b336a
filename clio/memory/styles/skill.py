"""A response style: a small file with a header and a text that tells the model how to word its answer."""

import re

from msgspec import Struct

from clio.config.command_line import did_you_mean
from clio.errors import UserError
from clio.text.bandit import PREFERENCE_DIMENSIONS as DIMENSION_COUNT

DIMENSIONS: tuple[str, ...] = (
    "verbosity",
    "formality",
    "technical_depth",
    "proactivity",
    "emotional_expression",
    "structure",
    "explanation_depth",
    "example_usage",
    "question_asking",
    "reassurance_level",
    "directness",
    "enthusiasm",
    "patience",
    "creativity",
    "humor",
    "code_focus",
)
"""What the sixteen numbers mean, each from 0.0 (none of it) to 1.0. The document names the first fourteen."""
NEUTRAL: tuple[float, ...] = (0.5,) * DIMENSION_COUNT
MAX_CHARS = 1_200
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_TEXTS = ("id", "name", "summary")
_LISTS = ("intents", "times", "sentiments", "topics")


class Trigger(Struct, frozen=True, kw_only=True):
    """When a style fits. "any" fits whatever there is; what is empty fits nothing."""

    intents: tuple[str, ...] = ("any",)
    times: tuple[str, ...] = ("any",)
    sentiments: tuple[str, ...] = ("any",)
    topics: tuple[str, ...] = ()


class StyleSkill(Struct, frozen=True, kw_only=True):
    """A style. dimensions: a number for each of DIMENSIONS. text: what the model reads. source: where it is written."""

    id: str
    name: str
    text: str
    summary: str = ""
    trigger: Trigger = Trigger()
    dimensions: tuple[float, ...] = NEUTRAL
    source: str = ""
    built_in: bool = False


def parse_skill(text: str, source: str, *, built_in: bool = False) -> StyleSkill:
    """The style a file holds: `key: value` lines between two lines of dashes, then the words for the model.

    Raises UserError, which names the file and the line that is wrong.
    """
    head, body = _split(text.replace("\r\n", "\n"), source)
    given: dict[str, str] = {}
    for number, line in enumerate(head, 2):
        key, colon, value = line.partition(":")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name = key.strip().lower().replace("-", "_")
        if not colon or name not in (*_TEXTS, *_LISTS, *DIMENSIONS):
            hint = did_you_mean(name, (*_TEXTS, *_LISTS, *DIMENSIONS))
            raise UserError(f"{source!r}, line {number}: {line.strip()!r} is nothing a style has{hint}")
        given[name] = value.strip().strip("\"'")
    id = given.get("id", "")
    if not _ID.fullmatch(id):
        raise UserError(f"{source!r}: a style needs an id of small letters, digits and dashes, not {id!r}")
    words = body.strip()
    if not words or len(words) > MAX_CHARS:
        raise UserError(f"{source!r}: a style has 1 to {MAX_CHARS:,} characters of text, and this has {len(words):,}")
    return StyleSkill(
        id=id,
        name=given.get("name") or id,
        text=words,
        summary=given.get("summary", ""),
        trigger=Trigger(**{name: _list(given[name]) for name in _LISTS if name in given}),
        dimensions=tuple(_number(given.get(name), name, source) for name in DIMENSIONS),
        source=source,
        built_in=built_in,
    )


def _split(text: str, source: str) -> tuple[list[str], str]:
    lines = text.lstrip("\ufeff").split("\n")
    if lines[0].strip() == "---":
        for number, line in enumerate(lines[1:], 1):
            if line.strip() == "---":
                return lines[1:number], "\n".join(lines[number + 1 :])
    raise UserError(f"{source!r}: a style begins with its properties between two lines of `---`; see docs/styles.md")


def _list(value: str) -> tuple[str, ...]:
    return tuple(part for raw in value.strip("[]").split(",") if (part := " ".join(raw.strip(" \"'").split()).lower()))


def _number(value: str | None, name: str, source: str) -> float:
    if value is None:
        return 0.5
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise UserError(f"{source!r}: {name} is a number from 0.0 to 1.0, not {value!r}")
    return number
