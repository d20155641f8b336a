"""Every setting clio has: its name, type, default and meaning. Files, environment and flags all end up here."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Sandboxing = Literal["auto", "bwrap", "landlock", "seatbelt", "off"]
FetchEncodings = Literal["auto", "off"]
ConfineUnasked = Literal["auto", "off"]
Editing = Literal["emacs", "vi"]
ApprovalMode = Literal["ask", "edits", "all", "plan"]
Embedder = Literal["hashed", "endpoint", "minilm"]
Api = Literal["auto", "chat", "responses", "messages"]
CacheLifetime = Literal["5m", "1h"]
Effort = Literal["auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
TransportKind = Literal["auto", "lean", "openai"]
ShowReasoning = Literal["fold", "show", "hide"]
Notify = Literal["off", "bell", "osc9", "osc777", "auto"]
CHECKS_AUTO, CHECKS_OFF = "auto", "off"
PositiveInt = Annotated[int, Meta(ge=1)]
PositiveFloat = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, lt=1)]


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user knows better than server and profile about one model, keyed by the model's name; or an alias.

    An entry with `provider`, `model` or `base_url` is an alias: its key is a name of the user's own for that model.
    """

    provider: str | None = None
    """The named server of an alias; the running one where it is not set."""
    model: str | None = None
    """The model that an alias stands for, as its server knows it; the alias itself where it is not set."""
    base_url: str | None = None
    """The address of an alias's server."""
    api: Api | None = None
    """The protocol of an alias's server, where its address does not tell."""
    api_key_command: str | None = None
    """The command that prints the key of an alias's server; counts in your own configuration only."""

    context_window: PositiveInt | None = None
    """The model's window in tokens."""
    max_output_tokens: PositiveInt | None = None
    """The longest answer to ask for, in tokens."""
    tools: bool = True
    """Whether the model can call tools."""
    images: bool | None = None
    """Whether the model takes pictures, where its name does not tell."""
    effort: Effort | None = None
    """How hard this model thinks, in place of `effort`."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole configuration. The text below each field is its meaning in docs/configuration.md."""

    model: str | None = None
    """The model's name as the server knows it."""
    provider: str | None = None
    """A named server: openai, anthropic, gemini, openrouter, deepseek, mistral, groq, xai, moonshot, zai, minimax,
    azure, bedrock, vertex, github-models, ollama, lmstudio, llamacpp, vllm, offline."""
    base_url: str | None = None
    """The address of any other server that speaks one of the protocols of `api`, with or without /v1."""
    api_key: str | None = None
    """The key sent to the server; better kept in the environment."""
    api_key_command: str | None = None
    """A command that prints the key, such as "op read op://vault/openai/key"; run without a shell, in your home
    folder, for at most 30 seconds. Counts in your own configuration only."""
    api_key_command_ttl_s: PositiveInt = 3_300
    """Seconds the printed key is used before the command runs again; it also runs when a server refuses the key."""
    api: Api = "auto"
    """The protocol the server speaks: chat (Chat Completions), responses (OpenAI Responses), messages (Anthropic
    Messages), auto (as the provider and its address tell)."""
    effort: Effort = "auto"
    """How hard the model thinks before it answers: auto (the server's default), none, minimal, low, medium, high,
    xhigh, max."""
    cache_ttl: CacheLifetime = "5m"
    """How long Anthropic keeps what it cached of a conversation: 5m, or 1h, which costs more to write and pays off
    where pauses between messages are longer than five minutes."""
    transport: TransportKind = "auto"
    """What speaks to the server: lean (clio's own client), openai (the openai package), auto (the first where it does
    all that the second would)."""
    fetch_encodings: FetchEncodings = "auto"
    """Whether the file that counts tokens exactly (4 MB) is downloaded once, in the background, where a model of OpenAI
    answers: auto, off."""
    approve: ApprovalMode = "ask"
    """Who decides about writes and commands: ask, edits, all, plan."""
    allow: tuple[str, ...] = ()
    """Commands that run without asking, such as "git log *"."""
    deny: tuple[str, ...] = ()
    """Commands that never run."""
    sandbox: Sandboxing = "off"
    """What holds the model's commands to the project: auto (the best that works here), bwrap, landlock, seatbelt,
    off."""
    sandbox_write: tuple[str, ...] = ()
    """Folders that commands in the sandbox may write besides the project and caches."""
    sandbox_caches: bool = True
    """Whether they may write the caches of package managers and compilers, such as ~/.cache."""
    sandbox_network: bool = False
    """Whether they reach the network."""
    confine_unasked: ConfineUnasked = "auto"
    """Whether commands that run without a question are confined where that works (files read-only, no network, no
    secrets in the environment): auto, off."""
    max_steps: PositiveInt = 100
    """Requests one turn may take before it stops."""
    max_cost: PositiveFloat | None = None
    """US dollars one run of clio may spend on its model; a request that would exceed them is not sent."""
    context_window: PositiveInt | None = None
    """The model's window in tokens, where server and profile are wrong."""
    max_output_tokens: PositiveInt | None = None
    """The longest answer to ask for, in tokens."""
    models: dict[str, ModelSettings] = {}
    """Settings of single models by name, and aliases."""
    fallback: tuple[str, ...] = ()
    """Models or aliases that answer in this order while the chosen one's server does not."""
    fallback_cooldown_s: PositiveInt = 300
    """Seconds after which a server that did not answer is tried again."""
    light_model: str | None = None
    """The model or alias for questions beside the conversation, such as commit messages and duplicate memories; the
    one that answers where it is not set."""
    ltm: bool = True
    """Whether project knowledge is put before the conversation."""
    instructions: bool = True
    """Whether the model is told what .clio/instructions.md, AGENTS.md and their like ask of agents."""
    hooks: bool = True
    """Whether the commands of hooks.yaml run at their events."""
    checks: tuple[str, ...] = (CHECKS_AUTO,)
    """What runs on changed files after a step that edited, so that the model is told what is newly wrong: auto (the
    linters and type checkers found here, else a parser), off, or a list of commands; {files} stands for the files."""
    scenario: str | None = None
    """The kind of work at hand, such as coding or review, for the tastes that fit it; else told from each request."""
    preference_half_life_days: PositiveFloat = 30.0
    """Days after which half of what can fade of a preference nobody confirmed has faded."""
    preference_floor: Share = 0.1
    """What a preference's fading never falls below, as a share of 1."""
    notice: bool = True
    """Whether what you say plainly about how things are to be done is remembered, in a line you can undo."""
    sleep: bool = True
    """Whether clio learns from earlier sessions by itself, when you are away and as you leave, at most once a day."""
    sleep_idle_s: PositiveInt = 120
    """Seconds without a key, and with nothing running, after which it does."""
    sleep_use_model: bool = False
    """Whether the model may be asked once a night what it finds in the best turns; else all is found by rule."""
    embedder: Embedder = "hashed"
    """What finds turns and documents by meaning: hashed (in clio itself), endpoint (a server's embeddings), minilm (a
    small model's weights on this machine)."""
    embedding_model: str | None = None
    """The model that makes embeddings, as its server knows it."""
    embedding_folder: str | None = None
    """Where the weights of minilm lie, where they are not an installed package."""
    embedding_base_url: str | None = None
    """The address of the server that makes them, where it is not the one of the model."""
    brain_across_sessions: bool = False
    """Whether what left the windows of this project's other sessions may come back by itself."""
    incognito: bool = False
    """Write nothing anywhere and use no memory."""
    redact: bool = True
    """Replace secrets before anything is stored or sent."""
    redact_patterns: tuple[str, ...] = ()
    """Further regular expressions whose matches are secrets."""
    private_network: bool = False
    """Whether web_fetch may reach addresses on this machine and the local network."""
    checkpoints: bool = True
    """Whether what turns do to files is kept, so that /undo can take it back."""
    checkpoint_mb: PositiveInt = 500
    """What those copies may take of the disk, of all projects together, in megabytes; the oldest go."""
    checkpoint_days: PositiveInt = 30
    """Days after which they go in any case."""
    command_timeout_s: PositiveInt = 120
    """Seconds a command may run when the model names no limit."""
    editing: Editing = "emacs"
    """The keys of the prompt line: emacs, vi."""
    attribution: str | None = None
    """A trailer for commits made through clio, such as "Assisted-by: clio"; none where it is not set."""
    color: bool = True
    """Colour on the screen."""
    theme: str = "auto"
    """Which colours: auto (as the terminal's background is), dark, light, high-contrast, none, or one of your own."""
    screen_reader: bool = False
    """Everything as lines read aloud once and in order: nothing is redrawn, no boxes, no signs, words for colours."""
    reasoning: ShowReasoning = "fold"
    """What the model thinks aloud: fold (one line with the seconds), show, hide."""
    notify: Notify = "off"
    """How a long turn's end is told: off, bell, osc9 or osc777 (a notification of the terminal), auto."""
    notify_after_s: PositiveInt = 10
    """Seconds a turn must have taken to be told."""
    debug: bool = False
    """Show tracebacks."""
