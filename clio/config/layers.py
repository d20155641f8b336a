"""Merges the layers of configuration and records the origin of each value.

Defaults < the user's file (or --config) < the project's file < environment < flags. A list collects the entries of
all layers; every other value is from the highest layer that sets it. The three values that define a server belong
together, see `_forget_other_server`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clio.config import paths
from clio.config.command_line import flag_name
from clio.config.extension_files import configured, find_hooks
from clio.config.loaded import Loaded, Widening
from clio.config.options import Options
from clio.config.project_links import find_links, is_trusted, link_of, link_widening, team_widening
from clio.config.schema import CONFIG_FIELDS, OPENAI, Config, Setting, from_text, read_environment, read_settings
from clio.config.trust import Trust, came_with_project, describe_seal_damage, is_users_alone, memory_widening, widening
from clio.config.yaml_file import PassedOver
from clio.errors import ConfigError, UsageError
from clio.git_looking import describe_unreadable

DEFAULT = "default"
_KEYS = ("api_key", "api_key_command")
Values = dict[tuple[str, ...], list[Setting]]
"""The merged layers so far: the entries of each list, one setting for anything else."""


def load(options: Options, env: Mapping[str, str]) -> Loaded:
    """Load the configuration for one start. Writes no files. Raises ConfigError, or UsageError for a flag."""
    home, person = paths.clio_home(env), paths.user_home(env)
    project, main = _project(options.cwd, home, person)
    owner = main or project
    user_file = options.config_file or paths.home_config(home)
    project_file = paths.project_config(owner)
    values: Values = {}

    user = read_settings(user_file, paths.display(user_file, project=None, user_home=person))
    if user is None and options.config_file:
        raise ConfigError(f"--config {str(options.config_file)!r}: there is no such file")
    put(values, user or ())

    own: tuple[Setting, ...] | None = None
    withheld: tuple[Widening, ...] = ()
    trusted: tuple[Widening, ...] = ()
    problems: list[str] = []
    links = find_links(owner)
    known = Trust(home).fingerprints(owner) if links else frozenset[str]()
    followed = tuple(link for link in links if link_widening(link).fingerprint in known)
    places = tuple(link.target for link in followed)
    if project_file != paths.home_config(home).resolve():  # in the home directory both are the same file
        shown = paths.display(project_file, project=owner, user_home=person)
        try:
            own = read_settings(project_file, shown, root=owner, trusted=places)
        except PassedOver as error:
            problems.append(str(error))
        counting = tuple(setting for setting in own or () if not is_users_alone(setting))
        problems += [_only_users(setting) for setting in own or () if setting not in counting]
        accepted, trusted, withheld = _sift(counting, build(values), Trust(home), owner)
        put(values, accepted)
        if team := team_widening(owner):
            known = is_trusted(owner, home)
            trusted, withheld = (*trusted, *([team] * known)), (*withheld, *([team] * (not known)))

    put(values, _run_settings(options, env, values))
    if unreadable := describe_unreadable(owner):
        problems.append(unreadable)
    mcp = configured(home, owner, places)
    hooks = find_hooks(home, owner, lambda value: Trust(home).covers(owner, (value,)), places)
    is_foreign = came_with_project(owner, home)
    doubt = describe_seal_damage(owner, home) if is_foreign else None
    memory = (memory_widening(doubt),) if is_foreign else ()
    is_trusted_memory = is_foreign and Trust(home).covers(owner, memory)
    held, granted = (memory, ()) if not is_trusted_memory else ((), memory)
    waiting = tuple(link_widening(link) for link in links if link not in followed)
    is_closed = any(link.is_state for link in links if link not in followed)
    if is_closed:
        values[("incognito",)] = [Setting(key=("incognito",), value=True, origin=f"a link in {paths.FOLDER_NAME}")]
    files = ((user_file, user), (project_file, own))
    return Loaded(
        config=build(values),
        origins=origins(values),
        project=project,
        home=home,
        withheld=(*withheld, *mcp.withheld, *hooks.withheld, *waiting, *held),
        trusted=(
            *trusted,
            *mcp.trusted,
            *hooks.trusted,
            *map(link_widening, followed),
            *granted,
        ),
        files=tuple(path for path, settings in files if settings is not None),
        servers=mcp.servers,
        server_problems=mcp.problems,
        start=options.cwd.resolve(),
        hooks=hooks.hooks,
        main=main,
        problems=(*problems, *hooks.problems),
        links=places,
        is_closed=is_closed,
        has_foreign_memory=is_foreign and not is_trusted_memory,
        memory_doubt=doubt if doubt and not is_trusted_memory else "",
    )


def _only_users(setting: Setting) -> str:
    return f"{setting.origin}: {setting.name} has no effect in a project; set it in ~/.clio/{paths.CONFIG_NAME}"


def _project(cwd: Path, home: Path, person: Path) -> tuple[Path, Path | None]:
    """Return the project's directory; for one of clio's worktrees also the main checkout's, whose settings apply."""
    link = link_of(cwd)
    if link is None:
        return paths.project_folder(cwd, clio_home=home, user_home=person), None
    main = paths.project_folder(_find_existing(link.twin(cwd.resolve())), clio_home=home, user_home=person)
    below = main.relative_to(link.main) if main.is_relative_to(link.main) else Path()
    return link.worktree / below, link.main / below


def _find_existing(folder: Path) -> Path:
    """Return the directory, or its nearest existing parent."""
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def put(values: Values, settings: Sequence[Setting]) -> None:
    """Add one layer above the others; within a layer the later setting wins."""
    _forget_other_server(values, {setting.key: setting for setting in settings})
    for setting in settings:
        if CONFIG_FIELDS[setting.key[0]].kind != "texts":
            values[setting.key] = [setting]
        elif all(setting.value != known.value for known in values.get(setting.key, ())):
            values.setdefault(setting.key, []).append(setting)


def build(values: Values) -> Config:
    """Build a Config from the values, with defaults for all others."""
    raw: dict[str, Any] = {}
    for key, settings in values.items():
        if key[0] == "models":
            raw.setdefault("models", {}).setdefault(key[1], {})[key[2]] = settings[-1].value
        elif CONFIG_FIELDS[key[0]].kind == "texts":
            raw[key[0]] = [setting.value for setting in settings]
        else:
            raw[key[0]] = settings[-1].value
    return msgspec.convert(raw, Config)


def origins(values: Values) -> dict[str, str]:
    """Return the origin of each field, and of settings of single models if they are set."""
    found = dict.fromkeys(CONFIG_FIELDS, DEFAULT)
    for settings in values.values():
        found[settings[-1].name] = ", ".join(dict.fromkeys(setting.origin for setting in settings))
    return found


def _forget_other_server(values: Values, layer: Mapping[tuple[str, ...], Setting]) -> None:
    """Remove the values of lower layers about a server that this layer replaces, so that no key is sent to another
    server.

    A layer with another provider replaces address and key, and the model if it was a named provider's. A layer with
    another address replaces the key if it was a named server's, and the provider unless it is openai, whose API most
    servers use.
    """
    provider, address = layer.get(("provider",)), layer.get(("base_url",))
    before, server = _value(values, "provider"), _value(values, "base_url") or _value(values, "provider")
    gone: list[str] = []
    if provider and provider.value != before:
        gone = ["base_url", *_KEYS, *(["model"] if before else [])]
    elif address and address.value != _value(values, "base_url"):
        gone = [*(_KEYS if server else ()), *([] if before == "openai" else ["provider"])]
    elif any((name,) in layer for name in _KEYS):  # a layer that sets one source of the key replaces all others
        gone = list(_KEYS)
    for name in gone:
        values.pop((name,), None)
    for key in layer:  # the same for an alias: a key for one address is not sent to another
        if key[0] == "models" and key[2] in ("provider", "base_url") and not _is_known(values, layer[key]):
            values.pop((*key[:2], "api_key_command"), None)


def _is_known(values: Values, setting: Setting) -> bool:
    known = values.get(setting.key)
    return known is not None and known[-1].value == setting.value


def _value(values: Values, name: str) -> str | int | float | bool | None:
    settings = values.get((name,))
    return settings[-1].value if settings else None


def _sift(
    settings: tuple[Setting, ...], lower: Config, trust: Trust, project: Path
) -> tuple[tuple[Setting, ...], tuple[Widening, ...], tuple[Widening, ...]]:
    """Split a project's settings: those in force, those of them that needed trust, those that lack it."""
    wide = widening(settings, lower)
    known = trust.fingerprints(project) if wide else frozenset[str]()
    held = [setting for setting, value in wide if value.fingerprint not in known]
    return (
        tuple(setting for setting in settings if setting not in held),
        tuple(value for _, value in wide if value.fingerprint in known),
        tuple(value for _, value in wide if value.fingerprint not in known),
    )


def _run_settings(options: Options, env: Mapping[str, str], values: Values) -> tuple[Setting, ...]:
    """Return the settings of environment and flags, which are treated as one layer about the server."""
    flags = tuple(
        _flag(name, one)
        for name, value in options.overrides.items()
        for one in (value if isinstance(value, tuple) else (value,))
    )
    given = {setting.name: setting.value for setting in (*read_environment(env, without=OPENAI), *flags)}
    return (*read_environment(env, without=_not_for_openai(given, env, values)), *flags)


def _not_for_openai(given: Mapping[str, object], env: Mapping[str, str], values: Values) -> tuple[str, ...]:
    """Return OpenAI's variables that do not apply, because address or provider are set elsewhere."""
    provider = _value(values, "provider") if "base_url" not in given else None
    if given.get("provider", provider) not in (None, "openai"):
        return OPENAI
    elsewhere = "base_url" in given or (_value(values, "base_url") and not env.get("OPENAI_BASE_URL", "").strip())
    return ("OPENAI_API_KEY",) if elsewhere else ()


def _flag(name: str, value: str | bool) -> Setting:
    flag = flag_name(name)
    try:
        parsed = value if isinstance(value, bool) else from_text(CONFIG_FIELDS[name], value)
    except ValueError as error:
        raise UsageError(f"{flag} {error}") from None
    return Setting(key=(name,), value=parsed, origin=f"flag {flag}")
