"""Whether files of a project decide what a tool runs that otherwise only prints. Reads the file system."""

import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

MAX_BYTES = 200_000
_PYTHON_SUFFIXES = (".py", ".pyc", ".so", ".pyd")
_NPM_KEYS = (
    "node-options",
    "script-shell",
    "prefix",
    "globalconfig",
    "userconfig",
    "shell",
    "git",
    "cache",
    "logs-dir",
)


def project_decides(condition: str, directory: Path, root: Path) -> str:
    """Why files of the project decide what runs, as the end of a sentence that begins with "it"; "" where none does.

    Args:
        condition: "python": no module of the directory stands in for one of Python's own. "rust": no toolchain file
            and no configuration names a program. "npm": no configuration names a program or another directory.
            "lock": cargo finds a Cargo.lock where it finds a Cargo.toml, and need not write one.
        directory: where the tool runs.
        root: the workspace; directories from `directory` up to it are looked at.
    """
    match condition:
        case "python":
            return _python(directory)
        case "rust":
            return _first(_rust, directory, root)
        case "lock":
            places = list(_upward(directory, root))
            missing = any((place / "Cargo.toml").exists() for place in places) and not any(
                (place / "Cargo.lock").exists() for place in places
            )
            return "would write Cargo.lock, which is missing" if missing else ""
        case "npm":
            return _first(_npm, directory, root)
        case _:
            return f"depends on {condition!r}, which clio does not know"


def _upward(directory: Path, root: Path) -> Iterator[Path]:
    yield directory
    for parent in directory.parents:
        if directory != root and (parent == root or root in parent.parents):
            yield parent


def _first(look: Callable[[Path], str], directory: Path, root: Path) -> str:
    return next((why for place in _upward(directory, root) if (why := look(place))), "")


def _python(directory: Path) -> str:
    """`python3 -m` looks for modules in its directory first."""
    try:
        names = [entry.name for entry in directory.iterdir()]
    except OSError:
        return "runs in a directory that cannot be listed"
    for name in names:
        stem = name.split(".", 1)[0]
        if stem in sys.stdlib_module_names and (name == stem or name.endswith(_PYTHON_SUFFIXES)):
            return f"may load the file {name!r} in place of a module of Python's own"
    return ""


def _rust(directory: Path) -> str:
    for name in ("rust-toolchain", "rust-toolchain.toml"):
        if (directory / name).exists() and b"path" in _content(directory / name):
            return f"may run the toolchain that {name!r} names"
    for name in (".cargo/config", ".cargo/config.toml"):
        if (directory / name).exists() and (key := _cargo_key(_content(directory / name))):
            return f"may run what {key!r} in {name!r} names"
    return ""


def _cargo_key(content: bytes) -> str:
    """The first key of a configuration of cargo that may name a program; "" for none."""
    try:
        tables = msgspec.convert(tomllib.loads(content.decode()), dict[str, dict[str, object]])
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError):
        return "an unreadable configuration"
    known = {"net", "term", "profile", "future-incompat-report", "http"}
    for name, value in tables.items():
        if name == "build":
            keys = {"jobs", "target", "target-dir", "incremental", "dep-info-basedir"}
            if other := next((key for key in value if key not in keys), None):
                return f"build.{other}"
        elif name not in known:
            return name
    return ""


def _npm(directory: Path) -> str:
    path = directory / ".npmrc"
    if not path.exists():
        return ""
    for line in _content(path).decode(errors="replace").splitlines():
        key = line.split("=", 1)[0].strip().strip("[]\"'").lower()
        if any(part in key for part in _NPM_KEYS):
            return f"may run what {key!r} in '.npmrc' names"
    return ""


def _content(path: Path) -> bytes:
    """The beginning of a file; what cannot be read counts as naming a path."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return b"path ="
        return path.read_bytes()
    except OSError:
        return b"path ="
