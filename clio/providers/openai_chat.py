"""A model behind any server that speaks Chat Completions."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from urllib.parse import urlsplit

from msgspec import structs

from clio.config.schema import Config
from clio.errors import ClioError, StreamBroken
from clio.providers import bounds
from clio.providers.base import ChatRequest, Chunk, Limits, Offered
from clio.providers.chunks import Normaliser, joined
from clio.providers.encode import Encoder, encode_json
from clio.providers.failure import Endpoint, Failure, TransportFailed
from clio.providers.lenient import as_dict
from clio.providers.limits import Reported, configured, decide, names_in, native_path, offered_in, read_native, reported
from clio.providers.pictures import takes_images
from clio.providers.profiles import Quirks, profile_of, taught
from clio.providers.transport import Transport
from clio.providers.urls import host_of, is_local_host

MODELS_TIMEOUT_S = 3.0
_NATIVE_TIMEOUT_S = 1.0
_EFFORTS: dict[tuple[str, str], tuple[bool, bool]] = {}
"""By address and model: whether `reasoning_effort: "none"` is sent, and whether it was refused, as was taught."""


class OpenAIChatProvider:
    """See `Provider`. `config` gives what the user set about windows and models; all else is in `endpoint`."""

    def __init__(self, endpoint: Endpoint, transport: Transport, quirks: Quirks, config: Config) -> None:
        self._at = endpoint
        self._transport = transport
        self._quirks = _with_lessons(quirks, endpoint)
        self._config = config
        self._local = is_local_host(host_of(endpoint.base_url))
        self._limits: Limits | None = None
        self._limits_lock = asyncio.Lock()
        self._longest = configured(config, endpoint.model)[1]
        self._known_models: tuple[str, ...] = ()
        self._signatures: dict[str, str] = {}
        own = config.models.get(endpoint.model)
        self._encoder = Encoder(
            endpoint.model,
            tools=own is None or own.tools,
            images=takes_images(config, endpoint.model),
            signatures=self._signatures,
        )

    @property
    def name(self) -> str:
        """See `Provider`."""
        return self._at.name

    @property
    def model(self) -> str:
        """See `Provider`."""
        return self._at.model

    @property
    def base_url(self) -> str:
        """Where the requests go."""
        return self._at.base_url

    def warm_up(self) -> None:
        """Import the client package and open its TLS context; blocking, for a thread at the start."""
        with suppress(TransportFailed):  # the first request will say it, to whoever waits for it
            self._transport.warm_up()

    async def limits(self) -> Limits:
        """See `Provider`."""
        async with self._limits_lock:
            if self._limits is None:
                window, output = configured(self._config, self.model)
                server = await self._ask_limits() if window is None else Reported()
                self._limits = decide(window, output, server, profile_of(self.model), local=self._local)
        return self._limits

    async def _ask_limits(self) -> Reported:
        try:
            answer = await self._transport.get("/models", MODELS_TIMEOUT_S)
        except TransportFailed:
            return Reported()  # many servers have no list, and a real failure shows with the first request
        self._known_models = names_in(answer)
        said = reported(answer, self.model)
        path = native_path(self.name, answer) if self._local and not said.window else ""
        if not path:
            return said
        parts = urlsplit(self.base_url)
        try:
            native = await self._transport.get(f"{parts.scheme}://{parts.netloc}{path}", _NATIVE_TIMEOUT_S)
        except TransportFailed:
            return said
        more = read_native(native, self.model)
        return Reported(window=more.window, trained=more.trained or said.trained, output=said.output)

    async def models(self) -> tuple[str, ...]:
        """The names the server lists; none where it has no list or does not answer."""
        try:
            self._known_models = names_in(await self._transport.get("/models", MODELS_TIMEOUT_S))
        except TransportFailed:
            return ()
        return self._known_models

    async def offered(self) -> tuple[Offered, ...]:
        """See `ListsModels`."""
        try:
            answer = await self._transport.get("/models", MODELS_TIMEOUT_S)
        except TransportFailed as error:
            raise self._explain(error.failure) from error
        found = offered_in(answer)
        self._known_models = tuple(one.name for one in found)
        return found

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk]:
        """See `Provider`. A server that refuses a field it does not know is asked again without it, once for each."""
        while True:
            answer = Normaliser()
            try:
                async with aclosing(self._receive(request, answer)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except TransportFailed as error:
                if answer.finish_reason and error.failure.kind in ("broken", "timeout"):
                    break  # all of it had come; only the goodbye was lost
                if not self._learn(error.failure):
                    raise self._explain(error.failure) from error
            else:
                break
        yield await self._end(answer)

    async def _receive(self, request: ChatRequest, answer: Normaliser) -> AsyncGenerator[Chunk]:
        if request.max_output_tokens is None and self._longest is not None:  # else it is the server's to decide
            request = structs.replace(request, max_output_tokens=self._longest)
        body = self._encoder.request(request, self._quirks)
        held = bounds.Bounds()
        async with aclosing(self._transport.events(body)) as batches:
            while batch := await _next(batches):
                chunks: list[Chunk] = []
                try:
                    for event in batch:
                        if as_dict(event).get("error"):
                            raise TransportFailed(Failure(kind="in_stream", body=encode_json(event).decode("utf-8")))
                        chunk = answer.take(event)
                        held.take(chunk)
                        if chunk is not None:
                            chunks.append(chunk)
                except TransportFailed:
                    for chunk in joined(chunks):  # what stood before it is good
                        yield chunk
                    raise
                for chunk in joined(chunks):
                    yield chunk

    async def _end(self, answer: Normaliser) -> Chunk:
        self._signatures.update(answer.signatures)
        if not answer.has_content and not answer.finish_reason:
            # llama.cpp answers an overflow so, and the next request on that connection fails too.
            await self._transport.close()
            raise StreamBroken(f"{self.name} sent an empty answer; the request may not fit its window")
        if not answer.is_whole:
            raise StreamBroken(f"the answer of {self.name} stopped in the middle of a tool call")
        return answer.ending()

    def _learn(self, failure: Failure) -> bool:
        if failure.kind == "status" and failure.status in (400, 422, 500):  # 500 of llama.cpp's Python server
            lesson = taught(self._quirks, failure.body)
            if lesson is not None:
                self._quirks = lesson
                _EFFORTS[self._at.base_url, self.model] = (lesson.effort_none_with_tools, lesson.effort_none_refused)
                return True
        return False

    def _explain(self, failure: Failure) -> ClioError:
        from clio.providers.failures import explain

        return explain(failure, self._at, models=self._known_models, now=time.time())

    async def close(self) -> None:
        """See `Provider`."""
        await self._transport.close()


def _with_lessons(quirks: Quirks, at: Endpoint) -> Quirks:
    wanted, refused = _EFFORTS.get((at.base_url, at.model), (quirks.effort_none_with_tools, quirks.effort_none_refused))
    return structs.replace(quirks, effort_none_with_tools=wanted, effort_none_refused=refused)


async def _next(batches: AsyncGenerator[list[object]]) -> list[object]:
    """The next events, none at the end. Raises TransportFailed."""
    try:
        async with asyncio.timeout(bounds.WITHOUT_WORDS_S):
            async for batch in batches:
                return batch
    except TimeoutError:
        raise bounds.endless(f"nothing that is part of an answer for {bounds.WITHOUT_WORDS_S:,.0f} s") from None
    return []
