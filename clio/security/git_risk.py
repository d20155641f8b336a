"""How dangerous a git command line is. Pure."""

from itertools import pairwise

from clio.algorithms.late_pattern import LatePattern
from clio.security.risk import Risk, has_option, high, low, medium
from clio.security.shell.words import SimpleCommand, names
from clio.security.shell.wrappers import git_subcommand

_READS = names("""
    log status diff show blame annotate rev-parse rev-list ls-files ls-tree cat-file describe shortlog grep merge-base
    name-rev for-each-ref show-ref show-branch count-objects check-ignore check-attr check-mailmap diff-tree diff-index
    diff-files cherry range-diff whatchanged version
    """)
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
_SAFE_CONFIG = (
    "color.",
    "core.quotepath=",
    "user.name=",
    "user.email=",
    "log.date=",
    "log.decorate=",
    "log.abbrevcommit=",
    "log.follow=",
    "advice.",
    "init.defaultbranch=",
    "core.autocrlf=",
    "diff.renames=",
    "diff.context=",
    "status.",
    "column.",
)
_SAFE_SETTINGS = frozenset({"commit.gpgsign=false", "tag.gpgsign=false", "core.pager=cat", "core.pager=", "core.pager"})
# `%G?` in a format, and `%(signature)`, start the program that checks signatures.
_SIGNATURE = LatePattern(r"%G[A-Z?]|%\(signature")
_LISTS = ("list", "contains", "no-contains", "merged", "no-merged", "points-at", "format", "sort")

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
    """The danger of one call of git, its options and configuration included."""
    words, argv = command.words, command.argv
    place = git_subcommand(words)
    if argv[1:] in (("--version",), ("--help",), ("-v",), ("-h",)):
        return low("git says how it is used")
    if place < 0:
        return high("git gets an option clio does not know")
    for option, value in pairwise(argv[1 : place + 1]):
        safe = value.lower() in _SAFE_SETTINGS or value.lower().startswith(_SAFE_CONFIG)
        if option in ("-c", "--config-env") and (option != "-c" or not safe):
            return high(f"git gets the setting {value.split('=', 1)[0]!r}, which may run a program")
        if option.startswith("--config-env="):
            return high("git gets a setting from a variable, which may run a program")
        if option.startswith(("--git-dir", "--work-tree", "--exec-path")):
            return medium("git works on another repository")
    if place >= len(words):
        return low("git says how it is used")
    if words[place].dynamic:
        return high("the git command is only known when it runs")
    return _subcommand(argv[place], argv[place + 1 :], command.dynamic)


def _subcommand(name: str, rest: tuple[str, ...], dynamic: bool) -> Risk:
    plain = tuple(word for word in rest if word not in _SAFE_LONG)
    if any(map(_SIGNATURE.search, rest)):
        return medium(f"git {name} may run the program that checks signatures")
    if name in _READS:
        if has_option(plain, "O" if name == "grep" else "", _WRITES_OR_RUNS):
            return high(f"git {name} may write a file or run a program")
        return medium("an argument is only known when it runs") if dynamic else low(f"git {name} only reads")
    if name in _HIGH:
        if name == "clean" and has_option(rest, "n", ("dry-run",)) and not has_option(rest, "f", ("force",)):
            return low("git clean only lists")
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
    return _special(name, rest, dynamic)


def _special(name: str, rest: tuple[str, ...], dynamic: bool) -> Risk:
    first = rest[0] if rest else ""
    positionals = [word for word in rest if not word.startswith("-")]
    reads = low(f"git {name} only reads")
    changes = medium(f"git {name} changes the repository")
    if dynamic:
        reads = medium("an argument is only known when it runs")
    match name:
        case "branch" | "tag":
            if has_option(rest, "DMCf", ("force", "delete")) or (name == "tag" and has_option(rest, "d")):
                return high(f"git {name} deletes or overwrites")
            letters = "dmcu" if name == "branch" else "asmuFe"
            if has_option(rest, letters, ("move", "copy", "set-upstream-to", "unset-upstream", "edit-description")):
                return changes
            if has_option(rest, "", ("annotate", "sign", "message", "file", "edit", "track", "no-track")):
                return changes
            lists = has_option(rest, "l", _LISTS) or (name == "tag" and has_option(rest, "n"))
            return changes if positionals and not lists else reads
        case "remote":
            asks = positionals[:1] == ["show"] and not has_option(rest, "n")
            if asks and len(positionals) > 1:
                return medium("git asks the remote repository")
            return reads if not positionals or positionals[0] in ("get-url", "show") else changes
        case "reflog":
            return reads if first in ("", "show") or first.startswith("-") else high("git reflog forgets commits")
        case "stash":
            if first in ("list", "show"):
                risky = has_option(tuple(word for word in rest if word not in _SAFE_LONG), "", _WRITES_OR_RUNS)
                return high("git stash may write a file or run a program") if risky else reads
            return high("git stash throws work away") if first in ("drop", "clear") else changes
        case "config":
            asks = has_option(rest, "l", ("get", "get-all", "get-regexp", "list", "name-only", "get-urlmatch"))
            asks = asks or first in ("get", "list") or (len(rest) == 1 and "." in first and not first.startswith("-"))
            sets = has_option(rest, "e", ("add", "unset", "unset-all", "replace-all", "edit", "remove-section"))
            return reads if asks and not sets else high("git settings may run programs later")
        case "worktree" | "notes" | "bisect":
            return reads if first in ("list", "log", "show") else changes
        case "symbolic-ref":
            return (
                reads
                if len(positionals) == 1 and not has_option(rest, "dm", ("delete",))
                else high("it moves a reference")
            )
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
