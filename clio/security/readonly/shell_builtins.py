"""Grammars of the shell's own commands that neither write nor show what the environment holds. Pure.

Left out on purpose: whatever lists variables (`set`, `export -p`, `declare`, `compgen -v`, `env`, `printenv`), runs a
text (`eval`, `source`, `mapfile -C`), or gives names another meaning (`alias`, `hash`, `enable`).
"""

import re

from clio.security.readonly.grammar import Judge, Judgement, UnknownWord, judge_by, parse_call, read_grammar
from clio.security.shell.words import Word

# `-x` and `-v` print every later command with the values in it, of the environment too.
_SET = re.compile(r"[-+][euf]+|[-+][euf]*o")
_SET_NAMES = frozenset({"pipefail", "errexit", "nounset", "errtrace", "noglob"})


def _judge_set(words: tuple[Word, ...]) -> Judgement:
    """`set` without arguments prints every variable; with others than these it changes how later words are read."""
    texts = [word.text for word in words[1:]]
    if not texts:
        raise UnknownWord("it shows every variable, secrets included")
    for before, text in zip(["", *texts], texts, strict=False):
        named = before.endswith("o") and text in _SET_NAMES
        if not named and not _SET.fullmatch(text):
            raise UnknownWord(f"{text!r} is not known to be harmless")
    if texts[-1].endswith("o"):
        raise UnknownWord("an argument is missing")
    return Judgement()


def _judge_declaration(words: tuple[Word, ...]) -> Judgement:
    """`export` and its like only name variables where they are given a name; without one they print all of them."""
    call = parse_call(read_grammar("-r -x -g -a -A -t ; text*"), words[1:])
    if not call.operands or any(word.text[:1] in ("+", "-", "") for word in call.operands):
        raise UnknownWord("it shows every variable, secrets included")
    return Judgement()


def _judge_command(words: tuple[Word, ...]) -> Judgement:
    """`command -v name` says what a name means; anything else runs it, and is judged as what it runs."""
    call = parse_call(read_grammar("-v -V -p ; text+", order="stop"), words[1:])
    if not call.has("-v", "-V"):
        raise UnknownWord("it runs a command")
    return Judgement()


def _judge_let(words: tuple[Word, ...]) -> Judgement:
    """What `let` calculates is looked at by the parser of the line."""
    return Judgement()


BUILTINS: dict[str, Judge] = {
    "cd": judge_by("-L -P -e ; path?"),
    "pushd": judge_by("-n ; path?"),
    "popd": judge_by("-n ; text?"),
    "dirs": judge_by("-c -l -p -v ; text?"),
    "exit": judge_by("; number?"),
    "return": judge_by("; number?"),
    "break": judge_by("; number?"),
    "continue": judge_by("; number?"),
    "shift": judge_by("; number?"),
    "wait": judge_by("-n -f ; text*"),
    "jobs": judge_by("-l -n -p -r -s ; text*"),
    "times": judge_by(";"),
    # The other options change how later words are read, or what becomes of a pattern (nocaseglob, nullglob).
    "shopt": judge_by("-s -u -q ; text(globstar|dotglob|failglob|extglob)+"),
    "umask": judge_by("-p -S ; text?"),
    "ulimit": judge_by("-a -c -d -f -l -m -n -s -t -u -v -H -S ;"),
    "read": judge_by("-r -s -e -a= -d= -n=number -N=number -p= -t=number ; text*"),
    "mapfile": judge_by("-t -d= -n=number -O=number -s=number ; text?"),
    "readarray": judge_by("-t -d= -n=number -O=number -s=number ; text?"),
    "getopts": judge_by("; text text text*", order="stop"),
    "unset": judge_by("-v -f ; text+"),
    "let": _judge_let,
    "set": _judge_set,
    "type": judge_by("-a -f -p -P -t ; text+"),
    "command": _judge_command,
    # The text of a trap is judged as a command line of its own.
    "trap": judge_by("-l -p ; text*"),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _judge_declaration),
}
