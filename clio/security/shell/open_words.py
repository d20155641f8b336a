"""Open words that need no question: numbers the shell itself keeps, and what a line prints of its own.

Pure but for the environment.
"""

import os
import re

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.state import counted, decides, is_number
from clio.security.shell.words import SimpleCommand, Word, has_glob, names

# `$?`, `${#files[@]}`, `${PIPESTATUS[0]}`: whatever they are, they are numbers.
# So is what arithmetic makes of numbers; whether its names hold any is looked at by the parser of the line.
_NUMBERS = LatePattern(
    r"\$[?#!$]|\$\{[?#!$]\}|\$\{#\w+\[[@*]\]\}|\$\{PIPESTATUS\[(?:\d+|[@*])\]\}"
    r"|\$\(\([\w\s+*/%<>=!&|?:,$-]*\)\)"
)
_VARIABLE = LatePattern(r"(?<!\\)(?:\\\\)*\$\{?[#!]?([A-Za-z_]\w*)")
_FREE = LatePattern(r"[$`{]")
# POSIX leaves names in small letters to the line itself; programs are told what they need, secrets too, in capitals.
_OWN = LatePattern(r"[a-z_][a-z0-9_]*")
_TOLD = ("npm_", "git_", "ac_")
_CAPITALS = LatePattern(r"[A-Z][A-Z0-9_]*")
_OF_SHELLS = names("""
    ARGV ARGV0 CHILD_MAX COLUMNS COPROC CPUTYPE EGID EMACS EPOCHREALTIME EPOCHSECONDS ERRNO EUID FCEDIT FIGNORE FPATH
    FUNCNAME FUNCNEST GID GROUPS HISTCHARS HISTCMD HISTCONTROL HISTFILE HISTFILESIZE HISTIGNORE HISTSIZE HISTTIMEFORMAT
    HOST HOSTFILE HOSTNAME HOSTTYPE IGNOREEOF INPUTRC KEYTIMEOUT LINES LISTMAX LOGCHECK MACHTYPE MAIL MAILCHECK MAILPATH
    MANPATH MAPFILE MODULE_PATH OPTARG OPTERR OSTYPE PIPESTATUS PPID PROMPT PSVAR REPLY REPORTTIME SAVEHIST SHLVL STTY
    TERM TERMINFO TIMEFMT TIMEFORMAT TMOUT TMP TEMP TMPPREFIX TMPSUFFIX TRY_BLOCK_ERROR TTY UID USERNAME VENDOR WATCH
    WATCHFMT WORDCHARS USER LOGNAME CI VIRTUAL_ENV NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE DEBUGINFOD_URLS
    NO_UPDATE_NOTIFIER TZ LANG LANGUAGE SYSTEMD_PAGER SSH_ASKPASS SSH_ASKPASS_REQUIRE COLORTERM
    """)
_OF_SHELL_FAMILIES = (
    *("BASH", "COMP_", "LC_", "READLINE_", "PROMPT", "RPROMPT", "RPS", "PS", "ZSH", "ZLE", "HIST", "ENV", "KSH"),
    *("GH_", "GO", "PIP_", "SSH_", "HOMEBREW_", "NPM", "XDG_", "SYSTEMD_", "DEBUGINFOD", "NO_", "CLIO", "MAN", "LESS"),
)
"""What shells themselves look at, or clio sets for a command, so that it is handed on to programs."""
_PLAIN = names("HOME PATH PWD OLDPWD USER SHELL LANG TERM CI VIRTUAL_ENV NODE_ENV SECONDS LINENO PIPESTATUS OSTYPE")
# What a loop may go through: words, files of the folder and below it, numbers, and what a command says.
_PART = r"(?!\.[.*?])[\w.*?@:+-]+"
_ITEM = rf"(?:{_PART}(?:/{_PART})*/?|\{{\d+\.\.\d+\}}|\$\([^()`\n]*\))"
_ONE_WORD = LatePattern(r"[\w./@:+,=%~-]*")
_MOVES = LatePattern(r"\b(?:cd|pushd|popd|chdir)\b")
_ABOUT_FILES = LatePattern(r"\s-[a-mp-yA-Z]\s")


def own_name(name: str) -> bool:
    """Whether a variable belongs to the line alone: no program looks at it, and no secret comes in it.

    A name in capitals does where the shell neither inherits it, so that no program is told, nor looks at it itself.
    """
    if _CAPITALS.fullmatch(name):
        shells = name in _OF_SHELLS or name.startswith(_OF_SHELL_FAMILIES) or is_number(name) or decides(name)
        return not shells and name not in os.environ
    return _OWN.fullmatch(name) is not None and not decides(name) and not name.startswith(_TOLD)


def settled(command: SimpleCommand, line: str | None, start: str = "") -> bool:
    """Whether nothing about a command is open that could matter to what it does.

    That is so without open words; where a test compares, or `echo` and `printf` print, numbers of the shell; and where
    they do so with what the commands of the line say, each of them judged by itself. So it is with a here-document.
    line: all of the text, in which each variable must be one the line sets: others may hold what is nobody's business;
    None where a shell in the line reads a text of its own. start: the folder it starts in.
    """
    opened, fed = [word for word in command.words if word.dynamic], command.stdin == ""
    if opened and not _only_shows(command):
        return False
    if not fed and not any(_FREE.search(_NUMBERS.sub("", word.text)) for word in opened):
        return True
    if line is None:
        return False
    text = line.replace("\\\n", "")
    # Without quotes the shell parts what a variable holds, and takes it for a pattern; not so a number.
    numbers = counted(text) | _single_words(text, start)
    if any(word.glob and not numbers.issuperset(_parts(word.text)) for word in opened):
        return False
    return all(name in _PLAIN or _set_in(text, name) for name in set(_VARIABLE.findall(text)))


def _single_words(text: str, start: str) -> set[str]:
    """The variables from before the line that hold neither blanks nor patterns, and that it leaves alone."""
    values = {
        name: os.environ.get(name, "")
        for name in _PLAIN - {"HOME", "OLDPWD", "LINENO", "SECONDS", "PIPESTATUS", "OSTYPE"}
    }
    values["PWD"] = " " if _MOVES.search(text) else start or " "
    return {
        name
        for name, value in values.items()
        if _ONE_WORD.fullmatch(value) and not re.search(rf"\b{name}\b(?<!\${name})(?<!\$\{{{name}(?=\}}))", text)
    }


def _only_shows(command: SimpleCommand) -> bool:
    match command.words[0]:
        case Word("echo" | "let", dynamic=False):  # what `let` calculates is looked at by the parser
            return True
        case Word("printf", dynamic=False):  # an open first word may turn into `-v` and a name
            return len(command.words) > 1 and not command.words[1].dynamic and command.words[1].text[:1] != "-"
        case Word("[", dynamic=False):
            return _ABOUT_FILES.search(command.words[-1].text) is None
        case _:
            return False


def _parts(text: str) -> set[str]:
    """The variables of a word, or the word itself where something else in it is open."""
    rest = _VARIABLE.sub("", text).replace("}", "")
    return {text} if _FREE.search(rest) or has_glob(rest) else set(_VARIABLE.findall(text))


def _set_in(line: str, name: str) -> bool:
    """Whether a line gives a variable of its own a value (`x=`, `read -r x`, `for x in`), and no names from outside."""
    if not own_name(name):
        return False
    loops = len(re.findall(rf"\bfor\s+{name}\b", line))
    if loops != len(re.findall(rf"\bfor {name} in(?: +{_ITEM})+ *[;\n]", line)) or re.search(rf"\b{name}\+?=\(", line):
        return False
    return loops > 0 or re.search(rf"\b{name}\+?=|\bread\b[^\n;&|]*\s{name}\b", line) is not None
