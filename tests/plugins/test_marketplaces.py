"""Marketplaces, and downloads over HTTP from `git http-backend`."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clio.config.installed_plugins import find_plugins, read_lock
from tests.plugins.conftest import RunClio, change_plugin, head_of, make_plugin, url_of
from tests.support.repositories import git, make


class GitServer:
    """Serves the repositories in a folder; with `needs_login` it refuses every request."""

    def __init__(self, folder: Path) -> None:
        self.needs_login = False
        self.redirect = ""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if server.needs_login:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="x"')
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                if server.redirect:
                    self.send_response(302)
                    self.send_header("Location", f"{server.redirect}{path}?{query}")
                    self.end_headers()
                    return
                env = {
                    "PATH": os.environ["PATH"],
                    "GIT_PROJECT_ROOT": str(folder),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "REQUEST_METHOD": self.command,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "CONTENT_LENGTH": str(len(raw)),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "HOME": os.devnull,
                }
                done = subprocess.run(["git", "http-backend"], input=raw, env=env, capture_output=True, check=True)
                head, _, data = done.stdout.partition(b"\r\n\r\n")
                headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                self.send_response(int(headers.pop("Status", "200").split()[0]))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="git-server", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> "GitServer":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    server = GitServer(tmp_path).start()
    yield server
    server.stop()


def make_marketplace(folder: Path, *entries: dict[str, Any], **fields: Any) -> Path:
    return make(
        folder,
        {
            ".claude-plugin/marketplace.json": json.dumps({"name": "tools", "plugins": entries, **fields}),
            "plugins/fmt/commands/fmt.md": "Format.\n",
            "plugins/fmt/.claude-plugin/plugin.json": json.dumps({"name": "fmt", "version": "2"}),
            "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: PDFs.\n---\nRead.\n",
            "skills/docx/SKILL.md": "---\nname: docx\ndescription: Word.\n---\nRead.\n",
            "skills/xlsx/SKILL.md": "---\nname: xlsx\ndescription: Excel.\n---\nRead.\n",
        },
    )


FMT = {"name": "fmt", "source": "./plugins/fmt", "description": "Formats."}


def test_a_marketplace_is_listed_and_adds_nothing(clio: RunClio, tmp_path: Path, home: Path) -> None:
    folder = make_marketplace(tmp_path / "market", FMT, {"name": "js", "source": {"source": "npm", "package": "js"}})
    done = clio("plugin", "add", url_of(folder))
    assert done.code == 0, done.err
    assert "Formats." in done.out
    assert "npm" in done.out
    assert read_lock(home).plugins == {}
    assert clio("plugin", "add", "js@tools").code == 1
    assert clio("plugin", "add", "none@tools").code == 1
    assert clio("plugin", "add", "fmt@other").code == 1
    assert clio("plugin", "remove", "tools").code == 0
    assert clio("plugin", "add", "fmt@tools").code == 1


def test_a_plugin_of_a_marketplace_is_added_and_updated(clio: RunClio, tmp_path: Path, home: Path) -> None:
    folder = make_marketplace(tmp_path / "market", FMT)
    clio("plugin", "add", url_of(folder))
    assert clio("plugin", "add", "fmt@tools").code == 2, "it cannot be asked"
    done = clio("plugin", "add", "fmt@tools", "--trust", head_of(folder))
    assert done.code == 0, done.err
    (plugin,) = find_plugins(home, Path.cwd()).plugins
    assert (plugin.name, plugin.version, plugin.skills) == ("fmt", "2", ())
    assert [path.name for path in plugin.commands] == ["commands"]
    commit = change_plugin(folder, {"plugins/fmt/commands/more.md": "More.\n"})
    shown = clio("plugin", "update")
    assert shown.code == 2
    assert "/more" in shown.out
    assert clio("plugin", "update", "fmt", "--trust", commit).code == 0


def test_an_entry_that_lists_its_parts_adds_only_those(clio: RunClio, tmp_path: Path, home: Path) -> None:
    entry = {"name": "office", "source": "./", "strict": False, "skills": ["./skills/docx", "./skills/xlsx"]}
    folder = make_marketplace(tmp_path / "market", entry)
    clio("plugin", "add", url_of(folder))
    done = clio("plugin", "add", "office@tools", "--trust", head_of(folder))
    assert done.code == 0, done.err
    listed = clio("skills", "list").out
    assert "docx" in listed
    assert "xlsx" in listed
    assert "pdf" not in listed


@pytest.mark.parametrize(
    "source",
    [
        "../../elsewhere",
        {"source": "url", "url": "file:///etc"},
        {"source": "url", "url": "/etc"},
        {"source": "url", "url": "ext::sh -c id"},
        {"source": "git-subdir", "url": "https://example.com/x.git", "path": "../x"},
        {"source": "github", "repo": "owner/name", "ref": "--upload-pack=x"},
        {"source": "github", "repo": ["a"]},
        7,
        None,
    ],
    ids=str,
)
def test_a_list_from_the_network_cannot_name_local_paths(source: object) -> None:
    from clio.plugins.marketplaces import parse_marketplace
    from clio.plugins.repositories import parse_source

    data = json.dumps({"name": "tools", "plugins": [{"name": "x", "source": source}]}).encode()
    (entry,) = parse_marketplace(data, parse_source("owner/market")).entries
    assert entry.source is None
    assert entry.problem


def test_another_marketplace_cannot_use_a_name_in_use(clio: RunClio, tmp_path: Path, home: Path) -> None:
    first = make_marketplace(tmp_path / "one", FMT)
    second = make_marketplace(tmp_path / "two", FMT)
    assert clio("plugin", "add", url_of(first)).code == 0
    assert clio("plugin", "add", url_of(second)).code == 1
    assert read_lock(home).marketplaces["tools"].source == url_of(first)


def test_a_plugin_is_downloaded_over_http(clio: RunClio, tmp_path: Path, home: Path, server: GitServer) -> None:
    folder = make_plugin(tmp_path / "kit")
    first = head_of(folder)
    git(folder, "tag", "v1")
    change_plugin(folder, {"commands/new.md": "New.\n"})
    address = f"{server.url}/kit/.git"
    done = clio("plugin", "add", f"{address}@v1", "--name", "old", "--trust", first[:12])
    assert done.code == 0, done.err
    pinned = clio("plugin", "add", address, "--trust", first)
    assert pinned.code == 0, pinned.err
    assert {one.commit for one in read_lock(home).plugins.values()} == {first}


def test_a_server_that_requires_a_login_is_reported_in_one_sentence(
    clio: RunClio, tmp_path: Path, server: GitServer
) -> None:
    make_plugin(tmp_path / "kit")
    server.needs_login = True
    done = clio("plugin", "add", f"{server.url}/kit/.git")
    assert done.code == 1
    assert "login" in done.err
    assert len(done.err.strip().splitlines()) <= 3


def test_a_redirect_to_another_protocol_is_not_followed(clio: RunClio, tmp_path: Path, server: GitServer) -> None:
    make_plugin(tmp_path / "kit")
    server.redirect = f"file://{tmp_path}"
    assert clio("plugin", "add", f"{server.url}/kit/.git").code == 1
