"""Commands about what the model is shown of the session, and about bringing back what left the window."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clio.agent.events import ContextTrimmed
from clio.algorithms.stored_time import format_stored_time
from clio.commands.command import Command, Shell, Suggestion
from clio.commands.follow_ups import LoadWindow
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Bar, BarPart, Table
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

if TYPE_CHECKING:
    from clio.context.window import ContextWindow
    from clio.context.window_report import NextTrim, PartUse, WindowUse
    from clio.sessions.session import Session
    from clio.sessions.state import Trim

PAGE_CHARS = 6_000
"""About three screens."""
_MAX_SUGGESTED = 20
_WHO_SAYS = {
    "config": "as configured",
    "server": "the server says so",
    "profile": "known of this model",
    "default": "a guess",
    "named": "the server refused more",
    "refused": "a guess from what the server refused",
}


def show(shell: Shell, argument: str) -> CommandResult:
    """What fills the window, and how well that is known."""
    if argument:
        return refuse(f"/context does not know {argument!r}; see /help context")
    window = shell.context
    if window is None:
        return CommandResult(follow_up=LoadWindow(then="/context"))
    use = window.usage()
    share = 100 * (use.window - use.free - use.reserve) / use.window
    says = _WHO_SAYS.get(window.limits.source, window.limits.source)
    title = f"{shell.provider.model}: window {use.window:,} tokens ({says}), {share:.0f} % used"
    facts = _facts(shell.session, window, use)
    facts = replace(facts, rows=(*facts.rows, *_labelled("tools of MCP", _server_tools(shell))))
    return CommandResult(bar=Bar(title=title, parts=_parts(use)), table=facts)


def expand(shell: Shell, argument: str) -> CommandResult:
    """The messages of one trim as they were, a page at a time."""
    handle, _, number = argument.partition(" ")
    trim = _find(shell.session, handle)
    if trim is None:
        return refuse(_no_trim(shell.session, handle, "/context expand"))
    if not trim.dropped:
        return CommandResult(text=f"{trim.handle} moved no messages; it shortened {_outputs(trim.shortened)}.")
    text = "\n\n".join(_dropped(shell.session, trim))
    pages = _pages(text)
    page = int(number) if number.strip().isascii() and number.strip().isdigit() else 0 if number.strip() else 1
    if not 1 <= page <= len(pages):
        return refuse(f"{trim.handle} has {_count(len(pages), 'page')}, not {number.strip()!r}")
    head = f"{trim.handle}: {_count(len(trim.dropped), 'message')}, page {page} of {len(pages)}"
    more = f"\n\n/context expand {trim.handle} {page + 1} goes on" if page < len(pages) else ""
    return CommandResult(verbatim=f"{head}\n\n{pages[page - 1]}{more}")


def restore(shell: Shell, argument: str) -> CommandResult:
    """Put the messages of one trim back into the window, until the next one."""
    if _find(shell.session, argument) is None:
        return refuse(_no_trim(shell.session, argument, "/context restore"))
    if shell.context is None:
        return CommandResult(follow_up=LoadWindow(then=f"/context restore {argument}"))
    trim = shell.context.expand(argument)
    return CommandResult(
        text=f"The model sees the {_count(len(trim.dropped), 'message')} of {trim.handle} again, until the next trim."
    )


def undo(shell: Shell, argument: str) -> CommandResult:
    """Reverse the last trim."""
    if argument:
        return refuse("/context undo takes nothing; it reverses the last trim, then the one before it")
    if shell.context is None:
        return CommandResult(follow_up=LoadWindow(then="/context undo"))
    trim = shell.context.undo()
    done = [f"{_count(len(trim.dropped), 'message')} are in the window again"] if trim.dropped else []
    done += [f"{_outputs(trim.shortened)} are shown whole"] if trim.shrunk else []
    return CommandResult(text=f"{trim.handle} is undone: {' and '.join(done) or 'nothing else changed'}.")


def trim_now(shell: Shell, argument: str) -> CommandResult:
    """Make the window smaller at once."""
    if argument:
        return refuse("/session trim takes nothing; it brings the conversation down to half of its room")
    if shell.context is None:
        return CommandResult(follow_up=LoadWindow(then="/session trim"))
    trimmed = shell.context.trim_now()
    if trimmed is None:
        return CommandResult(text="There is nothing to trim: what is being worked on always stays.")
    event = ContextTrimmed(
        handle=trimmed.handle,
        messages=trimmed.messages,
        shrunk=trimmed.shrunk,
        freed_tokens=trimmed.freed_tokens,
        stage=trimmed.stage,
    )
    line = event.line
    return CommandResult(text=f"{line[0].upper()}{line[1:]}. `/context undo` reverses it.")


def suggest_trims(shell: Shell) -> Iterable[Suggestion]:
    """The handles of the trims, newest first."""
    for trim in shell.session.trims[: -_MAX_SUGGESTED - 1 : -1]:
        yield Suggestion(text=trim.handle, note=_about(trim))


def _parts(use: "WindowUse") -> tuple[BarPart, ...]:
    amounts = (
        ("system prompt", use.system, "█"),
        ("instructions, memory", use.memory, "▓"),
        ("tools", use.tools, "▒"),
        ("thread summary", use.summary, "≡"),
        ("history", use.history, "■"),
        ("kept for the answer", use.reserve, "░"),
        ("free", use.free, "·"),
    )
    return tuple(BarPart(name=name, amount=amount, mark=mark) for name, amount, mark in amounts)


def _facts(session: "Session", window: "ContextWindow", use: "WindowUse") -> Table:
    talk = use.summary + use.history
    rows = [
        ("last request", _last_request(window)),
        ("conversation", f"{talk:,} of {talk + use.free:,} tokens; trimmed above {use.trim_above:,}"),
        ("next trim", _next_trim(window.next_trim())),
        ("trims", _trims(session)),
        *_labelled("in the prompt", [_prompt_part(part, str(session.working_directory)) for part in use.parts]),
        *_labelled("not in it", use.problems),
    ]
    return Table(columns=("", ""), rows=tuple(rows), wide=1)


def _server_tools(shell: Shell) -> list[str]:
    """What each MCP server's tools take of the window."""
    count: dict[str, list[int]] = {}
    for named in shell.servers.offered:
        count.setdefault(named.server, []).append(named.tokens)
    return [f"{server}: {_count(len(sizes), 'tool')}, about {sum(sizes):,} tokens" for server, sizes in count.items()]


def _labelled(label: str, values: Sequence[str]) -> list[tuple[str, str]]:
    """Rows of a table, of which only the first says what they are."""
    return [("" if place else label, value) for place, value in enumerate(values)]


def _prompt_part(part: "PartUse", project: str) -> str:
    source = part.source.removeprefix(f"{project}/")
    return f"{source}: {part.reason}, {part.tokens:,} tokens" + (", cut to that" if part.cut else "")


def _next_trim(trim: "NextTrim") -> str:
    when = f"in about {trim.left:,} tokens" if trim.left else "with the next request"
    first = "the first message" if trim.messages == 1 else f"the first {trim.messages:,} messages"
    leaving = f"{first}, {trim.tokens:,} tokens, {'leaves' if trim.messages == 1 else 'leave'}"
    what = [leaving] if trim.messages else []
    what += [f"{_outputs(trim.shortened)} shown shorter"] if trim.shortened else []
    return f"at {trim.at_share:.0%} of the room, {when}: ".replace("%", " %") + (", ".join(what) or "nothing leaves")


def _last_request(window: "ContextWindow") -> str:
    last = window.last_billed
    if last is None:
        return "none was billed yet, so all numbers are estimates"
    off = abs(last.error) * 100
    how = "exact" if off < 0.05 else f"{off:.1f} % too {'high' if last.error > 0 else 'low'}"
    return f"estimated {last.estimated:,} tokens, billed {last.billed:,}: {how}"


def _trims(session: "Session") -> str:
    if not session.trims:
        return "none so far"
    last = session.trims[-1]
    return f"{len(session.trims):,} so far; {last.handle} is the newest: {_about(last)}"


def _about(trim: "Trim") -> str:
    moved = _count(len(trim.dropped), "message") if trim.dropped else _outputs(trim.shortened) + " shortened"
    return f"{moved}, {trim.freed_tokens:,} tokens freed"


def _outputs(count: int) -> str:
    return _count(count, "tool output")


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _find(session: "Session", handle: str) -> "Trim | None":
    wanted = handle.strip().lower()
    return next((trim for trim in session.trims if trim.handle == wanted), None)


def _no_trim(session: "Session", handle: str, command: str) -> str:
    if not session.trims:
        return "Nothing has been trimmed in this session, so all of it is in the window."
    known = ", ".join(trim.handle for trim in session.trims[-10:])
    if not handle:
        return f"Which trim? Write {command} with one of {known}"
    return f"There is no trim {handle!r}; the newest are {known}"


def _dropped(session: "Session", trim: "Trim") -> Iterable[str]:
    """The messages as a person reads them, each with its place in the session."""
    dropped = set(trim.dropped)
    for place, message in enumerate(session.messages, 1):
        if message.id in dropped:
            when = format_stored_time(", %Y-%m-%d %H:%M", message.created, "") if message.created else ""
            yield f"── {place} {_who(message)}{when}\n{_said(message)}".rstrip()


def _who(message: Message) -> str:
    match message:
        case UserMessage(origin=origin):
            return "you" if origin == "user" else "clio"
        case AssistantMessage():
            return "assistant"
        case ToolMessage():
            return f"result of {message.name or 'a tool'}"
        case SystemMessage():
            return "system"


def _said(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        calls = [f"called {call.name} {call.arguments}" for call in message.tool_calls]
        return "\n".join(part for part in (message.content, *calls) if part)
    return message.content


def _pages(text: str) -> Sequence[str]:
    """The text cut at line ends, and inside lines that are longer than a page."""
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
        summary="what fills the model's window",
        handler=show,
        subcommands=(
            Command(
                name="expand",
                argument="TRIM [PAGE]",
                summary="read the messages a trim moved out of the window",
                handler=expand,
                suggest=suggest_trims,
            ),
            Command(
                name="restore",
                argument="TRIM",
                summary="put them back into the window, until the next trim",
                handler=restore,
                suggest=suggest_trims,
            ),
            Command(name="undo", summary="reverse the last trim", handler=undo),
        ),
    ),
)
