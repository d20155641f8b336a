"""API keys in the system's keyring, by the package `keyring`, which is imported only when a key is read or stored.

Each key belongs to one server: the name of a preset, or the host of an address. It is sent to no other.
"""

import threading
from collections.abc import Callable
from types import ModuleType

from clio.config.schema import KEYRING_KEY
from clio.errors import UserError
from clio.providers.key_command import KeyCommandFailed
from clio.text.translation import tr

_SERVICE = "clio"


class KeyringKey:
    """The key of one server in the keyring; for `Auth` the same as a `KeyCommand`.

    Args:
        account: the server, see `clio auth login`.
        variable: the environment variable that could contain the key instead, for messages.
        learn_secret: called with the key before it is used, so that it is redacted everywhere.
    """

    def __init__(self, account: str, variable: str, learn_secret: Callable[[str], None] = lambda _: None) -> None:
        self._account = account
        self._variable = variable
        self._learn_secret = learn_secret
        self._lock = threading.Lock()
        self._key = ""

    @property
    def program(self) -> str:
        """What prints the key, for messages."""
        return KEYRING_KEY

    def cached(self) -> str:
        """Return the key that was read before; "" if none was."""
        return self._key

    def read_key(self, refused: str = "", cancelled: threading.Event | None = None) -> str:
        """Return the key. Blocking: the keyring may ask the user to unlock it. Raises KeyCommandFailed.

        Args:
            refused: a key that a server has rejected, so that the keyring is read again.
            cancelled: has no effect: a keyring that waits for the user cannot be interrupted.
        """
        with self._lock:
            if self._key and self._key != refused:
                return self._key
            try:
                key = read_stored_key(self._account)
            except UserError as error:
                raise KeyCommandFailed(tr("{error}; or set {variable}", error=error, variable=self._variable)) from None
            if not key:
                raise KeyCommandFailed(
                    tr("the keyring has no key for {account}: run clio auth login {account}", account=self._account)
                )
            self._learn_secret(key)
            self._key = key
            return key


def read_stored_key(account: str) -> str:
    """Return the key of a server from the keyring; "" if it has none. Raises UserError if there is no keyring."""
    keyring = _import_keyring()
    return str(_call(keyring, lambda: keyring.get_password(_SERVICE, account)) or "").strip()


def store_key(account: str, key: str) -> None:
    """Store the key of a server in the keyring. Raises UserError."""
    keyring = _import_keyring()
    _call(keyring, lambda: keyring.set_password(_SERVICE, account, key))


def delete_key(account: str) -> None:
    """Remove the key of a server from the keyring. Raises UserError."""
    keyring = _import_keyring()
    _call(keyring, lambda: keyring.delete_password(_SERVICE, account))


def describe_keyring() -> str:
    """Return the name of the keyring in use, such as "SecretService Keyring". Raises UserError."""
    keyring = _import_keyring()
    return str(_call(keyring, lambda: keyring.get_keyring().name))


def is_recommended_keyring() -> bool:
    """Whether the package keyring recommends the one in use; others may store keys unencrypted. Raises UserError."""
    keyring = _import_keyring()
    return bool(_call(keyring, lambda: getattr(keyring.get_keyring(), "priority", 1) >= 1))


def _import_keyring() -> ModuleType:
    try:
        from importlib import import_module

        return import_module("keyring")
    except ImportError:
        raise UserError(
            tr("keys in the keyring need the package keyring: pip install 'clio-shell[keyring]' installs it")
        ) from None


def _call(keyring: ModuleType, work: Callable[[], object]) -> object:
    """Call the keyring; its errors become a sentence with the next step."""
    try:
        return work()
    except keyring.errors.NoKeyringError:
        raise UserError(
            tr(
                "no keyring is available, as on a machine without a desktop: use api_key_command "
                "or an environment variable"
            )
        ) from None
    except keyring.errors.KeyringError as error:
        raise UserError(
            tr(
                "the keyring did not answer: {error}; unlock it, and try again",
                error=str(error) or type(error).__name__,
            )
        ) from None


def check_key(text: str) -> str:
    """Return the key in a text. Raises UserError if it cannot be one."""
    key = text.strip()
    if not key or not (key.isascii() and key.isprintable()) or " " in key:
        raise UserError(tr("this is not a key: it is empty, or has blanks or other characters; nothing was stored"))
    return key
