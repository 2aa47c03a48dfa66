"""How right forecasts of a guardrail have been: each scan held against the forecast before it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.figures import rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.forecast.forecaster import ForecastError
from guardtui.forecast.trust import Bin, Check, Trust
from guardtui.scanners.base import ScannerError
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.screens.dialogs import TextPage

_BAR = 10  # cells of a share of 1


def trust_text(trust: Trust, numbers: Mapping[int, int]) -> Text:
    """Return the page; `numbers` are those of the iterations by the indices of the checks."""
    text = Text(f"{guardrail_text(trust.settings)}. Each scan is forecast from those before it.\n")
    text.append(f"{trust.summary}\n\n", "bold")
    text.append("scan  coverage: forecast   came   held   direction  wrong\n", "$text-muted")
    for check in trust.checks:
        text.append_text(_check_line(check, numbers[check.index]))
    for left in trust.unchecked:
        text.append(f"#{numbers[left.index]:<5}{left.reason}\n", "$text-muted")
    text.append(
        "Wrong are verdicts: the forecast's, each prompt's last one kept, the engine's. = is a "
        "definition that was scanned before, * a forecast that was recorded before the scan.\n\n",
        "$text-muted",
    )
    text.append("triggers with   prompts  forecast         came true\n", "$text-muted")
    for one in trust.calibration:
        text.append_text(_bin_lines(one))
    text.append("Where the two are alike, the probabilities can be believed.\n", "$text-muted")
    return text


def _check_line(check: Check, iteration: int) -> Text:
    signs = f"{'=' if check.repeated else ' '}{'*' if check.stored else ' '}"
    line = Text(f"#{iteration:<3}{signs}")
    expected = check.expected
    if expected is None:
        line.append(f"{'n/a':<21}")
    else:
        interval = f"[{expected.low:.2f} – {expected.high:.2f}]"
        line.append(f"{expected.value:.3f} {interval:<15}")
    line.append(f"{rate_text(check.coverage):<7}", "bold")
    line.append_text(_answer(check.inside, 7))
    line.append_text(_answer(check.direction, 11))
    wrong = check.wrong
    return line.append(f"{wrong.forecast}, {wrong.kept}, {wrong.engine} of {wrong.prompts}\n")


def _answer(answer: bool | None, width: int) -> Text:
    if answer is None:
        return Text(f"{'─':<{width}}", "$text-muted")
    word = "✓ yes" if answer else "✗ no"
    return Text(f"{word:<{width}}", "$text-success" if answer else "$text-error")


def _bin_lines(one: Bin) -> Text:
    expected, came = one.expected / one.prompts, one.triggered / one.prompts
    line = Text(f"{one.low:.1f} – {one.high:.1f}       {one.prompts:<9}")
    for share, style in ((expected, "$text-muted"), (came, "bold")):
        line.append(f"{share:.2f} {'█' * round(share * _BAR):<{_BAR + 2}}", style)
    return line.append("\n")


class ForecastTrustFeature:
    """Shows how right forecasts of the guardrail that answered last have been."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "show_forecast_trust": window.action(self.show_forecast_trust)
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is in sight."""

    async def show_forecast_trust(self) -> None:
        """Hold every scan against its forecast; nothing is asked of the guardrail."""
        services = self._services
        try:
            trust = await services.forecasting.trust(services.workspace.prompts)
        except (ForecastError, ScannerError) as error:
            self._window.notify(str(error))
            return
        if trust is None:
            self._window.notify("No guardrail has judged anything here yet: scan first.")
            return
        numbers = {
            index: iteration.number for index, iteration in enumerate(services.session.iterations)
        }
        text = trust_text(trust, numbers)
        await self._window.show(TextPage("How right forecasts were", text, "forecast_trust"))
