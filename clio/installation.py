"""How this clio was installed, and the commands that add a package to it or upgrade it."""

import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

PACKAGE = "clio-shell"
"""The name of the distribution; the command and the Python package are called clio."""
Installer = Literal["uv", "uvx", "pipx", "pip"]
_SOURCE_FOLDER = Path(__file__).parent.parent


class Installation(Struct, frozen=True, kw_only=True):
    """An installed clio.

    Attributes:
        installer: the program that made the environment; "uvx" for an environment that is created for each run.
        source: the folder or the git address it was installed from; "" for a package index, or if unknown.
        commit: the installed commit, if it was installed from git.
        revision: the branch, tag or commit that was asked for, if one was.
        is_editable: whether it runs from the source folder, so that a change there is effective at once.
        is_file: whether the source is one wheel or archive, which has no newer version.
    """

    installer: Installer
    source: str = ""
    commit: str = ""
    revision: str = ""
    is_editable: bool = False
    is_file: bool = False

    @property
    def is_from_git(self) -> bool:
        """Whether it was installed from a git repository, and not from a folder or an index."""
        return bool(self.commit)

    def add_command(self, requirement: str) -> str:
        """Return the command that installs another package beside clio, as it is typed in a shell."""
        quoted = shlex.quote(requirement)
        match self.installer:
            case "pipx":
                return f"pipx inject {PACKAGE} {quoted}"
            case "uv":
                return f"uv tool install --with {quoted} {shlex.quote(self.requirement)}"
            case "uvx":
                return f"uvx --with {quoted} --from {shlex.quote(self.requirement)} clio"
            case _ if _has_pip():
                return f"{shlex.quote(sys.executable)} -m pip install {quoted}"
            case _:
                return f"uv pip install --python {shlex.quote(sys.executable)} {quoted}"

    def upgrade_command(self) -> list[str]:
        """Return the arguments of the command that installs the newest version; empty if there is none.

        There is none for an editable installation, which follows its source folder, for a single file, and for uvx.
        """
        if self.is_editable or self.is_file or self.installer == "uvx":
            return []
        # pip and pipx keep what is installed if its version is the same, which says nothing about a commit or a folder.
        match self.installer:
            case "pipx":
                return ["pipx", "reinstall" if self.source else "upgrade", PACKAGE]
            case "uv":
                return ["uv", "tool", "upgrade", *(["--reinstall"] if self.source else []), PACKAGE]
            case _:
                reinstall = ["--force-reinstall"] if self.source else []
                pip = [sys.executable, "-m", "pip", "install"]
                uv = ["uv", "pip", "install", "--python", sys.executable]
                return [*(pip if _has_pip() else uv), "--upgrade", *reinstall, self.requirement]

    @property
    def requirement(self) -> str:
        """What pip, pipx and uv are given to install the same clio again, in its newest version."""
        if self.is_from_git:
            return f"git+{self.source}" + (f"@{self.revision}" if self.revision else "")
        return self.source or PACKAGE


class _FolderInfo(Struct, frozen=True):
    editable: bool = False


class _VersionControlInfo(Struct, frozen=True):
    vcs: str = ""
    commit_id: str = ""
    requested_revision: str = ""


class _DirectUrl(Struct, frozen=True):
    """The file `direct_url.json` of a distribution that did not come from an index.

    Source: PyPA specification "Recording the Direct URL Origin of installed distributions".
    """

    url: str = ""
    dir_info: _FolderInfo | None = None
    vcs_info: _VersionControlInfo | None = None


@cache
def find_installation() -> Installation:
    """Return how the running clio was installed, from what the installers leave in its environment."""
    from importlib import metadata

    try:
        read_metadata_file = metadata.distribution(PACKAGE).read_text
    except metadata.PackageNotFoundError:  # run from the source folder without an installation
        return Installation(installer="pip", source=str(_SOURCE_FOLDER), is_editable=True)
    return read_installation(Path(sys.prefix), read_metadata_file("direct_url.json") or "")


def read_installation(prefix: Path, direct_url: str) -> Installation:
    """Return the installation in an environment.

    Args:
        prefix: the environment's folder.
        direct_url: the content of the distribution's file of that name; "" if there is none.
    """
    if (prefix / "uv-receipt.toml").is_file():
        installer: Installer = "uv"
    elif (prefix / "pipx_metadata.json").is_file():
        installer = "pipx"
    elif prefix.parent.name.startswith(("archive-v", "environments-v")):
        installer = "uvx"
    else:
        installer = "pip"
    try:
        origin = msgspec.json.decode(direct_url, type=_DirectUrl) if direct_url else _DirectUrl()
    except msgspec.DecodeError:
        origin = _DirectUrl()
    if origin.dir_info is not None:
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        folder = url2pathname(urlsplit(origin.url).path)
        return Installation(installer=installer, source=folder, is_editable=origin.dir_info.editable)
    if origin.vcs_info is not None and origin.vcs_info.vcs == "git":
        git = origin.vcs_info
        return Installation(
            installer=installer, source=origin.url, commit=git.commit_id, revision=git.requested_revision
        )
    return Installation(installer=installer, source=origin.url, is_file=bool(origin.url))


def _has_pip() -> bool:
    from importlib.util import find_spec

    return find_spec("pip") is not None


def format_version_json(version: str, installation: Installation) -> str:
    """Return the answer of `clio --version --json`: version, Python, platform, and where this clio came from."""
    import platform

    return msgspec.json.encode(
        {
            "version": version,
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "platform": f"{sys.platform}-{platform.machine()}",
            "folder": str(Path(__file__).parent),
            "installer": installation.installer,
            "source": installation.source,
            "commit": installation.commit,
            "editable": installation.is_editable,
        }
    ).decode()


def describe_install(requirement: str) -> str:
    """Return the command, in backquotes, that adds a package to the running clio."""
    return f"`{find_installation().add_command(requirement)}`"
