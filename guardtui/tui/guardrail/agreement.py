"""The agreement of the embedded engine with the last scan, and a threshold fitted to it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Static

from guardtui.app.agreement import EngineAgreement, compare_with_engine
from guardtui.app.services import Services
from guardtui.domain.figures import bracketed, rate_text, threshold_text
from guardtui.domain.operating_point import BY_HAND, ThresholdFit
from guardtui.domain.text import display_start
from guardtui.domain.topic import describe_changes
from guardtui.scanners.base import ScannerError
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.availability import NOTHING_JUDGED
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.results.model import PromptSelection

_LISTED = 200
"""Most prompts that are listed of those on which they differ."""
_SHOWN = 90


class AgreementDialog(Modal[float | PromptSelection | None]):
    """Returns the threshold to set, the prompts to show in the table, or None."""

    BINDINGS = [
        ("u", "use", "Use the threshold"),
        ("d", "show_differing", "Show where they differ"),
    ]

    help_pane = "agreement"

    def __init__(self, compared: EngineAgreement, differing: PromptSelection | None = None) -> None:
        """`differing` are the prompts on which they differ, or None."""
        super().__init__()
        self._compared, self._differing = compared, differing

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = f"{self._compared.who} and the embedded engine"
            page.border_subtitle = "Esc closes"
            with VerticalScroll():
                yield Static(themed(agreement_text(self._compared)), markup=False)
            with Horizontal(classes="buttons"):
                if isinstance(self._compared.fitted, ThresholdFit):
                    yield Button(Text("Use that threshold (u)"), id="use", compact=True)
                if self._differing is not None:
                    yield Button(Text("Show these prompts (d)"), id="differing", compact=True)
                yield Button(Text("Cancel (Esc)"), id="leave", compact=True)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "use":
            self.action_use()
        elif event.button.id == "differing":
            self.action_show_differing()
        else:
            self.dismiss(None)

    def action_use(self) -> None:
        """Use the fitted threshold if there is one."""
        fitted = self._compared.fitted
        if isinstance(fitted, ThresholdFit):
            self.dismiss(fitted.threshold)

    def action_show_differing(self) -> None:
        """Show the prompts on which they differ, if any."""
        if self._differing is not None:
            self.dismiss(self._differing)


def agreement_text(compared: EngineAgreement) -> Text:
    """Return the comparison in words and numbers."""
    now = compared.agreement
    text = Text()
    if compared.changes:
        text.append(
            f"On the definition that was scanned last, not the one here: "
            f"{', '.join(compared.changes)}.\n\n",
            "$text-warning",
        )
    text.append(f"agreement {rate_text(now.observed)}", "bold")
    span = bracketed(now.interval())
    text.append(
        f"{span and f' {span}'} on {now.total} prompts, Cohen's kappa {rate_text(now.kappa)}"
    )
    if now.left_out:
        text.append(f"; {now.left_out} without a verdict left out", "$text-warning")
    text.append("\n\n                     engine triggers   engine does not\n", "$text-muted")
    text.append(f"{compared.who + ' triggers':<21}{now.both:>15}   {now.first_only:>15}\n")
    text.append(f"{compared.who + ' does not':<21}{now.second_only:>15}   {now.neither:>15}\n\n")
    if now.p_value < 0.05:
        more = compared.who if now.first_only > now.second_only else "The engine"
        text.append(f"{more} triggers more often (p = {now.p_value:.2g}).\n")
    fitted = compared.fitted
    if isinstance(fitted, str):
        text.append(f"No threshold can be fitted to these verdicts: {fitted}.\n", "$text-muted")
    else:
        then = compared.then.observed if compared.then is not None else None
        text.append(
            f"Threshold {rate_text(compared.threshold)} now. Fitted to these verdicts: "
            f"{threshold_text(fitted.threshold)}, which gives an agreement of {rate_text(then)}; "
            f"the smaller of the shares of {compared.who}'s triggered and passed prompts that it "
            "predicts is "
            f"{fitted.held_out:.3f} cross-validated ({fitted.coverage:.3f} on the verdicts that "
            "chose it).\n"
        )
    if compared.differing:
        text.append("\nWhere they differ:\n", "bold")
        for triggered, prompt in compared.differing:
            first, second = "✓✗" if triggered else "✗✓"
            sign = f"{compared.who} {first} engine {second} "
            text.append(sign, "$text-muted")
            text.append(f"{display_start(prompt, _SHOWN)}\n")
        if (more_rows := len(now.differ) - len(compared.differing)) > 0:
            text.append(f"and {more_rows} more\n", "$text-muted")
    return text


class AgreementFeature:
    """Compares the last scan with the embedded engine."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "show_agreement": window.action(self.show_agreement)
        }

    async def show_agreement(self) -> None:
        """Show the agreement; then set the fitted threshold, or show the differing prompts."""
        services, scanner = self._services, self._services.engine.scanner
        scan = services.scans.results.standing() or services.scans.results.last()
        if scan is None:
            self._window.notify(NOTHING_JUDGED)
            return
        prompts = services.workspace.prompts
        try:
            compared = await asyncio.to_thread(
                compare_with_engine,
                services.engine,
                scan,
                prompts,
                listed=_LISTED,
                changes=describe_changes(scan.topic, services.session.topic),
            )
        except ScannerError as error:
            self._window.notify(str(error), severity="error")
            return
        rows = compared.agreement.differ
        differing = (
            PromptSelection(f"{compared.who} ≠ engine", prompts.keys[rows]) if len(rows) else None
        )
        threshold = await self._window.show(AgreementDialog(compared, differing))
        if isinstance(threshold, PromptSelection):
            self._window.panes.show("results")
            self._window.panes.results.pick(threshold)
            return
        if threshold is None:
            return
        source = f"{BY_HAND}, to agree with {compared.who}"
        scanner.use_threshold(threshold, source)
        services.sync.remember(
            {
                "encoder": scanner.encoder_name,
                "threshold": threshold,
                "threshold_source": source,
            }
        )
        self._window.notify(
            f"Threshold {threshold_text(threshold)}, {source}: for previews and likely changes."
        )
        services.preview.request()
