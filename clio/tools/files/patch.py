"""apply_patch: several files changed at once, all or none."""

from pathlib import Path
from typing import assert_never

from clio.errors import ToolRetry
from clio.security.actions import FileChange
from clio.security.path_policy import Workspace
from clio.tools.base import Prepared
from clio.tools.file_args import ApplyPatch
from clio.tools.files.diff import diff_change
from clio.tools.files.edit import open_for_edit, plan_update, show_changes
from clio.tools.files.edit_elsewhere import lines_elsewhere
from clio.tools.files.edit_ladder import Rung
from clio.tools.files.file_changes import PlannedChange, prepare_changes
from clio.tools.files.patch_format import AddFile, DeleteFile, Hunk, Section, UpdateFile, parse_patch
from clio.tools.files.patch_hunks import HunkFailed, apply_hunks
from clio.tools.files.paths import resolve
from clio.tools.files.read_log import ReadLog
from clio.tools.files.text_file import exists, shown
from clio.tools.files.write import plan_new

_MAX_NAMES = 3
_MAX_ROWS = 60
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
        room = _MAX_ROWS
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
