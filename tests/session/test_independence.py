"""Which guardrails count as one when labels are doubted."""

from __future__ import annotations

import pytest

from guardtui.domain.guardrail import ScannerSettings
from guardtui.session.independence import independent_names
from tests.guardrails import airs_settings, decision_settings, engine_settings, judge_settings

PANEL = judge_settings("m1", "m2", "m3", "m4", "m5")


@pytest.mark.parametrize(
    ("guardrails", "names"),
    [
        ([PANEL, judge_settings("m5"), judge_settings("m3")], ["judge m1, m2, m3, m4, m5"] * 3),
        ([PANEL, judge_settings("m6")], ["judge m1, m2, m3, m4, m5", "judge m6"]),
        (
            [judge_settings("a", "b"), judge_settings("c"), judge_settings("c", "b")],
            ["judge a, b, c"] * 3,
        ),
        (
            [judge_settings("m, template x"), judge_settings("m")],
            ["judge m, template x", "judge m"],
        ),
        ([airs_settings("prod"), airs_settings("preprod")], ["AIRS", "AIRS"]),
        (
            [engine_settings("1"), engine_settings("2"), airs_settings("prod", sandbox=True)],
            ["the embedded engine"] * 3,
        ),
        (
            [decision_settings("m"), decision_settings("n")],
            ["decision model m", "decision model n"],
        ),
    ],
)
def test_guardrails_that_share_a_model_are_one(
    guardrails: list[ScannerSettings], names: list[str]
) -> None:
    assert independent_names(guardrails) == names
