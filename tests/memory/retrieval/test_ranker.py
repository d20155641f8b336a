"""Memories that match the question are returned best first, with the reason; others are not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.memory.retrieval.scoring import Candidate, Engine, Scored, collect_signals, explain_match, rank
from clio.memory.transcripts.index import RecallIndex
from clio.memory.transcripts.session_text import SessionDoc, TurnDoc
from clio.text.translation import tr_phrases

NOW = 1_700_000_000.0
DAY_S = 86_400.0


def describe_match(item: Scored) -> str:
    return tr_phrases(explain_match(item))


def memory(text: str, id: str = "", **fields: object) -> Candidate:
    given = {"source": "memory", "id": id or text, "text": text, "when": NOW - 3 * DAY_S} | fields
    return Candidate(**given)  # pyright: ignore[reportArgumentType]


def ids(question: str, *candidates: Candidate) -> list[str]:
    return [one.candidate.id for one in rank(question, candidates, now=NOW)[0]]


def only(question: str, *candidates: Candidate) -> Scored:
    [found], _ = rank(question, candidates, now=NOW)
    return found


PORT = memory("The staging server listens on port 8443", "port", signals={"importance": 0.8})
LINT = memory("Ruff's line length is 100", "lint")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what port is the staging box on", "The staging server listens on port 8443"),
        ("which db do we use?", "The database is called orders"),
        ("which editor do I use", "The user works in Neovim"),
        ("what does the backoff do after a failed fetch", "fetchWithBackoff retries five times"),
        ("which uart belongs to the modem", "UART1 belongs to the modem"),
        ("wann werden die Rechnungen erzeugt?", "Die Rechnungen werden nachts um drei Uhr erzeugt"),
        ("где лежит пароль к тестовой базе?", "Пароль к тестовой базе лежит в хранилище"),
        ("日志保留多久", "日志保留九十天"),
        ("when is my talk?", "The user gives a talk on 12 June"),
    ],
)
def test_other_forms_of_words_and_other_scripts_match(question: str, text: str) -> None:
    assert ids(question, memory(text, "it"), memory("Carts expire after thirty days", "other")) == ["it"]


@pytest.mark.parametrize(
    "question",
    ["", "   ", "…", "the", "thanks", "go on", "yes, delete them", "now do the same for the other two files"],
)
def test_nothing_is_returned_without_evidence_however_important_it_is(question: str) -> None:
    texts = ["The goal is trust", "Global state is in stores; the old one was removed", "Files are kept for two days"]
    assert ids(question, *(memory(text, strength=1.0, signals={"importance": 1.0}) for text in texts)) == []


def test_a_misspelt_keyword_matches_unless_it_is_short() -> None:
    assert ids("whatchdog timeout?", memory("It fires after 1.6 s", "long", keywords=("watchdog",))) == ["long"]
    assert ids("which mcv is it", memory("It runs at 168 MHz", "short", keywords=("mcu",))) == []


def test_all_words_of_a_keyword_must_be_in_the_question() -> None:
    limited = memory("The partner allows 90 a minute", "gate", keywords=("rate limit",))
    assert ids("is there a rate limit", limited) == ["gate"]
    assert ids("what is the exchange rate of the euro", limited) == []


@pytest.mark.parametrize(
    ("keyword", "question"),
    [
        ("sister's birthday", "sisters birthday"),
        ("sister's birthday", "when is my sister's birthday?"),
        ("on-call", "who is oncall this week"),
        ("on-call", "the on call list please"),
        ("time zone", "my timezone"),
        ("timezone", "which time zone was it"),
        ("feature flags", "where are the featureflags"),
        ("editor", "is there a new editor"),
        ("review rule", "what is the team's review rule"),
        ("review rule", "what is the review rule of the team"),
        ("timezone", "what's Anna's timezone"),  # the text says "Anna"
        ("editor", "which telemetry editor do I use"),  # the text says "telemetry"
        ("deploy command", "deploy the command"),
        ("rate limit", "rate lmit"),
        ("pager duty", "what is the paer duty"),
        ("on-call", "the on-calls of May"),
    ],
)
def test_a_keyword_matches_as_separate_words_as_one_word_or_as_a_possessive(keyword: str, question: str) -> None:
    assert ids(question, memory("Telemetry first, then what Anna says", "it", keywords=(keyword,))) == ["it"]


@pytest.mark.parametrize(
    ("keyword", "question"),
    [
        ("on-call", "when should I call the landlord"),
        ("sign-up", "sign the archive"),
        ("database port", "port the database to Rust"),
        ("build", "build the sidebar"),
        ("tests", "translate the texts"),
        ("parser", "write an argument parser for the script"),
        ("editor", "which video editor do I use"),
        ("gear", "which bear is it"),
        ("license", "what is the license of numpy"),
        ("rate limit", "what's GitHub's rate limit"),
    ],
)
def test_text_that_only_resembles_a_keyword_does_not_match(keyword: str, question: str) -> None:
    assert ids(question, memory("It is in Oslo", "it", keywords=(keyword,))) == []


def test_a_memory_that_shares_part_of_a_name_with_the_named_one_is_not_returned() -> None:
    named = memory("make ship, then tag", "named", keywords=("deploy command",))
    part = memory("We deploy on Tuesdays only", "part")
    both = memory("The deploy command of the shop asks for a token", "both")
    assert set(ids("what is the deploy command", named, part, both)) == {"named", "both"}
    assert ids("what is the deploy command", part) == ["part"]
    on_call = memory("It changes on Mondays", "on-call", keywords=("on-call",))
    called = memory("The rewrite is called Alabaster", "called")
    assert [one.candidate.id for one in rank("on-call", [on_call, called], now=NOW, is_search=True)[0]] == ["on-call"]


def test_a_memory_with_another_name_is_not_returned_for_an_unknown_subject() -> None:
    ci = memory("Buildkite runs the checks; its agents are in Oslo", "ci", keywords=("ci",))
    editor = memory("The user edits in Helix with the gruvbox theme", "editor", keywords=("editor",))
    assert ids("how many agents does the travel office have", ci, editor) == []
    assert ids("which theme do I use for slides", ci, editor) == []
    assert ids("is there a museum of gruvbox", ci, editor) == []
    assert ids("which theme do I use", ci, editor) == ["editor"]
    assert ids("what is a theme", ci, editor) == []
    assert ids("theme", ci, editor) == ["editor"]


def test_a_memory_with_a_name_answers_a_question_that_almost_repeats_its_text() -> None:
    kept = memory("Raw readings are kept for 90 days", "kept", keywords=("data retention",))
    assert ids("how long do we keep raw readings?", kept) == ["kept"]
    assert ids("read the raw file", kept) == []
    station = memory("A station must last 14 months on two cells", "station", keywords=("battery life",))
    assert ids("how long does the battery of a station last?", station) == ["station"]
    assert ids("which battery has the car", station) == []


def test_a_general_term_finds_specific_ones_but_not_the_reverse() -> None:
    assert ids("which shell do I use?", memory("The user works in fish", "fish")) == ["fish"]
    assert ids("which fish do I like?", memory("The shell of the product is red", "shell")) == []
    aws = memory("The profile is called sandbox-eu", "aws", keywords=("aws",))
    assert ids("move this to the cloud", aws) == []


def test_one_shared_word_in_a_long_request_is_not_enough() -> None:
    request = (
        "Please write a parser for the export of our accounting program: semicolons between the fields, a comma as the "
        "decimal sign, dates with dots, and a header that may be missing. Reject lines with a length of zero."
    )
    assert ids(request, LINT) == []


def test_all_words_of_a_short_memory_in_a_long_request_are_enough() -> None:
    request = (
        "I am writing the driver for the pressure sensor, and on my bench the device restarts whenever the loop takes "
        "longer than the watchdog allows; which function must loops call so that it does not fire?"
    )
    assert ids(request, memory("Long loops must call wdg_kick() or the watchdog fires", "kick")) == ["kick"]


def test_strength_affects_the_order_and_never_the_selection() -> None:
    strong = memory("The staging server runs Debian", "strong", strength=1.0)
    weak = memory("The staging server has 8 cores", "weak", strength=0.1)
    assert ids("what about the staging server", weak, strong) == ["strong", "weak"]
    off_topic = memory("The company wants to be trusted", "off", strength=1.0)
    about = memory("The staging server listens on port 8443", "about", strength=0.01)
    assert ids("which port does staging use", off_topic, about) == ["about"]


def test_results_far_behind_the_best_are_left_out() -> None:
    aside = memory("The office proxy is on port 3128 for anything outside", "proxy")
    assert ids("which port does the staging server listen on", PORT, aside) == ["port"]
    assert ids("which port is the office proxy on", PORT, aside) == ["proxy"]


def test_age_only_decides_ties() -> None:
    new = memory("Carts expire in 30 days", "new", when=NOW)
    old = memory("Vouchers expire in 90 days", "old", when=NOW - 400 * DAY_S)
    assert ids("when do carts and vouchers expire", old, new) == ["new", "old"]
    assert ids("when do vouchers expire", new, old) == ["old"]


def test_only_one_of_two_equal_memories_is_returned_and_another_value_is_not_equal() -> None:
    one = memory("We deploy the web client to staging with make ship", "one", strength=0.9)
    two = memory("we deploy the web client to staging with 'make ship'.", "two", strength=0.5)
    assert ids("how do we deploy the web client", one, two) == ["one"]
    eighty = memory("The web client of staging listens on port 8080", "a")
    other = memory("The web client of staging listens on port 8081", "b")
    assert set(ids("on which port does the web client of staging listen", eighty, other)) == {"a", "b"}
    never = memory("Do not deploy the web client to staging with make ship", "never")
    assert set(ids("how do we deploy the web client", one, never)) == {"one", "never"}


def test_a_vector_distance_alone_is_enough_strictly_below_one() -> None:
    near = memory("Colourless green ideas", "near", distance=0.999_9)
    at = memory("Furious sleep", "at", distance=1.0)
    assert ids("which port does staging use", near, at) == ["near"]
    assert describe_match(only("which port does staging use", near)) == "close in meaning; 3 days old"
    assert "near" in ids("which port does the staging server listen on", near, PORT)


def passage(
    text: str, id: str, share: float, cosine: float | None = None, covered: float = 0.0, **engine: bool
) -> Candidate:
    """Return a passage as the transcript index returns it."""
    distance = None if cosine is None else (2.0 - 2.0 * cosine) ** 0.5
    return Candidate(
        source="session",
        id=id,
        text=text,
        when=NOW,
        distance=distance,
        engine=Engine(share=share, covered=covered, words=2 if covered else 0, **engine),
    )


def test_passages_keep_the_order_of_the_index_however_near_a_vector_is() -> None:
    passages = [passage("my knee hurts", "first", 1.0, 0.45), passage("good for you", "near", 0.6, 0.9)]
    found, _ = rank("sickness", passages, now=NOW, is_search=True)
    assert [item.candidate.id for item in found] == ["first", "near"]


@pytest.mark.parametrize(("cosine", "count"), [(0.41, 1), (0.39, 0), (None, 0)])
def test_in_a_search_a_passage_that_is_near_enough_needs_no_shared_word(cosine: float | None, count: int) -> None:
    found, _ = rank("what is my profession?", [passage("a locksmith", "a", 1.0, cosine)], now=NOW, is_search=True)
    assert len(found) == count
    assert (
        rank("my profession", [passage("a locksmith", "a", 1.0, 0.9)], now=NOW, is_search=True, vectors=False)[0] == []
    )


def test_passages_near_in_meaning_do_not_hide_passages_with_the_words() -> None:
    near = [passage(f"something else {number}", str(number), 1.0 - number / 100, 0.3) for number in range(9)]
    found, _ = rank("port of staging", [*near, passage("the port of staging", "words", 0.5, 0.2, 1.0)], now=NOW)
    assert "words" in [item.candidate.id for item in found]


@pytest.mark.parametrize(
    ("question", "count"),
    [("What will Maya wear at the wedding?", 1), ("What will the locksmith wear?", 0), ("Where is the bridge?", 0)],
)
def test_a_passage_can_match_by_a_related_word(question: str, count: int) -> None:
    index = RecallIndex(None)
    conversation = ["Maya: Who else comes?", "Tom: Nobody. And you?", "Maya: I bought a green suit, it was on sale."]
    turns = [TurnDoc(message_id=str(at), role="user", created=1.0, text=text) for at, text in enumerate(conversation)]
    index.put([SessionDoc(id="a", title="", updated=1.0, stamp="1", turns=tuple(turns))])
    candidates = index.search_turns(question)
    known = index.count_words(question)
    found, _ = rank(question, candidates, now=NOW, transcribed=known, vectors=False, is_search=True)
    assert [item.candidate.id for item in found][:1] == ["2"] * count
    index.close()


@pytest.mark.parametrize(
    ("order", "text", "found"),
    [
        ("push the branch", "Buildkite runs the checks on every push", False),
        ("copy it to the other host", "The library is open, the server is closed", False),
        ("please merge my branches", "Two approvals come before each merge", False),
        ("restart the staging server", "The staging server listens on port 8443", True),
        ("which db do we use?", "The orders are in a database", True),
        ("sort the list of servers", "The servers are in Oslo", False),
        ("port the parser to Rust", "The user gives a talk about parsers in Porto", False),
        ("add a column and write the migration for it", "Schema migrations are made with alembic", True),
    ],
)
def test_an_imperative_is_matched_by_its_object(order: str, text: str, found: bool) -> None:
    assert ids(order, memory(text, "a"), PORT if not found else memory("Line length 100", "b")) == ["a"] * found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("wifi password of the office", False),
        ("which florist delivers to the office", False),
        ("when does the office close?", True),
        ("where is our office", True),
    ],
)
def test_a_word_next_to_two_unknown_ones_is_not_enough(question: str, found: bool) -> None:
    assert ids(question, memory("The office closes at six", "a"), PORT, LINT) == ["a"] * found


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("flash messages do not disappear after login, please fix that", False),
        ("queue trees are too deep", False),
        ("how do I flash a board?", True),
        ("is the queue full?", True),
    ],
)
def test_a_name_that_qualifies_another_thing_does_not_match(message: str, found: bool) -> None:
    flash = memory("Hold the boot button and run west flash", "a", keywords=("flashing", "queue"))
    assert ids(message, flash, LINT) == ["a"] * found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("how many requests can a client make per minute?", True),
        ("how many requests came from Spain?", False),
        ("how many clients can we have per minute?", False),
    ],
)
def test_a_question_for_a_number_finds_the_number(question: str, found: bool) -> None:
    rate = memory("The public API allows 120 requests per minute and key", "a", keywords=("rate limit",))
    assert ids(question, rate, PORT, LINT) == ["a"] * found


def test_a_passage_of_the_requested_month_needs_no_shared_word() -> None:
    found, _ = rank("what did Ann tell me in March 2024", [passage("my knee hurts", "a", 1.0, is_dated=True)], now=NOW)
    assert len(found) == 1


def test_the_vector_of_a_passage_counts_once_in_ranks() -> None:
    fact = memory("the port of staging is 8443", "fact")
    passages = [passage("the port of staging", "a", 1.0, 0.8, 1.0)]
    alone, both = (
        rank("port of staging", [fact, *given], now=NOW, is_search=True, fusion="rrf")[0]
        for given in ([passage("the port of staging", "a", 1.0, None, 1.0)], passages)
    )
    assert [(item.candidate.id, item.score) for item in alone] == [(item.candidate.id, item.score) for item in both]


def test_the_distance_threshold_is_configurable() -> None:
    turn = memory("Colourless green ideas", "turn", distance=0.9)
    found = [rank("which port does staging use", [turn], now=NOW, near_distance=near)[0] for near in (0.0, 0.8, 0.95)]
    assert [bool(one) for one in found] == [False, False, True]


def test_a_near_vector_raises_the_score_and_a_far_one_lowers_it() -> None:
    question = "which port does staging use"
    plain, near, far = (
        only(question, memory(PORT.text, "x", distance=distance)).score for distance in (None, 0.2, 1.3)
    )
    assert far < plain
    assert near > far
    assert far >= 0.8 * plain


def test_the_reason_is_one_short_sentence_and_the_signals_have_names() -> None:
    found = only("which port does staging use", PORT, LINT)
    assert describe_match(found) == "matches port, staging; importance 0.8, 3 days old"
    assert collect_signals(found).keys() == {"importance", "hits", "evidence", "words", "recency", "tier"}
    assert collect_signals(found)["hits"] == 2.0
    assert describe_match(only("is ruff set up?", memory("Line length 100", keywords=("ruff",), when=NOW))) == (
        "named ruff; from today"
    )


def test_a_pasted_log_is_cheap_and_only_its_ends_are_used_as_query() -> None:
    log = "\n".join(f"worker {number} waits for slot {number * 7}" for number in range(20_000))
    assert ids(f"which port does staging use?\n{log}", PORT) == []
    assert ids(f"{log}\nstaging port", memory("Staging port is 8443", "own")) == ["own"]


def test_at_most_the_requested_number_is_returned() -> None:
    many = [memory(f"The staging port of service{number}x is {number}", str(number)) for number in range(100, 130)]
    found, more = rank("staging port", many, now=NOW, limit=5)
    assert len(found) == 5 and more == 25


@given(
    question=st.text(max_size=60),
    texts=st.lists(st.text(max_size=60), max_size=6),
    strength=st.floats(-1, 2),
    distance=st.none() | st.floats(0, 2),
)
def test_the_order_is_by_score_and_reproducible_for_any_input(
    question: str, texts: list[str], strength: float, distance: float | None
) -> None:
    candidates = [memory(text, str(number), strength=strength, distance=distance) for number, text in enumerate(texts)]
    found, _ = rank(question, candidates, now=NOW)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 and math.isfinite(score) for score in scores)
    again, _ = rank(question, candidates[::-1], now=NOW)
    assert [(one.candidate.id, one.score) for one in again] == [(one.candidate.id, one.score) for one in found]
    assert {one.candidate.id for one in found} <= {candidate.id for candidate in candidates}
