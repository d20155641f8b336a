"""The request as the brain document builds it, for programs that expect that form. clio itself sends the brain as one
fragment before the person's words: an "Ok" put into the model's mouth teaches it to answer so.
"""

from collections.abc import Sequence

from clio.memory.brain.brain import BrainEntry, envelope

ABOUT = (
    "This JSON object is a representation of our conversation leading up to this point. "
    "This object represents your memories."
)
LEAD = (
    "Below is a JSON representation of our conversation leading up to this point. "
    'Please only respond to this message with "Ok.":\n'
)
_DOCUMENTS = "Below is supplementary documentation that may be relevant to answering the user's question:\n\n"
_REVIEWED = "I have reviewed the supplementary documentation."


def brain_message(entries: Sequence[BrainEntry]) -> str:
    """The user message that carries the brain."""
    return LEAD + envelope(entries, ABOUT)


def preamble(system: str, entries: Sequence[BrainEntry], documents: str | None = None) -> list[tuple[str, str]]:
    """(role, content) of what stands before the conversation: three messages, five with documents."""
    about_documents = [("user", _DOCUMENTS + documents), ("assistant", _REVIEWED)] if documents is not None else []
    return [("system", system), *about_documents, ("user", brain_message(entries)), ("assistant", "Ok")]


def framed(before: str, question: str, after: str) -> str:
    """The question as it is sent, what a template puts before and after it joined by single spaces."""
    return " ".join(part for part in (before, question, after) if part)
