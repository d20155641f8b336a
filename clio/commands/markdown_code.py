"""Text from elsewhere inside a command's Markdown."""

from clio.algorithms.markdown_code import span


def code(text: str) -> str:
    """The text as Markdown code, so that nothing in it is taken for markup; newlines become spaces."""
    return span(" ".join(text.split()))
