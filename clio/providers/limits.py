"""How large a model's window is and whether it takes pictures, in the fields of many servers. Pure."""

from msgspec import Struct

from clio.config.schema import Config
from clio.providers.base import EFFORTS, SMALLEST_WINDOW, ModelLimits, OfferedModel
from clio.providers.profiles import ModelProfile
from clio.text.json_data import as_dict, as_list, as_text, as_token_count
from clio.text.lazy_regex import LazyRegex

# Matched in lower case after a maker's prefix. What is on neither list is not known to take them.
_TAKES = LazyRegex(
    r"gpt-([5-9]|4o|4\.1|4-turbo|4-vision)|chatgpt-4o|o[134](-|$)|claude|gemini|gemma-?[34]|grok-[4-9]"
    r"|pixtral|(mistral|ministral|magistral)-(small|medium|large)|llama-?4|.*(vision|-vl\b|vl-|llava|minicpm-v|omni)"
    r"|glm-\d(\.\d)?v|kimi-k2\.[5-9]"
)
_REFUSES = LazyRegex(r"gpt-oss|o1-mini|o1-preview|o3-mini|claude-(2|instant)|gemma-3-(1b|270m)|.*embed|grok-code")


def takes_images(config: Config, model: str) -> bool:
    """Whether pictures may be sent to a model: what the user set, else what is known of its name."""
    own = config.models.get(model)
    if own is not None and own.images is not None:
        return own.images
    name = model.lower().rsplit("/", 1)[-1]
    return bool(_TAKES.match(name)) and not _REFUSES.match(name)


LOCAL_WINDOW = 32_000
REMOTE_WINDOW = 128_000

_WINDOW_FIELDS = (
    "loaded_context_length",  # LM Studio, what is really there
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
    """What a server says about a model, 0 where it does not. `trained` is what it could take, not what was set up."""

    window: int = 0
    trained: int = 0
    output: int = 0


def list_model_rows(answer: object) -> list[dict[str, object]]:
    """The models in an answer to GET /models: under `data`, under `models`, or the list itself."""
    outer = as_dict(answer)
    rows = as_list(outer.get("data")) or as_list(outer.get("models")) or as_list(answer)
    return [as_dict(row) for row in rows if as_dict(row)]


def list_model_names(answer: object) -> tuple[str, ...]:
    """The models' names, in the server's order."""
    return tuple(name for row in list_model_rows(answer) if (name := _name(row)))


def list_offered_models(answer: object) -> tuple[OfferedModel, ...]:
    """The models with what the server says of them, in its order and once each."""
    found = {name: row for row in list_model_rows(answer) if (name := _name(row))}
    return tuple(
        OfferedModel(name=name, window=read_row_limits(row).window, efforts=_efforts(row), images=_images(row))
        for name, row in found.items()
    )


def _efforts(row: dict[str, object]) -> tuple[str, ...] | None:
    """The levels of effort in a model's row: Anthropic lists each, OpenRouter whether there are any.

    None where it does not say, or only that there are some.
    """
    effort = as_dict(as_dict(row.get("capabilities")).get("effort"))
    if effort:
        levels = tuple(level for level in EFFORTS if as_dict(effort.get(level)).get("supported") is True)
        return levels if effort.get("supported") is not False else ()
    parameters = as_list(row.get("supported_parameters"))
    return () if parameters and not {"reasoning", "reasoning_effort"}.intersection(map(as_text, parameters)) else None


def _images(row: dict[str, object]) -> bool | None:
    """Whether a model takes pictures, as Anthropic, Mistral, OpenRouter and LM Studio say it."""
    capabilities = as_dict(row.get("capabilities"))
    for said in (as_dict(capabilities.get("image_input")).get("supported"), capabilities.get("vision")):
        if isinstance(said, bool):
            return said
    if modalities := as_list(as_dict(row.get("architecture")).get("input_modalities")):
        return "image" in modalities
    return {"vlm": True, "llm": False}.get(as_text(row.get("type")))


def read_reported_limits(answer: object, model: str) -> ReportedLimits:
    """What the answer says about one model; a server with a single one means that one, whatever it is called."""
    rows = list_model_rows(answer)
    wanted = _plain(model)
    row = next((row for row in rows if _plain(_name(row)) == wanted), None)
    return read_row_limits(row or (rows[0] if len(rows) == 1 else {}))


def read_row_limits(row: dict[str, object]) -> ReportedLimits:
    """The sizes in one model's row, its nested objects included."""
    places = [row, *(as_dict(row.get(name)) for name in _NESTED)]
    limits = as_dict(as_dict(row.get("capabilities")).get("limits"))
    places.append(limits)
    window = _first(places, (*_WINDOW_FIELDS, "max_context_window_tokens"))
    trained = _first(places, ("n_ctx_train",))
    if "state" in row and not row.get("loaded_context_length"):
        # LM Studio loads a model on first use, with less context than the model could take.
        window, trained = 0, window
    return ReportedLimits(
        window=window if window >= SMALLEST_WINDOW else 0,
        trained=trained if trained >= SMALLEST_WINDOW else 0,
        output=_first(places, _OUTPUT_FIELDS),
    )


def find_native_path(server: str, answer: object) -> str:
    """Where a local server says what window it has really set up, as a path from its root; "" where nowhere.

    server: the preset's name, if one is known; else the `owned_by` of its models tells.
    """
    owners = {as_text(row.get("owned_by")) for row in list_model_rows(answer)}
    if server == "llamacpp" or "llamacpp" in owners:
        return "/props"
    if server == "ollama" or "library" in owners:
        return "/api/ps"
    return "/api/v0/models" if server == "lmstudio" or "organization_owner" in owners else ""


def read_native_limits(answer: object, model: str) -> ReportedLimits:
    """What such a place says: llama.cpp describes its one model, the others list theirs."""
    return read_reported_limits(answer, model) if list_model_rows(answer) else read_row_limits(as_dict(answer))


def _first(places: list[dict[str, object]], fields: tuple[str, ...]) -> int:
    return next((count for field in fields for place in places if (count := as_token_count(place.get(field)))), 0)


def _name(row: dict[str, object]) -> str:
    return as_text(row.get("id")) or as_text(row.get("name")) or as_text(row.get("model"))


def _plain(name: str) -> str:
    return name.lower().removeprefix("models/").removesuffix(":latest")


def read_configured_limits(config: Config, model: str) -> tuple[int | None, int | None]:
    """The window and the output cap the user set: for this model, else for all."""
    own = config.models.get(model)
    window = own.context_window if own and own.context_window else config.context_window
    output = own.max_output_tokens if own and own.max_output_tokens else config.max_output_tokens
    return window, output


def choose_limits(
    window: int | None, output: int | None, server: ReportedLimits, profile: ModelProfile | None, *, local: bool
) -> ModelLimits:
    """The limits: what the user set, else what the server says, else what is known of the model, else a guess.

    A profile is what a model can take at most; a local server rarely gives it that much memory, so there it can only
    lower the guess. The output cap never exceeds a half of the window.
    """
    default = LOCAL_WINDOW if local else REMOTE_WINDOW
    trained = server.trained or (profile.context_window if profile else 0)
    if window:
        size, source = window, "config"
    elif server.window:
        size, source = server.window, "server"
    elif trained and (not local or trained < default):
        size, source = trained, "server" if server.trained else "profile"
    else:
        size, source = default, "default"
    known = server.output or (profile.max_output_tokens if profile else 0) or size // 4
    return ModelLimits(context_window=size, max_output_tokens=output or max(1, min(known, size // 2)), source=source)
