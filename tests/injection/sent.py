"""What was sent to a model, read as an attacker would: messages, frames, invisible characters."""

import json
import re
from typing import Any

from tests.injection.corpus import ORDERS
from tests.support.chat_server import Recorded
from tests.support.harness import Harness

_UNSEEN = "[\\s\u200b-\u200f\u2060-\u206f\ufeff\U000e0000-\U000e01ef]*"
_PART = re.compile(r'^<(?P<name>\w+) source="[^"<>]*">\n.*?^</(?P=name)>$', re.MULTILINE | re.DOTALL)
_FOLDERS = "\n\nThe project's instructions for this folder"
_SAID_BELOW = re.compile("[<\uff1c]" + _UNSEEN + "(?:hook_note|folder_instructions)", re.IGNORECASE)


def closings(text: str, name: str) -> int:
    """Return how often the text ends a frame of this name, however the tag is spelled."""
    return len(re.findall(f"[<\uff1c]{_UNSEEN}[/\uff0f]{_UNSEEN}{name}{_UNSEEN}[>\uff1e]", text, re.IGNORECASE))


def words_of(message: dict[str, Any]) -> str:
    """Return the text of one message."""
    return str(message["content"])


def messages_of(request: Recorded, *roles: str) -> list[str]:
    """Return the texts of a request that has exactly these messages, after the checks for every request."""
    sent: list[dict[str, Any]] = request.body["messages"]
    assert [message["role"] for message in sent] == list(roles)
    whole = json.dumps(request.body, ensure_ascii=False)
    assert not re.search("[\U000e0000-\U000e007f]", whole), "invisible characters"
    for message in sent:
        text = words_of(message)
        if message["role"] == "tool":
            assert not _SAID_BELOW.search(text.partition(_FOLDERS)[0]), "clio's own text"
        if message["role"] == "user" and text.startswith("<context>"):
            assert closings(text, "context") == 1
    outside = _PART.sub("", words_of(sent[0]))
    assert not any(order in outside for order in ORDERS), "an injected instruction in the prompt"
    return [words_of(message) for message in sent]


def part_of(text: str, name: str) -> str:
    """Return the text between the tags of that name, of which there must be one pair."""
    found = [part[0] for part in _PART.finditer(text) if part["name"] == name]
    assert len(found) == 1 and closings(text, name) == 1, (name, len(found))
    return found[0]


def check_nothing_was_allowed(harness: Harness, *asked: str) -> None:
    """Check that no rule or setting was written, and that the user was asked about exactly these calls."""
    assert [request.title for request in harness.user.asked] == list(asked)
    assert not (harness.project / ".clio" / "config.yaml").exists()
    assert not (harness.project / "owned").exists()
