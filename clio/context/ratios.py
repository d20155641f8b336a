"""What models have been found to bill, kept in clio's home: a new session's first request is estimated well, too."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from clio.sessions.session import Session
from clio.storage.document import Format
from clio.storage.learned_file import LearnedFile
from clio.tokens import TokenEstimator

FILE_NAME = "token_ratios.json"
MAX_MODELS = 200
_SAME = 0.01  # a ratio this close to the stored one is not worth a write


class TokenRatios(Struct, frozen=True, kw_only=True):
    """`models`: units a token (see clio.tokens) by the model's name, the newest last."""

    models: dict[str, float] = {}


RATIOS = Format(schema="clio.token_ratios", version=1, type=TokenRatios)


class RatioBook:
    """The learned ratios of all models. See `LearnedFile`.

    home: clio's own folder; None reads and writes nothing.
    """

    def __init__(self, home: Path | None, notice: Callable[[str], None]) -> None:
        self._file = LearnedFile(home / FILE_NAME if home else None, RATIOS, "what models were found to bill", notice)

    def ratio_of(self, model: str) -> float | None:
        """Units a token as learned in earlier sessions; None where nothing was."""
        known = self._file.read()
        return known.models.get(model) if known else None

    def estimator(self, session: Session, model: str) -> TokenEstimator:
        """One that begins with what this session has learned of this model, else with what earlier ones have."""
        own = session.token_ratio if not session.bills or session.bills[-1].model == model else None
        return TokenEstimator(own if own is not None else self.ratio_of(model))

    def keep(self, model: str, ratio: float) -> None:
        """Store a ratio beside those of other models. Writes nothing where it is known."""

        def change(known: TokenRatios) -> TokenRatios:
            before = known.models.get(model)
            if before is not None and abs(ratio - before) <= _SAME * before:
                return known
            others = [pair for pair in known.models.items() if pair[0] != model]
            return TokenRatios(models=dict([*others, (model, round(ratio, 4))][-MAX_MODELS:]))

        self._file.change(change)
