"""The tool calls of a step on the screen: in their order, each until it and all calls before it are over."""

from collections.abc import Iterator

from clio.agent.events import ToolFinished, ToolProgress, ToolStarted
from clio.ui.painter import Part
from clio.ui.theme import Theme
from clio.ui.tool_rows import details, finished_row, interrupted_row, running_row


class _Call:
    """One call. progress may be set from another thread: the next frame draws it."""

    def __init__(self, title: str, started: float) -> None:
        self.title = title
        self.started = started
        self.progress = ""
        self.finished: ToolFinished | None = None


class CallRows:
    """Takes the events of calls; gives the rows of those that are shown, and the parts of those to be printed."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._calls: dict[str, _Call] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def start(self, event: ToolStarted, now: float) -> None:
        """A call begins. now: in the clock's seconds."""
        self._calls[event.call_id] = _Call(event.title, now)

    def progress(self, event: ToolProgress, now: float) -> None:
        """News from a call, or that it runs only now; may come from another thread. now: in the clock's seconds."""
        if (call := self._calls.get(event.call_id)) is None:
            return
        if not event.text:
            call.started = now
        call.progress = event.text

    def finish(self, event: ToolFinished, now: float, width: int) -> list[Part]:
        """A call is over: what can be printed for good by now, itself or not."""
        call = self._calls.setdefault(event.call_id, _Call(event.title, now))
        call.finished = event
        parts: list[Part] = []
        for call_id, waiting in list(self._calls.items()):
            if waiting.finished is None:
                break
            parts += self._parts(self._calls.pop(call_id), width)
        return parts

    def end(self, width: int) -> list[Part]:
        """The turn is over: all that is still shown; a call that never ended was interrupted."""
        parts = [part for call in self._calls.values() for part in self._parts(call, width)]
        self._calls.clear()
        return parts

    def rows(self, now: float, width: int) -> Iterator[Part]:
        """One row for each call that is shown."""
        for call in self._calls.values():
            if call.finished is not None:
                row = finished_row(call.finished, width, self._theme)
            else:
                row = running_row(call.title, call.progress, now - call.started, width, self._theme)
            yield Part(body=row, wraps=False)

    def _parts(self, call: _Call, width: int) -> Iterator[Part]:
        if call.finished is None:
            yield Part(body=interrupted_row(call.title, width, self._theme), wraps=False)
            return
        yield Part(body=finished_row(call.finished, width, self._theme), wraps=False)
        yield from details(call.finished, self._theme, width)
