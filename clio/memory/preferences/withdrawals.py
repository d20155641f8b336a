"""Find where the user lifts an earlier limit or takes back a preference: "you may edit setup.py now", by rule.

Only statements of the user are read here; nothing that a model, a tool or a file says lifts a limit. A permission for
one occasion ("just this once"), with a condition ("if the tests pass") or in a question lifts nothing. The rules of
other languages than English are read by `language_rules`.
"""

import re
from typing import Literal

from msgspec import Struct

from clio.memory import subject_words
from clio.memory.preferences.language_rules import USING, compare_withdrawn, detect_language, read_withdrawals
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.sentences import FILLER, read_own_sentences
from clio.memory.preferences.stated_preferences import VERBS
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import stem_word

_EN = english_rules("withdrawals")
MAX_SENTENCE = 160
_LEAD = _EN.pattern("lead")
_LASTING = _EN.pattern("lasting")
"""Words that make a permission more than an order of the current task: "now", "again", "from now on"."""
_PASSING = _EN.pattern("passing")
"""Signs of one occasion, a condition, a guess or a report about others."""
_ALLOWED_TO = _EN.pattern("allowed_to")
_THING_IS_FINE = _EN.pattern("thing_is_fine")
_GRANTED = _EN.pattern("granted")
_NO_NEED = _EN.pattern("no_need")
_NO_LONGER_WANTED = _EN.pattern("no_longer_wanted")
_FORGET = _EN.pattern("forget")
_FORGET_STATED = _EN.pattern("forget_stated")
_FORGET_NAMED = _EN.pattern("forget_named")
_RULE_IS_GONE = _EN.pattern("rule_is_gone")
_NAMED_RULE_IS_GONE = _EN.pattern("named_rule_is_gone")
_CHANGED_MIND = _EN.pattern("changed_mind")
_USE_NOW = _EN.pattern("use_now")
_TAIL = _EN.pattern("tail")
_PROHIBITION = _EN.pattern("prohibition")
_DISLIKED = _EN.pattern("disliked")
_CONDITION = _EN.pattern("condition")
"""Words of a limit that make it narrower than a plain prohibition, such as "without asking"."""
_FILLERS = _EN.word_set("fillers")
_VERB_GROUPS = {word: group for group, lines in _EN.maps["verb_groups"].items() for word in lines.split()}
_AND_ORDER = re.compile(r",? and (?=[a-z]+ )|, (?=[a-z]+ )|; ")
_MAX_ALONE = 12
"""A permission without a lasting word counts if it is the whole message and has at most this many words."""

Kind = Literal["permission", "release", "forget"]


class Withdrawal(Struct, frozen=True, kw_only=True):
    """One statement that takes something back.

    Attributes:
        kind: "permission" allows what a limit prohibits; "release" no longer wants what a rule or preference asks for;
            "forget" names a rule or limit to forget.
        about: the words that say what it is about; "" if it only points ("forget that rule").
        quote: the sentence as written.
        language: code of its language; "" for English.
        may_be_state: whether it only says that something is fine, which may as well describe its state.
    """

    kind: Kind
    about: str
    quote: str
    language: str = ""
    may_be_state: bool = False


def find_withdrawals(text: str) -> list[Withdrawal]:
    """Return the statements of a message that lift a limit or take back a preference, in its order."""
    if language := detect_language(text):
        return [
            Withdrawal(
                kind=one.kind, about=one.about, quote=one.quote, language=language, may_be_state=one.may_be_state
            )
            for one in read_withdrawals(text, language)
        ]
    sentences = read_own_sentences(text, MAX_SENTENCE)
    found: list[Withdrawal] = []
    for said in sentences:
        lead = _LEAD.match(said.masked)
        start = lead.end() if lead else 0
        if said.is_question or FILLER in said.masked or _PASSING.search(said.masked, start):
            continue
        is_alone = len(sentences) == 1 and len(said.text.split()) <= _MAX_ALONE
        read = _read(said.masked[start:], is_alone=is_alone or _LASTING.search(said.masked) is not None)
        if read is not None:
            kind, (begin, end) = read
            about = _without_tail(said.text[start:][begin:end])
            may_be_state = kind == "permission" and not begin and not _GRANTED.search(said.masked, start)
            found.append(Withdrawal(kind=kind, about=about, quote=said.text, may_be_state=may_be_state))
    return found


def _read(masked: str, *, is_alone: bool) -> tuple[Kind, tuple[int, int]] | None:
    """Return the kind of a sentence, and the place of the words that say what it is about; None for any other."""
    kinds: tuple[tuple[Kind, tuple[LazyRegex, ...]], ...] = (
        ("forget", (_FORGET_STATED, _FORGET, _FORGET_NAMED, _RULE_IS_GONE, _NAMED_RULE_IS_GONE, _CHANGED_MIND)),
        ("permission", (_ALLOWED_TO, _THING_IS_FINE, _USE_NOW) if is_alone else ()),
        ("release", (_NO_NEED, _NO_LONGER_WANTED)),
    )
    for kind, patterns in kinds:
        for pattern in patterns:
            if found := pattern.match(masked):
                name = next((name for name in ("about", "rest") if found.groupdict().get(name)), "")
                return kind, found.span(name) if name else (0, 0)
    return None


def _without_tail(text: str) -> str:
    while (tail := _TAIL.search(text)) is not None and tail.start() > 0:
        text = text[: tail.start()]
    return text.strip(" ,.;:!")


def is_lifted(limit: str, one: Withdrawal) -> bool:
    """Whether a withdrawal takes back this limit, rule or preference.

    A permission must name all that the limit is about, and nothing narrower: "you may edit setup.py" lifts "never edit
    setup.py", but not "never edit files without asking", and "you may edit docs/setup.md" lifts neither.
    """
    if language := one.language or detect_language(limit):
        return compare_withdrawn(limit, one.about, one.kind, language, may_be_state=one.may_be_state)
    if one.may_be_state and not _verbs(one.about) and not _verbs_of_limit(limit) <= USING:
        return False
    first_order = _AND_ORDER.split(one.about)[0]
    return any(_is_about(limit, one.kind, about) for about in dict.fromkeys((one.about, first_order)) if about)


def _is_about(limit: str, kind: Kind, about: str) -> bool:
    if kind == "forget":
        wanted = _objects(about) or _verbs(about)
        return bool(wanted) and wanted <= _objects(limit) | _verbs(limit)
    prohibition = _PROHIBITION.match(limit)
    disliked = _DISLIKED.match(limit)
    beginning = disliked or prohibition
    demanded = limit[beginning.end() :] if beginning else limit
    is_negated = prohibition is not None and prohibition["not"] is not None
    avoided = _PROHIBITION.match(about)
    if kind == "release" and is_negated and not disliked and not (avoided and avoided["not"]):
        return False  # "you need not push" lifts a duty, not the prohibition "never push"
    if kind == "permission" and not is_negated and not disliked:
        return False
    about = about[avoided.end() :] if avoided and kind == "release" else about
    if bool(_CONDITION.search(demanded)) != bool(_CONDITION.search(about)):
        return False
    mine, other = _objects(demanded), _objects(about)
    verbs, others = _verbs(demanded), _verbs(about)
    return bool(mine or verbs) and mine == other and (verbs <= others or not others)


def _verbs_of_limit(limit: str) -> frozenset[str]:
    prohibition = _PROHIBITION.match(limit)
    return _verbs(limit[prohibition.end() :] if prohibition else limit)


def _words(text: str) -> list[str]:
    """Return the words of a text; of "no-emojis" as in "the no-emojis rule" only the second part."""
    found = re.findall(r"[\w./+#@*-]+", text.casefold().replace("'", ""))
    return [word.strip(".,;:!?").removeprefix("no-") for word in found]


def _verbs(text: str) -> frozenset[str]:
    """Return the groups of the verbs that a text begins with, or that follow "or" and "and"."""
    found: set[str] = set()
    takes = True
    for word in _words(text):
        verb = _verb_of(word)
        if takes and verb:
            found.add(verb)
        elif word not in (
            "or",
            "and",
            "to",
            "ever",
            "just",
            "please",
            "now",
            "any",
            "more",
            "not",
            "never",
            "dont",
            "be",
        ):
            takes = False
        if word in ("or", "and"):
            takes = True
    return frozenset(found)


def _verb_of(word: str) -> str:
    """Return the group of a verb, such as "edit" for "change" and "editing"; "" for any other word."""
    for form in (word, word.removesuffix("ing"), f"{word.removesuffix('ing')}e", re.sub(r"(.)\1ing$", r"\1", word)):
        if form in _VERB_GROUPS:
            return _VERB_GROUPS[form]
        if form in VERBS:
            return form
    return ""


def _objects(text: str) -> frozenset[str]:
    """Return the stems of the words that a limit or permission is about, without its verbs and fillers."""
    verbs = _verbs(text)
    found: set[str] = set()
    for word in _words(text):
        if word in _FILLERS or word in subject_words.STOP_WORDS or word in subject_words.PREPOSITIONS:
            continue
        if _verb_of(word) in verbs and _verb_of(word):
            continue
        found.add(stem_word(word))
    return frozenset(found)
