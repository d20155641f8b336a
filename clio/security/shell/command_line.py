"""Data model of a parsed command line, and rules for quotes, `cd` and variables that change its meaning. Pure.

Both parsers (`parser`, `hand_parser`) use these rules. A name in the code is *influential* if it can change which code
runs: `PATH`, `LD_PRELOAD`, `GIT_PAGER`.
"""

import os
import re
import shutil
import sys

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set, for readable tables."""
    return frozenset(text.split())


STDIN_FROM_FILE = "\0"
"""Value of `SimpleCommand.stdin` if the input is redirected from a file, whose text is not part of the line."""


class Word(Struct, frozen=True):
    """One word of a command without its quotes.

    Attributes:
        dynamic: part of it is only known at run time (`$X`, `$(…)`, `{a,b}`); `text` has that part as written.
        glob: it contains an unquoted `*`, `?` or `[` and may expand to several file names.
    """

    text: str
    dynamic: bool = False
    glob: bool = False


class Redirect(Struct, frozen=True, kw_only=True):
    """One redirect to or from a file. Redirects between descriptors are left out.

    Attributes:
        folders: the folders the line may be in at that point; see `SimpleCommand.folders`.
    """

    operator: str
    target: Word
    folders: tuple[str, ...] | None = ("",)

    @property
    def writes(self) -> bool:
        """Whether the file is created or changed."""
        return ">" in self.operator


class SimpleCommand(Struct, frozen=True, kw_only=True):
    """One program call with its context.

    Attributes:
        words: the program and its arguments without wrappers (`env`, `timeout 5`, `sudo`). Empty for a bare
            assignment.
        written: the same call with its wrappers, for rules that name them.
        env: names and values of variables set for it; a dynamic value is as written.
        wrappers: programs that start it, outermost first; "sh -c" and similar by the name of the program.
        upstream: programs whose output a pipe passes to it, nearest last.
        folders: the folders it may run in, as typed and relative to where the line starts; None if unknown.
        stdin: the text of a here-document, if fixed; FROM_FILE for a redirected file.
        declares: the names that `export` and similar built-ins assign; these are no longer in `words`.
    """

    words: tuple[Word, ...]
    written: tuple[Word, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    wrappers: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    folders: tuple[str, ...] | None = ("",)
    stdin: str | None = None
    declares: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        """The words as plain text."""
        return tuple(word.text for word in self.words)

    @property
    def program(self) -> str:
        """The program's name without its folder; "" for a bare assignment."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""

    @property
    def dynamic(self) -> bool:
        """Whether any of its words is only known at run time."""
        return any(word.dynamic for word in self.words)


class CommandLine(Struct, frozen=True, kw_only=True):
    """Everything that one command line would run.

    Attributes:
        unknown: what could not be parsed, in a few words each; empty if everything was.
        text: the line as written.
        arguments: the `$0`, `$1` and so on of shells inside the line, one tuple of words per call.
        runtime_scripts: scripts for a shell inside the line that are only known at run time.
        fork_bomb: it defines a function that starts itself without end.
        second_parser_calls: calls found only by the second parser, if the two parsers disagree.
        hidden_programs: why programs may run that the line does not name, such as those in a script from a pipe.
        loops: each `for name in …` with its words, in the line itself but not in scripts inside it.
    """

    commands: tuple[SimpleCommand, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    unknown: tuple[str, ...] = ()
    fork_bomb: bool = False
    loops: tuple[tuple[str, tuple[Word, ...]], ...] = ()
    text: str = ""
    arguments: tuple[tuple[Word, ...], ...] = ()
    runtime_scripts: tuple[Word, ...] = ()
    second_parser_calls: tuple[SimpleCommand, ...] = ()
    hidden_programs: tuple[str, ...] = ()


_WORD_ESCAPE = LazyRegex(r"\\(\n|.)", re.DOTALL)
_STRING_ESCAPE = LazyRegex(r'\\([\n"\\$`])')
_ANSI_ESCAPE = LazyRegex(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_PORTABLE_ANSI_TEXT = LazyRegex(
    r"(?:[^\\]|\\(?:[abeEfnrtv\\'\"?]|x(?:[1-7][0-9a-fA-F]|0[1-9a-fA-F])|(?:1[0-7]|0[1-7])[0-7]|u(?!0000)[0-9a-fA-F]{4}))*"
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_GLOB = LazyRegex(r"(?<!\\)(?:\\\\)*[*?\[]")
_BRACES = LazyRegex(r"\{[^{}]*(?:,|\.\.)")
_INNERMOST_BRACES = LazyRegex(r"\{([^{}]*)\}")
_BRACE_RANGE = LazyRegex(r"([-+]?\d{1,9})\.\.([-+]?\d{1,9})(?:\.\.[-+]?\d{1,9})?")
_LETTERS_A_TO_Z = 58
"""The number of characters from `A` to `z`."""
MANY_WORDS = 100_000
"""A brace expansion to this many words can exhaust the shell's memory and time."""


def unquote_word(text: str) -> str:
    """Remove the backslash escapes from an unquoted word."""
    return _WORD_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def unquote_double_quoted(text: str) -> str:
    """Remove the escapes from the inside of a double-quoted string."""
    return _STRING_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def has_unportable_ansi_escape(text: str) -> bool:
    """Whether the inside of `$'…'` has an escape that shells interpret differently, or that is no character."""
    return _PORTABLE_ANSI_TEXT.fullmatch(text) is None


def unquote_ansi_quoted(text: str) -> str:
    """Decode the escapes in the inside of `$'…'`."""

    def decode_escape(match: re.Match[str]) -> str:
        """Return the character that one escape stands for."""
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0x110000 else ""
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        if code[0] == "c" and len(code) > 1:
            return chr(ord(code[1]) & 0x1F)
        return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else match[0])

    return _ANSI_ESCAPE.sub(decode_escape, text)


def has_glob(text: str) -> bool:
    """Whether an unquoted word, as written, contains an unescaped glob character."""
    return _GLOB.search(text) is not None


def has_braces(text: str) -> bool:
    """Whether unquoted text may be a brace expansion, which turns one word into several."""
    return _BRACES.search(text) is not None


def count_brace_words(text: str) -> int:
    """Return an upper limit for the words that the brace expansions in one word produce: 20 for `{a,b}{1..10}`.

    Quoted braces count as well, and nested ones count more than they produce.
    """
    total, left = 1, text
    while total < MANY_WORDS and (group := _INNERMOST_BRACES.search(left)):
        inside = group[1]
        if ends := _BRACE_RANGE.fullmatch(inside):
            total *= abs(int(ends[2]) - int(ends[1])) + 1
        elif ".." in inside:
            total *= MANY_WORDS if any(map(str.isdigit, inside)) else _LETTERS_A_TO_Z
        else:
            total *= inside.count(",") + 1
        left = f"{left[: group.start()]}x{left[group.end() :]}"
    return total


PossibleFolders = tuple[str, ...] | None
"""The folders a line may be in at some point; None if unknown."""
FoldersAfter = tuple[PossibleFolders, PossibleFolders]
"""The folders after a statement succeeded, and after it failed."""

_MAX_FOLDERS = 8
"""With more possible folders, the folder of a command counts as unknown."""
CD_BUILTINS = word_set("cd pushd popd chdir")
TRANSPARENT_PREFIXES = word_set("time command builtin")
"""Prefixes after which a `cd` is still recognized as moving the line."""
UNREDEFINABLE_NAMES = CD_BUILTINS | word_set(
    "export declare typeset local readonly command builtin eval exec time dirs set shopt unset trap . source"
)
"""Names that, if defined as a function, would change where or how the line continues."""
_CD_OPTIONS = word_set("-P -L -e")


def merge_folders(*places: PossibleFolders) -> PossibleFolders:
    """Return all of these folders; None if one is unknown or there are too many."""
    found = dict[str, None]()
    for paths in places:
        if paths is None:
            return None
        found |= dict.fromkeys(paths)
    return tuple(found) if len(found) <= _MAX_FOLDERS else None


def resolve_cd(paths: PossibleFolders, words: tuple[Word, ...]) -> PossibleFolders:
    """Return where `cd` and similar commands lead from these folders."""
    targets = [word for word in words[1:] if word.dynamic or word.text not in _CD_OPTIONS]
    if targets[:1] == [Word("--")]:
        targets = targets[1:]
    elif any(word.text.startswith("-") for word in targets):
        return None
    if paths is None or words[0].text == "popd" or len(targets) > 1 or (words[0].text == "pushd" and not targets):
        return None
    target = targets[0] if targets else Word("~")
    if target.dynamic or target.glob or target.text[:1] in ("-", "+"):
        return None
    rooted = target.text.startswith(("/", "~"))
    return merge_folders(tuple(target.text if rooted or not path else f"{path}/{target.text}" for path in paths))


DECLARATION_BUILTINS = frozenset({"export", "declare", "typeset", "local", "readonly"})
# Variables that change which code later commands run, or how the shell reads them.
_INFLUENTIAL_VARIABLES = word_set("""
    PATH IFS ENV BASH_ENV SHELLOPTS BASHOPTS PROMPT_COMMAND HOME PAGER EDITOR VISUAL SHELL CDPATH BROWSER TMPDIR PWD
    OLDPWD POSIXLY_CORRECT ZDOTDIR NULLCMD READNULLCMD PS0 PS1 PS2 PS4 EXECIGNORE GLOBIGNORE
    MANPAGER LESSOPEN LESSCLOSE DIRSTACK SYSTEMD_PAGER SSH_ASKPASS SSH_ASKPASS_REQUIRE
    NO_UPDATE_NOTIFIER GOTOOLCHAIN GOFLAGS GOPROXY GOROOT GOPATH GOENV GOWORK GOCACHE GOCACHEPROG GOMODCACHE
    GOSUMDB GOAUTH GOVCS GODEBUG
    """)
# A function may be exported as `BASH_FUNC_ls%%`.
_INFLUENTIAL_PREFIXES = (
    *("LD_", "DYLD_", "GIT_", "BASH_", "PYTHON", "NODE_", "PERL", "RUBY", "JAVA", "_JAVA", "RUST", "CARGO"),
    *("NPM_", "npm_", "PIP_", "UV_", "GH_", "DOCKER_", "HOMEBREW_", "DEBUGINFOD_", "CLIO_"),
)
# A proxy sees and can change what a package manager downloads and then runs. Programs accept either case.
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")

_NESTED_EXPANSION = LazyRegex(r"\$[({\[]|`")
_NUMBER_TEXT = r"(?:[-+]?\d+|\$[#?$!]|\$\{#\w+(?:\[[@*]\])?\})"
_RENAMING_BUILTINS = word_set("alias enable hash")
"""Built-ins that make a name run something else."""
# Options that change neither where commands run nor which. With `lastpipe`, the end of a pipe can move the shell
# itself.
HARMLESS_SHOPT_NAMES = word_set(
    "extglob nullglob dotglob globstar failglob nocaseglob nocasematch inherit_errexit globasciiranges"
)
_SET_LETTERS = LazyRegex(r"[-+][abCefhmnuvxBEHT]*o?")
HARMLESS_SET_NAMES = word_set("""
    allexport braceexpand errexit errtrace functrace hashall noclobber noexec noglob nounset pipefail verbose xtrace
    """)
_VARIABLE_SETTERS = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "let"})
"""Built-ins whose arguments name variables that they set."""
_ARITHMETIC_VARIABLES = word_set("RANDOM SRANDOM OPTIND SECONDS LINENO")
"""Variables that the shell itself sets to numbers; what is assigned to them is evaluated as arithmetic."""
_UNARY_TEST = LazyRegex(r"-[abcdefghknoprstuwxzGLNOSt]")
_BINARY_TEST = LazyRegex(r"==?|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)")
_TAKES_VARIABLE_NAME = (_VARIABLE_SETTERS - {"let"}) | {"printf", "wait"}
_NUMBER_COMPARISON = LazyRegex(r"(\S+)\s+-(?:eq|ne|lt|le|gt|ge)\s+(\S+)")
_VARIABLE_TEST = LazyRegex(r"(?:^|\s)-[vR]\s+(?!\w+\s)")
_ARITHMETIC_ASSIGNMENT = LazyRegex(r"\b([A-Za-z_]\w*)\s*=\s*\d+\b")
_VARIABLE_NAME = LazyRegex(r"[A-Za-z_]\w*")
_ARITHMETIC = LazyRegex(r"\$?\(\([\w \t+*/%<>=!&|?:,;${}-]*\)\)")
_NUMBER_ASSIGNMENT = LazyRegex(
    r"(?:^|(?<=[\s;&|({]))([A-Za-z_]\w*)=(?:-?\d+|\$\(\([\w \t+*/%<>=!&|?:,${}-]*\)\))(?=[\s;&|)]|$)"
    r"|(?<=\bfor )([A-Za-z_]\w*) in(?: (?:\d+|\{\d+\.\.\d+\}))+ ?(?=[;\n])"
)
_NUMBER_VALUE = LazyRegex(r"-?\d+|\$\(\(.*\)\)", re.DOTALL)
_VARIABLE_READ = LazyRegex(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_HEX_NUMBER = LazyRegex(r"\b0[xX][0-9a-fA-F]+")
_OTHER_EXPANSION = LazyRegex(r"\$(?![#?$!])|`")
# Text whose value the shell evaluates as arithmetic, where `a[$(rm x)]` runs a command. In the order of the
# alternatives: `${!x}`, `${x@P}`, `$[ ]`, `${a[i]}`, `a[i]=`, `${x:i}`, `{fd}>`.
_HIDDEN_ARITHMETIC = LazyRegex(
    r"\$\{!(?!\w+(?:\[[@*]\]|[*@])\})|@P\}|\$\["
    r"|\$\{[!#]?\w+\[(?!(?:-?\d+|[@*])\])|(?:^|[\s;&|(])\w+\[(?!\d+\])[^\n=]{0,200}\]\+?="
    r"|\$\{\w+(?:\[[@*]\])?:(?![-=?+])[^}]{0,200}[A-Za-z_$`]|\{\w+(?:\[[^\n]{0,200}\])?\}[<>]"
)
_DEFAULT_ASSIGNMENT = LazyRegex(r"\$\{(\w+):?=")

# Reason for asking. Arithmetic evaluates the values of variables again, so a value such as `a[$(rm x)]` runs a command.
UNSAFE_ARITHMETIC = "evaluates text as arithmetic, which can run a command"


def is_influential_variable(name: str) -> bool:
    """Whether a variable or array element can change which code runs."""
    bare = name.split("[", 1)[0]
    return bare in _INFLUENTIAL_VARIABLES or bare.startswith(_INFLUENTIAL_PREFIXES) or bare.lower() in _PROXY_VARIABLES


def is_arithmetic_variable(name: str) -> bool:
    """Whether the shell evaluates what is assigned to a variable as arithmetic."""
    return name in _ARITHMETIC_VARIABLES


def is_arithmetic_unsafe(text: str, numeric: frozenset[str] = frozenset()) -> bool:
    """Whether arithmetic, as written, uses a name not known to contain a number, or one that decides what runs.

    Args:
        numeric: names known to contain a number; the text itself may assign numbers to others. `PATH=1` would make the
            shell search programs in a folder `1`.
    """
    plain = _HEX_NUMBER.sub("0", text)
    plain = _VARIABLE_READ.sub(
        lambda match: match[1] or match[2] if (match[1] or match[2]) in numeric else match[0], plain
    )
    used = set(_VARIABLE_NAME.findall(plain))
    return (
        bool(_OTHER_EXPANSION.search(plain))
        or any(map(is_influential_variable, used))
        or not used <= numeric | set(_ARITHMETIC_ASSIGNMENT.findall(plain))
    )


def find_numeric_variables(text: str) -> frozenset[str]:
    """Return the variables of a whole line that never contain anything but a number.

    Each occurrence of the name, in quotes too, must read it or assign a number: `i=0`, `i=$((…))`, `for i in 1 2`,
    `((i++))`. A name with other occurrences (`read i`, `i=$x`, "i am") is not included.
    """
    found = {match[1] or match[2] for match in _NUMBER_ASSIGNMENT.finditer(text)}
    rest = _VARIABLE_READ.sub(" ", _ARITHMETIC.sub(" ", _NUMBER_ASSIGNMENT.sub(" ", text))) if found else ""
    return frozenset(found - set(_VARIABLE_NAME.findall(rest)))


def can_overwrite_number(command: SimpleCommand, numeric: frozenset[str]) -> bool:
    """Whether a command may assign something else to a variable known as a number, with its name hidden in quotes.

    The shell itself computes the values of some variables, such as `RANDOM`.
    """
    if any(
        name in numeric | _ARITHMETIC_VARIABLES and _NUMBER_VALUE.fullmatch(value) is None
        for name, value in command.env
        if value
    ):
        return True
    words = command.words[1:] if command.program in _TAKES_VARIABLE_NAME | DECLARATION_BUILTINS else ()
    if command.program == "printf" and not any(word.text.startswith("-v") for word in words):
        return bool(numeric) and any(word.dynamic for word in words[:1])
    return any(
        (numeric and word.dynamic) or any(name in word.text for name in numeric | _ARITHMETIC_VARIABLES)
        for word in words
    )


def explain_hidden_effect(shown: str) -> str:
    """Why text outside single quotes may run or set something that is not visible; "" if it does not."""
    if _HIDDEN_ARITHMETIC.search(shown):
        return UNSAFE_ARITHMETIC
    name = next((match[1] for match in _DEFAULT_ASSIGNMENT.finditer(shown) if is_influential_variable(match[1])), None)
    return f"sets the variable {name}, which can change which code runs" if name else ""


def is_test_unsafe(text: str, literals: list[str], numeric: frozenset[str], *, splits: bool) -> bool:
    """Whether a `[ … ]` or `[[ … ]]` may run something.

    Args:
        literals: its quoted texts.
        numeric: variables that contain a number.
        splits: it contains an unquoted expansion, which `[` may receive as several words.
    """
    if any(_NESTED_EXPANSION.search(literal) for literal in literals) or _VARIABLE_TEST.search(text):
        return True
    if not text.startswith("[["):
        return splits
    sides = [side for match in _NUMBER_COMPARISON.finditer(text) for side in match.groups()]
    bare = (side.strip("\"'") for side in sides)
    return any(re.fullmatch(_NUMBER_TEXT, side) is None and side.strip("${}") not in numeric for side in bare)


def has_quoted_array(command: SimpleCommand) -> bool:
    """Whether a quoted word of `declare` or similar defines an array, whose subscripts are expanded a second time."""
    parts = (word.text.partition("=") for word in command.words[1:])
    return any("[" in name or value.startswith("(") for name, sign, value in parts if sign)


def has_array_set_from_text(commands: list[SimpleCommand]) -> bool:
    """Whether `declare a=$x` assigns text to an array of the line, which is parsed as `([subscript]=…)`."""
    arrays = {name for command in commands for name, value in command.env if value.startswith("(")}
    return any(
        name in arrays and not value.startswith("(") and "$" in value
        for command in commands
        if command.program in DECLARATION_BUILTINS
        for name, value in command.env
    )


def split_declaration(command: SimpleCommand) -> tuple[tuple[Word, ...], tuple[tuple[str, str], ...]]:
    """Split the arguments of `export` and similar built-ins into plain words and assignments, quoted ones included."""
    given = [word for word in command.words[1:] if "=" in word.text and not word.text.startswith(("-", "="))]
    pairs = [(name.removesuffix("+"), value) for name, _, value in (word.text.partition("=") for word in given)]
    return tuple(word for word in command.words if word not in given), (*command.env, *pairs)


def explain_state_risk(command: SimpleCommand) -> str:
    """Why a built-in may change what later words mean, or run text; "" if it does not."""
    program, words = command.program, command.words[1:]
    if any(not word.dynamic and _NESTED_EXPANSION.search(word.text) for word in words) and program in (
        {"test", "[", "[[", "printf", "wait"} | _VARIABLE_SETTERS | DECLARATION_BUILTINS
    ):
        return f"{program!r} may evaluate its argument"
    if program in DECLARATION_BUILTINS:
        return _explain_declaration_risk(command)
    if _can_change_meanings(program, words):
        return f"{program!r} may change the meaning of later words"
    named = words if program in _VARIABLE_SETTERS else ()
    if program in ("printf", "wait"):
        flag = "-v" if program == "printf" else "-p"
        at = next((place for place, word in enumerate(words) if word.text.startswith(flag)), None)
        named = () if at is None else (Word(words[at].text[2:], words[at].dynamic), *words[at + 1 : at + 2])
    if program == "test" and not _is_plain_test(words):
        return UNSAFE_ARITHMETIC
    if any(word.dynamic or "[" in word.text for word in named):
        return f"the variable that {program!r} sets is computed at run time"
    name = next((word.text for word in named if is_influential_variable(word.text)), None)
    if program == "let" and any(is_arithmetic_unsafe(word.text) for word in words):
        return UNSAFE_ARITHMETIC
    return f"sets the variable {name}, which can change which code runs" if name else ""


def _is_plain_test(words: tuple[Word, ...]) -> bool:
    """Whether `test` only examines texts and files: a single condition, whose computed words cannot split."""
    while words and words[0] == Word("!"):
        words = words[1:]
    if not any(word.dynamic for word in words):
        return all(word.text not in ("-v", "-R") for word in words)
    if any(word.dynamic and (word.glob or "@" in word.text or has_braces(word.text)) for word in words):
        return False
    match len(words):
        case 1:
            return True
        case 2:
            return not words[0].dynamic and _UNARY_TEST.fullmatch(words[0].text) is not None
        case 3:
            return not words[1].dynamic and _BINARY_TEST.fullmatch(words[1].text) is not None
        case _:
            return False


def _can_change_meanings(program: str, words: tuple[Word, ...]) -> bool:
    """Whether a built-in gives names another meaning, or sets an option that changes how a line is read or run."""
    texts = [word.text for word in words]
    if program in _RENAMING_BUILTINS:
        return bool(words) and texts != ["-r"]
    if program == "shopt":
        return any(word.dynamic for word in words) or not all(
            text in HARMLESS_SHOPT_NAMES or text[:1] == "-" for text in texts
        )
    if program != "set":
        return False
    for place, word in enumerate(words):
        option = place > 0 and _SET_LETTERS.fullmatch(texts[place - 1]) is not None and texts[place - 1].endswith("o")
        if not option and (word.text == "--" or not (word.dynamic or word.text.startswith(("-", "+")))):
            return False
        if word.dynamic or not (word.text in HARMLESS_SET_NAMES if option else _SET_LETTERS.fullmatch(word.text)):
            return True
    return False


def _explain_declaration_risk(command: SimpleCommand) -> str:
    """Why `export` or a similar built-in may set an unknown variable or run text; "" if it does not."""
    flags = "".join(word.text[1:] for word in command.words[1:] if word.text.startswith("-"))
    if any(word.dynamic for word in command.words[1:]) or "n" in flags.replace("function", ""):
        return f"the variable that {command.program!r} sets is computed at run time"
    array = "a" in flags and any("$" in value and not value.startswith("(") for _, value in command.env)
    # assignments to an integer are evaluated as arithmetic, and so are the subscripts in `([x]=1)`
    if "i" in flags or array:
        return UNSAFE_ARITHMETIC
    return ""


# In the order of the alternatives: `$'a\'; rm'`, `[[ a && rm ]]`, `((rm))`, `rm 10> x` (in plain shells the 10 is an
# argument), `ls &> x rm` (runs `ls` in the background, then `rm`), `>! x` and `>&! x` (zsh called as `sh` reads them as
# `>| x`).
_BASH_ONLY_SYNTAX = LazyRegex(r"\$['\"]|\[\[|(?<!\$)\(\(|\d\d[<>]|&>|>[>&|]*!")
# In cmd.exe `/x` is an option, and almost every punctuation character has a meaning.
_CMD_SAFE_LINE = LazyRegex(r"\w[\w.-]*(?: (?!/)[\w.:=,+@/-]+)*", re.ASCII)
_ARITHMETIC_BUILTINS = word_set("shift exit return break continue")
_NUMBER_FORMAT = LazyRegex(r"%[^a-zA-Z%]*(?:[diouxXeEfFgGaA]|\*)")
_NAME_START = LazyRegex(r"[A-Za-z_]")
# Before version 4, bash searched for the end of `$( )` without parsing its content.
_HEREDOC_IN_SUBSTITUTION = LazyRegex(r"\$\((?s:.{0,2000}?)<<-?\s*(['\"\\]?)(\w+)\1[^\n]*\n((?s:.*?))\n\s*\2\b")
_COMMENT_IN_SUBSTITUTION = LazyRegex(r"\$\((?s:.{0,2000}?)[\s;(]#[^\n]*['\"`()\\]")
_QUOTE_OR_PAREN = LazyRegex(r"['\"`()\\]")


def get_line_shell() -> tuple[str, ...]:
    """Return the program and options that run one line of shell on this machine; the line is appended to them."""
    if sys.platform == "win32":
        return (os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c")
    return (shutil.which("bash") or "/bin/sh", "-c")


def is_bash(shell: tuple[str, ...]) -> bool:
    """Whether a shell is bash, as opposed to a plain shell."""
    return shell[0].rsplit("/", 1)[-1] == "bash"


def explain_plain_shell_doubt(text: str) -> str:
    """Why a plain shell may interpret a script differently than bash; "" if it does not."""
    return "a plain shell may parse it differently than bash" if _BASH_ONLY_SYNTAX.search(text) else ""


def has_arithmetic_argument(command: SimpleCommand) -> bool:
    """Whether a built-in receives a variable name where a number belongs.

    A zsh that is called as `sh` evaluates the name as arithmetic, and its value once more.
    """
    texts = [word.text for word in command.words[1:] if not word.dynamic]
    if command.program == "printf":
        return (
            len(texts) > 1 and _NUMBER_FORMAT.search(texts[0]) is not None and any(map(_NAME_START.search, texts[1:]))
        )
    return command.program in _ARITHMETIC_BUILTINS and any(map(_NAME_START.search, texts))


def explain_shell_doubt(text: str, shell: tuple[str, ...]) -> str:
    """Why the shell that runs a line may interpret it differently than a current bash; "" if it does not."""
    if "/c" in shell:
        return "" if _CMD_SAFE_LINE.fullmatch(text) else "cmd.exe may parse it differently than bash"
    if shell[0] == "/bin/bash" and sys.platform == "darwin":
        here = any(_QUOTE_OR_PAREN.search(match[3]) for match in _HEREDOC_IN_SUBSTITUTION.finditer(text))
        return (
            "the old bash of macOS may misread quotes inside $( )"
            if here or _COMMENT_IN_SUBSTITUTION.search(text)
            else ""
        )
    return "" if is_bash(shell) else explain_plain_shell_doubt(text)
