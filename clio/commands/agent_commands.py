"""/agents: the sub-agents that work in the background, and the changes in their worktrees."""

from pathlib import Path

from clio.commands.arguments import parse_options, split_number_from_text
from clio.commands.command import (
    CommandContext,
    CommandResult,
    Confirm,
    Table,
    WaitFor,
    make_refusal,
    quote_code,
)
from clio.context.workspace_state import invalidate_working_trees
from clio.errors import UsageError, UserError
from clio.git.agent_worktrees import (
    AgentWork,
    discard_agent_work,
    explain_risky_changes,
    has_agent_folders,
    list_agent_worktrees,
    merge_agent_work,
    read_agent_work,
)
from clio.text.formatting import describe_steps, format_tokens, truncate_line
from clio.text.translation import tr, tr_count

_YES = "--yes"
_TASK_CHARS = 120


def describe_background_agents(ctx: CommandContext) -> list[str]:
    """Return a line of Markdown for each agent that was started, and for each worktree of an earlier one."""
    lines: list[str] = []
    agents = ctx.background.agents
    for agent in agents.values():
        parts = [
            describe_steps(agent.step, is_running=agent.is_running) if agent.step else "",
            tr("{tokens} tokens", tokens=format_tokens(agent.tokens)) if agent.tokens else "",
            agent.cost.text if agent.cost.micro_dollars else "",
            quote_code(agent.doing) if agent.is_running and agent.doing and not agent.asks else "",
            tr("worktree {path}", path=agent.folder) if agent.edits else "",
        ]
        # What it does and asks are words of the model: no link and no row of their own.
        state = tr("asks: {title}", title=quote_code(agent.asks)) if agent.is_running and agent.asks else agent.state
        facts = " · ".join(filter(None, [state, *parts]))
        task = f"{agent.task.name}: {truncate_line(agent.task.text, _TASK_CHARS)}"
        lines.append(f"- {agent.name} · {facts} · {quote_code(task)}")
    start = ctx.loaded.start_folder or ctx.loaded.project
    if has_agent_folders(ctx.loaded.main_project):
        lines += [
            tr("- agent{number}, of an earlier session: worktree {path}", number=number, path=worktree.path)
            for number, worktree in list_agent_worktrees(start)
            if number not in agents
        ]
    return lines


def message_agent(ctx: CommandContext, argument: str) -> CommandResult:
    """Send a message to a running agent."""
    number, text = split_number_from_text(argument)
    if number is None or not text:
        return make_refusal(tr("Write /agents message N TEXT; /agents lists the running ones"))
    ctx.background.message(number, text)
    return CommandResult(text=tr("agent{number} reads it before its next request.", number=number))


def stop_agent(ctx: CommandContext, argument: str) -> CommandResult:
    """End an agent; its session and its worktree stay."""
    number = _parse_number(argument, "stop")

    async def work() -> CommandResult:
        agent = await ctx.background.stop(number)
        stays = tr(" Its worktree stays: {path}", path=quote_code(str(agent.folder))) if agent.edits else ""
        return CommandResult(text=tr("{name}: {state}.{stays}", name=agent.name, state=agent.state, stays=stays))

    ctx.background.find(number)
    return CommandResult(follow_up=WaitFor(label=tr("stopping agent{number}", number=number), work=work))


def report_agent(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the report of an agent."""
    agent = ctx.background.find(_parse_number(argument, "report"))
    if agent.report is None:
        return CommandResult(text=tr("{name} has not ended yet.", name=agent.name))
    return CommandResult(verbatim=agent.report.text)


def show_agent_diff(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what an agent has changed in its worktree."""
    number = _parse_number(argument, "diff")
    _require_worktree(ctx, number)
    work = read_agent_work(_get_start(ctx), number)
    if not work.files:
        return CommandResult(text=tr("agent{number} has changed nothing.", number=work.number))
    return CommandResult(diff=ctx.redactor.redact(work.patch).text)


def merge_agent(ctx: CommandContext, argument: str) -> CommandResult:
    """Apply the changes of an agent to this checkout, without a commit, and remove its worktree.

    Asks first if they contain what other programs run by themselves: a command or an approved script of the agent may
    have written that, where no question named it.
    """
    number = _parse_number(argument, "merge")
    _require_ended(ctx, number)
    _require_worktree(ctx, number)
    work = read_agent_work(_get_start(ctx), number)
    risky = explain_risky_changes(work, _get_start(ctx), ctx.loaded.home)
    if not risky:
        return _merge(ctx, number, work)
    return CommandResult(
        text=tr("These changes of agent{number} take effect without your starting anything:", number=number),
        table=Table(columns=(tr("file"), tr("why")), rows=tuple(risky), wide_column=1),
        follow_up=Confirm(
            question=tr("Merge all changes of agent{number}, these too?", number=number),
            then=lambda: _merge(ctx, number, work),
            unasked=tr("/agents diff {number} shows them; merge in a conversation in the terminal", number=number),
        ),
    )


def _merge(ctx: CommandContext, number: int, seen: AgentWork) -> CommandResult:
    work = merge_agent_work(_get_start(ctx), number, seen)
    _forget_worktree(ctx, number)
    if not work.files:
        return CommandResult(text=tr("agent{number} has changed nothing; its worktree is removed.", number=number))
    return CommandResult(
        text=tr(
            "Merged {files} of agent{number}, not committed: {names}. Its worktree is removed.",
            files=tr_count(len(work.files), "file"),
            number=number,
            names=", ".join(map(quote_code, work.files)),
        )
    )


def discard_agent(ctx: CommandContext, argument: str) -> CommandResult:
    """Delete the worktree of an agent and its changes, after a question."""
    given = parse_options(argument, switches=(_YES,))
    number = _parse_number(given.text, "discard")
    _require_ended(ctx, number)
    if _YES not in given.options:
        try:
            files = len(read_agent_work(_get_start(ctx), number).files)
        except UserError:
            files = 0  # the folder is missing, so only its entry is removed
        question = tr("Delete {files} that agent{number} changed?", files=tr_count(files, "file"), number=number)
        return CommandResult(follow_up=Confirm(question=question, then=f"/agents discard {number} {_YES}"))
    worktree = discard_agent_work(_get_start(ctx), number)
    _forget_worktree(ctx, number)
    return CommandResult(text=tr("Deleted {path}.", path=quote_code(str(worktree.path))))


def _require_ended(ctx: CommandContext, number: int) -> None:
    agent = ctx.background.agents.get(number)
    if agent is not None and agent.is_running:
        raise UserError(
            tr("{name} still works; wait for it, or end it with /agents stop {number}", name=agent.name, number=number)
        )


def _require_worktree(ctx: CommandContext, number: int) -> None:
    agent = ctx.background.agents.get(number)
    if agent is not None and not agent.edits:
        raise UserError(
            tr("{name} has no changes: it only reads, has changed nothing, or they are merged already", name=agent.name)
        )


def _forget_worktree(ctx: CommandContext, number: int) -> None:
    invalidate_working_trees()
    if (agent := ctx.background.agents.get(number)) is not None:
        agent.edits = False


def _get_start(ctx: CommandContext) -> Path:
    return ctx.loaded.start_folder or ctx.loaded.project


def _parse_number(argument: str, name: str) -> int:
    number, rest = split_number_from_text(argument)
    if number is None or rest:
        raise UsageError(tr("Write /agents {name} N; /agents lists the numbers", name=name))
    return number
