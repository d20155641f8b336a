"""What a request still states after a trim: requests, commits, files, decisions and the last command."""

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.histories import generate_session, make_window, store_session
from bench.transcripts import find_transcripts
from bench.truth import Truth, read_truth
from clio.context.request_builder import BuiltRequest
from clio.errors import ContextOverflow
from clio.messages import Message, message_text
from clio.sessions.session import Session
from clio.tokens import TokenEstimator, message_units

_SMALLEST = 4_096  # tokens: no model has a smaller window, so the shortest sessions keep more than a quarter
_MATCH_CHARS = 40  # characters at the beginning of a text that must be in the request for the text to count as stated


class Scores(Struct, frozen=True, kw_only=True):
    """The figures of one session: for each kind, how many are stated and how many there are.

    kept: share of the session's tokens that is left.
    """

    name: str
    kept: float
    requests: tuple[int, int]
    first: tuple[int, int]
    task: tuple[int, int]
    commits: tuple[int, int]
    files: tuple[int, int]
    decisions: tuple[int, int]
    last_command: tuple[int, int]


_COLUMNS = ("requests", "first", "task", "commits", "files", "decisions", "last_command")


def print_fidelity(folder: Path | None) -> None:
    """Print the table for the transcripts in a folder, if given, and for generated sessions."""
    print("\n### What the request still states after a trim to a quarter\n")
    print("| session | kept | requests | first request | task | commits | files written | decisions | last command |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    transcripts = find_transcripts(folder) if folder else []
    print_scores_and_total(
        "all recorded sessions",
        [measure_session(path.name, transcript.messages, read_truth(path)) for path, transcript in transcripts],
    )
    if transcripts:
        print_requests_of_one_session(
            [transcript.messages for _, transcript in transcripts], [read_truth(path) for path, _ in transcripts]
        )
    generated = [
        measure_session(f"generated, {turns} turns", *generate_session(turns, turns)) for turns in (20, 60, 200)
    ]
    print_scores_and_total("all generated sessions", generated)


def print_requests_of_one_session(sessions: Sequence[Sequence[Message]], truths: Sequence[Truth]) -> None:
    """Join all sessions into one, and print how many different requests are stated in windows of two sizes."""
    messages = [replace(one, id=f"{number:03}{one.id[3:]}") for number, own in enumerate(sessions) for one in own]
    requests = list(dict.fromkeys(flatten(request)[:_MATCH_CHARS] for truth in truths for request in truth.requests))
    for size in (32_000, 128_000):
        with tempfile.TemporaryDirectory() as folder:
            built = make_window(store_session(messages, Path(folder)), size).build()
        request_text = flatten_request(built)
        count, total = count_stated(requests, request_text)
        print(f"| all in one session, window of {size:,} | – | {count} of {total} |  |  |  |  |  |  |")


def print_scores_and_total(name: str, rows: Sequence[Scores]) -> None:
    """Print a row for each session, and one for their sum."""
    for one in rows:
        print_scores(one.name, one.kept, [getattr(one, column) for column in _COLUMNS])
    if rows:
        sums = [[sum(getattr(one, column)[part] for one in rows) for part in (0, 1)] for column in _COLUMNS]
        print_scores(f"**{name}**", statistics.mean(one.kept for one in rows), [(one[0], one[1]) for one in sums])


def print_scores(name: str, kept: float, counts: Sequence[tuple[int, int]]) -> None:
    """Print one row."""
    cells = [f"{count} of {total}" if total else "–" for count, total in counts]
    print(f"| {name.removesuffix('.traj.json').removesuffix('.md')} | {kept:.0%} | {' | '.join(cells)} |")


def measure_session(name: str, messages: Sequence[Message], truth: Truth) -> Scores:
    """Trim a session to about a quarter, and count what the request still states."""
    estimator = TokenEstimator()
    tokens = estimator.convert_units(sum(map(message_units, messages)))
    with tempfile.TemporaryDirectory() as folder:
        session = store_session(messages, Path(folder))
        built = build_quarter_window(session, tokens)
        request_text = flatten_request(built)
    return Scores(
        name=name,
        kept=estimator.convert_units(built.conversation) / tokens,
        requests=count_stated(truth.requests, request_text),
        first=count_stated(truth.requests[:1], request_text),
        task=count_stated(truth.requests[-1:], request_text),
        commits=count_stated(truth.commits, request_text),
        files=count_stated(truth.files, request_text),
        decisions=count_stated(truth.decisions, request_text),
        last_command=count_stated((truth.last_command,) if truth.last_command else (), request_text),
    )


def build_quarter_window(session: Session, tokens: int) -> BuiltRequest:
    """Build the request in a window of which the half that a trim leaves is a quarter of the session."""
    size = max(tokens / 2 / (1 - 0.125), _SMALLEST)  # an eighth of the window is reserved for the answer
    while True:
        try:
            return make_window(session, int(size)).build()
        except ContextOverflow:
            size *= 1.1  # the user's messages alone need more than that


def count_stated(texts: Sequence[str], request_text: str) -> tuple[int, int]:
    """Return how many texts are in the request, and how many there are.

    Only the first 40 characters of a text are compared, but all of a path or a commit hash.
    """
    short = [each if "/" in each and " " not in each else each[:_MATCH_CHARS] for each in map(flatten, texts)]
    return sum(each in request_text for each in short), len(texts)


def flatten_request(built: BuiltRequest) -> str:
    """Return the text of a request on one line, with the quotes in the arguments of calls unescaped."""
    return flatten("\n".join(map(message_text, built.request.messages)).replace('\\"', '"'))


def flatten(text: str) -> str:
    """Return the text on one line, without the marks of quoted lines."""
    return " ".join(text.replace("\n  | ", " ").split())
