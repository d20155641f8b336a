"""Keys of the prompt line besides typing and sending: history search, the editor, pictures from clipboard or files."""

import asyncio
import base64
import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from prompt_toolkit.application import Application, get_app, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, emacs_insert_mode, has_focus, vi_insert_mode, vi_navigation_mode
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode

from clio.context.message_parts import PendingInput, format_file_mention
from clio.errors import UserError
from clio.images import MAX_IMAGE_BYTES, detect_media_type, has_image_suffix
from clio.storage.locks import error_cause
from clio.text.translation import mark, tr
from clio.threads import find_program
from clio.ui.completer import MentionLabels
from clio.ui.history import HistorySearch
from clio.ui.line_rules import PastedTexts
from clio.ui.terminal_handoff import edit_text, hand_over_terminal

_CLIPBOARD_TIMEOUT_S = 5.0  # seconds the clipboard program may take
_MAX_COPIED_BYTES = 70_000
_POWERSHELL = (
    "Add-Type -AssemblyName System.Windows.Forms;"
    "$i=[Windows.Forms.Clipboard]::GetImage();"
    "if($i){$m=New-Object IO.MemoryStream;$i.Save($m,'Png');$o=[Console]::OpenStandardOutput();"
    "$b=$m.ToArray();$o.Write($b,0,$b.Length)}"
)


def format_clipboard_copy(text: str) -> str:
    """Return the sequence that copies text to the terminal's clipboard (OSC 52); works through tmux if tmux allows it.

    A terminal that does not support it shows nothing. Returns "" for more than 70,000 bytes, which many terminals
    refuse.
    """
    data = base64.b64encode(text.encode("utf-8", "replace")[:_MAX_COPIED_BYTES]).decode("ascii")
    return f"\x1b]52;c;{data}\x07"


def find_clipboard_command() -> list[str] | None:
    """Return the command that prints the clipboard's picture as PNG; None if no such program is installed."""
    wayland = bool(os.environ.get("WAYLAND_DISPLAY"))
    arguments = {
        "wl-paste": ["--no-newline", "--type", "image/png"],
        "xclip": ["-selection", "clipboard", "-t", "image/png", "-o"],
        "pngpaste": ["-"],
    }
    names = ["wl-paste", "xclip"] if wayland else ["xclip", "wl-paste"]
    if sys.platform == "darwin":
        names = ["pngpaste"]
    for name in names:
        if path := find_program(name):
            return [path, *arguments[name]]
    if sys.platform == "win32" and (path := find_program("powershell")):
        return [path, "-NoProfile", "-Command", _POWERSHELL]
    return None


async def read_clipboard_image() -> bytes:
    """Return the clipboard's picture. Raises UserError if there is no picture, or no program to read it."""
    command = find_clipboard_command()
    if command is None:
        need = {"darwin": "pngpaste", "win32": "powershell"}.get(sys.platform, "wl-paste or xclip")
        raise UserError(tr("pasting an image needs {need}; install it, or name the file with @", need=need))
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise UserError(
            tr(
                "{command!r} cannot be run ({strerror}); name the image file with @",
                command=command[0],
                strerror=error.strerror,
            )
        ) from error
    try:
        data, _ = await asyncio.wait_for(process.communicate(), _CLIPBOARD_TIMEOUT_S)
    except TimeoutError:
        raise UserError(tr("{command!r} did not answer; name the image file with @", command=command[0])) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not detect_media_type(data):
        raise UserError(tr("no image on the clipboard; to paste text, use your terminal's paste key"))
    if len(data) > MAX_IMAGE_BYTES:
        raise UserError(tr("the image on the clipboard is larger than 10 MB; save a smaller one and name it with @"))
    return data


_MAX_DROPPED_CHARS = 4_000


def mention_dropped_pictures(pasted: str, project: Path) -> str:
    """Return mentions of the pictures whose paths were pasted, with a blank at the end; "" for any other text."""
    text = pasted.strip()
    if not text or len(text) > _MAX_DROPPED_CHARS or "\n" in text or not has_image_suffix(text.rstrip("'\"")):
        return ""
    paths = (
        [_resolve_dropped_path(text)]
        if _is_picture_path(_resolve_dropped_path(text))
        else [_resolve_dropped_path(word) for word in _split_paths(text)]
    )
    if not paths or not all(map(_is_picture_path, paths)):
        return ""
    return " ".join(format_file_mention(_format_path(path, project)) for path in paths) + " "


def _split_paths(text: str) -> list[str]:
    """Split the text as a shell would: terminals quote blanks in paths in different ways."""
    try:
        return shlex.split(text)
    except ValueError:  # an open quote: not a path written by a terminal
        return []


def _resolve_dropped_path(word: str) -> Path:
    url = urlsplit(word) if word.startswith("file://") else None
    return Path(unquote(url.path) if url else word).expanduser()


def _is_picture_path(path: Path) -> bool:
    try:
        return path.is_absolute() and has_image_suffix(path.name) and path.is_file()
    except OSError:  # not a valid file name
        return False


def _format_path(path: Path, project: Path) -> str:
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else str(path)


SEARCH_HINT = mark("history · Enter to use · Esc to cancel")  # fits a narrow screen
_VI_MODES = {
    InputMode.INSERT: mark("vi insert"),
    InputMode.INSERT_MULTIPLE: mark("vi insert"),
    InputMode.NAVIGATION: mark("vi normal"),
    InputMode.REPLACE: mark("vi replace"),
    InputMode.REPLACE_SINGLE: mark("vi replace"),
}


class ExtraLineKeys:
    """Keys and completion of one prompt line, besides typing and sending.

    Args:
        project: for mentions and dropped files; None for a line without them.
        pending_input: where pasted pictures are saved for the next message.
        hint: shows a short text below the line until the next key.
        look_up: called at every key of a command; loads its completions and returns whether there are new ones.
    """

    def __init__(
        self,
        *,
        completer: Completer,
        history: History,
        pastes: PastedTexts,
        hint: Callable[[str], None],
        project: Path | None = None,
        pending_input: PendingInput | None = None,
        look_up: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        self._look_up = look_up
        self._default_completer = completer
        self._search = HistorySearch(history)
        self._pastes = pastes
        self._show_hint = hint
        self._project = project
        self._pending_input = pending_input
        self._labels = MentionLabels(project) if project is not None else None
        self._line_before_search: Document | None = None  # the line when the search began
        self.mention_labels: list[str] = []

    @property
    def is_searching(self) -> bool:
        """Whether typed text searches earlier lines."""
        return self._line_before_search is not None

    def get_completer(self) -> Completer:
        """The completer for the current state of the line."""
        return self._search if self.is_searching else self._default_completer

    def update_labels(self, text: str, buffer: Buffer | None = None) -> None:
        """Update the labels of mentions for this text. buffer: the line's buffer if it is open."""
        self.mention_labels = self._labels.label_mentions(text) if self._labels is not None else []
        if buffer is not None and self._look_up is not None and text.startswith("/"):
            get_app().create_background_task(self._reopen_menu(text, buffer, self._look_up))

    async def _reopen_menu(self, text: str, buffer: Buffer, look_up: Callable[[str], Awaitable[bool]]) -> None:
        """Open the menu again if more completions were found for the text still being typed."""
        if await look_up(text) and buffer.text.startswith(text):
            buffer.start_completion(select_first=False)

    def convert_paste(self, data: str) -> str:
        """Return what to insert for pasted text: the text, its placeholder, or the pictures whose paths it contains."""
        dropped = mention_dropped_pictures(data, self._project) if self._project is not None else ""
        return dropped or self._pastes.convert(data)

    def get_vi_mode(self, app: Application[str]) -> str:
        """Return the vi mode of the line, for the status line."""
        return tr(_VI_MODES.get(app.vi_state.input_mode, "vi"))

    def make_bindings(self) -> KeyBindings:
        """Return the key bindings."""
        bindings = KeyBindings()
        typing = has_focus(DEFAULT_BUFFER)
        searching = typing & Condition(lambda: self.is_searching)
        inserting = typing & (emacs_insert_mode | vi_insert_mode)

        @bindings.add("c-r", filter=typing & ~searching)
        def _(event: KeyPressEvent) -> None:
            self._begin_search(event.current_buffer)

        @bindings.add("c-r", filter=searching)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.complete_next()

        @bindings.add("enter", filter=searching)
        def _(event: KeyPressEvent) -> None:
            self._accept_match(event.current_buffer)

        @bindings.add("escape", filter=searching, eager=True)
        @bindings.add("c-g", filter=searching)
        @bindings.add("c-c", filter=searching)
        def _(event: KeyPressEvent) -> None:
            self._cancel_search(event.current_buffer)

        @bindings.add("c-g", filter=typing & ~searching)
        @bindings.add("c-x", "c-e", filter=typing & ~searching)
        @bindings.add("v", filter=typing & vi_navigation_mode)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._open_editor(event.current_buffer))

        @bindings.add("c-v", filter=inserting & ~searching)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._paste_picture(event.current_buffer))

        return bindings

    def _begin_search(self, buffer: Buffer) -> None:
        self._search.load_entries()
        self._line_before_search = buffer.document
        self._show_hint(tr(SEARCH_HINT))
        buffer.start_completion(select_first=False)

    def _accept_match(self, buffer: Buffer) -> None:
        """Put the selected line, else the best match, on the line; another Enter sends it."""
        state = buffer.complete_state
        chosen = state.current_completion if state else None
        found = None if chosen else next(iter(self._search.find_matches(buffer.text)), None)
        before, self._line_before_search = self._line_before_search, None
        buffer.complete_state = None
        text = chosen.text if chosen else found.text if found else before.text if before else ""
        buffer.document = Document(text)
        self._show_hint("")

    def _cancel_search(self, buffer: Buffer) -> None:
        before, self._line_before_search = self._line_before_search, None
        buffer.complete_state = None
        buffer.document = before or Document()
        self._show_hint("")

    async def _open_editor(self, buffer: Buffer) -> None:
        """Open the line in the user's editor, with its pastes expanded."""
        text = self._pastes.expand(buffer.text)
        try:
            async with hand_over_terminal():
                edited = await run_in_terminal(lambda: edit_text(text), in_executor=True)
        except (UserError, OSError) as error:
            self._show_hint(error_cause(error))
            return
        if edited is not None:
            buffer.document = Document(self._pastes.collapse(edited.rstrip("\n")))

    async def _paste_picture(self, buffer: Buffer) -> None:
        if self._pending_input is None:
            return
        try:
            data = await read_clipboard_image()
        except UserError as error:
            self._show_hint(str(error))
            return
        gap = "" if not buffer.document.text_before_cursor[-1:].strip() else " "
        buffer.insert_text(f"{gap}@clipboard:{self._pending_input.add_image(data)} ")
