"""A sample of `bench/recall_answers.py`: questions about earlier sessions, answered as a model reads them."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.recall_answers import ask_recall, score_answer
from bench.recall_answers_data import PlacedQuestion, write_sessions
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore
from tests.support.rows import each_row

QUESTIONS = (
    "which port does the dev server use",
    "did we decide on a db for the queue of jobs",
    "how many attempts does the payment client make",
    "command for deploying to prod",
    "lenght of a line in the formatter",
    "importer crashed at night with a decode error, what was the fix",
    "too many conections in the tests, how was it solved",
    "how do I run the slow integration tests",
    "which file has the rate limiting",
    "location of the feature flag config",
    "which commit fixed the flickering login page",
    "latency of search",
    "who is responsible for billing",
    "why not graphql",
    "may I change files in the legacy folder",
    "log level in production",
    "cache timeout product pages",
    "maximum size of uploads in nginx",
)
Home = tuple[MemorySystem, SessionStore, Path, dict[str, PlacedQuestion]]


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    project = Path(tempfile.mkdtemp())
    store = SessionStore(project / ".clio" / "sessions")
    placed = {one.question.text: one for one in write_sessions(store, project)}
    memory = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home")
    yield memory, store, project, placed
    memory.close()
    shutil.rmtree(project)


@each_row("question", QUESTIONS)
def test_the_answer_comes_first_with_time_and_commit_and_without_noise(home: Home, question: str) -> None:
    memory, store, project, placed = home
    text = ask_recall(memory, store, project, question)
    assert [name for name, has in score_answer(text, placed[question]).items() if not has] == [], text


def test_handles_in_an_answer_are_accepted(home: Home) -> None:
    import re

    memory, store, project, _ = home
    text = ask_recall(memory, store, project, "which port does the dev server use")
    way = re.search(r'session="([^"]+)", from="([^"]+)"', text)
    assert way and len(way[1]) < 36 > len(way[2])
    found = memory.earlier_session(way[1])
    assert any(message.id.endswith(way[2]) for message in found.messages)
