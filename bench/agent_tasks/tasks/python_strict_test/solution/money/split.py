"""Divide amounts of money."""

from decimal import ROUND_DOWN, Decimal

CENT = Decimal("0.01")


def split(amount, weights):
    """Divide an amount in proportion to the weights; each share in whole cents, and the first ones get what is left."""
    total = sum(weights)
    shares = [(amount * weight / total).quantize(CENT, ROUND_DOWN) for weight in weights]
    left = int((amount - sum(shares)) / CENT)
    return [share + (CENT if index < left else 0) for index, share in enumerate(shares)]
