"""From the JSON a model wrote to a tool's arguments, forgiving what is clear and explaining what is not."""

from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.algorithms.json_data import decode_json, is_nested_deeply, is_too_deep
from clio.algorithms.late_pattern import LatePattern
from clio.errors import ToolRetry
from clio.tools.base import FreeArguments
from clio.tools.schema import signature

_MAX_REPAIRED = 2_000_000
"""Characters; a repair of more takes longer than a new answer."""
_WORD = LatePattern(r"Invalid enum value '(?P<word>[^']+)' - at `\$.*\.(?P<key>\w+)`")


def parse_arguments(text: str, args: type[Struct], *, cut_off: bool = False) -> Struct:
    """The arguments as an instance of `args`. Broken JSON is repaired where only one reading fits the struct.

    cut_off: the answer ended at the output limit, so a repair would invent the missing rest.
    Raises ToolRetry, whose message says what the tool takes.
    """
    document = _decode(text.strip() or "{}", cut_off=cut_off)
    _refuse_half_letters(document)
    if args is FreeArguments:
        return _free(document)
    if isinstance(document, dict) and set(cast("dict[str, Any]", document)) == {"arguments"}:
        document = cast("dict[str, Any]", document)["arguments"]  # some models wrap the object once more
    tried = set[str]()
    while True:
        try:
            return msgspec.convert(document, args, strict=False)
        except msgspec.ValidationError as error:
            word = _WORD.match(str(error))
            if word is None or word[0] in tried:
                raise ToolRetry(f"the arguments are wrong: {_plain(error)}. They are: {signature(args)}") from error
            tried.add(word[0])
            document = _respelled(document, key=word["key"], word=word["word"])


def _refuse_half_letters(document: Any) -> None:
    """Raise ToolRetry where a text holds half of a surrogate pair, which repaired JSON may and nothing can store."""
    try:
        msgspec.json.encode(document)
    except UnicodeEncodeError:
        raise ToolRetry(
            "the arguments hold half of a surrogate pair (\\ud800 to \\udfff), which is no character; send it whole"
        ) from None
    except OverflowError:
        raise ToolRetry("the arguments hold a number that is too large; send a smaller one") from None


def _respelled(document: Any, *, key: str, word: str) -> Any:
    """The same with a word of a list of choices as they are spelled: `In-Progress` is `in_progress`."""
    if isinstance(document, list):
        return [_respelled(each, key=key, word=word) for each in cast("list[Any]", document)]
    if not isinstance(document, dict):
        return document
    entries = cast("dict[str, Any]", document).items()
    spelled = word.strip().lower().replace("-", "_").replace(" ", "_")
    return {
        name: spelled if name == key and value == word else _respelled(value, key=key, word=word)
        for name, value in entries
    }


def _free(document: Any) -> FreeArguments:
    if not isinstance(document, dict):
        raise ToolRetry("the arguments must be one JSON object, as the tool's schema describes it")
    return FreeArguments(cast("dict[str, Any]", document))


def _decode(text: str, *, cut_off: bool) -> Any:
    try:
        return decode_json(text)
    except msgspec.DecodeError as error:
        if cut_off:
            raise ToolRetry(
                "the call was cut off by the output limit; make the same change in smaller pieces"
            ) from error
        return _repair(text, error)


def _repair(text: str, error: msgspec.DecodeError) -> Any:
    if is_nested_deeply(text) or len(text) > _MAX_REPAIRED:
        raise ToolRetry(f"the arguments are not valid JSON ({error}); send one JSON object") from error
    import json_repair

    try:
        repaired: Any = json_repair.loads(text)
    except (ValueError, RecursionError):
        repaired = None
    if isinstance(repaired, dict) and repaired and not is_too_deep(repaired):
        return cast("dict[str, Any]", repaired)
    raise ToolRetry(f"the arguments are not valid JSON ({error}); send one JSON object") from error


def _plain(error: msgspec.ValidationError) -> str:
    """`Expected `int`, got `str` - at `$.limit`` reads better as a sentence."""
    return str(error).replace(" - at `$.", " at `").replace(" - at `$`", "").replace("Object ", "the call ")
