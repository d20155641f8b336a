"""Tool schemas as the model gets them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from clio.tools.schemas import describe_arguments, make_args_schema


class Item(Struct, frozen=True, kw_only=True):
    """One item."""

    name: str
    size: int | None = None


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments for programmers to read."""

    title: Annotated[str, Meta(description="what it is called")]
    items: tuple[Item, ...] = ()
    mode: Literal["a", "b"] = "a"
    limit: Annotated[int, Meta(ge=1, description="at most this many")] | None = None


def test_references_are_resolved_and_nulls_removed() -> None:
    assert make_args_schema(Args) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "what it is called"},
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
                    "required": ["name"],
                },
            },
            "mode": {"enum": ["a", "b"]},
            "limit": {"type": "integer", "minimum": 1, "description": "at most this many"},
        },
        "required": ["title"],
        "additionalProperties": False,
    }


def test_compact_schemas_have_no_descriptions() -> None:
    assert b"called" not in msgspec.json.encode(make_args_schema(Args, describe=False))


def test_a_signature_looks_like_a_call() -> None:
    assert describe_arguments(Args) == (
        "title: string, items?: array of {name: string, size?: integer}, mode?: a|b, limit?: integer"
    )
