"""Shows a long text in the person's own pager."""

import os
import subprocess
from collections.abc import Iterator, Mapping

from clio.ui.editor import words_of
from clio.ui.plain import clean

_USUAL = (("less", "-R"), ("more",))


def page(text: str, env: Mapping[str, str]) -> bool:
    """Show the text until the person leaves the pager; False where none can be run. For a thread: it waits.

    env: PAGER names the program, else it is less. Control sequences in the text are taken out first.
    """
    data = (clean(text).rstrip("\n") + "\n").encode("utf-8", errors="replace")
    for argv in _pagers(env):
        try:
            done = subprocess.run(argv, input=data, env={**os.environ, **env}, check=False)
        except (OSError, ValueError):
            continue
        if done.returncode not in (126, 127):  # what a shell says of a command that is not there
            return True
    return False


def _pagers(env: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """The person's own, then the usual ones."""
    try:
        own = tuple(words_of(env.get("PAGER", "")))
    except ValueError:
        own = ()
    if own:
        yield own
    yield from _USUAL
