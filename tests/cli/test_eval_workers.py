"""`guardtui eval --jobs` and `--ray`: what they fit, and long reports."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from guardtui.large_sets import workers
from guardtui.reports import base

from .conftest import Run

EVAL = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")


def test_ray_that_is_not_installed_is_named(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "guardtui.large_sets.ray_workers", raising=False)
    done = run(*EVAL, "--ray")
    assert (done.code, done.out) == (3, "")
    assert "the package ray is missing, which --ray needs\n  pip install" in done.err


def test_one_job_is_this_process(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(workers, "processes")
    assert run(*EVAL, "--jobs", "1").out == run(*EVAL).out != ""


def test_long_report_says_what_it_lists(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = json.loads(run(*EVAL, "--format", "json", "--threshold", "0.01").out)
    wrong = [row for row in short["results"] if row["outcome"] in ("FP", "FN")]
    monkeypatch.setattr(base, "LARGE", 9)
    long = run(*EVAL, "--format", "json", "--threshold", "0.01")
    assert json.loads(long.out) == {**short, "results": wrong}
    assert f"of 10 prompts, {len(wrong)} that are wrong or without a verdict are listed" in long.err
    table = run(*EVAL, "--format", "csv", "--threshold", "0.01")
    assert len(list(csv.reader(io.StringIO(table.out)))) == 11
    assert "are listed" not in table.err
