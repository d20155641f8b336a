"""A model's window, output limit, levels of effort and image support, from the fields of many servers. No I/O."""

from msgspec import Struct

from clio.config.schema import Config
from clio.providers.base import EFFORTS, SMALLEST_WINDOW, ModelLimits, OfferedModel
from clio.providers.profiles import ModelProfile
from clio.text.json_data import as_dict, as_list, as_text, as_token_count
from clio.text.lazy_regex import LazyRegex

# Matched in lower case without the maker's prefix. A model in neither list is treated as without image support.
_WITH_IMAGES = LazyRegex(
    r"gpt-([5-9]|4o|4\.1|4-turbo|4-vision)|chatgpt-4o|o[134](-|$)|claude|gemini|gemma-?[34]|grok-[4-9]"
    r"|pixtral|(mistral|ministral|magistral)-(small|medium|large)|llama-?4|.*(vision|-vl\b|vl-|llava|minicpm-v|omni)"
    r"|glm-\d(\.\d)?v|kimi-k2\.[5-9]",
    starts="gpt- chatgpt-4o o1 o3 o4 claude gemini gemma grok- pixtral mistral ministral magistral llama glm- kimi-k2",
    needs="vision -vl vl- llava minicpm-v omni",
)
_WITHOUT_IMAGES = LazyRegex(
    r"gpt-oss|o1-mini|o1-preview|o3-mini|claude-(2|instant)|gemma-3-(1b|270m)|.*embed|grok-code",
    starts="gpt-oss o1- o3- claude- gemma-3 grok-code",
    needs="embed",
)


def takes_images(config: Config, model: str) -> bool:
    """Whether images may be sent to a model: from the user's settings, else by its name."""
    own = config.models.get(model)
    if own is not None and own.images is not None:
        return own.images
    name = model.lower().rsplit("/", 1)[-1]
    return bool(_WITH_IMAGES.match(name)) and not _WITHOUT_IMAGES.match(name)


DEFAULT_LOCAL_WINDOW = 32_000
DEFAULT_REMOTE_WINDOW = 128_000

_WINDOW_FIELDS = (
    "loaded_context_length",  # LM Studio, the window in use
    "max_model_len",  # vLLM, SGLang
    "context_window",  # Groq
    "context_length",  # OpenRouter, Together, Ollama's /api/ps
    "max_context_length",  # Mistral, LM Studio
    "max_input_tokens",  # Anthropic, litellm
    "inputTokenLimit",  # Gemini
    "n_ctx",  # llama.cpp
)
_OUTPUT_FIELDS = ("max_completion_tokens", "max_output_tokens", "max_output_length", "outputTokenLimit", "max_tokens")
_NESTED = ("meta", "top_provider", "limits", "capabilities", "default_generation_settings", "model_info")


class ReportedLimits(Struct, frozen=True, kw_only=True):
    """A model's limits as its server reports them, 0 if it does not. trained: its maximum, not the window in use."""

    window: int = 0
    trained: int = 0
    output: int = 0


def list_model_rows(answer: object) -> list[dict[str, object]]:
    """Return the models in an answer to GET /models: under `data`, under `models`, or the list itself."""
    outer = as_dict(answer)
    rows = as_list(outer.get("data")) or as_list(outer.get("models")) or as_list(answer)
    return [as_dict(row) for row in rows if as_dict(row)]


def list_model_names(answer: object) -> tuple[str, ...]:
    """Return the models' names, in the server's order."""
    return tuple(name for row in list_model_rows(answer) if (name := _read_name(row)))


def list_offered_models(answer: object) -> tuple[OfferedModel, ...]:
    """Return the models with the server's data about them, in its order, without duplicates."""
    rows = {name: row for row in list_model_rows(answer) if (name := _read_name(row))}
    return tuple(
        OfferedModel(
            name=name, window=read_row_limits(row).window, efforts=_read_efforts(row), images=_read_image_support(row)
        )
        for name, row in rows.items()
    )


def _read_efforts(row: dict[str, object]) -> tuple[str, ...] | None:
    """Return the levels of effort in a model's row: Anthropic lists them, OpenRouter only says whether there are any.

    None if the server does not say, or only that there are some.
    """
    effort = as_dict(as_dict(row.get("capabilities")).get("effort"))
    if effort:
        levels = tuple(level for level in EFFORTS if as_dict(effort.get(level)).get("supported") is True)
        return levels if effort.get("supported") is not False else ()
    parameters = as_list(row.get("supported_parameters"))
    return () if parameters and not {"reasoning", "reasoning_effort"}.intersection(map(as_text, parameters)) else None


def _read_image_support(row: dict[str, object]) -> bool | None:
    """Whether a model accepts images, from the fields of Anthropic, Mistral, OpenRouter or LM Studio."""
    capabilities = as_dict(row.get("capabilities"))
    for value in (as_dict(capabilities.get("image_input")).get("supported"), capabilities.get("vision")):
        if isinstance(value, bool):
            return value
    if modalities := as_list(as_dict(row.get("architecture")).get("input_modalities")):
        return "image" in modalities
    return {"vlm": True, "llm": False}.get(as_text(row.get("type")))


def read_reported_limits(answer: object, model: str) -> ReportedLimits:
    """Return the limits of one model in the answer. If the server lists a single model, its name does not matter."""
    rows = list_model_rows(answer)
    simple_name = _simplify_name(model)
    row = next((row for row in rows if _simplify_name(_read_name(row)) == simple_name), None)
    return read_row_limits(row or (rows[0] if len(rows) == 1 else {}))


def read_row_limits(row: dict[str, object]) -> ReportedLimits:
    """Return the limits in one model's row or its nested objects."""
    objects = [row, *(as_dict(row.get(name)) for name in _NESTED)]
    limits = as_dict(as_dict(row.get("capabilities")).get("limits"))
    objects.append(limits)
    window = _find_first_count(objects, (*_WINDOW_FIELDS, "max_context_window_tokens"))
    trained = _find_first_count(objects, ("n_ctx_train",))
    if "state" in row and not row.get("loaded_context_length"):
        # LM Studio loads a model on first use, with a smaller window than the model's maximum.
        window, trained = 0, window
    return ReportedLimits(
        window=window if window >= SMALLEST_WINDOW else 0,
        trained=trained if trained >= SMALLEST_WINDOW else 0,
        output=_find_first_count(objects, _OUTPUT_FIELDS),
    )


def find_native_path(server: str, answer: object) -> str:
    """Return the path, from the server's root, where a local server reports the window in use; "" if it does not.

    server: the preset's name if known; otherwise the `owned_by` of its models identifies the server.
    """
    owners = {as_text(row.get("owned_by")) for row in list_model_rows(answer)}
    if server == "llamacpp" or "llamacpp" in owners:
        return "/props"
    if server == "ollama" or "library" in owners:
        return "/api/ps"
    return "/api/v0/models" if server == "lmstudio" or "organization_owner" in owners else ""


def read_native_limits(answer: object, model: str) -> ReportedLimits:
    """Return the limits in the answer of such a path: llama.cpp describes its one model, the others list theirs."""
    return read_reported_limits(answer, model) if list_model_rows(answer) else read_row_limits(as_dict(answer))


def _find_first_count(objects: list[dict[str, object]], fields: tuple[str, ...]) -> int:
    return next((count for field in fields for obj in objects if (count := as_token_count(obj.get(field)))), 0)


def _read_name(row: dict[str, object]) -> str:
    return as_text(row.get("id")) or as_text(row.get("name")) or as_text(row.get("model"))


def _simplify_name(name: str) -> str:
    return name.lower().removeprefix("models/").removesuffix(":latest")


def read_configured_limits(config: Config, model: str) -> tuple[int | None, int | None]:
    """Return the user's window and output limit for this model, else for all models; None if not set."""
    own = config.models.get(model)
    window = own.context_window if own and own.context_window else config.context_window
    output = own.max_output_tokens if own and own.max_output_tokens else config.max_output_tokens
    return window, output


def choose_limits(
    window: int | None, output: int | None, server: ReportedLimits, profile: ModelProfile | None, *, local: bool
) -> ModelLimits:
    """Return the limits: from the user's settings, else from the server, else from the profile, else defaults.

    A profile has the model's maximum. A local server rarely has memory for that, so there it can only lower the
    default window. The default output limit is at most half of the window.
    """
    default = DEFAULT_LOCAL_WINDOW if local else DEFAULT_REMOTE_WINDOW
    trained = server.trained or (profile.context_window if profile else 0)
    if window:
        size, source = window, "config"
    elif server.window:
        size, source = server.window, "server"
    elif trained and (not local or trained < default):
        size, source = trained, "server" if server.trained else "profile"
    else:
        size, source = default, "default"
    max_output = server.output or (profile.max_output_tokens if profile else 0) or size // 4
    output = output or max(1, min(max_output, size // 2))
    return ModelLimits(context_window=size, max_output_tokens=output, source=source)
