"""Chooses the provider: what is configured, else a key in the environment, else a local server, else offline."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clio.config.schema import Config
from clio.errors import ConfigError
from clio.providers.auth import Auth
from clio.providers.base import OFFLINE, Provider
from clio.providers.chat_requests import ChatProtocol
from clio.providers.failure import Endpoint
from clio.providers.http_provider import HttpProvider
from clio.providers.lean_transport import LeanTransport
from clio.providers.lesson_book import LessonBook, ModelLessons
from clio.providers.pictures import takes_images
from clio.providers.profiles import PRESETS, Preset, preset_at, preset_named, quirks_of
from clio.providers.transport import Transport, needs_package
from clio.providers.urls import host_of, is_local_host, is_loopback, normalise_base_url, without_login
from clio.providers.wire import Lessons, ProtocolName, WireProtocol

if TYPE_CHECKING:  # of the ways to a model, one is taken
    from clio.providers.discover import Found

DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"


def _find_server() -> "Found | None":
    from clio.providers.discover import find_local_server

    return find_local_server()


def make_provider(
    config: Config,
    env: Mapping[str, str],
    *,
    book: LessonBook | None = None,
    find_server: "Callable[[], Found | None]" = _find_server,
) -> Provider:
    """The provider for this configuration. Opens no connection, but looks for a local server (at most 0.1 s) when
    nothing at all is configured, and asks a local one for its models (at most 1 s) when none is named.

    book: what refusals have taught; without it, they teach this provider only.

    Raises ConfigError for an unknown provider, an address that is none, a missing key or a missing model.
    """
    if (config.provider or "").lower() == OFFLINE:
        return _offline()
    preset = _named_preset(config)
    base_url = config.base_url or ("" if preset else env.get("OPENAI_BASE_URL", "").strip())
    if preset is None and not base_url:
        preset = _preset_with_key(config, env)
        if preset is None:
            found = find_server()
            if found is None:
                return _offline()
            return _connect(config, preset_named(found.name), found.base_url, "", found.models, book)
    url = normalise_base_url(base_url) if base_url else preset.base_url if preset else ""
    preset = preset or preset_at(url)
    return _connect(config, preset, url, _key(config, env, preset, asked=bool(base_url)), (), book)


def _offline() -> Provider:
    from clio.providers.offline import OfflineProvider

    return OfflineProvider()


def _named_preset(config: Config) -> Preset | None:
    if config.provider is None:
        return None
    preset = preset_named(config.provider)
    if preset is None:
        names = [*(preset.name for preset in PRESETS), OFFLINE]
        from clio.algorithms.slips import nearest_name

        close = nearest_name(config.provider.lower(), names)
        hint = f"did you mean {close!r}?" if close else f"choose one of {', '.join(names)}, or give --base-url"
        raise ConfigError(f"unknown provider {config.provider!r}: {hint}")
    return preset


def _preset_with_key(config: Config, env: Mapping[str, str]) -> Preset | None:
    if config.api_key:
        return preset_named("openai")
    return next(
        (preset for preset in PRESETS if preset.key_required and env.get(preset.key_variable, "").strip()), None
    )


def _key(config: Config, env: Mapping[str, str], preset: Preset | None, *, asked: bool) -> str:
    """The key for the server, "" for none. A preset's key goes nowhere else, and OPENAI_API_KEY to no other preset."""
    variable = preset.key_variable if preset else DEFAULT_KEY_VARIABLE
    key = (config.api_key or env.get(variable, "")).strip()
    if key and not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key in {variable} holds characters that no key has: copy it again")
    if preset and preset.key_required and not key and not asked:
        raise ConfigError(f"{preset.name} needs a key and none is set: set {variable}")
    return key


def _connect(
    config: Config, preset: Preset | None, url: str, key: str, models: tuple[str, ...], book: LessonBook | None
) -> Provider:
    model = config.model or (preset.default_model if preset else None) or _first_model(url, key, models)
    endpoint = Endpoint(
        name=preset.name if preset else _display_name(url),
        base_url=url,
        model=model,
        key_variable=preset.key_variable if preset else DEFAULT_KEY_VARIABLE,
        has_key=bool(key),
    )
    learned = (book or LessonBook()).of(urlsplit(without_login(url)).netloc, model)
    protocol = _protocol(config, preset, url)
    may_switch = config.api == "auto" and protocol != "messages"
    auth = _auth(key, protocol, endpoint)

    def speak(name: ProtocolName) -> WireProtocol:
        return _speak(name, endpoint, config, preset, learned.lessons)

    return HttpProvider(
        endpoint,
        _transport(config, url, auth, protocol),
        auth,
        speak,
        _learned_protocol(protocol, learned, preset, url, may_switch=may_switch),
        config,
        may_switch=may_switch,
        learned=learned,
    )


def _protocol(config: Config, preset: Preset | None, url: str) -> ProtocolName:
    """The protocol to begin with: as configured, else the preset's, else what the address tells."""
    if config.api != "auto":
        return config.api
    if "anthropic" in urlsplit(url).path.split("/"):
        return "messages"
    return preset.protocol if preset is not None else "chat"


def _learned_protocol(
    protocol: ProtocolName, learned: ModelLessons, preset: Preset | None, url: str, *, may_switch: bool
) -> ProtocolName:
    """The same, or what the server was found to speak instead. A maker's own server is asked again in every run, and
    one that the user chose a protocol for, once a day."""
    if protocol == "responses" and learned.protocol == "chat":
        own = preset is not None and host_of(url) == host_of(preset.base_url)
        return "chat" if (may_switch or learned.is_fresh) and not own else protocol
    return "responses" if protocol == "chat" and learned.protocol == "responses" and may_switch else protocol


def _auth(key: str, protocol: ProtocolName, at: Endpoint) -> Auth:
    if protocol != "messages":
        return Auth(key)
    from clio.providers.messages_requests import headers_for

    # Other makers' servers look for the key in one of two headers; Anthropic knows only its own.
    own = host_of(at.base_url).endswith("anthropic.com")
    return Auth(key, "x-api-key" if own else "x-api-key and bearer", headers_for(at.model))


def _speak(name: ProtocolName, at: Endpoint, config: Config, preset: Preset | None, lessons: Lessons) -> WireProtocol:
    """Only the protocol that is spoken is imported."""
    own = config.models.get(at.model)
    tools, images = own is None or own.tools, takes_images(config, at.model)
    place = urlsplit(without_login(at.base_url)).netloc
    origin = f"{name} {place} {at.model}"
    match name:
        case "chat":
            quirks = quirks_of(preset, at.base_url, at.model)
            return ChatProtocol(at.model, quirks, tools=tools, images=images, origin=origin, lessons=lessons)
        case "responses":
            from clio.providers.responses_requests import ResponsesProtocol

            return ResponsesProtocol(at.model, tools=tools, images=images, origin=origin, lessons=lessons)
        case "messages":
            from clio.providers.messages_requests import MessagesProtocol

            return MessagesProtocol(
                at.model, tools=tools, images=images, origin=origin, lessons=lessons, lifetime=config.cache_ttl
            )


def _transport(config: Config, url: str, auth: Auth, protocol: ProtocolName) -> Transport:
    package = config.transport == "openai" or (config.transport == "auto" and bool(needs_package(url)))
    if package and protocol != "messages":
        from clio.providers.openai_transport import OpenAITransport

        return OpenAITransport(url, auth)
    return LeanTransport(url, auth)


def _first_model(url: str, key: str, models: tuple[str, ...]) -> str:
    place = without_login(url)
    if not models and url.startswith("http://") and is_local_host(host_of(url)):
        from clio.providers.discover import list_models

        models = list_models(url, key)
        if not models:
            raise ConfigError(
                f"no model is named and the server at {place} lists none: start it, correct --base-url, or set --model"
            )
    if not models:
        raise ConfigError(f"no model is named for {place}: set --model, CLIO_MODEL, or `model:` in the configuration")
    return models[0]


def _display_name(url: str) -> str:
    return urlsplit(without_login(url)).netloc if is_loopback(host_of(url)) else host_of(url)
