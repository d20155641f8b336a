"""Parsing of command arguments into words and options or free text, and suggestions for misspelt names."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from clio.errors import UsageError
from clio.text.fuzzy import find_nearest_name
from clio.text.translation import tr

OTHER_AGENTS_COMMANDS: dict[str, str] = {
    "add": "@path in a message",
    "bug": "clio doctor in a shell",
    "compact": "/session trim",
    "doctor": "clio doctor in a shell",
    "forget": "/memory forget",
    "history": "/session list",
    "mode": "/approve",
    "new": "/session new",
    "permissions": "/approve",
    "reasoning": "/effort",
    "remember": "/memory remember",
    "reset": "/session new",
    "resume": "/session list",
    "run": "!command",
    "settings": "/config",
    "status": "/session show",
    "think": "/effort",
    "tokens": "/context",
    "usage": "/cost",
}
"""Names of other agents' commands → clio's; never the name of an existing command."""
_MAX_SUGGESTIONS = 4


def suggest_name(word: str, known: Iterable[str], prefix: str = "", otherwise: str = "") -> str:
    """Return the end of an error message: "did you mean 'x'?", or all choices. `prefix` precedes each choice.

    A prefix that only a few names share suggests all of them. otherwise: used in place of a long list of choices.
    """
    names, typed = list(known), word.lower()
    starts = [name for name in names if typed and name.startswith(typed)]
    near = find_nearest_name(typed, names)
    best = starts if 0 < len(starts) <= _MAX_SUGGESTIONS else [near] if near else []
    if best:
        *others, last = (repr(prefix + name) for name in best)
        return tr(
            "did you mean {others}{value}{last}?",
            others=", ".join(others),
            value=tr(" or ") if others else "",
            last=last,
        )
    if len(names) == 1:
        return otherwise or tr("there is only {prefix}", prefix=prefix + names[0])
    return otherwise or tr("choose one of ") + ", ".join(prefix + name for name in names)


# A backslash escapes only inside double quotes, and only a quote or a backslash, so that Windows paths stay intact.
_TOKEN = re.compile(r""""((?:[^"\\]|\\.)*)"(?!\S)|'((?:[^']|'"'"')*)'(?!\S)|(\S+)""", re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')


class ParsedArguments(Struct, frozen=True, kw_only=True):
    """The parsed argument.

    Attributes:
        words: without quotes.
        words_as_typed: the words as typed with the text between them, without the options.
        text: as typed, for free text; quotes around the whole text are removed.
        options: the last value of each option by name; "" for a switch.
        repeated: all values of repeatable options.
    """

    words: tuple[str, ...] = ()
    words_as_typed: str = ""
    text: str = ""
    options: dict[str, str] = {}
    repeated: dict[str, tuple[str, ...]] = {}


def parse_options(
    text: str,
    *,
    switches: Iterable[str] = (),
    valued: Iterable[str] = (),
    repeated: Iterable[str] = (),
    short: Mapping[str, str] | None = None,
) -> ParsedArguments:
    """Parse an argument. Options may be anywhere before `--`, as `--name value` or `--name=value`.

    Args:
        switches, valued: the options' names with their dashes.
        repeated: options with a value that may be given several times.
        short: one-letter forms and what they stand for, such as {"-t": "--type"}; others are text.

    Raises:
        UsageError: for an unknown option, or one without its value.
    """
    repeated = tuple(repeated)
    known = dict.fromkeys(switches, False) | dict.fromkeys((*valued, *repeated), True)
    values_by_option: dict[str, tuple[str, ...]] = {}
    remaining: list[re.Match[str]] = []
    options: dict[str, str] = {}
    tokens = _TOKEN.finditer(text)
    for token in tokens:
        word: str | None = token[3]
        if word is not None and short:
            if word in short and short[word] not in known:
                raise UsageError(
                    tr(
                        "There is no option {word!r} here; {suggest_name}",
                        word=word,
                        suggest_name=suggest_name(word, known),
                    )
                )
            word = short.get(word, word)
        # A quoted word is text even if it looks like an option.
        if word is None or not word.startswith("--"):
            remaining.append(token)
            continue
        if word == "--":
            remaining.extend(tokens)
            break
        name, equals, value = word.partition("=")
        takes = _option_takes_value(name, known)
        if takes and not equals:
            following = next(tokens, None)
            if following is None:
                raise UsageError(tr("{name} needs a value", name=name))
            value = _unquote_token(following)
        elif equals and not takes:
            raise UsageError(tr("{name} takes no value", name=name))
        options[name] = value
        if name in repeated:
            values_by_option[name] = (*values_by_option.get(name, ()), value)
    words = tuple(map(_unquote_token, remaining))
    typed = _restore_typed_text(text, remaining)
    return ParsedArguments(
        words=words,
        words_as_typed=typed,
        # A text given as one quoted argument of a shell loses only that pair of quotes.
        text=words[0] if len(words) == 1 else typed,
        options=options,
        repeated=values_by_option,
    )


def join_arguments(arguments: Sequence[str]) -> str:
    """Join a process's arguments into a text that `parse_options` splits into the same arguments."""
    return " ".join(shlex.quote(argument) if _needs_quotes(argument) else argument for argument in arguments)


def _option_takes_value(name: str, known: dict[str, bool]) -> bool:
    """Whether the option takes a value."""
    if name in known:
        return known[name]
    if not known:
        raise UsageError(tr("There is no option {name!r} here; after -- everything is text", name=name))
    raise UsageError(
        tr("There is no option {name!r} here; {suggest_name}", name=name, suggest_name=suggest_name(name, known))
    )


def _unquote_token(token: re.Match[str]) -> str:
    if token[1] is not None:
        return _ESCAPED.sub(r"\1", token[1])
    return token[3] if token[2] is None else token[2].replace("'\"'\"'", "'")


def _restore_typed_text(text: str, remaining: Sequence[re.Match[str]]) -> str:
    """Return the remaining words as typed, with the text between those that were adjacent."""
    parts: list[str] = []
    for number, token in enumerate(remaining):
        if number:
            between = text[remaining[number - 1].end() : token.start()]
            parts.append(" " if between.strip() else between)
        parts.append(token[0])
    return "".join(parts)


def _needs_quotes(argument: str) -> bool:
    return not argument or argument[0] in "\"'" or any(character.isspace() for character in argument)


_WORD = re.compile(r"""--[\w-]+="[^"]*"(?!\S)|"(?:[^"\\]|\\.)*"(?!\S)|'(?:[^']|'"'"')*'(?!\S)|\S+""", re.DOTALL)


_SHORT_OPTION = re.compile(r"-[A-Za-z]")
_OPTION_LIKE = re.compile(r"--[A-Za-z]")


class ParsedText(Struct, frozen=True, kw_only=True):
    """The parsed argument. has_text: whether a text was given; '""' is an empty text.

    options: all values of an option in order, by its name with the dashes.
    """

    heads: tuple[str, ...] = ()
    text: str = ""
    has_text: bool = False
    options: dict[str, tuple[str, ...]] = {}

    def get_single(self, option: str) -> str | None:
        """Return the value of an option; None if it is missing. Raises UsageError if it was given twice."""
        values = self.options.get(option, ())
        if len(values) > 1:
            raise UsageError(tr("{option} is given {count} times; give it once", option=option, count=len(values)))
        return values[0] if values else None


def parse_text(argument: str, *, heads: int = 0, valued: Collection[str] = ()) -> ParsedText:
    """Parse at most `heads` words, then text. Known options may precede or follow the text, as `--name value` or
    `=value`.

    After "--" everything is text, as is what is in quotes. Quotes around the whole text are removed, so that a text
    passed as one process argument is unchanged; quotes inside it stay. Where there are options, UsageError is raised
    for a known one without a value or inside the text, and for an unknown one, so that a misspelt option never becomes
    part of a stored text. Where there are none, a head cannot look like one: it would be stored as a name.
    """
    words = [(match[0], match.start(), match.end()) for match in _WORD.finditer(argument)]
    given: list[tuple[str, str]] = []
    head: list[str] = []
    ends_at = len(words)
    place = 0
    while place < len(words):
        word = words[place][0]
        if word == "--":
            place += 1
            break
        name, equals, value = word.partition("=")
        if name in valued:
            place += 1
            if not equals:
                value = words[place][0] if place < len(words) else _raise_missing_value(name)
                place += 1
            given.append((name, strip_quotes(value)))
        elif (valued or len(head) < heads) and (
            _OPTION_LIKE.match(word) or (_SHORT_OPTION.fullmatch(word) and place + 1 < len(words))
        ):
            raise _make_option_error(name, valued)
        elif len(head) < heads:
            head.append(strip_quotes(word))
            place += 1
        else:
            # An explicit `--` later in the line ends the options; the text before it is searched for none.
            separator = next((at for at, (word, _, _) in enumerate(words) if word == "--" and at > place), None)
            if separator is None:
                ends_at = _find_text_end(words, place, valued, given)
            if valued:
                _refuse_options(words[place : separator or ends_at], valued)
            break
    # After `--`, too, the first words are the heads.
    while len(head) < heads and place < ends_at:
        head.append(strip_quotes(words[place][0]))
        place += 1
    remaining = words[place:ends_at]
    return ParsedText(
        heads=tuple(head),
        text=strip_quotes(remaining[0][0])
        if len(remaining) == 1
        else argument[remaining[0][1] : remaining[-1][2]]
        if remaining
        else "",
        has_text=bool(remaining),
        options={name: tuple(value for key, value in given if key == name) for name, _ in given},
    )


def _refuse_options(words: Sequence[tuple[str, int, int]], valued: Collection[str]) -> None:
    """Raise UsageError for what looks like an option among the words of a text."""
    for word, _, _ in words:
        name = word.partition("=")[0]
        if name in valued:
            raise UsageError(
                tr("{name} is inside the text; put it before or after the text, or write -- before the text", name=name)
            )
        if _OPTION_LIKE.match(word):
            raise _make_option_error(name, valued)


def _make_option_error(name: str, valued: Collection[str]) -> UsageError:
    """Return the error for what looks like an option beside or inside a text; unless misspelt, it may be text."""
    if not valued:
        return UsageError(tr("There is no option {name!r} here; after -- everything is text", name=name))
    hint = suggest_name(name, valued)
    if not hint.endswith("?"):
        hint = tr("{hint}, or write -- before the text", hint=hint)
    return UsageError(tr("There is no option {name!r} here; {suggest_name}", name=name, suggest_name=hint))


def strip_quotes(text: str) -> str:
    """Return a text without the quotes around all of it; two quoted words stay as they are."""
    token = _TOKEN.fullmatch(text)
    return _unquote_token(token) if token else text


def parse_number(raw: str, option: str, *, low: float, high: float) -> float:
    """Parse a number, with "80%" being 0.8. Raises UsageError unless it is from `low` to `high`."""
    digits, percent, _ = raw.strip().partition("%")
    try:
        value = float(digits) / (100 if percent else 1)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise UsageError(
            tr(
                "{option} takes a number from {low:g} to {high:g}, not {raw!r}",
                option=option,
                low=low,
                high=high,
                raw=raw,
            )
        )
    return value


def parse_cost(raw: str) -> float:
    """Parse the value of --max-cost, US dollars. Raises UsageError."""
    return parse_number(raw, "--max-cost", low=0.000001, high=1e6)


def parse_count(raw: str, what: str) -> int:
    """Parse a whole number of at least 1. Raises UsageError."""
    if not (raw.isascii() and raw.isdigit() and int(raw[:12]) > 0 and len(raw) <= 12):
        raise UsageError(tr("{what} takes a whole number of at least 1, not {raw!r}", what=what, raw=raw))
    return int(raw)


def split_number_from_text(argument: str) -> tuple[int | None, str]:
    """Split "2 text", "#2 text" or "agent2 text" into number and text; None if it does not begin with a number."""
    word, _, rest = argument.strip().partition(" ")
    digits = word.removeprefix("#").removeprefix("agent").removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 10
    return (int(digits) if is_number else None), rest.strip()


def _find_text_end(
    words: list[tuple[str, int, int]], first: int, valued: Collection[str], given: list[tuple[str, str]]
) -> int:
    """Return where the options after the text begin, and append them to `given`."""
    end, found = len(words), list[tuple[str, str]]()
    # From the end: in the middle of a text, `--strict` is part of what the user wants to store.
    while end > first:
        name, equals, value = words[end - 1][0].partition("=")
        if equals and name in valued:
            found.append((name, strip_quotes(value)))
            end -= 1
        elif end - 1 > first and words[end - 2][0] in valued:
            found.append((words[end - 2][0], strip_quotes(words[end - 1][0])))
            end -= 2
        elif name in valued:
            _raise_missing_value(name)
        else:
            break
    given += reversed(found)
    return end


def _raise_missing_value(name: str) -> str:
    raise UsageError(tr("{name} needs a value", name=name))
