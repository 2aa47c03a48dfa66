"""The sentence that says which guardrail was measured."""

from __future__ import annotations

import pytest

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.guardrail import guardrail_label, measured_by


@pytest.mark.parametrize(
    ("settings", "sentence", "label"),
    [
        (
            ScannerSettings("local", "minilm-d594f9f812ab-1", 0.62, "shipped"),
            "Measured by the embedded engine (a stand-in for the real guardrail), encoder minilm, "
            "threshold 0.620 (shipped).",
            "engine (stand-in)",
        ),
        (
            ScannerSettings("local", "static-aa-1, together with Salaries (allow, 1a2b)", 0.5),
            "Measured by the embedded engine (a stand-in for the real guardrail), encoder static, "
            "threshold 0.500, together with Salaries (allow, 1a2b).",
            "engine (stand-in)",
        ),
        (
            ScannerSettings("airs", "airs, profile prod, 3 epochs by mode", revision="3 (7f0c)"),
            "Measured by AIRS, profile prod, revision 3, 3 epochs by mode.",
            "AIRS",
        ),
        (
            ScannerSettings("airs", "airs on this machine, profile sandbox", revision="6 (7a)"),
            "Measured by AIRS on this machine, profile sandbox, revision 6.",
            "AIRS",
        ),
        (
            ScannerSettings("judge", "judge, gpt-x, llama, template 1f2e", revision="addresses a1"),
            "Measured by a judge: gpt-x, llama, template 1f2e.",
            "judge",
        ),
        (
            ScannerSettings(
                "decision", "decision, d-1, template 1f2e", 0.35, "by hand", "addresses a1"
            ),
            "Measured by the decision model d-1, threshold 0.350 (by hand), template 1f2e.",
            "decision",
        ),
        (
            ScannerSettings("acme", "acme 2"),
            "Measured by the scanner acme, acme 2.",
            "acme",
        ),
    ],
)
def test_the_guardrail_is_named_with_what_its_verdicts_depend_on(
    settings: ScannerSettings, sentence: str, label: str
) -> None:
    assert measured_by(settings) == sentence
    assert guardrail_label(settings) == label


def test_names_from_outside_are_inert_and_quoted_as_the_format_needs_it() -> None:
    settings = ScannerSettings("airs", "airs, profile a\x1b]52;c\u202e", revision="\x07")
    assert measured_by(settings) == "Measured by AIRS, profile a␛]52;c⟪RLO⟫, revision ␇."
    assert measured_by(settings, lambda text: f"<{text!r}>") == (
        "Measured by AIRS, profile <'a\\x1b]52;c\\u202e'>, revision <'\\x07'>."
    )
