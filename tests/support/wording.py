"""Check the facts in a sentence of the interface without freezing the sentence."""

import re


def mentions(text: str, *facts: object) -> bool:
    """Whether one line of the text has all facts, in this order, each as whole words.

    A fact is what a user relies on: a number with its unit, a path, a name, an id, a command, a key word. The words
    between them may change.

        assert mentions(output, "Forgotten", entry.id, "/memory undo")
    """
    pattern = re.compile(".*?".join(map(_to_pattern, facts)))
    return any(pattern.search(" ".join(line.split())) for line in text.splitlines())


def _to_pattern(fact: object) -> str:
    words = " ".join(str(fact).split())
    assert words, "an empty fact is in every text"
    before, after = r"(?<!\w)" if words[0].isalnum() else "", r"(?!\w)" if words[-1].isalnum() else ""
    return f"{before}{re.escape(words)}{after}"
