"""Commits of exactly the chosen files, with hooks and signing, and diffs shortened to a limit."""

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from clio.errors import ConfigError, UserError
from clio.git.repository import ChangedFile, RepositoryState, decode_output, get_git_path, make_git_environment, run_git
from clio.readonly_git import read_git_settings
from clio.security.redaction.secret_patterns import Span
from clio.storage.files import open_regular, write_atomic
from clio.text.formatting import truncate
from clio.text.translation import tr, tr_count
from clio.threads import start_process

_PLAIN_DIFF = (
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


class LineCount(Struct, frozen=True, kw_only=True):
    """Lines that a change adds to and removes from a file; None for a binary file."""

    path: str
    added: int | None
    removed: int | None


class CommitDiff(Struct, frozen=True, kw_only=True):
    """A diff, and the line counts of its files."""

    text: str
    counts: tuple[LineCount, ...]


def diff_staged(state: RepositoryState) -> CommitDiff:
    """Return what a plain `git commit` would commit."""
    return diff_between(state.root, "--cached")


def diff_unstaged(state: RepositoryState, files: Sequence[ChangedFile]) -> CommitDiff:
    """Return what a commit of these files in their present state would contain, without changing git's index."""
    with tempfile.TemporaryDirectory(prefix="clio-index-") as folder:
        index = Path(folder, "index")
        own = get_git_path(state.root, "index")
        if own.exists():
            shutil.copy2(own, index)  # keeps the modification time: git trusts entries older than the index
        if new := [file.path for file in files if not file.tracked]:
            run_git(state.root, "add", "--intent-to-add", "--force", "--", *new, index=index)
        base = get_empty_tree(state.root) if state.has_no_commit else "HEAD"
        return diff_between(state.root, base, paths=[file.path for file in files], index=index, filters=state.filters)


def diff_between(
    root: Path, *revisions: str, paths: Sequence[str] = (), index: Path | None = None, filters: bool = False
) -> CommitDiff:
    """Return the diff that `git diff` shows for these arguments.

    paths: limit the diff to these, relative to the top of the working tree.
    """
    arguments = [*_PLAIN_DIFF, *revisions, "--", *paths]
    text = run_git(root, "diff", *arguments, index=index, filters=filters)
    numbers = run_git(root, "diff", "--numstat", "-z", *arguments, index=index, filters=filters)
    return CommitDiff(text=text, counts=tuple(_parse_line_counts(numbers)))


def get_empty_tree(root: Path) -> str:
    """Return the object name of the empty tree, in the repository's hash format."""
    return run_git(root, "hash-object", "-t", "tree", "--stdin", stdin="")


def _parse_line_counts(listing: str) -> list[LineCount]:
    """Parse `--numstat -z`, in which a renamed file has an empty path followed by both names."""
    found: list[LineCount] = []
    entries = iter(listing.split("\0"))
    for entry in entries:
        if entry.count("\t") < 2:
            continue
        added, removed, path = entry.split("\t", 2)
        if not path:
            next(entries)
            path = next(entries)
        found.append(
            LineCount(
                path=path,
                added=int(added) if added.isdecimal() else None,
                removed=int(removed) if removed.isdecimal() else None,
            )
        )
    return found


_FILE_HEADER = re.compile(r"^diff --(?:git|cc|combined) ", re.MULTILINE)
_MIN_FILE_CHARS = 400
"""If less of a file would fit, only its name is given."""


class DiffPart(Struct, frozen=True):
    """The part of a diff about one file. omitted_lines: number of its lines that are missing."""

    text: str
    omitted_lines: int = 0


class FittedDiff(Struct, frozen=True, kw_only=True):
    """A diff of bounded size.

    Attributes:
        shortened_files: number of files of which a part is missing.
        omitted_files: number of files that are missing completely.
        omitted_lines: number of missing lines.
    """

    text: str
    shortened_files: int = 0
    omitted_files: int = 0
    omitted_lines: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return not (self.shortened_files or self.omitted_files)

    @property
    def omission(self) -> str:
        """What is missing, such as "120 lines in 3 files are left out"."""
        files = self.shortened_files + self.omitted_files
        return f"{self.omitted_lines:,} lines in {tr_count(files, 'file')} are left out"


def split_by_file(diff: str) -> list[str]:
    """Split a diff into the diffs of its files."""
    starts = [match.start() for match in _FILE_HEADER.finditer(diff)]
    return [diff[start:end] for start, end in zip(starts, [*starts[1:], len(diff)], strict=False)]


def fit_diff(diff: str, max_chars: int) -> FittedDiff:
    """Return the diff in about `max_chars` characters at most."""
    if len(diff) <= max_chars:
        return FittedDiff(text=diff)
    file_diffs = split_by_file(diff) or [diff]
    parts = [
        _fit_part(file_diff, space)
        for file_diff, space in zip(file_diffs, _share_space(file_diffs, max_chars), strict=True)
    ]
    omitted_files = sum(not part.text for part in parts)
    return FittedDiff(
        text="\n".join(part.text.rstrip("\n") for part in parts if part.text),
        shortened_files=sum(bool(part.omitted_lines) for part in parts) - omitted_files,
        omitted_files=omitted_files,
        omitted_lines=sum(part.omitted_lines for part in parts),
    )


def _share_space(file_diffs: Sequence[str], max_chars: int) -> list[int]:
    """Return how many characters each file's diff may take; space that small ones do not need goes to large ones."""
    spaces = [0] * len(file_diffs)
    free, remaining = max_chars, len(file_diffs)
    for index in sorted(range(len(file_diffs)), key=lambda index: len(file_diffs[index])):
        share = max(free // remaining, _MIN_FILE_CHARS)
        spaces[index] = min(len(file_diffs[index]), share, free)
        free, remaining = free - spaces[index], remaining - 1
    return spaces


def _fit_part(file_diff: str, space: int) -> DiffPart:
    """Return the lines of a file's diff that fit completely, and a line with the number of missing ones."""
    if len(file_diff) <= space:
        return DiffPart(file_diff)
    if space < _MIN_FILE_CHARS // 2:
        return DiffPart("", file_diff.rstrip("\n").count("\n") + 1)
    beginning = file_diff[:space].rpartition("\n")[0] or file_diff[:space]
    missing = max(file_diff[len(beginning) :].strip("\n").count("\n") + 1, 1)
    return DiffPart(f"{beginning}\n[{missing:,} more lines of this file are left out]\n", missing)


_HUNK_HEADER = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MAX_SEARCHED_CHARS = 2_000_000
MAX_SECRETS = 20


class FoundSecret(Struct, frozen=True):
    """A secret in a line that a commit would add. kind: as in its replacement mark, such as "aws-key"."""

    path: str
    line: int
    kind: str


def find_secrets_in_diff(diff: str, spans: Callable[[str], Iterable[Span]]) -> list[FoundSecret]:
    """Return the secrets in the added lines, at most one per line and MAX_SECRETS in total.

    Args:
        spans: finds the secrets in a text.
    """
    found: list[FoundSecret] = []
    for file_diff in split_by_file(diff):
        path, line_numbers, lines = _find_added_lines(file_diff)
        starts: list[int] = []
        offset = 0
        for line in lines:
            starts.append(offset)
            offset += len(line) + 1
        seen: set[int] = set()
        for span in sorted(spans("\n".join(lines)[:_MAX_SEARCHED_CHARS]), key=lambda span: span.start):
            index = max(i for i, start in enumerate(starts) if start <= span.start)
            if index not in seen:
                seen.add(index)
                found.append(FoundSecret(path, line_numbers[index], span.kind))
            if len(found) >= MAX_SECRETS:
                return found
    return found


def _find_added_lines(file_diff: str) -> tuple[str, list[int], list[str]]:
    """Return a file's path, and the numbers and texts of its added lines."""
    path, line_numbers, lines, number = "", list[int](), list[str](), 0
    for kind, line in _iter_diff_lines(file_diff):
        if kind == "name":
            path = line
        elif kind == "hunk":
            number = int(line)
        elif kind == "+":
            line_numbers.append(number)
            lines.append(line)
            number += 1
        else:
            number += 1
    return path, line_numbers, lines


def _iter_diff_lines(file_diff: str) -> Iterator[tuple[str, str]]:
    is_in_hunk = False
    for line in file_diff.split("\n"):
        if match := _HUNK_HEADER.match(line):
            is_in_hunk = True
            yield "hunk", match[1]
        elif not is_in_hunk and line.startswith("+++ "):
            yield "name", line.removeprefix("+++ ").removeprefix("b/").rstrip("\t")
        elif is_in_hunk and line.startswith("+"):
            yield "+", line[1:]
        elif is_in_hunk and line.startswith(" "):
            yield " ", line


SAVED_MESSAGE_FILE = "CLIO_COMMIT_MSG"
"""File in the git directory with the message of a failed commit, kept until the next successful one."""
_MAX_SUBJECTS = 20


class CommitResult(Struct, frozen=True, kw_only=True):
    """The result of a commit. output: what git and hooks printed. hash, subject: of the commit; "" if it failed."""

    output: str
    hash: str = ""
    subject: str = ""


async def create_commit(
    state: RepositoryState, files: Sequence[ChangedFile], message: str, trailer: str = ""
) -> CommitResult:
    """Commit these files as they are in the working tree; without files, what is staged.

    Hooks run without a time limit; cancelling ends git and them. The message is kept on disk until the commit succeeds.
    A failed commit leaves the index unchanged. Raises UserError if git cannot be run.
    """
    save_message(state.root, message)
    new = [file.path for file in files if not file.tracked]
    if new:
        run_git(state.root, "add", "--intent-to-add", "--", *new)
    is_committed = False
    try:
        code, output = await _run_commit(state.root, _make_commit_arguments(files, trailer), message)
        is_committed = code == 0
    finally:
        if new and not is_committed:  # else the files would stay in the index, empty
            with suppress(UserError):
                run_git(state.root, "rm", "--cached", "--quiet", "--ignore-unmatch", "--", *new)
    if not is_committed:
        return CommitResult(output=output or f"git commit ended with exit code {code}")
    delete_saved_message(state.root)
    commit_hash, _, subject = run_git(
        state.root, "show", "--no-patch", "--no-show-signature", "--format=%h %s", "HEAD"
    ).partition(" ")
    return CommitResult(output=output, hash=commit_hash, subject=subject)


def save_message(root: Path, message: str) -> None:
    """Save a message for the next attempt."""
    write_atomic(get_git_path(root, SAVED_MESSAGE_FILE), message.encode("utf-8", "replace"))


def delete_saved_message(root: Path) -> None:
    """Delete the message of the last failed attempt."""
    with suppress(OSError):
        get_git_path(root, SAVED_MESSAGE_FILE).unlink()


def load_saved_message(root: Path) -> str:
    """Return the message of the last failed attempt, or ""."""
    path = get_git_path(root, SAVED_MESSAGE_FILE)
    return read_text(path, path.parent)


def read_prepared_message(state: RepositoryState) -> str:
    """Return the message git proposes for a merge, cherry-pick or revert, without comments; "" if there is none."""
    if state.operation in ("", "rebase"):
        return ""
    path = get_git_path(state.root, "MERGE_MSG")
    lines = read_text(path, path.parent).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def read_template(root: Path) -> str:
    """Return the text of `commit.template` without comments; "" if there is none.

    A template named by the repository's own configuration is read only from the working tree, because it is sent to
    the model.
    """
    path = run_git(root, "config", "--type=path", "--get", "commit.template", accepted_codes=(1,))
    settings = (
        [setting for setting in read_git_settings(root).items if setting.key == "commit.template"] if path else []
    )
    if not settings:
        return ""
    lines = read_text(root / path, root if settings[-1].is_from_repository else None).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def list_subjects(root: Path, *revisions: str) -> list[str]:
    """Return the subjects of the newest commits without merges; empty if there are no commits."""
    arguments = ("log", f"--max-count={_MAX_SUBJECTS}", "--no-merges", "--no-show-signature", "--format=%s")
    try:
        return run_git(root, *arguments, *revisions, "--").splitlines()
    except UserError:
        return []


def read_text(path: Path, inside: Path | None = None) -> str:
    """Return the text of a small regular file; "" if it cannot be read or is not in the directory `inside`."""
    try:
        if inside and not path.resolve().is_relative_to(inside.resolve()):
            return ""
        with open_regular(path) as file:
            return decode_output(file.read(20_000)).strip()
    except OSError:
        return ""


def _make_commit_arguments(files: Sequence[ChangedFile], trailer: str) -> list[str]:
    trailers = ["--trailer", trailer] if trailer else []
    paths = ["--only", "--", *(f":(top,literal){file.path}" for file in files)] if files else []
    # The message may contain lines that begin with "#", which the default clean-up would remove.
    return ["commit", "--cleanup=whitespace", "--file=-", *trailers, *paths]


async def _run_commit(root: Path, arguments: list[str], message: str) -> tuple[int, str]:
    make_git_environment()  # raises UserError if a variable leads git to another repository
    # Hooks get the environment the user's own git would give them, except for variables that change how paths are read.
    env = {name: value for name, value in os.environ.items() if not name.endswith("_PATHSPECS")}
    if "GPG_TTY" not in env and sys.stdin is not None and hasattr(os, "ttyname"):
        with suppress(OSError, ValueError):  # the signing program asks for its passphrase on the terminal
            env["GPG_TTY"] = os.ttyname(sys.stdin.fileno())
    with tempfile.TemporaryFile() as output:  # a pipe would stay open if a hook left a child running
        start = asyncio.create_subprocess_exec(
            "git",
            "--no-pager",
            *arguments,
            cwd=root,
            env=env,
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
        process = await start_process(start, _terminate_process)
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError, ConnectionResetError):
                process.stdin.write(message.encode("utf-8", "replace"))
                await process.stdin.drain()
            process.stdin.close()
            code = await process.wait()
        finally:
            await _terminate_process(process)
        output.seek(0)
        return code, decode_output(output.read(100_000)).strip()


async def _terminate_process(process: asyncio.subprocess.Process) -> None:
    """Ask git to terminate and wait, so that it removes its lock files; killed, it would leave them behind."""
    if process.returncode is None:
        process.terminate()
    await process.wait()


MAX_SUBJECT_CHARS = 72
_CONVENTIONAL = re.compile(r"^(feat|fix|docs|test|refactor|perf|build|ci|chore|style|revert)(\([^)]+\))?!?: \S")
_TRAILER = re.compile(r"^[A-Za-z][A-Za-z0-9-]*: \S[^\n]*$")
_FENCE = re.compile(r"^```[^\n]*\n(.*?)\n?```\s*$", re.DOTALL)
_MANIFESTS = frozenset("pyproject.toml setup.py package.json Cargo.toml go.mod Makefile CMakeLists.txt".split())


def is_conventional(subjects: Sequence[str]) -> bool:
    """Whether most of these subjects follow Conventional Commits: "feat: …", "fix(parser): …"."""
    return bool(subjects) and 2 * sum(bool(_CONVENTIONAL.match(subject)) for subject in subjects) > len(subjects)


def check_trailer(attribution: str | None) -> None:
    """Raise ConfigError if git would not accept the setting as a trailer."""
    if attribution and not _TRAILER.match(attribution):
        raise ConfigError(
            tr(
                'attribution: {attribution!r} is not a trailer; write it as "Assisted-by: clio"',
                attribution=attribution,
            )
        )


def compose_message(counts: Sequence[LineCount], *, new: bool, conventional: bool) -> str:
    """Return a message that only names the files of the commit. new: all of them are new."""
    paths = [count.path for count in counts]
    verb = "add" if new else "remove" if paths and all(_is_deleted(count) for count in counts) else "update"
    files = _describe_files(paths)
    subject = f"{_choose_type(paths, new=new)}: {verb} {files}" if conventional else f"{verb.capitalize()} {files}"
    if len(paths) < 2:
        return truncate_subject(subject)
    return "\n".join([truncate_subject(subject), "", *(f"- {line}" for line in _list_file_lines(counts))])


def extract_message(answer: str) -> str:
    """Return the commit message in a model's answer, without code fence and quotes; "" if there is none.

    An empty line follows the subject.
    """
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
    """Return the subject in at most MAX_SUBJECT_CHARS characters."""
    return truncate(subject, MAX_SUBJECT_CHARS)


def format_stat(counts: Sequence[LineCount]) -> str:
    """Return the sum of the counts, such as "3 files, +120 −8"."""
    added = sum(count.added or 0 for count in counts)
    removed = sum(count.removed or 0 for count in counts)
    return f"{tr_count(len(counts), 'file')}, +{added:,} −{removed:,}"


def format_line_counts(count: LineCount) -> str:
    """Return the counts of one file, such as "+12 −3", or "binary"."""
    return "binary" if count.added is None or count.removed is None else f"+{count.added:,} −{count.removed:,}"


def _is_deleted(count: LineCount) -> bool:
    return not count.added and bool(count.removed)


def _describe_files(paths: Sequence[str]) -> str:
    """Return one or two files by name, more by their common folder."""
    names = [PurePosixPath(path).name for path in paths]
    if len(names) <= 2:
        return " and ".join(names)
    folders = Counter(PurePosixPath(path).parts[0] if "/" in path else "" for path in paths)
    folder, count = folders.most_common(1)[0]
    if folder and count == len(paths):
        return f"{len(paths)} files in {folder}"
    return f"{len(paths)} files"


_MAX_LISTED_FILES = 20


def _list_file_lines(counts: Sequence[LineCount]) -> list[str]:
    lines = [f"{count.path} ({format_line_counts(count)})" for count in counts[:_MAX_LISTED_FILES]]
    missing = len(counts) - len(lines)
    return [*lines, f"{missing:,} more files"] if missing else lines


def _choose_type(paths: Sequence[str], *, new: bool) -> str:
    if all(path.endswith((".md", ".rst", ".txt")) or path.startswith("docs/") for path in paths):
        return "docs"
    if all("test" in PurePosixPath(path).name or path.startswith(("test/", "tests/")) for path in paths):
        return "test"
    if all(PurePosixPath(path).name in _MANIFESTS or path.endswith(".lock") for path in paths):
        return "build"
    return "feat" if new else "chore"
