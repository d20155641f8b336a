"""All settings: name, type, default, meaning and environment variable; conversion of text and YAML to values."""

import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from clio.config.command_line import did_you_mean
from clio.config.yaml_file import (
    TRUE_WORDS,
    Entry,
    Items,
    Node,
    Scalar,
    Table,
    describe_node,
    parse_yaml,
    read_config_bytes,
)
from clio.errors import ConfigError
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.regex_limits import BoundedPattern, PatternRefused
from clio.text.translation import tr

Sandboxing = Literal["auto", "bwrap", "landlock", "seatbelt", "off"]
FetchEncodings = Literal["auto", "off"]
ConfineUnasked = Literal["auto", "off"]
Editing = Literal["emacs", "vi"]
ApprovalMode = Literal["ask", "edits", "all", "plan"]
SyncTime = Literal["off", "on_start", "on_exit", "both"]
BackgroundApprovals = Literal["ask", "refuse"]
WebSearch = Literal["off", "brave", "tavily", "exa", "searxng", "model"]
Embedder = Literal["hashed", "endpoint", "minilm"]
Api = Literal["auto", "chat", "responses", "messages"]
CacheLifetime = Literal["5m", "1h"]
Effort = Literal["auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
TransportKind = Literal["auto", "lean", "openai"]
ShowReasoning = Literal["fold", "show", "hide"]
Hyperlinks = Literal["auto", "on", "off"]
Notify = Literal["off", "bell", "osc9", "osc777", "auto"]
CHECKS_AUTO, CHECKS_OFF = "auto", "off"
KEYRING_KEY = "keyring"
"""The value of `api_key` that stands for the server's key in the system's keyring."""
PositiveInt = Annotated[int, Meta(ge=1)]
PositiveFloat = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, lt=1)]


KEY_ACTIONS: dict[str, str] = {
    "editor": "c-g",
    "history": "c-r",
    "mode": "s-tab",
    "output": "c-o",
    "picture": "c-v",
    "reasoning": "c-t",
}
"""The actions whose key can be changed, and their usual keys by prompt_toolkit's names."""
_KEY_NAME = LazyRegex(r"c-[a-z]|s-tab|f[1-9]|f1[0-9]|f2[0-4]|c-(?:left|right|up|down|home|end)|s-(?:up|down|home|end)")
# They interrupt, end and send, or are what the terminal sends for Tab, Enter and Backspace.
_FIXED_KEYS = frozenset(("c-c", "c-d", "c-h", "c-i", "c-j", "c-m"))


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of one model, which override server and profile; the key is the model's name or an alias.

    An entry with `provider`, `model` or `base_url` is an alias: its key is the user's own name for that model.
    """

    provider: str | None = None
    """The named server of an alias; the current server if not set."""
    model: str | None = None
    """The model that an alias stands for, as its server spells it; the alias itself if not set."""
    base_url: str | None = None
    """The address of an alias's server."""
    api: Api | None = None
    """The protocol of an alias's server, if its address does not tell."""
    api_key_command: str | None = None
    """The command that prints the API key for an alias's server; only accepted in your own configuration."""

    context_window: PositiveInt | None = None
    """The model's context window in tokens."""
    max_output_tokens: PositiveInt | None = None
    """Maximum length of an answer, in tokens."""
    tools: bool = True
    """Whether the model can call tools."""
    images: bool | None = None
    """Whether the model accepts images, if its name does not tell."""
    effort: Effort | None = None
    """Reasoning effort for this model, instead of `effort`."""


TELEMETRY_FROM_ENVIRONMENT = "env"
"""The value of `telemetry.endpoint` that stands for the collector of the OTEL_EXPORTER_OTLP_* variables."""


class TelemetrySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `telemetry`: traces and metrics for an OpenTelemetry collector. Off without an endpoint."""

    endpoint: str | None = None
    """The address of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318, or `env` for
    that of the OTEL_EXPORTER_OTLP_* variables; nothing is sent without it.
    """
    headers_env: str | None = None
    """The environment variable with the headers for the collector, such as `x-api-key=…`, separated by commas."""
    traces: bool = True
    """Whether turns, requests and calls are sent as spans."""
    metrics: bool = True
    """Whether tokens, costs, durations, calls and errors are sent as metrics."""
    content: bool = False
    """Whether spans contain messages, answers, arguments and results, with secrets replaced."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole configuration. The text below each field is its meaning in docs/reference/settings.md."""

    model: str | None = None
    """The name of the model, as its server spells it."""
    provider: str | None = None
    """A named server: openai, anthropic, gemini, openrouter, deepseek, mistral, groq, xai, moonshot, zai, minimax,
    azure, bedrock, vertex, github-models, ollama, lmstudio, llamacpp, vllm, offline.
    """
    base_url: str | None = None
    """The address of any other server that speaks one of the protocols of `api`, with or without /v1."""
    api_key: str | None = None
    """The API key sent to the server; it is safer in an environment variable, or in the system's keyring: `keyring`
    uses the key that `clio auth login` stored there.
    """
    api_key_command: str | None = None
    """A command that prints the API key, such as "op read op://vault/openai/key"; run without a shell, in your home
    directory, for at most 30 seconds. Only accepted in your own configuration.
    """
    api_key_command_ttl_s: PositiveInt = 3_300
    """Seconds for which a printed key is reused; the command also runs again when the server rejects the key."""
    api: Api = "auto"
    """The protocol of the server: chat (Chat Completions), responses (OpenAI Responses), messages (Anthropic Messages),
    auto (chosen by provider and address).
    """
    effort: Effort = "auto"
    """Reasoning effort of the model: auto (the server's default), none, minimal, low, medium, high, xhigh, max."""
    cache_ttl: CacheLifetime = "5m"
    """How long Anthropic caches a conversation: 5m, or 1h, which costs more to write and pays off if you often pause
    for more than five minutes between messages.
    """
    transport: TransportKind = "auto"
    """The HTTP client: lean (clio's own), openai (the openai package), auto (lean, unless a feature that only the
    openai package supports is needed).
    """
    fetch_encodings: FetchEncodings = "auto"
    """Whether the file for exact token counts (4 MB) is downloaded once, in the background, when an OpenAI model is
    used: auto, off.
    """
    approve: ApprovalMode = "ask"
    """The approval mode for writes and commands: ask, edits, all, plan."""
    background_approvals: BackgroundApprovals = "ask"
    """What background agents and jobs do where they need approval: ask (jobs wait for your answer), refuse."""
    allow: tuple[str, ...] = ()
    """Commands that run without asking, such as "git log *"."""
    deny: tuple[str, ...] = ()
    """Commands that never run."""
    sandbox: Sandboxing = "off"
    """The sandbox that confines the model's commands to the project: auto (the best available), bwrap, landlock,
    seatbelt, off.
    """
    sandbox_write: tuple[str, ...] = ()
    """Directories that commands in the sandbox may write to, besides the project and caches."""
    sandbox_caches: bool = True
    """Whether commands in the sandbox may write to the caches of package managers and compilers, such as ~/.cache."""
    sandbox_network: bool = False
    """Whether commands in the sandbox may use the network."""
    confine_unasked: ConfineUnasked = "auto"
    """Whether commands that run without approval are confined if the system supports it (files read-only, no network,
    no secrets in the environment): auto, off.
    """
    max_steps: PositiveInt = 100
    """Maximum number of requests in one turn."""
    max_cost: PositiveFloat | None = None
    """Maximum US dollars one run of clio may spend on its model; a request that would exceed it is not sent."""
    context_window: PositiveInt | None = None
    """The context window of the model in tokens; overrides what the server reports and what clio knows."""
    max_output_tokens: PositiveInt | None = None
    """Maximum length of an answer, in tokens."""
    models: dict[str, ModelSettings] = {}
    """Settings for individual models, by name, and aliases."""
    fallback: tuple[str, ...] = ()
    """Models or aliases to use instead, in this order, while the server of the selected model is unavailable."""
    fallback_cooldown_s: PositiveInt = 300
    """Seconds until a server that did not answer is tried again."""
    light_model: str | None = None
    """The model or alias for requests outside the conversation, such as those for commit messages and duplicate
    memories; if not set, the model of the conversation.
    """
    session_titles: bool = True
    """Whether `light_model` names a session after its first turn, in one small request; only if that setting is set and
    the price of the model is known. A name of yours is never replaced.
    """
    ltm: bool = True
    """Whether project memory is included in the prompt."""
    instructions: bool = True
    """Whether the prompt includes the instructions in .clio/instructions.md, AGENTS.md and similar files."""
    hooks: bool = True
    """Whether the commands in hooks.yaml run at their events."""
    checks: tuple[str, ...] = (CHECKS_AUTO,)
    """What runs on changed files after a step with edits, so that new problems are reported to the model: auto (the
    linters and type checkers found here, else a parser), off, or a list of commands; {files} stands for the files.
    """
    language_servers: tuple[str, ...] = (CHECKS_AUTO,)
    """Which language servers answer code_lookup and check edits: auto (those found here), off, or a list of entries:
    `pyright off` leaves one out, and `gopls /opt/bin/gopls` sets its command.
    """
    scenario: str | None = None
    """The task type, such as coding or review, which selects preferences; if not set, it is detected in each request.
    """
    plugins: tuple[str, ...] = ()
    """The plugins that `clio plugin add --project` adds, such as `owner/name@v1`: for a project's file. They are shown
    and trusted one by one, and nothing is fetched before.
    """
    preference_half_life_days: PositiveFloat = 30.0
    """Half-life, in days, of the weight of a preference that is not confirmed."""
    preference_floor: Share = 0.1
    """The share of its weight, from 0 to 1, below which a preference does not decay."""
    notice: bool = True
    """Whether clio remembers what you state about how to work; each time it shows what was saved and how to undo it."""
    sleep: bool = True
    """Whether clio learns from earlier sessions when it is idle and at exit, at most once a day."""
    sleep_idle_s: PositiveInt = 120
    """Seconds without input, and with nothing running, before consolidation begins."""
    sleep_use_model: bool = False
    """Whether a consolidation may send the most useful turns to the model, in one request; otherwise only rules are
    used.
    """
    sync: SyncTime = "off"
    """When a conversation in the terminal runs clio sync push in the background: on_start, on_exit, both, off. Nothing
    waits for it.
    """
    embedder: Embedder = "hashed"
    """How turns and documents are searched by meaning: hashed (built in, without a model), endpoint (embeddings from a
    server), minilm (a small model on this machine).
    """
    embedding_model: str | None = None
    """The name of the embedding model, as its server spells it."""
    embedding_folder: str | None = None
    """The directory with the weights for minilm, if they are not installed as a package."""
    embedding_base_url: str | None = None
    """The address of the embedding server, if it differs from that of the model."""
    brain_across_sessions: bool = False
    """Whether automatic recall may use archived turns of this project's other sessions."""
    brain_distance: Annotated[float, Meta(ge=0.0, le=2.0)] = 1.0
    """The vector distance below which an archived turn or a document is recalled for its meaning alone; 0 means never.
    """
    stop_words: tuple[str, ...] = ()
    """Texts at which the server stops an answer; at most four are sent, and none over /v1/responses."""
    incognito: bool = False
    """Write nothing anywhere and use no memory."""
    redact: bool = True
    """Replace secrets before anything is stored or sent."""
    redact_patterns: tuple[str, ...] = ()
    """Additional regular expressions; what they match is treated as a secret."""
    private_network: bool = False
    """Whether web_fetch may reach addresses on this machine and the local network."""
    web_search: WebSearch = "off"
    """The service the model searches the web with: brave, tavily, exa, searxng, model (the search of the model's own
    server, if it has one), off. The keys are in BRAVE_API_KEY, TAVILY_API_KEY and EXA_API_KEY.
    """
    web_search_url: str | None = None
    """The address of the search service, such as that of your SearXNG server."""
    checkpoints: bool = True
    """Whether clio saves copies of files before turns change them, so that /undo can restore them."""
    checkpoint_mb: PositiveInt = 500
    """The disk space for these copies, for all projects together, in megabytes; the oldest are deleted first."""
    checkpoint_days: PositiveInt = 30
    """Days after which these copies are always deleted."""
    job_days: PositiveInt = 30
    """Days after which `clio gc` deletes the records of ended jobs; their sessions stay."""
    command_timeout_s: PositiveInt = 120
    """The time limit of a command, in seconds, if the model sets none."""
    editing: Editing = "emacs"
    """The key bindings of the prompt: emacs, vi."""
    keys: dict[str, str] = {}
    """Key bindings that replace the default ones, such as `reasoning: f2` or `editor: c-e` (Ctrl-E). The actions are
    editor, history, mode, output, picture and reasoning.
    """
    attribution: str | None = None
    """A trailer added to commits made with clio, such as "Assisted-by: clio"; none if not set."""
    color: bool = True
    """Whether to use colours."""
    language: str = "auto"
    """The language of clio's own texts: auto (from LANG), en, de, or the path of a .po file. The model answers in the
    language you write in.
    """
    theme: str = "auto"
    """The colour theme: auto (to match the terminal's background), dark, light, high-contrast, none, or one of your
    own.
    """
    hyperlinks: Hyperlinks = "auto"
    """Whether URLs and project files in answers are clickable: auto (in terminals known to support it), on, off."""
    screen_reader: bool = False
    """Whether output is adapted to screen readers: each line is printed once and in order, without boxes and symbols,
    and colours are named in words.
    """
    reasoning: ShowReasoning = "fold"
    """How the model's reasoning is shown: fold (one line with its duration), show, hide."""
    notify: Notify = "auto"
    """How clio notifies you that a turn has ended or that it has a question: auto (by the terminal, else by a bell, and
    only while the window is known to be in the background), bell, osc9 or osc777 (a notification by the terminal, not
    while its window is in front), off.
    """
    notify_after_s: PositiveInt = 10
    """The shortest turn, in seconds, whose end is notified in terminals that do not report whether their window is in
    front.
    """
    notify_command: str | None = None
    """A command that is run at these moments, also with `notify: off`, with a sentence as its last argument, such as
    "notify-send clio"; without a shell, for at most 10 seconds. Only accepted in your own configuration.
    """
    status_line: str | None = None
    """A command whose first line of output replaces the values in the status line. It gets them as JSON on its input,
    at most once a second and only after a change, for at most 0.3 seconds. Only accepted in your own configuration.
    """
    terminal_title: bool = True
    """Whether the window title shows the project and whether clio is working or has a question; in terminals known to
    support it, the tab or the task bar also shows progress.
    """
    telemetry: TelemetrySettings = TelemetrySettings()
    """Traces and metrics for an OpenTelemetry collector of yours. Only accepted in your own configuration."""
    debug: bool = False
    """Show tracebacks."""


class Setting(Struct, frozen=True, kw_only=True):
    """A value for a field: `("approve",)`, or `("models", "gpt-5", "context_window")`.

    A list results in one Setting for each of its entries. origin: what `clio config show` prints. variable: the
    environment variable it is from, if any.
    """

    key: tuple[str, ...]
    value: str | int | float | bool | None
    origin: str
    variable: str = ""

    @property
    def name(self) -> str:
        """The key, joined with dots."""
        return ".".join(self.key)


FieldKind = Literal["text", "choice", "count", "number", "switch", "texts", "models", "keys", "section"]
Value = str | int | float | bool | None
# Bounded in length: int() of a very long text takes long, and Python refuses more than 4,300 digits.
_COUNT_TEXT = LazyRegex(r"[0-9]{1,12}")
_NUMBER_TEXT = LazyRegex(r"[0-9]{0,12}\.?[0-9]{1,12}|[0-9]{1,12}\.")
LIST_WORDS = {"checks": (CHECKS_AUTO, CHECKS_OFF), "language_servers": (CHECKS_AUTO, CHECKS_OFF)}
"""Words allowed in place of a list."""
_TRUE_WORDS = TRUE_WORDS | {"1"}
_FALSE_WORDS = frozenset(("no", "off", "false", "0"))


class SettingField(Struct, frozen=True, kw_only=True):
    """One setting. optional: it may be None. choices: for the kind "choice". limits: for the kind "number"."""

    name: str
    kind: FieldKind
    optional: bool
    choices: tuple[str, ...] = ()
    limits: Meta | None = None

    @property
    def expected(self) -> str:
        """Describe the valid values, for an error message."""
        match self.kind:
            case "text":
                return tr("text that is not empty")
            case "choice":
                return tr("one of ") + ", ".join(self.choices)
            case "count":
                return tr("a whole number of at least 1")
            case "number":
                return tr("a number {limits}", limits=describe_limits(self.limits))
            case "switch":
                return tr("true or false")
            case "texts":
                words = "".join(f"{word}, " for word in LIST_WORDS.get(self.name, ()))
                return tr(
                    "{words}{value}a list, each entry on its own line after '- '",
                    words=words,
                    value=tr("or ") if words else "",
                )
            case "models":
                return tr("a mapping from a model's name to its settings")
            case "keys":
                return tr("a mapping from an action to a key, such as 'reasoning: f2'")
            case "section":
                return tr("a mapping with one of {names}", names=", ".join(SECTIONS[self.name]))


def describe_limits(limits: Meta | None) -> str:
    """Describe which numbers are allowed: "above 0", "from 0 to below 1"."""
    low = tr("from {ge:g}", ge=limits.ge) if limits and limits.ge is not None else ""
    low = tr("above {gt:g}", gt=limits.gt) if limits and limits.gt is not None else low
    high = tr("to below {lt:g}", lt=limits.lt) if limits and limits.lt is not None else ""
    return f"{low} {high}".strip() or tr("of any size")


def list_fields(struct: type[Struct]) -> dict[str, SettingField]:
    """Return the fields of Config or ModelSettings by name."""
    return {info.name: _make_field(info.name, info.type) for info in msgspec.structs.fields(struct)}


def parse_setting_text(field: SettingField, text: str) -> Value:
    """Parse the value of a flag or an environment variable. Raises ValueError with the end of a sentence."""
    stripped = text.strip()
    match field.kind:
        case "count" if _COUNT_TEXT.fullmatch(stripped) and int(stripped) >= 1:
            return int(stripped)
        case "number" if _NUMBER_TEXT.fullmatch(stripped) and _is_within_limits(float(stripped), field.limits):
            return float(stripped)
        case "switch" if stripped.lower() in _TRUE_WORDS | _FALSE_WORDS:
            return stripped.lower() in _TRUE_WORDS
        case "choice" if stripped in field.choices:
            return stripped
        case "text" | "texts" if stripped:
            return stripped
        case _:
            raise ValueError(_describe_mismatch(field, repr(truncate(stripped, 60)), stripped))


def parse_setting_node(field: SettingField, node: Node) -> Value:
    """Parse the value of a YAML scalar. Raises ValueError with the end of a sentence."""
    if not isinstance(node, Scalar):
        raise ValueError(_describe_mismatch(field, describe_node(node)))
    if node.kind == "null":
        if field.optional:
            return None
        raise ValueError(tr("has no value; it must be {expected}", expected=field.expected))
    if node.kind == "bool" and (word := _find_choice(field, node.text.lower())):
        return word
    if node.kind == "bool" and field.kind in ("text", "choice"):
        truth = "true" if node.text.lower() in TRUE_WORDS else "false"
        hint = "" if field.kind == "choice" else tr("; put it in quotes")
        raise ValueError(
            tr(
                "must be {expected}: YAML reads an unquoted {text} as {truth}{hint}",
                expected=field.expected,
                text=node.text,
                truth=truth,
                hint=hint,
            )
        )
    if field.kind == "switch" and node.kind != "bool":
        raise ValueError(_describe_mismatch(field, describe_node(node)))
    # YAML 1.1 allows underscores in numbers.
    return parse_setting_text(field, node.text.replace("_", "") if field.kind in ("count", "number") else node.text)


def _find_choice(field: SettingField, word: str) -> str:
    """Return the choice for a word such as `off`, which YAML reads as a boolean; "" if there is none."""
    if word in field.choices:
        return word
    # YAML 1.1 reads an unquoted off, on, yes or no as a boolean, which several settings have as a choice.
    synonyms = _TRUE_WORDS if word in TRUE_WORDS else _FALSE_WORDS
    matching = [choice for choice in field.choices if choice in synonyms]
    return matching[0] if len(matching) == 1 else ""


def parse_setting_list(field: SettingField, node: Node) -> tuple[Scalar, ...]:
    """Return the entries of a list of texts; an empty value is an empty list.

    Raises ValueError as `parse_setting_node`.
    """
    if isinstance(node, Scalar) and node.kind == "null":
        return ()
    if isinstance(node, Scalar) and (word := _find_list_word(field, node)):
        return (msgspec.structs.replace(node, kind="text", text=word),)
    if not isinstance(node, Items):
        raise ValueError(_describe_mismatch(field, describe_node(node)))
    entries: list[Scalar] = []
    for item in node.items:
        if not isinstance(item, Scalar) or item.kind == "null" or not item.text.strip():
            raise ValueError(
                tr("must contain only text, not {node}; quote text that contains ': '", node=describe_node(item))
            )
        entries.append(item)
    return tuple(entries)


def _find_list_word(field: SettingField, node: Scalar) -> str:
    """Return the word used in place of a list, also if YAML reads it as a boolean; "" if there is none."""
    words = LIST_WORDS.get(field.name, ())
    if node.kind == "bool" and words:
        return CHECKS_AUTO if node.text.lower() in TRUE_WORDS else CHECKS_OFF
    return node.text.strip() if node.text.strip() in words else ""


def _describe_mismatch(field: SettingField, got: str, word: str = "") -> str:
    hint = did_you_mean(word, field.choices) if field.choices and word else ""
    return tr("must be {expected}, not {got}{hint}", expected=field.expected, got=got, hint=hint)


def _is_within_limits(value: float, limits: Meta | None) -> bool:
    return limits is None or not (
        (limits.gt is not None and value <= limits.gt)
        or (limits.ge is not None and value < limits.ge)
        or (limits.lt is not None and value >= limits.lt)
    )


def _make_field(name: str, hint: Any) -> SettingField:
    parts: tuple[Any, ...] = (
        typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    )
    plain = [part for part in parts if part is not type(None)]
    kind, choices = _find_kind(plain[0])
    limits = typing.get_args(plain[0])[1] if kind == "number" else None
    return SettingField(name=name, kind=kind, optional=len(plain) < len(parts), choices=choices, limits=limits)


def _find_kind(hint: Any) -> tuple[FieldKind, tuple[str, ...]]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "choice", arguments
    if origin is tuple:
        return "texts", ()
    if isinstance(hint, type) and issubclass(hint, Struct):
        return "section", ()
    if origin is dict:
        return ("keys" if arguments[1] is str else "models"), ()
    if hint is bool:
        return "switch", ()
    if origin is typing.Annotated and typing.get_args(hint)[0] is float:
        return "number", ()
    return ("text", ()) if hint is str else ("count", ())


CONFIG_FIELDS = list_fields(Config)
MODEL_FIELDS = list_fields(ModelSettings)
SECTIONS = {"telemetry": list_fields(TelemetrySettings)}
"""The fields of the settings that are sections, by the setting's name."""


class EnvironmentVariable(Struct, frozen=True, kw_only=True):
    """An environment variable and its setting.

    openai_only: read only if no other server is named, see `layers`; the provider reads it again for itself.
    switches_off: any value turns the setting off.
    """

    name: str
    field: str
    openai_only: bool = False
    switches_off: bool = False


# Lowest precedence first: a CLIO_ variable overrides the general one for the same setting.
ENVIRONMENT_VARIABLES: tuple[EnvironmentVariable, ...] = (
    EnvironmentVariable(name="OPENAI_BASE_URL", field="base_url", openai_only=True),
    EnvironmentVariable(name="OPENAI_API_KEY", field="api_key", openai_only=True),
    EnvironmentVariable(name="CLIO_MODEL", field="model"),
    EnvironmentVariable(name="CLIO_PROVIDER", field="provider"),
    EnvironmentVariable(name="CLIO_BASE_URL", field="base_url"),
    EnvironmentVariable(name="CLIO_API_KEY", field="api_key"),
    EnvironmentVariable(name="CLIO_API", field="api"),
    EnvironmentVariable(name="CLIO_EFFORT", field="effort"),
    EnvironmentVariable(name="CLIO_APPROVE", field="approve"),
    EnvironmentVariable(name="CLIO_SANDBOX", field="sandbox"),
    EnvironmentVariable(name="CLIO_LANGUAGE_SERVERS", field="language_servers"),
    EnvironmentVariable(name="CLIO_MAX_STEPS", field="max_steps"),
    EnvironmentVariable(name="CLIO_CONTEXT_WINDOW", field="context_window"),
    EnvironmentVariable(name="CLIO_MAX_OUTPUT_TOKENS", field="max_output_tokens"),
    EnvironmentVariable(name="CLIO_LTM", field="ltm"),
    EnvironmentVariable(name="CLIO_INCOGNITO", field="incognito"),
    EnvironmentVariable(name="CLIO_DEBUG", field="debug"),
    EnvironmentVariable(name="CLIO_SCREEN_READER", field="screen_reader"),
    EnvironmentVariable(name="CLIO_THEME", field="theme"),
    EnvironmentVariable(name="CLIO_LANGUAGE", field="language"),
    EnvironmentVariable(name="NO_COLOR", field="color", switches_off=True),
)

SERVER_KEY_VARIABLES = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "XAI_API_KEY",
    "MOONSHOT_API_KEY",
    "ZAI_API_KEY",
    "Z_AI_API_KEY",
    "MINIMAX_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "OLLAMA_API_KEY",
    "LMSTUDIO_API_KEY",
    "LLAMA_API_KEY",
    "VLLM_API_KEY",
)
"""Variables with keys of particular servers: their values are secrets, whatever their names look like."""

OPENAI_VARIABLES = tuple(variable.name for variable in ENVIRONMENT_VARIABLES if variable.openai_only)


def read_environment(env: Mapping[str, str], *, without: Collection[str] = ()) -> tuple[Setting, ...]:
    """Return the settings from the environment; empty variables count as not set. Raises ConfigError naming the
    variable.

    without: variables to ignore.
    """
    found: list[Setting] = []
    for variable in ENVIRONMENT_VARIABLES:
        text = env.get(variable.name, "").strip()
        if not text or variable.name in without:
            continue
        try:
            # NO_COLOR counts with any value, also with "0"; see no-color.org.
            value = False if variable.switches_off else parse_setting_text(CONFIG_FIELDS[variable.field], text)
        except ValueError as error:
            raise ConfigError(
                tr("the environment variable {variable} {error}", variable=variable.name, error=error)
            ) from None
        origin = tr("environment {variable}", variable=variable.name)
        found.append(Setting(key=(variable.field,), value=value, origin=origin, variable=variable.name))
    return tuple(found)


T = TypeVar("T")


def read_settings_file(
    path: Path, display_name: str, *, root: Path | None = None, trusted: Iterable[Path] = ()
) -> tuple[Setting, ...] | None:
    """Return the settings of a file; None if it does not exist.

    display_name: the file's name in messages and origins. root, trusted: see `read_config_bytes`.
    Raises ConfigError with file and line.
    """
    data = read_config_bytes(path, display_name, root=root, trusted=trusted)
    return None if data is None else tuple(iter_settings(parse_yaml(data, display_name), display_name))


def iter_settings(table: Table, display_name: str) -> Iterator[Setting]:
    """Yield the settings in a file's mapping. Raises ConfigError with file and line."""
    for name, entry in table.entries.items():
        field = _require_known_field(name, CONFIG_FIELDS, f"{display_name}:{entry.line}")
        if field.kind == "models":
            yield from _iter_model_settings(field, entry, display_name)
        elif field.kind == "keys":
            yield from _iter_keys(field, entry, display_name)
        elif field.kind == "section":
            yield from _iter_section(field, entry, display_name)
        elif field.kind == "texts":
            for item in _convert_entry(parse_setting_list, field, name, entry, display_name):
                if name == "redact_patterns":
                    _check_pattern(item.text.strip(), f"{display_name}:{item.start[0] + 1}")
                yield Setting(key=(name,), value=item.text.strip(), origin=f"{display_name}:{item.start[0] + 1}")
        else:
            value = _convert_entry(parse_setting_node, field, name, entry, display_name)
            yield Setting(key=(name,), value=value, origin=f"{display_name}:{entry.line}")


def _iter_model_settings(field: SettingField, entry: Entry, display_name: str) -> Iterator[Setting]:
    for model, own in _require_table(entry, field.name, field.expected, display_name).entries.items():
        prefix = f"{field.name}.{model}"
        for name, value in _require_table(
            own, prefix, tr("a mapping such as 'context_window: 32000'"), display_name
        ).entries.items():
            known = _require_known_field(name, MODEL_FIELDS, f"{display_name}:{value.line}", f"{prefix}: ")
            yield Setting(
                key=(field.name, model, name),
                value=_convert_entry(parse_setting_node, known, f"{prefix}.{name}", value, display_name),
                origin=f"{display_name}:{value.line}",
            )


def _iter_section(field: SettingField, entry: Entry, display_name: str) -> Iterator[Setting]:
    for name, value in _require_table(entry, field.name, field.expected, display_name).entries.items():
        where = f"{display_name}:{value.line}"
        known = _require_known_field(name, SECTIONS[field.name], where, f"{field.name}: ")
        yield Setting(
            key=(field.name, name),
            value=_convert_entry(parse_setting_node, known, f"{field.name}.{name}", value, display_name),
            origin=where,
        )


def _iter_keys(field: SettingField, entry: Entry, display_name: str) -> Iterator[Setting]:
    table = _require_table(entry, field.name, field.expected, display_name)
    for action, value in table.entries.items():
        where = f"{display_name}:{value.line}"
        if action not in KEY_ACTIONS:
            hint = did_you_mean(action, KEY_ACTIONS) or tr("; known: ") + ", ".join(KEY_ACTIONS)
            raise ConfigError(
                tr("{where}: keys: unknown action {action!r}{hint}", where=where, action=action, hint=hint)
            )
        key = value.node.text.strip().lower() if isinstance(value.node, Scalar) else ""
        if not _KEY_NAME.fullmatch(key) or key in _FIXED_KEYS:
            raise ConfigError(
                tr(
                    "{where}: keys.{action} must be a key such as c-y (Ctrl-Y), f2 or s-tab, not {key!r}",
                    where=where,
                    action=action,
                    key=key,
                )
            )
        yield Setting(key=(field.name, action), value=key, origin=where)


def _require_table(entry: Entry, name: str, expected: str, display_name: str) -> Table:
    node = entry.node
    if isinstance(node, Scalar) and node.kind == "null":
        return Table(entries={}, flow=False, start=node.start, end=node.end)
    if not isinstance(node, Table):
        raise ConfigError(
            tr(
                "{display_name}:{line}: {name} must be {expected}, not {node}",
                display_name=display_name,
                line=entry.line,
                name=name,
                expected=expected,
                node=describe_node(node),
            )
        )
    return node


def _require_known_field(name: str, fields: dict[str, SettingField], where: str, prefix: str = "") -> SettingField:
    if name in fields:
        return fields[name]
    hint = did_you_mean(name, fields) or tr("; known: ") + ", ".join(fields)
    raise ConfigError(
        tr("{where}: {prefix}unknown key {name!r}{hint}", where=where, prefix=prefix, name=name, hint=hint)
    )


def _check_pattern(pattern: str, where: str) -> None:
    try:
        BoundedPattern(pattern)
    except PatternRefused as error:
        raise ConfigError(
            tr(
                "{where}: the pattern {pattern} is ignored: {error}; correct or remove it",
                where=where,
                pattern=_quote_pattern(pattern),
                error=error,
            )
        ) from None


def _quote_pattern(pattern: str) -> str:
    short = truncate(pattern, 60)
    return f"'{short}'" if short.isprintable() else repr(short)


def _convert_entry(
    convert: Callable[[SettingField, Node], T], field: SettingField, name: str, entry: Entry, display_name: str
) -> T:
    try:
        return convert(field, entry.node)
    except ValueError as error:
        raise ConfigError(f"{display_name}:{entry.line}: {name} {error}") from None
