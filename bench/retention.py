"""Measure what a trim leaves in the window: recent results, reads that must be repeated, use of the window, the cache.

    python -m bench.retention [FOLDER] [--before COMMIT] [--sessions 6]

Recorded sessions (transcripts below FOLDER, at any depth) are replayed step by step. In generated ones a scripted agent
reads, searches, edits and tests, and reads a file again if it needs it and its content was trimmed. --before also
measures an earlier commit of clio, checked out into a temporary folder, and prints both.
"""

import argparse
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from tarfile import TarFile

import msgspec
from msgspec import Struct

from bench.histories import make_window, store_session
from bench.transcripts import find_transcripts
from clio.context.request_builder import BuiltRequest
from clio.context.window import ContextWindow
from clio.errors import ContextOverflow
from clio.messages import AssistantMessage, ChangedFile, Message, SideEffects, ToolCall, ToolMessage, UserMessage
from clio.providers.chat import ChatProtocol
from clio.sessions.session import Session
from clio.tokens import message_units

ROOT = Path(__file__).parent.parent
WINDOWS = (8_192, 16_384, 24_000, 32_768)
RECENT = 3
_RATIO = 4.0
_COMPACT, _FULL = 1_500, 4_000  # tokens of system prompt and tools in windows up to 16K, and in larger ones


class SessionMetrics(Struct, frozen=True, kw_only=True):
    """The figures of one session in one window.

    lost: results of the last three steps that a trim removed or shortened although they would have fitted.
    too_large: those that did not fit. repeated: reads that the agent repeated because a trim removed them within three
    steps. use: share of the available space used by each request after the first trim, 0 to 1. kept_prefix: share of
    each request that the next one repeats unchanged, between trims. shared: share of each request that is an unchanged
    beginning of the one before.
    """

    window: int
    requests: int = 0
    trims: int = 0
    lost: int = 0
    too_large: int = 0
    repeated: int = 0
    use: tuple[float, ...] = ()
    kept_prefix: tuple[float, ...] = ()
    shared: tuple[float, ...] = ()


class RequestObserver:
    """Builds the requests of one session and records what each of them still contains."""

    def __init__(self, session: Session, tokens: int) -> None:
        fixed = _COMPACT if tokens <= 16_384 else _FULL
        self.session = session
        self.window: ContextWindow = make_window(session, tokens, system="The system prompt. " * (fixed * 4 // 19))
        self.tokens = tokens
        self._fixed = fixed * 4 // 19 * 19 / _RATIO
        self._room = tokens - min(tokens // 8, 16_384) - self._fixed
        self._encoder = ChatProtocol("model")
        self._body = b""
        self.trimmed_at: dict[str, int] = {}
        self.steps = 0
        self.counts = {"requests": 0, "trims": 0, "lost": 0, "too_large": 0}
        self.use: list[float] = []
        self.kept_prefix: list[float] = []
        self.shared: list[float] = []

    def add(self, messages: Sequence[Message]) -> BuiltRequest | None:
        """Append a step or a user message, and build the request; None if not even the user's messages fit."""
        for message in messages:
            self.session.append(message)
        self.steps += any(isinstance(message, ToolMessage) for message in messages)
        before = {message.id: message for message in self._shown}
        try:
            built = self.window.build()
        except ContextOverflow:
            return None
        self._record_request(built, before, messages)
        return built

    _shown: tuple[Message, ...] = ()

    def _record_request(self, built: BuiltRequest, before: dict[str, Message], new: Sequence[Message]) -> None:
        self.counts["requests"] += 1
        self._shown = built.request.messages
        now = {message.id: message.content for message in self._shown}
        if built.trimmed is not None:
            self.counts["trims"] += 1
            free = self._room * _RATIO - built.conversation
            for result in self._recent_results():
                seen = before[result.id].content if result.id in before else result.content
                if now.get(result.id) == seen:
                    continue
                shown = ToolMessage(tool_call_id="", content=now[result.id]) if result.id in now else None
                missing = message_units(result) - (message_units(shown) if shown else 0.0)
                if missing <= free and (result.id in before or result in new):
                    self.counts["lost"] += 1
                    free -= missing
                else:
                    self.counts["too_large"] += 1
            for id in before.keys() - now.keys():
                self.trimmed_at.setdefault(id, self.steps)
        if self.session.trims:
            self.use.append(built.conversation / _RATIO / self._room)
        body = self._encoder.encode(built.request).removesuffix(b"]}")
        if self._body:
            same = shared_prefix_length(self._body, body)
            self.shared.append(same / len(body))
            if built.trimmed is None:
                self.kept_prefix.append(same / len(self._body))
        self._body = body

    def _recent_results(self) -> list[ToolMessage]:
        """Return the tool results of the last three steps, newest first."""
        results: list[ToolMessage] = []
        steps = 0
        for message in reversed(self.session.messages):
            if isinstance(message, ToolMessage):
                results.append(message)
            elif isinstance(message, AssistantMessage) and message.tool_calls:
                steps += 1
                if steps == RECENT:
                    break
        return results

    def has_result(self, result_id: str) -> bool:
        """Return whether the newest request contains this result in full."""
        whole = next(message.content for message in self.session.messages if message.id == result_id)
        return any(message.id == result_id and message.content == whole for message in self._shown)

    def metrics(self, repeated: int = 0) -> SessionMetrics:
        """Return the figures so far."""
        return SessionMetrics(
            window=self.tokens,
            repeated=repeated,
            use=tuple(self.use),
            kept_prefix=tuple(self.kept_prefix),
            shared=tuple(self.shared),
            **self.counts,
        )


def shared_prefix_length(one: bytes, two: bytes) -> int:
    """Return the length of the common prefix in bytes."""
    size = min(len(one), len(two))
    if one[:size] == two[:size]:
        return size
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle)
    return low


# Recorded sessions


def replay(messages: Sequence[Message], tokens: int, folder: Path) -> SessionMetrics:
    """Replay a session in a window, one request per step."""
    observer = RequestObserver(store_session([], folder), tokens)
    for step in split_into_steps(messages):
        observer.add(step)
    return observer.metrics()


def split_into_steps(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield the messages between one request and the next."""
    step: list[Message] = []
    waiting = 0
    for message in messages:
        if isinstance(message, AssistantMessage):
            waiting = len(message.tool_calls)
        elif isinstance(message, ToolMessage):
            waiting -= 1
        step.append(message)
        if waiting <= 0 and not isinstance(message, AssistantMessage):
            yield step
            step = []
    if step:
        yield step


# Generated sessions


class ScriptedAgent:
    """Works on a made-up project: reads, searches, edits and tests; reads a file again if its content was trimmed.

    size: factor for the length of results; 1.0 makes files of about 1,500 tokens.
    """

    def __init__(self, seed: int, observer: RequestObserver, size: float) -> None:
        self._rng = random.Random(seed)
        self._observer = observer
        self._size = size
        self._numbers = itertools.count()
        self._last_reads: dict[str, tuple[str, int]] = {}  # id and step of the latest read of each path
        self.repeated = 0

    def work(self, turns: int) -> SessionMetrics:
        """Run `turns` turns, each a task with about ten steps."""
        kinds = (
            self._search_and_read,
            self._search_and_read,
            self._edit_file,
            self._edit_file,
            self._fail_edit,
            self._install_package,
            self._recall_sessions,
        )
        for turn in range(turns):
            self._add_request(
                f"Task {turn}: make value {turn} right in the parser, its tests and its docs, then run them."
            )
            for _ in range(self._rng.randint(2, 5)):
                self._rng.choice(kinds)()
            self._run_tests(passes=self._rng.random() < 0.6)
            self._observer.add([AssistantMessage(id=self._new_id(), content=f"Value {turn} is right now. " * 6)])
        return self._observer.metrics(self.repeated)

    def _add_request(self, text: str) -> None:
        self._observer.add([UserMessage(id=self._new_id(), content=text)])

    def _new_id(self) -> str:
        return f"m{next(self._numbers)}"

    def _add_step(self, *calls: tuple[str, dict[str, object], str, bool, SideEffects]) -> list[ToolMessage]:
        tool_calls = [
            ToolCall(id=f"c{place}", name=name, arguments=json.dumps(arguments))
            for place, (name, arguments, *_) in enumerate(calls)
        ]
        head = AssistantMessage(id=self._new_id(), content="I look at what comes next.", tool_calls=tuple(tool_calls))
        results = [
            ToolMessage(
                id=self._new_id(),
                tool_call_id=call.id,
                name=call.name,
                content=output,
                ok=ok,
                side_effects=side_effects,
            )
            for call, (_, _, output, ok, side_effects) in zip(tool_calls, calls, strict=True)
        ]
        self._observer.add([head, *results])
        return results

    def _make_lines(self, count: int) -> list[str]:
        words = "value parser order error input state token reader field limit".split()
        return [
            f"    {self._rng.choice(words)}_{self._rng.randint(0, 999)} = {self._rng.choice(words)}(item, {n})"
            for n in range(count)
        ]

    def _make_read(self, path: str) -> tuple[str, dict[str, object], str, bool, SideEffects]:
        count = int(self._rng.randint(60, 200) * self._size)
        rows = "\n".join(f"{number:>4}|{line}" for number, line in enumerate(self._make_lines(count), 1))
        return "read_file", {"path": path}, rows, True, SideEffects(read=(path,))

    def _draw_path(self) -> str:
        return f"src/part_{self._rng.randint(0, 11)}.py"

    def _read_files(self, paths: Sequence[str]) -> None:
        for path, result in zip(paths, self._add_step(*map(self._make_read, paths)), strict=True):
            self._last_reads[path] = (result.id, self._observer.steps)

    def _read_if_not_visible(self, path: str) -> None:
        """Read the path unless the window contains its latest read."""
        known = self._last_reads.get(path)
        if known is not None and self._observer.has_result(known[0]):
            return
        if known is not None and self._observer.trimmed_at.get(known[0], 10**9) - known[1] < RECENT:
            self.repeated += 1
        self._read_files([path])

    def _search_and_read(self) -> None:
        rows = "\n".join(
            f"{self._draw_path()}:{self._rng.randint(1, 300)}:{line}" for line in self._make_lines(int(30 * self._size))
        )
        self._add_step(("search_text", {"pattern": f"value_{self._rng.randint(0, 999)}"}, rows, True, SideEffects()))
        self._read_files(sorted({self._draw_path() for _ in range(self._rng.randint(1, 3))}))

    def _edit_file(self) -> None:
        path = self._draw_path()
        self._read_if_not_visible(path)
        if self._rng.random() < 0.5:
            self._read_docs()
        self._read_if_not_visible(path)
        self._add_edit(path, 200, 260)

    def _read_docs(self) -> None:
        self._add_step(self._make_read(f"docs/page_{self._rng.randint(0, 5)}.md"))

    def _fail_edit(self) -> None:
        path = self._draw_path()
        self._read_if_not_visible(path)
        arguments: dict[str, object] = {"path": path, "old_string": "x" * 900, "new_string": "y" * 900}
        error = f"'{path}' is unchanged: old_string is not in the file.\n" + "\n".join(
            self._make_lines(int(25 * self._size))
        )
        self._add_step(("edit_file", arguments, error, False, SideEffects()))
        self._read_if_not_visible(path)
        self._add_edit(path, 100, 100)

    def _add_edit(self, path: str, old_chars: int, new_chars: int) -> None:
        arguments: dict[str, object] = {"path": path, "old_string": "a" * old_chars, "new_string": "b" * new_chars}
        side_effects = SideEffects(changed=(ChangedFile(path=path, kind="update"),))
        self._add_step(("edit_file", arguments, f"edited {path}", True, side_effects))

    def _install_package(self) -> None:
        rows = "\n".join(
            f"Downloading package_{n}-1.{n}.0-py3-none-any.whl ({n * 7} kB)" for n in range(int(50 * self._size))
        )
        command = "pip install -e ."
        self._run_command(command, f"[exit 0 in 9.1 s]\n{rows}\nSuccessfully installed package_1-1.1.0", 0)

    def _recall_sessions(self) -> None:
        rows = "\n".join(self._make_lines(int(30 * self._size)))
        self._add_step(
            ("memory_operations", {"operation": "recall_sessions", "query": "value"}, rows, True, SideEffects())
        )

    def _run_tests(self, *, passes: bool) -> None:
        rows = "\n".join(f"tests/test_part_{n}.py {'.' * 40} [{n}%]" for n in range(int(25 * self._size)))
        end = "===== 200 passed in 3.21s =====" if passes else "===== 1 failed, 199 passed in 3.21s ====="
        failed = "" if passes else "FAILED tests/test_part_3.py::test_value - AssertionError: assert 3 == 4\n"
        self._run_command("pytest", f"[exit {int(not passes)} in 3.4 s]\n{rows}\n{failed}{end}", int(not passes))

    def _run_command(self, command: str, output: str, code: int) -> None:
        self._add_step(
            ("run_command", {"command": command}, output, code == 0, SideEffects(command=command, exit_code=code))
        )


def generate(seed: int, tokens: int, folder: Path, *, turns: int = 12, size: float = 1.0) -> SessionMetrics:
    """Measure a generated session in a window."""
    observer = RequestObserver(store_session([], folder), tokens)
    return ScriptedAgent(seed, observer, size).work(turns)


# The tables


def measure(folder: Path | None, sessions: int) -> dict[str, list[SessionMetrics]]:
    """Measure all sessions in all windows, by the name of the row."""
    found: dict[str, list[SessionMetrics]] = {}

    def run_in_windows(name: str, run: Callable[[int, Path], SessionMetrics]) -> None:
        for tokens in WINDOWS:
            with tempfile.TemporaryDirectory() as place:
                found.setdefault(f"{name}, {tokens:,}", []).append(run(tokens, Path(place)))

    for _, transcript in find_transcripts(folder) if folder else []:
        run_in_windows("recorded", lambda tokens, place, messages=transcript.messages: replay(messages, tokens, place))
    for seed in range(sessions):
        for size in (0.4, 1.0, 2.0):
            run_in_windows(
                f"generated, results × {size}",
                lambda tokens, place, seed=seed, size=size: generate(seed, tokens, place, size=size),
            )
    return found


def format_row(metrics: Sequence[SessionMetrics]) -> list[str]:
    """Return the cells of a row."""
    trimmed = [one for one in metrics if one.trims]
    use = [share for one in trimmed for share in one.use]
    prefix = [share for one in trimmed for share in one.kept_prefix]
    shared = [share for one in trimmed for share in one.shared]
    return [
        f"{sum(one.trims for one in metrics)} in {sum(one.requests for one in metrics)}",
        str(sum(one.lost for one in metrics)),
        str(sum(one.too_large for one in metrics)),
        str(sum(one.repeated for one in metrics)),
        f"{statistics.mean(use):.0%}" if use else "–",
        f"{statistics.mean(prefix):.1%}" if prefix else "–",
        f"{statistics.median(shared):.1%}, {statistics.mean(shared):.1%}" if shared else "–",
    ]


COLUMNS = (
    "trims in requests",
    "lost though they fit",
    "too large",
    "reads repeated",
    "use",
    "prefix kept",
    "shared, median and mean",
)


def print_table(
    metrics_by_row: dict[str, list[SessionMetrics]], before: dict[str, list[SessionMetrics]] | None
) -> None:
    """Print the table, with two lines per row if `before` is given."""
    print(f"| session, window | {' | '.join(COLUMNS)} |\n|---|{'--:|' * len(COLUMNS)}")
    for name, metrics in metrics_by_row.items():
        if before is not None:
            print(f"| {name}, before | {' | '.join(format_row(before[name]))} |")
        print(f"| {name} | {' | '.join(format_row(metrics))} |")


def run_before(commit: str, folder: Path | None, sessions: int) -> dict[str, list[SessionMetrics]]:
    """Measure the clio of an earlier commit."""
    with tempfile.TemporaryDirectory() as place:
        archive = subprocess.run(
            ["git", "archive", commit, "clio", "prompts", "share"], cwd=ROOT, check=True, capture_output=True
        )
        TarFile(fileobj=BytesIO(archive.stdout)).extractall(place, filter="data")
        program = (
            f"import sys; sys.path[:0] = [{place!r}, {str(ROOT)!r}]\n"
            "from pathlib import Path; import msgspec; from bench.retention import measure\n"
            f"found = measure({f'Path({str(folder)!r})' if folder else None}, {sessions})\n"
            "sys.stdout.buffer.write(msgspec.json.encode(found))"
        )
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, cwd=place)
    return msgspec.json.decode(done.stdout, type=dict[str, list[SessionMetrics]])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--before", default="", help="a commit to compare with")
    parser.add_argument("--sessions", type=int, default=6)
    options = parser.parse_args()
    folder = options.folder.absolute() if options.folder else None
    before = run_before(options.before, folder, options.sessions) if options.before else None
    print_table(measure(folder, options.sessions), before)


if __name__ == "__main__":
    main()
