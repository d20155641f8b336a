"""Related words of a query, and the meaning of "I" and "we" in it."""

import pytest

from clio.memory.transcripts.index import RecallIndex
from clio.memory.transcripts.query import parse_query
from clio.memory.transcripts.session_text import SessionDoc, TurnDoc

RoleAndText = tuple[str, str]
"""Role and text of a turn."""


def find_first(sessions: dict[str, list[RoleAndText]], query: str) -> str:
    """Return the session of the best turn for a query."""
    index = RecallIndex(None)
    index.put(
        SessionDoc(
            id=name,
            title=name,
            updated=float(number),
            stamp="1",
            turns=tuple(
                TurnDoc(message_id=f"{name}{place}", role=role, created=float(number), text=text, output="")
                for place, (role, text) in enumerate(turns)
            ),
        )
        for number, (name, turns) in enumerate(sessions.items())
    )
    return index.search_turns(query, limit=5)[0].where.session


FILLER: dict[str, list[RoleAndText]] = {
    f"filler{number}": [("user", f"look at part {number} of the page"), ("assistant", "read it")] for number in range(6)
}


@pytest.mark.parametrize(
    ("word", "related"),
    [
        ("husbands", "spouse"),
        ("repaired", "fix"),
        ("cooking", "bake"),
        ("married", "wedding"),
        ("important", "crucial"),
    ],
)
def test_inflected_words_have_the_related_words_of_their_base(word: str, related: str) -> None:
    [term] = parse_query(word).terms
    assert related in term.related


@pytest.mark.parametrize("word", ["importer", "imports", "organ", "universe"])
def test_another_word_with_the_same_stem_has_no_related_words_of_it(word: str) -> None:
    [term] = parse_query(word).terms
    assert not {"crucial", "essential", "college", "company"}.intersection(term.related)


def test_a_related_word_finds_an_answer_without_the_query_word() -> None:
    sessions = FILLER | {"gift": [("user", "I took my husband to the opera"), ("assistant", "how nice")]}
    assert find_first(sessions, "spouse opera") == "gift"


def test_we_refers_to_work_in_sessions_of_an_agent() -> None:
    work: dict[str, list[RoleAndText]] = {
        f"work{number}": [("user", "continue"), *[("assistant", f"edited chart{number}.py")] * 4] for number in range(8)
    }
    sessions = work | {
        "planned": [("user", "We do not need old chart code of the footers."), ("assistant", "Tomorrow.")],
        "done": [
            ("user", "go on"),
            *[("assistant", "step")] * 4,
            ("assistant", "Done: deleted old chart code of labels"),
        ],
    }
    assert find_first(sessions, "did we delete the old chart code") == "done"


def test_we_in_a_query_for_a_session_refers_to_work() -> None:
    assert not parse_query("where did we speed up the importer?").of_user
    assert not parse_query("the time when we lost the index").of_user
    assert parse_query("did we book the hotel?").of_user
    assert parse_query("where did we put my passport?").of_user


def test_a_session_that_did_the_work_ranks_before_one_that_asked_for_it() -> None:
    work: dict[str, list[RoleAndText]] = {
        f"work{number}": [("user", "continue"), *[("assistant", f"edited chart{number}.py")] * 4] for number in range(4)
    }
    sessions = work | {
        "done": [
            ("user", "go on"),
            *[("assistant", "ran the tests")] * 3,
            ("assistant", "Done: sped up the seek bars of the player."),
        ],
        "asked": [("user", "Please speed up seek bars of the player."), ("assistant", "Tomorrow.")],
    }
    assert find_first(sessions, "which session made the seek bars of the player speed up?") == "done"


def test_words_related_to_vague_ones_find_nothing_in_sessions_of_work() -> None:
    work: dict[str, list[RoleAndText]] = {
        f"work{number}": [
            ("user", "continue"),
            *[("assistant", f"edited locks{number}.py, the locks are held")] * 4,
            ("user", "great, thanks"),
        ]
        for number in range(9)
    }
    index = RecallIndex(None)
    index.put(
        SessionDoc(
            id=name,
            title=name,
            updated=0.0,
            stamp="1",
            turns=tuple(
                TurnDoc(message_id=f"{name}{place}", role=role, created=0.0, text=text, output="")
                for place, (role, text) in enumerate(turns)
            ),
        )
        for name, turns in work.items()
    )
    found = [hit.text for hit in index.search_turns("the good idea about locks", limit=9)]
    assert found and not any("great" in text for text in found)
