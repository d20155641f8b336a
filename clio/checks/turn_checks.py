"""Run checkers on the files that a turn edits, and report the problems that its edits added.

A turn consists of steps: the tool calls of one answer of the model. Checkers run before a file is first edited in the
turn and after each step that edited files; only problems that the first run did not find are reported.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from clio.checks.checkers import CheckContext, ProgramChecker, ServerChecker, open_checkers
from clio.checks.diagnostics import (
    Checker,
    CheckerFailed,
    Diagnostic,
    SyntaxChecker,
    find_new_diagnostics,
    to_project_path,
)
from clio.security.actions import FileChange
from clio.storage.files import read_regular
from clio.text.formatting import format_count, truncate
from clio.text.translation import tr, tr_count
from clio.text.untrusted_text import to_inert_line

STEP_LIMIT_S = 5.0
"""How long the checks of one step may delay the turn, including the checks before its edits."""
BEFORE_LIMIT_S = 2.0
"""How much of `STEP_LIMIT_S` the checks before an edit may take."""
MAX_REPORTED_LINES = 10
_MAX_ROW_CHARS = 200
_MAX_ALIKE = 3
"""Maximum number of problems of one place and code that are shown in full."""
_MAX_READ_BYTES = 1_000_000
"""In a larger file, no line counts as changed by the turn."""


class _RunningCheck(Struct, kw_only=True):
    """A checker that is running on the files of a step."""

    checker: Checker
    paths: tuple[Path, ...]
    task: "asyncio.Task[list[Diagnostic]]"


class TurnChecks:
    """The checks of one turn.

    A checker that takes too long before an edit is not run before edits again: from then on, only its diagnostics on
    lines that the turn changed count as new. A checker that is not ready when the step's time is over continues and is
    reported after the next step; a further edit stops it, because its result would be about outdated files.

    Args:
        slow: names of checkers that took too long before an edit; shared by all turns and extended here.
        redact: returns a text with its secrets replaced.
        notify: shows one line to the user.
    """

    def __init__(
        self,
        checkers: Sequence[Checker],
        root: Path,
        slow: set[str],
        redact: Callable[[str], str],
        notify: Callable[[str], None],
    ) -> None:
        self._checkers = checkers
        self._syntax = SyntaxChecker(root)
        self._root = root
        self._slow = slow
        self._redact = redact
        self._notify = notify
        self._old_lines: dict[str, frozenset[str]] = {}  # lines before the turn, by path
        # Whole texts before the turn, by path, of the files that a language server will be asked about.
        self._old_texts: dict[str, str] = {}
        # Problems before the turn: of checkers that check single files by checker and path, of others by checker.
        self._problems_before: dict[str, dict[str, list[Diagnostic]]] = {}
        self._project_problems_before: dict[str, list[Diagnostic]] = {}
        self._new_problems: dict[str, list[Diagnostic]] = {}  # by checker
        self._reported_keys: set[tuple[str, str, str]] = set()
        self._changed_paths: dict[Path, None] = {}  # by this step; a dict as an ordered set
        self._running: list[_RunningCheck] = []
        self._remaining_s = STEP_LIMIT_S  # time for checks left in this step

    async def before_change(self, changes: Sequence[FileChange]) -> None:
        """Check the files that these changes are about to edit, if the turn has not edited them before."""
        await self.stop()
        started = time.monotonic()
        new_paths: list[Path] = []
        for change in changes:
            name = to_project_path(change.path, self._root)
            if name not in self._old_lines:
                self._old_lines[name] = frozenset((change.before or "").splitlines())
                new_paths.append(change.path)
                if change.before is not None and self._prepare_servers(change.path):
                    self._old_texts[name] = change.before
        before = {checker.name: self._find_unchecked(checker, new_paths) for checker in self._list_checkers()}
        runs = [
            self._start(checker, before[checker.name])
            for checker in self._list_checkers()
            if before[checker.name] and checker.name not in self._slow
        ]
        try:
            if runs and self._remaining_s > 0:
                await asyncio.wait([run.task for run in runs], timeout=min(BEFORE_LIMIT_S, self._remaining_s))
        finally:
            await _cancel_checks(run for run in runs if not run.task.done())
        for run in runs:
            self._store_problems_before(run)
        for change in changes:
            self._track_change(change)
        self._remaining_s -= time.monotonic() - started

    def _list_checkers(self) -> list[Checker]:
        return [*self._checkers, self._syntax]

    def _prepare_servers(self, path: Path) -> bool:
        """Start the language servers for a file; return whether there are any."""
        servers = [checker for checker in self._checkers if isinstance(checker, ServerChecker)]
        servers = [server for server in servers if server.can_check(path)]
        for server in servers:
            server.prepare(path)
        return bool(servers)

    def _find_unchecked(self, checker: Checker, new_paths: Sequence[Path]) -> tuple[Path, ...]:
        """Return the new paths that the checker must check before they are changed.

        A checker of the whole project runs only once before the turn's edits. A file that does not exist yet has no
        problems. A language server is asked about the file's earlier text after the edit, which need not wait for it.
        """
        paths = self._filter_checkable(checker, new_paths)
        if checker.checks_project:
            return paths if checker.name not in self._project_problems_before else ()
        for path in paths:
            if not path.exists():
                self._problems_before.setdefault(checker.name, {})[to_project_path(path, self._root)] = []
        return () if isinstance(checker, ServerChecker) else tuple(path for path in paths if path.exists())

    def _filter_checkable(self, checker: Checker, paths: Sequence[Path]) -> tuple[Path, ...]:
        """Return the paths that the checker can check.

        The built-in syntax checker leaves a file to the project's own checker if that parses the file, too.
        """
        checkable = tuple(path for path in paths if checker.can_check(path))
        if checker is not self._syntax:
            return checkable
        parsers = [
            parser for parser in self._checkers if isinstance(parser, ProgramChecker) and parser.finds_syntax_errors
        ]
        return tuple(path for path in checkable if not any(parser.can_check(path) for parser in parsers))

    def _store_problems_before(self, run: _RunningCheck) -> None:
        if (found := _get_result(run)) is None:
            if run.task.cancelled():
                # It was cancelled at the time limit; later edits of this clio process no longer wait for it.
                self._slow.add(run.checker.name)
        elif run.checker.checks_project:
            self._project_problems_before[run.checker.name] = found
        else:
            by_path = self._problems_before.setdefault(run.checker.name, {})
            for path in run.paths:
                name = to_project_path(path, self._root)
                by_path[name] = [problem for problem in found if problem.path == name]

    def _track_change(self, change: FileChange) -> None:
        """Carry over what is known about a moved file, and mark a changed one to be checked."""
        path = change.moved_to or change.path
        if change.moved_to is not None:
            old, new = to_project_path(change.path, self._root), to_project_path(path, self._root)
            self._old_lines[new] = self._old_lines.get(old, frozenset())
            if old in self._old_texts:
                self._old_texts[new] = self._old_texts[old]
            for by_path in self._problems_before.values():
                by_path[new] = [_move_to(new, problem) for problem in by_path.get(old, ())]
            for name, found in self._project_problems_before.items():
                self._project_problems_before[name] = [
                    _move_to(new, problem) if problem.path == old else problem for problem in found
                ]
        self._changed_paths[path] = None

    async def end_step(self) -> str:
        """Check the files that the step changed, and return the report for the model; "" if there is nothing new."""
        started = time.monotonic()
        changed = tuple(self._changed_paths)
        self._changed_paths.clear()
        is_late = not changed
        if changed:
            existing = [path for path in changed if path.is_file()]
            for checker in self._list_checkers():
                if paths := self._filter_checkable(checker, changed if checker.checks_project else existing):
                    self._running.append(self._start(checker, paths))
            tasks = [run.task for run in self._running]
            remaining_s = self._remaining_s - (time.monotonic() - started)
            if tasks and remaining_s > 0:
                await asyncio.wait(tasks, timeout=remaining_s)
        self._remaining_s = STEP_LIMIT_S
        done = [run for run in self._running if run.task.done()]
        self._running = [run for run in self._running if not run.task.done()]
        for run in done:
            self._compare_with_before(run)
        return self._report(is_late=is_late) if done else ""

    def _start(self, checker: Checker, paths: tuple[Path, ...]) -> _RunningCheck:
        task = asyncio.ensure_future(self._check(checker, paths))
        return _RunningCheck(checker=checker, paths=paths, task=task)

    async def _check(self, checker: Checker, paths: tuple[Path, ...]) -> list[Diagnostic]:
        """Return what the checker reports; if a program that parses fails, what clio's own syntax checker reports."""
        try:
            if isinstance(checker, ServerChecker):
                await self._find_problems_before(checker, paths)
            return await checker.check(paths)
        except CheckerFailed:
            if isinstance(checker, ProgramChecker) and checker.finds_syntax_errors:
                return await self._syntax.check([path for path in paths if self._syntax.can_check(path)])
            raise

    async def _find_problems_before(self, server: ServerChecker, paths: Sequence[Path]) -> None:
        """Ask a language server which problems these files had before the turn, unless that is known."""
        by_path = self._problems_before.setdefault(server.name, {})
        names = {path: to_project_path(path, self._root) for path in paths}
        texts = {
            path.resolve(): self._old_texts[name]
            for path, name in names.items()
            if name not in by_path and name in self._old_texts
        }
        if not texts:
            return
        found = await server.check_texts(texts)
        for path in texts:
            name = to_project_path(path, self._root)
            by_path[name] = [problem for problem in found if problem.path == name]

    def _compare_with_before(self, run: _RunningCheck) -> None:
        """Set the new problems of a finished checker: those it did not report before the turn."""
        found, name = _get_result(run), run.checker.name
        if found is None:
            self._new_problems.pop(name, None)
            return
        if run.checker.checks_project:
            before, remaining = self._project_problems_before.get(name), list[Diagnostic]()
        else:
            checked = {to_project_path(path, self._root) for path in run.paths}
            by_path = self._problems_before.get(name, {})
            before = (
                [problem for path in checked for problem in by_path.get(path, ())]
                if checked <= by_path.keys()
                else None
            )
            found = [problem for problem in found if problem.path in checked]
            remaining = [problem for problem in self._new_problems.get(name, ()) if problem.path not in checked]
        changed = _ChangedLines(self._root, self._old_lines)
        # Without a state before the turn, only problems on lines that it changed can be attributed to it.
        if before is None:
            new = [problem for problem in found if not problem.path or changed.is_on_changed_line(problem)]
        else:
            new = find_new_diagnostics(before, found, changed.is_on_changed_line)
        self._new_problems[name] = [*remaining, *new]

    def _report(self, *, is_late: bool) -> str:
        """Return the report for the model. is_late: the checks were started by an earlier step."""
        running = {run.checker.name for run in self._running}  # their known problems are out of date
        found = {
            (problem.place, problem.message): problem
            for name, new in self._new_problems.items()
            if name not in running
            for problem in new
        }
        current = sorted(found.values(), key=lambda problem: (not problem.is_error, problem.path, problem.line))
        keys = {problem.key for problem in current}
        unreported = [problem for problem in current if problem.key not in self._reported_keys]
        remaining = [problem for problem in current if problem.key in self._reported_keys]
        had_problems = bool(self._reported_keys)
        self._reported_keys = keys | self._reported_keys if running else keys
        if not current:
            return "[checks: the problems reported before are fixed]" if had_problems and not running else ""
        if not unreported:
            return f"[checks: not fixed yet: {self._format_places(remaining)}]" if not is_late else ""
        count = format_count(len(unreported), "new problem")
        alike: dict[tuple[str, str], list[Diagnostic]] = {}
        for problem in unreported:
            alike.setdefault((problem.place, problem.code), []).append(problem)
        rows = [row for problems in alike.values() for row in self._format_rows(problems)]
        more = [f"… and {len(rows) - MAX_REPORTED_LINES} more lines"] if len(rows) > MAX_REPORTED_LINES else []
        rows = rows[:MAX_REPORTED_LINES]
        more += [f"not fixed yet: {self._format_places(remaining)}"] if remaining else []
        self._notify(tr("checks found {count}: {rows}", count=tr_count(len(unreported), "new problem"), rows=rows[0]))
        origin = " after the edits of an earlier step" if is_late else ""
        return "\n".join([f"[checks: {count} since this turn began{origin}]", *rows, *more])

    def _format_rows(self, problems: Sequence[Diagnostic]) -> Iterator[str]:
        """Yield the rows of problems with one place and code; a wrong argument may be one for each parameter."""
        for problem in problems[:_MAX_ALIKE]:
            text = " ".join(filter(None, (problem.place, problem.code, problem.message, problem.detail)))
            yield truncate(to_inert_line(self._redact(text)), _MAX_ROW_CHARS)
        if len(problems) > _MAX_ALIKE:
            first = problems[0]
            yield to_inert_line(f"{first.place} {first.code}: {len(problems) - _MAX_ALIKE} more like these")

    def _format_places(self, problems: Sequence[Diagnostic]) -> str:
        places = list(dict.fromkeys(" ".join(filter(None, (problem.place, problem.code))) for problem in problems))
        more = f" and {len(places) - MAX_REPORTED_LINES} more" if len(places) > MAX_REPORTED_LINES else ""
        return to_inert_line(self._redact(", ".join(places[:MAX_REPORTED_LINES]))) + more

    async def stop(self) -> None:
        """Stop every running checker and everything it started."""
        running, self._running = self._running, []
        await _cancel_checks(running)


class _ChangedLines:
    """Determines which lines of files the turn changed; reads each file once."""

    def __init__(self, root: Path, old: dict[str, frozenset[str]]) -> None:
        self._root = root
        self._old = old
        self._lines: dict[str, list[str]] = {}

    def is_on_changed_line(self, diagnostic: Diagnostic) -> bool:
        """Whether the diagnostic is on a line that was not in the file before the turn."""
        if diagnostic.path not in self._old:
            return False
        if diagnostic.path not in self._lines:
            self._lines[diagnostic.path] = _read_lines(self._root / diagnostic.path)
        lines = self._lines[diagnostic.path]
        return 0 < diagnostic.line <= len(lines) and lines[diagnostic.line - 1] not in self._old[diagnostic.path]


def _read_lines(path: Path) -> list[str]:
    try:
        return read_regular(path, _MAX_READ_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _move_to(path: str, problem: Diagnostic) -> Diagnostic:
    return Diagnostic(
        path=path, line=problem.line, code=problem.code, message=problem.message, is_error=problem.is_error
    )


def _get_result(run: _RunningCheck) -> list[Diagnostic] | None:
    """Return the diagnostics of a checker; None if it failed."""
    if run.task.cancelled():
        return None
    error = run.task.exception()
    if error is None:
        return run.task.result()
    if isinstance(error, CheckerFailed):
        return None
    raise error


async def _cancel_checks(running: Iterable[_RunningCheck]) -> None:
    tasks = [run.task for run in running]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def open_turn_checks(
    context: CheckContext, slow: set[str], redact: Callable[[str], str], notify: Callable[[str], None]
) -> TurnChecks:
    """Return the checks for a turn that is about to make its first edit."""
    # In a thread, because it searches PATH and reads configuration files.
    checkers = await asyncio.to_thread(open_checkers, context)
    return TurnChecks(checkers, context.root, slow, redact, notify)
