"""A small MCP server over standard input and output or HTTP on 127.0.0.1, written by hand with many faults of servers.

    python -m tests.support.mcp_peer [--noisy] [--mute] [--fail-once FILE] [--only-old] [--picture BASE64] [--changing]

With `--changing` it offers `change`, which adds a tool and a prompt, `flood`, which reports progress a thousand
times, and `file`, which answers with a PDF.

It uses nothing of the SDK, so it starts in 30 ms and can do what the SDK prevents. Messages it receives are appended
to the file that MCP_PEER_HEARD names, one JSON message per line.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Json = dict[str, Any]
NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}
NOTHING: Json = {"type": "object", "properties": {}}
TOOLS: list[Json] = [
    {"name": "add", "description": "Adds two numbers.", "inputSchema": NUMBERS, "annotations": {"readOnlyHint": True}},
    {"name": "fail", "description": "Always fails.", "inputSchema": NOTHING},
    {"name": "die", "description": "Ends the server.", "inputSchema": NOTHING},
    {"name": "hang", "description": "Never answers.", "inputSchema": NOTHING},
    {"name": "slow", "description": "Tells how far it is, then answers.", "inputSchema": NOTHING},
    {"name": "blocks", "description": "Answers in every kind of block.", "inputSchema": NOTHING},
    {"name": "ask", "description": "Asks the user.", "inputSchema": NOTHING},
    {"name": "sample", "description": "Asks for a model.", "inputSchema": NOTHING},
    {"name": "env", "description": "Its environment.", "inputSchema": NOTHING},
    {"name": "secret", "description": "A secret.", "inputSchema": NOTHING},
]
MORE_TOOLS: list[Json] = [
    {"name": "change", "description": "Changes what is offered.", "inputSchema": NOTHING},
    {"name": "flood", "description": "Tells its progress a thousand times.", "inputSchema": NOTHING},
    {"name": "file", "description": "Answers with a file.", "inputSchema": NOTHING},
]
BLOCKS: list[Json] = [
    {"type": "text", "text": "a text\x1b[31m"},
    {"type": "image", "data": "QUJD", "mimeType": "image/png"},
    {"type": "resource_link", "uri": "demo://b", "name": "b", "description": "the second"},
    {"type": "resource", "resource": {"uri": "demo://a", "mimeType": "text/plain", "text": "inside"}},
]
FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 30}, "many": {"type": "array"}},
    "required": ["name"],
}
SECRET = "sk-proj-x7Kq2mVbT9wLr4NcZ8pHs3JdFg6Y"


DISCOVERED: Json = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "peer", "version": "1.0"},
}


class Peer:
    """Answers messages. send: sends one to the client."""

    def __init__(self, send: Callable[[Json], None], *, only_old: bool = False) -> None:
        self._send = send
        self._only_old = only_old
        self._waiting: dict[str, Any] = {}
        self._initialized = False
        self._more_prompts: list[Json] = []

    def hear(self, message: Json) -> None:
        """Answer one message, if it needs an answer."""
        if log_file := os.environ.get("MCP_PEER_HEARD"):
            with Path(log_file).open("a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")
        method, number = message.get("method"), message.get("id")
        if method is None and str(number) in self._waiting:  # the client's answer to a request
            call = self._waiting.pop(str(number))
            self._text(call, json.dumps(message.get("result") or message.get("error")))
        elif number is not None:
            self._request(str(method), message.get("params") or {}, number)

    def _request(self, method: str, params: Json, number: Any) -> None:
        if self._only_old and not self._initialized and method != "initialize":
            os._exit(3)  # as servers that do not expect a request before initialization
        match method:
            case "initialize":
                self._initialized = True
                self._result(
                    number,
                    protocolVersion=params["protocolVersion"],
                    serverInfo={"name": "peer", "version": "1.0"},
                    capabilities={"tools": {}, "resources": {}, "prompts": {}},
                )
            case "tools/list":  # in two pages
                half = len(TOOLS) // 2
                more = {"nextCursor": "2"} if not params.get("cursor") else {}
                self._result(number, tools=TOOLS[:half] if more else TOOLS[half:], **more)
            case "resources/list":
                listed = [{"uri": "demo://a", "name": "a", "mimeType": "text/plain"}, {"uri": "demo://b", "name": "b"}]
                self._result(number, resources=listed)
            case "resources/read":
                if params["uri"] == "demo://picture":
                    self._result(number, contents=[{"uri": params["uri"], "blob": BLOCKS[1]["data"]}])
                    return
                text = "\n".join(f"line {place} of {params['uri']}" for place in range(1, 4))
                self._result(number, contents=[{"uri": params["uri"], "mimeType": "text/plain", "text": text}])
            case "prompts/list":
                arguments = [{"name": "path", "required": True}, {"name": "tone"}]
                review = {"name": "review", "description": "Review it.", "arguments": arguments}
                self._result(number, prompts=[review, *self._more_prompts])
            case "prompts/get":
                prompt_text = (
                    f"Review {params['arguments']['path']} in a {params['arguments'].get('tone', 'kind')} way."
                )
                self._result(number, messages=[{"role": "user", "content": {"type": "text", "text": prompt_text}}])
            case "tools/call":
                self._call(params, number)
            case _:
                self._send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "unknown method"}})

    def _call(self, params: Json, number: Any) -> None:
        given: Json = params.get("arguments") or {}
        match params["name"]:
            case "add":
                self._text(number, str(given["a"] + given.get("b", 0)))
            case "fail":
                self._result(number, content=[{"type": "text", "text": "the disk is full"}], isError=True)
            case "die":
                print("out of memory", file=sys.stderr, flush=True)
                os._exit(7)
            case "hang":
                return
            case "slow":
                token = params["_meta"]["progressToken"]
                for done in (1, 2):
                    news = {"progressToken": token, "progress": done, "total": 2, "message": f"part {done}"}
                    self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": news})
                self._text(number, "done")
            case "blocks":
                self._result(number, content=BLOCKS)
            case "change":
                TOOLS.append({"name": "new", "description": "Was not there before.", "inputSchema": NOTHING})
                self._more_prompts.append({"name": "later", "description": "Was not there before."})
                for what in ("tools", "prompts"):
                    self._send({"jsonrpc": "2.0", "method": f"notifications/{what}/list_changed"})
                self._text(number, "changed")
            case "flood":
                token = params["_meta"]["progressToken"]
                for done in range(1_000):
                    news = {"progressToken": token, "progress": done, "total": 1_000}
                    self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": news})
                self._text(number, "done")
            case "file":
                blob = {"uri": "demo://f", "mimeType": "application/pdf", "blob": "JVBERi0xLjQK"}
                self._result(number, content=[{"type": "resource", "resource": blob}])
            case "ask":
                self._ask(number, "elicitation/create", {"message": "Who?", "requestedSchema": FORM})
            case "sample":
                text = {"type": "text", "text": "hi"}
                asked = {"messages": [{"role": "user", "content": text}], "maxTokens": 9}
                self._ask(number, "sampling/createMessage", asked)
            case "env":
                self._text(number, json.dumps(dict(os.environ)))
            case "secret":
                print(f"handing out password = {SECRET}", file=sys.stderr, flush=True)
                self._text(number, f"password = {SECRET}")
            case name:
                self._send({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": f"no tool {name}"}})

    def _ask(self, call: Any, method: str, params: Json) -> None:
        self._waiting[f"q{call}"] = call
        self._send({"jsonrpc": "2.0", "id": f"q{call}", "method": method, "params": params})

    def _text(self, number: Any, text: str) -> None:
        self._result(number, content=[{"type": "text", "text": text}])

    def _result(self, number: Any, **result: Any) -> None:
        self._send({"jsonrpc": "2.0", "id": number, "result": result})


class HttpPeer:
    """The same over streamable HTTP, without a session: each request is answered with JSON. `needs`: a required header.

    is_modern: it speaks revision 2026-07-28, and leaves out the `resultType` of its results.
    """

    def __init__(self, needs: str = "", *, is_modern: bool = False) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if needs and self.headers.get("Authorization") != needs:
                    self._answer(401, b"")
                    return
                replies: list[Json] = []
                if is_modern and message["method"] == "server/discover":
                    replies.append({"jsonrpc": "2.0", "id": message["id"], "result": DISCOVERED})
                else:
                    Peer(replies.append).hear(message)
                if is_modern and message["method"].endswith("/list"):
                    replies[-1]["result"] |= {"ttlMs": 0, "cacheScope": "private"}
                self._answer(200 if replies else 202, json.dumps(replies[-1]).encode() if replies else b"")

            def do_GET(self) -> None:
                self._answer(405, b"")

            do_DELETE = do_GET

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/mcp"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def main(flags: list[str]) -> None:
    """Serve standard input until it ends."""
    if "--fail-once" in flags:
        mark = Path(flags[flags.index("--fail-once") + 1])
        if not mark.exists():
            mark.touch()
            sys.exit("not today")
    if "--noisy" in flags:
        print("Welcome to the peer!\nlistening …", flush=True)
    while "--mute" in flags:
        time.sleep(60)  # it keeps running and writes nothing

    if "--picture" in flags:
        BLOCKS[1]["data"] = flags[flags.index("--picture") + 1]

    if "--changing" in flags:
        TOOLS.extend(MORE_TOOLS)

    def send(message: Json) -> None:
        print(json.dumps(message), flush=True)

    peer = Peer(send, only_old="--only-old" in flags)
    for line in sys.stdin:
        peer.hear(json.loads(line))


if __name__ == "__main__":
    main(sys.argv[1:])
