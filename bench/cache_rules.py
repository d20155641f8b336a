"""How makers bill the prompt cache, as they publish it, for requests in their own formats.

Anthropic (platform.claude.com/docs/en/build-with-claude/prompt-caching): at most four `cache_control` points, prefixes
in the order tools, system, messages; a point reads what was written at it or at one of the blocks before it, 20 places
in all; at least 1,024 tokens; writes live five minutes or an hour and each read renews them.
OpenAI (developers.openai.com/api/docs/guides/prompt-caching): up to GPT-5.5 a prefix is read in steps of 128 tokens
from 1,024 on, and writing is free; from GPT-5.6 on a request writes up to one breakpoint, at the end of its newest
message of user or tool, and reads only at breakpoints; requests with one beginning and one `prompt_cache_key` share
a machine.

A token is four bytes of JSON here. Time is the caller's. Real caches may also lose entries early; these never do.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct

LEAST_TOKENS = 1_024
LOOK_BACK = 20
MOST_POINTS = 4
STEP = 128
LIVES = {"5m": 300.0, "1h": 3_600.0}
AUTOMATIC_LIFE_S, BREAKPOINT_LIFE_S = 600.0, 1_800.0
MOST_BREAKPOINTS_READ = 80
_TOKEN_BYTES = 4
_ROUTED_TOKENS = 256


class Refused(Exception):
    """The request breaks a rule; the text is the server's."""


class Billed(Struct, frozen=True, kw_only=True):
    """The input of one request, in tokens. written_1h is part of written; read and written are parts of prompt."""

    prompt: int
    read: int = 0
    written: int = 0
    written_1h: int = 0


class CacheRule(Protocol):
    """One maker's cache, of all the requests it is shown."""

    def bill(self, body: dict[str, Any], now: float) -> Billed:
        """Read from the cache and write to it as this request does. Raises Refused."""
        ...


class _Part(Struct, frozen=True, kw_only=True):
    """One piece of a request that is cached as a whole. key: of all of the request up to its end. end: in tokens."""

    key: bytes
    end: int
    point: str = ""  # the lifetime asked for; "" where there is no cache point
    is_message: bool = False


def _chain(pieces: Iterator[tuple[str, str, bool]]) -> list[_Part]:
    digest, end, parts = hashlib.sha256(), 0, list[_Part]()
    for text, point, is_message in pieces:
        data = text.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
        end += max(len(data) // _TOKEN_BYTES, 1)
        parts.append(_Part(key=digest.digest(), end=end, point=point, is_message=is_message))
    return parts


class AnthropicCache:
    """See `CacheRule`; for bodies of Anthropic Messages."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def bill(self, body: dict[str, Any], now: float) -> Billed:
        """See `CacheRule`."""
        parts = _chain(_blocks(body))
        points = [place for place, part in enumerate(parts) if part.point]
        if len(points) > MOST_POINTS:
            raise Refused(f"A maximum of {MOST_POINTS} blocks with cache_control may be provided. Found {len(points)}.")
        lives = [parts[place].point for place in points]
        if lives != sorted(lives):  # "1h" before "5m"
            raise Refused("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
        total = parts[-1].end
        found = max(
            (
                place
                for point in points
                for place in range(point, max(point - LOOK_BACK, -1), -1)
                if self._until.get(parts[place].key, 0.0) > now
            ),
            default=-1,
        )
        read = parts[found].end if found >= 0 else 0
        end, end_1h = read, read
        for place in points:
            part = parts[place]
            if part.end < LEAST_TOKENS:
                continue
            self._until[part.key] = now + LIVES[part.point]
            end = max(end, part.end)
            if part.point == "1h":
                end_1h = max(end_1h, part.end)
        if found >= 0:  # a read renews what it read
            self._until[parts[found].key] = max(self._until[parts[found].key], now + LIVES["5m"])
        return Billed(prompt=total, read=read, written=end - read, written_1h=end_1h - read)


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """The blocks in the order of the cache. Another model or another way to think has a cache of its own."""
    first = body["model"]
    for tool in body.get("tools", []):
        yield _bare(tool, first)
        first = ""
    for block in body.get("system", []):
        yield _bare(block, first)
        first = ""
    head = first + json.dumps([body.get("thinking"), body.get("output_config")])
    for message in body["messages"]:
        for block in message["content"]:
            yield _bare(block, head + message["role"])
            head = ""


def _bare(block: dict[str, Any], before: str) -> tuple[str, str, bool]:
    control = block.get("cache_control")
    if control and block.get("type") in ("thinking", "redacted_thinking"):
        raise Refused("cache_control cannot be set for thinking blocks")
    if control and block.get("type") == "text" and not block["text"].strip():
        raise Refused("cache_control cannot be set for empty text blocks")
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    return before + json.dumps(bare), control.get("ttl", "5m") if control else "", True


class AutomaticCache:
    """See `CacheRule`; OpenAI up to GPT-5.5, for bodies of Chat Completions and Responses."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def bill(self, body: dict[str, Any], now: float) -> Billed:
        """See `CacheRule`."""
        data = "".join(text for text, _ in _items(body)).encode()
        total = len(data) // _TOKEN_BYTES
        digest = hashlib.sha256(_machine(body, data))
        keys: list[tuple[int, bytes]] = []
        for end in range(STEP, total + 1, STEP):
            digest.update(data[(end - STEP) * _TOKEN_BYTES : end * _TOKEN_BYTES])
            if end >= LEAST_TOKENS:
                keys.append((end, digest.digest()))
        read = max((end for end, key in keys if self._until.get(key, 0.0) > now), default=0)
        self._until |= {key: now + AUTOMATIC_LIFE_S for _, key in keys}
        return Billed(prompt=total, read=read)


class BreakpointCache:
    """See `CacheRule`; OpenAI from GPT-5.6 on, for bodies of Chat Completions and Responses."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def bill(self, body: dict[str, Any], now: float) -> Billed:
        """See `CacheRule`."""
        items = list(_items(body))
        machine = _machine(body, "".join(text for text, _ in items).encode())
        parts = _chain((text, "", eligible) for text, eligible in [(machine.hex(), False), *items])
        own = parts[0].end
        eligible = [part for part in parts if part.is_message and part.end - own >= LEAST_TOKENS]
        recent = eligible[-MOST_BREAKPOINTS_READ:]
        read = max((part.end - own for part in recent if self._until.get(part.key, 0.0) > now), default=0)
        written = 0
        if eligible:
            written = eligible[-1].end - own - read
            self._until[eligible[-1].key] = now + BREAKPOINT_LIFE_S
        for part in recent:  # a read renews what it read
            if part.end - own == read and part.key in self._until:
                self._until[part.key] = now + BREAKPOINT_LIFE_S
        return Billed(prompt=parts[-1].end - own, read=read, written=written)


def _items(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The parts of a request in the order of the prompt, and whether each is a message of user or tool."""
    yield json.dumps([body["model"], body.get("tools"), body.get("reasoning"), body.get("reasoning_effort")]), False
    if "instructions" in body:
        yield json.dumps(body["instructions"]), False
    for item in body.get("input") or body.get("messages") or []:
        kind = item.get("type", "") or item.get("role", "")
        yield json.dumps(item), kind in ("user", "tool", "function_call_output")


def _machine(body: dict[str, Any], data: bytes) -> bytes:
    """Where the request is routed: by how it begins, and by its key."""
    key = str(body.get("prompt_cache_key", ""))
    return hashlib.sha256(data[: _ROUTED_TOKENS * _TOKEN_BYTES] + key.encode()).digest()
