"""Hooks and MCP servers configured in `hooks.yaml`, `mcp.yaml` and `.mcp.json`, and which of them are trusted."""

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clio.config.command_line import did_you_mean
from clio.config.loaded import (
    HOOK_EVENTS,
    HOOK_TIMEOUT_S,
    MAX_TIMEOUT_S,
    SERVER_TIMEOUT_S,
    TOOL_EVENTS,
    Hook,
    McpServer,
    OAuthClient,
    Sampling,
    TrustRequest,
)
from clio.config.paths import FOLDER_NAME
from clio.config.trust import TrustStore, format_asked_value, format_value, mask_secrets, shorten_asked_text
from clio.config.yaml_file import FileIgnored, Items, Node, Scalar, Table, describe_node, parse_yaml, read_config_bytes
from clio.errors import ConfigError
from clio.text.formatting import truncate
from clio.text.json_data import decode_json
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

HOOKS_NAME = "hooks.yaml"
_HOOK_KEYS = ("match", "run", "timeout_s")


class FoundHooks(Struct, frozen=True, kw_only=True):
    """The hooks in force, the user's first; the project's trusted hooks; and those that wait for trust.

    problems: sentences about ignored files.
    """

    hooks: tuple[Hook, ...] = ()
    trusted: tuple[TrustRequest, ...] = ()
    withheld: tuple[TrustRequest, ...] = ()
    problems: tuple[str, ...] = ()


def user_hooks_file(home: Path) -> Path:
    """Return the path of the user's own hooks."""
    return home / HOOKS_NAME


def project_hooks_file(project: Path) -> Path:
    """Return the path of a project's hooks."""
    return project / FOLDER_NAME / HOOKS_NAME


def find_hooks(
    home: Path, project: Path, is_trusted: Callable[[TrustRequest], bool], links: Iterable[Path] = ()
) -> FoundHooks:
    """Return the hooks of both files. Raises ConfigError for an invalid file.

    links: the targets outside of the project that its links may point to.
    """
    hooks = list(read_hooks(user_hooks_file(home), f"~/.clio/{HOOKS_NAME}"))
    trusted: list[TrustRequest] = []
    withheld: list[TrustRequest] = []
    if project_hooks_file(project) != user_hooks_file(home).resolve():  # in the home directory both are the same file
        try:
            project_hooks = list(
                read_hooks(project_hooks_file(project), f"{FOLDER_NAME}/{HOOKS_NAME}", root=project, trusted=links)
            )
        except FileIgnored as error:
            return FoundHooks(hooks=tuple(hooks), problems=(str(error),))
        for hook in project_hooks:
            request = _make_hook_trust_request(hook)
            if is_trusted(request):
                hooks.append(hook)
                trusted.append(request)
            else:
                withheld.append(request)
    return FoundHooks(hooks=tuple(hooks), trusted=tuple(trusted), withheld=tuple(withheld))


def read_hooks(
    path: Path, display_name: str, *, root: Path | None = None, trusted: Iterable[Path] = ()
) -> Iterator[Hook]:
    """Yield the hooks of one file in order.

    root, trusted: see `read_config_bytes`. Raises ConfigError with file and line.
    """
    data = read_config_bytes(path, display_name, root=root, trusted=trusted)
    if data is None:
        return
    for event, entry in parse_yaml(data, display_name).entries.items():
        where = f"{display_name}:{entry.line}"
        if event not in HOOK_EVENTS:
            raise ConfigError(
                tr(
                    "{where}: unknown event {event!r}{did_you_mean}",
                    where=where,
                    event=event,
                    did_you_mean=did_you_mean(event, HOOK_EVENTS),
                )
            )
        if not isinstance(entry.node, Items):
            raise ConfigError(
                tr("{where}: {event} needs a list of hooks such as '- run: ./check.sh'", where=where, event=event)
            )
        for node in entry.node.items:
            yield _parse_hook(event, node, display_name)


def _parse_hook(event: str, node: Node, display_name: str) -> Hook:
    where = f"{display_name}:{node.start[0] + 1}"
    if not isinstance(node, Table):
        raise ConfigError(
            tr("{where}: a hook is written as 'run: COMMAND', not {node}", where=where, node=describe_node(node))
        )
    for key, entry in node.entries.items():
        if key not in _HOOK_KEYS:
            raise ConfigError(
                tr(
                    "{display_name}:{line}: unknown key {key!r}{did_you_mean}",
                    display_name=display_name,
                    line=entry.line,
                    key=key,
                    did_you_mean=did_you_mean(key, _HOOK_KEYS),
                )
            )
    run = _get_text(node, "run", where)
    if not run.strip():
        raise ConfigError(tr("{where}: the hook has no command; add 'run: COMMAND'", where=where))
    match = tuple(part.strip() for part in _get_text(node, "match", where).split("|") if part.strip())
    if match and event not in TOOL_EVENTS:
        raise ConfigError(tr("{where}: match selects tools, and {event} has none; remove it", where=where, event=event))
    return Hook(event=event, run=run, where=where, match=match, timeout_s=_parse_timeout(node, where))


def _get_text(table: Table, key: str, where: str) -> str:
    if key not in table.entries:
        return ""
    node = table.entries[key].node
    if not isinstance(node, Scalar):
        raise ConfigError(tr("{where}: {key} must be text, not {node}", where=where, key=key, node=describe_node(node)))
    return node.text


def _parse_timeout(table: Table, where: str) -> float:
    text = _get_text(table, "timeout_s", where)
    try:
        seconds = float(text) if text else HOOK_TIMEOUT_S
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_TIMEOUT_S:
        raise ConfigError(
            tr(
                "{where}: timeout_s must be a number above 0 and at most {max_timeout_s:g}, not {text!r}",
                where=where,
                max_timeout_s=MAX_TIMEOUT_S,
                text=text,
            )
        )
    return seconds


def _make_hook_trust_request(hook: Hook) -> TrustRequest:
    """Return the hook in the form in which the user is asked to trust it; its position in the file does not matter."""
    key = f"hooks.{hook.event}"
    # Trust is per line: each hook is a command of its own.
    fingerprint = hashlib.sha256(json.dumps([key, hook.match, hook.run]).encode("ascii")).hexdigest()
    tools = f" (for {'|'.join(hook.match)})" if hook.match else ""
    return TrustRequest(
        key=key, value=format_asked_value(key, hook.run) + tools, where=hook.where, fingerprint=fingerprint
    )


SERVERS_KEY = "mcpServers"
YAML_NAME = "mcp.yaml"
JSON_NAME = ".mcp.json"
_SERVER_NAME = LazyRegex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_RESERVED_NAMES = frozenset(("session", "note", "clipboard"))
"""Prefixes that already have a meaning before the colon of an "@" mention."""
_SECRET_NAME = LazyRegex(r"key|token|secret|passw|auth|credential|cookie", re.IGNORECASE)
_LITERAL_SECRET = LazyRegex(r"\A(?:(?:Bearer|Basic) )?[\w+.~=:-]+\Z", re.ASCII)
_VARIABLE_REFERENCE = LazyRegex(r"\$\{[A-Za-z_]\w*(?::-[^}]*)?\}")
_KIND_BY_TYPE: dict[str, Literal["stdio", "http", "sse"]] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_MAX_DESCRIPTION_CHARS = 400


class ServerEntry(Struct, frozen=True, kw_only=True):
    """One server as a file defines it; None for missing fields. disabled: other clients' form of `enabled: false`."""

    type: str | None = None
    command: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    enabled: bool | None = None
    disabled: bool | None = None
    timeout_s: float | None = None
    tools: tuple[str, ...] | None = None
    read_only: tuple[str, ...] | None = None
    oauth: OAuthClient | None = None
    sampling: Sampling | None = None


class FoundServers(Struct, frozen=True, kw_only=True):
    """The result of reading the files. problems: sentences about ignored entries and files."""

    servers: tuple[McpServer, ...] = ()
    problems: tuple[str, ...] = ()
    trusted: tuple[TrustRequest, ...] = ()
    withheld: tuple[TrustRequest, ...] = ()


class _Layer(Struct):
    display_name: str
    own: bool  # the user's file, which needs no trust
    entries: dict[str, tuple[ServerEntry, str]] = {}


def user_mcp_file(home: Path) -> Path:
    """Return the path of the user's own servers."""
    return home / YAML_NAME


def project_mcp_file(project: Path) -> Path:
    """Return the path of a project's servers that clio writes."""
    return project / FOLDER_NAME / YAML_NAME


def shared_mcp_file(project: Path) -> Path:
    """Return the path of a project's servers that other clients read too."""
    return project / JSON_NAME


def read_servers(
    home: Path, project: Path, is_trusted: Callable[[TrustRequest], bool], links: Sequence[Path] = ()
) -> FoundServers:
    """Return every configured server, and those of the project that wait for trust. No content of a file makes it
    raise.

    links: the targets outside of the project that its links may point to.
    """
    files = [
        (user_mcp_file(home), f"~/.clio/{YAML_NAME}", True),
        (shared_mcp_file(project), JSON_NAME, False),
        (project_mcp_file(project), f"{FOLDER_NAME}/{YAML_NAME}", False),
    ]
    if project_mcp_file(project) == user_mcp_file(home).resolve():  # in the home directory both are the same file
        files.pop()
    problems: list[str] = []
    layers = [
        _read_layer(path, display_name, None if own else project, links, problems) for path, display_name, own in files
    ]
    trusted: list[TrustRequest] = []
    withheld: list[TrustRequest] = []
    servers: dict[str, McpServer] = {}
    for layer in layers:
        for name, (entry, where) in layer.entries.items():
            if entry.command is None and entry.url is None:
                continue
            try:
                server = _build_server(name, entry, where, own=layer.own)
            except ConfigError as error:
                problems.append(
                    tr("{where}: the MCP server {name!r} is ignored: {error}", where=where, name=name, error=error)
                )
                continue
            if not layer.own:
                request = _make_server_trust_request(server, entry, where)
                if server.enabled and not is_trusted(request):
                    withheld.append(request)
                    continue
                trusted += [request] if server.enabled else []
            servers[name] = server
    # Entries without command or url only change a server of a lower layer; those are known only now.
    _apply_overrides(servers, layers, {request.key for request in withheld}, problems)
    return FoundServers(
        servers=tuple(servers.values()), problems=tuple(problems), trusted=tuple(trusted), withheld=tuple(withheld)
    )


def make_server(name: str, fields: Mapping[str, object], where: str, *, own: bool) -> McpServer:
    """Make a server from fields the user typed. Raises ConfigError."""
    return _build_server(name, _parse_entry(name, dict(fields), strict=True), where, own=own)


def parse_server_entries(data: bytes, display_name: str) -> tuple[dict[str, tuple[ServerEntry, str]], list[str]]:
    """Parse the entries of one file with their positions, and sentences about invalid ones. Raises ConfigError."""
    # .mcp.json is shared with other clients, whose additional keys are ignored; mcp.yaml is clio's own.
    values, lines, strict = (
        _parse_json_file(data, display_name) if display_name.endswith(".json") else _parse_yaml_file(data, display_name)
    )
    found: dict[str, tuple[ServerEntry, str]] = {}
    problems: list[str] = []
    for name, value in values.items():
        where = f"{display_name}:{lines[name]}" if name in lines else display_name
        try:
            found[name] = (_parse_entry(name, value, strict=strict), where)
        except ConfigError as error:
            problems.append(
                tr("{where}: the MCP server {name!r} is ignored: {error}", where=where, name=name[:64], error=error)
            )
    return found, problems


def _read_layer(path: Path, display_name: str, root: Path | None, links: Sequence[Path], problems: list[str]) -> _Layer:
    """Read one file. root: the project it belongs to; None for the user's own."""
    own = root is None
    try:
        data = read_config_bytes(path, display_name, root=root, trusted=links)
        if data is None:
            return _Layer(display_name, own)
        entries, entry_problems = parse_server_entries(data, display_name)
    except ConfigError as error:
        problems.append(tr("{error}; the MCP servers in it are ignored", error=error))
        return _Layer(display_name, own)
    problems.extend(entry_problems)
    return _Layer(display_name, own, entries)


def _apply_overrides(
    servers: dict[str, McpServer], layers: Iterable[_Layer], withheld_keys: set[str], problems: list[str]
) -> None:
    for layer in layers:
        for name, (entry, where) in layer.entries.items():
            if entry.command is not None or entry.url is not None:
                continue
            if name not in servers:
                if f"{SERVERS_KEY}.{name}" not in withheld_keys:
                    problems.append(
                        tr(
                            "{where}: the MCP server {name!r} has neither a command nor a url; add one of them",
                            where=where,
                            name=name,
                        )
                    )
                continue
            servers[name] = _override_server(servers[name], entry, own=layer.own)


def _override_server(server: McpServer, entry: ServerEntry, *, own: bool) -> McpServer:
    """Merge a further entry into a server; a project's entry may only restrict it."""
    changed = replace(
        server,
        enabled=_is_enabled(entry) and (own or server.enabled),
        # A project's entry for the user's server may only take away: it did not bring the program.
        tools=entry.tools if entry.tools is not None and (own or server.tools is None) else server.tools,
    )
    if not own:
        return changed
    return replace(
        changed,
        timeout_s=entry.timeout_s or changed.timeout_s,
        read_only=entry.read_only if entry.read_only is not None else changed.read_only,
        sampling=entry.sampling or changed.sampling,
    )


def _build_server(name: str, entry: ServerEntry, where: str, *, own: bool) -> McpServer:
    """Make a server of an entry. Raises ConfigError for a foreign entry that uses credentials or files of the user."""
    if not own and entry.oauth is not None:
        _check_foreign_login(entry.oauth)
    kind = _KIND_BY_TYPE[entry.type] if entry.type else "http" if entry.url is not None else "stdio"
    return McpServer(
        name=name,
        where=where,
        own=own,
        kind=kind,
        command=entry.command or "",
        args=entry.args or (),
        env=entry.env or {},
        cwd=entry.cwd or "",
        url=entry.url or "",
        headers=entry.headers or {},
        enabled=_is_enabled(entry),
        timeout_s=entry.timeout_s or SERVER_TIMEOUT_S,
        tools=entry.tools,
        # Only the user can say that a tool changes nothing; a project's file could mislabel one.
        read_only=(entry.read_only or ()) if own else (),
        oauth=entry.oauth,
        # Sampling costs the user's money, so a project's file cannot allow it without a question.
        sampling="ask" if entry.sampling is None or (entry.sampling == "allow" and not own) else entry.sampling,
    )


def _is_enabled(entry: ServerEntry) -> bool:
    return not entry.disabled if entry.enabled is None else entry.enabled


def _parse_entry(name: str, value: Any, *, strict: bool) -> ServerEntry:
    """Parse one entry. Raises ConfigError without the position."""
    if not _SERVER_NAME.fullmatch(name):
        raise ConfigError(
            tr("a name must begin with a letter or a digit, followed by letters, digits, '-', '_' and '.'")
        )
    if name in _RESERVED_NAMES:
        raise ConfigError(tr("{name!r} is reserved after an @; choose another name", name=name))
    if not isinstance(value, dict):
        raise ConfigError(tr("it must be a mapping with a command or a url"))
    fields = cast("dict[str, Any]", value)
    known = ServerEntry.__struct_fields__
    if strict and (unknown := next((field for field in fields if field not in known), None)):
        raise ConfigError(
            tr("unknown key {unknown!r}{did_you_mean}", unknown=unknown, did_you_mean=did_you_mean(unknown, known))
        )
    known_fields = {
        key: _convert_switch(fields[key]) if key in ("enabled", "disabled") else fields[key]
        for key in known
        if key in fields
    }
    try:
        entry = msgspec.convert(known_fields, ServerEntry, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error).replace("`", "'").replace(" - at '$.", " at '")) from None
    _check_entry(entry)
    return entry


def _convert_switch(value: Any) -> Any:
    """Convert YAML's other words for true and false."""
    words = {"yes": True, "on": True, "no": False, "off": False}
    return words.get(value.lower(), value) if isinstance(value, str) else value


def _check_entry(entry: ServerEntry) -> None:
    if entry.type and entry.type not in _KIND_BY_TYPE:
        raise ConfigError(tr("type must be stdio, http or sse, not {type!r}", type=entry.type))
    if entry.command is not None and entry.url is not None:
        raise ConfigError(tr("it has both a command and a url; keep one of them"))
    if entry.command is not None and not entry.command.strip():
        raise ConfigError(tr("its command is empty"))
    kind = _KIND_BY_TYPE.get(entry.type or "")
    if kind == "stdio" and entry.url is not None:
        raise ConfigError(tr("type stdio needs a command, not a url"))
    if kind in ("http", "sse") and entry.command is not None:
        raise ConfigError(tr("type {type} needs a url, not a command", type=entry.type))
    if entry.url is not None and not re.match(r"https?://[^/\s]|\$\{", entry.url):
        raise ConfigError(tr("its url must begin with http:// or https://"))
    if entry.oauth is not None and entry.url is None:
        raise ConfigError(tr("oauth needs a url: only servers that are called over HTTP have a login"))
    if entry.oauth is not None:
        _check_login(entry.oauth, entry.headers or {})
    if entry.timeout_s is not None and not 0 < entry.timeout_s <= 86_400:
        raise ConfigError(tr("timeout_s must be more than 0 and at most 86400"))


_FOREIGN_LOGIN_KEYS = frozenset(("client_id", "client_secret", "callback_port", "scope"))


def _check_foreign_login(oauth: OAuthClient) -> None:
    """Raise ConfigError where a project or plugin would log in without the user, or name files of the user."""
    default = OAuthClient()
    for key in OAuthClient.__struct_fields__:
        if key not in _FOREIGN_LOGIN_KEYS and getattr(oauth, key) != getattr(default, key):
            raise ConfigError(
                tr(
                    "oauth.{key} counts only in your own file; move the entry to ~/.clio/{file}",
                    key=key,
                    file=YAML_NAME,
                )
            )


def _check_login(oauth: OAuthClient, headers: Mapping[str, str]) -> None:
    if not 0 <= oauth.callback_port <= 65_535:
        raise ConfigError(tr("oauth.callback_port must be a port from 1 to 65535, or 0 for any"))
    if oauth.issuer and not re.match(r"https?://[^/\s]|\$\{", oauth.issuer):
        raise ConfigError(tr("oauth.issuer must begin with https://"))
    given = [
        key for key in ("client_secret", "client_secret_file", "private_key", "private_key_file") if getattr(oauth, key)
    ]
    if len(given) > 1:
        raise ConfigError(tr("oauth has both {first} and {second}; keep one of them", first=given[0], second=given[1]))
    is_key = bool(given) and given[0].startswith("private_key")
    if is_key and oauth.grant != "client_credentials":
        raise ConfigError(tr("oauth.{key} needs grant: client_credentials", key=given[0]))
    if (oauth.identity_provider is not None) != (oauth.grant == "identity_assertion"):
        raise ConfigError(tr("oauth.identity_provider and grant: identity_assertion need each other"))
    assertions = bool(oauth.assertion) + bool(oauth.assertion_file)
    if assertions and oauth.grant != "workload_identity":
        raise ConfigError(tr("oauth.assertion and oauth.assertion_file need grant: workload_identity"))
    if oauth.key_id and not is_key:
        raise ConfigError(tr("oauth.key_id needs a private_key or private_key_file"))
    if oauth.needs_user:
        if oauth.issuer:
            raise ConfigError(tr("oauth.issuer needs a grant other than authorization_code"))
        return
    if any(name.lower() == "authorization" for name in headers):
        raise ConfigError(tr("it has both an Authorization header and oauth.grant; keep one of them"))
    provider = oauth.identity_provider
    if oauth.grant == "workload_identity" and not (oauth.client_id and not given and assertions == 1):
        raise ConfigError(tr("oauth.grant workload_identity needs a client_id, and either assertion or assertion_file"))
    if oauth.grant == "client_credentials" and not (oauth.client_id and given):
        raise ConfigError(
            tr(
                "oauth.grant client_credentials needs a client_id, and one of client_secret, client_secret_file, "
                "private_key and private_key_file"
            )
        )
    if provider is not None and not (
        (oauth.client_id and given and oauth.issuer and provider.token_endpoint and provider.client_id)
        and bool(provider.id_token) != bool(provider.id_token_file)
    ):
        raise ConfigError(
            tr(
                "oauth.grant identity_assertion needs a client_id, a client_secret or client_secret_file, an issuer, "
                "and under identity_provider a token_endpoint, a client_id, and either id_token or id_token_file"
            )
        )


def _make_server_trust_request(server: McpServer, entry: ServerEntry, where: str) -> TrustRequest:
    """Return the whole entry for the user to decide about: it starts a program, or sends the model's text to a
    server.
    """
    name = f"{SERVERS_KEY}.{server.name}"
    # The whole entry: another argument or variable can start another program.
    fields = {key: value for key, value in msgspec.to_builtins(entry).items() if value is not None}
    fingerprint = hashlib.sha256(json.dumps([name, fields], sort_keys=True).encode("ascii")).hexdigest()
    return TrustRequest(key=name, value=describe_server(server, whole=True), where=where, fingerprint=fingerprint)


def describe_server(server: McpServer, *, whole: bool = False) -> str:
    """Describe a server on one line: its command or address, its variables and headers, secrets masked.

    whole: for the question whether the user trusts it. Nothing is left out that could name a program.
    """
    head = shlex.join((server.command, *server.args)) if server.command else mask_secrets("base_url", server.url)
    pairs = [f"{key}={_mask_value(key, value, whole=whole, runs=True)}" for key, value in server.env.items()]
    pairs += [f"{key}={_mask_value(key, value, whole=whole)}" for key, value in server.headers.items()]
    parts = [
        head,
        *([tr("with {pairs}", pairs=", ".join(pairs))] if pairs else []),
        *([tr("as client {client_id}", client_id=server.oauth.client_id)] if server.oauth else []),
        *([tr("in {cwd}", cwd=server.cwd)] if server.cwd else []),
    ]
    line = " ".join(parts)
    line = shorten_asked_text(line) if whole else truncate(line, _MAX_DESCRIPTION_CHARS)
    return line if line.isprintable() else json.dumps(line)


def _mask_value(name: str, value: str, *, whole: bool, runs: bool = False) -> str:
    """Mask a literal secret; a `${NAME}` names its source and is not a secret.

    runs: with `whole`, a value that a shell could be given by the name of its variable is no secret either.
    """
    rest = _VARIABLE_REFERENCE.sub("", value).strip()
    if (
        _SECRET_NAME.search(name)
        and rest not in ("", "Bearer", "Basic")
        and not (whole and runs and not _LITERAL_SECRET.search(rest))
    ):
        return "…"
    return format_asked_value("", value) if whole else format_value("", value)


def _parse_json_file(data: bytes, display_name: str) -> tuple[dict[str, Any], dict[str, int], bool]:
    try:
        document = decode_json(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(
            tr("{display_name} is not valid JSON: {error}", display_name=display_name, error=error)
        ) from None
    value = document.get(SERVERS_KEY, {})
    if not isinstance(value, dict):
        raise ConfigError(
            tr(
                "{display_name}: {servers_key} must be an object with one entry per server",
                display_name=display_name,
                servers_key=SERVERS_KEY,
            )
        )
    return {name: _numbers_to_text(entry) for name, entry in cast("dict[str, Any]", value).items()}, {}, False


def _parse_yaml_file(data: bytes, display_name: str) -> tuple[dict[str, Any], dict[str, int], bool]:
    table = parse_yaml(data, display_name)
    unknown = next((name for name in table.entries if name != SERVERS_KEY), None)
    if unknown is not None:
        where = f"{display_name}:{table.entries[unknown].line}"
        raise ConfigError(
            tr(
                "{where}: unknown key {unknown!r}{did_you_mean}",
                where=where,
                unknown=unknown,
                did_you_mean=did_you_mean(unknown, [SERVERS_KEY]),
            )
        )
    entry = table.entries.get(SERVERS_KEY)
    if entry is None or (isinstance(entry.node, Scalar) and entry.node.kind == "null"):
        return {}, {}, True
    node = entry.node
    if not isinstance(node, Table):
        raise ConfigError(
            tr(
                "{display_name}:{line}: {servers_key} must be a mapping with one entry per server",
                display_name=display_name,
                line=entry.line,
                servers_key=SERVERS_KEY,
            )
        )
    values = {name: _node_to_python(entry.node) for name, entry in node.entries.items()}
    return values, {name: entry.line for name, entry in node.entries.items()}, True


def _node_to_python(node: Node) -> Any:
    """Convert the node to Python values; numbers stay text, because arguments and variables are text."""
    if isinstance(node, Table):
        return {name: _node_to_python(entry.node) for name, entry in node.entries.items()}
    if isinstance(node, Scalar):
        return None if node.kind == "null" else node.text
    return [_node_to_python(item) for item in node.items]


def _numbers_to_text(value: Any) -> Any:
    """Convert the numbers in a value to text, as `_node_to_python` does."""
    if isinstance(value, dict):
        return {key: _numbers_to_text(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_numbers_to_text(item) for item in cast("list[Any]", value)]
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def find_servers(home: Path, project: Path, links: Sequence[Path] = ()) -> FoundServers:
    """Return every server of the files; a project's only if it is trusted with it. links: see `read_servers`."""
    return read_servers(home, project, lambda value: TrustStore(home).covers(project, (value,)), links)


def trust_added_server(home: Path, project: Path, name: str) -> None:
    """Trust the project with the server the user has just added. Raises ConfigError."""
    for request in find_servers(home, project).withheld:
        if request.key == f"{SERVERS_KEY}.{name}":
            TrustStore(home).add(project, request)
