"""What a command that was typed stands for, as the model and the person are shown it."""

from clio.commands.called import Meaning
from clio.fragments import Fragment
from clio.prompt_files import load_prompt


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
