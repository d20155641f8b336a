"""`clio doctor`: run all checks, print the findings, and download a missing token encoding.

The checks of the model, its server, its price and its encoding are here; the others are in `checks`.
"""

import asyncio
import hashlib
import http.client
import queue
import shutil
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from clio import __version__
from clio.agent.model_choice import EffortChoices
from clio.agent.spending import SpendingLimitReached, open_spending
from clio.config.layers import load_config
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import clio_home, display_path, project_folder, user_home
from clio.config.schema import Config
from clio.context.encodings import (
    ENCODINGS,
    FOLDER_NAME,
    O200K,
    Encoding,
    find_encoding,
    is_intact,
    list_encoding_folders,
)
from clio.entrypoints.doctor import checks
from clio.entrypoints.doctor.checks import (
    Check,
    DoctorContext,
    Finding,
    make_note,
    make_ok,
    make_problem,
)
from clio.errors import ClioError, ConfigError, ServerFailed, UsageError
from clio.messages import Usage, UserMessage
from clio.providers.base import AUTO, CONNECT_MODEL, NO_MODEL, ChatRequest, ListsModels, ModelLimits, Provider
from clio.providers.http_provider import HttpProvider
from clio.providers.lesson_book import LessonBook
from clio.providers.model_facts import PROBE_TOOL, PROTOCOL_TITLES, find_usable_efforts, read_request_facts
from clio.providers.prices import OLD_DAYS, SHOWN_PRICES_PATH, PriceBook, states_cost
from clio.providers.profiles import find_preset
from clio.providers.registry import DEFAULT_KEY_VARIABLE, OFFLINE, make_provider
from clio.storage.files import make_folder, write_atomic
from clio.text.formatting import format_money
from clio.text.translation import mark, tr, tr_count
from clio.threads import BackgroundCall, start_daemon_thread
from clio.ui.painter import count_cells
from clio.ui.safe_text import clean_line, escape_json_controls

LIVE_LIMIT_S = 60.0
_LIVE_TOKENS = 2_000
"""Output limit in tokens: a reasoning model needs more than the one word of the answer."""
SERVER_LIMIT_S = 4.0
"""Seconds. Below the limit of the check, so that an unresponsive server is named."""


def check_model(context: DoctorContext) -> Iterator[Finding]:
    """Report which model would answer, and whether it can. Requests only the server's list of models."""
    loaded = context.loaded
    try:
        provider = make_provider(loaded.config, context.env, book=LessonBook(loaded.home))
    except ConfigError as error:
        yield make_problem("model", *_split_sentence(str(error)))
        return
    if provider.name == OFFLINE:
        if loaded.config.provider == OFFLINE:
            yield make_ok("model", tr("none, offline as configured"))
        else:
            yield make_note("model", tr(NO_MODEL), tr(CONNECT_MODEL))
        return
    yield _find_key_source(context, provider.name)
    server, limits = asyncio.run(_ask_server(provider))
    yield server
    text = tr("{model} at {provider}, window ", model=provider.model, provider=provider.name)
    if limits is None:
        yield make_note("model", tr("{text}not known until the server answers", text=text))
    elif limits.source == "default":
        yield make_note(
            "model",
            tr(
                "{text}{context_window:,} tokens (assumed; the server does not say)",
                text=text,
                context_window=limits.context_window,
            ),
            tr("set context_window to its real size"),
        )
    else:
        source = _describe_window_source(limits, loaded, provider.model)
        yield make_ok(
            "model",
            tr(
                "{text}{context_window:,} tokens ({source})",
                text=text,
                context_window=limits.context_window,
                source=source,
            ),
        )
    yield from _describe_requests(loaded, provider)
    yield from _check_price(loaded, provider)


def _describe_requests(loaded: LoadedConfig, provider: Provider) -> Iterator[Finding]:
    """The protocol of the requests, and their fields for effort and prompt caching."""
    if not isinstance(provider, HttpProvider):
        return
    given = tr(" (set as api)") if loaded.config.api != "auto" else ""
    yield make_ok(
        "protocol",
        tr(
            "{protocol} ({protocol_titles}) at {base_url}{given}",
            protocol=provider.protocol,
            protocol_titles=PROTOCOL_TITLES[provider.protocol],
            base_url=provider.base_url,
            given=given,
        ),
    )
    choices = EffortChoices(loaded.config, is_from_flag="effort" in loaded.flags)
    effort = choices.get_effort(provider.model)
    facts = read_request_facts(provider, effort)
    levels = find_usable_efforts(provider, provider.model)
    sent = tr("sent as {effort}", effort=" ".join(facts.effort)) if facts.effort else tr("not sent, the server decides")
    known = (
        ""
        if levels is None
        else tr("; {model} accepts {levels}", model=provider.model, levels=", ".join(levels) or tr("no effort"))
    )
    if effort != AUTO and levels is not None and effort not in levels:
        yield make_note(
            "effort",
            f"{effort}, {sent}",
            tr("choose one that {model} accepts: {levels}", model=provider.model, levels=", ".join(levels) or AUTO),
        )
    else:
        yield make_ok("effort", f"{effort}: {sent}{known}")
    yield make_ok(
        "cache", ", ".join(facts.cache) or tr("no field is sent; some servers cache repeated text by themselves")
    )


def ask_live(context: DoctorContext) -> Iterator[Finding]:
    """Send one tiny request as a conversation would; report the answer, its time and its cost."""
    loaded = context.loaded
    try:
        provider = make_provider(loaded.config, context.env, book=LessonBook(loaded.home))
    except ConfigError as error:
        yield make_problem("live", *_split_sentence(str(error)))
        return
    if provider.name == OFFLINE:
        yield make_note("live", tr(NO_MODEL), tr(CONNECT_MODEL))
        return
    try:
        yield asyncio.run(_ask_once(loaded, provider))
    except (ClioError, SpendingLimitReached) as error:
        yield make_problem("live", *_split_sentence(str(error)))
    except TimeoutError:
        yield make_problem(
            "live",
            tr(
                "{provider} did not answer within {live_limit_s:g} seconds",
                provider=provider.name,
                live_limit_s=LIVE_LIMIT_S,
            ),
            tr("try again, or another model"),
        )


async def _ask_once(loaded: LoadedConfig, provider: Provider) -> Finding:
    choices = EffortChoices(loaded.config, is_from_flag="effort" in loaded.flags)
    request = ChatRequest(
        system="You are being checked. Answer with one word.",
        messages=(UserMessage(content="Say OK."),),
        tools=(PROBE_TOOL,),
        max_output_tokens=_LIVE_TOKENS,
        effort=choices.get_effort(provider.model),
    )
    started, first, notices = time.monotonic(), 0.0, list[str]()
    usage, stated = Usage(), None
    try:
        async with asyncio.timeout(LIVE_LIMIT_S):
            with await open_spending(loaded).reserve(provider, _LIVE_TOKENS, output_tokens=_LIVE_TOKENS) as held:
                async for chunk in provider.stream(request):
                    first = first or time.monotonic()
                    usage, stated = chunk.usage or usage, stated if chunk.cost is None else chunk.cost
                    notices += [chunk.notice] if chunk.notice else []
                cost = held.count_bill(usage, stated)
    finally:
        await provider.close()
    ms = [
        tr("{moment:,} ms", moment=round((moment - started) * 1000)) for moment in (first or started, time.monotonic())
    ]
    protocol = tr(" over {protocol}", protocol=provider.protocol) if isinstance(provider, HttpProvider) else ""
    tokens = tr(
        "{prompt_tokens:,} tokens in, {completion_tokens:,} out",
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
    )
    tokens += (
        tr(" ({reasoning_tokens:,} reasoning)", reasoning_tokens=usage.reasoning_tokens)
        if usage.reasoning_tokens
        else ""
    )
    price = f", {format_money(cost)}" if cost is not None else tr(", price not known")
    text = tr(
        "{model} answered{protocol} in {ms}, first words after {ms2}; {tokens}{price}",
        model=provider.model,
        protocol=protocol,
        ms=ms[1],
        ms2=ms[0],
        tokens=tokens,
        price=price,
    )
    return make_note("live", text, "; ".join(notices)) if notices else make_ok("live", text)


def _find_key_source(context: DoctorContext, server: str) -> Finding:
    """Report the source of the key; the key itself is not printed."""
    origin = context.loaded.origins.get("api_key") if context.loaded.config.api_key else None
    if origin is None and context.loaded.config.api_key_command:
        origin = tr(
            "api_key_command, {origins}", origins=context.loaded.origins.get("api_key_command", "the configuration")
        )
    preset = find_preset(server)
    variable, key = (
        preset.find_key(context.env)
        if preset
        else (DEFAULT_KEY_VARIABLE, context.env.get(DEFAULT_KEY_VARIABLE, "").strip())
    )
    if origin is None and key:
        origin = tr("environment {variable}", variable=variable)
    return make_ok(
        "key",
        tr("from {origin}", origin=origin)
        if origin
        else tr("none is set; requests to {server} are sent without one", server=server),
    )


async def _ask_server(provider: Provider) -> tuple[Finding, ModelLimits | None]:
    """Request the server's models and the window's size, None if it did not answer in time."""
    try:
        async with asyncio.timeout(SERVER_LIMIT_S):
            server = await _check_server(provider)
            return server, await provider.limits()
    except TimeoutError:
        return _make_silence_finding(provider), None
    finally:
        await provider.close()


async def _check_server(provider: Provider) -> Finding:
    if not isinstance(provider, ListsModels):
        return make_ok("server", tr("{provider} has no list of models", provider=provider.name))
    started = time.monotonic()
    try:
        offered = await provider.offered()
    except ClioError as error:
        return make_problem("server", *_split_sentence(str(error)))
    took_ms = (time.monotonic() - started) * 1000
    names = [model.name for model in offered]
    text = tr("{provider} answers within {took_ms:,} ms", provider=provider.name, took_ms=max(round(took_ms), 1))
    if not names:
        return make_note(
            "server", tr("{text} and lists no models", text=text), tr("nothing to do if it answers prompts")
        )
    if provider.model in names or f"models/{provider.model}" in names:
        return make_ok(
            "server",
            tr(
                "{text}, {models}, {model} among them",
                text=text,
                models=tr_count(len(names), "model"),
                model=provider.model,
            ),
        )
    return make_note(
        "server",
        tr(
            "{text}, {models}, {model} is not among them",
            text=text,
            models=tr_count(len(names), "model"),
            model=provider.model,
        ),
        tr("start clio -m with a model that /model lists"),
    )


def _make_silence_finding(provider: Provider) -> Finding:
    return make_problem(
        "server",
        tr(
            "{provider} did not answer within {server_limit_s:g} seconds",
            provider=provider.name,
            server_limit_s=SERVER_LIMIT_S,
        ),
        tr("check the address, the network and HTTPS_PROXY, or start it"),
    )


def _describe_window_source(limits: ModelLimits, loaded: LoadedConfig, model: str) -> str:
    match limits.source:
        case "config":
            own = loaded.origins.get(f"models.{model}.context_window")
            return tr("set in {own}", own=own or loaded.origins.get("context_window", "the configuration"))
        case "server":
            return tr("from server")
        case _:
            return tr("known for this model")


def _check_price(loaded: LoadedConfig, provider: Provider) -> Iterator[Finding]:
    """Report whether the model's price is known, and its age; nothing for a free model."""
    book = PriceBook(loaded.home)
    try:
        price = book.find_price(provider.name, provider.model)
    except ConfigError as error:
        yield make_problem("prices", *_split_sentence(str(error)))
        return
    age = book.table_age()
    if price is None and not states_cost(provider.name):
        yield make_note(
            "prices",
            tr("none for {model} at {provider}", model=provider.model, provider=provider.name),
            tr("add it to {shown_prices_path}", shown_prices_path=SHOWN_PRICES_PATH),
        )
    elif price is not None and book.is_old(price):
        yield make_note(
            "prices",
            tr("the price of {model} dates from {as_of}", model=provider.model, as_of=price.as_of),
            tr("correct it in {shown_prices_path}", shown_prices_path=SHOWN_PRICES_PATH),
        )
    elif price is not None and not price.is_free:
        day = tr(" of {as_of}", as_of=price.as_of) if price.as_of else ""
        yield make_ok(
            "prices",
            tr(
                "{model}{day}; {prices} known, {old} older than {old_days} days",
                model=provider.model,
                day=day,
                prices=age.prices,
                old=age.old,
                old_days=OLD_DAYS,
            ),
        )


def _split_sentence(sentence: str) -> tuple[str, str]:
    """Split the sentence of an error into what is wrong and what to do."""
    for separator in ("; ", ": "):
        wrong, found, todo = sentence.rpartition(separator)
        if found:
            return wrong, todo
    return sentence, tr("see docs/configuration.md")


_FETCH = mark("clio doctor --fetch-encodings")


def check_encodings(context: DoctorContext) -> Iterator[Finding]:
    """Which token encodings are on disk. Changes nothing."""
    return _check_encoding_files(context.home, context.env, {})


def fetch_encodings(context: DoctorContext) -> Iterator[Finding]:
    """Check the encodings after downloading the one clio needs, if it is missing."""
    folders = list_encoding_folders(context.env, context.home)
    path = find_encoding(O200K, folders)
    if path is not None and _is_readable_and_intact(path, O200K):
        return _check_encoding_files(context.home, context.env, {})
    try:
        fetched = fetch_encoding(O200K, context.home)
    except (ServerFailed, OSError) as error:
        wrong, _, todo = str(error).partition("; ")
        return iter([make_problem("encodings", wrong, todo or tr("try again: {fetch}", fetch=_FETCH))])
    return _check_encoding_files(context.home, context.env, {O200K.name: fetched})


def _check_encoding_files(home: Path, env: Mapping[str, str], fetched: Mapping[str, Path]) -> Iterator[Finding]:
    folders = list_encoding_folders(env, home)
    on_disk = {encoding: path for encoding in ENCODINGS if (path := find_encoding(encoding, folders))}
    intact = {
        encoding.name: path for encoding, path in on_disk.items() if _is_readable_and_intact(path, encoding)
    } | dict(fetched)
    for encoding, path in on_disk.items():
        if encoding.name not in intact:
            yield make_note(
                "encodings",
                tr("{path!r} is damaged or unreadable and not used", path=str(path)),
                tr("remove it, or: {fetch}", fetch=_FETCH),
            )
    if intact:
        shown = (
            tr("{name} in {path}", name=name, path=display_path(path.parent, project=None, user_home=user_home(env)))
            for name, path in intact.items()
        )
        yield make_ok("encodings", ", ".join(shown))
    elif not on_disk:
        yield make_note(
            "encodings",
            tr("none on disk, so tokens are estimated and learned from the servers' usage figures"),
            tr("for exact counts: {fetch}", fetch=_FETCH),
        )


def _is_readable_and_intact(path: Path, encoding: Encoding) -> bool:
    try:
        return is_intact(path, encoding)
    except OSError:
        return False


DOWNLOAD_SILENCE_S = 10.0
DOWNLOAD_LIMIT_S = 60.0
MAX_DOWNLOAD_BYTES = 20_000_000


def fetch_encoding(
    encoding: Encoding, home: Path, *, silence_s: float = DOWNLOAD_SILENCE_S, limit_s: float = DOWNLOAD_LIMIT_S
) -> Path:
    """Download an encoding into clio's own directory and return its path.

    Args:
        silence_s: time limit for connecting and between two chunks.
        limit_s: time limit for everything, including the name lookup.

    Raises:
        ServerFailed: the file cannot be downloaded completely, or its hash is wrong.
        OSError: it cannot be written.
    """
    answers: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
    # A daemon thread: a name lookup cannot be interrupted and must not keep the process from exiting.
    start_daemon_thread(lambda: _download(encoding.url, silence_s, answers), "download-encoding")
    try:
        answer = answers.get(timeout=limit_s)
    except queue.Empty:
        answer = TimeoutError(tr("it took more than {limit_s:.0f} s", limit_s=limit_s))
    if isinstance(answer, Exception):
        raise ServerFailed(
            tr(
                "{encoding} could not be fetched from {url}: {download_error}; try again when that "
                "address can be reached, or set HTTPS_PROXY",
                encoding=encoding.name,
                url=encoding.url,
                download_error=_describe_download_error(answer),
            ),
            retryable=False,
        ) from answer
    if hashlib.sha256(answer).hexdigest() != encoding.sha256:
        raise ServerFailed(
            tr(
                "the file from {url} is not {encoding}: its hash does not match; it was discarded, try again "
                "from another network",
                url=encoding.url,
                encoding=encoding.name,
            ),
            retryable=False,
        )
    path = home / FOLDER_NAME / encoding.file_name
    make_folder(path.parent)
    write_atomic(path, answer)
    return path


def _download(url: str, silence_s: float, answers: "queue.SimpleQueue[bytes | Exception]") -> None:
    request = urllib.request.Request(url, headers={"User-Agent": f"clio/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=silence_s) as response:
            answers.put(response.read(MAX_DOWNLOAD_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        answers.put(error)


def _describe_download_error(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return tr("the server answered {code}", code=error.code)
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return (reason.strerror if isinstance(reason, OSError) else "") or str(reason) or type(reason).__name__


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
    NamedCheck(about=mark("clio"), check=checks.check_python),
    NamedCheck(about=mark("packages"), check=checks.check_packages),
    NamedCheck(about=mark("commands"), check=checks.check_grammar),
    NamedCheck(about=mark("clock"), check=checks.check_clock),
    NamedCheck(about=mark("terminal"), check=checks.check_terminal),
)
CONFIGURED = (
    NamedCheck(about=mark("configuration"), check=checks.check_files),
    NamedCheck(about=mark("trust"), check=checks.check_trust),
    NamedCheck(about=mark("extensions"), check=checks.check_added),
    NamedCheck(about=mark("plugins"), check=checks.check_plugins),
    NamedCheck(about=mark("telemetry"), check=checks.check_telemetry),
    NamedCheck(
        about=mark("model"),
        check=check_model,
        hint=mark("check the network and the proxy variables in the environment"),
    ),
)
"""Checks that require a readable configuration."""
REST = (
    NamedCheck(about=mark("git"), check=checks.check_git),
    NamedCheck(about=mark("ripgrep"), check=checks.check_ripgrep),
    NamedCheck(about=mark("checks"), check=checks.check_edit_checks),
    NamedCheck(about=mark("language servers"), check=checks.check_language_servers),
    NamedCheck(about=mark("web search"), check=checks.check_web_search),
    NamedCheck(about=mark("sandbox"), check=checks.check_sandbox),
    NamedCheck(about=mark("confinement"), check=checks.check_confinement),
    NamedCheck(about=mark("encodings"), check=check_encodings),
    NamedCheck(about=mark("home"), check=checks.check_home),
    NamedCheck(about=mark("project"), check=checks.check_project),
    NamedCheck(about=mark("keys"), check=checks.check_secrets),
    NamedCheck(about=mark("disk"), check=checks.check_disk),
    NamedCheck(about=mark("space"), check=checks.check_space),
    NamedCheck(about=mark("memory"), check=checks.check_memory),
    NamedCheck(about=mark("team memory"), check=checks.check_team),
    NamedCheck(about=mark("sessions"), check=checks.check_sessions),
    NamedCheck(about=mark("index"), check=checks.check_index),
    NamedCheck(about=mark("schedules"), check=checks.check_schedules),
    NamedCheck(about=mark("locks"), check=checks.check_locks),
    NamedCheck(about=mark("undo"), check=checks.check_undo),
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
