"""What happened in a stretch of conversation, as data; `summary_text` renders it.

The summary of two stretches is the merge of their summaries: `summarise(a + b) == merge(summarise(a), summarise(b))`
wherever no unit is split. So a session is summed up trim by trim, each message is looked at once, and nothing is ever
parsed back out of rendered text. Single texts are shortened, and of commands, attempts, test runs and the assistant's
words only the newest are kept; what else must give way for a window is decided by the renderer.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeVar
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from clio.context.inert_text import shorten, shorten_line
from clio.context.message_views import LineRange, is_substantive, is_whole_file, join_ranges, shown_ranges
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
    EDITORS,
    decode_call_arguments,
    find_call_path,
    find_patched_paths,
    find_side_effects,
    normalize_tool_name,
)

if TYPE_CHECKING:
    from clio.context.command_results import TestRun

TEXT_CHARS = 2_000
"""A longer request, question or answer keeps its beginning and its end; the archive has the whole."""
_COMMAND_CHARS, _LINE_CHARS, _SAID_CHARS, _LEAST_NOTE = 300, 200, 700, 40
_COMMANDS, _ATTEMPTS, _RUNS, _ANSWERS, _NOTES = 30, 60, 12, 12, 8  # the newest that are kept
FileKind = Literal["written", "moved", "deleted"]

Item = TypeVar("Item")


class Ask(Struct, frozen=True, kw_only=True):
    """One request of the user's, by the id of its message."""

    id: str
    text: str


class Decision(Struct, frozen=True, kw_only=True):
    """A question put to the user, and the answer."""

    id: str
    question: str
    answer: str


class FileState(Struct, frozen=True, kw_only=True):
    """What became of a file last. `moved_to` is where it is now.

    lines: changed since the last commit, as they were numbered then; kept: changed and committed.
    is_open: whether there are changes since the last commit. is_back: the changes since then were thrown away.
    edits: the replacements since the beginning that later ones did not reverse; None where they are not known.
    """

    kind: FileKind = "written"
    moved_to: str = ""
    lines: tuple[LineRange, ...] = ()
    kept: tuple[LineRange, ...] = ()
    is_open: bool = True
    is_back: bool = False
    edits: tuple[tuple[int, int], ...] | None = None

    @property
    def is_reverted(self) -> bool:
        """Whether the file is as it was before: put back, or each replacement reversed."""
        return self.is_back or (self.kind == "written" and self.edits == ())


class Outcome(Struct, frozen=True, kw_only=True):
    """A command that ran to its end, and the last line it printed."""

    command: str
    exit_code: int
    last_line: str = ""


class Said(Struct, frozen=True, kw_only=True):
    """Words of the assistant, by the id of the message."""

    id: str
    text: str


class SpanInfo(Struct, frozen=True, kw_only=True):
    """A trimmed stretch: the handle that brings it back, how many messages it holds, how it begins.

    again: how many of the messages an earlier stretch holds as well.
    """

    handle: str
    messages: int
    again: int = 0
    first_words: str = ""


class ThreadSummary(Struct, frozen=True, kw_only=True):
    """A stretch of conversation; all in the order of time, what was touched last is last.

    messages: how many there were. answers: the last words of each turn; notes: what the assistant said since.
    files: path → what became of it; read: path → the lines read of it, none for all. put_back: paths whose changes were
    thrown away before the first commit of the stretch, "." for all. tools: calls that did their work; failed: the
    others. attempts: what failed, by tool and target → why; "" where it worked later. runs: of tests, by command.
    """

    messages: int = 0
    asks: tuple[Ask, ...] = ()
    decisions: tuple[Decision, ...] = ()
    answers: tuple[Said, ...] = ()
    notes: tuple[Said, ...] = ()
    commits: tuple[Commit, ...] = ()
    files: dict[str, FileState] = {}
    read: dict[str, tuple[LineRange, ...]] = {}
    put_back: tuple[str, ...] = ()
    tools: dict[str, int] = {}
    failed: dict[str, int] = {}
    attempts: dict[str, str] = {}
    commands: dict[str, Outcome] = {}
    runs: "dict[str, TestRun]" = {}

    @property
    def outcome(self) -> Outcome | None:
        """The last command that ran to its end."""
        return next(reversed(self.commands.values()), None)


def summarise(messages: Iterable[Message]) -> ThreadSummary:
    """The summary of messages in their order; a result counts where its call is, however late it came."""
    listed = list(messages)
    gathered = _Gathered()
    for message, call in _in_order(listed):
        gathered.take(message, call)
    return gathered.summary(len(listed))


def merge(earlier: ThreadSummary, later: ThreadSummary) -> ThreadSummary:
    """The summary of both stretches, one after the other."""
    return ThreadSummary(
        messages=earlier.messages + later.messages,
        asks=earlier.asks + later.asks,
        decisions=earlier.decisions + later.decisions,
        answers=(earlier.answers + later.answers)[-_ANSWERS:],
        notes=(later.notes if later.answers else earlier.notes + later.notes)[-_NOTES:],
        commits=_once(earlier.commits + later.commits),
        files=_merge_files(earlier, later),
        read=_merge_read(earlier.read, later.read),
        put_back=earlier.put_back if earlier.commits else tuple(dict.fromkeys(earlier.put_back + later.put_back)),
        tools=_added(earlier.tools, later.tools),
        failed=_added(earlier.failed, later.failed),
        attempts=_newest(_latest_last(earlier.attempts, later.attempts), _ATTEMPTS),
        commands=_newest(_latest_last(earlier.commands, later.commands), _COMMANDS),
        runs=_newest(_latest_last(earlier.runs, later.runs), _RUNS),
    )


def _merge_files(earlier: ThreadSummary, later: ThreadSummary) -> dict[str, FileState]:
    files: dict[str, FileState] = {}
    for path, state in earlier.files.items():
        if path not in later.files:
            files[path] = _settled(state, _first_event(later, path)) if later.put_back or later.commits else state
    for path, state in later.files.items():
        before = earlier.files.get(path)
        files[path] = state if before is None else _combine(_settled(before, _first_event(later, path)), state)
    return files


def _first_event(stretch: ThreadSummary, path: str) -> str:
    """What a stretch did first to open changes from before it: "back", "commit", or nothing."""
    if any(_is_under(path, put_back) for put_back in stretch.put_back):
        return "back"
    return "commit" if stretch.commits else ""


def _settled(state: FileState, event: str) -> FileState:
    if not state.is_open or not event:
        return state
    if event == "back":
        return replace(state, lines=(), is_open=False, is_back=True, edits=None)
    return replace(state, lines=(), kept=join_ranges(state.kept + state.lines), is_open=False)


def _combine(before: FileState, after: FileState) -> FileState:
    """What became of a file in two stretches; the commits of the later one are in both already."""
    if before.kind != "written" or after.kind != "written":
        edits = None
    else:
        edits = None if before.edits is None or after.edits is None else _reduce(before.edits + after.edits)
    return replace(
        after,
        lines=join_ranges(before.lines + after.lines) if after.is_open else after.lines,
        kept=join_ranges(before.kept + after.kept),
        edits=edits,
    )


def _reduce(edits: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The replacements without those that the next one reverses."""
    left: list[tuple[int, int]] = []
    for old, new in edits:
        if left and left[-1] == (new, old):
            left.pop()
        else:
            left.append((old, new))
    return tuple(left)


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


def _in_order(messages: list[Message]) -> list[tuple[Message, ToolCall | None]]:
    """The messages with each first result moved behind its call, and that call; other results belong to none.

    Call ids repeat with servers that count from zero in every answer; the newest call so far is the one that is meant.
    """
    asked: dict[str, tuple[int, ToolCall]] = {}
    placed: list[tuple[int, int, Message, ToolCall | None]] = []
    newest, ordered = -1, True
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            place, call = asked.pop(message.tool_call_id, (position, None))
            ordered = ordered and place == newest
            placed.append((place, 1 if call else 0, message, call))
            continue
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                asked[call.id] = (position, call)
        newest = position
        placed.append((position, 0, message, None))
    if not ordered:  # seldom: a sort costs as much as all the rest
        placed.sort(key=lambda item: item[:2])
    return [(message, call) for _, _, message, call in placed]


class _Gathered:
    """A summary in the making."""

    def __init__(self) -> None:
        self._asks: list[Ask] = []
        self._decisions: list[Decision] = []
        self._answers: list[Said] = []
        self._notes: list[Said] = []
        self._commits: dict[str, Commit] = {}
        self._files: dict[str, FileState] = {}
        self._read: dict[str, tuple[LineRange, ...]] = {}
        self._put_back: dict[str, None] = {}
        self._tools: dict[str, int] = {}
        self._failed: dict[str, int] = {}
        self._attempts: dict[str, str] = {}
        self._commands: dict[str, Outcome] = {}
        self._runs: dict[str, TestRun] = {}

    def take(self, message: Message, call: ToolCall | None) -> None:
        if isinstance(message, UserMessage):
            if message.origin == "user" and is_substantive(message.content):
                self._asks.append(Ask(id=message.id, text=shorten(message.content, TEXT_CHARS)))
        elif isinstance(message, AssistantMessage):
            self._take_words(message)
        elif isinstance(message, ToolMessage):
            self._take_result(call or ToolCall(id=message.tool_call_id, name=message.name), message)

    def _take_words(self, message: AssistantMessage) -> None:
        text = message.content.strip()
        if text and not message.tool_calls:
            self._answers.append(Said(id=message.id, text=shorten(text, _SAID_CHARS)))
            self._notes.clear()
        elif len(text) >= _LEAST_NOTE:
            self._notes.append(Said(id=message.id, text=shorten(text, _SAID_CHARS)))

    def _take_result(self, call: ToolCall, message: ToolMessage) -> None:
        deeds = find_side_effects(call, message)
        has_worked = message.ok or (bool(deeds.command) and deeds.exit_code is not None)
        count = self._tools if has_worked else self._failed
        count[call.name] = count.get(call.name, 0) + 1
        if not has_worked or deeds.changed or deeds.read:
            self._take_attempt(call, message, deeds, has_worked=has_worked)
        for path in deeds.read:
            self._take_reading(path, message.content)
        if deeds.command and deeds.exit_code is not None:
            self._take_command(deeds.command, deeds.exit_code, message.content)
        if deeds.commits:
            self._commit(deeds.commits)
        if deeds.question:
            question, answer = shorten(deeds.question, TEXT_CHARS), shorten(deeds.answer, TEXT_CHARS)
            self._decisions.append(Decision(id=message.id, question=question, answer=answer))

    def _take_attempt(self, call: ToolCall, message: ToolMessage, deeds: SideEffects, *, has_worked: bool) -> None:
        """Note a call that failed, one that may make an earlier failure good, and what it changed."""
        arguments = decode_call_arguments(call)
        patched = find_patched_paths(arguments)
        target = find_call_path(arguments) or next((each for each in arguments.values() if isinstance(each, str)), "")
        for each in patched or ([target] if target or not has_worked else []):
            key = shorten_line(f"{call.name} {each}", _LINE_CHARS)
            _put_last(self._attempts, key, "" if has_worked else _reason(message))
        edit = None
        if len(deeds.changed) == 1 and normalize_tool_name(call.name, arguments) in EDITORS:
            edit = _replacement(arguments)
        for deed in deeds.changed:
            self._change(deed, edit)

    def _take_reading(self, path: str, output: str) -> None:
        shown = shown_ranges(output)
        ranges = () if is_whole_file(output, shown) else shown
        before = self._read.get(path, ranges)
        _put_last(self._read, path, join_ranges(before + ranges) if before and ranges else ())

    def _take_command(self, command: str, exit_code: int, output: str) -> None:
        key = shorten(command, _COMMAND_CHARS)
        _put_last(self._commands, key, Outcome(command=key, exit_code=exit_code, last_line=_last_line(output)))
        if output.strip():
            from clio.context.command_results import read_report

            report = read_report(output)
            if report is not None:
                _put_last(self._runs, key, report)
        if exit_code == 0 and "git" in command:
            from clio.context.command_results import put_back

            for path in put_back(command):
                self._throw_away(path)

    def _commit(self, commits: Iterable[Commit]) -> None:
        for commit in commits:
            self._commits.setdefault(commit.hash, commit)
        for path, state in self._files.items():
            self._files[path] = _settled(state, "commit")

    def _throw_away(self, put_back: str) -> None:
        for path, state in self._files.items():
            if _is_under(path, put_back):
                self._files[path] = _settled(state, "back")
        if not self._commits:
            self._put_back[put_back] = None

    def _change(self, deed: ChangedFile, edit: tuple[int, int] | None) -> None:
        if deed.kind == "move":
            self._put(deed.path, FileState(kind="moved", moved_to=deed.moved_to))
            if deed.moved_to:
                self._put(deed.moved_to, FileState())
        elif deed.kind == "delete":
            self._put(deed.path, FileState(kind="deleted"))
        else:
            self._put(deed.path, FileState(lines=deed.lines, edits=(edit,) if edit else None))

    def _put(self, path: str, state: FileState) -> None:
        before = self._files.get(path)
        _put_last(self._files, path, state if before is None else _combine(before, state))

    def summary(self, messages: int) -> ThreadSummary:
        return ThreadSummary(
            messages=messages,
            asks=tuple(self._asks),
            decisions=tuple(self._decisions),
            answers=tuple(self._answers[-_ANSWERS:]),
            notes=tuple(self._notes[-_NOTES:]),
            commits=tuple(self._commits.values()),
            files=dict(self._files),
            read=dict(self._read),
            put_back=tuple(self._put_back),
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
    """Why a call failed: its result's own summary, else the first line."""
    return shorten_line(message.content.strip().partition("\n")[0] or message.summary, _LINE_CHARS) or "failed"


def _replacement(arguments: Mapping[str, object]) -> tuple[int, int] | None:
    """What an edit replaced by what, as two checksums; None where its arguments do not say."""
    for old, new in (("old_string", "new_string"), ("old_str", "new_str"), ("old", "new")):
        before, after = arguments.get(old), arguments.get(new)
        if isinstance(before, str) and isinstance(after, str):
            return crc32(before.encode("utf-8", "surrogatepass")), crc32(after.encode("utf-8", "surrogatepass"))
    return None


def _last_line(output: str) -> str:
    """The last line a command printed; the state clio puts before the output is none."""
    lines = [line for line in output.rstrip()[-4 * _LINE_CHARS :].splitlines() if line.strip()]
    last = lines[-1].strip() if lines else ""
    is_state = last in {"(no output)", ""} or (len(lines) == 1 and last.startswith("[exit "))
    return "" if is_state else shorten_line(last, _LINE_CHARS)


def _once(commits: tuple[Commit, ...]) -> tuple[Commit, ...]:
    """Each commit where it was first told; `git commit` and a later report of it are one."""
    first: dict[str, Commit] = {}
    for commit in commits:
        first.setdefault(commit.hash, commit)
    return tuple(first.values())


def _latest_last(earlier: Mapping[str, Item], later: Mapping[str, Item]) -> dict[str, Item]:
    return {key: value for key, value in earlier.items() if key not in later} | dict(later)


def _added(earlier: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    names = sorted({*earlier, *later})
    return {name: earlier.get(name, 0) + later.get(name, 0) for name in names}
