"""`guardtui eval --thresholds`: the best threshold on stdout, and it is what `eval` then finds."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn import metrics as oracle

from guardtui.files.prompt_files import load_prompts
from guardtui.session.topic_places import sample_folder

from .conftest import Run, prompts_csv

COMMON = ("eval", "topic.yaml", "--prompts", "tax.csv", "--set", "encoder=static")
COMMAND = (*COMMON, "--thresholds")


@pytest.fixture
def sample(folder: Path) -> Path:
    rows = load_prompts(sample_folder() / "tax-advice.csv").frame
    rows = rows.filter(~pl.col("prompt").str.contains("\n")).select("prompt", "expected")
    rows.with_columns(intent=pl.lit("block")).write_csv(folder / "tax.csv")
    return folder


def evaluated(run: Run, threshold: float | None = None) -> dict[str, Any]:
    """What `eval` says of the same files."""
    more = () if threshold is None else ("--threshold", repr(threshold))
    result = run(*COMMON, *more, "--format", "json")
    assert result.code == 0, result.err
    document: dict[str, Any] = json.loads(result.out)
    return document


def test_the_table_has_the_best_and_the_current_threshold(run: Run, sample: Path) -> None:
    result = run(*COMMAND, "--threshold", "built-in")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].startswith("Measured by the engine (a quick approximation of your gua")
    points = [line for line in lines if line.startswith(("now ", "best "))]
    assert len(points) == 2
    assert all(line.count(" to ") == 3 for line in points)
    assert sum(line.endswith(("  now", "  best", "  best, now")) for line in lines) in (1, 2)
    assert "area under the ROC curve 0." in result.out
    assert len(lines) < 60


def test_the_best_is_what_eval_finds_with_it(run: Run, sample: Path) -> None:
    result = json.loads(run(*COMMAND, "--format", "json").out)
    assert result["schema_version"] == 1
    best, curve = result["best"], result["curve"]
    there = evaluated(run, best["threshold"])["metrics"]
    here = evaluated(run)["metrics"]
    for name in ("coverage", "tpr", "tnr", "f1"):
        assert there[name] == pytest.approx(best["measured"]["rates"][name])
        assert here[name] == pytest.approx(result["current"]["measured"]["rates"][name])
    coverage = best["measured"]["rates"]["coverage"]
    assert coverage == max(point["rates"]["coverage"] for point in curve)
    interval = best["measured"]["intervals"]["coverage"]
    assert interval["low"] < coverage <= interval["high"]
    assert len(curve) <= 200
    assert result["nearest"] is None


def test_the_areas_are_those_of_scikit_learn(run: Run, sample: Path) -> None:
    result = json.loads(run(*COMMAND, "--format", "json").out)
    rows = evaluated(run)["results"]
    duty = [row["should_trigger"] for row in rows]
    scores = [row["score"] for row in rows]
    assert result["roc_area"] == pytest.approx(oracle.roc_auc_score(duty, scores))
    expected = oracle.average_precision_score(duty, scores)
    assert result["average_precision"] == pytest.approx(expected)


def test_the_csv_has_every_threshold(run: Run, sample: Path) -> None:
    run(*COMMAND, "--format", "csv", "--output", "curve.csv")
    rows = list(csv.DictReader(io.StringIO((sample / "curve.csv").read_text("utf-8"))))
    scores = {row["score"] for row in evaluated(run)["results"]}
    assert len(rows) == len(scores) + 1
    assert [float(row["threshold"]) for row in rows[:-1]] == pytest.approx(sorted(scores), abs=1e-6)
    assert (rows[0]["tpr"], rows[0]["tnr"]) == ("1.0", "0.0")
    assert (rows[-1]["tpr"], rows[-1]["precision"]) == ("0.0", "")
    middle = rows[len(rows) // 2]
    there = evaluated(run, float(middle["threshold"]))["metrics"]
    assert float(middle["f1"]) == pytest.approx(there["f1"])


def test_floors_are_kept(run: Run, sample: Path) -> None:
    result = json.loads(run(*COMMAND, "--format", "json", "--min-tpr", "0.9").out)
    assert result["floors"] == {"tpr": 0.9, "tnr": 0.0}
    assert result["best"]["measured"]["rates"]["tpr"] >= 0.9
    table = run(*COMMAND, "--min-tnr", "0.9").out
    assert "The best is that of the greatest coverage with TNR ≥ 0.9." in table


def test_floors_out_of_reach_are_a_failed_gate(run: Run, sample: Path) -> None:
    result = run(*COMMAND, "--min-tpr", "0.99", "--min-tnr", "0.99", "--format", "json")
    assert result.code == 1
    assert "no threshold reaches a TPR of 0.99 and a TNR of 0.99" in result.err
    found = json.loads(result.out)
    assert found["best"] is None
    assert found["nearest"]["measured"]["rates"]["tpr"] < 0.99
    table = run(*COMMAND, "--min-tpr", "0.99", "--min-tnr", "0.99")
    assert table.code == 1
    assert "There is no threshold with TPR ≥ 0.99 and TNR ≥ 0.99." in table.out


def test_an_allow_topic_triggers_below_its_threshold(run: Run, folder: Path) -> None:
    (folder / "topic.yaml").write_text(
        (folder / "topic.yaml").read_text("utf-8").replace("block", "allow"), "utf-8"
    )
    (folder / "tax.csv").write_text(prompts_csv("allow"), "utf-8")
    result = json.loads(run(*COMMAND, "--format", "json").out)
    assert result["intent"] == "allow"
    best = result["best"]
    there = evaluated(run, best["threshold"])["metrics"]
    assert there["coverage"] == best["measured"]["rates"]["coverage"]
    tprs = [point["rates"]["tpr"] for point in result["curve"]]
    assert tprs == sorted(tprs)
