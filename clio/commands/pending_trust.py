"""Everything from a project except settings that waits for trust: skills, sub-agents, commands, checks of its code."""

import os
from collections.abc import Mapping

from clio.checks.checkers import describe_checks_trust
from clio.checks.checkers import list_untrusted_programs_of_checks as waiting_checks
from clio.commands.custom_commands import CustomCommands
from clio.config.loaded import LoadedConfig, TrustRequest
from clio.config.trust import TrustStore
from clio.errors import UserError
from clio.git.repository import find_root, list_untrusted_programs
from clio.skills.skills import SkillCatalog, SubagentCatalog


def list_waiting_for_trust(loaded: LoadedConfig, env: Mapping[str, str] = os.environ) -> tuple[TrustRequest, ...]:
    """Return all of them in the form in which the user is asked to trust them."""
    shelf = SkillCatalog(loaded.main_project, loaded.home, env)
    commands = CustomCommands(loaded.main_project, loaded.home, env)
    agents = SubagentCatalog(loaded.main_project, loaded.home, env)
    checks = waiting_checks(loaded.config.checks, loaded.project, loaded.main_project, loaded.home)
    asked = (describe_checks_trust(checks),) if checks else ()
    return (*shelf.list_withheld(shelf.find()), *agents.list_withheld(), *commands.withheld(), *asked)


def list_waiting_programs(loaded: LoadedConfig) -> tuple[TrustRequest, ...]:
    """Return untrusted programs that git would start because of the repository's own configuration; asks git."""
    try:
        return list_untrusted_programs(find_root(loaded.project), TrustStore(loaded.home), loaded.main_project)
    except UserError:
        return ()
