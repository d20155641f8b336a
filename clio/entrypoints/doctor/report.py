"""`clio doctor`: run all checks and print the findings."""

import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from clio.config.layers import load_config
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import clio_home, project_folder, user_home
from clio.config.schema import Config
from clio.entrypoints.doctor import data_checks, machine_checks, setup_checks
from clio.entrypoints.doctor.encoding_checks import check_encodings, fetch_encodings
from clio.entrypoints.doctor.findings import Check, DoctorContext, Finding, make_problem
from clio.entrypoints.doctor.model_checks import ask_live, check_model
from clio.errors import ClioError, ConfigError, UsageError
from clio.text.translation import mark, tr, tr_count
from clio.threads import BackgroundCall
from clio.ui.painter import count_cells
from clio.ui.safe_text import clean_line, escape_json_controls

ALL_CHECKS_LIMIT_S = 5.0
"""Time limit for all checks together; they start at the same time."""
HANGS = mark("a disk or network folder may hang")


class NamedCheck(Struct, frozen=True, kw_only=True):
    """A check and its subject. hint: the likely reason if it does not end."""

    about: str
    check: Check
    hint: str = HANGS


def run_checks(checks: Sequence[NamedCheck], context: DoctorContext, limit_s: float) -> Iterator[Finding]:
    """Run all checks at once; yield their findings in order as they arrive. limit_s: for all of them together."""
    started = time.monotonic()
    calls = [(named, BackgroundCall(lambda check=named.check: list(check(context)), named.about)) for named in checks]
    for named, call in calls:
        try:
            yield from call.wait(max(started + limit_s - time.monotonic(), 0.0))
        except TimeoutError:
            yield make_problem(named.about, tr("no answer within {limit_s:g} seconds", limit_s=limit_s), named.hint)
        except (ClioError, OSError) as error:
            yield make_problem(named.about, str(error), tr("check that file; the other findings do not depend on it"))


_NARROWEST = 20
_ALIGNED_FROM = 60  # columns from which the subjects have a column of their own
FIRST = (
    NamedCheck(about=mark("clio"), check=machine_checks.check_python),
    NamedCheck(about=mark("packages"), check=machine_checks.check_packages),
    NamedCheck(about=mark("commands"), check=machine_checks.check_grammar),
    NamedCheck(about=mark("clock"), check=machine_checks.check_clock),
    NamedCheck(about=mark("terminal"), check=machine_checks.check_terminal),
)
CONFIGURED = (
    NamedCheck(about=mark("configuration"), check=setup_checks.check_files),
    NamedCheck(about=mark("trust"), check=setup_checks.check_trust),
    NamedCheck(about=mark("extensions"), check=setup_checks.check_added),
    NamedCheck(about=mark("plugins"), check=setup_checks.check_plugins),
    NamedCheck(about=mark("telemetry"), check=setup_checks.check_telemetry),
    NamedCheck(
        about=mark("model"),
        check=check_model,
        hint=mark("check the network and the proxy variables in the environment"),
    ),
)
"""Checks that require a readable configuration."""
REST = (
    NamedCheck(about=mark("git"), check=machine_checks.check_git),
    NamedCheck(about=mark("ripgrep"), check=machine_checks.check_ripgrep),
    NamedCheck(about=mark("checks"), check=setup_checks.check_edit_checks),
    NamedCheck(about=mark("language servers"), check=setup_checks.check_language_servers),
    NamedCheck(about=mark("web search"), check=setup_checks.check_web_search),
    NamedCheck(about=mark("sandbox"), check=machine_checks.check_sandbox),
    NamedCheck(about=mark("confinement"), check=machine_checks.check_confinement),
    NamedCheck(about=mark("encodings"), check=check_encodings),
    NamedCheck(about=mark("home"), check=data_checks.check_home),
    NamedCheck(about=mark("project"), check=data_checks.check_project),
    NamedCheck(about=mark("keys"), check=data_checks.check_secrets),
    NamedCheck(about=mark("disk"), check=data_checks.check_disk),
    NamedCheck(about=mark("space"), check=data_checks.check_space),
    NamedCheck(about=mark("memory"), check=data_checks.check_memory),
    NamedCheck(about=mark("team memory"), check=data_checks.check_team),
    NamedCheck(about=mark("sessions"), check=data_checks.check_sessions),
    NamedCheck(about=mark("index"), check=data_checks.check_index),
    NamedCheck(about=mark("schedules"), check=setup_checks.check_schedules),
    NamedCheck(about=mark("locks"), check=data_checks.check_locks),
    NamedCheck(about=mark("undo"), check=data_checks.check_undo),
)


def run_doctor(options: Options, env: Mapping[str, str], *, fetch: bool, live: bool = False, json: bool = False) -> int:
    """Print the findings; return 1 if something must be fixed. fetch, live: see `collect_findings`.

    In a pipe one line each, as soon as it is found; on a terminal all at the end, what must be fixed first.

    Raises UsageError for flags.
    """
    found: list[Finding] = []
    is_terminal = sys.stdout.isatty()
    if is_terminal and not json:
        sys.stdout.write("checking …")
        sys.stdout.flush()
    try:
        for finding in collect_findings(options, env, fetch=fetch, live=live):
            found.append(finding)
            if not json and not is_terminal:
                sys.stdout.write(f"{finding.mark:<4}  {clean_line(finding.line)}\n")
                sys.stdout.flush()
    finally:
        if is_terminal and not json:
            sys.stdout.write("\r          \r")
    wrong = any(finding.mark == "fix" for finding in found)
    if json:
        document = msgspec.json.encode({"ok": not wrong, "findings": found})
        sys.stdout.write(escape_json_controls(msgspec.json.format(document, indent=2).decode()) + "\n")
    elif is_terminal:
        has_colours = not env.get("NO_COLOR") and env.get("TERM") != "dumb"
        width = max(shutil.get_terminal_size().columns, _NARROWEST)
        sys.stdout.write("\n".join(format_findings(found, width, has_colours=has_colours)) + "\n")
    return 1 if wrong else 0


# Colours of the terminal's own palette that can be read on dark and on light: yellow on white cannot.
_MARK_COLOURS = {"fix": "\x1b[1;31m", "note": "\x1b[35m", "ok": "\x1b[32m"}


def format_findings(found: Sequence[Finding], width: int, *, has_colours: bool) -> Iterator[str]:
    """Yield the lines for a terminal: what must be fixed, what may be improved, what is right, and the sum."""
    order = list(_MARK_COLOURS)
    subjects = max((count_cells(tr(finding.about)) for finding in found), default=0)
    indent = 6 + subjects + 2 if width >= _ALIGNED_FROM else 6
    for finding in sorted(found, key=lambda finding: order.index(finding.mark)):
        subject = tr(finding.about)
        about = f"{subject:<{subjects}}  " if width >= _ALIGNED_FROM else f"{subject}: "
        text = clean_line(finding.text + (f"; {finding.todo}" if finding.todo else ""))
        first, *others = textwrap.wrap(
            f"{finding.mark:<4}  {about}{text}",
            width,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        )
        if has_colours:
            mark = f"{finding.mark:<4}"
            first = first.replace(mark, f"{_MARK_COLOURS[finding.mark]}{mark}\x1b[0m", 1)
        yield from (first, *others)
    counts = {mark: sum(finding.mark == mark for finding in found) for mark in order}
    problems = tr_count(counts["fix"], "problem") if counts["fix"] else tr("no problems")
    yield tr(
        "\n{problems}, {notes}, {counts} ok",
        problems=problems,
        notes=tr_count(counts["note"], "note"),
        counts=counts["ok"],
    )


def collect_findings(options: Options, env: Mapping[str, str], *, fetch: bool, live: bool = False) -> Iterator[Finding]:
    """Run all checks; yield the findings in order of dependence. Raises UsageError for flags.

    fetch: download a missing encoding. live: send the model one tiny request.
    """
    wrong: list[Finding] = []
    try:
        loaded, checks = (
            BackgroundCall(lambda: load_config(options, env), "load-settings").wait(ALL_CHECKS_LIMIT_S),
            (*FIRST, *CONFIGURED, *REST),
        )
    except TimeoutError as error:
        yield make_problem(
            "configuration",
            str(error),
            tr("{hangs}; nothing else can be checked until it can be read", hangs=tr(HANGS)),
        )
        return
    except ConfigError as error:
        sentence, _, todo = str(error).partition("; ")
        wrong.append(make_problem("configuration", sentence, todo or tr("correct it there")))
        loaded, checks = _load_default_config(options, env), (*FIRST, *REST)
    if fetch and loaded.config.incognito:
        raise UsageError(tr("--incognito writes nothing; leave it out to fetch encodings"))
    context = DoctorContext(options=options, env=env, loaded=loaded, home=loaded.home, user_home=user_home(env))
    if fetch:
        checks = tuple(check for check in checks if check.about != "encodings")
    yield from wrong
    yield from run_checks(checks, context, ALL_CHECKS_LIMIT_S)
    if fetch:
        yield from fetch_encodings(context)
    if live:
        yield from ask_live(context)


def _load_default_config(options: Options, env: Mapping[str, str]) -> LoadedConfig:
    """Return the default configuration if the user's cannot be read."""
    home = clio_home(env)
    project = project_folder(options.cwd, clio_home=home, user_home=user_home(env))
    incognito = options.overrides.get("incognito") is True
    return LoadedConfig(config=Config(incognito=incognito), origins={}, project=project, home=home)
