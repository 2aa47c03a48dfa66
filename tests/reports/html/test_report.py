"""The report of an evaluation as a page: all that it tells, inert, the same every time."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic, describe_changes
from guardtui.domain.verdicts import Usage
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import load_writer
from guardtui.session.session import Decision, Iteration
from tests.reports.conftest import HOSTILE, TOPIC, TRIGGERED

from .reading import Element, data, read

ROOT = Path(__file__).parents[3]
write = load_writer("html")


def rows_of(root: Element) -> list[dict[str, object]]:
    (block,) = data(root)
    titles = [column["title"] for column in block["columns"]]
    return [dict(zip(titles, row, strict=True)) for row in block["rows"]]


def views_of(root: Element) -> dict[str, list[int] | None]:
    (block,) = data(root)
    return {view["title"]: view["rows"] for view in block["views"]}


def test_a_report_contains_all_sections(report: ReportInput) -> None:
    root = read(write(report))
    headings = [one.text for one in root.all("h2")]
    assert headings == [
        "Result", "What changed", "Mistakes by category", "Prompts", "Metrics", "History",
        "Threshold", "Provenance", "Terms",
    ]  # fmt: skip
    metrics = report.evaluation.metrics
    lead = root.all("header")[0].text
    assert f"Coverage is {metrics.coverage:.3f}" in lead
    assert report.comparison is not None
    assert report.comparison.describe("the baseline (iteration 0)")[1:] in lead
    (rates,) = root.at("metrics").all("table")
    (mistakes,) = root.at("result").all("table")
    cells = {row[0]: row for row in rates.cells()[1:]}
    assert cells["TPR"][1] == f"{metrics.true_positive_rate:.3f}"
    assert re.fullmatch(r"[01]\.\d{3} to [01]\.\d{3}", cells["coverage"][2])
    assert cells["precision"][3].startswith(("+", "−", "±"))
    assert [row[:2] for row in mistakes.cells()[1:]] == [
        ["missed", f"{metrics.fn} of {metrics.tp + metrics.fn}"],
        ["wrongly stopped", f"{metrics.fp} of {metrics.tn + metrics.fp}"],
    ]
    listed = root.at("history").all("table")[0].cells()
    assert [row[:2] for row in listed[1:]] == [["0", "✓ keep"], ["1", "✗ discard"]]
    shown = lead + root.at("provenance").text
    for part in (
        report.topic.fingerprint,
        report.evaluation.prompt_set,
        "encoder static, version 1",
        "threshold 0.500 (built-in)",
        "profile|<i>",
        "prompts.csv",
    ):
        assert part in shown
    assert [row[0] for row in root.at("mistakes").all("table")[0].cells()[1:]] == [
        name or "(none)" for name in report.by_category
    ]


def test_every_prompt_is_there_with_its_reasons(told_report: ReportInput) -> None:
    verdicts = replace(
        told_report.evaluation.verdicts,
        reasons={0: "a judge <b>said</b>"},
        used=Usage(3, 40, 5),
        repeats=np.array([TRIGGERED, TRIGGERED], np.int8),
    )
    evaluation = replace(told_report.evaluation, verdicts=verdicts)
    root = read(write(replace(told_report, evaluation=evaluation)))
    rows = rows_of(root)
    assert [row["prompt"] for row in rows] == [display_text(p, newlines=True) for p in HOSTILE]
    assert [row["outcome"] for row in rows] == [
        "TP", "missed", "wrongly stopped", "TN", "TP", "missed", "no verdict", "TN",
    ]  # fmt: skip
    assert (rows[0]["reason"], rows[0]["stopped by"]) == (
        "a judge <b>said</b>",
        display_text(TOPIC.name),
    )
    assert str(rows[2]["stopped by"]).startswith("only =cmd")
    assert rows[3]["note"] == "doubtful ␛[31m `x`"
    assert (rows[6]["error"], rows[6]["score"]) == ("timed ␛out", None)
    assert (rows[0]["score"], rows[0]["matched"], rows[0]["change"], rows[0]["was"]) == (
        0.75,
        "description",
        "fix",
        "FN",
    )
    assert rows[0]["epochs"] == "triggered, triggered"
    assert rows[0]["=note"] == "@SUM(1)"
    views = views_of(root)
    assert list(views) == [
        "Regressions", "Fixes", "Missed", "Wrongly stopped", "Without a verdict",
        "All prompts",
    ]  # fmt: skip
    codes = evaluation.codes.tolist()
    assert views["Wrongly stopped"] == [k for k, code in enumerate(codes) if code == 2]
    assert (views["Regressions"], views["All prompts"]) == ([1], None)
    assert "3 calls, 40 tokens in, 5 out" in root.at("metrics").text
    assert "2 epochs" in root.at("metrics").text
    assert "Measured together with:=cmd`; |x(allow) d" in root.at("definition").text


def test_the_difference_of_the_definition_is_shown(report: ReportInput) -> None:
    root = read(write(report))
    definition = root.at("definition")
    assert [one.text for one in definition.all("ins")] == ["⇥commit↵fraud"]
    assert "Compared with the definition of the baseline (iteration 0)" in definition.text
    assert report.baseline is not None
    other = TOPIC.model_copy(update={"name": "<x>", "examples": ("three", "one `tick`")})
    baseline = replace(report.baseline, topic=other)
    changed = replace(report, baseline=baseline, changes=describe_changes(other, TOPIC))
    definition = read(write(changed)).at("definition")
    assert "<x>" in [one.text for one in definition.all("del")]
    same = replace(report, baseline=replace(report.baseline, topic=TOPIC), changes=())
    assert "The same as the definition of the baseline" in read(write(same)).at("definition").text


def test_violated_limits_are_shown(report: ReportInput) -> None:
    topic = TOPIC.model_copy(update={"description": "x" * 30_000, "examples": ()})
    definition = read(write(replace(report, topic=topic))).at("definition").text
    assert "description has 30000 bytes, 29750 more than the 250 allowed" in definition
    assert "0 examples: at least 2 are needed" in definition


def test_curves_agree_with_another_implementation(report: ReportInput) -> None:
    random = np.random.default_rng(4)
    scores = random.random(8).astype(np.float32)
    verdicts = replace(report.evaluation.verdicts, score=scores)
    evaluation = replace(report.evaluation, verdicts=verdicts)
    section = read(write(replace(report, evaluation=evaluation))).at("threshold")
    area = roc_auc_score(evaluation.should_trigger, scores)
    precision = average_precision_score(evaluation.should_trigger, scores)
    assert f"ROC curve {area:.3f}, average precision {precision:.3f}" in section.text
    rows = section.all("table")[0].cells()
    now = next(row for row in rows if "now" in row[-1])
    above = scores >= 0.5
    assert now[0] == "0.500"
    assert now[-2] == str(int(np.count_nonzero(~above & evaluation.should_trigger)))
    assert now[-3] == str(int(np.count_nonzero(above & ~evaluation.should_trigger)))
    assert len(rows) == 10  # eight scores, the one above them all, the headings


def test_charts_follow_the_page_and_hold_nothing_else(report: ReportInput) -> None:
    root = read(write(report))
    drawings = [one for one in root.all("svg") if "aria-hidden" not in one.attributes]
    labels = [str(drawing.attributes["aria-label"]) for drawing in drawings]
    assert [label.split(" ")[0] for label in labels] == ["Share", "Coverage", "TPR,"]
    for drawing in drawings:
        assert drawing.attributes["role"] == "img"
    page = write(report)
    drawn = "".join(re.findall(r"<svg .*?</svg>", page, re.DOTALL))
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', drawn))
    assert colours <= {"none", "transparent", *(f"var(--{n})" for n in (
        "series-1", "series-2", "series-3", "mark", "ink", "muted", "grid", "ground",
        "missed", "stopped", "broke", "fixed",
    ))}, colours  # fmt: skip
    assert not re.search(r"\bid=|<style|<script|href|url\(", drawn)
    assert "now 0.500" in root.at("threshold").text


def test_a_report_without_anything_more(report: ReportInput) -> None:
    verdicts = replace(report.evaluation.verdicts, score=np.full(8, np.nan, np.float32))
    alone = ReportInput(
        topic=Topic(name="", description=""),
        evaluation=replace(
            report.evaluation,
            verdicts=verdicts,
            settings=replace(report.evaluation.settings, threshold=None),
        ),
    )
    root = read(write(alone))
    assert [one.text for one in root.all("h2")] == [
        "Result", "Definition", "Mistakes by category", "Prompts", "Metrics", "Threshold",
        "Provenance", "Terms",
    ]  # fmt: skip
    assert root.at("threshold").text.startswith("Thresholdn/a: ")
    assert {row["prompt"] for row in rows_of(root)} == {"(no longer in the prompt file)"}
    assert [row["line"] for row in rows_of(root)] == list(range(1, 9))
    assert list(views_of(root)) == [
        "Missed", "Wrongly stopped", "Without a verdict", "All prompts",
    ]  # fmt: skip


def test_undefined_rates_are_not_zero(undefined_report: ReportInput) -> None:
    root = read(write(undefined_report))
    cells = {row[0]: row[1:] for row in root.at("metrics").all("table")[0].cells()}
    assert cells["TPR"] == ["n/a", ""]
    assert cells["coverage"] == ["n/a", ""]
    assert "Coverage is n/a." in root.all("header")[0].text
    assert "Missed prompts are n/a and 0 of 8 wrongly stopped" in root.all("header")[0].text


def test_allow_topics_are_reported_by_should_trigger(allow_report: ReportInput) -> None:
    root = read(write(allow_report))
    metrics = allow_report.evaluation.metrics
    assert f"TP {metrics.tp}" in root.at("metrics").text
    rows = rows_of(root)
    assert [row["expected"] for row in rows[:3]] == ["true", "true", "false"]
    assert len(root.at("threshold").all("svg")) == 1


def test_many_iterations_are_cut_and_counted(report: ReportInput) -> None:
    evaluation = report.evaluation
    many = [Iteration(k, "2026", Decision.DISCARD, evaluation) for k in range(230)]
    section = read(write(replace(report, iterations=many))).at("history")
    cells = section.all("table")[0].cells()
    assert [cells[1][0], cells[-1][0], len(cells)] == ["30", "229", 201]
    assert cells[1][6:8] == ["engine (approximation)", "unchanged"]
    assert "… and 30 iterations before these." in section.text
