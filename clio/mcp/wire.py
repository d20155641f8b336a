"""The SDK's client, and clio's values in place of its types. The only room that imports it for the client side."""

import contextlib
import importlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Raw

from clio import __version__
from clio.config.server import Server
from clio.mcp.blocks import blocks_pictures, blocks_text, prompt_text, resource_text
from clio.mcp.launch import Launch
from clio.mcp.pipe import Ended, pipe_transport
from clio.mcp.server_log import ServerLog
from clio.mcp.values import (
    CallFailed,
    Catalog,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    Progress,
    PromptArgument,
    Question,
    Reply,
)

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import Transport

MAX_TOOLS, MAX_OTHERS = 300, 1_000
_MAX_PAGES = 50
_MAX_FIELDS = 20
_MAX_SCHEMA_BYTES = 40_000
_CONNECT_S = 30.0
Elicit = Callable[[str, str, Sequence[Question]], Awaitable[dict[str, str] | None]]
"""Puts a server's questions to the person: its name, its message, the questions. None where they said nothing."""


def load_sdk() -> None:
    """Import the SDK: 0.8 s the first time, so it belongs into a thread."""
    importlib.import_module("mcp.client.streamable_http")
    for name in ("mcp", "httpx2", "httpcore2"):
        logger = logging.getLogger(name)  # what they warn of would stand in the middle of the screen
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


class Wire:
    """One open connection. All of it is cancelled by cancelling the caller, who then is told so."""

    def __init__(self, client: "Client", log: ServerLog) -> None:
        self._client = client
        self._log = log

    async def catalog(self) -> Catalog:
        """All that the server offers, at most MAX_TOOLS tools."""
        can, info = self._client.server_capabilities, self._client.server_info
        tools = await self._all(self._client.list_tools, "tools", MAX_TOOLS) if can.tools else []
        resources: list[Any] = []
        templates: list[Any] = []
        if can.resources:
            resources = await self._all(self._client.list_resources, "resources", MAX_OTHERS)
            with contextlib.suppress(CallFailed):  # many servers answer only the first of the two
                templates = await self._all(self._client.list_resource_templates, "resource_templates", MAX_OTHERS)
        prompts = await self._all(self._client.list_prompts, "prompts", MAX_OTHERS) if can.prompts else []
        return Catalog(
            server=info.name if info else "",
            version=info.version if info else "",
            tools=tuple(self._tool(tool) for tool in tools),
            resources=(*map(_resource, resources), *(_resource(one, template=True) for one in templates)),
            prompts=tuple(map(_prompt, prompts)),
            listed_at=time.time(),
        )

    async def call(self, tool: str, arguments: dict[str, Any], tell: Progress) -> Reply:
        """Call a tool. Raises CallFailed, ConnectionError where the connection is gone."""

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            tell(progress_line(progress, total, message))

        with _errors():
            result = await self._client.call_tool(tool, arguments, progress_callback=on_progress)
        return Reply(
            text=blocks_text(result.content, result.structured_content),
            ok=not result.is_error,
            images=blocks_pictures(result.content),
        )

    async def read(self, uri: str) -> Reply:
        """The text of a resource. Raises as `call`."""
        with _errors():
            result = await self._client.read_resource(uri)
        return Reply(text="\n\n".join(resource_text(one) for one in result.contents))

    async def prompt(self, name: str, arguments: dict[str, str]) -> Reply:
        """The text of a prompt with its blanks filled. Raises as `call`."""
        with _errors():
            result = await self._client.get_prompt(name, arguments)
        return Reply(text=prompt_text(result.messages))

    async def _all(self, ask: Any, field: str, most: int) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            with _errors():
                page = await ask(cursor=cursor)
            found += getattr(page, field)
            cursor = page.next_cursor
            if cursor is None:
                return found[:most]
            if len(found) >= most:
                break
        self._log.write(f"clio: it offers more than {most} {field}; the rest is left out")
        return found[:most]

    def _tool(self, tool: Any) -> OfferedTool:
        schema = msgspec.json.encode(tool.input_schema)
        if len(schema) > _MAX_SCHEMA_BYTES:
            self._log.write(f"clio: the schema of {tool.name} is too large; the tool is offered without it")
            schema = b'{"type":"object"}'
        hints = tool.annotations
        return OfferedTool(
            name=tool.name,
            title=tool.title or (hints.title if hints else None) or "",
            description=tool.description or "",
            schema=Raw(schema),
            reads=bool(hints and hints.read_only_hint),
        )


@contextlib.asynccontextmanager
async def connect(
    server: Server, launch: Launch, project: Path, *, log: ServerLog, ended: Ended, elicit: Elicit, legacy: bool = False
) -> AsyncGenerator[Wire]:
    """Start or call a server and agree on a version. `load_sdk` was awaited before.

    legacy: only the older handshake, for servers that fall over a question they do not know.
    Raises what the way to the server raises; see `connection.why`.
    """
    from mcp import Client
    from mcp.types import Implementation

    async with _transport(server, launch, log, ended) as transport:
        client = Client(
            transport,
            mode="legacy" if legacy else "auto",
            client_info=Implementation(name="clio", version=__version__),
            list_roots_callback=_roots(project),
            elicitation_callback=_elicitation(server.name, elicit),
            logging_callback=_logging(log),
            cache=None,
        )
        async with client:
            yield Wire(client, log)


def progress_line(done: float, total: float | None, message: str | None) -> str:
    """A server's news on one line."""
    share = f"{min(done / total, 1.0):.0%}".replace("%", " %") if total else f"{done:g}"
    return f"{share} {' '.join(message.split())[:200]}" if message else share


@contextlib.asynccontextmanager
async def _transport(server: Server, launch: Launch, log: ServerLog, ended: Ended) -> "AsyncGenerator[Transport]":
    import httpx2
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    if server.kind == "stdio":
        yield pipe_transport(launch, log, ended)
    elif server.kind == "sse":
        yield sse_client(launch.url, headers=launch.headers)
    else:
        # A call may be silent for as long as `timeout_s`, which is watched elsewhere.
        patience = httpx2.Timeout(_CONNECT_S, read=None)

        async def look(response: httpx2.Response) -> None:
            if response.status_code >= 400:
                ended.status = response.status_code

        hooks: Any = {"response": [look]}
        async with httpx2.AsyncClient(headers=launch.headers, timeout=patience, event_hooks=hooks) as http:
            yield streamable_http_client(launch.url, http_client=http)


@contextlib.contextmanager
def _errors() -> Generator[None]:
    """The SDK's errors as clio's two: the server said no, or there is no server."""
    from mcp.shared.exceptions import MCPError
    from mcp.types import CONNECTION_CLOSED

    try:
        yield
    except MCPError as error:
        if error.code == CONNECTION_CLOSED and error.message == "Connection closed":
            raise ConnectionError("the connection was closed") from None
        raise CallFailed(error.message or f"error {error.code}") from None
    except (RuntimeError, ValueError) as error:  # an answer that is not what the protocol, or its own schema, says
        raise CallFailed(" ".join(str(error).split())[:500]) from None


def _resource(one: Any, *, template: bool = False) -> OfferedResource:
    return OfferedResource(
        uri=str(one.uri_template if template else one.uri),
        name=one.title or one.name or "",
        description=one.description or "",
        media_type=one.mime_type or "",
        template=template,
    )


def _prompt(one: Any) -> OfferedPrompt:
    arguments = tuple(
        PromptArgument(name=each.name, description=each.description or "", required=bool(each.required))
        for each in one.arguments or ()
    )
    return OfferedPrompt(name=one.name, description=one.description or one.title or "", arguments=arguments)


def _roots(project: Path) -> Any:
    from mcp.types import ListRootsResult, Root

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=cast(Any, project.as_uri()), name=project.name)])

    return roots


def _logging(log: ServerLog) -> Any:
    async def keep(params: Any) -> None:
        log.write(f"{params.level}: {params.data}")

    return keep


def _elicitation(name: str, elicit: Elicit) -> Any:
    from mcp.types import ElicitResult

    async def answer(context: Any, params: Any) -> ElicitResult:
        if params.mode != "form":
            return ElicitResult(action="decline")  # a page to visit is for the person to choose, not for a server
        asked = questions(params.requested_schema)
        if not asked:
            return ElicitResult(action="decline")
        said = await elicit(name, params.message, asked)
        if said is None:
            return ElicitResult(action="decline")
        content = {one.name: _typed(said[one.name], one) for one in asked if said.get(one.name)}
        if any(one.required and one.name not in content for one in asked):
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content=cast(Any, content))

    return answer


def questions(schema: dict[str, Any]) -> list[Question]:
    """A form's fields, one question each; none where it needs what cannot be asked in words."""
    required = schema.get("required", [])
    found: list[Question] = []
    for name, field in list(cast("dict[str, Any]", schema.get("properties", {})).items())[:_MAX_FIELDS]:
        kind = field.get("type", "string")
        choices = field.get("enum") or [one.get("const") for one in field.get("oneOf", [])]
        if kind not in ("string", "number", "integer", "boolean"):
            if name in required:
                return []
            continue
        text = " ".join(str(field.get("description") or field.get("title") or name).split())
        found.append(
            Question(
                name=name,
                text=text,
                options=("yes", "no") if kind == "boolean" else tuple(map(str, choices)),
                kind=kind,
                default=_shown(field.get("default")),
                required=name in required,
            )
        )
    return found


def _shown(default: object) -> str | None:
    """A field's default as a person would type it."""
    if isinstance(default, bool):
        return "yes" if default else "no"
    return None if default is None else str(default)


def _typed(text: str, question: Question) -> str | int | float | bool:
    if question.kind == "boolean":
        return text.strip().lower() in ("yes", "y", "true", "1")
    try:
        if question.kind == "integer":
            return int(text)
        if question.kind == "number":
            return float(text)
    except ValueError:
        pass
    return text
