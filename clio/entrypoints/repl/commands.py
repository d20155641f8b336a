"""Runs slash commands in the interactive shell, shows their results and carries out follow-ups such as commits."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, assert_never

from clio.agent.model_request import SideQuestion
from clio.app import App
from clio.commands.command import (
    ApplySetting,
    Choose,
    ClearScreen,
    CommandResult,
    Confirm,
    ConsolidateNow,
    EditText,
    ExpandCommand,
    ExportSession,
    FollowJob,
    FollowUp,
    GitTask,
    GrantTrust,
    LoadWindow,
    LongWork,
    NewSession,
    Prefill,
    Quit,
    RepeatMessage,
    ReviewPlan,
    RunExpandedCommand,
    RunPrompt,
    SetApproval,
    SetModel,
    SetTheme,
    SetUpProject,
    StopRepeating,
    SwitchSession,
    WaitFor,
    run_handler,
)
from clio.commands.git_commands import build_commit_prompt, describe_branch, quote_latest_requests
from clio.commands.registry import run_command
from clio.commands.settings_commands import make_theme_choice
from clio.commands.undo_commands import session_turns
from clio.config.trust import TrustStore
from clio.context.workspace_state import invalidate_working_trees
from clio.entrypoints.background_work import export_to_file, make_long_work, run_until_key
from clio.entrypoints.repl.components import BackgroundLoader, ReplComponents, terminal_size
from clio.entrypoints.repl.start import render_session, summarize_session
from clio.entrypoints.repl.theme import ThemeController
from clio.entrypoints.repl.turn import review_plan, review_proposed
from clio.errors import ClioError, ProviderError, UserError
from clio.git import commits
from clio.git.commits import (
    CommitDiff,
    CommitResult,
    check_trailer,
    compose_message,
    diff_staged,
    diff_unstaged,
    extract_message,
    find_secrets_in_diff,
    format_line_counts,
    format_stat,
    is_conventional,
)
from clio.git.repository import (
    ChangedFile,
    RepositoryState,
    check_identity,
    find_root,
    list_untrusted_programs,
    read_state,
    run_git,
)
from clio.prompt_files import load_prompt
from clio.providers.base import OFFLINE
from clio.storage.locks import error_cause
from clio.text.translation import tr, tr_count
from clio.ui.commit_dialog import CommitAnswer, CommitFileRow, CommitReviewer, ProposedCommit
from clio.ui.keyboard import KeyWatch
from clio.ui.line_keys import format_clipboard_copy
from clio.ui.painter import truncate_to_cells
from clio.ui.safe_text import clean_line
from clio.ui.terminal_handoff import edit_text
from clio.ui.theme import Terminal

if TYPE_CHECKING:
    from clio.ui.plain_line import PlainLine
    from clio.ui.printed_rows import PrintedRows
    from clio.ui.prompt_line import PromptLine


_COMMIT_MESSAGE_TOKENS = 800

AwaitWithLabel = Callable[[str, Awaitable[Any]], Awaitable[Any]]
"""Awaits work and shows a label meanwhile; returns None if the user stops it."""


class CommitDialog(Protocol):
    """Asks the user about a commit; see `CommitReviewer`."""

    async def choose_files(self, own: Sequence[str], tracked: Sequence[str]) -> Literal["own", "tracked"] | None: ...
    async def confirm_secrets(self, lines: Sequence[str]) -> bool: ...
    async def confirm_programs(self, lines: Sequence[str]) -> bool: ...
    async def ask_about_commit(self, proposed: ProposedCommit, diff: Callable[[], str]) -> CommitAnswer: ...
    def print_sentence(self, text: str, *, is_error: bool = False) -> None: ...
    def print_output(self, text: str) -> None: ...


class CommitRun:
    """One run of /commit: choose the files, propose a message, and commit.

    Args:
        wait: awaits work that the user can stop; see `AwaitWithLabel`.
    """

    def __init__(self, app: App, reviewer: CommitDialog, wait: AwaitWithLabel) -> None:
        self._app = app
        self._reviewer = reviewer
        self._wait = wait

    async def run(self, instructions: str) -> None:
        """Ask the user what to commit, and commit it. instructions: what the message should say; "" for none.

        Raises ClioError, OSError.
        """
        if not await self._may_run_programs():
            self._reviewer.print_sentence(tr("nothing was committed"))
            return
        state = await asyncio.to_thread(self._read_state)
        files = await self._choose_files(state)
        if files is None:
            self._reviewer.print_sentence(tr("nothing was committed"))
            return
        commit_diff = await asyncio.to_thread(_diff_files, state, files)
        redacted_diff = self._redact(commit_diff.text)
        found = find_secrets_in_diff(commit_diff.text, self._app.redactor.spans)
        findings = [f"{leak.path}:{leak.line} {leak.kind}" for leak in found]
        if findings and not await self._reviewer.confirm_secrets(findings):
            self._reviewer.print_sentence(tr("nothing was committed; remove the secret, then run /commit again"))
            return
        await self._propose(state, files, commit_diff, redacted_diff, instructions)

    async def _propose(
        self,
        state: RepositoryState,
        files: Sequence[ChangedFile],
        commit_diff: CommitDiff,
        redacted_diff: str,
        instructions: str,
    ) -> None:
        """Propose messages until the user accepts or declines, and commit."""
        message = await asyncio.to_thread(self._find_existing_message, state) if not instructions else ""
        message = message or await self._write_message(state, commit_diff, instructions)
        while message:
            answer = await self._reviewer.ask_about_commit(
                self._make_proposal(state, files, commit_diff, message), lambda: redacted_diff
            )
            match answer.kind:
                case "no":
                    await asyncio.to_thread(commits.delete_saved_message, state.root)
                    self._reviewer.print_sentence(tr("nothing was committed"))
                    return
                case "edit":
                    message = await self._edit_message(message)
                case "again":
                    new = await self._write_message(state, commit_diff, answer.instructions, previous_message=message)
                    message = new or message
                case "go":
                    await self._commit(state, files, message)
                    return
        self._reviewer.print_sentence(tr("nothing was committed: the message is empty"))

    async def _may_run_programs(self) -> bool:
        """Ask whether git may start programs that the repository's configuration names; a yes is saved as trust."""
        loaded = self._app.loaded
        await self._restore_files_changed_by_jobs()
        root = await asyncio.to_thread(find_root, self._app.project)
        waiting = await asyncio.to_thread(list_untrusted_programs, root, TrustStore(loaded.home), loaded.main_project)
        if not waiting:
            return True
        if not await self._reviewer.confirm_programs([f"{one.key}: {one.value}" for one in waiting]):
            return False
        if not self._app.config.incognito:
            await asyncio.to_thread(TrustStore(loaded.home).add_all, loaded.main_project, waiting)
        return True

    async def _restore_files_changed_by_jobs(self) -> None:
        """Restore git configuration and hooks that a background job in the sandbox changed, and say so."""
        for sentence in await asyncio.to_thread(self._app.sandbox.describe_trouble):
            self._reviewer.print_sentence(sentence, is_error=True)

    def _read_state(self) -> RepositoryState:
        """Read the state of the working tree. Raises UserError if it cannot be committed."""
        check_trailer(self._app.config.attribution)
        state = read_state(self._app.project, filters=True)
        if state.conflicts:
            names = ", ".join(file.path for file in state.conflicts[:10])
            raise UserError(
                tr(
                    "the {operation} left conflicts in {names}; resolve them, `git add` the files, then run "
                    "/commit again",
                    operation=state.operation or tr("merge"),
                    names=names,
                )
            )
        check_identity(state.root)
        return state

    async def _choose_files(self, state: RepositoryState) -> Sequence[ChangedFile] | None:
        """Return the files to commit; an empty sequence commits the index, None means the user declined."""
        if state.staged or state.operation in ("merge", "cherry-pick", "revert"):
            if rest := len(state.unstaged):
                self._reviewer.print_sentence(
                    tr(
                        "committing staged changes only; {files} with unstaged changes left out",
                        files=tr_count(rest, "file"),
                    )
                )
            return ()
        own = await asyncio.to_thread(self._list_own_files, state)
        tracked = state.tracked
        if not own and not tracked:
            raise UserError(_explain_nothing_to_commit(state))
        if own and tracked and {file.path for file in own} != {file.path for file in tracked}:
            chosen = await self._reviewer.choose_files([file.path for file in own], [file.path for file in tracked])
            return None if chosen is None else own if chosen == "own" else tracked
        return own or tracked

    def _list_own_files(self, state: RepositoryState) -> list[ChangedFile]:
        """Return the unstaged changes in files that turns of this session changed."""
        try:
            turns = session_turns(self._app)
        except (ClioError, OSError):
            return []
        # Turns name files relative to the project, git relative to the repository that contains it.
        paths = {
            f"{state.prefix}{change.path}"
            for turn in turns
            if turn.files is not None and not turn.back
            for change in turn.files.changes
        }
        return [file for file in state.unstaged if file.path in paths]

    def _find_existing_message(self, state: RepositoryState) -> str:
        """Return an existing message: of the last attempt, or git's own for a merge; "" if there is none."""
        if saved := commits.load_saved_message(state.root):
            self._reviewer.print_sentence(tr("this is the message from the last attempt; r to write another"))
            return saved
        return self._redact(commits.read_prepared_message(state))

    async def _write_message(
        self, state: RepositoryState, commit_diff: CommitDiff, instructions: str, previous_message: str = ""
    ) -> str:
        """Return a message from the model; without a model, the instructions or a message generated from the diff.

        previous_message: the previous proposal, which the user wants changed.
        """
        subjects = await asyncio.to_thread(commits.list_subjects, state.root)
        generated_message = compose_message(
            commit_diff.counts,
            new=all(count.removed == 0 for count in commit_diff.counts) and "\nnew file mode" in commit_diff.text,
            conventional=is_conventional(subjects),
        )
        if self._app.provider.name == OFFLINE:
            return instructions or generated_message
        prompt = build_commit_prompt(
            commit_diff,
            task=quote_latest_requests(self._app.session.messages[self._app.session.own_from :]),
            subjects=subjects,
            words=instructions,
            template=await asyncio.to_thread(commits.read_template, state.root),
            before=previous_message,
            redact=self._redact,
        )
        side_question = SideQuestion(
            lambda: self._app.light_provider,
            asyncio.get_running_loop(),
            self._app.spending,
            self._app.efforts.get_effort,
            tell=self._reviewer.print_sentence,
        )
        question = side_question.answer(prompt, system=load_prompt("git/commit"), max_tokens=_COMMIT_MESSAGE_TOKENS)
        try:
            answer = await self._wait(tr("writing the message"), question)
        except ProviderError as error:
            self._reviewer.print_sentence(tr("the model wrote no message: {error}", error=error), is_error=True)
            return instructions or generated_message
        if answer is None:
            self._reviewer.print_sentence(tr("stopped; this message is generated from the diff"))
        return self._redact(extract_message(answer or "")) or instructions or generated_message

    def _make_proposal(
        self, state: RepositoryState, files: Sequence[ChangedFile], commit_diff: CommitDiff, message: str
    ) -> ProposedCommit:
        letters = {file.path: file.worked if files else file.staged for file in state.files}
        place = tr("on {branch}", branch=state.branch) if state.branch else tr("on no branch: HEAD is detached")
        operation = tr(", {operation} in progress", operation=state.operation) if state.operation else ""
        first = tr(", the first commit") if state.has_no_commit else ""
        outside = sum(not file.path.startswith(state.prefix) for file in state.files if file.staged and not files)
        outside_note = (
            tr(" · {outside} of them outside {prefix}", outside=outside, prefix=state.prefix)
            if outside and state.prefix
            else ""
        )
        return ProposedCommit(
            message=message,
            files=tuple(
                CommitFileRow(letters.get(one.path) or "M", one.path, format_line_counts(one))
                for one in commit_diff.counts
            ),
            stat=format_stat(commit_diff.counts) + outside_note,
            target=f"{place}{operation}{first}",
            trailer=self._app.config.attribution or "",
        )

    async def _edit_message(self, message: str) -> str:
        try:
            edited = await asyncio.to_thread(edit_text, f"{message}\n", ".txt")
        except UserError as error:
            self._reviewer.print_sentence(str(error), is_error=True)
            return message
        return message if edited is None else edited.strip()

    async def _commit(self, state: RepositoryState, files: Sequence[ChangedFile], message: str) -> None:
        # A background job may have created a hook while the user read the message.
        await self._restore_files_changed_by_jobs()
        work = commits.create_commit(state, files, self._redact(message), self._app.config.attribution or "")
        signs = run_git(state.root, "config", "--type=bool", "--get", "commit.gpgsign", accepted_codes=(1,)) == "true"
        # A signing git may ask for a passphrase at this terminal, so clio must not read its keys.
        result: CommitResult | None = await work if signs else await self._wait("committing", work)
        if result is None:
            self._reviewer.print_sentence(
                tr("stopped before the commit; the message is saved for the next /commit"), is_error=True
            )
            return
        if result.output and not result.hash:
            self._reviewer.print_output(result.output)
            self._reviewer.print_sentence(
                "git did not commit; the message is saved for the next /commit", is_error=True
            )
            return
        self._reviewer.print_sentence(tr("committed {hash} {subject}", hash=result.hash, subject=result.subject))

    def _redact(self, text: str) -> str:
        return self._app.redactor.redact(text).text


def _diff_files(state: RepositoryState, files: Sequence[ChangedFile]) -> CommitDiff:
    return diff_unstaged(state, files) if files else diff_staged(state)


def _explain_nothing_to_commit(state: RepositoryState) -> str:
    new = [file.path for file in state.unstaged if not file.tracked]
    submodules = [file.path for file in state.files if file.is_submodule_dirty]
    if new:
        names = ", ".join(new[:5]) + (tr(" and {count} more", count=len(new) - 5) if len(new) > 5 else "")
        return tr(
            "no tracked file has changed; untracked: {names}. `git add` what to commit, then run /commit again",
            names=names,
        )
    if submodules:
        return tr("only files in the submodule {submodules} have changed; commit there first", submodules=submodules[0])
    if state.files and state.prefix:
        return tr(
            "nothing to commit in this project: the changed files are outside {prefix}. `git add` "
            "them, then run /commit again",
            prefix=state.prefix,
        )
    return tr("nothing to commit: the working tree is clean")


_T = TypeVar("_T")
_ANNOUNCE_AFTER_S = 0.5  # a line for shorter work would only flicker


async def run_git_task(parts: ReplComponents, step: GitTask) -> str:
    """Carry out /commit or /pr; return the text typed meanwhile. Raises ClioError, OSError."""
    wait = _InterruptibleWait(parts.screen.print_note)
    if step.kind == "commit":
        await CommitRun(parts.app, CommitReviewer(parts.prompt_io), wait.run).run(step.instructions)
    else:
        result = await wait.run(tr("writing the text"), describe_branch(parts.app, step.instructions, step.file))
        if result is None:
            parts.screen.print_note("stopped")
        else:
            parts.screen.show_result(result)
            copy_result(result)
    return wait.typed


def copy_result(result: CommandResult) -> None:
    """Copy the text that a result offers to the terminal's clipboard by OSC 52; does nothing without a terminal."""
    if result.copy and sys.stdout.isatty():
        sys.stdout.write(format_clipboard_copy(result.copy))
        sys.stdout.flush()


class _InterruptibleWait:
    """Waits until work is done or the user presses Esc.

    Args:
        note: prints a line.

    Attributes:
        typed: the text that the user typed meanwhile.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._print_note = note
        self.typed = ""

    async def run(self, label: str, work: Awaitable[_T]) -> _T | None:
        """Return the work's result; None if the user stopped it. Raises what the work raises."""
        task = asyncio.ensure_future(work)

        def stop() -> None:
            task.cancel()

        try:
            async with KeyWatch(stop) as watch:
                done, _ = await asyncio.wait({task}, timeout=_ANNOUNCE_AFTER_S)
                if not done:
                    self._print_note(tr("{label} … esc to interrupt", label=label))
                    await asyncio.wait({task})
        finally:
            task.cancel()
        self.typed += watch.pop_text().rstrip("\n")
        with suppress(asyncio.CancelledError):
            return task.result()
        return None


RunTurn = Callable[[ReplComponents, str, ExpandCommand | None], Awaitable[None]]
"""Runs a turn with the text, and further turns while a plan waits for review. Does nothing for an empty text."""


class CommandRunner:
    """Runs slash commands and carries out their follow-ups.

    Args:
        line: the prompt line, which also asks the user to confirm.
        background: loads the parts of the app that the first prompt does not need.
        prefill: puts a text on the next prompt line.
        repeat: begins to repeat a message; None ends it.
        printed: is told when the screen is cleared.
    """

    def __init__(
        self,
        terminal: Terminal,
        line: "PromptLine | PlainLine",
        colours: ThemeController,
        background: BackgroundLoader,
        *,
        run_turn: RunTurn,
        prefill: Callable[[str], None],
        repeat: Callable[[ReplComponents, RepeatMessage | None], None],
        printed: "PrintedRows | None" = None,
    ) -> None:
        self._printed = printed
        self._terminal = terminal
        self._line = line
        self._colours = colours
        self._background = background
        self._run_turn = run_turn
        self._prefill = prefill
        self._repeat = repeat
        self._unsaved: str | None = None  # the last warning printed here; turns print their own

    async def run(self, parts: ReplComponents, line: str) -> bool:
        """Run the command of a line that begins with a slash; False to leave the REPL."""
        result = run_command(parts.app, line)
        self._show(parts, result)
        unsaved = parts.app.session.unsaved_reason
        if unsaved and unsaved != self._unsaved:
            parts.screen.print_error(unsaved)
        self._unsaved = unsaved
        try:
            return result.follow_up is None or await self._follow(parts, result.follow_up)
        except (ClioError, OSError) as error:
            parts.screen.print_error(error_cause(error))
            return True
        finally:
            invalidate_working_trees()

    async def show_opened_session(self, parts: ReplComponents) -> None:
        """Show how the opened session ended, and review a plan that waits for an answer."""
        from clio.ui.screen import Screen

        if isinstance(parts.screen, Screen):
            parts.screen.show_parts(render_session(parts.app.session, parts.screen.theme, terminal_size()[0]))
        else:
            parts.screen.print_note("\n".join(summarize_session(parts.app.session)))
        await self._run_turn(parts, await review_proposed(parts, busy=False), None)

    def _show(self, parts: ReplComponents, result: CommandResult) -> None:
        """Print a result, unless its table is about to be drawn as a list to choose from."""
        if not (isinstance(result.follow_up, Choose) and parts.prompt_io.questions.is_live):
            parts.screen.show_result(result)

    async def _choose(self, parts: ReplComponents, step: Choose) -> bool:
        questions = parts.prompt_io.questions
        if not questions.is_live:
            return True
        async with parts.prompt_io.suspended():
            chosen = await questions.choose_row(step.title, step.table, step.values, step.start, step.preview)
        return chosen is None or await self.run(parts, f"{step.then} {chosen}")

    async def _wait_for(self, parts: ReplComponents, label: str, work: Awaitable[_T]) -> _T:
        """Await work; tell what takes long, on a row that is erased afterwards if the terminal can do that."""
        task = asyncio.ensure_future(work)
        try:
            if not (await asyncio.wait({task}, timeout=_ANNOUNCE_AFTER_S))[0]:
                if not self._terminal.live:
                    parts.screen.print_note(f"{label} …")
                    return await task
                columns = terminal_size()[0]
                sys.stdout.write(f"\r{truncate_to_cells(f'{clean_line(label)} …', columns - 1)}")
                sys.stdout.flush()
                try:
                    await asyncio.wait({task})
                finally:
                    sys.stdout.write("\r\x1b[K")
                    sys.stdout.flush()
            return await task
        finally:
            task.cancel()

    async def _follow(self, parts: ReplComponents, step: FollowUp) -> bool:
        """Carry out the follow-up of a command; False to leave the REPL."""
        app, screen, live, aloud = parts.app, parts.screen, self._terminal.live, self._terminal.for_screen_reader
        match step:
            case Quit():
                return False
            case ClearScreen():
                sys.stdout.write("\x1b[H\x1b[2J" if self._terminal.can_read_keys else "")
                sys.stdout.flush()
                if self._printed is not None:
                    self._printed.clear()
            case SwitchSession(session_id=session_id):
                app.open_session(session_id)
                await self.show_opened_session(parts)
            case NewSession(name=name):
                app.new_session(name)
                screen.print_note(
                    tr("new session{value}; earlier ones: /session list", value=f" {name!r}" if name else "")
                )
            case SetModel(name=name):
                app.set_model(name)
                screen.print_note(tr("now using {model} at {name}", model=app.provider.model, name=app.provider.name))
            case RepeatMessage():
                self._repeat(parts, step)
            case StopRepeating():
                self._repeat(parts, None)
            case SetApproval(mode=mode):
                app.planning.set_mode(mode)
            case ReviewPlan():
                await self._run_turn(parts, await review_plan(parts), None)
            case RunPrompt(text=text):
                await self._run_turn(parts, text, None)
            case RunExpandedCommand(line=line, expand=expand):
                await self._run_turn(parts, line, expand)
            case GrantTrust():
                await self._background.trust(parts)
            case LoadWindow(then=then):
                await app.open_window()
                return await self.run(parts, then)
            case Prefill(text=text):
                self._prefill(text)
            case EditText(text=text, then=then, suffix=suffix):
                if (edited := await asyncio.to_thread(edit_text, text, suffix)) is not None:
                    result = then(edited)
                    screen.show_result(result)
                    return result.follow_up is None or await self._follow(parts, result.follow_up)
            case ExportSession():
                screen.show_result(await asyncio.to_thread(export_to_file, app, step))
            case SetTheme(name=name):
                if not name and parts.prompt_io.questions.is_live:
                    return await self._choose(
                        parts, make_theme_choice(app, self._colours.name, self._colours.render_sample)
                    )
                self._colours.choose_theme(parts, name)
            case ApplySetting(name="theme", value=theme):
                self._colours.use_theme(str(theme))
            case ApplySetting(name=name, value=value):
                app.apply_setting(name, value)
            case SetUpProject(yes=yes):
                from clio.entrypoints.setup_files import set_up_project

                result = set_up_project(app.loaded, os.environ, yes=yes)
                screen.show_result(result)
                return result.follow_up is None or await self._follow(parts, result.follow_up)
            case ConsolidateNow() | LongWork():
                result, typed = await run_until_key(make_long_work(app, step), draws=live, aloud=aloud)
                self._prefill(typed)
                screen.show_result(result)
            case GitTask():
                self._prefill(await run_git_task(parts, step))
            case WaitFor(label=label, work=work):
                result = await self._wait_for(parts, label, work())
                self._show(parts, result)
                return result.follow_up is None or await self._follow(parts, result.follow_up)
            case Choose():
                return await self._choose(parts, step)
            case Confirm(question=question, then=then, required_word=word):
                if not await self._line.confirm(question, word):
                    return True
                if isinstance(then, str):
                    return await self.run(parts, then)
                self._show(parts, run_handler(then))
            case FollowJob(folder=folder):
                command = f"clio jobs logs {folder.name} --follow"
                screen.print_note(tr("in a shell, {command} prints what it prints until it ends", command=command))
            case _:
                assert_never(step)
        return True
