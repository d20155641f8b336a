"""A task as its folder describes it, and the project it starts in.

tasks/NAME/
  task.yaml        what is asked, in which language, with which limits and settings
  files/           the project as it is committed at the start
  make_files.py    optional: write_files(folder) adds files too large to store
  dirty/           optional: changes that are in the working tree and not committed
  solution/        files of a reference solution, laid over the start tree
  answer.md        the final answer of the reference solution
  check.py         check(result) tells what is wrong with a result
  play.yaml        replies of a scripted model that solves the task
  wrong/*.yaml     plays that must be found out, each with `found`: a part of the problem to report
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
"""A command that works where tasks of that language can run."""
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

    sessions: for each session, the messages of the user; a session begins without the messages of the one before.
    max_steps: requests allowed for one message. max_seconds: for the whole task.
    context_window: tokens; 0 for the model's own.
    answers: what to say to a question whose text contains the key; other questions get a neutral answer.
    solution_commit: the message under which the reference solution commits its files; "" where it commits nothing.
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
        """Where the task is defined."""
        return TASKS / self.name

    @property
    def missing_program(self) -> str:
        """The program this machine lacks for it, or that does not start; "" where nothing is missing."""
        commands = (TOOLCHAINS[self.language], ("git", "--version"))
        return next((command[0] for command in commands if not _can_run(command)), "")


def _can_run(command: tuple[str, ...]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


def load_task(name: str) -> Task:
    """Read one task.

    Raises:
        ValueError: where task.yaml is missing or has an unknown key, kind or language.
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
    """The names of all tasks, in order."""
    return sorted(path.parent.name for path in TASKS.glob("*/task.yaml"))


def make_git_environment() -> dict[str, str]:
    """The environment without variables of git, such as those of a hook, and without the user's git settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | GIT_ENVIRONMENT


def run_git(folder: Path, *words: str) -> str:
    """What a git command prints in a folder, without the user's own configuration.

    Raises:
        subprocess.CalledProcessError: where git fails.
    """
    environment = make_git_environment()
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=30).stdout


def write_start_tree(task: Task, folder: Path, *, dirty: bool = True) -> None:
    """Write the project's files as they are when the task begins, without a repository."""
    shutil.copytree(task.folder / "files", folder, dirs_exist_ok=True)
    if (task.folder / "make_files.py").exists():
        load_function(task, "make_files.py", "write_files")(folder)
    if dirty:
        overlay(task.folder / "dirty", folder)


def load_function(task: Task, file: str, name: str) -> Callable[[Any], None]:
    """A function of a Python file in a task's folder."""
    spec = importlib.util.spec_from_file_location(f"agent_task_{task.name}_{Path(file).stem}", task.folder / file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def overlay(source: Path, folder: Path) -> None:
    """Lay the files of one folder over another; nothing where there are none."""
    if source.is_dir():
        shutil.copytree(source, folder, dirs_exist_ok=True)


def create_project(task: Task, folder: Path) -> None:
    """The start tree as a git repository with one commit, and the changes that are not committed."""
    write_start_tree(task, folder, dirty=False)
    run_git(folder, "init", "--quiet", "--initial-branch=main")
    run_git(folder, "config", "user.name", "Robin Doe")
    run_git(folder, "config", "user.email", "robin@example.com")
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "--message", "Add the project")
    overlay(task.folder / "dirty", folder)


def apply_solution(task: Task, project: Path) -> str:
    """Lay the reference solution over a project, commit it where the task wants that, and return its answer."""
    solution = task.folder / "solution"
    overlay(solution, project)
    if task.solution_commit:
        paths = [path.relative_to(solution).as_posix() for path in solution.rglob("*") if path.is_file()]
        run_git(project, "commit", "--quiet", "--message", task.solution_commit, "--", *paths)
    return (task.folder / "answer.md").read_text(encoding="utf-8").strip()
