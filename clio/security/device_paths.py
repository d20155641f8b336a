"""Which paths are devices that hold data, or stop the machine. Reads the file system for links and kinds."""

import os
import posixpath
import stat

from clio.algorithms.late_pattern import LatePattern

_HARMLESS = LatePattern(
    r"/dev/(?:null|zero|full|u?random|tty\w*|pts/.*|ptmx|console|std(?:in|out|err)|fd(?:/.*)?|shm(?:/.*)?|mqueue(?:/.*)?"
    r"|(?:tcp|udp)/.*|cu\..*|serial/.*|input/.*|uinput|snd/.*|dsp\d*|audio|midi\w*|lp\d+|usb/.*|video\d+|net/.*|kmsg|log"
    r"|hidraw\d+|i2c-\d+|spidev.*|gpiochip\d+|kvm|fuse|dri/.*|rtc\d*|nvidia\w*|bus/.*|loop-control|vcs\w*)"
)
_DISK = LatePattern(
    r"/dev/(?:[shv]d|xvd|nvme|mmcblk|r?disk|mapper/|md|dm-|loop|nbd|zd|zvol|pmem|sr\d|dasd|bcache|drbd|mtd|ubi|k?mem\b|port\b"
    r"|block/|sg\d|root\b)",
)
PROCESS_LINK = LatePattern(r"^/+proc/+(?:self|thread-self|\d+|\$\$|\*)(?:/+task/+[\d*]+)?/+(root|cwd)(?=/|$)")
"""A process's root or current folder, by a link of /proc."""
_STOPS_OR_BRICKS = LatePattern(r"/proc/sysrq-trigger\b|/sys/firmware/efi/")


def is_device(path: str) -> bool:
    """Whether writing to an absolute path goes to a device that is not known to be harmless."""
    return any(
        _STOPS_OR_BRICKS.match(each) or (each.startswith("/dev/") and _HARMLESS.fullmatch(each) is None)
        for each in _spellings(path)
    )


def is_disk(path: str) -> bool:
    """Whether an absolute path is a disk by its name or kind."""
    for each in _spellings(path):
        if _STOPS_OR_BRICKS.match(each) or _DISK.match(each.lower()):
            return True
        try:
            if stat.S_ISBLK(os.stat(each).st_mode):  # noqa: PTH116
                return True
        except (OSError, ValueError):
            continue
    return False


def _spellings(path: str) -> tuple[str, ...]:
    if "\0" in path:
        return ()
    plain = "/" + posixpath.normpath(path).lstrip("/")
    while (link := PROCESS_LINK.search(plain)) and link[1] == "root":  # the link may not exist when this is judged
        plain = plain[link.end() :] or "/"
    try:
        real = os.path.realpath(plain)
    except OSError:  # a link that may not be read
        real = plain
    # A link such as /dev/stdout leads to wherever the output goes, which is not what the line names.
    return (plain,) if _HARMLESS.fullmatch(plain) else (plain, real)
