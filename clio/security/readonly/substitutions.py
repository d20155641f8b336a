"""What `$(…)` gives a line where its command prints nothing but object names of git, or files of the project. Pure.

An object name is `[0-9a-f]+`, so that it is neither an option nor a path that leads anywhere. Names of files must be
checked by the caller, as for xargs: none may begin with a dash, part in several words, or lead out of the project.
"""

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.security.readonly.find import chooses_lines, lists_files
from clio.security.readonly.object_names import OBJECT, prints_objects
from clio.security.shell.words import CommandLine, SimpleCommand, Word, names

_FUNCTION = LatePattern(r"\(\s*\)|\bfunction\b")
_NULS = LatePattern(r"-print0|--(?:null|print0|zero)\S*|-\w*[zZ0]\w*")
"""Options by which names end with a NUL, which the shell drops: of `.` and `./a` it makes `../a`."""
_FED_WITH_OBJECTS = names("git echo printf")
_FED_WITH_FILES = names("""
    wc cat head tail ls stat grep egrep fgrep md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum
    basename dirname echo nl cut du printf sed sort file git test [
    """)


class Printed(Struct, frozen=True):
    """What a substitution may stand for.

    values: each alternative, a text with blanks being several words where the shell parts them. files: whether the
    words are names of files of the project, for which a pattern stands. programs: those that may be given them.
    """

    values: tuple[Word, ...]
    programs: frozenset[str] | None = None
    files: bool = False


FILES = Printed((Word("*", glob=True), Word("")), _FED_WITH_FILES, files=True)
_HERE = Printed((Word("."),))


def has_function(text: str) -> bool:
    """Whether a line may define a function, so that names of programs may mean something else."""
    return _FUNCTION.search(text) is not None


def find_printed(line: CommandLine) -> Printed | None:
    """What the commands of a substitution may print; None where that cannot be told."""
    commands = line.commands
    plain = all(
        not (each.env or each.wrappers or each.declares or each.dynamic) and each.stdin is None for each in commands
    )
    if not commands or not plain or line.unknown or line.redirects or line.loops:
        return None
    if list_files(commands):
        return FILES
    first, *more = commands
    if more:
        return None
    return _HERE if first.words == (Word("pwd"),) else _find_objects(first)


def list_files(commands: tuple[SimpleCommand, ...]) -> bool:
    """Whether commands of one pipe list files of the project: the first does, the others choose among its lines."""
    first, rest = commands[0], commands[1:]
    in_order = all(
        each.upstream[-at:] == tuple(one.program for one in commands[:at]) for at, each in enumerate(rest, 1)
    )
    if any(each.program == "tr" or any(map(_NULS.fullmatch, each.argv)) for each in commands):
        return False
    return in_order and not first.upstream and lists_files(first) and all(map(chooses_lines, rest))


def _find_objects(command: SimpleCommand) -> Printed | None:
    """The object names git prints. `git rev-parse x` prints `x` where there is no such object."""
    operands = prints_objects(command)
    if operands is None:
        return None
    given = operands if "rev-parse" in command.argv else ()
    texts = ("", OBJECT, f"{OBJECT} {OBJECT}", *given)
    return Printed(tuple(map(Word, texts)), _FED_WITH_OBJECTS)
