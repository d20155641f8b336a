"""Commands the user's sessions run again and again, which become workflows."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from msgspec import Struct

from clio.memory.consolidation.experiences import QUOTE_CHARS, Experience, Finding
from clio.memory.consolidation.shell_runs import MAX_CHARS as MAX_LINE
from clio.memory.consolidation.shell_runs import Command, commands_in, doings_of, is_check, outcome_of
from clio.memory.inert import one_line
from clio.security.redaction.redactor import Redactor
from clio.sessions.state import derive_id
from clio.text.formatting import truncate
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
        return [_finding(tally) for tally in (*_ranked(single), *_ranked(orders))]

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


def _finding(tally: Tally) -> Finding:
    if len(tally.steps) == 1:
        role = role_of(tally.steps[0])
        text = f"usual {role + ' ' if role else ''}command: `{one_line(tally.steps[0])}`"
    else:
        text = f"usual order: {_JOINT.join(role_of(step) or _short(step) for step in tally.steps)}"
    return Finding(
        kind="workflow",
        text=text,
        steps=tuple(one_line(step) for step in tally.steps),
        confidence=min(0.55 + 0.05 * len(tally.occasions), 0.9),
        asserted_by="model",
        quote=truncate(_JOINT.join(tally.steps), QUOTE_CHARS),
        session=tally.session,
        message=tally.message,
        at=tally.at,
    )


def _short(step: str) -> str:
    return " ".join(word for word in step.split()[:2] if not word.startswith("-"))
