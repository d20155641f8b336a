"""What clio learns from refusals about the effort levels of a model, in the wordings of many servers."""

import json
from typing import Any

import pytest

from clio.providers.base import AUTO, EFFORTS
from clio.providers.effort import EffortLevels
from tests.support.rows import each_row


def openai(message: str, param: str = "reasoning_effort", code: str | None = "unsupported_value") -> str:
    return json.dumps(
        {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}, indent=2
    )


def pydantic(kind: str, loc: list[Any], msg: str, given: str, **ctx: str) -> str:
    return json.dumps({"detail": [{"type": kind, "loc": loc, "msg": msg, "input": given, "ctx": ctx}]})


# sent level, refusal, remaining levels, and the level used instead of the requested one
LISTED = {
    "OpenAI chat": (
        "minimal",
        openai(
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
            "Supported values are: 'low', 'medium', and 'high'."
        ),
        ("low", "medium", "high"),
        "low",
    ),
    "OpenAI responses": (
        "minimal",
        openai(
            "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. "
            "Supported values are: 'none', 'low', 'medium', and 'high'.",
            "reasoning.effort",
        ),
        ("none", "low", "medium", "high"),
        "low",
    ),
    "OpenAI invalid": (
        "max",
        openai(
            "Invalid value: 'max'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', and 'xhigh'.",
            "reasoning.effort",
            "invalid_value",
        ),
        ("none", "minimal", "low", "medium", "high", "xhigh"),
        "xhigh",
    ),
    "OpenAI one value": (
        "high",
        openai(
            "Unsupported value: 'high' is not supported with the 'gpt-5.2-chat-latest' model. "
            "Supported values are: 'medium'.",
            "reasoning.effort",
        ),
        ("medium",),
        "medium",
    ),
    "Groq Qwen": (
        "high",
        openai("`reasoning_effort` must be one of `none` or `default`", "", None),
        ("none",),
        "",
    ),
    "Groq gpt-oss": (
        "xhigh",
        openai("`reasoning_effort` must be one of `low`, `medium`, or `high`", "", None),
        ("low", "medium", "high"),
        "high",
    ),
    "vLLM": (
        "xhigh",
        json.dumps(
            {
                "object": "error",
                "message": "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be "
                "'low', 'medium' or 'high'\", 'input': 'xhigh', 'ctx': {'expected': \"'low', 'medium' or 'high'\"}}]",
                "code": 400,
            }
        ),
        ("low", "medium", "high"),
        "high",
    ),
    "FastAPI": (
        "minimal",
        pydantic(
            "literal_error",
            ["body", "reasoning_effort"],
            "Input should be 'none' or 'high'",
            "minimal",
            expected="'none' or 'high'",
        ),
        ("none", "high"),
        "high",
    ),
    "Rust": (
        "minimal",
        openai(
            "Failed to deserialize the JSON body into the target type: reasoning_effort: unknown variant `minimal`, "
            "expected one of `low`, `medium`, `high`, `xhigh`, `max` at line 1 column 52",
            "",
            None,
        ),
        ("low", "medium", "high", "xhigh", "max"),
        "low",
    ),
    "Rust, two": (
        "low",
        openai("reasoning_effort: unknown variant `low`, expected `high` or `max` at line 1", "", None),
        ("high", "max"),
        "high",
    ),
    "Kimi through a gateway": (
        "xhigh",
        json.dumps(
            {
                "detail": "Invalid request: "
                + json.dumps(
                    {
                        "error": {
                            "message": "Validation error for `reasoning_effort`: expected one of "
                            "`'low' | 'medium' | 'high'`, received `'xhigh'`."
                        }
                    }
                )
            }
        ),
        ("low", "medium", "high"),
        "high",
    ),
    "OpenRouter": (
        "minimal",
        json.dumps(
            {
                "error": {
                    "message": json.dumps(
                        [
                            {
                                "code": "invalid_value",
                                "values": ["xhigh", "high", "medium", "low", "none"],
                                "path": ["reasoning", "effort"],
                                "message": 'Invalid option: expected one of "xhigh"|"high"|"medium"|"low"|"none"',
                            }
                        ]
                    ),
                    "code": 400,
                }
            }
        ),
        ("none", "low", "medium", "high", "xhigh"),
        "low",
    ),
    "Anthropic": (
        "xhigh",
        json.dumps(
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "This model does not support effort level 'xhigh'. "
                    "Supported levels: high, low, max, medium.",
                },
            }
        ),
        ("low", "medium", "high", "max"),
        "high",
    ),
    "Anthropic field": (
        "minimal",
        json.dumps(
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'",
                },
            }
        ),
        ("low", "medium", "high", "max"),
        "low",
    ),
    "a proxy without the name": (
        "max",
        json.dumps({"error": {"message": 'level "max" not supported, valid levels: low, medium, high, xhigh'}}),
        ("low", "medium", "high", "xhigh"),
        "xhigh",
    ),
    "Copilot": (
        "none",
        'reasoning_effort "none" is not supported by model gpt-5-mini; supported values: [minimal low medium high]',
        ("minimal", "low", "medium", "high"),
        "minimal",
    ),
    "Ollama": (
        "xhigh",
        json.dumps({"error": 'invalid reasoning value: "xhigh" (must be "high", "medium", "low", or "none")'}),
        ("none", "low", "medium", "high"),
        "high",
    ),
}


@each_row("case", LISTED)
def test_the_levels_listed_in_a_refusal_are_learned(case: str) -> None:
    sent, refusal, left, used = LISTED[case]
    lessons: dict[str, object] = {}
    levels = EffortLevels("m", lessons)
    assert levels.choose(sent) == sent
    notice = levels.adapt(refusal)
    assert notice is not None
    assert repr(sent) in notice
    assert (repr(used) in notice) if used else "its default" in notice
    assert levels.accepted == left
    assert EffortLevels("m", lessons).choose(sent) == used


FIELD_REFUSED = {
    "OpenAI responses": openai(
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        "reasoning.effort",
        "unsupported_parameter",
    ),
    "OpenAI chat": openai("Unrecognized request argument supplied: reasoning_effort", "", None),
    "xAI": json.dumps(
        {
            "code": "Client specified an invalid argument",
            "error": "Model grok-4-latest does not support parameter reasoningEffort.",
        }
    ),
    "xAI, older": json.dumps("Argument not supported on this model: reasoningEffort"),
    "Mistral": pydantic("extra_forbidden", ["body", "reasoning_effort"], "Extra inputs are not permitted", "high"),
    "Mistral, newer": json.dumps({"object": "error", "message": "reasoning_effort is not enabled for this model"}),
    "vLLM": json.dumps(
        {
            "error": "[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort'), "
            "'msg': 'Extra inputs are not permitted', 'input': 'high'}]"
        }
    ),
    "Groq": openai("`reasoning_effort` is not supported with this model", "reasoning_effort", None),
    "Gemini": json.dumps(
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Invalid JSON payload received. Unknown name "reasoning_effort": Cannot find field.',
                    "status": "INVALID_ARGUMENT",
                }
            }
        ]
    ),
    "Copilot": 'reasoning effort "high" was provided, but model claude-haiku-4.5 does not support reasoning effort',
    "Ollama": json.dumps({"error": '"llama3.2" does not support thinking'}),
    "Anthropic": json.dumps({"error": {"message": "This model does not support the effort parameter."}}),
    "Rust": "unknown field `reasoning_effort`, expected one of `model`, `messages`, `max_tokens`, `stream` at line 1",
    "Fireworks": json.dumps(
        {"error": {"message": "Extra inputs are not permitted, field: 'reasoning_effort', value: 'high'"}}
    ),
    "Azure": openai("Unrecognized request argument supplied: reasoning_effort", "", None),
    "SGLang": openai("Unsupported parameter(s): `reasoning_effort`", "", None),
}


@each_row("case", FIELD_REFUSED)
def test_a_model_without_effort_is_used_without_it_after_one_refusal(case: str) -> None:
    levels = EffortLevels("m", {})
    levels.choose("high")
    notice = levels.adapt(FIELD_REFUSED[case])
    assert notice is not None and "its default" in notice
    assert [levels.choose(level) for level in EFFORTS] == [""] * len(EFFORTS)


NO_NONE = {
    "OpenRouter": "Reasoning is mandatory for this endpoint and cannot be disabled.",
    "Gemini": "Budget 0 is invalid. This model only works in thinking mode.",
    "OpenAI": openai("Unsupported value: 'none' is not supported with the 'gpt-6-astra' model.", "reasoning.effort"),
}


@pytest.mark.parametrize("case", NO_NONE)
def test_a_model_that_always_thinks_gets_the_lowest_level(case: str) -> None:
    levels = EffortLevels("m", {})
    levels.choose("none")
    notice = levels.adapt(NO_NONE[case])
    assert notice is not None and "'minimal'" in notice
    assert levels.choose("high") == "high"


OTHER = {
    "a reasoning item": openai(
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.", "input", None
    ),
    "the window": openai(
        "This model's maximum context length is 8192 tokens, your reasoning and messages take 9000",
        "input",
        "context_length_exceeded",
    ),
    "the summary": openai(
        "Your organization must be verified to generate reasoning summaries.", "reasoning.summary", "unsupported_value"
    ),
    "encrypted content": openai("Encrypted content is not supported with this model.", "include", None),
    "a tool": openai("Invalid schema for function 'think': high is not of type 'string'", "tools[0]", None),
    "a signature": openai("messages.3.content.0: Invalid `signature` in `thinking` block", "", None),
    "the price": openai("You have no credit left; high demand", "", None),
}


@each_row("case", OTHER)
def test_a_refusal_of_something_else_teaches_nothing_about_effort(case: str) -> None:
    lessons: dict[str, object] = {}
    levels = EffortLevels("m", lessons)
    levels.choose("high")
    assert levels.adapt(OTHER[case]) is None
    assert lessons == {}


def test_without_an_effort_no_refusal_is_about_it() -> None:
    levels = EffortLevels("m", {})
    assert levels.choose(AUTO) == ""
    assert levels.adapt(FIELD_REFUSED["xAI"]) is None


@each_row("wanted", EFFORTS)
@each_row(
    "refusal",
    [
        openai("Supported values are: 'low', 'high'."),  # and it refuses those too
        openai("Unsupported value of reasoning_effort: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'"),
        "reasoning effort: must be one of none, minimal, low, medium, high, xhigh, max",
    ],
)
def test_a_server_that_refuses_every_listed_level_is_not_tried_for_ever(wanted: str, refusal: str) -> None:
    levels = EffortLevels("m", {})
    sent: list[str] = []
    while level := levels.choose(wanted):
        assert level not in sent
        assert wanted == "none" or level != "none"
        sent.append(level)
        assert levels.adapt(refusal) is not None


def test_only_the_level_none_becomes_none() -> None:
    lessons: dict[str, object] = {"efforts": ["none"]}
    levels = EffortLevels("m", lessons)
    assert {wanted: levels.find_nearest(wanted) for wanted in EFFORTS} == {"none": "none"} | dict.fromkeys(
        EFFORTS[1:], ""
    )


def test_a_damaged_saved_lesson_leaves_no_levels() -> None:
    assert EffortLevels("m", {"efforts": [7, "high", None, "giant"]}).accepted == ("high",)
    assert EffortLevels("m", {"efforts": "high"}).accepted == ()


def test_a_model_name_with_thinking_in_it_is_no_refusal_of_the_effort() -> None:
    levels = EffortLevels("kimi-k2-thinking", {})
    levels.choose("high")
    assert levels.adapt(openai("Unknown parameter: 'store' for kimi-k2-thinking", "store", None)) is None
