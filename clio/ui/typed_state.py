"""What a person is doing at the keyboard while a turn runs, as a screen is told of it."""

from msgspec import Struct

from clio.ui.typed_line import TypedLine


class Waiting(Struct, frozen=True):
    """A text that waits, and what it waits for, such as "queued 1"."""

    label: str
    text: str


class Typing(Struct, frozen=True, kw_only=True):
    """What a person is doing at the keyboard: the line, and what they have entered before.

    hint: what keys can do now, shown where the line is empty.
    """

    line: TypedLine
    waiting: tuple[Waiting, ...] = ()
    hint: str = ""
