"""/undo, /redo, /diff and /rewind: show and revert what turns changed in files."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from clio.commands.arguments import ParsedArguments, join_arguments, parse_options
from clio.commands.command import (
    Choose,
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    FollowUp,
    NewSession,
    Suggestion,
    SwitchSession,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.memory.memory_text import format_short_age
from clio.commands.session_table import compute_unique_id_length
from clio.errors import ClioError, UsageError, UserError
from clio.messages import is_turn_start
from clio.text.formatting import format_ago, truncate
from clio.text.translation import mark, tr, tr_count
from clio.text.untrusted_text import unmark_pasted_text

if TYPE_CHECKING:
    from clio.agent.turn_files import RenderedChange
    from clio.checkpoints.checkpoint_store import RestoreStep, TurnChanges
    from clio.checkpoints.checkpoints import RestorePlan


CONFLICT_REASONS = {
    "edited": mark("it has newer changes"),
    "between": mark("another program changed it in the meantime"),
    "unsure": mark("it may have been changed by you, not by the turn"),
    "lost": mark("it has no saved content"),
    "blocked": mark("it is in a folder that is now a link"),
}
_TITLE_CHARS = 60
_DIFF_LINES = 400
_NAMED = 5
_OFF = mark("Checkpoints are off, so file changes cannot be undone; set checkpoints to true to undo later turns")


class SessionTurn(Struct, frozen=True, kw_only=True):
    """One turn of the running session, which began with the message `id`.

    number: from 1. at: seconds since the epoch. files: None if it changed none. back: its changes are reverted.
    """

    number: int
    id: str
    said: str
    at: float
    files: "TurnChanges | None"
    back: bool

    @property
    def words(self) -> str:
        """Return the start of its message on one line."""
        return truncate(" ".join(unmark_pasted_text(self.said).split()), _TITLE_CHARS)


def session_turns(ctx: CommandContext) -> list[SessionTurn]:
    """Return all turns of the running session, oldest first.

    Raises UserError if checkpoints are off; ClioError, OSError.
    """
    if not ctx.turn_files.enabled:
        raise UserError(tr(_OFF))
    checkpoints = ctx.turn_files.checkpoints
    # A checkpoint is found by the id of the message that began its turn, so it survives trims and forks.
    files = {turn.message: turn for turn in checkpoints.list_turns()}
    back = checkpoints.list_undone_turns()
    said = [(one.id, one.content, one.created) for one in ctx.session.messages if is_turn_start(one)]
    return [
        SessionTurn(number=number, id=id, said=said, at=at, files=files.get(id), back=id in back)
        for number, (id, said, at) in enumerate(said, start=1)
    ]


def find_turn(turns: Sequence[SessionTurn], word: str) -> SessionTurn:
    """Return the turn of that number. Raises UserError naming the valid numbers."""
    if not turns:
        raise UserError(tr("This session has no messages yet, so it has no turns"))
    if not word.isdecimal() or not 1 <= int(word) <= len(turns):
        raise UserError(
            tr(
                "There is no turn {word!r}; the turns are 1 to {count}, and /rewind lists them",
                word=word,
                count=len(turns),
            )
        )
    return turns[int(word) - 1]


def select_files(given: ParsedArguments, option: str, steps: Iterable["RestoreStep"]) -> set[str]:
    """Return the files named after an option. Raises UserError for one that would not change."""
    if option not in given.options:
        if given.words:
            raise UserError(
                tr(
                    "Unknown argument {words!r}; files to leave unchanged go after {option}",
                    words=given.words[0],
                    option=option,
                )
            )
        return set()
    names = {given.options[option], *given.words}
    known = [step.file.path for step in steps]
    for name in sorted(names):
        if name not in known:
            raise UserError(
                tr("{name!r} is not among the files that would change: {known}", name=name, known=", ".join(known))
            )
    return names


def list_shown_changes(ctx: CommandContext, steps: Iterable["RestoreStep"]) -> list["RenderedChange"]:
    """Return what would happen to each file, as a diff."""
    return [ctx.turn_files.render_step(step) for step in steps]


def make_change_table(shown: Sequence["RenderedChange"]) -> Table:
    """Return a table of the files and the size of their changes."""
    words = {"new": tr("created"), "deleted": tr("deleted"), "changed": tr("changed")}
    rows = tuple((one.path, words[one.what], format_counts(one.added, one.removed)) for one in shown)
    return Table(columns=(tr("file"), tr("what"), tr("lines")), rows=rows, wide_column=0)


def format_counts(added: int, removed: int) -> str:
    """Format line counts: "+12 −3"; empty if no line was added or removed."""
    return f"+{added} −{removed}" if added or removed else ""


def limit_diff(diff: str, more: str = "") -> str:
    """Truncate a long diff, with a line that reports how much is missing and how to see it (`more`)."""
    lines = diff.splitlines()
    if len(lines) <= _DIFF_LINES:
        return diff
    return (
        "\n".join([*lines[:_DIFF_LINES], tr("… {count:,} more lines{more}", count=len(lines) - _DIFF_LINES, more=more)])
        + "\n"
    )


def format_turn_title(turn: SessionTurn, now: float) -> str:
    """Describe a turn within a sentence: its number, its age, the start of its message."""
    return tr(
        "turn {number} ({ago}, {words})",
        number=turn.number,
        ago=format_ago(now - turn.at),
        words=quote_code(turn.words),
    )


def describe_skipped(left: Iterable[tuple[str, str]]) -> str:
    """Return the files that were not touched, each with its reason, as Markdown."""
    return "".join(tr("\n- {path} was left unchanged: {why}", path=quote_code(path), why=why) for path, why in left)


def make_change_data(shown: Iterable["RenderedChange"]) -> list[dict[str, Any]]:
    """Return the changes in JSON types."""
    return [
        {"path": one.path, "what": one.what, "added": one.added, "removed": one.removed, "diff": one.text}
        for one in shown
    ]


def explain_conflicts(
    ctx: CommandContext, plan: "RestorePlan", leave: set[str], again: Callable[[set[str], bool], str]
) -> CommandResult | None:
    """Return a refusal that shows which changes by other programs would be lost; None if none would.

    again: returns the command line that leaves those files unchanged, or, with True, overwrites them.
    """
    steps = [step for step in plan.refused if step.file.path not in leave]
    if not steps:
        return None
    diff = limit_diff("".join(ctx.turn_files.render_lost_edits(step).text for step in steps))
    names = [step.file.path for step in steps]
    reasons = "; ".join(
        f"{step.file.path} {tr(CONFLICT_REASONS[step.verdict]).removeprefix('it ')}" for step in steps[:_NAMED]
    )
    command = again(set(), False).split()[0]
    not_done = {"/undo": tr("Not undone"), "/redo": tr("Not redone")}.get(command, "Not rewound")
    more = tr(" and {count} more files", count=len(names) - _NAMED) if len(names) > _NAMED else ""
    return CommandResult(
        text=tr(
            "{not_done}: {reasons}{more} (below).\n"
            "{again} leaves {value} unchanged.\n"
            "{again2} overwrites the newer changes; /redo restores them.",
            not_done=not_done,
            reasons=reasons,
            more=more,
            again=again(leave | set(names), False),
            value=tr("it") if len(names) == 1 else tr("them"),
            again2=again(leave, True),
        ),
        diff=diff,
        ok=False,
        data={
            "refused": [{"path": step.file.path, "why": tr(CONFLICT_REASONS[step.verdict])} for step in steps],
            "diff": diff,
        },
    )


RewindKind = Literal["files", "conversation", "both"]
# "talk" is the former name of "conversation".
_KIND_MEANINGS: dict[RewindKind, str] = {
    "both": mark("files and conversation"),
    "files": mark("files only; the conversation stays"),
    "conversation": mark("conversation only, in a copy of the session; files stay"),
}
_KINDS: dict[str, RewindKind] = {
    "files": "files",
    "conversation": "conversation",
    "both": "both",
    "talk": "conversation",
}
_MAX_TURNS_SHOWN = 15
_MAX_MESSAGE_CHARS = 400


def rewind_turn(ctx: CommandContext, argument: str) -> CommandResult:
    """List the turns of this session; or, with a number, return to the state before that turn."""
    given = parse_options(argument, switches=("--force", "--yes", "--all"), valued=("--except",))
    turns = session_turns(ctx)
    if not given.words:
        return _list_turns(ctx, turns, whole="--all" in given.options)
    turn = find_turn(turns, given.words[0])
    if len(given.words) == 1:
        return _offer_kinds(turn)
    what = _parse_rewind_kind(given.words[1:])
    rest = ParsedArguments(words=given.words[2:], options=given.options)
    # Rewinding the conversation continues in a copy on disk, which incognito mode must not make.
    if what != "files" and not ctx.session.is_persistent:
        return make_refusal(
            tr(
                "An incognito session is not stored, so it cannot be copied; /rewind {number} files works",
                number=turn.number,
            )
        )
    # Later turns too: a file's state before this turn is not reached by undoing this turn alone.
    later = {one.id for one in turns[turn.number - 1 :]}
    plan = ctx.turn_files.checkpoints.plan_undo(later, "rewind") if what != "conversation" else None
    leave = select_files(rest, "--except", plan.steps if plan else ())
    if plan is not None and "--force" not in given.options:
        refusal = explain_conflicts(
            ctx,
            plan,
            leave,
            lambda spared, force: _format_rewind_command(turn, what, spared, given, *(["--force"] if force else [])),
        )
        if refusal is not None:
            return refusal
    if "--yes" not in given.options:  # the question repeats the command with --yes, so the plan is made again
        return _make_rewind_question(ctx, plan, turn, what, leave, given)
    return _carry_out_rewind(ctx, plan, turn, what, leave, force="--force" in given.options)


def _list_turns(ctx: CommandContext, turns: list[SessionTurn], *, whole: bool) -> CommandResult:
    if not turns:
        return make_refusal(tr("This session has no messages yet, so there is nothing to go back to"))
    shown = list(reversed(turns))[: None if whole else _MAX_TURNS_SHOWN]
    now = time.time()
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, object]] = []
    for turn in shown:
        changes = [ctx.turn_files.render_change(change) for change in turn.files.changes] if turn.files else []
        added, removed = sum(one.added for one in changes), sum(one.removed for one in changes)
        lines = tr("undone") if turn.back else format_counts(added, removed)
        files = str(len(changes)) if changes else ""
        rows.append((str(turn.number), format_short_age(now, turn.at), turn.words, files, lines))
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
    more = (
        tr(" {count} earlier ones: `/rewind --all`.", count=len(turns) - len(shown)) if len(shown) < len(turns) else ""
    )
    columns = ("#", tr("ago"), tr("you said"), tr("files"), tr("lines"))
    table = Table(columns=columns, rows=tuple(rows), wide_column=2, is_truncated=True)
    said = {str(turn.number): unmark_pasted_text(turn.said) for turn in shown}
    return CommandResult(
        text=tr(
            "`/rewind TURN files`, `conversation` or `both` goes back to **before** that turn; "
            "`/diff TURN` shows its changes.{more}",
            more=more,
        ),
        table=table,
        data={"turns": data},
        follow_up=Choose(
            title=tr("Go back to before which turn?"),
            table=table,
            values=tuple(said),
            then="/rewind",
            preview=said.__getitem__,
        ),
    )


def _offer_kinds(turn: SessionTurn) -> CommandResult:
    """Ask what to take back to the state before a turn."""
    table = Table(
        columns=("", ""), rows=tuple((kind, tr(meaning)) for kind, meaning in _KIND_MEANINGS.items()), wide_column=1
    )
    return CommandResult(
        text=tr("Rewind what? Write /rewind {number} files, conversation or both", number=turn.number),
        ok=False,
        follow_up=Choose(
            title=tr("Go back to before turn {number}", number=turn.number),
            table=table,
            values=tuple(_KIND_MEANINGS),
            then=f"/rewind {turn.number}",
        ),
    )


def _parse_rewind_kind(words: tuple[str, ...]) -> RewindKind:
    if words[0] not in _KINDS:
        raise UsageError(
            tr("/rewind: unknown argument {words!r}; it takes files, conversation or both", words=words[0])
        )
    return _KINDS[words[0]]


def _format_rewind_command(
    turn: SessionTurn, what: RewindKind, leave: set[str], given: ParsedArguments, *more: str
) -> str:
    """Return the command line that does the same with these options added."""
    force = ("--force",) if "--force" in given.options else ()
    options = dict.fromkeys((*force, *more))
    return join_arguments(
        ["/rewind", str(turn.number), what, *options, *(["--except", *sorted(leave)] if leave else [])]
    )


def _make_rewind_question(
    ctx: CommandContext,
    plan: "RestorePlan | None",
    turn: SessionTurn,
    what: RewindKind,
    leave: set[str],
    given: ParsedArguments,
) -> CommandResult:
    """Show what will change, and ask."""
    steps = [step for step in plan.steps if step.verdict != "same" and step.file.path not in leave] if plan else []
    shown = list_shown_changes(ctx, steps)
    parts: list[str] = []
    if what != "conversation":
        parts.append(tr("change {files}", files=tr_count(len(shown), "file")) if shown else tr("change no file"))
    if what != "files":
        parts.append(tr("copy the conversation"))
    outside = tr(" Outside this project: {outside}.", outside=", ".join(plan.outside)) if plan and plan.outside else ""
    return CommandResult(
        text=tr("Before turn {number}, {words}:", number=turn.number, words=quote_code(turn.words)) if shown else "",
        table=make_change_table(shown) if shown else None,
        follow_up=Confirm(
            question=tr(
                "Back to before turn {number}: {parts}?{outside}",
                number=turn.number,
                parts=", ".join(parts),
                outside=outside,
            ),
            then=_format_rewind_command(turn, what, leave, given, "--yes"),
        ),
        data={"turn": turn.number, "what": what, "files": make_change_data(shown)},
    )


def _carry_out_rewind(
    ctx: CommandContext,
    plan: "RestorePlan | None",
    turn: SessionTurn,
    what: RewindKind,
    leave: set[str],
    *,
    force: bool,
) -> CommandResult:
    sentences: list[str] = []
    left: list[tuple[str, str]] = []
    changed: list[str] = []
    if plan is not None:
        restored = ctx.turn_files.checkpoints.carry_out(plan, ctx.session.id, force=force, leave=leave)
        changed = [change.path for change in restored.record.changes]
        left = [*restored.skipped, *((step.file.path, tr(CONFLICT_REASONS[step.verdict])) for step in plan.impossible)]
        back = tr("; /redo undoes that") if changed else ""
        sentences.append(
            tr(
                "{files} as before turn {number}{back}.",
                files=tr_count(len(changed), "file"),
                number=turn.number,
                back=back,
            )
        )
    follow_up: FollowUp | None = None
    if what != "files":
        follow_up = _make_fork_step(ctx, turn)
        known = [info.id for info in ctx.store.list()]
        short = ctx.session.id[: compute_unique_id_length(known)]
        said = truncate(" ".join(unmark_pasted_text(turn.said).split()), _MAX_MESSAGE_CHARS)
        sentences.append(
            tr(
                "Your message was: {said}. /session switch {short} returns to the session you left.",
                said=quote_code(said),
                short=short,
            )
        )
    return CommandResult(
        text=" ".join(sentences) + describe_skipped(left),
        follow_up=follow_up,
        data={"turn": turn.number, "what": what, "changed": changed, "left": [path for path, _ in left]},
    )


def _make_fork_step(ctx: CommandContext, turn: SessionTurn) -> FollowUp:
    """Return a copy of the session that ends before the turn; an empty session if nothing precedes it."""
    ids = [message.id for message in ctx.session.messages]
    place = ids.index(turn.id)
    title = ctx.session.name
    name = tr("{title} (before turn {number})", title=title, number=turn.number) if title else None
    # Nothing precedes the first message, and a session without messages has no file that could be copied.
    if place == 0:
        return NewSession(name=name)
    return SwitchSession(session_id=ctx.store.fork(ctx.session.id, upto=ids[place - 1], name=name))


_SWITCHES = ("--force", "--yes")
_EXCEPT = "--except"
_IGNORED = mark(" Files ignored by git were not checked.")


def undo_turn(ctx: CommandContext, argument: str) -> CommandResult:
    """Revert what the last turn changed in files."""
    given = parse_options(argument, switches=_SWITCHES, valued=(_EXCEPT,))
    turns = session_turns(ctx)
    turn = next((turn for turn in reversed(turns) if turn.files and not turn.back), None)
    if turn is None:
        return make_refusal(
            tr("Nothing to undo: no turn of this session has changed files, or everything is already undone")
        )
    plan = ctx.turn_files.checkpoints.plan_undo({turn.id}, "undo")
    title = format_turn_title(turn, time.time())
    tail = tr(_IGNORED) if turn.files and turn.files.scanned else ""
    result = _carry_out_plan(
        ctx, given, plan, "/undo", tr("Undid {title}", title=title), tail + tr(" /redo restores it.")
    )
    # Undoing an older turn says nothing about the latest answer, which is the one that is rated.
    if result.ok and result.follow_up is None and turn is turns[-1]:
        _record_unwanted_answer(ctx)
    return result


def redo_turn(ctx: CommandContext, argument: str) -> CommandResult:
    """Restore what was undone last."""
    given = parse_options(argument, switches=_SWITCHES, valued=(_EXCEPT,))
    session_turns(ctx)  # refuses if no copies are kept
    # A rewind continues in a copy, and what was undone there is recorded under the session it was copied from.
    sessions = {ctx.session.id, ctx.session.parent or ""}
    plan = ctx.turn_files.checkpoints.plan_redo(sessions)
    if plan is None:
        return make_refusal(tr("Nothing to redo: nothing was undone, or everything is already restored"))
    return _carry_out_plan(ctx, given, plan, "/redo", tr("Restored the undone changes"), tr(" /undo reverts it."))


def _carry_out_plan(
    ctx: CommandContext, given: ParsedArguments, plan: "RestorePlan", called: str, done: str, tail: str
) -> CommandResult:
    """Carry out the plan, or explain why not."""
    leave = select_files(given, _EXCEPT, plan.steps)
    force = "--force" in given.options

    def again(spared: set[str], forced: bool, *more: str) -> str:
        options = [*more, *(["--force"] if force or forced else [])]
        return join_arguments([called, *options, *([_EXCEPT, *sorted(spared)] if spared else [])])

    if not force and (refusal := explain_conflicts(ctx, plan, leave, again)) is not None:
        return refusal
    # A command of the turn may have changed files of another project, which the user does not expect /undo to touch.
    outside = [path for path in plan.outside if path not in leave]
    if outside and "--yes" not in given.options:
        question = tr("Files outside this project would change too: {outside}. Continue?", outside=", ".join(outside))
        return CommandResult(follow_up=Confirm(question=question, then=again(leave, False, "--yes")))
    # Rendered before the files are restored: afterwards the difference is gone.
    shown = {one.path: one for one in list_shown_changes(ctx, (step for step in plan.steps if step.verdict != "same"))}
    restored = ctx.turn_files.checkpoints.carry_out(plan, ctx.session.id, force=force, leave=leave)
    put = [shown[change.path] for change in restored.record.changes if change.path in shown]
    left = [*restored.skipped, *((step.file.path, tr(CONFLICT_REASONS[step.verdict])) for step in plan.impossible)]
    left += [(path, tr("you excluded it")) for path in sorted(leave)]
    words = tr_count(len(put), "file") if put else tr("no file had to change")
    return CommandResult(
        text=f"{done}: {words}.{tail}{describe_skipped(left)}",
        table=make_change_table(put) if put else None,
        data={"changed": make_change_data(put), "left": [{"path": path, "why": why} for path, why in left]},
    )


def _record_unwanted_answer(ctx: CommandContext) -> None:
    """Record that the reverted answer was unwanted; errors are ignored, because a rating is not worth failing /undo."""
    if ctx.config.incognito:
        return
    try:
        ctx.memory.feedback.signal(-1, 0.5, "undo", tr("you undid its changes"))
    except (ClioError, OSError):
        return


def show_turn_diff(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what a turn changed in files: by default the last one that changed any; all files or some."""
    given = parse_options(argument)
    turns = session_turns(ctx)
    words = list(given.words)
    if words and words[0].isdecimal():
        turn = find_turn(turns, words.pop(0))
    else:
        turn = next((turn for turn in reversed(turns) if turn.files), None)
        if turn is None:
            return make_refusal(tr("No turn of this session has changed files"))
    if turn.files is None:
        return make_refusal(
            tr("Turn {number} has changed no files; /rewind lists the turns that have", number=turn.number)
        )
    changes = turn.files.changes
    unknown = [name for name in words if name not in {change.path for change in changes}]
    if unknown:
        raise UserError(
            tr(
                "Turn {number} has not changed {unknown!r}; /diff {number} shows what it has",
                number=turn.number,
                unknown=unknown[0],
            )
        )
    shown = [ctx.turn_files.render_change(change) for change in changes if not words or change.path in words]
    lines = format_counts(sum(one.added for one in shown), sum(one.removed for one in shown))
    state = tr(" It is undone.") if turn.back else ""
    tail = tr(_IGNORED) if turn.files.scanned else ""
    what = (
        quote_code(shown[0].path) if len(shown) == 1 else tr_count(len(shown), "file")
    )  # a diff of one file does not name it
    title = format_turn_title(turn, time.time())
    return CommandResult(
        text=f"{title[0].upper()}{title[1:]}: {what}{', ' if lines else ''}{lines}.{state}{tail}",
        diff=limit_diff(
            "".join(one.text for one in shown), tr("; /diff {number} FILE shows one file", number=turn.number)
        ),
        data={"turn": turn.number, "taken_back": turn.back, "files": make_change_data(shown)},
    )


def suggest_turns(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the turns that changed files, newest first."""
    try:
        turns = session_turns(ctx)
    except (ClioError, OSError):
        return ()
    return (Suggestion(text=str(turn.number), note=turn.words) for turn in reversed(turns) if turn.files)


def suggest_rewind(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete all turns, newest first."""
    turns: list[SessionTurn] = []
    try:
        turns = session_turns(ctx)
    except (ClioError, OSError):
        return ()
    return (Suggestion(text=str(turn.number), note=turn.words) for turn in reversed(turns))


_PUT_BACK = mark("[--force] [--except FILE ...]")
CHECKPOINT = (
    Command(name="undo", argument=_PUT_BACK, summary=mark("undo the last turn's file changes"), handler=undo_turn),
    Command(name="redo", argument=_PUT_BACK, summary=mark("redo what was undone"), handler=redo_turn),
    Command(
        name="diff",
        argument="[TURN] [FILE ...]",
        summary=mark("show a turn's file changes"),
        handler=show_turn_diff,
        suggest=suggest_turns,
    ),
    Command(
        name="rewind",
        argument="[TURN files|conversation|both]",
        summary=mark("go back to before a turn: files, conversation, or both"),
        handler=rewind_turn,
        suggest=suggest_rewind,
    ),
)
