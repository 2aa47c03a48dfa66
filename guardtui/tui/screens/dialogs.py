"""Small questions and pages over the main screen: confirm, text page, choice, scanner settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from guardtui.domain.figures import threshold_text
from guardtui.domain.operating_point import BY_HAND, FITTED, SHIPPED, ThresholdFit
from guardtui.domain.text import display_text
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.tui.content import themed
from guardtui.tui.modal import Modal
from guardtui.tui.widgets.line_input import LineInput


class Confirm(Modal[bool]):
    """A question with two answers; Escape is no."""

    BINDINGS = [("escape,n", "answer(False)", "No"), ("y", "answer(True)", "Yes")]

    def __init__(self, question: str, yes: str, no: str, *, calm: float = 0.0) -> None:
        """A question that comes by itself takes no answer for the first `calm` seconds."""
        super().__init__()
        self._question, self._yes, self._no = question, yes, no
        self._calm = calm

    def on_mount(self) -> None:
        if self._calm:
            self.set_timer(self._calm, self._hear)

    def _hear(self) -> None:
        self._calm = 0.0

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(display_text(self._question, newlines=True), markup=False)
            with Horizontal(classes="buttons"):
                yield Button(Text(f"{self._yes} (y)"), id="yes", variant="primary", compact=True)
                yield Button(Text(f"{self._no} (Esc)"), id="no", compact=True)

    def action_answer(self, answer: bool) -> None:
        if not self._calm:
            self.dismiss(answer)

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "yes")


class LineDialog(Modal[str | None]):
    """Asks for one line of text; Enter takes it unless something is wrong with it."""

    help_pane = "dialog"
    BINDINGS = [("escape", "close", "Close")]

    def __init__(
        self,
        title: str,
        question: str,
        placeholder: str,
        yes: str,
        problem: Callable[[str], str],
        *,
        longest: int,
        help_pane: str,
        note: Callable[[str], str] = lambda _: "",
        risk: str = "",
    ) -> None:
        """`problem` returns what is wrong with a line, `note` a hint while it is typed.

        `risk` is the line of the frame for what cannot be undone. `longest` is in characters.
        """
        super().__init__()
        self.help_pane = help_pane
        self._title, self._question, self._yes, self._risk = title, question, yes, risk
        self._problem_of, self._note_of = problem, note
        self._input = LineInput(placeholder=placeholder, max_length=longest, compact=True)
        self._problem = Label("", id="problem", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = self._title
            dialog.border_subtitle = self._risk
            with VerticalScroll(classes="line-question"):
                yield Label(self._question, markup=False)
            yield self._input
            yield self._problem
            with Horizontal(classes="buttons"):
                yield Button(
                    Text(f"{self._yes} (Enter)"),
                    id="yes",
                    variant="error" if self._risk else "primary",
                    compact=True,
                )
                yield Button(Text("Cancel (Esc)"), id="no", compact=True)

    def on_mount(self) -> None:
        self._input.focus()

    @on(Input.Changed)
    def changed(self, event: Input.Changed) -> None:
        self._problem.update(self._note_of(event.value.strip()))

    @on(Input.Submitted)
    def submitted(self) -> None:
        line = self._input.value.strip()
        if problem := self._problem_of(line):
            self._problem.update(problem)
        else:
            self.dismiss(line)

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "yes":
            self.submitted()
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        self.dismiss(None)


class TextPage(Modal[None]):
    """A page of text to read; Escape, q or the key that opened it close it."""

    BINDINGS = [("escape,q,enter,f1", "close", "Close")]

    def __init__(self, title: str, body: Text, help_pane: str = "page") -> None:
        """`help_pane` is the help that says what the page shows."""
        super().__init__()
        self._title, self._body = title, body
        self.help_pane = help_pane

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="page") as page:
            page.border_title = Text(self._title).plain
            page.border_subtitle = "Esc closes"
            yield Static(themed(self._body), markup=False)

    def action_close(self) -> None:
        self.dismiss(None)


class Choice(Modal[str | None]):
    """A list to choose from; Enter chooses, Escape leaves it."""

    BINDINGS = [("escape,q", "close", "Close")]

    def __init__(self, title: str, options: Sequence[tuple[str, Text]], keys: str = "") -> None:
        super().__init__()
        self._title, self._options, self._keys = title, options, keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = Text(self._title).plain
            page.border_subtitle = self._keys or "Enter chooses, Esc closes"
            yield OptionList(
                *(Option(themed(text), id=name) for name, text in self._options),
                markup=False,
                compact=True,
            )

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_close(self) -> None:
        self.dismiss(None)


@dataclass(frozen=True, slots=True)
class ScannerChoice:
    """What the author set; `threshold` None is the shipped one, or a fitted one by `source`."""

    encoder: str
    threshold: float | None
    source: str


class ScannerDialog(Modal[ScannerChoice | None]):
    """Threshold and encoder of the embedded scanner, with where the threshold comes from."""

    BINDINGS = [("escape", "close", "Close")]

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
            # A threshold belongs to its encoder: scores of another one mean something else.
            self.dismiss(ScannerChoice(other, None, ""))

    def _set(self) -> None:
        text = self.query_one(Input).value.strip().replace(",", ".")
        if text == self._filled_in.replace(",", "."):  # nothing was changed, nor is it rounded
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

    def action_close(self) -> None:
        self.dismiss(None)


def next_encoder(name: str) -> str:
    """Return the encoder after this one; after the last comes the first."""
    return ENCODERS[(ENCODERS.index(name) + 1) % len(ENCODERS)]
