"""The addresses of servers that depend on a resource, a region or a project: Azure, Bedrock and Vertex.

Sources: learn.microsoft.com/azure/foundry/openai/api-version-lifecycle (the v1 API), docs.aws.amazon.com/bedrock
(OpenAI-compatible endpoints), cloud.google.com/vertex-ai (OpenAI libraries). The variables are those that the makers'
own packages read.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from clio.errors import ConfigError
from clio.providers.urls import normalise_base_url

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
