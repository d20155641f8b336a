"""A request that failed, as seen on the wire; `failures` says what it means."""

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "status",
    "in_stream",
    "refused",
    "dns",
    "tls",
    "proxy",
    "connect_timeout",
    "timeout",
    "broken",
    "malformed",
    "endless",
    "key",
]


class Failure(Struct, frozen=True, kw_only=True):
    """A failed request, as seen on the wire.

    kind: "status" for an HTTP status of 300 or more; "in_stream" for an error object inside a 200 answer, with the
    status that is like it where the object itself names none.
    headers: names in lower case. body: as text, JSON or not. detail: what the network layer said.
    """

    kind: Kind
    status: int = 0
    headers: dict[str, str] = {}
    body: str = ""
    detail: str = ""


class TransportFailed(Exception):
    """A request failed; `failure` says how. Never leaves the providers."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind} {failure.status} {failure.detail}")
        self.failure = failure


KEY_COMMAND = "api_key_command"
"""The setting that names a command, as `Endpoint.key_variable`."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """Whom a request was for.

    key_variable: the environment variable its key is expected in, or KEY_COMMAND where a command prints it.
    address_setting: what the user would change to reach another address. doubtful_address: whether it was made of a
    region that is not known, so that a host name without an address means a wrong region.
    """

    name: str
    base_url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    has_key: bool = True
    address_setting: str = "--base-url"
    doubtful_address: bool = False
