"""Assess the risk level of a simple command by its words alone. The paths it touches are judged in `command_policy`."""

import re
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clio.security.readonly.git_grammar import READING_SUBCOMMANDS, is_harmless_setting, is_reading_subcommand
from clio.security.readonly.grammar import Judgement
from clio.security.readonly.judge import (
    NAME_PASSING_PROGRAMS,
    has_readonly_grammar,
    is_started_by_search,
    judge_read_only,
)
from clio.security.shell.command_line import (
    STDIN_FROM_FILE,
    CommandLine,
    SimpleCommand,
    Word,
    is_influential_variable,
    word_set,
)
from clio.security.shell.known_values import is_line_variable
from clio.security.shell.wrappers import CLEARS_ENVIRONMENT, SCRIPT_BUILTINS, SHELLS, find_git_subcommand, is_loader
from clio.text.translation import mark, tr

Level = Literal["low", "medium", "high"]
_LEVELS: tuple[Level, ...] = ("low", "medium", "high")


class Risk(Struct, frozen=True):
    """A risk level and its reason. "low" is only for commands that provably do nothing but read."""

    level: Level
    reason: str


def low_risk(reason: str) -> Risk:
    """For a command that only reads."""
    return Risk("low", reason)


def medium_risk(reason: str) -> Risk:
    """For a command whose changes can be undone, or whose effect is not known."""
    return Risk("medium", reason)


def high_risk(reason: str) -> Risk:
    """For a command that may destroy data, use the network, or hide what it does."""
    return Risk("high", reason)


def pick_worst_risk(risks: list[Risk]) -> Risk:
    """Return the most dangerous of several risks, the first among equals; low if there are none."""
    return max(risks, key=lambda risk: _LEVELS.index(risk.level), default=low_risk(tr("runs nothing")))


def is_level_above(level: Level, limit: Level) -> bool:
    """Whether one risk level is above another."""
    return _LEVELS.index(level) > _LEVELS.index(limit)


def has_option(argv: tuple[str, ...], letters: str, longs: tuple[str, ...] = ()) -> bool:
    """Whether the arguments contain one of these one-letter options, alone or in a cluster, or one of these long
    options.

    Long options may be abbreviated (`--outp`), as GNU programs and git allow; any prefix matches, even one character.
    Words after a lone `--` are not options.
    """
    for word in argv:
        if word == "--":
            return False
        if word.startswith("--"):
            name = word[2:].split("=", 1)[0]
            if name and any(each == name or each.startswith(name) for each in longs):
                return True
        elif len(word) > 1 and word[0] == "-" and any(letter in word[1:] for letter in letters):
            return True
    return False


BUILD_TOOLS = word_set("""
    make gmake cmake ctest ninja meson bazel gradle gradlew mvn mvnw ant sbt cargo rustc rustfmt clippy-driver go gofmt
    gcc g++ clang clang++ cc c++ ld ar javac java kotlinc scalac swift swiftc xcodebuild dotnet msbuild zig ghc cabal
    stack mix elixir rebar3 dune opam npm npx pnpm pnpx yarn bun bunx node deno tsc ts-node tsx eslint prettier jest
    vitest mocha webpack vite rollup esbuild next nuxt ng nx turbo lerna playwright cypress python python3 pypy pypy3
    pip pip3 pipx uv uvx poetry pipenv pdm hatch flit tox nox pytest unittest coverage mypy pyright ruff black isort
    flake8 pylint bandit pre-commit sphinx-build mkdocs conda mamba ruby bundle rake gem rspec rubocop rails php
    composer phpunit perl prove lua luac Rscript julia just task invoke fab protoc buf helm packer vagrant ansible
    ansible-playbook shellcheck shfmt hadolint yamllint jsonlint markdownlint sqlite3 psql mysql redis-cli mongosh
    """)
"""Build tools, test runners, package managers and interpreters. They run code of the project."""

FILE_PROGRAMS = word_set(
    "mkdir touch cp mv ln install rmdir rm tee unlink truncate split csplit patch tar unzip zip gzip gunzip bzip2 xz "
    "zstd 7z rsync sed awk gawk mawk nawk perl ed ex vim vi nano emacs chmod chown chgrp setfacl xattr shred dd"
)
"""Programs that change the files they name. A path outside the workspace makes the call high risk."""

INTERPRETERS = word_set(
    "python python3 pypy pypy3 node deno bun ruby perl php lua Rscript julia pwsh powershell osascript tclsh"
)

HIGH_RISK_PROGRAMS: dict[str, str] = {
    **dict.fromkeys(word_set("sudo doas su pkexec runuser run0"), mark("runs as another user")),
    **dict.fromkeys(
        word_set("dd shred diskutil wipefs fdisk sfdisk gdisk parted mkswap losetup cryptsetup"),
        mark("writes raw data"),
    ),
    **dict.fromkeys(word_set("mount umount swapon swapoff chroot nsenter unshare"), mark("changes the system")),
    **dict.fromkeys(word_set("kill killall killall5 pkill xkill"), mark("kills processes")),
    **dict.fromkeys(word_set("shutdown reboot halt poweroff init telinit"), mark("shuts down or restarts the machine")),
    **dict.fromkeys(word_set("service launchctl at batch sysctl modprobe insmod rmmod"), mark("changes the system")),
    **dict.fromkeys(word_set("iptables ip6tables nft ufw ifconfig route"), mark("changes network settings")),
    **dict.fromkeys(
        word_set("useradd userdel usermod groupadd passwd chpasswd visudo adduser"), mark("changes user accounts")
    ),
    **dict.fromkeys(
        word_set("nc ncat netcat socat telnet ftp ssh scp sftp ssh-copy-id"), mark("connects to another machine")
    ),
    **dict.fromkeys(
        word_set("aws gcloud az doctl flyctl fly heroku vercel netlify wrangler"), mark("changes a cloud account")
    ),
    **dict.fromkeys(word_set("twine dropdb dropuser"), mark("can't be undone")),
    **dict.fromkeys(word_set("alias enable hash bind"), mark("changes what later commands do")),
    **dict.fromkeys(word_set("parallel script expect systemd-run"), mark("starts programs clio can't inspect")),
    **dict.fromkeys(word_set("security keychain gpg gpg2 pass op ssh-keygen ssh-add"), mark("handles keys")),
}
"""Programs that are high risk with any arguments, and the reason."""

HIGH_RISK_WORDS: dict[str, tuple[frozenset[str], str]] = {
    "npm": (word_set("publish unpublish deprecate owner access token login adduser -g --global"), mark("registry")),
    "pnpm": (word_set("publish -g --global login"), mark("registry")),
    "yarn": (word_set("publish global login"), mark("registry")),
    "bun": (word_set("publish -g --global"), mark("registry")),
    "cargo": (word_set("publish yank owner login"), mark("registry")),
    "gem": (word_set("push yank owner"), mark("registry")),
    "uv": (word_set("publish"), mark("registry")),
    "poetry": (word_set("publish"), mark("registry")),
    "flit": (word_set("publish"), mark("registry")),
    "hatch": (word_set("publish"), mark("registry")),
    "pip": (word_set("--break-system-packages"), mark("system")),
    "pip3": (word_set("--break-system-packages"), mark("system")),
    "docker": (word_set("run exec rm rmi prune kill stop push down system volume cp"), mark("containers")),
    "podman": (word_set("run exec rm rmi prune kill stop push down system volume cp"), mark("containers")),
    "docker-compose": (word_set("run exec rm down kill stop"), mark("containers")),
    "kubectl": (word_set("delete apply create edit patch replace exec scale drain cordon run cp"), mark("cluster")),
    "helm": (word_set("install upgrade uninstall delete rollback push"), mark("cluster")),
    "terraform": (word_set("apply destroy import taint state force-unlock"), mark("infrastructure")),
    "gh": (
        word_set("create merge close delete api edit comment secret auth release upload rerun"),
        mark("repository on GitHub"),
    ),
    "brew": (word_set("install uninstall remove upgrade update link unlink services"), mark("system")),
    **dict.fromkeys(
        word_set("apt apt-get dnf yum zypper apk snap flatpak port"),
        (
            word_set("install remove purge upgrade dist-upgrade autoremove add del update erase full-upgrade"),
            mark("system"),
        ),
    ),
    "pacman": (word_set("-S -Sy -Syu -R -Rs -Rns -U"), mark("system")),
    "systemctl": (
        word_set("start stop restart reload enable disable mask kill isolate poweroff reboot halt suspend"),
        mark("system"),
    ),
    "crontab": (word_set("-e -r -"), mark("system")),
    "rsync": (word_set("--delete --delete-after --delete-before --remove-source-files"), mark("files")),
}
"""Words that make a program high risk at any position among its arguments, and what they change."""

UPLOAD_OPTIONS = (
    "data",
    "form",
    "upload-file",
    "json",
    "post-data",
    "post-file",
    "body-data",
    "body-file",
    "url-query",
)
UPLOAD_LETTERS = "dFT"
"""One-letter options of curl that upload data."""

SYSTEM_FOLDERS = word_set(
    "/bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /var /Users /System /Library "
    "/Applications /Volumes /private /mnt /media /nix"
)
"""Folders whose recursive removal makes the system unusable."""

STANDARD_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/sbin/", "/usr/sbin/")
"""Directories in which a program path can be trusted to be the program of that name."""


_GIT_OUTPUT_OPTIONS = (
    "output",
    "ext-diff",
    "open-files-in-pager",
    "textconv",
    "filters",
    "output-directory",
    "show-signature",
)
_GIT_SAFE_OPTIONS = frozenset(
    {"--text", "--oneline", "--ours", "--others", "--format", "--find-renames", "--show-toplevel"}
)

# Sub-commands whose changes git can undo.
_GIT_MEDIUM = word_set("""
    add commit merge pull fetch mv rm cherry-pick revert switch init clone am apply submodule format-patch
    archive bundle sparse-checkout rebase fsck ls-remote verify-commit verify-tag maintenance help difftool mergetool
    """)
_GIT_EXEC_OPTIONS = {"difftool": "x", "rebase": "x"}
"""Sub-commands with a one-letter option that names a program to run."""
_GIT_HIGH = {
    "push": mark("changes the remote repository"),
    "clean": mark("deletes untracked files"),
    "filter-branch": mark("rewrites history"),
    "filter-repo": mark("rewrites history"),
    "update-ref": mark("changes git references directly"),
    "replace": mark("rewrites history"),
    "gc": mark("may delete unreachable commits"),
    "prune": mark("deletes unreachable commits"),
    "send-email": mark("sends mail"),
    "daemon": mark("opens a network port"),
    "instaweb": mark("opens a network port"),
    "credential": mark("handles passwords"),
    "credential-store": mark("handles passwords"),
    "credential-cache": mark("handles passwords"),
    "read-tree": mark("may discard changes"),
    "checkout-index": mark("may discard changes"),
    "shell": mark("runs a program"),
}


def assess_git(command: SimpleCommand) -> Risk:
    """Assess a git call that is not known to be read-only, its options and configuration included."""
    words, argv = command.words, command.argv
    place = find_git_subcommand(words)
    if place < 0:
        return high_risk("git gets an option clio does not know")
    for option, value in pairwise(argv[1 : place + 1]):
        if option in ("-c", "--config-env") and (option != "-c" or not is_harmless_setting(value)):
            return high_risk(f"git gets the setting {value.split('=', 1)[0]!r}, which may run a program")
        if option.startswith("--config-env="):
            return high_risk("git gets a setting from a variable, which may run a program")
        if option.startswith(("--git-dir", "--work-tree", "--exec-path")):
            return medium_risk("git works on another repository")
    if place >= len(words):
        return medium_risk("git gets an option clio does not know")
    if words[place].dynamic:
        return high_risk(tr("the git sub-command is computed at run time"))
    return _assess_git_subcommand(argv[place], argv[place + 1 :])


def _assess_git_subcommand(name: str, rest: tuple[str, ...]) -> Risk:
    """Assess a git sub-command by its name, and by options that run programs or force something."""
    if name in READING_SUBCOMMANDS and name not in _GIT_PARTLY_READING:
        plain = tuple(word for word in rest if word not in _GIT_SAFE_OPTIONS)
        if has_option(plain, "O" if name == "grep" else "", _GIT_OUTPUT_OPTIONS):
            return high_risk(f"git {name} may write a file or run a program")
        return _GIT_CHANGING_FORMS.get(name) or medium_risk(
            f"git {name} gets an argument that is not known to be harmless"
        )
    if name in _GIT_HIGH:
        return high_risk(tr(_GIT_HIGH[name]))
    if name in _GIT_MEDIUM:
        if has_option(rest, "f", ("force", "exec", "extcmd", "upload-pack", "receive-pack")) and name not in (
            "add",
            "fetch",
        ):
            return high_risk(f"git {name} is forced, or runs a program")
        if has_option(rest, _GIT_EXEC_OPTIONS.get(name, ""), ("upload-pack", "exec", "extcmd")):
            return high_risk(f"git {name} runs a program")
        if name in ("clone", "init") and has_option(rest, "cu" if name == "clone" else "", ("config", "template")):
            return high_risk(f"git {name} sets programs that may run later")
        if name == "maintenance" and rest[:1] != ("run",):
            return high_risk(tr("git maintenance changes scheduled jobs and your git settings"))
        if name == "switch" and has_option(rest, "C", ("discard-changes", "force-create")):
            return high_risk("git switch discards changes or a branch")
        return medium_risk(f"git {name} changes the repository")
    return _assess_git_by_arguments(name, rest)


_GIT_PARTLY_READING = word_set("apply bisect branch clean notes remote sparse-checkout stash tag worktree help")
"""Sub-commands that only read in some forms and change the repository in others."""
_GIT_CHANGING_FORMS = {
    "config": high_risk("git settings may contain secrets, and name programs that run later"),
    "reflog": high_risk("git reflog forgets commits"),
    "symbolic-ref": high_risk(mark("changes a git reference")),
}


def _assess_git_by_arguments(name: str, rest: tuple[str, ...]) -> Risk:
    """Assess the git sub-commands whose risk depends on their arguments."""
    first = rest[0] if rest else ""
    positionals = [word for word in rest if not word.startswith("-")]
    changes = medium_risk(f"git {name} changes the repository")
    match name:
        case "branch" | "tag":
            if has_option(rest, "DMCf", ("force", "delete")) or (name == "tag" and has_option(rest, "d")):
                return high_risk(f"git {name} deletes or overwrites")
            return changes
        case "remote":
            return medium_risk("git asks the remote repository") if positionals[:1] == ["show"] else changes
        case "stash":
            if first in ("list", "show"):
                return high_risk("git stash may write a file or run a program")
            return high_risk("git stash discards work") if first in ("drop", "clear") else changes
        case "worktree" | "notes" | "bisect" | "sparse-checkout":
            return changes
        case "reset":
            return (
                high_risk("git reset --hard discards changes") if has_option(rest, "", ("hard", "merge")) else changes
            )
        case "checkout" | "restore":
            makes = has_option(rest, "bt", ("track", "orphan", "no-track"))
            discards = "--" in rest or "." in positionals or has_option(rest, "fB", ("force", "ours", "theirs"))
            discards = discards or (len(positionals) > 1 and not makes)
            staged = has_option(rest, "S", ("staged",)) and not has_option(rest, "W", ("worktree",))
            if (name == "restore" and not staged) or (name == "checkout" and discards):
                return high_risk(f"git {name} discards changes")
            return changes
        case _:
            return medium_risk(tr("clio does not know the command 'git {name}'", name=name))


_GIT_BY_ARGUMENTS = word_set("branch tag remote stash worktree notes bisect sparse-checkout reset checkout restore")
ASSESSED_GIT_SUBCOMMANDS = READING_SUBCOMMANDS | _GIT_MEDIUM | _GIT_HIGH.keys() | _GIT_BY_ARGUMENTS
"""Sub-commands whose risk is known. Any other may push or delete, or be an alias or a misspelling that git corrects."""


_USER_SWITCHERS = frozenset({"sudo", "doas", "su", "chroot"})
TRANSPARENT_WRAPPERS = (
    word_set("""
    time command builtin exec nohup setsid timeout gtimeout nice ionice stdbuf taskset caffeinate xargs find fd fdfind
    watch jobs coproc ! env arch setarch i386 i486 i586 i686 x86_64 linux32 linux64 uname26 flock cmake
    """)
    | SHELLS
    | SCRIPT_BUILTINS
)
"""Wrappers that start only the call they are given, found on the same PATH, and pass on all variables."""
_DOWNLOADERS = frozenset({"curl", "wget", "fetch", "http", "https", "aria2c"})
_HARMLESS_VARIABLES = word_set("""
    LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI COLUMNS LINES TERM COLORTERM NODE_ENV
    RUST_BACKTRACE RUST_LOG
    PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONFAULTHANDLER
    VERBOSE DEBUG CARGO_TERM_COLOR PY_COLORS PIP_DISABLE_PIP_VERSION_CHECK
    HYPOTHESIS_PROFILE PYTEST_DISABLE_PLUGIN_AUTOLOAD
    """)
_LOCALE = re.compile(r"(?!.*\.\.)[\w.@:-]*", re.ASCII)
_TIME_ZONE = re.compile(r"(?!.*\.\.)(?:[A-Za-z][\w+-]*(?:/[A-Za-z][\w+-]*){0,2})?", re.ASCII)
_PLAIN_VALUE = re.compile(r"[\w.,:=+%-]*", re.ASCII)
"""Excludes paths and references to environment variables, whose value a program could print."""
_WORD_FOR_COMPUTED = "1"
_ALWAYS_READING = word_set("""
    ls cat head tail stat df pwd echo printf true false : whoami id uname arch which type whereis basename dirname
    realpath readlink cut tr nl tac rev fold fmt column paste join comm cmp md5sum sha1sum sha224sum sha256sum sha384sum
    sha512sum b2sum cksum sum md5 shasum od hexdump strings seq expr test [ [[ sleep ps uptime free nproc lscpu
    cal locale getconf tty groups cd pushd popd dirs let wait jobs exit return break continue shift read mapfile
    readarray getopts unset eza exa tsort zcat gzcat
    """)
"""Programs that only read, whatever their arguments are; an argument that is not known yet adds little risk."""
_SOURCE_FOLDER = r"(?:\.|(?:\./)?(?:src|lib|tests?)/?|\$PWD|\$\{?PYTHONPATH\}?|\$\(pwd\))"
_SOURCE_FOLDERS = re.compile(rf"{_SOURCE_FOLDER}(?::{_SOURCE_FOLDER})*:?")


def assess_command(command: SimpleCommand, line: CommandLine | None = None) -> Risk:
    """Assess one simple command as written, including its wrappers and pipes.

    Args:
        line: the line that contains the command. Without it, no command started by xargs is recognized as harmless.
    """
    for wrapper in command.wrappers:
        if wrapper in _USER_SWITCHERS:
            return high_risk(tr("runs as another user ({wrapper})", wrapper=wrapper))
        if wrapper == "ssh":
            return high_risk(tr("runs on another machine"))
    if not command.words:
        return assess_variables(command, line)
    if command.words[0].dynamic:
        return high_risk(tr("the program is computed at run time"))
    own, env = (
        pick_worst_risk([_assess_program(command, line), _assess_wrappers(command)]),
        assess_variables(command, line),
    )
    return env if is_level_above(env.level, own.level) else own


def _assess_wrappers(command: SimpleCommand) -> Risk:
    """Assess the wrappers of a command: `uv run`, `bundle exec` and similar programs first run code of the project."""
    if CLEARS_ENVIRONMENT in command.wrappers:
        return medium_risk(tr("removes environment variables with which clio makes commands safe"))
    other = next((each for each in command.wrappers if each not in TRANSPARENT_WRAPPERS and not is_loader(each)), None)
    return (
        medium_risk(tr("{other} may run other code first", other=other))
        if other
        else low_risk(tr("is started directly"))
    )


def assess_variables(command: SimpleCommand, line: CommandLine | None = None) -> Risk:
    """Assess the variables a command sets, because some decide which code runs. The worst one counts."""
    settings = [_assess_variable(command, name, value, line) for name, value in command.env]
    return pick_worst_risk([low_risk(tr("sets only harmless variables")), *settings])


def _assess_variable(command: SimpleCommand, name: str, value: str, line: CommandLine | None) -> Risk:
    """Assess one variable that a command sets."""
    if is_harmless_variable(name, value) or _is_private_variable(command, name, line):
        return low_risk(tr("sets only harmless variables"))
    if is_own_code_path(command, name, value):
        return medium_risk(tr("the variable {name} points to the project's source folder", name=name))
    if is_influential_variable(name):
        return high_risk(tr("the variable {name} can change which code runs", name=name))
    return medium_risk(tr("sets the variable {name}", name=name))


def is_harmless_variable(name: str, value: str) -> bool:
    """Whether a variable cannot change what a command does, only the form or amount of its output."""
    if name in ("PAGER", "GIT_PAGER"):
        return value in ("cat", "")
    if name in ("GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS"):
        return value == "0"
    if name in ("LANG", "LANGUAGE") or name.startswith("LC_"):
        # A path could select translation files in the project, whose format strings can print the memory of a program.
        return _LOCALE.fullmatch(value) is not None
    if name == "TZ":
        return _TIME_ZONE.fullmatch(value) is not None
    return name in _HARMLESS_VARIABLES and _PLAIN_VALUE.fullmatch(value) is not None


def is_own_code_path(command: SimpleCommand, name: str, value: str) -> bool:
    """Whether a variable only points a test run at the project's own code, which the tests run anyway."""
    tests = command.program in ("pytest", "export") or command.argv[1:3] in (("-m", "pytest"), ("-m", "unittest"))
    return name == "PYTHONPATH" and tests and _SOURCE_FOLDERS.fullmatch(value) is not None


def _is_private_variable(command: SimpleCommand, name: str, line: CommandLine | None) -> bool:
    """Whether a variable is private to the line (`count=0`), or `IFS` set for `read`."""
    if name == "IFS":
        return command.program == "read" and not command.wrappers
    if command.words or not is_line_variable(name):
        return False
    return not name[:1].isupper() or (line is not None and _is_variable_read(line, name))


def _is_variable_read(line: CommandLine, name: str) -> bool:
    """Whether a word of the line uses a variable, so that the line sets it for its own use."""
    words = [word.text for command in line.commands for word in command.words]
    words += [redirect.target.text for redirect in line.redirects]
    words += [value for command in line.commands for _, value in command.env]
    words += [word.text for _, each in line.loops for word in each]
    return any(f"${{{name}" in text or re.search(rf"\${name}\b", text) for text in words)


def is_known_program_name(text: str) -> bool:
    """Whether a program is given by its bare name or by a path in a system folder, so that the name identifies it."""
    return "/" not in text or text[: text.rindex("/") + 1] in STANDARD_FOLDERS


def judge_reading(command: SimpleCommand, line: CommandLine | None = None) -> Judgement | str:
    """Return what a read-only call reads, or the reason why it is not known to be read-only.

    A word that is computed at run time is treated as a harmless word here. The caller decides whether that word matters
    and asks the user if it does. What find or xargs starts is judged as part of the call.
    """
    if not command.words:
        return Judgement()
    if not has_readonly_grammar(command.program) or not is_known_program_name(command.words[0].text):
        return tr("clio does not know the program {text!r}", text=command.words[0].text)
    if is_started_by_search(command) or command.program in NAME_PASSING_PROGRAMS:
        return judge_read_only(command, line)
    words = tuple(Word(_WORD_FOR_COMPUTED) if word.dynamic else word for word in command.words)
    return judge_read_only(replace(command, words=(*words, *map(Word, command.declares))), line)


def _assess_program(command: SimpleCommand, line: CommandLine | None) -> Risk:
    """Assess the program of a call and its arguments, without wrappers and variables."""
    program = command.program
    if program in HIGH_RISK_PROGRAMS:
        return high_risk(tr(HIGH_RISK_PROGRAMS[program]))
    if program.startswith("mkfs"):
        return high_risk(tr("formats a disk"))
    # Homoglyphs: a Cyrillic "с" in a program's name looks like the Latin letter.
    if not program.isascii():
        return high_risk(tr("its name contains look-alike letters"))
    if not is_known_program_name(command.words[0].text):
        return medium_risk(tr("runs the program {text!r}", text=command.words[0].text))
    if not has_readonly_grammar(program):
        return _assess_unknown_call(command)
    judged = judge_reading(command, line)
    if isinstance(judged, Judgement) and (
        not command.dynamic or is_started_by_search(command) or program in _ALWAYS_READING
    ):
        return low_risk(tr("{program} only reads", program=program))
    judged = tr("has arguments computed at run time") if isinstance(judged, Judgement) else judged
    danger = _assess_unknown_call(command)
    other_form = program in BUILD_TOOLS and not judged.startswith("the option")
    if danger.level == "high" or other_form or (program == "git" and not is_reading_subcommand(command.words)):
        return danger
    return medium_risk(judged if judged.startswith(program) else f"{program}: {judged}")


def _assess_unknown_call(command: SimpleCommand) -> Risk:
    """Assess a program that is not known to be read-only."""
    program, rest = command.program, command.argv[1:]
    if program in SHELLS or program in INTERPRETERS:
        return _assess_interpreter(command)
    special = _assess_by_arguments(command, program, rest)
    if special is not None:
        return special
    if program in HIGH_RISK_WORDS:
        words, effect = HIGH_RISK_WORDS[program]
        if found := next((word for word in rest if word in words), None):
            return high_risk(
                tr("{program} {found} changes the {effect}", program=program, found=found, effect=tr(effect))
            )
    if program in BUILD_TOOLS or program in HIGH_RISK_WORDS:
        return medium_risk(tr("{program} runs code of the project or of a package", program=program))
    if program in FILE_PROGRAMS:
        return medium_risk(tr("{program} changes files", program=program))
    return medium_risk(tr("clio does not know the program {program!r}", program=program))


def _assess_by_arguments(command: SimpleCommand, program: str, rest: tuple[str, ...]) -> Risk | None:
    """Assess programs whose risk depends on their arguments in a special way; None for all others."""
    match program:
        case "git":
            return assess_git(command)
        case "rm" | "unlink":
            wide = any(word.glob or word.dynamic for word in command.words[1:])
            many = has_option(rest, "rRf", ("recursive", "force")) or wide
            return high_risk(tr("deletes permanently")) if many else medium_risk(tr("deletes a file"))
        case "find" if "-delete" in rest:
            return high_risk(tr("find deletes what it finds"))
        case "chmod" | "chown" | "chgrp":
            wide = has_option(rest, "R", ("recursive",)) or any("s" in word or "777" in word for word in rest[:1])
            return (
                high_risk(tr("{program} changes permissions of many files, or grants wide ones", program=program))
                if wide
                else medium_risk(tr("{program} changes permissions", program=program))
            )
        case "curl" | "wget":
            sends = has_option(rest, UPLOAD_LETTERS if program == "curl" else "", UPLOAD_OPTIONS)
            method = any(word.upper() in ("POST", "PUT", "PATCH", "DELETE") for word in rest)
            return (
                high_risk(tr("{program} sends data", program=program))
                if sends or method
                else medium_risk(tr("{program} uses the network", program=program))
            )
        case "clio":
            return medium_risk(tr("starts clio itself, which from here changes no settings, memory, jobs or schedules"))
        case "eval" | "source" | ".":
            return medium_risk(tr("runs a script in this shell"))
        case "env" | "printenv":
            return medium_risk(tr("prints environment variables, including secrets"))
        case _:
            return None


def _assess_interpreter(command: SimpleCommand) -> Risk:
    """Assess an interpreter or shell by where its program text comes from."""
    program, rest = command.program, command.argv[1:]
    file = next((word for word in rest if not word.startswith("-")), None)
    reads_input = file is None or "-s" in rest
    if command.upstream and reads_input and not _has_inline_code(rest):
        download = next((name for name in command.upstream if name in _DOWNLOADERS), None)
        return high_risk(
            tr("runs what {download} downloads", download=download) if download else tr("runs what is piped into it")
        )
    if any(word.dynamic for word in command.words[1:2]):
        return high_risk(tr("the program text is computed at run time"))
    return medium_risk(
        tr("runs code clio can't inspect")
        if _has_inline_code(rest)
        else tr("{program} runs a program", program=program)
    )


def show_fed_programs(line: CommandLine) -> CommandLine:
    """Return the line with each program text that an interpreter reads from its input as an argument of `-c`.

    `python3 <<X`, `python3 <<< …` and `echo … | python3` run the text as `python3 -c` does, so the same checks apply.
    """
    commands = tuple(_show_fed_program(command, line) for command in line.commands)
    return line if commands == line.commands else replace(line, commands=commands)


def _show_fed_program(command: SimpleCommand, line: CommandLine) -> SimpleCommand:
    rest = command.argv[1:]
    if not is_program_fed(command) or _has_inline_code(rest):
        return command
    texts = [command.stdin] if command.stdin and command.stdin != STDIN_FROM_FILE else []
    if not command.stdin and "<<" in line.text:  # with variables in it, the text is not known before it runs
        texts.append(line.text)
    for each in line.commands if command.upstream else ():
        if each.program in command.upstream and each.program in ("echo", "printf"):
            texts.append(" ".join(word.text for word in each.words[1:]))
        elif each.program in command.upstream and each.stdin and each.stdin != STDIN_FROM_FILE:
            texts.append(each.stdin)
    words = [word for text in texts for word in (Word("-c"), Word(text))]
    return replace(command, words=(*command.words, *words))


def is_program_fed(command: SimpleCommand) -> bool:
    """Whether an interpreter gets its program from its input: no file is named."""
    named = next((text for text in command.argv[1:] if text == "-" or not text.startswith("-")), "-")
    return command.program in INTERPRETERS and named == "-"


def _has_inline_code(rest: tuple[str, ...]) -> bool:
    return any(word.startswith(("-c", "-e", "-m", "-r", "--eval", "--print", "-p")) for word in rest)
