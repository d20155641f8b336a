"""Determine which values the variables and substitutions of a line can have, as far as the line itself shows."""

import os
import re
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from clio.security.readonly.judge import (
    FILE_NAMES_OUTPUT,
    SubstitutionOutput,
    find_substitution_output,
    has_function,
    is_file_listing_pipe,
)
from clio.security.shell.command_line import (
    CommandLine,
    SimpleCommand,
    Word,
    find_numeric_variables,
    has_glob,
    is_arithmetic_variable,
    is_influential_variable,
    word_set,
)
from clio.security.shell.parser import parse_command_line

# `$?`, `${#files[@]}`, `${PIPESTATUS[0]}` are always numbers. So is the result of arithmetic on numbers; the parser of
# the line checks whether its names contain numbers.
_NUMBER_EXPANSION = re.compile(
    r"\$[?#!$]|\$\{[?#!$]\}|\$\{#\w+\[[@*]\]\}|\$\{PIPESTATUS\[(?:\d+|[@*])\]\}"
    r"|\$\(\([\w\s+*/%<>=!&|?:,$-]*\)\)"
)
_VARIABLE = re.compile(r"(?<!\\)(?:\\\\)*\$\{?[#!]?([A-Za-z_]\w*)")
_EXPANSION_CHARACTER = re.compile(r"[$`{]")
# POSIX reserves lower-case names for the user of the shell; programs receive their settings, secrets included, in
# upper-case names.
_LOWER_CASE_NAME = re.compile(r"[a-z_][a-z0-9_]*")
# Lower-case variables that programs do read: npm passes its settings in `npm_…`.
_PROGRAM_PREFIXES = ("npm_", "git_", "ac_")
_UPPER_CASE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_SHELL_VARIABLES = word_set("""
    ARGV ARGV0 CHILD_MAX COLUMNS COPROC CPUTYPE EGID EMACS EPOCHREALTIME EPOCHSECONDS ERRNO EUID FCEDIT FIGNORE FPATH
    FUNCNAME FUNCNEST GID GROUPS HISTCHARS HISTCMD HISTCONTROL HISTFILE HISTFILESIZE HISTIGNORE HISTSIZE HISTTIMEFORMAT
    HOST HOSTFILE HOSTNAME HOSTTYPE IGNOREEOF INPUTRC KEYTIMEOUT LINES LISTMAX LOGCHECK MACHTYPE MAIL MAILCHECK MAILPATH
    MANPATH MAPFILE MODULE_PATH OPTARG OPTERR OSTYPE PIPESTATUS PPID PROMPT PSVAR REPLY REPORTTIME SAVEHIST SHLVL STTY
    TERM TERMINFO TIMEFMT TIMEFORMAT TMOUT TMP TEMP TMPPREFIX TMPSUFFIX TRY_BLOCK_ERROR TTY UID USERNAME VENDOR WATCH
    WATCHFMT WORDCHARS USER LOGNAME CI VIRTUAL_ENV NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE DEBUGINFOD_URLS
    NO_UPDATE_NOTIFIER TZ LANG LANGUAGE SYSTEMD_PAGER SSH_ASKPASS SSH_ASKPASS_REQUIRE COLORTERM
    """)
_SHELL_VARIABLE_PREFIXES = (
    *("BASH", "COMP_", "LC_", "READLINE_", "PROMPT", "RPROMPT", "RPS", "PS", "ZSH", "ZLE", "HIST", "ENV", "KSH"),
    *("GH_", "GO", "PIP_", "SSH_", "HOMEBREW_", "NPM", "XDG_", "SYSTEMD_", "DEBUGINFOD", "NO_", "CLIO", "MAN", "LESS"),
)
"""Variables that shells read themselves, or that clio sets for a command and that are passed on to programs."""
# Inherited variables that may be printed, because none of them contains a secret.
_HARMLESS_VARIABLES = word_set(
    "HOME PATH PWD OLDPWD USER SHELL LANG TERM CI VIRTUAL_ENV NODE_ENV SECONDS LINENO PIPESTATUS OSTYPE"
)
# What a loop may iterate over: words, files of the folder and below it, numbers, and the output of commands.
_LOOP_NAME = r"(?!\.[.*?])[\w.*?@:+-]+"
_LOOP_ITEM = rf"(?:{_LOOP_NAME}(?:/{_LOOP_NAME})*/?|\{{\d+\.\.\d+\}}|\$\([^()`\n]*\))"
_ONE_WORD = re.compile(r"[\w./@:+,=%~-]*")
_CD = re.compile(r"\b(?:cd|pushd|popd|chdir)\b")
_FILE_TEST = re.compile(r"\s-[a-mp-yA-Z]\s")


def is_line_variable(name: str) -> bool:
    """Whether a variable is private to the line: no program reads it, and no secret is passed in it.

    An upper-case name is private if the shell neither inherits it (so it is not exported) nor reads it itself.
    """
    if _UPPER_CASE_NAME.fullmatch(name):
        shells = (
            name in _SHELL_VARIABLES
            or name.startswith(_SHELL_VARIABLE_PREFIXES)
            or is_arithmetic_variable(name)
            or is_influential_variable(name)
        )
        return not shells and name not in os.environ
    return (
        _LOWER_CASE_NAME.fullmatch(name) is not None
        and not is_influential_variable(name)
        and not name.startswith(_PROGRAM_PREFIXES)
    )


def has_only_harmless_expansions(command: SimpleCommand, line: str | None, start: str = "") -> bool:
    """Whether no word that is computed at run time can change what a command does, only what it prints or compares.

    True without computed words; if a test compares, or `echo` and `printf` print, numbers of the shell; and if they use
    the output of commands in the line, each of which is judged separately. The same applies to a here-document.

    Args:
        line: the whole text. Each variable in it must be set by the line, because others may contain secrets. None if
            a shell in the line parses a script of its own.
        start: the folder it starts in.
    """
    opened, fed = [word for word in command.words if word.dynamic], command.stdin == ""
    if opened and not _is_print_or_test(command):
        return False
    if not fed and not any(_EXPANSION_CHARACTER.search(_NUMBER_EXPANSION.sub("", word.text)) for word in opened):
        return True
    if line is None:
        return False
    text = line.replace("\\\n", "")
    # An unquoted variable is split into words and expanded as a pattern, unless it contains a number.
    numbers = find_numeric_variables(text) | _list_single_word_variables(text, start)
    if any(word.glob and not numbers.issuperset(_list_word_variables(word.text)) for word in opened):
        return False
    return all(name in _HARMLESS_VARIABLES or _is_set_in_line(text, name) for name in set(_VARIABLE.findall(text)))


def _list_single_word_variables(text: str, start: str) -> set[str]:
    """Return the inherited variables that contain neither blanks nor patterns and that the line does not change."""
    values = {
        name: os.environ.get(name, "")
        for name in _HARMLESS_VARIABLES - {"HOME", "OLDPWD", "LINENO", "SECONDS", "PIPESTATUS", "OSTYPE"}
    }
    values["PWD"] = " " if _CD.search(text) else start or " "
    return {
        name
        for name, value in values.items()
        if _ONE_WORD.fullmatch(value) and not re.search(rf"\b{name}\b(?<!\${name})(?<!\$\{{{name}(?=\}}))", text)
    }


def _is_print_or_test(command: SimpleCommand) -> bool:
    """Whether a command only prints its words, calculates, or compares texts; a test of files opens them."""
    match command.words[0]:
        case Word("echo" | "let", dynamic=False):  # the parser examines the arithmetic of `let`
            return True
        case Word("printf", dynamic=False):  # a computed first word may become `-v` and a variable name
            return len(command.words) > 1 and not command.words[1].dynamic and command.words[1].text[:1] != "-"
        case Word("[", dynamic=False):
            return _FILE_TEST.search(command.words[-1].text) is None
        case _:
            return False


def _list_word_variables(text: str) -> set[str]:
    """Return the variables of a word, or the word itself if anything else in it is computed."""
    rest = _VARIABLE.sub("", text).replace("}", "")
    return {text} if _EXPANSION_CHARACTER.search(rest) or has_glob(rest) else set(_VARIABLE.findall(text))


def _is_set_in_line(line: str, name: str) -> bool:
    """Whether a line assigns a variable (`x=`, `read -r x`, `for x in`), but not from external file names."""
    if not is_line_variable(name):
        return False
    loops = len(re.findall(rf"\bfor\s+{name}\b", line))
    if loops != len(re.findall(rf"\bfor {name} in(?: +{_LOOP_ITEM})+ *[;\n]", line)) or re.search(
        rf"\b{name}\+?=\(", line
    ):
        return False
    return loops > 0 or re.search(rf"\b{name}\+?=|\bread\b[^\n;&|]*\s{name}\b", line) is not None


_MAX_CALLS = 64
"""With more combinations of values, the calls count as unknown."""
# None of these characters splits a word, is a pattern, or is expanded a second time.
_PLAIN_VALUE = re.compile(r"[\w./@:+,=%-]*", re.ASCII)
_PLAIN_PATTERN = re.compile(r"(?![-~])[\w./@:+,=%*?\[\]-]*", re.ASCII)
_NUMBER_RANGE = re.compile(r"\{(\d{1,4})\.\.(\d{1,4})\}")
_BRACE_EXPANSION = re.compile(r"([\w./@:+=%*-]*)\{([\w./@:+=%-]*(?:,[\w./@:+=%-]*)+)\}([\w./@:+=%*-]*)")
_PROCESS_SUBSTITUTION = re.compile(r"<\([^()$`{}\\*?\[]*\)")
_COMMAND_SUBSTITUTION = re.compile(r"\$\(([^()`$\\{}\n<>]+)\)")
_QUOTED_TEXT = re.compile(r"""('[^']*')|"[^"]*\"""")
_TYPE_OPTION = re.compile(r"\s-x?type\s+[a-z]\b")
_VARIABLE_READ = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_PWD_READ = re.compile(r"\$(?:PWD\b|\{PWD\})")
_NUMBER_PARAMETER = re.compile(r"\$[?#]|\$\{#\}")
_UNKNOWN_EXPANSION = re.compile(r"[$`{}\\]")
_CONFUSING_TEXTS = ("\\$", "\\{", "\\\n")
"""If a line contains these, a word as parsed here may differ from what the shell makes of it."""
_LEADING_ASSIGNMENTS = r"(?:\s*[a-z_]\w*=[\w./@:+,%-]*\s*(?:;|&&|\n))*"


class KnownCalls(Struct, frozen=True):
    """The calls that a call with computed words can turn into.

    Attributes:
        patterns: patterns whose matches must be plain names, because the shell splits them.
        files: whether some words are names of project files listed by a command; then every file name below the
            folder of the call must be plain.
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
    if command.wrappers or any(mark in text for mark in _CONFUSING_TEXTS):
        return None
    choices: list[tuple[tuple[Word, ...], ...]] = []
    bound: dict[str, tuple[Word, ...]] = {}
    patterns: list[str] = []
    printed: list[SubstitutionOutput] = []
    words, outputs = _replace_known_outputs(command.words, text)
    for word in words:
        if not word.dynamic:
            choices.append(((word,),))
        elif _PROCESS_SUBSTITUTION.fullmatch(word.text) and word.glob:
            choices.append(((Word("/dev/stdin"),),))
        elif expanded := _expand_braces(word):
            choices.append((expanded,))
        elif not (_VARIABLE_READ.search(word.text) or _NUMBER_PARAMETER.search(word.text)) or (
            word.glob and _PWD_READ.search(word.text)
        ):
            return None
        else:
            for match in _VARIABLE_READ.finditer(_PWD_READ.sub(".", word.text)):
                name = match[1] or match[2]
                source = outputs.get(name) or _find_variable_output(name, line, text)
                values = source.values if source else bound.get(name) or _find_variable_values(name, line, text)
                if values is None or (source and not _can_contain_output(source, match[0], word, command)):
                    return None
                printed += [source] if source else []
                bound[name] = values
                patterns += [value.text for value in values if value.glob and word.glob and not source]
            choices.append(())
    found: list[SimpleCommand] = []
    many = 1
    for values in bound.values():
        # The product of all values, before any call is built: three loops of a hundred words are a million calls.
        many *= len(values)
    if many > _MAX_CALLS:
        return None
    for combination in product(*bound.values()):
        given = dict(zip(bound, combination, strict=True))
        call: list[Word] = []
        for word, choice in zip(words, choices, strict=True):
            filled = choice[0] if choice else _replace_variables(word, given)
            if filled is None:
                return None
            call += filled
        found.append(replace(command, words=tuple(call)))
    files = any(source.files for source in printed)
    return KnownCalls(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(patterns)), files)


def _replace_known_outputs(
    words: tuple[Word, ...], text: str
) -> tuple[tuple[Word, ...], dict[str, SubstitutionOutput]]:
    """Replace each substitution with known output by a variable. Returns the words and those variables."""
    outputs: dict[str, SubstitutionOutput] = {}
    found: list[Word] = []
    for word in words:
        written = word.text
        for match in list(_COMMAND_SUBSTITUTION.finditer(written)) if word.dynamic and not has_function(text) else ():
            known = find_substitution_output(parse_command_line(match[1]))
            if known is not None:
                name = f"__OUTPUT_{len(outputs)}"
                outputs[name] = known
                written = written.replace(match[0], f"${{{name}}}", 1)
        found.append(replace(word, text=written))
    return tuple(found), outputs


def _can_contain_output(source: SubstitutionOutput, variable: str, word: Word, command: SimpleCommand) -> bool:
    """Whether a word may contain the output of a command, given the call it is in.

    A file name must be the whole word; so must unquoted output that may contain anything.
    """
    if source.programs is not None and command.program not in source.programs:
        return False
    if source.programs is None and word.glob and command.program not in ("basename", "dirname"):
        return False  # the shell may split the name of the folder
    return not word.text.startswith("-") and (not source.files or _PWD_READ.sub(".", word.text) == variable)


def _find_variable_output(name: str, line: CommandLine, text: str) -> SubstitutionOutput | None:
    """Return what a variable of the line receives from a substitution, or from a pipe through `read`."""
    counts = "((" in text or "let" in text  # in arithmetic, `--name` sets a variable
    if not is_line_variable(name) or name in os.environ or counts or has_function(text) or _CD.search(text):
        return None
    if "\\" in text or any(re.search(rf"\$\{{?{name}\b", part[0]) for part in _QUOTED_TEXT.finditer(text) if part[1]):
        return None
    given = [value for command in line.commands for other, value in command.env if other == name]
    loops = [words for other, words in line.loops if other == name]
    reads = [each for each in line.commands if each.program == "read" and Word(name) in each.words]
    shown = _TYPE_OPTION.sub(" ", text)
    stands = len(re.findall(rf"(?<![\w-]){name}\b", shown)) - len(re.findall(rf"\$(?:{name}\b|\{{{name}\}})", text))
    if len(given) + len(loops) + len(reads) != 1 or stands != 1:
        return None
    if given:
        match = _COMMAND_SUBSTITUTION.fullmatch(given[0])
    elif loops:
        match = _COMMAND_SUBSTITUTION.fullmatch(loops[0][0].text) if len(loops[0]) == 1 and loops[0][0].glob else None
    else:
        return FILE_NAMES_OUTPUT if _is_reading_file_names(reads[0], line) else None
    return find_substitution_output(parse_command_line(match[1])) if match else None


def _is_reading_file_names(command: SimpleCommand, line: CommandLine) -> bool:
    """Whether `read` receives whole lines with file names from a pipe."""
    texts = command.argv[1:-1]
    plain = texts in ((), ("-r",)) and command.env in ((), (("IFS", ""),)) and not command.wrappers
    at = next(at for at, other in enumerate(line.commands) if other is command)
    before = line.commands[:at]
    if not (plain and before and command.stdin is None):
        return False
    fed = tuple(each.program for each in before)
    simple = all(not (each.env or each.wrappers or each.dynamic) and each.stdin is None for each in before)
    return simple and command.upstream == fed and is_file_listing_pipe(before)


def _expand_braces(word: Word) -> tuple[Word, ...]:
    """Return the words of one brace expansion; none if it is not that simple."""
    match = _BRACE_EXPANSION.fullmatch(word.text)
    if match is None:
        return ()
    texts = [f"{match[1]}{part}{match[3]}" for part in match[2].split(",")]
    return tuple(Word(text, glob=word.glob and has_glob(text)) for text in texts)


def _replace_variables(word: Word, given: dict[str, Word]) -> tuple[Word, ...] | None:
    """Return a word with its variables replaced if nothing else in it is computed; no word if it becomes empty."""
    text = _NUMBER_PARAMETER.sub("1", _PWD_READ.sub(".", word.text))
    pattern = any(given[match[1] or match[2]].glob for match in _VARIABLE_READ.finditer(text))
    text = _VARIABLE_READ.sub(lambda match: given[match[1] or match[2]].text, text)
    if _UNKNOWN_EXPANSION.search(text):
        return None
    if not text and word.glob:
        return ()
    if word.glob and " " in text:
        return tuple(map(Word, text.split()))
    return (Word(text, glob=pattern or (word.glob and has_glob(text))),)


def _find_variable_values(name: str, line: CommandLine, text: str) -> tuple[Word, ...] | None:
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
        if word.dynamic and (count := _NUMBER_RANGE.fullmatch(word.text)):
            first, last = sorted((int(count[1]), int(count[2])))
            found += [Word(str(number)) for number in range(first, min(last, first + _MAX_CALLS) + 1)]
        elif word.dynamic or not (_PLAIN_PATTERN if word.glob else _PLAIN_VALUE).fullmatch(word.text):
            return None
        else:
            found.append(word)
    if found and not _is_always_set(name, text):
        found.append(Word(""))
    return tuple(dict.fromkeys(found)) if found else None


def _is_always_set(name: str, text: str) -> bool:
    """Whether a variable is certainly set wherever it is read: at the start of the line, or in the loop over it."""
    if re.match(rf"{_LEADING_ASSIGNMENTS}\s*{name}=[\w./@:+,%-]*\s*(?:;|&&|\n)", text):
        return True
    first = re.search(rf"\b{name}\b", text)
    loop = re.search(rf"\bfor\s+{name}\s+in\b", text)
    if loop is None or first is None or first.start() < loop.start():
        return False
    end = re.compile(r"\bdone\b").search(text, loop.end())
    return end is not None and not re.search(rf"\b{name}\b", text[end.end() :])
