"""The settings of the embedded scanner: its dialog, and its feature on the main screen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Label

from guardtui.app.services import Services
from guardtui.domain.figures import threshold_text
from guardtui.domain.operating_point import BY_HAND, FITTED, SHIPPED, ThresholdFit
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.tui.inputs.line_input import LineInput
from guardtui.tui.kit.modal import Modal
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window


@dataclass(frozen=True, slots=True)
class ScannerChoice:
    """The chosen scanner; `threshold` None is the shipped one, or a fitted one by `source`."""

    encoder: str
    threshold: float | None
    source: str


class ScannerDialog(Modal[ScannerChoice | None]):
    """Threshold and encoder of the embedded scanner, with where the threshold comes from."""

    def __init__(
        self, current: ScannerChoice, shown: float | None, fit: ThresholdFit | str
    ) -> None:
        super().__init__()
        self._current, self._shown, self._fit = current, shown, fit

    def compose(self) -> ComposeResult:
        shown = "n/a" if self._shown is None else f"{self._shown:.3g}"
        self._filled_in = "" if self._current.threshold is None else shown
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Scanner"
            dialog.border_subtitle = "Esc closes"
            yield Label(
                f"Threshold {shown} ({self._current.source}), encoder {self._current.encoder}.\n"
                "A comparison across different thresholds or encoders says so.",
                markup=False,
            )
            yield LineInput(
                value=self._filled_in,
                placeholder="a score between 0 and 1; empty: the shipped one",
                compact=True,
            )
            yield Label("", id="problem", markup=False)
            yield Label(self._fit_text(), markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Set", id="set", variant="primary", compact=True)
                yield Button("Shipped", id="shipped", compact=True)
                if not isinstance(self._fit, str):
                    yield Button("Fitted", id="fitted", compact=True)
                other = next_encoder(self._current.encoder)
                yield Button(f"Encoder {other}", id="encoder", compact=True)

    def _fit_text(self) -> str:
        fit = self._fit
        if isinstance(fit, str):
            return f"No threshold is fitted: {fit}"
        return (
            f"Fitted to {fit.labels} labels at this definition: "
            f"{threshold_text(fit.threshold)}, coverage {fit.held_out:.3f} cross-validated "
            f"({fit.coverage:.3f} on the labels that chose it)."
        )

    @on(Input.Submitted)
    def submitted(self) -> None:
        self._set()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        current = self._current
        if event.button.id == "set":
            self._set()
        elif event.button.id == "shipped":
            self.dismiss(ScannerChoice(current.encoder, None, SHIPPED))
        elif event.button.id == "fitted" and not isinstance(self._fit, str):
            self.dismiss(ScannerChoice(current.encoder, self._fit.threshold, FITTED))
        elif event.button.id == "encoder":
            other = next_encoder(current.encoder)
            # A threshold belongs to its encoder.
            self.dismiss(ScannerChoice(other, None, ""))

    def _set(self) -> None:
        text = self.query_one(Input).value.strip().replace(",", ".")
        if text == self._filled_in.replace(",", "."):  # unchanged: keep the exact value
            self.dismiss(None)
            return
        if not text:
            self.dismiss(ScannerChoice(self._current.encoder, None, SHIPPED))
            return
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if 0 < value < 1:
            self.dismiss(ScannerChoice(self._current.encoder, value, BY_HAND))
        else:
            self.query_one("#problem", Label).update(
                "! a threshold is a number between 0 and 1, such as 0.5"
            )


def next_encoder(name: str) -> str:
    """Return the encoder after this one; after the last comes the first."""
    return ENCODERS[(ENCODERS.index(name) + 1) % len(ENCODERS)]


class ScannerSettingsFeature:
    """Changes the threshold and the encoder of the embedded scanner."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "scanner_settings": window.action(self.scanner_settings),
            "fit_threshold": window.action(services.operating_point.fit_again),
        }

    async def scanner_settings(self) -> None:
        """Show the dialog, and apply its threshold and encoder."""
        services, engine = self._services, self._services.engine
        settings = engine.scanner.settings
        current = ScannerChoice(
            engine.scanner.encoder_name,
            None if settings.threshold_source == SHIPPED else settings.threshold,
            settings.threshold_source,
        )
        fit = await asyncio.to_thread(
            engine.fitted, services.session.topic, services.workspace.prompts
        )
        choice = await self._window.show(ScannerDialog(current, settings.threshold, fit))
        if choice is None:
            return
        if choice.source == FITTED and not isinstance(fit, str):
            await services.operating_point.use(fit)
            return
        other = choice.encoder != engine.scanner.encoder_name
        if other:
            engine.use(LocalScanner(choice.encoder))
        else:
            services.operating_point.set(choice.threshold, choice.source)
        services.sync.remember(
            {
                "encoder": choice.encoder,
                "threshold": choice.threshold,
                "threshold_source": choice.source,
            }
        )
        # Scores of another encoder need another threshold; opening a topic settles that itself.
        if other and services.preview.begun:
            # Embedding many prompts takes long: another dialog must not cancel it.
            self._window.start(self._settle(), group="settle", exclusive=True)
        else:
            services.preview.request()

    async def _settle(self) -> None:
        await self._services.operating_point.settle()
        self._services.preview.request()
