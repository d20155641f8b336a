"""Load the rules by which statements are read (`languages/<code>.json`), and decide by them.

The file of English has sections, because its grammar is read by several modules: word lists, maps and regular
expressions by name (`RuleSection`). The rules for limits that use them are in `en_limits.json`. The files of the other
languages are read by `foreign_statements`.

A regular expression is a string, or is divided so that each alternative is easy to find and to add:

    ["a", "b"]                           a|b; inside of another one (?:a|b)
    {"all": ["x ", ["a", "b"]]}          x (?:a|b)
    {"open": "(?P<what>", "any": ["a"]}  (?P<what>a)
    "{name}"                             the text of `parts` with that name

Of a list of rules (`RuleList`) the first that applies decides. A rule applies if its regular expression `when` matches
the beginning of a text, all conditions of its `needs` are true and none of its `unless`. It may have rules itself,
which are tried in order then; if none of them applies, the next one of the list is tried. In `needs`, a list in place
of a condition is true if one of its conditions is; in `unless`, if all of them are. A condition is one of these:

    in project                  a property of what is judged, or a condition that the file defines
    verb is order               the text passes a test of the module that has the rules, or is "empty"
    verb in idle                the text is a word of this list
    rest has …, rest begins …   the text has a match of a regular expression, or begins with one
    modal equals …              the text matches a regular expression as a whole
    not …                       the opposite

The first word of the latter names a text: one that the module defines, or a named group of `when`, of this rule or one
that contains it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

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


Conditions: TypeAlias = tuple[str | tuple[str, ...], ...]


class Definition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A condition that several rules have."""

    needs: Conditions = ()
    unless: Conditions = ()


class Texts(Protocol):
    """What is judged, and its texts by name."""

    @property
    def subject(self) -> Any:
        """What properties are about."""
        ...

    def __getitem__(self, name: str, /) -> str: ...

    def divide(self, found: re.Match[str]) -> Self:
        """Return these texts and those that depend on the match of a rule's `when`, such as its named groups."""
        ...


class Rule(Protocol):
    """What all rules have. of: the text that `when` is matched against."""

    @property
    def when(self) -> Node: ...
    @property
    def of(self) -> str: ...
    @property
    def needs(self) -> Conditions: ...
    @property
    def unless(self) -> Conditions: ...
    @property
    def rules(self) -> Sequence[Self]: ...


_Texts = TypeVar("_Texts", bound=Texts)
_R = TypeVar("_R", bound=Rule)
_FORM = re.compile(r"(?P<text>\w+) (?P<test>has|begins|equals|in|is|names) (?P<what>.+)", re.DOTALL)
_LITERALS = re.compile(r"[\w ',/|¤-]+")


class ConditionReader:
    """Makes functions of conditions.

    Args:
        section: the words, patterns and flags.
        properties: by name, properties of what is judged.
        tests: by name ("is order"), tests of a text.
        definitions: by name, conditions that the file defines.
    """

    def __init__(
        self,
        section: RuleSection,
        properties: Mapping[str, Callable[[Any], bool]],
        tests: Mapping[str, Callable[[str], bool]],
        definitions: Mapping[str, Definition],
    ) -> None:
        self.section = section
        self._properties = properties
        self._tests: dict[str, Callable[[str], bool]] = {**tests, "is empty": lambda text: not text}
        self._definitions = definitions
        self._fold: Callable[[str], str] = str.lower if "i" in section.flags else str
        self._known: dict[str, Callable[[Texts], bool]] = {}

    def read(self, needs: Conditions, unless: Conditions = ()) -> Callable[[Texts], bool]:
        """Return a function that tells whether all conditions of `needs` are true and none of `unless`."""
        needed = [
            [self._read_one(one) for one in ([any_of] if isinstance(any_of, str) else any_of)] for any_of in needs
        ]
        denied = [
            [self._read_one(one) for one in ([all_of] if isinstance(all_of, str) else all_of)] for all_of in unless
        ]

        def are_met(texts: Texts) -> bool:
            for any_of in needed:
                for is_true in any_of:
                    if is_true(texts):
                        break
                else:
                    return False
            for all_of in denied:
                for is_true in all_of:
                    if not is_true(texts):
                        break
                else:
                    return False
            return True

        return are_met

    def _read_one(self, condition: str) -> Callable[[Texts], bool]:
        if condition not in self._known:
            self._known[condition] = self._make(condition)
        return self._known[condition]

    def _make(self, condition: str) -> Callable[[Texts], bool]:
        if condition.startswith("not "):
            opposite = self._read_one(condition[4:])
            return lambda texts: not opposite(texts)
        if condition in self._properties:
            has_property = self._properties[condition]
            return lambda texts: has_property(texts.subject)
        if condition in self._definitions:
            defined = self._definitions[condition]
            return self.read(defined.needs, defined.unless)
        found = _FORM.fullmatch(condition)
        if found is None:
            raise ValueError(f"not a condition: {condition}")
        name, test, what = found.groups()
        is_true = self._tests[f"{test} {what}"] if test in ("is", "names") else self._make_test(test, what)
        return lambda texts: is_true(texts[name])

    def _make_test(self, test: str, what: str) -> Callable[[str], bool]:
        fold = self._fold
        if test == "in":
            words = self.section.word_set(what)
            return lambda text: fold(text) in words
        if _LITERALS.fullmatch(what):  # no special characters: it takes less time than to compile it
            choices = tuple(what.split("|"))
            if test == "has":
                return lambda text: any(choice in fold(text) for choice in choices)
            if test == "begins":
                return lambda text: fold(text).startswith(choices)
            return lambda text: fold(text) in choices
        regex = self.section.make_regex(what)
        if test == "has":
            return lambda text: regex.search(text) is not None
        if test == "begins":
            return lambda text: regex.match(text) is not None
        return lambda text: regex.fullmatch(text) is not None


class RuleList(Generic[_R]):
    """Rules that are tried in order. Their regular expressions and conditions are made when they are first needed."""

    def __init__(self, rules: Sequence[_R], reader: ConditionReader) -> None:
        self._reader = reader
        self._ready = [_ReadyRule(rule, reader) for rule in rules]

    def find(self, texts: _Texts) -> tuple[_R, _Texts] | None:
        """Return the first rule without rules of its own that applies, with the texts it was found by, or None."""
        for ready in self._ready:
            found = ready.find(texts)
            if found is not None:
                return found
        return None


class _ReadyRule(Generic[_R]):
    def __init__(self, rule: _R, reader: ConditionReader) -> None:
        self._rule = rule
        self._reader = reader
        self._regex = reader.section.make_regex(rule.when) if rule.when else None
        self._are_met: Callable[[Texts], bool] | None = None
        self._rules: RuleList[_R] | None = None

    def find(self, texts: _Texts) -> tuple[_R, _Texts] | None:
        if self._regex is not None:
            found = self._regex.match(texts[self._rule.of])
            if found is None:
                return None
            texts = texts.divide(found)
        if self._are_met is None:
            self._are_met = self._reader.read(self._rule.needs, self._rule.unless)
        if not self._are_met(texts):
            return None
        if not self._rule.rules:
            return self._rule, texts
        if self._rules is None:
            self._rules = RuleList(self._rule.rules, self._reader)
        return self._rules.find(texts)
