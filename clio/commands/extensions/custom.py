"""Custom commands: each Markdown file of the folders is a slash command, and its text is what the person asks for."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from clio.commands.called import MakePrompt, Meaning
from clio.commands.command import Command, Shell
from clio.commands.extensions.custom_files import CustomFile, CustomFolders
from clio.commands.extensions.custom_template import commands_of, fill, fill_command, join, pieces, put_output
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult, refuse
from clio.config.loaded import Widening
from clio.config.trust import Trust


class CustomCommands:
    """A `CommandSource`. home: clio's own folder."""

    def __init__(self, project: Path, home: Path, env: Mapping[str, str]) -> None:
        self._folders = CustomFolders(project, home, env)
        self._project = project
        self._trust = Trust(home)

    def __call__(self) -> tuple[Command, ...]:
        """The commands there are now."""
        return tuple(self._command(file) for file in self._folders.read()[0])

    def problems(self) -> tuple[str, ...]:
        """Sentences on files that are no commands, or not understood whole."""
        files, problems = self._folders.read()
        return (*problems, *(file.problem for file in files if file.problem))

    def withheld(self) -> tuple[Widening, ...]:
        """The project's commands that run something or name a model, and that the folder is not trusted with."""
        wanted = [as_widening(file) for file in self._folders.read()[0] if not file.own and _is_wide(file)]
        known = self._trust.fingerprints(self._project) if wanted else frozenset[str]()
        return tuple(value for value in wanted if value.fingerprint not in known)

    def _command(self, file: CustomFile) -> Command:
        return Command(
            name=file.name,
            argument=file.hint,
            summary=file.description,
            handler=lambda shell, argument: self._call(shell, file, argument),
            source=file.shown,
            own=file.own,
        )

    def _call(self, shell: Shell, file: CustomFile, argument: str) -> CommandResult:
        if not file.template:
            return refuse(f"{file.shown} holds no text; write what {code('/' + file.name)} is to ask for")
        if any(value.where == file.shown for value in self.withheld()):
            runs = ", ".join(code(command) for command in commands_of(file.template))
            does = [
                *([f"runs {runs}"] if runs else []),
                *([f"asks for the model {code(file.model)}"] if file.model else []),
            ]
            return refuse(
                f"{code('/' + file.name)} is the project's and {' and '.join(does)}, and this folder is not "
                "trusted with it; look at it and allow it with `/trust`, or outside with `clio config trust`"
            )

        async def make() -> Meaning:
            return await _meaning(shell, file, argument)

        return CommandResult(follow_up=MakePrompt(said=f"/{file.name} {argument}".rstrip(), make=make))


def _is_wide(file: CustomFile) -> bool:
    """Whether the command does more than put text into the conversation: a program runs, or another model answers."""
    return bool(file.model or commands_of(file.template))


def as_widening(file: CustomFile) -> Widening:
    """The command as it is shown before trust is asked for: what it runs, the model it names, and where it is from."""
    runs = (*commands_of(file.template), *([f"model: {file.model}"] if file.model else []))
    mark = hashlib.sha256(json.dumps([file.shown, *runs]).encode("ascii")).hexdigest()
    value = "; ".join(" ".join(command.split()) for command in runs)
    shown = value if value.isprintable() else json.dumps(value)
    return Widening(key=f"command /{file.name}", value=shown, where=file.shown, fingerprint=f"command:{mark}")


async def _meaning(shell: Shell, file: CustomFile, argument: str) -> Meaning:
    """The file's text with the words and the commands' outputs put in; the commands run one after the other."""
    parts: list[str] = []
    named: list[str] = []
    for piece in pieces(file.template):
        if piece.is_command:
            parts.append(put_output(await shell.output_of(fill_command(piece.text, argument))))
        else:
            parts.append(fill(piece.text, argument))
            named.append(parts[-1])
    return Meaning(text=join(parts), source=file.shown, named="\n".join(named), model=file.model, tools=file.tools)
