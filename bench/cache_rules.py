"""Bill requests by the published rules of the providers' prompt caches.

Anthropic (platform.claude.com/docs/en/build-with-claude/prompt-caching): at most four `cache_control` points; prefixes
in the order tools, system, messages. A point reads an entry that was written at it or at one of the blocks before it,
20 blocks in total. At least 1,024 tokens. Entries live for five minutes or an hour, and each read renews them.
OpenAI (developers.openai.com/api/docs/guides/prompt-caching): up to GPT-5.5, prefixes from 1,024 tokens on are read in
steps of 128 tokens, and writing is free. From GPT-5.6 on, a request writes up to one breakpoint at the end of its
newest user or tool message, and reads only at breakpoints. Requests with the same beginning and `prompt_cache_key`
share a machine.

A token is four bytes of JSON here. The caller passes the time. Real caches may lose entries early; these never do.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct

MIN_TOKENS = 1_024
LOOK_BACK_BLOCKS = 20
MAX_CACHE_POINTS = 4
STEP_TOKENS = 128
LIFETIMES_S = {"5m": 300.0, "1h": 3_600.0}
AUTOMATIC_LIFE_S, BREAKPOINT_LIFE_S = 600.0, 1_800.0
MAX_BREAKPOINTS_READ = 80
_TOKEN_BYTES = 4
_ROUTED_TOKENS = 256


class Refused(Exception):
    """The request breaks a rule; the message is the server's."""


class Billed(Struct, frozen=True, kw_only=True):
    """The input tokens of one request. written_1h is part of written; read and written are parts of prompt."""

    prompt: int
    read: int = 0
    written: int = 0
    written_1h: int = 0


class CacheRule(Protocol):
    """The cache of one provider."""

    def bill(self, body: dict[str, Any], now: float) -> Billed:
        """Read from the cache and write to it for this request. Raises Refused."""
        ...


class _Part(Struct, frozen=True, kw_only=True):
    """A part of a request that is cached as a whole. key: hash of the request up to its end. end: in tokens."""

    key: bytes
    end: int
    point: str = ""  # the requested lifetime; "" without a cache point
    is_message: bool = False


def _make_parts(pieces: Iterator[tuple[str, str, bool]]) -> list[_Part]:
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
        self._expires: dict[bytes, float] = {}

    def bill(self, body: dict[str, Any], now: float) -> Billed:
        """See `CacheRule`."""
        parts = _make_parts(_list_blocks(body))
        points = [index for index, part in enumerate(parts) if part.point]
        if len(points) > MAX_CACHE_POINTS:
            raise Refused(
                f"A maximum of {MAX_CACHE_POINTS} blocks with cache_control may be provided. Found {len(points)}."
            )
        lifetimes = [parts[index].point for index in points]
        if lifetimes != sorted(lifetimes):  # "1h" before "5m"
            raise Refused("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
        total = parts[-1].end
        hit = max(
            (
                index
                for point in points
                for index in range(point, max(point - LOOK_BACK_BLOCKS, -1), -1)
                if self._expires.get(parts[index].key, 0.0) > now
            ),
            default=-1,
        )
        read = parts[hit].end if hit >= 0 else 0
        end, end_1h = read, read
        for index in points:
            part = parts[index]
            if part.end < MIN_TOKENS:
                continue
            self._expires[part.key] = now + LIFETIMES_S[part.point]
            end = max(end, part.end)
            if part.point == "1h":
                end_1h = max(end_1h, part.end)
        if hit >= 0:  # a read renews the entry
            self._expires[parts[hit].key] = max(self._expires[parts[hit].key], now + LIFETIMES_S["5m"])
        return Billed(prompt=total, read=read, written=end - read, written_1h=end_1h - read)


def _list_blocks(body: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield the blocks in the order of the cache. Models and settings for thinking do not share entries."""
    first = body["model"]
    for tool in body.get("tools", []):
        yield _split_cache_control(tool, first)
        first = ""
    for block in body.get("system", []):
        yield _split_cache_control(block, first)
        first = ""
    first_message_prefix = first + json.dumps([body.get("thinking"), body.get("output_config")])
    for message in body["messages"]:
        for block in message["content"]:
            yield _split_cache_control(block, first_message_prefix + message["role"])
            first_message_prefix = ""


def _split_cache_control(block: dict[str, Any], before: str) -> tuple[str, str, bool]:
    control = block.get("cache_control")
    if control and block.get("type") in ("thinking", "redacted_thinking"):
        raise Refused("cache_control cannot be set for thinking blocks")
    if control and block.get("type") == "text" and not block["text"].strip():
        raise Refused("cache_control cannot be set for empty text blocks")
    fields = {name: value for name, value in block.items() if name != "cache_control"}
    return before + json.dumps(fields), control.get("ttl", "5m") if control else "", True


class AutomaticCache:
    """See `CacheRule`; OpenAI up to GPT-5.5, for bodies of Chat Completions and Responses."""

    def __init__(self) -> None:
        self._expires: dict[bytes, float] = {}

    def bill(self, body: dict[str, Any], now: float) -> Billed:
        """See `CacheRule`."""
        data = "".join(text for text, _ in _list_items(body)).encode()
        total = len(data) // _TOKEN_BYTES
        digest = hashlib.sha256(_choose_machine(body, data))
        keys: list[tuple[int, bytes]] = []
        for end in range(STEP_TOKENS, total + 1, STEP_TOKENS):
            digest.update(data[(end - STEP_TOKENS) * _TOKEN_BYTES : end * _TOKEN_BYTES])
            if end >= MIN_TOKENS:
                keys.append((end, digest.digest()))
        read = max((end for end, key in keys if self._expires.get(key, 0.0) > now), default=0)
        self._expires |= {key: now + AUTOMATIC_LIFE_S for _, key in keys}
        return Billed(prompt=total, read=read)


class BreakpointCache:
    """See `CacheRule`; OpenAI from GPT-5.6 on, for bodies of Chat Completions and Responses."""

    def __init__(self) -> None:
        self._expires: dict[bytes, float] = {}

    def bill(self, body: dict[str, Any], now: float) -> Billed:
        """See `CacheRule`."""
        items = list(_list_items(body))
        machine = _choose_machine(body, "".join(text for text, _ in items).encode())
        parts = _make_parts((text, "", eligible) for text, eligible in [(machine.hex(), False), *items])
        offset = parts[0].end
        eligible = [part for part in parts if part.is_message and part.end - offset >= MIN_TOKENS]
        recent = eligible[-MAX_BREAKPOINTS_READ:]
        read = max((part.end - offset for part in recent if self._expires.get(part.key, 0.0) > now), default=0)
        written = 0
        if eligible:
            written = eligible[-1].end - offset - read
            self._expires[eligible[-1].key] = now + BREAKPOINT_LIFE_S
        for part in recent:  # a read renews the entry
            if part.end - offset == read and part.key in self._expires:
                self._expires[part.key] = now + BREAKPOINT_LIFE_S
        return Billed(prompt=parts[-1].end - offset, read=read, written=written)


def _list_items(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a request in the order of the prompt, and whether each is a user or tool message."""
    yield json.dumps([body["model"], body.get("tools"), body.get("reasoning"), body.get("reasoning_effort")]), False
    if "instructions" in body:
        yield json.dumps(body["instructions"]), False
    for item in body.get("input") or body.get("messages") or []:
        kind = item.get("type", "") or item.get("role", "")
        yield json.dumps(item), kind in ("user", "tool", "function_call_output")


def _choose_machine(body: dict[str, Any], data: bytes) -> bytes:
    """Return the machine to which the request is routed: it depends on its beginning and its key."""
    key = str(body.get("prompt_cache_key", ""))
    return hashlib.sha256(data[: _ROUTED_TOKENS * _TOKEN_BYTES] + key.encode()).digest()
