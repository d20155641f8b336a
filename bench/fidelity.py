"""What a request still states after a trim: requests, commits, files, decisions and the last command."""

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.histories import generated, stored, window_of
from bench.transcripts import find_transcripts
from bench.truth import Truth, read_truth
from clio.context.request_builder import BuiltRequest
from clio.errors import ContextOverflow
from clio.messages import Message, message_text
from clio.sessions.session import Session
from clio.tokens import TokenEstimator, message_units

_SMALLEST = 4_096  # tokens: no model has a smaller window, so the shortest sessions keep more than a quarter
_SAID = 40  # characters of a request, an answer or a command that must stand in the request to count as stated


class Scores(Struct, frozen=True, kw_only=True):
    """Of each kind how many are stated, and how many there are; `kept` is the share of the tokens that is left."""

    name: str
    kept: float
    asks: tuple[int, int]
    first: tuple[int, int]
    task: tuple[int, int]
    commits: tuple[int, int]
    written: tuple[int, int]
    decisions: tuple[int, int]
    outcome: tuple[int, int]


_COLUMNS = ("asks", "first", "task", "commits", "written", "decisions", "outcome")


def fidelity(folder: Path | None) -> None:
    """Print the table for the transcripts of a folder, if one is given, and for generated sessions."""
    print("\n### What the request still states after a trim to a quarter\n")
    print("| session | kept | requests | first request | task | commits | files written | decisions | last command |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    found = find_transcripts(folder) if folder else []
    total("all real ones", [scores(path.name, transcript.messages, read_truth(path)) for path, transcript in found])
    if found:
        keep_requests([transcript.messages for _, transcript in found], [read_truth(path) for path, _ in found])
    made = [scores(f"generated, {turns} turns", *generated(turns, turns)) for turns in (20, 60, 200)]
    total("all generated ones", made)


def keep_requests(sessions: Sequence[Sequence[Message]], truths: Sequence[Truth]) -> None:
    """Print how many different requests are stated if all sessions are one, in windows of two sizes."""
    messages = [replace(one, id=f"{number:03}{one.id[3:]}") for number, own in enumerate(sessions) for one in own]
    asks = list(dict.fromkeys(flat(ask)[:_SAID] for truth in truths for ask in truth.asks))
    for size in (32_000, 128_000):
        with tempfile.TemporaryDirectory() as folder:
            built = window_of(stored(messages, Path(folder)), size).build()
        said = flat("\n".join(map(message_text, built.request.messages)).replace('\\"', '"'))
        have, there = stated(asks, said)
        print(f"| all in one session, window of {size:,} | – | {have} of {there} |  |  |  |  |  |  |")


def total(name: str, rows: Sequence[Scores]) -> None:
    """Print the lines of some sessions, and of all of them together."""
    for one in rows:
        print_scores(one.name, one.kept, [getattr(one, column) for column in _COLUMNS])
    if rows:
        sums = [[sum(getattr(one, column)[part] for one in rows) for part in (0, 1)] for column in _COLUMNS]
        print_scores(f"**{name}**", statistics.mean(one.kept for one in rows), [(one[0], one[1]) for one in sums])


def print_scores(name: str, kept: float, found: Sequence[tuple[int, int]]) -> None:
    """Print one line."""
    cells = [f"{have} of {there}" if there else "–" for have, there in found]
    print(f"| {name.removesuffix('.traj.json').removesuffix('.md')} | {kept:.0%} | {' | '.join(cells)} |")


def scores(name: str, messages: Sequence[Message], truth: Truth) -> Scores:
    """Trim a session until a quarter of it is left, and look what the request says."""
    estimator = TokenEstimator()
    tokens = estimator.convert_units(sum(map(message_units, messages)))
    with tempfile.TemporaryDirectory() as folder:
        session = stored(messages, Path(folder))
        built = quarter(session, tokens)
        said = flat("\n".join(map(message_text, built.request.messages)).replace('\\"', '"'))  # as JSON has it in calls
    return Scores(
        name=name,
        kept=estimator.convert_units(built.conversation) / tokens,
        asks=stated(truth.asks, said),
        first=stated(truth.asks[:1], said),
        task=stated(truth.asks[-1:], said),
        commits=stated(truth.commits, said),
        written=stated(truth.written, said),
        decisions=stated(truth.decisions, said),
        outcome=stated((truth.outcome,) if truth.outcome else (), said),
    )


def quarter(session: Session, tokens: int) -> BuiltRequest:
    """The request in a window of which a quarter of the session is the half that a trim leaves."""
    size = max(tokens / 2 / (1 - 0.125), _SMALLEST)  # an eighth of the window is kept for the answer
    while True:
        try:
            return window_of(session, int(size)).build()
        except ContextOverflow:
            size *= 1.1  # the user's own words need more than that


def stated(texts: Sequence[str], said: str) -> tuple[int, int]:
    """How many of the texts begin somewhere in what is said as they do in truth; a path and a hash count whole."""
    short = [each if "/" in each and " " not in each else each[:_SAID] for each in map(flat, texts)]
    return sum(each in said for each in short), len(texts)


def flat(text: str) -> str:
    """The text on one line, the marks of quoted lines taken out."""
    return " ".join(text.replace("\n  | ", " ").split())
