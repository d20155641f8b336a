"""The git tool: it reads and changes with the same commands a user would type.

GitPython finds the repository and answers what a command depends on (its folders, remotes, branch and upstream); it
reads files for that and starts no process.
"""

import asyncio
import shlex
import subprocess
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clio.errors import ConfigError, ToolFailed, ToolRetry
from clio.git.commits import check_trailer
from clio.messages import Commit, SideEffects
from clio.readonly_git import describe_blocking_file, readonly_git_command, readonly_git_environment
from clio.sandbox.sandbox import Sandbox
from clio.security.actions import ReadFiles, RunCommand, Workspace
from clio.text.translation import tr, tr_count
from clio.tools.base import PreparedCall, Progress, ToolOutput
from clio.tools.schemas import GitArgs
from clio.tools.shell.sandboxed_run import restore_files_changed_by_jobs, run_sandboxed

if TYPE_CHECKING:
    from git import Repo

READ_LIMIT_S = 15.0
STATUS_LIMIT_S = 5.0
"""Time limit for git status; it is then run again without untracked files, which need every `.gitignore`."""
_WHY_SLOW = "patterns with many stars in .gitignore or .gitattributes can cause that"


class GitTool:
    """The tool `git`, for the repository that contains the workspace.

    Args:
        attribution: a trailer for its commits; None for none.
        sandbox: used for commands that change something, because they run hooks. A push needs more than the
            sandbox allows, so it runs outside, after the user has approved it.
    """

    name = "git"
    args = GitArgs
    read_only = False

    def __init__(
        self, workspace: Workspace, timeout_s: int, attribution: str | None = None, sandbox: Sandbox | None = None
    ) -> None:
        self._cwd = workspace.root
        self._timeout_s = timeout_s
        self._attribution = attribution
        self._sandbox = sandbox if sandbox is not None and sandbox.is_enabled else None

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a call. Raises ToolFailed without repository or git, ToolRetry for invalid arguments."""
        call: GitArgs = args
        _refuse_options(call)
        if self._sandbox is not None:
            self._sandbox.watches.restore()  # a background job may have replaced the repository's settings
        repo = open_repository(self._cwd)
        try:
            reading = _build_read_arguments(call)
            if reading is not None:
                return self._read(repo, reading, _make_title(call))
            if call.operation == "commit":
                return self._change(
                    _commit_commands(repo, self._cwd, call, self._attribution), _report_commit, _make_title(call)
                )
            return self._change([_build_change_command(repo, call)], _report_output, _make_title(call))
        finally:
            repo.close()

    def _read(self, repo: "Repo", arguments: list[str], title: str) -> PreparedCall:
        from clio.security.git_safety import find_risky_entries

        root = Path(repo.working_dir).resolve()
        # If the repository's settings lead git to files outside, reading those must be approved as well.
        outside = (entry.outside for entry in find_risky_entries(self._cwd, self._cwd))
        paths = (root, *(path for path in outside if path is not None))

        async def go(progress: Progress) -> ToolOutput:
            text = await (_run_status if arguments[0] == "status" else _run_git)(self._cwd, arguments)
            heads_only = all(line.startswith("## ") for line in text.splitlines())
            if arguments[0] == "status" and heads_only and "No commits yet" not in text:
                text = f"{text}\nclean: nothing to commit".lstrip()
                return ToolOutput(text=text, summary=tr("clean"))
            return ToolOutput(text=text or "(nothing)", summary=tr_count(len(text.splitlines()), "line"))

        return PreparedCall(title=title, action=ReadFiles(paths=paths), run=go)

    def _change(self, commands: list[list[str]], report: Callable[[Path, str], ToolOutput], title: str) -> PreparedCall:
        outside = self._sandbox is not None and commands[0][1] == "push"
        sandbox = None if outside else self._sandbox

        async def go(progress: Progress) -> ToolOutput:
            text, before = "", await restore_files_changed_by_jobs(self._sandbox)
            for command in commands:
                process, timed_out, note = await run_sandboxed(
                    command, self._cwd, sandbox, timeout_s=self._timeout_s, on_progress=progress
                )
                text = "\n".join(filter(None, (process.output.text().strip(), before, note)))
                if timed_out or process.exit_code != 0:
                    why = f"stopped after {self._timeout_s} s" if timed_out else f"exit {process.exit_code}"
                    failure = f"{shlex.join(command[:2])} failed ({why}):\n{text}"
                    return ToolOutput(text=failure, summary=f"{shlex.join(command[:2])}: {why}", ok=False)
            return await asyncio.to_thread(report, self._cwd, text)

        line = " && ".join(shlex.join(command) for command in commands)
        return PreparedCall(title=title, action=RunCommand(command=line, cwd=self._cwd, outside=outside), run=go)


def open_repository(folder: Path) -> "Repo":
    """Return the repository or worktree that contains a folder. Raises ToolFailed if there is none, or no git."""
    try:
        from git import Repo
        from git.exc import GitError
    except ImportError as error:
        raise ToolFailed("git is not installed here", "install it, or work without it") from error
    if (unreadable := describe_blocking_file(folder)) is not None:
        raise ToolFailed(unreadable)
    try:
        return Repo(folder, search_parent_directories=True)
    except (GitError, OSError) as error:
        raise ToolFailed(
            tr("{folder!r} is not in a git repository", folder=str(folder)),
            "`git init` creates one, if the user wants that",
        ) from error


def run_git_text(folder: Path, arguments: list[str]) -> str:
    """Return the output of a read-only git command in a folder, as valid text. Raises ToolFailed with git's message."""
    try:
        done = subprocess.run(
            readonly_git_command(folder, *arguments), cwd=folder, env=readonly_git_environment(),
            stdin=subprocess.DEVNULL, capture_output=True, timeout=READ_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise _make_too_slow(arguments, READ_LIMIT_S) from error
    except OSError as error:
        raise ToolFailed(f"git {arguments[0]} cannot be run: {error.strerror}") from error
    return _decode_output(arguments, done.returncode, done.stdout, done.stderr)


async def _run_status(folder: Path, arguments: list[str]) -> str:
    """Return the output of git status; without untracked files if finding them takes longer than STATUS_LIMIT_S."""
    try:
        return await _run_git(folder, arguments, STATUS_LIMIT_S)
    except GitTooSlow:
        tracked = [word for word in arguments if not word.startswith("--untracked-files")]
        text = await _run_git(folder, [*tracked, "--untracked-files=no"], STATUS_LIMIT_S)
        slow = f"git took longer than {STATUS_LIMIT_S:.0f} s to look for them; {_WHY_SLOW}"
        return f"{text}\n(untracked files are not listed: {slow})"


class GitTooSlow(ToolFailed):
    """git was stopped after the time limit for reading."""


async def _run_git(folder: Path, arguments: list[str], limit_s: float = READ_LIMIT_S) -> str:
    """Like `run_git_text`, but git is stopped if the call is cancelled, and after `limit_s`.

    Raises ToolFailed, and its subclass GitTooSlow after the time limit.
    """
    try:
        argv = await asyncio.to_thread(readonly_git_command, folder, *arguments)
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=folder, env=readonly_git_environment(), stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
    except OSError as error:
        raise ToolFailed(f"git {arguments[0]} cannot be run: {error.strerror}") from error
    try:
        async with asyncio.timeout(limit_s):
            output, errors = await process.communicate()
    except TimeoutError as error:
        raise _make_too_slow(arguments, limit_s) from error
    finally:
        if process.returncode is None:
            process.kill()
    return _decode_output(arguments, process.returncode or 0, output, errors)


def _make_too_slow(arguments: list[str], limit_s: float) -> GitTooSlow:
    return GitTooSlow(f"git {arguments[0]} took longer than {limit_s:.0f} s and was stopped; {_WHY_SLOW}")


def _decode_output(arguments: list[str], exit_code: int, output: bytes, errors: bytes) -> str:
    if exit_code:
        why = errors.decode("utf-8", errors="replace").strip() or f"exit {exit_code}"
        raise ToolFailed(f"git {arguments[0]} failed: {why}")
    return output.decode("utf-8", errors="replace").rstrip("\n")


def _make_title(call: GitArgs) -> str:
    staged = "staged" if call.staged else ""
    subject = call.message.strip().partition("\n")[0]
    parts = ("git", call.operation, call.action, staged, call.revision, call.name, call.path, subject)
    return " ".join(part for part in parts if part)


def _refuse_options(call: GitArgs) -> None:
    for field in ("revision", "name", "remote"):
        value: str = getattr(call, field)
        if value.startswith("-") or any(character in value for character in "\0\n"):
            raise ToolRetry(
                tr("{field} {value!r} is not a valid git name", field=field, value=value),
                "options cannot be given",
            )


def _build_read_arguments(call: GitArgs) -> list[str] | None:
    """Return the arguments of an operation that changes nothing; None for others."""
    revision = [call.revision] if call.revision else []
    only = ["--", call.path] if call.path else ["--"]
    match call.operation, call.action:
        case "status", _:
            return ["status", "--short", "--branch", "--untracked-files=normal"]
        case "diff", _:
            return ["diff", *(["--staged"] if call.staged else []), *revision, *only]
        case "log", _:
            form = "--pretty=format:%h %ad %an: %s%d"
            return ["log", f"--max-count={call.n}", "--date=short", form, *revision, *only]
        case "show", _:
            return ["show", "--stat", "--patch", call.revision or "HEAD", *only]
        case "blame", _:
            if not call.path:
                raise ToolRetry("git blame needs path")
            lines = [f"-L{call.lines}"] if call.lines else []
            return ["blame", "--date=short", *lines, *revision, "--", call.path]
        case "branch", "list" | None:
            return ["branch", "--all", "--verbose"]
        case "stash", "list" | None:
            return ["stash", "list"]
        case _:
            return None


def _build_change_command(repo: "Repo", call: GitArgs) -> list[str]:
    """Return the command of an operation that changes something, except commit."""
    match call.operation, call.action:
        case "branch", "create" | "switch" if not call.name:
            raise ToolRetry(f"git branch {call.action} needs name")
        case "branch", "create":
            return ["git", "switch", "--create", call.name, *([call.revision] if call.revision else [])]
        case "branch", "switch":
            return ["git", "switch", call.name]
        case "stash", "push":
            return ["git", "stash", "push", *(["--message", call.message] if call.message else [])]
        case "stash", "pop":
            return ["git", "stash", "pop"]
        case "push", _:
            return _build_push_command(repo, call)
        case _:
            raise ToolRetry(f"git {call.operation} has no action {call.action!r}")


def _build_push_command(repo: "Repo", call: GitArgs) -> list[str]:
    remotes = [remote.name for remote in repo.remotes]
    if not remotes:
        raise ToolFailed(tr("the repository has no remote to push to"), "the user can add one with `git remote add`")
    if call.remote and call.remote not in remotes:
        raise ToolRetry(tr("there is no remote {remote!r}", remote=call.remote), f"there are: {', '.join(remotes)}")
    if repo.head.is_detached:
        raise ToolFailed(tr("HEAD is detached: there is no branch to push"), "create one first")
    branch = repo.active_branch
    if branch.tracking_branch() and not call.remote:
        return ["git", "push"]
    return ["git", "push", "--set-upstream", call.remote or remotes[0], branch.name]


def _commit_commands(repo: "Repo", cwd: Path, call: GitArgs, attribution: str | None) -> list[list[str]]:
    """Return the commands that commit exactly the given paths, or exactly what is staged."""
    if not call.message.strip():
        raise ToolRetry("git commit needs message")
    _check_identity(cwd)
    try:
        check_trailer(attribution)
    except ConfigError as error:
        raise ToolFailed(error.message, "only the user can change it") from error
    message = ["--message", call.message.strip(), *(["--trailer", attribution] if attribution else [])]
    if call.paths:
        chosen = ["--", *call.paths]
        merging = (Path(repo.git_dir) / "MERGE_HEAD").exists()
        # git cannot commit a part of a merge; otherwise other staged files stay staged.
        return [["git", "add", "--all", *chosen], ["git", "commit", *message, *([] if merging else chosen)]]
    if not run_git_text(cwd, ["diff", "--staged", "--name-only"]):
        changed = run_git_text(cwd, ["status", "--short"])
        if not changed:
            raise ToolFailed(tr("there is nothing to commit: the working tree is clean"))
        raise ToolRetry(tr("nothing is staged"), f'name the files in paths (["."] for all of these):\n{changed[:2000]}')
    return [["git", "commit", *message]]


def _check_identity(cwd: Path) -> None:
    try:
        run_git_text(cwd, ["var", "GIT_COMMITTER_IDENT"])
    except ToolFailed as error:
        raise ToolFailed(
            "git does not know who commits", "the user sets it with `git config user.name` and `git config user.email`"
        ) from error


def _report_commit(cwd: Path, text: str) -> ToolOutput:
    output = run_git_text(cwd, ["show", "--stat", "--format=%H%n%h %s", "HEAD"])
    commit_hash, _, rest = output.partition("\n")
    short = rest.partition("\n")[0]
    name, _, subject = short.partition(" ")
    effects = SideEffects(commits=(Commit(hash=name, subject=subject),))
    # The title of the call has the subject.
    return ToolOutput(
        text=f"committed {commit_hash}\n{rest}", summary=tr("committed {name}", name=name), side_effects=effects
    )


def _report_output(cwd: Path, text: str) -> ToolOutput:
    return ToolOutput(text=text or "done", summary=text.rpartition("\n")[2] or "done")
