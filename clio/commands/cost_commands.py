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
    if not ctx.session.id:  # `clio cost` on the command line has no session
        return show_cost_by_day(ctx, "")
    turns = list_turn_costs(ctx.session.messages, ctx.session.bills)
    total = total_bills(ctx.session.bills)
    rows = [(f"{turn.number}  {turn.first_words}", turn.total) for turn in turns[-TURNS:]]
    rows += [(f"session ({format_count(len(turns), 'turn')})", total)]
    spent = _list_entries(ctx)
    # From the ledger: reading the bills of 5,000 sessions takes minutes.
    recent = {name: _sum_entries(_filter_since(ctx, spent, ago)) for name, ago in (("today", 0), ("30 days", DAYS - 1))}
    rows += [(f"project, {name}", totals) for name, totals in recent.items() if totals.requests]
    sentences = [_describe_price(ctx)]
    if total.requests:
        sentences += [_describe_reasoning(total), _describe_limit(ctx)]
    return CommandResult(
        text=" ".join(filter(None, sentences)),
        table=_make_cost_table("turn", rows),
        data={
            "session": ctx.session.id,
            "turns": [
                {"number": turn.number, "words": turn.first_words, **_make_totals_data(turn.total)} for turn in turns
            ],
            "total": _make_totals_data(total),
            **{name.replace(" ", "_"): _make_totals_data(totals) for name, totals in recent.items()},
        },
    )


def show_cost_by_day(ctx: CommandContext, argument: str) -> CommandResult:
    """Show this project's costs per day; with --all those of every project."""
    given = parse_options(argument, switches=("--all",))
    if given.words:
        return make_refusal(f"/cost days takes --all and nothing else, not {given.words[0]!r}")
    everything = "--all" in given.options
    spent = _list_entries(ctx, everything=everything)
    title = "all projects" if everything else "this project"
    return _make_grouped_result(
        ctx, spent, "day", lambda entry: entry.date, f"No costs in {title} so far.", newest=DAYS
    )


def show_cost_by_project(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the costs of each project in the last thirty days, highest first."""
    if argument:
        return make_refusal("/cost projects takes nothing; /cost days --all shows the days")
    spent = _filter_since(ctx, _list_entries(ctx, everything=True), DAYS - 1)
    return _make_grouped_result(
        ctx, spent, "project, 30 days", lambda entry: entry.project, "No costs in the last 30 days."
    )


def show_prices(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the prices of the current model's server per million tokens."""
    book = ctx.spending.book
    server = argument.strip().lower() or (ctx.provider.name if ctx.session.id else "")
    listed = [price for price in book.list_prices() if not server or price.server in (server, "*")]
    rows = tuple(row for price in listed for row in _make_price_rows(book, price))
    if not rows:
        return CommandResult(
            text=f"No prices are known for {quote_code(server)}; add them to {quote_code(SHOWN_PRICES_PATH)}.",
            data=[],
        )
    return CommandResult(
        text=f"US dollars per 1M tokens. Prices in {quote_code(SHOWN_PRICES_PATH)} take precedence.",
        table=Table(columns=("model", "in", "cached", "write", "out", "as of"), rows=rows, wide_column=0),
        data=[_make_price_data(price) for price in listed],
    )


def suggest_all(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete the option of `days`."""
    return (Suggestion(text="--all", note="every project, not only this one"),)


def _make_grouped_result(
    ctx: CommandContext,
    spent: "Sequence[LedgerEntry]",
    heading: str,
    key: "Callable[[LedgerEntry], str]",
    nothing: str,
    *,
    newest: int | None = None,
) -> CommandResult:
    """Return one row for each key: the last `newest` keys, or, if None, all sorted by cost, highest first."""
    groups: dict[str, list[LedgerEntry]] = {}
    for entry in spent:
        groups.setdefault(key(entry), []).append(entry)
    if not groups:
        return CommandResult(text=nothing, data=[])
    sums = {name: _sum_entries(group) for name, group in groups.items()}
    order = sorted(sums, reverse=True) if newest else sorted(sums, key=lambda name: -sums[name].cost.micro_dollars)
    shown = order[:newest]
    rows = [(name, sums[name]) for name in shown]
    rows += [("total", _sum_entries([entry for name in shown for entry in groups[name]]))] if len(shown) > 1 else []
    return CommandResult(
        text=_describe_damage(ctx),
        table=_make_cost_table(heading, rows),
        data=[{heading.split(",")[0]: name, **_make_totals_data(sums[name])} for name in shown],
    )


def _list_entries(ctx: CommandContext, *, everything: bool = False) -> "list[LedgerEntry]":
    project = str(ctx.loaded.main_project)
    return [entry for entry in ctx.spending.ledger.read().entries if everything or entry.project == project]


def _filter_since(ctx: CommandContext, spent: "Iterable[LedgerEntry]", ago: int) -> "list[LedgerEntry]":
    first = ctx.spending.book.day(ago)
    return [entry for entry in spent if entry.date >= first]


def _sum_entries(spent: "Sequence[LedgerEntry]") -> BillTotals:
    return BillTotals(
        requests=sum(entry.requests for entry in spent),
        prompt_tokens=sum(entry.prompt_tokens for entry in spent),
        cached_tokens=sum(entry.cached_tokens for entry in spent),
        cache_write_tokens=sum(entry.cache_write_tokens for entry in spent),
        reasoning_tokens=sum(entry.reasoning_tokens for entry in spent),
        completion_tokens=sum(entry.completion_tokens for entry in spent),
        cost=sum((entry.cost for entry in spent), Cost()),
    )


def _make_cost_table(heading: str, rows: Sequence[tuple[str, BillTotals]]) -> Table:
    """Return the sums by name; a column for cache writes only if there were any."""
    amounts: list[tuple[str, Callable[[BillTotals], int]]] = [
        ("in", lambda totals: totals.prompt_tokens),
        ("cached", lambda totals: totals.cached_tokens),
    ]
    if any(totals.cache_write_tokens for _, totals in rows):
        amounts.append(("written", lambda totals: totals.cache_write_tokens))
    amounts.append(("out", lambda totals: totals.completion_tokens))
    return Table(
        columns=(heading, *("" for _ in amounts), "cost"),
        rows=tuple(
            (name, *(f"{format_tokens(count(totals))} {word}" for word, count in amounts), totals.cost.text or UNKNOWN)
            for name, totals in rows
        ),
        wide_column=0,
        is_truncated=True,
    )


def _make_totals_data(totals: BillTotals) -> dict[str, object]:
    return {
        "requests": totals.requests,
        "prompt_tokens": totals.prompt_tokens,
        "cached_tokens": totals.cached_tokens,
        "cache_write_tokens": totals.cache_write_tokens,
        "reasoning_tokens": totals.reasoning_tokens,
        "completion_tokens": totals.completion_tokens,
        "micro_dollars": totals.cost.micro_dollars,
        "unpriced_tokens": totals.cost.unpriced_tokens,
    }


def _describe_price(ctx: CommandContext) -> str:
    """Describe the current model's price, and how reliable it is."""
    server, model, book = ctx.provider.name, ctx.provider.model, ctx.spending.book
    try:
        price = book.find_price(server, model)
    # An invalid prices file must not hide the tokens, which are still right.
    except ConfigError as error:
        return f"Costs are not counted: {error}."
    if price is None and states_cost(server):
        return f"{server} reports the cost with each answer."
    if price is None:
        return explain_unknown_price(server, model)[0].upper() + explain_unknown_price(server, model)[1:] + "."
    if price.is_free:
        return f"{quote_code(model)} at {server}: no cost."
    rate = price.rate
    amounts = ", ".join(
        f"{format_money(amount)} {name}"
        for name, amount in (
            ("input", rate.input),
            ("cached", rate.cached),
            ("cache write", rate.write),
            ("cache write for 1 h", rate.write_1h),
            ("output", rate.output),
        )
        if amount is not None
    )
    day = f", as of {price.as_of}" if price.as_of else ""
    old = (
        f" That is more than {OLD_DAYS} days ago: update it in {quote_code(SHOWN_PRICES_PATH)}."
        if book.is_old(price)
        else ""
    )
    return f"{quote_code(model)} at {server}: {amounts} per 1M tokens{day}.{old}"


def _describe_reasoning(total: BillTotals) -> str:
    thinking = total.reasoning_tokens
    return f"{format_tokens(thinking)} tokens of this session's output are reasoning." if thinking else ""


def _describe_limit(ctx: CommandContext) -> str:
    spending = ctx.spending
    if spending.cap is None:
        return ""
    return f"Limit of this run: {format_money(spending.cap)}, spent {format_money(spending.run_cost.micro_dollars)}."


def _describe_damage(ctx: CommandContext) -> str:
    damaged = len(ctx.spending.ledger.read().damaged)
    return f"{damaged} lines of {ctx.spending.ledger.path} cannot be read and are left out." if damaged else ""


def _make_price_rows(book: "PriceBook", price: "Price") -> Iterator[tuple[str, ...]]:
    rate, day = price.rate, f"{price.as_of or '–'}{' (old)' if book.is_old(price) else ''}"
    yield (price.model, *_format_amounts(rate), day)
    if price.long is not None:
        yield (f"– above {format_tokens(price.above)}", *_format_amounts(price.long), "")


def _format_amounts(rate: "Rate") -> tuple[str, ...]:
    write = rate.input if rate.write is None else rate.write
    return tuple(map(format_money, (rate.input, rate.cached, write, rate.output)))


def _make_price_data(price: "Price") -> dict[str, object]:
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
        return make_refusal("/cost rebuild takes nothing; it recalculates this project's costs")
    if ctx.config.incognito:
        return make_refusal("Incognito mode writes nothing, including the costs.")
    found: dict[str, list[Bill]] = {}
    left_out = 0
    for info in ctx.store.list():
        try:
            running = info.id == ctx.session.id  # its newest bills are not on disk yet
            # In memory: a rebuild must not take the lock of a session or repair its files.
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
        summary="costs by turn, session and day",
        handler=show_cost,
        subcommands=(
            Command(
                name="days",
                argument="[--all]",
                summary="costs per day, of this project or of all",
                handler=show_cost_by_day,
                suggest_word=suggest_all,
            ),
            Command(name="projects", summary="costs per project in the last 30 days", handler=show_cost_by_project),
            Command(name="prices", argument="[SERVER]", summary="the prices used", handler=show_prices),
            Command(
                name="rebuild", summary="recalculate this project's costs from its sessions", handler=rebuild_costs
            ),
        ),
    ),
)
