"""Free text in a command line, as typed and as arguments of a process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.commands.arguments import ParsedText, join_arguments, parse_number, parse_text
from clio.errors import UsageError

VALUED = ("--confidence", "--example")
WORDS = st.lists(st.text(alphabet="ab'\"\\ -=>\n→é", min_size=1, max_size=12), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ('it\'s a "quoted" thing', 'it\'s a "quoted" thing'),
        ('"all of it is quoted"', "all of it is quoted"),
        ("'tis the season", "'tis the season"),
        ("two\n  lines", "two\n  lines"),
        ("-- run pytest --strict -x", "run pytest --strict -x"),
        ('"run pytest --strict -x"', "run pytest --strict -x"),
        ("-- it takes --confidence 3", "it takes --confidence 3"),
        ('say "make ship" twice', 'say "make ship" twice'),
        ("git commit -m 'fix: x' -> push", "git commit -m 'fix: x' -> push"),
    ],
)
def test_text_is_returned_as_typed(typed: str, text: str) -> None:
    assert parse_text(typed, valued=VALUED) == ParsedText(text=text, has_text=True)


@pytest.mark.parametrize(
    "argument",
    [
        "--confidence 0.9 --example a.py a fact --example 'b c.py'",
        'a fact --example a.py --example="b c.py" --confidence=0.9',
        "--example a.py --example 'b c.py' --confidence 0.9 -- a fact",
    ],
)
def test_options_may_be_before_or_after_the_text(argument: str) -> None:
    given = parse_text(argument, valued=VALUED)
    assert given.text == "a fact"
    assert given.options == {"--confidence": ("0.9",), "--example": ("a.py", "b c.py")}
    assert given.get_single("--confidence") == "0.9"


def test_subcommands_are_single_words() -> None:
    assert parse_text("discovery --confidence 1 x y", heads=1, valued=VALUED).heads == ("discovery",)
    assert parse_text('"my key" some text', heads=1) == ParsedText(heads=("my key",), text="some text", has_text=True)
    assert parse_text("key", heads=1) == ParsedText(heads=("key",))
    assert parse_text('key ""', heads=1) == ParsedText(heads=("key",), has_text=True)
    assert parse_text("-- key text", heads=1).heads == ("key",)
    assert parse_text("", heads=1) == ParsedText()


@pytest.mark.parametrize("typed", ["x --confidense 1", "--scope=user x", "'a fact' --tpye fact", "x --confidence 1 y"])
def test_a_misspelt_option_is_never_taken_for_text(typed: str) -> None:
    with pytest.raises(UsageError, match="--"):
        parse_text(typed, valued=VALUED)


def test_without_options_all_words_are_text() -> None:
    assert parse_text("flags --all --json -x", heads=1).text == "--all --json -x"


@given(WORDS)
def test_a_text_that_was_one_argument_is_unchanged(words: list[str]) -> None:
    text = " ".join(words)
    assert parse_text(join_arguments(["key", "--", text]), heads=1).text == text


@pytest.mark.parametrize("argument", ["a fact --confidence", "--confidence"])
def test_an_option_without_its_value_is_refused(argument: str) -> None:
    with pytest.raises(UsageError, match="--confidence needs a value"):
        parse_text(argument, valued=VALUED)


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="--confidence is given 2 times"):
        parse_text("x --confidence 1 --confidence 0", valued=VALUED).get_single("--confidence")


@pytest.mark.parametrize(("raw", "number"), [("0.25", 0.25), ("80%", 0.8), ("80 %", 0.8), ("1", 1.0), ("1e-1", 0.1)])
def test_numbers_and_percentages_are_read(raw: str, number: float) -> None:
    assert parse_number(raw, "--below", low=0, high=1) == number


@pytest.mark.parametrize("raw", ["1.4", "-1", "nan", "inf", "much", "", "%", "140%"])
def test_a_number_out_of_range_is_refused(raw: str) -> None:
    with pytest.raises(UsageError, match="--below takes a number from 0 to 1, not "):
        parse_number(raw, "--below", low=0, high=1)
