"""Convert what MCP servers answer to text, pictures and files: tool results, resources and prompts, all bounded."""

import binascii
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from clio.images import MAX_TOOL_IMAGE_BYTES, NotAPicture, Picture, detect_media_type, read_picture
from clio.mcp.values import McpReply
from clio.storage.files import make_ignored_folder, write_atomic
from clio.text.formatting import format_bytes

MAX_PICTURES = 10
"""Maximum number of images in one answer."""
MAX_ANSWER_CHARS = 1_000_000
"""Maximum length of one answer. The tool runner sends the model less, and stores all of it for `read_output`."""
MAX_FILES, MAX_FILE_BYTES, MAX_FOLDER_BYTES = 10, 20_000_000, 100_000_000
"""Limits for files that are no text and no picture: in one answer, of one file, and of all that are kept."""
# No other suffix is ever written, so that no file can be started by its name.
_SUFFIXES = {
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "application/gzip": ".gz",
    "application/json": ".json",
    "text/csv": ".csv",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/flac": ".flac",
    "video/mp4": ".mp4",
    "image/svg+xml": ".svg.txt",
    "image/tiff": ".tiff",
    "image/bmp": ".bmp",
}


class AnswerReader:
    """Reads the answers of a process. folder: where binary parts are stored as files; None stores none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def read_result(self, blocks: Iterable[Any], structured: Any = None, *, ok: bool = True) -> McpReply:
        """Return the answer of a tool. Blocks that are not text are described in brackets.

        structured: the answer's structured content, used if the blocks have no text.
        """
        answer = _Answer(self._folder)
        parts = [answer.add_block(block) for block in blocks]
        if structured is not None and not any(part.strip() for part in parts):
            parts = [msgspec.json.format(msgspec.json.encode(structured), indent=1).decode("utf-8")]
        return answer.finish(parts, ok=ok)

    def read_resource(self, contents: Iterable[Any]) -> McpReply:
        """Return the parts of a resource."""
        answer = _Answer(self._folder)
        return answer.finish([answer.add_resource(content) for content in contents])

    def read_prompt(self, messages: Iterable[Any]) -> McpReply:
        """Return the messages of a prompt; messages of the assistant are marked as example answers."""
        answer = _Answer(self._folder)
        parts: list[str] = []
        for message in messages:
            text = answer.add_block(message.content)
            parts.append(f"[an example answer]\n{text}\n[end of the example]" if message.role == "assistant" else text)
        return answer.finish(parts)


class _Answer:
    """The pictures and files of one answer, while its blocks are read."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._pictures: list[Picture] = []
        self._file_count = 0

    def finish(self, parts: Iterable[str], *, ok: bool = True) -> McpReply:
        text = "\n\n".join(part for part in parts if part)
        if len(text) > MAX_ANSWER_CHARS:
            text = f"{text[:MAX_ANSWER_CHARS]}\n[… {len(text) - MAX_ANSWER_CHARS:,} characters left out]"
        return McpReply(text=text, ok=ok, images=tuple(self._pictures))

    def add_block(self, block: Any) -> str:
        """Return the text of one block, and keep its picture or file."""
        match block.type:
            case "text":
                return str(block.text)
            case "image":
                return self._add_binary("image", block.mime_type, block.data)
            case "audio":
                return self._add_binary("audio", block.mime_type, block.data)
            case "resource_link":
                description = " - ".join(part for part in (block.title or block.name, block.description) if part)
                return f"[resource {block.uri}: {description}]"
            case "resource":
                return f"[resource {block.resource.uri}]\n{self.add_resource(block.resource)}"
            case kind:
                return f"[a block of type {kind}]"

    def add_resource(self, contents: Any) -> str:
        """Return the text of a resource; for a binary one, keep its picture or file."""
        text = getattr(contents, "text", None)
        return str(text) if text is not None else self._add_binary(str(contents.uri), contents.mime_type, contents.blob)

    def _add_binary(self, label: str, media_type: str | None, base64: str) -> str:
        kind, size = media_type or "binary data", format_bytes(len(base64) * 3 // 4)
        if len(base64) > MAX_FILE_BYTES * 4 // 3 + 4:
            return f"[{label}: {kind}, {size}, left out: it is larger than {format_bytes(MAX_FILE_BYTES)}]"
        try:
            data = binascii.a2b_base64(base64)
        except ValueError:
            return f"[{label}: {kind}, {size}, left out: it is not valid base64]"
        why = ""
        if detect_media_type(data):
            try:
                if len(data) > MAX_TOOL_IMAGE_BYTES:
                    raise NotAPicture(f"is larger than {MAX_TOOL_IMAGE_BYTES // 1_000_000} MB")
                picture = read_picture(data, "picture")
            except NotAPicture as error:
                why = f": it {error}"
            else:
                if len(self._pictures) < MAX_PICTURES:
                    self._pictures.append(picture)
                    return f"[picture: {picture.description}]"
                why = f": an answer may contain {MAX_PICTURES} pictures"
        if kind.startswith("image/") and label == "image":
            return f"[{label}: {kind}, {size}, not shown{why}]"
        return f"[{label}: {kind}, {size}{why}, {self._store(data, kind)}]"

    def _store(self, data: bytes, kind: str) -> str:
        """Write a file and return where it is, or why it is not."""
        self._file_count += 1
        if self._folder is None or self._file_count > MAX_FILES:
            return "not stored"
        suffix = _SUFFIXES.get(kind.partition(";")[0].strip().lower(), ".bin")
        path = self._folder / f"{hashlib.sha256(data).hexdigest()[:16]}{suffix}"
        try:
            make_ignored_folder(self._folder, self._folder.parents[2])
            write_atomic(path, data, durable=False)
            delete_old_files(self._folder, path)
        except OSError as error:
            return f"not stored: {error.strerror or error}"
        return f"stored in {path}"


def delete_old_files(folder: Path, newest: Path) -> None:
    """Delete the oldest files until all together are within MAX_FOLDER_BYTES. newest: kept in any case."""
    files = sorted(
        ((entry.stat().st_mtime, entry.stat().st_size, entry) for entry in folder.iterdir() if entry != newest),
        reverse=True,
    )
    total = newest.stat().st_size
    for _, size, path in files:
        total += size
        if total > MAX_FOLDER_BYTES:
            path.unlink(missing_ok=True)
