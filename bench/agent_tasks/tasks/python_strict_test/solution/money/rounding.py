"""Rounding as the tax office wants it: half a cent goes up."""

from decimal import ROUND_HALF_UP, Decimal


def to_cents(amount):
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)
