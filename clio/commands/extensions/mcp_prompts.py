"""`/mcp:server:prompt`: the prompts of MCP servers as commands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clio.algorithms.late_pattern import LatePattern
from clio.commands.called import MakePrompt, Meaning
from clio.commands.command import Command, Shell
from clio.commands.result import CommandResult, refuse
from clio.errors import ClioError
from clio.mcp.values import CallFailed, OfferedPrompt, ServerDown

if TYPE_CHECKING:
    from clio.mcp.servers import Servers

_ODD = LatePattern(r"[^\w.-]+")
_WORD = LatePattern(r'"([^"]*)"|(\S+)')


class PromptCommands:
    """A source of commands: what the servers have said they offer. Starts none of them."""

    def __init__(self, servers: "Servers") -> None:
        self._servers = servers

    def __call__(self) -> Sequence[Command]:
        """One for each prompt that is known."""
        return [self._command(server, prompt) for server, prompt in self._servers.prompts()]

    def _command(self, server: str, prompt: OfferedPrompt) -> Command:
        name = f"mcp:{_ODD.sub('_', server)}:{_ODD.sub('_', prompt.name)}"

        def run(shell: Shell, argument: str) -> CommandResult:
            given = fill(prompt, argument)
            if lacking := [one.name for one in prompt.arguments if one.required and not given.get(one.name)]:
                return refuse(f"/{name} needs {', '.join(lacking)}: write /{name} {usage(prompt)}")

            async def make() -> Meaning:
                try:
                    reply = await self._servers.prompt(server, prompt.name, given)
                except (CallFailed, ServerDown) as error:
                    raise ClioError(f"the MCP server {server!r} gives no prompt {prompt.name!r}: {error}") from None
                safe = shell.redactor.redact(reply.text).text
                return Meaning(text=safe, source=f"the MCP server {server}")

            return CommandResult(follow_up=MakePrompt(said=f"/{name} {argument}".rstrip(), make=make))

        about = " ".join(prompt.description.split())[:120] or "a prompt"
        return Command(
            name=name,
            argument=usage(prompt),
            summary=f"{about} (of {server})",
            handler=run,
            source=f"the MCP server {server}",
        )


def usage(prompt: OfferedPrompt) -> str:
    """The blanks of a prompt, as help writes them."""
    return " ".join(one.name.upper() if one.required else f"[{one.name.upper()}]" for one in prompt.arguments)


def fill(prompt: OfferedPrompt, typed: str) -> dict[str, str]:
    """The blanks of a prompt from what was typed: in their order, or as `name=value`; the last one takes the rest."""
    names = [one.name for one in prompt.arguments]
    given: dict[str, str] = {}
    place = 0
    while (found := _WORD.match(typed, place)) or (place < len(typed) and typed[place].isspace()):
        if found is None:
            place += 1
            continue
        word = found[1] if found[1] is not None else found[2]
        name, equals, value = word.partition("=")
        if equals and name in names:
            given[name] = value
            if typed[place:].startswith(f'{name}="') and (end := typed.find('"', place + len(name) + 2)) > 0:
                given[name] = typed[place + len(name) + 2 : end]
                place = end + 1
                continue
        else:
            free = [one for one in names if one not in given]
            if len(free) == 1:
                given[free[0]] = typed[place:].strip() if found[1] is None else word
                return given
            if not free:
                return given
            given[free[0]] = word
        place = found.end()
    return given
