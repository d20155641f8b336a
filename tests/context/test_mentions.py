"""Which text in a message is a mention, and how much of the mentioned file is sent."""

from clio.context.message_parts import find_mentions, fit_rows, format_file_mention, list_readings
from clio.tokens import TokenEstimator
from tests.support.rows import each_row


def labels(text: str) -> list[str]:
    return [mention.label for mention in find_mentions(text)]


@each_row(
    ("text", "found"),
    [
        ("see @clio/app.py", ["clio/app.py"]),
        ("(@a.py:10-40)", ["a.py:10-40)"]),
        ("@a.py:7 and @a.py:7", ["a.py:7"]),
        ('"@my file.md"', ["my"]),
        ('see @"my file.md":3-4 now', ["my file.md:3-4"]),
        ("@session:abc @note:plan", ["session:abc", "note:plan"]),
        ("dev@example.com, a@b", []),
        ("@ nothing, @@twice", []),
        ("```\n@inside\n```\n@outside", ["outside"]),
        ("@src/", ["src/"]),
        ("@~/x @../y", ["~/x", "../y"]),
        ("#file:a.py:3-4 and @b.py and #folder:src", ["a.py:3-4", "b.py", "src"]),
        ('see #file:"my file.md"', ["my file.md"]),
        ("#File:A.py and #FOLDER:src", ["A.py", "src"]),
        ("#CodeBase: where is the parser?", ["."]),
        ("#codebase: where is the parser?", ["."]),
        ("a#file:x ##file:y https://h/#file:z #files:w #12 #codebases", []),
    ],
)
def test_mentions_in_a_message_are_found(text: str, found: list[str]) -> None:
    assert labels(text) == found


def test_punctuation_at_the_end_is_not_part_of_a_name() -> None:
    (mention,) = find_mentions("see @a.py:10-40).")
    assert [one.label for one in list_readings(mention)] == ["a.py:10-40).", "a.py:10-40)", "a.py:10-40"]


@each_row("path", ["a.py", "@types/node.d.ts", "my file.md", "ends.", "notes:3", "it's", "clio/ui/"])
def test_a_written_mention_is_read_back_as_the_same_path(path: str) -> None:
    (mention,) = find_mentions(f"see {format_file_mention(path)} now")
    assert mention.name == path
    assert mention.lines is None


def test_rows_are_cut_in_the_middle_within_their_tokens() -> None:
    estimator = TokenEstimator()
    rows = [f"row {number} with some words" for number in range(1_000)]
    shown = fit_rows(rows, 500, estimator, way="ask")
    assert (shown[0], shown[-1]) == (rows[0], rows[-1])
    assert estimator.estimate_text("\n".join(shown)) <= 500
    assert sum("left out here; ask …]" in row for row in shown) == 1
    assert fit_rows(rows[:3], 500, estimator, way="ask") == rows[:3]


def test_one_very_long_row_is_cut_too() -> None:
    shown = fit_rows(["x" * 100_000, "end"], 100, TokenEstimator(), way="ask")
    assert len(shown[0]) < 1_000
    assert "characters of this line left out; ask" in shown[0]
