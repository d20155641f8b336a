"""What a command line was found to run, and the shell's own moves: folders, wrappers, scripts inside scripts. Pure."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from clio.security.shell.dialects import counts_on
from clio.security.shell.moves import MOVES, PLAINLY_STARTS, either
from clio.security.shell.peel import WITHHOLDS, Peeled
from clio.security.shell.state import CALCULATES, DECLARES, declared, declares_array, state_risk
from clio.security.shell.words import FROM_FILE, CommandLine, Redirect, SimpleCommand, Word, names
from clio.security.shell.wrappers import OTHER_GRAMMARS, SAME_SHELL, SHELLS, peel, reads_device, reads_input

_MAX_NESTING = 6
_RESERVED = names("if then else elif fi do done case esac while until for select function { } [[ in ((")


class Place(Struct, frozen=True):
    """Where in the line the walk is."""

    upstream: tuple[str, ...] = ()
    stdin: str | None = None
    depth: int = 0


class Collector:
    """Gathers the simple commands of one line; `parse` reads a script found inside it.

    plain: whether a shell reads the line that knows less than bash; handed on to `parse`.
    """

    def __init__(self, parse: Callable[[str, bool], CommandLine], *, plain: bool) -> None:
        self.parse = parse
        self.plain = plain
        self.commands: list[SimpleCommand] = []
        self.redirects: list[Redirect] = []
        self.unknown: list[str] = []
        self.loops: list[tuple[str, tuple[Word, ...]]] = []
        self.arguments: list[tuple[Word, ...]] = []
        self.late_scripts: list[Word] = []
        self.second_reading: list[SimpleCommand] = []
        self.hidden_programs: list[str] = []
        self.fork_bomb = False
        self.moved = False

    def result(self) -> CommandLine:
        commands, redirects = self.commands, self.redirects
        if self.moved:
            commands = [replace(command, folders=None) for command in commands]
            redirects = [replace(each, folders=None) for each in redirects]
        return CommandLine(
            commands=tuple(commands),
            redirects=tuple(redirects),
            unknown=tuple(dict.fromkeys(self.unknown)),
            fork_bomb=self.fork_bomb,
            loops=tuple(self.loops),
            arguments=tuple(self.arguments),
            late_scripts=tuple(self.late_scripts),
            second_reading=tuple(self.second_reading),
            hidden_programs=tuple(dict.fromkeys(self.hidden_programs)),
        )

    def add(self, command: SimpleCommand) -> None:
        self.commands.append(command)

    def hide(self, why: str) -> None:
        """Note that programs may run which the line does not name."""
        self.unknown.append(why)
        self.hidden_programs.append(why)

    def expand(self, command: SimpleCommand, place: Place, depth: int = 0) -> None:
        """Add a call, or what it starts where it is a wrapper."""
        if depth > _MAX_NESTING:
            self.unknown.append("wrappers are nested too deeply")
            self.add(command)
            return
        if command.words and (command.words[0].dynamic or (command.words[0].glob and command.words[0].text != "[")):
            self.unknown.append(f"the program {command.words[0].text!r} is only known when it runs")
        if command.program in _RESERVED:
            self.unknown.append(f"the shell grammar takes {command.program!r} for a program")
        if command.program in DECLARES:
            if declares_array(command):
                self.unknown.append(CALCULATES)
            words, env = declared(command)
            named = (name for name, _ in env[len(command.env) :])
            command = replace(command, words=words, env=env, declares=(*command.declares, *named))
        if self.plain and counts_on(command):
            self.unknown.append(CALCULATES)
        if why := state_risk(command):
            self.unknown.append(why)
        if command.program in MOVES and not PLAINLY_STARTS.issuperset(command.wrappers):
            self.moved = True
        if command.program in SHELLS | {".", "source"} and reads_device(command.words):
            self.hide(f"what {command.program!r} reads cannot be told")
        if command.program in ("enable", "hash") and any(word.text[:2] in ("-f", "-p") for word in command.words[1:]):
            self.hide(f"{command.program!r} gives a name another program")
        peeled = peel(command.words)
        if peeled is None:
            self.add(command)
            if command.program in SHELLS | OTHER_GRAMMARS:
                self.input(command, place)
            return
        self.inside(command, peeled, place, depth)

    def inside(self, command: SimpleCommand, peeled: Peeled, place: Place, depth: int) -> None:
        if peeled.unknown:
            self.unknown.append(peeled.unknown)
        if peeled.folder_unknown:
            command = replace(command, folders=None)
        if peeled.keep or peeled.unknown:
            self.add(command)
        wrappers = (*command.wrappers, command.program, *([WITHHOLDS] if peeled.withholds else []))
        for call in peeled.calls:
            inner = SimpleCommand(
                words=call,
                written=command.written,
                env=(*command.env, *peeled.env),
                wrappers=wrappers,
                upstream=command.upstream,
                folders=command.folders,
                stdin=command.stdin,
            )
            self.expand(inner, place, depth + 1)
        if peeled.arguments:
            self.arguments.append(peeled.arguments)
        for script in peeled.scripts:
            self.script(script, command, place)

    def input(self, command: SimpleCommand, place: Place) -> None:
        """What a shell reads from its input: a here-document is followed; a pipe, or a function's input, cannot be."""
        if command.stdin == FROM_FILE:  # as if the file were its argument, but for what `< <(…)` prints
            if any(each.operator in ("<", "<>") and each.target.text.startswith("<(") for each in self.redirects):
                self.hide(f"what {command.program!r} reads cannot be told")
            return
        if command.stdin is not None:
            self.script(Word(command.stdin, dynamic=not command.stdin), command, place)
        elif reads_input(command.words):
            self.hide(f"what {command.program!r} reads cannot be told")

    def script(self, script: Word, command: SimpleCommand, place: Place) -> None:
        """Text that another shell will read as a command line of its own."""
        if script.dynamic or script.glob:
            self.unknown.append(f"the text {command.program!r} runs is only known when it runs")
            self.late_scripts.append(script)
            return
        if command.program in OTHER_GRAMMARS:
            self.unknown.append(f"what {command.program!r} starts cannot be told")
            return
        own = command.program in SAME_SHELL
        line = self.parse(script.text, self.plain if own else command.program not in ("bash", "rbash"))
        self.unknown += line.unknown
        self.arguments += line.arguments
        self.late_scripts += line.late_scripts
        self.second_reading += line.second_reading
        self.hidden_programs += line.hidden_programs
        self.fork_bomb = self.fork_bomb or line.fork_bomb
        wrappers = (*command.wrappers, command.program)
        for each in line.commands:
            self.add(
                SimpleCommand(
                    words=each.words,
                    written=each.written,
                    env=(*command.env, *each.env),
                    wrappers=(*wrappers, *each.wrappers),
                    upstream=(*command.upstream, *each.upstream),
                    folders=_joined(command.folders, each.folders),
                    stdin=each.stdin,
                )
            )
        self.redirects += [
            Redirect(operator=each.operator, target=each.target, folders=_joined(command.folders, each.folders))
            for each in line.redirects
        ]
        if own and any(each.program in MOVES for each in line.commands):
            self.moved = True


def _joined(outer: tuple[str, ...] | None, inner: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Every folder the inner line may be in when the outer one is in any of its own."""
    if outer is None or inner is None:
        return inner if inner is not None and all(path.startswith("/") for path in inner) else None
    found = [
        path if path.startswith(("/", "~")) or not base else (f"{base}/{path}" if path else base)
        for base in outer
        for path in inner
    ]
    return either(tuple(found))
