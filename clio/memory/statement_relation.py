"""Whether two statements are about the same subject, and whether the later one changes its value.

"The API listens on port 8080" and "… on port 9090" are about one subject whose value changed; "HTTP 404 means …" and
"HTTP 409 means …" are about two. `statement_parser` divides both into topic, predicate and value. A rule that cannot
tell answers "unclear" or "different", so that both statements stay.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from msgspec import structs

from clio.memory.statement_parser import (
    Statement,
    extract_ids,
    extract_stems,
    has_one_subject,
    is_id,
    is_number,
    is_preposition,
    normalize_statement,
    normalize_word,
    parse_statement,
    tokenize_statement,
)
from clio.memory.statement_reader import (
    ADDING_VERBS,
    ALTERNATIVES,
    ATTRIBUTES,
    COUNTERS,
    DAYPARTS,
    DAYS,
    DUTIES,
    EXCLUSIVE_OWNERS,
    EXCLUSIVE_ROLES,
    GENERIC_NOUNS,
    JUDGEMENTS,
    LANGUAGES,
    MONTHS,
    OBJECTS_AT_ONCE,
    OPPOSITES,
    OWNERS,
    PREPOSITIONS,
    SOLE_OWNERS,
    TASTES,
    THINGS,
    TOOL_NOUNS,
    Word,
    find_base_verb,
    have_other_roles,
    is_bound,
    matches,
    may_replace,
    read_said_words,
    read_statement_words,
    split_clauses,
    word_tables,
)
from clio.memory.statement_rewording import says_same
from clio.text.lazy_regex import LazyRegex
from clio.text.similarity import compute_jaccard, extract_distinctive_words
from clio.text.vocabulary import stem_word

Relation = Literal["same", "supersedes", "unclear", "different"]
"""The relation of a later statement to an earlier one.

same: both state the same. supersedes: the later one gives another value to the same subject. unclear: it may be a
paraphrase. different: they are about different subjects.
"""

_SAME_WORDS, _LIKELY_PARAPHRASE = 0.85, 0.50
"""Jaccard indexes of seed 003: from the first one on, two statements are the same; between both, a model may decide."""

_MAX_SENTENCES = 20
_SENTENCE_END = LazyRegex(
    r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bProf\.)(?<!\bSt\.)\s+(?=[^\W\d_a-z])|\n+"
)
_UNCERTAIN = LazyRegex(
    r"\b(?:might|maybe|perhaps|possibly|eventually|someday|for example|e\.g|didn'?t|did not)\b|\?$"
    r"|\bwill\b.* (?:next|later|soon)\b|\bthis (?:week|sprint|month)'s\b",
    re.I,
)
_ADDITION = LazyRegex(
    r"(?<!^)\b(?:also|additionally|in addition|as well|auch|zusätzlich|aussi|également|también|además|também)\b|\btoo$",
    re.I,
)
_NOT_LATIN = LazyRegex(r"[\u0400-\u04ff\u0590-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NUMBER_AT_END = LazyRegex(rf"(?<![第\d])\d+(?:[.,:]\d+)*\s*(?:{COUNTERS})*[。. ]*$", re.I)
_DIGITS = LazyRegex(r"\d+(?:[.,:]\d+)*")
_GENERIC = frozenset(map(normalize_word, GENERIC_NOUNS))
_ATTRIBUTE_STEMS = frozenset(map(normalize_word, ATTRIBUTES))
_THING_STEMS = tuple(frozenset(map(normalize_word, family)) for family in THINGS)
_PROPERTY_STEMS = (_GENERIC | _ATTRIBUTE_STEMS).difference(map(normalize_word, TOOL_NOUNS), *_THING_STEMS)
"""Words of a topic that name a property of a thing, or say little, and no thing."""
_VAGUE_PREDICATES = frozenset(("be", "*", ""))
"""Predicates that do not tell which property a number is of."""
_JUDGEMENT_STEMS = frozenset(map(normalize_word, JUDGEMENTS))
_DAYPART_STEMS = frozenset(map(normalize_word, DAYPARTS))
_MINE, _NOT_MINE = LazyRegex(r"^my\b", re.I), LazyRegex(r"^(?:the|this|its|their)\b", re.I)
_DISTINGUISHING_STEMS = frozenset(
    map(
        normalize_word,
        (
            "old",
            "former",
            "previous",
            "legacy",
            "deprecated",
            "spare",
            "backup",
            "mock",
            "fake",
            "dummy",
            *EXCLUSIVE_ROLES,
        ),
    )
)
"""Adjectives that make another thing of one: "the default limit" is not "the limit"."""
_DUTY_STEMS = frozenset(map(normalize_word, DUTIES))


def relate_statements(old: str, new: str) -> Relation:
    """Return the relation of a later statement to an earlier one of the same kind of memory."""
    if _fold(old) == _fold(new):
        return "same"
    if _NOT_LATIN.search(old) or _NOT_LATIN.search(new):
        return "same" if says_same(old, new) else _relate_by_digits(old, new)
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
    if any(_MINE.match(one) and _NOT_MINE.match(other) for one, other in ((old, new), (new, old))):
        return "different"  # "my name is Uli", "the name is baz"
    old, new = _join_compounds(old, new), _join_compounds(new, old)
    one, other = parse_statement(old), parse_statement(new)
    similarity = compute_jaccard(extract_distinctive_words(old), extract_distinctive_words(new))
    if _is_same(one, other, old, new, similarity) or says_same(old, new):
        return "same"
    relation = _relate_parsed(one, other, similarity)
    names_former = bool(other.former) or other.is_revoked
    if (
        relation == "supersedes"
        and not names_former
        and (
            have_other_roles(*map(read_statement_words, (old, new)))
            or _is_other_property(old, new)
            or (not one.predicate and _is_other_subject(old, new))
        )
    ):
        return "different"
    is_addition = not names_former and _ADDITION.search(new) is not None
    if relation == "supersedes" and (is_addition or _UNCERTAIN.search(new)):
        return "different"  # "the API uses Kafka now, too", "the API might move to port 90"
    if relation == "supersedes" and not other.is_change and _names_in_order(old, new) != _names_in_order(new, old):
        return "different"  # "Lisbon sends data to Quito on port 90", "Quito sends data to Lisbon on port 91"
    if relation == "different" and similarity >= _LIKELY_PARAPHRASE and not _differ_in_facts(one, other):
        return "unclear"
    return relation


def _is_other_property(old: str, new: str) -> bool:
    """Whether the values that two statements do not have in common cannot be of one property: "9090", "4 replicas"."""
    mine, theirs = read_said_words(old).words, read_said_words(new).words
    come = [word for word in theirs if not any(matches(one, word) for one in mine)]
    gone = [word for word in mine if not any(matches(one, word) for one in theirs)]
    if any(not words and "past" in read_statement_words(text).moods for words, text in ((gone, old), (come, new))):
        return True  # "staging was migrated last year"
    forms = ("number", "version", "time")
    are_numbers = all(any(word.form in forms for word in words) for words in (come, gone))
    for words, others in ((come, gone), (gone, come)):
        is_measured = any(word.unit for word in words)
        if are_numbers and is_measured and any(word.key in word_tables().attributes for word in others):
            return True  # "answers within 200 ms", "the port is 9090"
    if any(not any(matches(word, one) for one in mine) for word in theirs if _narrows(word, new)):
        return True  # "the upload limit for admins is 50 MB", "the debug port of the API is 9229"
    return (are_numbers and is_bound(old) and not is_bound(new)) or not may_replace(
        _find_value(come, new, are_numbers), _find_value(gone, old, are_numbers)
    )


_NARROWING = LazyRegex(r"\bfor (?:(?:the|our|all) )?$", re.I)


def _narrows(word: Word, text: str) -> bool:
    """Whether a word says which of several values of one property is meant: "debug port", "for admins"."""
    if word.form != "word" or normalize_word(word.text) not in parse_statement(text).topic:
        return False
    behind = re.match(r" ([a-z]+)\b", text[word.end :])
    return _NARROWING.search(text[: word.start]) is not None or bool(
        behind and normalize_word(behind[1]) in _ATTRIBUTE_STEMS
    )


def _is_other_subject(old: str, new: str) -> bool:
    """Whether two statements say the same of two subjects, of which both may be true: "Berlin hat ein Gateway"."""
    mine, theirs = read_statement_words(old), read_said_words(new)
    if not mine.words or not theirs.words or has_one_subject(mine, theirs):
        return False
    firsts = mine.words[0], theirs.words[0]
    are_first = all(len(one.text[: first.start].split()) < 2 for one, first in zip((mine, theirs), firsts, strict=True))
    return are_first and not any(matches(firsts[0], word) for word in theirs.words)


def _find_value(words: Sequence[Word], text: str, is_number: bool) -> list[Word]:
    """Return the first number or name, with the words next to it up to the end of its clause; all words if none is."""
    forms = ("number", "version", "time") if is_number else ("number", "version", "time", "name", "proper")
    start = next((place for place, word in enumerate(words) if word.form in forms), None)
    if start is None:
        return list(words)
    end = start + 1
    stop = next((stop for begin, stop in split_clauses(text) if begin <= words[start].start < stop), len(text))
    while start and words[start - 1].form in ("name", "proper") and words[start].start - words[start - 1].end <= 1:
        start -= 1
    while end < len(words) and words[end].start - words[end - 1].end <= 1 and words[end].start < stop:
        end += 1
    return list(words[start:end])


def _names_in_order(text: str, other: str) -> list[str]:
    """Return the proper names of a text that another one has, too."""
    known = set(other.split())
    return [word for word in text.split() if word[0].isupper() and word in known]


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


def topic_terms(text: str) -> frozenset[str]:
    """Return the stems and ids by which statements about the same subject are found, whatever value they give it."""
    statement = parse_statement(text)
    return statement.topic | statement.topic_ids | statement.former


def telling_terms(text: str) -> frozenset[str]:
    """Return the stems and ids of topic and value: statements with none of them in common are about other things."""
    statement = parse_statement(text)
    return statement.words | statement.former


def _relate_parsed(old: Statement, new: Statement, similarity: float) -> Relation:
    if new.is_revoked:
        gone = new.topic | new.topic_ids
        is_whole = len(gone) > 1 or bool(new.topic_ids) or gone in (old.value, old.topic)
        return (
            "supersedes"
            if is_whole
            and not old.is_negated
            and gone - _GENERIC <= old.words | {normalize_word(old.predicate or "be")}
            else "different"
        )
    if _is_outdated(old, new) and not _is_conflict(old, new):
        return "supersedes"
    is_judgement = new.value & _JUDGEMENT_STEMS and new.value <= _JUDGEMENT_STEMS | old.value
    if is_judgement and not old.value <= _JUDGEMENT_STEMS:
        return "different"  # "it listens on the wrong port" names no other
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
    verbs = (one.predicate.split(" ")[0] for one in (old, new))
    if new.is_change and old.value == new.value and frozenset(verbs) in _OPPOSITE_STEMS:
        return "supersedes"  # "the build fails on Windows", "the build passes on Windows now"
    if not are_compatible(old, new):
        are_unknown = find_base_verb(old.predicate) is None is find_base_verb(new.predicate)
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
    if old.is_negated and not new.is_change:
        return "different"  # "never push on Fridays", "never push on Mondays"
    if _have_unlike_values(old, new) or _is_other_object(old, new):
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
        is_one_property = old.predicate == new.predicate or not _VAGUE_PREDICATES.isdisjoint(
            (old.predicate, new.predicate)
        )
        fits = heads == others or bool(heads & others) or (is_one_property and not (heads and others))
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
_TIME_TYPES = frozenset(("clock", "day", "daypart", "duration"))
_TIMES, _SIZES = frozenset(map(stem_word, "second minute hour millisecond".split())), frozenset("kb mb gb tb".split())


def _is_other_object(old: Statement, new: Statement) -> bool:
    """Whether someone has one more object, and does not give up the old one: "Mia manages the blog now"."""
    if new.is_instead or old.numbers or new.numbers or old.predicate != new.predicate or not new.subject:
        return False
    is_of_team = "team" in new.subject and new.predicate in OBJECTS_AT_ONCE
    is_plain = not (old.preposition or new.preposition) or old.preposition == new.preposition == "after"
    return is_plain and (is_of_team or new.predicate in OWNERS or new.predicate == "look")


def _list_value_types(statement: Statement) -> frozenset[str]:
    """Return what a value is: a time, duration, size, path, port, language or format; empty for other words."""
    value, types = statement.value, set[str]()
    if value & _CLOCK_WORDS or any(map(_CLOCK.fullmatch, value)):
        types.add("clock")
    elif statement.numbers and value & _TIMES:
        types.add("duration")
    elif value & (DAYS | _TIMES) or any(map(_ORDINAL.fullmatch, value)):
        types.add("day")
    types.update(name for name, names in (("language", LANGUAGES), ("format", _FORMATS)) if value & names)
    if "port" in value:
        types.add("port")
    if value & _DAYPART_STEMS:
        types.add("daypart")
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
        return not all(map(is_number, untyped.value))  # "at 9:30", "at 10"
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
        return _are_of_one_thing(old, new)
    # What holds for "the mock API" or "in staging" need not hold for "the API", and "the old API" is never "the API".
    # "Ann has access to staging" is not about staging.
    is_object = bool(old.subject) and old.subject.isdisjoint(new.topic | new.topic_ids)
    is_related = new.is_change and not is_object and _DISTINGUISHING_STEMS.isdisjoint(more | less)
    return is_related and _are_of_one_thing(old, new) and _have_like_values(old, new)


def _have_like_values(old: Statement, new: Statement) -> bool:
    """Whether two values may be of one property: "Node 20" and "otter-1" are not, "8080" and "port 9090" are."""
    if old.is_negated != new.is_negated or old.value & new.value or _are_alternatives(old, new):
        return True
    if _list_value_types(old) & _list_value_types(new):
        return True
    if not (old.numbers and new.numbers):
        is_alike = old.predicate == new.predicate and old.kind == new.kind != "multiple"
        is_alike = is_alike and not (old.is_state or new.is_state)
        return is_alike and not (old.numbers or new.numbers)
    one, other = old.value - old.numbers - _GENERIC, new.value - new.numbers - _GENERIC
    return one == other


def _are_of_one_thing(old: Statement, new: Statement) -> bool:
    """Whether two statements that share a word may be about one thing: "payments server", but not "payments bucket"."""
    one, other = (statement.words & _ATTRIBUTE_STEMS for statement in (old, new))
    if one and other and one.isdisjoint(other):
        return False
    one, other = old.topic - new.words - _PROPERTY_STEMS, new.topic - old.words - _PROPERTY_STEMS
    if one and other:
        return any(one | other <= family for family in _THING_STEMS)
    is_left_out = one | other <= _THING_STEMS[0]  # "the billing service", "billing"
    return is_left_out or not old.topic & new.topic or _have_like_values(old, new)


def _mask(numbers: frozenset[str]) -> frozenset[str]:
    """Return numbers and names with digits with 0 for each number: "eu-west-1" and "us-east-1" stay different."""
    return frozenset(_DIGITS.sub("0", one) for one in numbers)


def _are_alternatives(old: Statement, new: Statement) -> bool:
    """Whether each value is one name of the same family: "we're hosted on heroku", "… on fly"."""
    both = old.value | new.value
    return len(old.value) == len(new.value) == 1 and any(both <= family for family in _ALTERNATIVE_STEMS)


def _is_outdated(old: Statement, new: Statement) -> bool:
    """Whether the new statement says that the value of the old one no longer holds, or its subject has that role."""
    numbers = frozenset(word for word in new.former if is_id(word))
    if (numbers or new.former) & old.value:
        return bool(numbers or new.topic or new.predicate != "*" or old.head in new.former)
    is_about_same = new.topic & (old.value if old.predicate else old.topic)
    return bool(is_about_same) and bool(new.former & (old.topic | old.topic_ids))


def _is_conflict(old: Statement, new: Statement) -> bool:
    """Whether both statements name subjects, and these are different."""
    if old.topic_ids - new.topic_ids and new.topic_ids - old.topic_ids - new.former:
        return True
    more = (new.topic | new.topic_ids) - old.words - _GENERIC - new.former
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
    if not (old.subject and new.subject and old.value) or old.value != new.value:
        return False
    if old.predicate not in SOLE_OWNERS and old.topic_ids | new.topic_ids:
        return False
    is_duty = old.predicate != "place" and not old.value.isdisjoint(_DUTY_STEMS)  # "the alerts go to #oncall"
    if old.predicate in SOLE_OWNERS or is_duty:
        return True
    is_on_call = old.predicate == "be at" and "call" in old.value
    return new.is_instead or (new.is_change and (old.predicate in EXCLUSIVE_OWNERS or is_on_call))


def are_compatible(old: Statement, new: Statement) -> bool:
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
    if old == new and old.predicate == "exist" and old.numbers:
        return True  # "there are 3 replicas of the cluster", "the cluster has 3 replicas"
    if {old.predicate, new.predicate} == {"be", "role"} and (old.topic, old.value) == (new.topic, new.value):
        return old.is_negated == new.is_negated  # "the manager is Kofi", "Kofi is the manager"
    if old.is_negated != new.is_negated or _list_facts(old) != _list_facts(new) or not _has_same_roles(text, other):
        return False
    names = [word for word in text.split()[1:] if any(map(str.isupper, word)) or is_id(word)]
    if len(names) < 2 and _list_stems(text) and _list_stems(text) == _list_stems(other):
        return True
    if (old.topic, old.value, old.predicate) == (new.topic, new.value, new.predicate) and (old.topic or old.value):
        return True
    return similarity >= _SAME_WORDS and old.words == new.words and len(text) > 3 < len(other)


_ORDERED_WORDS = frozenset("before after with without only except until".split())
"""Prepositions and adverbs whose place matters: "events before users", "only admins can delete"."""
_DECIDING_WORDS = frozenset(
    "all some every each both least most was were had may might must can could should will would never always up down "
    "off".split()
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
    plain = [_OF_PROJECT.sub(" ", _OF.sub(r"\g<owner> \g<thing>", normalize_statement(one))) for one in (text, other)]
    plain = [_DAY.sub(r"\g<day> \g<month>", one) for one in plain]
    for place, one in enumerate(plain):
        ordered = _UNDONE.match(one)
        start = normalize_word(_NEVER.sub("", plain[1 - place]).split(" ")[0])
        if ordered and normalize_word(ordered["verb"]) == start:
            plain[place] = f"{ordered['never'] or ''}{ordered['verb']} {ordered['object']}{ordered['rest']}"
    deciding = [sorted(_DECIDING_WORDS.intersection(one.casefold().split())) for one in plain]
    if deciding[0] != deciding[1]:
        return False
    if all(_SAYS_WHAT_IS.match(one) and len(extract_ids(tokenize_statement(one))) == 1 for one in plain):
        return True
    for place, one in enumerate(plain):
        named = _IS_NAMED.match(one)
        if named and is_id(named["name"]):
            plain[place] = f"{named['thing']} {named['copula']} {named['name']}"
    passive = [_PASSIVE.match(one) for one in plain]
    if (passive[0] is None) != (passive[1] is None):
        place = 0 if passive[0] else 1
        parts = passive[place]
        if parts is not None and normalize_word(parts["verb"]) in _list_ordered_stems(plain[1 - place]):
            agent, *tail = _BEFORE_PREPOSITION.split(parts["agent"], maxsplit=1)
            plain[place] = " ".join((agent, parts["verb"], parts["object"], parts["middle"], *tail))
    first, second = map(_list_ordered_stems, plain)
    shared = (set(first) & set(second)) | _ORDERED_WORDS
    first, second = ([stem for stem in stems if stem in shared] for stems in (first, second))
    is_fronted = any(one.split() and is_preposition(one.split()[0]) for one in plain)
    turns = range(len(first)) if is_fronted else (0,)
    return first == second or any(first[at:] + first[:at] == second for at in turns)


def _list_ordered_stems(text: str) -> list[str]:
    """Return the stems of the telling words of a text in order, with the prepositions whose place matters."""
    found: list[str] = []
    for token in tokenize_statement(text):
        if token.casefold() in _ORDERED_WORDS:
            found.append(token.casefold())
        elif extract_stems([token]):
            found.append(normalize_word(token))
    return found


def _list_stems(text: str) -> frozenset[str]:
    """Return the stems of all words of a statement."""
    return extract_stems(tokenize_statement(normalize_statement(text))) - {"us", "remind"}


def _differ_in_facts(old: Statement, new: Statement) -> bool:
    """Whether they differ in ids, numbers or negation, or each has a word of topic or value that the other lacks."""
    one, other = old.words, new.words
    return old.is_negated != new.is_negated or _list_facts(old) != _list_facts(new) or bool(one - other and other - one)


def _list_facts(statement: Statement) -> frozenset[str]:
    return statement.topic_ids | frozenset(one for one in statement.value if is_id(one))


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
    frozenset(map(normalize_word, family))
    for family in ALTERNATIVES
    if family.isdisjoint(("monday", "daily", "english"))
)
"""Without days, intervals and languages, of which several may hold: "we deploy on Mondays", "… on Thursdays"."""
_FORMATS = next(family for family in map(frozenset, ALTERNATIVES) if "json" in family)
_OPPOSITE_STEMS = frozenset(frozenset((normalize_word(a), normalize_word(b))) for a, b in OPPOSITES)
