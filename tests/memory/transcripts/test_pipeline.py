"""Ranking alone: the weight of a passage, and the effect of its neighbours, session and title."""

import pytest

from clio.memory.transcripts.query import (
    ENDS_ASKING,
    ONLY_ASKS,
    STATES,
    NamedDate,
    classify_message,
    extract_stems,
    find_named_dates,
    parse_query,
)
from clio.memory.transcripts.ranking import (
    OUTPUT,
    TURNS,
    Scored,
    SessionKind,
    Turn,
    add_outputs,
    compute_idf,
    drop_neighbours,
    fuse_meaning,
    group_by_session,
    make_passage_scorer,
    rank_by_text,
    rank_in_context,
    rank_sessions,
)


def turn(place: int, *, session: int = 1, role: str = "assistant", created: float = 0.0, asks: int = STATES) -> Turn:
    return Turn(key=session * 1000 + place, session=session, place=place, role=role, created=created, asks=asks)


def ranked(
    items: list[Scored], titles: dict[int, float] | None = None, talk: SessionKind = "agent"
) -> list[tuple[int, int]]:
    talks: dict[int, SessionKind] = {item.turn.session: talk for item in items}
    return order(rank_in_context(items, titles or {}, talks, TURNS))


def weigh(query: str, text: str, rarities: list[float] | None = None) -> float:
    parsed = parse_query(query)
    return make_passage_scorer(parsed, rarities or [1.0] * len(parsed.terms), 20.0)(extract_stems(text)).score


def order(items: list[Scored]) -> list[tuple[int, int]]:
    return [(item.turn.session, item.turn.place) for item in items]


def test_more_words_of_the_query_count_more() -> None:
    assert weigh("parser cache bug", "a bug in the parser cache") > weigh("parser cache bug", "a bug, a bug, a bug")


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    assert weigh("zorg file", "the zorg", [5.0, 0.5]) > weigh("zorg file", "the file", [5.0, 0.5])
    assert compute_idf(1000, 3) > compute_idf(1000, 300) > compute_idf(1000, 1000) > 0


def test_adjacent_words_count_more() -> None:
    together, apart = "the support group met", "the group asked for what we call support"
    assert weigh("support group", together) > weigh("support group", apart)


def test_a_short_passage_counts_more_than_a_long_one() -> None:
    assert weigh("zorg", "zorg it") > weigh("zorg", "zorg " + "and other words " * 30)


def test_another_form_of_a_word_counts_a_little_less() -> None:
    assert weigh("go", "we go there") > weigh("go", "we went there") > 0


def test_the_exact_words_are_detected() -> None:
    query = parse_query("fix the parser")
    weighed = make_passage_scorer(query, [1.0] * len(query.terms), 20.0)
    assert weighed(extract_stems("please fix the parser")).exact
    assert not weighed(extract_stems("the parser fix")).exact


def test_an_exact_match_is_first_whatever_surrounds_the_others() -> None:
    others = [Scored(turn=turn(place, role="user"), score=9.0) for place in range(1, 9)]
    exact = Scored(turn=turn(1, session=2), score=3.0, exact=True)
    assert ranked([*others, exact], {1: 9.0})[0] == (2, 1)


def test_a_neighbour_raises_the_score_of_a_turn() -> None:
    items = [Scored(turn=turn(1), score=5.0), Scored(turn=turn(2), score=1.0), Scored(turn=turn(7), score=1.1)]
    assert ranked(items) == [(1, 1), (1, 2), (1, 7)]


def test_a_user_turn_counts_more_in_queries_for_turns_but_not_for_sessions() -> None:
    items = [Scored(turn=turn(1, role="user"), score=1.0), Scored(turn=turn(1, session=2), score=1.2)]
    assert ranked(items)[0] == (1, 1)
    assert order(rank_by_text(items, {}))[0] == (2, 1)


def test_a_title_raises_its_session() -> None:
    items = [Scored(turn=turn(1), score=1.0), Scored(turn=turn(1, session=2), score=1.0)]
    assert order(rank_by_text(items, {1: 2.0}))[0] == (1, 1)


def test_of_equal_results_the_newest_comes_first() -> None:
    items = [Scored(turn=turn(1, session=number, created=float(number)), score=1.0) for number in (2, 3, 1)]
    assert ranked(items) == [(3, 1), (2, 1), (1, 1)]


def test_a_session_with_all_words_beats_one_with_half_of_them() -> None:
    half = Scored(turn=turn(1), score=1.1, found=frozenset({0}))
    first = Scored(turn=turn(1, session=2), score=1.0, found=frozenset({0}))
    second = Scored(turn=turn(9, session=2), score=0.4, found=frozenset({1}))
    assert [session for session, _ in rank_sessions([half, first, second], [1.0, 1.0])] == [2, 1]


def test_neighbours_of_a_better_turn_are_left_out() -> None:
    items = [Scored(turn=turn(place), score=1.0) for place in (5, 6, 4, 8, 9, 2)]
    assert order(drop_neighbours(items, 10)) == [(1, 5), (1, 8), (1, 2)]
    assert order(drop_neighbours(items, 2)) == [(1, 5), (1, 8)]


def test_turns_are_grouped_in_their_order() -> None:
    items = [Scored(turn=turn(1, session=session), score=1.0) for session in (2, 1, 2)]
    assert {session: len(turns) for session, turns in group_by_session(items).items()} == {2: 2, 1: 1}


def test_in_conversations_between_people_the_answer_ranks_before_its_question() -> None:
    question = Scored(turn=turn(1, role="user", asks=ENDS_ASKING), score=3.0)
    answer = Scored(turn=turn(2, role="user"), score=0.6)
    assert ranked([question, answer], talk="people") == [(1, 2), (1, 1)]


def test_in_conversations_between_people_a_follow_up_question_refers_to_the_turn_before() -> None:
    statement = Scored(turn=turn(1, role="user"), score=3.0)
    follow_up, answer = turn(2, role="user", asks=ONLY_ASKS), Scored(turn=turn(3, role="user"), score=0.0)
    other = Scored(turn=turn(1, session=2, role="user"), score=1.0)
    items = [statement, Scored(turn=follow_up, score=0.0), answer, other]
    assert ranked(items, talk="people")[:2] == [(1, 1), (1, 3)]


def test_a_reply_raises_the_request_before_it() -> None:
    request = Scored(turn=turn(1, role="user"), score=1.0)
    reply = Scored(turn=turn(2), score=2.0)
    other = Scored(turn=turn(1, session=2, role="user"), score=1.3)
    assert ranked([request, reply, other], talk="assistant")[0] == (1, 1)
    assert ranked([request, other], talk="assistant")[0] == (2, 1)


@pytest.mark.parametrize("talk", ["assistant", "agent"])
def test_a_statement_ranks_before_a_question_with_the_same_words(talk: SessionKind) -> None:
    asked = Scored(turn=turn(1, role="user", asks=ONLY_ASKS), score=1.2)
    stated = Scored(turn=turn(1, session=2, role="user"), score=1.0)
    assert ranked([asked, stated], talk=talk) == [(2, 1), (1, 1)]


def test_the_same_question_asked_before_is_not_an_answer() -> None:
    asked = Scored(turn=turn(1, role="user", asks=ONLY_ASKS), score=3.0, exact=True)
    exact = Scored(turn=turn(1, session=2, role="user"), score=1.0, exact=True)
    assert ranked([asked, exact])[0] == (2, 1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What is the project's codename?", ONLY_ASKS),
        ("please remind me of the codename", ONLY_ASKS),
        ("Hi! Can you show me the log?", ONLY_ASKS),
        ("The codename is Alabaster.", STATES),
        ("I moved to Bergen. Where do you live?", ENDS_ASKING),
        ("Can you make a plan for the marathon on 10 June that I run with my sister Anna in Hamburg?", ENDS_ASKING),
        ("", STATES),
        ("漢字は何ですか？", ONLY_ASKS),
    ],
)
def test_statements_requests_and_questions_are_distinguished(text: str, kind: int) -> None:
    assert classify_message(text) == kind


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("what did we do on 2024-03-02", [(2024, 3, 2)]),
        ("what did Ann say in March 2024?", [(2024, 3, None)]),
        ("the talk on 8 May, 2023", [(2023, 5, 8)]),
        ("on May 8th", [(None, 5, 8)]),
        ("on the 8th of May", [(None, 5, 8)]),
        ("may I ask what happened in 2022", [(2022, None, None)]),
        ("who bought it in december", [(None, 12, None)]),
        ("it may march on", []),
        ("port 8080 and version 3.11", []),
    ],
)
def test_dates_are_read_as_precisely_as_they_are_given(text: str, dates: list[tuple[int | None, ...]]) -> None:
    assert [(date.year, date.month, date.day) for date in find_named_dates(text)] == dates


def test_vectors_are_two_fifths_of_the_score_and_add_turns_without_a_shared_word() -> None:
    words, both, near, far = (turn(place) for place in (1, 2, 3, 4))
    cosines = {both.key: (both, 0.9), near.key: (near, 0.5), far.key: (far, 0.1)}
    found = fuse_meaning([Scored(turn=words, score=2.0), Scored(turn=both, score=1.0)], cosines)
    scores = {item.turn.place: item.score for item in found}
    assert scores == pytest.approx({1: 0.6 * 2.0, 2: 0.6 * 1.0 + 0.4 * 2.0, 3: 0.4 * 2.0 * 0.5, 4: 0.0})
    assert fuse_meaning([Scored(turn=words, score=2.0)], {}) == [Scored(turn=words, score=2.0)]


@pytest.mark.parametrize(("cosine", "share"), [(0.9, 1.0), (0.4, 0.5), (0.3, 0.0), (0.1, 0.0)])
def test_a_single_near_turn_counts_by_its_similarity(cosine: float, share: float) -> None:
    near = turn(1)
    [found] = fuse_meaning([], {near.key: (near, cosine)})
    assert found.score == pytest.approx(0.4 * share)


@pytest.mark.parametrize(("date", "least"), [((2024, None, None), 0.7), ((2024, 3, None), 0.1), ((2024, 3, 1), 0.0)])
def test_a_date_in_the_query_raises_turns_of_that_date(date: tuple[int, int | None, int | None], least: float) -> None:
    ((start, _),) = NamedDate(year=2024, month=3).spans([])
    year, month, day = date
    other = Scored(turn=turn(1, created=start - 400 * 86_400), score=1.0)
    items = [other, Scored(turn=turn(1, session=2, created=start), score=least)]
    assert [item.turn.session for item in rank_by_text(items, {}, (NamedDate(year=year, month=month, day=day),))] == [
        2,
        1,
    ]


def test_an_output_raises_the_turn_of_its_call_by_words_only_the_output_has() -> None:
    call = Scored(turn=turn(1), score=1.0, found=frozenset({0}))
    found = add_outputs([call], {7: frozenset({0, 1}), 8: frozenset({1})}, {7: call.turn, 8: turn(5)}, [2.0, 2.0])
    assert {item.turn.place: (item.score, item.found) for item in found} == {
        1: (1.0 + OUTPUT * 2.0, {0, 1}),
        5: (OUTPUT * 2.0 * 0.75, {1}),
    }
