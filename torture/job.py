"""One run of a tortured clio: what it is asked to do, and what its output confirms."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from torture.process import Ended


class Fact(Struct, frozen=True):
    """One thing a clio confirmed.

    store: where it must be found from then on, or with "gone " before it, must not.
    key: what it is called there, where it has a name: an id, a key, the answer that was rated.
    """

    store: str
    text: str
    key: str = ""


Said = tuple[str, str]
"""A session, and a message in it."""


class Job(Struct, frozen=True, kw_only=True):
    """One run of clio.

    begins: facts that end now, whatever comes of the run: they may be there afterwards or not.
    confirms: the facts in what it said. Its messages are read from every job's stream.
    codes: exit codes it may end with when nobody kills it.
    work: runs in place of the command line, for what only a terminal offers.
    """

    kind: str
    arguments: tuple[str, ...] = ()
    words: bytes = b""
    begins: tuple[Fact, ...] = ()
    confirms: Callable[[Ended], Sequence[Fact]] = lambda _: ()
    codes: tuple[int, ...] = (0,)
    work: Callable[[], Any] | None = None


def said_in(out: str) -> Iterator[Said]:
    """The messages a stream of events confirmed: each was on disk before its line was written."""
    session = ""
    for event in events(out):
        if event["type"] == "session":
            session = event["session_id"]
        elif event["type"] == "message":
            yield session, event["message"]["id"]


def events(out: str) -> Iterator[dict[str, Any]]:
    """The whole lines of a stream of events. Raises ValueError for one that is no JSON."""
    for line in out.split("\n")[:-1]:
        if line.startswith("{"):
            yield json.loads(line)


def remembered_in(ended: Ended) -> list[Fact]:
    """What a turn's tools kept: the calls whose results are messages that say they went well."""
    calls: dict[str, dict[str, Any]] = {}
    facts: list[Fact] = []
    for event in events(ended.out):
        if event["type"] == "message":
            for call in event["message"].get("tool_calls", ()):
                if call["name"] == "memory_operations":
                    calls[call["id"]] = json.loads(call["arguments"])
        elif event["type"] == "tool_finished" and event["ok"] and event["call_id"] in calls:
            given = calls[event["call_id"]]
            match given["operation"]:
                case "add_discovery":
                    facts.append(Fact("ltm", given["fact"]))
                case "remember":
                    facts.append(Fact("memories", given["content"]))
                case "store":
                    facts.append(Fact("notes", given["content"], given["key"]))
    return facts


def if_done(*facts: Fact) -> Callable[[Ended], Sequence[Fact]]:
    """These facts, once the clio has said anything about them or is done."""
    return lambda ended: facts if ended.code == 0 or "\n" in ended.out else ()


def if_named(store: str, text: str) -> Callable[[Ended], Sequence[Fact]]:
    """The same for what is saved under an id, which the JSON document of a new memory gives."""

    def confirms(ended: Ended) -> Sequence[Fact]:
        done = document(ended)
        is_new = done.get("new", done.get("action") not in ("merged", "dropped"))
        saved = done.get("entry") or done.get("memory") or {}
        return if_done(Fact(store, text, saved.get("id", "") if is_new else ""))(ended)

    return confirms


def document(ended: Ended) -> dict[str, Any]:
    """The JSON document it printed; empty where it was killed before the last byte, or printed none."""
    try:
        return json.loads(ended.out)
    except ValueError:
        return {}
