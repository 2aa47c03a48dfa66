"""Reports on large sets: small ones are listed whole, of large ones what is wrong."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.large_sets.sample import draw
from guardtui.reports import base
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import load_writer
from guardtui.scanners.local.scanner import LocalScanner
from tests.large_sets.large_prompts import TOPIC, write_prompts

COUNT = 120


def topic_of(folder: Path) -> Topic:
    (folder / "topic.yaml").write_text(TOPIC, encoding="utf-8")
    return load_topic(folder / "topic.yaml").topic


def report_of(folder: Path, size: int | None = None) -> ReportInput:
    """Return a report on these prompts, or on a sample of this size."""
    topic = topic_of(folder)
    prompts = load_prompts(write_prompts(folder / "prompts.csv", COUNT))
    if size is not None:
        prompts = draw(prompts, size).prompts
    evaluation = LocalScanner("static", cache=folder / "cache").evaluate_now(topic, prompts)
    assert evaluation is not None
    return ReportInput(topic=topic, evaluation=evaluation, prompts=prompts)


def csv_rows(report: ReportInput) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(load_writer("csv")(report))))


def test_small_set_is_listed_whole(tmp_path: Path) -> None:
    report = report_of(tmp_path)
    assert report.listed is None
    assert [row.number for row in report.rows()] == list(range(COUNT))


@pytest.mark.parametrize("limit", [5, COUNT - 1])
def test_of_a_large_set_wrong_prompts_are_listed_and_csv_lists_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    small = report_of(tmp_path)
    tables = {name: load_writer(name)(small) for name in ("table", "csv")}
    monkeypatch.setattr(base, "LARGE", limit)
    large = report_of(tmp_path)
    wrong = np.flatnonzero(large.evaluation.codes >= Outcome.FP)
    assert len(wrong) > 5
    assert list(large.rows()) == [small.row(number) for number in wrong[:limit].tolist()]
    assert large.by_category == small.by_category
    # Every mistake is in the lists of mistakes, whatever the limit.
    mistakes = [row for kind in (Outcome.FP, Outcome.FN) for row in large.with_outcome(kind)]
    assert len(mistakes) == len(wrong)
    assert len(csv_rows(large)) == COUNT
    for name in ("table", "csv"):
        assert load_writer(name)(large) == tables[name]
    for name in ("md", "json", "html", "junit", "sarif", "airs-json", "inspect-log"):
        assert load_writer(name)(large)


def test_report_on_a_sample_says_so(tmp_path: Path) -> None:
    report = report_of(tmp_path, 100)
    for name in ("table", "md", "json", "html", "junit", "sarif"):
        assert "sample of 100 of 120 prompts" in load_writer(name)(report), name
    assert report_of(tmp_path).sample == ""
