"""Check the test vectors of the five specification documents against clio's public functions.

Files named in CLIO_VECTORS (separated like PATH) run in the same way. Where the documents disagree, a vector expects
the value that docs/decisions chose.
"""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from tests.vectors.pure import ADAPTERS as PURE
from tests.vectors.pure import NOT_IN_CLIO
from tests.vectors.stores import ADAPTERS as STORES

ADAPTERS = PURE | STORES
OWN = Path(__file__).with_name("seed_vectors.json")


def files() -> list[Path]:
    """Return the vector file of the repository and those named in CLIO_VECTORS."""
    return [OWN, *(Path(name) for name in os.environ.get("CLIO_VECTORS", "").split(os.pathsep) if name)]


def vectors() -> list[Any]:
    found: list[Any] = []
    for file in files():
        document = json.loads(file.read_text(encoding="utf-8"))
        entries = document["vectors"] if isinstance(document, dict) else document
        found += [
            pytest.param(entry, id=f"{file.stem}-{entry['id']}")
            for entry in entries
            if entry["kind"] not in NOT_IN_CLIO
        ]
    return found


@pytest.mark.parametrize("vector", vectors())
def test_vector(vector: dict[str, Any]) -> None:
    adapter = ADAPTERS.get(vector["kind"])
    assert adapter is not None, f"no adapter for the kind {vector['kind']!r} of vector {vector['id']!r}"
    got = adapter(vector["input"])
    tolerance = float(vector.get("tol", 1e-6))
    for name, expected in vector["expected"].items():
        assert name in got, f"{vector['id']}: the adapter gives no {name!r}"
        assert same(got[name], expected, tolerance), (
            f"{vector['id']} ({vector.get('about', '')}): {name} is {got[name]!r}, expected {expected!r}"
        )


def same(got: Any, expected: Any, tolerance: float) -> bool:
    """Whether the values are equal: numbers within the tolerance, containers item by item."""
    if isinstance(expected, bool) or isinstance(got, bool) or expected is None or got is None:
        return got is expected
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return math.isclose(got, expected, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(expected, dict) and isinstance(got, dict):
        return got.keys() == expected.keys() and all(same(got[name], expected[name], tolerance) for name in expected)
    if isinstance(expected, list) and isinstance(got, list | tuple):
        return len(got) == len(expected) and all(map(lambda a, b: same(a, b, tolerance), got, expected))
    return got == expected


def test_each_kind_has_an_adapter_or_a_reason_for_having_none() -> None:
    assert not ADAPTERS.keys() & NOT_IN_CLIO.keys()
    kinds = {entry["kind"] for entry in json.loads(OWN.read_text(encoding="utf-8"))["vectors"]}
    assert kinds == ADAPTERS.keys() | NOT_IN_CLIO.keys()


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(AssertionError, match="no adapter"):
        test_vector({"id": "x", "kind": "nobody.knows", "input": {}, "expected": {}})


def test_a_wrong_number_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"expected 0\.3"):
        vector = {"id": "x", "kind": "ams.epsilon", "input": {"feedback_count": 0}, "expected": {"epsilon": 0.3}}
        test_vector(vector)
