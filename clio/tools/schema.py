"""Tools as the model sees them: names, descriptions from the prompt files, and JSON Schemas of their arguments."""

from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from clio.prompt_files import load_prompt
from clio.providers.base import ToolSpec
from clio.tools.base import ForeignTool, Tool

_DIVIDER = "\n---\n"


def tool_spec(tool: Tool, *, compact: bool = False) -> ToolSpec:
    """The tool's entry in a request; `compact` takes the short text after the divider in its prompt file."""
    if isinstance(tool, ForeignTool):
        return tool.spec(compact=compact)
    full, _, short = load_prompt(f"tools/{tool.name}").partition(_DIVIDER)
    description = short if compact and short else full
    for name, value in getattr(tool, "described", {}).items():
        description = description.replace(f"{{{name}}}", value)
    schema = args_schema(tool.args, describe=not compact)
    return ToolSpec(name=tool.name, description=description.strip(), parameters=Raw(msgspec.json.encode(schema)))


def args_schema(args: type[Struct], *, describe: bool = True) -> dict[str, Any]:
    """JSON Schema of an argument struct with references resolved in place: not every server follows them.

    describe: keep the descriptions of the single arguments, and those marked "x-rare".
    Arguments marked "deprecated" are understood and never sent.
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
            return plain(definitions[str(mapping["$ref"]).rsplit("/", 1)[-1]])
        described = {key: plain(value) for key, value in mapping.items() if _wanted(key, value, describe)}
        return _without_null(described)

    # The struct's own docstring is for programmers: the tool's description says it to the model.
    whole = {key: value for key, value in definitions[top].items() if key != "description"}
    properties: dict[str, Any] = whole.get("properties", {})
    sent = {name: node for name, node in properties.items() if _is_sent(node, describe)}
    return cast("dict[str, Any]", plain(whole | {"properties": sent}))


def _is_sent(node: dict[str, Any], describe: bool) -> bool:
    return not node.get("deprecated") and (describe or not node.get("x-rare"))


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """An optional value as its type alone: leaving it out says null well enough."""
    options = cast("list[dict[str, Any]]", node.get("anyOf", []))
    kept = [option for option in options if option.get("type") != "null"]
    if len(kept) != 1 or len(kept) == len(options):
        return node
    return {key: value for key, value in node.items() if key != "anyOf"} | kept[0]


def _wanted(key: str, value: Any, describe: bool) -> bool:
    """Titles repeat the names, and null defaults say nothing: both are tokens in every request."""
    if key in ("title", "$defs", "default", "x-rare"):
        return isinstance(value, dict)  # a property that happens to have that name
    return describe or key != "description" or isinstance(value, dict)


def signature(args: type[Struct]) -> str:
    """The arguments in one line, for an error the model should learn from: `path: string, limit?: integer`."""
    return _fields(args_schema(args))


def _fields(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", []))
    properties: dict[str, Any] = schema.get("properties", {})
    return ", ".join(f"{name}{'' if name in required else '?'}: {_kind(node)}" for name, node in properties.items())


def _kind(node: dict[str, Any]) -> str:
    if "enum" in node:
        return "|".join(str(value) for value in node["enum"])
    if "anyOf" in node:
        return "|".join(_kind(option) for option in node["anyOf"] if option.get("type") != "null")
    if (item := node.get("items", {})).get("properties"):
        return f"array of {{{_fields(item)}}}"  # what is wrong is most often in there
    return str(node.get("type", "any"))
