"""Confines the commands that run without a question: they can write nothing but a /tmp of their own, and reach nothing.

It is the second line of defence. The first is the policy's judgement that such a command only reads; should that be
wrong, nothing happens all the same.
"""

import os
import platform
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clio.config.loaded import Loaded
from clio.config.paths import user_home
from clio.errors import ToolFailed
from clio.storage.files import write_atomic
from clio.storage.locks import cause

if TYPE_CHECKING:  # needed with the first command
    from clio.sandbox.fence import Enclosed, Level

FILE_NAME = "confinement.json"
_ORDER: "tuple[Level, ...]" = ("bwrap", "landlock", "seatbelt")
_WORKS: "dict[Level, str]" = {
    "bwrap": "bwrap: files read-only, no network, no secrets",
    "landlock": "landlock: files read-only, no network, no secrets",
    "seatbelt": "seatbelt: files read-only, no network, no secrets",
}


class Confinement:
    """Whether and how this clio confines commands. Safe to use from any thread.

    The level is found out by running a small command, before the first command that runs without a question. What
    works is remembered in `home` until the machine is started again or bubblewrap changes.

    Args:
        wanted: whether commands are to be confined.
        home: clio's own folder; None where no file may be made: nothing is remembered, and with Landlock commands have
            no folder for temporary files.
        person: the user's home folder.
        env: clio's environment.
    """

    def __init__(self, *, wanted: bool, home: Path | None, person: Path, env: Mapping[str, str]) -> None:
        self.wanted = wanted
        self._home = home
        self._person = person
        self._env = env
        self._level: Level | None = None if wanted else "off"
        self._reasons: dict[Level, str] = {}
        self._lock = threading.Lock()

    @property
    def reasons(self) -> "Mapping[Level, str]":
        """Why the levels that were tried do not work; empty before `level`."""
        return self._reasons

    def level(self) -> "Level":
        """What confines commands here; "off" where nothing does. The first call takes 5 to 60 ms; for a thread."""
        with self._lock:
            if self._level is None:
                self._level = self._recall() or self._find()
            return self._level

    def describe(self) -> str:
        """One sentence for the user on what holds; for a thread, as `level`."""
        level = self.level()
        if not self.wanted:
            return "Commands that run without a question are not confined (confine_unasked: off)"
        if level == "off":
            why = ", ".join(f"{name}: {reason}" for name, reason in self._reasons.items())
            return f"Commands that run without a question can't be confined here ({why}); they are still checked first"
        return f"Commands that run without a question are confined ({_WORKS[level]})"

    def enclose(
        self,
        argv: Sequence[str],
        root: Path,
        env: Mapping[str, str],
        *,
        network: bool = False,
        lingers: bool = False,
    ) -> "Enclosed | None":
        """The same command, confined; None where nothing can confine it. For a thread. Raises ToolFailed.

        `Enclosed.tmp`, where there is one, is to be removed after the command.

        Args:
            argv: the program and its arguments.
            root: the workspace, where it runs.
            env: the command's environment; programs on its PATH are found, in /tmp too.
            network: leave it the network and the sockets of other programs.
            lingers: it goes on as long as anything it started does.
        """
        level = self.level()
        if level == "off":
            return None
        from clio.sandbox.probe import confine

        try:
            return confine(
                level,
                root,
                tuple(argv),
                person=self._person,
                env=env,
                network=network,
                lingers=lingers,
                own_tmp=self._home is not None,
            )
        except OSError as error:
            raise ToolFailed(f"the command was not run, because it could not be confined: {cause(error)}") from error

    def use(self, level: "Level") -> None:
        """Use this level without finding out whether it works; for tests and measurements."""
        with self._lock:
            self._level = level

    def try_again(self) -> None:
        """Find the level out once more, since what was remembered does not work; for a thread."""
        with self._lock:
            self._level = self._find()

    def _find(self) -> "Level":
        from clio.sandbox.probe import why_not_confined

        for level in _ORDER:
            reason = self._reasons[level] = why_not_confined(level, self._env, self._person)
            if not reason:
                self._remember(level)
                return level
        return "off"

    def _recall(self) -> "Level | None":
        """The level that worked since the machine was started; what did not work is tried again each time."""
        if self._home is None or not (key := _machine()):
            return None
        import json

        try:
            stored = json.loads((self._home / FILE_NAME).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return next((level for level in _ORDER if stored == {"machine": key, "level": level}), None)

    def _remember(self, level: "Level") -> None:
        if self._home is None or not self._home.is_dir() or not (key := _machine()):
            return
        import contextlib
        import json

        with contextlib.suppress(OSError):  # it is found out again next time
            data = json.dumps({"machine": key, "level": level}).encode("ascii")
            write_atomic(self._home / FILE_NAME, data, durable=False)


def _machine() -> str:
    """What decides which level works: kernel and boot, user, container, bubblewrap, Python. "" where unknown."""
    if sys.platform == "win32":
        return ""
    import shutil

    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        spaces = [str(Path(f"/proc/self/ns/{name}").stat().st_ino) for name in ("user", "mnt")]
    except OSError:
        return ""
    try:
        profile = Path("/proc/self/attr/current").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        profile = ""
    parts = ["1", boot, platform.release(), platform.version(), str(os.getuid()), *spaces, profile, sys.executable]
    if program := shutil.which("bwrap"):
        status = Path(program).stat()
        parts += [program, str(status.st_mtime_ns), str(status.st_size)]
    return " ".join(parts)


def open_confinement(loaded: Loaded, env: Mapping[str, str]) -> Confinement:
    """The confinement of a configuration. Finds out nothing yet."""
    config = loaded.config
    home = None if config.incognito else loaded.home
    return Confinement(wanted=config.confine_unasked != "off", home=home, person=user_home(env), env=env)
