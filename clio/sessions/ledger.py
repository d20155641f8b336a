"""What every turn cost, of all projects, one line each in clio's home; and what the turns of one session cost."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.messages import Message, UserMessage
from clio.sessions.state import FIRST_WORDS_CHARS, Bill, one_line
from clio.storage.documents import check_version, refuse_newer
from clio.storage.files import make_folder, open_regular, write_atomic
from clio.storage.jsonl import LineWriter, keep_damaged_lines, read_lines
from clio.storage.locks import FileLock
from clio.text.formatting import Cost
from clio.text.json_data import JsonDecoder


class Sum(Struct, frozen=True, kw_only=True):
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
    sum: Sum


def sum_of(bills: Sequence[Bill]) -> Sum:
    """All of them together."""
    return Sum(
        requests=len(bills),
        prompt_tokens=sum(bill.prompt_tokens for bill in bills),
        cached_tokens=sum(bill.cached_tokens for bill in bills),
        cache_write_tokens=sum(bill.cache_write_tokens for bill in bills),
        reasoning_tokens=sum(bill.reasoning_tokens for bill in bills),
        completion_tokens=sum(bill.completion_tokens for bill in bills),
        cost=sum((bill.money for bill in bills), Cost()),
    )


def turn_costs(messages: Sequence[Message], bills: Sequence[Bill]) -> list[TurnCost]:
    """The turns that were billed, oldest first. A bill belongs to the newest words that are not newer than it."""
    asked = [m for m in messages if isinstance(m, UserMessage) and m.origin == "user" and not m.steers]
    if not asked:
        return []
    starts = [message.created for message in asked]
    found: dict[int, list[Bill]] = {}
    for bill in bills:
        found.setdefault(max(bisect_right(starts, bill.timestamp) - 1, 0), []).append(bill)
    return [
        TurnCost(number=place + 1, words=one_line(asked[place].content, FIRST_WORDS_CHARS), sum=sum_of(found[place]))
        for place in sorted(found)
    ]


FILE_NAME = "costs.jsonl"
SCHEMA, VERSION = "clio.costs", 1
COMPACT_BYTES = 16_384
"""Each time the file has grown by so much and a quarter more it is made smaller: a long session then takes little of
it, and a year of them is not written anew every hundred turns."""
SESSION_DAYS, DAY_DAYS = 60, 400
"""After so many days a session's name goes, and after so many more than a year the day does: its month stays."""


class Opening(Struct, frozen=True, kw_only=True):
    """The first line. kept: bytes of the lines below it when the file was last made smaller."""

    schema: str = SCHEMA
    version: int = VERSION
    kept: int = 0


class Spent(Struct, frozen=True, kw_only=True, omit_defaults=True):
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
_decoder: JsonDecoder[Spent] = JsonDecoder(Spent)
_opening: JsonDecoder[Opening] = JsonDecoder(Opening)
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


class Read(Struct, frozen=True, kw_only=True):
    """The file's lines, and those that could not be understood, as they are."""

    spent: tuple[Spent, ...] = ()
    damaged: tuple[bytes, ...] = ()


class Ledger:
    """The file of one home. path: None keeps nothing and knows nothing.

    Several clios write into one file: each appends under its lock, so that none writes into a file just replaced.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def add(self, spent: Sequence[Spent]) -> None:
        """Append lines, and make the file smaller where it has grown much. Raises OSError, TimeoutError, NewerDocument.

        A process that is killed meanwhile leaves all the lines there were, and at most one torn one, which is cut off.
        """
        if self.path is None or not spent:
            return
        make_folder(self.path.parent)
        with self._lock():
            kept = self._first_line().kept
            writer = LineWriter(self.path, _encoder.encode(Opening()))
            try:
                for one in spent:
                    writer.add(_encoder.encode(one))
                writer.flush()
                writer.sync()
            finally:
                writer.close()
            if self.path.stat().st_size - kept > COMPACT_BYTES + kept // 4:
                self._write(self.read(), max(one.date for one in spent))

    def read(self) -> Read:
        """All lines; none where there is no file. Raises OSError, NewerDocument."""
        if self.path is None:
            return Read()
        lines = read_lines(self.path).lines
        if lines:
            self._check(lines[0])
        found: list[Spent] = []
        damaged: list[bytes] = []
        for line in lines:
            try:
                found.append(_decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                if not _is_opening(line):
                    damaged.append(line)
        return Read(spent=tuple(found), damaged=tuple(damaged))

    def recount(self, project: str, found: Mapping[str, Sequence[Bill]], day_of: Callable[[float], str]) -> None:
        """Count these sessions of a project anew, by id; see `recounted`. Raises as `add`."""
        if self.path is None:
            return
        make_folder(self.path.parent)
        with self._lock():
            known = self.read()
            new = {id: spent_of(bills, project=project, session=id, day_of=day_of) for id, bills in found.items()}
            self._write(Read(spent=tuple(recounted(known.spent, project, new)), damaged=known.damaged), "")

    def _write(self, known: Read, today: str) -> None:
        assert self.path is not None
        keep_damaged_lines(self.path)
        kept = compacted(known.spent, today) if today else known.spent
        lines = [*known.damaged, *map(_encoder.encode, kept)]
        opening = Opening(kept=sum(map(len, lines)) + len(lines))
        write_atomic(self.path, b"\n".join([_encoder.encode(opening), *lines]) + b"\n")

    def _lock(self) -> FileLock:
        assert self.path is not None
        return FileLock(self.path.with_name(self.path.name + ".lock"))

    def _first_line(self) -> Opening:
        """The file's first line; an empty one where there is none. Raises NewerDocument."""
        assert self.path is not None
        try:
            with open_regular(self.path) as file:
                return self._check(file.readline(4_096))
        except FileNotFoundError:
            return Opening()

    def _check(self, first: bytes) -> Opening:
        assert self.path is not None
        opening = _opening.decode(first) if _is_opening(first) else Opening()
        refuse_newer(self.path, opening.version, VERSION)
        return opening


def spent_of(bills: Iterable[Bill], *, project: str, session: str, day_of: Callable[[float], str]) -> list[Spent]:
    """The bills of one session as lines, one a day, server and model."""
    return merged(
        Spent(
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


def merged(spent: Iterable[Spent]) -> list[Spent]:
    """The lines with those of one day, project, session, server and model added up, in the order they began."""
    found: dict[tuple[str, str, str, str, str], Spent] = {}
    for one in spent:
        key = (one.date, one.project, one.session, one.server, one.model)
        known = found.get(key)
        sums = {name: getattr(known, name) + getattr(one, name) for name in _SUMS} if known else {}
        found[key] = structs.replace(known, **sums) if known else one
    return list(found.values())


def recounted(known: Iterable[Spent], project: str, found: Mapping[str, Sequence[Spent]]) -> list[Spent]:
    """The ledger with these sessions of a project counted anew.

    Sessions that are gone keep what they cost. Days that have lost their sessions already stay as they are.
    """
    kept = [one for one in known if one.project != project or one.session not in found]
    settled = {one.date for one in kept if one.project == project and not one.session}
    new = [one for spent in found.values() for one in spent if not {one.date, one.date[:7]} & settled]
    return merged([*kept, *new])


def compacted(spent: Iterable[Spent], today: str) -> list[Spent]:
    """What stays of the lines on that day: sessions for `SESSION_DAYS`, days for `DAY_DAYS`, then months."""
    session_from, day_from = _days_before(today, SESSION_DAYS), _days_before(today, DAY_DAYS)

    def shorter(one: Spent) -> Spent:
        if one.date >= session_from:
            return one
        return structs.replace(one, session="", date=one.date if one.date >= day_from else one.date[:7])

    return merged(map(shorter, spent))


def _days_before(day: str, days: int) -> str:
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()


def _is_opening(line: bytes) -> bool:
    try:
        opening = _opening.decode(line)
        check_version(opening.version)
        return opening.schema == SCHEMA and b'"schema"' in line
    except msgspec.DecodeError:
        return False
