"""Facts that users state in passing in languages other than English."""

from pathlib import Path

import pytest

from clio.memory.consolidation.stated_facts import read_lasting_statements
from tests.memory.consolidation.test_learned_once import learn

LEARNED, NOT_LEARNED = (
    block.splitlines()[1:]
    for block in (Path(__file__).parent / "data" / "foreign_facts.txt").read_text(encoding="utf-8").split("\n\n")
)


@pytest.mark.parametrize("words", LEARNED)
def test_a_plain_statement_with_a_value_is_a_fact(words: str) -> None:
    found = list(read_lasting_statements(words))
    assert found
    assert all(kind == "fact" and text in words for kind, text, *_ in found)


@pytest.mark.parametrize("words", NOT_LEARNED)
def test_other_sentences_are_no_facts(words: str) -> None:
    assert list(read_lasting_statements(words)) == []


def test_introductions_and_denied_values_are_left_out_and_joined_statements_separated() -> None:
    text = "Übrigens, die API läuft auf Port 8080 und der Cache läuft auf redis-2, nicht auf redis-1."
    assert [text for _, text, *_ in read_lasting_statements(text)] == [
        "die API läuft auf Port 8080",
        "der Cache läuft auf redis-2",
    ]


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (("Die Testdatenbank liegt auf db-7", "nein, auf db-9"), ["project fact: Die Testdatenbank liegt auf db-9"]),
        (("La base de staging est sur db-9",), ["project fact: La base de staging est sur db-9"]),
        (("Wir nutzen pnpm, nicht npm",), ["project preference: Wir nutzen pnpm, nicht npm"]),
    ],
)
def test_whole_sessions_in_other_languages_teach_facts(
    tmp_path: Path, messages: tuple[str, ...], kept: list[str]
) -> None:
    assert learn(tmp_path, *messages) == kept
