"""One query to all stores: which answer, in what order, with which reasons, and when none does."""

from pathlib import Path

import pytest

from clio.errors import ToolFailed
from clio.memory.retrieval.scoring import Fusion, Layer
from clio.memory.store.record import MemoryDraft
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.state import Trim
from tests.memory.retrieval.support import DAY, NOW, Home, Topics, ids, sources


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def full(home: Home) -> Home:
    home.said("the gateway of staging times out", "I raised its timeout.", days_ago=3)
    home.fact("the gateway of staging has two nodes")
    home.entry("solution", "the gateway answers 502", "restart its sidecar")
    home.memory.store.add(MemoryDraft(key="rota", content="who looks after the gateway: Ines in May"))
    home.likes("never restart the gateway by hand", 0.5)
    return home


@pytest.mark.parametrize("fusion", ["convex", "rrf"])
def test_every_store_answers_one_query(home: Home, fusion: Fusion) -> None:
    answer = full(home).memory.retriever.search("gateway", fusion=fusion)
    assert sources(answer) == {"session", "memory", "knowledge", "note", "preference"}
    assert set(answer.ms) == {"L0", "L1", "L2"} and answer.left_out == ()
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)


@pytest.mark.parametrize(
    ("layer", "wanted"),
    [("L0", {"session"}), ("L1", {"memory", "knowledge", "note"}), ("L2", {"preference"})],
)
def test_one_layer_can_be_queried_alone(home: Home, layer: Layer, wanted: set[str]) -> None:
    answer = full(home).memory.retriever.search("gateway", layers=(layer,))
    assert sources(answer) == wanted and set(answer.ms) == {layer}


@pytest.mark.parametrize("query", ["quantum entanglement", "the of and", "", "??", "the quantum gate"])
@pytest.mark.parametrize("fusion", ["convex", "rrf"])
def test_nothing_is_found_without_shared_words(home: Home, query: str, fusion: Fusion) -> None:
    assert full(home).memory.retriever.search(query, fusion=fusion).hits == ()


def test_an_empty_project_has_no_answer_and_creates_no_file(home: Home) -> None:
    assert home.memory.retriever.search("gateway").hits == ()
    assert list(home.folder.rglob("*")) == []


def test_one_shared_word_of_many_is_no_answer(home: Home) -> None:
    home.fact("the gateway of staging has two nodes")
    assert home.memory.retriever.search("gateway certificate expiry alert pager").hits == ()


def test_the_result_that_covers_more_of_the_query_is_first(home: Home) -> None:
    some, all_of_it = home.fact("staging has two nodes"), home.fact("port 8081 is where staging listens")
    assert ids(home.memory.retriever.search("staging port"))[0] == all_of_it
    assert some not in ids(home.memory.retriever.search("which port does staging listen on"))


def test_quoted_words_must_be_adjacent(home: Home) -> None:
    together = home.fact("restart the blue gateway first")
    home.fact("the gateway is blue")
    assert ids(home.memory.retriever.search('"blue gateway"')) == [together]


def test_a_memory_replaces_the_passage_it_was_made_from(home: Home) -> None:
    source = home.said("the staging server listens on port 8081, remember that", name="staging talk")
    fact = home.fact("the staging server listens on port 8081", source=source)
    (hit,) = home.memory.retriever.search("staging port").hits
    assert hit.id == fact
    assert [(place.session, place.message) for place in hit.also] == [(source.session, source.message)]
    assert "also in “staging talk”" in [reason.words for reason in hit.reasons]


def test_the_same_text_in_two_sessions_is_one_result(home: Home) -> None:
    home.said("please run the slow tests of the importer", days_ago=9)
    newer = home.said("please run the slow tests of the importer", days_ago=1)
    (hit,) = home.memory.retriever.search("slow importer tests").hits
    assert hit.where is not None and hit.where.session == newer.session and len(hit.also) == 1


def test_another_number_is_another_result(home: Home) -> None:
    home.said("the proxy of staging listens on port 9090 since today")
    fact = home.fact("the proxy of staging listens on port 8081 since today")
    found = home.memory.retriever.search("staging proxy port").hits
    assert [hit.layer for hit in found] == ["L1", "L0"] and found[0].id == fact


def test_of_equal_results_the_newer_is_first_and_an_old_one_is_still_found(home: Home) -> None:
    old = home.said("the parser chokes on tabs in Makefiles", days_ago=400)
    new = home.said("the parser chokes on tabs in YAML", days_ago=1)
    weak = home.said("the parser is fine, really", days_ago=0)
    found = [hit.where.session for hit in home.memory.retriever.search("parser chokes tabs").hits if hit.where]
    assert found[:2] == [new.session, old.session] and weak.session not in found[:2]


def test_the_limit_is_respected_and_the_number_of_further_results_reported(home: Home) -> None:
    for thing in ("bicycle", "lighthouse", "orchard", "violin", "harbour", "glacier", "notebook"):
        home.fact(f"the {thing} gateway {thing[::-1]} {thing.upper()}s")
    answer = home.memory.retriever.search("gateway", limit=3)
    assert (len(answer.hits), answer.more) == (3, 4)


def test_reasons_name_every_signal_with_its_value(home: Home) -> None:
    home.fact("the gateway of staging has two nodes", 0.6)
    (hit,) = home.memory.retriever.search("staging gateway").hits
    assert [(one.name, one.words) for one in hit.reasons] == [
        ("words", "matches staging, gateway"),
        ("recency", "from today"),
        ("tier", "semantic"),
        ("strength", "strength 0.60"),
    ]
    product = 1.0
    for one in hit.reasons:
        product *= one.value
    assert hit.score == pytest.approx(product, abs=0.002)


def test_a_result_counts_as_used_unless_the_query_is_read_only(home: Home) -> None:
    fact = home.fact("the gateway has two nodes")
    home.now += 5 * DAY
    home.memory.retriever.search("gateway", use=False)
    assert home.memory.store.get(fact).access_count == 0
    home.memory.retriever.search("gateway")
    assert home.memory.store.get(fact).access_count == 1


def test_the_current_session_is_searched_only_for_trimmed_messages(home: Home) -> None:
    session = home.store.new(home.folder)
    home.said("the gateway of production is blue")
    for text in ("the gateway of staging is green", "what colour is the gateway?"):
        session.append(UserMessage(content=text, created=NOW))
    first = session.messages[0].id
    assert first not in ids(home.memory.retriever.search("gateway", current=session.id))
    session.add_trim(Trim(handle="t1", dropped=(first,), created=NOW))
    home.memory._meaning.archived_turns.index(session)  # pyright: ignore[reportPrivateUsage]  # as the next turn does
    answer = home.memory.retriever.search("gateway", current=session.id)
    assert sources(answer) == {"trimmed", "session"}
    assert next(hit.id for hit in answer.hits if hit.source == "trimmed") == first
    session.close()


def test_an_earlier_time_finds_only_what_was_known_then(home: Home) -> None:
    home.now = NOW - 30 * DAY
    home.said("the gateway of staging has one node")
    old = home.fact("the gateway of staging listens on port 8080")
    home.entry("discovery", "the gateway of staging is written in Go")
    home.likes("staging gateway tests before each push")
    home.now = NOW
    home.said("the gateway of staging has three nodes")
    new = home.fact("the gateway of staging listens on port 8081")
    home.entry("discovery", "the gateway of staging is deployed by Helm")
    then = home.memory.retriever.search("gateway staging", at=NOW - 10 * DAY)
    texts = " ".join(hit.text for hit in then.hits)
    assert "8080" in texts and "one node" in texts and "in Go" in texts and "gateway tests" in texts
    assert "8081" not in texts and "three nodes" not in texts and "Helm" not in texts
    assert home.memory.store.get(new).access_count == 0
    today = ids(home.memory.retriever.search("gateway staging port"))
    assert new in today and old not in today


def test_an_unreadable_store_is_named_and_does_not_affect_the_others(home: Home) -> None:
    full(home)
    (home.folder / ".clio" / "ltm.json").write_bytes(b"{ broken")
    answer = Home(home.folder).memory.retriever.search("gateway")
    assert "knowledge" not in sources(answer) and {"memory", "session", "preference"} <= sources(answer)
    assert any("ltm.json" in sentence for sentence in answer.left_out)


def test_incognito_recalls_nothing(home: Home) -> None:
    full(home)
    with pytest.raises(ToolFailed):
        _ = Home(home.folder, incognito=True).memory.retriever


def test_model_vectors_find_text_without_a_shared_word(tmp_path: Path) -> None:
    home = Home(tmp_path, embedder=Topics())
    session = home.store.new(tmp_path)
    session.append(UserMessage(content="the automobile needs a new motor", created=NOW))
    session.append(UserMessage(content="the kitten sleeps", created=NOW))
    first = session.messages[0].id
    session.add_trim(Trim(handle="t1", dropped=(first,), created=NOW))
    home.memory._meaning.archived_turns.index(session)  # pyright: ignore[reportPrivateUsage]
    (hit,) = home.memory.retriever.search("car engine", current=session.id).hits
    assert hit.id == first
    assert {one.name: one.words for one in hit.reasons}["meaning"] == "same meaning"
    assert home.memory.retriever.search("bank loan", current=session.id).hits == ()
    session.close()


def test_the_answering_fact_comes_before_earlier_questions_with_the_same_word(home: Home) -> None:
    for number, question in enumerate(("what is the codename?", "remind me of the codename please", "codename again?")):
        home.said(question, "I do not know.", days_ago=number)
    stated = home.said("the codename of the rewrite is Alabaster", "Noted.", days_ago=40)
    first, *_ = home.memory.retriever.search("codename").hits
    assert first.where is not None and first.where.session == stated.session
    fact = home.fact("the rewrite of the importer is called Basalt, that is its codename")
    assert ids(home.memory.retriever.search("codename"))[0] == fact


@pytest.mark.parametrize("word", ["tabs", "tab", "make", "check", "just", "Which", "3"])
def test_a_single_common_word_finds_what_contains_it(home: Home, word: str) -> None:
    text = f"for indentation we agreed on {word.lower()} in this project"
    fact = home.fact(text)
    entry = home.entry("discovery", f"{word.lower()} runs before each push")
    liked = home.likes(f"prefer {word.lower()} everywhere")
    home.fact("the gateway of staging has two nodes")
    assert set(ids(home.memory.retriever.search(word, layers=("L1", "L2")))) == {fact, entry, liked}
    session = home.said(f"please use {word.lower()} for the importer")
    found = home.memory.retriever.search(word).hits
    assert session.session in [hit.where.session for hit in found if hit.where]
    assert {hit.record.id for hit in home.memory.retriever.memories(word)} == {fact, liked}


def test_a_single_common_word_recalls_nothing_before_a_turn(home: Home) -> None:
    home.fact("we use tabs, never spaces, and not now")
    for word in ("now", "not", "we"):
        assert home.memory.store.matching(word, 10) == []


def test_a_session_is_found_by_tool_output_and_by_a_vague_description(home: Home) -> None:
    for number, text in enumerate(("retries of the mailer", "the colour of the header", "pages of the manual")):
        home.said(f"please look at {text}", "Done.", days_ago=number)
    session = home.store.new(home.folder)
    session.append(UserMessage(content="go on", created=NOW))
    call = ToolCall(id="c1", name="run_command", arguments='{"command":"pytest"}')
    session.append(AssistantMessage(content="I run the tests.", tool_calls=(call,), created=NOW))
    output = "E   ValueError: unexpected end of stanza"
    session.append(ToolMessage(tool_call_id="c1", name="run_command", content=output, created=NOW))
    session.close()
    while home.memory.recall_sessions("stanza in:output").unsearched:
        pass
    hit, *_ = home.memory.retriever.search("the session with the error unexpected end of stanza").hits
    assert hit.where is not None and hit.where.session == session.id
    hit, *_ = home.memory.retriever.search("the session where we chased that nasty thing with the retries").hits
    assert "retries" in hit.text


def name_sessions(home: Home) -> None:
    home.said("look at this failing thing", "it was a race; fixed", name="flaky payment retries")
    home.said("how do we deploy payments?", "with make ship")


@pytest.mark.parametrize("query", ["flaky payment retries", "flaky retries", "which session was about flaky payments"])
def test_a_session_is_found_by_its_title_alone(home: Home, query: str) -> None:
    name_sessions(home)
    first = home.memory.retriever.search(query).hits[0]
    assert first.text == "look at this failing thing" and first.where and first.where.title == "flaky payment retries"


def test_a_message_with_the_words_comes_before_a_title_and_a_part_of_a_title_is_no_answer(home: Home) -> None:
    name_sessions(home)
    assert home.memory.retriever.search("payments").hits[0].text == "how do we deploy payments?"
    assert not home.memory.retriever.search("flaky tests in the scheduler").hits


@pytest.mark.parametrize(
    ("query", "text", "remark"),
    [
        ("what does board revision C cost?", "board revision B costs 12 dollars", "revision B, not C"),
        ("what listens on port 8080?", "the gateway listens on port 9090", "port 9090, not 8080"),
        ("what does board revision C cost?", "board revision C costs 14 dollars, revision B 12", ""),
        ("when does phase 2 start?", "phases 1 and 2 start in May", ""),
        ("what does the board cost?", "board revision B costs 12 dollars", ""),
    ],
)
def test_an_answer_about_another_one_of_the_things_in_question_says_so(
    home: Home, query: str, text: str, remark: str
) -> None:
    home.fact(text)
    [hit] = home.memory.retriever.search(query).hits
    assert hit.label == remark


@pytest.mark.parametrize(
    ("fact", "query"),
    [
        ("the staging box listens on 9090 and prod on 8443", "staging port"),
        ("the staging box listens on 9090 and prod on 8443", "which port is prod on"),
        ("der Staging-Server lauscht auf 9090", "Port von Staging"),
        ("staging is at stg-1.internal:9090", "staging port"),
    ],
)
def test_a_fact_with_a_port_number_is_found_by_the_word_port_among_questions(home: Home, fact: str, query: str) -> None:
    for day, said in enumerate(("what is the staging port?", "run the tests on staging", "check the prod port")):
        home.said(said, "Ok.", days_ago=day + 2)
    home.fact(fact)
    hits = home.memory.retriever.search(query).hits
    assert any(hit.text == fact for hit in hits[:2])
