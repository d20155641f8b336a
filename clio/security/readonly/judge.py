"""Judge whether a simple command only reads, by the positive grammar of its program. Pure.

To add a program: list it in the table of its family (`programs`, `developer_tools`, `git`, …) with every option that is
known to be harmless. What is not listed is asked about.
"""

from clio.security.readonly import archives, awk, jq, sed
from clio.security.readonly.developer_tools import DEVELOPER_TOOLS
from clio.security.readonly.find import STARTERS, build_judges, judge_started_call
from clio.security.readonly.git import GIT
from clio.security.readonly.grammar import Judge, Judgement, UnknownWord
from clio.security.readonly.programs import PROGRAMS
from clio.security.readonly.shell_builtins import BUILTINS
from clio.security.shell.words import CommandLine, SimpleCommand, Word


def _judge_words(words: tuple[Word, ...]) -> Judgement:
    """Judge the words of a call, also of one that another starts."""
    program = words[0].text.rsplit("/", 1)[-1]
    judge = _JUDGES.get(program)
    if judge is None:
        raise UnknownWord(f"clio does not know the program {program!r}")
    return judge(words)


_JUDGES: dict[str, Judge] = {
    **PROGRAMS,
    **BUILTINS,
    **DEVELOPER_TOOLS,
    **GIT,
    **sed.JUDGES,
    **awk.JUDGES,
    **jq.JUDGES,
    **archives.JUDGES,
    **build_judges(_judge_words),
}


def is_listed(program: str) -> bool:
    """Whether a program has a grammar, so that some of its calls are known to be harmless."""
    return program in _JUDGES


def listed_programs() -> tuple[str, ...]:
    """The programs that have a grammar, sorted."""
    return tuple(sorted(_JUDGES))


def get_judge(program: str) -> Judge:
    """The judge of a listed program."""
    return _JUDGES[program]


def is_started(command: SimpleCommand) -> bool:
    """Whether find, fd or xargs starts a command, so that some of its words are names of files."""
    return not STARTERS.isdisjoint(command.wrappers)


def judge_read_only(command: SimpleCommand, line: CommandLine | None = None) -> Judgement | str:
    """What a command reads, where it provably does nothing else; otherwise why that is not known.

    The reason completes the sentence "it …" or names the word: "the option '-o' is not known to be harmless".
    Variables set for the command, wrappers and where its paths lead are judged by the caller.

    Args:
        line: the line the command is of. What xargs starts is known only with it.
    """
    try:
        if is_started(command):
            return judge_started_call(command, line, _judge_words)
        return _judge_words(command.words)
    except UnknownWord as error:
        return str(error)
