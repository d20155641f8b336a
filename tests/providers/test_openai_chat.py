"""The chat provider over real HTTP, with clio's own client and with the openai package."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec import Raw

from clio.config.schema import Config, ModelSettings
from clio.errors import ClioError, ContextOverflow, ProviderRefused, RateLimited, ServerFailed, StreamBroken
from clio.messages import AssistantMessage, ToolCall, ToolMessage, Usage, UserMessage
from clio.providers.base import ChatRequest, Chunk, ModelLimits, Provider, ToolSpec
from clio.providers.lesson_book import LessonBook
from clio.providers.registry import make_provider
from tests.support.chat_server import (
    ChatServer,
    Cut,
    Reply,
    Script,
    cut,
    empty_stream,
    error,
    json_reply,
    raw_sse,
    slow,
    stall,
    text,
    tool_calls,
)
from tests.support.rows import each_row
from tests.support.waiting import wait_until_async
from tests.support.wording import mentions

REQUEST = ChatRequest(system="Be brief.", messages=(UserMessage(content="hi"),))
TOOL = ToolSpec(name="git", description="Runs git.", parameters=Raw(b'{"type":"object"}'))
KEY = {"OPENAI_API_KEY": "sk-test"}


CHOSEN: dict[str, Any] = {"model": "test-model"}


@pytest.fixture(autouse=True, params=["lean", "openai"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with both clients."""
    monkeypatch.setitem(CHOSEN, "transport", request.param)


def provider_for(url: str, env: dict[str, str] = KEY, **config: Any) -> Provider:
    return make_provider(Config(**({"base_url": url} | CHOSEN | config)), env)


def use(provider: Provider, work: Callable[[Provider], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        try:
            return await asyncio.wait_for(work(provider), 20)
        finally:
            await provider.close()

    return asyncio.run(main())


async def collect(provider: Provider, request: ChatRequest = REQUEST) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(request)]


def ask(*replies: Script, request: ChatRequest = REQUEST, **config: Any) -> tuple[list[Chunk], ChatServer]:
    with ChatServer(replies) as server:
        return use(provider_for(server.url, **config), lambda provider: collect(provider, request)), server


def failure(reply: Script, kind: type[ClioError], **config: Any) -> Any:
    with pytest.raises(kind) as caught:
        ask(reply, **config)
    return caught.value


def joined(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def call_of(chunks: list[Chunk]) -> list[tuple[str, str]]:
    calls: dict[int, tuple[str, str]] = {}
    for delta in (delta for chunk in chunks for delta in chunk.tool_calls):
        name, arguments = calls.get(delta.index, ("", ""))
        calls[delta.index] = (delta.name or name, arguments + delta.arguments)
    return list(calls.values())


@contextmanager
def listening(answer: bytes = b"") -> Iterator[int]:
    """Yield a port that answers any connection with these bytes and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_text_finish_reason_and_usage() -> None:
    chunks, server = ask(text("Hello there, you.", usage=(10, 4, 6), chunk_size=3))
    assert joined(chunks) == "Hello there, you."
    assert chunks[-1] == Chunk(
        finish_reason="stop", usage=Usage(prompt_tokens=10, completion_tokens=4, cached_tokens=6)
    )
    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer sk-test"
    assert sent.headers["content-type"] == "application/json"
    assert sent.body == {
        "model": "test-model",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
    }


@each_row(
    "reply",
    [
        text("Hello", usage=(10, 4), usage_in="finish"),
        text("Hello", usage=(10, 4), usage_in="final"),
        json_reply(
            {
                "choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 4},
            }
        ),
    ],
    ids=["beside the reason", "at the end", "not streamed"],
)
def test_usage_wherever_it_is(reply: Reply) -> None:
    chunks, _ = ask(reply)
    assert joined(chunks) == "Hello"
    assert chunks[-1] == Chunk(finish_reason="stop", usage=Usage(prompt_tokens=10, completion_tokens=4))


@each_row("usage", [None, (0, 0), (10**12, 5)])
def test_missing_or_absurd_usage(usage: Any) -> None:
    assert ask(text("Hello", usage=usage))[0][-1] == Chunk(finish_reason="stop")


@each_row("split", ["whole", "pieces", "characters", "llamacpp"])
def test_parallel_calls(split: Any) -> None:
    calls = [("read_file", {"path": "a.py"}), ("git", {"operation": "log", "n": 2})]
    chunks, _ = ask(tool_calls(calls, "Looking.", split=split, reasoning="hm"))
    assert [(name, json.loads(arguments)) for name, arguments in call_of(chunks)] == calls
    assert joined(chunks) == "Looking."
    assert "".join(chunk.reasoning for chunk in chunks) == "hm"
    assert chunks[-1].finish_reason == "tool_calls"


def test_unusual_streams() -> None:
    lines = [
        ": a comment",
        "event: ping\ndata: {}",
        {"choices": []},
        {"choices": [{"delta": {"role": "assistant", "content": None, "tool_calls": []}}]},
        'data:{"choices":[{"delta":{"content":"no space"}}]}',
        {"choices": [{"delta": {"content": "!"}, "finish_reason": "stop"}], "usage": None},
    ]
    chunks, _ = ask(raw_sse(lines))
    assert joined(chunks) == "no space!"
    assert chunks[-1].finish_reason == "stop"


def test_an_empty_answer_is_an_answer() -> None:
    assert ask(text("", usage=None))[0] == [Chunk(finish_reason="stop")]


@each_row(
    "reply", [empty_stream(), raw_sse(["data: [DONE]"]), json_reply({}), json_reply({"choices": []}), raw_sse([": hm"])]
)
def test_an_empty_stream_is_an_error(reply: Reply) -> None:
    assert "empty answer" in str(failure(reply, StreamBroken))


def test_after_an_empty_stream_a_new_connection_is_used() -> None:
    async def twice(provider: Provider) -> str:
        with pytest.raises(StreamBroken):
            await collect(provider)
        return joined(await collect(provider))

    with ChatServer([empty_stream(), text("here")]) as server:
        assert use(provider_for(server.url), twice) == "here"
        assert server.connections == 2


def test_a_connection_is_reused() -> None:
    async def thrice(provider: Provider) -> list[str]:
        return [joined(await collect(provider)) for _ in range(3)]

    with ChatServer([text("a"), text("b"), text("c")]) as server:
        assert use(provider_for(server.url), thrice) == ["a", "b", "c"]
        assert server.connections == 1


@each_row(
    "reply",
    [
        cut("half an answer"),
        cut("half an answer", after=4),
        cut("", reply=tool_calls([("git", {"operation": "log"})]), after=3),
        raw_sse(
            [{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "a", "arguments": "{"}}]}}]}]
        ),
        Reply(lambda _: [b'{"choices": [', Cut()], content_type="application/json"),
    ],
    ids=["after the text", "in the text", "in a call", "a call cut cleanly", "not streamed"],
)
def test_a_stream_cut_in_the_middle_is_an_error(reply: Reply) -> None:
    assert isinstance(failure(reply, StreamBroken), StreamBroken)


def test_a_stream_cut_after_the_finish_reason_is_complete() -> None:
    whole = text("Hello", usage=None, chunk_size=50)
    chunks, _ = ask(cut("", reply=whole, after=3))
    assert chunks == [Chunk(text="Hello"), Chunk(finish_reason="stop")]


def test_text_before_the_cut_was_shown() -> None:
    seen: list[str] = []

    async def watch(provider: Provider) -> None:
        async for chunk in provider.stream(REQUEST):
            seen.append(chunk.text)

    with ChatServer([cut("half")]) as server, pytest.raises(StreamBroken):
        use(provider_for(server.url), watch)
    assert seen == ["half"]


def test_errors_inside_the_stream() -> None:
    start = {"choices": [{"delta": {"content": "Hel"}}]}
    overflow = {"error": {"message": "the request exceeds the available context size", "type": "x", "n_ctx": 4096}}
    assert isinstance(failure(raw_sse([start, overflow]), ContextOverflow), ContextOverflow)
    limited = failure(raw_sse([start, {"error": {"message": "slow down", "code": 429}}]), RateLimited)
    assert "slow down" in str(limited)
    failed = failure(json_reply({"error": "out of memory"}), ServerFailed)
    assert "out of memory" in str(failed)


@each_row(
    ("line", "words"),
    [
        (
            '{"error": "`max_new_tokens` must be greater than 0, but is 0."}',
            "an error: `max_new_tokens` must be greater than 0",
        ),
        ('{"error": "no kernel "sdpa" for \\d here"}', 'an error: no kernel "sdpa" for \\d here)'),
        ('{"error": "the first of\ntwo lines"}', "an error: the first of)"),
    ],
)
def test_an_error_sent_as_plain_text_in_the_stream(line: str, words: str) -> None:
    """As `transformers serve` 5.23 sends it, after a chunk with only the role."""
    begun = {"choices": [{"delta": {"role": "assistant"}, "index": 0}], "object": "chat.completion.chunk"}
    assert words in str(failure(raw_sse([begun, f"data: {line}"]), ServerFailed))


def test_answers_of_transformers_serve() -> None:
    """Recorded from version 5.23: usage next to the finish reason, empty fields omitted, no [DONE]; unknown model."""
    head = 'data: {"id":"d0106bf5","choices":[{"delta":'
    tail = '"created":1795337679,"model":"/tiny@main","object":"chat.completion.chunk","system_fingerprint":""'
    lines = [
        f'{head}{{"role":"assistant"}},"index":0}}],{tail}}}',
        f'{head}{{"content":"BYT\\u001b"}},"index":0}}],{tail}}}',
        f'{head}{{}},"index":0,"finish_reason":"length"}}],{tail},'
        '"usage":{"completion_tokens":20,"prompt_tokens":11,"total_tokens":31}}',
    ]
    chunks, _ = ask(raw_sse(lines))
    assert (joined(chunks), chunks[-1].finish_reason) == ("BYT\x1b", "length")
    assert chunks[-1].usage == Usage(prompt_tokens=11, completion_tokens=20)
    pinned = {"detail": "Server is pinned to '/srv/tiny'; requested 'test-model'."}
    message = str(failure(error(400, pinned), ProviderRefused))
    assert mentions(message, "no model 'test-model'", "--model", "'/srv/tiny'")


@pytest.mark.parametrize("line", ["data: {oops", "data: <html>"])
def test_a_stream_that_is_not_json_is_an_error(line: str) -> None:
    assert "--base-url" in str(failure(raw_sse([line]), ServerFailed))


def test_an_html_page_instead_of_an_answer() -> None:
    page = Reply(lambda _: [b"<html>Welcome</html>"], content_type="text/html")
    error = failure(page, ServerFailed)
    assert error.retryable and "(text/html): check --base-url" in str(error)


@each_row(
    ("reply", "kind", "words"),
    [
        (error(401), ProviderRefused, "API key rejected"),
        (error(404, "404 page not found"), ProviderRefused, "--base-url"),
        (error(404, {"error": {"message": "model 'test-model' not found"}}), ProviderRefused, "no model 'test-model'"),
        (error(400), ServerFailed, "scripted error 400"),
        (error(400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}), ContextOverflow, "window"),
        (error(500), ServerFailed, "status 500"),
        (error(503, "Service Unavailable"), ServerFailed, "Service Unavailable"),
        (error(429), RateLimited, "rate limited"),
    ],
)
def test_statuses_become_errors(reply: Reply, kind: type[ClioError], words: str) -> None:
    assert words in str(failure(reply, kind))


def test_retry_after_is_read() -> None:
    assert failure(error(429, headers={"Retry-After": "3"}), RateLimited).retry_after_s == 3.0
    assert failure(error(503, headers={"retry-after-ms": "250"}), ServerFailed).retry_after_s == 0.25


def test_no_client_retries_itself() -> None:
    with ChatServer([error(500), text("late")]) as server:
        with pytest.raises(ServerFailed):
            use(provider_for(server.url), collect)
        assert len(server.requests) == 1


def test_redirects_are_not_followed() -> None:
    with ChatServer([text("secrets, please")]) as other:
        reply = error(307, "", {"Location": f"{other.url}/chat/completions"})
        refused = failure(reply, ProviderRefused)
        assert "redirects to http://127.0.0.1" in str(refused)
        assert other.requests == []


def test_a_port_without_a_server_refuses() -> None:
    with pytest.raises(ServerFailed, match=r"http://127\.0\.0\.1:\d+ \(connection refused\)") as caught:
        use(provider_for(f"http://127.0.0.1:{free_port()}"), collect)
    assert not caught.value.retryable


def test_an_unknown_host_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)  # how long a real lookup takes depends on the network
    with pytest.raises(ServerFailed, match=r"resolve.* 'no-such-host\.invalid'") as caught:
        use(provider_for("https://no-such-host.invalid/v1"), collect)
    assert not caught.value.retryable


def test_an_invalid_host_name_is_an_error() -> None:
    provider = provider_for("https://xn--a/v1")
    provider.warm_up()  # type: ignore[attr-defined]
    with pytest.raises(ServerFailed, match=r"resolve.* 'xn--a'"):
        use(provider, collect)


def test_plain_http_on_a_tls_port_is_an_error() -> None:
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port, pytest.raises(ServerFailed) as caught:
        use(provider_for(f"https://127.0.0.1:{port}/v1"), collect)
    assert "use http:// in --base-url" in str(caught.value)
    assert not caught.value.retryable


def test_a_server_that_closes_the_connection_at_once() -> None:
    with listening() as port, pytest.raises(ServerFailed) as caught:
        use(provider_for(f"http://127.0.0.1:{port}/v1"), collect)
    assert caught.value.retryable


def test_closing_the_iterator_closes_the_connection() -> None:
    async def look_away(provider: Provider) -> str:
        stream = provider.stream(REQUEST)
        first = await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        return first.text

    with ChatServer([stall("One moment")]) as server:
        assert use(provider_for(server.url), look_away) == "One moment"
        assert server.disconnected.wait(5)


@pytest.mark.parametrize(
    ("reply", "chunks"),
    [(stall("One"), 1), (slow(30, text("late")), 0)],
    ids=["while streaming", "before the first byte"],
)
def test_cancelling_closes_the_connection(reply: Reply, chunks: int) -> None:
    async def cancel(provider: Provider) -> None:
        received: list[Chunk] = []

        async def receive() -> None:
            async for chunk in provider.stream(REQUEST):
                received.append(chunk)

        task = asyncio.create_task(receive())
        await wait_until_async(lambda: server.requests and len(received) >= chunks)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ChatServer([reply]) as server:
        use(provider_for(server.url), cancel)
        assert server.disconnected.wait(5)


def test_a_refused_field_is_omitted_from_then_on() -> None:
    body = {
        "detail": [
            {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
        ]
    }

    async def twice(provider: Provider) -> list[str]:
        return [joined(await collect(provider)) for _ in range(2)]

    with ChatServer([error(422, body), text("a"), text("b")]) as server:
        assert use(provider_for(server.url), twice) == ["a", "b"]
        assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


def test_the_newer_name_of_max_tokens_is_learned() -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    request = ChatRequest(system="", messages=REQUEST.messages, max_output_tokens=50)
    _, server = ask(error(400, {"error": {"message": words}}), text("a"), request=request)
    assert [request.body.get("max_completion_tokens") for request in server.requests] == [None, 50]


def test_calls_without_text_for_a_server_that_accepts_no_null() -> None:
    """As llama.cpp's Python server 0.3.36 refuses them, shortened."""
    refusal = (
        "[{'type': 'literal_error', 'loc': ('body', 'messages', 1, 'ChatCompletionRequestUserMessage', 'role'), 'msg': "
        "\"Input should be 'user'\", 'input': 'assistant', 'ctx': {'expected': \"'user'\"}}, {'type': 'string_type', "
        "'loc': ('body', 'messages', 1, 'ChatCompletionRequestAssistantMessage', 'content'), 'msg': 'Input should be a "
        "valid string', 'input': None}]"
    )
    call = ToolCall(id="call__0_read_file", name="read_file", arguments='{"path": "a.py"}')
    history = (
        UserMessage(content="read it"),
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id=call.id, name=call.name, content="x = 1"),
    )
    refused = error(500, {"error": {"message": refusal, "type": "internal_server_error"}})
    chunks, server = ask(refused, text("read"), request=ChatRequest(system="", messages=history))
    assert joined(chunks) == "read"
    first, second = (request.body["messages"][1] for request in server.requests)
    assert (first["content"], second["content"], second["tool_calls"]) == (None, "", first["tool_calls"])


def test_the_configured_maximum_length_is_sent() -> None:
    own = {"test-model": ModelSettings(max_output_tokens=7)}
    short = ChatRequest(system="", messages=REQUEST.messages, max_output_tokens=3)
    asked = [ask(text("a"), **given)[1] for given in ({}, {"max_output_tokens": 9}, {"models": own})]
    asked.append(ask(text("a"), request=short, models=own)[1])
    assert [server.requests[0].body.get("max_tokens") for server in asked] == [None, 9, 7, 3]


def test_tools_and_effort_are_sent() -> None:
    words = "Function tools with reasoning_effort are not supported for x. Set reasoning_effort to 'none'."
    request = ChatRequest(system="", messages=REQUEST.messages, tools=(TOOL,))
    _, server = ask(error(400, {"error": {"message": words}}), text("a"), request=request)
    assert [sent.body.get("reasoning_effort") for sent in server.requests] == [None, "none"]
    assert server.requests[1].body["tools"][0]["function"]["name"] == "git"


_DEMAND = "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
_REFUSAL = "Unsupported value: 'reasoning_effort' does not support 'none' with this model."


def _efforts(*models: str) -> tuple[list[object], list[str]]:
    """Return the effort in requests with tools, and their results, at a server that treats models differently."""
    server = ChatServer()
    request = ChatRequest(system="", messages=REQUEST.messages, tools=(TOOL,))
    ends: list[str] = []
    lessons = LessonBook()  # as in one clio

    async def one(model: str) -> None:
        config = Config(base_url=server.url, api_key="k", model=model, api="chat")
        provider = make_provider(config, {}, book=lessons)
        try:
            chunks = [chunk async for chunk in provider.stream(request)]
            ends.append(joined(chunks))
        except ServerFailed as failed:
            ends.append(str(failed))
        finally:
            await provider.close()

    with server:
        for model in models:
            if model == "asks":
                server.add(error(400, {"error": {"message": _DEMAND}}), text("a"))
            elif model == "refuses":
                server.add(text("b"))
            elif model == "both":
                server.add(*(error(400, {"error": {"message": said}}) for said in (_DEMAND, _REFUSAL, _DEMAND)))
            else:
                server.add(text("c"))
            asyncio.run(one(model.removeprefix("again-")))
        return [sent.body.get("reasoning_effort") for sent in server.requests], ends


def test_an_effort_is_sent_only_if_it_was_requested() -> None:
    assert _efforts("gpt-6-sol", "gpt-6.1-sol", "gpt-5.6", "o4") == ([None] * 4, ["c"] * 4)


def test_a_requested_effort_is_remembered_for_that_model() -> None:
    server_saw, ends = _efforts("asks", "again-asks", "refuses")
    assert (server_saw, ends) == ([None, "none", "none", None], ["a", "c", "b"])


def test_a_requested_and_refused_effort_is_reported_in_the_servers_words() -> None:
    server_saw, ends = _efforts("both")
    assert server_saw == [None, "none", None]
    assert "set reasoning_effort" in ends[0]


def test_a_field_refused_twice_is_an_error() -> None:
    body = {"error": {"message": "stream_options not supported"}}
    with pytest.raises(ServerFailed, match="stream_options"):
        ask(error(400, body), error(400, body))


def test_signatures_are_sent_back_with_their_calls() -> None:
    signed = {"index": 0, "id": "c1", "function": {"name": "git", "arguments": "{}"}}
    signed["extra_content"] = {"google": {"thought_signature": "c2ln"}}
    refused = error(400, {"error": {"message": "Function call is missing a thought_signature"}})

    async def two_steps(provider: Provider) -> None:
        end = (await collect(provider))[-1]
        answer = AssistantMessage(
            tool_calls=(ToolCall(id="c1", name="git"), ToolCall(id="c2", name="git")),
            reasoning_items=end.reasoning_items,
            reasoning_origin=end.origin,
        )
        await collect(provider, ChatRequest(system="", messages=(answer, ToolMessage(tool_call_id="c1", content="x"))))

    first = raw_sse([{"choices": [{"delta": {"tool_calls": [signed]}, "finish_reason": "tool_calls"}]}])
    with ChatServer([first, refused, text("a")]) as server:
        use(provider_for(server.url), two_steps)
        calls = server.requests[-1].body["messages"][0]["tool_calls"]
    assert calls[0]["extra_content"] == {"google": {"thought_signature": "c2ln"}}
    assert "extra_content" not in calls[1]


def test_requests_of_a_session_share_their_prefix() -> None:
    more = ChatRequest(
        system=REQUEST.system,
        messages=(*REQUEST.messages, AssistantMessage(content="Hello"), UserMessage(content="and now?")),
    )

    async def two_turns(provider: Provider) -> None:
        await collect(provider)
        await collect(provider, more)

    with ChatServer([text("a"), text("b")]) as server:
        use(provider_for(server.url), two_turns)
        first, second = (request.raw for request in server.requests)
    assert second.startswith(first.removesuffix(b"]}"))


def limits_of(rows: Any, **config: Any) -> tuple[ModelLimits, ChatServer]:
    async def limits_twice(provider: Provider) -> ModelLimits:
        first, second = await asyncio.gather(provider.limits(), provider.limits())
        assert first == second
        return first

    with ChatServer(models=rows) as server:
        return use(provider_for(server.url, **config), limits_twice), server


def test_the_window_named_by_the_server() -> None:
    limits, server = limits_of([{"id": "test-model", "max_model_len": 8192}])
    assert limits == ModelLimits(context_window=8192, max_output_tokens=2048, source="server")
    assert [request.path for request in server.others] == ["/v1/models"]
    assert server.others[0].headers["authorization"] == "Bearer sk-test"


@each_row("models", [error(500), error(404, "nope"), json_reply({}), json_reply([1]), error(200, "hm")])
def test_a_server_that_names_no_window(models: Any) -> None:
    assert limits_of(models)[0] == ModelLimits(context_window=32_000, max_output_tokens=8_000, source="default")


def test_a_silent_server_is_waited_for_at_most_three_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.providers.http_provider.MODELS_TIMEOUT_S", 0.1)
    assert limits_of(slow(30, error(500)))[0].source == "default"


def test_a_window_set_by_the_user_needs_no_server() -> None:
    limits, server = limits_of((), models={"test-model": ModelSettings(context_window=9_000)})
    assert limits == ModelLimits(context_window=9_000, max_output_tokens=2_250, source="config")
    assert server.others == []


def test_listed_names_are_suggested_for_a_wrong_one() -> None:
    async def both(provider: Provider) -> None:
        await provider.limits()
        await collect(provider)

    not_found = error(404, {"error": {"message": "The model `test-mode` does not exist", "code": "model_not_found"}})
    names = [{"id": "test-model"}, {"id": "other"}]
    with ChatServer([not_found], models=names) as server, pytest.raises(ProviderRefused) as caught:
        use(provider_for(server.url, model="test-mode"), both)
    assert mentions(str(caught.value), "no model", "'test-mode'", "--model", "'test-model'")


def test_without_a_key_no_header_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    with ChatServer([text("a")]) as server:
        use(provider_for(server.url, env={}), collect)
    headers = server.requests[0].headers
    assert "authorization" not in headers
    assert "openai-organization" not in headers


def test_loopback_uses_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{free_port()}")
    with ChatServer([text("direct")]) as server:
        assert joined(use(provider_for(server.url), collect)) == "direct"


def test_other_hosts_use_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(ServerFailed, match=r"proxy .*HTTPS_PROXY"):
            use(provider_for("https://api.example.com/v1"), collect)
