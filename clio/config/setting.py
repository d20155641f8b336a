"""One value of one layer, with the place it was written in."""

from msgspec import Struct


class Setting(Struct, frozen=True, kw_only=True):
    """A value for a field: `("approve",)`, or `("models", "gpt-5", "context_window")`.

    A list gives one Setting for each of its entries. origin: what `clio config show` prints.
    """

    key: tuple[str, ...]
    value: str | int | float | bool | None
    origin: str

    @property
    def name(self) -> str:
        """The key with dots."""
        return ".".join(self.key)
