"""The name a person may have meant."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], prefix: str = "") -> str:
    """The end of a sentence that helps on: "did you mean 'x'?", or the whole choice. `prefix` goes before each."""
    import difflib  # 10 ms that only a mistake has to pay

    names = list(known)
    close = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    starts = [name for name in names if word and name.startswith(word.lower())]
    best = starts[:1] if len(starts) == 1 else close
    if best:
        return f"did you mean {prefix + best[0]!r}?"
    return "choose one of " + ", ".join(prefix + name for name in names)
