"""Model-visible text that is not conversation."""

from msgspec import Struct


class Fragment(Struct, frozen=True, kw_only=True):
    """One piece of context with its account: what it is, where it came from, why it is here, how much it may cost.

    name: the tag it is wrapped in, such as "environment"; lower case, no spaces.
    source: a path or a store, for the person who asks why.
    cap_tokens: the builder cuts the text to this many estimated tokens.
    whole: no limit cuts it or leaves it out, however small the window is.
    """

    name: str
    text: str
    source: str
    reason: str
    cap_tokens: int = 1000
    whole: bool = False
