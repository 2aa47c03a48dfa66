"""The accuracy of forecasts: each scan compared with the forecast from the scans before it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from guardtui.app.services import Services
from guardtui.domain.figures import rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.forecast.forecaster import ForecastError
from guardtui.forecast.trust import CalibrationBin, ScanCheck, Trust
from guardtui.scanners.base import ScannerError
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.main.availability import NOTHING_JUDGED
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_BAR = 10  # cells of a share of 1


def trust_text(trust: Trust, numbers: Mapping[int, int]) -> Text:
    """Return the page; `numbers` are iteration numbers by the index of the check."""
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
    for bin_ in trust.calibration:
        text.append_text(_bin_lines(bin_))
    text.append("Where the two are alike, the probabilities can be believed.\n", "$text-muted")
    return text


def _check_line(check: ScanCheck, iteration: int) -> Text:
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


def _bin_lines(bin_: CalibrationBin) -> Text:
    expected, came = bin_.expected / bin_.prompts, bin_.triggered / bin_.prompts
    line = Text(f"{bin_.low:.1f} – {bin_.high:.1f}       {bin_.prompts:<9}")
    for share, style in ((expected, "$text-muted"), (came, "bold")):
        line.append(f"{share:.2f} {'█' * round(share * _BAR):<{_BAR + 2}}", style)
    return line.append("\n")


class ForecastTrustFeature:
    """Shows the accuracy of forecasts for the guardrail of the last scan."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "show_forecast_trust": window.action(self.show_forecast_trust)
        }

    async def show_forecast_trust(self) -> None:
        """Compare every scan with its forecast; nothing is sent to the guardrail."""
        services = self._services
        try:
            trust = await services.forecasting.trust(services.workspace.prompts)
        except (ForecastError, ScannerError) as error:
            self._window.notify(str(error))
            return
        if trust is None:
            self._window.notify(NOTHING_JUDGED)
            return
        numbers = {
            index: iteration.number for index, iteration in enumerate(services.session.iterations)
        }
        text = trust_text(trust, numbers)
        await self._window.show(TextPage("How right forecasts were", text, "forecast_trust"))
