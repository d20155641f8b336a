"""The door to the sandbox: which level holds in this run, and a command put behind it."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clio.config.deciding import OWN_FILES
from clio.config.loaded import Loaded
from clio.config.paths import FOLDER_NAME, user_home
from clio.config.schema import Sandboxing
from clio.errors import ToolFailed
from clio.sandbox.watches import Watches
from clio.storage.locks import cause

if TYPE_CHECKING:  # what puts a command behind a fence is needed with the first command
    import tempfile

    from clio.sandbox.fence import Enclosed, Fence, Level
    from clio.sandbox.guard import Guard

_ORDER: "tuple[Level, ...]" = ("bwrap", "seatbelt", "landlock")  # the one that holds most first


class Sandbox:
    """Holds the commands of one run of clio. The level is found out once, by running it, before the first command.

    choice: what was asked for; "auto" takes the best that holds, and none where none does. write: folders besides the
    project, `~` is `person`. home: clio's own folder.
    """

    def __init__(
        self,
        choice: Sandboxing,
        *,
        home: Path,
        person: Path,
        env: Mapping[str, str],
        write: Sequence[str] = (),
        caches: bool = True,
        network: bool = False,
    ) -> None:
        self.choice: Sandboxing = choice
        self.network = network
        self._home = home
        self._person = person
        self._env = env
        self._write = tuple(write)
        self._caches = caches
        self._level: Level | None = "off" if choice == "off" else None
        self._refused = ""
        self._told = not self.wanted
        self._reasons: dict[Level, str] = {}
        self._lock = threading.Lock()
        self.watches = Watches()
        self._tmp: tempfile.TemporaryDirectory[str] | None = None

    @property
    def wanted(self) -> bool:
        """Whether commands are to be held at all."""
        return self.choice != "off"

    @property
    def known(self) -> "Level | None":
        """The level that holds; None where nobody has found out yet. Costs nothing."""
        return self._level

    @property
    def reasons(self) -> "Mapping[Level, str]":
        """Why the levels that were tried do not hold."""
        return self._reasons

    @property
    def word(self) -> str:
        """For the status line: "sandbox bwrap", "sandbox landlock, partly", "no sandbox"; "" where none is wanted."""
        match self._level:
            case None:
                return "no sandbox, no commands" if self._refused else "sandbox"
            case "off":
                return "no sandbox" if self.wanted else ""
            case "landlock":
                return "sandbox landlock, partly"
            case level:
                return f"sandbox {level}"

    def level(self) -> "Level":
        """The level that holds, found out at the first call in 15 to 100 ms; for a thread.

        Raises ToolFailed where a certain one was asked for and does not hold: commands do not run unheld then.
        """
        with self._lock:
            if self._level is None and not self._refused:
                self._find()
            if self._level is None:
                raise ToolFailed(self._refused)
            return self._level

    def trouble(self) -> list[str]:
        """Sentences for the person: that what was asked for is not to be had, once; what jobs made that was undone.

        For a thread.
        """
        if self._told:
            return [note.strip("[]") for note in self.watches.put_back()]
        self._told = True
        try:
            level = self.level()
        except ToolFailed as error:
            sentence = f"no command will run: {error}"
        else:
            why = "; ".join(f"{name}: {reason}" for name, reason in self._reasons.items())
            sentence = f"no sandbox holds here, commands run with your rights ({why})" if level == "off" else ""
        return [sentence] if sentence else []

    def fence(self, root: Path) -> "Fence":
        """What commands of a workspace may touch."""
        from clio.sandbox.places import make_fence

        with self._lock:
            if self._tmp is None:
                import tempfile

                self._tmp = tempfile.TemporaryDirectory(prefix="clio-commands-", ignore_cleanup_errors=True)
            tmp = Path(self._tmp.name)
        return make_fence(
            root,
            person=self._person,
            clio_home=self._home,
            env=self._env,
            tmp=tmp,
            caches=self._caches,
            more=self._write,
            network=self.network,
        )

    def names_own_tmp(self, command: str, root: Path) -> bool:
        """Whether a line of shell names something in /tmp that is another file there than outside.

        False as long as nobody has found out the level.
        """
        if self._level != "bwrap":
            return False
        from clio.sandbox.own_tmp import named_in_tmp

        if not (named := named_in_tmp(command)):
            return False
        real = self.fence(root).write
        return any(".." in path.parts or not {path, *path.parents}.intersection(real) for path in named)

    def enclose(self, argv: Sequence[str], root: Path, *, lingers: bool = False) -> "Enclosed":
        """A command of a workspace, behind the fence where one holds; for a thread. Raises ToolFailed.

        lingers: it goes on as long as anything it started does.
        """
        from clio.sandbox.fence import Enclosed

        level = self.level()
        if level == "off":
            return Enclosed(argv=tuple(argv))
        from clio.sandbox.probe import enclose

        try:
            return enclose(level, self.fence(root), tuple(argv), root, lingers=lingers)
        except OSError as error:
            why = f"{cause(error)}; the user can start clio without it"
            raise ToolFailed(f"the sandbox cannot be set up: {why}") from error

    def guard(self, root: Path) -> "Guard":
        """Remembers what the level cannot seal, to be put back after a command; for a thread. Raises as `level`."""
        return self._guard(root, (root / FOLDER_NAME, self._home))

    def watch(self, root: Path) -> None:
        """The same for a command that goes on behind the turn, until `watches.end`; for a thread. Raises as `level`.

        Not of the project's own settings: while it runs, a person's answers are kept there, and what a command writes
        into them waits for trust.
        """
        self.watches.begin(root, lambda: self._guard(root, (self._home,)))

    def _guard(self, root: Path, folders: tuple[Path, ...]) -> "Guard":
        from clio.sandbox.guard import Guard

        match self.level():
            case "off":
                return Guard(())
            case "landlock" | "seatbelt":  # that one seals them as well, by their paths; a hard link has another
                fence = self.fence(root)
                own = (folder / name for folder in folders for name in OWN_FILES)
                files = (path for path in fence.sealed if path.is_file() or path.name == "hooks")
                return Guard(
                    (*files, *own, *fence.watched), (root / ".git", root / ".git" / "hooks", root / FOLDER_NAME)
                )
            case _:
                return Guard(self.fence(root).watched)

    def close(self) -> None:
        """Remove the /tmp of the commands."""
        if self._tmp is not None:
            self._tmp.cleanup()
            self._tmp = None

    def _find(self) -> None:
        from clio.sandbox.probe import why_not

        tried = _ORDER if self.choice == "auto" else (self.choice,)
        for level in tried:
            reason = self._reasons[level] = why_not(level, self._env)
            if not reason:
                self._level = level
                return
        if self.choice == "auto":
            self._level = "off"
            return
        self._refused = (
            f"the sandbox {self.choice!r} does not hold here: {self._reasons[self.choice]}; "
            "the user can start clio with --sandbox auto, or off"
        )


def open_sandbox(loaded: Loaded, env: Mapping[str, str]) -> Sandbox:
    """The sandbox of a configuration. Finds out nothing yet."""
    config = loaded.config
    return Sandbox(
        config.sandbox,
        home=loaded.home,
        person=user_home(env),
        env=env,
        write=config.sandbox_write,
        caches=config.sandbox_caches,
        network=config.sandbox_network,
    )
