"""What models have been found to bill, kept in clio's home: a new session's first request is estimated well, too."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from clio.errors import CorruptDocument, StorageError
from clio.storage.document import Format, load, update
from clio.storage.reasons import cause

FILE_NAME = "token_ratios.json"
MAX_MODELS = 200
_SAME = 0.01  # a ratio this close to the stored one is not worth a write


class TokenRatios(Struct, frozen=True, kw_only=True):
    """`models`: units a token (see clio.tokens) by the model's name, the newest last."""

    models: dict[str, float] = {}


RATIOS = Format(schema="clio.token_ratios", version=1, type=TokenRatios)


class RatioBook:
    """The learned ratios of all models. Several clios may use one file; each changes only its own models.

    home: clio's own folder; None reads and writes nothing.
    notice: told, once in a run, what is wrong with the file. Nothing here is worth failing for.
    """

    def __init__(self, home: Path | None, notice: Callable[[str], None]) -> None:
        self._path = home / FILE_NAME if home else None
        self._notice = notice
        self._told = False

    def ratio_of(self, model: str) -> float | None:
        """Units a token as learned in earlier sessions; None where nothing was."""
        if self._path is None:
            return None
        try:
            document = load(self._path, RATIOS)
        except (StorageError, OSError) as error:
            self._tell(f"what models were found to bill is not known: {cause(error)}")
            return None
        return document.value.models.get(model) if document else None

    def keep(self, model: str, ratio: float) -> None:
        """Store a ratio beside those of other models: lock, read, merge, write. Writes nothing where it is known."""
        if self._path is None:
            return

        def change(known: TokenRatios) -> TokenRatios:
            before = known.models.get(model)
            if before is not None and abs(ratio - before) <= _SAME * before:
                return known
            others = [pair for pair in known.models.items() if pair[0] != model]
            return TokenRatios(models=dict([*others, (model, round(ratio, 4))][-MAX_MODELS:]))

        try:
            try:
                update(self._path, RATIOS, change)
            except CorruptDocument as error:
                self._tell(f"what models were found to bill is learned anew: {error}")
                if error.moved_to is not None:
                    update(self._path, RATIOS, change)
        except (StorageError, OSError) as error:
            self._tell(f"what the model was found to bill is not stored: {cause(error)}")

    def _tell(self, sentence: str) -> None:
        if not self._told:
            self._told = True
            self._notice(sentence)
