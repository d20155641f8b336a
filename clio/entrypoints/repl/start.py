"""What precedes the first prompt: trust in the project, and choosing or resuming a session."""

import asyncio
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from clio.config.layers import load_config
from clio.config.loaded import LoadedConfig
from clio.config.memory_seal import PROJECT_MEMORY_KEY
from clio.config.options import Options
from clio.config.paths import FOLDER_NAME
from clio.config.trust import decline_project, should_ask_for_trust, trust_project
from clio.entrypoints import first_paint
from clio.entrypoints.repl.components import terminal_size
from clio.errors import ClioError, SessionNotFound
from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage
from clio.sessions.state import find_first_words
from clio.text.formatting import capitalize
from clio.text.translation import tr, tr_count
from clio.ui.line_rules import USER_SIGN
from clio.ui.safe_text import clean, escape_controls
from clio.ui.theme import Terminal, Theme

if TYPE_CHECKING:
    from clio.app import App
    from clio.commands.command import Table
    from clio.sessions.session import Session
    from clio.sessions.state import SessionInfo
    from clio.sessions.store import SessionStore
    from clio.ui.painter import Part
    from clio.ui.printed_rows import PrintedRows


Ask = Callable[[str], str]
"""Prints a question and returns the line entered; raises EOFError at the end of the input."""
TAIL_MESSAGES = 10
_TAIL_LINES = 6
_CALLED_CHARS, _ID_CHARS = 50, 13


def settle_trust(options: Options, loaded: LoadedConfig, env: Mapping[str, str], ask: Ask) -> LoadedConfig:
    """Ask once whether project settings that extend permissions may apply; return the resulting configuration."""
    if (loaded.config.incognito and not loaded.is_folder_blocked) or not should_ask_for_trust(loaded):
        return loaded
    try:
        answer = ask(_format_trust_question(loaded))
    except EOFError:
        sys.stdout.write("\n")
        return loaded
    if answer.strip().lower() not in ("y", "yes"):
        decline_project(loaded)
        return loaded
    trust_project(loaded)
    return load_config(options, env)


def _format_trust_question(loaded: LoadedConfig) -> str:
    if any(value.key != PROJECT_MEMORY_KEY for value in loaded.withheld):
        from clio.config.show import format_withheld_rows

        rows = "\n".join(map(escape_controls, format_withheld_rows(loaded.withheld)))
        return tr("This project's config wants extra permissions:\n{rows}\nTrust it? [y/N] ", rows=rows)
    reason = loaded.memory_doubt or tr(
        "the memory in {folder_name} came with this project, or git tracks it", folder_name=FOLDER_NAME
    )
    return tr(
        "{reason}.\nUntil you accept this project's memory, its hard limits do not apply.\n"
        "Is this memory your own? [y/N] ",
        reason=escape_controls(capitalize(reason)),
    )


def ask_yes_no_at_start(question: str) -> str:
    """Ask before the line editor runs. Text typed before the question does not answer it but goes to the prompt."""
    from clio.ui.keyboard import save_early_lines

    first_paint.restore_terminal()
    save_early_lines()  # just before the question is printed: a moment later the user may be answering
    from clio.ui.terminal_text import wrap_for_stream

    return input(f"{wrap_for_stream(question.rstrip(), sys.stdout, hanging_indent=2)} ")


def choose_session(options: Options, store: "SessionStore", ask: Ask, terminal: Terminal) -> str | None:
    """Return the id of the session to continue; None for a new one.

    Raises SessionNotFound or AmbiguousSession, and EOFError if the user cancels the choice.
    """
    if options.new:
        return None
    if options.resume:
        return store.find(options.resume)
    if options.resume is None and not options.continue_latest:
        return None
    infos = store.list()
    latest = store.latest(infos)
    if latest is None:
        raise SessionNotFound(store.explain_no_latest(tr("start clio without -c and -r")))
    if options.resume is not None:
        return _ask_for_session(store, infos, ask, terminal)
    if note := store.describe_newer_foreign(latest, infos):
        from clio.ui.terminal_text import print_text

        print_text(note)
    return latest


def _settle_open_session(store: "SessionStore", session_id: str, ask: Ask, *, offers_next: bool) -> str | None:
    """Ask what to open in place of a session that another clio has open; return its id.

    offers_next: offer the newest session that is free. Raises EOFError if the user cancels.
    """
    from clio.ui.terminal_text import print_text

    print_text(
        tr(
            "Session {session} is open in another clio ({owner}).",
            session=_quote_session(store, session_id),
            owner=store.describe_owner(session_id),
        )
    )
    free = store.latest(not_running=True) if offers_next else None
    choices = {"c": tr("continue in a copy")}
    if free is not None:
        choices["n"] = tr("continue the next one: {session}", session=_quote_session(store, free))
    choices |= {"v": tr("view it (read-only)"), "s": tr("start a new session")}
    print_text("\n".join(f"  {letter}  {meaning}" for letter, meaning in choices.items()))
    while True:
        match ask(tr("Choose a letter (Enter to cancel): ")).strip().lower():
            case "":
                raise EOFError
            case "c":
                return store.fork(session_id)
            case "n" if free is not None:
                return free
            case "v":
                from clio.ui.terminal_handoff import show_in_pager

                lines = render_last_messages(store.read(session_id), sys.maxsize, max_lines=sys.maxsize)
                if not show_in_pager("\n".join(lines), os.environ):
                    print_text(tr("No pager could be run; set PAGER to one."))
            case "s":
                return None
            case _:
                continue


def _quote_session(store: "SessionStore", session_id: str) -> str:
    """Return the session's name, else its first words, else its id, in quotation marks."""
    from clio.text.formatting import truncate

    info = next((info for info in store.list() if info.id == session_id), None)
    called = (info.name or info.first_words if info is not None else "") or session_id
    return f"“{truncate(clean(called), _CALLED_CHARS)}”"


def _ask_for_session(store: "SessionStore", infos: "Sequence[SessionInfo]", ask: Ask, terminal: Terminal) -> str | None:
    from clio.commands.session_table import make_session_table, preview_session

    table = make_session_table(infos, running=None, now=time.time())
    if terminal.live and sys.stdin.isatty():
        from clio.ui.picker import Picker
        from clio.ui.question_terminal import QuestionTerminal

        first_paint.restore_terminal()
        by_id = {info.id: info for info in infos}
        title = tr("Continue which session? (esc starts a new one)")

        def preview(session_id: str) -> str:
            return preview_session(by_id[session_id])

        gc.freeze()  # a collection among thousands of sessions would delay a key by 40 ms
        picker = Picker(title, table, tuple(by_id), 0, QuestionTerminal(terminal.theme), preview)
        return asyncio.run(picker.ask())
    from clio.ui.terminal_text import print_text

    sys.stdout.write("".join(f"{line}\n" for line in _render_table_lines(table, terminal)))
    while True:
        answer = ask(tr("Number, id or name (Enter starts a new session): ")).strip()
        if not answer:
            return None
        try:
            return store.find(answer)
        except ClioError as error:
            print_text(clean(str(error)))


def _render_table_lines(table: "Table", terminal: Terminal) -> Iterator[str]:
    if terminal.for_screen_reader:
        from clio.ui.reader.spoken_text import speak_table

        yield from speak_table(table)
        return
    from clio.ui.tables import render_table

    heading, lines = render_table(table, terminal_size()[0])
    yield from [heading, *lines] if heading else lines


def summarize_session(session: "Session") -> Iterator[str]:
    """Summarize a resumed session in plain text: its name, its length, open todos, and its last messages."""
    yield _describe_session(session)
    yield from render_last_messages(session.messages)


def _describe_session(session: "Session") -> str:
    parts = [tr("session {session}", session=_name_session(session)), tr_count(len(session.messages), "message")]
    open_todos = sum(todo.status != "completed" for todo in session.todos)
    if open_todos:
        parts.append(f"{tr_count(open_todos, 'open todo')}")
    return " · ".join(parts)


def _name_session(session: "Session") -> str:
    """Return the session's name, else the start of its first message, else the start of its id."""
    from clio.text.formatting import truncate

    if session.name:
        return session.name
    words = find_first_words(session.messages)
    return f"“{truncate(words, _CALLED_CHARS)}”" if words else session.id[:_ID_CHARS]


def render_last_messages(
    messages: Sequence[Message], count: int = TAIL_MESSAGES, *, max_lines: int = _TAIL_LINES
) -> Iterator[str]:
    """Yield the last messages as lines of plain text, each message truncated to `max_lines`."""
    from clio.export.document import format_named_call

    near = messages[-2 * count :]  # the call of the first result may be before the last `count` messages
    asked = {call.id: call for message in near if isinstance(message, AssistantMessage) for call in message.tool_calls}
    for message in messages[-count:]:
        match message:
            case UserMessage(origin="user"):
                yield from _shorten_message(message.content, USER_SIGN, max_lines)
            case AssistantMessage() if message.content.strip():
                yield from _shorten_message(message.content, "  ", max_lines)
            case ToolMessage():
                call = asked.get(message.tool_call_id)
                title = format_named_call(call) if call else message.name
                yield f"● {title} … {message.summary or (tr('done') if message.ok else tr('failed'))}"
            case _:
                pass  # calls are shown with their results; clio's own messages are not shown


def _shorten_message(text: str, mark: str, max_lines: int) -> Iterator[str]:
    lines = text.strip().splitlines()
    for number, line in enumerate(lines[:max_lines]):
        yield (mark if number == 0 else "  ") + line
    if len(lines) > max_lines:
        yield tr("  … {count} more lines", count=len(lines) - max_lines)


class SessionResume:
    """Opens the session to resume, and shows it before the app is imported, until the app takes it over."""

    def __init__(self, loaded: LoadedConfig, terminal: Terminal, printed: "PrintedRows | None" = None) -> None:
        self._printed = printed
        self._loaded = loaded
        self._terminal = terminal
        self._session: Session | None = None

    def choose(self, options: Options) -> str | None:
        """Return the id of the session to continue; None for a new one.

        May ask the user; raises as `choose_session`.
        """
        if not options.continue_latest and options.resume is None:
            return None
        from clio.sessions.store import open_session_store

        first_paint.erase_prompt()
        store = open_session_store(self._loaded)
        session_id = choose_session(options, store, ask_yes_no_at_start, self._terminal)
        if session_id is None or self._loaded.config.incognito:  # incognito opens a copy in memory
            return session_id
        if options.fork:
            return store.fork(session_id)
        if sys.stdin.isatty() and store.describe_owner(session_id):
            return _settle_open_session(store, session_id, ask_yes_no_at_start, offers_next=options.continue_latest)
        return session_id

    def show(self, session_id: str | None) -> bool:
        """Open the session and print how it ended; return whether the prompt may appear before the app is loaded.

        False if the terminal does not allow it, or if a warning or a question that needs the app comes first. Raises
        what `SessionStore.open` raises.
        """
        if session_id is None and self._terminal.live:
            return True
        first_paint.erase_prompt()
        if session_id is None:
            return False
        from clio.sessions.store import open_session_store

        session = open_session_store(self._loaded).open(session_id, persist=not self._loaded.config.incognito)
        self._session = session
        if not self._terminal.live or session.warnings or session.plan_mode:
            return False
        from clio.ui.pipe_screen import TerminalOutput

        text = _render_session_text(session, self._terminal)
        TerminalOutput(sys.stdout).write(text)
        if self._printed is not None:
            self._printed.add(text)
        return True

    def hand_over(self, app: "App") -> None:
        """Give the opened session, if any, to the app."""
        if self._session is not None:
            app.continue_session(self._session)
            self._session = None

    def close(self) -> None:
        """Close a session that no app has taken over."""
        if self._session is not None:
            self._session.close()
            self._session = None


def render_session(session: "Session", theme: Theme, width: int) -> "Iterator[Part]":
    """Yield a line that names the session, and its last messages as they looked in the conversation."""
    from rich.text import Text

    from clio.ui.painter import Part
    from clio.ui.past_conversation import render_past_messages

    yield Part(body=Text(clean(_describe_session(session)), theme.faint))
    yield from render_past_messages(session.messages, theme, width)


def _render_session_text(session: "Session", terminal: Terminal) -> str:
    """Return what `Screen.show_parts` prints, before the app and its screen are imported."""
    from clio.ui.painter import Painter

    painter = Painter(terminal.theme, terminal_size)
    parts = render_session(session, terminal.theme, terminal_size()[0])
    return "".join(map(painter.render_lines, parts)) + "\n"
