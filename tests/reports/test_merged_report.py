"""Reports on merged runs: small sets are listed whole, of large ones what is wrong."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import guardtui.reports.merged_report as whole_module
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.verdicts import Outcome
from guardtui.files.prompt_files import load_prompts
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import load_writer
from guardtui.reports.merged_report import report_of
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.large_set import cut
from guardtui.shards.merge import Merged
from guardtui.shards.sample import draw
from tests.shards.conftest import TOPIC, write_prompts
from tests.shards.test_merge import evaluated


@pytest.fixture
def merged(tmp_path: Path) -> Merged:
    return evaluated(write_prompts(tmp_path / "prompts.csv"), tmp_path / "set", 4)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_small_set_is_listed_whole(merged: Merged, tmp_path: Path) -> None:
    report = report_of(merged, None)
    prompts = load_prompts(tmp_path / "prompts.csv")
    assert [row.prompt for row in report.rows()] == prompts.prompts.to_list()
    assert len(rows_of(load_writer("csv")(report))) == 120


@pytest.mark.parametrize("limit", [5, 119])
def test_of_a_large_one_what_is_wrong_is_listed(
    merged: Merged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    small = report_of(merged, None)
    monkeypatch.setattr(whole_module, "LISTED", limit)
    large = report_of(merged, None)
    wrong = np.flatnonzero(merged.evaluation.codes >= Outcome.FP)
    assert len(wrong) > 5
    listed = list(large.rows())
    assert [row.number for row in listed] == wrong[:limit].tolist()
    assert [row.prompt for row in listed] == [small.row(row.number).prompt for row in listed]
    assert [row.line for row in listed] == [small.row(row.number).line for row in listed]
    assert large.by_category == small.by_category
    right = next(one for one in range(120) if one not in wrong)
    assert large.row(right).prompt is None
    # Every mistake is in the lists of mistakes, whatever the limit.
    mistakes = [row for kind in (Outcome.FP, Outcome.FN) for row in large.with_outcome(kind)]
    assert len(mistakes) == len(wrong)
    assert all(row.prompt for row in mistakes)
    assert load_writer("table")(large) == load_writer("table")(small)
    for name in ("md", "json", "html", "junit", "sarif", "airs-json", "inspect-log"):
        assert load_writer(name)(large)


def test_it_is_compared_with_another_run(merged: Merged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_module, "LISTED", 5)
    report = report_of(merged, merged.evaluation)
    assert report.comparison is not None
    assert report.comparison.regressions == report.comparison.fixes == 0
    assert "\nNo verdicts changed against the baseline" in load_writer("table")(report)


def test_a_report_on_a_sample_says_so(tmp_path: Path) -> None:
    large = cut(write_prompts(tmp_path / "prompts.csv", 400), tmp_path / "set", 3)
    assert large is not None
    prompts = draw(large, 100).prompts
    scanner = LocalScanner("static", cache=tmp_path / "cache")
    verdicts = scanner.scan_now(TOPIC, prompts, lambda progress: None)
    assert verdicts is not None
    evaluation = Evaluation(
        TOPIC, scanner.settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )
    report = ReportInput(topic=TOPIC, evaluation=evaluation, prompts=prompts)
    for name in ("table", "md", "json", "html", "junit", "sarif"):
        assert "sample of 100 of 400 prompts" in load_writer(name)(report), name
    whole = draw(large, 400).prompts
    assert ReportInput(topic=TOPIC, evaluation=evaluation, prompts=whole).sample == ""
