"""Fragments as text: wrapped in their tag, cut to their cap, unable to close the tag from within."""

from clio.algorithms.hidden_letters import unhidden
from clio.context.inert import closes_nothing, one_line
from clio.fragments import Fragment
from clio.tokens import TokenEstimator

_MARKS = str.maketrans('"<>', "'‹›")  # a file may be called anything
_CUT = "\n[… cut here: the rest is in the source]"


def render_fragment(fragment: Fragment, estimator: TokenEstimator) -> str:
    """The fragment between its tags; empty for an empty text."""
    text = unhidden(fragment.text).strip()
    if not text:
        return ""
    text = text if fragment.whole else cut_to_tokens(text, fragment.cap_tokens, estimator)
    source = one_line(fragment.source).translate(_MARKS)
    return f'<{fragment.name} source="{source}">\n{closes_nothing(text, fragment.name)}\n</{fragment.name}>'


def is_cut(rendered: str) -> bool:
    """Whether a rendered fragment's source holds more than it shows."""
    return _CUT in rendered


def cut_to_tokens(text: str, cap_tokens: int, estimator: TokenEstimator) -> str:
    """The text, or as much of its beginning as fits with a notice, ending at a line where there is one."""
    tokens = estimator.text(text)
    if tokens <= cap_tokens:
        return text
    keep = int(len(text) * cap_tokens / tokens)
    head = text[:keep]
    return head[: head.rfind("\n")] + _CUT if "\n" in head else head + _CUT
