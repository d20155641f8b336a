"""Commands that keep something, where no file may grow: each says in words that it could not, and ends with 1 or 2.

A part of `torture.trouble`. The limit is on the size of files, so that it is the same everywhere.
"""

import random
import re
import shutil
from pathlib import Path

from torture.job import Job
from torture.jobs import settling
from torture.oracle import BUG, Oracle
from torture.process import Ended, Trouble, start
from torture.world import AT_WORK, World

KEEPERS: tuple[tuple[str, ...], ...] = (
    ("memory", "sleep"),
    ("note", "delete", "plan"),
    ("feedback", "+"),
    ("memory", "remember", "a word", "--type", "fact"),
    ("cost", "rebuild"),
    ("import", "aider", "--again"),
    ("memory", "add", "discovery", "a word"),
    ("prefs", "add", "a word", "--score", "8"),
    ("note", "set", "key", "a word"),
    ("memory", "compact"),
    ("memory", "undo"),
    ("memory", "share", "on", "--yes"),
    ("style", "on"),
    ("style", "off"),
    ("style", "use", "concise"),
    ("style", "reset", "casual"),
    ("style", "export", "styles.out"),
    ("memory", "export", "memory.out"),
    ("sessions", "export", "1", "session.html"),
    ("sessions", "name", "1", "a name"),
    ("docs", "add", "doc.md"),
    ("docs", "remove", "doc.md"),
    ("docs", "refresh"),
    ("init",),
)
LOOKERS: tuple[tuple[str, ...], ...] = (
    ("memory", "list"),
    ("memory", "recall", "zoo"),
    ("memory", "stats"),
    ("memory", "log"),
    ("note", "list"),
    ("prefs", "show"),
    ("style", "list"),
    ("feedback",),
    ("docs", "search", "marmots"),
    ("recall", "marmot"),
    ("sessions", "search", "marmot"),
    ("sessions", "list"),
    ("cost", "days"),
    ("gc", "--yes"),
    ("doctor",),
    ("-p", "hello"),
)
"""What needs to keep nothing: it ends with 0 all the same, and says what was not kept where there was something."""
NUMBERED = re.compile(r"[^\n]*\[Errno [^\n]*")


def writers(folder: Path, url: str, rng: random.Random, rounds: int) -> tuple[str, list[str]]:
    """So many of the commands, in a project in which there is something to keep."""
    world, oracle = World(folder / "f", url).make(), Oracle()
    work = ("-p", f"script:{AT_WORK}", "--approve", "all")
    used = Job(kind="turn", arguments=work), Job(kind="docs", arguments=("docs", "add", "doc.md"))
    for job in (*settling(rng, world), *used):
        oracle.note(job, start(job.arguments, world.project, world.env).finish())
    problems = list(oracle.problems)
    aside = folder / "aside"
    shutil.copytree(world.folder, aside, symlinks=True)
    chosen = [*KEEPERS, *LOOKERS] if rounds > len(KEEPERS) else KEEPERS[: rounds * 2]
    for words in chosen:
        shutil.rmtree(world.folder)
        shutil.copytree(aside, world.folder, symlinks=True)
        ended = start(words, world.project, world.env, trouble=Trouble(file_bytes=0)).finish()
        problems += [f"{' '.join(words)}: {wrong}" for wrong in _wrong(ended, keeps=words in KEEPERS)]
    return f"{len(chosen)} commands where no file may grow", problems


def _wrong(ended: Ended, *, keeps: bool) -> list[str]:
    if ended.code is None or ended.code < 0 or BUG.search(ended.err):
        return [f"exit code {ended.code}: {ended.err[-1500:]}"]
    if keeps and ended.code not in (1, 2):
        return [f"nothing could be kept, and it ended with {ended.code}: {ended.out[-500:]}"]
    if keeps and not ended.err.strip():
        return [f"it ended with {ended.code} and said nothing"]
    return NUMBERED.findall(ended.out + ended.err)
