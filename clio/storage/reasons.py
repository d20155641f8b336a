"""What an error of the operating system means to a person, and what to do about it."""

import errno

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


def reason(error: OSError) -> str:
    """Why it failed, as a clause in lower case."""
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def sentence(error: OSError) -> str:
    """The thing, the cause and the next step, where they are known; else the error's own words."""
    step = _STEPS.get(error.errno or 0)
    if step is None or error.filename is None:
        return str(error)
    return f"{str(error.filename)!r} could not be used: {reason(error)}; {step}."
