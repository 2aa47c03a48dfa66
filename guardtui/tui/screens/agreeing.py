"""How well the embedded engine predicts a remote guardrail, and its threshold set by that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Static

from guardtui.domain.agreement import Agreement, agreement
from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.late import late
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent, describe_changes
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.calibration import Calibration, calibrate
from guardtui.scanners.local.scoring import probability
from guardtui.tui.content import themed
from guardtui.tui.modal import Modal
from guardtui.tui.screens.scanning import ScanningScreen
from guardtui.tui.widgets.metrics_panel import number

if TYPE_CHECKING:
    import numpy as np
else:
    np = late("numpy")

CALIBRATED = "calibrated on"
WHO = {"airs": "AIRS", "judge": "Judge"}
"""What scanners are called on the screen."""
_LISTED = 200
"""Prompts that are listed where the two differ."""
_SHOWN = 90


@dataclass(frozen=True, eq=False)
class Held:
    """A scan held against the embedded engine on the same definition and prompts.

    `calibrated` is a threshold as a score that suits the scan's verdicts, or why there is none;
    `then` is the agreement it would give. `differing` are (triggered in the scan, prompt); `who` is
    what was asked.
    """

    agreement: Agreement
    threshold: float | None
    calibrated: Calibration | str
    then: Agreement | None
    differing: tuple[tuple[bool, str], ...]
    who: str
    changes: tuple[str, ...]


class AgreementDialog(Modal[float | None]):
    """Gives the threshold to set, or None."""

    BINDINGS = [("escape,q", "close", "Leave"), ("u", "use", "Use the threshold")]

    help_pane = "agreement"

    def __init__(self, held: Held) -> None:
        super().__init__()
        self._held = held

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = f"{self._held.who} and the embedded engine"
            page.border_subtitle = "Esc leaves"
            with VerticalScroll():
                yield Static(themed(agreement_text(self._held)), markup=False)
            if isinstance(self._held.calibrated, Calibration):
                with Horizontal(classes="buttons"):
                    yield Button(Text("Use that threshold (u)"), id="use", compact=True)
                    yield Button(Text("Leave (Esc)"), id="leave", compact=True)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "use":
            self.action_use()
        else:
            self.dismiss(None)

    def action_use(self) -> None:
        """Take the calibrated threshold, where there is one."""
        found = self._held.calibrated
        if isinstance(found, Calibration):
            self.dismiss(found.threshold)

    def action_close(self) -> None:
        self.dismiss(None)


def agreement_text(held: Held) -> Text:
    """All of the comparison, in words and numbers."""
    one = held.agreement
    text = Text()
    if held.changes:
        text.append(
            f"On the definition that was scanned last, not the one here: "
            f"{', '.join(held.changes)}.\n\n",
            "$text-warning",
        )
    interval = one.interval()
    span = f" [{interval.low:.2f} – {interval.high:.2f}]" if interval is not None else ""
    text.append(f"agreement {number(one.observed)}", "bold")
    text.append(f"{span} on {one.total} prompts, Cohen's kappa {number(one.kappa)}")
    if one.left_out:
        text.append(f"; {one.left_out} without a verdict left out", "$text-warning")
    text.append("\n\n                     engine triggers   engine does not\n", "$text-muted")
    text.append(f"{held.who + ' triggers':<21}{one.both:>15}   {one.first_only:>15}\n")
    text.append(f"{held.who + ' does not':<21}{one.second_only:>15}   {one.neither:>15}\n\n")
    if one.p_value < 0.05:
        more = held.who if one.first_only > one.second_only else "The engine"
        text.append(f"{more} triggers more often (p = {one.p_value:.2g}).\n")
    found = held.calibrated
    if isinstance(found, str):
        text.append(f"No threshold can be calibrated on these verdicts: {found}.\n", "$text-muted")
    else:
        then = held.then.observed if held.then is not None else None
        text.append(
            f"Threshold {number(held.threshold)} now. Calibrated on these verdicts: "
            f"{found.threshold:.3f}, which gives an agreement of {number(then)}; the smaller of "
            f"the shares of {held.who}'s triggered and passed prompts that it predicts is "
            f"{found.held_out_coverage:.3f} on verdicts held out "
            f"({found.in_sample_coverage:.3f} on those used).\n"
        )
    if held.differing:
        text.append("\nWhere they differ:\n", "bold")
        for triggered, prompt in held.differing:
            first, second = "✓✗" if triggered else "✗✓"
            sign = f"{held.who} {first} engine {second} "
            text.append(sign, "$text-muted")
            text.append(f"{display_start(prompt, _SHOWN)}\n")
        if (more_rows := len(one.differ) - len(held.differing)) > 0:
            text.append(f"and {more_rows} more\n", "$text-muted")
    return text


class Agreeing(ScanningScreen):
    """The action that holds the last scan against the embedded engine."""

    @work(exclusive=True, group="dialog")
    async def action_show_agreement(self) -> None:
        scan = self.standing_scan() or self._last_scan()
        if scan is None:
            self.notify("No guardrail has judged anything here yet: scan first.")
            return
        prompts = self.workspace.prompts
        try:
            held = await asyncio.to_thread(self._held, scan, prompts)
        except ScannerError as error:
            self.notify(str(error), severity="error")
            return
        threshold = await self.app.push_screen_wait(AgreementDialog(held))
        if threshold is None:
            return
        source = f"{CALIBRATED} {held.who}"
        self.scanner.use_threshold(threshold, source)
        self._remember(
            {
                "encoder": self.scanner.encoder_name,
                "threshold": threshold,
                "threshold_source": source,
            }
        )
        self.notify(f"Threshold {threshold:.3f}, {source}: for previews and likely changes.")
        self._preview()

    def _held(self, scan: Evaluation, prompts: PromptSet) -> Held:
        nothing_told = lambda progress: None  # noqa: E731
        answers = answers_for(scan, prompts.keys)
        engine = self.scanner.scan_now(scan.topic, prompts, nothing_told)
        scored = self.scanner.z(scan.topic, prompts, nothing_told)
        assert engine is not None  # noqa: S101 - nothing stops them
        assert scored is not None  # noqa: S101
        now = agreement(answers, engine.triggered)
        threshold = self.scanner.settings.threshold
        known = is_answered(answers)
        # What the guardrail takes for the topic: it triggers on the rest when it allows.
        belongs = (answers == Triggered.YES) == (scan.topic.intent is Intent.BLOCK)
        then: Agreement | None = None
        calibrated: Calibration | str
        try:
            _, scoring, _ = self.scanner.load()
            found = calibrate(scored[0][known], belongs[known], default=scoring.threshold)
        except ValueError as error:
            calibrated = str(error)
        else:
            score = float(probability(np.float32(found.threshold)))
            calibrated = replace(found, threshold=score)
            matches = engine.score >= np.float32(score)
            fires = matches if scan.topic.intent is Intent.BLOCK else ~matches
            then = agreement(answers, fires.astype(np.int8))
        texts = prompts.prompts
        return Held(
            now,
            threshold,
            calibrated,
            then,
            tuple(
                (bool(answers[row] == Triggered.YES), texts[row])
                for row in now.differ[:_LISTED].tolist()
            ),
            WHO.get(scan.settings.name, scan.settings.name),
            describe_changes(scan.topic, self.session.topic),
        )
