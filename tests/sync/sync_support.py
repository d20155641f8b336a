"""Machines that share a bare repository on this disk."""

import os
import subprocess
from pathlib import Path

from torture.sync import Machine

ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *words: str, stdin: bytes = b"") -> str:
    """Run git and return its output."""
    done = subprocess.run(["git", *words], cwd=folder, env=ENV, input=stdin, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").strip()


def make_remote(folder: Path) -> Path:
    """Make an empty bare repository."""
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
    return folder / "remote.git"


def make_machines(folder: Path, count: int, identity: str = "") -> list[Machine]:
    """Make this many machines of one user, with a remote."""
    remote = make_remote(folder)
    return [Machine(folder, number, remote, 0.0, identity) for number in range(count)]


def read_remote(remote: Path) -> dict[str, str]:
    """Return every file of the remote with its text."""
    names = git(remote, "ls-tree", "-r", "--name-only", "main").splitlines()
    return {name: git(remote, "show", f"main:{name}") for name in names}


def commit(remote: Path, entries: list[tuple[str, str, bytes]]) -> None:
    """Replace the remote's branch by a commit that has these entries too: mode, path and content."""
    listed = git(remote, "ls-tree", "-r", "main").splitlines()
    tree = dict[str, str]()
    for line in listed:
        head, _, path = line.partition("\t")
        tree[path] = head
    for mode, path, data in entries:
        tree[path] = f"{mode} blob {git(remote, 'hash-object', '-w', '--stdin', stdin=data)}"
    top = _write_tree(remote, {tuple(path.split("/")): head for path, head in tree.items()})
    parent = git(remote, "rev-parse", "main")
    made = git(remote, "-c", "user.name=x", "-c", "user.email=x@example.invalid", "commit-tree", "-p", parent,
               "-m", "hostile", top)  # fmt: skip
    git(remote, "update-ref", "refs/heads/main", made)


def _write_tree(remote: Path, entries: dict[tuple[str, ...], str]) -> str:
    lines, folders = list[str](), dict[str, dict[tuple[str, ...], str]]()
    for path, head in entries.items():
        if len(path) == 1:
            lines.append(f"{head}\t{path[0]}")
        else:
            folders.setdefault(path[0], {})[path[1:]] = head
    lines += [f"040000 tree {_write_tree(remote, below)}\t{name}" for name, below in folders.items()]
    return git(remote, "mktree", stdin="".join(f"{line}\n" for line in lines).encode())
