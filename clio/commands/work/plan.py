"""/plan: plan mode on and off, and what becomes of the plan."""

from collections.abc import Iterable
from functools import partial

import msgspec

from clio.commands.command import Command, Shell, Suggestion
from clio.commands.follow_ups import ReviewPlan, RunPrompt
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult, EditText, refuse
from clio.commands.work.checklist import HELP, to_markdown
from clio.commands.work.todo import store_edited

NO_PLAN = "There is no plan yet; say what is to be planned"
_WORDS = {
    "go": "carry the plan out",
    "edit": "change the plan in your editor",
    "off": "leave plan mode; the list stays",
}


def plan(shell: Shell, argument: str) -> CommandResult:
    """Enter plan mode, with words for the model or without; in plan mode, decide about the plan."""
    match argument.lower():
        case "":
            return _enter_or_review(shell)
        case "off":
            return _leave(shell)
        case "edit":
            return _edit(shell)
        case "go":
            return _go(shell)
        case _:
            shell.planning.set_mode("plan")
            return CommandResult(follow_up=RunPrompt(text=argument), data={"mode": "plan"})


def edit_plan(shell: Shell) -> EditText:
    """The step that opens the plan in the editor and keeps what comes of it."""
    return EditText(text=to_markdown(shell.session.todos) + HELP, then=partial(store_edited, shell))


def _enter_or_review(shell: Shell) -> CommandResult:
    if shell.planning.is_on and shell.session.todos:
        return CommandResult(follow_up=ReviewPlan(), data={"mode": "plan"})
    was_on = shell.planning.is_on
    shell.planning.set_mode("plan")
    text = f"{NO_PLAN}." if was_on else "Plan mode: only reads run. Say what is to be planned; `/plan off` leaves it."
    return CommandResult(text=text, data={"mode": "plan"})


def _leave(shell: Shell) -> CommandResult:
    if not shell.planning.is_on:
        return refuse(f"Plan mode is not on; the approval mode is {code(shell.policy.mode)}")
    shell.planning.set_mode(shell.planning.before)
    stays = " The list stays; `/todo` shows it." if shell.session.todos else ""
    mode = shell.policy.mode
    return CommandResult(text=f"Plan mode is off, approval mode {code(mode)}.{stays}", data={"mode": mode})


def _edit(shell: Shell) -> CommandResult:
    """What was edited is put before the person again where plan mode is on."""
    if not shell.session.todos:
        return refuse(f"{NO_PLAN}, or write one with /todo edit")
    step = edit_plan(shell)

    def then(text: str) -> CommandResult:
        result = step.then(text)
        if not result.ok or not result.todos or not shell.planning.is_on:
            return result
        return CommandResult(follow_up=ReviewPlan(), data=result.data)

    return CommandResult(follow_up=msgspec.structs.replace(step, then=then))


def _go(shell: Shell) -> CommandResult:
    from_mode = shell.planning.before if shell.planning.is_on else shell.policy.mode
    if all(todo.status == "completed" for todo in shell.session.todos):
        return refuse(f"{NO_PLAN}" if not shell.session.todos else "Everything in the plan is done")
    return CommandResult(
        text=f"Carrying out the plan, approval mode {code(from_mode)}.",
        follow_up=RunPrompt(text=shell.planning.approve(from_mode)),
        data={"mode": from_mode},
    )


def _suggest(shell: Shell) -> Iterable[Suggestion]:
    return (Suggestion(text=word, note=note) for word, note in _WORDS.items())


PLAN = (
    Command(
        name="plan",
        argument="[TEXT | go | edit | off]",
        summary="look and propose first: only reads run until you approve a plan",
        handler=plan,
        suggest=_suggest,
    ),
)
