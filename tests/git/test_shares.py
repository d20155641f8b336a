"""Shortening a diff to a size, and secrets in one."""

import random

import pytest

from clio.config.schema import Config
from clio.errors import ConfigError
from clio.git.commits import (
    MAX_SECRETS,
    MAX_SUBJECT_CHARS,
    FoundSecret,
    LineCount,
    check_trailer,
    compose_message,
    extract_message,
    find_secrets_in_diff,
    fit_diff,
    format_stat,
    is_conventional,
    split_by_file,
)
from clio.security.redaction.redactor import Redactor
from tests.support.rows import each_row

TOKEN = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"


def piece(name: str, lines: int, start: int = 1) -> str:
    body = "".join(f"+line {number} of {name}\n" for number in range(lines))
    return f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +{start},{lines} @@\n{body}"


def test_a_diff_that_fits_is_unchanged() -> None:
    diff = piece("a", 3) + piece("b", 3)
    assert fit_diff(diff, len(diff)).text == diff
    assert fit_diff(diff, len(diff)).is_complete


def test_small_files_are_complete_and_a_large_one_names_what_is_missing() -> None:
    fitted = fit_diff(piece("small", 3) + piece("large", 5_000), 3_000)
    assert piece("small", 3).rstrip() in fitted.text
    assert (fitted.shortened_files, fitted.omitted_files) == (1, 0)
    kept = fitted.text.count("+line") - 3
    assert fitted.omitted_lines == 5_000 - kept
    assert f"[{fitted.omitted_lines:,} more lines of this file are left out]" in fitted.text
    assert fitted.omission == f"{fitted.omitted_lines:,} lines in 1 file are left out"


@each_row("seed", range(20))
def test_a_fitted_diff_is_bounded_and_accounts_for_every_line(seed: int) -> None:
    rng = random.Random(seed)
    pieces = [piece(f"f{number}", rng.randrange(1, 400)) for number in range(rng.randrange(1, 60))]
    room = rng.randrange(1_000, 20_000)
    fitted = fit_diff("".join(pieces), room)
    assert len(fitted.text) <= room + 100 * len(pieces)
    if not fitted.is_complete:
        kept = sum(not line.startswith("[") for line in fitted.text.splitlines())
        assert kept + fitted.omitted_lines == sum(one.count("\n") for one in pieces)


def test_a_diff_without_files_is_shortened_too() -> None:
    assert len(fit_diff("x" * 10_000, 1_000).text) < 1_100


def test_lines_that_look_like_a_header_are_not_a_file() -> None:
    diff = piece("a", 1) + "+diff --git a/x b/x\n"
    assert len(split_by_file(diff)) == 1


def test_a_secret_is_found_by_its_file_and_line() -> None:
    diff = piece("a.py", 2, start=10) + f"+token = '{TOKEN}'\n" + piece("b.py", 1)
    assert find_secrets_in_diff(diff, Redactor().spans) == [FoundSecret("a.py", 12, "github-token")]


def test_a_removed_secret_is_not_reported() -> None:
    diff = f"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,1 @@\n-token = '{TOKEN}'\n context {TOKEN}\n"
    assert find_secrets_in_diff(diff, Redactor().spans) == []


def test_a_key_over_several_lines_is_named_once_and_the_number_of_secrets_is_limited() -> None:
    key = ["-----BEGIN PRIVATE KEY-----", *["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2] * 3, "-----END PRIVATE KEY-----"]
    lines = "".join(f"+{line}\n" for line in key)
    found = find_secrets_in_diff(piece("k", 0).replace("+1,0", "+1,5") + lines, Redactor().spans)
    assert [(leak.path, leak.line) for leak in found] == [("k", 1)]
    many = piece("m", 0) + "".join(f"+t{number} = {TOKEN}\n" for number in range(50))
    assert len(find_secrets_in_diff(many, Redactor().spans)) == MAX_SECRETS


@each_row(
    ("subjects", "follows"),
    [
        (["feat: a", "fix(core): b", "Merge"], True),
        (["feat(x)!: a"], True),
        (["Add a", "feat: b"], False),
        (["feat:missing space"], False),
        ([], False),
    ],
)
def test_conventional_commits_are_recognized_from_most_subjects(subjects: list[str], follows: bool) -> None:
    assert is_conventional(subjects) is follows


def count(path: str, added: int | None = 1, removed: int | None = 1) -> LineCount:
    return LineCount(path=path, added=added, removed=removed)


@each_row(
    ("counts", "new", "conventional", "subject"),
    [
        ([count("clio/a.py")], False, False, "Update a.py"),
        ([count("clio/a.py", 3, 0)], True, True, "feat: add a.py"),
        ([count("docs/a.md"), count("README.md")], False, True, "docs: update a.md and README.md"),
        ([count(f"tests/test_{n}.py") for n in range(3)], False, True, "test: update 3 files in tests"),
        ([count("a.py", 0, 9)], False, False, "Remove a.py"),
        ([count("pyproject.toml")], False, True, "build: update pyproject.toml"),
        ([count("pic.png", None, None)], False, True, "chore: update pic.png"),
    ],
)
def test_a_composed_message_names_the_files(
    counts: list[LineCount], new: bool, conventional: bool, subject: str
) -> None:
    message = compose_message(counts, new=new, conventional=conventional)
    assert message.partition("\n")[0] == subject
    assert len(subject) <= MAX_SUBJECT_CHARS


@each_row(
    ("answer", "message"),
    [
        ("fix: a\n\n- b", "fix: a\n\n- b"),
        ("```\nfix: a\n```", "fix: a"),
        ("```text\nfix: a\nb\n```\n", "fix: a\n\nb"),
        ('"Add a"', "Add a"),
        ("  \n", ""),
        ("Subject: add a  \nbody  ", "add a\n\nbody"),
    ],
)
def test_a_message_is_extracted_from_an_answer(answer: str, message: str) -> None:
    assert extract_message(answer) == message


def test_line_counts_are_formatted() -> None:
    assert format_stat([count("a", 1_200, 3), count("b", None, None)]) == "2 files, +1,200 −3"


def test_only_a_trailer_is_an_attribution() -> None:
    check_trailer("Assisted-by: clio")
    check_trailer(Config().attribution)
    for wrong in ("clio", "a: b\nc: d", "two words: x", ": x"):
        with pytest.raises(ConfigError, match="not a trailer"):
            check_trailer(wrong)
