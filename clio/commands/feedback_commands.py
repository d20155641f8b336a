"""/feedback: what the person thought of an answer."""

from clio.commands.base import Command

FEEDBACK: tuple[Command, ...] = ()
