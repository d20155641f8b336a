import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.text.vocabulary import coverage, has_phrase, rarity, stem, terms, words


@pytest.mark.parametrize(
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
def test_words_of_any_script(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
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
def test_a_family_has_one_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "pair", ["string sting", "status stat", "class clash", "note node", "import impart", "bus but"]
)
def test_different_words_stay_different(pair: str) -> None:
    left, right = pair.split()
    assert stem(left) != stem(right)


def test_stop_words_count_only_where_there_is_nothing_else() -> None:
    assert terms("why did we choose the atomic writes") == [stem("choose"), stem("atomic"), stem("writes")]
    assert terms("what was it") == ["what", "was", "it"]


def test_rare_words_weigh_more() -> None:
    documents = [{"common"}] * 9 + [{"common", "rare"}]
    weights = rarity(documents, ["common", "rare", "absent"])
    assert 0 < weights["common"] < weights["rare"] < weights["absent"]
    assert coverage(weights, {"rare"}) > coverage(weights, {"common"})


def test_phrase_needs_whole_words_in_order() -> None:
    text = words("The token refresh fails")
    assert has_phrase(text, ["token", "refresh"])
    assert not has_phrase(text, ["refresh", "token"])
    assert not has_phrase(text, ["token", "refres"])
    assert not has_phrase(text, [])


@given(st.text(max_size=200), st.text(max_size=200))
def test_coverage_is_a_share(query: str, text: str) -> None:
    weights = rarity([set(terms(text))], set(terms(query)))
    assert 0.0 <= coverage(weights, set(terms(text))) <= 1.0 + 1e-9
    if terms(query):
        assert coverage(weights, set(terms(query))) == pytest.approx(1.0)


@given(st.text(max_size=100))
def test_stems_are_never_empty(text: str) -> None:
    assert all(stem(word) for word in words(text))
