"""The settings of the embedded scanner: its dialog, and its feature on the main screen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.widgets import Button

from guardtui.app.services import Services
from guardtui.domain.figures import bracketed, threshold_text
from guardtui.domain.operating_point import BUILT_IN, BY_HAND, FITTED, ThresholdFit
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.kit.form import FormDialog
from guardtui.tui.kit.inert import Label
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window


@dataclass(frozen=True, slots=True)
class ScannerChoice:
    """The chosen scanner; a `threshold` of None is fitted or the built-in one, as `source` says."""

    encoder: str
    threshold: float | None
    source: str


class ScannerDialog(FormDialog[ScannerChoice | None]):
    """Threshold and encoder of the embedded scanner, with where the threshold comes from."""

    def __init__(
        self, current: ScannerChoice, shown: float | None, fit: ThresholdFit | str
    ) -> None:
        """`shown` is the threshold for all definitions, or None."""
        super().__init__("Engine", "Esc closes", yes="Use this threshold", no="")
        self._current, self._shown, self._fit = current, shown, fit
        self._filled_in = "" if current.threshold is None else f"{shown:.3g}"
        self._threshold = LineInput(
            self._filled_in,
            placeholder="a score between 0 and 1, for every definition",
            compact=True,
        )

    def fields(self) -> ComposeResult:
        shown, source = self._shown, self._current.source
        yield Label(
            f"Threshold {source if shown is None else f'{shown:.3g} ({source})'}, encoder "
            f"{self._current.encoder}.",
        )
        yield self._threshold
        yield Label(self._fit_text())

    def more_buttons(self) -> Iterator[Button]:
        yield Button("Use the built-in threshold", id="built-in", compact=True)
        if not isinstance(self._fit, str):
            yield Button("Fit it to the labels", id="fitted", compact=True)
        for name in ENCODERS:
            if name != self._current.encoder:
                yield Button(f"Use encoder {name}", name=name, compact=True)

    def on_mount(self) -> None:
        self._threshold.focus()

    def _fit_text(self) -> str:
        fit = self._fit
        if isinstance(fit, str):
            waiting = self._current.source.startswith(FITTED)
            start = "Its value is not known yet" if waiting else "No threshold can be fitted yet"
            return f"{start}: {fit}."
        return (
            "Fitted, each definition has its own threshold; this one "
            f"{threshold_text(fit.threshold)} ({fit.labels} labels), coverage "
            f"{fit.coverage:.3f} on the labels that chose it {bracketed(fit.interval)}."
        )

    def chose(self, button: Button) -> None:
        encoder = button.name or self._current.encoder
        # A threshold belongs to its encoder.
        self.dismiss(ScannerChoice(encoder, None, BUILT_IN if button.id == "built-in" else FITTED))

    def accept(self) -> None:
        text = self._threshold.value.strip().replace(",", ".")
        if text == self._filled_in.replace(",", "."):  # unchanged: keep the exact value
            self.dismiss(None)
            return
        if not text:
            self.dismiss(ScannerChoice(self._current.encoder, None, BUILT_IN))
            return
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if 0 < value < 1:
            self.dismiss(ScannerChoice(self._current.encoder, value, BY_HAND))
        else:
            self.problem.show("a threshold is a number between 0 and 1, such as 0.5")


class ScannerSettingsFeature:
    """Changes the threshold and the encoder of the embedded scanner."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "scanner_settings": window.action(self.scanner_settings),
        }

    async def scanner_settings(self) -> None:
        """Show the dialog, and apply its threshold and encoder."""
        services, engine = self._services, self._services.engine
        settings = engine.scanner.settings_for(services.workspace.prompts)
        current = ScannerChoice(
            engine.scanner.encoder_name,
            None if settings.threshold_source == BUILT_IN else settings.threshold,
            settings.threshold_source,
        )
        fit = await asyncio.to_thread(
            engine.fitted, services.session.topic, services.workspace.prompts
        )
        choice = await self._window.show(ScannerDialog(current, settings.threshold, fit))
        if choice is None:
            return
        if choice.encoder != engine.scanner.encoder_name:
            engine.use(LocalScanner(choice.encoder))
        fitted = choice.source == FITTED
        engine.scanner.use_threshold(FITTED if fitted else choice.threshold, choice.source)
        services.sync.remember(
            {
                "encoder": choice.encoder,
                "threshold": choice.threshold,
                "threshold_source": "" if fitted else choice.source,
            }
        )
        services.preview.request()
