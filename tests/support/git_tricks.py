"""Repositories with configuration that names a program wherever git accepts one, as an archive or a clone can have."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.repositories import git, make, write

CALLS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("status", "--short", "--ignore-submodules=none"),
    ("diff",),
    ("diff", "HEAD~1", "--stat"),
    ("diff", "--cached"),
    ("diff", "--submodule=log"),
    ("show", "--stat", "-p"),
    ("log", "-p", "--all"),
    ("log", "-1"),
    ("log", "-1", "--format=%H %s %d"),
    ("blame", "a.txt"),
    ("annotate", "a.txt"),
    ("grep", "-n", "line"),
    ("grep", "--untracked", "line"),
    ("describe", "--always", "--dirty"),
    ("describe", "--always", "--broken"),
    ("ls-files", "-m", "-o", "--exclude-standard"),
    ("ls-files", "-s"),
    ("ls-tree", "-r", "-l", "HEAD"),
    ("cat-file", "-p", "HEAD"),
    ("rev-parse", "HEAD"),
    ("rev-list", "--objects", "--all"),
    ("diff-files", "-p"),
    ("diff-index", "-p", "HEAD"),
    ("diff-tree", "-p", "-r", "HEAD"),
    ("range-diff", "HEAD~1..HEAD", "HEAD~1..HEAD"),
    ("whatchanged", "-1"),
    ("shortlog", "-s", "HEAD"),
    ("branch", "-vv"),
    ("branch", "--list"),
    ("tag", "-n"),
    ("for-each-ref",),
    ("show-ref",),
    ("show-branch",),
    ("stash", "list"),
    ("stash", "show", "-p"),
    ("reflog",),
    ("remote", "-v"),
    ("remote", "show", "-n", "origin"),
    ("config", "--list", "--name-only"),
    ("worktree", "list"),
    ("notes", "list"),
    ("check-ignore", "-v", "a.txt"),
    ("check-attr", "-a", "a.txt"),
    ("clean", "-n"),
    ("count-objects", "-v"),
    ("merge-base", "HEAD", "HEAD~1"),
    ("name-rev", "HEAD"),
    ("cherry", "HEAD~1"),
    ("symbolic-ref", "HEAD"),
    ("var", "GIT_EDITOR"),
    ("apply", "--check", "patch"),
)
"""One command line of each kind that runs without approval."""
_ATTRIBUTES = "*.txt diff=trap filter=trap merge=trap\n"
SETTINGS = (
    *("core.fsmonitor", "diff.external", "diff.trap.command", "diff.trap.textconv", "filter.trap.clean"),
    *("filter.trap.process", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"),
    *(
        "core.alternateRefsCommand",
        "sequence.editor",
        "credential.helper",
        "credential.https://x.helper",
        "gpg.program",
    ),
    *("gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "filter.trap.smudge", "merge.trap.driver", "man.x.cmd"),
    *("interactive.diffFilter", "uploadpack.packObjectsHook", "trailer.x.command", "trailer.x.cmd", "pager.log"),
    *("remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs", "browser.x.cmd", "web.browser"),
    *(
        "mergetool.x.cmd",
        "difftool.x.path",
        "sendemail.smtpServer",
        "tar.x.command",
        "instaweb.httpd",
        "hook.x.command",
    ),
    *("guitool.x.cmd", "imap.tunnel", "help.browser", "init.templateDir", "gc.recentObjectsHook", "alias.st"),
    *("lfs.customtransfer.x.path", "lfs.extension.x.clean", "core.unknownProgram", "unknown.key", "sequence.x.editor"),
)
"""Configuration keys that name a program, or that clio does not know; the value is the path of the canary program."""


class Tricks:
    """Makes hostile repositories under `folder`; each program they name adds a line to `log`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "sprung"
        self.canary = folder / "canary"
        self.canary.write_text(
            f"#!/bin/sh\necho ran >> '{self.log}'\n[ \"$1\" = quit ] || cat 2>/dev/null\nexit 0\n", encoding="utf-8"
        )
        self.canary.chmod(0o755)
        base = make(folder / "base", {"a.txt": "line 1\n", "docs/b.txt": "line\n", "patch": ""})
        write(base, {"a.txt": "line 1\nline 2\n", ".gitattributes": _ATTRIBUTES})
        git(base, "add", ".")
        git(base, "commit", "--quiet", "--message", "second")
        git(base, "tag", "v1")
        write(base, {"a.txt": "stashed\n"})
        git(base, "stash", "--quiet")

    def copy(self, name: str) -> Path:
        """Return a project of its own whose files are newer than its index says."""
        root = Path(shutil.copytree(self.folder / "base", self.folder / name, symlinks=True))
        write(root, {"a.txt": "line 1\nline 2\nline 3\n"})
        os.utime(root / "docs" / "b.txt", (1, 1))
        return root

    def pop_has_run(self) -> bool:
        """Whether a program of the repository has run since the last call; resets the log."""
        ran = self.log.exists()
        self.log.unlink(missing_ok=True)
        return ran

    def setting(self, key: str, name: str = "", file: str = ".git/config") -> Path:
        """Return a project whose configuration has this key."""
        root = self.copy(name or f"set-{key}".replace("/", "_"))
        value = f"!{self.canary}" if key.startswith("alias.") else str(self.canary)
        git(root, "config", "--file", file, key, value)
        return root

    def bare(self, where: str) -> Path:
        """Return a project with a bare repository committed as ordinary files, as a plain clone brings it."""
        root = self.copy(f"bare-{where.replace('/', '-')}")
        inner = root / where
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (inner / "config").write_text(
            f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = {self.canary}\n",
            encoding="utf-8",
        )
        (inner / "deep").mkdir()
        for name in ("objects", "refs"):
            (inner / name).write_text("", encoding="utf-8")
            (inner / name).chmod(0o755)
        return root

    def included(self) -> Path:
        root = self.copy("included")
        write(root, {".gitconfig": f"[core]\n\tfsmonitor = {self.canary}\n"})
        git(root, "config", "include.path", "../.gitconfig")
        return root

    def included_if(self) -> Path:
        root = self.copy("included-if")
        write(root, {"x.inc": f"[diff]\n\texternal = {self.canary}\n"})
        git(root, "config", "includeIf.onbranch:**.path", "../x.inc")
        return root

    def worktree_setting(self) -> Path:
        root = self.copy("worktree-setting")
        git(root, "config", "extensions.worktreeConfig", "true")
        git(root, "config", "--file", ".git/config.worktree", "core.fsmonitor", str(self.canary))
        return root

    def git_file(self) -> Path:
        """`.git` is a file that leads to a directory of the project."""
        root = self.copy("git-file")
        (root / ".git").rename(root / "data")
        (root / ".git").write_text("gitdir: data\n", encoding="utf-8")
        git(root, "config", "core.fsmonitor", str(self.canary))
        return root

    def common_dir(self) -> Path:
        """`.git` is a worktree's directory whose common directory is elsewhere in the project."""
        root = self.copy("common-dir")
        (root / ".git").rename(root / "shared")
        own = root / "shared" / "worktrees" / "w"
        own.mkdir(parents=True)
        for name, text in {
            "HEAD": "ref: refs/heads/main\n",
            "commondir": "../..\n",
            "gitdir": f"{root}/.git\n",
        }.items():
            (own / name).write_text(text, encoding="utf-8")
        shutil.copy(root / "shared" / "index", own / "index")
        (root / ".git").write_text("gitdir: shared/worktrees/w\n", encoding="utf-8")
        git(root, "config", "--file", "shared/config", "diff.external", str(self.canary))
        return root

    def hook(self, *, path: bool = False) -> Path:
        root = self.copy("hook-path" if path else "hook")
        hooks = root / "githooks" if path else root / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        shutil.copy(self.canary, hooks / "post-index-change")
        if path:
            git(root, "config", "core.hooksPath", "githooks")
        return root

    def submodule(self, key: str = "core.fsmonitor", *, absorbed: bool = True) -> Path:
        """Return a project with a submodule whose own configuration names a program.

        absorbed: whether the submodule's git directory is inside that of the project.
        """
        root = self.copy(f"submodule-{key}-{absorbed}")
        if absorbed:
            git(
                root,
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "--quiet",
                "add",
                str(self.folder / "base"),
                "part",
            )
        else:
            shutil.copytree(self.folder / "base", root / "part")
            git(root, "-c", "advice.addEmbeddedRepo=false", "add", "part")
        git(root, "commit", "--quiet", "--message", "part")
        write(root / "part", {"a.txt": "changed\n"})
        git(root / "part", "config", key, str(self.canary))
        return root

    def split_index_submodule(self) -> Path:
        root = self.submodule("filter.trap.clean", absorbed=False)
        target = self.folder / "split-index"
        root.rename(target)
        git(target, "update-index", "--split-index")
        return target


def environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment of a user without configuration, with these variables added."""
    cleaned = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_ASKPASS"))}
    return {**cleaned, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "TERM": "xterm", **(env or {})}


def run(
    root: Path, call: tuple[str, ...], env: Mapping[str, str] | None = None, given: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Run git as a shell would, with these variables added to the user's."""
    return subprocess.run(
        ["git", *call],
        cwd=root,
        env=environment(env),
        input=given.encode(),
        capture_output=True,
        check=False,
        timeout=20,
    )


def run_in_terminal(root: Path, call: tuple[str, ...], env: Mapping[str, str]) -> None:
    """Run git with a terminal as its output, which clio never gives it."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        ["git", *call], cwd=root, env=environment(env), stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        with suppress(OSError):
            while os.read(ours, 4096):
                pass
        process.wait(timeout=20)
    os.close(ours)


def find_running_program(tricks: Tricks, make_root: Callable[[], Path], folder: str = ".") -> tuple[Path, bool]:
    """Return the project, and whether at least one call runs its program without protection."""
    root = make_root()
    for call in CALLS:
        os.utime(root / "docs" / "b.txt")
        run(root / folder, call)
        if tricks.pop_has_run():
            return root, True
    return root, False
