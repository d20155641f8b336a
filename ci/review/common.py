"""What the parts of the review share: the request, errors, the log, and cleaning of text."""

import base64
import os
import re
import sys
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

MAX_TEXT = 20_000
"""Characters of a description, a comment, an answer."""

SECRETS = ("CLIO_API_KEY", "CLIO_FORGE_TOKEN")
"""Variables whose values never appear in a comment or in the log."""


class ReviewFailed(Exception):
    """No review or answer was made; the message may be posted: it holds no text of the request and no secret."""


class Skip(Exception):
    """There is nothing to do; the message says why."""


@dataclass(frozen=True)
class Request:
    """What to do. question: "" for a review. reply: what the code host needs to place the answer."""

    number: int
    question: str = ""
    reply: str = ""
    automatic: bool = False


@dataclass(frozen=True)
class Change:
    """A pull or merge request as the code host describes it. base: the commit that the diff starts at."""

    title: str
    description: str
    author: str
    author_can_write: bool
    draft: bool
    base: str
    head: str
    ref: str
    url: str
    comments: tuple[str, ...] = ()


class Forge(Protocol):
    """A code host: what triggered the job, what the request is, and where to post."""

    def read_request(self) -> Request: ...
    def read_change(self, number: int) -> Change: ...
    def git_source(self) -> tuple[str, str]: ...
    def post_review(self, number: int, body: str) -> None: ...
    def post_answer(self, request: Request, body: str) -> None: ...
    def file_url(self, commit: str, path: str, line: int | None) -> str: ...


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)|\x9b[0-?]*[ -/]*[@-~]", re.S)


def remove_controls(text: str) -> str:
    """Return the text without escape sequences and invisible or reversing characters; line feeds and tabs stay."""
    text = _ANSI.sub("", text.replace("\r\n", "\n"))
    return "".join(
        mark
        for mark in text
        if mark in "\n\t"
        or not (
            ord(mark) < 0x20
            or 0x7F <= ord(mark) < 0xA0
            or 0xD800 <= ord(mark) < 0xE000
            or mark in "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u2028\u2029\u2800\u3164\ufeff\uffa0"
            or "\u200b" <= mark <= "\u200f"
            or "\u202a" <= mark <= "\u202e"
            or "\u2060" <= mark <= "\u206f"
            or "\ufe00" <= mark <= "\ufe0f"
            or "\ufff0" <= mark <= "\ufffb"
            or ord(mark) >= 0xE0000
        )
    )


def remove_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """Return the text with each secret replaced, also if it is spelled in base64, hexadecimal or percent codes."""
    for name, value in secrets.items():
        if len(value) < 6:
            continue
        raw = value.encode()
        forms = {value, value[::-1], urllib.parse.quote(value, safe=""), raw.hex(), raw.hex().upper()}
        for shift in range(3):  # base64 of a text that has the secret anywhere in it
            encoded = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
            forms.add(encoded[(0, 2, 3)[shift] : len(encoded) - (1 if (len(raw) + shift) % 3 else 0)])
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, f"[REDACTED:{name}]")
    return text


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters, with a mark if something was left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def read_number(name: str, default: float) -> float:
    """Return the number in a variable. Raises ReviewFailed if it is none, or not above zero."""
    value = os.environ.get(name, "").strip()
    try:
        number = float(value) if value else default
    except ValueError:
        number = 0
    if not 0 < number < 1_000_000:
        raise ReviewFailed(f"the setting {name} is not a number above zero")
    return number


def read_variable(name: str) -> str:
    """Return a variable that the code host sets. Raises ReviewFailed without it."""
    if value := os.environ.get(name, "").strip():
        return value
    raise ReviewFailed(f"the variable {name} is not set")


def read_secrets() -> dict[str, str]:
    """Return the secrets of this job, by the names of their variables."""
    return {name: value for name in SECRETS if (value := os.environ.get(name, "").strip())}


def log(text: str) -> None:
    """Write to the log of the job. No line can be a command to the runner, or hold a secret."""
    clean = remove_secrets(remove_controls(text), read_secrets())
    for line in shorten(clean.strip(), MAX_TEXT).split("\n"):
        sys.stderr.write(line.replace("::", ": :").replace("##[", "## [").replace("section_", "section ") + "\n")
