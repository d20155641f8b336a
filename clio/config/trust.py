"""Which values of a project's configuration the person has agreed to.

A cloned repository brings its own `.clio/config.yaml`. Whatever in it would widen approvals, weaken redaction or change
where data goes stays without effect until the person trusts the folder with exactly these values. Trust is remembered
for each value, as a hash of key and value: a value that changes is asked about again, the others stay trusted.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clio.config.loaded import Loaded, Widening
from clio.config.own_memory import KEY as MEMORY_KEY
from clio.config.own_memory import accept_sessions
from clio.config.paths import project_config
from clio.config.project_rules import needs_trust
from clio.config.schema import Config
from clio.config.secrets import shown_value
from clio.config.setting import Setting
from clio.errors import ClioError, ConfigError, NewerDocument
from clio.storage.documents import Format, decode, update
from clio.storage.files import read_regular
from clio.storage.locks import next_step, reason

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
    from clio.config.yaml_rules import add_rule

    add_rule(project_config(loaded.owner), rule)
    Trust(loaded.home).add(loaded.owner, as_widening(Setting(key=("allow",), value=rule, origin="")))
