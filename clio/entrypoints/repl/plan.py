"""Plan mode in the shell: a key goes through the modes, and a plan is shown, approved, edited or declined."""

import asyncio
from collections.abc import Callable

from clio.entrypoints.repl.parts import Parts, terminal_size
from clio.entrypoints.repl.turn import Turns
from clio.errors import UserError
from clio.ui.editor import edit_text

_RETRY_S = 0.05


def cycling(parts_of: Callable[[], Parts | None], turns: Turns, changed: Callable[[str], None]) -> Callable[[], None]:
    """What Shift-Tab does: the next approval mode, which counts from the next call on.

    In a running turn a line of the scrollback says from where on, too. A key that comes before all is loaded waits for
    it. changed: told of it, for the line below the prompt.
    """

    def cycle() -> None:
        parts = parts_of()
        if parts is None:
            asyncio.get_running_loop().call_later(_RETRY_S, cycle)
            return
        mode = parts.app.planning.cycle()
        if turns.running:
            parts.screen.note(f"approval mode {mode} from the next call on")
        else:
            changed(f"approval mode {mode}")

    return cycle


async def review_plan(parts: Parts) -> str:
    """Put the session's list before the person; the words the next turn begins with, "" for none.

    An approved plan sets the approval mode.
    """
    app = parts.app
    while todos := app.session.todos:
        answer = await parts.plans.ask(todos, app.planning.before, terminal_size()[0] - 1)
        match answer.kind:
            case "go":
                return app.planning.approve(answer.mode)
            case "edit":
                await _edit(parts)
            case "no" if answer.reason:
                return answer.reason
            case _:
                break
    app.planning.set_aside()
    return ""


async def review_proposed(parts: Parts, *, busy: bool) -> str:
    """The same for a plan that waits for the person; nothing is asked of one who is `busy` with the next line."""
    return await review_plan(parts) if parts.app.planning.proposed and not busy else ""


async def _edit(parts: Parts) -> None:
    """Open the list in the editor; where that fails, say why and leave it."""
    from clio.commands.plan_commands import edit_plan

    step = edit_plan(parts.app)
    try:
        edited = await asyncio.to_thread(edit_text, step.text, step.suffix)
    except UserError as error:
        parts.screen.error(str(error))
        return
    if edited is not None and not (result := step.then(edited)).ok:
        parts.screen.error(result.text)
