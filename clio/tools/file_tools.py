"""The tools that read, search and change files, offered from the start; each is loaded when it is first called."""

from clio.security.path_policy import Workspace
from clio.sessions.session import Session
from clio.tools.base import Tool
from clio.tools.file_args import (
    MAX_CHARS,
    ApplyPatch,
    EditFile,
    FindFiles,
    ListFiles,
    ReadFile,
    SearchText,
    WriteFile,
)
from clio.tools.files.read_log import ReadLog
from clio.tools.late_tool import LateTool
from clio.tools.page_size import PageSize


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
        from clio.tools.files.read import ReadFileTool

        return ReadFileTool(workspace, read_log, max_read_chars, session)

    def write_file() -> Tool:
        from clio.tools.files.write import WriteFileTool

        return WriteFileTool(workspace, read_log)

    def edit_file() -> Tool:
        from clio.tools.files.edit import EditFileTool

        return EditFileTool(workspace, read_log)

    def apply_patch() -> Tool:
        from clio.tools.files.patch import ApplyPatchTool

        return ApplyPatchTool(workspace, read_log)

    def list_files() -> Tool:
        from clio.tools.search.listing import ListFilesTool

        return ListFilesTool(workspace)

    def find_files() -> Tool:
        from clio.tools.search.listing import FindFilesTool

        return FindFilesTool(workspace)

    def search_text() -> Tool:
        from clio.tools.search.search_text import SearchTextTool

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
