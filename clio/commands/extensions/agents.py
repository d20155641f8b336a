"""/agents: sub-agents that the model may send, with words, tools and a model of their own."""

import os
from collections.abc import Iterable
from pathlib import Path

from clio.commands.arguments import read
from clio.commands.command import Command, Shell, Suggestion
from clio.commands.markdown_code import code
from clio.commands.matching import nearest
from clio.commands.result import CommandResult, EditText, refuse
from clio.commands.tables import Table
from clio.config.paths import FOLDER_NAME
from clio.config.trust import Trust
from clio.errors import ClioError, UserError
from clio.prompt_files import fill_prompt
from clio.skills.front_matter import Unreadable
from clio.storage.files import make_folder, write_atomic
from clio.subagents.definitions import MAX_BYTES, Definition, DefinitionFolders, as_widening, read_definition

_OWN = "--user"
_SHOWN_PROBLEMS = 5


def show_list(shell: Shell, argument: str) -> CommandResult:
    """Every sub-agent, where it is, and whether it may be used."""
    if argument:
        return refuse(f"/agents list takes nothing; /agents show {argument} shows one")
    folders = _folders(shell)
    found, problems = folders.find()
    usable = folders.usable()
    told = "\n".join(f"- {problem}" for problem in problems[:_SHOWN_PROBLEMS])
    data = [_data(one, one in usable) for one in found]
    if not found:
        general = "No sub-agents but the general one, which has all tools; `/agents new NAME` begins one."
        return CommandResult(text=f"{general}\n\n{told}".strip(), data=data)
    rows = tuple((one.name, "" if one in usable else "waits for /trust", one.shown, one.description) for one in found)
    table = Table(columns=("agent", "", "where", "when it is used"), rows=rows, wide=3, cut=True)
    return CommandResult(text=told, table=table, data=data)


def show(shell: Shell, argument: str) -> CommandResult:
    """One sub-agent: its properties and what it is told."""
    name = read(argument).text.strip().lower()
    if not name:
        return refuse("Which agent? Write /agents show NAME; /agents list shows those there are")
    folders = _folders(shell)
    found, _ = folders.find()
    one = next((one for one in found if one.name == name), None)
    if one is None:
        names = [one.name for one in found]
        hint = nearest(name, names) if names else "there are none; /agents new NAME begins one"
        raise UserError(f"There is no agent {name!r}; {hint}")
    is_usable = one in folders.usable()
    rows = [
        ("agent", one.name),
        ("when it is used", one.description),
        ("where", one.shown + ("" if is_usable else " (waits for /trust)")),
        ("tools", ", ".join(one.tools) if one.tools else "all but those of a conversation"),
        ("model", one.model or "that of the session"),
        ("most steps", str(one.max_steps)),
        *([("problem", one.problem)] if one.problem else []),
    ]
    table = Table(columns=("what", "value"), rows=tuple(rows), wide=1)
    return CommandResult(table=table, verbatim=one.text, data=_data(one, is_usable) | {"text": one.text})


def new(shell: Shell, argument: str) -> CommandResult:
    """Begin one from a template, in the editor."""
    given = read(argument, switches=(_OWN,))
    if len(given.words) != 1:
        return refuse("Write /agents new NAME, or /agents new NAME --user for one that goes with you to every project")
    if shell.config.incognito:
        return refuse("An incognito clio stores nothing; start without --incognito.")
    name, own = given.words[0].lower(), _OWN in given.options
    home = shell.loaded.home if own else shell.loaded.project / FOLDER_NAME
    path = home / "agents" / f"{name}.md"
    text = fill_prompt("context/new_agent", agent=name)
    try:
        read_definition(text, stem=name, shown=path.name, own=own)
    except Unreadable as error:
        return refuse(f"No agent can be called {name[:64]!r}: {error}")
    if path.exists():
        return refuse(f"There is an agent {name!r} already; open {path} to change it")
    return CommandResult(follow_up=EditText(text=text, then=lambda saved: _store(shell, path, saved, own=own)))


def _store(shell: Shell, path: Path, text: str, *, own: bool) -> CommandResult:
    """Write what the person saved, where it defines an agent, and let it be used: who wrote it trusts it."""
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_BYTES:
        return refuse(f"A definition has up to {MAX_BYTES:,} bytes, and this has {len(data):,}; say it in fewer words")
    try:
        read_definition(text, stem=path.stem, shown=path.name, own=own)
    except Unreadable as error:
        return refuse(f"The agent was not written: {error}")
    make_folder(path.parent)
    write_atomic(path, data, 0o644)
    written = next((one for one in _folders(shell).find()[0] if one.shown.endswith(path.name)), None)
    if written is not None and not own:
        Trust(shell.loaded.home).add(shell.loaded.project, as_widening(written))
    return CommandResult(text=f"Wrote {code(str(path))}. The model may send it from the next session on.")


def _folders(shell: Shell) -> DefinitionFolders:
    return DefinitionFolders(shell.loaded.project, shell.loaded.home, os.environ)


def _data(one: Definition, usable: bool) -> dict[str, object]:
    return {
        "name": one.name,
        "description": one.description,
        "path": one.shown,
        "own": one.own,
        "usable": usable,
        "tools": list(one.tools) if one.tools else None,
        "model": one.model or None,
        "max_steps": one.max_steps,
    }


def _suggest(shell: Shell) -> Iterable[Suggestion]:
    try:
        return [Suggestion(text=one.name, note=one.description[:60]) for one in _folders(shell).find()[0]]
    except (ClioError, OSError):
        return ()


AGENTS: tuple[Command, ...] = (
    Command(
        name="agents",
        summary="sub-agents the model may send: windows and words of their own",
        handler=show_list,
        subcommands=(
            Command(name="list", summary="every one and where it is", handler=show_list),
            Command(name="show", argument="NAME", summary="what it is told", handler=show, suggest=_suggest),
            Command(
                name="new", argument="NAME [--user]", summary="begin one here, or one for every project", handler=new
            ),
        ),
    ),
)
