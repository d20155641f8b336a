"""From a model's name to a provider: known servers, addresses, keys, and which protocol they speak."""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct, structs

from clio.config.schema import Config, ModelSettings
from clio.errors import ConfigError
from clio.providers.auth import Auth, Scheme
from clio.providers.base import OFFLINE, Lessons, ProtocolName, Provider, WireProtocol
from clio.providers.chat import ChatProtocol
from clio.providers.failure import KEY_COMMAND, Endpoint, TransportFailed
from clio.providers.http_provider import HttpProvider
from clio.providers.lean_transport import LeanTransport, Transport, explain_package_need
from clio.providers.lesson_book import LessonBook, ModelLessons
from clio.providers.limits import list_model_names, list_model_rows, takes_images
from clio.providers.profiles import PRESETS, ServerPreset, find_preset, find_preset_by_url, find_quirks, is_own_host
from clio.providers.urls import is_local_host, is_loopback, is_version, normalise_base_url, strip_login, url_host
from clio.text.json_data import as_text, decode_json
from clio.threads import BackgroundCall

if TYPE_CHECKING:
    from clio.providers.key_command import KeyCommand


# Another one may be new: it is asked all the same, and doubted only where its host name has no address.
_REGIONS = frozenset(
    "us-east-1 us-east-2 us-west-1 us-west-2 us-gov-east-1 us-gov-west-1 ca-central-1 ca-west-1 sa-east-1 mx-central-1 "
    "eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3 af-south-1 il-central-1 "
    "me-central-1 me-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 "
    "ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7 "
    "cn-north-1 cn-northwest-1".split()
)
_LOCATIONS = frozenset(
    "global us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4 "
    "northamerica-northeast1 northamerica-northeast2 northamerica-south1 southamerica-east1 southamerica-west1 "
    "africa-south1 europe-central2 europe-north1 europe-north2 europe-southwest1 europe-west1 europe-west2 "
    "europe-west3 europe-west4 europe-west6 europe-west8 europe-west9 europe-west10 europe-west12 "
    "me-central1 me-central2 me-west1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 "
    "asia-south1 asia-south2 asia-southeast1 asia-southeast2 australia-southeast1 australia-southeast2".split()
)
_REGION = r"[a-z]{2,8}(-[a-z0-9]+)+-\d+"
_PROJECT = r"[a-zA-Z0-9_-][a-zA-Z0-9_.:-]*"
_LOCATION = r"[a-z0-9-]+"


def find_cloud_address(name: str, env: Mapping[str, str]) -> str:
    """The base URL of azure, bedrock or vertex. Raises ConfigError where what it depends on is not set, or is wrong."""
    match name:
        case "bedrock":
            return _bedrock(env)
        case "vertex":
            return _vertex(env)
        case _:
            raise ConfigError(
                "azure needs the address of your resource: set AZURE_OPENAI_ENDPOINT, or `base_url`, such as "
                "https://NAME.openai.azure.com"
            )


def has_unknown_region(name: str, env: Mapping[str, str]) -> bool:
    """Whether the region or location that an address was made of is not one that is known."""
    if name == "bedrock":
        return _first(env, "AWS_REGION", "AWS_DEFAULT_REGION")[1] not in _REGIONS
    return name == "vertex" and _first(env, "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION")[1] not in _LOCATIONS


def complete_azure_address(url: str) -> str:
    """The base URL of the v1 API below the address of a resource, as dashboards show it: only the resource counts.

    Raises ConfigError where it is no address.
    """
    text = url.strip()
    if re.fullmatch(r"[A-Za-z0-9-]+", text):  # the resource's name alone
        text = f"https://{text}.openai.azure.com"
    parts = urlsplit(normalise_base_url(text))
    before: list[str] = []
    for segment in filter(None, parts.path.split("/")):
        if segment in ("openai", "api", "v1"):
            break
        before.append(segment)
    return urlunsplit((parts.scheme, parts.netloc, "".join(f"/{one}" for one in (*before, "openai", "v1")), "", ""))


def _bedrock(env: Mapping[str, str]) -> str:
    variable, region = _first(env, "AWS_REGION", "AWS_DEFAULT_REGION")
    if not region:
        raise ConfigError("bedrock needs a region: set AWS_REGION, such as us-east-1")
    if not re.fullmatch(_REGION, region):
        raise ConfigError(f"bedrock: {region!r} is no AWS region: set {variable} to one such as us-east-1")
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://bedrock-runtime.{region}.{domain}/openai/v1"


def _vertex(env: Mapping[str, str]) -> str:
    variable, project = _first(env, "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID")
    if not project:
        raise ConfigError("vertex needs a project: set GOOGLE_CLOUD_PROJECT to its id")
    if not re.fullmatch(_PROJECT, project):
        raise ConfigError(f"vertex: {project!r} is no project id: correct {variable}")
    variable, location = _first(env, "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION")
    if not location:
        raise ConfigError("vertex needs a location: set GOOGLE_CLOUD_LOCATION, such as global or us-central1")
    if not re.fullmatch(_LOCATION, location):
        raise ConfigError(f"vertex: {location!r} is no location: set {variable} to one such as global or us-central1")
    host = "aiplatform.googleapis.com" if location == "global" else f"{location}-aiplatform.googleapis.com"
    return f"https://{host}/v1/projects/{project}/locations/{location}/endpoints/openapi"


def _first(env: Mapping[str, str], *names: str) -> tuple[str, str]:
    """The first variable that is set, and its value; the first name and "" where none is."""
    found = ((name, env.get(name, "").strip()) for name in names)
    return next((pair for pair in found if pair[1]), (names[0], ""))


TIME_LIMIT_S = 0.1
"""For all probes together."""
USUAL_PORTS: Mapping[int, str] = {11434: "ollama", 1234: "lmstudio", 8080: "llamacpp", 8000: "vllm"}
_LARGEST_ANSWER = 4_000_000
_NOT_CHAT = ("embed", "bge-", "rerank", "whisper", "tts", "clip")


class FoundServer(Struct, frozen=True, kw_only=True):
    """A server that answered, and the names of its models, loaded ones first."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def discover_server(
    ports: Mapping[int, str] = USUAL_PORTS, time_limit_s: float = TIME_LIMIT_S
) -> FoundServer | None:
    """The first server, in the order of `ports`, that lists at least one model within the time; else None."""
    urls = {f"http://127.0.0.1:{port}/v1": name for port, name in ports.items()}
    tasks = [asyncio.create_task(ask_models(url, time_limit_s)) for url in urls]
    answers = await asyncio.gather(*tasks)
    for (url, name), models in zip(urls.items(), answers, strict=True):
        if models:
            return FoundServer(name=name, base_url=url, models=models)
    return None


async def ask_models(base_url: str, time_limit_s: float, key: str | None = None) -> tuple[str, ...]:
    """The chat models a plain-HTTP server lists, () where it does not answer like a model server in time."""
    try:
        async with asyncio.timeout(time_limit_s):
            body = await _get(base_url, key)
        answer: object = decode_json(body)
    except (OSError, TimeoutError, ValueError, EOFError, asyncio.LimitOverrunError):
        return ()  # nobody there, or somebody else: both mean "not a model server"
    loaded = [as_text(row.get("id")) for row in list_model_rows(answer) if row.get("state") == "loaded"]
    names = [name for name in dict.fromkeys([*loaded, *list_model_names(answer)]) if name]
    chat = [name for name in names if not any(word in name.lower() for word in _NOT_CHAT)]
    return tuple(chat or names)


async def _get(base_url: str, key: str | None) -> bytes:
    """The body of GET <base_url>/models. HTTP/1.0, so that the server closes the connection after it."""
    parts = urlsplit(base_url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        lines = [f"GET {parts.path}/models HTTP/1.0", f"Host: {parts.netloc}", "Accept: application/json"]
        if key:
            lines.append(f"Authorization: Bearer {key}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace"))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            return b""
        length = re.search(rb"\r\ncontent-length: *(\d+)", head)
        if length:
            return await reader.readexactly(min(int(length[1]), _LARGEST_ANSWER))
        if b"chunked" in head:  # not allowed in HTTP/1.0, and done all the same
            return await _read_chunks(reader)
        return await reader.read(-1)
    finally:
        writer.close()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while (size := int((await reader.readline()).split(b";")[0], 16)) and len(body) < _LARGEST_ANSWER:
        body += (await reader.readexactly(size + 2))[:-2]
    return body


def find_local_server(ports: Mapping[int, str] = USUAL_PORTS) -> FoundServer | None:
    """`discover_server` for synchronous callers, also below a running event loop; takes `TIME_LIMIT_S` at most."""
    return BackgroundCall(lambda: asyncio.run(discover_server(ports)), "find-model-server").wait()


def list_models(base_url: str, key: str | None, time_limit_s: float = 1.0) -> tuple[str, ...]:
    """`ask_models` for synchronous callers."""
    return BackgroundCall(lambda: asyncio.run(ask_models(base_url, time_limit_s, key)), "list-models").wait()


def is_alias(config: Config, name: str | None) -> bool:
    """Whether a name stands for a model on a server, rather than being a model's own name with its settings."""
    own = config.models.get(name) if name else None
    return own is not None and bool(own.model or own.provider or own.base_url)


def resolve_alias(config: Config) -> Config:
    """The configuration with what its `model` stands for in place of it; as it is where that is no alias.

    An alias of another server replaces all that the configuration says of its own: address, key and protocol belong
    together. Its other settings count for the model it stands for. An alias is never looked up twice.
    """
    name = config.model
    own = config.models.get(name) if name else None
    if name is None or own is None or not is_alias(config, name):
        return config
    model = own.model or name
    known = config.models.get(model, ModelSettings()) if model != name else ModelSettings()
    merged = structs.replace(known, **{field: value for field, value in _given(own).items() if field not in _SERVER})
    changed: dict[str, object] = {"model": model, "models": {**config.models, model: merged}}
    if own.provider or own.base_url:
        same_server = own.base_url in (None, config.base_url) and own.provider in (None, config.provider)
        if not same_server:
            changed |= {"provider": own.provider, "base_url": own.base_url, "api": "auto"}
            changed |= {"api_key": None, "api_key_command": None}
    if own.api_key_command:
        changed |= {"api_key": None, "api_key_command": own.api_key_command}
    if own.api:
        changed["api"] = own.api
    return structs.replace(config, **changed)


def find_model_settings(config: Config, model: str) -> ModelSettings | None:
    """What is configured for a model by its own name, else by the first alias that stands for it; None for nothing."""
    own = config.models.get(model)
    return own or next((one for one in config.models.values() if one.model == model), None)


_SERVER = frozenset(("provider", "model", "base_url", "api", "api_key_command"))


def _given(own: ModelSettings) -> dict[str, object]:
    """The settings that differ from the defaults."""
    default = ModelSettings()
    values = {name: getattr(own, name) for name in own.__struct_fields__}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"


def _find_server() -> "FoundServer | None":

    return find_local_server()


def make_provider(
    config: Config,
    env: Mapping[str, str],
    *,
    book: LessonBook | None = None,
    find_server: "Callable[[], FoundServer | None]" = _find_server,
    learn_secret: Callable[[str], None] = lambda _: None,
) -> Provider:
    """The provider for this configuration. Opens no connection, but looks for a local server (at most 0.1 s) when
    nothing at all is configured, and asks a local one for its models (at most 1 s) when none is named.

    `config.model` may be an alias. book: what refusals have taught; without it, they teach this provider only.
    learn_secret: is told of a key that `api_key_command` prints before it is used.

    Raises ConfigError for an unknown provider, an address that is none, a missing key, region, project or model.
    """
    if (config.provider or "").lower() == OFFLINE and not is_alias(config, config.model):
        return _offline()
    config = resolve_alias(config)
    if (config.provider or "").lower() == OFFLINE:
        return _offline()
    preset = _named_preset(config)
    base_url = config.base_url or (_address_variable(preset, env) if preset else env.get("OPENAI_BASE_URL", "").strip())
    if preset is None and not base_url:
        preset = _preset_with_key(config, env)
        if preset is None:
            found = find_server()
            if found is None:
                return _offline()
            return _connect(config, find_preset(found.name), found.base_url, _Key(), found.models, book)
        base_url = _address_variable(preset, env)
    url = _address(preset, base_url, env)
    preset = preset or find_preset_by_url(url)
    key = _key(config, env, preset, asked=bool(config.base_url), learn=learn_secret)
    return _connect(config, preset, url, key, (), book, doubtful=not base_url and _is_doubtful(preset, env))


def _is_doubtful(preset: ServerPreset | None, env: Mapping[str, str]) -> bool:
    if preset is None or preset.base_url:
        return False

    return has_unknown_region(preset.name, env)


class _Key(Struct, frozen=True, kw_only=True):
    """A key and where it is from. command: prints it, in place of `text`."""

    text: str = ""
    variable: str = DEFAULT_KEY_VARIABLE
    command: "KeyCommand | None" = None


def _address_variable(preset: ServerPreset, env: Mapping[str, str]) -> str:
    return env.get(preset.url_variable, "").strip() if preset.url_variable else ""


def _address(preset: ServerPreset | None, base_url: str, env: Mapping[str, str]) -> str:
    """The base URL: as given, completed, else the preset's. Raises ConfigError where a resource or region is missing.

    An Azure resource is recognised by its host as well.
    """
    if base_url:
        host = url_host(base_url if "://" in base_url else f"//{base_url}")
        at = preset or next((one for one in PRESETS if host and is_own_host(one, host)), None)
        if at is not None and at.name == "azure":
            return complete_azure_address(base_url)
        return normalise_base_url(base_url)
    if preset is None or preset.base_url:
        return preset.base_url if preset else ""

    return find_cloud_address(preset.name, env)


def _offline() -> Provider:
    from clio.providers.offline import OfflineProvider

    return OfflineProvider()


def _named_preset(config: Config) -> ServerPreset | None:
    if config.provider is None:
        return None
    preset = find_preset(config.provider)
    if preset is None:
        names = [*(preset.name for preset in PRESETS), OFFLINE]
        from clio.text.fuzzy import find_nearest_name

        close = find_nearest_name(config.provider.lower(), names)
        hint = f"did you mean {close!r}?" if close else f"choose one of {', '.join(names)}, or give --base-url"
        raise ConfigError(f"unknown provider {config.provider!r}: {hint}")
    return preset


def _preset_with_key(config: Config, env: Mapping[str, str]) -> ServerPreset | None:
    """The first server whose key is in the environment, where its address is known as well."""
    if config.api_key or config.api_key_command:
        return find_preset("openai")
    return next((preset for preset in PRESETS if _is_found(preset, env)), None)


def _is_found(preset: ServerPreset, env: Mapping[str, str]) -> bool:
    if not (preset.key_required and preset.found_by_key and env.get(preset.key_variable, "").strip()):
        return False
    if preset.base_url:
        return True
    try:
        return bool(_address(preset, _address_variable(preset, env), env))
    except ConfigError:  # a key without its resource or region says nothing about this start
        return False


def _key(
    config: Config, env: Mapping[str, str], preset: ServerPreset | None, *, asked: bool, learn: Callable[[str], None]
) -> _Key:
    """The key for the server. A preset's key goes nowhere else, and OPENAI_API_KEY to no other preset."""
    if config.api_key and config.api_key_command:
        raise ConfigError("api_key and api_key_command are both set: remove one of them")
    if config.api_key_command:
        from clio.providers.key_command import KeyCommand

        ttl_s = config.api_key_command_ttl_s
        command = KeyCommand(config.api_key_command, env, ttl_s=ttl_s, learn_secret=learn)
        return _Key(variable=KEY_COMMAND, command=command)
    variable, key = preset.find_key(env) if preset else (DEFAULT_KEY_VARIABLE, env.get(DEFAULT_KEY_VARIABLE, ""))
    key = (config.api_key or key).strip()
    if key and not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key in {variable} holds characters that no key has: copy it again")
    if preset and preset.key_required and not key and not asked:
        raise ConfigError(f"{preset.name} needs a key and none is set: {_next_step(preset)}")
    return _Key(text=key, variable=variable or DEFAULT_KEY_VARIABLE)


def _next_step(preset: ServerPreset) -> str:
    if preset.name == "vertex":
        return '"gcloud auth print-access-token" as `api_key_command` in your configuration gives one'
    return f"set {preset.key_variable}"


def _connect(
    config: Config,
    preset: ServerPreset | None,
    url: str,
    key: _Key,
    models: tuple[str, ...],
    book: LessonBook | None,
    *,
    doubtful: bool = False,
) -> Provider:
    protocol = _protocol(config, preset, url)
    url = _with_messages_version(url) if protocol == "messages" else url
    model = config.model or (preset.default_model if preset else None) or _first_model(url, key, models)
    endpoint = Endpoint(
        name=preset.name if preset else _display_name(url),
        base_url=url,
        model=model,
        key_variable=key.variable,
        has_key=bool(key.text or key.command),
        address_setting=_address_setting(config, preset),
        doubtful_address=doubtful,
    )
    learned = (book or LessonBook()).lessons_for(urlsplit(strip_login(url)).netloc, model)
    auth = _auth(key, protocol, endpoint, preset, learned.lessons)
    may_switch = config.api == "auto" and protocol != "messages"

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


def _address_setting(config: Config, preset: ServerPreset | None) -> str:
    """What the user would change to reach another address."""
    if config.base_url is None and preset is not None:
        if preset.name == "bedrock":
            return "AWS_REGION"
        if preset.name == "vertex":
            return "GOOGLE_CLOUD_LOCATION"
        return preset.url_variable or "--base-url"
    return "--base-url"


def _protocol(config: Config, preset: ServerPreset | None, url: str) -> ProtocolName:
    """The protocol to begin with: as configured, else the preset's, else what the address tells."""
    if config.api != "auto":
        return config.api
    if "anthropic" in urlsplit(url).path.split("/"):
        return "messages"
    return preset.protocol if preset is not None else "chat"


def _learned_protocol(
    protocol: ProtocolName, learned: ModelLessons, preset: ServerPreset | None, url: str, *, may_switch: bool
) -> ProtocolName:
    """The same, or what the server was found to speak instead. A maker's own server is asked again in every run, and
    one that the user chose a protocol for, once a day."""
    if protocol == "responses" and learned.protocol == "chat":
        own = preset is not None and url_host(url) == url_host(preset.base_url)
        return "chat" if (may_switch or learned.is_fresh) and not own else protocol
    return "responses" if protocol == "chat" and learned.protocol == "responses" and may_switch else protocol


def _auth(key: _Key, protocol: ProtocolName, at: Endpoint, preset: ServerPreset | None, lessons: Lessons) -> Auth:
    if protocol != "messages":
        return Auth(key.text, preset.key_scheme if preset else "bearer", command=key.command)
    from clio.providers.messages import make_headers

    # Other makers' servers look for the key in one of two headers; Anthropic knows only its own.
    own: Scheme = "bearer" if key.variable == "ANTHROPIC_AUTH_TOKEN" else "x-api-key"
    is_anthropic = url_host(at.base_url).endswith("anthropic.com")
    scheme: Scheme = own if is_anthropic else "x-api-key and bearer"
    return Auth(key.text, scheme, make_headers(at.model, lessons), command=key.command)


def _speak(
    name: ProtocolName, at: Endpoint, config: Config, preset: ServerPreset | None, lessons: Lessons
) -> WireProtocol:
    """Only the protocol that is spoken is imported."""
    own = config.models.get(at.model)
    tools, images = own is None or own.tools, takes_images(config, at.model)
    place = urlsplit(strip_login(at.base_url)).netloc
    origin = f"{name} {place} {at.model}"
    match name:
        case "chat":
            quirks = find_quirks(preset, at.base_url, at.model)
            return ChatProtocol(
                at.model,
                quirks,
                tools=tools,
                images=images,
                origin=origin,
                lessons=lessons,
                lifetime=config.cache_ttl,
            )
        case "responses":
            from clio.providers.responses import ResponsesProtocol

            return ResponsesProtocol(at.model, tools=tools, images=images, origin=origin, lessons=lessons)
        case "messages":
            from clio.providers.messages import MessagesProtocol

            return MessagesProtocol(
                at.model, tools=tools, images=images, origin=origin, lessons=lessons, lifetime=config.cache_ttl
            )


def _transport(config: Config, url: str, auth: Auth, protocol: ProtocolName) -> Transport:
    package = config.transport == "openai" or (config.transport == "auto" and bool(explain_package_need(url)))
    if package and protocol != "messages":
        from clio.providers.openai_transport import OpenAITransport

        return OpenAITransport(url, auth)
    return LeanTransport(url, auth)


def _first_model(url: str, key: _Key, models: tuple[str, ...]) -> str:
    place = strip_login(url)
    if not models and url.startswith("http://") and is_local_host(url_host(url)):
        models = list_models(url, _read_now(key))
        if not models:
            raise ConfigError(
                f"no model is named and the server at {place} lists none: start it, correct --base-url, or set --model"
            )
    if not models:
        raise ConfigError(f"no model is named for {place}: set --model, CLIO_MODEL, or `model:` in the configuration")
    return models[0]


def _read_now(key: _Key) -> str:
    """The key, from its command where one prints it; blocking."""
    if key.command is None:
        return key.text
    try:
        return key.command.read_key()
    except TransportFailed as error:
        raise ConfigError(error.failure.detail) from None


def _with_messages_version(url: str) -> str:
    """The base URL of Messages, which are below /v1 whatever else is in the path."""
    return url if is_version(urlsplit(url).path.rsplit("/", 1)[-1]) else f"{url}/v1"


def _display_name(url: str) -> str:
    return urlsplit(strip_login(url)).netloc if is_loopback(url_host(url)) else url_host(url)


class OpenedProviders:
    """first: the one that answers at the start. book: what refusals teach any of them. learn_secret: see
    `make_provider`.
    """

    def __init__(
        self,
        config: Config,
        env: Mapping[str, str],
        first: Provider,
        book: LessonBook | None = None,
        learn_secret: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._config = config
        self._running = resolve_alias(config)
        self.server_alias = self._alias_at_start()
        """The alias whose server answers now; "" for the configured server."""
        self._env = env
        self._book = book
        self._learn_secret = learn_secret
        self._opened = [first]

    def config_for(self, model: str) -> Config:
        """The configuration for a model: what an alias stands for, else a model of the server that answers now."""
        if is_alias(self._config, model):
            return resolve_alias(structs.replace(self._config, model=model))
        return structs.replace(self._running, model=model)

    def open(self, model: str) -> Provider:
        """One for another model or alias. Raises ConfigError. Those opened before may still be answering."""
        provider = make_provider(self.config_for(model), self._env, book=self._book, learn_secret=self._learn_secret)
        self._opened.append(provider)
        return provider

    def switch(self, model: str, *, at_start: bool = False, server_alias: str = "") -> tuple[Config, Provider]:
        """The same, for the model that answers from now on. Raises ConfigError, and nothing has changed then.

        at_start: a name that is no alias is a model of the server clio was started with, not of the running one.
        server_alias: such a name is a model of this alias's server instead.
        """
        before = self._running, self.server_alias
        try:
            if server_alias:
                self.resume(self._config_of_alias(server_alias, model), server_alias)
            elif at_start:
                self.resume(resolve_alias(self._config), self._alias_at_start())
            config, provider = self.config_for(model), self.open(model)
        except ConfigError:
            self._running, self.server_alias = before
            raise
        self._running = config
        if is_alias(self._config, model):
            self.server_alias = model
        return config, provider

    def resume(self, config: Config, server_alias: str) -> None:
        """Names that are no aliases are models of this configuration's server again, which `server_alias` names."""
        self._running, self.server_alias = config, server_alias

    def _alias_at_start(self) -> str:
        return (self._config.model or "") if is_alias(self._config, self._config.model) else ""

    def _config_of_alias(self, alias: str, model: str) -> Config:
        if not is_alias(self._config, alias):
            raise ConfigError(f"it was chosen on the server of {alias!r}, and `models:` has no such alias any more")
        return resolve_alias(structs.replace(self._config, model=alias))

    async def close(self) -> None:
        """Close the connections of all."""
        for provider in self._opened:
            await provider.close()
