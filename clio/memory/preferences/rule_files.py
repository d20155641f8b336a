"""Load the rules by which statements are read: `languages/<code>.json`, one file for each language.

The file of English has sections, because its grammar is read by several modules: word lists, maps and regular
expressions by name (`RuleSection`). The files of the other languages have the fields of `language_rules.LanguageRules`.

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
        triggers: by name of a rule, groups of words without which the rule cannot apply; see `Triggers`.
    """

    words: dict[str, tuple[str, ...]] = {}
    maps: dict[str, dict[str, str]] = {}
    parts: dict[str, Node] = {}
    flags: str = ""
    patterns: dict[str, Node] = {}
    cues: dict[str, tuple[tuple[float, Node], ...]] = {}
    triggers: dict[str, tuple[tuple[str, ...], ...]] = {}

    def word_set(self, name: str) -> frozenset[str]:
        """Return a word list."""
        return frozenset(" ".join(self.words[name]).split())

    def trigger(self, name: str) -> "Triggers":
        """Return the words without which a rule cannot apply: those under its name and under "name:…"."""
        keys = [key for key in self.triggers if key == name or key.startswith(f"{name}:")]
        return Triggers(tuple(tuple(map(self._make_group, self.triggers[key])) for key in keys))

    def _make_group(self, lines: tuple[str, ...]) -> "_Group":
        items = " ".join(lines).split()
        for reference in [item for item in items if item.startswith("{")]:
            for word in self.word_set(reference[1:-1]):
                items += (word, f"{word}s", f"{word}es", f"{word[:-1]}ies")
        single = frozenset(item for item in items if "+" not in item)
        return single, tuple(frozenset(item.split("+")) for item in items if "+" in item)

    def pattern(self, name: str) -> LazyRegex:
        """Return a regular expression, which is compiled when it is first used."""
        return self._compile(self.patterns[name])

    def cue_patterns(self) -> dict[str, tuple[tuple[float, LazyRegex], ...]]:
        """Return the weights and regular expressions of all cues."""
        return {name: tuple((weight, self._compile(cue)) for weight, cue in cues) for name, cues in self.cues.items()}

    def _compile(self, node: Node) -> LazyRegex:
        flags, needs = (node.flags, node.needs) if isinstance(node, Pattern) else (None, "")
        combined = 0
        for letter in self.flags if flags is None else flags:
            combined |= _FLAGS[letter]
        return LazyRegex(self.text(node), combined, needs=needs)

    def text(self, node: Node) -> str:
        """Return the text of a regular expression with its parts."""
        text = _join(node)
        return _PART.sub(lambda found: self.text(self.parts[found[1]]), text) if self.parts else text


_Group: TypeAlias = tuple[frozenset[str], tuple[frozenset[str], ...]]
"""Single words, and sets of words that count only together."""


class Triggers(Struct, frozen=True):
    """The words without which a rule cannot apply: one of each group of at least one of the lists of groups.

    They are a fast test before the rule's regular expressions, whose compilation takes most of the time. In the file,
    "all+projects" stands for both words, and "{artefacts}" for the words of a list and their plurals.
    """

    lists: tuple[tuple[_Group, ...], ...]

    def occur_in(self, words: frozenset[str]) -> bool:
        """Whether a text with these words may be one that the rule applies to."""
        return any(
            all(
                not single.isdisjoint(words) or any(several <= words for several in combined)
                for single, combined in groups
            )
            for groups in self.lists
        )


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
