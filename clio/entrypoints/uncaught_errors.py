"""Reports uncaught errors on standard error, with secrets and control characters removed."""

import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from clio.ui import safe_text

if TYPE_CHECKING:
    from clio.security.redaction.redactor import Redactor


def make_redactor(argv: Sequence[str]) -> Callable[[str], str]:
    """Return a function that removes secrets and control characters according to the settings of these arguments."""
    redactor = _load_redactor(tuple(argv))
    return lambda text: safe_text.clean(redactor.redact(text).text)


@contextmanager
def report_errors_redacted(argv: Sequence[str]) -> Generator[None]:
    """While active, report errors in threads, unawaited tasks and destructors without secrets.

    Python's own reports of these print the error's message and the thread's name unchanged.
    """
    hooks, last = (threading.excepthook, sys.unraisablehook), logging.lastResort
    threading.excepthook = lambda hook: _print_report(
        argv, f"in thread {hook.thread.name if hook.thread else '?'}", hook
    )
    sys.unraisablehook = lambda hook: _print_report(argv, f"in {hook.object!r}", hook)
    formatter = last.formatter if last else None
    if last:
        last.setFormatter(_RedactingFormatter(argv))
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = hooks
        if last:
            last.setFormatter(formatter)


class _RedactingFormatter(logging.Formatter):
    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__()
        self._argv = argv

    def format(self, record: logging.LogRecord) -> str:
        return make_redactor(self._argv)(super().format(record))


def _print_report(argv: Sequence[str], where: str, hook: Any) -> None:
    """Print the traceback of the arguments of `threading.excepthook` or `sys.unraisablehook`."""
    if hook.exc_type is SystemExit or sys.stderr is None:
        return
    text = "".join(traceback.format_exception(hook.exc_type, hook.exc_value, hook.exc_traceback))
    sys.stderr.write(make_redactor(argv)(f"clio: uncaught error {where}:\n{text}"))


@cache
def _load_redactor(argv: tuple[str, ...]) -> "Redactor":
    """Return the redactor of the settings; of the environment alone if the settings cannot be loaded."""
    from clio.config.command_line import parse_arguments
    from clio.config.layers import load_config
    from clio.config.options import make_options
    from clio.security.redaction.redactor import Redactor, build_redactor
    from clio.security.redaction.secret_patterns import list_env_secrets

    try:
        redactor = build_redactor(load_config(make_options(parse_arguments(list(argv))), os.environ).config, os.environ)
    except Exception:
        return Redactor(env_secrets=list_env_secrets(os.environ))
    redactor.enabled = True  # always on, because bug reports are sent to others
    return redactor
