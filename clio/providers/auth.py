"""Authentication of requests: the header that contains the key, and the source of the key."""

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from clio.providers.failure import TransportFailed

if TYPE_CHECKING:  # most keys are plain text
    from clio.providers.key_command import KeyCommand
    from clio.providers.keyring_key import KeyringKey

Scheme = Literal["bearer", "x-api-key", "api-key", "x-api-key and bearer"]


class Auth:
    """The key of one server.

    Args:
        key: "" for none.
        scheme: the header that contains the key.
        extra: additional headers of every request.
        command: prints the key, instead of `key`; it runs when the first request needs it.
    """

    def __init__(
        self,
        key: str,
        scheme: Scheme = "bearer",
        extra: Mapping[str, str] | None = None,
        command: "KeyCommand | KeyringKey | None" = None,
    ) -> None:
        self._key = key
        self._scheme = scheme
        self._extra = dict(extra or {})
        self._command = command
        self._failure: TransportFailed | None = None  # of the last `renew_key`; the next request raises it

    @property
    def key(self) -> str:
        """The current key; "" if there is none, or none yet."""
        return self._key

    async def headers(self) -> dict[str, str]:
        """Return the headers of a request. Raises KeyCommandFailed if the command for the key fails."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if self._command is not None:
            self._key = self._command.cached() or await self._run_command(refused="")
        headers = dict(self._extra)
        for name in self._scheme.split(" and ") if self._key else ():
            headers["Authorization" if name == "bearer" else name] = (
                f"Bearer {self._key}" if name == "bearer" else self._key
            )
        return headers

    def drop_header(self, header: str) -> bool:
        """Remove an additional header from later requests; return whether there was one of that name."""
        return self._extra.pop(header, None) is not None

    async def renew_key(self) -> bool:
        """Run the key command after a server has rejected the key; return whether to send the request again.

        If the command fails, the result is True and the next `headers` call raises its error.
        """
        if self._command is None:
            return False
        refused = self._key
        try:
            self._key = await self._run_command(refused=refused)
        except TransportFailed as error:
            self._failure = error
        return self._failure is not None or self._key != refused

    async def _run_command(self, *, refused: str) -> str:
        """Run the command in a thread and return its key; cancellation kills the command."""
        command = self._command
        assert command is not None
        cancelled = threading.Event()
        try:
            return await asyncio.to_thread(command.read_key, refused, cancelled)
        finally:
            cancelled.set()
