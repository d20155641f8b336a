"""Find the lasting wishes about clio's own work that a user states in everyday words, in seven languages.

Such a wish has a sign that it is about the user and not about the task, whatever it wishes: what X does to the user
("long answers tire me", "tables are easier for me"), a choice in principle ("I'd take plain code over clever code any
day"), a reason behind ("plan first, so I can follow better"), praise that asks for more ("keep doing that"), or how to
talk to the user ("plain English with me"). Beside a lasting wish or limit, another wish needs no sign of its own.

The sentences are divided into clauses, so that tasks, reasons and limits may surround the wish. The patterns are in
`languages/wishes.json`. Other statements of the user are read by `stated_preferences` and `foreign_statements`.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache, cached_property

from msgspec import Struct

from clio.memory.preferences.own_sentences import WrittenSentence, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.preferences.stated_preferences import DISLIKED, LIKED, StatedPreference

_CJK_END = re.compile(r"([。！？])(?=\S)")
_MAX_CLAUSES = 12
_MAX_JOINED = 4
"""Maximum number of clauses of a sentence, and of those that one pattern may match."""
_MAX_WISH = 130


class WishRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The patterns of one language, which ignore case; those of lists match a whole clause.

    Attributes:
        sign: searched in the message; it has no wish without this, unless another lasting statement is in it.
        personal, manner_sign: searched in a sentence; it has none of `likes`, `dislikes` and `behind`, or of `manner`,
            without this. Empty: any sentence may have one.
        parts: by name, the pattern that replaces `{name}` in the others.
        cut: searched anywhere; what separates clauses.
        lead: words before a clause that mean nothing, such as "by the way".
        void: searched in the sentence; signs that it is about the current task, reports others, or is no assertion.
        project: searched in the sentence; words that restrict the wish to this project.
        likes, dislikes: wishes. What is stored is the group `thing`, or else the whole clause.
        beside: wishes that count beside another lasting wish or limit in the sentence.
        manner: plain requests about the manner of clio's work. They count if the message begins with nothing else
            than `aside`: reasons, remarks about clio.
        further: the beginning of a sentence with such a wish that continues the sentence before.
        behind: a reason or praise that makes a wish of the clause or sentence before, which must match `before`.
    """

    sign: str
    personal: str = ""
    manner_sign: str = ""
    parts: dict[str, str]
    cut: str
    lead: str
    void: str
    project: str
    likes: tuple[str, ...]
    dislikes: tuple[str, ...]
    beside: tuple[str, ...]
    manner: tuple[str, ...]
    aside: str
    further: str
    behind: tuple[str, ...]
    before: str


class _Patterns:
    """The patterns of one language, see `WishRules`. Each group is compiled on first use: all of them take 100 ms."""

    def __init__(self, rules: WishRules) -> None:
        self._rules = rules
        self.cut, self.lead, self.void, self.project, self.aside, self.further = map(
            self._compile, (rules.cut, rules.lead, rules.void, rules.project, rules.aside, rules.further)
        )

    def _compile(self, pattern: str) -> re.Pattern[str]:
        for name, part in reversed(self._rules.parts.items()):
            pattern = pattern.replace(f"{{{name}}}", part)
        return re.compile(pattern, re.I)

    @cached_property
    def likes(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(self._compile, self._rules.likes))

    @cached_property
    def dislikes(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(self._compile, self._rules.dislikes))

    @cached_property
    def manner(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(self._compile, self._rules.manner))

    @cached_property
    def beside(self) -> tuple[re.Pattern[str], ...]:
        return (*map(self._compile, self._rules.beside), *self.manner)

    @cached_property
    def behind(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(self._compile, self._rules.behind))

    @cached_property
    def before(self) -> re.Pattern[str]:
        return self._compile(self._rules.before)

    @cached_property
    def personal(self) -> re.Pattern[str]:
        return re.compile(self._rules.personal, re.I)

    @cached_property
    def manner_sign(self) -> re.Pattern[str]:
        return re.compile(self._rules.manner_sign, re.I)


def _read_rules(language: str) -> WishRules:
    return load_rule_file("wishes", dict[str, WishRules])[language or "en"]


@cache
def _load_sign(language: str) -> re.Pattern[str]:
    return re.compile(_read_rules(language).sign, re.I)


@cache
def _load(language: str) -> _Patterns:
    return _Patterns(_read_rules(language))


def find_wishes(text: str, language: str, settled: Collection[str] = ()) -> list[StatedPreference]:
    """Return the lasting wishes in a message, in its order.

    settled: the sentences in which other lasting statements were found.
    """
    if not settled and not _load_sign(language).search(text):
        return []
    rules = _load(language)
    found: list[StatedPreference] = []
    before: WrittenSentence | None = None
    is_first = True
    for said in read_own_sentences(_CJK_END.sub(r"\1\n", text)):
        is_beside = said.text in settled or (
            before is not None
            and rules.further.match(said.masked) is not None
            and (before.text in settled or any(one.quote == before.text for one in found))
        )
        if not said.is_question and not rules.void.search(said.masked):
            in_project = rules.project.search(said.masked) is not None
            for content, is_liked in _read_sentence(said, before, rules, is_beside=is_beside, is_first=is_first):
                found.append(
                    StatedPreference(
                        kind="preference" if is_liked else "dislike",
                        content=content,
                        score=LIKED if is_liked else DISLIKED,
                        certain=True,
                        quote=said.text,
                        in_project=in_project,
                    )
                )
        if line := _strip(said.masked, 0, len(said.masked), rules):
            before = said
            is_first = is_first and rules.aside.fullmatch(line) is not None
    return found


def _read_sentence(
    said: WrittenSentence, before: WrittenSentence | None, rules: _Patterns, *, is_beside: bool, is_first: bool
) -> Iterator[tuple[str, bool]]:
    """Yield what a sentence wishes, and whether the user likes it."""
    masked = said.masked
    cuts = [cut.span() for cut in rules.cut.finditer(masked)]
    clauses = list(zip([0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(masked)], strict=True))
    if len(clauses) > _MAX_CLAUSES:
        return
    is_personal = rules.personal.search(masked) is not None
    wishes: dict[int, tuple[str, bool]] = {}
    open_clauses: list[int] = []
    at = 0
    while at < len(clauses):
        for end in range(at + 1, min(at + _MAX_JOINED, len(clauses)) + 1) if is_personal else ():
            start, stop = clauses[at][0], clauses[end - 1][1]
            disliked = _match(said, start, stop, rules.dislikes, rules)
            wish = disliked or _match(said, start, stop, rules.likes, rules)
            if wish is not None:
                wishes[at] = wish, not disliked
                at = end
                break
        else:
            wish = None
            clause = _strip(masked, *clauses[at], rules)
            if is_personal and at - 1 not in wishes and any(one.fullmatch(clause) for one in rules.behind):
                wish = _join_before(said, clauses[at - 1][0] if at else -1, clauses[at][1], before, rules)
            if wish is not None:
                wishes[at] = wish, True
                open_clauses = [one for one in open_clauses if one != at - 1]
            else:
                open_clauses.append(at)
            at += 1
    if is_first and not wishes and not is_beside and rules.manner_sign.search(masked):
        rest = [at for at in open_clauses if not rules.aside.fullmatch(_strip(masked, *clauses[at], rules))]
        manner = {at: _match(said, *clauses[at], rules.manner, rules) for at in rest}
        wishes.update((at, (wish, True)) for at, wish in manner.items() if wish and all(manner.values()))
    for at in open_clauses if wishes or is_beside else ():
        if (wish := _match(said, *clauses[at], rules.beside, rules)) is not None:
            is_same = len(wish) + 4 < clauses[at][1] - clauses[at][0]  # a part of the clause: "and so do tabs"
            wishes[at] = wish, not is_same or all(wishes[one][1] for one in wishes if one < at)
    yield from (wishes[at] for at in sorted(wishes))


def _strip(masked: str, start: int, stop: int, rules: _Patterns) -> str:
    lead = rules.lead.match(masked, start, stop)
    return masked[lead.end() if lead else start : stop].strip(" .!。！…")


def _match(
    said: WrittenSentence, start: int, stop: int, patterns: tuple[re.Pattern[str], ...], rules: _Patterns
) -> str | None:
    """Return what a part of a sentence wishes by the first of the patterns that matches it."""
    clause = _strip(said.masked, start, stop, rules)
    found = next(filter(None, (one.fullmatch(clause) for one in patterns)), None)
    if found is None or len(clause) > _MAX_WISH:
        return None
    begin, end = found.span("thing" if found.groupdict().get("thing") else 0)
    offset = said.masked.index(clause, start)
    return " ".join(said.text[offset + begin : offset + end].split())


def _join_before(
    said: WrittenSentence, start: int, stop: int, before: WrittenSentence | None, rules: _Patterns
) -> str | None:
    """Return the clause or sentence before a reason together with it; None if that is no wish."""
    text, wish = said.text[max(start, 0) : stop], said.masked[:stop]
    if start >= 0:
        wish = said.masked[start:stop]
    elif before is not None and not rules.void.search(before.masked):
        text, wish = f"{before.text}{before.mark} {text}", before.masked
    else:
        return None
    lead = rules.lead.match(wish)
    begin = lead.end() if lead else 0
    if not rules.before.match(wish, begin) or len(text) - begin > _MAX_WISH:
        return None
    return " ".join(text[begin:].split())
