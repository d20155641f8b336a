"""The tools a small window has no space for: named to the model and to the user."""

from msgspec import Struct

from clio.fragments import Fragment

_MOST_NAMES = 20


class LeftOut(Struct, frozen=True, kw_only=True):
    """Names of clio's own tools and of those of MCP servers; offered: how many the servers have in all."""

    own: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    offered: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return self.own + self.servers

    @property
    def sentence(self) -> str:
        """For the user: which, why, and what can be done about it."""
        parts: list[str] = []
        if self.own:
            parts.append(f"tools left out, as the model's window is small: {_listed(self.own)}")
        if self.servers:
            parts.append(
                f"{len(self.servers)} of {self.offered} tools of MCP servers are left out, as all of them take more "
                f"than a quarter of the window: {_listed(self.servers)}; name those you need under `tools:` of their "
                "servers"
            )
        return "; ".join(parts)

    def fragments(self) -> list[Fragment]:
        """For the model, as a part of its prompt; empty where nothing was left out."""
        if not self.names:
            return []
        text = f"Left out, because the window is too small: {_listed(self.names)}. Do without them, or say so."
        return [
            Fragment(
                name="missing_tools", text=text, source="clio", reason="tools the window has no space for", whole=True
            )
        ]


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
