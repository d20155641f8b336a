"""Placing an order."""


def place_order(customer, basket):
    """The total of a basket: pairs of price and count."""
    return sum(price * count for price, count in basket)
