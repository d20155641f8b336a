"""Open the memory with the settings of the configuration. Used by conversations, sub-commands and the MCP server."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from clio.config.loaded import LoadedConfig
from clio.config.schema import Config
from clio.config.trust import load_or_create_key
from clio.errors import ClioError
from clio.memory.preferences.preferences import Fading
from clio.memory.preferences.task_types import TaskTypes, load_task_types
from clio.memory.system import MemorySystem
from clio.memory.vectors.embedders import Embedder, HashedEmbedder
from clio.sessions.store import SessionStore


def open_memory(
    loaded: LoadedConfig,
    store: SessionStore,
    *,
    redact: Callable[[str], str],
    env: Mapping[str, str],
    scenarios: TaskTypes | None = None,
    clock: Callable[[], float] = time.time,
) -> MemorySystem:
    """Return the memory of a project and its user.

    Args:
        redact: removes secrets from everything that is stored.
        env: the environment variables, which may contain API keys of embedding servers.
        scenarios: the user's task types, if they were already read; otherwise they are read from the home folder.
    """
    config = loaded.config
    if loaded.has_foreign_memory and not config.incognito:
        with suppress(OSError, ClioError):
            # Before this run is recorded in the ledger of costs: a new key lists the projects of that ledger as used
            # before, and this project must not be among them.
            load_or_create_key(loaded.home)
    return MemorySystem(
        loaded.main_project,
        store,
        incognito=config.incognito,
        ltm=config.ltm,
        redact=redact,
        clock=clock,
        home=loaded.home,
        is_foreign=loaded.has_foreign_memory,
        embedder=make_embedder(config, env),
        across_sessions=config.brain_across_sessions,
        near_distance=config.brain_distance,
        scenarios=scenarios or load_task_types(loaded.home),
        fading=Fading(half_life_days=config.preference_half_life_days, floor=config.preference_floor),
    )


def make_embedder(config: Config, env: Mapping[str, str]) -> Embedder:
    """Return the configured embedder. Imports only that one, and opens no connection."""
    match config.embedder:
        case "hashed":
            return HashedEmbedder()
        case "minilm":
            from clio.memory.vectors.model_embedders import MiniLmEmbedder

            return MiniLmEmbedder(Path(config.embedding_folder).expanduser() if config.embedding_folder else None)
        case "endpoint":
            from clio.memory.vectors.model_embedders import make_endpoint_embedder

            return make_endpoint_embedder(config, env)
