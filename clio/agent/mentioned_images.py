"""Which bytes are a picture a model may be sent. Pure."""

from pathlib import PurePath

MAX_IMAGE_BYTES = 10_000_000
_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_SIGNS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def looks_like_image(name: str) -> bool:
    """Whether a file's name ends like that of a picture."""
    return PurePath(name).suffix.lower() in _SUFFIXES


def media_type(data: bytes) -> str:
    """What kind of picture these bytes are, by how they begin; "" for none of the four kinds."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in _SIGNS if data.startswith(sign)), "")
