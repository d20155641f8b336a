"""Everything clio raises on purpose, ordered by who must act.

ClioError
├── UserError                  the user: change a flag, a setting, a file (exit 2)
│   ├── UsageError             a flag or an argument
│   ├── ConfigError            a configuration file, an environment variable
│   ├── SessionNotFound        no session answers to that name
│   ├── AmbiguousSession       several do; the message lists them
│   ├── SessionLocked          another clio is writing it
│   ├── ProviderRefused        the server understood and said no: key, model, URL
│   └── ApprovalNeeded         a person must say yes and none is there (exit 4)
├── ProviderError              the loop: retry, shrink, or give up (exit 1)
│   ├── RateLimited            wait `retry_after_s`, then again
│   ├── ServerFailed           5xx, an unreachable host, a malformed answer
│   ├── StreamBroken           the answer stopped before its end, or never began
│   └── ContextOverflow        the request does not fit the window (exit 3)
├── ToolError                  the model
│   ├── ToolRetry              the arguments are wrong; call again, corrected
│   └── ToolFailed             it is over; adapt
└── StorageError               nobody: set aside, said, and gone on
    ├── CorruptDocument        moved aside as `moved_to`
    └── NewerDocument          written by a later clio; refused, not mangled

A message is one sentence for a person: it names the thing, the cause and the next step.
"""

from pathlib import Path


class ClioError(Exception):
    """Base of all errors with a message meant for a person."""

    exit_code = 1


class UserError(ClioError):
    """Only the user can put this right."""

    exit_code = 2


class UsageError(UserError):
    """A flag or an argument is wrong."""


class ConfigError(UserError):
    """A setting is wrong; the message says in which file and line."""


class SessionNotFound(UserError):
    """No session answers to that id, prefix, name or number."""


class AmbiguousSession(UserError):
    """Several sessions answer; the message lists them."""


class SessionLocked(UserError):
    """Another living process writes this session."""


class ProviderRefused(UserError):
    """The server refused for a reason that trying again does not change.

    exhausted: the account's quota or credit is used up, which another server's account may have.
    """

    def __init__(self, message: str, *, exhausted: bool = False) -> None:
        super().__init__(message)
        self.exhausted = exhausted


class ApprovalNeeded(UserError):
    """A call needs a person's consent where nobody can be asked."""

    exit_code = 4


class ProviderError(ClioError):
    """A request to the model failed in a way the loop can act on."""

    retryable = False


class RateLimited(ProviderError):
    """The server asks to wait. `retry_after_s` is None where it does not say how long."""

    retryable = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerFailed(ProviderError):
    """The server, or the way to it, failed. `retryable` is False where a retry cannot help.

    away: nobody was reached at all, so that a server that has answered before may come back.
    """

    def __init__(
        self, message: str, *, retryable: bool = True, retry_after_s: float | None = None, away: bool = False
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.away = away


class StreamBroken(ProviderError):
    """The stream ended before the answer did, or held nothing at all."""

    retryable = True


class ContextOverflow(ProviderError):
    """The request is larger than the window. Token counts are None where the server names none."""

    exit_code = 3

    def __init__(self, message: str, *, limit_tokens: int | None = None, sent_tokens: int | None = None) -> None:
        super().__init__(message)
        self.limit_tokens = limit_tokens
        self.sent_tokens = sent_tokens


class ToolError(ClioError):
    """A tool did not do what it was asked; the text goes to the model."""


class ToolRetry(ToolError):
    """The call was wrong; the message tells the model how to put it right."""


class ToolFailed(ToolError):
    """The call was right and failed all the same; the message tells the model why."""


class StorageError(ClioError):
    """A file on disk is not what it should be."""


class CorruptDocument(StorageError):
    """A document did not parse and was set aside. `moved_to` is None where even that failed."""

    def __init__(self, message: str, *, path: Path, moved_to: Path | None) -> None:
        super().__init__(message)
        self.path = path
        self.moved_to = moved_to


class NewerDocument(StorageError):
    """A document carries a version this clio does not know."""
