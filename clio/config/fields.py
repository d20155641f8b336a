"""The fields of the schema as layers need them: kinds of values, environment variables, text and YAML as settings."""

import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from clio.config.command_line import did_you_mean
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF, Config, ModelSettings
from clio.config.yaml_file import TRUE, Entry, Items, Node, Scalar, Table, describe, parse, read_bytes
from clio.errors import ConfigError
from clio.text.lazy_regex import LazyRegex
from clio.text.regex_limits import BoundedPattern, PatternRefused


class Setting(Struct, frozen=True, kw_only=True):
    """A value for a field: `("approve",)`, or `("models", "gpt-5", "context_window")`.

    A list gives one Setting for each of its entries. origin: what `clio config show` prints.
    """

    key: tuple[str, ...]
    value: str | int | float | bool | None
    origin: str

    @property
    def name(self) -> str:
        """The key with dots."""
        return ".".join(self.key)


FieldKind = Literal["text", "choice", "count", "number", "switch", "texts", "models"]
Value = str | int | float | bool | None
_COUNT = LazyRegex(r"[0-9]{1,12}")
_NUMBER = LazyRegex(r"[0-9]{0,12}\.?[0-9]{1,12}|[0-9]{1,12}\.")
LIST_WORDS = {"checks": (CHECKS_AUTO, CHECKS_OFF)}
"""The words that may stand in place of a list."""
_TRUE_WORDS = TRUE | {"1"}
_FALSE_WORDS = frozenset(("no", "off", "false", "0"))


class Field(Struct, frozen=True, kw_only=True):
    """One setting. `optional`: it may be None. `choices`: for the kind "choice". `limits`: for the kind "number"."""

    name: str
    kind: FieldKind
    optional: bool
    choices: tuple[str, ...] = ()
    limits: Meta | None = None

    @property
    def wanted(self) -> str:
        """What a value must be, as a message puts it."""
        match self.kind:
            case "text":
                return "text that is not empty"
            case "choice":
                return "one of " + ", ".join(self.choices)
            case "count":
                return "a whole number of at least 1"
            case "number":
                return f"a number {limits_in_words(self.limits)}"
            case "switch":
                return "true or false"
            case "texts":
                words = "".join(f"{word}, " for word in LIST_WORDS.get(self.name, ()))
                return f"{words}{'or ' if words else ''}a list, each entry on a line of its own after '- '"
            case "models":
                return "a mapping from a model's name to its settings"


def limits_in_words(limits: Meta | None) -> str:
    """Which numbers are allowed: "above 0", "from 0 to below 1"."""
    low = f"from {limits.ge:g}" if limits and limits.ge is not None else ""
    low = f"above {limits.gt:g}" if limits and limits.gt is not None else low
    high = f"to below {limits.lt:g}" if limits and limits.lt is not None else ""
    return f"{low} {high}".strip() or "of any size"


def fields_of(struct: type[Struct]) -> dict[str, Field]:
    """The fields of Config or ModelSettings by name."""
    return {info.name: _field(info.name, info.type) for info in msgspec.structs.fields(struct)}


def from_text(field: Field, text: str) -> Value:
    """The value a flag or an environment variable gives. Raises ValueError with the end of a sentence."""
    stripped = text.strip()
    match field.kind:
        case "count" if _COUNT.fullmatch(stripped) and int(stripped) >= 1:
            return int(stripped)
        case "number" if _NUMBER.fullmatch(stripped) and _within(float(stripped), field.limits):
            return float(stripped)
        case "switch" if stripped.lower() in _TRUE_WORDS | _FALSE_WORDS:
            return stripped.lower() in _TRUE_WORDS
        case "choice" if stripped in field.choices:
            return stripped
        case "text" | "texts" if stripped:
            return stripped
        case _:
            raise ValueError(_must_be(field, repr(_short(stripped)), stripped))


def from_node(field: Field, node: Node) -> Value:
    """The value a YAML scalar gives. Raises ValueError with the end of a sentence."""
    if not isinstance(node, Scalar):
        raise ValueError(_must_be(field, describe(node)))
    if node.kind == "null":
        if field.optional:
            return None
        raise ValueError(f"has no value; it must be {field.wanted}")
    if node.kind == "bool" and (word := _choice_meant(field, node.text.lower())):
        return word
    if node.kind == "bool" and field.kind in ("text", "choice"):
        truth = "true" if node.text.lower() in TRUE else "false"
        hint = "" if field.kind == "choice" else "; put it in quotes"
        raise ValueError(f"must be {field.wanted}: YAML reads an unquoted {node.text} as {truth}{hint}")
    if field.kind == "switch" and node.kind != "bool":
        raise ValueError(_must_be(field, describe(node)))
    return from_text(field, node.text.replace("_", "") if field.kind in ("count", "number") else node.text)


def _choice_meant(field: Field, word: str) -> str:
    """The choice a word such as `off` stands for, which YAML takes for a truth value; "" where there is none."""
    if word in field.choices:
        return word
    words = _TRUE_WORDS if word in TRUE else _FALSE_WORDS
    alike = [choice for choice in field.choices if choice in words]
    return alike[0] if len(alike) == 1 else ""


def text_items(field: Field, node: Node) -> tuple[Scalar, ...]:
    """The entries of a list of texts; nothing after the colon is an empty list. Raises ValueError as `from_node`."""
    if isinstance(node, Scalar) and node.kind == "null":
        return ()
    if isinstance(node, Scalar) and (word := _list_word(field, node)):
        return (msgspec.structs.replace(node, kind="text", text=word),)
    if not isinstance(node, Items):
        raise ValueError(_must_be(field, describe(node)))
    entries: list[Scalar] = []
    for item in node.items:
        if not isinstance(item, Scalar) or item.kind == "null" or not item.text.strip():
            raise ValueError(f"must hold texts only, not {describe(item)}; put a text with ': ' in quotes")
        entries.append(item)
    return tuple(entries)


def _list_word(field: Field, node: Scalar) -> str:
    """The word in place of a list, also where YAML takes it for a truth value; "" where there is none."""
    words = LIST_WORDS.get(field.name, ())
    if node.kind == "bool" and words:
        return CHECKS_AUTO if node.text.lower() in TRUE else CHECKS_OFF
    return node.text.strip() if node.text.strip() in words else ""


def _must_be(field: Field, got: str, word: str = "") -> str:
    hint = did_you_mean(word, field.choices) if field.choices and word else ""
    return f"must be {field.wanted}, not {got}{hint}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _within(value: float, limits: Meta | None) -> bool:
    return limits is None or not (
        (limits.gt is not None and value <= limits.gt)
        or (limits.ge is not None and value < limits.ge)
        or (limits.lt is not None and value >= limits.lt)
    )


def _field(name: str, hint: Any) -> Field:
    parts: tuple[Any, ...] = (
        typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    )
    plain = [part for part in parts if part is not type(None)]
    kind, choices = _kind(plain[0])
    limits = typing.get_args(plain[0])[1] if kind == "number" else None
    return Field(name=name, kind=kind, optional=len(plain) < len(parts), choices=choices, limits=limits)


def _kind(hint: Any) -> tuple[FieldKind, tuple[str, ...]]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "choice", arguments
    if origin is tuple:
        return "texts", ()
    if origin is dict:
        return "models", ()
    if hint is bool:
        return "switch", ()
    if origin is typing.Annotated and typing.get_args(hint)[0] is float:
        return "number", ()
    return ("text", ()) if hint is str else ("count", ())


CONFIG_FIELDS = fields_of(Config)
MODEL_FIELDS = fields_of(ModelSettings)


class Variable(Struct, frozen=True, kw_only=True):
    """One variable and the setting it gives.

    openai_only: read only while no other server is named, see `layers`; the provider reads it again for itself.
    switches_off: any value at all turns the setting off.
    """

    name: str
    field: str
    openai_only: bool = False
    switches_off: bool = False


# Lowest first: a CLIO_ variable beats the general one for the same setting.
VARIABLES: tuple[Variable, ...] = (
    Variable(name="OPENAI_BASE_URL", field="base_url", openai_only=True),
    Variable(name="OPENAI_API_KEY", field="api_key", openai_only=True),
    Variable(name="CLIO_MODEL", field="model"),
    Variable(name="CLIO_PROVIDER", field="provider"),
    Variable(name="CLIO_BASE_URL", field="base_url"),
    Variable(name="CLIO_API_KEY", field="api_key"),
    Variable(name="CLIO_API", field="api"),
    Variable(name="CLIO_EFFORT", field="effort"),
    Variable(name="CLIO_APPROVE", field="approve"),
    Variable(name="CLIO_SANDBOX", field="sandbox"),
    Variable(name="CLIO_MAX_STEPS", field="max_steps"),
    Variable(name="CLIO_CONTEXT_WINDOW", field="context_window"),
    Variable(name="CLIO_MAX_OUTPUT_TOKENS", field="max_output_tokens"),
    Variable(name="CLIO_LTM", field="ltm"),
    Variable(name="CLIO_INCOGNITO", field="incognito"),
    Variable(name="CLIO_DEBUG", field="debug"),
    Variable(name="CLIO_SCREEN_READER", field="screen_reader"),
    Variable(name="CLIO_THEME", field="theme"),
    Variable(name="NO_COLOR", field="color", switches_off=True),
)

SERVER_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "XAI_API_KEY",
    "MOONSHOT_API_KEY",
    "ZAI_API_KEY",
    "Z_AI_API_KEY",
    "MINIMAX_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "OLLAMA_API_KEY",
    "LMSTUDIO_API_KEY",
    "LLAMA_API_KEY",
    "VLLM_API_KEY",
)
"""Variables with keys of single servers: their values are secrets, whatever their names look like."""

OPENAI = tuple(variable.name for variable in VARIABLES if variable.openai_only)


def read_environment(env: Mapping[str, str], *, without: Collection[str] = ()) -> tuple[Setting, ...]:
    """The settings the environment gives; empty variables count as not set. Raises ConfigError naming the variable.

    without: variables that do not apply.
    """
    found: list[Setting] = []
    for variable in VARIABLES:
        text = env.get(variable.name, "").strip()
        if not text or variable.name in without:
            continue
        try:
            value = False if variable.switches_off else from_text(CONFIG_FIELDS[variable.field], text)
        except ValueError as error:
            raise ConfigError(f"the environment variable {variable.name} {error}") from None
        found.append(Setting(key=(variable.field,), value=value, origin=f"environment {variable.name}"))
    return tuple(found)


T = TypeVar("T")


def read_settings(
    path: Path, shown: str, *, root: Path | None = None, trusted: Iterable[Path] = ()
) -> tuple[Setting, ...] | None:
    """The settings of a file; None where there is no file.

    shown: the file's name in messages and origins. root, trusted: see `read_bytes`.
    Raises ConfigError with file and line.
    """
    data = read_bytes(path, shown, root=root, trusted=trusted)
    return None if data is None else tuple(settings_of(parse(data, shown), shown))


def settings_of(table: Table, shown: str) -> Iterator[Setting]:
    """The settings a file's mapping holds. Raises ConfigError with file and line."""
    for name, entry in table.entries.items():
        field = _known(name, CONFIG_FIELDS, f"{shown}:{entry.line}")
        if field.kind == "models":
            yield from _models(field, entry, shown)
        elif field.kind == "texts":
            for item in _converted(text_items, field, name, entry, shown):
                if name == "redact_patterns":
                    _check_pattern(item.text.strip(), f"{shown}:{item.start[0] + 1}")
                yield Setting(key=(name,), value=item.text.strip(), origin=f"{shown}:{item.start[0] + 1}")
        else:
            value = _converted(from_node, field, name, entry, shown)
            yield Setting(key=(name,), value=value, origin=f"{shown}:{entry.line}")


def _models(field: Field, entry: Entry, shown: str) -> Iterator[Setting]:
    for model, own in _table(entry, field.name, field.wanted, shown).entries.items():
        prefix = f"{field.name}.{model}"
        for name, value in _table(own, prefix, "a mapping such as 'context_window: 32000'", shown).entries.items():
            known = _known(name, MODEL_FIELDS, f"{shown}:{value.line}", f"{prefix}: ")
            yield Setting(
                key=(field.name, model, name),
                value=_converted(from_node, known, f"{prefix}.{name}", value, shown),
                origin=f"{shown}:{value.line}",
            )


def _table(entry: Entry, name: str, wanted: str, shown: str) -> Table:
    node = entry.node
    if isinstance(node, Scalar) and node.kind == "null":
        return Table(entries={}, flow=False, start=node.start, end=node.end)
    if not isinstance(node, Table):
        raise ConfigError(f"{shown}:{entry.line}: {name} must be {wanted}, not {describe(node)}")
    return node


def _known(name: str, fields: dict[str, Field], where: str, prefix: str = "") -> Field:
    if name in fields:
        return fields[name]
    hint = did_you_mean(name, fields) or "; known are " + ", ".join(fields)
    raise ConfigError(f"{where}: {prefix}unknown key {name!r}{hint}")


def _check_pattern(pattern: str, where: str) -> None:
    try:
        BoundedPattern(pattern)
    except PatternRefused as error:
        raise ConfigError(f"{where}: the pattern {_named(pattern)} is not used: {error}; change or remove it") from None


def _named(pattern: str) -> str:
    short = pattern if len(pattern) <= 60 else pattern[:57] + "..."
    return f"'{short}'" if short.isprintable() else repr(short)


def _converted(convert: Callable[[Field, Node], T], field: Field, name: str, entry: Entry, shown: str) -> T:
    try:
        return convert(field, entry.node)
    except ValueError as error:
        raise ConfigError(f"{shown}:{entry.line}: {name} {error}") from None
