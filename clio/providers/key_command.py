"""Run the user's command that prints an API key, such as `op read op://…` or `gcloud auth print-access-token`.

The key is only stored in memory, for a limited time, and shared by all providers in the process with the same command.
Error messages contain nothing of the command's standard output or error output: either may contain the key.
"""

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from clio.errors import ConfigError
from clio.providers.failure import Failure, TransportFailed
from clio.text.translation import tr
from clio.threads import find_program

TIME_LIMIT_S = 30.0
DEFAULT_TTL_S = 3_300
"""55 minutes, because access tokens of Google, Azure and AWS are valid for an hour."""
_MAX_KEY_BYTES = 64_000
_POLL_S = 0.05
_KEYS: dict[tuple[str, ...], "_CachedKey"] = {}


class _CachedKey(Struct):
    """The key that one command printed last. since: time of that, as returned by `KeyCommand`'s `now`."""

    lock: threading.Lock
    key: str = ""
    since: float = 0.0


class KeyCommandFailed(TransportFailed):
    """The command printed no key. The message contains the program's name and exit code, never its output."""

    def __init__(self, sentence: str) -> None:
        super().__init__(Failure(kind="key", detail=sentence))


class KeyCommand:
    """Runs one command, without a shell, in the user's home directory, for at most 30 seconds.

    Args:
        text: the command line.
        ttl_s: seconds a key is used before the command runs again.
        learn_secret: called with each key before it is used, so that it is redacted everywhere.

    Raises:
        ConfigError: if the text is not a command line.
    """

    def __init__(
        self,
        text: str,
        env: Mapping[str, str],
        *,
        ttl_s: float = DEFAULT_TTL_S,
        learn_secret: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            self._argv = tuple(shlex.split(text))
        except ValueError as error:
            raise ConfigError(
                tr("api_key_command is not a command line ({error}): correct its quotes", error=error)
            ) from None
        if not self._argv:
            raise ConfigError(tr("api_key_command is empty: name the command that prints the key, or remove it"))
        self._env = dict(env)
        self._ttl_s = ttl_s
        self._learn_secret = learn_secret
        self._now = now
        self._cached = _KEYS.setdefault(self._argv, _CachedKey(lock=threading.Lock()))

    @property
    def program(self) -> str:
        """The program's name, for messages. Its arguments are never shown, since they may contain secrets."""
        return Path(self._argv[0]).name

    def cached(self) -> str:
        """Return the key printed less than `ttl_s` ago; "" if there is none."""
        cached = self._cached
        if cached.key and 0 <= self._now() - cached.since < self._ttl_s:
            self._learn_secret(cached.key)
            return cached.key
        return ""

    def read_key(self, refused: str = "", cancelled: threading.Event | None = None) -> str:
        """Return the key from memory, or run the command. Blocking: call it in a thread. Raises KeyCommandFailed.

        Args:
            refused: a key that a server has rejected; the command runs unless memory contains a different key by now.
            cancelled: once set, the command of this call is killed, and not those of other requests.
        """
        cancelled = cancelled or threading.Event()
        with self._cached.lock:
            cached_key = self.cached()
            if cached_key and cached_key != refused:
                return cached_key
            if cancelled.is_set():
                raise KeyCommandFailed("cancelled")
            self._cached.key = ""
            key = self._run(cancelled)
            self._learn_secret(key)
            self._cached.key, self._cached.since = key, self._now()
            return key

    def _run(self, cancelled: threading.Event) -> str:
        program = find_program(str(Path(self._argv[0]).expanduser()), path=self._env.get("PATH"))
        if program is None:
            raise KeyCommandFailed(
                tr("api_key_command: program {program!r} not found: install it, or correct it", program=self.program)
            )
        home = self._env.get("HOME") or self._env.get("USERPROFILE") or ""
        try:
            process = subprocess.Popen(
                [program, *self._argv[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=home if home and Path(home).is_dir() else None,
                env=self._env,
                start_new_session=True,  # no terminal: a prompt must not appear in the middle of clio's screen
            )
        except OSError as error:
            reason = error.strerror or tr("it cannot be started")
            raise KeyCommandFailed(
                tr(
                    "api_key_command: {program!r} did not start ({reason}): correct it",
                    program=self.program,
                    reason=reason,
                )
            ) from None
        try:
            printed = _wait_for_output(process, cancelled)
        except subprocess.TimeoutExpired:
            raise KeyCommandFailed(
                tr(
                    "api_key_command: {program!r} did not finish within {time_limit_s:.0f} seconds: run it "
                    "yourself once, it may be waiting for a login",
                    program=self.program,
                    time_limit_s=TIME_LIMIT_S,
                )
            ) from None
        finally:
            _kill_process(process)
        if process.returncode != 0:
            raise KeyCommandFailed(
                tr(
                    "api_key_command: {program!r} exited with code {returncode}: run it yourself to see why",
                    program=self.program,
                    returncode=process.returncode,
                )
            )
        return self._parse_key(printed)

    def _parse_key(self, printed: bytes) -> str:
        key = printed[:_MAX_KEY_BYTES].decode("utf-8", "replace").strip()
        if not key:
            raise KeyCommandFailed(
                tr("api_key_command: {program!r} printed nothing: run it yourself to see why", program=self.program)
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise KeyCommandFailed(
                tr(
                    "api_key_command: {program!r} printed something that is not a key: it must print only the key",
                    program=self.program,
                )
            )
        return key


def _wait_for_output(process: "subprocess.Popen[bytes]", cancelled: threading.Event) -> bytes:
    """Return what the process printed, less if it was cancelled. Raises subprocess.TimeoutExpired.

    The event is polled, because a request can be cancelled at any time, also while the process is being started.
    """
    give_up_at = time.monotonic() + TIME_LIMIT_S
    while True:
        try:
            return process.communicate(timeout=_POLL_S)[0]
        except subprocess.TimeoutExpired as error:
            if cancelled.is_set():
                return error.output or b""
            if time.monotonic() >= give_up_at:
                raise


def _kill_process(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process with its process group, and wait for it."""
    with suppress(OSError):
        if hasattr(os, "killpg") and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
    if process.stdout is not None:
        process.stdout.close()
