"""The word a person probably meant."""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence, "; did you mean 'approve'?", or "" where no known word is near.

    Case, leading dashes and the kind of dash within make no difference.
    """
    import difflib  # 10 ms that only a mistake has to pay

    folded = {_fold(name): name for name in known}
    found = difflib.get_close_matches(_fold(word), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


def _fold(word: str) -> str:
    return word.lower().lstrip("-").replace("-", "_")
