"""The checks of `clio doctor` on what is configured: settings and trust, extensions, servers and services."""

from collections.abc import Iterator

from clio.checks.checkers import describe_checks, list_untrusted_checkers
from clio.commands.custom_commands import CustomCommands
from clio.commands.settings_commands import list_waiting_for_trust
from clio.config.paths import PLUGIN_LOCK_NAME, PLUGINS_FOLDER, has_plugins
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF
from clio.config.show import list_start_notes
from clio.config.trust import TrustStore
from clio.entrypoints.doctor.findings import MAX_NAMED, DoctorContext, Finding, make_note, make_ok, make_problem
from clio.errors import ConfigError
from clio.jobs.schedules import find_problems, get_schedules_folder, list_schedules
from clio.lsp.catalog import are_servers_trusted, find_project_suffixes, find_servers, suggest_installation
from clio.skills.skills import SkillCatalog, SubagentCatalog
from clio.text.formatting import remove_code_marks
from clio.text.translation import tr, tr_count


def check_edit_checks(context: DoctorContext) -> Iterator[Finding]:
    """Which checks run on changed files after a step that edited."""
    wanted = context.loaded.config.checks
    found = describe_checks(wanted, context.project)
    waiting = list_untrusted_checkers(wanted, context.project, context.owner, context.home)
    ready = [name for name in found if name not in waiting]
    named = tr("after edits: {ready}", ready=", ".join(ready)) if ready else tr("no program found")
    if wanted[-1:] == (CHECKS_OFF,):
        yield make_ok("checks", tr("off; the model is not told what its edits break"))
    elif CHECKS_AUTO in wanted:
        yield make_ok(
            "checks", tr("{named}; Python, JSON, TOML and YAML files that they do not cover are parsed", named=named)
        )
    else:
        yield make_ok("checks", named)
    if waiting:
        confined = tr("once the project is trusted, and confined")
        yield make_note(
            "checks",
            tr(
                "{waiting} would run this project's code, so only {confined}",
                waiting=", ".join(waiting),
                confined=confined,
            ),
            tr("clio config trust"),
        )


def check_language_servers(context: DoctorContext) -> Iterator[Finding]:
    """Which language servers were found for the project's languages."""
    setting = context.loaded.config.language_servers
    if setting[-1:] == (CHECKS_OFF,):
        yield make_ok("language servers", tr("off"))
        return
    root = context.project.resolve()
    suffixes = find_project_suffixes(root)
    is_trusted = are_servers_trusted(context.owner, context.home)
    found = find_servers(setting, root, is_trusted=is_trusted)
    useful = [server for server in found if not suffixes.isdisjoint(server.spec.suffixes)]
    ready = [server.spec.name for server in useful if server.may_run]
    waiting = [server.spec.name for server in useful if not server.may_run]
    others = [server.spec.name for server in found if server not in useful]
    if not suffixes:
        names = ", ".join(others) or tr("none")
        yield make_ok("language servers", tr("no code of a known language here; installed: {names}", names=names))
        return
    if ready:
        yield make_ok("language servers", ", ".join(ready))
    served = {suffix for server in useful for suffix in server.spec.suffixes}
    if missing := suffixes - served:
        names, install = ", ".join(sorted(missing)), suggest_installation(missing)
        if install:
            yield make_note("language servers", tr("none for {names} files", names=names), install)
    if waiting:
        yield make_note(
            "language servers",
            tr(
                "{waiting} would run this project's code, so only {confined}",
                waiting=", ".join(waiting),
                confined=tr("once the project is trusted, and confined"),
            ),
            tr("clio config trust"),
        )


def check_web_search(context: DoctorContext) -> Iterator[Finding]:
    """Which service searches the web, and whether its key is set; nothing if it is off."""
    config = context.loaded.config
    if config.web_search == "off":
        return
    if config.web_search == "model":
        yield make_ok("web search", tr("by the model's server, if it can"))
        return
    from clio.tools.web_search import KEY_VARIABLES, open_search_settings

    settings = open_search_settings(config.web_search, config.web_search_url or "", context.env)
    variable = KEY_VARIABLES.get(config.web_search)
    where = tr("{service} at {address}", service=config.web_search, address=settings.address)
    if variable and not settings.key:
        yield make_note(
            "web search",
            tr("{where}, and {variable} is not set", where=where, variable=variable),
            tr("set {variable} to a key of {service}", variable=variable, service=config.web_search),
        )
        return
    yield make_ok("web search", where)


def check_telemetry(context: DoctorContext) -> Iterator[Finding]:
    """Whether telemetry is on, to whom it goes, and what keeps it from being sent."""
    settings = context.loaded.config.telemetry
    if settings.endpoint is None:
        yield make_ok("telemetry", tr("off; nothing is sent"))
        return
    from importlib.util import find_spec

    from clio.telemetry.collector_address import (
        describe_collector,
        explain_wrong_endpoint,
        is_unencrypted,
        read_headers,
    )

    if problem := explain_wrong_endpoint(settings):
        yield make_problem("telemetry", problem, tr("correct it in your config.yaml"))
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        yield make_problem(
            "telemetry",
            tr("the package opentelemetry-sdk is missing, so nothing is sent"),
            "pip install 'clio-shell[telemetry]'",
        )
        return
    signals = [tr("traces")] * settings.traces + [tr("metrics")] * settings.metrics
    yield make_ok(
        "telemetry",
        tr(
            "{signals} to {address}, {content}",
            signals=tr(" and ").join(signals) or tr("nothing"),
            address=describe_collector(settings, context.env),
            content=tr("with messages and results") if settings.content else tr("without any text of yours"),
        ),
    )
    headers = read_headers(settings, context.env)
    if settings.headers_env and not headers:
        yield make_note(
            "telemetry",
            tr("{variable} has no headers, such as `x-api-key=…`", variable=settings.headers_env),
            tr("set it, or remove telemetry.headers_env"),
        )
    if (headers or settings.content) and is_unencrypted(settings, context.env):
        yield make_note(
            "telemetry", tr("headers and texts reach the collector unencrypted"), tr("use an https:// address")
        )


def check_plugins(context: DoctorContext) -> Iterator[Finding]:
    """Whether the copy of every plugin is there, readable and unchanged."""
    damaged = sorted((context.home / PLUGINS_FOLDER).glob(f"{PLUGIN_LOCK_NAME}.corrupt-*"))
    if damaged:
        yield make_problem(
            "plugins",
            tr("the list of plugins was damaged and is now {file}", file=context.display(damaged[-1])),
            tr("restore it from a backup, or add the plugins again; then delete that file"),
        )
    if not has_plugins(context.home):
        if not damaged:
            yield make_ok("plugins", tr("none"))
        return
    from clio.config.installed_plugins import clean_line, find_copy_problem, read_lock, read_locked_plugin

    try:
        plugins = read_lock(context.home).plugins
    except ConfigError as error:
        yield make_problem("plugins", str(error), tr("check that file"))
        return
    ready: list[str] = []
    for name, locked in plugins.items():
        shown = clean_line(name, 64)
        if problem := find_copy_problem(context.home, name, locked):
            yield make_problem(
                "plugins",
                tr("{name} is off: {problem}", name=shown, problem=problem),
                tr("clio plugin update {name}, or clio plugin remove {name}", name=shown),
            )
            continue
        elsewhere = locked.projects and str(context.owner) not in locked.projects
        ready.append(tr("{name} (in another project)", name=shown) if elsewhere else shown)
        for part in read_locked_plugin(context.home, name, locked).problems:
            yield make_note("plugins", f"{shown}: {part}")
    if ready or not plugins:
        yield make_ok("plugins", ", ".join(ready) or tr("none"))


def check_schedules(context: DoctorContext) -> Iterator[Finding]:
    """Whether each schedule is still started, and finds its clio and its project."""
    if not get_schedules_folder(context.home).is_dir():
        return
    problems = find_problems(context.home, context.env)
    for problem in problems:
        text = tr("schedule {number}: {text}", number=problem.number, text=problem.text)
        yield make_problem("schedules", text, remove_code_marks(problem.todo) or tr("see `clio schedule list`"))
    schedules = list_schedules(context.home)
    if schedules and not problems:
        yield make_ok("schedules", tr_count(len(schedules), "schedule"))


def check_files(context: DoctorContext) -> Iterator[Finding]:
    """Report which configuration files were read; reading them has succeeded by then."""
    files = ", ".join(context.display(path) for path in context.loaded.files)
    yield make_ok("configuration", files or tr("no files, all settings have their defaults"))


def check_trust(context: DoctorContext) -> Iterator[Finding]:
    """Which settings of the project are not trusted yet."""
    loaded = context.loaded
    trust = TrustStore(context.home)
    if wrong := trust.describe_damage():
        yield make_problem(
            "trust",
            tr("{shown} {wrong}, so no project is trusted", shown=context.display(trust.path), wrong=wrong),
            tr("restore a backup, or trust each project again: clio config trust, clio memory share on"),
        )
    for sentence in list_start_notes(loaded):
        yield make_note("trust", sentence)
    waiting = list_waiting_for_trust(loaded, context.env)
    if waiting:
        names = ", ".join(value.key for value in waiting[:MAX_NAMED])
        more = tr(" and {count} more", count=len(waiting) - MAX_NAMED) if len(waiting) > MAX_NAMED else ""
        yield make_note(
            "trust",
            tr("the project's {names}{more} are not trusted yet", names=names, more=more),
            tr("review them, then run clio config trust"),
        )
    if not loaded.withheld and not waiting:
        trusted = len(loaded.trusted)
        in_effect = tr("{values} of the project in effect because you trust it", values=tr_count(trusted, "value"))
        yield make_ok("trust", in_effect if trusted else tr("the project needs none"))


def check_added(context: DoctorContext) -> Iterator[Finding]:
    """Count MCP servers, skills, commands, sub-agents and hooks; none is started."""
    loaded = context.loaded
    found = SkillCatalog(context.owner, context.home, context.env).find()
    commands = CustomCommands(context.owner, context.home, context.env)
    agents, agent_problems = SubagentCatalog(context.owner, context.home, context.env).find()
    enabled = sum(1 for server in loaded.servers if server.enabled)
    off = len(loaded.servers) - enabled
    counts = (
        tr_count(enabled, "MCP server") + (tr(" ({off} disabled)", off=off) if off else ""),
        tr_count(len(found.skills), "skill"),
        tr_count(len(commands()), "custom command"),
        tr_count(len(agents), "sub-agent"),
        tr_count(len(loaded.hooks), "hook"),
    )
    for problem in (*loaded.server_problems, *found.problems, *commands.problems(), *agent_problems):
        yield make_note("extensions", problem)
    yield make_ok("extensions", ", ".join(counts))
