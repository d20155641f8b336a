"""Read the parts of memory one by one, so that an error in one of them does not affect the others."""

from collections.abc import Callable
from typing import TypeVar

from clio.errors import ClioError, CorruptDocument
from clio.storage.locks import error_cause
from clio.text.translation import tr

T = TypeVar("T")


class ErrorIsolation:
    """Runs parts of memory and collects a sentence for the user about each part that failed."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def run(self, what: str, part: Callable[[], T], default: T) -> T:
        """Return the result of a part; `default` and a collected message if it fails.

        what: the part with its verb, such as "notes are", for the message "notes are left out: …".
        """
        # A damaged file has been moved aside when CorruptDocument is raised, so the second attempt finds no file.
        for _ in range(2):
            try:
                return part()
            except CorruptDocument as error:
                self.add_message(str(error))
            except (ClioError, OSError) as error:  # includes TimeoutError, for a lock that is never released
                self.add_message(tr("{what} left out: {error_cause}", what=what, error_cause=error_cause(error)))
                break
        return default

    def take_messages(self) -> list[str]:
        """Return the messages collected since the last call."""
        messages, self.left_out = self.left_out, []
        return messages

    def add_message(self, sentence: str) -> None:
        """Add a message, unless it is already in the list."""
        if sentence not in self.left_out:
            self.left_out.append(sentence)
