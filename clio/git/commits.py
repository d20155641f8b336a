"""Create commits of exactly the chosen files, with hooks and signing, and write their messages by rule."""

import asyncio
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from clio.children import started
from clio.errors import ConfigError, UserError
from clio.git.diffs import Count
from clio.git.repository import Changed, RepositoryState, decode_output, get_git_path, make_git_environment, run_git
from clio.git_looking import read_settings
from clio.storage.files import open_regular, write_atomic
from clio.text.lazy_regex import LazyRegex

KEPT = "CLIO_COMMIT_MSG"
"""The message of a commit that did not come about, in the repository's own folder until the next one does."""
_SUBJECTS = 20


class CommitResult(Struct, frozen=True, kw_only=True):
    """What came of a commit. said: what git and the hooks printed. hash, subject: of the commit; "" where none is."""

    said: str
    hash: str = ""
    subject: str = ""


async def create_commit(
    state: RepositoryState, files: Sequence[Changed], message: str, trailer: str = ""
) -> CommitResult:
    """Commit these files as they are in the working tree; without any, what is staged.

    Hooks run and may take as long as they want; cancelling ends git with them. The message is kept on disk until the
    commit is there. A commit that fails leaves the index as it was. Raises UserError where git cannot be run.
    """
    save_message(state.root, message)
    new = [file.path for file in files if not file.tracked]
    if new:
        run_git(state.root, "add", "--intent-to-add", "--", *new)
    done = False
    try:
        code, said = await _run(state.root, _arguments(files, trailer), message)
        done = code == 0
    finally:
        if new and not done:
            with suppress(UserError):
                run_git(state.root, "rm", "--cached", "--quiet", "--ignore-unmatch", "--", *new)
    if not done:
        return CommitResult(said=said or f"git commit ended with exit code {code}")
    delete_saved_message(state.root)
    full, _, subject = run_git(
        state.root, "show", "--no-patch", "--no-show-signature", "--format=%h %s", "HEAD"
    ).partition(" ")
    return CommitResult(said=said, hash=full, subject=subject)


def save_message(root: Path, message: str) -> None:
    """Put a message on disk for the next try."""
    write_atomic(get_git_path(root, KEPT), message.encode("utf-8", "replace"))


def delete_saved_message(root: Path) -> None:
    """Nobody wants the message of the last try any more."""
    with suppress(OSError):
        get_git_path(root, KEPT).unlink()


def load_saved_message(root: Path) -> str:
    """The message of the last try that failed; "" where there is none."""
    path = get_git_path(root, KEPT)
    return read_text(path, path.parent)


def read_prepared_message(state: RepositoryState) -> str:
    """What git itself proposes for a merge, a cherry-pick or a revert, without its comments; "" where there is none."""
    if state.doing in ("", "rebase"):
        return ""
    path = get_git_path(state.root, "MERGE_MSG")
    lines = read_text(path, path.parent).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def read_template(root: Path) -> str:
    """The text of `commit.template`, without its comments; "" where there is none.

    What the repository's own configuration names counts only where it is in the working tree: it is sent to the model.
    """
    named = run_git(root, "config", "--type=path", "--get", "commit.template", wrong=(1,))
    given = [setting for setting in read_settings(root).items if setting.key == "commit.template"] if named else []
    if not given:
        return ""
    lines = read_text(root / named, root if given[-1].from_repository else None).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def list_subjects(root: Path, *revisions: str) -> list[str]:
    """The first lines of the newest commits, merges left out; none where there is no commit."""
    arguments = ("log", f"--max-count={_SUBJECTS}", "--no-merges", "--no-show-signature", "--format=%s")
    try:
        return run_git(root, *arguments, *revisions, "--").splitlines()
    except UserError:
        return []


def read_text(path: Path, inside: Path | None = None) -> str:
    """A small regular file's text; "" where it cannot be read, or where it is not in the directory `inside`."""
    try:
        if inside and not path.resolve().is_relative_to(inside.resolve()):
            return ""
        with open_regular(path) as file:
            return decode_output(file.read(20_000)).strip()
    except OSError:
        return ""


def _arguments(files: Sequence[Changed], trailer: str) -> list[str]:
    trailers = ["--trailer", trailer] if trailer else []
    only = ["--only", "--", *(f":(top,literal){file.path}" for file in files)] if files else []
    return ["commit", "--cleanup=whitespace", "--file=-", *trailers, *only]


async def _run(root: Path, arguments: list[str], message: str) -> tuple[int, str]:
    make_git_environment()  # refuses where git would be led elsewhere
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
        return code, decode_output(output.read(100_000)).strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let git give its locks back before it goes; killed, it would leave them to whoever comes next."""
    if process.returncode is None:
        process.terminate()
    await process.wait()


MAX_SUBJECT = 72
_CONVENTIONAL = LazyRegex(r"^(feat|fix|docs|test|refactor|perf|build|ci|chore|style|revert)(\([^)]+\))?!?: \S")
_TRAILER = LazyRegex(r"^[A-Za-z][A-Za-z0-9-]*: \S[^\n]*$")
_FENCE = LazyRegex(r"^```[^\n]*\n(.*?)\n?```\s*$", re.DOTALL)
_MANIFESTS = frozenset("pyproject.toml setup.py package.json Cargo.toml go.mod Makefile CMakeLists.txt".split())


def is_conventional(subjects: Sequence[str]) -> bool:
    """Whether most of these first lines follow Conventional Commits: "feat: …", "fix(parser): …"."""
    return bool(subjects) and 2 * sum(bool(_CONVENTIONAL.match(subject)) for subject in subjects) > len(subjects)


def check_trailer(attribution: str | None) -> None:
    """Raises ConfigError where the setting is nothing that git takes for a trailer."""
    if attribution and not _TRAILER.match(attribution):
        raise ConfigError(f'attribution: {attribution!r} is no trailer; write it as "Assisted-by: clio"')


def compose_message(counts: Sequence[Count], *, new: bool, conventional: bool) -> str:
    """A message that says which files a commit touches, and no more. new: all of them are new."""
    paths = [count.path for count in counts]
    verb = "add" if new else "remove" if paths and all(_is_gone(count) for count in counts) else "update"
    what = _named(paths)
    subject = f"{_kind(paths, new=new)}: {verb} {what}" if conventional else f"{verb.capitalize()} {what}"
    if len(paths) < 2:
        return truncate_subject(subject)
    return "\n".join([truncate_subject(subject), "", *(f"- {line}" for line in _file_lines(counts))])


def extract_message(answer: str) -> str:
    """The message in a model's answer: no code fence or quotes round it, its first line set apart; "" for none."""
    text = answer.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    lines = [line.rstrip() for line in text.splitlines()]
    if not lines:
        return ""
    first = lines[0].strip().strip("`\"'").removeprefix("Subject: ").removeprefix("# ").strip()
    rest = "\n".join(lines[1:]).strip("\n")
    return f"{first}\n\n{rest}".strip() if rest else first


def truncate_subject(subject: str) -> str:
    """The first line, no longer than it should be."""
    return subject if len(subject) <= MAX_SUBJECT else subject[: MAX_SUBJECT - 1].rstrip() + "…"


def format_stat(counts: Sequence[Count]) -> str:
    """ "3 files, +120 −8"."""
    added = sum(count.added or 0 for count in counts)
    removed = sum(count.removed or 0 for count in counts)
    return f"{len(counts):,} file{'s' * (len(counts) != 1)}, +{added:,} −{removed:,}"


def format_count(count: Count) -> str:
    """ "+12 −3", or "binary"."""
    return "binary" if count.added is None or count.removed is None else f"+{count.added:,} −{count.removed:,}"


def _is_gone(count: Count) -> bool:
    return not count.added and bool(count.removed)


def _named(paths: Sequence[str]) -> str:
    """One or two files by name, more by the folder that holds them all."""
    names = [PurePosixPath(path).name for path in paths]
    if len(names) <= 2:
        return " and ".join(names)
    folders = Counter(PurePosixPath(path).parts[0] if "/" in path else "" for path in paths)
    folder, most = folders.most_common(1)[0]
    if folder and most == len(paths):
        return f"{len(paths)} files in {folder}"
    return f"{len(paths)} files"


def _file_lines(counts: Sequence[Count], most: int = 20) -> list[str]:
    lines = [f"{count.path} ({format_count(count)})" for count in counts[:most]]
    return [*lines, f"{len(counts) - most:,} more files"] if len(counts) > most else lines


def _kind(paths: Sequence[str], *, new: bool) -> str:
    if all(path.endswith((".md", ".rst", ".txt")) or path.startswith("docs/") for path in paths):
        return "docs"
    if all("test" in PurePosixPath(path).name or path.startswith(("test/", "tests/")) for path in paths):
        return "test"
    if all(PurePosixPath(path).name in _MANIFESTS or path.endswith(".lock") for path in paths):
        return "build"
    return "feat" if new else "chore"
