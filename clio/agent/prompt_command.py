"""A shell command that stands in a text a person calls, such as "!`git log -3`" in a command of their own."""

import msgspec

from clio.agent.tool_runner import ToolRunner
from clio.ids import new_id
from clio.messages import ToolCall


async def output_of(command: str, runner: ToolRunner) -> str:
    """What it prints, or why it was not run. runner: judges it, and asks about it, like any."""
    arguments = msgspec.json.encode({"command": command}).decode()
    message = (await runner.run(ToolCall(id=new_id(), name="run_command", arguments=arguments))).message
    if message.deeds is None or not message.deeds.command:
        return f"[not run: {command}: {message.content}]"
    state, _, printed = message.content.partition("\n")
    return printed if message.ok else f"{printed}\n{state}"
