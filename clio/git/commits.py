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
from clio.text.formatting import format_count, truncate
from clio.threads import start_process

_PLAIN = ("--no-ext-diff", "--no-textconv", "--find-renames", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")


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
    arguments = [*_PLAIN, *revisions, "--", *paths]
    text = run_git(root, "diff", *arguments, index=index, filters=filters)
    numbers = run_git(root, "diff", "--numstat", "-z", *arguments, index=index, filters=filters)
    return CommitDiff(text=text, counts=tuple(_counts(numbers)))


def get_empty_tree(root: Path) -> str:
    """Return the object name of the empty tree, in the repository's hash format."""
    return run_git(root, "hash-object", "-t", "tree", "--stdin", stdin="")


def _counts(listing: str) -> list[LineCount]:
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


_FILE = re.compile(r"^diff --(?:git|cc|combined) ", re.MULTILINE)
_LEAST_CHARS = 400
"""If less of a file would fit, only its name is given."""


class DiffPart(Struct, frozen=True):
    """The part of a diff about one file. left_out: number of its lines that are omitted."""

    text: str
    left_out: int = 0


class FittedDiff(Struct, frozen=True, kw_only=True):
    """A diff of bounded size.

    Attributes:
        shortened_files: number of files of which a part is missing.
        omitted_files: number of files that are missing completely.
        lines: number of missing lines.
    """

    text: str
    shortened_files: int = 0
    omitted_files: int = 0
    lines: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return not (self.shortened_files or self.omitted_files)

    @property
    def describe_omitted(self) -> str:
        """ "120 lines in 3 files are left out"."""
        files = self.shortened_files + self.omitted_files
        return f"{self.lines:,} lines in {format_count(files, 'file')} are left out"


def split_by_file(diff: str) -> list[str]:
    """Split a diff into one piece per file."""
    starts = [match.start() for match in _FILE.finditer(diff)]
    return [diff[start:end] for start, end in zip(starts, [*starts[1:], len(diff)], strict=False)]


def fit_diff(diff: str, max_chars: int) -> FittedDiff:
    """Return the diff in about `max_chars` characters at most."""
    if len(diff) <= max_chars:
        return FittedDiff(text=diff)
    pieces = split_by_file(diff) or [diff]
    shares = [_fit_piece(piece, room) for piece, room in zip(pieces, _rooms(pieces, max_chars), strict=True)]
    unseen = sum(not share.text for share in shares)
    return FittedDiff(
        text="\n".join(share.text.rstrip("\n") for share in shares if share.text),
        shortened_files=sum(bool(share.left_out) for share in shares) - unseen,
        omitted_files=unseen,
        lines=sum(share.left_out for share in shares),
    )


def _rooms(pieces: Sequence[str], max_chars: int) -> list[int]:
    """Return how many characters each piece may take: what small pieces do not need goes to the large ones."""
    rooms = [0] * len(pieces)
    room, left = max_chars, len(pieces)
    for place in sorted(range(len(pieces)), key=lambda place: len(pieces[place])):
        fair = max(room // left, _LEAST_CHARS)
        rooms[place] = min(len(pieces[place]), fair, room)
        room, left = room - rooms[place], left - 1
    return rooms


def _fit_piece(piece: str, room: int) -> DiffPart:
    """Return the whole lines of the piece that fit, and a line with the number of missing ones."""
    if len(piece) <= room:
        return DiffPart(piece)
    if room < _LEAST_CHARS // 2:
        return DiffPart("", piece.rstrip("\n").count("\n") + 1)
    part = piece[:room].rpartition("\n")[0] or piece[:room]
    missing = max(piece[len(part) :].strip("\n").count("\n") + 1, 1)
    return DiffPart(f"{part}\n[{missing:,} more lines of this file are left out]\n", missing)


_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MAX_CHARS = 2_000_000
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
    for piece in split_by_file(diff):
        path, numbers, text = _added(piece)
        starts: list[int] = []
        place = 0
        for line in text:
            starts.append(place)
            place += len(line) + 1
        seen: set[int] = set()
        for span in sorted(spans("\n".join(text)[:_MAX_CHARS]), key=lambda span: span.start):
            index = max(i for i, start in enumerate(starts) if start <= span.start)
            if index not in seen:
                seen.add(index)
                found.append(FoundSecret(path, numbers[index], span.kind))
            if len(found) >= MAX_SECRETS:
                return found
    return found


def _added(piece: str) -> tuple[str, list[int], list[str]]:
    """Return a file's path, and the numbers and texts of its added lines."""
    path, numbers, text, number = "", list[int](), list[str](), 0
    for kind, line in _lines(piece):
        if kind == "name":
            path = line
        elif kind == "hunk":
            number = int(line)
        elif kind == "+":
            numbers.append(number)
            text.append(line)
            number += 1
        else:
            number += 1
    return path, numbers, text


def _lines(piece: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in piece.split("\n"):
        if match := _HUNK.match(line):
            inside = True
            yield "hunk", match[1]
        elif not inside and line.startswith("+++ "):
            yield "name", line.removeprefix("+++ ").removeprefix("b/").rstrip("\t")
        elif inside and line.startswith("+"):
            yield "+", line[1:]
        elif inside and line.startswith(" "):
            yield " ", line


SAVED_MESSAGE_FILE = "CLIO_COMMIT_MSG"
"""File in the git directory with the message of a failed commit, kept until the next successful one."""
_SUBJECTS = 20


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
    done = False
    try:
        code, output = await _run(state.root, _arguments(files, trailer), message)
        done = code == 0
    finally:
        if new and not done:
            with suppress(UserError):
                run_git(state.root, "rm", "--cached", "--quiet", "--ignore-unmatch", "--", *new)
    if not done:
        return CommitResult(output=output or f"git commit ended with exit code {code}")
    delete_saved_message(state.root)
    full, _, subject = run_git(
        state.root, "show", "--no-patch", "--no-show-signature", "--format=%h %s", "HEAD"
    ).partition(" ")
    return CommitResult(output=output, hash=full, subject=subject)


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
    named = run_git(root, "config", "--type=path", "--get", "commit.template", accepted_codes=(1,))
    given = [setting for setting in read_git_settings(root).items if setting.key == "commit.template"] if named else []
    if not given:
        return ""
    lines = read_text(root / named, root if given[-1].is_from_repository else None).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def list_subjects(root: Path, *revisions: str) -> list[str]:
    """Return the subjects of the newest commits without merges; empty if there are no commits."""
    arguments = ("log", f"--max-count={_SUBJECTS}", "--no-merges", "--no-show-signature", "--format=%s")
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


def _arguments(files: Sequence[ChangedFile], trailer: str) -> list[str]:
    trailers = ["--trailer", trailer] if trailer else []
    only = ["--only", "--", *(f":(top,literal){file.path}" for file in files)] if files else []
    return ["commit", "--cleanup=whitespace", "--file=-", *trailers, *only]


async def _run(root: Path, arguments: list[str], message: str) -> tuple[int, str]:
    make_git_environment()  # raises UserError if a variable leads git to another repository
    # Hooks get the environment the user's own git would give them, except for variables that change how paths are read.
    env = {name: value for name, value in os.environ.items() if not name.endswith("_PATHSPECS")}
    if "GPG_TTY" not in env and sys.stdin is not None and hasattr(os, "ttyname"):
        with suppress(OSError, ValueError):  # the signing program asks for its passphrase on the terminal
            env["GPG_TTY"] = os.ttyname(sys.stdin.fileno())
    with tempfile.TemporaryFile() as output:  # a pipe would stay open if a hook left a child running
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
        process = await start_process(starting, _end)
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
    """Ask git to terminate and wait, so that it removes its lock files; killed, it would leave them behind."""
    if process.returncode is None:
        process.terminate()
    await process.wait()


MAX_SUBJECT = 72
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
        raise ConfigError(f'attribution: {attribution!r} is no trailer; write it as "Assisted-by: clio"')


def compose_message(counts: Sequence[LineCount], *, new: bool, conventional: bool) -> str:
    """Return a message that only names the files of the commit. new: all of them are new."""
    paths = [count.path for count in counts]
    verb = "add" if new else "remove" if paths and all(_is_gone(count) for count in counts) else "update"
    what = _named(paths)
    subject = f"{_kind(paths, new=new)}: {verb} {what}" if conventional else f"{verb.capitalize()} {what}"
    if len(paths) < 2:
        return truncate_subject(subject)
    return "\n".join([truncate_subject(subject), "", *(f"- {line}" for line in _file_lines(counts))])


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
    """Return the subject in at most MAX_SUBJECT characters."""
    return truncate(subject, MAX_SUBJECT)


def format_stat(counts: Sequence[LineCount]) -> str:
    """ "3 files, +120 −8"."""
    added = sum(count.added or 0 for count in counts)
    removed = sum(count.removed or 0 for count in counts)
    return f"{format_count(len(counts), 'file')}, +{added:,} −{removed:,}"


def format_line_counts(count: LineCount) -> str:
    """ "+12 −3", or "binary"."""
    return "binary" if count.added is None or count.removed is None else f"+{count.added:,} −{count.removed:,}"


def _is_gone(count: LineCount) -> bool:
    return not count.added and bool(count.removed)


def _named(paths: Sequence[str]) -> str:
    """Return one or two files by name, more by their common folder."""
    names = [PurePosixPath(path).name for path in paths]
    if len(names) <= 2:
        return " and ".join(names)
    folders = Counter(PurePosixPath(path).parts[0] if "/" in path else "" for path in paths)
    folder, most = folders.most_common(1)[0]
    if folder and most == len(paths):
        return f"{len(paths)} files in {folder}"
    return f"{len(paths)} files"


def _file_lines(counts: Sequence[LineCount], most: int = 20) -> list[str]:
    lines = [f"{count.path} ({format_line_counts(count)})" for count in counts[:most]]
    return [*lines, f"{len(counts) - most:,} more files"] if len(counts) > most else lines


def _kind(paths: Sequence[str], *, new: bool) -> str:
    if all(path.endswith((".md", ".rst", ".txt")) or path.startswith("docs/") for path in paths):
        return "docs"
    if all("test" in PurePosixPath(path).name or path.startswith(("test/", "tests/")) for path in paths):
        return "test"
    if all(PurePosixPath(path).name in _MANIFESTS or path.endswith(".lock") for path in paths):
        return "build"
    return "feat" if new else "chore"
