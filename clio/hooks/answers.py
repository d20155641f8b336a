"""What a hook's end means: go on, go on with something to know, or no. Pure."""

from typing import Literal

import msgspec
from msgspec import Struct

from clio.hooks.run import Ended
from clio.text.json_data import decode_json

BLOCKS = 2
"""The exit code that says no; any other but 0 is a fault of the hook, and the work goes on."""


class _Said(Struct, frozen=True, kw_only=True):
    """The JSON a hook may print. Other keys are left for other programs."""

    decision: Literal["block", "approve", "allow", ""] = ""
    reason: str = ""
    context: str = ""


class HookAnswer(Struct, frozen=True, kw_only=True):
    """blocks: the reason for a no, "" for none. context: what it wants known. problem: what was wrong with it."""

    blocks: str = ""
    context: str = ""
    problem: str = ""


def read_answer(ended: Ended, timeout_s: float) -> HookAnswer:
    """The answer of a command that has ended. "approve" approves nothing: a hook can only narrow."""
    if ended.exit_code is None:
        return HookAnswer(problem=f"was stopped after {timeout_s:g} s")
    if ended.exit_code == BLOCKS:
        return HookAnswer(blocks=(ended.errors or ended.output).strip() or "it gave no reason")
    if ended.exit_code != 0:
        last = ended.errors.strip().rpartition("\n")[2]
        return HookAnswer(problem=f"failed with exit code {ended.exit_code}" + (f": {last}" if last else ""))
    text = ended.output.strip()
    if not text.startswith("{"):
        return HookAnswer(context=text)
    try:
        said = decode_json(text, type=_Said)
    except (msgspec.DecodeError, RecursionError) as error:
        return HookAnswer(problem=f"printed JSON that is not understood: {error}")
    if said.decision == "block":
        return HookAnswer(blocks=said.reason.strip() or "it gave no reason", context=said.context.strip())
    return HookAnswer(context=said.context.strip())
