"""The words and phrases by which statements are parsed and compared, from `statement_words.json`."""

from pathlib import Path

import msgspec
from msgspec import Struct

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
CHANGE_DE, CHANGE_FR, CHANGE_ES_PT = map(_TABLES.phrase, ("change_de", "change_fr", "change_es_pt"))
"""Participles and verbs of change in other languages."""
REVOKED = _TABLES.phrase("revoked")
"""Participles that say that something no longer exists."""
LEADS = rf"(?:{_TABLES.phrase('leads')})\b[\s,:;.!–—-]*"
"""Introductions that are not part of a statement."""
TAILS = rf"[\s,]*\b(?:{_TABLES.phrase('tails')})$"
"""Endings that are not part of a statement."""
COUNTERS = _TABLES.phrase("counters")
"""Units that may follow a number in scripts without spaces."""

PREPOSITIONS = _TABLES.word_set("prepositions")
LOCATIVE = _TABLES.word_set("locative")
AGENTIVE = _TABLES.word_set("agentive")
STOP_WORDS = _TABLES.word_set("stop_words")
"""Words that do not distinguish subjects."""
GENERIC_NOUNS = _TABLES.word_set("generic_nouns")
"""Nouns that only one of two statements about the same subject may contain."""
THINGS = tuple(frozenset(family.split()) for family in _TABLES.words["things"])
"""Families of nouns that may name one thing: "the billing service", "the billing app"."""
JUDGEMENTS = _TABLES.word_set("judgements")
"""Words that judge something, and are no value of it: "the port is wrong"."""
DAYPARTS = _TABLES.word_set("dayparts")
ATTRIBUTES = _TABLES.word_set("attributes")
"""Attributes that have one value at a time, so that another word after "is" is a new value."""
TOOL_NOUNS = _TABLES.word_set("tool_nouns")
"""Kinds of tools, each of which a project has one of: "the mail server is exim"."""
GENERIC_TOOLS = _TABLES.word_set("generic_tools")
"""Those of them of which a project has several, so that another word must say which: "mail" in "the mail server"."""
ADJECTIVES = _TABLES.word_set("adjectives")
"""Words that say how a tool is, and do not name it. Names of tools that are adjectives, too, are left out: "swift"."""
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
OWNERS = EXCLUSIVE_OWNERS | {"support"}
"""Verbs of people who may have several objects at a time: "Mia manages the shop", "Mia manages the blog now"."""
OBJECTS_AT_ONCE = _TABLES.word_set("objects_at_once")
"""Verbs with one place but several objects at a time: "Ann owns billing", "Ann owns search"."""
TASTES = _TABLES.word_set("tastes")
"""Verbs with several objects at a time, of which two of one kind exclude each other: "prefers vim", "… emacs"."""
MONTHS = _TABLES.word_set("months")
"""English names of months, and their short forms."""
DAYS = frozenset(map(stem_word, _TABLES.word_set("days"))) | _TABLES.word_set("days") | MONTHS
"""Words of days and of how often something happens."""

SYNONYMS = _TABLES.maps["synonyms"]
NUMBER_WORDS = _TABLES.maps["numbers"]
IRREGULAR = _TABLES.maps["irregular"]
PREDICATE_GROUPS = _TABLES.maps["predicate_groups"]
"""Groups of verbs with the same meaning in statements."""
OPPOSITES = tuple((one, other) for one, other in map(str.split, _TABLES.opposites))
ALTERNATIVES = tuple(frozenset(family.split()) for family in _TABLES.alternatives)
"""Names that usually replace each other: "we switched to pnpm" corrects "we use npm"."""
_FAMILIES = {name: family for family in reversed(ALTERNATIVES) for name in family}
LANGUAGES = next(family for family in map(frozenset, ALTERNATIVES) if "english" in family)
"""The family with the names of languages."""


def find_family(name: str) -> frozenset[str]:
    """Return the first family of `ALTERNATIVES` that has this name, in lower case; empty if none has."""
    return _FAMILIES.get(name, frozenset())
