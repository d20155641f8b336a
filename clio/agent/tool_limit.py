"""Which tools one turn may call, where the command that began it named some. This takes away and never grants."""

from collections.abc import Iterable

from clio.errors import ToolFailed
from clio.security.actions import Action, Internal, ReadFiles, RunCommand
from clio.security.approval import Policy

_COMMAND = "run_command"


class ToolLimit:
    """Asked before policy is. Reading files, and what touches nothing but clio itself, is never refused."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tools: tuple[str, ...] | None = None

    def begin(self, tools: Iterable[str] | None) -> None:
        """A turn begins with these: names, `run_command(git add *)` for only such commands; None for all tools."""
        self._tools = None if tools is None else tuple(tools)

    def end(self) -> None:
        """The turn is over."""
        self._tools = None

    def check(self, name: str, action: Action) -> None:
        """Raises ToolFailed for a call that this turn may not make."""
        if self._tools is None or name in self._tools or isinstance(action, ReadFiles | Internal):
            return
        if isinstance(action, RunCommand):
            rules = [rule for tool, rule in map(_taken_apart, self._tools) if tool == _COMMAND]
            if "" in rules or self._policy.covers(action, rules):
                return
        listed = ", ".join(self._tools) or "none"
        raise ToolFailed(
            f"the command this turn began with lets only these tools change or reach anything: {listed}; do without "
            "the others, or say what you would have done"
        )


def _taken_apart(entry: str) -> tuple[str, str]:
    """A tool's name and what stands in its brackets."""
    name, _, rule = entry.partition("(")
    return name, rule.removesuffix(")")
