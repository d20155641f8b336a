"""One project and one home in which clios are tortured, and the server that answers them."""

import json
import os
import random
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.chat_server import ChatServer, Reply, text, tool_calls
from tests.support.harness import make_repository

_SCRIPT = re.compile(r"script:(\d+)")
FILES = ("a.txt", "b.txt", "src/c.py")


def words_of(rng: random.Random, count: int = 8) -> str:
    """Words that stand nowhere else, so that no memory is taken for another."""
    return " ".join(f"{rng.randrange(10**6):x}zz" for _ in range(count))


SCRIPTS = 10**12
"""So many turns there are to choose from: of a million, two clios took the same one now and then, and one of them
forgot what the other had confirmed."""
Steps = list[list[tuple[str, dict[str, Any]]]]
AT_WORK = 900_002
"""The turn that leaves something everywhere: changed files, a stored output, a note."""
WRITTEN: dict[int, Steps] = {
    AT_WORK: [
        [("write_file", {"path": "a.txt", "content": "of a turn\n"}), ("run_command", {"command": "seq 1 20000"})],
        [("memory_operations", {"operation": "store", "key": "plan", "content": "of a turn"})],
        [("run_command", {"command": "echo more >> b.txt"})],
    ],
}
"""Turns that are not made up from their seed; to be filled in before the server starts."""


def steps_of(seed: int) -> Steps:
    """The calls of each step of the turn that was asked for with `script:SEED`."""
    if seed in WRITTEN:
        return WRITTEN[seed]
    rng = random.Random(seed)
    makers = [
        lambda: ("write_file", {"path": rng.choice(FILES), "content": f"{words_of(rng)}\n" * rng.choice([1, 200])}),
        lambda: ("run_command", {"command": f"echo {words_of(rng, 2)} >> {rng.choice(FILES)}"}),
        lambda: ("run_command", {"command": "seq 1 20000"}),
        lambda: ("memory_operations", {"operation": "add_discovery", "fact": words_of(rng)}),
        lambda: ("memory_operations", {"operation": "remember", "content": words_of(rng), "type": "fact"}),
        lambda: (
            "memory_operations",
            {"operation": "store", "key": words_of(rng, 3).replace(" ", "-"), "content": words_of(rng)},
        ),
        lambda: ("memory_operations", {"operation": "recall_sessions", "query": words_of(rng, 1)}),
        lambda: ("todo_operations", {"operation": "write", "todos": [{"id": 1, "title": words_of(rng, 2)}]}),
    ]
    return [[rng.choice(makers)() for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(0, 3))]


def answer(body: dict[str, Any]) -> Reply:
    """The next step of the script that the last request asked for; a word where none did."""
    messages = body["messages"]
    last = max((at for at, one in enumerate(messages) if one["role"] == "user"), default=0)
    asked = _SCRIPT.search(json.dumps(messages[last])) if messages else None
    if asked is None:
        return text("ok")
    # By the ids of the calls, not by counting: a trim takes the first of them away.
    made = re.findall(rf"call_{asked[1]}_(\d+)_", json.dumps(messages[last:]))
    done = max(map(int, made), default=-1) + 1
    steps = steps_of(int(asked[1]))
    if done < len(steps):
        ids = [f"call_{asked[1]}_{done}_{number}" for number in range(len(steps[done]))]
        return tool_calls(steps[done], ids=ids)
    return text(f"Done with {asked[1]}. " + "word " * 60)


class Server:
    """The scripted server in a process of its own, so that the one that forks clios has no threads."""

    def __init__(self, reply: Any = answer) -> None:
        self._reply = reply
        self.ended_early = False

    def __enter__(self) -> "Server":
        said_r, said_w = os.pipe()
        stop_r, self._stop = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(said_r)
            os.close(self._stop)
            try:
                with ChatServer(self._reply, record=False) as server:
                    os.write(said_w, server.url.encode() + b"\n")
                    os.read(stop_r, 1)
            finally:
                os._exit(0)
        os.close(said_w)
        os.close(stop_r)
        with os.fdopen(said_r) as said:
            self.url = said.readline().strip()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._stop)
        if not self.ended_early:
            os.kill(self._pid, signal.SIGTERM)
            os.waitpid(self._pid, 0)

    def problems(self) -> list[str]:
        """That it is gone, if it is: then nobody was asked anything since."""
        if not self.ended_early and os.waitpid(self._pid, os.WNOHANG)[0]:
            self.ended_early = True
        return ["the scripted server ended before the torture did"] if self.ended_early else []


class World:
    """A project in git and a home; `env` is what every clio in it is given."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.project, self.home = folder / "project", folder / "home"

    def make(self) -> "World":
        """The project's first commit, and what is imported and added later on."""
        make_repository(self.project, dict.fromkeys(FILES, "first\n") | {".gitignore": ".clio/\n"})
        self.home.mkdir()
        (self.project / "doc.md").write_text("# Doc\n\n" + "All about the marmots of the zoo. " * 40, encoding="utf-8")
        (self.project / ".aider.chat.history.md").write_text(AIDER, encoding="utf-8")
        return self

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "CLIO_HOME": str(self.home / ".clio"),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_KEY": "test-key",
            "CLIO_MODEL": "test-model",
            "CLIO_CONTEXT_WINDOW": "32000",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        }

    def torn(self) -> list[str]:
        """Files of the project that are neither what a tool wrote nor what it found, but a part of it."""
        return [name for name in FILES if not _is_whole(self.project / name)]

    def kept(self) -> Sequence[Path]:
        """Every file of clio's, in the project and the home."""
        found = [*(self.project / ".clio").rglob("*"), *(self.home / ".clio").rglob("*")]
        return sorted(path for path in found if path.is_file() or path.is_symlink())


def _is_whole(path: Path) -> bool:
    """Whether all of a `write_file` is there: its line 1 or 200 times, then what commands appended."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return False
    same = lines.count(lines[0])
    return lines[-1] == "" and same in (1, 200) and lines[:same] == [lines[0]] * same


AIDER = """
# aider chat started at 2026-05-01 10:00:00

#### add a marmot to the zoo

I added the marmot.

# aider chat started at 2026-05-02 10:00:00

#### give the marmot a burrow

The burrow is dug.
"""
