"""Find the value that a sentence of the user gives to the subject of an earlier statement, in seven languages.

"Tom runs the bug triage now" has one phrase that "bug triage is run by Olek" lacks, and the other one lacks one of the
same form: a value has changed. A sentence with any other word is about something else. Which words count is told by
`statement_reader`; what the alignment of a correction means for memory, by `value_corrections`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress, pairwise, product

from msgspec import Struct, structs

from clio.memory.preferences.stated_preferences import is_order
from clio.memory.statement_parser import has_one_subject, normalize_word, parse_statement
from clio.memory.statement_reader import (
    ARTICLES,
    CJK,
    DAYS,
    PREPOSITIONS,
    ROLES,
    Form,
    Word,
    Words,
    find_family,
    has_article,
    have_other_relation,
    have_other_roles,
    is_bound,
    is_generic,
    is_light,
    matches,
    may_replace,
    read_denial,
    read_said_words,
    read_statement_words,
    split_clauses,
    word_tables,
)
from clio.memory.statement_relation import are_compatible
from clio.text.vocabulary import NO_TITLE, stem_word

_MAX_PARSED = 300
"""Characters of a statement that is parsed."""
_MAX_CLAUSES = 4
_MAX_PHRASE = 4
"""Words of a value."""
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


class ValueChange(Struct, frozen=True, kw_only=True):
    """One value of an earlier statement, and what a correction says instead.

    Attributes:
        old, new: the values as written.
        is_named: whether the correction names a word of the subject, or the old value. Otherwise only the context can
            tell which statement is meant.
        shared: number of words of the statement that the correction repeats.
        is_close: whether the former value was wrong, and both are of a form that few values have: a time, a version, a
            name, a unit.
        is_stated: whether it states the whole subject with another value, and nothing announces a change.
        within: start and end of the only clause of the statement that changes; None if all do.
    """

    old: str
    new: str
    is_named: bool
    shared: int = 1
    is_stated: bool = False
    is_close: bool = False
    within: tuple[int, int] | None = None

    @property
    def is_alike(self) -> bool:
        """Whether both values have the same form, digit by digit: "8080" and "9090", "0x3C" and "0x48"."""
        shapes = {re.sub(r"(?<=^0x)[\da-fA-F]+|\d", "0", value) for value in (self.old, self.new)}
        return len(shapes) == 1

    @property
    def is_resembling(self) -> bool:
        """Whether both values have a part in common, as "int-blue" and "int-green", or are tools of one family."""
        parts = [frozenset(re.findall(r"[^\W\d_]{2,}", value.casefold())) for value in (self.old, self.new)]
        is_compound = all(re.search(r"[^\W\d][-_./:@]", value) for value in (self.old, self.new))
        return (is_compound and bool(parts[0] & parts[1])) or self.new.casefold() in find_family(self.old.casefold())

    def apply(self, statement: str) -> str:
        """Return the earlier statement with the new value; where it names the new value too, both change places."""
        old = self.old
        start, end = self.within or (0, len(statement))
        end = remark.end() if (remark := re.compile(r" \([^()]*\)").match(statement, end)) else end
        clause = statement[start:end]
        longer = re.search(rf"(?<![\w./:-]){re.escape(old)}(?P<rest>\.[\w.-]*\w)", clause, re.I)
        if longer and self.new.casefold().endswith(longer["rest"].casefold()):
            old += longer["rest"]  # "forget vpn1, it's vpn3.acme.dev now" is about "vpn1.acme.dev"
        values = {old.casefold(): self.new, self.new.casefold(): old}
        either = "|".join(re.escape(value) for value in (old, self.new))
        # "900 seconds (raised 2026-12-01)": the date is that of the former value
        dated = r"(?P<unit>[^,;()]{0,20}) \([^()]*\b(?:19|20)\d\d\b[^()]*\)"
        pattern = re.compile(rf"(?<![a-zA-Z0-9_./:-])(?P<value>{either})(?![a-zA-Z0-9_/])(?:{dated})?", re.I)
        changed = pattern.sub(lambda found: values[found["value"].casefold()] + (found["unit"] or ""), clause)
        return statement[:start] + changed + statement[end:]


def align(old: str, sentence: str) -> ValueChange | None:
    """Return the other value that a sentence gives to the subject of a statement; None if it is about something else.

    It is read as a whole, and then each of its clauses, if the others limit nothing: "I asked ops, the port is 9090".
    """
    mine, said, denial = read_statement_words(old), read_said_words(sentence), _read_denial_of(old, sentence)
    denied = [word for word in denial.words if word.is_denied and not is_generic(word)] if denial else []
    is_denial = (
        bool(denied) and not mine.negations and all(any(matches(word, one) for one in mine.words) for word in denied)
    )
    if denied and not is_denial and re.search(f"[{CJK}]", sentence):
        return None  # "错误不是来自 sphinx，而是来自 mypy"
    said = denial if denial and is_denial else said
    tables = word_tables()
    if not said.words or (tables.jokes.search(said.plain) and not said.is_corrected):
        return None
    if tables.doubts.search(_WANTED.sub("", said.plain)):
        return None
    if not said.is_signed and ("past" in said.moods or tables.past.search(said.text)):
        return None
    mine, within = select_clause(mine, said)
    found = _align_words(mine, said, is_denial=is_denial)
    if found is None:
        readings = (_align_words(mine, words, is_denial=is_denial) for words in _read_clauses(said))
        # "I gave you the wrong name, it is options.toml": rather a name than a word that could be a verb
        found = max(filter(None, readings), key=lambda one: (one.shared, not one.new.isalpha()), default=None)
    if found is None or within:
        return found and structs.replace(found, within=within)
    return _divide_list(old, said, found)


_WANTED = re.compile(r"^\s*(?:\S+ ){0,2}(?:wants?|wanted)\b[^,;.]*[,;.](?= )", re.I)
"""Why a value changed: "the client wants it at 90, so it's 90 now"."""
_JOINT = re.compile(r"\s*,\s+(?:(?:and|und|et|y|e)\s+)?|\s+(?:and|und|et|y|e)\s+")


def _divide_list(old: str, said: Words, change: ValueChange) -> ValueChange:
    """Return the change for those of several things that the sentence names, if it gives them another owner.

    Of "Sam owns tracking and billing", "Lena took over tracking" leaves Sam what it does not name.
    """
    if not old.startswith(f"{change.old} ") or not old[:1].isupper():
        return change
    tokens = old.removeprefix(change.old).rstrip(".").split()
    length = next((at for at, token in enumerate(tokens) if at and not is_light(token)), len(tokens))
    verb, things = " ".join(tokens[:length]), " ".join(tokens[length:])
    parts = _JOINT.split(things)
    named = [any(matches(*pair) for pair in product(read_statement_words(part).words, said.words)) for part in parts]
    if len(set(named)) == 1:
        return change
    joint = _JOINT.findall(things)[-1]
    mine, theirs = (joint.join(compress(parts, kept)) for kept in ([not one for one in named], named))
    return structs.replace(change, old=old, new=f"{change.new} {verb} {theirs}{joint}{change.old} {verb} {mine}")


def list_statements(words: Words) -> list[list[Word]]:
    """Return the words of each clause, if a statement has several of at least two words; otherwise an empty list."""
    clauses = [
        [word for word in words.words if begin <= word.start < stop] for begin, stop in split_clauses(words.text)
    ]
    return clauses if len(clauses) > 1 and all(len(clause) > 1 for clause in clauses) else []


def select_clause(mine: Words, said: Words) -> tuple[Words, tuple[int, int] | None]:
    """Return the only clause of a statement that has the sentence's first known word, and its place; else all of it.

    "Billing moved to Postgres 16" changes the second clause of "orders uses Postgres 15, billing uses MySQL 8". If
    several have this word, the one with most known words.
    """
    first = next((word for word in said.words if any(matches(one, word) for one in mine.words)), None)
    if first is None or not list_statements(mine):
        return mine, None
    about: list[tuple[int, tuple[Word, ...], tuple[int, int]]] = []
    for begin, stop in split_clauses(mine.text):
        words = tuple(word for word in mine.words if begin <= word.start < stop)
        if any(matches(one, first) for one in words):
            about.append((sum(any(matches(one, word) for one in words) for word in said.words), words, (begin, stop)))
    closest = [one for one in about if one[0] == max(count for count, *_ in about)]
    return (structs.replace(mine, words=closest[0][1]), closest[0][2]) if len(closest) == 1 else (mine, None)


def _read_denial_of(statement: str, sentence: str) -> Words | None:
    """Return what `read_denial` does; "no" of a statement is a Portuguese preposition: "rodam no Jenkins"."""
    return read_denial(sentence, "no" if "no" in statement.casefold().split() else "")


def _read_clauses(said: Words) -> Iterator[Words]:
    """Yield a sentence as often as it has clauses, each time with the words of the others as optional."""
    # A comma that the sentence does not have stands for a word that does not count: "由".
    text = "".join(sign if sign == written else " " for sign, written in zip(said.plain, said.text, strict=True))
    clauses = split_clauses(text)
    for start, stop in clauses if 1 < len(clauses) <= _MAX_CLAUSES else ():
        if re.match("[请帮写把将给]", text[start:stop].strip()):
            continue  # "以后支付走微信，把 sdk 换掉"
        others = (text[slice(*span)].strip() for span in clauses if span != (start, stop))
        if any(word_tables().limiting_starts.match(other) for other in others):
            continue
        negated = [
            span for span in clauses if span != (start, stop) and any(span[0] <= at < span[1] for at in said.negations)
        ]
        words = tuple(
            word
            if start <= word.start < stop or word.is_denied
            else structs.replace(
                word, is_optional=True, is_denied=any(begin <= word.start < end for begin, end in negated)
            )
            for word in said.words
        )
        negations = tuple(at for at in said.negations if start <= at < stop)
        yield structs.replace(said, words=words, negations=negations, is_signed=True)


def _align_words(mine: Words, theirs: Words, *, is_denial: bool = False) -> ValueChange | None:
    """Return the other value that the words of a sentence give. is_denial: whether they come from `read_denial`."""
    old, sentence = mine.text, theirs.text
    is_whole_needed = not theirs.is_signed
    if len(mine.negations) != len(theirs.negations) or (is_whole_needed and have_other_relation(mine, theirs)):
        return None
    left, denied, own = _match(mine, theirs)
    new = [word for word in own if not is_generic(word)]
    if not new and len(denied) == 1:
        # "I prefer spaces over tabs now" of "prefer tabs over spaces": both change places.
        new = [word for word in theirs.words if not word.is_denied]
        new = new if len(new) == 1 and new[0].form == denied[0].form else []
    if not new and not denied and theirs.is_signed and mine.words and theirs.words:
        last, known = theirs.words[-1], mine.words[-1]
        if last.text != known.text and _follow_same_word(mine, known, theirs, last):
            new, left = [last], [*left, known]  # "make verify", "make check"
    if new and any(word.form == "cjk" for word in new):
        new = _fill_chunk(new, theirs.words)
    if not new or not _is_phrase(new, sentence):
        return None
    if new[0].form == "cjk" and _NO_VALUE_CJK.search(sentence[new[0].start : new[-1].end]):
        return None
    if is_denial:
        gone = _find_denied(mine, theirs, denied, new)
    else:
        gone = _choose_denied(denied, new) if denied else _find_gone(mine, left, new, theirs)
    if not gone:
        return None
    said = new
    new, gone, is_trimmed = _trim_phrases(new, gone)
    if (is_trimmed or not denied) and not may_replace(new, gone):
        return None
    is_day, was_day = (words[0].text.casefold().rstrip("s") in DAYS for words in (new, gone))
    if is_day and gone[0].form == "proper" and not was_day:
        return None  # "Ola is our release manager", "Ola left on Friday"
    is_subject = gone[0] is mine.words[0] and gone[0].form == "proper"
    has_subject = len(new) < len(theirs.words)
    if has_subject and not denied and _is_about_other_thing(mine, theirs, own, left, gone, new):
        return None
    if has_subject and not denied and new[0] is not said[0]:
        return None  # "billing is licensed under Apache"
    is_free = bool(denied) or is_subject or _BY.search(old) is not None
    if has_subject and (have_other_roles(mine, theirs) or (not is_free and have_other_relation(mine, theirs))):
        return None  # "the parser uses Lark", "the parser is maintained by Ronny now"
    is_alone = all(word in new or word.is_optional for word in theirs.words)
    if not (is_alone or denied or theirs.is_corrected) and _has_other_predicate(mine, theirs, left, gone, new):
        return None
    is_first = len(old[: gone[0].start].split()) < 2 and gone[0] is mine.words[0]
    if has_subject and not denied and is_first and not has_one_subject(mine, theirs):
        return None  # "Berlin has a gateway", "by the way, Paris has a gateway"
    if new[0] is not theirs.words[0] and gone[-1].form == "number" and is_bound(old) and not is_bound(sentence):
        return None  # "coverage must be above 90 percent", "coverage is 93 percent now"
    if gone[0].form == "cjk" and gone[0] is mine.words[0] and is_whole_needed:
        return None  # "短信走阿里云", "邮件走阿里云": two subjects
    if is_whole_needed and not (_keeps_order(mine, theirs, new) and _is_value(mine, gone)):
        return None
    if any(_PARTICIPLE.fullmatch(word.text) for word in new if word.form == "word" and len(word.text) > 4):
        return None
    if new[-1].form == "word" and _PRONOUN.match(sentence, new[-1].end):
        return None
    if new[-1].form == "word" and not has_subject and _IS.match(sentence, new[-1].end):
        return None  # "april invoices are wrong"
    if any(word.is_optional for word in theirs.words) and not _is_about(mine, theirs, new):
        return None
    repeated = [word for word in mine.words if word not in left and word not in gone and not is_generic(word)]
    if is_whole_needed and not (repeated and all(word in gone or is_generic(word) for word in left)):
        return None
    spans = [(gone[0].start, gone[-1].end), (new[0].start, new[-1].end)]
    if sentence[slice(*spans[1])] in old and _follow_same_word(mine, gone[0], theirs, new[0]):
        # "make ship" and "make deploy": "we deploy with" stays
        spans = [(text.rfind(" ", 0, at - 1) + 1, end) for text, (at, end) in zip((old, sentence), spans, strict=True)]
    units = [text[word.end : word.whole].strip() for text, word in ((old, gone[-1]), (sentence, new[-1]))]
    if all(units) and units[0] != units[1]:
        spans = [(gone[0].start, gone[-1].whole), (new[0].start, new[-1].whole)]  # "3 minutes" and "5 seconds"
    articles = [_find_article(text, start) for text, (start, _) in zip((old, sentence), spans, strict=True)]
    if all(place is not None for place in articles):
        spans = [(start or 0, end) for start, (_, end) in zip(articles, spans, strict=True)]  # "a fox" and "an owl"
    (start, end), (begin, stop) = spans
    shared = {word.key for word in (*repeated, *denied)}
    return ValueChange(
        old=old[start:end],
        new=sentence[begin:stop],
        is_named=bool(shared),
        shared=len(shared),
        is_stated=not theirs.is_signed,
        is_close=theirs.is_corrected
        and _get_phrase_form(gone) == _get_phrase_form(new)
        and _is_telling(gone[-1], new[-1]),
    )


_VAGUE = frozenset(("", "*", "be", "be at", "have", "name"))
"""Predicates that do not tell which property a value is of."""


def _is_about_other_thing(
    mine: Words, theirs: Words, own: Sequence[Word], left: Sequence[Word], gone: Sequence[Word], new: Sequence[Word]
) -> bool:
    """Whether a sentence is about another thing than a statement, or about where the thing is.

    "The billing branch is trunk" says nothing of "the billing queue is heron", nor "mobile uses Redis" of "billing uses
    Redis", nor "the logo is in assets/logo.svg" of "the logo is blue".
    """
    nouns = [word for word in own if is_generic(word) and word.form == "word"]
    rest = [word for word in left if word not in gone and not is_generic(word)]
    if nouns and (rest or (mine.relations & ROLES and not theirs.relations)):
        return True
    if len(mine.text) > _MAX_PARSED or re.search(f"[{CJK}]", mine.text) or _get_phrase_form(gone) != "word":
        return False
    stems, parsed = _list_stems(gone), parse_statement(mine.text)
    is_subject = bool(stems & parsed.subject and parsed.value) and stems.isdisjoint(parsed.value)
    is_placed = "place" in theirs.relations - mine.relations and "/" in new[-1].text
    before = _get_word_before(mine.text, gone[0].start)
    return is_subject or gone[0].text.casefold() in PREPOSITIONS or (is_placed and before not in PREPOSITIONS)


def _has_other_predicate(
    mine: Words, theirs: Words, left: Sequence[Word], gone: Sequence[Word], new: Sequence[Word]
) -> bool:
    """Whether a sentence names the subject of a statement, but states another property of it.

    "Staging uses Redis 6 now" says nothing of "Karl tunes staging", nor of "staging talks to billing over gRPC".
    """
    if len(mine.text) > _MAX_PARSED or re.search(f"[{CJK}]", mine.text):
        return False
    parsed = parse_statement(mine.text)
    said = parse_statement(theirs.text)
    repeated = _list_stems(word for word in mine.words if word not in left)
    subject = parsed.topic | parsed.topic_ids | parsed.subject
    forms = {_get_phrase_form(gone), _get_phrase_form(new)}
    places = [one[0] is words.words[0] for one, words in ((gone, mine), (new, theirs))]
    has_own = not theirs.relations <= mine.relations
    if not repeated or all(places):
        return False  # "Genevieve triages bugs", "Tobias takes care of bug triage now"
    if any(places) and has_own and mine.relations.isdisjoint(theirs.relations):
        if forms != {"proper"} or theirs.relations.isdisjoint(ROLES):
            return True  # one tells who does something, the other what something has
    elif repeated.isdisjoint(subject) or not repeated.isdisjoint(parsed.value):
        return False  # "make release now" of "we deploy with make ship"; "the prefix is QZ" of "… with the prefix RX"
    elif (forms == {"name"} and len({bool(re.search("[./@]", word.text)) for word in (gone[-1], new[-1])}) == 1) or (
        forms == {"version"} or (forms == {"number"} and gone[-1].unit == new[-1].unit)
    ):
        return False  # "guide.heron.example", "6 GB": of the same kind as the former value
    rest = _list_stems(word for word in left if word not in gone and not is_generic(word))
    is_telling = _VAGUE.isdisjoint((parsed.predicate, said.predicate)) and not any(
        said.predicate in found[0] for found in word_tables().signs.finditer(theirs.text)
    )
    if is_telling and subject & said.subject and not are_compatible(parsed, said):
        return True
    if not parsed.predicate:
        return has_own and bool(rest)
    is_plain = parsed.predicate in ("be", "name") and parsed.value <= _list_stems(gone)
    before = next((word for word in reversed(mine.words) if word.end <= gone[0].start), None)
    is_thing = before in left and before is not None and before.key not in word_tables().attributes
    is_said = stem_word(parsed.predicate) in repeated
    if has_own and not is_said and (not is_plain or is_thing):
        return True  # "staging runs Ubuntu" is not about "the staging license is MIT"
    if not rest.isdisjoint((parsed.value | {stem_word(parsed.predicate.partition(" ")[0])}) - subject):
        return True
    return parsed.head in rest and parsed.head in subject and not parsed.has_attribute


def _list_stems(words: Iterable[Word]) -> set[str]:
    return {normalize_word(word.text) for word in words}


_BY = re.compile(r"\b(?:by|von|durch|par|por)\b|由|によって", re.I)
_REMARK = frozenset(
    "until till because since so when if for from instead bis weil seit jusqu parce hasta porque até".split()
)
"""Words behind a value that belong to a remark: "in Hopper until further notice"."""


def _trim_phrases(new: list[Word], gone: list[Word]) -> tuple[list[Word], list[Word], bool]:
    """Return both values without plain words that only one of them has, and whether there were any.

    "NEWS.rst" of "meant NEWS.rst"; beside "Oslo", "Zurich" of "the Zurich bucket" and "Gustavo" of "Gustavo signs off".
    """
    names, former = ([word for word in words if word.form in ("proper", "name")] for words in (new, gone))
    cut = next((place for place, word in enumerate(new) if place and word.text.casefold() in _REMARK), len(new))
    shorter = new[:cut]
    if names and shorter[-1] is names[-1] and all(word.form in ("word", "proper", "name") for word in shorter):
        shorter = [word for word in shorter if word in names]
    is_plain = any(word.form == "word" for word in shorter)
    are_words = all(word.form in ("word", "proper", "name") for word in gone)
    if former and not is_plain and len(former) < len(gone) and are_words:
        runs = _list_phrases(gone, former)
        if len(runs) == 1:
            return shorter, runs[0], True
    return shorter, gone, len(shorter) < len(new)


def _is_telling(gone: Word, new: Word) -> bool:
    if new.form == "number":
        return bool(new.unit and gone.unit == new.unit)
    return new.form in ("time", "version", "proper", "cjk")


def _find_article(text: str, end: int) -> int | None:
    """Return where the article begins that is directly before a place in a text; None if there is none."""
    found = re.search(r"(?<!\w)(\w+) $", text[:end])
    return found.start() if found and found[1].casefold() in ARTICLES else None


_PRONOUN = re.compile(r"\s+(?:it|them|this|that|es|das|ça|lo|los|isso|isto)\b", re.I)
"""Behind a verb: "ditch it"."""
_IS = re.compile(r"\s+(?:is|are|was|were) (?!(?:the )?(?:right|correct|better|it|what)\b)", re.I)
_PARTICIPLE = re.compile(r"[a-z]+ed")
"""A verb, which is no value: "the bundler has been swapped"."""


def _is_about(mine: Words, theirs: Words, new: Sequence[Word]) -> bool:
    """Whether the clause with the new value has another word of the statement, or is all that a correction says."""
    own = [word for word in theirs.words if not word.is_optional and word not in new]
    if any(matches(word, known) for word in own for known in mine.words):
        return True
    is_value = _get_phrase_form(new) != "word" or bool(find_family(new[-1].text.casefold()))
    # "the client wants the tank alarm at 90%, so it's 90 now"
    told = [word for word in theirs.words if word.is_optional and not word.is_denied]
    known = sum(any(matches(word, one) for one in mine.words) for word in told)
    is_told = theirs.is_change and known >= min(2, len(mine.words) - 1) > 0
    return (theirs.is_corrected or is_told) and not own and is_value


def _is_value(statement: Words, gone: Sequence[Word]) -> bool:
    """Whether words are the value of a statement, not its subject: "shard eu-2 is full" corrects nothing of eu-1."""
    is_parsed = len(statement.text) <= _MAX_PARSED and not re.search(f"[{CJK}]", statement.text)
    return bool(not is_parsed or gone[-1].unit) or gone[-1].key not in parse_statement(statement.text).topic_ids


def _keeps_order(mine: Words, theirs: Words, new: Collection[Word]) -> bool:
    """Whether the names that a statement and a sentence have in common are in the same order."""
    names = [word.key for word in mine.words if word.form == "proper"]
    return [word.key for word in theirs.words if word.key in names and word not in new] == [
        key for key in names if any(key == word.key for word in theirs.words)
    ]


def _choose_denied(denied: Sequence[Word], new: Sequence[Word]) -> list[Word]:
    """Return the denied words that are of the form of the new value, if they are next to each other."""
    alike = [word for word in denied if word.form == _get_phrase_form(new)] or list(denied)
    is_phrase = all(after.start - before.end == (before.form != "cjk") for before, after in pairwise(alike))
    return alike if is_phrase else alike[:1]


def _find_denied(mine: Words, theirs: Words, denied: Sequence[Word], new: Sequence[Word]) -> list[Word]:
    """Return the value of a statement that a sentence denies; none if it denies something else, too."""
    form, before = _get_phrase_form(new), _get_word_before(theirs.text, new[0].start)
    if form in ("time", "version", "number") and any(word.form == "word" for word in new):
        return []  # "the test returns 9090 now, not 8080"
    if form == "proper" and all(word.form == "word" for word in denied):
        # "Dana is not our scrum master any more, it's Luis" denies the role of a name.
        names = [
            word for word in theirs.words if word.form == "proper" and not word.is_denied and word.start < new[0].start
        ]
        known = [one for one in mine.words if any(matches(one, word) for word in names)]
        if len(known) == 1:
            return known
    family = _find_word_family(new[0])
    denied = denied[1:] if len(denied) > 1 and is_order(denied[0].text) else denied  # "we don't deploy from …"
    for alike in (
        [word for word in denied if family and _find_word_family(word) == family],
        [word for word in denied if before and word.form == form and _get_word_before(mine.text, word.start) == before],
        [word for word in denied if word.form == form],
        [word for word in denied if {word.form, form} == {"name", "proper"}],
        [word for word in denied if {word.form, form} <= {"name", "proper", "word"}],
    ):
        if alike:
            found = alike if all(after.start - one.end <= 1 for one, after in pairwise(alike)) else alike[:1]
            return found if _may_be_denied(mine, theirs, found) else []
    return []


def _may_be_denied(mine: Words, theirs: Words, gone: Sequence[Word]) -> bool:
    """Whether denied words are a value of a statement, not its subject: "it's not the cache, it's the queue"."""
    if sum(word.key == gone[0].key for word in mine.words) > 1:
        return False
    is_plain = _get_phrase_form(gone) == "word" or has_article(gone[0], mine.text)
    if not is_plain or gone[-1] is mine.words[-1] or re.search(f"[{CJK}]", mine.text):
        return True
    others = [word for word in mine.words if word not in gone and not is_generic(word)]
    shared = sum(any(matches(one, word) for word in theirs.words) for one in others)
    return bool(shared) and shared * 2 >= len(others)


def _is_phrase(words: Sequence[Word], sentence: str) -> bool:
    """Whether some words of a sentence are next to each other, so that they may be one value."""
    longest = 8 if words[0].form == "cjk" else _MAX_PHRASE
    gaps = (sentence[before.end : after.start] for before, after in pairwise(words))
    is_number = len(words) > 1 and words[0].form in ("time", "number", "version")
    are_joined = all(
        not gap.strip("- ") or (gap == ". " and not re.search(f"{NO_TITLE}$", before.text))
        for gap, before in zip(gaps, words, strict=False)
    )
    return len(words) <= longest and are_joined and not is_number


def _fill_chunk(words: Sequence[Word], known: Sequence[Word]) -> list[Word]:
    """Return the words with those between them, if all are one run of Chinese or Japanese signs: "第3木曜"."""
    between = [word for word in known if words[0].start <= word.start <= words[-1].start]
    is_run = all(before.end == after.start for before, after in pairwise(between))
    return between if is_run and len(between) > len(words) else list(words)


_TELLING_FORMS: tuple[Form, ...] = ("name", "proper", "cjk", "time", "version", "number", "word")
"""By how much a word of this form says of what a phrase is."""


def _get_phrase_form(words: Sequence[Word]) -> Form:
    forms = {word.form for word in words}
    return next(form for form in _TELLING_FORMS if form in forms)


def _list_phrases(words: Sequence[Word], left: Collection[Word]) -> list[list[Word]]:
    """Return the words that are left over, next to each other in one phrase each."""
    phrases: list[list[Word]] = []
    is_open = False
    for before, word in zip((None, *words), words, strict=False):
        if word not in left:
            is_open = False
            continue
        joins = is_open and before is not None and word.start - before.end <= (0 if word.form == "cjk" else 1)
        if joins:
            phrases[-1].append(word)
        else:
            phrases.append([word])
        is_open = True
    return phrases


def _find_gone(old: Words, left: Sequence[Word], new: Sequence[Word], said: Words) -> list[Word]:
    """Return the words of a statement in whose place a new value may be; none if that is not clear."""
    form = _get_phrase_form(new)
    if len(new) == 1 and form in ("time", "version", "number"):
        return _find_counted(old, left, new[0], said) or _find_number(old, left, new[0])
    phrases = _list_phrases(old.words, left)
    family = find_family("-".join(word.text.casefold() for word in new)) or _find_word_family(new[-1])
    alike = [[word] for word in left if family and _find_word_family(word) == family]
    if len(alike) == 1:
        # "GitHub Actions" and "Postgres 15", whose places "GitLab" and "MySQL" take
        forms = {"proper", "name"} if new[-1].form in ("number", "version") else {"proper", "name", "number", "version"}
        names = [word for word in left if word.form in forms and not word.unit]
        return next((one for one in _list_phrases(old.words, names) if alike[0][0] in one), alike[0])
    forms = [_get_phrase_form(phrase) for phrase in phrases]
    if form in ("name", "proper"):
        same = [
            phrase
            for phrase, other in zip(phrases, forms, strict=True)
            if other == form
            and not (other == "proper" and has_article(phrase[0], old.text) and not has_article(new[0], said.text))
        ]
        before = _get_link(said.text, new[0])
        linked = [phrase for phrase in same if before and _get_link(old.text, phrase[0]) == before]
        same = linked if len(linked) == 1 else same
        if len(same) > 1:
            same = [phrase for phrase in same if phrase[0] is not old.words[0]]
        if len(same) == 1:
            return same[0]
        if same:
            return []
        if len(phrases) == 1 and forms[0] in ("name", "proper", "word"):
            return phrases[0]
    if form in ("time", "version", "number"):
        same = [phrase for phrase, other in zip(phrases, forms, strict=True) if other == form]
        return same[0] if len(same) == 1 else []
    if form == "cjk":
        return _find_cjk(phrases, new, old, said, is_named=len(left) < len(old.words))
    return _find_last(old, phrases, new, said)


def _get_link(text: str, word: Word) -> str:
    """Return the word of the language before a name, without its article: "é" of "quem aprova é a Thaís"."""
    before = _get_word_before(text, word.start)
    before = _get_word_before(text[: word.start].rstrip()[: -len(before)], word.start) if before in ARTICLES else before
    return before if is_light(before) else ""


def _find_word_family(word: Word) -> frozenset[str]:
    folded = word.text.casefold()
    return find_family(folded) or find_family(folded.removesuffix("s"))


def _find_counted(old: Words, left: Sequence[Word], new: Word, said: Words) -> list[Word]:
    """Return the number in front of the thing that a new number counts, too: "4 workers", "6 workers"."""
    thing = next((word for word in said.words if word.start - new.end == 1), None)
    found = [
        word
        for word in left
        if thing
        and word.form == "number"
        and any(one.start - word.end == 1 and matches(one, thing) for one in old.words)
    ]
    return found if len(found) == 1 and said.is_signed else []


def _find_number(old: Words, left: Sequence[Word], new: Word) -> list[Word]:
    forms = {new.form, "number", "version"} if re.fullmatch(r"-?\d+(?:\.\d+)?", new.text) else {new.form}
    found = [word for word in left if word.form in forms and (not word.unit or not new.unit or word.unit == new.unit)]
    is_parsed = found and len(old.text) <= _MAX_PARSED and not re.search(f"[{CJK}]", old.text)
    topic = parse_statement(old.text).topic_ids if is_parsed else frozenset[str]()
    if len(found) > 1:
        found = [word for word in found if word.key not in topic]
    elif found and found[0].key in topic and found[0] is not old.words[-1] and not found[0].unit:
        return []  # "HTTP 404 means …"
    return found if len(found) == 1 else []


def _find_last(old: Words, phrases: Sequence[list[Word]], new: Sequence[Word], said: Words) -> list[Word]:
    """Return the last phrase of a statement, in whose place a plain word may be, if the sentence corrects something."""
    same = [one for one in phrases if _follow_same_word(old, one[0], said, new[0])]
    if len(same) == 1 and said.is_signed:
        return same[0]  # "we deploy with make ship", "make release now"
    if said.is_corrected and [*new, said.words[-1]] == [*said.words]:
        ends = [one.start - 1 for one in old.words if matches(said.words[-1], one)]
        same = [one for one in phrases if one[-1].end in ends]
        return same[0] if len(same) == 1 else []  # "I prefer single quotes", "no wait, double quotes"
    before = max((one for one in said.words if one.end < new[0].start), key=lambda one: one.end, default=None)
    if said.is_signed and before and re.fullmatch(r" (?:is|are|should be) ", said.text[before.end : new[0].start]):
        # "role is viewer" of "the test user is qa_lena with role editor"
        same = [one for one in phrases if _get_word_before(old.text, one[0].start) == before.text.casefold()]
        if len(same) == 1:
            return same[0]
    if not phrases or phrases[-1][-1] is not old.words[-1] or not said.is_signed:
        return []
    last = phrases[-1]
    if said.is_corrected and len(new) == len(said.words) and len(old.text) <= _MAX_PARSED:
        # "semicolons" of "exports use semicolons as the separator", "trunk" of "the branch is called trunk here"
        value = parse_statement(old.text).value
        last = next((one for one in phrases if value and value <= _list_stems(one)), last)
    before, before_new = (
        _get_word_before(text, phrase[0].start) for text, phrase in ((old.text, last), (said.plain, new))
    )
    is_plain = _get_phrase_form(new) == "word"
    if is_plain and not said.is_corrected and not old.relations.isdisjoint(("act", "use")) and not old.has_noun:
        return []  # "the tests run with coverage now"
    if is_plain and before_new and not is_light(before_new):
        return []  # "actually the port broke"
    if (before in ARTICLES) != (before_new in ARTICLES) or not before:
        return []
    if _get_phrase_form(last) in ("time", "version", "number"):
        return []
    return last if is_light(before) else []


def _get_word_before(text: str, end: int) -> str:
    found = re.search(r"(?:\b[cdjlmnst]['’])?([\w'’]+)\W{,3}$", text[:end])  # more are in place of other words
    return found[1].casefold() if found else ""


def _follow_same_word(old: Words, gone: Word, said: Words, new: Word) -> bool:
    """Whether two words are directly behind the same word of a value: "make ship", "make release"."""
    before, before_new = (
        max((one for one in words.words if one.end < word.start), key=lambda one: one.end, default=None)
        for words, word in ((old, gone), (said, new))
    )
    return (
        before is not None
        and before_new is not None
        and before.key == before_new.key
        and gone.start - before.end == new.start - before_new.end == 1
        and not has_article(before_new, said.text)
        and _get_word_before(said.text, before_new.start) not in ARTICLES
    )


_NO_VALUE_CJK = re.compile(
    r"[我你他她不错误好对吗这那哪谁忘删]|什么|问题|問題|間違|失敗|嘘|無理|大丈夫|本当|駄目|ダメ|バグ|エラー|^[关挂坏崩停慢卡满空好功]$"
)


_MAX_NAME = 4
"""Signs of the name of a person."""


def _is_person(text: str, phrase: Sequence[Word]) -> bool:
    """Whether a phrase of a statement is where the name of a responsible person is."""
    before, after = text[: phrase[0].start], text[phrase[-1].end :]
    return re.search("(?:由|是|は|为)$", before) is not None or re.match("(?:负责|维护|管|さん)", after) is not None


def _find_cjk(
    phrases: Sequence[list[Word]], new: Sequence[Word], statement: Words, said: Words, *, is_named: bool
) -> list[Word]:
    """Return the words of a Chinese or Japanese statement in whose place a new value may be; none if unclear."""
    old, sentence = statement.text, said.text
    value = sentence[new[0].start : new[-1].end]
    phrases = [phrase for phrase in phrases if phrase[0].form == "cjk"]
    if not phrases or _NO_VALUE_CJK.search(value):
        return []
    if said.is_corrected and not is_named and not statement.relations.isdisjoint(ROLES):
        people = [phrase for phrase in phrases if len(phrase) <= _MAX_NAME and _is_person(old, phrase)]
        return people[0] if len(people) == 1 and len(value) <= _MAX_NAME else []
    if before := sentence[: new[0].start][-1:].strip():
        # "说错了，是周四" of "周报每周五发": what follows the same sign
        behind = [phrase for phrase in phrases if old[: phrase[0].start].endswith(before) and len(phrase) >= len(new)]
        if len(behind) == 1 and any(word.text == before for word in statement.words):
            return behind[0][: len(new)]
    last = phrases[-1]
    gone = old[last[0].start : last[-1].end]
    before, before_new = old[: last[0].start].strip()[-1:], sentence[: new[0].start].strip()[-1:]
    is_alike = gone[0] == value[0] and len(gone) == len(value)
    return last if is_named or is_alike or before == before_new else []


def _match(old: Words, said: Words) -> tuple[list[Word], list[Word], list[Word]]:
    """Return the words of the statement that the sentence lacks, those it only denies, and its words of its own."""
    left, denied = list(old.words), list[Word]()
    new: list[Word] = []
    is_new_before = False
    for word in sorted(said.words, key=lambda word: word.is_denied):
        found = next((one for one in left if one.text == word.text), None)
        found = found or next((one for one in left if matches(one, word)), None)
        if found is not None:
            left.remove(found)
            if word.is_denied:
                denied.append(found)
        elif not (word.is_optional or word.is_denied) and (
            is_new_before or not any(matches(one, word) for one in old.words)
        ):
            new.append(word)  # also the last word of "tox -e unit" where the "unit" of "unit tests" is repeated
        is_new_before = bool(new) and new[-1] is word
    return left, denied, new


def is_already_said(statement: str, sentence: str) -> bool:
    """Whether a statement already says what a sentence puts in place of something else, which it denies."""
    mine, said = read_statement_words(statement), _read_denial_of(statement, sentence)
    denied = [word for word in said.words if word.is_denied] if said else []
    if said is None or not denied:
        return False
    absent = [word for word in said.words if not any(matches(word, one) for one in mine.words)]
    known = [word for word in said.words if word not in absent and not word.is_denied]
    if known and known[-1].start > denied[-1].start:
        # "Dana is not our scrum master, it's Luis"
        denied += [word for word in absent if word.form == "proper" and word.start < denied[0].start]
    return bool(known) and bool(absent) and all(word in denied for word in absent)


def is_restated(short: str, full: str, *, with_value: bool = False) -> bool:
    """Whether a statement says nothing that a longer one does not say: "the port is 9090", "the API's port is 9090".

    What it denies does not count: "the port is 9090, not 8080". with_value: whether it must have the last word, too.
    """
    said = _read_denial_of(full, short) or read_said_words(short)
    outdated = find_outdated_numbers(short)
    mine = [word for word in said.words if not (word.is_denied or word.text in outdated)]
    known = read_statement_words(full)
    return (
        bool(mine)
        and len(said.negations) <= len(known.negations)
        and (len(mine) < len(said.words) or not word_tables().ended.search(short))
        and all(any(matches(word, one) for one in known.words) for word in mine)
        and (not with_value or any(matches(word, known.words[-1]) for word in mine))
    )


def find_outdated_numbers(correction: str) -> set[str]:
    """Return the numbers that a correction says are no longer right: 8080 in "not 8080 but 9090"."""
    return {found["before"] or found["after"] for found in _OUTDATED_NUMBER.finditer(correction)}


def get_shape(value: str) -> str:
    """Return a number with each group of digits as 0: "v0.0" for "v1.24"."""
    return re.sub(r"0(?:\.0)+", "0.0", re.sub(r"\d+", "0", value.removeprefix("v")))
