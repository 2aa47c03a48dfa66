"""The dialog for the guardrail of this session, with its key."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Button, Input, Label, Static

from guardtui.app.check_result import CheckResult
from guardtui.app.guardrail_choice import (
    MODELS,
    GuardrailChoice,
    GuardrailKind,
    GuardrailOffer,
    GuardrailRequest,
)
from guardtui.app.guardrails import Guardrails
from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_start, display_text
from guardtui.scanners.decision.options import FORMATS
from guardtui.tui.inputs.line_input import LineInput
from guardtui.tui.inputs.path_suggester import PathSuggester
from guardtui.tui.inputs.secret_input import SecretInput
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.kit.toggle_button import ToggleButton
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_KINDS = {
    GuardrailKind.ENGINE: "embedded engine only",
    GuardrailKind.AIRS: "Prisma AIRS",
    GuardrailKind.JUDGE: "a judge: a language model",
    GuardrailKind.DECISION: "a decision model",
}
_ORIGIN = 30  # cells of the origin of a value
_MARKS = {"ok": "✓", "warning": "!", "missing": "!", "failed": "✗"}
_STYLES = {"ok": "$text-success", "failed": "$text-error"}


class GuardrailDialog(Modal[bool]):
    """Chooses a guardrail and uses it; returns whether one was chosen."""

    BINDINGS = [
        Binding("escape", "close", "Close", priority=True),
        Binding("ctrl+s,f2", "use", "Use", priority=True),
        Binding("ctrl+k", "check", "Check", priority=True),
    ]
    help_pane = "guardrail"

    def __init__(self, guardrails: Guardrails, offer: GuardrailOffer, reason: str = "") -> None:
        """`reason` is the reason for the question."""
        super().__init__()
        self._guardrails, self._offer = guardrails, offer
        choice = offer.choice
        self._kind, self._keep = choice.kind, False
        why = "\n".join(dict.fromkeys(filter(None, (reason, offer.problem))))
        self._why = Label(display_text(why, newlines=True), classes="why", markup=False)
        self._why.display = bool(why)
        self._turn = ToggleButton(id="kind", compact=True)
        self._tick = ToggleButton(id="keep", compact=True)
        self._no_keyring = Static(
            f"In memory until you quit; {offer.no_keyring}",
            id="no-keyring",
            markup=False,
        )
        self._region = LineInput(
            choice.region, placeholder="us, de, in, sg or a URL", id="region", compact=True
        )
        self._profile = LineInput(
            choice.profile, placeholder="name of the security profile", id="profile", compact=True
        )
        self._tenant = LineInput(
            choice.tenant,
            placeholder=f"none; one of {', '.join(map(display_text, offer.tenants[:5]))}",
            suggester=SuggestFromList(offer.tenants),
            id="tenant",
            compact=True,
        )
        self._models = LineInput(
            choice.models,
            placeholder="URL#name, as http://localhost:11434/v1#qwen3",
            id="models",
            compact=True,
        )
        self._template = LineInput(
            choice.template,
            placeholder="the shipped one",
            suggester=PathSuggester(),
            id="template",
            compact=True,
        )
        self._api = ToggleButton(id="api", compact=True)
        self._format = choice.api if choice.api in FORMATS else FORMATS[0]
        self._key = SecretInput(id="key")
        self._result = Static("", id="guardrail-result", markup=False)
        self._rows: dict[str, Widget] = {}

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as dialog:
            dialog.border_title = "Guardrail"
            dialog.border_subtitle = "^s uses it · ^k checks it · Esc closes"
            yield self._why
            yield self._row("kind", "Guardrail", self._turn)
            yield self._row("region", "Region", self._region)
            yield self._row("tenant", "Tenant", self._tenant)
            yield self._row("profile", "Profile", self._profile)
            yield self._row("models", "Model", self._models)
            yield self._row("api", "Format", self._api)
            yield self._row("template", "Template", self._template)
            yield self._row("key", "Key", self._key)
            with Vertical(id="keeping"):
                if self._offer.no_keyring:
                    yield self._no_keyring
                else:
                    yield self._row("keep", "", self._tick)
            yield self._result
            with Horizontal(classes="buttons"):
                yield Button(Text("Use (^s)"), id="use", variant="primary", compact=True)
                yield Button(Text("Check (^k)"), id="check", compact=True)
                yield Button(Text("Cancel (Esc)"), id="no", compact=True)

    def _row(self, name: str, caption: str, widget: Widget) -> Horizontal:
        origin = Static(self._origin(name), classes="origin", markup=False)
        label = Label(caption, classes="row-caption", markup=False)
        row = self._rows[name] = Horizontal(label, widget, origin, classes="row")
        return row

    def _origin(self, name: str) -> str:
        origin = self._offer.origins.get(name, "")
        return display_start(origin, _ORIGIN) if origin else ""

    def on_mount(self) -> None:
        self._show()
        self._turn.focus()

    def on_unmount(self) -> None:
        self._key.value = ""

    def _show(self) -> None:
        """Show the fields of the chosen kind."""
        airs, asks_model = self._kind is GuardrailKind.AIRS, self._kind in MODELS
        for name in ("region", "profile"):
            self._rows[name].display = airs
        self._rows["tenant"].display = airs and bool(self._offer.tenants)
        for name in ("models", "template"):
            self._rows[name].display = asks_model
        self._rows["api"].display = self._kind is GuardrailKind.DECISION
        self._api.label = Content(f"‹ {self._format} ›")
        self._rows["key"].display = self.query_one("#keeping").display = airs or asks_model
        self._turn.label = Content(f"‹ {_KINDS[self._kind]} ›")
        self._tick.label = Content(
            f"[{'x' if self._keep else ' '}] keep the key in the keyring of the system"
        )
        known = self._offer.origins.get(f"{self._kind.value}_key", "")
        self._key.placeholder = (
            f"••• {display_text(known)}; type another one to replace it" if known else "none is set"
        )

    # --- the request ----------------------------------------------------------------------

    @property
    def _request(self) -> GuardrailRequest:
        choice = GuardrailChoice(
            self._kind,
            region=self._region.value.strip(),
            profile=self._profile.value.strip(),
            tenant=self._tenant.value.strip(),
            models=self._models.value.strip(),
            template=self._template.value.strip(),
            api=self._format if self._kind is GuardrailKind.DECISION else "",
        )
        return GuardrailRequest(choice, self._key.value.strip(), self._keep)

    @on(Input.Changed)
    def changed(self, event: Input.Changed) -> None:
        """Clear the result of the check; a changed value has no origin."""
        self._result.update("")
        name = event.input.id or ""
        same = event.value == getattr(self._offer.choice, name, "")
        self._rows[name].query_one(".origin", Static).update(self._origin(name) if same else "")

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        """Go to the next field; from the last one, use the guardrail."""
        event.stop()
        if self._key.has_focus:
            self.action_use()
        else:
            self.focus_next()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "kind":
            kinds = list(_KINDS)
            self._kind = kinds[(kinds.index(self._kind) + 1) % len(kinds)]
            # A typed key belongs to one kind of guardrail.
            self._key.value = ""
            self._result.update("")
            self._why.display = False  # it was about another kind
            self._show()
        elif event.button.id == "api":
            self._format = FORMATS[(FORMATS.index(self._format) + 1) % len(FORMATS)]
            self._result.update("")
            self._show()
        elif event.button.id == "keep":
            self._keep = not self._keep
            self._show()
        elif event.button.id == "use":
            self.action_use()
        elif event.button.id == "check":
            self.action_check()
        else:
            self.action_close()

    def action_use(self) -> None:
        """Use the guardrail from now on, unless it is invalid."""
        self._use()

    @work(exclusive=True, group="guardrail")
    async def _use(self) -> None:
        self._begin_check()
        try:
            await self._guardrails.choose(self._request)
        except (GuardtuiError, RuntimeError, ValueError) as error:
            self._show_result(f"! {error}", "$text-error")
        else:
            self.dismiss(True)

    def action_check(self) -> None:
        """Check the guardrail with one prompt, and show the result."""
        self._check()

    @work(exclusive=True, group="guardrail")
    async def _check(self) -> None:
        self._begin_check()
        try:
            fact = await self._guardrails.check(self._request)
        except (GuardtuiError, RuntimeError, ValueError) as error:
            self._show_result(f"! {error}", "$text-error")
        else:
            self._show_result(_fact_text(fact), _STYLES.get(fact.state, "$text-warning"))

    def _begin_check(self) -> None:
        """Take away what was said of the settings before."""
        self._why.display = False
        self._show_result("checking …", "$text-muted")

    def _show_result(self, text: str, style: str) -> None:
        self._result.update(themed(Text(display_text(text, newlines=True), style)))

    def action_close(self) -> None:
        self.dismiss(False)


def _fact_text(fact: CheckResult) -> str:
    text = f"{_MARKS[fact.state]} {fact.name}: {fact.value}"
    return f"{text}\n  {fact.remedy}" if fact.remedy else text


class GuardrailFeature:
    """Chooses the guardrail, on request or before a scan without one."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"choose_guardrail": window.action(self._choose)}

    async def _choose(self) -> None:
        await self.choose()

    async def choose(self, reason: str = "") -> bool:
        """Show the dialog; return whether a guardrail is usable then."""
        guardrails = self._services.guardrails
        with problems_shown(self._window):
            offer = await guardrails.offer()
            chosen = await self._window.show(GuardrailDialog(guardrails, offer, reason))
            return bool(chosen) and not guardrails.refusal
        return False
