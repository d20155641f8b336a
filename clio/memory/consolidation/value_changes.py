"""A value of a statement in memory and the one that a correction puts in its place, and what corrections deny.

`value_corrections` finds the change; here are its form, how it is applied to the statement, the numbers that a
correction calls outdated, and whether a statement says nothing that a longer one does not say.
"""

import re

from msgspec import Struct

from clio.memory.statement_reader import find_family, matches, read_said_words, read_statement_words

NUMBER = re.compile(r"(?<![a-zA-Z0-9_./:-])(?:v?\d[a-zA-Z0-9_.:-]*[a-zA-Z0-9_]|\d)(?![a-zA-Z0-9_/])")
"""A number, version or time. Letters of scripts without spaces may be next to it."""
_OUTDATED_NUMBER = re.compile(
    r"(?:\b(?:not|no longer|instead of|rather than|in place of|from|was|were|formerly|previously|used to be|former|old"
    r"|replaced|dropped|swapped|(?:is|are|do|does|did|was|were)nt)|n't)"
    r"(?: (?!but\b|to\b|it\b)[a-z]+){0,3} (?P<before>" + NUMBER.pattern + r")"
    r"|(?P<after>" + NUMBER.pattern + r")(?: (?:is|was|are))? (?:outdated|wrong|gone|incorrect|stale|old|no longer"
    r"|not(?! (?:on |in |at |port )?v?\d)|any ?more)\b",
    re.I,
)


class ValueChange(Struct, frozen=True, kw_only=True):
    """One value of an earlier statement, and what a correction says instead.

    Attributes:
        old, new: the values as written.
        is_named: whether the correction names a word of the subject, or the old value. Otherwise only the context can
            tell which statement is meant.
        shared: number of words of the statement that the correction repeats.
        is_close: whether both values are of a form that few values have: a time, a version, a name, a unit.
        is_stated: whether it states the whole subject with another value, and nothing announces a change.
    """

    old: str
    new: str
    is_named: bool
    shared: int = 1
    is_stated: bool = False
    is_close: bool = False

    @property
    def is_alike(self) -> bool:
        """Whether both values have the same form, digit by digit: "8080" and "9090"."""
        return re.sub(r"\d", "0", self.old) == re.sub(r"\d", "0", self.new)

    @property
    def is_resembling(self) -> bool:
        """Whether both values have a part in common, as "int-blue" and "int-green", or are tools of one family."""
        parts = [frozenset(re.findall(r"[^\W\d_]{2,}", value.casefold())) for value in (self.old, self.new)]
        is_compound = all(re.search(r"[^\W\d][-_./:@]", value) for value in (self.old, self.new))
        return (is_compound and bool(parts[0] & parts[1])) or self.new.casefold() in find_family(self.old.casefold())

    def apply(self, statement: str) -> str:
        """Return the earlier statement with the new value; where it names the new value too, both change places."""
        old = self.old
        longer = re.search(rf"(?<![\w./:-]){re.escape(old)}(?P<rest>\.[\w.-]*\w)", statement, re.I)
        if longer and self.new.casefold().endswith(longer["rest"].casefold()):
            old += longer["rest"]  # "forget vpn1, it's vpn3.acme.dev now" is about "vpn1.acme.dev"
        values = {old.casefold(): self.new, self.new.casefold(): old}
        either = "|".join(re.escape(value) for value in (old, self.new))
        pattern = re.compile(rf"(?<![a-zA-Z0-9_./:-])(?:{either})(?![a-zA-Z0-9_/])", re.I)
        return pattern.sub(lambda found: values[found[0].casefold()], statement)


def is_restated(short: str, full: str) -> bool:
    """Whether a statement says nothing that a longer one does not say: "the port is 9090", "the API's port is 9090".

    What it denies does not count: "the port is 9090, not 8080".
    """
    outdated = find_outdated_numbers(short)
    mine = [word for word in read_said_words(short).words if not (word.is_denied or word.text in outdated)]
    known = read_statement_words(full).words
    return bool(mine) and all(any(matches(word, one) for one in known) for word in mine)


def find_outdated_numbers(correction: str) -> set[str]:
    """Return the numbers that a correction says are no longer right: 8080 in "not 8080 but 9090"."""
    return {found["before"] or found["after"] for found in _OUTDATED_NUMBER.finditer(correction)}


def get_shape(value: str) -> str:
    """Return a number with each group of digits as 0: "v0.0" for "v1.24"."""
    return re.sub(r"0(?:\.0)+", "0.0", re.sub(r"\d+", "0", value.removeprefix("v")))
