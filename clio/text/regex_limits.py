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
"""Limit for the ways in which a pattern without unbounded repetitions can match."""
_MAX_SIZE = 10_000
"""Size of a pattern with its repetitions written out, which an engine may have to hold in memory."""
_MAX_WIDTH = 2_000
"""A repetition with a higher bound counts as unbounded."""
_FEW_CHOICES, _SHORT_CHARS = 16, 1_000
"""Limits for a pattern with one unbounded repetition, and for the text, that Python's engine may still run."""
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


class PatternRefused(ValueError):
    """A pattern is not used. The message is the reason, as the end of a sentence."""


class PatternTooSlow(Exception):
    """The pattern did not finish on this text within the time limit."""


class BoundedPattern:
    """A pattern that matches any text in bounded time.

    Args:
        refuse_nested: reject a pattern with an unbounded repetition inside another one; for patterns from settings.

    Raises:
        PatternRefused: the pattern is invalid, too long or too complex.
    """

    def __init__(self, pattern: str, flags: int = 0, *, refuse_nested: bool = True) -> None:
        self.pattern = pattern
        self._flags = flags
        self._shape = _parse_shape(pattern, flags)
        if refuse_nested and self._shape.is_nested:
            raise PatternRefused("it has an unbounded repetition inside another one, which may never finish")

    @cached_property
    def _plain(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    @cached_property
    def _timed(self) -> Any:
        regex = importlib.import_module("regex")
        try:
            return regex.compile(self.pattern, self._flags & _SHARED_FLAGS)
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


_SHARED_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII
"""Flags with the same value in `re` and in the `regex` package."""


class _Shape:
    """Properties of a pattern from which its running time can be estimated."""

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


def _parse_shape(pattern: str, flags: int) -> _Shape:
    if len(pattern) > MAX_CHARS:
        raise PatternRefused(f"it is longer than {MAX_CHARS:,} characters")
    parser: Any = importlib.import_module("re._parser")
    try:
        shape = _measure(parser.parse(pattern, flags))
    except re.error as error:
        raise PatternRefused(f"it is not a valid regular expression: {error.msg}") from None
    except (RecursionError, OverflowError):
        raise PatternRefused("it is nested too deeply") from None
    if shape.size > _MAX_SIZE:
        raise PatternRefused(f"its repetitions add up to more than {_MAX_SIZE:,} parts")
    return shape


def _measure(items: Any) -> _Shape:
    """Return the shape of a sequence. Unknown constructs count as ones that backtrack without a bound."""
    whole = _Shape(size=0)
    for op, argument in items:
        part = _measure_node(str(op), argument)
        whole.choices = min(whole.choices * part.choices, 10**9)
        whole.size += part.size
        whole.loops += part.loops
        whole.depth = max(whole.depth, part.depth)
        whole.references = whole.references or part.references
    return whole


def _measure_node(op: str, argument: Any) -> _Shape:
    if op in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT"):
        return _Shape()
    if op in _REPEATS:
        return _measure_repetition(*argument)
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


def _measure_repetition(least: int, most: Any, items: Any) -> _Shape:
    inner = _measure(items)
    unbounded = str(most) == "MAXREPEAT" or int(most) > _MAX_WIDTH
    times = max(int(least), 1) if unbounded else int(most)
    ways = inner.choices ** min(times, 64) * (1 if unbounded else times - int(least) + 1)
    choices = 10**9 if unbounded and inner.choices > 1 else min(ways, 10**9)
    loops = inner.loops * max(times, 1) + (1 if unbounded else 0)
    # An unbounded repetition repeated a bounded number of times is as ambiguous as one in an unbounded repetition.
    depth = inner.depth + (1 if unbounded or (inner.depth and times > 1) else 0)
    return _Shape(choices, inner.size * times, loops, depth, references=inner.references)


# Partial matches: patterns that match a text which may still grow into a match.
#
# The modules of `re` used here are private and untyped.
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
_MAX_REFERENCE_CHARS = 40
_MAX_PREFIXES = 64
_Node = tuple[Any, Any]
"""One element of a parsed pattern: its kind, a constant of `re`, and its arguments."""
_Sequence = list[_Node]


def compile_partial(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile an expression that matches where `pattern` could match if more text followed, to the end of the text.

    It matches slightly more: lookaheads are ignored, and a reference to a group counts as any word of at most 40
    characters. A text in which `pattern` matches before the end is not a partial match.
    """
    tree = _parser.parse(pattern, flags)
    tree.data = _make_partial_sequence(list(tree.data), tree.state)
    return _compiler.compile(tree, flags)


def list_first_letters(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """Return lower-case texts such that every match of `pattern` begins with one; () if there are too many.

    Searching for them takes a hundredth of the time of a search with the pattern.
    """
    prefixes = _find_prefixes(list(_parser.parse(pattern, flags).data))
    found = {prefix.lower() for prefix, _ in prefixes}
    return () if len(found) > _MAX_PREFIXES or "" in found else tuple(sorted(found))


def _find_prefixes(nodes: _Sequence) -> list[tuple[str, bool]]:
    """Return the texts a sequence may begin with, each with whether it is all that the sequence matches then."""
    found = [("", True)]
    for kind, given in nodes:
        if kind is _constants.LITERAL:
            more = [(chr(given), True)]
        elif kind is _constants.IN and all(each is _constants.LITERAL for each, _ in given):
            more = [(chr(code), True) for _, code in given]
        elif kind in (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT):
            continue
        elif kind is _constants.SUBPATTERN:
            more = _find_prefixes(list(given[3].data))
        elif kind is _constants.BRANCH:
            more = [prefix for branch in given[1] for prefix in _find_prefixes(list(branch.data))]
        elif kind in _PARTIAL_REPEATS:
            least, most, body = given
            more = [(prefix, is_whole and most == 1) for prefix, is_whole in _find_prefixes(list(body.data))]
            more += [] if least else [("", True)]
        else:
            more = [("", False)]
        found = [each for each in found if not each[1]] + [
            (prefix + further, is_whole) for prefix, ends in found if ends for further, is_whole in more
        ]
        if len(found) > _MAX_PREFIXES:
            return [("", False)]
        if not any(is_whole for _, is_whole in found):
            break
    return found


def _make_partial_sequence(nodes: _Sequence, state: Any) -> _Sequence:
    """Return a sequence that matches like the given one, and also where the text ends before the sequence does."""
    found: _Sequence = [_END]
    for node in reversed(nodes):
        inside = _make_partial_nodes(node, state)
        whole = _make_whole_node(node)
        if whole is None:
            found = _make_branch([inside, found], state) if inside else found
        else:
            found = (
                _make_branch([inside, [whole, *found]], state)
                if inside
                else _make_branch([[_END], [whole, *found]], state)
            )
    return found


def _make_branch(sequences: list[_Sequence], state: Any) -> _Sequence:
    return [(_constants.BRANCH, (None, [_parser.SubPattern(state, each) for each in sequences]))]


def _make_whole_node(node: _Node) -> _Node | None:
    """Return the node for a text that continues after it; None if the node need not match, such as a lookahead."""
    kind, given = node
    if kind is _constants.AT and given is not _constants.AT_END_STRING:
        return node if given is _constants.AT_BEGINNING_STRING else None
    if kind is _constants.ASSERT and given[0] > 0:
        return None
    return node


def _make_partial_nodes(node: _Node, state: Any) -> _Sequence | None:
    """Return the nodes for a text that ends inside this node; None if the text can only end before the node."""
    kind, given = node
    if kind in _ONE_CHARACTER or kind is _constants.AT or kind is _constants.ASSERT_NOT:
        return None
    if kind in _PARTIAL_REPEATS:
        _, most, body = given
        inner = list(body.data)
        partial = [_END] if len(inner) == 1 and inner[0][0] in _ONE_CHARACTER else _make_partial_sequence(inner, state)
        return [(_constants.MAX_REPEAT, (0, most, body)), *partial]
    if kind is _constants.BRANCH:
        return _make_branch([_make_partial_sequence(list(each.data), state) for each in given[1]], state)
    if kind is _constants.SUBPATTERN:
        return _make_partial_sequence(list(given[3].data), state)
    if kind is _constants.ATOMIC_GROUP:
        return _make_partial_sequence(list(given.data), state)
    if kind is _constants.ASSERT:
        return _make_partial_sequence(list(given[1].data), state) if given[0] > 0 else None
    if kind is _constants.GROUPREF:
        any_char = _parser.SubPattern(state, [(_constants.NOT_LITERAL, ord("\n"))])
        return [(_constants.MAX_REPEAT, (0, _MAX_REFERENCE_CHARS, any_char)), _END]
    raise ValueError(f"partial matches of {kind} are not supported")
