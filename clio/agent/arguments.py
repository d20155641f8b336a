"""From the JSON a model wrote to a tool's arguments, forgiving what is clear and explaining what is not."""

from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import ToolRetry
from clio.tools.base import FreeArguments
from clio.tools.schema import signature


def parse_arguments(text: str, args: type[Struct], *, cut_off: bool = False) -> Struct:
    """The arguments as an instance of `args`. Broken JSON is repaired where only one reading fits the struct.

    cut_off: the answer ended at the output limit, so a repair would invent the missing rest.
    Raises ToolRetry, whose message says what the tool takes.
    """
    document = _decode(text.strip() or "{}", cut_off=cut_off)
    if args is FreeArguments:
        return _free(document)
    if isinstance(document, dict) and set(cast("dict[str, Any]", document)) == {"arguments"}:
        document = cast("dict[str, Any]", document)["arguments"]  # some models wrap the object once more
    try:
        return msgspec.convert(document, args, strict=False)
    except msgspec.ValidationError as error:
        raise ToolRetry(f"the arguments are wrong: {_plain(error)}. They are: {signature(args)}") from error


def _free(document: Any) -> FreeArguments:
    if not isinstance(document, dict):
        raise ToolRetry("the arguments must be one JSON object, as the tool's schema describes it")
    return FreeArguments(cast("dict[str, Any]", document))


def _decode(text: str, *, cut_off: bool) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        if cut_off:
            raise ToolRetry(
                "the call was cut off by the output limit; make the same change in smaller pieces"
            ) from error
        return _repair(text, error)


def _repair(text: str, error: msgspec.DecodeError) -> Any:
    import json_repair

    repaired: Any = json_repair.loads(text)
    if isinstance(repaired, dict) and repaired:
        return cast("dict[str, Any]", repaired)
    raise ToolRetry(f"the arguments are not valid JSON ({error}); send one JSON object") from error


def _plain(error: msgspec.ValidationError) -> str:
    """`Expected `int`, got `str` - at `$.limit`` reads better as a sentence."""
    return str(error).replace(" - at `$.", " at `").replace(" - at `$`", "").replace("Object ", "the call ")
