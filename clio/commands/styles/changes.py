"""/style: turning styles on and off, naming one, and forgetting what was learned."""

from pathlib import Path

import msgspec

from clio.commands.arguments import read
from clio.commands.command import Shell
from clio.commands.follow_ups import Confirm
from clio.commands.markdown_code import code
from clio.commands.memory.access import remembers
from clio.commands.memory.words import count, size
from clio.commands.result import CommandResult, refuse
from clio.storage.files import write_atomic


@remembers
def turn_on(shell: Shell, argument: str) -> CommandResult:
    """From the next turn on answers get a style."""
    if argument:
        return refuse("/style on takes nothing; /style use NAME gives every answer one style")
    styles = shell.memory.styles
    styles.turn_on()
    number = len(styles.skills().skills)
    pinned = styles.pinned
    does = f"every answer is {code(pinned)}" if pinned else f"clio words each answer in one of {count(number, 'style')}"
    text = (
        f"Styles are on: from the next answer on {does}. `+` or `-` and Enter on an empty line after an answer says "
        "how it was; `/style why` tells why it was so."
    )
    return CommandResult(text=text, data={"on": True, "pinned": styles.pinned})


@remembers
def turn_off(shell: Shell, argument: str) -> CommandResult:
    """Answers get none any more."""
    if argument:
        return refuse("/style off takes nothing")
    styles = shell.memory.styles
    styles.turn_off()
    text = "Styles are off. What was learned stays until `/style reset`."
    return CommandResult(text=text, data={"on": False, "pinned": styles.pinned})


@remembers
def use(shell: Shell, argument: str) -> CommandResult:
    """Give every answer one style."""
    if not argument:
        return refuse("Which style? Write /style use NAME; /style list has the names, /style auto lets clio choose")
    if argument.lower() == "auto":
        return choose_again(shell, "")
    skill = shell.memory.styles.use(argument)
    assert skill is not None
    text = (
        f"Every answer is {code(skill.id)} from now on: {skill.summary or skill.name}. `/style auto` takes that back."
    )
    return CommandResult(text=text, data={"on": True, "pinned": skill.id})


@remembers
def choose_again(shell: Shell, argument: str) -> CommandResult:
    """Let clio choose the style of each answer."""
    if argument:
        return refuse("/style auto takes nothing; /style use NAME gives every answer one style")
    shell.memory.styles.use(None)
    return CommandResult(text="clio chooses the style of each answer.", data={"on": True, "pinned": None})


@remembers
def reset(shell: Shell, argument: str) -> CommandResult:
    """Forget what was learned, about one style or about all; asks before the latter."""
    given = read(argument, switches=("--yes",))
    styles = shell.memory.styles
    if given.text:
        skill = styles.find(given.text)
        styles.reset(skill.id)
        return CommandResult(text=f"Nothing is known of {code(skill.id)} any more.", data={"reset": [skill.id]})
    rated = [view for view in styles.views() if view.earned]
    if not rated and not styles.state().vectors:
        return CommandResult(text="Nothing was learned about styles yet.", data={"reset": []})
    if "--yes" not in given.options:
        question = f"Forget all that was learned about {count(len(rated), 'style')}? It cannot be taken back."
        return CommandResult(follow_up=Confirm(question=question, then="/style reset --yes"))
    styles.reset()
    return CommandResult(
        text="All that was learned about styles is forgotten; `/feedback` still lists the ratings.",
        data={"reset": [view.skill.id for view in rated]},
    )


@remembers
def delete(shell: Shell, argument: str) -> CommandResult:
    """Delete the file of a style somebody wrote; asks first."""
    given = read(argument, switches=("--yes",))
    if not given.text:
        return refuse("Which style? Write /style delete NAME; only styles that are not built in can be deleted")
    styles = shell.memory.styles
    skill = styles.find(given.text)
    if not skill.built_in and "--yes" not in given.options:
        question = f"Delete {skill.source}? It cannot be taken back."
        return CommandResult(follow_up=Confirm(question=question, then=f"/style delete {skill.id} --yes"))
    path = styles.delete(skill.id)
    again = styles.skills().get(skill.id)
    built_in = f" The {'built-in ' if again.built_in else ''}style of that name shows again." if again else ""
    return CommandResult(text=f"Deleted {code(str(path))}.{built_in}", data={"deleted": str(path)})


@remembers
def export(shell: Shell, argument: str) -> CommandResult:
    """All that was learned, and the styles that are not built in: into a file, or shown."""
    given = read(argument, switches=("--force",))
    if len(given.words) > 1:
        return refuse(f"/style export takes one path, not {given.text!r}; put quotes around one with blanks in it")
    document = msgspec.to_builtins(shell.memory.styles.export())
    text = shell.redactor.redact(msgspec.json.format(msgspec.json.encode(document), indent=2).decode("utf-8")).text
    if not given.words:
        return CommandResult(verbatim=text, data=msgspec.json.decode(text))
    path = Path(given.words[0]).expanduser()
    if path.is_dir():
        return refuse(f"{str(path)!r} is a folder; name a file in it, such as {str(path / 'styles.json')!r}")
    if path.exists() and "--force" not in given.options:
        return refuse(f"{str(path)!r} exists; --force replaces it")
    if not path.parent.is_dir():
        return refuse(f"There is no folder {str(path.parent)!r} to write {path.name!r} into; make it first")
    written = text.encode("utf-8") + b"\n"
    try:
        write_atomic(path, written)
    except OSError as error:
        return refuse(f"{str(path)!r} cannot be written ({error.strerror}); name a place you may write to")
    return CommandResult(
        text=f"Wrote what was learned about styles to {code(str(path))} ({size(len(written))}).",
        data={"path": str(path), "bytes": len(written)},
    )
