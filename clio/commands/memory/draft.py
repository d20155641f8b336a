"""What a person writes behind `/memory add KIND` and `/memory edit ID`, taken apart into the fields of an entry."""

import re
from collections.abc import Callable
from typing import Any

from clio.algorithms.late_pattern import LatePattern
from clio.errors import UsageError
from clio.memory.records import Kind

Fields = dict[str, Any]

_ARROWS = (LatePattern(r"\s*=>\s*"), LatePattern(r"\s*→\s*"), LatePattern(r"\s+->\s+|^->\s+|\s+->$"))
_NAMED = LatePattern(r"([^:,>→'\"`]{1,60}):\s+(\S.*)", re.DOTALL)
_PATHLIKE = LatePattern(r"[^\s:]*[/.*][^\s:]*")

FORMS: dict[Kind, str] = {
    "discovery": "TEXT",
    "solution": "ERROR => SOLUTION",
    "pattern": "TEXT",
    "workflow": "[NAME:] STEP -> STEP -> …",
    "failure": "WHAT FAILED => PREVENTION",
    "rule": "[PATH:] TEXT",
}


def fields_of(kind: Kind, text: str, *, is_path: Callable[[str], bool]) -> Fields:
    """The fields of a new entry, by the names `Entry` gives them.

    is_path: whether a word without a slash or a dot names something in the project. Raises UsageError where a part is
    missing, with the form that would be right.
    """
    fields = changes_of(kind, text, is_path=is_path)
    for part in ("text", "solution") if kind == "solution" else ("text",):
        if not str(fields.get(part, "")).strip():
            raise UsageError(f"A {kind} needs {_NEEDS.get(kind, 'words')}: write /memory add {kind} {FORMS[kind]}")
    if kind == "workflow" and len(fields["steps"]) < 2:
        raise UsageError(f"A workflow needs two steps or more: write /memory add workflow {FORMS[kind]}")
    return fields


def changes_of(kind: Kind, text: str, *, is_path: Callable[[str], bool]) -> Fields:
    """The fields a text gives; a side of an arrow that is left empty is left out, so it changes nothing."""
    match kind:
        case "solution" | "failure":
            before, after = _two_sides(text)
            return {name: part for name, part in (("text", before), ("solution", after)) if part}
        case "workflow":
            return _workflow(text)
        case "rule":
            context, rule = _scoped(text, is_path)
            return {"text": rule} if context is None else {"text": rule, "context": context}
        case _:
            return {"text": text.strip()}


_NEEDS: dict[Kind, str] = {"solution": "the error and what helped", "failure": "what failed"}


def _two_sides(text: str) -> tuple[str, str]:
    """What stands before and behind the first arrow; "=>" counts before the others, which errors may hold."""
    for arrow in _ARROWS:
        if found := arrow.search(text):
            return text[: found.start()].strip(), text[found.end() :].strip()
    return text.strip(), ""


def _workflow(text: str) -> Fields:
    name, rest = "", text.strip()
    if (found := _NAMED.fullmatch(rest)) and len(_steps(found[2])) > 1:
        name, rest = found[1].strip(), found[2]
    steps = _steps(rest)
    return {"text": name or " → ".join(steps), "steps": steps}


def _steps(text: str) -> tuple[str, ...]:
    """The steps between arrows; between commas where there is no arrow."""
    for arrow in _ARROWS:
        if arrow.search(text):
            return tuple(step.strip() for step in arrow.split(text) if step.strip())
    return tuple(step.strip() for step in text.split(",") if step.strip())


def _scoped(text: str, is_path: Callable[[str], bool]) -> tuple[str | None, str]:
    """The path a rule names before its first colon, and the rule; None where it names none."""
    head, colon, rest = text.strip().partition(":")
    head = head.strip().strip("'\"`")
    if not colon or not rest.strip():
        return None, text.strip()
    if head.lower() in ("everywhere", "*"):
        return "", rest.strip()
    if rest[0].isspace() and (_PATHLIKE.fullmatch(head) or is_path(head)):
        return head, rest.strip()
    return None, text.strip()
