"""How something is drawn, written in a few words: `bold #ff8787`, `black on white`, `faint italic`. All pure."""

from msgspec import Struct

from clio.config.command_line import did_you_mean
from clio.text.lazy_regex import LazyRegex

MARKS = ("bold", "faint", "italic", "underline", "reverse")
_BASE = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
COLOURS = (*_BASE, *(f"bright-{name}" for name in _BASE))
"""The terminal's own sixteen; their shades are its user's choice."""
_HEX = LazyRegex(r"#[0-9a-f]{6}")
_TOOLKIT = {name: f"ansi{name}" for name in _BASE} | {
    **{f"bright-{name}": f"ansibright{name}" for name in _BASE},
    "white": "ansigray",
    "bright-white": "ansiwhite",
}


class Look(Struct, frozen=True, kw_only=True):
    """One look. front, back: a name of COLOURS, "#rrggbb", or "" for the terminal's own. marks: some of MARKS."""

    front: str = ""
    back: str = ""
    marks: tuple[str, ...] = ()

    @property
    def coloured(self) -> bool:
        """Whether it needs any colour."""
        return bool(self.front or self.back)

    @property
    def words(self) -> str:
        """As it is written in a file; `parse_look` gives the same look again."""
        behind = ["on", self.back] if self.back else []
        return " ".join([*self.marks, *([self.front] if self.front else []), *behind]) or "plain"

    def marked(self, mark: str) -> "Look":
        """The same with one more of MARKS."""
        return Look(front=self.front, back=self.back, marks=tuple(dict.fromkeys((*self.marks, mark))))

    @property
    def for_rich(self) -> str:
        """In rich's words."""
        words = ["dim" if mark == "faint" else mark for mark in self.marks]
        front, back = (colour.replace("-", "_") for colour in (self.front, self.back))
        return " ".join([*words, *([front] if front else []), *(["on", back] if back else [])]) or "none"

    @property
    def for_toolkit(self) -> str:
        """In prompt_toolkit's words; nothing of what it has by itself shines through."""
        words = ["noinherit", *("dim" if mark == "faint" else mark for mark in self.marks)]
        front, back = (_TOOLKIT.get(colour, colour) for colour in (self.front, self.back))
        return " ".join([*words, *([f"fg:{front}"] if front else []), *([f"bg:{back}"] if back else [])])


def parse_look(text: str) -> Look:
    """The look these words mean: marks and a colour in any order, then `on` and the colour behind it.

    Raises ValueError with the end of a sentence.
    """
    marks: list[str] = []
    colours = {"front": "", "back": ""}
    place = "front"
    for word in text.lower().replace("_", "-").split():
        if word == "on" and place == "front":
            place = "back"
        elif word in MARKS:
            marks.append(word)
        elif word in COLOURS or _HEX.fullmatch(word):
            if colours[place]:
                raise ValueError(f"names two colours, {colours[place]} and {word}; write 'COLOUR on COLOUR'")
            colours[place] = word
        elif word != "plain":
            raise ValueError(f"has {word[:40]!r}, which is {_wanted(word)}")
    if place == "back" and not colours["back"]:
        raise ValueError("ends with 'on'; a colour must follow")
    return Look(front=colours["front"], back=colours["back"], marks=tuple(dict.fromkeys(marks)))


def _wanted(word: str) -> str:
    if word.startswith("#"):
        return "no colour; write # and six digits from 0 to f"
    hint = did_you_mean(word, (*COLOURS, *MARKS, "plain"))
    return f"neither a colour nor one of {', '.join(MARKS)}{hint or '; colours are ' + ', '.join(_BASE) + ', #rrggbb'}"
