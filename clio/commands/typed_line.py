"""Which typed lines are commands, and the turn that begins with one that is not built in."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from clio.fragments import Fragment
from clio.prompt_files import load_prompt
from clio.text.lazy_regex import LazyRegex

_COMMAND = LazyRegex(r"/([A-Za-z][\w-]*(:[\w.-]+)*)?(?!\S)")  # "/etc/hosts is wrong" is a prompt, not a command


def is_command(line: str) -> bool:
    """Whether the line is meant for clio and not for the model."""
    return _COMMAND.match(line.strip()) is not None


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


def meant_fragment(meaning: Meaning, window_tokens: int) -> Fragment:
    """The text as it stands before the words that call it."""
    only = "" if meaning.tools is None else f"\n\nIn this turn only {_listed(meaning.tools)} may change anything."
    return Fragment(
        name=meaning.lead.rpartition("/")[2],
        text=f"{load_prompt(meaning.lead)}\n\n{meaning.text}{only}",
        source=meaning.source.replace('"', "'"),
        reason="the user called it",
        cap_tokens=min(meaning.cap_tokens, window_tokens // 4),
    )


def chip(said: str, meaning: Meaning) -> str:
    """The one line a person is shown instead of the text: "+ /review · 42 lines of .clio/commands/review.md"."""
    lines = len(meaning.text.splitlines())
    model = f" · answered by {meaning.model}" if meaning.model else ""
    return f"+ {said.split(maxsplit=1)[0]} · {lines:,} line{'s' * (lines != 1)} of {meaning.source}{model}"


def _listed(tools: tuple[str, ...]) -> str:
    return ", ".join(tools) or "no tool"
