"""Compare the numbers, names and paths of a statement with those of a correction that leaves out a part of its subject.

"The port is 9090 now" names less than "the staging server listens on port 8080", and "we switched to pnpm" does not
mention the "npm" in "install packages with npm". English only; `value_corrections` reads corrections in any language
that say little more than the new value.
"""

import re

from msgspec import Struct

from clio.memory.statement_parser import parse_statement
from clio.memory.statement_words import (
    ALTERNATIVES,
    CHANGE_VERBS,
    CORRECTION_FILLERS,
    PREPOSITIONS,
    STOP_WORDS,
    SYNONYMS,
)
from clio.text.vocabulary import stem_word

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
_WORD = re.compile(r"[A-Za-z][\w+#]*(?:[.-]\w+)*")
_REPLACED_NAME = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:not|no longer|(?:is|are|do|does|did)n'?t)(?: (?:on|in|with|use|using|run|deploy|build)){0,2}"
        r" (?P<old>[\w./+-]+)(?: any ?more)?"
        r"(?:\s*[,;–—-]+\s*|\s+)(?:but |it's |it is |we use |use |rather )+(?:on |in |with |using )?(?P<new>[\w./+-]+)",
        r"(?P<new>[\w./+-]+)(?: now)?,? (?:and )?(?:not|instead of|rather than|in place of|over) (?P<old>[\w./+-]+)",
        r"\bfrom (?P<old>[\w./+-]+) (?:over )?to (?P<new>[\w./+-]+)",
        r"\b(?:replaced|dropped|swapped) (?P<old>[\w./+-]+) (?:with|by|for|in favou?r of) (?P<new>[\w./+-]+)",
        r"(?P<old>[\w./+-]+) (?:was|is|were|are|got|has been|have been) replaced (?:with|by) (?P<new>[\w./+-]+)",
    )
)
_OUTDATED_NAME = re.compile(
    r"\b(?:not|no longer|instead of|rather than|in place of|from|dropped|replaced|old|formerly)"
    r" (?:use |using |on |with )?(?P<before>[\w.+#-]*\w)"
    r"|(?P<after>[\w.+#-]*\w) (?:is|are|was|were)(?: now| finally)?"
    r" (?:gone|history|dead|retired|out|outdated|deprecated|no longer|not|dropped|removed|switched off|shut down)\b",
    re.I,
)
_NEGATED = re.compile(
    r"\b(?:never|not|no|don't|do not|avoid|stop|without|over|than|instead of|in place of|hates?|dislikes?)\b[^,;]*$",
    re.I,
)
_ACTOR = re.compile(
    rf"^(?:[\w'-]+ ){{1,3}}?(?=(?:(?:has|have|just|recently|finally) )*(?:{CHANGE_VERBS}) "
    r"(?!its\b|their\b|to\b|from\b|up\b|down\b|over\b)\S.* (?:to|from) )",
    re.I,
)
"""Who made a change: "ops" in "ops raised the limit to 50"."""
_PATH = re.compile(r"(?<![\w./-])[\w-]*(?:[./][\w-]+)+/?(?![\w/])")
_MOVED_TO_PATH = re.compile(
    r"(?:it|they|that|those|this|these)(?:'s|'re| is| are| was| were| has| have)?(?: been)?(?: now)?"
    rf"(?: (?:{CHANGE_VERBS}|live|lives|sit|sits|lie|lies))?(?: (?:now|to|in|into|at|under))+ (?P<new>{_PATH.pattern})",
    re.I,
)
_CONTRACTION = re.compile(r"n?['’](?:s|re|ve|ll|m|t|d)\b", re.I)
_GENERIC = frozenset(map(stem_word, CORRECTION_FILLERS))
_FAMILY_OF = {name: number for number, family in enumerate(ALTERNATIVES) for name in family}


class ValueChange(Struct, frozen=True, kw_only=True):
    """One value of an earlier statement, and what a correction says instead.

    Attributes:
        old, new: the values as written.
        is_named: whether the correction names a word of the subject, or the old value. Otherwise only the context can
            tell which statement is meant.
    """

    old: str
    new: str
    is_named: bool

    @property
    def is_alike(self) -> bool:
        """Whether both values have the same form, digit by digit: "8080" and "9090"."""
        return re.sub(r"\d", "0", self.old) == re.sub(r"\d", "0", self.new)

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


def find_value_change(old: str, correction: str) -> ValueChange | None:
    """Return the value of `old` that a short correction replaces; None if it is about something else or is unclear.

    Every word of the correction that is not a value must occur in `old`, except words of change such as "moved".
    """
    if _already_holds(old, correction):
        return None
    pair = (
        _find_numbers(old, correction)
        or _find_replaced_name(old, correction)
        or _find_alternative(old, correction)
        or _find_moved_path(old, correction)
    )
    if pair is None:
        return None
    gone, new, is_denied = pair
    rest = _subject_words(_ACTOR.sub("", correction)) - _subject_words(f"{gone} {new}")
    if not rest <= _subject_words(old):
        return None
    return ValueChange(old=gone, new=new, is_named=bool(rest) or is_denied)


def is_restated(short: str, full: str) -> bool:
    """Whether a statement says nothing that a longer one does not say: "the port is 9090", "the API's port is 9090".

    Values that it calls outdated do not count: "the port is 9090, not 8080".
    """
    numbers = set(NUMBER.findall(short)) - find_outdated_numbers(short)
    mine = _subject_words(short) - _subject_words(" ".join(gone for gone, _ in _list_replaced_names(short)))
    return bool(numbers or mine) and numbers <= set(NUMBER.findall(full)) and mine <= _subject_words(full)


def _already_holds(old: str, correction: str) -> bool:
    """Whether a statement already says what a correction replaces a name by: it is newer than that correction."""
    return any(_contains(old, new) and not _contains(old, gone) for gone, new in _list_replaced_names(correction))


def _find_numbers(old: str, correction: str) -> tuple[str, str, bool] | None:
    outdated = find_outdated_numbers(correction)
    before, after = dict.fromkeys(NUMBER.findall(old)), dict.fromkeys(NUMBER.findall(correction))
    new = [value for value in after if value not in before and value not in outdated]
    denied = [value for value in before if value in after]
    if not outdated.issuperset(denied) or (outdated and outdated.isdisjoint(before)):
        return None  # it is about another number
    gone = denied or [value for value in before if new and get_shape(value) == get_shape(new[0])]
    if len(new) != 1 or len(gone) != 1:
        return None
    if not denied and gone[0] in parse_statement(old).topic_ids:
        return None  # the number belongs to the subject: "HTTP 409 means …" does not correct "HTTP 404 means …"
    is_of_subject = not denied and new[0] in parse_statement(correction).topic_ids
    if is_of_subject and not _counts_same(old, gone[0], correction, new[0]):
        return None
    return gone[0], new[0], bool(denied)


def _counts_same(old: str, gone: str, correction: str, new: str) -> bool:
    """Whether a correction without a verb counts the same things: "6 nodes" after "the cluster has 4 nodes"."""
    things = re.search(rf"^{re.escape(new)} (?P<things>[a-z]+)\W*$", correction, re.I)
    return things is not None and _contains(old, f"{gone} {things['things']}")


def find_outdated_numbers(correction: str) -> set[str]:
    """Return the numbers that a correction says are no longer right: 8080 in "not 8080 but 9090"."""
    return {found["before"] or found["after"] for found in _OUTDATED_NUMBER.finditer(correction)}


def get_shape(value: str) -> str:
    """Return a number with each group of digits as 0: "v0.0" for "v1.24"."""
    return re.sub(r"0(?:\.0)+", "0.0", re.sub(r"\d+", "0", value.removeprefix("v")))


def _find_replaced_name(old: str, correction: str) -> tuple[str, str, bool] | None:
    for gone, new in _list_replaced_names(correction):
        place = _find_name(old, gone)
        if place and not _NEGATED.search(old[: place.start()]):
            return gone, new, True
    return None


def _list_replaced_names(correction: str) -> list[tuple[str, str]]:
    """Return the pairs of names of which a correction says that the second is used instead of the first."""
    found = (pattern.search(correction) for pattern in _REPLACED_NAME)
    pairs = ((one["old"].strip(".,"), one["new"].strip(".,")) for one in found if one is not None)
    return [(gone, new) for gone, new in pairs if not _is_filler(gone) and not _is_filler(new)]


def _is_filler(word: str) -> bool:
    folded = word.casefold()
    return not folded or folded in STOP_WORDS or stem_word(folded) in _GENERIC


def _find_name(text: str, name: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/])", text, re.I) if name else None


def _contains(text: str, name: str) -> bool:
    return _find_name(text, name) is not None


def _find_alternative(old: str, correction: str) -> tuple[str, str, bool] | None:
    """Two names of the same family of tools: "npm" in the statement, "pnpm" in the correction."""
    named = {word.casefold() for word in _WORD.findall(old)}
    outdated = {(found["before"] or found["after"]).casefold() for found in _OUTDATED_NAME.finditer(correction)}
    mine = {
        family: found[0]
        for found in _WORD.finditer(old)
        if (family := _family_of(found[0])) is not None and not _NEGATED.search(old[: found.start()])
    }
    pairs = {
        (mine[family], word)
        for word in _WORD.findall(correction)
        if word.casefold() not in named | outdated and (family := _family_of(word)) in mine
    }
    return (*pairs.pop(), True) if len(pairs) == 1 else None


def names_alternative(old: str, correction: str) -> bool:
    """Whether a correction names another tool of a family than a statement, so that more than a number changes."""
    return _find_alternative(old, correction) is not None


def _find_moved_path(old: str, correction: str) -> tuple[str, str, bool] | None:
    """Two paths: "flags.yaml" in the statement, and in the correction "they moved to config/flags.toml"."""
    moved = _MOVED_TO_PATH.match(correction)
    paths = [path for path in dict.fromkeys(_PATH.findall(old)) if not NUMBER.fullmatch(path)]
    if moved is None or len(paths) != 1 or paths[0] in parse_statement(old).topic_ids:
        return None
    new = moved["new"].rstrip(".,;!")
    return None if NUMBER.fullmatch(new) or new == paths[0] else (paths[0], new, False)


def _family_of(word: str) -> int | None:
    name = word.casefold()
    return _FAMILY_OF.get(name, _FAMILY_OF.get(name.removesuffix("s")))


def _subject_words(text: str) -> frozenset[str]:
    """Return the stems of the words that tell what a text is about, without numbers, verbs of change and fillers."""
    plain = _CONTRACTION.sub(" ", text)
    stems = (stem_word(word) for one in _WORD.findall(plain) if (word := one.casefold()) not in STOP_WORDS)
    known = (SYNONYMS.get(stem, stem) for stem in stems if stem not in _GENERIC)
    return frozenset(stem for stem in known if stem not in PREPOSITIONS)
