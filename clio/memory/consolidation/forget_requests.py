"""Find what the user asks to forget, in seven languages, and which memories that is.

"Forget that the cache lives in Redis" repeats a statement, "forget what I said about the proxy port" and "never mind
the proxy port" name its subject, and "scratch that" takes back the message before. All words of the request must be in
the memory (`languages/forgetting.json` has the phrases), so that a request about anything else forgets nothing.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from clio.memory.consolidation.value_corrections import is_said_before, list_content_words
from clio.memory.preferences.rule_files import FILLER, load_rule_file, read_own_sentences

RequestKind = Literal["pointing", "stated", "explicit", "bare"]
_KINDS: tuple[RequestKind, ...] = ("pointing", "explicit", "stated", "bare")
_MAX_SENTENCE = 160
_PART = re.compile(r"\{([a-z]+)\}")


class _ForgetRules(Struct, frozen=True, kw_only=True):
    """The phrases of requests to forget, of all languages together: a short sentence does not show its language.

    Attributes:
        passing: searched anywhere; signs that a request is for the current task, or conditional.
        parts: pieces of the regular expressions.
        pointing: requests that name nothing: "scratch that".
        stated: requests that repeat the statement, in the group `about`.
        explicit: requests that name the subject of something the user said: "forget what I said about tabs".
        bare: requests that name a thing: "never mind the port". They may be about the current task.
    """

    passing: str
    parts: dict[str, str]
    pointing: tuple[str, ...]
    stated: tuple[str, ...]
    explicit: tuple[str, ...]
    bare: tuple[str, ...]


class ForgetRequest(Struct, frozen=True, kw_only=True):
    """One request to forget something.

    Attributes:
        kind: see `_ForgetRules`.
        about: the statement, or the words that name its subject; "" if it only points.
        quote: the sentence as written.
        is_whole: whether it is the whole message.
    """

    kind: RequestKind
    about: str
    quote: str
    is_whole: bool


@cache
def _patterns() -> tuple[re.Pattern[str], dict[RequestKind, tuple[re.Pattern[str], ...]]]:
    rules = load_rule_file("forgetting", _ForgetRules)

    def compile(phrase: str) -> re.Pattern[str]:
        while _PART.search(phrase):
            phrase = _PART.sub(lambda found: rules.parts[found[1]], phrase)
        return re.compile(phrase, re.IGNORECASE)

    return re.compile(rules.passing, re.IGNORECASE), {
        kind: tuple(map(compile, getattr(rules, kind))) for kind in _KINDS
    }


def find_forget_requests(text: str) -> list[ForgetRequest]:
    """Return the requests of a message to forget something, in its order."""
    sentences = read_own_sentences(re.sub(r"([。！？])(?=\S)", r"\1\n", text), _MAX_SENTENCE)
    return [
        ForgetRequest(kind=kind, about=about, quote=said.text, is_whole=len(sentences) == 1)
        for said in sentences
        if not said.is_question
        for kind, about in _read_request(said.text, said.masked)
    ]


def _read_request(text: str, masked: str) -> Iterator[tuple[RequestKind, str]]:
    plain = text.strip(" .!。！,")
    passing, patterns = _patterns()
    for kind in _KINDS:
        for pattern in patterns[kind]:
            found = pattern.fullmatch(plain)
            if found is None:
                continue
            about = found.groupdict().get("about") or ""
            if passing.search(plain) or (FILLER in masked and not about):
                return
            yield kind, about.strip(' .,“”"')
            return


def is_meant(content: str, request: ForgetRequest) -> bool:
    """Whether a request that names something names this memory."""
    wanted, words = list_content_words(request.about), list_content_words(content)
    # A run of Chinese characters is not divided into words.
    if not wanted or not all(word in words or (not word.isascii() and word in content) for word in wanted):
        return False
    return request.kind != "stated" or len(wanted) * 10 >= len(words) * 7


def needs_confirmation(request: ForgetRequest, content: str, context: str) -> bool:
    """Whether a request may as well be about the current task.

    context: what was said just before, in which the thing was named without this memory.
    """
    if request.kind != "bare":
        return False
    is_named_before = bool(list_content_words(request.about) & list_content_words(context))
    return not request.is_whole or (is_named_before and not is_said_before(content, context))


def is_stated_in(content: str, message: str) -> bool:
    """Whether a memory was stated in a message, so that "scratch that" after it takes it back."""
    words = list_content_words(content)
    return bool(words) and words <= list_content_words(message)


def list_named(contents: Sequence[str], request: ForgetRequest) -> list[int]:
    """Return the indexes of the memories that a request names; of several only those that it repeats best."""
    found = [place for place, content in enumerate(contents) if is_meant(content, request)]
    if len(found) > 1 and request.kind == "stated":
        wanted = list_content_words(request.about)
        same = [place for place in found if list_content_words(contents[place]) == wanted]
        return same or found
    return found
