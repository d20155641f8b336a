"""Read the words of a statement or of a sentence in a conversation that tell its subject and its value.

Articles, forms of "to be" and verbs that only tell how a value belongs to its subject ("listens on", "is owned by") are
left out; of a sentence also what introduces or comments it: "no wait", "I looked it up". No grammar is needed, so that
one table, `statement_reader.json`, does for seven languages. The words and phrases of `statement_words.json` are also
those by which `statement_parser` and `statement_relation` parse and compare statements.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import NO_TITLE, stem_word


class _Tables(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `statement_words.json`.

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


_TABLES = msgspec.json.decode(Path(__file__).with_name("statement_words.json").read_bytes(), type=_Tables)

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
SHARED_STATES = _TABLES.word_set("shared_states")
"""Verbs of what several people or things have or do at a time, as in "Berlin has a gateway", in their forms."""
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


_VERBS = SINGLE_VERBS | MULTIPLE_VERBS | ADDITIVE_VERBS


def find_base_verb(token: str) -> str | None:
    """Return the base form of a verb in the tables; None for any other word."""
    if token in IRREGULAR:
        return IRREGULAR[token]
    for form in (token, token[:-1], token[:-2], f"{token[:-3]}y", token[:-3]):
        ends = token[len(form) :] if token.startswith(form) else token[-3:]
        if form in _VERBS and ends in ("", "s", "es", "ed", "d", "ies", "ied", form[-1:] + "ed"):
            return form
    return None


Form = Literal["time", "version", "number", "name", "proper", "cjk", "word"]

CJK = r"\u3041-\u30ff\u3400-\u9fff々"
_TOKEN = re.compile(
    r"(?P<numeral>[一二三四五六七八九十百千万]{2,})|(?P<kanji>[\u3400-\u9fff々])|(?P<katakana>[\u30a1-\u30fa\u30fc]+)"
    r"|[\u3041-\u309f・]+"
    rf"|(?P<word>(?:(?<!\w)-(?=[\da-z])|[~#@./]+(?=\w))?[^\W{CJK}]+(?:[-.:,/@#+'’]+[^\W{CJK}]+)*[%+#/]*)"
)
_ELISION = re.compile(r"(?:[cdjlmnst]|qu)['’](?=\w)", re.I)
_CONTRACTION = re.compile(r"(?P<not>n['’]t)$|['’](?:s|re|ve|ll|m|d)$", re.I)
_EMOJI = re.compile(r"[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d]+")
_IDENTIFIER = re.compile(
    r"[~.@#]?/?[\w-]*(?:[./_@:-]+\w[\w-]*)+/?|[#@]\w[\w-]*|-+\w[\w-]*|[a-z]+\d+\w*|\w*[a-z]\w*[A-Z]\w*|[\w-]+/|[a-z]\w*_|\d+[a-zA-Z]\w*"
)
_CLAUSE_END = re.compile(rf"\s*[,;–—()（），、。]\s*|:\s+|\s-\s|{NO_TITLE}\.\s+")


class WordSet(frozenset[str]):
    """Words, separated by spaces in the file."""


class StemSet(frozenset[str]):
    """The stems of words."""


class WordKinds(dict[str, str]):
    """By word, its kind; in the file by kind, the words."""


class Synonyms(dict[str, str]):
    """By stem, the stem of the first word of its family."""


class WordTables(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """The content of `statement_reader.json`, of all languages together: a short sentence does not show its language.

    Attributes:
        linking: words that say nothing of a subject or a value.
        relations: words that tell how a value belongs to its subject, by the kind of relation, or the kinds it may be.
        generic: nouns that only one of two statements about one thing may have.
        units: units behind a number, by what they measure.
        fillers: words of a conversation that say nothing of what it is about.
        negations: words that make a statement deny something.
        moods: words that permit, demand or tell the past.
        attributes: words that name what the value is, such as "port", at whatever place.
        nouns: words of relations that tell which part of a statement is the value: "walnut is the name of the db".
        ended: clauses that say what no longer holds.
        passives: words before who does something.
        canonical: phrases with one meaning, and the word to read instead.
        causes: whole statements with the groups `cause` and `effect`, by whatever words they are joined.
        rewritten: phrases with one meaning, and what to read instead when two statements are compared.
        implied: words that say no more than a unit or noun of the statement does, by these units and nouns: tests
            "take", "need" or "last" 4 minutes.
        synonyms: families of words with one meaning.
        clefts: words that move a value to the beginning: "8787 is what the relay uses".
        sources: phrases that say where the user knows it from, or when it happened.
        dropped_starts: the first words of clauses that say since when it is so.
        doubts: searched anywhere; a sentence with one of them says nothing for certain.
        leads, weak_leads, tails: words before and after a corrected value; weak ones correct nothing.
        signs, corrected: words that announce another value, or say that one was wrong, wherever they are.
        remarks: clauses about how the user learned of it.
        denied, denied_before: words before and behind a value that no longer holds.
        denials: words before a value that does not hold if the sentence gives another one.
        bounds: words that say how large something may be.
    """

    linking: WordSet
    relations: WordKinds
    generic: WordSet
    units: WordKinds
    fillers: WordSet
    negations: WordSet
    moods: WordKinds
    attributes: StemSet
    nouns: WordSet
    ended: re.Pattern[str]
    passives: WordSet
    canonical: tuple[tuple[re.Pattern[str], str], ...]
    causes: tuple[LazyRegex, ...]
    rewritten: tuple[tuple[LazyRegex, str], ...]
    implied: dict[str, str]
    synonyms: Synonyms
    clefts: WordSet
    sources: re.Pattern[str]
    dropped_starts: re.Pattern[str]
    doubts: re.Pattern[str]
    leads: re.Pattern[str]
    weak_leads: re.Pattern[str]
    tails: re.Pattern[str]
    signs: re.Pattern[str]
    corrected: re.Pattern[str]
    remarks: re.Pattern[str]
    denied: re.Pattern[str]
    denied_before: re.Pattern[str]
    denials: re.Pattern[str]
    bounds: re.Pattern[str]

    @cached_property
    def lead(self) -> re.Pattern[str]:
        """All words before a corrected value."""
        either = f"{self.leads.pattern}|{self.weak_leads.pattern}"
        return re.compile(rf"(?:(?:{either})(?:[\s,.:;!–—…，、：。！]|-(?!\d))*)+", re.I)

    @cached_property
    def tail(self) -> re.Pattern[str]:
        """All words behind a corrected value."""
        return re.compile(rf"(?:(?<=.)[\s,.;–—-]*(?:{self.tails.pattern}))+[\s.!。！]*$", re.I)

    @cached_property
    def linking_cjk(self) -> re.Pattern[str]:
        """Words of `linking` and `relations` in scripts without spaces."""
        return _compile_cjk((*self.linking, *self.relations))

    @cached_property
    def fillers_cjk(self) -> re.Pattern[str]:
        """Words of `fillers` in scripts without spaces."""
        return _compile_cjk(self.fillers)


def _compile_cjk(words: Iterable[str]) -> re.Pattern[str]:
    known = [word for word in words if re.match(f"[{CJK}]", word)]
    return re.compile("|".join(sorted(known, key=len, reverse=True)))


def _decode_table(kind: Any, content: Any) -> Any:
    """Return a field of `WordTables`. Whole words match the lines of a list, except in scripts without spaces."""
    if kind is LazyRegex:
        return LazyRegex(content, re.I)
    if kind is WordKinds:
        return WordKinds((word, name) for name, line in content.items() for word in line.split())
    if kind is Synonyms:
        return Synonyms((_stem(word), _stem(line.split()[0])) for line in content for word in line.split())
    if kind in (WordSet, StemSet):
        words = (content if isinstance(content, str) else " ".join(content)).split()
        return kind(map(_stem, words) if kind is StemSet else words)
    if isinstance(content, str):
        return re.compile(content, re.I)
    unspaced = [line for line in content if re.search(f"[{CJK}]", line)]
    spaced = "|".join(line for line in content if line not in unspaced)
    return re.compile("|".join((rf"(?<!\w)(?:{spaced})(?!\w)", *unspaced)), re.I)


@cache
def word_tables() -> WordTables:
    """Return the content of `statement_reader.json`. Cached."""
    content = Path(__file__).with_suffix(".json").read_bytes()
    return msgspec.json.decode(content, type=WordTables, dec_hook=_decode_table)


class Word(Struct, frozen=True, kw_only=True):
    """A word of a statement that is part of its subject or value.

    Attributes:
        text: as written.
        start, end: its place in the statement.
        key: for comparison, without case and ending.
        form: what it looks like.
        unit: what the unit behind a number measures; `whole` ends behind it.
        is_denied: whether the sentence says that this no longer holds.
    """

    text: str
    start: int
    end: int
    key: str
    form: Form
    unit: str = ""
    whole: int = 0
    is_denied: bool = False


class Words(Struct, frozen=True, kw_only=True):
    """The words of a statement or sentence.

    Attributes:
        relations: how the value belongs to the subject.
        negations: places of words such as "not", "only" and "than".
        moods: whether the statement permits, demands, or is about the past.
        is_cleft: whether a word such as "what" or "by" tells that the value is not where it would be.
        has_noun: whether a noun such as "name" or "owner" tells which part is the value.
        is_corrected: whether it says that the former value was wrong.
    """

    text: str
    words: tuple[Word, ...]
    relations: frozenset[str]
    negations: tuple[int, ...]
    moods: frozenset[str]
    is_cleft: bool = False
    has_noun: bool = False
    is_corrected: bool = False


def _blank(found: re.Match[str]) -> str:
    """Return spaces in place of a match, except for what its group `kept` has."""
    kept = found["kept"] if "kept" in found.re.groupindex else None
    if kept is None:
        return " " * len(found[0])
    start, end = found.span("kept")
    return f"{' ' * (start - found.start())}{kept}{' ' * (found.end() - end)}"


@lru_cache(maxsize=4_096)
def read_statement_words(text: str) -> Words:
    """Return the words of a statement. Cached."""
    return _read_words(text, text, ())


@lru_cache(maxsize=4_096)
def read_reworded(text: str) -> Words:
    """Return the words of a statement in which phrases with one meaning are one, and an effect precedes its cause.

    Their places are not those in the text. Cached.
    """
    tables = word_tables()
    text = text.rstrip(" .!。！")
    for pattern in tables.causes:
        if found := pattern.match(text):
            parts = {name: part.strip() for name, part in found.groupdict(default="").items()}
            effect, cause = (f"{parts[name]}{parts.get(f'{name}2', '')}" for name in ("effect", "cause"))
            text = f"{effect} {parts.get('verb', '')} because {cause}"
            break
    for pattern, instead in tables.rewritten:
        text = pattern.sub(instead, text)
    return read_statement_words(text)


def find_implied(mine: Words, theirs: Words) -> frozenset[str]:
    """Return the keys of words that say no more than a unit or noun that both statements have."""
    one, other = (
        {name for word in words.words for name in (word.key, f"unit:{word.unit}", f"form:{word.form}")}
        for words in (mine, theirs)
    )
    return frozenset(key for names, keys in _list_implied() if names & one & other for key in keys)


@cache
def _list_implied() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple(
        (frozenset((*nouns.split(), *map(get_key, nouns.split()))), frozenset(map(get_key, words.split())))
        for nouns, words in word_tables().implied.items()
    )


@lru_cache(maxsize=256)
def read_said_words(sentence: str) -> Words:
    """Return the words of a sentence of a conversation, without those that introduce or comment it. Cached."""
    text, is_corrected = _strip_tail(sentence)
    if lead := word_tables().lead.match(text):
        sign = word_tables().leads.search(text)
        is_sign = sign is not None and sign.start() < lead.end() and not word_tables().denials.fullmatch(sign[0])
        is_corrected = is_corrected or is_sign or word_tables().leads.search(lead[0]) is not None
        text = f"{' ' * lead.end()}{text[lead.end() :]}"
    tables = word_tables()
    text = tables.sources.sub(_blank, text)
    for start, end in split_clauses(text):
        clause = text[start:end]
        if end < len(text) and tables.dropped_starts.match(clause.lstrip()):
            text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    denied = [(found.end(), _end_of_clause(text, found.end())) for found in tables.denied.finditer(text)] + [
        (_start_of_clause(text, found.start()), found.start()) for found in tables.denied_before.finditer(text)
    ]
    clauses = split_clauses(text)
    ended = [span for span in clauses if tables.ended.search(text[slice(*span)])] if len(clauses) > 1 else []
    denied += ended
    has_remark = any(tables.remarks.match(text[slice(*span)].lstrip()) for span in clauses)
    is_corrected = is_corrected or has_remark or bool(denied) or tables.corrected.search(text) is not None
    text = tables.fillers_cjk.sub(lambda found: "，" * len(found[0]), text)
    for pattern in (tables.denied, tables.denied_before, tables.corrected, tables.signs):
        text = pattern.sub(_blank, text)
    words = _read_words(text, sentence, tables.fillers)
    return structs.replace(
        words,
        negations=tuple(at for at in words.negations if not any(start <= at < end for start, end in ended)),
        words=tuple(
            structs.replace(word, is_denied=any(start <= word.start < end for start, end in denied))
            for word in words.words
        ),
        is_corrected=is_corrected,
    )


def _strip_tail(sentence: str) -> tuple[str, bool]:
    """Return a sentence with spaces in place of its ending, and whether it has one that says what was wrong."""
    text = _EMOJI.sub(_blank, sentence.replace("’", "'"))
    tail = word_tables().tail.search(text)
    return (f"{text[: tail.start()]}{' ' * len(tail[0])}", True) if tail else (text, False)


_CLAUSE_START = re.compile(
    rf"{_CLAUSE_END.pattern}|\s(?:and|that|so|because|und|dass|weil|et|que|car|y|porque|e)\s", re.I
)


def split_clauses(text: str) -> list[tuple[int, int]]:
    """Return start and end of each clause of a sentence."""
    ends = [found.span() for found in _CLAUSE_START.finditer(text)]
    starts, stops = [0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)]
    return [(start, stop) for start, stop in zip(starts, stops, strict=True) if text[start:stop].strip()]


_END_OF_DENIAL = re.compile(
    rf"{_CLAUSE_END.pattern}|\s(?:with|by|for|to|and|but|as|in fav|durch|mit|und|auf|gegen|vers|par|pour|et|por"
    r"|pel[oa]s?|para|con|com|y|e)\b"
)


def _end_of_clause(text: str, start: int) -> int:
    found = _END_OF_DENIAL.search(text, start + 1)
    return found.start() if found else len(text)


def _start_of_clause(text: str, end: int) -> int:
    return max((found.end() for found in _CLAUSE_END.finditer(text, 0, end)), default=0)


def _read_words(text: str, original: str, fillers: Collection[str]) -> Words:
    """Return the words of a sentence without those of `fillers`. text: with spaces for what does not count."""
    tables = word_tables()
    relations: set[str] = set()
    for pattern, word in tables.canonical:
        text = pattern.sub(lambda found, word=word: word.ljust(len(found[0]))[: len(found[0])], text)
    dropped = tables.linking_cjk.findall(text)
    relations.update(" ".join(tables.relations.get(word, "") for word in dropped).split())
    has_noun = not tables.nouns.isdisjoint(dropped)
    is_cleft = not tables.clefts.isdisjoint(dropped) or not {"由", "的"}.isdisjoint(dropped)
    text = tables.linking_cjk.sub(_blank, text)
    words: list[Word] = []
    negations: list[int] = []
    moods: set[str] = set()
    folded = ""
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        if found.lastgroup != "word":
            if found[0] in tables.negations or "ない" in found[0] or "なく" in found[0]:
                negations.append(start)
            if words and found[0] in tables.units and _may_be_measured(words[-1]) and start - words[-1].end <= 1:
                words[-1] = structs.replace(words[-1], form="number", unit=tables.units[found[0]], whole=end)
            elif found.lastgroup:
                form: Form = "number" if found.lastgroup == "numeral" else "cjk"
                words.append(Word(text=found[0], start=start, end=end, key=found[0], form=form))
            continue
        if elided := _ELISION.match(text, start, end):
            start = elided.end()
        if short := _CONTRACTION.search(text, start, end):
            negations += [start] if short["not"] else []
            end = short.start()
        before, folded = folded, text[start:end].casefold()
        is_acronym = end - start > 1 and text[start:end].isupper() and not text.isupper()  # "MIT" is no German "mit"
        is_name = is_acronym or (text[start].isupper() and re.match(f"[{CJK}]", text[end:]) is not None)  # "Goは1.22"
        is_name = is_name or (
            before in _ARTICLES_BEFORE_NAMES and folded not in _NO_NAMES and text[end : end + 2].strip().isalnum()
        )
        if mood := tables.moods.get(folded):
            moods.add(mood)
        has_noun = has_noun or folded in tables.nouns
        is_cleft = is_cleft or folded in tables.clefts or folded in tables.passives
        if folded in tables.negations:
            negations.append(start)
        elif not folded or (folded in tables.linking and not is_name) or folded in fillers:
            continue
        elif folded in tables.units and words and _may_be_measured(words[-1]) and not words[-1].unit:
            words[-1] = structs.replace(words[-1], form="number", unit=tables.units[folded], whole=end)
        elif kind := tables.relations.get(folded):
            relations.update(kind.split())
        else:
            words.append(_make_word(text[start:end], start, end))
    return Words(
        text=original,
        words=tuple(words),
        relations=frozenset(relations),
        negations=tuple(negations),
        moods=frozenset(moods),
        has_noun=has_noun,
        is_cleft=is_cleft,
    )


def _may_be_measured(word: Word) -> bool:
    """Whether a unit may follow: "44.1", which alone may be a version, too."""
    return word.form == "number" or re.fullmatch(r"\d+\.\d+", word.text) is not None


def _make_word(token: str, start: int, end: int) -> Word:
    joined = re.fullmatch(r"-?\d[\d.,]*(?P<unit>[A-Za-z%]{1,3})", token)
    unit = word_tables().units.get(joined["unit"].casefold(), "") if joined else ""
    form = "number" if unit else _get_form(token)
    return Word(text=token, start=start, end=end, key=get_key(token), form=form, unit=unit)


_ARTICLES_BEFORE_NAMES = frozenset("the an our my your their its".split())
_NO_NAMES = frozenset("one ones that this those of is was are who which".split())
"""Words that are no names between an English article and a noun, as others are: "the us warehouse", "the os image"."""
_NO_NUMBERS = frozenset(("one", "a", "an", "once", "single"))


def _get_form(token: str) -> Form:
    if re.fullmatch(r"\d{1,2}:\d\d(?::\d\d)?|\d{1,2}(?:am|pm|h(?:\d\d)?)", token, re.I):
        return "time"
    if token.casefold() in NUMBER_WORDS and token.casefold() not in _NO_NUMBERS:
        return "number"
    if re.fullmatch(r"v?\d+(?:\.\d+)+|v\d+", token):
        return "version"
    if re.fullmatch(r"0x[\da-f]+|\d+x\d+|-?\d[\d.,]*%?|\d+(?:st|nd|rd|th)|\d+-\d+", token, re.I):
        return "number"
    if _IDENTIFIER.fullmatch(token):
        return "name"
    return "proper" if token[0].isupper() and len(token) > 1 else "word"


@lru_cache(maxsize=8_192)
def get_key(token: str) -> str:
    """Return the word for comparison: without case and ending, and the first of its family of synonyms."""
    folded = token.casefold()
    if not folded.isalpha():
        return folded
    stem = _stem(folded)
    return word_tables().synonyms.get(stem) or SYNONYMS.get(folded) or SYNONYMS.get(stem) or stem


def _stem(word: str) -> str:
    base = find_base_verb(word) or word
    return stem_word(base) if word.isascii() else base.removesuffix("s")


_GERMAN_ARTICLES = frozenset("der die das dem den des ein eine einen einem einer".split())
_INFLECTIONS = frozenset(
    ",s,es,e,en,n,in,innen,ned,ning,ped,ping,ged,ging,ie,ies,iement,iements,yons,yer,er,or,ors,ure,ures,ers,r,ed,d,ing,ment,ments,ion,ions,ation,ations,ung,ungen,t,te,ten,st,et,ons,ez,ent,é,és,ée,ées,ir"
    ",a,o,as,os,an,am,em,amos,emos,imos,ado,ada,ados,adas,ar,ación,aciones,ação,ações,ção,ções,ción,iones,ión".split(
        ","
    )
)


def matches(one: Word, other: Word) -> bool:
    """Whether two words are the same, or forms of one word: "linting", "lint"."""
    if one.key == other.key:
        return one.form == other.form or "name" not in (one.form, other.form)
    if one.form not in ("word", "proper") or other.form not in ("word", "proper"):
        return False
    mine, theirs = one.text.casefold(), other.text.casefold()
    if mine.removeprefix("ge") == theirs.removeprefix("ge"):
        return True  # "pflegt", "gepflegt"
    unlike = (place for place, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b)
    common = next(unlike, min(len(mine), len(theirs)))
    return any(mine[at:] in _INFLECTIONS and theirs[at:] in _INFLECTIONS for at in range(common, 3, -1))


def may_replace(new: Sequence[Word], gone: Sequence[Word]) -> bool:
    """Whether a value may take the place of another one: a number that of a number, a name that of a name.

    "4 replicas" tells another property than "9090", "Tom reviews" is no name, and "protected" is a state. One plain
    word may be a name, too: "flake8", "ruff".
    """
    if not new or not gone or any(word.form == "cjk" for word in (*new, *gone)):
        return True
    (numbers, names, plain), (former_numbers, former_names, former_plain) = map(_sort_by_form, (new, gone))
    if (plain and numbers + names) or (former_plain and former_numbers + former_names):
        # A verb, or what it counts: "Tom reviews", "supports Python 3.9", "4 replicas".
        return bool(numbers and former_numbers) and _list_counted(new) == _list_counted(gone) != set()
    if bool(numbers) != bool(former_numbers):
        return bool(names and former_names)  # "Go", "Python 3.12"
    units, former_units = ({word.unit for word in words} - {""} for words in (numbers, former_numbers))
    if numbers and (_list_counted(new) != _list_counted(gone) or (units and former_units and not units & former_units)):
        return False
    if any(
        any(word.form == "version" for word in one) and other
        for one, other in ((numbers, former_units), (former_numbers, units))
    ):
        return False  # "3.4", "5 seconds"
    families, former_families = ([find_family(word.text.casefold()) for word in one] for one in (names, former_names))
    if numbers and bool(names) != bool(former_names):
        return False  # "Ubuntu 24", "9090"
    if numbers and any(families + former_families):
        # "Postgres 15" and "MySQL 8", but not "Python 3.11" and "Debian 12"
        return any(family and family in former_families for family in families)
    if (
        names
        and former_names
        and any(_is_proper(one) and _is_handle(other) for one, other in ((names, former_names), (former_names, names)))
    ):
        return False  # "Frankfurt", "stg-1"
    if bool(names) != bool(former_names) and max(len(plain), len(former_plain)) > _MAX_PLAIN:
        return False  # "stg-1", "the password rotates monthly"
    return _is_state(plain) == _is_state(former_plain)


def _is_proper(words: Sequence[Word]) -> bool:
    return all(word.form == "proper" and word.text.isalpha() for word in words)


def _is_handle(words: Sequence[Word]) -> bool:
    """Whether a value is an identifier with a number, a path or a host: "stg-1", "services/a", "shop.acme.dev"."""
    return len(words) == 1 and re.fullmatch(_HANDLE, words[0].text) is not None


_HANDLE = r"[a-z]+[-_]?\d+|[\w.-]*/[\w./-]+|[a-z][\w-]*(?:\.[\w-]+){2,}"


_HOURS = frozenset("noon midnight mittag mitternacht midi minuit mediodía medianoche".split())
_MAX_PLAIN = 2
"""Number of plain words that a name may replace, as in "red fox"."""


def _sort_by_form(words: Sequence[Word]) -> tuple[list[Word], list[Word], list[Word]]:
    """Return the numbers, the names and the plain words."""
    numbers = [word for word in words if word.form in ("number", "version", "time") or word.text.casefold() in _HOURS]
    names = [word for word in words if word.form in ("proper", "name") and word not in numbers]
    return numbers, names, [word for word in words if word.form == "word" and word not in numbers]


def _list_counted(words: Sequence[Word]) -> set[str]:
    """Return what numbers count: "replicas" in "4 replicas"."""
    return {
        behind.key
        for number, behind in pairwise(words)
        if number.form == "number" and behind.form == "word" and behind.start - number.end <= 1
    }


_PARTICIPLE = re.compile(
    r"[a-z]{3,}ed|(?:writt|brok|froz|driv|chos|hidd|giv|tak)en|built|sent|kept|held|found|split|ge[a-zäöüß]{3,}t"
)


def _is_state(words: Sequence[Word]) -> bool:
    """Whether a plain value is a state and no name: "protected", but not "memcached"."""
    return any(
        _PARTICIPLE.fullmatch(folded) and not find_family(folded) for folded in (word.text.casefold() for word in words)
    )


def is_bound(text: str) -> bool:
    """Whether a statement says how large something may be, and not how large it is."""
    return word_tables().bounds.search(text) is not None


def is_generic(word: Word) -> bool:
    """Whether a word names no thing, so that only one of two statements about one thing may have it."""
    return word.form in ("word", "proper", "cjk") and word.text.casefold() in word_tables().generic


def has_article(word: Word, text: str) -> bool:
    """Whether a German article is directly before a word, so that its capital letter does not make it a name."""
    return bool(before := text[: word.start].split()[-1:]) and before[0].casefold() in _GERMAN_ARTICLES


def have_other_relation(one: Words, other: Words) -> bool:
    """Whether the values belong to their subjects in ways that exclude each other: a name and a place."""
    mine, theirs = (words.relations - {"handle"} for words in (one, other))  # by a person, or with a tool
    return bool(mine and theirs and mine.isdisjoint(theirs) and {"name", *ROLES} & (mine | theirs))


ROLES = frozenset("owner maintainer leader manager contact".split())
"""What a person is to a thing: "Ann owns the parser", "Bob maintains the parser" are two facts."""


def have_other_roles(one: Words, other: Words) -> bool:
    """Whether two statements say what different roles people have."""
    mine, theirs = one.relations & ROLES, other.relations & ROLES
    return bool(mine and theirs) and mine.isdisjoint(theirs)


def is_light(word: str) -> bool:
    """Whether a word may stand between a subject and its value."""
    if re.search(f"[{CJK}]$", word):
        return True
    tables = word_tables()
    plain = _CONTRACTION.sub("", word)
    return (
        plain in tables.linking
        or plain in tables.relations
        or plain in tables.fillers
        or bool(tables.signs.fullmatch(plain) or tables.corrected.fullmatch(plain) or tables.leads.fullmatch(plain))
    )
