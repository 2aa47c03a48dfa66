"""Chat completions of a model that many endpoints serve."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guardtui.http.client import RemoteClient
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.fleet import Fleet, Member, Turn, did_nothing
from guardtui.http.openai import PATH, Completion, read_completion
from guardtui.http.retries import NOTHING_DONE, Retries

_MODELS = "/models"


class ChatFleet:
    """A model under the name that all endpoints of a fleet know it by; who opens it closes it."""

    def __init__(
        self,
        fleet: Fleet,
        model: str,
        *,
        retries: Retries | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.limit, self.model = fleet, model
        self._retries, self._draw = retries or Retries(on=NOTHING_DONE), draw

    def one_call(self) -> FleetCall:
        """What makes one call and its repetitions, each where it has not failed before."""
        return FleetCall(self.limit, self.model, self._retries, self._draw)


class FleetCall:
    """One question, asked until somebody answers."""

    def __init__(
        self, fleet: Fleet, model: str, retries: Retries, draw: Callable[[], float]
    ) -> None:
        self._fleet, self._model, self._retries, self._draw = fleet, model, retries, draw
        self._failed_at: set[Member] = set()

    @property
    def elsewhere(self) -> bool:
        """Whether an endpoint works at which this call has not failed."""
        return self._fleet.elsewhere(self._failed_at)

    async def complete(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Completion:
        """What the model answers to messages as the protocol has them. Raises ServiceError.

        What certainly did nothing is tried at another endpoint at once, and repeated where there
        is none. What may have done something is raised: the caller may have to pay for it.
        """
        asked = {"model": self._model, "messages": list(messages), **options}
        clock, repeated = self._fleet.clock, 0
        start = clock.now()
        while True:
            turn = await self._fleet.acquire(self._failed_at)
            outcome = await self._attempt(turn, asked)
            if not isinstance(outcome, ServiceError):
                return outcome
            self._failed_at.add(turn.member)
            if not did_nothing(outcome):
                raise outcome
            if not self.elsewhere and not turn.member.out:
                repeated += 1
                outcome.attempts = repeated
                wait = self._retries.wait(outcome, repeated, self._draw)
                if wait is None or clock.now() - start + wait > self._retries.total:
                    raise outcome
                if outcome.retry_after is None:  # what was asked for is kept to by its limit
                    await clock.sleep(wait)
            self._fleet.totals.retried += 1

    async def _attempt(self, turn: Turn, asked: Mapping[str, Any]) -> Completion | ServiceError:
        try:
            reply = await turn.client.request(
                "POST", PATH, json=asked, retry=False, permit=turn.permit
            )
            said = read_completion(reply.data)
        except ServiceError as error:
            self._fleet.failed(turn, error)
            return error.with_traceback(None)
        except asyncio.CancelledError:
            self._fleet.dropped(turn)
            raise
        except BaseException:
            turn.permit.release()
            raise
        self._fleet.answered(turn)
        return said


async def served_by(
    member: Member, *, timeout: float = 15.0, clock: Clock = CLOCK
) -> tuple[str, ...] | None:
    """Names of the models that an endpoint lists; None when it has no such list.

    Raises ServiceError when it does not answer, or not to this key.
    """
    async with RemoteClient(
        member.endpoint, credential=member.credential, timeout=timeout, clock=clock
    ) as client:
        try:
            data = (await client.request("GET", _MODELS, retry=False)).data
        except ServiceError as error:
            if error.kind is Kind.REQUEST or error.status == 501:
                return None
            raise
    listed = data.get("data") if isinstance(data, Mapping) else None
    if not isinstance(listed, list):
        return None
    names = [one.get("id") for one in listed if isinstance(one, Mapping)]
    return tuple(name for name in names if isinstance(name, str))
