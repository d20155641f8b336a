"""`clio doctor`: looks at what clio stands on, a line for each thing, and says what to do about what is wrong."""

import asyncio
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio import __version__
from clio.checkpoints.space import usage
from clio.config.layers import load
from clio.config.loaded import Loaded
from clio.config.options import Options
from clio.config.paths import clio_home, display, user_home
from clio.config.show import withheld_note
from clio.config.team_folder import is_shared, is_trusted, shared_folder
from clio.context.encoding_fetch import fetch_encoding
from clio.context.encodings import ENCODINGS, O200K, Encoding, encoding_folders, find_encoding, is_intact
from clio.errors import ConfigError, ServerFailed, StorageError, UsageError
from clio.memory.team.share import Sharing
from clio.providers.base import Limits, Provider
from clio.providers.price_book import PriceBook
from clio.providers.price_words import OLD_DAYS, SHOWN, states_cost
from clio.providers.registry import OFFLINE, make_provider
from clio.tools.files.text_file import size_text
from clio.tools.search.file_index import ripgrep

_TIME_LIMIT_S = 5.0
_FETCH = "clio doctor --fetch-encodings"


class Finding(Struct, frozen=True):
    """One line: "ok", "note" for what could be better, "fix" for what must be done."""

    mark: Literal["ok", "note", "fix"]
    text: str


def run(options: Options, env: Mapping[str, str], *, fetch: bool) -> int:
    """Print what is found; 1 where something must be done. fetch: download the encoding that is missing."""
    code = 0
    for finding in findings(options, env, fetch=fetch):
        sys.stdout.write(f"{finding.mark:<4}  {finding.text}\n")
        sys.stdout.flush()
        code = 1 if finding.mark == "fix" else code
    return code


def findings(options: Options, env: Mapping[str, str], *, fetch: bool) -> Iterator[Finding]:
    """Everything that is looked at, in the order of what builds on what. Raises UsageError for flags."""
    yield Finding("ok", f"clio {__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}")
    incognito = options.overrides.get("incognito") is True
    try:
        loaded = load(options, env)
    except ConfigError as error:
        yield Finding("fix", f"configuration: {error}")
    else:
        incognito = loaded.config.incognito
        yield from _configuration(loaded, env)
        yield _model(loaded, env)
        yield from _price(loaded, env)
        yield from _team(loaded)
    if fetch and incognito:
        raise UsageError("an incognito clio writes nothing; leave out --incognito to fetch encodings")
    yield _program("git", "git", "it is needed for branches, diffs and commits; install it")
    yield _program("ripgrep", ripgrep(), "searching works without it, more slowly; install ripgrep")
    home = clio_home(env)
    yield from _encodings(home, env, fetch=fetch)
    yield _folder(home, env, incognito=incognito)
    yield from _kept_files(home, env)


def _configuration(loaded: Loaded, env: Mapping[str, str]) -> Iterator[Finding]:
    shown = [display(path, project=loaded.project, user_home=user_home(env)) for path in loaded.files]
    yield Finding("ok", f"configuration: {', '.join(shown) or 'no files, so everything is as it comes'}")
    if loaded.withheld:
        yield Finding("note", withheld_note(loaded))


def _model(loaded: Loaded, env: Mapping[str, str]) -> Finding:
    """Which model would answer. Asks the server that is configured for its window, and nobody else anything."""
    try:
        provider = make_provider(loaded.config, env)
    except ConfigError as error:
        return Finding("fix", f"model: {error}")
    if provider.name == OFFLINE:
        if loaded.config.provider == OFFLINE:
            return Finding("ok", "model: none, offline as configured")
        return Finding(
            "note", "model: none is configured and no local server answers; set OPENAI_API_KEY, --base-url or provider"
        )
    limits = asyncio.run(_limits(provider))
    return Finding(
        "note" if limits.source == "default" else "ok",
        f"model: {provider.model} at {provider.name}, window {limits.context_window:,} tokens "
        f"({_who_says(limits, loaded, provider.model)})",
    )


def _price(loaded: Loaded, env: Mapping[str, str]) -> Iterator[Finding]:
    """Whether it is known what the model costs, and how old that knowledge is; nothing where it costs nothing."""
    try:
        provider = make_provider(loaded.config, env)
        book = PriceBook(loaded.home)
        price = book.price_of(provider.name, provider.model)
        asyncio.run(provider.close())
    except ConfigError as error:
        if SHOWN in str(error):
            yield Finding("fix", f"prices: {error}")
        return
    age = book.age()
    if price is None and not states_cost(provider.name):
        yield Finding("note", f"prices: none for {provider.model} at {provider.name}; add it to {SHOWN}")
    elif price is not None and book.is_old(price):
        yield Finding("note", f"prices: that of {provider.model} is of {price.as_of}; correct it in {SHOWN}")
    elif price is not None and not price.is_free:
        day = f" of {price.as_of}" if price.as_of else ""
        yield Finding("ok", f"prices: {provider.model}{day}; {age.prices} known, {age.old} older than {OLD_DAYS} days")


def _team(loaded: Loaded) -> Iterator[Finding]:
    """What of the shared knowledge is left out, or not seen by git; nothing where none is shared and trusted."""
    project = loaded.project
    if loaded.config.incognito or not (is_shared(shared_folder(project)) and is_trusted(project, loaded.home)):
        return
    sharing = Sharing(project / ".clio" / "ltm.json", project=project, home=loaded.home, clock=time.time, clean=str)
    try:
        status = sharing.status()
    except (StorageError, OSError) as error:
        yield Finding("fix", f"team memory: {error}")
        return
    if status.problems or status.rule:
        left_out = (
            f"files left out: {len(status.problems)}" if status.problems else "git does not see what it should"
        )
        yield Finding("note", f"team memory: {left_out}; look with: clio memory share status")
    else:
        yield Finding("ok", f"team memory: entries shared in .clio/ltm/: {len(status.shared)}")


async def _limits(provider: Provider) -> Limits:
    try:
        return await provider.limits()
    finally:
        await provider.close()


def _who_says(limits: Limits, loaded: Loaded, model: str) -> str:
    match limits.source:
        case "config":
            own = loaded.origins.get(f"models.{model}.context_window")
            return f"set in {own or loaded.origins.get('context_window', 'the configuration')}"
        case "server":
            return "the server says so"
        case "profile":
            return "known of this model"
        case _:
            return "a guess: the server does not say; set context_window to what it really has"


def _kept_files(home: Path, env: Mapping[str, str]) -> Iterator[Finding]:
    """What /undo keeps of all projects; nothing where it keeps nothing."""
    store = home / "checkpoints"
    if not store.is_dir():
        return
    shown = display(store, project=None, user_home=user_home(env))
    try:
        kept = usage(store)
    except OSError as error:
        yield Finding("note", f"undo: {shown} cannot be read: {error.strerror}")
        return
    yield Finding("ok", f"undo: {kept.turns} turns of {kept.projects} projects, {size_text(kept.bytes)} in {shown}")


def _program(name: str, path: str | None, without: str) -> Finding:
    if path is None:
        return Finding("note", f"{name}: not found; {without}")
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_TIME_LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        return Finding("note", f"{name}: not found; {without}")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("fix", f"{name}: {path!r} does not run: {error}")
    if done.returncode != 0 or not done.stdout.strip():
        return Finding("fix", f"{name}: {path!r} ends with exit code {done.returncode}; reinstall it")
    words = done.stdout.split()
    return Finding("ok", f"{name}: {next((word for word in words if word[:1].isdigit()), words[0])}")


def _encodings(home: Path, env: Mapping[str, str], *, fetch: bool) -> Iterator[Finding]:
    """Which encodings are on disk and whole; downloads o200k_base where that was asked for and it is not."""
    folders = encoding_folders(env, home)
    there = {encoding: path for encoding in ENCODINGS if (path := find_encoding(encoding, folders))}
    whole = {encoding.name: path for encoding, path in there.items() if _is_whole(path, encoding)}
    if fetch and O200K.name not in whole:
        try:
            whole[O200K.name] = fetch_encoding(O200K, home)
        except (ServerFailed, OSError) as error:
            yield Finding("fix", f"encodings: {error}")
            return
    for encoding, path in there.items():
        if encoding.name not in whole:
            yield Finding(
                "note",
                f"encodings: {str(path)!r} is damaged or not readable, and not used; remove it, or: {_FETCH}",
            )
    if whole:
        shown = (f"{name} in {display(path.parent, project=None, user_home=user_home(env))}"
                 for name, path in whole.items())  # fmt: skip
        yield Finding("ok", f"encodings: {', '.join(shown)}")
    elif not there:
        yield Finding(
            "note", f"encodings: none on disk; token estimates begin with a guess and learn from bills; or: {_FETCH}"
        )


def _is_whole(path: Path, encoding: Encoding) -> bool:
    try:
        return is_intact(path, encoding)
    except OSError:
        return False


def _folder(home: Path, env: Mapping[str, str], *, incognito: bool) -> Finding:
    """Whether clio's own folder, or what it will be made in, can be written."""
    shown = display(home, project=None, user_home=user_home(env))
    if incognito:
        return Finding("ok", f"home: {shown}, not written to because clio is incognito")
    try:
        there = next(folder for folder in (home, *home.parents) if folder.exists())
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"clio")
    except OSError as error:
        return Finding("fix", f"home: {shown} cannot be written: {error.strerror}; make it yours, or set CLIO_HOME")
    return Finding("ok", f"home: {shown} can be written" + ("" if there == home else "; it is made when it is needed"))
