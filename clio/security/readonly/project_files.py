"""Whether files of a project decide what a tool runs that otherwise only prints. Reads the file system."""

import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

MAX_BYTES = 200_000
_PYTHON_SUFFIXES = (".py", ".pyc", ".so", ".pyd")
_NEWER_MODULES = frozenset({"annotationlib", "compression", "json", "pip"})
"""Modules that a newer Python than clio's own has."""
_CARGO_KEYS = {"build": {"jobs", "incremental"}, "net": {"offline", "retry"}, "term": None, "profile": None}
_NPM_LINE = re.compile(
    r"\s*(?:[#;].*|(?:save-exact|save-prefix|engine-strict|legacy-peer-deps|strict-peer-dep(?:endencie)?s|audit|fund|"
    r"package-lock|loglevel|progress|color|registry|@[\w.-]+:registry|//[^=\s]*:_authToken|always-auth|"
    r"auto-install-peers|shamefully-hoist|(?:public-)?hoist-pattern\[\]|node-linker|resolution-mode)\s*=.*)?"
)
"""A line of .npmrc that names no program, no directory and no option of node."""
_TOOLCHAIN_FILES = ("rust-toolchain", "rust-toolchain.toml")
_TOOLCHAIN = re.compile(r"\s*[\w.-]+\s*", re.ASCII)


def project_decides(condition: str, directory: Path, root: Path) -> str:
    """Why files of the project decide what runs, as the end of a sentence that begins with "it"; "" where none does.

    Args:
        condition: "python": no module of the directory stands in for one of Python's own. "rust": no toolchain file
            and no configuration names a program. "npm": no configuration names a program or another directory.
            "git urls": no URL in the configuration of git has a password. "toolchain": no file names a Rust toolchain.
            "lock": cargo finds a Cargo.lock where it finds a Cargo.toml, and need not write one.
        directory: where the tool runs.
        root: the workspace; directories from `directory` up to it are looked at.
    """
    if condition.startswith("sqlite:"):
        return _explain_database(directory / condition.removeprefix("sqlite:"))
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
        case "git urls":
            from clio.security.program_aliases import has_secret_url

            return "shows a URL with a password in it" if has_secret_url(directory) else ""
        case "toolchain":
            named = any((place / name).exists() for place in _upward(directory, root) for name in _TOOLCHAIN_FILES)
            return "may install the toolchain that the project names" if named else ""
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
        shadows = stem in sys.stdlib_module_names | _NEWER_MODULES or (stem[:1] == "_" and stem[:2] != "__")
        if shadows and (name == stem or name.endswith(_PYTHON_SUFFIXES)):
            return f"may load the file {name!r} in place of a module of Python's own"
    return ""


def _rust(directory: Path) -> str:
    for name in ("rust-toolchain", "rust-toolchain.toml"):
        if (directory / name).exists() and not _names_toolchain(_content(directory / name)):
            return f"may run the toolchain that {name!r} names"
    for name in (".cargo/config", ".cargo/config.toml"):
        if (directory / name).exists() and (key := _cargo_key(_content(directory / name))):
            return f"may run what {key!r} in {name!r} names"
    return ""


def _names_toolchain(content: str) -> bool:
    """Whether a toolchain file names one of the user's toolchains, not a directory."""
    if _TOOLCHAIN.fullmatch(content):
        return True
    settings = _toml(content).get("toolchain", {"path": ""})
    known = settings.keys() <= {"channel", "components", "targets", "profile"}
    return known and _TOOLCHAIN.fullmatch(str(settings.get("channel", "stable"))) is not None


def _cargo_key(content: str) -> str:
    """The first key of a configuration of cargo that may name a program or a directory; "" for none."""
    for name, settings in _toml(content).items():
        if name not in _CARGO_KEYS:
            return name
        known = _CARGO_KEYS[name]
        if known is not None and (other := next((key for key in settings if key not in known), None)):
            return f"{name}.{other}"
    return ""


def _toml(content: str) -> dict[str, dict[str, object]]:
    """The tables of a file; one with an unknown name where it cannot be read."""
    try:
        return msgspec.convert(tomllib.loads(content), dict[str, dict[str, object]])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError):
        return {"unreadable": {}}


def _is_harmless_npm_line(line: str) -> bool:
    """Whether npm does nothing else for it. `${NAME}` is a variable of the environment, which some settings show."""
    token = ":_authToken" in line.partition("=")[0]
    return _NPM_LINE.fullmatch(line) is not None and (token or "${" not in line)


def _npm(directory: Path) -> str:
    path = directory / ".npmrc"
    if not path.exists():
        return ""
    line = next((line for line in _content(path).splitlines() if not _is_harmless_npm_line(line)), None)
    return "" if line is None else f"may do what {line.strip()[:40]!r} in '.npmrc' says"


def _content(path: Path) -> str:
    """The text of a file; what cannot be read as one is no file clio knows."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return "\0"
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return "\0"


def _explain_database(path: Path) -> str:
    """Why reading a database of SQLite would write files beside it: its log, or a transaction that is to be undone."""
    if path.with_name(f"{path.name}-journal").exists() or path.with_name(f"{path.name}-wal").exists():
        return f"may change {path.name!r}, of which a transaction is open"
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError:
        return ""
    return f"writes a log beside {path.name!r}" if head[18:20] not in (b"", b"\1\1") else ""
