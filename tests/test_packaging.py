"""The source distribution and the wheel, built without a network: their content, and the page of an index."""

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from clio import __version__

ROOT = Path(__file__).parent.parent
LEFTOVERS = (
    "venv/lib/python3.12/site-packages/clio/x.py",
    ".venv/bin/clio",
    "env/prompts/secret.md",
    "build/README.md",
    "dist/old.whl",
    ".clio/sessions/s.json",
    "notes/CHANGELOG.md",
)
pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of both distributions, built in a checkout with environments and leftovers."""
    checkout, target = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    if not names:
        pytest.skip("this is not a checkout")
    wanted = re.compile(r"clio/|prompts/|share/|\.clio\.example/|tests/support/|[^/]+$")
    for name in filter(wanted.match, names):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_bytes((ROOT / name).read_bytes())
    for name in LEFTOVERS:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("not of clio", encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def sdist(built: Path) -> set[str]:
    with tarfile.open(next(built.glob("*.tar.gz"))) as file:
        return {name.partition("/")[2] for name in file.getnames()}


@pytest.fixture(scope="module")
def wheel(built: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_an_sdist_built_next_to_a_venv_contains_only_clio(sdist: set[str]) -> None:
    tops = {name.partition("/")[0] for name in sdist}
    assert tops <= {
        *("clio", "prompts", "share", ".clio.example"),
        *("README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO", "pyproject.toml", "hatch_build.py", ".gitignore"),
    }
    assert {"clio/cli.py", "clio/py.typed", "hatch_build.py", "LICENSE", "share/man/man1/clio.1"} <= sdist
    assert not [name for name in sdist if name.endswith((".pyc", "/x.py"))]


def test_the_wheel_has_the_files_clio_reads_at_run_time(wheel: dict[str, bytes]) -> None:
    names = set(wheel)
    assert {"clio/py.typed", "clio/_example/config.yaml", "clio/memory/preferences/languages/en.json"} <= names
    assert sum(name.startswith("clio/_prompts/") for name in names) == sum(
        path.is_file() for path in (ROOT / "prompts").rglob("*")
    )
    assert {name.partition("/")[0] for name in names} == {
        "clio",
        f"clio_shell-{__version__}.data",
        f"clio_shell-{__version__}.dist-info",
    }


def test_links_on_an_index_page_work(wheel: dict[str, bytes]) -> None:
    metadata = email.message_from_bytes(wheel[f"clio_shell-{__version__}.dist-info/METADATA"])
    text = str(metadata.get_payload())
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["metadata"]["hooks"]
    repository = hook["custom"]["repository"]
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text)
    links = [one or other for one, other in targets]
    assert len(links) > 15
    assert [link for link in links if not link.startswith(("https://", "http://", "#"))] == []
    assert any(link.startswith(f"{repository}/raw/main/docs/") for link in links)  # pictures
    for link in links:
        if link.startswith(repository):
            path = link.removeprefix(repository).partition("#")[0].split("/", 3)[-1]
            assert (ROOT / path).exists(), link
    urls = dict(value.split(", ", 1) for value in metadata.get_all("Project-URL", []))
    assert urls["Repository"] == repository and len(urls) >= 4
    assert "Programming Language :: Python :: 3.15" in metadata.get_all("Classifier", [])


def test_the_core_needs_no_package_of_an_extra(wheel: dict[str, bytes]) -> None:
    metadata = email.message_from_bytes(wheel[f"clio_shell-{__version__}.dist-info/METADATA"])
    core = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    names = {re.split(r"[>=;\s]", line)[0] for line in core}
    assert {"openai", "tiktoken", "gitpython", "prompt-toolkit", "rich", "pyyaml"} <= names
    assert not names & {"numpy", "usearch", "agent-client-protocol", "pytest"}
