"""Run tests of vector search with numpy, and in plain Python for machines without it."""

import pytest


def raise_import_error() -> None:
    raise ModuleNotFoundError("No module named 'numpy'")


@pytest.fixture(params=["numpy", "plain Python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with numpy and without it; one that needs a graph only with it."""
    if request.param != "numpy":
        if "graphs" in request.fixturenames:
            pytest.skip("a graph needs numpy")
        for module in ("vector_index", "model_embedders"):
            monkeypatch.setattr(f"clio.memory.vectors.{module}.load_numpy", raise_import_error)
    return request.param
