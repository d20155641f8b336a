"""A person at the terminal decides: may this be done, and which of these is meant."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO, assert_never

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output as Display
from rich.text import Text

from clio.errors import ToolFailed
from clio.security.actions import Action, ChangeFiles, FetchUrl, Internal, ReadFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest
from clio.security.shell_syntax import parse
from clio.tools.files.diff import diff_change
from clio.ui.markdown import whole
from clio.ui.output import Output
from clio.ui.painter import Painter, Part, Size
from clio.ui.pause import Suspended
from clio.ui.plain import clean, clean_line, visible
from clio.ui.questions import Questions
from clio.ui.theme import Terminal, Theme
from clio.ui.tool_rows import diff_rows

MAX_ROWS = 30
INTERRUPTED = "interrupted"


class Desk:
    """What approver and asker share: a place to print, a keyboard, and the way to have both for oneself.

    suspended: gives contexts in which nothing else draws or reads keys.
    on_interrupt: called when the person answers with Esc or Ctrl-C.
    is_typing: whether the person has been typing just now.
    """

    def __init__(
        self,
        stream: TextIO,
        terminal: Terminal,
        size: Size,
        suspended: Suspended,
        on_interrupt: Callable[[], None],
        *,
        is_typing: Callable[[], bool] = lambda: False,
        keyboard: Input | None = None,
        display: Display | None = None,
    ) -> None:
        self.theme = terminal.theme
        self.suspended = suspended
        self.on_interrupt = on_interrupt
        self.is_typing = is_typing
        self.questions = Questions(stream, live=terminal.live, keyboard=keyboard, display=display)
        self._output = Output(stream)
        self._painter = Painter(terminal.theme, size)

    def say(self, parts: Iterable[Part | Text]) -> None:
        """Print for good. A bare text is one line that the terminal may break."""
        parts = (Part(body=part, wraps=False) if isinstance(part, Text) else part for part in parts)
        self._output.write("".join(self._painter.lines(part) for part in parts))


class TerminalApprover:
    """Shows what a call would do and asks for one key. `display` names a path in diffs, relative to the workspace."""

    def __init__(self, desk: Desk, display: Callable[[Path], str] = str) -> None:
        self._desk = desk
        self._display = display

    async def ask(self, request: ApprovalRequest) -> Answer:
        """The person's answer. Esc and Ctrl-C call `on_interrupt` and mean no."""
        guarded = self._desk.is_typing()
        async with self._desk.suspended():
            theme = self._desk.theme
            body = list(describe_action(request.action, theme, self._display))
            hidden = len(body) > MAX_ROWS
            self._desk.say(_heading(request, theme))
            self._desk.say(_bounded(body, theme))
            while True:
                key = await self._desk.questions.key(_choices(request.verdict.rule, hidden), guarded=guarded)
                if key != "d":
                    break
                hidden = guarded = False
                self._desk.say(body)
            answer = await self._answer(key)
            self._desk.say([Text(f"  {_said(answer, request.verdict.rule)}", theme.faint)])
        if answer.reason == INTERRUPTED:
            self._desk.on_interrupt()
        return answer

    async def _answer(self, key: str | None) -> Answer:
        match key:
            case "y":
                return Answer("once")
            case "s":
                return Answer("session")
            case "a":
                return Answer("always")
            case "n":
                reason = await self._desk.questions.line("  why not (Enter for no reason): ")
                return Answer("no", INTERRUPTED if reason is None else clean_line(reason))
            case _:
                return Answer("no", INTERRUPTED)


class TerminalAsker:
    """Puts the model's question to the person: a number chooses an option, anything else is an answer in words."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """The chosen option or the person's own words; empty for a bare Enter.

        Raises ToolFailed after Esc or Ctrl-C, which call `on_interrupt`.
        """
        async with self._desk.suspended():
            theme = self._desk.theme
            self._desk.say([Part(body=Text("")), *whole(clean(question), theme)])
            for number, option in enumerate(options, 1):
                self._desk.say([Part(body=Text.assemble((f"  {number} ", theme.accent), clean_line(option)))])
            prompt = "  number or answer: " if options else "  answer: "
            answer = await self._desk.questions.line(prompt)
        if answer is None:
            self._desk.on_interrupt()
            raise ToolFailed("the user interrupted instead of answering")
        chosen = answer.strip().rstrip(".)")
        if chosen.isdecimal() and 1 <= int(chosen) <= len(options):
            return options[int(chosen) - 1]
        return answer.strip()


def describe_action(action: Action, theme: Theme, display: Callable[[Path], str]) -> Iterator[Text]:
    """What would be done, in full: the diff, the command and every simple command in it, the address, the paths."""
    match action:
        case ChangeFiles(changes=changes):
            for change in changes:
                if len(changes) > 1 or change.kind in ("delete", "move"):
                    moved = f" → {display(change.moved_to)}" if change.moved_to is not None else ""
                    yield Text(visible(f"  {change.kind} {display(change.path)}{moved}"), theme.strong)
                yield from diff_rows(visible(diff_change(change, display).text), theme, max_rows=10**9)
        case RunCommand(command=command, cwd=cwd):
            yield from _command(command, display(cwd), theme)
        case FetchUrl(url=url):
            yield Text(f"  {visible(url)}")
        case ReadFiles(paths=paths):
            yield from (Text(f"  {visible(display(path))}") for path in paths)
        case Internal():
            pass
        case _:
            assert_never(action)


def _command(command: str, cwd: str, theme: Theme) -> Iterator[Text]:
    for number, line in enumerate(visible(command).splitlines()):
        yield Text(f"  {'$' if number == 0 else ' '} {line}", theme.strong)
    if cwd not in ("", "."):
        yield Text(f"    in {visible(cwd)}", theme.faint)
    parsed = parse(command)
    runs = [" ".join(word.text for word in simple.words) for simple in parsed.commands if simple.words]
    if len(runs) > 1 or (runs and runs[0] != command.strip()):
        yield from (Text(f"    runs {clean_line(visible(run))}", theme.faint) for run in runs)
    for redirect in parsed.redirects:
        if redirect.target.text == "/dev/null":
            continue
        yield Text(f"    {'writes' if redirect.writes else 'reads'} {visible(redirect.target.text)}", theme.warning)
    for unknown in parsed.unknown:
        yield Text(f"    not understood: {visible(unknown)}", theme.warning)


def _heading(request: ApprovalRequest, theme: Theme) -> Iterator[Part]:
    verdict = request.verdict
    risk = {"low": theme.good, "medium": theme.warning, "high": theme.bad}[verdict.risk]
    title = clean_line(visible(request.title))
    yield Part(
        body=Text.assemble(("? ", theme.warning), (title, theme.strong), " ", (f"{verdict.risk} risk", risk)), gap=True
    )
    if verdict.reason:
        yield Part(body=Text(f"  {clean_line(visible(verdict.reason))}", theme.faint))


def _bounded(body: list[Text], theme: Theme) -> list[Text]:
    if len(body) <= MAX_ROWS:
        return body
    more = f"  … {len(body) - MAX_ROWS + 1:,} more lines, d shows all"
    return [*body[: MAX_ROWS - 1], Text(more, theme.faint)]


def _choices(rule: str | None, hidden: bool) -> dict[str, str]:
    choices = {"y": "once", "s": "this session"}
    if rule is not None:
        choices["a"] = f"always {clean_line(visible(rule))}"
    choices["n"] = "no"
    if hidden:
        choices["d"] = "show all"
    return choices


def _said(answer: Answer, rule: str | None) -> str:
    """The answer as it stays in the scrollback."""
    match answer.kind:
        case "once":
            return "allowed once"
        case "session":
            return "allowed for this session"
        case "always":
            return f"always allowed: {clean_line(visible(rule or ''))}"
        case "changed":
            return "allowed as changed"
        case "no":
            return f"no: {answer.reason}" if answer.reason else "no"
