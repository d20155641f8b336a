"""How servers report that a request does not fit, and how they report other errors."""

from clio.providers.error_meaning import Overflow, find_overflow
from tests.support.rows import each_row

WORDINGS = [
    (
        "openai",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9034 tokens."
        " Please reduce the length of the messages.",
        8192,
        9034,
    ),
    (
        "openai with functions",
        "This model's maximum context length is 128000 tokens. However, you requested 130112 tokens (126016 in the"
        " messages, 4096 in the completion). Please reduce the length of the messages or completion.",
        128000,
        130112,
    ),
    (
        "openai newer",
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens."
        " Please reduce the length of the messages.",
        272000,
        300123,
    ),
    ("openai responses", "Your input exceeds the context window of this model. Please adjust your input.", None, None),
    ("openai code", '{"error":{"message":"too big","code":"context_length_exceeded"}}', None, None),
    (
        "azure",
        "This model's maximum context length is 16384 tokens, however you requested 17000 tokens (16500 in your prompt;"
        " 500 for the completion).",
        16384,
        17000,
    ),
    ("anthropic", "prompt is too long: 213462 tokens > 200000 maximum", 200000, 213462),
    (
        "anthropic with output",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
        200000,
        188240,
    ),
    (
        "anthropic bytes",
        '{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
        None,
        None,
    ),
    (
        "gemini",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        1048575,
        1196265,
    ),
    (
        "openrouter",
        "This endpoint's maximum context length is 65536 tokens. However, you requested about 70123 tokens (69000 of"
        " text input, 1123 of tool input). Please reduce the length of either one.",
        65536,
        70123,
    ),
    (
        "deepseek",
        "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (136000 in the"
        " messages, 4000 in the completion).",
        131072,
        140000,
    ),
    (
        "mistral",
        "Prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32768,
        40123,
    ),
    ("groq", "Please reduce the length of the messages or completion.", None, None),
    (
        "together",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and "
        "512 `max_new_tokens`",
        8193,
        9000,
    ),
    (
        "llama.cpp",
        '{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":'
        '"exceed_context_size_error","n_prompt_tokens":5011,"n_ctx":4096}}',
        4096,
        5011,
    ),
    (
        "llama.cpp newer",
        "request (5011 tokens) exceeds the available context size (4096 tokens), try increasing it",
        4096,
        5011,
    ),
    (
        "vllm",
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages,"
        " 500 in the completion).",
        4096,
        5000,
    ),
    (
        "vllm with output",
        "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens"
        " and your request has 2104 input tokens (2000 > 4096 - 2104).",
        4096,
        2104,
    ),
    ("vllm engine", "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8192, 9000),
    ("sglang", "The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8192, 9000),
    ("ollama", "prompt too long; exceeded max context length by 312 tokens", None, None),
    ("ollama embed", "the input length exceeds the context length", None, None),
    (
        "lm studio",
        "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model"
        " with a larger context length, or provide a shorter input",
        None,
        None,
    ),
    (
        "lm studio newer",
        "The number of tokens to keep from the initial prompt (5011) is greater than the context length (n_ctx = 4096)",
        4096,
        5011,
    ),
    (
        "litellm",
        "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException -"
        " This model's maximum context length is 8192 tokens. However, your messages resulted in 9034 tokens.",
        8192,
        9034,
    ),
    ("bedrock", "ValidationException: Input is too long for requested model.", None, None),
    ("xai", "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072, 537812),
    (
        "moonshot",
        "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
        131072,
        140000,
    ),
    ("copilot", "prompt token count of 140000 exceeds the limit of 128000", 128000, 140000),
    ("minimax", "invalid params, context window exceeds limit", None, None),
    (
        "cerebras",
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        8192,
        9000,
    ),
    ("alibaba", "Range of input length should be [1, 30720]", 30720, None),
]


@each_row(("text", "limit", "sent"), [row[1:] for row in WORDINGS], ids=[row[0] for row in WORDINGS])
def test_an_overflow_and_its_numbers_are_recognized(text: str, limit: int | None, sent: int | None) -> None:
    found = find_overflow(text)
    assert found is not None
    assert found.limit_tokens == limit
    if sent is not None:
        assert found.sent_tokens == sent


def test_ollama_names_only_the_excess() -> None:
    found = find_overflow("prompt too long; exceeded max context length by 312 tokens")
    assert found == Overflow(None, None)


@each_row(
    "text",
    [
        "",
        "Incorrect API key provided",
        "The model `gpt-9` does not exist or you do not have access to it.",
        "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, "
        "Requested 5000. Please try again in 8s.",
        "Request too large for model `llama-3.1-8b` in organization `org_1` service tier `on_demand` on tokens per "
        "minute (TPM): Limit 6000, Requested 7012, please reduce your message size and try again.",
        "You exceeded your current quota, please check your plan and billing details.",
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
        "Too many tokens per day, please wait before trying again. ThrottlingException",
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you "
        "provided 100000.",
        "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens for this model",
        "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760",
        "Function tools with reasoning_effort are not supported",
        "The server had an error while processing your request",
        "the context of this file is unclear",
    ],
)
def test_other_errors_are_no_overflow(text: str) -> None:
    assert find_overflow(text) is None


def test_an_error_code_outweighs_the_message() -> None:
    assert (
        find_overflow('{"code": "context_length_exceeded", "message": "rate limit of tokens per minute"}') is not None
    )
