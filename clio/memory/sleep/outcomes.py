"""How a command ended, as its exit code and its output say together, and the line of an output that tells the error."""

import re
from typing import Literal

from clio.memory.inert import seen
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex

Outcome = Literal["passed", "failed", "unknown"]
LINE_CHARS = 200
_LOOKED_AT = 20_000
"""Of an output, from its end, where summaries and the last error stand."""

_FAILED = LazyRegex(
    r"^Traceback \(most recent call last\)|^FAILED |^[1-9]\d* failed\b|^--- FAIL: |^FAIL\b(?!.*: 0)"
    r"|^=+ .*\b[1-9]\d* (?:failed|errors?)\b"
    r"|^[ \t]*(?:Tests?|Test Suites):\s+.*\b[1-9]\d* failed|\b[1-9]\d* (?:failing|failures?)\b|^npm ERR!|^panic: "
    r"|^(?:\S+: )?(?:fatal )?error(?:\[\w+\]| TS\d+)?: |^BUILD FAILED|^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception): "
    r"|^error: could not compile|^Found [1-9]\d* errors?\b|^[1-9]\d* issues?:|: command not found$|^FAILURE: ",
    re.MULTILINE,
)
_SIGNS = ("ail", "rror", "FAIL", "ERR", "Traceback", "Exception", "panic", "issue", "not found")
"""One of these is in whatever `_FAILED` matches; looking for them first spares most outputs the pattern."""
_PASSED = LazyRegex(
    r"\b\d+ pass(?:ed|ing)\b|^ok\s+\S+|^PASS\b|^0 issues\b|\bAll checks passed\b|^Success: no issues|\b0 errors\b"
    r"|^BUILD SUCCESSFUL|^test result: ok|^OK(?: \(|$)|\b0 failures\b",
    re.MULTILINE | re.IGNORECASE,
)
_ANSI = LazyRegex(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
# How sure a line is to tell the error: the first pattern that any line matches decides, and its `pick`th line is it.
_TELLING: tuple[tuple[LazyRegex, int], ...] = (
    (LazyRegex(r"^\[ERROR\] (?:\S+:\[\d+,\d+\] )(.+)", re.M), 0),
    (
        LazyRegex(r"^E[ \t]{2,}((?!assert\b|AssertionError)[\w.]*[A-Z]\w*(?:Error|Exception|Warning|Exit)\b.*)", re.M),
        -1,
    ),
    (LazyRegex(r"^(?:\S+:\d+(?::\d+)?:? ?)?[ \t]*(?:fatal )?(error(?:\[\w+\]| TS\d+)?: .*)", re.M), 0),
    (LazyRegex(r"^\S+?[:(]\d+(?:[:,]\d+)?\)?:? (?:- )?((?:fatal )?error(?: TS\d+)?: .*)", re.M), 0),
    (
        LazyRegex(
            r"^((?:\w+(?:\.|::))*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|NotFound)(?: \[\w+\])?: .*)", re.M
        ),
        -1,
    ),
    (LazyRegex(r"^> (?!Task\b|Configure\b|Run with|Get more)(\S.{10,})", re.M), 0),
    (LazyRegex(r"^[ \t]*((?:panic|fatal|FATAL|CRITICAL|FATAL ERROR): .*)", re.M), 0),
    (LazyRegex(r"^(?:\S+: )?(?:line \d+: )?(\S+: (?:command )?not found)$", re.M), 0),
    (LazyRegex(r"^E[ \t]{2,}(.+)", re.M), 0),
    (LazyRegex(r"^npm ERR! (?!code|errno|syscall|path|A complete|\s)(.+)", re.M), 0),
    (LazyRegex(r"^(?:FAILED|ERROR) \S+ - (.+)", re.M), 0),
    (LazyRegex(r"^[ \t]*\S+\.\w+:\d+(?::\d+)?: (.+)", re.M), 0),
    (LazyRegex(r"^[ \t]*(?:error|ERROR|Error)\b:?[ \t]+(\S.{8,})", re.M), 0),
    (LazyRegex(r"^(?:FAILED|FAILURE|ERROR|Failed): (\S.{8,})", re.M), 0),
    (LazyRegex(r"^--- FAIL: (\S+)", re.M), 0),
    (
        LazyRegex(
            r"^(.*\b(?:cannot|can't|could not|couldn't|unable to|not found|no such|denied|refused|undefined|unresolved"
            r"|does not exist|doesn't exist|missing|invalid|timed out|already in use|unsupported|failed to)\b.*)",
            re.M | re.I,
        ),
        -1,
    ),
)
_SUFFIXES = (
    "py|pyi|js|jsx|mjs|cjs|ts|tsx|vue|svelte|go|rs|rb|java|kt|scala|c|h|cc|cpp|hpp|cs|php|swift|m|sh|sql|ex|exs|json|"
    "yaml|yml|toml|css|html|xml|md|lua|pl|dart|zig"
)
_VARYING: tuple[tuple[LazyRegex, str], ...] = (
    (LazyRegex(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[\s:]*"), ""),
    (
        LazyRegex(
            r"\s*[([]?\b(?:in |took |after )?\d+(?:\.\d+)?\s?(?:ms|s|sec|secs|seconds|µs|us)\b[)\]]?(?=$|[\s,;.])"
        ),
        "",
    ),
    (LazyRegex(r"\b0x[0-9a-fA-F]{4,}\b"), "0x…"),
    (LazyRegex(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I), "…"),
    (
        LazyRegex(
            r"(?<![\w:/@.-])(?![\w-]+\.(?:com|org|io|dev|net|in)/)"
            r"(?:(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/)(?:[\w@.+-]+[\\/])*|(?:[\w@.+-]+/){2,})([\w@+-][\w@.+-]*)"
        ),
        r"\1",
    ),
    (LazyRegex(rf"(\.(?:{_SUFFIXES}))[:(]\d+(?:[:,]\d+)?\)?"), r"\1"),
    (LazyRegex(r",? ?\(?\b(?:at |on )?line \d+(?:,? col(?:umn)? \d+)?\)?", re.I), ""),
)
_VAGUE = LazyRegex(
    r"(?:error|failed|failure|exit(?:ed)?(?: with)?|process|command|make|build|test|tests|the|aborting|due to|previous|"
    r"code|status|could not compile|\W|\d)*",
    re.I,
)
_READERS = frozenset(
    "ls cat head tail grep egrep fgrep rg ag find fd wc file stat which whereis type less more sed awk sort uniq cut "
    "tr "
    "diff cmp tree pwd echo printf env printenv date whoami ps kill pkill sleep true false test [ history jq xxd du df "
    "touch mkdir rm cp mv ln chmod man help clear open wait jobs lsof pgrep id uname hostname basename dirname "
    "read".split()
)
_GIT_CHECKS = frozenset("push pull fetch clone commit merge rebase apply am cherry-pick submodule".split())


def is_check(core: tuple[str, ...]) -> bool:
    """Whether how a command ends says something of the project: not where it only looks, or moves files about."""
    if not core or core[0] in _READERS:
        return False
    return core[0] != "git" or (len(core) > 1 and core[1] in _GIT_CHECKS)


def outcome_of(exit_code: int | None, output: str, *, sure: bool) -> Outcome:
    """How a command ended. sure: whether the exit code is its own, which behind a pipe it is not.

    An exit code of 0 beside the mark of a failure is no success: a script may have swallowed it, and sessions of other
    tools do not always say how a command ended.
    """
    if exit_code is None:
        return "unknown"
    if exit_code != 0 and sure:
        return "failed"
    tail = plain(output)
    if any(sign in tail for sign in _SIGNS) and _FAILED.search(tail):
        return "failed"
    if sure or _PASSED.search(tail):
        return "passed" if exit_code == 0 else "unknown"
    return "unknown"


def plain(output: str) -> str:
    """The end of an output, without colours, without the line clio puts before it."""
    text = output[-_LOOKED_AT:].replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("[exit "):
        text = text.partition("\n")[2]
    return _ANSI.sub("", text) if "\x1b" in text else text


def error_line(output: str) -> str:
    """The line that tells the error as it stands there, shortened; empty where none does."""
    tail = plain(output)
    for pattern, pick in _TELLING:
        lines = [
            found for match in pattern.finditer(tail) if (found := match[1].strip()) and not _VAGUE.fullmatch(found)
        ]
        if lines:
            return " ".join(seen(lines[pick]).split())[: LINE_CHARS * 2]
    return ""


def without_varying(line: str) -> str:
    """The line without what differs from one run or machine to the next: folders, places in files, times, addresses.

    Ports, versions and counts stay, since they are often the point.
    """
    for pattern, instead in _VARYING:
        line = pattern.sub(instead, line)
    line = " ".join(line.split()).strip(" :-–,;")
    return truncate(line, LINE_CHARS)
