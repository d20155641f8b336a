"""Asking a model whether two memories are one, and reading what it answers. Anything doubtful means: keep both."""

import math
import re
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from clio.errors import ProviderError
from clio.prompt_files import fill_prompt
from clio.text.json_data import decode_json

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S | re.I)
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)```", re.S)
_OBJECT = re.compile(r"\{.*\}", re.S)


class Decision(Struct, frozen=True, kw_only=True):
    """What a model said: merge into these words with this importance (0 or less: the higher of the two), or keep."""

    action: Literal["merge", "keep"] = "keep"
    new_content: str = ""
    importance: float = 0.0


KEEP = Decision()


def question(old: str, new: str) -> str:
    """The prompt that asks whether two memories say the same."""
    return fill_prompt("memory/dedupe", old=msgspec.json.encode(old).decode(), new=msgspec.json.encode(new).decode())


def ask(decide: Callable[[str], str], old: str, new: str) -> Decision:
    """What a model says to two memories; KEEP where it cannot be asked."""
    try:
        return read_decision(decide(question(old, new)))
    except (ProviderError, OSError, ValueError, TimeoutError):
        return KEEP


def read_decision(answer: str) -> Decision:
    """The decision in an answer, which may think aloud first and stand in a code fence; KEEP where there is none."""
    text = _THOUGHTS.sub("", answer)
    fenced = _FENCE.search(text)
    found = _OBJECT.search(fenced[1] if fenced else text)
    if found is None:
        return KEEP
    try:
        decision = decode_json(found[0], type=Decision)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return KEEP
    if decision.action == "keep" or not decision.new_content.strip() or not math.isfinite(decision.importance):
        return KEEP
    return decision
