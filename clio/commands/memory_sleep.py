"""/memory sleep and /memory log: consolidation by hand, and what it did."""

from clio.commands.base import Command

SLEEP_ROWS: tuple[Command, ...] = ()
