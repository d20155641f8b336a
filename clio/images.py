"""Detect and validate pictures that can be sent to a model. Pure functions."""

import struct
from pathlib import PurePath

from msgspec import Struct

from clio.text.formatting import format_bytes
from clio.text.translation import tr

MAX_IMAGE_BYTES = 10_000_000
"""Limit for a picture that the user names or pastes."""
MAX_TOOL_IMAGE_BYTES = 5_000_000
"""Limit for a picture from a tool: the smallest limit of any provider for a single picture."""
MAX_SIDE_PIXELS = 8_000
"""Anthropic refuses a request with a larger picture."""
_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def has_image_suffix(name: str) -> bool:
    """Whether a file's name has the suffix of a picture."""
    return PurePath(name).suffix.lower() in _SUFFIXES


def detect_media_type(data: bytes) -> str:
    """Return the media type of these bytes by their first ones; "" unless it is one of the four supported kinds."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), "")


class Picture(Struct, frozen=True, kw_only=True):
    """A picture from a tool. media_type: "image/png" and the like. size: width and height in pixels."""

    data: bytes
    name: str
    media_type: str
    size: tuple[int, int]

    @property
    def description(self) -> str:
        """Kind, pixels and bytes: "png, 640 × 480 pixels, 12 kB"."""
        width, height = self.size
        return tr(
            "{format}, {width:,} × {height:,} pixels, {bytes}",
            format=self.media_type.partition("/")[2],
            width=width,
            height=height,
            bytes=format_bytes(len(self.data)),
        )


class NotAPicture(Exception):
    """Why these bytes cannot be sent as a picture, as the end of a sentence."""


def read_picture(data: bytes, name: str) -> Picture:
    """Parse the bytes of a picture. Raises NotAPicture.

    A server refuses all later requests of a conversation that contains a picture it cannot read, so a truncated or
    too large picture is rejected here.
    """
    kind = detect_media_type(data)
    if not kind:
        raise NotAPicture(tr("is not a png, jpeg, gif or webp image"))
    if len(data) > MAX_TOOL_IMAGE_BYTES:
        raise NotAPicture(
            tr(
                "has {size}, and the limit is {limit}; make a smaller copy and read that",
                size=format_bytes(len(data)),
                limit=format_bytes(MAX_TOOL_IMAGE_BYTES),
            )
        )
    size = find_image_size(data)
    if size is None or not _has_end_marker(data, kind):
        raise NotAPicture(tr("looks like a {format} image but is damaged or truncated", format=kind.partition("/")[2]))
    if max(size) > MAX_SIDE_PIXELS:
        raise NotAPicture(
            tr(
                "has {width:,} × {height:,} pixels, and the limit is {max_side_pixels:,} per side; make a "
                "smaller copy and read that",
                width=size[0],
                height=size[1],
                max_side_pixels=MAX_SIDE_PIXELS,
            )
        )
    return Picture(data=data, name=name, media_type=kind, size=size)


def find_image_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels; None if the bytes do not contain them, or one of them is zero."""
    try:
        match detect_media_type(data):
            case "image/png":
                size = struct.unpack_from(">II", data, 16) if data[12:16] == b"IHDR" else (0, 0)
            case "image/gif":
                size = struct.unpack_from("<HH", data, 6)
            case "image/jpeg":
                size = _find_jpeg_size(data)
            case "image/webp":
                size = _find_webp_size(data)
            case _:
                return None
    except struct.error:
        return None
    width, height = size
    return (width, height) if width > 0 and height > 0 else None


def _find_jpeg_size(data: bytes) -> tuple[int, int]:
    offset = 2
    while offset + 9 < len(data) and data[offset] == 0xFF:
        marker = data[offset + 1]
        if marker == 0xFF:  # a fill byte
            offset += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a start-of-frame segment
            height, width = struct.unpack_from(">HH", data, offset + 5)
            return width, height
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # markers without a length
            offset += 2
        else:
            offset += 2 + struct.unpack_from(">H", data, offset + 2)[0]
    return 0, 0


def _find_webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = struct.unpack_from("<I", data, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(data) >= 30:
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case _:
            return 0, 0


def _has_end_marker(data: bytes, kind: str) -> bool:
    """Whether the picture has the end marker of its kind, whatever follows."""
    match kind:
        case "image/png":
            return b"IEND\xaeB`\x82" in data
        case "image/jpeg":
            return b"\xff\xd9" in data
        case "image/gif":
            return data.rstrip(b"\0")[-1:] == b";"
        case _:
            return int.from_bytes(data[4:8], "little") + 8 <= len(data)
