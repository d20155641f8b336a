"""The cost ledger of all projects, `costs.jsonl` in clio's home directory, and the costs of one session's turns."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.messages import Message, UserMessage
from clio.sessions.state import Bill, find_first_words
from clio.storage.documents import check_version, refuse_newer_version
from clio.storage.files import make_folder, open_regular, write_atomic
from clio.storage.jsonl import LineWriter, back_up_damaged_file, read_lines
from clio.storage.locks import FileLock
from clio.text.formatting import Cost
from clio.text.json_data import JsonDecoder


class BillTotals(Struct, frozen=True, kw_only=True):
    """The sum of several bills. Token counts as in `Bill`."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    completion_tokens: int = 0
    searches: int = 0
    cost: Cost = Cost()


class TurnCost(Struct, frozen=True, kw_only=True):
    """The cost of one turn. number: from 1. first_words: the beginning of the user's message, on one line."""

    number: int
    first_words: str
    total: BillTotals


def total_bills(bills: Sequence[Bill]) -> BillTotals:
    """Return the sum of the bills."""
    return BillTotals(
        requests=len(bills),
        prompt_tokens=sum(bill.prompt_tokens for bill in bills),
        cached_tokens=sum(bill.cached_tokens for bill in bills),
        cache_write_tokens=sum(bill.cache_write_tokens for bill in bills),
        reasoning_tokens=sum(bill.reasoning_tokens for bill in bills),
        completion_tokens=sum(bill.completion_tokens for bill in bills),
        searches=sum(bill.searches for bill in bills),
        cost=sum((bill.cost_sum for bill in bills), Cost()),
    )


def list_turn_costs(messages: Sequence[Message], bills: Sequence[Bill]) -> list[TurnCost]:
    """Return the turns that have bills, oldest first.

    A bill belongs to the latest user message that is not newer than the bill.
    """
    # A steering message arrives inside a turn, so it does not start one.
    requests = [m for m in messages if isinstance(m, UserMessage) and m.origin == "user" and not m.steers]
    if not requests:
        return []
    starts = [message.created for message in requests]
    bills_by_turn: dict[int, list[Bill]] = {}
    for bill in bills:
        # A bill older than the first message belongs to the first turn: two machines' clocks may differ.
        bills_by_turn.setdefault(max(bisect_right(starts, bill.timestamp) - 1, 0), []).append(bill)
    return [
        TurnCost(
            number=index + 1,
            first_words=find_first_words([requests[index]]),
            total=total_bills(bills_by_turn[index]),
        )
        for index in sorted(bills_by_turn)
    ]


LEDGER_NAME = "costs.jsonl"
LEDGER_SCHEMA, LEDGER_VERSION = "clio.costs", 1
COMPACT_BYTES = 16_384
"""The file is compacted when it has grown by this plus a quarter of its compacted size.

The constant part keeps a long session small; the proportional part keeps a large file from being rewritten every
hundred turns.
"""
SESSION_DAYS, DAY_DAYS = 60, 400
"""Compaction merges the sessions of a day after SESSION_DAYS, and the days of a month after DAY_DAYS."""


class LedgerHeader(Struct, frozen=True, kw_only=True):
    """The first line of the file. compacted_bytes: size of the other lines after the last compaction."""

    schema: str = LEDGER_SCHEMA
    version: int = LEDGER_VERSION
    compacted_bytes: int = msgspec.field(default=0, name="kept")


class LedgerEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cost of one turn, or the sum of several.

    Attributes:
        date: local day, "2026-11-05"; or month, "2026-11", for old entries.
        project: path of the project directory.
        session: session id; "" if several sessions were merged.
        requests: number of requests. Token counts as in `Bill`.
        micro_dollars: cost of the tokens with a known price.
        unpriced_tokens: prompt and completion tokens without a known price.
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
        """The cost in dollars, and the tokens without a known price."""
        return Cost(micro_dollars=self.micro_dollars, unpriced_tokens=self.unpriced_tokens)


_encoder = msgspec.json.Encoder()
_decoder: JsonDecoder[LedgerEntry] = JsonDecoder(LedgerEntry)
_header_decoder: JsonDecoder[LedgerHeader] = JsonDecoder(LedgerHeader)
_SUMMED_FIELDS = (
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
    """The entries of the file, and the lines that could not be decoded, as raw bytes."""

    entries: tuple[LedgerEntry, ...] = ()
    damaged: tuple[bytes, ...] = ()


class Ledger:
    """The ledger file in one home directory. path: None for a ledger that stores nothing and is always empty.

    Several processes share the file. Each appends while it holds the file's lock, so that none appends to a file that
    another one has just replaced.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def add(self, entries: Sequence[LedgerEntry]) -> None:
        """Append entries; compact the file if it has grown enough. Raises OSError, TimeoutError, NewerDocument.

        If the process is killed meanwhile, all earlier lines stay, followed by at most one incomplete line, which the
        next writer cuts off.
        """
        if self.path is None or not entries:
            return
        make_folder(self.path.parent)
        with self._lock():
            # Read under the lock: another clio may just have compacted the file.
            compacted_bytes = self._read_header().compacted_bytes
            writer = LineWriter(self.path, _encoder.encode(LedgerHeader()))
            try:
                for entry in entries:
                    writer.add(_encoder.encode(entry))
                writer.flush()
                writer.sync()
            finally:
                writer.close()
            if self.path.stat().st_size - compacted_bytes > COMPACT_BYTES + compacted_bytes // 4:
                # The newest entry gives today's date, so that the ledger itself never reads the clock.
                self._write(self.read(), max(entry.date for entry in entries))

    def read(self) -> LedgerContent:
        """Return all entries; none if there is no file. Raises OSError, NewerDocument."""
        if self.path is None:
            return LedgerContent()
        lines = read_lines(self.path).lines
        if lines:
            self._decode_header(lines[0])
        found: list[LedgerEntry] = []
        damaged: list[bytes] = []
        for line in lines:
            try:
                found.append(_decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                if not _is_header(line):
                    damaged.append(line)
        return LedgerContent(entries=tuple(found), damaged=tuple(damaged))

    def recount(self, project: str, found: Mapping[str, Sequence[Bill]], day_of: Callable[[float], str]) -> None:
        """Replace the entries of these sessions of a project, given by id; see `recount_entries`. Raises as `add`."""
        if self.path is None:
            return
        make_folder(self.path.parent)
        with self._lock():
            content = self.read()
            new = {
                id: make_ledger_entries(bills, project=project, session=id, day_of=day_of)
                for id, bills in found.items()
            }
            self._write(
                LedgerContent(entries=tuple(recount_entries(content.entries, project, new)), damaged=content.damaged),
                "",
            )

    def _write(self, content: LedgerContent, today: str) -> None:
        """Replace the file by this content, compacted unless `today` is "". Damaged lines stay in the file."""
        assert self.path is not None
        # Damaged lines may be repairable by hand; a rewrite is the last moment at which they are still as they were.
        back_up_damaged_file(self.path)
        entries = compact_entries(content.entries, today) if today else content.entries
        lines = [*content.damaged, *map(_encoder.encode, entries)]
        header = LedgerHeader(compacted_bytes=sum(map(len, lines)) + len(lines))  # each line ends with one byte
        write_atomic(self.path, b"\n".join([_encoder.encode(header), *lines]) + b"\n")

    def _lock(self) -> FileLock:
        assert self.path is not None
        return FileLock(self.path.with_name(self.path.name + ".lock"))

    def _read_header(self) -> LedgerHeader:
        """Return the file's header; the default header if there is no file. Raises NewerDocument."""
        assert self.path is not None
        try:
            with open_regular(self.path) as file:
                return self._decode_header(file.readline(4_096))  # a header has under 100 bytes
        except FileNotFoundError:
            return LedgerHeader()

    def _decode_header(self, line: bytes) -> LedgerHeader:
        """Return the header in the file's first line; the default if the line is none. Raises NewerDocument."""
        assert self.path is not None
        header = _header_decoder.decode(line) if _is_header(line) else LedgerHeader()
        refuse_newer_version(self.path, header.version, LEDGER_VERSION)
        return header


def make_ledger_entries(
    bills: Iterable[Bill], *, project: str, session: str, day_of: Callable[[float], str]
) -> list[LedgerEntry]:
    """Return the bills of one session as entries, one for each day, server and model."""
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


def merge_entries(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Add up the entries with equal date, project, session, server and model; ordered by first occurrence."""
    merged: dict[tuple[str, str, str, str, str], LedgerEntry] = {}
    for entry in entries:
        key = (entry.date, entry.project, entry.session, entry.server, entry.model)
        earlier = merged.get(key)
        sums = {name: getattr(earlier, name) + getattr(entry, name) for name in _SUMMED_FIELDS} if earlier else {}
        merged[key] = structs.replace(earlier, **sums) if earlier else entry
    return list(merged.values())


def recount_entries(
    known: Iterable[LedgerEntry], project: str, found: Mapping[str, Sequence[LedgerEntry]]
) -> list[LedgerEntry]:
    """Return the ledger with the entries of these sessions of a project replaced.

    Entries of deleted sessions stay. Days whose sessions were merged by compaction stay as they are, since the
    sessions' share in them is unknown.
    """
    others = [entry for entry in known if entry.project != project or entry.session not in found]
    merged_dates = {entry.date for entry in others if entry.project == project and not entry.session}
    # An entry of a merged day or month is already part of that sum; adding it again would count it twice.
    new = [e for entries in found.values() for e in entries if not {e.date, e.date[:7]} & merged_dates]
    return merge_entries([*others, *new])


def compact_entries(entries: Iterable[LedgerEntry], today: str) -> list[LedgerEntry]:
    """Return the entries merged by age: by session for `SESSION_DAYS`, then by day until `DAY_DAYS`, then by month."""
    session_from, day_from = _days_before(today, SESSION_DAYS), _days_before(today, DAY_DAYS)

    def drop_old_details(entry: LedgerEntry) -> LedgerEntry:
        if entry.date >= session_from:
            return entry
        return structs.replace(entry, session="", date=entry.date if entry.date >= day_from else entry.date[:7])

    return merge_entries(map(drop_old_details, entries))


def _days_before(day: str, days: int) -> str:
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()


def _is_header(line: bytes) -> bool:
    try:
        header = _header_decoder.decode(line)
        check_version(header.version)
        # `schema` has a default, so any JSON object would decode as a header: the name must be in the line.
        return header.schema == LEDGER_SCHEMA and b'"schema"' in line
    except msgspec.DecodeError:
        return False
