"""Name a session after its first turn with one small request to the light model, in the background."""

import asyncio
import time
import unicodedata
from contextlib import suppress

from msgspec import structs

from clio.agent.conversation import Conversation
from clio.agent.spending import SpendingLimitReached
from clio.errors import ClioError, ProviderError, ProviderRefused
from clio.messages import AssistantMessage, Message, UserMessage
from clio.prompt_files import load_prompt
from clio.providers.base import OFFLINE, ChatRequest, Provider
from clio.providers.prices import states_cost
from clio.sessions.state import Bill
from clio.text.formatting import truncate
from clio.text.untrusted_text import reveal_hidden_text

TITLE_CHARS = 60
_MAX_QUESTION_CHARS, _MAX_ANSWER_CHARS = 2_000, 1_000
_MAX_OUTPUT_TOKENS = 200
"""More than a title needs, for models that reason before they answer."""
_TIME_LIMIT_S = 30.0
_QUOTES = "\"'`*_#“”„‘’«» \t"


def wants_title(conversation: Conversation) -> bool:
    """Whether the conversation's session gets a title now.

    It has ended its first turn and has no name; a light model is set, answers here, and its price is known.
    """
    session, config = conversation.session, conversation.config
    if not (config.session_titles and config.light_model) or config.incognito:
        return False
    if session.name or session.delegated or not session.is_persistent or conversation.provider.name == OFFLINE:
        return False
    turns = [message for message in session.messages if isinstance(message, UserMessage) and message.origin == "user"]
    if len(turns) != 1 or not isinstance(session.messages[-1], AssistantMessage):
        return False
    provider = conversation.runtime.light_provider(config, conversation.provider)
    if provider is conversation.provider:  # the light model cannot be used, as the user has been told
        return False
    with suppress(ClioError):  # /cost prices reports an invalid prices file
        price = conversation.runtime.spending.book.find_price(provider.name, provider.model)
        return price is not None or states_cost(provider.name)
    return False


async def name_session(conversation: Conversation) -> None:
    """Ask the light model for a title and name the session, unless the user has named it meanwhile.

    Without an answer the session keeps the first words of its message. The cost is that of the session.
    """
    session, runtime = conversation.session, conversation.runtime
    provider = runtime.light_provider(conversation.config, conversation.provider)
    try:
        async with asyncio.timeout(_TIME_LIMIT_S):
            answer = await _ask_for_title(conversation, provider, _quote_first_turn(session.messages))
    except (ProviderError, ProviderRefused, SpendingLimitReached, TimeoutError):
        return  # the session keeps its first words; the next turn reports a server that does not answer
    finally:
        conversation.record_bills()
    title = clean_title(runtime.redact(answer))
    if title and session.name is None and session is runtime.session:
        session.rename(title)


async def _ask_for_title(conversation: Conversation, provider: Provider, prompt: str) -> str:
    from clio.providers.model_facts import choose_side_effort, find_usable_efforts

    runtime, system = conversation.runtime, load_prompt("context/session_title")
    effort = runtime.efforts.get_effort(provider.model)
    reservation = await runtime.spending.reserve(provider, len(prompt + system) // 4, output_tokens=_MAX_OUTPUT_TOKENS)
    request = ChatRequest(
        system=system,
        messages=(UserMessage(content=prompt),),
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        effort=choose_side_effort(effort, find_usable_efforts(provider, provider.model)),
    )
    parts: list[str] = []
    with reservation:
        async for chunk in provider.stream(request):
            parts.append(chunk.text)
            if chunk.usage is not None:
                conversation.session.add_bill(
                    Bill(
                        model=provider.model,
                        **structs.asdict(chunk.usage),
                        timestamp=time.time(),
                        server=provider.name,
                        cost=reservation.count_bill(chunk.usage, chunk.cost),
                    )
                )
    return "".join(parts)


def _quote_first_turn(messages: tuple[Message, ...] | list[Message]) -> str:
    question = next(m.content for m in messages if isinstance(m, UserMessage) and m.origin == "user")
    answer = messages[-1].content
    return reveal_hidden_text(
        f"<request>\n{truncate(question, _MAX_QUESTION_CHARS)}\n</request>\n"
        f"<answer>\n{truncate(answer, _MAX_ANSWER_CHARS)}\n</answer>"
    )


def clean_title(answer: str) -> str:
    """Return the first line of an answer as a title: no quotes, markup, control or invisible characters."""
    line = next((line for line in answer.splitlines() if line.strip(_QUOTES)), "")
    printable = "".join(c if c.isprintable() or c == " " else " " for c in line if unicodedata.category(c) != "Cf")
    title = " ".join(printable.split()).strip(_QUOTES)
    if title.lower().startswith("title:"):
        title = title[len("title:") :].strip(_QUOTES)
    return truncate(title.rstrip(".").strip(_QUOTES), TITLE_CHARS)
