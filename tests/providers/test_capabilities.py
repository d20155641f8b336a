"""Capabilities that servers list for a model, and the effort levels that vendors document."""

from typing import Any

import pytest

from clio.providers.limits import list_offered_models
from clio.providers.model_facts import find_documented_efforts
from clio.providers.prices import PriceBook
from clio.providers.profiles import PRESETS
from tests.support.rows import each_row

YES, NO = {"supported": True}, {"supported": False}


@each_row(
    ("row", "efforts", "images"),
    [
        (
            {
                "id": "claude-opus-5-5",
                "max_input_tokens": 1_000_000,
                "capabilities": {
                    "effort": {"supported": True, "low": YES, "medium": YES, "high": YES, "xhigh": NO, "max": YES},
                    "image_input": YES,
                },
            },
            ("low", "medium", "high", "max"),
            True,
        ),
        ({"id": "claude-old", "capabilities": {"effort": {"supported": False}, "image_input": NO}}, (), False),
        (
            {
                "id": "x/y",
                "context_length": 8_192,
                "supported_parameters": ["tools", "max_tokens"],
                "architecture": {"input_modalities": ["text", "image"]},
            },
            (),
            True,
        ),
        ({"id": "x/z", "supported_parameters": ["tools", "reasoning"]}, None, None),
        ({"id": "local", "type": "vlm", "max_context_length": 4_096}, None, True),
        ({"id": "mistral", "capabilities": {"vision": False}}, None, False),
        ({"id": "plain", "max_model_len": 4_096}, None, None),
        (
            {"id": "odd", "capabilities": ["completion"], "architecture": "llama", "supported_parameters": "all"},
            None,
            None,
        ),
    ],
)
def test_effort_and_pictures_in_a_servers_list_are_read(row: dict[str, Any], efforts: Any, images: Any) -> None:
    (found,) = list_offered_models({"data": [row]})
    assert (found.efforts, found.images) == (efforts, images)


@each_row(
    ("model", "least", "most"),
    [
        ("gpt-5", "minimal", "high"),
        ("gpt-5.1", "none", "high"),
        ("openai/gpt-5.4", "none", "xhigh"),
        ("gpt-5.6-sol", "none", "max"),
        ("gpt-6-sol", "none", "max"),
        ("gpt-6.1-sol", "low", "max"),
        ("gpt-5.3-codex", "low", "xhigh"),
        ("claude-fable-5-1", "low", "max"),
        ("claude-opus-5-5", "none", "max"),
        ("gemini-3.1-pro-preview", "low", "high"),
        ("gemini-3.6-flash", "minimal", "high"),
        ("grok-4.5", "low", "high"),
        ("grok-4.3", "none", "high"),
        ("grok-4.6", "low", "xhigh"),
        ("kimi-k3", "low", "max"),
    ],
)
def test_the_levels_documented_by_a_vendor(model: str, least: str, most: str) -> None:
    levels = find_documented_efforts(model)
    assert levels is not None and (levels[0], levels[-1]) == (least, most)


def test_claude_4_6_supports_max_and_no_xhigh() -> None:
    assert find_documented_efforts("claude-sonnet-4-6") == ("none", "low", "medium", "high", "max")


@pytest.mark.parametrize("name", ["xai", "bedrock", "vertex", "github-models"])
def test_the_default_model_of_a_server_has_a_price(name: str) -> None:
    (preset,) = (one for one in PRESETS if one.name == name)
    assert preset.default_model
    price = PriceBook(None, now=lambda: 1_795_000_000.0).find_price(name, preset.default_model)
    assert price is not None and price.rate.input < price.rate.output
