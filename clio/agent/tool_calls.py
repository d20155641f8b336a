"""Parts of a tool call: its arguments, its side effects, and what the user changed in it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import ToolRetry
from clio.messages import Commit, Deeds, FileDeed
from clio.security.actions import Action, ChangeFiles, FileChange
from clio.security.approval import Answer, Declined
from clio.text.json_data import decode_json, is_nested_deeply, is_too_deep
from clio.text.lazy_regex import LazyRegex
from clio.tools.base import FreeArguments, ToolOutput
from clio.tools.files.diff import changed_lines, diff_texts
from clio.tools.schemas import signature

_MAX_REPAIRED = 2_000_000
"""Characters; a repair of more takes longer than a new answer."""
_WORD = LazyRegex(r"Invalid enum value '(?P<word>[^']+)' - at `\$.*\.(?P<key>\w+)`")


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


def note_deeds(output: ToolOutput, display: Callable[[Path], str], redact: Callable[[str], str]) -> Deeds:
    """The tool's own account with the files it changed; paths as they are shown, secrets taken out.

    Empty for a call that did nothing of the kind, so that nobody has to guess from its arguments.
    """
    told = output.deeds or Deeds()
    return Deeds(
        changed=tuple(_note(change, display) for change in output.changed) + told.changed,
        read=told.read,
        commits=tuple(Commit(hash=commit.hash, subject=redact(commit.subject)) for commit in told.commits),
        command=redact(told.command),
        exit_code=told.exit_code,
        question=redact(told.question),
        answer=redact(told.answer),
    )


def _note(change: FileChange, display: Callable[[Path], str]) -> FileDeed:
    moved_to = display(change.moved_to) if change.moved_to else ""
    lines = changed_lines(change.before, change.after) if change.before is not None and change.after else ()
    return FileDeed(path=display(change.path), kind=change.kind, moved_to=moved_to, lines=lines)


_MAX_ROWS = 40
_MAX_CHARS = 300


def revision_note(proposed: Action, answer: Answer, display: Callable[[Path], str]) -> str:
    """The note below the call's result. `display` names paths; of each file at most 40 rows are shown."""
    if not isinstance(proposed, ChangeFiles):
        return ""
    wanted = {change.path: change for change in answer.changes}
    paragraphs: list[str] = []
    for change in proposed.changes:
        name, ours = display(change.path), wanted.get(change.path)
        declined = next((one for one in answer.declined if one.path == change.path), None)
        if ours is None:
            paragraphs.append(f"The user declined what you proposed for {name}; it is as it was.")
        elif change.path in answer.edited:
            paragraphs.append(_edited(name, change, ours))
        elif declined is not None:
            paragraphs.append(_declined(name, declined))
    return "\n".join([*paragraphs, "Go on from the files as they are now."]) if paragraphs else ""


def _edited(name: str, proposed: FileChange, ours: FileChange) -> str:
    diff = diff_texts(proposed.after or "", ours.after or "", f"{name} (proposed)", f"{name} (as the user wrote it)")
    head = f"The user edited your proposal for {name} before allowing it. From yours (-) to what is written (+):"
    return "\n".join([head, *_bounded(diff.text, name)])


def _declined(name: str, declined: Declined) -> str:
    head = f"The user declined {declined.hunks} of {declined.of} hunks of {name}; not applied:"
    return "\n".join([head, *_bounded(declined.diff, name)])


def _bounded(diff: str, name: str) -> Iterator[str]:
    rows = diff.removesuffix("\n").split("\n")
    for row in rows[:_MAX_ROWS]:
        yield row if len(row) <= _MAX_CHARS else f"{row[:_MAX_CHARS]} [cut]"
    if len(rows) > _MAX_ROWS:
        yield f"… {len(rows) - _MAX_ROWS:,} more rows; read {name} before you change it again"
