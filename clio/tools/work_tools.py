"""The tools beside those for files: commands, git, the web, and what belongs to the session."""

from collections.abc import Callable

from clio.memory.system import MemorySystem
from clio.security.path_policy import Workspace
from clio.sessions.session import Session
from clio.tools.ask import Asker, AskUserTool
from clio.tools.base import Tool
from clio.tools.git import GitTool
from clio.tools.memory import MemoryTool
from clio.tools.output import ReadOutputTool
from clio.tools.shell.jobs import JobTable
from clio.tools.shell.run_command import JobOutputTool, JobStopTool, RunCommandTool
from clio.tools.todo import TodoTool
from clio.tools.web.web_fetch import WebFetchTool


def work_tools(
    workspace: Workspace,
    session_of: Callable[[], Session],
    asker: Asker,
    memory: MemorySystem,
    jobs: JobTable,
    *,
    command_timeout_s: int,
    private_network: bool,
    attribution: str | None = None,
) -> list[Tool]:
    """The tools in the order they are sent.

    session_of: the session of the moment; it can be another one at the next call.
    jobs: the caller closes it when clio ends; its sandbox holds all commands. attribution: a trailer for commits.
    """
    return [
        RunCommandTool(workspace, jobs, command_timeout_s),
        JobOutputTool(jobs),
        JobStopTool(jobs),
        GitTool(workspace, command_timeout_s, attribution, jobs.sandbox),
        WebFetchTool(private_network=private_network),
        TodoTool(session_of),
        AskUserTool(asker),
        ReadOutputTool(session_of),
        MemoryTool(memory, session_of),
    ]
