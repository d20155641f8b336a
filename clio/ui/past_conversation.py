"""Renders the end of a resumed conversation as it looked live: Markdown, and calls in folded rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs
from rich.text import Text

from clio.agent.user_interface import ToolFinished, ToolStarted
from clio.context.command_results import select_failure_lines
from clio.export.document import format_named_call
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.text.translation import tr_count
from clio.text.untrusted_text import unmark_pasted_text
from clio.ui.hanging_text import render_user_message
from clio.ui.markdown import ANSWER_SIGN, StreamingMarkdown
from clio.ui.painter import Part
from clio.ui.safe_text import clean
from clio.ui.theme import Theme
from clio.ui.turn_display import CallRows

SHOWN_MESSAGES = 10
_MOST_SHOWN = 40  # messages, to begin with one of the user's
_OUTPUT_LINES, _ERROR_LINES = 5, 3


def render_past_messages(messages: Sequence[Message], theme: Theme, width: int) -> Iterator[Part]:
    """Yield the last messages in parts, and first how many come before them."""
    start = _find_start(messages)
    if start:
        yield Part(body=Text(f"… {tr_count(start, 'earlier message')}", theme.faint))
    known = {
        call.id: call for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls
    }
    before = ""
    for section, parts in _render_sections(messages[start:], known, theme, width):
        for number, part in enumerate(parts):
            yield structs.replace(part, gap=True) if number == 0 and section != before else part
            before = section


def _render_sections(
    messages: Sequence[Message], known: Mapping[str, ToolCall], theme: Theme, width: int
) -> Iterator[tuple[str, Iterable[Part]]]:
    """Yield parts with the name of their section: a blank line separates two sections, and each answer of others.

    known: the calls of the conversation by id.
    """
    rows = CallRows(theme)
    for number, message in enumerate(messages):
        match message:
            case UserMessage(origin="user"):
                yield "calls", rows.end_turn(width)
                yield f"user {number}", render_user_message(unmark_pasted_text(message.content), theme)
            case AssistantMessage() if message.content.strip():
                yield "calls", rows.end_turn(width)
                answer = StreamingMarkdown(theme, sign=ANSWER_SIGN)
                yield f"answer {number}", (*answer.feed(clean(message.content)), *answer.finish())
            case ToolMessage():
                unknown = ToolCall(id=message.tool_call_id, name=message.name, arguments="")
                call = known.get(message.tool_call_id, unknown)
                title = format_named_call(call)
                yield "calls", rows.start_call(ToolStarted(call_id=call.id, name=call.name, title=title), 0.0, width)
                yield "calls", rows.finish_call(_make_event(message, call.name, title), 0.0, width)
            case _:
                pass  # calls are shown with their results; clio's own messages are not shown
    yield "calls", rows.end_turn(width)


def _find_start(messages: Sequence[Message]) -> int:
    """Return the place of the first message to show: one of the user's, if there is one near."""
    start = max(len(messages) - SHOWN_MESSAGES, 0)
    for place in range(start, max(len(messages) - _MOST_SHOWN, 0) - 1, -1):
        message = messages[place]
        if isinstance(message, UserMessage) and message.origin == "user":
            return place
    return start


def _make_event(message: ToolMessage, name: str, title: str) -> ToolFinished:
    """Return the event that showed this result; its diff is not in the session."""
    summary = message.summary or ("" if message.ok else "failed")
    preview, hidden = _select_preview(message)
    if not message.ok and message.content == message.summary and summary.startswith("interrupted"):
        summary, preview = "interrupted", []  # the rest tells the model what that means
    return ToolFinished(
        call_id=message.tool_call_id,
        name=name,
        title=title,
        ok=message.ok,
        summary=summary,
        seconds=message.seconds,
        preview="\n".join(preview),
        hidden_lines=hidden,
    )


def _select_preview(message: ToolMessage) -> tuple[list[str], int]:
    """Return the lines of a result shown below its row, and how many lines of a command's output they leave out."""
    lines = [line for line in clean(message.content).splitlines() if line.strip()]
    is_command = message.side_effects is not None and bool(message.side_effects.command)
    if is_command:
        lines = [line for line in lines[1:] if line != "(no output)"]  # the first line is clio's: how it ended
    if not message.ok:
        shown = select_failure_lines(lines, _OUTPUT_LINES if is_command else _ERROR_LINES)
    elif not is_command:
        return [], 0
    else:
        half = _OUTPUT_LINES // 2
        shown = lines if len(lines) <= _OUTPUT_LINES else [*lines[:half], *lines[-(_OUTPUT_LINES - half) :]]
    return shown, max(len(lines) - _OUTPUT_LINES, 0) if is_command else 0
