"""Commands about clio itself and the model: exit, screen, themes, approvals, trust, model, effort."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import get_args

from msgspec import Struct, structs

from clio.checks.checkers import list_untrusted_checkers as waiting_checks
from clio.checks.checkers import make_checks_trust_request
from clio.commands.arguments import suggest_name
from clio.commands.command import (
    Choose,
    ClearScreen,
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    GrantTrust,
    Quit,
    SetApproval,
    SetModel,
    SetTheme,
    Suggestion,
    Table,
    WaitFor,
    make_refusal,
    quote_code,
)
from clio.commands.custom_commands import CustomCommands
from clio.config.loaded import LoadedConfig, TrustRequest
from clio.config.schema import ApprovalMode, Effort
from clio.config.theme_files import THEMES, theme_names
from clio.config.trust import TrustStore
from clio.errors import ClioError, UserError
from clio.git.repository import find_root, list_untrusted_programs
from clio.lsp.catalog import list_untrusted_servers, make_servers_trust_request
from clio.providers.base import AUTO, CONNECT_MODEL, EFFORTS, NO_MODEL, OFFLINE, ListsModels, OfferedModel
from clio.providers.limits import read_configured_limits, takes_images
from clio.providers.model_facts import describe_efforts, find_usable_efforts
from clio.providers.profiles import find_profile
from clio.providers.urls import url_host
from clio.skills.skills import SkillCatalog, SubagentCatalog
from clio.text.formatting import MICROS_PER_DOLLAR, capitalize, format_money, format_tokens
from clio.text.translation import mark, tr


def list_waiting_for_trust(loaded: LoadedConfig, env: Mapping[str, str] = os.environ) -> tuple[TrustRequest, ...]:
    """Return the project's skills, sub-agents, commands, checks and language servers that wait for trust."""
    catalog = SkillCatalog(loaded.main_project, loaded.home, env)
    commands = CustomCommands(loaded.main_project, loaded.home, env)
    agents = SubagentCatalog(loaded.main_project, loaded.home, env)
    checks = waiting_checks(loaded.config.checks, loaded.project, loaded.main_project, loaded.home)
    servers = list_untrusted_servers(loaded.config.language_servers, loaded.project, loaded.main_project, loaded.home)
    asked = (
        *((make_checks_trust_request(checks),) if checks else ()),
        *((make_servers_trust_request(servers),) if servers else ()),
    )
    return (*catalog.list_withheld(catalog.find()), *agents.list_withheld(), *commands.withheld(), *asked)


def list_waiting_programs(loaded: LoadedConfig) -> tuple[TrustRequest, ...]:
    """Return untrusted programs that git would start because of the repository's own configuration; asks git."""
    try:
        return list_untrusted_programs(find_root(loaded.project), TrustStore(loaded.home), loaded.main_project)
    # Outside a repository git starts nothing.
    except UserError:
        return ()


def set_theme(ctx: CommandContext, argument: str) -> CommandResult:
    """List the themes, or switch to one."""
    names = theme_names(ctx.loaded.home)
    if argument and argument not in names:
        return make_refusal(
            tr(
                "There is no theme {argument!r}; {suggest_name}",
                argument=argument,
                suggest_name=suggest_name(argument, names),
            )
        )
    return CommandResult(follow_up=SetTheme(name=argument))


def make_theme_choice(ctx: CommandContext, current: str, preview: Callable[[str], object]) -> Choose:
    """Return the list of themes to choose from. current: the theme in use. preview: see `Choose`."""
    names = theme_names(ctx.loaded.home)
    rows = tuple(
        ("→" if name == current else "", name, THEMES.get(name, "your own")) for name in names
    )  # fmt: skip
    table = Table(columns=("", tr("theme"), ""), rows=rows, wide_column=2)
    start = names.index(current) if current in names else 0
    return Choose(title=tr("Theme"), table=table, values=tuple(names), then="/theme", start=start, preview=preview)


def suggest_themes(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the theme names, each with its description."""
    for name in theme_names(ctx.loaded.home):
        yield Suggestion(text=name, note=THEMES.get(name, "your own"))


THEME = (
    Command(
        name="theme",
        aliases=("themes", "colors"),
        argument="[NAME]",
        summary=mark("the colours: dark, light, high contrast, none, your own"),
        handler=set_theme,
        suggest=suggest_themes,
    ),
)


MODES: dict[ApprovalMode, str] = {
    "ask": mark("ask before every write and command; reading is allowed"),
    "edits": mark("allow writes inside the project, ask before commands"),
    "all": mark("allow everything except blocked commands"),
    "plan": mark("read-only; nothing is changed"),
}


def quit_clio(ctx: CommandContext, argument: str) -> CommandResult:
    """Exit clio; the session is already on disk."""
    return CommandResult(follow_up=Quit())


def clear_screen(ctx: CommandContext, argument: str) -> CommandResult:
    """Clear the screen only."""
    return CommandResult(follow_up=ClearScreen())


def set_approval_mode(ctx: CommandContext, argument: str) -> CommandResult:
    """Show or change the approval mode."""
    if not argument:
        rows = tuple(("→" if mode == ctx.policy.mode else "", mode, tr(what)) for mode, what in MODES.items())
        return CommandResult(
            table=Table(columns=("", tr("mode"), tr("what runs without asking")), rows=rows, wide_column=2)
        )
    for mode, what in MODES.items():
        if mode == argument.lower():
            return CommandResult(
                text=tr("Approval mode {mode}: {what}.", mode=quote_code(mode), what=what),
                follow_up=SetApproval(mode=mode),
            )
    return make_refusal(
        tr(
            "There is no approval mode {argument!r}; {suggest_name}",
            argument=argument,
            suggest_name=suggest_name(argument, MODES),
        )
    )


def suggest_modes(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the approval modes."""
    return (Suggestion(text=mode, note=tr(what)) for mode, what in MODES.items())


def trust_project(ctx: CommandContext, argument: str) -> CommandResult:
    """Show which settings and files of this project wait for trust, and offer to trust them."""
    waiting = (*list_waiting_for_trust(ctx.loaded), *list_waiting_programs(ctx.loaded))
    withheld = (*ctx.loaded.withheld, *waiting)
    if not withheld:
        return CommandResult(text=tr("Nothing in this project needs your trust."))
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode stores nothing, including trust; start without --incognito."))
    # What was shown: a program may have changed a file while the question was open.
    shown = hashlib.sha256("\n".join(sorted(value.fingerprint for value in withheld)).encode()).hexdigest()[:16]
    answer, _, seen = argument.partition(" ")
    has_changed = answer == "--yes" and seen not in ("", shown)
    if answer == "--yes" and not has_changed:
        if waiting:
            TrustStore(ctx.loaded.home).add_all(ctx.loaded.main_project, waiting)
        return CommandResult(follow_up=GrantTrust())
    if argument and not has_changed:
        return make_refusal(
            tr(
                "/trust: unknown argument {argument!r}; type /trust alone to see what would be granted",
                argument=argument,
            )
        )
    rows = tuple((value.key, value.value, value.where) for value in withheld)
    return CommandResult(
        text=tr("Nothing was trusted: what waits for your trust has changed since it was shown. Now it is:")
        if has_changed
        else tr("This project's config wants extra permissions, or gives the model instructions:"),
        table=Table(columns=(tr("what"), tr("value"), tr("from")), rows=rows, wide_column=1),
        follow_up=Confirm(question=tr("Trust it?"), then=f"/trust --yes {shown}"),
    )


APPROVE = (
    Command(
        name="approve",
        argument="[MODE]",
        summary=mark("approval mode: which writes and commands need approval"),
        handler=set_approval_mode,
        suggest=suggest_modes,
    ),
)
GENERAL = (
    Command(
        name="trust", summary=mark("apply this project's withheld settings, skills and commands"), handler=trust_project
    ),
    Command(name="clear", summary=mark("clear the screen; the conversation stays"), handler=clear_screen),
    Command(name="exit", aliases=("quit",), summary=mark("exit clio"), handler=quit_clio),
)


MAX_SHOWN_MODELS = 100
_LISTED_VALUES: dict[str, tuple[str, ...]] = {}
"""The values of the rows in the list shown last, by command: a number as argument selects one."""
SERVED: dict[str, tuple[str, ...]] = {}
"""Models listed by servers so far, by provider; cached until the process exits."""


def _explain_no_model() -> str:
    return f"{capitalize(tr(NO_MODEL))}: {tr(CONNECT_MODEL)}."


async def ask_server(ctx: CommandContext) -> bool:
    """Request the list of models from the current provider's server, once; return whether there are new ones."""
    provider = ctx.provider
    if provider.name in SERVED or not isinstance(provider, ListsModels):
        return False
    SERVED[provider.name] = ()
    SERVED[provider.name] = await provider.models()
    return bool(SERVED[provider.name])


def set_model(ctx: CommandContext, argument: str) -> CommandResult:
    """List the available models, or switch to one."""
    provider = ctx.provider
    if not argument:
        if not isinstance(provider, ListsModels):
            return _make_model_list(ctx, {}, "")
        server = provider
        return CommandResult(
            follow_up=WaitFor(
                label=tr("asking {provider} for its models", provider=provider.name),
                work=lambda: _request_model_list(ctx, server),
            )
        )
    if len(argument.split()) > 1:
        return make_refusal(tr("A model's name has no spaces: {argument!r}; write /model NAME", argument=argument))
    # A model may be named by a number alone on a local server; then the name counts.
    if argument.isdecimal() and argument not in _list_known_models(ctx):
        chosen = _get_listed_value("/model", argument)
        if not chosen:
            return make_refusal(
                tr("There is no row {argument} to choose: `/model` lists the models", argument=argument)
            )
        argument = chosen
    if argument == provider.model:
        return CommandResult(text=tr("{argument} is already in use.", argument=quote_code(argument)))
    # An alias may name another server; any other name belongs to the current one.
    if provider.name == OFFLINE and argument not in ctx.config.models:
        return make_refusal(_explain_no_model())
    return CommandResult(follow_up=SetModel(name=argument))


def _get_listed_value(command: str, number: str) -> str:
    """Return the value of a row in the list that the command showed last; "" if there is no such row."""
    rows = _LISTED_VALUES.get(command, ())
    return rows[int(number) - 1] if 0 < int(number) <= len(rows) else ""


async def _request_model_list(ctx: CommandContext, server: ListsModels) -> CommandResult:
    """Return the models the server lists; if it does not list any, those known otherwise, and the reason."""
    name = ctx.provider.name
    try:
        offered = await server.offered()
    except ClioError as error:
        return _make_model_list(ctx, {}, tr("{name} did not list its models: {error}", name=name, error=error))
    if not offered:
        return _make_model_list(ctx, {}, tr("{name} lists no models.", name=name))
    SERVED[name] = tuple(one.name for one in offered)
    return _make_model_list(ctx, {one.name: one for one in offered}, "")


def _make_model_list(ctx: CommandContext, windows: Mapping[str, OfferedModel], problem: str) -> CommandResult:
    """Return the models to choose from with price, window and features. windows: those the server lists, by name."""
    provider = ctx.provider
    if provider.name == OFFLINE:
        return CommandResult(text=_explain_no_model())
    running = provider.model
    own = [known for known in _list_known_models(ctx) if known not in windows]
    names = sorted([*own, *sorted(windows, key=str.lower)], key=lambda one: one != running)
    _LISTED_VALUES["/model"] = tuple(names)
    text = tr(
        "{current_model} `/model NAME`, or the number of a row, switches.", current_model=_describe_current_model(ctx)
    )
    if len(names) > MAX_SHOWN_MODELS:
        text += tr(
            " {count:,} more are not shown; type a few letters after `/model` and press Tab.",
            count=len(names) - MAX_SHOWN_MODELS,
        )
    if own and windows:
        text += tr(" Models of your configuration that the server does not list are marked `not listed`.")
    described = [_describe_model(ctx, one, windows.get(one, OfferedModel(name=one))) for one in names]
    rows = tuple(
        ("→" if one.name == running else "", *one.cells, tr("not listed") if windows and one.name in own else "")
        for one in described
    )
    columns = ("", tr("model"), tr("window"), "$ in", "$ out", "$ cached", tr("supports"), "")
    table = Table(columns=columns, rows=rows, wide_column=1, is_truncated=True)
    return CommandResult(
        text=f"{text}\n\n{problem}" if problem else text,
        table=structs.replace(table, rows=rows[:MAX_SHOWN_MODELS]) if windows or len(rows) > 1 else None,
        data=[one.data | {"running": one.name == running, "listed": one.name in windows} for one in described],
        follow_up=Choose(
            title=tr("Models at {provider} · prices in US dollars per 1M tokens", provider=provider.name)
            + (f" · {problem}" * bool(problem)),
            table=table,
            values=tuple(names),
            then="/model",
        )
        if len(rows) > 1
        else None,
    )


def _describe_current_model(ctx: CommandContext) -> str:
    provider = ctx.provider
    effort = ctx.efforts.get_effort(provider.model)
    return tr(
        "{model} at {provider}, effort {effort}.",
        model=quote_code(provider.model),
        provider=quote_code(provider.name),
        effort=quote_code(effort),
    )


class _Described(Struct, frozen=True, kw_only=True):
    """One model: the cells of its table row, and the same values as data."""

    name: str
    cells: tuple[str, ...]
    data: dict[str, object]


def _describe_model(ctx: CommandContext, name: str, offered_model: OfferedModel) -> _Described:
    """Describe a model by its window, its price per million tokens, and its features, as far as they are known.

    An alias is described by the model it stands for, on that model's server.
    """
    # Prices belong to a server: the same model may cost something else elsewhere.
    real, server = _resolve_model(ctx, name)
    window = read_configured_limits(ctx.config, name)[0] or offered_model.window or _get_profiled_window(real)
    price = None
    with suppress(ClioError):  # /cost prices reports an invalid prices file
        price = ctx.spending.book.find_price(server, real)
    rates = (price.rate.input, price.rate.output, price.rate.cached) if price else ()
    own = ctx.config.models.get(name)
    images = offered_model.images if offered_model.images is not None and (own is None or own.images is None) else None
    images = takes_images(ctx.config, real) if images is None else images
    efforts = offered_model.efforts if offered_model.efforts is not None else find_usable_efforts(ctx.provider, real)
    takes = ", ".join(filter(None, (tr("images") if images else "", describe_efforts(efforts))))
    money = tuple(map(format_money, rates)) or ("", "", "")
    cost = dict(zip(("input", "output", "cached"), (rate / MICROS_PER_DOLLAR for rate in rates), strict=False))
    return _Described(
        name=name,
        cells=(name, format_tokens(window) if window else "", *money, takes),
        data={
            "name": name,
            "window": window or None,
            "dollars_per_million": cost or None,
            "images": images,
            "efforts": list(efforts) if efforts is not None else None,
            "effort": ctx.efforts.get_effort(name),
        },
    )


def _resolve_model(ctx: CommandContext, name: str) -> tuple[str, str]:
    """Return the model that a name stands for, and the name of its server."""
    own = ctx.config.models.get(name)
    if own is None:
        return name, ctx.provider.name
    return own.model or name, own.provider or (url_host(own.base_url) if own.base_url else ctx.provider.name)


def _get_profiled_window(name: str) -> int:
    profile = find_profile(name)
    return profile.context_window if profile else 0


def _list_known_models(ctx: CommandContext) -> list[str]:
    """Return models named in the configuration, the current one, and those its server has listed."""
    listed = SERVED.get(ctx.provider.name, ())
    names = [ctx.config.model, ctx.session.model, *ctx.config.models, ctx.provider.model, *listed]
    return sorted({name for name in names if name})


def suggest_models(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the models known so far; the caller requests the server's list in the meantime."""
    for name in _list_known_models(ctx):
        yield Suggestion(text=name, note=tr("in use") if name == ctx.provider.model else "")


_LEVELS = {
    "auto": mark("the server's default"),
    "none": mark("no reasoning"),
    "minimal": mark("as little as possible"),
    "low": mark("quick and cheap"),
    "medium": "balanced",
    "high": mark("for hard problems"),
    "xhigh": mark("slower and more expensive"),
    "max": mark("the most the model can do"),
}


def set_effort(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the levels of reasoning effort, or change that of the current model."""
    name, model = ctx.provider.name, ctx.provider.model
    if name == OFFLINE:
        return make_refusal(_explain_no_model())
    levels = find_usable_efforts(ctx.provider, model)
    word = argument.lower()
    if not word:
        return _offer_efforts(ctx, levels)
    word = (_get_listed_value("/effort", word) if word.isdecimal() else "") or word
    level = next((one for one in get_args(Effort) if one == word), None)
    if level is None:
        return make_refusal(
            tr(
                "There is no effort {argument!r}; {suggest_name}",
                argument=argument,
                suggest_name=suggest_name(word, list(_LEVELS)),
            )
        )
    ctx.efforts.choose(model, level)
    text = tr("Effort {level} for {model} from the next request on.", level=quote_code(level), model=quote_code(model))
    # What is known of a model may be out of date, so the level is sent all the same.
    if level != AUTO and levels is not None and level not in levels:
        accepted = ", ".join(levels) or tr("no effort at all")
        text += tr(
            " It is known to accept {accepted}; if its server refuses {level}, the nearest one is used.",
            accepted=accepted,
            level=quote_code(level),
        )
    return CommandResult(text=text, data={"model": model, "effort": level})


def _offer_efforts(ctx: CommandContext, levels: tuple[str, ...] | None) -> CommandResult:
    model = ctx.provider.model
    current = ctx.efforts.get_effort(model)
    offered = [AUTO, *(level for level in EFFORTS if levels is None or level in (*levels, current))]
    _LISTED_VALUES["/effort"] = tuple(offered)
    text = tr(
        "{current_model} `/effort LEVEL`, or the number of its row, sets it for this model in "
        "this session, also after a resume.",
        current_model=_describe_current_model(ctx),
    )
    if levels is None:
        text += tr(" Which levels it accepts is not known; if one is refused, the nearest is used.")
    elif not levels:
        text += tr(" This model is not known to accept an effort setting.")
    rows = tuple(("→" if level == current else "", level, tr(_LEVELS[level])) for level in offered)
    table = Table(columns=("", tr("effort"), ""), rows=rows, wide_column=2)
    return CommandResult(
        text=text,
        table=table,
        data={"model": model, "effort": current, "efforts": list(levels) if levels is not None else None},
        follow_up=Choose(
            title=tr("Effort of {model}", model=model),
            table=table,
            values=tuple(offered),
            then="/effort",
            start=offered.index(current) if current in offered else 0,
        ),
    )


def suggest_efforts(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the levels the current model supports, as far as known."""
    levels = find_usable_efforts(ctx.provider, ctx.provider.model)
    for level in (AUTO, *(EFFORTS if levels is None else levels)):
        yield Suggestion(text=level, note=tr(_LEVELS[level]))


MODEL = (
    Command(
        name="model",
        argument="[NAME]",
        summary=mark("list or switch models, with price, window and features"),
        handler=set_model,
        suggest=suggest_models,
    ),
    Command(
        name="effort",
        argument="[LEVEL]",
        summary=mark("reasoning effort: auto, none, minimal, low, medium, high, xhigh, max"),
        handler=set_effort,
        suggest=suggest_efforts,
    ),
)
