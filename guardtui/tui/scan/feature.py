"""Remote scans on the main screen: their actions, and the line that shows how far they are."""

from __future__ import annotations

from collections.abc import Mapping

from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window


class Scanning:
    """Starts, pauses and stops scans, and shows `AppState.scan`."""

    def __init__(self, services: Services, window: Window) -> None:
        self._window, self._scans = window, services.scans
        scans = services.scans
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
        if new.scan is not old.scan and self._window.is_running:
            self._window.panes.scan.show(new.scan)

    def poll(self) -> None:
        """Read how far the scan is."""
        self._scans.poll()
