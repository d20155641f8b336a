"""How a request proves whose it is: which header carries the key, and where the key comes from."""

from collections.abc import Mapping
from typing import Literal

Scheme = Literal["bearer", "x-api-key", "api-key", "x-api-key and bearer"]


class Auth:
    """The key of one server. key: "" for none. scheme: the header it goes in. extra: headers for every request."""

    def __init__(self, key: str, scheme: Scheme = "bearer", extra: Mapping[str, str] | None = None) -> None:
        self._key = key
        self._scheme = scheme
        self._extra = dict(extra or {})

    @property
    def key(self) -> str:
        """The key as it is known now, "" for none."""
        return self._key

    async def headers(self) -> dict[str, str]:
        """The headers of a request. Raises ConfigError where a command gives the key and fails."""
        headers = dict(self._extra)
        for name in self._scheme.split(" and ") if self._key else ():
            headers["Authorization" if name == "bearer" else name] = (
                f"Bearer {self._key}" if name == "bearer" else self._key
            )
        return headers

    async def renew(self) -> bool:
        """After a refusal of the key: whether there is another one to try, once."""
        return False
