"""Memory in a real PostgreSQL: the same results as with files, several writers, crashes, import and export."""

import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import clio.memory.database.search as search
from clio.commands.team_commands import describe_visible_password
from clio.entrypoints.mcp_http import CALLER, Caller
from clio.entrypoints.mcp_server import Answer, call_tool
from clio.entrypoints.team_server import TeamToolServer
from clio.errors import ClioError, UsageError, UserError
from clio.memory.database import administration, connection
from clio.memory.database.administration import (
    MemberTokens,
    add_member,
    export_all,
    import_records,
    list_members,
    revoke_member,
)
from clio.memory.database.connection import VERSION, Database, migrate, parse_database_address
from clio.memory.database.search import TermStatistics, make_query_for
from clio.memory.database.store import PROJECT_OWNER, DatabaseMemory, DatabaseMemoryStore, Work
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import PROJECT_KINDS, MemoryDraft, MemoryRecord, Provenance
from clio.memory.store.typed_store import Scope
from clio.text.translation import choose_language, set_catalog
from tests.support.clock import Clock
from tests.support.postgres import Cluster, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can run")
NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def cluster() -> Generator[Cluster]:
    made = Cluster().create()
    yield made
    made.close()


@pytest.fixture
def database(cluster: Cluster, request: pytest.FixtureRequest) -> Generator[Database]:
    name = f"t{abs(hash(request.node.name))}"
    opened = open_database(cluster.new_database(name))
    opened.read(migrate)
    yield opened
    opened.close()


def open_database(url: str, retry_s: float = 20.0) -> Database:
    opened = Database(parse_database_address(url, {}), retry_s=retry_s)
    opened.open()
    return opened


def unchanged(text: str) -> str:
    return text


class Team:
    """The members of one database, who call the tools of its server."""

    def __init__(self, database: Database, clock: Callable[[], float] | None = None) -> None:
        more: dict[str, Any] = {"clock": clock} if clock else {}
        hide: Callable[[str], str] = lambda text: text.replace("hunter2", "[secret]")  # noqa: E731
        self.server = TeamToolServer(database, may_write=True, redact=hide, **more)

    def call(self, member: str, tool: str, key: str = "", **arguments: Any) -> Answer | str:
        CALLER.set(Caller(name=member, key=key))
        return self.server.answer(tool, arguments)

    def remember(self, member: str, content: str, type: str = "fact", **more: Any) -> dict[str, Any]:
        answer = self.call(member, "remember", content=content, type=type, **more)
        assert isinstance(answer, Answer), answer
        return answer.data

    def recall(self, member: str, query: str = "", **more: Any) -> list[str]:
        """Return the found texts without counting a use."""
        CALLER.set(Caller(name=member, may_write=False))
        answer = self.server.answer("recall", {"query": query, **more})
        assert isinstance(answer, Answer), answer
        return [memory["content"] for memory in answer.data["memories"]]


def with_store(database: Database, work: Callable[[DatabaseMemoryStore], Any], member: str = "") -> Any:
    """Run work as an administrator does on the command line."""
    return database.write(
        lambda connection: work(
            DatabaseMemory(connection, TermStatistics(), member, redact=unchanged, clock=lambda: NOW).store
        )
    )


STATEMENTS = [
    ("fact", "The staging database runs PostgreSQL 15 on port 5433"),
    ("fact", "Deploys to staging go through the deploy script"),
    ("fact", "The staging database runs PostgreSQL 16 on port 5433"),
    ("note", "The retry decorator of the http client hides time-outs"),
    ("event", "The release 2.4 was withdrawn because of the migration"),
    ("fact", "We use pytest for tests"),
    ("fact", "We use pytest for the tests"),
    ("fact", "We now use unittest for tests"),
    ("preference", "Prefers short commit messages"),
    ("preference", "Prefers long commit messages"),
    ("fact", "Порт сервера 8080"),
    ("fact", "Порт сервера 9090"),
    ("fact", "サーバーのポートは8080です"),
    ("fact", "サーバーのポートは9090です"),
    ("fact", "parse_config in src/config.py reads the settings"),
    ("fact", "'; drop table clio.memory; --"),
    ("note", "a backslash \\ and a quote ' and | & ! : * ( )"),
    ("event", "The deploy of staging failed with error 504"),
    ("note", "The deploy of staging needs the VPN"),
    ("fact", "The production database has a replica in Frankfurt"),
    ("note", "NUL\x00 in the middle of the text"),
]
QUERIES = [
    "", "staging", "staging database port", "deploys", "pytest tests", "the", "settings parse_config", "порт",
    "サーバー", "what runs on port 5433", "drop table", "' & | :*", "commit messages", "nothing of it",
    "replica frankfurt", "\x00",
]  # fmt: skip


def test_saving_and_recalling_give_the_results_of_the_file_store(database: Database, tmp_path: Path) -> None:
    clock = Clock(NOW)
    files = MemoryStore(tmp_path / ".clio", tmp_path / "home", redact=unchanged, clock=clock)
    memories = [*STATEMENTS, *((kind, f"{text} in region {n}") for n in range(3) for kind, text in STATEMENTS[:6])]

    class Files:
        store = files

        def search(self, query: str, limit: int = 10) -> tuple[()]:
            return ()

    team = Team(database, clock)
    ids: dict[str, str] = {}
    for kind, content in memories:
        clock.now += 3_600.0
        given = {"content": content, "type": kind, "importance": 0.1 + len(content) % 9 / 10}
        one, other = call_tool(Files(), "remember", given, read_only=False), team.remember("anna", **given)  # type: ignore[arg-type]
        assert (one.data["action"], one.data["memory"]["content"]) == (other["action"], other["memory"]["content"])
        ids[other["memory"]["id"]] = one.data["memory"]["id"]
    for query in QUERIES:
        for more in ({}, {"limit": 3}, {"type": "fact"}, {"type": "!fact", "limit": -1}):
            expected = [
                (hit.record.content, round(hit.score, 4))
                for hit in files.peek(query, more.get("limit", 10), more.get("type", ""))  # type: ignore[arg-type]
            ]
            CALLER.set(Caller(name="anna", may_write=False))
            answer = team.server.answer("recall", {"query": query, **more})
            assert isinstance(answer, Answer)
            found = [(memory["content"], memory["score"]) for memory in answer.data["memories"]]
            assert sorted(found, key=lambda pair: (-pair[1], pair[0])) == sorted(
                expected, key=lambda pair: (-pair[1], pair[0])
            ), query


@pytest.mark.parametrize("rare_rows", [0, 30, 400])
@pytest.mark.parametrize("tier_cost", [0.0, 1e9])
def test_a_query_of_common_words_finds_the_best_although_not_all_are_scored(
    database: Database, monkeypatch: pytest.MonkeyPatch, rare_rows: int, tier_cost: float
) -> None:
    team = Team(database, lambda: NOW)
    words = "alpha beta gamma delta".split()
    records = [
        MemoryRecord(
            id=f"{n:08x}-0000-7000-8000-000000000000",
            kind="fact",
            content=f"{' '.join(word for bit, word in enumerate(words) if n >> bit & 1)} number{n}",
            importance=n * 7 % 10 / 10,
            created=NOW - n * 90_000,
            updated=NOW - n * 90_000,
            accessed=NOW - n * 90_000,
        )
        for n in range(1, 300)
    ]
    import_records(database, records, owner="", redact=unchanged, clock=lambda: NOW)
    expected = [team.recall("anna", "alpha beta gamma"), team.recall("anna", "delta")]
    database.read(lambda connection: connection.execute("analyze clio.memory"))
    monkeypatch.setattr(search, "_RARE_ROWS", rare_rows)
    monkeypatch.setattr(search, "_TIER_ENTRY_US", tier_cost)
    monkeypatch.setattr(search, "_CHOICE", 1)
    other = Team(database, lambda: NOW)
    assert [other.recall("ben", "alpha beta gamma"), other.recall("ben", "delta")] == expected


def test_memories_of_a_rare_kind_are_found_by_common_words(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [
        MemoryRecord(
            id=f"{n:08x}-0000-7000-8000-000000000000", kind=kind, content=f"the port of shelf {n}", accessed=NOW
        )
        for kind, numbers in (("fact", range(500)), ("event", (500, 501)), ("discovery", (502,)))
        for n in numbers
    ]
    import_records(database, records, owner="", redact=unchanged, clock=lambda: NOW)
    database.read(lambda connection: connection.execute("analyze clio.memory"))
    monkeypatch.setattr(search, "_RARE_ROWS", 0)
    monkeypatch.setattr(search, "_TIER_ENTRY_US", 0.0)
    team = Team(database, lambda: NOW)
    assert set(team.recall("anna", "port shelf", type="event")) == {"the port of shelf 500", "the port of shelf 501"}
    assert team.recall("anna", "port shelf", type="note") == []
    assert _data(team.call("anna", "project_knowledge", query="port shelf"))["total"] == 1
    assert len(team.recall("anna", "port shelf")) == 10


def test_memories_in_tables_of_an_earlier_version_are_found(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    url = cluster.new_database("earlier")
    first = open_database(url)
    monkeypatch.setattr(connection, "VERSION", 1)
    monkeypatch.setattr(connection, "MIGRATIONS", connection.MIGRATIONS[:1])
    assert first.read(migrate) == 1
    Team(first).remember("anna", "The staging port is 5432")
    first.close()
    monkeypatch.undo()
    later = open_database(url)
    assert later.read(migrate) == VERSION - 1
    assert Team(later).recall("ben", "ports of staging") == ["The staging port is 5432"]
    later.close()


def test_writing_members_leave_connections_for_reading_ones(database: Database, cluster: Cluster) -> None:
    team = Team(database)
    team.remember("anna", "The staging port is 5432")
    locked, found, ended = threading.Event(), threading.Event(), threading.Event()

    def hold(connection: Any) -> None:
        Work(connection, TermStatistics()).lock(PROJECT_OWNER)
        locked.set()
        found.wait(30)

    holder = threading.Thread(target=lambda: database.write(hold))
    holder.start()
    assert locked.wait(30)

    def write(number: int) -> None:
        team.remember(f"member{number}", f"Shelf {chr(97 + number) * 3} is empty")
        ended.set()

    writers = threading.Thread(target=each, args=(write, range(connection.MAX_CONNECTIONS + 2)))
    writers.start()
    try:
        while count_waiting(cluster) < connection.MAX_CONNECTIONS // 2 - 1:
            assert writers.is_alive()
        for _ in range(20):
            assert team.recall("ben", "staging") == ["The staging port is 5432"]
            assert count_waiting(cluster) < connection.MAX_CONNECTIONS // 2
        assert not ended.is_set()
    finally:
        found.set()
        writers.join()
        holder.join()


def count_waiting(cluster: Cluster) -> int:
    """Return how many connections wait for a lock."""
    return cluster.execute("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")[0][0]


@pytest.mark.fast
def test_a_query_that_must_match_some_of_many_words_misses_nothing() -> None:
    assert make_query_for(["a", "b'", "c"], 2) == "'a' & ('b''' | 'c') | 'b''' & 'c'"
    # At least 15 of 20 words must match, so one of the six rarest is among them.
    assert make_query_for([f"w{n}" for n in range(20)], 15).count("|") == 5


def test_members_share_the_project_and_keep_their_own_preferences(database: Database) -> None:
    team = Team(database)
    team.remember("anna", "The key of the vault is hunter2", "note")
    team.remember("anna", "Prefers tabs", "preference")
    assert team.recall("ben") == ["The key of the vault is [secret]"]
    assert set(team.recall("anna")) == {"The key of the vault is [secret]", "Prefers tabs"}
    [mine] = [one["id"] for one in _data(team.call("anna", "recall", query="tabs"))["memories"]]
    assert "no memory" in str(team.call("ben", "forget", id=mine))
    refused = team.call("ben", "search_sessions", query="x")
    assert isinstance(refused, str) and "sessions" in refused


def _data(answer: Answer | str) -> dict[str, Any]:
    assert isinstance(answer, Answer), answer
    return answer.data


def test_history_authors_undo_and_restore(database: Database) -> None:
    team = Team(database)
    team.remember("anna", "The staging port is 5432")
    new = team.remember("ben", "The staging port is 5433")
    assert new["action"] == "superseded"
    id = new["memory"]["id"]
    versions = with_store(database, lambda store: store.history(id[-8:]))
    assert [(one.record.content, one.record.by, one.until is None) for one in versions] == [
        ("The staging port is 5432", "anna", False),
        ("The staging port is 5433", "ben", True),
    ]
    assert "5433" in str(with_store(database, lambda store: store.undo("ben")))
    assert team.recall("anna", "staging") == ["The staging port is 5432"]
    with pytest.raises(UserError):
        with_store(database, lambda store: store.undo("carl"))
    [old] = _data(team.call("ben", "recall", query="port"))["memories"]
    team.call("ben", "forget", id=old["id"])
    assert team.recall("anna", "port") == [] and _data(team.call("anna", "recall", query="port"))["total"] == 0
    assert with_store(database, lambda store: store.restore(old["id"][-8:])).content == old["content"]
    assert team.recall("anna", "port") == [old["content"]]
    with pytest.raises(UserError):
        with_store(database, lambda store: store.restore(old["id"]))
    team.remember("ben", old["content"])
    [confirmed] = with_store(database, lambda store: store.records(("fact",)))
    assert confirmed.is_corroborated, "two members stated it"


def test_a_repeated_call_with_the_same_key_is_executed_once(database: Database) -> None:
    team = Team(database)
    first = team.call("anna", "remember", key="k1", content="A note", type="note")
    assert team.call("anna", "remember", key="k1", content="A note", type="note") == first
    assert _data(team.call("anna", "remember", key="k2", content="A note", type="note"))["action"] == "merged"
    assert _data(team.call("ben", "remember", key="k1", content="Another one", type="note"))["action"] == "new"
    lost = team.call("anna", "forget", key="k3", id=_data(first)["memory"]["id"])
    assert team.call("anna", "forget", key="k3", id=_data(first)["memory"]["id"]) == lost


def test_the_same_text_of_many_simultaneous_writers_is_one_memory(database: Database) -> None:
    team = Team(database)
    done: list[str] = []

    def write(number: int) -> None:
        for text in ("The port is 5432", f"The colour {number} is in the palette of colours", "We use pytest"):
            done.append(team.remember(f"member{number}", text)["action"])

    each(write, range(8))
    assert len(done) == 24
    assert len(with_store(database, lambda store: store.records(("fact",)))) == 10
    assert with_store(database, lambda store: store.count())["project"] == 10


def each(work: Callable[[int], None], numbers: Iterator[int] | range) -> None:
    """Run work in one thread per number, and raise an error that one of them raises."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_servers_that_start_together_create_the_tables_once(cluster: Cluster) -> None:
    url = cluster.new_database("together")
    ran: list[int] = []

    def start(number: int) -> None:
        database = open_database(url)
        ran.append(database.read(migrate))
        database.close()

    each(start, range(5))
    assert sorted(ran) == [0, 0, 0, 0, VERSION]
    cluster.execute(f"insert into clio.schema_version (version) values ({VERSION + 1})", "together")
    with pytest.raises(ClioError, match="later clio"):
        start(0)


def test_no_acknowledged_memory_is_lost_when_postgresql_is_killed_and_restarted() -> None:
    cluster = Cluster().create()
    try:
        database = open_database(cluster.new_database("team"), retry_s=60.0)
        database.read(migrate)
        team = Team(database)
        acknowledged: list[str] = []
        killed, ended = threading.Event(), threading.Event()

        def write(number: int) -> None:
            count = 0
            while not ended.is_set():
                text = f"Shelf {chr(97 + number)}{chr(97 + count % 26)}{chr(97 + count // 26)} has been counted"
                team.remember(f"member{number}", text, "note")
                acknowledged.append(text)
                count += 1
                if killed.is_set() and count > 30:
                    break

        writers = threading.Thread(target=each, args=(write, range(3)))
        writers.start()
        while len(acknowledged) < 15:
            killed.wait(0.01)
        cluster.kill()
        cluster.start()
        before = len(acknowledged)
        while len(acknowledged) < before + 6 and writers.is_alive():
            killed.wait(0.01)
        ended.set()
        writers.join()
        found = [text for (text,) in cluster.execute("select record::json->>'content' from clio.memory", "team")]
        assert set(acknowledged) <= set(found) and len(found) == len(set(found))
        assert len(acknowledged) > before
        database.close()
    finally:
        cluster.close()


def test_imported_memories_are_exported_as_files_that_clio_reads(database: Database, tmp_path: Path) -> None:
    clock = Clock(NOW)
    source = MemoryStore(tmp_path / "one" / ".clio", tmp_path / "home", redact=unchanged, clock=clock)
    provenance = Provenance(session="s1", asserted_by="user")
    for text in ("The port is 5432", "The port is 5433", "We deploy on Fridays"):
        clock.now += 60.0
        source.add(MemoryDraft(content=text, kind="fact"), provenance)
    entry = source.add(
        MemoryDraft(content="make test fails without node", kind="solution", solution="install node"), provenance
    )
    source.add(MemoryDraft(content="build, then ship", kind="workflow", steps=("make", "make ship")), provenance)
    source.add(MemoryDraft(content="src is formatted", kind="rule", context="src/"), provenance)

    def read(store: MemoryStore) -> list[MemoryRecord]:
        return [*store.project.records(superseded=True), *store.records(PROJECT_KINDS)]

    def bring(records: list[MemoryRecord], owner: str = "") -> tuple[int, int]:
        done = import_records(database, records, owner=owner, redact=unchanged, clock=clock)
        return done.added, done.known

    assert bring(read(source)) == (6, 0)
    assert bring(read(source)) == (0, 6), "a second import adds nothing"
    team = Team(database, clock)
    known = _data(team.call("anna", "project_knowledge", query="make test fails"))
    assert [one["id"] for one in known["entries"]] == [entry.record.id]
    assert _data(team.call("anna", "project_knowledge"))["total"] == 3
    team.remember("anna", "Prefers tabs", "preference")
    done = export_all(database, tmp_path / "out")
    assert (done.memories, done.members) == (7, 1)
    copy = MemoryStore(tmp_path / "out" / ".clio", tmp_path / "out" / "members" / "anna", redact=unchanged, clock=clock)
    first = {record.id: _meaning(record) for record in read(source)}
    assert {record.id: _meaning(record) for record in read(copy)} == first
    assert [record.content for record in copy.user.records()] == ["Prefers tabs"]
    port = next(record for record in copy.project.records() if "5433" in record.content)
    assert [one.record.content for one in copy.history(port.id)] == ["The port is 5432", "The port is 5433"]
    with pytest.raises(UserError, match="not empty"):
        export_all(database, tmp_path / "out")


def _meaning(record: MemoryRecord) -> tuple[object, ...]:
    kind, provenance = record.kind, record.provenance
    return (kind, record.line, record.created, record.updated, record.superseded_by, record.confidence, provenance)


def test_a_fact_already_in_the_project_confirms_the_entry(database: Database) -> None:
    record = MemoryRecord(id="d-3f9a12", kind="discovery", content="The API is in src/api", confidence=0.8, times=2)
    import_records(database, [record], owner="", redact=unchanged, clock=lambda: NOW)
    team = Team(database)
    assert team.remember("anna", "the API is in src/api.")["action"] == "confirmed"
    [entry] = with_store(database, lambda store: store.records(PROJECT_KINDS))
    assert (entry.times, entry.content) == (3, record.content)
    answer = team.call("anna", "forget", id="d-3f9a12")
    assert _data(answer)["forgotten"][0]["kind"] == "discovery"
    assert with_store(database, lambda store: store.records(PROJECT_KINDS)) == ()
    with_store(database, lambda store: store.undo())
    assert len(with_store(database, lambda store: store.records(PROJECT_KINDS))) == 1


@pytest.mark.parametrize("text", ["the API is now in src/api", "The API is from now on in src/api"])
def test_a_fact_in_other_words_than_an_entry_is_saved_in_the_database(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    record = MemoryRecord(id="d-3f9a12", kind="discovery", content="The API is in src/api", confidence=0.8)
    import_records(database, [record], owner="", redact=unchanged, clock=lambda: NOW)
    Team(database).remember("anna", text)
    assert {one.content for one in with_store(database, lambda store: store.records())} == {record.content, text}
    assert list(tmp_path.iterdir()) == []


def test_tokens_are_shown_once_and_can_be_revoked(database: Database, cluster: Cluster) -> None:
    def write(work: Callable[[Any], Any]) -> Any:
        return database.write(work)

    token = write(lambda one: add_member(one, "anna", may_write=True))
    assert len(token) > 40
    with pytest.raises(UserError, match="already"):
        write(lambda one: add_member(one, "anna", may_write=True))
    with pytest.raises(UserError, match="cannot be the name"):
        write(lambda one: add_member(one, "Anna B", may_write=True))
    write(lambda one: revoke_member(one, "anna"))
    with pytest.raises(UserError, match="no member"):
        write(lambda one: revoke_member(one, "anna"))
    again = write(lambda one: add_member(one, "anna", may_write=False))
    assert again != token
    assert [(one.name, one.may_write) for one in write(list_members)] == [("anna", False)]
    stored = cluster.execute("select digest from clio.member", database.address.conninfo.split("dbname=")[1].split()[0])
    assert again.encode() not in bytes(stored[0][0])


@pytest.mark.fast
def test_the_database_can_be_configured_without_a_password_on_the_command_line() -> None:
    env = {"URL": "postgresql://clio:secret@db.example/team", "CLIO_TEAM_DATABASE": "service=team"}
    named = parse_database_address("env:URL", env)
    assert "secret" in named.conninfo and "secret" not in named.shown
    for words, is_visible in (
        (["--database", env["URL"]], True),
        (["--database=host=db password=secret"], True),
        (["--database", "postgresql://clio@db/team"], False),
        (["--database", "env:URL", "x:y@z"], False),
    ):
        assert bool(describe_visible_password(words)) == is_visible, words
    assert parse_database_address("", env).shown == "service team"
    two = parse_database_address("postgresql://clio@one,two/team", {})
    assert "target_session_attrs=read-write" in two.conninfo
    for given in ("", "env:MISSING", "postgresql://[::1/team"):
        with pytest.raises(UsageError):
            parse_database_address(given, {})


def test_an_unusable_database_is_explained_in_one_sentence(cluster: Cluster) -> None:
    for url, message in (
        (cluster.url("missing"), "missing"),
        (cluster.url("postgres", user="nobody_known"), "nobody_known"),
        ("postgresql://clio@127.0.0.1:1/team", "127.0.0.1"),
    ):
        with pytest.raises(ClioError, match=message) as raised:
            open_database(url, retry_s=1e6)  # an error at the start is reported at once
        assert "--database" in str(raised.value) and "\n" not in str(raised.value)


def test_scopes_determine_the_owner_of_a_memory(database: Database) -> None:
    team = Team(database)
    scopes: list[Scope] = [team.remember("anna", "Prefers tabs", kind)["memory"]["scope"] for kind in ("preference",)]
    assert scopes == ["user"]
    assert team.remember("anna", "We use tabs", "preference", scope="project")["memory"]["scope"] == "project"
    assert team.recall("ben") == ["We use tabs"]


def test_tokens_stay_valid_while_the_database_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster().create()
    monkeypatch.setattr(connection, "_POOL_TIMEOUT_S", 0.5)
    try:
        database = open_database(cluster.new_database("team"), retry_s=0.0)
        database.read(migrate)
        token = database.write(lambda one: add_member(one, "anna", may_write=True))
        tokens = MemberTokens(database)
        tokens.refresh()
        cluster.kill()
        monkeypatch.setattr(administration, "REFRESH_S", 0.0)
        tokens.refresh()
        assert tokens.find(token) is not None and tokens.find(token + "x") is None
        monkeypatch.setattr(administration, "_MAX_AGE_S", 0.0)
        with pytest.raises(ClioError):
            tokens.refresh()
        database.close()
    finally:
        cluster.close()


def test_a_write_that_times_out_is_reported_in_the_users_language(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_POOL_TIMEOUT_S", 0.2)
    address = parse_database_address(cluster.new_database("busy"), {})
    opened = Database(address, max_connections=2, retry_s=0.2)
    opened.open()
    choose_language({}, "de")
    try:
        with pytest.raises(ClioError, match="schreiben gleichzeitig"):
            opened.write(lambda _: opened.write(lambda _: None))
    finally:
        set_catalog(None)
        opened.close()
