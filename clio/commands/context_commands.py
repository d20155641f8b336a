"""/context and /last: the content of the context window, and the full results of the last turn."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clio.agent.user_interface import ContextTrimmed
from clio.commands.command import (
    Bar,
    BarPart,
    Command,
    CommandContext,
    CommandResult,
    LoadWindow,
    Suggestion,
    Table,
    make_refusal,
    quote_code,
)
from clio.errors import ClioError
from clio.export.document import format_named_call
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.sessions.session_files import BlobNotFound
from clio.storage.locks import error_cause
from clio.text.formatting import format_stored_time, use_minus_signs
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    from clio.context.window import ContextWindow
    from clio.context.window_report import NextTrim, PromptPartUsage, WindowUsage
    from clio.sessions.state import Trim


_THINKING = "thinking"


class DoneCall(Struct, frozen=True):
    """A finished call of the last turn. number: from 1."""

    number: int
    title: str
    result: ToolMessage

    @property
    def line(self) -> str:
        """How the call ended, in short."""
        state = use_minus_signs(self.result.summary) or (tr("done") if self.result.ok else tr("failed"))
        if self.result.seconds < 0.1 or state.endswith(" s"):  # the summary of a command already contains its duration
            return state
        return f"{state}, {self.result.seconds:.1f} s"


def show_last(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the full output of one call, the reasoning, or the list of calls."""
    calls = list_last_calls(ctx.session.messages)
    word = argument.strip().lower()
    if word == _THINKING:
        return _show_thinking(ctx.session.messages)
    if not calls:
        return CommandResult(text=tr("The last turn made no calls."), data=[])
    if word == "list":
        rows = tuple((str(call.number), call.title, call.line) for call in calls)
        return CommandResult(
            table=Table(columns=("#", tr("call"), tr("result")), rows=rows, wide_column=1), data=_make_rows_data(calls)
        )
    if word and not (word.isdecimal() and 1 <= int(word) <= len(calls)):
        return make_refusal(
            tr(
                "/last takes a number from 1 to {count}, list or {thinking}, not {argument!r}",
                count=len(calls),
                thinking=_THINKING,
                argument=argument,
            )
        )
    call = calls[int(word) - 1] if word else calls[-1]
    output = read_whole_output(ctx.session, call)
    more = tr(" `/last N` shows another, 1 to {count}.", count=len(calls)) if len(calls) > 1 else ""
    return CommandResult(
        text=tr(
            "Call {number} of {count}: {title} … {line}.{more}",
            number=call.number,
            count=len(calls),
            title=quote_code(call.title),
            line=quote_code(call.line),
            more=more,
        ),
        verbatim=output or tr("(no output)"),
        data=_make_rows_data([call])[0] | {"of": len(calls), "output": output},
    )


def list_last_calls(messages: Sequence[Message]) -> list[DoneCall]:
    """Return the finished calls of the last turn, in the order of their results."""
    turn = _find_last_turn(messages)
    asked = {call.id: call for message in turn if isinstance(message, AssistantMessage) for call in message.tool_calls}
    results = [message for message in turn if isinstance(message, ToolMessage)]
    titles = {call_id: format_named_call(call) for call_id, call in asked.items()}
    return [DoneCall(number, titles.get(one.tool_call_id, one.name), one) for number, one in enumerate(results, 1)]


def read_whole_output(session: Session, call: DoneCall) -> str:
    """Return the stored output of a call. Raises ClioError if it no longer exists."""
    if call.result.blob is None:
        return call.result.content
    try:
        return session.read_blob(call.result.blob)
    except (BlobNotFound, OSError) as error:
        raise ClioError(
            tr(
                "the whole output of {title} cannot be read: {error_cause}; /session export has what the "
                "model saw of it",
                title=call.title,
                error_cause=error_cause(error),
            )
        ) from error


def _find_last_turn(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages from the user's last one on."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, UserMessage) and message.origin == "user":
            return messages[index:]
    return messages


def _show_thinking(messages: Sequence[Message]) -> CommandResult:
    thoughts = [message.reasoning for message in _find_last_turn(messages) if isinstance(message, AssistantMessage)]
    text = "\n\n".join(thought.strip() for thought in thoughts if thought.strip())
    if not text:
        return CommandResult(text=tr("The model showed no thinking in the last turn."), data="")
    return CommandResult(verbatim=text, data=text)


def _make_rows_data(calls: Iterable[DoneCall]) -> list[dict[str, object]]:
    return [
        {
            "call": one.number,
            "tool": one.result.name,
            "title": one.title,
            "ok": one.result.ok,
            "summary": one.result.summary,
            "seconds": one.result.seconds,
        }
        for one in calls
    ]


def _suggest(ctx: CommandContext) -> Iterable[Suggestion]:
    for call in list_last_calls(ctx.session.messages):
        yield Suggestion(text=str(call.number), note=f"{call.title} … {call.line}")
    yield Suggestion(text="list", note=tr("the calls of the last turn"))
    yield Suggestion(text=_THINKING, note=tr("the model's thinking"))


LAST = (
    Command(
        name="last",
        argument="[N | list | thinking]",
        summary=mark("full output of a call of the last turn, or the model's thinking"),
        handler=show_last,
        suggest=_suggest,
    ),
)


PAGE_CHARS = 6_000
"""About three screens."""
_MAX_SUGGESTED = 20
_WINDOW_SOURCES = {
    "config": mark("as configured"),
    "server": mark("from server"),
    "profile": mark("known for this model"),
    "default": mark("assumed"),
    "named": mark("from the server's error message"),
    "refused": mark("estimated from a refused request"),
}


def show_context(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what fills the window, and how reliable the numbers are."""
    if argument:
        return make_refusal(tr("/context: unknown argument {argument!r}; see /help context", argument=argument))
    window = ctx.window
    if window is None:
        return CommandResult(follow_up=LoadWindow(then="/context"))
    use = window.measure_usage()
    share = 100 * (use.window - use.free - use.reserve) / use.window
    source = tr(_WINDOW_SOURCES.get(window.limits.source, window.limits.source))
    title = tr(
        "{model}: window {window:,} tokens ({source}), {share:.0f} % used",
        model=ctx.provider.model,
        window=use.window,
        source=source,
        share=share,
    )
    facts = _make_fact_table(ctx.session, window, use)
    facts = replace(facts, rows=(*facts.rows, *_make_labelled_rows(tr("MCP tools"), _list_server_tools(ctx))))
    return CommandResult(bar=Bar(title=title, parts=_list_bar_parts(use)), table=facts)


def expand_trim(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the original messages of one trim, a page at a time."""
    handle, _, number = argument.partition(" ")
    trim = _find_trim(ctx.session, handle)
    if trim is None:
        return make_refusal(_explain_unknown_trim(ctx.session, handle, "/context expand"))
    if not trim.dropped:
        return CommandResult(
            text=tr(
                "{handle} moved no messages; it shortened {outputs}.",
                handle=trim.handle,
                outputs=_count_outputs(trim.shortened_count),
            )
        )
    text = "\n\n".join(_render_dropped(ctx.session, trim))
    pages = _split_pages(text)
    page = int(number) if number.strip().isascii() and number.strip().isdigit() else 0 if number.strip() else 1
    if not 1 <= page <= len(pages):
        return make_refusal(
            tr(
                "{handle} has {pages}, not {number!r}",
                handle=trim.handle,
                pages=tr_count(len(pages), "page"),
                number=number.strip(),
            )
        )
    head = tr(
        "{handle}: {messages}, page {page} of {count}",
        handle=trim.handle,
        messages=tr_count(len(trim.dropped), "message"),
        page=page,
        count=len(pages),
    )
    more = f"\n\n/context expand {trim.handle} {page + 1} continues" if page < len(pages) else ""
    return CommandResult(verbatim=f"{head}\n\n{pages[page - 1]}{more}")


def restore_trim(ctx: CommandContext, argument: str) -> CommandResult:
    """Restore the messages of one trim to the window, until the next trim."""
    if _find_trim(ctx.session, argument) is None:
        return make_refusal(_explain_unknown_trim(ctx.session, argument, "/context restore"))
    if ctx.window is None:
        return CommandResult(follow_up=LoadWindow(then=f"/context restore {argument}"))
    trim = ctx.window.expand_trim(argument)
    return CommandResult(
        text=tr(
            "The model sees the {messages} of {handle} again, until the next trim.",
            messages=tr_count(len(trim.dropped), "message"),
            handle=trim.handle,
        )
    )


def undo_trim(ctx: CommandContext, argument: str) -> CommandResult:
    """Undo the last trim."""
    if argument:
        return make_refusal(tr("/context undo takes no argument; it reverses the last trim, then the one before it"))
    if ctx.window is None:
        return CommandResult(follow_up=LoadWindow(then="/context undo"))
    trim = ctx.window.undo_trim()
    done = (
        [tr("{messages} are in the window again", messages=tr_count(len(trim.dropped), "message"))]
        if trim.dropped
        else []
    )
    done += [tr("{outputs} are shown in full", outputs=_count_outputs(trim.shortened_count))] if trim.shrunk else []
    return CommandResult(
        text=tr(
            "{handle} is undone: {done}.", handle=trim.handle, done=" and ".join(done) or tr("nothing else changed")
        )
    )


def trim_now(ctx: CommandContext, argument: str) -> CommandResult:
    """Trim the window now."""
    if argument:
        return make_refusal(
            tr("/session trim takes no argument; it trims the conversation to half of the space it may use")
        )
    if ctx.window is None:
        return CommandResult(follow_up=LoadWindow(then="/session trim"))
    trimmed = ctx.window.trim_now()
    if trimmed is None:
        return CommandResult(text=tr("Nothing to trim: the current task always stays in the window."))
    event = ContextTrimmed(
        handle=trimmed.handle,
        messages=trimmed.messages,
        shrunk=trimmed.shrunk,
        freed_tokens=trimmed.freed_tokens,
        stage=trimmed.stage,
    )
    line = event.description
    return CommandResult(text=tr("{line}{line2}. `/context undo` reverses it.", line=line[0].upper(), line2=line[1:]))


def suggest_trims(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the handles of the trims, newest first."""
    for trim in ctx.session.trims[: -_MAX_SUGGESTED - 1 : -1]:
        yield Suggestion(text=trim.handle, note=_describe_trim(trim))


def _list_bar_parts(use: "WindowUsage") -> tuple[BarPart, ...]:
    amounts = (
        (tr("system prompt"), use.system, "█"),
        (tr("instructions, memory"), use.memory, "▓"),
        (tr("tools"), use.tools, "▒"),
        (tr("thread summary"), use.summary, "≡"),
        (tr("history"), use.history, "■"),
        (tr("reserved for output"), use.reserve, "░"),
        (tr("free"), use.free, "·"),
    )
    return tuple(BarPart(name=name, amount=amount, mark=mark) for name, amount, mark in amounts)


def _make_fact_table(session: "Session", window: "ContextWindow", use: "WindowUsage") -> Table:
    used = use.summary + use.history
    rows = [
        (tr("last request"), _describe_last_request(window)),
        (
            tr("conversation"),
            tr(
                "{used:,} of {used2:,} tokens; compacts automatically at {trim_above:,}",
                used=used,
                used2=used + use.free,
                trim_above=use.trim_above,
            ),
        ),
        (tr("next trim"), _describe_next_trim(window.foresee_next_trim())),
        (tr("trims"), _describe_trims(session)),
        *_make_labelled_rows(
            tr("in the prompt"), [_describe_prompt_part(part, str(session.working_directory)) for part in use.parts]
        ),
        *_make_labelled_rows(tr("left out"), use.problems),
    ]
    return Table(columns=("", ""), rows=tuple(rows), wide_column=1)


def _list_server_tools(ctx: CommandContext) -> list[str]:
    """Return how much of the window the tools of each MCP server take."""
    count: dict[str, list[int]] = {}
    for named in ctx.servers.offered:
        count.setdefault(named.server, []).append(named.tokens)
    return [
        tr(
            "{server}: {tools}, about {sizes:,} tokens",
            server=server,
            tools=tr_count(len(sizes), "tool"),
            sizes=sum(sizes),
        )
        for server, sizes in count.items()
    ]


def _make_labelled_rows(label: str, values: Sequence[str]) -> list[tuple[str, str]]:
    """Return rows of a table with the label in the first one only."""
    return [("" if place else label, value) for place, value in enumerate(values)]


def _describe_prompt_part(part: "PromptPartUsage", project: str) -> str:
    source = part.source.removeprefix(f"{project}/")
    return tr("{source}: {reason}, {tokens:,} tokens", source=source, reason=part.reason, tokens=part.tokens) + (
        ", truncated" if part.cut else ""
    )


def _describe_next_trim(trim: "NextTrim") -> str:
    when = tr("in about {left:,} tokens", left=trim.left) if trim.left else tr("with the next request")
    first = (
        tr("the first message") if trim.messages == 1 else tr("the first {messages:,} messages", messages=trim.messages)
    )
    leaving = tr("{first}, {tokens:,} tokens, will be summarized", first=first, tokens=trim.tokens)
    what = [leaving] if trim.messages else []
    what += [tr("{outputs} will be shortened", outputs=_count_outputs(trim.shortened))] if trim.shortened else []
    return tr("at {share} % of the available space, {when}: ", share=round(100 * trim.at_share), when=when) + (
        ", ".join(what) or tr("nothing to summarize")
    )


def _describe_last_request(window: "ContextWindow") -> str:
    last = window.last_billed
    if last is None:
        return tr("no usage was reported yet, so all numbers are estimates")
    off = abs(last.error) * 100
    how = (
        tr("exact")
        if off < 0.05
        else tr("{off:.1f} % too {high_or_low}", off=off, high_or_low=tr("high") if last.error > 0 else tr("low"))
    )
    return tr(
        "estimated {estimated:,} tokens, billed {billed:,}: {how}",
        estimated=last.estimated,
        billed=last.billed,
        how=how,
    )


def _describe_trims(session: "Session") -> str:
    if not session.trims:
        return tr("none so far")
    last = session.trims[-1]
    return tr(
        "{count:,} so far; {handle} is the newest: {trim}",
        count=len(session.trims),
        handle=last.handle,
        trim=_describe_trim(last),
    )


def _describe_trim(trim: "Trim") -> str:
    moved = (
        tr_count(len(trim.dropped), "message") if trim.dropped else _count_outputs(trim.shortened_count) + " shortened"
    )
    return tr("{moved}, {freed_tokens:,} tokens freed", moved=moved, freed_tokens=trim.freed_tokens)


def _count_outputs(count: int) -> str:
    return tr_count(count, "tool output")


def _find_trim(session: "Session", handle: str) -> "Trim | None":
    handle_text = handle.strip().lower()
    return next((trim for trim in session.trims if trim.handle == handle_text), None)


def _explain_unknown_trim(session: "Session", handle: str, command: str) -> str:
    if not session.trims:
        return tr("Nothing has been trimmed in this session, so all of it is in the window.")
    known = ", ".join(trim.handle for trim in session.trims[-10:])
    if not handle:
        return tr("Which trim? Write {command} with one of {known}", command=command, known=known)
    return tr("There is no trim {handle!r}; the newest are {known}", handle=handle, known=known)


def _render_dropped(session: "Session", trim: "Trim") -> Iterable[str]:
    """Yield the messages as text, each with its number in the session."""
    dropped = set(trim.dropped)
    for place, message in enumerate(session.messages, 1):
        if message.id in dropped:
            when = format_stored_time(", %Y-%m-%d %H:%M", message.created, "") if message.created else ""
            yield f"── {place} {_name_author(message)}{when}\n{_render_message(message)}".rstrip()


def _name_author(message: Message) -> str:
    match message:
        case UserMessage(origin=origin):
            return tr("you") if origin == "user" else "clio"
        case AssistantMessage():
            return tr("assistant")
        case ToolMessage():
            return tr("result of {tool}", tool=message.name or tr("a tool"))
        case SystemMessage():
            return tr("system")


def _render_message(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        calls = [
            tr("called {call} {arguments}", call=call.name, arguments=call.arguments) for call in message.tool_calls
        ]
        return "\n".join(part for part in (message.content, *calls) if part)
    return message.content


def _split_pages(text: str) -> Sequence[str]:
    """Split the text at line ends, and inside lines longer than a page."""
    pages: list[list[str]] = [[]]
    room = PAGE_CHARS
    for line in text.split("\n"):
        for start in range(0, max(len(line), 1), PAGE_CHARS):
            piece = line[start : start + PAGE_CHARS]
            if pages[-1] and len(piece) + 1 > room:
                pages.append([])
                room = PAGE_CHARS
            pages[-1].append(piece)
            room -= len(piece) + 1
    return ["\n".join(page) for page in pages]


CONTEXT = (
    Command(
        name="context",
        summary=mark("how full the model's context window is, and with what"),
        handler=show_context,
        subcommands=(
            Command(
                name="expand",
                argument="TRIM [PAGE]",
                summary=mark("read the messages a trim moved out of the window"),
                handler=expand_trim,
                suggest=suggest_trims,
            ),
            Command(
                name="restore",
                argument="TRIM",
                summary=mark("put them back into the window, until the next trim"),
                handler=restore_trim,
                suggest=suggest_trims,
            ),
            Command(name="undo", summary=mark("reverse the last trim"), handler=undo_trim),
        ),
    ),
)
