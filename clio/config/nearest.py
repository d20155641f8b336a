"""The word a person probably meant."""

from collections.abc import Iterable

_BEGINNING = 3


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence, "; did you mean 'approve'?", or "" where no known word is near.

    Near is what few slips make of it, and the only one that begins so, from three letters on.
    Case, leading dashes and the kind of dash within make no difference.
    """
    folded = {_fold(name): name for name in known}
    typed = _fold(word)
    begun = [name for name in folded if len(typed) >= _BEGINNING and name.startswith(typed)]
    if len(begun) == 1:
        return f"; did you mean {folded[begun[0]]!r}?"
    from clio.algorithms.slips import nearest_name

    found = nearest_name(typed, folded)
    return f"; did you mean {folded[found]!r}?" if found else ""


def _fold(word: str) -> str:
    return word.lower().lstrip("-").replace("-", "_")
