"""Notebooks whose fields have unusual types, and cells that nobody edited."""

import json
from typing import Any

import pytest

from clio.tools.files.notebook import collect_outputs, render_notebook, update_notebook


def make(minor: Any = 5, **fields: Any) -> bytes:
    cell = {"cell_type": "code", "id": "a1", "metadata": {}, "source": "x", "outputs": [], **fields}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": minor}).encode()


ODD: tuple[Any, ...] = (5, True, "text", {"a": 1}, [[1]], None, 1.5)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_unusual_field_types_are_tolerated(odd: Any) -> None:
    error = {"output_type": "error", "traceback": odd, "evalue": odd}
    stream = {"output_type": "stream", "text": odd}
    picture = {"output_type": "display_data", "data": {"image/png": odd, "text/plain": odd}}
    for data in (
        make(odd),
        make(outputs=odd),
        *(make(outputs=[output]) for output in (odd, error, stream, picture, {"output_type": odd, "data": odd})),
    ):
        collect_outputs(data)
        text = render_notebook(data)
        assert render_notebook(update_notebook(text, data)) == text


def test_a_cell_with_carriage_returns_that_nobody_edited_keeps_its_outputs() -> None:
    data = make(source="a = 1\r\nb = 2", outputs=[{"output_type": "stream", "text": "kept"}])
    assert "kept" in update_notebook(render_notebook(data), data).decode()
