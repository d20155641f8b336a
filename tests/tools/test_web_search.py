"""web_search with servers that answer like the services, and the search of the model's own server."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from clio.config.schema import Config
from clio.errors import ToolFailed, ToolRetry
from clio.providers.base import ChatRequest, ToolSpec
from clio.providers.messages import MessagesDecoder, MessagesProtocol
from clio.providers.responses import ResponsesDecoder, ResponsesProtocol
from clio.security.actions import FetchUrl
from clio.security.approval import Answer
from clio.tools.schemas import WebSearchArgs
from clio.tools.web_search import KEY_VARIABLES, SearchService, WebSearchTool, open_search_settings
from tests.providers.recorded import events_of, recordings
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.harness import Harness

PAGE = {"title": "Heartbeats", "url": "https://a.example/1"}
ANSWERS: dict[str, Any] = {
    "brave": {
        "web": {
            "results": [
                {
                    "title": "Heartbeats",
                    "url": "https://a.example/1",
                    "description": "a <strong>heart</strong>beat &amp; co",
                },
                {"title": "", "url": "https://b.example/2", "age": "2 days ago"},
                {"title": "bad", "url": "javascript:alert(1)"},
            ]
        }
    },
    "tavily": {"results": [{"title": "Heartbeats", "url": "https://a.example/1", "content": "a heartbeat & co"}]},
    "exa": {
        "results": [
            {
                "title": "Heartbeats",
                "url": "https://a.example/1",
                "text": "a heartbeat & co",
                "publishedDate": "2026-01-02",
            }
        ]
    },
    "searxng": {"results": [{"title": "Heartbeats", "url": "https://a.example/1", "content": "a heartbeat & co"}]},
}


class Service:
    """A search service on loopback. `status` and `body` are its next answer."""

    def __init__(self) -> None:
        self.status, self.body, self.headers = 200, b"{}", dict[str, str]()
        self.asked: list[tuple[str, str, dict[str, str], str]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                service.asked.append((self.command, self.path, headers, self.rfile.read(length).decode()))
                self.send_response(service.status)
                for name, value in service.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(service.body)))
                self.end_headers()
                self.wfile.write(service.body)

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def answer(self, body: Any, status: int = 200) -> None:
        self.status, self.body = status, body if isinstance(body, bytes) else json.dumps(body).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


def search(service: Service, name: SearchService, query: str, count: int = 5, *, key: str = "the-key") -> Any:
    env = dict.fromkeys(KEY_VARIABLES.values(), key)
    settings = open_search_settings(name, service.url, env)
    call = WebSearchTool(settings, lambda text: text.replace("hunter2", "[secret]")).prepare(
        WebSearchArgs(query=query, count=count)
    )
    return call, asyncio.run(call.run(lambda line: None))


@pytest.mark.parametrize("name", ["brave", "tavily", "exa", "searxng"])
def test_each_service_gets_its_request_format_and_results_are_quotations(service: Service, name: SearchService) -> None:
    service.answer(ANSWERS[name])
    call, result = search(service, name, "what is a\nheartbeat")
    assert call.action == FetchUrl(
        url=open_search_settings(name, service.url, {}).address, query="what is a heartbeat", is_configured=True
    )
    assert "quoted from the web" in result.text
    assert "1. Heartbeats" in result.text and "https://a.example/1" in result.text and "a heartbeat & co" in result.text
    assert "javascript:" not in result.text and "<strong>" not in result.text
    [(method, path, headers, body)] = service.asked
    sent = {"brave": "x-subscription-token", "exa": "x-api-key", "tavily": "authorization"}
    if name in sent:
        assert headers[sent[name]].endswith("the-key")
    asked = path if method == "GET" else json.loads(body)["query"]
    assert "heartbeat" in asked
    if name == "searxng":
        assert path.startswith("/search?") and "format=json" in path and "the-key" not in str(service.asked)


def test_secrets_in_a_query_are_redacted_before_it_is_sent(service: Service) -> None:
    service.answer(ANSWERS["tavily"])
    call, _ = search(service, "tavily", "error hunter2 refused")
    assert "hunter2" not in str(service.asked) and "hunter2" not in call.title
    assert "[secret]" in str(service.asked)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (401, b"", "rejected the key in TAVILY_API_KEY"),
        (429, b"", "allows no more searches"),
        (500, b"", "500"),
        (302, b"", "302"),
        (200, b"<html>", "not JSON"),
    ],
)
def test_a_refusal_is_explained(service: Service, status: int, body: bytes, reason: str) -> None:
    service.answer(body, status)
    service.headers = {"Location": "http://127.0.0.1:9/elsewhere"} if status == 302 else {}
    with pytest.raises(ToolFailed, match=reason):
        search(service, "tavily", "heartbeat")


def test_unusual_answers_give_no_results(service: Service) -> None:
    for body in [{}, [], {"results": "x"}, {"results": [None, 3, {"url": 4}]}]:
        service.answer(body)
        assert "found nothing" in search(service, "exa", "heartbeat")[1].text


def test_without_a_key_the_variable_to_set_is_named(service: Service) -> None:
    with pytest.raises(ToolFailed, match="TAVILY_API_KEY is not set"):
        search(service, "tavily", "heartbeat", key="")
    assert service.asked == []


@pytest.mark.parametrize("query", ["", "   ", "x" * 401])
def test_invalid_queries_are_refused(service: Service, query: str) -> None:
    with pytest.raises(ToolRetry):
        search(service, "searxng", query)


def test_a_turn_searches_after_approval_of_the_host(tmp_path: Path, service: Service) -> None:
    service.answer(ANSWERS["searxng"])
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    with ChatServer([tool_calls([("web_search", {"query": "heartbeat"})]), text("Found.")]) as server:
        harness = Harness(project, home, server, web_search="searxng", web_search_url=service.url)
        harness.user.approvals = [Answer(kind="once")]

        async def main() -> None:
            try:
                await harness.turn("what is a heartbeat?")
            finally:
                await harness.app.close()

        asyncio.run(main())
        assert "web_search" in str(server.requests[0].body["tools"])
        assert "https://a.example/1" in str(server.requests[1].body["messages"])


def test_without_a_service_the_tool_is_not_offered(tmp_path: Path) -> None:
    assert Config().web_search == "off"
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    with ChatServer([text("Hi.")]) as server:
        harness = Harness(project, home, server)

        async def main() -> None:
            try:
                await harness.turn("hello")
            finally:
                await harness.app.close()

        asyncio.run(main())
        assert "web_search" not in str(server.requests[0].body["tools"])


# The search of the model's own server


def request() -> ChatRequest:
    spec = ToolSpec(name="read_file", description="Read.", parameters=Raw(b'{"type":"object"}'))
    return ChatRequest(system="s", messages=(), tools=(spec,))


def test_the_servers_own_search_is_requested_and_omitted_if_refused() -> None:
    messages = MessagesProtocol("claude-sonnet-4-5", web_search=True)
    responses = ResponsesProtocol("gpt-5", web_search=True)
    kinds = []
    for protocol in (messages, responses):
        tools = json.loads(protocol.encode(request()))["tools"]
        kinds.append(tools[-1]["type"])
        notice = protocol.adapt('{"error": {"message": "Tool web_search is not supported with this model"}}')
        assert notice is not None and "web search" in notice
        assert "web_search" not in protocol.encode(request()).decode()
    assert kinds == ["web_search_20250305", "web_search"]
    assert "web_search" not in MessagesProtocol("claude-sonnet-4-5").encode(request()).decode()


def test_pages_cited_in_an_answer_are_listed_at_its_end() -> None:
    found = 0
    for recorded in recordings("messages"):
        if "web_search_tool_result" not in recorded.stream:
            continue
        decoder = MessagesDecoder()
        for event in events_of(recorded.stream):
            decoder.take(event)
        ending = decoder.ending()
        if "citations_delta" in recorded.stream and ending.finish_reason != "pause_turn":
            found += 1
            assert ending.text.startswith("\n\nSources:\n- [") and "](https://" in ending.text
    assert found


def test_the_citations_of_a_response_are_listed() -> None:
    decoder = ResponsesDecoder()
    note = {"type": "url_citation", "url": "https://a.example/1", "title": "A [page]"}
    part = {"type": "output_text", "text": "Yes.", "annotations": [note]}
    item = {"type": "message", "role": "assistant", "content": [part]}
    decoder.take({"type": "response.output_text.delta", "output_index": 0, "delta": "Yes."})
    decoder.take({"type": "response.output_text.annotation.added", "output_index": 0, "annotation": note})
    decoder.take({"type": "response.output_item.done", "output_index": 0, "item": item})
    decoder.take({"type": "response.completed", "response": {"status": "completed", "output": [item]}})
    assert decoder.ending().text == "\n\nSources:\n- [A (page)](https://a.example/1)"
