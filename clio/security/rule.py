"""One rule of a configuration, such as `git log *`, `fetch docs.python.org` or `mcp_github_*`. Pure."""

import shlex
from fnmatch import fnmatchcase

from msgspec import Struct

FETCH = "fetch"
"""First word of a rule about web pages; its second is a host name, which may hold `*`."""


class Rule(Struct, frozen=True):
    """One rule taken apart: its words in order. A lone `*` at the end stands for any number of words, also none."""

    text: str
    words: tuple[str, ...]


def read_rule(text: str) -> Rule:
    """The rule a text says. An unbalanced quote is taken as a plain character; an empty rule matches nothing."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return Rule(text, tuple(words))


def host_matches(rule: Rule, host: str) -> bool:
    """Whether a rule of the form `fetch host` speaks of this host."""
    return len(rule.words) == 2 and rule.words[0] == FETCH and fnmatchcase(host.lower(), rule.words[1].lower())


def tool_matches(rule: Rule, name: str) -> bool:
    """Whether a rule speaks of this tool of a server: its whole name, `mcp_github_get_issue` or `mcp_github_*`."""
    return len(rule.words) == 1 and rule.words[0].startswith("mcp_") and fnmatchcase(name, rule.words[0])


def is_about_commands(rule: Rule) -> bool:
    """Whether a rule speaks of commands, and not of a web page or a tool of a server."""
    if not rule.words or (rule.words[0] == FETCH and len(rule.words) == 2):
        return False
    return not (len(rule.words) == 1 and rule.words[0].startswith("mcp_"))
