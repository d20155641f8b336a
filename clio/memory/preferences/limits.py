"""Find the limits that a message states ("never …", "we only use …", "nie …") and how long they hold, in any words.

The classifier of `intents` tells which parts of a sentence are limits, and which of these are lasting: "leave the
lockfile alone" is, "don't run the tests yet" is not. What only this task or session needs is held for the session; the
user is asked about a limit that may last.
"""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, structs

from clio.memory.preferences.foreign_statements import QUESTION_TAG, detect_language, is_copied_english
from clio.memory.preferences.intents import CODE, CUT, INTENTS, MessagePart, classify, find_parts
from clio.memory.preferences.lasting_wishes import is_wanted, load_wish_words
from clio.memory.preferences.own_sentences import WrittenSentence, is_speaker, read_listed_sentences, strip_asides
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import (
    JOKE,
    cut_order_behind,
    is_order,
    list_about_user,
    lower_first_letter,
)
from clio.text.lazy_regex import LazyRegex

_EN = english_rules("limits")
_NO_PATH = _EN.word_set("no_path")
_PATH = _EN.pattern("path")
PROHIBITS = _EN.pattern("prohibits")
"""Words of all languages of a prohibition or condition; other wishes for the task are no limits of the session."""
_LASTS = _EN.pattern("lasts")
"""Words of all languages that make a limit beside a task more than a part of it: "never", "we", "in this repo"."""
_CONDITION = _EN.pattern("condition")
_LIMIT, _ONCE = INTENTS.index("limit"), INTENTS.index("once")
LASTING, LASTING_PLAIN, LASTING_QUESTION, ASKED = 0.7, 0.9, 0.9, 0.4
"""Least probability of a lasting limit that is saved; of a statement without a prohibition ("we squash commits"), which
is a fact below it; of one in a question ("could you never …?"); and of one that the user is asked about.
"""
_SURE_OTHER = 0.7
"""Least probability that a clause beside a limit does not belong to it."""
_MAX_TIME = 6
"""Words of a part that only says when a limit holds: "only in this session"."""
MAX_LASTING = 12
"""Maximum number of lasting limits in one message; with more, all apply to the current task only."""
MAX_CHARS = 240
_AND = re.compile(r",? (?:and|und|et|y|e) ", re.I)
_NO_TASK = LazyRegex(rf"{PROHIBITS.pattern}|\b(?:or|first|instead|yourself)\b", re.I)
"""Words of a clause that belongs to the limit beside it: "don't push, merge or deploy"."""
_EXCLUSION = re.compile(r"(?:not|nicht|pas|non|no|não|nem) \S+(?: \S+)?|(?:不是|不用|不要用)\s*\S{1,12}", re.I)
"""What is not used, said behind what is used instead."""
_EXCEPTION = re.compile(
    r"(?:(?:but|aber|mais|pero|mas) )?(?:never|not|nie|niemals|jamais|pas|nunca|não|no) "
    r"(?:with|in|for|on|mit|bei|für|avec|dans|pour|con|en|para|com|em)\b",
    re.I,
)
"""A limit without the thing that it limits, which is what the user likes."""
_WORD = re.compile(r"[^\W\d_]{2}|[\u3040-\u30ff\u3400-\u9fff]")
_LABEL = re.compile(r"[\s*_-]*(?P<label>[^\s:：][^:：\n]{0,40})[:：]\s")
_EDGE = re.compile(r"^(?:(?:dass|que|that)\s|[\s,;:!–—。，、；：！-]|\.(?!\w))+|[\s.,;:!–—。，、；：！-]+$")

Term = Literal["lasting", "unclear", "task"]
LimitScope = Literal["project", "user"]


class StatedLimit(Struct, frozen=True, kw_only=True):
    """One limit that the user stated.

    Attributes:
        content: the limit in the user's words, understandable without the rest of the message.
        quote: the sentence as written.
        term: "lasting": permanent; "unclear": the user must be asked; "task": for the current task only.
        scope: "project" if it names a path, this project or a team; otherwise "user".
    """

    content: str
    quote: str
    term: Term
    scope: LimitScope


def find_limits(text: str) -> tuple[StatedLimit, ...]:
    """Return the limits in a message, in its order and without repetitions. Takes time linear in its length."""
    language = detect_language(text)
    found: dict[str, StatedLimit] = {}
    sentences = list(read_listed_sentences(text))
    for said in sentences:
        for one in _list_limits(said, language):
            is_told = JOKE.search(said.masked) or is_copied_english(said.text, text, language)
            if not is_told and not list_about_user(said.text):
                found.setdefault(one.content.casefold(), one)
    limits = tuple(found.values())
    if sum(one.term != "task" for one in limits) > MAX_LASTING:
        return tuple(structs.replace(one, term="task") for one in limits)
    if limits and any(_asks_for_work(said, language) for said in sentences):
        limits = tuple(one if _LASTS.search(one.quote) else _make_doubtful(one) for one in limits)
    return limits


def _asks_for_work(said: WrittenSentence, language: str) -> bool:
    """Whether a part of a sentence is a task; in other languages than English, whether it is none of the intents."""
    for part in find_parts(said.masked, said.mark):
        lead = load_wish_words(language)[0].match(said.masked, part.start, part.end)
        words = said.masked[lead.end() if lead else part.start : part.end].split()
        is_task = part.intent == "other" if language else is_order((words or [""])[0]) is True
        if is_task and len(words) > 1 and part.intent not in ("limit", "once", "remember"):
            return True
    return False


def _make_doubtful(one: StatedLimit) -> StatedLimit:
    """Return a limit beside a task, for which it may be meant."""
    return structs.replace(one, term="unclear") if one.term == "lasting" else one


def _list_limits(said: WrittenSentence, language: str) -> Iterator[StatedLimit]:
    label = _LABEL.match(said.masked)
    if label and is_speaker(label["label"]):
        return
    tag = QUESTION_TAG.search(said.masked + said.mark) if said.is_question else None
    if tag is not None:
        said = WrittenSentence(text=said.text[: tag.start()], masked=said.masked[: tag.start()], is_question=False)
    parts = find_parts(said.masked, said.mark)
    if all(one.intent not in ("limit", "once", "remember") and _find_term(said, one) is None for one in parts):
        return
    own = language or detect_language(said.text)
    lead, project = load_wish_words(own, of_limits=True)
    has_time = any(one.intent == "once" and _is_only_time(said, one) for one in parts)
    if said.is_question and len(parts) > 1:
        return  # "we never push to main, right?"
    for before, part in zip((None, *parts), parts, strict=False):
        words = lead.match(said.masked, part.start, part.end)
        start, end = words.end() if words else part.start, part.end
        if part.intent == "remember" and words:
            part = structs.replace(part, probabilities=classify(said.masked[start:end]))
        term = _find_term(said, part)
        has_words = _WORD.search(CODE.sub(" ", said.masked[part.start : part.end])) is not None
        if term is None or not has_words or is_wanted(said.masked, part):
            continue
        term = "task" if has_time else term
        start, end = _strip_tasks(said.masked, start, end)
        if before is not None and before.end < start and _EXCLUSION.fullmatch(said.masked, start, end):
            start = before.start  # "we use uv, not pip"
        elif before is not None and before.intent == "wish" and _EXCEPTION.match(said.masked, start, end):
            start = before.start  # "short commits, but never with emojis"
        for first, stop in _divide(said.masked, start, end) if term == "task" else [(start, end)]:
            words = lead.match(said.masked, first, stop)
            content = " ".join(said.text[words.end() if words else first : stop].split())
            content = _EDGE.sub("", cut_order_behind(strip_asides(content)))[:MAX_CHARS].rstrip()
            if content:
                word = content.partition(" ")[0]
                is_lower = not own and (is_order(word) is not None or PROHIBITS.match(word))
                yield StatedLimit(
                    content=lower_first_letter(content) if is_lower else content,
                    quote=said.text[:MAX_CHARS],
                    term=term,
                    scope="project" if has_path(content) or project.search(said.masked) else "user",
                )


def _find_term(said: WrittenSentence, part: MessagePart) -> Term | None:
    """Return how long a part of a sentence is to hold as a limit; None if it is none."""
    limit, once = part.probabilities[_LIMIT], part.probabilities[_ONCE]
    prohibits = PROHIBITS.search(said.masked, part.start, part.end) is not None
    first = said.masked[part.start : part.end].strip().partition(" ")[0]
    # "We deploy on Fridays"; "stop asking" and "always begin with the ticket" are orders.
    states = not prohibits and is_order(first) is False and first.casefold() not in ("always", "stop", "quit")
    least = LASTING_QUESTION if said.is_question else LASTING_PLAIN if states else LASTING
    if part.lasting >= least and limit * 2 > part.lasting:
        return "lasting"
    if said.is_question or states:
        return None
    if limit >= ASKED:
        return "unclear"
    return "task" if prohibits and limit + once >= ASKED else None


def _is_only_time(said: WrittenSentence, part: MessagePart) -> bool:
    words = said.masked[part.start : part.end]
    return len(words.split()) <= _MAX_TIME and not PROHIBITS.search(words)


def _strip_tasks(masked: str, start: int, end: int) -> tuple[int, int]:
    """Return where a limit begins and ends without clauses around it that say something else, and no condition."""

    def is_other(first: int, stop: int) -> bool:
        probabilities = classify(masked[first:stop])
        is_sure = probabilities[_LIMIT] + probabilities[_ONCE] <= 1 - _SURE_OTHER
        words = masked[first:stop].split()
        is_task = len(words) > 1 and is_order(words[0]) is True and not _NO_TASK.search(masked, first, stop)
        return (is_sure or is_task) and not _CONDITION.match(masked, first, stop)

    def is_limit(first: int, stop: int) -> bool:
        if _CONDITION.match(masked, first, stop) and not PROHIBITS.search(masked, first, stop):
            return False
        probabilities = classify(masked[first:stop])
        return probabilities[_LIMIT] + probabilities[_ONCE] >= ASKED

    cuts = list(CUT.finditer(masked, start, end))
    for cut in cuts:
        is_excluding = _EXCLUSION.fullmatch(masked, cut.end(), end) is not None  # "use uv, not pip"
        if not is_excluding and is_other(start, cut.start()) and is_limit(cut.end(), end):
            start = cut.end()
    for cut in reversed(cuts):
        is_prohibited = PROHIBITS.search(masked, start, cut.start()) is not None
        if cut.start() > start and is_prohibited and is_other(cut.end(), end) and is_limit(start, cut.start()):
            end = cut.start()
    return start, end


def _divide(masked: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the places of limits that are joined by "and": "don't rename anything, and only edit calc.py"."""
    for joint in _AND.finditer(masked, start, end):
        sides = ((start, joint.start()), (joint.end(), end))
        if all(PROHIBITS.search(masked, *side) for side in sides):
            yield sides[0]
            start = joint.end()
    yield start, end


def has_path(text: str) -> bool:
    """Whether a text contains the path of a file or directory."""
    return any(found[0].lower() not in _NO_PATH for found in _PATH.finditer(text))
