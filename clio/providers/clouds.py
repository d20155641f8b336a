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
