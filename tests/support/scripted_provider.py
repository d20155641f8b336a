"""A provider that returns scripted replies, without a server."""

from collections.abc import AsyncIterator, Iterable, Sequence

from clio.errors import ClioError
from clio.messages import AssistantMessage
from clio.providers.base import ChatRequest, Chunk, ModelLimits, ToolCallDelta

Reply = str | AssistantMessage | ClioError | Sequence[Chunk | ClioError]
"""Text; a whole message; an error to raise; or chunks, with an error at the point where the stream breaks."""


class ScriptedProvider:
    """Returns one reply per request, in order; `requests` records the requests."""

    def __init__(
        self, replies: Iterable[Reply], *, context_window: int = 128_000, max_output_tokens: int = 8_192
    ) -> None:
        self._replies = list(replies)
        self._limits = ModelLimits(context_window=context_window, max_output_tokens=max_output_tokens, source="config")
        self.requests: list[ChatRequest] = []
        self.closed = False

    @property
    def name(self) -> str:
        """See `Provider`."""
        return "scripted"

    @property
    def model(self) -> str:
        """See `Provider`."""
        return "scripted"

    async def limits(self) -> ModelLimits:
        """See `Provider`."""
        return self._limits

    async def stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        """See `Provider`. Raises LookupError when the script has no more replies."""
        self.requests.append(request)
        if not self._replies:
            raise LookupError(f"the script has no reply to request {len(self.requests)}")
        for part in _parts(self._replies.pop(0)):
            if isinstance(part, ClioError):
                raise part
            yield part

    async def close(self) -> None:
        """See `Provider`."""
        self.closed = True


def _parts(reply: Reply) -> Sequence[Chunk | ClioError]:
    if isinstance(reply, ClioError):
        return (reply,)
    if isinstance(reply, str):
        return (Chunk(text=reply), Chunk(finish_reason="stop"))
    if isinstance(reply, AssistantMessage):
        calls = tuple(
            ToolCallDelta(index=index, id=call.id, name=call.name, arguments=call.arguments)
            for index, call in enumerate(reply.tool_calls)
        )
        reason = reply.finish_reason or ("tool_calls" if calls else "stop")
        return (
            Chunk(text=reply.content, reasoning=reply.reasoning, tool_calls=calls),
            Chunk(finish_reason=reason, usage=reply.usage),
        )
    return reply
