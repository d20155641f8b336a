"""Turns and what they did to files, in words: the numbers people know them by, and lists of what changes."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clio.commands.arguments import Given
from clio.commands.command import Shell
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult
from clio.commands.sessions.table import age, shortened
from clio.commands.tables import Table
from clio.errors import UserError
from clio.messages import begins_turn

if TYPE_CHECKING:  # the line can be typed on before these are needed
    from clio.agent.file_diffs import ShownChange
    from clio.checkpoints.checkpoints import Plan
    from clio.checkpoints.timeline import Step, TurnFiles

WHY = {
    "edited": "it was changed since",
    "between": "somebody else changed it in between",
    "unsure": "nobody can tell whether the turn changed it, or you",
    "lost": "its bytes are not kept",
    "blocked": "a link leads its folder elsewhere",
}
_WORDS_CHARS = 60
_DIFF_LINES = 400
_NAMED = 5
_OFF = "What turns do to files is not kept, since the setting checkpoints is false; set it to true to undo later turns"


class SessionTurn(Struct, frozen=True, kw_only=True):
    """One turn of the running session, which began with the message `id`.

    number: from 1. at: seconds since the epoch. files: None where it changed none. back: they are taken back.
    """

    number: int
    id: str
    said: str
    at: float
    files: "TurnFiles | None"
    back: bool

    @property
    def words(self) -> str:
        """Its first words on one line."""
        return shortened(" ".join(self.said.split()), _WORDS_CHARS)


def session_turns(shell: Shell) -> list[SessionTurn]:
    """All turns of the running session, oldest first. Raises UserError where nothing is kept; ClioError, OSError."""
    if not shell.turn_files.enabled:
        raise UserError(_OFF)
    checkpoints = shell.turn_files.checkpoints
    files = {turn.message: turn for turn in checkpoints.turns()}
    back = checkpoints.taken_back()
    said = [(one.id, one.content, one.created) for one in shell.session.messages if begins_turn(one)]
    return [
        SessionTurn(number=number, id=id, said=said, at=at, files=files.get(id), back=id in back)
        for number, (id, said, at) in enumerate(said, start=1)
    ]


def turn_numbered(turns: Sequence[SessionTurn], word: str) -> SessionTurn:
    """The turn of that number. Raises UserError naming those there are."""
    if not turns:
        raise UserError("Nothing has been said in this session yet, so it has no turns")
    if not word.isdecimal() or not 1 <= int(word) <= len(turns):
        raise UserError(f"There is no turn {word!r}; the turns are 1 to {len(turns)}, and /rewind lists them")
    return turns[int(word) - 1]


def named_files(given: Given, option: str, steps: Iterable["Step"]) -> set[str]:
    """The files named after an option. Raises UserError for one that is not among those that would change."""
    if option not in given.options:
        if given.words:
            raise UserError(f"What is {given.words[0]!r}? Files to be left as they are stand after {option}")
        return set()
    names = {given.options[option], *given.words}
    known = [step.wanted.path for step in steps]
    for name in sorted(names):
        if name not in known:
            raise UserError(f"{name!r} is not among the files that would change: {', '.join(known)}")
    return names


def shown_steps(shell: Shell, steps: Iterable["Step"]) -> list["ShownChange"]:
    """What will happen to each file, as a diff."""
    return [shell.turn_files.way(step) for step in steps]


def change_table(shown: Sequence["ShownChange"]) -> Table:
    """Files and by how much they change."""
    words = {"new": "comes", "deleted": "goes", "changed": "changes"}
    rows = tuple((one.path, words[one.what], counts(one.added, one.removed)) for one in shown)
    return Table(columns=("file", "what", "lines"), rows=rows, wide=0)


def counts(added: int, removed: int) -> str:
    """In short: "+12 −3"; empty where no line came or went."""
    return f"+{added} −{removed}" if added or removed else ""


def bounded(diff: str, more: str = "") -> str:
    """The beginning of a long diff, with a line that says how much is missing, and `more`, how to see it."""
    lines = diff.splitlines()
    if len(lines) <= _DIFF_LINES:
        return diff
    return "\n".join([*lines[:_DIFF_LINES], f"… {len(lines) - _DIFF_LINES:,} more lines{more}"]) + "\n"


def turn_title(turn: SessionTurn, now: float) -> str:
    """A turn as a sentence names it: its number, its age, its first words."""
    return f"turn {turn.number} ({age(max(now - turn.at, 0.0))}, {code(turn.words)})"


def left_lines(left: Iterable[tuple[str, str]]) -> str:
    """Files that were not touched, each with its reason, as Markdown."""
    return "".join(f"\n- {code(path)} is left as it is: {why}" for path, why in left)


def shown_data(shown: Iterable["ShownChange"]) -> list[dict[str, Any]]:
    """The same in JSON's own types."""
    return [
        {"path": one.path, "what": one.what, "added": one.added, "removed": one.removed, "diff": one.text}
        for one in shown
    ]


def in_the_way(
    shell: Shell, plan: "Plan", leave: set[str], again: Callable[[set[str], bool], str]
) -> CommandResult | None:
    """The refusal where files would lose what somebody else did to them, with that shown; None where none would.

    again: the command line that leaves those files as they are, or, with True, forces them.
    """
    steps = [step for step in plan.refused if step.wanted.path not in leave]
    if not steps:
        return None
    diff = bounded("".join(shell.turn_files.lost_edits(step).text for step in steps))
    names = [step.wanted.path for step in steps]
    reasons = "; ".join(f"{step.wanted.path!r}: {WHY[step.verdict]}" for step in steps[:_NAMED])
    more = f" and {len(names) - _NAMED} more files" if len(names) > _NAMED else ""
    return CommandResult(
        text=f"Nothing was changed. {reasons}{more}. Below is what would be lost.\n"
        f"{again(leave | set(names), False)} leaves {'it' if len(names) == 1 else 'them'} as it is now.\n"
        f"{again(leave, True)} takes it back all the same; /redo has it then.",
        diff=diff,
        ok=False,
        data={"refused": [{"path": step.wanted.path, "why": WHY[step.verdict]} for step in steps], "diff": diff},
    )
