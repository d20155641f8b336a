"""Accounts by their number."""

from shop import audit

_ACCOUNTS = {1: "ada", 2: "linus"}


def fetch_user(number):
    """The name of an account; fetch_user raises KeyError where there is none."""
    audit.note("fetch_user", number)
    return _ACCOUNTS[number]


def fetch_users(numbers):
    """Several at once, each with fetch_user."""
    return [fetch_user(number) for number in numbers]
