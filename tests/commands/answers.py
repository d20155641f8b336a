"""Answered turns of an app, with the style a real turn would have been given."""

from pathlib import Path
from typing import Any

from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, Fragment, UserMessage
from tests.commands.desk import Desk, make_desk


def make_answering_desk(project: Path, **settings: Any) -> Desk:
    """A desk whose memory knows the running session, and takes secrets out of what it keeps."""
    desk = make_desk(project, **settings)
    desk.memory = MemorySystem(
        project,
        desk.store,
        incognito=desk.config.incognito,
        ltm=desk.config.ltm,
        redact=lambda text: desk.redactor.redact(text).text,
        home=desk.loaded.home,
    )
    desk.memory.begin(window_tokens=100_000, session=desk.session)
    return desk


def bucket(desk: Desk) -> str:
    """The context the last answer was given its style for."""
    chosen = desk.memory.styles.current
    assert chosen is not None
    return chosen.bucket


def answer(desk: Desk, question: str, words: str = "An answer.") -> Fragment | None:
    """One turn; the fragment of its style."""
    desk.session.append(UserMessage(content=question))
    given = desk.memory.turn_fragments(question)
    desk.session.append(AssistantMessage(content=words))
    desk.memory.end_turn(desk.session, "done")
    return next((one for one in given if one.name == "style"), None)
