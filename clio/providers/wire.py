"""What the three protocols have in common, so that one provider speaks them all.

A protocol encodes requests and decodes the events of an answer into chunks; sending, retrying, limits and errors are
the provider's (`http_provider`). `chat_*`: Chat Completions; `responses_*`: OpenAI Responses; `messages_*`: Anthropic
Messages.
"""

from collections.abc import MutableMapping
from typing import Literal, Protocol

from clio.providers.base import ChatRequest, Chunk

ProtocolName = Literal["chat", "responses", "messages"]
Lessons = MutableMapping[str, object]
"""What a server's refusals taught about one model, as JSON values by name; kept for later runs."""


class Decoder(Protocol):
    """Reads the events of one answer in order."""

    @property
    def has_content(self) -> bool:
        """Whether text, reasoning or a tool call has come."""
        ...

    @property
    def finish_reason(self) -> str:
        """Why the model stopped, in the words of Chat Completions; "" where the server has not said."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether the answer ended by itself, rather than being cut off."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether the server said that no event follows."""
        ...

    def take(self, event: object) -> Chunk | None:
        """The content of one event, None where it holds none. Raises TransportFailed for an error in the stream."""
        ...

    def ending(self) -> Chunk:
        """Finish reason, usage and reasoning items of the whole answer."""
        ...


class WireProtocol(Protocol):
    """Speaks one protocol to one model."""

    @property
    def name(self) -> ProtocolName:
        """The protocol's name."""
        ...

    @property
    def path(self) -> str:
        """Where requests go, below the base URL."""
        ...

    @property
    def needs_output_limit(self) -> bool:
        """Whether every request must name the most tokens the answer may have."""
        ...

    @property
    def efforts(self) -> tuple[str, ...]:
        """The levels of effort worth asking for, from the least to the most, without those that were refused."""
        ...

    def encode(self, request: ChatRequest) -> bytes:
        """The request's body."""
        ...

    def decoder(self) -> Decoder:
        """A reader for the answer to one request."""
        ...

    def adapt(self, refusal: str) -> str | None:
        """Change later requests so that the server takes them.

        refusal: the body of an answer of status 400 or 422. Returns a sentence for the user, "" where nothing they
        asked for has changed, None where the refusal teaches nothing.
        """
        ...
