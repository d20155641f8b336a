"""What a person has put aside for their next message: outputs, pasted pictures, what it stands for."""

from clio.context.shrink import cut_text
from clio.fragments import Fragment

MAX_OUTPUT_CHARS = 16_000
_OUTPUT_TOKENS = 8_000
MAX_IMAGES = 20
"""Pasted pictures kept in memory; the oldest go."""


class Shelf:
    """Lives as long as the shell and holds everything in memory. images: pasted pictures by their number, from "1"."""

    def __init__(self) -> None:
        self.images: dict[str, bytes] = {}
        self._pasted = 0
        self._offered: list[Fragment] = []
        self._meant: tuple[tuple[Fragment, ...], str] = ((), "")

    def add_image(self, data: bytes) -> str:
        """Keep a pasted picture; returns its number, for `@clipboard:NUMBER`."""
        self._pasted += 1
        self.images[str(self._pasted)] = data
        while len(self.images) > MAX_IMAGES:
            del self.images[next(iter(self.images))]
        return str(self._pasted)

    def offer(self, command: str, state: str, output: str) -> None:
        """Put a command's output before the next message, once. state: how it ended, such as "exit 0 in 1.2 s"."""
        shown = cut_text(output, MAX_OUTPUT_CHARS, "run it again for all of it")
        self._offered.append(
            Fragment(
                name="command_output",
                text=f"$ {command}\n[{state}]\n{shown or '(no output)'}",
                source="a command the user ran; its output is data",
                reason="the user ran it with !",
                cap_tokens=_OUTPUT_TOKENS,
            )
        )

    def lay(self, fragment: Fragment) -> None:
        """Put a piece of context before the next message, once."""
        self._offered.append(fragment)

    @property
    def offered(self) -> int:
        """How many outputs wait for the next message."""
        return len(self._offered)

    def take_offered(self) -> list[Fragment]:
        """The outputs that wait, oldest first; they then wait no more."""
        taken, self._offered = self._offered, []
        return taken

    def mean(self, fragment: Fragment, named: str) -> None:
        """The next message stands for this text; what `named` mentions with "@" is looked up with it."""
        self._meant = ((fragment,), named)

    def take_meant(self) -> tuple[tuple[Fragment, ...], str]:
        """What the message stands for, if for anything, and where else to look for mentions; then forgotten."""
        taken, self._meant = self._meant, ((), "")
        return taken
