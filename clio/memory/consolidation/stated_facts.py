"""Find facts, decisions and corrections in the user's messages of a turn, by rules.

The patterns are the sections "facts" and "corrections" of `clio/memory/preferences/languages/en.json`. In other
languages only what `read_statements` recognizes is found.

`clio.memory.statement_relation` compares whole statements, `value_changes` handles corrections that leave out a part of
the subject. If a correction fits several statements, the caller has to choose one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct, structs

from clio.memory.consolidation.experiences import (
    QUOTE_CHARS,
    CompletedCall,
    Experience,
    Finding,
    FindingKind,
    is_assent,
)
from clio.memory.consolidation.value_changes import (
    NUMBER,
    find_outdated_numbers,
    find_value_change,
    get_shape,
    names_alternative,
)
from clio.memory.consolidation.value_corrections import (
    find_corrected_value,
    has_rival,
    is_already_said,
    is_said_before,
)
from clio.memory.preferences.foreign_statements import (
    content_terms,
    detect_language,
    is_own_english,
    list_foreign_texts,
    read_statements,
    swap_value,
)
from clio.memory.preferences.rule_files import (
    FILLER,
    MAX_SENTENCE,
    WrittenSentence,
    english_rules,
    read_own_sentences,
)
from clio.memory.preferences.rule_files import MAX_CHARS as LOOKED_AT
from clio.memory.preferences.stated_preferences import TAIL, find_preferences, is_order, is_pointing
from clio.memory.statement_parser import announces_change
from clio.memory.statement_relation import relate_statements, topic_terms
from clio.memory.store.record import has_same_text
from clio.messages import UserMessage
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.untrusted_text import make_inert_line, quote_inert

_FACTS = english_rules("facts")

LEAD = _FACTS.pattern("lead")
"""Words before a statement that are not part of it, such as "by the way"."""
WE = _FACTS.pattern("we")
ONLY_NOT = frozenset("touch edit commit push merge change mock allow accept".split()) | {"check in"}
"""Verbs that state a lasting fact about a team only with "never", "always" or "only"; tasks contain them too."""
LASTING = _FACTS.pattern("lasting")
SLOT = _FACTS.pattern("slot")
NAMED = _FACTS.pattern("named")
NO_SUBJECT = _FACTS.pattern("no_subject")
"""Beginnings of a sentence that means nothing without its context, or is about the current task."""
DOUBT = _FACTS.pattern("doubt")
"""Signs of a complaint, a guess, a story, a wish, a report about others, or something valid only today."""
NOW_IS_FINE = _FACTS.pattern("now_is_fine")
"""Uses of "now" for a permanent change: another name, place or number of something."""
POINTING_REST = _FACTS.pattern("pointing_rest")
CREDENTIAL = _FACTS.pattern("credential")
CUT = _FACTS.pattern("cut")
"""The point where a statement ends and a request based on it begins."""
PASTED_ISSUE = _FACTS.pattern("pasted_issue")
DECISION = _FACTS.pattern("decision")
NO_CHOICE = _FACTS.pattern("no_choice")
"""Choices that mean nothing outside of their conversation, such as "the second one"."""
REASON = _FACTS.pattern("reason")
PROCEDURE = _FACTS.pattern("procedure")
"""Questions about how to continue, whose answers are worth nothing later."""
NO_CHOICE_AT_ALL = _FACTS.pattern("no_choice_at_all")
NAMES = _FACTS.pattern("names")
"""Signs that a choice is about the project: a name, or the rejected alternative."""
NO_ANSWER = _FACTS.pattern("no_answer")
NOTICEABLE = _FACTS.pattern("noticeable")
"""A message without any of these contains nothing that the rules of `find_preferences` would find."""
STATEMENT_LIKE = _FACTS.pattern("statement_like")
"""A fast test; most messages fail it and need none of the slower patterns."""
OF_THE_TEAM = _FACTS.pattern("of_the_team")
NOBODY = _FACTS.pattern("nobody")
ONLY = _FACTS.pattern("only")
RULE = _FACTS.pattern("rule")
NEEDS_PLACE = _FACTS.pattern("needs_place")
PLACE = _FACTS.pattern("place")
NEEDS_PROJECT = _FACTS.pattern("needs_project")
OF_PROJECT = _FACTS.pattern("of_project")
COMPLETE = _FACTS.pattern("complete")


def get_base_verb(verb: str) -> str:
    """Return a verb as `ONLY_NOT` lists it: "push" for "pushes"; unchanged if it is not listed."""
    verb = verb.casefold()
    return next((one for one in (verb, verb.removesuffix("s"), verb.removesuffix("es")) if one in ONLY_NOT), verb)


def make_choice_prefix(how: str | None, late: str | None, going_on: str | None) -> str:
    """Return the words between "decided:" and the choice: "against ", "keep ", or "" for a choice to use it."""
    said = (how or late or going_on or "").casefold()
    if "against" in said or "drop" in said:
        return "against "
    if said.startswith(("keep", "stick", "stay")) or said.endswith(("keep", "stay with", "stay on")):
        return "keep "
    return ""


TURNED = _FACTS.pattern("turned")
"""A rest that shows that the statement before it describes what is to be changed."""
POINTS_AT_CHOICE = _FACTS.pattern("points_at_choice")
"""Answers that mean nothing without the list they were chosen from, such as "the first"."""
ALL_OF = _FACTS.pattern("all_of")
AND_DO = _FACTS.pattern("and_do")
CALLED = _FACTS.pattern("called")
PROPER = LazyRegex(r"[A-Z][\w+#]*[a-zA-Z0-9+#](?![\w'])")
"""A proper name: capitalized, as in "the service is called Heron"."""
LISTED = LazyRegex(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]", re.MULTILINE)
TO_BUILD = _FACTS.pattern("to_build")
"""Requests to build something: a list in such a message is a specification, not facts."""
OPEN_QUESTION = _FACTS.pattern("open_question")
"""Questions that yes or no does not answer."""
THAT_THING = _FACTS.pattern("that_thing")
"""Things that are only pointed at ("that file"), so that a statement about them means nothing later."""
CHOOSES = _FACTS.pattern("chooses")


_CORRECTIONS = english_rules("corrections")

MAX_CORRECTION_CHARS = 2_500
"""A longer message is mostly pasted text, and is not read."""
_LEAD = _CORRECTIONS.pattern("lead")
_DENIAL = _CORRECTIONS.pattern("denial")
"""Requests to forget an earlier value, which is named, in favour of what follows: "forget port 9100, it's 9464"."""
_NEW_ONE = _CORRECTIONS.pattern("new_one")
"""Sentences that introduce another thing of a kind and name it: "we moved to a new staging db, it's called orders"."""
_MARKS = _CORRECTIONS.pattern("marks")
_NOT_LASTING = _CORRECTIONS.pattern("not_lasting")
"""Signs of something temporary, wished, guessed, planned, reported about others, or a bug."""
_SINCE = _CORRECTIONS.pattern("since")
_POINTING = _CORRECTIONS.pattern("pointing")
_DENIED = re.compile(
    r"(?:\bnicht(?: mehr)?|\bstatt|\bpas|\bet non|\bau lieu de|\bplus|\bno|\ben vez de|\bnão|\bem vez de|不是|不叫"
    r"|不再是|不用)"
    r" ?([\w./-]*[A-Za-z][\w./-]*)|([A-Za-z][\w./-]*) ?(?:では|じゃ)(?:な|あり)",
    re.I,
)
"""A name that a correction in another language says is no longer right."""
_WORD_OF_CHANGE = re.compile(
    r"\b(?:jetzt|nun|inzwischen|mittlerweile|ab sofort|maintenant|désormais|à présent|ahora|ya|agora|já)\b\s*", re.I
)
_TAIL = _CORRECTIONS.pattern("tail")
_CLAUSE_END = re.compile(r"\s*[,;–—]\s+(?:(?:so|and|but)\s+)?")


class Correction(Struct, frozen=True, kw_only=True):
    """A sentence that may correct a memory.

    Attributes:
        text: the sentence without words such as "actually".
        quote: the sentence as written.
        session, message: ids of where the user wrote it.
        at: when, in seconds since the epoch.
        before: the user's message before it in the session, if a stored session is replayed.
    """

    text: str
    quote: str
    session: str
    message: str
    at: float
    before: str = ""


class Stated(Struct, frozen=True, kw_only=True):
    """A statement in memory. at: when the user made it, in seconds since the epoch."""

    id: str
    text: str
    at: float
    session: str = ""


def find_corrections(experience: Experience) -> list[Correction]:
    """Return the sentences of a turn's user messages that announce a change or deny something, in order."""
    found: list[Correction] = []
    for message in experience.messages:
        if not isinstance(message, UserMessage) or message.origin != "user":
            continue
        for text, quote in read_corrections(message.content):
            found.append(
                Correction(
                    text=text,
                    quote=make_inert_line(quote),
                    session=experience.session,
                    message=experience.message,
                    at=experience.at,
                    before=experience.before,
                )
            )
    return found


def read_corrections(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence that may correct something: without its introduction, and as written."""
    if len(text) > MAX_CORRECTION_CHARS:
        return
    for language, part in list_foreign_texts(text):
        yield from ((one.content, one.quote) for one in read_statements(part, language) if one.kind == "correction")
    for said in _read_english_sentences(text, _MAX_SENTENCE):
        if correcting := _strip_correction(said.text, said.masked):
            yield correcting, said.text


def _read_english_sentences(text: str, max_chars: int = MAX_SENTENCE) -> Iterator[WrittenSentence]:
    """Yield the user's own sentences that are English and no questions."""
    language = detect_language(text)
    for said in read_own_sentences(text, max_chars):
        if not said.is_question and is_own_english(said.text, text, language):
            yield said


def _strip_correction(text: str, masked: str) -> str:
    """Return the sentence without introduction and ending if it may correct something; otherwise ""."""
    lead = _LEAD.match(masked)
    start = lead.end() if lead else 0
    tail = _TAIL.search(masked, start)
    end = tail.start() if tail else len(masked)
    if (denial := _DENIAL.match(masked, start, end)) and is_order(masked[denial.end() :].split(" ", 1)[0]) is False:
        denied = f"not {denial['denied']}, "
        return _strip_correction(denied + text[denial.end() : end], denied + masked[denial.end() : end])
    rest = masked[start:end]
    if (new := _NEW_ONE.fullmatch(rest.rstrip(" .,;!"))) and not _NOT_LASTING.search(rest) and FILLER not in rest:
        thing, value = (text[start:][slice(*new.span(name))] for name in ("thing", "value"))
        return make_inert_line(f"the {thing} is {new['how'] or ''} {value}")
    if len(rest.split()) < 2 and rest.isascii() and not ((lead or tail) and NUMBER.search(rest)):
        return ""
    if not (lead or announces_change(masked) or _MARKS.search(masked)):
        return ""
    if FILLER in rest or _NOT_LASTING.search(_SINCE.sub(" ", masked)) or is_order(rest.split(" ", 1)[0]) is True:
        return ""
    return make_inert_line(text[start:end]).rstrip(" .,;!")


def is_refuted(old: str, correction: Correction) -> bool:
    """Whether a correction gives another value to the subject of an older statement."""
    if _agrees(old, correction.text):
        return False
    if relate_statements(old, correction.text) == "supersedes":
        return True
    language = detect_language(correction.text) or detect_language(old)
    if not language:
        return False
    return bool(swap_value(old, correction.text, language)) or _has_other_value(old, correction.text, language)


def _agrees(old: str, correction: str) -> bool:
    """Whether an older statement already has all numbers, or the name, that a correction says are right."""
    current = set(NUMBER.findall(correction)) - find_outdated_numbers(correction)
    return (bool(current) and current <= set(NUMBER.findall(old))) or is_already_said(old, correction)


def _has_other_value(old: str, new: str, language: str) -> bool:
    """Whether one number or name differs in two statements of otherwise similar words.

    For languages other than English, whose grammar is not parsed.
    """
    mine, other = content_terms(old, language), content_terms(new, language)
    if not mine or not other or len(mine & other) * 2 < min(len(mine), len(other)):
        return False
    before, after = set(NUMBER.findall(old)), set(NUMBER.findall(new))
    if before and after - before and not (after and before <= after and len(before) > 1):
        return True
    one, other = (_WORD_OF_CHANGE.sub("", text).split() for text in (old, new))
    gone, come = set(one) - set(other), set(other) - set(one)
    if announces_change(new) and len(one) == len(other) > 2 and len(gone) == len(come) == 1:
        # Only the last word or a name differs: "… läuft jetzt auf dem Host db-b".
        return one[:-1] == other[:-1] or all(re.search(r"[-_./\d]", word) for word in gone | come)
    denied = {found[1] or found[2] for found in _DENIED.finditer(new)}
    return any(name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", old, re.I) for name in denied)


def make_replacement(old: str, correction: Correction) -> str:
    """Return the new statement, understandable by itself, that replaces an old one; "" if none can be made.

    If the correction replaces one number or name by another, it is the old statement with the new value; otherwise the
    user's own words if they name their subject.
    """
    language = detect_language(correction.text) or detect_language(old)
    replaced = swap_value(old, correction.text, language) if language else ""
    replaced = replaced or _replace_number(old, correction.text)
    changes = (find_corrected_value(old, correction.quote), find_value_change(old, correction.text))
    values = set(NUMBER.findall(correction.text)) - find_outdated_numbers(correction.text)
    replaced = replaced or (_replace_identifier(old, correction.text) if language else "")
    for change in changes:
        if change and not replaced and values <= set(NUMBER.findall(change.apply(old))):
            replaced = change.apply(old)
    # "not vpn1, we have vpn3.acme.dev as gateway": the clause behind the denial is understandable by itself.
    text = _DENIED_FIRST.sub("", correction.text) if _IDENTIFIER.search(correction.text) else correction.text
    if replaced or _POINTING.match(text) or len(text.split()) < 3:
        return replaced
    return text


def _replace_number(old: str, text: str) -> str:
    """Return the old statement with the one number that a text gives it instead of another; "" if it is not one."""
    before, after, outdated = NUMBER.findall(old), NUMBER.findall(text), find_outdated_numbers(text)
    new = [value for value in dict.fromkeys(after) if value not in before]
    denied = [value for value in dict.fromkeys(before) if value in outdated]
    restated = set(before) <= set(after)  # "ya no es de 5 MB, sino de 20 MB" denies it in another language
    gone = denied or [value for value in dict.fromkeys(before) if restated or value not in after]
    if len(new) != 1 or len(gone) != 1 or new[0] in outdated or names_alternative(old, text):
        return ""
    return NUMBER.sub(lambda found: new[0] if found[0] == gone[0] else found[0], old)


def _replace_identifier(old: str, text: str) -> str:
    """Return the old statement with the identifier that a text gives instead of a denied one; "" if it is not one."""
    gone = {name for found in _DENIED.finditer(text) if _IDENTIFIER.fullmatch(name := found[1] or found[2])}
    new = {name for name in _IDENTIFIER.findall(text) if name not in old} - gone
    if len(gone) != 1 or len(new) != 1:
        return ""
    before, *after = re.split(rf"(?<!\w){re.escape(gone.pop())}(?!\w)", old)
    return f"{before}{new.pop()}{after[0]}" if len(after) == 1 else ""


_DENIED_FIRST = re.compile(r"^not [^\s,;]+[,;]\s+(?=(?:\S+\s+){2,}\S)", re.I)
_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z][\w./-]*[_./\d-]\w+")


def match_corrections(
    corrections: Iterable[Correction], near: Callable[[Correction], Sequence[Stated]], context: str | None = None
) -> list[tuple[Correction, list[Stated]]]:
    """Return the statements that each correction refutes, oldest correction first, without those that refute none.

    Statements newer than the correction stay. A correction that leaves out its subject or a part of it ("it's 9090 now,
    not 8080", "the port is 9090 now") refutes one statement at most; see `_choose_one`.

    Args:
        near: returns the statements in memory that may be about a correction's subject.
        context: what was said just before the corrections; None if that is not known.
    """
    gone: set[str] = set()
    found: list[tuple[Correction, list[Stated]]] = []
    for one in sorted(corrections, key=lambda correction: correction.at):
        earlier = [
            stated
            for stated in near(one)
            if stated.at < one.at and stated.id not in gone and not has_same_text(stated.text, one.text)
        ]
        unlike = [stated for stated in earlier if not _agrees(stated.text, one.text)]
        for reading in _list_readings(one):
            refuted = _match_one(reading, unlike, context)
            if refuted:
                gone.update(stated.id for stated in refuted)
                found.append((reading, refuted))
                break
    return found


def _list_readings(one: Correction) -> Iterator[Correction]:
    """Yield the correction, and then each of its clauses that announces a change: "Ana left, the lead is Tom now"."""
    yield one
    parts = _CLAUSE_END.split(one.text)
    for part in parts if len(parts) > 1 else ():
        if len(part.split()) > 2 and announces_change(part):
            yield structs.replace(one, text=part)


def _match_one(one: Correction, earlier: Sequence[Stated], context: str | None) -> list[Stated]:
    earlier = [stated for stated in earlier if not _is_about_other_value(stated.text, one)]
    refuted = [stated for stated in earlier if is_refuted(stated.text, one)]
    if _POINTING.match(one.text):
        refuted = _choose_one(refuted, one, context)
    elif not _are_related(refuted):
        refuted = _choose_closest(refuted, one)
    return refuted or _match_short(earlier, one, context)


def _is_about_other_value(statement: str, one: Correction) -> bool:
    """Whether a replayed correction that only says a value is about a value of the message before it."""
    change = find_corrected_value(statement, one.quote) if one.before else None
    if change is None or change.is_named or is_said_before(statement, one.before):
        return False
    return has_rival(change, statement, one.before)


def _match_short(earlier: Sequence[Stated], one: Correction, context: str | None) -> list[Stated]:
    """Return the statement that a correction without its whole subject is about, in a list; none if it is not clear."""
    changes = [(stated, change) for stated in earlier if (change := find_value_change(stated.text, one.text))]
    named = [stated for stated, change in changes if change.is_named]
    if named:
        return _choose_one(named, one, context)
    before = set(NUMBER.findall(context or ""))
    said = [stated for stated, change in changes if change.old in before]
    # "Make that 8005" after a request about port 8000 is not about the 7001 of an earlier statement.
    shapes = set(map(get_shape, before or NUMBER.findall(one.before)))
    same = [
        stated
        for stated, change in changes
        if stated.session == one.session
        and (get_shape(change.old) not in shapes or change.old in NUMBER.findall(one.before))
    ]
    alike = [stated for stated, change in changes if change.is_alike and not before and context is not None]
    return next((found for found in (said, same, alike) if len(found) == 1), list[Stated]())


def _choose_one(refuted: Sequence[Stated], one: Correction, context: str | None = None) -> list[Stated]:
    """Return the latest statement of the correction's session, otherwise the only one, or the only one in context."""
    same = [stated for stated in refuted if stated.session == one.session]
    if same:
        return [max(same, key=lambda stated: stated.at)]
    if len(refuted) > 1 and context:
        before = set(NUMBER.findall(context))
        refuted = [stated for stated in refuted if before & set(NUMBER.findall(stated.text))]
    return list(refuted) if len(refuted) == 1 else []


def _are_related(refuted: Sequence[Stated]) -> bool:
    """Whether all of these statements are about one subject, so that a correction may refute them all."""
    return all(relate_statements(one.text, other.text) != "different" for one, other in pairwise(refuted))


def _choose_closest(refuted: Sequence[Stated], one: Correction) -> list[Stated]:
    """Return the statement that shares most words with the correction, in a list; none if several share as many."""
    wanted = topic_terms(one.text)
    best = max(len(wanted & topic_terms(stated.text)) for stated in refuted)
    closest = [stated for stated in refuted if len(wanted & topic_terms(stated.text)) == best]
    return closest if len(closest) == 1 or _are_related(closest) else _choose_one(closest, one)


_SAYS_VALUE = LazyRegex(
    r"(?:the|our) (?:[\w-]+ ){1,3}?(?:(?:has|have|uses?) \d+ (?:shards?|nodes?|replicas?|partitions?|workers?|threads?"
    r"|cores?|cpus?|instances?|pods?|consumers?|brokers?|members?|stages?|regions?|zones?|retries|connections?)"
    r"|(?:starts?|begins?|ends?) at \d{1,2}:\d\d)"
    r"|(?:(?:the|our) )?(?:[\w-]+ ){1,3}?(?:is|are) (?:issued|paid|billed|priced|quoted|booked|settled) in "
    r"(?-i:[A-Z]{3})",
    re.I,
)
CONFIDENCE, EXPLICIT = 0.8, 0.9
"""Confidence in a statement made in passing, and in one that the user asked clio to remember."""
MAX_CHARS = 2_500
"""A longer message is mostly a document: only what the user asks to remember is read from it."""
_MAX_STATED, _MAX_SENTENCE, _MAX_ANSWER = 6, 220, 300


def find_statements(experience: Experience, calls: Sequence[CompletedCall]) -> list[Finding]:
    """Return what the user stated in a turn, and their answers to the agent's questions, without duplicates.

    Returns nothing if there are more than six: that many are a pasted document or a specification.

    doings: the tool calls of the turn.
    """
    found: dict[str, Finding] = {}
    for message in experience.messages:
        if isinstance(message, UserMessage) and message.origin == "user" and not is_assent(message.content):
            for kind, text, quote, confidence in read_lasting_statements(message.content):
                found.setdefault(text.casefold(), _make_finding(experience, kind, text, quote, confidence))
    for call in calls:
        text = format_decision(call.effects.question, call.effects.answer) if call.effects.question else ""
        if text:
            found.setdefault(text.casefold(), _make_finding(experience, "fact", text, call.effects.answer, CONFIDENCE))
    return list(found.values()) if len(found) <= _MAX_STATED else []


def read_lasting_statements(text: str) -> Iterator[tuple[FindingKind, str, str, float]]:
    """Yield the lasting statements of a message: kind, text, the sentence that contains it, confidence."""
    for language, part in list_foreign_texts(text) if len(text) <= MAX_CHARS else ():
        for one in read_statements(part, language):
            if one.kind == "remember" and not CREDENTIAL.search(one.content):
                yield "fact", one.content, one.quote, EXPLICIT
    language = detect_language(text)
    ends = text if len(text) <= LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    noticed = find_preferences(text) if NOTICEABLE.search(ends) else ()
    noticed = [one for one in noticed if is_own_english(one.quote, text, language)]
    taken = {one.quote for one in noticed}
    for one in noticed:
        if CREDENTIAL.search(one.content):
            continue
        if one.kind == "fact" and (one.certain or not THAT_THING.match(one.content)):
            yield "fact", one.content, one.quote, EXPLICIT if one.certain else CONFIDENCE
        elif one.kind == "rule" and not one.certain and OF_THE_TEAM.match(one.content):
            yield "rule", one.content, one.quote, CONFIDENCE
    if len(text) > MAX_CHARS or not STATEMENT_LIKE.search(text) or PASTED_ISSUE.search(text):
        return
    if LISTED.search(text) and TO_BUILD.search(text):
        return
    for said in _read_english_sentences(text):
        if said.text in taken or len(said.text) > _MAX_SENTENCE or not STATEMENT_LIKE.search(said.masked):
            continue
        if stating := _classify_sentence(said):
            yield (*stating, said.text, CONFIDENCE)


def read_correctable_statements(text: str) -> Iterator[str]:
    """Yield the statements of a message that a correction in the next message may be about, with or without its value.

    These are its lasting facts, and sentences that say how many parts something has, when it begins, or its currency.
    The latter mean little by themselves, and last if the user corrects them.
    """
    yield from (content for kind, content, *_ in read_lasting_statements(text) if kind == "fact")
    for said in read_own_sentences(text, _MAX_SENTENCE) if len(text) <= MAX_CHARS else ():
        plain = said.masked.rstrip(" .!")
        if not said.is_question and _SAYS_VALUE.fullmatch(plain) and not DOUBT.search(plain):
            yield said.text.rstrip(" .!")


def format_decision(question: str, answer: str) -> str:
    """Return the agent's question and the user's answer as one text; "" if they decide nothing lasting."""
    question, answer = make_inert_line(question), make_inert_line(answer)
    if is_assent(answer) or len(answer) > _MAX_ANSWER or len(question) > _MAX_ANSWER or NO_ANSWER.search(answer):
        return ""
    if PROCEDURE.search(question) or CREDENTIAL.search(question) or POINTS_AT_CHOICE.match(answer):
        return ""
    if not OPEN_QUESTION.search(question):
        return ""
    return f"asked {quote_inert(question)}, the answer was {quote_inert(answer)}"


def _classify_sentence(said: WrittenSentence) -> tuple[FindingKind, str] | None:
    """Return the kind and text of what one sentence states; None if it states nothing lasting."""
    lead = LEAD.match(said.masked)
    start = lead.end() if lead else 0
    masked = whole = said.masked[start:]
    chooses_only = NO_SUBJECT.match(masked) is not None
    if chooses_only and not CHOOSES.match(masked):
        return None
    for ends in (CUT, TAIL):
        cut = ends.search(masked)
        masked = masked[: cut.start()] if cut else masked
    if TURNED.search(whole[len(masked) :]):
        return None
    text = make_inert_line(said.text[start : start + len(masked)])
    if len(masked.split()) < 3 or CREDENTIAL.search(masked) or _continues_with_order(masked):
        return None
    chosen = _format_choice(masked, text)
    if chosen:
        return "fact", chosen
    if chooses_only or DOUBT.search(NOW_IS_FINE.sub(" ", masked)) or masked.count(FILLER) > len(masked) // 2:
        return None
    rule = RULE.search(masked) is not None
    return (
        ("rule" if rule else "fact", text) if _is_about_team(masked) or _is_about_project_part(masked, text) else None
    )


def _continues_with_order(masked: str) -> bool:
    """Whether the sentence continues with an order about its subject, so that it is about the current task."""
    return any(is_order(found["verb"]) for found in AND_DO.finditer(masked))


def _format_choice(masked: str, text: str) -> str:
    """Return the decision as "decided: …" if the sentence states one and names the choice; otherwise ""."""
    found = DECISION.fullmatch(masked)
    if found is None or NO_CHOICE.match(found["what"]) or NO_CHOICE_AT_ALL.search(masked):
        return ""
    what = text[found.start("what") :]
    how = found["how"] or found["going"]
    if how and not (REASON.search(found["what"]) or NAMES.search(what)):
        return ""
    return f"decided: {make_choice_prefix(found['how'], found['late'], found['going'])}{what}"


def _is_about_team(masked: str) -> bool:
    """Whether the sentence says what the team does, such as "we deploy on Mondays"."""
    found = WE.fullmatch(masked)
    if found is None or not _stands_alone(found["rest"]):
        return False
    denied = found["not"] or NOBODY.match(masked) or ONLY.search(masked)
    return bool(denied) or get_base_verb(found["verb"]) not in ONLY_NOT


def _is_about_project_part(masked: str, text: str) -> bool:
    """Whether the sentence says what a part of the project is, where it is, or what it always does."""
    slot = SLOT.fullmatch(masked) or NAMED.fullmatch(masked)
    if slot is not None:
        return _stands_alone(slot["rest"])
    called = CALLED.fullmatch(masked)
    if called is not None and PROPER.match(text, called.start("rest")):
        return True
    found = LASTING.fullmatch(masked)
    if found is None:
        return False
    verb, rest, subject = found["verb"].casefold(), found["rest"], found["subject"]
    if NEEDS_PLACE.search(verb) and not (PLACE.search(rest) or ALL_OF.match(subject)):
        return False
    if NEEDS_PROJECT.match(verb) and not OF_PROJECT.match(subject):
        return False
    if verb in ("run", "runs") and not NAMES.search(text[found.start("rest") :]):
        return False
    return _stands_alone(rest) or (not rest.strip() and COMPLETE.search(verb) is not None)


def _stands_alone(rest: str) -> bool:
    """Whether the predicate of a sentence means something outside of the conversation."""
    return bool(rest.strip(" .,")) and not is_pointing(rest) and not POINTING_REST.match(rest)


def _make_finding(experience: Experience, kind: FindingKind, text: str, quote: str, confidence: float) -> Finding:
    return Finding(
        kind=kind,
        text=make_inert_line(text),
        confidence=confidence,
        asserted_by="user",
        quote=truncate(make_inert_line(quote), QUOTE_CHARS),
        session=experience.session,
        message=experience.message,
        at=experience.at,
    )
