"""Divide amounts of money."""

from money.rounding import to_cents


def split(amount, weights):
    """Divide an amount in proportion to the weights; each share in whole cents."""
    total = sum(weights)
    return [to_cents(amount * weight / total) for weight in weights]
