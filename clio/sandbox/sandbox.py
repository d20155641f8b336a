"""The sandbox of one run: which level works, commands started in it, and files watched while commands run."""

import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clio.config.loaded import LoadedConfig
from clio.config.paths import FOLDER_NAME, user_home
from clio.config.project_rules import PERMISSION_FILES
from clio.config.schema import Sandboxing
from clio.errors import ToolFailed
from clio.storage.files import write_atomic
from clio.storage.locks import error_cause
from clio.text.translation import mark, tr

if TYPE_CHECKING:
    import tempfile

    from clio.sandbox.fence import EnclosedCommand, Fence, SandboxLevel
    from clio.sandbox.file_guard import FileGuard


class FileWatches:
    """One guard per workspace with running commands. It holds the state from before the first of them started.

    Changes cannot be attributed: what the user changes meanwhile is moved aside like a change made by a job.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guards: dict[Path, tuple[FileGuard, int]] = {}
        self._notes: list[str] = []

    def begin(self, root: Path, make_guard: "Callable[[], FileGuard]") -> None:
        """Note that a command starts in a workspace.

        Args:
            make_guard: creates the guard before the first command; its errors are raised.
        """
        with self._lock:
            self._restore(root)
            guard, count = self._guards.get(root) or (make_guard(), 0)
            self._guards[root] = guard, count + 1

    def end(self, root: Path) -> None:
        """Note that a command has ended or could not start."""
        with self._lock:
            self._restore(root)
            guard, count = self._guards[root]
            if count > 1:
                self._guards[root] = guard, count - 1
            else:
                del self._guards[root]

    def restore(self) -> None:
        """Undo the changes made so far in every workspace; the messages about them are queued."""
        with self._lock:
            for root in self._guards:
                self._restore(root)

    def restore_and_report(self) -> list[str]:
        """Undo the changes made so far, and return the queued messages, one line each."""
        self.restore()
        with self._lock:
            notes, self._notes = self._notes, []
            return notes

    def _restore(self, root: Path) -> None:
        if root not in self._guards:
            return
        from clio.sandbox.file_guard import restore_guarded_files

        if note := restore_guarded_files(self._guards[root][0], root):
            self._notes.append(note)


FILE_NAME = "confinement.json"
_ORDER: "tuple[SandboxLevel, ...]" = ("bwrap", "landlock", "seatbelt")
_WORKS: "dict[SandboxLevel, str]" = {
    "bwrap": mark("bwrap: files read-only, no network, no secrets"),
    "landlock": mark("landlock: files read-only, no network, no secrets"),
    "seatbelt": mark("seatbelt: files read-only, no network, no secrets"),
}


class Confinement:
    """Whether and how clio confines read-only commands. Thread-safe.

    The level is determined by running a small command, before the first command that runs without approval. The result
    is stored in `home` until the machine restarts or bubblewrap changes.

    Args:
        enabled: whether commands are to be confined.
        home: clio's own folder; None if no file may be created: nothing is stored, and with Landlock commands have
            no folder for temporary files.
        user_home: the user's home folder.
        env: clio's environment.
    """

    def __init__(self, *, enabled: bool, home: Path | None, user_home: Path, env: Mapping[str, str]) -> None:
        self.is_enabled = enabled
        self._home = home
        self._user_home = user_home
        self._env = env
        self._level: SandboxLevel | None = None if enabled else "off"
        self._reasons: dict[SandboxLevel, str] = {}
        self._lock = threading.Lock()

    @property
    def reasons(self) -> "Mapping[SandboxLevel, str]":
        """Why the levels that were tried do not work; empty before `level` is called."""
        return self._reasons

    def level(self) -> "SandboxLevel":
        """Return the level that works here; "off" if none does. The first call blocks for 5 to 60 ms."""
        with self._lock:
            if self._level is None:
                self._level = self._recall() or self._find()
            return self._level

    def describe(self) -> str:
        """Return one sentence for the user about the level in use. Blocks like `level`."""
        level = self.level()
        if not self.is_enabled:
            return tr("Commands that run without approval are not confined (confine_unasked: off)")
        if level == "off":
            why = ", ".join(f"{name}: {reason}" for name, reason in self._reasons.items())
            return tr(
                "Commands that run without approval can't be confined here ({why}); they are still checked first",
                why=why,
            )
        return tr("Commands that run without approval are confined ({works})", works=tr(_WORKS[level]))

    def enclose(
        self,
        argv: Sequence[str],
        root: Path,
        env: Mapping[str, str],
        *,
        network: bool = False,
        lingers: bool = False,
    ) -> "EnclosedCommand | None":
        """Confine a command; None if no level works. Blocks. Raises ToolFailed.

        The caller removes `EnclosedCommand.tmp`, if there is one, after the command.

        Args:
            argv: the program and its arguments.
            root: the workspace, where it runs.
            env: the command's environment; programs on its PATH are found, in /tmp too.
            network: keep the network and the sockets of other programs.
            lingers: run until everything the command has started ends.
        """
        level = self.level()
        if level == "off":
            return None
        from clio.sandbox.backends import confine_command

        try:
            return confine_command(
                level,
                root,
                tuple(argv),
                user_home=self._user_home,
                env=env,
                network=network,
                lingers=lingers,
                own_tmp=self._home is not None,
            )
        except OSError as error:
            raise ToolFailed(
                f"the command was not run, because it could not be confined: {error_cause(error)}"
            ) from error

    def use(self, level: "SandboxLevel") -> None:
        """Use this level without testing it; for tests and measurements."""
        with self._lock:
            self._level = level

    def try_again(self) -> None:
        """Test the levels again, because the stored one does not work. Blocks."""
        with self._lock:
            self._level = self._find()

    def _find(self) -> "SandboxLevel":
        from clio.sandbox.backends import explain_unusable_confinement

        for level in _ORDER:
            reason = self._reasons[level] = explain_unusable_confinement(level, self._env, self._user_home)
            if not reason:
                self._remember(level)
                return level
        return "off"

    def _recall(self) -> "SandboxLevel | None":
        """Return the level stored since the machine was started. Levels that failed are tried again each time."""
        if self._home is None or not (key := _machine()):
            return None
        import json

        try:
            stored = json.loads((self._home / FILE_NAME).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return next((level for level in _ORDER if stored == {"machine": key, "level": level}), None)

    def _remember(self, level: "SandboxLevel") -> None:
        if self._home is None or not self._home.is_dir() or not (key := _machine()):
            return
        import contextlib
        import json

        with contextlib.suppress(OSError):  # it is determined again next time
            data = json.dumps({"machine": key, "level": level}).encode("ascii")
            write_atomic(self._home / FILE_NAME, data, durable=False)


def _machine() -> str:
    """Return what decides which level works: kernel and boot, user, container, bubblewrap, Python; "" if unknown."""
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


def open_confinement(loaded: LoadedConfig, env: Mapping[str, str]) -> Confinement:
    """Create the confinement of a configuration. Tests nothing yet."""
    config = loaded.config
    home = None if config.incognito else loaded.home
    return Confinement(enabled=config.confine_unasked != "off", home=home, user_home=user_home(env), env=env)


_LEVEL_ORDER: "tuple[SandboxLevel, ...]" = ("bwrap", "seatbelt", "landlock")  # the strictest first


class Sandbox:
    """Confines the commands of one run of clio. The level is tested once, before the first command.

    Args:
        choice: the configured level; "auto" takes the best that works, or none.
        user_home: the user's home folder.
        home: clio's own folder.
        write: writable folders besides the project; `~` is `user_home`.
    """

    def __init__(
        self,
        choice: Sandboxing,
        *,
        home: Path,
        user_home: Path,
        env: Mapping[str, str],
        write: Sequence[str] = (),
        caches: bool = True,
        network: bool = False,
    ) -> None:
        self.choice: Sandboxing = choice
        self.network = network
        self._home = home
        self._user_home = user_home
        self._env = env
        self._write = tuple(write)
        self._caches = caches
        self._level: SandboxLevel | None = "off" if choice == "off" else None
        self._refused = ""
        self._told = not self.is_enabled
        self._reasons: dict[SandboxLevel, str] = {}
        self._lock = threading.Lock()
        self.watches = FileWatches()
        self._tmp: tempfile.TemporaryDirectory[str] | None = None

    @property
    def is_enabled(self) -> bool:
        """Whether commands are to be confined at all."""
        return self.choice != "off"

    @property
    def known(self) -> "SandboxLevel | None":
        """The level in use; None before it was tested. Costs nothing."""
        return self._level

    @property
    def reasons(self) -> "Mapping[SandboxLevel, str]":
        """Why the levels that were tried do not work."""
        return self._reasons

    @property
    def status_word(self) -> str:
        """Text for the status line: "sandbox bwrap", "sandbox landlock, partly", "no sandbox"; "" if none is
        configured.
        """
        match self._level:
            case None:
                return tr("no sandbox, commands disabled") if self._refused else "sandbox"
            case "off":
                return tr("no sandbox") if self.is_enabled else ""
            case "landlock":
                return tr("sandbox landlock (partial)")
            case level:
                return tr("sandbox {level}", level=level)

    def level(self) -> "SandboxLevel":
        """Return the level in use. The first call blocks for 15 to 100 ms.

        Raises:
            ToolFailed: if a specific level is configured and does not work: commands do not run unconfined then.
        """
        with self._lock:
            if self._level is None and not self._refused:
                self._find()
            if self._level is None:
                raise ToolFailed(self._refused)
            return self._level

    def describe_trouble(self) -> list[str]:
        """Return messages for the user: once, that the configured level is not available; and which changes by jobs
        were undone.

        Blocks.
        """
        if self._told:
            return [note.strip("[]") for note in self.watches.restore_and_report()]
        self._told = True
        try:
            level = self.level()
        except ToolFailed as error:
            sentence = tr("no command will run: {error}", error=error)
        else:
            why = "; ".join(f"{name}: {reason}" for name, reason in self._reasons.items())
            sentence = (
                tr("no sandbox is available here, so commands run with your rights ({why})", why=why)
                if level == "off"
                else ""
            )
        return [sentence] if sentence else []

    def fence(self, root: Path) -> "Fence":
        """Return what commands of a workspace may access."""
        from clio.sandbox.fence import make_fence

        with self._lock:
            if self._tmp is None:
                import tempfile

                self._tmp = tempfile.TemporaryDirectory(prefix="clio-commands-", ignore_cleanup_errors=True)
            tmp = Path(self._tmp.name)
        return make_fence(
            root,
            user_home=self._user_home,
            clio_home=self._home,
            env=self._env,
            tmp=tmp,
            caches=self._caches,
            more=self._write,
            network=self.network,
        )

    def names_own_tmp(self, command: str, root: Path) -> bool:
        """Whether a command line names a file in /tmp, which is another file inside the sandbox than outside.

        False before the level was tested.
        """
        if self._level != "bwrap":
            return False
        from clio.sandbox.fence import find_tmp_paths

        if not (named := find_tmp_paths(command)):
            return False
        real = self.fence(root).write
        return any(".." in path.parts or not {path, *path.parents}.intersection(real) for path in named)

    def enclose(self, argv: Sequence[str], root: Path, *, lingers: bool = False) -> "EnclosedCommand":
        """Confine a command of a workspace if a level works. Blocks. Raises ToolFailed.

        Args:
            lingers: run until everything the command has started ends.
        """
        from clio.sandbox.fence import EnclosedCommand

        level = self.level()
        if level == "off":
            return EnclosedCommand(argv=tuple(argv))
        from clio.sandbox.backends import enclose_command

        try:
            return enclose_command(level, self.fence(root), tuple(argv), root, lingers=lingers)
        except OSError as error:
            why = tr("{error_cause}; the user can start clio without it", error_cause=error_cause(error))
            raise ToolFailed(f"the sandbox cannot be set up: {why}") from error

    def guard(self, root: Path) -> "FileGuard":
        """Remember the files the level cannot seal, to restore them after a command. Blocks. Raises like `level`."""
        return self._guard(root, (root / FOLDER_NAME, self._home))

    def watch(self, root: Path) -> None:
        """Remember those files for a background command, until `watches.end`. Blocks. Raises like `level`.

        The project's own settings are excluded: while the command runs, the user's answers are saved there, and what a
        command writes into them has no effect before the user trusts it.
        """
        self.watches.begin(root, lambda: self._guard(root, (self._home,)))

    def _guard(self, root: Path, folders: tuple[Path, ...]) -> "FileGuard":
        from clio.sandbox.file_guard import FileGuard

        match self.level():
            case "off":
                return FileGuard(())
            case "landlock" | "seatbelt":  # that level seals them as well, but by path, which a hard link circumvents
                fence = self.fence(root)
                own = (folder / name for folder in folders for name in PERMISSION_FILES)
                files = (path for path in fence.sealed if path.is_file() or path.name == "hooks")
                return FileGuard(
                    (*files, *own, *fence.watched), (root / ".git", root / ".git" / "hooks", root / FOLDER_NAME)
                )
            case _:
                return FileGuard(self.fence(root).watched)

    def close(self) -> None:
        """Remove the /tmp folder of the commands."""
        if self._tmp is not None:
            self._tmp.cleanup()
            self._tmp = None

    def _find(self) -> None:
        from clio.sandbox.backends import explain_unusable_level

        tried = _LEVEL_ORDER if self.choice == "auto" else (self.choice,)
        for level in tried:
            reason = self._reasons[level] = explain_unusable_level(level, self._env)
            if not reason:
                self._level = level
                return
        if self.choice == "auto":
            self._level = "off"
            return
        self._refused = tr(
            "the sandbox {choice!r} does not work here: {reasons}; the user can start clio with --sandbox auto or off",
            choice=self.choice,
            reasons=self._reasons[self.choice],
        )


def open_sandbox(loaded: LoadedConfig, env: Mapping[str, str]) -> Sandbox:
    """Create the sandbox of a configuration. Tests nothing yet."""
    config = loaded.config
    return Sandbox(
        config.sandbox,
        home=loaded.home,
        user_home=user_home(env),
        env=env,
        write=config.sandbox_write,
        caches=config.sandbox_caches,
        network=config.sandbox_network,
    )
