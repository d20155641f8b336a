"""What every turn cost, of all projects, one line each in clio's home; and what the turns of one session cost."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.messages import Message, UserMessage
from clio.sessions.state import FIRST_WORDS_CHARS, Bill, to_one_line
from clio.storage.documents import check_version, refuse_newer_version
from clio.storage.files import make_folder, open_regular, write_atomic
from clio.storage.jsonl import LineWriter, back_up_damaged_file, read_lines
from clio.storage.locks import FileLock
from clio.text.formatting import Cost
from clio.text.json_data import JsonDecoder


class BillTotals(Struct, frozen=True, kw_only=True):
    """Bills added up. Tokens as in `Bill`."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    completion_tokens: int = 0
    cost: Cost = Cost()


class TurnCost(Struct, frozen=True, kw_only=True):
    """One turn. number: from 1. words: how the person began it, on one line."""

    number: int
    words: str
    sum: BillTotals


def total_bills(bills: Sequence[Bill]) -> BillTotals:
    """All of them together."""
    return BillTotals(
        requests=len(bills),
        prompt_tokens=sum(bill.prompt_tokens for bill in bills),
        cached_tokens=sum(bill.cached_tokens for bill in bills),
        cache_write_tokens=sum(bill.cache_write_tokens for bill in bills),
        reasoning_tokens=sum(bill.reasoning_tokens for bill in bills),
        completion_tokens=sum(bill.completion_tokens for bill in bills),
        cost=sum((bill.cost_sum for bill in bills), Cost()),
    )


def list_turn_costs(messages: Sequence[Message], bills: Sequence[Bill]) -> list[TurnCost]:
    """The turns that were billed, oldest first. A bill belongs to the newest words that are not newer than it."""
    asked = [m for m in messages if isinstance(m, UserMessage) and m.origin == "user" and not m.steers]
    if not asked:
        return []
    starts = [message.created for message in asked]
    found: dict[int, list[Bill]] = {}
    for bill in bills:
        found.setdefault(max(bisect_right(starts, bill.timestamp) - 1, 0), []).append(bill)
    return [
        TurnCost(
            number=place + 1, words=to_one_line(asked[place].content, FIRST_WORDS_CHARS), sum=total_bills(found[place])
        )
        for place in sorted(found)
    ]


LEDGER_NAME = "costs.jsonl"
SCHEMA, VERSION = "clio.costs", 1
COMPACT_BYTES = 16_384
"""Each time the file has grown by so much and a quarter more it is made smaller: a long session then takes little of
it, and a year of them is not written anew every hundred turns."""
SESSION_DAYS, DAY_DAYS = 60, 400
"""After so many days a session's name goes, and after so many more than a year the day does: its month stays."""


class LedgerHeader(Struct, frozen=True, kw_only=True):
    """The first line. kept: bytes of the lines below it when the file was last made smaller."""

    schema: str = SCHEMA
    version: int = VERSION
    kept: int = 0


class LedgerEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one turn cost, or several added up.

    date: the local day, "2026-11-05"; a month, "2026-11", for what is long ago. project: the folder's path.
    session: "" where several were added up. requests: how many. Tokens as in `Bill`; `unpriced_tokens` of the prompts
        and answers are those whose price nobody knew. micro_dollars: what the others cost.
    """

    date: str
    project: str
    session: str = ""
    server: str = ""
    model: str
    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    completion_tokens: int = 0
    micro_dollars: int = 0
    unpriced_tokens: int = 0

    @property
    def cost(self) -> Cost:
        """The money in it."""
        return Cost(micro_dollars=self.micro_dollars, unpriced_tokens=self.unpriced_tokens)


_encoder = msgspec.json.Encoder()
_decoder: JsonDecoder[LedgerEntry] = JsonDecoder(LedgerEntry)
_opening: JsonDecoder[LedgerHeader] = JsonDecoder(LedgerHeader)
_SUMS = (
    "requests",
    "prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "completion_tokens",
    "micro_dollars",
    "unpriced_tokens",
)


class LedgerContent(Struct, frozen=True, kw_only=True):
    """The file's lines, and those that could not be understood, as they are."""

    spent: tuple[LedgerEntry, ...] = ()
    damaged: tuple[bytes, ...] = ()


class Ledger:
    """The file of one home. path: None keeps nothing and knows nothing.

    Several clios write into one file: each appends under its lock, so that none writes into a file just replaced.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def add(self, spent: Sequence[LedgerEntry]) -> None:
        """Append lines, and make the file smaller where it has grown much. Raises OSError, TimeoutError, NewerDocument.

        A process that is killed meanwhile leaves all the lines there were, and at most one torn one, which is cut off.
        """
        if self.path is None or not spent:
            return
        make_folder(self.path.parent)
        with self._lock():
            kept = self._first_line().kept
            writer = LineWriter(self.path, _encoder.encode(LedgerHeader()))
            try:
                for one in spent:
                    writer.add(_encoder.encode(one))
                writer.flush()
                writer.sync()
            finally:
                writer.close()
            if self.path.stat().st_size - kept > COMPACT_BYTES + kept // 4:
                self._write(self.read(), max(one.date for one in spent))

    def read(self) -> LedgerContent:
        """All lines; none where there is no file. Raises OSError, NewerDocument."""
        if self.path is None:
            return LedgerContent()
        lines = read_lines(self.path).lines
        if lines:
            self._check(lines[0])
        found: list[LedgerEntry] = []
        damaged: list[bytes] = []
        for line in lines:
            try:
                found.append(_decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                if not _is_opening(line):
                    damaged.append(line)
        return LedgerContent(spent=tuple(found), damaged=tuple(damaged))

    def recount(self, project: str, found: Mapping[str, Sequence[Bill]], day_of: Callable[[float], str]) -> None:
        """Count these sessions of a project anew, by id; see `recount_entries`. Raises as `add`."""
        if self.path is None:
            return
        make_folder(self.path.parent)
        with self._lock():
            known = self.read()
            new = {
                id: make_ledger_entries(bills, project=project, session=id, day_of=day_of)
                for id, bills in found.items()
            }
            self._write(
                LedgerContent(spent=tuple(recount_entries(known.spent, project, new)), damaged=known.damaged), ""
            )

    def _write(self, known: LedgerContent, today: str) -> None:
        assert self.path is not None
        back_up_damaged_file(self.path)
        kept = compact_entries(known.spent, today) if today else known.spent
        lines = [*known.damaged, *map(_encoder.encode, kept)]
        opening = LedgerHeader(kept=sum(map(len, lines)) + len(lines))
        write_atomic(self.path, b"\n".join([_encoder.encode(opening), *lines]) + b"\n")

    def _lock(self) -> FileLock:
        assert self.path is not None
        return FileLock(self.path.with_name(self.path.name + ".lock"))

    def _first_line(self) -> LedgerHeader:
        """The file's first line; an empty one where there is none. Raises NewerDocument."""
        assert self.path is not None
        try:
            with open_regular(self.path) as file:
                return self._check(file.readline(4_096))
        except FileNotFoundError:
            return LedgerHeader()

    def _check(self, first: bytes) -> LedgerHeader:
        assert self.path is not None
        opening = _opening.decode(first) if _is_opening(first) else LedgerHeader()
        refuse_newer_version(self.path, opening.version, VERSION)
        return opening


def make_ledger_entries(
    bills: Iterable[Bill], *, project: str, session: str, day_of: Callable[[float], str]
) -> list[LedgerEntry]:
    """The bills of one session as lines, one a day, server and model."""
    return merge_entries(
        LedgerEntry(
            date=day_of(bill.timestamp),
            project=project,
            session=session,
            server=bill.server,
            model=bill.model,
            requests=1,
            prompt_tokens=bill.prompt_tokens,
            cached_tokens=bill.cached_tokens,
            cache_write_tokens=bill.cache_write_tokens,
            reasoning_tokens=bill.reasoning_tokens,
            completion_tokens=bill.completion_tokens,
            micro_dollars=bill.cost or 0,
            unpriced_tokens=0 if bill.cost is not None else bill.prompt_tokens + bill.completion_tokens,
        )
        for bill in bills
    )


def merge_entries(spent: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """The lines with those of one day, project, session, server and model added up, in the order they began."""
    found: dict[tuple[str, str, str, str, str], LedgerEntry] = {}
    for one in spent:
        key = (one.date, one.project, one.session, one.server, one.model)
        known = found.get(key)
        sums = {name: getattr(known, name) + getattr(one, name) for name in _SUMS} if known else {}
        found[key] = structs.replace(known, **sums) if known else one
    return list(found.values())


def recount_entries(
    known: Iterable[LedgerEntry], project: str, found: Mapping[str, Sequence[LedgerEntry]]
) -> list[LedgerEntry]:
    """The ledger with these sessions of a project counted anew.

    Sessions that are gone keep what they cost. Days that have lost their sessions already stay as they are.
    """
    kept = [one for one in known if one.project != project or one.session not in found]
    settled = {one.date for one in kept if one.project == project and not one.session}
    new = [one for spent in found.values() for one in spent if not {one.date, one.date[:7]} & settled]
    return merge_entries([*kept, *new])


def compact_entries(spent: Iterable[LedgerEntry], today: str) -> list[LedgerEntry]:
    """What stays of the lines on that day: sessions for `SESSION_DAYS`, days for `DAY_DAYS`, then months."""
    session_from, day_from = _days_before(today, SESSION_DAYS), _days_before(today, DAY_DAYS)

    def shorter(one: LedgerEntry) -> LedgerEntry:
        if one.date >= session_from:
            return one
        return structs.replace(one, session="", date=one.date if one.date >= day_from else one.date[:7])

    return merge_entries(map(shorter, spent))


def _days_before(day: str, days: int) -> str:
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()


def _is_opening(line: bytes) -> bool:
    try:
        opening = _opening.decode(line)
        check_version(opening.version)
        return opening.schema == SCHEMA and b'"schema"' in line
    except msgspec.DecodeError:
        return False
