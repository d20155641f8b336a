"""`clio doctor`: looks at what clio stands on, a line for each thing, and says what to do about what is wrong.

It changes nothing, starts no server, and sends no prompt unless it is asked to. It ends within seconds: all looks are
taken side by side, and one that does not end is a line of its own.
"""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping

import msgspec

from clio.config.layers import load
from clio.config.loaded import Loaded
from clio.config.options import Options
from clio.config.paths import clio_home, project_folder, user_home
from clio.config.schema import Config
from clio.entrypoints.doctor import checks, model
from clio.entrypoints.doctor import checks as data_checks
from clio.entrypoints.doctor import finding as check_limits
from clio.entrypoints.doctor.finding import Finding, Ground, Look, Named, fix, run_all
from clio.errors import ConfigError, UsageError
from clio.ui.safe_text import clean_line, inert_json

_NARROWEST = 20
FIRST = (
    Named(about="clio", check=checks.check_python),
    Named(about="packages", check=checks.check_packages),
    Named(about="commands", check=checks.check_grammar),
    Named(about="clock", check=checks.check_clock),
    Named(about="terminal", check=checks.check_terminal),
)
CONFIGURED = (
    Named(about="configuration", check=data_checks.check_files),
    Named(about="trust", check=data_checks.check_trust),
    Named(about="extensions", check=data_checks.check_added),
    Named(about="model", check=model.check_model, hint="look at the network, and at proxies in the environment"),
)
"""Checks that need a configuration which could be read."""
REST = (
    Named(about="git", check=checks.check_git),
    Named(about="ripgrep", check=checks.check_ripgrep),
    Named(about="checks", check=checks.check_edit_checks),
    Named(about="sandbox", check=checks.check_sandbox),
    Named(about="confinement", check=checks.check_confinement),
    Named(about="encodings", check=data_checks.check_encodings),
    Named(about="home", check=checks.check_home),
    Named(about="project", check=checks.check_project),
    Named(about="keys", check=checks.check_secrets),
    Named(about="disk", check=checks.check_disk),
    Named(about="space", check=checks.check_space),
    Named(about="memory", check=data_checks.check_memory),
    Named(about="team memory", check=data_checks.check_team),
    Named(about="sessions", check=data_checks.check_sessions),
    Named(about="index", check=data_checks.check_index),
    Named(about="locks", check=data_checks.check_locks),
    Named(about="undo", check=data_checks.check_undo),
)


def run(options: Options, env: Mapping[str, str], *, fetch: bool, live: bool = False, json: bool = False) -> int:
    """Print what is found; 1 where something must be done. fetch, live: see `collect_findings`.

    Raises UsageError for flags.
    """
    found: list[Finding] = []
    for finding in collect_findings(options, env, fetch=fetch, live=live):
        found.append(finding)
        if not json:
            sys.stdout.write(f"{_printed(finding)}\n")
            sys.stdout.flush()
    wrong = any(finding.mark == "fix" for finding in found)
    if json:
        document = msgspec.json.encode({"ok": not wrong, "findings": found})
        sys.stdout.write(inert_json(msgspec.json.format(document, indent=2).decode()) + "\n")
    return 1 if wrong else 0


def _printed(finding: Finding) -> str:
    """The finding's line; on a terminal wrapped between words, with continuation lines indented."""
    line = clean_line(finding.line)
    if not sys.stdout.isatty():
        return f"{finding.mark:<4}  {line}"
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    return textwrap.fill(line, width, initial_indent=f"{finding.mark:<4}  ", subsequent_indent=" " * 6,
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip


def collect_findings(options: Options, env: Mapping[str, str], *, fetch: bool, live: bool = False) -> Iterator[Finding]:
    """Run all checks; yield the findings in order of dependence. Raises UsageError for flags.

    fetch: download the encoding that is missing. live: send the model one tiny request.
    """
    wrong: list[Finding] = []
    try:
        loaded, checks = Look(lambda: load(options, env)).wait(check_limits.LIMIT_S), (*FIRST, *CONFIGURED, *REST)
    except TimeoutError as error:
        yield fix("configuration", str(error), f"{check_limits.HANGS}; nothing else can be looked at before it is read")
        return
    except ConfigError as error:
        sentence, _, todo = str(error).partition("; ")
        wrong.append(fix("configuration", sentence, todo or "correct it there"))
        loaded, checks = _as_it_comes(options, env), (*FIRST, *REST)
    if fetch and loaded.config.incognito:
        raise UsageError("an incognito clio writes nothing; leave out --incognito to fetch encodings")
    ground = Ground(options=options, env=env, loaded=loaded, home=loaded.home, person=user_home(env))
    if fetch:
        checks = tuple(check for check in checks if check.about != "encodings")
    yield from wrong
    yield from run_all(checks, ground, check_limits.LIMIT_S)
    if fetch:
        yield from data_checks.fetch_encodings(ground)
    if live:
        yield from model.ask_live(ground)


def _as_it_comes(options: Options, env: Mapping[str, str]) -> Loaded:
    """The default configuration, where the user's cannot be read."""
    home = clio_home(env)
    project = project_folder(options.cwd, clio_home=home, user_home=user_home(env))
    incognito = options.overrides.get("incognito") is True
    return Loaded(config=Config(incognito=incognito), origins={}, project=project, home=home)
