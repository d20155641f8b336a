"""Task types: the kinds of work a preference can be limited to, with their keywords and aliases.

Built in are six kinds of development work and the others of the preferences document. `~/.clio/scenarios.yaml` adds
task types or changes them:

    coding:
      keywords: [tnpm, codemod]
      aliases: [hack]
    infra: [terraform, helm, cluster]

A plain list contains the keywords. Values in the file replace the built-in ones; values it leaves out are unchanged.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

from clio.config.yaml_file import Entry, Items, Node, Scalar, Table, describe_node, parse_yaml, read_config_bytes
from clio.errors import ConfigError, UserError
from clio.memory.preferences.rule_files import english_rules
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr
from clio.text.vocabulary import has_phrase, stem_word, tokenize

_ENOUGH_KEYWORDS = 2


class TaskType(Struct, frozen=True, kw_only=True):
    """One type of task. keywords: words that messages about it contain; aliases: its other names."""

    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


_EN = english_rules("task_types")
BUILT_IN: dict[str, TaskType] = {
    name: TaskType(keywords=tuple(words.split()), aliases=tuple(_EN.maps["aliases"][name].split()))
    for name, words in _EN.maps["keywords"].items()
}


class TaskTypes:
    """The task types in force.

    problem: one sentence that says why the user's file is not used; "" if it is or there is none.
    """

    def __init__(self, extra: Mapping[str, TaskType] | None = None, problem: str = "") -> None:
        self._task_types = dict(BUILT_IN)
        for name, added in (extra or {}).items():
            self._task_types[name.strip().lower()] = added
        self._aliases = {alias: name for name, scenario in self._task_types.items() for alias in scenario.aliases}
        self._compared: dict[str, tuple[frozenset[str], tuple[tuple[str, ...], ...]]] = {}
        self.problem = problem

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all task types."""
        return tuple(self._task_types)

    def resolve(self, name: str) -> str:
        """Return the name that an alias stands for; an unknown name is returned in lower case."""
        wanted = name.strip().lower()
        return wanted if wanted in self._task_types else self._aliases.get(wanted, wanted)

    def knows(self, name: str) -> bool:
        """Whether a name or alias is known."""
        return self.resolve(name) in self._task_types

    def keywords(self, name: str) -> tuple[str, ...]:
        """Return the keywords of a task type; none if it is unknown."""
        found = self._task_types.get(self.resolve(name))
        return found.keywords if found else ()

    def aliases(self, name: str) -> tuple[str, ...]:
        """Return the aliases of a task type."""
        wanted = self.resolve(name)
        return tuple(alias for alias, meant in self._aliases.items() if meant == wanted)

    def says(self, name: str, text: str) -> bool:
        """Whether a text contains one of the task type's keywords, in any form, or its name."""
        said = _stems_in(text)
        single, phrases = self._stems(self.resolve(name))
        return not single.isdisjoint(said) or any(has_phrase(said, phrase) for phrase in phrases)

    def _stems(self, name: str) -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
        """Return the stems of a task type's words and phrases. Cached."""
        if name not in self._compared:
            all_stems = [tuple(stem_word(part) for part in tokenize(word)) for word in (name, *self.keywords(name))]
            single = frozenset(parts[0] for parts in all_stems if len(parts) == 1)
            self._compared[name] = single, tuple(parts for parts in all_stems if len(parts) > 1)
        return self._compared[name]

    def tags(self, keywords: Iterable[str]) -> tuple[str, ...]:
        """Return the task types that keywords belong to: those with two of the words, or the name."""
        return tuple(name for name, scenario in self._task_types.items() if belongs(name, scenario.keywords, keywords))


@lru_cache(maxsize=16_384)
def _stems_in(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words. Cached, because every turn compares the same preferences."""
    return tuple(stem_word(word) for word in tokenize(text))


def belongs(name: str, scenario_keywords: Sequence[str], keywords: Iterable[str]) -> bool:
    """Whether keywords belong to a scenario: at least two of its words are among them, or its name is."""
    given = {keyword.casefold() for keyword in keywords}
    return name.casefold() in given or len(given & {word.casefold() for word in scenario_keywords}) >= _ENOUGH_KEYWORDS


def check_task_type(book: TaskTypes, name: str) -> str:
    """Return the name of a task type by name or alias. Raises UserError, which lists all names, if it is unknown."""
    if not book.knows(name):
        raise UserError(tr("there is no task type {name!r}; known: {names}", name=name, names=", ".join(book.names)))
    return book.resolve(name)


FILE = "scenarios.yaml"
MAX_WORDS = 1_000
_PARTS = ("keywords", "aliases")


def load_task_types(home: Path) -> TaskTypes:
    """Return the task types in force. A file that cannot be read is not used, and `problem` says why."""
    path = home / FILE
    try:
        data = read_config_bytes(path, str(path))
        return TaskTypes(None if data is None else parse_task_types(parse_yaml(data, str(path)), str(path)))
    except ConfigError as error:
        return TaskTypes(problem=f"{error}. The built-in task types apply until this is fixed")


def parse_task_types(table: Table, shown: str) -> dict[str, TaskType]:
    """Return the task types of a file's mapping, by name. Raises ConfigError with file and line."""
    whole = table.entries.get("scenarios")
    if whole is not None and len(table.entries) == 1 and isinstance(whole.node, Table):
        table = whole.node
    found: dict[str, TaskType] = {}
    for raw, entry in table.entries.items():
        name = raw.strip().lower()
        if not name or " " in name or name == "auto":
            raise ConfigError(
                tr(
                    "{shown}:{line}: {raw!r} cannot be the name of a task type; write one word, not 'auto'",
                    shown=shown,
                    line=entry.line,
                    raw=raw,
                )
            )
        if name in found:
            raise ConfigError(
                tr("{shown}:{line}: {name!r} is given twice; keep one of them", shown=shown, line=entry.line, name=name)
            )
        found[name] = _parse_task_type(name, entry, shown)
    _check_aliases(found, shown)
    return found


def _parse_task_type(name: str, entry: Entry, shown: str) -> TaskType:
    before = BUILT_IN.get(name, TaskType())
    node = entry.node
    if isinstance(node, Items):
        return TaskType(keywords=_words(node, entry.line, name, shown), aliases=before.aliases)
    if isinstance(node, Scalar) and node.kind == "null":
        return before
    if not isinstance(node, Table):
        raise ConfigError(
            tr(
                "{shown}:{line}: {name} must be a list of keywords, or contain keywords and aliases, not {node}",
                shown=shown,
                line=entry.line,
                name=name,
                node=describe_node(node),
            )
        )
    unknown = [(key, part.line) for key, part in node.entries.items() if key not in _PARTS]
    if unknown:
        key, line = unknown[0]
        raise ConfigError(
            tr(
                "{shown}:{line}: unknown key {key!r} in {name}; known: {parts}",
                shown=shown,
                line=line,
                key=key,
                name=name,
                parts=tr(" and ").join(_PARTS),
            )
        )
    given = {key: _words(part.node, part.line, f"{name}.{key}", shown) for key, part in node.entries.items()}
    return TaskType(
        keywords=given.get("keywords", before.keywords),
        aliases=tuple(alias.lower() for alias in given.get("aliases", before.aliases)),
    )


def _words(node: Node, line: int, name: str, shown: str) -> tuple[str, ...]:
    if isinstance(node, Scalar) and node.kind == "null":
        return ()
    if not isinstance(node, Items):
        raise ConfigError(
            tr(
                "{shown}:{line}: {name} must be a list such as [terraform, helm], not {node}",
                shown=shown,
                line=line,
                name=name,
                node=describe_node(node),
            )
        )
    if len(node.items) > MAX_WORDS:
        raise ConfigError(
            tr(
                "{shown}:{line}: {name} has {count:,} words; at most {max_words:,} are allowed",
                shown=shown,
                line=line,
                name=name,
                count=len(node.items),
                max_words=MAX_WORDS,
            )
        )
    found: list[str] = []
    for item in node.items:
        if not isinstance(item, Scalar) or not item.text.strip():
            raise ConfigError(
                tr(
                    "{shown}:{start}: {name} must contain words only, not {node}",
                    shown=shown,
                    start=item.start[0] + 1,
                    name=name,
                    node=describe_node(item),
                )
            )
        found.append(" ".join(item.text.split()))
    return tuple(dict.fromkeys(found))


def _check_aliases(found: dict[str, TaskType], shown: str) -> None:
    """Raise ConfigError for an alias of two task types, which would be ambiguous."""
    owner: dict[str, str] = {}
    for name, scenario in (BUILT_IN | found).items():
        for alias in scenario.aliases:
            other = owner.setdefault(alias, name)
            if other != name:
                raise ConfigError(
                    tr(
                        "{shown}: {alias!r} is an alias of {other} and of {name}; keep one of them",
                        shown=shown,
                        alias=alias,
                        other=other,
                        name=name,
                    )
                )


TRACE = (
    r"Traceback \(most recent|^\s+at \S+ ?\(|^\s*File \".+\", line \d|panicked at|^E  +\w+(?:Error|Exception)|segfault"
    r"|^\w*(?:Error|Exception): |^\s*(?:FAILED|ERROR) \S+::"
)
"""Pattern of lines in a pasted traceback or test failure."""


@cache
def cues() -> dict[str, tuple[tuple[float, LazyRegex], ...]]:
    """Return weights and cues by task type."""
    return _EN.cue_patterns()


@cache
def trace() -> re.Pattern[str]:
    """Return the compiled pattern of a pasted failure."""
    return re.compile(TRACE, re.MULTILINE)


MAX_CHARS = 4_000
"""Number of characters of a request that are examined, half of them at the end: pasted text is in the middle."""
_MIN_POINTS = 2.0
_OPENING_CHARS, _OPENING_BONUS = 40, 1.5

_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)


def detect_task_type(text: str, book: TaskTypes) -> str | None:
    """Return the name of a request's task type; None if its words do not show one clearly."""
    ranked = sorted(_points(text, book).items(), key=lambda pair: -pair[1])
    if not ranked or ranked[0][1] < _MIN_POINTS or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _points(text: str, book: TaskTypes) -> dict[str, float]:
    pasted = len(text) > MAX_CHARS
    text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}" if pasted else text
    points: dict[str, float] = {}
    if trace().search(text):
        points["debugging"] = 4.0
    asked = _FENCED.sub(" ", text).strip()
    for name, known in cues().items():
        found = [(weight, match.start()) for weight, cue in known if (match := cue.search(asked))]
        if found:
            best, place = max(found, key=lambda pair: (pair[0], -pair[1]))
            rest = sum(weight for weight, _ in found) - best
            opens = _OPENING_BONUS if place < _OPENING_CHARS else 0.0
            points[name] = points.get(name, 0.0) + best + opens + rest / 4
    said = {stem_word(word) for word in tokenize(asked)}
    for name in book.names:
        built_in = BUILT_IN.get(name)
        own = set(book.keywords(name)) - set(built_in.keywords if built_in else ())
        # Keywords of built-in task types are only for matching preferences; the cues above fit requests better.
        hits = len(said & {stem_word(word.casefold()) for word in own}) + (built_in is None and stem_word(name) in said)
        if hits:
            points[name] = points.get(name, 0.0) + 2.0 * hits
    return points
