"""Run regular expressions in bounded time, and match text that may still grow into a match."""

import importlib
import re
from collections.abc import Iterator
from functools import cached_property
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

MAX_CHARS = 2_000
TIME_LIMIT_S = 0.1
"""For one line of text; ordinary patterns need microseconds."""
_MAX_CHOICES = 2_000
_MAX_SIZE = 10_000
"""Size of a pattern with its repetitions written out, which an engine may have to hold in memory."""
_MAX_WIDTH = 2_000
_FEW_CHOICES, _SHORT_CHARS = 16, 1_000
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


class PatternRefused(ValueError):
    """The reason, as the end of a sentence, why a pattern is not used."""


class PatternTooSlow(Exception):
    """The pattern did not finish on this text within the time limit."""


class BoundedPattern:
    """A pattern that matches any text in bounded time.

    Args:
        refuse_nested: reject a pattern with an unbounded repetition inside another one, as for patterns in
            settings.

    Raises:
        PatternRefused: the pattern is invalid, too long or too complex.
    """

    def __init__(self, pattern: str, flags: int = 0, *, refuse_nested: bool = True) -> None:
        self.pattern = pattern
        self._flags = flags
        self._shape = _shape_of(pattern, flags)
        if refuse_nested and self._shape.is_nested:
            raise PatternRefused("it repeats a repetition without a bound, which can take for ever")

    @cached_property
    def _plain(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    @cached_property
    def _timed(self) -> Any:
        regex = importlib.import_module("regex")
        try:
            return regex.compile(self.pattern, self._flags & _ALIKE)
        except (regex.error, RecursionError, MemoryError, OverflowError) as error:
            raise PatternRefused(f"it cannot be used: {error}") from None

    def find_spans(self, text: str, limit_s: float = TIME_LIMIT_S) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each match from left to right. Raises PatternTooSlow."""
        if self._shape.is_harmless(text):
            yield from (match.span() for match in self._plain.finditer(text))
            return
        try:
            yield from [match.span() for match in self._timed.finditer(text, timeout=limit_s)]
        except TimeoutError:
            raise PatternTooSlow from None

    def search(self, text: str, limit_s: float = TIME_LIMIT_S) -> tuple[int, int] | None:
        """Return (start, end) of the first match, or None. Raises PatternTooSlow."""
        if self._shape.is_harmless(text):
            found = self._plain.search(text)
        else:
            try:
                found = self._timed.search(text, timeout=limit_s)
            except TimeoutError:
                raise PatternTooSlow from None
        return found.span() if found else None


_ALIKE = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII
"""Flags with the same value in `re` and in the `regex` package."""


class _Shape:
    """What is known about a pattern before it runs."""

    def __init__(
        self, choices: int = 1, size: int = 1, loops: int = 0, depth: int = 0, *, references: bool = False
    ) -> None:
        self.choices = choices  # product of the ways its parts can match, without unbounded repetitions
        self.loops = loops  # number of unbounded repetitions
        self.size = size  # number of parts, with repetitions written out
        self.depth = depth  # nesting of unbounded repetitions
        self.references = references

    def is_harmless(self, text: str) -> bool:
        """Whether Python's engine needs at most some milliseconds for any text of this length.

        With one unbounded repetition it may scan to the end of the text from every position, which is fast for most
        lines. Such patterns are common, and importing the other engine takes long.
        """
        if self.references or self.size > _MAX_WIDTH or self.loops > 1:
            return False
        if self.loops == 0:
            return self.choices <= _MAX_CHOICES
        return self.choices <= _FEW_CHOICES and len(text) <= _SHORT_CHARS

    @property
    def is_nested(self) -> bool:
        return self.depth > 1


def _shape_of(pattern: str, flags: int) -> _Shape:
    if len(pattern) > MAX_CHARS:
        raise PatternRefused(f"it is longer than {MAX_CHARS:,} characters")
    parser: Any = importlib.import_module("re._parser")
    try:
        shape = _measure(parser.parse(pattern, flags))
    except re.error as error:
        raise PatternRefused(f"it is no regular expression: {error.msg}") from None
    except (RecursionError, OverflowError):
        raise PatternRefused("it is nested too deeply") from None
    if shape.size > _MAX_SIZE:
        raise PatternRefused(f"its repetitions come to more than {_MAX_SIZE:,} parts")
    return shape


def _measure(items: Any) -> _Shape:
    """Return the shape of a sequence. Unknown constructs count as ones that backtrack without a bound."""
    whole = _Shape(size=0)
    for op, argument in items:
        part = _part(str(op), argument)
        whole.choices = min(whole.choices * part.choices, 10**9)
        whole.size += part.size
        whole.loops += part.loops
        whole.depth = max(whole.depth, part.depth)
        whole.references = whole.references or part.references
    return whole


def _part(op: str, argument: Any) -> _Shape:
    if op in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT"):
        return _Shape()
    if op in _REPEATS:
        return _repeated(*argument)
    if op == "BRANCH":
        branches = [_measure(branch) for branch in argument[1]]
        return _Shape(
            choices=sum(branch.choices for branch in branches),
            size=sum(branch.size for branch in branches),
            loops=sum(branch.loops for branch in branches),
            depth=max(branch.depth for branch in branches),
            references=any(branch.references for branch in branches),
        )
    if op == "SUBPATTERN":
        return _measure(argument[3])
    if op == "ATOMIC_GROUP":
        return _measure(argument)
    if op in ("ASSERT", "ASSERT_NOT"):
        inner = _measure(argument[1])
        inner.references = True
        return inner
    return _Shape(references=True)


def _repeated(least: int, most: Any, items: Any) -> _Shape:
    inner = _measure(items)
    unbounded = str(most) == "MAXREPEAT" or int(most) > _MAX_WIDTH
    times = max(int(least), 1) if unbounded else int(most)
    ways = inner.choices ** min(times, 64) * (1 if unbounded else times - int(least) + 1)
    choices = 10**9 if unbounded and inner.choices > 1 else min(ways, 10**9)
    loops = inner.loops * max(times, 1) + (1 if unbounded else 0)
    # An unbounded repetition repeated a bounded number of times is as ambiguous as one in an unbounded repetition.
    depth = inner.depth + (1 if unbounded or (inner.depth and times > 1) else 0)
    return _Shape(choices, inner.size * times, loops, depth, references=inner.references)


# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false


_PARTIAL_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_ONE_CHARACTER = (
    _constants.LITERAL,
    _constants.NOT_LITERAL,
    _constants.ANY,
    _constants.IN,
    _constants.RANGE,
    _constants.CATEGORY,
)
_END = (_constants.AT, _constants.AT_END_STRING)
_MOST_OF_A_REFERENCE = 40
_MOST_LEADS = 64
_Node = tuple[Any, Any]
_Sequence = list[_Node]


def compile_partial(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile an expression that matches where `pattern` could match if more text followed, up to the end of the
    text.

    It matches slightly more: lookaheads are ignored, and a reference to a group counts as any word of at most 40
    characters. A text in which `pattern` matches before the end is not a partial match.
    """
    tree = _parser.parse(pattern, flags)
    tree.data = _partial(list(tree.data), tree.state)
    return _compiler.compile(tree, flags)


def list_first_letters(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """Return the lower-case letters, one of which begins every match of `pattern`; empty if there are too many.

    Searching for them takes a hundredth of the time of a search with the pattern.
    """
    leads = _find_leads(list(_parser.parse(pattern, flags).data))
    found = {lead.lower() for lead, _ in leads}
    return () if len(found) > _MOST_LEADS or "" in found else tuple(sorted(found))


def _find_leads(nodes: _Sequence) -> list[tuple[str, bool]]:
    """Return what a sequence may begin with, each with whether that is all of it, so that the next node follows."""
    found = [("", True)]
    for kind, given in nodes:
        if kind is _constants.LITERAL:
            more = [(chr(given), True)]
        elif kind is _constants.IN and all(each is _constants.LITERAL for each, _ in given):
            more = [(chr(code), True) for _, code in given]
        elif kind in (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT):
            continue
        elif kind is _constants.SUBPATTERN:
            more = _find_leads(list(given[3].data))
        elif kind is _constants.BRANCH:
            more = [lead for each in given[1] for lead in _find_leads(list(each.data))]
        elif kind in _PARTIAL_REPEATS:
            least, most, body = given
            more = [(lead, is_whole and most == 1) for lead, is_whole in _find_leads(list(body.data))]
            more += [] if least else [("", True)]
        else:
            more = [("", False)]
        found = [each for each in found if not each[1]] + [
            (lead + further, is_whole) for lead, ends in found if ends for further, is_whole in more
        ]
        if len(found) > _MOST_LEADS:
            return [("", False)]
        if not any(is_whole for _, is_whole in found):
            break
    return found


def _partial(nodes: _Sequence, state: Any) -> _Sequence:
    """Return the sequence such that the end of the text may end it anywhere."""
    found: _Sequence = [_END]
    for node in reversed(nodes):
        inside = _inside(node, state)
        whole = _whole(node)
        if whole is None:
            found = _either([inside, found], state) if inside else found
        else:
            found = _either([inside, [whole, *found]], state) if inside else _either([[_END], [whole, *found]], state)
    return found


def _either(sequences: list[_Sequence], state: Any) -> _Sequence:
    return [(_constants.BRANCH, (None, [_parser.SubPattern(state, each) for each in sequences]))]


def _whole(node: _Node) -> _Node | None:
    """Return a node as it must match if the text continues after it; None if it need not match."""
    kind, given = node
    if kind is _constants.AT and given is not _constants.AT_END_STRING:
        return node if given is _constants.AT_BEGINNING_STRING else None
    if kind is _constants.ASSERT and given[0] > 0:
        return None
    return node


def _inside(node: _Node, state: Any) -> _Sequence | None:
    """Return what matches up to the end of a text that ends inside this node; None if the text can only end before
    it.
    """
    kind, given = node
    if kind in _ONE_CHARACTER or kind is _constants.AT or kind is _constants.ASSERT_NOT:
        return None
    if kind in _PARTIAL_REPEATS:
        _, most, body = given
        inner = list(body.data)
        partial = [_END] if len(inner) == 1 and inner[0][0] in _ONE_CHARACTER else _partial(inner, state)
        return [(_constants.MAX_REPEAT, (0, most, body)), *partial]
    if kind is _constants.BRANCH:
        return _either([_partial(list(each.data), state) for each in given[1]], state)
    if kind is _constants.SUBPATTERN:
        return _partial(list(given[3].data), state)
    if kind is _constants.ATOMIC_GROUP:
        return _partial(list(given.data), state)
    if kind is _constants.ASSERT:
        return _partial(list(given[1].data), state) if given[0] > 0 else None
    if kind is _constants.GROUPREF:
        blank = _parser.SubPattern(state, [(_constants.NOT_LITERAL, ord("\n"))])
        return [(_constants.MAX_REPEAT, (0, _MOST_OF_A_REFERENCE, blank)), _END]
    raise ValueError(f"a partial match of {kind} is not known")
