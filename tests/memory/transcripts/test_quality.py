"""Answers to the questions that ship with clio: detects a change that finds less.

`python bench/recall_quality.py` prints the whole table.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from clio.memory.transcripts.index import RecallIndex
from clio.memory.transcripts.session_text import SessionDoc, TurnDoc

DATA = Path(__file__).parents[3] / "bench" / "data" / "recall_coding.json"


@pytest.fixture(scope="module")
def history() -> dict[str, Any]:
    return json.loads(DATA.read_text(encoding="utf-8"))["histories"][0]


@pytest.fixture(scope="module")
def index(history: dict[str, Any]) -> RecallIndex:
    index = RecallIndex(None)
    index.put(
        SessionDoc(
            id=session["session_id"],
            title=session["title"],
            updated=float(number),
            stamp="1",
            turns=tuple(
                TurnDoc(message_id=turn["turn_id"], role=turn["role"], created=float(number), text=turn["text"])
                for turn in session["turns"]
            ),
        )
        for number, session in enumerate(history["sessions"])
    )
    return index


def share(history: dict[str, Any], answers: list[list[Any]], golds: list[set[Any]], k: int) -> float:
    hits = [bool(gold.intersection(answer[:k])) for answer, gold in zip(answers, golds, strict=True)]
    assert len(hits) == len(history["queries"]) >= 60
    return 100 * sum(hits) / len(hits)


def test_the_turn_with_the_answer_is_found(history: dict[str, Any], index: RecallIndex) -> None:
    found = [index.search_turns(query["text"]) for query in history["queries"]]
    answers = [[(hit.where.session, hit.id) for hit in hits] for hits in found]
    golds = [{(session, turn) for session, turn in query["gold"]} for query in history["queries"]]
    assert share(history, answers, golds, 1) >= 71
    assert share(history, answers, golds, 5) >= 93
    assert share(history, answers, golds, 10) >= 95


def test_the_session_that_did_the_work_is_found(history: dict[str, Any], index: RecallIndex) -> None:
    answers = [[hit.session_id for hit in index.search(query["text"])] for query in history["queries"]]
    golds = [{session for session, _ in query["gold"]} for query in history["queries"]]
    assert share(history, answers, golds, 1) >= 91
    assert share(history, answers, golds, 5) >= 97
