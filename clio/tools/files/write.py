"""write_file: a whole file, new or replaced."""

from pathlib import Path

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import FileChange
from clio.security.path_policy import Workspace
from clio.tools.base import Prepared
from clio.tools.file_args import WriteFile
from clio.tools.files.diff import diff_texts
from clio.tools.files.edit import plan_update
from clio.tools.files.file_changes import NEW_FILE_MODE, PlannedChange, prepare_changes
from clio.tools.files.paths import resolve
from clio.tools.files.read_log import ReadLog
from clio.tools.files.text_file import MAX_EDIT_BYTES, TextFile, exists, size_text
from clio.tools.files.text_lines import main_ending, unix
from clio.tools.files.unsaved import read_for_change


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
            verb, counted = "create", f"{lines} line{'' if lines == 1 else 's'}"
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
        raise ToolFailed(f"{name!r} would have {size_text(len(data))}, more than clio writes; make it with a command")
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
