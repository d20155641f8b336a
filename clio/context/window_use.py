"""What fills the window, as `/context` tells it."""

from msgspec import Struct


class PartUse(Struct, frozen=True, kw_only=True):
    """One file or store that stands in the prompt. tokens: estimated. cut: it holds more than there was room for."""

    source: str
    reason: str
    tokens: int
    cut: bool


class WindowUse(Struct, frozen=True, kw_only=True):
    """What fills the window, in estimated tokens. `system` is without `memory`; `reserve` is kept for the answer.

    trim_above: more than so much of summary and history together is trimmed. parts: what `memory` is made of.
    problems: sentences on what did not get into it.
    """

    window: int
    system: int
    memory: int
    tools: int
    summary: int
    history: int
    reserve: int
    trim_above: int
    parts: tuple[PartUse, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def free(self) -> int:
        """What is left; below zero where the estimate has changed since the last trim."""
        return self.window - self.system - self.memory - self.tools - self.summary - self.history - self.reserve
