"""Run clio from a Python program: `from clio import Agent`.

`Agent` blocks, `AsyncAgent` is awaited; both run the same turns as the terminal, with the same tools, approvals, memory
and sessions. The names in `__all__` of `clio` and the fields of their classes are stable: they change only with a
new major version.
"""

import asyncio
import concurrent.futures
import inspect
import os
import queue
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, TypeVar, Unpack, cast

import msgspec
from msgspec import Struct

from clio.agent.user_interface import Event, Notice, ToolFinished, TurnFinished
from clio.app import App, build_app
from clio.config.layers import load_config
from clio.config.options import Options
from clio.config.schema import CONFIG_FIELDS, ApprovalMode
from clio.entrypoints.headless_json import AnswerSchema, run_to_schema
from clio.errors import ApprovalNeeded, ClioError, SessionNotFound, ToolFailed, UsageError
from clio.messages import Usage
from clio.security.actions import CallServer, ChangeFiles, FetchUrl, ReadFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest, list_changed_paths
from clio.text.formatting import Cost
from clio.threads import start_daemon_thread
from clio.tools.files.diff import diff_change
from clio.ui.safe_text import spell_out_line

Setting = str | int | float | bool | Sequence[str]
"""A value of the configuration, as in `config.yaml`."""
ApprovalKind = Literal["edit", "command", "fetch", "read", "tool"]


class TurnFailed(ClioError):
    """A turn did not end with status "done"; raised by `Turn.raise_for_status` only.

    Attributes:
        turn: the whole result.
    """

    def __init__(self, turn: "Turn") -> None:
        super().__init__(turn.error or f"the turn ended with status {turn.status!r}")
        self.turn = turn


class Turn(Struct, frozen=True, kw_only=True):
    """The result of one turn.

    Attributes:
        text: the model's answer.
        status: "done", or why the turn ended early: "failed", "interrupted", "max_steps", "max_cost", "context_full",
            "approval_needed", "refused" (by the server), "blocked" (by a hook) or "misfit" (the answer does not fit
            the schema).
        error: one sentence if `status` is not "done", else "".
        structured: the answer as Python values if `schema` was given and the answer fits it.
        steps: how many requests reached the server.
        usage: tokens of all requests of the turn.
        cost: what they cost; None if the server sent no usage.
        seconds: duration of the turn.
        files_changed: paths relative to the project, sorted.
    """

    text: str
    status: str
    session_id: str
    error: str = ""
    structured: Any = None
    steps: int = 0
    usage: Usage = Usage()
    cost: Cost | None = None
    seconds: float = 0.0
    files_changed: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the turn ended as it should."""
        return self.status == "done"

    def raise_for_status(self) -> Self:
        """Return the turn itself. Raises TurnFailed if its status is not "done"."""
        if not self.ok:
            raise TurnFailed(self)
        return self


class Approval(Struct, frozen=True, kw_only=True):
    """What the model wants to do and may not do without approval.

    `title` and `reason` can be printed as they are: invisible and misleading characters in them are written as codes.
    The other texts are exact but for secrets; print their `repr`, since they may contain escape sequences.

    Attributes:
        title: one line, such as "edit src/retry.py".
        command: the whole command line of a command, the query of a web search, else "".
        diff: the changes of an edit as a unified diff, else "".
        url: the address of a page to fetch, else "".
        files: absolute paths that an edit or a read concerns.
        reason: why approval is needed, in a few words.
        risk: how much harm clio believes it could do.
    """

    title: str
    kind: ApprovalKind
    command: str = ""
    diff: str = ""
    url: str = ""
    files: tuple[str, ...] = ()
    reason: str = ""
    risk: Literal["low", "medium", "high"] = "medium"


Decision = bool | str
"""True allows it once. False denies it. A text denies it and tells the model why; nothing is learned from it."""
OnApproval = Callable[[Approval], Decision | Awaitable[Decision]]
OnQuestion = Callable[[str, tuple[str, ...]], str | Awaitable[str]]
"""Takes the model's question and the options it offers, which may be empty; returns the answer."""


class MemoryItem(Struct, frozen=True, kw_only=True):
    """One memory, or a passage of an earlier session that a search found.

    Attributes:
        id: opens it again, and is what `forget` takes.
        kind: "fact", "preference", "solution" and so on; the source, such as "turn", for what is no memory.
        score: how well it fits the query, 0.0 to 1.0; 0.0 in a list.
    """

    id: str
    kind: str
    text: str
    score: float = 0.0


T = TypeVar("T")


class Memories:
    """What clio remembers of this project and this user; the same store as `/memory` and the model's memory tool."""

    def __init__(self, app: App, call: Callable[[Callable[[], Any]], Any]) -> None:
        self._app = app
        self._run = call  # runs a function on the thread of the agent's event loop

    def _call(self, function: Callable[[], T]) -> T:
        return cast(T, self._run(function))

    def add(self, text: str, kind: str = "fact", **fields: Any) -> str:
        """Save a memory as stated by the user, and return its id. Secrets in it are replaced first.

        Args:
            kind: "fact", "preference", "note", "event", "discovery", "solution", "pattern", "workflow", "failure" or
                "rule".
            fields: others of `MemoryDraft`, such as importance=0.9 or solution="restart the worker".

        Raises:
            UserError: memory is off, or a field is wrong.
        """
        from clio.memory.store.record import ALL_KINDS, KEYED_NOTE, MemoryDraft, Provenance

        kinds = [one for one in ALL_KINDS if one != KEYED_NOTE]
        if kind not in kinds:
            raise UsageError(f"kind {kind!r} does not exist; use one of {', '.join(kinds)}")
        try:
            draft = MemoryDraft(content=text, kind=cast(Any, kind), **fields)
        except TypeError:
            known = ", ".join(MemoryDraft.__struct_fields__)
            raise UsageError(f"a memory has no field {', '.join(fields)}; the fields are {known}") from None

        def add() -> str:
            memory = self._app.memory
            memory.raise_if_off()
            source = Provenance(session=self._app.session.id, asserted_by="user")
            return memory.store.add(draft, source).record.id

        return self._call(add)

    def search(self, query: str, limit: int = 10) -> list[MemoryItem]:
        """Return memories and passages of earlier sessions that answer a query, best first, as `clio recall` does."""
        app = self._app
        found = self._call(lambda: app.memory.retriever.search(query, limit=limit, current=app.session.id))
        return [
            MemoryItem(id=hit.id, kind=hit.kind or hit.source, text=hit.text, score=hit.score) for hit in found.hits
        ]

    def list(self, *kinds: str) -> "list[MemoryItem]":
        """Return all memories, or those of these kinds, in the order of their files."""

        def records() -> "list[MemoryItem]":
            self._app.memory.raise_if_off()
            found = self._app.memory.store.records(kinds) if kinds else self._app.memory.store.records()
            return [MemoryItem(id=one.id, kind=one.kind, text=one.line) for one in found]

        return self._call(records)

    def forget(self, *ids: str) -> None:
        """Move memories to the archive, from which `undo` restores them. Raises UserError for an unknown id."""
        self._call(lambda: self._app.memory.store.forget(*ids))

    def undo(self) -> str:
        """Take back the last change of memory, and return a sentence about it."""
        return self._call(self._app.memory.undo)


class _CallbackInterface:
    """The user interface of an embedded agent: callbacks answer, and events go to the running turn."""

    def __init__(self, on_approval: OnApproval | None, on_question: OnQuestion | None) -> None:
        self.never_asks = on_approval is None
        self.never_answers = on_question is None
        self.app: App | None = None
        self.listener: Callable[[Event], None] | None = None
        self.early: list[Event] = []  # warnings of the start, delivered with the first turn
        self._on_approval = on_approval
        self._on_question = on_question

    async def approve(self, request: ApprovalRequest) -> Answer:
        """Ask the program. Raises ApprovalNeeded if it gave no `on_approval`."""
        if self._on_approval is None:
            ways = [f"approve={mode!r}" for mode in request.wider_modes]
            if isinstance(request.action, RunCommand) and not request.action.outside:
                ways.append("settings={'allow': [...]}")
            allow = f", or allow it with {' or '.join(ways)}" if ways else ""
            raise ApprovalNeeded(f"{request.title} needs approval; pass on_approval{allow}")
        decision = await _settle(self._on_approval(self._describe(request)))
        if decision is True:
            return Answer("once")
        return Answer("no", decision if isinstance(decision, str) else "", is_from_program=True)

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Ask the program. Raises ToolFailed if it gave no `on_question`."""
        if self._on_question is None:
            raise ToolFailed("no user can answer in this program", "decide yourself and state your assumptions")
        return str(await _settle(self._on_question(question, options)))

    def emit(self, event: Event) -> None:
        """Pass an event to the running turn."""
        if self.listener is not None:
            self.listener(event)
        elif isinstance(event, Notice):
            self.early.append(event)

    def _describe(self, request: ApprovalRequest) -> Approval:
        assert self.app is not None
        app, action, verdict = self.app, request.action, request.verdict

        def redact(text: str) -> str:
            return app.redactor.redact(text).text

        kind: ApprovalKind = "tool"
        command = diff = url = ""
        files: tuple[Path, ...] = ()
        match action:
            case RunCommand():
                kind, command = "command", redact(action.command)
            case ChangeFiles():
                kind = "edit"
                files = list_changed_paths(action)
                diff = redact("".join(diff_change(change, app.workspace.display).text for change in action.changes))
            case FetchUrl():
                kind, url, command = "fetch", redact(action.url), redact(action.query)
            case ReadFiles():
                kind, files = "read", action.paths
            case CallServer():
                command = redact(f"{action.name} {action.arguments}")
            case _:
                pass
        return Approval(
            title=spell_out_line(redact(request.title)),
            kind=kind,
            command=command,
            diff=diff,
            url=url,
            files=tuple(map(str, files)),
            reason=spell_out_line(redact(verdict.reason)),
            risk=verdict.risk,
        )


async def _settle(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


class AgentOptions(TypedDict, total=False):
    """Options of `Agent` and `AsyncAgent`.

    Attributes:
        model, provider, base_url: as the flags of the same name; without them, what the configuration says.
        approve: "ask", "edits", "all" or "plan"; without it, what the configuration says.
        on_approval: is asked about what needs approval; may be async. Without it such calls are refused, and the turn
            ends with status "approval_needed".
        on_question: answers questions of the model; may be async. Without it the model decides by itself.
        resume: id, name or number of a session to continue, "" for the latest, None for a new session.
        incognito: save no session and use no memory.
        settings: further values of the configuration, by the names in `config.yaml`.
        env: environment variables, among them the API keys; the default is `os.environ`.
    """

    model: str
    provider: str
    base_url: str
    approve: ApprovalMode
    on_approval: OnApproval
    on_question: OnQuestion
    resume: str | None
    incognito: bool
    settings: Mapping[str, Setting]
    env: Mapping[str, str]


class AsyncAgent:
    """clio in a program with an event loop.

        async with AsyncAgent("path/to/project", approve="edits") as agent:
            turn = await agent.run("fix the failing test")
            print(turn.text, turn.files_changed)

    One turn runs at a time. A task that is cancelled while it waits for a turn ends the turn.

    Args:
        project: a folder of the project; the default is the current one.
        options: see `AgentOptions`.

    What a project's own configuration may do without trust is limited as in the terminal; `clio config trust` in the
    project widens it. Exceptions are subclasses of `ClioError`: UsageError for wrong arguments, ConfigError if no model
    is usable, SessionNotFound.
    """

    def __init__(self, project: str | os.PathLike[str] = ".", **options: Unpack[AgentOptions]) -> None:
        if unknown := options.keys() - AgentOptions.__annotations__.keys():
            raise UsageError(f"an agent has no option {', '.join(sorted(unknown))}; pass settings in `settings`")
        values = dict(options.get("settings") or {})
        for name in ("model", "provider", "base_url", "approve", "incognito"):
            if value := options.get(name):
                values[name] = cast(Setting, value)
        self._overrides = {name: _make_override(name, value) for name, value in values.items()}
        self._folder = Path(project).expanduser().absolute()
        if not self._folder.is_dir():
            raise UsageError(f"project {str(project)!r}: there is no such folder")
        env = options.get("env")
        self._env = dict(os.environ if env is None else env)
        self._resume = options.get("resume")
        self._ui = _CallbackInterface(options.get("on_approval"), options.get("on_question"))
        self._app: App | None = None
        self._busy = asyncio.Lock()
        self._memory: Memories | None = None

    async def __aenter__(self) -> Self:
        options = Options(cwd=self._folder, overrides=self._overrides, from_program=True)
        loaded = load_config(options, self._env)
        self._ui.early += [Notice(text=problem, level="warning") for problem in loaded.problems]
        self._app = self._ui.app = build_app(loaded, self._ui, env=self._env)
        self._memory = Memories(self._app, lambda function: function())
        try:
            if self._resume is not None:
                self.resume(self._resume)
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the session, background commands and connections. The session can be resumed by another agent."""
        if self._app is not None:
            app, self._app = self._app, None
            await app.close()

    @property
    def app(self) -> App:
        """The running clio. Not part of the stable interface."""
        if self._app is None:
            raise UsageError("the agent is not open; use it in a `with` block")
        return self._app

    @property
    def session_id(self) -> str:
        """Id of the current session; `resume` takes it."""
        return self.app.session.id

    @property
    def model(self) -> str:
        """Name of the model that answers."""
        return self.app.provider.model

    @model.setter
    def model(self, name: str) -> None:
        self.app.set_model(name)

    @property
    def memory(self) -> Memories:
        """What clio remembers; see `Memories`."""
        assert self.app and self._memory is not None
        return self._memory

    def new_session(self, name: str | None = None) -> str:
        """Begin a new session and return its id."""
        return self.app.new_session(name).id

    def resume(self, session: str = "") -> str:
        """Continue a session by id, name or number, or the latest one, and return its id. Raises SessionNotFound."""
        app = self.app
        if not session:
            latest = app.store.latest(not_running=True)
            if latest is None:
                raise SessionNotFound(app.store.explain_no_latest("pass resume=None for a new session"))
            return app.open_session(latest).id
        return app.open_session(app.store.find(session)).id

    def steer(self, text: str) -> None:
        """Add a message to the running turn; it is sent with the next request."""
        self.app.mailbox.put(text)

    async def run(self, text: str, *, images: Sequence[bytes] = (), schema: Mapping[str, Any] | None = None) -> Turn:
        """Run one turn and return its result, whatever its status.

        Args:
            text: the user's message; `@path` mentions files as in the terminal.
            images: pictures that belong to the message (PNG, JPEG, GIF or WebP).
            schema: a JSON schema that the answer must fit; the model is asked again if it does not.

        Raises:
            UsageError: the schema is invalid.
            ConfigError: the model cannot be used as configured.
        """
        return await self._run(text, images, schema, None)

    async def stream(self, text: str, *, images: Sequence[bytes] = ()) -> AsyncIterator[Event | Turn]:
        """Run one turn and yield its events as they happen, and last the `Turn`.

        The events are those of `clio -p --output stream-json`. Leaving the loop early ends the turn.
        """
        events: asyncio.Queue[Event | Turn | None] = asyncio.Queue()
        task = asyncio.ensure_future(self._run(text, images, None, events.put_nowait))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            yield await task
        finally:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _run(
        self,
        text: str,
        images: Sequence[bytes],
        schema: Mapping[str, Any] | None,
        listen: Callable[[Event], None] | None,
    ) -> Turn:
        app = self.app
        if not text.strip():
            raise UsageError("the message is empty")
        fitting = None if schema is None else AnswerSchema(msgspec.json.encode(schema).decode(), "schema")
        async with self._busy:
            changed: set[str] = set()
            finished: list[TurnFinished] = []

            def on_event(event: Event) -> None:
                if isinstance(event, ToolFinished):
                    changed.update(event.files_changed)
                elif isinstance(event, TurnFinished):
                    finished.append(event)
                if listen is not None:
                    listen(event)

            numbers = [app.pending_input.add_image(image) for image in images]
            message = " ".join([text, *(f"@clipboard:{number}" for number in numbers)])
            self._ui.listener = on_event
            for event in self._ui.early:
                on_event(event)
            self._ui.early.clear()
            structured: Mapping[str, Any] = {}
            try:
                if fitting is None:
                    await app.run_turn(message)
                else:
                    structured = await run_to_schema(app, fitting, app.run_turn, message)
            finally:
                self._ui.listener = None
                app.learner.defer_suggestions()
            return _make_turn(finished, app.session.id, tuple(sorted(changed)), structured)


def _make_turn(
    finished: Sequence[TurnFinished], session_id: str, changed: tuple[str, ...], structured: Mapping[str, Any]
) -> Turn:
    last = finished[-1]
    status = str(structured.get("status", last.status))
    return Turn(
        text=last.text,
        status=status,
        session_id=session_id,
        error=str(structured.get("error", last.error)),
        structured=structured.get("structured"),
        steps=sum(one.steps for one in finished),
        usage=last.usage,
        cost=last.cost,
        seconds=sum(one.seconds for one in finished),
        files_changed=changed,
    )


def _make_override(name: str, value: Setting) -> str | bool | tuple[str, ...]:
    """Return a setting as the command line would state it. Raises UsageError for an unknown name."""
    if name not in CONFIG_FIELDS:
        from clio.config.command_line import did_you_mean

        raise UsageError(
            f"there is no setting {name!r}" + (did_you_mean(name, CONFIG_FIELDS) or "; `clio config show` lists them")
        )
    if isinstance(value, bool | str):
        return value
    return str(value) if isinstance(value, int | float) else tuple(map(str, value))


class Agent:
    """clio in a program without an event loop; see `AsyncAgent`, which has the same arguments and methods.

        with Agent("path/to/project", approve="edits") as agent:
            print(agent.run("fix the failing test").text)

    Turns run in a thread of the agent, so that it also works where an event loop already runs, as in a notebook.
    `on_approval` and `on_question` are called in that thread. Ctrl-C ends the running turn.
    """

    def __init__(self, project: str | os.PathLike[str] = ".", **options: Unpack[AgentOptions]) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._make = lambda: AsyncAgent(project, **options)
        self._agent: AsyncAgent | None = None

    def __enter__(self) -> Self:
        self._loop = loop = asyncio.new_event_loop()
        self._thread = start_daemon_thread(loop.run_forever, "clio agent")
        try:
            self._agent = self._wait(self._open())
        except BaseException:
            self._stop_loop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session, background commands and connections. The session can be resumed by another agent."""
        agent, self._agent = self._agent, None
        if agent is None:
            return
        try:
            self._wait(agent.aclose())
        finally:
            self._stop_loop()

    @property
    def session_id(self) -> str:
        """Id of the current session; `resume` takes it."""
        return self._call(lambda agent: agent.session_id)

    @property
    def model(self) -> str:
        """Name of the model that answers."""
        return self._call(lambda agent: agent.model)

    @model.setter
    def model(self, name: str) -> None:
        self._call(lambda agent: setattr(agent, "model", name))

    @property
    def memory(self) -> Memories:
        """What clio remembers; see `Memories`."""
        app = self._call(lambda agent: agent.app)
        return Memories(app, lambda function: self._call(lambda _: function()))

    def new_session(self, name: str | None = None) -> str:
        """Begin a new session and return its id."""
        return self._call(lambda agent: agent.new_session(name))

    def resume(self, session: str = "") -> str:
        """Continue a session by id, name or number, or the latest one, and return its id. Raises SessionNotFound."""
        return self._call(lambda agent: agent.resume(session))

    def steer(self, text: str) -> None:
        """Add a message to the running turn, from another thread; it is sent with the next request."""
        self._call(lambda agent: agent.steer(text))

    def run(self, text: str, *, images: Sequence[bytes] = (), schema: Mapping[str, Any] | None = None) -> Turn:
        """Run one turn and return its result, whatever its status; see `AsyncAgent.run`."""
        return self._wait(self._running.run(text, images=images, schema=schema))

    def stream(self, text: str, *, images: Sequence[bytes] = ()) -> Iterator[Event | Turn]:
        """Run one turn and yield its events as they happen, and last the `Turn`; see `AsyncAgent.stream`."""
        agent, events = self._running, queue.SimpleQueue[Event | Turn | BaseException | None]()

        async def forward() -> None:
            try:
                async for event in agent.stream(text, images=images):
                    events.put(event)
                events.put(None)
            except BaseException as error:
                events.put(error)
                raise

        task = asyncio.run_coroutine_threadsafe(forward(), self._get_loop())
        try:
            while (event := events.get()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            self._end(task)

    @property
    def _running(self) -> AsyncAgent:
        if self._agent is None:
            raise UsageError("the agent is not open; use it in a `with` block")
        return self._agent

    async def _open(self) -> AsyncAgent:
        return await self._make().__aenter__()

    def _get_loop(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None
        return self._loop

    def _call(self, function: Callable[[AsyncAgent], T]) -> T:
        """Run a function on the thread of the event loop, to which the objects of the agent belong."""
        agent = self._running

        async def call() -> T:
            return function(agent)

        return self._wait(call())

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.run_coroutine_threadsafe(work, self._get_loop())
        try:
            return task.result()
        except KeyboardInterrupt:
            self._end(task)
            raise

    def _end(self, task: "concurrent.futures.Future[Any]") -> None:
        """Cancel what runs on the loop, and wait until it has ended."""
        if not task.done():
            task.cancel()

            async def settle() -> None:
                others = asyncio.all_tasks() - {cast(Any, asyncio.current_task())}
                await asyncio.gather(*(one for one in others if one.cancelling()), return_exceptions=True)

            asyncio.run_coroutine_threadsafe(settle(), self._get_loop()).result()

    def _stop_loop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()
