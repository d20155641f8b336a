"""`clio acp`: clio as the agent of an editor, over the Agent Client Protocol on standard input and output."""

import asyncio
import logging
import os
import sys

from clio.config.command_line import Options
from clio.entrypoints.acp.agent import AcpAgent
from clio.entrypoints.acp.wire import StdioTransport
from clio.entrypoints.repl.end import on_end
from clio.entrypoints.subcommand_output import say
from clio.errors import ClioError

HELP = """\
usage: clio acp [options]

Lets an editor use clio as its agent, over the Agent Client Protocol: the editor starts this command and
speaks to it on standard input and output. It ends when the editor closes its end. docs/editors.md has the
settings for Zed, JetBrains and Neovim.

The editor names the project of each conversation. These options count in all of them:
  -m, --model NAME, --provider NAME, --base-url URL, --context-window TOKENS
  --approve MODE, --max-steps N, --max-cost USD, --scenario NAME, --no-ltm, --incognito
  --config FILE, --debug   as everywhere

It needs the extra acp: pip install '.[acp]' in the folder of clio's source
"""


def run(options: Options) -> int:
    """Serve until the editor closes its end; returns the exit code. Raises ClioError where the SDK is not installed."""
    try:
        import acp
    except ImportError:
        raise ClioError(
            "clio acp needs the package agent-client-protocol; "
            "install it with pip install '.[acp]' in the folder of clio's source"
        ) from None
    assert acp.PROTOCOL_VERSION
    if sys.stdin and sys.stdin.isatty():
        say("clio: waiting for an editor on standard input; Ctrl-C ends it")
    if not options.overrides.get("debug"):
        # The SDK logs a traceback for every error that is answered, and for an editor that has gone.
        logging.getLogger().setLevel(logging.CRITICAL)
    return asyncio.run(_serve(options))


async def _serve(options: Options) -> int:
    from acp import AgentSideConnection

    ended_by = 0
    agent = AcpAgent(options, os.environ)
    connection = AgentSideConnection(agent, StdioTransport(), listening=False, use_unstable_protocol=True)
    listening = asyncio.create_task(connection.listen())

    def end(number: int) -> None:
        nonlocal ended_by
        ended_by = ended_by or number
        listening.cancel()  # closing, which may have begun, is not cut short

    on_end(end)
    try:
        await asyncio.wait({listening})
    finally:
        await agent.close()
        await connection.close()
    if not listening.cancelled() and (error := listening.exception()) is not None:
        raise error
    return 128 + ended_by if ended_by else 0
