"""Remote scans on the main screen: their actions and their progress line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from guardtui.app.experiments.session_experiments import UNDER_WAY, Experiments
from guardtui.app.problems import problems_shown
from guardtui.app.scan.run import Scans
from guardtui.app.services import Services
from guardtui.app.state import AppState, ScanStatus, StopReason
from guardtui.tui.experiments.text import experiment_text
from guardtui.tui.guardrail.dialog import GuardrailFeature
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.scan.pane import scan_text, with_counts_of

_RESUMING = {
    "scan": "scans",
    "scan_missing": "scans what is missing",
    "check_flips": "goes on with the check",
}
"""Effect of the key that resumes a stopped scan, by its action."""


class ScanFeature:
    """Starts, pauses and stops scans, and shows `AppState.scan` and `AppState.experiment`."""

    follows = ("scan", "evaluation", "experiment", "topic")

    def __init__(self, services: Services, window: Window, guardrail: GuardrailFeature) -> None:
        """`guardrail` asks for a guardrail if none is configured."""
        self._window, self._scans, self._store = window, services.scans, services.store
        self._experiments = services.experiments
        self._guardrails, self._guardrail = services.guardrails, guardrail
        scans = services.scans
        self._known = (False, False)
        self.actions: Mapping[str, ActionMethod] = {
            "scan": lambda: self._with_guardrail(scans.scan),
            "scan_options": lambda: self._with_guardrail(scans.scan_options),
            "scan_missing": lambda: self._unless_experimenting(scans.scan_missing),
            "check_flips": lambda: self._with_guardrail(scans.check_flips),
            "pause_scan": lambda: self._asking.pause(),
            "stop_scan": lambda: self._asking.stop(),
            "swap_preview": scans.swap_preview,
        }

    @property
    def _asking(self) -> Scans | Experiments:
        return self._experiments if self._experiments.under_way else self._scans

    def _with_guardrail(self, scan: Callable[[], None]) -> None:
        """Scan; without a guardrail the author chooses one first."""
        self._unless_experimenting(lambda: self._scan_or_choose(scan))

    def _unless_experimenting(self, scan: Callable[[], None]) -> None:
        if self._experiments.under_way:
            self._window.notify(UNDER_WAY)
        else:
            scan()

    def _scan_or_choose(self, scan: Callable[[], None]) -> None:
        with problems_shown(self._window):
            reason = "" if self._scans.under_way else self._guardrails.refusal
            if reason:
                self._window.start(self._choose_first(reason, scan), group="dialog", exclusive=True)
            else:
                scan()

    async def _choose_first(self, reason: str, scan: Callable[[], None]) -> None:
        if await self._guardrail.choose(reason):
            scan()

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show the progress of the scan, or else of the experiment."""
        if not self._window.is_running:
            return
        experiment = new.experiment
        if new.scan is None and experiment is not None:
            edited = new.topic != experiment.topic
            keys = "" if self._experiments.running else self._window.first_key("experiment")
            self._window.panes.scan.show(
                lambda width: experiment_text(experiment, width, edited=edited), keys
            )
            return
        if new.scan is old.scan is None and experiment is old.experiment:
            return
        status = with_counts_of(new.evaluation, new.scan)
        stopped = None if new.scan is None else new.scan.stopped
        keys = ""
        if stopped is not None:
            action = self.resume_action or "scan"
            keys = f"{self._window.first_key(action)} {_RESUMING[action]}"
        line = None if status is None else partial(scan_text, status)
        self._window.panes.scan.show(line, keys)
        if stopped is StopReason.EDIT and new.scan is not None and new.scan is not old.scan:
            scan_key, undo_key = self._window.first_key("scan"), self._window.first_key("undo")
            self._window.notify(
                f"{new.scan.who} {new.scan.step}. {scan_key} scans the definition as it is now; "
                f"{undo_key} goes back to the one that was scanned.",
                severity="warning",
            )
        if _keys_of(new.scan) != _keys_of(old.scan):
            self._window.refresh_keys()

    @property
    def resume_action(self) -> str:
        """The action that resumes a scan or check that the author stopped, or ""."""
        scan = self._store.state.scan
        if scan is None or scan.stopped is not StopReason.AUTHOR or self._scans.under_way:
            return ""
        if scan.check is not None:
            return "check_flips"
        return "" if self._scans.missing_refusal else "scan_missing"

    def poll(self) -> None:
        """Update the progress of the scan."""
        self._scans.poll()
        now = self._scans.under_way, self._scans.results.scanning
        if now != self._known:
            self._known = now
            self._window.refresh_keys()


def _keys_of(scan: ScanStatus | None) -> object:
    """Return what the keys of the footer depend on."""
    if scan is None:
        return None
    paused = scan.traffic is not None and scan.traffic.held
    return scan.progress is not None, paused, scan.stopped
