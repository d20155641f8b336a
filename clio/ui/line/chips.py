"""What a line names with "@", as short labels under it while it is typed: "+ clio/app.py:10-40 · 31 lines"."""

import stat
from pathlib import Path

from clio.context.message_parts import MAX_MENTIONS, Mention, find_mentions, readings
from clio.images import looks_like_image
from clio.security.actions import Workspace
from clio.text.lazy_regex import LazyRegex
from clio.tools.files.text_file import size_text
from clio.ui.plain import clean_line

_MAX_COUNTED_BYTES = 1_000_000
"""Of larger files the size is shown, not the lines: this is called at every key."""
_MAX_CACHED = 200
_RESOURCE = LazyRegex(r"[A-Za-z0-9][\w.-]*:[a-z][a-z0-9+.-]*:\S")
"""`server:scheme:…`, a resource of an MCP server; whether it is there is known only when it is asked."""


class Chips:
    """Labels for the mentions of a line. A file is read again only when it has changed; none outside the project is."""

    def __init__(self, project: Path) -> None:
        self._workspace = Workspace(project)
        self._lines: dict[tuple[Path, int, int], int] = {}

    def of(self, text: str) -> list[str]:
        """The labels, in order; what names nothing has none."""
        if "@" not in text:
            return []
        labels = (self._label(mention) for mention in find_mentions(text)[:MAX_MENTIONS])
        return [clean_line(label) for label in labels if label]

    def _label(self, mention: Mention) -> str:
        if mention.kind != "path":
            return f"+ {mention.label}"
        for reading in readings(mention):
            try:
                path = self._workspace.resolve(reading.name)
                status = path.stat()
            except (OSError, ValueError, RuntimeError):  # no such file, or nothing that could be one
                continue
            if stat.S_ISDIR(status.st_mode):
                return f"+ {reading.name.rstrip('/')}/"
            lines = self._count(path, status.st_size, status.st_mtime_ns)
            if lines is None or looks_like_image(reading.name):
                return f"+ {reading.label} · {size_text(status.st_size)}"
            if reading.lines is not None:
                lines = max(min(reading.lines.last, lines) - reading.lines.first + 1, 0)
            return f"+ {reading.label} · {lines:,} line" + "s" * (lines != 1)
        return f"+ {mention.label}" if _RESOURCE.match(mention.label) else ""

    def _count(self, path: Path, size: int, changed: int) -> int | None:
        if size > _MAX_COUNTED_BYTES or not path.is_file() or not self._workspace.contains(path):
            return None
        key = (path, size, changed)
        if key not in self._lines:
            if len(self._lines) >= _MAX_CACHED:
                self._lines.clear()
            try:
                data = path.read_bytes()
            except OSError:  # not ours to read; sending the line says so
                return None
            if b"\0" in data:
                return None
            self._lines[key] = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        return self._lines[key]
