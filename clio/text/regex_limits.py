"""Run regular expressions in bounded time, and match text that may still grow into a match."""

import importlib
import re
from collections.abc import Iterator
from functools import cached_property
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

MAX_PATTERN_CHARS = 2_000
TIME_LIMIT_S = 0.1
"""For one line of text; ordinary patterns need microseconds."""
_MAX_CHOICES = 2_000
"""Limit for the ways in which a pattern without unbounded repetitions can match."""
_MAX_PARTS = 10_000
"""Size of a pattern with its repetitions written out, which an engine may have to hold in memory."""
_MAX_BOUND = 2_000
"""A repetition with a higher bound counts as unbounded."""
_MAX_LOOP_CHOICES, _MAX_LOOP_TEXT_CHARS = 16, 1_000
"""Limits for a pattern with one unbounded repetition, and for the text, that Python's engine may still run."""
_REPEAT_NAMES = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


class PatternRefused(ValueError):
    """A pattern is rejected. The message is the reason, as the end of a sentence: "it is nested too deeply"."""


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
        self._complexity = _measure_pattern(pattern, flags)
        if refuse_nested and self._complexity.is_nested:
            raise PatternRefused("it has an unbounded repetition inside another one, which may never finish")

    @cached_property
    def _python_pattern(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    @cached_property
    def _timed_pattern(self) -> Any:
        # Imported late: that takes 40 to 60 ms, and most patterns are simple enough for Python's engine, which has no
        # time limit.
        regex = importlib.import_module("regex")
        try:
            return regex.compile(self.pattern, self._flags & _SHARED_FLAGS)
        except (regex.error, RecursionError, MemoryError, OverflowError) as error:
            raise PatternRefused(f"it cannot be used: {error}") from None

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each match from left to right. Raises PatternTooSlow."""
        if self._complexity.is_fast_for(text):
            yield from (match.span() for match in self._python_pattern.finditer(text))
            return
        try:
            yield from [match.span() for match in self._timed_pattern.finditer(text, timeout=TIME_LIMIT_S)]
        except TimeoutError:
            raise PatternTooSlow from None

    def search(self, text: str, limit_s: float = TIME_LIMIT_S) -> tuple[int, int] | None:
        """Return (start, end) of the first match, or None. Raises PatternTooSlow."""
        if self._complexity.is_fast_for(text):
            found = self._python_pattern.search(text)
        else:
            try:
                found = self._timed_pattern.search(text, timeout=limit_s)
            except TimeoutError:
                raise PatternTooSlow from None
        return found.span() if found else None


_SHARED_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII
"""Flags with the same value in `re` and in the `regex` package."""


class _PatternComplexity:
    """Properties of a pattern from which its running time can be estimated."""

    def __init__(
        self, choices: int = 1, size: int = 1, loops: int = 0, depth: int = 0, *, has_unpredictable_part: bool = False
    ) -> None:
        self.choices = choices  # product of the ways its parts can match, without unbounded repetitions
        self.loops = loops  # number of unbounded repetitions
        self.size = size  # number of parts, with repetitions written out
        self.depth = depth  # nesting of unbounded repetitions
        self.has_unpredictable_part = has_unpredictable_part  # a lookaround, a reference to a group, or unknown

    def is_fast_for(self, text: str) -> bool:
        """Whether Python's engine needs at most some milliseconds for any text of this length.

        With one unbounded repetition it may scan to the end of the text from every position, which is fast for most
        lines. Such patterns are common, and importing the other engine takes long.
        """
        if self.has_unpredictable_part or self.size > _MAX_BOUND or self.loops > 1:
            return False
        if self.loops == 0:
            return self.choices <= _MAX_CHOICES
        return self.choices <= _MAX_LOOP_CHOICES and len(text) <= _MAX_LOOP_TEXT_CHARS

    @property
    def is_nested(self) -> bool:
        return self.depth > 1


def _measure_pattern(pattern: str, flags: int) -> _PatternComplexity:
    if len(pattern) > MAX_PATTERN_CHARS:
        raise PatternRefused(f"it is longer than {MAX_PATTERN_CHARS:,} characters")
    parser: Any = importlib.import_module("re._parser")
    try:
        complexity = _measure_sequence(parser.parse(pattern, flags))
    except re.error as error:
        raise PatternRefused(f"it is not a valid regular expression: {error.msg}") from None
    except (RecursionError, OverflowError):
        raise PatternRefused("it is nested too deeply") from None
    if complexity.size > _MAX_PARTS:
        raise PatternRefused(f"its repetitions add up to more than {_MAX_PARTS:,} parts")
    return complexity


def _measure_sequence(items: Any) -> _PatternComplexity:
    """Return the complexity of a parsed sequence. Unknown constructs count as ones that backtrack without a bound."""
    total = _PatternComplexity(size=0)
    for op, argument in items:
        part = _measure_node(str(op), argument)
        total.choices = min(total.choices * part.choices, 10**9)
        total.size += part.size
        total.loops += part.loops
        total.depth = max(total.depth, part.depth)
        total.has_unpredictable_part = total.has_unpredictable_part or part.has_unpredictable_part
    return total


def _measure_node(op: str, argument: Any) -> _PatternComplexity:
    if op in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT"):
        return _PatternComplexity()
    if op in _REPEAT_NAMES:
        return _measure_repetition(*argument)
    if op == "BRANCH":
        branches = [_measure_sequence(branch) for branch in argument[1]]
        return _PatternComplexity(
            choices=sum(branch.choices for branch in branches),
            size=sum(branch.size for branch in branches),
            loops=sum(branch.loops for branch in branches),
            depth=max(branch.depth for branch in branches),
            has_unpredictable_part=any(branch.has_unpredictable_part for branch in branches),
        )
    if op == "SUBPATTERN":
        return _measure_sequence(argument[3])
    if op == "ATOMIC_GROUP":
        return _measure_sequence(argument)
    if op in ("ASSERT", "ASSERT_NOT"):
        inner = _measure_sequence(argument[1])
        inner.has_unpredictable_part = True
        return inner
    return _PatternComplexity(has_unpredictable_part=True)


def _measure_repetition(minimum: int, maximum: Any, items: Any) -> _PatternComplexity:
    inner = _measure_sequence(items)
    unbounded = str(maximum) == "MAXREPEAT" or int(maximum) > _MAX_BOUND
    times = max(int(minimum), 1) if unbounded else int(maximum)
    matches = inner.choices ** min(times, 64) * (1 if unbounded else times - int(minimum) + 1)
    choices = 10**9 if unbounded and inner.choices > 1 else min(matches, 10**9)
    loops = inner.loops * max(times, 1) + (1 if unbounded else 0)
    # An unbounded repetition repeated a bounded number of times is as ambiguous as one in an unbounded repetition.
    depth = inner.depth + (1 if unbounded or (inner.depth and times > 1) else 0)
    return _PatternComplexity(
        choices, inner.size * times, loops, depth, has_unpredictable_part=inner.has_unpredictable_part
    )


# Partial matches: patterns that match a text which may still grow into a match.
#
# The modules of `re` used here are private and untyped.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false

_REPEAT_KINDS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_SINGLE_CHARACTER_KINDS = (
    _constants.LITERAL,
    _constants.NOT_LITERAL,
    _constants.ANY,
    _constants.IN,
    _constants.RANGE,
    _constants.CATEGORY,
)
_END_OF_TEXT = (_constants.AT, _constants.AT_END_STRING)
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


def list_literal_prefixes(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """Return the lower-case prefixes one of which every match of `pattern` begins with; () if there are too many.

    Searching for them takes a hundredth of the time of a search with the pattern.
    """
    prefixes = _find_prefixes(list(_parser.parse(pattern, flags).data))
    found = {prefix.lower() for prefix, _ in prefixes}
    return () if len(found) > _MAX_PREFIXES or "" in found else tuple(sorted(found))


def _find_prefixes(nodes: _Sequence) -> list[tuple[str, bool]]:
    """Return the texts a sequence may begin with, each with whether the sequence can match exactly this text."""
    prefixes = [("", True)]
    for kind, argument in nodes:
        if kind is _constants.LITERAL:
            continuations = [(chr(argument), True)]
        elif kind is _constants.IN and all(item is _constants.LITERAL for item, _ in argument):
            continuations = [(chr(code), True) for _, code in argument]
        elif kind in (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT):
            continue
        elif kind is _constants.SUBPATTERN:
            continuations = _find_prefixes(list(argument[3].data))
        elif kind is _constants.BRANCH:
            continuations = [prefix for branch in argument[1] for prefix in _find_prefixes(list(branch.data))]
        elif kind in _REPEAT_KINDS:
            minimum, maximum, body = argument
            continuations = [
                (prefix, is_whole and maximum == 1) for prefix, is_whole in _find_prefixes(list(body.data))
            ]
            continuations += [] if minimum else [("", True)]
        else:
            continuations = [("", False)]
        prefixes = [item for item in prefixes if not item[1]] + [
            (prefix + further, is_whole) for prefix, ends in prefixes if ends for further, is_whole in continuations
        ]
        if len(prefixes) > _MAX_PREFIXES:
            return [("", False)]
        if not any(is_whole for _, is_whole in prefixes):
            break
    return prefixes


def _make_partial_sequence(nodes: _Sequence, state: Any) -> _Sequence:
    """Return a sequence that matches like the given one, and also where the text ends before the sequence does."""
    sequence: _Sequence = [_END_OF_TEXT]
    for node in reversed(nodes):
        partial = _make_partial_nodes(node, state)
        complete = _make_whole_node(node)
        if complete is None:
            sequence = _make_branch([partial, sequence], state) if partial else sequence
        else:
            sequence = (
                _make_branch([partial, [complete, *sequence]], state)
                if partial
                else _make_branch([[_END_OF_TEXT], [complete, *sequence]], state)
            )
    return sequence


def _make_branch(sequences: list[_Sequence], state: Any) -> _Sequence:
    return [(_constants.BRANCH, (None, [_parser.SubPattern(state, sequence) for sequence in sequences]))]


def _make_whole_node(node: _Node) -> _Node | None:
    """Return the node for a text that continues after it; None if the node need not match, such as a lookahead."""
    kind, argument = node
    if kind is _constants.AT and argument is not _constants.AT_END_STRING:
        return node if argument is _constants.AT_BEGINNING_STRING else None
    if kind is _constants.ASSERT and argument[0] > 0:
        return None
    return node


def _make_partial_nodes(node: _Node, state: Any) -> _Sequence | None:
    """Return the nodes for a text that ends inside this node; None if the text can only end before the node."""
    kind, argument = node
    if kind in _SINGLE_CHARACTER_KINDS or kind is _constants.AT or kind is _constants.ASSERT_NOT:
        return None
    if kind in _REPEAT_KINDS:
        _, maximum, body = argument
        inner = list(body.data)
        partial = (
            [_END_OF_TEXT]
            if len(inner) == 1 and inner[0][0] in _SINGLE_CHARACTER_KINDS
            else _make_partial_sequence(inner, state)
        )
        return [(_constants.MAX_REPEAT, (0, maximum, body)), *partial]
    if kind is _constants.BRANCH:
        return _make_branch([_make_partial_sequence(list(branch.data), state) for branch in argument[1]], state)
    if kind is _constants.SUBPATTERN:
        return _make_partial_sequence(list(argument[3].data), state)
    if kind is _constants.ATOMIC_GROUP:
        return _make_partial_sequence(list(argument.data), state)
    if kind is _constants.ASSERT:
        return _make_partial_sequence(list(argument[1].data), state) if argument[0] > 0 else None
    if kind is _constants.GROUPREF:
        any_char = _parser.SubPattern(state, [(_constants.NOT_LITERAL, ord("\n"))])
        return [(_constants.MAX_REPEAT, (0, _MAX_REFERENCE_CHARS, any_char)), _END_OF_TEXT]
    raise ValueError(f"partial matches of {kind} are not supported")
