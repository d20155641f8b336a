"""The checks of `clio doctor` on the model: its server, its key, its requests and its price."""

import asyncio
import time
from collections.abc import Iterator

from clio.agent.model_choice import EffortChoices
from clio.agent.spending import SpendingLimitReached, open_spending
from clio.config.loaded import LoadedConfig
from clio.entrypoints.doctor.findings import DoctorContext, Finding, make_note, make_ok, make_problem
from clio.errors import ClioError, ConfigError
from clio.messages import Usage, UserMessage
from clio.providers.base import AUTO, CONNECT_MODEL, NO_MODEL, ChatRequest, ListsModels, ModelLimits, Provider
from clio.providers.http_provider import HttpProvider
from clio.providers.lesson_book import LessonBook
from clio.providers.model_facts import PROBE_TOOL, PROTOCOL_TITLES, find_usable_efforts, read_request_facts
from clio.providers.prices import OLD_DAYS, SHOWN_PRICES_PATH, PriceBook, states_cost
from clio.providers.profiles import find_preset
from clio.providers.registry import DEFAULT_KEY_VARIABLE, OFFLINE, make_provider
from clio.text.formatting import format_money
from clio.text.translation import tr, tr_count

LIVE_LIMIT_S = 60.0
_LIVE_TOKENS = 2_000
"""Output limit in tokens: a reasoning model needs more than the one word of the answer."""
SERVER_LIMIT_S = 4.0
"""Seconds. Below the limit of the check, so that an unresponsive server is named."""


def check_model(context: DoctorContext) -> Iterator[Finding]:
    """Report which model would answer, and whether it can. Requests only the server's list of models."""
    loaded = context.loaded
    try:
        provider = make_provider(loaded.config, context.env, book=LessonBook(loaded.home))
    except ConfigError as error:
        yield make_problem("model", *_split_sentence(str(error)))
        return
    if provider.name == OFFLINE:
        if loaded.config.provider == OFFLINE:
            yield make_ok("model", tr("none, offline as configured"))
        else:
            yield make_note("model", tr(NO_MODEL), tr(CONNECT_MODEL))
        return
    yield _find_key_source(context, provider.name)
    server, limits = asyncio.run(_ask_server(provider))
    yield server
    text = tr("{model} at {provider}, window ", model=provider.model, provider=provider.name)
    if limits is None:
        yield make_note("model", tr("{text}not known until the server answers", text=text))
    elif limits.source == "default":
        yield make_note(
            "model",
            tr(
                "{text}{context_window:,} tokens (assumed; the server does not say)",
                text=text,
                context_window=limits.context_window,
            ),
            tr("set context_window to its real size"),
        )
    else:
        source = _describe_window_source(limits, loaded, provider.model)
        yield make_ok(
            "model",
            tr(
                "{text}{context_window:,} tokens ({source})",
                text=text,
                context_window=limits.context_window,
                source=source,
            ),
        )
    yield from _describe_requests(loaded, provider)
    yield from _check_price(loaded, provider)


def _describe_requests(loaded: LoadedConfig, provider: Provider) -> Iterator[Finding]:
    """The protocol of the requests, and their fields for effort and prompt caching."""
    if not isinstance(provider, HttpProvider):
        return
    given = tr(" (set as api)") if loaded.config.api != "auto" else ""
    yield make_ok(
        "protocol",
        tr(
            "{protocol} ({protocol_titles}) at {base_url}{given}",
            protocol=provider.protocol,
            protocol_titles=PROTOCOL_TITLES[provider.protocol],
            base_url=provider.base_url,
            given=given,
        ),
    )
    choices = EffortChoices(loaded.config, is_from_flag="effort" in loaded.flags)
    effort = choices.get_effort(provider.model)
    facts = read_request_facts(provider, effort)
    levels = find_usable_efforts(provider, provider.model)
    sent = tr("sent as {effort}", effort=" ".join(facts.effort)) if facts.effort else tr("not sent, the server decides")
    known = (
        ""
        if levels is None
        else tr("; {model} accepts {levels}", model=provider.model, levels=", ".join(levels) or tr("no effort"))
    )
    if effort != AUTO and levels is not None and effort not in levels:
        yield make_note(
            "effort",
            f"{effort}, {sent}",
            tr("choose one that {model} accepts: {levels}", model=provider.model, levels=", ".join(levels) or AUTO),
        )
    else:
        yield make_ok("effort", f"{effort}: {sent}{known}")
    yield make_ok(
        "cache", ", ".join(facts.cache) or tr("no field is sent; some servers cache repeated text by themselves")
    )


def ask_live(context: DoctorContext) -> Iterator[Finding]:
    """Send one tiny request as a conversation would; report the answer, its time and its cost."""
    loaded = context.loaded
    try:
        provider = make_provider(loaded.config, context.env, book=LessonBook(loaded.home))
    except ConfigError as error:
        yield make_problem("live", *_split_sentence(str(error)))
        return
    if provider.name == OFFLINE:
        yield make_note("live", tr(NO_MODEL), tr(CONNECT_MODEL))
        return
    try:
        yield asyncio.run(_ask_once(loaded, provider))
    except (ClioError, SpendingLimitReached) as error:
        yield make_problem("live", *_split_sentence(str(error)))
    except TimeoutError:
        yield make_problem(
            "live",
            tr(
                "{provider} did not answer within {live_limit_s:g} seconds",
                provider=provider.name,
                live_limit_s=LIVE_LIMIT_S,
            ),
            tr("try again, or another model"),
        )


async def _ask_once(loaded: LoadedConfig, provider: Provider) -> Finding:
    choices = EffortChoices(loaded.config, is_from_flag="effort" in loaded.flags)
    request = ChatRequest(
        system="You are being checked. Answer with one word.",
        messages=(UserMessage(content="Say OK."),),
        tools=(PROBE_TOOL,),
        max_output_tokens=_LIVE_TOKENS,
        effort=choices.get_effort(provider.model),
    )
    started, first, notices = time.monotonic(), 0.0, list[str]()
    usage, stated = Usage(), None
    try:
        async with asyncio.timeout(LIVE_LIMIT_S):
            with await open_spending(loaded).reserve(provider, _LIVE_TOKENS, output_tokens=_LIVE_TOKENS) as held:
                async for chunk in provider.stream(request):
                    first = first or time.monotonic()
                    usage, stated = chunk.usage or usage, stated if chunk.cost is None else chunk.cost
                    notices += [chunk.notice] if chunk.notice else []
                cost = held.count_bill(usage, stated)
    finally:
        await provider.close()
    ms = [
        tr("{moment:,} ms", moment=round((moment - started) * 1000)) for moment in (first or started, time.monotonic())
    ]
    protocol = tr(" over {protocol}", protocol=provider.protocol) if isinstance(provider, HttpProvider) else ""
    tokens = tr(
        "{prompt_tokens:,} tokens in, {completion_tokens:,} out",
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
    )
    tokens += (
        tr(" ({reasoning_tokens:,} reasoning)", reasoning_tokens=usage.reasoning_tokens)
        if usage.reasoning_tokens
        else ""
    )
    price = f", {format_money(cost)}" if cost is not None else tr(", price not known")
    text = tr(
        "{model} answered{protocol} in {ms}, first words after {ms2}; {tokens}{price}",
        model=provider.model,
        protocol=protocol,
        ms=ms[1],
        ms2=ms[0],
        tokens=tokens,
        price=price,
    )
    return make_note("live", text, "; ".join(notices)) if notices else make_ok("live", text)


def _find_key_source(context: DoctorContext, server: str) -> Finding:
    """Report the source of the key; the key itself is not printed."""
    origin = context.loaded.origins.get("api_key") if context.loaded.config.api_key else None
    if origin is None and context.loaded.config.api_key_command:
        origin = tr(
            "api_key_command, {origins}", origins=context.loaded.origins.get("api_key_command", "the configuration")
        )
    preset = find_preset(server)
    variable, key = (
        preset.find_key(context.env)
        if preset
        else (DEFAULT_KEY_VARIABLE, context.env.get(DEFAULT_KEY_VARIABLE, "").strip())
    )
    if origin is None and key:
        origin = tr("environment {variable}", variable=variable)
    return make_ok(
        "key",
        tr("from {origin}", origin=origin)
        if origin
        else tr("none is set; requests to {server} are sent without one", server=server),
    )


async def _ask_server(provider: Provider) -> tuple[Finding, ModelLimits | None]:
    """Request the server's models and the window's size, None if it did not answer in time."""
    try:
        async with asyncio.timeout(SERVER_LIMIT_S):
            server = await _check_server(provider)
            return server, await provider.limits()
    except TimeoutError:
        return _make_silence_finding(provider), None
    finally:
        await provider.close()


async def _check_server(provider: Provider) -> Finding:
    if not isinstance(provider, ListsModels):
        return make_ok("server", tr("{provider} has no list of models", provider=provider.name))
    started = time.monotonic()
    try:
        offered = await provider.offered()
    except ClioError as error:
        return make_problem("server", *_split_sentence(str(error)))
    took_ms = (time.monotonic() - started) * 1000
    names = [model.name for model in offered]
    text = tr("{provider} answers within {took_ms:,} ms", provider=provider.name, took_ms=max(round(took_ms), 1))
    if not names:
        return make_note(
            "server", tr("{text} and lists no models", text=text), tr("nothing to do if it answers prompts")
        )
    if provider.model in names or f"models/{provider.model}" in names:
        return make_ok(
            "server",
            tr(
                "{text}, {models}, {model} among them",
                text=text,
                models=tr_count(len(names), "model"),
                model=provider.model,
            ),
        )
    return make_note(
        "server",
        tr(
            "{text}, {models}, {model} is not among them",
            text=text,
            models=tr_count(len(names), "model"),
            model=provider.model,
        ),
        tr("start clio -m with a model that /model lists"),
    )


def _make_silence_finding(provider: Provider) -> Finding:
    return make_problem(
        "server",
        tr(
            "{provider} did not answer within {server_limit_s:g} seconds",
            provider=provider.name,
            server_limit_s=SERVER_LIMIT_S,
        ),
        tr("check the address, the network and HTTPS_PROXY, or start it"),
    )


def _describe_window_source(limits: ModelLimits, loaded: LoadedConfig, model: str) -> str:
    match limits.source:
        case "config":
            own = loaded.origins.get(f"models.{model}.context_window")
            return tr("set in {own}", own=own or loaded.origins.get("context_window", "the configuration"))
        case "server":
            return tr("from server")
        case _:
            return tr("known for this model")


def _check_price(loaded: LoadedConfig, provider: Provider) -> Iterator[Finding]:
    """Report whether the model's price is known, and its age; nothing for a free model."""
    book = PriceBook(loaded.home)
    try:
        price = book.find_price(provider.name, provider.model)
    except ConfigError as error:
        yield make_problem("prices", *_split_sentence(str(error)))
        return
    age = book.table_age()
    if price is None and not states_cost(provider.name):
        yield make_note(
            "prices",
            tr("none for {model} at {provider}", model=provider.model, provider=provider.name),
            tr("add it to {shown_prices_path}", shown_prices_path=SHOWN_PRICES_PATH),
        )
    elif price is not None and book.is_old(price):
        yield make_note(
            "prices",
            tr("the price of {model} dates from {as_of}", model=provider.model, as_of=price.as_of),
            tr("correct it in {shown_prices_path}", shown_prices_path=SHOWN_PRICES_PATH),
        )
    elif price is not None and not price.is_free:
        day = tr(" of {as_of}", as_of=price.as_of) if price.as_of else ""
        yield make_ok(
            "prices",
            tr(
                "{model}{day}; {prices} known, {old} older than {old_days} days",
                model=provider.model,
                day=day,
                prices=age.prices,
                old=age.old,
                old_days=OLD_DAYS,
            ),
        )


def _split_sentence(sentence: str) -> tuple[str, str]:
    """Split the sentence of an error into what is wrong and what to do."""
    for separator in ("; ", ": "):
        wrong, found, todo = sentence.rpartition(separator)
        if found:
            return wrong, todo
    return sentence, tr("see docs/configuration.md")
