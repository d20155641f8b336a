"""The local copy of the user's private git repository: fetch, list, read, commit and push, without a working tree.

Files are only git objects here. Nothing is checked out, so links, paths such as `../x`, hooks and filters that the
remote brings have no effect; git merges nothing, and no command of git needs a lock that a killed process would leave.
"""

import os
import re
import selectors
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from clio.errors import ClioError, UserError
from clio.git.repository import decode_output, make_git_environment
from clio.readonly_git import NO_HOOKS, PLAIN_OUTPUT, SAFE_SWITCHES, run_git
from clio.storage.files import make_folder, write_atomic
from clio.text.formatting import format_bytes
from clio.text.translation import tr
from clio.text.untrusted_text import make_inert_line

BRANCH = "refs/heads/main"
NETWORK_TIMEOUT_S = 120.0
LOCAL_TIMEOUT_S = 60.0
MAX_FETCH_BYTES = 512_000_000
"""Limit of one download: a hostile remote cannot fill the disk."""
MAX_FILES = 200_000
MAX_TOTAL_BYTES = 8_000_000_000
"""Limit of all files together, unpacked: a small download can unpack to a thousand times its size."""
MAX_OUTPUT_BYTES = 128_000_000
"""Limit of what a command of git prints. A tree that contains one tree many times lists millions of files."""
MAX_BATCH_BYTES = 64_000_000
"""So many bytes of files are read at a time, or one file."""
MAX_LOOSE_OBJECTS = 6_000
PUBLIC_HOSTS = frozenset(("github.com", "gitlab.com", "codeberg.org", "bitbucket.org"))
"""Hosts whose ssh and https addresses have the same path, so that it can be asked whether a repository is public."""
_BATCH_FILES, _HEAD_BYTES = 500, 200
_READ_BYTES = 1 << 20
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SCP_ADDRESS = re.compile(r"[\w.-]+@[\w.-]+:[^:].*")
_SCHEMES = frozenset(("https", "ssh", "file", "git+ssh"))
# `ext` and helpers of other names would let an address run a program.
_SAFETY = (
    *("-c", "protocol.allow=never", "-c", "protocol.https.allow=always", "-c", "protocol.ssh.allow=always"),
    *("-c", "protocol.file.allow=always", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "fetch.fsckObjects=true", "-c", "fetch.recurseSubmodules=false", "-c", "push.recurseSubmodules=no"),
    *("-c", "push.gpgSign=false", "-c", "commit.gpgSign=false", "-c", "core.logAllRefUpdates=false"),
)


_ON_THE_OTHER_SIDE = shlex.join(
    (
        *("git", *NO_HOOKS, "-c", "core.alternateRefsCommand=true", "-c", "core.fsmonitor=false"),
        # A remote with files would check out what is pushed, with its own filters.
        *("-c", "receive.denyCurrentBranch=refuse", "-c", "receive.autogc=false"),
        # A remote with a remote of its own would fetch what it lacks from there, with its own programs.
        *(part for name in ("", ".file", ".ssh", ".https", ".http", ".git", ".ext")
          for part in ("-c", f"protocol{name}.allow=never")),
    )
)  # fmt: skip
"""How git is started in a remote that is a folder: its hooks and settings would run as the user, not on a server."""


class RemoteUnreachable(ClioError):
    """The remote cannot be reached or refuses access; nothing was changed."""


class GitFailed(ClioError):
    """A command of git on the local clone failed, as when its files are damaged."""


class PushRejected(ClioError):
    """Another machine has pushed since the last fetch."""


class RemoteFile(Struct, frozen=True):
    """One file of a commit. mode: as git writes it; "100644" for an ordinary file."""

    path: str
    mode: str
    blob: str
    size: int


def check_remote(address: str) -> str:
    """Return the address of a remote in the form that is stored. Raises UserError for one clio does not use."""
    address = address.strip()
    if not address or address.startswith("-") or any(ord(char) < 32 or ord(char) == 127 for char in address):
        raise UserError(tr("{address!r} is not the address of a git repository", address=address))
    if _SCP_ADDRESS.fullmatch(address):
        return address
    if "://" not in address:
        if "::" in address:
            raise UserError(tr("{address!r} would run a program; use an ssh or https address", address=address))
        return str(Path(address).expanduser().absolute())
    parts = urlsplit(address)
    if parts.scheme not in _SCHEMES:
        raise UserError(
            tr("{scheme}:// is not encrypted or not supported; use an ssh or https address", scheme=parts.scheme)
        )
    if parts.password:
        raise UserError(
            tr("the address contains a password, which would be stored in a file; leave it to git's credential helper")
        )
    return address


class SyncRepository:
    """The bare clone in `~/.clio/sync/repository.git`. Methods raise UserError, ClioError and OSError.

    Only one process may use it at a time; the caller holds the lock.
    """

    def __init__(self, folder: Path, remote: str) -> None:
        self.folder = folder
        self.remote = remote
        self._size_of: dict[str, int] = {}

    def create(self) -> None:
        """Create the clone if there is none, or if a killed process left half of one."""
        if self._is_complete():
            return
        make_folder(self.folder.parent)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._run("init", "--quiet", "--bare", "--initial-branch=main", "--template=", str(self.folder), there=False)

    def head(self) -> str:
        """Return the commit last agreed on with the remote; "" if there is none."""
        try:
            commit = (self.folder / BRANCH).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return ""
        return commit if _OBJECT.fullmatch(commit) and self._has_object(commit) else ""

    def set_head(self, commit: str) -> None:
        """Record the commit agreed on with the remote. Written without git, whose lock a killed process would leave."""
        path = self.folder / BRANCH
        make_folder(path.parent)
        write_atomic(path, f"{commit}\n".encode())

    def fetch(self) -> str:
        """Download the remote's commits; return its newest one, "" if it has none. Raises RemoteUnreachable."""
        for _ in range(5):
            listed = self._call_remote("ls-remote", *self._list_options("upload-pack"), "--", self.remote, BRANCH)
            commit = listed.split("\t")[0].strip()
            if not commit:
                return ""
            if not _OBJECT.fullmatch(commit):
                raise RemoteUnreachable(tr("the remote answered something that is not a git repository's list"))
            if self._has_object(commit):
                return commit
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", *self._list_options("upload-pack"))
            self._call_remote("fetch", *options, "--", self.remote, BRANCH)
            if self._has_object(commit):
                return commit
            # The branch was replaced between the two calls.
        raise RemoteUnreachable(tr("the remote's branch main changes faster than it can be read; try again later"))

    def push(self, commit: str) -> None:
        """Make a commit the remote's newest one. Raises PushRejected, RemoteUnreachable."""
        try:
            options = ("--quiet", "--no-verify", *self._list_options("receive-pack"))
            self._call_remote("push", *options, "--", self.remote, f"{commit}:{BRANCH}")
        except RemoteUnreachable as error:
            text = str(error)
            if any(word in text for word in ("rejected", "fetch first", "cannot lock ref", "failed to update ref")):
                raise PushRejected(text) from error
            raise

    def _list_options(self, program: str) -> tuple[str, ...]:
        """Return the option that says how the remote's side of a transfer is started, if that is on this machine."""
        is_folder = self.remote.startswith("file://") or Path(self.remote).is_absolute()
        return (f"--{program}={_ON_THE_OTHER_SIDE} {program}",) if is_folder else ()

    def tidy(self) -> None:
        """Pack the objects once there are many; git's own `gc` would do it whenever it likes."""
        # One of 256 folders tells how many there are, as git itself estimates it.
        sample = self.folder / "objects" / "17"
        if sample.is_dir() and sum(1 for _ in sample.iterdir()) * 256 > MAX_LOOSE_OBJECTS:
            self._start("gc", "--quiet", "--prune=now")

    def is_ancestor(self, commit: str, of: str) -> bool:
        """Return whether a commit is part of the history of another."""
        done = self._start("merge-base", "--is-ancestor", commit, of)
        return done.returncode == 0

    def list_files(self, commit: str) -> dict[str, RemoteFile]:
        """Return the files of a commit by path. Raises UserError if there are far more than clio ever writes."""
        if not commit:
            return {}
        return self._list(commit, "-r")

    def list_top(self, commit: str) -> dict[str, RemoteFile]:
        """Return the files and folders at the top of a commit by name."""
        return self._list(commit)

    def _list(self, commit: str, *options: str) -> dict[str, RemoteFile]:
        listed = self._run_bytes("ls-tree", *options, "-z", "--long", "--full-tree", commit)
        found: dict[str, RemoteFile] = {}
        for line in listed.split(b"\0"):
            head, tab, path = line.partition(b"\t")
            if not tab:
                continue
            mode, _, blob, size = head.decode("ascii", "replace").split()
            name = path.decode("utf-8", "surrogateescape")
            found[name] = RemoteFile(name, mode, blob, int(size) if size.isdigit() else 0)
            if len(found) > MAX_FILES:
                raise UserError(tr("the remote has more than {count:,} files; it is not clio's", count=MAX_FILES))
        self._size_of.update((file.blob, file.size) for file in found.values())
        if sum(file.size for file in found.values()) > MAX_TOTAL_BYTES:
            limit = format_bytes(MAX_TOTAL_BYTES)
            raise UserError(tr("the remote has more than {limit} of files; it is not clio's", limit=limit))
        return found

    def get_size(self, blob: str) -> int:
        """Return the size of a blob of a commit that was listed, in bytes; 0 if it is unknown."""
        return self._size_of.get(blob, 0)

    def read_blobs(self, blob_of: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield each path with the content of its blob; paths of missing blobs are left out."""
        for part in self._split_batches(blob_of.items()):
            names = "".join(f"{blob}\n" for _, blob in part).encode()
            limit = sum(self.get_size(blob) + _HEAD_BYTES for _, blob in part)
            data = self._run_bytes("cat-file", "--batch", stdin=names, limit_bytes=max(limit, MAX_OUTPUT_BYTES))
            position = 0
            for path, _ in part:
                end = data.index(b"\n", position)
                words = data[position:end].split()
                position = end + 1
                if len(words) == 3 and words[1] == b"blob":
                    size = int(words[2])
                    yield path, data[position : position + size]
                    position += size + 1

    def _split_batches(self, wanted: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
        """Yield paths and blobs in groups that are read at once."""
        part: list[tuple[str, str]] = []
        size = 0
        for path, blob in wanted:
            if part and (len(part) == _BATCH_FILES or size + self.get_size(blob) > MAX_BATCH_BYTES):
                yield part
                part, size = [], 0
            part.append((path, blob))
            size += self.get_size(blob)
        if part:
            yield part

    def commit(self, files: Mapping[str, bytes], parents: Sequence[str], at: float) -> str:
        """Write a commit with the files of its first parent and these, and return its name.

        The whole commit is one call of git: a process that is killed leaves no part of it that anything refers to.
        """
        stamp = f"clio <clio@localhost> {int(at)} +0000"
        ref = f"refs/clio/{os.urandom(8).hex()}"
        parts = [f"commit {ref}\nmark :1\nauthor {stamp}\ncommitter {stamp}\ndata 4\nsync\n".encode()]
        parts += [f"{'from' if number == 0 else 'merge'} {one}\n".encode() for number, one in enumerate(parents)]
        for path, data in files.items():
            parts += [f"M 100644 inline {path}\ndata {len(data)}\n".encode(), data, b"\n"]
        parts.append(f"\nget-mark :1\nreset {ref}\nfrom {'0' * 40}\n\ndone\n".encode())
        done = self._run_bytes("fast-import", "--quiet", "--done", "--force", stdin=b"".join(parts))
        commit = done.decode("ascii", "replace").strip()
        if not _OBJECT.fullmatch(commit):
            raise GitFailed(tr("git could not write the changes: {text}", text=make_inert_line(commit)))
        return commit

    @cached_property
    def _own_ssh_command(self) -> bool:
        """Whether the user's git has a command for ssh, which an environment variable would replace."""
        done = subprocess.run(["git", "config", "--get", "core.sshCommand"], capture_output=True, check=False)
        return done.returncode == 0

    def _is_complete(self) -> bool:
        return (
            (self.folder / "HEAD").is_file() and (self.folder / "objects").is_dir() and (self.folder / "refs").is_dir()
        )

    def _has_object(self, commit: str) -> bool:
        return self._start("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0

    def _call_remote(self, name: str, *arguments: str) -> str:
        """Run a command that talks to the remote; its credentials are the user's own git's and ssh's."""
        done = self._start(name, *arguments, timeout_s=NETWORK_TIMEOUT_S, limits_files=name == "fetch")
        if done.returncode:
            raise RemoteUnreachable(
                tr("can't {action} {remote}: {reason}", action=name, remote=self.remote, reason=_explain(done.stderr))
            )
        return decode_output(done.stdout)

    def _run(self, *arguments: str, there: bool = True) -> str:
        return decode_output(self._run_bytes(*arguments, there=there))

    def _run_bytes(
        self, *arguments: str, stdin: bytes = b"", there: bool = True, limit_bytes: int = MAX_OUTPUT_BYTES
    ) -> bytes:
        done = self._start(*arguments, stdin=stdin, there=there, limit_bytes=limit_bytes)
        if done.returncode:
            raise GitFailed(tr("git {arguments} failed: {value}", arguments=arguments[0], value=_explain(done.stderr)))
        return done.stdout

    def _start(
        self,
        *arguments: str,
        stdin: bytes = b"",
        timeout_s: float = LOCAL_TIMEOUT_S,
        limits_files: bool = False,
        limit_bytes: int = MAX_OUTPUT_BYTES,
        there: bool = True,
    ) -> "subprocess.CompletedProcess[bytes]":
        place = (f"--git-dir={self.folder}",) if there else ()
        command = ["git", *PLAIN_OUTPUT, *SAFE_SWITCHES, *NO_HOOKS, *_SAFETY, *place, *arguments]
        if limits_files and os.name == "posix":
            blocks = MAX_FETCH_BYTES // 512
            command = ["/bin/sh", "-c", f"ulimit -f {blocks}; exec {shlex.join(command)}"]
        env = make_git_environment()
        env["GIT_CONFIG_COUNT"] = "0"
        if not self._own_ssh_command:
            env.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=15")
        env["GIT_ASKPASS"] = env["SSH_ASKPASS"] = ""
        env["GCM_INTERACTIVE"] = "never"
        try:
            return _run_bounded(command, stdin, env, self.folder.parent, timeout_s, limit_bytes)
        except FileNotFoundError as error:
            raise UserError(tr("git is not installed; install it, or work without it")) from error
        except subprocess.TimeoutExpired as error:
            raise RemoteUnreachable(
                tr("git {arguments} took longer than {timeout_s:.0f} s and was stopped", arguments=arguments[0],
                   timeout_s=timeout_s)
            ) from error  # fmt: skip


def _run_bounded(
    command: Sequence[str], stdin: bytes, env: Mapping[str, str], folder: Path, timeout_s: float, limit_bytes: int
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program like `subprocess.run`, but end it once it has printed more than `limit_bytes`.

    Raises OSError, TimeoutExpired, and UserError for the limit, which Windows has not: its pipes cannot be waited for.
    """
    if os.name == "nt":
        return subprocess.run(
            command, input=stdin, capture_output=True, timeout=timeout_s, check=False, env=env, cwd=folder
        )
    ends = time.monotonic() + timeout_s
    with (
        subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process,
        selectors.DefaultSelector() as selector,
    ):
        try:
            output, errors = _exchange(process, selector, stdin, ends, limit_bytes)
            process.wait(max(ends - time.monotonic(), 0.1))
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _exchange(
    process: "subprocess.Popen[bytes]", selector: selectors.BaseSelector, stdin: bytes, ends: float, limit_bytes: int
) -> tuple[bytes, bytes]:
    """Write a process's input and return its output and errors. Raises TimeoutExpired, UserError for too much."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    printed: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    for pipe in printed:
        selector.register(pipe, selectors.EVENT_READ)
    os.set_blocking(process.stdin.fileno(), False)
    selector.register(process.stdin, selectors.EVENT_WRITE)
    waiting = memoryview(stdin)
    while selector.get_map():
        ready = selector.select(max(ends - time.monotonic(), 0.0))
        if not ready:
            raise subprocess.TimeoutExpired(process.args, 0)
        for key, _ in ready:
            if key.fd in printed:
                data = os.read(key.fd, _READ_BYTES)
                printed[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
            else:
                with suppress(BrokenPipeError):
                    waiting = waiting[os.write(key.fd, waiting[:_READ_BYTES]) :] if waiting else waiting
                    if waiting:
                        continue
                selector.unregister(key.fileobj)
                with suppress(BrokenPipeError):
                    process.stdin.close()
        if sum(map(len, printed.values())) > limit_bytes:
            limit = format_bytes(limit_bytes)
            raise UserError(tr("the remote has lists of more than {limit}; it is not clio's", limit=limit))
    output, errors = printed.values()
    return bytes(output), bytes(errors)


def _explain(stderr: bytes) -> str:
    """Return git's own words on one line; a remote's text may contain anything."""
    lines = [line for line in decode_output(stderr).splitlines() if line.strip() and not line.startswith("hint:")]
    text = " ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in lines[-6:])
    return make_inert_line(text)[:400] or tr("git gave no reason")


def is_public(address: str) -> bool:
    """Return whether anybody can read a repository: whether its server answers without credentials over https.

    False also means that this could not be found out.
    """
    url, found = address, re.fullmatch(r"(?:ssh://)?(?:[\w.-]+@)?([\w.-]+)[:/](.+?)/?", address)
    if found is not None and found[1] in PUBLIC_HOSTS and not address.startswith("https://"):
        url = f"https://{found[1]}/{found[2]}"
    if not url.startswith("https://"):
        return False
    parts = urlsplit(url)
    url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    env = make_git_environment() | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": os.devnull}
    try:
        done = subprocess.run(
            ["git", *_SAFETY, "-c", "credential.helper=", "ls-remote", "--quiet", "--", url, "HEAD"],
            capture_output=True, timeout=15.0, check=False, env=env, stdin=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


_SCP_PARTS = re.compile(r"(?:[^@/\s]+@)?([\w.-]+):(?!//)(.+)")
_IDENTITY_TIMEOUT_S = 5.0


def find_project_identity(project: Path) -> str:
    """Return "github.com/example/app" for a project with a remote; "" for one that only its folder identifies.

    The remote's address is in the user's own git configuration and not in the repository's content, so a repository
    cannot claim to be another project.
    """
    address = (run_git(project, "config", "--get", "remote.origin.url", timeout_s=_IDENTITY_TIMEOUT_S) or "").strip()
    return normalize_address(address)


def normalize_address(address: str) -> str:
    """Return host and path of a remote's address, equal for its ssh and https forms; "" for a local path."""
    if "://" in address:
        parts = urlsplit(address)
        host, path = parts.hostname or "", parts.path
    elif found := _SCP_PARTS.fullmatch(address):
        host, path = found[1].lower(), found[2]
    else:
        return ""
    path = "/".join(part for part in path.removesuffix("/").removesuffix(".git").split("/") if part)
    return f"{host}/{path}" if host and path else ""
