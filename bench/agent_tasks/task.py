"""Load tasks from their folders, and create the projects in which they start.

tasks/NAME/
  task.yaml        the messages of the user, the language, limits and settings
  files/           the project as it is committed at the start
  make_files.py    optional: write_files(folder) adds files too large to store
  dirty/           optional: changes that are in the working tree and not committed
  solution/        files of a reference solution, copied over the start tree
  answer.md        the final answer of the reference solution
  check.py         check(result) reports the problems of a result
  play.yaml        replies of a scripted model that solves the task
  wrong/*.yaml     replies with a wrong solution, each with `found`: a part of the problem that must be reported
"""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

TASKS = Path(__file__).parent / "tasks"
TOOLCHAINS = {
    "python": ("python3", "--version"),
    "javascript": ("node", "--version"),
    "go": ("go", "version"),
    "rust": ("rustc", "--version"),
    "c": ("cc", "--version"),
    "shell": ("sh", "-c", "true"),
}
"""A command that succeeds if tasks of that language can run."""
KINDS = (
    "bug feature refactor failing-test question do-not-touch two-sessions small-window dirty-tree strict-test".split()
)
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Robin Doe",
    "GIT_AUTHOR_EMAIL": "robin@example.com",
    "GIT_COMMITTER_NAME": "Robin Doe",
    "GIT_COMMITTER_EMAIL": "robin@example.com",
}


@dataclass(frozen=True)
class Task:
    """One task.

    sessions: for each session, the messages of the user; each session is new.
    max_steps: requests allowed for one message. max_seconds: for the whole task.
    context_window: tokens; 0 for the model's own.
    answers: the answers to questions that contain the key; other questions get a neutral answer.
    solution_commit: the message with which the reference solution commits its files; "" if it commits nothing.
    """

    name: str
    title: str
    kind: str
    language: str
    sessions: tuple[tuple[str, ...], ...]
    max_steps: int = 40
    max_seconds: int = 600
    context_window: int = 0
    approve: str = "edits"
    answers: dict[str, str] = field(default_factory=dict[str, str])
    solution_commit: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the task."""
        return TASKS / self.name

    @property
    def missing_program(self) -> str:
        """The program for the task that is not installed or does not start; "" if none is missing."""
        commands = (TOOLCHAINS[self.language], ("git", "--version"))
        return next((command[0] for command in commands if not _can_run(command)), "")


def _can_run(command: tuple[str, ...]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


def load_task(name: str) -> Task:
    """Read one task.

    Raises:
        ValueError: if task.yaml is missing or has an unknown key, kind or language.
    """
    path = TASKS / name / "task.yaml"
    if not path.is_file():
        raise ValueError(f"there is no task {name!r}; the tasks are {', '.join(list_task_names())}")
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    unknown = set(data) - set(Task.__dataclass_fields__)
    if unknown:
        raise ValueError(f"{path}: unknown keys {', '.join(sorted(unknown))}")
    data["sessions"] = tuple(tuple(prompts) for prompts in data["sessions"])
    task = Task(name=name, **data)
    if task.kind not in KINDS or task.language not in TOOLCHAINS:
        raise ValueError(f"{path}: unknown kind {task.kind!r} or language {task.language!r}")
    return task


def list_task_names() -> list[str]:
    """Return the names of all tasks, sorted."""
    return sorted(path.parent.name for path in TASKS.glob("*/task.yaml"))


def make_git_environment() -> dict[str, str]:
    """Return the environment without git's variables, such as those of a hook, and without the user's git settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | GIT_ENVIRONMENT


def run_git(folder: Path, *arguments: str) -> str:
    """Run git in a folder without the user's configuration, and return its output.

    Raises:
        subprocess.CalledProcessError: if git fails.
    """
    environment = make_git_environment()
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=30).stdout


def write_start_tree(task: Task, folder: Path, *, dirty: bool = True) -> None:
    """Write the files of the project at the start of the task, without a repository."""
    shutil.copytree(task.folder / "files", folder, dirs_exist_ok=True)
    if (task.folder / "make_files.py").exists():
        load_function(task, "make_files.py", "write_files")(folder)
    if dirty:
        overlay(task.folder / "dirty", folder)


def load_function(task: Task, file: str, name: str) -> Callable[[Any], None]:
    """Import a function from a Python file in the folder of a task."""
    spec = importlib.util.spec_from_file_location(f"agent_task_{task.name}_{Path(file).stem}", task.folder / file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def overlay(source: Path, folder: Path) -> None:
    """Copy the files of `source` over a folder, if `source` exists."""
    if source.is_dir():
        shutil.copytree(source, folder, dirs_exist_ok=True)


def create_project(task: Task, folder: Path) -> None:
    """Create the start tree as a git repository with one commit, and the uncommitted changes."""
    write_start_tree(task, folder, dirty=False)
    run_git(folder, "init", "--quiet", "--initial-branch=main")
    run_git(folder, "config", "user.name", "Robin Doe")
    run_git(folder, "config", "user.email", "robin@example.com")
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "--message", "Add the project")
    overlay(task.folder / "dirty", folder)


def apply_solution(task: Task, project: Path) -> str:
    """Copy the reference solution over a project, commit it if the task asks for that, and return its answer."""
    solution = task.folder / "solution"
    overlay(solution, project)
    if task.solution_commit:
        paths = [path.relative_to(solution).as_posix() for path in solution.rglob("*") if path.is_file()]
        run_git(project, "commit", "--quiet", "--message", task.solution_commit, "--", *paths)
    return (task.folder / "answer.md").read_text(encoding="utf-8").strip()
