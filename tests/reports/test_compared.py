"""Two evaluations compared: the right prompts in each list, and nothing in a text can act."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import HealthCheck, settings

from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.reports.base import ReportInput
from guardtui.reports.compared import MistakesData, compared_report, mistakes_document
from guardtui.reports.formats import load_writer, render
from guardtui.session.evaluation_refs import Mistakes, RecordedEvaluation
from tests.examples import up_to

from .conftest import HOSTILE

FORMS = ("table", "md", "json", "html")

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
FUZZ = settings(
    max_examples=up_to(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
GOOD = {"TP", "TN"}


def named(
    report: ReportInput, rows: list[int], flipped: tuple[int, ...] = ()
) -> RecordedEvaluation:
    """Some prompts of the report's evaluation in this order, some of them labelled otherwise."""
    evaluation, prompts = report.evaluation, report.prompts
    assert prompts is not None
    expected = evaluation.expected.copy()
    expected[list(flipped)] ^= True
    verdicts = evaluation.verdicts
    positions = np.array(rows)
    part = replace(
        verdicts,
        triggered=verdicts.triggered[positions],
        score=verdicts.score[positions],
        matched=verdicts.matched[positions],
        errors={},
    )
    some = replace(
        evaluation, keys=evaluation.keys[positions], expected=expected[positions], verdicts=part
    )
    frame = prompts.frame.with_columns(pl.Series("expected", expected))[rows]
    return RecordedEvaluation("some", some, PromptSet(frame, prompts.intent, "some.csv"))


def sides(report: ReportInput) -> tuple[RecordedEvaluation, RecordedEvaluation]:
    assert report.baseline is not None
    prompts = report.prompts
    before = RecordedEvaluation(
        "before \x1b[31m|`.json", report.baseline, prompts, profile="p\u202e"
    )
    return before, RecordedEvaluation("after<b>", report.evaluation, prompts, number=3)


def written(form: str, compared: ReportInput) -> str:
    return load_writer(form)(compared)


def listed(text: str, title: str) -> list[str]:
    """The lines of a list of the table."""
    part = text.partition(f"\n{title} (")[2].partition("\n\n")[0]
    return [line.rpartition(": ")[2] for line in part.splitlines()[1:]]


def test_every_prompt_is_in_the_list_it_belongs_to(report: ReportInput) -> None:
    # 8 prompts: A has 0…6, B has 7…2 in another order; 3 is labelled otherwise in B.
    assert report.baseline is not None
    earlier = replace(report, evaluation=report.baseline)
    before, after = named(earlier, [0, 1, 2, 3, 4, 5, 6]), named(report, [7, 6, 5, 4, 3, 2], (3,))
    result = compared_report(before, after)
    table = written("table", result)
    for title, row in (("added", 7), ("relabelled", 3), ("without a verdict in one of the two", 6)):
        assert len(listed(table, title)) == 1, title
        assert display_text(HOSTILE[row])[:10] in listed(table, title)[0]
    assert len(listed(table, "Removed (2)".partition(" (")[0])) == 2
    document = json.loads(written("json", result))
    comparison = document["comparison"]
    for kind, rows in (("relabelled", [3]), ("added", [7]), ("removed", [0, 1])):
        prompts = [one["prompt"] for one in comparison[f"{kind}_prompts"]]
        assert prompts == [HOSTILE[row] for row in rows], kind
    changes = {one["prompt"]: one.get("change") for one in document["results"]}
    assert (changes[HOSTILE[7]], changes[HOSTILE[3]]) == ("added", "relabelled")
    for kind, was_good in (("regression", True), ("fix", False)):
        for one in document["results"]:
            if one.get("change") == kind:
                assert (one["was"] in GOOD, one["outcome"] in GOOD) == (was_good, not was_good)
    same = [one for one in document["results"] if "change" not in one]
    assert comparison["wrong_in_both"] == sum(one["outcome"] not in GOOD for one in same)


def test_texts_come_from_either_side(report: ReportInput) -> None:
    before, after = sides(report)
    for one, other in ((None, after.prompts), (before.prompts, None), (None, None)):
        result = compared_report(replace(before, prompts=one), replace(after, prompts=other))
        known = one is not None or other is not None
        (regression,) = json.loads(written("json", result))["regressions"]
        assert regression["prompt"] == (HOSTILE[1] if known else None)
        assert ("(no longer in the prompt file)" in written("table", result)) is not known
        assert written("md", result)
        assert written("html", result)


def test_mistakes_say_what_is_not_known(report: ReportInput) -> None:
    before, _ = sides(report)
    metrics = report.evaluation.metrics
    mistakes = Mistakes(
        "airs.json", "t", before.evaluation.topic.intent, metrics, ("=x",), (HOSTILE[1],)
    )
    unknown, known = MistakesData.of(before, mistakes).mistakes_only_in_b
    assert (unknown.prompt, unknown.was, unknown.now) == ("=x", None, "FP")
    assert (known.prompt, known.was, known.now) == (HOSTILE[1], "TP", "FN")
    for form in ("table", "md", "html"):
        text = render(mistakes_document(before, mistakes), form)
        assert "B lists mistakes only" in text
        assert not CONTROL.search(text)
    back = MistakesData.of(mistakes, before).mistakes_only_in_a
    assert [one.prompt for one in back] == ["=x", HOSTILE[1]]
