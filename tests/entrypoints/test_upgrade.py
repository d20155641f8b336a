"""`clio upgrade` queries the source of the installation only on request; `clio --version --json` names the source."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clio import __version__
from clio.entrypoints import upgrade
from clio.entrypoints.upgrade import describe_newest, find_index, find_newest, read_index_page
from clio.errors import UserError
from clio.installation import Installation, read_installation
from tests.support.repositories import git

ROOT = Path(__file__).parents[2]
Serve = Callable[[int, bytes], str]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a published repository with two commits and a tag."""
    folder = tmp_path / "published"
    (folder / "clio").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "0.1.0", "first")
    git(folder, "tag", "v0.1.0")
    return folder


def commit(folder: Path, version: str, message: str) -> str:
    (folder / "clio" / "__init__.py").write_text(f'"""clio."""\n\n__version__ = "{version}"\n', encoding="utf-8")
    (folder / "CHANGES").write_text(message, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=N", "-c", "user.email=n@example.org", "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def index() -> Iterator[Serve]:
    """A package index on this machine that answers every page with this status and body."""
    servers: list[ThreadingHTTPServer] = []

    def serve(status: int, body: bytes) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status if self.path == "/simple/clio-shell/" else 500)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/simple/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def page(*names: str, **more: object) -> bytes:
    return json.dumps(
        {"meta": {"api-version": "1.1"}, "files": [{"filename": name, **more} for name in names]}
    ).encode()


def test_a_newer_commit_of_the_branch_is_found(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    here = Installation(installer="uv", source=repository.as_uri(), commit=first)
    found = find_newest(here, os.environ)
    assert not found.is_newer and "is up to date with file://" in describe_newest(here, found)
    second = commit(repository, "0.1.0", "second")
    found = find_newest(here, os.environ)
    assert (found.is_newer, found.commit) == (True, second)
    assert second[:8] in describe_newest(here, found)
    assert "`uv tool upgrade --reinstall clio-shell` installs it" in describe_newest(here, found)


def test_a_tag_and_a_commit_have_no_newer_version(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    commit(repository, "0.2.0", "second")
    for revision in ("v0.1.0", first):
        here = Installation(installer="pipx", source=repository.as_uri(), commit=first, revision=revision)
        assert not find_newest(here, os.environ).is_newer
    here = Installation(installer="pipx", source=repository.as_uri(), commit=first, revision="main")
    assert find_newest(here, os.environ).is_newer
    missing_source = Installation(installer="pipx", source=repository.as_uri(), commit=first, revision="gone")
    with pytest.raises(UserError, match="no branch or tag 'gone'"):
        find_newest(missing_source, os.environ)


def test_a_checkout_is_compared_with_its_remote(repository: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    git(tmp_path, "clone", "--quiet", str(repository), str(checkout))
    here = Installation(installer="pip", source=str(checkout), is_editable=True)
    assert not find_newest(here, os.environ).is_newer
    commit(checkout, __version__, "of my own")  # the checkout is ahead
    assert not find_newest(here, os.environ).is_newer
    theirs = commit(repository, __version__, "theirs")
    found = find_newest(here, os.environ)
    assert (found.is_newer, found.commit) == (True, theirs)
    assert f"clio runs from {checkout}: `git pull` there" in describe_newest(here, found)
    assert here.upgrade_command() == []


def test_a_source_folder_with_a_later_version_is_newer(repository: Path) -> None:
    (repository / "clio" / "__init__.py").write_text('__version__ = "99.0"\n', encoding="utf-8")
    found = find_newest(Installation(installer="pip", source=str(repository)), os.environ)
    assert (found.is_newer, found.version, found.place) == (True, "99.0", str(repository))


def test_without_an_answer_the_reason_is_reported(repository: Path, tmp_path: Path) -> None:
    missing_source = Installation(installer="uv", source=(tmp_path / "gone").as_uri(), commit="0" * 40)
    with pytest.raises(UserError, match=r"can't look for a newer version: .*gone"):
        find_newest(missing_source, os.environ)
    with pytest.raises(UserError, match=r"can't connect to http://127\.0\.0\.1:9/simple \("):
        find_newest(Installation(installer="uv"), {"PIP_INDEX_URL": "http://me:secret@127.0.0.1:9/simple"})
    with pytest.raises(UserError, match=r"is gone; install it again"):
        find_newest(Installation(installer="pip", source=str(tmp_path / "gone")), os.environ)
    with pytest.raises(UserError, match=r"the file file:///tmp/clio\.whl, which has no newer version"):
        find_newest(Installation(installer="pip", source="file:///tmp/clio.whl", is_file=True), os.environ)


def test_a_password_in_a_url_is_not_printed(tmp_path: Path) -> None:
    here = Installation(installer="uv", source="http://me:hunter22@127.0.0.1:9/clio.git", commit="0" * 40)
    with pytest.raises(UserError) as caught:
        find_newest(here, os.environ)
    assert "hunter22" not in str(caught.value) and "127.0.0.1:9" in str(caught.value)


def test_an_index_is_queried_for_released_versions(index: Serve) -> None:
    body = page("clio_shell-0.1.0.tar.gz", "clio_shell-99.2.0-py3-none-any.whl", "clio_shell-100.0rc1.tar.gz")
    found = find_newest(Installation(installer="pipx"), {"PIP_INDEX_URL": index(200, body)})
    assert (found.version, found.is_newer) == ("99.2.0", True)
    assert "`pipx upgrade clio-shell` installs it" in describe_newest(Installation(installer="pipx"), found)
    html = b'<html><a href="x">clio_shell-0.0.9.tar.gz</a> <a href="y" data-yanked="">other-2.0.tar.gz</a></html>'
    found = find_newest(Installation(installer="pipx"), {"UV_DEFAULT_INDEX": f"own={index(200, html)}"})
    assert (found.version, found.is_newer) == ("0.0.9", False)
    with pytest.raises(UserError, match="clio-shell is not on http"):
        find_newest(Installation(installer="pipx"), {"UV_INDEX_URL": index(404, b"")})
    with pytest.raises(UserError, match="answered with status 503"):
        find_newest(Installation(installer="pipx"), {"UV_INDEX_URL": index(503, b"")})


def test_unusable_versions_do_not_count() -> None:
    assert read_index_page(page("clio_shell-9.9.tar.gz", **{"requires-python": ">=3.99"})) == set()
    assert read_index_page(page("clio_shell-9.9.tar.gz", yanked="broken")) == set()
    assert read_index_page(page("clio_shell-9.9.tar.gz", **{"requires-python": ">=3.11"})) == {"9.9"}
    assert read_index_page(b"\xff\x00 not a page") == set()


def test_the_index_of_pips_own_configuration_is_used(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = https://packages.example/simple%20x\n", encoding="utf-8")
    assert find_index({"PIP_CONFIG_FILE": str(file)}) == "https://packages.example/simple%20x"
    assert find_index({"PIP_CONFIG_FILE": str(file), "UV_INDEX_URL": "https://uv.example/s"}) == "https://uv.example/s"


INSTALLED = {
    "uv": ("uv-receipt.toml", '{"url": "https://git.example/c", "vcs_info": {"vcs": "git", "commit_id": "abc"}}'),
    "pipx": ("pipx_metadata.json", '{"url": "file:///src/clio", "dir_info": {}}'),
}


@pytest.mark.parametrize("installer", sorted(INSTALLED))
def test_each_installer_is_recognized(installer: str, tmp_path: Path) -> None:
    marker, direct_url = INSTALLED[installer]
    (tmp_path / marker).touch()
    found = read_installation(tmp_path, direct_url)
    assert found.installer == installer
    assert found.is_from_git == (installer == "uv")


def test_other_environments_are_assigned_to_pip_or_uvx(tmp_path: Path) -> None:
    assert read_installation(tmp_path, "") == Installation(installer="pip")
    assert read_installation(tmp_path, "{not json") == Installation(installer="pip")
    assert read_installation(tmp_path / "archive-v0" / "x1", "").installer == "uvx"
    wheel = read_installation(tmp_path, '{"url": "file:///d/clio.whl", "archive_info": {}}')
    assert wheel.is_file and wheel.upgrade_command() == []


@pytest.mark.parametrize(
    ("here", "command"),
    [
        (Installation(installer="uv"), "uv tool install --with 'numpy>=2' clio-shell"),
        (Installation(installer="pipx"), "pipx inject clio-shell 'numpy>=2'"),
        (
            Installation(installer="uvx", source="https://git.example/c", commit="a", revision="main"),
            "uvx --with 'numpy>=2' --from git+https://git.example/c@main clio",
        ),
    ],
)
def test_a_package_is_added_with_clios_own_installer(here: Installation, command: str) -> None:
    assert here.add_command("numpy>=2") == command


def run(*arguments: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clio", *arguments], cwd=cwd, env=os.environ | {"PYTHONPATH": str(ROOT)} | env,
        capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_version_as_json() -> None:
    done = run("--version", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["version"]) == (0, __version__)
    assert report["python"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    assert Path(report["folder"]) == ROOT / "clio"
    assert run("--json", "--version").stdout == done.stdout


def test_nothing_is_installed_without_confirmation(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    commit(repository, "0.2.0", "second")
    here = Installation(installer="uv", source=repository.as_uri(), commit=first)
    monkeypatch.setattr(upgrade, "find_installation", lambda: here)
    started: list[object] = []
    monkeypatch.setattr(Installation, "upgrade_command", lambda self: [sys.executable, "-c", "raise SystemExit(7)"])
    answers: Iterator[str | None] = iter([None, "n", "", "y"])

    def ask(question: str) -> str | None:
        started.append(question)
        return next(answers)

    monkeypatch.setattr(upgrade, "ask_on_terminal", ask)
    codes = [upgrade.run_upgrade(os.environ, check=False, yes=False, json=False) for _ in range(4)]
    assert codes == [0, 0, 0, 7] and len(started) == 4
    assert upgrade.run_upgrade(os.environ, check=True, yes=True, json=False) == 0
    assert upgrade.run_upgrade(os.environ, check=False, yes=True, json=False) == 7
    assert len(started) == 4


def test_flags_of_other_commands_are_refused() -> None:
    done = run("doctor", "--check")
    assert (done.returncode, "--check works only with 'clio upgrade'" in done.stderr) == (2, True)
    assert "only look for a newer version" in run("upgrade", "--help").stdout
