"""What is typed while a turn runs, as it is drawn: the line under the hands, and words that went to the model."""

from collections.abc import Iterator

from rich.text import Text

from clio.ui.painter import Part
from clio.ui.plain import clean
from clio.ui.theme import Theme
from clio.ui.typing.typed_state import Typing
from clio.ui.width import crop

_MARK = "› "


def typed_row(typing: Typing, width: int) -> tuple[str, int | None]:
    """The line on one row of at most `width` columns, and the cursor's column; "" where there is nothing to show."""
    if not typing.line.text:
        hint = crop(typing.hint, width - len(_MARK))
        return (_MARK + hint, len(_MARK)) if hint else ("", None)
    shown, column = typing.line.shown(width - len(_MARK))
    return _MARK + shown, len(_MARK) + column


def said_parts(text: str, theme: Theme) -> Iterator[Part]:
    """A person's words as they stand in the scrollback."""
    for number, line in enumerate(clean(text).strip().split("\n")):
        yield Part(body=Text.assemble((_MARK if number == 0 else "  ", theme.accent), line))
