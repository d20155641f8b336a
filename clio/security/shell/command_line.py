"""Data model of a parsed command line, and rules for quotes, `cd` and variables that change its meaning. Pure."""

import os
import re
import shutil
import sys

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set, for readable tables."""
    return frozenset(text.split())


FROM_FILE = "\0"


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
        late_scripts: scripts for a shell inside the line that are only known at run time.
        fork_bomb: it defines a function that starts itself without end.
        second_reading: calls found only by the second parser, if the two parsers disagree.
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
    late_scripts: tuple[Word, ...] = ()
    second_reading: tuple[SimpleCommand, ...] = ()
    hidden_programs: tuple[str, ...] = ()


_WORD_ESCAPE = LazyRegex(r"\\(\n|.)", re.DOTALL)
_STRING_ESCAPE = LazyRegex(r'\\([\n"\\$`])')
_ANSI_ESCAPE = LazyRegex(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_PLAIN_ANSI = LazyRegex(
    r"(?:[^\\]|\\(?:[abeEfnrtv\\'\"?]|x(?:[1-7][0-9a-fA-F]|0[1-9a-fA-F])|(?:1[0-7]|0[1-7])[0-7]|u(?!0000)[0-9a-fA-F]{4}))*"
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_GLOB = LazyRegex(r"(?<!\\)(?:\\\\)*[*?\[]")
_BRACES = LazyRegex(r"\{[^{}]*(?:,|\.\.)")
_INNERMOST = LazyRegex(r"\{([^{}]*)\}")
_ROW = LazyRegex(r"([-+]?\d{1,9})\.\.([-+]?\d{1,9})(?:\.\.[-+]?\d{1,9})?")
_LETTERS = 58
"""The number of characters from `A` to `z`."""
MANY_WORDS = 100_000
"""A brace expansion to this many words can exhaust the shell's memory and time."""


def unquote_word(text: str) -> str:
    """Remove the backslash escapes from an unquoted word."""
    return _WORD_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def unquote_double_quoted(text: str) -> str:
    """Remove the escapes from the inside of a double-quoted string."""
    return _STRING_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def has_strange_ansi(text: str) -> bool:
    """Whether the inside of `$'…'` has an escape that shells interpret differently, or that is no character."""
    return _PLAIN_ANSI.fullmatch(text) is None


def unquote_ansi_quoted(text: str) -> str:
    """Decode the escapes in the inside of `$'…'`."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0x110000 else ""
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        if code[0] == "c" and len(code) > 1:
            return chr(ord(code[1]) & 0x1F)
        return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else match[0])

    return _ANSI_ESCAPE.sub(one, text)


def has_glob(text: str) -> bool:
    """Whether an unquoted word, as written, contains an unescaped glob character."""
    return _GLOB.search(text) is not None


def has_braces(text: str) -> bool:
    """Whether unquoted text may be a brace expansion, which turns one word into several."""
    return _BRACES.search(text) is not None


def count_expanded(text: str) -> int:
    """Return an upper limit for the words that the brace expansions in one word produce: 20 for `{a,b}{1..10}`.

    Quoted braces count as well, and nested ones count more than they produce.
    """
    total, left = 1, text
    while total < MANY_WORDS and (group := _INNERMOST.search(left)):
        inside = group[1]
        if ends := _ROW.fullmatch(inside):
            total *= abs(int(ends[2]) - int(ends[1])) + 1
        elif ".." in inside:
            total *= MANY_WORDS if any(map(str.isdigit, inside)) else _LETTERS
        else:
            total *= inside.count(",") + 1
        left = f"{left[: group.start()]}x{left[group.end() :]}"
    return total


Paths = tuple[str, ...] | None
"""The folders a line may be in at some point; None if unknown."""
Exits = tuple[Paths, Paths]
"""The folders after a statement succeeded, and after it failed."""

_MAX_FOLDERS = 8
"""With more possible folders, the folder of a command counts as unknown."""
MOVES = word_set("cd pushd popd chdir")
PLAINLY_STARTS = word_set("time command builtin")
"""Prefixes after which a `cd` is still recognized as moving the line."""
DECIDES_MOVES = MOVES | word_set(
    "export declare typeset local readonly command builtin eval exec time dirs set shopt unset trap . source"
)
"""Names that, if defined as a function, would change where or how the line continues."""
_STAY = word_set("-P -L -e")


def merge_folders(*places: Paths) -> Paths:
    """Return all of these folders; None if one is unknown or there are too many."""
    found = dict[str, None]()
    for paths in places:
        if paths is None:
            return None
        found |= dict.fromkeys(paths)
    return tuple(found) if len(found) <= _MAX_FOLDERS else None


def resolve_cd(paths: Paths, words: tuple[Word, ...]) -> Paths:
    """Return where `cd` and similar commands lead from these folders."""
    targets = [word for word in words[1:] if word.dynamic or word.text not in _STAY]
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


DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})
_LATER_MEANING = word_set("""
    PATH IFS ENV BASH_ENV SHELLOPTS BASHOPTS PROMPT_COMMAND HOME PAGER EDITOR VISUAL SHELL CDPATH BROWSER TMPDIR PWD
    OLDPWD POSIXLY_CORRECT ZDOTDIR NULLCMD READNULLCMD PS0 PS1 PS2 PS4 EXECIGNORE GLOBIGNORE
    MANPAGER LESSOPEN LESSCLOSE DIRSTACK SYSTEMD_PAGER SSH_ASKPASS SSH_ASKPASS_REQUIRE
    NO_UPDATE_NOTIFIER GOTOOLCHAIN GOFLAGS GOPROXY GOROOT GOPATH GOENV GOWORK GOCACHE GOCACHEPROG GOMODCACHE
    GOSUMDB GOAUTH GOVCS GODEBUG
    """)
# A function may be exported as `BASH_FUNC_ls%%`.
_LATER_PREFIXES = (
    *("LD_", "DYLD_", "GIT_", "BASH_", "PYTHON", "NODE_", "PERL", "RUBY", "JAVA", "_JAVA", "RUST", "CARGO"),
    *("NPM_", "npm_", "PIP_", "UV_", "GH_", "DOCKER_", "HOMEBREW_", "DEBUGINFOD_"),
)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")

_NESTED = LazyRegex(r"\$[({\[]|`")
_NUMBER = r"(?:[-+]?\d+|\$[#?$!]|\$\{#\w+(?:\[[@*]\])?\})"
_RENAMES = word_set("alias enable hash")
# Options that change neither where commands run nor which. With `lastpipe`, the end of a pipe can move the shell
# itself.
SHOPT_NAMES = word_set(
    "extglob nullglob dotglob globstar failglob nocaseglob nocasematch inherit_errexit globasciiranges"
)
_SET = LazyRegex(r"[-+][abCefhmnuvxBEHT]*o?")
SET_NAMES = word_set("""
    allexport braceexpand errexit errtrace functrace hashall noclobber noexec noglob nounset pipefail verbose xtrace
    """)
_SETTERS = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "let"})
_NUMBERS = word_set("RANDOM SRANDOM OPTIND SECONDS LINENO")
_PLAIN_TEST = LazyRegex(r"-[abcdefghknoprstuwxzGLNOSt]")
_PLAIN_RELATION = LazyRegex(r"==?|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)")
_NAMING = (_SETTERS - {"let"}) | {"printf", "wait"}
_COMPARED = LazyRegex(r"(\S+)\s+-(?:eq|ne|lt|le|gt|ge)\s+(\S+)")
_ASKED_NAME = LazyRegex(r"(?:^|\s)-[vR]\s+(?!\w+\s)")
_ZERO = LazyRegex(r"\b([A-Za-z_]\w*)\s*=\s*\d+\b")
_NAME = LazyRegex(r"[A-Za-z_]\w*")
_SUM = LazyRegex(r"\$?\(\([\w \t+*/%<>=!&|?:,;${}-]*\)\)")
_COUNTS = LazyRegex(
    r"(?:^|(?<=[\s;&|({]))([A-Za-z_]\w*)=(?:-?\d+|\$\(\([\w \t+*/%<>=!&|?:,${}-]*\)\))(?=[\s;&|)]|$)"
    r"|(?<=\bfor )([A-Za-z_]\w*) in(?: (?:\d+|\{\d+\.\.\d+\}))+ ?(?=[;\n])"
)
_IS_SUM = LazyRegex(r"-?\d+|\$\(\(.*\)\)", re.DOTALL)
_READ = LazyRegex(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_HEX = LazyRegex(r"\b0[xX][0-9a-fA-F]+")
_OUTSIDE = LazyRegex(r"\$(?![#?$!])|`")
# In the order of the alternatives: `${!x}`, `${x@P}`, `$[ ]`, `${a[i]}`, `a[i]=`, `${x:i}`, `{fd}>`.
_CALCULATED = LazyRegex(
    r"\$\{!(?!\w+(?:\[[@*]\]|[*@])\})|@P\}|\$\["
    r"|\$\{[!#]?\w+\[(?!(?:-?\d+|[@*])\])|(?:^|[\s;&|(])\w+\[(?!\d+\])[^\n=]{0,200}\]\+?="
    r"|\$\{\w+(?:\[[@*]\])?:(?![-=?+])[^}]{0,200}[A-Za-z_$`]|\{\w+(?:\[[^\n]{0,200}\])?\}[<>]"
)
_DEFAULTED = LazyRegex(r"\$\{(\w+):?=")

CALCULATES = "it calculates with a text that may hold a command"


def decides(name: str) -> bool:
    """Whether a variable or array element can change which code runs."""
    bare = name.split("[", 1)[0]
    return bare in _LATER_MEANING or bare.startswith(_LATER_PREFIXES) or bare.lower() in _PROXIES


def is_number(name: str) -> bool:
    """Whether the shell evaluates what is assigned to a variable as arithmetic."""
    return name in _NUMBERS


def calculates(text: str, counted: frozenset[str] = frozenset()) -> bool:
    """Whether arithmetic, as written, uses a name not known to contain a number, or one that decides what runs.

    Args:
        counted: names known to contain a number; the text itself may assign numbers to others. `PATH=1` would make
        the
            shell search programs in a folder `1`.
    """
    plain = _HEX.sub("0", text)
    plain = _READ.sub(lambda match: match[1] or match[2] if (match[1] or match[2]) in counted else match[0], plain)
    used = set(_NAME.findall(plain))
    return bool(_OUTSIDE.search(plain)) or any(map(decides, used)) or not used <= counted | set(_ZERO.findall(plain))


def counted(text: str) -> frozenset[str]:
    """Return the variables of a whole line that never contain anything but a number.

    Each occurrence of the name, in quotes too, must read it or assign a number: `i=0`, `i=$((…))`, `for i in 1 2`,
    `((i++))`. A name with other occurrences (`read i`, `i=$x`, "i am") is not included.
    """
    found = {match[1] or match[2] for match in _COUNTS.finditer(text)}
    rest = _READ.sub(" ", _SUM.sub(" ", _COUNTS.sub(" ", text))) if found else ""
    return frozenset(found - set(_NAME.findall(rest)))


def may_set(command: SimpleCommand, counted: frozenset[str]) -> bool:
    """Whether a command may assign something else to a variable known as a number, with its name hidden in quotes.

    The shell itself computes the values of some variables, such as `RANDOM`.
    """
    if any(name in counted | _NUMBERS and _IS_SUM.fullmatch(value) is None for name, value in command.env if value):
        return True
    words = command.words[1:] if command.program in _NAMING | DECLARES else ()
    if command.program == "printf" and not any(word.text.startswith("-v") for word in words):
        return bool(counted) and any(word.dynamic for word in words[:1])
    return any((counted and word.dynamic) or any(name in word.text for name in counted | _NUMBERS) for word in words)


def explain_hidden_effect(shown: str) -> str:
    """Why text outside single quotes may run or set something that is not visible; "" if it does not."""
    if _CALCULATED.search(shown):
        return CALCULATES
    name = next((match[1] for match in _DEFAULTED.finditer(shown) if decides(match[1])), None)
    return f"it sets the variable {name}, which can change which code runs" if name else ""


def is_test_unsafe(text: str, literals: list[str], counted: frozenset[str], *, splits: bool) -> bool:
    """Whether a `[ … ]` or `[[ … ]]` may run something.

    Args:
        literals: its quoted texts.
        counted: variables that contain a number.
        splits: it contains an unquoted expansion, which `[` may receive as several words.
    """
    if any(_NESTED.search(literal) for literal in literals) or _ASKED_NAME.search(text):
        return True
    if not text.startswith("[["):
        return splits
    sides = [side for match in _COMPARED.finditer(text) for side in match.groups()]
    bare = (side.strip("\"'") for side in sides)
    return any(re.fullmatch(_NUMBER, side) is None and side.strip("${}") not in counted for side in bare)


def declares_array(command: SimpleCommand) -> bool:
    """Whether a quoted word of `declare` or similar defines an array, whose subscripts are expanded a second time."""
    parts = (word.text.partition("=") for word in command.words[1:])
    return any("[" in name or value.startswith("(") for name, sign, value in parts if sign)


def refills(commands: list[SimpleCommand]) -> bool:
    """Whether `declare a=$x` assigns text to an array of the line, which is parsed as `([subscript]=…)`."""
    arrays = {name for command in commands for name, value in command.env if value.startswith("(")}
    return any(
        name in arrays and not value.startswith("(") and "$" in value
        for command in commands
        if command.program in DECLARES
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
    if any(not word.dynamic and _NESTED.search(word.text) for word in words) and program in (
        {"test", "[", "[[", "printf", "wait"} | _SETTERS | DECLARES
    ):
        return f"{program!r} may evaluate its argument"
    if program in DECLARES:
        return _declaration(command)
    if _changes_meanings(program, words):
        return f"{program!r} may change what later words mean"
    named = words if program in _SETTERS else ()
    if program in ("printf", "wait"):
        flag = "-v" if program == "printf" else "-p"
        at = next((place for place, word in enumerate(words) if word.text.startswith(flag)), None)
        named = () if at is None else (Word(words[at].text[2:], words[at].dynamic), *words[at + 1 : at + 2])
    if program == "test" and not _plain_test(words):
        return CALCULATES
    if any(word.dynamic or "[" in word.text for word in named):
        return f"which variable {program!r} sets is only known when it runs"
    name = next((word.text for word in named if decides(word.text)), None)
    if program == "let" and any(calculates(word.text) for word in words):
        return CALCULATES
    return f"it sets the variable {name}, which can change which code runs" if name else ""


def _plain_test(words: tuple[Word, ...]) -> bool:
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
            return not words[0].dynamic and _PLAIN_TEST.fullmatch(words[0].text) is not None
        case 3:
            return not words[1].dynamic and _PLAIN_RELATION.fullmatch(words[1].text) is not None
        case _:
            return False


def _changes_meanings(program: str, words: tuple[Word, ...]) -> bool:
    """Whether a built-in gives names another meaning, or sets an option that changes how a line is read or run."""
    texts = [word.text for word in words]
    if program in _RENAMES:
        return bool(words) and texts != ["-r"]
    if program == "shopt":
        return any(word.dynamic for word in words) or not all(text in SHOPT_NAMES or text[:1] == "-" for text in texts)
    if program != "set":
        return False
    for place, word in enumerate(words):
        option = place > 0 and _SET.fullmatch(texts[place - 1]) is not None and texts[place - 1].endswith("o")
        if not option and (word.text == "--" or not (word.dynamic or word.text.startswith(("-", "+")))):
            return False
        if word.dynamic or not (word.text in SET_NAMES if option else _SET.fullmatch(word.text)):
            return True
    return False


def _declaration(command: SimpleCommand) -> str:
    flags = "".join(word.text[1:] for word in command.words[1:] if word.text.startswith("-"))
    if any(word.dynamic for word in command.words[1:]) or "n" in flags.replace("function", ""):
        return f"which variable {command.program!r} sets is only known when it runs"
    array = "a" in flags and any("$" in value and not value.startswith("(") for _, value in command.env)
    # assignments to an integer are evaluated as arithmetic, and so are the subscripts in `([x]=1)`
    if "i" in flags or array:
        return CALCULATES
    return ""


# In the order of the alternatives: `$'a\'; rm'`, `[[ a && rm ]]`, `((rm))`, `rm 10> x` (in plain shells the 10 is an
# argument), `ls &> x rm` (runs `ls` in the background, then `rm`), `>! x` and `>&! x` (zsh called as `sh` reads them as
# `>| x`).
_PLAIN_DOUBT = LazyRegex(r"\$['\"]|\[\[|(?<!\$)\(\(|\d\d[<>]|&>|>[>&|]*!")
# In cmd.exe `/x` is an option, and almost every punctuation character has a meaning.
_CMD_PLAIN = LazyRegex(r"\w[\w.-]*(?: (?!/)[\w.:=,+@/-]+)*", re.ASCII)
_CALCULATE = word_set("shift exit return break continue")
_NUMBERED = LazyRegex(r"%[^a-zA-Z%]*(?:[diouxXeEfFgGaA]|\*)")
_PLAIN_NAME = LazyRegex(r"[A-Za-z_]")
# Before version 4, bash searched for the end of `$( )` without parsing its content.
_OLD_HERE = LazyRegex(r"\$\((?s:.{0,2000}?)<<-?\s*(['\"\\]?)(\w+)\1[^\n]*\n((?s:.*?))\n\s*\2\b")
_OLD_COMMENT = LazyRegex(r"\$\((?s:.{0,2000}?)[\s;(]#[^\n]*['\"`()\\]")
_MISLEADS = LazyRegex(r"['\"`()\\]")


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
    return "a plain shell reads it otherwise than bash" if _PLAIN_DOUBT.search(text) else ""


def counts_on(command: SimpleCommand) -> bool:
    """Whether a built-in gets a variable name as a number: zsh as `sh` evaluates it, and its value again."""
    texts = [word.text for word in command.words[1:] if not word.dynamic]
    if command.program == "printf":
        return len(texts) > 1 and _NUMBERED.search(texts[0]) is not None and any(map(_PLAIN_NAME.search, texts[1:]))
    return command.program in _CALCULATE and any(map(_PLAIN_NAME.search, texts))


def explain_shell_doubt(text: str, shell: tuple[str, ...]) -> str:
    """Why the shell that runs a line may interpret it differently than a current bash; "" if it does not."""
    if "/c" in shell:
        return "" if _CMD_PLAIN.fullmatch(text) else "it is judged as bash reads it, and cmd.exe reads it otherwise"
    if shell[0] == "/bin/bash" and sys.platform == "darwin":
        here = any(_MISLEADS.search(match[3]) for match in _OLD_HERE.finditer(text))
        return (
            "the bash of a Mac is too old to read quotes inside $( ) reliably"
            if here or _OLD_COMMENT.search(text)
            else ""
        )
    return "" if is_bash(shell) else explain_plain_shell_doubt(text)
