"""A tool call as HTML: one line, and folded below it what it was given, what it changed and what came back."""

from collections.abc import Iterator
from html import escape
from typing import Any, cast

from clio.export.code_html import Colours
from clio.export.diff_html import Diffs, is_diff
from clio.export.document import Call, Result
from clio.export.prose_html import Prose
from clio.export.wording import call_title, count, plain, span
from clio.tools.files.diff import diff_texts

_PATHS = ("path", "file_path", "filename", "file")
_BEFORE, _AFTER = ("old_string", "old_str", "old_text"), ("new_string", "new_str", "new_text")
_MAX_ARGUMENT = 100_000
_MAX_DIFFED = 200_000
_LONG = 80  # characters; a longer value stands in a frame of its own


class Calls:
    """Renders the calls of one page."""

    def __init__(self, prose: Prose, colours: Colours, diffs: Diffs) -> None:
        self._prose = prose
        self._colours = colours
        self._diffs = diffs

    def html(self, call: Call) -> str:
        """One call, folded."""
        result = call.result
        state = "open" if result is None else "good" if result.ok else "bad"
        word = {"open": "no result", "good": "", "bad": "failed"}[state]
        about = " · ".join(filter(None, [word, *_about(result)]))
        anchor = f' id="r-{escape(result.message_id)}"' if result is not None and result.message_id else ""
        title = escape(call_title(call))
        return (
            f'<details class="call {state}"{anchor}><summary><span class="name">{escape(call.name)}</span> '
            f'<span class="title">{title}</span> <span class="about">{escape(about)}</span></summary>'
            f'<div class="inside">{"".join(self._arguments(call))}{self._output(result)}</div></details>'
        )

    def _arguments(self, call: Call) -> Iterator[str]:
        given: Any = call.arguments
        if not isinstance(given, dict):
            text = plain(given)
            if text.strip():
                yield self._prose.block(escape(_cut(text)), "arguments")
            return
        arguments = cast("dict[str, Any]", given)
        path = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), "")
        left = dict(arguments)
        diff = _diff_of(left, path)
        short = {key: value for key, value in left.items() if _is_short(value)}
        if short:
            rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(plain(value))}</dd>" for key, value in short.items())
            yield f'<dl class="args">{rows}</dl>'
        for key, value in left.items():
            if key not in short:
                yield self._long(key, plain(value), path)
        if diff:
            yield self._prose.block(self._diffs.html(diff), f"change to {path}" if path else "change", "diff")

    def _long(self, key: str, text: str, path: str) -> str:
        text = _cut(text)
        if key == "patch" or is_diff(text):
            return self._prose.block(self._diffs.html(text), key, "diff")
        if key in ("command", "script"):
            return self._prose.block(self._colours.code(text, "bash"), key)
        if key in ("content", "file_text") and path:
            return self._prose.block(self._colours.file(text, path), key)
        return self._prose.block(escape(text), key)

    def _output(self, result: Result | None) -> str:
        if result is None:
            return '<p class="none">There is no result: the call was running, or clio was stopped.</p>'
        if not result.output.strip():
            return '<p class="none">No output.</p>'
        lines = result.output.rstrip("\n").count("\n") + 1
        label = f"output, {count(lines, 'line')}"
        if result.left_out:
            label += f", {result.left_out:,} characters left out"
        if is_diff(result.output):
            return self._prose.block(self._diffs.html(result.output), label, "diff")
        return self._prose.block(escape(result.output), label, "out")


def _about(result: Result | None) -> Iterator[str]:
    if result is not None:
        yield result.summary
        took = span(result.seconds)
        if result.seconds >= 0.05 and took not in result.summary:
            yield took


def _diff_of(arguments: dict[str, Any], path: str) -> str:
    """The replacement a call asked for as a diff; its texts are taken out of the arguments."""
    edits = arguments.get("edits")
    if isinstance(edits, list) and edits and all(isinstance(edit, dict) for edit in cast("list[Any]", edits)):
        found = [_replacement(dict(edit), path) for edit in cast("list[dict[str, Any]]", edits)]
        if all(found):
            del arguments["edits"]
            return "".join(found)
    return _replacement(arguments, path)


def _replacement(arguments: dict[str, Any], path: str) -> str:
    old = next((key for key in _BEFORE if isinstance(arguments.get(key), str)), None)
    new = next((key for key in _AFTER if isinstance(arguments.get(key), str)), None)
    if old is None or new is None or len(arguments[old]) + len(arguments[new]) > _MAX_DIFFED:
        return ""
    before, after = (_with_newline(arguments[key]) for key in (old, new))
    text = diff_texts(before, after, path, path).text
    if text:
        del arguments[old], arguments[new]
    return "".join(text.splitlines(keepends=True)[2:])  # the file's name stands above it


def _with_newline(text: str) -> str:
    """A quoted text ends anywhere; that its last line has no newline says nothing of the file."""
    return text if text.endswith("\n") or not text else text + "\n"


def _is_short(value: Any) -> bool:
    text = plain(value)
    return len(text) <= _LONG and "\n" not in text


def _cut(text: str) -> str:
    if len(text) <= _MAX_ARGUMENT:
        return text
    return f"{text[:_MAX_ARGUMENT]}\n\n[… {len(text) - _MAX_ARGUMENT:,} characters left out …]"
