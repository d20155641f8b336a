"""Sixty kinds of credentials in the places where they stand: found, whole, however a stream is cut."""

from itertools import pairwise

from clio.security.redact import Redactor
from tests.security.secret_corpus import KINDS, placed, survives

CASES = list(placed(range(1)))


def test_nearly_all_are_found_and_leave_no_tail() -> None:
    redactor = Redactor()
    missed = [f"{case.kind} in {case.place}" for case in CASES if survives(redactor.redact(case.text).text, case)]
    assert len(KINDS) >= 60
    assert len(missed) <= len(CASES) // 100, missed


def test_what_is_found_is_found_wherever_a_stream_is_cut() -> None:
    """Every cut of one text of each kind, and all cuts at once; the bench does it for every place."""
    redactor = Redactor()
    seen: set[str] = set()
    for case in CASES:
        if case.kind in seen or len(case.text) > 400:
            continue
        seen.add(case.kind)
        whole = redactor.redact(case.text).text
        for cuts in [*([at] for at in range(1, len(case.text))), list(range(1, len(case.text)))]:
            stream = redactor.stream()
            parts = [stream.feed(case.text[start:end]) for start, end in pairwise([0, *cuts, len(case.text)])]
            assert "".join(parts) + stream.finish() == whole, (case.kind, cuts)
    assert len(seen) >= 60


def test_a_key_behind_a_dash_or_a_slash_is_one_and_inside_a_word_is_none() -> None:
    key = next(case.secret for case in CASES if case.kind == "github")
    for text in (f"my-{key}.txt", f"/hooks/{key}/send", f"x_{key}", f"+{key}"):
        assert key[:12] not in Redactor().redact(text).text
    assert Redactor().redact(f"aa{key}").text == f"aa{key}"


def test_a_backslash_or_a_star_in_a_value_does_not_save_it() -> None:
    for value in ("abc" + "\\" + "Zk3vQ9wLr4NcZ8pHs3Jd", "Zk3v*Q9wL^r4Nc!Z8p%Hs3", "~Zk3vQ9wLr4NcZ8pHs3Jd"):
        assert value not in Redactor().redact(f"secret_key={value}\n").text
        assert value not in Redactor().redact(f"SECRET_KEY={value}\n").text
