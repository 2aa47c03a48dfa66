"""Surveys of the prompt set: cached for one evaluation of one prompt set, shown while they run."""

from __future__ import annotations

from pathlib import Path

from guardtui.app.advice.idea_advice import PromptSurveys
from tests.app.bench import Bench, like_labels

STEP = ("Engine", "surveys the prompt set …")


async def test_a_survey_is_made_once_for_an_evaluation(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    surveys = PromptSurveys(bench.context)
    evaluation = bench.evaluated(like_labels)
    first = await surveys.survey(evaluation, bench.prompts)
    assert first is not None
    assert await surveys.survey(evaluation, bench.prompts) is first
    assert bench.steps == [STEP, None]
    other = await surveys.survey(bench.evaluated(like_labels), bench.prompts)
    assert other is not first
    assert bench.steps == [STEP, None] * 2


async def test_a_quiet_survey_leaves_the_line_of_a_scan_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    surveys = PromptSurveys(bench.context)
    assert await surveys.survey(bench.evaluated(like_labels), bench.prompts, quiet=True)
    assert bench.steps == []
