"""What the sandbox's own paths answer: its counts, its settings and its clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from guardtui.sandbox.clock import Clock
from guardtui.sandbox.faults import ANSWERS, VERDICTS, WIRE, FaultPlan
from guardtui.sandbox.replies import RefusedError, Reply
from guardtui.sandbox.settings import Settings, SettingsError, duration
from guardtui.sandbox.stats import Stats, prompt_key

PREFIX = "/_sandbox/"


class Control:
    """The settings in force, and the counts."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.stats = Stats()
        self.plan = FaultPlan(settings.faults, settings.seed)
        self._clock = clock

    def answer(self, method: str, name: str, query: Any, body: Any) -> Reply:
        """The reply to /_sandbox/NAME; raises `RefusedError` (400, 404, 405)."""
        handlers: dict[str, dict[str, Callable[[], Reply]]] = {
            "stats": {"GET": lambda: self._stats(query), "DELETE": self._forget},
            "faults": {
                "GET": self._shown,
                "POST": lambda: self._change(body),
                "DELETE": lambda: self._change({"faults": []}),
            },
            "clock": {"GET": self._time, "POST": lambda: self._advance(body)},
        }
        if name not in handlers:
            known = ", ".join(f"{PREFIX}{one}" for one in handlers)
            raise RefusedError(404, f"there are {known}")
        if method not in handlers[name]:
            raise RefusedError(405)
        return handlers[name][method]()

    def _stats(self, query: Any) -> Reply:
        if "prompt" in query:
            key = prompt_key(query.get("profile", "sandbox"), query["prompt"])
            return Reply(self.stats.of_prompt(key))
        return Reply({**self.stats.shown(), "faults": self.plan.struck})

    def _forget(self) -> Reply:
        self.stats.reset()
        return self._stats({})

    def _shown(self) -> Reply:
        known = {"wire": WIRE, "verdict": VERDICTS, "answer": ANSWERS}
        return Reply(
            {"settings": self.settings.shown(), "struck": self.plan.struck, "known": known}
        )

    def _change(self, body: Any) -> Reply:
        if not isinstance(body, dict):
            raise RefusedError(
                400, 'an object of settings is needed, such as {"faults": ["429=0.2"]}'
            )
        try:
            self.settings = self.settings.changed(body)
        except SettingsError as error:
            raise RefusedError(400, str(error)) from error
        if body.keys() & {"faults", "seed"}:
            # Counted and drawn anew, so that the same faults and seed give the same again.
            self.plan = FaultPlan(self.settings.faults, self.settings.seed)
        return self._shown()

    def _time(self) -> Reply:
        return Reply({"now": self._clock.stamp()})

    def _advance(self, body: Any) -> Reply:
        try:
            if not isinstance(body, dict) or set(body) != {"advance"}:
                raise SettingsError('an object such as {"advance": "3s"} is needed')
            self._clock.advance(duration("advance", body["advance"]))
        except SettingsError as error:
            raise RefusedError(400, str(error)) from error
        return self._time()
