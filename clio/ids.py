"""Identifiers that sort by creation time."""

import os
import time

_MAX_CLOCK_DIFFERENCE_S = 86_400.0  # another machine's clock may be ahead by up to a day


def new_id() -> str:
    """Return a UUID version 7 in its 36-character form: 48 bits of Unix milliseconds, 74 random bits.

    Source: RFC 9562, section 5.7. (`uuid.uuid7` needs Python 3.14.)
    """
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    # The version, 7, in bits 76 to 79, and the variant, binary 10, in bits 62 and 63.
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_own_id(id: str) -> bool:
    """Whether `new_id` could have created this id: a UUID version 7 whose time is not in the future."""
    shape = "".join("x" if char in "0123456789abcdef" else char for char in id)
    is_version_7 = shape == "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" and id[14] == "7" and id[19] in "89ab"
    return is_version_7 and 0.0 < id_time(id) <= time.time() + _MAX_CLOCK_DIFFERENCE_S


def id_time(id: str) -> float:
    """Return when an id was created by `new_id`, in seconds since the epoch; 0.0 for another kind of id."""
    digits = id.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":
        return 0.0
    try:
        return int(digits[:12], 16) / 1000
    except ValueError:
        return 0.0
