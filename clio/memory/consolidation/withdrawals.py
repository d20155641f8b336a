"""Take memories, limits and rules back: "forget that rule", "scratch that".

`forget_requests` reads what is to be forgotten; permissions and changed tastes are found by `preference_endings`.
"Scratch that" takes back what the message before changed, as the change log tells.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, structs

from clio.errors import StorageError, UserError
from clio.memory.consolidation.forget_requests import (
    ForgetRequest,
    find_forget_requests,
    is_meant,
    is_part_meant,
    is_said_in,
    is_stated_in,
    list_named,
    needs_confirmation,
    takes_back_last,
)
from clio.memory.preferences.foreign_statements import detect_language
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import DISLIKED
from clio.memory.store.record import KEYED_NOTE, SHORT_ID, MemoryRecord, Replacement, shorten_content
from clio.memory.system import MemorySystem
from clio.text.scoring import HARD_LIMIT_SCORE
from clio.text.translation import tr

_EN = english_rules("withdrawals")
_PROHIBITION = _EN.pattern("prohibition")
_DISLIKED = _EN.pattern("disliked")
MAX_LISTED = 4
"""Number of memories that are listed if it is not clear which one is meant."""
_ONE_LINE_S = 0.5
"""Memories saved within this time are from one line."""
_FORGETTABLE = ("fact", "note", "discovery", "rule")


def as_stated(record: MemoryRecord) -> str:
    """Return the text of a preference as the user says it: a dislike is stored as the thing that is disliked."""
    is_dislike = record.score is not None and record.score <= DISLIKED and not record.explicit
    is_bare = is_dislike and not _DISLIKED.match(record.content) and not _PROHIBITION.match(record.content)
    return f"hate {record.content}" if is_bare and not detect_language(record.content) else record.content


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
        change_pending(memory, dict.fromkeys(held, ""))
    return Lifted(records=tuple(records), held=held, quote=quote)


def change_pending(memory: MemorySystem, contents: Mapping[str, str]) -> None:
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
        memory.lift_held([one for one in memory.held_limits if any(map(one.startswith, last.lifted))])
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
        elif new is None and version.because == "forgotten" and until <= last.at:
            forgotten.append(old)
    return list(replaced.values()), forgotten
