"""Identify files that decide what clio or other programs run later, so that writing them needs the user's approval."""

import os
import re
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from clio.config.project_rules import explain_permission_path
from clio.security.actions import resolve_links
from clio.text.translation import mark, tr

_PROTECTED_FOLDERS: dict[str, str] = {
    **dict.fromkeys(
        ".vscode .vscode-insiders .idea .fleet .zed .vs .devcontainer .nvim .vim .emacs.d".split(),
        mark("configures editors that open the folder"),
    ),
    **dict.fromkeys(
        """
            .claude .cursor .windsurf .gemini .codex .continue .aider .roo .kilocode .cline .opencode .junie
            .amazonq .kiro .qwen .trae .augment .goose .crush
            """.split(),
        mark("configures another agent"),
    ),
    **dict.fromkeys(".husky .githooks .git-hooks .lefthook".split(), mark("is run by git hooks")),
    **dict.fromkeys(
        """
            .circleci .buildkite .gitlab .drone .teamcity .woodpecker .forgejo .gitea .azure-pipelines
            .semaphore
            """.split(),
        mark("is run by continuous integration"),
    ),
    ".cargo": mark("configures cargo, and may name programs to run"),
    ".yarn": mark("is run by yarn"),
    ".mvn": mark("configures Maven, and may name programs to run"),
    ".direnv": mark("is run when a shell enters the folder"),
    ".mise": mark("is run when a shell enters the folder"),
    ".bundle": mark("configures Bundler"),
}
"""Folders by name, and why every file in them is protected."""
_PROTECTED_PATHS: dict[str, str] = {
    ".github/workflows": mark("is run by continuous integration"),
    ".github/actions": mark("is run by continuous integration"),
    ".github/copilot-instructions.md": mark("configures another agent"),
    ".github/dependabot.yml": mark("configures GitHub"),
    ".config/mise": mark("is run when a shell enters the folder"),
    ".config/mise.toml": mark("is run when a shell enters the folder"),
    ".config/nvim": mark("configures editors that open the folder"),
    "gradle/wrapper": mark("names what the Gradle wrapper downloads and runs"),
}
_PROTECTED_NAMES: dict[str, str] = {
    **dict.fromkeys(
        """
            .envrc .tool-versions .mise.toml mise.toml .mise.local.toml mise.local.toml .rtx.toml .autoenv
            .autoenv.zsh .ondirrc
            """.split(),
        mark("is run when a shell enters the folder"),
    ),
    **dict.fromkeys(
        """
            .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
            .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .inputrc config.fish .xprofile .xinitrc
            .xsession .pam_environment
            """.split(),
        mark("is run by every new shell"),
    ),
    **dict.fromkeys(
        """
            .vimrc .exrc .gvimrc _vimrc .nvim.lua .nvimrc .nvim.vim .ideavimrc .dir-locals.el
            .dir-locals-2.el .emacs .lvimrc .kakrc .projectile .nanorc
            """.split(),
        mark("configures editors that open the folder"),
    ),
    **dict.fromkeys(
        """
            .lldbinit .lldbinit-lldb .gdbinit .pdbrc .irbrc .pryrc .psqlrc .sqliterc .rprofile .renviron
            .ghci .ocamlinit .iex.exs
            """.split(),
        mark("is run by programs started in this folder"),
    ),
    **dict.fromkeys("sitecustomize.py usercustomize.py".split(), mark("is run whenever Python starts in this folder")),
    **dict.fromkeys(
        ".gitattributes .gitmodules .gitconfig .gitproxy .lfsconfig".split(),
        mark("configures git, and may name programs to run"),
    ),
    **dict.fromkeys(
        """
            .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.yml lefthook.yaml
            lefthook.toml lefthook.json lefthook-local.yml .lefthook.yml .lefthook.yaml .lefthook.toml
            .overcommit.yml .huskyrc .huskyrc.json .huskyrc.js .lintstagedrc .lintstagedrc.json
            .lintstagedrc.js .lintstagedrc.cjs .lintstagedrc.mjs .lintstagedrc.yaml .lintstagedrc.yml
            lint-staged.config.js lint-staged.config.cjs lint-staged.config.mjs .simple-git-hooks.json
            .simple-git-hooks.js simple-git-hooks.js prek.toml hk.pkl
            """.split(),
        mark("is run by git hooks"),
    ),
    **dict.fromkeys(
        """
            .gitlab-ci.yml .gitlab-ci.yaml .travis.yml jenkinsfile azure-pipelines.yml azure-pipelines.yaml
            .drone.yml .cirrus.yml bitbucket-pipelines.yml appveyor.yml .appveyor.yml .woodpecker.yml
            wercker.yml codeship-steps.yml buildkite.yml .buildkite.yml cloudbuild.yaml cloudbuild.yml
            buildspec.yml codemagic.yaml bitrise.yml .semaphore.yml screwdriver.yaml .readthedocs.yaml
            .readthedocs.yml netlify.toml vercel.json renovate.json .renovaterc .renovaterc.json .gitpod.yml
            .gitpod.dockerfile action.yml action.yaml .sourcehut.yml .build.yml
            """.split(),
        mark("is run by continuous integration"),
    ),
    **dict.fromkeys(
        """
            .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.js .pnpmfile.mjs pnpmfile.cjs bunfig.toml
            .bazelrc .bazeliskrc .bazelversion rust-toolchain rust-toolchain.toml pip.conf pip.ini .pypirc
            .condarc .curlrc .wgetrc .netrc .gemrc .sbtopts .jvmopts gradle-wrapper.properties
            gradle.properties uv.toml nuget.config global.json
            """.split(),
        mark("configures a build tool or package manager, and may name programs to run or sources of code"),
    ),
    **dict.fromkeys(
        """
            .mcp.json mcp.json .clauderc .cursorrules .cursorignore .windsurfrules .clinerules .roomodes
            .roorules .goosehints .aider.conf.yml .aiderignore .continuerc.json opencode.json opencode.jsonc
            .opencode.json crush.json .crush.json .kilocodemodes
            """.split(),
        mark("configures another agent"),
    ),
    "devcontainer.json": mark("configures editors that open the folder"),
    ".devcontainer.json": mark("configures editors that open the folder"),
    ".watchmanconfig": mark("configures a watcher that starts automatically"),
    ".tmuxinator.yml": mark("is run by a terminal that opens the folder"),
    ".tmux.conf": mark("is run by a terminal that opens the folder"),
}
"""Files by lower-case name."""
_PROTECTED_PATTERNS: dict[str, str] = {
    "*.code-workspace": mark("configures editors that open the folder"),
    "*.sublime-project": mark("configures editors that open the folder"),
    ".autoenv*": mark("is run when a shell enters the folder"),
    "azure-pipelines*.y*ml": mark("is run by continuous integration"),
    ".gitlab-ci*.y*ml": mark("is run by continuous integration"),
    "*.pth": mark("is run whenever Python starts with this folder on its path"),
    ".envrc.*": mark("is run when a shell enters the folder"),
    ".mise*.toml": mark("is run when a shell enters the folder"),
    "lefthook*.y*ml": mark("is run by git hooks"),
    ".yarnrc*": mark("configures a build tool or package manager, and may name programs to run or sources of code"),
    ".git*": mark("configures git or a git server, and may name programs to run"),
}
_HARMLESS_GIT_NAMES = frozenset(
    """
            .gitignore .gitkeep .github .gitignore.template .gitlint .gitbook.yaml .gitbook .gitea .gitlab
            .gitmessage
            """.split()
)
"""Names that begin with `.git` but make git run nothing. In `.github`, only some files are protected."""
_CI_FOLDERS = frozenset(".github".split())
_HARMLESS_PATHS = ((".vscode", "extensions.json"), (".yarn", "versions"))


def explain_automatic_file(parts: Sequence[str]) -> str:
    """Why other programs run or obey a file without being asked, as the end of a sentence; "" if they do not.

    Args:
        parts: components of the path below a project, in lower case. Projects may be nested, so each level is tested.
    """
    for place, part in enumerate(parts):
        if tuple(parts[place : place + 2]) in _HARMLESS_PATHS:
            return ""
        if why := _PROTECTED_FOLDERS.get(part, ""):
            return tr(why)
        for length in (2, 3):
            if why := tr(_PROTECTED_PATHS.get("/".join(parts[place : place + length]), "")):
                return tr(why)
    name = parts[-1] if parts else ""
    if name in _CI_FOLDERS:
        return tr("defines what continuous integration runs")
    if why := _PROTECTED_NAMES.get(name, ""):
        return tr(why)
    if name in _HARMLESS_GIT_NAMES:
        return ""
    return next((tr(why) for pattern, why in _PROTECTED_PATTERNS.items() if fnmatchcase(name, pattern)), "")


_IGNORED_CHARACTERS = frozenset(
    (
        *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE10),
        *range(0xFFF0, 0xFFFC),
        *range(0x1BCA0, 0x1BCA4),
        *range(0x1D173, 0x1D17B),
        *range(0xE0000, 0xE1000),
    )
)
"""Unicode's Default_Ignorable_Code_Point and the interlinear annotation characters. HFS+ ignores many of them in names.
"""
_SHORT_NAME = re.compile(r"[^.~]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?")
"""A short 8.3 name, as NTFS and FAT generate for each long name: `git~1` is `.git` there."""


def explain_protected_file(path: Path, root: Path, clio_home: Path | None) -> str:
    """Why a file is protected, as the end of a sentence; "" if it is not.

    Args:
        path: absolute with links resolved, inside `root`.
    """
    if why := explain_clio_file(path, root, clio_home):
        return why
    parts = _fold_path(path, root)
    if ".git" in parts:
        return tr("belongs to git, which may run programs named in it")
    # The long name cannot be determined without the Windows disk, so every short name is protected.
    if any(_SHORT_NAME.fullmatch(part) for part in parts):
        return tr("looks like the Windows short name (8.3) of another file")
    return explain_automatic_file(parts) or _explain_linked_file(path, root)


def _explain_linked_file(path: Path, root: Path) -> str:
    """Why a file is protected through a link beside it or in the project root that has a protected name."""
    # A link such as `.envrc -> scripts/env` makes an ordinary file one that runs by itself.
    for folder in dict.fromkeys((root, *(place for place in path.parents if place.is_relative_to(root)))):
        try:
            links = [entry for entry in os.scandir(folder) if entry.is_symlink()]
        except OSError:
            continue
        for link in links:
            real = resolve_links(link.path)
            why = (
                explain_automatic_file(_fold_path(Path(link.path), root))
                if real == path or real in path.parents
                else ""
            )
            if why:
                return tr("{why}; {link!r} is a link to it", why=why, link=link.name)
    return ""


def explain_clio_file(path: Path, root: Path, clio_home: Path | None) -> str:
    """Why a file decides what clio itself does, so that every mode asks before it is written; "" if it does not.

    Names are compared as the most permissive file systems do, see `fold_disk_name`.

    Args:
        path: absolute with links resolved, anywhere. Files in the user's home folder take effect without being trusted.
    """
    if clio_home is not None and (path == clio_home or clio_home in path.parents):
        return tr("belongs to clio's own settings")
    return explain_permission_path(_fold_path(path, root))


def fold_disk_name(name: str) -> str:
    """Return one spelling for all names that some file system treats as equal; "." if nothing remains.

    Upper and lower case and Unicode's normal and compatibility forms are equal (APFS, HFS+, NTFS, ext4 with casefold).
    Invisible characters (HFS+), trailing dots and blanks, and everything after a colon (NTFS streams such as
    `.git::$INDEX_ALLOCATION`) are ignored.
    """
    if not name.isascii():
        for _ in range(2):  # twice, because folding can produce characters that normalize further, and vice versa
            name = "".join(char for char in name if ord(char) not in _IGNORED_CHARACTERS)
            name = unicodedata.normalize("NFKC", name).casefold()
    stem = "".join(char for char in name.casefold().partition(":")[0] if char.isprintable())
    return stem.rstrip(". ") or os.curdir


def _fold_path(path: Path, root: Path) -> tuple[str, ...]:
    parts = path.relative_to(root).parts if path.is_relative_to(root) else path.parts
    # A backslash is part of a name on Linux but separates folders when the project is checked out on Windows.
    return tuple(fold_disk_name(name) for part in parts for name in part.split("\\") if name)
