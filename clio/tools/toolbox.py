"""Make the list of tools that the model can call; most tools are imported when the model first calls them."""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clio.security.actions import Workspace
from clio.sessions.session import Session
from clio.tools.base import PageSize, PreparedCall, ReadLog, Tool
from clio.tools.schemas import (
    MAX_ANSWER_CHARS,
    ApplyPatchArgs,
    CodeLookupArgs,
    EditFileArgs,
    FindFilesArgs,
    GitArgs,
    JobOutputArgs,
    JobStopArgs,
    ListFilesArgs,
    MemoryArgs,
    ReadFileArgs,
    ReadOutputArgs,
    SearchTextArgs,
    UseSkillArgs,
    WebFetchArgs,
    WebSearchArgs,
    WriteFileArgs,
    get_command_args,
)
from clio.tools.session_tools import Asker, AskUserTool, TodoTool
from clio.tools.shell.jobs import JobTable

if TYPE_CHECKING:
    from clio.mcp.servers import McpServers
    from clio.memory.system import MemorySystem
    from clio.skills.skills import Skill, SkillCatalog


class LazyTool:
    """A tool that is imported at its first call: what requests need to describe it, and a function that makes it.

    Args:
        make: imports and makes the tool, which has the same name, args and read_only.
        placeholder_values: values for placeholders in its description, by name: "timeout_s" for `{timeout_s}`.
    """

    def __init__(
        self,
        name: str,
        args: type[Struct],
        make: Callable[[], Tool],
        *,
        read_only: bool = False,
        placeholder_values: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.args = args
        self.read_only = read_only
        self.placeholder_values = placeholder_values or {}
        self._make = make
        self._made: Tool | None = None
        self._making = Lock()

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a call with the tool itself."""
        return self.load().prepare(args)

    def load(self) -> Tool:
        """Return the tool, the same object each time. Raises what `make` raises, also on later calls."""
        with self._making:  # calls are prepared in several threads at once
            if self._made is None:
                self._made = self._make()
            return self._made


def make_file_tools(
    workspace: Workspace,
    read_log: ReadLog,
    *,
    max_read_chars: int | PageSize = MAX_ANSWER_CHARS,
    session: Session | None = None,
    code_lookup: Callable[[], Tool] | None = None,
) -> list[Tool]:
    """Return the file tools of one session.

    Args:
        max_read_chars: limit for the result of one read or search; at most the limit for any tool result.
        session: the session in whose window a read looks for lines already shown; None for none.
        code_lookup: makes the tool of that name; None if nothing could answer it.
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
        LazyTool("read_file", ReadFileArgs, read_file, read_only=True),
        LazyTool("write_file", WriteFileArgs, write_file),
        LazyTool("edit_file", EditFileArgs, edit_file),
        LazyTool("apply_patch", ApplyPatchArgs, apply_patch),
        LazyTool("list_files", ListFilesArgs, list_files, read_only=True),
        LazyTool("find_files", FindFilesArgs, find_files, read_only=True),
        LazyTool("search_text", SearchTextArgs, search_text, read_only=True),
        *([LazyTool("code_lookup", CodeLookupArgs, code_lookup, read_only=True)] if code_lookup else []),
    ]


def make_session_tools(
    workspace: Workspace,
    session: Session,
    asker: Asker,
    memory: "MemorySystem",
    jobs: JobTable,
    *,
    command_timeout_s: int,
    private_network: bool,
    attribution: str | None = None,
    max_read_chars: int | PageSize = MAX_ANSWER_CHARS,
    web_search: Callable[[], Tool] | None = None,
) -> list[Tool]:
    """Return the tools of one session other than the file tools, in the order in which requests list them.

    Args:
        jobs: closed by the caller when clio exits; its sandbox is used for all commands.
        attribution: a trailer line for commit messages, such as "Co-authored-by: …"; None for none.
        max_read_chars: see `make_file_tools`.
        web_search: makes the tool of that name; None if no search service is set.
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
        make_run_command_tool(workspace, jobs, command_timeout_s),
        LazyTool("job_output", JobOutputArgs, job_output, read_only=True),
        LazyTool("job_stop", JobStopArgs, job_stop),
        LazyTool("git", GitArgs, git),
        LazyTool("web_fetch", WebFetchArgs, web_fetch, read_only=True),
        *([LazyTool("web_search", WebSearchArgs, web_search, read_only=True)] if web_search else []),
        TodoTool(session),
        AskUserTool(asker),
        LazyTool("read_output", ReadOutputArgs, read_output, read_only=True),
        LazyTool("memory_operations", MemoryArgs, memory_operations),
    ]


def make_run_command_tool(workspace: Workspace, jobs: JobTable, timeout_s: int) -> Tool:
    """Return the run_command tool alone."""

    def run_command() -> Tool:
        from clio.tools.shell.run_command import RunCommandTool

        return RunCommandTool(workspace, jobs, timeout_s)

    return LazyTool(
        "run_command",
        get_command_args(sandboxed=jobs.is_sandboxed),
        run_command,
        placeholder_values={"timeout_s": str(timeout_s)},
    )


def make_use_skill_tool(catalog: "SkillCatalog", skills: "Sequence[Skill]") -> Tool:
    """Return the tool that loads a skill, for a session that has skills."""

    def use_skill() -> Tool:
        from clio.tools.extension_tools import UseSkillTool

        return UseSkillTool(catalog, skills)

    return LazyTool("use_skill", UseSkillArgs, use_skill, read_only=True)


def make_server_tools(servers: "McpServers", max_tokens: int) -> tuple[list[Tool], list[str]]:
    """Return the tools of MCP servers that fit into `max_tokens`, and the names of servers whose tools do not."""
    if not servers.offered:
        return [], []
    from clio.tools.extension_tools import select_server_tools

    return select_server_tools(servers, max_tokens)
