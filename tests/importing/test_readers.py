"""The files of each agent, in every format they have had."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clio.importing import aider, claude, codex, gemini, places, specstory
from clio.importing.reading import ImportedMessage, Piece, Progress, Tally
from clio.messages import AssistantMessage, ToolMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.importing.homes import (
    CLAUDE_ID,
    about,
    claude_conversation,
    claude_file,
    claude_line,
    codex_file,
    gemini_folder,
    gemini_messages,
    messages_of,
    shape,
    write_lines,
)
from tests.support.wording import mentions

Read = Callable[[Path, Tally, Progress], Iterator[Piece]]
PERL = Path(__file__).parent.parent / "fixtures" / "perl"


def pieces(read: Read, path: Path, counts: Tally | None = None) -> list[Piece]:
    return list(read(path, counts or Tally(), lambda done: None))


# Claude Code


def test_an_answer_of_claude_is_joined_from_its_lines(tmp_path: Path) -> None:
    counts = Tally()
    found = pieces(claude.read_claude, claude_file(tmp_path, tmp_path / "p"), counts)
    assert shape(messages_of(found)) == [
        "user: Why does the login test hang?",
        'answer: I look at the clock. [Bash t1 {"command":"pytest tests/test_login.py"}]'
        ' [Read t2 {"file_path":"login.py"}]',
        "t2 ok: import x",
        "t1 failed: 1 failed",
        "answer: The frozen clock stops the heartbeat.",
    ]
    answer = messages_of(found)[1]
    assert isinstance(answer, AssistantMessage)
    assert (answer.model, answer.id, answer.reasoning) == ("claude-opus-4-5", "a1", "")
    assert answer.created == pytest.approx(1764500973.123)
    assert [(one.key, one.directory) for one in about(found)] == [(CLAUDE_ID, str((tmp_path / "p").resolve()))]
    assert counts == Tally()


@pytest.mark.parametrize(
    ("content", "more", "shown"),
    [
        ("<command-name>/review</command-name>\n<command-args>154</command-args>", {}, "user: /review 154"),
        ("<bash-input>make</bash-input>", {}, "user: ! make"),
        ("fix it <system-reminder>be kind</system-reminder>", {}, "user: fix it"),
        (
            "<local-command-stdout>done</local-command-stdout>",
            {},
            "continue: <local-command-stdout>done</local-command-stdout>",
        ),
        ("what came before", {"isCompactSummary": True}, "recovery: what came before"),
        ("a skill's text", {"isMeta": True}, "continue: a skill's text"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], {}, "user: one\n\ntwo"),
    ],
)
def test_the_author_of_text_in_a_user_line(tmp_path: Path, content: Any, more: dict[str, Any], shown: str) -> None:
    path = write_lines(tmp_path / f"{CLAUDE_ID}.jsonl", claude_line("user", "u", content, **more))
    assert shape(messages_of(pieces(claude.read_claude, path))) == [shown]


def test_a_picture_and_a_message_sent_during_a_turn(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    queued = {"type": "attachment", "uuid": "q", "timestamp": "2025-11-30T11:09:33Z"}
    path = write_lines(
        tmp_path / f"{CLAUDE_ID}.jsonl",
        claude_line("user", "u", [{"type": "text", "text": "see"}, {"type": "image", "source": source}]),
        queued | {"attachment": {"type": "queued_command", "prompt": "and the other"}},
    )
    first, second = (piece for piece in pieces(claude.read_claude, path) if isinstance(piece, ImportedMessage))
    assert [picture.media_type for picture in first.images] == ["image/png"]
    assert isinstance(second.message, UserMessage) and second.message.steers


def test_repeated_lines_count_once_and_unknown_ones_are_counted(tmp_path: Path) -> None:
    counts = Tally()
    conversation = claude_conversation("/p")
    odd = [{"type": "weather"}, {"type": "weather"}, claude_line("assistant", "z", [{"type": "hologram"}])]
    path = write_lines(tmp_path / f"{CLAUDE_ID}.jsonl", *conversation, *conversation, *odd, end='{"type":"user","me')
    assert len(messages_of(pieces(claude.read_claude, path, counts))) == 5
    assert mentions(
        counts.describe(),
        "3 lines",
        "2 kinds",
        "not understood",
        "weather (2)",
        "assistant/hologram (1)",
        "1 line",
        "incomplete",
    )


def test_the_title_of_a_conversation(tmp_path: Path) -> None:
    conversation = claude_conversation("/p")
    names: list[Any] = [
        {"type": "summary", "summary": "Of another file", "leafUuid": "elsewhere"},
        {"type": "summary", "summary": "Of this one", "leafUuid": "a5"},
        {"type": "ai-title", "aiTitle": "By the model"},
        {"type": "custom-title", "customTitle": "By the person"},
        {"type": "ai-title", "aiTitle": "By the model, later"},
    ]
    called: list[str] = []
    for number in (0, 1, 2, 3, 5):
        path = write_lines(tmp_path / f"{CLAUDE_ID}.jsonl", *names[:number], *conversation)
        called.append(about(pieces(claude.read_claude, path))[-1].title)
    assert called == ["", "", "Of this one", "By the model", "By the person"]


def test_sub_agents_are_separate_conversations(tmp_path: Path) -> None:
    side = [
        claude_line("user", "s1", "Look for callers", isSidechain=True, parentUuid=None),
        claude_line("assistant", "s2", [{"type": "text", "text": "Two."}], isSidechain=True, parentUuid="s1"),
    ]
    inline = pieces(
        claude.read_claude, write_lines(tmp_path / f"{CLAUDE_ID}.jsonl", *claude_conversation("/p")[:2], *side)
    )
    assert {piece.key: len(messages_of([one for one in inline if one.key == piece.key])) for piece in inline} == {
        CLAUDE_ID: 1,
        f"{CLAUDE_ID}/side-s1": 2,
    }
    apart = pieces(claude.read_claude, write_lines(tmp_path / CLAUDE_ID / "subagents" / "agent-7.jsonl", *side))
    info = about(apart)[0]
    assert (info.key, info.within, info.title) == (f"{CLAUDE_ID}/agent-7", CLAUDE_ID, "sub-agent: Look for callers")


# Codex

_SHELL = {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"}
_OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "Exit code: 1\nOutput:\nno"}
_ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list"}]},
    _SHELL,
    _OUTPUT,
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Nothing there."}]},
]
_SHOWN = [
    "user: list",
    'answer:  [shell c {"command":"ls"}]',
    "c failed: Exit code: 1\nOutput:\nno",
    "answer: Nothing there.",
]


def test_codex_in_its_three_formats(tmp_path: Path) -> None:
    head = {"id": "one", "timestamp": "2025-05-01T00:00:00Z", "instructions": None}
    first = tmp_path / "rollout-1.json"
    first.write_text(json.dumps({"session": head, "items": _ITEMS}), encoding="utf-8")
    second = write_lines(
        tmp_path / "rollout-2.jsonl", head, *[one for item in _ITEMS for one in ({"record_type": "state"}, item)]
    )
    third = write_lines(
        tmp_path / "rollout-3.jsonl",
        {"timestamp": "2025-11-01T00:00:00Z", "type": "session_meta", "payload": {"id": "one", "cwd": "/p"}},
        {"timestamp": "2025-11-01T00:00:00Z", "type": "session_meta", "payload": {"id": "before", "cwd": "/q"}},
        *[{"timestamp": "2025-11-01T00:00:01Z", "type": "response_item", "payload": item} for item in _ITEMS],
    )
    for path in (first, second, third):
        counts = Tally()
        found = pieces(codex.read_codex, path, counts)
        assert shape(messages_of(found)) == _SHOWN
        assert {piece.key for piece in found} == {"one"}
        assert all(message.created for message in messages_of(found))
        assert counts == Tally()


def test_codex_names_model_folder_and_what_is_not_a_message(tmp_path: Path) -> None:
    counts = Tally()
    found = pieces(codex.read_codex, codex_file(tmp_path, tmp_path), counts)
    assert shape(messages_of(found)) == [
        "continue: <environment_context>\n<cwd>/elsewhere</cwd></environment_context>",
        "user: Which port does the broker listen on?",
        'answer:  [shell c1 {"command":"rg port"}]',
        "c1 failed: no such file",
        "answer: It listens on 1883.",
    ]
    assert about(found)[0].directory == str(tmp_path.resolve())
    assert {message.model for message in messages_of(found) if isinstance(message, AssistantMessage)} == {"gpt-5-codex"}
    assert counts == Tally()


_PATCH = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": "*** Begin"}
_LOCAL = {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["bash", "-lc", "ls"]}}
_SEARCH = {"type": "web_search_call", "id": "w", "action": {"query": "q"}}
_BROKEN = {"type": "function_call", "name": "f", "arguments": "{broken", "call_id": "c"}


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        (_PATCH, '[apply_patch c {"input":"*** Begin"}]'),
        (_LOCAL, '[shell c {"type":"exec","command":"ls"}]'),
        (_SEARCH, '[web_search w {"query":"q"}]'),
        (_BROKEN, '[f c {"input":"{broken"}]'),
    ],
)
def test_every_kind_of_call(tmp_path: Path, item: dict[str, Any], shown: str) -> None:
    path = write_lines(tmp_path / "rollout-1.jsonl", {"type": "response_item", "payload": item})
    assert shape(messages_of(pieces(codex.read_codex, path))) == [f"answer:  {shown}"]


def test_a_compaction_and_an_unknown_item(tmp_path: Path) -> None:
    counts = Tally()
    path = write_lines(
        tmp_path / "rollout-1.jsonl",
        {"type": "compacted", "payload": {"message": "so far"}},
        {"type": "response_item", "payload": {"type": "hologram"}},
        {"type": "weather", "payload": {}},
    )
    assert shape(messages_of(pieces(codex.read_codex, path, counts))) == ["recovery: so far"]
    assert dict(counts.kinds) == {"item/hologram": 1, "weather": 1}


# Gemini CLI

_GEMINI_SHOWN = [
    "user: How do we deploy the zeppelin?",
    'answer: With make fly. [read_file x1 {"path":"Makefile"}]',
    "x1 ok: fly:\n\tship",
]


def test_a_chat_of_gemini_as_document_and_as_log(tmp_path: Path) -> None:
    folder = gemini_folder(tmp_path, tmp_path) / "chats"
    messages, head = gemini_messages(), {"sessionId": "477739d0-1b78", "projectHash": "x"}
    document = folder / "session-2025-12-03T06-35-477739d0.json"
    document.write_text(json.dumps(head | {"messages": messages, "summary": "Deploying"}), encoding="utf-8")
    unfinished = messages[1] | {"toolCalls": []}
    log = write_lines(
        folder / "session-2025-12-03T06-35-477739d0.jsonl",
        head,
        {"$set": {"messages": messages[:1]}},
        unfinished,
        {"$rewindTo": "g9"},
        messages[2],
        messages[1],
        {"$set": {"summary": "Deploying"}},
    )
    for path in (document, log):
        counts = Tally()
        found = pieces(gemini.read_gemini, path, counts)
        assert shape(messages_of(found)) == _GEMINI_SHOWN
        assert {piece.key for piece in found} == {"477739d0-1b78"}
        assert about(found)[-1].title == "Deploying"
        assert counts == Tally()


def test_a_sub_agent_of_gemini_and_its_session_context(tmp_path: Path) -> None:
    folder = gemini_folder(tmp_path, tmp_path) / "chats" / "parent-1"
    context_message = {"id": "g0", "type": "user", "content": [{"text": "<session_context>tree</session_context>"}]}
    found = pieces(
        gemini.read_gemini,
        write_lines(folder / "child.jsonl", {"sessionId": "child", "kind": "subagent"}, context_message),
    )
    assert (about(found)[0].within, shape(messages_of(found))) == (
        "parent-1",
        ["continue: <session_context>tree</session_context>"],
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_saved_checkpoint_of_gemini(tmp_path: Path, wrapped: bool) -> None:
    history = [
        {"role": "user", "parts": [{"text": "deploy?"}]},
        {"role": "model", "parts": [{"text": "I look."}, {"functionCall": {"name": "ls", "args": {"path": "."}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "Makefile"}}}]},
        {"role": "model", "parts": [{"thought": True, "text": "hm"}, {"text": "make fly"}]},
    ]
    path = tmp_path / "checkpoint-release.json"
    path.write_text(json.dumps({"history": history, "authType": "x"} if wrapped else history), encoding="utf-8")
    found = pieces(gemini.read_gemini, path)
    assert shape(messages_of(found)) == [
        "user: deploy?",
        'answer: I look. [ls g2-0 {"path":"."}]',
        "g2-0 ok: Makefile",
        "answer: make fly",
    ]
    assert about(found)[0].title == "release"


def test_the_log_of_messages_counts_only_without_a_chat_that_has_them(tmp_path: Path) -> None:
    folder = gemini_folder(tmp_path, tmp_path)
    (folder / "chats" / "session-2025-12-03T06-35-477739d0.json").write_text("{}", encoding="utf-8")
    entries = [
        {"sessionId": id, "messageId": n, "type": "user", "message": words, "timestamp": "2025-07-01T00:00:00Z"}
        for id, n, words in (("477739d0-1b78", 0, "known"), ("old-one", 0, "first"), ("old-one", 1, "second"))
    ]
    path = folder / "logs.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    assert shape(messages_of(pieces(gemini.read_gemini, path))) == ["user: first", "user: second"]


# aider


def test_chats_of_aider_with_the_times_of_the_messages(tmp_path: Path) -> None:
    chats = tmp_path / ".aider.chat.history.md"
    chats.write_text(
        "\n# aider chat started at 2024-05-06 10:11:12\n\n> Model: gpt-4o with diff edit format\n\n"
        "#### add a marmot  \n#### and a vole  \n\n"
        "Sure:\n\n```python\nzoo.add('marmot')\n\n```\n\n> Applied edit to zoo.py\n"
        "\n# aider chat started at 2024-05-07 09:00:00\r\n\r\n#### thanks\r\n\r\nWelcome.\r\n",
        encoding="utf-8",
    )
    inputs = tmp_path / ".aider.input.history"
    inputs.write_text("\n# 2024-05-06 10:15:00.123456\n+add a marmot\n+and a vole\n", encoding="utf-8")
    found = pieces(aider.read_aider, chats)
    assert shape(messages_of(found)) == [
        "user: add a marmot\nand a vole",
        "answer: Sure:\n\n```python\nzoo.add('marmot')\n\n```\n\n> Applied edit to zoo.py",
        "user: thanks",
        "answer: Welcome.",
    ]
    assert len({piece.key for piece in found}) == 2
    first, answer = messages_of(found)[:2]
    assert time.strftime("%H:%M", time.localtime(first.created)) == "10:15"
    assert isinstance(answer, AssistantMessage) and answer.model == "gpt-4o"
    assert shape(messages_of(pieces(aider.read_aider, inputs))) == ["user: add a marmot\nand a vole"]


# clio


def test_sessions_of_another_clio_are_imported_with_complete_outputs(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / ".clio" / "sessions")
    session = store.new(tmp_path, name="there")
    handle = session.write_blob("x" * 90_000)
    session.append(UserMessage(content="begin"))
    session.append(AssistantMessage(content="done", reasoning="hm"))
    session.append(ToolMessage(tool_call_id="c", content="x…", blob=handle))
    session.close()
    found = pieces(places.read_clio, store.folder / f"{session.id}.json")
    assert shape(messages_of(found)) == ["user: begin", "answer: done", "c ok: x…"]
    assert [len(piece.whole or "") for piece in found if isinstance(piece, ImportedMessage)] == [0, 0, 90_000]
    assert about(found)[0].title == "there"


def test_sessions_of_the_perl_original_are_read() -> None:
    files = [path for path in PERL.rglob("sessions/*.json") if path.is_file()]
    assert files
    assert any(messages_of(pieces(places.read_clio, path)) for path in files)


def test_an_unreadable_session_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("no session", encoding="utf-8")
    counts = Tally()
    assert pieces(places.read_clio, path, counts) == []
    assert [name for name, _ in counts.unreadable] == [os.fspath(path)]


# SpecStory

SPECSTORY = """<!-- Generated by SpecStory, Markdown v2.1.0 -->

# 2026-07-13 13:40:49Z

<!-- Claude Code Session 5c7d5c23-0691-4467-b98e-0fb865b4a639 (2026-07-13 13:40:49Z) -->

_**User (2026-07-13 13:40:49Z)**_

Why does the login test hang?

```md
_**User**_
```

---

_**Agent (claude-opus-4-8 2026-07-13 13:40:56Z)**_

I'll run it first.

_**Agent (claude-opus-4-8 2026-07-13 13:41:01Z)**_

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash**</summary>
Run the suite

`pytest tests/ -q`

```text
1 failed
```
</details></tool-use>

The frozen clock stops the heartbeat.

---
"""
EARLY = """<!-- Generated by SpecStory -->

# Fix the parser (2025-03-04 09:12)

<!-- cursor Session 8d1e (2025-03-04 09:12) -->

_**User**_

fix it

---

_**Assistant**_

Done, see parser.py.
Tool use: **read_file**

Anything else?

---

_**User**_

no
"""


def test_conversations_saved_by_specstory(tmp_path: Path) -> None:
    folder = tmp_path / "p" / ".specstory" / "history"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text(SPECSTORY)
    counts = Tally()
    found = pieces(specstory.read_specstory, folder / "one.md", counts)
    assert shape(messages_of(found)) == [
        "user: Why does the login test hang?\n\n```md\n_**User**_\n```",
        "answer: I'll run it first.",
        'answer:  [Bash call_1 {"command":"pytest tests/ -q"}]',
        "call_1 ok: 1 failed",
        "answer: The frozen clock stops the heartbeat.",
    ]
    [session] = about(found)
    assert (session.key, session.directory) == (
        "5c7d5c23-0691-4467-b98e-0fb865b4a639",
        str((tmp_path / "p").resolve()),
    )
    answer = messages_of(found)[1]
    assert isinstance(answer, AssistantMessage)
    assert (answer.model, answer.created) == ("claude-opus-4-8", 1783950056.0)
    assert counts == Tally()


def test_an_early_file_of_specstory_without_times(tmp_path: Path) -> None:
    path = tmp_path / "early.md"
    path.write_text(EARLY)
    found = pieces(specstory.read_specstory, path)
    assert shape(messages_of(found)) == [
        "user: fix it",
        "answer: Done, see parser.py. [read_file call_1 {}]",
        "call_1 ok: ",
        "answer: Anything else?",
        "user: no",
    ]
    [session] = about(found)
    assert (session.key, session.title, session.directory) == ("8d1e", "Fix the parser", "")


def test_messages_between_agents_of_codex_are_not_the_users(tmp_path: Path) -> None:
    lines = [
        {"type": "session_meta", "payload": {"id": "s1", "cwd": str(tmp_path)}},
        {
            "type": "response_item",
            "payload": {"type": "agent_message", "content": [{"type": "output_text", "text": "Hi."}]},
        },
        {
            "type": "response_item",
            "payload": {
                "type": "agent_message",
                "author": "/lead/tester",
                "recipient": "/lead",
                "content": [{"type": "input_text", "text": "3 tests fail"}],
            },
        },
        {"type": "response_item", "payload": {"type": "agent_message", "message": "Then I fix them."}},
    ]
    path = tmp_path / "rollout-2026.jsonl"
    write_lines(path, *lines)
    counts = Tally()
    messages = messages_of(pieces(codex.read_codex, path, counts))
    assert shape(messages) == [
        "answer: Hi.",
        "continue: [message from /lead/tester]\n3 tests fail",
        "answer: Then I fix them.",
    ]
    assert isinstance(messages[1], UserMessage) and messages[1].origin == "continue"
    assert counts == Tally()
