"""One step's question to the model: no dearer than may be paid, smaller where the server finds it too large, billed."""

import itertools
import random
from collections.abc import Callable

from msgspec import structs

from clio.agent.efforts import make_cache_key
from clio.agent.events import ContextTrimmed, Emit, Notice, StepStarted, StreamRestarted
from clio.agent.recovery import ModelCaller
from clio.agent.spending import Reservation, Spending
from clio.agent.stream import Answer
from clio.context.builder import Built
from clio.context.window import ContextWindow
from clio.errors import ContextOverflow
from clio.messages import Usage
from clio.providers.base import ChatRequest, Provider
from clio.security.redaction.redactor import Redactor
from clio.sessions.session import Session
from clio.sessions.state import Bill

MAX_OVERFLOWS = 3
"""How many smaller requests follow one that a server found too large."""


class Asking:
    """Asks one model about one session. What requests cost is counted in `spending`, which may forbid the next one.

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
        effort_of: Callable[[str], str],
    ) -> None:
        self._provider = provider
        self._session = session
        self._context = context
        self._spending = spending
        self._emit = emit
        self._now = now
        self._effort_of = effort_of
        self._cache_key = make_cache_key(session.id)
        self._caller = ModelCaller(provider, redactor, emit, rng)

    def take_partial(self) -> Answer | None:
        """What has come of an answer that broke off, which is no longer here then; None where none did."""
        partial, self._caller.partial = self._caller.partial, None
        return partial

    async def ask(self, step: int) -> tuple[Answer, Bill | None]:
        """The answer to what the window holds now, and its bill where the server sent one.

        Raises TooDear, ProviderRefused, the last ProviderError, and ContextOverflow when the server has refused
        `MAX_OVERFLOWS` smaller requests too.
        """
        built = self._context.build()
        self._tell_trim(built)
        wanted = built.request.max_output_tokens or self._context.limits.max_output_tokens
        with await self._spending.reserve(
            self._provider, built.prompt_tokens, output_tokens=wanted, conversation=self._session.id
        ) as held:
            if held.most_output is not None:
                built = structs.replace(
                    built, request=structs.replace(built.request, max_output_tokens=held.most_output)
                )
            self._emit(StepStarted(step=step, prompt_tokens=built.prompt_tokens))
            built, answer = await self._ask_smaller(built)
            if self._context.accepted(built, answer.usage.prompt_tokens if answer.usage else 0):
                self._session.set_token_ratio(self._context.ratio)
            if answer.usage is not None:
                return answer, self._bill(held, answer.usage, answer.cost)
            held.assume(built.prompt_tokens, len(answer.text + answer.reasoning) // 4)
            return answer, None

    async def _ask_smaller(self, built: Built) -> tuple[Built, Answer]:
        """The answer to a request, or to a smaller one where the server finds it too large, and which it was."""
        sizes: list[str] = []
        for attempt in itertools.count(1):
            try:
                return built, await self._caller.ask(
                    self._completed(built.request), large=self._context.is_large(built)
                )
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

    def _completed(self, request: ChatRequest) -> ChatRequest:
        """The request with what its model and its session add to it."""
        effort = self._effort_of(self._provider.model)
        return structs.replace(request, effort=effort, cache_key=self._cache_key)

    def _tell_trim(self, built: Built) -> None:
        if built.trimmed is not None:
            self._emit(ContextTrimmed(**structs.asdict(built.trimmed)))

    def _bill(self, held: Reservation, usage: Usage, stated: int | None) -> Bill:
        bill = Bill(
            model=self._provider.model,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            timestamp=self._now(),
            server=self._provider.name,
            cost=held.bill(usage, stated),
        )
        self._session.add_bill(bill)
        return bill
