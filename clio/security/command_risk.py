"""How dangerous each simple command is, from its words alone. Pure: where its paths lie is judged elsewhere."""

import re

from msgspec.structs import replace

from clio.algorithms.late_pattern import LatePattern
from clio.security import risk_tables as tables
from clio.security.git_risk import assess_git
from clio.security.readonly.find import STARTERS
from clio.security.readonly.git import is_listed_subcommand
from clio.security.readonly.grammar import Judgement
from clio.security.readonly.judge import is_listed, is_started, judge_read_only
from clio.security.risk import Risk, exceeds, has_option, high, low, medium, worst
from clio.security.shell.open_words import own_name
from clio.security.shell.peel import WITHHOLDS
from clio.security.shell.state import decides
from clio.security.shell.words import CommandLine, SimpleCommand, Word, names
from clio.security.shell.wrappers import SAME_SHELL, SHELLS, is_loader

_AS_ANOTHER = frozenset({"sudo", "doas", "su", "chroot"})
ELSEWHERE = _AS_ANOTHER | {"ssh"}
"""Wrappers that have a command act as another user, or on another machine."""
PLAIN_STARTERS = (
    names("""
    time command builtin exec nohup setsid timeout gtimeout nice ionice stdbuf taskset caffeinate xargs find fd fdfind
    watch jobs coproc ! env arch setarch i386 i486 i586 i686 x86_64 linux32 linux64 uname26 flock cmake
    """)
    | SHELLS
    | SAME_SHELL
)
"""Wrappers that start nothing but the call they are given, found on the same PATH, and hand on all variables."""
_DOWNLOADS = frozenset({"curl", "wget", "fetch", "http", "https", "aria2c"})
_HARMLESS = names("""
    LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI COLUMNS LINES TERM COLORTERM NODE_ENV
    RUST_BACKTRACE RUST_LOG
    PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONFAULTHANDLER
    VERBOSE DEBUG CARGO_TERM_COLOR PY_COLORS PIP_DISABLE_PIP_VERSION_CHECK
    HYPOTHESIS_PROFILE PYTEST_DISABLE_PLUGIN_AUTOLOAD
    """)
_LOCALE = LatePattern(r"(?!.*\.\.)[\w.@:-]*", re.ASCII)
_ZONE = LatePattern(r"(?!.*\.\.)(?:[A-Za-z][\w+-]*(?:/[A-Za-z][\w+-]*){0,2})?", re.ASCII)
_PLAIN_VALUE = LatePattern(r"[\w.,:=+%-]*", re.ASCII)
"""No variable of the environment, which programs would show, and no path."""
_ANY_WORD = "1"
_ONLY_READ = names("""
    ls cat head tail stat df pwd echo printf true false : whoami id uname arch which type whereis basename dirname
    realpath readlink cut tr nl tac rev fold fmt column paste join comm cmp md5sum sha1sum sha224sum sha256sum sha384sum
    sha512sum b2sum cksum sum md5 shasum od hexdump strings seq expr test [ [[ sleep ps uptime free nproc lscpu
    cal locale getconf tty groups cd pushd popd dirs let wait jobs exit return break continue shift read mapfile
    readarray getopts unset eza exa tsort zcat gzcat
    """)
"""Programs that read whatever their arguments are, so that an open one is a small risk."""
_SOURCE = r"(?:\.|(?:\./)?(?:src|lib|tests?)/?|\$PWD|\$\{?PYTHONPATH\}?|\$\(pwd\))"
_SOURCES = LatePattern(rf"{_SOURCE}(?::{_SOURCE})*:?")


def assess(command: SimpleCommand, line: CommandLine | None = None) -> Risk:
    """The danger of one simple command as it is written, wrappers and pipes considered.

    Args:
        line: the line it is of; what xargs starts is known to be harmless only with it.
    """
    for wrapper in command.wrappers:
        if wrapper in _AS_ANOTHER:
            return high(f"it acts as another user ({wrapper})")
        if wrapper == "ssh":
            return high("it runs on another machine")
    if not command.words:
        return assess_env(command, line)
    if command.words[0].dynamic:
        return high("its program is only known when it runs")
    own, env = worst([_program(command, line), _assess_wrappers(command)]), assess_env(command, line)
    return env if exceeds(env.level, own.level) else own


def _assess_wrappers(command: SimpleCommand) -> Risk:
    """The danger of what starts a command: `uv run`, `bundle exec` and their like run a project's code first."""
    if WITHHOLDS in command.wrappers:
        return medium("it keeps variables from the command that clio sets for what runs unasked")
    other = next((each for each in command.wrappers if each not in PLAIN_STARTERS and not is_loader(each)), None)
    return medium(f"{other} may run something else first") if other else low("it is started as it is")


def assess_env(command: SimpleCommand, line: CommandLine | None = None) -> Risk:
    """The danger of the variables a command sets, the worst of them: some choose which code runs."""
    settings = [_setting(command, name, value, line) for name, value in command.env]
    return worst([low("it sets nothing that matters"), *settings])


def _setting(command: SimpleCommand, name: str, value: str, line: CommandLine | None) -> Risk:
    if harmless_variable(name, value) or _its_own(command, name, line):
        return low("it sets nothing that matters")
    if names_own_code(command, name, value):
        return medium(f"the variable {name} says where the project's code lies")
    if decides(name):
        return high(f"the variable {name} can change which code runs")
    return medium(f"it sets the variable {name}")


def harmless_variable(name: str, value: str) -> bool:
    """Whether a variable cannot change what a command does, only how it looks or how much it says."""
    if name in ("PAGER", "GIT_PAGER"):
        return value in ("cat", "")
    if name in ("GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS"):
        return value == "0"
    if name in ("LANG", "LANGUAGE") or name.startswith("LC_"):
        # A path here would lead to translations in the project, whose formats can print all that is in memory.
        return _LOCALE.fullmatch(value) is not None
    if name == "TZ":
        return _ZONE.fullmatch(value) is not None
    return name in _HARMLESS and _PLAIN_VALUE.fullmatch(value) is not None


def names_own_code(command: SimpleCommand, name: str, value: str) -> bool:
    """Whether a variable leads a run of the project's tests, which run its code as they are, to that very code."""
    tests = command.program in ("pytest", "export") or command.argv[1:3] in (("-m", "pytest"), ("-m", "unittest"))
    return name == "PYTHONPATH" and tests and _SOURCES.fullmatch(value) is not None


def _its_own(command: SimpleCommand, name: str, line: CommandLine | None) -> bool:
    """Whether a variable is nobody's but the line's: `count=0`, and how `read` parts what it reads."""
    if name == "IFS":
        return command.program == "read" and not command.wrappers
    if command.words or not own_name(name):
        return False
    return not name[:1].isupper() or (line is not None and _reads_variable(line, name))


def _reads_variable(line: CommandLine, name: str) -> bool:
    """Whether a word of a line is made of a variable, so that the line sets it for itself."""
    words = [word.text for command in line.commands for word in command.words]
    words += [redirect.target.text for redirect in line.redirects]
    words += [value for command in line.commands for _, value in command.env]
    words += [word.text for _, each in line.loops for word in each]
    return any(f"${{{name}" in text or re.search(rf"\${name}\b", text) for text in words)


def known_name(text: str) -> bool:
    """Whether a program is named plainly, or by a path in a system folder, so that its name says what it is."""
    return "/" not in text or text[: text.rindex("/") + 1] in tables.STANDARD_FOLDERS


def judge_reading(command: SimpleCommand, line: CommandLine | None = None) -> Judgement | str:
    """What a call reads where its grammar says that it does nothing else; otherwise why that is not known.

    A word that is only known when the command runs counts as any plain one here: whether that is so is judged by
    `open_words`, and a call with a word that matters is asked about. What find or xargs starts is judged whole.
    """
    if not command.words:
        return Judgement()
    if not is_listed(command.program) or not known_name(command.words[0].text):
        return f"clio does not know the program {command.words[0].text!r}"
    if is_started(command) or command.program in STARTERS:
        return judge_read_only(command, line)
    words = tuple(Word(_ANY_WORD) if word.dynamic else word for word in command.words)
    return judge_read_only(replace(command, words=(*words, *map(Word, command.declares))), line)


def _program(command: SimpleCommand, line: CommandLine | None) -> Risk:
    program = command.program
    if program in tables.HIGH:
        return high(tables.HIGH[program])
    if program.startswith("mkfs"):
        return high("it formats a disk")
    if not program.isascii():
        return high("its name holds letters that may only look like others")
    if not known_name(command.words[0].text):
        return medium(f"it runs the program {command.words[0].text!r}")
    if not is_listed(program):
        return _danger(command)
    judged = judge_reading(command, line)
    if isinstance(judged, Judgement) and (not command.dynamic or is_started(command) or program in _ONLY_READ):
        return low(f"{program} only reads")
    judged = "an argument is only known when it runs" if isinstance(judged, Judgement) else judged
    danger = _danger(command)
    other_form = program in tables.BUILDS and not judged.startswith("the option")
    if danger.level == "high" or other_form or (program == "git" and not is_listed_subcommand(command.words)):
        return danger
    return medium(judged if judged.startswith(program) else f"{program}: {judged}")


def _danger(command: SimpleCommand) -> Risk:
    """How dangerous a program is that is not known only to read, and why."""
    program, rest = command.program, command.argv[1:]
    if program in SHELLS or program in tables.INTERPRETERS:
        return _interpreter(command)
    special = _special(command, program, rest)
    if special is not None:
        return special
    if program in tables.HIGH_WORDS:
        words, what = tables.HIGH_WORDS[program]
        if found := next((word for word in rest if word in words), None):
            return high(f"{program} {found} changes the {what}")
    if program in tables.BUILDS or program in tables.HIGH_WORDS:
        return medium(f"{program} runs the project's or a package's code")
    if program in tables.FILES:
        return medium(f"{program} changes files")
    return medium(f"clio does not know the program {program!r}")


def _special(command: SimpleCommand, program: str, rest: tuple[str, ...]) -> Risk | None:
    """Programs whose danger hangs on their arguments in a way of their own."""
    match program:
        case "git":
            return assess_git(command)
        case "rm" | "unlink":
            wide = any(word.glob or word.dynamic for word in command.words[1:])
            many = has_option(rest, "rRf", ("recursive", "force")) or wide
            return high("it deletes without a way back") if many else medium("it deletes a file")
        case "find" if "-delete" in rest:
            return high("find deletes what it finds")
        case "chmod" | "chown" | "chgrp":
            wide = has_option(rest, "R", ("recursive",)) or any("s" in word or "777" in word for word in rest[:1])
            return high(f"{program} changes many permissions") if wide else medium(f"{program} changes permissions")
        case "curl" | "wget":
            sends = has_option(rest, tables.UPLOAD_LETTERS if program == "curl" else "", tables.UPLOADS)
            method = any(word.upper() in ("POST", "PUT", "PATCH", "DELETE") for word in rest)
            return high(f"{program} sends data away") if sends or method else medium(f"{program} uses the network")
        case "eval" | "source" | ".":
            return medium("it runs a script in this shell")
        case "env" | "printenv":
            return medium("it shows the environment, secrets included")
        case _:
            return None


def _interpreter(command: SimpleCommand) -> Risk:
    program, rest = command.program, command.argv[1:]
    file = next((word for word in rest if not word.startswith("-")), None)
    reads_input = file is None or "-s" in rest
    if command.upstream and reads_input and not _has_code(rest):
        download = next((name for name in command.upstream if name in _DOWNLOADS), None)
        return high(f"it runs what {download} downloads" if download else "it runs what the pipe brings")
    if any(word.dynamic for word in command.words[1:2]):
        return high("the program text is only known when it runs")
    return medium("it runs code clio cannot look into" if _has_code(rest) else f"{program} runs a program")


def _has_code(rest: tuple[str, ...]) -> bool:
    return any(word.startswith(("-c", "-e", "-m", "-r", "--eval", "--print", "-p")) for word in rest)
