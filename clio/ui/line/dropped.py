"""A file that was dragged onto the terminal arrives as a pasted path; of a picture it becomes a mention."""

import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from clio.context.message_parts import write_mention
from clio.images import looks_like_image

_MAX_CHARS = 4_000


def dropped_pictures(pasted: str, project: Path) -> str:
    """The mentions of the pictures whose paths were pasted, with a blank behind; "" where it is anything else."""
    text = pasted.strip()
    if not text or len(text) > _MAX_CHARS or "\n" in text or not looks_like_image(text.rstrip("'\"")):
        return ""
    paths = [_local(text)] if _is_picture(_local(text)) else [_local(word) for word in _words(text)]
    if not paths or not all(map(_is_picture, paths)):
        return ""
    return " ".join(write_mention(_shown(path, project)) for path in paths) + " "


def _words(text: str) -> list[str]:
    """The words as a shell would read them: terminals quote blanks in paths in one way or another."""
    try:
        return shlex.split(text)
    except ValueError:  # an open quote: no path a terminal has written
        return []


def _local(word: str) -> Path:
    url = urlsplit(word) if word.startswith("file://") else None
    return Path(unquote(url.path) if url else word).expanduser()


def _is_picture(path: Path) -> bool:
    try:
        return path.is_absolute() and looks_like_image(path.name) and path.is_file()
    except OSError:  # a name no file can have
        return False


def _shown(path: Path, project: Path) -> str:
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else str(path)
