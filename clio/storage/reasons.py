"""What an error of the operating system means to a person, and what to do about it."""

import errno

from clio.storage.filelock import NoLocks
from clio.storage.reading import NotAFile, TooLarge

NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS))
"""What only who writes is told."""
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file may not grow",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission was denied",
    errno.EPERM: "permission was denied",
}
_STEPS = {
    errno.ENOSPC: "make room, then try again",
    errno.EDQUOT: "make room, then try again",
    errno.EFBIG: "raise the limit on the size of files, then try again",
    errno.EROFS: "make it writable, or work with --incognito",
    errno.EACCES: "make it yours, or work with --incognito",
    errno.EPERM: "make it yours, or work with --incognito",
}

_STEP = "look there, then try again"


def reason(error: OSError) -> str:
    """Why it failed, as a clause in lower case."""
    if isinstance(error, TooLarge):  # its number is that of a file that may not grow, which is about writing
        return f"it {_describe_size(error)}"
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def _describe_size(error: TooLarge) -> str:
    return f"is too large to read ({_size_text(error.size)}; limit {_size_text(error.max_bytes)})"


def _size_text(size: int) -> str:
    for unit, bytes_each in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_each:
            return f"{size / bytes_each:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"


def cause(error: Exception) -> str:
    """Why it failed and which file it is about, as a clause of a longer sentence; else the error's own words."""
    if not isinstance(error, OSError) or isinstance(error, NoLocks) or error.errno is None:
        return str(error)
    return reason(error) if error.filename is None else f"{reason(error)} ({str(error.filename)!r})"


def next_step(error: Exception) -> str:
    """What to do about it, as a clause in the imperative."""
    if isinstance(error, TooLarge | NotAFile):
        return "move it away"
    return _STEPS.get(error.errno or 0, _STEP) if isinstance(error, OSError) else _STEP


def sentence(error: OSError) -> str:
    """The thing, the cause and the next step; the error's own words where the operating system did not raise it."""
    if isinstance(error, NoLocks) or error.errno is None:
        return str(error)
    if isinstance(error, TooLarge):
        return f"{str(error.filename)!r} {_describe_size(error)}; {next_step(error)}."
    thing = "the output, or a file of clio's," if error.filename is None else repr(str(error.filename))
    return f"{thing} could not be used: {reason(error)}; {next_step(error)}."
