"""Concurrency and rate limits that back off when a service refuses, and recover."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from types import TracebackType

from guardtui.domain.errors import GuardtuiError
from guardtui.http.clock import CLOCK, Clock, Timer

DEFAULT_ALLOWED = 5
_BACK_OFF = 0.5
"""Permits removed for each refusal: if all requests are refused, this halves their number."""
_GROWTH = 0.2
"""Part of a permit that each round of successful requests restores."""
_MARGIN = 1.02
"""Factor by which a rate's window is extended, for varying network delays."""
_CATCH_UP = 0.02
"""Seconds by which a request may be early after late timers."""
_SPREAD = 0.0005
"""Minimum seconds between two permits.

Requests sent together are answered together, and wait for one another at every turn of the event
loop; spread out, each is handled while others are pending.
"""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `sends` in any window of `seconds`."""

    sends: int
    seconds: float = 1.0

    def __post_init__(self) -> None:
        if self.sends < 1 or not (0 < self.seconds < math.inf):
            raise ValueError("a rate needs at least one request and a positive duration")

    @classmethod
    def per_second(cls, value: float) -> Rate:
        """Return the rate: 0.5 is one in two seconds; values above 1 are rounded down."""
        if not (0 < value < math.inf):
            raise ValueError("a rate is a number above 0")
        return cls(int(value)) if value >= 1 else cls(1, 1 / value)


class PauseTooLongError(GuardtuiError):
    """The service requested a pause longer than the patience of a call, in seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"the service requested a pause of {seconds:.0f} s")


class _Pace:
    """Spreads requests evenly over the window of a rate, and never exceeds it in any window."""

    def __init__(self, rate: Rate) -> None:
        self._window = rate.seconds * _MARGIN
        self._spacing = self._window / rate.sends
        self._sent: deque[float] = deque(maxlen=rate.sends)
        self._next = -math.inf

    def due(self) -> float:
        """Return the time at which the next request is allowed."""
        paced = self._next - _CATCH_UP
        full = len(self._sent) == self._sent.maxlen
        return max(paced, self._sent[0] + self._window) if full else paced

    def sent(self, now: float) -> None:
        self._sent.append(now)
        self._next = max(now, self._next) + self._spacing


@dataclass(slots=True)
class Totals:
    """Totals since the limit was created; `refused` counts responses with status 429."""

    sent: int = 0
    refused: int = 0
    retried: int = 0


class Permit:
    """Permission to send one request; its holder reports the outcome once."""

    __slots__ = ("_limit", "_open")

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit, self._open = limit, True

    def accepted(self) -> None:
        """Report that the service answered normally."""
        if self._open:
            self._limit._grow()
        self._close()

    def refused(self, wait: float | None = None) -> None:
        """Report a refusal (429), with the wait in seconds if the service requested one."""
        if self._open:
            self._limit._back_off()
        if wait:
            # Before returning the permit, which would otherwise go to the next in the queue.
            self._limit.pause(wait)
        self._close()

    def release(self) -> None:
        """Report any other end; does nothing if the permit was returned before."""
        self._close()

    def _close(self) -> None:
        if self._open:
            self._open = False
            self._limit._closed()

    def __enter__(self) -> Permit:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


@dataclass(slots=True, eq=False)
class _Waiter:
    future: asyncio.Future[Permit]
    until: float


class AdaptiveLimit:
    """Permits to send, first come, first served; for one event loop.

    At most `allowed` are out at a time. Each refusal removes half a permit from that number, so it
    decreases in proportion to the refused share, like congestion windows in DCTCP (RFC 8257, 3.3):
    if all requests are refused it halves, a single refusal hardly counts. Successful requests raise
    it again, by one in five rounds, up to `allowed`. A pause applies to all callers. With a `rate`,
    permits are issued evenly, and never more than it allows in any window of its length. A permit
    whose holder was cancelled before sending counts as well.
    """

    def __init__(
        self, allowed: int = DEFAULT_ALLOWED, *, rate: Rate | None = None, clock: Clock = CLOCK
    ) -> None:
        if allowed < 1:
            raise ValueError("at least one request at a time must be allowed")
        self.allowed, self.rate, self.totals = allowed, rate, Totals()
        self.clock = clock
        self._pace = None if rate is None else _Pace(rate)
        self._size = float(allowed)
        self._in_flight = 0
        self._given_at = -math.inf
        self._paused_until = -math.inf
        self._waiters: deque[_Waiter] = deque()
        self._timer: Timer | None = None
        self._held = False

    @property
    def in_flight(self) -> int:
        """Number of permits that are out."""
        return self._in_flight

    @property
    def current(self) -> int:
        """Number of permits that may be out at present, from 1 to `allowed`."""
        return max(1, int(self._size))

    @property
    def paused(self) -> float:
        """Seconds until the requested pause is over; 0 without one."""
        return max(0.0, self._paused_until - self.clock.now())

    @property
    def held(self) -> bool:
        """Return whether `hold` blocks all permits."""
        return self._held

    def hold(self, held: bool) -> None:
        """Block or unblock new permits; those that are out stay valid."""
        self._held = held
        self._serve()

    def pause(self, seconds: float) -> None:
        """Block permits for everyone for so long; a longer pause in progress is kept."""
        self._paused_until = max(self._paused_until, self.clock.now() + seconds)
        for waiter in self._waiters:
            self._check_patience(waiter)
        self._serve()

    async def acquire(self, patience: float = math.inf) -> Permit:
        """Wait for a permit.

        Raises PauseTooLongError as soon as a pause would last longer than `patience` seconds.
        """
        now = self.clock.now()
        free = not self._held and self._in_flight < self.current
        if not self._waiters and free and self._due() <= now:
            return self._give(now)
        waiter = _Waiter(asyncio.get_running_loop().create_future(), now + patience)
        self._waiters.append(waiter)
        self._check_patience(waiter)
        self._serve()
        try:
            return await waiter.future
        except asyncio.CancelledError:
            future = waiter.future
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result().release()
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                self._serve()

    def _due(self) -> float:
        paced = -math.inf if self._pace is None else self._pace.due()
        return max(self._paused_until, self._given_at + _SPREAD, paced)

    def _check_patience(self, waiter: _Waiter) -> None:
        if self._paused_until > waiter.until and not waiter.future.done():
            waiter.future.set_exception(PauseTooLongError(self.paused))

    def _give(self, now: float) -> Permit:
        if self._pace is not None:
            self._pace.sent(now)
        self._given_at = now
        self._in_flight += 1
        self.totals.sent += 1
        return Permit(self)

    def _serve(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiters:
            if self._waiters[0].future.done():
                self._waiters.popleft()
                continue
            if self._held or self._in_flight >= self.current:
                return  # called again when a permit is returned
            now = self.clock.now()
            due = self._due()
            if due > now:
                self._timer = self.clock.call_later(due - now, self._serve)
                return
            self._waiters.popleft().future.set_result(self._give(now))

    def _back_off(self) -> None:
        self.totals.refused += 1
        self._size = max(1.0, self._size - _BACK_OFF)

    def _grow(self) -> None:
        self._size = min(float(self.allowed), self._size + _GROWTH / self._size)

    def _closed(self) -> None:
        self._in_flight -= 1
        if self._waiters:
            self._serve()
