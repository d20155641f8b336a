"""Secrets of every kind in every form are replaced, whole and in a stream; placeholders and references are kept."""

import re
from itertools import pairwise

from clio.security.redaction.redactor import Redactor
from tests.security.secret_contexts import Chance
from tests.security.secret_forms import (
    FAMILIES,
    NAMED_FORMS,
    OTHER_FORMS,
    SecretForm,
    list_encoded,
    list_random_values,
    list_references,
    list_secrets,
)

MARK = re.compile(r"\[REDACTED:[\w-]+\]")


def is_left(text: str, case: SecretForm) -> bool:
    """Whether half of a secret, or five of its letters, remain."""
    rest = MARK.sub("#", text)
    size = max(5, len(case.secret) // 2)
    return any(case.secret[at : at + size] in rest for at in range(max(1, len(case.secret) - size + 1)))


def describe(cases: list[SecretForm]) -> list[str]:
    return [f"{case.family}: {case.text!r}" for case in cases]


def test_99_of_100_secrets_are_replaced_in_all_forms() -> None:
    redactor = Redactor()
    cases = list(list_secrets(11))
    missed = [case for case in cases if is_left(redactor.redact(case.text).text, case)]
    assert len(cases) == 2 * len(FAMILIES) * (len(NAMED_FORMS) + len(OTHER_FORMS))
    assert len(missed) * 100 <= len(cases), describe(missed)


def test_999_of_1000_random_values_of_a_secret_name_are_replaced() -> None:
    redactor = Redactor()
    missed = [case for case in list_random_values(12, 6_000) if is_left(redactor.redact(case.text).text, case)]
    assert len(missed) <= 6, describe(missed)


def test_secrets_in_base64_are_replaced() -> None:
    redactor = Redactor()
    missed = [case for case in list_encoded(13, 6) if is_left(redactor.redact(case.text).text, case)]
    assert not missed, describe(missed)


def test_a_stream_gives_the_result_of_the_whole() -> None:
    redactor = Redactor()
    different: list[SecretForm] = []
    cases = [*list_secrets(14, each=1), *list_encoded(15, 2)]
    for case in cases:
        chance = Chance(case.text)
        cuts = sorted({0, len(case.text), *(chance.randrange(len(case.text)) for _ in range(len(case.text) // 6))})
        stream = redactor.stream()
        streamed = "".join(stream.feed(case.text[start:end]) for start, end in pairwise(cuts)) + stream.finish()
        if streamed != redactor.redact(case.text).text:
            different.append(case)
    assert len(different) * 200 <= len(cases), describe(different)


def test_placeholders_and_references_are_kept() -> None:
    redactor = Redactor()
    changed = [text for text in list_references() if redactor.redact(text).text != text]
    assert not changed
