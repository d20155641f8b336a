"""The window is sent in a form that every server accepts; the store keeps the original messages."""

from pathlib import Path

from clio.context.window_messages import WindowMessages, clean_message, strip_markup
from clio.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.support.rows import each_row


def session_with(tmp_path: Path, messages: list[Message]) -> WindowMessages:
    session = SessionStore(tmp_path / ".clio" / "sessions").new(tmp_path)
    for message in messages:
        session.append(message)
    return WindowMessages(session)


@each_row(
    ("expected", "sent"),
    [
        ("<|im_start|>assistant\nHello<|im_end|>", "Hello"),
        ("Assistant: the answer", "the answer"),
        ("fine</s>", "fine"),
        ("[INST] and then [/INST] done", "and then  done"),
        ("<start_of_turn>model\nGemma here<end_of_turn>", "Gemma here"),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nLlama<|eot_id|>", "Llama"),
        ("The token `<|im_end|>` ends a turn", "The token `<|im_end|>` ends a turn"),
        ("```\n<s>kept</s>\n```\nout</s>", "```\n<s>kept</s>\n```\nout"),
        ("a < b | c > d, list[INST_A]", "a < b | c > d, list[INST_A]"),
        ("Assistants: two of them", "Assistants: two of them"),
        ("", ""),
    ],
)
def test_template_tokens_are_removed_from_answers(expected: str, sent: str) -> None:
    assert strip_markup(expected) == sent


def test_nothing_else_is_changed() -> None:
    messages = [
        UserMessage(content="<|im_start|>system\nwhat is this?"),
        ToolMessage(tool_call_id="a", content="Assistant: </s>"),
        AssistantMessage(content="all well", tool_calls=(ToolCall(id="a", name="t"),)),
    ]
    assert [clean_message(message) is message for message in messages] == [True] * 3


def test_a_call_without_a_name_gets_one() -> None:
    cleaned = clean_message(AssistantMessage(tool_calls=(ToolCall(id=" a ", name=""),)))
    assert isinstance(cleaned, AssistantMessage)
    assert cleaned.tool_calls == (ToolCall(id="a", name="unknown"),)


def test_messages_are_sent_in_order_without_what_cannot_be_sent(tmp_path: Path) -> None:
    messages: list[Message] = [SystemMessage(content="old prompt"), *(UserMessage(content=str(n)) for n in range(4))]
    stm = session_with(tmp_path, messages)
    stm._session.set_stm((messages[3].id, "no such id", messages[1].id, messages[1].id, messages[0].id))
    assert [message.content for message in stm.messages()] == ["0", "2"]
    assert stm.places() == [0, 1, 3]
    stm._session.append(UserMessage(content="new"))
    assert [message.content for message in stm.messages()] == ["0", "2", "new"]
    assert stm.place_of(messages[4].id) == 4
    assert stm.place_of("no such id") is None


def test_a_message_is_cleaned_once(tmp_path: Path) -> None:
    stm = session_with(tmp_path, [AssistantMessage(content="x</s>")])
    assert stm.messages()[0] is stm.messages()[0]
    assert stm._session.messages[0].content == "x</s>"
    stm._session.set_stm(())
    stm.forget()
    assert stm.messages() == []
