"""Configuration, trust, and what is configured beside it: MCP servers, skills, sub-agents, commands, hooks."""

from collections.abc import Iterator

from clio.commands.custom_commands import CustomCommands, brought
from clio.config.show import start_notes
from clio.config.trust import Trust
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok, several
from clio.skills.shelf import SkillShelf
from clio.subagents.definitions import DefinitionFolders

_MAX_NAMED = 3


def check_files(ground: Ground) -> Iterator[Finding]:
    """Which files were read. That they could be read is known by then."""
    files = ", ".join(ground.shown(path) for path in ground.loaded.files)
    yield ok("configuration", files or "no files, so everything is as it comes")


def check_trust(ground: Ground) -> Iterator[Finding]:
    """What the project asks for and may not have yet."""
    loaded = ground.loaded
    trust = Trust(ground.home)
    if wrong := trust.damage():
        yield fix("trust", f"{ground.shown(trust.path)} {wrong}, so no project is trusted with anything",
                  "put a copy back, or trust each anew: clio config trust, clio memory share on")  # fmt: skip
    for sentence in start_notes(loaded):
        yield note("trust", sentence)
    waiting = brought(loaded, ground.env)
    if waiting:
        names = ", ".join(value.key for value in waiting[:_MAX_NAMED])
        more = f" and {len(waiting) - _MAX_NAMED} more" if len(waiting) > _MAX_NAMED else ""
        yield note("trust", f"the project's {names}{more} wait for it", "look at them, then: clio config trust")
    if not loaded.withheld and not waiting:
        trusted = len(loaded.trusted)
        yield ok("trust", f"{several(trusted, 'value')} of the project's in force because you said so" if trusted
                 else "the project asks for nothing that needs it")  # fmt: skip


def check_added(ground: Ground) -> Iterator[Finding]:
    """How many of everything that can be added; nothing of it is started."""
    loaded = ground.loaded
    found = SkillShelf(ground.owner, ground.home, ground.env).find()
    commands = CustomCommands(ground.owner, ground.home, ground.env)
    agents, agent_problems = DefinitionFolders(ground.owner, ground.home, ground.env).find()
    enabled = sum(1 for server in loaded.servers if server.enabled)
    off = len(loaded.servers) - enabled
    counts = (
        several(enabled, "MCP server") + (f" ({off} switched off)" if off else ""),
        several(len(found.skills), "skill"),
        several(len(commands()), "own command"),
        several(len(agents), "sub-agent"),
        several(len(loaded.hooks), "hook"),
    )
    for problem in (*loaded.server_problems, *found.problems, *commands.problems(), *agent_problems):
        yield note("extensions", problem)
    yield ok("extensions", ", ".join(counts))
