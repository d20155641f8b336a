"""Addresses of plugins, and the files of one commit, fetched with a git that starts no other program.

Nothing of a repository is checked out: git fetches into an empty bare repository, and clio reads the files from its
objects. So no hook, filter, submodule or setting of the repository has any effect.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from msgspec import Struct

from clio.config.installed_plugins import MAX_PLUGIN_FILES
from clio.errors import ClioError, UsageError
from clio.readonly_git import NO_HOOKS, SAFE_SWITCHES
from clio.text.formatting import format_bytes
from clio.text.translation import tr

MAX_FILE_BYTES = 10_000_000
MAX_TOTAL_BYTES = 50_000_000
MAX_DOWNLOAD_BYTES = 300_000_000
FETCH_TIMEOUT_S = 300.0
_READ_TIMEOUT_S = 60.0
_MAX_LIST_BYTES = 16_000_000
_POLL_S = 0.05
_MAX_PART_BYTES = 255
_MAX_DEPTH, _MAX_PATH_CHARS = 50, 1_000
_FOLDER_PREFIX = "clio-plugin-"
_ABANDONED_S = 3_600.0

_GITHUB_NAME = re.compile(r"(?P<name>[A-Za-z0-9][\w-]*/[\w.-]+?)(?:\.git)?(?:@(?P<ref>.+))?")
_SSH_SHORT = re.compile(r"(?P<url>(?:[A-Za-z0-9][\w.-]*@)?[A-Za-z0-9][\w.-]*:[^/@\s][^@\s]*)(?:@(?P<ref>.+))?")
_URL = re.compile(r"(?P<url>[a-z]+://(?:[^/\s]*@)?[^/@\s]*(?:/[^@\s]*)?)(?:@(?P<ref>.+))?")
_REF = re.compile(r"[A-Za-z0-9_][\w./+-]{0,199}", re.ASCII)
_MARKETPLACE = re.compile(r"(?P<plugin>[A-Za-z0-9][\w.-]*)@(?P<marketplace>[A-Za-z0-9][\w.-]*)")
_HASH = re.compile(r"[0-9a-f]{7,64}")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PROTOCOLS = {"https": "https", "ssh": "ssh", "file": "file", "http": "http:https"}
_FOREIGN_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
                      "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF",
                      "GIT_TRACE", "SSH_ASKPASS", "GIT_PROXY_COMMAND")  # fmt: skip


class PluginSource(Struct, frozen=True, kw_only=True):
    """Where a plugin is.

    Attributes:
        url: an address for git, or the absolute path of a folder that is copied.
        ref: a branch, a tag or a commit; "" for the default branch.
        path: the folder in the repository, without "." and ".."; "" for all of it.
        is_folder: `url` is a folder.
    """

    url: str
    ref: str = ""
    path: str = ""
    is_folder: bool = False

    @property
    def text(self) -> str:
        """The source as the user would write it."""
        return self.url + (f"@{self.ref}" if self.ref else "")

    @property
    def base_name(self) -> str:
        """The last part of the path or address, in lower case, for a plugin without a name."""
        name = (self.path or self.url).rstrip("/").rpartition("/")[2].rpartition(":")[2]
        return name.removesuffix(".git").lower()


def parse_source(text: str, *, path: str = "", base: Path | None = None) -> PluginSource:
    """Parse an address. Raises UsageError.

    Args:
        path: the folder in the repository.
        base: the folder that a relative path of a folder begins at.
    """
    path = clean_path(path)
    if text.startswith((".", "/", "~")) or (os.name == "nt" and re.match(r"[A-Za-z]:[\\/]", text)):
        folder = ((base or Path.cwd()) / Path(text).expanduser()).resolve()
        if not folder.is_dir():
            raise UsageError(tr("There is no folder {folder}", folder=folder))
        return PluginSource(url=str(folder), path=path, is_folder=True)
    if "://" in text:
        found = _URL.fullmatch(text)
        url = _check_url(found["url"] if found else text)
    elif found := _GITHUB_NAME.fullmatch(text):
        url = f"https://github.com/{found['name']}.git"
    elif found := _SSH_SHORT.fullmatch(text):
        url = found["url"]
    else:
        raise UsageError(
            tr(
                "{text!r} is not the address of a plugin; write OWNER/NAME for GitHub, an address that begins with "
                "https://, ssh:// or file://, or a folder such as ./NAME",
                text=text[:200],
            )
        )
    return PluginSource(url=url, ref=check_ref((found["ref"] if found else "") or ""), path=path)


def split_marketplace_name(text: str) -> tuple[str, str] | None:
    """Return plugin and marketplace of `PLUGIN@MARKETPLACE`; None for an address."""
    found = _MARKETPLACE.fullmatch(text)
    return (found["plugin"], found["marketplace"]) if found else None


def clean_path(path: str) -> str:
    """Return a path in a repository without "." and with "/" as separator. Raises UsageError if it leads outside."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not path.isprintable() or ":" in path:
        raise UsageError(tr("{path!r} is not a folder inside the repository", path=path[:200]))
    return "/".join(parts)


def check_ref(ref: str) -> str:
    """Return the name of a branch, tag or commit. Raises UsageError if git could read it as anything else."""
    if ref and (not _REF.fullmatch(ref) or ".." in ref or ref.endswith((".lock", "/", "."))):
        raise UsageError(tr("{ref!r} is not the name of a branch, tag or commit", ref=ref[:100]))
    return ref


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise UsageError(tr("{url!r} is not an address", url=url[:200])) from None
    if parts.scheme not in _PROTOCOLS:
        raise UsageError(
            tr("a plugin is fetched over https, ssh or file, not {scheme!r}", scheme=clean_scheme(parts.scheme))
        )
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise UsageError(tr("http:// can be changed on the way; use https://"))
    if parts.password or (parts.username and parts.scheme != "ssh"):
        raise UsageError(
            tr("leave the login out of the address, which is saved; set up a credential helper of git, or use ssh")
        )
    if parts.scheme != "file" and (not host or host.startswith("-")):
        raise UsageError(tr("{url!r} names no server", url=url[:200]))
    if not url.isprintable() or parts.query or parts.fragment:
        raise UsageError(tr("{url!r} is not the address of a repository", url=url[:200]))
    return url


def clean_scheme(scheme: str) -> str:
    """Return a scheme for a message."""
    return "".join(char for char in scheme[:20] if char.isprintable())


def _remove_abandoned() -> None:
    """Remove what killed processes of this user have fetched."""
    for path in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        is_own = status.st_uid == os.getuid() if os.name != "nt" else True
        if is_own and stat.S_ISDIR(status.st_mode) and status.st_mtime < time.time() - _ABANDONED_S:
            shutil.rmtree(path, ignore_errors=True)


class PluginFile(Struct, frozen=True, kw_only=True):
    """One file of a plugin."""

    path: str
    data: bytes
    is_program: bool = False


class FetchedFiles(Struct, frozen=True, kw_only=True):
    """The files of a plugin. commit: "" for a folder. left_out: sentences about entries that are not copied."""

    commit: str
    files: tuple[PluginFile, ...]
    left_out: tuple[str, ...] = ()


class Repository:
    """A repository fetched into a temporary folder. Use it as a context manager; blocks while git runs."""

    def __init__(self, source: PluginSource) -> None:
        self.source = source
        self.commit = ""
        self._env = _make_environment(source.url)
        self._folder = Path()

    def __enter__(self) -> "Repository":
        if self.source.is_folder:
            return self
        _remove_abandoned()
        self._folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
        try:
            self._run("init", "-q", "--bare", "--template=", ".")
            self.commit = self._fetch()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder != Path():
            shutil.rmtree(self._folder, ignore_errors=True)

    def read_file(self, path: str) -> bytes | None:
        """Return a file of the repository; None if there is none. Raises ClioError."""
        path = "/".join(filter(None, (self.source.path, path)))
        if self.source.is_folder:
            found = Path(self.source.url) / path
            if not found.is_file() or not found.resolve().is_relative_to(Path(self.source.url)):
                return None
            return found.read_bytes() if found.stat().st_size <= MAX_FILE_BYTES else None
        rows = self._list_tree(f"{self.commit}", path)
        if len(rows) != 1 or rows[0].kind != "blob" or rows[0].mode == _LINK_MODE or rows[0].size > MAX_FILE_BYTES:
            return None
        return self._read_objects([rows[0].id])[0]

    def read_files(self) -> FetchedFiles:
        """Return the files of the plugin's folder. Raises ClioError for what no plugin may contain."""
        path = self.source.path
        if self.source.is_folder:
            return _read_folder(Path(self.source.url), path)
        tree = f"{self.commit}:{path}" if path else self.commit
        if path and self._run("cat-file", "-t", tree, accepts_failure=True) != b"tree\n":
            raise ClioError(tr("There is no folder {path!r} in {source}", path=path, source=self.source.text))
        rows = self._list_tree(tree)
        return self._read_rows(rows)

    def _fetch(self) -> str:
        ref = self.source.ref or "HEAD"
        common = ("fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance")
        fetched = self._run(*common, "--depth=1", "--", self.source.url, ref, limits=True, accepts_failure=True)
        if fetched is None and _HASH.fullmatch(ref):
            # Many servers send no commit by its hash, and none by a part of it.
            specs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            self._run(*common, "--", self.source.url, *specs, limits=True)
        elif fetched is None:
            self._run(*common, "--depth=1", "--", self.source.url, ref, limits=True)
        else:
            ref = "FETCH_HEAD"
        commit = self._run("rev-parse", "--verify", "-q", f"{ref}^{{commit}}", accepts_failure=True)
        if commit is None:
            raise ClioError(tr("There is no commit {ref!r} in {url}", ref=self.source.ref, url=self.source.url))
        return commit.decode("ascii").strip()

    def _list_tree(self, *words: str) -> "list[_TreeRow]":
        recursive = ("-r",) if len(words) == 1 else ()
        output = self._run("ls-tree", "-z", "-l", *recursive, "--full-tree", *words, max_output_bytes=_MAX_LIST_BYTES)
        assert output is not None
        return [_parse_tree_row(row) for row in output.split(b"\0") if row]

    def _read_rows(self, rows: "Sequence[_TreeRow]") -> FetchedFiles:
        left_out = [tr("{path} is a submodule", path=_show(row.path)) for row in rows if row.kind == "commit"]
        rows = [row for row in rows if row.kind == "blob"]
        for row in rows:
            _check_file_path(row.path)
        _check_size([(row.path, row.size) for row in rows])
        by_path = {row.path: row for row in rows}
        targets: dict[str, str] = {}
        links = [row for row in rows if row.mode == _LINK_MODE]
        for row, target in zip(links, self._read_objects([row.id for row in links]), strict=True):
            inside = _resolve_link(row.path, target)
            if inside in by_path and by_path[inside].mode != _LINK_MODE:
                targets[row.path] = inside
            else:
                left_out.append(tr("{path} is a link to a folder or another link", path=_show(row.path)))
        wanted = [row for row in rows if row.mode != _LINK_MODE or row.path in targets]
        contents = self._read_objects([by_path[targets.get(row.path, row.path)].id for row in wanted])
        return FetchedFiles(
            commit=self.commit,
            files=tuple(
                PluginFile(
                    path=row.path,
                    data=data,
                    is_program=by_path[targets.get(row.path, row.path)].mode == _PROGRAM_MODE,
                )
                for row, data in zip(wanted, contents, strict=True)
            ),
            left_out=tuple(left_out),
        )

    def _read_objects(self, ids: Sequence[str]) -> list[bytes]:
        if not ids:
            return []
        output = self._run("cat-file", "--batch", stdin="".join(f"{id}\n" for id in ids).encode("ascii"))
        assert output is not None
        found: list[bytes] = []
        at = 0
        for _ in ids:
            end = output.index(b"\n", at)
            size = int(output[at:end].split()[2])
            found.append(output[end + 1 : end + 1 + size])
            at = end + 2 + size
        return found

    def _run(
        self,
        *words: str,
        stdin: bytes = b"",
        limits: bool = False,
        accepts_failure: bool = False,
        max_output_bytes: int = MAX_TOTAL_BYTES + _MAX_LIST_BYTES,
    ) -> bytes | None:
        """Return the output of git; None if it failed and that is accepted.

        Args:
            limits: watch time and size of a fetch.
            max_output_bytes: a tree that contains the same tree often is small, but lists millions of files.
        """
        command = ["git", "--no-pager", *_SETTINGS, *words]
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            try:
                process = subprocess.Popen(
                    command, cwd=self._folder, env=self._env, stdin=given, stdout=output, stderr=errors,
                    start_new_session=True,
                )  # fmt: skip
            except FileNotFoundError:
                raise ClioError(tr("git is not installed; install it, or add the plugin from a folder")) from None
            try:
                for _ in self._wait(process, FETCH_TIMEOUT_S if limits else _READ_TIMEOUT_S, watches_size=limits):
                    if os.fstat(output.fileno()).st_size > max_output_bytes:
                        raise ClioError(tr("the repository has too many files; name the plugin's folder with --path"))
            except BaseException:
                _kill_group(process)
                raise
            output.seek(0)
            if process.returncode == 0:
                return output.read()
            if accepts_failure:
                return None
            errors.seek(0)
            raise ClioError(_explain_failure(self.source, errors.read(20_000).decode("utf-8", "replace")))

    def _wait(self, process: "subprocess.Popen[bytes]", timeout_s: float, *, watches_size: bool) -> Iterator[None]:
        """Wait until the process has ended; yield again and again meanwhile, and once after that."""
        ends_at = time.monotonic() + timeout_s
        while True:
            try:
                process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                if time.monotonic() > ends_at:
                    raise ClioError(tr("git took longer than {timeout_s:g} s", timeout_s=timeout_s)) from None
            yield
            if watches_size and _measure_folder(self._folder) > MAX_DOWNLOAD_BYTES:
                raise ClioError(
                    tr("the repository is larger than {size}", size=format_bytes(MAX_DOWNLOAD_BYTES))
                ) from None
            if process.returncode is not None:
                return


_SETTINGS = (
    *SAFE_SWITCHES,
    *NO_HOOKS,
    *("-c", "core.askPass="),
    *("-c", "core.symlinks=false"),
    *("-c", "core.bigFileThreshold=1m"),
    *("-c", "fetch.unpackLimit=1"),
    *("-c", "fetch.recurseSubmodules=false"),
    *("-c", "transfer.bundleURI=false"),
    # Without clio, which watches it, git would wait for a silent server for ever.
    *("-c", "http.lowSpeedLimit=1"),
    *("-c", "http.lowSpeedTime=60"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "protocol.version=2"),
    *("-c", "init.defaultBranch=main"),
    *("-c", "safe.bareRepository=all"),
)
_LINK_MODE, _PROGRAM_MODE = "120000", "100755"


class _TreeRow(Struct, frozen=True):
    mode: str
    kind: str
    id: str
    size: int
    path: str


def _parse_tree_row(row: bytes) -> _TreeRow:
    fields, _, path = row.partition(b"\t")
    mode, kind, id, size = fields.decode("ascii").split()
    return _TreeRow(mode, kind, id, int(size) if size.isdigit() else 0, path.decode("utf-8", "surrogateescape"))


def _make_environment(url: str) -> dict[str, str]:
    """Return an environment in which git asks nothing and uses no other protocol than that of the address."""
    scheme = url.partition("://")[0] if "://" in url else "ssh"
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN_VARIABLES}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GCM_INTERACTIVE": "never",
        # git runs without a terminal (see `start_new_session`), so that ssh cannot ask there either.
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS.get(scheme, "none"),
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_CEILING_DIRECTORIES": tempfile.gettempdir(),
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "C",
    }


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """End git and the programs it started for the transport."""
    if process.returncode is None and os.name != "nt":
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            return
    elif process.returncode is None:
        process.kill()
    process.wait()


def _measure_folder(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(path, name).lstat().st_size
            except FileNotFoundError:  # git renames its temporary files
                continue
    return total


def _explain_failure(source: PluginSource, errors: str) -> str:
    lines = [line.removeprefix("fatal: ").strip() for line in errors.splitlines() if line.strip()]
    reason = "".join(char for char in (lines[0] if lines else "") if char.isprintable())[:200]
    if "could not read Username" in errors or "Authentication failed" in errors or "Permission denied" in errors:
        return tr(
            "{source} does not exist, or needs a login, and clio asks for none; set up a credential helper or a key",
            source=source.text,
        )
    if "couldn't find remote ref" in errors:
        return tr("There is no branch or tag {ref!r} in {url}", ref=source.ref or "HEAD", url=source.url)
    return tr("git cannot fetch {source}: {reason}", source=source.text, reason=reason or "no reason given")


def _show(path: str) -> str:
    return path if path.isprintable() else ascii(path)


def _check_file_path(path: str) -> None:
    """Raise UserError for a path that could be written elsewhere, or be shown as another."""
    parts = path.split("/")
    if len(parts) > _MAX_DEPTH or len(path) > _MAX_PATH_CHARS:
        raise ClioError(tr("the plugin has folders that are nested too deeply: {path}", path=_show(path[:100])))
    is_safe = path.isprintable() and "\\" not in path and ":" not in path and not path.startswith("/")
    if not is_safe or any(_is_unsafe_part(part) for part in parts):
        raise ClioError(tr("the repository has a file with a name that no plugin may have: {path}", path=ascii(path)))


def _is_unsafe_part(part: str) -> bool:
    plain = part.rstrip(". ").lower()
    return part in ("", ".", "..") or plain in (".git", "git~1") or len(os.fsencode(part)) > _MAX_PART_BYTES


def _check_size(sizes: Sequence[tuple[str, int]]) -> None:
    if len(sizes) > MAX_PLUGIN_FILES:
        raise ClioError(
            tr(
                "the plugin has {count:,} files, more than {limit:,}; name its folder with --path",
                count=len(sizes),
                limit=MAX_PLUGIN_FILES,
            )
        )
    for path, size in sizes:
        if size > MAX_FILE_BYTES:
            raise ClioError(tr("{path} is larger than {size}", path=_show(path), size=format_bytes(MAX_FILE_BYTES)))
    if sum(size for _, size in sizes) > MAX_TOTAL_BYTES:
        raise ClioError(
            tr("the plugin is larger than {size}; name its folder with --path", size=format_bytes(MAX_TOTAL_BYTES))
        )
    _check_collisions([path for path, _ in sizes])


def _check_collisions(paths: Sequence[str]) -> None:
    """Raise ClioError for names that are one on some systems: what was shown would not be what is on disk."""
    spellings: dict[str, str] = {}
    files = {_fold(path) for path in paths}
    for path in paths:
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            part = "/".join(parts[:count])
            folded = _fold(part)
            is_file_too = count < len(parts) and folded in files
            if is_file_too or spellings.setdefault(folded, part) != part:
                raise ClioError(
                    tr(
                        "the plugin has two names that are one where upper and lower case do not count: {path}",
                        path=_show(part),
                    )
                )
    if len(files) < len(paths):
        raise ClioError(tr("the plugin has the same file twice"))


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _resolve_link(path: str, target: bytes) -> str:
    """Return the path that a link in the plugin points to. Raises ClioError if that is outside."""
    text = target.decode("utf-8", "surrogateescape")
    parts = list(PurePosixPath(path).parent.parts)
    for part in text.split("/"):
        if part == ".." and not parts:
            text = "/"
            break
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if text.startswith("/") or "\\" in text:
        raise ClioError(tr("{path} is a link to a place outside the plugin", path=_show(path)))
    return "/".join(parts)


def _read_folder(root: Path, path: str) -> FetchedFiles:
    """Return the files of a folder on this machine, without its `.git`."""
    folder = root / path
    if not folder.is_dir() or not folder.resolve().is_relative_to(root):
        raise ClioError(tr("There is no folder {path!r} in {source}", path=path, source=root))
    found: list[tuple[str, Path, os.stat_result]] = []
    left_out: list[str] = []
    for name, file in _walk_folder(folder, ""):
        if file.is_symlink():
            if not file.resolve().is_relative_to(folder.resolve()):
                raise ClioError(tr("{path} is a link to a place outside the plugin", path=_show(name)))
            if not file.is_file():
                left_out.append(tr("{path} is a link to a folder or another link", path=_show(name)))
                continue
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            left_out.append(tr("{path} is not a file", path=_show(name)))
            continue
        _check_file_path(name)
        found.append((name, file, status))
        if len(found) > MAX_PLUGIN_FILES:
            break
    _check_size([(name, status.st_size) for name, _, status in found])
    files = tuple(
        PluginFile(path=name, data=file.read_bytes(), is_program=bool(status.st_mode & stat.S_IXUSR))
        for name, file, status in found
    )
    return FetchedFiles(commit="", files=files, left_out=tuple(left_out))


def _walk_folder(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name == ".git":
            continue
        if entry.is_dir(follow_symlinks=False):
            _check_file_path(f"{prefix}{entry.name}")
            yield from _walk_folder(Path(entry.path), f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", Path(entry.path)
