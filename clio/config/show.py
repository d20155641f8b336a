"""The output of `clio config show`, `path` and `trust`, and the notice about values that wait for trust."""

from typing import cast

import msgspec
from msgspec import Struct

from clio.config.layers import DEFAULT
from clio.config.loaded import LoadedConfig, TrustRequest
from clio.config.memory_seal import PROJECT_MEMORY_KEY
from clio.config.paths import FOLDER_NAME, home_config, project_config
from clio.config.schema import TelemetrySettings
from clio.config.trust import TrustStore, format_value, mask_secrets
from clio.text.translation import mark, tr


class SettingReport(Struct, frozen=True, kw_only=True):
    """One setting as printed by `config show --json`: its value as JSON with secrets masked, and its source."""

    value: object
    origin: str


class ConfigReport(Struct, frozen=True, kw_only=True):
    """The output of `config show --json`."""

    project: str
    files: tuple[str, ...]
    settings: dict[str, SettingReport]
    withheld: tuple[TrustRequest, ...]


def format_config(loaded: LoadedConfig) -> str:
    """Return every setting with its value and origin, in columns; then what waits for trust."""
    rows = [
        (name, _format_setting(name, setting.value), setting.origin)
        for name, setting in report_settings(loaded).items()
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    # One long value must not push the origins of all others off the screen.
    value_width = min(widths[1], 40)
    lines = [f"{name:<{widths[0]}}  {value:<{value_width}}  {origin}" for name, value, origin in rows]
    if loaded.withheld:
        lines += [
            "",
            tr("Not in effect until this project is trusted ({trust_hint}):", trust_hint=tr(_TRUST_HINT)),
            *format_withheld_rows(loaded.withheld),
        ]
    if loaded.problems:
        lines += ["", "Ignored:", *(f"  {problem}" for problem in loaded.problems)]
    return "\n".join(lines)


def format_config_json(loaded: LoadedConfig) -> str:
    """Return a `ConfigReport` as indented JSON."""
    report = ConfigReport(
        project=str(loaded.project),
        files=tuple(str(path) for path in loaded.files),
        settings=report_settings(loaded),
        withheld=loaded.withheld,
    )
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode()


def format_config_files(loaded: LoadedConfig) -> str:
    """Return the paths of the configuration files, existing or not, one per line, with the layer first."""
    files = (
        (tr("user"), home_config(loaded.home)),
        (tr("project"), project_config(loaded.project)),
        (tr("trusted"), TrustStore(loaded.home).path),
    )
    read = [("--config", path) for path in loaded.files if path not in (files[0][1], files[1][1])]
    return "\n".join(f"{layer:<8}  {path}{'' if path.exists() else '  (none)'}" for layer, path in (*files, *read))


def describe_withheld(loaded: LoadedConfig) -> str:
    """Return one sentence for the user about the values that wait for trust, without the project's memory."""
    keys = ", ".join(dict.fromkeys(value.key for value in loaded.withheld if value.key != PROJECT_MEMORY_KEY))
    return tr(
        "this project is not trusted, so the extra permissions it wants have no effect: {keys}; list "
        "them with: clio config show; {trust_hint}",
        keys=keys,
        trust_hint=tr(_TRUST_HINT),
    )


def describe_foreign_memory(loaded: LoadedConfig) -> str:
    """Return one sentence about memory that came with the project, or whose author is unknown."""
    if loaded.memory_doubt:
        return tr(
            "{memory_doubt}, so clio cannot tell whether it wrote the memory in {folder_name} "
            "itself, and its hard limits do not apply; if this project is your own, run: clio config trust",
            memory_doubt=loaded.memory_doubt,
            folder_name=FOLDER_NAME,
        )
    return tr(
        "the memory in {folder_name} came with this project, or git tracks it, so its hard limits do not apply; "
        "accept it as your own with: clio config trust",
        folder_name=FOLDER_NAME,
    )


def list_start_notes(loaded: LoadedConfig, *, names_withheld: bool = True) -> list[str]:
    """Return notices about the project's files before the first line: what waits for trust, what is ignored."""
    is_other_withheld = any(value.key != PROJECT_MEMORY_KEY for value in loaded.withheld)
    notes = [describe_withheld(loaded)] if is_other_withheld and names_withheld else []
    if loaded.memory_doubt or (loaded.has_foreign_memory and names_withheld):
        notes.append(describe_foreign_memory(loaded))
    if loaded.is_folder_blocked:
        notes.append(
            tr(
                "until then clio does not use {folder_name}: it writes nothing there and saves no memory",
                folder_name=FOLDER_NAME,
            )
        )
    return [*notes, *loaded.problems]


def format_trust(loaded: LoadedConfig) -> str:
    """Return the output of `config trust`: the values that are in effect from now on."""
    if not loaded.withheld:
        return tr("{project}: nothing to trust", project=loaded.project)
    return "\n".join((tr("{project}: now in effect", project=loaded.project), *format_withheld_rows(loaded.withheld)))


_TRUST_HINT = mark("trust it with: clio config trust")


def format_withheld_rows(values: tuple[TrustRequest, ...]) -> list[str]:
    """Return one line for each value: key, value and position; safe to print."""
    return [f"  {value.key}: {value.value}  ({value.where})" for value in values]


def report_settings(loaded: LoadedConfig) -> dict[str, SettingReport]:
    """Return every setting in force by name, with secrets masked."""
    found: dict[str, SettingReport] = {}
    for name in loaded.config.__struct_fields__:
        value: object = getattr(loaded.config, name)
        if name == "models":
            found.update(_report_model_settings(loaded))
        elif isinstance(value, TelemetrySettings):
            for part in value.__struct_fields__:
                inner = f"{name}.{part}"
                found[inner] = SettingReport(value=getattr(value, part), origin=loaded.origins.get(inner, DEFAULT))
        elif name == "keys":
            for action, key in loaded.config.keys.items():
                found[f"keys.{action}"] = SettingReport(value=key, origin=loaded.origins[f"keys.{action}"])
        else:
            masked = mask_secrets(name, value) if isinstance(value, str) else value
            found[name] = SettingReport(value=masked, origin=loaded.origins[name])
    return found


def _report_model_settings(loaded: LoadedConfig) -> dict[str, SettingReport]:
    found: dict[str, SettingReport] = {}
    for model, settings in loaded.config.models.items():
        for field in settings.__struct_fields__:
            name = f"models.{model}.{field}"
            if name in loaded.origins:
                found[name] = SettingReport(value=getattr(settings, field), origin=loaded.origins[name])
    return found


def _format_setting(name: str, value: object) -> str:
    if isinstance(value, tuple):
        entries = cast(tuple[object, ...], value)
        return ", ".join(format_value(name, entry) for entry in entries) or "none"
    return format_value("", value)
