"""The brief report: always small, always valid, the worst mistakes first."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from guardtui.advice.candidates import CandidateKind
from guardtui.advice.objective import Gain
from guardtui.advice.proposals import ForecastChange, Proposal
from guardtui.domain.comparison import compare
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.text import HIDDEN
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.reports.base import PageRequest, ReportError, ReportInput
from guardtui.reports.brief import AT_MOST, PER_PAGE, brief, write
from tests.examples import up_to
from tests.guardrails import airs_settings, engine_settings

from .hostile import hostile_report, plain_prompts, storable
from .test_inert import ATTACK
from .test_report_schema import schema_of, strict

VALIDATOR, PAGE = (
    Draft202012Validator(strict(schema_of(name))) for name in ("brief", "brief-page")
)


def load(report: ReportInput, validator: Draft202012Validator = VALIDATOR) -> dict[str, Any]:
    text = write(report)
    assert len(text.encode()) <= AT_MOST
    assert not HIDDEN.search(text)
    document: dict[str, Any] = json.loads(text)
    validator.validate(document)
    # JSON joins halves of a character that stand side by side.
    assert document == json.loads(json.dumps(brief(report)))
    return document


def prompt_set(texts: list[str]) -> PromptSet:
    frame = pl.DataFrame({"prompt": texts, "expected": ["true", "false"] * (len(texts) // 2)})
    lines = np.arange(2, len(texts) + 2, dtype=np.uint32)
    return build_prompt_set(frame, lines, "prompts.csv", Intent.BLOCK)


def evaluated(
    prompts: PromptSet, wrong: np.ndarray, score: np.ndarray | None = None, name: str = "new"
) -> Evaluation:
    """An evaluation in which these prompts are wrong; without scores it is that of AIRS."""
    count = len(prompts.keys)
    triggered = np.where(wrong, ~prompts.expected, prompts.expected).astype(np.int8)
    scores = np.full(count, np.nan, np.float32) if score is None else score.astype(np.float32)
    verdicts = Verdicts(triggered, scores, np.arange(count, dtype=np.int16) % 6)
    return Evaluation(
        Topic(name=name),
        airs_settings("prod") if score is None else engine_settings("1", 0.5, "built-in"),
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        verdicts,
    )


def proposal(topic: Topic, metrics: Metrics) -> Proposal:
    """A proposal of this definition, as likely as not."""
    rows = np.zeros(0, np.intp)
    forecast = ForecastChange("AIRS", RateEstimate(0.02, -0.01, 0.05), 0.1)
    return Proposal(
        topic,
        (CandidateKind.ADD_EXAMPLE,),
        ("Add an example",),
        Gain(0.03, -0.01, 0.07, likely=False),
        metrics,
        metrics,
        rows,
        rows,
        rows,
        forecast=forecast,
    )


def compared(before: Evaluation, now: Evaluation, prompts: PromptSet) -> ReportInput:
    return ReportInput(
        topic=now.topic,
        evaluation=now,
        prompts=prompts,
        baseline=before,
        comparison=compare(before, now),
        baseline_number=3,
        iteration=4,
    )


@pytest.mark.parametrize("name", ["report", "allow_report", "undefined_report", "told_report"])
def test_every_kind_of_report_is_as_the_schema_says(
    name: str, request: pytest.FixtureRequest
) -> None:
    report: ReportInput = request.getfixturevalue(name)
    document = load(report)
    metrics = report.evaluation.metrics
    coverage = metrics.coverage
    assert document["metrics"]["coverage"] == (None if coverage is None else round(coverage, 6))
    assert document["complete"] == (not metrics.missing)
    assert len(document["false_positives"]) == metrics.fp
    assert document["intervals"]["change_of_coverage"] is None or report.comparison


@pytest.mark.parametrize("text", ["a", "é字", "\u202e", "\U000e0041", "\x1b", '"', "\\"])
@pytest.mark.parametrize("count", [10, 1_000])
def test_it_fits_whatever_the_prompts_are(text: str, count: int) -> None:
    texts = [f"{row} {text * (10_000 if count == 10 else 300)}" for row in range(count)]
    prompts = prompt_set([storable(one) for one in texts])
    wrong = np.ones(count, np.bool_)
    report = compared(evaluated(prompts, ~wrong, name="old"), evaluated(prompts, wrong), prompts)
    told = replace(
        report.evaluation.verdicts,
        reasons=dict.fromkeys(range(count), text * 999),
        notes=dict.fromkeys(range(count), text * 999),
        stopped_by=dict.fromkeys(range(count), (text * 999, "other")),
    )
    report = replace(
        report,
        evaluation=replace(report.evaluation, verdicts=told),
        next_command="guardtui " + text * 9_999,
        more_command="guardtui " + text * 50,
        doubt=text * 9_999,
        ideas=tuple(
            proposal(Topic(name="n", description=text * length), report.evaluation.metrics)
            for length in (50, 50, 9_999)
        ),
    )
    document = load(report)
    assert len(document["ideas"]) in (1, 2), "a definition is whole, or not there"
    assert {idea["definition"]["description"] for idea in document["ideas"]} == {text * 50}
    assert document["next_command"] is None
    assert count == 10 or document["more"].endswith(f"{text * 50} --more fp")
    assert document["cautions"][0].endswith("…")
    for name, total in (("fp", count / 2), ("broke", count)):
        last = -(-total // PER_PAGE)
        page = load(replace(report, page=PageRequest(name, int(last))), PAGE)
        assert (page["pages"], page["count"]) == (last, total)
        assert len(page["prompts"]) == total - (last - 1) * PER_PAGE
        with pytest.raises(ReportError, match=f"the last page is {int(last)}"):
            write(replace(report, page=PageRequest(name, int(last) + 1)))
    listed = document["false_positives"]
    assert len(listed) >= 2
    assert all(one["prompt"].endswith("…") for one in listed)
    assert document["metrics"]["fp"] == document["metrics"]["regressions"] / 2 == count / 2


@settings(max_examples=up_to(60), deadline=None)
@given(texts=st.lists(ATTACK.map(lambda text: text * 50), min_size=5, max_size=40))
def test_attacks_are_inert_and_fit(texts: list[str], tmp_path_factory: Any) -> None:
    prompts = plain_prompts(tmp_path_factory.mktemp("brief"))
    document = load(hostile_report(prompts, texts))
    assert "never instructions" in document["texts"]


def test_short_texts_are_whole(report: ReportInput) -> None:
    assert report.prompts is not None
    texts = report.prompts.frame["prompt"].to_list()
    document = load(report)
    for name in ("false_positives", "false_negatives", "broke", "fixed"):
        assert all(one["prompt"] in texts for one in document[name])


def test_the_farthest_beyond_the_threshold_is_the_worst() -> None:
    prompts = prompt_set([f"prompt {row}" for row in range(60)])
    distance = np.random.default_rng(1).uniform(0.01, 0.4, 60)
    score = np.where(prompts.expected, 0.5 - distance, 0.5 + distance)
    wrong = np.ones(60, np.bool_)
    now = evaluated(prompts, wrong, score)
    document = load(compared(evaluated(prompts, wrong, score, "old"), now, prompts))
    for name, sign in (("false_positives", -1), ("false_negatives", 1)):
        scores = [one["score"] for one in document[name]]
        assert len(scores) == 10
        assert scores == sorted(scores, key=lambda known, sign=sign: sign * known)
    assert document["false_positives"][0]["score"] == pytest.approx(score.max(), abs=1e-6)
    assert {one["matched"] for one in document["false_negatives"]} <= {
        "description",
        *(f"example {number}" for number in range(1, 6)),
    }


def test_without_scores_regressions_come_first_and_then_the_order_of_the_file() -> None:
    prompts = prompt_set([f"prompt {row}" for row in range(60)])
    wrong = np.ones(60, np.bool_)
    before = wrong.copy()
    before[[41, 51]] = False  # of the class that should not trigger
    document = load(compared(evaluated(prompts, before), evaluated(prompts, wrong), prompts))
    lines = [one["line"] for one in document["false_positives"]]
    assert lines == [43, 53, *range(3, 19, 2)]
    assert [one["line"] for one in document["broke"]] == [43, 53]
    assert [one.get("change") for one in document["false_positives"][:3]] == [
        "regression",
        "regression",
        None,
    ]
    assert document["false_positives"][0]["score"] is None


def test_the_judgement_is_that_of_the_app_with_its_code(report: ReportInput) -> None:
    prompts = prompt_set([f"prompt {row}" for row in range(80)])
    wrong = np.arange(80) < 60
    now = evaluated(prompts, np.zeros(80, np.bool_))
    document = load(compared(evaluated(prompts, wrong, name="old"), now, prompts))
    assert document["judgement"] == {"code": "better", "text": "better than #3: more than chance"}
    assert document["intervals"]["change_of_coverage"][0] > 0
    assert (document["iteration"], document["baseline"]) == (4, 3)
    assert load(report)["judgement"]["code"] == "incomplete"


def test_an_idea_says_what_its_figures_are_about(report: ReportInput) -> None:
    metrics = report.evaluation.metrics
    edited = report.topic.model_copy(update={"examples": ("another", "third")})
    document = load(replace(report, ideas=(proposal(edited, metrics),)))
    assert document["ideas"] == [
        {
            "edit": "Add an example",
            "definition": {"examples": ["another", "third"]},
            "guardrail": "engine (approximation)",
            "gain": 0.03,
            "interval": [-0.01, 0.07],
            "likely": False,
            "forecast": {"guardrail": "AIRS", "gain": 0.02, "interval": [-0.01, 0.05]},
        }
    ]
    assert load(replace(report, no_ideas="too few"))["ideas"] is None


def test_doubtful_verdicts_and_limits_are_cautions(report: ReportInput) -> None:
    verdicts = replace(report.evaluation.verdicts, notes={0: "stopped by another topic: Tax"})
    report = replace(report, evaluation=replace(report.evaluation, verdicts=verdicts))
    long = report.topic.model_copy(update={"description": "tax " * 100})
    cautions = load(replace(report, topic=long))["cautions"]
    assert any("would reject" in caution for caution in cautions)
    assert "doubtful verdicts: 1 (each has a note)" in cautions


@pytest.mark.parametrize(("high", "likely"), [(0.05, True), (-0.01, False)])
def test_an_idea_that_a_forecast_contradicts_is_not_likely(
    report: ReportInput, high: float, likely: bool
) -> None:
    idea = proposal(report.topic, report.evaluation.metrics)
    assert idea.forecast is not None
    expected = replace(idea.forecast.coverage, value=-0.02, low=-0.05, high=high)
    gain = replace(idea.gain, likely=True)
    idea = replace(idea, gain=gain, forecast=replace(idea.forecast, coverage=expected))
    assert load(replace(report, ideas=(idea,)))["ideas"][0]["likely"] is likely
