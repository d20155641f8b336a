"""A question to the person at the keyboard."""

from typing import Annotated, Any, Protocol

from msgspec import Meta, Struct

from clio.errors import ToolRetry
from clio.messages import Deeds
from clio.security.actions import Internal
from clio.tools.base import Prepared, Progress, ToolOutput

_TITLE_CHARS = 100


class Asker(Protocol):
    """Whoever can put a question to a person."""

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """The person's answer: one of the options or words of their own; empty for none.

        Raises ToolFailed where nobody is there.
        """
        ...


class AskUserArgs(Struct, frozen=True, kw_only=True):
    """Arguments of ask_user."""

    question: str
    options: Annotated[tuple[str, ...], Meta(max_length=9, description="Answers to choose from")] = ()


class AskUserTool:
    """`ask_user`: one question, with or without answers to choose from."""

    name = "ask_user"
    args = AskUserArgs
    read_only = False

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def prepare(self, args: Any) -> Prepared:
        """Raises ToolRetry for an empty question."""
        call: AskUserArgs = args
        question = call.question.strip()
        if not question:
            raise ToolRetry("the question is empty")
        options = tuple(dict.fromkeys(option.strip() for option in call.options if option.strip()))

        async def go(progress: Progress) -> ToolOutput:
            answer = (await self._asker.ask(question, options)).strip()
            deeds = Deeds(question=question, answer=answer)
            if not answer:
                said = "The user gave no answer; go on as you think best."
                return ToolOutput(text=said, summary="no answer", deeds=deeds)
            summary = " ".join(answer.split())[:_TITLE_CHARS]
            return ToolOutput(text=f"The user answered: {answer}", summary=summary, deeds=deeds)

        title = " ".join(question.split())
        shown = title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"
        return Prepared(title=f"ask: {shown}", action=Internal(), run=go)
