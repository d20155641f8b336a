"""Exports a session as one text, HTML, Markdown or JSON, with secrets redacted again."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, TypeVar, assert_never, cast

import msgspec
from msgspec import Struct, structs

from clio.context.summary import summarize_messages
from clio.context.summary_text import render_summary
from clio.errors import SessionNotFound
from clio.export.document import (
    TITLE_CHARS,
    Entry,
    ExportedCall,
    ExportedMessage,
    ExportedResult,
    ExportedSession,
    ExportedTrim,
    Totals,
    describe_trim,
    format_call_title,
    format_minute,
    format_plain,
    format_tokens,
)
from clio.export.html_page import is_link_allowed, is_renderable, markdown_cost, render_page
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, Usage, UserMessage
from clio.sessions.loading import load_session
from clio.sessions.session_files import BlobNotFound, BlobStore, output_readers
from clio.sessions.state import SessionFiles, SessionState, Trim, find_first_words, is_session_id
from clio.sessions.store import SessionStore
from clio.text.formatting import describe_cache_use, format_code_block, format_code_span, truncate_line
from clio.text.json_data import decode_json
from clio.text.translation import tr, tr_count
from clio.tokens import TokenEstimator

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


_END_MARK = "the end of this text"
_LANGUAGES = {"patch": "diff", "command": "sh"}
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&]|^[-+#=]|(?<=^\d)[.)]")
_MAX_SHORT_CHARS = 80
MAX_MARKDOWN_COST = 10_000_000
"""Limit of one session, in the unit of `markdown_cost`. Later texts are fenced without parsing them."""


def render_as_markdown(export: ExportedSession) -> str:
    """Return the session as Markdown."""
    return "".join(f"{block}\n\n" for block in _iter_blocks(export)).rstrip("\n") + "\n"


def fence_code(text: str, language: str = "") -> str:
    """Return the text in a fence longer than any run of backticks in it."""
    return format_code_block(text.removesuffix("\n"), language)


class MarkdownText:
    """Decides for each text whether it can be included as Markdown, or must be fenced.

    An open fence, an open comment or an HTML tag would affect the text after it. Texts that take long to parse are
    fenced too.
    """

    def __init__(self) -> None:
        self._left = MAX_MARKDOWN_COST

    def contain(self, text: str) -> str:
        """Return the text of one message, in a fence if necessary."""
        text = text.strip("\n")
        cost = markdown_cost(text)
        if cost > self._left or not is_renderable(text):
            return fence_code(text, "markdown")
        self._left -= cost
        return text if _is_self_contained(text) else fence_code(text, "markdown")


def _iter_blocks(export: ExportedSession) -> Iterator[str]:
    texts = MarkdownText()
    yield f"# {_escape_markdown(export.title)}"
    yield "\n".join(f"- {name}: {text}" for name, text in _list_session_facts(export))
    if export.todos:
        yield "## Todos"
        yield "\n".join(
            f"- [{'x' if todo.status == 'completed' else ' '}] {_escape_markdown(todo.title)}"
            + (f" ({todo.status.replace('_', ' ')})" if todo.status in ("in_progress", "blocked") else "")
            + (f": {_escape_markdown(todo.note)}" if todo.note else "")
            for todo in export.todos
        )
    turn = 0
    for entry in export.entries:
        if isinstance(entry, ExportedTrim):
            yield from _render_trim(entry)
            continue
        turn += entry.role == "user" and entry.origin == "user"
        yield from _render_message(entry, turn, texts)


def _list_session_facts(export: ExportedSession) -> Iterator[tuple[str, str]]:
    totals = export.totals
    yield "session", f"`{export.id}`"
    if export.project:
        yield "project", _escape_markdown(export.project)
    if export.created:
        yield "when", f"{format_minute(export.created)} UTC"
    if export.models:
        yield "model", _escape_markdown(", ".join(export.models))
    yield (
        "conversation",
        f"{tr_count(totals.turns, 'turn')}, {tr_count(totals.messages, 'message')}, {tr_count(totals.calls, 'call')}",
    )
    if totals.requests:
        cached = describe_cache_use(totals.cached_tokens, totals.cache_write_tokens)
        yield (
            "tokens",
            tr(
                "{prompt_tokens:,} in{cached}, {completion_tokens:,} out",
                prompt_tokens=totals.prompt_tokens,
                cached=cached,
                completion_tokens=totals.completion_tokens,
            ),
        )
    yield "exported", f"{format_minute(export.exported_at)} UTC"


def _render_message(entry: ExportedMessage, turn: int, texts: MarkdownText) -> Iterator[str]:
    time = f" · {format_minute(entry.created)}" if format_minute(entry.created) else ""
    match entry.role:
        case "user" if entry.origin == "user":
            yield tr("## {turn}. User{time}", turn=turn, time=time)
            if entry.context.strip():
                yield _fold(tr("Context added by clio"), [fence_code(entry.context)])
            yield texts.contain(entry.text)
        case "user":
            yield _fold(tr("message from clio to the model ({origin})", origin=entry.origin), [fence_code(entry.text)])
        case "system":
            yield _fold(tr("system prompt"), [fence_code(entry.text)])
        case "assistant":
            about = [tr("step {step}", step=entry.step), entry.model, format_tokens(entry.usage) if entry.usage else ""]
            finish = entry.finish_reason if entry.finish_reason in ("interrupted", "length", "content_filter") else ""
            yield f"### clio{time} · {_escape_markdown(' · '.join(filter(None, [*about, finish])))}"
            if entry.reasoning.strip():
                yield _fold("thinking", [fence_code(entry.reasoning)])
            if entry.text.strip():
                yield texts.contain(entry.text)
            yield from map(_render_call, entry.calls)
        case "tool":
            yield from map(_render_call, entry.calls)


def _render_call(call: ExportedCall) -> str:
    result = call.result
    state = (
        tr("no result")
        if result is None
        else result.summary
        if result.ok
        else tr("failed: {summary}", summary=result.summary)
    )
    title = " · ".join(
        filter(None, [f"{call.name} {format_call_title(call)}".strip(), truncate_line(state, TITLE_CHARS)])
    )
    parts = list(_render_arguments(call.arguments))
    if result is not None and result.output.strip():
        parts += ["Output:", fence_code(result.output, "text")]
    return _fold(title, parts)


def _render_arguments(arguments: Any) -> Iterator[str]:
    if not isinstance(arguments, dict):
        if format_plain(arguments).strip():
            yield fence_code(format_plain(arguments))
        return
    texts = {key: format_plain(value) for key, value in cast("dict[str, Any]", arguments).items()}
    short = {
        key: text for key, text in texts.items() if text.strip() and len(text) <= _MAX_SHORT_CHARS and "\n" not in text
    }
    if short:
        yield "\n".join(f"- {_escape_markdown(key)}: {format_code_span(text)}" for key, text in short.items())
    for key, text in texts.items():
        if key not in short:
            yield f"{_escape_markdown(key)}:"
            yield fence_code(text, _LANGUAGES.get(key, ""))


def _render_trim(trim: ExportedTrim) -> Iterator[str]:
    yield f"> **{_escape_markdown(describe_trim(trim))}** ({_escape_markdown(trim.handle)})"
    if trim.summary:
        yield _fold(tr("the summary that the model read from here on"), [fence_code(trim.summary)])


def _fold(title: str, parts: list[str]) -> str:
    line = escape(" ".join(title.split()), quote=False)
    return "\n\n".join([f"<details><summary>{line}</summary>", *parts, "</details>"])


def _escape_markdown(text: str) -> str:
    """Return the text on one line, with Markdown escaped."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def _is_self_contained(text: str) -> bool:
    """Whether a paragraph after the text stays separate, and the text has no HTML, images or unsafe links."""
    # A text after it shows whether an open fence, list or HTML block would swallow what follows.
    tokens = _make_parser().parse(f"{text}\n\n{_END_MARK}")
    inline = [child for token in tokens for child in token.children or ()]
    if any(token.type in ("html_block", "html_inline", "image") for token in [*tokens, *inline]):
        return False
    if not all(is_link_allowed(str(token.attrGet("href"))) for token in inline if token.type == "link_open"):
        return False
    end = tokens[-2] if len(tokens) > 1 else None
    return end is not None and end.type == "inline" and end.content == _END_MARK and end.level == 1


@cache
def _make_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    class LenientMarkdown(MarkdownIt):
        def validateLink(self, url: str) -> bool:
            return True  # viewers may accept links that this parser rejects

    # Tables are not part of CommonMark, but the sites on which such files are read render them.
    return LenientMarkdown("commonmark").enable("table")


_TERMINAL_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Control characters, marks that change the direction of text, spaces without width, and invisible "tag" characters. The
# joiners of emoji and Persian are not included.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]"
)


def remove_terminal_sequences(text: str) -> str:
    """Return the text without terminal sequences and with newlines as line ends; lone surrogates become U+FFFD."""
    if not text.isascii() and _LONE_SURROGATE.search(text):
        text = _LONE_SURROGATE.sub("\ufffd", text)
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        text = _TERMINAL_SEQUENCES.sub("", text)
    return text.replace("\r\n", "\n") if "\r" in text else text


def spell_out_invisible(text: str) -> str:
    """Return the text with invisible characters spelled out: NUL as "␀", U+202E as "⟨U+202E⟩"."""
    return _INVISIBLE.sub(_spell_out_character, text) if _INVISIBLE.search(text) else text


def escape_invisible(json_text: str) -> str:
    """Return JSON with invisible characters, which can occur only in strings, as escapes."""
    return _INVISIBLE.sub(_escape_character, json_text)


def _escape_character(found: re.Match[str]) -> str:
    # JSON escapes characters beyond U+FFFF as two surrogates.
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _spell_out_character(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


S = TypeVar("S", bound=Struct)
_MAX_CACHED_CHARS = 200  # names and titles of this length are repeated, so their cleaned form is cached
_OVERLAP_CHARS = 16_384
"""Characters redacted beyond the end of an extract, so that no part of a secret remains at its edge."""


class ExportCleaner:
    """Cleans the texts of one export.

    Args:
        redact: removes secrets from a text.
        spell_out: whether invisible characters are written as symbols; not needed for a form that escapes them.
    """

    def __init__(self, redact: Callable[[str], str], *, spell_out: bool) -> None:
        self._redact = redact
        self._spell_out = spell_out
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Return one text, cleaned. Terminal sequences are removed first: they could be in the middle of a secret."""
        known = self._known.get(text)
        if known is not None or not text:
            return known or ""
        clean = self._redact(remove_terminal_sequences(text))
        clean = spell_out_invisible(clean) if self._spell_out else clean
        if len(text) <= _MAX_CACHED_CHARS:
            self._known[text] = clean
        return clean

    def value(self, value: Any) -> Any:
        """Return a JSON value with all texts cleaned, including keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in cast("list[Any]", value)]
        return value

    def struct(self, value: S) -> S:
        """Return a Struct with all texts cleaned."""
        return msgspec.convert(self.value(msgspec.to_builtins(value)), type=type(value))

    def message(self, message: Message) -> Message:
        """Return a message with all texts cleaned, except the ids that connect messages."""
        match message:
            case ToolMessage():
                deeds = self.struct(message.side_effects) if message.side_effects is not None else None
                return structs.replace(
                    message,
                    content=self.text(message.content),
                    name=self.text(message.name),
                    summary=self.text(message.summary),
                    side_effects=deeds,
                )
            case AssistantMessage():
                calls = tuple(
                    structs.replace(call, name=self.text(call.name), arguments=self._clean_arguments(call.arguments))
                    for call in message.tool_calls
                )
                return structs.replace(
                    message,
                    content=self.text(message.content),
                    reasoning=self.text(message.reasoning),
                    model=self.text(message.model),
                    finish_reason=self.text(message.finish_reason),
                    tool_calls=calls,
                )
            case UserMessage():
                return structs.replace(message, content=self.text(message.content), context=self.text(message.context))
            case SystemMessage():
                return structs.replace(message, content=self.text(message.content))
            case _:
                assert_never(message)

    def _clean_arguments(self, text: str) -> str:
        """Return the arguments of a call, cleaned both as written and as decoded."""
        text = self.text(text)
        value = decode_arguments(text)
        clean = self.value(value)
        return text if clean == value or isinstance(value, str) else msgspec.json.encode(clean).decode("utf-8")

    def extract(self, text: str, max_chars: int) -> tuple[str, int]:
        """Return a text, cleaned, and the number of omitted characters.

        A text of more than `max_chars` is reduced to its beginning and end, if possible at line ends.
        """
        if len(text) <= max_chars:
            return self.text(text), 0
        head_chars, tail_chars = max_chars * 2 // 3, max_chars - max_chars * 2 // 3
        # Only the two ends are redacted, because an output may have many megabytes.
        head = self.text(text[: head_chars + _OVERLAP_CHARS])[:head_chars]
        tail = self.text(text[-(tail_chars + _OVERLAP_CHARS) :])[-tail_chars:]
        head = head[: head.rfind("\n") + 1] or head
        start = tail.find("\n") + 1
        tail = tail[start:] if start < len(tail) // 2 else tail
        left_out = len(text) - len(head) - len(tail)
        return tr(
            "{head}\n\n[… {left_out:,} characters left out …]\n\n{tail}",
            head=head.rstrip(),
            left_out=left_out,
            tail=tail.lstrip(),
        ), left_out


def decode_arguments(arguments: str) -> Any:
    """Return the arguments of a call as JSON, or as text if they are not valid JSON."""
    try:
        value = decode_json(arguments)
        msgspec.json.encode(value)  # fails for a number that is too large to be written again
    except (msgspec.DecodeError, RecursionError, OverflowError, UnicodeError):
        return arguments
    return value


_SUMMARY_TOKENS = 1_500
_ANCHOR_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_MAX_ANCHOR_CHARS = 60


class OutputLimits(Struct, frozen=True, kw_only=True):
    """How much of tool outputs is exported, in characters.

    Attributes:
        output: of one output.
        all_outputs: of all outputs together.
        later: of one output after `all_outputs` is reached.
    """

    output: int
    all_outputs: int
    later: int


def collect_export(
    state: SessionState, read_blob: Callable[[str], str], cleaner: ExportCleaner, limits: OutputLimits, *, now: float
) -> ExportedSession:
    """Return the export of a session. read_blob: see `BlobStore.read`; previews replace unreadable outputs."""
    messages = [cleaner.message(message) for message in state.messages]
    ids = [cleaner.text(message.id) for message in messages]
    anchors = _make_anchors(ids)
    outputs = _Outputs(read_blob, cleaner, limits)
    results = _match_results(messages)
    exported = list(_export_messages(messages, anchors, results, outputs, cleaner))
    times = [message.created for message in messages if message.created]
    models = dict.fromkeys(message.model for message in messages if isinstance(message, AssistantMessage))
    # Bills also name models whose answers left no message, such as that of a side question.
    models |= dict.fromkeys(cleaner.text(bill.model) for bill in state.bills)
    title = cleaner.text(" ".join((state.name or find_first_words(messages) or tr("An empty session")).split()))
    return ExportedSession(
        exported_at=now,
        id=cleaner.text(state.id),
        title=title,
        named=state.name is not None,
        # Only the folder's name: the file is shared, and the path contains the user's name.
        project=cleaner.text(PurePath(state.working_directory).name),
        parent=cleaner.text(state.parent) if state.parent else None,
        created=state.created_at or min(times, default=0.0),
        last_active=max(times, default=state.created_at),
        models=tuple(model for model in models if model),
        totals=_count_totals(state, exported),
        todos=tuple(map(cleaner.struct, state.todos)),
        bills=tuple(map(cleaner.struct, state.bills)),
        entries=tuple(_insert_trims(exported, state.trims, messages, anchors, cleaner)),
    )


class _Outputs:
    """Reads the outputs of calls, complete until the total limit is reached."""

    def __init__(self, read_blob: Callable[[str], str], cleaner: ExportCleaner, limits: OutputLimits) -> None:
        self._read_blob = read_blob
        self._cleaner = cleaner
        self._limits = limits
        self._used = 0

    def read(self, message: ToolMessage) -> tuple[str, int]:
        """Return the output and the number of omitted characters. The message's content is already clean."""
        limit = self._limits.output if self._used < self._limits.all_outputs else self._limits.later
        whole = self._read_whole(message)
        if whole is None and len(message.content) <= limit:
            output, left_out = message.content, 0
        else:
            output, left_out = self._cleaner.extract(message.content if whole is None else whole, limit)
        self._used += len(output)
        return output, left_out

    def _read_whole(self, message: ToolMessage) -> str | None:
        if message.blob is None:
            return None
        try:
            return self._read_blob(message.blob)
        except (BlobNotFound, OSError):
            return None


def _match_results(messages: Sequence[Message]) -> dict[tuple[int, str], ToolMessage]:
    """Return each call's first result, by the index of the calling message and the call's id.

    Some servers repeat call ids, because they count from zero in every answer; a result belongs to the newest call.
    """
    callers: dict[str, int] = {}
    found: dict[tuple[int, str], ToolMessage] = {}
    for index, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            callers |= {call.id: index for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.tool_call_id in callers:
            # The first one: an imported or repaired session may contain a second result for a call.
            found.setdefault((callers[message.tool_call_id], message.tool_call_id), message)
    return found


def _export_messages(
    messages: Sequence[Message],
    anchors: Sequence[str],
    results: dict[tuple[int, str], ToolMessage],
    outputs: _Outputs,
    cleaner: ExportCleaner,
) -> Iterator[ExportedMessage]:
    matched = {id(message) for message in results.values()}
    step = 0
    for index, message in enumerate(messages):
        common = ExportedMessage(
            anchor=anchors[index],
            id=cleaner.text(message.id),
            role="system",
            created=message.created,
            text=message.content,
        )
        if isinstance(message, UserMessage):
            step = 0 if message.origin == "user" else step
            images = [
                tr("[image {text}, {size:,} bytes]", text=cleaner.text(part.name), size=part.size)
                for part in message.images
            ]
            text = "\n".join([message.content, *images])
            yield structs.replace(common, role="user", text=text, context=message.context, origin=message.origin)
        elif isinstance(message, AssistantMessage):
            step += 1
            calls = tuple(
                ExportedCall(
                    id=cleaner.text(call.id),
                    name=call.name,
                    arguments=decode_arguments(call.arguments),
                    result=_export_result(results.get((index, call.id)), outputs, cleaner),
                )
                for call in message.tool_calls
            )
            yield structs.replace(
                common,
                role="assistant",
                reasoning=message.reasoning,
                model=message.model,
                finish_reason=message.finish_reason,
                usage=message.usage,
                step=step,
                calls=calls,
            )
        elif not isinstance(message, ToolMessage):
            yield common
        elif id(message) not in matched:
            orphan = ExportedCall(
                id=cleaner.text(message.tool_call_id),
                name=message.name or "unknown",
                arguments={},
                result=_export_result(message, outputs, cleaner),
            )
            yield structs.replace(common, role="tool", text="", calls=(orphan,))


def _export_result(message: ToolMessage | None, outputs: _Outputs, cleaner: ExportCleaner) -> ExportedResult | None:
    if message is None:
        return None
    output, left_out = outputs.read(message)
    return ExportedResult(
        message_id=cleaner.text(message.id),
        created=message.created,
        ok=message.ok,
        summary=message.summary,
        seconds=message.seconds,
        output=output,
        left_out=left_out,
    )


def _make_anchors(ids: Sequence[str]) -> list[str]:
    """Return a unique link target for each message: its id if that is a valid target, else its number."""
    used: set[str] = set()
    anchors: list[str] = []
    for number, id in enumerate(ids, 1):
        is_valid = 0 < len(id) <= _MAX_ANCHOR_CHARS and _ANCHOR_CHARS.issuperset(id)
        anchor = f"m-{id}" if is_valid else f"m-{number}"
        # Two anchors with one name would send each link to the first of them.
        while anchor in used:
            anchor += f"-{number}"
        used.add(anchor)
        anchors.append(anchor)
    return anchors


def _insert_trims(
    exported: Sequence[ExportedMessage],
    trims: Sequence[Trim],
    messages: Sequence[Message],
    anchors: Sequence[str],
    cleaner: ExportCleaner,
) -> Iterator[Entry]:
    # Reversed, so that of messages with the same id the first one counts.
    indexes = {message.id: index for index, message in reversed(list(enumerate(messages)))}
    waiting: dict[int, list[ExportedTrim]] = {}
    for number, trim in enumerate(trims, 1):
        index = _find_trim_index(trim, indexes, messages)
        waiting.setdefault(index, []).append(_export_trim(trim, number, indexes, messages, anchors, cleaner))
    index_of_anchor = {anchor: index for index, anchor in enumerate(anchors)}
    due = sorted(waiting)
    for entry in exported:
        while due and due[0] < index_of_anchor[entry.anchor]:
            yield from waiting[due.pop(0)]
        yield entry
    for index in due:
        yield from waiting[index]


def _find_trim_index(trim: Trim, indexes: dict[str, int], messages: Sequence[Message]) -> int:
    """Return the index of the last message at the time of the trim; -1 for none."""
    index = first = max((indexes[id] for id in (*trim.dropped, *trim.shrunk) if id in indexes), default=-1)
    for later in range(first + 1, len(messages)):
        if not trim.created or not 0 < messages[later].created <= trim.created:
            break
        index = later
    return index


def _export_trim(
    trim: Trim,
    number: int,
    indexes: dict[str, int],
    messages: Sequence[Message],
    anchors: Sequence[str],
    cleaner: ExportCleaner,
) -> ExportedTrim:
    dropped = sorted({indexes[id] for id in trim.dropped if id in indexes})
    summary = ""
    if dropped:
        text = render_summary(
            summarize_messages(messages[index] for index in dropped),
            budget_tokens=_SUMMARY_TOKENS,
            estimator=TokenEstimator(),
        )
        # Without the tags, and without the sentence that explains the summary to a model.
        summary = "\n".join(text.split("\n")[2:-1])
    return ExportedTrim(
        anchor=f"trim-{number}",
        handle=cleaner.text(trim.handle),
        created=trim.created,
        messages=len(trim.dropped),
        shrunk=trim.shortened_count,
        freed_tokens=trim.freed_tokens,
        first_anchor=anchors[dropped[0]] if dropped else "",
        last_anchor=anchors[dropped[-1]] if dropped else "",
        summary=summary,
    )


def _count_totals(state: SessionState, exported: Sequence[ExportedMessage]) -> Totals:
    """Return the counts of a session, with tokens from its bills or, without bills, from its messages."""
    usage = Usage()
    for message in exported:
        usage += message.usage or Usage()
    requests = sum(message.usage is not None for message in exported)
    if state.bills:
        usage, requests = Usage(), len(state.bills)
        for bill in state.bills:
            usage += Usage(
                prompt_tokens=bill.prompt_tokens,
                completion_tokens=bill.completion_tokens,
                cached_tokens=bill.cached_tokens,
                cache_write_tokens=bill.cache_write_tokens,
            )
    results = [call.result for message in exported for call in message.calls]
    return Totals(
        messages=len(state.messages),
        turns=sum(message.role == "user" and message.origin == "user" for message in exported),
        calls=len(results),
        failed_calls=sum(result is not None and not result.ok for result in results),
        requests=requests,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )


Form = Literal["html", "md", "json"]
SUFFIXES: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}
"""The form by the suffix of a file's name."""

# A reader sees the first lines of an output; a program may need all of it.
_LIMITS_FOR_READERS = OutputLimits(output=200_000, all_outputs=30_000_000, later=4_000)
_LIMITS_FOR_PROGRAMS = OutputLimits(output=20_000_000, all_outputs=400_000_000, later=200_000)


def export_session(
    store: SessionStore, session_id: str, form: Form, *, redact: Callable[[str], str], now: float
) -> str:
    """Return a session as one text, even if it is running; none of its files is opened for writing.

    Args:
        session_id: a complete id, as returned by `SessionStore.find`.
        redact: removes secrets from a text.
        now: seconds since the epoch. For the same time, the same session gives the same text.

    Raises:
        SessionNotFound, NewerDocument, CorruptDocument, OSError. A corrupt file is not moved.
    """
    if not is_session_id(session_id):
        raise SessionNotFound(
            tr("No session {session_id!r}; `/session list` shows all sessions.", session_id=session_id)
        )
    files = SessionFiles(store.folder, session_id)
    loaded = load_session(files)
    blobs = BlobStore(files.blobs, writable=False, external=output_readers(loaded.outputs))
    cleaner = ExportCleaner(redact, spell_out=form != "json")
    limits = _LIMITS_FOR_PROGRAMS if form == "json" else _LIMITS_FOR_READERS
    export = collect_export(loaded.state, blobs.read, cleaner, limits, now=now)
    match form:
        case "html":
            return render_page(export)
        case "md":
            return render_as_markdown(export)
        case "json":
            # Invisible characters are escaped, not spelled out: a program gets the exact text back.
            text = msgspec.json.format(msgspec.json.encode(export), indent=2).decode("utf-8")
            return escape_invisible(text) + "\n"
        case _:
            assert_never(form)
