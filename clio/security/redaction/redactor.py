"""Secrets are taken out of all text here, once, before anything is stored, sent or shown to another machine."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from clio.security.redaction.finder import Finder, added, merged, replaced
from clio.security.redaction.patterns import Span
from clio.security.redaction.seams import Seams
from clio.security.redaction.stream import StreamRedactor


class Redacted(Struct, frozen=True):
    """A text without its secrets, and how many of each kind were taken out."""

    text: str
    counts: dict[str, int]


class Redactor:
    """Replaces secrets by `[REDACTED:kind]`; whatever follows a secret's first letter goes with it.

    patterns: further regular expressions; each is applied line by line. env_secrets: values redacted wherever they
    stand, at least 12 characters long (see `names.env_secrets`). enabled: False hands all text through.
    Redacting twice gives the same as once. Raises ConfigError for a pattern that is no regular expression.
    """

    def __init__(self, patterns: tuple[str, ...] = (), env_secrets: Iterable[str] = (), enabled: bool = True) -> None:
        self.enabled = enabled
        self._finder = Finder(patterns, env_secrets)
        self._seams = Seams(self._finder)
        self._counts: dict[str, int] = {}

    def learn_secret(self, value: str) -> None:
        """Redact a value wherever it stands from now on, as those of the environment. Safe from any thread."""
        if self._finder.add_value(value):
            self._seams.add_value(value.strip())

    @property
    def total(self) -> int:
        """Secrets taken out since the start."""
        return sum(self._counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """Secrets taken out since the start, by kind."""
        return dict(self._counts)

    def redact(self, text: str) -> Redacted:
        """A text without its secrets. Costs about a second for 15 MB of ordinary source code."""
        if not self.enabled or not text:
            return Redacted(text, {})
        if self._finder.has_long_unit(text):
            stream = self.stream()
            return Redacted(stream.feed(text) + stream.finish(), stream.counts)
        result, counts = self._finder.cleaned(text)
        self._count(counts)
        return Redacted(result, counts)

    def message(self, text: str) -> Redacted:
        """As `redact`, for a text that follows others: what a cut between them has halved goes as well, and so does a
        value without its name where it was a secret by name before.

        For a person's words and the results of tools, in their order. See `Seams`.
        """
        if not self.enabled or not text:
            return Redacted(text, {})
        halves = self._seams.spans(text)
        long = self._finder.has_long_unit(text)
        spans = [] if long else list(self._finder.spans(text))
        self._seams.learn(text, spans)
        halves += self._seams.repeats(text)
        if not long:
            result, counts = self._finder.cleaned(text, [*spans, *halves])
            self._count(counts)
            return Redacted(result, counts)
        counts: dict[str, int] = {}
        rest = self.redact(replaced(text, merged(halves), counts))
        self._count(counts)
        added(counts, rest.counts)
        return Redacted(rest.text, counts)

    def stream(self) -> StreamRedactor:
        """A redactor for one text that comes in pieces."""
        return StreamRedactor(self._finder, self._count, enabled=self.enabled)

    def spans(self, text: str) -> Iterator[Span]:
        """All places that hold a secret, in no order; they may overlap."""
        return self._finder.spans(text)

    def _count(self, counts: dict[str, int]) -> None:
        added(self._counts, counts)
