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

from clio.child_processes import start_process
from clio.errors import ConfigError, UserError
from clio.git.repository import Changed, RepositoryState, decode_output, get_git_path, make_git_environment, run_git
from clio.readonly_git import read_git_settings
from clio.security.redaction.token_patterns import Span
from clio.storage.files import open_regular, write_atomic
from clio.text.formatting import format_count, truncate

_PLAIN = ("--no-ext-diff", "--no-textconv", "--find-renames", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")


class Count(Struct, frozen=True, kw_only=True):
    """How many lines of a file a change adds and takes away; None for a file that is not text."""

    path: str
    added: int | None
    removed: int | None


class Difference(Struct, frozen=True, kw_only=True):
    """A diff, and its files with their numbers of lines."""

    text: str
    counts: tuple[Count, ...]


def diff_staged(state: RepositoryState) -> Difference:
    """What a plain `git commit` would take."""
    return diff_between(state.root, "--cached")


def diff_unstaged(state: RepositoryState, files: Sequence[Changed]) -> Difference:
    """What a commit of these files, as they are in the working tree, would take. Git's index is not touched."""
    with tempfile.TemporaryDirectory(prefix="clio-index-") as folder:
        index = Path(folder, "index")
        own = get_git_path(state.root, "index")
        if own.exists():
            shutil.copy2(own, index)  # with its time: git trusts entries older than its index
        if new := [file.path for file in files if not file.tracked]:
            run_git(state.root, "add", "--intent-to-add", "--force", "--", *new, index=index)
        base = get_empty_tree(state.root) if state.unborn else "HEAD"
        return diff_between(state.root, base, paths=[file.path for file in files], index=index, filters=state.filters)


def diff_between(
    root: Path, *revisions: str, paths: Sequence[str] = (), index: Path | None = None, filters: bool = False
) -> Difference:
    """The diff `git diff` shows for these arguments. paths: only these, from the top of the working tree."""
    arguments = [*_PLAIN, *revisions, "--", *paths]
    text = run_git(root, "diff", *arguments, index=index, filters=filters)
    numbers = run_git(root, "diff", "--numstat", "-z", *arguments, index=index, filters=filters)
    return Difference(text=text, counts=tuple(_counts(numbers)))


def get_empty_tree(root: Path) -> str:
    """The name of the tree that holds nothing, whatever the repository's kind of hash."""
    return run_git(root, "hash-object", "-t", "tree", "--stdin", stdin="")


def _counts(listing: str) -> list[Count]:
    """`--numstat -z`: a renamed file has an empty path, then the two names."""
    found: list[Count] = []
    entries = iter(listing.split("\0"))
    for entry in entries:
        if entry.count("\t") < 2:
            continue
        added, removed, path = entry.split("\t", 2)
        if not path:
            next(entries)
            path = next(entries)
        found.append(
            Count(
                path=path,
                added=int(added) if added.isdecimal() else None,
                removed=int(removed) if removed.isdecimal() else None,
            )
        )
    return found


_FILE = re.compile(r"^diff --(?:git|cc|combined) ", re.MULTILINE)
_LEAST_CHARS = 400
"""Less of a file says nothing; its name alone is given then."""


class Share(Struct, frozen=True):
    """One file's part of a diff. left_out: how many of its lines are missing."""

    text: str
    left_out: int = 0


class FittedDiff(Struct, frozen=True, kw_only=True):
    """A diff of bounded size. cut, unseen: how many files are there in part, and not at all; lines: what is missing."""

    text: str
    cut: int = 0
    unseen: int = 0
    lines: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not (self.cut or self.unseen)

    @property
    def left_out(self) -> str:
        """ "120 lines in 3 files are left out"."""
        files = self.cut + self.unseen
        return f"{self.lines:,} lines in {format_count(files, 'file')} are left out"


def split_by_file(diff: str) -> list[str]:
    """The diff in pieces of one file each."""
    starts = [match.start() for match in _FILE.finditer(diff)]
    return [diff[start:end] for start, end in zip(starts, [*starts[1:], len(diff)], strict=False)]


def fit_diff(diff: str, max_chars: int) -> FittedDiff:
    """The diff in at most about so many characters."""
    if len(diff) <= max_chars:
        return FittedDiff(text=diff)
    pieces = split_by_file(diff) or [diff]
    shares = [_cut(piece, room) for piece, room in zip(pieces, _rooms(pieces, max_chars), strict=True)]
    unseen = sum(not share.text for share in shares)
    return FittedDiff(
        text="\n".join(share.text.rstrip("\n") for share in shares if share.text),
        cut=sum(bool(share.left_out) for share in shares) - unseen,
        unseen=unseen,
        lines=sum(share.left_out for share in shares),
    )


def _rooms(pieces: Sequence[str], max_chars: int) -> list[int]:
    """What each piece may take: what small ones leave over goes to the large ones."""
    rooms = [0] * len(pieces)
    room, left = max_chars, len(pieces)
    for place in sorted(range(len(pieces)), key=lambda place: len(pieces[place])):
        fair = max(room // left, _LEAST_CHARS)
        rooms[place] = min(len(pieces[place]), fair, room)
        room, left = room - rooms[place], left - 1
    return rooms


def _cut(piece: str, room: int) -> Share:
    """As many whole lines of the piece as the room holds, and a line that says how many are missing."""
    if len(piece) <= room:
        return Share(piece)
    if room < _LEAST_CHARS // 2:
        return Share("", piece.rstrip("\n").count("\n") + 1)
    kept = piece[:room].rpartition("\n")[0] or piece[:room]
    missing = max(piece[len(kept) :].strip("\n").count("\n") + 1, 1)
    return Share(f"{kept}\n[{missing:,} more lines of this file are left out]\n", missing)


_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MAX_CHARS = 2_000_000
MOST = 20


class Leak(Struct, frozen=True):
    """A secret in a line that a commit would add. kind: as in its mark, such as "aws-key"."""

    path: str
    line: int
    kind: str


def find_leaks(diff: str, spans: Callable[[str], Iterable[Span]]) -> list[Leak]:
    """The secrets among the added lines, each line once, at most MOST of them. spans: finds them in a text."""
    found: list[Leak] = []
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
                found.append(Leak(path, numbers[index], span.kind))
            if len(found) >= MOST:
                return found
    return found


def _added(piece: str) -> tuple[str, list[int], list[str]]:
    """A file's path, and its added lines with their numbers."""
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
    given = [setting for setting in read_git_settings(root).items if setting.key == "commit.template"] if named else []
    if not given:
        return ""
    lines = read_text(root / named, root if given[-1].is_from_repository else None).splitlines()
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
    """Let git give its locks back before it goes; killed, it would leave them to whoever comes next."""
    if process.returncode is None:
        process.terminate()
    await process.wait()


MAX_SUBJECT = 72
_CONVENTIONAL = re.compile(r"^(feat|fix|docs|test|refactor|perf|build|ci|chore|style|revert)(\([^)]+\))?!?: \S")
_TRAILER = re.compile(r"^[A-Za-z][A-Za-z0-9-]*: \S[^\n]*$")
_FENCE = re.compile(r"^```[^\n]*\n(.*?)\n?```\s*$", re.DOTALL)
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
    return truncate(subject, MAX_SUBJECT)


def format_stat(counts: Sequence[Count]) -> str:
    """ "3 files, +120 −8"."""
    added = sum(count.added or 0 for count in counts)
    removed = sum(count.removed or 0 for count in counts)
    return f"{format_count(len(counts), 'file')}, +{added:,} −{removed:,}"


def format_line_counts(count: Count) -> str:
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
