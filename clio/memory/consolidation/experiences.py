"""The turns of a stored session as consolidation replays them, their importance, and the commands they ran.

The policy reads command lines with the grammar of bash (`clio.security.shell.parser`). Here a wrong reading costs a
finding, not safety; ten thousand lines must take less than a second, and the words are needed as written.
"""

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from msgspec import Struct, structs

from clio.memory.preferences.rule_files import english_rules
from clio.memory.store.record import AssertedBy
from clio.messages import AssistantMessage, Message, SideEffects, ToolCall, ToolMessage, UserMessage, is_turn_start
from clio.sessions.side_effects import find_side_effects
from clio.sessions.store import is_foreign_notice
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.untrusted_text import strip_invisible

_EN = english_rules("facts")

# Beginnings of results of calls that never ran: the user refused, another call failed, or Esc was pressed.
_NOT_RUN = ("the user doesn't want to proceed", "<tool_use_error>", "interrupted", "denied", "not allowed", "[denied")


class CompletedCall(Struct, frozen=True, kw_only=True):
    """A tool call with a result. place: the index of its result in the messages. output: the text of the result."""

    place: int
    call: ToolCall
    effects: SideEffects
    output: str


def list_completed_calls(messages: Iterable[Message]) -> list[CompletedCall]:
    """Return the completed tool calls that ran a command, changed files, made commits or asked the user.

    Call ids may repeat, because some servers count from zero in every answer: a result belongs to the last call with
    its id.
    """
    pending: dict[str, ToolCall] = {}
    found: list[CompletedCall] = []
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            pending.update((call.id, call) for call in message.tool_calls)
        elif isinstance(message, ToolMessage):
            call = pending.pop(message.tool_call_id, None)
            if call is None or (message.side_effects is None and _never_ran(message)):
                continue
            effects = find_side_effects(call, message)
            if effects.command or effects.changed or effects.commits or effects.question:
                found.append(CompletedCall(place=place, call=call, effects=effects, output=message.content))
    return found


def _never_ran(message: ToolMessage) -> bool:
    return not message.ok and message.content[:80].casefold().lstrip().startswith(_NOT_RUN)


_TOKEN = re.compile(
    r"(?P<space>(?:[ \t]|\\\n)+)"
    r"|(?P<redirect>(?:\d|&)?>{1,2}&?[ \t]*(?:\d\b|-(?![\w-])|[^\s;|&<>]+)|<(?!<)[ \t]*[^\s;|&<>()]+)"
    r"|(?P<op>&&|\|\||\|&?|[;\n]+)"
    r"|(?P<word>(?:\"(?:[^\"\\`]|\\.)*\"|'[^']*'|\\[^\n]|\$\w+|[^\s;|&<>\"'\\`(){}$])+)"
)
MAX_CHARS = 1_000
"""Maximum length of a command line; a longer one is a script on one line, which is not repeated."""
_QUIET_REDIRECT = re.compile(r"\d?>{1,2}&\d|(?:\d|&)?>{1,2}\s*/dev/null|<")
_KEYWORDS = frozenset("for while until if case function select then do done fi [[ ! { ( time".split())
_SETTING_UP = frozenset({"cd", "pushd", "popd", "set", "export", "source", "."})
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
# Programs that only start another one, and how many of their words to skip.
_WRAPPERS: dict[tuple[str, ...], int] = {
    ("uv", "run"): 2,
    ("poetry", "run"): 2,
    ("pipenv", "run"): 2,
    ("pdm", "run"): 2,
    ("hatch", "run"): 2,
    ("rye", "run"): 2,
    ("bundle", "exec"): 2,
    ("pnpm", "exec"): 2,
    ("python", "-m"): 2,
    ("python3", "-m"): 2,
    ("npx",): 1,
    ("bunx",): 1,
    ("sudo",): 1,
    ("env",): 1,
    ("time",): 1,
    ("command",): 1,
    ("timeout",): 2,
}


class Command(Struct, frozen=True, kw_only=True):
    """One command of a line.

    Attributes:
        words: its words as written, without the variables set for it.
        core: its words without programs that only start another one: `pytest -q` for `uv run pytest -q`.
        settings: the variables set for it, as NAME=value.
        sure: whether the exit code of the line is the command's own; false if a later command determines it.
        writes: whether its output goes to a file.
    """

    words: tuple[str, ...]
    core: tuple[str, ...]
    settings: tuple[str, ...] = ()
    sure: bool = True
    writes: bool = False

    @property
    def text(self) -> str:
        """The command as one line."""
        return " ".join((*self.settings, *self.words))


def parse_commands(line: str) -> tuple[Command, ...]:
    """Return the commands of a line in order, without `cd` and without filters behind a pipe.

    Returns none for lines with loops, here-documents, substitutions, background jobs or subshells.
    """
    return () if len(line) > MAX_CHARS or "<<" in line else _commands(line)


@lru_cache(maxsize=8_192)
def _commands(line: str) -> tuple[Command, ...]:
    found: list[tuple[Command, str]] = []
    words: list[str] = []
    writes = False
    place, line = 0, line.strip().rstrip(";\n ")
    while place <= len(line):
        token = _TOKEN.match(line, place)
        if token is None and place < len(line):
            return ()
        kind = token.lastgroup if token else "op"
        if token is not None and kind == "word":
            words.append(token[0])
        elif token is not None and kind == "redirect":
            writes = writes or not _QUIET_REDIRECT.match(token[0])
        elif kind == "op":
            if not words or words[0] in _KEYWORDS:
                return ()
            found.append((_command(words, writes), token[0].strip() or ";" if token else ""))
            words, writes = [], False
        if token is None:
            break
        place = token.end()
    return _without_filters(found)


def _command(words: list[str], writes: bool) -> Command:
    start = 0
    while start < len(words) and _ASSIGNMENT.fullmatch(words[start]):
        start += 1
    own = tuple(words[start:])
    return Command(words=own, core=_strip_wrappers(own), settings=tuple(words[:start]), writes=writes)


def _strip_wrappers(words: tuple[str, ...]) -> tuple[str, ...]:
    while words:
        if _ASSIGNMENT.fullmatch(words[0]):  # after `env`
            words = words[1:]
            continue
        skipped = _WRAPPERS.get(words[:2]) or _WRAPPERS.get(words[:1]) or 0
        if not skipped or len(words) <= skipped:
            break
        words = words[skipped:]
    return (words[0].rsplit("/", 1)[-1], *words[1:]) if words else ()


def _without_filters(found: list[tuple[Command, str]]) -> tuple[Command, ...]:
    """Return the commands without filters and set-up commands, each with whether the line's exit code is its own."""
    kept: list[Command] = []
    before = ""
    for number, (command, op) in enumerate(found):
        leads = not before.startswith("|") or before == ""
        before = op
        if not leads or not command.words or command.words[0] in _SETTING_UP:
            continue
        sure = all(later in ("&&", "") for _, later in found[number:])
        kept.append(structs.replace(command, sure=sure))
    return tuple(kept)


Outcome = Literal["passed", "failed", "unknown"]
LINE_CHARS = 200
_MAX_EXAMINED_CHARS = 20_000
"""Number of characters examined at the end of an output, where summaries and the last error are."""

_WORK = english_rules("work")
_FAILED = _WORK.pattern("failed")
_SIGNS = ("ail", "rror", "FAIL", "ERR", "Traceback", "Exception", "panic", "issue", "not found")
"""Every match of `_FAILED` contains one of these. Searching for them first avoids the slow pattern for most outputs."""
_PASSED = _WORK.pattern("passed")
_ANSI = LazyRegex(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
# Patterns of lines that describe an error, most reliable first, each with the index of the match to use.
_ERROR_LINES: tuple[tuple[LazyRegex, int], ...] = (
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
_VAGUE = _WORK.pattern("vague")
_READERS = frozenset(
    "ls cat head tail grep egrep fgrep rg ag find fd wc file stat which whereis type less more sed awk sort uniq cut "
    "tr "
    "diff cmp tree pwd echo printf env printenv date whoami ps kill pkill sleep true false test [ history jq xxd du df "
    "touch mkdir rm cp mv ln chmod man help clear open wait jobs lsof pgrep id uname hostname basename dirname "
    "read".split()
)
_GIT_CHECKS = frozenset("push pull fetch clone commit merge rebase apply am cherry-pick submodule".split())


def is_check(core: tuple[str, ...]) -> bool:
    """Whether the outcome of a command says something about the project; not if it only reads or moves files."""
    if not core or core[0] in _READERS:
        return False
    return core[0] != "git" or (len(core) > 1 and core[1] in _GIT_CHECKS)


def determine_outcome(exit_code: int | None, output: str, *, sure: bool) -> Outcome:
    """Return how a command ended. sure: whether the exit code is its own, and not that of a filter behind a pipe.

    If the output shows a failure, exit code 0 does not count as success: a script may have ignored the failure, and
    sessions imported from other programs do not always contain exit codes.
    """
    if exit_code is None:
        return "unknown"
    if exit_code != 0 and sure:
        return "failed"
    tail = plain(output)
    if any(sign in tail for sign in _SIGNS) and _FAILED.search(tail):
        return "failed"
    # Behind a pipe only the output can show success.
    if sure or _PASSED.search(tail):
        return "passed" if exit_code == 0 else "unknown"
    return "unknown"


def plain(output: str) -> str:
    """Return the end of an output, without colours and without the line that clio puts before it."""
    text = output[-_MAX_EXAMINED_CHARS:].replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("[exit "):
        text = text.partition("\n")[2]
    return _ANSI.sub("", text) if "\x1b" in text else text


def extract_error_line(output: str) -> str:
    """Return the line of an output that describes the error, truncated; empty if there is none."""
    tail = plain(output)
    for pattern, pick in _ERROR_LINES:
        lines = [
            found for match in pattern.finditer(tail) if (found := match[1].strip()) and not _VAGUE.fullmatch(found)
        ]
        if lines:
            return " ".join(strip_invisible(lines[pick]).split())[: LINE_CHARS * 2]
    return ""


def remove_varying_parts(line: str) -> str:
    """Return a line without parts that vary between runs and machines: folders, line numbers, times, addresses.

    Ports, versions and counts stay, because they often are the cause.
    """
    for pattern, instead in _VARYING:
        line = pattern.sub(instead, line)
    line = " ".join(line.split()).strip(" :-–,;")
    return truncate(line, LINE_CHARS)


_CHANGES = _WORK.pattern("changes")
"""Commands that change the result of other commands. Without formatters: what they fix is not worth learning."""
_WRITTEN = LazyRegex(r"(?:>{1,2}\s*|\btee (?:-a )?)(?P<path>[\w./~-]+)[^\n]*<<|<<[^\n]*>{1,2}\s*(?P<late>[\w./~-]+)")
_MAX_CHARS = 2_000
"""Number of characters of a command line that are examined; the file it writes is named at its beginning."""
_IN_PLACE = LazyRegex(r"sed .*-i|perl .*-p?i")
_REVERTS = _WORK.pattern("reverts")
_COSMETIC = _WORK.pattern("cosmetic")
_SELECTORS = frozenset({"-k", "-run", "--run", "-t", "--filter", "--testNamePattern", "-m", "-only", "--grep", "-g"})
_RUNNERS = frozenset(
    "pytest go cargo jest vitest mocha ruff mypy pyright golangci-lint eslint tsc rspec tox nox make flake8 pylint npm "
    "pnpm yarn bun dotnet mvn gradle gradlew mix phpunit deno stylelint shellcheck unittest".split()
)
"""Programs that check everything if they are given no path, so that such a run also covers a run with a path."""
_EVERYTHING = frozenset({".", "./...", "./", "..."})


class Run(Struct, frozen=True, kw_only=True):
    """A command line with commands that can fail.

    Attributes:
        place: the index of its result in the messages.
        line: the line as written.
        checks: its commands that can fail.
    """

    place: int
    line: str
    checks: tuple[Command, ...]
    outcome: Outcome
    output: str


class Change(Struct, frozen=True, kw_only=True):
    """A change that may have fixed an error: files that were changed or removed, or a command that was run.

    call: the call that edited the files; None for a command.
    """

    files: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    command: str = ""
    call: ToolCall | None = None


def parse_run(call: CompletedCall) -> Run | None:
    """Return a call as a run, or None if it ran no command that can fail, or has no exit code."""
    effects = call.effects
    if not effects.command or effects.exit_code is None:
        return None
    checks = tuple(command for command in parse_commands(effects.command) if is_check(command.core))
    if not checks:
        return None
    sure = all(check.sure for check in checks)
    outcome = determine_outcome(effects.exit_code, call.output, sure=sure)
    return Run(place=call.place, line=effects.command, checks=checks, outcome=outcome, output=call.output)


def parse_change(call: CompletedCall) -> Change | None:
    """Return what a call changed that may affect another run, or None."""
    effects = call.effects
    if effects.changed:
        removed = tuple(change.path for change in effects.changed if change.kind == "delete")
        files = tuple(change.moved_to or change.path for change in effects.changed)
        return Change(files=files, removed=removed, call=call.call)
    if not effects.command or effects.exit_code != 0:
        return None
    written = _WRITTEN.search(effects.command[:_MAX_CHARS])
    if written:
        return Change(files=(written["path"] or written["late"],))
    for command in parse_commands(effects.command):
        line = " ".join(command.core)
        if command.writes or _CHANGES.match(line):
            target = command.words[-1] if _IN_PLACE.match(line) and _is_path(command.words[-1]) else ""
            return Change(files=(target,)) if target else Change(command=command.text)
    return None


def is_revert_of(call: CompletedCall, files: tuple[str, ...], *, committed: bool) -> bool:
    """Whether a call reverted changes of these files. committed: whether they had been committed before."""
    if call.effects.exit_code != 0:
        return False
    for command in parse_commands(call.effects.command):
        line = " ".join(command.core)
        if not _REVERTS.match(line):
            continue
        if line.startswith(("git revert", "git reset")):
            return True
        named = [word for word in command.core[2:] if _is_path(word) and word not in _EVERYTHING]
        if not committed and (not named or any(_same_file(file, word) for file in files for word in named)):
            return True
    return False


def is_settled_by(failed: Run, passed: Run) -> bool:
    """Whether a later run that passed shows that a failure is fixed.

    For each failed command, the same command must have passed, or one that checks everything, or one that checks a part
    named in the failing output.
    """
    return all(any(_settles(one, other, failed.output) for other in passed.checks) for one in failed.checks)


def _settles(failed: Command, passed: Command, output: str) -> bool:
    if failed.core == passed.core:
        return True
    if failed.core[0] != passed.core[0]:
        return False
    verbs, targets = _split_targets(failed.core)
    other_verbs, other_targets = _split_targets(passed.core)
    if verbs != other_verbs:
        return False
    if targets == other_targets:
        return True
    if failed.core[0] not in _RUNNERS:
        return False
    if not other_targets:
        return True
    return all(_mentions(output, target) for target in other_targets - targets)


def _split_targets(core: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the words that say what a command does, and the paths and names to which it is restricted.

    Options that only change what it prints are ignored.
    """
    verbs: list[str] = []
    targets: set[str] = set()
    selects = False
    for word in core:
        if selects:
            targets.add(word.strip("'\""))
        elif word in _EVERYTHING or _COSMETIC.fullmatch(word):
            continue
        elif _is_path(word) and not word.startswith("-") and verbs:
            targets.add(word)
        elif word not in _SELECTORS:
            verbs.append(word)
        selects = word in _SELECTORS
    return tuple(verbs), frozenset(targets)


def _mentions(output: str, target: str) -> bool:
    """Whether an output contains the file name of a target, or the last part of its name."""
    name = target.rstrip("/.").rsplit("::", 1)[-1].rsplit("/", 1)[-1]
    return len(name) > 2 and name in output


def _is_path(word: str) -> bool:
    return "/" in word or "::" in word or re.search(r"\.\w{1,5}$", word) is not None or word in _EVERYTHING


def _same_file(one: str, other: str) -> bool:
    one, other = one.removeprefix("./").rstrip("/"), other.removeprefix("./").rstrip("/")
    return one == other or one.endswith("/" + other) or other.endswith("/" + one) or one.startswith(other + "/")


FindingKind = Literal["fact", "solution", "workflow", "rule", "preference"]
QUOTE_CHARS = 200


class Finding(Struct, frozen=True, kw_only=True):
    """Something learned from a turn.

    Attributes:
        text: the fact, the rule, the error of a solution, or the name of a workflow.
        solution: what fixed the error.
        steps: the commands of a workflow.
        files: files that a solution refers to, as the session names them.
        confidence: 0.0 to 1.0.
        quote: the text it is based on, at most `QUOTE_CHARS` characters.
        session, message, at: the turn it was found in; for a workflow, the last one.
    """

    kind: FindingKind
    text: str
    solution: str = ""
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    confidence: float
    asserted_by: AssertedBy
    quote: str
    session: str
    message: str
    at: float


class Correction(Struct, frozen=True, kw_only=True):
    """A sentence that may correct a memory.

    Attributes:
        text: the sentence without words such as "actually".
        quote: the sentence as written.
        session, message: ids of where the user wrote it.
        at: when, in seconds since the epoch.
        before: the user's message before it in the session, if a stored session is replayed.
    """

    text: str
    quote: str
    session: str
    message: str
    at: float
    before: str = ""


# Parts of the importance. They are combined like probabilities, 1 - Π(1 - part), so that the total stays below 1.
WORDS, STATED, COMMITTED, PASSED, CHANGED, DECIDED, ANSWERED = 0.15, 0.35, 0.3, 0.25, 0.1, 0.25, 0.1
_MANY_CHARS, _ANSWER_CHARS = 1_000, 200

_ASSENT = _EN.word_set("assent")
_STATES = _EN.pattern("states")


class Experience(Struct, frozen=True, kw_only=True):
    """One turn of a stored session.

    Attributes:
        session: the id of the session.
        message: the id of the user message that began the turn.
        at: its time, in seconds since the epoch.
        importance: 0.0 to 1.0, see `compute_importance`.
        messages: all messages of the turn.
        before: the end of the user's message of the turn before; the caller sets it.
    """

    session: str
    message: str
    at: float
    importance: float
    messages: tuple[Message, ...]
    before: str = ""


def find_own_start(messages: Sequence[Message]) -> int:
    """Return the index of the first message that did not come with the repository; 0 if none did."""
    return next((place + 1 for place in range(len(messages) - 1, -1, -1) if is_foreign_notice(messages[place])), 0)


def split_into_turns(session_id: str, messages: Sequence[Message], after: str = "") -> list[Experience]:
    """Return the completed turns of a session in order.

    The last turn is complete when the agent has answered without a further tool call. What came with the repository is
    left out, even if the user has continued the session: the user did not write it.

    after: the id of a message; only turns that began after it are returned, or all if no message has this id.
    """
    known = next((place for place, message in enumerate(messages) if message.id == after), -1) if after else -1
    known = max(known, find_own_start(messages) - 1)
    starts = [place for place, message in enumerate(messages) if place > known and is_turn_start(message)]
    found: list[Experience] = []
    for start, end in pairwise([*starts, len(messages)]):
        turn = tuple(messages[start:end])
        if end == len(messages) and not _is_over(turn):
            continue
        if any(isinstance(message, UserMessage) and message.memory_off for message in turn):
            continue
        began = turn[0]
        found.append(
            Experience(
                session=session_id,
                message=began.id,
                at=began.created or max((message.created for message in turn), default=0.0),
                importance=compute_importance(turn),
                messages=turn,
            )
        )
    return found


def compute_importance(turn: Sequence[Message]) -> float:
    """Return the importance of a turn, 0.0 to 1.0.

    It combines, like probabilities: the length of the user's text (up to 0.15), a statement of lasting value (0.35), a
    commit (0.3), changed files (0.1), a passing run after the last change (0.25), an answer of the user to a question
    (0.25), and a long answer to a question of the user (0.1). A text of assent alone has 0.0.
    """
    words = " ".join(
        message.content for message in turn if isinstance(message, UserMessage) and message.origin == "user"
    )
    parts: list[float] = []
    if not is_assent(words):
        parts.append(WORDS * min(math.log1p(len(words)) / math.log1p(_MANY_CHARS), 1.0))
        parts += [STATED] if _STATES.search(words[: 2 * _MANY_CHARS]) else []
        parts += [ANSWERED] if _is_answered_question(words, turn) else []
    calls = list_completed_calls(turn)
    changes = [number for number, call in enumerate(calls) if call.effects.changed]
    parts += [COMMITTED] if any(call.effects.commits for call in calls) else []
    parts += [CHANGED] if changes else []
    parts += [PASSED] if changes and any(map(_passed, calls[changes[-1] + 1 :])) else []
    parts += [DECIDED] if any(call.effects.question and not is_assent(call.effects.answer) for call in calls) else []
    return round(1.0 - math.prod(1.0 - part for part in parts), 4)


def is_assent(words: str) -> bool:
    """Whether a text only tells the agent to go on: up to eight words of assent or impatience, or none."""
    stripped = [word.strip(".,;:!?…'\"()") for word in words[:200].casefold().split()]
    return len(stripped) <= 8 and all(not word or word in _ASSENT for word in stripped)


def _is_answered_question(words: str, turn: Sequence[Message]) -> bool:
    last = turn[-1]
    return "?" in words and isinstance(last, AssistantMessage) and len(last.content) >= _ANSWER_CHARS


def _passed(call: CompletedCall) -> bool:
    commands = parse_commands(call.effects.command) if call.effects.exit_code == 0 else ()
    checks = [command for command in commands if is_check(command.core)]
    return bool(checks) and determine_outcome(0, call.output, sure=checks[-1].sure) == "passed"


def _is_over(turn: Sequence[Message]) -> bool:
    last = turn[-1]
    return isinstance(last, AssistantMessage) and not last.tool_calls
