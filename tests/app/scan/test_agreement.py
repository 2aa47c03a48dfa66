"""A scan compared with the embedded engine: counts, prompts that differ, a threshold that suits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from guardtui.app.scan.agreement import EngineAgreement, compare_with_engine
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.verdicts import Triggered
from guardtui.scanners.base import ScannerError
from tests.app.bench import Bench, like_labels

Answer = Callable[[int, bool], int]


def compared(bench: Bench, answer: Answer = like_labels) -> EngineAgreement:
    now = bench.topic.model_copy(update={"name": "Tax"})
    return compare_with_engine(bench.engine, bench.evaluated(answer), bench.prompts, now)


def test_counts_and_differing_prompts_are_those_of_both_verdicts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    engine = bench.engine.evaluate_now(bench.topic, bench.prompts).verdicts.triggered
    labels = bench.prompts.expected
    result = compared(bench)
    assert result.agreement.both == np.count_nonzero((engine == 1) & labels)
    assert result.agreement.total == len(bench.prompts)
    assert np.array_equal(result.agreement.differ, np.flatnonzero((engine == 1) != labels))
    assert (result.who, result.changes) == ("AIRS", ("name changed",))
    assert result.threshold == bench.engine.scanner.settings.threshold


@pytest.mark.parametrize("intent", ["block", "allow"])
def test_the_fitted_threshold_gives_the_agreement_that_is_stated(
    tmp_path: Path, intent: str
) -> None:
    bench = Bench(tmp_path, intent=intent)
    blocks = intent == "block"
    scan = bench.evaluated(lambda row, label: int(label == blocks))
    result = compare_with_engine(bench.engine, scan, bench.prompts, bench.topic)
    assert isinstance(result.fitted, ThresholdFit)
    assert result.then is not None
    bench.engine.scanner.use_threshold(result.fitted.threshold, "fitted")
    after = compare_with_engine(bench.engine, scan, bench.prompts, bench.topic)
    before, then = result.agreement.observed, result.then.observed
    assert before is not None
    assert then is not None
    assert after.agreement.observed == then >= before


def test_prompts_without_a_verdict_are_left_out_of_counts_and_fit(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    result = compared(
        bench, lambda row, label: Triggered.NO_VERDICT if row % 4 == 0 else int(label)
    )
    assert result.agreement.left_out == 5
    assert isinstance(result.fitted, ThresholdFit)
    assert result.fitted.labels == 15


def test_without_two_classes_the_reason_stands_for_the_threshold(tmp_path: Path) -> None:
    result = compared(Bench(tmp_path), lambda row, label: Triggered.YES)
    assert isinstance(result.fitted, str)
    assert result.fitted
    assert result.then is None


def test_an_engine_that_fails_is_an_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def damaged(*_: object) -> None:
        raise ScannerError("the encoder is damaged")

    bench.engine.scanner.evaluate_now = damaged  # type: ignore[method-assign, assignment]
    with pytest.raises(ScannerError, match="damaged"):
        compared(bench)
