"""Ids of messages as the snapshot writes them: a run of neighbours by its first and its last. Pure.

    ["m1", ["m4", "m90"]]    m1, and all messages of the history from m4 to m90

Most windows are the newest part of the history: so they take as little at message 10,000 as at message 10.
"""

from collections.abc import Iterable, Sequence

Span = str | tuple[str, str]
LEAST = 3
"""Ids in a row that are written as a run."""


def spans_of(ids: Sequence[str], order: Sequence[str]) -> list[Span]:
    """The ids with runs of neighbours in `order`, the ids of the whole history, as pairs."""
    places = _places(order)
    spans: list[Span] = []
    start = 0
    while start < len(ids):
        end = start + 1
        place = places.get(ids[start])
        if place is not None:
            while end < len(ids) and place + end - start < len(order) and ids[end] == order[place + end - start]:
                end += 1
        spans += [(ids[start], ids[end - 1])] if end - start >= LEAST else ids[start:end]
        start = end
    return spans


def ids_of(spans: Iterable[object], order: Sequence[str]) -> list[str]:
    """The ids again. What is neither an id nor a run of `order` is left out."""
    places = _places(order)
    ids: list[str] = []
    for span in spans:
        match span:
            case str():
                ids.append(span)
            case [str() as first, str() as last] if first in places and last in places:
                ids += order[places[first] : places[last] + 1]
            case _:
                continue
    return ids


def _places(order: Sequence[str]) -> dict[str, int]:
    """The place of each id; none where one is there twice: then there are no runs."""
    places = {id: place for place, id in enumerate(order)}
    return places if len(places) == len(order) else {}
