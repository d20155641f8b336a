"""The person's own editor, for a text that is easier changed there."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from clio.errors import UserError
from clio.storage.locks import cause

_USUAL = "notepad" if os.name == "nt" else "vi"


def words_of(command: str, *, windows: bool = os.name == "nt") -> list[str]:
    """A program and its options, as a variable names them. On Windows a backslash is part of a path.

    Raises ValueError where a quotation mark lacks its other.
    """
    if not windows:
        return shlex.split(command)
    return [word.strip('"') for word in shlex.split(command, posix=False)]


def edit_text(text: str, suffix: str = ".md") -> str | None:
    """What the person made of the text in $VISUAL or $EDITOR; None where they left it as it was.

    Without either it is vi, on Windows notepad. The file they edit is readable by them alone and gone afterwards.
    Raises UserError where there is no terminal, the editor cannot be run, or it ends with an error.
    """
    if not (sys.stdin and sys.stdin.isatty()):
        raise UserError("an editor needs a terminal; give the new text on the command line instead")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _USUAL
    import tempfile

    with tempfile.TemporaryDirectory(prefix="clio-edit-") as folder:
        path = Path(folder, f"text{suffix}")
        path.write_bytes(text.encode("utf-8"))  # bytes: line endings stay what they are
        try:
            code = subprocess.run([*words_of(editor), str(path)], check=False).returncode
        except (OSError, ValueError) as error:
            why = f"{cause(error)}; set EDITOR to one that can"
            raise UserError(f"the editor {editor!r} cannot be run: {why}") from error
        if code:
            raise UserError(f"the editor {editor!r} ended with exit code {code}; nothing was changed")
        edited = path.read_bytes().decode("utf-8", "replace")
    return edited if edited != text else None
