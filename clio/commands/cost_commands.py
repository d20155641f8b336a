"""Commands about what was spent."""

from typing import TYPE_CHECKING

from clio.commands.command import Command, Shell
from clio.commands.cost_looks import days, prices, projects, show, suggest_all
from clio.commands.result import CommandResult, refuse
from clio.errors import ClioError
from clio.providers.prices import day_of
from clio.sessions.ledger import sum_of

if TYPE_CHECKING:
    from clio.sessions.state import Bill


def rebuild(shell: Shell, argument: str) -> CommandResult:
    """Count this project anew from its sessions: for a file that was lost, or turns that were killed."""
    if argument:
        return refuse("/cost rebuild takes nothing; it counts this project's sessions")
    if shell.config.incognito:
        return refuse("An incognito clio writes nothing, the ledger of costs neither.")
    found: dict[str, list[Bill]] = {}
    left_out = 0
    for info in shell.store.list():
        try:
            running = info.id == shell.session.id
            session = shell.session if running else shell.store.open(info.id, persist=False)
        except (ClioError, OSError):
            left_out += 1
            continue
        found[info.id] = session.bills
    shell.spending.ledger.recount(str(shell.loaded.owner), found, day_of)
    total = sum_of([bill for bills in found.values() for bill in bills])
    cost, requests = total.cost, total.requests
    unread = f" {left_out} could not be read." if left_out else ""
    return CommandResult(
        text=f"Counted {requests:,} requests of {len(found):,} sessions: {cost.text or 'of unknown cost'}.{unread}",
        data={"sessions": len(found), "requests": requests, "micro_dollars": cost.micro_dollars, "left_out": left_out},
    )


COST = (
    Command(
        name="cost",
        summary="what was spent: turns, session, days",
        handler=show,
        subcommands=(
            Command(
                name="days",
                argument="[--all]",
                summary="each of the last days of this project, or of all",
                handler=days,
                suggest_word=suggest_all,
            ),
            Command(name="projects", summary="each project in the last 30 days", handler=projects),
            Command(name="prices", argument="[SERVER]", summary="the prices it is counted with", handler=prices),
            Command(name="rebuild", summary="count this project anew from its sessions", handler=rebuild),
        ),
    ),
)
