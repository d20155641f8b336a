"""use_skill: the instructions of a skill whose name and description stand in the prompt."""

import asyncio
from collections.abc import Sequence
from typing import Any

from clio.errors import ToolFailed, ToolRetry, UserError
from clio.messages import Deeds
from clio.security.actions import Internal
from clio.skills.shelf import SkillShelf
from clio.skills.skill import Skill
from clio.tools.base import Prepared, Progress, ToolOutput
from clio.tools.output import many, nearest
from clio.tools.schemas import UseSkillArgs


class UseSkillTool:
    """Hands out the skills of one session; those that came later are not among them.

    Reading them asks nobody: the person has put them into their own folder, or trusted the project with them.
    """

    name = "use_skill"
    args = UseSkillArgs
    read_only = True

    def __init__(self, shelf: SkillShelf, skills: Sequence[Skill]) -> None:
        self._shelf = shelf
        self._skills = {skill.name: skill for skill in skills}

    def prepare(self, args: Any) -> Prepared:
        """Raises ToolRetry for a name that is not listed."""
        call: UseSkillArgs = args
        wanted = call.name.strip().lower()
        skill = self._skills.get(wanted)
        if skill is None:
            near = nearest(wanted, self._skills) or list(self._skills)[:5]
            raise ToolRetry(f"there is no skill {call.name!r}; the nearest are: {', '.join(near)}")

        async def run(progress: Progress) -> ToolOutput:
            try:
                text = (await asyncio.to_thread(self._shelf.open, skill)).text
            except UserError as error:
                raise ToolFailed(f"{error}; go on without it") from None
            lines = many(len(text.splitlines()), "line")
            return ToolOutput(text=text, summary=lines, deeds=Deeds(read=(skill.shown,)))

        return Prepared(title=f"use skill {skill.name}", action=Internal(), run=run)
