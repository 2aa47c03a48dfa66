"""All scanners side by side, with the engine's verdicts of now or without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from guardtui.app.scanner_comparison import ScannerComparison
from guardtui.scanners.base import ScannerError
from guardtui.session.session import Decision
from tests.app.bench import Bench, like_labels


def comparison(bench: Bench) -> ScannerComparison:
    scan = bench.workspace.write(bench.evaluated(like_labels), Decision.UNDECIDED)
    bench.workspace.session.record(scan)
    return ScannerComparison(bench.workspace, bench.engine, bench.author)


async def test_the_engine_judges_now_and_others_as_recorded(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    sight = await comparison(bench).compare()
    assert [(voice.name, voice.number) for voice in sight.scanners] == [
        ("engine", None),
        ("airs", 0),
    ]
    engine = bench.engine.evaluate_now(bench.topic, bench.prompts).verdicts.triggered
    assert np.array_equal(sight.scanners[0].answers, engine)
    assert bench.author.messages == []


async def test_without_the_engine_the_others_are_compared_and_its_problem_is_shown(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)

    def damaged(*_: object) -> None:
        raise ScannerError("the encoder is damaged")

    bench.engine.scanner.evaluate_now = damaged  # type: ignore[method-assign, assignment]
    sight = await comparison(bench).compare()
    assert [voice.name for voice in sight.scanners] == ["airs"]
    assert bench.author.messages == ["the encoder is damaged"]
