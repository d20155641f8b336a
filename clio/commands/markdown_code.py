"""Text from elsewhere inside a command's Markdown."""


def code(text: str) -> str:
    """The text as Markdown code, so that nothing in it is taken for markup; newlines become spaces."""
    flat = " ".join(text.split())
    fence = "``" if "`" in flat else "`"
    pad = " " if fence == "``" else ""
    return f"{fence}{pad}{flat}{pad}{fence}"
