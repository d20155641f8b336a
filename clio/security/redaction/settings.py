"""The redactor a person's settings and environment ask for."""

from collections.abc import Mapping

from clio.config.environment import SERVER_KEYS
from clio.config.schema import Config
from clio.security.redaction.names import env_secrets
from clio.security.redaction.redactor import Redactor


def redactor_for(config: Config, env: Mapping[str, str]) -> Redactor:
    """A redactor that knows the patterns and the key of the settings, and the secrets of the environment.

    Raises ConfigError for a pattern that is no regular expression.
    """
    keys = [*([config.api_key] if config.api_key else ()), *(env.get(name, "") for name in SERVER_KEYS)]
    return Redactor(config.redact_patterns, [*env_secrets(dict(env)), *keys], enabled=config.redact)
