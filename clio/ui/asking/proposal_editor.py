"""A proposed text opened in the person's own editor before it is decided on."""

import asyncio

from rich.text import Text

from clio.errors import UserError
from clio.security.actions import FileChange
from clio.ui.asking.describe import Display
from clio.ui.asking.desk import Desk
from clio.ui.asking.proposal import Proposal
from clio.ui.editor import edit_text
from clio.ui.lent import lent
from clio.ui.plain import clean_line, visible

_KEYS = "123456789"


async def edit_proposal(desk: Desk, proposal: Proposal, display: Display) -> bool:
    """Let the person change a proposed text; whether they did. What goes wrong is said and changes nothing."""
    change = await _which(desk, proposal, display)
    if change is None or change.after is None:
        return False
    try:
        edited = await _in_editor(change.after, (change.moved_to or change.path).suffix)
    except UserError as error:
        desk.remark(clean_line(visible(str(error))), desk.theme.bad)
        return False
    if edited is None:
        desk.remark("left as it was")
        return False
    proposal.put(change.path, edited)
    if not proposal.changes_anything:
        desk.remark("your version changes nothing any more", desk.theme.warning)
    return True


async def _in_editor(text: str, suffix: str) -> str | None:
    """The editor has the terminal until it ends, whoever gives up waiting for it."""
    async with lent():
        running = asyncio.ensure_future(asyncio.to_thread(edit_text, text, suffix))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait({running})
            raise


async def _which(desk: Desk, proposal: Proposal, display: Display) -> FileChange | None:
    files = proposal.editable
    if len(files) == 1:
        return files[0]
    names = [clean_line(visible(display(change.moved_to or change.path))) for change in files]
    if len(files) <= len(_KEYS):
        key = await desk.questions.key(dict(zip(_KEYS, names, strict=False)))
        return files[_KEYS.index(key)] if key else None
    desk.say(Text(f"  {number} {name}") for number, name in enumerate(names, 1))
    answer = (await desk.questions.line("  number of the file: ") or "").strip()
    return files[int(answer) - 1] if answer.isdecimal() and 1 <= int(answer) <= len(files) else None
