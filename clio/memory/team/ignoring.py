"""Whether git sees the shared folder, and the lines that would let it: what lies beside it is to stay unseen."""

from pathlib import Path

from msgspec import Struct

from clio.config.paths import FOLDER_NAME
from clio.config.project_links import FORMAT_NAME, SHARED_NAME
from clio.git_looking import answer
from clio.storage.files import read_regular, write_atomic

_TIME_LIMIT_S = 10.0
_SHARED = f"{FOLDER_NAME}/{SHARED_NAME}/{FORMAT_NAME}"
_PRIVATE = f"{FOLDER_NAME}/ltm.mine.json"
_INSIDE = ("*", "!.gitignore", f"!{SHARED_NAME}/", f"!{SHARED_NAME}/**")
_OUTSIDE = (
    f"!/{FOLDER_NAME}/",
    f"/{FOLDER_NAME}/*",
    f"!/{FOLDER_NAME}/.gitignore",
    f"!/{FOLDER_NAME}/{SHARED_NAME}/",
    f"!/{FOLDER_NAME}/{SHARED_NAME}/**",
)
_MAX_RULES = 4


class Rule(Struct, frozen=True, kw_only=True):
    """A line that keeps the shared folder out of git, or the lack of one that keeps the rest out.

    where: its file and line, relative to the project where it lies there; empty where it is a lack.
    file: where lines are to be added, relative to the project. lines: those, in their order; the last one wins.
    """

    where: str = ""
    pattern: str = ""
    file: str
    lines: tuple[str, ...]


def rule_in_the_way(project: Path) -> Rule | None:
    """The next thing to put right; None where git sees what is shared and nothing else, or there is no git."""
    shared = _rule(project, _SHARED)
    if shared is not None:
        source, line, pattern = shared
        inside = source == f"{FOLDER_NAME}/.gitignore"
        return Rule(
            where=f"{source}:{line}",
            pattern=pattern,
            file=source if inside else ".gitignore",
            lines=_INSIDE[1:] if inside else _OUTSIDE,
        )
    if _is_repository(project) and _rule(project, _PRIVATE) is None:
        return Rule(file=f"{FOLDER_NAME}/.gitignore", lines=_INSIDE)
    return None


def add_lines(project: Path) -> tuple[Rule, ...]:
    """Add what is missing, file by file, until git sees the shared folder. What was added. Raises OSError."""
    done: list[Rule] = []
    while (rule := rule_in_the_way(project)) and len(done) < _MAX_RULES and rule not in done:
        path = (project / rule.file).resolve()  # a link stays one
        old = read_regular(path) if path.exists() else b""
        end = b"\r\n" if b"\r\n" in old else b"\n"
        before = old if not old or old.endswith(b"\n") else old + end
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        write_atomic(path, before + b"".join(line.encode() + end for line in rule.lines), mode)
        done.append(rule)
    return tuple(done)


def uncommitted(project: Path) -> int:
    """How many files of the shared folder git would commit; 0 where it cannot be asked."""
    listed = _git(project, "status", "--porcelain", "-z", "--untracked-files=all", "--", f"{FOLDER_NAME}/{SHARED_NAME}")
    return listed.count("\0") if listed else 0


def _rule(project: Path, path: str) -> tuple[str, str, str] | None:
    """File, line and pattern of the rule that ignores a path; None where none does."""
    found = _git(project, "check-ignore", "--verbose", "--no-index", "-z", "--stdin", given=path)
    parts = (found or "").split("\0")
    if len(parts) < 4 or parts[2].startswith("!"):
        return None
    return parts[0], parts[1], parts[2]


def _is_repository(project: Path) -> bool:
    return _git(project, "rev-parse", "--is-inside-work-tree") is not None


def _git(project: Path, *words: str, given: str = "") -> str | None:
    return answer(project, *words, timeout_s=_TIME_LIMIT_S, given=given)
