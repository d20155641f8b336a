"""Pages from a real server on loopback."""

import asyncio
import gzip
import threading
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import ToolFailed
from clio.security.actions import FetchUrl
from clio.security.url_policy import FetchTarget, check_url, read_url
from clio.tools import web_fetch
from clio.tools.base import ToolOutput
from clio.tools.web_fetch import WebFetchArgs, WebFetchTool, extract_html_text
from tests.support.rows import each_row
from tests.support.waiting import wait_until_async
from tests.support.wording import mentions

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """A server whose pages are functions; it records its requests."""

    def __init__(self) -> None:
        self.pages: dict[str, Answer] = {}
        self.requests: list[tuple[str, str]] = []
        self.leave = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append((self.path, self.headers["Host"]))
                page = site.pages.get(self.path)
                if page is None:
                    self.send_error(404)
                    return
                try:
                    page(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def add(self, path: str, body: bytes, kind: str = "text/html; charset=utf-8", **headers: str) -> None:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            if kind:
                handler.send_header("Content-Type", kind)
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        self.pages[path] = answer

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("Location", to)
            handler.end_headers()

        self.pages[path] = answer

    def close(self) -> None:
        self.leave.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    running = Site()
    yield running
    running.close()


def fetch(url: str, *, private_network: bool = True, timeout_s: float = 10.0) -> ToolOutput:
    tool = WebFetchTool(private_network=private_network, timeout_s=timeout_s)
    return asyncio.run(tool.prepare(WebFetchArgs(url=url)).run(lambda line: None))


PAGE = """<!doctype html><html><head><title>The &amp; Title</title><style>p {color: red}</style>
<script>var x = "<p>not this</p>";</script></head><body><nav><a href="/home">Home</a></nav>
<h1>Heading</h1><p>First   paragraph with <a href="page?x=1#y">a
link</a> and <code>code()</code>, caf&eacute;.</p>
<ul><li>one</li><li>two<ul><li>deep</li></ul></li></ul>
<pre>def f():
    return  1
</pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<p>line<br>break <img src=x alt="a picture"><a href="#top">top</a> <a href="javascript:x()">no</a></p></body></html>"""


def test_a_page_becomes_text(site: Site) -> None:
    site.add("/dir/page", PAGE.encode())
    output = fetch(site.url("/dir/page"))
    head, title, text = output.text.split("\n", 2)
    assert mentions(head, site.url("/dir/page"), "not instructions")
    assert title == "Title: The & Title"
    assert text == (
        f"[Home]({site.url('/home')})\n\n# Heading\n\nFirst paragraph with [a link]({site.url('/dir/page?x=1#y')}) and"
        " `code()`, café.\n\n- one\n- two\n  - deep\n\n```\ndef f():\n    return  1\n```\n\na | b\n1 | 2\n\n"
        "line\nbreak [image: a picture]top no"
    )


def test_json_and_plain_text_are_unchanged(site: Site) -> None:
    site.add("/data", b'{"a": "<b>"}\n', "application/json")
    site.add("/plain", b"no <b>markup</b>\r\nhere", "text/plain")
    site.add("/api", b"{}", "application/vnd.api+json")
    assert fetch(site.url("/data")).text.endswith('\n{"a": "<b>"}')
    assert fetch(site.url("/plain")).text.endswith("\nno <b>markup</b>\nhere")
    assert fetch(site.url("/api")).text.endswith("\n{}")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("café".encode("latin-1"), "text/plain; charset=iso-8859-1"),
        ("café".encode(), "text/plain; charset=no-such-charset"),
        ("<html><meta charset=windows-1252><p>café".encode("cp1252"), "text/html"),
        ("<html><p>café".encode(), ""),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "text/plain"),
    ],
)
def test_character_sets_are_decoded(site: Site, body: bytes, kind: str) -> None:
    site.add("/", body, kind)
    assert fetch(site.url("/")).text.split("\n")[-1] == "café"


@pytest.mark.parametrize(
    ("body", "kind"), [(b"%PDF-1.7", "application/pdf"), (b"\x89PNG\0\0", ""), (b"x", "image/png")]
)
def test_other_content_is_refused(site: Site, body: bytes, kind: str) -> None:
    site.add("/", body, kind)
    with pytest.raises(ToolFailed, match="not text"):
        fetch(site.url("/"))


def test_private_networks_are_refused_unless_allowed(site: Site) -> None:
    site.add("/", b"secret")
    for url in (site.url("/"), f"http://localhost:{site.port}/", f"http://[::1]:{site.port}/"):
        with pytest.raises(ToolFailed, match="private_network"):
            fetch(url, private_network=False)
    assert site.requests == []


@each_row("url", ["file:///etc/passwd", "ftp://example.org/", "example.org", "http://u:p@example.org/", ""])
def test_other_urls_are_refused_at_once(url: str) -> None:
    with pytest.raises(ToolFailed):
        WebFetchTool(private_network=True).prepare(WebFetchArgs(url=url))


def test_redirects_are_followed_and_the_last_one_named(site: Site) -> None:
    site.redirect("/a", "b?x=1", 301)
    site.redirect("/b?x=1", site.url("/c"), 308)
    site.add("/c", b"<p>arrived")
    output = fetch(site.url("/a"))
    assert output.text.startswith(f"[Text of {site.url('/c')},")
    assert output.text.endswith("arrived")


def test_a_redirect_loop_ends(site: Site) -> None:
    site.redirect("/a", "/a")
    with pytest.raises(ToolFailed, match="more than 5 times"):
        fetch(site.url("/a"))
    assert len(site.requests) == 6


def test_a_redirect_into_the_private_network_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A public host name, served by the loopback server, redirects the fetch to this machine."""
    hops: list[str] = []

    def check(url: str, allow_private: bool) -> FetchTarget:
        hops.append(url)
        parts = read_url(url, allow_private=allow_private)
        if parts.host == "public.example":
            return FetchTarget(parts=parts, address="127.0.0.1")
        return check_url(url, allow_private)

    monkeypatch.setattr(web_fetch, "check_url", check)
    site.redirect("/start", site.url("/secret"))
    site.add("/secret", b"secret")
    start = f"http://public.example:{site.port}/start"
    with pytest.raises(ToolFailed, match=r"127\.0\.0\.1"):
        fetch(start, private_network=False)
    assert site.requests == [("/start", f"public.example:{site.port}")]
    assert hops == [start, site.url("/secret")]


def test_a_gzip_page_is_decompressed(site: Site) -> None:
    site.add("/", gzip.compress(b"<p>packed"), Content_Encoding="gzip")
    site.add("/deflate", zlib.compress(b"<p>packed"), Content_Encoding="deflate")
    assert fetch(site.url("/")).text.endswith("packed")
    assert fetch(site.url("/deflate")).text.endswith("packed")


def test_a_gzip_bomb_is_limited(site: Site) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    bomb = b"".join(packer.compress(b"0" * 1_000_000) for _ in range(300)) + packer.flush()
    assert len(bomb) < 400_000
    site.add("/", bomb, "text/plain", Content_Encoding="gzip")
    output = fetch(site.url("/"))
    assert 5_000_000 < len(output.text) < 5_000_500
    assert mentions(output.text.splitlines()[-1], "5 MB", "end", "left out")


def test_an_endless_body_is_limited(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.end_headers()
        while not site.leave.is_set():
            handler.wfile.write(b"x" * 100_000)

    site.pages["/"] = answer
    assert fetch(site.url("/")).text.endswith("its end is left out.]")


def dripping(site: Site, *, headers_first: bool) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if headers_first:
            handler.send_response(200)
            handler.end_headers()
        while not site.leave.wait(0.05):
            handler.wfile.write(b"x")
            handler.wfile.flush()

    return answer


@pytest.mark.parametrize("headers_first", [True, False])
def test_a_very_slow_server_is_left_at_the_time_limit(site: Site, headers_first: bool) -> None:
    """Each byte comes in time but never all: the limit counts from the start, and the thread ends too."""
    site.pages["/"] = dripping(site, headers_first=headers_first)
    with pytest.raises(ToolFailed, match=r"was not received completely within 0\.3 s"):
        fetch(site.url("/"), timeout_s=0.3)


def test_cancelling_ends_the_thread_too(site: Site) -> None:
    site.pages["/"] = dripping(site, headers_first=True)

    async def scenario() -> None:
        tool = WebFetchTool(private_network=True)
        task = asyncio.create_task(tool.prepare(WebFetchArgs(url=site.url("/"))).run(lambda line: None))  # type: ignore[arg-type]
        await wait_until_async(lambda: site.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())  # waits for its threads: one that goes on reading would block it here


def test_failures_are_one_sentence(site: Site) -> None:
    site.add("/br", b"x", Content_Encoding="br")
    site.add("/torn", gzip.compress(b"x")[:3] + b"garbage", Content_Encoding="gzip")
    for url, message in (
        (site.url("/missing"), "answered 404"),
        (site.url("/br"), "'br'"),
        (site.url("/torn"), "could not be fetched"),
        ("http://127.0.0.1:1/", "refused"),
        (site.url("/").replace("http:", "https:"), "could not be fetched"),
    ):
        with pytest.raises(ToolFailed, match=message) as caught:
            fetch(url)
        assert "\n" not in str(caught.value)


def test_unusual_urls_are_quoted_for_the_server(site: Site) -> None:
    site.add("/caf%C3%A9%20x?q=%22a%22", b"<p>found")
    assert fetch(site.url('/café%20x?q="a"#part')).text.endswith("found")


def test_the_action_that_the_policy_judges(site: Site) -> None:
    prepared = WebFetchTool(private_network=True).prepare(WebFetchArgs(url=" http://example.org/x "))
    assert prepared.action == FetchUrl(url="http://example.org/x")


HOSTILE = [
    "<!--",
    "<",
    "<a ",
    "<a x='",
    "</",
    "<![CDATA[",
    "<script>",
    "<pre>",
    "<ul><li>",
    "&#xD800;",
    "&#0;",
    "<a href=http://[x>y</a>",
]


@each_row("piece", HOSTILE)
def test_hostile_markup_is_converted_quickly_to_valid_text(piece: str) -> None:
    _, text = extract_html_text(piece * 5000 + "<p>end", "http://a/")
    text.encode("utf-8")


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<li>", "</ul>", "<pre>", "</pre>", "<a href=x>", "</a>", " word ", "\n", "<td>", "&lt;"]
        )
    )
)
def test_words_are_never_lost(pieces: list[str]) -> None:
    _, text = extract_html_text("".join(pieces), "http://a/")
    assert text.count("word") == pieces.count(" word ")


def test_reading_can_be_stopped() -> None:
    _, text = extract_html_text("word " * 100_000, "http://a/", stopped=lambda: True)
    assert text == ""
