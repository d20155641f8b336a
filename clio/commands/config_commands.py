"""/config and `clio config set|get|unset`: settings in the user's file or the project's; /init."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

from msgspec import Struct

from clio.commands.arguments import parse_options, suggest_name
from clio.commands.command import (
    ApplySetting,
    Command,
    CommandContext,
    CommandResult,
    SetUpProject,
    Suggestion,
    Table,
    make_refusal,
    quote_code,
)
from clio.config.layers import DEFAULT, LayerValues, add_layer, refuse_shared_keys
from clio.config.loaded import LoadedConfig
from clio.config.paths import FOLDER_NAME, display_path, home_config, project_config, user_home
from clio.config.project_rules import PROJECT_RULES, is_user_only
from clio.config.schema import (
    CONFIG_FIELDS,
    KEY_ACTIONS,
    KEYRING_KEY,
    LIST_WORDS,
    MODEL_FIELDS,
    SECTIONS,
    SettingField,
    Value,
    iter_settings,
    parse_setting_text,
)
from clio.config.show import SettingReport, report_settings
from clio.config.trust import TrustStore, format_value, make_setting_trust_request
from clio.config.yaml_edit import format_yaml_value, remove_yaml_path, rewrite_file, set_yaml_path
from clio.config.yaml_file import parse_yaml, read_config_bytes
from clio.errors import UsageError
from clio.text.translation import mark, tr

APPLIED_AT_ONCE = frozenset(("approve", "attribution", "effort", "max_steps", "model", "theme"))
"""Settings that a conversation applies from its next turn on; all others take effect at the next start."""
_SECRET_SETTINGS = ("api_key",)


class _Target(Struct, frozen=True, kw_only=True):
    """The file that is read and changed. other: the file of the other layer, with which it must agree."""

    path: Path
    name: str
    other: Path
    is_project: bool


def _find_target(loaded: LoadedConfig, *, is_project: bool) -> _Target:
    project = project_config(loaded.main_project)
    user = next((path for path in loaded.files if path != project), home_config(loaded.home))
    if project == home_config(loaded.home).resolve():
        is_project = False
    return _Target(
        path=project if is_project else user,
        name=f"{FOLDER_NAME}/{project.name}" if is_project else _display_own_file(user),
        other=user if is_project else project,
        is_project=is_project,
    )


def _display_own_file(path: Path) -> str:
    return display_path(path, project=None, user_home=user_home(os.environ))


def parse_setting_name(name: str) -> tuple[tuple[str, ...], SettingField]:
    """Return the key and the field of a setting: "approve", "keys.editor", "models.gpt-5.effort".

    Raises UsageError for an unknown one.
    """
    first, _, rest = name.strip().partition(".")
    field = CONFIG_FIELDS.get(first)
    if field is None:
        near = suggest_name(first, CONFIG_FIELDS, otherwise=tr("/config get lists all of them"))
        raise UsageError(tr("There is no setting {name!r}; {near}", name=first, near=near))
    if field.kind == "models":
        model, _, inner = rest.rpartition(".")
        if not model or inner not in MODEL_FIELDS:
            near = ", ".join(MODEL_FIELDS)
            raise UsageError(tr("Write models.MODEL.SETTING, where SETTING is one of {names}", names=near))
        return (first, model, inner), MODEL_FIELDS[inner]
    if field.kind == "keys":
        if rest not in KEY_ACTIONS:
            raise UsageError(tr("Write keys.ACTION, where ACTION is one of {names}", names=", ".join(KEY_ACTIONS)))
        return (first, rest), field
    if field.kind == "section":
        if rest not in SECTIONS[first]:
            names = ", ".join(SECTIONS[first])
            raise UsageError(tr("Write {name}.SETTING, where SETTING is one of {names}", name=first, names=names))
        return (first, rest), SECTIONS[first][rest]
    if rest:
        raise UsageError(tr("{name} has no parts; write /config set {name} VALUE", name=first))
    return (first,), field


def set_setting(ctx: CommandContext, argument: str) -> CommandResult:
    """Set one setting in the user's file, or with --project in the project's."""
    given = parse_options(argument, switches=("--project",))
    if len(given.words) < 2:
        return make_refusal(tr("Which setting, and which value? Write /config set SETTING VALUE"))
    key, field = parse_setting_name(given.words[0])
    name, words = ".".join(key), given.words[1:]
    _check_may_write(ctx, key, is_project="--project" in given.options)
    if name in _SECRET_SETTINGS and words != (KEYRING_KEY,):
        return make_refusal(
            tr("A key typed here would stay in the history; store it with clio auth login, or set a variable")
        )
    value = _parse_value(field, name, words)
    target = _find_target(ctx.loaded, is_project="--project" in given.options)
    _write(target, lambda before: set_yaml_path(before, key, format_yaml_value(value), target.name))
    if target.is_project:
        _trust_written(ctx.loaded, target, key)
    return _describe_change(ctx, target, key, value)


def unset_setting(ctx: CommandContext, argument: str) -> CommandResult:
    """Remove one setting from the user's file, or with --project from the project's."""
    given = parse_options(argument, switches=("--project",))
    if len(given.words) != 1:
        return make_refusal(tr("Which setting? Write /config unset SETTING"))
    key, _ = parse_setting_name(given.words[0])
    name = ".".join(key)
    _check_may_write(ctx, key, is_project="--project" in given.options, removes=True)
    target = _find_target(ctx.loaded, is_project="--project" in given.options)
    if not any(True for _ in _read_values(target, key)):
        return make_refusal(tr("{name} is not set in {file}", name=name, file=target.name))
    _write(target, lambda before: remove_yaml_path(before, key, target.name))
    return CommandResult(
        text=tr(
            "{name} is no longer set in {file}; takes effect at the next start.",
            name=quote_code(name),
            file=target.name,
        ),
        data={"name": name, "file": str(target.path)},
    )


def get_settings(ctx: CommandContext, argument: str) -> CommandResult:
    """Show all settings in force, or one: its value, where it comes from, and what the files say now."""
    given = parse_options(argument)
    reports = report_settings(ctx.loaded)
    if not given.words:
        rows = tuple((name, _format_report(name, report), report.origin) for name, report in reports.items())
        columns = (tr("setting"), tr("value"), tr("from"))
        data = {name: {"value": report.value, "origin": report.origin} for name, report in reports.items()}
        return CommandResult(table=Table(columns=columns, rows=rows, wide_column=1, is_truncated=True), data=data)
    key, field = parse_setting_name(given.words[0])
    name = ".".join(key)
    report = reports.get(name, SettingReport(value=None, origin=DEFAULT))
    found = [(tr("in force"), _format_report(name, report), report.origin)]
    for is_project in (False, True):
        target = _find_target(ctx.loaded, is_project=is_project)
        if target.is_project == is_project:
            texts = [format_value(name, value) for value in _read_values(target, key)]
            found += [(tr("in the file"), ", ".join(texts), target.name)] if texts else []
    return CommandResult(
        text=tr("{name}: {expected}", name=quote_code(name), expected=field.expected),
        table=Table(columns=("", tr("value"), tr("from")), rows=tuple(found), wide_column=1),
        data={"name": name, "value": report.value, "origin": report.origin},
    )


def _format_report(name: str, report: SettingReport) -> str:
    value = report.value
    if isinstance(value, tuple):
        entries = cast("tuple[object, ...]", value)
        return ", ".join(format_value(name, entry) for entry in entries) or tr("none")
    return format_value("", value)


def _parse_value(field: SettingField, name: str, words: tuple[str, ...]) -> Value | tuple[str, ...]:
    """Return the value in these words. Raises UsageError for one that the setting cannot have."""
    if field.kind == "texts":
        return words[0] if len(words) == 1 and words[0] in LIST_WORDS.get(name, ()) else words
    text = " ".join(words)
    if field.kind == "keys":
        return text.lower()
    try:
        return parse_setting_text(field, text)
    except ValueError as error:
        raise UsageError(f"{name} {error}") from None


def _check_may_write(ctx: CommandContext, key: tuple[str, ...], *, is_project: bool, removes: bool = False) -> None:
    """Raise UsageError if the setting may not be stored."""
    loaded = ctx.loaded
    if ctx.config.incognito:
        raise UsageError(tr("Incognito mode changes nothing on disk; start without --incognito to change settings."))
    rule = PROJECT_RULES.get(key[-1] if key[0] == "models" else key[0])
    if is_project and not removes and rule is not None and rule.effect == "user":
        raise UsageError(
            tr("{name} has no effect in a project; leave out --project to set it in your own file", name=".".join(key))
        )
    if is_project and loaded.is_folder_blocked:
        raise UsageError(
            tr("{folder} is a link that waits for your trust, so nothing is written there", folder=FOLDER_NAME)
        )


def _write(target: _Target, change: Callable[[bytes], bytes]) -> None:
    """Change the file. Raises ConfigError if the result would be refused at the next start, and OSError."""

    def checked(before: bytes) -> bytes:
        after = change(before)
        values: LayerValues = {}
        other_name = _display_own_file(target.other)
        other = read_config_bytes(target.other, other_name) or b""
        layers = [(other, other_name), (after, target.name)]
        for data, name in layers if target.is_project else reversed(layers):
            add_layer(values, tuple(iter_settings(parse_yaml(data, name), name)))
        refuse_shared_keys(values)
        return after

    rewrite_file(target.path, checked)


def _read_values(target: _Target, key: tuple[str, ...]) -> Iterator[Value]:
    data = read_config_bytes(target.path, target.name) or b""
    for setting in iter_settings(parse_yaml(data, target.name), target.name):
        if setting.key == key:
            yield setting.value


def _trust_written(loaded: LoadedConfig, target: _Target, key: tuple[str, ...]) -> None:
    """Trust what the user has just set for this project; other values keep waiting."""
    data = read_config_bytes(target.path, target.name) or b""
    written = [setting for setting in iter_settings(parse_yaml(data, target.name), target.name) if setting.key == key]
    for setting in written:
        if not is_user_only(setting):
            TrustStore(loaded.home).add(loaded.main_project, make_setting_trust_request(setting))


def _describe_change(
    ctx: CommandContext, target: _Target, key: tuple[str, ...], value: Value | tuple[str, ...]
) -> CommandResult:
    name = ".".join(key)
    shown = ", ".join(value) if isinstance(value, tuple) else format_value(name, value)
    text = tr("{name} is {value} in {file}", name=quote_code(name), value=quote_code(shown), file=target.name)
    data = {"name": name, "value": value, "file": str(target.path)}
    if overriding := _find_overriding_origin(ctx.loaded, target, name):
        return CommandResult(text=tr("{text}, but {origin} overrides it.", text=text, origin=overriding), data=data)
    if name not in APPLIED_AT_ONCE or (name == "theme" and target.is_project):
        return CommandResult(text=tr("{text}, from the next start on.", text=text), data=data)
    # On the command line no conversation runs, so that nothing is left to do.
    follow_up = ApplySetting(name=name, value=cast(Value, value))
    return CommandResult(text=f"{text}.", data=data, follow_up=follow_up)


def _find_overriding_origin(loaded: LoadedConfig, target: _Target, name: str) -> str:
    """Return where a layer above the file sets the same; "" if none does. Lists are merged, not overridden."""
    origin = loaded.origins.get(name, DEFAULT)
    if origin == DEFAULT or CONFIG_FIELDS[name.partition(".")[0]].kind == "texts":
        return ""
    file_name = Path(origin.rpartition(":")[0])
    is_of_project = file_name.as_posix() == f"{FOLDER_NAME}/{project_config(loaded.main_project).name}"
    is_of_user = not is_of_project and origin.rpartition(":")[2].isdecimal()
    return "" if is_of_user or (is_of_project and target.is_project) else origin


def suggest_setting_words(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete the setting, then its values and --project."""
    words = argument.split()
    if len(words) < 1 or (len(words) == 1 and not argument.endswith(" ")):
        yield from _suggest_names(ctx)
        return
    field = CONFIG_FIELDS.get(words[0])
    if field is not None:
        values = field.choices or (("true", "false") if field.kind == "switch" else LIST_WORDS.get(field.name, ()))
        yield from (Suggestion(text=value) for value in values)
    yield Suggestion(text="--project", note=tr("for this project only"))


def _suggest_names(ctx: CommandContext) -> Iterator[Suggestion]:
    reports = report_settings(ctx.loaded)
    for name, field in CONFIG_FIELDS.items():
        if field.kind == "keys":
            yield from (Suggestion(text=f"{name}.{action}", note=KEY_ACTIONS[action]) for action in KEY_ACTIONS)
        elif field.kind == "models":
            yield Suggestion(text=f"{name}.", note=field.expected)
        elif field.kind == "section":
            parts = (f"{name}.{part}" for part in SECTIONS[name])
            yield from (Suggestion(text=part, note=_format_report(part, reports[part])) for part in parts)
        else:
            yield Suggestion(text=name, note=_format_report(name, reports[name]))


def suggest_setting_names(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete the setting only."""
    return _suggest_names(ctx) if len(argument.split()) < 2 and not argument.endswith(" ") else ()


def set_up_project(ctx: CommandContext, argument: str) -> CommandResult:
    """Create `.clio/` in the project, as `clio init` does."""
    if argument not in ("", "--yes"):
        return make_refusal(tr("/init takes no argument, not {argument!r}", argument=argument))
    return CommandResult(follow_up=SetUpProject(yes=argument == "--yes"))


CONFIG = (
    Command(
        name="config",
        summary=mark("settings: show, change or remove one"),
        handler=get_settings,
        subcommands=(
            Command(
                name="get",
                argument="[SETTING]",
                summary=mark("all settings in force, or one with what the files say"),
                handler=get_settings,
                suggest_word=suggest_setting_names,
            ),
            Command(
                name="set",
                argument="SETTING VALUE [--project]",
                summary=mark("set it in your own file, or in the project's"),
                handler=set_setting,
                suggest_word=suggest_setting_words,
            ),
            Command(
                name="unset",
                argument="SETTING [--project]",
                summary=mark("remove it from the file"),
                handler=unset_setting,
                suggest_word=suggest_setting_names,
            ),
        ),
    ),
    Command(name="init", summary=mark("create .clio/ in this project: settings, instructions"), handler=set_up_project),
)
