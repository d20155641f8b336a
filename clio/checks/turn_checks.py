"""The checks of one turn: problems before it, problems after each step, and which of them are new."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from clio.checks.checkers import CheckContext, ProgramChecker, open_checkers
from clio.checks.diagnostics import (
    Checker,
    CheckerFailed,
    Diagnostic,
    SyntaxChecker,
    find_new_diagnostics,
    to_project_path,
)
from clio.context.inert_text import to_inert_line
from clio.security.actions import FileChange
from clio.text.formatting import format_count, truncate

LIMIT_S = 5.0
"""How long the checks of one step may delay the turn, including the checks before its edits."""
BEFORE_LIMIT_S = 2.0
"""How much of that the checks before an edit may take."""
MAX_LINES = 10
_MAX_CHARS = 200
_MAX_BYTES = 1_000_000


class _Running(Struct, kw_only=True):
    """A checker that is running on the files of a step."""

    checker: Checker
    paths: tuple[Path, ...]
    task: "asyncio.Task[list[Diagnostic]]"


class TurnChecks:
    """The state of one turn.

    A checker that takes too long before an edit is not waited for from then on: only its diagnostics on lines that the
    turn changed count. A checker that is not ready when the step's time is over continues and is reported after the
    next step; a further edit stops it, because its result would be about files that have changed since.
    """

    def __init__(
        self,
        checkers: Sequence[Checker],
        root: Path,
        slow: set[str],
        clean: Callable[[str], str],
        tell: Callable[[str], None],
    ) -> None:
        self._checkers = checkers
        self._syntax = SyntaxChecker(root)
        self._root = root
        self._slow = slow
        self._clean = clean
        self._tell = tell
        self._old_lines: dict[str, frozenset[str]] = {}
        self._known: dict[str, dict[str, list[Diagnostic]]] = {}  # known problems by checker, then by path
        self._whole: dict[str, list[Diagnostic]] = {}
        self._new: dict[str, list[Diagnostic]] = {}
        self._told: set[tuple[str, str, str]] = set()
        self._waiting: dict[Path, None] = {}
        self._running: list[_Running] = []
        self._left_s = LIMIT_S

    async def before_change(self, changes: Sequence[FileChange]) -> None:
        """Check files that are changed for the first time in this turn."""
        await self.stop()
        started = time.monotonic()
        first: list[Path] = []
        for change in changes:
            name = to_project_path(change.path, self._root)
            if name not in self._old_lines:
                self._old_lines[name] = frozenset((change.before or "").splitlines())
                first.append(change.path)
        before = {checker.name: self._unknown(checker, first) for checker in self._all()}
        looks = [
            self._start(checker, before[checker.name])
            for checker in self._all()
            if before[checker.name] and checker.name not in self._slow
        ]
        try:
            if looks and self._left_s > 0:
                await asyncio.wait([look.task for look in looks], timeout=min(BEFORE_LIMIT_S, self._left_s))
        finally:
            await _end(look for look in looks if not look.task.done())
        for look in looks:
            self._remember(look)
        for change in changes:
            self._follow(change)
        self._left_s -= time.monotonic() - started

    def _all(self) -> list[Checker]:
        return [*self._checkers, self._syntax]

    def _unknown(self, checker: Checker, first: Sequence[Path]) -> tuple[Path, ...]:
        """Return the files that the checker must check before they are changed."""
        concerned = self._concerned(checker, first)
        if checker.is_whole:
            return concerned if checker.name not in self._whole else ()
        for path in concerned:
            if not path.exists():
                self._known.setdefault(checker.name, {})[to_project_path(path, self._root)] = []
        return tuple(path for path in concerned if path.exists())

    def _concerned(self, checker: Checker, paths: Sequence[Path]) -> tuple[Path, ...]:
        concerned = tuple(path for path in paths if checker.can_check(path))
        if checker is not self._syntax:
            return concerned
        parsers = [one for one in self._checkers if isinstance(one, ProgramChecker) and one.is_parser]
        return tuple(path for path in concerned if not any(one.can_check(path) for one in parsers))

    def _remember(self, look: _Running) -> None:
        if (found := _result(look)) is None:
            if look.task.cancelled():
                self._slow.add(look.checker.name)
        elif look.checker.is_whole:
            self._whole[look.checker.name] = found
        else:
            known = self._known.setdefault(look.checker.name, {})
            for path in look.paths:
                name = to_project_path(path, self._root)
                known[name] = [one for one in found if one.path == name]

    def _follow(self, change: FileChange) -> None:
        """Carry over what is known about a moved file, and mark a changed one to be checked."""
        path = change.moved_to or change.path
        if change.moved_to is not None:
            old, new = to_project_path(change.path, self._root), to_project_path(path, self._root)
            self._old_lines[new] = self._old_lines.get(old, frozenset())
            for known in self._known.values():
                known[new] = [_at(new, one) for one in known.get(old, ())]
            for name, found in self._whole.items():
                self._whole[name] = [_at(new, one) if one.path == old else one for one in found]
        self._waiting[path] = None

    async def end_step(self) -> str:
        """Check what the step changed; return what to report now, or ""."""
        started = time.monotonic()
        changed = tuple(self._waiting)
        self._waiting.clear()
        is_late = not changed
        if changed:
            there = [path for path in changed if path.is_file()]
            for checker in self._all():
                if paths := self._concerned(checker, changed if checker.is_whole else there):
                    self._running.append(self._start(checker, paths))
            waited = [one.task for one in self._running]
            left_s = self._left_s - (time.monotonic() - started)
            if waited and left_s > 0:
                await asyncio.wait(waited, timeout=left_s)
        self._left_s = LIMIT_S
        done = [one for one in self._running if one.task.done()]
        self._running = [one for one in self._running if not one.task.done()]
        for one in done:
            self._settle(one)
        return self._report(is_late=is_late) if done else ""

    def _start(self, checker: Checker, paths: tuple[Path, ...]) -> _Running:
        task = asyncio.ensure_future(self._check(checker, paths))
        return _Running(checker=checker, paths=paths, task=task)

    async def _check(self, checker: Checker, paths: tuple[Path, ...]) -> list[Diagnostic]:
        """Return what the checker reports; if a parser fails, what clio's own parsers report."""
        try:
            return await checker.check(paths)
        except CheckerFailed:
            if isinstance(checker, ProgramChecker) and checker.is_parser:
                return await self._syntax.check([path for path in paths if self._syntax.can_check(path)])
            raise

    def _settle(self, one: _Running) -> None:
        found, name = _result(one), one.checker.name
        if found is None:
            self._new.pop(name, None)
            return
        if one.checker.is_whole:
            before, remaining = self._whole.get(name), list[Diagnostic]()
        else:
            checked = {to_project_path(path, self._root) for path in one.paths}
            known = self._known.get(name, {})
            before = [each for path in checked for each in known.get(path, ())] if checked <= known.keys() else None
            found = [each for each in found if each.path in checked]
            remaining = [each for each in self._new.get(name, ()) if each.path not in checked]
        changed = _ChangedLines(self._root, self._old_lines)
        if before is None:
            new = [each for each in found if not each.path or changed.is_on_changed_line(each)]
        else:
            new = find_new_diagnostics(before, found, changed.is_on_changed_line)
        self._new[name] = [*remaining, *new]

    def _report(self, *, is_late: bool) -> str:
        running = {one.checker.name for one in self._running}  # their known problems are out of date
        found = {
            (each.place, each.message): each for name, new in self._new.items() if name not in running for each in new
        }
        current = sorted(found.values(), key=lambda each: (not each.is_error, each.path, each.line))
        keys = {each.key for each in current}
        fresh = [each for each in current if each.key not in self._told]
        still = [each for each in current if each.key in self._told]
        had = bool(self._told)
        self._told = keys | self._told if running else keys
        if not current:
            return "[checks: the problems reported before are gone]" if had and not running else ""
        if not fresh:
            return f"[checks: still there: {self._places(still)}]" if not is_late else ""
        count = f"{format_count(len(fresh), 'new problem')}"
        rows = [self._row(each) for each in fresh[:MAX_LINES]]
        more = [f"… and {len(fresh) - MAX_LINES} more"] if len(fresh) > MAX_LINES else []
        more += [f"still there: {self._places(still)}"] if still else []
        self._tell(f"checks found {count}: {rows[0]}")
        of = " after the edits of an earlier step" if is_late else ""
        return "\n".join([f"[checks: {count} since this turn began{of}]", *rows, *more])

    def _row(self, each: Diagnostic) -> str:
        text = " ".join(filter(None, (each.place, each.code, each.message, each.detail)))
        line = to_inert_line(self._clean(text))
        return truncate(line, _MAX_CHARS)

    def _places(self, still: Sequence[Diagnostic]) -> str:
        shown = ", ".join(" ".join(filter(None, (each.place, each.code))) for each in still[:MAX_LINES])
        more = f" and {len(still) - MAX_LINES} more" if len(still) > MAX_LINES else ""
        return to_inert_line(self._clean(shown)) + more

    async def stop(self) -> None:
        """Stop every running checker and everything it started."""
        running, self._running = self._running, []
        await _end(running)


class _ChangedLines:
    """Determines which lines of files the turn changed; reads each file once."""

    def __init__(self, root: Path, old: dict[str, frozenset[str]]) -> None:
        self._root = root
        self._old = old
        self._lines: dict[str, list[str]] = {}

    def is_on_changed_line(self, each: Diagnostic) -> bool:
        """Whether the diagnostic is on a line that was not in the file before the turn."""
        if each.path not in self._old:
            return False
        if each.path not in self._lines:
            self._lines[each.path] = _read_lines(self._root / each.path)
        lines = self._lines[each.path]
        return 0 < each.line <= len(lines) and lines[each.line - 1] not in self._old[each.path]


def _read_lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return []
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _at(path: str, each: Diagnostic) -> Diagnostic:
    return Diagnostic(path=path, line=each.line, code=each.code, message=each.message, is_error=each.is_error)


def _result(one: _Running) -> list[Diagnostic] | None:
    """Return the diagnostics of a checker; None if it failed."""
    if one.task.cancelled():
        return None
    error = one.task.exception()
    if error is None:
        return one.task.result()
    if isinstance(error, CheckerFailed):
        return None
    raise error


async def _end(running: Iterable[_Running]) -> None:
    tasks = [one.task for one in running]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def open_turn_checks(
    around: CheckContext, slow: set[str], clean: Callable[[str], str], tell: Callable[[str], None]
) -> TurnChecks:
    """Return the checks for a turn that is about to make its first edit."""
    checkers = await asyncio.to_thread(open_checkers, around)
    return TurnChecks(checkers, around.root, slow, clean, tell)
