"""Finds a model server on this machine, at the ports they usually take."""

import asyncio
import re
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from clio.providers.json_text import as_text
from clio.providers.limits import names_in, rows_of
from clio.text.json_data import decode_json

TIME_LIMIT_S = 0.1
"""For all probes together."""
USUAL_PORTS: Mapping[int, str] = {11434: "ollama", 1234: "lmstudio", 8080: "llamacpp", 8000: "vllm"}
_LARGEST_ANSWER = 4_000_000
_NOT_CHAT = ("embed", "bge-", "rerank", "whisper", "tts", "clip")


class Found(Struct, frozen=True, kw_only=True):
    """A server that answered, and the names of its models, loaded ones first."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def discover(ports: Mapping[int, str] = USUAL_PORTS, time_limit_s: float = TIME_LIMIT_S) -> Found | None:
    """The first server, in the order of `ports`, that lists at least one model within the time; else None."""
    urls = {f"http://127.0.0.1:{port}/v1": name for port, name in ports.items()}
    tasks = [asyncio.create_task(ask_models(url, time_limit_s)) for url in urls]
    answers = await asyncio.gather(*tasks)
    for (url, name), models in zip(urls.items(), answers, strict=True):
        if models:
            return Found(name=name, base_url=url, models=models)
    return None


async def ask_models(base_url: str, time_limit_s: float, key: str | None = None) -> tuple[str, ...]:
    """The chat models a plain-HTTP server lists, () where it does not answer like a model server in time."""
    try:
        async with asyncio.timeout(time_limit_s):
            body = await _get(base_url, key)
        answer: object = decode_json(body)
    except (OSError, TimeoutError, ValueError, EOFError, asyncio.LimitOverrunError):
        return ()  # nobody there, or somebody else: both mean "not a model server"
    loaded = [as_text(row.get("id")) for row in rows_of(answer) if row.get("state") == "loaded"]
    names = [name for name in dict.fromkeys([*loaded, *names_in(answer)]) if name]
    chat = [name for name in names if not any(word in name.lower() for word in _NOT_CHAT)]
    return tuple(chat or names)


async def _get(base_url: str, key: str | None) -> bytes:
    """The body of GET <base_url>/models. HTTP/1.0, so that the server closes the connection after it."""
    parts = urlsplit(base_url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        lines = [f"GET {parts.path}/models HTTP/1.0", f"Host: {parts.netloc}", "Accept: application/json"]
        if key:
            lines.append(f"Authorization: Bearer {key}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace"))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            return b""
        length = re.search(rb"\r\ncontent-length: *(\d+)", head)
        if length:
            return await reader.readexactly(min(int(length[1]), _LARGEST_ANSWER))
        if b"chunked" in head:  # not allowed in HTTP/1.0, and done all the same
            return await _read_chunks(reader)
        return await reader.read(-1)
    finally:
        writer.close()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while (size := int((await reader.readline()).split(b";")[0], 16)) and len(body) < _LARGEST_ANSWER:
        body += (await reader.readexactly(size + 2))[:-2]
    return body


def find_local_server(ports: Mapping[int, str] = USUAL_PORTS) -> Found | None:
    """`discover` for synchronous callers, also below a running event loop; takes `TIME_LIMIT_S` at most."""
    found: list[Found | None] = []
    _in_thread(lambda: found.append(asyncio.run(discover(ports))))
    return found[0] if found else None


def list_models(base_url: str, key: str | None, time_limit_s: float = 1.0) -> tuple[str, ...]:
    """`ask_models` for synchronous callers."""
    found: list[tuple[str, ...]] = []
    _in_thread(lambda: found.append(asyncio.run(ask_models(base_url, time_limit_s, key))))
    return found[0] if found else ()


def _in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work, name="find-model-server")
    thread.start()
    thread.join()
