"""What fills the window, as /context tells it, and what the next trim will move out of it."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from clio.context.compaction import Goal, make_smaller
from clio.context.message_views import Unit
from clio.messages import AssistantMessage, Message, ToolMessage


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


_MOST_PIECES = 400
_LEAST_PIECE = 400.0
"""Units, about 100 tokens."""


class NextTrim(Struct, frozen=True, kw_only=True):
    """The next trim, in estimated tokens.

    at_share: of the room, 0 to 1, above which it comes. left: until then; 0 means with the next request.
    messages, tokens: what leaves of the messages the window has now. shortened: outputs that are shown shorter by then.
    """

    at_share: float
    left: int
    messages: int
    tokens: int
    shortened: int


class Foreseen(Struct, frozen=True, kw_only=True):
    """The same as weights (see clio.tokens): the units that leave, their weight, and the outputs that are cut."""

    leaving: tuple[Unit, ...]
    weight: float
    shrunk: tuple[str, ...]


def foresee(
    units: Sequence[Unit],
    more: float,
    goal: Callable[[Sequence[Unit]], Goal],
    known: Mapping[str, int],
    whole: Callable[[Message], Message],
) -> Foreseen:
    """What a trim does to `units` once `more` weight was said after them. goal, known, whole: as the trim has them."""
    ahead = [*units, *_pieces(units, more)]
    smaller = make_smaller(ahead, goal(ahead), known, whole)
    start = min(smaller.plan.start, len(units))
    leaving = tuple(unit for place, unit in enumerate(units[:start]) if place != smaller.plan.task)
    gone = {message.id for unit in leaving for message in unit.messages}
    here = {message.id for unit in units for message in unit.messages}
    return Foreseen(
        leaving=leaving,
        weight=sum(unit.weight for unit in leaving),
        shrunk=tuple(id for id in smaller.shrunk if id in here and id not in gone),
    )


def _pieces(units: Sequence[Unit], more: float) -> list[Unit]:
    if more <= 0:
        return []
    usual = sum(unit.weight for unit in units) / len(units) if units else 0.0
    count = min(max(round(more / max(usual, _LEAST_PIECE)), 1), _MOST_PIECES)
    return [
        Unit(
            messages=(AssistantMessage(id=f"ahead-{number}"), ToolMessage(tool_call_id="", content="")),
            weight=more / count,
        )
        for number in range(count)
    ]
