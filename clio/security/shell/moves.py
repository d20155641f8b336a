"""Where `cd` and its like lead a line. Pure."""

from clio.security.shell.words import Word, names

Paths = tuple[str, ...] | None
"""The folders a line may be in at one place; None where that cannot be told."""
Exits = tuple[Paths, Paths]
"""Where a statement leaves the line: when it worked, and when it failed."""

_MAX_FOLDERS = 8
MOVES = names("cd pushd popd chdir")
PLAINLY_STARTS = names("time command builtin")
"""What a `cd` may stand behind, and still be seen to move the line."""
DECIDES_MOVES = MOVES | names(
    "export declare typeset local readonly command builtin eval exec time dirs set shopt unset trap . source"
)
"""A function of such a name would have the line go on elsewhere, or otherwise, than it seems."""
_STAY = names("-P -L -e")


def either(*places: Paths) -> Paths:
    """Every folder of these; None where one is unknown, or there are too many."""
    found = dict[str, None]()
    for paths in places:
        if paths is None:
            return None
        found |= dict.fromkeys(paths)
    return tuple(found) if len(found) <= _MAX_FOLDERS else None


def entered(paths: Paths, words: tuple[Word, ...]) -> Paths:
    """Where `cd` and its like lead from these folders."""
    targets = [word for word in words[1:] if word.dynamic or word.text not in _STAY]
    if targets[:1] == [Word("--")]:
        targets = targets[1:]
    elif any(word.text.startswith("-") for word in targets):
        return None
    if paths is None or words[0].text == "popd" or len(targets) > 1 or (words[0].text == "pushd" and not targets):
        return None
    target = targets[0] if targets else Word("~")
    if target.dynamic or target.glob or target.text[:1] in ("-", "+"):
        return None
    rooted = target.text.startswith(("/", "~"))
    return either(tuple(target.text if rooted or not path else f"{path}/{target.text}" for path in paths))
