"""Every key that does something in clio, for `/help keys` and the page about keys.

A test compares `bound` with what the line really binds, so that no key is added without a word here.
"""

from msgspec import Struct

from clio.commands.tables import Table


class Key(Struct, frozen=True, kw_only=True):
    """Keys that do one thing. bound: their names as the line editor binds them, where clio itself does."""

    keys: str
    what: str
    bound: tuple[str, ...] = ()


KEYS: tuple[tuple[str, tuple[Key, ...]], ...] = (
    (
        "on the line",
        (
            Key(keys="Enter", what="sends; goes on after an open bracket, an open ``` or a \\", bound=("enter",)),
            Key(keys="Enter", what="on an empty line, with --screen-reader: says how things are"),
            Key(keys="Alt-Enter", what="starts a new line", bound=("escape enter",)),
            Key(keys="Tab", what="completes commands, their options, @paths, @session: and @note:"),
            Key(keys="↑ ↓", what="earlier lines; ↑ on an empty one takes back what waits", bound=("up",)),
            Key(keys="Ctrl-R", what="searches earlier lines, of other projects too", bound=("c-r", "escape", "c-g")),
            Key(keys="Ctrl-X Ctrl-E", what="edits the line in $EDITOR; v in vi's normal mode", bound=("c-x c-e", "v")),
            Key(keys="Ctrl-V", what="puts in the picture from the clipboard", bound=("c-v",)),
            Key(keys="Backspace", what="takes a pasted text away as a whole", bound=("backspace",)),
            Key(keys="Ctrl-C", what="empties the line; Ctrl-_ brings it back", bound=("c-c",)),
            Key(keys="Ctrl-D", what="leaves, on an empty line"),
        ),
    ),
    (
        "at any time",
        (
            Key(keys="Ctrl-O", what="opens the last results whole, as /last does", bound=("c-o",)),
            Key(keys="Ctrl-T", what="unfolds what the model thinks aloud, or folds it"),
            Key(keys="Shift-Tab", what="who decides: ask, edits, plan", bound=("s-tab",)),
        ),
    ),
    (
        "while a turn runs",
        (
            Key(keys="Esc Ctrl-C", what="stops the step and what it started"),
            Key(keys="Enter", what="what was typed waits for the end of the turn"),
            Key(keys="Enter Enter", what="lets it steer the next step; so does a ! before it"),
            Key(keys="↑", what="edits what waits"),
        ),
    ),
    (
        "at a question",
        (
            Key(keys="y s a n", what="once, for this session, always, no"),
            Key(keys="e h", what="edit the change, decide hunk by hunk"),
            Key(keys="any other", what="with --screen-reader: says the keys again"),
            Key(keys="j k g G Space b", what="move in a long change, as the arrows and pages do"),
        ),
    ),
)


def key_table() -> Table:
    """All of them, each under where it works."""
    rows = [
        (place if number == 0 else "", key.keys, key.what)
        for place, keys in KEYS
        for number, key in enumerate(keys)
    ]  # fmt: skip
    return Table(columns=("where", "key", "what it does"), rows=tuple(rows), wide=2)
