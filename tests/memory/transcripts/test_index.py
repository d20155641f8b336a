"""The transcript index in real SQLite files: what is found, what is removed, and simultaneous writers."""

import sqlite3
import subprocess
import sys
import threading
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import StorageError
from clio.memory.transcripts.database import VERSION, Database, RecallIndexUnusable
from clio.memory.transcripts.index import RecallIndex
from clio.memory.transcripts.session_text import SessionDoc, TurnDoc
from clio.text.formatting import PASSAGE_CHARS

HOSTILE = [
    "",
    " ",
    '"',
    '""',
    '"""',
    "'; DROP TABLE sessions; --",
    "NEAR(parser cache, 2)",
    "parser AND",
    "OR",
    "NOT parser",
    "^parser",
    "pars*",
    "text: parser",
    "{text} : parser",
    "-parser",
    "parser\0cache",
    "👩‍👩‍👧 🎉",
    "مرحبا بالعالم",
    "\u202eparser",
    "\ud800 half",
    "(((((",
    "in:output",
    "in:title",
    'in:output "',
    "e\u0301" * 50,
    "กำลัง ভাষা हिन्दी 漢字 字",
    "\U0001e900\U0001e922 in:output",
    "x" * 100_000,
    "parser " * 150_000,
]


def make_session(session: str, *texts: str, title: str = "", at: float = 1.0, stamp: str = "1") -> SessionDoc:
    """Return a session of these turns, user and assistant alternating; their ids are the session's and a number."""
    turns = tuple(
        TurnDoc(message_id=f"{session}-{number}", role="assistant" if number % 2 else "user", created=at, text=text)
        for number, text in enumerate(texts)
    )
    return SessionDoc(id=session, title=title, updated=at, stamp=stamp, turns=turns)


def called(session: str, text: str, output: str, *, at: float = 1.0) -> SessionDoc:
    """Return a session of one call and its output."""
    turns = (
        TurnDoc(message_id=f"{session}-0", role="assistant", created=at, text=text),
        TurnDoc(message_id=f"{session}-1", role="tool", created=at, text="", output=output),
    )
    return SessionDoc(id=session, title="", updated=at, stamp="1", turns=turns)


def index_of(*docs: SessionDoc) -> RecallIndex:
    index = RecallIndex(None)
    index.put(docs)
    return index


@pytest.mark.parametrize(
    "query", ["untethered glyph run", 'the session with "untethered glyph run"', "glyph panic warning"]
)
def test_a_session_is_found_by_words_that_only_a_tool_printed(query: str) -> None:
    printed = called("a", "ran the tests → exit 1", "panic: untethered glyph run in line 4")
    index = index_of(
        printed, make_session("b", "which session was that?", "a warning is no error"), make_session("c", "hello")
    )
    first, *_ = index.search(query)
    assert first.session_id == "a" and [passage.message_id for passage in first.passages] == ["a-0"]


def test_a_near_vector_finds_a_turn_that_shares_no_word_unless_it_is_left_out() -> None:
    index = index_of(
        make_session("a", "the automobile is broken"), make_session("b", "my car wash"), make_session("c", "a kitten")
    )
    near = {("a", "a-0"): 0.9, ("c", "c-0"): 0.2, ("gone", "x"): 0.8}
    found = [hit.id for hit in index.search_turns("car engine", near=near)]
    assert found[:2] == ["b-0", "a-0"]
    left = index.search_turns("car engine", near=near, exclude=frozenset({"a"}))
    assert "a-0" not in [hit.id for hit in left]


def work(session: str, *steps: str) -> SessionDoc:
    """Return a session in which an agent takes these steps after one request."""
    turns = [TurnDoc(message_id=f"{session}-0", role="user", created=1.0, text="please go on")]
    turns += [
        TurnDoc(message_id=f"{session}-{number}", role="assistant", created=1.0, text=text)
        for number, text in enumerate(steps, 1)
    ]
    return SessionDoc(id=session, title="", updated=1.0, stamp="1", turns=tuple(turns))


@pytest.mark.parametrize(
    "query",
    ["the cache of the parser", '"parser cache"', "parser cache in March 2024", "which session did parser cache"],
)
def test_near_vectors_change_nothing_for_sessions_of_work_quoted_words_and_dates(query: str) -> None:
    steps = [f"I changed the parser; its cache number {number} is new" for number in range(10)]
    conversation = make_session(
        "talk", "the plan", "a parser cache it is", *[f"parser cache {number}" for number in range(10)]
    )
    index = index_of(work("work", *steps)) if "March" not in query and '"' not in query else index_of(conversation)
    near = {("work", "work-0"): 0.9, ("talk", "talk-0"): 0.9}
    with_vectors, without = index.search_turns(query, near=near), index.search_turns(query)
    assert [(hit.id, hit.engine.share) for hit in with_vectors] == [(hit.id, hit.engine.share) for hit in without]


def test_near_vectors_find_work_that_shares_hardly_any_words_with_the_query() -> None:
    index = index_of(work("work", "the lexer reads commas", "committed the change"), work("other", "a parser", "done"))
    found = [hit.id for hit in index.search_turns("parser of separators", near={("work", "work-1"): 0.8})]
    assert found[:2] == ["other-1", "work-1"]


def test_a_question_similar_to_the_query_raises_neither_itself_nor_what_follows() -> None:
    turns = ("my knee hurts", "what helps you?", "I bought a lamp")
    conversation = SessionDoc(
        id="p",
        title="",
        updated=1.0,
        stamp="1",
        turns=tuple(
            TurnDoc(message_id=f"p-{at}", role="user", created=1.0, text=text) for at, text in enumerate(turns)
        ),
    )
    near = {("p", "p-0"): 0.5, ("p", "p-1"): 0.9}
    first, *_ = index_of(conversation).search_turns("sickness", near=near)
    assert first.id == "p-0"


def test_a_query_is_covered_by_at_most_all_of_its_words() -> None:
    index = index_of(
        called("a", "ran the tests → exit 1", "panic: untethered glyph run"), make_session("b", "hello there")
    )
    found = index.search_turns("the session with the panic about an untethered glyph")
    assert found and all(hit.engine.covered <= 1.0 for hit in found)


def test_in_a_query_for_a_session_all_its_turns_count_together() -> None:
    work = make_session(
        "work", "the importer, please", "I look at it", "go on", "repaired; it did not read all of the rows"
    )
    later = make_session(
        "later", "for the notes: the importer is new, and so is the way in which it reads rows", at=2.0
    )
    index = index_of(work, later, make_session("other", "I repaired the lamp", "a poem"))
    asked = index.search_turns("which session repaired the rows of the importer?")
    assert asked[0].where.session == "work"
    # Each turn represents its session, so all of them have the session's confidence.
    covered = {
        session: {round(hit.engine.covered, 6) for hit in asked if hit.where.session == session}
        for session in ("work", "later")
    }
    assert covered["work"] == {1.0} and max(covered["later"]) < 1.0


def test_a_query_about_the_user_prefers_what_the_user_said_of_themselves() -> None:
    message = "Suggest shelves for the hall. By the way, I moved my savings to a bank near the hall."
    long = "A bank has savings plans. Compare each bank and its savings, and ask the bank about fees."
    conversation = make_session(
        "a", message, "Shelves fit above the door.", "how does a bank pay interest on savings", long
    )
    index = index_of(conversation, make_session("b", "hello", "a poem"))
    assert turns(index, "to which bank did I move my savings?")[0] == "a-0"
    assert turns(index, "which bank pays interest on savings?")[0] != "a-0"


def test_words_that_are_in_many_outputs_find_no_session() -> None:
    many = [called(f"s{number}", "read the file", "def convert(value): return value") for number in range(201)]
    assert index_of(*many).search("convert") == ()


def turns(index: RecallIndex, query: str, **options: int) -> list[str]:
    return [hit.id for hit in index.search_turns(query, **options)]


def sessions(index: RecallIndex, query: str) -> list[str]:
    return [hit.session_id for hit in index.search(query)]


def test_the_text_of_turns_is_found() -> None:
    index = index_of(
        make_session("a", "why does the parser fail?", "the cache is stale"), make_session("b", "write a poem")
    )
    (hit,) = index.search("parser")
    assert (hit.session_id, hit.passages[0].message_id, hit.passages[0].role) == ("a", "a-0", "user")
    assert hit.passages[0].snippet == "why does the parser fail?"


def test_without_a_common_word_there_is_no_result() -> None:
    index = index_of(make_session("a", "the parser fails"), make_session("b", "the cache is stale"))
    assert index.search("zeppelin") == ()
    assert turns(index, "zeppelin") == []


def test_the_order_of_the_words_does_not_matter() -> None:
    index = index_of(
        make_session("a", "the parser loses its cache on reload"),
        make_session("b", "a cache"),
        make_session("c", "the parser"),
    )
    assert sessions(index, "reload cache parser")[0] == sessions(index, "parser reload cache")[0] == "a"
    assert set(sessions(index, "reload cache parser")) == set(sessions(index, "parser cache reload"))


def test_the_exact_words_come_first() -> None:
    scattered = "cache the parser, the parser, reload the parser cache, cache the reload"
    index = index_of(
        make_session("a", scattered, at=9.0, title="parser cache reload"),
        make_session("b", "we saw parser cache reload once"),
    )
    assert sessions(index, "parser cache reload")[0] == "b"
    assert turns(index, "parser cache reload")[0] == "b-0"
    assert index.search("parser cache reload")[0].passages[0].signals.exact == 3.0


def test_the_exact_words_are_found_among_many_passages_with_all_of_them() -> None:
    scattered = ["reload cache parser " * 3 + f"number {number}" for number in range(20)]
    long = "we saw parser cache reload once, " + "and then something else happened " * 20
    index = index_of(*(make_session(f"a{number}", *scattered) for number in range(30)), make_session("b", long))
    assert sessions(index, "parser cache reload")[0] == "b"
    assert turns(index, "parser cache reload")[0] == "b-0"


def test_a_title_raises_its_session_and_is_a_result_alone() -> None:
    index = index_of(
        make_session("a", "the parser fails"),
        make_session("b", "the parser fails", title="parser work"),
        make_session("c", "hello", title="zorg"),
    )
    assert sessions(index, "parser") == ["b", "a"]
    assert [hit.passages[0].snippet for hit in index.search("zorg")] == ["hello"]
    assert sessions(index, "parser in:title") == ["b"]


def test_of_equal_results_the_newest_comes_first() -> None:
    index = index_of(*(make_session(f"s{at}", "the parser fails", at=float(at)) for at in (2, 3, 1)))
    assert sessions(index, "parser") == ["s3", "s2", "s1"]
    assert turns(index, "parser") == ["s3-0", "s2-0", "s1-0"]


def test_limits_are_respected() -> None:
    index = index_of(*(make_session(f"s{number}", *["the parser", "x"] * 9) for number in range(9)))
    assert len(index.search("parser", limit=4)) == 4
    assert [len(hit.passages) for hit in index.search("parser", limit=2, passages=3)] == [3, 3]
    assert len(turns(index, "parser", limit=7)) == 7
    assert [len(hit.passages) for hit in index.search("parser", limit=3, passages=3, total=5)] == [2, 2, 1]
    assert index.search("parser", limit=0) == ()
    assert [hit.passages for hit in index.search("parser", limit=1, passages=0)] == [()]


def test_neighbouring_turns_of_a_session_are_merged() -> None:
    index = index_of(make_session("a", "zorg one", "zorg two", "zorg three", "else", "else", "else", "zorg four"))
    (hit,) = index.search("zorg")
    places = sorted(int(passage.message_id[2:]) for passage in hit.passages)
    assert all(later - earlier > 1 for earlier, later in pairwise(places))
    assert 6 in places


def test_an_answer_next_to_the_question_is_found() -> None:
    index = index_of(make_session("a", "where is the zorg lever?", "in the cellar"), make_session("b", "the weather"))
    assert "a-1" in turns(index, "zorg lever")


def test_excluded_sessions_are_left_out_however_well_they_match() -> None:
    index = index_of(make_session("a", *["zorg"] * 600), make_session("b", "a single zorg among many other words"))
    (hit,) = index.search("zorg", exclude=frozenset({"a"}))
    assert hit.session_id == "b"
    assert index.search("zorg", exclude=frozenset({"a", "b", "unknown"})) == ()


def test_quoted_words_must_be_adjacent() -> None:
    index = index_of(make_session("a", "the session was not found"), make_session("b", "session not found"))
    assert sessions(index, '"session not found"') == ["b"]
    assert sessions(index, '"sessions not found"') == ["b"]
    assert set(sessions(index, "session found")) == {"a", "b"}


def test_outputs_are_found_only_on_request() -> None:
    index = index_of(
        called("a", "shell: pytest", "Traceback: zorg missing " + "line " * 400), make_session("b", "zorg")
    )
    assert sessions(index, "zorg") == ["b"]
    (hit,) = index.search("zorg in:output")
    assert (hit.session_id, hit.passages[0].message_id) == ("a", "a-1")
    assert "zorg missing" in hit.passages[0].snippet


def test_an_output_with_all_words_ranks_before_one_with_some() -> None:
    index = index_of(called("a", "x", "alpha beta"), called("b", "x", "alpha", at=2.0))
    assert sessions(index, "alpha beta in:output") == ["a"]
    assert sessions(index, "alpha gamma in:output") == ["b", "a"]
    assert sessions(index, '"beta alpha" in:output') == []


def test_identifiers_are_found_as_a_whole_and_by_parts() -> None:
    index = index_of(
        make_session("a", "see ToolRunner.parse_args in clio/agent/tool_runner.py"), make_session("b", "a tool")
    )
    for query in ("ToolRunner", "toolrunner", "tool runner", "tool_runner.py", "parse_args", "parseArgs", "parse args"):
        assert sessions(index, query)[0] == "a", query


def test_other_scripts_and_accents_are_found() -> None:
    index = index_of(
        make_session("a", "検索の索引を作る"),
        make_session("b", "la fenêtre est cassée"),
        make_session("c", "поиск по сессиям"),
    )
    assert sessions(index, "索引") == ["a"]
    assert sessions(index, "fenetre") == ["b"]
    assert sessions(index, "СЕССИЯМ") == ["c"]


def test_a_query_of_stop_words_only_still_works() -> None:
    index = index_of(make_session("a", "what was it"), make_session("b", "nothing"))
    assert sessions(index, "what was it") == ["a"]


def test_a_long_turn_is_found_by_any_of_its_passages() -> None:
    page = "\n\n".join(f"paragraph {number} about weather and stones" for number in range(200))
    index = index_of(make_session("a", f"{page}\n\nthe zorg lever\n\n{page}"))
    assert len(page) > 5 * PASSAGE_CHARS
    assert "zorg lever" in index.search("zorg lever")[0].passages[0].snippet


def test_the_scores_explain_the_rank() -> None:
    index = index_of(
        make_session("a", "the parser loses a zorg", title="zorg work"),
        make_session("b", "the parser"),
        make_session("c", "the parser again"),
    )
    by_id = {hit.session_id: hit.passages[0].signals for hit in index.search("zorg parser")}
    assert by_id["a"].keywords > by_id["b"].keywords > 0
    assert by_id["a"].keywords - by_id["b"].keywords > 1 > by_id["b"].keywords
    assert by_id["a"].title == 0.25 and by_id["b"].title == 0.0
    assert 0 < by_id["a"].density <= 1.5
    assert by_id["a"].exact == 0.0


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: ascii(query[:20]))
def test_no_query_can_inject_sql_or_fts_syntax(query: str) -> None:
    index = index_of(make_session("a", "the parser and the cache"), called("b", "parser", "the cache of the parser"))
    index.search(query)
    index.search_turns(query)
    index.search(f"{query} in:output")
    assert set(index.stamps()) == {"a", "b"}


@given(st.text(max_size=60))
def test_no_random_text_can_inject_sql_or_fts_syntax(query: str) -> None:
    index = index_of(make_session("a", query, f"{query} parser"), called("b", "parser", query))
    index.search(query)
    index.search(f'"{query}"')
    index.search_turns(f"{query} in:output")
    index.remove(["a", "b"])
    assert index.search(query) == ()
    index.close()


def test_a_common_word_in_many_sessions_still_gives_results() -> None:
    """More passages have the words than are ever ranked: rare words choose among them, or else the newest are taken."""
    index = RecallIndex(None)
    index.put(make_session(f"s{number}", *["alpha beta gamma"] * 60, at=float(number)) for number in range(100))
    index.put([make_session("rare", "alpha and zorg", "alpha beta delta", at=0.0)])
    assert turns(index, "alpha zorg")[0] == "rare-0"
    assert turns(index, "beta delta")[0] == "rare-1"
    assert sessions(index, "alpha gamma") == [f"s{number}" for number in range(99, 89, -1)]


def test_the_count_of_a_common_word_is_estimated_from_the_newest_passages() -> None:
    index = RecallIndex(None)
    index.put(
        make_session(f"s{number}", *["alpha beta"] * 60, *["gamma"] * 40, at=float(number)) for number in range(100)
    )
    counts = index.count_words("alpha gamma").words
    assert counts["gamma"] == 4_000
    assert counts["alpha"] == pytest.approx(6_000, rel=0.1)


def test_a_phrase_of_common_words_is_found_among_passages_with_all_of_them() -> None:
    """The newest passages with the phrase come first, even if many passages have its words in another order."""
    index = RecallIndex(None)
    texts = ["the beta of alpha is in it", "it is in the alpha of beta"]
    index.put(make_session(f"s{number}", *texts * 10, at=float(number)) for number in range(40))
    index.put([make_session("quoted", "the alpha of beta is in it", at=0.5), make_session("last", *texts, at=50.0)])
    assert turns(index, "the alpha of beta is in it")[0] == "quoted-0"
    assert turns(index, "alpha of the beta is it in")[0] != "quoted-0"


def test_counts_include_writes_of_this_and_other_processes(tmp_path: Path) -> None:
    index, other = RecallIndex(tmp_path / "index"), RecallIndex(tmp_path / "index")
    index.put([make_session("a", "the parser", "the parser and the cache")])
    assert index.count_words("parser cache").words == {"parser": 2, "cache": 1}
    other.put([make_session("b", "another parser")])
    assert index.count_words("parser cache").words == {"parser": 3, "cache": 1}
    index.remove(["a"])
    assert index.count_words("parser cache").words == {"parser": 1, "cache": 0}
    assert other.count_words("parser cache").words == {"parser": 1, "cache": 0}


def test_a_session_put_again_has_only_its_current_content() -> None:
    index = index_of(make_session("a", "the parser", "the cache"), make_session("b", "parser"))
    index.put([make_session("a", "the weather", stamp="2")])
    assert sessions(index, "parser") == ["b"]
    assert sessions(index, "weather") == ["a"]
    assert index.stamps() == {"a": "2", "b": "1"}


def test_a_removed_session_leaves_nothing(tmp_path: Path) -> None:
    index = RecallIndex(tmp_path / "index")
    index.put([make_session("a", "the parser " * 300, title="parser"), called("b", "parser", "parser zorg")])
    index.remove(["a", "b", "never there"])
    assert index.stamps() == {}
    assert index.search("parser") == () and index.search("parser in:output") == ()
    index.close()
    with sqlite3.connect(tmp_path / "index") as database:
        for table in ("turns", "blocks", "sessions"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        for table in ("passages", "outputs", "titles"):
            database.execute(f"CREATE VIRTUAL TABLE {table}_words USING fts5vocab ({table}, 'row')")
            assert database.execute(f"SELECT term FROM {table}_words").fetchall() == []
    database.close()


def test_a_session_grows_at_its_end_and_its_last_turn_may_change() -> None:
    index = index_of(make_session("a", "the parser", "let me look"))
    new = (
        TurnDoc(message_id="a-1", role="assistant", created=2.0, text="let me look\nread words.py", output="zorg"),
        TurnDoc(message_id="a-2", role="user", created=3.0, text="thanks"),
    )
    assert index.extend("a", new, after="1", stamp="2", updated=3.0)
    assert index.stamps() == {"a": "2"}
    assert turns(index, "look")[0] == "a-1" and len(turns(index, "look")) == 3
    assert [hit.id for hit in index.search_turns("zorg in:output")] == ["a-1"]
    assert index.search("thanks")[0].updated == 3.0
    assert turns(index, "words.py")[0] == "a-1"


def test_a_missing_or_changed_session_does_not_grow() -> None:
    index = index_of()
    assert not index.extend("a", (), after="1", stamp="2", updated=3.0)
    assert index.stamps() == {}
    index.put([make_session("a", "parser")])
    assert not index.extend("a", (), after="another", stamp="2", updated=3.0)
    assert index.stamps() == {"a": "1"}


def test_texts_are_unchanged_after_many_small_changes() -> None:
    index = index_of(make_session("a", "first zorg0"))
    for number in range(1, 40):
        text = f"zorg{number} " + "é漢 padding " * 60
        index.extend(
            "a",
            [TurnDoc(message_id=f"m{number}", role="user", created=1.0, text=text)],
            after="1",
            stamp="1",
            updated=1.0,
        )
    for number in (0, 1, 20, 39):
        assert f"zorg{number}" in index.search(f"zorg{number}")[0].passages[0].snippet


def test_a_message_is_not_found_by_the_title_of_its_session_alone() -> None:
    zebra = make_session(
        "a", "the paper is on the shelf", "noted", "where is the soup", "in the kitchen", title="Zebra stripes"
    )
    index = index_of(zebra, make_session("b", "onions for the soup", title="Lunch"))
    found = [hit.id for hit in index.search_turns("zebra soup")]
    assert "a-2" in found and "a-0" not in found


def test_another_spelling_of_a_compound_does_not_count_as_missing() -> None:
    index = index_of(make_session("a", "parse_args is in cli.py"), make_session("b", "the parseargs of the other tool"))
    (hit,) = [hit for hit in index.search_turns("parse_args cli") if hit.where.session == "a"]
    assert hit.engine.words >= 3
    index.remove(["b"])
    (hit,) = index.search_turns("parse_args cli")
    assert hit.engine.covered == 1.0
    index.close()


def test_a_failed_batch_leaves_nothing() -> None:
    index = index_of(make_session("a", "parser"))

    def docs() -> list[SessionDoc]:
        raise ValueError

    with pytest.raises(ValueError):
        index.put(doc for batch in ([make_session("b", "parser")], docs()) for doc in batch)
    with pytest.raises(ZeroDivisionError):
        index.put(make_session(str(number), "parser") for number in (1 // (2 - at) for at in range(5)))
    assert index.stamps() == {"a": "1"}
    assert sessions(index, "parser") == ["a"]


def test_an_index_can_be_opened_again(tmp_path: Path) -> None:
    index = RecallIndex(tmp_path / "index")
    index.put([make_session("a", "the parser")])
    index.close()
    again = RecallIndex(tmp_path / "index")
    assert sessions(again, "parser") == ["a"]
    again.close()


def test_another_version_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "index"
    RecallIndex(path).close()
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()
    before = path.read_bytes()
    with pytest.raises(RecallIndexUnusable, match=f"version {VERSION + 1}"):
        RecallIndex(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["text", "half", "noise", "folder"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "index"
    index = RecallIndex(path)
    index.put([make_session(f"s{number}", "the parser " * 100) for number in range(50)])
    index.close()
    data = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(
            {"text": b"not a database" * 999, "half": data[: len(data) // 2], "noise": b"\xff" * 9000}[damage]
        )
    with pytest.raises(StorageError):
        broken = RecallIndex(path)
        broken.put([make_session("new", "the parser")])
        broken.search("parser")
        broken.remove([f"s{number}" for number in range(50)])


WRITER = """
import sys
from pathlib import Path
from clio.memory.transcripts.session_text import SessionDoc, TurnDoc
from clio.memory.transcripts.index import RecallIndex
index = RecallIndex(Path(sys.argv[1]))
for number in range(40):
    turn = TurnDoc(message_id=f"m{number}", role="user", created=1.0, text=f"the parser of {sys.argv[2]}")
    index.put([SessionDoc(id=f"{sys.argv[2]}{number}", title="", updated=1.0, stamp="1", turns=(turn,))])
index.close()
"""


def test_two_processes_write_at_the_same_time_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("left", "right")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    index = RecallIndex(path)
    assert len(index.stamps()) == 80
    assert len(turns(index, "parser left", limit=100)) == 80
    index.close()


def test_one_thread_searches_while_another_writes(tmp_path: Path) -> None:
    index = RecallIndex(tmp_path / "index")
    index.put([make_session("a", "the parser")])
    failed: list[BaseException] = []

    def write() -> None:
        try:
            for number in range(60):
                index.put([make_session(f"s{number}", "the parser of another session")])
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        assert "a" in sessions(index, "parser") or len(index.stamps()) > 10
    thread.join()
    assert not failed
    assert len(index.stamps()) == 61
    index.close()


def test_a_text_moved_by_another_process_is_read_at_its_new_place(tmp_path: Path) -> None:
    """Turns and blocks are cached between searches."""
    first, second = RecallIndex(tmp_path / "index.sqlite"), RecallIndex(tmp_path / "index.sqlite")
    first.put([make_session("a", "the parser needs a cache", "done"), make_session("b", "a cache of another kind")])
    assert first.search("parser cache")[0].session_id == "a"
    second.remove(["a"])
    second.put(
        [make_session("c", "no cache here"), make_session("d", "the parser was rewritten, with a cache", "done")]
    )
    (found, *_) = first.search("parser cache")
    assert (found.session_id, found.passages[0].snippet) == ("d", "the parser was rewritten, with a cache")
    first.close()
    second.close()


def test_searches_of_long_texts_keep_little_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.memory.transcripts.database.MAX_CACHED_BYTES", 800_000)
    index = RecallIndex(None)
    names = [f"{first}{second}" for first in ("red", "blue", "dark", "pale") for second in ("fox", "owl", "elk", "bee")]
    log = "a line of a long log\n" * 10_000
    index.put([make_session(name, f"{name}\n{log}") for name in names])
    tracemalloc.start()
    try:
        for name in names:
            assert index.search(name, limit=1)[0].session_id == name
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 2_000_000 < len(log) * len(names)
    index.close()


def test_a_search_reads_one_state_while_another_process_writes(tmp_path: Path) -> None:
    ours, theirs = Database(tmp_path / "index.sqlite"), Database(tmp_path / "index.sqlite")
    begun, count = threading.Event(), "SELECT count(*) FROM sessions"

    def write() -> None:
        begun.set()
        theirs.run("INSERT INTO sessions (name, title, updated, stamp) VALUES ('a', '', 1.0, '1')")

    with ours.snapshot():
        assert ours.rows(count) == [(0,)]
        thread = threading.Thread(target=write)
        thread.start()
        assert begun.wait(5.0)
        thread.join(0.2)
        assert thread.is_alive()  # it waits for the snapshot to end
        assert ours.rows(count) == [(0,)]
    thread.join(5.0)
    assert ours.rows(count) == [(1,)]
    ours.close()
    theirs.close()


def test_a_title_is_found_by_its_rare_word_among_hundreds_with_the_common_one() -> None:
    index = RecallIndex(None)
    index.put([make_session(f"s{number}", "something", title=f"release {number} notes") for number in range(700)])
    index.put([make_session("rare", "something", title="release of the parser")])
    assert index.search("in:title release parser")[0].session_id == "rare"
    assert len(index.search("in:title release", limit=10)) == 10
    index.close()


def test_the_words_of_a_neighbour_count_although_it_is_not_listed() -> None:
    index = index_of(
        make_session("a", "Which locksmith did you call?", "The locksmith came at noon and changed both locks.")
    )
    (hit,) = index.search_turns("locksmith call noon", limit=1)
    assert hit.engine.covered == 1.0 and hit.engine.words == 3
    index.close()
