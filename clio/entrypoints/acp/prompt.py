"""What an editor sends as a prompt, brought into clio's own form: words with mentions, pictures, attached texts."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from clio.context.message_parts import Shelf, write_mention
from clio.context.message_views import cut_text
from clio.errors import UsageError
from clio.fragments import Fragment
from clio.images import MAX_IMAGE_BYTES
from clio.text.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from acp.schema import (
        AudioContentBlock,
        EmbeddedResourceContentBlock,
        ImageContentBlock,
        ResourceContentBlock,
        TextContentBlock,
    )

Block: TypeAlias = (
    "TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock"
)
MAX_ATTACHED_CHARS = 48_000
_ATTACHED_TOKENS = 24_000
_LINES = LazyRegex(r"L(\d{1,9})(?:[-:]L?(\d{1,9}))?")


class EditorShelf(Shelf):
    """A shelf that also holds texts the editor attached to a message."""

    def __init__(self) -> None:
        super().__init__()
        self._attached: list[Fragment] = []

    def attach(self, name: str, text: str) -> None:
        """Attach a text to the next message, truncated to MAX_ATTACHED_CHARS."""
        shown = cut_text(text, MAX_ATTACHED_CHARS, "read the file for all of it")
        self._attached.append(
            Fragment(
                name="attached",
                text=shown,
                source=name.replace('"', "'"),
                reason="the user attached it",
                cap_tokens=_ATTACHED_TOKENS,
            )
        )

    def take_offered(self) -> list[Fragment]:
        """Remove and return everything on the shelf, oldest first."""
        taken, self._attached = self._attached, []
        return [*super().take_offered(), *taken]


def read_blocks(blocks: "list[Block]", shelf: EditorShelf) -> str:
    """The text of a prompt; images and attachments go on the shelf, and the text names them.

    Raises UsageError for an empty prompt, and for audio and other binary data.
    """
    words = ""
    for block in blocks:
        piece = _words(block, shelf)
        glued = words and not words[-1].isspace() and piece[:1] and not piece[0].isspace()
        words += (" " if glued and block.type != "text" else "") + piece
    if not words.strip():
        raise UsageError("the prompt is empty; write what is to be done")
    return words.strip()


def _words(block: "Block", shelf: EditorShelf) -> str:
    if block.type == "text":
        return block.text
    if block.type == "image":
        return _picture(block.data, shelf)
    if block.type == "audio":
        raise UsageError("clio takes no sound; send text, files or pictures")
    if block.type == "resource_link":
        return named(block.uri, block.title or block.name)
    resource = block.resource
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        shelf.attach(_called(resource.uri), text)
        return _called(resource.uri)
    if (resource.mime_type or "").startswith("image/"):
        return _picture(str(getattr(resource, "blob", "")), shelf)
    raise UsageError(f"{_called(resource.uri)!r} is neither text nor a picture; name the file instead")


def named(uri: str, title: str) -> str:
    """How the text names a link: a file as a mention, which clio then reads; anything else by its address."""
    path, lines = _file(uri)
    if path:
        return write_mention(path) + lines
    return f"{title} ({uri})" if title and title != uri else uri


def _called(uri: str) -> str:
    """The name under which a text is attached."""
    path, lines = _file(uri)
    return f"{Path(path).name}{lines}" if path else uri


def _file(uri: str) -> tuple[str, str]:
    """The path and the line range, as in a mention, of a file URI; empty strings for any other address."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return "", ""
    found = _LINES.fullmatch(unquote(parts.fragment))
    last = found[2] if found else None
    lines = f":{found[1]}{f'-{last}' if last else ''}" if found else ""
    return url2pathname(parts.path), lines


def _picture(data: str, shelf: EditorShelf) -> str:
    if len(data) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        raise UsageError(f"the picture is larger than {MAX_IMAGE_BYTES // 1_000_000} MB; send a smaller one")
    try:
        return f"@clipboard:{shelf.add_image(base64.b64decode(data, validate=True))}"
    except ValueError:  # binascii.Error is one
        raise UsageError("the picture is no base64 text; send it again") from None
