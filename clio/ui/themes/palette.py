"""A palette: a look for every meaning. And the holder all that draws asks for the one in force."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from clio.ui.themes.look import Look, parse_look

Depth = Literal["standard", "256", "truecolor"]
"""How many colours a terminal has, in rich's words."""
Paper = Literal["dark", "light"]
"""What a terminal's background is like."""

MEANINGS: dict[str, str] = {
    "accent": "marks that lead the eye: the spinner, options, bullets of lists",
    "good": "what went well; low risk",
    "bad": "errors; high risk",
    "warning": "warnings and questions; medium risk",
    "faint": "what is said beside the matter: footers, hints, counts",
    "strong": "headings of clio's own, and keys that answer a question",
    "reasoning": "what the model thinks aloud",
    "prompt": "the arrow before the line you type on",
    "status": "the line below it",
    "chips": "the labels of what a line names with @",
    "menu": "what may be completed",
    "menu_current": "the one that is chosen",
    "menu_note": "what is said about each",
    "menu_note_current": "and about the chosen one",
    "added": "lines a diff adds",
    "removed": "lines it takes away",
    "added_word": "the words that are new in a changed line",
    "removed_word": "the words that were there before",
    "hunk": "where in a file a part of a diff is",
    "heading": "headings of an answer",
    "quote": "quotations in an answer",
    "link": "links in an answer",
    "code": "code within a sentence",
    "code_comment": "comments",
    "code_keyword": "keywords",
    "code_type": "types and what a language brings along",
    "code_function": "names of functions and classes where they are defined",
    "code_string": "strings",
    "code_number": "numbers",
    "code_name": "variables, constants and attributes where a language marks them",
    "code_error": "what cannot be right",
    "bar_1": "the first part of a bar such as that of /context",
    "bar_2": "the second",
    "bar_3": "the third",
    "bar_4": "the fourth",
    "bar_5": "the fifth",
}
"""Every meaning, and what has it."""


class Palette(Struct, frozen=True, kw_only=True):
    """looks: one for each of MEANINGS. papers: the backgrounds it is made for, from one end to the other.

    What is between the two is legible as well. None for the sixteen colours, whose shades the terminal decides.
    """

    looks: dict[str, Look]
    papers: tuple[str, ...] = ()

    @property
    def coloured(self) -> bool:
        """Whether any of it needs colour."""
        return any(look.coloured for look in self.looks.values())

    def with_looks(self, looks: Mapping[str, Look]) -> "Palette":
        """The same with some looks replaced."""
        return msgspec.structs.replace(self, looks=self.looks | dict(looks))


def palette_of(words: Mapping[str, str], papers: tuple[str, ...] = ()) -> Palette:
    """A palette as it is written down: meaning → look in words. What is not named is plain."""
    return Palette(looks={name: parse_look(words.get(name, "")) for name in MEANINGS}, papers=papers)
