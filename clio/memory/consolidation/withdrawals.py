"""Take back limits, rules and memories when the user's message says so: "you may edit setup.py again", "scratch that".

A permission lifts a limit, a release ends a rule or preference, and `forget_requests` reads what is to be forgotten.
Limits are lifted only by the user's own sentences: nothing that a model, a tool or a file says lifts a limit. A
permission for one occasion ("just this once"), with a condition ("if the tests pass") or in a question lifts nothing.
Other languages than English are read by `foreign_statements`. "Scratch that" takes back what the message before
changed, as the change log tells.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from itertools import pairwise

from msgspec import Struct, structs

from clio.errors import StorageError, UserError
from clio.memory.consolidation.forget_requests import (
    ForgetRequest,
    find_forget_requests,
    is_event_stated,
    is_meant,
    is_part_meant,
    is_said_in,
    is_same_word,
    is_stated_in,
    list_named,
    list_shared_terms,
    needs_confirmation,
    strip_ended_rule,
    takes_back_last,
)
from clio.memory.preferences.foreign_statements import (
    USING,
    WithdrawalKind,
    allows_any_foreign,
    allows_more,
    compare_withdrawn,
    cut_clauses,
    cut_foreign_task,
    detect_language,
    find_clause_after_statement,
    has_more,
    insert_things,
    is_act_alone,
    is_own_english,
    list_foreign_texts,
    read_until,
    read_withdrawals,
    widen_foreign,
)
from clio.memory.preferences.own_sentences import FILLER, read_own_sentences
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import DISLIKED, VERBS, is_order
from clio.memory.statement_reader import PREPOSITIONS, STOP_WORDS
from clio.memory.store.record import KEYED_NOTE, SHORT_ID, MemoryRecord, Provenance, Replacement, shorten_content
from clio.memory.system import MemorySystem
from clio.text.lazy_regex import LazyRegex
from clio.text.scoring import HARD_LIMIT_SCORE
from clio.text.translation import tr
from clio.text.vocabulary import stem_word

_EN = english_rules("withdrawals")
_MAX_SENTENCE = 160
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
_NOT_FORBIDDEN = _EN.pattern("not_forbidden")
_USE_NOW = _EN.pattern("use_now")
_PRAISE = _EN.pattern("praise")
_PRAISED_AFTER_ALL = _EN.pattern("praised_after_all")
_BLAME = _EN.pattern("blame")
_MAY_BE_DONE = _EN.pattern("may_be_done")
_WHATEVER_YOU_LIKE = _EN.pattern("whatever_you_like")
_MORE = _EN.pattern("more")
"""Words by which a permission adds to what an "only" limit allows: "you may edit core.py too"."""
_ONLY_SOME = _EN.pattern("only_some")
"""Words of a limit that allows some things, and nothing else: "only", "nothing but", "outside"."""
_UNTIL = _EN.pattern("until")
"""How long a limit is to hold: a time, or the `event` that ends it."""
_LIMITING = _EN.pattern("limiting")
_REASON = _EN.pattern("reason")
_REASON_BEHIND = _EN.pattern("reason_behind")
"""Who has allowed it, behind a permission: ", Jonas said it's fine"."""
_STATES = _EN.pattern("states")
"""A clause that says what is so, and is no condition or order: "Ben is back"."""
_TAIL = _EN.pattern("tail")
_PROHIBITION = _EN.pattern("prohibition")
_DISLIKED = _EN.pattern("disliked")
_CONDITION = _EN.pattern("condition")
"""Words of a limit that make it narrower than a plain prohibition, such as "without asking"."""
_FILLERS = _EN.word_set("fillers")
_VERB_GROUPS = {word: group for group, lines in _EN.maps["verb_groups"].items() for word in lines.split()}
_AND_ORDER = re.compile(r",? and (?=[a-z]+ )|, (?=[a-z]+ )|; ")
_EXCLUDED = _EN.pattern("excluded")
"""What a limit excludes that names something else to use: "use uv, not pip"."""
_OF_TEAM = _EN.pattern("of_team")
"""The subject of a rule of the team, which demands the same without it: "we never push on Fridays"."""
_ASKING = _EN.pattern("asking")
_ASKED_BEFORE = _EN.pattern("asked_before")
_YOU_MAY = _EN.pattern("you_may")
_ANYTHING = _EN.pattern("anything")
_AGAIN = _EN.pattern("again")
_PATH = re.compile(r"\w/|\.\w")
_LEAD_OF_TASK = _EN.pattern("lead_of_task")
_ON_YOUR_OWN = _EN.pattern("on_your_own")
"""What permits to do something without asking, as `_ASKING` does."""
_ASK_BEFORE = _EN.pattern("ask_before")
"""A limit or duty to ask: "ask me before committing" demands never to commit without asking."""
_OF_THIS_TASK = _EN.pattern("of_this_task")
_PLACE_BEFORE = _EN.pattern("place_before")
"""A limit with its place or condition first, which is compared as if it came last: "on production never …"."""
_OFF_LIMITS = _EN.pattern("off_limits")
_TOPIC = _EN.pattern("topic")
"""The topic of a sentence before it: "as for setup.py, you may edit it again"."""
_OTHER_THAN = _EN.pattern("other_than")
_BEFORE_VERBS = frozenset("or and to ever just also please now any more not never dont be".split())
_MAX_ALONE = 12
"""A permission without a lasting word counts if it is the whole message and has at most this many words."""
MAX_LISTED = 4
"""Number of memories that are listed if it is not clear which one is meant."""
_ONE_LINE_S = 0.5
"""Memories saved within this time are from one line."""
_FORGETTABLE = ("fact", "note", "discovery", "rule")


class Withdrawal(Struct, frozen=True, kw_only=True):
    """One statement that takes a limit, rule or preference back.

    Attributes:
        kind: "permission" allows what a limit prohibits; "release" no longer wants what a rule or preference asks for;
            "praise" takes back a dislike, and "blame" a liking.
        about: the words that say what it is about.
        quote: the sentence as written.
        language: code of its language; "" for English.
        may_be_state: whether it only says that something is fine, which may as well describe its state.
        before: the sentence before it, which may tell what "it" is.
    """

    kind: WithdrawalKind
    about: str
    quote: str
    language: str = ""
    may_be_state: bool = False
    before: str = ""

    @property
    def is_again(self) -> bool:
        """Whether it permits something for good, in words such as "again"."""
        return _AGAIN.search(self.quote) is not None

    @property
    def says_more(self) -> bool:
        """Whether it adds to what is allowed, in words such as "also"."""
        return _MORE.search(self.quote) is not None or (bool(self.language) and has_more(self.quote, self.language))

    @property
    def only_states(self) -> bool:
        """Whether it may describe the state of a thing, unlike "config/ is fine again"."""
        return self.may_be_state and not (self.is_again and _PATH.search(self.about))


def find_withdrawals(text: str) -> list[Withdrawal]:
    """Return the statements of a message that lift a limit or take back a preference, in its order."""
    language = detect_language(text)
    sentences = read_own_sentences(text, _MAX_SENTENCE)
    found = [
        Withdrawal(kind=one.kind, about=one.about, quote=one.quote, language=code, may_be_state=one.may_be_state)
        for code, part in list_foreign_texts(text)
        for one in read_withdrawals(part, code)
    ]
    for said in sentences:
        if said.is_question or not is_own_english(said.text, text, language):
            continue
        rest = strip_ended_rule(said.text)
        begin = len(said.text) - len(rest) if said.text.endswith(rest) else 0
        stop = len(rest) if not begin and said.text.startswith(rest) else len(said.text)
        if reason := _REASON_BEHIND.search(said.masked):
            stop = min(stop, reason.start())
        topic = _TOPIC.match(said.masked, begin)
        begin = topic.end() if topic else begin
        lead = _LEAD.match(said.masked, begin)
        start = lead.end() if lead else begin
        if FILLER in said.masked or _PASSING.search(said.masked[:stop], start):
            continue
        is_lasting = _LASTING.search(said.masked) is not None or (
            len(said.text.split()) <= _MAX_ALONE
            and all(one is said or _STATES.match(one.masked) or _LEAD.fullmatch(one.masked) for one in sentences)
        )
        read = _read_withdrawal(said.masked[start:stop], is_alone=is_lasting)
        later = 0 if read else find_clause_after_statement(said.masked[:stop], _STATES.match)
        if later > start:
            start = later
            read = _read_withdrawal(said.masked[start:stop], is_alone=is_lasting)
        if read is not None:
            kind, (begin, end) = read
            about = _without_tail(said.text[start:][begin:end])
            may_be_state = kind == "permission" and not begin and not _GRANTED.search(said.masked, start)
            found.append(Withdrawal(kind=kind, about=about, quote=said.text, may_be_state=may_be_state))
    before = {later.text: one.text for one, later in pairwise(sentences)}
    before |= {said.text: topic[0] for said in sentences if (topic := _TOPIC.match(said.masked))}
    return [structs.replace(one, about=strip_ended_rule(one.about), before=before.get(one.quote, "")) for one in found]


def is_passing(text: str) -> bool:
    """Whether a message has English signs of one occasion, a condition, a guess or a report about others."""
    return any(_PASSING.search(said.masked) for said in read_own_sentences(text))


def _read_withdrawal(masked: str, *, is_alone: bool) -> tuple[WithdrawalKind, tuple[int, int]] | None:
    """Return the kind of a sentence, and the place of the words that say what it is about; None for any other."""
    kinds: tuple[tuple[WithdrawalKind, tuple[LazyRegex, ...]], ...] = (
        (
            "permission",
            (_ALLOWED_TO, _NOT_FORBIDDEN, _THING_IS_FINE, _MAY_BE_DONE, _USE_NOW, _WHATEVER_YOU_LIKE)
            if is_alone
            else (),
        ),
        ("release", (_NO_NEED, _NO_LONGER_WANTED)),
        ("praise", (_PRAISE, _PRAISED_AFTER_ALL)),
        ("blame", (_BLAME,)),
    )
    for kind, patterns in kinds:
        for pattern in patterns:
            if found := pattern.match(masked):
                name = next((name for name, text in found.groupdict().items() if text), "")
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
    event = "" if one.kind != "permission" or is_held or one.is_again else _find_event(limit)
    if event and not any(is_event_stated(event, said) for said in (one.quote, one.before)):
        return False  # "you can push" may be about this time, of "never push until the tests pass"
    shared = list_shared_terms(limit, one.before, one.about) if one.before else ()
    if shared and is_lifted(
        limit, structs.replace(one, about=" ".join((one.about, *shared)), before=""), is_held=is_held
    ):
        return True
    language = one.language or detect_language(limit)
    excluded = _EXCLUDED.search(limit) if one.kind == "permission" else None
    if excluded:  # "use uv, not pip" prohibits pip
        name = next(filter(None, excluded.groups()))
        limit = f"{name}は禁止" if language == "ja" else f"never {name}"
    if one.kind == "permission":
        limit = _strip_limit(limit)
    if one.kind == "praise" or one.kind == "blame":
        return not language and _is_about(limit, one.kind, one.about, is_held=is_held)
    if language:
        return compare_withdrawn(
            limit, one.about, one.kind, language, quote=one.quote, may_be_state=one.only_states, is_held=is_held
        )
    if one.only_states and not _verbs(one.about) and not _verbs(_strip_prohibition(limit)) <= USING:
        return False
    limit = _OFF_LIMITS.sub(r"never \1", _OF_THIS_TASK.sub("", limit))
    limit = _OF_TEAM.sub("", _PLACE_BEFORE.sub(r"\2 \1", limit))
    one, limit = _permit_unasked(one), _ASKING.sub("without asking", limit)
    if one.kind == "permission" and (duty := _ASK_BEFORE.match(limit)):
        limit = f"never {_without_plural(limit[duty.end() :])} without asking"
    if one.kind == "permission" and _ONLY_SOME.search(limit):
        return bool(_OTHER_THAN.search(one.about)) and _is_other_than(_ONLY_SOME.sub(" ", limit), one)
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


def _is_other_than(demanded: str, one: Withdrawal) -> bool:
    """Whether a permission allows all but what an "only" limit allows: "you may edit other files than utils.py"."""
    mine, other = _objects(demanded), _objects(one.about)
    return bool(_verbs(demanded) & _verbs(one.about) and mine and other) and other <= _with_parts_of_paths(mine)


def widen_limit(limit: str, one: Withdrawal) -> str:
    """Return an "only" limit with what a permission allows as well; "" if that is nothing, or for any other limit.

    "You may also edit tests/" makes "only edit src/ in this project" "only edit src/ and tests/ in this project".
    """
    if one.kind != "permission":
        return ""
    stated, language = _cut_task(limit), one.language or detect_language(limit)
    if language:
        return widen_foreign(stated, one.about, language, quote=one.quote, may_be_state=one.only_states)
    if one.only_states and not _verbs(one.about) and not _MORE.search(one.quote):
        return ""
    demanded, said = _ONLY_SOME.sub(" ", _UNTIL.sub(" ", stated)), _without_tail(one.about)
    if demanded == stated or not _ONLY_SOME.search(stated) or _CONDITION.search(demanded) or _OTHER_THAN.search(said):
        return ""
    demanded = _strip_prohibition(_YOU_MAY.sub("", demanded))
    mine, other, verbs = _objects(demanded), _objects(said), _verbs(said)
    if (may_do := _verbs(demanded)) and verbs and not may_do & verbs:
        return ""
    if not allows_more(mine, other, says_more=_MORE.search(one.quote) is not None):
        return ""
    return insert_things(stated, said, lambda word: _stem_object(word, mine), lambda word: _stem_object(word, other))


def _with_parts_of_paths(objects: frozenset[str]) -> frozenset[str]:
    """Return the terms with the last parts of paths, by which users name files: "utils.py" and "utils"."""
    names = {word.rstrip("/").rpartition("/")[2] for word in objects}
    return objects | names | {stem_word(name.partition(".")[0]) for name in names if name.partition(".")[0]}


def _is_about(limit: str, kind: WithdrawalKind, about: str, *, is_held: bool) -> bool:
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
    names = bool(other or others)
    if others and not other and (named := frozenset(map(stem_word, _words(about)))) <= mine:
        other, others = named, frozenset[str]()  # "print is ok", of "never use print"
    if not others:  # "deploys on Fridays are allowed again"
        other = frozenset(word for word in other if not any(is_same_word(word, verb) for verb in verbs))
    if kind == "permission" and is_held and is_act_alone(limit, verbs, others, other):
        return True
    if bool(_CONDITION.search(demanded)) != bool(_CONDITION.search(about)):
        return False
    return bool(mine or verbs) and names and mine == other and (verbs <= others or not others)


def as_stated(record: MemoryRecord) -> str:
    """Return the text of a preference as the user says it: a dislike is stored as the thing that is disliked."""
    is_dislike = record.score is not None and record.score <= DISLIKED and not record.explicit
    is_bare = is_dislike and not _DISLIKED.match(record.content) and not _PROHIBITION.match(record.content)
    return f"hate {record.content}" if is_bare and not detect_language(record.content) else record.content


def _may_lift(limit: str, one: Withdrawal) -> bool:
    """Whether a permission may lift a limit, which only the user knows.

    Either it permits everything of the kind ("you can edit anything again"), or the limit holds until an event that may
    not be over: "you can push", of "never push until the tests pass". It may permit for good what the limit demands to
    ask for, and a release may end a rule without its condition. An opinion may be the end of a rule, too: "tabs aren't
    that great after all", of "always use tabs".
    """
    if one.kind == "praise" or one.kind == "blame":
        return is_lifted(limit, structs.replace(one, kind="permission" if one.kind == "praise" else "release"))
    narrowed = _CONDITION.search(limit) if one.kind == "release" else _ASKED_BEFORE.search(limit)
    if (
        narrowed
        and (one.language or _LASTING.search(one.quote))
        and is_lifted(limit[: narrowed.start()].strip(" ,"), one)
    ):
        return True
    if one.kind != "permission":
        return False
    return _allows_anything(limit, one) or (bool(_find_event(limit)) and is_lifted(_strip_limit(limit), one))


def _allows_anything(limit: str, one: Withdrawal) -> bool:
    """Whether a permission without a restriction includes what a limit prohibits: "you can edit anything"."""
    if one.kind != "permission":
        return False
    limit = _strip_limit(limit)
    if language := one.language or detect_language(limit):
        return allows_any_foreign(limit, one.about, language)
    prohibition = _PROHIBITION.match(limit)
    is_limit = bool(_ONLY_SOME.search(limit) or (prohibition and prohibition["not"]) or _OFF_LIMITS.match(limit))
    is_any = _ANYTHING.search(one.about) is not None and not _objects(one.about)
    verbs, allowed = _verbs(_ONLY_SOME.sub(" ", _strip_prohibition(limit))), _verbs(one.about)
    return (
        is_any and is_limit and not _CONDITION.search(_ONLY_SOME.sub(" ", limit)) and (verbs <= allowed or not allowed)
    )


def _strip_prohibition(limit: str) -> str:
    prohibition = _PROHIBITION.match(limit.lstrip())
    return limit.lstrip()[prohibition.end() :] if prohibition else limit


def _strip_limit(limit: str) -> str:
    """Return a limit without its task, its reason and the time or event that ends it."""
    limit = _cut_task(limit)
    pattern = read_until(detect_language(limit)) or _UNTIL
    return " ".join(pattern.sub(" ", limit).split()).strip(" ,;") or limit


def _cut_task(limit: str) -> str:
    """Return a limit without a task or reason after it: "don't touch setup.py, fix the parser"."""
    if language := detect_language(limit):
        return cut_foreign_task(limit, language)
    return cut_clauses(limit, lambda text: _LIMITING.search(text) is not None, _is_task_or_reason)


def _is_task_or_reason(clause: str) -> bool:
    words = _LEAD_OF_TASK.sub("", clause).split()
    is_order_alone = len(words) > 1 and is_order(words[0]) is True and words[1] != "and"
    return is_order_alone or _REASON.match(clause) is not None


def _find_event(limit: str) -> str:
    """Return the event that ends a limit, "Ben is back" of "never commit until Ben is back"; "" if there is none."""
    found = (read_until(detect_language(limit)) or _UNTIL).search(limit)
    return (found["event"] or "").strip() if found else ""


def _is_act_ordered(limit: str, sentence: str) -> bool:
    """Whether a sentence orders what a limit forbids "until I say so": "ok, push it now please"."""
    if not re.match(r"i (?:say|tell|ask|give|ok|approve|confirm)", _find_event(limit), re.I):
        return False
    lead = _LEAD.match(sentence)
    order = _without_tail(sentence[lead.end() if lead else 0 :])
    starts = bool(order) and bool(_verb_of(_words(order)[0]))
    return starts and _verbs(order) <= _verbs(_strip_prohibition(limit)) and _objects(order) <= _objects(limit)


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
            takes = verb != "use"  # in "use print" it is a thing
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


def _stem_object(word: str, objects: frozenset[str]) -> bool:
    """Whether a word as written is one of these objects."""
    return bool(_objects(word) & objects) or stem_word(word.casefold()) in objects


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


class Lifted(Struct, frozen=True, kw_only=True):
    """What one statement of the user takes back.

    Attributes:
        records: the limits, rules and preferences that were archived.
        held: limits of this session that no longer apply.
        restored: memories that hold again, because what had taken their place was archived.
        held_again: limits of this session that apply again.
        candidates: what it may have meant, if that is not clear; nothing was archived then.
        is_empty: whether there is nothing that it means; the user is told so.
        is_named: whether it names what it means, and does not mean the message before.
        widened: what the limits say now, if they were only widened: `records` are their former versions.
        quote: the sentence as written.
    """

    records: tuple[MemoryRecord, ...] = ()
    held: tuple[str, ...] = ()
    restored: tuple[MemoryRecord, ...] = ()
    held_again: tuple[str, ...] = ()
    candidates: tuple[MemoryRecord, ...] = ()
    is_empty: bool = False
    is_named: bool = False
    widened: tuple[str, ...] = ()
    quote: str

    def describe(self) -> str:
        """Return the line that reports it; "" if there was nothing to take back."""
        if self.is_empty and self.is_named:
            return tr("Nothing in memory is meant by “{quote}”", quote=self.quote)
        if self.is_empty:
            return tr("Nothing to take back: your last message changed nothing in memory")
        if self.candidates:
            listed = "; ".join(f"{one.id[-SHORT_ID:]} “{shorten_content(one)}”" for one in self.candidates[:MAX_LISTED])
            return tr("Not clear which one no longer applies: {listed} · /memory forget ID", listed=listed)
        gone = [*(shorten_content(one) for one in self.records), *self.held]
        if self.widened:
            new, old = ("; ".join(texts) for texts in (self.widened, gone))
            return tr("Widened: {new} (instead of {old}){undo}", new=new, old=old, undo=self._undo)
        undo = self._undo
        if again := "; ".join((*map(shorten_content, self.restored), *self.held_again)):
            if not gone:
                return tr("Valid again: {again}{undo}", again=again, undo=undo)
            return tr(
                "No longer applies: {gone}; valid again: {again}{undo}", gone="; ".join(gone), again=again, undo=undo
            )
        return tr("No longer applies: {gone}{undo}", gone="; ".join(gone), undo=undo) if gone else ""

    @property
    def _undo(self) -> str:
        return tr(" · /memory undo") if self.records or self.restored else ""


def take_back(memory: MemorySystem, records: Sequence[MemoryRecord], held: tuple[str, ...], quote: str) -> Lifted:
    """Archive memories and lift limits of this session, if there are any."""
    if records:
        memory.store.forget(*[record.id for record in records])
    if held:
        memory.lift_held(held)
        _change_pending(memory, dict.fromkeys(held, ""))
    return Lifted(records=tuple(records), held=held, quote=quote)


def _change_pending(memory: MemorySystem, contents: Mapping[str, str]) -> None:
    """Ask no longer about limits that were lifted or widened in the session that stated them."""
    with suppress(StorageError, OSError):
        memory.pending_limits.replace(contents)


class UnclearRequest(Struct, frozen=True, kw_only=True):
    """A request to forget something or to lift a limit that is not clear, so that nothing was archived.

    Attributes:
        records: the memories that it may mean.
        quote: the sentence as written.
        says_more: whether the memory says more than what is to be forgotten. Otherwise the request may as well be about
            the current task.
    """

    records: tuple[MemoryRecord, ...]
    quote: str
    says_more: bool = False

    def describe(self) -> str:
        """Return the line that names the memories."""
        if not self.says_more:
            return Lifted(candidates=self.records, quote=self.quote).describe()
        return tr(
            "Not forgotten, because it says more: {id} “{content}” · /memory edit ID, /memory forget ID",
            id=self.records[0].id[-SHORT_ID:],
            content=shorten_content(self.records[0]),
        )

    def question(self) -> str:
        """Return the question whether they are meant."""
        content = "”, “".join(map(shorten_content, self.records))
        if self.says_more:
            return tr("It says more than that. Forget all of “{content}”?", content=content)
        return tr("Forget “{content}”?", content=content)

    def apply(self, memory: MemorySystem) -> Lifted:
        """Archive the memories. Raises UserError, StorageError, OSError."""
        return take_back(memory, self.records, (), self.quote)


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


def lift_limits(memory: MemorySystem, text: str, session: str) -> list[Lifted | UnclearRequest]:
    """Archive the limits, rules and preferences that the user's message lifts; each sentence is one change to undo.

    A permission that adds to an "only" limit widens it; one that lifts another limit only if it says "also".

    Raises UserError, StorageError, OSError.
    """
    found: list[Lifted | UnclearRequest] = []
    for one in find_withdrawals(text):
        known = _list_forgettable(memory)
        records = [record for record in known if is_lifted(as_stated(record), one)]
        held = tuple(
            limit for limit in memory.held_limits if is_lifted(limit, one, is_held=True) or _allows_anything(limit, one)
        )
        with memory.store.group(f"lifted “{one.quote}”") if records and one.says_more else nullcontext():
            found += [take_back(memory, records, held, one.quote)] if records or held else []
            if (not (records or held) or one.says_more) and (widened := _widen(memory, known, session, one)):
                found.append(widened)
        if not records and (unclear := tuple(record for record in known if _may_lift(as_stated(record), one))):
            found.append(UnclearRequest(records=unclear, quote=one.quote))
    return [*found, *_end_limits(memory, text, {one.quote for one in found})]


def _widen(memory: MemorySystem, known: Sequence[MemoryRecord], session: str, one: Withdrawal) -> Lifted | None:
    """Widen the "only" limits by what a permission allows as well; None if there are none."""
    records = [(record, new) for record in known if (new := widen_limit(as_stated(record), one))]
    held = {limit: new for limit in memory.held_limits if (new := widen_limit(limit, one))}
    if not records and not held:
        return None
    said = Provenance(session=session, asserted_by="user")
    texts = tuple(new for _, new in records)
    with memory.store.group("; ".join(texts)) if len(records) > 1 else nullcontext():
        for record, new in records:
            memory.store.update(record.id, content=new, provenance=said)
    for limit, new in held.items():
        memory.replace_held(limit, new)
    _change_pending(memory, held)
    before = tuple(record for record, _ in records)
    return Lifted(records=before, held=tuple(held), widened=(*texts, *held.values()), quote=one.quote)


def _end_limits(memory: MemorySystem, text: str, done: Collection[str]) -> Iterator[Lifted | UnclearRequest]:
    """Archive the limits that end with an event that the user's message states: "the release is out".

    The user is asked about those that hold "until I say so", of which the message orders what they forbid.
    """
    for said in read_own_sentences(text):
        if said.is_question or said.text in done:
            continue
        known, is_ordered = _list_forgettable(memory), partial(_is_act_ordered, sentence=said.masked)
        records = [one for one in known if is_event_stated(_find_event(one.content), said.masked)]
        limits = memory.held_limits
        held = tuple(one for one in limits if is_ordered(one) or is_event_stated(_find_event(one), said.masked))
        if asked := tuple(one for one in known if is_ordered(one.content)):
            yield UnclearRequest(records=asked, quote=said.text)
        if records or held:
            yield take_back(memory, records, held, said.text)


def forget_requested(
    memory: MemorySystem, text: str, session: str, context: str, last: MessageBefore, done: Collection[str]
) -> list[Lifted | UnclearRequest]:
    """Archive the memories and limits that the user's message asks to forget; each sentence is one change to undo.

    Args:
        context: what was said just before.
        done: sentences of the message that have lifted or corrected something.

    Raises UserError, StorageError, OSError.
    """
    found: list[Lifted | UnclearRequest | None] = []
    has_pointed = False
    for request in find_forget_requests(text):
        if request.quote in done:
            continue
        known = _list_forgettable(memory)
        if request.kind == "all":
            found += _take_back_all(memory, request.quote)
            continue
        lifted = _take_back_named(memory, known, request, context)
        if request.kind == "pointing":
            lifted = lifted or (None if has_pointed else _take_back_last(memory, known, session, last, request))
            has_pointed = True
        elif lifted is None and request.is_certain and request.is_whole:
            lifted = Lifted(is_empty=True, quote=request.quote, is_named=True)
        found.append(lifted)
    return [one for one in found if one is not None]


def _take_back_all(memory: MemorySystem, quote: str) -> Iterator[Lifted | UnclearRequest]:
    """Lift the limits of the session, and ask about the limits and rules in memory."""
    held = memory.held_limits
    preferences = (one for _, one in memory.list_preferences())
    rules = tuple(one for one in preferences if one.explicit or (one.score or 0) <= HARD_LIMIT_SCORE)
    if held:
        yield take_back(memory, (), held, quote)
    if rules:
        yield UnclearRequest(records=rules, quote=quote)
    if not held and not rules:
        yield Lifted(is_empty=True, quote=quote, is_named=True)


def _take_back_named(
    memory: MemorySystem, known: Sequence[MemoryRecord], request: ForgetRequest, context: str
) -> Lifted | UnclearRequest | None:
    """Take back the only memory that a request names; None if it names none."""
    keyed = [one for one in memory.store.records((KEYED_NOTE,)) if one.key] if request.means_note else []
    if any(is_meant(f"{one.key} {one.content}", request) for one in keyed):
        known = keyed
    texts = [f"{one.key} {as_stated(one)}" if one.key else as_stated(one) for one in known]
    records = [known[place] for place in list_named(texts, request)]
    if not records and request.parts and request.is_whole:
        parts = [list_named(texts, structs.replace(request, about=part)) for part in request.parts]
        records = [known[place] for place in sorted({place for part in parts for place in part})]
        if records and all(len(part) < 2 for part in parts):
            return take_back(memory, records, (), request.quote)
    held = tuple(one for one in memory.held_limits if request.kind != "bare" and is_meant(one, request))
    if 1 < len(records) <= MAX_LISTED and request.means_all:
        return UnclearRequest(records=tuple(records), quote=request.quote)
    if len(records) > 1:
        return Lifted(candidates=tuple(records[:MAX_LISTED]), quote=request.quote)
    if records and needs_confirmation(request, records[0].content, context):
        return UnclearRequest(records=(records[0],), quote=request.quote)
    if records or held:
        return take_back(memory, records, held, request.quote)
    request = structs.replace(request, about=request.parts[0]) if request.parts else request
    partly = [one for one in known if is_part_meant(as_stated(one), request, is_preference=one.kind == "preference")]
    if len(partly) > 1:
        return Lifted(candidates=tuple(partly[:MAX_LISTED]), quote=request.quote)
    return UnclearRequest(records=(partly[0],), quote=request.quote, says_more=True) if partly else None


def _list_forgettable(memory: MemorySystem) -> list[MemoryRecord]:
    known = [record for _, record in memory.list_preferences()]
    return known + [one for one in memory.store.records(_FORGETTABLE, with_notes=False) if not one.is_variant]


def _take_back_last(
    memory: MemorySystem, known: Sequence[MemoryRecord], session: str, last: MessageBefore, request: ForgetRequest
) -> Lifted | None:
    """Take back what the user's last message changed in memory, as one change.

    Returns None if it changed nothing and the user can't mean memory: none of it is from this session.
    """
    last = _find_line_saved_since(memory, known, session, last) or last
    replaced, forgotten = _find_changes(memory, known, session, last)
    taken = {one.new.id for one in replaced}
    records = [
        one for one in known if one.id not in taken and one.session == session and is_stated_in(one.content, last.text)
    ]
    held = tuple(one for one in memory.held_limits if is_stated_in(one, last.text))
    if last.lifted:
        permissions = find_withdrawals(last.text)
        widened = {widen_limit(limit, one) for limit in last.lifted for one in permissions}
        memory.lift_held([limit for limit in memory.held_limits if limit in widened])
        memory.hold_limits(last.lifted)
    if not (replaced or forgotten or records or held or last.lifted):
        is_about_memory = not last.text or any(one.record.session == session for one in memory.store.versions())
        return Lifted(is_empty=True, quote=request.quote) if request.is_whole and is_about_memory else None
    if not replaced and not forgotten:
        lifted = take_back(memory, records, held, request.quote)
        return structs.replace(lifted, held_again=last.lifted)
    back: list[MemoryRecord] = []
    with memory.store.group(f"took back “{shorten_content([*(one.new for one in replaced), *forgotten][0])}”"):
        gone, again = memory.store.take_back(*replaced)
        for one in forgotten:
            with suppress(UserError):  # another memory says the same
                back.append(memory.store.restore(one.id))
        memory.note_restored((*again, *back))
        lifted = take_back(memory, records, held, request.quote)
    records = [*gone, *lifted.records]
    return structs.replace(lifted, records=tuple(records), restored=(*again, *back), held_again=last.lifted)


def _find_line_saved_since(
    memory: MemorySystem, known: Sequence[MemoryRecord], session: str, last: MessageBefore
) -> MessageBefore | None:
    """Return what a line `#text` or a command saved last, if that was after the user's last message."""
    live = {one.id: one for one in known}
    ended = [(one.until, live.get(one.record.superseded_by or one.record.id)) for one in memory.store.versions()]
    saved = [
        (at, one.content)
        for at, one in [*ended, *((one.created, one) for one in known)]
        if at is not None and at > last.at and one is not None and one.session == session
        # The model's memories have a message. What the user confirmed was stated in the last one.
        if one.is_stated_by_user and one.provenance and not one.provenance.message
        if not is_stated_in(one.content, last.text)
    ]
    if not saved:
        return None
    newest = max(at for at, _ in saved)
    text = "\n".join(content for at, content in saved if at > newest - _ONE_LINE_S)
    return MessageBefore(text=text, since=max(last.at, newest - _ONE_LINE_S), at=newest)


def _find_changes(
    memory: MemorySystem, known: Sequence[MemoryRecord], session: str, last: MessageBefore
) -> tuple[list[Replacement], list[MemoryRecord]]:
    """Return what replaced other memories, and what was forgotten, by the user's last message or by an answer to it.

    The change log tells it, so that it is known after a restart, too.
    """
    if not last.text or takes_back_last(last.text):
        return [], []
    lifts = bool(find_withdrawals(last.text) or find_forget_requests(last.text))
    live = {one.id: one for one in known}
    replaced: dict[str, Replacement] = {}
    forgotten: list[MemoryRecord] = []

    def is_from_user(one: MemoryRecord, at: float) -> bool:
        if one.session != session or one.provenance is None:
            return False
        return is_said_in(one.content, last.text) if at <= last.at else one.provenance.asserted_by == "user"

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
