"""Copies of plugins below `~/.clio/plugins`: written beside the others first, counted only once they are locked."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from clio.config.installed_plugins import (
    DATA_FOLDER,
    LOCK_FORMAT,
    LockedMarketplace,
    LockedPlugin,
    PluginLock,
    compute_digest,
    compute_stamp,
    lock_file,
    plugins_folder,
    read_lock,
)
from clio.errors import ClioError
from clio.plugins.repositories import PluginFile
from clio.storage.documents import update_document
from clio.storage.files import make_folder, sync_folder
from clio.storage.locks import format_os_error
from clio.text.translation import tr

_STAGED_PREFIX = ".new-"
_ABANDONED_S = 3_600.0


class StagedCopy:
    """A copy of a plugin's files that does not count yet. Use it as a context manager, which removes it.

    Attributes:
        folder: contains the files.
        digest: see `compute_digest`.
    """

    def __init__(self, home: Path, files: Iterable[PluginFile]) -> None:
        self._home = home
        self._files = files
        self.folder = Path()
        self.digest = ""

    def __enter__(self) -> "StagedCopy":
        parent = plugins_folder(self._home)
        try:
            make_folder(parent)
            _remove_abandoned(parent)
            self.folder = Path(tempfile.mkdtemp(prefix=_STAGED_PREFIX, dir=parent))
            for file in self._files:
                _write_file(self.folder / file.path, file)
            self.digest = compute_digest(self.folder)
        except OSError as error:
            self.__exit__()
            raise ClioError(format_os_error(error)) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self.folder != Path():
            shutil.rmtree(self.folder, ignore_errors=True)

    def install(self, name: str, locked: LockedPlugin) -> None:
        """Let the copy count under this name, in place of an earlier one. Raises ClioError.

        The copy before stays until the next update: a clio that is running still starts its hooks and servers.
        """
        folder = plugins_folder(self._home) / name
        locked = replace(locked, digest=self.digest, folder=secrets.token_hex(6))
        try:
            make_folder(folder / DATA_FOLDER)
            self.folder.rename(folder / locked.folder)
            sync_folder(folder)
            locked = replace(locked, stamp=compute_stamp(folder / locked.folder))
            before = read_lock(self._home).plugins.get(name)
            _change_lock(self._home, lambda lock: replace(lock, plugins=lock.plugins | {name: locked}))
            _remove_other_copies(folder, {locked.folder, DATA_FOLDER, before.folder if before else ""})
        except OSError as error:
            raise ClioError(format_os_error(error)) from error


def remove_plugin(home: Path, name: str) -> None:
    """Remove a plugin, its files and what its programs stored. Raises ClioError."""

    def change(lock: PluginLock) -> PluginLock:
        return replace(lock, plugins={key: value for key, value in lock.plugins.items() if key != name})

    try:
        _change_lock(home, change)  # first: a plugin without an entry brings nothing, even if its files remain
        with suppress(FileNotFoundError):
            shutil.rmtree(plugins_folder(home) / name)
    except OSError as error:
        raise ClioError(format_os_error(error)) from error


def store_marketplace(home: Path, name: str, marketplace: LockedMarketplace) -> None:
    """Record where a marketplace is. Raises ClioError."""
    _change_lock(home, lambda lock: replace(lock, marketplaces=lock.marketplaces | {name: marketplace}))


def remove_marketplace(home: Path, name: str) -> None:
    """Forget a marketplace; plugins added from it stay. Raises ClioError."""

    def change(lock: PluginLock) -> PluginLock:
        return replace(lock, marketplaces={key: value for key, value in lock.marketplaces.items() if key != name})

    _change_lock(home, change)


def _change_lock(home: Path, change: Callable[[PluginLock], PluginLock]) -> None:
    try:
        update_document(lock_file(home), LOCK_FORMAT, change)
    except TimeoutError:
        raise ClioError(tr("another clio is changing the plugins; try again")) from None
    except OSError as error:
        raise ClioError(format_os_error(error)) from error


def _write_file(path: Path, file: PluginFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A new file that nothing else has created meanwhile, and not a link that leads elsewhere.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "wb") as output:
        output.write(file.data)
        output.flush()
        os.fsync(output.fileno())
    if os.name != "nt":
        path.chmod(0o500 if file.is_program else 0o400)


def _remove_other_copies(folder: Path, kept: Collection[str]) -> None:
    for path in folder.iterdir():
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def _remove_abandoned(parent: Path) -> None:
    """Remove what a killed clio has left."""
    for path in parent.glob(f"{_STAGED_PREFIX}*"):
        if path.stat().st_mtime < time.time() - _ABANDONED_S:
            shutil.rmtree(path, ignore_errors=True)
