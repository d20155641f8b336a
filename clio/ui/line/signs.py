"""Lines that begin with a sign and are no messages: `!ls` runs a command, `#text` is remembered. Pure."""

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex

_MEMORY = LazyRegex(r"#(?![#!\d])\s*(\S.*)")


class ShellLine(Struct, frozen=True, kw_only=True):
    """A command a person typed. offers: its output goes with their next message."""

    command: str
    offers: bool


def shell_line(text: str) -> ShellLine | None:
    """The command of a line such as `!git status` or, not to be offered, `!!git status`; None for any other line."""
    command = text.removeprefix("!").removeprefix("!").strip()
    if not text.startswith("!") or not command:
        return None
    return ShellLine(command=command, offers=not text.startswith("!!"))


def memory_line(text: str) -> str:
    """What a line such as `#we deploy on Fridays` is to keep; "" for any other.

    `#12` is an issue's number, `##` a heading, and what has several lines is a message.
    """
    match = _MEMORY.fullmatch(text)
    return match[1].strip() if match else ""


def sign_hint(text: str) -> str:
    """What Enter will do with such a line; "" for a message."""
    if line := shell_line(text):
        return "Enter runs this; the output goes with your next message" if line.offers else "Enter runs this"
    return "Enter keeps this as a memory" if memory_line(text) else ""
