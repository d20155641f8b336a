"""What a project's `.clio/config.yaml` may set before the user trusts it: one decision for every setting.

The list is positive. A setting takes effect without trust only where its rule says that this value is narrower than the
one below it; every other value waits for trust and is named in the question. A few settings are the user's alone,
because they limit stores that all projects share: a project's value for them never counts. A value equal to the one
that holds anyway changes nothing and never waits.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from clio.config.schema import Config
from clio.config.setting import Setting

_MODES = ("plan", "ask", "edits", "all")  # from the narrowest to the widest

Standing = Literal["waits", "narrows", "user"]
"""Waits for trust; takes effect at once where it narrows, else waits; counts only in the user's own file."""


class ProjectRule(Struct, frozen=True, kw_only=True):
    """What an untrusted project may do with one setting.

    narrower: whether this value gives the project less than the configuration below does; for "narrows" only.
    why: the reason of the decision.
    """

    standing: Standing
    why: str
    narrower: Callable[[object, Config], bool] | None = None


def _waits(why: str) -> ProjectRule:
    return ProjectRule(standing="waits", why=why)


def _narrows(why: str, narrower: Callable[[object, Config], bool]) -> ProjectRule:
    return ProjectRule(standing="narrows", why=why, narrower=narrower)


def _users(why: str) -> ProjectRule:
    return ProjectRule(standing="user", why=why)


_SERVER = "decides which server receives the conversation"
_SPENDING = "changes what a turn costs"
_STOPS = "could stop the user's work early"
_MEMORY = "decides what is remembered, or what of the memory is sent"
_SCREEN = "changes what the user sees"
_KEYS = "changes what the user's keys do"
_SHARED = "limits a store that all projects share"

PROJECT_RULES: Mapping[str, ProjectRule] = {
    "model": _waits(_SPENDING),
    "provider": _waits(_SERVER),
    "base_url": _waits(_SERVER),
    "api_key": _waits(_SERVER),
    "api_key_command": _users("runs a command and decides which key is sent"),
    "api_key_command_ttl_s": _users("decides how often the user's own command runs"),
    "api": _waits("decides in which protocol the server is spoken to"),
    "effort": _waits("decides how many tokens a request may cost"),
    "cache_ttl": _waits(_SPENDING),
    "transport": _waits("decides which client speaks to the server, and with it which checks of the connection hold"),
    "fetch_encodings": _users("decides what is downloaded into the home that all projects share"),
    "approve": _narrows("asking more often is narrower", lambda value, lower: _rank(value) < _rank(lower.approve)),
    "allow": _waits("lets commands run without a question"),
    "deny": _narrows("a further refused command is narrower", lambda value, lower: True),
    "sandbox": _narrows("a sandbox is narrower than none", lambda value, lower: lower.sandbox == "off"),
    "sandbox_write": _waits("opens folders outside of the project to commands"),
    "sandbox_caches": _narrows("closing the caches is narrower", lambda value, lower: value is False),
    "confine_unasked": _narrows("confining commands is narrower", lambda value, lower: value != "off"),
    "sandbox_network": _narrows("closing the network is narrower", lambda value, lower: value is False),
    "max_steps": _waits(_STOPS),
    "max_cost": _waits(_STOPS),
    "context_window": _waits(_SPENDING),
    "max_output_tokens": _waits(_SPENDING),
    "models": _waits("changes what is asked of a model, and what a turn costs"),
    "fallback": _waits(_SERVER),
    "fallback_cooldown_s": _waits(_SPENDING),
    "light_model": _waits(_SERVER),
    "ltm": _waits(_MEMORY),
    "instructions": _waits("would also switch off the user's own instructions"),
    "hooks": _waits("would also switch off the user's own hooks"),
    "checks": _waits("runs commands after every edit, or switches off the user's own checks"),
    "scenario": _waits("decides which of the user's preferences count"),
    "preference_half_life_days": _users("fades preferences that all projects share"),
    "preference_floor": _users("fades preferences that all projects share"),
    "notice": _waits(_MEMORY),
    "sleep": _waits(_MEMORY),
    "sleep_idle_s": _waits(_MEMORY),
    "sleep_use_model": _waits(_SPENDING),
    "embedder": _waits("decides who reads what is embedded"),
    "embedding_model": _waits("decides who reads what is embedded"),
    "embedding_folder": _waits("names files that clio reads"),
    "embedding_base_url": _waits("decides who reads what is embedded"),
    "brain_across_sessions": _waits(_MEMORY),
    "incognito": _waits("would keep the user's session and memory from being saved"),
    "redact": _narrows("redacting is narrower", lambda value, lower: value is True),
    "redact_patterns": _waits("a pattern that matches everything hides what the user is asked about"),
    "private_network": _narrows("closing the local network is narrower", lambda value, lower: value is False),
    "checkpoints": _waits("without copies /undo cannot take back what a turn did"),
    "checkpoint_mb": _users(_SHARED),
    "checkpoint_days": _users(_SHARED),
    "command_timeout_s": _waits(_STOPS),
    "editing": _waits(_KEYS),
    "attribution": _waits("writes a text of the project into the user's commits"),
    "color": _waits(_SCREEN),
    "theme": _waits(_SCREEN),
    "screen_reader": _waits(_SCREEN),
    "reasoning": _waits(_SCREEN),
    "notify": _waits(_SCREEN),
    "notify_after_s": _waits(_SCREEN),
    "debug": _waits("prints tracebacks, which show the user's files and values"),
}
"""Every setting of the schema. A new setting needs a decision here; a test names those that have none."""


def needs_trust(setting: Setting, lower: Config) -> bool:
    """Whether a project's value takes effect only with trust, given the configuration of the layers below.

    A setting without a rule always waits.
    """
    rule = PROJECT_RULES.get(setting.key[0])
    if is_users_alone(setting):
        return False
    if _is_same(setting, lower):
        return False
    return rule is None or rule.narrower is None or not rule.narrower(setting.value, lower)


def is_users_alone(setting: Setting) -> bool:
    """Whether a project's value for this setting never counts, trusted or not."""
    if setting.key[0] == "models":
        setting = Setting(key=(setting.key[2],), value=setting.value, origin=setting.origin)
    rule = PROJECT_RULES.get(setting.key[0])
    return rule is not None and rule.standing == "user"


def _is_same(setting: Setting, lower: Config) -> bool:
    if setting.key[0] == "models":
        known = lower.models.get(setting.key[1])
        return known is not None and getattr(known, setting.key[2]) == setting.value
    now: object = getattr(lower, setting.key[0])
    return setting.value in now if isinstance(now, tuple) else setting.value == now


def _rank(mode: object) -> int:
    return _MODES.index(str(mode))
