"""What memory_operations answered, read for the offline answer: entries, what was said before, what was stored."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.messages import ToolMessage
from clio.providers.offline_plan import Lookup, Plan, name_stem

_ENTRY = LatePattern(r"^- \w+ (?P<id>[a-z]-[0-9a-f]+): (?P<text>.*)$")
_SESSION = LatePattern(
    r"^## (?P<title>.*) \((?P<when>[\d-]+|undated)[^(]*?, session [^\s,;)]+(?:, this session)?(?:; commits: .*)?\)$"
)
_PASSAGE = LatePattern(
    r"^- (?P<when>\S+)(?: \S+)? (?P<role>user|assistant|tool)(?:, older)?, \S+(?: \[[^\]]*\])?: (?P<text>.*)$"
)
_MEMORY = LatePattern(r"^- \S+ \(\w+, (?P<when>[\d-]+(?:, no longer so)?)\): (?P<text>.*)$")
_QUOTES_CODE = LatePattern(r"`[^`\s]+:\d+`|\*\*Files\*\*")
_MAX_SAID, _FEW_WORDS = 3, 4


class Found(Struct, frozen=True, kw_only=True):
    """One look-up and its result."""

    lookup: Lookup
    result: ToolMessage


def is_empty(item: Found) -> bool:
    """Whether the look-up found nothing."""
    return item.result.summary.startswith(("nothing", "no "))


def answered(found: Sequence[Found], operation: str) -> str:
    """What one operation of memory_operations found."""
    return "\n".join(item.result.content.strip() for item in _of(found, operation) if item.result.ok)


def remembered(plan: Plan, found: Sequence[Found]) -> str:
    """Whether the fact is stored now."""
    failed = [item.result.content for item in found if not item.result.ok]
    if failed or not found:
        return f"That could not be stored: {failed[0] if failed else 'memory is switched off'}."
    known = found[0].result.summary.startswith("confirmed")
    return f"{'Known already, and confirmed' if known else 'Remembered for this project'}: {plan.subject}"


def memories(found: Sequence[Found]) -> str:
    """What was remembered in so many words (`#text`, preferences, events), with its day."""
    lines = map(_MEMORY.match, answered(found, "recall").splitlines())
    return "\n".join(f"- {match['text']} ({match['when']})" for match in lines if match)


def entries_meant(plan: Plan, found: Sequence[Found]) -> list[tuple[str, str]]:
    """Id and words of each entry that holds every word of the subject."""
    stems = [name_stem(word).casefold() for word in plan.subject.split()]
    lines = answered(found, "search").splitlines()
    entries = [(match["id"], match["text"]) for line in lines if (match := _ENTRY.match(line))]
    return [(id, text) for id, text in entries if all(stem in text.casefold() for stem in stems)]


def forgotten(plan: Plan, found: Sequence[Found]) -> str:
    """What was forgotten; else which entries may be meant."""
    done = [item.result.content for item in _of(found, "forget_ltm")]
    if done:
        return done[0]
    refused = [item.result.content for item in found if not item.result.ok]
    if refused or not found:
        return f"Nothing could be forgotten: {refused[0] if refused else 'memory is switched off'}."
    meant = entries_meant(plan, found)
    if not meant:
        return f"No entry of the project memory holds all of *{plan.subject}*; nothing was forgotten."
    listed = "\n".join(f"- `forget {id}`: {text[:200]}" for id, text in meant)
    return f"More than one entry may be meant; say which:\n\n{listed}"


def said_before(plan: Plan, found: Sequence[Found]) -> str:
    """What people and models said, without the question itself; what tools printed then is better looked up now."""
    stems = {name_stem(word).casefold() for word in plan.subject.split()}
    told = [line for role, text, line in _passages(found) if role != "tool" and _says_more(text, stems)]
    return "\n".join(told[:_MAX_SAID])


def _passages(found: Sequence[Found]) -> Iterator[tuple[str, str, str]]:
    """Role, words, and the line to show of each passage."""
    when = title = ""
    for line in answered(found, "recall_sessions").splitlines():
        if match := _SESSION.match(line):
            when, title = match["when"], match["title"]
        elif match := _PASSAGE.match(line):
            yield match["role"], match["text"], f"- {match['when'] or when}, *{title}*: {match['text'][:300]}"


def _says_more(text: str, stems: set[str]) -> bool:
    if _QUOTES_CODE.search(text):
        return False  # an answer that quoted code; the code itself is found above, as it is now
    words = [word for word in re.findall(r"\w+", text.casefold()) if not any(stem in word for stem in stems)]
    return len(words) > _FEW_WORDS


def _of(found: Sequence[Found], operation: str) -> list[Found]:
    return [item for item in found if item.lookup.arguments.get("operation") == operation and not is_empty(item)]
