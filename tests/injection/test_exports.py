"""An exported session whose every text would control a terminal: no export contains such text unchanged."""

import json
from pathlib import Path

import pytest

from clio.export.export_session import export_session
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.export.sample import START, make_session
from tests.injection.corpus import TERMINAL, WORD
from tests.injection.test_terminal import STEERING

ALL = "\n".join(trick.text for trick in TERMINAL)


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_no_export_controls_a_terminal(tmp_path: Path, form: str) -> None:
    arguments = json.dumps({"path": ALL, ALL: [ALL]})
    messages: list[Message] = [
        UserMessage(content=ALL, context=ALL),
        AssistantMessage(
            content=ALL, reasoning=ALL, model=ALL, tool_calls=(ToolCall(id="1", name=ALL, arguments=arguments),)
        ),
        ToolMessage(tool_call_id="1", name=ALL, content=ALL, summary=ALL),
    ]
    store = SessionStore(tmp_path / "sessions")
    text = export_session(store, make_session(store, messages, name=ALL), form, redact=str, now=START)
    found = STEERING.search(text)
    assert found is None, text[max(found.start() - 60, 0) : found.end() + 20]
    assert text.count(WORD) > 5 * len(TERMINAL)
