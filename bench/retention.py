"""What a trim leaves in the window: results just seen, reads that must be repeated, how full requests are, the cache.

    python -m bench.retention [FOLDER] [--before COMMIT] [--sessions 6]

Recorded sessions (transcripts below FOLDER, at any depth) are replayed step by step; in generated ones a scripted agent
reads, searches, edits and tests, and reads again what it needs and no longer sees. --before runs the same on an earlier
state of clio, checked out into a temporary folder, and prints both.
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

from bench.histories import stored, window_of
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
_COMPACT, _FULL = 1_500, 4_000  # tokens of prompt and tools, on windows up to 16K and above


class Measured(Struct, frozen=True, kw_only=True):
    """One session in one window.

    lost: results of the last three steps that left, or were shortened, at a trim although they would have fitted.
    too_large: those that did not fit. repeated: reads the agent made again because a trim took them within three steps.
    use: of the room, by the requests after the first trim, 0 to 1. kept_prefix: how much of a request the next one
    repeats unchanged, between trims. shared: of each request, how much is an unchanged beginning of the one before.
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


class Watcher:
    """Builds the requests of one session and looks what each of them still holds."""

    def __init__(self, session: Session, tokens: int) -> None:
        fixed = _COMPACT if tokens <= 16_384 else _FULL
        self.session = session
        self.window: ContextWindow = window_of(session, tokens, system="The system prompt. " * (fixed * 4 // 19))
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
        """Append a step or the user's words, and build the request; None where not even the user's words fit."""
        for message in messages:
            self.session.append(message)
        self.steps += any(isinstance(message, ToolMessage) for message in messages)
        before = {message.id: message for message in self._shown}
        try:
            built = self.window.build()
        except ContextOverflow:
            return None
        self._look(built, before, messages)
        return built

    _shown: tuple[Message, ...] = ()

    def _look(self, built: BuiltRequest, before: dict[str, Message], new: Sequence[Message]) -> None:
        self.counts["requests"] += 1
        self._shown = built.request.messages
        now = {message.id: message.content for message in self._shown}
        if built.trimmed is not None:
            self.counts["trims"] += 1
            left = self._room * _RATIO - built.conversation
            for result in self._recent_results():
                seen = before[result.id].content if result.id in before else result.content
                if now.get(result.id) == seen:
                    continue
                shown = ToolMessage(tool_call_id="", content=now[result.id]) if result.id in now else None
                missing = message_units(result) - (message_units(shown) if shown else 0.0)
                if missing <= left and (result.id in before or result in new):
                    self.counts["lost"] += 1
                    left -= missing
                else:
                    self.counts["too_large"] += 1
            for id in before.keys() - now.keys():
                self.trimmed_at.setdefault(id, self.steps)
        if self.session.trims:
            self.use.append(built.conversation / _RATIO / self._room)
        body = self._encoder.encode(built.request).removesuffix(b"]}")
        if self._body:
            same = common(self._body, body)
            self.shared.append(same / len(body))
            if built.trimmed is None:
                self.kept_prefix.append(same / len(self._body))
        self._body = body

    def _recent_results(self) -> list[ToolMessage]:
        """The results of the last three steps, newest first."""
        found: list[ToolMessage] = []
        steps = 0
        for message in reversed(self.session.messages):
            if isinstance(message, ToolMessage):
                found.append(message)
            elif isinstance(message, AssistantMessage) and message.tool_calls:
                steps += 1
                if steps == RECENT:
                    break
        return found

    def sees(self, result_id: str) -> bool:
        """Whether the newest request holds this result whole."""
        whole = next(message.content for message in self.session.messages if message.id == result_id)
        return any(message.id == result_id and message.content == whole for message in self._shown)

    def measured(self, repeated: int = 0) -> Measured:
        """What was seen so far."""
        return Measured(
            window=self.tokens,
            repeated=repeated,
            use=tuple(self.use),
            kept_prefix=tuple(self.kept_prefix),
            shared=tuple(self.shared),
            **self.counts,
        )


def common(one: bytes, two: bytes) -> int:
    """Length of the beginning that two texts share."""
    size = min(len(one), len(two))
    if one[:size] == two[:size]:
        return size
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle)
    return low


# Recorded sessions


def replay(messages: Sequence[Message], tokens: int, folder: Path) -> Measured:
    """The session in a window, one request a step."""
    watcher = Watcher(stored([], folder), tokens)
    for step in split_steps(messages):
        watcher.add(step)
    return watcher.measured()


def split_steps(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The messages, those together that come between two requests."""
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


class Agent:
    """Works through a made-up project: reads, searches, edits, tests; reads again what it needs and does not see.

    size: of what it reads; 1.0 gives a file of some 1,500 tokens.
    """

    def __init__(self, seed: int, watcher: Watcher, size: float) -> None:
        self._rng = random.Random(seed)
        self._watcher = watcher
        self._size = size
        self._numbers = itertools.count()
        self._read: dict[str, tuple[str, int]] = {}  # the newest reading of each path, and its step
        self.repeated = 0

    def work(self, turns: int) -> Measured:
        """So many turns, each a task with about ten steps."""
        kinds = (self._look, self._look, self._change, self._change, self._wrong_edit, self._install, self._recall)
        for turn in range(turns):
            self._say(f"Task {turn}: make value {turn} right in the parser, its tests and its docs, then run them.")
            for _ in range(self._rng.randint(2, 5)):
                self._rng.choice(kinds)()
            self._test(good=self._rng.random() < 0.6)
            self._watcher.add([AssistantMessage(id=self._id(), content=f"Value {turn} is right now. " * 6)])
        return self._watcher.measured(self.repeated)

    def _say(self, text: str) -> None:
        self._watcher.add([UserMessage(id=self._id(), content=text)])

    def _id(self) -> str:
        return f"m{next(self._numbers)}"

    def _do(self, *calls: tuple[str, dict[str, object], str, bool, SideEffects]) -> list[ToolMessage]:
        made = [
            ToolCall(id=f"c{place}", name=name, arguments=json.dumps(given))
            for place, (name, given, *_) in enumerate(calls)
        ]
        head = AssistantMessage(id=self._id(), content="I look at what comes next.", tool_calls=tuple(made))
        results = [
            ToolMessage(id=self._id(), tool_call_id=call.id, name=call.name, content=output, ok=ok, side_effects=deeds)
            for call, (_, _, output, ok, deeds) in zip(made, calls, strict=True)
        ]
        self._watcher.add([head, *results])
        return results

    def _lines(self, count: int) -> list[str]:
        words = "value parser order error input state token reader field limit".split()
        return [
            f"    {self._rng.choice(words)}_{self._rng.randint(0, 999)} = {self._rng.choice(words)}(item, {n})"
            for n in range(count)
        ]

    def _reading(self, path: str) -> tuple[str, dict[str, object], str, bool, SideEffects]:
        count = int(self._rng.randint(60, 200) * self._size)
        rows = "\n".join(f"{number:>4}|{line}" for number, line in enumerate(self._lines(count), 1))
        return "read_file", {"path": path}, rows, True, SideEffects(read=(path,))

    def _path(self) -> str:
        return f"src/part_{self._rng.randint(0, 11)}.py"

    def _read_files(self, paths: Sequence[str]) -> None:
        for path, result in zip(paths, self._do(*map(self._reading, paths)), strict=True):
            self._read[path] = (result.id, self._watcher.steps)

    def _need(self, path: str) -> None:
        """Have the path in view, reading it where it is not."""
        known = self._read.get(path)
        if known is not None and self._watcher.sees(known[0]):
            return
        if known is not None and self._watcher.trimmed_at.get(known[0], 10**9) - known[1] < RECENT:
            self.repeated += 1
        self._read_files([path])

    def _look(self) -> None:
        rows = "\n".join(
            f"{self._path()}:{self._rng.randint(1, 300)}:{line}" for line in self._lines(int(30 * self._size))
        )
        self._do(("search_text", {"pattern": f"value_{self._rng.randint(0, 999)}"}, rows, True, SideEffects()))
        self._read_files(sorted({self._path() for _ in range(self._rng.randint(1, 3))}))

    def _change(self) -> None:
        path = self._path()
        self._need(path)
        if self._rng.random() < 0.5:
            self._look_aside()
        self._need(path)
        given: dict[str, object] = {"path": path, "old_string": "a" * 200, "new_string": "b" * 260}
        self._do(
            ("edit_file", given, f"edited {path}", True, SideEffects(changed=(ChangedFile(path=path, kind="update"),)))
        )

    def _look_aside(self) -> None:
        self._do(self._reading(f"docs/page_{self._rng.randint(0, 5)}.md"))

    def _wrong_edit(self) -> None:
        path = self._path()
        self._need(path)
        given: dict[str, object] = {"path": path, "old_string": "x" * 900, "new_string": "y" * 900}
        error = f"'{path}' is unchanged: old_string is not in the file.\n" + "\n".join(
            self._lines(int(25 * self._size))
        )
        self._do(("edit_file", given, error, False, SideEffects()))
        self._change_known(path)

    def _change_known(self, path: str) -> None:
        self._need(path)
        given: dict[str, object] = {"path": path, "old_string": "a" * 100, "new_string": "b" * 100}
        self._do(
            ("edit_file", given, f"edited {path}", True, SideEffects(changed=(ChangedFile(path=path, kind="update"),)))
        )

    def _install(self) -> None:
        rows = "\n".join(
            f"Downloading package_{n}-1.{n}.0-py3-none-any.whl ({n * 7} kB)" for n in range(int(50 * self._size))
        )
        command = "pip install -e ."
        self._ran(command, f"[exit 0 in 9.1 s]\n{rows}\nSuccessfully installed package_1-1.1.0", 0)

    def _recall(self) -> None:
        rows = "\n".join(self._lines(int(30 * self._size)))
        self._do(("memory_operations", {"operation": "recall_sessions", "query": "value"}, rows, True, SideEffects()))

    def _test(self, *, good: bool) -> None:
        rows = "\n".join(f"tests/test_part_{n}.py {'.' * 40} [{n}%]" for n in range(int(25 * self._size)))
        end = "===== 200 passed in 3.21s =====" if good else "===== 1 failed, 199 passed in 3.21s ====="
        failed = "" if good else "FAILED tests/test_part_3.py::test_value - AssertionError: assert 3 == 4\n"
        self._ran("pytest", f"[exit {int(not good)} in 3.4 s]\n{rows}\n{failed}{end}", int(not good))

    def _ran(self, command: str, output: str, code: int) -> None:
        self._do(("run_command", {"command": command}, output, code == 0, SideEffects(command=command, exit_code=code)))


def generate(seed: int, tokens: int, folder: Path, *, turns: int = 12, size: float = 1.0) -> Measured:
    """A made-up session in a window."""
    watcher = Watcher(stored([], folder), tokens)
    return Agent(seed, watcher, size).work(turns)


# The tables


def measure(folder: Path | None, sessions: int) -> dict[str, list[Measured]]:
    """All sessions in all windows, by the name of the row."""
    found: dict[str, list[Measured]] = {}

    def each(name: str, run: Callable[[int, Path], Measured]) -> None:
        for tokens in WINDOWS:
            with tempfile.TemporaryDirectory() as place:
                found.setdefault(f"{name}, {tokens:,}", []).append(run(tokens, Path(place)))

    for _, transcript in find_transcripts(folder) if folder else []:
        each("recorded", lambda tokens, place, told=transcript.messages: replay(told, tokens, place))
    for seed in range(sessions):
        for size in (0.4, 1.0, 2.0):
            each(
                f"generated, results × {size}",
                lambda tokens, place, seed=seed, size=size: generate(seed, tokens, place, size=size),
            )
    return found


def row(measured: Sequence[Measured]) -> list[str]:
    """One line of the table."""
    trimmed = [one for one in measured if one.trims]
    use = [share for one in trimmed for share in one.use]
    prefix = [share for one in trimmed for share in one.kept_prefix]
    shared = [share for one in trimmed for share in one.shared]
    return [
        f"{sum(one.trims for one in measured)} in {sum(one.requests for one in measured)}",
        str(sum(one.lost for one in measured)),
        str(sum(one.too_large for one in measured)),
        str(sum(one.repeated for one in measured)),
        f"{statistics.mean(use):.0%}" if use else "–",
        f"{statistics.mean(prefix):.1%}" if prefix else "–",
        f"{statistics.median(shared):.1%}, {statistics.mean(shared):.1%}" if shared else "–",
    ]


HEAD = (
    "trims in requests",
    "lost though they fit",
    "too large",
    "reads repeated",
    "use",
    "prefix kept",
    "shared, median and mean",
)


def show(found: dict[str, list[Measured]], before: dict[str, list[Measured]] | None) -> None:
    """The table; two lines a row where there is a before."""
    print(f"| session, window | {' | '.join(HEAD)} |\n|---|{'--:|' * len(HEAD)}")
    for name, measured in found.items():
        if before is not None:
            print(f"| {name}, before | {' | '.join(row(before[name]))} |")
        print(f"| {name} | {' | '.join(row(measured))} |")


def run_before(commit: str, folder: Path | None, sessions: int) -> dict[str, list[Measured]]:
    """The same measurement with clio as it was at a commit."""
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
    return msgspec.json.decode(done.stdout, type=dict[str, list[Measured]])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--before", default="", help="a commit to compare with")
    parser.add_argument("--sessions", type=int, default=6)
    options = parser.parse_args()
    folder = options.folder.absolute() if options.folder else None
    before = run_before(options.before, folder, options.sessions) if options.before else None
    show(measure(folder, options.sessions), before)


if __name__ == "__main__":
    main()
