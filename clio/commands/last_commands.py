"""/last: what the calls of the last turn gave, whole; and what the model thought aloud in it."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from clio.commands.command import Command, Shell, Suggestion
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.errors import ClioError
from clio.export.wording import named_call
from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage
from clio.sessions.blobs import BlobNotFound
from clio.sessions.session import Session
from clio.storage.locks import cause

_THINKING = "thinking"


class DoneCall(Struct, frozen=True):
    """A call of the last turn that has a result. number: from 1."""

    number: int
    title: str
    result: ToolMessage

    @property
    def line(self) -> str:
        """How it went, in a few words."""
        state = self.result.summary or ("done" if self.result.ok else "failed")
        if self.result.seconds < 0.1 or state.endswith(" s"):  # how a command ended tells its time
            return state
        return f"{state}, {self.result.seconds:.1f} s"


def last(shell: Shell, argument: str) -> CommandResult:
    """One call's whole output, the thinking, or the list of calls."""
    calls = last_calls(shell.session.messages)
    word = argument.strip().lower()
    if word == _THINKING:
        return _thinking(shell.session.messages)
    if not calls:
        return CommandResult(text="The last turn made no calls.", data=[])
    if word == "list":
        rows = tuple((str(call.number), call.title, call.line) for call in calls)
        return CommandResult(table=Table(columns=("#", "call", "result"), rows=rows, wide=1), data=_rows_data(calls))
    if word and not (word.isdecimal() and 1 <= int(word) <= len(calls)):
        return refuse(f"/last takes a number from 1 to {len(calls)}, list or {_THINKING}; {argument!r} is none of them")
    call = calls[int(word) - 1] if word else calls[-1]
    output = whole_output(shell.session, call)
    more = f" `/last N` shows another, 1 to {len(calls)}." if len(calls) > 1 else ""
    return CommandResult(
        text=f"Call {call.number} of {len(calls)}: {code(call.title)} … {code(call.line)}.{more}",
        verbatim=output or "(no output)",
        data=_rows_data([call])[0] | {"of": len(calls), "output": output},
    )


def last_calls(messages: Sequence[Message]) -> list[DoneCall]:
    """The calls of the last turn that have a result, in the order of the results."""
    turn = _last_turn(messages)
    asked = {call.id: call for message in turn if isinstance(message, AssistantMessage) for call in message.tool_calls}
    results = [message for message in turn if isinstance(message, ToolMessage)]
    titles = {call_id: named_call(call) for call_id, call in asked.items()}
    return [DoneCall(number, titles.get(one.tool_call_id, one.name), one) for number, one in enumerate(results, 1)]


def whole_output(session: Session, call: DoneCall) -> str:
    """All that the call gave, as it is kept. Raises ClioError where it is no longer there."""
    if call.result.blob is None:
        return call.result.content
    try:
        return session.read_blob(call.result.blob)
    except (BlobNotFound, OSError) as error:
        raise ClioError(
            f"the whole output of {call.title} cannot be read: {cause(error)}; /session export has what the model saw "
            "of it"
        ) from error


def _last_turn(messages: Sequence[Message]) -> Sequence[Message]:
    """From the person's newest words on."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, UserMessage) and message.origin == "user":
            return messages[index:]
    return messages


def _thinking(messages: Sequence[Message]) -> CommandResult:
    thoughts = [message.reasoning for message in _last_turn(messages) if isinstance(message, AssistantMessage)]
    text = "\n\n".join(thought.strip() for thought in thoughts if thought.strip())
    if not text:
        return CommandResult(text="The model showed no thinking in the last turn.", data="")
    return CommandResult(verbatim=text, data=text)


def _rows_data(calls: Iterable[DoneCall]) -> list[dict[str, object]]:
    return [
        {
            "call": one.number,
            "tool": one.result.name,
            "title": one.title,
            "ok": one.result.ok,
            "summary": one.result.summary,
            "seconds": one.result.seconds,
        }
        for one in calls
    ]


def _suggest(shell: Shell) -> Iterable[Suggestion]:
    for call in last_calls(shell.session.messages):
        yield Suggestion(text=str(call.number), note=f"{call.title} … {call.line}")
    yield Suggestion(text="list", note="the calls of the last turn")
    yield Suggestion(text=_THINKING, note="what the model thought aloud")


LAST = (
    Command(
        name="last",
        argument="[N | list | thinking]",
        summary="the whole output of a call of the last turn, or what the model thought",
        handler=last,
        suggest=_suggest,
    ),
)
