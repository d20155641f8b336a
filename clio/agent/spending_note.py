"""Writes down what a turn cost, in the ledger of all projects, and what a person should know about it."""

from collections.abc import Iterator
from pathlib import Path

from clio.agent.spending import Spending
from clio.errors import StorageError
from clio.providers.price_words import day_of, unknown_price
from clio.sessions.ledger import Spent, spent_of
from clio.sessions.session import Session
from clio.sessions.state import Bill
from clio.storage.reasons import cause


class SpendingNotes:
    """Keeps the ledger. What is wrong with it, or with the prices, is said once in a run."""

    def __init__(self, spending: Spending, project: Path) -> None:
        self._spending = spending
        self._project = str(project)
        self._told: set[str] = set()

    def note(self, session: Session, bills: list[Bill]) -> list[str]:
        """Write down these bills of the session; gives the sentences to say. May be called in a thread."""
        spent = spent_of(bills, project=self._project, session=session.id, day_of=day_of)
        said = [self._spending.problem, *self._unpriced(spent)]
        try:
            self._spending.ledger.add(spent)
        except (StorageError, OSError, TimeoutError) as error:
            said.append(f"what this turn cost is not in /cost days: {cause(error)}; /cost rebuild counts it later")
        new = [sentence for sentence in dict.fromkeys(said) if sentence and sentence not in self._told]
        self._told.update(new)
        return new

    def _unpriced(self, spent: list[Spent]) -> Iterator[str]:
        """A model without a price is told once, for ever: the ledger shows whether it had come before."""
        models = {(one.server, one.model) for one in spent if one.unpriced_tokens}
        if not models or self._spending.problem:
            return
        try:
            known = {(one.server, one.model) for one in self._spending.ledger.read().spent if one.unpriced_tokens}
        except (StorageError, OSError):
            known = set[tuple[str, str]]()
        for server, model in sorted(models - known):
            yield unknown_price(server, model)
