"""Store how the user liked answers, find it out, and update the response styles from it.

`.clio/trajectories.jsonl` has the turns and their ratings; a later rating of the same source replaces the earlier one.
Signals are ratings in words, the next message, passing tests, and reverted work.
"""

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from clio.errors import UserError
from clio.memory.consolidation.experiences import parse_commands
from clio.memory.preferences.rule_files import RuleSection
from clio.memory.styles.styles import LearnedReward, Styles
from clio.messages import AssistantMessage, Message, SideEffects, ToolCall, ToolMessage, UserMessage, is_turn_start
from clio.sessions.session import Session
from clio.sessions.side_effects import find_side_effects
from clio.sessions.state import to_one_line
from clio.sessions.store import SessionStore
from clio.storage.files import make_ignored_folder, write_atomic
from clio.storage.jsonl import append_lines, back_up_damaged_file, read_last_lines, read_lines
from clio.storage.locks import FileLock
from clio.text.embedding import Embedder, EmbeddingFailed, HashedEmbedder, Row
from clio.text.formatting import truncate_line
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S
from clio.text.translation import tr

Category = Literal["too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info"]
CATEGORIES: tuple[Category, ...] = ("too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info")
Source = Literal["you", "undo", "words", "tests", "revert"]
"""Source of a rating: the user, or a signal: an undo, the next message, a test that passes, a revert."""
_TAIL_BYTES = 65_536
"""Size of the end of the file that is read to find the latest turn."""


class Trajectory(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn"):
    """A turn. message: id of its first message; bucket: its context; question: start of that message, ≤ 80 chars."""

    message: str
    session: str
    at: float
    question: str = ""
    bucket: str = ""
    style: str = ""
    explored: bool = False
    status: str = ""


class Rating(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="rating"):
    """A rating of a turn. reward: −1, 0 or 1; weight: 1.0 from the user, less from a signal.

    A later rating replaces the earlier one of the same source; if it is `withdrawn`, that source has no rating.
    """

    message: str
    at: float
    reward: int
    weight: float = 1.0
    source: Source = "you"
    reason: Category | None = None
    text: str = ""
    note: str = ""
    withdrawn: bool = False


RatingLine = Trajectory | Rating


class Rated(Struct, frozen=True, kw_only=True):
    """A turn with the latest rating of each source, the oldest first."""

    turn: Trajectory
    ratings: tuple[Rating, ...] = ()

    @property
    def reward(self) -> float:
        """Sum of the weighted ratings; negative if the user disliked the answer."""
        return sum(rating.reward * rating.weight for rating in self.ratings)


class Retained(Struct, frozen=True, kw_only=True):
    """Number of turns that stayed, were archived, and were deleted from the archive."""

    kept: int = 0
    archived: int = 0
    deleted: int = 0


class Trajectories:
    """The rated turns of one project and their archive. Several processes may append.

    Methods may raise OSError and TimeoutError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.archive = path.with_suffix(".archive.jsonl")

    def add(self, *lines: RatingLine) -> None:
        """Append lines; they are on disk when this returns."""
        make_ignored_folder(self.path.parent, self.path.parent)
        with self._lock():
            append_lines(self.path, map(msgspec.json.encode, lines))

    def all(self) -> list[Rated]:
        """Return all turns with their ratings, the oldest first. Lines that cannot be parsed are skipped."""
        return _fold_lines(_decode_lines(read_lines(self.path).lines))

    def last(self) -> Rated | None:
        """Return the latest turn. Reads only the end of the file if it contains the turn."""
        for lines in (read_last_lines(self.path, _TAIL_BYTES), read_lines(self.path).lines):
            if found := _fold_lines(_decode_lines(lines)):
                return found[-1]
        return None

    def find(self, message: str) -> Rated | None:
        """Return the turn that began with the message with this id, or None."""
        return next((rated for rated in self.all() if rated.turn.message == message), None)

    def rewards(self) -> dict[str, float]:
        """Return the reward of each rated turn, by the id of its first message."""
        return {rated.turn.message: rated.reward for rated in self.all() if rated.ratings}

    def retain(self, now: float) -> Retained:
        """Archive unrated turns after 90 days and delete them from the archive after 365; rated turns stay."""
        if not (self.path.exists() or self.archive.exists()):
            return Retained()
        from clio.text.consolidate import decide_retention

        with self._lock():

            def decide(rated: Rated, *, archived: bool) -> str:
                return decide_retention((now - rated.turn.at) / DAY_S, bool(rated.ratings), archived=archived)

            kept, archived = list[Rated](), list[Rated]()
            for turn in self.all():
                (kept if decide(turn, archived=False) == "kept" else archived).append(turn)
            old = _fold_lines(_decode_lines(read_lines(self.archive).lines))
            remaining = [turn for turn in old if decide(turn, archived=True) != "deleted"]
            result = Retained(kept=len(kept), archived=len(archived), deleted=len(old) - len(remaining))
            if archived or result.deleted:
                back_up_damaged_file(self.path)
                back_up_damaged_file(self.archive)
                # The archive first: after a crash in between, a turn is in both files, not in none.
                _write_rated(self.archive, {turn.turn.message: turn for turn in (*remaining, *archived)}.values())
                _write_rated(self.path, kept)
        return result

    def _lock(self) -> FileLock:
        return FileLock(self.path.with_name(self.path.name + ".lock"))


def _decode_lines(lines: Iterable[bytes]) -> Iterable[RatingLine]:
    for line in lines:
        try:
            yield decode_json(line, type=RatingLine)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # an incomplete or unknown line: it loses the rating of one turn, never a memory


def _fold_lines(lines: Iterable[RatingLine]) -> list[Rated]:
    """Return the turns of lines in order of time, each with the latest rating of each source."""
    turns: dict[str, Trajectory] = {}
    ratings: dict[str, dict[str, Rating]] = {}
    for line in lines:
        if isinstance(line, Trajectory):
            turns[line.message] = line
        else:
            ratings.setdefault(line.message, {}).pop(line.source, None)
            ratings[line.message][line.source] = line
    return [
        Rated(turn=turn, ratings=tuple(rating for rating in ratings.get(id, {}).values() if not rating.withdrawn))
        for id, turn in turns.items()
    ]


def _write_rated(path: Path, turns: Iterable[Rated]) -> None:
    lines = [line for rated in turns for line in (rated.turn, *rated.ratings)]
    write_atomic(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


MAX_WORDS_CHARS = 300
MIN_SIMILARITY = 0.6


class _Tables(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `feedback.json`.

    Attributes:
        complaints: by category, alternatives of a regular expression for English complaints. The order matters,
            because "not enough detail", said of a short answer, names "detail" too.
        openings: patterns of the first words of a message that praise or refuse the answer before it.
        examples: complaints of each category, in other words than `complaints`.
    """

    complaints: dict[Category, tuple[str, ...]]
    openings: RuleSection
    examples: dict[Category, tuple[str, ...]]


_TABLES = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_Tables)
_COMPLAINTS: Mapping[Category, re.Pattern[str]] = {
    name: re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)") for name, phrases in _TABLES.complaints.items()
}


def classify_complaint(text: str) -> Category | None:
    """Return the reason for a complaint by its English phrases, or None."""
    words = " ".join(text.replace("’", "'").casefold().split())
    return next((name for name, pattern in _COMPLAINTS.items() if pattern.search(words)), None)


def check_rating_text(text: str) -> str:
    """Return the text of a rating unchanged. Raises ValueError if it has more than 300 characters."""
    if len(text) > MAX_WORDS_CHARS:
        raise ValueError(f"a feedback has up to {MAX_WORDS_CHARS} characters, not {len(text)}")
    return text


def filter_similar(similarities: Mapping[str, float], threshold: float = MIN_SIMILARITY) -> dict[str, float]:
    """Return the categories whose similarity is at least the threshold."""
    return {name: value for name, value in similarities.items() if value >= threshold}


EXAMPLES: Mapping[Category, tuple[str, ...]] = _TABLES.examples
_MIN_SPREAD = 0.01
"""Lower bound of the difference between `own_cosine` and `other_cosine`, which is a divisor."""


class _ReasonEmbedding(Struct, frozen=True):
    """The embedding of one reason for a complaint: the centroid of its examples, and the mean cosines to it.

    other_cosine, own_cosine: mean cosine of the examples of other reasons, and of its own examples.
    """

    centroid: Sequence[float]
    other_cosine: float
    own_cosine: float


_embedding_cache: dict[str, Mapping[Category, _ReasonEmbedding]] = {}
"""By name of the embedder. The examples are constant, so they are embedded only once per process."""


def infer_reason(text: str, embedder: Embedder | None) -> Category | None:
    """Return the reason that the text of a rating gives; None for no known reason.

    Args:
        text: the user's words, up to 300 characters (see `check_rating_text`).
        embedder: used only if the English rules find nothing. The hashed embedder is never used, because it compares
            letters instead of meanings. If the embedder fails, the result is None.
    """
    if not text.strip():
        return None
    if found := classify_complaint(text):
        return found
    if embedder is None or isinstance(embedder, HashedEmbedder):
        return None
    try:
        similarities = _compute_likeness(embedder.embed([text])[0], _embed_all_examples(embedder))
    except (EmbeddingFailed, OSError):  # the rating is saved all the same, without a reason
        return None
    best = max(CATEGORIES, key=lambda name: similarities[name])
    return best if best in filter_similar(similarities) else None


def _compute_likeness(vector: Sequence[float], reasons: Mapping[Category, _ReasonEmbedding]) -> dict[str, float]:
    """Return the similarity of a text to each reason: 0.0 like examples of other reasons, 1.0 like its own.

    Cosines are not comparable between embedders: with one 0.4 is high, with another every cosine is above 0.7.
    """
    return {
        name: (_cosine(vector, reason.centroid) - reason.other_cosine)
        / max(reason.own_cosine - reason.other_cosine, _MIN_SPREAD)
        for name, reason in reasons.items()
    }


def _embed_all_examples(embedder: Embedder) -> Mapping[Category, _ReasonEmbedding]:
    """Return the embeddings of all reasons. Cached by embedder."""
    known = _embedding_cache.get(embedder.name)
    if known is None:
        rows = iter(embedder.embed([example for name in CATEGORIES for example in EXAMPLES[name]]))
        vectors = {name: [next(rows) for _ in EXAMPLES[name]] for name in CATEGORIES}
        known = _embedding_cache[embedder.name] = {name: _embed_examples(name, vectors) for name in CATEGORIES}
    return known


def _embed_examples(name: str, vectors: Mapping[str, Sequence[Row]]) -> _ReasonEmbedding:
    own = vectors[name]
    centroid = _mean(own)
    other_cosines = [_cosine(row, centroid) for other, rows in vectors.items() if other != name for row in rows]
    # Each example is compared with the mean of the others. A mean that includes the example would be more similar to
    # it than to any new text.
    own_cosines = [_cosine(row, _mean([*own[:place], *own[place + 1 :]])) for place, row in enumerate(own)]
    return _ReasonEmbedding(
        centroid, math.fsum(other_cosines) / len(other_cosines), math.fsum(own_cosines) / len(own_cosines)
    )


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(values) / len(rows) for values in zip(*rows, strict=True)]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return math.fsum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


_CHECK_PROGRAMS = frozenset(
    "pytest py.test unittest nose2 tox nox jest vitest mocha ava playwright cypress rspec phpunit phpstan ctest bats "
    "prove ruff mypy pyright pylint flake8 eslint tsc biome shellcheck clippy golangci-lint rubocop pre-commit".split()
)
_TASK_RUNNERS = {
    "npm": "test t",
    "pnpm": "test t",
    "yarn": "test lint check build typecheck",
    "bun": "test",
    "deno": "test check lint",
    "cargo": "test check clippy build nextest",
    "go": "test vet build",
    "make": "",
    "just": "",
    "mvn": "test verify package",
    "gradle": "test check build",
    "gradlew": "test check build",
    "dotnet": "test build",
    "swift": "test build",
    "mix": "test",
    "stack": "test build",
    "zig": "test build",
    "rake": "test spec",
    "rails": "test",
}
_TASK_WORDS = ("test", "lint", "check", "typecheck", "type-check", "verify", "spec")
_RUNNERS_OF_NAMED_TASKS = frozenset(("npm", "pnpm", "yarn", "bun", "make", "just"))
_INTERPRETERS = frozenset(("python", "python3", "node", "ruby", "php", "bash", "sh"))


def find_checks(line: str) -> frozenset[str]:
    """Return the tests and checks that determine the line's exit code, such as {"pytest"} or {"make test"}.

    Empty for "pytest | tail" or "pytest; ls", where another command determines it.
    """
    names = (_name_check(command.core) for command in parse_commands(line) if command.sure)
    return frozenset(filter(None, names))


def is_reverted(line: str, changed: Iterable[str], commits: Sequence[str]) -> bool:
    """Whether a git command in the line reverts changed files or commits.

    Args:
        changed: paths of the files.
        commits: abbreviated hashes.
    """
    files = tuple(changed)
    return any(_is_reverting(command.core, files, commits) for command in parse_commands(line))


def _is_reverting(words: Sequence[str], files: Sequence[str], commits: Sequence[str]) -> bool:
    if len(words) < 2 or words[0] != "git":
        return False
    options = [word for word in words[2:] if word.startswith("-") and word != "--"]
    rest = [word for word in words[2:] if not word.startswith("-")]
    match words[1]:
        case "revert":
            return bool(commits) and any(word.startswith("HEAD") or _is_same_commit(word, commits) for word in rest)
        case "reset":
            return "--hard" in options and bool(files or commits)
        case "restore":
            only_staged = ("--staged" in options or "-S" in options) and not {"--worktree", "-W"} & {*options}
            return not only_staged and _touches(rest, files)
        case "checkout":
            return not {"-b", "-B"} & {*options} and _touches(rest, files)
        case _:
            return False


def _touches(paths: Sequence[str], files: Sequence[str]) -> bool:
    """Whether any of the paths is one of the files, or a directory that contains one."""
    cleaned = [path.strip("\"'").removeprefix("./").rstrip("/") for path in paths]
    return any(
        path in (".", "*", ":/", "") or file == path or file.endswith("/" + path) or file.startswith(path + "/")
        for path in cleaned
        for file in files
    )


def _is_same_commit(word: str, commits: Sequence[str]) -> bool:
    # Either hash may be abbreviated more than the other one.
    return any(len(word) >= 6 and (word.startswith(hash) or hash.startswith(word)) for hash in commits)


def _name_check(words: Sequence[str]) -> str:
    """Return the name of the test or check that a simple command runs; "" for any other command."""
    name = words[0] if words else ""
    if name in _CHECK_PROGRAMS:
        return name
    if name in _INTERPRETERS:
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        base = script.rsplit("/", 1)[-1]
        return base if base.startswith("test") or base.partition(".")[0].endswith("_test") else ""
    if name not in _TASK_RUNNERS:
        return ""
    rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    rest = rest[1:] if rest[:1] == ["run"] else rest
    task = rest[0] if rest else ""
    named = name in _RUNNERS_OF_NAMED_TASKS and any(word in task.lower() for word in _TASK_WORDS)
    return f"{name} {task}" if task and (named or task in _TASK_RUNNERS[name].split()) else ""


Verdict = Literal["refused", "praised"]
_OPENING_CHARS = 160
# "no" alone refuses an answer, unless clio asked something.
_BARE_NO, _REFUSAL = _TABLES.openings.pattern("bare_no"), _TABLES.openings.pattern("refusal")
_PRAISE, _THANKS = _TABLES.openings.pattern("praise"), _TABLES.openings.pattern("thanks")
# "great, it broke again", "perfect. Now the tests fail": such words in the same or the next sentence cancel the praise.
_NEGATED = _TABLES.openings.pattern("negated")
_SENTENCE = re.compile(r"\n|(?<=[.!?])\s")


def infer_verdict(text: str, *, after_question: bool) -> Verdict | None:
    """Return whether the first words of a message praise or refuse the previous answer; None for neither.

    Args:
        after_question: that answer ended with a question, so that "no" alone may only answer it.
    """
    lines = (" ".join(line.split()) for line in text.strip()[:_OPENING_CHARS].splitlines())
    opening = "\n".join(lines).replace("’", "'").casefold()
    if _REFUSAL.match(opening) or (not after_question and _BARE_NO.match(opening)):
        return "refused"
    if not _PRAISE.match(opening):
        return None
    first, *rest = _SENTENCE.split(opening, maxsplit=2)
    # Thanks are not ironic, and the next sentence may be a new request about an error: only the first one counts.
    examined = first if _THANKS.search(first) else " ".join([first, *rest[:1]])
    return None if _NEGATED.search(examined) else "praised"


def ends_with_question(text: str) -> bool:
    """Whether an answer of the model ends with a question."""
    lines = [line.strip().strip("*_`) ") for line in text.strip()[-600:].splitlines() if line.strip()]
    if not lines:
        return False
    return any(line.endswith("?") for line in lines[-4:]) or "? " in lines[-1]


SignalSource = Literal["words", "tests", "revert"]
WORDS_WEIGHT, TESTS_WEIGHT, REVERT_WEIGHT = 0.25, 0.25, 0.5
_NOTE_CHARS = 60
_NOT_STARTED_CODES = frozenset((126, 127))
"""Exit codes of a shell that could not start the command, which is not a failed test."""


class Signal(Struct, frozen=True, kw_only=True):
    """One signal.

    Attributes:
        target: whether it rates the answer of this turn or of the one before.
        reward: +1 or −1.
        weight: of the reward, 0 to 1.
        note: short description. It quotes the user, so it must be redacted before it is stored.
    """

    target: Literal["this", "before"]
    reward: Literal[-1, 1]
    weight: float
    source: SignalSource
    note: str


def find_signals(turn: Sequence[Message], before: Sequence[Message]) -> list[Signal]:
    """Return the signals in a turn that has ended. before: the previous turn of the session; empty for none.

    Of several signals with the same reward for one answer, only the one with the greatest weight is returned: after
    "undo that" the change is usually reverted as well.
    """
    found = [*_find_revert(turn, before), *_find_verdict(turn, before), *_find_fixed_checks(turn)]
    heaviest: dict[tuple[str, int], Signal] = {}
    for signal in sorted(found, key=lambda signal: -signal.weight):
        heaviest.setdefault((signal.target, signal.reward), signal)
    return list(heaviest.values())


def _find_verdict(turn: Sequence[Message], before: Sequence[Message]) -> Iterator[Signal]:
    """Yield the signal in the first words of this turn, which rates the previous answer."""
    request = next((message for message in turn if isinstance(message, UserMessage)), None)
    answers = (message.content for message in reversed(before) if isinstance(message, AssistantMessage))
    answer = next((text for text in answers if text), "")
    if request is None or request.origin != "user" or not answer:
        return
    verdict = infer_verdict(request.content, after_question=ends_with_question(answer))
    if verdict:
        quote = truncate_line(request.content, _NOTE_CHARS)
        reward = -1 if verdict == "refused" else 1
        yield Signal(target="before", reward=reward, weight=WORDS_WEIGHT, source="words", note=f"“{quote}”")


def _find_fixed_checks(turn: Sequence[Message]) -> Iterator[Signal]:
    """Yield a signal if a test or check failed, then files were changed, then it passed, and none fails at the end."""
    failed: set[str] = set()
    changed: set[str] = set()  # the failed checks after which a file was changed
    green: dict[str, None] = {}
    for _, _, effects in _list_calls(turn):
        if effects.changed:
            changed |= failed
        if not effects.command or effects.exit_code is None or effects.exit_code in _NOT_STARTED_CODES:
            continue
        checks = find_checks(effects.command)
        if effects.exit_code:
            failed |= checks
            changed -= checks
            green = {name: None for name in green if name not in checks}
        else:
            green |= dict.fromkeys(sorted(checks & changed))
            failed -= checks
            changed -= checks
    if green and not failed:
        note = f"{', '.join(green)} failed and passes now"
        yield Signal(target="this", reward=1, weight=TESTS_WEIGHT, source="tests", note=note)


def _find_revert(turn: Sequence[Message], before: Sequence[Message]) -> Iterator[Signal]:
    """Yield a signal if this turn reverts changes of the previous one, by git, by an edit or by deleting a new file."""
    earlier = list(_list_calls(before))
    files = {
        path
        for _, _, effects in earlier
        for change in effects.changed
        for path in (change.path, change.moved_to)
        if path
    }
    added = {change.path for _, _, effects in earlier for change in effects.changed if change.kind == "add"}
    commits = [commit.hash for _, _, effects in earlier for commit in effects.commits]
    edits = {edit for call, result, _ in earlier if result.ok and (edit := _parse_edit(call))}
    if not files and not commits:
        return
    for call, result, effects in _list_calls(turn):
        note = ""
        if effects.command and effects.exit_code == 0 and is_reverted(effects.command, files, commits):
            note = effects.command
        elif result.ok and (edit := _parse_edit(call)) and (edit[0], edit[2], edit[1]) in edits:
            note = f"{edit[0]} edited back"
        elif deleted := [change.path for change in effects.changed if change.kind == "delete" and change.path in added]:
            note = f"{deleted[0]} deleted again"
        if note:
            note = to_one_line(note, _NOTE_CHARS)
            yield Signal(target="before", reward=-1, weight=REVERT_WEIGHT, source="revert", note=note)
            return


def _list_calls(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, ToolMessage, SideEffects]]:
    """Yield the tool calls with a result, in the order of the results, and their side effects."""
    open_calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            open_calls |= {call.id: call for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and (call := open_calls.pop(message.tool_call_id, None)):
            yield call, message, find_side_effects(call, message)


def _parse_edit(call: ToolCall) -> tuple[str, str, str] | None:
    """Return (path, old text, new text) of a call that replaces one text by another; None for other calls."""
    try:
        given: object = decode_json(call.arguments)
    except msgspec.DecodeError:
        return None
    if not isinstance(given, dict):
        return None
    arguments = cast("dict[str, Any]", given)
    values = tuple(arguments.get(name) for name in ("path", "old_string", "new_string"))
    return cast("tuple[str, str, str]", values) if all(isinstance(value, str) for value in values) else None


QUESTION_CHARS = 80
CONTENT_COMPLAINT_FACTOR = 0.25
"""Factor on the weight of a complaint about the content, for which the style is not the main cause."""
_ABOUT_CONTENT: frozenset[Category] = frozenset(("incorrect_info", "not_helpful"))
# The values of `style_state.DIMENSIONS` towards which a complaint moves the user's taste.
_TARGET_DIMENSIONS: Mapping[Category, Mapping[str, float]] = {
    "too_verbose": {"verbosity": 0.0, "explanation_depth": 0.0, "directness": 1.0},
    "too_brief": {"verbosity": 1.0, "explanation_depth": 1.0, "patience": 1.0},
}


class Noted(Struct, frozen=True, kw_only=True):
    """The result of a rating. learned: change of the answer's style, None without one; changed: the replaced rating."""

    turn: Trajectory
    rating: Rating
    learned: LearnedReward | None = None
    changed: Rating | None = None


class Feedback:
    """Ratings of one project's answers.

    Args:
        redact: removes secrets from the user's text before it is stored.

    Raises:
        UserError: by methods, if there is no answer to rate.
        StorageError, OSError, TimeoutError: by methods, if a file is damaged or cannot be read, written or locked.
    """

    def __init__(
        self,
        trajectories: Trajectories,
        styles: Styles,
        store: SessionStore,
        *,
        session_of: Callable[[], Session | None],
        redact: Callable[[str], str],
        embedder: Embedder | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.trajectories = trajectories
        self._styles = styles
        self._store = store
        self._session_of = session_of
        self._redact = redact
        self._embedder = embedder
        self._clock = clock

    def rate(self, reward: int, *, reason: Category | None = None, text: str = "") -> Noted:
        """Save the user's rating of the last answer of this session, otherwise of the latest answer in the project.

        A second rating of the same answer replaces the first.

        Args:
            reward: −1, 0 or 1.
            reason: derived from the text if None.
            text: the user's comment, up to 300 characters.
        """
        try:
            comment = self._redact(check_rating_text(text.strip()))
        except ValueError as error:
            raise UserError(tr("{error}; shorten it", error=error)) from error
        known = self._find_target()
        if reason is None and comment and reward <= 0:
            reason = infer_reason(comment, self._embedder)
        rating = Rating(message=known.turn.message, at=self._clock(), reward=reward, reason=reason, text=comment)
        return self._save_rating(known, rating)

    def withdraw(self) -> Noted:
        """Withdraw the user's rating of the last answer."""
        known = self._find_target()
        if not _find_rating(known, "you"):
            raise UserError(tr("the last answer has no rating to withdraw"))
        withdrawal = Rating(message=known.turn.message, at=self._clock(), reward=0, withdrawn=True)
        return self._save_rating(known, withdrawal)

    def recent(self, limit: int = 20) -> list[Rated]:
        """Return the turns with the latest ratings, the latest first."""
        rated = [turn for turn in self.trajectories.all() if turn.ratings]
        return sorted(rated, key=lambda turn: -turn.ratings[-1].at)[: max(limit, 0)]

    def end_turn(self, session: Session, status: str) -> list[Noted]:
        """Store a turn that ended, and rate it and the previous one by signals. Does nothing if styles are off."""
        if not self._styles.is_on or not session.is_persistent:
            return []
        turn, before = last_turns(session.messages)
        if not turn:
            return []
        chosen = self._styles.current
        trajectory = self._make_trajectory(session, turn[0], status)
        self.trajectories.add(trajectory)
        if chosen is not None:
            self._styles.count_use(chosen.skill.id)
        noted: list[Noted | None] = []
        for signal in find_signals(turn, before):
            message = turn[0].id if signal.target == "this" else before[0].id if before else ""
            known = Rated(turn=trajectory) if signal.target == "this" else self.trajectories.find(message)
            noted.append(self._rate_by_signal(known, signal.reward, signal.weight, signal.source, signal.note))
        return [result for result in noted if result]

    def signal(self, reward: int, weight: float, source: Source, note: str) -> Noted | None:
        """Rate the last answer by a signal. Returns None if styles are off or the user has rated the answer."""
        session = self._session_of()
        if not self._styles.is_on or session is None:
            return None
        turn, _ = last_turns(session.messages)
        known = self.trajectories.find(turn[0].id) if turn else None
        return self._rate_by_signal(known, reward, weight, source, note)

    def _rate_by_signal(
        self, known: Rated | None, reward: int, weight: float, source: Source, note: str
    ) -> Noted | None:
        if known is None or _find_rating(known, "you"):  # the user's own rating is worth more than any signal
            return None
        message, note = known.turn.message, self._redact(note)
        rating = Rating(message=message, at=self._clock(), reward=reward, weight=weight, source=source, note=note)
        return self._save_rating(known, rating)

    def _find_target(self) -> Rated:
        """Return the answer to rate: the last one of this session, or else the latest one of the project."""
        session = self._session_of()
        if session is not None and session.id:
            turn, _ = last_turns(session.messages)
            if not turn or len(turn) == 1:
                raise UserError(tr("there is no answer to rate yet; ask something first"))
            known = self.trajectories.find(turn[0].id)
            return known or Rated(turn=self._make_trajectory(session, turn[0], "", styled=False))
        if (newest := self.trajectories.last()) is not None:
            return newest
        for info in self._store.list():
            if not info.is_conversation or not self._store.is_own(info.id):
                continue  # the answer is another program's, or the session is not the user's
            messages = self._store.read(info.id)
            turn, _ = last_turns(messages)
            if len(turn) > 1:
                question = self._get_question(turn[0])
                return Rated(
                    turn=Trajectory(message=turn[0].id, session=info.id, at=turn[0].created, question=question)
                )
        raise UserError(tr("there is no answer in this project yet; start clio and ask something first"))

    def _save_rating(self, known: Rated, rating: Rating) -> Noted:
        turn = known.turn
        before = _find_rating(known, rating.source)
        # A second rating replaces the first, so the effect of the first is undone before the new one is learned.
        if before is not None and turn.style:
            self._styles.unlearn(turn.bucket, turn.style, before.reward, _get_weight(before))
        new = () if self.trajectories.find(turn.message) else (turn,)
        self.trajectories.add(*new, rating)
        learned = None
        if turn.style and not rating.withdrawn:
            learned = self._styles.learn(turn.bucket, turn.style, rating.reward, _get_weight(rating))
        target = _TARGET_DIMENSIONS.get(rating.reason) if rating.reason else None
        if turn.bucket and target and rating.reward <= 0:
            self._styles.adjust_taste(turn.bucket, target)
        return Noted(turn=turn, rating=rating, learned=learned, changed=before)

    def _make_trajectory(self, session: Session, first: Message, status: str, *, styled: bool = True) -> Trajectory:
        chosen = self._styles.current if styled else None
        return Trajectory(
            message=first.id,
            session=session.id,
            at=self._clock(),
            question=self._get_question(first),
            bucket=chosen.bucket if chosen else "",
            style=chosen.skill.id if chosen else "",
            explored=bool(chosen and chosen.explored),
            status=status,
        )

    def _get_question(self, message: Message) -> str:
        return self._redact(to_one_line(message.content, QUESTION_CHARS))


def last_turns(messages: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """Return the messages of the last turn and of the one before it; empty if there is none."""
    places: list[int] = []
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if is_turn_start(message):
            places.append(place)
            if len(places) == 2:
                break
    if not places:
        return (), ()
    last = places[0]
    return messages[last:], messages[places[1] : last] if len(places) == 2 else ()


def _find_rating(known: Rated, source: Source) -> Rating | None:
    return next((rating for rating in known.ratings if rating.source == source), None)


def _get_weight(rating: Rating) -> float:
    is_about_content = rating.reason in _ABOUT_CONTENT and rating.reward < 0
    return rating.weight * (CONTENT_COMPLAINT_FACTOR if is_about_content else 1.0)
