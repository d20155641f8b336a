"""One durable thing a session taught, as it is handed to whoever keeps it."""

from typing import Literal

from msgspec import Struct

from clio.memory.store.record import AssertedBy

FindingKind = Literal["fact", "solution", "workflow", "rule", "preference"]
QUOTE_CHARS = 200


class Finding(Struct, frozen=True, kw_only=True):
    """A durable thing a turn taught.

    text: the fact, the rule, the error of a solution, the name of a workflow. solution: what helped against the error.
    steps: the commands of a workflow. files: those a solution is bound to, as the session names them.
    confidence: 0.0 to 1.0. quote: the words it rests on, at most `QUOTE_CHARS` characters.
    session, message, at: the turn it was found in; of a workflow the last one.
    """

    kind: FindingKind
    text: str
    solution: str = ""
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    confidence: float
    asserted_by: AssertedBy
    quote: str
    session: str
    message: str
    at: float
