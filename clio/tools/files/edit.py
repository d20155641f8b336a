"""edit_file: one text in one file is replaced by another."""

from collections.abc import Sequence
from pathlib import Path

from clio.errors import ToolRetry
from clio.security.actions import FileChange
from clio.security.path_policy import Workspace
from clio.tools.base import Prepared
from clio.tools.file_args import EditFile
from clio.tools.files.diff import diff_texts
from clio.tools.files.edit_elsewhere import lines_elsewhere
from clio.tools.files.edit_ladder import Refused, Rung, fit
from clio.tools.files.file_changes import PlannedChange, prepare_changes
from clio.tools.files.patch_hunks import new_stretches
from clio.tools.files.paths import missing, resolve
from clio.tools.files.read_log import ReadLog
from clio.tools.files.text_file import TextFile, encode, exists, shown
from clio.tools.files.text_lines import body, line_number, numbered, split_lines
from clio.tools.files.unsaved import read_for_change

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
            rows.append(f"… and {left} more place{'' if left == 1 else 's'}")
            break
        here = numbered([shown(line) for line in lines[top - 1 : bottom]], top, max_chars=_MAX_LINE)
        if len(here) > _MAX_SHOWN:
            half = _MAX_SHOWN // 2
            here = [*here[:half], "…", *here[-half:]]
        rows += ["…", *here] if rows else here
    return "\n".join(rows)
