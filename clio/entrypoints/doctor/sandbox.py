"""What keeps the commands that the model runs apart from the rest of the machine, found out by trying it."""

import os
from collections.abc import Iterator
from pathlib import Path

from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok
from clio.errors import ToolFailed
from clio.sandbox.fence import Level
from clio.sandbox.sandbox import Confinement, Sandbox

_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))
_SHORT_CHARS = 100
_PARTLY = ", in part: files' modes and times, and other terminals, stay open to them"


def check_sandbox(ground: Ground) -> Iterator[Finding]:
    """Which level holds, or would: one small command is run behind each, in a folder of its own that is removed."""
    config = ground.loaded.config
    # "off" is tried as "auto": whoever has none is told what there could be.
    choice = "auto" if config.sandbox == "off" else config.sandbox
    sandbox = Sandbox(choice, home=ground.home, person=ground.person, env=ground.env)
    try:
        level = sandbox.level()
    except ToolFailed as error:
        wrong, _, todo = str(error).partition("; ")
        yield fix("sandbox", wrong.removeprefix("the sandbox "), todo.removeprefix("the user can "))
        return
    why = _why(sandbox)
    if config.sandbox != "off":
        none = f"none holds here: {why}{_around()}"
        held = f"{level} holds commands to the project{_PARTLY if level == 'landlock' else ''}"
        install = "install bubblewrap, or run clio in a container"
        yield note("sandbox", none, install) if level == "off" else ok("sandbox", held)
        return
    in_part = ", in part" if level == "landlock" else ""
    would = f"{level} would hold them here{in_part}" if level != "off" else f"none would hold them here: {why}"
    text = f"off, commands run with your rights{_around()}, approve is {config.approve}; {would}"
    if config.approve != "all" or _container():
        yield ok("sandbox", text)
    else:
        yield note("sandbox", text, "clio --sandbox auto, or --approve edits")


def check_confinement(ground: Ground) -> Iterator[Finding]:
    """What confines commands that run without a question: one small command is run to find out."""
    confinement = Confinement(
        wanted=ground.loaded.config.confine_unasked != "off", home=None, person=ground.person, env=ground.env
    )
    about, sentence = "confinement", confinement.describe()
    text = sentence[:1].lower() + sentence[1:]
    if not confinement.wanted:
        yield ok(about, text)
    elif confinement.level() == "off":
        yield note(about, text, "install bubblewrap, or use Linux 6.2 or later")
    else:
        yield ok(about, text)


def _why(sandbox: Sandbox) -> str:
    """Why no level holds, each in a few words."""
    reasons: dict[Level, str] = dict(sandbox.reasons)
    return ", ".join(f"{level}: {reason[:_SHORT_CHARS]}" for level, reason in reasons.items() if reason)


def _around() -> str:
    """What is round clio itself."""
    if found := _container():
        return f", inside a container ({found})"
    return ", as root" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""


def _container() -> str:
    return next((str(path) for path in _CONTAINER if path.exists()), "")
