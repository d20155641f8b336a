"""Load the rules by which statements are read (`languages/<code>.json`).

The file of English has sections, because its grammar is read by several modules: word lists, maps and regular
expressions by name (`RuleSection`). The files of the other languages are read by `foreign_statements`.

A regular expression is a string, or is divided so that each alternative is easy to find and to add:

    ["a", "b"]                           a|b; inside of another one (?:a|b)
    {"all": ["x ", ["a", "b"]]}          x (?:a|b)
    {"open": "(?P<what>", "any": ["a"]}  (?P<what>a)
    "{name}"                             the text of `parts` with that name
"""

import re
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from clio.text.lazy_regex import LazyRegex

_FOLDER = Path(__file__).with_name("languages")
_PART = re.compile(r"\{([a-z][a-z_]*)\}")
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_T = TypeVar("_T")


class Pattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A regular expression of several pieces: `all` in sequence, or alternatives, in a group if `open` begins one.

    Attributes:
        needs: see `LazyRegex`.
        flags: of "i", "m" and "s"; None: those of the section.
    """

    all: "tuple[str | tuple[str | Pattern, ...] | Pattern, ...]" = ()
    any: "tuple[str | Pattern, ...]" = ()
    open: str = ""
    needs: str = ""
    flags: str | None = None


Node: TypeAlias = str | tuple[str | Pattern, ...] | Pattern


class RuleSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One section of `en.json`.

    Attributes:
        words: word lists; each string has several words.
        maps: words or phrases and what each is replaced by or belongs to.
        parts: pieces of regular expressions that several of them contain.
        flags: of the regular expressions of this section.
        cues: by name, regular expressions with weights.
    """

    words: dict[str, tuple[str, ...]] = {}
    maps: dict[str, dict[str, str]] = {}
    parts: dict[str, Node] = {}
    flags: str = ""
    patterns: dict[str, Node] = {}
    cues: dict[str, tuple[tuple[float, Node], ...]] = {}

    def word_set(self, name: str) -> frozenset[str]:
        """Return a word list."""
        return frozenset(" ".join(self.words[name]).split())

    def pattern(self, name: str) -> LazyRegex:
        """Return a regular expression, which is compiled when it is first used."""
        return self.make_regex(self.patterns[name])

    def cue_patterns(self) -> dict[str, tuple[tuple[float, LazyRegex], ...]]:
        """Return the weights and regular expressions of all cues."""
        return {name: tuple((weight, self.make_regex(cue)) for weight, cue in cues) for name, cues in self.cues.items()}

    def make_regex(self, node: Node) -> LazyRegex:
        """Return a regular expression with the flags of the section, which is compiled when it is first used."""
        flags, needs = (node.flags, node.needs) if isinstance(node, Pattern) else (None, "")
        combined = 0
        for letter in self.flags if flags is None else flags:
            combined |= _FLAGS[letter]
        return LazyRegex(self.text(node), combined, needs=needs)

    def text(self, node: Node) -> str:
        """Return the text of a regular expression with its parts."""
        text = _join(node)
        return _PART.sub(lambda found: self.text(self.parts[found[1]]), text) if self.parts else text


def _join(node: Node, *, nested: bool = False) -> str:
    if isinstance(node, str):
        return node
    if isinstance(node, tuple):
        choices = "|".join(_join(one, nested=True) for one in node)
        return f"(?:{choices})" if nested else choices
    if node.all:
        return "".join(_join(one, nested=True) for one in node.all)
    choices = "|".join(_join(one, nested=True) for one in node.any)
    return f"{node.open}{choices})" if node.open else choices


@cache
def load_rule_file(code: str, type: type[_T]) -> _T:
    """Return the content of `languages/<code>.json`. Cached."""
    return msgspec.json.decode((_FOLDER / f"{code}.json").read_bytes(), type=type)


@cache
def english_rules(section: str) -> RuleSection:
    """Return a section of the English rules. Cached."""
    return msgspec.json.decode(load_rule_file("en", dict[str, msgspec.Raw])[section], type=RuleSection)
