"""The fields of the schema as the layers need them: what kind of value each takes, and how text and YAML become one."""

import types
import typing
from typing import Any, Literal

import msgspec
from msgspec import Meta, Struct

from clio.algorithms.late_pattern import LatePattern
from clio.config.nearest import did_you_mean
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF, Config, ModelSettings
from clio.config.yaml_file import TRUE, Items, Node, Scalar, describe

FieldKind = Literal["text", "choice", "count", "number", "switch", "texts", "models"]
Value = str | int | float | bool | None
_COUNT = LatePattern(r"[0-9]{1,12}")
_NUMBER = LatePattern(r"[0-9]{0,12}\.?[0-9]{1,12}|[0-9]{1,12}\.")
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
