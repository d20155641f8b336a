"""The tables in clio/security/data are complete and of the declared types, and a damaged file is reported."""

from pathlib import Path

import pytest
from msgspec import Struct

from clio.errors import UserError
from clio.security import command_rules, data_tables, deny_rules, outside_changes, shared_data, system_changes
from clio.security.data_tables import ByName, WordSet, load_tables
from clio.security.redaction.secret_patterns import TOKENS
from clio.text.lazy_regex import LazyRegex
from tests.support.rows import each_row

TABLES: dict[str, Struct | tuple[Struct, ...]] = {
    "everyday_calls": shared_data._CALLS,
    "outside_changes": outside_changes._TABLES,
    "program_options": deny_rules._TABLES,
    "safe_arguments": command_rules._SAFE_ARGUMENTS,
    "shared_data": shared_data._TABLES,
    "system_changes": system_changes._TABLES,
    "token_patterns": TOKENS,
}


class Example(Struct):
    words: WordSet
    pattern: LazyRegex
    values: ByName[tuple[WordSet, int]]


def visit(value: object) -> int:
    """Convert every value of a table, compile every pattern, and count them."""
    if isinstance(value, LazyRegex):
        value.search("")
    elif isinstance(value, ByName):
        return sum(visit(value[name]) for name in value)
    elif isinstance(value, tuple):
        return sum(map(visit, value))
    return 1


def test_every_file_is_loaded_by_a_module() -> None:
    folder = Path(data_tables.__file__).with_name("data")
    assert {path.stem for path in folder.iterdir()} == set(TABLES)


@each_row("name", sorted(TABLES))
def test_every_value_has_the_declared_type(name: str) -> None:
    found = TABLES[name]
    for tables in found if isinstance(found, tuple) else (found,):
        assert all(visit(getattr(tables, field)) for field in tables.__struct_fields__)


def write(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    (folder / "example.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(data_tables, "_FOLDER", folder)


def test_words_patterns_and_shared_values_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(monkeypatch, tmp_path, '{"words": ["a b", "c"], "pattern": ["x|", "y"], "values": {"p q": ["d", 2]}}')
    found = load_tables("example", Example)
    assert found.words == {"a", "b", "c"}
    assert found.pattern.fullmatch("y")
    assert dict(found.values) == {"p": ({"d"}, 2), "q": ({"d"}, 2)}
    assert found.values.get("other") is None


@pytest.mark.parametrize("text", ["{", "{}", '{"words": 1, "pattern": "x", "values": {}}'])
def test_a_damaged_file_is_named(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(monkeypatch, tmp_path, text)
    with pytest.raises(UserError, match=r"example\.json .*reinstall clio"):
        load_tables("example", Example)


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_tables, "_FOLDER", tmp_path)
    with pytest.raises(UserError, match=r"example\.json .*reinstall clio"):
        load_tables("example", Example)
