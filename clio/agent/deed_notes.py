"""What a finished call did, in the form the session keeps it."""

from collections.abc import Callable
from pathlib import Path

from clio.messages import Commit, Deeds, FileDeed
from clio.security.actions import FileChange
from clio.tools.base import ToolOutput
from clio.tools.files.diff import changed_lines


def note_deeds(output: ToolOutput, display: Callable[[Path], str], redact: Callable[[str], str]) -> Deeds:
    """The tool's own account with the files it changed; paths as they are shown, secrets taken out.

    Empty for a call that did nothing of the kind, so that nobody has to guess from its arguments.
    """
    told = output.deeds or Deeds()
    return Deeds(
        changed=tuple(_note(change, display) for change in output.changed) + told.changed,
        read=told.read,
        commits=tuple(Commit(hash=commit.hash, subject=redact(commit.subject)) for commit in told.commits),
        command=redact(told.command),
        exit_code=told.exit_code,
        question=redact(told.question),
        answer=redact(told.answer),
    )


def _note(change: FileChange, display: Callable[[Path], str]) -> FileDeed:
    moved_to = display(change.moved_to) if change.moved_to else ""
    lines = changed_lines(change.before, change.after) if change.before is not None and change.after else ()
    return FileDeed(path=display(change.path), kind=change.kind, moved_to=moved_to, lines=lines)
