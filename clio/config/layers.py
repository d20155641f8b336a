"""Merge the layers of configuration and record the origin of each value.

Defaults < the user's file (or --config) < the project's file < environment < flags. A list collects the entries of
all layers; every other value is from the highest layer that sets it. The three values that define a server belong
together, see `_drop_values_of_other_server`.
"""

from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from clio.config import paths
from clio.config.command_line import flag_name
from clio.config.extension_files import FoundServers, find_hooks, find_servers
from clio.config.loaded import LoadedConfig, TrustRequest
from clio.config.memory_seal import describe_seal_damage, has_foreign_memory, make_memory_trust_request
from clio.config.options import Options
from clio.config.project_links import (
    find_links,
    find_team_trust_request,
    find_worktree_link,
    is_team_trusted,
    make_link_trust_request,
)
from clio.config.project_rules import is_user_only
from clio.config.schema import (
    CONFIG_FIELDS,
    KEY_ACTIONS,
    KEYRING_KEY,
    OPENAI_VARIABLES,
    Config,
    Setting,
    parse_setting_text,
    read_environment,
    read_settings_file,
)
from clio.config.trust import TrustStore, find_trust_requests
from clio.config.yaml_file import FileIgnored
from clio.errors import ConfigError, UsageError
from clio.readonly_git import describe_blocking_file
from clio.text.translation import AUTO, choose_language, has_translation, list_languages, tr
from clio.threads import is_in_clio_command

DEFAULT = "default"
_KEY_SETTINGS = ("api_key", "api_key_command")
LayerValues = dict[tuple[str, ...], list[Setting]]
"""The merged layers so far: the entries of each list, one setting for anything else."""


def load_config(options: Options, env: Mapping[str, str]) -> LoadedConfig:
    """Load the configuration for one start. Writes no files. Raises ConfigError, or UsageError for a flag."""
    home, user_home = paths.clio_home(env), paths.user_home(env)
    project, main = _find_project(options.cwd, home, user_home)
    # A worktree is another place of the same project: trust and settings are those of its main checkout.
    owner = main or project
    values: LayerValues = {}
    found = _Found(owner, home)
    files = _add_user_layer(values, options, home, user_home)
    links = find_links(owner)
    link_requests = tuple(map(make_link_trust_request, links))
    fingerprints = found.trust.fingerprints(owner) if links else frozenset[str]()
    is_followed = [request.fingerprint in fingerprints for request in link_requests]
    link_targets = tuple(link.target for link in compress(links, is_followed))
    if paths.project_config(owner) != paths.home_config(home).resolve():  # in the home directory both are one file
        files += _add_project_layer(values, found, user_home, link_targets)
    add_layer(values, _read_environment_and_flags(options, env, values))
    refuse_shared_keys(values)
    if blocking_problem := describe_blocking_file(owner):
        found.problems.append(blocking_problem)
    mcp = find_all_servers(home, owner, link_targets)
    hooks = find_hooks(home, owner, lambda value: found.trust.covers(owner, (value,)), link_targets)
    for extensions in (mcp, hooks):
        found.trusted += extensions.trusted
        found.withheld += extensions.withheld
    if paths.has_plugins(home):
        from clio.config.installed_plugins import find_plugins

        plugins = find_plugins(home, owner)
        hooks = replace(hooks, hooks=(*hooks.hooks, *(hook for plugin in plugins.plugins for hook in plugin.hooks)))
        found.problems += plugins.problems
    for request, is_trusted in zip(link_requests, is_followed, strict=True):
        found.add(request, is_trusted=is_trusted)
    has_untrusted_memory, memory_doubt = _check_foreign_memory(found)
    is_folder_blocked = any(
        link.is_clio_folder and not followed for link, followed in zip(links, is_followed, strict=True)
    )
    if is_folder_blocked:
        _turn_on_incognito(values, tr("a link in {folder_name}", folder_name=paths.FOLDER_NAME))
    if not options.reads_only and is_in_clio_command(home, env):
        # What a script asks clio is not the user's own text, and its answers to clio's questions are not the user's.
        _turn_on_incognito(values, tr("a command of a running clio"))
        found.problems.append(
            tr("a command of a running clio started this one, so it saves nothing and uses no memory")
        )
    config = build_config(values)
    origins = list_origins(values)
    found.problems += _choose_language(env, config.language, origins["language"])
    return LoadedConfig(
        config=config,
        origins=origins,
        project=project,
        home=home,
        withheld=tuple(found.withheld),
        trusted=tuple(found.trusted),
        files=files,
        servers=mcp.servers,
        server_problems=mcp.problems,
        start_folder=options.cwd.resolve(),
        hooks=hooks.hooks,
        main_checkout=main,
        problems=(*found.problems, *hooks.problems),
        links=link_targets,
        is_folder_blocked=is_folder_blocked,
        has_foreign_memory=has_untrusted_memory,
        memory_doubt=memory_doubt,
        flags=frozenset(options.overrides),
        variables={one[-1].name: one[-1].variable for one in values.values() if one[-1].variable},
    )


class _Found:
    """What a project has that needs the user's trust, and sentences about what has no effect."""

    def __init__(self, owner: Path, home: Path) -> None:
        self.owner = owner
        self.home = home
        self.trust = TrustStore(home)
        self.trusted: list[TrustRequest] = []
        self.withheld: list[TrustRequest] = []
        self.problems: list[str] = []

    def add(self, request: TrustRequest, *, is_trusted: bool) -> None:
        """Add one request."""
        (self.trusted if is_trusted else self.withheld).append(request)


def _add_user_layer(values: LayerValues, options: Options, home: Path, user_home: Path) -> tuple[Path, ...]:
    """Add the settings of the user's file, or of the one given with --config; return the file if it exists."""
    path = options.config_file or paths.home_config(home)
    settings = read_settings_file(path, paths.display_path(path, project=None, user_home=user_home))
    if settings is None and options.config_file:
        raise ConfigError(tr("--config {config_file!r}: no such file", config_file=str(options.config_file)))
    add_layer(values, settings or ())
    return () if settings is None else (path,)


def _add_project_layer(
    values: LayerValues, found: _Found, user_home: Path, link_targets: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Add the settings of the project's file that are in effect; return the file if it was read.

    link_targets: where links lead that may be followed.
    """
    owner = found.owner
    path = paths.project_config(owner)
    settings: tuple[Setting, ...] | None = None
    try:
        settings = read_settings_file(
            path, paths.display_path(path, project=owner, user_home=user_home), root=owner, trusted=link_targets
        )
    except FileIgnored as error:
        found.problems.append(str(error))
    allowed: list[Setting] = []
    for setting in settings or ():
        if not is_user_only(setting):
            allowed.append(setting)
            continue
        found.problems.append(
            tr(
                "{origin}: {setting} has no effect in a project; set it in ~/.clio/{config_name}",
                origin=setting.origin,
                setting=setting.name,
                config_name=paths.CONFIG_NAME,
            )
        )
    # Judged against the layers below, because a value may be narrower than the user's own.
    requests = find_trust_requests(tuple(allowed), build_config(values))
    trusted_fingerprints = found.trust.fingerprints(owner) if requests else frozenset[str]()
    withheld: list[Setting] = []
    for setting, request in requests:
        is_trusted = request.fingerprint in trusted_fingerprints
        found.add(request, is_trusted=is_trusted)
        withheld += [] if is_trusted else [setting]
    add_layer(values, [setting for setting in allowed if setting not in withheld])
    if team := find_team_trust_request(owner):
        found.add(team, is_trusted=is_team_trusted(owner, found.home))
    return () if settings is None else (path,)


def _check_foreign_memory(found: _Found) -> tuple[bool, str]:
    """Return whether the project has memory from elsewhere that is not trusted, and what makes it doubtful, or ""."""
    if not has_foreign_memory(found.owner, found.home):
        return False, ""
    damage = describe_seal_damage(found.owner, found.home)
    request = make_memory_trust_request(damage)
    is_trusted = found.trust.covers(found.owner, (request,))
    found.add(request, is_trusted=is_trusted)
    return not is_trusted, "" if is_trusted else damage or ""


def _turn_on_incognito(values: LayerValues, origin: str) -> None:
    values[("incognito",)] = [Setting(key=("incognito",), value=True, origin=origin)]


def find_all_servers(home: Path, project: Path, links: Sequence[Path] = ()) -> FoundServers:
    """Return every MCP server configured now: those of the files, and those of plugins. links: see `read_servers`."""
    found = find_servers(home, project, links)
    if not paths.has_plugins(home):
        return found
    from clio.config.installed_plugins import find_plugins, name_servers

    # A name that waits for trust is in use too: trusting the project must not rename a plugin's server.
    taken = [*(server.name for server in found.servers), *(value.key.partition(".")[2] for value in found.withheld)]
    return replace(found, servers=(*found.servers, *name_servers(find_plugins(home, project).plugins, taken)))


def _choose_language(env: Mapping[str, str], setting: str, origin: str) -> list[str]:
    """Speak the configured language from now on; return why it cannot be spoken, if so."""
    try:
        choose_language(env, setting)
    except (OSError, ValueError) as error:
        return [tr("{origin}: language: {path!r} cannot be read: {error}", origin=origin, path=setting, error=error)]
    if setting == AUTO or setting.endswith(".po") or has_translation(setting):
        return []
    languages = ", ".join((AUTO, *list_languages()))
    return [
        tr(
            "{origin}: language: no translation {setting!r}, using English; available: {languages}",
            origin=origin,
            setting=setting,
            languages=languages,
        )
    ]


def _find_project(cwd: Path, home: Path, user_home: Path) -> tuple[Path, Path | None]:
    """Return the project's directory; for one of clio's worktrees also the main checkout's, whose settings apply."""
    link = find_worktree_link(cwd)
    if link is None:
        return paths.project_folder(cwd, clio_home=home, user_home=user_home), None
    main = paths.project_folder(_find_existing(link.get_main_path(cwd.resolve())), clio_home=home, user_home=user_home)
    below = main.relative_to(link.main) if main.is_relative_to(link.main) else Path()
    return link.worktree / below, link.main / below


def _find_existing(folder: Path) -> Path:
    """Return the directory, or its nearest existing parent."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def add_layer(values: LayerValues, settings: Sequence[Setting]) -> None:
    """Add one layer above the others; within a layer the later setting wins."""
    _drop_values_of_other_server(values, {setting.key: setting for setting in settings})
    for setting in settings:
        if CONFIG_FIELDS[setting.key[0]].kind != "texts":
            values[setting.key] = [setting]
        elif all(setting.value != known.value for known in values.get(setting.key, ())):
            values.setdefault(setting.key, []).append(setting)


def build_config(values: LayerValues) -> Config:
    """Build a Config from the values, with defaults for all others."""
    raw: dict[str, Any] = {}
    for key, settings in values.items():
        if key[0] == "models":
            raw.setdefault("models", {}).setdefault(key[1], {})[key[2]] = settings[-1].value
        elif CONFIG_FIELDS[key[0]].kind in ("keys", "section"):
            raw.setdefault(key[0], {})[key[1]] = settings[-1].value
        elif CONFIG_FIELDS[key[0]].kind == "texts":
            raw[key[0]] = [setting.value for setting in settings]
        else:
            raw[key[0]] = settings[-1].value
    return msgspec.convert(raw, Config)


def refuse_shared_keys(values: LayerValues) -> None:
    """Raise ConfigError if two actions have the same key, whichever files and settings give it to them."""
    given = {key[1]: settings[-1] for key, settings in values.items() if key[0] == "keys"}
    taken = {usual: action for action, usual in KEY_ACTIONS.items() if action not in given}
    for action, setting in given.items():
        key = str(setting.value)
        other = taken.setdefault(key, action)
        if other == action:
            continue
        remedy = (
            tr("choose another key for one of them") if other in given else tr("choose another key for that action")
        )
        origin = f" ({given[other].origin})" if other in given else ""
        raise ConfigError(
            tr(
                "{origin}: keys.{action}: {key} is already bound to {other}{origin2}; {remedy}",
                origin=setting.origin,
                action=action,
                key=key,
                other=other,
                origin2=origin,
                remedy=remedy,
            )
        )


def list_origins(values: LayerValues) -> dict[str, str]:
    """Return the origin of each field, and of settings of single models if they are set."""
    found = dict.fromkeys(CONFIG_FIELDS, DEFAULT)
    for settings in values.values():
        found[settings[-1].name] = ", ".join(dict.fromkeys(setting.origin for setting in settings))
    return found


def _drop_values_of_other_server(values: LayerValues, layer: Mapping[tuple[str, ...], Setting]) -> None:
    """Remove the values of lower layers about a server that this layer replaces, so that no key is sent to another
    server.

    A layer with another provider replaces address and key, and the model if it was a named provider's. A layer with
    another address replaces the key if it was a named server's, and the provider unless it is openai, whose API most
    servers use.
    """
    provider, address = layer.get(("provider",)), layer.get(("base_url",))
    old_provider, old_server = (
        _get_value(values, "provider"),
        _get_value(values, "base_url") or _get_value(values, "provider"),
    )
    dropped: list[str] = []
    # The keyring has a key for each server, so that the word may stay.
    keys = () if _get_value(values, "api_key") == KEYRING_KEY else _KEY_SETTINGS
    if provider and provider.value != old_provider:
        dropped = ["base_url", *keys, *(["model"] if old_provider else [])]
    elif address and address.value != _get_value(values, "base_url"):
        dropped = [*(keys if old_server else ()), *([] if old_provider == "openai" else ["provider"])]
    elif any((name,) in layer for name in _KEY_SETTINGS):  # a layer that sets one source of the key replaces all others
        dropped = list(_KEY_SETTINGS)
    for name in dropped:
        values.pop((name,), None)
    for key in layer:  # the same for an alias: a key for one address is not sent to another
        if key[0] == "models" and key[2] in ("provider", "base_url") and not _is_unchanged(values, layer[key]):
            values.pop((*key[:2], "api_key_command"), None)


def _is_unchanged(values: LayerValues, setting: Setting) -> bool:
    old = values.get(setting.key)
    return old is not None and old[-1].value == setting.value


def _get_value(values: LayerValues, name: str) -> str | int | float | bool | None:
    settings = values.get((name,))
    return settings[-1].value if settings else None


def _read_environment_and_flags(options: Options, env: Mapping[str, str], values: LayerValues) -> tuple[Setting, ...]:
    """Return the settings of environment and flags, which are treated as one layer about the server."""
    flags = tuple(
        _parse_flag(name, entry, "" if options.from_program else flag_name(name))
        for name, value in options.overrides.items()
        for entry in (value if isinstance(value, tuple) else (value,))
    )
    set_values = {setting.name: setting.value for setting in (*read_environment(env, without=OPENAI_VARIABLES), *flags)}
    return (*read_environment(env, without=_list_ignored_openai_variables(set_values, env, values)), *flags)


def _list_ignored_openai_variables(
    set_values: Mapping[str, object], env: Mapping[str, str], values: LayerValues
) -> tuple[str, ...]:
    """Return OpenAI's variables that do not apply, because address or provider are set elsewhere."""
    provider = _get_value(values, "provider") if "base_url" not in set_values else None
    if set_values.get("provider", provider) not in (None, "openai"):
        return OPENAI_VARIABLES
    has_other_address = "base_url" in set_values or (
        _get_value(values, "base_url") and not env.get("OPENAI_BASE_URL", "").strip()
    )
    return ("OPENAI_API_KEY",) if has_other_address else ()


def _parse_flag(name: str, value: str | bool, flag: str) -> Setting:
    origin = tr("flag {flag}", flag=flag) if flag else tr("the calling program")
    try:
        parsed = value if isinstance(value, bool) else parse_setting_text(CONFIG_FIELDS[name], value)
    except ValueError as error:
        raise UsageError(f"{flag or name} {error}") from None
    return Setting(key=(name,), value=parsed, origin=origin)
