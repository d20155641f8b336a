"""Turn sharing of a project's memory on and off, report its status, and make git see the shared folder.

Nothing here runs `git commit` or `git add`.
"""

import secrets
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from clio.config.paths import FOLDER_NAME
from clio.config.project_links import FORMAT_NAME, SHARED_NAME, is_team_trusted, trust_team
from clio.errors import UserError
from clio.memory.store.ltm_codec import Json, read_ltm, set_handle, to_record, write_ltm
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import MemoryRecord, Redact, redact_json
from clio.memory.team.folder import Problem, find_hidden_changes
from clio.memory.team.knowledge import TIDY_DAYS
from clio.readonly_git import run_git
from clio.storage.files import make_ignored_folder, read_regular, write_atomic
from clio.text.translation import tr

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
    """An ignore rule that hides the shared folder from git, or a missing rule that would hide the rest of `.clio`.

    Attributes:
        where: file and line of the rule; empty if a rule is missing.
        pattern: the rule.
        file: the `.gitignore` to which lines must be added, relative to the project.
        lines: the lines to add, in this order, because the last matching rule counts.
    """

    where: str = ""
    pattern: str = ""
    file: str
    lines: tuple[str, ...]


def find_ignore_problem(project: Path) -> Rule | None:
    """Return the next problem to fix; None if git sees exactly the shared files, or there is no git."""
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
    if _git(project, "rev-parse", "--is-inside-work-tree") is not None and _rule(project, _PRIVATE) is None:
        return Rule(file=f"{FOLDER_NAME}/.gitignore", lines=_INSIDE)
    return None


def add_ignore_lines(project: Path) -> tuple[Rule, ...]:
    """Add the missing lines until git sees the shared folder; return what was added. Raises OSError."""
    done: list[Rule] = []
    while (rule := find_ignore_problem(project)) and len(done) < _MAX_RULES and rule not in done:
        path = (project / rule.file).resolve()  # so that a symbolic link is kept and its target is changed
        old = read_regular(path) if path.exists() else b""
        end = b"\r\n" if b"\r\n" in old else b"\n"
        before = old if not old or old.endswith(b"\n") else old + end
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        write_atomic(path, before + b"".join(line.encode() + end for line in rule.lines), mode)
        done.append(rule)
    return tuple(done)


def uncommitted(project: Path) -> int:
    """Return how many files of the shared folder are not committed; 0 if git cannot be run."""
    listed = _git(project, "status", "--porcelain", "-z", "--untracked-files=all", "--", f"{FOLDER_NAME}/{SHARED_NAME}")
    return listed.count("\0") if listed else 0


def _rule(project: Path, path: str) -> tuple[str, str, str] | None:
    """Return file, line and pattern of the rule by which git ignores a path, or None."""
    found = _git(project, "check-ignore", "--verbose", "--no-index", "-z", "--stdin", given=path)
    parts = (found or "").split("\0")
    if len(parts) < 4 or parts[2].startswith("!"):
        return None
    return parts[0], parts[1], parts[2]


def _git(project: Path, *words: str, given: str = "") -> str | None:
    return run_git(project, *words, timeout_s=_TIME_LIMIT_S, stdin=given)


class Status(Struct, frozen=True, kw_only=True):
    """The status of sharing.

    Attributes:
        there: whether the project has a shared folder.
        trusted: whether the user trusts it.
        shared, private: memories in the shared folder, and in `ltm.json`.
        by: number of shared memories per author.
        rivals: memories that contradict another one with the same origin.
        late: versions that one member wrote while another one forgot the memory.
        emptied: number of files of replaced and forgotten statements.
        problems: files that were left out.
        uncommitted: number of files that are not committed.
        rule: the ignore rule that must be added or overridden.
    """

    there: bool
    trusted: bool
    shared: tuple[MemoryRecord, ...] = ()
    private: tuple[MemoryRecord, ...] = ()
    by: dict[str, int] = {}
    rivals: tuple[MemoryRecord, ...] = ()
    late: tuple[MemoryRecord, ...] = ()
    emptied: int = 0
    problems: tuple[Problem, ...] = ()
    uncommitted: int = 0
    rule: Rule | None = None


class Sharing:
    """Turns sharing of a project's memory on and off.

    Methods raise StorageError with a sentence, UserError if an action is not possible, and OSError.

    Args:
        path: the path of `ltm.json`.
        home: the folder that stores which projects are trusted; with None nothing can be shared.
        redact: removes secrets from texts before they are shared.
    """

    def __init__(
        self, path: Path, *, project: Path, home: Path | None, clock: Callable[[], float], redact: Redact
    ) -> None:
        self._store = LongTermMemory(path, project=project, home=home, clock=clock)
        self._team = self._store.team
        self._redact = redact

    def status(self) -> Status:
        """Return the status of sharing. Runs git."""
        team, project = self._team, self._team.project
        if not team.folder.exists():
            return Status(there=False, trusted=True, private=self._store.document().knowledge().entries)
        files = team.folder.read()
        rule = find_ignore_problem(project)
        if not team.in_use:
            return Status(there=True, trusted=False, problems=files.problems, rule=rule)
        document = self._store.document()
        entries = document.knowledge().entries
        shared = tuple(
            entry for entry in entries if entry.id in {one.memory.handle for one in document.shared.values()}
        )
        return Status(
            there=True,
            trusted=True,
            shared=shared,
            private=tuple(entry for entry in entries if entry not in shared),
            by=dict(Counter(entry.by for entry in shared).most_common()),
            rivals=tuple(entry for entry in shared if entry.rivals),
            late=tuple(
                structs.replace(to_record(one.kind, one.raw(), one.name), by=one.by)
                for one in find_hidden_changes(files.statements, files.forgotten)
            ),
            emptied=len(files.emptied),
            problems=files.problems,
            uncommitted=uncommitted(project),
            rule=rule,
        )

    def list_shareable(self) -> tuple[MemoryRecord, ...]:
        """Return the memories in `ltm.json` as `turn_on` would share them."""
        if not self._team.folder.exists() or self._team.in_use:
            document = self._store.document()
        else:
            document = read_ltm(self._store.path)  # shared files are not read before the user trusts them
        found = [one for one in document.by_handle().items() if id(one[1][1]) not in document.shared]
        return tuple(to_record(kind, redact_json(raw, self._redact), handle) for handle, (kind, raw) in found)

    def turn_on(self) -> int:
        """Share the memories in `ltm.json` and trust those of others; return how many were shared.

        If the process is killed, memories may be in both places; they count once, and another call continues.
        """
        team = self._team
        if team.home is None:
            raise UserError(tr("Sharing needs a home folder for clio, to store that this project is trusted."))
        if not is_team_trusted(team.project, team.home):
            trust_team(team.project, team.home)
        if not team.folder.exists():
            make_ignored_folder(team.folder.path.parent, team.folder.path.parent)
            team.folder.create()
        with self._store.changing() as (document, now):
            if not document.shares:  # another process has turned sharing off meanwhile
                team.folder.create()
                team.put_into(document)
            count = 0
            for handle, (_, raw) in document.by_handle().items():
                if id(raw) in document.private:
                    # Secrets are removed before anything is written to a folder that git sees.
                    cleaned: Json = redact_json(raw, self._redact)
                    raw.clear()
                    raw.update(cleaned)
                    set_handle(raw, handle)
                    del document.private[id(raw)]
                    count += 1
            document.touch(now)
            self._store.put(document, now)
            return count

    def turn_off(self) -> int:
        """Move all shared memories to `ltm.json` and delete the folder; return how many were moved."""
        team = self._team
        if not team.folder.exists():
            raise UserError(tr("Sharing is off. /memory share on turns it on."))
        if not team.in_use:
            raise UserError(
                tr(
                    "The shared memory of this project is not trusted yet: "
                    "/memory share on first, then /memory share off."
                )
            )
        with self._store.changing() as (document, now):
            if not document.shares:
                raise UserError(tr("Sharing is already off; another clio has just turned it off."))
            for one in document.shared.values():
                by = one.memory.by
                if by and not any(map(team.is_mine, by)):
                    one.raw["by"] = by[0]
            document.touch(now)
            write_ltm(self._store.path, document)
            _delete_folder(team.folder.path)
            team.own_path.unlink(missing_ok=True)
            return len(document.shared)

    def fix_ignore_rules(self) -> tuple[Rule, ...]:
        """Add lines to `.gitignore` files so that git sees exactly the shared files; return what was added."""
        return add_ignore_lines(self._team.project)

    def tidy(self, days: float = TIDY_DAYS) -> int:
        """Delete files that have been empty for so many days; return their number."""
        if not self._team.in_use:
            return 0
        with self._store.changing():
            return self._team.tidy(days)


def _delete_folder(folder: Path) -> None:
    """Delete a folder so that a killed process leaves it complete or gone: rename it first, then delete the files.

    Also deletes what earlier killed processes left.
    """
    folder.rename(folder.with_name(f"{folder.name}.gone-{secrets.token_hex(4)}"))
    for left in folder.parent.glob(f"{folder.name}.gone-*"):
        shutil.rmtree(left)
