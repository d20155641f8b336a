"""The providers of one running clio: each answers for one model, and all are closed together."""

from collections.abc import Callable, Mapping

from msgspec import structs

from clio.config.schema import Config
from clio.errors import ConfigError
from clio.providers.aliases import is_alias, resolve_alias
from clio.providers.base import Provider
from clio.providers.lesson_book import LessonBook
from clio.providers.registry import make_provider


class OpenedProviders:
    """first: the one that answers at the start. book: what refusals teach any of them. learn_secret: see
    `make_provider`.
    """

    def __init__(
        self,
        config: Config,
        env: Mapping[str, str],
        first: Provider,
        book: LessonBook | None = None,
        learn_secret: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._config = config
        self._running = resolve_alias(config)
        self._env = env
        self._book = book
        self._learn_secret = learn_secret
        self._opened = [first]

    def config_for(self, model: str) -> Config:
        """The configuration for a model: what an alias stands for, else a model of the server that answers now."""
        if is_alias(self._config, model):
            return resolve_alias(structs.replace(self._config, model=model))
        return structs.replace(self._running, model=model)

    def open(self, model: str) -> Provider:
        """One for another model or alias. Raises ConfigError. Those opened before may still be answering."""
        provider = make_provider(self.config_for(model), self._env, book=self._book, learn_secret=self._learn_secret)
        self._opened.append(provider)
        return provider

    def switch(self, model: str, *, at_start: bool = False) -> tuple[Config, Provider]:
        """The same, for the model that answers from now on. Raises ConfigError, and nothing has changed then.

        at_start: a name that is no alias is a model of the server clio was started with, not of the running one.
        """
        before = self._running
        if at_start:
            self.resume(resolve_alias(self._config))
        try:
            config, provider = self.config_for(model), self.open(model)
        except ConfigError:
            self._running = before
            raise
        self._running = config
        return config, provider

    def resume(self, config: Config) -> None:
        """Names that are no aliases are models of this configuration's server again."""
        self._running = config

    async def close(self) -> None:
        """Close the connections of all."""
        for provider in self._opened:
            await provider.close()
