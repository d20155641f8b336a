"""What a line stands for that calls a command which is not built in, and the turn that begins with it."""

from collections.abc import Awaitable, Callable

from msgspec import Struct


class Meaning(Struct, frozen=True, kw_only=True):
    """What a command that was typed stands for.

    text: what the model is told the person asks for. source: who wrote it: a file, a server.
    named: the part of it whose "@" mentions are looked up, as if they had been typed.
    model: answers this one turn; "" is the model of the session.
    tools: of the tools that change or reach something, only these may be called in the turn; None leaves all.
    lead: the prompt that says what the text is to the words.
    cap_tokens: the most of the text that is sent; it never takes more than a quarter of the window.
    """

    text: str
    source: str
    named: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None
    lead: str = "context/command"
    cap_tokens: int = 12_000


MakeMeaning = Callable[[], Awaitable[Meaning]]
"""Finds out what a line stands for. Awaited as a part of its turn, so it may take its time, ask the person, and be
stopped with Esc. Raises ClioError where there is to be no turn."""


class MakePrompt(Struct, frozen=True, kw_only=True, tag="make_prompt"):
    """Begin a turn with the line `said`, once `make` has found out what it stands for."""

    said: str
    make: MakeMeaning
