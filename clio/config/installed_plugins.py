"""The plugins the user has added: which of them are used, and what each brings.

A plugin is a copy of one commit below `~/.clio/plugins`. The lock file there records the commit and a digest of the
copy; a plugin whose files differ from the digest brings nothing. Loaded only if there is a lock file.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clio.config.extension_files import SERVERS_KEY, make_server, parse_server_entries, read_hooks
from clio.config.loaded import HOOK_TIMEOUT_S, MAX_TIMEOUT_S, Hook, McpServer
from clio.config.paths import PLUGIN_LOCK_NAME, PLUGINS_FOLDER
from clio.errors import ClioError, ConfigError
from clio.storage.documents import DocumentFormat, load_document
from clio.storage.files import read_regular
from clio.text.json_data import decode_json
from clio.text.translation import mark, tr
from clio.text.untrusted_text import reveal_hidden_text

MANIFEST_PATH = ".claude-plugin/plugin.json"
MARKETPLACE_PATH = ".claude-plugin/marketplace.json"
DATA_FOLDER = "data"
"""Folder beside a plugin's copy in which its own programs may store what they need."""
MAX_MANIFEST_BYTES = 1_000_000
MAX_PLUGIN_NAME_CHARS = 64
MAX_PLUGIN_FILES = 2_000
_MAX_ENTRIES = 200
"""Limit for hooks, servers and listed paths of one plugin."""
_PLUGIN_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_ROOT_VARIABLE = "CLAUDE_PLUGIN_ROOT"
_DATA_VARIABLE = "CLAUDE_PLUGIN_DATA"
_VARIABLES = re.compile(rf"\$\{{({_ROOT_VARIABLE}|{_DATA_VARIABLE})\}}")

Kind = Literal["skills", "commands", "agents", "themes"]
KINDS: tuple[Kind, ...] = ("skills", "commands", "agents", "themes")


class LockedPlugin(Struct, frozen=True, kw_only=True):
    """One plugin in the lock file.

    Attributes:
        source: the address of the repository, or the folder it was copied from.
        ref: the branch or tag that updates follow; "" for the repository's default.
        path: the folder of the plugin in the repository; "" for all of it.
        commit: the commit of the copy; "" for a copied folder.
        digest: of the files of the copy, see `compute_digest`.
        stamp: of the copy as it was written, see `compute_stamp`; it saves reading all files at every start.
        folder: name of the copy below the plugin's folder.
        only_skills: nothing but its skills is used.
        project, more_projects: the only projects it is used in; "" for every project.
        marketplace: the marketplace that named it, or "".
        entry: what the marketplace says about its parts.
    """

    source: str = ""
    ref: str = ""
    path: str = ""
    commit: str = ""
    digest: str = ""
    stamp: str = ""
    folder: str = ""
    version: str = ""
    only_skills: bool = False
    project: str = ""
    more_projects: tuple[str, ...] = ()
    marketplace: str = ""
    entry: dict[str, Any] = {}

    @property
    def projects(self) -> tuple[str, ...]:
        """The only projects it is used in; empty if it is used in every project."""
        return (self.project, *self.more_projects) if self.project else ()

    @property
    def pin(self) -> str:
        """What the user trusts: the commit, or the digest of a copied folder."""
        return self.commit or self.digest


class LockedMarketplace(Struct, frozen=True, kw_only=True):
    """Where a marketplace is. Its list is read again each time a plugin is added from it."""

    source: str = ""
    ref: str = ""


class PluginLock(Struct, frozen=True, kw_only=True):
    """The lock file: plugins and marketplaces by name."""

    plugins: dict[str, LockedPlugin] = {}
    marketplaces: dict[str, LockedMarketplace] = {}


LOCK_FORMAT = DocumentFormat(schema="clio.plugins", version=1, type=PluginLock)


class Plugin(Struct, frozen=True, kw_only=True):
    """What a plugin's folder contains.

    Attributes:
        skills, commands, agents, themes: folders and files below `folder` that contain them.
        left_out: sentences about parts that clio does not have.
        problems: sentences about parts that cannot be read.
    """

    name: str
    folder: Path
    version: str = ""
    description: str = ""
    skills: tuple[Path, ...] = ()
    commands: tuple[Path, ...] = ()
    agents: tuple[Path, ...] = ()
    themes: tuple[Path, ...] = ()
    hooks: tuple[Hook, ...] = ()
    servers: tuple[McpServer, ...] = ()
    left_out: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def get_paths(self, kind: Kind) -> tuple[Path, ...]:
        """Return the folders and files of one kind."""
        return {"skills": self.skills, "commands": self.commands, "agents": self.agents, "themes": self.themes}[kind]

    @property
    def is_empty(self) -> bool:
        """Whether it brings nothing that clio uses."""
        return not (self.hooks or self.servers or any(self.get_paths(kind) for kind in KINDS))


class FoundPlugins(Struct, frozen=True, kw_only=True):
    """The plugins that are used, and a sentence about each that is not."""

    plugins: tuple[Plugin, ...] = ()
    problems: tuple[str, ...] = ()


def plugins_folder(home: Path) -> Path:
    """Return the folder of all plugins."""
    return home / PLUGINS_FOLDER


def lock_file(home: Path) -> Path:
    """Return the path of the lock file."""
    return home / PLUGINS_FOLDER / PLUGIN_LOCK_NAME


def copy_folder(home: Path, name: str, locked: LockedPlugin) -> Path:
    """Return the folder of a plugin's copy."""
    return home / PLUGINS_FOLDER / name / locked.folder


def read_lock(home: Path) -> PluginLock:
    """Return the lock file's content; an empty one if there is none. Raises ConfigError if it cannot be read."""
    path = lock_file(home)
    try:
        document = load_document(path, LOCK_FORMAT)
    except (ClioError, OSError) as error:
        raise ConfigError(tr("{path} cannot be read, so no plugin is used: {error}", path=path, error=error)) from None
    return document.value if document else PluginLock()


def name_origin(name: str) -> str:
    """Return what is shown as the place of a plugin's hooks and servers; the model reads it too."""
    return f"plugin {name}"


def is_plugin_name(name: str) -> bool:
    """Whether this can be the name of a plugin: it becomes a folder and the beginning of command names."""
    return len(name) <= MAX_PLUGIN_NAME_CHARS and _PLUGIN_NAME.fullmatch(name) is not None


_found: dict[tuple[Path, Path], tuple[tuple[int, int], FoundPlugins]] = {}


def find_plugins(home: Path, project: Path) -> FoundPlugins:
    """Return the plugins used in a project; the files of each are compared with its digest once per process."""
    try:
        status = lock_file(home).stat()
    except OSError:
        return FoundPlugins()
    stamp = (status.st_mtime_ns, status.st_size)
    known = _found.get((home, project))
    if known is None or known[0] != stamp:
        known = _found[home, project] = (stamp, _read_plugins(home, project))
    return known[1]


def _read_plugins(home: Path, project: Path) -> FoundPlugins:
    try:
        lock = read_lock(home)
    except ConfigError as error:
        return FoundPlugins(problems=(str(error),))
    plugins: list[Plugin] = []
    problems: list[str] = []
    for name, locked in lock.plugins.items():
        if locked.projects and str(project) not in locked.projects:
            continue
        problem = find_copy_problem(home, name, locked)
        if problem:
            problems.append(
                tr("the plugin {name!r} is off: {problem}; clio plugin update {name}", name=name, problem=problem)
            )
            continue
        plugin = read_locked_plugin(home, name, locked)
        plugins.append(_with_variables(plugin, home / PLUGINS_FOLDER / name / DATA_FOLDER))
    return FoundPlugins(plugins=tuple(plugins), problems=tuple(problems))


def read_locked_plugin(home: Path, name: str, locked: LockedPlugin) -> Plugin:
    """Read the copy of a plugin, see `read_plugin`. Check it with `find_copy_problem` first."""
    return read_plugin(copy_folder(home, name, locked), name, only_skills=locked.only_skills, entry=locked.entry)


def find_copy_problem(home: Path, name: str, locked: LockedPlugin) -> str:
    """Return why the copy of a plugin may not be used, as the end of a sentence; "" if it may."""
    # The lock file is the user's, but a name in it becomes a path.
    if not is_plugin_name(name) or not re.fullmatch(r"[0-9a-f]{12}", locked.folder):
        return tr("its entry in the lock file is damaged")
    folder = copy_folder(home, name, locked)
    if not folder.is_dir() or folder.is_symlink():
        return tr("its files are missing")
    try:
        unchanged = compute_stamp(folder) == locked.stamp or compute_digest(folder) == locked.digest
    except OSError as error:
        return tr("its files cannot be read ({reason})", reason=error.strerror)
    return "" if unchanged else tr("its files are not those you trusted")


def compute_digest(folder: Path) -> str:
    """Return a digest of the names, modes and contents of all files below a folder. Raises OSError.

    Links and special files are included, so that one added later is noticed; none is followed or opened.
    """
    total = hashlib.sha256()
    for path, mode, data in _iter_entries(folder, ""):
        total.update(json.dumps([path, mode, hashlib.sha256(data).hexdigest()]).encode("ascii"))
    return total.hexdigest()


def compute_stamp(folder: Path) -> str:
    """Return a digest of what the file system says about all files below a folder. Raises OSError.

    It includes the time of the last change of each inode, which no program can set, so that equal stamps mean unchanged
    files. After a restored backup it differs, and the contents are compared instead.
    """
    rows: list[tuple[str, int, int, int, int, int]] = []
    folders = [str(folder)]
    while folders:
        for entry in os.scandir(folders.pop()):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                folders.append(entry.path)
            else:
                times = (status.st_mtime_ns, status.st_ctime_ns)
                rows.append((entry.path, status.st_mode, status.st_size, status.st_ino, *times))
    return hashlib.sha256(repr(sorted(rows)).encode("utf-8", "surrogateescape")).hexdigest()


def _iter_entries(folder: Path, prefix: str) -> Iterator[tuple[str, str, bytes]]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = f"{prefix}{entry.name}"
        if entry.is_symlink():
            yield name, "link", os.fsencode(Path(entry.path).readlink())
        elif entry.is_dir():
            yield from _iter_entries(Path(entry.path), f"{name}/")
        elif entry.is_file():
            flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            fd = os.open(entry.path, os.O_RDONLY | flags)
            with os.fdopen(fd, "rb") as file:
                mode = os.fstat(fd).st_mode
                yield name, "program" if mode & stat.S_IXUSR else "file", file.read()
        else:
            yield name, "other", b""


def _with_variables(plugin: Plugin, data: Path) -> Plugin:
    """Return the plugin with the variables that its hooks and servers may use."""
    values = {_ROOT_VARIABLE: str(plugin.folder), _DATA_VARIABLE: str(data)}
    # A program that wrote compiled files beside its source would change the plugin.
    env = values | {"PYTHONDONTWRITEBYTECODE": "1"}

    def fill(text: str) -> str:
        return _VARIABLES.sub(lambda found: values[found[1]], text)

    return replace(
        plugin,
        hooks=tuple(replace(hook, env=env) for hook in plugin.hooks),
        servers=tuple(
            replace(
                server,
                command=fill(server.command),
                args=tuple(map(fill, server.args)),
                env={name: fill(text) for name, text in server.env.items()},
                added_env=env,
                cwd=fill(server.cwd),
                url=fill(server.url),
                headers={name: fill(text) for name, text in server.headers.items()},
            )
            for server in plugin.servers
        ),
    )


def clean_line(value: object, max_chars: int = 200) -> str:
    """Return text of a manifest on one line, without control characters and with invisible letters spelled out."""
    if not isinstance(value, str):
        return ""
    text = "".join(char if char.isprintable() else " " for char in reveal_hidden_text(value[: 4 * max_chars]))
    return " ".join(text.split())[:max_chars]


def read_json_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of a plugin. Raises ConfigError with the end of a sentence."""
    try:
        value = decode_json(read_regular(path, MAX_MANIFEST_BYTES).removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
    except OSError as error:
        raise ConfigError(tr("it cannot be read: {reason}", reason=error.strerror or error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(tr("it is not valid JSON: {error}", error=clean_line(str(error)))) from None
    return value


def read_plugin(
    folder: Path, name: str, *, only_skills: bool = False, entry: Mapping[str, Any] | None = None
) -> Plugin:
    """Read what a plugin's folder contains. Never raises; what cannot be read is a problem.

    Args:
        name: used instead of the manifest's.
        entry: the plugin's entry in a marketplace, which may name further parts.
    """
    reader = _PluginReader(folder, name)
    manifest = reader.read_manifest()
    for fields in (manifest, entry or {}):
        reader.read_fields(fields)
    # An entry that is not "strict" lists everything that belongs to the plugin, such as some of many skills.
    if not entry or entry.get("strict") is not False:
        reader.read_own_files()
    return reader.make_plugin({**(entry or {}), **manifest}, only_skills=only_skills)


# What Claude Code's manifests may name and clio does not have.
_FOREIGN_FIELDS = {
    "lspServers": mark("language servers"),
    "outputStyles": mark("output styles"),
    "userConfig": mark("settings of the plugin"),
    "channels": mark("channels"),
    "monitors": mark("monitors"),
    "dependencies": mark("other plugins"),
    "settings": mark("settings"),
}
_FOREIGN_FILES = {
    ".lsp.json": mark("language servers"),
    "output-styles": mark("output styles"),
    "bin": mark("programs for the search path"),
    "settings.json": mark("settings"),
    "monitors": mark("monitors"),
}
_EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt",
    "PreToolUse": "before_tool",
    "PostToolUse": "after_tool",
    "PreCompact": "before_trim",
    "Stop": "stop",
    "SessionEnd": "session_end",
}
"""Claude Code's events → clio's."""
CLAUDE_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("run_command",),
    "Read": ("read_file",),
    "Write": ("write_file",),
    "Edit": ("edit_file", "apply_patch"),
    "MultiEdit": ("edit_file", "apply_patch"),
    "NotebookEdit": ("edit_file",),
    "Glob": ("find_files",),
    "Grep": ("search_text",),
    "LS": ("list_files",),
    "WebFetch": ("web_fetch",),
    "WebSearch": ("web_search",),
    "TodoWrite": ("todo_operations",),
    "Task": ("delegate",),
}
"""Claude Code's tools → clio's."""
_MATCHER_PART = re.compile(r"[A-Za-z0-9_-]+(?:\.\*)?|\.\*|\*")


class _PluginReader:
    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._where = name_origin(name)
        self._paths: dict[Kind, dict[Path, None]] = {kind: {} for kind in KINDS}
        self._hooks: list[Hook] = []
        self._servers: dict[str, McpServer] = {}
        self._read_hook_files: set[Path] = set()
        self._left_out: dict[str, None] = {}
        self._problems: list[str] = []

    def read_manifest(self) -> dict[str, Any]:
        path = self._folder / MANIFEST_PATH
        if not path.is_file():
            return {}
        try:
            return read_json_object(path)
        except ConfigError as error:
            self._problems.append(f"{MANIFEST_PATH}: {error}")
            return {}

    def read_fields(self, fields: Mapping[str, Any]) -> None:
        """Read what a manifest or an entry of a marketplace names."""
        for kind in KINDS:
            for value in _list_values(fields.get(kind)):
                self._add_path(kind, value)
        for value in _list_values(fields.get("hooks")):
            if isinstance(value, str):
                if path := self._resolve(value):
                    self._read_hook_file(path)
            else:
                self._read_hooks(value, MANIFEST_PATH)
        for value in _list_values(fields.get(SERVERS_KEY)):
            if isinstance(value, str):
                if path := self._resolve(value):
                    self._read_server_file(path)
            else:
                self._read_servers(value, MANIFEST_PATH)
        for field, what in _FOREIGN_FIELDS.items():
            if fields.get(field):
                self._left_out[tr(what)] = None

    def read_own_files(self) -> None:
        """Read what is at the usual places in the folder."""
        for name in ("hooks/hooks.json", "hooks.yaml", "hooks/hooks.yaml"):
            if (self._folder / name).is_file():
                self._read_hook_file(self._folder / name)
        for name in (".mcp.json", "mcp.yaml"):
            if (self._folder / name).is_file():
                self._read_server_file(self._folder / name)
        for name, what in _FOREIGN_FILES.items():
            if (self._folder / name).exists():
                self._left_out[tr(what)] = None
        for kind in KINDS:
            if (self._folder / kind).is_dir():
                self._paths[kind].setdefault(self._folder / kind)

    def make_plugin(self, manifest: Mapping[str, Any], *, only_skills: bool) -> Plugin:
        # A repository of skills only: each folder at its top is one, or the repository itself is.
        has_skills = (self._folder / "SKILL.md").is_file() or any(self._folder.glob("*/SKILL.md"))
        if has_skills and not self._paths["skills"] and not self._has_other_parts():
            self._paths["skills"][self._folder] = None
        paths = {kind: tuple(self._paths[kind]) for kind in KINDS}
        plugin = Plugin(
            name=self._name,
            folder=self._folder,
            version=clean_line(manifest.get("version"), 40),
            description=clean_line(manifest.get("description"), 400),
            skills=paths["skills"],
            problems=tuple(self._problems),
        )
        if only_skills:
            return plugin
        return replace(
            plugin,
            commands=paths["commands"],
            agents=paths["agents"],
            themes=paths["themes"],
            hooks=tuple(self._hooks),
            servers=tuple(self._servers.values()),
            left_out=tuple(self._left_out),
        )

    def _has_other_parts(self) -> bool:
        return bool(self._hooks or self._servers or any(self._paths[kind] for kind in KINDS))

    def _resolve(self, value: str) -> Path | None:
        """Return the path that a manifest names, if it is a file or folder inside the plugin."""
        parts = [part for part in value.replace("\\", "/").split("/") if part not in ("", ".")]
        shown = clean_line(value, 100)
        if value.startswith("/") or ".." in parts or not value.isprintable() or ":" in value:
            self._problems.append(tr("{value!r} is not a path inside the plugin", value=shown))
            return None
        path = self._folder.joinpath(*parts)
        if not path.exists() or not path.resolve().is_relative_to(self._folder.resolve()):
            self._problems.append(tr("{value!r} is named, but is not there", value=shown))
            return None
        return path

    def _add_path(self, kind: Kind, value: object) -> None:
        if not isinstance(value, str):
            self._left_out[tr("{kind} written inside the manifest", kind=kind)] = None
        elif path := self._resolve(value):
            self._paths[kind].setdefault(path)

    def _read_hook_file(self, path: Path) -> None:
        if path in self._read_hook_files:  # the usual file, which the manifest names as well
            return
        self._read_hook_files.add(path)
        name = path.relative_to(self._folder).as_posix()
        try:
            if path.suffix in (".yaml", ".yml"):
                hooks = list(read_hooks(path, name))[:_MAX_ENTRIES]
                self._hooks += [replace(hook, where=f"{self._where}: {hook.where}") for hook in hooks]
            else:
                self._read_hooks(read_json_object(path), name)
        except ConfigError as error:
            self._problems.append(f"{name}: {error}")

    def _read_hooks(self, value: Any, name: str) -> None:
        """Read hooks in Claude Code's form."""
        events = cast("dict[str, Any]", value).get("hooks", value) if isinstance(value, dict) else None
        if not isinstance(events, dict):
            self._problems.append(tr("{name}: its hooks are not an object with one entry per event", name=name))
            return
        for event, groups in cast("dict[str, Any]", events).items():
            if event == "description":
                continue
            if event not in _EVENTS:
                self._left_out[tr("hooks at {event}", event=clean_line(event, 40))] = None
                continue
            for group in _list_values(groups):
                self._read_hook_group(event, group, name)

    def _read_hook_group(self, event: str, group: Any, name: str) -> None:
        fields = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
        match: tuple[str, ...] | None = ()
        if event in ("PreToolUse", "PostToolUse"):
            match = _translate_matcher(fields.get("matcher"))
        if match is None:
            matcher = clean_line(fields.get("matcher"), 80)
            self._left_out[tr("hooks for {matcher!r}, which no tool of clio matches", matcher=matcher)] = None
            return
        for entry in _list_values(fields.get("hooks")):
            hook = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
            kind, command = hook.get("type", "command"), hook.get("command")
            if kind != "command":
                self._left_out[tr("hooks of the type {kind!r}", kind=clean_line(kind, 40))] = None
            elif not isinstance(command, str) or not command.strip() or "\0" in command:
                self._problems.append(tr("{name}: a hook at {event} has no command", name=name, event=event))
            elif len(self._hooks) < _MAX_ENTRIES:
                seconds = hook.get("timeout")
                self._hooks.append(
                    Hook(
                        event=_EVENTS[event],
                        run=command,
                        where=self._where,
                        match=match,
                        timeout_s=min(float(seconds), MAX_TIMEOUT_S)
                        if isinstance(seconds, int | float) and seconds > 0
                        else HOOK_TIMEOUT_S,
                        is_claude_format=True,
                    )
                )

    def _read_server_file(self, path: Path) -> None:
        name = path.relative_to(self._folder).as_posix()
        try:
            if path.suffix in (".yaml", ".yml"):
                entries, problems = parse_server_entries(read_regular(path, MAX_MANIFEST_BYTES), name)
                self._problems += problems
                values = {
                    server: {key: value for key, value in msgspec.to_builtins(entry).items() if value is not None}
                    for server, (entry, _) in entries.items()
                }
                self._read_servers(values, name)
            else:
                self._read_servers(read_json_object(path), name)
        except (ConfigError, OSError) as error:
            self._problems.append(f"{name}: {error}")

    def _read_servers(self, value: Any, name: str) -> None:
        entries = cast("dict[str, Any]", value).get(SERVERS_KEY, value) if isinstance(value, dict) else None
        if not isinstance(entries, dict):
            self._problems.append(tr("{name}: its MCP servers are not an object with one entry per server", name=name))
            return
        for server, fields in list(cast("dict[str, Any]", entries).items())[:_MAX_ENTRIES]:
            known = {
                key: field
                for key, field in (cast("dict[str, Any]", fields) if isinstance(fields, dict) else {}).items()
                if key in ("type", "command", "args", "env", "cwd", "url", "headers", "timeout_s", "tools", "oauth")
            }
            try:
                # Not the user's own: it cannot say that its tools change nothing, or use the model unasked.
                self._servers.setdefault(server, make_server(server, known, self._where, own=False))
            except ConfigError as error:
                self._problems.append(
                    tr(
                        "{name}: the MCP server {server!r} is ignored: {error}",
                        name=name,
                        server=clean_line(server, 64),
                        error=error,
                    )
                )


def _list_values(value: Any) -> list[Any]:
    """Return a value that may be one or several as a list."""
    if value is None:
        return []
    return cast("list[Any]", value)[:_MAX_ENTRIES] if isinstance(value, list) else [value]


def _translate_matcher(matcher: object) -> tuple[str, ...] | None:
    """Return clio's patterns for a matcher such as `Edit|Write|mcp__github__.*`; None if clio has no such tool."""
    if matcher in (None, "", "*", ".*"):
        return ()
    if not isinstance(matcher, str):
        return None
    found: list[str] = []
    for part in matcher.split("|"):
        part = part.strip().removeprefix("^").removesuffix("$")
        if not _MATCHER_PART.fullmatch(part):
            return None
        if part in (".*", "*"):
            return ()
        if part.startswith("mcp__"):
            found.append(part.replace("mcp__", "mcp_").replace("__", "_").replace(".*", "*"))
        elif part.endswith(".*"):
            prefix = part.removesuffix(".*")
            found += [tool for name, tools in CLAUDE_TOOLS.items() if name.startswith(prefix) for tool in tools]
        else:
            found += CLAUDE_TOOLS.get(part, ())
    return tuple(dict.fromkeys(found)) or None


def name_servers(plugins: Iterable[Plugin], taken: Iterable[str]) -> list[McpServer]:
    """Return the servers of plugins; one whose name is in use is called `PLUGIN.SERVER`."""
    used = set(taken)
    found: list[McpServer] = []
    for plugin in plugins:
        for server in plugin.servers:
            name = server.name if server.name not in used else f"{plugin.name}.{server.name}"
            if name not in used:
                used.add(name)
                found.append(replace(server, name=name))
    return found


def list_theme_files(plugins: Iterable[Plugin], taken: Iterable[str]) -> dict[str, Path]:
    """Return the theme files of plugins by name; one whose name is in use is called `PLUGIN-THEME`."""
    used = set(taken)
    found: dict[str, Path] = {}
    for plugin in plugins:
        for path in plugin.themes:
            for file in filter(Path.is_file, sorted(path.glob("*.yaml")) if path.is_dir() else [path]):
                name = file.stem if file.stem not in used and file.stem not in found else f"{plugin.name}-{file.stem}"
                found.setdefault(name, file)
    return found
