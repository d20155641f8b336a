"""Calls of git that print nothing but object names, `[0-9a-f]+`: no options, and no paths that lead anywhere. Pure."""

from clio.algorithms.late_pattern import LatePattern
from clio.security.readonly.grammar import UnknownWord, parse_call, read_grammar
from clio.security.shell.words import SimpleCommand, Word

OBJECT = "abcdef0123" * 4
"""Stands for an object name."""
_PLAIN_REVISION = LatePattern(r"(?!.*\.\.)[A-Za-z@][\w/.-]*(?:[~^]\d*|@\{\d+\})*")
_COMMITS = """
    -# -n=number --max-count=number --skip=number --since= --after= --until= --before= --author= --committer= --grep= -i
    --merges --no-merges --first-parent --all --branches --tags --remotes --reverse --date-order --topo-order --no-walk
    --author-date-order
    """
_PRINTS_OBJECTS: dict[str, str] = {
    "merge-base": "-a --all --octopus --independent --fork-point ; text+",
    "rev-list": f"{_COMMITS} ; text*",
    "log": f"{_COMMITS} --format=(%H|%h) --pretty=(format:%H|format:%h|tformat:%H|tformat:%h) ; text*",
    "rev-parse": "--verify -q --quiet --short? ; text",
}


def prints_objects(command: SimpleCommand) -> tuple[str, ...] | None:
    """The revisions a call of git is given that prints nothing but object names of them; None for other calls."""
    program, subcommand = (*command.argv, "", "")[:2]
    spec = _PRINTS_OBJECTS.get(subcommand)
    if spec is None or program != "git" or any(word.glob or word.dynamic for word in command.words):
        return None
    words = command.words[2:]
    if words[-1:] == (Word("--"),):
        words = words[:-1]
    try:
        call = parse_call(read_grammar(spec), words)
    except UnknownWord:
        return None
    if subcommand == "log" and len(call.values("--format", "--pretty")) != 1:
        return None
    texts = tuple(word.text for word in call.operands)
    ranges = (part for text in texts for part in ([text] if subcommand == "rev-parse" else _ends(text)))
    return texts if all(map(_PLAIN_REVISION.fullmatch, ranges)) else None


def _ends(text: str) -> list[str]:
    """The revisions of `a..b` and `a...b`, one of which may be left out."""
    return [part for part in text.replace("...", "..").split("..") if part] if text.count("..") == 1 else [text]
