"""A server with an untrusted certificate, until the user trusts it."""

import asyncio
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.config.schema import Config, TransportKind
from clio.errors import ServerFailed
from clio.messages import UserMessage
from clio.providers import http1
from clio.providers.base import ChatRequest, Chunk
from clio.providers.registry import make_provider

ANSWER = b'{"choices":[{"message":{"content":"trusted"},"finish_reason":"stop"}]}'


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Return a self-signed certificate for 127.0.0.1 and its key, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem")]
    subprocess.run([openssl, "req", *kind, *names, *files], check=True, capture_output=True, timeout=30)
    return tmp_path / "certificate.pem"


@pytest.fixture
def secure_port(certificate: Path) -> Iterator[int]:
    """Run a TLS server that answers every request with `ANSWER`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    loop = asyncio.new_event_loop()

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n"
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + ANSWER)
        await writer.drain()
        writer.close()

    server = loop.run_until_complete(asyncio.start_server(reply, "127.0.0.1", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield server.sockets[0].getsockname()[1]
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


@pytest.fixture(params=["lean", "openai"])
def kind(request: pytest.FixtureRequest) -> TransportKind:
    return request.param


def ask(port: int, kind: TransportKind) -> list[Chunk]:
    provider = make_provider(Config(base_url=f"https://127.0.0.1:{port}/v1", model="m", transport=kind), {})
    request = ChatRequest(system="", messages=(UserMessage(content="hi"),))

    async def main() -> list[Chunk]:
        try:
            return [chunk async for chunk in provider.stream(request)]
        finally:
            await provider.close()

    return asyncio.run(main())


@pytest.mark.parametrize("platform", ["darwin", "win32"])
@pytest.mark.parametrize("known", [True, False])
def test_the_system_verifies_certificates_if_they_are_not_in_files(
    secure_port: int, certificate: Path, platform: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    truststore = pytest.importorskip("truststore")
    make = http1.make_tls_context

    def context() -> ssl.SSLContext:
        made = make(platform)
        assert isinstance(made, truststore.SSLContext)
        if known:
            made.load_verify_locations(certificate)
        return made

    monkeypatch.setattr(http1, "make_tls_context", context)
    if known:
        assert "".join(chunk.text for chunk in ask(secure_port, "lean")) == "trusted"
        return
    with pytest.raises(ServerFailed, match="secure connection to https"):
        ask(secure_port, "lean")


def test_an_unknown_certificate_is_an_error(secure_port: int, kind: TransportKind) -> None:
    with pytest.raises(ServerFailed, match=r"secure connection to https.*SSL_CERT_FILE") as caught:
        ask(secure_port, kind)
    assert not caught.value.retryable


def test_the_advice_of_the_error_works(
    secure_port: int, certificate: Path, kind: TransportKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert ask(secure_port, kind)[0].text == "trusted"
