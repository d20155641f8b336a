"""The value that a message gives to a statement, in seven languages, by the table of examples the models know."""

from pathlib import Path

from clio.memory.consolidation.corrections import find_corrected_statements

TABLE = Path(__file__).parent / "data" / "changed_values.tsv"
MOST_WRONG, MOST_MISSED = 7, 14


def change(statement: str, message: str) -> str:
    """Return a statement after a message that directly follows it."""
    found = find_corrected_statements(message, [], also=statement)
    return found[0].content if found else statement


def test_the_examples_are_read_as_they_are_labelled() -> None:
    """Few that change nothing may be changed, or get another value than theirs; some changes may be missed."""
    wrong: list[str] = []
    missed: list[str] = []
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        _, old, said, new = line.split("\t")
        found = change(old, said)
        if found not in (old, new):
            wrong.append(f"{line} | {found}")
        elif found == old and new not in ("", old):
            missed.append(line)
    assert len(wrong) <= MOST_WRONG, "\n".join(wrong)
    assert len(missed) <= MOST_MISSED, "\n".join(missed)


def test_a_value_is_replaced_where_the_statement_has_it() -> None:
    assert change("the retry limit is 3", "it should be 5, my mistake") == "the retry limit is 5"
    assert (
        change("the cache lives in Redis", "the bug is not in the cache but in the proxy") == "the cache lives in Redis"
    )


def test_values_that_a_statement_has_both_change_places() -> None:
    assert change("we use npm here, not yarn", "no, yarn") == "we use yarn here, not npm"
