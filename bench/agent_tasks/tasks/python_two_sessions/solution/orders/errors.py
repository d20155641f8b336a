"""What can go wrong with an order."""


class OrderError(Exception):
    """code: what support staff search for. The text begins with it."""

    code = "ORD-0000"

    def __init__(self, message):
        super().__init__(f"{self.code}: {message}")


class EmptyBasket(OrderError):
    """An order without an item."""

    code = "ORD-4108"
