"""What happened in a stretch of conversation, as data; `summary_text` renders it.

The summary of two stretches is the merge of their summaries: `summarize_messages(a + b)` equals
`merge_summaries(summarize_messages(a), summarize_messages(b))` if no unit is split. So a session is summarized trim by
trim, each message is read once, and rendered text is never parsed. Single texts are shortened; of commands, attempts,
test runs and the assistant's texts only the newest are kept; what else must be omitted is decided by the renderer.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeVar
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from clio.context.message_views import LineRange, is_substantive, is_whole_file, join_ranges, parse_shown_ranges
from clio.messages import (
    AssistantMessage,
    ChangedFile,
    Commit,
    Message,
    SideEffects,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from clio.sessions.side_effects import (
    EDIT_TOOLS,
    decode_call_arguments,
    find_call_path,
    find_patched_paths,
    find_side_effects,
    normalize_tool_name,
)
from clio.text.formatting import shorten_line, shorten_middle

if TYPE_CHECKING:
    from clio.context.command_results import TestRun

TEXT_CHARS = 2_000
"""A longer request, question or answer is shortened to its beginning and end; the archive has all of it."""
_COMMAND_CHARS, _LINE_CHARS, _ASSISTANT_TEXT_CHARS, _MIN_NOTE_CHARS = 300, 200, 700, 40
_COMMANDS, _ATTEMPTS, _RUNS, _ANSWERS, _NOTES = 30, 60, 12, 12, 8  # how many of the newest a summary contains
FileKind = Literal["written", "moved", "deleted"]

Item = TypeVar("Item")


class UserRequest(Struct, frozen=True, kw_only=True):
    """One request of the user. id: of its message."""

    id: str
    text: str


class Decision(Struct, frozen=True, kw_only=True):
    """A question put to the user, and the answer."""

    id: str
    question: str
    answer: str


class FileSummary(Struct, frozen=True, kw_only=True):
    """What happened to a file.

    Attributes:
        kind: the last event.
        moved_to: its present path if it was moved.
        uncommitted_lines: lines changed since the last commit, as numbered then.
        committed_lines: lines changed and committed.
        is_uncommitted: there are changes since the last commit.
        is_discarded: the changes since then were thrown away.
        edits: replacements that later ones did not reverse, as checksum pairs; None if unknown.
    """

    kind: FileKind = "written"
    moved_to: str = ""
    uncommitted_lines: tuple[LineRange, ...] = ()
    committed_lines: tuple[LineRange, ...] = ()
    is_uncommitted: bool = True
    is_discarded: bool = False
    edits: tuple[tuple[int, int], ...] | None = None

    @property
    def is_reverted(self) -> bool:
        """Whether the file is as before: its changes were discarded, or each replacement was reversed."""
        return self.is_discarded or (self.kind == "written" and self.edits == ())


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """A command that ran to its end, and the last line it printed."""

    command: str
    exit_code: int
    last_line: str = ""


class AssistantText(Struct, frozen=True, kw_only=True):
    """A text of the assistant. id: of its message."""

    id: str
    text: str


class RunningJob(Struct, frozen=True, kw_only=True):
    """A background command that still runs: its name for job_output and job_stop, and its command without secrets."""

    name: str
    command: str


class TrimmedSpan(Struct, frozen=True, kw_only=True):
    """A trimmed stretch.

    Attributes:
        handle: name under which its messages can be read again.
        messages: number of its messages.
        again: how many of its messages an earlier stretch contains too.
        first_words: beginning of its first user message.
    """

    handle: str
    messages: int
    again: int = 0
    first_words: str = ""


class ThreadSummary(Struct, frozen=True, kw_only=True):
    """A stretch of conversation. All collections are in order of time, the most recently used item last.

    Attributes:
        messages: number of messages.
        answers: the last text of each turn.
        notes: texts of the assistant since the last answer.
        files: what happened to each changed file, by path.
        read: line ranges read of each file, by path; empty for all of it.
        discarded: paths whose changes were thrown away before the first commit of the stretch, "." for all.
        tools: number of successful calls by tool. failed: number of failed ones.
        attempts: reason of each failure by tool and target; "" if the same worked later.
        runs: test runs by command.
    """

    messages: int = 0
    requests: tuple[UserRequest, ...] = ()
    decisions: tuple[Decision, ...] = ()
    answers: tuple[AssistantText, ...] = ()
    notes: tuple[AssistantText, ...] = ()
    commits: tuple[Commit, ...] = ()
    files: dict[str, FileSummary] = {}
    read: dict[str, tuple[LineRange, ...]] = {}
    discarded: tuple[str, ...] = ()
    tools: dict[str, int] = {}
    failed: dict[str, int] = {}
    attempts: dict[str, str] = {}
    commands: dict[str, CommandOutcome] = {}
    runs: "dict[str, TestRun]" = {}

    @property
    def outcome(self) -> CommandOutcome | None:
        """The last command that ran to its end."""
        return next(reversed(self.commands.values()), None)


def summarize_messages(messages: Iterable[Message]) -> ThreadSummary:
    """Summarize messages in order. A tool result counts at the position of its call, even if it arrived later."""
    listed = list(messages)
    builder = _SummaryBuilder()
    for message, call in _pair_results_with_calls(listed):
        builder.add_message(message, call)
    return builder.make_summary(len(listed))


def merge_summaries(earlier: ThreadSummary, later: ThreadSummary) -> ThreadSummary:
    """Return the summary of two consecutive stretches."""
    return ThreadSummary(
        messages=earlier.messages + later.messages,
        requests=earlier.requests + later.requests,
        decisions=earlier.decisions + later.decisions,
        answers=(earlier.answers + later.answers)[-_ANSWERS:],
        notes=(later.notes if later.answers else earlier.notes + later.notes)[-_NOTES:],
        commits=_unique_commits(earlier.commits + later.commits),
        files=_merge_files(earlier, later),
        read=_merge_read(earlier.read, later.read),
        discarded=earlier.discarded if earlier.commits else tuple(dict.fromkeys(earlier.discarded + later.discarded)),
        tools=_add_counts(earlier.tools, later.tools),
        failed=_add_counts(earlier.failed, later.failed),
        attempts=_newest(_merge_latest_last(earlier.attempts, later.attempts), _ATTEMPTS),
        commands=_newest(_merge_latest_last(earlier.commands, later.commands), _COMMANDS),
        runs=_newest(_merge_latest_last(earlier.runs, later.runs), _RUNS),
    )


def _merge_files(earlier: ThreadSummary, later: ThreadSummary) -> dict[str, FileSummary]:
    files: dict[str, FileSummary] = {}
    for path, state in earlier.files.items():
        if path not in later.files:
            files[path] = _apply_event(state, _first_event(later, path)) if later.discarded or later.commits else state
    for path, state in later.files.items():
        before = earlier.files.get(path)
        files[path] = state if before is None else _combine(_apply_event(before, _first_event(later, path)), state)
    return files


def _first_event(stretch: ThreadSummary, path: str) -> str:
    """Return what a stretch did first to uncommitted changes from before it: "discard", "commit", or "" for nothing."""
    if any(_is_under(path, discarded_path) for discarded_path in stretch.discarded):
        return "discard"
    return "commit" if stretch.commits else ""


def _apply_event(state: FileSummary, event: str) -> FileSummary:
    if not state.is_uncommitted or not event:
        return state
    if event == "discard":
        return replace(state, uncommitted_lines=(), is_uncommitted=False, is_discarded=True, edits=None)
    return replace(
        state,
        uncommitted_lines=(),
        committed_lines=join_ranges(state.committed_lines + state.uncommitted_lines),
        is_uncommitted=False,
    )


def _combine(before: FileSummary, after: FileSummary) -> FileSummary:
    """Return what happened to a file in two consecutive stretches.

    `before` must already include the effect of the later stretch's commits and discards.
    """
    if before.kind != "written" or after.kind != "written":
        edits = None
    else:
        edits = None if before.edits is None or after.edits is None else _reduce(before.edits + after.edits)
    return replace(
        after,
        uncommitted_lines=join_ranges(before.uncommitted_lines + after.uncommitted_lines)
        if after.is_uncommitted
        else after.uncommitted_lines,
        committed_lines=join_ranges(before.committed_lines + after.committed_lines),
        edits=edits,
    )


def _reduce(edits: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the replacements without pairs that reverse each other."""
    remaining: list[tuple[int, int]] = []
    for old, new in edits:
        if remaining and remaining[-1] == (new, old):
            remaining.pop()
        else:
            remaining.append((old, new))
    return tuple(remaining)


def _is_under(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _merge_read(
    earlier: Mapping[str, tuple[LineRange, ...]], later: Mapping[str, tuple[LineRange, ...]]
) -> dict[str, tuple[LineRange, ...]]:
    read = {path: ranges for path, ranges in earlier.items() if path not in later}
    for path, ranges in later.items():
        before = earlier.get(path, ranges)
        read[path] = join_ranges(before + ranges) if before and ranges else ()
    return read


def _pair_results_with_calls(messages: list[Message]) -> list[tuple[Message, ToolCall | None]]:
    """Return the messages with each call's first result moved behind the call; other results belong to no call.

    Some servers count call ids from zero in every answer, so an id means the newest call that has it.
    """
    pending_calls: dict[str, tuple[int, ToolCall]] = {}
    positioned: list[tuple[int, int, Message, ToolCall | None]] = []
    newest, ordered = -1, True
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            call_position, call = pending_calls.pop(message.tool_call_id, (position, None))
            ordered = ordered and call_position == newest
            positioned.append((call_position, 1 if call else 0, message, call))
            continue
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                pending_calls[call.id] = (position, call)
        newest = position
        positioned.append((position, 0, message, None))
    if not ordered:  # rare; sorting takes as long as everything else
        positioned.sort(key=lambda item: item[:2])
    return [(message, call) for _, _, message, call in positioned]


class _SummaryBuilder:
    """Collects a summary message by message."""

    def __init__(self) -> None:
        self._requests: list[UserRequest] = []
        self._decisions: list[Decision] = []
        self._answers: list[AssistantText] = []
        self._notes: list[AssistantText] = []
        self._commits: dict[str, Commit] = {}
        self._files: dict[str, FileSummary] = {}
        self._read: dict[str, tuple[LineRange, ...]] = {}
        self._discarded: dict[str, None] = {}
        self._tools: dict[str, int] = {}
        self._failed: dict[str, int] = {}
        self._attempts: dict[str, str] = {}
        self._commands: dict[str, CommandOutcome] = {}
        self._runs: dict[str, TestRun] = {}

    def add_message(self, message: Message, call: ToolCall | None) -> None:
        if isinstance(message, UserMessage):
            if message.origin == "user" and is_substantive(message.content):
                self._requests.append(UserRequest(id=message.id, text=shorten_middle(message.content, TEXT_CHARS)))
        elif isinstance(message, AssistantMessage):
            self._add_assistant_text(message)
        elif isinstance(message, ToolMessage):
            self._add_result(call or ToolCall(id=message.tool_call_id, name=message.name), message)

    def _add_assistant_text(self, message: AssistantMessage) -> None:
        from clio.memory.transcripts.query import says_nothing

        text = message.content.strip()
        if text and not message.tool_calls and says_nothing(text):
            self._notes.clear()  # "Understood." is no result
        elif text and not message.tool_calls:
            self._answers.append(AssistantText(id=message.id, text=shorten_middle(text, _ASSISTANT_TEXT_CHARS)))
            self._notes.clear()
        elif len(text) >= _MIN_NOTE_CHARS:
            self._notes.append(AssistantText(id=message.id, text=shorten_middle(text, _ASSISTANT_TEXT_CHARS)))

    def _add_result(self, call: ToolCall, message: ToolMessage) -> None:
        effects = find_side_effects(call, message)
        has_worked = message.ok or (bool(effects.command) and effects.exit_code is not None)
        counters = self._tools if has_worked else self._failed
        counters[call.name] = counters.get(call.name, 0) + 1
        if not has_worked or effects.changed or effects.read:
            self._add_attempt(call, message, effects, has_worked=has_worked)
        for path in effects.read:
            self._add_file_read(path, message.content)
        if effects.command and effects.exit_code is not None:
            self._add_command(effects.command, effects.exit_code, message.content)
        if effects.commits:
            self._add_commits(effects.commits)
        if effects.question:
            question, answer = shorten_middle(effects.question, TEXT_CHARS), shorten_middle(effects.answer, TEXT_CHARS)
            self._decisions.append(Decision(id=message.id, question=question, answer=answer))

    def _add_attempt(self, call: ToolCall, message: ToolMessage, effects: SideEffects, *, has_worked: bool) -> None:
        """Record why a call failed, or that it works now, and the files it changed."""
        arguments = decode_call_arguments(call)
        patched = find_patched_paths(arguments)
        target = find_call_path(arguments) or next((each for each in arguments.values() if isinstance(each, str)), "")
        for each in patched or ([target] if target or not has_worked else []):
            key = shorten_line(f"{call.name} {each}", _LINE_CHARS)
            _put_last(self._attempts, key, "" if has_worked else _reason(message))
        edit = None
        if len(effects.changed) == 1 and normalize_tool_name(call.name, arguments) in EDIT_TOOLS:
            edit = _replacement(arguments)
        for change in effects.changed:
            self._add_change(change, edit)

    def _add_file_read(self, path: str, output: str) -> None:
        shown = parse_shown_ranges(output)
        ranges = () if is_whole_file(output, shown) else shown
        before = self._read.get(path, ranges)
        _put_last(self._read, path, join_ranges(before + ranges) if before and ranges else ())

    def _add_command(self, command: str, exit_code: int, output: str) -> None:
        key = shorten_middle(command, _COMMAND_CHARS)
        _put_last(self._commands, key, CommandOutcome(command=key, exit_code=exit_code, last_line=_last_line(output)))
        if output.strip():
            from clio.context.command_results import parse_test_report

            report = parse_test_report(output)
            if report is not None:
                _put_last(self._runs, key, report)
        if exit_code == 0 and "git" in command:
            from clio.context.command_results import list_discarded_paths

            for path in list_discarded_paths(command):
                self._discard_changes(path)

    def _add_commits(self, commits: Iterable[Commit]) -> None:
        for commit in commits:
            self._commits.setdefault(commit.hash, commit)
        for path, state in self._files.items():
            self._files[path] = _apply_event(state, "commit")

    def _discard_changes(self, discarded_path: str) -> None:
        for path, state in self._files.items():
            if _is_under(path, discarded_path):
                self._files[path] = _apply_event(state, "discard")
        if not self._commits:
            self._discarded[discarded_path] = None

    def _add_change(self, change: ChangedFile, edit: tuple[int, int] | None) -> None:
        if change.kind == "move":
            self._update_file(change.path, FileSummary(kind="moved", moved_to=change.moved_to))
            if change.moved_to:
                self._update_file(change.moved_to, FileSummary())
        elif change.kind == "delete":
            self._update_file(change.path, FileSummary(kind="deleted"))
        else:
            self._update_file(change.path, FileSummary(uncommitted_lines=change.lines, edits=(edit,) if edit else None))

    def _update_file(self, path: str, state: FileSummary) -> None:
        before = self._files.get(path)
        _put_last(self._files, path, state if before is None else _combine(before, state))

    def make_summary(self, messages: int) -> ThreadSummary:
        return ThreadSummary(
            messages=messages,
            requests=tuple(self._requests),
            decisions=tuple(self._decisions),
            answers=tuple(self._answers[-_ANSWERS:]),
            notes=tuple(self._notes[-_NOTES:]),
            commits=tuple(self._commits.values()),
            files=dict(self._files),
            read=dict(self._read),
            discarded=tuple(self._discarded),
            tools=dict(sorted(self._tools.items())),
            failed=dict(sorted(self._failed.items())),
            attempts=_newest(self._attempts, _ATTEMPTS),
            commands=_newest(self._commands, _COMMANDS),
            runs=_newest(self._runs, _RUNS),
        )


def _put_last(items: dict[str, Item], key: str, value: Item) -> None:
    items.pop(key, None)
    items[key] = value


def _newest(items: Mapping[str, Item], count: int) -> dict[str, Item]:
    return dict(list(items.items())[-count:])


def _reason(message: ToolMessage) -> str:
    """Return why a call failed: the first line of the result, or its summary."""
    return shorten_line(message.content.strip().partition("\n")[0] or message.summary, _LINE_CHARS) or "failed"


def _replacement(arguments: Mapping[str, object]) -> tuple[int, int] | None:
    """Return checksums of the old and new text of an edit; None if its arguments do not contain them."""
    for old, new in (("old_string", "new_string"), ("old_str", "new_str"), ("old", "new")):
        before, after = arguments.get(old), arguments.get(new)
        if isinstance(before, str) and isinstance(after, str):
            return crc32(before.encode("utf-8", "surrogatepass")), crc32(after.encode("utf-8", "surrogatepass"))
    return None


def _last_line(output: str) -> str:
    """Return the last line a command printed, without the status line that clio puts before the output."""
    lines = [line for line in output.rstrip()[-4 * _LINE_CHARS :].splitlines() if line.strip()]
    last = lines[-1].strip() if lines else ""
    is_state = last in {"(no output)", ""} or (len(lines) == 1 and last.startswith("[exit "))
    return "" if is_state else shorten_line(last, _LINE_CHARS)


def _unique_commits(commits: tuple[Commit, ...]) -> tuple[Commit, ...]:
    """Return each commit once, at its first mention: `git log` may repeat what `git commit` reported."""
    first: dict[str, Commit] = {}
    for commit in commits:
        first.setdefault(commit.hash, commit)
    return tuple(first.values())


def _merge_latest_last(earlier: Mapping[str, Item], later: Mapping[str, Item]) -> dict[str, Item]:
    return {key: value for key, value in earlier.items() if key not in later} | dict(later)


def _add_counts(earlier: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    names = sorted({*earlier, *later})
    return {name: earlier.get(name, 0) + later.get(name, 0) for name in names}
