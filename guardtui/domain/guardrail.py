"""Names of the guardrail that a figure is about; every report opens with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.text import display_start

UNKNOWN = "an unknown scanner"
"""Shown for an evaluation whose scanner is not recorded."""

_LONGEST = 200  # characters of foreign text
_HERE = " on this machine"
_NAMES = {"airs": "AIRS", "judge": "Judge", "decision": "Decision model"}
_SUBJECTS = {"judge": "The judge", "decision": "The decision model"}
_MODELS = ("judge", "decision")
"""Scanners whose revision only identifies the URLs of their models."""

DECISION = "decision"
"""Name of the scanner of decision models, whose scores are the guardrail's own."""

FORECAST = "forecast"
"""Scanner name of an evaluation that holds a forecast of another scanner's verdicts."""


def _shown(text: str) -> str:
    return display_start(text, _LONGEST)


def _short(text: str) -> str:
    return display_start(text, 20)


def remote_name(name: str, default: str | None = None) -> str:
    """Return the display name of a remote scanner; for others the default, or the name itself."""
    return _NAMES.get(name, name if default is None else default)


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
