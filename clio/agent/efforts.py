"""The effort each model is asked with: chosen with /effort in the session, else as it is configured."""

import hashlib
from collections.abc import Callable, Mapping
from typing import get_args

from clio.config.schema import Config, Effort
from clio.providers.aliases import find_settings


class EffortChoices:
    """The effort by model. asked: it was given for this run, such as with a flag, and counts for every model.

    keep: told of each choice, to store it with the session.
    """

    def __init__(
        self, config: Config, *, asked: bool = False, keep: Callable[[str, Effort], None] = lambda model, effort: None
    ) -> None:
        self._config = config
        self._asked = asked
        self._keep = keep
        self._chosen: dict[str, Effort] = {}

    def choose(self, model: str, effort: Effort) -> None:
        """Ask this model so from the next request on."""
        self._chosen[model] = effort
        self._keep(model, effort)

    def resume(self, chosen: Mapping[str, str]) -> None:
        """Go on with the choices of a stored session; what was given for this run goes before them."""
        levels: dict[str, Effort] = {level: level for level in get_args(Effort)}
        self._chosen = {}
        for model, name in chosen.items():
            if name in levels and not self._asked:
                self._chosen[model] = levels[name]

    def keep_all(self) -> None:
        """Store the choices made so far with a session that has just begun."""
        for model, effort in self._chosen.items():
            self._keep(model, effort)

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
