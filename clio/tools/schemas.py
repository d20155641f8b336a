"""Tool descriptions for requests: argument structs, texts from the prompt files, and JSON Schemas."""

from typing import Annotated, Any, Literal, cast, get_args

import msgspec
from msgspec import Meta, Raw, Struct, field

from clio.config.schema import PositiveInt
from clio.prompt_files import load_prompt
from clio.providers.base import ToolSpec
from clio.tools.base import ExternalTool, Tool

MAX_ANSWER_CHARS = 24_000
"""Limit for one result; the rest needs a further call."""


class ReadFileArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of read_file."""

    path: Annotated[str, Meta(description="relative to the project or absolute")]
    offset: Annotated[PositiveInt | None, Meta(description="first line, from 1")] = None
    limit: Annotated[PositiveInt | None, Meta(description="number of lines")] = None


class WriteFileArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of write_file."""

    path: str
    content: str


class EditFileArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of edit_file."""

    path: str
    old_string: Annotated[str, Meta(description="text to replace, unique in the file")]
    new_string: str
    replace_all: bool = False


class ApplyPatchArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of apply_patch."""

    patch: str


class ListFilesArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of list_files."""

    path: Annotated[str, Meta(description="folder; the project by default")] = "."
    depth: Annotated[PositiveInt | None, Meta(description="levels to expand")] = None


class FindFilesArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of find_files."""

    pattern: str


class SearchTextArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of search_text."""

    pattern: str
    path: Annotated[str, Meta(description="folder or file; the project by default")] = "."
    glob: Annotated[str | None, Meta(description="only such files: *.py, src/**/*.ts, !tests/**")] = None
    ignore_case: bool = False
    context: Annotated[int, Meta(description="lines around each match", ge=0, le=20)] = 0


class CodeLookupArgs(Struct, frozen=True, kw_only=True):
    """Arguments of code_lookup; other names of the operations are accepted."""

    operation: Annotated[Any, Meta(extra_json_schema={"enum": ["definition", "references", "symbols"]})]
    path: str = ""
    line: int | None = None
    symbol: str = ""


class RunCommandArgs(Struct, frozen=True, kw_only=True):
    """Arguments of run_command."""

    command: str
    timeout_s: Annotated[int, Meta(ge=1, le=3600)] | None = None
    # Left out of compact requests, which do not offer job_output either.
    background: Annotated[bool, Meta(extra_json_schema={"x-rare": True})] = False


class SandboxedCommandArgs(RunCommandArgs, frozen=True, kw_only=True):
    """Arguments of run_command if commands run in a sandbox."""

    outside: Annotated[bool, Meta(description="Run it outside the sandbox; the user is always asked")] = False


def get_command_args(*, sandboxed: bool) -> type[RunCommandArgs]:
    """Return the arguments of run_command. sandboxed: whether commands run in a sandbox."""
    return SandboxedCommandArgs if sandboxed else RunCommandArgs


class JobOutputArgs(Struct, frozen=True, kw_only=True):
    """Arguments of job_output."""

    job: Annotated[str, Meta(description='such as "job1"')]
    offset: Annotated[int, Meta(ge=0, description="first character")] | None = None
    wait_s: Annotated[int, Meta(ge=0, le=60)] = 0


class JobStopArgs(Struct, frozen=True, kw_only=True):
    """Arguments of job_stop."""

    job: str


class GitArgs(Struct, frozen=True, kw_only=True):
    """Arguments of git."""

    operation: Literal["status", "diff", "log", "show", "blame", "branch", "commit", "stash", "push"]
    action: Annotated[
        Literal["list", "create", "switch", "push", "pop"] | None,
        Meta(description="of branch and stash"),
    ] = None
    path: Annotated[str, Meta(description="diff, log, show, blame: only this path")] = ""
    revision: Annotated[str, Meta(description="commit, branch or range")] = ""
    staged: bool = False
    n: Annotated[int, Meta(ge=1, le=500)] = 20
    lines: Annotated[str, Meta(pattern=r"^(\d+,\d+)?$", description='blame: "10,40"')] = ""
    name: Annotated[str, Meta(description="of the branch")] = ""
    message: str = ""
    paths: Annotated[tuple[str, ...], Meta(description='what to commit; ["."] is all')] = ()
    remote: str = ""


class WebFetchArgs(Struct, frozen=True, kw_only=True):
    """Arguments of web_fetch."""

    url: str


class WebSearchArgs(Struct, frozen=True, kw_only=True):
    """Arguments of web_search."""

    query: str
    count: Annotated[int, Meta(ge=1, le=10, description="how many results")] = 5


class ReadOutputArgs(Struct, frozen=True, kw_only=True):
    """Arguments of read_output."""

    handle: str
    offset: Annotated[int, Meta(ge=1)] = 1
    limit: Annotated[int, Meta(ge=1, le=2000)] = 300


class UseSkillArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of use_skill."""

    name: Annotated[str, Meta(description="name of the skill, as listed")]


MemoryOperation = Literal[
    "store",
    "retrieve",
    "search",
    "list",
    "delete",
    "recall_sessions",
    "recall_messages",
    "add_discovery",
    "add_solution",
    "add_pattern",
    "add_workflow",
    "add_failure",
    "add_context_rule",
    "update_ltm",
    "forget_ltm",
    "prune_ltm",
    "ltm_stats",
    "remember",
    "recall",
    "forget",
    "apply",
    "history",
    "compact",
    "update",
    "search_sessions",
    "read_messages",
    "stats",
]
MEMORY_OPERATIONS: tuple[MemoryOperation, ...] = get_args(MemoryOperation)
LISTED_OPERATIONS: tuple[MemoryOperation, ...] = (
    "remember",
    "recall",
    "update",
    "forget",
    "history",
    "search_sessions",
    "read_messages",
    "stats",
)
"""The operations in the schema; all others are former names, which stay accepted."""

# The types in the schema are for the model; other values are accepted if only one interpretation makes sense.
_STRING = {"type": "string"}
_LIST = {"type": "array", "items": {"type": "string"}}
_NUMBER = {"type": "number"}
_INTEGER = {"type": "integer"}
_NOT_SENT = {"deprecated": True}
_NOT_SENT_COMPACT = {"x-rare": True}
Text = Annotated[Any, Meta(extra_json_schema=_STRING)]
RareText = Annotated[Any, Meta(extra_json_schema=_STRING | _NOT_SENT_COMPACT)]
RareNumber = Annotated[Any, Meta(extra_json_schema=_NUMBER | _NOT_SENT_COMPACT)]
Alias = Annotated[Any, Meta(extra_json_schema=_NOT_SENT)]


class MemoryArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of memory_operations. None means that a parameter was not given; empty strings are values.

    An unknown parameter is an error: ignored, it would lose text that the model wants to save.
    """

    operation: Annotated[Any, Meta(extra_json_schema={"enum": list(LISTED_OPERATIONS)})]
    content: Text = None
    kind: Text = None
    key: Text = None
    query: Text = None
    id: Text = None
    solution: Text = None
    impact: RareText = None
    steps: Annotated[Any, Meta(extra_json_schema=_LIST)] = None
    path: Text = None
    files: Annotated[Any, Meta(extra_json_schema=_LIST)] = None
    confidence: RareNumber = None
    importance: RareNumber = None
    at: RareText = None
    handle: Text = None
    from_: Annotated[Any, Meta(extra_json_schema=_STRING)] = field(name="from", default=None)
    to: Text = None
    session: Text = None
    offset: Annotated[Any, Meta(extra_json_schema=_INTEGER)] = None
    max_results: Annotated[Any, Meta(extra_json_schema=_INTEGER | _NOT_SENT_COMPACT)] = None
    # Former names, not in the schema and accepted all the same.
    fact: Alias = None
    error: Alias = None
    pattern: Alias = None
    prevention: Alias = None
    examples: Alias = None
    type: Alias = None
    layer: Alias = None
    max_sessions: Alias = None
    text: Alias = None
    name: Alias = None
    value: Alias = None
    sequence: Alias = None
    context: Alias = None
    ids: Alias = None
    session_id: Alias = None
    message_id: Alias = None
    limit: Alias = None
    scope: Alias = None
    what: Alias = None
    rule: Alias = None
    search: Alias = None
    replacement: Alias = None
    max_age_days: Alias = None
    min_confidence: Alias = None
    dry_run: Alias = None
    scores: Alias = None


_DIVIDER = "\n---\n"


def make_tool_spec(tool: Tool, *, compact: bool = False) -> ToolSpec:
    """Return the tool's entry in a request.

    compact: use the short description, which follows the divider in the tool's prompt file.
    """
    if isinstance(tool, ExternalTool):
        return tool.spec(compact=compact)
    full, _, short = load_prompt(f"tools/{tool.name}").partition(_DIVIDER)
    description = short if compact and short else full
    for name, value in getattr(tool, "placeholder_values", {}).items():
        description = description.replace(f"{{{name}}}", value)
    schema = make_args_schema(tool.args, describe=not compact)
    return ToolSpec(name=tool.name, description=description.strip(), parameters=Raw(msgspec.json.encode(schema)))


def make_args_schema(args: type[Struct], *, describe: bool = True) -> dict[str, Any]:
    """Return the JSON Schema of an argument struct with references resolved in place: not every server follows them.

    Arguments marked "deprecated" are accepted but not sent.

    Args:
        describe: keep the descriptions of arguments, and arguments marked "x-rare".
    """
    document = msgspec.json.schema(args)
    definitions: dict[str, Any] = document.get("$defs", {})
    top = str(document["$ref"]).rsplit("/", 1)[-1]

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(item) for item in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        mapping = cast("dict[str, Any]", node)
        if "$ref" in mapping:
            definition = definitions[str(mapping["$ref"]).rsplit("/", 1)[-1]]
            return plain({key: value for key, value in definition.items() if key != "description"})
        described = {key: plain(value) for key, value in mapping.items() if _is_key_sent(key, value, describe)}
        return _without_null(described)

    # The docstrings of structs are for programmers; the model gets the tool's description.
    whole = {key: value for key, value in definitions[top].items() if key != "description"}
    properties: dict[str, Any] = whole.get("properties", {})
    sent = {name: node for name, node in properties.items() if _is_sent(node, describe)}
    return cast("dict[str, Any]", plain(whole | {"properties": sent}))


def _is_sent(node: dict[str, Any], describe: bool) -> bool:
    return not node.get("deprecated") and (describe or not node.get("x-rare"))


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return the type of an optional value without null: omitting the value means the same."""
    options = cast("list[dict[str, Any]]", node.get("anyOf", []))
    others = [option for option in options if option.get("type") != "null"]
    if len(others) != 1 or len(others) == len(options):
        return node
    return {key: value for key, value in node.items() if key != "anyOf"} | others[0]


def _is_key_sent(key: str, value: Any, describe: bool) -> bool:
    """Whether to send a key of the schema.

    Titles repeat names, null defaults and empty lists are obvious; each would cost tokens in every request.
    """
    if key == "required" and value == []:
        return False
    if key in ("title", "$defs", "default", "x-rare"):
        return isinstance(value, dict)  # a property that happens to have that name
    return describe or key != "description" or isinstance(value, dict)


def describe_arguments(args: type[Struct]) -> str:
    """Return the arguments in one line, for an error message to the model: `path: string, limit?: integer`."""
    return _format_fields(make_args_schema(args))


def _format_fields(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", []))
    properties: dict[str, Any] = schema.get("properties", {})
    return ", ".join(
        f"{name}{'' if name in required else '?'}: {_format_type(node)}" for name, node in properties.items()
    )


def _format_type(node: dict[str, Any]) -> str:
    if "enum" in node:
        return "|".join(str(value) for value in node["enum"])
    if "anyOf" in node:
        return "|".join(_format_type(option) for option in node["anyOf"] if option.get("type") != "null")
    if (item := node.get("items", {})).get("properties"):
        return f"array of {{{_format_fields(item)}}}"  # errors are most often inside the items
    return str(node.get("type", "any"))
