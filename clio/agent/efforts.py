"""The effort each model is asked with: chosen with /effort in this run, else as it is configured."""

import hashlib

from clio.config.schema import Config, Effort
from clio.providers.aliases import find_settings


class EffortChoices:
    """The effort by model. asked: it was given for this run, such as with a flag, and counts for every model."""

    def __init__(self, config: Config, *, asked: bool = False) -> None:
        self._config = config
        self._asked = asked
        self._chosen: dict[str, Effort] = {}

    def choose(self, model: str, effort: Effort) -> None:
        """Ask this model so from the next request on."""
        self._chosen[model] = effort

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
