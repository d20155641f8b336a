"""Turning sharing on and off, how it stands, and whether git sees the shared folder. Nothing here commits."""

import secrets
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from clio.config.paths import FOLDER_NAME
from clio.config.project_links import FORMAT_NAME, SHARED_NAME, is_team_trusted, trust_team
from clio.errors import UserError
from clio.memory.store.ltm_codec import read_ltm, write_ltm
from clio.memory.store.ltm_objects import Json, set_handle, to_entry
from clio.memory.store.ltm_store import LtmStore
from clio.memory.store.record import Clean, MemoryRecord, clean_json
from clio.memory.team.folder import Problem
from clio.memory.team.knowledge import TIDY_DAYS, TeamKnowledge
from clio.memory.team.statement import hidden
from clio.readonly_git import run_git
from clio.storage.files import make_ignored_folder, read_regular, write_atomic

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
    return run_git(project, *words, timeout_s=_TIME_LIMIT_S, stdin=given)


class Status(Struct, frozen=True, kw_only=True):
    """How sharing stands.

    there: whether the project has a shared folder. trusted: whether the person reads it.
    shared, private: entries that lie in the folder, and in `ltm.json`. by: who wrote how many of the shared.
    rivals: entries that say of the same something else. late: words that were changed while their entry was forgotten.
    emptied: files that say nothing any more. problems: files that were left out. uncommitted: files git would commit.
    rule: what keeps the folder out of git, or lets too much in.
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
    """What of a project's knowledge is shared.

    path: its `ltm.json`. home: where trust is kept; None: nothing can be shared.
    clean: takes secrets out of what is about to be shared.
    Methods raise StorageError with a sentence, UserError where there is nothing to be done, OSError.
    """

    def __init__(
        self, path: Path, *, project: Path, home: Path | None, clock: Callable[[], float], clean: Clean
    ) -> None:
        self._team = TeamKnowledge(path, project, home, clock)
        self._store = LtmStore(path, None, clock, self._team)
        self._clean = clean

    def status(self) -> Status:
        """How it stands; asks git."""
        team, project = self._team, self._team.project
        if not team.folder.exists():
            return Status(there=False, trusted=True, private=self._store.read().knowledge().entries)
        files = team.folder.read()
        rule = rule_in_the_way(project)
        if not team.in_use:
            return Status(there=True, trusted=False, problems=files.problems, rule=rule)
        document = self._store.read()
        entries = document.knowledge().entries
        shared = tuple(
            entry for entry in entries if entry.id in {one.living.handle for one in document.shared.values()}
        )
        return Status(
            there=True,
            trusted=True,
            shared=shared,
            private=tuple(entry for entry in entries if entry not in shared),
            by=dict(Counter(entry.by for entry in shared).most_common()),
            rivals=tuple(entry for entry in shared if entry.rivals),
            late=tuple(
                structs.replace(to_entry(one.kind, one.raw(), one.name), by=one.by)
                for one in hidden(files.statements, files.forgotten)
            ),
            emptied=len(files.emptied),
            problems=files.problems,
            uncommitted=uncommitted(project),
            rule=rule,
        )

    def would_be_shared(self) -> tuple[MemoryRecord, ...]:
        """The entries that only this person has, as `turn_on` would share them."""
        if not self._team.folder.exists() or self._team.in_use:
            document = self._store.read()
        else:
            document = read_ltm(self._store.path)  # others' are not looked at before they are trusted
        found = [one for one in document.by_handle().items() if id(one[1][1]) not in document.shared]
        return tuple(to_entry(kind, clean_json(raw, self._clean), handle) for handle, (kind, raw) in found)

    def turn_on(self) -> int:
        """Share what is in `ltm.json`, and trust what others share; how many entries that were.

        Killed at any instant it leaves entries in both places, which count once; turned on again it goes on.
        """
        team = self._team
        if team.home is None:
            raise UserError("Nobody can be trusted here: clio has no home folder.")
        if not is_team_trusted(team.project, team.home):
            trust_team(team.project, team.home)
        if not team.folder.exists():
            make_ignored_folder(team.folder.path.parent, team.folder.path.parent)
            team.folder.begin()
        with self._store.changing() as (document, now):
            if not document.shares:  # another clio has just turned it off
                team.folder.begin()
                team.put_into(document)
            count = 0
            for handle, (_, raw) in document.by_handle().items():
                if id(raw) in document.private:
                    cleaned: Json = clean_json(raw, self._clean)
                    raw.clear()
                    raw.update(cleaned)
                    set_handle(raw, handle)
                    del document.private[id(raw)]
                    count += 1
            document.touch(now)
            self._store.put(document, now)
            return count

    def turn_off(self) -> int:
        """Take all shared entries into `ltm.json` and the folder away; how many entries that were."""
        team = self._team
        if not team.folder.exists():
            raise UserError("Nothing is shared here; /memory share on begins it.")
        if not team.in_use:
            raise UserError(
                "What is shared here is not yet trusted; /memory share on reads it, then off takes it over."
            )
        with self._store.changing() as (document, now):
            if not document.shares:
                raise UserError("Nothing is shared here any more; another clio has just turned it off.")
            for one in document.shared.values():
                by = one.living.by
                if by and not any(map(team.is_mine, by)):
                    one.raw["by"] = by[0]
            document.touch(now)
            write_ltm(self._store.path, document)
            _take_away(team.folder.path)
            team.own_path.unlink(missing_ok=True)
            return len(document.shared)

    def let_git_see(self) -> tuple[Rule, ...]:
        """Add the lines to `.gitignore` files that let git see the folder and nothing else; what was added."""
        return add_lines(self._team.project)

    def tidy(self, days: float = TIDY_DAYS) -> int:
        """Delete files that say nothing any more and were so here for that many days; how many."""
        if not self._team.in_use:
            return 0
        with self._store.changing():
            return self._team.tidy(days)


def _take_away(folder: Path) -> None:
    """Delete a folder in a way that leaves it whole or gone; what a killed process left of others goes too."""
    folder.rename(folder.with_name(f"{folder.name}.gone-{secrets.token_hex(4)}"))
    for left in folder.parent.glob(f"{folder.name}.gone-*"):
        shutil.rmtree(left)
