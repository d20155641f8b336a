"""What was learned about models and stored in clio's home: window sizes, and characters per token."""

import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, structs

from clio.providers.base import LIMIT_NAMED, LIMIT_REFUSED, ModelLimits, Provider
from clio.sessions.session import Session
from clio.storage.documents import DocumentFormat, LearnedFile
from clio.text.translation import tr
from clio.tokens import TokenEstimator

WINDOWS_FILE_NAME = "windows.json"
MAX_WINDOWS = 200
LIFE_DAYS = {LIMIT_NAMED: 7, LIMIT_REFUSED: 1}
"""Days for which a discovery is valid. A refusal without a number is less reliable: it may have been temporary."""
_DAY_S = 86_400.0


class FoundWindow(Struct, frozen=True, kw_only=True):
    """A window size that was discovered.

    Attributes:
        tokens: discovered size.
        said: size assumed before; if another size is stated later, that one is used instead.
        source: `LIMIT_NAMED` or `LIMIT_REFUSED`.
        found: time of discovery, in seconds since 1970.
    """

    tokens: int
    said: int
    source: str
    found: float


class FoundWindows(Struct, frozen=True, kw_only=True):
    """Contents of the file. Keys of `windows` are host and port of the server, a space and the model; newest last."""

    windows: dict[str, FoundWindow] = {}


WINDOWS = DocumentFormat(schema="clio.windows", version=1, type=FoundWindows)


class LearnedWindows:
    """The discovered window sizes of all servers. See `LearnedFile`.

    home: clio's own directory; None reads and writes nothing, but discoveries of this run are used.
    """

    def __init__(self, home: Path | None, notice: Callable[[str], None], now: Callable[[], float] = time.time) -> None:
        path = home / WINDOWS_FILE_NAME if home else None
        self._file = LearnedFile(path, WINDOWS, tr("the record of context windows"), notice)
        self._now = now
        self._stated: dict[str, ModelLimits] = {}
        self._found_in_run: dict[str, FoundWindow] = {}  # discovered in this run

    def fit_limits(self, provider: Provider, stated: ModelLimits) -> ModelLimits:
        """Return the limits to start with: the stated ones, or smaller ones that were discovered.

        A window set by the user is used as it is. A discovery expires after `LIFE_DAYS`, or when the stated size
        changes.

        Args:
            stated: limits from the configuration, the server or the profile.
        """
        key = _key(provider)
        self._stated[key] = stated
        if stated.source == "config":
            return stated
        stored = self._file.read()
        found = self._found_in_run.get(key) or (stored.windows.get(key) if stored else None)
        if found is None or not self._is_valid(found, stated):
            return stated
        self._found_in_run[key] = found
        most = min(stated.max_output_tokens, max(found.tokens // 2, 1))
        return ModelLimits(context_window=found.tokens, max_output_tokens=most, source=found.source)

    def save_window(self, provider: Provider, limits: ModelLimits) -> None:
        """Store the window size a session has discovered; does nothing if its limits do not come from a refusal."""
        key = _key(provider)
        stated, known = self._stated.get(key), self._found_in_run.get(key)
        if stated is None or stated.source == "config" or limits.source not in LIFE_DAYS:
            return
        is_improvement = (
            known is None
            or limits.context_window < known.tokens
            or (known.source, limits.source) == (LIMIT_REFUSED, LIMIT_NAMED)
        )
        if known is not None and not is_improvement and self._is_valid(known, stated):
            return
        found = FoundWindow(
            tokens=limits.context_window, said=stated.context_window, source=limits.source, found=self._now()
        )
        self._found_in_run[key] = found

        def change(stored: FoundWindows) -> FoundWindows:
            others = [pair for pair in stored.windows.items() if pair[0] != key]
            return structs.replace(stored, windows=dict([*others, (key, found)][-MAX_WINDOWS:]))

        self._file.change(change)

    def _is_valid(self, found: FoundWindow, stated: ModelLimits) -> bool:
        age_s = self._now() - found.found
        same = found.said == stated.context_window and 0 < found.tokens < stated.context_window
        return same and 0 <= age_s < LIFE_DAYS.get(found.source, 0) * _DAY_S


def _key(provider: Provider) -> str:
    """Return the key of a provider, without the path of the address: some gateways put API keys there."""
    address = str(getattr(provider, "base_url", ""))
    return f"{urlsplit(address).netloc.rpartition('@')[2] or provider.name} {provider.model}"


RATIOS_FILE_NAME = "token_ratios.json"
MAX_MODELS = 200
_SAME_RATIO_SHARE = 0.01  # a ratio this close to the stored one is not written again


class TokenRatios(Struct, frozen=True, kw_only=True):
    """Contents of the file. `models`: units per token (see clio.tokens) by model name, the newest last."""

    models: dict[str, float] = {}


RATIOS = DocumentFormat(schema="clio.token_ratios", version=1, type=TokenRatios)


class LearnedRatios:
    """The learned token ratios of all models. See `LearnedFile`.

    home: clio's own directory; None reads and writes nothing.
    """

    def __init__(self, home: Path | None, notice: Callable[[str], None]) -> None:
        self._file = LearnedFile(
            home / RATIOS_FILE_NAME if home else None, RATIOS, tr("the record of token counts"), notice
        )

    def get_ratio(self, model: str) -> float | None:
        """Return the units per token learned in earlier sessions; None if unknown."""
        known = self._file.read()
        return known.models.get(model) if known else None

    def make_estimator(self, session: Session, model: str) -> TokenEstimator:
        """Return an estimator starting with the ratio of this session and model, otherwise of earlier sessions."""
        own = session.token_ratio if not session.bills or session.bills[-1].model == model else None
        return TokenEstimator(own if own is not None else self.get_ratio(model))

    def save_ratio(self, model: str, ratio: float) -> None:
        """Store a ratio; writes nothing if it is already known."""

        def change(ratios: TokenRatios) -> TokenRatios:
            known_ratio = ratios.models.get(model)
            if known_ratio is not None and abs(ratio - known_ratio) <= _SAME_RATIO_SHARE * known_ratio:
                return ratios
            others = [pair for pair in ratios.models.items() if pair[0] != model]
            return TokenRatios(models=dict([*others, (model, round(ratio, 4))][-MAX_MODELS:]))

        self._file.change(change)
