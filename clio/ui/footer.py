"""The status line: values of the session, the git branch, the activity of a running turn."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.agent.user_interface import (
    Event,
    ReasoningDelta,
    Retrying,
    StepFinished,
    StepStarted,
    StreamRestarted,
    TextDelta,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from clio.config.schema import Config
from clio.providers.base import AUTO, OFFLINE
from clio.storage.files import read_regular
from clio.text.translation import mark, tr
from clio.ui.line_rules import fit_parts
from clio.ui.painter import assemble_text, count_cells
from clio.ui.pipe_screen import format_seconds, format_tokens, get_spinner_frame
from clio.ui.safe_text import clean_line
from clio.ui.theme import Theme

if TYPE_CHECKING:
    from rich.text import Text

    from clio.commands.command import CommandContext
    from clio.sessions.session import Session
    from clio.sessions.state import Todo


_BRANCH_CACHE_S = 2.0  # seconds for which the branch is cached; the status line asks at every frame
_HASH_CHARS = 7


class GitBranch:
    """The current git branch, read again at most every two seconds; may be called for every frame."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._read_at = -1e9
        self._name = ""

    @property
    def current_name(self) -> str:
        """Return the branch, the start of a detached commit's hash, or "" outside of git."""
        now = self._clock()
        if now - self._read_at >= _BRANCH_CACHE_S:
            self._read_at, self._name = now, read_branch(self._folder)
        return self._name


_MAX_HEAD_BYTES = 10_000


def read_branch(folder: Path) -> str:
    """Return the branch in HEAD of this directory or the nearest parent that is a repository or a worktree."""
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        try:
            if git.is_file():  # a worktree or a submodule: the file contains the path of the real directory
                git = parent / read_regular(git, _MAX_HEAD_BYTES).decode().removeprefix("gitdir:").strip()
            # git forbids control characters in names, but the file may contain them
            head = clean_line(read_regular(git / "HEAD", _MAX_HEAD_BYTES).decode())
        except (OSError, ValueError):  # also a path with a NUL character
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:_HASH_CHARS]
    return ""


_BAR_CELLS = 5
_FULL_CELL, _EMPTY_CELL = "▰", "▱"


class StatusValues(Struct, frozen=True, kw_only=True):
    """Values of the session; "" and None are not displayed.

    Attributes:
        sandbox: such as "sandbox bwrap".
        privacy: "incognito" or "memory off".
        context: share of the window that the last request took, 0 to 1.
        active_todo: the task in progress and its position, such as "2/5 write tests".
        repetition: the state of a message that is repeated.
        background_work: such as "indexing 40 %".
        cost: of the session, in money.
        tokens: of the session, in and out.
    """

    model: str = ""
    effort: str = ""
    mode: str = ""
    sandbox: str = ""
    privacy: str = ""
    repetition: str = ""
    context: float | None = None
    active_todo: str = ""
    background_work: str = ""
    branch: str = ""
    cost: str = ""
    tokens: int = 0
    style: str = ""
    name: str = ""

    @property
    def line_parts(self) -> tuple[str, ...]:
        """Return the parts of the line, most important first, without control sequences: names may come from a
        repository.
        """
        parts = (
            f"{self.model} {self.effort}".strip(),
            self.mode,
            self.sandbox,
            self.privacy,
            self.repetition,
            render_context_bar(self.context) if self.context is not None else "",
            self.active_todo,
            self.background_work,
            self.branch,
            self.cost,
            tr("{tokens} tokens", tokens=format_tokens(self.tokens)) if self.tokens else "",
            self.style,
            self.name,
        )
        return tuple(map(clean_line, parts))

    @property
    def spoken_parts(self) -> tuple[str, ...]:
        """Return the values for a screen reader, each with its label."""
        named = (
            (tr("model"), self.model),
            (tr("effort"), self.effort),
            (tr("approval mode"), self.mode),
            ("", self.sandbox),
            ("", self.privacy),
            ("", self.repetition),
            (
                "",
                tr("context window {context} percent full", context=round(self.context * 100))
                if self.context is not None
                else "",
            ),
            (tr("item"), self.active_todo.replace("/", " of ", 1)),
            ("", self.background_work),
            (tr("branch"), self.branch),
            (tr("cost"), self.cost),
            ("", tr("{tokens} tokens", tokens=format_tokens(self.tokens)) if self.tokens else ""),
            (tr("style"), self.style),
            (tr("session"), self.name),
        )
        return tuple(f"{name} {clean_line(value)}".strip() for name, value in named if value)


def render_context_bar(share: float) -> str:
    """Return a share of the window as five cells and a number: "▰▰▱▱▱ 38 %"."""
    full = min(max(round(share * _BAR_CELLS), int(share >= 0.005)), _BAR_CELLS)  # none for "0 %"
    return f"{_FULL_CELL * full}{_EMPTY_CELL * (_BAR_CELLS - full)} {round(share * 100)} %"


class SessionStatus:
    """Collects the values of the status line.

    get_context: returns None until the app is loaded; the values come from `config` until then.
    """

    def __init__(self, config: Config, project: Path, get_context: "Callable[[], CommandContext | None]") -> None:
        self.background_work = ""
        """Background work, such as "indexing 40 %"."""
        self.describe_repetition: Callable[[], str] = str
        """Returns the state of a message that is repeated; "" if none is."""
        self.render_own_line: Callable[[], str] = str
        """Returns the line of the user's own command, in SGR, which replaces the values; "" for none."""
        self.problem = ""
        """Why the user's own status line is not shown, until it has been reported."""
        self._config = config
        self._get_context = get_context
        self._branch = GitBranch(project)
        self._session_id = ""
        self._window_tokens = 0
        self._tokens_before = (0, 0)  # the step that has begun, and the value of `_window_tokens` before it
        self._billed_tokens = 0
        self._counted_bills = 0

    def handle_event(self, event: Event) -> None:
        """Update the values from the loop's events, such as the fill level of the window."""
        if (ctx := self._get_context()) is not None:
            self._add_new_bills(ctx.session)  # first, because a turn may end before the line is drawn once
        if isinstance(event, StepStarted):
            self._tokens_before = (event.step, self._window_tokens)
            self._window_tokens = event.prompt_tokens
        elif isinstance(event, TurnFinished) and event.steps < self._tokens_before[0]:
            self._window_tokens = self._tokens_before[1]  # the request of that step was not sent
        elif isinstance(event, StepFinished) and event.usage is not None and event.usage.prompt_tokens:
            self._window_tokens = event.usage.prompt_tokens + event.usage.completion_tokens

    def collect_values(self) -> StatusValues:
        """Return the current values."""
        ctx = self._get_context()
        if ctx is None:
            privacy = tr("incognito") if self._config.incognito else ""
            sandbox = tr("sandbox") if self._config.sandbox != "off" else ""
            return StatusValues(
                model=self._config.model or "", mode=self._config.approve, sandbox=sandbox, privacy=privacy
            )
        from clio.ui.tables import describe_active_todo

        self._add_new_bills(ctx.session)
        window = ctx.window.limits.context_window if ctx.window is not None else 0
        privacy = tr("incognito") if ctx.config.incognito else tr("memory off") if ctx.memory.is_off else ""
        return StatusValues(
            model=ctx.answering.model,
            effort=_format_effort(ctx),
            mode=ctx.policy.mode,
            sandbox=ctx.sandbox.status_word,
            privacy=privacy,
            context=self._window_tokens / window if window and self._window_tokens else None,
            active_todo=describe_active_todo(ctx.session.todos),
            repetition=self.describe_repetition(),
            background_work=self.background_work,
            branch=self._branch.current_name,
            cost=_format_session_cost(ctx),
            tokens=self._billed_tokens,
            style=format_style(ctx),
            name=ctx.session.name or "",
        )

    def describe_for_script(self, project: Path, session: "Session") -> dict[str, object]:
        """Return the values for the user's own command, in JSON types."""
        values = self.collect_values()
        return {
            "model": values.model,
            "effort": values.effort,
            "folder": str(project),
            "branch": values.branch,
            "mode": values.mode,
            "session": session.id,
            "session_name": values.name,
            "tokens": values.tokens,
            "cost": values.cost,
            "context_percent": None if values.context is None else round(values.context * 100),
            "style": values.style,
            "incognito": self._config.incognito,
        }

    def get_todos(self) -> "tuple[Todo, ...]":
        """Return the session's task list; none in plan mode, where the user reviews it at the end of the turn."""
        ctx = self._get_context()
        return ctx.session.todos if ctx is not None and not ctx.session.plan_mode else ()

    def list_parts(self) -> tuple[str, ...]:
        """Return the values for the line, most important first."""
        return self.collect_values().line_parts

    def list_spoken_parts(self) -> tuple[str, ...]:
        """Return the values for a screen reader."""
        return self.collect_values().spoken_parts

    def _add_new_bills(self, session: "Session") -> None:
        """Add new bills of the session; another session starts again from zero."""
        if session.id != self._session_id:
            self._session_id = session.id
            self._window_tokens = self._billed_tokens = self._counted_bills = 0
        bills = session.bills
        for bill in bills[self._counted_bills :]:
            self._billed_tokens += bill.prompt_tokens + bill.completion_tokens
        self._counted_bills = len(bills)


def _format_effort(ctx: "CommandContext") -> str:
    """Return the reasoning effort sent to the model; "" if it is left to the server, or there is no model."""
    effort = ctx.efforts.get_effort(ctx.provider.model)
    return "" if effort == AUTO or ctx.provider.name == OFFLINE else effort


def format_style(ctx: "CommandContext") -> str:
    """Return the last answer's style: "concise", "concise?" if it was explored, "" if there was none."""
    if ctx.config.incognito or ctx.memory.is_off:
        return ""
    chosen = ctx.memory.styles.current
    return f"{chosen.skill.id}{'?' if chosen.explored else ''}" if chosen else ""


def _format_session_cost(ctx: "CommandContext") -> str:
    """Return the cost of the session; "" if it is zero or unknown."""
    cost = ctx.spending.get_session_cost(ctx.session)
    return cost.text if cost is not None and cost.micro_dollars else ""


_SEPARATOR = " · "
_WAITING = mark("waiting for the model")
_SHORT_LABELS = {_WAITING: mark("waiting")}
"""What activities are called where the key that interrupts them would not fit beside their name."""
_MIN_DIFFERENCE_S = 1.0  # the turn's time is shown only if it is this much longer than its step's


class Activity(Struct):
    """The current activity and its start, in seconds of any clock."""

    label: str = mark("starting")
    since: float = 0.0

    def handle_event(self, event: Event, now: float) -> None:
        """Update the activity from the loop's events."""
        label = _describe_activity(event)
        if label and label != self.label:
            self.label, self.since = label, now


def render_status_row(
    label: str, seconds: float, turn_seconds: float, hints_and_values: tuple[str, ...], width: int, theme: Theme
) -> "Text":
    """Return the row that says what a running turn does: `⠋ writing 12 s · esc to interrupt · total 1m 18s`.

    Args:
        label: the current activity, such as "writing".
        seconds: duration of the activity; `turn_seconds` is that of the turn.
        hints_and_values: further parts, most important first; those that exceed `width` columns are dropped.
    """
    total = (
        tr("total {seconds}", seconds=format_seconds(turn_seconds))
        if turn_seconds - seconds >= _MIN_DIFFERENCE_S
        else ""
    )
    room, hint = max(width - 2, 1), tr("esc to interrupt")
    if count_cells(f"{tr(label)} {format_seconds(seconds)}{_SEPARATOR}{hint}") > room:
        label = _SHORT_LABELS.get(label, label)
    line = fit_parts(
        (f"{tr(label)} {format_seconds(seconds)}", hint, *hints_and_values[:1], total, *hints_and_values[1:]), room
    )
    first, separator, rest = line.partition(_SEPARATOR)
    return assemble_text((get_spinner_frame(turn_seconds), theme.accent), " ", first, (separator + rest, theme.faint))


def _describe_activity(event: Event) -> str:
    match event:
        case TurnStarted():
            return mark("starting")
        case StepStarted() | StreamRestarted():
            return _WAITING
        case ReasoningDelta():
            return mark("thinking")
        case TextDelta():
            return mark("writing")
        case Retrying():
            return mark("retrying")
        case ToolStarted():
            return mark("running")
        case _:
            return ""
