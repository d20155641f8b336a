"""The learner: what is learned from the user's messages, from how turns end, and when nothing else is going on.

Three moments in the life of a session call it. `before_turn` saves what a message states plainly, because a limit holds
from the moment it is stated; `after_turn` counts reactions as feedback; `consolidate` replays earlier sessions, when
idle or at exit.
"""

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from msgspec import Struct, structs

from clio.errors import ClioError, StorageError, UserError
from clio.memory.consolidation.statement_pairs import find_part_probability
from clio.memory.preferences.foreign_statements import (
    detect_language,
    is_own_english,
    list_foreign_texts,
    read_requests,
)
from clio.memory.preferences.lasting_wishes import SAVED_BESIDE, find_wishes
from clio.memory.preferences.limits import PROHIBITS, StatedLimit, find_limits
from clio.memory.preferences.own_sentences import read_lists
from clio.memory.preferences.preferences import Preferences, replaces_order
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import (
    LIKED,
    NEVER,
    StatedPreference,
    find_preferences,
    list_about_user,
    lower_first_letter,
)
from clio.memory.store.record import MemoryDraft, MemoryRecord, Provenance, check_more_than_secret
from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.session import Session
from clio.storage.jsonl import pop_damage_notes
from clio.storage.locks import error_cause, format_os_error
from clio.text.lazy_regex import LazyRegex
from clio.text.scoring import describe_preference
from clio.text.translation import tr
from clio.threads import ProgressCallback, ignore_progress, never_stop

_EN = english_rules("preferences")

if TYPE_CHECKING:
    from clio.memory.consolidation.consolidation import Report, StartedBy
    from clio.memory.consolidation.corrections import UnclearCorrection
    from clio.memory.consolidation.preference_endings import GonePreference
    from clio.memory.consolidation.withdrawals import Lifted, MessageBefore, UnclearRequest


_AND_A_LIMIT = _EN.pattern("and_a_limit")
_DANGLING = _EN.pattern("dangling")
_NORM = _EN.pattern("norm")
"""Words that make a statement an order: "must never"."""
_NAMED_BEFORE = _EN.pattern("named_before")
_NEXT_ORDER = _EN.pattern("next_order")
_ORDER_CONDITION = _EN.pattern("order_condition")
_POINTS = _EN.pattern("points_back")
_AGAIN = _EN.pattern("again_in_order")
_NEGATES = _EN.pattern("negates")
_FOREIGN_DANGLING = _EN.pattern("foreign_dangling")
"""The beginning of a rule in another language whose pronoun may mean a thing of the sentence before."""
_PERMITS = _EN.pattern("permits")
_PROHIBITS = _EN.pattern("prohibits")
_FORBIDS = _EN.pattern("forbids")
_CHOOSES = _EN.pattern("chooses")
"""The beginning of an order to use one thing and not another, without a word such as "always"."""
_PREFERS = LazyRegex(r"(?:prefer|favou?r)\b", re.I, starts=("prefer", "favo"))
_MAY_FORGET = english_rules("withdrawals").pattern("sign")
"""Words of which a message that asks to forget something contains one."""
_MAY_CHANGE = 0.001
"""Least probability that a part of a message says that something has changed, for which the models are loaded."""
_SURE = 0.998
"""Least probability of a lasting wish that is saved without a question, although its grammar is doubtful."""
_WORD = re.compile(r"[^\W_\u3040-\u30ff\u3400-\u9fff]{3,}|[\u30a1-\u30fa]{2,}|[\u3400-\u9fff]")
_MAX_RESTATING = 2_500
"""Characters of a message that is compared with the memories; a longer one is mostly pasted text."""
_FEW_WORDS, _SHORT = 60, 200
_MAX_KNOWN = 500
"""Number of memories with whose words a message is compared before the rules for corrections are loaded."""
CONTEXT_MESSAGES = 2
"""Number of earlier messages that tell what a correction such as "it's 9090 now" is about."""
MAX_SHOWN = 3
"""Maximum number of limits listed in one line; the others are only counted."""


class FoundStatements(Struct, frozen=True, kw_only=True):
    """The rules, preferences and limits found in one message.

    Attributes:
        certain: statements to save at once.
        doubtful: statements to save only if the user confirms.
        for_task: limits of the current task, which are not saved.
    """

    certain: tuple[StatedPreference, ...] = ()
    doubtful: tuple[StatedPreference, ...] = ()
    for_task: tuple[str, ...] = ()

    @property
    def held(self) -> tuple[str, ...]:
        """Limits that apply to the session without being saved."""
        return (*(one.content for one in self.doubtful if one.kind == "rule"), *self.for_task)

    def without(self, sentences: Collection[str], *, keeps_prohibitions: bool = False) -> "FoundStatements":
        """Return the same without what these sentences of the message state.

        keeps_prohibitions: for sentences that correct a memory; those that take something back prohibit nothing.
        """

        def stays(content: str) -> bool:
            return keeps_prohibitions and _FORBIDS.match(content) is not None

        return FoundStatements(
            certain=tuple(one for one in self.certain if one.quote not in sentences or stays(one.content)),
            doubtful=tuple(one for one in self.doubtful if one.quote not in sentences or stays(one.content)),
            for_task=tuple(
                limit for limit in self.for_task if stays(limit) or not any(limit in one for one in sentences)
            ),
        )

    def without_permissions(self, ended: str) -> "FoundStatements":
        """Return the same without what only permits what an ended limit is about: "lambdas are welcome now"."""
        words = set(_WORD.findall(ended.casefold()))
        permitted = [
            one
            for one in (*self.certain, *self.doubtful)
            if one.kind == "preference" or (one.kind == "rule" and not _PROHIBITS.search(one.content))
            if not words.isdisjoint(_WORD.findall(one.content.casefold()))
        ]
        return structs.replace(
            self,
            certain=tuple(one for one in self.certain if one not in permitted),
            doubtful=tuple(one for one in self.doubtful if one not in permitted),
        )

    def as_answer_to_question(self) -> "FoundStatements":
        """Return the same where the message answers a question of the model.

        Then "use sqlite, not postgres" may choose something for the current task only, so that the user is asked.
        """
        chosen = [one for one in self.certain if one.kind == "rule" and _CHOOSES.match(one.quote)]
        certain = tuple(one for one in self.certain if one not in chosen)
        return structs.replace(self, certain=certain, doubtful=(*self.doubtful, *chosen))


def find_statements(memory: MemorySystem, text: str) -> FoundStatements:
    """Return the statements in the user's message, without secrets. Empty if memory is off.

    Of facts, only those the user asks to remember are included. Saving others is left to the model and consolidation.
    """
    return FoundStatements() if memory.is_silent else _read_statements(memory, text)


def _read_statements(memory: MemorySystem, text: str) -> FoundStatements:
    """Return the statements of all languages in a message, sorted by whether they are certain."""
    rest, listed = read_lists(text)
    language = detect_language(rest)
    found = [one for one in find_preferences(rest) if is_own_english(one.quote, rest, language)]
    found += [
        structs.replace(stated, quote=one.item)
        for one in listed
        if one.language == "en"
        for stated in find_preferences(one.text)
    ]
    requests = [one for code, part in list_foreign_texts(rest) for one in read_requests(part, code)]
    requests += [
        structs.replace(asked, quote=one.item)
        for one in listed
        if one.language != "en"
        for asked in read_requests(one.text, one.language)
    ]
    found += (
        StatedPreference(kind="fact", content=one.content, score=None, certain=True, quote=one.quote)
        for one in requests
    )
    facts = [one for one in found if one.kind == "fact" and one.certain]
    statements = [one for one in found if one.kind != "fact"]
    # "Patient data must never be printed, remember that" is a limit.
    norms = [one for one in facts if _NORM.search(one.content)]
    facts = [one for one in facts if one not in norms]
    statements += (structs.replace(one, kind="rule", score=NEVER, in_project=True) for one in norms)
    for_task: list[str] = []
    for limit in find_limits(text):
        if _PERMITS.match(limit.content):
            continue
        told = [fact for fact in facts if _says_same(fact, limit)]
        if told and (limit.term != "lasting" or not PROHIBITS.search(limit.content)):
            continue  # what the user asks to remember about the world, as in "the DB is read-only on Sundays"
        # The limit is in every prompt, so that the same words need not be a fact as well.
        facts = [fact for fact in facts if fact not in told or not _word_set(fact.content) <= _word_set(limit.content)]
        same = [one for one in statements if _says_same(one, limit)]
        stated = next((one for one in same if one.kind in ("rule", "dislike")), None)
        if stated is None and not _PROHIBITS.search(limit.quote):
            stated = next((one for one in same if one.kind == "preference" and one.content.startswith("prefer ")), None)
        if stated is not None and stated.kind == "rule" and not stated.certain and limit.term == "task":
            statements.remove(stated)
            for_task.append(limit.content)
            continue
        if stated is not None:
            is_project = limit.scope == "project" or (stated.kind == "preference" and stated.in_project)
            certain = stated.certain or limit.term == "lasting"
            statements[statements.index(stated)] = structs.replace(stated, certain=certain, in_project=is_project)
            continue
        for liking in same:
            statements.remove(liking)
            if not liking.content.startswith("use ") and (rest := _AND_A_LIMIT.sub("", liking.content)):
                statements.append(structs.replace(liking, content=rest))
        if limit.term == "task":
            for_task.append(limit.content)
        else:
            certain, is_project = limit.term == "lasting", limit.scope == "project"
            is_liking = _PREFERS.match(limit.content) is not None and not _PROHIBITS.search(limit.content)
            statements.append(
                StatedPreference(
                    kind="preference" if is_liking else "rule",
                    content=limit.content,
                    score=LIKED if is_liking else NEVER,
                    certain=certain,
                    quote=limit.quote,
                    in_project=is_project,
                )
            )
    statements = _add_wishes(rest, language, statements, (*(one.content for one in facts), *for_task))
    statements = [
        structs.replace(one, content=_without_again(content)) for one in statements for content in _divide_order(one)
    ]
    for_task = list(map(_without_again, for_task))
    named = [_name_thing(one, text) for one in statements]
    for_task += (one.content for one, known in zip(statements, named, strict=True) if known is None)
    clean = memory.redacted_notices([*facts, *(one for one in named if one is not None)])
    return FoundStatements(
        certain=tuple(one for one in clean if one.certain),
        doubtful=tuple(one for one in clean if not one.certain),
        for_task=tuple(memory.redacted(limit) for limit in for_task),
    )


def _add_wishes(
    text: str, language: str, statements: Sequence[StatedPreference], others: Sequence[str]
) -> list[StatedPreference]:
    """Return the statements and the other lasting wishes of a message; a very probable wish makes a statement certain.

    others: what else the message states.
    """
    wishes = find_wishes(text, language, [one for one in statements if one.certain])

    def is_same(one: str, other: str) -> bool:
        mine, theirs = (set(_WORD.findall(text.casefold())) for text in (one, other))
        return one in other or other in one or len(mine & theirs) * 2 > min(len(mine), len(theirs))

    stated: list[StatedPreference] = []
    for one in statements:
        same = next((wish for wish in wishes if is_same(one.content, wish.statement.content)), None)
        is_sure = same is not None and one.kind != "rule" and same.probability >= _SURE
        stated.append(structs.replace(one, certain=one.certain or is_sure))
    known = (*(one.content for one in stated), *others)
    new = (wish.statement for wish in wishes)
    return [*stated, *(wish for wish in new if not any(is_same(wish.content, content) for content in known))]


def _divide_order(one: StatedPreference) -> list[str]:
    """Return the rules in "never push to main, and don't add dependencies", which are lifted one by one.

    A condition behind the last one may hold for all, as in "don't commit and don't push without asking me".
    """
    parts = _NEXT_ORDER.split(one.content) if one.kind == "rule" and _NEXT_ORDER.match(f" and {one.content}") else []
    orders = parts[::2]
    is_joint = not all(parts[1::2]) and _ORDER_CONDITION.search(orders[-1])
    return [one.content] if len(orders) < 2 or is_joint or any(map(_POINTS.search, orders[1:])) else orders


def _without_again(order: str) -> str:
    """Return an order without "again", which means nothing in another session; "never again" stays."""
    return order if _NEGATES.search(order) else _AGAIN.sub("", order)


def _name_thing(one: StatedPreference, text: str) -> StatedPreference | None:
    """Return a rule with the thing that its pronoun means, by the sentence before; None if no thing is named there.

    "The importer is fragile. Never run it" is saved as "never run the importer".
    """
    if one.kind != "rule" or (dangling := _DANGLING.match(one.content)) is None:
        return None if one.kind == "rule" and _FOREIGN_DANGLING.match(one.content) else one
    before = _NAMED_BEFORE.search(text.replace("’", "'").partition(one.quote)[0] or one.quote.partition(",")[0])
    if before is None or (before["one"] is None) is (dangling["pronoun"].lower() == "it"):
        return None
    start, end = dangling.span("pronoun")
    thing = lower_first_letter(before["thing"]) if before["article"] else before["thing"]
    content = f"{one.content[:start]}{thing}{one.content[end:]}"
    return structs.replace(one, content=content, in_project=one.in_project or before["article"] is not None)


def _confirm_changes(memory: MemorySystem, statements: FoundStatements) -> FoundStatements:
    """Return the statements, with those certain that change a known preference: "actually, I'd prefer plotly"."""
    doubtful = [one for one in statements.doubtful if one.kind == "preference"]
    if memory.is_silent or not doubtful:
        return statements
    changed: list[StatedPreference] = []
    with suppress(StorageError, OSError):  # reported when it is saved
        changed = [one for one in doubtful if _select_preferences(memory, one).find_changed(one.content, one.quote)]
    return structs.replace(
        statements,
        certain=(*statements.certain, *changed),
        doubtful=tuple(one for one in statements.doubtful if one not in changed),
    )


class SavedStatements(Struct, frozen=True):
    """What was saved. line: reports it, or why it failed; "" for no statements. facts: the texts of saved facts."""

    line: str
    facts: tuple[str, ...] = ()


def save_statements(memory: MemorySystem, statements: Sequence[StatedPreference], session: str) -> SavedStatements:
    """Save statements of the user."""
    facts: list[str] = []
    saved: dict[str, list[str]] = {"project": [], "user": []}
    confirmed: list[str] = []
    failed = ""
    said = Provenance(session=session, asserted_by="user")
    title = "; ".join(one.content for one in statements[:MAX_SHOWN])
    is_group = len(statements) > 1 or any(one.kind != "fact" for one in statements)
    with memory.store.group(f"saved {title}") if is_group else nullcontext():
        for one in statements:
            try:
                [clean] = memory.redacted_notices([one])
                check_more_than_secret(clean.content)
                limit = _find_limit(memory, clean) if clean.kind in ("fact", "rule") else None
                if limit is not None and (clean.kind == "fact" or limit.in_project == clean.in_project):
                    clean, one = limit, limit  # told again, in other words or as a fact
                if clean.kind == "fact":
                    scope = "user" if list_about_user(clean.content) else "project"
                    draft = MemoryDraft(content=clean.content, kind="fact", explicit=True)
                    done = memory.store.add(draft, said, scope=scope)
                    (saved[scope] if done.is_new else confirmed).append(done.record.content)
                    facts.append(done.record.content)
                    continue
                book = _select_preferences(memory, one)
                scope = "user" if book is memory.preferences else "project"
                text, is_confirmed = _save(book, clean, said)
                (confirmed if is_confirmed else saved[scope]).append(text)
                _archive_fact(memory, clean.content)
            except (UserError, StorageError, OSError) as error:
                failed = tr("not saved: {error_cause}", error_cause=error_cause(error))
    parts = [
        tr("Saved to {scope} memory: {contents}", scope=tr(scope), contents="; ".join(contents))
        for scope, contents in saved.items()
        if contents
    ]
    remembered = tr("{parts} · /memory undo", parts=" · ".join(parts)) if parts else ""
    repeated = tr("Confirmed: {text}{certainty}", text="; ".join(confirmed), certainty="") if confirmed else ""
    return SavedStatements("; ".join(filter(None, (remembered, repeated, failed))), tuple(facts))


def _find_limit(memory: MemorySystem, fact: StatedPreference) -> StatedPreference | None:
    """Return a fact as the hard limit that already says the same: "the images must never be modified"."""
    for book in (memory.preferences, memory.project_preferences):
        if known := book.find_reworded(fact.content, NEVER):
            in_project = book is memory.project_preferences
            return structs.replace(fact, kind="rule", content=known.content, score=known.score, in_project=in_project)
    return None


def _archive_fact(memory: MemorySystem, preference: str) -> None:
    """Archive the user's fact that says the same as a rule or preference that has been saved."""
    near = memory.store.project.find_nearest(preference, "fact")
    if near is not None and near.relation == "same" and near.record.is_stated_by_user:
        memory.store.supersede([near.record.id], None, f"said as “{preference}”")


def describe_session_limits(held: Sequence[str]) -> str:
    """Return the line that lists the limits that apply to this session only."""
    shown = "; ".join(held[:MAX_SHOWN]) + (
        tr("; and {count} more", count=len(held) - MAX_SHOWN) if len(held) > MAX_SHOWN else ""
    )
    return tr("Applied to this session: {shown} · /memory undo", shown=shown)


def format_question(statements: Sequence[StatedPreference]) -> str:
    """Return the question to ask the user before doubtful statements are saved."""
    where = tr("later work in this project") if statements[0].in_project else tr("all later work")
    contents = ", ".join(f"“{one.content}”" for one in statements)
    return tr("Remember for {where}: {contents}?", where=where, contents=contents)


def _says_same(one: StatedPreference, limit: StatedLimit) -> bool:
    """Whether a preference and a limit were found in the same words of a message."""
    if one.quote not in limit.quote and limit.quote not in one.quote:
        return False
    mine, other = _word_set(one.content), _word_set(limit.content)
    return len(mine & other) * 2 > min(len(mine), len(other))


def _word_set(text: str) -> set[str]:
    return set(re.findall(r"[^\s,.:;!?]+", text.casefold()))


def _select_preferences(memory: MemorySystem, one: StatedPreference) -> Preferences:
    """Return the preferences of the scope that a statement belongs to."""
    return memory.project_preferences if one.in_project and not memory.is_foreign else memory.preferences


def _save(preferences: Preferences, one: StatedPreference, said: Provenance) -> tuple[str, bool]:
    """Save a preference; return the text that reports it, and whether it only confirms what was known."""
    scenarios = (one.scenario,) if one.scenario else ()
    score = one.score if one.score is not None else 9.0
    saved = preferences.add(
        one.content,
        f"said: {one.quote[:200]}",
        score,
        scenarios=scenarios,
        explicit=one.kind == "rule",
        provenance=said,
    )
    record, before = saved.record, saved.other
    where = tr(", for {scenario}", scenario=one.scenario) if one.scenario else ""
    is_other = before is not None and before.content.casefold() != record.content.casefold()
    instead = tr(", instead of “{content}”", content=before.content) if before and is_other else ""
    is_confirmed = before is not None and not is_other and _name_kind(before, one) == _name_kind(record, one)
    return f"{record.content} ({tr(_name_kind(record, one))}{where}{instead})", is_confirmed


def _name_kind(record: MemoryRecord, one: StatedPreference) -> str:
    score = record.score if record.score is not None else one.score or LIKED
    return describe_preference(score, is_rule=record.explicit)


Suggestion = tuple[str, Callable[[], None]]
"""A question whether a statement is to be remembered for good, and what a "yes" does."""


class Learner:
    """Learns for one clio process.

    Args:
        tell, warn: called with each line for the user.
        auto_remember: whether statements in messages are remembered at all.
        may_consolidate: whether memory is consolidated without being asked to.
        asks_model: whether a model is asked once what it finds in the best turns, when idle.
    """

    def __init__(
        self,
        memory: MemorySystem,
        *,
        tell: Callable[[str], None],
        warn: Callable[[str], None],
        auto_remember: bool,
        may_consolidate: bool = False,
        asks_model: bool = False,
    ) -> None:
        self._memory = memory
        self._tell = tell
        self._warn = warn
        self._auto_remember = auto_remember
        self._may_consolidate = may_consolidate
        self._asks_model = asks_model
        self._doubtful: tuple[StatedPreference, ...] = ()
        self._session = ""
        self._has_reported_silence = False
        self._unclear: tuple[UnclearCorrection | UnclearRequest, ...] = ()
        self._just_lifted: tuple[str, ...] = ()  # limits of the session that its last message lifted

    def before_turn(self, session: Session, text: str) -> None:
        """Remember what the text of a turn states plainly; what is ambiguous applies to this session only."""
        self._memory.forgotten_now, self._memory.saved_now, self._memory.doubtful_now = (), (), ()
        self._unclear = ()
        if not self._auto_remember:
            return
        text = self._memory.redacted(text)  # as a whole: half of a secret that a line break divides is in no form
        self._report_unsaved(text)
        statements = find_statements(self._memory, text)
        said = _list_messages(session)
        if said and isinstance(said[-1], AssistantMessage) and said[-1].content.rstrip().endswith(("?", "？")):
            statements = statements.as_answer_to_question()
        statements = _confirm_changes(self._memory, statements)
        just_lifted, self._just_lifted = self._just_lifted, ()
        correcting = self._correct(session, text, statements)
        forgetting = self._forget(session, text, just_lifted, correcting)
        statements = statements.without(correcting, keeps_prohibitions=True).without(forgetting)
        gone = [] if correcting or forgetting else self._find_gone_preferences(text)
        if gone and gone[0].is_replaced:
            statements = self._with_improbable_wishes(text, statements)
        for one in gone:
            if not one.is_replaced and (one.widened or PROHIBITS.search(one.content)):
                statements = statements.without_permissions(one.content)
        self._remember(session.id, statements.certain)
        for one in gone:
            if statements.certain or not one.is_replaced:
                self._end_preference(one, text, session.id, [stated.content for stated in statements.certain])
        self._doubtful, self._session = statements.doubtful, session.id
        self._memory.doubtful_now = tuple(one.content for one in statements.doubtful if one.kind != "rule")
        orders = (*(one.content for one in statements.certain if one.kind == "rule"), *statements.held)
        held = self._memory.held_limits
        if ended := [limit for limit in held if any(replaces_order(limit, order) for order in orders)]:
            self._memory.lift_held(ended)
            self._tell(tr("No longer applies: {gone}{undo}", gone="; ".join(ended), undo=""))
        if statements.held:
            self._memory.hold_limits(statements.held)
            self._tell(describe_session_limits(statements.held))

    def _report_unsaved(self, text: str) -> None:
        """Report once while memory is off that the user's statements are not saved, if the text contains one."""
        self._has_reported_silence = self._has_reported_silence and self._memory.is_off
        if self._has_reported_silence or not self._memory.is_off:
            return
        found = _read_statements(self._memory, text)
        if found.certain or found.held:
            self._has_reported_silence = True
            self._tell(tr("Not saved: memory is off · /memory on"))

    def read_refusal_reason(self, session: Session, text: str) -> None:
        """Remember what the user's reason for declining a call states; questions about it come after the turn."""
        earlier, just_lifted = self._doubtful, self._just_lifted
        self.before_turn(session, text)
        self._just_lifted = (*just_lifted, *self._just_lifted)
        self._doubtful = (*earlier, *(one for one in self._doubtful if one not in earlier))

    def _correct(self, session: Session, text: str, statements: FoundStatements) -> set[str]:
        """Replace the memories that the text refutes, report it, and return the sentences that do so."""
        before = _list_messages(session)[-CONTEXT_MESSAGES:]
        if self._memory.is_silent or not (_may_change(text) or _may_restate(self._memory, text, session.id)):
            return set()
        from clio.memory.consolidation.corrections import Replaced, correct_memories, learn_corrected
        from clio.memory.statement_parser import announces_change

        try:
            facts = [one.quote for one in statements.certain if one.kind == "fact" and not announces_change(one.quote)]
            rules = {one.quote: one.content for one in statements.certain if one.kind == "rule"}
            tastes = {one.quote: one.content for one in statements.certain if one.kind in ("preference", "dislike")}
            changed = correct_memories(self._memory, text, session.id, before, set(facts), rules, tastes)
            done = {one.quote for one in changed}
            changed += learn_corrected(self._memory, text, session.id, before, {*done, *facts})
        except (UserError, StorageError, OSError) as error:
            self._warn(tr("the correction was not saved: {error_cause}", error_cause=error_cause(error)))
            return set()
        for one in changed:
            if isinstance(one, Replaced) or len(one.candidates) > 1:
                self._tell(one.describe())
            else:
                self._unclear = (*self._unclear, one)
        return {one.quote for one in changed}

    def _forget(self, session: Session, text: str, just_lifted: tuple[str, ...], done: Collection[str]) -> set[str]:
        """Forget what the text asks to forget, report it, and return the sentences that do so.

        Args:
            just_lifted: limits of the session that the message before lifted.
            done: sentences of the text that have corrected something.
        """
        if self._memory.is_silent or not (list_foreign_texts(text) or _MAY_FORGET.search(text)):
            return set()
        from clio.memory.consolidation.withdrawals import Lifted, forget_requested

        messages = _list_messages(session)
        context = "\n".join(one.content for one in messages[-CONTEXT_MESSAGES:])
        try:
            last = _find_last_message(session, just_lifted)
            found = forget_requested(self._memory, text, session.id, context, last, done)
        except (UserError, StorageError, OSError) as error:
            self._warn(tr("the limit was not lifted: {error_cause}", error_cause=error_cause(error)))
            return set()
        for one in found:
            if isinstance(one, Lifted):
                self._report_lifted(one)
            else:
                self._unclear = (*self._unclear, one)
        return {one.quote for one in found}

    def _report_lifted(self, one: "Lifted") -> None:
        if line := one.describe():
            self._memory.forgotten_now += one.records if not one.widened else ()
            self._just_lifted += one.held
            self._tell(line)

    def _find_gone_preferences(self, text: str) -> "list[GonePreference]":
        """Return the preferences, rules and limits that the text ends, replaces or adds to."""
        if self._memory.is_silent or len(text) > _MAX_RESTATING:
            return []
        with suppress(StorageError, OSError):  # reported when something is saved or recalled
            if self._memory.list_preferences() or self._memory.held_limits:
                from clio.memory.consolidation.preference_endings import find_gone_preferences

                return find_gone_preferences(self._memory, text)
        return []

    def _with_improbable_wishes(self, text: str, statements: FoundStatements) -> FoundStatements:
        """Return the statements of a text that replaces a preference, so that it wishes something.

        What may be a wish is certain then, even if it is not very probable of the text alone.
        """
        if any(one.kind != "fact" for one in statements.certain):
            return statements
        wishes = find_wishes(text, detect_language(text), least=SAVED_BESIDE)
        new = self._memory.redacted_notices([one.statement for one in wishes])
        return structs.replace(statements, certain=(*statements.certain, *new), doubtful=()) if new else statements

    def _end_preference(self, gone: "GonePreference", text: str, session: str, saved: Sequence[str]) -> None:
        """Take a preference back and report it, unless one that was saved has changed or confirmed it."""
        try:
            if not gone.is_still_known(self._memory, saved):
                return
            self._report_lifted(gone.take_back(self._memory, text, session))
        except (UserError, StorageError, OSError) as error:
            self._warn(tr("the limit was not lifted: {error_cause}", error_cause=error_cause(error)))

    def after_turn(self, session: Session, status: str) -> None:
        """Record how a turn ended, and report which of the user's reactions were counted as feedback."""
        try:
            noted = self._memory.end_turn(session, status)
        except (StorageError, OSError) as error:
            why = format_os_error(error) if isinstance(error, OSError) else error
            self._warn(tr("nothing was learned from this turn: {why}", why=why))
            return
        finally:
            for text in pop_damage_notes():
                self._warn(text)
        for one in noted:
            sign = "+" if one.rating.reward > 0 else "−"
            self._tell(
                tr(
                    "{sign} {note}: counts a little for {style}",
                    sign=sign,
                    note=one.rating.note,
                    style=one.turn.style or tr("this answer"),
                )
            )

    def consolidate(
        self,
        by: "StartedBy",
        stop: Callable[[], bool] = never_stop,
        budget_s: float | None = None,
        tell: ProgressCallback = ignore_progress,
    ) -> "Report | None":
        """Learn from turns that were not replayed yet, and tidy once a day, if the settings allow it; for a thread.

        Returns None if it did not run, also if another process consolidates or a file cannot be written; only the
        command reports such errors.
        """
        if not self._may_consolidate or self._memory.is_silent:
            return None
        with suppress(ClioError, OSError):
            consolidation = self._memory.consolidation
            if not consolidation.has_sessions():
                return None
            from clio.memory.consolidation.runner import run_consolidation

            tidies = consolidation.is_due()
            use_model = self._asks_model and by == "idle" and tidies
            return run_consolidation(
                consolidation, by, stop=stop, budget_s=budget_s, use_model=use_model, tell=tell, tidies=tidies
            )
        return None

    # Suggestions: statements that may have been meant for the current work only

    def pop_suggestions(self) -> tuple[Suggestion, ...]:
        """Return and clear the questions about statements of the last turn, at most one for each scope."""
        doubtful, self._doubtful = self._doubtful, ()
        unclear, self._unclear = self._unclear, ()
        corrections = ((one.question(), partial(self._confirm, one)) for one in unclear)
        return (*corrections, *self._questions(doubtful, self._session))

    def defer_suggestions(self) -> None:
        """Save the questions for the next interactive start, because the user cannot be asked now.

        Corrections are only reported: at the next start it would be too late to tell what they were about.
        """
        unclear, self._unclear = self._unclear, ()
        for one in unclear:
            self._tell(one.describe())
        doubtful, self._doubtful = self._doubtful, ()
        if not doubtful:
            return
        try:
            self._memory.pending_limits.add(doubtful, self._session)
        except (StorageError, OSError) as error:
            self._warn(tr("not saved for the next start: {error}", error=error))
            return
        contents = "; ".join(one.content for one in doubtful)
        self._tell(tr("clio will ask at the next interactive start whether to remember: {contents}", contents=contents))

    def pop_deferred_suggestions(self) -> tuple[Suggestion, ...]:
        """Return the questions about statements made in runs that could not ask, and clear them."""
        if self._memory.is_silent or not self._auto_remember:
            return ()
        try:
            pending = self._memory.pending_limits.take()
        except (StorageError, OSError) as error:
            self._warn(tr("limits stated in earlier runs are not asked about: {error}", error=error))
            return ()
        return self._questions(tuple(one.noticed for one in pending), pending[0].session if pending else "")

    def _questions(self, doubtful: Sequence[StatedPreference], session: str) -> tuple[Suggestion, ...]:
        groups = [[one for one in doubtful if one.in_project is scope] for scope in (True, False)]
        return tuple((format_question(group), partial(self._remember, session, group)) for group in groups if group)

    def _remember(self, session: str, statements: Sequence[StatedPreference]) -> None:
        saved = save_statements(self._memory, statements, session)
        self._memory.saved_now += saved.facts
        if saved.line:
            self._memory.forget_held([one.content for one in statements])
            self._tell(saved.line)

    def _confirm(self, one: "UnclearCorrection | UnclearRequest") -> None:
        """Do what the user confirmed that a correction or a request to forget is about."""
        self._tell(one.apply(self._memory).describe())


def _may_restate(memory: MemorySystem, text: str, session: str) -> bool:
    """Whether a message may give another value to a memory: a short one has a word of it, a longer one two.

    True if there are many memories, or for a few words after something was saved in this session.
    """
    if len(text) > _MAX_RESTATING:
        return False
    try:
        known = memory.store.records(("fact", "note", "discovery", "preference"), with_notes=False)
    except (StorageError, OSError):
        return False  # reported when something is saved or recalled
    words = frozenset(_WORD.findall(text.casefold()))
    if len(text) <= _FEW_WORDS and any(one.provenance and one.provenance.session == session for one in known):
        return True
    least = 1 if len(text) <= _SHORT else 2
    return len(known) > _MAX_KNOWN or any(
        len(words.intersection(_WORD.findall(one.content.casefold()))) >= least for one in known
    )


def _may_change(text: str) -> bool:
    """Whether a message may say that something is not as it was said before."""
    return len(text) <= _MAX_RESTATING and find_part_probability(text, "changed") >= _MAY_CHANGE


def is_own_message(message: object) -> TypeGuard[UserMessage]:
    """Whether the user wrote a message, and not clio or a hook."""
    return isinstance(message, UserMessage) and message.origin == "user"


def _list_messages(session: Session) -> "list[UserMessage | AssistantMessage]":
    """Return what the user and the model wrote in a session."""
    return [one for one in session.messages if isinstance(one, UserMessage | AssistantMessage)]


def _find_last_message(session: Session, lifted: tuple[str, ...]) -> "MessageBefore":
    from clio.memory.consolidation.withdrawals import MessageBefore

    messages = session.messages
    place = next((place for place in reversed(range(len(messages))) if is_own_message(messages[place])), None)
    if place is None:
        return MessageBefore()
    since = messages[place - 1].created if place else session.created_at
    return MessageBefore(text=str(messages[place].content), since=since, at=messages[place].created, lifted=lifted)
