"""What a project brings beside its settings that waits for trust: skills, sub-agents, commands that run something."""

import os
from collections.abc import Mapping

from clio.commands.custom_commands import CustomCommands
from clio.config.loaded import Loaded, Widening
from clio.skills.shelf import SkillShelf
from clio.subagents.definitions import DefinitionFolders


def brought(loaded: Loaded, env: Mapping[str, str] = os.environ) -> tuple[Widening, ...]:
    """All of it that the folder is not trusted with, as it is shown before trust is asked for."""
    shelf = SkillShelf(loaded.owner, loaded.home, env)
    commands = CustomCommands(loaded.owner, loaded.home, env)
    agents = DefinitionFolders(loaded.owner, loaded.home, env)
    return (*shelf.withheld(shelf.find()), *agents.withheld(), *commands.withheld())
