"""A session as one text: as JSON, or as Markdown; with secrets redacted again."""

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
from clio.text.formatting import describe_cache_use, format_code_block, format_code_span, format_count, truncate_line
from clio.text.json_data import decode_json
from clio.tokens import TokenEstimator

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


_END = "the end of this text"
_LANGUAGES = {"patch": "diff", "command": "sh"}
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&]|^[-+#=]|(?<=^\d)[.)]")
_SHORT = 80
MAX_ALL_OUTPUT_CHARS = 10_000_000
"""What looking at the Markdown of one session may cost, in characters of prose; what comes later is fenced."""


def render_as_markdown(export: ExportedSession) -> str:
    """The text."""
    return "".join(f"{block}\n\n" for block in _blocks(export)).rstrip("\n") + "\n"


def fence_code(text: str, language: str = "") -> str:
    """The text in a fence longer than any run of backticks in it."""
    return format_code_block(text.removesuffix("\n"), language)


class MarkdownText:
    """Words as they were written, where their Markdown ends with them; else in a fence.

    An open fence, an open comment or a tag would swallow what comes after. What would take long to look at is fenced.
    """

    def __init__(self) -> None:
        self._left = MAX_ALL_OUTPUT_CHARS

    def contained(self, text: str) -> str:
        """The words of one message."""
        text = text.strip("\n")
        cost = markdown_cost(text)
        if cost > self._left or not is_renderable(text):
            return fence_code(text, "markdown")
        self._left -= cost
        return text if _ends_by_itself(text) else fence_code(text, "markdown")


def _blocks(export: ExportedSession) -> Iterator[str]:
    words = MarkdownText()
    yield f"# {_heading(export.title)}"
    yield "\n".join(f"- {name}: {text}" for name, text in _facts(export))
    if export.todos:
        yield "## Todos"
        yield "\n".join(
            f"- [{'x' if todo.status == 'completed' else ' '}] {_heading(todo.title)}"
            + (f" ({todo.status.replace('_', ' ')})" if todo.status in ("in_progress", "blocked") else "")
            + (f": {_heading(todo.note)}" if todo.note else "")
            for todo in export.todos
        )
    turn = 0
    for entry in export.entries:
        if isinstance(entry, ExportedTrim):
            yield from _cut(entry)
            continue
        turn += entry.role == "user" and entry.origin == "user"
        yield from _said(entry, turn, words)


def _facts(export: ExportedSession) -> Iterator[tuple[str, str]]:
    totals = export.totals
    yield "session", f"`{export.id}`"
    if export.project:
        yield "project", _heading(export.project)
    if export.created:
        yield "when", f"{format_minute(export.created)} UTC"
    if export.models:
        yield "model", _heading(", ".join(export.models))
    yield (
        "talk",
        f"{format_count(totals.turns, 'turn')}, {format_count(totals.messages, 'message')}, "
        f"{format_count(totals.calls, 'call')}",
    )
    if totals.requests:
        cached = describe_cache_use(totals.cached_tokens, totals.cache_write_tokens)
        yield "tokens", f"{totals.prompt_tokens:,} in{cached}, {totals.completion_tokens:,} out"
    yield "exported", f"{format_minute(export.exported_at)} UTC"


def _said(entry: ExportedMessage, turn: int, words: MarkdownText) -> Iterator[str]:
    when = f" · {format_minute(entry.created)}" if format_minute(entry.created) else ""
    match entry.role:
        case "user" if entry.origin == "user":
            yield f"## {turn}. User{when}"
            if entry.context.strip():
                yield _folded("what clio told the model beside these words", [fence_code(entry.context)])
            yield words.contained(entry.text)
        case "user":
            yield _folded(f"clio, to the model ({entry.origin})", [fence_code(entry.text)])
        case "system":
            yield _folded("system prompt", [fence_code(entry.text)])
        case "assistant":
            about = [f"step {entry.step}", entry.model, format_tokens(entry.usage) if entry.usage else ""]
            finish = entry.finish_reason if entry.finish_reason in ("interrupted", "length", "content_filter") else ""
            yield f"### clio{when} · {_heading(' · '.join(filter(None, [*about, finish])))}"
            if entry.reasoning.strip():
                yield _folded("thinking", [fence_code(entry.reasoning)])
            if entry.text.strip():
                yield words.contained(entry.text)
            yield from map(_call, entry.calls)
        case "tool":
            yield from map(_call, entry.calls)


def _call(call: ExportedCall) -> str:
    result = call.result
    state = "no result" if result is None else result.summary if result.ok else f"failed: {result.summary}"
    title = " · ".join(
        filter(None, [f"{call.name} {format_call_title(call)}".strip(), truncate_line(state, TITLE_CHARS)])
    )
    parts = list(_arguments(call.arguments))
    if result is not None and result.output.strip():
        parts += ["Output:", fence_code(result.output, "text")]
    return _folded(title, parts)


def _arguments(arguments: Any) -> Iterator[str]:
    if not isinstance(arguments, dict):
        if format_plain(arguments).strip():
            yield fence_code(format_plain(arguments))
        return
    texts = {key: format_plain(value) for key, value in cast("dict[str, Any]", arguments).items()}
    short = {key: text for key, text in texts.items() if text.strip() and len(text) <= _SHORT and "\n" not in text}
    if short:
        yield "\n".join(f"- {_heading(key)}: {format_code_span(text)}" for key, text in short.items())
    for key, text in texts.items():
        if key not in short:
            yield f"{_heading(key)}:"
            yield fence_code(text, _LANGUAGES.get(key, ""))


def _cut(cut: ExportedTrim) -> Iterator[str]:
    yield f"> **{_heading(describe_trim(cut))}** ({_heading(cut.handle)})"
    if cut.summary:
        yield _folded("the summary the model read from here on", [fence_code(cut.summary)])


def _folded(title: str, parts: list[str]) -> str:
    line = escape(" ".join(title.split()), quote=False)
    return "\n\n".join([f"<details><summary>{line}</summary>", *parts, "</details>"])


def _heading(text: str) -> str:
    """Text on one line that means nothing in Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def _ends_by_itself(text: str) -> bool:
    """Whether a paragraph put behind the text is a paragraph of its own, and nothing in it is loaded or run."""
    tokens = _parser().parse(f"{text}\n\n{_END}")
    inline = [child for token in tokens for child in token.children or ()]
    if any(token.type in ("html_block", "html_inline", "image") for token in [*tokens, *inline]):
        return False
    if not all(is_link_allowed(str(token.attrGet("href"))) for token in inline if token.type == "link_open"):
        return False
    end = tokens[-2] if len(tokens) > 1 else None
    return end is not None and end.type == "inline" and end.content == _END and end.level == 1


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    class Credulous(MarkdownIt):
        def validateLink(self, url: str) -> bool:
            return True  # a viewer may think so

    return Credulous("commonmark").enable("table")


_COLOURS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Controls; marks that turn the direction of reading round; spaces without width; the invisible "tag" letters. The
# joiners of emoji and Persian stay as they are.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]"
)


def remove_terminal_sequences(text: str) -> str:
    """The text without terminal sequences, its lines ended by a newline alone; lone surrogates become U+FFFD."""
    if not text.isascii() and _LONE_SURROGATE.search(text):
        text = _LONE_SURROGATE.sub("\ufffd", text)
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        text = _COLOURS.sub("", text)
    return text.replace("\r\n", "\n") if "\r" in text else text


def show_unseen(text: str) -> str:
    """The text with every character that is not seen as a symbol: NUL as "␀", U+202E as "⟨U+202E⟩"."""
    return _UNSEEN.sub(_symbol, text) if _UNSEEN.search(text) else text


def escape_unseen(json_text: str) -> str:
    """JSON whose unseen characters, which can only stand inside of strings, are written as escapes."""
    return _UNSEEN.sub(_escape, json_text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


S = TypeVar("S", bound=Struct)
_EXPORT_SESSION_SHORT = 200  # characters; names and titles come again and again
_ROOM = 16_384
"""Characters redacted beyond the end of a part, so that no secret stands at its edge, half in sight and half not."""


class ExportCleaner:
    """Cleans the texts of one export.

    redact: takes the secrets out of a text. spell_out: whether unseen characters are written as symbols; a form that
    escapes them itself does without.
    """

    def __init__(self, redact: Callable[[str], str], *, spell_out: bool) -> None:
        self._redact = redact
        self._spell_out = spell_out
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        """One text, clean. Terminal sequences go first: they could stand in the middle of a secret."""
        known = self._known.get(text)
        if known is not None or not text:
            return known or ""
        clean = self._redact(remove_terminal_sequences(text))
        clean = show_unseen(clean) if self._spell_out else clean
        if len(text) <= _EXPORT_SESSION_SHORT:
            self._known[text] = clean
        return clean

    def value(self, value: Any) -> Any:
        """A JSON value with all its texts clean, keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in cast("list[Any]", value)]
        return value

    def struct(self, value: S) -> S:
        """A Struct with all its texts clean."""
        return msgspec.convert(self.value(msgspec.to_builtins(value)), type=type(value))

    def message(self, message: Message) -> Message:
        """A message with all its texts clean; the ids by which messages find each other stay."""
        match message:
            case ToolMessage():
                deeds = self.struct(message.deeds) if message.deeds is not None else None
                return structs.replace(
                    message,
                    content=self.text(message.content),
                    name=self.text(message.name),
                    summary=self.text(message.summary),
                    deeds=deeds,
                )
            case AssistantMessage():
                calls = tuple(
                    structs.replace(call, name=self.text(call.name), arguments=self._arguments(call.arguments))
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

    def _arguments(self, text: str) -> str:
        """The arguments of a call, clean as they were written, and what their escapes stand for too."""
        text = self.text(text)
        value = decode_arguments(text)
        clean = self.value(value)
        return text if clean == value or isinstance(value, str) else msgspec.json.encode(clean).decode("utf-8")

    def bounded(self, text: str, chars: int) -> tuple[str, int]:
        """A long output, clean, with its beginning and its end if it has more than `chars`, and how many are missing.

        The parts end with a line where they can.
        """
        if len(text) <= chars:
            return self.text(text), 0
        head_chars, tail_chars = chars * 2 // 3, chars - chars * 2 // 3
        head = self.text(text[: head_chars + _ROOM])[:head_chars]
        tail = self.text(text[-(tail_chars + _ROOM) :])[-tail_chars:]
        head = head[: head.rfind("\n") + 1] or head
        start = tail.find("\n") + 1
        tail = tail[start:] if start < len(tail) // 2 else tail
        left_out = len(text) - len(head) - len(tail)
        return f"{head.rstrip()}\n\n[… {left_out:,} characters left out …]\n\n{tail.lstrip()}", left_out


def decode_arguments(arguments: str) -> Any:
    """The arguments of a call as JSON; the text itself where they are none."""
    try:
        value = decode_json(arguments)
        msgspec.json.encode(value)  # a number too large to be written again
    except (msgspec.DecodeError, RecursionError, OverflowError, UnicodeError):
        return arguments
    return value


_SUMMARY_TOKENS = 1_500
_ANCHOR = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_MAX_ANCHOR = 60


class Limits(Struct, frozen=True, kw_only=True):
    """How much of the outputs is exported, in characters.

    output: of one. all_outputs: of all together; once there, each gets only `later`.
    """

    output: int
    all_outputs: int
    later: int


def collect_export(
    state: SessionState, read_blob: Callable[[str], str], cleaner: ExportCleaner, limits: Limits, *, now: float
) -> ExportedSession:
    """The whole export. read_blob: as `BlobStore.read`; an output that cannot be read shows its preview."""
    messages = [cleaner.message(message) for message in state.messages]
    ids = [cleaner.text(message.id) for message in messages]
    anchors = _anchors(ids)
    outputs = _Outputs(read_blob, cleaner, limits)
    results = _results(messages)
    said = list(_export_session_said(messages, anchors, results, outputs, cleaner))
    times = [message.created for message in messages if message.created]
    models = dict.fromkeys(message.model for message in messages if isinstance(message, AssistantMessage))
    models |= dict.fromkeys(cleaner.text(bill.model) for bill in state.bills)
    title = cleaner.text(" ".join((state.name or find_first_words(messages) or "An empty session").split()))
    return ExportedSession(
        exported_at=now,
        id=cleaner.text(state.id),
        title=title,
        named=state.name is not None,
        project=cleaner.text(PurePath(state.working_directory).name),
        parent=cleaner.text(state.parent) if state.parent else None,
        created=state.created_at or min(times, default=0.0),
        last_active=max(times, default=state.created_at),
        models=tuple(model for model in models if model),
        totals=_totals(state, said),
        todos=tuple(map(cleaner.struct, state.todos)),
        bills=tuple(map(cleaner.struct, state.bills)),
        entries=tuple(_with_trims(said, state.trims, messages, anchors, cleaner)),
    )


class _Outputs:
    """Gives the outputs of calls, whole while there is room."""

    def __init__(self, read_blob: Callable[[str], str], cleaner: ExportCleaner, limits: Limits) -> None:
        self._read_blob = read_blob
        self._cleaner = cleaner
        self._limits = limits
        self._used = 0

    def of(self, message: ToolMessage) -> tuple[str, int]:
        """The output and how many characters of it are left out; the content of the message is already clean."""
        limit = self._limits.output if self._used < self._limits.all_outputs else self._limits.later
        whole = self._whole(message)
        if whole is None and len(message.content) <= limit:
            output, left_out = message.content, 0
        else:
            output, left_out = self._cleaner.bounded(message.content if whole is None else whole, limit)
        self._used += len(output)
        return output, left_out

    def _whole(self, message: ToolMessage) -> str | None:
        if message.blob is None:
            return None
        try:
            return self._read_blob(message.blob)
        except (BlobNotFound, OSError):
            return None


def _results(messages: Sequence[Message]) -> dict[tuple[int, str], ToolMessage]:
    """Each call's first result, by the place of the asking message and the call's id.

    Call ids repeat with servers that count from zero in every answer; the newest call so far is the one that is meant.
    """
    asked: dict[str, int] = {}
    found: dict[tuple[int, str], ToolMessage] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            asked |= {call.id: place for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.tool_call_id in asked:
            found.setdefault((asked[message.tool_call_id], message.tool_call_id), message)
    return found


def _export_session_said(
    messages: Sequence[Message],
    anchors: Sequence[str],
    results: dict[tuple[int, str], ToolMessage],
    outputs: _Outputs,
    cleaner: ExportCleaner,
) -> Iterator[ExportedMessage]:
    placed = {id(message) for message in results.values()}
    step = 0
    for place, message in enumerate(messages):
        common = ExportedMessage(
            anchor=anchors[place],
            id=cleaner.text(message.id),
            role="system",
            created=message.created,
            text=message.content,
        )
        if isinstance(message, UserMessage):
            step = 0 if message.origin == "user" else step
            pictures = [f"[picture {cleaner.text(part.name)}, {part.size:,} bytes]" for part in message.images]
            words = "\n".join([message.content, *pictures])
            yield structs.replace(common, role="user", text=words, context=message.context, origin=message.origin)
        elif isinstance(message, AssistantMessage):
            step += 1
            calls = tuple(
                ExportedCall(
                    id=cleaner.text(call.id),
                    name=call.name,
                    arguments=decode_arguments(call.arguments),
                    result=_result(results.get((place, call.id)), outputs, cleaner),
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
        elif id(message) not in placed:
            orphan = ExportedCall(
                id=cleaner.text(message.tool_call_id),
                name=message.name or "unknown",
                arguments={},
                result=_result(message, outputs, cleaner),
            )
            yield structs.replace(common, role="tool", text="", calls=(orphan,))


def _result(message: ToolMessage | None, outputs: _Outputs, cleaner: ExportCleaner) -> ExportedResult | None:
    if message is None:
        return None
    output, left_out = outputs.of(message)
    return ExportedResult(
        message_id=cleaner.text(message.id),
        created=message.created,
        ok=message.ok,
        summary=message.summary,
        seconds=message.seconds,
        output=output,
        left_out=left_out,
    )


def _anchors(ids: Sequence[str]) -> list[str]:
    """A link target for each message: its id where that can be one, always the same for the same session."""
    taken: set[str] = set()
    anchors: list[str] = []
    for number, id in enumerate(ids, 1):
        fits = 0 < len(id) <= _MAX_ANCHOR and _ANCHOR.issuperset(id)
        anchor = f"m-{id}" if fits else f"m-{number}"
        while anchor in taken:
            anchor += f"-{number}"
        taken.add(anchor)
        anchors.append(anchor)
    return anchors


def _with_trims(
    said: Sequence[ExportedMessage],
    trims: Sequence[Trim],
    messages: Sequence[Message],
    anchors: Sequence[str],
    cleaner: ExportCleaner,
) -> Iterator[Entry]:
    places = {message.id: place for place, message in reversed(list(enumerate(messages)))}
    waiting: dict[int, list[ExportedTrim]] = {}
    for number, trim in enumerate(trims, 1):
        place = _place_of(trim, places, messages)
        waiting.setdefault(place, []).append(_export_session_cut(trim, number, places, messages, anchors, cleaner))
    place_of = {anchor: place for place, anchor in enumerate(anchors)}
    due = sorted(waiting)
    for entry in said:
        while due and due[0] < place_of[entry.anchor]:
            yield from waiting[due.pop(0)]
        yield entry
    for place in due:
        yield from waiting[place]


def _place_of(trim: Trim, places: dict[str, int], messages: Sequence[Message]) -> int:
    """The last message there was when the window was trimmed; -1 for none."""
    least = max((places[id] for id in (*trim.dropped, *trim.shrunk) if id in places), default=-1)
    place = least
    for later in range(least + 1, len(messages)):
        if not trim.created or not 0 < messages[later].created <= trim.created:
            break
        place = later
    return place


def _export_session_cut(
    trim: Trim,
    number: int,
    places: dict[str, int],
    messages: Sequence[Message],
    anchors: Sequence[str],
    cleaner: ExportCleaner,
) -> ExportedTrim:
    dropped = sorted({places[id] for id in trim.dropped if id in places})
    summary = ""
    if dropped:
        text = render_summary(
            summarize_messages(messages[place] for place in dropped),
            budget_tokens=_SUMMARY_TOKENS,
            estimator=TokenEstimator(),
        )
        # Between the tags, below the sentence that tells a model what this is.
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


def _totals(state: SessionState, said: Sequence[ExportedMessage]) -> Totals:
    """Bills tell what a request cost; sessions without any may have the usage in their messages."""
    usage = Usage()
    for message in said:
        usage += message.usage or Usage()
    requests = sum(message.usage is not None for message in said)
    if state.bills:
        usage, requests = Usage(), len(state.bills)
        for bill in state.bills:
            usage += Usage(
                prompt_tokens=bill.prompt_tokens,
                completion_tokens=bill.completion_tokens,
                cached_tokens=bill.cached_tokens,
                cache_write_tokens=bill.cache_write_tokens,
            )
    results = [call.result for message in said for call in message.calls]
    return Totals(
        messages=len(state.messages),
        turns=sum(message.role == "user" and message.origin == "user" for message in said),
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
"""The form a file's name asks for."""

# People read the first lines of an output; a machine may want all of it.
_FOR_PEOPLE = Limits(output=200_000, all_outputs=30_000_000, later=4_000)
_FOR_MACHINES = Limits(output=20_000_000, all_outputs=400_000_000, later=200_000)


def export_session(
    store: SessionStore, session_id: str, form: Form, *, redact: Callable[[str], str], now: float
) -> str:
    """A session as one text, whole, running or not; no file of it is opened for writing.

    session_id: a full id, as `SessionStore.find` gives it. redact: takes the secrets out of a text. now: when this
    is, in seconds since the epoch; but for it the same session gives the same text.
    Raises SessionNotFound, NewerDocument, CorruptDocument (nothing is moved), OSError.
    """
    if not is_session_id(session_id):
        raise SessionNotFound(f"No session {session_id!r}; `/session list` shows all sessions.")
    files = SessionFiles(store.folder, session_id)
    loaded = load_session(files)
    blobs = BlobStore(files.blobs, writable=False, external=output_readers(loaded.outputs))
    cleaner = ExportCleaner(redact, spell_out=form != "json")
    export = collect_export(
        loaded.state, blobs.read, cleaner, _FOR_MACHINES if form == "json" else _FOR_PEOPLE, now=now
    )
    match form:
        case "html":
            return render_page(export)
        case "md":
            return render_as_markdown(export)
        case "json":
            text = msgspec.json.format(msgspec.json.encode(export), indent=2).decode("utf-8")
            return escape_unseen(text) + "\n"
        case _:
            assert_never(form)
