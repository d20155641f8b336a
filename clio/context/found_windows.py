"""How large windows were found to be when servers refused, kept in clio's home: the next run pays no refusals again."""

import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, structs

from clio.providers.base import NAMED, REFUSED, Limits, Provider
from clio.storage.document import Format
from clio.storage.learned_file import LearnedFile

FILE_NAME = "windows.json"
MAX_WINDOWS = 200
LIFE_DAYS = {NAMED: 7, REFUSED: 1}
"""For how long it is believed. A bare refusal says less: the server may only have been in trouble."""
_DAY_S = 86_400.0


class FoundWindow(Struct, frozen=True, kw_only=True):
    """tokens: how large it was found to be. said: what it was taken for before; who says otherwise now is believed.

    source: NAMED or REFUSED. found: when, in seconds since 1970.
    """

    tokens: int
    said: int
    source: str
    found: float


class FoundWindows(Struct, frozen=True, kw_only=True):
    """`windows` by the server's host and port, a blank and the model's name; the newest last."""

    windows: dict[str, FoundWindow] = {}


WINDOWS = Format(schema="clio.windows", version=1, type=FoundWindows)


class WindowBook:
    """The found windows of all servers. See `LearnedFile`.

    home: clio's own folder; None reads and writes nothing, but what was found in this run counts.
    """

    def __init__(self, home: Path | None, notice: Callable[[str], None], now: Callable[[], float] = time.time) -> None:
        path = home / FILE_NAME if home else None
        self._file = LearnedFile(path, WINDOWS, "how large windows were found to be", notice)
        self._now = now
        self._said: dict[str, Limits] = {}
        self._own: dict[str, FoundWindow] = {}  # of this run

    def fitted(self, provider: Provider, said: Limits) -> Limits:
        """The limits to begin with: as `said` by configuration, server or profile, or smaller where that was found.

        A window the user set is taken as it is. What was found ends with its days, or with another word on the window.
        """
        key = _key(provider)
        self._said[key] = said
        if said.source == "config":
            return said
        stored = self._file.read()
        found = self._own.get(key) or (stored.windows.get(key) if stored else None)
        if found is None or not self._holds(found, said):
            return said
        self._own[key] = found
        most = min(said.max_output_tokens, max(found.tokens // 2, 1))
        return Limits(context_window=found.tokens, max_output_tokens=most, source=found.source)

    def keep(self, provider: Provider, limits: Limits) -> None:
        """Store what a session knows of its window by now. Does nothing unless a refusal has just told it."""
        key = _key(provider)
        said, known = self._said.get(key), self._own.get(key)
        if said is None or said.source == "config" or limits.source not in LIFE_DAYS:
            return
        better = (
            known is None or limits.context_window < known.tokens or (known.source, limits.source) == (REFUSED, NAMED)
        )
        if known is not None and not better and self._holds(known, said):
            return
        found = FoundWindow(
            tokens=limits.context_window, said=said.context_window, source=limits.source, found=self._now()
        )
        self._own[key] = found

        def change(stored: FoundWindows) -> FoundWindows:
            others = [pair for pair in stored.windows.items() if pair[0] != key]
            return structs.replace(stored, windows=dict([*others, (key, found)][-MAX_WINDOWS:]))

        self._file.change(change)

    def _holds(self, found: FoundWindow, said: Limits) -> bool:
        age_s = self._now() - found.found
        same = found.said == said.context_window and 0 < found.tokens < said.context_window
        return same and 0 <= age_s < LIFE_DAYS.get(found.source, 0) * _DAY_S


def _key(provider: Provider) -> str:
    """Without the path of the address: gateways have been seen to put keys there."""
    address = str(getattr(provider, "base_url", ""))
    return f"{urlsplit(address).netloc.rpartition('@')[2] or provider.name} {provider.model}"
