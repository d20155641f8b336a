"""What the user's messages take back: limits that no longer apply, and memories to forget.

Limits are lifted only by the user's own sentences: nothing that a model, a tool or a file says lifts a limit. A
permission for one occasion ("just this once"), with a condition ("if the tests pass") or in a question lifts nothing.
The rules of other languages than English are read by `rule_files`.

"Forget that the cache lives in Redis" repeats a statement, "forget what I said about the proxy port" and "never mind
the proxy port" name its subject, and "scratch that" takes back the message before. All words of the request must be in
the memory (`languages/forgetting.json` has the phrases), so that a request about anything else forgets nothing.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Literal

from msgspec import Struct, structs

from clio.errors import UserError
from clio.memory.consolidation.value_corrections import (
    is_said_before,
    list_content_words,
    list_repeated_words,
)
from clio.memory.preferences.foreign_statements import (
    USING,
    allows_more,
    compare_withdrawn,
    detect_language,
    is_act_alone,
    is_own_english,
    list_foreign_texts,
    read_withdrawals,
)
from clio.memory.preferences.rule_files import FILLER, english_rules, load_rule_file, read_own_sentences
from clio.memory.preferences.stated_preferences import DISLIKED, VERBS
from clio.memory.statement_words import PREPOSITIONS, STOP_WORDS
from clio.memory.store.record import (
    PROJECT_KINDS,
    SHORT_ID,
    MemoryRecord,
    Replacement,
    shorten_content,
)
from clio.memory.store.typed_store import Scope
from clio.memory.system import MemorySystem
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr
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
_FORGET_ONLY = _EN.pattern("forget_only")
_FORGET_QUOTED = _EN.pattern("forget_quoted")
"""A limit that is named in quotation marks: "drop the 'only edit utils' limit"."""
_FORGET_STATED = _EN.pattern("forget_stated")
_FORGET_NAMED = _EN.pattern("forget_named")
_RULE_IS_GONE = _EN.pattern("rule_is_gone")
_NAMED_RULE_IS_GONE = _EN.pattern("named_rule_is_gone")
_CHANGED_MIND = _EN.pattern("changed_mind")
_NOT_FORBIDDEN = _EN.pattern("not_forbidden")
_USE_NOW = _EN.pattern("use_now")
_PRAISE = _EN.pattern("praise")
_PRAISED_AFTER_ALL = _EN.pattern("praised_after_all")
_BLAME = _EN.pattern("blame")
_WHATEVER_YOU_LIKE = _EN.pattern("whatever_you_like")
_MORE = _EN.pattern("more")
"""Words by which a permission adds to what an "only" limit allows: "you may edit core.py too"."""
_TAIL = _EN.pattern("tail")
_PROHIBITION = _EN.pattern("prohibition")
_DISLIKED = _EN.pattern("disliked")
_CONDITION = _EN.pattern("condition")
"""Words of a limit that make it narrower than a plain prohibition, such as "without asking"."""
_FILLERS = _EN.word_set("fillers")
_VERB_GROUPS = {word: group for group, lines in _EN.maps["verb_groups"].items() for word in lines.split()}
_AND_ORDER = re.compile(r",? and (?=[a-z]+ )|, (?=[a-z]+ )|; ")
_EXCLUDED = re.compile(
    r"(?:,? (?:and |und |et |y |e )?(?:not|never|nicht|nie|pas|no|não)| (?:instead|in place) of| rather than|"
    r" (?:an)?statt| anstelle von| au lieu de| plutôt que| en (?:vez|lugar) de| em (?:vez|lugar) de| ao invés de)"
    r" (\w[\w+#.-]*)(?:,? (?:here|verwenden|benutzen|nutzen))?$|(?:不要?用|别用|代替|而不是|取代) ?(\w[\w+#.-]*)$"
    r"|^([A-Za-z][\w+#.-]*?) ?(?:ではなく|じゃなく|の代わりに)|([A-Za-z][\w+#.-]*?) ?は使(?:わな|いませ)",
    re.IGNORECASE,
)
"""What a limit excludes that names something else to use: "use uv, not pip"."""
_OF_TEAM = re.compile(r"we (?=(?:never|always|only|don['’]?t|do not)\b)", re.I)
"""The subject of a rule of the team, which demands the same without it: "we never push on Fridays"."""
_ASKING = re.compile(
    r"without (?:first )?(?:asking|checking with|telling|consulting)(?: (?:me|us))?(?: first)?"
    r"|without (?:my|our) (?:explicit )?(?:ok(?:ay)?|permission|approval|consent|confirmation|go-ahead)",
    re.I,
)
_ON_YOUR_OWN = re.compile(
    r"\b(?:on your own|by yourself|without me|unasked|whenever you (?:like|want)|freely|at will)\b", re.I
)
"""What permits to do something without asking, as `_ASKING` does."""
_ASK_BEFORE = re.compile(
    r"(?:please )?(?:always )?ask(?:ing)?(?: me| us)?(?: first)? before (?:you |every |each )?", re.I
)
"""A limit or duty to ask: "ask me before committing" demands never to commit without asking."""
_OF_THIS_TASK = re.compile(r"(?:for|in|on|during) (?:this|the current) \w+\s*[:,]?\s+", re.I)
_PLACE_BEFORE = re.compile(
    r"((?:in|on|at|for|during|with|within|inside|outside|under|after|before|without)\b .{1,60}?),? (?:we )?"
    r"((?:never|don['’]?t|do not|no|avoid|always|only|must(?:n['’]?t)?)\b.*)",
    re.I,
)
"""A limit with its place or condition first, which is compared as if it came last: "on production never …"."""
_ONLY = re.compile(r"(?:you (?:may|can|should|must) )?only (?:ever )?(?=\w)", re.I)
_OTHER_THAN = re.compile(r"\bother\b.*\bthan\b|\b(?:besides|apart from|in addition to)\b", re.I)
_BEFORE_VERBS = frozenset("or and to ever just also please now any more not never dont be".split())
_MAX_ALONE = 12
"""A permission without a lasting word counts if it is the whole message and has at most this many words."""

WithdrawalKind = Literal["permission", "release", "forget", "praise", "blame"]


class Withdrawal(Struct, frozen=True, kw_only=True):
    """One statement that takes something back.

    Attributes:
        kind: "permission" allows what a limit prohibits; "release" no longer wants what a rule or preference asks for;
            "forget" names a rule or limit to forget; "praise" takes back a dislike, and "blame" a liking.
        about: the words that say what it is about; "" if it only points ("forget that rule").
        quote: the sentence as written.
        language: code of its language; "" for English.
        may_be_state: whether it only says that something is fine, which may as well describe its state.
    """

    kind: WithdrawalKind
    about: str
    quote: str
    language: str = ""
    may_be_state: bool = False


def find_withdrawals(text: str) -> list[Withdrawal]:
    """Return the statements of a message that lift a limit or take back a preference, in its order."""
    language = detect_language(text)
    sentences = read_own_sentences(text, MAX_SENTENCE)
    found = [
        Withdrawal(kind=one.kind, about=one.about, quote=one.quote, language=code, may_be_state=one.may_be_state)
        for code, part in list_foreign_texts(text)
        for one in read_withdrawals(part, code)
    ]
    for said in sentences:
        if not is_own_english(said.text, text, language):
            continue
        lead = _LEAD.match(said.masked)
        start = lead.end() if lead else 0
        if said.is_question:
            continue
        if quoted := _FORGET_QUOTED.match(said.text, start):
            found.append(Withdrawal(kind="forget", about=quoted["about"], quote=said.text))
            continue
        if FILLER in said.masked or _PASSING.search(said.masked, start):
            continue
        is_alone = len(sentences) == 1 and len(said.text.split()) <= _MAX_ALONE
        read = _read(said.masked[start:], is_alone=is_alone or _LASTING.search(said.masked) is not None)
        if read is not None:
            kind, (begin, end) = read
            about = _without_tail(said.text[start:][begin:end])
            may_be_state = kind == "permission" and not begin and not _GRANTED.search(said.masked, start)
            found.append(Withdrawal(kind=kind, about=about, quote=said.text, may_be_state=may_be_state))
    return found


def _read(masked: str, *, is_alone: bool) -> tuple[WithdrawalKind, tuple[int, int]] | None:
    """Return the kind of a sentence, and the place of the words that say what it is about; None for any other."""
    kinds: tuple[tuple[WithdrawalKind, tuple[LazyRegex, ...]], ...] = (
        (
            "forget",
            (
                *(_FORGET_STATED, _FORGET_ONLY, _FORGET, _FORGET_NAMED, _RULE_IS_GONE, _NAMED_RULE_IS_GONE),
                *(_CHANGED_MIND, _NOT_FORBIDDEN),
            ),
        ),
        ("permission", (_ALLOWED_TO, _THING_IS_FINE, _USE_NOW, _WHATEVER_YOU_LIKE) if is_alone else ()),
        ("release", (_NO_NEED, _NO_LONGER_WANTED)),
        ("praise", (_PRAISE, _PRAISED_AFTER_ALL)),
        ("blame", (_BLAME,)),
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


def is_lifted(limit: str, one: Withdrawal, *, is_held: bool = False) -> bool:
    """Whether a withdrawal takes back this limit, rule or preference.

    A permission must name all that the limit is about, and nothing narrower: "you may edit setup.py" lifts "never edit
    setup.py", but not "never edit files without asking", and "you may edit docs/setup.md" lifts neither.

    is_held: whether the limit was stated for the session only; see `is_act_alone`.
    """
    language = one.language or detect_language(limit)
    excluded = _EXCLUDED.search(limit) if one.kind == "permission" else None
    if excluded:  # "use uv, not pip" prohibits pip
        name = next(filter(None, excluded.groups()))
        limit = f"{name}は禁止" if language == "ja" else f"never {name}"
    if one.kind == "praise" or one.kind == "blame":
        return not language and _is_about(limit, one.kind, one.about, is_held=is_held)
    if language:
        return compare_withdrawn(
            limit,
            one.about,
            one.kind,
            language,
            quote=one.quote,
            may_be_state=one.may_be_state,
            is_held=is_held,
        )
    if one.may_be_state and not _verbs(one.about) and not _verbs_of_limit(limit) <= USING:
        return False
    limit = _OF_THIS_TASK.sub("", limit)
    limit = _OF_TEAM.sub("", _PLACE_BEFORE.sub(r"\2 \1", limit))
    one, limit = _permit_unasked(one), _ASKING.sub("without asking", limit)
    if one.kind == "permission" and (duty := _ASK_BEFORE.match(limit)):
        limit = f"never {_without_plural(limit[duty.end() :])} without asking"
    if one.kind == "permission" and (only := _ONLY.match(limit)):
        return _allows_more(limit[only.end() :], one)
    first_order = _AND_ORDER.split(one.about)[0]
    abouts = [about for about in dict.fromkeys((one.about, first_order)) if about]
    return any(_is_about(limit, one.kind, about, is_held=is_held) for about in abouts)


def _permit_unasked(one: Withdrawal) -> Withdrawal:
    """Return a permission to act "on your own", or the end of a duty to ask before, as "… without asking"."""
    if one.kind == "release" and (duty := _ASK_BEFORE.match(one.about)):
        return structs.replace(
            one, kind="permission", about=f"{_without_plural(one.about[duty.end() :])} without asking"
        )
    if one.kind == "permission" and _ON_YOUR_OWN.search(one.quote):
        return structs.replace(one, about=f"{_ON_YOUR_OWN.sub('', one.about).strip()} without asking")
    return structs.replace(one, about=_ASKING.sub("without asking", one.about))


def _without_plural(text: str) -> str:
    """Return the text with its first word in the singular: "commit" for "commits", as what is done."""
    return re.sub(r"^(\w+?)(?:(?<=sh)e)?s\b", r"\1", text)


def _allows_more(demanded: str, one: Withdrawal) -> bool:
    """Whether a permission allows what a limit such as "only edit utils.py" excludes: another file, or others "too"."""
    mine, other = _objects(demanded), _objects(one.about)
    if not _verbs(demanded) & _verbs(one.about):
        return False
    if _OTHER_THAN.search(one.about):
        return bool(mine and other) and other <= _with_parts_of_paths(mine)
    return allows_more(mine, other, says_more=_MORE.search(one.quote) is not None)


def _with_parts_of_paths(objects: frozenset[str]) -> frozenset[str]:
    """Return the terms with the last parts of paths, by which users name files: "utils.py" and "utils"."""
    names = {word.rstrip("/").rpartition("/")[2] for word in objects}
    return objects | names | {stem_word(name.partition(".")[0]) for name in names if name.partition(".")[0]}


def _is_about(limit: str, kind: WithdrawalKind, about: str, *, is_held: bool) -> bool:
    if kind == "forget":
        wanted = _objects(about) or _verbs(about)
        is_quoted = " " in about and about.casefold() in limit.casefold()
        named = _with_parts_of_paths(_objects(limit)) | _verbs(limit) | _verbs_of_limit(limit)
        return is_quoted or (bool(wanted) and wanted <= named)
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
    if kind == "praise" and not disliked:
        return False
    if kind == "blame" and (beginning or _verbs(limit.removeprefix("prefer "))):
        return False  # a rule stays, whatever the user thinks of what it demands
    about = about[avoided.end() :] if avoided and kind == "release" else about
    mine, other = _objects(demanded), _objects(about)
    verbs, others = _verbs(demanded), _verbs(about)
    if kind == "permission" and is_held and is_act_alone(limit, verbs, others, other):
        return True
    if bool(_CONDITION.search(demanded)) != bool(_CONDITION.search(about)):
        return False
    return bool(mine or verbs) and bool(other or others) and mine == other and (verbs <= others or not others)


def _as_stated(record: MemoryRecord) -> str:
    """Return the text of a preference as the user says it: a dislike is stored as the thing that is disliked."""
    is_dislike = record.score is not None and record.score <= DISLIKED and not record.explicit
    is_bare = is_dislike and not _DISLIKED.match(record.content) and not _PROHIBITION.match(record.content)
    return f"hate {record.content}" if is_bare else record.content


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
    takes, before = True, ""
    for word in _words(text):
        verb = _verb_of(word)
        if takes and verb and not (before == "to" and word.endswith("ing")):  # "push to staging"
            found.add(verb)
        elif word not in _BEFORE_VERBS:
            takes = False
        takes, before = takes or word in ("or", "and"), word
    return frozenset(found)


def _verb_of(word: str) -> str:
    """Return the group of a verb, such as "edit" for "change" and "editing"; "" for any other word."""
    stem = word.removesuffix("ing")
    for form in (word, stem, word if stem == word else f"{stem}e", re.sub(r"(.)\1ing$", r"\1", word)):
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
        if word in _FILLERS or word in STOP_WORDS or word in PREPOSITIONS:
            continue
        if _verb_of(word) in verbs and _verb_of(word):
            continue
        found.add(stem_word(word))
    return frozenset(found)


RequestKind = Literal["pointing", "stated", "explicit", "bare"]
_REQUEST_KINDS: tuple[RequestKind, ...] = ("pointing", "explicit", "stated", "bare")
_PART = re.compile(r"\{([a-z]+)\}")


class _ForgetRules(Struct, frozen=True, kw_only=True):
    """The phrases of requests to forget, of all languages together: a short sentence does not show its language.

    Attributes:
        passing: searched anywhere; signs that a request is for the current task, or conditional.
        parts: pieces of the regular expressions.
        pointing: requests that name nothing: "scratch that".
        stated: requests that repeat the statement, in the group `about`.
        explicit: requests that name the subject of something the user said: "forget what I said about tabs".
        bare: requests that name a thing: "never mind the port". They may be about the current task.
    """

    passing: str
    parts: dict[str, str]
    pointing: tuple[str, ...]
    stated: tuple[str, ...]
    explicit: tuple[str, ...]
    bare: tuple[str, ...]


class ForgetRequest(Struct, frozen=True, kw_only=True):
    """One request to forget something.

    Attributes:
        kind: see `_ForgetRules`.
        about: the statement, or the words that name its subject; "" if it only points.
        quote: the sentence as written.
        is_whole: whether it is the whole message.
    """

    kind: RequestKind
    about: str
    quote: str
    is_whole: bool


@cache
def _forget_patterns() -> tuple[re.Pattern[str], dict[RequestKind, tuple[re.Pattern[str], ...]]]:
    rules = load_rule_file("forgetting", _ForgetRules)

    def compile(phrase: str) -> re.Pattern[str]:
        while _PART.search(phrase):
            phrase = _PART.sub(lambda found: rules.parts[found[1]], phrase)
        return re.compile(phrase, re.IGNORECASE)

    return re.compile(rules.passing, re.IGNORECASE), {
        kind: tuple(map(compile, getattr(rules, kind))) for kind in _REQUEST_KINDS
    }


def find_forget_requests(text: str) -> list[ForgetRequest]:
    """Return the requests of a message to forget something, in its order."""
    sentences = read_own_sentences(re.sub(r"([。！？])(?=\S)", r"\1\n", text), MAX_SENTENCE)
    return [
        ForgetRequest(kind=kind, about=about, quote=said.text, is_whole=len(sentences) == 1)
        for said in sentences
        if not said.is_question
        for kind, about in _read_request(said.text, said.masked)
    ]


def takes_back_last(sentence: str) -> bool:
    """Whether a sentence only takes back what was said before it, so that it says no new value: "no, scratch that"."""
    return any(one.kind == "pointing" for one in find_forget_requests(sentence))


def _read_request(text: str, masked: str) -> Iterator[tuple[RequestKind, str]]:
    plain = text.strip(" .!。！,")
    passing, patterns = _forget_patterns()
    for kind in _REQUEST_KINDS:
        for pattern in patterns[kind]:
            found = pattern.fullmatch(plain)
            if found is None:
                continue
            about = found.groupdict().get("about") or ""
            if passing.search(plain) or (FILLER in masked and not about):
                return
            yield kind, about.strip(' .,“”"')
            return


def is_meant(content: str, request: ForgetRequest) -> bool:
    """Whether a request that names something names this memory."""
    wanted, words = list_content_words(request.about), list_content_words(content)
    if request.kind == "stated" and Counter(list_repeated_words(request.about)) - Counter(list_repeated_words(content)):
        return False  # "forget that we deploy with make deploy" is not about "we deploy with make ship"
    if not wanted and len(request.about) > 1 and not request.about.isascii():
        wanted = frozenset((request.about,))
    if not wanted or not all(_contains_word(content, words, word) for word in wanted):
        return False
    return request.kind != "stated" or len(wanted) * 10 >= len(words) * 7


def needs_confirmation(request: ForgetRequest, content: str, context: str) -> bool:
    """Whether a request may as well be about the current task.

    context: what was said just before, in which the thing was named without this memory.
    """
    if request.kind != "bare":
        return False
    known = list_content_words(context)
    is_named_before = any(_contains_word(context, known, word) for word in list_content_words(request.about))
    return not request.is_whole or (is_named_before and not is_said_before(content, context))


def is_stated_in(content: str, message: str) -> bool:
    """Whether a memory was stated in a message, so that "scratch that" after it takes it back."""
    words = list_content_words(content)
    known = list_content_words(message)
    return bool(words) and all(_contains_word(message, known, word) for word in words)


def _contains_word(text: str, words: Collection[str], word: str) -> bool:
    """Whether a text contains a word. words: its words; a run of Chinese or Japanese characters is not divided."""
    return word in words or (not word.isascii() and word in text.casefold())


def list_named(contents: Sequence[str], request: ForgetRequest) -> list[int]:
    """Return the indexes of the memories that a request names; of several only those that it repeats best."""
    found = [place for place, content in enumerate(contents) if is_meant(content, request)]
    if len(found) > 1 and request.kind == "stated":
        wanted = list_content_words(request.about)
        same = [place for place in found if list_content_words(contents[place]) == wanted]
        return same or found
    return found


MAX_LISTED = 4
"""Number of memories that are listed if it is not clear which one a correction is about."""


def list_preferences(memory: MemorySystem) -> list[tuple[Scope, MemoryRecord]]:
    """Return the preferences, rules and limits with their scope; the project's only if the project is trusted."""
    found: list[tuple[Scope, MemoryRecord]] = [("user", one.record) for one in memory.preferences.all()]
    if not memory.is_foreign:
        found.extend(("project", one.record) for one in memory.project_preferences.all())
    return found


def get_session(record: MemoryRecord) -> str:
    """Return the id of the session that a memory comes from; "" if it is not known."""
    return record.provenance.session if record.provenance else ""


class Lifted(Struct, frozen=True, kw_only=True):
    """What one statement of the user takes back.

    Attributes:
        records: the limits, rules and preferences that were archived.
        held: limits of this session that no longer apply.
        restored: memories that hold again, because what had taken their place was archived.
        held_again: limits of this session that apply again.
        candidates: what it may have meant, if that is not clear; nothing was archived then.
        is_empty: whether it means the message before, which changed nothing; the user is told so.
        quote: the sentence as written.
    """

    records: tuple[MemoryRecord, ...] = ()
    held: tuple[str, ...] = ()
    restored: tuple[MemoryRecord, ...] = ()
    held_again: tuple[str, ...] = ()
    candidates: tuple[MemoryRecord, ...] = ()
    is_empty: bool = False
    quote: str

    def describe(self) -> str:
        """Return the line that reports it; "" if there was nothing to take back."""
        if self.is_empty:
            return tr("Nothing to take back: your last message changed nothing in memory")
        if self.candidates:
            listed = "; ".join(f"{one.id[-SHORT_ID:]} “{shorten_content(one)}”" for one in self.candidates)
            return tr("Not clear which one no longer applies: {listed} · /memory forget ID", listed=listed)
        gone = [*(shorten_content(one) for one in self.records), *self.held]
        undo = tr(" · /memory undo") if self.records or self.restored else ""
        if again := "; ".join((*map(shorten_content, self.restored), *self.held_again)):
            if not gone:
                return tr("Valid again: {again}{undo}", again=again, undo=undo)
            return tr(
                "No longer applies: {gone}; valid again: {again}{undo}", gone="; ".join(gone), again=again, undo=undo
            )
        return tr("No longer applies: {gone}{undo}", gone="; ".join(gone), undo=undo) if gone else ""


def lift_limits(memory: MemorySystem, text: str, session: str) -> list[Lifted]:
    """Archive the limits, rules and preferences that the user's message takes back; each sentence is one change.

    Raises UserError, StorageError, OSError.
    """
    done: list[Lifted] = []
    for one in find_withdrawals(text):
        known = [record for _, record in list_preferences(memory)]
        if not memory.is_foreign:
            known += [entry for entry in memory.store.records(PROJECT_KINDS) if entry.kind == "rule"]
        held = tuple(limit for limit in memory.held_limits if is_lifted(limit, one, is_held=True))
        if one.about:
            records = [record for record in known if is_lifted(_as_stated(record), one)]
        else:  # "forget that rule"
            here = [record for record in known if get_session(record) == session]
            records = [max(here, key=lambda record: record.updated)] if here else []
        if one.kind == "forget" and len(records) > 1:
            done.append(Lifted(candidates=tuple(records), quote=one.quote))
            continue
        done.append(_take_back(memory, records, held, one.quote))
    return done


def _take_back(memory: MemorySystem, records: Sequence[MemoryRecord], held: tuple[str, ...], quote: str) -> Lifted:
    """Archive memories and lift limits of this session, if there are any."""
    if records:
        memory.store.forget(*[record.id for record in records])
    if held:
        memory.lift_held(held)
    return Lifted(records=tuple(records), held=held, quote=quote)


class UnclearRequest(Struct, frozen=True, kw_only=True):
    """A request to forget something that may as well be about the current task, so that nothing was archived.

    Attributes:
        record: the memory that it names.
        quote: the sentence as written.
    """

    record: MemoryRecord
    quote: str

    def describe(self) -> str:
        """Return the line that names the memory."""
        return Lifted(candidates=(self.record,), quote=self.quote).describe()

    def question(self) -> str:
        """Return the question whether the memory is meant."""
        return tr("Forget “{content}”?", content=shorten_content(self.record))

    def apply(self, memory: MemorySystem) -> Lifted:
        """Archive the memory. Raises UserError, StorageError, OSError."""
        return _take_back(memory, (self.record,), (), self.quote)


class MessageBefore(Struct, frozen=True, kw_only=True):
    """The user's message before this one, which "scratch that" takes back. Times are in seconds since the epoch.

    Attributes:
        text: as written; "" if this message is the first of its session.
        since: when the message before it was written, or the session began.
        at: when it was written. What it changed in memory was changed between these times.
        lifted: the limits of this session that it lifted; they are in no log.
    """

    text: str = ""
    since: float = 0.0
    at: float = 0.0
    lifted: tuple[str, ...] = ()


def forget_stated(
    memory: MemorySystem, text: str, session: str, context: str, last: MessageBefore, done: Collection[str]
) -> list[Lifted | UnclearRequest]:
    """Archive the memories that the user's message asks to forget; each sentence is one change to undo.

    Args:
        context: what was said just before.
        done: sentences of the message that have taken something back already.

    Raises UserError, StorageError, OSError.
    """
    found: list[Lifted | UnclearRequest] = []
    has_taken_back = False
    for request in find_forget_requests(text):
        if request.quote in done:
            continue
        known = _list_forgettable(memory)
        if request.kind == "pointing":
            if not has_taken_back and (lifted := _take_back_last(memory, known, session, last, request)):
                found.append(lifted)
            has_taken_back = True
            continue
        records = [known[place] for place in list_named([one.content for one in known], request)]
        held = tuple(one for one in memory.held_limits if request.kind != "bare" and is_meant(one, request))
        if len(records) > 1:
            found.append(Lifted(candidates=tuple(records[:MAX_LISTED]), quote=request.quote))
        elif records and needs_confirmation(request, records[0].content, context):
            found.append(UnclearRequest(record=records[0], quote=request.quote))
        elif records or held:
            found.append(_take_back(memory, records, held, request.quote))
    return found


def _list_forgettable(memory: MemorySystem) -> list[MemoryRecord]:
    known = [record for _, record in list_preferences(memory)]
    return known + [one for one in memory.store.records(_FORGETTABLE, with_notes=False) if not one.is_variant]


def _take_back_last(
    memory: MemorySystem, known: Sequence[MemoryRecord], session: str, last: MessageBefore, request: ForgetRequest
) -> Lifted | None:
    """Take back what the user's last message changed in memory, as one change.

    Returns None if it changed nothing and the user can't mean memory: none of it is from this session.
    """
    replaced, forgotten = _find_changes(memory, known, session, last)
    taken = {one.new.id for one in replaced}
    records = [
        one
        for one in known
        if one.id not in taken and get_session(one) == session and is_stated_in(one.content, last.text)
    ]
    held = tuple(one for one in memory.held_limits if is_stated_in(one, last.text))
    if last.lifted:
        memory.hold_limits(last.lifted)
    if not (replaced or forgotten or records or held or last.lifted):
        is_about_memory = not last.text or any(get_session(one.record) == session for one in memory.store.versions())
        return Lifted(is_empty=True, quote=request.quote) if request.is_whole and is_about_memory else None
    if not replaced and not forgotten:
        lifted = _take_back(memory, records, held, request.quote)
        return structs.replace(lifted, held_again=last.lifted)
    back: list[MemoryRecord] = []
    with memory.store.group(f"took back “{shorten_content([*(one.new for one in replaced), *forgotten][0])}”"):
        gone, again = memory.store.take_back(*replaced)
        for one in forgotten:
            with suppress(UserError):  # another memory says the same
                back.append(memory.store.restore(one.id))
        memory.note_restored((*again, *back))
        lifted = _take_back(memory, records, held, request.quote)
    records = [*gone, *lifted.records]
    return structs.replace(lifted, records=tuple(records), restored=(*again, *back), held_again=last.lifted)


def _find_changes(
    memory: MemorySystem, known: Sequence[MemoryRecord], session: str, last: MessageBefore
) -> tuple[list[Replacement], list[MemoryRecord]]:
    """Return what replaced other memories, and what was forgotten, by the user's last message or by an answer to it.

    The change log tells it, so that it is known after a restart, too.
    """
    if not last.text or takes_back_last(last.text):
        return [], []
    words = list_content_words(last.text)
    lifts = bool(find_withdrawals(last.text) or find_forget_requests(last.text))
    live = {one.id: one for one in known}
    replaced: dict[str, Replacement] = {}
    forgotten: list[MemoryRecord] = []

    def is_from_user(one: MemoryRecord, at: float) -> bool:
        if get_session(one) != session or one.provenance is None:
            return False
        is_said = any(_contains_word(last.text, words, word) for word in list_content_words(one.content))
        return is_said if at <= last.at else one.provenance.asserted_by == "user"

    for one in known:
        if last.since < one.created <= last.at and is_from_user(one, one.created):
            replaced[one.id] = Replacement(new=one)
    for version in memory.store.versions():
        old, until = version.record, version.until
        if until is None or until <= last.since:
            continue
        new = live.get(old.superseded_by or old.id)
        if new is not None and is_from_user(new, until) and (new.content, new.score) != (old.content, old.score):
            others = replaced[new.id].old if new.id in replaced else ()
            replaced[new.id] = Replacement(new=new, old=(*others, old), is_new=new.id != old.id)
        elif new is None and lifts and version.because == "forgotten" and until <= last.at:
            forgotten.append(old)
    return list(replaced.values()), forgotten


_FORGETTABLE = ("fact", "note", "discovery", "rule")
