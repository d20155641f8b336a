"""A tool that is offered from the start and made when the model first calls it: most are never called."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from msgspec import Struct

from clio.tools.base import Prepared, Tool


class LateTool:
    """What a request says of a tool, and the way to the tool itself.

    make: imports and makes it; the tool has this very name, args and read_only.
    described: values for the names in braces in its description.
    """

    def __init__(
        self,
        name: str,
        args: type[Struct],
        make: Callable[[], Tool],
        *,
        read_only: bool = False,
        described: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.args = args
        self.read_only = read_only
        self.described = described or {}
        self._make = make
        self._made: Tool | None = None
        self._making = Lock()

    def prepare(self, args: Any) -> Prepared:
        """As the tool itself."""
        return self.made().prepare(args)

    def made(self) -> Tool:
        """The tool itself, the same at every call. Raises what `make` raises, at every call anew."""
        with self._making:  # calls are prepared in threads, several at once
            if self._made is None:
                self._made = self._make()
            return self._made
