"""All kinds of credentials in the contexts where they occur: found completely, however a stream is split."""

from itertools import accumulate, cycle, pairwise, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.security.redaction.redactor import Redactor
from tests.security.secret_corpus import FORMS, KINDS, Placed, RandomLetters, halved, leaves_a_tail, placed, survives
from tests.support.examples import examples, sample
from tests.support.rows import each_row

CASES = list(placed(range(1)))


def test_nearly_all_are_found_completely() -> None:
    redactor = Redactor()
    missed = [f"{case.kind} in {case.place}" for case in CASES if survives(redactor.redact(case.text).text, case)]
    assert len(KINDS) >= 60
    assert len(missed) <= len(CASES) // 100, missed


@pytest.mark.sampled
def test_secrets_are_found_wherever_a_stream_is_split() -> None:
    """Splits of one text of each kind, all of them with `make fuzz`, and all splits at once."""
    redactor = Redactor()
    seen: set[str] = set()
    for case in CASES:
        if case.kind in seen or len(case.text) > 400:
            continue
        seen.add(case.kind)
        whole = redactor.redact(case.text).text
        ends = range(1, len(case.text))
        for cuts in [*([at] for at in sample(ends, 20, case.kind)), list(ends)]:
            stream = redactor.stream()
            parts = [stream.feed(case.text[start:end]) for start, end in pairwise([0, *cuts, len(case.text)])]
            assert "".join(parts) + stream.finish() == whole, (case.kind, cuts)
    assert len(seen) >= 60


@pytest.mark.parametrize("patterns", [(), (r"ACME-\d+",)], ids=["plain", "lines"])
@given(case=st.sampled_from(CASES), sizes=st.lists(st.integers(1, 200), min_size=1, max_size=30))
@examples(100)
def test_in_every_context_any_splits_equal_the_whole(patterns: tuple[str, ...], case: Placed, sizes: list[int]) -> None:
    """The pieces have the given sizes repeatedly; a user's patterns make the stream line by line."""
    redactor = Redactor(patterns)
    ends = takewhile(lambda end: end < len(case.text), accumulate(cycle(sizes)))
    stream = redactor.stream()
    parts = [stream.feed(case.text[start:end]) for start, end in pairwise([0, *ends, len(case.text)])]
    assert "".join(parts) + stream.finish() == redactor.redact(case.text).text


def test_the_second_half_of_a_secret_split_between_messages_is_removed() -> None:
    missed: list[str] = []
    total = 0
    for case in halved():
        total += 1
        redactor = Redactor()
        if leaves_a_tail([redactor.message(part).text for part in case.parts], case):
            missed.append(f"{case.kind} in {case.place}")
    assert total > 1_000
    assert len(missed) <= total // 100, missed


@each_row(
    ("end", "begin", "redacted"),
    [
        ('key = "{key}', 'abcdefgh", 5', '[REDACTED:half]", 5'),  # the quotation was not closed before
        ("<key>{key}", "abcdefgh</key>", "[REDACTED:half]</key>"),
        ("use {key}", "HvBNPZLJ to sign in", "[REDACTED:half] to sign in"),  # no word in any script
        ("use {key}", "ZrAlUrTe to sign in", "[REDACTED:half] to sign in"),
        ("HEROKU_API_KEY='34fc372a-74cf-8cb5-e16b-f", "d9908288'", "[REDACTED:half]'"),
        ("use {key}", "Traceback of a call", "Traceback of a call"),
        ("use {key}", "getElementById(7)", "getElementById(7)"),
        ("use {key}", "20241122 was a day", "20241122 was a day"),
        ('key = "{key}', "finished: exit 0", "finished: exit 0"),
        ("the db password is hunter2secret.", "confidence is a number", "confidence is a number"),
        ('say "the db password is hunter2secret".', "importance is a number", "importance is a number"),
    ],
)
def test_a_second_half_is_distinguished_from_the_next_word(end: str, begin: str, redacted: str) -> None:
    redactor = Redactor()
    redactor.message(end.format(key=FORMS["github"](RandomLetters("told"))))
    assert redactor.message(begin).text == redacted


def test_either_half_of_a_known_secret_is_removed() -> None:
    key, key_block = FORMS["github"](RandomLetters("seen")), FORMS["rsa-key"](RandomLetters("seen"))
    redactor = Redactor(env_secrets=["violet kettle 77 orbit"])
    redactor.message(f"it is {key}\n{key_block}")
    assert redactor.message(f"the end of it is\n{key[:20]}").text == "the end of it is\n[REDACTED:half]"
    assert redactor.message(f"{key[20:]} was it").text == "[REDACTED:half] was it"
    assert redactor.message("77 orbit, as ever").text == "[REDACTED:half], as ever"
    page = "\n".join(f"{number}|{line}" for number, line in enumerate(key_block.split("\n")[3:6], 4))
    hidden = "\n".join(f"{number}|[REDACTED:private-key]" for number in (4, 5, 6))
    assert redactor.message(page).text == hidden


def test_the_end_of_a_key_block_alone_is_recognized() -> None:
    rows = FORMS["openssh-key"](RandomLetters("end")).split("\n")
    redacted = Redactor().message("see\n" + "\n".join(rows[4:])).text
    assert redacted == "see\n" + "[REDACTED:private-key]\n" * 5 + rows[-1]


def test_text_after_a_secret_or_like_a_key_block_is_kept() -> None:
    redactor = Redactor()
    certificate = FORMS["rsa-key"](RandomLetters("public")).replace("RSA PRIVATE KEY", "CERTIFICATE")
    first = FORMS["rsa-key"](RandomLetters("cut")).split("\n")[:4]
    for text in ("import os", "README2.txt", "2024-05-01T12:00:00Z INFO start", "src/main2.py:12", "handshake begins"):
        redactor.message(f"the key is {FORMS['openai'](RandomLetters(text))}")
        assert redactor.message(text).text == text
    redactor.message("\n".join(first))
    assert redactor.message(certificate).text == certificate


def test_a_key_block_is_found_as_tools_show_it() -> None:
    rows = FORMS["rsa-key"](RandomLetters("shown")).split("\n")
    for shown in (
        "{n}|{row}",
        "{n:6}\t{row}",
        "│ {row}",
        "{n}→{row}",
        "+{row}",
        "a/key.pem:{n}:{row}",
        "key.pem-{n}-{row}",
    ):
        for part in (rows, rows[:5]):
            text = "\n".join(shown.format(n=number, row=row) for number, row in enumerate(part, 1))
            redacted = Redactor().redact(text).text
            assert not any(row[:24] in redacted for row in part[1:-1]), redacted


def test_a_key_after_a_dash_or_a_slash_is_found_and_inside_a_word_is_not() -> None:
    key = next(case.secret for case in CASES if case.kind == "github")
    for text in (f"my-{key}.txt", f"/hooks/{key}/send", f"x_{key}", f"+{key}"):
        assert key[:12] not in Redactor().redact(text).text
    assert Redactor().redact(f"aa{key}").text == f"aa{key}"


def test_a_value_with_a_backslash_or_a_star_is_removed() -> None:
    for value in ("abc" + "\\" + "Zk3vQ9wLr4NcZ8pHs3Jd", "Zk3v*Q9wL^r4Nc!Z8p%Hs3", "~Zk3vQ9wLr4NcZ8pHs3Jd"):
        assert value not in Redactor().redact(f"secret_key={value}\n").text
        assert value not in Redactor().redact(f"SECRET_KEY={value}\n").text
