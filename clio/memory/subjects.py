"""Whether two statements are about the same subject, and whether the later one changes its value.

"The API listens on port 8080" and "… on port 9090" are about one subject whose value changed; "HTTP 404 means …" and
"HTTP 409 means …" are about two. A statement is divided into its topic (subject and qualifiers such as "in staging"),
its predicate and its value by the tables in `subjects.json`. Pure functions, English first; a rule that cannot
tell answers "unclear" or "different", so that both statements stay.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from clio.text.lazy_regex import LazyRegex
from clio.text.similarity import compute_jaccard, extract_distinctive_words
from clio.text.vocabulary import stem_word


class _Tables(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of the file.

    Attributes:
        phrases: by name, alternatives of regular expressions.
        words: by name, word lists.
        maps: by name, words and what each stands for or belongs to.
        opposites: pairs of words of which a statement can have one.
        alternatives: families of names that usually replace each other.
    """

    phrases: dict[str, tuple[str, ...]]
    words: dict[str, tuple[str, ...]]
    maps: dict[str, dict[str, str]]
    opposites: tuple[str, ...]
    alternatives: tuple[str, ...]

    def phrase(self, name: str) -> str:
        return "|".join(self.phrases[name])

    def word_set(self, name: str) -> frozenset[str]:
        return frozenset(" ".join(self.words[name]).split())


_TABLES = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_Tables)

CHANGE_PHRASES = _TABLES.phrase("change")
"""Phrases that announce that something has changed."""
CHANGE_VERBS = _TABLES.phrase("change_verbs")
REVOKED = _TABLES.phrase("revoked")
"""Participles that say that something no longer exists."""
LEADS = rf"(?:{_TABLES.phrase('leads')})\b[\s,:;.!–—-]*"
"""Introductions that are not part of a statement."""
TAILS = rf"[\s,]*\b(?:{_TABLES.phrase('tails')})$"
"""Endings that are not part of a statement."""

PREPOSITIONS = _TABLES.word_set("prepositions")
LOCATIVE = _TABLES.word_set("locative")
AGENTIVE = _TABLES.word_set("agentive")
STOP_WORDS = _TABLES.word_set("stop_words")
"""Words that do not distinguish subjects."""
GENERIC_NOUNS = _TABLES.word_set("generic_nouns")
"""Nouns that only one of two statements about the same subject may contain."""
ATTRIBUTES = _TABLES.word_set("attributes")
"""Attributes that have one value at a time, so that another word after "is" is a new value."""
EXCLUSIVE_ROLES = _TABLES.word_set("exclusive_roles")
"""Adjectives of roles that only one thing has at a time: "Node 20 is the minimum version"."""
ADDING_VERBS = _TABLES.word_set("adding_verbs")
"""Verbs with which "now" announces an additional value, not another one: "the build now includes docs"."""
SINGLE_VERBS = _TABLES.word_set("single_verbs")
"""Verbs with one value at a time."""
MULTIPLE_VERBS = _TABLES.word_set("multiple_verbs")
"""Verbs with several values at a time; the number in one value may still change."""
ADDITIVE_VERBS = _TABLES.word_set("additive_verbs")
"""Verbs with which another number is another case: "supports TLS 1.2", "supports TLS 1.3"."""
EXCLUSIVE_OWNERS = _TABLES.word_set("exclusive_owners") | {
    stem_word(verb) for verb in _TABLES.word_set("exclusive_owners")
}
"""Verbs whose object has one subject at a time, if the new statement announces a change: "Tom owns billing now"."""
SOLE_OWNERS = _TABLES.word_set("sole_owners")
"""Verbs whose object has one subject at a time, even if no change is announced: "Tom owns billing"."""
FINAL_VERBS = _TABLES.word_set("final_verbs")
"""German verbs, which end a subordinate clause: "dass der Server auf Port 80 lauscht"."""
DUTIES = _TABLES.word_set("duties")
"""Duties that one person has at a time, whatever the verb: "Tom carries the pager"."""
POSITIONS = _TABLES.word_set("positions")
"""Positions that one person has at a time, after "the": "Tom is the product owner"."""
PARTICLES = _TABLES.word_set("particles")
"""Words that belong to the verb before them: "times out", "backs up"."""
OBJECT_VERBS = _TABLES.word_set("object_verbs")
"""Verbs whose object is the topic if a place or number follows: "pin numpy at 1.26"."""
OBJECTS_AT_ONCE = _TABLES.word_set("objects_at_once")
"""Verbs with one place but several objects at a time: "Ann owns billing", "Ann owns search"."""
TASTES = _TABLES.word_set("tastes")
"""Verbs with several objects at a time, of which two of one kind exclude each other: "prefers vim", "… emacs"."""
MONTHS = _TABLES.word_set("months")
"""English names of months, and their short forms."""
DAYS = frozenset(map(stem_word, _TABLES.word_set("days"))) | _TABLES.word_set("days") | MONTHS
"""Words of days and of how often something happens."""
CORRECTION_FILLERS = _TABLES.word_set("correction_fillers")
"""Words of a correction that do not say what it is about."""

SYNONYMS = _TABLES.maps["synonyms"]
NUMBER_WORDS = _TABLES.maps["numbers"]
IRREGULAR = _TABLES.maps["irregular"]
PREDICATE_GROUPS = _TABLES.maps["predicate_groups"]
"""Groups of verbs with the same meaning in statements."""
OPPOSITES = tuple((one, other) for one, other in map(str.split, _TABLES.opposites))
ALTERNATIVES = tuple(frozenset(family.split()) for family in _TABLES.alternatives)
"""Names that usually replace each other: "we switched to pnpm" corrects "we use npm"."""


Relation = Literal["same", "supersedes", "unclear", "different"]
"""The relation of a later statement to an earlier one.

same: both state the same. supersedes: the later one gives another value to the same subject. unclear: it may be a
paraphrase. different: they are about different subjects.
"""

_SAME_WORDS, _LIKELY_PARAPHRASE = 0.85, 0.50
"""Jaccard indexes of seed 003: from the first one on, two statements are the same; between both, a model may decide."""

_MAX_SENTENCES = 20
_MAX_CHARS = 1_000
"""Number of characters of a sentence that are read."""
_SENTENCE_END = LazyRegex(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|\n+")
_TOKEN = LazyRegex(r"[,;→]|->|=>|=|:(?=\s|$)|--?\w[\w=-]*|[~.]?/?\w(?:[\w./\\:@+#%*'-]*[\w/%*+#])?", re.UNICODE)
_CHANGE = LazyRegex(rf"\b(?:{CHANGE_PHRASES})\b", re.I)
_LEAD = LazyRegex(rf"^(?:{LEADS})+", re.I)
_TAIL = LazyRegex(TAILS, re.I)
_CONTRACTIONS = (
    (LazyRegex(r"\blet's\b", re.I), "let us"),
    (LazyRegex(r"\bcan't\b|\bcannot\b", re.I), "can not"),
    (LazyRegex(r"\bwon't\b", re.I), "will not"),
    (LazyRegex(r"n't\b", re.I), " not"),
    (LazyRegex(r"\b(it|that|there|he|she|who|what)'s\b", re.I), r"\1 is"),
    (LazyRegex(r"(\w)'s\b"), r"\1"),
    (LazyRegex(r"'(?:re)\b", re.I), " are"),
    (LazyRegex(r"'ve\b", re.I), " have"),
    (LazyRegex(r"'ll\b", re.I), " will"),
    (LazyRegex(r"(\d)\s+%"), r"\1%"),
    (LazyRegex(r"(\d)\s*(ms|s|min|h|GB|MB|KB|GiB|MiB)\b"), r"\1 \2"),
)
_VERB = rf"(?:{CHANGE_VERBS})"
_FROM_TO = LazyRegex(rf"^(?P<before>.*?)\b{_VERB}\b(?P<object>.*?)\bfrom (?P<old>.+?) (?:to|into) (?P<new>.+)$", re.I)
_TO = LazyRegex(rf"^(?P<before>.*?)\b{_VERB}\b(?P<object>(?:(?! from ).)*?)\b(?:to|into) (?P<new>.+)$", re.I)
_REPLACED = LazyRegex(
    r"^(?P<before>.*?)\b(?:replaced|swapped|exchanged) (?P<old>.+?) (?:with|by|for) (?P<new>.+)$"
    r"|^(?P<old2>.+?) (?:was|were|is|are|has been|have been|got) replaced (?:with|by) (?P<new2>.+)$"
    r"|^(?P<new3>.+?) (?:replaces|replaced) (?P<old3>.+)$"
    r"|^(?P<before4>.*?)\b(?:dropped|ditched|abandoned) (?P<old4>.+?) (?:in favou?r of|for) (?P<new4>.+)$"
    r"|^(?P<new5>.+?) (?:(?:has|have) taken|takes?|took) over (?P<before5>.+?) from (?P<old5>.+)$",
    re.I,
)
_NOT_ANY_MORE = LazyRegex(
    r"^(?P<before>.*?\b(?:is|are|was|were|do|does|did|use|uses|on|in|at))?\s*\b(?:not|no longer) (?P<old>[^,;]+?)"
    r"(?: any ?more| any longer)?\s*(?:[,;]|\bbut\b)\s*(?:but |it is |they are |it |rather )?(?P<new>.+)$",
    re.I,
)
_NOT_ANY_MORE_IN_OTHER_LANGUAGES = LazyRegex(
    r"^(?P<before>.*?)\b(?:n(?:e |')\w+ plus|ya no \w+|já não \w+|não \w+ mais|nicht mehr) (?:d['eu] ?|l[ae] )?"
    r"(?P<old>[^,;]+?)\s*[,;]\s*(?:mais |sino |mas |sondern )?(?P<new>.+)$",
    re.I,
)
_COMMA_NOT = LazyRegex(r",\s*(?:and |but )?(?:not|nicht(?: mehr)?|pas|no|não) (?P<old>[^,;]+)$", re.I)
_INSTEAD_OF = LazyRegex(
    r"\s*,?\s*\b(?:instead of|rather than|in place of|\(was|\(formerly|, formerly) (?P<old>.+)$", re.I
)
_USED_TO = LazyRegex(r"[,;]?\s*(?:\(|it |they |and )?(?:used to|formerly|previously)\b(?P<old>.+)$", re.I)
_REASON = LazyRegex(r"[,;]?\s+(?:because|since (?=we|the|it|they)|so that|as (?=we|the|it|they)\b)[^,;]*$", re.I)
_FRONTED_CLAUSE = LazyRegex(
    r"^(?:(?:if|when|whenever|while|once|on|in|for|with) |(?=without ))(?P<condition>[^,]+?),? "
    r"(?P<main>(?:the|our|an?|we|you|it|they|i) (?=\S+ )[^,]*)$",
    re.I,
)
_PURPOSE = LazyRegex(r"^to (?P<condition>\w+ .+?),? (?P<main>(?:use|run|call|execute|type|invoke) .+)$", re.I)
_AUXILIARY_END = LazyRegex(
    r"(?:\b(?:is|are|was|were|has|have|had|been|being|be|got|will|should|must|to|just|also)\s*)+$", re.I
)
_CHANGE_IN_OTHER_LANGUAGES = (
    LazyRegex(
        r"^(?P<before>.*?)\b(?:migramos|cambiamos|movimos|pasamos|mudamos|trocamos) "
        r"(?P<object>.*?)(?:\bde (?P<old>\S+) )?"
        r"(?:a|para|por) (?P<new>\S+(?: \S+)?)$",
        re.I,
    ),
    LazyRegex(r"^(?P<before>.*?)\bvon (?P<old>\S+) (?:auf|zu|nach) (?P<new>\S+) (?:um|ge|migr)\w+$", re.I),
    LazyRegex(
        rf"^(?P<before>.+?) (?:ist|sind|wurden?) (?:auf|nach|zu|in) (?P<new>.+?) (?:{_TABLES.phrase('change_de')})$",
        re.I,
    ),
    LazyRegex(
        r"^(?P<before>.*?)\b(?:avons|a été|ont) (?:remplacé|migré|déplacé)e?s? (?P<old>.*?) "
        r"(?:par|vers|sur) (?P<new>.+)$",
        re.I,
    ),
    LazyRegex(
        rf"^(?P<before>.+?) (?:est|sont|a été|ont été) (?:{_TABLES.phrase('change_fr')})e?s? "
        r"(?:à|aux?|en|vers|sur) (?P<new>.+)$",
        re.I,
    ),
    LazyRegex(
        rf"^(?P<before>.+?) (?:(?:se|foi|foram) )?(?:{_TABLES.phrase('change_es_pt')}) "
        r"(?:al?|para|aos?|em|en) (?:[oa]s? |el |l[ao]s? )?(?P<new>.+)$",
        re.I,
    ),
)
_REVOKED = LazyRegex(
    rf"^(?P<subject>[^,;]+?) (?:is|are|was|were|has been|have been|got) (?:{REVOKED})\b"
    rf"|^(?:(?:we|i|they|the team) )?(?:have |has |just )?(?:{REVOKED}) (?P<object>[^,;]+)",
    re.I,
)
_LATER_CLAUSE = LazyRegex(
    r"\s*(?:[;–]|,)\s+(?=(?:it|they|we|you|i|the|nobody|no one|usually|open|so|and|but|which|there)\b"
    rf"|\S+ (?:is|are|was|were|has been|have been|got) (?:{REVOKED})\b)",
    re.I,
)
_FRONTED = LazyRegex(r"(?:if|when|whenever|while|once|on|in|for|with|as|at)\b", re.I)
_LABEL = LazyRegex(r"^(?P<label>[\w./-]+): (?P<rest>\S+ .+)$")
_HAS_ATTRIBUTE = LazyRegex(
    r"^(?P<subject>.+?) (?:has|have) (?:an? )?(?P<attribute>[^,]+?) of (?P<value>\S+(?: \S+)?)$", re.I
)
_CHOSEN = LazyRegex(
    r"^(?:use|set|keep|increase|raise|lower|reduce|decrease|change|bump) (?:the|an?|our) (?P<attribute>[^,]+?) "
    r"(?:of|to|at) (?P<value>\d\S*(?: \S+)?)$",
    re.I,
)
_HAS_COUNT = LazyRegex(
    r"^(?P<subject>.+?) (?:has|have|gets?|runs? with|hat|haben|tienen?|tem|têm) "
    r"(?P<count>\d+|two|three|four|five|six|seven|eight|nine|ten) "
    r"(?P<things>\w+)$",
    re.I,
)
_ADVERBS = frozenset(
    "now already currently still always usually also only just generally normally typically really jetzt nun "
    "maintenant désormais ahora agora".split()
)
_WHEN_CHANGED = LazyRegex(
    r"(?<! to)(?<! until)[ ,]+(?:since |as of )?(?:yesterday|(?:last|this) (?:week|month|quarter|year|sprint|\w+day))$",
    re.I,
)
_STATE = LazyRegex(r"[a-z]{3,}(?:ed|ing|[ai]ble|ful|less|ous)")
_UNCERTAIN = LazyRegex(
    r"\b(?:might|maybe|perhaps|possibly|eventually|someday|for example|e\.g)\b|\?$|\bwill\b.* (?:next|later|soon)\b",
    re.I,
)
_ADDITION = LazyRegex(
    r"(?<!^)\b(?:also|additionally|in addition|as well|auch|zusätzlich|aussi|également|también|además|também)\b|\btoo$",
    re.I,
)
_NO_LONGER = LazyRegex(r"\bno (?:longer|more(?! than))\b", re.I)
_ALLOWED = LazyRegex(r"^(?:it is |you (?:can|may) |it's )?(?:fine|ok(?:ay)?|allowed|safe|all right) to ", re.I)
_NOT_LATIN = LazyRegex(r"[\u0400-\u04ff\u0590-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NUMBER_AT_END = LazyRegex(rf"(?<![第\d])\d+(?:[.,:]\d+)*\s*(?:{_TABLES.phrase('counters')})*[。. ]*$", re.I)
_DIGITS = LazyRegex(r"\d+(?:[.,:]\d+)*")
_NUMBER = LazyRegex(r"v?\d[\d.,:]*%?|\d+(?:st|nd|rd|th)|\d[\d.,:]*(?:am|pm|ms|s|min|h|[kmgt]i?b)", re.I)
_COPULAS = frozenset("is are was were be been ist sind beträgt lautet est sont es está están é são fica ficam".split())
_NEGATIONS = frozenset("not never no nicht kein keine ne pas nunca jamais não".split())
_AUXILIARIES = frozenset("do does did must should can could will would may might shall have has had to always".split())
_NAMING_VERBS = frozenset(("heißt", "heisst"))
_ROLE_VERBS = frozenset(("use", "require", "need", "prefer"))
_DETERMINERS = frozenset("a an the this that these those our my your their its each every all".split())
_DEFINITE = frozenset("the our my".split())
_PRONOUNS = frozenset("we i you they it everyone people".split())


class Statement(Struct, frozen=True, kw_only=True):
    """One parsed statement. All words are stems.

    Attributes:
        topic, topic_ids: what it is about: words, and numbers, versions, paths and names with digits.
        predicate: verb group and kind of preposition; "*" for a verb of change, "" if none was found.
        kind: how many values the predicate has at a time: single, multiple, additive, role, definite ("is the …") or
            class ("is a …").
        value, head: words of what it says about its topic, and the last of them.
        numbers: quantities in the value.
        former: words of a value that it calls outdated ("not 8080", "from npm to pnpm").
        subject, qualifiers: the two parts of the topic: "the API" and "in staging".
        is_change: it says that something has changed.
        is_named: the value is a name, path or number.
        is_state: the value says how something is: "the main branch is protected".
        is_revoked: it says that its topic no longer exists.
        has_attribute: its subject is an attribute with one value at a time, such as "port".
    """

    topic: frozenset[str] = frozenset()
    topic_ids: frozenset[str] = frozenset()
    predicate: str = ""
    kind: str = "multiple"
    value: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    qualifiers: frozenset[str] = frozenset()
    head: str = ""
    preposition: str = ""
    is_negated: bool = False
    is_change: bool = False
    is_named: bool = False
    is_state: bool = False
    is_revoked: bool = False
    has_attribute: bool = False


def relate_statements(old: str, new: str) -> Relation:
    """Return the relation of a later statement to an earlier one of the same kind of memory."""
    if _fold(old) == _fold(new):
        return "same"
    if _NOT_LATIN.search(old) or _NOT_LATIN.search(new):
        return _relate_by_digits(old, new)
    sentences, later = _SENTENCE_END.split(old), _SENTENCE_END.split(new)
    if len(sentences) > 1 or len(later) > 1:
        return _relate_texts(
            sentences, later, compute_jaccard(extract_distinctive_words(old), extract_distinctive_words(new))
        )
    return _relate_sentences(old, new)


def _relate_texts(old: Sequence[str], new: Sequence[str], similarity: float) -> Relation:
    """Relate texts of several sentences. One supersedes the other only if no other statement of the old one is lost."""
    if len(old) == 1 and _relate_sentences(old[0], new[0]) == "supersedes":
        return "supersedes"
    if len(old) == len(new) <= _MAX_SENTENCES:
        changed = [(one, other) for one, other in zip(old, new, strict=True) if _fold(one) != _fold(other)]
        if len(changed) == 1:
            return _relate_sentences(*changed[0])
    if _DIGITS.findall(" ".join(old)) != _DIGITS.findall(" ".join(new)) or similarity < _LIKELY_PARAPHRASE:
        return "different"
    return "same" if similarity >= _SAME_WORDS else "unclear"


def _relate_sentences(old: str, new: str) -> Relation:
    old, new = _join_compounds(old, new), _join_compounds(new, old)
    one, other = parse_statement(old), parse_statement(new)
    similarity = compute_jaccard(extract_distinctive_words(old), extract_distinctive_words(new))
    if _is_same(one, other, old, new, similarity):
        return "same"
    relation = _relate_parsed(one, other, similarity)
    is_addition = not (other.former or other.is_revoked) and _ADDITION.search(new) is not None
    if relation == "supersedes" and (is_addition or _UNCERTAIN.search(new)):
        return "different"  # "the API uses Kafka now, too", "the API might move to port 90"
    if relation == "different" and similarity >= _LIKELY_PARAPHRASE and not _differ_in_facts(one, other):
        return "unclear"
    return relation


def _join_compounds(text: str, other: str) -> str:
    """Write two words or a word with a hyphen as one word where the other text does: "time zone", "timezone"."""
    known, parts = set(other.casefold().split()), re.split(r"([ -])", text)
    for place in range(len(parts) - 3, -1, -2):
        whole = parts[place] + parts[place + 2]
        if whole.isalpha() and whole.casefold() in known:
            parts[place : place + 3] = [whole]
    return "".join(parts)


def differ_in_numbers(old: str, new: str) -> bool:
    """Whether two texts in a script without spaces differ only in numbers, so that they share no word but much else."""
    return old != new and (masked := mask_digits(old)) is not None and masked == mask_digits(new)


def mask_digits(text: str) -> str | None:
    """Return a text in a script without spaces with each number as 0; None for another script."""
    return _DIGITS.sub("0", text) if _NOT_LATIN.search(text) is not None else None


def announces_change(text: str) -> bool:
    """Whether a text says that something is no longer as it was: "now", "no longer", "moved to", "actually"."""
    return _CHANGE.search(text) is not None


def topic_terms(text: str) -> frozenset[str]:
    """Return the stems and ids by which statements about the same subject are found, whatever value they give it."""
    statement = parse_statement(text)
    return statement.topic | statement.topic_ids | statement.former


def telling_terms(text: str) -> frozenset[str]:
    """Return the stems and ids of topic and value: statements with none of them in common are about other things."""
    statement = parse_statement(text)
    return _get_all_words(statement) | statement.former


@lru_cache(maxsize=4_096)
def parse_statement(text: str) -> Statement:
    """Parse one statement into topic, predicate and value."""
    plain = _normalize(text)
    is_change = announces_change(plain)
    plain = _strip_edges(_WHEN_CHANGED.sub("", plain) if is_change else plain)
    revoked = _REVOKED.match(plain)
    if revoked:
        gone = _tokenize(_LATER_CLAUSE.split(revoked["subject"] or revoked["object"] or "")[0])
        return Statement(
            topic=_extract_stems(gone) - _extract_ids(gone),
            topic_ids=_extract_ids(gone),
            is_negated=True,
            is_change=True,
            is_revoked=True,
        )
    changed = _parse_change(plain)
    if changed is not None:
        return changed
    former = frozenset[str]()
    for pattern in (_COMMA_NOT, _INSTEAD_OF, _USED_TO):
        found = pattern.search(plain)
        if found and found.start():
            former |= _extract_stems(_tokenize(found["old"]))
            plain = plain[: found.start()]
    turned = _NOT_ANY_MORE.match(plain) or _NOT_ANY_MORE_IN_OTHER_LANGUAGES.match(plain)
    if turned and turned["new"]:
        former |= _extract_stems(_tokenize(turned["old"]))
        plain = f"{turned['before'] or ''} {turned['new']}"
    label = _LABEL.match(plain)
    plain = label["rest"] if label else plain
    if not _FRONTED.match(plain):
        plain, *clauses = _LATER_CLAUSE.split(plain)
        for clause in clauses:
            if gone := _REVOKED.match(_strip_edges(clause)):  # "the queue is NATS, RabbitMQ is gone"
                former |= _extract_stems(_tokenize(gone["subject"] or gone["object"] or ""))
    chosen = _CHOSEN.match(plain)
    counted, attribute = _HAS_COUNT.match(plain), _HAS_ATTRIBUTE.match(plain)
    if counted:
        plain = f"there are {counted['count']} {counted['things']} of {counted['subject']}"
    elif chosen:
        plain = f"the {chosen['attribute']} is {chosen['value']}"
    elif attribute:
        plain = f"the {attribute['attribute']} of {attribute['subject']} is {attribute['value']}"
    if label:
        plain = f"for {label['label']}, {plain}"
    statement = _parse_plain(_strip_edges(plain))
    return structs.replace(statement, former=former, is_change=is_change or bool(former))


# Parsing one statement


def _normalize(text: str) -> str:
    plain = unicodedata.normalize("NFC", text).replace("’", "'").replace("`", "").replace('"', "")
    plain = " ".join(plain[:_MAX_CHARS].split()).rstrip(".!; ")
    for pattern, replacement in _CONTRACTIONS:
        plain = pattern.sub(replacement, plain)
    return plain


def _strip_edges(text: str) -> str:
    text = _NO_LONGER.sub("not", _REASON.sub("", _LEAD.sub("", text))).strip()
    while True:
        shorter = _TAIL.sub("", text).strip(" ,;.")
        if shorter == text:
            return text
        text = shorter


def _parse_change(text: str) -> Statement | None:
    """Parse a statement with a verb of change, such as "moved the API to port 9090" or "a was replaced by b"."""
    found = _REPLACED.match(text)
    if found:
        groups = found.groupdict()
        old, new, subject = (
            next((text for name, text in groups.items() if name.startswith(part) and text), "")
            for part in ("old", "new", "before5")
        )
        old, _, role = old.partition(" as ")  # "Ann replaced Bob as team lead"
        return _build_change(f"{subject} {role}", old, new)
    found = _FROM_TO.match(text)
    if found:
        return _build_change(f"{found['before']} {found['object']}", found["old"], found["new"])
    for pattern in _CHANGE_IN_OTHER_LANGUAGES:
        found = pattern.match(text)
        if found:
            before, moved, old, new = (
                next((text for name, text in found.groupdict().items() if name.startswith(part) and text), "")
                for part in ("before", "object", "old", "new")
            )
            return _build_change(f"{before} {moved}", old, new)
    found = _TO.match(text)
    if found:
        before = _AUXILIARY_END.sub("", found["before"])
        if _find_predicate(_tokenize(before))[0] in (None, 0):
            return _build_change(f"{before} {found['object']}", "", found["new"])
    return None


def _build_change(subject: str, old: str, new: str) -> Statement:
    value, quantities, qualifiers = _split_value(_tokenize(new))
    value += quantities
    topic = [*_tokenize(subject), *qualifiers]
    return Statement(
        topic=_extract_stems(topic) - _extract_ids(topic) - frozenset(map(stem_word, ("has", "have", "been"))),
        topic_ids=_extract_ids(topic),
        predicate="*",
        kind="single",
        value=_extract_stems(value),
        numbers=_extract_numbers(value),
        former=_extract_stems(_tokenize(old)),
        subject=_extract_stems(_tokenize(subject)),
        qualifiers=_extract_stems(qualifiers),
        is_change=True,
        is_named=True,
    )


def _parse_plain(text: str) -> Statement:
    negated = False
    allowed = _ALLOWED.match(text)
    if allowed:
        text = text[allowed.end() :]
    text = " ".join(word for word in text.split() if word.casefold() not in _ADVERBS)
    fronted: list[str] = []
    clause = _FRONTED_CLAUSE.match(text) or _PURPOSE.match(text)
    if clause:
        fronted, text = _tokenize(clause["condition"]), clause["main"]
    tokens = _tokenize(text)
    if tokens and _is_preposition(tokens[0]) and "," in tokens:
        end = tokens.index(",")
        fronted, tokens = [*fronted, *tokens[1:end]], tokens[end + 1 :]
    while tokens and tokens[0].casefold() in _NEGATIONS | {"do", "always", "please"}:
        negated |= tokens[0].casefold() in _NEGATIONS
        tokens = tokens[1:]
    if final := _find_final_verb(tokens):
        tokens, start = final
        place, verb, after, negates = start, tokens[start].casefold(), start + 1, False
    else:
        place, verb, after, negates = _find_predicate(tokens)
    negated |= negates
    if place is None:
        return _build_without_predicate([*tokens, *fronted], negated)
    subject, rest = tokens[:place], tokens[after:]
    if subject and subject[0].casefold() == "there" and verb == "be":
        return _build_existential(rest, fronted, negated)
    rest = [token for token in rest if token.casefold() not in ("only", "always", "usually", "still", "also")]
    while rest and rest[0].casefold() in _NEGATIONS:
        negated, rest = True, rest[1:]
    particle = ""
    if len(rest) > 2 and rest[0].casefold() in PARTICLES and _is_preposition(rest[1]) and not _is_preposition(rest[0]):
        # "goes out at 7am" says something else than "goes out to all customers".
        particle, rest = f" {rest[0].casefold()} {rest[1].casefold()}", rest[1:]
    preposition = ""
    if len(rest) > 1 and _is_preposition(rest[0]) and rest[0].casefold() not in ("for", "when", "if"):
        preposition, rest = rest[0].casefold(), rest[1:]
    value, quantities, qualifiers = _split_value(rest)
    if quantities and value and not any(map(_is_number, value)):
        value, qualifiers, preposition = quantities, [*value, *qualifiers], preposition or "at"
    elif verb in OBJECT_VERBS and not preposition and value and qualifiers and not _is_number(value[0]):
        named = next((token.casefold() for token in rest if _is_preposition(token)), "")
        value, qualifiers, preposition = [*qualifiers, *quantities], value, named if named in AGENTIVE else "at"
    else:
        value = [*value, *quantities]
    statement = _build_from_parts(subject, verb, preposition, value, [*qualifiers, *fronted], negated)
    return structs.replace(statement, predicate=statement.predicate + particle, preposition=preposition)


def _find_final_verb(tokens: list[str]) -> tuple[list[str], int] | None:
    """Return the words of a German subordinate clause in the order of a main clause, and the index of its verb.

    The value is a name, a number with its unit, or begins with a preposition. None for any other clause.
    """
    if len(tokens) < 3 or tokens[-1].casefold() not in FINAL_VERBS:
        return None
    *rest, verb = tokens
    places = [place for place, token in enumerate(rest) if place and (_is_preposition(token) or _is_number(token))]
    place = len(rest) - 1 if verb.casefold() in _NAMING_VERBS or not places else places[0]
    return [*rest[:place], verb, *rest[place:]], place


def _build_from_parts(
    subject: list[str], verb: str, preposition: str, value: list[str], qualifiers: list[str], negated: bool
) -> Statement:
    """Build a statement from its parts, also if its subject is the value ("Node 20 is the minimum")."""
    passive = verb.removeprefix("passive ")
    is_passive, verb = passive != verb, passive
    if is_passive and verb in _ROLE_VERBS and (not value or preposition in ("to", "with", "in", "on")):
        qualifiers = [*value, *qualifiers]
        if not qualifiers and not any(map(_is_number, subject)):
            return _build_statement(subject, subject, [verb], [], "be", "single", negated)
        kind = "role" if verb in ("use", "prefer") and qualifiers else "versioned role"
        return _build_statement([*qualifiers, verb], [verb], subject, qualifiers, f"{verb} role", kind, negated)
    if verb == "be" and not preposition and _is_role(value):
        return _build_statement([*value, *qualifiers], value, subject, qualifiers, "role", "role", negated)
    article = value[0].casefold().rstrip("_") if verb == "be" and value and not preposition else ""
    if article in _DEFINITE | {"a", "an"}:
        kind = "definite" if article in _DEFINITE else "class"
    elif verb == "be" or verb in SINGLE_VERBS or (is_passive and preposition):
        kind = "single"
    elif verb in ADDITIVE_VERBS:
        kind = "additive"
    elif (preposition in AGENTIVE and verb not in ("use", "depend", "rely")) or (
        preposition and (verb not in MULTIPLE_VERBS or preposition in ("every", "until", "at"))
    ):
        kind = "single"
    else:
        kind = "multiple"
    if (verb in OBJECTS_AT_ONCE and not (preposition or is_passive)) or verb.endswith(" me"):
        kind = "multiple"
    group = PREDICATE_GROUPS.get(verb, verb) if preposition or verb not in ("run", "set", "log", "parse") else verb
    if verb == "be" and preposition in LOCATIVE:
        group = "be at"
    elif preposition in AGENTIVE:
        group = f"{group} by"
    elif verb == "name" and not is_passive and not preposition and kind != "single":
        group = "call"
    topic = [*subject, *qualifiers]
    if verb == "retry" or (not subject and not qualifiers and verb not in ("be", "use")):
        topic.append(verb)
    return _build_statement(topic, subject, value, qualifiers, group, kind, negated)


def _build_statement(
    topic: Sequence[str],
    subject: Sequence[str],
    value: Sequence[str],
    qualifiers: Sequence[str],
    predicate: str,
    kind: str,
    negated: bool,
) -> Statement:
    head = [stem_word(token.casefold()) for token in subject if token.casefold() not in STOP_WORDS]
    quantities = [token for token in topic if token.startswith("-") and len(token) > 1]  # flags are values, not names
    topic = [token for token in topic if token not in quantities]
    value = [*value, *quantities]
    return Statement(
        topic=_extract_stems(topic) - _extract_ids(topic),
        topic_ids=_extract_ids(topic),
        predicate=predicate,
        kind=kind,
        value=_extract_stems(value),
        head=_normalize_word(value[-1]) if value else "",
        numbers=_extract_numbers(value),
        subject=_extract_stems(subject),
        qualifiers=_extract_stems(qualifiers),
        is_negated=negated,
        is_named=_is_named(value),
        is_state=len(value) == 1 and (value[0] in _STATES or _STATE.fullmatch(value[0]) is not None),
        has_attribute=bool(head) and any(one in _ATTRIBUTE_STEMS for one in head),
    )


def _build_existential(rest: list[str], fronted: list[str], negated: bool) -> Statement:
    """Build a statement such as "there are 5 workers in production": the number is the value, the rest the topic."""
    counts = [token for token in rest[:1] if _is_number(token)]
    topic = [*rest[len(counts) :], *fronted]
    return _build_statement(topic, [], counts, [], "exist", "single" if counts else "multiple", negated)


def _build_without_predicate(tokens: list[str], negated: bool) -> Statement:
    """Build a statement without a known verb: numbers at the end of the text are its value."""
    if len(tokens) > 2 and tokens[-2] in ("in", "auf", "en", "em") and _normalize_word(tokens[-1]) in _LANGUAGES:
        return _build_from_parts(tokens[:-2], "be", "in", tokens[-1:], [], negated)  # "commit messages in German"
    end = len(tokens)
    while end and (_is_number(tokens[end - 1]) or stem_word(tokens[end - 1].casefold()) in _UNITS):
        end -= 1
    value = tokens[end:] if any(map(_is_number, tokens[end:])) else []
    topic = tokens[: len(tokens) - len(value)]
    return _build_statement(topic, topic, value, [], "", "single" if value else "multiple", negated)


def _find_predicate(tokens: Sequence[str]) -> tuple[int | None, str, int, bool]:
    """Return index of the predicate (None without one), its verb, the index after it, and whether it is negated."""
    folded = [token.casefold() for token in tokens]
    if len(folded) > 1 and folded[0] == "be":
        return 0, "be", 1, False
    if len(folded) > 2 and folded[1] in ("me", "us") and folded[0] not in STOP_WORDS | PREPOSITIONS:
        if folded[0] == "call" and folded[2] not in PREPOSITIONS:
            return 0, "name", 2, False
        if _find_base_verb(folded[0]) is None:
            return 0, f"{stem_word(folded[0])} me", 2, False
    for place, token in enumerate(folded):
        if token in (":", "=", "→", "->", "=>") and place:
            return place, "be", place + 1, False
        if token in _COPULAS and place:
            return _parse_copula(folded, place)
        if not place:
            continue
        verb = _find_base_verb(token)
        if verb is None:
            continue
        before = folded[place - 1]
        if before in PREPOSITIONS or before in _DETERMINERS:
            continue  # a noun or an infinitive: "for tests", "to build"
        if token == verb and not _allows_base_form(before):
            continue
        if token.endswith("s") and folded[place - 2] == "to" and place > 2 and _find_base_verb(folded[0]) == folded[0]:
            continue  # the object of an infinitive: "use npm to install packages"
        is_past = before in _PRONOUNS or _is_number(before)
        if token != verb and token.endswith("ed") and not is_past and token not in IRREGULAR:
            continue  # a participle after a noun belongs to the noun
        following = folded[place + 1] if place + 1 < len(folded) else ""
        is_verb = place + 2 < len(folded) and following and _find_base_verb(following) == following
        if token.endswith("s") and (
            is_verb or following in _COPULAS | _NEGATIONS or (following in _AUXILIARIES and following != "to")
        ):
            continue  # a plural noun before its verb: "the logs go to …"
        start = place
        negated = False
        while start and folded[start - 1] in _AUXILIARIES | _NEGATIONS:
            start -= 1
            negated |= folded[start] in _NEGATIONS
        return start, verb, place + 1, negated
    verb = _find_base_verb(folded[0]) if folded else None
    if verb is not None and folded[0] == verb:
        return 0, verb, 1, False  # an imperative
    found = _find_unknown_verb(tokens)
    if found is not None:
        return found
    if verb is not None and not folded[0].endswith("ed"):
        return 0, verb, 1, False  # a statement without a subject
    return None, "", 0, False


def _find_unknown_verb(tokens: Sequence[str]) -> tuple[int, str, int, bool] | None:
    """Find a verb that is in no table by its position: after a pronoun, or an s-form before an object or at the end.

    An s-form before a particle is a verb, too: "times out", "shuts down".
    """
    folded = [token.casefold() for token in tokens]
    for place, token in enumerate(folded):
        is_name = tokens[place][0].isupper() or _normalize_word(token) in _LANGUAGES
        if not place or not token.isalpha() or is_name or token in STOP_WORDS or token in PREPOSITIONS:
            continue
        before, following = folded[place - 1], folded[place + 1] if place + 1 < len(folded) else ""
        is_finite = token.endswith("s") and not token.endswith(("ss", "us", "is")) and before not in STOP_WORDS
        is_finite = is_finite and not _is_number(before)  # the unit in "30 s"
        has_particle = following in PARTICLES
        has_object = not following or has_particle or following in _DETERMINERS | PREPOSITIONS or _is_id(following)
        after_pronoun = before in _PRONOUNS and place == 1
        if not ((is_finite and has_object and before not in PREPOSITIONS) or after_pronoun or before in _NEGATIONS):
            continue
        start, negated = place, False
        while start and folded[start - 1] in _AUXILIARIES | _NEGATIONS:
            start -= 1
            negated |= folded[start] in _NEGATIONS
        verb = f"{stem_word(token)} {following}" if has_particle else stem_word(token)
        return start, verb, place + 1 + has_particle, negated
    return None


def _parse_copula(folded: Sequence[str], place: int) -> tuple[int | None, str, int, bool]:
    start, negated = place, False
    while start and folded[start - 1] in _AUXILIARIES | _NEGATIONS:
        start -= 1
        negated |= folded[start] in _NEGATIONS
    after = place + 1
    skipped = after
    while skipped < len(folded) and folded[skipped] in _NEGATIONS | {"now", "only", "always", "still", "also", "been"}:
        negated |= folded[skipped] in _NEGATIONS
        skipped += 1
    participle = folded[skipped] if skipped < len(folded) else ""
    verb = IRREGULAR.get(participle) or (_find_base_verb(participle) if participle.endswith("ed") else None)
    if verb is None and participle.endswith("ed") and len(participle) > 4 and skipped + 1 < len(folded):
        verb = stem_word(participle) if folded[skipped + 1] in PREPOSITIONS else None
    if verb is not None and (verb in _ROLE_VERBS or participle not in _OPPOSITE_WORDS):
        return start, f"passive {verb}", skipped + 1, negated
    return start, "be", skipped, negated


def _find_base_verb(token: str) -> str | None:
    """Return the base form of a verb in the tables; None for any other word."""
    if token in IRREGULAR:
        return IRREGULAR[token]
    for form in (token, token[:-1], token[:-2], f"{token[:-3]}y", token[:-3]):
        ends = token[len(form) :] if token.startswith(form) else token[-3:]
        if form in _VERBS and ends in ("", "s", "es", "ed", "d", "ies", "ied", form[-1:] + "ed"):
            return form
    return None


def _allows_base_form(before: str) -> bool:
    return before in _PRONOUNS | _AUXILIARIES | _NEGATIONS or (
        before.endswith("s") and not before.endswith("ss") and before not in STOP_WORDS
    )


def _split_value(tokens: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Split tokens into the value up to the next preposition, later quantities ("after 30 days"), and qualifiers.

    "of" continues the value. "after the merge" next to a quantity says when it was measured, and is left out.
    """
    value: list[str] = []
    quantities: list[str] = []
    qualifiers: list[str] = []
    place = 0
    while place < len(tokens) and tokens[place] not in (",", ";"):
        if _is_preposition(tokens[place]) and tokens[place] != "of" and place < len(tokens) - 1:
            break
        value.append(tokens[place])
        place += 1
    while place < len(tokens):
        end = place + 1
        while end < len(tokens) and not _is_preposition(tokens[end]):
            end += 1
        begin = place + (tokens[place].casefold() != "without")
        phrase = [token for token in tokens[begin:end] if token not in (",", ";")]
        known = [token for token in phrase if token.casefold() not in STOP_WORDS]
        is_end = tokens[place].casefold() == "until" and not set(map(str.casefold, phrase)).isdisjoint(DAYS)
        if known and (is_end or _is_number(known[0]) or known[0].startswith("-")):
            quantities.extend(phrase)
        elif tokens[place].casefold() == "to" and known and _find_base_verb(known[0]) == known[0]:
            pass  # "to save storage" says why
        elif tokens[place].casefold() != "after" or not any(map(_is_number, [*value, *quantities])):
            qualifiers.extend(phrase)
        place = end
    return value, quantities, qualifiers


def _is_role(value: Sequence[str]) -> bool:
    folded = [token.casefold().rstrip("_") for token in value]
    return (
        len(folded) > 1
        and folded[0] not in ("a", "an")
        and (folded[-1] in POSITIONS or (folded[0] in _DEFINITE and not EXCLUSIVE_ROLES.isdisjoint(folded)))
    )


def _tokenize(text: str) -> list[str]:
    matches: list[str] = _TOKEN.findall(text)
    found = [token.rstrip(".'") if len(token) > 1 else token for token in matches]
    for place, token in enumerate(found):
        following = found[place + 1].casefold() if place + 1 < len(found) else ""
        is_name = token == "a" and (not following or following in _COPULAS or _find_base_verb(following))
        if place and (is_name or (len(token) == 1 and token.isupper() and token != "I")):
            # A name, as in "field a is required" or "topic B": the underscore keeps it from being a stop word.
            found[place] = f"{token}_"
    return [NUMBER_WORDS.get(token.casefold(), token) for token in found if token]


def _is_preposition(token: str) -> bool:
    return token.casefold() in PREPOSITIONS and not (token.isupper() and len(token) > 1)


def _is_number(token: str) -> bool:
    return _NUMBER.fullmatch(token) is not None


def _is_id(token: str) -> bool:
    if any(char.isdigit() for char in token):
        return True
    return "/" in token or "\\" in token or "_" in token or ("." in token.strip(".") and len(token) > 2)


def _is_named(value: Sequence[str]) -> bool:
    kept = [token for token in value if token.casefold() not in STOP_WORDS]
    return bool(kept) and any(_is_id(token) or any(char.isupper() for char in token) for token in kept)


# In this spelling they are names, not words that say nothing.
_NAMES_LIKE_STOP_WORDS = frozenset("US IT May".split())


def _extract_stems(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset(
        _normalize_word(token)
        for token in tokens
        if token not in (",", ";", ":", "=", "→", "->", "=>")
        and (token.casefold() not in STOP_WORDS or token in _NAMES_LIKE_STOP_WORDS)
        and not (_is_preposition(token) and token.casefold() not in ("on", "off", "under", "without"))
    )


def _extract_ids(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset(_normalize_word(token) for token in tokens if _is_id(token))


def _extract_numbers(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset(_normalize_word(token) for token in tokens if any(char.isdigit() for char in token))


def _normalize_word(token: str) -> str:
    folded = token.casefold()
    if _is_id(folded):
        return folded
    folded = SYNONYMS.get(folded, folded)
    return SYNONYMS.get(stem_word(folded), stem_word(folded))


_VERBS = SINGLE_VERBS | MULTIPLE_VERBS | ADDITIVE_VERBS
_GENERIC = frozenset(map(_normalize_word, GENERIC_NOUNS))
_ATTRIBUTE_STEMS = frozenset(map(stem_word, ATTRIBUTES))
_OPPOSITE_WORDS = frozenset(word for pair in OPPOSITES for word in pair)
_FORMER_THINGS = frozenset(map(_normalize_word, "old former previous legacy deprecated".split()))
_STATES = _OPPOSITE_WORDS - {"green", "red"}
_DUTY_STEMS = frozenset(map(_normalize_word, DUTIES))
_UNITS = frozenset(
    map(
        stem_word,
        "second seconds s minute minutes min hour hours h day days week weeks month months ms kb mb gb %".split(),
    )
)


# Comparing two statements


def _relate_parsed(old: Statement, new: Statement, similarity: float) -> Relation:
    if new.is_revoked:
        gone = new.topic | new.topic_ids
        is_whole = len(gone) > 1 or bool(new.topic_ids) or gone in (old.value, old.topic)
        return (
            "supersedes"
            if is_whole
            and not old.is_negated
            and gone - _GENERIC <= _get_all_words(old) | {_normalize_word(old.predicate or "be")}
            else "different"
        )
    if _is_outdated(old, new) and not _is_conflict(old, new):
        return "supersedes"
    is_renamed = new.predicate == "*" and not new.former and not new.topic_ids and new.topic == old.value - old.numbers
    is_version = bool(old.numbers and new.numbers)
    if is_renamed and (
        is_version or old.predicate == "name" or (old.predicate == "be" and (old.has_attribute or old.is_named))
    ):
        return "supersedes"  # "the branch is master", "master was renamed to main"
    if old.kind == new.kind == "versioned role":
        return _relate_versions(old, new)
    if {old.predicate, new.predicate} == {"be"} and new.value == old.topic and old.value != new.topic and new.topic:
        return "supersedes"  # "the package manager is npm", "pnpm is the package manager"
    is_turned = old.predicate == new.predicate == "be" and old.kind == "definite" and old.value == new.topic
    if is_turned and new.is_named and new.is_change:
        return "supersedes"  # "Ann is our designer", "our designer is Bob now"
    if old.predicate.removesuffix(" by") == new.predicate.removesuffix(" by") != "" and old.predicate != new.predicate:
        old, new = _turn_active(old), _turn_active(new)
    is_reversed = old.is_negated != new.is_negated and bool(old.value)
    if is_reversed and structs.replace(old, is_negated=new.is_negated, is_change=new.is_change) == new:
        return "supersedes"  # "use tabs", "do not use tabs"
    is_about_same = _is_same_topic(old, new)
    if not is_about_same:
        if new.is_change and not old.predicate and not new.predicate and not (old.topic_ids ^ new.topic_ids):
            one_word_each = len(old.topic - new.topic) == len(new.topic - old.topic) == 1
            return "supersedes" if one_word_each and similarity >= _LIKELY_PARAPHRASE else "different"
        return "supersedes" if _is_handed_over(old, new) else "different"
    if not _is_compatible(old, new):
        are_unknown = _find_base_verb(old.predicate) is None is _find_base_verb(new.predicate)
        return (
            "supersedes"
            if are_unknown and new.is_change and bool(old.value) and old.value == new.value
            else "different"
        )
    if old.is_negated != new.is_negated:
        shared = old.value <= new.value or new.value <= old.value
        return "supersedes" if shared and (old.value or new.value or old.topic == new.topic) else "different"
    return _relate_values(old, new)


def _relate_versions(old: Statement, new: Statement) -> Relation:
    """Relate two statements such as "Python 3.11 is required" and "Python 3.12 is required"."""
    changed = old.numbers != new.numbers and old.value - old.numbers == new.value - new.numbers
    return "supersedes" if changed and old.qualifiers == new.qualifiers else "different"


def _relate_values(old: Statement, new: Statement) -> Relation:
    if old.value == new.value:
        return "unclear"
    if old.value < new.value or new.value < old.value:
        return "supersedes" if new.is_change and new.value and not old.value <= new.value else "unclear"
    if _have_unlike_values(old, new):
        return "different"
    common_types = _list_value_types(old) & _list_value_types(new)
    are_of_one_type, are_of_one_time = bool(common_types), not common_types.isdisjoint(_TIME_TYPES)
    if old.predicate == new.predicate and old.preposition != new.preposition and not are_of_one_type:
        # "sent to Kafka", "sent as JSON now"; "on Slack" may be the new "in Berlin" only if it says so.
        both = {old.preposition, new.preposition}
        if not new.is_change or (both & {"as", "from"} and both != {"as", "in"}):
            return "different"
    is_addition = new.predicate == old.predicate and new.predicate in ADDING_VERBS
    is_addition = is_addition and not old.value & new.value
    shared = old.topic & new.topic or old.topic_ids & new.topic_ids or (not old.topic and old.value & new.value)
    announced = new.is_change and not is_addition and bool(shared) and not new.predicate.endswith(" me")
    announced = announced and (old.head == new.head or "class" not in (old.kind, new.kind))  # "Tom is a father now"
    if old.numbers and new.numbers:
        heads = old.value - old.numbers - _GENERIC - MONTHS
        others = new.value - new.numbers - _GENERIC - MONTHS
        if old.numbers == new.numbers:
            return "supersedes" if announced else "different"
        fits = heads == others or not heads or not others or bool(heads & others)
        if not fits:
            return "supersedes" if announced and old.predicate == new.predicate else "different"
        are_minimums = all(number.endswith("+") for number in old.numbers | new.numbers)
        if "additive" in (old.kind, new.kind) and not are_minimums:
            return "supersedes" if new.is_change else "different"
        return "supersedes"
    are_both_named = old.is_named and new.is_named
    if announced or old.kind == new.kind == "role" or ("role" in (old.kind, new.kind) and are_both_named):
        return "supersedes"
    if "be" in (old.predicate, new.predicate):
        is_slot = old.has_attribute and new.has_attribute and old.is_state == new.is_state
        is_slot = is_slot and (new.is_named or not old.is_named)  # "the lead is Ann", "the lead is sick"
        opposite = any(frozenset((a, b)) in _OPPOSITE_STEMS for a in old.value for b in new.value)
        is_other = is_slot or opposite or are_of_one_type or are_both_named
        return "supersedes" if is_other or _are_alternatives(old, new) else "different"
    if old.predicate == new.predicate == "outcome" and not are_both_named:
        return "supersedes" if old.value & new.value else "different"
    if old.kind == new.kind == "single" or (are_of_one_time and old.kind != "additive"):
        return "supersedes"
    if old.predicate == new.predicate and (old.predicate in TASTES or old.predicate.endswith(" me")):
        are_of_one_kind = old.head == new.head or _are_alternatives(old, new)
        are_of_one_kind |= are_of_one_type and old.predicate not in TASTES  # "answer me in English"
        return "supersedes" if are_of_one_kind or (old.qualifiers and old.qualifiers == new.qualifiers) else "different"
    if old.predicate == new.predicate == "use" and old.qualifiers and old.qualifiers == new.qualifiers:
        return "supersedes"
    return "different"


_CLOCK = LazyRegex(r"\d{1,2}(?:[:.h]\d\d)?(?:am|pm|h|uhr)|\d{1,2}:\d\d")
_CLOCK_WORDS = frozenset("am pm noon midnight uhr mittag mitternacht".split())
_ORDINAL = LazyRegex(r"q[1-4]|\d+(?:st|nd|rd|th)|\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.(?:\d{4})?")
_TIME_TYPES = frozenset(("clock", "day", "duration"))
_TIMES, _SIZES = frozenset(map(stem_word, "second minute hour millisecond".split())), frozenset("kb mb gb tb".split())


def _list_value_types(statement: Statement) -> frozenset[str]:
    """Return what a value is: a time, duration, size, path, port, language or format; empty for other words."""
    value, types = statement.value, set[str]()
    if value & _CLOCK_WORDS or any(map(_CLOCK.fullmatch, value)):
        types.add("clock")
    elif statement.numbers and value & _TIMES:
        types.add("duration")
    elif value & (DAYS | _TIMES) or any(map(_ORDINAL.fullmatch, value)):
        types.add("day")
    types.update(name for name, names in (("language", _LANGUAGES), ("format", _FORMATS)) if value & names)
    if "port" in value:
        types.add("port")
    if value & _SIZES:
        types.add("size")
    if any("/" in word.strip("/") or word.endswith("/") for word in value):
        types.add("path")
    return frozenset(types)


def _have_unlike_values(old: Statement, new: Statement) -> bool:
    """Whether two values answer different questions: "runs in docker", "runs every hour"; "takes 4 minutes", "2 GB"."""
    one, other = _list_value_types(old), _list_value_types(new)
    if one and other:
        return one.isdisjoint(other)
    if "be" in (old.predicate, new.predicate):
        return False
    untyped = new if one else old
    if "path" in one | other:
        return len(untyped.value) > 1  # the name of a folder may stand for its path
    if one or other:
        return not all(map(_is_number, untyped.value))  # "at 9:30", "at 10"
    return False


def _is_same_topic(old: Statement, new: Statement) -> bool:
    """Whether two topics are the same; one of them may have more words only if the new statement announces a change."""
    more = (old.topic | old.topic_ids) - new.topic - new.topic_ids - _GENERIC
    less = (new.topic | new.topic_ids) - old.topic - old.topic_ids - _GENERIC
    # A word of one topic that is in the other's value is no difference: "the port is 8080", "listens on port 9090".
    more, less = more - new.value, less - old.value
    if more and less:
        return False
    shared = old.topic & new.topic or old.topic_ids & new.topic_ids
    if not shared:
        first_person = not old.topic and not new.topic and not old.topic_ids and not new.topic_ids
        return first_person and (
            (old.kind == new.kind == "single" and old.predicate == new.predicate and _are_alternatives(old, new))
            or (new.is_change and (old.predicate == new.predicate or (bool(old.value) and old.value == new.value)))
            or bool(new.numbers and old.numbers != new.numbers and _mask(old.numbers) == _mask(new.numbers))
        )
    if not (more or less or old.topic_ids ^ new.topic_ids):
        return True
    # What holds for "the mock API" or "in staging" need not hold for "the API", and "the old API" is never "the API".
    # "Ann has access to staging" is not about staging.
    is_object = bool(old.subject) and old.subject.isdisjoint(new.topic | new.topic_ids)
    return new.is_change and not is_object and _FORMER_THINGS.isdisjoint(more | less)


def _mask(numbers: frozenset[str]) -> frozenset[str]:
    """Return numbers and names with digits with 0 for each number: "eu-west-1" and "us-east-1" stay different."""
    return frozenset(_DIGITS.sub("0", one) for one in numbers)


def _are_alternatives(old: Statement, new: Statement) -> bool:
    """Whether each value is one name of the same family: "we're hosted on heroku", "… on fly"."""
    both = old.value | new.value
    return len(old.value) == len(new.value) == 1 and any(both <= family for family in _ALTERNATIVE_STEMS)


def _is_outdated(old: Statement, new: Statement) -> bool:
    """Whether the new statement says that the value of the old one no longer holds, or its subject has that role."""
    numbers = frozenset(word for word in new.former if _is_id(word))
    if (numbers or new.former) & old.value:
        return bool(numbers or new.topic or new.predicate != "*" or old.head in new.former)
    is_about_same = new.topic & (old.value if old.predicate else old.topic)
    return bool(is_about_same) and bool(new.former & (old.topic | old.topic_ids))


def _is_conflict(old: Statement, new: Statement) -> bool:
    """Whether both statements name subjects, and these are different."""
    if old.topic_ids - new.topic_ids and new.topic_ids - old.topic_ids - new.former:
        return True
    more = (new.topic | new.topic_ids) - _get_all_words(old) - _GENERIC - new.former
    less = (old.topic | old.topic_ids) - new.topic - new.topic_ids - _GENERIC - new.former - new.value
    return bool(more and less)


def _turn_active(statement: Statement) -> Statement:
    """Return "Bob owns billing" for "billing is owned by Bob", and any other statement as it is."""
    if statement.preposition != "by":
        return statement
    return structs.replace(
        statement,
        topic=statement.value | statement.qualifiers,
        topic_ids=frozenset(),
        predicate=statement.predicate.removesuffix(" by"),
        kind="multiple",
        subject=statement.value,
        value=statement.subject,
        numbers=frozenset(),
    )


def _is_handed_over(old: Statement, new: Statement) -> bool:
    """Whether something that has one owner at a time has a new one: "Tom owns billing", "Bob is on call now"."""
    if old.predicate != new.predicate or old.qualifiers != new.qualifiers or old.is_negated or new.is_negated:
        return False
    if not (old.subject and new.subject and old.value) or old.value != new.value or old.topic_ids | new.topic_ids:
        return False
    if old.predicate in SOLE_OWNERS or not old.value.isdisjoint(_DUTY_STEMS):
        return True
    return new.is_change and (old.predicate in EXCLUSIVE_OWNERS or old.predicate == "be at")


def _is_compatible(old: Statement, new: Statement) -> bool:
    """Whether two predicates can be about the same property of a subject."""
    one, other = old.predicate, new.predicate
    if one == other or "*" in (one, other) or {one, other} == {"be", "role"}:
        return True
    places = {"place", "listen", "be at"}
    if {one, other} <= places:
        return True
    if "be" in (one, other) or not one or not other:
        return bool(old.numbers and new.numbers)
    return {one, other} <= places | {"use"} and bool(old.numbers and new.numbers)


def _is_same(old: Statement, new: Statement, text: str, other: str, similarity: float) -> bool:
    if old.is_negated != new.is_negated or _list_facts(old) != _list_facts(new) or not _has_same_roles(text, other):
        return False
    names = [word for word in text.split()[1:] if any(map(str.isupper, word)) or _is_id(word)]
    if len(names) < 2 and _list_stems(text) and _list_stems(text) == _list_stems(other):
        return True
    if (old.topic, old.value, old.predicate) == (new.topic, new.value, new.predicate) and (old.topic or old.value):
        return True
    return similarity >= _SAME_WORDS and _get_all_words(old) == _get_all_words(new) and len(text) > 3 < len(other)


_ORDERED_WORDS = frozenset("before after with without only except until".split())
"""Prepositions and adverbs whose place matters: "events before users", "only admins can delete"."""
_DECIDING_WORDS = frozenset(
    "all some every each both was were had may might must can could should will would never always up down off".split()
)
"""Words that make another statement wherever they are, although they are stop words or prepositions."""
_PASSIVE = LazyRegex(
    r"^(?P<object>.+?) (?:is|are|was|were|gets?|been) (?:also |always )?(?P<verb>[a-z-]+(?:ed|[nt])) (?P<middle>.*?)\b"
    r"(?:by|from|in|for|with) (?P<agent>.+)$",
    re.I,
)
_OF = LazyRegex(r"\b(?P<thing>[\w-]+(?: point| file| branch| id| name)?) of (?:the |an? )?(?P<owner>[\w.-]+)", re.I)
_BEFORE_PREPOSITION = LazyRegex(rf" (?=(?:{'|'.join(sorted(PREPOSITIONS))}) )", re.I)
_OF_PROJECT = LazyRegex(
    r"\b(?:(?:in|of|for|by) )?(?:this|the|our) (?:project|repo(?:sitory)?|code ?base)\b|\bwe\b", re.I
)


_DAY = LazyRegex(
    r"\b(?P<month>(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*) (?P<day>\d{1,2})(?:st|nd|rd|th)?\b",
    re.I,
)
_NEVER = LazyRegex(r"^(?:(?:please|do|we|you|never|not|always) )+", re.I)
_UNDONE = LazyRegex(
    r"^(?P<object>.+?) (?:(?:must|should) )?(?P<never>never |not |always )?"
    r"(?:be|is|are) (?P<verb>[a-z]+(?:ed|[nt]))(?P<rest>.*)$",
    re.I,
)
"""An order in the passive: "customer emails must never be logged"."""
_SAYS_WHAT_IS = LazyRegex(r"^(?:[\w./:-]+ ){1,4}(?:is|are) (?:(?!than\b)[\w./:-]+ ?){1,4}$", re.I)
_IS_NAMED = LazyRegex(r"^(?P<name>\S+) (?P<copula>is|are) (?P<thing>(?:the|an?) .+)$", re.I)


def _has_same_roles(text: str, other: str) -> bool:
    """Whether the words that two texts share have the same roles: "the cache calls the store" is not the reverse.

    They are in the same order, or a phrase with a preposition is moved to the front, or one text is in the passive, or
    one says of a path what the other calls it.
    """
    plain = [
        _OF_PROJECT.sub(" ", _OF.sub(r"\g<owner> \g<thing>", _strip_edges(_normalize(one)))) for one in (text, other)
    ]
    plain = [_DAY.sub(r"\g<day> \g<month>", one) for one in plain]
    for place, one in enumerate(plain):
        ordered = _UNDONE.match(one)
        start = _normalize_word(_NEVER.sub("", plain[1 - place]).split(" ")[0])
        if ordered and _normalize_word(ordered["verb"]) == start:
            plain[place] = f"{ordered['never'] or ''}{ordered['verb']} {ordered['object']}{ordered['rest']}"
    deciding = [sorted(_DECIDING_WORDS.intersection(one.casefold().split())) for one in plain]
    if deciding[0] != deciding[1]:
        return False
    if all(_SAYS_WHAT_IS.match(one) and len(_extract_ids(_tokenize(one))) == 1 for one in plain):
        return True
    for place, one in enumerate(plain):
        named = _IS_NAMED.match(one)
        if named and _is_id(named["name"]):
            plain[place] = f"{named['thing']} {named['copula']} {named['name']}"
    passive = [_PASSIVE.match(one) for one in plain]
    if (passive[0] is None) != (passive[1] is None):
        place = 0 if passive[0] else 1
        parts = passive[place]
        if parts is not None and _normalize_word(parts["verb"]) in _list_ordered_stems(plain[1 - place]):
            agent, *tail = _BEFORE_PREPOSITION.split(parts["agent"], maxsplit=1)
            plain[place] = " ".join((agent, parts["verb"], parts["object"], parts["middle"], *tail))
    first, second = map(_list_ordered_stems, plain)
    shared = (set(first) & set(second)) | _ORDERED_WORDS
    first, second = ([stem for stem in stems if stem in shared] for stems in (first, second))
    is_fronted = any(one.split() and _is_preposition(one.split()[0]) for one in plain)
    turns = range(len(first)) if is_fronted else (0,)
    return first == second or any(first[at:] + first[:at] == second for at in turns)


def _list_ordered_stems(text: str) -> list[str]:
    """Return the stems of the telling words of a text in order, with the prepositions whose place matters."""
    found: list[str] = []
    for token in _tokenize(text):
        if token.casefold() in _ORDERED_WORDS:
            found.append(token.casefold())
        elif _extract_stems([token]):
            found.append(_normalize_word(token))
    return found


def _list_stems(text: str) -> frozenset[str]:
    """Return the stems of all words of a statement."""
    return _extract_stems(_tokenize(_strip_edges(_normalize(text)))) - {"us", "remind"}


def _differ_in_facts(old: Statement, new: Statement) -> bool:
    """Whether they differ in ids, numbers or negation, or each has a word of topic or value that the other lacks."""
    one, other = _get_all_words(old), _get_all_words(new)
    return old.is_negated != new.is_negated or _list_facts(old) != _list_facts(new) or bool(one - other and other - one)


def _list_facts(statement: Statement) -> frozenset[str]:
    return statement.topic_ids | frozenset(one for one in statement.value if _is_id(one))


def _get_all_words(statement: Statement) -> frozenset[str]:
    return statement.topic | statement.topic_ids | statement.value


def _relate_by_digits(old: str, new: str) -> Relation:
    """Relate texts in scripts without spaces: if they differ only in a number at the end, its value has changed.

    A unit or a copula may follow the number; an ordinal is not a value: "第3次".
    """
    if _DIGITS.sub("0", old) != _DIGITS.sub("0", new):
        return "different"
    one, other = _DIGITS.findall(old), _DIGITS.findall(new)
    return "supersedes" if one[:-1] == other[:-1] and _NUMBER_AT_END.search(old) else "different"


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".!;, ")


_ALTERNATIVE_STEMS = tuple(
    frozenset(map(_normalize_word, family))
    for family in ALTERNATIVES
    if family.isdisjoint(("monday", "daily", "english"))
)
"""Without days, intervals and languages, of which several may hold: "we deploy on Mondays", "… on Thursdays"."""
_FORMATS = next(family for family in map(frozenset, ALTERNATIVES) if "json" in family)
_LANGUAGES = next(family for family in map(frozenset, ALTERNATIVES) if "english" in family)
_OPPOSITE_STEMS = frozenset(frozenset((_normalize_word(a), _normalize_word(b))) for a, b in OPPOSITES)
