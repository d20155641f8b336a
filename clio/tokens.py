"""Estimate how many tokens a text will be billed as, from its characters and from what servers have billed so far.

A text is weighed in *units*: one for each ASCII character of prose or code, more where tokenizers need more. Tokens
are units divided by the learned ratio. Characters per token, measured with o200k: Python 4.3, Markdown 4.2,
JavaScript 3.8, JSON 2.3, base64 1.5, Chinese 1.4; the weights below turn all of them into about 4 units per token.
"""

import math

from msgspec import Struct

from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage

DEFAULT_RATIO = 4.0
MIN_RATIO, MAX_RATIO = 1.2, 8.0
_MIN_STEP = 0.2  # how far one bill moves the ratio after many bills
IMAGE_TOKENS = 1_000
"""Estimate for a picture: servers bill 765 to 1,100 tokens for one of usual size; bills correct the ratio."""
_MESSAGE_UNITS = 16.0  # role and separators of one message: about four tokens
_CALL_UNITS = 32.0  # id, type and braces around one tool call
_BYTE_UNITS = 0.9  # per UTF-8 byte beyond one per character: Chinese 2.8, accents 1.9, emoji 3.7
_SHORT_TEXT_CHARS = 64  # characters; shorter texts are too short to determine their kind
_PUNCTUATION = '"{}[]:,'
_PROSE_PUNCTUATION_SHARE, _PUNCTUATION_UNITS = 0.08, 3.2  # code has 6 % of these characters, JSON 25 to 35 %
_MIN_BLANK_SHARE, _MAX_EXTRA_UNITS = 0.03, 1.7  # text without blanks is base64, a hash, minified code


def text_units(text: str) -> float:
    """Return the weight of a text in units: 1.0 per character for prose and code, up to 2.7 for base64, 2.8 for
    Chinese.
    """
    size = len(text)
    units = float(size)
    if size >= _SHORT_TEXT_CHARS:
        marks = sum(map(text.count, _PUNCTUATION)) / size
        blanks = (text.count(" ") + text.count("\n")) / size
        extra = _PUNCTUATION_UNITS * max(0.0, marks - _PROSE_PUNCTUATION_SHARE)
        if text.isascii():
            extra = max(extra, _MAX_EXTRA_UNITS * (1 - blanks / _MIN_BLANK_SHARE))
        units += size * min(extra, _MAX_EXTRA_UNITS)
    if not text.isascii():
        units += _BYTE_UNITS * (len(text.encode("utf-8", "surrogatepass")) - size)
    return units


def message_units(message: Message) -> float:
    """Return the weight of a message as it is sent, including its share of the request's structure."""
    units = _MESSAGE_UNITS + text_units(message.content)
    if isinstance(message, UserMessage):
        units += text_units(message.context) + IMAGE_TOKENS * DEFAULT_RATIO * len(message.images)
    elif isinstance(message, AssistantMessage):
        units += sum(_CALL_UNITS + len(call.name) + text_units(call.arguments) for call in message.tool_calls)
    elif isinstance(message, ToolMessage):
        units += _MESSAGE_UNITS + IMAGE_TOKENS * DEFAULT_RATIO * len(message.images)
    return units


class BilledEstimate(Struct, frozen=True, kw_only=True):
    """The estimated and the billed tokens of one request."""

    estimated: int
    billed: int

    @property
    def error(self) -> float:
        """The error of the estimate as a share of the bill; positive if it was too high."""
        return (self.estimated - self.billed) / self.billed


class TokenEstimator:
    """Estimates tokens for one model. Weights are cached by message id, so a request costs one look-up per message.

    ratio: units per token learned earlier, None if unknown. observations: how many bills it was learned from.
    """

    def __init__(self, ratio: float | None = None) -> None:
        self.ratio = min(max(ratio or DEFAULT_RATIO, MIN_RATIO), MAX_RATIO)
        self.observations = 0 if ratio is None else round(1 / _MIN_STEP)
        self.has_changed = False  # whether a bill has changed the ratio since the start
        self.last: BilledEstimate | None = None  # the last billed request
        self._last_billed: tuple[float, int] | None = None  # its weight and its bill

    @property
    def has_learned(self) -> bool:
        """Whether the ratio was learned from at least one bill, now or in an earlier session."""
        return self.observations > 0

    def estimate_text(self, text: str) -> int:
        """Estimate the tokens of a plain text."""
        return math.ceil(text_units(text) / self.ratio)

    def convert_units(self, units: float) -> int:
        """Convert units to tokens at the current ratio, rounded up."""
        return math.ceil(units / self.ratio)

    def estimate_request(self, units: float) -> int:
        """Estimate the tokens of a whole request: the last bill, plus the difference to that request at the current
        ratio.

        Most of a request was in the one before it, so most of its cost is known. A request of less than half that
        weight is estimated like any other text.
        """
        if self._last_billed is None or units < self._last_billed[0] / 2:
            return self.convert_units(units)
        before, bill = self._last_billed
        return max(bill + math.ceil((units - before) / self.ratio), 1)

    def learn_from_bill(self, units: float, prompt_tokens: int) -> bool:
        """Adjust the ratio by one bill; return whether it changed.

        units: weight of the whole billed request. The first bill sets the ratio, the second moves it by half the
        difference, the fifth and all later ones by a fifth: new = 0.8 old + 0.2 observed. Ignored are a bill of zero,
        and one that no tokenizer would produce for that text (under 0.5 or over 20 units per token).
        """
        if prompt_tokens > 0:
            self.last = BilledEstimate(estimated=self.estimate_request(units), billed=prompt_tokens)
        if not _is_plausible(units, prompt_tokens):
            return False
        self._last_billed = (units, prompt_tokens)
        step = max(_MIN_STEP, 1 / (self.observations + 1))
        observed = min(max(units / prompt_tokens, MIN_RATIO), MAX_RATIO)
        self.ratio += step * (observed - self.ratio)
        self.observations += 1
        self.has_changed = True
        return True

    def set_initial_ratio(self, units: float, tokens: int) -> None:
        """Start from a tokenizer's own count if no bill is known; the first bill still sets the ratio."""
        if not self.has_learned and _is_plausible(units, tokens):
            self.ratio = min(max(units / tokens, MIN_RATIO), MAX_RATIO)


def _is_plausible(units: float, tokens: int) -> bool:
    return tokens > 0 and 0.5 <= units / tokens <= 20.0
