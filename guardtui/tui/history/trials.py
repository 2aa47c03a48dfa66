"""The trials: definitions measured at the last pauses, with figures; Enter restores one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from guardtui.app.services import Services
from guardtui.app.trials import TrialEntry
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.guardrail import FORECAST, badge, measured_by
from guardtui.domain.topic import Topic
from guardtui.session.trials import Trial
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.history.text import local_time
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.metrics.pane import delta

NO_TRIALS = "No trials yet: each pause after an edit leaves one, once it is measured."

_NOTE = (
    "Each pause leaves one. The change is that of coverage against the definition in the editor, "
    "where both are measured alike."
)
_GUARDRAIL_CELLS = 10
_CHANGE_CELLS = 20
_CHANGES = 2  # named in a line
_RATES = (
    ("coverage", "coverage"),
    ("TPR", "true_positive_rate"),
    ("TNR", "true_negative_rate"),
)


class TrialList(EditList[Trial]):
    """The trials, the newest first."""

    TITLE_TEXT = "Trials"
    KEYS_TEXT = "Enter brings one back · Esc closes"

    help_pane = "trials"

    def __init__(self, entries: Sequence[TrialEntry], current: Topic) -> None:
        super().__init__([(entry.trial, trial_line(entry)) for entry in entries], [_NOTE])
        self._entries, self._here = entries, current

    def described(self, index: int) -> Text:
        return trial_text(self._entries[index], self._here)


def trial_line(entry: TrialEntry) -> Text:
    """Return a trial in one line: time, guardrail, coverage with its change, and the edit."""
    trial = entry.trial
    line = Text()
    line.append("● " if entry.is_current else "  ", "bold $text-accent")
    line.append(f"{local_time(trial.created)[5:]}  ", "$text-muted")
    line.append(f"{badge(trial.settings)[0][:_GUARDRAIL_CELLS]:<{_GUARDRAIL_CELLS}}", "$text-muted")
    line.append(f"{_rate(trial, 'coverage'):<8}", "bold")
    if entry.is_current:
        line.append(f"{'in the editor':<{_CHANGE_CELLS}}", "$text-muted")
    elif entry.apart:
        line.append(f"{f'≠ {entry.apart}':<{_CHANGE_CELLS}}", "$text-warning")
    else:
        sign, style = delta(entry.change)
        line.append(f"{sign:<{_CHANGE_CELLS}}", style)
    more = " …" if len(entry.changes) > _CHANGES else ""
    return line.append(", ".join(entry.changes[:_CHANGES]) + more or "the oldest trial")


def trial_text(entry: TrialEntry, current: Topic) -> Text:
    """Return a trial in full: its figures, their guardrail, and the difference to the editor."""
    trial = entry.trial
    text = Text()
    text.append("  ".join(f"{title} {_rate(trial, name)}" for title, name in _RATES), "bold")
    text.append(f"  on {count_text(trial.figures.prompts, 'prompt')}\n")
    text.append(f"{measured_by(trial.settings)}\n", "$text-muted")
    if entry.apart and not entry.is_current:
        text.append(f"Not compared with the definition in the editor: {entry.apart}.\n")
    if entry.is_current:
        return text.append("\nThis definition is in the editor.\n")
    text.append("\nFrom the definition in the editor to this one\n", "bold")
    return text.append_text(difference_text(current, trial.topic))


def _rate(trial: Trial, name: str) -> str:
    """Return a rate of a trial, with "≈" for a forecast."""
    sign = "≈" if trial.settings.kind == FORECAST else ""
    return f"{sign}{rate_text(getattr(trial.figures, name))}"


class TrialsFeature:
    """Lists the trials and restores one."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"show_trials": window.action(self.show_trials)}

    async def show_trials(self) -> None:
        """Show the trials; the chosen one goes into the editor."""
        services = self._services
        current = await services.editing.finish_typing()
        entries = services.trials.listed()
        if not entries:
            self._window.notify(NO_TRIALS)
            return
        chosen = await self._window.show(TrialList(entries, current))
        if chosen is not None:
            services.trials.bring_back(chosen)
