"""Placing an order."""

from orders.errors import EmptyBasket


def place_order(customer, basket):
    """The total of a basket: pairs of price and count. Raises EmptyBasket where it has none."""
    if not basket:
        raise EmptyBasket("the basket is empty")
    return sum(price * count for price, count in basket)
