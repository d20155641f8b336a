"""Requests to forget a memory, rule or limit, in seven languages, and which memory one means.

A request has an order, and what it is about: "forget [the port]". Or it has a subject, and says that this no longer
holds: "[the rule about the port] is lifted". `languages/forgetting.json` has these words for each language, all of
which are tried, because a short sentence does not show its language. "Forget" alone means memory; "delete" and "is
lifted" also belong to code, so that they need a word for what is in memory, such as "the rule about" or "from memory".

What is left of the subject without such words must be in the memory, word by word. So no grammar is needed, and a
request about anything else forgets nothing.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal

from msgspec import Struct, structs

from clio.memory.consolidation.content_words import is_said_before, list_words
from clio.memory.preferences.own_sentences import read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.statement_reader import split_clauses
from clio.text.vocabulary import stem_word

MAX_SENTENCE = 160
_MAX_BARE = 3
"""Number of words of a thing that is named without an article."""
RequestKind = Literal["pointing", "stated", "named", "bare", "all"]

_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
_CJK_RUN = re.compile(r"[\u30a0-\u30ff]+|[\u3400-\u9fff々]+|[a-z0-9_./@-]+")
_CLAUSE = re.compile(
    r"\s*(?:[,;:(–—，、；]|\s-\s|(?<!\S)(?:because|since|weil|denn|parce que|car|porque|因为)(?!\S))[\s,]*"
)
_EDGES = " \t.!?,;:。！？，、；：\"'“”„«»‘’「」『』()–—¿¡"
_SO = re.compile(r"(?:so|also|daher|deshalb|donc|así que|entonces|então|portanto|所以|因此|だから)[\s,]*", re.I)


class _Phrases(Struct, frozen=True, kw_only=True):
    """The words of one language, as regular expressions or lists of their alternatives.

    Attributes:
        lead: words before a request that add nothing, such as "please" and "you can".
        polite: beginnings of questions that are requests: "could you".
        forget: orders that always mean memory.
        remove: orders that need a word for what is in memory.
        ended: statements of what the user did to a rule: "we lifted".
        forgotten, over: the same as `forget` and `remove` at the end of a sentence, after its subject.
        it: words that only point to something.
        no_longer: statements that a `subject` has a `role` no longer: "otto is no longer our build box".
        that: words before a whole statement.
        all_rules: words for all limits and rules.
        joint: words between two things.
        bare: words before a thing that is named without a word for what is in memory: "the".
        all: "everything about", which names what is in memory only after `forget` and `forgotten`.
        held: words for what is in memory, which name nothing: "what I said about", "the note on".
        rule: the same for rules and limits; `rule_end`: as part of a word.
        memory: "from memory".
        end: words after a request that add nothing.
        why: the reason of a request that only points.
        alone: sentences that take back the message before.
    """

    lead: str | tuple[str, ...]
    polite: str
    forget: str | tuple[str, ...]
    remove: str | tuple[str, ...]
    ended: str
    forgotten: str
    over: str | tuple[str, ...]
    it: str
    no_longer: str
    that: str = "(?!)"
    all_rules: str
    joint: str
    bare: str
    all: str = "(?!)"
    held: str | tuple[str, ...]
    rule: str
    rule_end: str = "(?!)"
    memory: str
    end: str
    why: str
    alone: str


class _Rules(Struct, frozen=True, kw_only=True):
    """The content of the file.

    Attributes:
        passing: searched anywhere; signs that a request is for the current task, conditional or a guess.
        everything: searched anywhere; words for all that is in memory about something.
        note: searched anywhere; words for notes.
        recurring: searched anywhere; signs of an event that happens again and again.
        not_yet: searched anywhere; signs that an event has not happened, or only somebody says so.
        at_last: words of a statement that an event has happened, which do not tell which.
        restricted: searched in what follows a request; signs that it does not simply forget.
        fillers, fillers_cjk: words that do not tell what a request is about.
        weak: verbs that need not be in the memory if other words of the request are: "the rule about editing setup.py".
    """

    passing: str
    everything: str
    note: str
    recurring: str
    not_yet: str
    at_last: str
    restricted: str
    fillers: tuple[str, ...]
    fillers_cjk: tuple[str, ...]
    weak: tuple[str, ...]
    languages: dict[str, _Phrases]


class ForgetRequest(Struct, frozen=True, kw_only=True):
    """One request to forget something.

    Attributes:
        kind: "pointing" names nothing ("scratch that"), but may follow a sentence about it; "stated" repeats a
            statement; "named" names the subject of something in memory, "bare" a thing, which may as well be of the
            current task; "all" is about all limits and rules.
        about: the statement, or the words that name its subject; of "pointing", the sentence before it.
        quote: the sentence as written.
        is_whole: whether it is the whole message.
        noun: words for what is in memory, if these alone show that it means memory: "limit" in "remove the limit of
            the pod", which is no request to forget "the limit of the pod is 512 MB".
        parts: what it is about if nothing in memory has all words of `about`: each of several things, or the statement
            without the clause after it.
        is_certain: whether its words can only mean memory.
        is_doubtful: whether the thing is named without an article, as in "forget lunch".
        instead: what follows a statement and may say what holds now: "it's Ida".
    """

    kind: RequestKind
    about: str
    quote: str = ""
    is_whole: bool = False
    noun: str = ""
    parts: tuple[str, ...] = ()
    is_certain: bool = False
    is_doubtful: bool = False
    instead: str = ""

    @property
    def means_all(self) -> bool:
        """Whether it is about everything that has its words."""
        return self.kind != "stated" and bool(re.search(_load()[0].everything, self.quote, re.I))

    @property
    def means_note(self) -> bool:
        """Whether it names a note."""
        return self.kind == "named" and bool(re.search(_load()[0].note, self.quote, re.I))


class _Reader:
    """Reads the requests of one language."""

    def __init__(self, phrases: _Phrases, rules: _Rules, *, divides_words: bool) -> None:
        before, after = (r"(?:(?<!\w)|(?='))", r"(?!-?\w)") if divides_words else ("", "")

        def regex(field: str | tuple[str, ...], begin: str = "", end: str = "") -> re.Pattern[str]:
            words = field if isinstance(field, str) else "|".join(field)
            return re.compile(f"{begin}{before}(?:{words}){after}{end}", re.IGNORECASE)

        adds_nothing = regex(phrases.end).pattern
        until_end = rf"(?:[\s,]*{adds_nothing})*\s*(?P<tail>$|[,;(–—，、].*)"
        self._rules = rules
        self._lead = regex(phrases.lead, "(?:", r"[\s,.:;!、，–—-]*)+")
        self._polite, self._alone, self._why = regex(phrases.polite), regex(phrases.alone), regex(phrases.why)
        self._orders = tuple(map(regex, (phrases.forget, phrases.remove, phrases.ended)))
        self._ends = tuple(
            regex(field, r"(?P<subject>.*?)[,，、]?\s*", until_end) for field in (phrases.forgotten, phrases.over)
        )
        self._that, self._bare = (re.compile(one, re.IGNORECASE) for one in (phrases.that, phrases.bare))
        self._it, self._memory = regex(phrases.it), regex(phrases.memory)
        self._held, self._all = regex(phrases.held), regex(phrases.all)
        self._rule = re.compile(f"{regex(phrases.rule).pattern}|{phrases.rule_end}", re.IGNORECASE)
        self._no_longer, self._all_rules = regex(phrases.no_longer), regex(phrases.all_rules)
        self._joint = re.compile(phrases.joint, re.IGNORECASE)
        self._around = re.compile(rf"(?:[\s,]*{adds_nothing}[\s,]*)+", re.IGNORECASE)
        self._end = re.compile(rf"(?:[\s,]*{adds_nothing})+\s*$", re.IGNORECASE)

    def read(self, text: str, masked: str, *, is_question: bool) -> ForgetRequest | None:
        """Read a sentence; None if it is no request."""
        if is_question and not self._polite.match(masked):
            return None
        lead = self._lead.match(masked)
        start = lead.end() if lead else 0
        if any(map(self._is_alone, (masked, masked[start:]))):
            return ForgetRequest(kind="pointing", about="")
        found = self._no_longer.fullmatch(masked, start)
        if found and not re.search(self._rules.restricted, masked[start:], re.IGNORECASE):
            named = [found.span(name) for name, said in found.groupdict().items() if said]
            return ForgetRequest(kind="stated", about=" ".join(text[begin:end] for begin, end in named))
        for order, needs in zip(self._orders, ("", "held", "rule"), strict=True):
            if found := order.match(masked, start):
                return self._read_object(text[found.end() :], masked[found.end() :], needs)
        for end, needs in zip(self._ends, ("", "held"), strict=True):
            found = end.fullmatch(masked, start)
            if found and not re.search(self._rules.restricted, found["tail"], re.IGNORECASE):
                begin, stop = found.span("subject")
                read = self._read_object(text[begin:stop], masked[begin:stop], needs, is_whole=True)
                # "That is no longer true" may be about anything.
                if read and (read.kind != "pointing" or not needs or self._memory.search(found["subject"])):
                    return read
        return None

    def strip_end(self, text: str) -> str:
        """Return the subject of a sentence that says that something no longer holds; other text unchanged."""
        found = self._ends[1].fullmatch(text)
        ended = self._orders[2].match(text)
        return found["subject"] if found else text[ended.end() :] if ended else text

    def ends_rule(self, text: str) -> bool:
        """Whether a clause only ends a rule that it does not name: "the rule is gone", "forget that ban"."""
        lead = self._lead.match(text)
        start = lead.end() if lead else 0
        found = self._ends[1].fullmatch(text, start)
        orders = (order.match(text, start) for order in self._orders[:2])
        abouts = [found["subject"]] if found else [text[order.end() :] for order in orders if order]
        return any(self._rule.fullmatch(self._end.sub("", about).strip(_EDGES)) for about in abouts)

    def _is_alone(self, masked: str) -> bool:
        first, comma, reason = masked.partition(",")
        return self._alone.fullmatch(first) is not None and not (comma and not self._why.fullmatch(reason.strip()))

    def _read_object(self, text: str, masked: str, needs: str, *, is_whole: bool = False) -> ForgetRequest | None:
        """Read what an order is about. is_whole: whether there is nothing after it."""
        has_break = masked.lstrip().startswith(tuple(",;:–—，、"))  # "forget it, I do it myself" without "it"
        text, has_memory = self._blank(self._memory, text, masked)
        masked = self._blank(self._memory, masked, masked)[0]
        start = len(soft[0]) if (soft := self._around.match(masked)) else len(masked) - len(masked.lstrip(" ,"))
        if (that := self._that.match(masked, start)) and (not needs or has_memory):
            clauses = list(_CLAUSE.finditer(masked, that.end()))
            has_reason = bool(clauses) and self._why.fullmatch(masked, clauses[-1].end()) is not None
            stop = clauses[-1].start() if has_reason else len(text)
            is_more = bool(clauses) and not re.search(self._rules.restricted, masked[clauses[0].end() :], re.IGNORECASE)
            parts = (text[that.end() : clauses[0].start()],) if is_more else ()
            instead = text[clauses[0].end() :] if clauses else ""
            about = text[that.end() : stop]
            return ForgetRequest(kind="stated", about=about, parts=parts, is_certain=not needs, instead=instead)
        clause = None if is_whole else _CLAUSE.search(masked, start + 1)
        stop = clause.start() if clause else len(masked)
        rest = masked[clause.end() :].strip(_EDGES) if clause else ""
        rest = "" if self._end.fullmatch(rest) else rest
        soft_end = self._end.search(masked, start, stop)
        stop = soft_end.start() if soft_end else stop
        text, masked = text[start:stop], masked[start:stop]
        body = masked.strip(_EDGES)
        if not body or self._it.fullmatch(body):
            is_certain = needs != "rule" and (not needs or has_memory or self._rule.search(body) is not None)
            is_only = not rest or self._why.fullmatch(rest) is not None
            return ForgetRequest(kind="pointing", about="") if is_certain and is_only else None
        if self._all_rules.fullmatch(body):
            return ForgetRequest(kind="all", about=body, is_certain=True)
        if re.search(self._rules.restricted, rest, re.IGNORECASE):
            return None
        about, names_rule = self._blank(self._rule, text, masked)
        about, names_held = self._blank(self._held, about, masked)
        about, names_all = self._blank(self._all, about, masked) if not needs else (about, False)
        if names_rule or has_memory or (names_held and needs != "rule") or names_all:
            removed = "".join(" " if left != " " else one for one, left in zip(text, about, strict=True))
            noun = "" if has_memory or not needs else " ".join(list_terms(removed))
            read = ForgetRequest(kind="named", about=about, noun=noun, is_certain=not needs or has_memory)
            return read if list_terms(about) else None
        terms = list_terms(body)
        is_bare = self._bare.match(body) is not None
        if needs or rest or not (is_bare or (0 < len(terms) <= _MAX_BARE and not has_break)):
            return None
        parts = tuple(self._joint.split(text.strip(_EDGES)))
        parts = parts if len(parts) > 1 and all(map(self._bare.match, parts)) else ()
        return ForgetRequest(kind="bare", about=text, parts=parts, is_certain=True, is_doubtful=not is_bare)

    @staticmethod
    def _blank(pattern: re.Pattern[str], text: str, masked: str) -> tuple[str, bool]:
        """Return the text with spaces in place of what matches in the masked text, and whether anything does."""
        found = [one.span() for one in pattern.finditer(masked) if one[0]]
        for start, end in found:
            text = text[:start] + " " * (end - start) + text[end:]
        return text, bool(found)


@cache
def _load() -> tuple[_Rules, tuple[_Reader, ...], re.Pattern[str]]:
    rules = load_rule_file("forgetting", _Rules)
    readers = tuple(
        _Reader(phrases, rules, divides_words=code not in ("zh", "ja")) for code, phrases in rules.languages.items()
    )
    return rules, readers, re.compile(rules.passing, re.IGNORECASE)


@lru_cache(maxsize=64)
def find_forget_requests(text: str) -> tuple[ForgetRequest, ...]:
    """Return the requests of a message to forget something, in its order. Cached."""
    sentences = read_own_sentences(re.sub(r"([。！？])(?=\S)", r"\1\n", text), MAX_SENTENCE)
    found: list[ForgetRequest] = []
    before = ""
    for said in sentences:
        start = len(said.masked) - len(said.masked.lstrip(_EDGES))
        stop = len(said.masked.rstrip(_EDGES))
        read = _read_request(said.text[start:stop], said.masked[start:stop], is_question=said.is_question)
        if read is not None:
            about = before if read.kind == "pointing" else read.about
            found.append(structs.replace(read, about=about, quote=said.text, is_whole=len(sentences) == 1))
        before = _strip_ends(said.text)
    return tuple(found)


def takes_back_last(sentence: str) -> bool:
    """Whether a sentence only takes back what was said before it, so that it says no new value: "no, scratch that"."""
    return any(one.kind == "pointing" for one in find_forget_requests(sentence))


def _strip_ends(text: str) -> str:
    for reader in _load()[1]:
        text = reader.strip_end(text.strip(_EDGES))
    return text


def _read_request(text: str, masked: str, *, is_question: bool) -> ForgetRequest | None:
    _, readers, passing = _load()
    if passing.search(text):
        return None
    is_question = is_question or text.endswith(("吗", "か"))
    for reader in readers:
        if read := reader.read(text, masked, is_question=is_question):
            return read
    clauses = list(_CLAUSE.finditer(masked))
    if not clauses or is_question:
        return None
    last = _SO.sub("", masked[clauses[-1].end() :])
    points = any((read := one.read(last, last, is_question=False)) and read.kind == "pointing" for one in readers)
    about = _strip_ends(text[: clauses[-1].start()])
    return ForgetRequest(kind="bare" if list_terms(about) else "pointing", about=about) if points else None


def list_terms(text: str) -> list[str]:
    """Return the words that tell what a text is about, in lower case."""
    if not _CJK.search(text):
        return [word for word in list_words(text) if word not in _fillers().words]
    text = text.casefold()
    for filler in _fillers().cjk:
        text = text.replace(filler, " ")
    return _CJK_RUN.findall(text)


class _Fillers(Struct, frozen=True):
    words: frozenset[str]
    weak: frozenset[str]
    cjk: tuple[str, ...]


@cache
def _fillers() -> _Fillers:
    rules = _load()[0]
    words, weak = (frozenset(" ".join(lines).split()) for lines in (rules.fillers, rules.weak))
    weak |= {word.removesuffix("s") for word in weak}  # as `list_terms` returns them
    return _Fillers(words, weak, tuple(sorted(rules.fillers_cjk, key=len, reverse=True)))


class _Content:
    """The words of a memory, with the parts of paths and compounds, by which users name them."""

    def __init__(self, text: str) -> None:
        self._text = text.casefold()
        terms = list_terms(text)
        paths = [part for term in terms for part in (term.strip("/"), *term.split("/")) if part]
        self._words = {*terms, *paths, *(part for one in paths for part in re.split(r"[._-]", one) if part)}

    def has(self, term: str) -> bool:
        """Whether a word of a request is in the memory."""
        if _CJK.search(term):
            pairs = [term[at : at + 2] for at in range(len(term) - 1)]
            is_near = set(term) <= set(self._text) and sum(pair in self._text for pair in pairs) * 2 >= len(pairs)
            return term in self._text or (len(term) > 2 and is_near)
        if any(is_same_word(term.strip("/"), word) for word in self._words):
            return True
        parts = [part for part in term.split("-") if part and part not in _fillers().words]
        return "-" in term and bool(parts) and all(map(self.has, parts))


def is_same_word(one: str, other: str) -> bool:
    """Whether two words are equal, or forms of one word: "deploy" and "deployments"."""
    if one == other:
        return True
    if not (one.isalpha() and other.isalpha()):
        return False
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    shorter, longer = sorted((len(one), len(other)))
    is_ending = same == shorter >= 4 and longer - shorter <= 2
    return is_ending or stem_word(one) == stem_word(other) or (same >= 5 and same * 2 >= longer)


def is_meant(content: str, request: ForgetRequest) -> bool:
    """Whether a request that names something names this memory."""
    named = _list_named_terms(content, request)
    if request.kind != "stated" or not named:
        return bool(named)
    return len(set(named)) * 10 >= len(set(list_terms(content)) - _fillers().weak) * 7


def is_part_meant(content: str, request: ForgetRequest, *, is_preference: bool) -> bool:
    """Whether a request states a part of what a memory says: "I prefer tabs", of tabs in Go and spaces in Python.

    A part has a quarter of its words, most of those of one clause, or any of a preference.
    """
    named = set(_list_named_terms(content, request)) if request.kind == "stated" else set[str]()
    clauses = [content[start:end] for start, end in split_clauses(content)]
    return bool(named) and (
        is_preference
        or len(named) * 4 >= len(set(list_terms(content)) - _fillers().weak)
        or any(is_meant(clause, request) for clause in clauses)
    )


def _list_named_terms(content: str, request: ForgetRequest) -> list[str]:
    """Return the words of a request that tell what it is about, if all of them are in the memory."""
    wanted, memory = list_terms(request.about), _Content(content)
    named = [term for term in wanted if term not in _fillers().weak or memory.has(term)] or wanted
    if not all(map(memory.has, named)) or any(map(memory.has, request.noun.split())):
        return []
    # "forget that we deploy with make deploy" is not about "we deploy with make ship".
    known = list_terms(content)
    repeats_less = request.kind == "stated" and any(1 < named.count(term) > known.count(term) for term in named)
    return [] if repeats_less else named


def needs_confirmation(request: ForgetRequest, content: str, context: str) -> bool:
    """Whether a request may as well be about the current task.

    context: what was said just before, in which the thing was named without this memory.
    """
    if request.kind != "bare":
        return False
    said = _Content(context)
    is_named_before = any(map(said.has, list_terms(request.about)))
    return not request.is_whole or request.is_doubtful or (is_named_before and not is_said_before(content, context))


def is_stated_in(content: str, message: str) -> bool:
    """Whether a memory was stated in a message, so that "scratch that" after it takes it back."""
    terms, said = list_terms(content), _Content(message)
    return bool(terms) and all(map(said.has, terms))


def is_said_in(content: str, message: str) -> bool:
    """Whether a message has one of the words that tell what a memory is about."""
    return any(map(_Content(message).has, list_terms(content)))


def list_named(contents: Sequence[str], request: ForgetRequest) -> list[int]:
    """Return the indexes of the memories that a request names; of several only those that it repeats best."""
    found = [place for place, content in enumerate(contents) if is_meant(content, request)]
    if len(found) > 1 and request.kind == "stated":
        wanted = set(list_terms(request.about))
        return [place for place in found if set(list_terms(contents[place])) == wanted] or found
    return found
