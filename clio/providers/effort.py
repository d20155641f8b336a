"""Choose the reasoning effort to send to a model, and learn from rejected requests which levels it accepts."""

import re

from clio.providers.base import AUTO, EFFORTS, Lessons
from clio.providers.failure import extract_complaint, says_unsupported
from clio.text.json_data import as_list
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

_ACCEPTED_KEY = "efforts"
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
# Errors with words such as "thinking" or "reasoning" that concern something else: summaries, signatures, limits.
_NOT_ABOUT_EFFORT = LazyRegex(
    r"reasoning[. ]summar|summary|encrypted|budget_tokens|signature|reasoning_content|reasoning_details"
    r"|(?:max_tokens|context)\b.{0,60}(?:exceed|length|window|maximum)|thinking blocks?",
    re.IGNORECASE,
)
# The server does not know the request field itself: "unrecognized request argument", "extra inputs".
_FIELD_REFUSED = LazyRegex(
    r"extra_forbidden|extra inputs|unrecogni[sz]ed (?:request )?(?:argument|parameter|field|key)|unexpected keyword"
    r"|(?:unknown|unsupported|invalid) (?:name|field|parameter|param|argument|property)|additional propert"
    r"|(?:not|n't) (?:support|accept|allow)\w*\s+(?:the\s+)?"
    r"(?:parameter|argument|effort parameter|reasoning[ _.]?effort|reasoning|thinking)"
    r"(?!\s*[:=]?\s*(?:level|of)?\s*['\"`\\])",
    re.IGNORECASE,
)
# The beginning of a list of accepted values: "supported values are", "must be one of", "expected".
_LISTS_VALUES = LazyRegex(
    r"\b(?:supported|supports|valid|allowed|accepted|possible|permitted|available)\s+(?:\w+\s+){0,2}?"
    r"(?:values|options|efforts|levels|choices)"
    r"|\b(?:must be|should be|expected|one of|only supports?|supports? only|only accepts?|either|choose from)\b",
    re.IGNORECASE,
)
_LEVEL = LazyRegex(r"(?<![\w-])(?:none|minimal|low|medium|high|xhigh|max)(?![\w-])", re.IGNORECASE)
_WORD = LazyRegex(r"[\w-]+")
_WORDS_BETWEEN_LEVELS = frozenset(
    ("and", "or", "default", "auto", "null", "off", "on", "true", "false", "the", "string", "ultra")
)
"""Words that may occur between the levels of a list."""
_MAX_WORDS_BEFORE_LEVELS = 4
"""Maximum number of words between "supported values" and the first level, as in "for this model are"."""


class EffortLevels:
    """The levels that one model accepts.

    Args:
        lessons: keeps what was learned from rejections, across processes; the accepted levels are stored in it.
        known: the levels that the maker of the model documents; () if it accepts none.
    """

    def __init__(self, model: str, lessons: Lessons, known: tuple[str, ...] = EFFORTS) -> None:
        self._model = model
        self._lessons = lessons
        self._known = known
        self._sent = ""
        self._requested = ""
        self._refused: set[str] = set()

    @property
    def accepted(self) -> tuple[str, ...]:
        """The levels that may be sent, from least to most."""
        if _ACCEPTED_KEY not in self._lessons:
            return self._known
        accepted = as_list(self._lessons[_ACCEPTED_KEY])
        return tuple(level for level in EFFORTS if level in accepted)

    @property
    def sent(self) -> str:
        """The level that was chosen last; "" for none."""
        return self._sent

    def choose(self, level: str) -> str:
        """Return the level to send for a requested one: the same or the nearest accepted level; "" to send none.

        "none" becomes the lowest accepted level; no other level becomes "none".
        """
        self._requested = level
        self._sent = self.find_nearest(level)
        return self._sent

    def find_nearest(self, level: str) -> str:
        """Return the level that `choose` would return, without recording it as sent."""
        if level == AUTO or level not in EFFORTS:
            return ""
        offered = [other for other in self.accepted if level == "none" or other != "none"]
        index = EFFORTS.index(level)
        return min(offered, key=lambda other: abs(EFFORTS.index(other) - index), default="")

    def adapt(self, refusal: str) -> str | None:
        """Learn from the rejection of the level that was sent last.

        Returns the sentence for the user if the request is worth repeating, with the effort that is chosen now; None if
        the rejection is not about the effort.
        """
        if not self._sent:
            return None
        name = rf"(?<![\w.-]){re.escape(self._model)}(?![\w-])"
        complaint = re.sub(name, "", extract_complaint(refusal))  # the names of some models end in "-thinking"
        listed = _extract_listed_levels(complaint)
        if not (_is_about_effort(complaint) or (len(listed) > 1 and _mentions_level(complaint, self._sent))):
            return None
        if listed:
            return self._accept_only(listed)
        if _FIELD_REFUSED.search(complaint):
            return self.give_up()
        if _mentions_level(complaint, self._sent) or self._sent == "none":  # such as "reasoning cannot be disabled"
            return self._accept_only(self.accepted)
        return self.give_up() if says_unsupported(complaint) else None

    def give_up(self) -> str:
        """Stop sending an effort to this model; return the sentence for the user."""
        return self._accept_only(())

    def _accept_only(self, levels: tuple[str, ...] | list[str]) -> str:
        """Accept only these levels, except rejected ones, and choose again; return the sentence for the user."""
        self._refused.add(self._sent)
        self._lessons[_ACCEPTED_KEY] = [level for level in EFFORTS if level in levels and level not in self._refused]
        chosen = self._sent = self.find_nearest(self._requested)
        instead = tr("using {chosen!r}", chosen=chosen) if chosen else tr("using its default")
        return tr(
            "{model} does not support effort {requested!r}: {instead}",
            model=self._model,
            requested=self._requested,
            instead=instead,
        )


def _is_about_effort(complaint: str) -> bool:
    return bool(_ABOUT_EFFORT.search(complaint)) and not _NOT_ABOUT_EFFORT.search(complaint)


def _mentions_level(complaint: str, level: str) -> bool:
    """Whether the complaint contains this level as a word."""
    return any(found.lower() == level for found in _LEVEL.findall(complaint))


def _extract_listed_levels(complaint: str) -> list[str]:
    """Return the levels that a rejection lists as accepted."""
    for intro in _LISTS_VALUES.finditer(complaint):
        found: list[str] = []
        for number, word in enumerate(_WORD.findall(complaint[intro.end() : intro.end() + 300])):
            level = word.lower()
            if level in EFFORTS:
                found.append(level)
            elif level not in _WORDS_BETWEEN_LEVELS and (found or number >= _MAX_WORDS_BEFORE_LEVELS):
                break
        if found:
            return found
    return []
