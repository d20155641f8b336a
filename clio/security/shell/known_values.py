"""Determine which values the variables and substitutions of a line can have, as far as the line itself shows."""

import os
import re
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from clio.security.readonly.judge import FILES, Printed, find_printed, has_function, list_files
from clio.security.shell.command_line import (
    CommandLine,
    SimpleCommand,
    Word,
    counted,
    decides,
    has_glob,
    is_number,
    word_set,
)
from clio.security.shell.parser import parse_command_line

# `$?`, `${#files[@]}`, `${PIPESTATUS[0]}` are always numbers. So is the result of arithmetic on numbers; the parser of
# the line checks whether its names contain numbers.
_NUMBERS = re.compile(
    r"\$[?#!$]|\$\{[?#!$]\}|\$\{#\w+\[[@*]\]\}|\$\{PIPESTATUS\[(?:\d+|[@*])\]\}"
    r"|\$\(\([\w\s+*/%<>=!&|?:,$-]*\)\)"
)
_VARIABLE = re.compile(r"(?<!\\)(?:\\\\)*\$\{?[#!]?([A-Za-z_]\w*)")
_FREE = re.compile(r"[$`{]")
# POSIX reserves lower-case names for the user of the shell; programs receive their settings, secrets included, in
# upper-case names.
_OWN = re.compile(r"[a-z_][a-z0-9_]*")
_TOLD = ("npm_", "git_", "ac_")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]*")
_OF_SHELLS = word_set("""
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
"""Variables that shells read themselves, or that clio sets for a command and that are passed on to programs."""
_PLAIN = word_set("HOME PATH PWD OLDPWD USER SHELL LANG TERM CI VIRTUAL_ENV NODE_ENV SECONDS LINENO PIPESTATUS OSTYPE")
# What a loop may iterate over: words, files of the folder and below it, numbers, and the output of commands.
_PART = r"(?!\.[.*?])[\w.*?@:+-]+"
_ITEM = rf"(?:{_PART}(?:/{_PART})*/?|\{{\d+\.\.\d+\}}|\$\([^()`\n]*\))"
_ONE_WORD = re.compile(r"[\w./@:+,=%~-]*")
_MOVES = re.compile(r"\b(?:cd|pushd|popd|chdir)\b")
_ABOUT_FILES = re.compile(r"\s-[a-mp-yA-Z]\s")


def is_line_variable(name: str) -> bool:
    """Whether a variable is private to the line: no program reads it, and no secret is passed in it.

    An upper-case name is private if the shell neither inherits it (so it is not exported) nor reads it itself.
    """
    if _CAPITALS.fullmatch(name):
        shells = name in _OF_SHELLS or name.startswith(_OF_SHELL_FAMILIES) or is_number(name) or decides(name)
        return not shells and name not in os.environ
    return _OWN.fullmatch(name) is not None and not decides(name) and not name.startswith(_TOLD)


def is_settled(command: SimpleCommand, line: str | None, start: str = "") -> bool:
    """Whether no word that is computed at run time can affect what a command does.

    True without computed words; if a test compares, or `echo` and `printf` print, numbers of the shell; and if they use
    the output of commands in the line, each of which is judged separately. The same applies to a here-document.

    Args:
        line: the whole text. Each variable in it must be set by the line, because others may contain secrets. None
        if a
            shell in the line parses a script of its own.
        start: the folder it starts in.
    """
    opened, fed = [word for word in command.words if word.dynamic], command.stdin == ""
    if opened and not _only_shows(command):
        return False
    if not fed and not any(_FREE.search(_NUMBERS.sub("", word.text)) for word in opened):
        return True
    if line is None:
        return False
    text = line.replace("\\\n", "")
    # An unquoted variable is split into words and expanded as a pattern, unless it contains a number.
    numbers = counted(text) | _single_words(text, start)
    if any(word.glob and not numbers.issuperset(_parts(word.text)) for word in opened):
        return False
    return all(name in _PLAIN or _set_in(text, name) for name in set(_VARIABLE.findall(text)))


def _single_words(text: str, start: str) -> set[str]:
    """Return the inherited variables that contain neither blanks nor patterns and that the line does not change."""
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
        case Word("echo" | "let", dynamic=False):  # the parser examines the arithmetic of `let`
            return True
        case Word("printf", dynamic=False):  # a computed first word may become `-v` and a variable name
            return len(command.words) > 1 and not command.words[1].dynamic and command.words[1].text[:1] != "-"
        case Word("[", dynamic=False):
            return _ABOUT_FILES.search(command.words[-1].text) is None
        case _:
            return False


def _parts(text: str) -> set[str]:
    """Return the variables of a word, or the word itself if anything else in it is computed."""
    rest = _VARIABLE.sub("", text).replace("}", "")
    return {text} if _FREE.search(rest) or has_glob(rest) else set(_VARIABLE.findall(text))


def _set_in(line: str, name: str) -> bool:
    """Whether a line assigns a variable (`x=`, `read -r x`, `for x in`), but not from external file names."""
    if not is_line_variable(name):
        return False
    loops = len(re.findall(rf"\bfor\s+{name}\b", line))
    if loops != len(re.findall(rf"\bfor {name} in(?: +{_ITEM})+ *[;\n]", line)) or re.search(rf"\b{name}\+?=\(", line):
        return False
    return loops > 0 or re.search(rf"\b{name}\+?=|\bread\b[^\n;&|]*\s{name}\b", line) is not None


_MAX_CALLS = 64
"""With more combinations of values, the calls count as unknown."""
# None of these characters splits a word, is a pattern, or is expanded a second time.
_PLAIN_VALUE = re.compile(r"[\w./@:+,=%-]*", re.ASCII)
_PATTERN = re.compile(r"(?![-~])[\w./@:+,=%*?\[\]-]*", re.ASCII)
_COUNT = re.compile(r"\{(\d{1,4})\.\.(\d{1,4})\}")
_BRACE = re.compile(r"([\w./@:+=%*-]*)\{([\w./@:+=%-]*(?:,[\w./@:+=%-]*)+)\}([\w./@:+=%*-]*)")
_SUBSTITUTION = re.compile(r"<\([^()$`{}\\*?\[]*\)")
_OUTPUT = re.compile(r"\$\(([^()`$\\{}\n<>]+)\)")
_SINGLE = re.compile(r"""('[^']*')|"[^"]*\"""")
_KIND = re.compile(r"\s-x?type\s+[a-z]\b")
_READ = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_HERE = re.compile(r"\$(?:PWD\b|\{PWD\})")
_NUMBER = re.compile(r"\$[?#]|\$\{#\}")
_FREE_VARIABLE = re.compile(r"[$`{}\\]")
_MISLEADS = ("\\$", "\\{", "\\\n")
"""If a line contains these, a word as parsed here may differ from what the shell makes of it."""
_FIRST = r"(?:\s*[a-z_]\w*=[\w./@:+,%-]*\s*(?:;|&&|\n))*"


class KnownCalls(Struct, frozen=True):
    """The calls that a call with computed words can turn into.

    Attributes:
        patterns: patterns whose matches must be plain names, because the shell splits them.
        files: whether some words are names of project files listed by a command; then every file name below the
        folder of
            the call must be plain.
    """

    calls: tuple[SimpleCommand, ...]
    patterns: tuple[str, ...] = ()
    files: bool = False


def find_known_calls(command: SimpleCommand, line: CommandLine, text: str) -> KnownCalls | None:
    """Return the calls with plain words that a call with computed words can turn into; None if they are not known.

    Args:
        line: the parsed line; it must contain no script of its own (`sh -c`, `eval`).
        text: the line as written.
    """
    if command.wrappers or any(mark in text for mark in _MISLEADS):
        return None
    choices: list[tuple[tuple[Word, ...], ...]] = []
    bound: dict[str, tuple[Word, ...]] = {}
    patterns: list[str] = []
    printed: list[Printed] = []
    words, outputs = _name_outputs(command.words, text)
    for word in words:
        if not word.dynamic:
            choices.append(((word,),))
        elif _SUBSTITUTION.fullmatch(word.text) and word.glob:
            choices.append(((Word("/dev/stdin"),),))
        elif expanded := _braces(word):
            choices.append((expanded,))
        elif not (_READ.search(word.text) or _NUMBER.search(word.text)) or (word.glob and _HERE.search(word.text)):
            return None
        else:
            for match in _READ.finditer(_HERE.sub(".", word.text)):
                name = match[1] or match[2]
                source = outputs.get(name) or _find_listed(name, line, text)
                values = source.values if source else bound.get(name) or _values(name, line, text)
                if values is None or (source and not _fits(source, match[0], word, command)):
                    return None
                printed += [source] if source else []
                bound[name] = values
                patterns += [value.text for value in values if value.glob and word.glob and not source]
            choices.append(())
    found: list[SimpleCommand] = []
    many = 1
    for values in bound.values():
        many *= len(values)
    if many > _MAX_CALLS:
        return None
    for taken in product(*bound.values()):
        given = dict(zip(bound, taken, strict=True))
        call: list[Word] = []
        for word, choice in zip(words, choices, strict=True):
            filled = choice[0] if choice else _filled(word, given)
            if filled is None:
                return None
            call += filled
        found.append(replace(command, words=tuple(call)))
    files = any(source.files for source in printed)
    return KnownCalls(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(patterns)), files)


def _name_outputs(words: tuple[Word, ...], text: str) -> tuple[tuple[Word, ...], dict[str, Printed]]:
    """Replace each substitution with known output by a variable. Returns the words and those variables."""
    outputs: dict[str, Printed] = {}
    found: list[Word] = []
    for word in words:
        written = word.text
        for match in list(_OUTPUT.finditer(written)) if word.dynamic and not has_function(text) else ():
            known = find_printed(parse_command_line(match[1]))
            if known is not None:
                name = f"__OUTPUT_{len(outputs)}"
                outputs[name] = known
                written = written.replace(match[0], f"${{{name}}}", 1)
        found.append(replace(word, text=written))
    return tuple(found), outputs


def _fits(source: Printed, variable: str, word: Word, command: SimpleCommand) -> bool:
    """Whether a word may contain the output of a command, given the call it is in.

    A file name must be the whole word; so must unquoted output that may contain anything.
    """
    if source.programs is not None and command.program not in source.programs:
        return False
    if source.programs is None and word.glob and command.program not in ("basename", "dirname"):
        return False  # the shell may split the name of the folder
    return not word.text.startswith("-") and (not source.files or _HERE.sub(".", word.text) == variable)


def _find_listed(name: str, line: CommandLine, text: str) -> Printed | None:
    """Return what a variable of the line receives from a substitution, or from a pipe through `read`."""
    counts = "((" in text or "let" in text  # in arithmetic, `--name` sets a variable
    if not is_line_variable(name) or name in os.environ or counts or has_function(text) or _MOVES.search(text):
        return None
    if "\\" in text or any(re.search(rf"\$\{{?{name}\b", part[0]) for part in _SINGLE.finditer(text) if part[1]):
        return None
    given = [value for command in line.commands for other, value in command.env if other == name]
    loops = [words for other, words in line.loops if other == name]
    reads = [each for each in line.commands if each.program == "read" and Word(name) in each.words]
    shown = _KIND.sub(" ", text)
    stands = len(re.findall(rf"(?<![\w-]){name}\b", shown)) - len(re.findall(rf"\$(?:{name}\b|\{{{name}\}})", text))
    if len(given) + len(loops) + len(reads) != 1 or stands != 1:
        return None
    if given:
        match = _OUTPUT.fullmatch(given[0])
    elif loops:
        match = _OUTPUT.fullmatch(loops[0][0].text) if len(loops[0]) == 1 and loops[0][0].glob else None
    else:
        return FILES if _reads_names(reads[0], line) else None
    return find_printed(parse_command_line(match[1])) if match else None


def _reads_names(command: SimpleCommand, line: CommandLine) -> bool:
    """Whether `read` receives whole lines with file names from a pipe."""
    texts = command.argv[1:-1]
    plain = texts in ((), ("-r",)) and command.env in ((), (("IFS", ""),)) and not command.wrappers
    at = next(at for at, other in enumerate(line.commands) if other is command)
    before = line.commands[:at]
    if not (plain and before and command.stdin is None):
        return False
    fed = tuple(each.program for each in before)
    simple = all(not (each.env or each.wrappers or each.dynamic) and each.stdin is None for each in before)
    return simple and command.upstream == fed and list_files(before)


def _braces(word: Word) -> tuple[Word, ...]:
    """Return the words of one brace expansion; none if it is not that simple."""
    match = _BRACE.fullmatch(word.text)
    if match is None:
        return ()
    texts = [f"{match[1]}{part}{match[3]}" for part in match[2].split(",")]
    return tuple(Word(text, glob=word.glob and has_glob(text)) for text in texts)


def _filled(word: Word, given: dict[str, Word]) -> tuple[Word, ...] | None:
    """Return a word with its variables replaced if nothing else in it is computed; no word if it becomes empty."""
    text = _NUMBER.sub("1", _HERE.sub(".", word.text))
    pattern = any(given[match[1] or match[2]].glob for match in _READ.finditer(text))
    text = _READ.sub(lambda match: given[match[1] or match[2]].text, text)
    if _FREE_VARIABLE.search(text):
        return None
    if not text and word.glob:
        return ()
    if word.glob and " " in text:
        return tuple(map(Word, text.split()))
    return (Word(text, glob=pattern or (word.glob and has_glob(text))),)


def _values(name: str, line: CommandLine, text: str) -> tuple[Word, ...] | None:
    """Return all values a variable of the line may have where it is read; None if they are not known.

    Each occurrence of the name must assign a plain value, loop over words, or read it.
    """
    if not is_line_variable(name) or name in os.environ or re.search(rf"'[^']*\$\{{?{name}\b", text):
        return None
    given = [value for command in line.commands for other, value in command.env if other == name]
    loops = [words for other, words in line.loops if other == name]
    places = len(re.findall(rf"(?<![\w$]){name}=", text)), len(re.findall(rf"\bfor\s+{name}\s+in\b", text))
    reads = len(re.findall(rf"\$(?:{name}\b|\{{{name}\}})", text))
    # `-n` is an option, but in arithmetic `--n` changes a variable.
    bare = rf"\b{name}\b" if "((" in text or "let" in text else rf"(?<![\w-]){name}\b"
    if (len(given), len(loops)) != places or len(re.findall(bare, text)) != sum(places) + reads:
        return None
    if any(word.text == name or word.text.startswith(f"{name}[") for each in line.commands for word in each.words):
        return None
    found: list[Word] = []
    for value in given:
        if not _PLAIN_VALUE.fullmatch(value):
            return None
        found.append(Word(value))
    for word in (word for words in loops for word in words):
        if word.dynamic and (count := _COUNT.fullmatch(word.text)):
            first, last = sorted((int(count[1]), int(count[2])))
            found += [Word(str(number)) for number in range(first, min(last, first + _MAX_CALLS) + 1)]
        elif word.dynamic or not (_PATTERN if word.glob else _PLAIN_VALUE).fullmatch(word.text):
            return None
        else:
            found.append(word)
    if found and not _is_set(name, text):
        found.append(Word(""))
    return tuple(dict.fromkeys(found)) if found else None


def _is_set(name: str, text: str) -> bool:
    """Whether a variable is certainly set wherever it is read: at the start of the line, or in the loop over it."""
    if re.match(rf"{_FIRST}\s*{name}=[\w./@:+,%-]*\s*(?:;|&&|\n)", text):
        return True
    first = re.search(rf"\b{name}\b", text)
    loop = re.search(rf"\bfor\s+{name}\s+in\b", text)
    if loop is None or first is None or first.start() < loop.start():
        return False
    end = re.compile(r"\bdone\b").search(text, loop.end())
    return end is not None and not re.search(rf"\b{name}\b", text[end.end() :])
