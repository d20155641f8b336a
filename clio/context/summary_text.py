"""A summary of archived messages as the text the model reads, and the notes beside it after a trim."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clio.context.command_results import FailedTest, TestRun, selectors
from clio.context.inert_text import cut, one_line, quoted, shorten_line, weight
from clio.context.message_views import describe_ranges
from clio.context.summary import Ask, Decision, FileState, Outcome, Said, SpanInfo, ThreadSummary, merge
from clio.context.workspace_state import read_git
from clio.messages import Commit
from clio.prompt_files import fill_prompt
from clio.sessions.state import Todo
from clio.text.formatting import format_count
from clio.tokens import TokenEstimator

_TRIES, _MARGIN = 8, 0.98


def within(budget_tokens: int, estimator: TokenEstimator, make: Callable[[float], str]) -> str:
    """What `make` gives, of at most `budget_tokens` by the estimator; empty where it never gets that small.

    make: called with the most the text may weigh, in units (see clio.tokens); "" where nothing fits.
    """
    room = budget_tokens * estimator.ratio
    for _ in range(_TRIES):
        text = make(room)
        tokens = estimator.estimate_text(text) if text else 0
        if tokens <= budget_tokens:
            return text
        # The estimator finds the whole denser than prose, for its hashes and paths: so much less of it fits.
        room *= _MARGIN * budget_tokens / tokens
    return ""


ASKS_TOKENS = 1_500
"""The most that all requests together may take, whatever the window."""
_OPEN, _CLOSE = "<thread_summary>", "</thread_summary>"
_LEAST_ASK, _MOST_ASK = 48, 2_000
_FIRST_ASK_SHARES = 3  # how much longer the first request may be than the others: it says what the work is for
_LEAST_ASKS, _LEAST_FILES, _LEAST_TODOS, _LEAST_COMMANDS = 200.0, 160.0, 140.0, 120.0
_LEAST_WORDS, _LEAST_TESTS, _LEAST_ATTEMPTS = 160.0, 160.0, 80.0
_LAST_WORDS_SHARES = 4  # how much longer the newest words of the assistant may be: they say where the work is
_SUBJECT, _COMMAND = 120, 160
_HASH_NOTE = 24.0
_SHOWN_SPANS = 12
_ITEM = 7.0  # what surrounds one item of a list: the longest mark and the line break, in units
_NOTE = 48.0  # weight kept for a line such as "- (1,234 more in the archive)"


class _Section(Struct, frozen=True, kw_only=True):
    """A part of the text.

    fit: the best text within a weight, empty where nothing fits. least: the weight that is its own before the rest is
    divided by share.
    """

    fit: Callable[[float], str]
    share: float
    least: float = 0.0


def render_summary(
    summary: ThreadSummary,
    *,
    budget_tokens: int,
    estimator: TokenEstimator,
    todos: Sequence[Todo] = (),
    spans: Sequence[SpanInfo] = (),
    shown: Collection[str] = (),
    archived: int | None = None,
    later: ThreadSummary | None = None,
) -> str:
    """The summary between its tags, at most `budget_tokens` by the estimator; empty if not even the frame fits.

    shown: ids of messages the reader sees whole behind the summary; their words are not repeated. archived: how many
    messages are not shown, where those are fewer than it sums up. later: what happened behind it; a test or an attempt
    that succeeded there is not listed as failing.
    """
    if archived is None:
        extent = f"It sums up {format_count(summary.messages, 'message')}."
    else:
        extent = f"{format_count(archived, 'message')} left for the archive; the current request is below."
    asks = tuple(ask for ask in summary.asks if ask.id not in shown)
    most = ASKS_TOKENS * estimator.ratio
    current = summary if later is None else _without_resolved(summary, later)
    return within(budget_tokens, estimator, lambda room: _render(current, asks, extent, room, most, todos, spans))


def _without_resolved(summary: ThreadSummary, later: ThreadSummary) -> ThreadSummary:
    """The summary without the failing tests and the failed attempts that succeeded later."""
    whole = merge(ThreadSummary(attempts=summary.attempts, runs=summary.runs), later)
    failing = {test.name for test in _still_failing(whole.runs)}
    runs = {
        command: replace(run, failing=tuple(test for test in run.failing if test.name in failing))
        for command, run in summary.runs.items()
    }
    attempts = {key: why for key, why in summary.attempts.items() if whole.attempts.get(key, why)}
    return replace(summary, attempts=attempts, runs=runs)


def _render(
    summary: ThreadSummary,
    asks: Sequence[Ask],
    extent: str,
    room: float,
    most_asks: float,
    todos: Sequence[Todo],
    spans: Sequence[SpanInfo],
) -> str:
    """The text of at most this weight, empty if not even the frame fits. most_asks: what the requests may weigh."""
    frame = fill_prompt("context/thread_summary", messages=extent)
    left = room - weight(f"{_OPEN}\n{frame}\n{_CLOSE}")
    if left < 0:
        return ""
    hashes = _HASH_NOTE + _NOTE + sum(len(commit.hash[:8]) + 1 for commit in summary.commits)
    failing = _still_failing(summary.runs)
    must = (
        _Section(fit=lambda units: _asks(asks, min(units, most_asks)), share=9, least=_LEAST_ASKS),
        _Section(fit=lambda units: _decisions(summary.decisions, units), share=3),
        _Section(fit=lambda units: _words("Answers of the assistant:", summary.answers, units), share=3),
        _Section(
            fit=lambda units: _words("What the assistant said while it worked:", summary.notes, units),
            share=3,
            least=_LEAST_WORDS,
        ),
        _Section(fit=lambda units: _commits(summary.commits, units), share=4, least=min(hashes, left / 2)),
        _Section(fit=lambda units: _files(summary, units), share=6, least=_LEAST_FILES),
        _Section(fit=lambda units: _failing(failing, units), share=3, least=_LEAST_TESTS),
        _Section(fit=lambda units: _attempts(summary.attempts, units), share=2, least=_LEAST_ATTEMPTS),
        _Section(fit=lambda units: _commands(summary, units), share=3, least=_LEAST_COMMANDS),
        _Section(fit=lambda units: _todos(todos, units), share=3, least=_LEAST_TODOS),
    )
    # The handles are what brings the rest back: their shortest form comes before anything that can be shortened.
    handles = weight(_spans(spans, 0.0)) + 1 if spans else 0.0
    if handles > left:
        spans, handles = (), 0.0
    rest = (
        _Section(fit=lambda units: _spans(spans, units), share=3, least=handles),
        _Section(fit=lambda units: _tools(summary, units), share=1),
        _Section(fit=lambda units: _read(summary, units), share=1),
    )
    said = _share_out(must, left - handles)
    said += _share_out(rest, left - sum(weight(text) + 1 for text in said))
    return "\n".join([_OPEN, frame, *said, _CLOSE])


def _share_out(sections: Sequence[_Section], total: float) -> list[str]:
    """The texts of the sections within a weight, by share; what one does not need goes to the others."""
    texts = [section.fit(total - 1) for section in sections]
    needs = [weight(text) + 1 if text else 0.0 for text in texts]
    reserved = sum(section.least for section in sections)
    scale = min(1.0, max(total, 0.0) / reserved) if reserved else 0.0
    least = [min(section.least * scale, need) for section, need in zip(sections, needs, strict=True)]
    free = total - sum(least)
    hungry: list[int] = [index for index, need in enumerate(needs) if need > 0]
    while hungry:
        part = free / sum(sections[index].share for index in hungry)
        fed: list[int] = [index for index in hungry if needs[index] - least[index] <= part * sections[index].share]
        if not fed:
            for index in hungry:
                texts[index] = sections[index].fit(least[index] + part * sections[index].share - 1)
            break
        free -= sum(needs[index] - least[index] for index in fed)
        hungry = [index for index in hungry if index not in fed]
    return [text for text in texts if text]


def _asks(asks: Sequence[Ask], units: float) -> str:
    """All requests, each cut to the longest length at which all fit; the oldest after the first go if none does."""
    title = "Requests of the user:"
    if not asks:
        return ""
    room = units - len(title) - 1 - _NOTE
    first = quoted(asks[0].text)
    later = (quoted(ask.text) for ask in reversed(asks[1:]))
    texts = [first, *_that_fit(later, room - _ITEM - min(weight(first), _FIRST_ASK_SHARES * _LEAST_ASK))]
    missing = len(asks) - len(texts)
    lines = _evenly(texts, room, first=_FIRST_ASK_SHARES)
    if missing and lines:
        lines.insert(1, f"- ({missing:,} more in the archive)")
    return "\n".join([title, *lines]) if lines else ""


def _words(title: str, said: Sequence[Said], units: float) -> str:
    """The newest words of the assistant, oldest first, cut evenly; the last is the longest."""
    room = units - len(title) - 1
    texts = _that_fit((quoted(each.text) for each in reversed(said)), room)
    lines = _evenly(texts[::-1], room, first=_LAST_WORDS_SHARES)[::-1]
    return "\n".join([title, *lines]) if lines else ""


def _decisions(decisions: Sequence[Decision], units: float) -> str:
    title = "Questions to the user, with the answers:"
    room = units - len(title) - 1 - _NOTE
    said = (text for one in reversed(decisions) for text in (quoted(one.answer) or "(none)", quoted(one.question)))
    texts = _that_fit(said, room)
    lines = _evenly(texts[len(texts) % 2 :], room)  # an answer whose question did not fit goes with it
    if not lines:
        return ""
    missing = len(decisions) - len(lines) // 2
    pairs = [line if index % 2 == 0 else f"  → {line[2:]}" for index, line in enumerate(lines)]
    return "\n".join([title, *([f"- ({missing:,} earlier in the archive)"] if missing else []), *pairs])


def _that_fit(newest_first: Iterator[str], units: float) -> list[str]:
    """As many of the newest texts as can stand as list items if all are cut to the least length; oldest first."""
    texts: list[str] = []
    for text in newest_first:
        units -= min(weight(text), _LEAST_ASK) + _ITEM
        if units < 0:
            break
        texts.append(text)
    return texts[::-1]


def _evenly(texts: Sequence[str], units: float, first: int = 1) -> list[str]:
    """The texts as list items, all cut to one weight such that they fit; the first may have several times as much."""
    sizes = [weight(text) for text in texts]
    shares = [first if index == 0 else 1 for index in range(len(texts))]
    room = units - _ITEM * len(texts)
    low, high = 0, _MOST_ASK * 4
    while low < high:
        middle = (low + high + 1) // 2
        fits = sum(min(size, middle * share) for size, share in zip(sizes, shares, strict=True)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    cuts = [cut(text, low * share) for text, share in zip(texts, shares, strict=True)]
    return [f"- {text}" for text in cuts] if any(cuts) else []


def _commits(commits: Sequence[Commit], units: float) -> str:
    """The newest with their subjects, those before by hash; where the hashes do not fit, the first and the newest."""
    if not commits:
        return ""
    title = "Commits, oldest first:"
    hashes = [one_line(commit.hash)[:8] for commit in commits]
    room = units - len(title) - _HASH_NOTE - sum(len(name) + 1 for name in hashes)
    if room < 0:
        return _commit_range(hashes, units)
    subjects: list[str] = []
    for commit, name in zip(reversed(commits), reversed(hashes), strict=True):
        line = f"- {name} {cut(one_line(commit.subject), _SUBJECT)}"
        room -= weight(line) - len(name)
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


def _files(summary: ThreadSummary, units: float) -> str:
    lines = (f"- {_file(path, state)}{_also_read(summary, path)}" for path, state in reversed(summary.files.items()))
    return _newest("Files changed:", lines, len(summary.files), units)


def _file(path: str, state: FileState) -> str:
    name = one_line(path)
    if state.is_reverted and not state.kept:
        return f"{name} (changes reverted)"
    match state.kind:
        case "written":
            later = "; later changes reverted" if state.is_reverted else ""
            lines = describe_ranges(tuple(sorted({*state.kept, *state.lines})))
            return f"{name}{f', {lines}' if lines else ''}{later}"
        case "deleted":
            return f"{name} (deleted)"
        case "moved":
            return f"{name} (moved to {one_line(state.moved_to)})" if state.moved_to else f"{name} (moved away)"


def _also_read(summary: ThreadSummary, path: str) -> str:
    lines = describe_ranges(summary.read.get(path, ()))
    return f"; read {lines}" if lines else ""


def _read(summary: ThreadSummary, units: float) -> str:
    read = [(path, ranges) for path, ranges in summary.read.items() if path not in summary.files]
    lines = (f"- {one_line(path)}{f', {describe_ranges(ranges)}' if ranges else ''}" for path, ranges in reversed(read))
    return _newest("Files only read:", lines, len(read), units)


def _newest(title: str, newest_first: Iterator[str], total: int, units: float) -> str:
    """As many of the newest lines as fit, oldest first, under a title that says how many more there are."""
    if not total:
        return ""
    room = units - len(title) - _NOTE
    lines: list[str] = []
    for line in newest_first:
        room -= weight(line) + 1
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
    """The tests that failed when they last ran, newest run last; each once."""
    failing: dict[str, FailedTest] = {}
    for command, run in runs.items():
        chosen = selectors(command)
        again = [name for name in failing if _was_run(name, chosen)]
        for name in again:
            del failing[name]
        failing |= {test.name: test for test in run.failing}
    return list(failing.values())


def _was_run(name: str, chosen: Sequence[str]) -> bool:
    """Whether a run of what was chosen, everything where nothing was, ran a test of this name."""
    return not chosen or any(each in name or name.partition("::")[0] in each for each in chosen)


def _failing(failing: Sequence[FailedTest], units: float) -> str:
    lines = (f"- {_failed_test(test)}" for test in reversed(failing))
    return _newest("Failing tests:", lines, len(failing), units)


def _failed_test(test: FailedTest) -> str:
    return one_line(test.name) + (f": {one_line(test.error)}" if test.error else "")


def _attempts(attempts: dict[str, str], units: float) -> str:
    by_reason: dict[str, list[str]] = {}  # a patch that failed is one attempt for each of its files
    for what, why in attempts.items():
        if why:
            by_reason.setdefault(why, []).append(one_line(what))
    failed = list(by_reason.items())
    lines = (f"- {'; '.join(what)}: {one_line(why)}" for why, what in reversed(failed))
    return _newest("Failed and not made good in this part:", lines, len(failed), units)


def _commands(summary: ThreadSummary, units: float) -> str:
    """The last command with the last line it printed, those before it as far as there is room."""
    outcome = summary.outcome
    if outcome is None:
        return ""
    head = f"Last command: exit {outcome.exit_code}: "
    run = summary.runs.get(outcome.command)
    last_line = run.counts if run is not None else outcome.last_line
    command = cut(one_line(outcome.command), (units - len(head)) * (0.7 if last_line else 1.0))
    if not command:
        return ""
    text = head + command
    if last_line:
        said = cut(one_line(last_line), units - weight(text) - 5)
        text += f"\n  | {said}" if said else ""
    before = list(summary.commands.values())[:-1]
    earlier = _earlier_commands(before, summary.runs, units - weight(text) - 1) if before else ""
    return f"{earlier}\n{text}" if earlier else text


def _earlier_commands(commands: Sequence[Outcome], runs: dict[str, TestRun], units: float) -> str:
    """Exit codes, and what each failed command or test run said; a pipe can hide the exit code of a test run."""
    title = "Earlier commands:"
    room = units - len(title)
    lines: list[str] = []
    for outcome in reversed(commands):
        run = runs.get(outcome.command)
        result = run.counts if run is not None else outcome.last_line if outcome.exit_code else ""
        said = f": {one_line(result)}" if result else ""
        line = f"- exit {outcome.exit_code}: {shorten_line(one_line(outcome.command), _COMMAND)}{said}"
        room -= weight(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join([title, *reversed(lines)]) if lines else ""


def _todos(todos: Sequence[Todo], units: float) -> str:
    still_open = [todo for todo in todos if todo.status != "completed"]
    if not still_open:
        return ""
    title = f"Open todos ({len(todos) - len(still_open)} of {len(todos)} done):"
    texts = [f"{todo.id}. {_todo(todo)}" for todo in sorted(still_open, key=lambda todo: todo.status != "in_progress")]
    room = units - len(title) - 1 - _NOTE
    lines = _evenly(_that_fit(iter(texts), room)[::-1], room)
    if not lines:
        return ""
    missing = len(texts) - len(lines)
    return "\n".join([title, *lines, *([f"- ({missing:,} more in the list of todos)"] if missing else [])])


def _todo(todo: Todo) -> str:
    state = "" if todo.status == "pending" else f"[{todo.status.replace('_', ' ')}] "
    return state + one_line(todo.title) + (f" ({one_line(todo.note)})" if todo.note else "")


def _tools(summary: ThreadSummary, units: float) -> str:
    used = sorted(summary.tools.items(), key=lambda item: (-item[1], item[0]))
    text = "Tool calls: " + (_tool_counts(used) or "none that worked")
    failed = sorted(summary.failed.items(), key=lambda item: (-item[1], item[0]))
    text += f"; failed: {_tool_counts(failed)}" if failed else ""
    return text if (used or failed) and weight(text) <= units else ""


def _tool_counts(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{shorten_line(one_line(name), 60)} {count:,}" for name, count in counts)


def _spans(spans: Sequence[SpanInfo], units: float) -> str:
    """The handles, the newest with what they hold as far as there is room; the first line is given at any weight."""
    if not spans:
        return ""
    names = spans[0].handle if len(spans) == 1 else f"{spans[0].handle} to {spans[-1].handle}"
    how = f'memory_operations(operation="read_messages", handle="{spans[-1].handle}")'
    head = f"Archived: {names}; {how} gives the messages word for word"
    room = units - weight(head)
    lines: list[str] = []
    for span in reversed(spans[-_SHOWN_SPANS:]):
        words = shorten_line(one_line(span.first_words), 80)
        again = f", {span.again:,} of them listed before" if span.again else ""
        line = f"- {span.handle}: {format_count(span.messages, 'message')}{again}" + (
            f", from: {words}" if words else ""
        )
        room -= weight(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join([head, *reversed(lines)])


FRESH_S = 2 * 3_600.0
"""An older checkpoint is not put before the model: the work has gone on, or the day has."""
_CLOCK_SLACK_S = 60.0
_TASK_UNITS, _LINE_UNITS, _NEWEST = 2_000.0, 300.0, 40
_HEAD = re.compile(r"\A# [^\n]*\n\nsession: (?P<session>\S+)\ntime: (?P<time>\S+)\n\n?(?P<rest>.*)", re.S)
_MARKS = {"completed": "x", "in_progress": ">", "blocked": "!"}


def checkpoint_text(
    *,
    session: str,
    now: float,
    summary: ThreadSummary,
    todos: Sequence[Todo] = (),
    task: str = "",
    git: str = "",
) -> str:
    """The page for the whole session so far.

    summary: of everything, trimmed or not. git: what `GitActivity.text` says, empty outside a repository.
    """
    sections = (
        ("Task", cut(quoted(task), _TASK_UNITS)),
        ("Todos", "\n".join(f"- [{_MARKS.get(todo.status, ' ')}] {todo.id}. {_todo_line(todo)}" for todo in todos)),
        ("Files changed", _listed([_changed(path, state) for path, state in summary.files.items()])),
        ("Commits", _listed([f"{commit.hash} {one_line(commit.subject)}" for commit in summary.commits])),
        ("Last command", _outcome(summary)),
        ("Tool calls", ", ".join(f"{one_line(name)} {count}" for name, count in summary.tools.items())),
        ("Git", git.strip()),
    )
    text = "\n\n".join(f"## {title}\n{body}" for title, body in sections if body)
    time = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    return fill_prompt("context/session_progress", session=session, time=time, sections=text) + "\n"


def fresh_progress(page: str, *, session: str, now: float) -> tuple[str, float] | None:
    """The sections of a checkpoint and its age in seconds; None for another session's, an old one or another page."""
    head = _HEAD.match(page.replace("\r\n", "\n"))
    if head is None or head["session"] != session:
        return None
    try:
        age = now - datetime.fromisoformat(head["time"]).timestamp()
    except ValueError:
        return None
    return (head["rest"].strip(), max(age, 0.0)) if -_CLOCK_SLACK_S <= age < FRESH_S else None


def _changed(path: str, state: FileState) -> str:
    return f"{one_line(path)} ({'reverted' if state.is_reverted else state.kind})"


def _todo_line(todo: Todo) -> str:
    return one_line(todo.title) + (f" ({one_line(todo.note)})" if todo.note else "")


def _listed(lines: Sequence[str]) -> str:
    more = [f"- ({len(lines) - _NEWEST} more before)"] if len(lines) > _NEWEST else []
    return "\n".join([*more, *(f"- {cut(line, _LINE_UNITS)}" for line in lines[-_NEWEST:])])


def _outcome(summary: ThreadSummary) -> str:
    outcome = summary.outcome
    return f"exit {outcome.exit_code}: {cut(one_line(outcome.command), _LINE_UNITS)}" if outcome else ""


COMMITS, FILES = 10, 20
_PROGRESS_SHARE = 0.5  # of the note's budget: the summary says most of it already


class GitActivity(Struct, frozen=True, kw_only=True):
    """How a repository stands. `changed` are the lines of the short status, `commits` "hash subject", newest first."""

    branch: str = ""
    changed: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One fact a line; file names and subjects cannot forge a line or a tag."""
        files = [f"  {line[:3]}{one_line(line[3:])}" for line in self.changed[:FILES]]
        more = [f"  ({len(self.changed) - FILES:,} more)"] if len(self.changed) > FILES else []
        head = f"branch {one_line(self.branch)}, {len(self.changed):,} changed files"
        commits = ["last commits:", *(f"  {one_line(line)}" for line in self.commits[:COMMITS])] if self.commits else []
        return "\n".join([head, *files, *more, *commits])


def git_activity(project: Path) -> GitActivity | None:
    """Status and newest commits of a working tree; None outside git, without git, or if it takes too long.

    Blocks as long as two short git commands take; under an event loop, call it in a thread.
    """
    status = read_git(project, "status", "--porcelain", "--branch")
    if status is None:
        return None
    log = read_git(project, "log", f"--max-count={COMMITS}", "--pretty=format:%h %s")
    head, *changed = status.splitlines() or [""]
    branch = head.removeprefix("## ").removeprefix("No commits yet on ").split("...")[0]
    return GitActivity(branch=branch, changed=tuple(changed), commits=tuple((log or "").splitlines()))


def recovery_note(
    *,
    estimator: TokenEstimator,
    budget_tokens: int,
    git: GitActivity | None = None,
    progress: str = "",
    session: str = "",
    now: float = 0.0,
) -> str:
    """The note, to be put behind the summary in the same message; empty where there is nothing to say or no room.

    progress: the stored `session_progress` page, whoever wrote it; used only if it is this session's and fresh.
    Task, todos, commits and files of the conversation itself stand in the summary and are not repeated.
    """
    parts = [git.text] if git else []
    found = fresh_progress(progress, session=session, now=now) if progress else None
    if found:
        text, age_s = found
        parts.append(f"progress noted {age_s / 60:.0f} minutes before:\n  | {quoted(text)}")
    frame = weight(fill_prompt("context/recovery", state=""))
    return within(budget_tokens, estimator, lambda room: _fitted(parts, room - frame))


def _fitted(parts: list[str], room: float) -> str:
    """The note of at most this weight; what the second part leaves is the first one's."""
    shown = list(parts)
    if len(shown) == 2:
        shown[1] = cut(shown[1], max(room * _PROGRESS_SHARE, room - weight(shown[0]) - 1))
        room -= weight(shown[1]) + 1
    shown[:1] = [cut(part, room) for part in shown[:1]]
    state = "\n".join(part for part in shown if part)
    return fill_prompt("context/recovery", state=state) if state else ""
