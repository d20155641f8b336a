"""Every call with its results right behind it, in the order of the calls, as a request needs them. Pure.

Other agents write their lines as things happen: what a person said meanwhile, or another answer, may stand between a
call and its result.
"""

from collections.abc import Iterator

from msgspec import structs

from clio.importing.pieces import Tally
from clio.messages import AssistantMessage, Message, ToolMessage, begins_turn

UNANSWERED = "there is no result in the source"
_MOST_HELD = 200
"""So many messages are kept waiting for a result; then there is none."""


class Pairing:
    """Takes messages in the order of the source and hands them out in clio's."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._open: AssistantMessage | None = None
        self._results: dict[str, ToolMessage] = {}
        self._held: list[Message] = []

    def feed(self, message: Message) -> Iterator[Message]:
        """What can be told now that this message has come."""
        if self._open is None:
            if isinstance(message, AssistantMessage) and message.tool_calls:
                self._open = message
            elif isinstance(message, ToolMessage):
                self._tally.unasked += 1
            else:
                yield message
            return
        waiting = {call.id for call in self._open.tool_calls} - self._results.keys()
        if isinstance(message, ToolMessage) and message.tool_call_id in waiting:
            self._results[message.tool_call_id] = message
            if len(waiting) == 1:
                yield from self.close()
        elif begins_turn(message) or len(self._held) >= _MOST_HELD:
            yield from self.close()
            yield from self.feed(message)
        else:
            self._held.append(message)

    def close(self) -> Iterator[Message]:
        """End the open answer: its calls that have no result get one that says so; then what waited behind it."""
        answer, results, held = self._open, self._results, self._held
        self._open, self._results, self._held = None, {}, []
        if answer is None:
            return
        yield answer
        for number, call in enumerate(answer.tool_calls):
            result = results.get(call.id)
            if result is None:
                self._tally.unanswered += 1
                yield ToolMessage(
                    tool_call_id=call.id,
                    name=call.name,
                    content=UNANSWERED,
                    ok=False,
                    summary=UNANSWERED,
                    id=f"{answer.id}-none-{number}" if answer.id else "",
                    created=answer.created,
                )
            else:
                yield structs.replace(result, name=result.name or call.name)
        for message in held:
            yield from self.feed(message)

    def end(self) -> Iterator[Message]:
        """All that is left."""
        while self._open is not None:
            yield from self.close()
