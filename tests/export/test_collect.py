"""Conversion of a session's state for exports: results with their calls, trims at their place, secrets redacted."""

from typing import Any

import msgspec
import pytest

from clio.export.document import ExportedMessage, ExportedTrim
from clio.export.export_session import OutputLimits
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.session_files import BlobNotFound
from clio.sessions.state import Bill, SessionState, Trim
from tests.export.conftest import collected
from tests.export.sample import ESC, KEY, state_with_text_everywhere, typical_messages


def state_of(*messages: Message, **fields: Any) -> SessionState:
    return SessionState(id="s1", working_directory="/home/dev/shop", messages=list(messages), **fields)


def messages_of(state: SessionState, **how: Any) -> list[ExportedMessage]:
    return [entry for entry in collected(state, **how).entries if isinstance(entry, ExportedMessage)]


def asks(id: str, arguments: str = "{}") -> AssistantMessage:
    return AssistantMessage(tool_calls=(ToolCall(id=id, name="read_file", arguments=arguments),))


def answers(id: str, content: str = "", **fields: Any) -> ToolMessage:
    return ToolMessage(tool_call_id=id, name="read_file", content=content, **fields)


def test_each_result_is_next_to_its_call() -> None:
    entries = messages_of(state_of(*typical_messages()))
    assert [entry.role for entry in entries] == ["system", "user", *["assistant"] * 3, "user", "assistant"]
    outputs = [call.result.output[:12] if call.result else None for entry in entries for call in entry.calls]
    assert outputs == ["def total(pr", "[exit 1]\ntes", "edited shop/", "created", "diff --git a", None]


def test_a_call_id_used_twice_means_the_newest_call() -> None:
    first, second = messages_of(
        state_of(asks("call_0"), answers("call_0", "one"), asks("call_0"), answers("call_0", "two"))
    )
    assert [entry.calls[0].result and entry.calls[0].result.output for entry in (first, second)] == ["one", "two"]


def test_a_result_without_a_call_is_shown_separately() -> None:
    (entry,) = messages_of(state_of(answers("lost", "still here")))
    assert entry.role == "tool"
    assert entry.calls[0].result is not None
    assert entry.calls[0].result.output == "still here"


def test_steps_are_counted_within_a_turn() -> None:
    entries = messages_of(state_of(*typical_messages()))
    assert [entry.step for entry in entries if entry.role == "assistant"] == [1, 2, 3, 1]


def test_arguments_are_decoded_and_invalid_json_stays_text() -> None:
    entries = messages_of(
        state_of(asks("a", '{"path": "x\\u202ey", "n": [1, null]}'), asks("b", '{"path": '), asks("c", "1e999"))
    )
    assert [entry.calls[0].arguments for entry in entries] == [
        {"path": "x⟨U+202E⟩y", "n": [1, None]},
        '{"path": ',
        "1e999",
    ]


def test_very_deeply_nested_arguments_stay_text() -> None:
    deep = "[" * 50_000
    (entry,) = messages_of(state_of(asks("a", deep + "]" * 50_000)))
    assert str(entry.calls[0].arguments).startswith("[[[[")


def test_the_complete_output_is_read_if_the_message_has_a_preview() -> None:
    (entry,) = messages_of(
        state_of(asks("a"), answers("a", "pre … view", blob="0123456789abcdef")),
        blobs=lambda handle: f"all of {handle}",
    )
    assert entry.calls[0].result is not None
    assert entry.calls[0].result.output == "all of 0123456789abcdef"


@pytest.mark.parametrize("error", [BlobNotFound("gone"), OSError("disk")])
def test_without_the_complete_output_the_preview_is_used(error: Exception) -> None:
    def lost(handle: str) -> str:
        raise error

    (entry,) = messages_of(state_of(asks("a"), answers("a", "pre … view", blob="0123456789abcdef")), blobs=lost)
    assert entry.calls[0].result is not None
    assert entry.calls[0].result.output == "pre … view"


def test_a_long_output_keeps_both_ends_and_names_what_is_missing() -> None:
    text = "\n".join(f"line {number}" for number in range(5_000))
    (entry,) = messages_of(
        state_of(asks("a"), answers("a", text)), limits=OutputLimits(output=1_000, all_outputs=10_000, later=10)
    )
    result = entry.calls[0].result
    assert result is not None
    assert result.output.startswith("line 0\n")
    assert result.output.endswith("\nline 4999")
    note = f"\n\n[… {result.left_out:,} characters left out …]\n\n"
    head, tail = result.output.split(note)
    assert len(head) + len(tail) <= 1_000
    assert 0 <= len(text) - len(head) - len(tail) - result.left_out <= 2  # the newlines at the cut


def test_a_secret_at_the_cut_is_redacted_completely() -> None:
    def redact(text: str) -> str:
        return text.replace(KEY, "[REDACTED:key]")

    for shift in range(0, 80, 3):
        text = "a" * (626 + shift) + KEY + "b" * (800 - shift) + KEY + "c" * 300
        limits = OutputLimits(output=1_000, all_outputs=10_000, later=10)
        stored = state_of(asks("a"), answers("a", blob="0123456789abcdef"))
        (entry,) = messages_of(stored, blobs=lambda handle: text, redact=redact, limits=limits)  # noqa: B023
        assert entry.calls[0].result is not None
        assert KEY[:12] not in entry.calls[0].result.output
        assert KEY[-12:] not in entry.calls[0].result.output


def test_after_much_output_later_outputs_are_shortened() -> None:
    messages = [message for n in range(4) for message in (asks(f"c{n}"), answers(f"c{n}", "x" * 900))]
    entries = messages_of(state_of(*messages), limits=OutputLimits(output=1_000, all_outputs=1_500, later=100))
    assert [entry.calls[0].result.left_out if entry.calls[0].result else -1 for entry in entries] == [0, 0, 800, 800]


def test_a_trim_is_at_its_place_with_a_summary_of_the_trimmed_messages() -> None:
    messages = typical_messages()
    trim = Trim(
        handle="t1", dropped=tuple(m.id for m in messages[1:4]), freed_tokens=321, created=messages[8].created + 1
    )
    export = collected(state_of(*messages, trims=[trim]))
    kinds = ["trim" if isinstance(entry, ExportedTrim) else entry.role for entry in export.entries]
    assert kinds == ["system", "user", "assistant", "assistant", "trim", "assistant", "user", "assistant"]
    cut = next(entry for entry in export.entries if isinstance(entry, ExportedTrim))
    assert (cut.handle, cut.messages, cut.freed_tokens) == ("t1", 3, 321)
    assert (cut.first_anchor, cut.last_anchor) == (f"m-{messages[1].id}", f"m-{messages[3].id}")
    assert "The totals in shop/prices.py are a cent short sometimes." in cut.summary
    assert "thread_summary" not in cut.summary


def test_a_trim_without_a_time_is_after_the_dropped_messages_and_one_without_messages_first() -> None:
    messages = typical_messages()
    trims = [Trim(handle="t1", dropped=(messages[1].id,)), Trim(handle="t2", shrunk={"nobody": 3})]
    entries = collected(state_of(*messages, trims=trims)).entries
    assert [entry.handle for entry in entries if isinstance(entry, ExportedTrim)] == ["t2", "t1"]
    assert isinstance(entries[0], ExportedTrim)
    assert isinstance(entries[3], ExportedTrim)


def test_links_are_made_of_ids_and_unique() -> None:
    messages = [UserMessage(id=id, content="x") for id in ("good-1", "good-1", 'bad"id', "", "x" * 200, "m-3")]
    anchors = [entry.anchor for entry in messages_of(state_of(*messages))]
    assert anchors[0] == "m-good-1"
    assert len(set(anchors)) == len(messages)
    assert all(anchor.replace("-", "").isalnum() for anchor in anchors)


def test_totals_come_from_usage_or_else_from_the_messages() -> None:
    history = typical_messages()
    without = collected(state_of(*history)).totals
    assert (without.turns, without.messages, without.calls, without.failed_calls) == (2, 12, 6, 1)
    assert (without.requests, without.prompt_tokens) == (4, 50_900)
    bills = [Bill(model="m", prompt_tokens=5, completion_tokens=3, cached_tokens=2)] * 2
    billed = collected(state_of(*history, bills=bills)).totals
    assert (billed.requests, billed.prompt_tokens, billed.completion_tokens, billed.cached_tokens) == (2, 10, 6, 4)


def test_no_text_contains_a_secret() -> None:
    split = KEY[:9] + f"{ESC}[0m" + KEY[9:]
    for secret in (KEY, split):
        state = state_with_text_everywhere(secret, "".join(f"\\u{ord(letter):04x}" for letter in KEY))
        export = collected(
            state, blobs=lambda handle: f"{handle} {split}", redact=lambda text: text.replace(KEY, "[REDACTED:key]")
        )
        text = msgspec.json.encode(export).decode()
        assert text.count("[REDACTED:key]") > 25
        assert KEY[9:] not in text


def test_the_folder_is_named_without_its_path() -> None:
    export = collected(state_of(*typical_messages()))
    assert export.project == "shop"
    assert "/home/dev" not in msgspec.json.encode(export).decode()
