"""Why an action of the main screen cannot run now, for menu, footer and keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from guardtui.app.editing.decisions import NOTHING_TO_KEEP, nothing_to_discard
from guardtui.app.editing.preview import LET_IT_END, needs_all
from guardtui.app.editing.workspace_sync import NOTHING_TO_SAVE
from guardtui.app.experiments.session_experiments import UNDER_WAY as EXPERIMENT_UNDER_WAY
from guardtui.app.scan.record import recorded_as
from guardtui.app.scan.run import NO_SCAN, UNDER_WAY
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.guardrail import REMOTE
from guardtui.session.session import Decision

NEEDS_ALL = frozenset(
    {
        "ideas",
        "show_effects",
        "show_lint",
        "show_sweep",
    }
)
"""Actions that measure all prompts: they wait until every prompt is embedded."""


NOTHING_JUDGED = "No guardrail has judged anything here yet: scan first."
NO_DIFFERENCE = "The definition is that of the baseline."
NO_PREVIEW = "Only an edit has a preview; this is another step: Enter"


def no_preview(state: AppState) -> str:
    """Return why the step of the line Next has no preview; "" for an edit."""
    best = None if state.ideas is None else state.ideas.best
    is_step = best is not None and best.proposal is None
    return f"{NO_PREVIEW} shows what it does." if is_step else ""


class Availability:
    """Returns what an action still needs, by its name in the registry."""

    follows = (
        "topic", "evaluation", "iterations", "comparison", "scan", "experiment", "ideas", "pinned",
        "files",
    )  # fmt: skip

    def __init__(self, services: Services, refresh: Callable[[], None]) -> None:
        """`refresh` updates the keys of the footer."""
        self._services, self._refresh = services, refresh
        self._refused: tuple[str, ...] = ()
        self._refusals: Mapping[str, Callable[[], str]] = {
            "scan": self._in_use,
            "scan_options": self._in_use,
            "check_flips": self._in_use,
            "scan_missing": lambda: self._in_use() or services.scans.missing_refusal,
            "experiment": lambda: UNDER_WAY if services.scans.under_way else "",
            "pause_scan": lambda: "" if self._is_asked else NO_SCAN,
            "stop_scan": lambda: "" if services.guardrail_in_use else NO_SCAN,
            "keep": lambda: self._scanning() or self._nothing_to_keep(),
            "discard": lambda: self._scanning() or self._nothing_to_discard(),
            "save": lambda: "" if services.workspace.unsaved else NOTHING_TO_SAVE,
            "show_difference": lambda: "" if services.workspace.changes else NO_DIFFERENCE,
            "undo": lambda: "" if services.session.can_undo else "Nothing to undo.",
            "redo": lambda: "" if services.session.can_redo else "Nothing to redo.",
            "to_regression": self._no_regressions,
            "show_trust": self._nothing_judged,
            "preview_idea": lambda: no_preview(services.state),
        }

    def refusal(self, name: str) -> str:
        """Return why an action cannot run now; "" if it can."""
        method = name.partition("(")[0]
        known = self._refusals.get(method)
        waiting = self._still_embedding() if method in NEEDS_ALL else ""
        return waiting or (known() if known is not None else "")

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Update the keys of the footer where another action can run now."""
        refused = tuple(name for name in self._refusals if self.refusal(name))
        if refused != self._refused:
            self._refused = refused
            self._refresh()

    def _scanning(self) -> str:
        return LET_IT_END if self._services.scans.results.scanning else ""

    def _nothing_to_keep(self) -> str:
        shown, session = self._services.state.evaluation, self._services.session
        if shown is None or shown.topic != session.topic:
            return ""
        recorded = recorded_as(session, shown)
        kept = recorded is not None and recorded.decision is Decision.KEEP
        return NOTHING_TO_KEEP if kept and not self._services.workspace.unsaved else ""

    def _nothing_to_discard(self) -> str:
        session = self._services.session
        best = session.best
        if best is None or session.topic != best.evaluation.topic:
            return ""
        return nothing_to_discard(best.number)

    def _in_use(self) -> str:
        if self._services.experiments.under_way:
            return EXPERIMENT_UNDER_WAY
        return UNDER_WAY if self._services.scans.under_way else ""

    @property
    def _is_asked(self) -> bool:
        return self._services.experiments.running or self._services.scans.results.scanning

    def _still_embedding(self) -> str:
        waiting = self._services.engine.waiting(self._services.workspace.prompts)
        return needs_all(waiting) if waiting else ""

    def _no_regressions(self) -> str:
        comparison = self._services.state.comparison
        if comparison is not None and comparison.regressions:
            return ""
        return "No regressions: nothing that was right is wrong now."

    def _nothing_judged(self) -> str:
        recorded = self._services.session.iterations
        judged = any(iteration.evaluation.settings.kind in REMOTE for iteration in recorded)
        if judged or self._services.scans.results.last() is not None:
            return ""
        return NOTHING_JUDGED
