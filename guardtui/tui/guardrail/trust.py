"""How well the engine and the forecasts predicted the scans, and a threshold fitted to the last."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rich.text import Text

from guardtui.app.scan.agreement import EngineAgreement, compare_with_engine
from guardtui.app.services import Services
from guardtui.domain.figures import bracketed, rate_text, threshold_text
from guardtui.domain.forecast_record import CalibrationBin
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.operating_point import BY_HAND, ThresholdFit
from guardtui.domain.prompts import PromptSet
from guardtui.forecast.forecaster import ForecastError
from guardtui.forecast.trust import ScanCheck, Trust
from guardtui.scanners.base import ScannerError
from guardtui.tui.kit.dialogs import AnswersDialog
from guardtui.tui.main.availability import NOTHING_JUDGED
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.results.model import PromptSelection

_BAR = 10  # cells of a share of 1


def trust_page(compared: EngineAgreement, forecasts: Text) -> AnswersDialog:
    """Return the page; "use" is the answer for the fitted threshold, "differing" for the prompts.

    `forecasts` compares scans with forecasts, or says why that is not possible.
    """
    text = Text(f"The engine and the last scan of {compared.who}\n", "bold")
    text.append_text(agreement_text(compared))
    text.append("\nForecasts and scans\n", "bold").append_text(forecasts)
    answers = []
    if isinstance(compared.fitted, ThresholdFit):
        answers.append(("u", "use", "Use that threshold"))
    if len(compared.agreement.differ):
        answers.append(("d", "differing", "Show these prompts"))
    return AnswersDialog(
        text,
        answers,
        title="How well scans were predicted",
        keys="Esc closes",
        frame="page",
        help_pane="trust",
    )


def agreement_text(compared: EngineAgreement) -> Text:
    """Return the comparison with the engine in words and numbers."""
    now, who = compared.agreement, compared.who
    text = Text()
    if compared.changes:
        text.append(
            f"On the definition that was scanned last, not the one here: "
            f"{', '.join(compared.changes)}.\n",
            "$text-warning",
        )
    text.append(f"agreement {rate_text(now.observed)}", "bold")
    span = bracketed(now.interval())
    text.append(
        f"{span and f' {span}'} on {now.total} prompts, Cohen's kappa {rate_text(now.kappa)}; "
        f"only {who} triggers on {now.first_only}, only the engine on {now.second_only}"
    )
    if now.left_out:
        text.append(f"; {now.left_out} without a verdict left out", "$text-warning")
    text.append("\n")
    if now.p_value < 0.05:
        more = who if now.first_only > now.second_only else "The engine"
        text.append(f"{more} triggers more often (p = {now.p_value:.2g}).\n")
    fitted = compared.fitted
    if isinstance(fitted, str):
        text.append(f"No threshold can be fitted to these verdicts: {fitted}.\n", "$text-muted")
    else:
        then = compared.then.observed if compared.then is not None else None
        text.append(
            f"Threshold {rate_text(compared.threshold)} now. Fitted to these verdicts: "
            f"{threshold_text(fitted.threshold)}, which gives an agreement of {rate_text(then)}; "
            f"the smaller of the shares of {who}'s triggered and passed prompts that it predicts "
            f"is {fitted.coverage:.3f} on the verdicts that chose it "
            f"{bracketed(fitted.interval)}.\n"
        )
    return text


def forecasts_text(trust: Trust, numbers: Mapping[int, int]) -> Text:
    """Return the comparison with forecasts; `numbers` are iteration numbers by check index."""
    text = Text(f"{guardrail_text(trust.settings)}. Each scan is forecast from those before it.\n")
    text.append(f"{trust.summary}\n\n", "bold")
    text.append("scan  coverage: forecast   actual inside direction  wrong\n", "$text-muted")
    for check in trust.checks:
        text.append_text(_check_line(check, numbers[check.index]))
    for left in trust.unchecked:
        text.append(f"#{numbers[left.index]:<5}{left.reason}\n", "$text-muted")
    text.append(
        "Wrong are verdicts: the forecast's, each prompt's last one kept, the engine's. = is a "
        "definition that was scanned before, * a forecast that was recorded before the scan.\n\n",
        "$text-muted",
    )
    text.append("triggers with   prompts  forecast         actual\n", "$text-muted")
    for bin_ in trust.calibration:
        text.append_text(_bin_lines(bin_))
    text.append("Where both agree, the probabilities are calibrated.\n", "$text-muted")
    return text


def _check_line(check: ScanCheck, iteration: int) -> Text:
    signs = f"{'=' if check.repeated else ' '}{'*' if check.stored else ' '}"
    line = Text(f"#{iteration:<3}{signs}")
    expected = check.expected
    if expected is None:
        line.append(f"{'n/a':<21}")
    else:
        interval = f"({expected.low:.2f} to {expected.high:.2f})"
        line.append(f"{expected.value:.3f} {interval:<15}")
    line.append(f"{rate_text(check.coverage):<7}", "bold")
    line.append_text(_answer(check.inside, 7))
    line.append_text(_answer(check.direction, 11))
    wrong = check.wrong
    return line.append(
        f"{wrong.forecast}, {wrong.last_verdicts}, {wrong.engine} of {wrong.prompts}\n"
    )


def _answer(answer: bool | None, width: int) -> Text:
    if answer is None:
        return Text(f"{'─':<{width}}", "$text-muted")
    word = "✓ yes" if answer else "✗ no"
    return Text(f"{word:<{width}}", "$text-success" if answer else "$text-error")


def _bin_lines(bin_: CalibrationBin) -> Text:
    expected, actual = bin_.expected / bin_.prompts, bin_.triggered / bin_.prompts
    line = Text(f"{bin_.low:.1f} to {bin_.high:.1f}      {bin_.prompts:<9}")
    for share, style in ((expected, "$text-muted"), (actual, "bold")):
        line.append(f"{share:.2f} {'█' * round(share * _BAR):<{_BAR + 2}}", style)
    return line.append("\n")


class TrustFeature:
    """Compares scans with the engine and with forecasts; nothing is sent."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"show_trust": window.action(self.show_trust)}

    async def show_trust(self) -> None:
        """Show both comparisons; then set the fitted threshold, or show the differing prompts."""
        services = self._services
        scan = services.scans.results.standing() or services.scans.results.last()
        if scan is None:
            self._window.notify(NOTHING_JUDGED)
            return
        prompts = services.workspace.prompts
        try:
            compared = await asyncio.to_thread(
                compare_with_engine, services.engine, scan, prompts, services.session.topic
            )
            forecasts = await self._forecasts(prompts)
        except ScannerError as error:
            self._window.notify(str(error), severity="error")
            return
        chosen = await self._window.show(trust_page(compared, forecasts))
        if chosen == "differing":
            keys = prompts.keys[compared.agreement.differ]
            self._window.panes.show("results")
            self._window.panes.results.pick(PromptSelection(f"{compared.who} ≠ engine", keys))
        elif chosen == "use" and isinstance(compared.fitted, ThresholdFit):
            self._use(compared.fitted.threshold, compared.who)

    async def _forecasts(self, prompts: PromptSet) -> Text:
        try:
            trust = await self._services.forecasting.trust(prompts)
        except ForecastError as error:
            return Text(f"{error}\n", "$text-muted")
        if trust is None:
            return Text(f"{NOTHING_JUDGED}\n", "$text-muted")
        iterations = enumerate(self._services.session.iterations)
        return forecasts_text(trust, {index: iteration.number for index, iteration in iterations})

    def _use(self, threshold: float, who: str) -> None:
        services, scanner = self._services, self._services.engine.scanner
        source = f"{BY_HAND}, to agree with {who}"
        scanner.use_threshold(threshold, source)
        services.sync.remember(
            {
                "encoder": scanner.encoder_name,
                "threshold": threshold,
                "threshold_source": source,
            }
        )
        self._window.notify(f"Threshold {threshold_text(threshold)}, {source}: for the engine.")
        services.preview.request()
