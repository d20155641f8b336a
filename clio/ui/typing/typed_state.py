"""What a person is doing at the keyboard while a turn runs, as a screen is told of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:  # the plain screen knows the words and draws nothing
    from clio.ui.typing.typed_line import TypedLine


class Waiting(Struct, frozen=True):
    """A text that waits, and what it waits for, such as "queued 1"."""

    label: str
    text: str


class Typing(Struct, frozen=True, kw_only=True):
    """What a person is doing at the keyboard: the line, and what they have entered before.

    hint: what keys can do now, shown where the line is empty. chips: what the line names with "@".
    """

    line: "TypedLine"
    waiting: tuple[Waiting, ...] = ()
    hint: str = ""
    chips: tuple[str, ...] = ()


class Held(Protocol):
    """What was typed during a turn and goes nowhere without the person."""

    def waiting(self) -> Sequence[Waiting]:
        """The texts, oldest first."""
        ...

    def take_back(self) -> str:
        """The newest one, to be edited; "" where none waits."""
        ...

    def just_stopped(self) -> bool:
        """Whether a turn was stopped a moment ago, so that another Esc was meant for it too."""
        ...

    def release(self) -> bool:
        """Let all of it go on; False where nothing waits."""
        ...
