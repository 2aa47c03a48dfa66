"""The sandbox's own endpoints: counts, settings and clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.faults import ANSWERS, VERDICTS, WIRE, FaultPlan
from guardtui.sandbox.replies import RefusedError, SandboxReply
from guardtui.sandbox.settings import SandboxSettings, SettingsError, duration
from guardtui.sandbox.stats import Stats, prompt_key

PREFIX = "/_sandbox/"


class Control:
    """The current settings, and the counts."""

    def __init__(self, settings: SandboxSettings, clock: SandboxClock) -> None:
        self.settings = settings
        self.stats = Stats()
        self.plan = FaultPlan(settings.faults, settings.seed)
        self._clock = clock

    def answer(self, method: str, name: str, query: Any, body: Any) -> SandboxReply:
        """Return the reply to /_sandbox/NAME. Raises `RefusedError` (400, 404, 405)."""
        handlers: dict[str, dict[str, Callable[[], SandboxReply]]] = {
            "stats": {"GET": lambda: self._stats(query), "DELETE": self._reset},
            "faults": {
                "GET": self._shown,
                "POST": lambda: self._change(body),
                "DELETE": lambda: self._change({"faults": []}),
            },
            "clock": {"GET": self._time, "POST": lambda: self._advance(body)},
        }
        if name not in handlers:
            known = ", ".join(f"{PREFIX}{handler}" for handler in handlers)
            raise RefusedError(404, f"existing paths: {known}")
        if method not in handlers[name]:
            raise RefusedError(405)
        return handlers[name][method]()

    def _stats(self, query: Any) -> SandboxReply:
        if "prompt" in query:
            key = prompt_key(query.get("profile", "sandbox"), query["prompt"])
            return SandboxReply(self.stats.of_prompt(key))
        return SandboxReply({**self.stats.shown(), "faults": self.plan.counts})

    def _reset(self) -> SandboxReply:
        self.stats.reset()
        return self._stats({})

    def _shown(self) -> SandboxReply:
        known = {"wire": WIRE, "verdict": VERDICTS, "answer": ANSWERS}
        return SandboxReply(
            {"settings": self.settings.shown(), "struck": self.plan.counts, "known": known}
        )

    def _change(self, body: Any) -> SandboxReply:
        if not isinstance(body, dict):
            raise RefusedError(400, 'not an object of settings such as {"faults": ["429=0.2"]}')
        try:
            self.settings = self.settings.changed(body)
        except SettingsError as error:
            raise RefusedError(400, str(error)) from error
        if body.keys() & {"faults", "seed"}:
            # Counts restart, so that the same faults and seed give the same results again.
            self.plan = FaultPlan(self.settings.faults, self.settings.seed)
        return self._shown()

    def _time(self) -> SandboxReply:
        return SandboxReply({"now": self._clock.stamp()})

    def _advance(self, body: Any) -> SandboxReply:
        try:
            if not isinstance(body, dict) or set(body) != {"advance"}:
                raise SettingsError('not an object such as {"advance": "3s"}')
            self._clock.advance(duration("advance", body["advance"]))
        except SettingsError as error:
            raise RefusedError(400, str(error)) from error
        return self._time()
