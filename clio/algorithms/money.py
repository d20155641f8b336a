"""Sums of money in whole micro-dollars: what is added up a thousand times must not drift. Pure."""

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern

MICROS = 1_000_000
"""Micro-dollars in a dollar."""
_AMOUNT = LatePattern(r"([0-9]{0,6})(?:\.([0-9]*))?")


class Cost(Struct, frozen=True, kw_only=True):
    """What requests cost: what is known in micro-dollars, and the tokens whose price nobody knows."""

    micro_dollars: int = 0
    unpriced_tokens: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            micro_dollars=self.micro_dollars + other.micro_dollars,
            unpriced_tokens=self.unpriced_tokens + other.unpriced_tokens,
        )

    @property
    def is_known(self) -> bool:
        """Whether it is all that was spent."""
        return not self.unpriced_tokens

    @property
    def text(self) -> str:
        """For a line: "$0.021", "$0.021+" where there is more of unknown price, "" where nothing is known."""
        if self.is_known:
            return format_money(self.micro_dollars)
        return f"{format_money(self.micro_dollars)}+" if self.micro_dollars else ""


def format_money(micro_dollars: int) -> str:
    """An amount with the digits that matter: "$0", "$0.0021", "$0.021", "$0.50", "$1,234.50"."""
    if micro_dollars <= 0:
        return "$0"
    if micro_dollars < 50:
        return "<$0.0001"
    places = 4 if micro_dollars < 10_000 else 3 if micro_dollars < MICROS else 2
    text = f"{micro_dollars / MICROS:,.{places}f}"
    return "$" + (text[:-2] + text[-2:].rstrip("0") if places == 4 else text.removesuffix("0") if places == 3 else text)


def micros_of(dollars: str) -> int:
    """Micro-dollars of an amount such as "0.25" or ".5", rounded. Raises ValueError for what is none."""
    found = _AMOUNT.fullmatch(dollars.strip().replace("_", ""))
    if found is None or not (found[1] or found[2]):
        raise ValueError(f"{dollars!r} is no amount of dollars below a million")
    digits = (found[2] or "").ljust(7, "0")
    return int(found[1] or "0") * MICROS + int(digits[:6]) + (digits[6] >= "5")
