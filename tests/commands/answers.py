"""Answered turns of an app, with the style that a real turn would use."""

from pathlib import Path
from typing import Any

from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, Fragment, UserMessage
from tests.commands.harness import Harness, make_harness


def make_answering_harness(project: Path, **settings: Any) -> Harness:
    """Return a harness whose memory knows the running session and redacts secrets."""
    harness = make_harness(project, **settings)
    harness.memory = MemorySystem(
        project,
        harness.store,
        incognito=harness.config.incognito,
        ltm=harness.config.ltm,
        redact=lambda text: harness.redactor.redact(text).text,
        home=harness.loaded.home,
    )
    harness.memory.begin(window_tokens=100_000, session=harness.session)
    return harness


def bucket(harness: Harness) -> str:
    """Return the context for which the style of the last answer was chosen."""
    chosen = harness.memory.styles.current
    assert chosen is not None
    return chosen.bucket


def answer(harness: Harness, question: str, words: str = "An answer.") -> Fragment | None:
    """Run one turn; return the fragment of its style."""
    harness.session.append(UserMessage(content=question))
    given = harness.memory.turn_fragments(question)
    harness.session.append(AssistantMessage(content=words))
    harness.memory.end_turn(harness.session, "done")
    return next((one for one in given if one.name == "style"), None)
