"""Which names match a few typed characters."""

import random

from hypothesis import given
from hypothesis import strategies as st

from clio.text.fuzzy import FuzzyNames, score_match
from tests.support.rows import each_row

FILES = [
    "README.md",
    "clio/ui/prompt_line.py",
    "clio/ui/plain_line.py",
    "clio/ui/pipe_screen.py",
    "tests/ui/test_prompt_line.py",
    "clio/app.py",
    "docs/approvals.md",
    "clio/ui/",
    "src/UserModel.ts",
]


@each_row(
    ("typed", "first"),
    [
        ("prom", "clio/ui/prompt_line.py"),
        ("plin", "clio/ui/prompt_line.py"),
        ("prli", "clio/ui/prompt_line.py"),
        ("app", "clio/app.py"),
        ("tprompt", "tests/ui/test_prompt_line.py"),
        ("clio/ui", "clio/ui/"),
        ("um", "src/UserModel.ts"),
        ("read", "README.md"),
        ("READ", "README.md"),
        ("uipipe", "clio/ui/pipe_screen.py"),
    ],
)
def test_the_intended_name_comes_first(typed: str, first: str) -> None:
    assert FuzzyNames(FILES).find_best(typed, 5)[0] == first


def test_an_upper_case_letter_matches_only_itself() -> None:
    assert FuzzyNames(FILES).find_best("Prompt", 5) == []
    assert score_match("User", "src/UserModel.ts") is not None


def test_recently_used_names_come_first() -> None:
    names = FuzzyNames(["a/first.py", "b/first.py"])
    assert names.find_best("first", 2) == ["a/first.py", "b/first.py"]
    assert names.find_best("first", 2, {"b/first.py": 12.0})[0] == "b/first.py"
    assert names.find_best("", 1, {"b/first.py": 12.0, "gone.py": 99.0}) == ["b/first.py"]


@given(st.lists(st.text("abAB/_.", min_size=1, max_size=12), max_size=30), st.text("abAB_", max_size=4))
def test_typing_letter_by_letter_finds_the_same_names(names: list[str], query: str) -> None:
    typed = FuzzyNames(names)
    for end in range(len(query)):
        typed.find_best(query[:end], 50)
    assert typed.find_best(query, 50) == FuzzyNames(names).find_best(query, 50)


@given(st.text("abAB/_.", min_size=1, max_size=12), st.text("abAB_", min_size=1, max_size=4))
def test_a_name_matches_exactly_if_the_characters_are_in_it_in_order(name: str, query: str) -> None:
    text = name if query != query.lower() else name.lower()
    places = iter(text)
    assert (score_match(query, name) is not None) == all(char in places for char in query)


def test_of_very_many_matches_the_likely_ones_are_ranked() -> None:
    rng = random.Random(1)
    names = [f"pkg{rng.randrange(10**6)}/module_{number}.py" for number in range(5_000)]
    assert FuzzyNames([*names, "deep/er/down/main.py"]).find_best("main", 3)[0] == "deep/er/down/main.py"
