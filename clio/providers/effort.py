"""How hard a model is asked to think: which of the common levels it takes, learned from what it refuses."""

from clio.algorithms.late_pattern import LatePattern
from clio.providers.base import AUTO, EFFORTS
from clio.providers.lenient import as_list
from clio.providers.wire import Lessons

_KEY = "efforts"
_ABOUT_EFFORT = LatePattern(r"effort|\breasoning\b|\bthinking\b|enable_thinking|chat_template_kwargs", 2)
_LISTS_VALUES = LatePattern(
    r"(?:supported|valid|allowed|accepted|possible|permitted)\s+(?:values|options|efforts|levels)|must be|should be"
    r"|expected|one of|only supports?|either",
    2,
)
_LEVEL = LatePattern(r"(?<![\w-])(none|minimal|low|medium|high|xhigh|max)(?![\w-])")


class EffortLevels:
    """The levels one model takes. lessons: where what it refused is kept; see `Lessons`.

    known: the levels its maker documents, () where there is nothing to choose.
    """

    def __init__(self, model: str, lessons: Lessons, known: tuple[str, ...] = EFFORTS) -> None:
        self._model = model
        self._lessons = lessons
        self._known = known
        self._sent = ""
        self._wanted = ""

    @property
    def accepted(self) -> tuple[str, ...]:
        """The levels worth sending, from the least to the most."""
        if _KEY not in self._lessons:
            return self._known
        kept = as_list(self._lessons[_KEY])
        return tuple(level for level in EFFORTS if level in kept)

    def choose(self, wanted: str) -> str:
        """The level to send for the one that is wanted, "" to send none: the same, else the nearest that is taken.

        "none" turns into the least there is; no other level ever turns into "none".
        """
        self._wanted = wanted
        self._sent = self.nearest(wanted)
        return self._sent

    def nearest(self, wanted: str) -> str:
        """As `choose`, without sending it."""
        if wanted == AUTO or wanted not in EFFORTS:
            return ""
        offered = [level for level in self.accepted if wanted == "none" or level != "none"]
        place = EFFORTS.index(wanted)
        return min(offered, key=lambda level: abs(EFFORTS.index(level) - place), default="")

    def adapt(self, refusal: str) -> str | None:
        """Learn from a refusal of the level that was sent last; see `WireProtocol.adapt`."""
        if not self._sent or not _ABOUT_EFFORT.search(refusal):
            return None
        before, sent = self.accepted, self._sent
        listed = _listed(refusal)
        left = [level for level in (listed or before) if level != sent]
        if not listed and not _LEVEL.search(refusal):
            left = []  # the field itself was refused
        self._lessons[_KEY] = left
        chosen = self.nearest(self._wanted)
        self._sent = chosen
        instead = f"{chosen!r} is used" if chosen else "its own default is used"
        return f"{self._model} does not take the effort {self._wanted!r}: {instead}"


def _listed(refusal: str) -> list[str]:
    """The levels a refusal names as the ones it takes."""
    found = _LISTS_VALUES.search(refusal)
    return _LEVEL.findall(refusal[found.start() :].lower()) if found else []
