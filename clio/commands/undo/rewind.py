"""/rewind: back to before a turn, in a copy of the conversation, in the files, or in both; nothing is ever deleted."""

import time
from typing import TYPE_CHECKING, Literal

from clio.commands.arguments import Given, join, read
from clio.commands.command import Shell
from clio.commands.follow_ups import Confirm, NewSession, SwitchSession
from clio.commands.markdown_code import code
from clio.commands.memory.words import count, short_age
from clio.commands.result import CommandResult, FollowUp, refuse
from clio.commands.sessions.table import id_length, shortened
from clio.commands.tables import Table
from clio.commands.undo.words import (
    WHY,
    SessionTurn,
    change_table,
    counts,
    in_the_way,
    left_lines,
    named_files,
    session_turns,
    shown_data,
    shown_steps,
    turn_numbered,
)
from clio.errors import UsageError

if TYPE_CHECKING:  # the line can be typed on before these are needed
    from clio.checkpoints.checkpoints import Plan

What = Literal["files", "talk", "both"]
_KINDS: dict[str, What] = {"files": "files", "talk": "talk", "both": "both"}
_SHOWN = 15
_SAID_CHARS = 400


def rewind(shell: Shell, argument: str) -> CommandResult:
    """The turns of this session; or, with a number, go back to before that turn."""
    given = read(argument, switches=("--force", "--yes", "--all"), valued=("--except",))
    turns = session_turns(shell)
    if not given.words:
        return _list(shell, turns, whole="--all" in given.options)
    turn = turn_numbered(turns, given.words[0])
    what = _kind(turn, given.words[1:])
    rest = Given(words=given.words[2:], options=given.options)
    if what != "files" and not shell.session.persistent:
        return refuse(f"An incognito session is not stored, so it cannot be copied; /rewind {turn.number} files works")
    later = {one.id for one in turns[turn.number - 1 :]}
    plan = shell.turn_files.checkpoints.plan_back(later, "rewind") if what != "talk" else None
    leave = named_files(rest, "--except", plan.steps if plan else ())
    if plan is not None and "--force" not in given.options:
        refusal = in_the_way(
            shell, plan, leave, lambda spared, force: _again(turn, what, spared, given, *(["--force"] if force else []))
        )
        if refusal is not None:
            return refusal
    if "--yes" not in given.options:
        return _question(shell, plan, turn, what, leave, given)
    return _carry_out(shell, plan, turn, what, leave, force="--force" in given.options)


def _list(shell: Shell, turns: list[SessionTurn], *, whole: bool) -> CommandResult:
    if not turns:
        return refuse("Nothing has been said in this session yet, so there is nothing to go back to")
    shown = list(reversed(turns))[: None if whole else _SHOWN]
    now = time.time()
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, object]] = []
    for turn in shown:
        changes = [shell.turn_files.show(change) for change in turn.files.changes] if turn.files else []
        added, removed = sum(one.added for one in changes), sum(one.removed for one in changes)
        lines = "undone" if turn.back else counts(added, removed)
        files = str(len(changes)) if changes else ""
        rows.append((str(turn.number), short_age(now, turn.at), turn.words, files, lines))
        data.append(
            {
                "turn": turn.number,
                "at": turn.at,
                "words": turn.words,
                "files": len(changes),
                "added": added,
                "removed": removed,
                "taken_back": turn.back,
            }
        )
    more = f" {len(turns) - len(shown)} earlier ones: `/rewind --all`." if len(shown) < len(turns) else ""
    return CommandResult(
        text="`/rewind TURN files`, `talk` or `both` goes back to **before** that turn; `/diff TURN` shows what it did."
        + more,
        table=Table(columns=("#", "ago", "you said", "files", "lines"), rows=tuple(rows), wide=2, cut=True),
        data={"turns": data},
    )


def _kind(turn: SessionTurn, words: tuple[str, ...]) -> What:
    if not words:
        raise UsageError(f"What goes back? Write /rewind {turn.number} files, talk or both")
    if words[0] not in _KINDS:
        raise UsageError(f"/rewind does not know {words[0]!r}; what goes back is files, talk or both")
    return _KINDS[words[0]]


def _again(turn: SessionTurn, what: What, leave: set[str], given: Given, *more: str) -> str:
    """The command line that does the same with these options added."""
    force = ("--force",) if "--force" in given.options else ()
    options = dict.fromkeys((*force, *more))
    return join(["/rewind", str(turn.number), what, *options, *(["--except", *sorted(leave)] if leave else [])])


def _question(
    shell: Shell, plan: "Plan | None", turn: SessionTurn, what: What, leave: set[str], given: Given
) -> CommandResult:
    """Say what will change, and ask."""
    steps = [step for step in plan.steps if step.verdict != "same" and step.wanted.path not in leave] if plan else []
    shown = shown_steps(shell, steps)
    parts: list[str] = []
    if what != "talk":
        parts.append(f"change {count(len(shown), 'file')}" if shown else "change no file")
    if what != "files":
        parts.append("copy the conversation")
    outside = f" Outside of this project: {', '.join(plan.outside)}." if plan and plan.outside else ""
    return CommandResult(
        text=f"Before turn {turn.number}, {code(turn.words)}:" if shown else "",
        table=change_table(shown) if shown else None,
        follow_up=Confirm(
            question=f"Back to before turn {turn.number}: {', '.join(parts)}?{outside}",
            then=_again(turn, what, leave, given, "--yes"),
        ),
        data={"turn": turn.number, "what": what, "files": shown_data(shown)},
    )


def _carry_out(
    shell: Shell, plan: "Plan | None", turn: SessionTurn, what: What, leave: set[str], *, force: bool
) -> CommandResult:
    sentences: list[str] = []
    left: list[tuple[str, str]] = []
    changed: list[str] = []
    if plan is not None:
        restored = shell.turn_files.checkpoints.carry_out(plan, shell.session.id, force=force, leave=leave)
        changed = [change.path for change in restored.record.changes]
        left = [*restored.left, *((step.wanted.path, WHY[step.verdict]) for step in plan.impossible)]
        back = "; /redo undoes that" if changed else ""
        sentences.append(f"{count(len(changed), 'file')} as before turn {turn.number}{back}.")
    follow_up: FollowUp | None = None
    if what != "files":
        follow_up = _fork(shell, turn)
        known = [info.id for info in shell.store.list()]
        short = shell.session.id[: id_length(known)]
        said = shortened(" ".join(turn.said.split()), _SAID_CHARS)
        sentences.append(f"You had said: {code(said)}. /session switch {short} goes back to where you were.")
    return CommandResult(
        text=" ".join(sentences) + left_lines(left),
        follow_up=follow_up,
        data={"turn": turn.number, "what": what, "changed": changed, "left": [path for path, _ in left]},
    )


def _fork(shell: Shell, turn: SessionTurn) -> FollowUp:
    """A copy of the session that ends before the turn; an empty one where nothing is before it."""
    ids = [message.id for message in shell.session.messages]
    place = ids.index(turn.id)
    title = shell.session.name
    name = f"{title} (before turn {turn.number})" if title else None
    if place == 0:
        return NewSession(name=name)
    return SwitchSession(session_id=shell.store.fork(shell.session.id, upto=ids[place - 1], name=name))
