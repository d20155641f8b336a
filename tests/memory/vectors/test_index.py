"""The index returns the nearest vectors for any size and order, by each method."""

import random
import sys
from pathlib import Path

import numpy
import pytest

from clio.memory.vectors.vector_index import NumpyRows, PlainRows, VectorIndex, load_graph
from clio.text.embedding import embed_text

pytestmark = pytest.mark.usefixtures("engine")
WORDS = "parser token window session lock journal prompt cache redact config yaml retry stream diff index port".split()


def rows(count: int, seed: int = 1) -> numpy.ndarray:
    found = numpy.random.default_rng(seed).normal(size=(count, 384)).astype("float32")
    return found / numpy.linalg.norm(found, axis=1, keepdims=True)


def sentences(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [f"{' '.join(rng.choices(WORDS, k=9))} {rng.randrange(2_000)}" for _ in range(count)]


def plain(matrix: numpy.ndarray, query: numpy.ndarray, count: int) -> list[tuple[int, float]]:
    """Return the result by definition, in float64."""
    lengths = numpy.linalg.norm(matrix.astype("float64") - query.astype("float64"), axis=1)
    order = sorted(range(len(matrix)), key=lambda place: (lengths[place], place))
    return [(place, float(lengths[place])) for place in order[:count]]


def test_the_nearest_are_those_by_definition() -> None:
    matrix = rows(3_000)
    index = VectorIndex(matrix)
    for query in rows(30, seed=2):
        found, wanted = index.search(query, 7), plain(matrix, query, 7)
        assert [place for place, _ in found] == [place for place, _ in wanted]
        assert [distance for _, distance in found] == pytest.approx([distance for _, distance in wanted], abs=1e-6)


def test_a_search_can_be_restricted_to_some_rows() -> None:
    matrix = rows(2_000)
    index = VectorIndex(matrix)
    for share in (3, 40, 1_900):
        places = random.Random(share).sample(range(2_000), share)
        [query] = rows(1, seed=share)
        wanted = [place for place, _ in plain(matrix, query, 2_000) if place in set(places)]
        assert [place for place, _ in index.search(query, 5, places=places)] == wanted[:5]


def test_of_equal_distances_the_first_row_comes_first() -> None:
    [same] = rows(1)
    index = VectorIndex([same] * 50)
    assert index.search(same, 4) == [(place, pytest.approx(0.0, abs=1e-6)) for place in range(4)]
    assert [place for place, _ in index.search(same, 3, places=[30, 9, 20, 10])] == [9, 10, 20]


def test_an_index_extended_row_by_row_equals_one_made_at_once() -> None:
    matrix = rows(2_500)
    index = VectorIndex()
    for row in matrix:
        index.add([row])
    [query] = rows(1, seed=3)
    assert index.search(query, 5) == VectorIndex(matrix).search(query, 5)
    assert len(index) == 2_500


def test_plain_python_finds_the_same_as_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = rows(1_500)
    matrix[700] = 0.0
    matrix[900:905] = matrix[3]  # equally near ones
    found: list[list[list[tuple[int, float]]]] = []
    kinds: list[str] = []
    for make in (lambda: NumpyRows(numpy), PlainRows):
        monkeypatch.setattr("clio.memory.vectors.vector_index.make_row_matrix", make)
        index = VectorIndex(matrix[:600])
        assert index.read(matrix[600:].tobytes(), 900)
        index.remove([5, 1_499])
        kinds.append(type(index._rows).__name__)
        searches = [index.search(query, 9) for query in [*rows(20, seed=4), matrix[3]]]
        searches.append(index.search(matrix[3], 4, places=range(2, 1_000)))
        found.append(searches)
    assert kinds == ["NumpyRows", "PlainRows"]
    for one, other in zip(*found, strict=True):
        assert [place for place, _ in one] == [place for place, _ in other]
        assert [distance for _, distance in one] == pytest.approx([distance for _, distance in other], abs=1e-7)


def test_rows_that_are_not_unit_vectors_are_damage() -> None:
    matrix = rows(3)
    matrix[1] *= 1.1
    assert not VectorIndex().read(matrix.tobytes(), 3)
    assert not VectorIndex().read(matrix[:1].tobytes(), 2)  # shorter than it should be
    assert VectorIndex().read(matrix[:1].tobytes(), 1)


def test_only_many_vectors_need_numpy(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setattr("clio.memory.vectors.vector_index.NUMPY_FROM", 10)
    assert not VectorIndex(rows(10)).describe_slow_search()
    assert ("without numpy" in VectorIndex(rows(11)).describe_slow_search()) == (engine != "numpy")


def test_a_count_above_the_size_returns_all_and_an_empty_index_nothing() -> None:
    assert VectorIndex().search([1.0] + [0.0] * 383, 3) == []
    matrix = rows(4)
    assert len(VectorIndex(matrix).search(matrix[0], 9)) == 4
    assert VectorIndex(matrix).search(matrix[0], 0) == []
    assert VectorIndex(matrix).search(matrix[0], 3, places=[]) == []


def test_removed_rows_are_not_found() -> None:
    matrix = rows(100)
    index = VectorIndex(matrix)
    index.remove([7, 8])
    assert index.search(matrix[7], 100)[0][0] != 7
    assert len(index.search(matrix[7], 100)) == 98
    assert index.search(matrix[7], 2, places=[7, 8]) == []


def test_a_row_of_zeros_is_near_to_nothing() -> None:
    [query] = rows(1)
    assert VectorIndex([numpy.zeros(384)]).search(query, 1) == [(0, pytest.approx(2**0.5))]


def test_a_limit_of_one_is_as_strict_as_in_float64() -> None:
    """cos 0.5 exactly is a distance of 1.0: not below."""
    first = numpy.zeros(384)
    first[0] = 1.0
    half = numpy.zeros(384)
    half[:4] = 0.5
    assert VectorIndex([half]).search(first, 1) == [(0, 1.0)]


@pytest.fixture
def graphs() -> None:
    pytest.importorskip("usearch")


def recall(exact: VectorIndex, graph: VectorIndex, queries: list[numpy.ndarray]) -> float:
    pairs = [({p for p, _ in exact.search(query, 3)}, {p for p, _ in graph.search(query, 3)}) for query in queries]
    return sum(len(one & other) for one, other in pairs) / sum(len(one) for one, _ in pairs)


def test_a_graph_finds_nearly_all_results_of_an_exact_search(graphs: None) -> None:
    texts = sentences(4_000)
    matrix = numpy.array([embed_text(text) for text in texts], dtype="float32")
    exact, graph = VectorIndex(matrix), VectorIndex(matrix, graph_from=1_000)
    graph.build()
    assert graph.graph_size == 4_000
    queries = [numpy.array(embed_text(text)) for text in sentences(150, seed=9)]
    assert recall(exact, graph, queries) >= 0.98
    assert graph.search(queries[0], 1) == exact.search(queries[0], 1)


def test_rows_not_yet_in_the_graph_are_found_too(graphs: None) -> None:
    matrix = rows(1_500)
    index = VectorIndex(matrix[:1_450], graph_from=1_000)
    index.build()
    index.add(matrix[1_450:])
    assert index.graph_size == 1_450
    for place in (3, 1_449, 1_450, 1_499):
        assert index.search(matrix[place], 1)[0][0] == place
    index.build()
    assert index.graph_size == 1_500
    assert index.search(matrix[1_480], 1)[0][0] == 1_480
    assert [place for place, _ in index.search(matrix[1_480], 3, places=[1, 2])] == plain_places(matrix, 1_480, [1, 2])


def plain_places(matrix: numpy.ndarray, query: int, places: list[int]) -> list[int]:
    return [place for place, _ in plain(matrix, matrix[query], len(matrix)) if place in places]


def test_removed_rows_are_not_found_by_the_graph_either(graphs: None) -> None:
    matrix = rows(1_200)
    index = VectorIndex(matrix, graph_from=1_000)
    index.build()
    index.remove(range(1_190))
    assert {place for place, _ in index.search(matrix[5], 5)} <= set(range(1_190, 1_200))
    assert len(index.search(matrix[5], 20)) == 10


def test_a_graph_is_saved_and_a_damaged_one_rebuilt(graphs: None, tmp_path: Path) -> None:
    matrix = rows(1_100)
    index = VectorIndex(matrix, graph_from=1_000)
    index.keep_graph(tmp_path, "abc")
    index.build()
    [path] = tmp_path.iterdir()
    assert load_graph(tmp_path, "other", 1_100) is None
    assert load_graph(tmp_path, "abc", 1_000) is None  # of more rows than exist
    again = VectorIndex(matrix, graph_from=1_000)
    again.keep_graph(tmp_path, "abc")
    assert again.graph_size == 1_100
    assert again.search(matrix[9], 3) == index.search(matrix[9], 3)
    path.write_bytes(path.read_bytes()[:-9] + b"damaged!!")
    assert load_graph(tmp_path, "abc", 1_100) is None


def test_building_a_graph_continues_during_searches(graphs: None) -> None:
    matrix = rows(3_000)
    index = VectorIndex(matrix, graph_from=1_000)
    assert index.search(matrix[5], 1)[0][0] == 5  # exact: the graph has only begun
    index.close()
    assert index.graph_size in (0, 3_000)


def test_without_the_package_a_search_stays_exact_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    monkeypatch.setitem(sys.modules, "usearch", None)
    matrix = rows(1_100)
    index = VectorIndex(matrix, graph_from=1_000)
    index.build()
    assert index.lacks_graph and index.graph_size == 0
    assert index.search(matrix[5], 3) == VectorIndex(matrix).search(matrix[5], 3)
