"""The provider for a model on an HTTP server, in any of the three protocols."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import structs

from clio.config.schema import Config
from clio.errors import ClioError, StreamBroken
from clio.providers import failure
from clio.providers.auth import Auth
from clio.providers.base import (
    AnswerDecoder,
    ChatRequest,
    Chunk,
    Lessons,
    ModelLimits,
    OfferedModel,
    ProtocolName,
    WatchStream,
    WireProtocol,
)
from clio.providers.chat import merge_chunks
from clio.providers.failure import Endpoint, Failure, TransportFailed, extract_complaint
from clio.providers.lean_transport import Transport
from clio.providers.lesson_book import ModelLessons
from clio.providers.limits import (
    ReportedLimits,
    choose_limits,
    find_native_path,
    list_model_names,
    list_offered_models,
    read_configured_limits,
    read_native_limits,
    read_reported_limits,
    takes_images,
)
from clio.providers.profiles import find_profile
from clio.providers.urls import is_local_host, url_host
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

if TYPE_CHECKING:  # few requests have pictures
    from clio.providers.sent_pictures import SentPictures

_MAX_ADAPTATIONS = 12
"""Maximum number of consecutive rejections of one request that change it; then the error is raised."""
_PROTOCOL_NAMES: dict[ProtocolName, str] = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "messages": "Messages",
}
_ASKS_FOR_RESPONSES = LazyRegex(
    r"use\W+(?:\w+\W+){0,3}?/?(?:v1/)?responses\b"
    r"|only (?:\w+ ){0,2}(?:in|on|with|via|through) (?:the )?/?(?:v1/)?responses\b"
    r"|unsupported_api_for_model|not accessible via the /chat/completions",
    re.IGNORECASE,
)
_REFUSES_ROUTE = LazyRegex(
    r"(?:not|n't) (?:currently )?(?:be )?(?:support|serv|enabl|implement|allow|avail|accept|recogni)\w*"
    r"(?: (?:on|by|for|in|at|via|through|with))?(?: (?:this|the|that|a))?(?: \w+)?\W{0,3}"
    r"(?:(?:route|endpoint|path|url)s?\b|(?:/\w+)*/responses\b|responses (?:api|endpoint|route)\b)"
    r"|responses\W{1,3}(?:(?:api|endpoint|route|path)\W+)?(?:is|are)(?: not|n't) (?:\w+ )?"
    r"(?:supported|served|enabled|implemented|allowed|available)",
    re.IGNORECASE,
)
_NO_ENDPOINT = LazyRegex(r"unexpected endpoint|unknown endpoint|no such endpoint", re.IGNORECASE)
_NAMES_MODEL_OR_ITEM = LazyRegex(r"\bmodels?\b|model_not|deployment|\bitems?\b|organi[sz]ation|project", re.IGNORECASE)
_IMAGE_STATUSES = frozenset((0, 400, 404, 413, 415, 422, 500))
"""Statuses of rejections that may be about an image; 0 is an error inside a stream without a status."""
MODELS_TIMEOUT_S = 3.0
_NATIVE_TIMEOUT_S = 1.0


class HttpProvider:
    """See `Provider`.

    Args:
        make_protocol: returns the `WireProtocol` for a protocol's name.
        protocol: the protocol to start with.
        config: the user's settings about windows and models.
        may_switch: whether an error message that asks for another protocol changes it; if False, only a missing
            endpoint does.
        learned: stores what rejections teach about the model.

    Attributes:
        watch: observes each request; None if nothing does.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        transport: Transport,
        auth: Auth,
        make_protocol: Callable[[ProtocolName], WireProtocol],
        protocol: ProtocolName,
        config: Config,
        *,
        may_switch: bool = False,
        learned: ModelLessons | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._auth = auth
        self._make_protocol = make_protocol
        self._wire = make_protocol(protocol)
        self._may_switch = may_switch
        self._switched = False
        self._learned = learned
        self._notice = ""
        self._pictures: SentPictures | None = None
        self._config = config
        self._local = is_local_host(url_host(endpoint.base_url))
        self._limits: ModelLimits | None = None
        self._limits_lock = asyncio.Lock()
        self._output_limit = read_configured_limits(config, endpoint.model)[1]
        self._known_models: tuple[str, ...] = ()
        self.watch: WatchStream | None = None

    @property
    def name(self) -> str:
        """See `Provider`."""
        return self._endpoint.name

    @property
    def model(self) -> str:
        """See `Provider`."""
        return self._endpoint.model

    @property
    def base_url(self) -> str:
        """The server's address."""
        return self._endpoint.base_url

    @property
    def protocol(self) -> ProtocolName:
        """The protocol of the next request."""
        return self._wire.name

    @property
    def efforts(self) -> tuple[str, ...]:
        """The levels of reasoning effort that the server has not rejected so far, from least to most."""
        return self._wire.efforts

    def encode(self, request: ChatRequest) -> bytes:
        """Return the body of a request as it would be sent now."""
        return self._wire.encode(request)

    def warm_up(self) -> None:
        """Import the HTTP client and create its TLS context. Blocking: call it in a thread at the start."""
        with suppress(TransportFailed):  # the first request reports it
            self._transport.warm_up()

    async def limits(self) -> ModelLimits:
        """See `Provider`."""
        async with self._limits_lock:
            if self._limits is None:
                window, output = read_configured_limits(self._config, self.model)
                server = await self._ask_limits() if window is None else ReportedLimits()
                self._limits = choose_limits(window, output, server, find_profile(self.model), local=self._local)
        return self._limits

    async def _ask_limits(self) -> ReportedLimits:
        try:
            answer = await self._list_models()
        except TransportFailed:
            return ReportedLimits()  # many servers list no models; any other failure appears with the first request
        self._known_models = list_model_names(answer)
        reported = read_reported_limits(answer, self.model)
        path = find_native_path(self.name, answer) if self._local and not reported.window else ""
        if not path:
            return reported
        parts = urlsplit(self.base_url)
        try:
            native = await self._transport.get(f"{parts.scheme}://{parts.netloc}{path}", _NATIVE_TIMEOUT_S)
        except TransportFailed:
            return reported
        native_limits = read_native_limits(native, self.model)
        return ReportedLimits(
            window=native_limits.window, trained=native_limits.trained or reported.trained, output=reported.output
        )

    async def _list_models(self) -> object:
        """Return the decoded answer to GET /models. Raises TransportFailed."""
        await self._auth.headers()  # the command for the key must not count towards the timeout
        try:
            return await self._transport.get("/models", MODELS_TIMEOUT_S)
        except TransportFailed as error:
            if error.failure.status != 401 or not await self._auth.renew_key():
                raise
        return await self._transport.get("/models", MODELS_TIMEOUT_S)

    async def models(self) -> tuple[str, ...]:
        """Return the names of the server's models; () if it lists none or does not answer."""
        try:
            self._known_models = list_model_names(await self._list_models())
        except TransportFailed:
            return ()
        return self._known_models

    async def offered(self) -> tuple[OfferedModel, ...]:
        """See `ListsModels`."""
        try:
            answer = await self._list_models()
        except TransportFailed as error:
            raise self._explain(error.failure) from error
        found = list_offered_models(answer)
        self._known_models = tuple(model.name for model in found)
        return found

    def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk]:
        """See `Provider`. If the server rejects an unknown field, the request is sent again without it."""
        chunks = self._stream(request)
        return chunks if self.watch is None else self.watch(self, request, chunks)

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[Chunk]:
        renewed, adapted = False, 0
        while True:
            answer = self._wire.decoder()
            try:
                async with aclosing(self._receive(self._fit_images(request), answer)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except TransportFailed as error:
                if answer.finish_reason and error.failure.kind in ("broken", "timeout", "in_stream"):
                    break  # the answer is complete; only data after it was lost
                if error.failure.status == 401 and not renewed and await self._auth.renew_key():
                    renewed = True
                    continue
                can_adapt = not answer.has_content and adapted < _MAX_ADAPTATIONS
                notice = self._adapt(error.failure) if can_adapt else None
                if notice is None:
                    raise self._explain(error.failure) from error
                adapted += 1
                self._notice = notice or self._notice
            else:
                break
        ending = await self._finish_answer(answer)
        if self._pictures is not None:
            self._pictures.mark_accepted()
        if adapted and self._learned is not None:
            self._learned.store()
        notice, self._notice = self._notice, ""
        yield structs.replace(ending, notice=notice)

    def _fit_images(self, request: ChatRequest) -> ChatRequest:
        """Return the request without the images that its server does not accept."""
        if not request.images or not takes_images(self._config, self.model):
            return request
        if self._pictures is None:
            from clio.providers.sent_pictures import SentPictures

            lessons: Lessons = self._learned.lessons if self._learned is not None else {}
            self._pictures = SentPictures(self.model, self.name, url_host(self.base_url), lessons)
        return self._pictures.fit_request(request)

    async def _receive(self, request: ChatRequest, answer: AnswerDecoder) -> AsyncGenerator[Chunk]:
        if (
            request.max_output_tokens is None and self._output_limit is not None
        ):  # otherwise the server's default applies
            request = structs.replace(request, max_output_tokens=self._output_limit)
        if request.max_output_tokens is None and self._wire.needs_output_limit:
            request = structs.replace(request, max_output_tokens=(await self.limits()).max_output_tokens)
        body = self._wire.encode(request)
        bounds = failure.AnswerBounds()
        events = self._transport.events(self._wire.path, body, lambda: answer.is_finished)
        async with aclosing(events) as batches:
            while batch := await _next_batch(batches):
                chunks: list[Chunk] = []
                try:
                    for event in batch:
                        found = answer.take(event)
                        bounds.count_chunks(found)
                        chunks += found
                except TransportFailed:
                    for chunk in merge_chunks(chunks):  # the events before the error are valid
                        yield chunk
                    raise
                for chunk in merge_chunks(chunks):
                    yield chunk

    async def _finish_answer(self, answer: AnswerDecoder) -> Chunk:
        if not answer.has_content and not answer.finish_reason:
            # llama.cpp answers an overflow this way, and the next request on that connection fails too.
            await self._transport.close()
            raise StreamBroken(tr("{name} sent an empty answer; the request may not fit its window", name=self.name))
        if not answer.is_whole:
            raise StreamBroken(tr("the answer of {name} ended in the middle of a tool call", name=self.name))
        return answer.ending()

    def _adapt(self, failure: Failure) -> str | None:
        """Change later requests after a rejection; see `WireProtocol.adapt` for the result."""
        if failure.kind not in ("status", "in_stream"):
            return None
        if (other := self._find_other_protocol(failure)) is not None:
            return self._switch_protocol(other, for_server=other == "chat" and failure.status != 400)
        if self._wire.name == "messages" and failure.status == 400 and self._drops_beta_header(failure.body):
            return ""
        pictures = self._pictures if failure.status in _IMAGE_STATUSES else None
        if pictures is not None and (notice := pictures.adapt(failure)) is not None:
            return notice
        # 404: an item that is not stored; 500: llama.cpp's Python server; 0: an error in a stream without a status
        return self._wire.adapt(failure.body) if failure.status in (0, 400, 404, 422, 500) else None

    def _drops_beta_header(self, refusal: str) -> bool:
        """If the rejection is about the beta header, omit it from later requests; return whether it was."""
        from clio.providers.messages import BETA_HEADER, TAKES_BETA, refuses_beta_header

        if not (refuses_beta_header(refusal) and self._auth.drop_header(BETA_HEADER)):
            return False
        if self._learned is not None:
            self._learned.lessons[TAKES_BETA] = False
        return True

    def _find_other_protocol(self, failure: Failure) -> ProtocolName | None:
        """Return the protocol to switch to if the server does not support the current one; else None."""
        if self._switched:
            return None
        if self._wire.name == "responses" and _lacks_endpoint(failure, self.model):
            return "chat"
        if self._wire.name == "chat" and failure.status in (400, 404) and self._may_switch:
            return "responses" if _ASKS_FOR_RESPONSES.search(failure.body) else None
        return None

    def _switch_protocol(self, other: ProtocolName, *, for_server: bool) -> str:
        self._switched = True
        notice = ""
        if not self._may_switch:
            notice = tr(
                "{name} does not support {protocol_names}; using {protocol_names2}",
                name=self.name,
                protocol_names=_PROTOCOL_NAMES[self._wire.name],
                protocol_names2=_PROTOCOL_NAMES[other],
            )
        if self._learned is not None:
            self._learned.switch_protocol(other, for_server=for_server)
        self._wire = self._make_protocol(other)
        return notice

    def _explain(self, failure: Failure) -> ClioError:
        from clio.providers.error_meaning import explain_failure

        return explain_failure(failure, self._endpoint, models=self._known_models, now=time.time())

    async def close(self) -> None:
        """See `Provider`."""
        await self._transport.close()


def _lacks_endpoint(failure: Failure, model: str) -> bool:
    """Whether the error is about the endpoint, as opposed to a model or an item that the request names."""
    if failure.kind == "in_stream":
        return bool(_NO_ENDPOINT.search(failure.body))  # LM Studio answers with status 200
    if failure.status in (400, 404, 405, 501) and _REFUSES_ROUTE.search(extract_complaint(failure.body)):
        return True  # Bedrock names the model, although the same server accepts it with Chat Completions
    if failure.status not in (404, 405, 501):
        return False
    if failure.body.lstrip().startswith("<"):  # a web server's own page
        return True
    named = re.search(rf"(?<![\w.-]){re.escape(model)}(?![\w.-])", failure.body, re.IGNORECASE)
    return not named and not _NAMES_MODEL_OR_ITEM.search(failure.body)


async def _next_batch(batches: AsyncGenerator[list[object]]) -> list[object]:
    """Return the next batch of events; [] at the end. Raises TransportFailed."""
    try:
        async with asyncio.timeout(failure.MAX_SILENCE_S):
            async for batch in batches:
                return batch
    except TimeoutError:
        raise failure.make_endless_error(
            tr("no data for {max_silence_s:,.0f} s", max_silence_s=failure.MAX_SILENCE_S)
        ) from None
    return []
