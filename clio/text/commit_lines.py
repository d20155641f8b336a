"""What `git commit` prints, and which command lines run it. Pure."""

import re

from clio.text.lazy_regex import LazyRegex

_WORD = r"""(?:"[^"\n]*"|'[^'\n]*'|[^\s;&|"']+)"""
# Where a command begins: at the start, or behind what ends another one; variables may be set before it.
_RUNS = LazyRegex(
    rf"(?:^|[;&|(\n{{`]|\b(?:then|do|else|time|sudo|env)\s)\s*(?:\w+={_WORD}?\s+)*(?:\S*/)?git"
    rf"(?:\s+-[cC]\s+{_WORD}|\s+--?[a-zA-Z][^\s;&|]*)*\s+(?:commit|cherry-pick|revert)\b"
)
# "[main 1a2b3c4] subject", "[main (root-commit) 1a2b3c4] subject", "[detached HEAD 1a2b3c4] subject".
_COMMITTED = LazyRegex(r"^\[[^\]\n]*\S (?P<hash>[0-9a-f]{7,64})\] (?P<subject>\S.*)$", re.M)


def runs_commit(command: str) -> bool:
    """Whether a shell line runs `git commit`, `cherry-pick` or `revert`; being mentioned in a string is not enough.

    A here-document or a quoted text that holds such a line of its own is taken for one.
    """
    return _RUNS.search(command) is not None


def commit_lines(output: str) -> list[tuple[str, str]]:
    """The commits git reports in the output of those commands, as (abbreviated hash, subject), in order."""
    return [(match["hash"], match["subject"].strip()) for match in _COMMITTED.finditer(output)]
