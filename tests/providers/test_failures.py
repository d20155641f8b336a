"""The message for each way in which a request can fail, and who must act."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import (
    ClioError,
    ContextOverflow,
    ProviderError,
    ProviderRefused,
    RateLimited,
    ServerFailed,
    StreamBroken,
)
from clio.providers.error_meaning import explain_failure, find_similar_models
from clio.providers.failure import Endpoint, Failure
from tests.support.rows import each_row
from tests.support.wording import mentions

NOW = 1_800_000_000.0
AT = Endpoint(name="openai", base_url="https://api.openai.com/v1", model="gpt-9")
LOCAL = Endpoint(name="localhost:8080", base_url="http://localhost:8080/v1", model="qwen", has_key=False)


def status(
    code: int, body: Any = "", headers: dict[str, str] | None = None, at: Endpoint = AT, **options: Any
) -> ClioError:
    text = body if isinstance(body, str) else json.dumps(body)
    return explain_failure(
        Failure(kind="status", status=code, headers=headers or {}, body=text), at, now=NOW, **options
    )


def error_body(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def test_a_wrong_key_is_named() -> None:
    error = status(401, error_body("Incorrect API key provided: sk-abcdef1234567890.", code="invalid_api_key"))
    assert isinstance(error, ProviderRefused)
    assert mentions(str(error), "key", "rejected", "openai", "OPENAI_API_KEY")


def test_a_missing_key_is_named() -> None:
    assert mentions(str(status(401, at=LOCAL)), "localhost:8080", "needs", "key", "OPENAI_API_KEY")


def test_gemini_reports_a_wrong_key_with_400() -> None:
    body = [
        {
            "error": {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
            }
        }
    ]
    error = status(
        400, body, at=Endpoint(name="gemini", base_url="https://g/v1", model="x", key_variable="GEMINI_API_KEY")
    )
    assert mentions(str(error), "key", "rejected", "gemini", "GEMINI_API_KEY")


def test_a_key_without_permission() -> None:
    error = status(403, error_body("Country not supported"))
    assert isinstance(error, ProviderRefused)
    assert "Country not supported" in str(error)
    assert "OPENAI_API_KEY" in str(error)


@each_row(
    ("code", "body"),
    [
        (404, error_body("The model `gpt-9` does not exist or you do not have access to it.", code="model_not_found")),
        (404, {"error": {"message": "model 'gpt-9' not found, try pulling it first", "type": "api_error"}}),
        (
            404,
            {"object": "error", "message": "The model `gpt-9` does not exist.", "type": "NotFoundError", "code": 404},
        ),
        (400, error_body("gpt-9 is not a valid model ID", code=400)),
        (400, {"object": "error", "message": "Invalid model: gpt-9", "type": "invalid_model", "code": "1500"}),
        (400, error_body("Model Not Exist", type="invalid_request_error")),
        (
            404,
            [
                {
                    "error": {
                        "code": 404,
                        "message": "models/gpt-9 is not found for API version v1main",
                        "status": "NOT_FOUND",
                    }
                }
            ],
        ),
    ],
)
def test_an_unknown_model_gets_suggestions(code: int, body: Any) -> None:
    error = status(code, body, models=("gpt-4o", "gpt-8", "o3"))
    assert isinstance(error, ProviderRefused)
    assert mentions(str(error), "openai", "no model 'gpt-9'", "--model", "'gpt-8'")


def test_an_unknown_model_without_known_names() -> None:
    error = status(404, error_body("The model `gpt-9` does not exist", code="model_not_found"))
    assert mentions(str(error), "openai", "no model", "'gpt-9'", "--model")


@pytest.mark.parametrize(
    "body", ["404 page not found", "<html><body>Not Found</body></html>", '{"detail":"Not Found"}', ""]
)
def test_a_wrong_url(body: str) -> None:
    error = status(404, body)
    assert isinstance(error, ProviderRefused)
    assert mentions(str(error), "404", "no chat server", "https://api.openai.com/v1", "--base-url", "/v1")


def test_a_redirect_is_reported() -> None:
    error = status(301, "", {"location": "https://elsewhere.example/v1/chat/completions"})
    assert isinstance(error, ProviderRefused)
    assert "redirects to https://elsewhere.example" in str(error)
    assert "--base-url" in str(error)


def test_missing_credit_is_reported() -> None:
    assert isinstance(status(402, error_body("Insufficient Balance")), ProviderRefused)
    error = status(
        429, error_body("You exceeded your current quota, please check your plan.", code="insufficient_quota")
    )
    assert isinstance(error, ProviderRefused)
    assert "quota" in str(error)


def test_a_rate_limit_is_waited_for() -> None:
    error = status(429, error_body("Rate limit reached"), {"retry-after": "7"})
    assert isinstance(error, RateLimited)
    assert (error.retryable, error.retry_after_s) == (True, 7.0)
    assert mentions(str(error), "rate limited", "openai", "Rate limit reached")


def test_the_wait_is_read_from_the_message() -> None:
    error = status(429, error_body("Rate limit reached. Please try again in 1.5s."))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 1.5


def test_a_very_long_wait_is_not_waited_for() -> None:
    error = status(429, error_body("Daily limit"), {"retry-after": "3600"})
    assert isinstance(error, RateLimited)
    assert not error.retryable
    assert "60 minutes" in str(error)


@pytest.mark.parametrize("code", [413, 429])
def test_a_request_larger_than_the_limit_per_minute(code: int) -> None:
    words = "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7012, please reduce"
    error = status(code, error_body(words, type="tokens", code="rate_limit_exceeded"))
    assert isinstance(error, RateLimited)
    assert not error.retryable
    assert "context_window below 6000" in str(error)


def test_a_request_within_the_limit_per_minute_waits() -> None:
    words = (
        "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000. Please try again in 8s."
    )
    error = status(429, error_body(words))
    assert isinstance(error, RateLimited)
    assert (error.retryable, error.retry_after_s) == (True, 8.0)


@pytest.mark.parametrize("code", [400, 413, 422, 500])
def test_an_overflow_with_any_status(code: int) -> None:
    words = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9034 tokens."
    error = status(code, {"error": {"message": words, "code": "400"}})
    assert isinstance(error, ContextOverflow)
    assert (error.limit_tokens, error.sent_tokens, error.exit_code) == (8192, 9034, 3)


def test_an_overflow_reported_outside_the_message() -> None:
    error = status(400, error_body("too large", type="exceed_context_size_error", n_prompt_tokens=5011, n_ctx=4096))
    assert isinstance(error, ContextOverflow)
    assert (error.limit_tokens, error.sent_tokens) == (4096, 5011)


def test_a_wrong_key_is_no_overflow_whatever_else_is_reported() -> None:
    assert isinstance(status(401, error_body("invalid key; also, the prompt is too long")), ProviderRefused)


def test_a_body_too_large_for_the_proxy() -> None:
    assert isinstance(status(413, "<html>413 Request Entity Too Large</html>"), ContextOverflow)


@each_row("code", [408, 409, 500, 502, 503, 504, 529])
def test_a_server_failure(code: int) -> None:
    error = status(code, error_body("overloaded"), {"retry-after": "2"})
    assert isinstance(error, ServerFailed)
    assert (error.retryable, error.retry_after_s) == (True, 2.0)
    assert str(code) in str(error)


def test_any_other_refusal_is_quoted() -> None:
    error = status(400, error_body("Invalid value for 'messages[3].role'.\n  See the docs."))
    assert isinstance(error, ServerFailed)
    assert (error.retryable, error.exit_code) == (False, 1)
    assert "(Invalid value for 'messages[3].role'. See the docs)" in str(error) and "--model" in str(error)
    listed = status(422, {"detail": [{"msg": "Field required"}]})
    assert "(Field required)" in str(listed) and "--model" in str(listed)


def test_a_model_without_tool_support() -> None:
    error = status(400, error_body("registry.ollama.ai/library/gpt-9:latest does not support tools"))
    assert isinstance(error, ProviderRefused)
    assert "models: {gpt-9: {tools: false}}" in str(error)


def test_keys_are_redacted() -> None:
    error = status(400, error_body("Bad header Authorization: Bearer sk-proj-abcdef0123456789abcdef"))
    assert "abcdef0123" not in str(error)


def test_status_and_server_message_are_in_one_pair_of_brackets() -> None:
    assert str(status(503, error_body("overloaded."))) == "openai failed (status 503: overloaded)"
    assert str(status(503, "")) == "openai failed (status 503)"


def test_long_answers_are_shortened() -> None:
    assert len(str(status(500, "x" * 100_000))) < 400


@each_row(
    ("failure", "kind", "retryable", "words"),
    [
        (Failure(kind="refused"), ServerFailed, False, "http://localhost:8080 (connection refused)"),
        (Failure(kind="dns"), ServerFailed, False, "'localhost': check --base-url"),
        (Failure(kind="tls", detail="self-signed"), ServerFailed, False, "SSL_CERT_FILE"),
        (Failure(kind="tls", detail="[SSL: WRONG_VERSION_NUMBER]"), ServerFailed, False, "use http:// in --base-url"),
        (Failure(kind="proxy", detail="403"), ServerFailed, False, "HTTPS_PROXY"),
        (Failure(kind="connect_timeout"), ServerFailed, True, "http://localhost:8080 (timed out)"),
        (Failure(kind="timeout", detail="x"), ServerFailed, True, "timed out (x)"),
        (Failure(kind="broken", detail="x"), StreamBroken, True, "closed before the answer ended (x)"),
        (Failure(kind="malformed", detail="x"), ServerFailed, True, "(x): check --base-url"),
    ],
)
def test_network_errors(failure: Failure, kind: type[ProviderError], retryable: bool, words: str) -> None:
    error = explain_failure(failure, LOCAL, now=NOW)
    assert isinstance(error, kind)
    assert error.retryable is retryable
    assert words in str(error)


@each_row(
    ("body", "kind"),
    [
        (error_body("Provider returned error", code=429), RateLimited),
        (error_body("Overloaded", type="overloaded_error"), ServerFailed),
        (
            error_body("prompt is too long: 213462 tokens > 200000 maximum", type="invalid_request_error"),
            ContextOverflow,
        ),
        ({"error": "the request exceeds the available context size"}, ContextOverflow),
        (error_body("No endpoints", code=401), ProviderRefused),
        (error_body("bad", type="invalid_request_error"), ServerFailed),
        ({"error": "something"}, ServerFailed),
    ],
)
def test_errors_inside_a_stream(body: Any, kind: type[ClioError]) -> None:
    assert type(explain_failure(Failure(kind="in_stream", body=json.dumps(body)), AT, now=NOW)) is kind


def test_similar_names_are_suggested() -> None:
    names = ("qwen2.5-coder:7b", "llama3.2", "gpt-oss:20b", "nomic")
    assert find_similar_models("qwen", names) == ["qwen2.5-coder:7b"]
    assert find_similar_models("lama3.2", names)[0] == "llama3.2"
    assert find_similar_models("zzz", names) == ["qwen2.5-coder:7b", "llama3.2", "gpt-oss:20b"]
    assert find_similar_models("zzz", ()) == []


@given(
    st.integers(300, 599),
    st.text(max_size=80)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["error", "message", "code", "detail"]), inner)
        ),
        max_leaves=6,
    ),
)
def test_any_answer_gives_one_line(code: int, body: Any) -> None:
    error = status(code, body)
    assert isinstance(error, ProviderRefused | ProviderError)
    assert str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 600
