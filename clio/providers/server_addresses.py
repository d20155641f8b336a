"""Addresses of model servers: cloud resources and regions, and servers found on this machine."""

import asyncio
import re
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from clio.errors import ConfigError
from clio.providers.limits import names_in, rows_of
from clio.providers.urls import normalise_base_url
from clio.text.json_data import as_text, decode_json

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


def is_doubtful(name: str, env: Mapping[str, str]) -> bool:
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


class Found(Struct, frozen=True, kw_only=True):
    """A server that answered, and the names of its models, loaded ones first."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def discover(ports: Mapping[int, str] = USUAL_PORTS, time_limit_s: float = TIME_LIMIT_S) -> Found | None:
    """The first server, in the order of `ports`, that lists at least one model within the time; else None."""
    urls = {f"http://127.0.0.1:{port}/v1": name for port, name in ports.items()}
    tasks = [asyncio.create_task(ask_models(url, time_limit_s)) for url in urls]
    answers = await asyncio.gather(*tasks)
    for (url, name), models in zip(urls.items(), answers, strict=True):
        if models:
            return Found(name=name, base_url=url, models=models)
    return None


async def ask_models(base_url: str, time_limit_s: float, key: str | None = None) -> tuple[str, ...]:
    """The chat models a plain-HTTP server lists, () where it does not answer like a model server in time."""
    try:
        async with asyncio.timeout(time_limit_s):
            body = await _get(base_url, key)
        answer: object = decode_json(body)
    except (OSError, TimeoutError, ValueError, EOFError, asyncio.LimitOverrunError):
        return ()  # nobody there, or somebody else: both mean "not a model server"
    loaded = [as_text(row.get("id")) for row in rows_of(answer) if row.get("state") == "loaded"]
    names = [name for name in dict.fromkeys([*loaded, *names_in(answer)]) if name]
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


def find_local_server(ports: Mapping[int, str] = USUAL_PORTS) -> Found | None:
    """`discover` for synchronous callers, also below a running event loop; takes `TIME_LIMIT_S` at most."""
    found: list[Found | None] = []
    _in_thread(lambda: found.append(asyncio.run(discover(ports))))
    return found[0] if found else None


def list_models(base_url: str, key: str | None, time_limit_s: float = 1.0) -> tuple[str, ...]:
    """`ask_models` for synchronous callers."""
    found: list[tuple[str, ...]] = []
    _in_thread(lambda: found.append(asyncio.run(ask_models(base_url, time_limit_s, key))))
    return found[0] if found else ()


def _in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work, name="find-model-server")
    thread.start()
    thread.join()
