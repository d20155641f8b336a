"""/memory export, import and wipe: everything that was learned, to hand on or to be rid of."""

from clio.commands.base import Command

CONTROL_ROWS: tuple[Command, ...] = ()
