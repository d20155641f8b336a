"""Turn a failed model request into the exception to raise: its class says who must act, its message what to do.

No I/O.
"""

import difflib
import re
from collections.abc import Sequence
from functools import cache
from urllib.parse import urlsplit

from msgspec import Struct

from clio.config.schema import KEYRING_KEY
from clio.errors import (
    ClioError,
    ContextOverflow,
    ProviderRefused,
    RateLimited,
    ServerFailed,
    StreamBroken,
)
from clio.providers.failure import (
    KEY_COMMAND,
    LONGEST_WAIT_S,
    Endpoint,
    ErrorBody,
    Failure,
    find_wait_s,
    read_retry_after,
)
from clio.providers.urls import strip_login, url_host
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

_NUMBER = r"(\d[\d,._]*\d|\d)"


class Overflow(Struct, frozen=True):
    """The token counts in a server's "request too large" error; None for a number that the error does not contain."""

    limit_tokens: int | None = None
    sent_tokens: int | None = None


@cache
def _compile_patterns() -> tuple[re.Pattern[str], ...]:
    """Return the compiled overflow patterns.

    Compiled at the first failure and not at import: about forty patterns take 4 ms, and most runs need none.
    """
    return tuple(
        re.compile(
            wording.replace("<sent>", f"(?P<sent>{_NUMBER})").replace("<limit>", f"(?P<limit>{_NUMBER})"), re.I | re.S
        )
        for wording in _WORDINGS
    )


# Tried in order: patterns that capture numbers come before those that do not.
_WORDINGS = (
    # OpenAI, Azure, DeepSeek, vLLM, Together, litellm: "maximum context length is 8192 tokens. However, you requested
    # 9000 tokens" / "your messages resulted in 9000 tokens" / "your request has 2104 input tokens"
    r"maximum context length (?:is|of) <limit> tokens?.{0,60}?(?:requested(?: about)?|resulted in|"
    r"request has|contains(?: at least)?|prompt (?:has|is)|you passed|input (?:has|is)) <sent>",
    r"maximum context length (?:is|of) <limit>",
    r"you passed <sent> input tokens.{0,120}?context length is only <limit> tokens",  # vLLM
    r"prompt is too long: <sent>, model maximum context length: <limit>",  # Fireworks
    r"prompt tokens? limit exceeded: <sent> > <limit>",  # OpenRouter, if the remaining credit pays for no more
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
    r"n_prompt_tokens\D{1,4}<sent>.*?n_ctx\D{1,4}<limit>",  # llama.cpp, fields beside the message
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
# Errors about token budgets per period, or about the length of the answer: a shorter conversation would not help.
_NOT_WINDOW = LazyRegex(
    r"per[ _-]?(?:minute|min|hour|day|second|month)|\b(?:tpm|rpm|tpd|rpd)\b|rate[ _-]?limit|quota|"
    r"too many requests|throttl",
    re.IGNORECASE,
)
_ANSWER_TOO_LONG = LazyRegex(
    r"at most [\d,]+ (?:completion|output) tokens|max_tokens.{0,40}(?:<=|less than|maximum allowed)", re.I
)
_PLAIN_CODE = LazyRegex(r"context_length_exceeded|exceed_context_size", re.I)


def find_overflow(text: str) -> Overflow | None:
    """Return the overflow that an error text describes; None if the error is about something else.

    text: the error message or the whole body. Exceeded token budgets per minute or day are no overflow, nor is a
    requested answer length (`max_tokens`) above the model's maximum.
    """
    if not _PLAIN_CODE.search(text) and (_NOT_WINDOW.search(text) or _ANSWER_TOO_LONG.search(text)):
        return None
    for pattern in _compile_patterns():
        if found := pattern.search(text):
            numbers = found.groupdict()
            return Overflow(_parse_count(numbers.get("limit")), _parse_count(numbers.get("sent")))
    return None


def _parse_count(text: str | None) -> int | None:
    if not text:
        return None
    digits = re.sub(r"\D", "", text)
    return int(digits) if digits else None


_MAX_QUOTE = 300
_KEY = LazyRegex(r"\b(?:sk|pk|gsk|AIza|key)[-_]?[A-Za-z0-9*_.-]{8,}")
# What words and codes in an error mean, independent of its HTTP status: servers disagree about which status to use.
_NO_MONEY = LazyRegex(
    r"insufficient[_ ](?:quota|balance|credit|fund)|credit balance|exceeded_current_quota|exceeded your current quota"
    r"|(?:any|available|prepayment|included) credits|\bno credits? (?:left|remain|available)|out of credits?"
    r"|credits? (?:are|is) (?:depleted|exhausted)|spending limit|arrearage|good standing|billing_error"
    r"|billing_hard_limit|please recharge",
    re.I,
)
_ALLOWANCE = LazyRegex(
    r"per[ _-]?(?:day|month|week)\b|\b(?:daily|weekly|monthly)\b|usage limits?\b.{0,60}(?:reached|exceeded)"
    r"|(?:reached|exceeded).{0,60}usage limit|usage limit reached|will regain access",
    re.I,
)
_FILTERED = LazyRegex(
    r"content[_ ]?filter|content management policy|invalid_prompt|cyber_policy|usage polic|content_policy|flagged"
    r"|content exists risk|considered high risk|sensitive content|new_sensitive|data_inspection_failed"
    r"|inappropriate content|prohibited_content|safety (?:system|filter|polic)",
    re.I,
)
_BROKEN_CALL = LazyRegex(
    r"tool_use_failed|tool call validation failed|failed to call a function|output_parse_failed", re.I
)
_NO_TOOLS = LazyRegex(
    r"does(?:n't| not) support (?:tool|function)|tools? (?:is|are) not supported|--enable-auto-tool|support tool use",
    re.I,
)
_NO_IMAGES = LazyRegex(
    r"does(?:n't| not) support (?:image|vision)|images? (?:input )?(?:is|are) not supported|support image input"
    r"|not a (?:multimodal|vision) model|image_url is only supported",
    re.I,
)
_NOT_IN_REGION = LazyRegex(r"(?:location|country|region|territory).{0,60}not (?:supported|available)", re.I)
_NO_MEMORY = LazyRegex(r"requires more system memory|out of memory|failed to allocate", re.I)
_AFFORDS = LazyRegex(r"fewer max_tokens.{0,120}can only afford (\d+)", re.I | re.S)
_TOKEN_BUDGET = LazyRegex(r"limit[: ]+(\d+).{0,40}?requested[: ]+(\d+)", re.IGNORECASE | re.DOTALL)


def explain_failure(failure: Failure, at: Endpoint, *, models: Sequence[str] = (), now: float) -> ClioError:
    """Return the exception to raise for a failed request.

    Args:
        failure: the request's failure as received.
        at: the server and model it was sent to.
        models: names of models that the server is known to offer, to suggest similar ones.
        now: seconds since the epoch.
    """
    match failure.kind:
        case "status" | "in_stream":
            return _explain_answer(failure, at, models, now)
        case "key":
            return ProviderRefused(failure.detail)
        case "broken":
            return StreamBroken(
                tr(
                    "the connection to {at} closed before the answer ended{quote}",
                    at=at.name,
                    quote=_quote(failure.detail),
                )
            )
        case "endless":
            text = tr(
                "connection to {at} closed ({detail}). Check {model!r} and its server",
                at=at.name,
                detail=failure.detail,
                model=at.model,
            )
            return ServerFailed(text, retryable=False)
        case "malformed":
            return ServerFailed(
                tr(
                    "{at} sent an answer that is not a chat completion{quote}: check --base-url",
                    at=at.name,
                    quote=_quote(failure.detail),
                )
            )
        case _:
            return _explain_connection(failure, at)


def _explain_connection(failure: Failure, at: Endpoint) -> ServerFailed | ProviderRefused:
    shown_url = _strip_path(at.base_url)
    host = url_host(at.base_url)
    match failure.kind:
        case "refused":
            text = tr(
                "can't connect to {shown_url} (connection refused). Is the server running? Is --base-url correct?",
                shown_url=shown_url,
            )
        case "dns" if at.doubtful_address:
            return ProviderRefused(
                tr(
                    "{at} is not available in this region: can't resolve {host!r}; correct {address_setting}",
                    at=at.name,
                    host=host,
                    address_setting=at.address_setting,
                )
            )
        case "dns":
            text = tr(
                "can't resolve the host name {host!r}: check {address_setting} and the network",
                host=host,
                address_setting=at.address_setting,
            )
        case "tls":
            hint = (
                tr("the server speaks plain HTTP, so use http:// in --base-url")
                if "WRONG_VERSION_NUMBER" in failure.detail or "wrong version number" in failure.detail
                else tr("check --base-url, or point SSL_CERT_FILE to the certificate authority that signed it")
            )
            text = tr(
                "can't open a secure connection to {shown_url}{quote}: {hint}",
                shown_url=shown_url,
                quote=_quote(failure.detail),
                hint=hint,
            )
        case "proxy":
            text = tr(
                "the proxy rejected the request to {shown_url}{quote}: check HTTPS_PROXY and NO_PROXY",
                shown_url=shown_url,
                quote=_quote(failure.detail),
            )
        case "connect_timeout":
            return ServerFailed(
                tr("can't connect to {shown_url} (timed out): check --base-url and the network", shown_url=shown_url)
            )
        case _:
            return ServerFailed(tr("the request to {at} timed out{quote}", at=at.name, quote=_quote(failure.detail)))
    return ServerFailed(text, retryable=False, unreachable=failure.kind in ("refused", "dns"))


def _explain_answer(failure: Failure, at: Endpoint, models: Sequence[str], now: float) -> ClioError:
    error = ErrorBody(failure.body)
    status = error.status or failure.status if failure.kind == "in_stream" else failure.status
    wait_s = read_retry_after(failure.headers, now)
    if status not in (401, 403, 404) and (status != 429 or "context_length" in failure.body):
        overflow = find_overflow(f"{error.message} {failure.body}")
        if overflow or (status == 413 and not _is_budget(failure.body)):
            return ContextOverflow(
                tr(
                    "the request is larger than the context window of {model!r} at {at}{quote}",
                    model=at.model,
                    at=at.name,
                    quote=_quote(error.message),
                ),
                limit_tokens=overflow.limit_tokens if overflow else None,
                sent_tokens=overflow.sent_tokens if overflow else None,
            )
    if 300 <= status < 400:
        target = failure.headers.get("location", "")
        where = tr(" to {url}", url=_strip_path(target)) if url_host(target) else ""
        return ProviderRefused(
            tr(
                "{url} redirects{where}; clio does not send the API key there: correct --base-url",
                url=strip_login(at.base_url),
                where=where,
            )
        )
    if (found := _explain_text(status, error, at, wait_s)) is not None:
        return found
    match status:
        case 401 | 403 | 407:
            return _explain_access(status, error, at)
        case 402:
            return _explain_no_credit(error, at)
        case 404 | 410:
            return _explain_not_found(failure, error, at, models)
        case 429 | 413:
            return _explain_rate_limit(error, at, wait_s)
        case 408 | 409 | 425:
            return ServerFailed(
                tr(
                    "{at} is not ready{quote}",
                    at=at.name,
                    quote=_quote(error.message, tr("status {status}", status=status)),
                ),
                retry_after_s=wait_s,
            )
        case _ if 400 <= status < 500:
            return _explain_bad_request(status, error, at, models)
        case _:
            cause = tr("status {status}", status=status) if status else tr("an error")
            if _NO_MEMORY.search(error.message):
                memory = tr(
                    "{at} does not have enough memory for {model!r}{quote}",
                    at=at.name,
                    model=at.model,
                    quote=_quote(error.message),
                )
                return ServerFailed(tr("{memory}: choose a smaller model with --model", memory=memory), retryable=False)
            return ServerFailed(
                tr("{at} failed{quote}", at=at.name, quote=_quote(error.message, cause)), retry_after_s=wait_s
            )


def _explain_text(status: int, error: ErrorBody, at: Endpoint, wait_s: float | None) -> ClioError | None:
    """Return the exception that the error's code and message call for, whatever the status; None if unclear."""
    text = f"{error.type} {error.code} {error.message}"
    if status in (0, 400, 422) and _BROKEN_CALL.search(text):
        return ServerFailed(
            tr(
                "{model!r} wrote a tool call that {at} could not read{quote}",
                model=at.model,
                at=at.name,
                quote=_quote(error.message),
            )
        )
    if status in (0, 400, 403, 422, 451) and (_FILTERED.search(text) or "ResponsibleAIPolicy" in error.raw):
        return ProviderRefused(
            tr(
                "the content filter of {at} rejected the request{quote}: rephrase it, or return to an "
                "earlier turn with /rewind",
                at=at.name,
                quote=_quote(error.message),
            )
        )
    if status in (0, 400, 402, 403, 429) and _NO_MONEY.search(text):
        wait_s = wait_s if wait_s is not None else find_wait_s(error.message)
        hopeless = wait_s is None or "insufficient" in text.lower() or re.search(r"\blimit: 0\b", text)
        return (
            _explain_no_credit(error, at) if hopeless else None
        )  # Gemini uses these words for a budget per minute too
    if status == 400 and _NOT_IN_REGION.search(text):
        return ProviderRefused(
            tr(
                "{at} is not available in your region{quote}: choose another provider",
                at=at.name,
                quote=_quote(error.message),
            )
        )
    if status in (400, 404, 422, 500, 501) and _NO_TOOLS.search(error.message):
        return ProviderRefused(
            tr(
                "the model {model!r} at {at} does not support tools: choose another with /model or --model, or set "
                "`models: {{{model}: {{tools: false}}}}` in the configuration",
                model=at.model,
                at=at.name,
            )
        )
    if status in (400, 404, 415, 422) and _NO_IMAGES.search(error.message):
        return ProviderRefused(
            tr(
                "the model {model!r} at {at} does not support images: choose another with /model or --model, or "
                "set `models: {{{model}: {{images: false}}}}` in the configuration",
                model=at.model,
                at=at.name,
            )
        )
    if re.search(r"only\b.{0,30}v1/responses", error.message) and status in (400, 404):
        return ProviderRefused(
            tr("{model!r} at {at} needs another protocol: set `api: responses` (--api)", model=at.model, at=at.name)
        )
    if re.search(r"not a chat model", error.message, re.I):
        return ProviderRefused(
            tr(
                "{model!r} at {at} is not a chat model: choose another with /model or --model",
                model=at.model,
                at=at.name,
            )
        )
    return None


def _explain_no_credit(error: ErrorBody, at: Endpoint) -> ProviderRefused:
    if affords := _AFFORDS.search(error.message):
        return ProviderRefused(
            tr(
                "the credit at {at} pays for only {affords} output tokens: add credit, or set "
                "max_output_tokens to {affords} or less",
                at=at.name,
                affords=affords[1],
            ),
            exhausted=True,
        )
    return ProviderRefused(
        tr("no credit left at {at}{quote}: add credit", at=at.name, quote=_quote(error.message)), exhausted=True
    )


def _explain_access(status: int, error: ErrorBody, at: Endpoint) -> ProviderRefused:
    if not at.has_key:
        return ProviderRefused(
            tr(
                "{status}: {at} needs an API key. Set {key_variable}",
                status=status,
                at=at.name,
                key_variable=at.key_variable,
            )
        )
    if status == 403:
        return ProviderRefused(
            tr(
                "403: {at} denied access{quote}. Check the permissions of the key in {key_variable}",
                at=at.name,
                quote=_quote(error.message),
                key_variable=at.key_variable,
            )
        )
    if at.key_variable == KEY_COMMAND:
        return ProviderRefused(
            tr(
                "{status}: API key rejected by {at}. api_key_command printed it: log in again, or correct the command",
                status=status,
                at=at.name,
            )
        )
    if at.key_variable == KEYRING_KEY:
        return ProviderRefused(
            tr(
                "{status}: API key rejected by {at}. It is from the keyring; store a valid one with clio auth login",
                status=status,
                at=at.name,
            )
        )
    return ProviderRefused(
        tr(
            "{status}: API key rejected by {at}. Set {key_variable} to a valid key",
            status=status,
            at=at.name,
            key_variable=at.key_variable,
        )
    )


def _explain_not_found(failure: Failure, error: ErrorBody, at: Endpoint, models: Sequence[str]) -> ProviderRefused:
    if error.is_about_model(at.model):
        return _explain_unknown_model(at, models)
    if failure.kind == "in_stream" or (error.message and error.code):
        return ProviderRefused(
            tr("404: not found at {at}{quote}. Check --model", at=at.name, quote=_quote(error.message))
        )
    return ProviderRefused(
        tr(
            "404: no chat server at {url}. Check --base-url; it often ends in /v1",
            url=strip_login(at.base_url),
        )
    )


def _explain_unknown_model(at: Endpoint, models: Sequence[str]) -> ProviderRefused:
    near = find_similar_models(at.model, [model for model in models if model != at.model])
    rest = tr(", such as {models}", models=", ".join(map(repr, near))) if near else ""
    return ProviderRefused(
        tr(
            "{at} has no model {model!r}: choose another with /model or --model{rest}",
            at=at.name,
            model=at.model,
            rest=rest,
        )
    )


def find_similar_models(model: str, models: Sequence[str]) -> list[str]:
    """Return up to three model names similar to `model`; the first three if none is similar."""
    names = list(dict.fromkeys(models))
    within = [name for name in names if model and model.lower() in name.lower()]
    return list(dict.fromkeys([*within, *difflib.get_close_matches(model, names, n=3, cutoff=0.5)]))[:3] or names[:3]


def _explain_rate_limit(error: ErrorBody, at: Endpoint, wait_s: float | None) -> ClioError:
    budget = _TOKEN_BUDGET.search(error.message)
    if budget and int(budget[2]) > int(budget[1]):
        limited = RateLimited(
            tr(
                "the request is larger than {at} allows this account ({budget} of {budget2} tokens): set "
                "context_window below {budget2}, or choose another model with --model",
                at=at.name,
                budget=budget[2],
                budget2=budget[1],
            )
        )
        limited.retryable = False
        return limited
    wait_s = wait_s if wait_s is not None else find_wait_s(error.message)
    if wait_s is not None and wait_s > LONGEST_WAIT_S:
        limited = RateLimited(
            tr(
                "rate limited by {at} for {wait}: try again then, or choose another --model",
                at=at.name,
                wait=_format_wait(wait_s),
            ),
            wait_s,
        )
        limited.retryable = False
        return limited
    if wait_s is None and _ALLOWANCE.search(error.message):
        limited = RateLimited(
            tr(
                "usage limit of {at} reached{quote}: try again later, or choose another --model",
                at=at.name,
                quote=_quote(error.message),
            )
        )
        limited.retryable = False
        return limited
    return RateLimited(tr("rate limited by {at}{quote}", at=at.name, quote=_quote(error.message)), wait_s)


def _explain_bad_request(status: int, error: ErrorBody, at: Endpoint, models: Sequence[str]) -> ClioError:
    if pinned := re.search(r"server is pinned to '([^']+)'", error.message, re.I):  # transformers serve
        return _explain_unknown_model(at, [pinned[1]])
    if re.search(r"credit balance is too low|insufficient (?:credit|balance)", error.message, re.I):  # Anthropic
        return ProviderRefused(
            tr("no credit left at {at}{quote}: add credit", at=at.name, quote=_quote(error.message)), exhausted=True
        )
    if error.is_about_model(at.model):
        return _explain_unknown_model(at, models)
    if re.search(
        r"(?:invalid|incorrect|missing|expired)\W+(?:\w+\W+)?api.?key|api.?key (?:not valid|expired)|api_key_invalid",
        error.raw,
        re.I,
    ):
        return _explain_access(status, error, at)
    if _ALLOWANCE.search(error.message):
        return _explain_rate_limit(error, at, None)
    if re.search(r"capacity", f"{error.type} {error.message}", re.I):
        return ServerFailed(tr("{at} is over capacity{quote}", at=at.name, quote=_quote(error.message)))
    # No setting is known to be wrong, so this fails the turn (ServerFailed) and is no configuration error.
    return ServerFailed(
        tr(
            "{at} rejected the request{quote}: try again, or choose another model with --model",
            at=at.name,
            quote=_quote(error.message),
        ),
        retryable=False,
    )


def _is_budget(body: str) -> bool:
    return bool(re.search(r"rate_limit|per minute|\bTPM\b", body))


def _quote(message: str, status: str = "") -> str:
    """Return " (status: message)" on one line with keys masked, at most `_MAX_QUOTE` characters of the message.

    "" if both are empty.
    """
    text = _KEY.sub("[key]", " ".join(message.split()))
    quote = ": ".join(filter(None, (status, truncate(text, _MAX_QUOTE).rstrip("."))))
    return f" ({quote})" if quote else ""


def _strip_path(url: str) -> str:
    parts = urlsplit(strip_login(url))
    return f"{parts.scheme}://{parts.netloc}"


def _format_wait(seconds: float) -> str:
    return (
        tr("{seconds} minutes", seconds=round(seconds / 60))
        if seconds >= 90
        else tr("{seconds} seconds", seconds=round(seconds))
    )
