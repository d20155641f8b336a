"""What a call would do, in rows: the diff, the command and every simple command in it, the address, the paths."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, assert_never

from rich.text import Text

from clio.security.actions import Action, CallServer, ChangeFiles, FetchUrl, FileChange, Internal, ReadFiles, RunCommand
from clio.security.shell.parser import parse_command_line
from clio.tools.files.diff import diff_change
from clio.ui.diffs.view import DiffRows
from clio.ui.spelling import spell_out_foreign, spell_out_line, spell_out_lines
from clio.ui.theme import Theme

CommandFact = Literal["line", "in", "runs", "writes", "reads", "looks like another name", "not understood"]
Display = Callable[[Path], str]
"""Names a path for people, relative to the workspace."""


def describe_action(action: Action, theme: Theme, width: int, display: Display) -> Sequence[Text]:
    """The rows, in full; those of a diff are made when they are asked for."""
    match action:
        case ChangeFiles(changes=changes):
            return describe_changes(changes, theme, width, display)
        case RunCommand(command=command, cwd=cwd, note=note):
            return [*_command(command, display(cwd), theme), *([Text(f"    {note}", theme.warning)] if note else [])]
        case FetchUrl(url=url):
            return [Text(f"  {line}") for line in spell_out_lines(url)]
        case ReadFiles(paths=paths):
            return [Text(f"  {spell_out_line(display(path))}") for path in paths]
        case CallServer(arguments=arguments):
            return [Text(f"  {line}") for line in spell_out_lines(arguments)]
        case Internal():
            return []
        case _:
            assert_never(action)


def describe_changes(changes: Iterable[FileChange], theme: Theme, width: int, display: Display) -> Sequence[Text]:
    """The diff of all of them; the file is named where that is not plain from the title."""
    changes = tuple(changes)
    named = len(changes) > 1 or any(change.kind in ("delete", "move") for change in changes)

    def name(path: Path) -> str:
        return display(path).replace("\n", "\\n")  # a name of two lines could pass for a line of the diff

    return DiffRows("".join(diff_change(change, name).text for change in changes), theme, width, names=named)


def command_facts(command: str, cwd: str) -> Iterator[tuple[CommandFact, str]]:
    """What a user must know of a command, nothing in it hidden: its lines, where it runs, what it does."""
    for line in spell_out_lines(command):
        yield "line", line
    if cwd not in ("", "."):
        yield "in", spell_out_line(cwd)
    parsed = parse_command_line(command)
    runs = [" ".join(word.text for word in simple.words) for simple in parsed.commands if simple.words]
    if len(runs) > 1 or (runs and runs[0] != command.strip()):
        for run in runs:
            yield "runs", spell_out_line(run)
    for program in dict.fromkeys(simple.words[0].text for simple in parsed.commands if simple.words):
        if not program.isascii():
            yield "looks like another name", spell_out_foreign(program)
    for redirect in parsed.redirects:
        if redirect.target.text != "/dev/null":
            kind: CommandFact = "writes" if redirect.writes else "reads"
            yield kind, spell_out_line(redirect.target.text)
    for unknown in parsed.unknown:
        yield "not understood", spell_out_line(unknown)


def _command(command: str, cwd: str, theme: Theme) -> Iterator[Text]:
    mark = "$"
    for kind, text in command_facts(command, cwd):
        match kind:
            case "line":
                yield Text(f"  {mark} {text}", theme.strong)
                mark = " "
            case "in" | "runs":
                yield Text(f"    {kind} {text}", theme.faint)
            case "writes" | "reads":
                yield Text(f"    {kind} {text}", theme.warning)
            case "not understood" | "looks like another name":
                yield Text(f"    {kind}: {text}", theme.warning)
