"""Signs of what an answer was worth that nobody gave on purpose: words, tests that turn green, changes taken back.

Pure, and rather silent than wrong: a sign counts a fraction of a person's word, and is listed as such.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from clio.memory.feedback.command_words import checks_of, taken_back
from clio.memory.feedback.opening_words import asks, opening_verdict
from clio.messages import AssistantMessage, Deeds, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.side_effects import deeds_of
from clio.text.formatting import truncate_line
from clio.text.json_data import decode_json

Source = Literal["words", "tests", "revert"]
WORDS_WEIGHT, TESTS_WEIGHT, REVERT_WEIGHT = 0.25, 0.25, 0.5
_NOTE_CHARS = 60
_NOT_RUN = frozenset((126, 127))
"""Exit codes of a shell that could not start the command: that is no failed test."""


class Signal(Struct, frozen=True, kw_only=True):
    """One sign. target: the answer of this turn, or of the one before. reward: +1 or −1. weight: of it, 0 to 1.

    note: what it was, in a few words; it quotes the person, so it is redacted before it is stored.
    """

    target: Literal["this", "before"]
    reward: Literal[-1, 1]
    weight: float
    source: Source
    note: str


def signals_in(turn: Sequence[Message], before: Sequence[Message]) -> list[Signal]:
    """The signs in a turn that is over. before: the turn before it in the same session; empty for none.

    Words and deeds that say the same of one answer are one sign, the heavier one: "undo that" is what is then done.
    """
    found = [*_taken_back(turn, before), *_said(turn, before), *_turned_green(turn)]
    heaviest: dict[tuple[str, int], Signal] = {}
    for signal in sorted(found, key=lambda signal: -signal.weight):
        heaviest.setdefault((signal.target, signal.reward), signal)
    return list(heaviest.values())


def _said(turn: Sequence[Message], before: Sequence[Message]) -> Iterator[Signal]:
    """What the first words of this turn say of the answer before it."""
    said = next((one for one in turn if isinstance(one, UserMessage)), None)
    answer = next((one.content for one in reversed(before) if isinstance(one, AssistantMessage) and one.content), "")
    if said is None or said.origin != "user" or not answer:
        return
    verdict = opening_verdict(said.content, after_question=asks(answer))
    if verdict:
        quote = truncate_line(said.content, _NOTE_CHARS)
        reward = -1 if verdict == "refused" else 1
        yield Signal(target="before", reward=reward, weight=WORDS_WEIGHT, source="words", note=f"“{quote}”")


def _turned_green(turn: Sequence[Message]) -> Iterator[Signal]:
    """A test or check that failed, then files were changed, then it passed; and nothing of it failed any more."""
    failed: set[str] = set()
    changed: set[str] = set()  # of those that failed, the ones after which something was changed
    green: dict[str, None] = {}
    for _, _, deeds in _calls(turn):
        if deeds.changed:
            changed |= failed
        if not deeds.command or deeds.exit_code is None or deeds.exit_code in _NOT_RUN:
            continue
        checks = checks_of(deeds.command)
        if deeds.exit_code:
            failed |= checks
            changed -= checks
            green = {name: None for name in green if name not in checks}
        else:
            green |= dict.fromkeys(sorted(checks & changed))
            failed -= checks
            changed -= checks
    if green and not failed:
        note = f"{', '.join(green)} failed and passes now"
        yield Signal(target="this", reward=1, weight=TESTS_WEIGHT, source="tests", note=note)


def _taken_back(turn: Sequence[Message], before: Sequence[Message]) -> Iterator[Signal]:
    """Changes of the turn before that this one took back, by git or by editing them back."""
    earlier = list(_calls(before))
    files = {path for _, _, deeds in earlier for deed in deeds.changed for path in (deed.path, deed.moved_to) if path}
    added = {deed.path for _, _, deeds in earlier for deed in deeds.changed if deed.kind == "add"}
    commits = [commit.hash for _, _, deeds in earlier for commit in deeds.commits]
    edits = {edit for call, result, _ in earlier if result.ok and (edit := _edit(call))}
    if not files and not commits:
        return
    for call, result, deeds in _calls(turn):
        note = ""
        if deeds.command and deeds.exit_code == 0 and taken_back(deeds.command, files, commits):
            note = deeds.command
        elif result.ok and (edit := _edit(call)) and (edit[0], edit[2], edit[1]) in edits:
            note = f"{edit[0]} edited back"
        elif gone := [deed.path for deed in deeds.changed if deed.kind == "delete" and deed.path in added]:
            note = f"{gone[0]} deleted again"
        if note:
            note = " ".join(note.split())[:_NOTE_CHARS]
            yield Signal(target="before", reward=-1, weight=REVERT_WEIGHT, source="revert", note=note)
            return


def _calls(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, ToolMessage, Deeds]]:
    """The answered calls in the order of their results, with what they did."""
    open_calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            open_calls |= {call.id: call for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and (call := open_calls.pop(message.tool_call_id, None)):
            yield call, message, deeds_of(call, message)


def _edit(call: ToolCall) -> tuple[str, str, str] | None:
    """(path, old text, new text) of a call that replaces one text by another."""
    try:
        given: object = decode_json(call.arguments)
    except msgspec.DecodeError:
        return None
    if not isinstance(given, dict):
        return None
    arguments = cast("dict[str, Any]", given)
    values = tuple(arguments.get(name) for name in ("path", "old_string", "new_string"))
    return cast("tuple[str, str, str]", values) if all(isinstance(value, str) for value in values) else None
