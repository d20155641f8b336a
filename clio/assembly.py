"""One loop for one session and one model: its tools, its window, and what stands in the prompt."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from clio.agent.events import Emit, Notice
from clio.agent.interrupts import Mailbox
from clio.agent.loop import Loop
from clio.agent.mentions import Mentioned
from clio.agent.model_request import EffortChoices, FallbackModels
from clio.agent.planning import Planning
from clio.agent.progress_page import ProgressPage
from clio.agent.side_question import SideQuestion
from clio.agent.spending import Spending
from clio.agent.tool_runner import MAX_RESULT_CHARS, ToolLimit, ToolRunner
from clio.agent.turn_files import TurnFiles
from clio.agent.turn_hooks import TurnHooks
from clio.checkpoints.checkpoints import Checkpoints, open_checkpoints
from clio.checkpoints.checkpoints import Limits as KeptLimits
from clio.checks.edit_checks import EditChecks
from clio.config.loaded import Loaded
from clio.config.schema import CHECKS_OFF, Config
from clio.context.asked_by_files import AskedByFiles
from clio.context.background_fetch import BackgroundFetch
from clio.context.builder import ContextBuilder, Prefix, is_compact, make_prefix
from clio.context.calibrate import Calibration, prefix_texts
from clio.context.encodings import encoding_folders, encoding_for, find_encoding, is_hosted_openai
from clio.context.shelf import Shelf
from clio.context.summary import ThreadSummary
from clio.context.window import ContextWindow
from clio.fragments import Fragment
from clio.hooks.hooks import Hooks
from clio.mcp.servers import Servers
from clio.memory.inject import CAP_TOKENS as KNOWLEDGE_TOKENS
from clio.memory.inject import CHARS_PER_TOKEN
from clio.memory.system import MemorySystem
from clio.providers.base import Limits, Provider
from clio.providers.http_provider import HttpProvider
from clio.providers.pictures import takes_images
from clio.providers.registry import OFFLINE
from clio.security.approval import Approver, Policy, describe_approvals
from clio.security.path_policy import Workspace
from clio.security.redaction.redactor import Redactor
from clio.sessions.blobs import BlobNotFound
from clio.sessions.session import Session
from clio.skills.shelf import CAP_TOKENS as SKILL_TOKENS
from clio.skills.shelf import SkillShelf, skills_fragment
from clio.skills.skill import Skill
from clio.tokens import TokenEstimator
from clio.tools.ask import Asker
from clio.tools.base import Tool
from clio.tools.file_tools import file_tools
from clio.tools.files.read_log import ReadLog
from clio.tools.left_out import LeftOut
from clio.tools.page_size import PageSize
from clio.tools.schema import tool_spec
from clio.tools.shell.jobs import JobTable
from clio.tools.work_tools import run_command_tool, server_tools, use_skill_tool, work_tools

if TYPE_CHECKING:
    from clio.agent.mention_lookup import MentionLookup
    from clio.checks.checkers import Surroundings

COMPACT_TOOLS = frozenset(
    "read_file edit_file write_file search_text find_files run_command git todo_operations memory_operations ask_user "
    "read_output use_skill".split()
)
FRAGMENT_SHARE = 12
"""On small windows no piece of instructions or knowledge takes more than this part of the window."""
PROMPT_OUTPUT_CHARS = 8_000
"""Of one command in a text that a person calls."""
COMPACT_RESULT_CHARS = 6_000  # about a tenth of a 16K window


class Assembly(Struct, kw_only=True, frozen=True):
    """What every loop of one running clio has in common, and the way to put one together.

    asked: what files ask of agents. session_of: the running session, whichever that is by then.
    fallback: the models that answer while the chosen one's server does not. light: gives the one for questions beside
    the conversation. owner: the folder whose trust counts. remember_rule: keeps a rule somebody always allows.
    delegate_tool: makes the tool that sends sub-agents.
    """

    project: Path
    owner: Path
    home: Path
    env: Mapping[str, str]
    workspace: Workspace
    memory: MemorySystem
    policy: Policy
    approver: Approver
    asker: Asker
    redactor: Redactor
    jobs: JobTable
    turn_files: TurnFiles
    mailbox: Mailbox
    spending: Spending
    efforts: EffortChoices
    planning: Planning
    shelf: Shelf
    asked: AskedByFiles
    hooks: Hooks
    servers: Servers
    skills: SkillShelf
    tool_limit: ToolLimit
    emit: Emit
    heard: Emit
    session_of: Callable[[], Session]
    remember_rule: Callable[[str], None]
    delegate_tool: Callable[[Config, Provider, Limits, TokenEstimator], Tool]
    fallback: FallbackModels
    light: Callable[[], Provider]
    now: Callable[[], float]

    def make_loop(
        self, config: Config, provider: Provider, limits: Limits, estimator: TokenEstimator, read_log: ReadLog
    ) -> tuple[Loop, Calibration | BackgroundFetch | None]:
        """A loop for the running session, and what may begin once the server has answered: see `_calibration`."""
        side = SideQuestion(
            self.light,
            asyncio.get_running_loop(),
            self.spending,
            self.efforts.effort_of,
            tell=lambda sentence: self.emit(Notice(text=sentence)),
        )
        self.memory.ask_a_model(side.ask if provider.name != OFFLINE else None)
        session, compact = self.session_of(), is_compact(limits)

        skills = self._usable_skills()
        delegate = self.delegate_tool(config, provider, limits, estimator)

        page = PageSize(COMPACT_RESULT_CHARS if compact else MAX_RESULT_CHARS)

        told: list[tuple[str, ...]] = []

        def tools(compact: bool) -> tuple[list[Tool], LeftOut]:
            own = [*self._tools(config, read_log, skills, page), delegate]
            servers, left_servers = server_tools(self.servers, limits.context_window // 4)
            left = LeftOut(
                own=tuple(tool.name for tool in own if compact and tool.name not in COMPACT_TOOLS),
                servers=tuple(left_servers),
                offered=len(self.servers.offered),
            )
            if left.names and left.names not in told:
                told.append(left.names)
                self.emit(Notice(text=left.sentence, level="warning" if left.servers else "info"))
            return [*(tool for tool in own if tool.name not in left.own), *servers], left

        mentioned = self._mentioned(config, provider, limits, estimator, read_log)
        builder = self._builder(config, tools, limits, estimator, mentioned, skills)
        hooks = TurnHooks(self.hooks, session, estimator)
        folders = self.asked.for_folders(config, limits, estimator)
        calibration = self._calibration(config, provider, builder, estimator)
        checks = self.edit_checks(config)
        progress = ProgressPage(self.project, session, self.memory, self.redactor, now=self.now, warn=self._warn)

        def before_trim(summary: ThreadSummary, task: str) -> None:
            if folders is not None:
                folders.forget()
            progress.write(summary, task)

        window = ContextWindow(
            session,
            builder,
            limits,
            before_trim=before_trim,
            recovery=lambda budget: progress.recovery(estimator, budget),
            now=self.now,
        )
        self.memory.summary_of = lambda: window.summary
        usable, left_out = tools(compact)
        loop = Loop(
            provider=provider,
            runner=ToolRunner(
                tools={tool.name: tool for tool in usable},
                left_out=left_out.names,
                session=session,
                workspace=self.workspace,
                policy=self.policy,
                approver=self.approver,
                redactor=self.redactor,
                emit=self.emit,
                remember_rule=self.remember_rule,
                turn_files=self.turn_files,
                limit=self.tool_limit,
                hooks=hooks,
                checks=checks,
                note_below=folders.note if folders else lambda action: "",
                max_result_chars=page,
                takes_images=is_shown_images(config, provider),
            ),
            session=session,
            context=window,
            redactor=self.redactor,
            emit=self.heard,
            max_steps=config.max_steps,
            mailbox=self.mailbox,
            spending=self.spending,
            hooks=hooks,
            now=self.now,
            take_images=mentioned.take_images,
            fallback=self.fallback,
            effort_of=self.efforts.effort_of,
            checks=checks,
        )
        return loop, calibration

    def edit_checks(self, config: Config) -> EditChecks:
        """What one loop checks after its edits."""

        def open_around() -> "Surroundings":
            from clio.checks.checkers import Surroundings

            return Surroundings(
                wanted=config.checks,
                root=self.workspace.root,
                owner=self.owner,
                home=self.home,
                confinement=self.jobs.confinement,
                sandbox=self.jobs.sandbox,
            )

        return EditChecks(
            None if config.checks[-1:] == (CHECKS_OFF,) else open_around,
            clean=lambda text: self.redactor.redact(text).text,
            tell=lambda text: self.emit(Notice(text=text)),
        )

    def prompt_runner(self, config: Config) -> ToolRunner:
        """Runs the commands of a text that a person calls: asked about like any, their work like the person's own."""
        return ToolRunner(
            tools={"run_command": run_command_tool(self.workspace, self.jobs, config.command_timeout_s)},
            session=self.session_of(),
            workspace=self.workspace,
            policy=self.policy,
            approver=self.approver,
            redactor=self.redactor,
            emit=self.emit,
            remember_rule=self.remember_rule,
            max_result_chars=PROMPT_OUTPUT_CHARS,
        )

    def _mentioned(
        self, config: Config, provider: Provider, limits: Limits, estimator: TokenEstimator, read_log: ReadLog
    ) -> Mentioned:
        def look_up(most_tokens: int) -> "MentionLookup":
            from clio.agent.mention_lookup import MentionLookup

            return MentionLookup(
                workspace=self.workspace,
                policy=self.policy,
                approver=self.approver,
                memory=self.memory,
                read_log=read_log,
                session_of=self.session_of,
                estimator=estimator,
                session_tokens=most_tokens,
                model=provider.model,
                takes_images=is_shown_images(config, provider),
                pasted=self.shelf.images,
                servers=self.servers,
            )

        return Mentioned(look_up=look_up, emit=self.emit, estimator=estimator, window_tokens=limits.context_window)

    def _builder(
        self,
        config: Config,
        tools: Callable[[bool], tuple[list[Tool], LeftOut]],
        limits: Limits,
        estimator: TokenEstimator,
        mentioned: Mentioned,
        skills: Sequence[Skill],
    ) -> ContextBuilder:
        self.memory.begin(window_tokens=limits.context_window, session_of=self.session_of)

        def prefix(*, compact: bool, share: int | None = None) -> Prefix:
            usable, left_out = tools(compact)
            specs = [tool_spec(tool, compact=compact) for tool in usable]
            cap = limits.context_window // share if share else None
            asked, problems = self.asked.for_prompt(config, limits, estimator)
            parts = [
                *left_out.fragments(),
                *asked,
                *self._skills(skills, cap, estimator),
                *self._knowledge(cap, estimator.ratio),
            ]
            parts = [part for part in parts if part.whole] if share == 0 else parts
            return make_prefix(
                self.workspace.root, parts, specs, estimator, compact=compact, cap_tokens=cap, problems=problems
            )

        small = [lambda: prefix(compact=True, share=FRAGMENT_SHARE), lambda: prefix(compact=True, share=0)]
        can_ask = not getattr(self.approver, "never_asks", False)
        return ContextBuilder(
            project=self.project,
            prefixes=small if is_compact(limits) else [lambda: prefix(compact=False), *small],
            estimator=estimator,
            turn_fragments=lambda text: self._turn_fragments(text, mentioned),
            named_fragments=mentioned.fragments,
            read_image=lambda handle: read_stored_image(self.session_of(), handle),
            approvals=lambda: describe_approvals(self.policy.mode, can_ask=can_ask),
        )

    def _calibration(
        self, config: Config, provider: Provider, builder: ContextBuilder, estimator: TokenEstimator
    ) -> Calibration | BackgroundFetch | None:
        """A count of the prompt by a tokeniser, for a model that no bill has taught; where its file is not on disk, the
        download of it, as far as that is allowed.
        """
        if estimator.is_taught or provider.name == OFFLINE:
            return None
        encoding = encoding_for(provider.model)
        path = find_encoding(encoding, encoding_folders(self.env, self.home))
        if path is not None:
            return Calibration(estimator, prefix_texts(builder.prefix), encoding, path)
        if config.incognito or config.fetch_encodings == "off" or not isinstance(provider, HttpProvider):
            return None
        return BackgroundFetch(encoding, self.home) if is_hosted_openai(provider.base_url) else None

    def _usable_skills(self) -> tuple[Skill, ...]:
        """The skills of a whole session; what lies in the person's own may be read."""
        found = self.skills.find()
        if news := self.skills.take_news(found):
            self._warn(news)
        skills = self.skills.usable(found)
        self.policy.allow_reading(self.skills.readable(skills))
        return skills

    def _skills(self, skills: Sequence[Skill], cap_tokens: int | None, estimator: TokenEstimator) -> list[Fragment]:
        listed = skills_fragment(skills, cap_tokens or SKILL_TOKENS, estimator.text)
        return [structs.replace(listed, text=self.redactor.redact(listed.text).text)] if listed else []

    def _tools(self, config: Config, read_log: ReadLog, skills: Sequence[Skill], page: PageSize) -> list[Tool]:
        files = file_tools(self.workspace, read_log, max_read_chars=page, session_of=self.session_of)
        tools = files + work_tools(
            self.workspace,
            self.session_of,
            self.asker,
            self.memory,
            self.jobs,
            command_timeout_s=config.command_timeout_s,
            private_network=config.private_network,
            attribution=config.attribution,
            max_read_chars=page,
        )
        if skills:
            tools.append(use_skill_tool(self.skills, skills))
        return tools

    def _knowledge(self, cap_tokens: int | None, chars_per_token: float) -> list[Fragment]:
        """What the project taught, for the same place, in pieces of at most `cap_tokens`, where that is given."""
        most = min(cap_tokens or KNOWLEDGE_TOKENS, KNOWLEDGE_TOKENS)
        remembered = self.memory.prefix_fragments(most, min(CHARS_PER_TOKEN, chars_per_token))
        self._tell_of_memory()
        return remembered

    async def _turn_fragments(self, text: str, mentioned: Mentioned) -> list[Fragment]:
        fragments = await asyncio.to_thread(self.memory.turn_fragments, text)
        self._tell_of_memory()
        meant, elsewhere = self.shelf.take_meant()
        mentions = await mentioned.fragments(f"{text}\n{elsewhere}")
        named = [*self.hooks.take_notes(), *self.shelf.take_offered(), *mentions, *meant]
        return [*self.planning.begin_turn(), *await asyncio.to_thread(self.turn_files.fragments), *fragments, *named]

    def _tell_of_memory(self) -> None:
        for sentence in self.memory.take_notices():
            self._warn(sentence)

    def _warn(self, text: str) -> None:
        self.emit(Notice(text=text, level="warning"))


def is_shown_images(config: Config, provider: Provider) -> bool:
    """Whether pictures are sent to the model that answers."""
    return provider.name != OFFLINE and takes_images(config, provider.model)


def read_stored_image(session: Session, handle: str) -> bytes | None:
    """The bytes of a picture of the session; None where they are gone, which its message then says."""
    try:
        return session.read_data(handle)
    except (BlobNotFound, OSError):
        return None


def project_checkpoints(loaded: Loaded, jobs: JobTable) -> Checkpoints:
    """What is kept of the project's files: in clio's home, or in memory where nothing may be written."""
    config = loaded.config

    def lister(root: Path) -> list[str]:
        from clio.tools.search.file_index import walk  # a turn that changes no file needs no list of them

        return sorted(walk(root, root, hidden=True, links=True))

    return open_checkpoints(
        loaded.project,
        loaded.home,
        on_disk=not config.incognito,
        lister=lister,
        limits=KeptLimits(max_bytes=config.checkpoint_mb * 1_000_000, max_age_s=config.checkpoint_days * 86_400.0),
        job_runs=lambda: bool(jobs.running()),
    )
