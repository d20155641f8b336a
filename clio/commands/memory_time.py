"""/memory history and /memory changes: how what is remembered came to be what it is."""

from clio.commands.base import Command

TIME_ROWS: tuple[Command, ...] = ()
