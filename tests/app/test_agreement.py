"""A scan compared with the embedded engine: counts, prompts that differ, a threshold that suits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from guardtui.app.agreement import EngineAgreement, compare_with_engine
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.verdicts import Triggered
from guardtui.scanners.base import ScannerError
from tests.app.bench import Bench, like_labels

Answer = Callable[[int, bool], int]


def compared(bench: Bench, answer: Answer = like_labels, listed: int = 50) -> EngineAgreement:
    scan = bench.evaluated(answer)
    return compare_with_engine(bench.engine, scan, bench.prompts, listed=listed, changes=("name",))


def test_counts_and_differing_prompts_are_those_of_both_verdicts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    engine = bench.engine.evaluate_now(bench.topic, bench.prompts).verdicts.triggered
    labels = bench.prompts.expected
    result = compared(bench)
    assert result.agreement.both == np.count_nonzero((engine == 1) & labels)
    assert result.agreement.total == len(bench.prompts)
    texts = bench.prompts.prompts
    differing = np.flatnonzero((engine == 1) != labels)
    assert result.differing == tuple((bool(labels[row]), texts[int(row)]) for row in differing)
    assert (result.who, result.changes) == ("AIRS", ("name",))
    assert result.threshold == bench.engine.scanner.settings.threshold


def test_no_more_differing_prompts_are_named_than_wanted(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    opposite = compared(bench, lambda row, label: int(not label), listed=3)
    assert len(opposite.differing) == 3 < len(opposite.agreement.differ)


@pytest.mark.parametrize("intent", ["block", "allow"])
def test_the_fitted_threshold_gives_the_agreement_that_is_stated(
    tmp_path: Path, intent: str
) -> None:
    bench = Bench(tmp_path, intent=intent)
    blocks = intent == "block"
    scan = bench.evaluated(lambda row, label: int(label == blocks))
    result = compare_with_engine(bench.engine, scan, bench.prompts, listed=9, changes=())
    assert isinstance(result.fitted, ThresholdFit)
    assert result.then is not None
    bench.engine.scanner.use_threshold(result.fitted.threshold, "fitted")
    after = compare_with_engine(bench.engine, scan, bench.prompts, listed=9, changes=())
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
