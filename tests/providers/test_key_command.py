"""A command that prints the API key: run on demand, cached for a time, repeated after a refusal."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from clio.config.schema import Config
from clio.errors import ConfigError, ProviderRefused
from clio.messages import UserMessage
from clio.providers.base import ChatRequest, Provider
from clio.providers.key_command import KeyCommand, KeyCommandFailed
from clio.providers.registry import make_provider
from tests.support.chat_server import ChatServer, Reply, error, text
from tests.support.waiting import wait_until_async

SECRET = "tok-4711-first-of-them"


def script(folder: Path, body: str) -> str:
    """Return a command that runs Python code with `count` as the number of its run, from 1."""
    path = folder / "print key.py"
    count = folder / "runs"
    path.write_text(
        "import sys, time, pathlib\n"
        f"runs = pathlib.Path({str(count)!r})\n"
        "count = len(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text('x' * count)\n" + body
    )
    return f'"{sys.executable}" "{path}" --account "{SECRET}-argument"'


def runs(folder: Path) -> int:
    path = folder / "runs"
    return len(path.read_text()) if path.exists() else 0


def ask(provider: Provider, times: int = 1) -> list[str]:
    request = ChatRequest(system="", messages=(UserMessage(content="hi"),), max_output_tokens=9)

    async def main() -> list[str]:
        try:
            return ["".join([chunk.text async for chunk in provider.stream(request)]) for _ in range(times)]
        finally:
            await provider.close()

    return asyncio.run(main())


def make(server: ChatServer, command: str, learn: Any = lambda _: None, **config: Any) -> Provider:
    settings = Config(base_url=server.url, model="m", context_window=9_000, api_key_command=command, **config)
    return make_provider(settings, {}, learn_secret=learn)


def test_the_key_is_sent_and_the_command_runs_once_for_many_requests(tmp_path: Path) -> None:
    command = script(tmp_path, f"print({SECRET!r})")
    learned: list[str] = []
    with ChatServer([text("a"), text("b"), text("c")]) as server:
        assert ask(make(server, command, learned.append), times=2) == ["a", "b"]
        assert ask(make(server, command)) == ["c"]  # another provider in the same process
        sent = {request.headers["authorization"] for request in server.requests if request.method == "POST"}
    assert sent == {f"Bearer {SECRET}"}
    assert set(learned) == {SECRET}
    assert runs(tmp_path) == 1


def test_nothing_runs_before_a_request_needs_the_key(tmp_path: Path) -> None:
    with ChatServer([]) as server:
        make(server, script(tmp_path, "print('k')"))
    assert runs(tmp_path) == 0


def test_a_key_is_used_for_its_lifetime(tmp_path: Path) -> None:
    clock = [100.0]
    command = KeyCommand(script(tmp_path, "print(f'key-{count}')"), {}, ttl_s=60, now=lambda: clock[0])
    assert command.read_key() == "key-1"
    clock[0] += 59
    assert command.cached() == "key-1"
    clock[0] += 2
    assert command.cached() == ""
    assert command.read_key() == "key-2"


def _accepts(key: str) -> Any:
    """Return a server that accepts requests with the key and answers others with 401."""

    class Server(ChatServer):
        def _choose(self, request: Any) -> Reply:
            if request.method == "POST" and request.headers.get("authorization") != f"Bearer {key}":
                self.requests.append(request)
                return error(401)
            return super()._choose(request)

    return Server


def test_an_expired_token_is_refreshed_once(tmp_path: Path) -> None:
    with _accepts("key-2")([text("here")]) as server:
        assert ask(make(server, script(tmp_path, "print(f'key-{count}')"))) == ["here"]
        posts = [request.headers["authorization"] for request in server.requests if request.method == "POST"]
    assert posts == ["Bearer key-1", "Bearer key-2"]


def test_a_token_refused_twice_ends_the_request(tmp_path: Path) -> None:
    with _accepts("key-9")([]) as server, pytest.raises(ProviderRefused, match="api_key_command") as caught:
        ask(make(server, script(tmp_path, "print(f'key-{count}')")))
    assert runs(tmp_path) == 2
    assert caught.value.exit_code == 2


def test_a_command_that_fails_when_repeated_is_reported(tmp_path: Path) -> None:
    command = script(tmp_path, "sys.exit(7) if count > 1 else print('key-1')")
    with _accepts("key-2")([]) as server, pytest.raises(ProviderRefused, match="code 7"):
        ask(make(server, command))
    assert runs(tmp_path) == 2


def test_an_expired_token_does_not_prevent_reading_the_window_size(tmp_path: Path) -> None:
    class Server(ChatServer):
        def _choose(self, request: Any) -> Reply:
            if request.headers.get("authorization") != "Bearer key-2":
                return error(401)
            return super()._choose(request)

    async def window(provider: Provider) -> int:
        limits = await provider.limits()
        await provider.close()
        return limits.context_window

    with Server([], models=[{"id": "m", "context_length": 12_345}]) as server:
        settings = Config(base_url=server.url, model="m", api_key_command=script(tmp_path, "print(f'key-{count}')"))
        assert asyncio.run(window(make_provider(settings, {}))) == 12_345


def test_the_same_key_printed_again_is_not_sent_again(tmp_path: Path) -> None:
    with _accepts("other")([]) as server:
        with pytest.raises(ProviderRefused, match=r"API key rejected .*api_key_command"):
            ask(make(server, script(tmp_path, "print('always the same')".replace(" the ", "-"))))
        assert len([request for request in server.requests if request.method == "POST"]) <= 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"print({SECRET!r}); sys.stderr.write({SECRET!r}); sys.exit(3)", "exited with code 3"),
        ("pass", "printed nothing"),
        (f"print('two {SECRET}')", "printed something that is not a key"),
        (f"print('one'); print({SECRET!r})", "printed something that is not a key"),
        ("print('k\\x1b[31m')", "printed something that is not a key"),
    ],
)
def test_a_failure_names_the_program_and_not_its_output(tmp_path: Path, body: str, words: str) -> None:
    with ChatServer([]) as server, pytest.raises(ProviderRefused) as caught:
        ask(make(server, script(tmp_path, body)))
    message = str(caught.value)
    assert words in message
    assert Path(sys.executable).name in message
    assert SECRET not in message
    assert "\n" not in message
    assert caught.value.exit_code == 2


def test_a_missing_program_is_reported() -> None:
    with ChatServer([]) as server, pytest.raises(ProviderRefused, match=r"program .no-such-program. not found"):
        ask(make(server, "no-such-program --print"))


@pytest.mark.parametrize("command", ["op read 'unclosed", "   "])
def test_an_invalid_command_line_is_reported(command: str) -> None:
    with ChatServer([]) as server, pytest.raises(ConfigError, match="api_key_command"):
        make(server, command)


def test_the_command_is_not_interpreted_by_a_shell(tmp_path: Path) -> None:
    command = (
        f'"{sys.executable}" -c "import sys; print(len(sys.argv))" $(touch {tmp_path}/made) ; echo x > {tmp_path}/m'
    )
    assert KeyCommand(command, {}).read_key() == "8"
    assert list(tmp_path.iterdir()) == []


def hanging_script(folder: Path) -> str:
    """Return a command that runs for 60 seconds, and then creates a file named "ended"."""
    return script(folder, f"time.sleep(60); pathlib.Path({str(folder / 'ended')!r}).touch()")


def test_a_hanging_command_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.providers.key_command.TIME_LIMIT_S", 0.3)
    with pytest.raises(KeyCommandFailed) as caught:
        KeyCommand(hanging_script(tmp_path), {}).read_key()
    assert "did not finish" in caught.value.failure.detail
    assert not (tmp_path / "ended").exists()


def test_a_cancelled_request_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.providers.key_command.TIME_LIMIT_S", 3_600)

    async def main(provider: Provider) -> None:
        request = ChatRequest(system="", messages=(UserMessage(content="hi"),), max_output_tokens=9)

        async def consume() -> None:
            async for _ in provider.stream(request):
                pass

        task = asyncio.create_task(consume())
        await wait_until_async(lambda: runs(tmp_path))
        task.cancel()
        await asyncio.wait({task})

    with ChatServer([]) as server:
        asyncio.run(main(make(server, hanging_script(tmp_path))))  # which waits for its threads
    assert not (tmp_path / "ended").exists()


def test_a_call_cancelled_while_its_command_starts_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.providers.key_command.TIME_LIMIT_S", 3_600)
    cancelled = threading.Event()
    real_popen = subprocess.Popen

    def popen(*args: Any, **options: Any) -> "subprocess.Popen[bytes]":
        process = real_popen(*args, **options)
        cancelled.set()
        return process

    monkeypatch.setattr("clio.providers.key_command.subprocess.Popen", popen)
    with pytest.raises(KeyCommandFailed):
        KeyCommand(hanging_script(tmp_path), {}).read_key("", cancelled)
    assert not (tmp_path / "ended").exists()


def test_a_call_cancelled_while_it_waits_for_another_runs_nothing(tmp_path: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(KeyCommandFailed):
        KeyCommand(script(tmp_path, "print('k')"), {}).read_key("", cancelled)
    assert runs(tmp_path) == 0


def test_a_key_and_a_key_command_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="remove one of them"):
        make_provider(Config(provider="openai", api_key="k", api_key_command="op read x"), {})


def test_the_openai_package_sends_it_too(tmp_path: Path) -> None:
    with _accepts("key-2")([text("here")]) as server:
        assert ask(make(server, script(tmp_path, "print(f'key-{count}')"), transport="openai")) == ["here"]
