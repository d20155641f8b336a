"""Tables of cases checked by one test, for rows that take a fraction of a millisecond each."""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

_SHOWN_CHARS = 300


def each_row(names: str | Sequence[str], rows: Iterable[Any], ids: object = None) -> Callable[..., Any]:
    """Run a test function for every row, as one test that fails naming each row that fails and why.

    The arguments are those of `pytest.mark.parametrize`, which costs 10 ms a row: collected by every worker, set up,
    torn down and reported. The rows share one set-up, so it is for functions whose fixtures no row changes. Several
    decorators on a function run every combination. An empty table is an error.

    Args:
        names: the parameters of a row, separated by commas; or as a sequence.
        rows: one value each for a single name, else a tuple with a value for each name.
        ids: accepted and not used, for a row is shown as it is.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = rows if isinstance(rows, Collection) else list(rows)
    if not table:
        raise ValueError(f"no rows for {names}")

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def check_all(**fixtures: Any) -> None:
            failures: list[str] = []
            causes: list[BaseException] = []
            for row in table:
                values = dict(zip(keys, (row,) if len(keys) == 1 else row, strict=True))
                try:
                    function(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:  # the latter: `pytest.raises`
                    values_text = ", ".join(f"{key}={value!r:.{_SHOWN_CHARS}}" for key, value in values.items())
                    failures.append(f"{values_text}\n    {type(error).__name__}: {error}")
                    causes.append(error)
            if failures:
                head = f"{len(failures)} of {len(table)} rows failed:\n"
                raise AssertionError(head + "\n".join(failures)) from causes[0]

        signature = inspect.signature(function)
        left = [value for name, value in signature.parameters.items() if name not in keys]
        check_all.__signature__ = signature.replace(parameters=left)  # pyright: ignore[reportAttributeAccessIssue]
        return check_all

    return decorate
