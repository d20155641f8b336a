"""One step's question to a model: no dearer than may be paid, smaller where the server finds it too large, billed."""

import itertools
import random
from collections.abc import Callable

from msgspec import structs

from clio.agent.efforts import make_cache_key
from clio.agent.events import ContextTrimmed, Emit, Notice, StepStarted, StreamRestarted
from clio.agent.fallback import FallbackModels, may_pass_on
from clio.agent.recovery import ModelCaller
from clio.agent.spending import Reservation, Spending
from clio.agent.stream import Answer
from clio.context.builder import Built
from clio.context.window import ContextWindow
from clio.errors import ConfigError, ContextOverflow, ProviderError, ProviderRefused
from clio.messages import Usage
from clio.providers.base import ChatRequest, Provider
from clio.providers.retry import MAX_RETRIES
from clio.security.redaction.redactor import Redactor
from clio.sessions.session import Session
from clio.sessions.state import Bill

MAX_OVERFLOWS = 3
"""How many smaller requests follow one that a server found too large."""


class Asking:
    """Asks about one session: one model, or one of the fallback in its place.

    What requests cost is counted in `spending`, which may forbid the next one.
    effort_of: how hard a model is to think, by its name.
    """

    def __init__(
        self,
        provider: Provider,
        session: Session,
        context: ContextWindow,
        redactor: Redactor,
        spending: Spending,
        emit: Emit,
        *,
        now: Callable[[], float],
        rng: random.Random,
        fallback: FallbackModels | None = None,
        effort_of: Callable[[str], str],
    ) -> None:
        self._provider = provider
        self._session = session
        self._context = context
        self._spending = spending
        self._emit = emit
        self._now = now
        self._fallback = fallback or FallbackModels()
        self._effort_of = effort_of
        self._cache_key = make_cache_key(session.id)
        self._redactor = redactor
        self._rng = rng
        self._callers: dict[int, ModelCaller] = {}
        self._caller = self._caller_of(provider)
        self._answering = provider

    def take_partial(self) -> Answer | None:
        """What has come of an answer that broke off, which is no longer here then; None where none did."""
        partial, self._caller.partial = self._caller.partial, None
        return partial

    async def ask(self, step: int) -> tuple[Answer, Bill | None]:
        """The answer to what the window holds now, and its bill where the server sent one.

        Where a server does not answer, the next model of the fallback is asked, in its own protocol.
        Raises TooDear, ProviderRefused, the last ProviderError, and ContextOverflow when the server has refused
        `MAX_OVERFLOWS` smaller requests too.
        """
        tried: list[Provider] = []
        provider = self._next(tried) or self._provider
        while True:
            tried.append(provider)
            try:
                answer = await self._ask_one(provider, step)
            except (ProviderError, ProviderRefused) as error:
                if not may_pass_on(error):
                    raise
                self._fallback.failed(provider)
                following = self._next(tried)
                if following is None:
                    raise
                if (partial := self.take_partial()) is not None and partial.text:
                    self._emit(StreamRestarted())
                self._tell_change(following, why=str(error))
                provider = following
            else:
                self._fallback.answered(provider)
                self._tell_change(provider, why="")
                return answer

    def _next(self, tried: list[Provider]) -> Provider | None:
        """The model to ask next, of those whose price is known where there is a limit; None where all were tried."""
        passed_over = list(tried)
        while (provider := self._fallback.pick(self._provider, passed_over)) is not None:
            try:
                if provider is not self._provider:
                    self._spending.check_start(provider)
            except ConfigError as error:
                self._emit(Notice(text=f"{provider.model} at {provider.name} does not take over: {error}"))
                passed_over.append(provider)
            else:
                return provider
        return None

    def _tell_change(self, provider: Provider, *, why: str) -> None:
        """Say once that another model answers from now on."""
        if provider is self._answering:
            return
        self._answering = provider
        name = f"{provider.model} at {provider.name}"
        back = provider is self._provider
        text = f"{name} answers again" if back and not why else f"{why.rstrip('.')}; {name} takes over"
        self._emit(Notice(text=text, level="info" if back else "warning"))

    def _caller_of(self, provider: Provider) -> ModelCaller:
        if id(provider) not in self._callers:
            self._callers[id(provider)] = ModelCaller(provider, self._redactor, self._emit, self._rng)
        return self._callers[id(provider)]

    async def _ask_one(self, provider: Provider, step: int) -> tuple[Answer, Bill | None]:
        """The answer of one model."""
        self._caller = self._caller_of(provider)
        limits = await provider.limits() if provider is not self._provider else None
        with self._context.fitted_to(limits):
            return await self._ask_within(provider, step)

    async def _ask_within(self, provider: Provider, step: int) -> tuple[Answer, Bill | None]:
        built = self._context.build()
        self._tell_trim(built)
        wanted = built.request.max_output_tokens or self._context.limits.max_output_tokens
        with await self._spending.reserve(
            provider, built.prompt_tokens, output_tokens=wanted, conversation=self._session.id
        ) as held:
            if held.most_output is not None:
                built = structs.replace(
                    built, request=structs.replace(built.request, max_output_tokens=held.most_output)
                )
            self._emit(StepStarted(step=step, prompt_tokens=built.prompt_tokens))
            retries = 0 if self._fallback.is_probe(provider) else MAX_RETRIES
            built, answer = await self._ask_smaller(provider, built, retries)
            if answer.notice:
                self._emit(Notice(text=answer.notice))
            billed = answer.usage.prompt_tokens if answer.usage else 0
            # Another model's bill says nothing about this one's tokens.
            if provider is self._provider and self._context.accepted(built, billed):
                self._session.set_token_ratio(self._context.ratio)
            if answer.usage is not None:
                return answer, self._bill(held, answer.usage, answer.cost)
            held.assume(built.prompt_tokens, len(answer.text + answer.reasoning) // 4)
            return answer, None

    async def _ask_smaller(self, provider: Provider, built: Built, retries: int) -> tuple[Built, Answer]:
        """The answer to a request, or to a smaller one where the server finds it too large, and which it was."""
        sizes: list[str] = []
        for attempt in itertools.count(1):
            try:
                large = self._context.is_large(built)
                request = self._completed(built.request, provider)
                return built, await self._caller.ask(request, large=large, retries=retries)
            except ContextOverflow as error:
                sizes.append(f"{built.prompt_tokens:,}")
                if attempt > MAX_OVERFLOWS:
                    raise ContextOverflow(
                        f"{error}; refused with {', '.join(sizes)} tokens by clio's count: set context_window to what "
                        "the server really has, or start a new session",
                        limit_tokens=error.limit_tokens,
                        sent_tokens=error.sent_tokens,
                    ) from error
                if (partial := self.take_partial()) is not None and partial.text:
                    self._emit(StreamRestarted())
                await self._context.recover()
                built = self._context.reactive(attempt, built, error)
                self._tell_trim(built)
                text = f"the server finds the request too large; asking again with about {built.prompt_tokens:,} tokens"
                self._emit(Notice(text=text))
        raise AssertionError("unreachable")

    def _completed(self, request: ChatRequest, provider: Provider) -> ChatRequest:
        """The request with what the model that is asked and its session add to it."""
        effort = self._effort_of(provider.model)
        return structs.replace(request, effort=effort, cache_key=self._cache_key)

    def _tell_trim(self, built: Built) -> None:
        if built.trimmed is not None:
            self._emit(ContextTrimmed(**structs.asdict(built.trimmed)))

    def _bill(self, held: Reservation, usage: Usage, stated: int | None) -> Bill:
        bill = Bill(
            model=held.provider.model,
            **structs.asdict(usage),
            timestamp=self._now(),
            server=held.provider.name,
            cost=held.bill(usage, stated),
        )
        self._session.add_bill(bill)
        return bill
