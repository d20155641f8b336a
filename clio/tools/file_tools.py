"""The tools that read, search and change files."""

from clio.security.path_policy import Workspace
from clio.tools.base import Tool
from clio.tools.files.edit import EditFileTool
from clio.tools.files.patch import ApplyPatchTool
from clio.tools.files.read import MAX_CHARS, ReadFileTool
from clio.tools.files.read_log import ReadLog
from clio.tools.files.write import WriteFileTool
from clio.tools.search.listing import FindFilesTool, ListFilesTool
from clio.tools.search.search_text import SearchTextTool


def file_tools(workspace: Workspace, read_log: ReadLog, *, max_read_chars: int = MAX_CHARS) -> list[Tool]:
    """All file tools of one session.

    max_read_chars: how much one read or search may answer; no more than the runner lets pass.
    """
    return [
        ReadFileTool(workspace, read_log, max_read_chars),
        WriteFileTool(workspace, read_log),
        EditFileTool(workspace, read_log),
        ApplyPatchTool(workspace, read_log),
        ListFilesTool(workspace),
        FindFilesTool(workspace),
        SearchTextTool(workspace, max_chars=max_read_chars),
    ]
