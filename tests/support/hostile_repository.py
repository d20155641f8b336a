"""A repository unpacked from an archive, whose own configuration names a program wherever git accepts one."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.repositories import git, make, write

_ATTRIBUTES = "*.x diff=trap filter=trap merge=trap\n*.p filter=talks\n*.i filter=included\n*.o filter=odd.name\n"
_FILES = ("a.x", "b.p", "c.i", "d.w", "deep/e.x")
HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-index-change"),
    *("post-merge", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "post-rewrite", "pre-push"),
)  # fmt: skip
_PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"),
    *("core.alternateRefsCommand", "sequence.editor", "credential.helper", "gpg.program", "gpg.ssh.program"),
    *("diff.external", "diff.trap.command", "diff.trap.textconv", "filter.trap.clean", "filter.trap.smudge"),
    *("filter.talks.process", "filter.wide.clean", "merge.trap.driver", "interactive.diffFilter"),
    *("uploadpack.packObjectsHook", "trailer.sign.command", "remote.origin.uploadpack", "pager.status", "pager.log"),
)
_ON = (
    *("log.showSignature", "status.submoduleSummary", "commit.gpgSign", "submodule.recurse", "filter.trap.required"),
    *("remote.origin.promisor", "diff.trap.cachetextconv"),
)


class HostileRepository:
    """At `root`; every program that runs adds its name to `log`. A submodule `part` has the same configuration.

    The submodule has a filter of its own name. A file `gone` of the first commit is missing, so that git would ask the
    remote for it, whose address is a program.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.log = folder / "sprung"
        self._traps = folder / "traps"
        self._traps.mkdir(parents=True)
        self.log.touch()
        self._make(folder / "part", "part")
        self._make(self.root, "project")
        git(self.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(folder / "part"), "part")
        git(self.root, "commit", "--quiet", "--message", "part")
        self._sign()
        write(self.root, dict.fromkeys((*_FILES, "part/a.x", "part/b.p"), "six\n"))
        write(self.root, {"new.x": "new\n", "odd.o": "odd\n"})
        git(self.root, "add", "odd.o")
        self._arm(self.root, "project")
        self._arm(self.root / "part", "part")
        self.forget()

    def copied(self, folder: Path) -> Path:
        """Return a copy of the project as an archive gives it: no file has the inode and time in git's index."""
        return Path(shutil.copytree(self.root, folder, symlinks=True))

    def find_run_traps(self) -> set[str]:
        """Return the programs that have run since `forget`."""
        return set(self.log.read_text(encoding="utf-8").split("\n")) - {""}

    def forget(self) -> None:
        self.log.write_text("", encoding="utf-8")

    def _trap(self, name: str, then: str = "cat") -> str:
        path = self._traps / name.replace("/", "-")
        path.write_text(f"#!/bin/sh\necho '{name}' >> '{self.log}'\n{then}\nexit 0\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def _make(self, root: Path, name: str) -> None:
        make(root, {"gone": f"gone from {name}\n", ".gitattributes": _ATTRIBUTES})
        git(root, "rm", "--quiet", "gone")
        for text in ("one\n", "two\n"):
            write(root, dict.fromkeys(_FILES, text))
            git(root, "add", ".")
            git(root, "commit", "--quiet", "--message", text)

    def _sign(self) -> None:
        """Sign the newest commit, so that `log.showSignature` runs a program to check it."""
        head, _, body = git(self.root, "cat-file", "commit", "HEAD").partition("\n\n")
        block = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
        signed_path = self._traps / "signed"
        signed_path.write_bytes(f"{head}\n{block}\n\n{body}\n".encode())
        git(self.root, "reset", "--quiet", git(self.root, "hash-object", "-t", "commit", "-w", str(signed_path)))

    def _arm(self, root: Path, place: str) -> None:
        blob = git(root, "rev-parse", "HEAD~2:gone" if place == "part" else "HEAD~3:gone")
        own = root / git(root, "rev-parse", "--git-dir")
        objects = own / "objects"
        if (objects / blob[:2] / blob[2:]).exists():
            (objects / blob[:2] / blob[2:]).unlink()
        lines = [
            f"[{_section(key)}]\n\t{key.rpartition('.')[2]} = {self._trap(f'{place}:{key}')}\n" for key in _PROGRAMS
        ]
        lines += [f"[{_section(key)}]\n\t{key.rpartition('.')[2]} = true\n" for key in _ON]
        hooks = self._traps / f"{place}-hooks"
        hooks.mkdir()
        for name in HOOKS:
            (hooks / name).symlink_to(self._trap(f"{place}:hook {name}"))
        (own / "extra").write_text(
            f'[filter "included"]\n\tclean = {self._trap(f"{place}:included")}\n'
            f'[filter "odd.name"]\n\tclean = {self._trap(f"{place}:odd")}\n',
            encoding="utf-8",
        )
        attributes = own / "attributes"
        attributes.write_text("*.w filter=wide\n", encoding="utf-8")
        lines += [
            f"[core]\n\thooksPath = {hooks}\n\tattributesFile = {attributes}\n\trepositoryformatversion = 1\n",
            "[include]\n\tpath = extra\n[extensions]\n\tpartialClone = origin\n[protocol]\n\tallow = always\n",
            f'[remote "origin"]\n\turl = ext::{self._trap(f"{place}:remote", "true")}\n[diff]\n\tsubmodule = log\n',
            f"[alias]\n\tstatus = !{self._trap(f'{place}:alias')}\n[gc]\n\tauto = 1\n",
        ]
        with (own / "config").open("a", encoding="utf-8") as file:
            file.writelines(lines)


def plainly(root: Path, *words: str) -> None:
    """Run git as a user does, to check that the configured programs would run."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *words], cwd=root, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _section(key: str) -> str:
    section, _, name = key.partition(".")
    middle = name.rpartition(".")[0]
    return f'{section} "{middle}"' if middle else section
