"""The guardrail that figures are about: what it is made of, and every text about it for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter

from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent

ENGINE = "engine"
"""Kind of the engine, an approximation of a real guardrail."""

AIRS = "airs"
JUDGE = "judge"
DECISION = "decision"
"""Kind of decision models, whose scores are the guardrail's own."""

REMOTE = frozenset({AIRS, JUDGE, DECISION})
"""Kinds that run on request only."""

FITTED: Literal["fitted"] = "fitted"
"""Source of a threshold that is fitted to labels; more words may follow it."""

FORECAST = "forecast"
"""Kind of an evaluation that holds a forecast of a guardrail's verdicts."""

UNKNOWN = "an unknown guardrail"
"""Shown for an evaluation whose guardrail is not recorded."""

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

    - engine: `encoder` (`pair`), and `version`, which changes with its weights and constants.
      Other scanners state in `version` what their verdicts depend on.
    - airs: `profile`; `region`, a region other than us or an address; `tenant` of airs-cli;
      `sandbox`, whether the service runs on this machine.
    - judge: names of the `models`, `template` (an id), `form` of the answer, and `options` that are
      sent (JSON text).
    - decision: `models` (one name), `answered_by` if it answers by another name, `api` (the wire
      format), `template`.
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
    template: str = ""
    form: str = ""
    options: str = ""
    companions: tuple[Companion, ...] = ()
    otherwise: str = ""
    epochs: int = 1
    reducer: str = ""

    @property
    def model(self) -> str:
        """Name of the first model, or ""."""
        return self.models[0] if self.models else ""

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

    def label(self) -> str:
        """Return the guardrail in a word or two, for a table cell or column title."""
        if self.kind == ENGINE:
            return "engine (approximation)"
        if self.title:
            return _short(self.title)
        return "AIRS" if self.kind == AIRS else _short(self.kind)

    def badge(self, revision: str = "") -> str:
        """Return the guardrail beside a figure: `engine`, `AIRS prod r3`, `judge gpt-x`."""
        if self.kind == ENGINE:
            return ENGINE
        if self.kind == AIRS:
            number = f" r{revision}" if revision.isdigit() else ""
            return _shown(f"AIRS {self.title or self.profile}{number}")
        name = _short(self.title or self.model or self.version)
        return " ".join(filter(None, (_shown(self.kind), name)))

    def _named(self, quote: Callable[[str], str], names: dict[str, str]) -> str:
        title = f"{quote(self.title)}: " if self.title not in ("", self.profile) else ""
        name = names.get(self.kind)
        if name is None:
            return f"{title}{names['']}{quote(self.kind)}"
        if self.models:
            return f"{title}{name}{quote(self._models_text())}"
        return f"{title}{name.rstrip(': ')}{' on this machine' if self.sandbox else ''}"

    def _models_text(self) -> str:
        names = [name[:_LONGEST_NAME] for name in self.models]
        more = len(names) - _SHOWN_MODELS
        return ", ".join(names[:_SHOWN_MODELS]) + (f" and {more} more" if more > 0 else "")

    def _parts(self, quote: Callable[[str], str]) -> Iterator[str]:
        """Yield what stands before threshold and revision in a sentence."""
        if self.version:
            if self.encoder:
                yield f"encoder {quote(self.encoder)}"
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
    ENGINE: "the engine (a quick approximation of your guardrail)",
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
    """Return the recorded guardrails that `wanted` names: the equal one, else those that fit it.

    Of those that differ only in how they were scanned (epochs, companions) or in the version that
    answered, the first is returned.
    """
    fitting = [guardrail for guardrail in recorded if guardrail.fits(wanted)]
    by_name: dict[Guardrail, Guardrail] = {}
    for guardrail in fitting:
        named = replace(
            guardrail, answered_by="", companions=(), otherwise="", epochs=1, reducer=""
        )
        by_name.setdefault(named, guardrail)
    equal = [guardrail for guardrail in fitting if guardrail == wanted]
    return equal[:1] or list(by_name.values())


def distinct_texts(guardrails: Sequence[Guardrail]) -> list[str]:
    """Return the text of each guardrail, with all models where several would be the same."""
    texts = [guardrail.text() for guardrail in guardrails]
    return [
        text if texts.count(text) == 1 else f"{text} ({_shown(', '.join(guardrail.models))})"
        for text, guardrail in zip(texts, guardrails, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class ScannerSettings:
    """Everything besides topic and prompts that verdicts depend on.

    `threshold` is a score from 0 to 1, None if the guardrail has none. `threshold_source` is
    `built-in`, `by hand`, `fitted to …` or empty. `revision` names the version of the remote
    guardrail: of a profile, which has another one for each definition, or of the addresses of
    models; it does not prevent comparisons. `is_forecast` tells
    that the verdicts are a forecast of those of the guardrail.
    """

    guardrail: Guardrail
    threshold: float | None = None
    threshold_source: str = ""
    revision: str = ""
    is_forecast: bool = False

    @property
    def kind(self) -> str:
        """Kind of the guardrail that gave the verdicts; `FORECAST` if they are a forecast."""
        return FORECAST if self.is_forecast else self.guardrail.kind

    @property
    def has_fitted_threshold(self) -> bool:
        """Return whether the threshold is fitted to labels; it may be None before an evaluation."""
        return self.threshold_source.startswith(FITTED)

    def measures_as(self, baseline: ScannerSettings) -> bool:
        """Return whether a change since `baseline` is one of the definition alone.

        A threshold that is fitted again for each definition belongs to the definition.
        """
        same = self.threshold == baseline.threshold or self.has_fitted_threshold
        return same and self.guardrail == baseline.guardrail

    def titled(self, title: str) -> ScannerSettings:
        """Return the same settings, which compare equal, with a title of the guardrail."""
        return replace(self, guardrail=replace(self.guardrail, title=title)) if title else self

    def to_json(self) -> dict[str, Any]:
        """Return the fields as values of JSON."""
        return {
            "guardrail": self.guardrail.to_json(),
            "threshold": self.threshold,
            "threshold_source": self.threshold_source,
            "revision": self.revision,
            "is_forecast": self.is_forecast,
        }

    @classmethod
    def from_json(cls, stored: Any) -> ScannerSettings:
        """Read the value of `to_json`. Raises ValueError and TypeError."""
        guardrail = Guardrail.from_json(stored.get("guardrail"))
        settings = cls(**stored | {"guardrail": guardrail})
        if not all(
            isinstance(text, str) for text in (settings.threshold_source, settings.revision)
        ):
            raise TypeError("the revision of a guardrail is not text")
        if settings.threshold is not None and not 0 <= settings.threshold <= 1:
            raise ValueError("a threshold is not between 0 and 1")
        return settings


def remote_name(kind: str) -> str:
    """Return the display name of a remote guardrail; for others the kind itself."""
    return _REMOTE_NAMES.get(kind, kind)


def remote_subject(kind: str) -> str:
    """Return the name of a remote guardrail for the start of a sentence."""
    return _SUBJECTS.get(kind) or remote_name(kind)


_REMOTE_NAMES = {AIRS: "AIRS", JUDGE: "Judge", DECISION: "Decision model"}
_SUBJECTS = {JUDGE: "The judge", DECISION: "The decision model"}


def forecast_settings(settings: ScannerSettings) -> ScannerSettings:
    """Return the settings of a forecast of a guardrail's verdicts."""
    return replace(settings, threshold=None, threshold_source="", is_forecast=True)


def revision_of(settings: ScannerSettings) -> str:
    """Return the revision as a reader knows it: the number, without the id behind it."""
    return settings.revision.partition("(")[0].strip()


def badge(settings: ScannerSettings) -> str:
    """Return the guardrail beside a figure: `AIRS prod r3`, `forecast of AIRS prod`."""
    if settings.is_forecast:
        return f"forecast of {settings.guardrail.badge()}"
    return settings.guardrail.badge(revision_of(settings))


def guardrail_label(settings: ScannerSettings) -> str:
    """Return the guardrail in a word or two, for a table cell or column title."""
    label = settings.guardrail.label()
    return f"forecast of {label}" if settings.is_forecast else label


def guardrail_text(settings: ScannerSettings, quote: Callable[[str], str] = _shown) -> str:
    """Return the guardrail that an evaluation measured, with all its verdicts depend on.

    For example `AIRS, profile prod, revision 3`. `quote` makes foreign text inert, as the format
    requires.
    """
    text = settings.guardrail.sentence(quote, _measured_at(settings, quote))
    return f"a forecast of {text}" if settings.is_forecast else text


def _measured_at(settings: ScannerSettings, quote: Callable[[str], str]) -> Iterator[str]:
    if settings.threshold is not None:
        source = settings.threshold_source and f" ({quote(settings.threshold_source)})"
        yield f"threshold {settings.threshold:.3f}{source}"
    revision = revision_of(settings)
    if revision and not settings.guardrail.models:
        yield f"revision {quote(revision)}"


def measured_by(settings: ScannerSettings, quote: Callable[[str], str] = _shown) -> str:
    """Return the sentence that names the measured guardrail; `quote` as in `guardrail_text`."""
    return f"Measured by {guardrail_text(settings, quote)}."
