"""`clio import`: other agents' sessions come into this project's; the facts they wrote down are offered one by one."""

import os
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from clio.agent.tool_runner import MAX_RESULT_CHARS
from clio.commands.arguments import join
from clio.commands.command import CommandResult, Track
from clio.commands.subcommands import ImportRequest, parse_import
from clio.config.loaded import Loaded
from clio.config.paths import user_home
from clio.entrypoints.cli_words import in_cli_words
from clio.entrypoints.import_words import Outcome, facts_result, outcome_result, question, survey_result
from clio.entrypoints.light_shell import LightShell
from clio.entrypoints.long_work import bar
from clio.entrypoints.subcommand_output import ask, print_json, print_result
from clio.errors import ClioError, UserError
from clio.importing.places import Fact, Found, Looker, facts_of
from clio.importing.reading import AGENTS
from clio.importing.run import Importer, Imports, Ledger
from clio.memory.ltm.text import normal
from clio.memory.records import Entry, Provenance
from clio.storage.locks import sentence
from clio.ui.plain import clean

_BY_THEM = Provenance(asserted_by="model")
"""As for `/memory import`: nobody at this clio has said it."""
_ALL, _NONE_MORE = ("a", "all"), ("q", "quit")


def run(loaded: Loaded, words: Sequence[str], *, json: bool) -> int:
    """Carry out `clio import` with the words behind it. Returns 0.

    json: print what was done as one JSON document, and never ask.
    Raises UserError for what cannot be meant, ClioError where it failed, KeyboardInterrupt once it has stopped cleanly.
    """
    wanted = parse_import(join(words))
    if loaded.config.incognito:
        raise UserError("an incognito clio stores nothing, so it imports nothing; leave out --incognito")
    shell = LightShell(loaded)

    def show(result: CommandResult) -> None:
        if json:
            print_json(result)
        else:
            print_result(result, in_cli_words(result.text), aloud=loaded.config.screen_reader)

    try:
        looker = Looker(loaded.project, os.environ)
        if wanted.agent is None:
            show(_survey(shell, looker))
            return 0
        outcome = _import(shell, looker, wanted, quiet=json)
        if not json:
            show(outcome_result(outcome))
        if not outcome.report.stopped and wanted.facts != "no":
            outcome = _with_facts(shell, looker, outcome, may_ask=not json)
        if json:
            show(outcome_result(outcome))
        elif outcome.facts:
            show(facts_result(outcome))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ClioError(f"{sentence(error)} What was done until then is kept.") from error
    finally:
        shell.close()
    if outcome.report.stopped:
        raise KeyboardInterrupt
    return 0


def _survey(shell: LightShell, looker: Looker) -> CommandResult:
    founds = [looker.look(agent, None) for agent in AGENTS]
    here = shell.store.folder.resolve()
    founds = [_without(found, here) for found in founds]
    known = _ledger(shell).read()
    facts = {found.agent: len(_offered(shell, looker, ImportRequest(agent=found.agent), known)[0]) for found in founds}
    return survey_result(founds, known, facts, user_home(os.environ))


def _import(shell: LightShell, looker: Looker, wanted: ImportRequest, *, quiet: bool) -> Outcome:
    agent = wanted.agent
    assert agent is not None
    found = looker.look(agent, wanted.path, every=wanted.every)
    found = _without(found, shell.store.folder.resolve())
    if not found.where:
        raise UserError(f"{agent} keeps nothing where it usually does; write clio import {agent} PATH")
    ledger = _ledger(shell)
    importer = Importer(
        shell.store.folder,
        ledger,
        lambda text: shell.redactor.redact(text).text,
        MAX_RESULT_CHARS,
        record=shell.store.record_own,
    )
    with _watched(f"importing {agent}", shell, quiet=quiet) as track:
        report = importer.run(
            [file for file in found.files if file.ours],
            since=wanted.since,
            again=wanted.again,
            dry_run=wanted.dry_run,
            stop=track.stop,
            progress=track.tell,
        )
    if report.fates["new"] + report.fates["grown"] and not wanted.dry_run and not report.stopped:
        with _watched("indexing", shell, quiet=quiet) as track:
            shell.memory.refresh_index(track.stop, track.tell)
    return Outcome(wanted=wanted, found=found, report=report, secrets=shell.redactor.total)


def _with_facts(shell: LightShell, looker: Looker, outcome: Outcome, *, may_ask: bool) -> Outcome:
    """The same with what became of the facts."""
    wanted, ledger = outcome.wanted, _ledger(shell)
    facts, known, unreadable = _offered(shell, looker, wanted, Imports() if wanted.again else ledger.read())
    outcome.report.tally.unreadable.extend(unreadable)
    kept, asked = _decide(shell, ledger, wanted, facts, may_ask=may_ask)
    return structs.replace(outcome, facts=kept if asked else facts, kept=kept, known=known)


def _decide(
    shell: LightShell, ledger: Ledger, wanted: ImportRequest, facts: Sequence[Fact], *, may_ask: bool
) -> tuple[list[Fact], bool]:
    """The facts that were kept, and whether a person was asked about them. In a pipe none is."""
    if wanted.dry_run:
        return [], False
    kept: list[Fact] = []
    declined: list[str] = []
    rest = wanted.facts == "yes"
    try:
        for number, fact in enumerate(facts, 1):
            answer = "y"
            if not rest:
                if not may_ask or (answer := _answer(fact, number, len(facts), shell.loaded.project)) is None:
                    return kept, bool(kept)
                rest = answer in _ALL
                if answer in _NONE_MORE:
                    break
            if rest or answer in ("y", "yes"):
                shell.memory.add(Entry(kind="discovery", text=fact.text), _BY_THEM)
                kept.append(fact)
            elif answer in ("n", "no"):
                declined.append(fact.mark)
    finally:
        ledger.decline(declined)
    return kept, wanted.facts != "yes"


def _answer(fact: Fact, number: int, total: int, project: Path) -> str | None:
    if number == 1 and not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    sys.stdout.write(f"\n{clean(question(fact, number, total, project, user_home(os.environ)))}\n")
    answer = ask("Remember this of the project? [y]es, [n]o, [a]ll, [q]uit: ")
    return None if answer is None else answer.strip().lower()


def _offered(
    shell: LightShell, looker: Looker, wanted: ImportRequest, known: Imports
) -> tuple[list[Fact], int, list[tuple[str, str]]]:
    """The facts that are neither known nor were declined; how many were known; the files that cannot be read."""
    agent = wanted.agent
    assert agent is not None
    facts, unreadable = facts_of(
        agent, looker, shell.loaded.project, wanted.path, lambda text: shell.redactor.redact(text).text
    )
    there = {normal(entry.text) for entry in shell.memory.knowledge().entries} if facts else set[str]()
    new = [fact for fact in facts if normal(fact.text) not in there]
    return [fact for fact in new if fact.mark not in known.declined], len(facts) - len(new), unreadable


def _without(found: Found, folder: Path) -> Found:
    """What was found, without the sessions of this very project."""
    files = tuple(file for file in found.files if file.path.resolve().parent != folder)
    return Found(agent=found.agent, where=found.where, files=files, unusable=found.unusable)


def _ledger(shell: LightShell) -> Ledger:
    return Ledger(shell.store.folder.parent / "cache")


@contextmanager
def _watched(label: str, shell: LightShell, *, quiet: bool) -> Generator[Track]:
    """Work with a bar; Ctrl-C asks it to stop, which it does at the next block, a second one ends it at once."""
    stopped = threading.Event()
    stream = None if quiet else sys.stderr
    with bar(label, stream, "ctrl-c stops", aloud=shell.config.screen_reader) as drawn:

        def stop(number: int, frame: object) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt
            stopped.set()
            drawn.say("stopping")

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield Track(stop=stopped.is_set, tell=drawn.at)
        finally:
            signal.signal(signal.SIGINT, before)
