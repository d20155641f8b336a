"""What `clio --help` prints: one page, made from the tables of flags and sub-commands."""

from clio.config.doors import DOORS
from clio.config.flags import COMMANDS, FLAGS

_USAGE = """\
clio, a terminal coding agent that remembers.
usage: clio [options]               a conversation in the current project; type /help there
       clio -p TEXT [options]       one prompt, one answer; piped text is appended to it
"""
_ENDING = """\
example: git diff | clio -p "review this change"
exit codes: 0 done, 1 failed, 2 usage, 3 too large, 4 approval, 5 cost, 6 hook, 7 schema
settings: ~/.clio/config.yaml, .clio/config.yaml, environment (OPENAI_API_KEY, CLIO_MODEL, ...)
"""
FAMILIES = {
    "config": "print the settings or where they are; let this project's count",
    "completions": "print what completes clio's words in that shell",
    "mcp": "offer this memory over MCP; list, add, remove, test: servers to use",
}
_DOORS = "    what was spent, kept, said here, ...: as /NAME in a conversation; clio NAME --help tells of each"
_USAGE_WIDTH = 27


def help_text() -> str:
    """The whole page: at most 60 lines of 100 columns. Every flag and every sub-command stands in it once."""
    families = dict.fromkeys(words[0] for words in COMMANDS)
    commands = [(_usage(first), FAMILIES.get(first) or COMMANDS[first,]) for first in families]
    doors = "|".join(door.name for door in DOORS if door.name not in families)
    parts = [_USAGE, _group("without a conversation", commands), f"  clio {doors}", _DOORS]
    for group in dict.fromkeys(flag.group for flag in FLAGS):
        parts.append(_group(group, [(flag.usage, flag.summary) for flag in FLAGS if flag.group == group]))
    return "\n".join((*parts, "", _ENDING))


def _usage(first: str) -> str:
    """A sub-command with all its second words: "clio config show|path|trust"."""
    return f"clio {first} {'|'.join(words[1] for words in COMMANDS if words[0] == first and words[1:])}".rstrip()


def _group(name: str, rows: list[tuple[str, str]]) -> str:
    return "\n".join((f"{name}:", *(f"  {usage:<{_USAGE_WIDTH}} {summary}" for usage, summary in rows)))
