"""When two texts say the same: what does not count in comparing them, and what always does."""

import re
import unicodedata
from functools import lru_cache

from clio.text.lazy_regex import LazyRegex

# Letters whose case means something: paths, dotted and underscored names, camelCase, short options.
_CASED = LazyRegex(r"[/\\_]|^-|\w\.\w|[a-z][A-Z]")
_QUOTED = LazyRegex(r"(?<![\w\\])(?:([`'\"])([^\s`'\"]+)\1|“([^\s“”]+)”|‘([^\s‘’]+)’|«([^\s«»]+)»)(?!\w)")
_CLOSING = LazyRegex(r"(?<=[\w)\]}`'\"”’»])[.!;,:…。！；，、]+$")
_UNSEEN = LazyRegex("[\u00ad\u200b\u2060\ufeff]")


@lru_cache(maxsize=65_536)
def normal(text: str) -> str:
    """What two texts that say the same have in common, for comparing only.

    Spacing, closing punctuation, the form of accents, quotes round a name and the case of words do not count. Numbers,
    versions, negations and every other sign do, and so does the case of what is a path, an option or a name of parts.
    """
    text = " ".join(_UNSEEN.sub("", unicodedata.normalize("NFC", text)).split())
    text = _QUOTED.sub(_bare, _CLOSING.sub("", text))
    return " ".join(word if _CASED.search(word) else word.casefold() for word in text.split(" "))


def _bare(match: re.Match[str]) -> str:
    """The name without its quotes; a number keeps them, since "1" is not 1."""
    inside = match[2] or match[3] or match[4] or match[5]
    return inside if any(sign.isalpha() for sign in inside) else match[0]
