"""Arguments, quotes and options after a command's name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.commands.arguments import join_arguments, parse_options
from clio.errors import UsageError

ODD = st.text(alphabet="ab '\"\\-=\n\té$`", max_size=8)


@given(st.lists(ODD.filter(lambda word: not word.startswith("--")), max_size=5))
def test_quoted_arguments_of_a_process_are_parsed_back(arguments: list[str]) -> None:
    assert list(parse_options(join_arguments(arguments)).words) == arguments


@given(st.text(alphabet="ab '\"\\\n", max_size=30))
def test_any_line_can_be_parsed_and_loses_no_character(line: str) -> None:
    found = parse_options(line)
    assert "".join(found.words).count("a") == line.count("a")
    assert found.text.count("b") == line.count("b")


@pytest.mark.parametrize(
    ("line", "words", "text"),
    [
        ("plain words", ("plain", "words"), "plain words"),
        ("don't touch it's", ("don't", "touch", "it's"), "don't touch it's"),
        ('"a name" x.md', ("a name", "x.md"), '"a name" x.md'),
        ('"the whole of it"', ("the whole of it",), "the whole of it"),
        (r"C:\a\b", (r"C:\a\b",), r"C:\a\b"),
        ('say "never" twice', ("say", "never", "twice"), 'say "never" twice'),
        ("'unclosed", ("'unclosed",), "'unclosed"),
        ("two  blanks", ("two", "blanks"), "two  blanks"),
        ("", (), ""),
    ],
)
def test_quotes_count_only_around_whole_words(line: str, words: tuple[str, ...], text: str) -> None:
    assert (parse_options(line).words, parse_options(line).text) == (words, text)


@pytest.mark.parametrize("line", ["--yes 7 --format md", "7 --format=md --yes", "--format 'md' --yes 7"])
def test_options_may_be_anywhere(line: str) -> None:
    found = parse_options(line, switches=("--yes",), valued=("--format",))
    assert (found.words, found.text, found.options) == (("7",), "7", {"--yes": "", "--format": "md"})


def test_after_two_dashes_and_in_quotes_nothing_is_an_option() -> None:
    assert parse_options("a -- --yes b").words == ("a", "--yes", "b")
    assert parse_options("'--yes or not'").text == "--yes or not"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--yse", "There is no option '--yse' here; did you mean '--yes'?"),
        ("--format", "--format needs a value"),
        ("--yes=1", "--yes takes no value"),
    ],
)
def test_a_wrong_option_is_named(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options(line, switches=("--yes",), valued=("--format",))
    assert str(caught.value) == message


def test_a_command_without_options_suggests_two_dashes() -> None:
    with pytest.raises(UsageError, match="after -- everything is text"):
        parse_options("--odd")
