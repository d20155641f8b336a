"""/cost: costs by turn, by day and by project, and the prices used."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clio.commands.arguments import parse_options
from clio.commands.command import Command, CommandContext, CommandResult, Suggestion, Table, make_refusal, quote_code
from clio.errors import ClioError, ConfigError
from clio.providers.prices import OLD_DAYS, SHOWN_PRICES_PATH, explain_unknown_price, format_day, states_cost
from clio.sessions.ledger import BillTotals, list_turn_costs, total_bills
from clio.text.formatting import Cost, format_count, format_money, format_tokens

if TYPE_CHECKING:
    from clio.providers.prices import Price, PriceBook, Rate
    from clio.sessions.ledger import LedgerEntry
    from clio.sessions.state import Bill


TURNS, DAYS = 10, 30
"""Number of turns, and of days with costs, shown in a table."""
UNKNOWN = "unknown"


def show_cost(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the running session: its last turns, its total, and the days it covers."""
    if argument:
        return make_refusal(f"/cost does not know {argument!r}; see /help cost")
    if not ctx.session.id:
        return show_cost_by_day(ctx, "")
    turns = list_turn_costs(ctx.session.messages, ctx.session.bills)
    total = total_bills(ctx.session.bills)
    rows = [(f"{turn.number}  {turn.words}", turn.sum) for turn in turns[-TURNS:]]
    rows += [(f"session ({format_count(len(turns), 'turn')})", total)]
    spent = _spent(ctx)
    recent = {name: _added(_since(ctx, spent, ago)) for name, ago in (("today", 0), ("30 days", DAYS - 1))}
    rows += [(f"project, {name}", sum_) for name, sum_ in recent.items() if sum_.requests]
    said = [_price_words(ctx)]
    if total.requests:
        said += [_thinking_words(total), _limit_words(ctx)]
    return CommandResult(
        text=" ".join(filter(None, said)),
        table=_table("turn", rows),
        data={
            "session": ctx.session.id,
            "turns": [{"number": turn.number, "words": turn.words, **_data(turn.sum)} for turn in turns],
            "total": _data(total),
            **{name.replace(" ", "_"): _data(sum_) for name, sum_ in recent.items()},
        },
    )


def show_cost_by_day(ctx: CommandContext, argument: str) -> CommandResult:
    """Show this project's costs per day; with --all those of every project."""
    given = parse_options(argument, switches=("--all",))
    if given.words:
        return make_refusal(f"/cost days takes --all and nothing else, not {given.words[0]!r}")
    everything = "--all" in given.options
    spent = _spent(ctx, everything=everything)
    title = "all projects" if everything else "this project"
    return _grouped(ctx, spent, "day", lambda one: one.date, f"Nothing was spent in {title} so far.", newest=DAYS)


def show_cost_by_project(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the costs of each project in the last thirty days, highest first."""
    if argument:
        return make_refusal("/cost projects takes nothing; /cost days --all shows the days")
    spent = _since(ctx, _spent(ctx, everything=True), DAYS - 1)
    return _grouped(ctx, spent, "project, 30 days", lambda one: one.project, "Nothing was spent in the last 30 days.")


def show_prices(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the prices of the current model's server per million tokens."""
    book = ctx.spending.book
    server = argument.strip().lower() or (ctx.provider.name if ctx.session.id else "")
    listed = [price for price in book.list_prices() if not server or price.server in (server, "*")]
    rows = tuple(row for price in listed for row in _price_rows(book, price))
    if not rows:
        return CommandResult(
            text=f"No prices are known for {quote_code(server)}; write them into {quote_code(SHOWN_PRICES_PATH)}.",
            data=[],
        )
    return CommandResult(
        text=f"US dollars per 1M tokens. Prices in {quote_code(SHOWN_PRICES_PATH)} take precedence.",
        table=Table(columns=("model", "in", "cached", "write", "out", "as of"), rows=rows, wide_column=0),
        data=[_price_data(price) for price in listed],
    )


def suggest_all(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete the option of `days`."""
    return (Suggestion(text="--all", note="every project, not only this one"),)


def _grouped(
    ctx: CommandContext,
    spent: "Sequence[LedgerEntry]",
    heading: str,
    key: "Callable[[LedgerEntry], str]",
    nothing: str,
    *,
    newest: int | None = None,
) -> CommandResult:
    """Return one row for each key: the last `newest` keys, or, if None, sorted by cost."""
    groups: dict[str, list[LedgerEntry]] = {}
    for one in spent:
        groups.setdefault(key(one), []).append(one)
    if not groups:
        return CommandResult(text=nothing, data=[])
    sums = {name: _added(group) for name, group in groups.items()}
    order = sorted(sums, reverse=True) if newest else sorted(sums, key=lambda name: -sums[name].cost.micro_dollars)
    shown = order[:newest]
    rows = [(name, sums[name]) for name in shown]
    rows += [("together", _added([one for name in shown for one in groups[name]]))] if len(shown) > 1 else []
    return CommandResult(
        text=_damage_words(ctx),
        table=_table(heading, rows),
        data=[{heading.split(",")[0]: name, **_data(sums[name])} for name in shown],
    )


def _spent(ctx: CommandContext, *, everything: bool = False) -> "list[LedgerEntry]":
    project = str(ctx.loaded.main_project)
    return [one for one in ctx.spending.ledger.read().spent if everything or one.project == project]


def _since(ctx: CommandContext, spent: "Iterable[LedgerEntry]", ago: int) -> "list[LedgerEntry]":
    first = ctx.spending.book.day(ago)
    return [one for one in spent if one.date >= first]


def _added(spent: "Sequence[LedgerEntry]") -> BillTotals:
    return BillTotals(
        requests=sum(one.requests for one in spent),
        prompt_tokens=sum(one.prompt_tokens for one in spent),
        cached_tokens=sum(one.cached_tokens for one in spent),
        cache_write_tokens=sum(one.cache_write_tokens for one in spent),
        reasoning_tokens=sum(one.reasoning_tokens for one in spent),
        completion_tokens=sum(one.completion_tokens for one in spent),
        cost=sum((one.cost for one in spent), Cost()),
    )


def _table(heading: str, rows: Sequence[tuple[str, BillTotals]]) -> Table:
    """Return the sums by name; a column for cache writes only if there were any."""
    amounts: list[tuple[str, Callable[[BillTotals], int]]] = [
        ("in", lambda sum_: sum_.prompt_tokens),
        ("cached", lambda sum_: sum_.cached_tokens),
    ]
    if any(sum_.cache_write_tokens for _, sum_ in rows):
        amounts.append(("written", lambda sum_: sum_.cache_write_tokens))
    amounts.append(("out", lambda sum_: sum_.completion_tokens))
    return Table(
        columns=(heading, *("" for _ in amounts), "cost"),
        rows=tuple(
            (name, *(f"{format_tokens(count(sum_))} {word}" for word, count in amounts), sum_.cost.text or UNKNOWN)
            for name, sum_ in rows
        ),
        wide_column=0,
        is_truncated=True,
    )


def _data(sum_: BillTotals) -> dict[str, object]:
    return {
        "requests": sum_.requests,
        "prompt_tokens": sum_.prompt_tokens,
        "cached_tokens": sum_.cached_tokens,
        "cache_write_tokens": sum_.cache_write_tokens,
        "reasoning_tokens": sum_.reasoning_tokens,
        "completion_tokens": sum_.completion_tokens,
        "micro_dollars": sum_.cost.micro_dollars,
        "unpriced_tokens": sum_.cost.unpriced_tokens,
    }


def _price_words(ctx: CommandContext) -> str:
    """Describe the current model's price, and how reliable it is."""
    server, model, book = ctx.provider.name, ctx.provider.model, ctx.spending.book
    try:
        price = book.find_price(server, model)
    except ConfigError as error:
        return f"Costs are not counted: {error}."
    if price is None and states_cost(server):
        return f"{server} says with each answer what it cost."
    if price is None:
        return explain_unknown_price(server, model)[0].upper() + explain_unknown_price(server, model)[1:] + "."
    if price.is_free:
        return f"{quote_code(model)} at {server} costs nothing."
    rate = price.rate
    amounts = ", ".join(
        f"{format_money(amount)} {name}"
        for name, amount in (
            ("input", rate.input),
            ("cached", rate.cached),
            ("written", rate.write),
            ("written for an hour", rate.write_1h),
            ("output", rate.output),
        )
        if amount is not None
    )
    day = f", as of {price.as_of}" if price.as_of else ""
    old = (
        f" That is more than {OLD_DAYS} days ago: correct it in {quote_code(SHOWN_PRICES_PATH)}."
        if book.is_old(price)
        else ""
    )
    return f"{quote_code(model)} at {server}: {amounts} a million tokens{day}.{old}"


def _thinking_words(total: BillTotals) -> str:
    thinking = total.reasoning_tokens
    return f"{format_tokens(thinking)} tokens of this session's output are thinking." if thinking else ""


def _limit_words(ctx: CommandContext) -> str:
    spending = ctx.spending
    if spending.cap is None:
        return ""
    return f"This run may spend {format_money(spending.cap)}; {format_money(spending.run.micro_dollars)} is spent."


def _damage_words(ctx: CommandContext) -> str:
    damaged = len(ctx.spending.ledger.read().damaged)
    return f"{damaged} lines of {ctx.spending.ledger.path} cannot be read and are left out." if damaged else ""


def _price_rows(book: "PriceBook", price: "Price") -> Iterator[tuple[str, ...]]:
    rate, day = price.rate, f"{price.as_of or '–'}{' (old)' if book.is_old(price) else ''}"
    yield (price.model, *_amounts(rate), day)
    if price.long is not None:
        yield (f"– above {format_tokens(price.above)}", *_amounts(price.long), "")


def _amounts(rate: "Rate") -> tuple[str, ...]:
    write = rate.input if rate.write is None else rate.write
    return tuple(map(format_money, (rate.input, rate.cached, write, rate.output)))


def _price_data(price: "Price") -> dict[str, object]:
    return {
        "server": price.server,
        "model": price.model,
        "input": price.rate.input,
        "cached": price.rate.cached,
        "write": price.rate.write,
        "write_1h": price.rate.write_1h,
        "output": price.rate.output,
        "as_of": price.as_of,
        "until": price.until,
        "where": price.where,
    }


def rebuild_costs(ctx: CommandContext, argument: str) -> CommandResult:
    """Rebuild this project's costs from its sessions, after the file was lost or turns were killed."""
    if argument:
        return make_refusal("/cost rebuild takes nothing; it counts this project's sessions")
    if ctx.config.incognito:
        return make_refusal("An incognito clio writes nothing, the ledger of costs neither.")
    found: dict[str, list[Bill]] = {}
    left_out = 0
    for info in ctx.store.list():
        try:
            running = info.id == ctx.session.id
            session = ctx.session if running else ctx.store.open(info.id, persist=False)
        except (ClioError, OSError):
            left_out += 1
            continue
        found[info.id] = session.bills
    ctx.spending.ledger.recount(str(ctx.loaded.main_project), found, format_day)
    total = total_bills([bill for bills in found.values() for bill in bills])
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
        handler=show_cost,
        subcommands=(
            Command(
                name="days",
                argument="[--all]",
                summary="each of the last days of this project, or of all",
                handler=show_cost_by_day,
                suggest_word=suggest_all,
            ),
            Command(name="projects", summary="each project in the last 30 days", handler=show_cost_by_project),
            Command(name="prices", argument="[SERVER]", summary="the prices it is counted with", handler=show_prices),
            Command(name="rebuild", summary="count this project again from its sessions", handler=rebuild_costs),
        ),
    ),
)
