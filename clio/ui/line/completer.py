"""Completion of the line: slash commands from their table, what may be named with "@", and the project's paths."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from clio.commands.typed_line import is_command
from clio.text.lazy_regex import LazyRegex
from clio.ui.line.file_names import FileNames
from clio.ui.line.mention_menu import MAX_SHOWN, MentionMenu, folder_entries, next_steps
from clio.ui.plain import clean_line

if TYPE_CHECKING:
    from clio.commands.command import Shell

_MENTION = LazyRegex(r"""(?<![\w@/.+\-])@((?:session:|note:)?"[^"\n]*|[^\s"'`<>|]*)\Z""")


class LineCompleter(Completer):
    """Completes commands while they are typed, mentions after "@", paths on Tab.

    shell: gives the running App, None while it is being built. list_files, list_ahead: see `FileNames`.
    Called in a thread: nothing of it blocks the line.
    """

    def __init__(
        self,
        shell: "Callable[[], Shell | None]",
        list_files: Callable[[], Sequence[str]],
        list_ahead: Callable[[], Sequence[str] | None] | None = None,
    ) -> None:
        self._shell = shell
        self.files = FileNames(list_files, list_ahead)
        self._mentions = MentionMenu(shell, self.files)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Everything that fits what stands before the cursor."""
        text = document.text_before_cursor
        if is_command(text) and "\n" not in text:
            from clio.commands.registry import complete

            for suggestion, typed in complete(self._shell(), text):
                yield _offered(suggestion.text, typed, suggestion.text, suggestion.note)
            if open_mention(text) is None:
                return
        typed = open_mention(text)
        if typed is not None:
            for offer in self._mentions.offers(typed):
                yield _offered(offer.text, len(typed) + 1, offer.shown, offer.note)
        elif complete_event.completion_requested and (word := last_word(text)):
            for path in self._paths(word):
                yield _offered(path, len(word), path)

    def _paths(self, typed: str) -> Iterator[str]:
        found = folder_entries(typed) if typed.startswith(("/", "~")) else matching_paths(self.files.now()[0], typed)
        yield from found[:MAX_SHOWN]


def _offered(text: str, typed: int, shown: str, note: str = "") -> Completion:
    """An offer in place of the last `typed` characters; what the menu shows of it cannot steer the terminal."""
    return Completion(text, start_position=-typed, display=clean_line(shown), display_meta=clean_line(note))


def open_mention(before: str) -> str | None:
    """What was typed of a mention behind its "@", where the cursor stands in one; else None."""
    match = _MENTION.search(before)
    return match[1] if match else None


def takes_offer(buffer: Buffer) -> bool:
    """Let Enter take what the menu offers for a path or a mention: what was chosen, else the first offer.

    False where there is nothing to take: no menu, a command, or the offer is what stands there already.
    """
    state = buffer.complete_state
    if state is None or not state.completions or buffer.text.startswith("/"):
        return False
    if state.current_completion is None:
        first = state.completions[0]
        before = buffer.document.text_before_cursor
        if open_mention(before) in (None, "") or before.endswith(first.text):
            return False
        if any(before.endswith(offer.text) for offer in state.completions):
            return False  # what was typed is itself one of them
        buffer.apply_completion(first)
    buffer.complete_state = None
    return True


def last_word(text: str) -> str:
    """What stands between the last blank and the cursor."""
    return "" if not text or text[-1].isspace() else text.split()[-1]


def matching_paths(files: Sequence[str], typed: str) -> list[str]:
    """The next steps down from `typed`, folders with a final slash, then files whose own name begins like it."""
    start = typed.removeprefix("./")
    named: list[str] = []
    if start and "/" not in start:
        named = [path for path in files if not path.startswith(start) and path.rpartition("/")[2].startswith(start)]
    return [*next_steps(files, start), *sorted(named, key=lambda path: (path.count("/"), path))]
