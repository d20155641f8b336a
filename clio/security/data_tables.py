"""Load the tables of words and patterns in `clio/security/data`, which decide what the programs in a command line do.

A file is a JSON object with one member for each table. The module that uses a file declares a `Struct` with the names,
the types and the meaning of its tables. In these types:

- `WordSet` is written as words separated by spaces in one string, or in an array of strings.
- `LazyRegex` is written as a regular expression, or as an array of strings that are joined to one.
- `ByName[T]` is written as an object. A key with spaces lists several names, which share the value.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from clio.errors import UserError
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

T = TypeVar("T")
_FOLDER = Path(__file__).with_name("data")


class WordSet(frozenset[str]):
    """A set of words."""


class ByName(Mapping[str, T]):
    """A read-only mapping from names, such as those of programs, to values of one type.

    A value is converted to the type when it is first looked up: few values are used, and converting all of them takes
    longer than reading the file.
    """

    def __init__(self, values: Mapping[str, Any], type: Any) -> None:
        self._type = type
        self._values = {name: value for names, value in values.items() for name in names.split()}
        self._converted: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._converted:
            self._converted[name] = msgspec.convert(self._values[name], self._type, dec_hook=_convert)
        return self._converted[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values


def load_tables(name: str, type: type[T]) -> T:
    """Return the tables of `data/<name>.json` as an object of `type`, a Struct with one field for each table.

    Raises:
        UserError: if the file is missing, or its content does not have that type: the installation is damaged.
    """
    path = _FOLDER / f"{name}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=type, dec_hook=_convert)
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(
            tr("{path} cannot be used ({error}): the installation is damaged, reinstall clio", path=path, error=error)
        ) from error


def _convert(type: Any, value: Any) -> Any:
    """Convert a decoded JSON value to one of the types of this module."""
    if type is WordSet:
        return WordSet((value if isinstance(value, str) else " ".join(value)).split())
    if type is LazyRegex:
        return LazyRegex(value if isinstance(value, str) else "".join(value))
    return ByName[Any](value, get_args(type)[0])
