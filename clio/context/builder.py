"""Builds each request: first what never changes in a session, then the conversation, the newest words last."""

import platform
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from clio.context.fragments import render_fragment
from clio.context.workspace_state import describe_state
from clio.errors import ContextOverflow
from clio.fragments import Fragment
from clio.messages import Message, SystemMessage
from clio.prompt_files import fill_prompt
from clio.providers.base import ChatRequest, Limits, ToolSpec
from clio.tokens import TokenEstimator, text_units

COMPACT_WINDOW = 16_384
_SPEC_UNITS = 40.0  # the braces and keys around one tool's schema


class Built(Struct, frozen=True, kw_only=True):
    """A request ready to send. `units` is its weight (see clio.tokens), `prompt_tokens` that weight as tokens."""

    request: ChatRequest
    units: float
    prompt_tokens: int


def is_compact(limits: Limits) -> bool:
    """Whether the window asks for the short prompt and the small set of tools."""
    return limits.context_window <= COMPACT_WINDOW


def system_prompt(workspace: Path, fragments: Sequence[Fragment], estimator: TokenEstimator, *, compact: bool) -> str:
    """The system prompt of a session: no date and nothing else that changes, so that prompt caches hold."""
    name = "system/compact" if compact else "system/main"
    parts = [fill_prompt(name, workspace=str(workspace), platform=f"{platform.system()} {platform.machine()}")]
    parts += [render_fragment(fragment, estimator) for fragment in fragments]
    return "\n\n".join(part for part in parts if part)


class ContextBuilder:
    """Turns a session's messages into requests for one model."""

    def __init__(
        self, *, project: Path, system: str, tools: Sequence[ToolSpec], limits: Limits, estimator: TokenEstimator
    ) -> None:
        self._project = project
        self._system = system
        self._tools = tuple(tools)
        self._limits = limits
        self._estimator = estimator
        self._fixed_units = text_units(system) + sum(_spec_units(spec) for spec in self._tools)

    @property
    def ratio(self) -> float:
        """Units a token, as learned so far."""
        return self._estimator.ratio

    async def turn_context(self, now: float) -> str:
        """What is put before the user's words of this turn."""
        return f"<context>\n{await describe_state(self._project, now)}\n</context>"

    def build(self, messages: Sequence[Message]) -> Built:
        """The request for the conversation so far.

        Raises ContextOverflow, with the numbers, if it cannot fit the window.
        """
        sent = tuple(message for message in messages if not isinstance(message, SystemMessage))
        units = self._fixed_units + sum(self._estimator.units(message) for message in sent)
        tokens = self._estimator.tokens(units)
        if tokens > self._limits.context_window:
            raise ContextOverflow(
                f"the conversation needs about {tokens:,} tokens and the model's window has "
                f"{self._limits.context_window:,}; start a new session with --new, or use a model with a larger window",
                limit_tokens=self._limits.context_window,
                sent_tokens=tokens,
            )
        request = ChatRequest(
            system=self._system,
            messages=sent,
            tools=self._tools,
            max_output_tokens=None,
        )
        return Built(request=request, units=units, prompt_tokens=tokens)

    def learn(self, built: Built, prompt_tokens: int) -> bool:
        """Let a server's bill for a built request improve the next estimate; says whether it did."""
        return self._estimator.learn(built.units, prompt_tokens)


def _spec_units(spec: ToolSpec) -> float:
    return _SPEC_UNITS + len(spec.name) + text_units(spec.description) + len(bytes(spec.parameters))
