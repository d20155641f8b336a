"""What each key does to the line that is typed on while a turn runs."""

from collections.abc import Callable, Mapping

from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from clio.ui.typing.typed_line import TypedLine

Move = Callable[[TypedLine], None]
_MOVES: Mapping[str, Move] = {
    Keys.Left: TypedLine.left,
    Keys.ControlB: TypedLine.left,
    Keys.Right: TypedLine.right,
    Keys.ControlF: TypedLine.right,
    Keys.Home: TypedLine.home,
    Keys.ControlA: TypedLine.home,
    Keys.End: TypedLine.end,
    Keys.ControlE: TypedLine.end,
    Keys.ControlLeft: TypedLine.word_left,
    Keys.ControlRight: TypedLine.word_right,
    Keys.ControlH: TypedLine.backspace,
    Keys.Delete: TypedLine.delete,
    Keys.ControlD: TypedLine.delete,
    Keys.ControlW: TypedLine.cut_word,
    Keys.ControlU: TypedLine.cut_to_start,
    Keys.ControlK: TypedLine.cut_to_end,
}
_ALT_MOVES: Mapping[str, Move] = {
    "b": TypedLine.word_left,
    "f": TypedLine.word_right,
    Keys.ControlH: TypedLine.cut_word,
    Keys.ControlM: lambda line: line.insert("\n"),
}


class TypedKeys:
    """A line, and the keys for it. Without callbacks everything typed stays on the line, Enter as a new line.

    on_enter: gets the whole line, which is empty then. on_up: Up was pressed on an empty line. on_key: any key was
    pressed but these. paste: what to put on the line for pasted text.
    """

    def __init__(
        self,
        line: TypedLine | None = None,
        *,
        on_enter: Callable[[str], None] | None = None,
        on_up: Callable[[], None] | None = None,
        on_key: Callable[[], None] | None = None,
        paste: Callable[[str], str] = str,
    ) -> None:
        self.line = line if line is not None else TypedLine()
        self._on_enter = on_enter
        self._on_up = on_up
        self._on_key = on_key
        self._paste = paste

    def press(self, press: KeyPress, *, alt: bool = False) -> None:
        """Do what a key means. alt: Alt was held, or Esc came with it."""
        if alt:
            self._move(_ALT_MOVES.get(press.key))
        elif press.key in (Keys.ControlM, Keys.ControlJ):
            self._enter()
        elif press.key == Keys.Up and not self.line.text:
            if self._on_up is not None:
                self._on_up()
        else:
            self._edit(press)

    def _enter(self) -> None:
        if self._on_enter is None:
            self.line.insert("\n")
        else:
            self._on_enter(self.line.take())

    def _edit(self, press: KeyPress) -> None:
        if press.key == Keys.BracketedPaste:
            self._move(lambda line: line.insert(self._paste(press.data)))
        elif not isinstance(press.key, Keys) and press.key.isprintable():
            self._move(lambda line: line.insert(press.key))
        else:
            self._move(_MOVES.get(press.key))  # other keys and reports of the terminal mean nothing here

    def _move(self, move: Move | None) -> None:
        if move is None:
            return
        if self._on_key is not None:
            self._on_key()
        move(self.line)
