"""What fills the window, as shown by /context, and what the next trim will remove."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from clio.context.compaction import TrimGoal, plan_smaller_window
from clio.context.message_views import Unit
from clio.messages import AssistantMessage, Message, ToolMessage


class PromptPartUsage(Struct, frozen=True, kw_only=True):
    """One file or store in the prompt. tokens: estimated. cut: only a part of it is shown."""

    name: str
    source: str
    reason: str
    tokens: int
    cut: bool


class WindowUsage(Struct, frozen=True, kw_only=True):
    """What fills the window, in estimated tokens.

    Attributes:
        system: system prompt without `memory`.
        reserve: reserved for the answer.
        trim_above: summary and history together are trimmed above this.
        parts: parts of `memory`.
        problems: sentences on what was left out of it.
    """

    window: int
    system: int
    memory: int
    tools: int
    summary: int
    history: int
    reserve: int
    trim_above: int
    parts: tuple[PromptPartUsage, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def free(self) -> int:
        """Free tokens; negative if the estimate has changed since the last trim."""
        return self.window - self.system - self.memory - self.tools - self.summary - self.history - self.reserve


_MAX_EXPECTED_UNITS = 400
_MIN_EXPECTED_WEIGHT = 400.0
"""Units, about 100 tokens."""


class NextTrim(Struct, frozen=True, kw_only=True):
    """The next trim, in estimated tokens.

    Attributes:
        at_share: share of the room, 0 to 1, above which it happens.
        left: tokens until then; 0 if it happens with the next request.
        messages, tokens: what will be removed of the present messages.
        shortened: number of outputs that will be shortened.
    """

    at_share: float
    left: int
    messages: int
    tokens: int
    shortened: int


class ForeseenTrim(Struct, frozen=True, kw_only=True):
    """What a trim removes, as weights (see clio.tokens): units, their weight, and the outputs that are shortened."""

    leaving: tuple[Unit, ...]
    weight: float
    shrunk: tuple[str, ...]


def foresee_trim(
    units: Sequence[Unit],
    more: float,
    goal: Callable[[Sequence[Unit]], TrimGoal],
    known: Mapping[str, int],
    whole: Callable[[Message], Message],
) -> ForeseenTrim:
    """Return what the next trim will do to `units`, if it happens after `more` weight has been added.

    Args:
        goal: returns the goal of the trim for the given units.
        known, whole: as for `plan_smaller_window`.
    """
    expected = [*units, *_make_expected_units(units, more)]
    smaller = plan_smaller_window(expected, goal(expected), known, whole)
    start = min(smaller.plan.start, len(units))
    leaving = tuple(unit for index, unit in enumerate(units[:start]) if index != smaller.plan.task)
    leaving_ids = {message.id for unit in leaving for message in unit.messages}
    current_ids = {message.id for unit in units for message in unit.messages}
    return ForeseenTrim(
        leaving=leaving,
        weight=sum(unit.weight for unit in leaving),
        shrunk=tuple(id for id in smaller.shrunk if id in current_ids and id not in leaving_ids),
    )


def _make_expected_units(units: Sequence[Unit], more: float) -> list[Unit]:
    """Return empty units of the usual size that weigh `more` together."""
    if more <= 0:
        return []
    mean_weight = sum(unit.weight for unit in units) / len(units) if units else 0.0
    count = min(max(round(more / max(mean_weight, _MIN_EXPECTED_WEIGHT)), 1), _MAX_EXPECTED_UNITS)
    return [
        Unit(
            messages=(AssistantMessage(id=f"ahead-{number}"), ToolMessage(tool_call_id="", content="")),
            weight=more / count,
        )
        for number in range(count)
    ]
