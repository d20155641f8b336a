"""Through a proxy of the environment, with both transports: unencrypted, and with TLS inside the tunnel."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.providers.test_transport import DONE, EVENT, MODULES, events, failure, make
from tests.support.byte_server import CLOSE, ByteServer, sse

LOGIN = "Basic bWU6cCU="  # me:p%


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a self-signed certificate for models.test and its key, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("certificate")
    names = ["-subj", "/CN=models.test", "-addext", "subjectAltName=DNS:models.test"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([openssl, "req", *kind, *names, *files], check=True, capture_output=True, timeout=30)
    yield folder / "certificate.pem"


class Proxy:
    """A proxy that connects everything to one port, whatever name was requested. heads: the headers it received."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.heads: list[str] = []
        self._to = port

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            back.write(head)
        await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))

    @staticmethod
    async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(2**16):
                writer.write(data)
        writer.close()


@asynccontextmanager
async def proxied(port: int, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Proxy]:
    proxy = Proxy(port)
    async with asyncio.timeout(20), await asyncio.start_server(proxy.accept, "127.0.0.1", 0) as server:
        proxy.port = server.sockets[0].getsockname()[1]
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://me:p%25@127.0.0.1:{proxy.port}")
        yield proxy


@pytest.mark.parametrize("kind", list(MODULES))
def test_tls_through_a_tunnel(kind: str, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    large = b'data: {"x": "' + b"x" * 1_000_000 + b'"}\n\n'

    async def main() -> None:
        async with (
            ByteServer([sse(EVENT, DONE), sse(large, DONE), [CLOSE]], tls=context) as server,
            proxied(server.port, monkeypatch) as proxy,
        ):
            transport = make(kind, "https://models.test/v1")
            assert await events(transport, b" " * 1_000_000) == [{"n": 1}]
            assert await events(transport) == [{"x": "x" * 1_000_000}]
            assert (server.connections, len(proxy.heads)) == (1, 1)
            assert proxy.heads[0].startswith("CONNECT models.test:443 HTTP/1.1\r\n")
            assert LOGIN in proxy.heads[0]
            assert "sk-test" not in proxy.heads[0]
            assert b"proxy-authorization" not in server.requests[0].lower()
            await transport.close()
            other = make(kind, "https://other.test/v1")
            assert (await failure(events(other))).kind == "tls"  # the certificate is not for that name
            await other.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", list(MODULES))
def test_unencrypted_requests_through_the_proxy(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> Any:
        async with ByteServer([sse(EVENT, DONE)]) as server, proxied(server.port, monkeypatch) as proxy:
            transport = make(kind, "http://models.test:81/v1")
            assert await events(transport) == [{"n": 1}]
            await transport.close()
            head = proxy.heads[0]
            assert head.startswith("POST http://models.test:81/v1/chat/completions HTTP/1.1\r\n")
            assert "host: models.test:81\r\n" in head.lower()
            assert LOGIN in head

    asyncio.run(main())


@pytest.mark.parametrize("kind", list(MODULES))
@pytest.mark.parametrize("message", [b"HTTP/1.1 407 Who are you\r\n\r\n", b"", b"SSH-2.0\r\n"])
def test_a_proxy_that_refuses_is_named(kind: str, message: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> str:
        async with ByteServer([[message, CLOSE]]) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
            transport = make(kind, "https://models.test/v1")
            try:
                return (await failure(events(transport))).kind
            finally:
                await transport.close()

    assert asyncio.run(main()) in ("proxy", "timeout" if kind == "openai" else "")
