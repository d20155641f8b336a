"""edit_file, write_file and apply_patch: changes to files, planned whole and then made all or none."""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import assert_never

from msgspec import Struct

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import ChangeFiles, FileChange, Workspace
from clio.storage.files import write_atomic
from clio.text.formatting import format_bytes, format_count
from clio.tools.base import Prepared, Progress, ReadLog, ToolOutput
from clio.tools.files.diff import diff_change, diff_texts, text_lines
from clio.tools.files.edit_search import CLOSE, Refused, Rung, definitions, find_definition, fit, line_key
from clio.tools.files.file_index import list_within, missing, resolve
from clio.tools.files.patch_text import (
    AddFile,
    DeleteFile,
    Hunk,
    HunkFailed,
    Section,
    UpdateFile,
    apply_hunks,
    new_stretches,
    parse_patch,
)
from clio.tools.files.text_file import (
    MAX_EDIT_BYTES,
    ON_ERROR,
    NotText,
    TextFile,
    body,
    decode,
    encode,
    exists,
    explain,
    line_number,
    main_ending,
    numbered,
    read_bytes,
    read_for_change,
    shown,
    split_lines,
    unix,
)
from clio.tools.schemas import ApplyPatch, EditFile, WriteFile

NEW_FILE_MODE = 0o666
"""Permissions of a new file, from which the user's umask takes its part."""


class PlannedChange(Struct, frozen=True, kw_only=True):
    """One change in bytes. `before` is None for a new file, `after` for a deleted one.

    mode: permission bits of the file as it is, or NEW_FILE_MODE.
    """

    change: FileChange
    before: bytes | None
    after: bytes | None
    mode: int

    @property
    def target(self) -> Path:
        """Where the file is afterwards, or was."""
        return self.change.moved_to or self.change.path


def revise(planned: Sequence[PlannedChange], wanted: Sequence[FileChange], workspace: Workspace) -> list[PlannedChange]:
    """The plans for these changes and no others.

    Each must be one of the planned changes, at most with another `after`. What it was made for stays what it was: the
    bytes the file must still have. Raises ToolError where a change is of something else or its text cannot be written.
    """
    open_plans = {plan.change.path: plan for plan in planned}
    revised: list[PlannedChange] = []
    for change in wanted:
        name = workspace.display(change.path)
        plan = open_plans.pop(change.path, None)
        if plan is None or not _same_but_text(plan.change, change):
            raise ToolFailed(f"{name!r} was not proposed so; no file was changed, propose the change again")
        revised.append(plan if change.after == plan.change.after else _with_text(plan, change, name))
    if not revised:
        raise ToolFailed("nothing of the proposal is left; no file was changed")
    return revised


def revision_report(revised: Sequence[PlannedChange], workspace: Workspace) -> tuple[str, str]:
    """The text for the model and the summary for the person, once the changes are made."""
    verbs = {"add": "added", "update": "updated", "delete": "deleted", "move": "moved"}
    lines: list[str] = []
    added = removed = 0
    for plan in revised:
        change, diff = plan.change, diff_change(plan.change)
        moved = f" to {workspace.display(change.moved_to)}" if change.moved_to is not None else ""
        lines.append(f"{verbs[change.kind]} {workspace.display(change.path)}{moved} ({diff.counts})")
        added, removed = added + diff.added, removed + diff.removed
    return "\n".join(lines), f"+{added} -{removed}"


def _same_but_text(ours: FileChange, theirs: FileChange) -> bool:
    same = (ours.kind, ours.before, ours.moved_to) == (theirs.kind, theirs.before, theirs.moved_to)
    return same and (ours.after is None) == (theirs.after is None)


def _with_text(plan: PlannedChange, change: FileChange, name: str) -> PlannedChange:
    text = change.after or ""
    like = decode(plan.before, plan.mode) if plan.before is not None else None
    if like is None:
        like = TextFile(data=b"", text="", encoding="utf-8", bom=b"", mode=plan.mode)
    data = encode(_exact(text, plan, like, name), like, name)
    if len(data) > MAX_EDIT_BYTES:
        raise ToolFailed(f"{name!r} would have {format_bytes(len(data))}, more than clio writes; no file was changed")
    return PlannedChange(change=change, before=plan.before, after=data, mode=plan.mode)


def _exact(text: str, plan: PlannedChange, like: TextFile, name: str) -> str:
    """The text with its real lines in place of the shown ones: bytes that are no text are shown as U+FFFD.

    A line with such a mark that could have been two different ones cannot be written. Raises ToolFailed.
    """
    after = (plan.after or b"").removeprefix(like.bom).decode(like.encoding, ON_ERROR.get(like.encoding, "strict"))
    real = like.text + "\n" + after
    if "\ufffd" not in text or shown(real) == real:
        return text
    known: dict[str, set[str]] = {}
    for line in (*text_lines(like.text), *text_lines(after)):
        known.setdefault(shown(line), set()).add(line)
    lines: list[str] = []
    for line in text_lines(text):
        candidates = known.get(line, set()) if "\ufffd" in line else {line}
        if len(candidates) != 1:
            raise ToolFailed(
                f"{name!r} holds bytes that are no text, and the version the user allowed does not say which belong in "
                f"{line.strip()[:80]!r}; no file was changed, make a smaller edit that leaves this line alone"
            )
        lines.append(candidates.pop())
    return "".join(lines)


class _Undo(Struct, frozen=True, kw_only=True):
    """What puts one path back: its bytes, or its absence; `folder` for a folder that was made."""

    path: Path
    data: bytes | None = None
    mode: int = NEW_FILE_MODE
    folder: bool = False


def prepare_changes(
    title: str,
    planned: Sequence[PlannedChange],
    workspace: Workspace,
    read_log: ReadLog,
    report: Callable[[], tuple[str, str]],
) -> Prepared:
    """The prepared call that makes these changes; `report` gives the output's text and summary."""
    changes = tuple(plan.change for plan in planned)
    for plan in planned:
        _check_target(plan, workspace)

    async def run(progress: Progress) -> ToolOutput:
        await asyncio.to_thread(carry_out, planned, workspace, read_log)
        text, summary = report()
        return ToolOutput(text=text, summary=summary, changed=changes)

    def other(wanted: tuple[FileChange, ...]) -> Prepared:
        revised = revise(planned, wanted, workspace)
        return prepare_changes(title, revised, workspace, read_log, lambda: revision_report(revised, workspace))

    return Prepared(title=title, action=ChangeFiles(changes=changes), run=run, revise=other)


def carry_out(planned: Sequence[PlannedChange], workspace: Workspace, read_log: ReadLog) -> None:
    """Make all the changes. After an error nothing has changed, or the error names what could not be put back.

    Raises ToolRetry where a file is no longer what the plan was made for, ToolFailed where writing failed.
    """
    for plan in planned:
        _check_unchanged(plan, workspace)
    undo: list[_Undo] = []
    for plan in planned:
        try:
            _make(plan, undo)
        except OSError as error:
            left = [workspace.display(path) for path in _roll_back(undo)]
            failure = explain(error, workspace.display(plan.target), "write")
            tail = f"; these could not be put back: {', '.join(left)}" if left else "; no file was changed"
            raise type(failure)(f"{failure}{tail}") from error
    for plan in planned:
        if plan.change.moved_to is not None or plan.after is None:
            read_log.forget(plan.change.path)
        if plan.after is not None:
            read_log.saw(plan.target, plan.after)


def _check_target(plan: PlannedChange, workspace: Workspace) -> None:
    """Refuse early what cannot be written, so that nobody is asked to approve it."""
    target = plan.target
    for folder in target.parents:
        if os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises where a folder above is closed
            break
        if os.path.lexists(folder):
            shown, blocker = workspace.display(target), workspace.display(folder)
            raise ToolRetry(f"{shown!r} cannot be written: {blocker!r} is a file, not a folder")
    # Replacing a file asks the folder only; a file marked read-only is to stay all the same.
    effective = os.access in os.supports_effective_ids
    if plan.before is not None and not os.access(plan.change.path, os.W_OK, effective_ids=effective):
        raise ToolFailed(f"no permission to write {workspace.display(plan.change.path)!r}: the file is write-protected")


def _check_unchanged(plan: PlannedChange, workspace: Workspace) -> None:
    change = plan.change
    shown = workspace.display(change.path)
    if os.path.realpath(plan.target) != str(plan.target):
        raise ToolRetry(f"{workspace.display(plan.target)!r} leads elsewhere since just now; look at it again")
    if plan.before is not None and read_bytes(change.path, shown)[0] != plan.before:
        raise ToolRetry(f"{shown!r} changed on disk just now; read it again before you change it")
    new = plan.target if plan.before is None or change.moved_to else None
    if new is not None and os.path.lexists(new):
        raise ToolRetry(f"{workspace.display(new)!r} exists already; read it before you change it")


def _make(plan: PlannedChange, undo: list[_Undo]) -> None:
    """One change; every step is noted before it is taken."""
    change = plan.change
    gone = change.moved_to is not None or plan.after is None
    if plan.after is not None:
        for folder in reversed([folder for folder in plan.target.parents if not folder.exists()]):
            folder.mkdir()
            undo.append(_Undo(path=folder, folder=True))
        undo.append(_Undo(path=plan.target, data=None if gone else plan.before, mode=plan.mode))
        _write(plan.target, plan.after, plan.mode)
    if gone:
        undo.append(_Undo(path=change.path, data=plan.before, mode=plan.mode))
        change.path.unlink()


def _write(path: Path, data: bytes, mode: int) -> None:
    """Replace a file and give it its permission bits, which the umask may have taken from the new one."""
    write_atomic(path, data, mode)
    if mode != NEW_FILE_MODE and stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _roll_back(undo: list[_Undo]) -> list[Path]:
    """Put everything back, newest first; the paths where that failed."""
    failed: list[Path] = []
    for step in reversed(undo):
        try:
            if step.folder:
                step.path.rmdir()
            elif step.data is None:
                step.path.unlink(missing_ok=True)
            elif not step.path.is_file() or step.path.read_bytes() != step.data:
                _write(step.path, step.data, step.mode)
        except NotADirectoryError:  # a file stands where its folder would be, so it was never made
            continue
        except OSError:  # told to the model as a path that was left changed
            failed.append(step.path)
    return failed


_LIMIT_S = 1.5
_MAX_FILES = 20_000
_MAX_BYTES = 400_000
_MAX_NAMED = 3


def lines_elsewhere(workspace: Workspace, path: Path, old: str, likeness: float) -> str:
    """Where the lines looked for in `path` are instead, as the end of a sentence about that file; "" if not known.

    likeness: of the closest lines in the file itself; where they are close enough, no other file is looked at.
    Reads files for at most 1.5 s.
    """
    wanted = [key for line in split_lines(old) if (key := line_key(line))]
    if likeness >= CLOSE or not wanted:
        return ""
    symbols = definitions(split_lines(old))
    needle = max(wanted, key=len)
    if len(needle) < 4 and not symbols:
        return ""
    whole: list[str] = []
    defined: list[str] = []
    first: list[str] = []
    ends = time.monotonic() + _LIMIT_S
    names = list_within(workspace.root, limit_s=_LIMIT_S, most=_MAX_FILES) or []
    for name in sorted(names, key=lambda name: PurePath(name).suffix != path.suffix):
        if time.monotonic() > ends or len(whole) == _MAX_NAMED:
            break
        other = workspace.root / name
        if other == path or (lines := _read_lines(other)) is None:
            continue
        keys = [line_key(line) for line in lines]
        if (at := _find_block(keys, wanted)) is not None:
            whole.append(f"{name!r}, line {at + 1}")
            continue
        for kind, symbol in symbols:
            defined += [f"{kind} {symbol} in {name!r}, line {at + 1}" for at in find_definition(lines, kind, symbol)]
        if len(wanted[0]) > 8 and wanted[0] in keys:
            first.append(f"{name!r}, line {keys.index(wanted[0]) + 1}")
    if whole:
        where = " and in ".join(whole)
        return f"the text to find is not in this file; it is in {where}. Edit that file instead"
    if defined:
        return (
            f"the text to find is not in this file, nor anything like it; there is {'; '.join(defined[:_MAX_NAMED])}. "
            "Read it there and edit that file"
        )
    if first:
        where = " and in ".join(first[:_MAX_NAMED])
        return (
            f"the text to find is not in this file, nor anything like it; its first line is in {where}. Read it there"
        )
    return ""


def _read_lines(path: Path) -> list[str] | None:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        return split_lines(decode(path.read_bytes()).text)
    except (OSError, NotText):
        return None


def _find_block(keys: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The index of the first line of a block, blank lines on both sides not counted; None where it is not there."""
    places = [at for at, key in enumerate(keys) if key]
    solid = [keys[at] for at in places]
    size = len(wanted)
    for number in range(len(solid) - size + 1):
        if solid[number] == wanted[0] and solid[number : number + size] == list(wanted):
            return places[number]
    return None


_AROUND = 2
_MAX_SHOWN = 16
_MAX_PLACES = 5
_MAX_ROWS = 40
_MAX_LINE = 300


class EditFileTool:
    """Replaces a text the model quotes, allowing for the ways a quotation goes wrong."""

    name = "edit_file"
    args = EditFile
    read_only = False

    def __init__(self, workspace: Workspace, read_log: ReadLog) -> None:
        self._workspace = workspace
        self._read_log = read_log

    def prepare(self, args: EditFile) -> Prepared:
        """The edit, fitted to the file as it is now. Raises ToolRetry where it does not fit or the file went stale."""
        path = resolve(self._workspace, args.path)
        name = self._workspace.display(path)
        file = open_for_edit(path, self._workspace, self._read_log)
        landed = fit(file.text, args.old_string, args.new_string, replace_all=args.replace_all)
        if isinstance(landed, Refused):
            elsewhere = lines_elsewhere(self._workspace, path, args.old_string, landed.likeness)
            raise ToolRetry(f"{name!r} is unchanged: {shown(elsewhere or landed.message)}")
        after = landed.apply(file.text)
        planned = plan_update(path, file, after, name)
        counts = diff_texts(file.text, after, name, name).counts

        def report() -> tuple[str, str]:
            places = "" if len(landed.spans) == 1 else f" in {len(landed.spans)} places"
            rows = show_changes(after, list(new_stretches(landed.spans)))
            text = f"edited {name}{places}: {counts} lines, {how(landed.rung)}\n{rows}"
            return text, summary(counts, landed.rung)

        return prepare_changes(f"edit {name}", [planned], self._workspace, self._read_log, report)


def open_for_edit(path: Path, workspace: Workspace, read_log: ReadLog) -> TextFile:
    """The file's text, refused with ToolRetry where the model knows an older one."""
    name = workspace.display(path)
    if not exists(path, name):
        raise missing(workspace, path)
    file = read_for_change(workspace, path)
    if read_log.changed_since(path, file.data):
        raise ToolRetry(f"{name!r} changed on disk since you read it; read it again, then edit")
    return file


def plan_update(path: Path, file: TextFile, after: str, name: str, moved_to: Path | None = None) -> PlannedChange:
    """The change of a file's text, in its own encoding."""
    change = FileChange(
        path=path,
        kind="move" if moved_to else "update",
        before=shown(file.text),
        after=shown(after),
        moved_to=moved_to,
    )
    return PlannedChange(change=change, before=file.data, after=encode(after, file, name), mode=file.mode)


def how(rung: Rung) -> str:
    """How an edit matched, for the model."""
    return "matched exactly" if rung == "exact" else f"matched after allowing for a difference in {rung}; check it:"


def summary(counts: str, rung: Rung) -> str:
    """How an edit went, for the person: "+12 -3 (indent shift)"."""
    return counts if rung == "exact" else f"{counts} ({rung})"


def show_changes(after: str, changed: Sequence[tuple[int, int]], most: int = _MAX_ROWS) -> str:
    """The changed stretches of a text, numbered as read_file would, with a few lines around them; the first places."""
    lines = [body(line) for line in split_lines(after)]
    if not lines:
        return "(the file is empty now)"
    ranges: list[tuple[int, int]] = []
    for start, end in changed:
        first = line_number(after, start)
        last = line_number(after, max(start, start + len(after[start:end].rstrip("\r\n"))))
        top, bottom = max(1, min(first, len(lines)) - _AROUND), min(len(lines), last + _AROUND)
        if ranges and top <= ranges[-1][1] + 1:
            top = ranges.pop()[0]
        ranges.append((top, bottom))
    rows: list[str] = []
    for number, (top, bottom) in enumerate(ranges):
        if number == _MAX_PLACES or (rows and len(rows) >= most):
            left = len(ranges) - number
            rows.append(f"… and {format_count(left, 'more place')}")
            break
        here = numbered([shown(line) for line in lines[top - 1 : bottom]], top, max_chars=_MAX_LINE)
        if len(here) > _MAX_SHOWN:
            half = _MAX_SHOWN // 2
            here = [*here[:half], "…", *here[-half:]]
        rows += ["…", *here] if rows else here
    return "\n".join(rows)


class WriteFileTool:
    """Writes whole files, and replaces none the model has not seen."""

    name = "write_file"
    args = WriteFile
    read_only = False

    def __init__(self, workspace: Workspace, read_log: ReadLog) -> None:
        self._workspace = workspace
        self._read_log = read_log

    def prepare(self, args: WriteFile) -> Prepared:
        """The file before and after. Raises ToolRetry where a file is there that the model does not know as it is."""
        path = resolve(self._workspace, args.path)
        name = self._workspace.display(path)
        if args.path.endswith(("/", "\\")):
            raise ToolRetry(f"{args.path!r} names a folder; give the path of a file, missing folders are made")
        old = read_for_change(self._workspace, path) if exists(path, name) else None
        planned = self._plan(path, name, old, args.content)
        lines = args.content.count("\n") + (not args.content.endswith("\n") and bool(args.content))
        if old is None:
            verb, counted = "create", f"{format_count(lines, 'line')}"
        else:
            verb, counted = "overwrite", diff_texts(old.text, planned.change.after or "", name, name).counts
        done = f"{'created' if old is None else 'overwrote'} {name} ({counted}{_kept(old)})"
        return prepare_changes(f"{verb} {name}", [planned], self._workspace, self._read_log, lambda: (done, counted))

    def _plan(self, path: Path, name: str, old: TextFile | None, content: str) -> PlannedChange:
        if old is None:
            return plan_new(path, name, content)
        if self._read_log.changed_since(path, old.data):
            raise ToolRetry(f"{name!r} changed on disk since you read it; read it again before you overwrite it")
        if old.data and not self._read_log.known(path):
            raise ToolRetry(f"{name!r} exists and you have not read it; read it first, or change it with edit_file")
        after = content if main_ending(old.text) == "\n" else unix(content).replace("\n", "\r\n")
        if after == old.text:
            raise ToolRetry(f"{name!r} has exactly this content already; nothing to write")
        return plan_update(path, old, after, name)


def plan_new(path: Path, name: str, content: str) -> PlannedChange:
    """A new UTF-8 file."""
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolRetry(f"the content of {name!r} holds half of a surrogate pair at character {error.start}") from None
    if len(data) > MAX_EDIT_BYTES:
        raise ToolFailed(
            f"{name!r} would have {format_bytes(len(data))}, more than clio writes; make it with a command"
        )
    change = FileChange(path=path, kind="add", after=content)
    return PlannedChange(change=change, before=None, after=data, mode=NEW_FILE_MODE)


def _kept(old: TextFile | None) -> str:
    """What of the old file was kept, where the model might not expect it."""
    if old is None:
        return ""
    kept = [] if old.encoding == "utf-8" and not old.bom else [f"{old.encoding}{' with BOM' if old.bom else ''}"]
    if main_ending(old.text) == "\r\n":
        kept.append("CRLF line endings")
    return f"; kept {' and '.join(kept)}" if kept else ""


_MAX_NAMES = 3
_MAX_PATCH_ROWS = 60
"""Of changed lines that the answer shows, over all files."""


class ApplyPatchTool:
    """Applies patches; everything is computed before anything is written."""

    name = "apply_patch"
    args = ApplyPatch
    read_only = False

    def __init__(self, workspace: Workspace, read_log: ReadLog) -> None:
        self._workspace = workspace
        self._read_log = read_log

    def prepare(self, args: ApplyPatch) -> Prepared:
        """All the changes of the patch. Raises ToolRetry where one of them cannot be made; then none is."""
        planned: list[PlannedChange] = []
        notes: list[str] = []
        rungs: list[Rung] = []
        taken: set[Path] = set()
        room = _MAX_PATCH_ROWS
        for section in _joined(parse_patch(args.patch)):
            plan, used, changed = self._plan(section)
            for path in {plan.change.path, plan.target}:
                if path in taken:
                    raise ToolRetry(f"the patch names {self._workspace.display(path)!r} in two sections; use one")
                taken.add(path)
            planned.append(plan)
            rungs.extend(rung for rung in used if rung not in rungs)
            notes.append(self._note(plan, used))
            if changed and room > 0:
                rows = show_changes(plan.change.after or "", changed, room)
                room -= rows.count("\n") + 1
                notes.append(rows)
        diffs = [diff_change(plan.change, self._workspace.display) for plan in planned]
        counts = f"+{sum(diff.added for diff in diffs)} -{sum(diff.removed for diff in diffs)}"
        summary = f"{counts} ({', '.join(rungs)})" if rungs else counts
        names = [self._workspace.display(plan.target) for plan in planned]
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        title = f"patch {', '.join(names[:_MAX_NAMES])}{more}"
        text = "patch applied:\n" + "\n".join(notes)
        return prepare_changes(title, planned, self._workspace, self._read_log, lambda: (text, summary))

    def _plan(self, section: Section) -> tuple[PlannedChange, tuple[Rung, ...], tuple[tuple[int, int], ...]]:
        """One section as a change of bytes, the rungs its hunks needed, and the stretches they changed."""
        path = resolve(self._workspace, section.path)
        name = self._workspace.display(path)
        match section:
            case AddFile():
                if exists(path, name):
                    raise ToolRetry(f"{name!r} exists already; change it with '*** Update File: {name}'")
                return plan_new(path, name, section.content), (), ()
            case DeleteFile():
                file = open_for_edit(path, self._workspace, self._read_log)
                change = FileChange(path=path, kind="delete", before=shown(file.text))
                return PlannedChange(change=change, before=file.data, after=None, mode=file.mode), (), ()
            case UpdateFile():
                return self._plan_update(section, path, name)
            case _:
                assert_never(section)

    def _plan_update(
        self, section: UpdateFile, path: Path, name: str
    ) -> tuple[PlannedChange, tuple[Rung, ...], tuple[tuple[int, int], ...]]:
        file = open_for_edit(path, self._workspace, self._read_log)
        moved_to = resolve(self._workspace, section.move_to) if section.move_to else None
        if moved_to == path:
            moved_to = None
        if moved_to is not None and exists(moved_to, self._workspace.display(moved_to)):
            raise ToolRetry(f"{name!r} cannot move to {self._workspace.display(moved_to)!r}: that exists already")
        try:
            patched = apply_hunks(file.text, section.hunks)
        except HunkFailed as error:
            elsewhere = lines_elsewhere(self._workspace, path, error.old, error.likeness)
            raise ToolRetry(f"no file was changed; in {name!r} {shown(elsewhere or str(error))}") from None
        return plan_update(path, file, patched.text, name, moved_to), patched.rungs, patched.changed

    def _note(self, plan: PlannedChange, rungs: tuple[Rung, ...]) -> str:
        """What became of one file, for the model."""
        change = plan.change
        name, target = self._workspace.display(change.path), self._workspace.display(plan.target)
        counts = diff_change(change).counts
        allowed = f", after allowing for a difference in {', '.join(rungs)}; check it" if rungs else ""
        match change.kind:
            case "add":
                return f"added {name} ({counts})"
            case "delete":
                return f"deleted {name} ({counts})"
            case "move":
                return f"moved {name} to {target} ({counts}{allowed})"
            case "update":
                return f"updated {name} ({counts}{allowed})"
            case _:
                assert_never(change.kind)


def _joined(sections: tuple[Section, ...]) -> list[Section]:
    """The sections, with those that update one and the same file put together."""
    joined: list[Section] = []
    places: dict[str, int] = {}
    for section in sections:
        if isinstance(section, UpdateFile) and section.path in places:
            first = joined[places[section.path]]
            assert isinstance(first, UpdateFile)  # only these have a place
            hunks: tuple[Hunk, ...] = first.hunks + section.hunks
            move_to = section.move_to or first.move_to
            joined[places[section.path]] = UpdateFile(path=section.path, hunks=hunks, move_to=move_to)
            continue
        if isinstance(section, UpdateFile):
            places[section.path] = len(joined)
        joined.append(section)
    return joined
