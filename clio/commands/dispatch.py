"""From a command's record and what follows its name to its result; for the shell's line and the command line alike."""

from clio.commands.arguments import nearest
from clio.commands.command import Command, CommandResult, Shell, refuse
from clio.errors import ClioError, UsageError
from clio.storage.locks import sentence


def carry_out(shell: Shell, command: Command, argument: str, called: str) -> CommandResult:
    """Run the command, or the one below it that `argument` names; what a person got wrong comes back as a sentence.

    called: how the command was written, such as "/session", for the sentence.
    """
    try:
        command, argument = choose(command, argument, called)
        return command.handler(shell, argument)
    except ClioError as error:
        return refuse(str(error))
    except OSError as error:
        return refuse(sentence(error))


def choose(command: Command, argument: str, called: str) -> tuple[Command, str]:
    """The command that is meant, itself or one below it, and its own argument.

    Raises UsageError for a word that is none below it, naming a near one.
    """
    first, rest = split(argument)
    if not command.subcommands or not first:
        return command, argument
    found = among(command.subcommands, first)
    if found is None:
        known = [sub.name for sub in command.subcommands]
        near = nearest(first, known, f"{called} ", f"choose one of {', '.join(known)}")
        raise UsageError(f"{called} does not know {first!r}; {near}")
    return found, rest


def among(commands: tuple[Command, ...], name: str) -> Command | None:
    """The command of that name or alias, in any case."""
    wanted = name.lower()
    return next((command for command in commands if wanted == command.name or wanted in command.aliases), None)


def forms(command: Command, called: str) -> tuple[tuple[str, str], ...]:
    """Every way to write a command that is called so, with what it does."""
    subs = ((f"{called} {usage(sub.name, sub)}", sub.summary) for sub in command.subcommands)
    return ((usage(called, command), command.summary), *subs)


def usage(called: str, command: Command) -> str:
    """How a command is written, with its argument."""
    return f"{called} {command.argument}".rstrip()


def split(text: str) -> tuple[str, str]:
    """The first word and the rest, stripped."""
    words = text.split(maxsplit=1)
    return (words[0] if words else ""), (words[1].strip() if len(words) > 1 else "")
