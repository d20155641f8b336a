"""API keys in the keyring: a real keyring package with a backend that stores them in a file."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.chat_server import ChatServer, text

pytest.importorskip("keyring", reason="needs the package keyring")
KEY = "sk-Zk3v9QmT7xLr2Wc8Yb5Nf1Hs6Gd4Jp0AeUi"
BACKEND = """
import json, pathlib
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

FILE = pathlib.Path(__file__).with_name("keys.json")

class FileKeyring(KeyringBackend):
    priority = 1
    def _read(self):
        return json.loads(FILE.read_text()) if FILE.exists() else {}
    def get_password(self, service, username):
        return self._read().get(f"{service}/{username}")
    def set_password(self, service, username, password):
        FILE.write_text(json.dumps(self._read() | {f"{service}/{username}": password}))
    def delete_password(self, service, username):
        keys = self._read()
        if keys.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("no such key")
        FILE.write_text(json.dumps(keys))
"""


class Place:
    """A user with a keyring in a file."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        (root / "file_keyring.py").write_text(BACKEND)
        self.keys = root / "keys.json"
        self.env = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env |= {"HOME": str(root), "CLIO_HOME": str(root / "home"), "PYTHONPATH": str(root)}
        self.env["PYTHON_KEYRING_BACKEND"] = "file_keyring.FileKeyring"

    def clio(self, *words: str, input: str = "", **more: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "clio", *words],
            cwd=self.project,
            env=self.env | more,
            input=input,
            capture_output=True,
            text=True,
            timeout=100,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_key_is_stored_sent_to_its_server_only_and_removed(place: Place) -> None:
    code, output = place.clio("auth", "login", "127.0.0.1", input=f"{KEY}\n")
    assert code == 0 and KEY not in output and KEY in place.keys.read_text() and "warning" not in output
    assert place.clio("config", "set", "api_key", "keyring")[0] == 0
    with ChatServer([text("Done.")]) as server:
        code, output = place.clio("-p", "hi", "--model", "m", OPENAI_BASE_URL=server.url)
        assert code == 0 and "Done." in output
        assert server.requests[0].headers.get("authorization") == f"Bearer {KEY}"
    code, output = place.clio("-p", "hi", "--model", "m", "--provider", "openai", OPENAI_API_KEY="")
    assert code != 0 and "clio auth login openai" in output and KEY not in output
    assert place.clio("auth", "logout", "127.0.0.1")[0] == 0 and KEY not in place.keys.read_text()
    assert place.clio("auth", "logout", "127.0.0.1")[0] != 0


def test_without_a_keyring_the_next_step_is_named(place: Place) -> None:
    headless = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    code, output = place.clio("auth", "login", "openai", input=f"{KEY}\n", **headless)
    assert code != 0 and "api_key_command" in output and KEY not in output
    place.clio("config", "set", "api_key", "keyring")
    code, output = place.clio("-p", "hi", "--model", "m", "--provider", "openai", **headless)
    assert code != 0 and "OPENAI_API_KEY" in output


def test_an_unsafe_keyring_is_named(place: Place) -> None:
    (place.project.parent / "plain_keyring.py").write_text(BACKEND.replace("priority = 1", "priority = 0.5"))
    plain = {"PYTHON_KEYRING_BACKEND": "plain_keyring.FileKeyring"}
    code, output = place.clio("auth", "login", "openai", input=f"{KEY}\n", **plain)
    assert code == 0 and "may store keys unencrypted" in output


def test_what_is_not_a_key_or_a_server_is_refused(place: Place) -> None:
    for words, given in ((("login", "openai"), "two words\n"), (("login", "openai"), "\n"), (("login", "opnai"), KEY)):
        assert place.clio("auth", *words, input=given)[0] != 0
    assert not place.keys.exists()


def test_the_word_keyring_is_no_secret(place: Place) -> None:
    from clio.config.schema import Config
    from clio.security.redaction.redactor import build_redactor

    assert build_redactor(Config(api_key="keyring"), {}).redact("my keyring is locked").text == "my keyring is locked"


def test_the_keyring_is_read_again_after_a_refused_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from clio.providers import keyring_key
    from clio.providers.auth import Auth

    stored = iter(["old-key", "new-key"])
    monkeypatch.setattr(keyring_key, "read_stored_key", lambda account: next(stored))
    learned: list[str] = []
    auth = Auth("", command=keyring_key.KeyringKey("openai", "OPENAI_API_KEY", learned.append))

    async def main() -> None:
        assert (await auth.headers())["Authorization"] == "Bearer old-key"
        assert await auth.renew_key()
        assert (await auth.headers())["Authorization"] == "Bearer new-key"

    asyncio.run(main())
    assert learned == ["old-key", "new-key"]
