"""Experiments on the main screen: one key begins one, shows it, and keeps what it proves."""

from __future__ import annotations

from collections.abc import Mapping

from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.tui.experiments.dialogs import ExperimentPage
from guardtui.tui.guardrail.dialog import GuardrailFeature
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window


class ExperimentFeature:
    """Begins experiments, and shows `AppState.experiment` on a page."""

    follows = ("experiment",)

    def __init__(self, services: Services, window: Window, guardrail: GuardrailFeature) -> None:
        """`guardrail` asks for a guardrail if none is configured."""
        self._services, self._window, self._guardrail = services, window, guardrail
        self._known = (False, False)
        self.actions: Mapping[str, ActionMethod] = {
            "experiment": window.action(self._experiment, group="experiment page")
        }

    @property
    def footer(self) -> tuple[str, ...]:
        """Actions that come first in the footer."""
        experiments = self._services.experiments
        if experiments.running:
            return ("pause_scan", "stop_scan", "experiment")
        if experiments.under_way:
            return ("stop_scan",)
        return ("experiment",) if self._services.state.experiment is not None else ()

    async def announce(self) -> None:
        """Say that this definition has an unfinished experiment, and the key that goes on."""
        with problems_shown(self._window):
            if unfinished := await self._services.experiments.unfinished():
                key = self._window.first_key("experiment")
                self._window.notify(f"{unfinished} {key} goes on.", seconds=READING_TIME)

    async def _experiment(self) -> None:
        """Show the experiment, or begin one; without a guardrail the author chooses one first."""
        experiments, state = self._services.experiments, self._services.state
        if state.experiment is not None:
            await self._show()
        elif experiments.under_way:
            self._window.notify("The experiment is being prepared.")
        else:
            await self._begin()

    async def _begin(self) -> None:
        with problems_shown(self._window):
            reason = self._services.guardrails.refusal
            if reason and not await self._guardrail.choose(reason):
                return
            self._services.experiments.begin()

    async def _show(self) -> None:
        experiments, store = self._services.experiments, self._services.store
        page = ExperimentPage(
            lambda: store.state.experiment,
            lambda: store.state.topic,
            running=lambda: experiments.under_way,
            pause=experiments.pause,
            stop=experiments.stop,
        )
        wish = await self._window.show(page)
        if wish == "keep":
            await experiments.keep()
        elif wish is not None:
            await self._begin()

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Update the keys of the footer."""
        before, now = old.experiment, new.experiment
        if before is None or now is None or before.held != now.held:
            self._window.refresh_keys()

    def poll(self) -> None:
        """Update the progress of the experiment."""
        experiments = self._services.experiments
        experiments.poll()
        now = experiments.under_way, experiments.running
        if now != self._known:
            self._known = now
            self._window.refresh_keys()
