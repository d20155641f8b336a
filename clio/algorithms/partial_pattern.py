"""Whether a text that has not ended may still become a match: the `partial=True` of other engines, for `re`.

The expression is derived from the one it belongs to, so that the two cannot disagree.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false

import re
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
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
    """An expression that matches exactly where `pattern` may match once more text has followed, up to the end.

    It matches a little more than that: lookahead may say no later, and a reference to a group counts as any word of at
    most 40 characters. A text in which `pattern` has matched before the end is no partial match.
    """
    tree = _parser.parse(pattern, flags)
    tree.data = _partial(list(tree.data), tree.state)
    return _compiler.compile(tree, flags)


def list_leads(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """The letters, in lower case, with one of which every match of `pattern` begins; empty where they are too many.

    To look for them takes a hundredth of the time that a search takes.
    """
    leads = _find_leads(list(_parser.parse(pattern, flags).data))
    found = {lead.lower() for lead, _ in leads}
    return () if len(found) > _MOST_LEADS or "" in found else tuple(sorted(found))


def _find_leads(nodes: _Sequence) -> list[tuple[str, bool]]:
    """What a sequence may begin with, and whether that is all of it, so that what follows it comes next."""
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
        elif kind in _REPEATS:
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
    """The sequence, ended by the end of the text anywhere inside it."""
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
    """A node as it has to match where the text goes on behind it; None where it need not."""
    kind, given = node
    if kind is _constants.AT and given is not _constants.AT_END_STRING:
        return node if given is _constants.AT_BEGINNING_STRING else None
    if kind is _constants.ASSERT and given[0] > 0:
        return None
    return node


def _inside(node: _Node, state: Any) -> _Sequence | None:
    """What matches up to the end of a text that ends inside this node; None for the end before it only."""
    kind, given = node
    if kind in _ONE_CHARACTER or kind is _constants.AT or kind is _constants.ASSERT_NOT:
        return None
    if kind in _REPEATS:
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
