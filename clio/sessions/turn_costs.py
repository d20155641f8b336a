"""What each turn of a session cost: its bills, sorted by the words they answered. Pure."""

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from clio.algorithms.money import Cost
from clio.messages import Message, UserMessage
from clio.sessions.state import FIRST_WORDS_CHARS, Bill, one_line


class Sum(Struct, frozen=True, kw_only=True):
    """Bills added up. Tokens as in `Bill`."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    completion_tokens: int = 0
    cost: Cost = Cost()


class TurnCost(Struct, frozen=True, kw_only=True):
    """One turn. number: from 1. words: how the person began it, on one line."""

    number: int
    words: str
    sum: Sum


def sum_of(bills: Sequence[Bill]) -> Sum:
    """All of them together."""
    return Sum(
        requests=len(bills),
        prompt_tokens=sum(bill.prompt_tokens for bill in bills),
        cached_tokens=sum(bill.cached_tokens for bill in bills),
        cache_write_tokens=sum(bill.cache_write_tokens for bill in bills),
        reasoning_tokens=sum(bill.reasoning_tokens for bill in bills),
        completion_tokens=sum(bill.completion_tokens for bill in bills),
        cost=sum((bill.money for bill in bills), Cost()),
    )


def turn_costs(messages: Sequence[Message], bills: Sequence[Bill]) -> list[TurnCost]:
    """The turns that were billed, oldest first. A bill belongs to the newest words that are not newer than it."""
    asked = [m for m in messages if isinstance(m, UserMessage) and m.origin == "user" and not m.steers]
    if not asked:
        return []
    starts = [message.created for message in asked]
    found: dict[int, list[Bill]] = {}
    for bill in bills:
        found.setdefault(max(bisect_right(starts, bill.timestamp) - 1, 0), []).append(bill)
    return [
        TurnCost(number=place + 1, words=one_line(asked[place].content, FIRST_WORDS_CHARS), sum=sum_of(found[place]))
        for place in sorted(found)
    ]
