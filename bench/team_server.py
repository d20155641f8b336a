"""Measure the memory of a team in PostgreSQL: many memories, many writers, kills and a failover.

    python -m bench.team_server                         a million memories, 50 writers for a minute, then the kills
    python -m bench.team_server --memories 20000 --seconds 10
    python -m bench.team_server --only kills,failover   with few memories, a minute
    python -m bench.team_server --only load --data FOLDER   keep the memories in FOLDER, and use them again

PostgreSQL's server must be installed; a cluster is created in a temporary folder and deleted. Members use HTTP with
`clio mcp --http` processes, and `fsync` is on.
"""

import argparse
import http.client
import itertools
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from bench.measurements import read_cpu_s
from clio.memory.database.administration import add_member
from clio.memory.database.connection import Database, migrate, parse_database_address
from clio.memory.database.search import TermStatistics, quote_term
from clio.memory.database.store import COLUMNS, Work, make_row, search_memories
from clio.memory.store.memory_index import Ranked
from clio.memory.store.record import MemoryRecord, Provenance
from clio.text.vocabulary import extract_terms
from tests.support.postgres import Cluster, why_not

ROOT = Path(__file__).parent.parent
DAY_S = 86_400.0
_VOCABULARY = 30_000
_CHUNK = 10_000
_KINDS = ("fact", "fact", "fact", "note", "event", "preference")


def make_vocabulary() -> tuple[list[str], list[float]]:
    """Return invented words, and their cumulative weights by Zipf's law."""
    rng = random.Random(1)
    syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprstvz", "aeiou")]
    words = sorted({"".join(rng.choices(syllables, k=rng.choice((2, 2, 3, 3, 4)))) for _ in range(60_000)})
    rng.shuffle(words)
    words = words[:_VOCABULARY]
    return words, list(itertools.accumulate(1.0 / (rank + 2.7) for rank in range(len(words))))


WORDS, WEIGHTS = make_vocabulary()


def make_text(rng: random.Random) -> str:
    """Return the text of a memory: 6 to 20 words, a number in every third one."""
    words = rng.choices(WORDS, cum_weights=WEIGHTS, k=rng.randint(6, 20))
    if rng.random() < 0.33:
        words.insert(rng.randint(1, len(words)), str(rng.randint(1, 99_999)))
    return " ".join(words).capitalize()


def make_record(number: int, now: float) -> MemoryRecord:
    """Return one memory of the last 300 days."""
    rng = random.Random(number)
    created = now - rng.random() ** 2 * 300 * DAY_S
    stamp = f"{int(created * 1000):012x}"
    rest = f"{rng.getrandbits(62) | 1 << 63:016x}"
    return MemoryRecord(
        id=f"{stamp[:8]}-{stamp[8:]}-7{rng.getrandbits(12):03x}-{rest[:4]}-{rest[4:]}",
        kind=rng.choice(_KINDS),
        content=make_text(rng),
        importance=rng.choice((0.3, 0.5, 0.5, 0.5, 0.7, 0.8, 0.9)),
        created=created,
        updated=created,
        accessed=created + rng.random() ** 3 * (now - created),
        confidence=0.8,
        by=f"member{number % 50}",
        provenance=Provenance(session=f"team/member{number % 50}"),
    )


def make_lines(first: int, count: int, now: float) -> str:
    """Return rows in the text format of COPY."""
    lines: list[str] = []
    for number in range(first, first + count):
        row = make_row(make_record(number, now), "")
        lines.append("\t".join(_encode(name, row[name]) for name in COLUMNS) + "\n")
    return "".join(lines)


def _encode(name: str, value: Any) -> str:
    if value is None:
        return "\\N"
    if name == "terms":
        value = " ".join(quote_term(term) for term in value)
    elif name == "bands":
        value = "{" + ",".join(map(str, value)) + "}"
    elif isinstance(value, bool):
        return "t" if value else "f"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def fill_database(url: str, count: int, now: float) -> None:
    """Write memories with COPY, then create the indexes."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set maintenance_work_mem = '1GB'")
        indexes = connection.execute(
            "select indexname, indexdef from pg_indexes where schemaname = 'clio' and tablename = 'memory' "
            "and indexname <> 'memory_pkey'"
        ).fetchall()
        for name, _ in indexes:
            connection.execute(f"drop index clio.{name}".encode())
        started = time.perf_counter()
        with (
            ProcessPoolExecutor(os.cpu_count()) as pool,
            connection.cursor().copy(f"copy clio.memory ({', '.join(COLUMNS)}) from stdin".encode()) as copy,
        ):
            starts = range(0, count, _CHUNK)
            sizes = [min(_CHUNK, count - start) for start in starts]
            for lines in pool.map(make_lines, starts, sizes, itertools.repeat(now)):
                copy.write(lines)
        print_figure(f"{count:,} memories written with COPY", time.perf_counter() - started, "s")
        started = time.perf_counter()
        for _, statement in indexes:
            connection.execute(statement.encode())
        connection.execute("update clio.scope set live = (select count(*) from clio.memory) where owner = ''")
        connection.execute("vacuum (analyze) clio.memory")
        print_figure("indexes and statistics", time.perf_counter() - started, "s")
        size = connection.execute("select pg_total_relation_size('clio.memory')").fetchone()
        print_figure("size of the table with its indexes", (size or (0,))[0] / 1e6, "MB")


def make_queries(count: int, memories: int, now: float) -> list[str]:
    """Return queries of one to five consecutive words of a memory."""
    rng = random.Random(2)
    queries: list[str] = []
    while len(queries) < count:
        words = make_record(rng.randrange(memories), now).content.lower().split()
        start = rng.randrange(len(words))
        queries.append(" ".join(words[start : start + rng.choice((1, 2, 2, 3, 3, 4, 5))]))
    return queries


def measure_store(url: str, queries: Sequence[str], now: float) -> None:
    """Time recalls without HTTP and other callers, and compare them with the score of all memories."""
    database = Database(parse_database_address(url, {}), max_connections=1)
    database.open()
    terms = TermStatistics()

    def recall(query: str) -> Sequence[Ranked]:
        return database.read(lambda one: search_memories(Work(one, terms), ("",), query, 10, "", now))

    process = Path(f"/proc/{database.read(lambda one: one.info.backend_pid)}/schedstat")
    times: list[float] = []
    cpu_times: list[float] = []
    for query in queries:
        started, used = time.perf_counter(), time.process_time() + read_cpu_seconds(process)
        recall(query)
        times.append((time.perf_counter() - started) * 1e3)
        cpu_times.append((time.process_time() + read_cpu_seconds(process) - used) * 1e3)
    print_percentiles("recall, one caller, without HTTP", times)
    print_percentiles("CPU of clio and PostgreSQL for it", cpu_times)
    same = found = 0
    for query in queries[:60]:
        best, exact = recall(query), score_all(url, query, now)
        same += sum(round(hit.score, 9) == score for hit, score in zip(best, exact, strict=False))
        found += len(exact)
    print_figure("recalled among the first ten with the same score as an exact search", 100 * same / max(found, 1), "%")
    database.close()


def read_cpu_of_database(url: str) -> float:
    """Return the CPU time so far of PostgreSQL's running processes in seconds."""
    with psycopg.connect(url) as connection:
        pids = connection.execute("select pid from pg_stat_activity").fetchall()
    return sum(read_cpu_seconds(Path(f"/proc/{pid}/schedstat")) for (pid,) in pids)


def read_cpu_seconds(process: Path) -> float:
    """Return the CPU time of a process so far, in seconds; 0.0 on systems without schedstat."""
    return int(process.read_text(encoding="utf-8").split()[0]) / 1e9 if process.exists() else 0.0


def score_all(url: str, query: str, now: float) -> list[float]:
    """Return the ten best scores of all memories, read one by one."""
    terms = sorted(set(extract_terms(query)))
    hits = " + ".join("(terms @@ %s::tsquery)::int" for _ in terms)
    quoted = [quote_term(term) for term in terms]
    with psycopg.connect(url) as connection:
        connection.execute("set enable_bitmapscan = off")
        rows = connection.execute(
            f"select 0.3 * hits + 0.3 * (hits::float8 / (%s + size - hits)) + 0.2 * importance + 0.2 * "
            "(case when %s - accessed <= 3600 then 1.0 else greatest(0, 1 - (%s - accessed) / 2592000.0) end) as score "
            f"from (select *, {hits} as hits from clio.memory where live and terms @@ %s::tsquery) m "
            "order by score desc limit 10".encode(),
            [len(terms), now, now, *quoted, " | ".join(quoted)],
        ).fetchall()
    return [round(score, 9) for (score,) in rows]


class Server:
    """A `clio mcp --http --database` process."""

    def __init__(self, url: str, home: Path, port: int = 0) -> None:
        self.url, self.home = url, home
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Server":
        env = {name: value for name, value in os.environ.items() if not name.startswith("CLIO")}
        env |= {"HOME": str(self.home), "BENCH_DATABASE": self.url}
        arguments = ["mcp", "--http", "--write", "--port", str(self.port), "--database", "env:BENCH_DATABASE"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "clio", *arguments, "--cwd", str(self.home)],
            cwd=ROOT,
            env=env,
            stderr=subprocess.PIPE,
        )
        output = ""
        assert self._process.stderr
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/mcp", " ".join(output.split()))):
            line = self._process.stderr.readline().decode()
            assert line, output
            output += line
        self.port = int(found[1])
        threading.Thread(target=self._process.stderr.read, daemon=True).start()
        return self

    def read_cpu_seconds(self) -> float:
        """Return the CPU time of all threads of the process so far, in seconds."""
        assert self._process
        return read_cpu_s(self._process.pid)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=60)
            self._process = None


class Caller:
    """The client of a member."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._connection: http.client.HTTPConnection | None = None
        self._used_at = 0.0

    def call(self, name: str, key: str = "", **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result. Raises OSError if there is no answer, or an error."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        headers |= {"Idempotency-Key": key} if key else {}
        try:
            # The server closes connections that were idle for five seconds.
            if self._connection is None or time.monotonic() - self._used_at > 4.0:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            self._used_at = time.monotonic()
            self._connection.request("POST", "/mcp", json.dumps(message), headers)
            answer = self._connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection = None
            raise OSError(str(error)) from error
        if answer.status != 200:
            raise OSError(f"{answer.status} {body.decode()}")
        result = json.loads(body)["result"]
        if result.get("isError"):
            raise OSError(result["content"][0]["text"])
        return result


class Writers:
    """Members that write and recall until they are stopped."""

    def __init__(self, port: int, tokens: Sequence[str], interval_s: float, queries: Sequence[str]) -> None:
        self._stop = threading.Event()
        self._interval_s = interval_s
        self._queries = queries
        self.acknowledged: list[str] = []
        self.recalls: list[float] = []
        self.writes: list[float] = []
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._write, args=(number, Caller(port, token)))
            for number, token in enumerate(tokens)
        ]

    def start(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int, caller: Caller) -> None:
        rng = random.Random(time.time_ns() + number)
        self._stop.wait(rng.random() * self._interval_s)
        while not self._stop.is_set():
            started = time.perf_counter()
            text = f"{make_text(rng)} {rng.getrandbits(40):x}"
            key = f"{rng.getrandbits(64):x}"
            # Retried with the same key, as by a client that does not know whether the call was executed.
            while not self._stop.is_set():
                try:
                    caller.call("remember", key, content=text, type="fact")
                except OSError as error:
                    self.errors.append(str(error))
                    self._stop.wait(0.2)
                else:
                    self.writes.append((time.perf_counter() - started) * 1e3)
                    self.acknowledged.append(text)
                    break
            if self._queries:
                recall_started = time.perf_counter()
                try:
                    caller.call("recall", query=rng.choice(self._queries))
                    self.recalls.append((time.perf_counter() - recall_started) * 1e3)
                except OSError as error:
                    self.errors.append(str(error))
            self._stop.wait(max(self._interval_s - (time.perf_counter() - started), 0.0))


def count_lost(url: str, acknowledged: Sequence[str]) -> tuple[int, int]:
    """Return how many acknowledged memories are missing, and how many are stored twice."""
    with psycopg.connect(url) as connection:
        texts = [
            str(text) for (text,) in connection.execute("select record::json->>'content' from clio.memory where live")
        ]
    stored = set(texts)
    duplicates = len(texts) - len(stored)
    return sum(text not in stored for text in acknowledged), duplicates


def measure_load(
    url: str, home: Path, tokens: Sequence[str], queries: Sequence[str], seconds: int, interval_s: float
) -> None:
    """Measure writers that also recall, over HTTP."""
    server = Server(url, home).start()
    clio_before, database_before = server.read_cpu_seconds(), read_cpu_of_database(url)
    writers = Writers(server.port, tokens, interval_s, queries).start()
    time.sleep(seconds)
    writers.end()
    calls = max(len(writers.recalls) + len(writers.writes), 1)
    clio_ms = (server.read_cpu_seconds() - clio_before) * 1e3 / calls
    database_ms = (read_cpu_of_database(url) - database_before) * 1e3 / calls
    server.end()
    print_figure(f"{len(tokens)} writers, each a memory and a recall every {interval_s:g} s", seconds, "s")
    print_percentiles("recall over HTTP", writers.recalls)
    print_percentiles("remember over HTTP", writers.writes)
    print_figure("CPU of clio for a call", clio_ms, "ms")
    print_figure("CPU of PostgreSQL for a call", database_ms, "ms")
    print_figure("errors", len(writers.errors), writers.errors[:1] or "")
    lost, _ = count_lost(url, writers.acknowledged)
    print_figure("acknowledged memories", len(writers.acknowledged), f"lost: {lost}")


def kill_under_load(label: str, url: str, tokens: Sequence[str], server: Server, kill: Callable[[], None]) -> None:
    """Call `kill` while members write, and check that all acknowledged memories are stored."""
    writers = Writers(server.port, tokens, 0.3, ()).start()
    time.sleep(4)
    before = len(writers.acknowledged)
    started = time.perf_counter()
    kill()
    while len(writers.acknowledged) <= before + 5:
        time.sleep(0.05)
        assert time.perf_counter() - started < 120, writers.errors[-3:]
    seconds = time.perf_counter() - started
    time.sleep(4)
    writers.end()
    lost, duplicates = count_lost(url, writers.acknowledged)
    print_figure(
        f"{label}: acknowledged memories", len(writers.acknowledged), f"lost: {lost}, stored twice: {duplicates}"
    )
    print_figure(f"{label}: writing again after", seconds, f"s; refused meanwhile: {len(writers.errors)}")


def measure_kills(home: Path, rounds: int) -> None:
    """kill -9 PostgreSQL and clio, several times."""
    cluster = Cluster(fsync="on").create()
    try:
        url, tokens = set_up(cluster, 50)
        server = Server(url, home).start()

        def kill_database() -> None:
            cluster.kill()
            cluster.start()

        def kill_clio() -> None:
            server.end(signal.SIGKILL)
            server.start()

        for _ in range(rounds):
            kill_under_load("kill -9 of PostgreSQL", url, tokens, server, kill_database)
            kill_under_load("kill -9 of clio", url, tokens, server, kill_clio)
        server.end()
    finally:
        cluster.close()


def measure_failover(home: Path) -> None:
    """kill -9 the primary, and promote its synchronous standby."""
    primary = Cluster(fsync="on", synchronous_standby_names="*", wal_keep_size="256MB").create()
    standby = Cluster(fsync="on")
    try:
        # Until the standby is connected, nothing is acknowledged.
        standby.copy_of(primary)
        standby.start()
        url, tokens = set_up(primary, 20)
        name = url.rpartition("/")[2]
        both = f"postgresql://clio@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/{name}"
        server = Server(both, home).start()

        def fail_over() -> None:
            primary.kill()
            standby.promote()

        kill_under_load("failover to a synchronous standby", standby.url(name), tokens, server, fail_over)
        server.end()
    finally:
        primary.close()
        standby.close()


def set_up(cluster: Cluster, members: int) -> tuple[str, list[str]]:
    """Return the address of a new database with tables, and the tokens of its members."""
    url = cluster.new_database("team")
    database = open_database(url)
    database.read(migrate)
    tokens = [
        database.write(lambda one, number=number: add_member(one, f"member{number}", may_write=True))
        for number in range(members)
    ]
    database.close()
    return url, tokens


class FilledDatabase(msgspec.Struct):
    """A database with memories. now: when it was filled; the times of its memories are relative to it."""

    url: str
    tokens: list[str]
    memories: int
    now: float


def prepare(cluster: Cluster, memories: int, members: int) -> FilledDatabase:
    """Start a cluster, and fill it unless its folder already has the memories."""
    description_file = cluster.folder / "filled.json"
    if not description_file.exists():
        now = time.time()
        url, tokens = set_up(cluster.create(), members)
        fill_database(url, memories, now)
        filled = FilledDatabase(url=url, tokens=tokens, memories=memories, now=now)
        description_file.write_bytes(msgspec.json.encode(filled))
        return filled
    filled = msgspec.json.decode(description_file.read_bytes(), type=FilledDatabase)
    if (filled.memories, len(filled.tokens)) != (memories, members):
        raise SystemExit(f"{cluster.folder} has {filled.memories:,} memories of {len(filled.tokens)} members")
    for file in (cluster.data / "base").rglob("*"):  # into the page cache, as after filling
        if file.is_file():
            file.read_bytes()
    filled.url = cluster.start().url("team")  # the port may be different
    database = open_database(filled.url)
    if database.read(migrate):
        database.read(lambda one: one.execute(b"analyze clio.memory"))
    database.close()
    return filled


def open_database(url: str) -> Database:
    """Return an open database."""
    database = Database(parse_database_address(url, {}))
    database.open()
    return database


def print_figure(label: str, value: float, unit: object = "") -> None:
    """Print one figure."""
    print(f"{label:<82} {value:>12,.1f} {unit}", flush=True)


def print_percentiles(label: str, times: Sequence[float]) -> None:
    """Print median, p95 and p99."""
    if len(times) < 20:
        print_figure(f"{label}: too few", len(times))
        return
    cuts = statistics.quantiles(times, n=100)
    for name, value in (("p50", cuts[49]), ("p95", cuts[94]), ("p99", cuts[98])):
        print_figure(f"{label} ({len(times):,}), {name}", value, "ms")


def main() -> int:
    """Run the parts that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--writers", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two memories of a writer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--data", type=Path, help="folder of the filled database, which is created or used again, and kept"
    )
    parser.add_argument("--only", default="load,kills,failover")
    options = parser.parse_args()
    if reason := why_not():
        print(reason, file=sys.stderr)
        return 1
    parts = set(options.only.split(","))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if "load" in parts:
            cluster = Cluster(options.data, fsync="on", shared_buffers="1GB", max_wal_size="8GB")
            try:
                filled = prepare(cluster, options.memories, options.writers)
                queries = make_queries(400, options.memories, filled.now)
                measure_store(filled.url, queries, filled.now)
                measure_load(filled.url, home, filled.tokens, queries, options.seconds, options.every)
            finally:
                if options.data:
                    cluster.stop()
                else:
                    cluster.close()
        if "kills" in parts:
            measure_kills(home, options.rounds)
        if "failover" in parts:
            measure_failover(home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
