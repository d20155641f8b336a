"""Kinds of work, so that a taste that holds for one is not brought up in another: their words and other names.

Built in are the six kinds of a developer's work and the three others of the preferences document; `scenarios.yaml` in
clio's home adds to them or changes them.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from clio.errors import UserError
from clio.text.vocabulary import has_phrase, stem, words

_ENOUGH_KEYWORDS = 2


class Scenario(Struct, frozen=True, kw_only=True):
    """One kind of work. keywords: what is said in it; aliases: what else it is called."""

    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


BUILT_IN: dict[str, Scenario] = {
    "coding": Scenario(
        keywords=tuple(
            "code coding codex implement function class method module refactor api endpoint feature repo library "
            "package type parser script rewrite rename extract test verification".split()
        ),
        aliases=("code", "dev", "development"),
    ),
    "testing": Scenario(
        keywords=tuple(
            "test tests testing pytest unittest jest coverage fixture mock assert flaky regression spec".split()
        ),
        aliases=("test", "tests", "qa"),
    ),
    "review": Scenario(
        keywords=tuple("review reviewer diff pr pull merge approve comment feedback nitpick audit critique".split()),
        aliases=("reviewing", "pr"),
    ),
    "debugging": Scenario(
        keywords=tuple(
            "debug bug crash error exception traceback stack trace fail failing broken hang leak segfault reproduce "
            "investigate cause wrong".split()
        ),
        aliases=("debug", "fix", "bugs"),
    ),
    "git": Scenario(
        keywords=tuple(
            "git commit branch rebase merge push pull stash cherry-pick checkout tag changelog conflict revert history "
            "squash".split()
        ),
        aliases=("vcs",),
    ),
    "writing": Scenario(
        keywords=tuple(
            "write writing document documentation docs readme docstring tutorial guide prose blog article paragraph "
            "markdown changelog wording".split()
        ),
        aliases=("docs", "documentation", "doc"),
    ),
    "communication": Scenario(
        keywords=tuple("message chat reply email meeting slack tone announce".split()),
        aliases=("chat", "social", "meeting"),
    ),
    "biz-analyze": Scenario(
        keywords=tuple("business product market customer revenue pricing metric roadmap stakeholder".split()),
        aliases=("biz", "business", "product"),
    ),
}


class ScenarioBook:
    """The scenarios in force. `problem` says in one sentence why the file does not count, if it does not."""

    def __init__(self, extra: Mapping[str, Scenario] | None = None, problem: str = "") -> None:
        self._scenarios = dict(BUILT_IN)
        for name, added in (extra or {}).items():
            self._scenarios[name.strip().lower()] = added
        self._aliases = {alias: name for name, scenario in self._scenarios.items() for alias in scenario.aliases}
        self._compared: dict[str, tuple[frozenset[str], tuple[tuple[str, ...], ...]]] = {}
        self.problem = problem

    @property
    def names(self) -> tuple[str, ...]:
        """The names there are."""
        return tuple(self._scenarios)

    def resolve(self, name: str) -> str:
        """The name behind an alias; a name nobody knows is a scenario of its own."""
        wanted = name.strip().lower()
        return wanted if wanted in self._scenarios else self._aliases.get(wanted, wanted)

    def knows(self, name: str) -> bool:
        """Whether a name or alias is one of them."""
        return self.resolve(name) in self._scenarios

    def keywords(self, name: str) -> tuple[str, ...]:
        """The words of a scenario; none for one nobody knows."""
        found = self._scenarios.get(self.resolve(name))
        return found.keywords if found else ()

    def aliases(self, name: str) -> tuple[str, ...]:
        """What else a scenario is called."""
        wanted = self.resolve(name)
        return tuple(alias for alias, meant in self._aliases.items() if meant == wanted)

    def says(self, name: str, text: str) -> bool:
        """Whether a text has one of the scenario's words, whole and in any of their forms, or its name."""
        said = _stems_in(text)
        single, phrases = self._stems(self.resolve(name))
        return not single.isdisjoint(said) or any(has_phrase(said, phrase) for phrase in phrases)

    def _stems(self, name: str) -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
        """A scenario's words and phrases, as they are compared."""
        if name not in self._compared:
            all_stems = [tuple(stem(part) for part in words(word)) for word in (name, *self.keywords(name))]
            single = frozenset(parts[0] for parts in all_stems if len(parts) == 1)
            self._compared[name] = single, tuple(parts for parts in all_stems if len(parts) > 1)
        return self._compared[name]

    def tags(self, keywords: Iterable[str]) -> tuple[str, ...]:
        """The scenarios that keywords belong to: two of its words, or its name."""
        return tuple(name for name, scenario in self._scenarios.items() if belongs(name, scenario.keywords, keywords))


@lru_cache(maxsize=16_384)
def _stems_in(text: str) -> tuple[str, ...]:
    """The words of a text as they are compared; the same preferences are asked about in every turn."""
    return tuple(stem(word) for word in words(text))


def belongs(name: str, scenario_keywords: Sequence[str], keywords: Iterable[str]) -> bool:
    """Whether keywords belong to a scenario: at least two of its words are among them, or its name is."""
    given = {keyword.casefold() for keyword in keywords}
    return name.casefold() in given or len(given & {word.casefold() for word in scenario_keywords}) >= _ENOUGH_KEYWORDS


def check_scenario(book: ScenarioBook, name: str) -> str:
    """The scenario of that name or alias. Raises UserError with those there are."""
    if not book.knows(name):
        raise UserError(f"{name!r} is no scenario; there are {', '.join(book.names)}")
    return book.resolve(name)
