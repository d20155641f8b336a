"""/mcp and `clio mcp`: list and change the configured MCP servers; /mcp:SERVER:PROMPT: their prompts as commands.

Adding or removing a server edits `mcp.yaml` in place: no other character of the file changes.
"""

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clio.commands.arguments import parse_options
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    ExpandedCommand,
    RunExpandedCommand,
    Suggestion,
    Table,
    WaitFor,
    make_refusal,
    quote_code,
)
from clio.config.extension_files import (
    SERVERS_KEY,
    describe_server,
    make_server,
    parse_server_entries,
    project_mcp_file,
    trust_added_server,
    user_mcp_file,
)
from clio.config.loaded import McpServer
from clio.config.paths import display_path, user_home
from clio.config.yaml_edit import rewrite_file, split_bom, split_lines_keeping_ends
from clio.config.yaml_file import Entry, Items, Node, parse_yaml
from clio.config.yaml_file import Table as YamlMapping
from clio.errors import ClioError, ConfigError, UsageError
from clio.mcp.values import STATE_LABELS, CallFailed, OfferedPrompt, ServerDown
from clio.storage.locks import error_reason, suggest_fix
from clio.text.formatting import truncate
from clio.text.translation import mark, tr
from clio.text.untrusted_text import unmark_pasted_text

if TYPE_CHECKING:
    from clio.mcp.servers import McpServers, ServerStatus


_NOT_IN_COMMAND_NAMES = re.compile(r"[^\w.-]+")  # characters that cannot be part of a slash command's name
_DESCRIPTION_CHARS = 160
_WORD = re.compile(r'"([^"]*)"|(\S+)')


class PromptCommands:
    """A source of commands from the prompts that servers have listed. Starts no server."""

    def __init__(self, servers: "McpServers") -> None:
        self._servers = servers

    def __call__(self) -> Sequence[Command]:
        """Return a command for each known prompt."""
        return [self._command(server, prompt) for server, prompt in self._servers.prompts()]

    def _command(self, server: str, prompt: OfferedPrompt) -> Command:
        # The names come from the server and may contain blanks or anything else.
        name = f"mcp:{_NOT_IN_COMMAND_NAMES.sub('_', server)}:{_NOT_IN_COMMAND_NAMES.sub('_', prompt.name)}"

        def run(ctx: CommandContext, argument: str) -> CommandResult:
            given = parse_prompt_arguments(prompt, unmark_pasted_text(argument))
            if missing := [one.name for one in prompt.arguments if one.required and not given.get(one.name)]:
                return make_refusal(f"/{name} needs {', '.join(missing)}: write /{name} {format_prompt_usage(prompt)}")

            async def make() -> ExpandedCommand:
                try:
                    reply = await self._servers.prompt(server, prompt.name, given)
                except (CallFailed, ServerDown) as error:
                    raise ClioError(
                        tr(
                            "the MCP server {server!r} returned no prompt {prompt!r}: {error}",
                            server=server,
                            prompt=prompt.name,
                            error=error,
                        )
                    ) from None
                safe = ctx.redactor.redact(reply.text).text  # a server is no safer a source than a file
                return ExpandedCommand(text=safe, source=f"the MCP server {server}")

            return CommandResult(follow_up=RunExpandedCommand(line=f"/{name} {argument}".rstrip(), expand=make))

        about = " ".join(prompt.description.split())[:120] or "a prompt"
        return Command(
            name=name,
            argument=format_prompt_usage(prompt),
            summary=tr("{about} (of {server})", about=about, server=server),
            handler=run,
            source=f"the MCP server {server}",
            sends_argument=True,
        )


def format_prompt_usage(prompt: OfferedPrompt) -> str:
    """Return the arguments of a prompt as help shows them."""
    return " ".join(one.name.upper() if one.required else f"[{one.name.upper()}]" for one in prompt.arguments)


def parse_prompt_arguments(prompt: OfferedPrompt, typed: str) -> dict[str, str]:
    """Assign typed text to a prompt's arguments: in order, or as `name=value`; the last argument takes the rest."""
    names = [one.name for one in prompt.arguments]
    given: dict[str, str] = {}
    place = 0
    while (found := _WORD.match(typed, place)) or (place < len(typed) and typed[place].isspace()):
        if found is None:
            place += 1
            continue
        word = found[1] if found[1] is not None else found[2]
        name, equals, value = word.partition("=")
        if equals and name in names:
            given[name] = value
            if typed[place:].startswith(f'{name}="') and (end := typed.find('"', place + len(name) + 2)) > 0:
                given[name] = typed[place + len(name) + 2 : end]
                place = end + 1
                continue
        else:
            free = [one for one in names if one not in given]
            if len(free) == 1:
                given[free[0]] = typed[place:].strip() if found[1] is None else word
                return given
            if not free:
                return given
            given[free[0]] = word
        place = found.end()
    return given


_SCOPES = ("project", "user")
_ADD_USAGE = mark("/mcp add NAME -- COMMAND [ARGUMENTS], or /mcp add NAME --url URL")
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth", re.IGNORECASE)


def show_servers(ctx: CommandContext, argument: str) -> CommandResult:
    """List the servers and their cost in tokens, or describe one."""
    given = parse_options(argument, switches=("--check",))
    if "--check" in given.options:
        return CommandResult(follow_up=WaitFor(label=tr("asking the servers"), work=lambda: _check_servers(ctx)))
    statuses = ctx.servers.list_statuses()
    if given.words:
        return _describe_server(_find_status(statuses, given.words[0]), ctx.servers)
    return _make_server_list(statuses, ctx.servers)


def reload_servers(ctx: CommandContext, argument: str) -> CommandResult:
    """Restart every server; the next request offers the tools they have then."""
    if argument:
        return make_refusal(tr("/mcp reload takes no argument; it restarts every server"))

    async def work() -> CommandResult:
        await ctx.reload_servers()
        return _make_server_list(ctx.servers.list_statuses(), ctx.servers)

    return CommandResult(follow_up=WaitFor(label=tr("starting the MCP servers"), work=work))


def test_server(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/mcp test`: start a second process of one server, and list its tools, resources and prompts."""
    name = argument.strip()
    server = _find_status(ctx.servers.list_statuses(), name).server if name else None
    if server is None:
        return make_refusal(tr("Which server? Write /mcp test NAME; /mcp list shows all"))

    async def work() -> CommandResult:
        servers = ctx.servers.copy()  # the conversation's own servers keep running, and its tools stay the same
        started_at = time.monotonic()
        try:
            status = await servers.start(server.name)
            return _describe_server(status, servers, took_s=time.monotonic() - started_at)
        except ServerDown as error:
            raise ClioError(
                tr("the MCP server {server!r} cannot be used: {error}", server=server.name, error=error)
            ) from None
        finally:
            await servers.close()

    return CommandResult(follow_up=WaitFor(label=tr("starting {server}", server=server.name), work=work))


def log_in_to_server(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/mcp login`: show the page to log in on, and wait for the browser to come back from it."""
    given = parse_options(argument, switches=("--keyring", "--browser"))
    if len(given.words) != 1:
        return make_refusal(
            tr("Write /mcp login NAME; --browser opens the page, --keyring stores the login in the keyring")
        )
    name = _find_status(ctx.servers.list_statuses(), given.words[0]).server.name
    if ctx.is_json or not (sys.stdout and sys.stdout.isatty()):
        return make_refusal(tr("A login shows a page to open, so it must be run in a terminal"))
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode stores nothing; start without --incognito."))

    async def begin() -> CommandResult:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def show_page(url: str) -> None:
            address.set_result(url)

        login = asyncio.ensure_future(ctx.servers.log_in(name, show_page, in_keyring="--keyring" in given.options))

        async def finish() -> CommandResult:
            try:
                await login
            finally:
                login.cancel()
            return CommandResult(
                text=tr(
                    "Logged in to {name}. An open conversation uses it once its servers are reloaded.",
                    name=quote_code(name),
                )
            )

        try:
            await asyncio.wait({login, address}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            login.cancel()
            raise
        if not address.done():
            return await finish()
        url = address.result()
        if "--browser" in given.options:
            import webbrowser

            await asyncio.to_thread(webbrowser.open, url)
        host, own_host = urlsplit(url).hostname, urlsplit(_get_url(ctx, name)).hostname
        text = tr("Log in to {name} on this page:\n\n{url}", name=quote_code(name), url=url)
        if host != own_host:
            text += "\n\n" + tr(
                "It belongs to {host}, which the server {own_host} names for logins.", host=host, own_host=own_host
            )
        return CommandResult(
            text=text, follow_up=WaitFor(label=tr("waiting for the login; Ctrl-C to stop"), work=finish)
        )

    return CommandResult(follow_up=WaitFor(label=tr("asking {name} for its login page", name=name), work=begin))


def _get_url(ctx: CommandContext, name: str) -> str:
    return next((one.server.url for one in ctx.servers.list_statuses() if one.server.name == name), "")


def log_out_of_server(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/mcp logout`: delete a server's login, and tell the server where it has an address for that."""
    name = argument.strip()
    if not name or " " in name:
        return make_refusal(tr("Write /mcp logout NAME"))

    async def work() -> CommandResult:
        count, told = await ctx.servers.log_out(name)
        if not count:
            return make_refusal(tr("There is no stored login for {name!r}", name=name))
        text = tr("The login for {name} was deleted.", name=quote_code(name))
        if told:
            text += " " + tr("The server has revoked its tokens.")
        return CommandResult(text=text, data={"name": name, "revoked": told})

    return CommandResult(follow_up=WaitFor(label=tr("logging out of {name}", name=name), work=work))


def refuse_to_serve(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/mcp --http`: only the command line can serve."""
    return make_refusal(tr("A server runs until it is stopped, so start it in another terminal: clio mcp --http"))


def _display_file(ctx: CommandContext, path: Path) -> str:
    is_project_file = path == project_mcp_file(ctx.loaded.main_project)
    project = ctx.loaded.main_project if is_project_file else None
    return display_path(path, project=project, user_home=user_home(os.environ))


def add_server(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/mcp add`: add a server to the project's file or the user's."""
    # Everything after the first `--` is the server's command line, including options that clio would know.
    head, _, command = f" {argument} ".partition(" -- ")
    given = parse_options(head, valued=("--url", "--scope", "--type"), repeated=("--env", "--header"))
    words = parse_options(f"-- {command}").words
    if len(given.words) != 1 or bool(words) == ("--url" in given.options):
        return make_refusal(tr("Write {add}", add=tr(_ADD_USAGE)))
    scope = given.options.get("--scope", "project")
    if scope not in _SCOPES:
        return make_refusal(tr("--scope is project or user, not {scope!r}", scope=scope))
    env, headers = _parse_pairs(given.repeated, "--env", "="), _parse_pairs(given.repeated, "--header", "=:")
    fields = {
        "command": words[0] if words else None,
        "args": list(words[1:]) or None,
        "url": given.options.get("--url"),
        "type": given.options.get("--type"),
        "env": env or None,
        "headers": headers or None,
    }
    given_fields = {key: value for key, value in fields.items() if value is not None}
    own = scope == "user"
    path = user_mcp_file(ctx.loaded.home) if own else project_mcp_file(ctx.loaded.main_project)
    checked = make_server(given.words[0], given_fields, str(path), own=own)
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode stores nothing; start without --incognito."))
    add_server_entry(path, checked)
    if not own:  # the user has just typed the command, so asking whether to trust it would be pointless
        trust_added_server(ctx.loaded.home, ctx.loaded.main_project, checked.name)
    text = tr(
        "{checked} was added to {path}; clio uses it after a restart. `/mcp test {checked2}` tries it.",
        checked=quote_code(checked.name),
        path=quote_code(_display_file(ctx, path)),
        checked2=checked.name,
    )
    if literal := next(
        (key for key, value in {**env, **headers}.items() if _SECRET_NAME.search(key) and "${" not in value), ""
    ):
        text += tr(
            " The value of {literal} is stored in that file; `${{NAME}}` would read it from the environment.",
            literal=quote_code(literal),
        )
    return CommandResult(text=text, data={"name": checked.name, "file": str(path)})


def remove_server(ctx: CommandContext, argument: str) -> CommandResult:
    """Remove a server from its file."""
    given = parse_options(argument, valued=("--scope",))
    scope = given.options.get("--scope")
    if len(given.words) != 1 or (scope is not None and scope not in _SCOPES):
        return make_refusal(tr("Write /mcp remove NAME, with --scope project or --scope user if both files have it"))
    name = given.words[0]
    files = {"project": project_mcp_file(ctx.loaded.main_project), "user": user_mcp_file(ctx.loaded.home)}
    for one in (scope,) if scope else _SCOPES:
        if remove_server_entry(files[one], name):
            text = tr(
                "{name} was removed from {files}; this takes effect at clio's next start.",
                name=quote_code(name),
                files=quote_code(_display_file(ctx, files[one])),
            )
            return CommandResult(text=text, data={"name": name, "file": str(files[one])})
    status = next((one for one in ctx.servers.list_statuses() if one.server.name == name), None)
    if status is not None:
        return make_refusal(
            tr("{name!r} is defined in {where}; remove it in that file", name=name, where=status.server.where)
        )
    return make_refusal(tr("There is no MCP server {name!r}; /mcp list shows all", name=name))


def suggest_servers(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the servers' names."""
    return [Suggestion(text=one.server.name, note=describe_server(one.server)) for one in ctx.servers.list_statuses()]


async def _check_servers(ctx: CommandContext) -> CommandResult:
    # The running servers are not disturbed by a check: their tools are part of the session's prompt.
    servers = ctx.servers.copy()
    try:
        return _make_server_list(await servers.reload(), servers)
    finally:
        await servers.close()


def _make_server_list(statuses: "Sequence[ServerStatus]", servers: "McpServers") -> CommandResult:
    lines = [f"- {problem}" for problem in servers.problems]
    lines += [f"- {one.server.name}: {one.why}" for one in statuses if one.state == "failed"]
    data = [_make_server_data(one, servers) for one in statuses]
    if not statuses:
        none = tr("No MCP servers; `{add}` adds one.", add=tr(_ADD_USAGE))
        return CommandResult(text="\n".join([none, *(["", *lines] if lines else [])]), data=data)
    rows = tuple(
        (
            one.server.name,
            tr(STATE_LABELS[one.state]) if one.server.enabled else tr("disabled"),
            f"{len(one.catalog.tools):,}" if one.catalog else "?",
            f"{servers.tokens(one.server.name):,}" if one.catalog else "?",
            f"{len(one.catalog.resources):,}" if one.catalog else "?",
            f"{len(one.catalog.prompts):,}" if one.catalog else "?",
            describe_server(one.server),
        )
        for one in statuses
    )
    columns = (
        tr("server"),
        tr("state"),
        tr("tools"),
        tr("tokens"),
        tr("resources"),
        tr("prompts"),
        tr("command or URL"),
    )
    return CommandResult(
        text="\n".join(lines), table=Table(columns=columns, rows=rows, wide_column=6, is_truncated=True), data=data
    )


def _describe_server(status: "ServerStatus", servers: "McpServers", took_s: float | None = None) -> CommandResult:
    server, catalog = status.server, status.catalog
    seconds = status.seconds if took_s is None else took_s
    rows = [
        (tr("server"), tr("{server}, from {where}", server=server.name, where=server.where)),
        (tr("command or URL"), describe_server(server)),
        (tr("state"), _describe_state(status)),
        (tr("reported name"), " ".join(filter(None, (catalog.server, catalog.version))) if catalog else ""),
        (tr("started in"), f"{seconds:.2f} s" if seconds is not None else ""),
        (tr("log"), str(status.log) if status.log and status.log.exists() else ""),
    ]
    if catalog:
        offered = set(server.tools) if server.tools is not None else None
        names = servers.names_of(server.name)
        for tool in catalog.tools:
            name = names.get(tool.name, "")
            left_out = tr(" (left out by `tools:`)") if offered is not None and tool.name not in offered else ""
            rows.append((tr("tool"), f"{name or tool.name}{left_out}: {_get_first_line(tool.description)}"))
        rows += [(tr("resource"), f"@{server.name}:{one.uri} {one.name}".rstrip()) for one in catalog.resources]
        rows += [
            (tr("prompt"), f"/mcp:{server.name}:{one.name} {_get_first_line(one.description)}")
            for one in catalog.prompts
        ]
    table = Table(columns=("", ""), rows=tuple(row for row in rows if row[1]), wide_column=1)
    return CommandResult(table=table, data=_make_server_data(status, servers) | {"seconds": seconds})


def _make_server_data(status: "ServerStatus", servers: "McpServers") -> dict[str, object]:
    catalog = status.catalog
    return {
        "name": status.server.name,
        "where": status.server.where,
        "what": describe_server(status.server),
        "enabled": status.server.enabled,
        "state": status.state,
        "why": status.why,
        "tools": [tool.name for tool in catalog.tools] if catalog else None,
        "resources": [one.uri for one in catalog.resources] if catalog else None,
        "prompts": [one.name for one in catalog.prompts] if catalog else None,
        "tokens": servers.tokens(status.server.name) if catalog else None,
    }


def _describe_state(status: "ServerStatus") -> str:
    if not status.server.enabled:
        return tr("disabled")
    return tr("failed: {why}", why=status.why) if status.state == "failed" else tr(STATE_LABELS[status.state])


def _find_status(statuses: "Sequence[ServerStatus]", name: str) -> "ServerStatus":
    found = next((one for one in statuses if one.server.name == name), None)
    if found is None:
        raise UsageError(tr("There is no MCP server {name!r}; /mcp list shows all", name=name))
    return found


def _parse_pairs(many: dict[str, tuple[str, ...]], option: str, signs: str) -> dict[str, str]:
    """Parse repeated options such as `--env K=V`. Raises UsageError."""
    found: dict[str, str] = {}
    for text in many.get(option, ()):
        sign = next((char for char in text if char in signs), "")
        name, _, value = text.partition(sign or "=")
        if not sign or not name.strip():
            raise UsageError(
                tr(
                    "{option} takes a name and a value, such as {option} NAME=VALUE, not {text!r}",
                    option=option,
                    text=text,
                )
            )
        found[name.strip()] = value.strip()
    return found


def _get_first_line(text: str) -> str:
    return truncate(text.strip().splitlines()[0], _DESCRIPTION_CHARS) if text.strip() else ""


MCP = (
    Command(
        name="mcp",
        summary=mark("the MCP servers and their tools"),
        handler=show_servers,
        subcommands=(
            Command(
                name="--http",
                argument="[--port N] [--host ADDRESS] [--allow-host NAME]... [--write] [--new-token] [--database URL]",
                summary=mark("offer this memory over HTTP, with a token"),
                handler=refuse_to_serve,
            ),
            Command(
                name="list",
                argument="[--check]",
                summary=mark("list the servers; --check starts each"),
                handler=show_servers,
            ),
            Command(
                name="show",
                argument="NAME",
                summary=mark("show one server"),
                handler=show_servers,
                suggest=suggest_servers,
            ),
            Command(
                name="add",
                argument="NAME [--env K=V] [--header K=V] [--scope project|user] --url URL | -- COMMAND ...",
                summary=mark("add a server"),
                handler=add_server,
            ),
            Command(
                name="remove",
                argument="NAME [--scope project|user]",
                summary=mark("remove a server"),
                handler=remove_server,
                suggest=suggest_servers,
            ),
            Command(
                name="test",
                argument="NAME",
                summary=mark("start it and list its tools, resources and prompts"),
                handler=test_server,
                suggest=suggest_servers,
            ),
            Command(
                name="login",
                argument="NAME [--browser] [--keyring]",
                summary=mark("log in to a server with OAuth"),
                handler=log_in_to_server,
                suggest=suggest_servers,
            ),
            Command(
                name="logout",
                argument="NAME",
                summary=mark("delete a server's login"),
                handler=log_out_of_server,
                suggest=suggest_servers,
            ),
            Command(
                name="reload", summary=mark("restart all servers"), handler=reload_servers, is_for_conversations=True
            ),
        ),
    ),
)


_PLAIN_SCALAR = re.compile(r"[A-Za-z./][\w./@~-]*")
_YAML_KEYWORDS = frozenset("y n yes no on off true false null".split())


def add_server_entry(path: Path, server: McpServer) -> None:
    """Add an entry; a missing file is created.

    Raises ConfigError if the name exists already, or the file cannot be changed without touching other lines.
    """
    _rewrite_mcp_file(
        path,
        lambda data: _add_entry(data, server, str(path)),
        tr("the MCP server {server!r} cannot be stored", server=server.name),
    )


def remove_server_entry(path: Path, name: str) -> bool:
    """Remove an entry; return whether it existed. Raises ConfigError as `add_server_entry`."""
    removed = False

    def change(data: bytes) -> bytes:
        nonlocal removed
        changed = _remove_entry(data, name, str(path))
        removed = changed != data
        return changed

    _rewrite_mcp_file(path, change, tr("the MCP server {name!r} cannot be removed", name=name))
    return removed


def _rewrite_mcp_file(path: Path, change: Callable[[bytes], bytes], what: str) -> None:
    try:
        rewrite_file(path, change)
    except OSError as error:
        raise ConfigError(f"{what}: {path}: {error_reason(error)}; {suggest_fix(error)}") from None


def _add_entry(data: bytes, server: McpServer, shown: str) -> bytes:
    before, _ = parse_server_entries(data, shown)
    table = _find_servers_mapping(data, shown)
    if table is not None and server.name in table.entries:
        raise ConfigError(
            tr("the MCP server {server!r} already exists in {shown}; remove it first", server=server.name, shown=shown)
        )
    bom, text = split_bom(data)
    lines, newline = split_lines_keeping_ends(text)
    if table is None or not table.entries:
        # An empty `mcpServers:` is replaced; a second key of that name would be an error in YAML.
        kept = "".join(line for line in lines if not re.match(rf"{SERVERS_KEY}\s*:", line))
        text = kept + newline.join([f"{SERVERS_KEY}:", *_format_entry_lines(server, "  "), ""])
    else:
        row = _find_last_row(table)
        indent = " " * table.start[1]
        rows = [line + newline for line in _format_entry_lines(server, indent)]
        text = "".join([*lines[: row + 1], *rows, *lines[row + 1 :]])
    changed = bom + text.encode("utf-8")
    return _check_names(
        changed,
        {*before, server.name},
        shown,
        tr("add {server!r} to {shown} with an editor", server=server.name, shown=shown),
    )


def _remove_entry(data: bytes, name: str, shown: str) -> bytes:
    before, _ = parse_server_entries(data, shown)
    table = _find_servers_mapping(data, shown)
    if table is None or name not in table.entries:
        return data
    bom, text = split_bom(data)
    lines, newline = split_lines_keeping_ends(text)
    entry = table.entries[name]
    # Line by line, so that comments and the layout of all other entries stay.
    rest = lines[: entry.line - 1] + lines[_find_last_row(entry.node, entry) + 1 :]
    if len(table.entries) == 1:  # a key without a value would be null, which is not a mapping
        rest = [f"{SERVERS_KEY}: {{}}{newline}" if re.match(rf"{SERVERS_KEY}\s*:", line) else line for line in rest]
    changed = bom + "".join(rest).encode("utf-8")
    return _check_names(
        changed, {*before} - {name}, shown, tr("remove {name!r} from {shown} with an editor", name=name, shown=shown)
    )


def _check_names(changed: bytes, expected: set[str], shown: str, otherwise: str) -> bytes:
    """Check that the changed file, whatever its layout, differs only in the expected names."""
    try:
        found, _ = parse_server_entries(changed, shown)
    except ConfigError:
        found = {}
    # An unusual layout, such as a mapping in one line, could lose another entry.
    if set(found) != expected:
        raise ConfigError(tr("the layout of this file prevents a safe change; {otherwise}", otherwise=otherwise))
    return changed


def _find_servers_mapping(data: bytes, shown: str) -> YamlMapping | None:
    """Return the mapping of servers; None if there is none yet."""
    entry = parse_yaml(data, shown).entries.get(SERVERS_KEY)
    return entry.node if entry is not None and isinstance(entry.node, YamlMapping) else None


def _find_last_row(node: Node, entry: Entry | None = None) -> int:
    """Return the last row of a value, from 0; the parser itself includes comments and blank lines after it."""
    if isinstance(node, YamlMapping) and not node.flow and node.entries:
        return max(_find_last_row(one.node, one) for one in node.entries.values())
    if isinstance(node, Items) and not node.flow and node.items:
        return max(_find_last_row(one) for one in node.items)
    row, column = node.end
    least = entry.line - 1 if entry else node.start[0]
    return max(row if column else row - 1, least)


def _format_entry_lines(server: McpServer, indent: str) -> list[str]:
    """Return the entry in YAML, below `mcpServers:`."""
    rows = [f"{indent}{_format_scalar(server.name)}:"]
    inner = indent + "  "
    if server.kind == "sse":
        rows.append(f"{inner}type: sse")
    if server.command:
        rows.append(f"{inner}command: {_format_scalar(server.command)}")
    if server.args:
        arguments = ", ".join(map(_format_scalar, server.args))
        rows.append(f"{inner}args: [{arguments}]")
    if server.url:
        rows.append(f"{inner}url: {_format_scalar(server.url)}")
    for name, pairs in (("env", server.env), ("headers", server.headers)):
        if pairs:
            rows.append(f"{inner}{name}:")
            rows += [f"{inner}  {_format_scalar(key)}: {_format_scalar(value)}" for key, value in pairs.items()]
    return rows


def _format_scalar(text: str) -> str:
    return (
        text
        if _PLAIN_SCALAR.fullmatch(text) and text.lower() not in _YAML_KEYWORDS
        else json.dumps(text, ensure_ascii=False)
    )
