"""Names of the user's own for models: `models:` in the configuration maps one to a provider, a model and settings."""

from msgspec import structs

from clio.config.schema import Config, ModelSettings


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


def find_settings(config: Config, model: str) -> ModelSettings | None:
    """What is configured for a model by its own name, else by the first alias that stands for it; None for nothing."""
    own = config.models.get(model)
    return own or next((one for one in config.models.values() if one.model == model), None)


_SERVER = frozenset(("provider", "model", "base_url", "api", "api_key_command"))


def _given(own: ModelSettings) -> dict[str, object]:
    """The settings that differ from the defaults."""
    default = ModelSettings()
    values = {name: getattr(own, name) for name in own.__struct_fields__}
    return {name: value for name, value in values.items() if value != getattr(default, name)}
