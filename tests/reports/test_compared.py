"""Two evaluations compared: the right prompts in each list, and nothing in a text can act."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.topic import Topic
from guardtui.reports.base import ReportInput
from guardtui.reports.compared import as_json, base
from guardtui.reports.compared.base import ComparisonReport, hold
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


@pytest.fixture
def compared(report: ReportInput) -> ComparisonReport:
    return hold(*sides(report))


def written(form: str, compared: ComparisonReport) -> str:
    return base.load_form(form)(compared)


def texts(compared: ComparisonReport, key: str) -> list[str | None]:
    (group,) = (one for one in compared.groups if one.key == key)
    return [item.prompt for item in group.first()]


def test_every_prompt_is_in_the_list_it_belongs_to(report: ReportInput) -> None:
    # 8 prompts: A has 0…6, B has 7…2 in another order; 3 is labelled otherwise in B.
    assert report.baseline is not None
    earlier = replace(report, evaluation=report.baseline)
    before, after = named(earlier, [0, 1, 2, 3, 4, 5, 6]), named(report, [7, 6, 5, 4, 3, 2], (3,))
    result = hold(before, after)
    assert texts(result, "added") == [HOSTILE[7]]
    assert texts(result, "removed") == [HOSTILE[0], HOSTILE[1]]
    assert texts(result, "relabelled") == [HOSTILE[3]]
    assert texts(result, "no_verdict") == [HOSTILE[6]]
    (relabelled,) = next(one for one in result.groups if one.key == "relabelled").first()
    assert (relabelled.label, relabelled.line) == ("true", before.prompts.frame["line"][3])  # type: ignore[union-attr]
    for key, was_good in (("regressions", True), ("fixes", False)):
        group = next(one for one in result.groups if one.key == key)
        for item in group.first():
            assert ((item.was in GOOD), (item.now in GOOD)) == (was_good, not was_good)
    listed = sum(map(len, result.groups))
    assert listed + result.still_wrong <= 9
    assert "\nrelabelled (1)\n" in written("table", result)
    assert ", labelled true now, " in written("table", result)


def test_texts_come_from_either_side(report: ReportInput) -> None:
    before, after = sides(report)
    for one, other in ((None, after.prompts), (before.prompts, None), (None, None)):
        result = hold(replace(before, prompts=one), replace(after, prompts=other))
        known = one is not None or other is not None
        assert texts(result, "regressions") == ([HOSTILE[1]] if known else [None])
        assert (base.GONE in written("table", result)) is not known
        json.loads(as_json.write(result))
        assert written("md", result)
        assert written("html", result)


def test_writers_are_inert_and_deterministic(compared: ComparisonReport) -> None:
    for form in FORMS:
        text = written(form, compared)
        assert text == written(form, compared)
        assert not CONTROL.search(text), form
    assert as_json.write(compared) == as_json.write(compared)
    assert not CONTROL.search(as_json.write(compared))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.odd = 0, []  # type: ignore[var-annotated]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.odd += [name for name, _ in attrs if name.startswith("on") or name == "src"]


@FUZZ
@given(data=st.data())
def test_hostile_texts_do_not_act(report: ReportInput, data: st.DataObject) -> None:
    acting = ("<script>x</script>", "</script><img onerror=x>", "```", "` |", "\x1b[2J", "\u202e")
    text = st.one_of(st.sampled_from(acting), st.text(st.characters(exclude_categories=["Cs"])))
    prompts = report.prompts
    assert prompts is not None
    drawn = data.draw(st.lists(text, min_size=len(prompts), max_size=len(prompts)))
    frame = prompts.frame.with_columns(pl.Series("prompt", drawn, dtype=pl.String))
    name = data.draw(text)
    topic = Topic(name=name, description=data.draw(text), examples=(data.draw(text),))
    before, after = sides(report)
    other = replace(prompts, frame=frame)
    result = hold(
        replace(before, prompts=other, name=name),
        replace(after, prompts=other, evaluation=replace(after.evaluation, topic=topic)),
    )
    for form in FORMS:
        assert not CONTROL.search(written(form, result))
    plain, fuzzed = Tags(), Tags()
    plain.feed(written("html", hold(before, after)))
    fuzzed.feed(written("html", result))
    assert (plain.scripts, fuzzed.odd) == (fuzzed.scripts, [])
    lines = written("md", result).removesuffix("\n").split("\n")
    assert len(lines) == len(written("md", result).splitlines())
    assert json.loads(as_json.write(result))["regressions"][0]["prompt"] == drawn[1]


def test_mistakes_say_what_is_not_known(report: ReportInput) -> None:
    before, _ = sides(report)
    metrics = report.evaluation.metrics
    mistakes = Mistakes(
        "airs.json", "t", before.evaluation.topic.intent, metrics, ("=x",), (HOSTILE[1],)
    )
    result = hold(before, mistakes)
    assert result.comparison is None
    assert result.definitions is None
    assert texts(result, "mistakes_only_in_b") == ["=x", HOSTILE[1]]
    (unknown, known) = next(
        group for group in result.groups if group.key == "mistakes_only_in_b"
    ).first()
    assert (unknown.was, unknown.now) == ("", "FP")
    assert (known.was, known.now) == ("TP", "FN")
    assert "B lists mistakes only" in written("table", result)
    document = json.loads(as_json.write(result))
    assert (document["p_value"], document["significance"]) == (None, None)
    back = hold(mistakes, before)
    assert texts(back, "mistakes_only_in_a") == texts(result, "mistakes_only_in_b")


def test_keys_are_those_of_the_texts() -> None:
    mistakes = ("one", "two")
    assert prompt_keys(mistakes).tolist() == prompt_keys(list(reversed(mistakes))).tolist()[::-1]
