"""/undo, /redo, /diff and /rewind: what turns did to files, seen and taken back."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clio.commands.arguments import Given, join, read
from clio.commands.command import Command, Shell, Suggestion
from clio.commands.follow_ups import Confirm
from clio.commands.markdown_code import code
from clio.commands.memory.words import count
from clio.commands.result import CommandResult, refuse
from clio.commands.undo.rewind import rewind
from clio.commands.undo.words import (
    WHY,
    SessionTurn,
    bounded,
    change_table,
    counts,
    in_the_way,
    left_lines,
    named_files,
    session_turns,
    shown_data,
    shown_steps,
    turn_numbered,
    turn_title,
)
from clio.errors import ClioError, UserError

if TYPE_CHECKING:  # the line can be typed on before these are needed
    from clio.checkpoints.checkpoints import Plan

_SWITCHES = ("--force", "--yes")
_EXCEPT = "--except"
_IGNORED = " What .gitignore leaves out was not looked at."


def undo(shell: Shell, argument: str) -> CommandResult:
    """Take back what the last turn did to files."""
    given = read(argument, switches=_SWITCHES, valued=(_EXCEPT,))
    turns = session_turns(shell)
    turn = next((turn for turn in reversed(turns) if turn.files and not turn.back), None)
    if turn is None:
        return refuse("There is nothing to undo: no turn of this session has changed files, or all of it is undone")
    plan = shell.turn_files.checkpoints.plan_back({turn.id}, "undo")
    title = turn_title(turn, time.time())
    tail = _IGNORED if turn.files and turn.files.scanned else ""
    result = _go(shell, given, plan, "/undo", f"Undid {title}", f"{tail} /redo brings it back.")
    if result.ok and result.follow_up is None and turn is turns[-1]:
        _tell_learning(shell)
    return result


def redo(shell: Shell, argument: str) -> CommandResult:
    """Bring back what was undone last."""
    given = read(argument, switches=_SWITCHES, valued=(_EXCEPT,))
    session_turns(shell)  # refuses where nothing is kept
    sessions = {shell.session.id, shell.session.parent or ""}
    plan = shell.turn_files.checkpoints.plan_redo(sessions)
    if plan is None:
        return refuse("There is nothing to redo: nothing was undone, or all of it was brought back")
    return _go(shell, given, plan, "/redo", "Brought back what was undone", " /undo takes it back again.")


def _go(shell: Shell, given: Given, plan: "Plan", called: str, done: str, tail: str) -> CommandResult:
    """Carry out the plan, or say why not."""
    leave = named_files(given, _EXCEPT, plan.steps)
    force = "--force" in given.options

    def again(spared: set[str], forced: bool, *more: str) -> str:
        options = [*more, *(["--force"] if force or forced else [])]
        return join([called, *options, *([_EXCEPT, *sorted(spared)] if spared else [])])

    if not force and (refusal := in_the_way(shell, plan, leave, again)) is not None:
        return refusal
    outside = [path for path in plan.outside if path not in leave]
    if outside and "--yes" not in given.options:
        question = f"Outside of this project {', '.join(outside)} would change too. Go on?"
        return CommandResult(follow_up=Confirm(question=question, then=again(leave, False, "--yes")))
    shown = {one.path: one for one in shown_steps(shell, (step for step in plan.steps if step.verdict != "same"))}
    restored = shell.turn_files.checkpoints.carry_out(plan, shell.session.id, force=force, leave=leave)
    put = [shown[change.path] for change in restored.record.changes if change.path in shown]
    left = [*restored.left, *((step.wanted.path, WHY[step.verdict]) for step in plan.impossible)]
    left += [(path, "you said so") for path in sorted(leave)]
    words = count(len(put), "file") if put else "no file had to change"
    return CommandResult(
        text=f"{done}: {words}.{tail}{left_lines(left)}",
        table=change_table(put) if put else None,
        data={"changed": shown_data(put), "left": [{"path": path, "why": why} for path, why in left]},
    )


def _tell_learning(shell: Shell) -> None:
    """The answer whose changes are taken back was not what was wanted; learning from it is not worth an error."""
    if shell.config.incognito:
        return
    try:
        shell.memory.feedback.signal(-1, 0.5, "undo", "you took its changes back")
    except (ClioError, OSError):
        return


def diff(shell: Shell, argument: str) -> CommandResult:
    """What a turn did to files: the last one that changed any, or the one of that number; all files or some."""
    given = read(argument)
    turns = session_turns(shell)
    words = list(given.words)
    if words and words[0].isdecimal():
        turn = turn_numbered(turns, words.pop(0))
    else:
        turn = next((turn for turn in reversed(turns) if turn.files), None)
        if turn is None:
            return refuse("No turn of this session has changed files")
    if turn.files is None:
        return refuse(f"Turn {turn.number} has changed no files; /rewind lists the turns that have")
    changes = turn.files.changes
    unknown = [name for name in words if name not in {change.path for change in changes}]
    if unknown:
        raise UserError(f"Turn {turn.number} has not changed {unknown[0]!r}; /diff {turn.number} shows what it has")
    shown = [shell.turn_files.show(change) for change in changes if not words or change.path in words]
    lines = counts(sum(one.added for one in shown), sum(one.removed for one in shown))
    state = " It is taken back." if turn.back else ""
    tail = _IGNORED if turn.files.scanned else ""
    what = code(shown[0].path) if len(shown) == 1 else count(len(shown), "file")  # a diff of one file does not name it
    title = turn_title(turn, time.time())
    return CommandResult(
        text=f"{title[0].upper()}{title[1:]}: {what}{', ' if lines else ''}{lines}.{state}{tail}",
        diff=bounded("".join(one.text for one in shown), f"; /diff {turn.number} FILE shows one file"),
        data={"turn": turn.number, "taken_back": turn.back, "files": shown_data(shown)},
    )


def suggest_turns(shell: Shell) -> Iterable[Suggestion]:
    """The turns that changed files, newest first."""
    try:
        turns = session_turns(shell)
    except (ClioError, OSError):
        return ()
    return (Suggestion(text=str(turn.number), note=turn.words) for turn in reversed(turns) if turn.files)


def suggest_rewind(shell: Shell) -> Iterable[Suggestion]:
    """All turns, newest first."""
    turns: list[SessionTurn] = []
    try:
        turns = session_turns(shell)
    except (ClioError, OSError):
        return ()
    return (Suggestion(text=str(turn.number), note=turn.words) for turn in reversed(turns))


_PUT_BACK = "[--force] [--except FILE ...]"
CHECKPOINT = (
    Command(name="undo", argument=_PUT_BACK, summary="take back what the last turn did to files", handler=undo),
    Command(name="redo", argument=_PUT_BACK, summary="bring back what was undone", handler=redo),
    Command(
        name="diff",
        argument="[TURN] [FILE ...]",
        summary="what a turn did to files",
        handler=diff,
        suggest=suggest_turns,
    ),
    Command(
        name="rewind",
        argument="[TURN files|talk|both]",
        summary="go back to before a turn: its files, the conversation, or both",
        handler=rewind,
        suggest=suggest_rewind,
    ),
)
