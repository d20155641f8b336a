"""Find solutions of errors and workflows in the commands of turns, by rules.

A solution: a command failed, files were changed, and the same command passed. A workflow: commands that sessions run
again and again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.memory.consolidation.experiences import MAX_CHARS as MAX_LINE
from clio.memory.consolidation.experiences import (
    QUOTE_CHARS,
    Change,
    Command,
    CompletedCall,
    Experience,
    Finding,
    Run,
    determine_outcome,
    extract_error_line,
    is_check,
    is_revert_of,
    is_settled_by,
    list_completed_calls,
    parse_change,
    parse_commands,
    parse_run,
    plain,
    remove_varying_parts,
)
from clio.memory.preferences.rule_files import english_rules
from clio.messages import AssistantMessage, Message, ToolCall, UserMessage
from clio.security.redaction.redactor import Redactor
from clio.sessions.side_effects import decode_call_arguments
from clio.sessions.state import derive_id
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.scoring import DAY_S
from clio.text.untrusted_text import make_inert_line, quote_inert

MAX_CHARS = 160
_SECRET_NAME = re.compile(r"pass(?:w(?:or)?d)?|secret|token|api_?key|credential|auth|private", re.IGNORECASE)
_SETTING = re.compile(r"[A-Za-z_]\w*=[\w.-]{0,20}")
_RUN = r"(?:\S+ )?(?:run )?"
_ROLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "lint",
        re.compile(
            rf"ruff check|{_RUN}lint|eslint|flake8|pylint|golangci-lint|cargo clippy|shellcheck|stylelint|go vet"
        ),
    ),
    ("type check", re.compile(rf"mypy|pyright|tsc|{_RUN}type-?check")),
    ("format", re.compile(rf"ruff format|black|prettier|gofmt|cargo fmt|isort|{_RUN}(?:format|fmt)")),
    (
        "test",
        re.compile(
            rf"{_RUN}(?:tests?|check|spec)(?:$|[ :])|pytest|jest|vitest|rspec|tox|nox|phpunit|mocha|ctest"
            r"|playwright test"
        ),
    ),
    ("build", re.compile(rf"{_RUN}build|make$|cmake")),
    ("migration", re.compile(r".*\bmigrat")),
    ("install", re.compile(r"(?:pip3?|npm|pnpm|yarn|poetry|bundle|uv|uv pip|cargo) (?:install|i|ci|sync)\b")),
    ("deploy", re.compile(r".*\bdeploy")),
    (
        "start",
        re.compile(
            r"(?:npm|pnpm|yarn|bun) (?:run )?(?:dev|start)|docker[ -]compose up|.*\b(?:runserver|uvicorn|flask run)"
        ),
    ),
)
_FINAL = frozenset({"commit", "push"})
_NEVER_ALONE = frozenset(
    "git gh curl wget docker kubectl ssh scp psql sqlite3 xargs nohup timeout pip pip3 open code".split()
)
_FILE = re.compile(r"[^\s=]*(?:::\S*|\.[A-Za-z]\w{0,4})|(?:\.{0,2}/)?(?:[\w.@+-]+/)+[\w.@+-]*")
_WHOLE_PROJECT = frozenset({".", "./...", "./", "...", ".."})
_TEXT_OPTIONS = {"-m": "MESSAGE", "--message": "MESSAGE", "-am": "MESSAGE", "-k": "NAME", "-run": "NAME", "-t": "NAME"}
_INLINE = frozenset({"-c", "-e", "--eval"})


class Counted(Struct, frozen=True):
    """One command of a line.

    Attributes:
        exact: the command as it was run; empty if it contained a secret.
        general: the command with PATH, NAME, TEXT and the like for arguments that vary.
        alone: whether it can be a habit by itself, and not only a step of a sequence.
    """

    exact: str
    general: str
    alone: bool


def list_counted_commands(line: str) -> tuple[Counted, ...]:
    """Return the commands of a line to count: those that can fail, and commits, without commands with a secret."""
    return _list_counted_cached(line) if len(line) <= MAX_LINE else ()


@lru_cache(maxsize=8_192)
def _list_counted_cached(line: str) -> tuple[Counted, ...]:
    found: list[Counted] = []
    for command in parse_commands(line):
        core = command.core
        final = core[:1] == ("git",) and core[1:2] != () and core[1] in _FINAL
        if command.writes or not (final or is_check(core)) or set(core) & _INLINE:
            continue
        one = _make_counted(command, final=final)
        if one is not None:
            found.append(one)
    return tuple(found)


def get_command_role(command: str) -> str:
    """Return the purpose of a command in a word or two, such as "test"; empty if unknown."""
    core = next((" ".join(one.core) for one in parse_commands(command)), command)
    return next((role for role, pattern in _ROLES if pattern.match(core)), "")


def _make_counted(command: Command, *, final: bool) -> Counted | None:
    settings = [one for one in command.settings if _SETTING.fullmatch(one) and not _SECRET_NAME.search(one)]
    words = _without_secrets(command.words)
    if words is None:
        return None
    exact = " ".join((*settings, *words))
    general = " ".join((*settings, *_general(words)))
    if len(exact) > MAX_CHARS or "\n" in exact or "[REDACTED" in exact or _redactor().redact(exact).counts:
        exact = ""
    if len(general) > MAX_CHARS or "\n" in general or (not exact and _redactor().redact(general).counts):
        return None
    program = command.core[0]
    alone = (not final and program not in _NEVER_ALONE and "/" not in command.words[0][1:]) or bool(
        get_command_role(general)
    )
    return Counted(exact=exact, general=general, alone=alone and not final)


@lru_cache(maxsize=1)
def _redactor() -> Redactor:
    return Redactor()


def _without_secrets(words: tuple[str, ...]) -> list[str] | None:
    """Return the words without options for secrets and their values; None if a secret may be left."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip and not word.startswith("-"):
            skip = False
            continue
        skip = False
        if word.startswith("-") and _SECRET_NAME.search(word):
            skip = "=" not in word
            continue
        if "[REDACTED" in word or (_SECRET_NAME.search(word) and ("=" in word or ":" in word)):
            return None
        kept.append(word)
    return kept


def _general(words: list[str]) -> list[str]:
    """Return the words with PATH for files, and MESSAGE, NAME or TEXT for texts; equal ones in a row become one."""
    general: list[str] = []
    after = ""
    for number, word in enumerate(words):
        if after:
            shown = after
        elif number and word[:1] in "'\"":
            shown = "TEXT"
        elif (
            number
            and word not in _WHOLE_PROJECT
            and not word.startswith("-")
            and "://" not in word
            and _FILE.fullmatch(word)
        ):
            shown = "PATH"
        elif number and re.fullmatch(r"#?\d+|[0-9a-f]{7,40}", word):
            shown = "NUMBER"
        else:
            shown = word
        after = _TEXT_OPTIONS.get(word, "") if not after else ""
        if not general or shown != general[-1] or shown not in ("PATH", "NUMBER", "TEXT"):
            general.append(shown)
    return general


MAX_HABITS = 600
"""Number of commands and sequences counted at once; those with the fewest occasions, then the oldest, are dropped."""
MAX_OCCASIONS = 12
_MAX_STEPS = 4
_ARROW = " → "


class Tally(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often one command, or one sequence of commands, succeeded.

    Attributes:
        occasions: short hashes of session and day, at most `MAX_OCCASIONS`.
        of: the general form of an exact command.
        alone: whether it can be a habit by itself.
        session, message, at: the turn in which it last ran.
    """

    steps: tuple[str, ...]
    occasions: tuple[str, ...]
    of: str = ""
    alone: bool = True
    session: str = ""
    message: str = ""
    at: float = 0.0


class HabitState(Struct, frozen=True, kw_only=True):
    """The tallies by text of the command or sequence. At most `MAX_HABITS`, without secrets."""

    tallies: dict[str, Tally] = {}


class Habits:
    """Counts commands over turns, which may be added in any order."""

    def __init__(self, state: HabitState | None = None) -> None:
        self._tallies = dict(state.tallies) if state is not None else {}

    @property
    def state(self) -> HabitState:
        """The tallies to store until the next run."""
        self._make_room(MAX_HABITS)
        return HabitState(tallies=dict(self._tallies))

    def feed(self, experience: Experience) -> None:
        """Count the commands of one turn that succeeded."""
        ran: list[Counted] = []
        for call in list_completed_calls(experience.messages):
            line = call.effects.command
            if call.effects.exit_code != 0 or not (commands := list_counted_commands(line)):
                continue
            if determine_outcome(0, call.output, sure=True) == "passed":
                ran.extend(one for one in commands if not ran or ran[-1].general != one.general)
        if not ran:
            return
        occasion = derive_id(f"{experience.session} {int(experience.at // DAY_S)}".encode("utf-8", "replace"))[:8]
        for one in ran:
            if one.exact != one.general and one.exact:
                self._count(one.exact, (one.exact,), occasion, experience, of=one.general, alone=one.alone)
            self._count(one.general, (one.general,), occasion, experience, alone=one.alone)
        for steps in _list_sequences(ran):
            self._count(_ARROW.join(steps), steps, occasion, experience)
        if len(self._tallies) > 2 * MAX_HABITS:
            self._make_room(MAX_HABITS)

    def findings(self, least: int = 3) -> list[Finding]:
        """Return habits seen on at least `least` occasions: first commands, then sequences, most frequent first."""
        usual = {key: tally for key, tally in self._tallies.items() if len(tally.occasions) >= least}
        single = [tally for tally in usual.values() if len(tally.steps) == 1 and tally.alone]
        # The general form of a command is useless if it was always run with the same arguments.
        exact = {tally.of: tally for tally in single if tally.of}
        single = [tally for tally in single if tally.of or not _is_same_as(exact.get(tally.steps[0]), tally, least)]
        orders = [tally for tally in usual.values() if len(tally.steps) > 1]
        orders = [one for one in orders if not any(_is_part_of(one, other) for other in orders)]
        single = [one for one in single if not any(_is_part_of(one, other) for other in orders)]
        return [_workflow_finding(tally) for tally in (*_sort_by_frequency(single), *_sort_by_frequency(orders))]

    def _count(
        self,
        key: str,
        steps: tuple[str, ...],
        occasion: str,
        experience: Experience,
        *,
        of: str = "",
        alone: bool = True,
    ) -> None:
        known = self._tallies.get(key)
        before = known.occasions if known else ()
        # Turns may be replayed in any order, and a turn again after a killed run.
        if occasion in before and known is not None and experience.at <= known.at:
            return
        occasions = before if occasion in before else (*before, occasion)[-MAX_OCCASIONS:]
        newest = known is None or experience.at >= known.at
        if known is not None and not newest:
            self._tallies[key] = msgspec.structs.replace(known, occasions=occasions)
            return
        self._tallies[key] = Tally(
            steps=steps,
            occasions=occasions,
            of=of,
            alone=alone,
            session=experience.session,
            message=experience.message,
            at=experience.at,
        )

    def _make_room(self, most: int) -> None:
        if len(self._tallies) > most:
            ranked = sorted(self._tallies.items(), key=lambda item: (-len(item[1].occasions), -item[1].at, item[0]))
            self._tallies = dict(ranked[:most])


def _list_sequences(ran: list[Counted]) -> set[tuple[str, ...]]:
    """Return the sequences of two to four different successive commands, at least one of which can be a habit alone."""
    found: set[tuple[str, ...]] = set()
    names = [one.general for one in ran]
    for start in range(len(ran)):
        for size in range(2, _MAX_STEPS + 1):
            part = names[start : start + size]
            if (
                len(part) == size
                and len(set(part)) == size
                and sum(one.alone for one in ran[start : start + size]) >= 1
            ):
                found.add(tuple(part))
    return found


def _is_same_as(exact: Tally | None, general: Tally, least: int) -> bool:
    """Whether a general form was seldom run in another way than the exact form."""
    return exact is not None and len(set(general.occasions) - set(exact.occasions)) < least


def _is_part_of(one: Tally, other: Tally) -> bool:
    """Whether a sequence is part of a longer one that is at least half as frequent."""
    if len(one.steps) >= len(other.steps) or len(other.occasions) * 2 <= len(one.occasions):
        return False
    size = len(one.steps)
    return any(other.steps[place : place + size] == one.steps for place in range(len(other.steps) - size + 1))


def _sort_by_frequency(tallies: Iterable[Tally]) -> list[Tally]:
    return sorted(tallies, key=lambda tally: (-len(tally.occasions), tally.steps))


def _workflow_finding(tally: Tally) -> Finding:
    if len(tally.steps) == 1:
        role = get_command_role(tally.steps[0])
        text = f"usual {role + ' ' if role else ''}command: `{make_inert_line(tally.steps[0])}`"
    else:
        text = f"usual order: {_ARROW.join(get_command_role(step) or _short(step) for step in tally.steps)}"
    return Finding(
        kind="workflow",
        text=text,
        steps=tuple(make_inert_line(step) for step in tally.steps),
        confidence=min(0.55 + 0.05 * len(tally.occasions), 0.9),
        asserted_by="model",
        quote=truncate(_ARROW.join(tally.steps), QUOTE_CHARS),
        session=tally.session,
        message=tally.message,
        at=tally.at,
    )


def _short(step: str) -> str:
    return " ".join(word for word in step.split()[:2] if not word.startswith("-"))


CONFIDENCE, COMMITTED = 0.7, 0.85
_MAX_FILES, _MAX_COMMANDS, _COMMAND_CHARS, _WORDS_CHARS = 4, 2, 100, 200

_WORK = english_rules("work")
_SLIP = _WORK.pattern("slip")
"""Errors of code that is being written. If the same turn wrote that code, the fix is not worth learning."""
_STYLE = _WORK.pattern("style")
"""Messages of linters about style, which every project gets."""
_PROSE = LazyRegex(r"\.(?:md|rst|txt|adoc)$", re.IGNORECASE)
_UNDO = _WORK.pattern("undo")
_CAUSE = _WORK.pattern("cause")
_WAS_WRONG = _WORK.pattern("was_wrong")
"""A sentence about what was wrong, if it is in the agent's last message: "percent was not divided by 100"."""
_HEDGED = _WORK.pattern("hedged")
_SENTENCE_END = LazyRegex(r"(?<=[.!?])\s+|\n+")
_FENCED = LazyRegex(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)


_COMPARISON = _WORK.pattern("comparison")
"""Errors that only tell which values a test compared, and mean nothing without its name and the cause."""
_FAILED_TEST = LazyRegex(
    r"^(?:FAILED|ERROR) (?P<pytest>[^\s:]+::[^\s\[]+(?:\[.*?\](?= - |$))?)|^(?:FAIL|ERROR): (?P<unittest>\w+) \("
    r"|^[ \t]*--- FAIL: (?P<go>\S+)|^test (?P<rust>\S+) \.\.\. FAILED|^[ \t]*● (?P<jest>\S.*? › .*\S)"
    r"|^rspec \S+ # (?P<rspec>.*\S)|^\[ERROR\][ \t]+(?P<maven>\w+\.\w+):\d+|^(?P<gradle>\w+ > \S+) FAILED$",
    re.MULTILINE,
)
_TEST_FILE = LazyRegex(
    r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)\.\w+$", re.IGNORECASE
)
_FUNCTION = LazyRegex(r"\b(?:def|function|func|fn|sub|fun)\s+(?:\([^)]*\)\s*)?(?P<name>\w+)")
_EDIT_ARGUMENTS = (("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text"))
_MAX_EDITS, _LINE_CHARS = 3, 80


class _Failure(Struct, kw_only=True):
    """A failed run that is not fixed yet. made: files that the same turn changed before it. changes: changes since."""

    run: Run
    made: frozenset[str]
    changes: list[Change]


class _FixedRun(Struct, frozen=True, kw_only=True):
    """A failed run, the changes after it, and the run that then passed. number: the index of that run's call."""

    number: int
    failed: Run
    passed: Run
    made: frozenset[str]
    changes: tuple[Change, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The changed files, in the order of their changes."""
        return tuple(dict.fromkeys(file for change in self.changes for file in change.files))


def find_fixes(experiences: Sequence[Experience]) -> list[Finding]:
    """Return the errors that occurred and were fixed in successive turns of a session.

    A fix belongs to the turn in which the command passed. A fix that the user had reverted later is left out.
    """
    messages = tuple(message for experience in experiences for message in experience.messages)
    calls = list_completed_calls(messages)
    if sum(call.effects.exit_code is not None for call in calls) < 2:
        return []  # a fix needs a run that fails and a run that passes
    runs = [parse_run(call) for call in calls]
    if not any(run is not None and run.outcome == "failed" for run in runs):
        return []
    found: list[Finding] = []
    for fixed in _find_fixed_runs(calls, runs, messages):
        line = extract_error_line(fixed.failed.output) or next(iter(list_failed_tests(fixed.failed.output)), "")
        if line and not _is_slip(fixed, line) and _is_lasting(fixed, calls, runs, messages):
            turn = _turn_of(experiences, fixed.passed.place)
            found += _list_solution_findings(fixed, line, calls, messages, turn)
    return found


def _find_fixed_runs(
    calls: Sequence[CompletedCall], runs: Sequence[Run | None], messages: Sequence[Message]
) -> Iterator[_FixedRun]:
    """Yield each failed run that passed after a change; if it failed several times, the last failure."""
    waiting: list[_Failure] = []
    made: set[str] = set()
    began = 0
    for number, call in enumerate(calls):
        if any(isinstance(message, UserMessage) for message in messages[began : call.place]):
            made = set()
        began = call.place
        run = runs[number]
        if run is not None and run.outcome == "passed":
            settled = [failure for failure in waiting if is_settled_by(failure.run, run)]
            waiting = [failure for failure in waiting if failure not in settled]
            for failure in settled[-1:]:
                if failure.changes:
                    yield _FixedRun(
                        number=number, failed=failure.run, passed=run, made=failure.made, changes=tuple(failure.changes)
                    )
        elif run is not None and run.outcome == "failed":
            waiting = [failure for failure in waiting if not is_settled_by(failure.run, run)]
            waiting.append(_Failure(run=run, made=frozenset(made), changes=[]))
            continue
        change = parse_change(call)
        if change is not None:
            made.update(change.files)
            for failure in waiting:
                failure.changes.append(change)


def _is_slip(fixed: _FixedRun, line: str) -> bool:
    """Whether a fix is not worth learning: a matter of style, the turn's own mistake, or only documents changed."""
    files = set(fixed.files)
    commands = any(change.command for change in fixed.changes)
    if _STYLE.match(line) or (files and not commands and all(_PROSE.search(file) for file in files)):
        return True
    return bool(files) and files <= fixed.made and _SLIP.match(line) is not None


def _is_lasting(
    fixed: _FixedRun, calls: Sequence[CompletedCall], runs: Sequence[Run | None], messages: Sequence[Message]
) -> bool:
    """Whether the fix lasted: it was not reverted, the error did not return, and the user did not ask to undo it."""
    error = remove_varying_parts(extract_error_line(fixed.failed.output))
    committed, broken = False, False
    for number, call in enumerate(calls[fixed.number + 1 :], fixed.number + 1):
        if is_revert_of(call, fixed.files, committed=committed):
            return False
        committed = committed or bool(call.effects.commits)
        run = runs[number]
        if run is None or not (is_settled_by(fixed.failed, run) or is_settled_by(run, fixed.failed)):
            continue
        if run.outcome == "failed":
            broken = broken or remove_varying_parts(extract_error_line(run.output)) == error
        elif run.outcome == "passed":
            broken = False
    after = messages[fixed.passed.place :]
    said = next((one.content for one in after if isinstance(one, UserMessage) and one.origin == "user"), "")
    return not broken and _UNDO.match(said) is None


def _list_solution_findings(
    fixed: _FixedRun, line: str, calls: Sequence[CompletedCall], messages: Sequence[Message], turn: Experience
) -> Iterator[Finding]:
    """Yield what a fix teaches; nothing if a test failed and neither the cause nor what was changed is known."""
    cause = _cause(messages[fixed.failed.place : _end_of_turn(messages, fixed.passed.place)])
    edits = "" if cause else _describe_edits(fixed.changes)
    text = make_inert_line(remove_varying_parts(line))
    tests = list_failed_tests(fixed.failed.output)
    if _COMPARISON.match(line) or line in tests:
        if not cause and not edits:
            return
        name = _join_limited(tests[::-1], 1) if tests else ""
        text = f"{name} failed" if line in tests else f"{name}: {text}" if name else text
    committed = any(call.effects.commits for call in calls[fixed.number :])
    yield Finding(
        kind="solution",
        text=text,
        solution=_describe_fix(fixed, cause, edits),
        files=fixed.files[-_MAX_FILES:],
        confidence=COMMITTED if committed else CONFIDENCE,
        asserted_by="model",
        quote=truncate(line, QUOTE_CHARS),
        session=turn.session,
        message=turn.message,
        at=turn.at,
    )


def list_failed_tests(output: str) -> list[str]:
    """Return the names of the tests that failed, as the test runner prints them."""
    names = (next(filter(None, found.groups())) for found in _FAILED_TEST.finditer(plain(output)))
    return list(dict.fromkeys(truncate(make_inert_line(name), _COMMAND_CHARS) for name in names))


def _describe_fix(fixed: _FixedRun, cause: str, edits: str) -> str:
    """Return one sentence about the changes that fixed an error, with the agent's explanation as a quotation."""
    removed = {file for change in fixed.changes for file in change.removed}
    changed = [file for file in fixed.files if file not in removed]
    commands = [
        f"`{truncate(make_inert_line(command), _COMMAND_CHARS)}`"
        for command in dict.fromkeys(change.command for change in fixed.changes if change.command)
    ]
    parts = [
        f"changed {_join_limited(changed, _MAX_FILES)}{f' ({edits})' if edits else ''}" if changed else "",
        f"removed {_join_limited(sorted(removed), _MAX_FILES)}" if removed else "",
        f"ran {_join_limited(commands, _MAX_COMMANDS)}" if commands else "",
    ]
    what = " and ".join(part for part in parts if part)
    passed = truncate(make_inert_line(fixed.passed.checks[-1].text), _COMMAND_CHARS)
    return f"{what}; then `{passed}` passed" + (f"; the agent said {quote_inert(cause)}" if cause else "")


def _describe_edits(changes: Sequence[Change]) -> str:
    """Return the lines or functions that a few edits changed outside of tests; "" if there are more, or a secret."""
    calls = [change.call for change in changes if change.call and not all(map(_TEST_FILE.search, change.files))]
    if not 0 < len(calls) <= _MAX_EDITS:
        return ""
    said = "; ".join(filter(None, dict.fromkeys(map(_describe_edit, calls))))
    return "" if "[REDACTED" in said else said


def _describe_edit(call: ToolCall) -> str:
    """Return the line that an edit changed, or the function if it changed several lines; "" if it cannot be told."""
    old, new = _read_edit(decode_call_arguments(call))
    removed = [line for line in old if line not in new]
    added = [line for line in new if line not in old]
    if len(removed) > 1 or len(added) > 1:
        around = new[: new.index(added[0])][::-1] if added else []
        if name := next((found["name"] for line in (*around, *added) if (found := _FUNCTION.search(line))), ""):
            return f"{name}()"
    shown = [quote_inert(truncate(_redactor().redact(line).text, _LINE_CHARS)) for line in (*removed[:1], *added[:1])]
    if removed and added:
        return " is now ".join(shown)
    return f"{'added' if added else 'removed'} {shown[0]}" if shown else ""


def _read_edit(arguments: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the lines that an edit replaced and its new lines, without indentation and empty ones."""
    old: list[str] = []
    new: list[str] = []
    several = arguments.get("edits")
    for one in (arguments, *(cast("list[Any]", several) if isinstance(several, list) else ())):
        for names in _EDIT_ARGUMENTS if isinstance(one, dict) else ():
            for name, lines in zip(names, (old, new), strict=True):
                lines += str(cast("dict[str, Any]", one).get(name) or "").splitlines()
    patch = next((text for key in ("patch", "input", "diff") if isinstance(text := arguments.get(key), str)), "")
    for line in patch.splitlines():
        if not line.startswith(("---", "+++", "***", "@@")):
            old += [line[1:]] if line[:1] in ("-", " ") else []
            new += [line[1:]] if line[:1] in ("+", " ") else []
    return [line.strip() for line in old if line.strip()], [line.strip() for line in new if line.strip()]


def _join_limited(items: Sequence[str], most: int) -> str:
    shown = ", ".join(items[-most:])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def _cause(messages: Sequence[Message]) -> str:
    """Return the agent's last sentence that names a cause or a fix without hedging; empty if there is none."""
    said = [one.content for one in messages if isinstance(one, AssistantMessage) and one.content]
    for pattern, texts in ((_CAUSE, said[::-1]), (_WAS_WRONG, said[-1:])):
        for text in texts:
            prose = _FENCED.sub("\n", text).replace("**", "")
            for sentence in reversed(_SENTENCE_END.sub("\0", prose).split("\0")):
                words = sentence.strip(" \t-*•>#")
                if 20 <= len(words) <= _WORDS_CHARS and pattern.search(words) and not _HEDGED.search(words):
                    return words
    return ""


def _end_of_turn(messages: Sequence[Message], place: int) -> int:
    ends = (
        later
        for later in range(place, len(messages))
        if (message := messages[later]) and isinstance(message, UserMessage) and message.origin == "user"
    )
    return next(ends, len(messages))


def _turn_of(experiences: Sequence[Experience], place: int) -> Experience:
    for experience in experiences:
        place -= len(experience.messages)
        if place < 0:
            return experience
    return experiences[-1]
