"""Build requests: first what is constant in a session, then the conversation, the newest text last."""

import platform
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from clio.context.workspace_state import describe_date, describe_tree, get_working_tree, read_last_commits
from clio.messages import Fragment, Message, ToolMessage, UserMessage
from clio.prompt_files import fill_prompt
from clio.providers.base import ChatRequest, ModelLimits, ToolSpec
from clio.text.untrusted_text import neutralize_closing_tags, reveal_hidden_text, to_inert_line
from clio.tokens import TokenEstimator, text_units

_SAFE_MARKS = str.maketrans('"<>', "'‹›")  # file names may contain any character
_CUT = "\n[… cut here: the rest is in the source]"


def render_fragment(fragment: Fragment, estimator: TokenEstimator) -> str:
    """Return the fragment between its tags; "" for an empty text."""
    text = reveal_hidden_text(fragment.text).strip()
    if not text:
        return ""
    text = text if fragment.whole else cut_to_tokens(text, fragment.cap_tokens, estimator)
    # A file name with a quotation mark or a bracket could end the tag and begin another one.
    source = to_inert_line(fragment.source).translate(_SAFE_MARKS)
    return f'<{fragment.name} source="{source}">\n{neutralize_closing_tags(text, fragment.name)}\n</{fragment.name}>'


def is_cut(rendered: str) -> bool:
    """Whether a rendered fragment shows only a part of its source."""
    return _CUT in rendered


def cut_to_tokens(text: str, cap_tokens: int, estimator: TokenEstimator) -> str:
    """Return the text, or as much of its beginning as fits followed by a notice, cut at a line end if possible."""
    tokens = estimator.estimate_text(text)
    if tokens <= cap_tokens:
        return text
    keep = int(len(text) * cap_tokens / tokens)
    head = text[:keep]
    return head[: head.rfind("\n")] + _CUT if "\n" in head else head + _CUT


COMPACT_WINDOW = 16_384
Stage = Literal["proactive", "validation", "reactive", "manual"]
"""Why the window was trimmed: it was filling up, it was too full to send, a server refused, or the user asked."""
_SPEC_UNITS = 40.0  # braces and keys around one tool's schema


class BuiltRequest(Struct, frozen=True, kw_only=True):
    """A request ready to send.

    Attributes:
        units: its weight (see clio.tokens).
        conversation: the part of the weight that is summary and history.
        prompt_tokens: the weight as estimated tokens.
        trimmed: the trim that was needed to build it; None if none was.
    """

    request: ChatRequest
    units: float
    conversation: float
    prompt_tokens: int
    trimmed: "TrimReport | None" = None


class TrimReport(Struct, frozen=True, kw_only=True):
    """One trim as reported to the user: `messages` moved to the archive, `shrunk` are shortened from now on."""

    handle: str
    stage: Stage
    messages: int
    shrunk: int
    freed_tokens: int


class PrefixPart(Struct, frozen=True, kw_only=True):
    """One part of the prompt with its source. units: its weight. cut: only a part of the source is shown."""

    name: str
    source: str
    reason: str
    units: float
    cut: bool = False


class Prefix(Struct, frozen=True, kw_only=True):
    """System prompt and tools, which are constant in all requests of a session.

    Attributes:
        parts: the parts of `system` that are instructions and memory.
        problems: sentences on what was left out of them.
        compact: the short prompt with the small set of tools is used.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    parts: tuple[PrefixPart, ...] = ()
    problems: tuple[str, ...] = ()
    compact: bool = False

    @property
    def memory(self) -> float:
        """Weight of instructions and memory."""
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
    """Whether the window is so small that the short prompt and the small set of tools are used."""
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
    """Return the system prompt and tools of a session.

    They contain no date or anything else that changes, so that the server can cache them.

    Args:
        cap_tokens: limit for each fragment in addition to its own.
        head: name of the prompt to begin with instead of clio's own.
    """
    name = head or ("system/compact" if compact else "system/main")
    head = fill_prompt(name, workspace=str(workspace), platform=f"{platform.system()} {platform.machine()}")
    if cap_tokens is not None:
        fragments = [structs.replace(part, cap_tokens=min(part.cap_tokens, cap_tokens)) for part in fragments]
    rendered_parts = [(part, text) for part in fragments if (text := render_fragment(part, estimator))]
    return Prefix(
        system="\n\n".join([head, *(text for _, text in rendered_parts)]),
        tools=tuple(tools),
        parts=tuple(
            PrefixPart(name=part.name, source=part.source, reason=part.reason, units=text_units(text), cut=is_cut(text))
            for part, text in rendered_parts
        ),
        problems=tuple(problems),
        compact=compact,
    )


async def _no_turn_fragments(text: str) -> Sequence[Fragment]:
    return ()


async def _no_named_fragments(text: str, of: int) -> Sequence[Fragment]:
    return ()


def _no_image(handle: str) -> bytes | None:
    return None


def _no_approvals() -> str:
    return ""


def _never() -> bool:
    return False


class ContextBuilder:
    """Builds the requests for one model.

    Args:
        prefixes: functions that return a prefix, the largest first; smaller ones are used if the window turns out
            smaller than stated. At least one.
        turn_fragments: returns what memory adds to a turn with this text.
        named_fragments: returns the files and other things that a text mentions with "@"; its second argument is the
            number of messages entered together.
        read_image: returns the bytes of a stored picture by handle; None if it is missing.
        approvals: returns a sentence on who approves the actions of this turn, or "".
        is_memory_off: whether the user has turned memory off for now.
    """

    def __init__(
        self,
        *,
        project: Path,
        prefixes: Sequence[Callable[[], Prefix]],
        estimator: TokenEstimator,
        turn_fragments: Callable[[str], Awaitable[Sequence[Fragment]]] = _no_turn_fragments,
        named_fragments: Callable[[str, int], Awaitable[Sequence[Fragment]]] = _no_named_fragments,
        read_image: Callable[[str], bytes | None] = _no_image,
        approvals: Callable[[], str] = _no_approvals,
        is_memory_off: Callable[[], bool] = _never,
    ) -> None:
        self.is_memory_off = is_memory_off
        self._tree = get_working_tree(project)
        self._turn_fragments = turn_fragments
        self._named_fragments = named_fragments
        self._read_image = read_image
        self._approvals = approvals
        self._last_commits_sent: tuple[str, ...] | None = None
        self._images: dict[str, bytes] = {}
        self._smaller = list(prefixes)
        self.estimator = estimator
        self.prefix = self._smaller.pop(0)()
        self.fixed_units = self.prefix.system_units + self.prefix.tools_units

    def use_smaller_prefix(self) -> bool:
        """Use the next smaller prefix; return False if there is none or it saves nothing."""
        while self._smaller:
            prefix = self._smaller.pop(0)()
            units = prefix.system_units + prefix.tools_units
            # A smaller prompt is not always smaller: its tools may be the same ones.
            if units < self.fixed_units:
                self.prefix, self.fixed_units = prefix, units
                return True
        return False

    async def make_turn_context(self, now: float, text: str, earlier: Iterable[str] = ()) -> str:
        """Return what precedes the user's text of this turn: the state of the project, and recalled memories.

        earlier: what preceded the messages in the window, the newest first; read in the first turn after a resume.
        """
        if self._last_commits_sent is None:
            sent = (commits for one in earlier if (commits := read_last_commits(one)))
            self._last_commits_sent = next(sent, ())
        lines = [describe_date(now)]
        if approvals := self._approvals():
            lines.append(f"approvals: {approvals}")
        if tree := await self._tree.read():
            # Commits already listed in an earlier turn are not repeated.
            lines += describe_tree(tree, with_commits=tree.commits != self._last_commits_sent)
            self._last_commits_sent = tree.commits
        # These change from turn to turn, so they are sent with the user's message and repeated byte for byte later.
        fragments = await self._turn_fragments(text)
        return wrap_context([*lines, *self._render_fragments(fragments)])

    async def make_steering_context(self, text: str, message_count: int) -> str:
        """Return what precedes a text entered during a turn; "" if it mentions nothing.

        Args:
            message_count: number of messages entered together, which share the space for mentions.
        """
        parts = self._render_fragments(await self._named_fragments(text, message_count))
        return wrap_context(parts) if parts else ""

    def _render_fragments(self, fragments: Sequence[Fragment]) -> list[str]:
        return [text for part in fragments if (text := render_fragment(part, self.estimator))]

    def assemble(
        self, messages: Sequence[Message], conversation: float, trimmed: TrimReport | None = None
    ) -> BuiltRequest:
        """Return the request for these messages, whose weight is `conversation`."""
        units = self.fixed_units + conversation
        return BuiltRequest(
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
        """Return the pictures of these messages; each is read once and cached while requests contain it."""
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


def wrap_context(parts: Sequence[str]) -> str:
    """Return the parts between the tags of what clio adds to a turn."""
    inner = neutralize_closing_tags("\n".join(parts), "context")
    return f"<context>\n{inner}\n</context>"


def _spec_units(spec: ToolSpec) -> float:
    return _SPEC_UNITS + len(spec.name) + text_units(spec.description) + len(bytes(spec.parameters))


_HEAD_SHARE = 0.6
_NOTICE_TOKENS = 80


class FittedText(Struct, frozen=True, kw_only=True):
    """The part of a message that is sent. blob: handle of the whole text if that is longer."""

    text: str
    blob: str | None = None


def fit_user_text(text: str, window_tokens: int, ratio: float, keep: Callable[[str], str]) -> FittedText:
    """Return the text as it is sent: whole, or shortened if it exceeds half of the window.

    A shortened text fills a quarter of the window and contains a notice on how to read the rest.

    Args:
        ratio: units per token, see `clio.tokens`.
        keep: stores a text and returns its handle.
    """
    tokens = text_units(text) / ratio
    if tokens <= window_tokens // 2:
        return FittedText(text=text)
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
    return FittedText(text=f"{first}\n{notice}\n{last}", blob=blob)


def _to_line_end(head: str) -> str:
    at = head.rfind("\n")
    return head[:at] if at > len(head) // 2 else head


def _from_line_start(tail: str) -> str:
    at = tail.find("\n") + 1
    return tail[at:] if 0 < at < len(tail) // 2 else tail
