"""The guardrail that figures are about: what it is made of, and every text about it for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent

ENGINE = "engine"
"""Kind of the embedded engine, the stand-in for a real guardrail."""

AIRS = "airs"
JUDGE = "judge"
DECISION = "decision"
"""Kind of decision models, whose scores are the guardrail's own."""

_LONGEST = 200  # characters of foreign text
_LONGEST_NAME = 60
_SHOWN_MODELS = 3


def _shown(text: str) -> str:
    return display_start(text, _LONGEST)


def _short(text: str) -> str:
    return display_start(text, 20)


@dataclass(frozen=True, slots=True, order=True)
class Companion:
    """A topic that is measured together with the one under test; `fingerprint` has 8 digits."""

    name: str
    intent: Intent
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Guardrail:
    """Everything that identifies a guardrail, apart from definition, threshold and revision.

    Verdicts of equal ones compare. `kind` is `engine`, `airs`, `judge`, `decision`, or the name of
    another scanner; `title` is its configured name, which people read and which is not compared.
    A field is empty if the kind does not have it or if it has its usual value:

    - engine: `encoder` (`pair`), and `version`, which also names its weights and constants.
      Other scanners state in `version` what their verdicts depend on.
    - airs: `profile`; `region`, a region other than us or an address; `tenant` of airs-cli;
      `sandbox`, whether the service runs on this machine.
    - judge: names of the `models`, `template` (an id), `form` of the answer, and `options` that are
      sent (JSON text).
    - decision: `models` (one name), `answered_by` if it answers by another name, `api` (the wire
      format), `template`.
    - judge, decision: `service`, a digest of the addresses: many services use the same names, and
      an address may contain a secret.
    - all: `companions`, sorted; `otherwise`, what a profile with companions does with a prompt that
      no topic matches: `block`, `allow`, or empty, which depends on the topic under test; `epochs`,
      the requests per prompt, with the `reducer` of their answers.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    kind: str
    title: str = field(default="", compare=False)
    encoder: str = ""
    version: str = ""
    profile: str = ""
    region: str = ""
    tenant: str = ""
    sandbox: bool = False
    models: tuple[str, ...] = ()
    answered_by: str = ""
    api: str = ""
    service: str = ""
    template: str = ""
    form: str = ""
    options: str = ""
    companions: tuple[Companion, ...] = ()
    otherwise: str = ""
    epochs: int = 1
    reducer: str = ""

    def fits(self, wanted: Guardrail) -> bool:
        """Return whether every field that `wanted` states is equal.

        A profile in any region fits `Guardrail("airs", profile="prod")`.
        """
        return self.kind == wanted.kind and all(
            getattr(wanted, part.name) in (part.default, getattr(self, part.name))
            for part in _COMPARED
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stated fields as values of JSON."""
        stated: dict[str, Any] = _adapter().dump_python(self, mode="json", exclude_defaults=True)
        return stated

    @classmethod
    def from_json(cls, stated: object) -> Guardrail:
        """Read the value of `to_json`. Raises ValueError."""
        return _adapter().validate_python(stated)

    def text(self, quote: Callable[[str], str] = _shown) -> str:
        """Return the guardrail with all that it is made of, for a list or a table of details.

        For example `AIRS, profile prod`, or `judge gpt-x, llama, template 1f2e`. `quote` makes
        foreign text inert, as the format requires.
        """
        return ", ".join([self._named(quote, _NAMES), *self._parts(quote), *self._details(quote)])

    def sentence(self, quote: Callable[[str], str] = _shown, measured: Iterable[str] = ()) -> str:
        """Return the guardrail as part of a sentence; `measured` are its threshold and revision.

        For example `a judge: gpt-x, template 1f2e`; `quote` as in `text`.
        """
        head = self._named(quote, _SENTENCE_NAMES)
        return ", ".join([head, *self._parts(quote), *measured, *self._details(quote)])

    def label(self, quote: Callable[[str], str] = _short) -> str:
        """Return the guardrail in a word or two, for a table cell or column title."""
        if self.kind == ENGINE:
            return "engine (stand-in)"
        if self.title:
            return quote(self.title)
        return "AIRS" if self.kind == AIRS else quote(self.kind)

    def badge(self, revision: str = "") -> tuple[str, str]:
        """Return a badge and its detail: (`AIRS`, `prod r3`), (`ENGINE`, "")."""
        if self.kind == ENGINE:
            return "ENGINE", ""
        if self.kind == AIRS:
            number = f" r{revision}" if revision.isdigit() else ""
            return "AIRS", _shown(f"{self.title or self.profile}{number}")
        first = self.models[0] if self.models else self.version
        return _shown(self.kind).upper(), _short(self.title or first)

    def _named(self, quote: Callable[[str], str], names: dict[str, str]) -> str:
        title = f"{quote(self.title)}: " if self.title not in ("", self.profile) else ""
        name = names.get(self.kind)
        if name is None:
            return f"{title}{names['']}{quote(self.kind)}"
        here = " on this machine" if self.sandbox else ""
        return f"{title}{name}{quote(self._models_text()) if self.models else here}"

    def _models_text(self) -> str:
        names = [name[:_LONGEST_NAME] for name in self.models]
        more = len(names) - _SHOWN_MODELS
        return ", ".join(names[:_SHOWN_MODELS]) + (f" and {more} more" if more > 0 else "")

    def _parts(self, quote: Callable[[str], str]) -> Iterator[str]:
        """Yield what stands before threshold and revision in a sentence."""
        if self.version:
            yield f"version {quote(self.version)}" if self.kind == ENGINE else quote(self.version)
        for name in ("profile", "region", "tenant"):
            if value := getattr(self, name):
                yield f"{name} {quote(value)}"

    def _details(self, quote: Callable[[str], str]) -> Iterator[str]:
        if self.answered_by:
            yield quote(f"answered by {self.answered_by}")
        if self.api:
            yield quote(self.api)
        if self.template:
            yield quote(f"template {self.template}")
        for value in (self.form, self.options):
            if value:
                yield quote(value)
        if self.companions:
            yield quote(f"together with {self._companions_text()}")
        if self.reducer:
            yield quote(f"{self.epochs} epochs by {self.reducer}")

    def _companions_text(self) -> str:
        names = ", ".join(
            f"{display_start(topic.name, _LONGEST_NAME)} ({topic.intent}, {topic.fingerprint})"
            for topic in self.companions
        )
        return f"{names}; default {self.otherwise}" if self.otherwise else names


_COMPARED = tuple(part for part in fields(Guardrail) if part.compare and part.name != "kind")
_NAMES = {ENGINE: "engine", AIRS: "AIRS", JUDGE: "judge ", DECISION: "decision model ", "": ""}
_SENTENCE_NAMES = {
    ENGINE: "the embedded engine (a stand-in for the real guardrail)",
    AIRS: "AIRS",
    JUDGE: "a judge: ",
    DECISION: "the decision model ",
    "": "the guardrail ",
}
"""Beginnings of texts by kind; the last is for other scanners."""


@cache
def _adapter() -> TypeAdapter[Guardrail]:
    return TypeAdapter(Guardrail)


def matches(wanted: Guardrail, recorded: Iterable[Guardrail]) -> list[Guardrail]:
    """Return the recorded guardrails that `wanted` names: the equal one, else those that fit it."""
    fitting = list(dict.fromkeys(guardrail for guardrail in recorded if guardrail.fits(wanted)))
    return [guardrail for guardrail in fitting if guardrail == wanted] or fitting


UNKNOWN = "an unknown scanner"
"""Shown for an evaluation whose scanner is not recorded."""

_HERE = " on this machine"
_REMOTE_NAMES = {"airs": "AIRS", "judge": "Judge", "decision": "Decision model"}
_SUBJECTS = {"judge": "The judge", "decision": "The decision model"}
_MODELS = ("judge", "decision")
"""Scanners whose revision only identifies the URLs of their models."""

FORECAST = "forecast"
"""Scanner name of an evaluation that holds a forecast of another scanner's verdicts."""


def remote_name(name: str, default: str | None = None) -> str:
    """Return the display name of a remote scanner; for others the default, or the name itself."""
    return _REMOTE_NAMES.get(name, name if default is None else default)


def remote_subject(name: str) -> str:
    """Return the name of a remote scanner for the start of a sentence."""
    return _SUBJECTS.get(name) or remote_name(name)


def forecast_settings(settings: ScannerSettings) -> ScannerSettings:
    """Return the settings of a forecast of a remote scanner's verdicts."""
    return ScannerSettings(FORECAST, settings.identity, revision=settings.revision)


def forecast_of(settings: ScannerSettings) -> ScannerSettings | None:
    """Return the scanner that a forecast is about, from its identity; None if not a forecast."""
    if settings.name != FORECAST:
        return None
    # Identities of remote scanners begin with the scanner's name.
    name = settings.identity.partition(",")[0].partition(" ")[0]
    return ScannerSettings(name, settings.identity, revision=settings.revision)


def revision_of(settings: ScannerSettings) -> str:
    """Return the revision as a reader knows it: of AIRS the number, without the id behind it."""
    return settings.revision.partition("(")[0].strip()


def badge(settings: ScannerSettings) -> tuple[str, str]:
    """Return the badge of a figure and its detail: (`FORECAST`, ""), (`AIRS`, `prod r3`)."""
    if (forecast := forecast_of(settings)) is not None:
        return "FORECAST", " ".join(filter(None, badge(forecast)))
    if settings.name == "local":
        return "ENGINE", ""
    first = settings.identity.removeprefix(f"{settings.name}, ")
    if settings.name == "airs":
        number = revision_of(settings)
        revision = f" r{number}" if number.isdigit() else ""
        profile = settings.identity.rpartition("profile ")[2].partition(", ")[0]
        return "AIRS", _shown(f"{profile}{revision}")
    return _shown(settings.name).upper(), _short(first.partition(", ")[0])


def guardrail_label(settings: ScannerSettings, quote: Callable[[str], str] = _short) -> str:
    """Return the guardrail in a word or two, for a table cell or column title.

    `quote` makes foreign scanner names inert, as the format requires.
    """
    if (forecast := forecast_of(settings)) is not None:
        return f"forecast of {guardrail_label(forecast, quote)}"
    if settings.name == "local":
        return "engine (stand-in)"
    return remote_name("airs") if settings.name == "airs" else quote(settings.name)


def guardrail_text(settings: ScannerSettings, quote: Callable[[str], str] = _shown) -> str:
    """Return the guardrail that an evaluation measured, with all its verdicts depend on.

    For example `AIRS, profile prod, revision 3`, or `the embedded engine (a stand-in for the real
    guardrail), encoder minilm, threshold 0.620 (shipped)`. `quote` makes foreign text inert, as the
    format requires.
    """
    if (forecast := forecast_of(settings)) is not None:
        return f"a forecast of {guardrail_text(forecast, quote)}"
    # The sandbox must not be mistaken for AIRS.
    location = _HERE if settings.identity.startswith(f"airs{_HERE}, ") else ""
    identity = settings.identity.removeprefix(f"{settings.name}{location}, ")
    first, _, rest = identity.partition(", ")
    if settings.name == "local":
        start = "the embedded engine (a stand-in for the real guardrail)"
        parts = [start, f"encoder {quote(first.partition('-')[0])}"]
    elif settings.name == "airs":
        parts = [
            f"{remote_name('airs')}{location}",
            f"profile {quote(first.removeprefix('profile '))}",
        ]
    elif settings.name == "judge":
        parts = [f"a judge: {quote(first)}"]
    elif settings.name == "decision":
        parts = [f"the decision model {quote(first)}"]
    else:
        parts = [f"the scanner {quote(settings.name)}", quote(first)]
    return ", ".join([*parts, *_details(settings, rest, quote)])


def _details(settings: ScannerSettings, rest: str, quote: Callable[[str], str]) -> Iterator[str]:
    if settings.threshold is not None:
        source = settings.threshold_source and f" ({quote(settings.threshold_source)})"
        yield f"threshold {settings.threshold:.3f}{source}"
    revision = revision_of(settings)
    if revision and settings.name not in _MODELS:
        yield f"revision {quote(revision)}"
    if rest:
        yield quote(rest)


def measured_by(settings: ScannerSettings, quote: Callable[[str], str] = _shown) -> str:
    """Return the sentence that names the measured guardrail; `quote` as in `guardrail_text`."""
    return f"Measured by {guardrail_text(settings, quote)}."
