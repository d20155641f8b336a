"""The shell's own ways to run text: variables that choose programs, names that are calculated, tests. Pure.

Bash evaluates a text as arithmetic in more places than it looks (`$((x))`, `${a[x]}`, `[[ x -eq 1 ]]`, `printf -v x`),
and arithmetic runs what stands in a subscript: a variable that holds `a[$(id)]` runs `id` there. So whatever is
calculated must stand in the line as a number; a variable may hold more.
"""

import re

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.words import SimpleCommand, Word, has_braces, names

DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})
_LATER_MEANING = names("""
    PATH IFS ENV BASH_ENV SHELLOPTS BASHOPTS PROMPT_COMMAND HOME PAGER EDITOR VISUAL SHELL CDPATH BROWSER TMPDIR PWD
    OLDPWD POSIXLY_CORRECT ZDOTDIR NULLCMD READNULLCMD PS0 PS1 PS2 PS4 EXECIGNORE GLOBIGNORE
    MANPAGER LESSOPEN LESSCLOSE DIRSTACK SYSTEMD_PAGER SSH_ASKPASS SSH_ASKPASS_REQUIRE
    NO_UPDATE_NOTIFIER GOTOOLCHAIN GOFLAGS GOPROXY GOROOT GOPATH GOENV GOWORK GOCACHE GOCACHEPROG GOMODCACHE
    GOSUMDB GOAUTH GOVCS GODEBUG
    """)
# A function may come in `BASH_FUNC_ls%%`.
_LATER_PREFIXES = (
    *("LD_", "DYLD_", "GIT_", "BASH_", "PYTHON", "NODE_", "PERL", "RUBY", "JAVA", "_JAVA", "RUST", "CARGO"),
    *("NPM_", "npm_", "PIP_", "UV_", "GH_", "DOCKER_", "HOMEBREW_", "DEBUGINFOD_"),
)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")

_NESTED = LatePattern(r"\$[({\[]|`")
_NUMBER = r"(?:[-+]?\d+|\$[#?$!]|\$\{#\w+(?:\[[@*]\])?\})"
_RENAMES = names("alias enable hash")
# Options that change neither where commands run nor which; `lastpipe` has the end of a pipe move the shell itself.
SHOPT_NAMES = names("extglob nullglob dotglob globstar failglob nocaseglob nocasematch inherit_errexit globasciiranges")
_SET = LatePattern(r"[-+][abCefhmnuvxBEHT]*o?")
SET_NAMES = names("""
    allexport braceexpand errexit errtrace functrace hashall noclobber noexec noglob nounset pipefail verbose xtrace
    """)
_SETTERS = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "let"})
_NUMBERS = names("RANDOM SRANDOM OPTIND SECONDS LINENO")
_PLAIN_TEST = LatePattern(r"-[abcdefghknoprstuwxzGLNOSt]")
_PLAIN_RELATION = LatePattern(r"==?|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)")
_NAMING = (_SETTERS - {"let"}) | {"printf", "wait"}
_COMPARED = LatePattern(r"(\S+)\s+-(?:eq|ne|lt|le|gt|ge)\s+(\S+)")
_ASKED_NAME = LatePattern(r"(?:^|\s)-[vR]\s+(?!\w+\s)")
_ZERO = LatePattern(r"\b([A-Za-z_]\w*)\s*=\s*\d+\b")
_NAME = LatePattern(r"[A-Za-z_]\w*")
_SUM = LatePattern(r"\$?\(\([\w \t+*/%<>=!&|?:,;${}-]*\)\)")
_COUNTS = LatePattern(
    r"(?:^|(?<=[\s;&|({]))([A-Za-z_]\w*)=(?:-?\d+|\$\(\([\w \t+*/%<>=!&|?:,${}-]*\)\))(?=[\s;&|)]|$)"
    r"|(?<=\bfor )([A-Za-z_]\w*) in(?: (?:\d+|\{\d+\.\.\d+\}))+ ?(?=[;\n])"
)
_IS_SUM = LatePattern(r"-?\d+|\$\(\(.*\)\)", re.DOTALL)
_READ = LatePattern(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_HEX = LatePattern(r"\b0[xX][0-9a-fA-F]+")
_OUTSIDE = LatePattern(r"\$(?![#?$!])|`")
# In the order of the alternatives: `${!x}`, `${x@P}`, `$[ ]`, `${a[i]}`, `a[i]=`, `${x:i}`, `{fd}>`.
_CALCULATED = LatePattern(
    r"\$\{!(?!\w+(?:\[[@*]\]|[*@])\})|@P\}|\$\["
    r"|\$\{[!#]?\w+\[(?!(?:-?\d+|[@*])\])|(?:^|[\s;&|(])\w+\[(?!\d+\])[^\n=]{0,200}\]\+?="
    r"|\$\{\w+(?:\[[@*]\])?:(?![-=?+])[^}]{0,200}[A-Za-z_$`]|\{\w+(?:\[[^\n]{0,200}\])?\}[<>]"
)
_DEFAULTED = LatePattern(r"\$\{(\w+):?=")

CALCULATES = "it calculates with a text that may hold a command"


def decides(name: str) -> bool:
    """Whether a variable, or an entry of an array, can change which code runs."""
    bare = name.split("[", 1)[0]
    return bare in _LATER_MEANING or bare.startswith(_LATER_PREFIXES) or bare.lower() in _PROXIES


def is_number(name: str) -> bool:
    """Whether the shell calculates what a variable is set to."""
    return name in _NUMBERS


def calculates(text: str, counted: frozenset[str] = frozenset()) -> bool:
    """Whether arithmetic, as written, uses a name that is not known to hold a number, or one that decides what runs.

    counted: such names; the text may set others to a number itself. `PATH=1` leads to the programs in a folder `1`.
    """
    plain = _HEX.sub("0", text)
    plain = _READ.sub(lambda match: match[1] or match[2] if (match[1] or match[2]) in counted else match[0], plain)
    used = set(_NAME.findall(plain))
    return bool(_OUTSIDE.search(plain)) or any(map(decides, used)) or not used <= counted | set(_ZERO.findall(plain))


def counted(text: str) -> frozenset[str]:
    """The variables of a whole line that hold nothing but a number wherever they stand in it.

    Each place in which the name stands, in quotes too, must read it or set it to a number: `i=0`, `i=$((…))`,
    `for i in 1 2`, `((i++))`. A name that also stands elsewhere (`read i`, `i=$x`, "i am") is none of them.
    """
    found = {match[1] or match[2] for match in _COUNTS.finditer(text)}
    rest = _READ.sub(" ", _SUM.sub(" ", _COUNTS.sub(" ", text))) if found else ""
    return frozenset(found - set(_NAME.findall(rest)))


def may_set(command: SimpleCommand, counted: frozenset[str]) -> bool:
    """Whether a command may give a variable that is to hold a number another value, its name hidden in quotes.

    The shell itself calculates what it is to hold for some, `RANDOM` among them.
    """
    if any(name in counted | _NUMBERS and _IS_SUM.fullmatch(value) is None for name, value in command.env if value):
        return True
    words = command.words[1:] if command.program in _NAMING | DECLARES else ()
    if command.program == "printf" and not any(word.text.startswith("-v") for word in words):
        return bool(counted) and any(word.dynamic for word in words[:1])
    return any((counted and word.dynamic) or any(name in word.text for name in counted | _NUMBERS) for word in words)


def hidden(shown: str) -> str:
    """Why text outside single quotes may run or set what is not seen; "" where it does not."""
    if _CALCULATED.search(shown):
        return CALCULATES
    name = next((match[1] for match in _DEFAULTED.finditer(shown) if decides(match[1])), None)
    return f"it sets the variable {name}, which can change which code runs" if name else ""


def test_hides(text: str, literals: list[str], counted: frozenset[str], *, splits: bool) -> bool:
    """Whether a `[ … ]` or `[[ … ]]` may run something.

    literals: its quoted texts. counted: variables that hold a number. splits: an expansion without quotes stands in it,
    which `[` takes for several words.
    """
    if any(_NESTED.search(literal) for literal in literals) or _ASKED_NAME.search(text):
        return True
    if not text.startswith("[["):
        return splits
    sides = [side for match in _COMPARED.finditer(text) for side in match.groups()]
    bare = (side.strip("\"'") for side in sides)
    return any(re.fullmatch(_NUMBER, side) is None and side.strip("${}") not in counted for side in bare)


def declares_array(command: SimpleCommand) -> bool:
    """Whether a quoted word of `declare` and its like gives an array, whose subscripts are expanded a second time."""
    parts = (word.text.partition("=") for word in command.words[1:])
    return any("[" in name or value.startswith("(") for name, sign, value in parts if sign)


def refills(commands: list[SimpleCommand]) -> bool:
    """Whether `declare a=$x` gives an array of the line a text, which it reads as `([subscript]=…)`."""
    arrays = {name for command in commands for name, value in command.env if value.startswith("(")}
    return any(
        name in arrays and not value.startswith("(") and "$" in value
        for command in commands
        if command.program in DECLARES
        for name, value in command.env
    )


def declared(command: SimpleCommand) -> tuple[tuple[Word, ...], tuple[tuple[str, str], ...]]:
    """The words of `export` and its like that are no assignments, and the assignments, quoted ones too."""
    given = [word for word in command.words[1:] if "=" in word.text and not word.text.startswith(("-", "="))]
    pairs = [(name.removesuffix("+"), value) for name, _, value in (word.text.partition("=") for word in given)]
    return tuple(word for word in command.words if word not in given), (*command.env, *pairs)


def state_risk(command: SimpleCommand) -> str:
    """Why a builtin may change what later words mean, or run text; "" where it does not."""
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
    """Whether `test` only looks at texts and files: one thing asked, and what is open stays one word."""
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
    """Whether a builtin gives names another meaning, or sets an option by which a line is read or run otherwise."""
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
    if "i" in flags or array:  # whatever an integer is given is calculated, and so are the subscripts in `([x]=1)`
        return CALCULATES
    return ""
