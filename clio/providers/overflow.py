"""Recognises "this does not fit the window" in the words of many servers.

There is no common code for it: most send 400 and a sentence, some 413, 422 or 500, some an error inside a stream.
"""

import re
from functools import cache

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern

_NUMBER = r"(\d[\d,._]*\d|\d)"


class Overflow(Struct, frozen=True):
    """What a server said about a request too large. None where it names no number."""

    limit_tokens: int | None = None
    sent_tokens: int | None = None


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Compiled with the first failure: forty of them cost 4 ms, and most runs need none."""
    return tuple(
        re.compile(
            wording.replace("<sent>", f"(?P<sent>{_NUMBER})").replace("<limit>", f"(?P<limit>{_NUMBER})"), re.I | re.S
        )
        for wording in _WORDINGS
    )


# Tried in order; those with numbers stand before those without.
_WORDINGS = (
    # OpenAI, Azure, DeepSeek, vLLM, Together, litellm: "maximum context length is 8192 tokens. However, you requested
    # 9000 tokens" / "your messages resulted in 9000 tokens" / "your request has 2104 input tokens"
    r"maximum context length (?:is|of) <limit> tokens?.{0,60}?(?:requested(?: about)?|resulted in|"
    r"request has|contains(?: at least)?|prompt (?:has|is)|you passed|input (?:has|is)) <sent>",
    r"maximum context length (?:is|of) <limit>",
    r"you passed <sent> input tokens.{0,120}?context length is only <limit> tokens",  # vLLM
    r"prompt is too long: <sent>, model maximum context length: <limit>",  # Fireworks
    r"prompt tokens? limit exceeded: <sent> > <limit>",  # OpenRouter, where the credit left pays for no more
    r"request body too large for .{1,80}? max size: <limit> tokens",  # GitHub Models
    r"prompt tokens \(<sent>\) exceeds? (?:the )?context size \(<limit>\)",
    r"configured limit of <limit> tokens.{0,60}?resulted in <sent> tokens",  # OpenAI, newer
    r"prompt is too long: <sent> tokens > <limit> maximum",  # Anthropic
    r"input length and `?max_tokens`? exceed context limit: <sent> \+ [\d,]+ > <limit>",  # Anthropic, with the output
    r"input token count \(<sent>\) exceeds the maximum number of tokens allowed \(<limit>\)",  # Gemini
    r"input token count exceeds the maximum number of tokens allowed \(?<limit>",  # Gemini, newer
    r"input token count.{0,40}exceeds the maximum",
    r"prompt contains <sent> tokens.{0,80}?model with <limit> maximum",  # Mistral
    r"too large for model with <limit> maximum context length",  # Mistral
    r"maximum prompt length is <limit>(?: but the request contains <sent>)?",  # xAI
    r"request \(<sent> tokens\) exceeds the available context size \(<limit> tokens\)",  # llama.cpp
    r"n_prompt_tokens\D{1,4}<sent>.*?n_ctx\D{1,4}<limit>",  # llama.cpp, the fields beside the sentence
    r"exceeds? the available context size",  # llama.cpp, older
    r"tokens to keep from the initial prompt \(<sent>\).{0,40}context length \(n_ctx ?= ?<limit>\)",  # LM Studio
    r"tokens to keep from the initial prompt is greater than the context length",  # LM Studio, older
    r"context (?:length|overflow).{0,40}?<limit> tokens.{0,60}?not enough",  # LM Studio
    r"prompt too long; exceeded (?:max )?context length",  # Ollama
    r"input length exceeds (?:the )?(?:maximum )?context length",  # Ollama
    r"`?inputs`? tokens \+ `?max_new_tokens`? must be <= <limit>\. given: <sent>",  # Hugging Face TGI and Together
    r"`?inputs`? must have less than <limit> tokens\. given: <sent>",  # TGI
    r"prompt \(length <sent>\) is longer than the maximum model length of <limit>",  # vLLM
    r"prompt length \(<sent>\) exceeds (?:the )?(?:maximum|max)\D{0,40}<limit>",
    r"input \(<sent> tokens\) is longer than the model's context length \(<limit> tokens\)",  # SGLang
    r"current length is <sent> while limit is <limit>",  # Cerebras
    r"token limit of <limit>.{0,60}?<sent>",
    r"exceeded model token limit: <limit> \(requested: <sent>\)",  # Moonshot
    r"prompt token count of <sent> exceeds the limit of <limit>",  # GitHub Models and Copilot
    r"range of input length should be \[1, <limit>\]",  # Alibaba
    r"please reduce the length of (?:the |your )?(?:messages|prompt|input|conversation)",  # Groq
    r"exceeds? (?:the |this model's |the model's )?(?:maximum )?context (?:window|length|limit|size)",
    r"context window exceeds (?:the )?limit",  # MiniMax
    r"context window (?:exceeded|is full)|contextwindowexceeded",  # litellm
    r"context[_ ]length[_ ]exceeded|context_window_exceeded|exceed_context_size|model_context_window_exceeded",
    r"input is too long for (?:the )?requested model",  # Bedrock
    r"prompt exceeds (?:the )?max(?:imum)? length",  # Z.ai
    r"too many input tokens|too many total text bytes|prompt is too long|input is too long|prompt too long",
    r"request_too_large|request exceeds the maximum (?:size|allowed number of bytes)",  # Anthropic, by bytes
    r"longer than the maximum number of tokens|token indices sequence length is longer",  # transformers
    r"content.{0,20}too long.{0,40}context",
)
# Budgets by time, and the length of the answer: shrinking the conversation is not what they ask for.
_NOT_WINDOW = LatePattern(
    r"per[ _-]?(?:minute|min|hour|day|second|month)|\b(?:tpm|rpm|tpd|rpd)\b|rate[ _-]?limit|quota|"
    r"too many requests|throttl",
    re.IGNORECASE,
)
_ANSWER_TOO_LONG = LatePattern(
    r"at most [\d,]+ (?:completion|output) tokens|max_tokens.{0,40}(?:<=|less than|maximum allowed)", re.I
)
_PLAIN_CODE = LatePattern(r"context_length_exceeded|exceed_context_size", re.I)


def find_overflow(text: str) -> Overflow | None:
    """What the error text says about the window, or None where it is about something else.

    text: the message, or the whole body; both work. Token budgets per minute or day are no overflow, nor is an answer
    asked for that is longer than the model gives.
    """
    if not _PLAIN_CODE.search(text) and (_NOT_WINDOW.search(text) or _ANSWER_TOO_LONG.search(text)):
        return None
    for pattern in _patterns():
        if found := pattern.search(text):
            named = found.groupdict()
            return Overflow(_count(named.get("limit")), _count(named.get("sent")))
    return None


def _count(text: str | None) -> int | None:
    if not text:
        return None
    digits = re.sub(r"\D", "", text)
    return int(digits) if digits else None
