"""What the user has decided about a project: which of its values to trust, and how they are asked about."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clio.config.loaded import LoadedConfig, TrustRequest
from clio.config.memory_seal import PROJECT_MEMORY_KEY, accept_sessions
from clio.config.paths import project_config
from clio.config.project_rules import needs_trust
from clio.config.schema import Config, Setting
from clio.errors import ClioError, ConfigError, NewerDocument
from clio.storage.documents import DocumentFormat, decode_document, update_document
from clio.storage.files import read_regular
from clio.storage.locks import error_reason, suggest_fix
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

_PASSWORD = LazyRegex(r"(?<=://)[^/@\s]*@")
_SECRET_QUERY = LazyRegex(r"([?&][^=&#]*(?:key|token|secret|password|auth)[^=&#]*=)[^&#]+", re.IGNORECASE)
_MAX_VALUE_CHARS = 200
_MAX_ASKED_CHARS = 20_000


def mask_secrets(name: str, value: str) -> str:
    """Return the text of a setting with secrets masked: of a key at most the last four characters remain."""
    if name == "api_key" and value != "keyring":
        return "…" + value[-4:] if len(value) >= 16 else "…"
    if name.rpartition(".")[2] == "api_key_command":
        return value.split(maxsplit=1)[0] + (" …" if len(value.split()) > 1 else "")
    if name in ("base_url", "embedding_base_url"):
        return _SECRET_QUERY.sub(r"\1…", _PASSWORD.sub("…@", value))
    return value


def format_value(name: str, value: object) -> str:
    """Format a value on one line as YAML does; text is quoted only if necessary."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    return _quote_if_necessary(truncate(mask_secrets(name, value), _MAX_VALUE_CHARS))


def format_asked_value(name: str, value: object) -> str:
    """Format a value on one line for the question whether the user trusts it: the whole value.

    What is left out could be what the user would not have agreed to: the end of a long command, for example.
    """
    if not isinstance(value, str):
        return format_value(name, value)
    return shorten_asked_text(_quote_if_necessary(mask_secrets(name, value)))


def shorten_asked_text(text: str) -> str:
    """Return a text for such a question; one that no one would read to its end says so at its end."""
    if len(text) <= _MAX_ASKED_CHARS:
        return text
    left_out = len(text) - _MAX_ASKED_CHARS
    return text[:_MAX_ASKED_CHARS] + tr(
        "… ({count:,} more characters that are not shown: read the file before you agree)", count=left_out
    )


def _quote_if_necessary(text: str) -> str:
    return text if text.isprintable() and text.strip() == text and text else json.dumps(text)


_SKILLS_KEY_PREFIX = "skills:"
"""Prefix of the keys in `noted` for skills: their value is removed or replaced only when the waiting skills change."""
_SERVER_KEYS = frozenset((("provider",), ("base_url",), ("api_key",), ("model",)))


class TrustDocument(Struct, frozen=True, kw_only=True):
    """For each project's path, the fingerprints of trusted and of declined values.

    noted: the day on which a one-shot run reported what waits for trust, and a fingerprint of it; of today only,
    except for skills, which are reported again when they change.
    """

    projects: dict[str, tuple[str, ...]] = {}
    declined: dict[str, tuple[str, ...]] = {}
    noted: dict[str, str] = {}


TRUST_FORMAT = DocumentFormat(schema="clio.trusted", version=1, type=TrustDocument)


class TrustStore:
    """The user's decisions, stored in `trusted.json` in clio's home directory."""

    def __init__(self, home: Path) -> None:
        self.path = home / "trusted.json"

    def covers(self, project: Path, values: Iterable[TrustRequest]) -> bool:
        """Whether the project is trusted with all of these values."""
        return {value.fingerprint for value in values} <= self.fingerprints(project)

    def fingerprints(self, project: Path) -> frozenset[str]:
        """Return the fingerprints of trusted values; empty if the file is missing, damaged or from a newer clio."""
        return frozenset(self._read().projects.get(str(project), ()))

    def has_declined(self, project: Path, values: Iterable[TrustRequest]) -> bool:
        """Whether the user has declined all of these values before, so that they are not asked about again."""
        return {value.fingerprint for value in values} <= set(self._read().declined.get(str(project), ()))

    def describe_damage(self) -> str | None:
        """Describe what is wrong with the file, in which case no project is trusted; None if it is valid."""
        try:
            decode_document(read_regular(self.path), TRUST_FORMAT, self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return tr("cannot be read: {strerror}", strerror=error.strerror)
        except NewerDocument:
            return tr("is from a newer clio")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return tr("is damaged ({error})", error=error)
        return None

    def grant(self, project: Path, values: Iterable[TrustRequest]) -> None:
        """Trust the project with exactly these values: earlier ones that are not among them are revoked.

        A fingerprint with a kind before a colon always stays, because it does not belong to a configuration value.
        Raises ConfigError if the decision cannot be stored, CorruptDocument or NewerDocument.
        """
        self._store(project, frozenset(value.fingerprint for value in values), keep=False)

    def add(self, project: Path, value: TrustRequest) -> None:
        """Trust the project with one more value. Raises as `grant`."""
        self._store(project, frozenset((value.fingerprint,)), keep=True)

    def add_all(self, project: Path, values: Iterable[TrustRequest]) -> None:
        """Trust the project with these values as well. Raises as `grant`."""
        self._store(project, frozenset(value.fingerprint for value in values), keep=True)

    def decline(self, project: Path, values: Iterable[TrustRequest]) -> None:
        """Remember that the user declined these values. Raises as `grant`."""
        fingerprints = tuple(sorted(value.fingerprint for value in values))
        self._update(lambda old: replace(old, declined=old.declined | {str(project): fingerprints}))

    def note_once_a_day(self, project: Path, values: Iterable[TrustRequest], today: str) -> bool:
        """Whether to report now that these values wait: not if the same was reported today. Records the report.

        If that cannot be recorded, it is reported every time.
        """
        digest = hashlib.sha256("\n".join(sorted(value.fingerprint for value in values)).encode()).hexdigest()
        entry = f"{today} {digest}"
        if self._read().noted.get(str(project)) == entry:
            return False

        def change(old: TrustDocument) -> TrustDocument:
            remaining = {
                key: value
                for key, value in old.noted.items()
                if key.startswith(_SKILLS_KEY_PREFIX) or value.startswith(f"{today} ")
            }
            return replace(old, noted=remaining | {str(project): entry})

        if self.describe_damage() is None:
            with suppress(ClioError, TimeoutError):
                self._update(change)
        return True

    def note_skills_once(self, project: Path, values: Iterable[TrustRequest]) -> bool:
        """Whether to report that these skills wait for trust: not if the same was reported before. Records the report.

        If that cannot be recorded, it is reported every time.
        """
        key = f"{_SKILLS_KEY_PREFIX}{project}"
        digest = hashlib.sha256("\n".join(sorted(value.fingerprint for value in values)).encode()).hexdigest()
        if self._read().noted.get(key) == digest:
            return False
        if self.describe_damage() is None:
            with suppress(ClioError, TimeoutError):
                self._update(lambda old: replace(old, noted=old.noted | {key: digest}))
        return True

    def _store(self, project: Path, granted: frozenset[str], *, keep: bool) -> None:
        def change(old: TrustDocument) -> TrustDocument:
            before = frozenset(old.projects.get(str(project), ()))
            # Marks with a kind, such as "skill:…", are decided one by one and not with the settings.
            remaining = before if keep else {fingerprint for fingerprint in before if ":" in fingerprint}
            return replace(old, projects=old.projects | {str(project): tuple(sorted(remaining | granted))})

        self._update(change)

    def _read(self) -> TrustDocument:
        try:
            return decode_document(read_regular(self.path), TRUST_FORMAT, self.path).value
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, NewerDocument):
            return TrustDocument()

    def _update(self, change: Callable[[TrustDocument], TrustDocument]) -> None:
        try:
            update_document(self.path, TRUST_FORMAT, change)
        except OSError as error:
            raise ConfigError(
                tr(
                    "the trust decision cannot be saved in {path}: {error_reason}; {suggest_fix}",
                    path=self.path,
                    error_reason=error_reason(error),
                    suggest_fix=suggest_fix(error),
                )
            ) from None


def find_trust_requests(settings: Iterable[Setting], lower: Config) -> tuple[tuple[Setting, TrustRequest], ...]:
    """Return those settings of a project's file that need trust, given the configuration of the layers below.

    A server, its key and its model belong together: if one of them waits, all of the file's wait.
    """
    listed = tuple(settings)
    waiting = [setting for setting in listed if needs_trust(setting, lower)]
    if any(setting.key in _SERVER_KEYS for setting in waiting):
        # A key must not be sent to another server than the one it was given with.
        waiting += [setting for setting in listed if setting.key in _SERVER_KEYS and setting not in waiting]
    return tuple((setting, make_setting_trust_request(setting)) for setting in waiting)


def make_setting_trust_request(setting: Setting) -> TrustRequest:
    """Return the setting in the form in which the user is asked to trust it."""
    return TrustRequest(
        key=setting.name,
        value=format_asked_value(setting.name, setting.value),
        where=setting.origin,
        fingerprint=hashlib.sha256(json.dumps([setting.name, setting.value]).encode("ascii")).hexdigest(),
    )


def trust_project(loaded: LoadedConfig) -> None:
    """Trust the project with everything its file requests now. Takes effect with the next `load_config`.

    Raises as `TrustStore.grant`.
    """
    TrustStore(loaded.home).grant(loaded.main_project, (*loaded.trusted, *loaded.withheld))
    if any(value.key == PROJECT_MEMORY_KEY for value in loaded.withheld):
        accept_sessions(loaded.main_project, loaded.home)


def should_ask_for_trust(loaded: LoadedConfig) -> bool:
    """Whether an interactive user should be asked to trust the project: something waits that was not declined."""
    return bool(loaded.withheld) and not TrustStore(loaded.home).has_declined(loaded.main_project, loaded.withheld)


def is_trust_note_due(loaded: LoadedConfig) -> bool:
    """Whether a run that cannot ask reports what waits for trust: once a day, and whenever something else waits."""
    if loaded.config.incognito:
        return True
    return TrustStore(loaded.home).note_once_a_day(loaded.main_project, loaded.withheld, time.strftime("%Y-%m-%d"))


def decline_project(loaded: LoadedConfig) -> None:
    """Remember that the user declined; the question returns only if the file requests something else. Raises as
    `grant`.
    """
    TrustStore(loaded.home).decline(loaded.main_project, loaded.withheld)


def store_allow_rule(loaded: LoadedConfig, rule: str) -> None:
    """Store an "always" answer in the project's file and trust it; other untrusted values stay untrusted.

    Raises ConfigError if the file cannot be changed.
    """
    from clio.config.yaml_edit import store_rule

    store_rule(project_config(loaded.main_project), rule)
    TrustStore(loaded.home).add(
        loaded.main_project, make_setting_trust_request(Setting(key=("allow",), value=rule, origin=""))
    )
