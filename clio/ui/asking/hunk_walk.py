"""A proposal decided on hunk by hunk, over all its files."""

from rich.text import Text

from clio.security.approval import Answer
from clio.ui.asking.describe import Display
from clio.ui.asking.desk import Desk
from clio.ui.asking.proposal import Piece, Proposal
from clio.ui.plain import clean_line, visible

_CHOICES = {"y": "yes", "n": "no", "a": "yes to all the rest", "q": "no to all the rest"}
_MAX_ROWS = 30


async def walk_hunks(desk: Desk, proposal: Proposal, display: Display) -> Answer | None:
    """The answer that comes of a yes or no to each hunk; None where nothing was wanted.

    Each decision leaves one line in the scrollback. Esc and Ctrl-C are no to everything.
    """
    pieces = proposal.pieces()
    wanted: set[int] = set()
    unmoved: set[int] = set()
    rest: bool | None = None
    for place, piece in enumerate(pieces):
        if id(piece.change) in unmoved:  # a file that does not move is left as it is
            continue
        if rest is None:
            key = await _ask(desk, piece, _named(piece, display))
            if key is None:
                return Answer("no", interrupted=True)
            rest = {"a": True, "q": False}.get(key)
            yes = key in ("y", "a")
            said = f"{'yes' if yes else 'no'}: {_named(piece, display)}"
            desk.remark(said + (", and so all the rest" if rest is not None else ""))
        else:
            yes = rest
        if yes:
            wanted.add(place)
        elif piece.change.kind == "move" and piece.hunk is None:
            unmoved.add(id(piece.change))
    return proposal.answer(pieces, wanted)


async def _ask(desk: Desk, piece: Piece, name: str) -> str | None:
    title = Text(f"  {name}", desk.theme.strong)
    rows = desk.diff(piece.text)
    if desk.questions.live:
        return await desk.questions.key(_CHOICES, page=desk.page(rows, title))
    desk.say([title, *desk.excerpt(rows, _MAX_ROWS)])
    return await desk.questions.key(_CHOICES)


def _named(piece: Piece, display: Display) -> str:
    change = piece.change
    name = clean_line(visible(display(change.path)))
    if piece.hunk is not None:
        return f"{name}, hunk {piece.number} of {piece.of}"
    if change.moved_to is not None:
        return f"move {name} → {clean_line(visible(display(change.moved_to)))}"
    return f"{'new file' if change.kind == 'add' else 'delete'} {name}"
