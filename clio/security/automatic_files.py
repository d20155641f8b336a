"""Files of a project that other programs run or obey by themselves, when a folder is opened or entered, or pushed.

Writing one is as good as running a command later, so modes that write unasked ask about these. Files that run only when
the user runs them (a test, a Makefile, a package's scripts) are not here, and neither is `.gitignore`: it has nothing
run, and is written every day.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

_FOLDERS: dict[str, str] = {
    **dict.fromkeys(
        ".vscode .vscode-insiders .idea .fleet .zed .vs .devcontainer .nvim .vim .emacs.d".split(),
        "is obeyed by an editor that opens the folder",
    ),
    **dict.fromkeys(
        """
            .claude .cursor .windsurf .gemini .codex .continue .aider .roo .kilocode .cline .opencode .junie
            .amazonq .kiro .qwen .trae .augment .goose .crush
            """.split(),
        "is obeyed by another agent",
    ),
    **dict.fromkeys(".husky .githooks .git-hooks .lefthook".split(), "is run by git hooks"),
    **dict.fromkeys(
        """
            .circleci .buildkite .gitlab .drone .teamcity .woodpecker .forgejo .gitea .azure-pipelines
            .semaphore
            """.split(),
        "is run by continuous integration",
    ),
    ".cargo": "is obeyed by cargo, and may name programs",
    ".yarn": "is run by yarn",
    ".mvn": "is obeyed by Maven, and may name programs",
    ".direnv": "is run when a shell enters the folder",
    ".mise": "is run when a shell enters the folder",
    ".bundle": "is obeyed by Bundler",
}
"""Folders by their names, and why all that is in them counts."""
_BELOW: dict[str, str] = {
    ".github/workflows": "is run by continuous integration",
    ".github/actions": "is run by continuous integration",
    ".github/copilot-instructions.md": "is obeyed by another agent",
    ".github/dependabot.yml": "is obeyed by GitHub",
    ".config/mise": "is run when a shell enters the folder",
    ".config/mise.toml": "is run when a shell enters the folder",
    ".config/nvim": "is obeyed by an editor that opens the folder",
    "gradle/wrapper": "names what the Gradle wrapper downloads and runs",
}
_FILES: dict[str, str] = {
    **dict.fromkeys(
        """
            .envrc .tool-versions .mise.toml mise.toml .mise.local.toml mise.local.toml .rtx.toml .autoenv
            .autoenv.zsh .ondirrc
            """.split(),
        "is run when a shell enters the folder",
    ),
    **dict.fromkeys(
        """
            .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
            .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .inputrc config.fish .xprofile .xinitrc
            .xsession .pam_environment
            """.split(),
        "is run by a shell that starts",
    ),
    **dict.fromkeys(
        """
            .vimrc .exrc .gvimrc _vimrc .nvim.lua .nvimrc .nvim.vim .ideavimrc .dir-locals.el
            .dir-locals-2.el .emacs .lvimrc .kakrc .projectile .nanorc
            """.split(),
        "is obeyed by an editor that opens the folder",
    ),
    **dict.fromkeys(
        """
            .lldbinit .lldbinit-lldb .gdbinit .pdbrc .irbrc .pryrc .psqlrc .sqliterc .rprofile .renviron
            .ghci .ocamlinit .iex.exs
            """.split(),
        "is run by a program that starts here",
    ),
    **dict.fromkeys("sitecustomize.py usercustomize.py".split(), "is run whenever Python starts here"),
    **dict.fromkeys(
        ".gitattributes .gitmodules .gitconfig .gitproxy .lfsconfig".split(),
        "is obeyed by git, and may name programs",
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
        "is run by git hooks",
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
        "is run by continuous integration",
    ),
    **dict.fromkeys(
        """
            .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.js .pnpmfile.mjs pnpmfile.cjs bunfig.toml
            .bazelrc .bazeliskrc .bazelversion rust-toolchain rust-toolchain.toml pip.conf pip.ini .pypirc
            .condarc .curlrc .wgetrc .netrc .gemrc .sbtopts .jvmopts gradle-wrapper.properties
            gradle.properties uv.toml nuget.config global.json
            """.split(),
        "is obeyed by a build tool or package manager, and may name programs or where code comes from",
    ),
    **dict.fromkeys(
        """
            .mcp.json mcp.json .clauderc .cursorrules .cursorignore .windsurfrules .clinerules .roomodes
            .roorules .goosehints .aider.conf.yml .aiderignore .continuerc.json opencode.json opencode.jsonc
            .opencode.json crush.json .crush.json .kilocodemodes
            """.split(),
        "is obeyed by another agent",
    ),
    "devcontainer.json": "is obeyed by an editor that opens the folder",
    ".devcontainer.json": "is obeyed by an editor that opens the folder",
    ".watchmanconfig": "is obeyed by a watcher that starts by itself",
    ".tmuxinator.yml": "is run by a terminal that opens the folder",
    ".tmux.conf": "is run by a terminal that opens the folder",
}
"""Files by their names in small letters."""
_PATTERNS: dict[str, str] = {
    "*.code-workspace": "is obeyed by an editor that opens the folder",
    "*.sublime-project": "is obeyed by an editor that opens the folder",
    ".autoenv*": "is run when a shell enters the folder",
    "azure-pipelines*.y*ml": "is run by continuous integration",
    ".gitlab-ci*.y*ml": "is run by continuous integration",
    "*.pth": "is run whenever Python starts with its folder",
    ".envrc.*": "is run when a shell enters the folder",
    ".mise*.toml": "is run when a shell enters the folder",
    "lefthook*.y*ml": "is run by git hooks",
    ".yarnrc*": "is obeyed by a build tool or package manager, and may name programs or where code comes from",
    ".git*": "is obeyed by git or a git server, and may name programs",
}
_HARMLESS = frozenset(
    """
            .gitignore .gitkeep .github .gitignore.template .gitlint .gitbook.yaml .gitbook .gitea .gitlab
            .gitmessage
            """.split()
)
"""What begins with `.git` and has git run nothing. `.github` counts by what is in it."""
_HOLDERS = frozenset(".github".split())
_HARMLESS_BELOW = ((".vscode", "extensions.json"), (".yarn", "versions"))


def why_automatic(parts: Sequence[str]) -> str:
    """Why other programs run or obey a file by themselves, as the end of a sentence; "" where they do not.

    parts: of its path below a project, in small letters; the project may be in any folder of another one.
    """
    for place, part in enumerate(parts):
        if tuple(parts[place : place + 2]) in _HARMLESS_BELOW:
            return ""
        if why := _FOLDERS.get(part, ""):
            return why
        for length in (2, 3):
            if why := _BELOW.get("/".join(parts[place : place + length]), ""):
                return why
    name = parts[-1] if parts else ""
    if name in _HOLDERS:
        return "holds what continuous integration runs"
    if why := _FILES.get(name, ""):
        return why
    if name in _HARMLESS:
        return ""
    return next((why for pattern, why in _PATTERNS.items() if fnmatchcase(name, pattern)), "")
