"""The tools beside those for files: commands, git, the web, and what belongs to the session.

They are offered from the start; those that need much are loaded when they are first called.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clio.security.path_policy import Workspace
from clio.sessions.session import Session
from clio.tools.ask import Asker, AskUserTool
from clio.tools.base import Tool
from clio.tools.file_args import MAX_CHARS
from clio.tools.late_tool import LateTool
from clio.tools.memory_args import MemoryArgs
from clio.tools.page_size import PageSize
from clio.tools.shell.jobs import JobTable
from clio.tools.todo import TodoTool
from clio.tools.work_args import (
    GitArgs,
    JobOutputArgs,
    JobStopArgs,
    ReadOutputArgs,
    UseSkillArgs,
    WebFetchArgs,
    command_args,
)

if TYPE_CHECKING:
    from clio.mcp.servers import Servers
    from clio.memory.system import MemorySystem
    from clio.skills.shelf import SkillShelf
    from clio.skills.skill import Skill


def work_tools(
    workspace: Workspace,
    session: Session,
    asker: Asker,
    memory: "MemorySystem",
    jobs: JobTable,
    *,
    command_timeout_s: int,
    private_network: bool,
    attribution: str | None = None,
    max_read_chars: int | PageSize = MAX_CHARS,
) -> list[Tool]:
    """The tools in the order they are sent.

    jobs: the caller closes it when clio ends; its sandbox holds all commands. attribution: a trailer for commits.
    max_read_chars: as for `file_tools`.
    """

    def job_output() -> Tool:
        from clio.tools.shell.run_command import JobOutputTool

        return JobOutputTool(jobs)

    def job_stop() -> Tool:
        from clio.tools.shell.run_command import JobStopTool

        return JobStopTool(jobs)

    def git() -> Tool:
        from clio.tools.git import GitTool

        return GitTool(workspace, command_timeout_s, attribution, jobs.sandbox)

    def web_fetch() -> Tool:
        from clio.tools.web.web_fetch import WebFetchTool

        return WebFetchTool(private_network=private_network)

    def read_output() -> Tool:
        from clio.tools.output import ReadOutputTool

        return ReadOutputTool(session, max_read_chars)

    def memory_operations() -> Tool:
        from clio.tools.memory import MemoryTool

        return MemoryTool(memory, session)

    return [
        run_command_tool(workspace, jobs, command_timeout_s),
        LateTool("job_output", JobOutputArgs, job_output, read_only=True),
        LateTool("job_stop", JobStopArgs, job_stop),
        LateTool("git", GitArgs, git),
        LateTool("web_fetch", WebFetchArgs, web_fetch, read_only=True),
        TodoTool(session),
        AskUserTool(asker),
        LateTool("read_output", ReadOutputArgs, read_output, read_only=True),
        LateTool("memory_operations", MemoryArgs, memory_operations),
    ]


def run_command_tool(workspace: Workspace, jobs: JobTable, timeout_s: int) -> Tool:
    """The tool for commands alone."""

    def run_command() -> Tool:
        from clio.tools.shell.run_command import RunCommandTool

        return RunCommandTool(workspace, jobs, timeout_s)

    return LateTool("run_command", command_args(held=jobs.held), run_command, described={"timeout_s": str(timeout_s)})


def use_skill_tool(shelf: "SkillShelf", skills: "Sequence[Skill]") -> Tool:
    """The tool for the skills of a session that has some."""

    def use_skill() -> Tool:
        from clio.tools.use_skill import UseSkillTool

        return UseSkillTool(shelf, skills)

    return LateTool("use_skill", UseSkillArgs, use_skill, read_only=True)


def server_tools(servers: "Servers", most_tokens: int) -> tuple[list[Tool], list[str]]:
    """The tools of MCP servers, see `fitting_tools`."""
    if not servers.offered:
        return [], []
    from clio.tools.mcp_tool import fitting_tools

    return fitting_tools(servers, most_tokens)
