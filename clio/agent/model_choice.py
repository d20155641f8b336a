"""Which model takes a step, and with which effort: the chosen one, or one of `fallback:` while its server is away."""

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
from clio.providers.registry import find_settings
from clio.sessions.session import Session


class EffortChoices:
    """The effort by model: chosen with /effort in the session, else as it is configured.

    session: where choices are stored; None for none. asked: the effort was given for this run, such as with a flag, and
    counts for every model.
    """

    def __init__(self, config: Config, session: Session | None = None, *, asked: bool = False) -> None:
        self._config = config
        self._session = session
        self._asked = asked
        self._chosen: dict[str, Effort] = {}

    def choose(self, model: str, effort: Effort) -> None:
        """Ask this model so from the next request on."""
        self._chosen[model] = effort
        if self._session is not None:
            self._session.set_effort(model, effort)

    def begin_session(self, session: Session) -> None:
        """Go on with the choices of a stored session; a new one begins with those made so far.

        What was given for this run goes before those of a stored session.
        """
        self._session = session
        if not session.messages:
            for model, effort in self._chosen.items():
                session.set_effort(model, effort)
            return
        levels: dict[str, Effort] = {level: level for level in get_args(Effort)}
        stored = {} if self._asked else session.efforts
        self._chosen = {model: levels[name] for model, name in stored.items() if name in levels}

    def effort_of(self, model: str) -> Effort:
        """The effort a model is asked with; "auto" leaves it to its server."""
        if (chosen := self._chosen.get(model)) is not None:
            return chosen
        own = find_settings(self._config, model)
        if own is not None and own.effort is not None and not self._asked:
            return own.effort
        return self._config.effort


def make_cache_key(session_id: str) -> str:
    """What the requests of one session share, also after it is resumed. A hash: it tells a server nothing else."""
    return hashlib.sha256(f"clio {session_id}".encode()).hexdigest()[:32]


COOLDOWN_S = 300.0


class FallbackModels:
    """The models of one running clio that may answer in place of the chosen one; shared by its sessions.

    names: models or aliases, in their order. open_model: gives the provider of one, or raises ConfigError; each is
    opened when it is first needed. warn: told of one that cannot be opened.
    """

    def __init__(
        self,
        names: Sequence[str] = (),
        open_model: Callable[[str], Provider] | None = None,
        *,
        cooldown_s: float = COOLDOWN_S,
        warn: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._waiting = list(names) if open_model else []  # not opened yet
        self._open_model = open_model
        self._opened: list[Provider] = []
        self._cooldown_s = cooldown_s
        self._warn = warn
        self._now = now
        self._failed: dict[str, float] = {}

    def pick(self, chosen: Provider, tried: Sequence[Provider] = ()) -> Provider | None:
        """The provider for a step whose chosen one is `chosen`; None where all were tried.

        Those whose server did not answer lately come last.
        """
        resting: list[Provider] = []
        seen = {_key(one) for one in tried}
        for provider in self._candidates(chosen):
            if _key(provider) in seen:
                continue
            seen.add(_key(provider))
            if not self._is_cooling(provider):
                return provider
            resting.append(provider)
        return resting[0] if resting else None

    def is_probe(self, provider: Provider) -> bool:
        """Whether a provider that did not answer is asked again for the first time, so that one try is enough."""
        return _key(provider) in self._failed and not self._is_cooling(provider)

    def failed(self, provider: Provider) -> None:
        """Its server did not answer."""
        if self._opened or self._waiting:  # else there is nothing to choose
            self._failed[_key(provider)] = self._now()

    def answered(self, provider: Provider) -> None:
        """Its server answered."""
        self._failed.pop(_key(provider), None)

    def _candidates(self, chosen: Provider) -> Iterator[Provider]:
        """The chosen one, then the others; each is opened when it is reached."""
        yield chosen
        for provider in tuple(self._opened):
            yield provider
        while self._waiting and self._open_model is not None:
            name = self._waiting.pop(0)
            try:
                provider = self._open_model(name)
            except ConfigError as error:
                self._warn(f"the fallback {name!r} is not used: {error}")
                continue
            self._opened.append(provider)
            yield provider

    def _is_cooling(self, provider: Provider) -> bool:
        since = self._failed.get(_key(provider))
        return since is not None and 0 <= self._now() - since < self._cooldown_s


def may_pass_on(error: Exception) -> bool:
    """Whether another model may take the step: the server is busy, out of order or out of reach, or the account's
    quota is used up; not where the request, the key or the address is wrong."""
    match error:
        case ServerFailed():
            return error.retryable or error.away
        case ProviderRefused():
            return error.exhausted
        case _:
            return isinstance(error, RateLimited | StreamBroken)


def _key(provider: Provider) -> str:
    return f"{provider.name} {provider.model}"
