"""What a project's files may decide before the user trusts them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from clio.config.paths import FOLDER_NAME
from clio.config.schema import Config, Setting
from clio.text.translation import mark, tr

_CONTROLS_CLIO = mark("controls what clio may do")
_STARTS_PROGRAMS = mark("names programs that clio starts")
_IS_SKILL = mark("belongs to a skill, which later sessions follow")
_IS_AGENT = mark("contains instructions for a sub-agent")
_IS_COMMAND = mark("belongs to a custom command, which may run other commands")

PERMISSION_FILES: Mapping[str, str] = {
    "config.yaml": _CONTROLS_CLIO,
    "config.yml": _CONTROLS_CLIO,
    "mcp.yaml": _STARTS_PROGRAMS,
    "mcp.yml": _STARTS_PROGRAMS,
    "hooks.yaml": _STARTS_PROGRAMS,
}
"""Files directly in `.clio` and in clio's home that need no trust there."""
PERMISSION_PATHS: Mapping[str, str] = {
    **{f"{FOLDER_NAME}/{name}": why for name, why in PERMISSION_FILES.items()},
    ".mcp.json": _STARTS_PROGRAMS,
    f"{FOLDER_NAME}/commands": _IS_COMMAND,
    ".claude/commands": _IS_COMMAND,
    f"{FOLDER_NAME}/agents": _IS_AGENT,
    ".claude/agents": _IS_AGENT,
    f"{FOLDER_NAME}/skills": _IS_SKILL,
    ".claude/skills": _IS_SKILL,
    ".agents/skills": _IS_SKILL,
}
"""Each file, or directory with all its contents, below a project that affects permissions, and why, as the end of a
sentence.
"""
_PERMISSION_PARTS = {tuple(place.split("/")): why for place, why in PERMISSION_PATHS.items()}
_PERMISSION_PARENTS = {parts[:1] for parts in _PERMISSION_PARTS if len(parts) > 1}


def explain_permission_path(parts: Sequence[str]) -> str:
    """Return why a path affects permissions, as the end of a sentence; "" if it does not. Parent directories count too.

    parts: of a path below a project, in lower case. A project may be in any directory of another one.
    """
    for start in range(len(parts)):
        for length in (1, 2):  # the paths in PERMISSION_PATHS have one or two parts
            if why := _PERMISSION_PARTS.get(tuple(parts[start : start + length])):
                return why
    return tr("contains files that control what clio may do") if tuple(parts[-1:]) in _PERMISSION_PARENTS else ""


_MODES_BY_PERMISSION = ("plan", "ask", "edits", "all")  # from most to least restrictive

RuleKind = Literal["waits", "narrows", "user"]
"""Waits for trust; takes effect at once if it restricts, else waits; allowed only in the user's own file."""


class ProjectRule(Struct, frozen=True, kw_only=True):
    """What an untrusted project may do with one setting.

    Args:
        narrower: whether this value permits less than the configuration below; for "narrows" only.
        why: the reason of the decision.
    """

    effect: RuleKind
    why: str
    narrower: Callable[[object, Config], bool] | None = None


def _waits(why: str) -> ProjectRule:
    return ProjectRule(effect="waits", why=why)


def _narrows(why: str, narrower: Callable[[object, Config], bool]) -> ProjectRule:
    return ProjectRule(effect="narrows", why=why, narrower=narrower)


def _user_only(why: str) -> ProjectRule:
    return ProjectRule(effect="user", why=why)


_CHOOSES_SERVER = "decides which server receives the conversation"
_CHANGES_COST = "changes what a turn costs"
_STOPS_WORK = "could stop the user's work early"
_CHOOSES_MEMORY = "decides what is remembered, or which memory is sent"
_CHANGES_SCREEN = "changes what the user sees"
_CHANGES_KEYS = "changes what the user's keys do"
_LIMITS_SHARED_STORE = "limits a store that all projects share"

PROJECT_RULES: Mapping[str, ProjectRule] = {
    "model": _waits(_CHANGES_COST),
    "provider": _waits(_CHOOSES_SERVER),
    "base_url": _waits(_CHOOSES_SERVER),
    "api_key": _waits(_CHOOSES_SERVER),
    "api_key_command": _user_only("runs a command and decides which key is sent"),
    "api_key_command_ttl_s": _user_only("decides how often the user's own command runs"),
    "api": _waits("decides which protocol is used with the server"),
    "effort": _waits("decides how many tokens a request may cost"),
    "cache_ttl": _waits(_CHANGES_COST),
    "transport": _waits("decides which HTTP client is used, and thus how connections are checked"),
    "sync": _user_only("decides when the user's memory is sent"),
    "web_search": _user_only("decides which server the model's queries are sent to"),
    "web_search_url": _user_only("decides which server the model's queries are sent to"),
    "fetch_encodings": _user_only("decides what is downloaded into the home that all projects share"),
    "approve": _narrows(
        "asking more often is more restrictive",
        lambda value, lower: _rank_mode(value) < _rank_mode(lower.approve),
    ),
    "background_approvals": _narrows(
        "refusing is more restrictive than asking", lambda value, lower: value == "refuse"
    ),
    "allow": _waits("lets commands run without approval"),
    "deny": _narrows("blocking another command is more restrictive", lambda value, lower: True),
    "sandbox": _narrows("a sandbox is more restrictive than none", lambda value, lower: lower.sandbox == "off"),
    "sandbox_write": _waits("lets commands write outside of the project"),
    "sandbox_caches": _narrows("read-only caches are more restrictive", lambda value, lower: value is False),
    "confine_unasked": _narrows("confining commands is more restrictive", lambda value, lower: value != "off"),
    "sandbox_network": _narrows("no network access is more restrictive", lambda value, lower: value is False),
    "max_steps": _waits(_STOPS_WORK),
    "max_cost": _waits(_STOPS_WORK),
    "context_window": _waits(_CHANGES_COST),
    "max_output_tokens": _waits(_CHANGES_COST),
    "models": _waits("changes requests to models, and what a turn costs"),
    "fallback": _waits(_CHOOSES_SERVER),
    "fallback_cooldown_s": _waits(_CHANGES_COST),
    "light_model": _waits(_CHOOSES_SERVER),
    "session_titles": _waits(_CHANGES_COST),
    "ltm": _waits(_CHOOSES_MEMORY),
    "instructions": _waits("would also switch off the user's own instructions"),
    "hooks": _waits("would also switch off the user's own hooks"),
    "checks": _waits("runs commands after every edit, or switches off the user's own checks"),
    "language_servers": _waits("runs programs, or switches off the user's own choice of language servers"),
    "plugins": _waits("names plugins for the user to add"),
    "scenario": _waits("decides which of the user's preferences count"),
    "preference_half_life_days": _user_only("weakens preferences that all projects share"),
    "preference_floor": _user_only("weakens preferences that all projects share"),
    "notice": _waits(_CHOOSES_MEMORY),
    "sleep": _waits(_CHOOSES_MEMORY),
    "sleep_idle_s": _waits(_CHOOSES_MEMORY),
    "sleep_use_model": _waits(_CHANGES_COST),
    "embedder": _waits("decides who receives the text that is embedded"),
    "embedding_model": _waits("decides who receives the text that is embedded"),
    "embedding_folder": _waits("names files that clio reads"),
    "embedding_base_url": _waits("decides who receives the text that is embedded"),
    "brain_across_sessions": _waits(_CHOOSES_MEMORY),
    "brain_distance": _waits(_CHOOSES_MEMORY),
    "stop_words": _waits("decides where every answer ends"),
    "incognito": _waits("would keep the user's session and memory from being saved"),
    "redact": _narrows("redacting is more restrictive", lambda value, lower: value is True),
    "redact_patterns": _waits("a pattern that matches everything hides what the user is asked about"),
    "private_network": _narrows(
        "no access to the local network is more restrictive", lambda value, lower: value is False
    ),
    "checkpoints": _waits("without checkpoints, /undo cannot revert a turn"),
    "checkpoint_mb": _user_only(_LIMITS_SHARED_STORE),
    "checkpoint_days": _user_only(_LIMITS_SHARED_STORE),
    "job_days": _user_only(_LIMITS_SHARED_STORE),
    "command_timeout_s": _waits(_STOPS_WORK),
    "editing": _waits(_CHANGES_KEYS),
    "keys": _waits(_CHANGES_KEYS),
    "attribution": _waits("adds text of the project to the user's commits"),
    "color": _waits(_CHANGES_SCREEN),
    "theme": _waits(_CHANGES_SCREEN),
    "language": _waits(_CHANGES_SCREEN),
    "hyperlinks": _waits(_CHANGES_SCREEN),
    "screen_reader": _waits(_CHANGES_SCREEN),
    "reasoning": _waits(_CHANGES_SCREEN),
    "notify": _waits(_CHANGES_SCREEN),
    "notify_after_s": _waits(_CHANGES_SCREEN),
    "notify_command": _user_only("runs a command"),
    "status_line": _user_only("runs a command"),
    "terminal_title": _waits(_CHANGES_SCREEN),
    "telemetry": _user_only("decides who receives data about the user's work"),
    "debug": _waits("prints tracebacks, which show the user's files and values"),
}
"""A rule for every setting of the schema. A new setting needs a rule here; a test reports missing ones."""


def needs_trust(setting: Setting, lower: Config) -> bool:
    """Whether a project's value takes effect only with trust, given the configuration of the layers below.

    A setting without a rule always waits.
    """
    rule = PROJECT_RULES.get(setting.key[0])
    if is_user_only(setting):
        return False
    if _is_unchanged(setting, lower):
        return False
    # A setting without a rule waits: forgetting one must be safe.
    return rule is None or rule.narrower is None or not rule.narrower(setting.value, lower)


def is_user_only(setting: Setting) -> bool:
    """Whether a project's value for this setting is always ignored, trusted or not."""
    if setting.key[0] == "models":
        setting = Setting(key=(setting.key[2],), value=setting.value, origin=setting.origin)
    rule = PROJECT_RULES.get(setting.key[0])
    return rule is not None and rule.effect == "user"


def _is_unchanged(setting: Setting, lower: Config) -> bool:
    if setting.key[0] == "models":
        lower_settings = lower.models.get(setting.key[1])
        return lower_settings is not None and getattr(lower_settings, setting.key[2]) == setting.value
    lower_value: object = getattr(lower, setting.key[0])
    return setting.value in lower_value if isinstance(lower_value, tuple) else setting.value == lower_value


def _rank_mode(mode: object) -> int:
    return _MODES_BY_PERMISSION.index(str(mode))
