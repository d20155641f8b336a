"""Answered turns of an app, with the style a real turn would have been given."""

from pathlib import Path
from typing import Any

from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, Fragment, UserMessage
from tests.commands.harness import Harness, make_harness


def make_answering_desk(project: Path, **settings: Any) -> Harness:
    """A harness whose memory knows the running session, and takes secrets out of what it keeps."""
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
    """The context the last answer was given its style for."""
    chosen = harness.memory.styles.current
    assert chosen is not None
    return chosen.bucket


def answer(harness: Harness, question: str, words: str = "An answer.") -> Fragment | None:
    """One turn; the fragment of its style."""
    harness.session.append(UserMessage(content=question))
    given = harness.memory.turn_fragments(question)
    harness.session.append(AssistantMessage(content=words))
    harness.memory.end_turn(harness.session, "done")
    return next((one for one in given if one.name == "style"), None)
