"""The providers of one running clio, which share a server: each answers for one model, and all are closed together."""

from collections.abc import Mapping

from msgspec import structs

from clio.config.schema import Config
from clio.providers.base import Provider
from clio.providers.lesson_book import LessonBook
from clio.providers.registry import make_provider


class OpenedProviders:
    """first: the one that answers at the start. book: what refusals teach any of them."""

    def __init__(self, config: Config, env: Mapping[str, str], first: Provider, book: LessonBook | None = None) -> None:
        self._config = config
        self._env = env
        self._book = book
        self._opened = [first]

    def open(self, model: str) -> Provider:
        """One for another model. Raises ConfigError. Those that were opened before may still be answering."""
        provider = make_provider(structs.replace(self._config, model=model), self._env, book=self._book)
        self._opened.append(provider)
        return provider

    async def close(self) -> None:
        """Close the connections of all."""
        for provider in self._opened:
            await provider.close()
