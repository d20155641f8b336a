"""How many tokens a text will be billed as, estimated from its characters and taught by what servers really bill.

A text is weighed in *units*: one for each ASCII character, more where tokenisers spend more (a Chinese character is
about 2.8, measured with o200k). Tokens are units divided by the learned ratio.
"""

import math

from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage

DEFAULT_RATIO = 4.0
MIN_RATIO, MAX_RATIO = 1.5, 5.0
_KEEP = 0.8  # share of the old ratio that one observation leaves standing
_MESSAGE_UNITS = 16.0  # role and separators of one message: about four tokens
_CALL_UNITS = 32.0  # id, type and braces around one tool call
_BYTE_UNITS = 0.9  # per UTF-8 byte beyond one a character: Chinese 2.8, accents 1.9, emoji 3.7


def text_units(text: str) -> float:
    """Weight of a text in units, 1.0 a character for ASCII."""
    if text.isascii():
        return float(len(text))
    return len(text) + _BYTE_UNITS * (len(text.encode("utf-8", "surrogatepass")) - len(text))


def message_units(message: Message) -> float:
    """Weight of a message as it is sent, its share of the request's structure included."""
    units = _MESSAGE_UNITS + text_units(message.content)
    if isinstance(message, UserMessage):
        units += text_units(message.context)
    elif isinstance(message, AssistantMessage):
        units += sum(_CALL_UNITS + len(call.name) + text_units(call.arguments) for call in message.tool_calls)
    elif isinstance(message, ToolMessage):
        units += _MESSAGE_UNITS
    return units


class TokenEstimator:
    """Estimates for one model. Weights are remembered by message id, so a request costs a look-up a message."""

    def __init__(self, ratio: float | None = None) -> None:
        self.ratio = min(max(ratio or DEFAULT_RATIO, MIN_RATIO), MAX_RATIO)
        self._units: dict[str, float] = {}

    def text(self, text: str) -> int:
        """Estimated tokens of a bare text."""
        return math.ceil(text_units(text) / self.ratio)

    def units(self, message: Message) -> float:
        """Weight of a message, computed once."""
        known = self._units.get(message.id)
        if known is None:
            known = self._units[message.id] = message_units(message)
        return known

    def tokens(self, units: float) -> int:
        """Units as tokens at today's ratio, rounded up."""
        return math.ceil(units / self.ratio)

    def learn(self, units: float, prompt_tokens: int) -> bool:
        """Let one bill move the ratio a fifth of the way; says whether it did.

        units: weight of the whole request the bill is for. A bill of nothing, or one that no tokeniser would write
        for that text (under 0.5 or over 20 units a token), teaches nothing.
        """
        if prompt_tokens <= 0 or not 0.5 <= units / prompt_tokens <= 20.0:
            return False
        observed = min(max(units / prompt_tokens, MIN_RATIO), MAX_RATIO)
        self.ratio = _KEEP * self.ratio + (1 - _KEEP) * observed
        return True
