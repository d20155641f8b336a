"""Builds a provider from the configuration: server, address, key, model and protocol."""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct, structs

from clio.config.schema import KEYRING_KEY, Config, ModelSettings
from clio.errors import ConfigError
from clio.providers.auth import Auth, Scheme
from clio.providers.base import OFFLINE, Lessons, ProtocolName, Provider, WatchStream, WireProtocol
from clio.providers.chat import ChatProtocol
from clio.providers.failure import KEY_COMMAND, Endpoint, TransportFailed
from clio.providers.http_provider import HttpProvider
from clio.providers.lean_transport import LeanTransport, Transport, explain_package_need
from clio.providers.lesson_book import LessonBook, ModelLessons
from clio.providers.limits import list_model_names, list_model_rows, takes_images
from clio.providers.profiles import PRESETS, ServerPreset, find_preset, find_preset_by_url, find_quirks, is_own_host
from clio.providers.urls import is_local_host, is_loopback, is_version, normalise_base_url, strip_login, url_host
from clio.text.json_data import as_text, decode_json
from clio.text.translation import tr
from clio.threads import BackgroundCall

if TYPE_CHECKING:
    from clio.providers.key_command import KeyCommand
    from clio.providers.keyring_key import KeyringKey


# An unknown region may be new: it is used anyway, and doubted only if its host name cannot be resolved.
_AWS_REGIONS = frozenset(
    "us-east-1 us-east-2 us-west-1 us-west-2 us-gov-east-1 us-gov-west-1 ca-central-1 ca-west-1 sa-east-1 mx-central-1 "
    "eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3 af-south-1 il-central-1 "
    "me-central-1 me-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 "
    "ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7 "
    "cn-north-1 cn-northwest-1".split()
)
_VERTEX_LOCATIONS = frozenset(
    "global us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4 "
    "northamerica-northeast1 northamerica-northeast2 northamerica-south1 southamerica-east1 southamerica-west1 "
    "africa-south1 europe-central2 europe-north1 europe-north2 europe-southwest1 europe-west1 europe-west2 "
    "europe-west3 europe-west4 europe-west6 europe-west8 europe-west9 europe-west10 europe-west12 "
    "me-central1 me-central2 me-west1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 "
    "asia-south1 asia-south2 asia-southeast1 asia-southeast2 australia-southeast1 australia-southeast2".split()
)
_AWS_REGION = r"[a-z]{2,8}(-[a-z0-9]+)+-\d+"
_GOOGLE_PROJECT = r"[a-zA-Z0-9_-][a-zA-Z0-9_.:-]*"
_GOOGLE_LOCATION = r"[a-z0-9-]+"


def find_cloud_address(name: str, env: Mapping[str, str]) -> str:
    """Return the base URL of azure, bedrock or vertex. Raises ConfigError if a setting is missing or invalid."""
    match name:
        case "bedrock":
            return _find_bedrock_url(env)
        case "vertex":
            return _find_vertex_url(env)
        case _:
            raise ConfigError(
                tr(
                    "azure needs the address of your resource: set AZURE_OPENAI_ENDPOINT, or `base_url`, such as "
                    "https://NAME.openai.azure.com"
                )
            )


def has_unknown_region(name: str, env: Mapping[str, str]) -> bool:
    """Whether the region or location in an address is unknown to clio."""
    if name == "bedrock":
        return _find_first_variable(env, "AWS_REGION", "AWS_DEFAULT_REGION")[1] not in _AWS_REGIONS
    return (
        name == "vertex"
        and _find_first_variable(env, "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION")[1] not in _VERTEX_LOCATIONS
    )


def complete_azure_address(url: str) -> str:
    """Return the base URL of the v1 API for an address of an Azure resource, as dashboards show it.

    Raises ConfigError if it is not an address.
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
    return urlunsplit(
        (parts.scheme, parts.netloc, "".join(f"/{segment}" for segment in (*before, "openai", "v1")), "", "")
    )


def _find_bedrock_url(env: Mapping[str, str]) -> str:
    variable, region = _find_first_variable(env, "AWS_REGION", "AWS_DEFAULT_REGION")
    if not region:
        raise ConfigError(tr("bedrock needs a region: set AWS_REGION, such as us-east-1"))
    if not re.fullmatch(_AWS_REGION, region):
        raise ConfigError(
            tr(
                "bedrock: {region!r} is not an AWS region: set {variable} to a region such as us-east-1",
                region=region,
                variable=variable,
            )
        )
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://bedrock-runtime.{region}.{domain}/openai/v1"


def _find_vertex_url(env: Mapping[str, str]) -> str:
    variable, project = _find_first_variable(env, "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID")
    if not project:
        raise ConfigError(tr("vertex needs a project: set GOOGLE_CLOUD_PROJECT to its id"))
    if not re.fullmatch(_GOOGLE_PROJECT, project):
        raise ConfigError(
            tr("vertex: {project!r} is not a project id: correct {variable}", project=project, variable=variable)
        )
    variable, location = _find_first_variable(env, "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION")
    if not location:
        raise ConfigError(tr("vertex needs a location: set GOOGLE_CLOUD_LOCATION, such as global or us-central1"))
    if not re.fullmatch(_GOOGLE_LOCATION, location):
        raise ConfigError(
            tr(
                "vertex: {location!r} is not a location: set {variable} to a location such as global or us-central1",
                location=location,
                variable=variable,
            )
        )
    host = "aiplatform.googleapis.com" if location == "global" else f"{location}-aiplatform.googleapis.com"
    return f"https://{host}/v1/projects/{project}/locations/{location}/endpoints/openapi"


def _find_first_variable(env: Mapping[str, str], *names: str) -> tuple[str, str]:
    """Return the first variable that is set, and its value; the first name and "" if none is set."""
    found = ((name, env.get(name, "").strip()) for name in names)
    return next((pair for pair in found if pair[1]), (names[0], ""))


TIME_LIMIT_S = 0.1
"""Limit for looking for a local server; all ports are asked at the same time."""
USUAL_PORTS: Mapping[int, str] = {11434: "ollama", 1234: "lmstudio", 8080: "llamacpp", 8000: "vllm"}
_MAX_ANSWER_BYTES = 4_000_000
_OTHER_MODEL_NAMES = ("embed", "bge-", "rerank", "whisper", "tts", "clip")


class FoundServer(Struct, frozen=True, kw_only=True):
    """A server that answered, and the names of its models, loaded ones first."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def discover_server(
    ports: Mapping[int, str] = USUAL_PORTS, time_limit_s: float = TIME_LIMIT_S
) -> FoundServer | None:
    """Return the first server in the order of `ports` that lists a model within the time limit, else None."""
    urls = {f"http://127.0.0.1:{port}/v1": name for port, name in ports.items()}
    tasks = [asyncio.create_task(ask_models(url, time_limit_s)) for url in urls]
    answers = await asyncio.gather(*tasks)
    for (url, name), models in zip(urls.items(), answers, strict=True):
        if models:
            return FoundServer(name=name, base_url=url, models=models)
    return None


async def ask_models(base_url: str, time_limit_s: float, key: str | None = None) -> tuple[str, ...]:
    """Return the chat models that a plain-HTTP server lists; () if it does not answer as a model server in time."""
    try:
        async with asyncio.timeout(time_limit_s):
            body = await _fetch_models(base_url, key)
        answer: object = decode_json(body)
    except (OSError, TimeoutError, ValueError, EOFError, asyncio.LimitOverrunError):
        return ()  # nothing is listening, or another kind of server
    loaded = [as_text(row.get("id")) for row in list_model_rows(answer) if row.get("state") == "loaded"]
    names = [name for name in dict.fromkeys([*loaded, *list_model_names(answer)]) if name]
    chat = [name for name in names if not any(part in name.lower() for part in _OTHER_MODEL_NAMES)]
    return tuple(chat or names)


async def _fetch_models(base_url: str, key: str | None) -> bytes:
    """Return the body of GET <base_url>/models. Uses HTTP/1.0, so that the server closes the connection."""
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
            return await reader.readexactly(min(int(length[1]), _MAX_ANSWER_BYTES))
        if b"chunked" in head:  # not allowed in HTTP/1.0, but some servers do it
            return await _read_chunks(reader)
        return await reader.read(-1)
    finally:
        writer.close()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while (size := int((await reader.readline()).split(b";")[0], 16)) and len(body) < _MAX_ANSWER_BYTES:
        body += (await reader.readexactly(size + 2))[:-2]
    return body


def find_local_server(ports: Mapping[int, str] = USUAL_PORTS) -> FoundServer | None:
    """`discover_server` for synchronous callers, also under a running event loop; takes at most `TIME_LIMIT_S`."""
    return BackgroundCall(lambda: asyncio.run(discover_server(ports)), "find-model-server").wait()


def list_models(base_url: str, key: str | None) -> tuple[str, ...]:
    """`ask_models` for synchronous callers."""
    return BackgroundCall(lambda: asyncio.run(ask_models(base_url, 1.0, key)), "list-models").wait()


def is_alias(config: Config, name: str | None) -> bool:
    """Whether a name is an alias of a model on a server, and not a model's own name with its settings."""
    settings = config.models.get(name) if name else None
    return settings is not None and bool(settings.model or settings.provider or settings.base_url)


def resolve_alias(config: Config) -> Config:
    """Return the configuration with the alias in `config.model` resolved; unchanged if that is not an alias.

    An alias on another server replaces address, key and protocol, because they belong together. The alias's other
    settings apply to the model it stands for. An alias is never resolved twice.
    """
    name = config.model
    alias = config.models.get(name) if name else None
    if name is None or alias is None or not is_alias(config, name):
        return config
    model = alias.model or name
    known = config.models.get(model, ModelSettings()) if model != name else ModelSettings()
    merged = structs.replace(
        known,
        **{field: value for field, value in _find_changed_settings(alias).items() if field not in _SERVER_SETTINGS},
    )
    changed: dict[str, object] = {"model": model, "models": {**config.models, model: merged}}
    if alias.provider or alias.base_url:
        same_server = alias.base_url in (None, config.base_url) and alias.provider in (None, config.provider)
        if not same_server:
            changed |= {"provider": alias.provider, "base_url": alias.base_url, "api": "auto"}
            # The keyring has a key for each server; any other key belongs to the server it is configured for.
            changed |= {"api_key": config.api_key if config.api_key == KEYRING_KEY else None, "api_key_command": None}
    if alias.api_key_command:
        changed |= {"api_key": None, "api_key_command": alias.api_key_command}
    if alias.api:
        changed["api"] = alias.api
    return structs.replace(config, **changed)


def find_model_settings(config: Config, model: str) -> ModelSettings | None:
    """Return the settings of a model by its own name, else by the first alias for it; None if there are none."""
    own = config.models.get(model)
    return own or next((one for one in config.models.values() if one.model == model), None)


_SERVER_SETTINGS = frozenset(("provider", "model", "base_url", "api", "api_key_command"))


def _find_changed_settings(settings: ModelSettings) -> dict[str, object]:
    """Return the settings that differ from the defaults."""
    default = ModelSettings()
    values = {name: getattr(settings, name) for name in settings.__struct_fields__}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"


def make_provider(
    config: Config,
    env: Mapping[str, str],
    *,
    book: LessonBook | None = None,
    find_server: Callable[[], FoundServer | None] = find_local_server,
    learn_secret: Callable[[str], None] = lambda _: None,
) -> Provider:
    """Return the provider for this configuration.

    Opens no connection, except that it looks for a local server (at most 0.1 s) if nothing is configured, and asks a
    local server for its models (at most 1 s) if no model is named. `config.model` may be an alias.

    Args:
        book: what was learned from rejected requests; without it, only this provider learns from them.
        learn_secret: called with a key printed by `api_key_command` before it is used.

    Raises:
        ConfigError: for an unknown provider, an invalid address, or a missing key, region, project or model.
    """
    if (config.provider or "").lower() == OFFLINE and not is_alias(config, config.model):
        return _make_offline(config)
    config = resolve_alias(config)
    if (config.provider or "").lower() == OFFLINE:
        return _make_offline(config)
    preset = _find_named_preset(config)
    base_url = config.base_url or (
        _read_url_variable(preset, env) if preset else env.get("OPENAI_BASE_URL", "").strip()
    )
    if preset is None and not base_url:
        preset = _find_preset_with_key(config, env)
        if preset is None:
            found = find_server()
            if found is None:
                return _make_offline(config)
            return _connect(config, find_preset(found.name), found.base_url, _Key(), found.models, book)
        base_url = _read_url_variable(preset, env)
    url = _find_base_url(preset, base_url, env)
    preset = preset or find_preset_by_url(url)
    key = _find_key(config, env, preset, has_base_url=bool(config.base_url), learn_secret=learn_secret)
    is_doubtful = not base_url and preset is not None and not preset.base_url and has_unknown_region(preset.name, env)
    return _connect(config, preset, url, key, (), book, doubtful=is_doubtful)


class _Key(Struct, frozen=True, kw_only=True):
    """An API key and the variable it is from. command: prints the key; used in place of `text`."""

    text: str = ""
    variable: str = DEFAULT_KEY_VARIABLE
    command: "KeyCommand | KeyringKey | None" = None


def _read_url_variable(preset: ServerPreset, env: Mapping[str, str]) -> str:
    return env.get(preset.url_variable, "").strip() if preset.url_variable else ""


def _find_base_url(preset: ServerPreset | None, base_url: str, env: Mapping[str, str]) -> str:
    """Return the base URL: the given one, completed, else the preset's. An Azure resource is recognised by its host.

    Raises ConfigError if a resource or region is missing.
    """
    if base_url:
        host = url_host(base_url if "://" in base_url else f"//{base_url}")
        server = preset or next((known for known in PRESETS if host and is_own_host(known, host)), None)
        if server is not None and server.name == "azure":
            return complete_azure_address(base_url)
        return normalise_base_url(base_url)
    if preset is None or preset.base_url:
        return preset.base_url if preset else ""
    return find_cloud_address(preset.name, env)


def _make_offline(config: Config) -> Provider:
    from clio.providers.offline import OfflineProvider

    return OfflineProvider(config.context_window)


def _find_named_preset(config: Config) -> ServerPreset | None:
    if config.provider is None:
        return None
    preset = find_preset(config.provider)
    if preset is None:
        names = [*(preset.name for preset in PRESETS), OFFLINE]
        from clio.text.fuzzy import find_nearest_name

        close = find_nearest_name(config.provider.lower(), names)
        hint = (
            tr("did you mean {close!r}?", close=close)
            if close
            else tr("choose one of {names}, or give --base-url", names=", ".join(names))
        )
        raise ConfigError(tr("unknown provider {provider!r}: {hint}", provider=config.provider, hint=hint))
    return preset


def _find_preset_with_key(config: Config, env: Mapping[str, str]) -> ServerPreset | None:
    """Return the first preset whose key is in the environment, provided that its address is known as well."""
    if config.api_key or config.api_key_command:
        return find_preset("openai")
    return next((preset for preset in PRESETS if _is_usable(preset, env)), None)


def _is_usable(preset: ServerPreset, env: Mapping[str, str]) -> bool:
    if not (preset.key_required and preset.found_by_key and env.get(preset.key_variable, "").strip()):
        return False
    if preset.base_url:
        return True
    try:
        return bool(_find_base_url(preset, _read_url_variable(preset, env), env))
    except ConfigError:  # a key without its resource or region is probably there for another program
        return False


def _find_key(
    config: Config,
    env: Mapping[str, str],
    preset: ServerPreset | None,
    *,
    has_base_url: bool,
    learn_secret: Callable[[str], None],
) -> _Key:
    """Return the key for the server. A preset's key is sent only to its server, OPENAI_API_KEY to no other preset."""
    if config.api_key and config.api_key_command:
        raise ConfigError(tr("api_key and api_key_command are both set: remove one of them"))
    if config.api_key_command:
        from clio.providers.key_command import KeyCommand

        ttl_s = config.api_key_command_ttl_s
        command = KeyCommand(config.api_key_command, env, ttl_s=ttl_s, learn_secret=learn_secret)
        return _Key(variable=KEY_COMMAND, command=command)
    if config.api_key == KEYRING_KEY:
        from clio.providers.keyring_key import KeyringKey

        # By the host if an address is set: a preset's key is sent only to the preset's own server.
        account = url_host(config.base_url or "") if config.base_url or preset is None else preset.name
        variable = preset.key_variable if preset else DEFAULT_KEY_VARIABLE
        return _Key(variable=KEYRING_KEY, command=KeyringKey(account, variable, learn_secret))
    variable, key = preset.find_key(env) if preset else (DEFAULT_KEY_VARIABLE, env.get(DEFAULT_KEY_VARIABLE, ""))
    key = (config.api_key or key).strip()
    if key and not (key.isascii() and key.isprintable()):
        raise ConfigError(tr("the key in {variable} contains invalid characters: copy it again", variable=variable))
    if preset and preset.key_required and not key and not has_base_url:
        raise ConfigError(
            tr(
                "{preset} needs a key, but none is set: {key_setting}",
                preset=preset.name,
                key_setting=_describe_key_setting(preset),
            )
        )
    return _Key(text=key, variable=variable or DEFAULT_KEY_VARIABLE)


def _describe_key_setting(preset: ServerPreset) -> str:
    if preset.name == "vertex":
        return tr('set `api_key_command` to "gcloud auth print-access-token"')
    return tr("set {key_variable}", key_variable=preset.key_variable)


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
    protocol = _choose_protocol(config, preset, url)
    url = _with_messages_version(url) if protocol == "messages" else url
    model = config.model or (preset.default_model if preset else None) or _find_first_model(url, key, models)
    endpoint = Endpoint(
        name=preset.name if preset else _display_name(url),
        base_url=url,
        model=model,
        key_variable=key.variable,
        has_key=bool(key.text or key.command),
        address_setting=_find_address_setting(config, preset),
        doubtful_address=doubtful,
    )
    learned = (book or LessonBook()).lessons_for(urlsplit(strip_login(url)).netloc, model)
    auth = _make_auth(key, protocol, endpoint, preset, learned.lessons)
    may_switch = config.api == "auto" and protocol != "messages"

    def make_protocol(name: ProtocolName) -> WireProtocol:
        return _make_protocol(name, endpoint, config, preset, learned.lessons)

    return HttpProvider(
        endpoint,
        _make_transport(config, url, auth, protocol),
        auth,
        make_protocol,
        _apply_learned_protocol(protocol, learned, preset, url, may_switch=may_switch),
        config,
        may_switch=may_switch,
        learned=learned,
    )


def _find_address_setting(config: Config, preset: ServerPreset | None) -> str:
    """Return the setting or variable with which the user changes the address."""
    if config.base_url is None and preset is not None:
        if preset.name == "bedrock":
            return "AWS_REGION"
        if preset.name == "vertex":
            return "GOOGLE_CLOUD_LOCATION"
        return preset.url_variable or "--base-url"
    return "--base-url"


def _choose_protocol(config: Config, preset: ServerPreset | None, url: str) -> ProtocolName:
    """Return the protocol to begin with: from the configuration, else by the URL's path, else the preset's."""
    if config.api != "auto":
        return config.api
    if "anthropic" in urlsplit(url).path.split("/"):
        return "messages"
    return preset.protocol if preset is not None else "chat"


def _apply_learned_protocol(
    protocol: ProtocolName, learned: ModelLessons, preset: ServerPreset | None, url: str, *, may_switch: bool
) -> ProtocolName:
    """Return the protocol, replaced by the one that the server was found to support.

    A maker's own server is tried again in every run; one for which the user chose a protocol, once a day.
    """
    if protocol == "responses" and learned.protocol == "chat":
        is_makers_server = preset is not None and url_host(url) == url_host(preset.base_url)
        return "chat" if (may_switch or learned.is_fresh) and not is_makers_server else protocol
    return "responses" if protocol == "chat" and learned.protocol == "responses" and may_switch else protocol


def _make_auth(
    key: _Key, protocol: ProtocolName, endpoint: Endpoint, preset: ServerPreset | None, lessons: Lessons
) -> Auth:
    """Return the authentication headers for the protocol."""
    if protocol != "messages":
        return Auth(key.text, preset.key_scheme if preset else "bearer", command=key.command)
    from clio.providers.messages import make_headers

    # Other makers' servers read the key from one of two headers, so both are sent; Anthropic reads only its own.
    own_scheme: Scheme = "bearer" if key.variable == "ANTHROPIC_AUTH_TOKEN" else "x-api-key"
    is_anthropic = url_host(endpoint.base_url).endswith("anthropic.com")
    scheme: Scheme = own_scheme if is_anthropic else "x-api-key and bearer"
    return Auth(key.text, scheme, make_headers(endpoint.model, lessons), command=key.command)


def _make_protocol(
    name: ProtocolName, endpoint: Endpoint, config: Config, preset: ServerPreset | None, lessons: Lessons
) -> WireProtocol:
    """Return the protocol for the endpoint's model. Only the module of the chosen protocol is imported."""
    settings = config.models.get(endpoint.model)
    tools, images = settings is None or settings.tools, takes_images(config, endpoint.model)
    host = urlsplit(strip_login(endpoint.base_url)).netloc
    origin = f"{name} {host} {endpoint.model}"
    match name:
        case "chat":
            quirks = find_quirks(preset, endpoint.base_url, endpoint.model)
            return ChatProtocol(
                endpoint.model,
                quirks,
                tools=tools,
                images=images,
                origin=origin,
                lessons=lessons,
                lifetime=config.cache_ttl,
            )
        case "responses":
            from clio.providers.responses import ResponsesProtocol

            return ResponsesProtocol(
                endpoint.model,
                tools=tools,
                images=images,
                origin=origin,
                lessons=lessons,
                web_search=config.web_search == "model",
            )
        case "messages":
            from clio.providers.messages import MessagesProtocol

            return MessagesProtocol(
                endpoint.model,
                tools=tools,
                images=images,
                origin=origin,
                lessons=lessons,
                lifetime=config.cache_ttl,
                web_search=config.web_search == "model",
            )


def _make_transport(config: Config, url: str, auth: Auth, protocol: ProtocolName) -> Transport:
    needs_package = config.transport == "openai" or (config.transport == "auto" and bool(explain_package_need(url)))
    if needs_package and protocol != "messages":
        from clio.providers.openai_transport import OpenAITransport

        return OpenAITransport(url, auth)
    return LeanTransport(url, auth)


def _find_first_model(url: str, key: _Key, models: tuple[str, ...]) -> str:
    shown_url = strip_login(url)
    if not models and url.startswith("http://") and is_local_host(url_host(url)):
        models = list_models(url, _read_key(key))
        if not models:
            raise ConfigError(
                tr(
                    "no model is set, and the server at {shown_url} lists none: start it, correct "
                    "--base-url, or set --model",
                    shown_url=shown_url,
                )
            )
    if not models:
        raise ConfigError(
            tr(
                "no model is set for {shown_url}: set --model, CLIO_MODEL, or `model:` in the configuration",
                shown_url=shown_url,
            )
        )
    return models[0]


def _read_key(key: _Key) -> str:
    """Return the key, running its command if there is one; blocks."""
    if key.command is None:
        return key.text
    try:
        return key.command.read_key()
    except TransportFailed as error:
        raise ConfigError(error.failure.detail) from None


def _with_messages_version(url: str) -> str:
    """Return the URL with the version that Messages requires: their path is below /v1 whatever precedes it."""
    return url if is_version(urlsplit(url).path.rsplit("/", 1)[-1]) else f"{url}/v1"


def _display_name(url: str) -> str:
    return urlsplit(strip_login(url)).netloc if is_loopback(url_host(url)) else url_host(url)


class OpenedProviders:
    """All providers opened in this process.

    Args:
        first: the provider at the start.
        book: what was learned from rejected requests, for all providers.
        learn_secret: see `make_provider`.
        watch: observes each request of all providers.
    """

    def __init__(
        self,
        config: Config,
        env: Mapping[str, str],
        first: Provider,
        book: LessonBook | None = None,
        learn_secret: Callable[[str], None] = lambda _: None,
        watch: WatchStream | None = None,
    ) -> None:
        self._config = config
        self._running = resolve_alias(config)
        self.server_alias = self._alias_at_start()
        """The alias of the server in use; "" for the configured server."""
        self._env = env
        self._book = book
        self._learn_secret = learn_secret
        self._watch = watch
        self._opened = [first]
        self._add_watch(first)

    def config_for(self, model: str) -> Config:
        """Return the configuration for an alias, or for a model of the server in use."""
        if is_alias(self._config, model):
            return resolve_alias(structs.replace(self._config, model=model))
        return structs.replace(self._running, model=model)

    def open(self, model: str) -> Provider:
        """Open a provider for another model or alias. Raises ConfigError. Earlier providers stay open."""
        provider = make_provider(self.config_for(model), self._env, book=self._book, learn_secret=self._learn_secret)
        self._opened.append(provider)
        self._add_watch(provider)
        return provider

    def _add_watch(self, provider: Provider) -> None:
        if self._watch is not None and isinstance(provider, HttpProvider):
            provider.watch = self._watch

    def switch(self, model: str, *, at_start: bool = False, server_alias: str = "") -> tuple[Config, Provider]:
        """Open a provider for the model to be used from now on. Raises ConfigError, and then nothing has changed.

        Args:
            at_start: whether a name that is not an alias is a model of the server clio was started with.
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
        """Use this configuration's server, named `server_alias`, for model names that are not aliases."""
        self._running, self.server_alias = config, server_alias

    def _alias_at_start(self) -> str:
        return (self._config.model or "") if is_alias(self._config, self._config.model) else ""

    def _config_of_alias(self, alias: str, model: str) -> Config:
        if not is_alias(self._config, alias):
            raise ConfigError(
                tr("it was chosen with the alias {alias!r}, which is no longer in `models:`", alias=alias)
            )
        return resolve_alias(structs.replace(self._config, model=alias))

    async def close(self) -> None:
        """Close the connections of all providers."""
        for provider in self._opened:
            await provider.close()
