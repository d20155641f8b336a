"""`clio import`: import other agents' sessions into the project; the user decides about each of their facts."""

import os
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import structs

from clio.agent.tool_runner import MAX_RESULT_CHARS
from clio.commands.arguments import join_arguments
from clio.commands.command import CommandResult, Table, WorkControl
from clio.commands.subcommands import ImportRequest, parse_import
from clio.config.loaded import LoadedConfig
from clio.config.paths import display_path, user_home
from clio.entrypoints.background_work import show_progress
from clio.entrypoints.subcommand import (
    SubcommandContext,
    ask_on_terminal,
    print_json,
    print_result,
)
from clio.errors import ClioError, UserError
from clio.importing.intake import Fate, Importer, ImportLedger, ImportReport, Imports, is_already_read
from clio.importing.places import Fact, FoundFiles, SourceFinder, find_facts
from clio.importing.reading import AGENTS
from clio.memory.store.ltm_codec import normalize_text
from clio.memory.store.record import PROJECT_KINDS, MemoryDraft, Provenance
from clio.storage.locks import format_os_error
from clio.text.formatting import format_bytes, replace_slash_commands
from clio.text.translation import mark, tr, tr_count
from clio.ui.pipe_screen import format_seconds
from clio.ui.safe_text import clean
from clio.ui.terminal_text import print_text

_MAX_SHOWN = 5
_FATE_LABELS: tuple[tuple[Fate, str], ...] = (
    ("new", "new"),
    ("grown", mark("grown since")),
    ("known", mark("already imported")),
    ("old", mark("older than that date")),
    ("empty", mark("without messages")),
    ("busy", mark("in use by another clio: run the import again")),
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an import. kept: the facts that were saved. known: number of facts saved by earlier imports."""

    wanted: ImportRequest
    found: FoundFiles
    report: ImportReport
    facts: Sequence[Fact] = ()
    kept: Sequence[Fact] = ()
    known: int = 0
    secrets: int = 0


def make_survey_result(
    sources: Sequence[FoundFiles], known: Imports, facts: dict[str, int], home: Path
) -> CommandResult:
    """Return a table of agents, with what each has about this project; nothing is imported."""
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, object]] = []
    for found in sources:
        ours = [file for file in found.files if file.ours]
        done = sum(is_already_read(known, file) for file in ours)
        where = ", ".join(display_path(place, project=None, user_home=home) for place in found.where) or tr("not here")
        noted = facts.get(found.agent, 0)
        sizes = sum(file.size for file in ours)
        counts = (f"{len(ours):,}", f"{done:,}", f"{len(found.files) - len(ours):,}", f"{noted:,}")
        rows.append((found.agent, where, *counts, format_bytes(sizes) if ours else "–"))
        data.append(
            {
                "agent": found.agent,
                "where": [str(place) for place in found.where],
                "files": len(ours),
                "imported": done,
                "of_other_projects": len(found.files) - len(ours),
                "facts": noted,
                "bytes": sizes,
            }
        )
    columns = (tr("agent"), tr("where"), tr("files here"), tr("imported"), tr("elsewhere"), tr("facts"), tr("size"))
    waiting = [str(row["agent"]) for row in data if row["files"] != row["imported"] or row["facts"]]
    text = (
        tr("clio import {waiting} imports what {waiting} has about this project.", waiting=waiting[0])
        if waiting
        else ""
    )
    if not any(row["files"] or row["facts"] for row in data):
        text = tr(
            "No other agent has data about this project in its usual place; clio import AGENT PATH searches another."
        )
    return CommandResult(text=text, table=Table(columns=columns, rows=tuple(rows), wide_column=1), data=data)


def make_outcome_result(outcome: Outcome) -> CommandResult:
    """Describe what was imported, and what was left out."""
    report, wanted = outcome.report, outcome.wanted
    lines = [_summarize_import(outcome), *_describe_skipped(outcome)]
    if sentence := report.tally.describe():
        lines.append(sentence)
    unreadable = [*outcome.found.unusable, *report.tally.unreadable]
    lines += [tr("Not read: {path} ({reason}).", path=path, reason=reason) for path, reason in unreadable[:_MAX_SHOWN]]
    if len(unreadable) > _MAX_SHOWN:
        lines.append(tr("Not read: {count:,} further files.", count=len(unreadable) - _MAX_SHOWN))
    if report.stopped:
        lines.append(
            tr("Stopped with {files} left; the same command continues from there.", files=tr_count(report.left, "file"))
        )
    elif report.fates["new"] and not wanted.dry_run:
        lines.append(
            tr("clio sessions list shows them, clio recall WORDS searches them, clio -r ID continues one in a copy.")
        )
    return CommandResult(text="\n".join(lines), data=_make_data(outcome, unreadable))


def make_facts_result(outcome: Outcome) -> CommandResult:
    """Report how many facts were added, and which wait for a decision."""
    listed = outcome.facts if len(outcome.kept) < len(outcome.facts) else ()
    shown = "\n".join(f"- {' '.join(fact.text.split())}" for fact in listed)
    return CommandResult(text=_describe_facts(outcome), verbatim=shown)


def _summarize_import(outcome: Outcome) -> str:
    report, agent = outcome.report, outcome.found.agent
    parts = [f"{report.fates[fate]:,} {words}" for fate, words in _FATE_LABELS if report.fates[fate]]
    if report.unchanged:
        parts.append(tr("{files} unchanged since the last import", files=tr_count(report.unchanged, "file")))
    if not parts:
        return tr("{agent} has nothing to import here.", agent=agent)
    would = tr("Would import from") if outcome.wanted.dry_run else tr("From")
    done = ""
    if report.messages:
        secrets = tr(", {secrets} replaced", secrets=tr_count(outcome.secrets, "secret")) if outcome.secrets else ""
        amount = f"{tr_count(report.messages, 'message')}{secrets}"
        done = tr(
            " ({amount}; {bytes} in {seconds})",
            amount=amount,
            bytes=format_bytes(report.read_bytes),
            seconds=format_seconds(report.seconds),
        )
    return f"{would} {agent}: {', '.join(parts)}{done}."


def _describe_skipped(outcome: Outcome) -> list[str]:
    others = sum(not file.ours for file in outcome.found.files)
    if not others:
        return []
    return [tr("Skipped {files} of other projects; --all imports them.", files=tr_count(others, "file"))]


def _describe_facts(outcome: Outcome) -> str:
    kept, agent, number = outcome.kept, outcome.found.agent, tr_count(len(outcome.facts), "fact")
    known = (
        tr(" {facts} already known.", facts=tr_count(outcome.known, "fact was", "facts were")) if outcome.known else ""
    )
    if kept:
        return tr(
            "Saved {facts} of {agent} to project memory; /memory list shows them.{known}",
            facts=tr_count(len(kept), "fact"),
            agent=agent,
            known=known,
        )
    way = tr("clio import {agent} in a terminal asks about each, --facts yes saves all", agent=agent)
    return tr(
        "{agent} has {number} that could be saved to project memory; none was saved: {way}.{known}",
        agent=agent,
        number=number,
        way=way,
        known=known,
    )


def _make_data(outcome: Outcome, unreadable: Sequence[tuple[str, str]]) -> dict[str, object]:
    report = outcome.report
    kept = {fact.fingerprint for fact in outcome.kept}
    return {
        "agent": outcome.found.agent,
        "where": [str(place) for place in outcome.found.where],
        "dry_run": outcome.wanted.dry_run,
        "stopped": report.stopped,
        "sessions": {fate: report.fates[fate] for fate, _ in _FATE_LABELS},
        "files": report.files,
        "unchanged": report.unchanged,
        "left": report.left,
        "of_other_projects": sum(not file.ours for file in outcome.found.files),
        "messages": report.messages,
        "bytes": report.read_bytes,
        "secrets": outcome.secrets,
        "not_understood": dict(report.tally.kinds),
        "torn": report.tally.torn,
        "too_long": report.tally.large,
        "mended": report.tally.mended,
        "calls_without_result": report.tally.unanswered,
        "results_without_call": report.tally.unasked,
        "unreadable": [{"path": path, "reason": reason} for path, reason in unreadable],
        "facts": [
            {"text": fact.text, "source": str(fact.source), "kept": fact.fingerprint in kept} for fact in outcome.facts
        ],
        "facts_known": outcome.known,
    }


def format_question(fact: Fact, number: int, total: int, project: Path, home: Path) -> str:
    """Return the question whether to keep a fact."""
    return tr(
        "{number} of {total} · {path}\n{text}",
        number=number,
        total=total,
        path=display_path(fact.source, project=project, user_home=home),
        text=fact.text,
    )


_BY_OTHER_AGENT = Provenance(asserted_by="model")
"""As for `/memory import`: no user of this clio has stated it."""
_ALL, _QUIT = ("a", "all"), ("q", "quit")


def run_import(loaded: LoadedConfig, words: Sequence[str], *, json: bool) -> int:
    """Run `clio import` with its arguments. Returns 0.

    json: print what was done as one JSON document, and never ask.
    Raises UserError for invalid arguments, ClioError if it failed, KeyboardInterrupt after it has stopped cleanly.
    """
    wanted = parse_import(join_arguments(words))
    if loaded.config.incognito:
        raise UserError(tr("incognito mode stores nothing, so it imports nothing; leave out --incognito"))
    ctx = SubcommandContext(loaded)

    def show(result: CommandResult) -> None:
        if json:
            print_json(result)
        else:
            print_result(result, replace_slash_commands(result.text), aloud=loaded.config.screen_reader)

    try:
        finder = SourceFinder(loaded.project, os.environ)
        if wanted.agent is None:
            show(_make_survey(ctx, finder))
            return 0
        outcome = _run_importer(ctx, finder, wanted, quiet=json)
        if not json:
            show(make_outcome_result(outcome))
        if not outcome.report.stopped and wanted.facts != "no":
            outcome = _import_facts(ctx, finder, outcome, may_ask=not json)
        if json:
            show(make_outcome_result(outcome))
        elif outcome.facts:
            show(make_facts_result(outcome))
    except BrokenPipeError:  # an OSError too, but handled by the command line: the reader has gone
        raise
    except OSError as error:
        raise ClioError(
            tr("{os_error} Everything imported before is saved.", os_error=format_os_error(error))
        ) from error
    finally:
        ctx.close()
    if outcome.report.stopped:  # the exit code of an interrupted command, after the report was printed
        raise KeyboardInterrupt
    return 0


def _make_survey(ctx: SubcommandContext, finder: SourceFinder) -> CommandResult:
    sources = [finder.find_files(agent, None) for agent in AGENTS]
    here = ctx.store.folder.resolve()
    sources = [_exclude_folder(found, here) for found in sources]
    known = _open_ledger(ctx).read()
    facts = {
        found.agent: len(_find_new_facts(ctx, finder, ImportRequest(agent=found.agent), known)[0]) for found in sources
    }
    return make_survey_result(sources, known, facts, user_home(os.environ))


def _run_importer(ctx: SubcommandContext, finder: SourceFinder, wanted: ImportRequest, *, quiet: bool) -> Outcome:
    agent = wanted.agent
    assert agent is not None
    found = finder.find_files(agent, wanted.path, every=wanted.every)
    found = _exclude_folder(found, ctx.store.folder.resolve())
    if not found.where:
        raise UserError(tr("{agent} has no data in its usual place; write clio import {agent} PATH", agent=agent))
    ledger = _open_ledger(ctx)
    importer = Importer(
        ctx.store.folder,
        ledger,
        lambda text: ctx.redactor.redact(text).text,
        MAX_RESULT_CHARS,
        record=ctx.store.record_own,
    )
    with _show_stoppable_progress(tr("importing {agent}", agent=agent), ctx, quiet=quiet) as track:
        report = importer.run(
            [file for file in found.files if file.ours],
            since=wanted.since,
            again=wanted.again,
            dry_run=wanted.dry_run,
            stop=track.is_stopped,
            progress=track.report_progress,
        )
    if report.fates["new"] + report.fates["grown"] and not wanted.dry_run and not report.stopped:
        with _show_stoppable_progress("indexing", ctx, quiet=quiet) as track:
            ctx.memory.refresh_index(track.is_stopped, track.report_progress)
    return Outcome(wanted=wanted, found=found, report=report, secrets=ctx.redactor.total)


def _import_facts(ctx: SubcommandContext, finder: SourceFinder, outcome: Outcome, *, may_ask: bool) -> Outcome:
    """Offer the agent's facts; return the outcome with those that were kept."""
    wanted, ledger = outcome.wanted, _open_ledger(ctx)
    facts, known, unreadable = _find_new_facts(ctx, finder, wanted, Imports() if wanted.again else ledger.read())
    outcome.report.tally.unreadable.extend(unreadable)
    kept, asked = _decide_facts(ctx, ledger, wanted, facts, may_ask=may_ask)
    return structs.replace(outcome, facts=kept if asked else facts, kept=kept, known=known)


def _decide_facts(
    ctx: SubcommandContext, ledger: ImportLedger, wanted: ImportRequest, facts: Sequence[Fact], *, may_ask: bool
) -> tuple[list[Fact], bool]:
    """Return the facts to keep, and whether the user was asked about them; in a pipe, the user is not asked."""
    if wanted.dry_run:
        return [], False
    kept: list[Fact] = []
    declined: list[str] = []
    rest = wanted.facts == "yes"
    try:
        for number, fact in enumerate(facts, 1):
            answer = "y"
            if not rest:
                if not may_ask or (answer := _ask_about_fact(fact, number, len(facts), ctx.loaded.project)) is None:
                    return kept, bool(kept)
                rest = answer in _ALL
                if answer in _QUIT:
                    break
            if rest or answer in ("y", "yes"):
                with suppress(UserError):  # nothing of it but a secret is left
                    ctx.memory.store.add(MemoryDraft(kind="discovery", content=fact.text), _BY_OTHER_AGENT)
                    kept.append(fact)
            elif answer in ("n", "no"):
                declined.append(fact.fingerprint)
    finally:  # also after Ctrl-C: a declined fact must not be offered again
        ledger.decline(declined)
    return kept, wanted.facts != "yes"


def _ask_about_fact(fact: Fact, number: int, total: int, project: Path) -> str | None:
    if number == 1 and not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    print_text(f"\n{clean(format_question(fact, number, total, project, user_home(os.environ)))}")
    answer = ask_on_terminal(tr("Save to project memory? [y]es, [n]o, [a]ll, [q]uit: "))
    return None if answer is None else answer.strip().lower()


def _find_new_facts(
    ctx: SubcommandContext, finder: SourceFinder, wanted: ImportRequest, known: Imports
) -> tuple[list[Fact], int, list[tuple[str, str]]]:
    """Return the facts neither known nor declined, the number of known ones, and the files that cannot be read."""
    agent = wanted.agent
    assert agent is not None
    facts, unreadable = find_facts(
        agent, finder, ctx.loaded.project, wanted.path, lambda text: ctx.redactor.redact(text).text
    )
    stored = (
        {normalize_text(entry.content) for entry in ctx.memory.store.records(PROJECT_KINDS)} if facts else set[str]()
    )
    new = [fact for fact in facts if normalize_text(fact.text) not in stored]
    return [fact for fact in new if fact.fingerprint not in known.declined], len(facts) - len(new), unreadable


def _exclude_folder(found: FoundFiles, folder: Path) -> FoundFiles:
    """Return what was found, without the files in this project's own session directory."""
    files = tuple(file for file in found.files if file.path.resolve().parent != folder)
    return FoundFiles(agent=found.agent, where=found.where, files=files, unusable=found.unusable)


def _open_ledger(ctx: SubcommandContext) -> ImportLedger:
    return ImportLedger(ctx.store.folder.parent / "cache")


@contextmanager
def _show_stoppable_progress(label: str, ctx: SubcommandContext, *, quiet: bool) -> Generator[WorkControl]:
    """Show progress; Ctrl-C asks the work to stop at its next block, a second Ctrl-C ends it at once."""
    stopped = threading.Event()
    stream = None if quiet else sys.stderr
    with show_progress(label, stream, tr("ctrl-c to stop"), aloud=ctx.config.screen_reader) as drawn:

        def stop(number: int, frame: object) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt
            stopped.set()
            drawn.set_hint("stopping")

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield WorkControl(is_stopped=stopped.is_set, report_progress=drawn.update)
        finally:
            signal.signal(signal.SIGINT, before)
