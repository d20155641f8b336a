"""The loaded configuration: values and their origins, hooks, MCP servers, and what waits for trust."""

import fnmatch
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.config.schema import Config
from clio.text.translation import mark

HOOK_EVENTS = ("session_start", "user_prompt", "before_tool", "after_tool", "before_trim", "stop", "session_end")
"""In the order in which they occur."""
TOOL_EVENTS = frozenset(("before_tool", "after_tool"))
# Seconds. A hook runs before or after every call, so a slow one must not block the turn for long.
HOOK_TIMEOUT_S = 10.0
MAX_TIMEOUT_S = 600.0


class Hook(Struct, frozen=True, kw_only=True):
    """One command for one event.

    Attributes:
        where: file and line, or the plugin.
        match: patterns of tool names, "*" as in a shell; empty for all.
        env: variables of its process besides clio's own.
        is_claude_format: written for Claude Code, whose input and output have other names; see `hooks/claude_format`.
    """

    event: str
    run: str
    where: str
    match: tuple[str, ...] = ()
    timeout_s: float = HOOK_TIMEOUT_S
    env: dict[str, str] = {}
    is_claude_format: bool = False

    def matches_tool(self, tool: str) -> bool:
        """Whether it applies to calls of this tool; for an event without a tool every hook of that event applies."""
        return not self.match or any(fnmatch.fnmatchcase(tool, pattern) for pattern in self.match)


# Seconds without any message of the server; each progress notification restarts the time.
SERVER_TIMEOUT_S = 120.0
FROM_EDITOR = mark("the editor")
"""`where` of a server that is in no file, because an editor passed it for one session."""


class IdentityProvider(Struct, frozen=True, kw_only=True):
    """Where a company's ID token of the user is exchanged for one that an authorization server accepts (RFC 8693).

    Attributes:
        client_id, client_secret: of clio at the identity provider; no secret for a public client.
        id_token, id_token_file: the token of the company's login; the file is read for each exchange.
    """

    token_endpoint: str = ""
    client_id: str = ""
    client_secret: str = ""
    client_secret_file: str = ""
    id_token: str = ""
    id_token_file: str = ""


Grant = Literal["authorization_code", "client_credentials", "workload_identity", "identity_assertion"]
"""How the token of an MCP server is got: the user logs in; with clio's own credentials; with a token of the platform
that clio runs on; with a company's ID token."""


class OAuthClient(Struct, frozen=True, kw_only=True):
    """How clio introduces itself at the login of an MCP server; without it, clio registers itself there.

    From a project or plugin only `client_id`, `client_secret`, `callback_port` and `scope` are accepted.

    Attributes:
        grant: all but authorization_code need no user and no `clio mcp login`.
        client_id: of a client that the server's operator registered, or the https URL of a client metadata document.
        client_secret_file, private_key_file: files of the user, with absolute paths; read for each token.
        private_key: in PEM format, instead of a secret. key_id: the name the authorization server knows it by.
        assertion, assertion_file: the platform's token, such as a CI job's; the file is read for each token.
        issuer: the authorization server that gets the credentials; "" for one on the MCP server's own host.
        callback_port: port on 127.0.0.1 that the browser comes back to; 0 for any.
        scope: permissions to ask for, separated by blanks; besides those the server names if a user logs in, and
            otherwise instead of them.
    """

    grant: Grant = "authorization_code"
    client_id: str = ""
    client_secret: str = ""
    client_secret_file: str = ""
    private_key: str = ""
    private_key_file: str = ""
    key_id: str = ""
    assertion: str = ""
    assertion_file: str = ""
    issuer: str = ""
    identity_provider: IdentityProvider | None = None
    callback_port: int = 0
    scope: str = ""

    @property
    def needs_user(self) -> bool:
        """Whether the token comes from `clio mcp login`."""
        return self.grant == "authorization_code"


Sampling = Literal["ask", "off", "allow"]
"""Whether a server may have the user's model answer: after asking the user, never, or without asking."""


class McpServer(Struct, frozen=True, kw_only=True):
    """How an MCP server is reached, and which of its tools may be used. `${NAME}` in its texts is not replaced yet.

    Attributes:
        where: file and line.
        own: from the user's file and not from a project's.
        added_env: further variables of its process, which are the same for all servers of a plugin and are not shown.
        cwd: of its process, relative to the project; "" for the project itself.
        timeout_s: how long a call may send nothing.
        tools: those that are offered; None for all.
        read_only: tools that change nothing according to the user; plan mode allows them.
        sampling: "allow" counts only in the user's own file.
    """

    name: str
    where: str
    own: bool
    kind: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    added_env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    enabled: bool = True
    timeout_s: float = SERVER_TIMEOUT_S
    tools: tuple[str, ...] | None = None
    read_only: tuple[str, ...] = ()
    oauth: OAuthClient | None = None
    sampling: Sampling = "ask"


class TrustRequest(Struct, frozen=True, kw_only=True):
    """Something from a project that waits for trust: a value of its configuration, a hook, a server, a link.

    value: displayed to the user for the decision; escaped, truncated, secrets masked.
    where: file and line. fingerprint: of key and real value; identifies it in the trust file.
    """

    key: str
    value: str
    where: str
    fingerprint: str


class LoadedConfig(Struct, frozen=True, kw_only=True):
    """The configuration of one start.

    Attributes:
        origins: the source of each field (and `models.<name>.<field>`) that a layer set: "~/.clio/config.yaml:3",
            "environment OPENAI_BASE_URL", "flag --model"; other fields have their default.
        flags: the fields that are set on the command line; origins are sentences in the user's language.
        variables: the environment variable that sets a field.
        withheld: values of the project's file that are not in force because the project is not trusted with them.
        trusted: those that are in force because it is.
        hooks: the commands of both hooks.yaml that may run.
        files: the configuration files that were read, lowest layer first.
        servers: MCP servers; a project's only if it is trusted with them.
        server_problems: sentences about servers left out because their entry is wrong.
        start_folder: the directory clio was started in, with links resolved; None if unknown.
        main_checkout: the same project in the main checkout, if `project` is one of clio's worktrees of it.
        problems: sentences about project files that are ignored.
        links: the targets outside of the project that its links may point to, because it is trusted with them.
        is_folder_blocked: whether `.clio`, or something in it, is an untrusted link out of the project: clio then
            writes nothing there and uses no memory.
        has_foreign_memory: whether the memory in `.clio` came with the project, which is not trusted with it: it is
            shown as a statement of the repository, not as memory of the user or of clio.
        memory_doubt: description of the damaged file that prevents clio from telling whether it wrote that memory
            itself; "" if none.
    """

    config: Config
    origins: dict[str, str]
    project: Path
    home: Path
    withheld: tuple[TrustRequest, ...] = ()
    trusted: tuple[TrustRequest, ...] = ()
    files: tuple[Path, ...] = ()
    servers: tuple[McpServer, ...] = ()
    server_problems: tuple[str, ...] = ()
    start_folder: Path | None = None
    hooks: tuple[Hook, ...] = ()
    main_checkout: Path | None = None
    problems: tuple[str, ...] = ()
    links: tuple[Path, ...] = ()
    is_folder_blocked: bool = False
    has_foreign_memory: bool = False
    memory_doubt: str = ""
    flags: frozenset[str] = frozenset()
    variables: dict[str, str] = {}

    @property
    def main_project(self) -> Path:
        """The directory whose `.clio` applies: settings, trust, memory and sessions are those of the main checkout."""
        return self.main_checkout or self.project
