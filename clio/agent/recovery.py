"""Asks the model and keeps asking through rate limits, failing servers and broken streams."""

import asyncio
import random

from clio.agent.events import Emit, Retrying
from clio.agent.stream import Answer, Display, receive
from clio.errors import ContextOverflow, ProviderError, RateLimited, ServerFailed, StreamBroken
from clio.providers.base import ChatRequest, Provider
from clio.providers.retry import MAX_RETRIES, away_delay, retry_delay
from clio.security.redaction.redactor import Redactor

_EMPTY_RETRIES = 2
_NEXT_STEP = "say it again in a minute, or choose another model with --model"


class ModelCaller:
    """Sends one request until it is answered, at most `MAX_RETRIES` times more than once."""

    def __init__(self, provider: Provider, redactor: Redactor, emit: Emit, rng: random.Random) -> None:
        self._provider = provider
        self._redactor = redactor
        self._emit = emit
        self._rng = rng
        self._has_answered = False
        self.partial: Answer | None = None  # what has come of the answer now streaming; None between answers

    async def ask(self, request: ChatRequest, *, large: bool = False, retries: int = MAX_RETRIES) -> Answer:
        """The whole answer, shown while it came. Raises ProviderRefused, ContextOverflow, or the last ProviderError.

        large: the request takes so much of the window that an empty answer, three times, means it does not fit:
            llama.cpp's Python server says it in no other way.
        retries: how many times more than once it is sent.
        """
        display = Display(self._emit)
        attempt = 0
        while True:
            answer = self.partial = Answer(self._provider.model)
            try:
                await receive(self._provider, request, answer, display, self._redactor)
            except ProviderError as error:
                attempt += 1
                too_large = large and isinstance(error, StreamBroken) and answer.is_empty
                most = min(_EMPTY_RETRIES if too_large else MAX_RETRIES, retries)
                self._has_answered = self._has_answered or isinstance(error, StreamBroken)
                if not self._may_pass(error) or attempt > most:
                    if too_large:
                        raise ContextOverflow(str(error)) from error
                    if isinstance(error, RateLimited) and error.retryable:
                        raise RateLimited(f"{error}, {attempt} times: {_NEXT_STEP}", error.retry_after_s) from error
                    if type(error) is ServerFailed and error.retryable and not error.away:
                        raise ServerFailed(f"{error}, {attempt} times: {_NEXT_STEP}") from error
                    raise
                await self._wait(attempt, most, error)
                display.restart()
            else:
                self.partial = None
                self._has_answered = True
                return answer

    def _may_pass(self, error: ProviderError) -> bool:
        """Whether another try can help: a server that was there comes back, one nobody has seen was named wrongly."""
        return error.retryable or (self._has_answered and isinstance(error, ServerFailed) and error.away)

    async def _wait(self, attempt: int, most: int, error: ProviderError) -> None:
        after_s = error.retry_after_s if isinstance(error, RateLimited | ServerFailed) else None
        if isinstance(error, ServerFailed) and error.away:
            after_s = away_delay(attempt)
        delay_s = retry_delay(attempt, after_s, self._rng)
        self._emit(Retrying(attempt=attempt, of=most, delay_s=round(delay_s, 2), reason=str(error)))
        await asyncio.sleep(delay_s)
