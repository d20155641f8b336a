"""Which commands are to run at which events: `~/.clio/hooks.yaml` and the project's `.clio/hooks.yaml`.

    before_tool:
      - match: edit_file|write_file
        run: ./scripts/guard.sh
        timeout_s: 5

A project's commands run only once the folder is trusted with exactly these lines.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from clio.config.command_line import did_you_mean
from clio.config.loaded import EVENTS, HOOK_TIMEOUT_S, MAX_TIMEOUT_S, OF_TOOLS, Hook, Widening
from clio.config.paths import FOLDER_NAME
from clio.config.trust import shown_value
from clio.config.yaml_file import Items, Node, PassedOver, Scalar, Table, describe, parse, read_bytes
from clio.errors import ConfigError

HOOKS_NAME = "hooks.yaml"
_KEYS = ("match", "run", "timeout_s")


class FoundHooks(Struct, frozen=True, kw_only=True):
    """The hooks in force, the user's first; those of the project that trust lets run, and those that wait for it.

    problems: sentences about a file that was passed over.
    """

    hooks: tuple[Hook, ...] = ()
    trusted: tuple[Widening, ...] = ()
    withheld: tuple[Widening, ...] = ()
    problems: tuple[str, ...] = ()


def user_hooks(home: Path) -> Path:
    """The user's own hooks."""
    return home / HOOKS_NAME


def project_hooks(project: Path) -> Path:
    """A project's hooks."""
    return project / FOLDER_NAME / HOOKS_NAME


def find_hooks(
    home: Path, project: Path, is_trusted: Callable[[Widening], bool], links: Iterable[Path] = ()
) -> FoundHooks:
    """The hooks of both files. Raises ConfigError for a file that says something else.

    links: the places outside of the project that its links may lead to.
    """
    hooks = list(read_hooks(user_hooks(home), f"~/.clio/{HOOKS_NAME}"))
    trusted: list[Widening] = []
    withheld: list[Widening] = []
    if project_hooks(project) != user_hooks(home).resolve():  # in the home folder both are one file
        try:
            read = list(read_hooks(project_hooks(project), f"{FOLDER_NAME}/{HOOKS_NAME}", root=project, trusted=links))
        except PassedOver as error:
            return FoundHooks(hooks=tuple(hooks), problems=(str(error),))
        for hook in read:
            value = _widening(hook)
            if is_trusted(value):
                hooks.append(hook)
                trusted.append(value)
            else:
                withheld.append(value)
    return FoundHooks(hooks=tuple(hooks), trusted=tuple(trusted), withheld=tuple(withheld))


def read_hooks(path: Path, shown: str, *, root: Path | None = None, trusted: Iterable[Path] = ()) -> Iterator[Hook]:
    """The hooks of one file in its order. Raises ConfigError with file and line. root, trusted: see `read_bytes`."""
    data = read_bytes(path, shown, root=root, trusted=trusted)
    if data is None:
        return
    for event, entry in parse(data, shown).entries.items():
        where = f"{shown}:{entry.line}"
        if event not in EVENTS:
            raise ConfigError(f"{where}: unknown event {event!r}{did_you_mean(event, EVENTS)}")
        if not isinstance(entry.node, Items):
            raise ConfigError(f"{where}: {event} needs a list of hooks such as '- run: ./check.sh'")
        for node in entry.node.items:
            yield _hook(event, node, shown)


def _hook(event: str, node: Node, shown: str) -> Hook:
    where = f"{shown}:{node.start[0] + 1}"
    if not isinstance(node, Table):
        raise ConfigError(f"{where}: a hook is written as 'run: COMMAND', not {describe(node)}")
    for key, entry in node.entries.items():
        if key not in _KEYS:
            raise ConfigError(f"{shown}:{entry.line}: unknown key {key!r}{did_you_mean(key, _KEYS)}")
    run = _text(node, "run", where)
    if not run.strip():
        raise ConfigError(f"{where}: the hook says nothing to run; add 'run: COMMAND'")
    match = tuple(part.strip() for part in _text(node, "match", where).split("|") if part.strip())
    if match and event not in OF_TOOLS:
        raise ConfigError(f"{where}: match names tools, and {event} has none; remove it")
    return Hook(event=event, run=run, where=where, match=match, timeout_s=_seconds(node, where))


def _text(table: Table, key: str, where: str) -> str:
    if key not in table.entries:
        return ""
    node = table.entries[key].node
    if not isinstance(node, Scalar):
        raise ConfigError(f"{where}: {key} must be text, not {describe(node)}")
    return node.text


def _seconds(table: Table, where: str) -> float:
    text = _text(table, "timeout_s", where)
    try:
        seconds = float(text) if text else HOOK_TIMEOUT_S
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_TIMEOUT_S:
        raise ConfigError(f"{where}: timeout_s must be a number above 0 and at most {MAX_TIMEOUT_S:g}, not {text!r}")
    return seconds


def _widening(hook: Hook) -> Widening:
    """The hook as it is shown before trust is asked for; moving it in the file changes nothing."""
    key = f"hooks.{hook.event}"
    mark = hashlib.sha256(json.dumps([key, hook.match, hook.run]).encode("ascii")).hexdigest()
    tools = f" (for {'|'.join(hook.match)})" if hook.match else ""
    return Widening(key=key, value=shown_value(key, hook.run) + tools, where=hook.where, fingerprint=mark)
