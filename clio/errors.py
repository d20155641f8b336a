"""All exceptions that clio raises on purpose, ordered by who must act.

ClioError
├── UserError                  the user: change a flag, a setting, a file (exit 2)
│   ├── UsageError             a flag or an argument
│   ├── ConfigError            a configuration file, an environment variable
│   ├── SessionNotFound        no session has that name
│   ├── AmbiguousSession       several sessions match; the message lists them
│   ├── SessionLocked          another clio is writing it
│   ├── ProviderRefused        the server rejected the request: key, model, URL
│   └── ApprovalNeeded         the user must approve, but cannot be asked (exit 4)
├── ProviderError              the loop: retry, shrink, or give up (exit 1)
│   ├── RateLimited            wait `retry_after_s`, then retry
│   ├── ServerFailed           5xx, an unreachable host, a malformed answer
│   ├── StreamBroken           the answer stopped before its end, or never began
│   └── ContextOverflow        the request does not fit the window (exit 3)
├── ToolError                  the model
│   ├── ToolRetry              the arguments are wrong; call again with correct ones
│   └── ToolFailed             the call cannot succeed; adapt
│       └── CallRefused        the policy, a hook or the user does not allow it
└── StorageError               no one: clio moves the file aside, reports it and continues
    ├── CorruptDocument        moved aside as `moved_to`
    └── NewerDocument          written by a later clio; refused, not changed

A message is one sentence for the user, in the user's language: what failed, why, and the next step. `for_model` is its
English wording, for texts that the model reads.
"""

from pathlib import Path

from clio.text.translation import english, tr


class ClioError(Exception):
    """Base of all errors with a message for the user."""

    exit_code = 1

    @property
    def message(self) -> str:
        """The sentence for the user."""
        return str(self)

    @property
    def for_model(self) -> str:
        """The sentence in English."""
        return str(english(self))


class UserError(ClioError):
    """An error that only the user can fix."""

    exit_code = 2


class UsageError(UserError):
    """A flag or an argument is wrong."""


class ConfigError(UserError):
    """A setting is wrong; the message names the file and line."""


class SessionNotFound(UserError):
    """No session matches that id, prefix, name or number."""


class AmbiguousSession(UserError):
    """Several sessions match; the message lists them."""


class SessionLocked(UserError):
    """Another running process writes this session."""


class ProviderRefused(UserError):
    """The server refused the request for a reason that a retry does not change.

    exhausted: the account's quota or credit is used up; another server's account may still have some.
    """

    def __init__(self, message: str, *, exhausted: bool = False) -> None:
        super().__init__(message)
        self.exhausted = exhausted


class ApprovalNeeded(UserError):
    """A call needs the user's approval, but no user can be asked. The message says how the user can allow it."""

    exit_code = 4

    @property
    def for_model(self) -> str:
        """What the model can do about it: it can change neither flags nor settings."""
        return (
            "This was not run: it needs the user's approval and no user can be asked in this run. Go on without it, "
            "and tell the user that it was not run."
        )


class ProviderError(ClioError):
    """A request to the model failed in a way the loop can act on."""

    retryable = False


class RateLimited(ProviderError):
    """The server asks to wait. `retry_after_s` is None if it does not say how long."""

    retryable = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerFailed(ProviderError):
    """The server, or the connection to it, failed. `retryable` is False if a retry cannot help.

    unreachable: no connection was made, so a server that has answered before may come back.
    """

    def __init__(
        self, message: str, *, retryable: bool = True, retry_after_s: float | None = None, unreachable: bool = False
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.unreachable = unreachable


class StreamBroken(ProviderError):
    """The stream ended before the answer did, or contained no answer."""

    retryable = True


class ContextOverflow(ProviderError):
    """The request is larger than the window. Token counts are None if the server reports none."""

    exit_code = 3

    def __init__(self, message: str, *, limit_tokens: int | None = None, sent_tokens: int | None = None) -> None:
        super().__init__(message)
        self.limit_tokens = limit_tokens
        self.sent_tokens = sent_tokens


class ToolError(ClioError):
    """A tool call failed. The message, problem and advice, goes to the model, in English.

    Args:
        problem: what is wrong.
        advice: what the model can do about it.
        for_user: what the user is shown, without names of tools and arguments; the problem if empty.
    """

    def __init__(self, problem: str, advice: str = "", *, for_user: str = "") -> None:
        super().__init__(f"{english(problem)}; {advice}" if advice else english(problem))
        self.for_user = for_user or problem


class ToolRetry(ToolError):
    """The call was wrong; the message tells the model how to correct it."""


class WrongArguments(ToolRetry):
    """The arguments of the call are wrong, of which the user sees no details."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem, advice, for_user=tr("the model gave wrong arguments"))


class ToolFailed(ToolError):
    """The call was correct but failed; the message tells the model why."""


class CallRefused(ToolFailed):
    """The call is not allowed by the policy, by a hook or by the user."""


class StorageError(ClioError):
    """A file on disk has unexpected content."""


class CorruptDocument(StorageError):
    """A document could not be parsed and was moved aside. `moved_to` is None if even that failed."""

    def __init__(self, message: str, *, path: Path, moved_to: Path | None) -> None:
        super().__init__(message)
        self.path = path
        self.moved_to = moved_to


class NewerDocument(StorageError):
    """A document has a version that this clio does not know."""
