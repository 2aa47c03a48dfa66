"""The dialog of the guardrails: the list, a form for one of them, its key, a check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.suggester import Suggester, SuggestFromList
from textual.widget import Widget
from textual.widgets import Button, Input
from textual.widgets.option_list import Option

from guardtui.app.guardrails.choice import GuardrailOffer, GuardrailRequest
from guardtui.app.guardrails.choosing import Guardrails
from guardtui.app.guardrails.named import NamedGuardrail
from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_start, display_text
from guardtui.scanners.configuration import (
    KINDS,
    MODEL_OPTION,
    Key,
    configure,
    keys_of,
    option_value,
)
from guardtui.tui.inputs.fields import LineInput, SecretInput, ToggleButton
from guardtui.tui.inputs.paths import PathSuggester
from guardtui.tui.kit.form import FormDialog, row
from guardtui.tui.kit.inert import Label, OptionList, Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_REMOTE = [kind for kind in KINDS if kind != "engine"]
_COMMON = set.intersection(*({key.name for key in keys_of(kind)} for kind in _REMOTE))
_ALL = {key.name: key for kind in _REMOTE for key in keys_of(kind)}
_FIELDS: Mapping[str, Key] = {name: _ALL[name] for name in sorted(_ALL, key=_COMMON.__contains__)}
"""The keys with a field, those of all kinds last; kinds share the fields of keys of one name."""

_NEW = "another guardrail …"
_DEFAULT = "default"
_NAME_HELP = "A name keeps the guardrail in the settings; without one it is for this topic only."
_MARKS = {"ok": "✓", "warning": "!", "missing": "!", "failed": "✗"}
_STYLES = {"ok": "$text-success", "failed": "$text-error"}


class GuardrailDialog(FormDialog[bool]):
    """Lists the guardrails, makes and edits them, and uses one; returns whether one was chosen."""

    BINDINGS = [
        Binding("escape", "close", "Close", priority=True),
        Binding("ctrl+s,f2", "accept", "Use", priority=True),
        Binding("ctrl+k", "check", "Check", priority=True),
    ]
    help_pane = "guardrail"

    def __init__(self, guardrails: Guardrails, offer: GuardrailOffer, reason: str = "") -> None:
        """`reason` is the reason for the question."""
        keys = "^s uses it · ^k checks it · Esc closes"
        super().__init__("Guardrail", keys, yes="Use (^s)")
        self._guardrails, self._offer = guardrails, offer
        self._index = offer.chosen
        self._kind, self._keep = offer.guardrails[offer.chosen].kind, False
        self._choices: dict[str, str] = {}
        why = "\n".join(dict.fromkeys(filter(None, (reason, offer.problem))))
        self._why = Label(display_text(why, newlines=True), classes="why")
        self._why.display = bool(why)
        self._list = OptionList(id="guardrails", compact=True)
        self._name_field = LineInput(id="name", placeholder="none", compact=True)
        self._turn = ToggleButton(id="kind", compact=True)
        self._fields = {name: self._field(key) for name, key in _FIELDS.items()}
        self._key = SecretInput(id="key")
        self._tick = ToggleButton(id="keep", compact=True)
        self._help = Static("", id="field-help")
        self._rows: dict[str, Widget] = {}

    def _field(self, key: Key) -> Widget:
        """Return the field of a key: a button for choices, else an input."""
        if key.choices or key.is_flag:
            return ToggleButton(id=key.name, compact=True)
        suggester: Suggester | None = None
        if key.name == "template":
            suggester = PathSuggester()
        elif key.name == "tenant" and self._offer.tenants:
            suggester = SuggestFromList(self._offer.tenants)
        return LineInput(id=key.name, suggester=suggester, compact=True)

    def fields(self) -> ComposeResult:
        yield self._why
        yield self._list
        yield row("name", self._name_field)
        yield row("kind", self._turn)
        for name, field in (*self._fields.items(), ("key", self._key)):
            self._rows[name] = row(name, field)
            yield self._rows[name]
        with Vertical(id="keeping"):
            if self._offer.no_keyring:
                text = f"In memory until you quit; {self._offer.no_keyring}"
                yield Static(text, id="no-keyring")
            else:
                yield row("", self._tick)
        yield self._help

    def more_buttons(self) -> Iterator[Button]:
        yield Button(Text("Check (^k)"), id="check", compact=True)

    def on_mount(self) -> None:
        lines = [_line(guardrail) for guardrail in self._offer.guardrails]
        self._list.add_options([Option(themed(Text(line))) for line in (*lines, _NEW)])
        self._list.highlighted = self._offer.chosen
        self._fill(self._offer.guardrails[self._index])
        self._list.focus()
        # On a small screen that scrolls; the reason above the list must be in view.
        self.call_after_refresh(self.query_one(".dialog").scroll_home, animate=False)

    def on_unmount(self) -> None:
        self._key.value = ""

    # --- what is shown --------------------------------------------------------------------

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the guardrail under the cursor in the form."""
        known = self._offer.guardrails
        index = event.option_index
        guardrail = known[index] if index < len(known) else NamedGuardrail("", KINDS["airs"]())
        if index != self._index:
            self._index = index
            self._why.display = False  # it was about another one
            self._fill(guardrail)

    def _fill(self, guardrail: NamedGuardrail) -> None:
        """Fill in the values of a guardrail."""
        self._kind = guardrail.kind
        texts = _texts(guardrail)
        with self.prevent(Input.Changed):
            self._name_field.value = guardrail.name
            self._key.value = ""
            for name, field in self._fields.items():
                if isinstance(field, Input):
                    field.value = texts.get(name, "")
        self._choices = texts
        self.problem.clear()
        self._draw()

    def _draw(self) -> None:
        """Show the fields of the kind, and the labels of the buttons."""
        keys = {} if self._kind == "engine" else {key.name: key for key in keys_of(self._kind)}
        for name, field in self._fields.items():
            self._rows[name].display = name in keys
            if isinstance(field, ToggleButton):
                field.label = Content(f"‹ {self._choices.get(name) or _DEFAULT} ›")
            elif isinstance(field, Input) and name in keys:
                field.placeholder = keys[name].values
        self._rows["key"].display = self.query_one("#keeping").display = self._kind != "engine"
        self._turn.label = Content(f"‹ {self._kind}: {KINDS[self._kind].subject} ›")
        self._tick.label = Content(
            f"[{'x' if self._keep else ' '}] keep the key in the keyring of the system"
        )
        self._show_key_origin()

    @work(exclusive=True, group="key")
    async def _show_key_origin(self) -> None:
        try:
            known = await self._guardrails.key_origin(self._typed())
        except (GuardtuiError, ValueError):  # reported when it is used
            known = ""
        self._key.placeholder = (
            f"••• {display_text(known)}; type another one to replace it" if known else "none is set"
        )

    @on(events.DescendantFocus)
    def show_help(self, event: events.DescendantFocus) -> None:
        """Say what the field in focus is for."""
        name = event.widget.id or ""
        keys = {key.name: key.help for key in keys_of(self._kind)}
        text = _NAME_HELP if name == "name" else keys.get(name, "")
        self._help.update(display_text(text))

    # --- the request ----------------------------------------------------------------------

    def _typed(self) -> NamedGuardrail:
        """Return the guardrail in the form. Raises ConfigurationError."""
        values: dict[str, object] = {}
        if self._kind != "engine":
            for key in keys_of(self._kind):
                field = self._fields[key.name]
                text = field.value if isinstance(field, Input) else self._choices.get(key.name, "")
                if text.strip():
                    values[key.name] = _options(text) if key.name == MODEL_OPTION else text
        name = self._name_field.value.strip()
        known = {each.name: each for each in self._offer.guardrails if each.name}
        configuration = configure(self._kind, values)
        if name in known:
            return replace(known[name], configuration=configuration)
        return NamedGuardrail(name, configuration)

    def _request(self) -> GuardrailRequest:
        """Return the guardrail in the form with its key. Raises ConfigurationError."""
        guardrail = self._typed()
        save = bool(guardrail.name) and guardrail not in self._offer.guardrails
        return GuardrailRequest(guardrail, self._key.value.strip(), self._keep, save)

    def submitted(self, field: Input) -> None:
        """Go to the next field; from the last one, use the guardrail."""
        if field is self._key:
            self.accept()
        else:
            self.focus_next()

    @on(OptionList.OptionSelected)
    def selected(self, event: OptionList.OptionSelected) -> None:
        """Use the guardrail; a new one needs its values first."""
        event.stop()
        if event.option_index < len(self._offer.guardrails):
            self.accept()
        else:
            self._name_field.focus()

    def chose(self, button: Button) -> None:
        """Check, or change the value of a button to the next one."""
        name = button.id or ""
        if name == "check":
            self.action_check()
            return
        if name == "kind":
            kinds = list(KINDS)
            self._kind = kinds[(kinds.index(self._kind) + 1) % len(kinds)]
            # A typed key belongs to one kind of guardrail.
            self._key.value = ""
            self._why.display = False  # it was about another kind
        elif name == "keep":
            self._keep = not self._keep
        else:
            choices = ["", *(_FIELDS[name].choices or ("true",))]
            index = choices.index(self._choices.get(name, "")) + 1
            self._choices[name] = choices[index % len(choices)]
        self.problem.clear()
        self._draw()

    @work(exclusive=True, group="guardrail")
    async def accept(self) -> None:  # type: ignore[override]
        """Use the guardrail from now on, unless it is invalid."""
        self._begin_check()
        try:
            await self._guardrails.choose(self._request())
        except (GuardtuiError, RuntimeError, ValueError) as error:
            self._show_result(f"! {error}", "$text-error")
        else:
            self.dismiss(True)

    @work(exclusive=True, group="guardrail")
    async def action_check(self) -> None:
        """Check the guardrail with one prompt, and show the result."""
        self._begin_check()
        try:
            fact = await self._guardrails.check(self._request())
        except (GuardtuiError, RuntimeError, ValueError) as error:
            self._show_result(f"! {error}", "$text-error")
        else:
            text = f"{_MARKS[fact.state]} {fact.name}: {fact.value}"
            text += f"\n  {fact.remedy}" if fact.remedy else ""
            self._show_result(text, _STYLES.get(fact.state, "$text-warning"))

    def _begin_check(self) -> None:
        """Take away what was said of the settings before."""
        self._why.display = False
        self._show_result("checking …", "$text-muted")

    def _show_result(self, text: str, style: str) -> None:
        self.problem.show_note(text, style)
        self.problem.scroll_visible()

    def action_close(self) -> None:
        self.dismiss(False)


def _line(guardrail: NamedGuardrail) -> str:
    """Return the line of a guardrail in the list: name, kind and file, or its address alone."""
    title = display_start(guardrail.title or guardrail.configuration.subject, 32)
    if not guardrail.name:
        return title
    source = "" if guardrail.path is None else f"{guardrail.path.name}:{guardrail.line}"
    return f"{title:<32}  {guardrail.kind:<8}  {display_start(source, 24)}".rstrip()


def _texts(guardrail: NamedGuardrail) -> dict[str, str]:
    """Return the values of a guardrail as its fields have them, by key."""
    texts = {}
    for name, value in guardrail.configuration.given().items():
        if isinstance(value, dict):
            parts = (
                f"{option}={json.dumps(each, separators=(',', ':'))}"
                for option, each in value.items()
            )
            texts[name] = " ".join(parts)
        elif isinstance(value, list):
            texts[name] = " ".join(map(str, value))
        else:
            texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def _options(text: str) -> dict[str, object]:
    """Return the options of a text such as `seed=7 top_p=0.5`. Raises ConfigurationError."""
    parts = [part.partition("=") for part in text.split()]
    return {name: option_value(name, value) for name, _, value in parts}


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
