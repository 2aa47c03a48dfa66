"""Remote scans on the main screen: their actions, and the line that shows how far they are."""

from __future__ import annotations

from collections.abc import Mapping

from guardtui.app.services import Services
from guardtui.app.state import AppState, ScanStatus, StoppedBy
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_RESUMING = {
    "scan": "scans",
    "scan_missing": "scans what is missing",
    "check_flips": "goes on with the check",
}
"""What a key that goes on from a stopped scan does, by its action."""


class Scanning:
    """Starts, pauses and stops scans, and shows `AppState.scan`."""

    def __init__(self, services: Services, window: Window) -> None:
        self._window, self._scans, self._store = window, services.scans, services.store
        scans = services.scans
        self._known = (False, False)
        self.actions: Mapping[str, ActionMethod] = {
            "scan": scans.scan,
            "scan_options": scans.scan_options,
            "scan_missing": scans.scan_missing,
            "check_flips": scans.check_flips,
            "pause_scan": scans.pause,
            "stop_scan": scans.stop,
            "swap_preview": scans.swap_preview,
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show what is known of the scan."""
        if new.scan is old.scan or not self._window.is_running:
            return
        stopped = None if new.scan is None else new.scan.stopped
        keys = ""
        if stopped is not None:
            action = self.resume_action or "scan"
            keys = f"{self._window.first_key(action)} {_RESUMING[action]}"
        self._window.panes.scan.show(new.scan, keys)
        if stopped is StoppedBy.EDIT and new.scan is not None:
            again = self._window.first_key("scan"), self._window.first_key("undo")
            self._window.notify(
                f"{new.scan.who} {new.scan.step}. {again[0]} scans the definition as it is now; "
                f"{again[1]} goes back to the one that was scanned.",
                severity="warning",
            )
        if _keys_of(new.scan) != _keys_of(old.scan):
            self._window.refresh_keys()

    @property
    def resume_action(self) -> str:
        """The action that goes on with what the author stopped, a scan or a check; "" without."""
        scan = self._store.state.scan
        if scan is None or scan.stopped is not StoppedBy.AUTHOR or self._scans.under_way:
            return ""
        if scan.check is not None:
            return "check_flips"
        return "" if self._scans.missing_refusal else "scan_missing"

    def poll(self) -> None:
        """Read how far the scan is."""
        self._scans.poll()
        now = self._scans.under_way, self._scans.scanning
        if now != self._known:
            self._known = now
            self._window.refresh_keys()


def _keys_of(scan: ScanStatus | None) -> object:
    """What the keys shown for a scan depend on."""
    if scan is None:
        return None
    held = scan.traffic is not None and scan.traffic.held
    return scan.progress is not None, held, scan.stopped
