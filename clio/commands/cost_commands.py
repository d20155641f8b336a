"""/cost: costs by turn, by day and by project, and the prices used."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clio.commands.arguments import parse_options
from clio.commands.command import Command, CommandContext, CommandResult, Suggestion, Table, make_refusal, quote_code
from clio.errors import ClioError, ConfigError
from clio.providers.prices import OLD_DAYS, SHOWN_PRICES_PATH, explain_unknown_price, format_day, states_cost
from clio.sessions.ledger import BillTotals, list_turn_costs, total_bills
from clio.text.formatting import Cost, format_money, format_tokens
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    from clio.providers.prices import Price, PriceBook, Rate
    from clio.sessions.ledger import LedgerEntry
    from clio.sessions.state import Bill


SHOWN_TURNS, SHOWN_DAYS = 10, 30
"""Maximum number of turns, and of days with costs, in a table."""
UNKNOWN_COST = "unknown"


def show_cost(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the costs of the running session's last turns, of the session, and of the project today and in 30 days."""
    if argument:
        return make_refusal(tr("/cost: unknown argument {argument!r}; see /help cost", argument=argument))
    if not ctx.session.id:  # `clio cost` on the command line has no session
        return show_cost_by_day(ctx, "")
    turns = list_turn_costs(ctx.session.messages, ctx.session.bills)
    total = total_bills(ctx.session.bills)
    rows = [(f"{turn.number}  {turn.first_words}", turn.total) for turn in turns[-SHOWN_TURNS:]]
    rows += [(tr("session ({turns})", turns=tr_count(len(turns), "turn")), total)]
    entries = _list_entries(ctx)
    # From the ledger: reading the bills of 5,000 sessions takes minutes.
    recent = {
        name: _sum_entries(_filter_since(ctx, entries, days_ago))
        for name, days_ago in ((tr("today"), 0), (tr("30 days"), SHOWN_DAYS - 1))
    }
    rows += [(tr("project, {name}", name=name), totals) for name, totals in recent.items() if totals.requests]
    sentences = [_describe_price(ctx)]
    if total.requests:
        sentences += [_describe_reasoning(total), _describe_searches(ctx, total), _describe_limit(ctx)]
    return CommandResult(
        text=" ".join(filter(None, sentences)),
        table=_make_cost_table(tr("turn"), rows),
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
        return make_refusal(tr("/cost days takes --all and nothing else, not {words!r}", words=given.words[0]))
    all_projects = "--all" in given.options
    entries = _list_entries(ctx, all_projects=all_projects)
    title = tr("all projects") if all_projects else tr("this project")
    return _make_grouped_result(
        ctx, entries, "day", lambda entry: entry.date, tr("No costs in {title} so far.", title=title), newest=SHOWN_DAYS
    )


def show_cost_by_project(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the costs of each project in the last thirty days, highest first."""
    if argument:
        return make_refusal(tr("/cost projects takes no argument; /cost days --all shows the days"))
    entries = _filter_since(ctx, _list_entries(ctx, all_projects=True), SHOWN_DAYS - 1)
    return _make_grouped_result(
        ctx, entries, tr("project, 30 days"), lambda entry: entry.project, tr("No costs in the last 30 days.")
    )


def show_prices(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the prices of the current model's server per million tokens."""
    book = ctx.spending.book
    server = argument.strip().lower() or (ctx.provider.name if ctx.session.id else "")
    listed = [price for price in book.list_prices() if not server or price.server in (server, "*")]
    rows = tuple(row for price in listed for row in _make_price_rows(book, price))
    if not rows:
        return CommandResult(
            text=tr(
                "No prices are known for {server}; add them to {shown_prices_path}.",
                server=quote_code(server),
                shown_prices_path=quote_code(SHOWN_PRICES_PATH),
            ),
            data=[],
        )
    return CommandResult(
        text=tr(
            "US dollars per 1M tokens. Prices in {shown_prices_path} take precedence.",
            shown_prices_path=quote_code(SHOWN_PRICES_PATH),
        ),
        table=Table(
            columns=(tr("model"), tr("in"), tr("cached"), tr("write"), tr("out"), tr("as of")), rows=rows, wide_column=0
        ),
        data=[_make_price_data(price) for price in listed],
    )


def suggest_days_options(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete the option of `days`."""
    return (Suggestion(text="--all", note=tr("every project, not only this one")),)


def _make_grouped_result(
    ctx: CommandContext,
    entries: "Sequence[LedgerEntry]",
    heading: str,
    group_by: "Callable[[LedgerEntry], str]",
    text_if_empty: str,
    *,
    newest: int | None = None,
) -> CommandResult:
    """Return a table with the costs of each group of entries, and a total.

    Args:
        heading: title of the first column; its part before a comma is the field's name in the JSON output.
        newest: show that many of the groups, the greatest (newest) names first; None shows all, highest cost first.
    """
    groups: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        groups.setdefault(group_by(entry), []).append(entry)
    if not groups:
        return CommandResult(text=text_if_empty, data=[])
    sums = {name: _sum_entries(group) for name, group in groups.items()}
    sorted_names = (
        sorted(sums, reverse=True) if newest else sorted(sums, key=lambda name: -sums[name].cost.micro_dollars)
    )
    shown = sorted_names[:newest]
    rows = [(name, sums[name]) for name in shown]
    rows += [(tr("total"), _sum_entries([entry for name in shown for entry in groups[name]]))] if len(shown) > 1 else []
    return CommandResult(
        text=_describe_damage(ctx),
        table=_make_cost_table(heading, rows),
        data=[{heading.split(",")[0]: name, **_make_totals_data(sums[name])} for name in shown],
    )


def _list_entries(ctx: CommandContext, *, all_projects: bool = False) -> "list[LedgerEntry]":
    project = str(ctx.loaded.main_project)
    return [entry for entry in ctx.spending.ledger.read().entries if all_projects or entry.project == project]


def _filter_since(ctx: CommandContext, entries: "Iterable[LedgerEntry]", days_ago: int) -> "list[LedgerEntry]":
    first = ctx.spending.book.day(days_ago)
    return [entry for entry in entries if entry.date >= first]


def _sum_entries(entries: "Sequence[LedgerEntry]") -> BillTotals:
    return BillTotals(
        requests=sum(entry.requests for entry in entries),
        prompt_tokens=sum(entry.prompt_tokens for entry in entries),
        cached_tokens=sum(entry.cached_tokens for entry in entries),
        cache_write_tokens=sum(entry.cache_write_tokens for entry in entries),
        reasoning_tokens=sum(entry.reasoning_tokens for entry in entries),
        completion_tokens=sum(entry.completion_tokens for entry in entries),
        cost=sum((entry.cost for entry in entries), Cost()),
    )


def _make_cost_table(heading: str, rows: Sequence[tuple[str, BillTotals]]) -> Table:
    """Return a table of totals by name. It has a column for cache writes only if there were any."""
    amounts: list[tuple[str, Callable[[BillTotals], int]]] = [
        (tr("in"), lambda totals: totals.prompt_tokens),
        (tr("cached"), lambda totals: totals.cached_tokens),
    ]
    if any(totals.cache_write_tokens for _, totals in rows):
        amounts.append((tr("written"), lambda totals: totals.cache_write_tokens))
    amounts.append((tr("out"), lambda totals: totals.completion_tokens))
    return Table(
        columns=(heading, *("" for _ in amounts), tr("cost")),
        rows=tuple(
            (
                name,
                *(f"{format_tokens(count(totals))} {word}" for word, count in amounts),
                totals.cost.text or UNKNOWN_COST,
            )
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
        return tr("Costs are not counted: {error}.", error=error)
    if price is None and states_cost(server):
        return tr("{server} reports the cost with each answer.", server=server)
    if price is None:
        return explain_unknown_price(server, model)[0].upper() + explain_unknown_price(server, model)[1:] + "."
    if price.is_free:
        return tr("{model} at {server}: no cost.", model=quote_code(model), server=server)
    rate = price.rate
    amounts = ", ".join(
        f"{format_money(amount)} {name}"
        for name, amount in (
            (tr("input"), rate.input),
            (tr("cached"), rate.cached),
            (tr("cache write"), rate.write),
            (tr("cache write for 1 h"), rate.write_1h),
            (tr("output"), rate.output),
        )
        if amount is not None
    )
    day = tr(", as of {as_of}", as_of=price.as_of) if price.as_of else ""
    old = (
        tr(
            " That is more than {old_days} days ago: update it in {shown_prices_path}.",
            old_days=OLD_DAYS,
            shown_prices_path=quote_code(SHOWN_PRICES_PATH),
        )
        if book.is_old(price)
        else ""
    )
    return tr(
        "{model} at {server}: {amounts} per 1M tokens{day}.{old}",
        model=quote_code(model),
        server=server,
        amounts=amounts,
        day=day,
        old=old,
    )


def _describe_reasoning(total: BillTotals) -> str:
    thinking = total.reasoning_tokens
    return (
        tr("{tokens} tokens of this session's output are reasoning.", tokens=format_tokens(thinking))
        if thinking
        else ""
    )


def _describe_searches(ctx: CommandContext, total: BillTotals) -> str:
    if not total.searches:
        return ""
    searches = tr_count(total.searches, "search")
    try:
        cost = ctx.spending.book.find_search_cost(ctx.provider.name, total.searches)
    except ConfigError:  # named in the first sentence
        cost = None
    if cost is None:
        return tr("{searches} of {server} itself are not included.", searches=searches, server=ctx.provider.name)
    return tr(
        "{searches} of {server} itself are included, {money}.",
        searches=searches,
        server=ctx.provider.name,
        money=format_money(cost),
    )


def _describe_limit(ctx: CommandContext) -> str:
    spending = ctx.spending
    if spending.cap is None:
        return ""
    return tr(
        "Limit of this run: {money}, spent {money2}.",
        money=format_money(spending.cap),
        money2=format_money(spending.run_cost.micro_dollars),
    )


def _describe_damage(ctx: CommandContext) -> str:
    damaged = len(ctx.spending.ledger.read().damaged)
    return (
        tr("{damaged} lines of {path} cannot be read and are left out.", damaged=damaged, path=ctx.spending.ledger.path)
        if damaged
        else ""
    )


def _make_price_rows(book: "PriceBook", price: "Price") -> Iterator[tuple[str, ...]]:
    """Yield the row of a model, and one more for long prompts if they have their own price."""
    rate, day = price.rate, f"{price.as_of or '–'}{' (old)' if book.is_old(price) else ''}"
    yield (price.model, *_format_amounts(rate), day)
    if price.long is not None:
        yield (tr("– above {tokens}", tokens=format_tokens(price.above)), *_format_amounts(price.long), "")


def _format_amounts(rate: "Rate") -> tuple[str, ...]:
    # A model without a price for cache writes charges them as input.
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
    """Rebuild this project's costs in the ledger from its sessions, such as after the ledger was lost."""
    if argument:
        return make_refusal(tr("/cost rebuild takes no argument; it recalculates this project's costs"))
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode writes nothing, including the costs."))
    bills_by_session: dict[str, list[Bill]] = {}
    unreadable_count = 0
    for info in ctx.store.list():
        try:
            is_running = info.id == ctx.session.id  # its newest bills are not on disk yet
            # In memory: a rebuild must not take the lock of a session or repair its files.
            session = ctx.session if is_running else ctx.store.open(info.id, persist=False)
        except (ClioError, OSError):
            unreadable_count += 1
            continue
        bills_by_session[info.id] = session.bills
    ctx.spending.ledger.recount(str(ctx.loaded.main_project), bills_by_session, format_day)
    total = total_bills([bill for bills in bills_by_session.values() for bill in bills])
    cost, requests, session_count = total.cost, total.requests, len(bills_by_session)
    unread = tr(" {unreadable_count} could not be read.", unreadable_count=unreadable_count) if unreadable_count else ""
    return CommandResult(
        text=tr(
            "Counted {requests:,} requests of {session_count:,} sessions: {text}.{unread}",
            requests=requests,
            session_count=session_count,
            text=cost.text or tr("of unknown cost"),
            unread=unread,
        ),
        data={
            "sessions": session_count,
            "requests": requests,
            "micro_dollars": cost.micro_dollars,
            "left_out": unreadable_count,
        },
    )


COST = (
    Command(
        name="cost",
        summary=mark("costs by turn, session and day"),
        handler=show_cost,
        subcommands=(
            Command(
                name="days",
                argument="[--all]",
                summary=mark("costs per day, of this project or of all"),
                handler=show_cost_by_day,
                suggest_word=suggest_days_options,
            ),
            Command(
                name="projects", summary=mark("costs per project in the last 30 days"), handler=show_cost_by_project
            ),
            Command(name="prices", argument="[SERVER]", summary=mark("the prices used"), handler=show_prices),
            Command(
                name="rebuild",
                summary=mark("recalculate this project's costs from its sessions"),
                handler=rebuild_costs,
            ),
        ),
    ),
)
