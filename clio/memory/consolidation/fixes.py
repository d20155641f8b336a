"""Errors that were mended: a command failed, something was changed, and the same command passed. By rule."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from clio.memory.consolidation.experiences import QUOTE_CHARS, Experience, Finding
from clio.memory.consolidation.shell_runs import (
    Change,
    Doing,
    Run,
    change_of,
    doings_of,
    error_line,
    is_settled_by,
    reverts,
    run_of,
    without_varying,
)
from clio.memory.inert import one_line, quotation
from clio.messages import AssistantMessage, Message, UserMessage
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex

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
            found.append(_finding(mended, line, doings, messages, _turn_of(experiences, mended.passed.place)))
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


def _finding(
    mended: _Mended, line: str, doings: Sequence[Doing], messages: Sequence[Message], turn: Experience
) -> Finding:
    committed = any(doing.deeds.commits for doing in doings[mended.number :])
    return Finding(
        kind="solution",
        text=one_line(without_varying(line)),
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
    ran = list(dict.fromkeys(change.command for change in mended.changes if change.command))
    parts = [
        f"changed {_listed(changed, _MAX_FILES)}" if changed else "",
        f"removed {_listed(sorted(removed), _MAX_FILES)}" if removed else "",
        f"ran {_listed([f'`{truncate(one_line(one), _COMMAND_CHARS)}`' for one in ran], _MAX_COMMANDS)}" if ran else "",
    ]
    what = " and ".join(part for part in parts if part)
    passed = truncate(one_line(mended.passed.checks[-1].text), _COMMAND_CHARS)
    return f"{what}; then `{passed}` passed" + (f"; the agent said {quotation(cause)}" if cause else "")


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
