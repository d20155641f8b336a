"""Every way on which foreign text reaches a terminal or a page: given a text, what is written."""

import asyncio
import io
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input

from clio.agent.user_interface import (
    Event,
    Notice,
    ReasoningDelta,
    Retrying,
    Steered,
    StepFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from clio.cli import report_error
from clio.commands.command import Bar, BarPart, CommandContext, CommandResult, Table
from clio.entrypoints.subcommand import print_result
from clio.errors import ConfigError
from clio.security.actions import Action, CallServer, ChangeFiles, FetchUrl, FileChange, ReadFiles, RunCommand
from clio.security.approval import ApprovalRequest, Ask
from clio.sessions.state import Todo
from clio.ui.approval_dialog import TerminalApprover, TerminalAsker
from clio.ui.commit_dialog import CommitFileRow, CommitReviewer, ProposedCommit
from clio.ui.completer import LineCompleter, MentionLabels
from clio.ui.footer import StatusValues, read_branch
from clio.ui.keyboard import TypedLine, TypingState, WaitingText
from clio.ui.line_rules import fit_parts
from clio.ui.pipe_screen import PipeScreen
from clio.ui.prompt_io import PromptIO
from clio.ui.questions import Questions
from clio.ui.reader.prompt import ReaderPromptIO
from clio.ui.reader.screen import ReaderScreen
from clio.ui.safe_text import clean
from clio.ui.terminal_handoff import show_in_pager
from clio.ui.terminal_signals import format_notification
from clio.ui.terminal_text import print_error
from clio.ui.theme import Terminal
from tests.ui.stage import Stage, end, start

LIVE = Terminal(live=True, escapes=True, colour=True, reflows=True)
ROOT = Path("/project")
_SIZE = (400, 200)
Way = Callable[[str], str]


def events(text: str) -> Iterator[Event]:
    """Return a turn in which every part contains the text."""
    yield from start()
    yield from (TextDelta(text=text[at : at + 37]) for at in range(0, len(text), 37))
    yield TextDelta(text=f"\n\n```\n{text}\n```\n\n| {text} |\n|---|\n| x |\n\n[{text}](http://x/{text})\n\n")
    yield StepFinished(step=1, usage=None)
    yield ReasoningDelta(text=text)
    yield Retrying(attempt=1, of=2, delay_s=1.0, reason=text)
    yield ToolStarted(call_id="1", name=text, title=text)
    yield ToolProgress(call_id="1", text=text)
    diff = f"--- a/{text}\n+++ b/{text}\n@@ -1 +1,2 @@\n {text}\n+{text}\n"
    for number, (ok, shown) in enumerate(((True, ""), (False, ""), (True, diff)), 1):
        yield ToolFinished(
            call_id=str(number), name=text, title=text, ok=ok, summary=text, seconds=1.0, preview=text, diff=shown
        )
    yield Steered(text=text, step=2)
    yield Notice(text=text, level="warning")
    yield end("failed", text)


def result(text: str) -> CommandResult:
    """Return a result of a slash command that quotes the text everywhere."""
    return CommandResult(
        text=text,
        verbatim=text,
        table=Table(columns=("a", "b"), rows=((text, text),), wide_column=1),
        bar=Bar(title=text, parts=(BarPart(name=text, amount=3, mark="#"), BarPart(name="rest", amount=2, mark="."))),
        diff=f"--- a/{text}\n+++ b/{text}\n@@ -1 +1,2 @@\n {text}\n+{text}\n",
        todos=(Todo(id=1, title=text, status="in_progress", note=text),),
    )


def _screen(text: str) -> str:
    stage = Stage(*_SIZE, facts=tuple(_facts(text).line_parts))
    stage.play(*events(text))
    return stage.written


def _screen_shows(text: str) -> str:
    stage = Stage(*_SIZE)
    stage.screen.print_note(text)
    stage.screen.print_error(text)
    stage.screen.show_result(result(text))
    stage.screen.show_result(CommandResult(text=text, ok=False))
    return stage.written


def _typed_ahead(text: str) -> str:
    stage = Stage(*_SIZE)
    stage.play(*start())
    chips = tuple(MentionLabels(ROOT).label_mentions(f"@session:{text.split()[1]}"))
    stage.screen.set_typed(
        TypingState(line=TypedLine(text), waiting=(WaitingText(label="next", text=text),), mention_labels=chips)
    )
    return stage.written


def _reader(text: str) -> str:
    stream = io.StringIO()
    screen = ReaderScreen(stream, lambda: _SIZE, reasoning="show")
    for event in events(text):
        screen.handle(event)
    screen.print_note(text)
    screen.print_error(text)
    screen.show_result(result(text))
    return stream.getvalue()


def _pipe(text: str) -> str:
    """Run `clio -p`, on a terminal too."""
    stream = io.StringIO()
    screen = PipeScreen(stream, stream, show_footer=True)
    for event in events(text):
        screen.handle(event)
    screen.print_note(text)
    screen.print_error(text)
    screen.show_result(result(text))
    return stream.getvalue()


def _captured(show: Callable[[], object]) -> str:
    """Return what is printed, as by a process: text that UTF-8 cannot encode would be an error."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(stream), redirect_stderr(stream):
        show()
    stream.seek(0)
    return stream.read()


def _sub_command(text: str) -> str:
    return _captured(lambda: (print_result(result(text), text), print_error(clean(text))))


def _error(text: str) -> str:
    return _captured(lambda: (report_error(ConfigError(text), []), report_error(ValueError(text), ["--debug"])))


def _facts(text: str) -> StatusValues:
    return StatusValues(model="m", active_todo=text, branch=text, name=text, style=text)


def _branch(folder: Path) -> Way:
    def way(text: str) -> str:
        (folder / ".git").mkdir(exist_ok=True)
        (folder / ".git" / "HEAD").write_text(f"ref: refs/heads/{text}", encoding="utf-8", newline="")
        return read_branch(folder)

    return way


def _line_of_facts(text: str) -> str:
    return fit_parts(_facts(text).line_parts, 4_000) + fit_parts(_facts(text).spoken_parts, 4_000)


def _menu(text: str) -> str:
    infos = [SimpleNamespace(id="other", name=text, first_words=text, came_with_project=True)]
    resource = SimpleNamespace(name=text, description=text, uri=f"x:{text}")
    shell = SimpleNamespace(
        session=SimpleNamespace(id="mine", messages=()),
        config=SimpleNamespace(incognito=False),
        store=SimpleNamespace(list=lambda: infos),
        memory=SimpleNamespace(store=SimpleNamespace(notes=lambda: [SimpleNamespace(key=f"s{text}", content=text)])),
        servers=SimpleNamespace(resources=lambda: [("srv", resource)]),
    )
    completer = LineCompleter(lambda: cast(CommandContext, shell), lambda: [f"s{text}"])
    asked = CompleteEvent(completion_requested=True)
    found = [one for typed in ("@s", "@session:", "@note:", "@srv:", "s") for one in _offers(completer, typed, asked)]
    return "\n".join(f"{one.display_text} {one.display_meta_text}" for one in found)


def _offers(completer: LineCompleter, typed: str, asked: CompleteEvent) -> list[Any]:
    return list(completer.get_completions(Document(typed), asked))


def _own_pager(folder: Path) -> Way:
    def way(text: str) -> str:
        shown = folder / "shown"
        pager = folder / "pager.sh"
        pager.write_text(f"#!/bin/sh\ncat > {shown}\n", encoding="utf-8")
        pager.chmod(0o700)
        assert show_in_pager(text, {"PAGER": str(pager)})
        return shown.read_bytes().decode()

    return way


class _Keys:
    """Answers questions with these keys, and shows the meaning of each key."""

    is_live = False

    def __init__(self, stream: io.StringIO, keys: str) -> None:
        self._stream = stream
        self._keys = list(keys)

    def keep_early_input(self) -> None:
        """Nothing is typed early here."""

    async def ask_key(self, choices: Mapping[str, str], **_: object) -> str:
        self._stream.write(" ".join(choices.values()) + "\n")
        return self._keys.pop(0)

    async def ask_line(self, prompt: str) -> str:
        self._stream.write(prompt)
        return self._keys.pop(0)


def _meet(talk: Callable[[PromptIO], Coroutine[Any, Any, object]], keys: str, *, aloud: bool = False) -> str:
    """Return what the prompt prints in a conversation in which these keys are pressed."""
    stream = io.StringIO()

    @asynccontextmanager
    async def nothing() -> AsyncGenerator[None]:
        yield

    kind = ReaderPromptIO if aloud else PromptIO
    with create_pipe_input() as keyboard:
        prompt_io = kind(stream, LIVE, lambda: _SIZE, nothing, lambda: None, keyboard=keyboard)
        prompt_io.questions = cast(Questions, _Keys(stream, keys))
        asyncio.run(asyncio.wait_for(talk(prompt_io), 10))
    return stream.getvalue()


def actions(text: str) -> Iterator[Action]:
    """Return every kind of action, with the text wherever foreign text can be."""
    path = ROOT / text.replace("/", "").replace("\0", "")
    yield RunCommand(command=f"echo '{text}'", cwd=path)
    yield RunCommand(command=text, cwd=ROOT)
    yield FetchUrl(url=f"http://127.0.0.1/{text}")
    yield ReadFiles(paths=(path,))
    yield CallServer(name=text, server=text, tool=text, arguments=text)
    yield ChangeFiles(
        changes=(
            FileChange(path=path, kind="update", before="a\n", after=f"{text}\n"),
            FileChange(path=path, kind="move", before="a\n", after="a\n", moved_to=path),
            FileChange(path=path, kind="delete", before=text),
        )
    )


def _approval(aloud: bool) -> Way:
    def way(text: str) -> str:
        async def talk(prompt_io: PromptIO) -> None:
            approver = TerminalApprover(prompt_io, lambda path: str(path.relative_to(ROOT)))
            for action in actions(text):
                verdict = Ask(risk="high", reason=text, rule=text)
                await approver.ask(ApprovalRequest(title=text, action=action, verdict=verdict))

        return _meet(talk, "s" * len(list(actions(text))), aloud=aloud)

    return way


def _model_asks(aloud: bool) -> Way:
    def way(text: str) -> str:
        return _meet(lambda prompt_io: TerminalAsker(prompt_io).ask(text, (text, text)), "1", aloud=aloud)

    return way


def _commit(text: str) -> str:
    proposed = ProposedCommit(
        message=text, files=(CommitFileRow("M", text, "+1"),), stat="1 file", target=text, trailer=text
    )
    return _meet(lambda prompt_io: CommitReviewer(prompt_io).ask_about_commit(proposed, lambda: text), "dn")


def _notification(text: str) -> str:
    return "".join(format_notification(kind, text)[4:-1] for kind in ("osc9", "osc777"))


def ways(folder: Path) -> dict[str, Way]:
    """Return all ways by name; those that need files create them in `folder`."""
    return {
        "screen": _screen,
        "screen, notes and results": _screen_shows,
        "typed ahead": _typed_ahead,
        "screen reader": _reader,
        "one shot": _pipe,
        "sub-command": _sub_command,
        "error": _error,
        "branch": _branch(folder),
        "line of facts": _line_of_facts,
        "menu": _menu,
        "own pager": _own_pager(folder),
        "approval": _approval(aloud=False),
        "approval aloud": _approval(aloud=True),
        "question": _model_asks(aloud=False),
        "question aloud": _model_asks(aloud=True),
        "commit": _commit,
        "notification": _notification,
    }
