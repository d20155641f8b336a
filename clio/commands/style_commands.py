"""/style: how answers are worded, and what clio has learned about that."""

from clio.commands.base import Command

STYLE: tuple[Command, ...] = ()
