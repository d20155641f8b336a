"""The environment variables clio reads, in one table.

Keys of single servers, such as ANTHROPIC_API_KEY, are read by the provider they belong to.
"""

from collections.abc import Collection, Mapping

from msgspec import Struct

from clio.config.fields import CONFIG_FIELDS, from_text
from clio.config.setting import Setting
from clio.errors import ConfigError


class Variable(Struct, frozen=True, kw_only=True):
    """One variable and the setting it gives.

    openai_only: read only while no other server is named, see `layers`; the provider reads it again for itself.
    switches_off: any value at all turns the setting off.
    """

    name: str
    field: str
    openai_only: bool = False
    switches_off: bool = False


# Lowest first: a CLIO_ variable beats the general one for the same setting.
VARIABLES: tuple[Variable, ...] = (
    Variable(name="OPENAI_BASE_URL", field="base_url", openai_only=True),
    Variable(name="OPENAI_API_KEY", field="api_key", openai_only=True),
    Variable(name="CLIO_MODEL", field="model"),
    Variable(name="CLIO_PROVIDER", field="provider"),
    Variable(name="CLIO_BASE_URL", field="base_url"),
    Variable(name="CLIO_API_KEY", field="api_key"),
    Variable(name="CLIO_API", field="api"),
    Variable(name="CLIO_EFFORT", field="effort"),
    Variable(name="CLIO_APPROVE", field="approve"),
    Variable(name="CLIO_SANDBOX", field="sandbox"),
    Variable(name="CLIO_MAX_STEPS", field="max_steps"),
    Variable(name="CLIO_CONTEXT_WINDOW", field="context_window"),
    Variable(name="CLIO_MAX_OUTPUT_TOKENS", field="max_output_tokens"),
    Variable(name="CLIO_LTM", field="ltm"),
    Variable(name="CLIO_INCOGNITO", field="incognito"),
    Variable(name="CLIO_DEBUG", field="debug"),
    Variable(name="CLIO_SCREEN_READER", field="screen_reader"),
    Variable(name="CLIO_THEME", field="theme"),
    Variable(name="NO_COLOR", field="color", switches_off=True),
)

SERVER_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "XAI_API_KEY",
    "MOONSHOT_API_KEY",
    "ZAI_API_KEY",
    "Z_AI_API_KEY",
    "MINIMAX_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "OLLAMA_API_KEY",
    "LMSTUDIO_API_KEY",
    "LLAMA_API_KEY",
    "VLLM_API_KEY",
)
"""Variables with keys of single servers: their values are secrets, whatever their names look like."""

OPENAI = tuple(variable.name for variable in VARIABLES if variable.openai_only)


def read_environment(env: Mapping[str, str], *, without: Collection[str] = ()) -> tuple[Setting, ...]:
    """The settings the environment gives; empty variables count as not set. Raises ConfigError naming the variable.

    without: variables that do not apply.
    """
    found: list[Setting] = []
    for variable in VARIABLES:
        text = env.get(variable.name, "").strip()
        if not text or variable.name in without:
            continue
        try:
            value = False if variable.switches_off else from_text(CONFIG_FIELDS[variable.field], text)
        except ValueError as error:
            raise ConfigError(f"the environment variable {variable.name} {error}") from None
        found.append(Setting(key=(variable.field,), value=value, origin=f"environment {variable.name}"))
    return tuple(found)
