"""`clio upgrade`: look for a newer version where this one came from, and install it.

This is the only place where clio looks for a newer version of itself, and only when the user asks.
"""

import configparser
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from clio import __version__
from clio.entrypoints.subcommand import ask_on_terminal
from clio.errors import UserError
from clio.installation import PACKAGE, Installation, find_installation
from clio.providers.urls import strip_login
from clio.text.json_data import decode_json
from clio.ui.terminal_text import print_text

TIMEOUT_S = 15.0
DEFAULT_INDEX = "https://pypi.org/simple"
_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_MAX_PAGE_BYTES = 4_000_000
_SHORT_COMMIT_CHARS = 8
_RELEASE = re.compile(r"\d+(\.\d+)*")
_FILE_NAME = re.compile(r"clio[-_.]shell-(\d[\w.!+]*?)(?:-[\w.]+-[\w.]+-[\w.]+\.whl|\.tar\.gz)")
_PYTHON_MINIMUM = re.compile(r">=\s*(\d+)\.(\d+)")
_LOGIN = re.compile(r"://[^/@\s']*@")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


class Newest(Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        place: the index or repository that was asked, without a password.
        version: the newest version; "" if the place only tells the commit.
        commit: the newest commit; "" for an index.
        is_newer: whether it differs from the installed one in the direction of an upgrade.
    """

    place: str
    version: str = ""
    commit: str = ""
    is_newer: bool


def run_upgrade(env: Mapping[str, str], *, check: bool, yes: bool, json: bool) -> int:
    """Look for a newer version, then install it unless `check`; return the exit code.

    Without `yes` the user is asked; if no user can answer, the command is only printed.
    Raises UserError if the place cannot be asked.
    """
    installation = find_installation()
    newest = find_newest(installation, env)
    command = installation.upgrade_command()
    if json:
        print_text(_format_json(installation, newest, command))
    else:
        print_text(describe_newest(installation, newest))
    if check or json or not newest.is_newer:
        return 0
    if not command:
        return 0
    line = shlex.join(command)
    if not yes:
        answer = ask_on_terminal(f"Run `{line}`? [y/N]")
        if answer is None or answer.strip().lower() not in ("y", "yes"):
            return 0
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        raise UserError(f"{command[0]!r} cannot be run: {error.strerror}; run {line!r} yourself") from None


def find_newest(installation: Installation, env: Mapping[str, str]) -> Newest:
    """Ask the place that clio was installed from. Raises UserError."""
    if installation.is_file:
        raise UserError(
            f"this clio was installed from the file {strip_login(installation.source)}, which has no newer version; "
            "install a newer file, or from a repository"
        )
    if installation.is_from_git:
        return _ask_repository(installation.source, installation.revision, installation.commit, Path.cwd(), env)
    if installation.source:
        folder = Path(installation.source)
        if not folder.is_dir():
            raise UserError(f"this clio was installed from {str(folder)!r}, which is gone; install it again")
        return _ask_source_folder(folder, installation, env)
    return _ask_index(find_index(env), env)


def describe_newest(installation: Installation, newest: Newest) -> str:
    """Return the result in one or two sentences."""
    here = f"clio {__version__}"
    if installation.commit:
        here += f" ({installation.commit[:_SHORT_COMMIT_CHARS]})"
    if not newest.is_newer:
        return f"{here} is up to date with {newest.place}."
    there = f"clio {newest.version}" if newest.version else f"A newer commit, {newest.commit[:_SHORT_COMMIT_CHARS]},"
    sentence = f"{there} is available from {newest.place}; {here} is installed."
    command = installation.upgrade_command()
    if command:
        return f"{sentence} `{shlex.join(command)}` installs it."
    if installation.is_editable:
        return f"{sentence} clio runs from {installation.source}: `git pull` there."
    return f"{sentence} `uvx --refresh --from {shlex.quote(installation.requirement)} clio` runs it."


def _format_json(installation: Installation, newest: Newest, command: list[str]) -> str:
    return msgspec.json.encode(
        {
            "version": __version__,
            "commit": installation.commit,
            "newest_version": newest.version,
            "newest_commit": newest.commit,
            "newer": newest.is_newer,
            "place": newest.place,
            "command": command,
        }
    ).decode()


def _ask_source_folder(folder: Path, installation: Installation, env: Mapping[str, str]) -> Newest:
    """Compare a folder's checkout with the remote it follows; without a remote, with the installed version."""
    there = _read_version(folder)
    if there and _parse_release(there) > _parse_release(__version__):
        return Newest(place=str(folder), version=there, is_newer=True)
    if not (folder / ".git").exists():
        return Newest(place=str(folder), version=there, is_newer=False)
    head = _run_git(["rev-parse", "HEAD"], folder, env).strip()
    remotes = _run_git(["remote"], folder, env).split()
    if not remotes:
        return Newest(place=str(folder), version=there, commit=head, is_newer=False)
    remote = "origin" if "origin" in remotes else remotes[0]
    branch = _run_git(["branch", "--show-current"], folder, env).strip()
    found = _ask_repository(remote, branch, head, folder, env)
    # A remote whose newest commit is in the checkout has nothing new: the checkout is ahead of it.
    known = subprocess.run(
        ["git", "merge-base", "--is-ancestor", found.commit, "HEAD"],
        cwd=folder, env=_make_environment(env), stdin=subprocess.DEVNULL, capture_output=True, check=False,
        timeout=TIMEOUT_S,
    ).returncode == 0  # fmt: skip
    address = strip_login(_run_git(["remote", "get-url", remote], folder, env).strip())
    return Newest(place=address, commit=found.commit, is_newer=not known)


def _ask_repository(address: str, revision: str, commit: str, folder: Path, env: Mapping[str, str]) -> Newest:
    place = strip_login(address)
    if _COMMIT.fullmatch(revision):
        return Newest(place=f"{place} at the commit it was installed from", commit=commit, is_newer=False)
    wanted = revision or "HEAD"
    lines = _run_git(["ls-remote", "--quiet", address, wanted], folder, env).splitlines()
    found = {name: value for value, _, name in (line.partition("\t") for line in lines)}
    names = (wanted, f"refs/heads/{wanted}", f"refs/tags/{wanted}^{{}}", f"refs/tags/{wanted}")
    newest = next((found[name] for name in names if name in found), "")
    if not newest:
        raise UserError(f"{place} has no branch or tag {wanted!r} any more; install clio again from another one")
    return Newest(place=place, commit=newest, is_newer=newest != commit)


def _run_git(arguments: list[str], folder: Path, env: Mapping[str, str]) -> str:
    """Return the output of a git command that changes nothing and asks nothing. Raises UserError.

    It may use the network, unlike the commands of `readonly_git`, and it reads clio's own repository only.
    """
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=_make_environment(env), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise UserError("git is not installed, and clio was installed from a git repository") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"can't look for a newer version: no answer within {TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise UserError(f"git cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
        reason = (
            strip_login(lines[0].removeprefix("fatal: ")) if lines else f"git ended with exit code {done.returncode}"
        )
        raise UserError(f"can't look for a newer version: {reason}")
    return done.stdout


def _make_environment(env: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in env.items() if name not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_SSH_COMMAND": kept.get("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "C",
    }


def find_index(env: Mapping[str, str]) -> str:
    """Return the address of the package index: from the environment, from pip's configuration, or PyPI."""
    for name in _INDEX_VARIABLES:
        if value := env.get(name, "").strip():
            return (
                value.rpartition("=")[2] if name == "UV_DEFAULT_INDEX" and "=" in value.partition("://")[0] else value
            )
    for path in _list_pip_files(env):
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        if value := parser.get("global", "index-url", fallback="").strip():
            return value
    return DEFAULT_INDEX


def _list_pip_files(env: Mapping[str, str]) -> Iterable[Path]:
    """Yield pip's configuration files, the one that counts most first. Source: pip's documentation, "Configuration"."""
    if named := env.get("PIP_CONFIG_FILE"):
        yield Path(named)
    name = "pip.ini" if os.name == "nt" else "pip.conf"
    yield Path(sys.prefix) / name
    home = Path(env.get("HOME") or env.get("USERPROFILE") or Path.home())
    if os.name == "nt":
        yield Path(env.get("APPDATA") or home) / "pip" / name
        return
    yield Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / name
    if sys.platform == "darwin":
        yield home / "Library" / "Application Support" / "pip" / name
    yield home / ".pip" / name
    yield Path("/etc/xdg/pip") / name
    yield Path("/etc") / name


def _ask_index(index: str, env: Mapping[str, str]) -> Newest:
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    place = strip_login(index).rstrip("/")
    request = urllib.request.Request(
        f"{index.rstrip('/')}/{PACKAGE}/",
        headers={"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5", "User-Agent": f"clio/{__version__}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            page = answer.read(_MAX_PAGE_BYTES)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 404:
            raise UserError(f"{PACKAGE} is not on {place}; install clio from its repository to upgrade it") from None
        raise UserError(f"can't look for a newer version: {place} answered with status {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise UserError(f"can't look for a newer version: can't connect to {place} ({reason})") from None
    versions = read_index_page(page)
    if not versions:
        raise UserError(
            f"{place} offers no version of {PACKAGE} for Python {sys.version_info[0]}.{sys.version_info[1]}"
        )
    newest = max(versions, key=_parse_release)
    return Newest(place=place, version=newest, is_newer=_parse_release(newest) > _parse_release(__version__))


class _IndexFile(Struct, frozen=True, rename="kebab"):
    filename: str
    requires_python: str | None = None
    yanked: bool | str = False


class _IndexPage(Struct, frozen=True):
    files: list[_IndexFile] = []


def read_index_page(page: bytes) -> set[str]:
    """Return the released versions on a page of the simple index that this Python can use; no pre-releases.

    Source: PyPA specification "Simple repository API", as JSON or HTML.
    """
    try:
        files = decode_json(page, type=_IndexPage).files
    except (msgspec.DecodeError, UnicodeDecodeError):
        names = re.findall(r"<a\b[^>]*>\s*([^<\s]+)\s*</a>", page.decode("utf-8", "replace"), re.IGNORECASE)
        files = [_IndexFile(filename=name) for name in names]
    found: set[str] = set()
    for file in files:
        named = _FILE_NAME.fullmatch(file.filename)
        minimum = _PYTHON_MINIMUM.search(file.requires_python or "")
        usable = minimum is None or sys.version_info[:2] >= (int(minimum[1]), int(minimum[2]))
        if named and usable and not file.yanked and _RELEASE.fullmatch(named[1]):
            found.add(named[1])
    return found


def _parse_release(version: str) -> tuple[int, ...]:
    found = _RELEASE.match(version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _read_version(folder: Path) -> str:
    try:
        text = (folder / "clio" / "__init__.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    return found[1] if found else ""
