"""What a project's files may decide before the user trusts them, and which values the user has agreed to."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clio.config.fields import Setting
from clio.config.loaded import Loaded, Widening
from clio.config.own_memory import KEY as MEMORY_KEY
from clio.config.own_memory import accept_sessions
from clio.config.paths import FOLDER_NAME, project_config
from clio.config.schema import Config
from clio.errors import ClioError, ConfigError, NewerDocument
from clio.storage.documents import Format, decode, update
from clio.storage.files import read_regular
from clio.storage.locks import next_step, reason
from clio.text.lazy_regex import LazyRegex

_PASSWORD = LazyRegex(r"(?<=://)[^/@\s]*@")
_SECRET_QUERY = LazyRegex(r"([?&][^=&#]*(?:key|token|secret|password|auth)[^=&#]*=)[^&#]+", re.IGNORECASE)
_MAX_CHARS = 200


def masked(name: str, value: str) -> str:
    """The text of a setting without its secret: of a key at most the last four characters stay."""
    if name == "api_key":
        return "…" + value[-4:] if len(value) >= 16 else "…"
    if name.rpartition(".")[2] == "api_key_command":
        return value.split(maxsplit=1)[0] + (" …" if len(value.split()) > 1 else "")
    if name in ("base_url", "embedding_base_url"):
        return _SECRET_QUERY.sub(r"\1…", _PASSWORD.sub("…@", value))
    return value


def shown_value(name: str, value: object) -> str:
    """One value on one line, in the way YAML writes it; text is quoted only where it must be."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    text = masked(name, value)
    text = text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
    return text if text.isprintable() and text.strip() == text and text else json.dumps(text)


_MAY = "decides what clio may do"
_STARTS = "names programs that clio starts"
_SKILL = "belongs to a skill, which later sessions follow"
_AGENT = "says what a sub-agent is told"
_COMMAND = "belongs to a command, which may run others"

OWN_FILES: Mapping[str, str] = {
    "config.yaml": _MAY,
    "config.yml": _MAY,
    "mcp.yaml": _STARTS,
    "mcp.yml": _STARTS,
    "hooks.yaml": _STARTS,
}
"""Files directly in `.clio`, and in clio's home, where they need no trust."""
PLACES: Mapping[str, str] = {
    **{f"{FOLDER_NAME}/{name}": why for name, why in OWN_FILES.items()},
    ".mcp.json": _STARTS,
    f"{FOLDER_NAME}/commands": _COMMAND,
    ".claude/commands": _COMMAND,
    f"{FOLDER_NAME}/agents": _AGENT,
    ".claude/agents": _AGENT,
    f"{FOLDER_NAME}/skills": _SKILL,
    ".claude/skills": _SKILL,
    ".agents/skills": _SKILL,
}
"""Each file, and each folder with all in it, below a project; with why it counts, as the end of a sentence."""
_PLACES = {tuple(place.split("/")): why for place, why in PLACES.items()}
_HOLDERS = {parts[:1] for parts in _PLACES if len(parts) > 1}


def why_deciding(parts: Sequence[str]) -> str:
    """Why a path counts, as the end of a sentence; "" where it does not. Folders that hold such files count as well.

    parts: of a path below a project, in small letters. A project may lie in any folder of another one.
    """
    for start in range(len(parts)):
        for length in (1, 2):
            if why := _PLACES.get(tuple(parts[start : start + length])):
                return why
    return "holds what decides what clio does" if tuple(parts[-1:]) in _HOLDERS else ""


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


_SERVER_RULE = "decides which server receives the conversation"
_SPENDING = "changes what a turn costs"
_STOPS = "could stop the user's work early"
_MEMORY = "decides what is remembered, or what of the memory is sent"
_SCREEN = "changes what the user sees"
_KEYS = "changes what the user's keys do"
_SHARED = "limits a store that all projects share"

PROJECT_RULES: Mapping[str, ProjectRule] = {
    "model": _waits(_SPENDING),
    "provider": _waits(_SERVER_RULE),
    "base_url": _waits(_SERVER_RULE),
    "api_key": _waits(_SERVER_RULE),
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
    "fallback": _waits(_SERVER_RULE),
    "fallback_cooldown_s": _waits(_SPENDING),
    "light_model": _waits(_SERVER_RULE),
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


_SKILLS = "skills:"
"""Begins the keys of `noted` that say of which waiting skills the user was told; kept until these change."""
_SERVER = frozenset((("provider",), ("base_url",), ("api_key",), ("model",)))


class Trusted(Struct, frozen=True, kw_only=True):
    """For each project's path, the fingerprints of the values it is trusted with, and of those it is not.

    noted: the day on which a one-shot run said what waits for trust, and a fingerprint of all that; of today only,
        but for skills, of which the user is told again when they change.
    """

    projects: dict[str, tuple[str, ...]] = {}
    declined: dict[str, tuple[str, ...]] = {}
    noted: dict[str, str] = {}


TRUSTED = Format(schema="clio.trusted", version=1, type=Trusted)


class Trust:
    """The user's decisions, in `trusted.json` of clio's home folder."""

    def __init__(self, home: Path) -> None:
        self.path = home / "trusted.json"

    def covers(self, project: Path, values: Iterable[Widening]) -> bool:
        """Whether the project is trusted with all of these values."""
        return {value.fingerprint for value in values} <= self.fingerprints(project)

    def fingerprints(self, project: Path) -> frozenset[str]:
        """What the project is trusted with: nothing, where the file is missing, damaged or from a newer clio."""
        return frozenset(self._read().projects.get(str(project), ()))

    def declined(self, project: Path, values: Iterable[Widening]) -> bool:
        """Whether the person has said no to all of these values before, so that asking again would be a nuisance."""
        return {value.fingerprint for value in values} <= set(self._read().declined.get(str(project), ()))

    def damage(self) -> str | None:
        """What is wrong with the file, so that no project is trusted with anything; None where nothing is."""
        try:
            decode(read_regular(self.path), TRUSTED, self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        except NewerDocument:
            return "is from a newer clio"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return f"is damaged ({error})"
        return None

    def grant(self, project: Path, values: Iterable[Widening]) -> None:
        """Trust the project with these values and no others: what was granted before and is not among them ends.

        A fingerprint with a kind before a colon stays in any case: it is of no value of the configuration.
        Raises ConfigError where the decision cannot be stored, CorruptDocument or NewerDocument.
        """
        self._store(project, frozenset(value.fingerprint for value in values), keep=False)

    def add(self, project: Path, value: Widening) -> None:
        """Trust the project with one more value. Raises as `grant`."""
        self._store(project, frozenset((value.fingerprint,)), keep=True)

    def add_all(self, project: Path, values: Iterable[Widening]) -> None:
        """Trust the project with these too. Raises as `grant`."""
        self._store(project, frozenset(value.fingerprint for value in values), keep=True)

    def decline(self, project: Path, values: Iterable[Widening]) -> None:
        """Remember a no to these values. Raises as `grant`."""
        marks = tuple(sorted(value.fingerprint for value in values))
        self._update(lambda old: replace(old, declined=old.declined | {str(project): marks}))

    def note_once_a_day(self, project: Path, values: Iterable[Widening], today: str) -> bool:
        """Whether to say now that these values wait: not where exactly that was said today. It counts as said then.

        Where that cannot be stored it is said every time.
        """
        mark = hashlib.sha256("\n".join(sorted(value.fingerprint for value in values)).encode()).hexdigest()
        said = f"{today} {mark}"
        if self._read().noted.get(str(project)) == said:
            return False

        def change(old: Trusted) -> Trusted:
            kept = {
                key: one for key, one in old.noted.items() if key.startswith(_SKILLS) or one.startswith(f"{today} ")
            }
            return replace(old, noted=kept | {str(project): said})

        if self.damage() is None:
            with suppress(ClioError, TimeoutError):
                self._update(change)
        return True

    def note_skills_once(self, project: Path, values: Iterable[Widening]) -> bool:
        """Whether to say that these skills wait for trust: not where exactly that was said before. It counts as said.

        Where that cannot be stored it is said every time.
        """
        key = f"{_SKILLS}{project}"
        mark = hashlib.sha256("\n".join(sorted(value.fingerprint for value in values)).encode()).hexdigest()
        if self._read().noted.get(key) == mark:
            return False
        if self.damage() is None:
            with suppress(ClioError, TimeoutError):
                self._update(lambda old: replace(old, noted=old.noted | {key: mark}))
        return True

    def _store(self, project: Path, granted: frozenset[str], *, keep: bool) -> None:
        def change(old: Trusted) -> Trusted:
            before = frozenset(old.projects.get(str(project), ()))
            kept = before if keep else {mark for mark in before if ":" in mark}
            return replace(old, projects=old.projects | {str(project): tuple(sorted(kept | granted))})

        self._update(change)

    def _read(self) -> Trusted:
        try:
            return decode(read_regular(self.path), TRUSTED, self.path).value
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, NewerDocument):
            return Trusted()

    def _update(self, change: Callable[[Trusted], Trusted]) -> None:
        try:
            update(self.path, TRUSTED, change)
        except OSError as error:
            raise ConfigError(
                f"the trust in this folder cannot be stored in {self.path}: {reason(error)}; {next_step(error)}"
            ) from None


def widening(settings: Iterable[Setting], lower: Config) -> tuple[tuple[Setting, Widening], ...]:
    """Those settings of a project's file that need trust, given the configuration of the layers below.

    A server, a key and a model belong together: where one of them waits, all of the file's wait with it.
    """
    listed = tuple(settings)
    waiting = [setting for setting in listed if needs_trust(setting, lower)]
    if any(setting.key in _SERVER for setting in waiting):
        waiting += [setting for setting in listed if setting.key in _SERVER and setting not in waiting]
    return tuple((setting, as_widening(setting)) for setting in waiting)


def as_widening(setting: Setting) -> Widening:
    """The setting as it is shown before trust is asked for."""
    return Widening(
        key=setting.name,
        value=shown_value(setting.name, setting.value),
        where=setting.origin,
        fingerprint=hashlib.sha256(json.dumps([setting.name, setting.value]).encode("ascii")).hexdigest(),
    )


def grant_all(loaded: Loaded) -> None:
    """Trust the project with everything its file asks for now. Takes effect with the next `load`. Raises as `grant`."""
    Trust(loaded.home).grant(loaded.owner, (*loaded.trusted, *loaded.withheld))
    if any(value.key == MEMORY_KEY for value in loaded.withheld):
        accept_sessions(loaded.owner, loaded.home)


def should_ask(loaded: Loaded) -> bool:
    """Whether a person at the keyboard should be asked to trust the project: something waits and no was not said."""
    return bool(loaded.withheld) and not Trust(loaded.home).declined(loaded.owner, loaded.withheld)


def is_note_due(loaded: Loaded) -> bool:
    """Whether a run that cannot ask says what waits for trust: once a day, and whenever something else waits."""
    if loaded.config.incognito:
        return True
    return Trust(loaded.home).note_once_a_day(loaded.owner, loaded.withheld, time.strftime("%Y-%m-%d"))


def decline_all(loaded: Loaded) -> None:
    """Remember that the person said no, and ask again only when the file wants something else. Raises as `grant`."""
    Trust(loaded.home).decline(loaded.owner, loaded.withheld)


def remember_rule(loaded: Loaded, rule: str) -> None:
    """Store an "always" answer in the project's file, trusted from now on; other untrusted values stay untrusted.

    Raises ConfigError where the file cannot be changed.
    """
    from clio.config.yaml_edit import add_rule

    add_rule(project_config(loaded.owner), rule)
    Trust(loaded.home).add(loaded.owner, as_widening(Setting(key=("allow",), value=rule, origin="")))
