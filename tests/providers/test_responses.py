"""OpenAI Responses over real HTTP, with clio's own client and with the openai package."""

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from pydantic import TypeAdapter

from clio.config.schema import Config
from clio.errors import ClioError, ContextOverflow, ProviderRefused, RateLimited, ServerFailed, StreamBroken
from clio.messages import AssistantMessage, ImagePart, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.providers.base import EFFORTS, ChatRequest, Chunk, ToolSpec
from clio.providers.lesson_book import LESSONS_FILE_NAME, LIFE_DAYS, MAX_ENTRIES, LessonBook
from clio.providers.registry import make_provider
from clio.providers.responses import ResponsesDecoder, ResponsesProtocol
from tests.providers.recorded import JoinedAnswer, join_answer
from tests.support.chat_server import ChatServer, Recorded, Reply, Script, error, json_reply, text
from tests.support.responses_script import answer, event, function_call, message, reasoning, reasons, says
from tests.support.rows import each_row
from tests.support.wording import mentions

TOOL = ToolSpec(name="git", description="Runs git.", parameters=Raw(b'{"type":"object","properties":{}}'))
HI = UserMessage(content="hi")
REQUEST = ChatRequest(system="Be brief.", messages=(HI,), tools=(TOOL,))


@cache
def params() -> tuple[TypeAdapter[Any], set[str]]:
    """Return the request types of the vendor's package; importing it takes 0.6 s, so it is lazy."""
    from openai.types.responses import response_create_params as made

    names = {*made.ResponseCreateParamsStreaming.__annotations__, *made.ResponseCreateParamsBase.__annotations__}
    return TypeAdapter(made.ResponseCreateParamsStreaming), names


CHOSEN: dict[str, Any] = {}


@pytest.fixture(autouse=True, params=["lean", "openai"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with both clients."""
    monkeypatch.setitem(CHOSEN, "transport", request.param)


def check(body: dict[str, Any]) -> None:
    """Raise an error if the vendor's package would not accept a field or its content."""
    adapter, names = params()
    adapter.validate_python(body, strict=False)
    assert not set(body) - names
    for item in body["input"]:  # the package's union of items accepts anything, so each is checked with its own type
        TypeAdapter(_item_type(item)).validate_python(item)


def _item_type(item: dict[str, Any]) -> Any:
    import openai.types.responses as types
    from openai.types.responses.response_input_param import FunctionCallOutput

    kinds = {
        "message": types.EasyInputMessageParam,
        "function_call": types.ResponseFunctionToolCallParam,
        "function_call_output": FunctionCallOutput,
        "reasoning": types.ResponseReasoningItemParam,
    }
    return kinds[item.get("type", "message")]


class ResponsesClient:
    """One provider, and the notices it gave."""

    def __init__(self, server: ChatServer, lessons: LessonBook | None = None, **config: Any) -> None:
        given = {"base_url": server.url, "model": "test-model", "api": "responses", "api_key": "k"} | CHOSEN | config
        self._server = server
        self._config = Config(**given)
        self._book = lessons

    def ask(self, *requests: ChatRequest) -> list[JoinedAnswer]:
        return asyncio.run(asyncio.wait_for(self._ask(requests), 20))

    async def _ask(self, requests: tuple[ChatRequest, ...]) -> list[JoinedAnswer]:
        provider = make_provider(self._config, {}, book=self._book)
        joined: list[JoinedAnswer] = []
        self.notices: list[str] = []
        try:
            for request in requests:
                chunks = [chunk async for chunk in provider.stream(request)]
                joined.append(put_together(chunks))
                self.notices += [chunk.notice for chunk in chunks if chunk.notice]
        finally:
            await provider.close()
        return joined


class _Given:
    """A decoder of chunks that were decoded already."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self._chunks = chunks

    def take(self, event: object) -> Any:
        return (event,)

    def ending(self) -> Chunk:
        return self._chunks[-1]


def put_together(chunks: list[Chunk]) -> JoinedAnswer:
    return join_answer(_Given(chunks), list(chunks))  # type: ignore[arg-type]


def ask_server(
    *replies: Script, requests: tuple[ChatRequest, ...] = (REQUEST,), **config: Any
) -> tuple[Any, list[Recorded]]:
    with ChatServer(replies, responses=True) as server:
        client = ResponsesClient(server, **config)
        joined = client.ask(*requests)
    for sent in server.requests:
        if sent.path.endswith("/responses"):
            check(sent.body)
    return (joined, client.notices), server.requests


def answered(chunks: JoinedAnswer, origin: str = "", **fields: Any) -> AssistantMessage:
    """Return the message that the loop saves for an answer."""
    calls = tuple(ToolCall(id=one, name=name, arguments=given) for one, name, given in chunks.calls)
    return AssistantMessage(
        content=chunks.text, reasoning=chunks.reasoning, tool_calls=calls, reasoning_items=chunks.items,
        reasoning_origin=origin, **fields,
    )  # fmt: skip


def refusal(text: str, param: str | None = None, status: int = 400) -> Reply:
    return error(status, {"error": {"message": text, "type": "invalid_request_error", "param": param, "code": None}})


def test_a_turn_sends_back_reasoning_in_order_with_its_calls_and_phases() -> None:
    first = answer(
        reasoning("First I look."),
        message("I look.", phase="commentary"),
        function_call("git", {"operation": "status"}),
        reasoning("Then I look again."),
        function_call("git", {"operation": "log"}),
    )
    with ChatServer([first, answer(message("Done.", phase="final_answer"))], responses=True) as server:
        (joined,) = ResponsesClient(server).ask(REQUEST)
        origin = f"responses 127.0.0.1:{server.port} test-model"
        said = answered(joined, origin)
        results = [ToolMessage(tool_call_id=call.id, content="ok") for call in said.tool_calls]
        ResponsesClient(server).ask(ChatRequest(system="Be brief.", messages=(HI, said, *results), tools=(TOOL,)))
        elsewhere = ChatRequest(
            system="Be brief.", messages=(HI, answered(joined, "chat h m"), *results), tools=(TOOL,)
        )
        server.add(says("ok"))
        ResponsesClient(server).ask(elsewhere)
    assert (joined.text, joined.reasoning) == ("I look.", "First I look.\n\nThen I look again.")
    assert joined.finish == "tool_calls"
    assert joined.usage.reasoning_tokens == 4
    for sent in server.requests:
        check(sent.body)
    rows = server.requests[1].body["input"]
    shapes = [row.get("type") or row["role"] for row in rows]
    assert shapes == [
        *("user", "reasoning", "assistant", "function_call", "reasoning", "function_call"),
        *("function_call_output", "function_call_output"),
    ]
    assert rows[2]["phase"] == "commentary"
    assert [row["encrypted_content"][:6] for row in rows if row.get("type") == "reasoning"] == ["secret"] * 2
    assert server.requests[0].body["include"] == ["reasoning.encrypted_content"]
    assert (server.requests[0].body["store"], server.requests[0].body["reasoning"]) == (False, {"summary": "auto"})
    other = [row.get("type") or row["role"] for row in server.requests[2].body["input"]]
    assert "reasoning" not in other and other.count("function_call") == 2
    begun = server.requests[0].raw[:-2]  # later requests begin with the same bytes
    assert server.requests[1].raw.startswith(begun)


def test_every_kind_of_message_matches_the_packages_types() -> None:
    images = {"b1": b"\x89PNG"}
    part = ImagePart(blob="b1", media_type="image/png", name="a.png", size=4)
    missing_picture = ImagePart(blob="b2", media_type="image/png", name="b.png", size=4)
    call = ToolCall(id="c1", name="git", arguments="{broken")
    messages: tuple[Message, ...] = (
        SystemMessage(content="A summary."),
        UserMessage(content="look", context="here", images=(part, missing_picture)),
        AssistantMessage(content="", finish_reason="interrupted"),
        AssistantMessage(content="I call.", tool_calls=(call,)),
        ToolMessage(tool_call_id="c1", content="failed \ud800", ok=False, images=(part,)),
        UserMessage(content="go on"),
    )
    for effort in ("auto", *EFFORTS):
        protocol = ResponsesProtocol("m", images=True, origin="o")
        request = ChatRequest(
            system="S",
            messages=messages,
            tools=(TOOL,),
            images=images,
            effort=effort,
            cache_key="k",
            max_output_tokens=3,
        )  # fmt: skip
        body = json.loads(protocol.encode(request))
        check(body)
        assert body["max_output_tokens"] == 16
        assert body["reasoning"].get("effort", "auto") == effort
        assert body["prompt_cache_key"] == "k"
    assert json.loads(body["input"][3]["arguments"]) == {"invalid_json": "{broken"}


def test_reasoning_without_a_following_item_is_not_sent_back() -> None:
    """A server refuses a reasoning item without the item that followed it, as in an answer cut off while thinking."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    decoder = ResponsesDecoder("o")
    joined = join_answer(decoder, [{"type": "response.output_item.done", "output_index": 0, "item": item}])
    assert len(joined.items) == 1
    message = answered(joined, "o")
    body = json.loads(ResponsesProtocol("m", origin="o").encode(ChatRequest(system="", messages=(HI, message, HI))))
    assert [row.get("type") or row["role"] for row in body["input"]] == ["user", "user"]
    damaged = AssistantMessage(
        content="a", reasoning_origin="o", reasoning_items=(type(joined.items[0])(data="{no json"), joined.items[0])
    )
    body = json.loads(ResponsesProtocol("m", origin="o").encode(ChatRequest(system="", messages=(damaged,))))
    assert [row.get("type") or row["role"] for row in body["input"]] == ["reasoning", "assistant"]


def _all_at_once(*items: dict[str, Any], **fields: Any) -> list[object]:
    return [{"object": "response", "status": "completed", "output": list(items), "error": None} | fields]


@each_row("shape", ["streamed", "done only", "last event only", "not streamed", "unnumbered", "one place"])
def test_an_answer_is_the_same_in_any_pieces(shape: str) -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "git", "arguments": '{"a":1}'}
    other = call | {"id": "fc_2", "call_id": "c2", "arguments": '{"b":2}'}
    items = [reasoning("Why.", id="rs_1"), message("Hello", phase="commentary") | {"id": "msg_1"}, call, other]
    done = answer(*items, streamed=shape in ("streamed", "unnumbered", "one place"))
    recorded = Recorded("POST", "/responses", {}, b"{}")
    lines = b"".join(part for part in done.render(recorded) if isinstance(part, bytes)).decode().splitlines()
    events: list[Any] = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    if shape == "last event only":
        events = events[-1:]
    if shape == "not streamed":
        events = _all_at_once(*items)
    for one in events:
        if shape == "unnumbered":
            one.pop("output_index", None)
        if shape == "one place" and "output_index" in one:
            one["output_index"] = 0
    decoder = ResponsesDecoder("o")
    joined = join_answer(decoder, events)
    assert (joined.text, joined.reasoning, joined.finish) == ("Hello", "Why.", "tool_calls")
    assert joined.calls == [("c1", "git", '{"a":1}'), ("c2", "git", '{"b":2}')]
    assert [json.loads(item.data)["type"] for item in joined.items] == ["reasoning", "message_start"]
    assert (decoder.is_finished, decoder.is_whole) == (True, True)


def test_calls_only_in_the_last_event_are_found() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "git", "arguments": "{}"}
    text_item = message("Hello")
    events: list[object] = [
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hello"},
        {"type": "response.completed", "response": {"status": "completed", "output": [text_item, call]}},
    ]
    joined = join_answer(ResponsesDecoder(), events)
    assert (joined.text, joined.calls, joined.finish) == ("Hello", [("c1", "git", "{}")], "tool_calls")
    again = {"type": "response.output_item.done", "output_index": 1, "item": call}
    assert join_answer(ResponsesDecoder(), [*events[:1], again, events[1]]).calls == joined.calls


def test_an_answer_that_is_not_streamed_is_read_over_http() -> None:
    call = function_call("git", {"a": 1})
    (whole,) = _all_at_once(reasoning("Why."), message("Hello"), call)
    (joined, _), _ = ask_server(json_reply(whole))
    assert (joined[0].text, joined[0].reasoning, joined[0].finish) == ("Hello", "Why.", "tool_calls")
    assert [name for _, name, _ in joined[0].calls] == ["git"]
    (joined, _), _ = ask_server(json_reply({
        "id": "r", "object": "response", "status": "incomplete", "output": [message("H")],
        "incomplete_details": {"reason": "max_output_tokens"},
    }))  # fmt: skip
    assert (joined[0].text, joined[0].finish) == ("H", "length")


def test_pieces_that_only_arrive_complete_and_refusals_are_read() -> None:
    decoder = ResponsesDecoder()
    added = {"type": "function_call", "call_id": "c", "name": "git", "arguments": ""}
    events: list[object] = [
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "content": []}},
        {"type": "response.refusal.delta", "output_index": 0, "delta": "I cannot"},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": []}},
        {"type": "response.output_item.added", "output_index": 1, "item": added},
        {"type": "response.function_call_arguments.done", "output_index": 1, "arguments": '{"a":1}'},
        {"type": "response.output_item.done", "output_index": 1, "item": added | {"arguments": '{"a":1}'}},
    ]
    joined = join_answer(decoder, events)
    assert (joined.text, joined.calls) == ("I cannot", [("c", "git", '{"a":1}')])
    assert decoder.is_whole  # the server closed the stream without a last event, and every item had ended
    cut = ResponsesDecoder()
    join_answer(cut, events[:-1])
    assert not cut.is_whole
    refused = join_answer(
        ResponsesDecoder(), _all_at_once({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]})
    )
    assert (refused.text, refused.finish) == ("No.", "stop")


@each_row(("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("", "length")])
def test_an_incomplete_answer_has_its_reason(reason: str, finish: str) -> None:
    (joined, _), _ = ask_server(says("Once", status="incomplete", incomplete_details={"reason": reason}))
    assert (joined[0].text, joined[0].finish) == ("Once", finish)


def _in_stream(kind: str, **fields: Any) -> Reply:
    return Reply(lambda _: [event("response.created", response={}), event(kind, **fields)])


FAILED = [
    (_in_stream("error", code="rate_limit_exceeded", message="Try again in 2s."), RateLimited, True),
    (_in_stream("error", error={"type": "server_error", "code": None, "message": "sorry"}), ServerFailed, True),
    (_in_stream("error", error="the upstream is gone"), ServerFailed, True),
    (_in_stream("error", code="context_length_exceeded", message="Your input exceeds the context window."),
     ContextOverflow, True),
    (_in_stream("response.failed", response={"status": "failed", "error": {"code": "server_error", "message": "m"}}),
     ServerFailed, True),
    (_in_stream("response.failed", response={"status": "failed", "error": {"code": "invalid_prompt", "message": "no"},
                                             "instructions": "prompt is too long"}), ProviderRefused, None),
    (_in_stream("response.failed", response={"status": "failed", "error": {"code": "bio_policy", "message": "no"}}),
     ServerFailed, False),
    (_in_stream("response.failed", response={"status": "failed", "error": None}), ServerFailed, True),
    (_in_stream("response.failed", response={"status": "failed",
                                             "error": {"code": "insufficient_quota", "message": "billing"}}),
     ProviderRefused, None),
    (Reply(lambda _: [event("response.created", response={})]), StreamBroken, None),
]  # fmt: skip


@each_row("number", range(len(FAILED)))
def test_an_error_inside_an_answer_says_who_must_act(number: int) -> None:
    reply, kind, retryable = FAILED[number]
    with pytest.raises(kind) as caught:
        ask_server(reply)
    if retryable is not None and kind is not ContextOverflow:
        assert caught.value.retryable is retryable  # type: ignore[attr-defined]


REFUSED_FIELDS = [
    ("include", "Encrypted content is not supported with this model.", "include"),
    ("include", "Unknown parameter: 'include'.", "include"),
    ("store", "Unsupported parameter: store", None),
    ("store", "json: unknown field \"store\"", None),
    ("prompt_cache_key", "Validation: Unsupported parameter(s): `prompt_cache_key`", None),
    ("reasoning.summary", "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
     "reasoning.summary"),
    ("reasoning.summary", "Your organization must be verified to generate reasoning summaries.", "reasoning.summary"),
    ("reasoning", "Unsupported parameter: 'reasoning' is not supported with this model.", "reasoning"),
    ("strict", "property 'strict' is unsupported", None),
    ("instructions", "Unsupported parameter: instructions", "instructions"),
    ("max_output_tokens", "Unsupported parameter: max_output_tokens", None),
]  # fmt: skip


def _has(body: dict[str, Any], field: str) -> bool:
    if field == "reasoning.summary":
        return "summary" in body.get("reasoning", {})
    return "strict" in body["tools"][0] if field == "strict" else field in body


@each_row("number", range(len(REFUSED_FIELDS)))
def test_a_field_that_a_server_refuses_is_sent_once(number: int) -> None:
    field, words, param = REFUSED_FIELDS[number]
    effort = "auto" if field == "reasoning" else "low"
    request = ChatRequest(
        system="S", messages=(HI,), tools=(TOOL,), cache_key="k", max_output_tokens=100, effort=effort
    )
    (joined, notices), sent = ask_server(refusal(words, param), says("a"), says("b"), requests=(request, request))
    assert [each.text for each in joined] == ["a", "b"]
    assert [_has(each.body, field) for each in sent] == [True, False, False]
    others = {name for name in (*sent[0].body, "strict", "reasoning.summary") if not name.startswith(field)}
    lost = {"reasoning.summary"} if field == "reasoning" else set[str]()
    assert {name for name in others - lost if not _has(sent[1].body, name)} == set()
    assert notices == []
    assert "S" in (sent[2].body.get("instructions") or sent[2].body["input"][0]["content"])


def test_a_server_that_refuses_one_field_after_another_is_retried_for_each() -> None:
    refusals = [
        refusal(f"Unknown parameter: '{name}'.") for name in ("store", "include", "prompt_cache_key", "reasoning")
    ]
    request = ChatRequest(system="S", messages=(HI,), cache_key="k", effort="high")
    (joined, notices), sent = ask_server(*refusals, says("a"), requests=(request,))
    assert joined[0].text == "a"
    assert set(sent[-1].body) == {"model", "stream", "instructions", "input"}
    assert len(notices) == 1 and "'high'" in notices[0]


def test_a_server_that_refuses_the_same_for_ever_is_asked_only_a_few_times() -> None:
    for words in ("Unknown parameter: 'store'.", "Unsupported value: 'high' of reasoning.effort", "no"):
        with ChatServer([refusal(words)], repeat=True, responses=True) as server, pytest.raises(ServerFailed):
            ResponsesClient(server).ask(ChatRequest(system="", messages=(HI,), effort="high"))
        assert len(server.requests) <= 8


ITEM_REFUSALS = [
    (404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
    (400, "The encrypted content gAAA...Rg== could not be verified."),
    (
        400,
        "The encrypted content for item rs_0a could not be verified. Reason: Encrypted content could not be decrypted.",
    ),
    (400, "Could not decrypt the provided encrypted_content."),
    (400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
    (400, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."),
    (422, "input[1]: unknown variant `reasoning`, expected one of `message`, `function_call`"),
]


@each_row("number", [*range(len(ITEM_REFUSALS)), -1])
def test_refused_reasoning_items_are_dropped_and_later_ones_sent_back(number: int) -> None:
    status, words = ITEM_REFUSALS[number]
    refused = refusal(words, status=status)
    if number == -1:
        refused = _in_stream("error", error={"code": "invalid_encrypted_content", "message": words})
    with ChatServer([reasons([("git", {})])], responses=True) as server:
        client = ResponsesClient(server)

        async def run_turns() -> None:
            provider = make_provider(client._config, {})  # type: ignore[attr-defined]
            origin = f"responses 127.0.0.1:{server.port} test-model"
            history: list[Message] = [HI]
            for replies in ((), (refused, reasons([("git", {})])), (says("end"),)):
                server.add(*replies)
                request = ChatRequest(system="", messages=tuple(history), tools=(TOOL,), effort="high")
                chunks = [chunk async for chunk in provider.stream(request)]
                message = answered(put_together(chunks), origin)
                history += [message, *(ToolMessage(tool_call_id=call.id, content="ok") for call in message.tool_calls)]
            await provider.close()

        asyncio.run(run_turns())
    counts = [sum(row.get("type") == "reasoning" for row in sent.body["input"]) for sent in server.requests]
    assert counts == [0, 1, 0, 1]
    assert all(sent.body["reasoning"]["effort"] == "high" for sent in server.requests)
    calls = [sum(row.get("type") == "function_call" for row in sent.body["input"]) for sent in server.requests]
    assert calls == [0, 1, 1, 2]


NO_PAGE = [
    error(404, "404 page not found"),
    error(404, {"detail": "Not Found"}),
    error(404, {"error": {"message": "Invalid URL (POST /v1/responses)", "type": "invalid_request_error"}}),
    error(405, "<html><body>Method not allowed on our model page</body></html>"),
    error(501, ""),
    json_reply({"error": "Unexpected endpoint or method. (POST /v1/responses)"}),
]


@pytest.mark.parametrize("number", range(len(NO_PAGE)))
def test_a_server_without_responses_is_used_over_chat_and_that_is_remembered(number: int, tmp_path: Path) -> None:
    with ChatServer([NO_PAGE[number], text("a"), text("b"), text("c")], responses=True) as server:
        client = ResponsesClient(server, LessonBook(tmp_path))
        assert [joined.text for joined in client.ask(REQUEST, REQUEST)] == ["a", "b"]
        assert len(client.notices) == 1 and "Chat Completions" in client.notices[0]  # the user configured the other
        again = ResponsesClient(server, LessonBook(tmp_path), model="other-model")
        assert again.ask(REQUEST)[0].text == "c"
    paths = [sent.path.rpartition("/v1")[2] for sent in server.requests]
    assert paths == ["/responses", *["/chat/completions"] * 3]


ASKS_FOR_RESPONSES = [
    (
        400,
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    ),
    (404, "This model is only supported in v1/responses and not in v1/chat/completions."),
    (400, "Please use the Responses API for this model."),
    (400, 'model "m" is not accessible via the /chat/completions endpoint'),
]


@pytest.mark.parametrize("number", range(len(ASKS_FOR_RESPONSES)))
def test_a_server_that_requires_responses_is_used_so_for_that_model(number: int, tmp_path: Path) -> None:
    status, words = ASKS_FOR_RESPONSES[number]
    replies = [refusal(words, status=status), says("a"), says("b"), text("c")]
    with ChatServer(replies, responses=True) as server:
        assert ResponsesClient(server, LessonBook(tmp_path), api="auto").ask(REQUEST)[0].text == "a"
        assert ResponsesClient(server, LessonBook(tmp_path), api="auto").ask(REQUEST)[0].text == "b"
        assert ResponsesClient(server, LessonBook(tmp_path), api="auto", model="other").ask(REQUEST)[0].text == "c"
    paths = [sent.path.removeprefix("/v1") for sent in server.requests]
    assert paths == ["/chat/completions", "/responses", "/responses", "/chat/completions"]
    with ChatServer([refusal(words, status=status), error(400)], responses=True) as server, pytest.raises(ClioError):
        ResponsesClient(server, api="chat").ask(REQUEST)  # configured by the user
    assert {sent.path for sent in server.requests} == {"/v1/chat/completions"}


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "The model `test-model` does not exist", "code": "model_not_found"}},
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}},
    ],
)
def test_a_missing_model_is_no_missing_endpoint(body: Any, tmp_path: Path) -> None:
    with ChatServer([error(404, body)], responses=True) as server, pytest.raises(ProviderRefused):
        ResponsesClient(server, LessonBook(tmp_path)).ask(REQUEST)
    assert len(server.requests) == 1
    assert not (tmp_path / LESSONS_FILE_NAME).exists()


def test_if_chat_fails_too_nothing_is_remembered(tmp_path: Path) -> None:
    with ChatServer([error(404, ""), error(404, "")], responses=True) as server, pytest.raises(ProviderRefused):
        ResponsesClient(server, LessonBook(tmp_path)).ask(REQUEST)
    assert len(server.requests) == 2
    assert not (tmp_path / LESSONS_FILE_NAME).exists()


def _learn(folder: Path, *, days: float, home: bool = True) -> tuple[int, list[str]]:
    """Return requests and notices of a run this many days after a first one was refused an effort."""
    words = "Unsupported value: 'max' is not supported with this model. Supported values are: 'low' and 'high'."
    request = ChatRequest(system="", messages=(HI,), effort="max")
    notices: list[str] = []

    def decide(body: dict[str, Any]) -> Reply:
        return refusal(words, "reasoning.effort") if body["reasoning"]["effort"] == "max" else says("a")

    with ChatServer(decide, responses=True) as server:
        first = ResponsesClient(server, LessonBook(folder if home else None, notices.append, lambda: 1e9))
        first.ask(request, request)
        assert [mentions(text, "test-model", "'max'", "'high'") for text in first.notices] == [True]
        assert len(server.requests) == 3
        second = ResponsesClient(
            server, LessonBook(folder if home else None, notices.append, lambda: 1e9 + days * 86_400)
        )
        second.ask(request)
    return len(server.requests) - 3, [*second.notices, *notices]


def test_lessons_are_kept_for_later_runs_for_thirty_days(tmp_path: Path) -> None:
    assert _learn(tmp_path, days=LIFE_DAYS - 1) == (1, [])


def test_lessons_expire(tmp_path: Path) -> None:
    count, notices = _learn(tmp_path, days=LIFE_DAYS + 1)
    assert (count, len(notices)) == (2, 1)


def test_without_a_home_folder_nothing_is_written(tmp_path: Path) -> None:
    count, notices = _learn(tmp_path, days=0, home=False)
    assert (count, len(notices)) == (2, 1)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_moved_aside_and_reported(tmp_path: Path) -> None:
    (tmp_path / LESSONS_FILE_NAME).write_text('{"schema": "clio.servers", "version": 1, "models": 7}', encoding="utf-8")
    told_of: list[str] = []
    LessonBook(tmp_path, told_of.append).lessons_for("h:1", "m")
    assert len(told_of) == 1 and f"renamed to '{LESSONS_FILE_NAME}.corrupt-" in told_of[0]
    models = {"h m": {"learned": 1e9, "lessons": {"efforts": 7}}}
    document = {"schema": "clio.servers", "version": 1, "models": models}
    document["servers"] = {"h": {"learned": 1e9, "protocol": "smoke"}}
    (tmp_path / LESSONS_FILE_NAME).write_text(json.dumps(document), encoding="utf-8")
    known = LessonBook(tmp_path, told_of.append, lambda: 1e9).lessons_for("h", "m")
    assert (known.protocol, known.lessons, len(told_of)) == (None, {"efforts": 7}, 1)


def test_the_file_has_a_size_limit_and_two_clios_share_it(tmp_path: Path) -> None:
    one, two = LessonBook(tmp_path), LessonBook(tmp_path)
    for number in range(MAX_ENTRIES + 20):
        known = (one if number % 2 else two).lessons_for("h:1", f"m{number}")
        known.lessons["n"] = number
        known.store()
    stored = json.loads((tmp_path / LESSONS_FILE_NAME).read_text(encoding="utf-8"))["models"]
    assert len(stored) == MAX_ENTRIES
    assert f"h:1 m{MAX_ENTRIES + 19}" in stored and "h:1 m0" not in stored
    assert LessonBook(tmp_path).lessons_for("h:1", f"m{MAX_ENTRIES + 18}").lessons == {"n": MAX_ENTRIES + 18}


def test_the_url_is_saved_without_its_password(tmp_path: Path) -> None:
    with ChatServer([refusal("Unknown parameter: 'store'."), says("a")], responses=True) as server:
        url = server.url.replace("http://", "http://user:hunter2@")
        ResponsesClient(server, LessonBook(tmp_path), base_url=url).ask(REQUEST)
    assert "hunter2" not in (tmp_path / LESSONS_FILE_NAME).read_text(encoding="utf-8")
