"""How hard a model is asked to think: which of the common levels it takes, learned from what it refuses."""

import re

from clio.providers.base import AUTO, EFFORTS, Lessons
from clio.providers.failure import extract_complaint, says_unsupported
from clio.text.json_data import as_list
from clio.text.lazy_regex import LazyRegex

_KEY = "efforts"
_ABOUT_EFFORT = LazyRegex(
    # "does not support parameter reasoningEffort", "output_config.effort: …", "effort level 'xhigh'"
    r"effort"
    # "thinking_level is not supported", "think value", "the model only works in thinking mode"
    r"|\bthinking\b|enable_thinking|chat_template_kwargs|\bthink value|thinking[_ .]?(?:level|budget|mode)"
    # "reasoning is mandatory", "invalid reasoning value", "does not support reasoning"
    r"|\breasoning[_ ]?(?:level|value|mode|is|cannot|can't|must|option|strength)"
    r"|(?:not|n't) (?:support|accept|allow|have)\w* reasoning\b",
    re.IGNORECASE,
)
_NOT_ABOUT_EFFORT = LazyRegex(
    r"reasoning[. ]summar|summary|encrypted|budget_tokens|signature|reasoning_content|reasoning_details"
    r"|(?:max_tokens|context)\b.{0,60}(?:exceed|length|window|maximum)|thinking blocks?",
    re.IGNORECASE,
)
_FIELD_REFUSED = LazyRegex(
    r"extra_forbidden|extra inputs|unrecogni[sz]ed (?:request )?(?:argument|parameter|field|key)|unexpected keyword"
    r"|(?:unknown|unsupported|invalid) (?:name|field|parameter|param|argument|property)|additional propert"
    r"|(?:not|n't) (?:support|accept|allow)\w*\s+(?:the\s+)?"
    r"(?:parameter|argument|effort parameter|reasoning[ _.]?effort|reasoning|thinking)"
    r"(?!\s*[:=]?\s*(?:level|of)?\s*['\"`\\])",
    re.IGNORECASE,
)
_LISTS_VALUES = LazyRegex(
    r"\b(?:supported|supports|valid|allowed|accepted|possible|permitted|available)\s+(?:\w+\s+){0,2}?"
    r"(?:values|options|efforts|levels|choices)"
    r"|\b(?:must be|should be|expected|one of|only supports?|supports? only|only accepts?|either|choose from)\b",
    re.IGNORECASE,
)
_LEVEL = LazyRegex(r"(?<![\w-])(?:none|minimal|low|medium|high|xhigh|max)(?![\w-])", re.IGNORECASE)
_WORD = LazyRegex(r"[\w-]+")
_BETWEEN = frozenset(("and", "or", "default", "auto", "null", "off", "on", "true", "false", "the", "string", "ultra"))
"""What may stand within a list of levels besides levels."""
_LEAD_WORDS = 4
"""So many words may stand between "supported values" and the first of them: "for this model are"."""


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
        self._refused: set[str] = set()

    @property
    def accepted(self) -> tuple[str, ...]:
        """The levels worth sending, from the least to the most."""
        if _KEY not in self._lessons:
            return self._known
        kept = as_list(self._lessons[_KEY])
        return tuple(level for level in EFFORTS if level in kept)

    @property
    def sent(self) -> str:
        """The level that was chosen last, "" for none."""
        return self._sent

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
        if not self._sent:
            return None
        name = rf"(?<![\w.-]){re.escape(self._model)}(?![\w-])"
        words = re.sub(name, "", extract_complaint(refusal))  # there are models whose names end in "-thinking"
        listed = _listed(words)
        if not (_is_about_effort(words) or (len(listed) > 1 and _names_level(words, self._sent))):
            return None
        if listed:
            return self._keep(listed)
        if _FIELD_REFUSED.search(words):
            return self.give_up()
        if _names_level(words, self._sent) or self._sent == "none":  # such as "reasoning cannot be disabled"
            return self._keep(self.accepted)
        return self.give_up() if says_unsupported(words) else None

    def give_up(self) -> str:
        """The model takes no level at all: go on without one. Returns the sentence for the user."""
        return self._keep(())

    def _keep(self, levels: tuple[str, ...] | list[str]) -> str:
        """Go on with the nearest of these levels; what was refused before is never sent again."""
        self._refused.add(self._sent)
        self._lessons[_KEY] = [level for level in EFFORTS if level in levels and level not in self._refused]
        chosen = self._sent = self.nearest(self._wanted)
        instead = f"{chosen!r} is used" if chosen else "its own default is used"
        return f"{self._model} does not take the effort {self._wanted!r}: {instead}"


def _is_about_effort(words: str) -> bool:
    return bool(_ABOUT_EFFORT.search(words)) and not _NOT_ABOUT_EFFORT.search(words)


def _names_level(words: str, level: str) -> bool:
    """Whether this level is what is complained about."""
    return any(found.lower() == level for found in _LEVEL.findall(words))


def _listed(words: str) -> list[str]:
    """The levels a refusal names as the ones it takes."""
    for intro in _LISTS_VALUES.finditer(words):
        found: list[str] = []
        for number, word in enumerate(_WORD.findall(words[intro.end() : intro.end() + 300])):
            level = word.lower()
            if level in EFFORTS:
                found.append(level)
            elif level not in _BETWEEN and (found or number >= _LEAD_WORDS):
                break
        if found:
            return found
    return []
