"""The clipboard: its picture, by whichever program can hand it out, and a text put on it through the terminal."""

import asyncio
import base64
import os
import sys

from clio.errors import UserError
from clio.images import MAX_IMAGE_BYTES, media_type

_TIMEOUT_S = 5.0
_MAX_COPIED = 70_000
_POWERSHELL = (
    "Add-Type -AssemblyName System.Windows.Forms;"
    "$i=[Windows.Forms.Clipboard]::GetImage();"
    "if($i){$m=New-Object IO.MemoryStream;$i.Save($m,'Png');$o=[Console]::OpenStandardOutput();"
    "$b=$m.ToArray();$o.Write($b,0,$b.Length)}"
)


def copy_sequence(text: str) -> str:
    """What a terminal takes for "put this on the clipboard" (OSC 52); through tmux too where that lets it pass.

    A terminal that does not know it shows nothing. Text beyond 70,000 bytes is left out: many refuse more.
    """
    data = base64.b64encode(text.encode("utf-8", "replace")[:_MAX_COPIED]).decode("ascii")
    return f"\x1b]52;c;{data}\x07"


def clipboard_command() -> list[str] | None:
    """The command that prints the clipboard's picture as png; None where no such program is installed."""
    import shutil

    wayland = bool(os.environ.get("WAYLAND_DISPLAY"))
    offers = {
        "wl-paste": ["--no-newline", "--type", "image/png"],
        "xclip": ["-selection", "clipboard", "-t", "image/png", "-o"],
        "pngpaste": ["-"],
    }
    order = ["wl-paste", "xclip"] if wayland else ["xclip", "wl-paste"]
    for name in ["pngpaste"] if sys.platform == "darwin" else order:
        if path := shutil.which(name):
            return [path, *offers[name]]
    if sys.platform == "win32" and (path := shutil.which("powershell")):
        return [path, "-NoProfile", "-Command", _POWERSHELL]
    return None


async def clipboard_image() -> bytes:
    """The picture. Raises UserError where there is no program to ask, or no picture."""
    command = clipboard_command()
    if command is None:
        need = "pngpaste" if sys.platform == "darwin" else "wl-paste or xclip"
        raise UserError(f"pasting a picture needs {need}; install it, or name the file with @")
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise UserError(f"{command[0]!r} cannot be run ({error.strerror}); name the picture's file with @") from error
    try:
        data, _ = await asyncio.wait_for(process.communicate(), _TIMEOUT_S)
    except TimeoutError:
        raise UserError(f"{command[0]!r} did not answer; name the picture's file with @") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not media_type(data):
        raise UserError("no picture is on the clipboard; paste text with your terminal's own key")
    if len(data) > MAX_IMAGE_BYTES:
        raise UserError("the picture on the clipboard is larger than 10 MB; save it smaller and name it with @")
    return data
