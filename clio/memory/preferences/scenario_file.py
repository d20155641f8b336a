"""`scenarios.yaml` in clio's home: kinds of work of the person's own, and other words for those that are built in.

    coding:
      keywords: [tnpm, codemod]
      aliases: [hack]
    infra: [terraform, helm, cluster]

A list stands for the keywords. What the file gives takes the place of what is built in; what it leaves out stays.
"""

from pathlib import Path

from clio.config.yaml_file import Entry, Items, Node, Scalar, Table, describe, parse, read_bytes
from clio.errors import ConfigError
from clio.memory.preferences.scenarios import BUILT_IN, Scenario, ScenarioBook

FILE = "scenarios.yaml"
MAX_WORDS = 1_000
_PARTS = ("keywords", "aliases")


def read_scenarios(home: Path) -> ScenarioBook:
    """The scenarios in force. A file that cannot be read does not count; the book's `problem` says why."""
    path = home / FILE
    try:
        data = read_bytes(path, str(path))
        return ScenarioBook(None if data is None else scenarios_of(parse(data, str(path)), str(path)))
    except ConfigError as error:
        return ScenarioBook(problem=f"{error}. The built-in scenarios hold until that is put right")


def scenarios_of(table: Table, shown: str) -> dict[str, Scenario]:
    """The scenarios a file's mapping holds, by name. Raises ConfigError with file and line."""
    whole = table.entries.get("scenarios")
    if whole is not None and len(table.entries) == 1 and isinstance(whole.node, Table):
        table = whole.node
    found: dict[str, Scenario] = {}
    for raw, entry in table.entries.items():
        name = raw.strip().lower()
        if not name or " " in name or name == "auto":
            raise ConfigError(f"{shown}:{entry.line}: {raw!r} cannot be a scenario's name; write one word, not 'auto'")
        if name in found:
            raise ConfigError(f"{shown}:{entry.line}: {name!r} is given twice; keep one of them")
        found[name] = _scenario(name, entry, shown)
    _check_aliases(found, shown)
    return found


def _scenario(name: str, entry: Entry, shown: str) -> Scenario:
    before = BUILT_IN.get(name, Scenario())
    node = entry.node
    if isinstance(node, Items):
        return Scenario(keywords=_words(node, entry.line, name, shown), aliases=before.aliases)
    if isinstance(node, Scalar) and node.kind == "null":
        return before
    if not isinstance(node, Table):
        raise ConfigError(
            f"{shown}:{entry.line}: {name} must be a list of keywords, or hold keywords and aliases, "
            f"not {describe(node)}"
        )
    unknown = [(key, part.line) for key, part in node.entries.items() if key not in _PARTS]
    if unknown:
        key, line = unknown[0]
        raise ConfigError(f"{shown}:{line}: {name} holds {key!r}; known are {' and '.join(_PARTS)}")
    given = {key: _words(part.node, part.line, f"{name}.{key}", shown) for key, part in node.entries.items()}
    return Scenario(
        keywords=given.get("keywords", before.keywords),
        aliases=tuple(alias.lower() for alias in given.get("aliases", before.aliases)),
    )


def _words(node: Node, line: int, name: str, shown: str) -> tuple[str, ...]:
    if isinstance(node, Scalar) and node.kind == "null":
        return ()
    if not isinstance(node, Items):
        raise ConfigError(f"{shown}:{line}: {name} must be a list such as [terraform, helm], not {describe(node)}")
    if len(node.items) > MAX_WORDS:
        raise ConfigError(f"{shown}:{line}: {name} has {len(node.items):,} words; up to {MAX_WORDS:,} are taken")
    found: list[str] = []
    for item in node.items:
        if not isinstance(item, Scalar) or not item.text.strip():
            raise ConfigError(f"{shown}:{item.start[0] + 1}: {name} must hold words only, not {describe(item)}")
        found.append(" ".join(item.text.split()))
    return tuple(dict.fromkeys(found))


def _check_aliases(found: dict[str, Scenario], shown: str) -> None:
    """An alias that two scenarios have would mean either."""
    owner: dict[str, str] = {}
    for name, scenario in (BUILT_IN | found).items():
        for alias in scenario.aliases:
            other = owner.setdefault(alias, name)
            if other != name:
                raise ConfigError(f"{shown}: {alias!r} is an alias of {other} and of {name}; keep one of them")
