"""clio: a terminal coding agent that remembers. `from clio import Agent` runs it from a Python program."""

TYPE_CHECKING = False  # same effect as typing's, without the import
if TYPE_CHECKING:
    from typing import Any

    from clio.agent.user_interface import ContextTrimmed as ContextTrimmed
    from clio.agent.user_interface import MessageAdded as MessageAdded
    from clio.agent.user_interface import Notice as Notice
    from clio.agent.user_interface import ReasoningDelta as ReasoningDelta
    from clio.agent.user_interface import Retrying as Retrying
    from clio.agent.user_interface import Steered as Steered
    from clio.agent.user_interface import StepFinished as StepFinished
    from clio.agent.user_interface import StepStarted as StepStarted
    from clio.agent.user_interface import StreamRestarted as StreamRestarted
    from clio.agent.user_interface import TextDelta as TextDelta
    from clio.agent.user_interface import ToolFinished as ToolFinished
    from clio.agent.user_interface import ToolProgress as ToolProgress
    from clio.agent.user_interface import ToolStarted as ToolStarted
    from clio.agent.user_interface import TurnFinished as TurnFinished
    from clio.agent.user_interface import TurnStarted as TurnStarted
    from clio.entrypoints.python_api import Agent as Agent
    from clio.entrypoints.python_api import AgentOptions as AgentOptions
    from clio.entrypoints.python_api import Approval as Approval
    from clio.entrypoints.python_api import AsyncAgent as AsyncAgent
    from clio.entrypoints.python_api import Event as Event
    from clio.entrypoints.python_api import MemoryItem as MemoryItem
    from clio.entrypoints.python_api import Turn as Turn
    from clio.entrypoints.python_api import TurnFailed as TurnFailed
    from clio.errors import ClioError as ClioError

__version__ = "0.2.0"
__all__ = [
    "Agent",
    "AgentOptions",
    "Approval",
    "AsyncAgent",
    "ClioError",
    "ContextTrimmed",
    "Event",
    "MemoryItem",
    "MessageAdded",
    "Notice",
    "ReasoningDelta",
    "Retrying",
    "Steered",
    "StepFinished",
    "StepStarted",
    "StreamRestarted",
    "TextDelta",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
    "Turn",
    "TurnFailed",
    "TurnFinished",
    "TurnStarted",
    "__version__",
]


def __getattr__(name: str) -> "Any":
    """Import the Python interface when one of its names is used first: it loads most of clio."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    # Modules by name: most of clio imports this package, for its version.
    places = [import_module(module) for module in ("clio.entrypoints.python_api", "clio.agent.user_interface")]
    return next(getattr(place, name) for place in places if hasattr(place, name))
