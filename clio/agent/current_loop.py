"""The loop that answers now: put together when it is first needed, let go of with its session or its model."""

from collections.abc import Callable

from clio.agent.events import Event, StepFinished, TurnFinished
from clio.agent.loop import Loop
from clio.context.background_fetch import BackgroundFetch
from clio.context.calibrate import Calibration
from clio.context.found_windows import WindowBook
from clio.context.ratios import RatioBook
from clio.context.window import ContextWindow
from clio.mcp.servers import Servers
from clio.providers.base import Limits, Provider
from clio.sessions.session import Session
from clio.tokens import TokenEstimator
from clio.tools.files.read_log import ReadLog

Make = Callable[[Limits, TokenEstimator, ReadLog], tuple[Loop, Calibration | BackgroundFetch | None]]
"""Puts a loop together for the running session and model, and a count of its prompt or a download for later ones."""


class CurrentLoop:
    """make: called on the event loop. ratios, windows: what is known of models, and what is found out meanwhile."""

    def __init__(
        self,
        make: Make,
        *,
        session_of: Callable[[], Session],
        provider_of: Callable[[], Provider],
        servers: Servers,
        ratios: RatioBook,
        windows: WindowBook,
    ) -> None:
        self._make = make
        self._session_of = session_of
        self._provider_of = provider_of
        self._servers = servers
        self._ratios = ratios
        self._windows = windows
        self._loop: Loop | None = None
        self._calibration: Calibration | BackgroundFetch | None = None
        self._estimator = TokenEstimator()  # of this session and model, once there is a loop
        self._read_log = ReadLog()  # of this session: what another one read, this one's model has not seen

    @property
    def context(self) -> ContextWindow | None:
        """What its requests are built from; None before `ready`."""
        return self._loop.context if self._loop else None

    async def ready(self) -> Loop:
        """The loop; the server may be asked for the model's limits first."""
        if self._loop is None:
            limits = self._windows.fitted(self._provider_of(), await self._provider_of().limits())
            await self._servers.settle()
            self._estimator = self._ratios.estimator(self._session_of(), self._provider_of().model)
            self._loop, self._calibration = self._make(limits, self._estimator, self._read_log)
        return self._loop

    def hear(self, event: Event) -> None:
        """To be told of what the loop says: an answer shows how large the window is, and lets the prompt be counted."""
        if isinstance(event, StepFinished | TurnFinished) and self._loop is not None:
            self._windows.keep(self._provider_of(), self._loop.context.limits)  # a refusal may have told its size
        if isinstance(event, StepFinished) and self._calibration is not None:
            self._calibration.begin()  # the server has answered; if it has billed, nothing happens

    def leave(self) -> None:
        """Another model is to answer, or other tools; what this one was found to bill is kept for later ones."""
        if self._calibration is not None:
            self._calibration.stop()
        if self._estimator.has_news:
            self._ratios.keep(self._provider_of().model, self._estimator.ratio)
        self._estimator = TokenEstimator()
        self._calibration = self._loop = None

    def leave_session(self) -> None:
        """Another session is to run."""
        self.leave()
        self._read_log = ReadLog()

    async def close(self) -> None:
        """Let go of it for good, and wait for a count that still runs."""
        calibration = self._calibration
        self.leave()
        if calibration is not None:
            await calibration.close()
