"""One session with one model: its tools, context window, requests, progress page and turns."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field, structs

from clio.agent.loop import Loop, TurnSupport
from clio.agent.model_request import SideQuestion
from clio.agent.runtime import Runtime
from clio.agent.tool_runner import MAX_RESULT_CHARS, CallSupport, ToolRunner, ToolSet
from clio.agent.turn_hooks import TurnHooks
from clio.agent.user_interface import Emit, Event, Mailbox, Notice, StepFinished, TurnFinished, UserInterface
from clio.checks.edit_checks import EditChecks
from clio.config.schema import CHECKS_OFF, Config
from clio.context.encodings import (
    BackgroundFetch,
    Calibration,
    find_encoding,
    get_encoding,
    is_hosted_openai,
    list_encoding_folders,
    list_prefix_texts,
)
from clio.context.instructions import FolderInstructions
from clio.context.message_parts import MAX_MENTIONS, find_mentions, make_mention_fragment
from clio.context.request_builder import ContextBuilder, Prefix, is_compact, make_prefix
from clio.context.summary import ThreadSummary
from clio.context.window import ContextWindow
from clio.errors import ClioError, StorageError
from clio.memory.retrieval.prompt_prefix import CAP_TOKENS as MEMORY_PREFIX_TOKENS
from clio.memory.system import MemorySystem
from clio.messages import Fragment, ImagePart
from clio.providers.base import OFFLINE, ModelLimits, Provider
from clio.providers.http_provider import HttpProvider
from clio.providers.limits import takes_images
from clio.security.approval import describe_approvals
from clio.security.redaction.redactor import Redactor
from clio.sessions.session import Session
from clio.sessions.session_files import BlobNotFound
from clio.sessions.state import Bill
from clio.skills.skills import CAP_TOKENS as SKILL_TOKENS
from clio.skills.skills import Skill, make_skills_fragment
from clio.storage.locks import error_cause
from clio.text.translation import tr
from clio.tokens import DEFAULT_RATIO, TokenEstimator
from clio.tools.base import OmittedTools, PageSize, ReadLog, Tool
from clio.tools.schemas import make_tool_spec
from clio.tools.toolbox import (
    make_file_tools,
    make_run_command_tool,
    make_server_tools,
    make_session_tools,
    make_use_skill_tool,
)

if TYPE_CHECKING:
    from clio.agent.mention_lookup import MentionLookup
    from clio.checks.checkers import CheckContext


MAX_MENTION_TOKENS = 12_000
"""Limit for one mention on any window; all mentions of a message together take at most a quarter of the window."""
_MIN_MENTION_TOKENS = 100
"""A mention that would get less is refused: a shorter excerpt is not useful to the model."""


class MentionContext(Struct, kw_only=True, frozen=True):
    """Loads what messages mention with `@`, for one loop.

    Args:
        look_up: makes the `MentionLookup`; takes the limit of one mention in tokens.
        window_tokens: size of the model's window.
    """

    look_up: "Callable[[int], MentionLookup]"
    emit: Emit
    estimator: TokenEstimator
    window_tokens: int
    images: list[ImagePart] = field(default_factory=list[ImagePart])

    async def fragments(self, text: str, message_count: int = 1) -> list[Fragment]:
        """Return the text that goes before a message because the message mentions it, and report each mention.

        Pictures are not text: `take_images` returns those of the same message.

        Args:
            message_count: number of messages that share the quarter of the window.
        """
        self.images.clear()
        if not (mentions := find_mentions(text)[:MAX_MENTIONS]):
            return []
        from clio.agent.mention_lookup import MentionRefused

        max_tokens = min(MAX_MENTION_TOKENS, self.window_tokens // 8)
        look_up = self.look_up(max_tokens)
        tokens_left, found = self.window_tokens // 4 // message_count, list[Fragment]()
        for mention in mentions:
            try:
                content = await look_up.find(mention)
                if content is None:
                    continue
                self.images.extend(content.images)
                if content.rows:
                    if tokens_left < _MIN_MENTION_TOKENS:
                        raise MentionRefused(tr("earlier @mentions already fill the space reserved for them"))
                    found.append(
                        make_mention_fragment(
                            content.mention,
                            content.rows,
                            min(max_tokens, tokens_left),
                            self.estimator,
                            way=content.more_hint,
                        )
                    )
                    tokens_left -= self.estimator.estimate_text(found[-1].text)
                self.emit(Notice(text=f"+ {content.mention.label} · {content.size}"))
            except (MentionRefused, ClioError, OSError) as error:
                self.emit(
                    Notice(
                        text=tr("@{label} was not added: {error}", label=mention.label, error=error), level="warning"
                    )
                )
        return found

    def take_images(self) -> tuple[ImagePart, ...]:
        """Return and clear the pictures mentioned in the text passed last to `fragments`."""
        images = tuple(self.images)
        self.images.clear()
        return images


class ProgressPage:
    """Writes and reads the progress page of one session.

    Args:
        project: directory whose git history shows what was done.
        warn: shows a sentence to the user.
    """

    def __init__(
        self,
        project: Path,
        session: Session,
        memory: MemorySystem,
        redactor: Redactor,
        *,
        warn: Callable[[str], None],
    ) -> None:
        self._project = project
        self._session = session
        self._memory = memory
        self._redactor = redactor
        self._warn = warn

    def write(self, summary: ThreadSummary, task: str) -> None:
        """Save the state of the work. A failure is reported and does not stop the trim."""
        from clio.context.summary_text import read_git_activity, render_progress_page

        self._memory.repeat_after_trim()
        git = read_git_activity(self._project)
        page = render_progress_page(
            session=self._session.id,
            now=time.time(),
            summary=summary,
            todos=self._session.todos,
            task=task,
            git=git.text if git else "",
        )
        try:
            self._memory.write_progress(page)
        except (StorageError, OSError) as error:
            self._warn(tr("the progress note was not written: {error_cause}", error_cause=error_cause(error)))

    async def make_recovery_note(self, estimator: TokenEstimator, budget_tokens: int) -> str:
        """Return the note for the model about progress and git, within `budget_tokens`, with secrets replaced."""
        from clio.context.summary_text import read_git_activity, render_recovery_note

        git = await asyncio.to_thread(read_git_activity, self._project)
        try:
            progress = self._memory.read_progress()
        except (StorageError, OSError):
            progress = ""  # the summary contains most of it
        note = render_recovery_note(
            estimator=estimator,
            budget_tokens=budget_tokens,
            git=git,
            progress=progress,
            session=self._session.id,
            now=time.time(),
        )
        return self._redactor.redact(note).text


COMPACT_TOOLS = frozenset(
    "read_file edit_file write_file search_text find_files run_command git todo_operations "
    "memory_operations ask_user read_output use_skill".split()
)
"""Tools that are offered on a small window."""
COMPACT_RESULT_CHARS = 6_000  # about a tenth of a 16K window
FRAGMENT_SHARE = 12
"""On small windows no fragment of instructions or memory takes more than one part in so many of the window."""
PROMPT_OUTPUT_CHARS = 8_000
"""Limit for the output of one command in a prompt template that the user runs."""


class DelegateMaker(Protocol):
    """Makes the tool that starts sub-agents."""

    def make_tool(self, sender: "Conversation", limits: ModelLimits) -> Tool:
        """Return the tool with which `sender` starts sub-agents. limits: those of its model."""
        ...


class Conversation:
    """Runs turns of one session with one model. Switching session or model creates another conversation.

    Tools, window and requests are made before the first turn, because the server is asked for the model's limits then.

    Args:
        read_log: which file contents the model has seen in this session; passed on when another model continues it.
        subagents: makes the tool that starts sub-agents; None for a conversation that cannot start any.
    """

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        provider: Provider,
        config: Config,
        *,
        read_log: ReadLog | None = None,
        subagents: "DelegateMaker | None" = None,
    ) -> None:
        self.runtime = runtime
        self.session = session
        self.provider = provider
        self.config = config
        self._recorded_bills = len(session.bills)
        self.read_log = read_log or ReadLog()
        self.ui: UserInterface = runtime.ui
        self.mailbox: Mailbox = runtime.mailbox
        self.estimator = TokenEstimator()  # replaced by that of the session and model in `_get_loop`
        self.page = PageSize(MAX_RESULT_CHARS)
        self._subagents = subagents
        self._loop: Loop | None = None
        self._calibration: Calibration | BackgroundFetch | None = None
        self._reported_omissions: list[tuple[str, ...]] = []

    # Turns

    async def run_turn(self, text: str) -> TurnFinished:
        """Run one turn; see `Loop.run_turn`. Preferences stated plainly in the text are remembered first.

        Raises:
            ConfigError: spending is limited and the price of the model is unknown.
        """
        runtime, session = self.runtime, self.session
        runtime.spending.check_price_known(self.provider)
        runtime.report_telemetry_problem()
        for sentence in await asyncio.to_thread(runtime.sandbox.describe_trouble):
            runtime.warn(sentence)
        # Hooks of the last turn may still run in the background; their notes belong to this one.
        await runtime.hooks.run_session_end_hooks()
        loop = await self._get_loop()
        # Before the request is built, so that what the text states is already in its prompt.
        runtime.learner.before_turn(session, text)
        try:
            finished = await loop.run_turn(text)
        except asyncio.CancelledError:
            runtime.turn_files.end_cancelled_turn()
            # In this thread: a cancelled task must not wait for another.
            runtime.learner.after_turn(session, "interrupted")
            self.record_bills()
            raise
        runtime.planning.end_turn(done=finished.status == "done")
        await runtime.turn_files.end_turn()
        await asyncio.to_thread(runtime.learner.after_turn, session, finished.status)
        for sentence in await asyncio.to_thread(runtime.ledger_writer.write_bills, session, self._take_bills()):
            runtime.warn(sentence)
        return finished

    def record_bills(self) -> None:
        """Add the bills of the session that are not in the ledger yet."""
        self.runtime.record_spending(self.session, self._take_bills())

    def _take_bills(self) -> list[Bill]:
        """Return the bills since the last call; on the event loop, so that each is returned once."""
        bills = list(self.session.bills[self._recorded_bills :])
        self._recorded_bills += len(bills)
        return bills

    @property
    def window(self) -> ContextWindow | None:
        """What requests are built from; None before the first turn or `open_window`."""
        return self._loop.context if self._loop else None

    async def open_window(self) -> ContextWindow:
        """Return the window, to inspect or trim it. The server may be asked for the model's limits first."""
        return (await self._get_loop()).context

    def leave(self) -> None:
        """Stop using this conversation because another one continues. The measured token ratio is saved."""
        if self._calibration is not None:
            self._calibration.stop()
        if self.estimator.has_changed:
            self.runtime.learned_ratios.save_ratio(self.provider.model, self.estimator.ratio)
        self.estimator = TokenEstimator()
        self._calibration = self._loop = None

    async def close(self) -> None:
        """Leave the conversation and wait for a calibration that is still running."""
        calibration = self._calibration
        self.leave()
        if calibration is not None:
            await calibration.close()

    # Parts that are made before the first turn

    async def _get_loop(self) -> Loop:
        if self._loop is None:
            runtime = self.runtime
            limits = runtime.learned_windows.fit_limits(self.provider, await self.provider.limits())
            if runtime.servers.enabled and self.provider.name != OFFLINE:
                from clio.agent.sampling import make_sampler

                runtime.servers.offer_model(
                    make_sampler(runtime, self.session, lambda: runtime.light_provider(self.config, self.provider))
                )
            # Before the first request: the tools are part of the prompt, whose cache is lost if they change later.
            await runtime.servers.settle()
            self.estimator = runtime.learned_ratios.make_estimator(self.session, self.provider.model)
            self._loop = self._make_loop(limits)
        return self._loop

    def _make_loop(self, limits: ModelLimits) -> Loop:
        runtime = self.runtime
        side = SideQuestion(
            lambda: runtime.light_provider(self.config, self.provider),
            asyncio.get_running_loop(),
            runtime.spending,
            runtime.efforts.get_effort,
            tell=runtime.tell,
        )
        runtime.memory.ask_a_model(side.ask if self.provider.name != OFFLINE else None)
        compact = is_compact(limits)
        self.page = PageSize(COMPACT_RESULT_CHARS if compact else MAX_RESULT_CHARS)
        skills = self._list_usable_skills()
        mentioned = self._make_mention_context(limits)
        builder = self._make_builder(limits, skills, mentioned)
        self._calibration = self._calibrate(builder)
        progress = ProgressPage(runtime.project, self.session, runtime.memory, runtime.redactor, warn=runtime.warn)
        folders = runtime.instructions.make_folder_instructions(self.config, limits, self.estimator)

        def before_trim(summary: ThreadSummary, task: str) -> None:
            if folders is not None:
                # The instructions of folders leave the window with the messages they were shown below.
                folders.forget_shown()
            progress.write(summary, task)

        window = ContextWindow(
            self.session,
            builder,
            limits,
            before_trim=before_trim,
            recovery=lambda budget: progress.make_recovery_note(self.estimator, budget),
            standing=runtime.memory.standing_fragments,
            running_jobs=runtime.list_running_jobs,
            on_trim=runtime.record_trim,
        )
        runtime.memory.summary_of = lambda: window.summary
        return self._assemble(window, *self._select_tools(limits, skills, compact=compact), folders, mentioned)

    def _assemble(
        self,
        window: ContextWindow,
        tools: Sequence[Tool],
        left_out: OmittedTools,
        folders: FolderInstructions | None,
        mentioned: MentionContext | None = None,
        *,
        max_steps: int | None = None,
        change_lock: asyncio.Lock | None = None,
    ) -> Loop:
        """Return the loop over a window and its tools; also used by sub-agents.

        max_steps, change_lock: see `Loop` and `CallSupport`.
        """
        runtime, session = self.runtime, self.session
        hooks = TurnHooks(runtime.hooks, session, self.estimator)
        checks = self._make_edit_checks()
        runner = ToolRunner(
            runtime,
            session,
            self.ui,
            ToolSet(
                tools={tool.name: tool for tool in tools},
                left_out=left_out.names,
                explain_missing=self._explain_missing_tool,
                page=self.page,
            ),
            support=CallSupport(
                turn_files=runtime.turn_files,
                limit=runtime.tool_limit,
                hooks=hooks,
                checks=checks,
                note_below=folders.render_for if folders else lambda action: "",
                hear=runtime.learner.read_refusal_reason,
                exclusive=change_lock,
            ),
            takes_images=self._sends_images,
        )
        support = TurnSupport(
            mailbox=self.mailbox,
            hooks=hooks,
            checks=checks,
            take_images=mentioned.take_images if mentioned else lambda: (),
        )
        steps = self.config.max_steps if max_steps is None else max_steps
        return Loop(runtime, session, self.provider, window, runner, support, emit=self.handle_event, max_steps=steps)

    def handle_event(self, event: Event) -> None:
        """Show an event of the loop, save the window size that an answer reveals, and start the token calibration."""
        self.ui.emit(event)
        if isinstance(event, StepFinished | TurnFinished) and (window := self.window) is not None:
            # an overflow error may have contained the window size
            self.runtime.learned_windows.save_window(self.provider, window.limits)
        if isinstance(event, StepFinished) and self._calibration is not None:
            self._calibration.begin()  # the server has answered; this does nothing if it also sent a bill

    @property
    def _sends_images(self) -> bool:
        """Whether pictures are sent to the model that answers."""
        return self.provider.name != OFFLINE and takes_images(self.config, self.provider.model)

    def _make_edit_checks(self) -> EditChecks:
        """Return the checks that the loop runs after edits."""
        runtime, config = self.runtime, self.config

        def open_check_context() -> "CheckContext":
            from clio.checks.checkers import CheckContext

            return CheckContext(
                setting=config.checks,
                root=runtime.workspace.root,
                owner=runtime.loaded.main_project,
                home=runtime.home,
                confinement=runtime.confinement,
                sandbox=runtime.sandbox,
                servers=None if config.language_servers[-1:] == (CHECKS_OFF,) else runtime.open_language_servers(),
            )

        open_context = None if config.checks[-1:] == (CHECKS_OFF,) else open_check_context
        return EditChecks(open_context, redact=runtime.redact, tell=runtime.tell)

    def make_command_runner(self) -> ToolRunner:
        """Return a runner for the commands inside a prompt template that the user runs.

        Commands are approved as usual; the changes they make count as the user's own.
        """
        runtime = self.runtime
        command = make_run_command_tool(runtime.workspace, runtime.jobs, self.config.command_timeout_s)
        tools = ToolSet(tools={"run_command": command}, page=PageSize(PROMPT_OUTPUT_CHARS))
        return ToolRunner(runtime, self.session, self.ui, tools)

    # Tools

    def _select_tools(
        self, limits: ModelLimits, skills: Sequence[Skill], *, compact: bool
    ) -> tuple[list[Tool], OmittedTools]:
        """Return the tools offered to the model, and those left out because the window is too small."""
        own_tools = self.make_own_tools(skills)
        if self._subagents is not None:
            own_tools.append(self._subagents.make_tool(self, limits))
        servers, omitted_servers = make_server_tools(self.runtime.servers, limits.context_window // 4)
        omitted = OmittedTools(
            own=tuple(tool.name for tool in own_tools if compact and tool.name not in COMPACT_TOOLS),
            servers=tuple(omitted_servers),
            offered=len(self.runtime.servers.offered),
        )
        if omitted.names and omitted.names not in self._reported_omissions:
            self._reported_omissions.append(omitted.names)
            self.ui.emit(Notice(text=omitted.description, level="warning" if omitted.servers else "info"))
        return [*(tool for tool in own_tools if tool.name not in omitted.own), *servers], omitted

    def make_own_tools(self, skills: Sequence[Skill] = ()) -> list[Tool]:
        """Return all tools except those of MCP servers and the one that starts sub-agents."""
        runtime, config = self.runtime, self.config
        tools = [
            *make_file_tools(
                runtime.workspace,
                self.read_log,
                max_read_chars=self.page,
                session=self.session,
                code_lookup=self._make_code_lookup() if self._offers_code_lookup else None,
            ),
            *make_session_tools(
                runtime.workspace,
                self.session,
                self.ui,
                runtime.memory,
                runtime.jobs,
                command_timeout_s=config.command_timeout_s,
                private_network=config.private_network,
                web_search=self._make_web_search(),
                attribution=config.attribution,
                max_read_chars=self.page,
            ),
        ]
        if self.ui.never_answers:  # the same for the whole session, so that the prefix stays the same
            tools = [tool for tool in tools if tool.name != "ask_user"]
        return [*tools, make_use_skill_tool(runtime.skills, skills)] if skills else tools

    def _explain_missing_tool(self, name: str) -> tuple[str, str] | None:
        """Return why a tool that clio has is not offered in this conversation, and what the model can do instead."""
        if name == "web_search" and self.config.web_search == "off":
            return "web search is off", "work without it; the user can turn it on with the setting `web_search`"
        if name == "web_search" and self.config.web_search == "model":
            return "web_search is no tool here: the model's server searches itself", "continue without this call"
        if name == "code_lookup" and not self._offers_code_lookup:
            return "code_lookup is not available for this project", "use search_text"
        if name == "ask_user" and self.ui.never_answers:
            return "no user can answer in this run", "decide yourself and state your assumptions"
        return None

    @cached_property
    def _offers_code_lookup(self) -> bool:
        """Whether something can answer questions about this project's code; decided once, as tools must not change."""
        root = self.runtime.workspace.root
        if self.config.language_servers[-1:] == (CHECKS_OFF,) or not _has_visible_entries(root):
            return False
        from clio.lsp.catalog import can_look_up

        return can_look_up(self.config.language_servers, root, self.runtime.loaded.main_project, self.runtime.home)

    def _make_code_lookup(self) -> "Callable[[], Tool]":
        runtime = self.runtime

        def make() -> Tool:
            from clio.lsp.code_lookup import CodeLookupTool

            return CodeLookupTool(runtime.workspace, runtime.open_language_servers, self.page)

        return make

    def _make_web_search(self) -> "Callable[[], Tool] | None":
        """Return what makes the search tool; None without a service of the user's, and offline."""
        runtime, service = self.runtime, self.config.web_search
        if service in ("off", "model") or self.provider.name == OFFLINE:
            return None

        def make() -> Tool:
            from clio.tools.web_search import WebSearchTool, open_search_settings

            settings = open_search_settings(service, self.config.web_search_url or "", runtime.env)
            runtime.redactor.learn_secret(settings.key)
            return WebSearchTool(settings, runtime.redact)

        return make

    def _list_usable_skills(self) -> tuple[Skill, ...]:
        """Return the skills of the session, and allow the model to read the files of the user's own skills."""
        runtime = self.runtime
        found = runtime.skills.find()
        if notice := runtime.skills.pop_trust_notice(found):
            runtime.warn(notice)
        skills = runtime.skills.list_usable(found)
        runtime.policy.allow_reading(runtime.skills.list_readable_folders(skills))
        return skills

    # Parts of a request before the messages

    def _make_builder(self, limits: ModelLimits, skills: Sequence[Skill], mentioned: MentionContext) -> ContextBuilder:
        runtime, estimator = self.runtime, self.estimator
        runtime.memory.begin(window_tokens=limits.context_window, session=self.session)

        def make(*, compact: bool, share: int | None = None) -> Prefix:
            usable, left_out = self._select_tools(limits, skills, compact=compact)
            specs = [make_tool_spec(tool, compact=compact) for tool in usable]
            cap = limits.context_window // share if share else None
            instructions, problems = runtime.instructions.load_for_prompt(self.config, limits, estimator)
            parts = [
                *left_out.fragments(),
                *instructions,
                *self._skill_fragments(skills, cap),
                *self._memory_fragments(cap),
            ]
            parts = [part for part in parts if part.whole] if share == 0 else parts
            return make_prefix(
                runtime.workspace.root, parts, specs, estimator, compact=compact, cap_tokens=cap, problems=problems
            )

        # Prefixes from complete to minimal; the builder takes the first that fits. share=0 keeps only whole fragments.
        small = [lambda: make(compact=True, share=FRAGMENT_SHARE), lambda: make(compact=True, share=0)]
        return ContextBuilder(
            project=runtime.project,
            prefixes=small if is_compact(limits) else [lambda: make(compact=False), *small],
            estimator=estimator,
            turn_fragments=lambda text: self._turn_fragments(text, mentioned),
            named_fragments=mentioned.fragments,
            read_image=self._read_image,
            approvals=lambda: describe_approvals(runtime.policy.mode, can_ask=not self.ui.never_asks),
            is_memory_off=lambda: runtime.memory.is_off,
        )

    def _skill_fragments(self, skills: Sequence[Skill], cap_tokens: int | None) -> list[Fragment]:
        fragment = make_skills_fragment(skills, cap_tokens or SKILL_TOKENS, self.estimator.estimate_text)
        return [structs.replace(fragment, text=self.runtime.redact(fragment.text))] if fragment else []

    def _memory_fragments(self, cap_tokens: int | None) -> list[Fragment]:
        """Return what project memory contributes to the prompt, in fragments of at most `cap_tokens` if given."""
        max_tokens = min(cap_tokens or MEMORY_PREFIX_TOKENS, MEMORY_PREFIX_TOKENS)
        memories = self.runtime.memory.prefix_fragments(max_tokens, min(DEFAULT_RATIO, self.estimator.ratio))
        self._show_memory_notices()
        return memories

    async def _turn_fragments(self, text: str, mentioned: MentionContext) -> list[Fragment]:
        runtime = self.runtime
        memories = await asyncio.to_thread(runtime.memory.turn_fragments, text)
        self._show_memory_notices()
        replacement, replacement_mentions = runtime.pending_input.take_replacement()
        mentions = await mentioned.fragments(f"{text}\n{replacement_mentions}")
        added = [*runtime.hooks.pop_notes(), *runtime.pending_input.take_fragments(), *mentions, *replacement]
        restored = await asyncio.to_thread(runtime.turn_files.make_restore_fragments)
        return [*runtime.planning.begin_turn(), *restored, *memories, *added]

    def _show_memory_notices(self) -> None:
        for sentence in self.runtime.memory.pop_notices():
            self.runtime.warn(sentence)

    def _make_mention_context(self, limits: ModelLimits) -> MentionContext:
        runtime = self.runtime

        def look_up(max_tokens: int) -> "MentionLookup":
            from clio.agent.mention_lookup import MentionLookup

            return MentionLookup(
                workspace=runtime.workspace,
                policy=runtime.policy,
                ui=self.ui,
                memory=runtime.memory,
                read_log=self.read_log,
                session=self.session,
                estimator=self.estimator,
                session_tokens=max_tokens,
                model=self.provider.model,
                takes_images=self._sends_images,
                pasted=runtime.pending_input.images,
                servers=runtime.servers,
            )

        return MentionContext(
            look_up=look_up, emit=self.ui.emit, estimator=self.estimator, window_tokens=limits.context_window
        )

    def _read_image(self, handle: str) -> bytes | None:
        """Return the bytes of a picture of the session; None if they are missing, which the message then states."""
        try:
            return self.session.read_data(handle)
        except (BlobNotFound, OSError):
            return None

    def _calibrate(self, builder: ContextBuilder) -> Calibration | BackgroundFetch | None:
        """Return a calibration that counts the prompt with a tokenizer, for a model whose token ratio is not yet known.

        Where the encoding file is not on disk, return its download instead, as far as the settings allow that.
        """
        runtime, provider = self.runtime, self.provider
        if self.estimator.has_learned or provider.name == OFFLINE:
            return None
        encoding = get_encoding(provider.model)
        path = find_encoding(encoding, list_encoding_folders(runtime.env, runtime.home))
        if path is not None:
            return Calibration(self.estimator, list_prefix_texts(builder.prefix), encoding, path)
        config = self.config
        if config.incognito or config.fetch_encodings == "off" or not isinstance(provider, HttpProvider):
            return None
        return BackgroundFetch(encoding, runtime.home) if is_hosted_openai(provider.base_url) else None


def _has_visible_entries(folder: Path) -> bool:
    """Whether a folder has anything but hidden files."""
    try:
        with os.scandir(folder) as entries:
            return any(not entry.name.startswith(".") for entry in entries)
    except OSError:
        return False
