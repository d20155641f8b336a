"""Builds each request: first what never changes in a session, then the conversation, the newest text last."""

import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from clio.context.inert_text import closes_nothing, one_line
from clio.context.workspace_state import describe_day, describe_tree, working_tree
from clio.messages import Fragment, Message, ToolMessage, UserMessage
from clio.prompt_files import fill_prompt
from clio.providers.base import ChatRequest, ModelLimits, ToolSpec
from clio.text.hidden_text import reveal_hidden_text
from clio.tokens import TokenEstimator, text_units

_MARKS = str.maketrans('"<>', "'‹›")  # a file may be called anything
_CUT = "\n[… cut here: the rest is in the source]"


def render_fragment(fragment: Fragment, estimator: TokenEstimator) -> str:
    """The fragment between its tags; empty for an empty text."""
    text = reveal_hidden_text(fragment.text).strip()
    if not text:
        return ""
    text = text if fragment.whole else cut_to_tokens(text, fragment.cap_tokens, estimator)
    source = one_line(fragment.source).translate(_MARKS)
    return f'<{fragment.name} source="{source}">\n{closes_nothing(text, fragment.name)}\n</{fragment.name}>'


def is_cut(rendered: str) -> bool:
    """Whether a rendered fragment's source holds more than it shows."""
    return _CUT in rendered


def cut_to_tokens(text: str, cap_tokens: int, estimator: TokenEstimator) -> str:
    """The text, or as much of its beginning as fits with a notice, ending at a line where there is one."""
    tokens = estimator.estimate_text(text)
    if tokens <= cap_tokens:
        return text
    keep = int(len(text) * cap_tokens / tokens)
    head = text[:keep]
    return head[: head.rfind("\n")] + _CUT if "\n" in head else head + _CUT


COMPACT_WINDOW = 16_384
Stage = Literal["proactive", "validation", "reactive", "manual"]
"""Why the window was made smaller: it was filling up, one message was too large, a server refused, a person asked."""
_SPEC_UNITS = 40.0  # the braces and keys around one tool's schema


class Built(Struct, frozen=True, kw_only=True):
    """A request ready to send.

    units: its weight (see clio.tokens); conversation: the part of it that is summary and history.
    prompt_tokens: the weight as estimated tokens.
    trimmed: what was moved out of the window to build it, if anything was.
    """

    request: ChatRequest
    units: float
    conversation: float
    prompt_tokens: int
    trimmed: "Trimmed | None" = None


class Trimmed(Struct, frozen=True, kw_only=True):
    """One trim, for the person: `messages` were moved to the archive, `shrunk` are shown shorter."""

    handle: str
    stage: Stage
    messages: int
    shrunk: int
    freed_tokens: int


class PrefixPart(Struct, frozen=True, kw_only=True):
    """One piece of the prompt that came from somewhere. units: its weight. cut: its source holds more."""

    name: str
    source: str
    reason: str
    units: float
    cut: bool = False


class Prefix(Struct, frozen=True, kw_only=True):
    """What stands before the conversation in every request of a session, and never changes.

    parts: the pieces of `system` that are instructions and knowledge. problems: what was left out of them, and why.
    compact: whether it is the short prompt with the small set of tools.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    parts: tuple[PrefixPart, ...] = ()
    problems: tuple[str, ...] = ()
    compact: bool = False

    @property
    def memory(self) -> float:
        """Weight of instructions and knowledge."""
        return sum(part.units for part in self.parts)

    @property
    def system_units(self) -> float:
        """Weight of the system prompt."""
        return text_units(self.system)

    @property
    def tools_units(self) -> float:
        """Weight of the tools' schemas."""
        return sum(_spec_units(spec) for spec in self.tools)


def is_compact(limits: ModelLimits) -> bool:
    """Whether the window asks for the short prompt and the small set of tools."""
    return limits.context_window <= COMPACT_WINDOW


def make_prefix(
    workspace: Path,
    fragments: Sequence[Fragment],
    tools: Sequence[ToolSpec],
    estimator: TokenEstimator,
    *,
    compact: bool,
    cap_tokens: int | None = None,
    problems: Sequence[str] = (),
    head: str = "",
) -> Prefix:
    """System prompt and tools of a session: no date and nothing else that changes, so that prompt caches hold.

    cap_tokens: the most each fragment may take, where that is less than its own cap.
    head: the name of the prompt to begin with, where it is not clio's own.
    """
    name = head or ("system/compact" if compact else "system/main")
    head = fill_prompt(name, workspace=str(workspace), platform=f"{platform.system()} {platform.machine()}")
    if cap_tokens is not None:
        fragments = [structs.replace(part, cap_tokens=min(part.cap_tokens, cap_tokens)) for part in fragments]
    rendered = [(part, text) for part in fragments if (text := render_fragment(part, estimator))]
    return Prefix(
        system="\n\n".join([head, *(text for _, text in rendered)]),
        tools=tuple(tools),
        parts=tuple(
            PrefixPart(name=part.name, source=part.source, reason=part.reason, units=text_units(text), cut=is_cut(text))
            for part, text in rendered
        ),
        problems=tuple(problems),
        compact=compact,
    )


async def _nothing(text: str) -> Sequence[Fragment]:
    return ()


async def _names_nothing(text: str, of: int) -> Sequence[Fragment]:
    return ()


def _no_image(handle: str) -> bytes | None:
    return None


def _no_approvals() -> str:
    return ""


class ContextBuilder:
    """Puts requests together for one model.

    prefixes: makers of what stands first, the one to begin with first and smaller ones after it, for windows that
        turn out to be smaller than they were said to be. There is at least one.
    turn_fragments: what memory adds to a turn that begins with these words.
    named_fragments: what these words name, which are one of so many messages said into a running turn.
    read_image: the bytes of a stored picture by its handle; None where it is gone.
    approvals: one sentence about who approves the actions of this turn; "" says nothing.
    """

    def __init__(
        self,
        *,
        project: Path,
        prefixes: Sequence[Callable[[], Prefix]],
        estimator: TokenEstimator,
        turn_fragments: Callable[[str], Awaitable[Sequence[Fragment]]] = _nothing,
        named_fragments: Callable[[str, int], Awaitable[Sequence[Fragment]]] = _names_nothing,
        read_image: Callable[[str], bytes | None] = _no_image,
        approvals: Callable[[], str] = _no_approvals,
    ) -> None:
        self._tree = working_tree(project)
        self._turn_fragments = turn_fragments
        self._named_fragments = named_fragments
        self._read_image = read_image
        self._approvals = approvals
        self._told_commits: tuple[str, ...] = ()
        self._images: dict[str, bytes] = {}
        self._smaller = list(prefixes)
        self.estimator = estimator
        self.prefix = self._smaller.pop(0)()
        self.fixed_units = self.prefix.system_units + self.prefix.tools_units

    def use_smaller(self) -> bool:
        """Go on with the next smaller prefix; False where there is none, or it saves nothing."""
        while self._smaller:
            prefix = self._smaller.pop(0)()
            units = prefix.system_units + prefix.tools_units
            if units < self.fixed_units:
                self.prefix, self.fixed_units = prefix, units
                return True
        return False

    async def turn_context(self, now: float, text: str) -> str:
        """What is put before the user's text of this turn: the state of the project, and what memory knows."""
        lines = [describe_day(now)]
        if approvals := self._approvals():
            lines.append(f"approvals: {approvals}")
        if tree := await self._tree.read():
            # The last commits of the turn before are in the conversation already, or in `git log`.
            lines += describe_tree(tree, with_commits=tree.commits != self._told_commits)
            self._told_commits = tree.commits
        fragments = await self._turn_fragments(text)
        return _context([*lines, *self._rendered(fragments)])

    async def steering_context(self, text: str, of: int) -> str:
        """What is put before words said into a running turn, `text`, one of so many; "" where they name nothing."""
        parts = self._rendered(await self._named_fragments(text, of))
        return _context(parts) if parts else ""

    def _rendered(self, fragments: Sequence[Fragment]) -> list[str]:
        return [text for part in fragments if (text := render_fragment(part, self.estimator))]

    def assemble(self, messages: Sequence[Message], conversation: float, trimmed: Trimmed | None = None) -> Built:
        """The request of these messages, whose weight is `conversation`."""
        units = self.fixed_units + conversation
        return Built(
            request=ChatRequest(
                system=self.prefix.system,
                messages=tuple(messages),
                tools=self.prefix.tools,
                images=self._images_of(messages),
            ),
            units=units,
            conversation=conversation,
            prompt_tokens=self.estimator.estimate_request(units),
            trimmed=trimmed,
        )

    def _images_of(self, messages: Sequence[Message]) -> Mapping[str, bytes]:
        """The pictures of these messages, each read once for as long as requests hold it."""
        wanted = {
            part.blob
            for message in messages
            if isinstance(message, UserMessage | ToolMessage)
            for part in message.images
        }
        self._images = {handle: data for handle, data in self._images.items() if handle in wanted}
        for handle in wanted - self._images.keys():
            data = self._read_image(handle)
            if data is not None:
                self._images[handle] = data
        return self._images


def _context(parts: Sequence[str]) -> str:
    inner = closes_nothing("\n".join(parts), "context")
    return f"<context>\n{inner}\n</context>"


def _spec_units(spec: ToolSpec) -> float:
    return _SPEC_UNITS + len(spec.name) + text_units(spec.description) + len(bytes(spec.parameters))


_HEAD_SHARE = 0.6
_NOTICE_TOKENS = 80


class Words(Struct, frozen=True, kw_only=True):
    """What is sent of a message. blob: the handle of all of it, where that is more."""

    text: str
    blob: str | None = None


def fit_words(text: str, window_tokens: int, ratio: float, keep: Callable[[str], str]) -> Words:
    """The words; of more than half a window a quarter, with a notice between head and tail that says how to read all.

    ratio: units a token, see `clio.tokens`. keep: stores a text and returns its handle.
    """
    tokens = text_units(text) / ratio
    if tokens <= window_tokens // 2:
        return Words(text=text)
    blob = keep(text)
    room = max(window_tokens // 4 - _NOTICE_TOKENS, 1)
    chars = max(int(len(text) * room / tokens), 2)
    head, tail = int(chars * _HEAD_SHARE), chars - int(chars * _HEAD_SHARE)
    first, last = _to_line_end(text[:head]), _from_line_start(text[-tail:])
    gone = len(text) - len(first) - len(last)
    notice = (
        f"[… {gone:,} of {len(text):,} characters of this message left out: it is longer than half of the window; "
        f'read_output("{blob}") gives all of it, page by page …]'
    )
    return Words(text=f"{first}\n{notice}\n{last}", blob=blob)


def _to_line_end(head: str) -> str:
    at = head.rfind("\n")
    return head[:at] if at > len(head) // 2 else head


def _from_line_start(tail: str) -> str:
    at = tail.find("\n") + 1
    return tail[at:] if 0 < at < len(tail) // 2 else tail
