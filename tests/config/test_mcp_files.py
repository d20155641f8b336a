"""The files that name MCP servers: fields, errors, trust, and changes by commands."""

import json
from pathlib import Path

import pytest

from clio.commands.mcp_commands import add_server_entry, remove_server_entry
from clio.config.extension_files import FoundServers, find_servers, make_server, read_servers, trust_added_server
from clio.config.loaded import McpServer, OAuthClient
from clio.errors import ConfigError


def read(
    tmp_path: Path, *, user: str = "", shared: object = None, project: str = "", trust: bool = True
) -> FoundServers:
    files = {"home/mcp.yaml": user, "p/.clio/mcp.yaml": project}
    if shared is not None:
        files["p/.mcp.json"] = shared if isinstance(shared, str) else json.dumps(shared)
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text:
            path.write_text(text, encoding="utf-8")
    return read_servers(tmp_path / "home", tmp_path / "p", lambda value: trust)


def test_every_field_of_yaml_and_json(tmp_path: Path) -> None:
    user = """
mcpServers:
  files:
    command: npx
    args: [-y, server, 8080, yes]
    env: {PORT: 8080, TOKEN: "${TOKEN}"}
    cwd: sub
    enabled: on
    timeout_s: 5
    tools: [read, list]
    read_only: [read]
"""
    entry = {"url": "https://h/mcp", "type": "streamable-http", "headers": {"X": "1"}, "autoApprove": ["x"]}
    shared = {"mcpServers": {"web": entry, "off": {"command": "x", "args": [1], "disabled": True}}}
    assert read(tmp_path, user=user, shared=shared).servers == (
        McpServer(
            name="files",
            where="~/.clio/mcp.yaml:3",
            own=True,
            command="npx",
            args=("-y", "server", "8080", "yes"),
            env={"PORT": "8080", "TOKEN": "${TOKEN}"},
            cwd="sub",
            timeout_s=5.0,
            tools=("read", "list"),
            read_only=("read",),
        ),
        McpServer(name="web", where=".mcp.json", own=False, kind="http", url="https://h/mcp", headers={"X": "1"}),
        McpServer(name="off", where=".mcp.json", own=False, command="x", args=("1",), enabled=False),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mcpServers: {a: {}}", "neither a command nor a url"),
        ("mcpServers: {a: {comand: x}}", "unknown key 'comand'; did you mean 'command'?"),
        ("mcpServers: {a: {command: x, url: 'http://h'}}", "a command and a url"),
        ("mcpServers: {a: {url: 'ftp://h'}}", "must begin with http"),
        ("mcpServers: {a: {command: x, type: tcp}}", "stdio, http or sse"),
        ("mcpServers: {a: {command: x, type: http}}", "needs a url"),
        ("mcpServers: {a: {command: x, timeout_s: never}}", "timeout_s"),
        ("mcpServers: {'a b': {command: x}}", "a name must begin with"),
        ("mcpServers: {session: {command: x}}", "reserved after an @"),
        ("mcpServers: [a]", "must be a mapping"),
        ("servers: {}", "unknown key 'servers'"),
        ("mcpServers: {a: {command: [}", "mcp.yaml"),
    ],
)
def test_invalid_entries_are_reported_and_the_others_are_used(tmp_path: Path, text: str, message: str) -> None:
    found = read(tmp_path, user=text, shared={"mcpServers": {"good": {"command": "y"}}})
    [problem] = found.problems
    assert message in problem
    assert "mcp.yaml" in problem
    assert [server.name for server in found.servers] == ["good"]


_ROBOT = "{grant: client_credentials, client_id: robot, client_secret_file: ~/robot, issuer: 'https://login.example'}"


def test_a_login_without_a_user_is_read_from_the_users_own_file(tmp_path: Path) -> None:
    [server] = read(tmp_path, user=f"mcpServers: {{a: {{url: 'https://h/mcp', oauth: {_ROBOT}}}}}").servers
    assert server.oauth == OAuthClient(
        grant="client_credentials", client_id="robot", client_secret_file="~/robot", issuer="https://login.example"
    )


@pytest.mark.parametrize(
    ("oauth", "message"),
    [
        (
            "{grant: client_credentials, client_id: x, client_secret: '${S}'}",
            "oauth.grant counts only in your own file",
        ),
        ("{client_id: x, client_secret_file: ~/.ssh/id_rsa}", "oauth.client_secret_file counts only"),
        ("{client_id: x, private_key_file: ~/.ssh/id_rsa}", "oauth.private_key_file"),
    ],
)
def test_a_project_and_a_plugin_bring_no_login_without_a_user(tmp_path: Path, oauth: str, message: str) -> None:
    project = f"mcpServers: {{a: {{url: 'https://h/mcp', oauth: {oauth}}}}}"
    user = f"mcpServers: {{a: {{url: 'https://mine/mcp', oauth: {_ROBOT}}}}}"
    found = read(tmp_path, user=user, project=project)
    [problem] = found.problems
    assert message in problem
    # The user's entry of that name is unchanged, and so is where its credentials are sent.
    assert [(server.url, server.own) for server in found.servers] == [("https://mine/mcp", True)]
    # An entry that only changes the user's server changes nothing about its login.
    [server] = read(tmp_path, user=user, project=f"mcpServers: {{a: {{oauth: {_ROBOT}}}}}").servers
    assert (server.url, server.own) == ("https://mine/mcp", True)
    with pytest.raises(ConfigError, match="only in your own file"):
        make_server(
            "a",
            {"url": "https://h/mcp", "oauth": {"grant": "client_credentials", "client_id": "x", "client_secret": "y"}},
            "a plugin",
            own=False,
        )


@pytest.mark.parametrize(
    ("oauth", "message"),
    [
        ("{grant: password}", "grant"),
        ("{grant: client_credentials, client_secret: x}", "needs a client_id"),
        ("{grant: client_credentials, client_id: x}", "one of client_secret, client_secret_file, private_key"),
        ("{grant: client_credentials, client_id: x, client_secret: y, private_key: z}", "keep one of them"),
        ("{client_id: x, private_key: z}", "needs grant: client_credentials"),
        ("{client_id: x, issuer: 'https://i'}", "oauth.issuer needs a grant"),
        ("{grant: client_credentials, client_id: x, client_secret: y, key_id: z}", "oauth.key_id needs"),
        ("{grant: client_credentials, client_id: x, client_secret: y, issuer: 'ftp://i'}", "must begin with https://"),
        ("{grant: workload_identity, client_id: x}", "either assertion or assertion_file"),
        ("{grant: workload_identity, client_id: x, client_secret: y, assertion: z}", "needs a client_id, and either"),
        ("{client_id: x, assertion_file: /z}", "need grant: workload_identity"),
        ("{grant: identity_assertion, client_id: x, client_secret: y}", "identity_provider"),
        (
            "{grant: identity_assertion, client_id: x, client_secret: y, issuer: 'https://i', identity_provider: "
            "{token_endpoint: 'https://idp/t', client_id: x}}",
            "either id_token or id_token_file",
        ),
        ("{grant: identity_assertion, client_id: x, private_key: y, identity_provider: {client_id: x}}", "private_key"),
    ],
)
def test_a_login_without_a_user_that_cannot_work_is_reported(tmp_path: Path, oauth: str, message: str) -> None:
    found = read(tmp_path, user=f"mcpServers: {{a: {{url: 'https://h/mcp', oauth: {oauth}}}}}")
    [problem] = found.problems
    assert message in problem
    assert found.servers == ()


def test_an_authorization_header_and_a_login_without_a_user_exclude_each_other(tmp_path: Path) -> None:
    entry = f"{{url: 'https://h/mcp', headers: {{authorization: x}}, oauth: {_ROBOT}}}"
    [problem] = read(tmp_path, user=f"mcpServers: {{a: {entry}}}").problems
    assert "Authorization header" in problem


def test_a_project_needs_trust_and_is_shown_without_its_secrets(tmp_path: Path) -> None:
    env = {"API_TOKEN": "abc123", "OTHER": "${HOME}"}
    shared = {"mcpServers": {"a": {"command": "sh", "args": ["-c", "x\x1b[2J"], "env": env}}}
    found = read(tmp_path, user="mcpServers: {a: {command: mine}}", shared=shared, trust=False)
    assert [server.command for server in found.servers] == ["mine"]
    [waiting] = found.withheld
    assert waiting.key == "mcpServers.a"
    assert "abc123" not in waiting.value
    assert "\x1b" not in waiting.value
    assert "OTHER=${HOME}" in waiting.value
    other = read(
        tmp_path, shared={"mcpServers": {"a": {"command": "sh", "args": ["-c", "y"], "env": env}}}, trust=False
    )
    assert other.withheld[0].fingerprint != waiting.fingerprint


def test_the_user_may_change_a_projects_server_and_a_project_may_only_restrict(tmp_path: Path) -> None:
    shared = {"mcpServers": {"a": {"command": "x", "read_only": ["t"]}, "b": {"command": "y", "tools": ["t"]}}}
    user = "mcpServers: {a: {read_only: [u], timeout_s: 3}, b: {enabled: false}, own: {command: z}}"
    project = "mcpServers: {own: {tools: [t], read_only: [t]}, b: {enabled: true, tools: [t, u]}}"
    servers = {server.name: server for server in read(tmp_path, user=user, shared=shared, project=project).servers}
    assert (servers["a"].read_only, servers["a"].timeout_s) == (("u",), 3.0)
    assert (servers["b"].enabled, servers["b"].tools) == (False, ("t",))
    assert (servers["own"].tools, servers["own"].read_only) == (("t",), ())


def test_the_users_read_only_tools_do_not_apply_to_a_projects_program(tmp_path: Path) -> None:
    user = "mcpServers: {a: {command: mine, read_only: [t]}}"
    [server] = read(tmp_path, user=user, shared={"mcpServers": {"a": {"command": "theirs"}}}).servers
    assert (server.command, server.read_only) == ("theirs", ())


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# only a comment\n",
        "mcpServers: {}\n# after\n",
        "mcpServers:\n    # first\n    old:\n        command: x  # why\n        args:\n        - |\n          2\n\n#\n",
        "mcpServers:\r\n  old: {command: x}\r\n",
        "mcpServers:\n  old:\n    command: x",
    ],
)
def test_adding_and_removing_keeps_the_rest_of_the_file(tmp_path: Path, before: str) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_bytes(before.encode())
    fields = {"command": "npx", "args": ["-y", "a b", "#", "yes", "ü"], "env": {"A": "${B}", "C: d": '"'}}
    server = make_server("new", fields, "here", own=True)
    add_server_entry(path, server)
    text = path.read_text(encoding="utf-8")
    assert all(line in text for line in before.splitlines() if line.strip() and "{}" not in line)
    added = {one.name: one for one in read_servers(tmp_path, tmp_path / "p", lambda value: True).servers}["new"]
    assert (added.command, added.args, added.env) == (server.command, server.args, server.env)
    with pytest.raises(ConfigError, match="MCP server 'new' already exists"):
        add_server_entry(path, server)
    assert remove_server_entry(path, "new")
    assert not remove_server_entry(path, "new")
    after = path.read_bytes().decode()
    assert [line for line in after.split() if line not in ("mcpServers:", "{}")] == [
        word for word in before.split() if word not in ("mcpServers:", "{}")
    ]


def test_a_file_that_would_need_other_changes_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_text("mcpServers: {old: {command: x}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"add .new. to .* with an editor"):
        add_server_entry(path, make_server("new", {"command": "y"}, "here", own=True))
    assert path.read_text(encoding="utf-8") == "mcpServers: {old: {command: x}}\n"


def test_a_server_added_by_the_user_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "p").mkdir()
    for name in ("mine", "other"):
        add_server_entry(tmp_path / "p" / ".clio" / "mcp.yaml", make_server(name, {"command": "x"}, "here", own=False))
    trust_added_server(tmp_path / "home", tmp_path / "p", "mine")
    found = find_servers(tmp_path / "home", tmp_path / "p")
    assert [server.name for server in found.servers] == ["mine"]
    assert [value.key for value in found.withheld] == ["mcpServers.other"]


@pytest.mark.parametrize(
    "word",
    ["@scope/package", "~", "~/bin/x", "-y", "a: b", "a #b", "null", "no", "1e3", ".5", "", "'", '"', "{x}", "&a", "*a",
     "%x", "`x`", "!x", "|", "> x", "? x", "- x", "é", "漢", "a,b", "[a", "http://h/?q=1&r=2#f", "K=V",
     "\ttab", " blank "],
)  # fmt: skip
def test_any_argument_is_read_back_unchanged(tmp_path: Path, word: str) -> None:
    entry = {"command": "npx", "args": ["-y", word, "."], "env": {"KEY": word}}
    path = tmp_path / "home" / "mcp.yaml"
    path.parent.mkdir()
    add_server_entry(path, make_server("files", entry, "here", own=True))
    (found,) = read_servers(path.parent, tmp_path / "shop", lambda value: True).servers
    assert (found.args, found.env) == (("-y", word, "."), {"KEY": word})
