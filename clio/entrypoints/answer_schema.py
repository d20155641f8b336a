"""`--json-schema`: the schema a final answer must fit, and asking again where it does not."""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from clio.agent.user_interface import TurnFinished
from clio.app import App
from clio.errors import UsageError
from clio.messages import Fragment
from clio.prompt_files import load_prompt
from clio.text.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


RETRIES = 2
"""How often the model is told what is wrong and asked again."""
MAX_BYTES = 1_000_000
_MAX_ERRORS = 10
_FENCE = LazyRegex(r"\A\s*```[\w-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_CAP_TOKENS = 8_000


class Fitted(Struct, frozen=True, kw_only=True):
    """An answer checked against the schema. `value` is valid only where `problems`, one sentence each, is empty."""

    value: Any = None
    problems: tuple[str, ...] = ()


class AnswerSchema:
    """One schema. `$ref` reaches only into the schema itself: nothing is fetched."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError where the file is missing, no JSON, or no JSON Schema."""
        self._text, schema = _load(path)
        self._validator = _validator(schema, path)

    def fragment(self) -> Fragment:
        """The schema as context for the model, placed before the text of the turn."""
        return Fragment(
            name="answer_schema",
            text=f"{load_prompt('context/answer_schema')}\n{self._text}",
            source="--json-schema",
            reason="the answer must be JSON of this form",
            cap_tokens=_CAP_TOKENS,
            whole=True,
        )

    def fit(self, answer: str) -> Fitted:
        """Parse the answer, JSON alone or in one ``` fence, and check it against the schema."""
        fenced = _FENCE.match(answer)
        try:
            value = json.loads(fenced[1] if fenced else answer, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            return Fitted(problems=(f"the answer is not JSON alone: {error}",))
        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda error: [str(key) for key in error.path])
        except Exception as error:  # a dangling $ref is found only when it is resolved
            return Fitted(problems=(f"the schema cannot be applied: {error}",))
        return Fitted(value=value, problems=tuple(_problem(error) for error in errors[:_MAX_ERRORS]))

    @staticmethod
    def complaint(problems: tuple[str, ...]) -> str:
        """The message to the model where its answer does not fit the schema."""
        return "\n".join([load_prompt("context/answer_again"), *(f"- {problem}" for problem in problems)])


def _load(path: Path) -> tuple[str, Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"--json-schema {str(path)!r} cannot be read: {error.strerror}; name a file") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"--json-schema {str(path)!r} is larger than {MAX_BYTES:,} bytes; name a smaller one")
    try:
        text = data.decode("utf-8-sig")
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-schema {str(path)!r} is not JSON: {error}") from None
    if not isinstance(schema, (dict, bool)):
        raise UsageError(f"--json-schema {str(path)!r} is not a JSON Schema: it must be an object")
    return text.strip(), cast(Any, schema)


def _validator(schema: Any, path: Path) -> "Validator":
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.path)) or "its top"
        raise UsageError(f"--json-schema {str(path)!r} is not a JSON Schema: at {place}: {error.message}") from None
    return kind(schema, registry=Registry())  # empty: the default registry would fetch missing schemas from the network


def _problem(error: Any) -> str:
    place = "/".join(map(str, error.path))
    return f"{'at ' + place if place else 'the whole'}: {error.message[:300]}"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


MISFIT = 7
"""The exit code of an answer that does not fit."""


async def run_to_schema(
    app: App, schema: AnswerSchema, run_turn: Callable[[str], Awaitable[TurnFinished]], text: str
) -> dict[str, Any]:
    """Run a turn whose answer must fit the schema; ask again at most RETRIES times.

    Returns:
        Fields for the report: `structured` where the answer fits, else status, error and exit code.
    """
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
