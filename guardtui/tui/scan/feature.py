"""Remote scans on the main screen: their actions and their progress line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.app.state import AppState, ScanStatus, StopReason
from guardtui.tui.guardrail.dialog import GuardrailFeature
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.scan.pane import with_counts_of

_RESUMING = {
    "scan": "scans",
    "scan_missing": "scans what is missing",
    "check_flips": "goes on with the check",
}
"""Effect of the key that resumes a stopped scan, by its action."""


class ScanFeature:
    """Starts, pauses and stops scans, and shows `AppState.scan`."""

    follows = ("scan", "evaluation")

    def __init__(self, services: Services, window: Window, guardrail: GuardrailFeature) -> None:
        """`guardrail` asks for a guardrail if none is configured."""
        self._window, self._scans, self._store = window, services.scans, services.store
        self._guardrails, self._guardrail = services.guardrails, guardrail
        scans = services.scans
        self._known = (False, False)
        self.actions: Mapping[str, ActionMethod] = {
            "scan": lambda: self._with_guardrail(scans.scan),
            "scan_options": lambda: self._with_guardrail(scans.scan_options),
            "scan_missing": scans.scan_missing,
            "check_flips": lambda: self._with_guardrail(scans.check_flips),
            "pause_scan": scans.pause,
            "stop_scan": scans.stop,
            "swap_preview": scans.swap_preview,
        }

    def _with_guardrail(self, scan: Callable[[], None]) -> None:
        """Scan; without a guardrail the author chooses one first."""
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
        """Show the progress of the scan."""
        if not self._window.is_running or new.scan is old.scan is None:
            return
        status = with_counts_of(new.evaluation, new.scan)
        stopped = None if new.scan is None else new.scan.stopped
        keys = ""
        if stopped is not None:
            action = self.resume_action or "scan"
            keys = f"{self._window.first_key(action)} {_RESUMING[action]}"
        self._window.panes.scan.show(status, keys)
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
