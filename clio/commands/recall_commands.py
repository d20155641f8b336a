"""/recall: one question to everything that is remembered."""

from clio.commands.base import Command

RECALL: tuple[Command, ...] = ()
