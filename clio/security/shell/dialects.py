"""Which shell runs a line of clio's, and what other shells than bash read otherwise. The door to `bash` on PATH.

Lines are judged by the grammar of bash. A plain `sh` (dash, ash, bash called `sh`) reads most of them alike; what it
does not is named here, so that it is asked. `cmd.exe` shares only the plainest words.
"""

import os
import re
import shutil
import sys

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.words import SimpleCommand, names

# In the order of the alternatives: `$'a\'; rm'`, `[[ a && rm ]]`, `((rm))`, `rm 10> x` (there the 10 is an argument),
# `ls &> x rm` (there it goes to the background, and `rm` runs), `>! x` and `>&! x` (zsh, called `sh`,
# takes them for `>| x`).
_PLAIN_DOUBT = LatePattern(r"\$['\"]|\[\[|(?<!\$)\(\(|\d\d[<>]|&>|>[>&|]*!")
# There `/x` is an option, and almost every sign means something.
_CMD_PLAIN = LatePattern(r"\w[\w.-]*(?: (?!/)[\w.:=,+@/-]+)*", re.ASCII)
_CALCULATE = names("shift exit return break continue")
_NUMBERED = LatePattern(r"%[^a-zA-Z%]*(?:[diouxXeEfFgGaA]|\*)")
_NAME = LatePattern(r"[A-Za-z_]")
# Before version 4, bash looked for the end of `$( )` without reading what stands in it.
_OLD_HERE = LatePattern(r"\$\((?s:.{0,2000}?)<<-?\s*(['\"\\]?)(\w+)\1[^\n]*\n((?s:.*?))\n\s*\2\b")
_OLD_COMMENT = LatePattern(r"\$\((?s:.{0,2000}?)[\s;(]#[^\n]*['\"`()\\]")
_MISLEADS = LatePattern(r"['\"`()\\]")


def line_shell() -> tuple[str, ...]:
    """The program and options that run one line of shell on this machine; the line comes behind them."""
    if sys.platform == "win32":
        return (os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c")
    return (shutil.which("bash") or "/bin/sh", "-c")


def runs_bash(shell: tuple[str, ...]) -> bool:
    """Whether a shell is bash, not a plain one."""
    return shell[0].rsplit("/", 1)[-1] == "bash"


def plain_doubt(text: str) -> str:
    """Why a plain shell may read a script otherwise than bash does; "" where it reads it alike."""
    return "a plain shell reads it otherwise than bash" if _PLAIN_DOUBT.search(text) else ""


def counts_on(command: SimpleCommand) -> bool:
    """Whether a builtin is given a name for a number: a plain shell that is zsh calculates it, and what it holds."""
    texts = [word.text for word in command.words[1:] if not word.dynamic]
    if command.program == "printf":
        return len(texts) > 1 and _NUMBERED.search(texts[0]) is not None and any(map(_NAME.search, texts[1:]))
    return command.program in _CALCULATE and any(map(_NAME.search, texts))


def doubt(text: str, shell: tuple[str, ...]) -> str:
    """Why the shell that runs a line may read it otherwise than the bash of today; "" where it reads it alike."""
    if "/c" in shell:
        return "" if _CMD_PLAIN.fullmatch(text) else "it is judged as bash reads it, and cmd.exe reads it otherwise"
    if shell[0] == "/bin/bash" and sys.platform == "darwin":
        here = any(_MISLEADS.search(match[3]) for match in _OLD_HERE.finditer(text))
        return (
            "the bash of a Mac is too old to read quotes inside $( ) reliably"
            if here or _OLD_COMMENT.search(text)
            else ""
        )
    return "" if runs_bash(shell) else plain_doubt(text)
