"""Render the summary of archived messages for the model, and the notes that accompany it after a trim."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clio.context.command_results import FailedTest, TestRun, list_test_selectors
from clio.context.message_views import describe_ranges
from clio.context.summary import (
    AssistantText,
    CommandOutcome,
    Decision,
    FileSummary,
    RunningJob,
    ThreadSummary,
    TrimmedSpan,
    UserRequest,
    merge_summaries,
)
from clio.context.workspace_state import read_git
from clio.messages import Commit
from clio.prompt_files import fill_prompt
from clio.sessions.state import Todo
from clio.text.formatting import format_count, shorten_line, shorten_to_weight, weigh_prose
from clio.text.untrusted_text import quote_lines, to_inert_line
from clio.tokens import TokenEstimator

_TRIES, _MARGIN = 8, 0.98


def fit_text_to_tokens(budget_tokens: int, estimator: TokenEstimator, make: Callable[[float], str]) -> str:
    """Return the longest result of `make` that has at most `budget_tokens`; "" if none is short enough.

    Args:
        estimator: estimates the tokens of a text.
        make: called with the maximum weight of the text (see clio.tokens); returns "" if nothing fits.
    """
    room = budget_tokens * estimator.ratio
    for _ in range(_TRIES):
        text = make(room)
        tokens = estimator.estimate_text(text) if text else 0
        if tokens <= budget_tokens:
            return text
        # Hashes and paths need more tokens than prose, so the weight is reduced in proportion and tried again.
        room *= _MARGIN * budget_tokens / tokens
    return ""


MAX_REQUESTS_TOKENS = 3_000
"""Limit for all user requests together, on any window, unless there are so many that they would not be understood."""
_OPEN, _CLOSE = "<thread_summary>", "</thread_summary>"
_MIN_REQUEST, _MAX_REQUEST = 48, 2_000
_GOOD_REQUEST = 64
"""Weight of a request that is understood. All get it before other sections get more than their minimum."""
_REQUESTS_SHARE = 0.5  # of the space beyond the minimums of the other sections, at most, for that
_FIRST_REQUEST_SHARES = 3  # the first request may be this many times as long as others: it states the purpose
_MIN_REQUESTS, _MIN_FILES, _MIN_TODOS, _MIN_COMMANDS = 200.0, 160.0, 140.0, 120.0
_RESERVED_FIRST = 120.0  # of requests and todos, before any other section gets its minimum
_MIN_ASSISTANT_TEXTS, _MIN_TESTS, _MIN_ATTEMPTS = 160.0, 160.0, 80.0
_MIN_JOBS, _MIN_TODO_NOTES = 80.0, 120.0
_OTHER_MINIMUMS = _MIN_FILES + _MIN_TODOS + _MIN_COMMANDS + _MIN_ASSISTANT_TEXTS + _MIN_TESTS + _MIN_ATTEMPTS
# The newest text of the assistant may be this many times as long as others, because it states how far the work is.
_NEWEST_TEXT_SHARES = 4
_SUBJECT, _COMMAND = 120, 160
_NOTED_TODOS = 8  # completed todos whose notes are given, the last of the list
_HASH_NOTE = 24.0
_SHOWN_SPANS = 12
_ITEM = 7.0  # weight of the mark and line break of a list item, in units (see clio.tokens)
_NOTE = 48.0  # weight reserved for a line such as "- (1,234 more in the archive)"


class _Section(Struct, frozen=True, kw_only=True):
    """A part of the text.

    Attributes:
        fit: returns the best text within a weight; "" if nothing fits.
        share: its share of the space that remains after every section has its minimum.
        least: its minimum weight.
        first: the part of its minimum that is allocated before all others if there is not enough space for every
            minimum.
    """

    fit: Callable[[float], str]
    share: float
    least: float = 0.0
    first: float = 0.0


def render_summary(
    summary: ThreadSummary,
    *,
    budget_tokens: int,
    estimator: TokenEstimator,
    todos: Sequence[Todo] = (),
    jobs: Sequence[RunningJob] = (),
    spans: Sequence[TrimmedSpan] = (),
    shown: Collection[str] = (),
    archived: int | None = None,
    later: ThreadSummary | None = None,
) -> str:
    """Return the summary between its tags, at most `budget_tokens` by the estimator; "" if not even the tags fit.

    Args:
        jobs: background commands that still run.
        shown: ids of messages that follow the summary unshortened; their text is not repeated.
        archived: number of messages that are not shown, if smaller than the number summarized.
        later: summary of the messages after these; tests and attempts that succeeded there are not listed as failing.
    """
    if archived is None:
        extent = f"It sums up {format_count(summary.messages, 'message')}."
    else:
        extent = f"{format_count(archived, 'message')} left for the archive; the current request is below."
    requests = _without_repeated([ask for ask in summary.requests if ask.id not in shown])
    most = MAX_REQUESTS_TOKENS * estimator.ratio
    current = summary if later is None else _without_resolved(summary, later)
    return fit_text_to_tokens(
        budget_tokens, estimator, lambda room: _render(current, requests, extent, room, most, todos, jobs, spans)
    )


def _without_resolved(summary: ThreadSummary, later: ThreadSummary) -> ThreadSummary:
    """Return the summary without failing tests and failed attempts that succeeded later."""
    whole = merge_summaries(ThreadSummary(attempts=summary.attempts, runs=summary.runs), later)
    failing = {test.name for test in _still_failing(whole.runs)}
    runs = {
        command: replace(run, failing=tuple(test for test in run.failing if test.name in failing))
        for command, run in summary.runs.items()
    }
    attempts = {key: why for key, why in summary.attempts.items() if whole.attempts.get(key, why)}
    return replace(summary, attempts=attempts, runs=runs)


def _render(
    summary: ThreadSummary,
    requests: Sequence[UserRequest],
    extent: str,
    room: float,
    max_requests: float,
    todos: Sequence[Todo],
    jobs: Sequence[RunningJob],
    spans: Sequence[TrimmedSpan],
) -> str:
    """Return the text within weight `room`; "" if not even the tags fit.

    max_requests: maximum weight of the requests.
    """
    frame = fill_prompt("context/thread_summary", messages=extent)
    left = room - weigh_prose(f"{_OPEN}\n{frame}\n{_CLOSE}")
    if left < 0:
        return ""
    hashes = _HASH_NOTE + _NOTE + sum(len(commit.hash[:8]) + 1 for commit in summary.commits)
    failing = _still_failing(summary.runs)
    for_requests = _REQUESTS_SHARE * (left - _OTHER_MINIMUMS)
    good_requests = min(_weigh_good_requests(requests), for_requests)
    max_requests = max(max_requests, good_requests)
    main_sections = (
        _Section(
            fit=lambda units: _render_requests(requests, min(units, max_requests)),
            share=9,
            least=max(_MIN_REQUESTS, good_requests),
            first=_RESERVED_FIRST,
        ),
        _Section(fit=lambda units: _render_decisions(summary.decisions, units), share=3),
        _Section(
            fit=lambda units: _render_assistant_texts("Answers of the assistant:", summary.answers, units), share=3
        ),
        _Section(
            fit=lambda units: _render_assistant_texts("What the assistant said while it worked:", summary.notes, units),
            share=3,
            least=_MIN_ASSISTANT_TEXTS,
        ),
        _Section(fit=lambda units: _render_commits(summary.commits, units), share=4, least=min(hashes, left / 2)),
        _Section(fit=lambda units: _render_files(summary, units), share=6, least=_MIN_FILES),
        _Section(fit=lambda units: _render_failing_tests(failing, units), share=3, least=_MIN_TESTS),
        _Section(fit=lambda units: _render_attempts(summary.attempts, units), share=2, least=_MIN_ATTEMPTS),
        _Section(fit=lambda units: _render_commands(summary, units), share=3, least=_MIN_COMMANDS),
        _Section(fit=lambda units: _render_jobs(jobs, units), share=2, least=_MIN_JOBS),
        _Section(fit=lambda units: _render_todos(todos, units), share=3, least=_MIN_TODOS, first=_RESERVED_FIRST),
        _Section(fit=lambda units: _render_completed_notes(todos, units), share=3, least=_MIN_TODO_NOTES),
    )
    # The handles give access to everything else, so space for their shortest form is reserved after requests and todos.
    handles = weigh_prose(_render_spans(spans, 0.0)) + 1 if spans else 0.0
    first = (weigh_prose(section.fit(section.first)) + 1 for section in main_sections if section.first)
    if handles > left - sum(first):
        spans, handles = (), 0.0
    rest = (
        _Section(fit=lambda units: _render_spans(spans, units), share=3, least=handles),
        _Section(fit=lambda units: _render_tools(summary, units), share=1),
        _Section(fit=lambda units: _render_read_files(summary, units), share=1),
    )
    texts = _divide_space(main_sections, left - handles)
    texts += _divide_space(rest, left - sum(weigh_prose(text) + 1 for text in texts))
    return "\n".join([_OPEN, frame, *texts, _CLOSE])


def _divide_space(sections: Sequence[_Section], total: float) -> list[str]:
    """Return the sections' texts within a total weight, by share; what one section does not need goes to the others."""
    texts = [section.fit(total - 1) for section in sections]
    needs = [weigh_prose(text) + 1 if text else 0.0 for text in texts]
    least = [min(section.least, need) for section, need in zip(sections, needs, strict=True)]
    free = max(total, 0.0)
    first = [min(section.first, need) for section, need in zip(sections, needs, strict=True)]
    # The shortest first, because one whole section is more useful than half of each.
    for index in sorted(range(len(first)), key=first.__getitem__):
        first[index] = min(first[index], free)
        free -= first[index]
    reserved = sum(least) - sum(first)
    scale = min(1.0, free / reserved) if reserved > 0 else 0.0
    least = [initial + scale * (section - initial) for initial, section in zip(first, least, strict=True)]
    free -= scale * reserved
    unsatisfied: list[int] = [index for index, need in enumerate(needs) if need > 0]
    while unsatisfied:
        part = free / sum(sections[index].share for index in unsatisfied)
        satisfied: list[int] = [
            index for index in unsatisfied if needs[index] - least[index] <= part * sections[index].share
        ]
        if not satisfied:
            for index in unsatisfied:
                texts[index] = sections[index].fit(least[index] + part * sections[index].share - 1)
            break
        free -= sum(needs[index] - least[index] for index in satisfied)
        unsatisfied = [index for index in unsatisfied if index not in satisfied]
    return [text for text in texts if text]


def _without_repeated(requests: Sequence[UserRequest]) -> tuple[UserRequest, ...]:
    """Return the requests without those that were made again later in the same words, such as "continue"."""
    newest = {request.text: request for request in requests}
    return tuple(request for request in requests if newest[request.text] is request or request is requests[0])


def _weigh_good_requests(requests: Sequence[UserRequest]) -> float:
    """Return the weight of all requests at a length at which they are understood."""
    return _NOTE + sum(min(weigh_prose(quote_lines(request.text)), _GOOD_REQUEST) + _ITEM for request in requests)


def _render_requests(requests: Sequence[UserRequest], units: float) -> str:
    """Return all requests, shortened to the same length.

    If there is not enough space even so, the oldest ones except the first are omitted.
    """
    title = "Requests of the user:"
    if not requests:
        return ""
    room = units - len(title) - 1
    first, later = quote_lines(requests[0].text), [quote_lines(request.text) for request in reversed(requests[1:])]
    left = room - _ITEM - min(weigh_prose(first), _FIRST_REQUEST_SHARES * _MIN_REQUEST)
    texts = [first, *_select_fitting(later, left)]
    if len(texts) < len(requests):
        texts, room = [first, *_select_fitting(later, left - _NOTE)], room - _NOTE
    missing = len(requests) - len(texts)
    lines = _shorten_evenly(texts, room, first=_FIRST_REQUEST_SHARES)
    if missing and lines:
        lines.insert(1, f"- ({missing:,} more in the archive)")
    return "\n".join([title, *lines]) if lines else ""


def _render_assistant_texts(title: str, assistant_texts: Sequence[AssistantText], units: float) -> str:
    """Return the newest texts of the assistant, oldest first, shortened to the same length; the last may be longer."""
    room = units - len(title) - 1
    texts = _select_fitting((quote_lines(each.text) for each in reversed(assistant_texts)), room)
    lines = _shorten_evenly(texts[::-1], room, first=_NEWEST_TEXT_SHARES)[::-1]
    return "\n".join([title, *lines]) if lines else ""


def _render_decisions(decisions: Sequence[Decision], units: float) -> str:
    title = "Questions to the user, with the answers:"
    room = units - len(title) - 1 - _NOTE
    newest_texts = (
        text
        for decision in reversed(decisions)
        for text in (quote_lines(decision.answer) or "(none)", quote_lines(decision.question))
    )
    texts = _select_fitting(newest_texts, room)
    lines = _shorten_evenly(texts[len(texts) % 2 :], room)  # an answer is omitted if its question does not fit
    if not lines:
        return ""
    missing = len(decisions) - len(lines) // 2
    pairs = [line if index % 2 == 0 else f"  → {line[2:]}" for index, line in enumerate(lines)]
    return "\n".join([title, *([f"- ({missing:,} earlier in the archive)"] if missing else []), *pairs])


def _select_fitting(newest_first: Iterable[str], units: float) -> list[str]:
    """Return as many of the newest texts as fit as list items at minimum length; oldest first."""
    texts: list[str] = []
    for text in newest_first:
        units -= min(weigh_prose(text), _MIN_REQUEST) + _ITEM
        if units < 0:
            break
        texts.append(text)
    return texts[::-1]


def _shorten_evenly(texts: Sequence[str], units: float, first: int = 1) -> list[str]:
    """Return the texts as list items, shortened to the same weight so that all fit; empty if that is impossible.

    first: how many times as much weight the first text may have.
    """
    sizes = [weigh_prose(text) for text in texts]
    shares = [first if index == 0 else 1 for index in range(len(texts))]
    room = units - _ITEM * len(texts)
    low, high = 0, _MAX_REQUEST * 4
    while low < high:
        middle = (low + high + 1) // 2
        fits = sum(min(size, middle * share) for size, share in zip(sizes, shares, strict=True)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    cuts = [shorten_to_weight(text, low * share) for text, share in zip(texts, shares, strict=True)]
    return [f"- {text}" for text in cuts] if any(cuts) else []


def _render_commits(commits: Sequence[Commit], units: float) -> str:
    """Return the newest commits with subjects and the older ones by hash.

    If not even the hashes fit, only the first hash and the newest ones are given.
    """
    if not commits:
        return ""
    title = "Commits, oldest first:"
    hashes = [to_inert_line(commit.hash)[:8] for commit in commits]
    room = units - len(title) - _HASH_NOTE - sum(len(name) + 1 for name in hashes)
    if room < 0:
        return _commit_range(hashes, units)
    subjects: list[str] = []
    for commit, name in zip(reversed(commits), reversed(hashes), strict=True):
        line = f"- {name} {shorten_to_weight(to_inert_line(commit.subject), _SUBJECT)}"
        room -= weigh_prose(line) - len(name)
        if room < 0:
            break
        subjects.append(line)
    older = hashes[: len(hashes) - len(subjects)]
    head = [f"- {len(older):,} {'earlier' if subjects else 'commits'}: {' '.join(older)}"] if older else []
    return "\n".join([title, *head, *reversed(subjects)])


def _commit_range(hashes: Sequence[str], units: float) -> str:
    line = f"Commits: {len(hashes):,}, from {hashes[0]} to {hashes[-1]}; `git log` lists them"
    if len(line) > units:
        return line[: line.index(";")] if line.index(";") <= units else ""
    last: list[str] = []
    room = units - len(line) - len("; the last: ")
    for name in reversed(hashes):
        room -= len(name) + 1
        if room < 0:
            break
        last.append(name)
    return f"{line}; the last: {' '.join(reversed(last))}" if last else line


def _render_files(summary: ThreadSummary, units: float) -> str:
    lines = (
        f"- {_render_file(path, state)}{_also_read(summary, path)}" for path, state in reversed(summary.files.items())
    )
    return _render_newest("Files changed:", lines, len(summary.files), units)


def _render_file(path: str, state: FileSummary) -> str:
    name = to_inert_line(path)
    if state.is_reverted and not state.committed_lines:
        return f"{name} (changes reverted)"
    match state.kind:
        case "written":
            later = "; later changes reverted" if state.is_reverted else ""
            lines = describe_ranges(tuple(sorted({*state.committed_lines, *state.uncommitted_lines})))
            return f"{name}{f', {lines}' if lines else ''}{later}"
        case "deleted":
            return f"{name} (deleted)"
        case "moved":
            return f"{name} (moved to {to_inert_line(state.moved_to)})" if state.moved_to else f"{name} (moved away)"


def _also_read(summary: ThreadSummary, path: str) -> str:
    lines = describe_ranges(summary.read.get(path, ()))
    return f"; read {lines}" if lines else ""


def _render_read_files(summary: ThreadSummary, units: float) -> str:
    read = [(path, ranges) for path, ranges in summary.read.items() if path not in summary.files]
    lines = (
        f"- {to_inert_line(path)}{f', {describe_ranges(ranges)}' if ranges else ''}" for path, ranges in reversed(read)
    )
    return _render_newest("Files only read:", lines, len(read), units)


def _render_newest(title: str, newest_first: Iterator[str], total: int, units: float) -> str:
    """Return as many of the newest lines as fit, oldest first, below a title; then how many more there are."""
    if not total:
        return ""
    room = units - len(title) - _NOTE
    lines: list[str] = []
    for line in newest_first:
        room -= weigh_prose(line) + 1
        if room < 0:
            break
        lines.append(line)
    if not lines:
        bare = f"{title[:-1]}: {total:,}, listed in the archive"
        return bare if len(bare) <= units else ""
    missing = total - len(lines)
    more = [f"- ({missing:,} more in the archive)"] if missing else []
    return "\n".join([title, *more, *reversed(lines)])


def _still_failing(runs: dict[str, TestRun]) -> list[FailedTest]:
    """Return the tests that failed in their last run, newest run last; each once."""
    failing: dict[str, FailedTest] = {}
    for command, run in runs.items():
        chosen = list_test_selectors(command)
        again = [name for name in failing if _was_run(name, chosen)]
        for name in again:
            del failing[name]
        failing |= {test.name: test for test in run.failing}
    return list(failing.values())


def _was_run(name: str, chosen: Sequence[str]) -> bool:
    """Whether a run with these selectors (none: everything) included the test of this name."""
    return not chosen or any(each in name or name.partition("::")[0] in each for each in chosen)


def _render_failing_tests(failing: Sequence[FailedTest], units: float) -> str:
    lines = (f"- {_failed_test(test)}" for test in reversed(failing))
    return _render_newest("Failing tests:", lines, len(failing), units)


def _failed_test(test: FailedTest) -> str:
    return to_inert_line(test.name) + (f": {to_inert_line(test.error)}" if test.error else "")


def _render_attempts(attempts: dict[str, str], units: float) -> str:
    by_reason: dict[str, list[str]] = {}  # a failed patch is one attempt per file; they are joined by reason
    for what, why in attempts.items():
        if why:
            by_reason.setdefault(why, []).append(to_inert_line(what))
    failed = list(by_reason.items())
    lines = (f"- {'; '.join(what)}: {to_inert_line(why)}" for why, what in reversed(failed))
    return _render_newest("Failed and not fixed in this part:", lines, len(failed), units)


def _render_commands(summary: ThreadSummary, units: float) -> str:
    """Return the last command with its last line of output, and the earlier ones as far as there is space."""
    outcome = summary.outcome
    if outcome is None:
        return ""
    head = f"Last command: exit {outcome.exit_code}: "
    run = summary.runs.get(outcome.command)
    last_line = run.counts if run is not None else outcome.last_line
    command = shorten_to_weight(to_inert_line(outcome.command), (units - len(head)) * (0.7 if last_line else 1.0))
    if not command:
        return ""
    text = head + command
    if last_line:
        shortened_line = shorten_to_weight(to_inert_line(last_line), units - weigh_prose(text) - 5)
        text += f"\n  | {shortened_line}" if shortened_line else ""
    earlier_commands = list(summary.commands.values())[:-1]
    earlier = (
        _render_earlier_commands(earlier_commands, summary.runs, units - weigh_prose(text) - 1)
        if earlier_commands
        else ""
    )
    return f"{earlier}\n{text}" if earlier else text


def _render_earlier_commands(commands: Sequence[CommandOutcome], runs: dict[str, TestRun], units: float) -> str:
    """Return the exit code of each command, and the last line that failed commands and test runs printed.

    Test runs that seem to have succeeded are included, because a pipe can hide their exit code.
    """
    title = "Earlier commands:"
    room = units - len(title)
    lines: list[str] = []
    for outcome in reversed(commands):
        run = runs.get(outcome.command)
        result = run.counts if run is not None else outcome.last_line if outcome.exit_code else ""
        result_suffix = f": {to_inert_line(result)}" if result else ""
        line = f"- exit {outcome.exit_code}: {shorten_line(to_inert_line(outcome.command), _COMMAND)}{result_suffix}"
        room -= weigh_prose(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join([title, *reversed(lines)]) if lines else ""


def _render_todos(todos: Sequence[Todo], units: float) -> str:
    still_open = [todo for todo in todos if todo.status != "completed"]
    if not still_open:
        return ""
    title = f"Open todos ({len(todos) - len(still_open)} of {len(todos)} done):"
    texts = [f"{todo.id}. {_todo(todo)}" for todo in sorted(still_open, key=lambda todo: todo.status != "in_progress")]
    room = units - len(title) - 1
    fitting = _select_fitting(texts, room)[::-1]
    if len(fitting) < len(texts):
        room -= _NOTE
        fitting = _select_fitting(texts, room)[::-1]
    lines = _shorten_evenly(fitting, room)
    if not lines:
        return ""
    missing = len(texts) - len(lines)
    return "\n".join([title, *lines, *([f"- ({missing:,} more in the list of todos)"] if missing else [])])


def _todo(todo: Todo) -> str:
    state = "" if todo.status == "pending" else f"[{todo.status.replace('_', ' ')}] "
    return state + to_inert_line(todo.title) + (f" ({to_inert_line(todo.note)})" if todo.note else "")


def _render_completed_notes(todos: Sequence[Todo], units: float) -> str:
    """Return the notes of the last completed todos, which hold what was found, as far as there is space."""
    noted = [todo for todo in todos if todo.status == "completed" and todo.note.strip()][-_NOTED_TODOS:]
    title = "Notes of completed todos:"
    texts = [f"{todo.id}. {to_inert_line(todo.title)}: {to_inert_line(todo.note)}" for todo in reversed(noted)]
    room = units - len(title) - 1
    lines = _shorten_evenly(_select_fitting(texts, room), room)
    return "\n".join([title, *lines]) if lines else ""


def _render_jobs(jobs: Sequence[RunningJob], units: float) -> str:
    """Return the name and command of each background job; the oldest are omitted if there is not enough space."""
    title = "Background jobs still running (read with job_output):"
    room = units - len(title) - 1
    texts = [f"{job.name}: {shorten_line(to_inert_line(job.command), _COMMAND)}" for job in reversed(jobs)]
    lines = _shorten_evenly(_select_fitting(texts, room), room)
    return "\n".join([title, *lines]) if lines else ""


def _render_tools(summary: ThreadSummary, units: float) -> str:
    used = sorted(summary.tools.items(), key=lambda item: (-item[1], item[0]))
    text = "Tool calls: " + (_tool_counts(used) or "none that worked")
    failed = sorted(summary.failed.items(), key=lambda item: (-item[1], item[0]))
    text += f"; failed: {_tool_counts(failed)}" if failed else ""
    return text if (used or failed) and weigh_prose(text) <= units else ""


def _tool_counts(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{shorten_line(to_inert_line(name), 60)} {count:,}" for name, count in counts)


def _render_spans(spans: Sequence[TrimmedSpan], units: float) -> str:
    """Return the handles of archived stretches, the newest with a description as far as there is space.

    The first line is returned even if it exceeds `units`.
    """
    if not spans:
        return ""
    names = spans[0].handle if len(spans) == 1 else f"{spans[0].handle} to {spans[-1].handle}"
    how = f'memory_operations(operation="read_messages", handle="{spans[-1].handle}")'
    head = f"Archived: {names}; {how} gives the messages word for word"
    room = units - weigh_prose(head)
    lines: list[str] = []
    for span in reversed(spans[-_SHOWN_SPANS:]):
        first_words = shorten_line(to_inert_line(span.first_words), 80)
        again = f", {span.again:,} of them listed before" if span.again else ""
        line = f"- {span.handle}: {format_count(span.messages, 'message')}{again}" + (
            f", from: {first_words}" if first_words else ""
        )
        room -= weigh_prose(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join([head, *reversed(lines)])


MAX_PROGRESS_AGE_S = 2 * 3_600.0
"""An older progress page is not shown to the model: the work has probably moved on."""
_CLOCK_SLACK_S = 60.0
_TASK_UNITS, _LINE_UNITS, _MAX_LISTED = 2_000.0, 300.0, 40
_NOTE_HEADER = re.compile(r"\A# [^\n]*\n\nsession: (?P<session>\S+)\ntime: (?P<time>\S+)\n\n?(?P<rest>.*)", re.S)
_MARKS = {"completed": "x", "in_progress": ">", "blocked": "!"}


def render_progress_page(
    *,
    session: str,
    now: float,
    summary: ThreadSummary,
    todos: Sequence[Todo] = (),
    task: str = "",
    git: str = "",
) -> str:
    """Return the progress page for the whole session so far.

    Args:
        summary: of all messages, trimmed or not.
        git: the text of `GitActivity`; "" outside a repository.
    """
    sections = (
        ("Task", shorten_to_weight(quote_lines(task), _TASK_UNITS)),
        ("Todos", "\n".join(f"- [{_MARKS.get(todo.status, ' ')}] {todo.id}. {_todo_line(todo)}" for todo in todos)),
        ("Files changed", _render_list([_changed(path, state) for path, state in summary.files.items()])),
        ("Commits", _render_list([f"{commit.hash} {to_inert_line(commit.subject)}" for commit in summary.commits])),
        ("Last command", _outcome(summary)),
        ("Tool calls", ", ".join(f"{to_inert_line(name)} {count}" for name, count in summary.tools.items())),
        ("Git", git.strip()),
    )
    text = "\n\n".join(f"## {title}\n{body}" for title, body in sections if body)
    time = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    return fill_prompt("context/session_progress", session=session, time=time, sections=text) + "\n"


def read_fresh_progress(page: str, *, session: str, now: float) -> tuple[str, float] | None:
    """Return the sections of a progress page and its age in seconds.

    None if it belongs to another session, is too old, or is another page.
    """
    head = _NOTE_HEADER.match(page.replace("\r\n", "\n"))
    if head is None or head["session"] != session:
        return None
    try:
        age = now - datetime.fromisoformat(head["time"]).timestamp()
    except ValueError:
        return None
    return (head["rest"].strip(), max(age, 0.0)) if -_CLOCK_SLACK_S <= age < MAX_PROGRESS_AGE_S else None


def _changed(path: str, state: FileSummary) -> str:
    return f"{to_inert_line(path)} ({'reverted' if state.is_reverted else state.kind})"


def _todo_line(todo: Todo) -> str:
    return to_inert_line(todo.title) + (f" ({to_inert_line(todo.note)})" if todo.note else "")


def _render_list(lines: Sequence[str]) -> str:
    more = [f"- ({len(lines) - _MAX_LISTED} more before)"] if len(lines) > _MAX_LISTED else []
    return "\n".join([*more, *(f"- {shorten_to_weight(line, _LINE_UNITS)}" for line in lines[-_MAX_LISTED:])])


def _outcome(summary: ThreadSummary) -> str:
    outcome = summary.outcome
    return (
        f"exit {outcome.exit_code}: {shorten_to_weight(to_inert_line(outcome.command), _LINE_UNITS)}" if outcome else ""
    )


MAX_COMMITS, MAX_FILES = 10, 20
_PROGRESS_SHARE = 0.5  # of the note's budget: most of it is already in the summary


class GitActivity(Struct, frozen=True, kw_only=True):
    """State of a repository. changed: lines of the short status. commits: "hash subject", newest first."""

    branch: str = ""
    changed: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One fact per line; file names and subjects cannot forge a line or a tag."""
        files = [f"  {line[:3]}{to_inert_line(line[3:])}" for line in self.changed[:MAX_FILES]]
        more = [f"  ({len(self.changed) - MAX_FILES:,} more)"] if len(self.changed) > MAX_FILES else []
        head = f"branch {to_inert_line(self.branch)}, {len(self.changed):,} changed files"
        commits = (
            ["last commits:", *(f"  {to_inert_line(line)}" for line in self.commits[:MAX_COMMITS])]
            if self.commits
            else []
        )
        return "\n".join([head, *files, *more, *commits])


def read_git_activity(project: Path) -> GitActivity | None:
    """Return status and newest commits of a working tree; None outside git, without git, or if it takes too long.

    Blocks for two short git commands; call it in a thread.
    """
    status = read_git(project, "status", "--porcelain", "--branch")
    if status is None:
        return None
    log = read_git(project, "log", f"--max-count={MAX_COMMITS}", "--pretty=format:%h %s")
    head, *changed = status.splitlines() or [""]
    branch = head.removeprefix("## ").removeprefix("No commits yet on ").split("...")[0]
    return GitActivity(branch=branch, changed=tuple(changed), commits=tuple((log or "").splitlines()))


def render_recovery_note(
    *,
    estimator: TokenEstimator,
    budget_tokens: int,
    git: GitActivity | None = None,
    progress: str = "",
    session: str = "",
    now: float = 0.0,
) -> str:
    """Return the note to put below the summary in the same message; "" if it would be empty or does not fit.

    Task, todos, commits and files of the conversation are in the summary and are not repeated.

    Args:
        progress: the stored `session_progress` page; used only if it belongs to this session and is recent.
    """
    parts = [git.text] if git else []
    found = read_fresh_progress(progress, session=session, now=now) if progress else None
    if found:
        text, age_s = found
        parts.append(f"progress noted {format_count(round(age_s / 60), 'minute')} before:\n  | {quote_lines(text)}")
    frame = weigh_prose(fill_prompt("context/recovery", state=""))
    return fit_text_to_tokens(budget_tokens, estimator, lambda room: _render_fitted(parts, room - frame))


def _render_fitted(parts: list[str], room: float) -> str:
    """Return the note within a weight. The first part gets the space that the second does not need."""
    shown = list(parts)
    if len(shown) == 2:
        shown[1] = shorten_to_weight(shown[1], max(room * _PROGRESS_SHARE, room - weigh_prose(shown[0]) - 1))
        room -= weigh_prose(shown[1]) + 1
    shown[:1] = [shorten_to_weight(part, room) for part in shown[:1]]
    state = "\n".join(part for part in shown if part)
    return fill_prompt("context/recovery", state=state) if state else ""
