"""The tools a conversation is offered; each is loaded when the model first calls it."""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clio.security.actions import Workspace
from clio.sessions.session import Session
from clio.tools.base import PageSize, Prepared, ReadLog, Tool
from clio.tools.schemas import (
    MAX_CHARS,
    ApplyPatch,
    EditFile,
    FindFiles,
    GitArgs,
    JobOutputArgs,
    JobStopArgs,
    ListFiles,
    MemoryArgs,
    ReadFile,
    ReadOutputArgs,
    SearchText,
    UseSkillArgs,
    WebFetchArgs,
    WriteFile,
    command_args,
)
from clio.tools.session_tools import Asker, AskUserTool, TodoTool
from clio.tools.shell.jobs import JobTable

if TYPE_CHECKING:
    from clio.mcp.servers import McpServers
    from clio.memory.system import MemorySystem
    from clio.skills.skills import Skill, SkillCatalog


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


def file_tools(
    workspace: Workspace,
    read_log: ReadLog,
    *,
    max_read_chars: int | PageSize = MAX_CHARS,
    session: Session | None = None,
) -> list[Tool]:
    """All file tools of one session.

    max_read_chars: how much one read or search may answer; no more than the runner lets pass.
    session: the session whose window a read looks into for what it still shows; None for none.
    """

    def read_file() -> Tool:
        from clio.tools.files.read_file import ReadFileTool

        return ReadFileTool(workspace, read_log, max_read_chars, session)

    def write_file() -> Tool:
        from clio.tools.files.edit_file import WriteFileTool

        return WriteFileTool(workspace, read_log)

    def edit_file() -> Tool:
        from clio.tools.files.edit_file import EditFileTool

        return EditFileTool(workspace, read_log)

    def apply_patch() -> Tool:
        from clio.tools.files.edit_file import ApplyPatchTool

        return ApplyPatchTool(workspace, read_log)

    def list_files() -> Tool:
        from clio.tools.files.read_file import ListFilesTool

        return ListFilesTool(workspace)

    def find_files() -> Tool:
        from clio.tools.files.read_file import FindFilesTool

        return FindFilesTool(workspace)

    def search_text() -> Tool:
        from clio.tools.files.search_text import SearchTextTool

        return SearchTextTool(workspace, max_chars=max_read_chars)

    return [
        LateTool("read_file", ReadFile, read_file, read_only=True),
        LateTool("write_file", WriteFile, write_file),
        LateTool("edit_file", EditFile, edit_file),
        LateTool("apply_patch", ApplyPatch, apply_patch),
        LateTool("list_files", ListFiles, list_files, read_only=True),
        LateTool("find_files", FindFiles, find_files, read_only=True),
        LateTool("search_text", SearchText, search_text, read_only=True),
    ]


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
        from clio.tools.web_fetch import WebFetchTool

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


def use_skill_tool(shelf: "SkillCatalog", skills: "Sequence[Skill]") -> Tool:
    """The tool for the skills of a session that has some."""

    def use_skill() -> Tool:
        from clio.tools.extension_tools import UseSkillTool

        return UseSkillTool(shelf, skills)

    return LateTool("use_skill", UseSkillArgs, use_skill, read_only=True)


def server_tools(servers: "McpServers", most_tokens: int) -> tuple[list[Tool], list[str]]:
    """The tools of MCP servers, see `fitting_tools`."""
    if not servers.offered:
        return [], []
    from clio.tools.extension_tools import fitting_tools

    return fitting_tools(servers, most_tokens)
