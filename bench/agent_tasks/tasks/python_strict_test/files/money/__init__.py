from money.split import split

__all__ = ["split"]
