"""delegate: a piece of work for a sub-agent, which has a window of its own and comes back with a report."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from clio.errors import ToolRetry
from clio.prompt_files import load_prompt
from clio.providers.base import ToolSpec
from clio.security.actions import Internal
from clio.subagents.definitions import Definition
from clio.tools.base import Prepared, Progress, ToolOutput
from clio.tools.schema import args_schema

_TITLE_CHARS = 80
_LIST_CHARS = 4_000
"""Of all descriptions together, about a thousand tokens; longer ones are shortened alike."""


class DelegateArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of delegate."""

    task: Annotated[str, Meta(description="the whole task in words, with all that must be known; nothing else is")]
    agent: Annotated[str, Meta(description="one of the listed agents; left out: a general one")] = ""
    tools: Annotated[tuple[str, ...], Meta(description="the only tools it may use; left out: all", max_length=30)] = ()
    model: Annotated[str, Meta(description="another model of the same server")] = ""


class Task(Struct, frozen=True, kw_only=True):
    """One piece of work as it was understood. agent: None for the general one."""

    text: str
    agent: Definition | None
    tools: tuple[str, ...]
    model: str

    @property
    def name(self) -> str:
        """What the sub-agent is called."""
        return self.agent.name if self.agent else "general"


class DelegateTool:
    """Several calls of one step run side by side. agents: those of the session. known: tools there are.

    run: carries a task out.
    """

    name = "delegate"
    args = DelegateArgs
    read_only = True  # the call itself changes nothing; what the sub-agent does is judged call by call

    def __init__(
        self,
        agents: Sequence[Definition],
        known: Sequence[str],
        run: Callable[[Task, Progress], Awaitable[ToolOutput]],
    ) -> None:
        self._agents = {agent.name: agent for agent in agents}
        self._known = frozenset(known)
        self._run = run

    def spec(self, *, compact: bool) -> ToolSpec:
        """The tool's entry in a request, with the agents there are: the same bytes for the same files."""
        lines = [f"- {agent.name}: {agent.description}" for agent in self._agents.values()]
        while sum(map(len, lines)) > _LIST_CHARS:
            lines = [line[: max(len(line) * 3 // 4, 20)] for line in lines]
            lines = lines[: _LIST_CHARS // 20]
        text = "\n".join([load_prompt(f"tools/{self.name}"), *(["Agents:", *lines] if lines else [])])
        schema = args_schema(self.args, describe=not compact)
        return ToolSpec(name=self.name, description=text, parameters=Raw(msgspec.json.encode(schema)))

    def prepare(self, args: Any) -> Prepared:
        """Raises ToolRetry for an empty task, an agent or a tool there is none of."""
        call: DelegateArgs = args
        if not call.task.strip():
            raise ToolRetry("the task is empty; say all that must be known, the sub-agent sees nothing else")
        wanted = call.agent.strip().lower()
        agent = self._agents.get(wanted)
        if wanted not in ("", "general") and agent is None:
            from clio.tools.memory_text import nearest  # brings difflib, for a slip of the model

            near = nearest(wanted, self._agents) or list(self._agents)[:5] or ["general"]
            raise ToolRetry(f"there is no agent {call.agent!r}; the nearest are: {', '.join(near)}")
        if odd := [name for name in call.tools if name not in self._known]:
            raise ToolRetry(f"there is no tool {odd[0]!r}; there are: {', '.join(sorted(self._known))}")
        task = Task(text=call.task.strip(), agent=agent, tools=call.tools, model=call.model.strip())
        words = " ".join(task.text.split())
        short = words if len(words) <= _TITLE_CHARS else words[: _TITLE_CHARS - 1] + "…"
        return Prepared(
            title=f"delegate to {task.name}: {short}",
            action=Internal(),
            run=lambda progress: self._run(task, progress),
        )
