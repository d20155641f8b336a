"""Decode the arguments of a tool call as models write them, and repair unambiguous mistakes."""

from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import WrongArguments
from clio.text.json_data import decode_json, is_text_too_deep, is_value_too_deep
from clio.text.lazy_regex import LazyRegex
from clio.tools.base import FreeArguments
from clio.tools.schemas import describe_arguments

_MAX_REPAIRED_CHARS = 2_000_000
"""Characters; repairing more takes longer than a new answer from the model."""
_ENUM_ERROR = LazyRegex(r"Invalid enum value '(?P<word>[^']+)' - at `\$.*\.(?P<key>\w+)`")
"""msgspec's message for a string outside an enum."""


def parse_arguments(text: str, args: type[Struct], *, cut_off: bool = False) -> Struct:
    """Return the arguments as an instance of `args`. Broken JSON is repaired if only one reading fits the struct.

    Args:
        cut_off: whether the answer ended at the output limit; a repair would then invent the missing rest.

    Raises:
        ToolRetry: the message tells the model which arguments the tool takes.
    """
    document = _decode_or_repair(text.strip() or "{}", cut_off=cut_off)
    _refuse_unstorable_values(document)
    if args is FreeArguments:
        return _make_free_arguments(document)
    if isinstance(document, dict) and set(cast("dict[str, Any]", document)) == {"arguments"}:
        document = cast("dict[str, Any]", document)["arguments"]  # some models wrap the object once more
    tried = set[str]()
    while True:
        try:
            return msgspec.convert(document, args, strict=False)
        except msgspec.ValidationError as error:
            word = _ENUM_ERROR.match(str(error))
            if word is None or word[0] in tried:
                raise WrongArguments(
                    f"the arguments are wrong: {_simplify_validation_error(error)}. "
                    f"They are: {describe_arguments(args)}"
                ) from error
            tried.add(word[0])
            document = _correct_enum_value(document, key=word["key"], word=word["word"])


def _refuse_unstorable_values(document: Any) -> None:
    """Raise ToolRetry if a string contains half of a surrogate pair: repaired JSON may, but it cannot be stored."""
    try:
        msgspec.json.encode(document)
    except UnicodeEncodeError:
        raise WrongArguments(
            "the arguments contain half of a surrogate pair (\\ud800 to \\udfff), which is no character",
            "send it whole",
        ) from None
    except OverflowError:
        raise WrongArguments("the arguments contain a number that is too large", "send a smaller one") from None


def _correct_enum_value(document: Any, *, key: str, word: str) -> Any:
    """Return the document with one enum value spelled as in the schema: `In-Progress` becomes `in_progress`."""
    if isinstance(document, list):
        return [_correct_enum_value(item, key=key, word=word) for item in cast("list[Any]", document)]
    if not isinstance(document, dict):
        return document
    entries = cast("dict[str, Any]", document).items()
    corrected = word.strip().lower().replace("-", "_").replace(" ", "_")
    return {
        name: corrected if name == key and value == word else _correct_enum_value(value, key=key, word=word)
        for name, value in entries
    }


def _make_free_arguments(document: Any) -> FreeArguments:
    if not isinstance(document, dict):
        raise WrongArguments("the arguments must be one JSON object, as the tool's schema describes it")
    return FreeArguments(cast("dict[str, Any]", document))


def _decode_or_repair(text: str, *, cut_off: bool) -> Any:
    try:
        return decode_json(text)
    except msgspec.DecodeError as error:
        if cut_off:
            raise WrongArguments(
                "the call was cut off by the output limit", "make the same change in smaller pieces"
            ) from error
        return _repair_json(text, error)


def _repair_json(text: str, error: msgspec.DecodeError) -> Any:
    if is_text_too_deep(text) or len(text) > _MAX_REPAIRED_CHARS:
        raise WrongArguments(f"the arguments are not valid JSON ({error})", "send one JSON object") from error
    # Imported late: most arguments are valid JSON.
    import json_repair

    try:
        repaired: Any = json_repair.loads(text)
    except (ValueError, RecursionError):
        repaired = None
    if isinstance(repaired, dict) and repaired and not is_value_too_deep(repaired):
        return cast("dict[str, Any]", repaired)
    raise WrongArguments(f"the arguments are not valid JSON ({error})", "send one JSON object") from error


def _simplify_validation_error(error: msgspec.ValidationError) -> str:
    """Rewrite msgspec's message, such as "Expected `int`, got `str` - at `$.limit`", as a sentence."""
    return str(error).replace(" - at `$.", " at `").replace(" - at `$`", "").replace("Object ", "the call ")
