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
        self.server_alias = self._alias_at_start()
        """The alias whose server answers now; "" for the configured server."""
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

    def switch(self, model: str, *, at_start: bool = False, server_alias: str = "") -> tuple[Config, Provider]:
        """The same, for the model that answers from now on. Raises ConfigError, and nothing has changed then.

        at_start: a name that is no alias is a model of the server clio was started with, not of the running one.
        server_alias: such a name is a model of this alias's server instead.
        """
        before = self._running, self.server_alias
        try:
            if server_alias:
                self.resume(self._config_of_alias(server_alias, model), server_alias)
            elif at_start:
                self.resume(resolve_alias(self._config), self._alias_at_start())
            config, provider = self.config_for(model), self.open(model)
        except ConfigError:
            self._running, self.server_alias = before
            raise
        self._running = config
        if is_alias(self._config, model):
            self.server_alias = model
        return config, provider

    def resume(self, config: Config, server_alias: str) -> None:
        """Names that are no aliases are models of this configuration's server again, which `server_alias` names."""
        self._running, self.server_alias = config, server_alias

    def _alias_at_start(self) -> str:
        return (self._config.model or "") if is_alias(self._config, self._config.model) else ""

    def _config_of_alias(self, alias: str, model: str) -> Config:
        if not is_alias(self._config, alias):
            raise ConfigError(f"it was chosen on the server of {alias!r}, and `models:` has no such alias any more")
        return resolve_alias(structs.replace(self._config, model=alias))

    async def close(self) -> None:
        """Close the connections of all."""
        for provider in self._opened:
            await provider.close()
