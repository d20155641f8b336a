"""Answer an MCP server's request with the user's model (sampling). The user has agreed; here the cost is counted."""

import asyncio
import time
from collections.abc import Callable

from msgspec import structs

from clio.agent.runtime import Runtime
from clio.agent.spending import SpendingLimitReached
from clio.errors import ProviderError, ProviderRefused
from clio.mcp.server_requests import Sampler, SamplingAnswer, SamplingFailed, SamplingRequest
from clio.messages import AssistantMessage, UserMessage
from clio.providers.base import ChatRequest, Provider
from clio.sessions.session import Session
from clio.sessions.state import Bill
from clio.text.untrusted_text import reveal_hidden_text

_TIME_LIMIT_S = 120.0


def make_sampler(runtime: Runtime, session: Session, pick_provider: Callable[[], Provider]) -> Sampler:
    """Return what asks a model for servers. session: gets the cost. pick_provider: returns the model to ask."""

    async def answer(request: SamplingRequest) -> SamplingAnswer:
        return await answer_server(runtime, session, pick_provider(), request)

    return Sampler(lambda: pick_provider().model, answer)


async def answer_server(
    runtime: Runtime, session: Session, provider: Provider, request: SamplingRequest
) -> SamplingAnswer:
    """Return the model's answer without secrets, and add its cost to the session. Raises SamplingFailed."""
    from clio.providers.model_facts import choose_side_effort, find_usable_efforts

    messages = tuple(
        AssistantMessage(content=_prepare(runtime, text))
        if role == "assistant"
        else UserMessage(content=_prepare(runtime, text))
        for role, text in request.messages
    )
    system = _prepare(runtime, request.system)
    prompt_tokens = (len(system) + sum(len(message.content) for message in messages)) // 4
    try:
        reservation = await runtime.spending.reserve(provider, prompt_tokens, output_tokens=request.max_tokens)
    except SpendingLimitReached as error:
        raise SamplingFailed("the user's spending limit is reached") from error
    chat_request = ChatRequest(
        system=system,
        messages=messages,
        max_output_tokens=min(request.max_tokens, reservation.max_output_tokens or request.max_tokens),
        stop=request.stop,
        effort=choose_side_effort(
            runtime.efforts.get_effort(provider.model), find_usable_efforts(provider, provider.model)
        ),
    )
    parts: list[str] = []
    finish_reason = ""
    try:
        with reservation:
            async with asyncio.timeout(_TIME_LIMIT_S):
                async for chunk in provider.stream(chat_request):
                    parts.append(chunk.text)
                    finish_reason = chunk.finish_reason or finish_reason
                    if chunk.notice:
                        runtime.tell(chunk.notice)
                    if chunk.usage is not None:
                        bill = Bill(
                            model=provider.model,
                            **structs.asdict(chunk.usage),
                            timestamp=time.time(),
                            server=provider.name,
                            cost=reservation.count_bill(chunk.usage, chunk.cost),
                        )
                        session.add_bill(bill)
    except (ProviderError, ProviderRefused, TimeoutError) as error:
        # The server is told no more: the error may name the user's account or addresses.
        runtime.warn(f"{provider.model}: {error or 'no answer within 120 s'}")
        raise SamplingFailed("the model did not answer") from error
    return SamplingAnswer(
        text=runtime.redact("".join(parts)),
        model=provider.model,
        stop_reason="maxTokens" if finish_reason in ("length", "max_tokens") else "endTurn",
    )


def _prepare(runtime: Runtime, text: str) -> str:
    return reveal_hidden_text(runtime.redact(text))
