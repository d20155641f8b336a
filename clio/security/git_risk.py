"""How dangerous a call of git is that is not known only to read, and why. Pure.

What only reads is listed in `clio.security.readonly.git`.
"""

from itertools import pairwise

from clio.security.readonly.git import LISTED, is_harmless_setting
from clio.security.risk import Risk, has_option, high, medium
from clio.security.shell.words import SimpleCommand, names
from clio.security.shell.wrappers import git_subcommand

_WRITES_OR_RUNS = (
    "output",
    "ext-diff",
    "open-files-in-pager",
    "textconv",
    "filters",
    "output-directory",
    "show-signature",
)
_SAFE_LONG = frozenset({"--text", "--oneline", "--ours", "--others", "--format", "--find-renames", "--show-toplevel"})

# Sub-commands that change only what git can bring back.
_MEDIUM = names("""
    add commit merge pull fetch mv rm cherry-pick revert switch init clone am apply submodule format-patch
    archive bundle sparse-checkout rebase fsck ls-remote verify-commit verify-tag maintenance help difftool mergetool
    """)
_RUNS = {"difftool": "x", "rebase": "x"}
"""Sub-commands with a one-letter option that names a program."""
_HIGH = {
    "push": "it changes the remote repository",
    "clean": "it deletes files git does not hold",
    "filter-branch": "it rewrites history",
    "filter-repo": "it rewrites history",
    "update-ref": "it moves references by hand",
    "replace": "it rewrites history",
    "gc": "it may delete unreachable commits",
    "prune": "it deletes unreachable commits",
    "send-email": "it sends mail",
    "daemon": "it opens a network port",
    "instaweb": "it opens a network port",
    "credential": "it handles passwords",
    "credential-store": "it handles passwords",
    "credential-cache": "it handles passwords",
    "read-tree": "it may throw changes away",
    "checkout-index": "it may throw changes away",
    "shell": "it runs a program",
}


def assess_git(command: SimpleCommand) -> Risk:
    """The danger of one call of git that is not known only to read, its options and configuration included."""
    words, argv = command.words, command.argv
    place = git_subcommand(words)
    if place < 0:
        return high("git gets an option clio does not know")
    for option, value in pairwise(argv[1 : place + 1]):
        if option in ("-c", "--config-env") and (option != "-c" or not is_harmless_setting(value)):
            return high(f"git gets the setting {value.split('=', 1)[0]!r}, which may run a program")
        if option.startswith("--config-env="):
            return high("git gets a setting from a variable, which may run a program")
        if option.startswith(("--git-dir", "--work-tree", "--exec-path")):
            return medium("git works on another repository")
    if place >= len(words):
        return medium("git gets an option clio does not know")
    if words[place].dynamic:
        return high("the git command is only known when it runs")
    return _assess_subcommand(argv[place], argv[place + 1 :])


def _assess_subcommand(name: str, rest: tuple[str, ...]) -> Risk:
    if name in LISTED and name not in _CHANGES:
        plain = tuple(word for word in rest if word not in _SAFE_LONG)
        if has_option(plain, "O" if name == "grep" else "", _WRITES_OR_RUNS):
            return high(f"git {name} may write a file or run a program")
        return _CHANGING_FORMS.get(name) or medium(f"git {name} gets an argument that is not known to be harmless")
    if name in _HIGH:
        return high(_HIGH[name])
    if name in _MEDIUM:
        if has_option(rest, "f", ("force", "exec", "extcmd", "upload-pack", "receive-pack")) and name not in (
            "add",
            "fetch",
        ):
            return high(f"git {name} is forced, or runs a program")
        if has_option(rest, _RUNS.get(name, ""), ("upload-pack", "exec", "extcmd")):
            return high(f"git {name} runs a program")
        if name in ("clone", "init") and has_option(rest, "cu" if name == "clone" else "", ("config", "template")):
            return high(f"git {name} sets what may run programs later")
        if name == "switch" and has_option(rest, "C", ("discard-changes", "force-create")):
            return high("git switch throws changes or a branch away")
        return medium(f"git {name} changes the repository")
    return _assess_special(name, rest)


_CHANGES = names("apply bisect branch clean notes remote sparse-checkout stash tag worktree help")
"""Subcommands that read in some forms and change the repository in others."""
_CHANGING_FORMS = {
    "config": high("git settings may hold secrets, and set programs that run later"),
    "reflog": high("git reflog forgets commits"),
    "symbolic-ref": high("it moves a reference"),
}


def _assess_special(name: str, rest: tuple[str, ...]) -> Risk:
    first = rest[0] if rest else ""
    positionals = [word for word in rest if not word.startswith("-")]
    changes = medium(f"git {name} changes the repository")
    match name:
        case "branch" | "tag":
            if has_option(rest, "DMCf", ("force", "delete")) or (name == "tag" and has_option(rest, "d")):
                return high(f"git {name} deletes or overwrites")
            return changes
        case "remote":
            return medium("git asks the remote repository") if positionals[:1] == ["show"] else changes
        case "stash":
            if first in ("list", "show"):
                return high("git stash may write a file or run a program")
            return high("git stash throws work away") if first in ("drop", "clear") else changes
        case "worktree" | "notes" | "bisect" | "sparse-checkout":
            return changes
        case "reset":
            return high("git reset --hard throws changes away") if has_option(rest, "", ("hard", "merge")) else changes
        case "checkout" | "restore":
            makes = has_option(rest, "bt", ("track", "orphan", "no-track"))
            discards = "--" in rest or "." in positionals or has_option(rest, "fB", ("force", "ours", "theirs"))
            discards = discards or (len(positionals) > 1 and not makes)
            staged = has_option(rest, "S", ("staged",)) and not has_option(rest, "W", ("worktree",))
            if (name == "restore" and not staged) or (name == "checkout" and discards):
                return high(f"git {name} throws changes away")
            return changes
        case _:
            return medium(f"clio does not know the command 'git {name}'")
