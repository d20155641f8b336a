"""The act of committing: exactly the chosen files, the repository's hooks and signing included, and nothing lost."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from clio.children import started
from clio.errors import UserError
from clio.git_looking import read_settings
from clio.repository.run import environment, git, git_path, readable
from clio.repository.state import Changed, State
from clio.storage.files import open_regular, write_atomic

KEPT = "CLIO_COMMIT_MSG"
"""The message of a commit that did not come about, in the repository's own folder until the next one does."""
_SUBJECTS = 20


class Made(Struct, frozen=True, kw_only=True):
    """What came of a commit. said: what git and the hooks printed. hash, subject: of the commit; "" where none is."""

    said: str
    hash: str = ""
    subject: str = ""


async def commit(state: State, files: Sequence[Changed], message: str, trailer: str = "") -> Made:
    """Commit these files as they are in the working tree; without any, what is staged.

    Hooks run and may take as long as they want; cancelling ends git with them. The message is kept on disk until the
    commit is there. A commit that fails leaves the index as it was. Raises UserError where git cannot be run.
    """
    keep_message(state.root, message)
    new = [file.path for file in files if not file.tracked]
    if new:
        git(state.root, "add", "--intent-to-add", "--", *new)
    done = False
    try:
        code, said = await _run(state.root, _arguments(files, trailer), message)
        done = code == 0
    finally:
        if new and not done:
            with suppress(UserError):
                git(state.root, "rm", "--cached", "--quiet", "--ignore-unmatch", "--", *new)
    if not done:
        return Made(said=said or f"git commit ended with exit code {code}")
    forget_message(state.root)
    full, _, subject = git(state.root, "show", "--no-patch", "--no-show-signature", "--format=%h %s", "HEAD").partition(
        " "
    )
    return Made(said=said, hash=full, subject=subject)


def keep_message(root: Path, message: str) -> None:
    """Put a message on disk for the next try."""
    write_atomic(git_path(root, KEPT), message.encode("utf-8", "replace"))


def forget_message(root: Path) -> None:
    """Nobody wants the message of the last try any more."""
    with suppress(OSError):
        git_path(root, KEPT).unlink()


def kept_message(root: Path) -> str:
    """The message of the last try that failed; "" where there is none."""
    path = git_path(root, KEPT)
    return read_text(path, path.parent)


def prepared_message(state: State) -> str:
    """What git itself proposes for a merge, a cherry-pick or a revert, without its comments; "" where there is none."""
    if state.doing in ("", "rebase"):
        return ""
    path = git_path(state.root, "MERGE_MSG")
    lines = read_text(path, path.parent).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def template(root: Path) -> str:
    """The text of `commit.template`, without its comments; "" where there is none.

    What the repository's own configuration names counts only where it is in the working tree: it is sent to the model.
    """
    named = git(root, "config", "--type=path", "--get", "commit.template", wrong=(1,))
    given = [setting for setting in read_settings(root).items if setting.key == "commit.template"] if named else []
    if not given:
        return ""
    lines = read_text(root / named, root if given[-1].from_repository else None).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def subjects(root: Path, *revisions: str) -> list[str]:
    """The first lines of the newest commits, merges left out; none where there is no commit."""
    arguments = ("log", f"--max-count={_SUBJECTS}", "--no-merges", "--no-show-signature", "--format=%s")
    try:
        return git(root, *arguments, *revisions, "--").splitlines()
    except UserError:
        return []


def read_text(path: Path, inside: Path | None = None) -> str:
    """A small regular file's text; "" where it cannot be read, or where it is not in the directory `inside`."""
    try:
        if inside and not path.resolve().is_relative_to(inside.resolve()):
            return ""
        with open_regular(path) as file:
            return readable(file.read(20_000)).strip()
    except OSError:
        return ""


def _arguments(files: Sequence[Changed], trailer: str) -> list[str]:
    trailers = ["--trailer", trailer] if trailer else []
    only = ["--only", "--", *(f":(top,literal){file.path}" for file in files)] if files else []
    return ["commit", "--cleanup=whitespace", "--file=-", *trailers, *only]


async def _run(root: Path, arguments: list[str], message: str) -> tuple[int, str]:
    environment()  # refuses where git would be led elsewhere
    # Hooks get what a person's own git would give them; only how paths are read is settled, by each path itself.
    env = {name: value for name, value in os.environ.items() if not name.endswith("_PATHSPECS")}
    if "GPG_TTY" not in env and sys.stdin is not None and hasattr(os, "ttyname"):
        with suppress(OSError, ValueError):  # what signs asks for its passphrase there
            env["GPG_TTY"] = os.ttyname(sys.stdin.fileno())
    with tempfile.TemporaryFile() as output:  # a hook's child that lives on does not hold us
        starting = asyncio.create_subprocess_exec(
            "git",
            "--no-pager",
            *arguments,
            cwd=root,
            env=env,
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
        process = await started(starting, _end)
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError, ConnectionResetError):
                process.stdin.write(message.encode("utf-8", "replace"))
                await process.stdin.drain()
            process.stdin.close()
            code = await process.wait()
        finally:
            await _end(process)
        output.seek(0)
        return code, readable(output.read(100_000)).strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let git give its locks back before it goes; killed, it would leave them to whoever comes next."""
    if process.returncode is None:
        process.terminate()
    await process.wait()
