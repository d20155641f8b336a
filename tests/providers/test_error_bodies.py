"""Error bodies of real servers, and who must act on each: the loop by waiting or trimming, or the user.

`error_bodies.jsonl` has their wordings from public issues and vendors' documentation. Status 0 stands for an error
inside an answer of status 200.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from clio.errors import ClioError, ContextOverflow, ProviderError, ProviderRefused, RateLimited, ServerFailed
from clio.providers.error_meaning import explain_failure
from clio.providers.failure import Endpoint, Failure

AT = Endpoint(name="srv", base_url="https://h/v1", model="gpt-9")
ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "fixtures" / "error_bodies.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS: dict[str, type[ProviderError]] = {"RateLimited": RateLimited, "ServerFailed": ServerFailed}


def expecting(what: str) -> Any:
    """Return the rows of the table with this expectation."""
    return pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in ROWS if row["expect"] == what])


def error_body(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def explained(status: int, body: Any) -> ClioError:
    text = body if isinstance(body, str) else json.dumps(body)
    kind = "status" if status else "in_stream"
    return explain_failure(Failure(kind=kind, status=status, body=text), AT, now=0.0)


@expecting("smaller")
def test_an_overflow_leads_to_a_smaller_request(row: dict[str, Any]) -> None:
    error = explained(row["status"], row["body"])
    assert isinstance(error, ContextOverflow)
    assert (error.limit_tokens, error.sent_tokens) == (row["limit"], row["sent"])


@expecting("again")
def test_temporary_errors_are_retried(row: dict[str, Any]) -> None:
    error = explained(row["status"], row["body"])
    assert type(error) is KINDS[row["error"]]
    assert error.retryable


@expecting("stop")
def test_permanent_errors_end_the_turn_with_a_next_step(row: dict[str, Any]) -> None:
    error = explained(row["status"], row["body"])
    assert type(error) is KINDS[row["error"]]
    assert not error.retryable
    assert "--model" in str(error)


@expecting("refused")
def test_errors_the_user_must_fix_say_what_to_do(row: dict[str, Any]) -> None:
    error = explained(row["status"], row["body"])
    assert isinstance(error, ProviderRefused)
    assert error.exit_code == 2
    assert re.search(r"[:.] (?:set|check|choose|add credit|rephrase|log in|correct)\b", str(error), re.IGNORECASE)


@pytest.mark.parametrize(
    ("body", "wait_s"),
    [
        (error_body("Rate limit reached. Please try again in 1.2s.", code="rate_limit_exceeded"), 1.2),
        (error_body("Please retry after 26 seconds.", code="429"), 26.0),
        (
            error_body(
                "Rate limit of 10 per 60s exceeded. Please wait 42 seconds before retrying.", code="RateLimitReached"
            ),
            42.0,
        ),
        ([error_body("You exceeded your current quota. Please retry in 38.5s.", status="RESOURCE_EXHAUSTED")], 38.5),
    ],
)
def test_the_requested_wait_is_read(body: Any, wait_s: float) -> None:
    error = explained(429, body)
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == wait_s


def test_a_free_quota_of_zero_is_not_waited_for() -> None:
    error = explained(429, [error_body("You exceeded your current quota. limit: 0, model: x. Please retry in 38.5s.")])
    assert isinstance(error, ProviderRefused)


def test_the_affordable_number_of_tokens_is_read() -> None:
    words = "This request requires more credits, or fewer max_tokens. You asked for 65536, but can only afford 4321."
    assert "max_output_tokens to 4321" in str(explained(402, error_body(words, code=402)))


def test_the_message_of_a_server_behind_a_router_is_quoted() -> None:
    raw = json.dumps(error_body("model is warming up"))
    error = explained(503, error_body("Provider returned error", code=503, metadata={"raw": raw, "provider_name": "X"}))
    assert isinstance(error, ServerFailed)
    assert "model is warming up" in str(error)
