"""Find what the commands of turns teach, by rule: solutions of errors, and workflows.

A solution: a command failed, files were changed, and the same command passed. A workflow: commands that sessions run
again and again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct

from clio.memory.consolidation.experiences import MAX_CHARS as MAX_LINE
from clio.memory.consolidation.experiences import (
    QUOTE_CHARS,
    Change,
    Command,
    Doing,
    Experience,
    Finding,
    Run,
    change_of,
    commands_in,
    doings_of,
    error_line,
    is_check,
    is_settled_by,
    outcome_of,
    reverts,
    run_of,
    without_varying,
)
from clio.messages import AssistantMessage, Message, UserMessage
from clio.security.redaction.redactor import Redactor
from clio.sessions.state import derive_id
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.quoting import make_inert_line, quote_inert
from clio.text.scoring import DAY_S

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
_WIDE = frozenset({".", "./...", "./", "...", ".."})
_TEXT_OPTIONS = {"-m": "MESSAGE", "--message": "MESSAGE", "-am": "MESSAGE", "-k": "NAME", "-run": "NAME", "-t": "NAME"}
_INLINE = frozenset({"-c", "-e", "--eval"})


class Counted(Struct, frozen=True):
    """One command of a line.

    exact: as it was run; empty where it held a secret. general: with PATH, NAME, TEXT for what varies. alone: whether
    it may be a habit by itself, not only a step of one.
    """

    exact: str
    general: str
    alone: bool


def counted(line: str) -> tuple[Counted, ...]:
    """The commands of a line that are worth counting, without those that only look; none that hold a secret."""
    return _counted_in(line) if len(line) <= MAX_LINE else ()


@lru_cache(maxsize=8_192)
def _counted_in(line: str) -> tuple[Counted, ...]:
    found: list[Counted] = []
    for command in commands_in(line):
        core = command.core
        final = core[:1] == ("git",) and core[1:2] != () and core[1] in _FINAL
        if command.writes or not (final or is_check(core)) or set(core) & _INLINE:
            continue
        one = _counted(command, final=final)
        if one is not None:
            found.append(one)
    return tuple(found)


def role_of(command: str) -> str:
    """What a command is for, in a word or two; empty where nobody knows."""
    core = next((" ".join(one.core) for one in commands_in(command)), command)
    return next((role for role, pattern in _ROLES if pattern.match(core)), "")


def _counted(command: Command, *, final: bool) -> Counted | None:
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
    alone = (not final and program not in _NEVER_ALONE and "/" not in command.words[0][1:]) or bool(role_of(general))
    return Counted(exact=exact, general=general, alone=alone and not final)


@lru_cache(maxsize=1)
def _redactor() -> Redactor:
    return Redactor()


def _without_secrets(words: tuple[str, ...]) -> list[str] | None:
    """The words without options that name a secret, and without what follows them; None where one may be left."""
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
    """The words with PATH for files, MESSAGE and NAME for texts; several of them in a row are one."""
    general: list[str] = []
    after = ""
    for number, word in enumerate(words):
        if after:
            shown = after
        elif number and word[:1] in "'\"":
            shown = "TEXT"
        elif number and word not in _WIDE and not word.startswith("-") and "://" not in word and _FILE.fullmatch(word):
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
"""Commands and orders that are counted at once; those seen on the fewest occasions, then the oldest, give way."""
MAX_OCCASIONS = 12
_LONGEST = 4
_JOINT = " → "


class Tally(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often one command, or one order of commands, ran well.

    occasions: short hashes of session and day, at most `MAX_OCCASIONS`. of: the general form of an exact command.
    alone: whether it may be a habit by itself. session, message, at: where it ran last.
    """

    steps: tuple[str, ...]
    occasions: tuple[str, ...]
    of: str = ""
    alone: bool = True
    session: str = ""
    message: str = ""
    at: float = 0.0


class HabitState(Struct, frozen=True, kw_only=True):
    """What is counted so far, by the text of the command or the order. At most `MAX_HABITS` entries, no secrets."""

    tallies: dict[str, Tally] = {}


class Habits:
    """Counts commands over turns, in whatever order they come."""

    def __init__(self, state: HabitState | None = None) -> None:
        self._tallies = dict(state.tallies) if state is not None else {}

    @property
    def state(self) -> HabitState:
        """What is counted so far, to be kept until the next night."""
        self._make_room(MAX_HABITS)
        return HabitState(tallies=dict(self._tallies))

    def feed(self, experience: Experience) -> None:
        """Count the commands of one turn that ran well."""
        ran: list[Counted] = []
        for doing in doings_of(experience.messages):
            line = doing.deeds.command
            if doing.deeds.exit_code != 0 or not (commands := counted(line)):
                continue
            if outcome_of(0, doing.output, sure=True) == "passed":
                ran.extend(one for one in commands if not ran or ran[-1].general != one.general)
        if not ran:
            return
        occasion = derive_id(f"{experience.session} {int(experience.at // DAY_S)}".encode("utf-8", "replace"))[:8]
        for one in ran:
            if one.exact != one.general and one.exact:
                self._count(one.exact, (one.exact,), occasion, experience, of=one.general, alone=one.alone)
            self._count(one.general, (one.general,), occasion, experience, alone=one.alone)
        for steps in _orders(ran):
            self._count(_JOINT.join(steps), steps, occasion, experience)
        if len(self._tallies) > 2 * MAX_HABITS:
            self._make_room(MAX_HABITS)

    def findings(self, least: int = 3) -> list[Finding]:
        """The habits seen on at least so many occasions: single commands, then orders, the most frequent first."""
        usual = {key: tally for key, tally in self._tallies.items() if len(tally.occasions) >= least}
        single = [tally for tally in usual.values() if len(tally.steps) == 1 and tally.alone]
        # A general form says nothing where what was run is always the same.
        exact = {tally.of: tally for tally in single if tally.of}
        single = [tally for tally in single if tally.of or not _covers(exact.get(tally.steps[0]), tally, least)]
        orders = [tally for tally in usual.values() if len(tally.steps) > 1]
        orders = [one for one in orders if not any(_within(one, other) for other in orders)]
        return [_workflow_finding(tally) for tally in (*_ranked(single), *_ranked(orders))]

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


def _orders(ran: list[Counted]) -> set[tuple[str, ...]]:
    """The orders of two to four different commands in what was run, each at least once something checked."""
    found: set[tuple[str, ...]] = set()
    names = [one.general for one in ran]
    for start in range(len(ran)):
        for size in range(2, _LONGEST + 1):
            part = names[start : start + size]
            if (
                len(part) == size
                and len(set(part)) == size
                and sum(one.alone for one in ran[start : start + size]) >= 1
            ):
                found.add(tuple(part))
    return found


def _covers(exact: Tally | None, general: Tally, least: int) -> bool:
    """Whether the exact form of a command is all that there is to its general form."""
    return exact is not None and len(set(general.occasions) - set(exact.occasions)) < least


def _within(one: Tally, other: Tally) -> bool:
    """Whether an order is a part of a longer one that is nearly as usual."""
    if len(one.steps) >= len(other.steps) or len(other.occasions) * 2 <= len(one.occasions):
        return False
    size = len(one.steps)
    return any(other.steps[place : place + size] == one.steps for place in range(len(other.steps) - size + 1))


def _ranked(tallies: Iterable[Tally]) -> list[Tally]:
    return sorted(tallies, key=lambda tally: (-len(tally.occasions), tally.steps))


def _workflow_finding(tally: Tally) -> Finding:
    if len(tally.steps) == 1:
        role = role_of(tally.steps[0])
        text = f"usual {role + ' ' if role else ''}command: `{make_inert_line(tally.steps[0])}`"
    else:
        text = f"usual order: {_JOINT.join(role_of(step) or _short(step) for step in tally.steps)}"
    return Finding(
        kind="workflow",
        text=text,
        steps=tuple(make_inert_line(step) for step in tally.steps),
        confidence=min(0.55 + 0.05 * len(tally.occasions), 0.9),
        asserted_by="model",
        quote=truncate(_JOINT.join(tally.steps), QUOTE_CHARS),
        session=tally.session,
        message=tally.message,
        at=tally.at,
    )


def _short(step: str) -> str:
    return " ".join(word for word in step.split()[:2] if not word.startswith("-"))


CONFIDENCE, COMMITTED = 0.7, 0.85
_MAX_FILES, _MAX_COMMANDS, _COMMAND_CHARS, _WORDS_CHARS = 4, 2, 100, 200

_SLIP = LazyRegex(
    r"(?:\w+\.)*(?:SyntaxError|IndentationError|TabError|NameError|UnboundLocalError|AssertionError)\b|assert\b"
    r"|Test\w+$"
    r"|.*(?:\bundefined:|\bnot defined\b|\bunused\b|\bdeclared and not used\b|\bimported and not used\b|\bundeclared\b"
    r"|\bexpected\b.*\b(?:got|found|but)\b|\bgot\b.*\bwant\b|\bwant\b.*\bgot\b|\bunexpected (?:token|indent)"
    r"|\bmissing return\b"
    r"|\bcannot find (?:value|name)\b|\bproperly formatted\b|\breformat)",
    re.IGNORECASE,
)
"""Errors of code that is being written. Where the turn itself had just written it, mending it is no lesson."""
_STYLE = LazyRegex(
    r".*(?:\bunused\b|\bdeclared and not used\b|\bimported (?:and|but) (?:not used|unused)\b|\bproperly formatted\b"
    r"|\breformat|\bline too long\b|\bno-unused|\bun-?sorted\b|\bimport block\b|\bprettier\b|\bgofmt\b|\bwhitespace\b)"
    r"|.*(?:SyntaxError|IndentationError|TabError)\b",
    re.IGNORECASE,
)
"""What every linter says of everybody's code."""
_PROSE = LazyRegex(r"\.(?:md|rst|txt|adoc)$", re.IGNORECASE)
_UNDO = LazyRegex(
    r"\W*(?:(?:no|nope|wait|stop|ok|hm+|sorry|please|actually)\W+)*(?:undo|revert|roll ?back|take (?:that|it) back)\b",
    re.IGNORECASE,
)
_CAUSE = LazyRegex(
    r"\b(?:because|root cause|caused by|due to|turned out|(?:was|were) missing|needs? to|needed to|fixed (?:it )?by"
    r"|the (?:actual |real )?(?:issue|problem|bug|failure|error|culprit|cause|reason|fix) (?:was|is))\b",
    re.IGNORECASE,
)
_HEDGED = LazyRegex(
    r"\b(?:might|may|maybe|perhaps|probably|could|likely|not sure|seems?|should|i'll|i will|let me|let's|if|for now"
    r"|skip)\b|\?",
    re.IGNORECASE,
)
_SENTENCE_END = LazyRegex(r"(?<=[.!?])\s+|\n+")
_FENCED = LazyRegex(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)


class _Failure(Struct, kw_only=True):
    """A failing run nobody has mended yet. made: files the same turn had changed before it. changes: those since."""

    run: Run
    made: frozenset[str]
    changes: list[Change]


class _Mended(Struct, frozen=True, kw_only=True):
    """A failing run, what was changed after it, and the run that passed then. number: of the doing that passed."""

    number: int
    failed: Run
    passed: Run
    made: frozenset[str]
    changes: tuple[Change, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that were changed, the last one last."""
        return tuple(dict.fromkeys(file for change in self.changes for file in change.files))


def fixes_in(experience: Experience, doings: Sequence[Doing]) -> list[Finding]:
    """The errors that came up and were mended in one turn. doings: what was done in it."""
    return _found((experience,), experience.messages, doings)


def fixes_across(experiences: Sequence[Experience]) -> list[Finding]:
    """The same over turns of one session that follow each other: what failed in one may pass in a later one.

    A fix belongs to the turn in which the command passed. One that the person then had taken back is none.
    """
    messages = tuple(message for experience in experiences for message in experience.messages)
    return _found(experiences, messages, doings_of(messages))


def _found(experiences: Sequence[Experience], messages: Sequence[Message], doings: Sequence[Doing]) -> list[Finding]:
    if sum(doing.deeds.exit_code is not None for doing in doings) < 2:
        return []  # it takes one that fails and one that passes
    runs = [run_of(doing) for doing in doings]
    if not any(run is not None and run.outcome == "failed" for run in runs):
        return []
    found: list[Finding] = []
    for mended in _mended(doings, runs, messages):
        line = error_line(mended.failed.output)
        if line and not _is_slip(mended, line) and _holds(mended, doings, runs, messages):
            found.append(_solution_finding(mended, line, doings, messages, _turn_of(experiences, mended.passed.place)))
    return found


def _mended(doings: Sequence[Doing], runs: Sequence[Run | None], messages: Sequence[Message]) -> Iterator[_Mended]:
    """Each failing run that a later one settled after a change; where it failed anew on the way, the last failure."""
    waiting: list[_Failure] = []
    made: set[str] = set()
    began = 0
    for number, doing in enumerate(doings):
        if any(isinstance(message, UserMessage) for message in messages[began : doing.place]):
            made = set()
        began = doing.place
        run = runs[number]
        if run is not None and run.outcome == "passed":
            settled = [failure for failure in waiting if is_settled_by(failure.run, run)]
            waiting = [failure for failure in waiting if failure not in settled]
            for failure in settled[-1:]:
                if failure.changes:
                    yield _Mended(
                        number=number, failed=failure.run, passed=run, made=failure.made, changes=tuple(failure.changes)
                    )
        elif run is not None and run.outcome == "failed":
            waiting = [failure for failure in waiting if not is_settled_by(failure.run, run)]
            waiting.append(_Failure(run=run, made=frozenset(made), changes=[]))
            continue
        change = change_of(doing)
        if change is not None:
            made.update(change.files)
            for failure in waiting:
                failure.changes.append(change)


def _is_slip(mended: _Mended, line: str) -> bool:
    """Whether it is no lesson: a matter of style, a slip of its own, a change that cannot help."""
    files = set(mended.files)
    commands = any(change.command for change in mended.changes)
    if _STYLE.match(line) or (files and not commands and all(_PROSE.search(file) for file in files)):
        return True
    return bool(files) and files <= mended.made and _SLIP.match(line) is not None


def _holds(mended: _Mended, doings: Sequence[Doing], runs: Sequence[Run | None], messages: Sequence[Message]) -> bool:
    """Whether nothing that came after took the fix back: no revert, no such failure left, no word of the person."""
    error = without_varying(error_line(mended.failed.output))
    committed, broken = False, False
    for number, doing in enumerate(doings[mended.number + 1 :], mended.number + 1):
        if reverts(doing, mended.files, committed=committed):
            return False
        committed = committed or bool(doing.deeds.commits)
        run = runs[number]
        if run is None or not (is_settled_by(mended.failed, run) or is_settled_by(run, mended.failed)):
            continue
        if run.outcome == "failed":
            broken = broken or without_varying(error_line(run.output)) == error
        elif run.outcome == "passed":
            broken = False
    after = messages[mended.passed.place :]
    said = next((one.content for one in after if isinstance(one, UserMessage) and one.origin == "user"), "")
    return not broken and _UNDO.match(said) is None


def _solution_finding(
    mended: _Mended, line: str, doings: Sequence[Doing], messages: Sequence[Message], turn: Experience
) -> Finding:
    committed = any(doing.deeds.commits for doing in doings[mended.number :])
    return Finding(
        kind="solution",
        text=make_inert_line(without_varying(line)),
        solution=_told(mended, _cause(messages[mended.failed.place : _end_of_turn(messages, mended.passed.place)])),
        files=mended.files[-_MAX_FILES:],
        confidence=COMMITTED if committed else CONFIDENCE,
        asserted_by="model",
        quote=truncate(line, QUOTE_CHARS),
        session=turn.session,
        message=turn.message,
        at=turn.at,
    )


def _told(mended: _Mended, cause: str) -> str:
    """What was done, in one sentence; what the agent said of the cause behind it, as a quotation."""
    removed = {file for change in mended.changes for file in change.removed}
    changed = [file for file in mended.files if file not in removed]
    commands = [
        f"`{truncate(make_inert_line(command), _COMMAND_CHARS)}`"
        for command in dict.fromkeys(change.command for change in mended.changes if change.command)
    ]
    parts = [
        f"changed {_listed(changed, _MAX_FILES)}" if changed else "",
        f"removed {_listed(sorted(removed), _MAX_FILES)}" if removed else "",
        f"ran {_listed(commands, _MAX_COMMANDS)}" if commands else "",
    ]
    what = " and ".join(part for part in parts if part)
    passed = truncate(make_inert_line(mended.passed.checks[-1].text), _COMMAND_CHARS)
    return f"{what}; then `{passed}` passed" + (f"; the agent said {quote_inert(cause)}" if cause else "")


def _listed(items: Sequence[str], most: int) -> str:
    shown = ", ".join(items[-most:])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def _cause(messages: Sequence[Message]) -> str:
    """The last sentence of the agent's that says why it failed or what helped, if one says so without a doubt."""
    for message in reversed(messages):
        if not isinstance(message, AssistantMessage) or not message.content:
            continue
        prose = _FENCED.sub("\n", message.content).replace("**", "")
        for sentence in reversed(_SENTENCE_END.sub("\0", prose).split("\0")):
            words = sentence.strip(" \t-*•>#")
            if 20 <= len(words) <= _WORDS_CHARS and _CAUSE.search(words) and not _HEDGED.search(words):
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
