"""Which threshold a command uses, and that its reports say it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

EVAL = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")
TOPICS = ("income tax", "a tax return", "tax deductions", "a tax refund", "the tax office")
OTHERS = ("the weather", "bread and soup", "dragons", "a sorted list", "the Eiffel Tower")


@pytest.fixture(autouse=True)
def labelled(folder: Path) -> None:
    rows = [
        f"tell me {number} things about {thing},{label},block"
        for things, label in ((TOPICS, "true"), (OTHERS, "false"))
        for thing in things
        for number in range(3)
    ]
    (folder / "prompts.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")


def document(run: Run, *arguments: str) -> dict[str, Any]:
    result = run(*EVAL, *arguments, "--format", "json")
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def test_eval_fits_to_labels_enough_says_so_and_does_the_same_twice(run: Run, folder: Path) -> None:
    first = document(run)
    assert first == document(run)
    point = first["operating_point"]
    assert point["labels"] == 30
    assert first["threshold"] == point["threshold"]
    assert first["threshold_source"] == "fitted to 30 labels"
    shipped = document(run, "--threshold", "built-in")
    assert first["metrics"]["coverage"] >= shipped["metrics"]["coverage"]
    interval = first["intervals"]["coverage"]
    assert interval["low"] < first["metrics"]["coverage"] <= interval["high"]
    assert 0.5 < first["separation"]["area"] <= 1
    assert not (folder / ".guardtui").exists()
    table = run(*EVAL).out
    assert "(fitted to 30 labels)" in table
    assert "\nseparation  0." in table or "\nseparation  1." in table
    markdown = run(*EVAL, "--format", "md").out
    assert "(`fitted to 30 labels`)" in markdown
    assert "| separation | " in markdown


def test_a_given_threshold_is_not_fitted(run: Run) -> None:
    assert document(run, "--threshold", "0.3")["operating_point"] is None
    assert document(run, "--threshold", "built-in")["threshold_source"] == "built-in"
    fitted = document(run, "--threshold", "fitted")
    assert fitted == document(run)
    sweep = run(*EVAL, "--thresholds", "--format", "json")
    assert json.loads(sweep.out)["current"]["threshold"] == fitted["threshold"]


@pytest.mark.parametrize("recorded", ["fitted", "built-in"])
def test_a_baseline_by_the_same_engine_is_judged_at_its_own_threshold(
    run: Run, folder: Path, recorded: str
) -> None:
    before = document(run, "--threshold", recorded)
    fitted = document(run)
    # As an older guardtui wrote it, at the threshold of another definition.
    if recorded == "fitted":
        before["threshold"] = 0.999
        for row in before["results"]:
            row["triggered"] = False
    (folder / "before.json").write_text(json.dumps(before), "utf-8")
    now = document(run, "--baseline", "before.json")
    assert now["threshold"] == fitted["threshold"]
    assert now["comparison"]["deltas"]["coverage"] == 0
    assert now["comparison"]["regressions"] == now["comparison"]["fixes"] == 0
    assert not any("thresholds" in caveat for caveat in now["comparison"]["caveats"])
    by_hand = document(run, "--baseline", "before.json", "--threshold", "0.6")
    assert any("different thresholds" in caveat for caveat in by_hand["comparison"]["caveats"])


def test_too_few_labels_have_the_built_in_threshold_and_no_fitted_one(
    run: Run, folder: Path
) -> None:
    rows = (folder / "prompts.csv").read_text("utf-8").splitlines()
    (folder / "prompts.csv").write_text("\n".join([*rows[:5], *rows[-4:], ""]), "utf-8")
    result = document(run)
    assert (result["threshold_source"], result["operating_point"]) == ("built-in", None)
    refused = run(*EVAL, "--threshold", "fitted")
    assert refused.code == 2
    assert "4 labelled prompts that should trigger: at least 10 are needed" in refused.err
    assert "--threshold built-in or a number" in refused.err


def test_an_audit_takes_one_threshold_or_fits_one_for_each_topic(run: Run, folder: Path) -> None:
    command = ("audit", "topic.yaml", "--prompts", "topic=prompts.csv", "--set", "encoder=static")

    def audit(*more: str) -> dict[str, Any]:
        result = run(*command, *more, "--format", "json")
        assert result.code == 0, result.err
        found: dict[str, Any] = json.loads(result.out)
        return found

    assert audit("--threshold", "built-in") == audit()
    assert audit("--threshold", "0.3")["threshold"] == 0.3
    each = audit("--threshold", "fitted")
    assert each["threshold"] is None
    (notice,) = each["notices"]
    assert notice.startswith("Tax advice: threshold 0.")
    assert notice.endswith("(fitted to 30 labels)")
