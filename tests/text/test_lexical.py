import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.text.vocabulary import compute_coverage, compute_rarity, extract_terms, has_phrase, stem_word, tokenize
from tests.support.rows import each_row


@each_row(
    ("text", "found"),
    [
        ("Write_Atomic(path): 3.14, v2", ["write", "atomic", "path", "3", "14", "v2"]),
        ("naïve Straße ÉTÉ", ["naïve", "strasse", "été"]),
        ("漢字です", ["漢字", "字で", "です"]),
        ("port8080漢", ["port8080", "漢"]),
        ("", []),
        ("… --- !", []),
    ],
)
def test_words_of_any_script_are_split(text: str, found: list[str]) -> None:
    assert tokenize(text) == found


@each_row(
    "family",
    [
        "use uses used using",
        "retry retries retried retrying",
        "policy policies",
        "test tests tested testing",
        "commit commits committed committing",
        "cache caches cached caching",
        "process processes processed processing",
        "file files filed filing",
        "need needs needed",
        "branch branches branching",
        "box boxes",
        "quick quickly",
    ],
)
def test_related_words_have_one_stem(family: str) -> None:
    assert len({stem_word(word) for word in family.split()}) == 1


@each_row("pair", ["string sting", "status stat", "class clash", "note node", "import impart", "bus but"])
def test_unrelated_words_have_different_stems(pair: str) -> None:
    left, right = pair.split()
    assert stem_word(left) != stem_word(right)


def test_stop_words_count_only_if_there_are_no_others() -> None:
    assert extract_terms("why did we choose the atomic writes") == [
        stem_word("choose"),
        stem_word("atomic"),
        stem_word("writes"),
    ]
    assert extract_terms("what was it") == ["what", "was", "it"]


def test_rare_words_count_more() -> None:
    documents = [{"common"}] * 9 + [{"common", "rare"}]
    weights = compute_rarity(documents, ["common", "rare", "absent"])
    assert 0 < weights["common"] < weights["rare"] < weights["absent"]
    assert compute_coverage(weights, {"rare"}) > compute_coverage(weights, {"common"})


def test_a_phrase_needs_whole_words_in_order() -> None:
    text = tokenize("The token refresh fails")
    assert has_phrase(text, ["token", "refresh"])
    assert not has_phrase(text, ["refresh", "token"])
    assert not has_phrase(text, ["token", "refres"])
    assert not has_phrase(text, [])


@given(st.text(max_size=200), st.text(max_size=200))
def test_coverage_is_a_share_of_the_words(query: str, text: str) -> None:
    weights = compute_rarity([set(extract_terms(text))], set(extract_terms(query)))
    assert 0.0 <= compute_coverage(weights, set(extract_terms(text))) <= 1.0 + 1e-9
    if extract_terms(query):
        assert compute_coverage(weights, set(extract_terms(query))) == pytest.approx(1.0)


@given(st.text(max_size=100))
def test_stems_are_never_empty(text: str) -> None:
    assert all(stem_word(word) for word in tokenize(text))
