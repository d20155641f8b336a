"""edit_file, write_file and apply_patch: changes to files, planned completely and then all made or none."""

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
from clio.storage.files import read_regular, write_atomic
from clio.text.formatting import format_bytes, format_count
from clio.text.translation import english, tr, tr_count
from clio.tools.base import PreparedCall, Progress, ReadLog, ToolOutput
from clio.tools.files.diff import diff_change, diff_texts, split_diff_lines
from clio.tools.files.edit_search import (
    MIN_CLOSE_SIMILARITY,
    EditRefused,
    MatchKind,
    find_definition,
    list_definitions,
    match_edit,
    normalize_line,
)
from clio.tools.files.file_index import list_files_within, make_missing_path_error, resolve_workspace_path
from clio.tools.files.patch_text import (
    AddFile,
    DeleteFile,
    HunkFailed,
    PatchHunk,
    PatchSection,
    UpdateFile,
    apply_patch_hunks,
    list_new_ranges,
    parse_patch,
)
from clio.tools.files.text_file import (
    DECODE_ERRORS,
    MAX_EDIT_BYTES,
    NOTEBOOK_SUFFIX,
    NotText,
    TextFile,
    decode_document,
    decode_file,
    encode_file,
    find_main_ending,
    get_line_number,
    make_file_error,
    normalize_newlines,
    number_lines,
    path_exists,
    read_bytes,
    read_for_change,
    split_lines,
    strip_ending,
    to_printable,
)
from clio.tools.schemas import ApplyPatchArgs, EditFileArgs, WriteFileArgs

NEW_FILE_MODE = 0o666
"""Permissions of a new file, before the user's umask is applied."""


class PlannedChange(Struct, frozen=True, kw_only=True):
    """One change as bytes. `before` is None for a new file, `after` for a deleted one.

    mode: permission bits of the existing file, or NEW_FILE_MODE.
    """

    change: FileChange
    before: bytes | None
    after: bytes | None
    mode: int

    @property
    def target(self) -> Path:
        """Path of the file after the change, or before its deletion."""
        return self.change.moved_to or self.change.path


def revise_changes(
    planned: Sequence[PlannedChange], wanted: Sequence[FileChange], workspace: Workspace
) -> list[PlannedChange]:
    """Return the plans for exactly these changes.

    Each change must equal a planned one, except that `after` may differ; the expected present content stays the same.
    Raises ToolError if there is no such plan, or the new text cannot be encoded.
    """
    open_plans = {plan.change.path: plan for plan in planned}
    revised: list[PlannedChange] = []
    for change in wanted:
        name = workspace.display(change.path)
        plan = open_plans.pop(change.path, None)
        if plan is None or not _differs_only_in_text(plan.change, change):
            raise ToolFailed(
                tr("{name!r} differs from the proposed change", name=name),
                "no file was changed, propose the change again",
            )
        revised.append(plan if change.after == plan.change.after else _replace_text(plan, change, name))
    if not revised:
        raise ToolFailed(tr("nothing of the proposed change was approved; no file was changed"))
    return revised


def report_revision(revised: Sequence[PlannedChange], workspace: Workspace) -> tuple[str, str]:
    """Return the text for the model and the summary for the user, after the changes were made."""
    verbs = {"add": "added", "update": "updated", "delete": "deleted", "move": "moved"}
    lines: list[str] = []
    added = removed = 0
    for plan in revised:
        change, diff = plan.change, diff_change(plan.change)
        moved = f" to {workspace.display(change.moved_to)}" if change.moved_to is not None else ""
        lines.append(f"{verbs[change.kind]} {workspace.display(change.path)}{moved} ({diff.counts})")
        added, removed = added + diff.added, removed + diff.removed
    return "\n".join(lines), f"+{added} -{removed}"


def _differs_only_in_text(ours: FileChange, theirs: FileChange) -> bool:
    same = (ours.kind, ours.before, ours.moved_to) == (theirs.kind, theirs.before, theirs.moved_to)
    return same and (ours.after is None) == (theirs.after is None)


def _replace_text(plan: PlannedChange, change: FileChange, name: str) -> PlannedChange:
    text = change.after or ""
    like = decode_document(plan.change.path, plan.before, plan.mode) if plan.before is not None else None
    if like is None:
        like = TextFile(data=b"", text="", encoding="utf-8", bom=b"", mode=plan.mode)
    data = encode_file(_restore_undecodable_bytes(text, plan, like, name), like, name)
    if len(data) > MAX_EDIT_BYTES:
        raise ToolFailed(
            tr("{name!r} would be {bytes}, too large for clio to write", name=name, bytes=format_bytes(len(data))),
            "no file was changed",
        )
    return PlannedChange(change=change, before=plan.before, after=data, mode=plan.mode)


def _restore_undecodable_bytes(text: str, plan: PlannedChange, like: TextFile, name: str) -> str:
    """Return the text with undecodable bytes, which were shown as U+FFFD, restored.

    Raises ToolFailed for a line with U+FFFD that matches no line of the file, or several different ones.
    """
    after = (plan.after or b"").removeprefix(like.bom).decode(like.encoding, DECODE_ERRORS.get(like.encoding, "strict"))
    full_text = like.text + "\n" + after
    # U+FFFD may also be an ordinary character of the file; then nothing has to be restored.
    if "\ufffd" not in text or to_printable(full_text) == full_text:
        return text
    originals: dict[str, set[str]] = {}
    for line in (*split_diff_lines(like.text), *split_diff_lines(after)):
        originals.setdefault(to_printable(line), set()).add(line)
    lines: list[str] = []
    for line in split_diff_lines(text):
        candidates = originals.get(line, set()) if "\ufffd" in line else {line}
        if len(candidates) != 1:
            raise ToolFailed(
                tr(
                    "{name!r} contains bytes that are not text, and the approved version does not show which "
                    "of them belong in {line!r}",
                    name=name,
                    line=line.strip()[:80],
                ),
                "no file was changed, make a smaller edit that leaves this line alone",
            )
        lines.append(candidates.pop())
    return "".join(lines)


class _Undo(Struct, frozen=True, kw_only=True):
    """How to restore one path: its bytes, or None if it did not exist; `folder` if a folder was created."""

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
) -> PreparedCall:
    """Return the prepared call that makes these changes. report: returns the text and summary of its result."""
    changes = tuple(plan.change for plan in planned)
    for plan in planned:
        _check_target(plan, workspace)

    async def run(progress: Progress) -> ToolOutput:
        await asyncio.to_thread(write_changes, planned, workspace, read_log)
        text, summary = report()
        return ToolOutput(text=text, summary=summary, changed=changes)

    def revise(wanted_changes: tuple[FileChange, ...]) -> PreparedCall:
        revised = revise_changes(planned, wanted_changes, workspace)
        return prepare_changes(title, revised, workspace, read_log, lambda: report_revision(revised, workspace))

    return PreparedCall(title=title, action=ChangeFiles(changes=changes), run=run, revise=revise)


def write_changes(planned: Sequence[PlannedChange], workspace: Workspace, read_log: ReadLog) -> None:
    """Make all changes. If one fails, undo the others; the error names the files that could not be restored.

    Raises:
        ToolRetry: a file changed since the plan was made.
        ToolFailed: writing failed.
    """
    # All files are checked before the first is written, because the user may have edited one while the question was
    # open.
    for plan in planned:
        _check_unchanged(plan, workspace)
    undo: list[_Undo] = []
    for plan in planned:
        try:
            _apply_change(plan, undo)
        except OSError as error:
            left = [workspace.display(path) for path in _roll_back(undo)]
            failure = make_file_error(error, workspace.display(plan.target), "write")
            tail = f"; these could not be restored:  {', '.join(left)}" if left else "; no file was changed"
            raise type(failure)(f"{failure}{tail}") from error
    for plan in planned:
        if plan.change.moved_to is not None or plan.after is None:
            read_log.forget(plan.change.path)
        if plan.after is not None:
            read_log.record_seen(plan.target, plan.after)


def _check_target(plan: PlannedChange, workspace: Workspace) -> None:
    """Raise early for a file that cannot be written, so that the user is not asked to approve it."""
    target = plan.target
    for folder in target.parents:
        if os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises if a parent folder is not accessible
            break
        if os.path.lexists(folder):
            shown, blocker = workspace.display(target), workspace.display(folder)
            raise ToolRetry(
                tr("{shown!r} cannot be written: {blocker!r} is a file, not a folder", shown=shown, blocker=blocker)
            )
    # Replacing a file needs permission for its folder only; a file marked read-only is respected all the same.
    effective = os.access in os.supports_effective_ids
    if plan.before is not None and not os.access(plan.change.path, os.W_OK, effective_ids=effective):
        raise ToolFailed(
            tr(
                "no permission to write {display!r}: the file is write-protected",
                display=workspace.display(plan.change.path),
            )
        )


def _check_unchanged(plan: PlannedChange, workspace: Workspace) -> None:
    change = plan.change
    shown = workspace.display(change.path)
    # A command may have replaced a folder by a link meanwhile, and the write would land outside the approved path.
    if os.path.realpath(plan.target) != str(plan.target):
        raise ToolRetry(
            tr("{display!r} has just been replaced by a link or moved", display=workspace.display(plan.target)),
            "look at it again",
        )
    if plan.before is not None and read_bytes(change.path, shown)[0] != plan.before:
        raise ToolRetry(tr("{shown!r} has just changed on disk", shown=shown), "read it again before you change it")
    new = plan.target if plan.before is None or change.moved_to else None
    if new is not None and os.path.lexists(new):
        raise ToolRetry(
            tr("{display!r} already exists", display=workspace.display(new)), "read it before you change it"
        )


def _apply_change(plan: PlannedChange, undo: list[_Undo]) -> None:
    """Make one change, and add to `undo` how to reverse each of its steps."""
    change = plan.change
    removes_old_path = change.moved_to is not None or plan.after is None
    if plan.after is not None:
        for folder in reversed([folder for folder in plan.target.parents if not folder.exists()]):
            # One by one, so that a failure removes exactly the folders this change has created.
            folder.mkdir()
            undo.append(_Undo(path=folder, folder=True))
        undo.append(_Undo(path=plan.target, data=None if removes_old_path else plan.before, mode=plan.mode))
        _write(plan.target, plan.after, plan.mode)
    if removes_old_path:
        undo.append(_Undo(path=change.path, data=plan.before, mode=plan.mode))
        change.path.unlink()


def _write(path: Path, data: bytes, mode: int) -> None:
    """Replace a file and set its permission bits, which the umask may have reduced for the new file."""
    write_atomic(path, data, mode)
    if mode != NEW_FILE_MODE and stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _roll_back(undo: list[_Undo]) -> list[Path]:
    """Undo everything, newest first; return the paths for which that failed."""
    failed: list[Path] = []
    # Newest first: a created folder can be removed only after the file in it.
    for step in reversed(undo):
        try:
            if step.folder:
                step.path.rmdir()
            elif step.data is None:
                step.path.unlink(missing_ok=True)
            elif not step.path.is_file() or step.path.read_bytes() != step.data:
                _write(step.path, step.data, step.mode)
        except NotADirectoryError:  # a file is in place of its folder, so it was never created
            continue
        except OSError:  # reported to the model as a path that stays changed
            failed.append(step.path)
    return failed


_SEARCH_LIMIT_S = 1.5
_MAX_FILES = 20_000
_MAX_BYTES = 400_000
_MAX_NAMED = 3


def describe_lines_elsewhere(workspace: Workspace, path: Path, old: str, similarity: float) -> str:
    """Return the end of a sentence about `path`: which other file contains the searched lines; "" if none does.

    Reads files for at most 1.5 s.

    Args:
        similarity: similarity of the closest lines in the file itself; if they are close enough, no other is searched.
    """
    searched_keys = [key for line in split_lines(old) if (key := normalize_line(line))]
    if similarity >= MIN_CLOSE_SIMILARITY or not searched_keys:
        return ""
    symbols = list_definitions(split_lines(old))
    # Lines such as "}" are in every file, so a hit of them says nothing.
    needle = max(searched_keys, key=len)
    if len(needle) < 4 and not symbols:
        return ""
    whole_matches: list[str] = []
    definitions: list[str] = []
    first_line_matches: list[str] = []
    ends = time.monotonic() + _SEARCH_LIMIT_S
    names = list_files_within(workspace.root, limit_s=_SEARCH_LIMIT_S, most=_MAX_FILES) or []
    # Files of the same language first, because the search may run out of time.
    for name in sorted(names, key=lambda name: PurePath(name).suffix != path.suffix):
        if time.monotonic() > ends or len(whole_matches) == _MAX_NAMED:
            break
        other = workspace.root / name
        if other == path or (lines := _read_lines(other)) is None:
            continue
        # Normalized as in the edit itself: a text that `edit_file` would accept there must be found there.
        keys = [normalize_line(line) for line in lines]
        if (at := _find_block(keys, searched_keys)) is not None:
            whole_matches.append(f"{name!r}, line {at + 1}")
            continue
        for kind, symbol in symbols:
            definitions += [
                f"{kind} {symbol} in {name!r}, line {at + 1}" for at in find_definition(lines, kind, symbol)
            ]
        if len(searched_keys[0]) > 8 and searched_keys[0] in keys:
            first_line_matches.append(f"{name!r}, line {keys.index(searched_keys[0]) + 1}")
    if whole_matches:
        where = " and in ".join(whole_matches)
        return f"the text to find is not in this file; it is in {where}. Edit that file instead"
    if definitions:
        return (
            "the text to find is not in this file, nor anything like it; there is "
            f"{'; '.join(definitions[:_MAX_NAMED])}. Read it there and edit that file"
        )
    if first_line_matches:
        where = " and in ".join(first_line_matches[:_MAX_NAMED])
        return (
            f"the text to find is not in this file, nor anything like it; its first line is in {where}. Read it there"
        )
    return ""


def _read_lines(path: Path) -> list[str] | None:
    try:
        return split_lines(decode_document(path, read_regular(path, _MAX_BYTES)).text)
    except (OSError, NotText):
        return None


def _find_block(keys: Sequence[str], block_keys: Sequence[str]) -> int | None:
    """Return the index of the first line of a block, ignoring blank lines on both sides; None if it is not found."""
    line_indexes = [at for at, key in enumerate(keys) if key]
    filled_keys = [keys[at] for at in line_indexes]
    size = len(block_keys)
    for number in range(len(filled_keys) - size + 1):
        if filled_keys[number] == block_keys[0] and filled_keys[number : number + size] == list(block_keys):
            return line_indexes[number]
    return None


_CONTEXT_LINES = 2
_MAX_SHOWN = 16
_MAX_PLACES = 5
_MAX_ROWS = 40
_MAX_LINE = 300


class EditFileTool:
    """Replaces a text that the model quotes, with tolerance for typical errors of quotation."""

    name = "edit_file"
    args = EditFileArgs
    read_only = False

    def __init__(self, workspace: Workspace, read_log: ReadLog) -> None:
        self._workspace = workspace
        self._read_log = read_log

    def prepare(self, args: EditFileArgs) -> PreparedCall:
        """Match the edit to the present file.

        Raises ToolRetry if it does not match, or if the file changed since the model read it.
        """
        path = resolve_workspace_path(self._workspace, args.path)
        name = self._workspace.display(path)
        file = open_for_edit(path, self._workspace, self._read_log)
        match = match_edit(file.text, args.old_string, args.new_string, replace_all=args.replace_all)
        if isinstance(match, EditRefused):
            elsewhere = describe_lines_elsewhere(self._workspace, path, args.old_string, match.similarity)
            raise ToolRetry(
                f"{name!r} is unchanged: {to_printable(elsewhere or match.message)}",
                for_user=tr("{name!r} is unchanged: the text to replace was not found exactly once", name=name),
            )
        after = match.apply(file.text)
        # Planned and shown now; written only after approval, if the file is still the same.
        planned = plan_file_update(path, file, after, name)
        counts = diff_texts(file.text, after, name, name).counts

        def report() -> tuple[str, str]:
            places = "" if len(match.spans) == 1 else f" in {len(match.spans)} places"
            rows = render_changed_lines(after, list(list_new_ranges(match.spans)))
            text = f"edited {name}{places}: {counts} lines, {describe_match_kind(match.match_kind)}\n{rows}"
            return text, summarize_edit(counts, match.match_kind)

        return prepare_changes(tr("edit {name}", name=name), [planned], self._workspace, self._read_log, report)


def open_for_edit(path: Path, workspace: Workspace, read_log: ReadLog) -> TextFile:
    """Return the file's text. Raises ToolRetry if the file changed since the model read it."""
    name = workspace.display(path)
    if not path_exists(path, name):
        raise make_missing_path_error(workspace, path)
    file = read_for_change(workspace, path)
    if read_log.has_changed(path, file.data):
        raise ToolRetry(
            f"{name!r} changed on disk since you read it",
            "read it again, then edit",
            for_user=tr("{name!r} changed on disk since the model read it", name=name),
        )
    return file


def plan_file_update(path: Path, file: TextFile, after: str, name: str, moved_to: Path | None = None) -> PlannedChange:
    """Return the change of a file's text, in the file's own encoding."""
    change = FileChange(
        path=path,
        kind="move" if moved_to else "update",
        before=to_printable(file.text),
        after=to_printable(after),
        moved_to=moved_to,
    )
    return PlannedChange(change=change, before=file.data, after=encode_file(after, file, name), mode=file.mode)


def describe_match_kind(match_kind: MatchKind) -> str:
    """Return how an edit matched, for the model."""
    return (
        "matched exactly"
        if match_kind == "exact"
        else f"matched after allowing for a difference in {match_kind}; check it:"
    )


def summarize_edit(counts: str, match_kind: MatchKind) -> str:
    """Return the result of an edit for the user: "+12 -3 (indent shift)"."""
    return counts if match_kind == "exact" else f"{counts} ({match_kind})"


def render_changed_lines(after: str, changed: Sequence[tuple[int, int]], most: int = _MAX_ROWS) -> str:
    """Return the first changed places with line numbers, as in read_file, and a few lines around them."""
    lines = [strip_ending(line) for line in split_lines(after)]
    if not lines:
        return "(the file is empty now)"
    ranges: list[tuple[int, int]] = []
    for start, end in changed:
        first = get_line_number(after, start)
        last = get_line_number(after, max(start, start + len(after[start:end].rstrip("\r\n"))))
        top, bottom = max(1, min(first, len(lines)) - _CONTEXT_LINES), min(len(lines), last + _CONTEXT_LINES)
        if ranges and top <= ranges[-1][1] + 1:
            top = ranges.pop()[0]
        ranges.append((top, bottom))
    rows: list[str] = []
    for number, (top, bottom) in enumerate(ranges):
        if number == _MAX_PLACES or (rows and len(rows) >= most):
            left = len(ranges) - number
            rows.append(f"… and {format_count(left, 'more place')}")
            break
        place_rows = number_lines([to_printable(line) for line in lines[top - 1 : bottom]], top, max_chars=_MAX_LINE)
        if len(place_rows) > _MAX_SHOWN:
            half = _MAX_SHOWN // 2
            place_rows = [*place_rows[:half], "…", *place_rows[-half:]]
        rows += ["…", *place_rows] if rows else place_rows
    return "\n".join(rows)


class WriteFileTool:
    """Writes whole files; does not replace a file the model has not seen."""

    name = "write_file"
    args = WriteFileArgs
    read_only = False

    def __init__(self, workspace: Workspace, read_log: ReadLog) -> None:
        self._workspace = workspace
        self._read_log = read_log

    def prepare(self, args: WriteFileArgs) -> PreparedCall:
        """Prepare the change. Raises ToolRetry if the file exists and the model does not know its present content."""
        path = resolve_workspace_path(self._workspace, args.path)
        name = self._workspace.display(path)
        # `Path` drops the slash at the end, so the file would be created under the folder's name.
        if args.path.endswith(("/", "\\")):
            raise ToolRetry(
                tr("{path!r} is a folder", path=args.path), "give the path of a file, missing folders are created"
            )
        old = read_for_change(self._workspace, path) if path_exists(path, name) else None
        if old is not None and path.suffix == NOTEBOOK_SUFFIX and args.content.lstrip().startswith("{"):
            old = decode_file(old.data, old.mode)  # the model writes the notebook's JSON itself
        planned = self._plan(path, name, old, args.content)
        lines = args.content.count("\n") + (not args.content.endswith("\n") and bool(args.content))
        if old is None:
            title, counted = tr("create {name}", name=name), tr_count(lines, "line")
        else:
            title, counted = (
                tr("overwrite {name}", name=name),
                diff_texts(old.text, planned.change.after or "", name, name).counts,
            )
        done = f"{'created' if old is None else 'overwrote'} {name} ({english(counted)}{_describe_kept_format(old)})"
        return prepare_changes(title, [planned], self._workspace, self._read_log, lambda: (done, counted))

    def _plan(self, path: Path, name: str, old: TextFile | None, content: str) -> PlannedChange:
        if old is None:
            return plan_new_file(path, name, content)
        if self._read_log.has_changed(path, old.data):
            raise ToolRetry(
                f"{name!r} changed on disk since you read it",
                "read it again before you overwrite it",
                for_user=tr("{name!r} changed on disk since the model read it", name=name),
            )
        # A model that has not seen a file would replace content it does not know of. An empty file has none to lose.
        if old.data and not self._read_log.has_seen(path):
            raise ToolRetry(
                f"{name!r} exists and you have not read it",
                "read it first, or change it with edit_file",
                for_user=tr("{name!r} exists, and the model has not read it", name=name),
            )
        # Models write "\n" only; without this, each overwrite of a CRLF file would change all of its lines.
        after = content if find_main_ending(old.text) == "\n" else normalize_newlines(content).replace("\n", "\r\n")
        if after == old.text:
            raise ToolRetry(tr("{name!r} already has exactly this content", name=name), "nothing to write")
        return plan_file_update(path, old, after, name)


def plan_new_file(path: Path, name: str, content: str) -> PlannedChange:
    """Return the creation of a UTF-8 file, or of a notebook from the text of its cells."""
    if path.suffix == NOTEBOOK_SUFFIX and not content.lstrip().startswith("{"):
        from clio.tools.files.notebook import BadNotebookText, make_notebook

        try:
            data = make_notebook(content)
        except BadNotebookText as error:
            raise ToolRetry(f"{name!r}: {error}") from None
        return PlannedChange(
            change=FileChange(path=path, kind="add", after=content), before=None, after=data, mode=NEW_FILE_MODE
        )
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolRetry(
            tr(
                "the content of {name!r} contains half of a surrogate pair at character {start}",
                name=name,
                start=error.start,
            )
        ) from None
    if len(data) > MAX_EDIT_BYTES:
        raise ToolFailed(
            tr("{name!r} would be {bytes}, too large for clio to write", name=name, bytes=format_bytes(len(data))),
            "create it with a command",
        )
    change = FileChange(path=path, kind="add", after=content)
    return PlannedChange(change=change, before=None, after=data, mode=NEW_FILE_MODE)


def _describe_kept_format(old: TextFile | None) -> str:
    """Return properties of the old file that were preserved and may be unexpected, such as its encoding."""
    if old is None:
        return ""
    properties = [] if old.encoding == "utf-8" and not old.bom else [f"{old.encoding}{' with BOM' if old.bom else ''}"]
    if find_main_ending(old.text) == "\r\n":
        properties.append("CRLF line endings")
    return f"; kept {' and '.join(properties)}" if properties else ""


_MAX_NAMES = 3
_MAX_PATCH_ROWS = 60
"""Maximum number of lines shown in the result, for all files together."""


class ApplyPatchTool:
    """Applies patches; everything is computed before anything is written."""

    name = "apply_patch"
    args = ApplyPatchArgs
    read_only = False

    def __init__(self, workspace: Workspace, read_log: ReadLog) -> None:
        self._workspace = workspace
        self._read_log = read_log

    def prepare(self, args: ApplyPatchArgs) -> PreparedCall:
        """Prepare all changes of the patch. Raises ToolRetry if any of them cannot be made."""
        planned: list[PlannedChange] = []
        notes: list[str] = []
        match_kinds: list[MatchKind] = []
        seen_paths: set[Path] = set()
        rows_left = _MAX_PATCH_ROWS
        for section in _merge_updates(parse_patch(args.patch)):
            plan, section_kinds, changed = self._plan(section)
            # The second section would be planned on the file's present text and silently undo the first.
            for path in {plan.change.path, plan.target}:
                if path in seen_paths:
                    raise ToolRetry(
                        tr("the patch has two sections for {display!r}", display=self._workspace.display(path)),
                        "use one",
                    )
                seen_paths.add(path)
            planned.append(plan)
            match_kinds.extend(match_kind for match_kind in section_kinds if match_kind not in match_kinds)
            notes.append(self._note(plan, section_kinds))
            if changed and rows_left > 0:
                rows = render_changed_lines(plan.change.after or "", changed, rows_left)
                rows_left -= rows.count("\n") + 1
                notes.append(rows)
        diffs = [diff_change(plan.change, self._workspace.display) for plan in planned]
        counts = f"+{sum(diff.added for diff in diffs)} -{sum(diff.removed for diff in diffs)}"
        summary = f"{counts} ({', '.join(match_kinds)})" if match_kinds else counts
        names = [self._workspace.display(plan.target) for plan in planned]
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        title = tr("patch {names}{more}", names=", ".join(names[:_MAX_NAMES]), more=more)
        text = "patch applied:\n" + "\n".join(notes)
        return prepare_changes(title, planned, self._workspace, self._read_log, lambda: (text, summary))

    def _plan(self, section: PatchSection) -> tuple[PlannedChange, tuple[MatchKind, ...], tuple[tuple[int, int], ...]]:
        """Return one section as a change of bytes, how its hunks matched, and the ranges they changed."""
        path = resolve_workspace_path(self._workspace, section.path)
        name = self._workspace.display(path)
        match section:
            case AddFile():
                if path_exists(path, name):
                    raise ToolRetry(
                        tr("{name!r} already exists", name=name), f"change it with '*** Update File: {name}'"
                    )
                return plan_new_file(path, name, section.content), (), ()
            case DeleteFile():
                file = open_for_edit(path, self._workspace, self._read_log)
                change = FileChange(path=path, kind="delete", before=to_printable(file.text))
                return PlannedChange(change=change, before=file.data, after=None, mode=file.mode), (), ()
            case UpdateFile():
                return self._plan_update(section, path, name)
            case _:
                assert_never(section)

    def _plan_update(
        self, section: UpdateFile, path: Path, name: str
    ) -> tuple[PlannedChange, tuple[MatchKind, ...], tuple[tuple[int, int], ...]]:
        file = open_for_edit(path, self._workspace, self._read_log)
        moved_to = resolve_workspace_path(self._workspace, section.move_to) if section.move_to else None
        if moved_to == path:
            moved_to = None
        if moved_to is not None and path_exists(moved_to, self._workspace.display(moved_to)):
            raise ToolRetry(
                tr(
                    "{name!r} cannot be moved to {display!r}, which already exists",
                    name=name,
                    display=self._workspace.display(moved_to),
                )
            )
        try:
            patched = apply_patch_hunks(file.text, section.hunks)
        except HunkFailed as error:
            elsewhere = describe_lines_elsewhere(self._workspace, path, error.old, error.similarity)
            raise ToolRetry(
                f"no file was changed; in {name!r} {to_printable(elsewhere or str(error))}",
                for_user=tr("the patch does not apply to {name!r}; no file was changed", name=name),
            ) from None
        return plan_file_update(path, file, patched.text, name, moved_to), patched.match_kinds, patched.changed

    def _note(self, plan: PlannedChange, match_kinds: tuple[MatchKind, ...]) -> str:
        """Return a line for the model: what happens to one file."""
        change = plan.change
        name, target = self._workspace.display(change.path), self._workspace.display(plan.target)
        counts = diff_change(change).counts
        allowed = f", after allowing for a difference in {', '.join(match_kinds)}; check it" if match_kinds else ""
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


def _merge_updates(sections: tuple[PatchSection, ...]) -> list[PatchSection]:
    """Return the sections with all updates of the same file combined."""
    merged: list[PatchSection] = []
    positions: dict[str, int] = {}
    for section in sections:
        if isinstance(section, UpdateFile) and section.path in positions:
            first = merged[positions[section.path]]
            assert isinstance(first, UpdateFile)  # only updates have an index here
            hunks: tuple[PatchHunk, ...] = first.hunks + section.hunks
            move_to = section.move_to or first.move_to
            merged[positions[section.path]] = UpdateFile(path=section.path, hunks=hunks, move_to=move_to)
            continue
        if isinstance(section, UpdateFile):
            positions[section.path] = len(merged)
        merged.append(section)
    return merged
