"""Judge whether a simple command only reads, by the positive grammar of its program. Pure.

To add a program: list it in the table of its family (`programs`, `developer_tools`, `git`, …) with every option that is
known to be harmless. What is not listed is asked about.
"""

from clio.security.readonly.developer_tools import DEVELOPER_TOOLS
from clio.security.readonly.grammar import Judge, Judgement, UnknownWord
from clio.security.readonly.programs import PROGRAMS
from clio.security.readonly.shell_builtins import BUILTINS
from clio.security.shell.words import CommandLine, SimpleCommand

_JUDGES: dict[str, Judge] = {**PROGRAMS, **BUILTINS, **DEVELOPER_TOOLS}


STARTS_CALLS = frozenset({"find", "fd", "fdfind", "xargs"})
"""Programs that start calls with words of their own in them; the judge of such a call knows what they stand for."""

ENVIRONMENT = {
    "GOTOOLCHAIN": "local",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_PROMPT_DISABLED": "1",
    "npm_config_update_notifier": "false",
    "npm_config_logs_max": "0",
    "npm_config_fund": "false",
    "DEBUGINFOD_URLS": "",
}
"""Variables with which developer tools do nothing besides what they are asked for: no download, no log file."""


def is_listed(program: str) -> bool:
    """Whether a program has a grammar, so that some of its calls are known to be harmless."""
    return program in _JUDGES


def listed_programs() -> tuple[str, ...]:
    """The programs that have a grammar, sorted."""
    return tuple(sorted(_JUDGES))


def get_judge(program: str) -> Judge:
    """The judge of a listed program."""
    return _JUDGES[program]


def judge_read_only(command: SimpleCommand, line: CommandLine | None = None) -> Judgement | str:
    """What a command reads, where it provably does nothing else; otherwise why that is not known.

    The reason completes the sentence "it …" or names the word: "the option '-o' is not known to be harmless".
    Variables set for the command, wrappers and where its paths lead are judged by the caller.

    Args:
        line: the line the command is of. What xargs starts is known only with it.
    """
    judge = _JUDGES.get(command.program)
    if judge is None:
        return f"clio does not know the program {command.program!r}"
    try:
        return judge(command.words)
    except UnknownWord as error:
        return str(error)
