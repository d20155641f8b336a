"""A proposed change while a person decides on it: what they put in its place, and which parts of it they want."""

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct, structs

from clio.security.actions import ChangeFiles, FileChange
from clio.security.approval import Answer, Declined
from clio.tools.files.diff import Hunk, diff_change, keep_hunks, split_hunks
from clio.tools.files.text_file import main_ending


class Piece(Struct, frozen=True, kw_only=True):
    """What can be wanted or not by itself: a hunk of a file, or the whole of one that comes, goes or moves.

    number and of: which hunk of how many; 0 for the whole.
    """

    change: FileChange
    hunk: Hunk | None
    number: int = 0
    of: int = 0

    @property
    def text(self) -> str:
        """Its diff; empty for a move."""
        if self.hunk is not None:
            return self.hunk.text
        return diff_change(self.change).text if self.change.kind != "move" else ""


class Proposal:
    """The changes as they stand now. Pure: nothing is written."""

    def __init__(self, proposed: ChangeFiles) -> None:
        self._proposed = proposed
        self._edited: set[Path] = set()
        self.changes = proposed.changes

    @property
    def is_edited(self) -> bool:
        """Whether the person has put a text of their own in."""
        return bool(self._edited)

    @property
    def editable(self) -> tuple[FileChange, ...]:
        """The changes that leave a text."""
        return tuple(change for change in self.changes if change.after is not None)

    @property
    def has_pieces(self) -> bool:
        """Whether there is more than one thing to say yes or no to."""
        return len(list(islice((piece for change in self.changes for piece in _pieces(change)), 2))) > 1

    @property
    def changes_anything(self) -> bool:
        """False where the person's texts leave every file as it is."""
        return any(not _idle(change) for change in self.changes)

    def put(self, path: Path, text: str) -> None:
        """This is to be the file's text. An editor that wrote newlines where the file has CRLF is corrected."""
        change = next(change for change in self.changes if change.path == path)
        if "\r\n" not in text and main_ending(change.after or "") == "\r\n":
            text = text.replace("\n", "\r\n")
        changed = structs.replace(change, after=text)
        self.changes = tuple(changed if other is change else other for other in self.changes)
        original = next(proposed for proposed in self._proposed.changes if proposed.path == path)
        (self._edited.add if text != original.after else self._edited.discard)(path)

    def pieces(self) -> list[Piece]:
        """What can be decided on one by one, in order; a move stands before the hunks of its file."""
        return [piece for change in self.changes for piece in _pieces(change)]

    def answer(self, pieces: Collection[Piece], wanted: Collection[int]) -> Answer | None:
        """Yes to the pieces with these places and no to the rest; None where nothing would be done."""
        changes: list[FileChange] = []
        declined: list[Declined] = []
        for change in self.changes:
            mine = [(place in wanted, piece.hunk) for place, piece in enumerate(pieces) if piece.change is change]
            if change.kind == "move" and (False, None) in mine:
                continue
            taken = any(is_wanted for is_wanted, _ in mine)
            left = [hunk for is_wanted, hunk in mine if hunk is not None and not is_wanted]
            if left:
                hunks = [hunk for is_wanted, hunk in mine if hunk is not None and is_wanted]
                diff = "".join(hunk.text for hunk in left)
                declined.append(Declined(path=change.path, hunks=len(left), of=len(left) + len(hunks), diff=diff))
                change = structs.replace(change, after=keep_hunks(change.before or "", change.after or "", hunks))
            if taken and not _idle(change):
                changes.append(change)
        if not changes:
            return None
        if tuple(changes) == self._proposed.changes:
            return Answer("once")
        stay = {change.path for change in changes}
        return Answer(
            "changed",
            changes=tuple(changes),
            edited=tuple(sorted(self._edited & stay)),
            declined=tuple(one for one in declined if one.path in stay),
        )

    def whole(self) -> Answer | None:
        """Yes to all of it as it stands; None where it leaves every file as it is."""
        pieces = self.pieces()
        return self.answer(pieces, range(len(pieces)))

    def said(self, answer: Answer) -> str:
        """A changed answer in words: "allowed: your version, 2 hunks left out"."""
        left = sum(one.hunks for one in answer.declined)
        files = len(self._proposed.changes) - len(answer.changes)
        parts = ["your version"] if answer.edited else []
        parts += [f"{left} hunk{'' if left == 1 else 's'} left out"] if left else []
        parts += [f"{files} file{'' if files == 1 else 's'} left out"] if files else []
        return f"allowed: {', '.join(parts)}"


def _pieces(change: FileChange) -> Iterator[Piece]:
    if change.kind in ("add", "delete", "move"):
        yield Piece(change=change, hunk=None)
    if change.kind in ("update", "move"):
        hunks = list(split_hunks(change.before or "", change.after or ""))
        for number, hunk in enumerate(hunks, 1):
            yield Piece(change=change, hunk=hunk, number=number, of=len(hunks))


def _idle(change: FileChange) -> bool:
    return change.kind == "update" and change.before == change.after
