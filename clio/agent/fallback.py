"""Which model takes a step: the chosen one, or one of `fallback:` while the chosen one's server does not answer.

A server that did not answer is left alone for a while, then asked once; only an answer makes it the first again.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from clio.errors import ConfigError, ProviderRefused, RateLimited, ServerFailed, StreamBroken
from clio.providers.base import Provider

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
