"""Which lines are commands. Pure."""

from clio.algorithms.late_pattern import LatePattern

_COMMAND = LatePattern(r"/([A-Za-z][\w-]*(:[\w.-]+)*)?(?!\S)")  # "/etc/hosts is wrong" is a prompt, not a command


def is_command(line: str) -> bool:
    """Whether the line is meant for clio and not for the model."""
    return _COMMAND.match(line.strip()) is not None
