"""/memory share: the project knowledge as files that a team keeps in git, turned on and off, and how it stands."""

import time

import msgspec

from clio.commands.arguments import read
from clio.commands.command import Command, CommandResult, Confirm, Shell, Suggestion, code, refuse
from clio.commands.memory.memory_text import count, entries_of, entry_data, entry_table, remembers
from clio.config.paths import FOLDER_NAME
from clio.config.project_links import SHARED_NAME
from clio.errors import UsageError
from clio.memory.records import Entry
from clio.memory.team.ignoring import Rule
from clio.memory.team.knowledge import TIDY_DAYS
from clio.memory.team.share import Status

_FOLDER = f"{FOLDER_NAME}/{SHARED_NAME}"
_SHOWN, _PROBLEMS_SHOWN = 40, 5
_WORDS = {
    "on": "share what you know, as files for git",
    "off": "take all of it back into ltm.json",
    "status": "what is shared, by whom, and what git makes of it",
    "tidy": "delete files that say nothing any more",
}


@remembers
def share(shell: Shell, argument: str) -> CommandResult:
    """How sharing stands, or a change of it."""
    given = read(argument, switches=("--yes", "--gitignore"), valued=("--days",))
    word = given.words[0].lower() if given.words else "status"
    if word not in _WORDS or len(given.words) > 1:
        return refuse(f"/memory share takes one of {', '.join(_WORDS)}, not {given.text!r}")
    if "--gitignore" in given.options and word not in ("on", "status"):
        return refuse("--gitignore goes with /memory share on")
    match word:
        case "on":
            return _on(shell, agreed="--yes" in given.options, gitignore="--gitignore" in given.options)
        case "off":
            return _off(shell, agreed="--yes" in given.options)
        case "tidy":
            return _tidy(shell, given.options.get("--days"))
        case _:
            return _status(shell)


def _on(shell: Shell, *, agreed: bool, gitignore: bool) -> CommandResult:
    """Show what others would read, and share it once the person has agreed."""
    sharing = shell.memory.sharing
    entries = sharing.would_be_shared()
    data = {"on": False, "entries": [entry_data(entry) for entry in entries]}
    if not agreed:
        shown = entries[:_SHOWN]
        rest = f", {len(shown)} shown here; `/memory list` shows all" if len(shown) < len(entries) else ""
        text = (
            f"{entries_of(len(entries))} of project knowledge would become files in `{_FOLDER}/`{rest}. Who has the "
            "repository reads them, and what you learn from now on, under your git name. Secrets are replaced first. "
            "Notes, memories, preferences, styles and sessions stay yours. What others share is read from then on."
        )
        then = f"/memory share on --yes{' --gitignore' if gitignore else ''}"
        table = entry_table(shown, {}, now=time.time()) if shown else None
        return CommandResult(text=text, table=table, data=data, follow_up=Confirm(question="Share them?", then=then))
    number = sharing.turn_on()
    added = sharing.let_git_see() if gitignore else ()
    status = sharing.status()
    parts = [f"{entries_of(number)} now lie in `{_FOLDER}/`, {len(status.shared):,} with those of others."]
    parts += [f"Added to {code(rule.file)}: {', '.join(map(code, rule.lines))}." for rule in added]
    parts += [_rule(status.rule)] if status.rule else []
    parts.append(_commit(shell, status))
    data = {"on": True, "shared": number, "added": msgspec.to_builtins(added), **_data(status)}
    return CommandResult(text="\n".join(part for part in parts if part), data=data)


def _off(shell: Shell, *, agreed: bool) -> CommandResult:
    sharing = shell.memory.sharing
    if not agreed:
        status = sharing.status()
        if status.there and status.trusted:
            text = (
                f"{entries_of(len(status.shared))} go back into `{FOLDER_NAME}/ltm.json`, and `{_FOLDER}/` is deleted. "
                "Committed, that takes it from everybody; agree with them first."
            )
            then = "/memory share off --yes"
            return CommandResult(text=text, data=_data(status), follow_up=Confirm(question="Do it?", then=then))
    number = sharing.turn_off()
    return CommandResult(
        text=f"{entries_of(number)} are in `{FOLDER_NAME}/ltm.json` again; nothing is shared any more.",
        data={"on": False, "taken_back": number},
    )


def _tidy(shell: Shell, days: str | None) -> CommandResult:
    try:
        old = TIDY_DAYS if days is None else float(days)
    except ValueError:
        raise UsageError(f"--days takes a number of days, not {days!r}") from None
    if not old >= 0:
        raise UsageError(f"--days takes a number of days that is not below 0, not {days!r}")
    number = shell.memory.sharing.tidy(old)
    return CommandResult(text=f"{count(number, 'file')} that said nothing any more deleted.", data={"deleted": number})


def _status(shell: Shell) -> CommandResult:
    status = shell.memory.sharing.status()
    if not status.there:
        own = entries_of(len(status.private))
        text = f"Nothing is shared: {own} of project knowledge only you have. `/memory share on` begins it."
        return CommandResult(text=text, data=_data(status))
    if not status.trusted:
        text = (
            f"`{_FOLDER}/` came with the project, and what is in it is not read: you have not said that you trust it. "
            "`/trust`, or `clio config trust` outside of a conversation, says so; `/memory share on` shares yours, too."
        )
        return CommandResult(text=text, data=_data(status))
    by = ", ".join(f"{name or 'unnamed'} {number:,}" for name, number in status.by.items())
    parts = [f"{entries_of(len(status.shared))} shared in `{_FOLDER}/`{f' (by {code(by)})' if by else ''}."]
    if status.private:
        parts.append(f"{entries_of(len(status.private))} only you have; `/memory share on` shares them.")
    parts += [_listed(status.rivals, "said otherwise by somebody else; `/memory forget ID` of one settles it")]
    parts += [_listed(status.late, "changed while somebody forgot it; `/memory add` in those words brings it back")]
    if status.problems:
        rows = [f"- {code(f'{one.path}: {one.why}')}" for one in status.problems[:_PROBLEMS_SHOWN]]
        parts.append("\n".join([f"\n{count(len(status.problems), 'file')} left out:\n", *rows, ""]))
    if status.emptied:
        parts.append(f"{count(status.emptied, 'file')} said something once; `/memory share tidy` deletes the old ones.")
    parts += [_rule(status.rule)] if status.rule else []
    parts.append(_commit(shell, status))
    return CommandResult(text="\n".join(part for part in parts if part).strip(), data=_data(status))


def _listed(entries: tuple[Entry, ...], what: str) -> str:
    if not entries:
        return ""
    rows = [f"- {code(f'{entry.id} {entry.text} ({entry.by})')}" for entry in entries[:_SHOWN]]
    return "\n".join([f"\n{entries_of(len(entries))} {what}:\n", *rows, ""])


def _rule(rule: Rule) -> str:
    lines = ", ".join(map(code, rule.lines))
    begin = (
        f"git does not see it: {code(rule.pattern)} in {code(rule.where)} leaves it out"
        if rule.where
        else f"git sees what is yours alone in `{FOLDER_NAME}/`, too"
    )
    return f"{begin}. Put these lines at the end of {code(rule.file)}, or `/memory share on --gitignore` does: {lines}."


def _commit(shell: Shell, status: Status) -> str:
    if not status.uncommitted:
        return ""
    files = count(status.uncommitted, "file is", "files are")
    ignoring = " .gitignore" if (shell.loaded.owner / ".gitignore").exists() else ""
    return f"{files} not committed: {code(f'git add {FOLDER_NAME}{ignoring}')}, then commit."


def _data(status: Status) -> dict[str, object]:
    return {
        "there": status.there,
        "trusted": status.trusted,
        "shared": [entry_data(entry) for entry in status.shared],
        "private": len(status.private),
        "by": status.by,
        "rivals": [entry.id for entry in status.rivals],
        "late": [entry_data(entry) for entry in status.late],
        "emptied": status.emptied,
        "problems": msgspec.to_builtins(status.problems),
        "uncommitted": status.uncommitted,
        "rule": msgspec.to_builtins(status.rule),
    }


def _suggest(shell: Shell, argument: str) -> list[Suggestion]:
    before, _, typed = argument.rpartition(" ")
    if not before:
        return [Suggestion(text=word, note=note) for word, note in _WORDS.items() if word.startswith(typed)]
    options = {"on": [("--gitignore", "let git see the folder"), ("--yes", "without asking")]}
    return [Suggestion(text=text, note=note) for text, note in options.get(before.split(" ")[0], [])]


SHARE_ROWS: tuple[Command, ...] = (
    Command(
        name="share",
        argument="on|off|status|tidy [--gitignore] [--yes]",
        summary="keep it as files that a team merges in git",
        handler=share,
        suggest_word=_suggest,
    ),
)
