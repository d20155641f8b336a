"""A commit's message and a branch's description by rule, where no model is there to write them. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from clio.algorithms.late_pattern import LatePattern
from clio.errors import ConfigError
from clio.repository.diffs import Count

MAX_SUBJECT = 72
_CONVENTIONAL = LatePattern(r"^(feat|fix|docs|test|refactor|perf|build|ci|chore|style|revert)(\([^)]+\))?!?: \S")
_TRAILER = LatePattern(r"^[A-Za-z][A-Za-z0-9-]*: \S[^\n]*$")
_FENCE = LatePattern(r"^```[^\n]*\n(.*?)\n?```\s*$", re.DOTALL)
_MANIFESTS = frozenset("pyproject.toml setup.py package.json Cargo.toml go.mod Makefile CMakeLists.txt".split())


def is_conventional(subjects: Sequence[str]) -> bool:
    """Whether most of these first lines follow Conventional Commits: "feat: …", "fix(parser): …"."""
    return bool(subjects) and 2 * sum(bool(_CONVENTIONAL.match(subject)) for subject in subjects) > len(subjects)


def check_trailer(attribution: str | None) -> None:
    """Raises ConfigError where the setting is nothing that git takes for a trailer."""
    if attribution and not _TRAILER.match(attribution):
        raise ConfigError(f'attribution: {attribution!r} is no trailer; write it as "Assisted-by: clio"')


def rule_message(counts: Sequence[Count], *, new: bool, conventional: bool) -> str:
    """A message that says which files a commit touches, and no more. new: all of them are new."""
    paths = [count.path for count in counts]
    verb = "add" if new else "remove" if paths and all(_is_gone(count) for count in counts) else "update"
    what = _named(paths)
    subject = f"{_kind(paths, new=new)}: {verb} {what}" if conventional else f"{verb.capitalize()} {what}"
    if len(paths) < 2:
        return cut_subject(subject)
    return "\n".join([cut_subject(subject), "", *(f"- {line}" for line in _file_lines(counts))])


def message_of(answer: str) -> str:
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


def cut_subject(subject: str) -> str:
    """The first line, no longer than it should be."""
    return subject if len(subject) <= MAX_SUBJECT else subject[: MAX_SUBJECT - 1].rstrip() + "…"


def stat_line(counts: Sequence[Count]) -> str:
    """ "3 files, +120 −8"."""
    added = sum(count.added or 0 for count in counts)
    removed = sum(count.removed or 0 for count in counts)
    return f"{len(counts):,} file{'s' * (len(counts) != 1)}, +{added:,} −{removed:,}"


def count_words(count: Count) -> str:
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
    lines = [f"{count.path} ({count_words(count)})" for count in counts[:most]]
    return [*lines, f"{len(counts) - most:,} more files"] if len(counts) > most else lines


def _kind(paths: Sequence[str], *, new: bool) -> str:
    if all(path.endswith((".md", ".rst", ".txt")) or path.startswith("docs/") for path in paths):
        return "docs"
    if all("test" in PurePosixPath(path).name or path.startswith(("test/", "tests/")) for path in paths):
        return "test"
    if all(PurePosixPath(path).name in _MANIFESTS or path.endswith(".lock") for path in paths):
        return "build"
    return "feat" if new else "chore"
