"""The result of a task for its checker: the tree and the answer of the model, and methods to check them."""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench.agent_tasks.task import Task, load_function, make_git_environment, run_git, write_start_tree

RUN_TIMEOUT_S = 60
_NOT_COMPARED = {".git", ".clio", "__pycache__", ".pytest_cache", ".ruff_cache", "node_modules", "target"}


class Ran(NamedTuple):
    """A finished command: its exit code, and its output on both streams."""

    exit_code: int
    output: str


@dataclass
class Result:
    """One result of a task.

    tree: the project after the last turn. start: the project before the first turn. answer: the last answer.
    problems: found by the checker, in order; empty if the task is solved.
    """

    tree: Path
    start: Path
    answer: str
    problems: list[str] = field(default_factory=list[str])

    def expect(self, fact: object, problem: str) -> None:
        """Add the problem unless the fact is true."""
        if not fact:
            self.problems.append(problem)

    def read(self, path: str) -> str:
        """Return the text of a file of the result; "" if there is none."""
        try:
            return (self.tree / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def list_changed_files(self) -> list[str]:
        """Return the files that were added, changed or deleted since the start, without caches of tools."""
        before, after = _list_files(self.start), _list_files(self.tree)
        return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))

    def expect_unchanged(self, *names: str) -> None:
        """Add a problem for each changed file among these files and in these folders."""
        for path in self.list_changed_files():
            if any(path == name or path.startswith(f"{name}/") for name in names):
                self.problems.append(f"{path} was changed")

    def expect_only_changed(self, *names: str) -> None:
        """Add a problem for each changed file outside these files and folders."""
        for path in self.list_changed_files():
            if not any(path == name or path.startswith(f"{name}/") for name in names):
                self.problems.append(f"{path} was changed, which the task did not need")

    def run(self, *commands: list[str], files: dict[str, str] | None = None, keep_tests: bool = False) -> Ran:
        """Run commands in a copy of the tree until one fails.

        files: written to the copy first. keep_tests: whether the tests of the start replace those of the result.
        """
        with tempfile.TemporaryDirectory(prefix="agent-task-check-") as name:
            copy = Path(name) / "tree"
            shutil.copytree(self.tree, copy, ignore=shutil.ignore_patterns(".git", ".clio"), symlinks=True)
            if keep_tests:
                shutil.rmtree(copy / "tests", ignore_errors=True)
                shutil.copytree(self.start / "tests", copy / "tests")
            for path, text in (files or {}).items():
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                (copy / path).write_text(text, encoding="utf-8")
            output = ""
            for command in commands:
                ran = _run_bounded(command, copy)
                output += ran.output
                if ran.exit_code:
                    return Ran(ran.exit_code, output)
            return Ran(0, output)

    def expect_success(
        self, problem: str, *commands: list[str], files: dict[str, str] | None = None, keep_tests: bool = False
    ) -> None:
        """Run commands as `run` does, and add the problem with the end of the output if one fails."""
        ran = self.run(*commands, files=files, keep_tests=keep_tests)
        if ran.exit_code:
            self.problems.append(f"{problem}: {ran.output.strip()[-600:] or f'exit code {ran.exit_code}'}")

    def git(self, *words: str) -> str:
        """Run git in the repository of the result, and return its output; "" if it fails."""
        try:
            return run_git(self.tree, *words)
        except subprocess.SubprocessError:
            return ""


PYTHON = [sys.executable, "-B"]
"""The command that runs a Python file of a result."""
UNITTEST = [*PYTHON, "-m", "unittest", "discover", "-q", "-s", "tests", "-t", "."]
"""The command that runs the tests of a Python task."""


def check_result(task: Task, tree: Path, answer: str) -> list[str]:
    """Return the problems that the task's checker finds in a result."""
    with tempfile.TemporaryDirectory(prefix="agent-task-start-") as name:
        start = Path(name)
        write_start_tree(task, start)
        result = Result(tree=tree, start=start, answer=answer)
        load_function(task, "check.py", "check")(result)
        return result.problems


def _list_files(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        if path.is_file() and not _NOT_COMPARED.intersection(relative.parts):
            found[relative.as_posix()] = path.read_bytes()
    return found


def _run_bounded(command: list[str], folder: Path) -> Ran:
    environment = make_git_environment() | {"PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return Ran(
            124,
            f"{' '.join(command)} took longer than {RUN_TIMEOUT_S} s\n{(error.stdout or b'').decode(errors='replace')}",
        )
    except OSError as error:
        return Ran(127, f"{command[0]} cannot be started: {error}")
    return Ran(ran.returncode, ran.stdout.decode(errors="replace"))
