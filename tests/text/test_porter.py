"""Porter's stemmer, compared with that of SQLite's full-text search."""

import sqlite3

from hypothesis import example, given
from hypothesis import strategies as st

from clio.text.vocabulary import porter_stem
from tests.support.rows import each_row

WORDS = """
caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned
falling hissing fizzed failing filing happy sky relational conditional rational valenci hesitanci digitizer
conformabli radicalli differentli vileli analogousli vietnamization predication operator feudalism decisiveness
hopefulness callousness formaliti sensitiviti sensibiliti triplicate formative formalize electriciti electrical
hopeful goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement
adjustment dependent adoption homologou communism activate angulariti homologous effective bowdlerize probate rate
cease controll roll deciding decided decision configuration serialization tests testing databases queries indices
running ran went parseargs utf8 sha256 3d is as us tokenizer yes says flying dying generously analogy apologies
biology
"""


def by_sqlite(words: list[str]) -> list[str]:
    """Return the stems that FTS5 gives."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE said USING fts5 (word, tokenize='porter ascii')")
    database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (said, 'instance')")
    database.executemany("INSERT INTO said (rowid, word) VALUES (?, ?)", enumerate(words))
    stems = [term for _, term in sorted(database.execute("SELECT doc, term FROM terms"))]
    database.close()
    return stems


def test_every_word_has_the_stem_of_the_index() -> None:
    words = WORDS.split()
    assert [porter_stem(word) for word in words] == by_sqlite(words)


@example(["ies", "sses", "eed"])
@given(st.lists(st.text("abcdeilmnorstu", min_size=1, max_size=12), min_size=1, max_size=20))
def test_unknown_words_have_the_stem_of_the_index(words: list[str]) -> None:
    assert [porter_stem(word) for word in words] == by_sqlite(words)


@each_row("word", ["", "a", "is", "straße", "漢字", "naïve", "a" * 65, "a_b"])
def test_words_that_are_not_english_are_unchanged(word: str) -> None:
    assert porter_stem(word) == word
