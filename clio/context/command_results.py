"""What shell commands did and test runners reported, parsed from command line and output. Pure functions."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from posixpath import join, normpath

from msgspec import Struct

from clio.text.formatting import shorten_line
from clio.text.lazy_regex import LazyRegex

_SEARCHERS = frozenset("grep egrep fgrep rg ag ack find fd fdfind ls tree dir locate".split())
_FILTERS = frozenset("head tail sort uniq wc cut tr column less more cat nl".split())
_BETWEEN = frozenset({"&&", ";", "||"})
_PRINTERS = frozenset({"cat", "nl", "bat", "batcat"})
_SED_LINES = LazyRegex(r"(\d+)(?:,(\d+|\$))?p")
_COUNT = LazyRegex(r"-(?:n\s*)?(\d+)")
_FROM = LazyRegex(r"-n?\s*\+(\d+)")
_ENDLESS = 10**9
_EVERYTHING = "."
_MAX_LINE = 20_000


class FileLines(Struct, frozen=True, kw_only=True):
    """A range of lines of one file, counted from 1; `last` is None for the end of the file."""

    path: str
    first: int = 1
    last: int | None = None


def parse_file_reading(command: str) -> FileLines | None:
    """Return the part of a file that a command prints (`cat`, `head`, `tail -n +N`, `sed -n A,Bp`); None for others."""
    folder, parts = _split_off_cd(command)
    if len(parts) != 1 or len(parts[0]) < 2:
        return None
    name, *rest = parts[0]
    found = _parse_printed_lines(name, rest)
    return None if found is None else FileLines(path=_join_path(folder, found.path), first=found.first, last=found.last)


def is_search_command(command: str) -> bool:
    """Whether a command only searches or lists, at most with filtered output."""
    _, parts = _split_off_cd(command, pipes=True)
    return bool(parts) and all(
        _get_program_name(part) in _SEARCHERS or part[:2] == ["git", "grep"] or part[:2] == ["git", "ls-files"]
        if first
        else _get_program_name(part) in _SEARCHERS | _FILTERS
        for part, first in _mark_piped_commands(parts)
    )


def list_discarded_paths(command: str) -> tuple[str, ...]:
    """Return the paths whose changes `git checkout`, `restore`, `reset --hard` or `stash` discards, `.` for all.

    A name after `git checkout` is included even if it may be a branch, because callers ignore unchanged paths.
    """
    folder, parts = _split_off_cd(command)
    found: list[str] = []
    for part in parts:
        if part[:1] == ["git"]:
            found += _list_paths_discarded_by_git(_skip_git_options(part[1:]))
    return tuple(dict.fromkeys(_join_path(folder, path) for path in found))


def list_test_selectors(command: str) -> tuple[str, ...]:
    """Return what a test command selects: its non-option arguments, and the values of `-k`, `-t` and `-run`."""
    found: list[str] = []
    for part in _split_simple_commands(command) or ():
        words = iter(part)
        for word in words:
            if word in ("-k", "-t", "-run", "--run", "--filter", "-testNamePattern", "--testNamePattern", "--tests"):
                found.append(next(words, ""))
            elif word.startswith(("--filter=", "--testNamePattern=", "-run=", "-Dtest=")):
                found.append(word.partition("=")[2])
            elif not word.startswith("-") and ("/" in word or "::" in word or re.search(r"\.\w{1,5}$", word)):
                found.append(word.strip("./"))
    return tuple(each for each in found if each and each != "...")


def _parse_printed_lines(name: str, words: Sequence[str]) -> FileLines | None:
    options = [word for word in words if word.startswith("-") and word != "-"]
    names = [word for word in words if not word.startswith("-")]
    if name in _PRINTERS and len(names) == 1:
        return FileLines(path=names[0])
    if name == "sed" and options == ["-n"] and len(names) == 2 and (lines := _SED_LINES.fullmatch(names[0])):
        last = lines[2] or lines[1]
        return FileLines(path=names[1], first=int(lines[1]), last=None if last == "$" else int(last))
    if name in ("head", "tail") and words:
        text = " ".join(words[:-1])
        if name == "tail" and (start := _FROM.fullmatch(text)):
            return FileLines(path=words[-1], first=int(start[1]))
        if name == "head" and not text:
            return FileLines(path=words[-1], last=10)
        if name == "head" and (count := _COUNT.fullmatch(text)):
            return FileLines(path=words[-1], last=int(count[1]))
    return None


def _list_paths_discarded_by_git(words: Sequence[str]) -> list[str]:
    match list(words):
        case ["checkout", *rest] if "-b" not in rest and "-B" not in rest:
            if "--" in rest:
                return list(rest[rest.index("--") + 1 :])
            names = [word for word in rest if not word.startswith("-")]
            return [_EVERYTHING] if not names and {"-f", "--force"} & set(rest) else names
        case ["restore", *rest] if "--staged" not in rest or "--worktree" in rest or "-W" in rest:
            names = list(rest[rest.index("--") + 1 :]) if "--" in rest else _skip_commit_of_source(rest)
            return [] if "-S" in rest and "-W" not in rest else names
        case ["reset", *rest] if "--hard" in rest:
            return [_EVERYTHING]
        case ["stash", *rest] if not rest or rest[0] in ("push", "save", "-u", "--include-untracked", "-k"):
            return list(rest[rest.index("--") + 1 :]) if "--" in rest else [_EVERYTHING]
        case _:
            return []


def _skip_commit_of_source(words: Sequence[str]) -> list[str]:
    """Return the arguments that are neither options nor the commit after `-s` or `--source`."""
    return [
        word
        for index, word in enumerate(words)
        if not word.startswith("-") and (not index or words[index - 1] not in ("-s", "--source"))
    ]


def _skip_git_options(words: Sequence[str]) -> Sequence[str]:
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in ("-C", "-c") else 1
    return words[index:]


def _split_off_cd(command: str, *, pipes: bool = False) -> tuple[str, list[list[str]]]:
    """Return the directory a command changes to first and its simple commands.

    No commands if the line has other syntax.
    """
    parts = _split_simple_commands(command, pipes=pipes)
    folder = ""
    while parts and parts[0][:1] == ["cd"] and len(parts[0]) == 2:
        folder = join(folder, parts[0][1])
        parts = parts[1:]
    return folder, parts or []


def _split_simple_commands(command: str, *, pipes: bool = False) -> list[list[str]] | None:
    """Return the simple commands of a line; those of a pipe, if `pipes` is set, begin with "|".

    None if the line redirects, substitutes, groups, or cannot be parsed.
    """
    if len(command) > _MAX_LINE or "\n" in command.strip():
        return None
    lexer = shlex.shlex(re.sub(r"\s2>(?:&1|\s?/dev/null)", " ", command), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _BETWEEN:
            parts.append([])
        elif word == "|" and pipes:
            parts.append(["|"])
        elif word and set(word) <= set("();<>|&"):
            return None
        else:
            parts[-1].append(word)
    return None if any("`" in word or "$(" in word for part in parts for word in part) else [p for p in parts if p]


def _mark_piped_commands(parts: Sequence[list[str]]) -> Iterator[tuple[list[str], bool]]:
    """Yield each command without the pipe mark, and False if it reads from a pipe."""
    for part in parts:
        yield (part[1:], False) if part[:1] == ["|"] else (part, True)


def _get_program_name(part: Sequence[str]) -> str:
    return part[0].rpartition("/")[2] if part else ""


def _join_path(folder: str, path: str) -> str:
    return normpath(join(folder, path)) if path else path


_NAME_CHARS, _LINE_CHARS, _MOST = 200, 240, 200
_COLOURS = LazyRegex(r"\x1b\[[0-9;]*m", needs="\x1b")
_ERROR = LazyRegex(r"^(?:[\w.$]+\.)?\w*(?:Error|Exception|Failure|Failed|Warning|Interrupt|Exit)\b|^assert\b|^Failed:")


class FailedTest(Struct, frozen=True, kw_only=True):
    """One failing test. error: the line with the reason, "" if none was found."""

    name: str
    error: str = ""


class TestRun(Struct, frozen=True, kw_only=True):
    """One run of a project's tests. counts: the closing line of the runner."""

    __test__ = False

    runner: str
    counts: str
    passed: bool
    failing: tuple[FailedTest, ...] = ()


class _Runner(Struct, frozen=True, kw_only=True):
    """A test runner.

    Attributes:
        closing: the line that every run of it ends with.
        bad: matches a closing line that reports failed tests.
        find: yields the name and the reason of each failed test in an output.
    """

    name: str
    closing: LazyRegex
    bad: LazyRegex
    find: Callable[[str], Iterator[tuple[str, str]]]


def parse_test_report(output: str) -> TestRun | None:
    """Return the test report in the output of a command; None if there is none."""
    text = _COLOURS.sub("", output).replace("\r\n", "\n")
    for runner in _RUNNERS:
        closings = list(runner.closing.finditer(text))
        if not closings:
            continue
        found: dict[str, str] = {}
        for name, error in runner.find(text):
            name = shorten_line(name, _NAME_CHARS)
            if name and (len(found) < _MOST or name in found):
                found[name] = shorten_line(error, _LINE_CHARS) or found.get(name, "")
        failing = tuple(FailedTest(name=name, error=error) for name, error in found.items())
        is_bad = any(runner.bad.search(each[0]) for each in closings)
        counts = shorten_line(closings[-1][0].strip("= \n"), _LINE_CHARS)
        return TestRun(runner=runner.name, counts=counts, passed=not failing and not is_bad, failing=failing)
    return None


# pytest

_PY_LISTED = LazyRegex(r"^(?:FAILED|ERROR) (?P<name>\S+?\.py(?:::\S.*?)?)(?: - (?P<error>.*))?$", re.M)
_PY_VERBOSE = LazyRegex(r"^(?P<name>\S+\.py::\S.*?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$", re.M)
_PY_HEAD = LazyRegex(r"^_{3,} (?:ERROR (?:at \w+ of |collecting ))?(?P<name>\S.*?) _{3,}$", re.M)
_PY_PLACE = LazyRegex(r"^(?P<file>\S+\.py):\d+: ", re.M)
_PY_ERROR = LazyRegex(r"^E +(?P<error>\S.*)$", re.M)


def _pytest(text: str) -> Iterator[tuple[str, str]]:
    heads = list(_PY_HEAD.finditer(text))
    reasons: dict[str, str] = {}
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        lines = [match["error"] for match in _PY_ERROR.finditer(text, head.end(), end)]
        reason_lines = [line for line in lines if _ERROR.search(line)]
        location = _PY_PLACE.search(text, head.end(), end)
        name = head["name"].replace(".", "::") if location else head["name"]
        reasons[f"{location['file']}::{name}" if location else name] = (reason_lines or lines or [""])[-1]
    listed = [(match["name"], match["error"] or "") for match in _PY_LISTED.finditer(text)]
    listed = listed or [(match["name"], "") for match in _PY_VERBOSE.finditer(text)]
    for name, error in listed:
        own = next((why for each, why in reasons.items() if each == name or name.endswith(f"::{each}")), "")
        yield name, error if error and not error.endswith("...") else own or error
    if not listed:
        yield from reasons.items()


# unittest, Django

_UNIT_HEAD = LazyRegex(r"^(?:FAIL|ERROR): (?P<name>\S.*)$", re.M)


def _unittest(text: str) -> Iterator[tuple[str, str]]:
    heads = list(_UNIT_HEAD.finditer(text))
    for index, head in enumerate(heads):
        end = heads[index + 1].start() if index + 1 < len(heads) else len(text)
        section = re.split(r"^(?:={20,}|Ran \d+ tests?)", text[head.end() : end], maxsplit=1, flags=re.M)[0]
        lines = [line for line in section.splitlines() if line.strip() and not line.startswith("----")]
        reason_lines = [line for line in lines if _ERROR.search(line)]
        yield head["name"], (reason_lines or lines or [""])[-1].strip()


# jest, vitest, mocha

_JEST_HEAD = LazyRegex(r"^\s*● (?P<name>\S.*)$", re.M)
_VITEST_HEAD = LazyRegex(r"^\s*FAIL\s+(?P<name>\S+(?: \[[^\]\n]*\])?(?: > .+)?)$", re.M)
_MOCHA_HEAD = LazyRegex(r"^ +\d+\) (?P<name>\S.*(?:\n +(?!\d+\))\S.*?:?)*?):\n", re.M)
_COMPARED = LazyRegex(r"^\s*(Expected|Received)\b[^:\n]*:\s*(\S.*)$", re.M)


def _jest(text: str) -> Iterator[tuple[str, str]]:
    for head, section in _sections(_JEST_HEAD, text):
        lines = [line.strip() for line in section.splitlines() if line.strip()]
        first = lines[0] if lines else ""
        compared = [f"{match[1]}: {match[2].strip()}" for match in _COMPARED.finditer(section)]
        if head["name"] != "Console":
            yield head["name"], ", ".join([first, *compared[:2]]) if compared else first


def _vitest(text: str) -> Iterator[tuple[str, str]]:
    for head, section in _sections(_VITEST_HEAD, text):
        lines = [line.strip() for line in section.splitlines() if line.strip()]
        yield head["name"], next((line for line in lines if _ERROR.search(line)), lines[0] if lines else "")


def _mocha(text: str) -> Iterator[tuple[str, str]]:
    _, _, details = text.rpartition(" failing")
    for head, section in _sections(_MOCHA_HEAD, details):
        lines = [line.strip() for line in section.splitlines() if line.strip()]
        yield " ".join(head["name"].split()), next((line for line in lines if _ERROR.search(line)), (lines or [""])[0])


_TAP_HEAD = LazyRegex(r"^ *not ok \d+ *-? *(?P<name>\S.*)$", re.M)
_TAP_ERROR = LazyRegex(r"^ *(?:error|message): *(?P<error>[^|>\s].*|[|>]-?\n(?: +(?! |\w+:).*\n|\n)+)", re.M)
_NODE_HEAD = LazyRegex(r"^✖ (?P<name>\S.*?) \([\d.]+ms\)$", re.M)
_PARENT = LazyRegex(r"^\d+ subtests? failed$")


def _tap(text: str) -> Iterator[tuple[str, str]]:
    for head, section in _sections(_TAP_HEAD, text):
        error = _TAP_ERROR.search(section)
        reason = " ".join(error["error"].lstrip("|>-").split()).strip("'\"") if error else ""
        if not head["name"].upper().endswith(("# TODO", "# SKIP")) and not _PARENT.match(reason):
            yield head["name"], reason


def _node(text: str) -> Iterator[tuple[str, str]]:
    _, _, details = text.rpartition("failing tests:")
    for head, section in _sections(_NODE_HEAD, details):
        lines = [line.strip() for line in section.partition("\n      at ")[0].splitlines() if line.strip()]
        yield head["name"], " ".join(lines)


# go

_GO_MARK = LazyRegex(
    r"^ *(?:--- (?P<state>FAIL|PASS|SKIP): (?P<name>\S+).*|=== (?:RUN|CONT|NAME) +(?P<run>\S+)"
    r"|(?P<log>\S+\.go:\d+: .*)|(?P<panic>panic: .*)|FAIL\t(?P<build>\S+ \[[^\]]+\]))$",
    re.M,
)


def _go(text: str) -> Iterator[tuple[str, str]]:
    logs: dict[str, str] = {}
    failed: dict[str, None] = {}
    current = ""
    for match in _GO_MARK.finditer(text):
        if match["build"]:
            yield match["build"], ""
        elif match["state"] or match["run"]:
            current = match["name"] or match["run"]
            if match["state"] == "FAIL":
                failed[current] = None
        elif current:
            logs[current] = match["log"] or match["panic"]
    for name in failed:
        is_parent = any(each.startswith(f"{name}/") for each in failed)
        if not is_parent or name in logs:
            yield name, logs.get(name, "")


# cargo

_RUST_FAILED = LazyRegex(r"^test (?P<name>\S.*?) \.\.\. FAILED$", re.M)
_RUST_HEAD = LazyRegex(r"^---- (?P<name>\S.*?) stdout ----$", re.M)
_RUST_PANIC = LazyRegex(r"panicked at (?:'(?P<old>.*)', \S+|\S+:\n(?P<new>.*(?:\n +(?:left|right): .*)*))")


def _cargo(text: str) -> Iterator[tuple[str, str]]:
    for match in _RUST_FAILED.finditer(text):
        yield match["name"], ""
    for head, section in _sections(_RUST_HEAD, text):
        panic = _RUST_PANIC.search(section)
        lines = [line for line in section.splitlines() if line.strip()]
        yield head["name"], (panic["old"] or panic["new"]) if panic else (lines or [""])[0]


# RSpec

_RSPEC_LISTED = LazyRegex(r"^rspec (?P<place>\S+) # (?P<name>.*)$", re.M)
_RSPEC_HEAD = LazyRegex(r"^ +\d+\) (?P<name>\S.*)$", re.M)
_RSPEC_TRACE = LazyRegex(r"^ *(?:# |Shared Example|\(compared using|Diff:|rspec \./|Failed examples)")


def _rspec(text: str) -> Iterator[tuple[str, str]]:
    reasons: dict[str, str] = {}
    for head, section in _sections(_RSPEC_HEAD, text):
        lines: list[str] = []
        for line in section.splitlines():
            if _RSPEC_TRACE.match(line):
                break
            lines += [line.strip()] if line.strip() else []
        reason_lines = [line for line in lines if not line.startswith("Failure/Error:")]
        compared = [line for line in reason_lines if line.startswith(("expected", "got"))]
        reasons[head["name"]] = ", ".join(compared[:2]) or (reason_lines[0] if reason_lines else (lines or [""])[0])
    listed = [(match["place"], match["name"]) for match in _RSPEC_LISTED.finditer(text)]
    for location, name in listed:
        yield f"{location} {name}", reasons.get(name, "")
    if not listed:
        yield from reasons.items()


# PHPUnit

_PHP_HEAD = LazyRegex(r"^\d+\) (?P<name>\S+::\S.*)$", re.M)


def _phpunit(text: str) -> Iterator[tuple[str, str]]:
    for head, section in _sections(_PHP_HEAD, text):
        lines = [line.strip() for line in section.splitlines() if line.strip()]
        yield head["name"], lines[0] if lines else ""


# JUnit under Maven and Gradle; dotnet

_MAVEN_LISTED = LazyRegex(r"^\[ERROR\] {2,}(?P<name>[\w$.]+\.[\w$\[\]() ]+?):\d+ (?P<error>\S.*)$", re.M)
_MAVEN_HEAD = LazyRegex(r"^\[ERROR\] +(?P<name>\S+?)(?:  |\().*(?:<<< (?:FAILURE|ERROR)!)\s*$", re.M)
_GRADLE_HEAD = LazyRegex(r"^(?P<name>\S.* > \S.*?) FAILED$", re.M)
_DOTNET_HEAD = LazyRegex(r"^ +Failed (?P<name>\S.*?) \[[^\]]*\]$", re.M)


def _maven(text: str) -> Iterator[tuple[str, str]]:
    listed = [(match["name"], match["error"]) for match in _MAVEN_LISTED.finditer(text)]
    yield from listed
    if not listed:
        for head, section in _sections(_MAVEN_HEAD, text):
            lines = [line.strip() for line in section.splitlines() if line.strip()]
            yield head["name"], next((line for line in lines if _ERROR.search(line)), (lines or [""])[0])


def _gradle(text: str) -> Iterator[tuple[str, str]]:
    for head, section in _sections(_GRADLE_HEAD, text):
        yield head["name"], next((line.strip() for line in section.splitlines() if line.strip()), "")


def _dotnet(text: str) -> Iterator[tuple[str, str]]:
    for head, section in _sections(_DOTNET_HEAD, text):
        lines = [line.strip() for line in section.splitlines() if line.strip()]
        reason_lines = lines[1:] if lines[:1] == ["Error Message:"] else lines
        yield head["name"], reason_lines[0] if reason_lines else ""


def _sections(head: LazyRegex, text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match of `head` with the text up to the next one."""
    heads = list(head.finditer(text))
    for index, match in enumerate(heads):
        yield match, text[match.end() : heads[index + 1].start() if index + 1 < len(heads) else len(text)]


_OUTCOME = r"\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests passed)"
_RUNNERS: Sequence[_Runner] = (
    _Runner(
        name="pytest",
        closing=LazyRegex(rf"^(?:=+ )?(?:{_OUTCOME}(?:, )?)+ in [\d.]+ ?s(?: \([\d:]+\))?(?: =+)?$", re.M),
        bad=LazyRegex(r"\d+ (?:failed|error)"),
        find=_pytest,
    ),
    _Runner(
        name="unittest",
        closing=LazyRegex(r"^Ran \d+ tests? in [\d.]+s\n+(?:OK|FAILED|NO TESTS RAN)(?: \(.*\))?$", re.M),
        bad=LazyRegex(r"^FAILED", re.M),
        find=_unittest,
    ),
    _Runner(
        name="vitest",
        closing=LazyRegex(r"^ *Tests  +(?:\d+ \w+(?: \| )?)+(?: \(\d+\))?$", re.M),
        bad=LazyRegex(r"\d+ failed"),
        find=_vitest,
    ),
    _Runner(
        name="jest",
        closing=LazyRegex(r"^Tests: +(?:\d+ \w+, )*\d+ total$", re.M),
        bad=LazyRegex(r"\d+ failed"),
        find=_jest,
    ),
    _Runner(
        name="mocha",
        closing=LazyRegex(r"^ +\d+ passing(?: \(.*\))?(?:\n +\d+ (?:pending|failing))*$", re.M),
        bad=LazyRegex(r"\d+ failing"),
        find=_mocha,
    ),
    _Runner(
        name="cargo test",
        closing=LazyRegex(r"^test result: (?:ok|FAILED)\. .*$", re.M),
        bad=LazyRegex(r"FAILED"),
        find=_cargo,
    ),
    _Runner(
        name="go test",
        closing=LazyRegex(r"^(?:ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\)|\[[^\]\n]+\]).*$", re.M),
        bad=LazyRegex(r"^FAIL"),
        find=_go,
    ),
    _Runner(
        name="RSpec",
        closing=LazyRegex(r"^\d+ examples?, \d+ failures?.*$", re.M),
        bad=LazyRegex(r", [1-9]\d* failures?|[1-9]\d* errors? occurred"),
        find=_rspec,
    ),
    _Runner(
        name="PHPUnit",
        closing=LazyRegex(r"^(?:OK \(\d+ tests?, \d+ assertions?\)|Tests: \d+, Assertions: \d+.*)$", re.M),
        bad=LazyRegex(r"(?:Failures|Errors): [1-9]"),
        find=_phpunit,
    ),
    _Runner(
        name="JUnit",
        closing=LazyRegex(r"^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+.*$", re.M),
        bad=LazyRegex(r"(?:Failures|Errors): [1-9]"),
        find=_maven,
    ),
    _Runner(
        name="Gradle",
        closing=LazyRegex(r"^(?:\d+ tests? completed.*|BUILD SUCCESSFUL in \S.*)$", re.M),
        bad=LazyRegex(r"[1-9]\d* failed"),
        find=_gradle,
    ),
    _Runner(
        name="dotnet test",
        closing=LazyRegex(r"^(?:Passed|Failed)! +- Failed: +\d+, Passed: +\d+.*$", re.M),
        bad=LazyRegex(r"^Failed!"),
        find=_dotnet,
    ),
    _Runner(
        name="node --test",
        closing=LazyRegex(r"^ℹ (?:fail|pass) \d+$", re.M),
        bad=LazyRegex(r"fail [1-9]"),
        find=_node,
    ),
    _Runner(
        name="TAP",
        closing=LazyRegex(r"^(?:# fail +\d+|(?:not )?ok \d+ .*)$", re.M),
        bad=LazyRegex(r"# fail +[1-9]|^not ok(?!.*# (?:TODO|SKIP))"),
        find=_tap,
    ),
)


# How an error looks in the output of compilers, test runners, shells and programs. Sources: the message formats of
# CPython, pytest, GCC, Clang, rustc, Go, tsc, ESLint, javac, Node.js, Ruby, Make, npm, git and bash.
_EXCEPTION = LazyRegex(
    r"^(?:[\w.$]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Failure)\b|^panic: |^Exception in thread "
)
_STATED_ERROR = LazyRegex(
    r"\berror(?:\[\w+\]| TS\d+)?:|^E {2,}\S|\bfatal(?: error)?:|^--- FAIL|^\s*● |^\s*FAIL\b|^\s*FAILED\b|^not ok |^✖ |"
    r"^\s*\d+:\d+ +error\b|\bAssertionError\b|\b(?:Uncaught|Unhandled) ",
    re.I,
)
_COMPLAINT = LazyRegex(
    r"\b(?:error|failed|failure|cannot|can't|could not|couldn't|undefined|unresolved|unexpected|denied|refused|missing|"
    r"no such|not found|not recognized|unknown|invalid|abort(?:ed|ing)?)\b",
    re.I,
)


def weigh_error_line(line: str) -> int:
    """Return how likely a line of output states what went wrong: 3 for an exception, 2 for an error, 1 for a word
    such as "denied", 0 for others.
    """
    return 3 if _EXCEPTION.search(line) else 2 if _STATED_ERROR.search(line) else 1 if _COMPLAINT.search(line) else 0


OMITTED = "…"
"""Stands for lines that are left out."""


def select_failure_lines(lines: Sequence[str], count: int) -> list[str]:
    """Return at most `count` of the lines of a failed command, in order: the one that states the error, what follows
    it, and the end of the output. OMITTED stands between lines that were not next to each other.
    """
    if len(lines) <= count:
        return list(lines)
    cause = _find_cause(lines)
    end = len(lines) - 1
    chosen = dict.fromkeys([end, cause, cause + 1, end - 1, cause + 2, end - 2, *range(cause, -1, -1)])
    places = sorted([place for place in chosen if 0 <= place < len(lines)][:count])
    selected = lines[places[0] : places[0] + 1]
    for before, place in pairwise(places):
        selected = [*selected, *[OMITTED] * (place > before + 1), lines[place]]
    return list(selected)


def _find_cause(lines: Sequence[str]) -> int:
    """Return the place of the line that states the error: what a test runner reports for its first failing test, else
    the last exception, else the first error, else the last line.
    """
    report = parse_test_report("\n".join(lines))
    for failed in report.failing if report is not None else ():
        for place, line in enumerate(lines):
            if failed.error and failed.error.removesuffix("…")[:80] in line:
                return place
    weights = [weigh_error_line(line) for line in lines]
    best = max(weights)
    if best == 0:
        return len(lines) - 1
    places = [place for place, weight in enumerate(weights) if weight == best]
    return places[-1] if best == 3 else places[0]  # an exception is at the end of its traceback
