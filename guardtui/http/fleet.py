"""Many endpoints that serve the same: calls go where there is room, and not where they fail."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.clock import CLOCK, Clock, Timer
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.limits import AdaptiveLimit, Permit, Rate, Totals
from guardtui.http.secret import Credential

_FAILURES = 3
"""Failed calls in a row after which an endpoint is set aside."""
_REFUSALS = 2
"""The same for answers with status 429, for which its limit gives way as well."""
_ASIDE, _LONGEST_ASIDE = 1.0, 60.0
"""Seconds that an endpoint is set aside for at first, and at most; each time twice as long."""
_MOMENT = 0.001
"""Seconds that the one with the most room is waited for: permits of a limit are not given together.
"""
_PATIENCE = 300.0
"""Seconds of a pause, asked for by a service, from which on nobody waits for it."""
_FAULTY = frozenset(
    {Kind.UNREACHABLE, Kind.BROKEN, Kind.TIMEOUT, Kind.SERVER, Kind.CONTENT, Kind.SIZE}
)
"""Failures that are the endpoint's, not the question's."""
_ELSEWHERE = frozenset({401, 402, 403, 404, 405, 407, 410, 501, 505})
"""Statuses that may be another endpoint's answer to nothing: it did not do what it was asked."""
_AMBIGUOUS = 403
"""Says that the key may not do this, or that what stands before a model dislikes this prompt."""


@dataclass(eq=False, slots=True)
class Member:
    """One endpoint of a fleet: where it is, how much it is sent at a time, how it fared.

    It outlives the fleet: who is `out` (the reason why it is asked no more) stays so in the next
    run. `calls` were sent, of which `errors` failed and `refused` were too many (429); `aside` is
    how often it was set aside.
    """

    endpoint: Endpoint
    allowed: int
    rate: Rate | None = None
    credential: Credential | None = None
    calls: int = 0
    errors: int = 0
    refused: int = 0
    aside: int = 0
    out: str = ""
    last: str = ""
    kind: Kind | None = field(default=None, repr=False)
    _reached: bool = field(default=False, repr=False)
    _answered: bool = field(default=False, repr=False)
    _failed_in_a_row: int = field(default=0, repr=False)
    _refused_in_a_row: int = field(default=0, repr=False)
    _denied_in_a_row: int = field(default=0, repr=False)
    _rounds: int = field(default=0, repr=False)
    _until: float = field(default=-math.inf, repr=False)

    @property
    def suspect(self) -> bool:
        """Whether it failed so often that it is sent no more than one call, to see how it is."""
        return self._failed_in_a_row >= _FAILURES or self._refused_in_a_row >= _REFUSALS

    def answered(self) -> None:
        """It answered as it should."""
        self._reached = self._answered = True
        self._failed_in_a_row = self._refused_in_a_row = self._denied_in_a_row = self._rounds = 0
        self._until = -math.inf
        if self.kind is Kind.CREDENTIALS:
            self.out = ""  # what it forbade was one prompt
        self.kind = None

    def failed(self, error: ServiceError, now: float) -> None:
        """A call failed at `now`."""
        self.last, self.kind = error.message, error.kind
        self._reached = self._reached or error.kind is not Kind.UNREACHABLE
        if error.kind is Kind.LIMITED and not error.final:
            self.refused += 1
            self._refused_in_a_row += 1
        else:
            self.errors += 1
            if error.status == _AMBIGUOUS:
                self._denied_in_a_row += 1
                if not self._answered and self._denied_in_a_row >= _FAILURES:
                    self.out = error.message
            elif _is_of_endpoint(error):
                self.out = error.message
            elif error.kind in _FAULTY:
                self._failed_in_a_row += 1
            else:
                self._failed_in_a_row = 0  # it answered: something is wrong with the question
        # What was sent before it was set aside says nothing new.
        if self.suspect and self._until <= now:
            self.aside += 1
            self._rounds += 1
            self._until = now + min(_LONGEST_ASIDE, _ASIDE * 2.0 ** min(self._rounds - 1, 30))

    def is_aside(self, now: float) -> bool:
        """Whether it is left alone for now."""
        return self._until > now

    def is_lost(self, now: float, retries: int) -> bool:
        """Whether nobody need wait for it: out, never reached, or set aside again and again."""
        aside = self._until > now and (not self._reached or self._rounds > retries)
        return bool(self.out) or aside

    @property
    def back_at(self) -> float:
        """When it is asked again after it was set aside."""
        return self._until


def _is_of_endpoint(error: ServiceError) -> bool:
    """Whether the endpoint will never answer anything: its key, its address, its certificate."""
    if not error.final or error.status == 200:
        return False
    never = (Kind.CREDENTIALS, Kind.REDIRECT, Kind.UNREACHABLE, Kind.LIMITED)
    return error.kind in never or error.status in _ELSEWHERE


def did_nothing(error: ServiceError) -> bool:
    """Whether the endpoint certainly did not do what it was asked, so that another one may."""
    if error.status == 200:
        return False
    return (
        error.kind in (Kind.UNREACHABLE, Kind.LIMITED, Kind.REDIRECT) or error.status in _ELSEWHERE
    )


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to send one request to one endpoint. Whoever has it tells the fleet how it went."""

    member: Member
    client: RemoteClient
    permit: Permit


@dataclass(eq=False, slots=True)
class _Waiter:
    future: asyncio.Future[Turn]
    avoided: Collection[Member]


class _Limit(AdaptiveLimit):
    """The limit of one endpoint, which tells the fleet when there is room."""

    def __init__(self, member: Member, clock: Clock, changed: Callable[[], None]) -> None:
        super().__init__(member.allowed, rate=member.rate, clock=clock)
        self._changed = changed

    def _closed(self) -> None:
        super()._closed()
        self._changed()


class Fleet:
    """Gives out turns at its members, first come, first served; for one event loop.

    A turn is at the member with the most free room, one that did not just fail before one that
    did. Each keeps to its own limit, rate and pauses. One that fails three times in a row (or
    answers 429 twice) is set aside for a second, then gets one call to see how it is, and is set
    aside for twice as long, up to a minute, when that fails too. What can never work (401, 404, a
    redirect, a bad certificate) puts it out, and `went_out` is told. When all are out, were never
    reached or were set aside more than `retries` times in a row, calls fail at once.

    `given` is called for each turn, in the task that asked for it.
    """

    def __init__(
        self,
        members: Sequence[Member],
        *,
        retries: int = 5,
        timeout: float = 120.0,
        clock: Clock = CLOCK,
        given: Callable[[], None] = lambda: None,
        went_out: Callable[[Member], None] = lambda member: None,
    ) -> None:
        if not members:
            raise ValueError("a fleet has at least one endpoint")
        self.members, self.clock, self.totals = tuple(members), clock, Totals()
        self._retries, self._given, self._went_out = retries, given, went_out
        self._limits = {one: _Limit(one, clock, self._changed) for one in self.members}
        self._clients = {
            one: RemoteClient(
                one.endpoint,
                credential=one.credential,
                limit=self._limits[one],
                timeout=timeout,
                clock=clock,
            )
            for one in self.members
        }
        self._waiters: dict[_Waiter, None] = {}
        self._timer: Timer | None = None
        self._due = False
        self._held = False

    @property
    def allowed(self) -> int:
        """How many calls may be under way at most, over all endpoints."""
        return sum(one.allowed for one in self.members)

    @property
    def current(self) -> int:
        """How many may be under way at present, at least 1."""
        now = self.clock.now()
        rooms = (
            1 if one.suspect else self._limits[one].current
            for one in self.members
            if self._works(one, now)
        )
        return max(1, sum(rooms))

    @property
    def in_flight(self) -> int:
        """How many calls are under way, over all endpoints."""
        return sum(limit.in_flight for limit in self._limits.values())

    @property
    def paused(self) -> float:
        """Seconds until an endpoint is asked again, when none is at present; else 0."""
        now = self.clock.now()
        back = [
            max(one.back_at - now, self._limits[one].paused) for one in self.members if not one.out
        ]
        return max(0.0, min(back, default=0.0))

    @property
    def held(self) -> bool:
        """Whether `hold` keeps all turns back."""
        return self._held

    @property
    def working(self) -> int:
        """How many endpoints are neither out nor set aside."""
        now = self.clock.now()
        return sum(not one.out and not one.is_aside(now) for one in self.members)

    def hold(self, held: bool) -> None:
        """Give no turn until told to go on; calls under way are finished."""
        self._held = held
        self._serve()

    def elsewhere(self, failed_at: Collection[Member]) -> bool:
        """Whether there is a working endpoint besides those at which a call has failed."""
        now = self.clock.now()
        return any(self._works(one, now) and one not in failed_at for one in self.members)

    async def acquire(self, failed_at: Collection[Member] = ()) -> Turn:
        """A turn, at another endpoint than those `failed_at` as long as another one works.

        Raises ServiceError when there is none that could be waited for.
        """
        turn = None if self._waiters or self._held else self._turn(failed_at)
        if turn is None:
            if (lost := self._lost()) is not None:
                raise lost
            waiter = _Waiter(asyncio.get_running_loop().create_future(), failed_at)
            self._waiters[waiter] = None
            self._serve()
            turn = await self._waited(waiter)
        self._given()
        return turn

    async def _waited(self, waiter: _Waiter) -> Turn:
        try:
            return await waiter.future
        except asyncio.CancelledError:
            future = waiter.future
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result().permit.release()
            raise
        finally:
            self._waiters.pop(waiter, None)

    def answered(self, turn: Turn) -> None:
        """The endpoint answered as it should."""
        turn.member.calls += 1
        turn.member.answered()
        turn.permit.release()
        self._changed()

    def failed(self, turn: Turn, error: ServiceError) -> None:
        """The call failed."""
        member = turn.member
        member.calls += 1
        was_out = bool(member.out)
        member.failed(error, self.clock.now())
        self.totals.refused += error.kind is Kind.LIMITED
        turn.permit.release()
        if member.out and not was_out:
            self._went_out(member)
        self._changed()

    def dropped(self, turn: Turn) -> None:
        """The call was cancelled."""
        turn.member.calls += 1
        turn.permit.release()

    async def aclose(self) -> None:
        """Close all connections; calls that are under way fail."""
        if self._timer is not None:
            self._timer.cancel()
        for client in self._clients.values():
            await client.aclose()

    async def __aenter__(self) -> Fleet:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _works(self, one: Member, now: float) -> bool:
        return not one.out and not one.is_aside(now) and not self._limits[one].paused

    def _room(self, one: Member) -> int:
        """How many more calls it may be sent, whenever time allows."""
        limit = self._limits[one]
        return max(0, min(limit.free, 1 - limit.in_flight)) if one.suspect else limit.free

    def _turn(self, failed_at: Collection[Member]) -> Turn | None:
        now = self.clock.now()
        ready = [
            one
            for one in self.members
            if not one.out
            and not one.is_aside(now)
            and self._room(one)
            and self._limits[one].due <= _MOMENT
        ]
        return self._turn_at(ready, failed_at) if ready else None

    def _turn_at(self, ready: Iterable[Member], failed_at: Collection[Member]) -> Turn | None:
        """A turn at one of those that have room."""
        if failed_at and self.elsewhere(failed_at):
            ready = [one for one in ready if one not in failed_at]
        # Of those with as much room the one that was asked least: a fleet of fast ones is even.
        best = max(
            ready,
            key=lambda one: (not one._failed_in_a_row, self._room(one), -self._sent(one)),
            default=None,
        )
        permit = None if best is None else self._limits[best].take()
        if best is None or permit is None:
            return None
        self.totals.sent += 1
        return Turn(best, self._clients[best], permit)

    def _sent(self, one: Member) -> int:
        return self._limits[one].totals.sent

    def _changed(self) -> None:
        """Look for room soon: not before who gave it back has said how the call went."""
        if self._waiters and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._serve)

    def _serve(self) -> None:
        self._due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held:
            return
        while self._waiters and self._serve_one():
            pass
        if not self._waiters:
            return
        if self._lost() is not None:
            for waiter in self._waiters:
                if not waiter.future.done() and (lost := self._lost()):
                    waiter.future.set_exception(lost)
            self._waiters.clear()
        elif (delay := self._next()) is not None:
            self._timer = self.clock.call_later(delay, self._serve)

    def _serve_one(self) -> bool:
        """Give a turn to the first who can have one; False when nobody can."""
        for waiter in self._waiters:
            if waiter.future.done():  # cancelled, and about to leave
                del self._waiters[waiter]
                return True
            turn = self._turn(waiter.avoided)
            if turn is not None:
                del self._waiters[waiter]
                waiter.future.set_result(turn)
                return True
            if not waiter.avoided:
                return False  # who may go anywhere finds nothing: nobody does
        return False

    def _next(self) -> float | None:
        """Seconds until there may be room by the passing of time; None when only answers help."""
        now = self.clock.now()
        delays = [
            max(one.back_at - now, self._limits[one].due)
            for one in self.members
            if not one.out and self._room(one)
        ]
        return min((delay for delay in delays if delay > 0), default=None)

    def _lost(self) -> ServiceError | None:
        """Why nobody will answer; None as long as somebody may."""
        now = self.clock.now()
        for one in self.members:
            if not one.is_lost(now, self._retries) and self._limits[one].paused <= _PATIENCE:
                return None
        kinds = {one.kind for one in self.members}
        told = [f"{one.endpoint.authority}: {one.out or one.last}" for one in self.members]
        if len(told) > 1:
            message = f"none of {len(told)} endpoints answers: {'; '.join(told)}"
        else:
            message = self.members[0].out or self.members[0].last
        kind = Kind.CREDENTIALS if kinds == {Kind.CREDENTIALS} else Kind.UNREACHABLE
        return ServiceError(kind, message, final=True)
