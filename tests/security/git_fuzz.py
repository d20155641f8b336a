"""Random calls of git, built from its own usage texts: those that need no approval must change nothing.

`python -m tests.security.git_fuzz [COUNT] [SEED]` prints how many were judged, run and found.
"""

import random
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Policy
from clio.security.git_safety import build_git_environment
from clio.security.readonly.git_grammar import READING_SUBCOMMANDS, read_git_grammar
from tests.support.git_tricks import environment
from tests.support.repositories import git, make, write

_NESTED = {
    "bisect": "log start reset good",
    "config": "get list set unset edit user.name a.b diff.external",
    "notes": "list show add remove get-ref append",
    "reflog": "show expire delete exists list",
    "remote": "show get-url add remove set-url prune update -v",
    "sparse-checkout": "list set disable",
    "stash": "list show push pop drop clear",
    "worktree": "list add prune",
}
_NASTY = """
    --output=made --output made --outpu=made --ext-diff --textconv --filters --show-signature --open-files-in-pager=true
    -Otrue --no-list --force -f --edit -e --add --unset --delete -d -D -m -M -c -C --exec=true --upload-pack=true
    --edit-description --set-upstream-to=v1 --track --create-reflog --replace-all --apply --reject --index --3way
    --no-dry-run --interactive --stdin --parseopt --remerge-diff --diff-merges=remerge --exec-path=. --global
    --file=made --build-fake-ancestor=made --intent-to-add --rename-section --get --list -l -n -v --all
    --sort=refname --format=%H
    --format=%(refname) --column --color --contains --merged --points-at -- -u -s -F a.txt -- --cached
    """.split()
_OPERANDS = """
    HEAD HEAD~1 main v1 new wip a.txt docs docs/b.txt . patch stash@{0} origin refs/heads/main HEAD:a.txt main..HEAD x=y
    user.name other.key value --get touch 1 5 made * a*
    """.split()
_OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z\d][\w-]*")


def options_of(name: str) -> list[str]:
    """Return every option in `git NAME -h` and in clio's grammar of it."""
    done = subprocess.run(["git", name, "-h"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    listed: list[str] = []
    for second in ("", *_NESTED.get(name, "").split()):
        try:
            listed += [
                one + ("=" if value and not value.optional else "")
                for one, value in read_git_grammar(name, second).options.items()
            ]
        except KeyError:
            continue
    return sorted({*_OPTION.findall(done.stdout + done.stderr), *listed})


def build(chance: random.Random, known: dict[str, list[str]]) -> list[str]:
    """Return one call, without the program's name."""
    name = chance.choice(sorted(known))
    words = [chance.choice(_NESTED[name].split())] if name in _NESTED and chance.random() < 0.9 else []
    for _ in range(chance.randrange(5)):
        kind = chance.random()
        if kind < 0.5 and known[name]:
            option = chance.choice(known[name])
            plain = option.rstrip("=")
            shape = chance.random()
            if shape < 0.1 and plain.startswith("--"):
                option = plain[: chance.randrange(3, len(plain) + 1)]
            elif shape < 0.2 and plain.startswith("--"):
                option = f"--no-{plain[2:]}"
            elif shape < 0.35:
                option = (
                    f"{plain}={chance.choice(_OPERANDS)}"
                    if plain.startswith("--")
                    else plain + chance.choice(_OPERANDS)
                )
            elif option.endswith("="):
                words.append(plain)
                option = chance.choice(_OPERANDS)
            words.append(option)
        elif kind < 0.62:
            words.append(chance.choice(_NASTY))
        else:
            words.append(chance.choice(_OPERANDS))
    return [name, *words]


def snapshot(root: Path) -> dict[str, bytes]:
    """Return files with content, index entries and references; the index without what a refresh changes."""
    found = {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in sorted(root.rglob("*"))
        if path.name != "index" and not path.is_symlink()
    }
    return {**found, "entries": git(root, "ls-files", "--stage", "-v").encode()}


def run_calls(folder: Path, count: int, seed: int, batch: int = 25) -> tuple[int, int, list[str]]:
    """Return how many calls were judged and run, and those that changed something."""
    root = make(folder / "project", {"a.txt": "1\n", "docs/b.txt": "2\n", "patch": "", "wip.txt": "w\n"})
    write(root, {"a.txt": "1\n2\n"})
    git(root, "commit", "--quiet", "--all", "--message", "second")
    git(root, "tag", "v1")
    git(root, "branch", "wip")
    git(root, "config", "remote.origin.url", "/nowhere")
    write(root, {"a.txt": "stashed\n"})
    git(root, "stash", "--quiet")
    write(root, {"docs/b.txt": "changed\n", "untracked": "u\n"})
    chance = random.Random(seed)
    known = {name: options_of(name) for name in sorted(READING_SUBCOMMANDS - {"help"})}
    policy, env = Policy(Workspace(root), "ask"), {**build_git_environment(root), "HOME": str(folder)}
    before, pending, ran, found = snapshot(root), list[str](), 0, list[str]()
    for number in range(count):
        words = build(chance, known)
        line = " ".join(word if word in ("*", "a*") else shlex.quote(word) for word in ("git", *words))
        if isinstance(policy.judge(RunCommand(command=line, cwd=root)), Allow):
            subprocess.run(
                ["bash", "-c", line], cwd=root, env=environment(env), stdin=subprocess.DEVNULL, capture_output=True,
                check=False, timeout=20,
            )  # fmt: skip
            ran += 1
            pending.append(line)
        if pending and (len(pending) == batch or number == count - 1):
            after = snapshot(root)
            if after != before:
                names = {name for name in {**before, **after} if before.get(name) != after.get(name)}
                found.append(f"{sorted(names)[:3]} after one of {pending}")
                before = after
            pending = []
    return count, ran, found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        judged, ran, changed = run_calls(Path(place), *(int(word) for word in sys.argv[1:3] or ("5000", "1")))
    sys.stdout.write(f"{judged} judged, {ran} run unasked, {len(changed)} changed something\n")
    sys.stdout.write("".join(f"{text}\n" for text in changed))
