"""How a request proves whose it is: which header carries the key, and where the key comes from."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from clio.providers.failure import TransportFailed

if TYPE_CHECKING:  # most keys are plain text
    from clio.providers.key_command import KeyCommand

Scheme = Literal["bearer", "x-api-key", "api-key", "x-api-key and bearer"]


class Auth:
    """The key of one server. key: "" for none. scheme: the header it goes in. extra: headers for every request.

    command: prints the key, in place of `key`; it is run when the first request needs it.
    """

    def __init__(
        self,
        key: str,
        scheme: Scheme = "bearer",
        extra: Mapping[str, str] | None = None,
        command: "KeyCommand | None" = None,
    ) -> None:
        self._key = key
        self._scheme = scheme
        self._extra = dict(extra or {})
        self._command = command
        self._failure: TransportFailed | None = None  # of the last `renew_key`, for the next request to say

    @property
    def key(self) -> str:
        """The key as it is known now, "" for none."""
        return self._key

    async def headers(self) -> dict[str, str]:
        """The headers of a request. Raises KeyCommandFailed where a command gives the key and fails."""
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
        """Send later requests without this header, beyond the key; False where they have none of that name."""
        return self._extra.pop(header, None) is not None

    async def renew_key(self) -> bool:
        """After a refusal of the key: whether to send the request again, once.

        Where the command fails now, that request raises what it failed of.
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
        """The key a command prints, run in a thread; a cancelled caller ends the command."""
        command = self._command
        assert command is not None
        try:
            return await asyncio.to_thread(command.read_key, refused)
        except asyncio.CancelledError:
            command.stop()
            raise
