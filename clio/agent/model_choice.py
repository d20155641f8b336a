"""Which model answers a step and with which effort: the chosen model, or one of `fallback:` while its server fails."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from clio.config.schema import Config, Effort
from clio.errors import (
    ConfigError,
    ProviderRefused,
    RateLimited,
    ServerFailed,
    StreamBroken,
)
from clio.providers.base import Provider
from clio.providers.registry import find_model_settings
from clio.sessions.session import Session
from clio.text.translation import tr


class EffortChoices:
    """Effort per model: chosen with /effort in the session, otherwise as configured.

    Args:
        session: where choices are stored; None to store nothing.
        is_from_flag: whether the effort was set for this run, for instance with a flag; it then applies to every model.
    """

    def __init__(self, config: Config, session: Session | None = None, *, is_from_flag: bool = False) -> None:
        self._config = config
        self._session = session
        self._is_from_flag = is_from_flag
        self._chosen: dict[str, Effort] = {}

    def choose(self, model: str, effort: Effort) -> None:
        """Use this effort for the model from the next request on."""
        self._chosen[model] = effort
        if self._session is not None:
            self._session.set_effort(model, effort)

    def begin_session(self, session: Session) -> None:
        """Use the choices stored in a session; a new session starts with the choices made so far.

        A value set for this run takes precedence over those of a stored session.
        """
        self._session = session
        if not session.messages:
            for model, effort in self._chosen.items():
                session.set_effort(model, effort)
            return
        levels: dict[str, Effort] = {level: level for level in get_args(Effort)}
        stored = {} if self._is_from_flag else session.efforts
        # A newer version may have stored an effort this one does not know; it is ignored.
        self._chosen = {model: levels[name] for model, name in stored.items() if name in levels}

    def get_effort(self, model: str) -> Effort:
        """Return the effort to request from a model; "auto" leaves it to the server."""
        if (chosen := self._chosen.get(model)) is not None:
            return chosen
        model_settings = find_model_settings(self._config, model)
        if model_settings is not None and model_settings.effort is not None and not self._is_from_flag:
            return model_settings.effort
        return self._config.effort


def make_cache_key(session_id: str) -> str:
    """Return the prompt cache key that all requests of a session share, also after a resume.

    It is a hash, so that the server learns nothing else from it.
    """
    return hashlib.sha256(f"clio {session_id}".encode()).hexdigest()[:32]


COOLDOWN_S = 300.0
"""Seconds after a failure during which a server is asked only if no other is left."""


class FallbackModels:
    """The models of one clio process that may answer instead of the chosen one; shared by all its sessions.

    Args:
        names: models or aliases in order of preference.
        open_model: returns the provider of a model or raises ConfigError; each is opened when first needed.
        cooldown_s: seconds during which a failed server is asked last.
        warn: reports a model that cannot be opened.
    """

    def __init__(
        self,
        names: Sequence[str] = (),
        open_model: Callable[[str], Provider] | None = None,
        *,
        cooldown_s: float = COOLDOWN_S,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._unopened = list(names) if open_model else []
        self._open_model = open_model
        self._opened: list[Provider] = []
        self._cooldown_s = cooldown_s
        self._warn = warn
        self._failed_at: dict[str, float] = {}

    def pick_provider(self, chosen: Provider, tried: Sequence[Provider] = ()) -> Provider | None:
        """Return the provider for the next attempt of a step; None if all were tried.

        Servers that failed within the cooldown come last.

        Args:
            chosen: the provider of the chosen model, which is preferred.
        """
        cooling_down: list[Provider] = []
        excluded_keys = {_make_provider_key(failed) for failed in tried}
        for provider in self._iter_candidates(chosen):
            if _make_provider_key(provider) in excluded_keys:
                continue
            excluded_keys.add(_make_provider_key(provider))
            if not self._is_cooling(provider):
                return provider
            cooling_down.append(provider)
        return cooling_down[0] if cooling_down else None

    def is_probe(self, provider: Provider) -> bool:
        """Whether a provider that failed is being asked again for the first time; one attempt is then enough."""
        return _make_provider_key(provider) in self._failed_at and not self._is_cooling(provider)

    def record_failure(self, provider: Provider) -> None:
        """Record that the server did not answer."""
        if self._opened or self._unopened:  # without fallback models there is no choice to make
            self._failed_at[_make_provider_key(provider)] = time.monotonic()

    def record_answer(self, provider: Provider) -> None:
        """Record that the server answered."""
        self._failed_at.pop(_make_provider_key(provider), None)

    def _iter_candidates(self, chosen: Provider) -> Iterator[Provider]:
        """Yield the chosen provider, then the others; each is opened when it is reached."""
        yield chosen
        for provider in tuple(self._opened):
            yield provider
        while self._unopened and self._open_model is not None:
            name = self._unopened.pop(0)
            try:
                provider = self._open_model(name)
            except ConfigError as error:
                self._warn(tr("the fallback {name!r} is not used: {error}", name=name, error=error))
                continue
            self._opened.append(provider)
            yield provider

    def _is_cooling(self, provider: Provider) -> bool:
        since = self._failed_at.get(_make_provider_key(provider))
        return since is not None and 0 <= time.monotonic() - since < self._cooldown_s


def can_fall_back(error: Exception) -> bool:
    """Whether another model may take the step.

    True if the server is busy, failing or unreachable, or the quota of the account is used up; False if the request,
    the key or the address is wrong.
    """
    match error:
        case ServerFailed():
            return error.retryable or error.unreachable
        # A wrong key, model or address must be reported; a fallback would hide the mistake, and may cost more.
        case ProviderRefused():
            return error.exhausted
        case _:
            return isinstance(error, RateLimited | StreamBroken)


def _make_provider_key(provider: Provider) -> str:
    return f"{provider.name} {provider.model}"
