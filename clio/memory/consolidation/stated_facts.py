"""Find facts, decisions and corrections in the user's messages of a turn, by rules.

The patterns are the sections "facts" and "corrections" of `clio/memory/preferences/languages/en.json`. In other
languages only what `read_statements` recognizes is found.

"The port is 9090 now" names less than "the staging server listens on port 8080", and "we switched to pnpm" does not
mention the "npm" in "install packages with npm". `clio.memory.subjects` compares whole statements; `find_value_change`
handles corrections that leave out a part of the subject. If a correction fits several statements, the caller has to
choose one.
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
from clio.memory.preferences.rule_files import (
    FILLER,
    WrittenSentence,
    content_terms,
    detect_language,
    english_rules,
    read_own_sentences,
    read_statements,
    swap_value,
)
from clio.memory.preferences.rule_files import MAX_CHARS as LOOKED_AT
from clio.memory.preferences.stated_preferences import TAIL, find_preferences, is_order, is_pointing
from clio.memory.store.record import has_same_text
from clio.memory.subjects import (
    ALTERNATIVES,
    CHANGE_VERBS,
    CORRECTION_FILLERS,
    PREPOSITIONS,
    STOP_WORDS,
    SYNONYMS,
    announces_change,
    parse_statement,
    relate_statements,
    topic_terms,
)
from clio.messages import UserMessage
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.untrusted_text import make_inert_line, quote_inert
from clio.text.vocabulary import stem_word

NUMBER = re.compile(r"(?<![a-zA-Z0-9_./:-])(?:v?\d[a-zA-Z0-9_.:-]*[a-zA-Z0-9_]|\d)(?![a-zA-Z0-9_/])")
"""A number, version or time. Letters of scripts without spaces may be next to it."""
_OUTDATED_NUMBER = re.compile(
    r"(?:\b(?:not|no longer|instead of|rather than|in place of|from|was|were|formerly|previously|used to be|former|old"
    r"|replaced|dropped|swapped|(?:is|are|do|does|did|was|were)nt)|n't)"
    r"(?: (?!but\b|to\b|it\b)[a-z]+){0,3} (?P<before>" + NUMBER.pattern + r")"
    r"|(?P<after>" + NUMBER.pattern + r")(?: (?:is|was|are))? (?:outdated|wrong|gone|incorrect|stale|old|no longer"
    r"|not(?! (?:on |in |at |port )?v?\d)|any ?more)\b",
    re.I,
)
_WORD = re.compile(r"[A-Za-z][\w+#]*(?:[.-]\w+)*")
_REPLACED_NAME = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:not|no longer|(?:is|are|do|does|did)n'?t)(?: (?:on|in|with|use|using|run|deploy|build)){0,2}"
        r" (?P<old>[\w./+-]+)(?: any ?more)?"
        r"(?:\s*[,;–—-]+\s*|\s+)(?:but |it's |it is |we use |use |rather )+(?:on |in |with |using )?(?P<new>[\w./+-]+)",
        r"(?P<new>[\w./+-]+)(?: now)?,? (?:and )?(?:not|instead of|rather than|in place of|over) (?P<old>[\w./+-]+)",
        r"\bfrom (?P<old>[\w./+-]+) (?:over )?to (?P<new>[\w./+-]+)",
        r"\b(?:replaced|dropped|swapped) (?P<old>[\w./+-]+) (?:with|by|for|in favou?r of) (?P<new>[\w./+-]+)",
    )
)
_OUTDATED_NAME = re.compile(
    r"\b(?:not|no longer|instead of|rather than|in place of|from|dropped|replaced|old|formerly)"
    r" (?:use |using |on |with )?(?P<before>[\w.+#-]*\w)"
    r"|(?P<after>[\w.+#-]*\w) (?:is|are|was|were)(?: now| finally)?"
    r" (?:gone|history|dead|retired|out|outdated|deprecated|no longer|not|dropped|removed|switched off|shut down)\b",
    re.I,
)
_NEGATED = re.compile(
    r"\b(?:never|not|no|don't|do not|avoid|stop|without|over|than|instead of|in place of|hates?|dislikes?)\b[^,;]*$",
    re.I,
)
_ACTOR = re.compile(
    rf"^(?:[\w'-]+ ){{1,3}}?(?=(?:(?:has|have|just|recently|finally) )*(?:{CHANGE_VERBS}) "
    r"(?!its\b|their\b|to\b|from\b|up\b|down\b|over\b)\S.* (?:to|from) )",
    re.I,
)
"""Who made a change: "ops" in "ops raised the limit to 50"."""
_PATH = re.compile(r"(?<![\w./-])[\w-]*(?:[./][\w-]+)+/?(?![\w/])")
_MOVED_TO_PATH = re.compile(
    r"(?:it|they|that|those|this|these)(?:'s|'re| is| are| was| were| has| have)?(?: been)?(?: now)?"
    rf"(?: (?:{CHANGE_VERBS}|live|lives|sit|sits|lie|lies))?(?: (?:now|to|in|into|at|under))+ (?P<new>{_PATH.pattern})",
    re.I,
)
_CONTRACTION = re.compile(r"n?['’](?:s|re|ve|ll|m|t|d)\b", re.I)
_GENERIC = frozenset(map(stem_word, CORRECTION_FILLERS))
_FAMILY_OF = {name: number for number, family in enumerate(ALTERNATIVES) for name in family}


class ValueChange(Struct, frozen=True, kw_only=True):
    """One value of an earlier statement, and what a correction says instead.

    Attributes:
        old, new: the values as written.
        is_named: whether the correction names a word of the subject, or the old value. Otherwise only the context can
            tell which statement is meant.
    """

    old: str
    new: str
    is_named: bool

    @property
    def is_alike(self) -> bool:
        """Whether both values have the same form, digit by digit: "8080" and "9090"."""
        return re.sub(r"\d", "0", self.old) == re.sub(r"\d", "0", self.new)

    def apply(self, statement: str) -> str:
        """Return the earlier statement with the new value; where it names the new value too, both change places."""
        values = {self.old.casefold(): self.new, self.new.casefold(): self.old}
        either = "|".join(re.escape(value) for value in (self.old, self.new))
        pattern = re.compile(rf"(?<![a-zA-Z0-9_./:-])(?:{either})(?![a-zA-Z0-9_/])", re.I)
        return pattern.sub(lambda found: values[found[0].casefold()], statement)


def find_value_change(old: str, correction: str) -> ValueChange | None:
    """Return the value of `old` that a short correction replaces; None if it is about something else or is unclear.

    Every word of the correction that is not a value must occur in `old`, except words of change such as "moved".
    """
    if _already_holds(old, correction):
        return None
    pair = (
        _find_numbers(old, correction)
        or _find_replaced_name(old, correction)
        or _find_alternative(old, correction)
        or _find_moved_path(old, correction)
    )
    if pair is None:
        return None
    gone, new, is_denied = pair
    rest = _subject_words(_ACTOR.sub("", correction)) - _subject_words(f"{gone} {new}")
    if not rest <= _subject_words(old):
        return None
    return ValueChange(old=gone, new=new, is_named=bool(rest) or is_denied)


def is_restated(short: str, full: str) -> bool:
    """Whether a statement says nothing that a longer one does not say: "the port is 9090", "the API's port is 9090".

    Values that it calls outdated do not count: "the port is 9090, not 8080".
    """
    numbers = set(NUMBER.findall(short)) - find_outdated_numbers(short)
    mine = _subject_words(short) - _subject_words(" ".join(gone for gone, _ in _list_replaced_names(short)))
    return bool(numbers or mine) and numbers <= set(NUMBER.findall(full)) and mine <= _subject_words(full)


def _already_holds(old: str, correction: str) -> bool:
    """Whether a statement already says what a correction replaces a name by: it is newer than that correction."""
    return any(_contains(old, new) and not _contains(old, gone) for gone, new in _list_replaced_names(correction))


def _find_numbers(old: str, correction: str) -> tuple[str, str, bool] | None:
    outdated = find_outdated_numbers(correction)
    before, after = dict.fromkeys(NUMBER.findall(old)), dict.fromkeys(NUMBER.findall(correction))
    new = [value for value in after if value not in before and value not in outdated]
    denied = [value for value in before if value in after]
    if not outdated.issuperset(denied):
        return None
    gone = denied or [value for value in before if new and _shape(value) == _shape(new[0])]
    if len(new) != 1 or len(gone) != 1:
        return None
    if not denied and gone[0] in parse_statement(old).topic_ids:
        return None  # the number belongs to the subject: "HTTP 409 means …" does not correct "HTTP 404 means …"
    is_of_subject = not denied and new[0] in parse_statement(correction).topic_ids
    if is_of_subject and not _counts_same(old, gone[0], correction, new[0]):
        return None
    return gone[0], new[0], bool(denied)


def _counts_same(old: str, gone: str, correction: str, new: str) -> bool:
    """Whether a correction without a verb counts the same things: "6 nodes" after "the cluster has 4 nodes"."""
    things = re.search(rf"^{re.escape(new)} (?P<things>[a-z]+)\W*$", correction, re.I)
    return things is not None and _contains(old, f"{gone} {things['things']}")


def find_outdated_numbers(correction: str) -> set[str]:
    """Return the numbers that a correction says are no longer right: 8080 in "not 8080 but 9090"."""
    return {found["before"] or found["after"] for found in _OUTDATED_NUMBER.finditer(correction)}


def _shape(value: str) -> str:
    return re.sub(r"0(?:\.0)+", "0.0", re.sub(r"\d+", "0", value.removeprefix("v")))


def _find_replaced_name(old: str, correction: str) -> tuple[str, str, bool] | None:
    for gone, new in _list_replaced_names(correction):
        place = _find_name(old, gone)
        if place and not _NEGATED.search(old[: place.start()]):
            return gone, new, True
    return None


def _list_replaced_names(correction: str) -> list[tuple[str, str]]:
    """Return the pairs of names of which a correction says that the second is used instead of the first."""
    found = (pattern.search(correction) for pattern in _REPLACED_NAME)
    pairs = ((one["old"].strip(".,"), one["new"].strip(".,")) for one in found if one is not None)
    return [(gone, new) for gone, new in pairs if not _is_filler(gone) and not _is_filler(new)]


def _is_filler(word: str) -> bool:
    folded = word.casefold()
    return not folded or folded in STOP_WORDS or stem_word(folded) in _GENERIC


def _find_name(text: str, name: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/])", text, re.I) if name else None


def _contains(text: str, name: str) -> bool:
    return _find_name(text, name) is not None


def _find_alternative(old: str, correction: str) -> tuple[str, str, bool] | None:
    """Two names of the same family of tools: "npm" in the statement, "pnpm" in the correction."""
    named = {word.casefold() for word in _WORD.findall(old)}
    outdated = {(found["before"] or found["after"]).casefold() for found in _OUTDATED_NAME.finditer(correction)}
    mine = {
        family: found[0]
        for found in _WORD.finditer(old)
        if (family := _family_of(found[0])) is not None and not _NEGATED.search(old[: found.start()])
    }
    pairs = {
        (mine[family], word)
        for word in _WORD.findall(correction)
        if word.casefold() not in named | outdated and (family := _family_of(word)) in mine
    }
    return (*pairs.pop(), True) if len(pairs) == 1 else None


def _find_moved_path(old: str, correction: str) -> tuple[str, str, bool] | None:
    """Two paths: "flags.yaml" in the statement, and in the correction "they moved to config/flags.toml"."""
    moved = _MOVED_TO_PATH.match(correction)
    paths = [path for path in dict.fromkeys(_PATH.findall(old)) if not NUMBER.fullmatch(path)]
    if moved is None or len(paths) != 1 or paths[0] in parse_statement(old).topic_ids:
        return None
    new = moved["new"].rstrip(".,;!")
    return None if NUMBER.fullmatch(new) or new == paths[0] else (paths[0], new, False)


def _family_of(word: str) -> int | None:
    name = word.casefold()
    return _FAMILY_OF.get(name, _FAMILY_OF.get(name.removesuffix("s")))


def _subject_words(text: str) -> frozenset[str]:
    """Return the stems of the words that tell what a text is about, without numbers, verbs of change and fillers."""
    plain = _CONTRACTION.sub(" ", text)
    stems = (stem_word(word) for one in _WORD.findall(plain) if (word := one.casefold()) not in STOP_WORDS)
    known = (SYNONYMS.get(stem, stem) for stem in stems if stem not in _GENERIC)
    return frozenset(stem for stem in known if stem not in PREPOSITIONS)


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
    """

    text: str
    quote: str
    session: str
    message: str
    at: float


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
                )
            )
    return found


def read_corrections(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence that may correct something: without its introduction, and as written."""
    if len(text) > MAX_CORRECTION_CHARS:
        return
    language = detect_language(text)
    if language:
        yield from ((one.content, one.quote) for one in read_statements(text, language) if one.kind == "correction")
        return
    for said in read_own_sentences(text, _MAX_SENTENCE):
        correcting = _strip_correction(said.text, said.masked) if not said.is_question else ""
        if correcting:
            yield correcting, said.text


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
    if len(rest.split()) < 2 and rest.isascii() and not (lead and NUMBER.search(rest)):
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
    """Whether an older statement already has all numbers that a correction says are right."""
    current = set(NUMBER.findall(correction)) - find_outdated_numbers(correction)
    return bool(current) and current <= set(NUMBER.findall(old))


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
    replaced = replaced or _with_new_value(old, correction.text) or _with_new_name(old, correction.text)
    if replaced or _POINTING.match(correction.text) or len(correction.text.split()) < 3:
        return replaced
    return correction.text


def _with_new_value(old: str, text: str) -> str:
    before, after = NUMBER.findall(old), NUMBER.findall(text)
    new = [value for value in dict.fromkeys(after) if value not in before]
    denied = [value for value in dict.fromkeys(before) if value in after]
    gone = denied or list(dict.fromkeys(before))
    if not find_outdated_numbers(text).isdisjoint(new):
        return ""
    if len(new) == len(gone) == 1:
        return NUMBER.sub(lambda found: new[0] if found[0] == gone[0] else found[0], old)
    change = find_value_change(old, text)
    return change.apply(old) if change else ""


_NAME_BEFORE = re.compile(r"([A-Za-z][\w./-]*)(?: ?です)?[,，、.;]?\s*(?:(?:und|et|e|y|sondern) )?$")
_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z][\w./-]*[_./\d-]\w+")


def _with_new_name(old: str, text: str) -> str:
    """Return the old statement with the name that a correction in another language gives instead of a denied one.

    As in "das Modul heißt invoice_core, nicht billing_core"; "" unless it is clear which name is meant.
    """
    if not (detect_language(text) or detect_language(old)):
        return ""
    denials = [found for found in _DENIED.finditer(text) if found[1] or found[2]]
    if len(denials) != 1:
        return ""
    gone = re.compile(rf"(?<!\w){re.escape(denials[0][1] or denials[0][2])}(?!\w)")
    names = [name for name in dict.fromkeys(_IDENTIFIER.findall(text)) if not gone.fullmatch(name) and name not in old]
    before = _NAME_BEFORE.search(text[: denials[0].start()])
    new = names[0] if len(names) == 1 else before[1] if before and not names else ""
    return gone.sub(lambda _: new, old) if new and len(gone.findall(old)) == 1 else ""


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
    refuted = [stated for stated in earlier if is_refuted(stated.text, one)]
    if _POINTING.match(one.text):
        refuted = _choose_one(refuted, one, context)
    elif not _are_related(refuted):
        refuted = _choose_closest(refuted, one)
    return refuted or _match_short(earlier, one, context)


def _match_short(earlier: Sequence[Stated], one: Correction, context: str | None) -> list[Stated]:
    """Return the statement that a correction without its whole subject is about, in a list; none if it is not clear."""
    changes = [(stated, change) for stated in earlier if (change := find_value_change(stated.text, one.text))]
    named = [stated for stated, change in changes if change.is_named]
    if named:
        return _choose_one(named, one, context)
    before = set(NUMBER.findall(context or ""))
    said = [stated for stated, change in changes if change.old in before]
    same = [stated for stated, _ in changes if stated.session == one.session]
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
    language = detect_language(text)
    if language:
        for one in read_statements(text, language) if len(text) <= MAX_CHARS else ():
            if one.kind == "remember" and not CREDENTIAL.search(one.content):
                yield "fact", one.content, one.quote, EXPLICIT
        return
    ends = text if len(text) <= LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    noticed = find_preferences(text) if NOTICEABLE.search(ends) else ()
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
    for said in read_own_sentences(text):
        if said.is_question or said.text in taken or len(said.text) > _MAX_SENTENCE:
            continue
        if not STATEMENT_LIKE.search(said.masked):
            continue
        stating = _classify_sentence(said)
        if stating is not None:
            yield (*stating, said.text, CONFIDENCE)


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
