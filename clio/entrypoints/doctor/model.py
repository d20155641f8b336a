"""Who would answer: the key, the server, the model with its window, and what it costs. No prompt is sent."""

import asyncio
import time
from collections.abc import Iterator

from clio.config.loaded import Loaded
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok, several
from clio.errors import ClioError, ConfigError
from clio.providers.base import Limits, ListsModels, Provider
from clio.providers.price_book import PriceBook
from clio.providers.price_words import OLD_DAYS, SHOWN, states_cost
from clio.providers.profiles import preset_named
from clio.providers.registry import DEFAULT_KEY_VARIABLE, OFFLINE, make_provider

LIMIT_S = 4.0
"""For the server, so that a silent one is named before the check itself is given up."""


def check_model(ground: Ground) -> Iterator[Finding]:
    """Which model would answer, and whether it could. Asks the server for its models, and nobody else anything."""
    loaded = ground.loaded
    try:
        provider = make_provider(loaded.config, ground.env)
    except ConfigError as error:
        yield fix("model", *_halves(str(error)))
        return
    if provider.name == OFFLINE:
        if loaded.config.provider == OFFLINE:
            yield ok("model", "none, offline as configured")
        else:
            yield note("model", "none is configured and no local server answers",
                       "set OPENAI_API_KEY, or give --provider or --base-url")  # fmt: skip
        return
    yield _key(ground, provider.name)
    server, limits = asyncio.run(_ask(provider))
    yield server
    text = f"{provider.model} at {provider.name}, window "
    if limits is None:
        yield note("model", f"{text}not known until the server answers")
    elif limits.source == "default":
        yield note("model", f"{text}{limits.context_window:,} tokens (a guess: the server does not say)",
                   "set context_window to what it really has")  # fmt: skip
    else:
        said = _who_says(limits, loaded, provider.model)
        yield ok("model", f"{text}{limits.context_window:,} tokens ({said})")
    yield from _price(loaded, provider)


def _key(ground: Ground, server: str) -> Finding:
    """Where the key is from; what it is stays unsaid."""
    origin = ground.loaded.origins.get("api_key") if ground.loaded.config.api_key else None
    if origin is None and ground.loaded.config.api_key_command:
        origin = f"api_key_command, {ground.loaded.origins.get('api_key_command', 'the configuration')}"
    preset = preset_named(server)
    variable, key = (
        preset.find_key(ground.env)
        if preset
        else (DEFAULT_KEY_VARIABLE, ground.env.get(DEFAULT_KEY_VARIABLE, "").strip())
    )
    if origin is None and key:
        origin = f"environment {variable}"
    return ok("key", f"from {origin}" if origin else f"none is set, {server} is asked without one")


async def _ask(provider: Provider) -> tuple[Finding, Limits | None]:
    """What the server says of itself, and how large the model's window is; None where it did not answer in time."""
    try:
        async with asyncio.timeout(LIMIT_S):
            server = await _server(provider)
            return server, await provider.limits()
    except TimeoutError:
        return _silent(provider), None
    finally:
        await provider.close()


async def _server(provider: Provider) -> Finding:
    if not isinstance(provider, ListsModels):
        return ok("server", f"{provider.name} is not asked anything")
    begun = time.monotonic()
    try:
        offered = await provider.offered()
    except ClioError as error:
        return fix("server", *_halves(str(error)))
    took_ms = (time.monotonic() - begun) * 1000
    names = [one.name for one in offered]
    text = f"{provider.name} answers within {max(round(took_ms), 1):,} ms"
    if not names:
        return note("server", f"{text} and lists no models", "nothing, if it answers a prompt")
    if provider.model in names or f"models/{provider.model}" in names:
        return ok("server", f"{text}, {several(len(names), 'model')}, {provider.model} among them")
    return note("server", f"{text}, {several(len(names), 'model')}, {provider.model} is not among them",
                "clio -m with one that /model lists")  # fmt: skip


def _silent(provider: Provider) -> Finding:
    return fix("server", f"{provider.name} did not answer within {LIMIT_S:g} seconds",
               "check the address, the network and HTTPS_PROXY, or start it")  # fmt: skip


def _who_says(limits: Limits, loaded: Loaded, model: str) -> str:
    match limits.source:
        case "config":
            own = loaded.origins.get(f"models.{model}.context_window")
            return f"set in {own or loaded.origins.get('context_window', 'the configuration')}"
        case "server":
            return "the server says so"
        case _:
            return "known of this model"


def _price(loaded: Loaded, provider: Provider) -> Iterator[Finding]:
    """Whether it is known what the model costs, and how old that knowledge is; nothing where it costs nothing."""
    book = PriceBook(loaded.home)
    try:
        price = book.price_of(provider.name, provider.model)
    except ConfigError as error:
        yield fix("prices", *_halves(str(error)))
        return
    age = book.age()
    if price is None and not states_cost(provider.name):
        yield note("prices", f"none for {provider.model} at {provider.name}", f"add it to {SHOWN}")
    elif price is not None and book.is_old(price):
        yield note("prices", f"that of {provider.model} is of {price.as_of}", f"correct it in {SHOWN}")
    elif price is not None and not price.is_free:
        day = f" of {price.as_of}" if price.as_of else ""
        yield ok("prices", f"{provider.model}{day}; {age.prices} known, {age.old} older than {OLD_DAYS} days")


def _halves(sentence: str) -> tuple[str, str]:
    """A sentence of an error as what is wrong, and what to do."""
    for mark in ("; ", ": "):
        wrong, found, todo = sentence.rpartition(mark)
        if found:
            return wrong, todo
    return sentence, "see docs/configuration.md"
