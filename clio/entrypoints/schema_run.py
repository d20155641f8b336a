"""A turn whose answer must fit a schema: told what does not fit, the model is asked again, twice."""

from collections.abc import Awaitable, Callable
from typing import Any

from clio.agent.events import TurnFinished
from clio.app import App
from clio.entrypoints.answer_schema import RETRIES, AnswerSchema

MISFIT = 7
"""The exit code of an answer that does not fit."""


async def run_to_schema(
    app: App, schema: AnswerSchema, run_turn: Callable[[str], Awaitable[TurnFinished]], text: str
) -> dict[str, Any]:
    """The fields of the report: `structured` where the answer fits, else a status, an error and an exit code."""
    app.shelf.lay(schema.fragment())
    finished = await run_turn(text)
    fitted = schema.fit(finished.text)
    for _ in range(RETRIES):
        if finished.status != "done" or not fitted.problems:
            break
        finished = await app.run_turn(schema.complaint(fitted.problems))
        fitted = schema.fit(finished.text)
    if finished.status != "done":
        return {"exit_code": finished.exit_code, "error": finished.error}
    if not fitted.problems:
        return {"exit_code": 0, "structured": fitted.value}
    error = f"the answer does not fit --json-schema after {RETRIES} more tries: {fitted.problems[0]}"
    return {"exit_code": MISFIT, "status": "misfit", "error": error}
