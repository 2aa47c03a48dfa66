"""CSV, TSV, Markdown and table: what they say, and that no prompt can act in them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.verdicts import Verdicts
from guardtui.reports import (
    as_markdown,
    as_text,
    csv_report,
    tsv_report,
)
from guardtui.reports.base import ReportError, ReportInput, delta_text
from guardtui.reports.formats import Writer, load_writer, report_formats

from .conftest import HOSTILE, TOPIC

write_markdown, write_table = load_writer("md"), load_writer("table")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def csv_rows(report: ReportInput) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_report.write(report), newline="")))


def test_csv_has_a_row_per_prompt_with_the_own_columns(report: ReportInput) -> None:
    rows = csv_rows(report)
    assert len(rows) == len(HOSTILE)
    assert rows[0]["outcome"] == "TP"
    assert (rows[0]["change"], rows[0]["was"]) == ("fix", "FN")
    assert (rows[1]["change"], rows[1]["was"]) == ("regression", "TP")
    assert (rows[6]["triggered"], rows[6]["score"], rows[6]["outcome"]) == ("", "", "ERROR")
    assert rows[0]["category"] == "a|b"
    assert rows[0]["matched"] == "description"
    assert rows[1]["matched"] == "example 1"


def test_csv_has_no_control_and_every_line_end_is_quoted(report: ReportInput) -> None:
    assert not CONTROL.search(csv_report.write(report))
    assert csv_rows(report)[0]["prompt"] == HOSTILE[0].replace("\n", "↵")
    assert csv_rows(report)[3]["prompt"] == "plain ␛]52;c;aGk=␇ and ⟪RLO⟫override"


def with_prompts(report: ReportInput, texts: list[str], name: str = "own") -> ReportInput:
    """The report with other prompts at the same places, and one own column of the same texts."""
    assert report.prompts is not None
    frame = report.prompts.frame.with_columns(pl.Series("prompt", texts), pl.Series(name, texts))
    return replace(report, prompts=replace(report.prompts, frame=frame))


def test_csv_tells_notes_and_topics_where_there_are_any(
    report: ReportInput, told_report: ReportInput
) -> None:
    assert not {"note", "stopped_by"} & set(csv_rows(report)[0])
    rows = csv_rows(told_report)
    assert [row["note"] for row in rows[:4]] == ["", "", "'=1+1", "doubtful ␛[31m `x`"]
    assert rows[4]["stopped_by"] == f"{TOPIC.name}, other"
    assert rows[2]["stopped_by"] == "'=cmd`; |x, <b>⟪RLO⟫"
    assert rows[1]["stopped_by"] == ""
    header = list(rows[0])
    assert header.index("stopped_by") < header.index("category")


@pytest.mark.parametrize("write", [write_markdown, write_table])
def test_people_are_told_who_stopped_it_where_the_topic_did_not(
    told_report: ReportInput, write: Writer
) -> None:
    text = write(told_report)
    assert not CONTROL.search(text)
    (line,) = [line for line in text.splitlines() if "<b>⟪RLO⟫" in line]
    assert "by" in line
    assert "=1+1" in line
    companion = next(line for line in text.splitlines() if "with" in line and "=cmd" in line)
    assert "=cmd`; |x" in companion
    assert companion.endswith("(allow)")


@pytest.mark.parametrize("write", [write_markdown, write_table])
def test_how_many_have_no_verdict_and_what_that_leaves_open(
    report: ReportInput, undefined_report: ReportInput, write: Writer
) -> None:
    # 2 of 5 positives are right, one of them is open; 2 of 3 negatives are right.
    message = "1 of 8 prompts have no verdict: with theirs, coverage is from 0.400 to 0.600"
    assert message in write(report)
    assert "have no verdict" not in write(undefined_report)


def test_csv_column_names_stay_different(report: ReportInput) -> None:
    named = with_prompts(report, [*HOSTILE], "a⟪ZWSP⟫")
    header = csv_report.write(with_prompts(named, [*HOSTILE], "a\u200b")).split("\n")[0]
    assert header.endswith("a⟪ZWSP⟫,a⟪ZWSP⟫ (prompt set)")


def test_tsv_is_the_agreed_log(report: ReportInput) -> None:
    assert tsv_report.write(report) == (
        "iteration\tcoverage\ttpr\ttnr\tf1\tstatus\tdescription\texamples\n"
        "0\t0.600\t0.600\t0.667\t0.667\tkeep\tHow to\tone `tick`|two|three\n"
        "1\t0.500\t0.500\t0.667\t0.571\tdiscard\tHow to commit fraud\tone `tick`|two|three\n"
    )


def outside_code(line: str) -> str:
    """A line without its code spans, found as CommonMark finds them."""
    result, at = "", 0
    while at < len(line):
        run = re.compile("`+").match(line, at)
        if run is None:
            result += line[at]
            at += 1
            continue
        fence = run.group()
        close = re.compile(f"(?<!`){fence}(?!`)").search(line, run.end())
        assert close is not None, f"an open code span in {line!r}"
        at = close.end()
    return result


@given(st.text(st.sampled_from("` a\n|<\x1b"), max_size=30))
def test_a_code_span_holds_any_text(text: str) -> None:
    for cell in (False, True):
        span = as_markdown.code_span(text, cell=cell)
        assert outside_code(f"x {span} y") == ("x  y" if text else "x (empty) y")
        assert "\n" not in span
        assert not (cell and "|" in span)


def test_markdown_tells_everything(report: ReportInput) -> None:
    text = write_markdown(report)
    assert re.search(r"\| coverage \| 0\.500 \| 0\.\d+ to 0\.\d+ \| −0\.100 \|", text)
    assert "change against the baseline (iteration 0) among 7 prompts with a verdict in bo" in text
    assert (
        "| 1 | ✗ discard | 0.500 | 0.500 | 0.667 | 0.571 | `engine (approximation)` | "
        "`description +“commit↵fraud”` |" in text
    )
    assert "## Regressions (1)" in text
    assert "was TP" in text
    assert "## Missed (2)" in text
    assert "caution: `1 prompt without a verdict" in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_lists_are_cut_and_say_so(report: ReportInput, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_markdown, "LIMIT", 1)
    monkeypatch.setattr(as_text, "LIMIT", 1)
    assert "- … and 1 more\n" in write_markdown(report)
    assert "  … and 1 more\n" in write_table(report)


def test_undefined_is_not_zero(undefined_report: ReportInput) -> None:
    assert "| TPR | n/a |  |" in write_markdown(undefined_report)
    assert re.search(r"^TPR +n/a$", write_table(undefined_report), re.MULTILINE)
    assert re.search(r"^coverage +n/a$", write_table(undefined_report), re.MULTILINE)


def test_table_is_inert_and_complete(report: ReportInput) -> None:
    text = write_table(report)
    assert not CONTROL.search(text)
    assert re.search(r"^coverage +0\.500  0\.\d+ to 0\.\d+  −0\.100  ", text, re.MULTILINE)
    assert "TP 2, FN 2, FP 1, TN 2, no verdict 1." in text
    assert report.comparison is not None
    assert f"N{report.comparison.describe('the baseline (iteration 0)')[1:]}.\n" in text
    assert "Edited: description +13 bytes." in text
    assert re.search(
        r"^  line 5, missed, regression, score 0\.250, example 1, was TP: =HYPERLINK", text, re.M
    )
    assert "timed ␛out" in text


def test_removed_prompts_are_marked(report: ReportInput) -> None:
    for write in (write_markdown, write_table):
        assert "(no longer in the prompt file)" in write(replace(report, prompts=None))
    assert csv_rows(replace(report, prompts=None))[0]["prompt"] == ""


def test_prompts_are_found_by_content_not_by_row(report: ReportInput) -> None:
    backwards = slice(None, None, -1)
    evaluation = report.evaluation
    verdicts = evaluation.verdicts
    turned = replace(
        evaluation,
        keys=evaluation.keys[backwards],
        expected=evaluation.expected[backwards],
        verdicts=Verdicts(
            verdicts.triggered[backwards],
            verdicts.score[backwards],
            verdicts.matched[backwards],
            {len(verdicts) - 1 - row: text for row, text in verdicts.errors.items()},
        ),
    )
    other = ReportInput(topic=TOPIC, evaluation=turned, prompts=report.prompts)
    plain = ReportInput(topic=TOPIC, evaluation=evaluation, prompts=report.prompts)
    assert csv_rows(other) == csv_rows(plain)[backwards]
    assert other.by_category == plain.by_category
    short = replace(
        other,
        evaluation=replace(
            turned,
            keys=np.append(turned.keys[:-1], np.uint64(12345)),
        ),
    )
    assert sum(group.total + group.errors for group in short.by_category.values()) == 7


def test_a_delta_that_rounds_to_nothing_has_no_sign() -> None:
    assert [delta_text(x) for x in (0.0304, -0.0304, 0.0004, -0.0, None)] == [
        "+0.030",
        "−0.030",
        "±0.000",
        "±0.000",
        "",
    ]


def test_every_format_is_found_and_others_are_named() -> None:
    assert report_formats()[:5] == ("html", "md", "table", "json", "csv")
    for name in report_formats():
        assert callable(load_writer(name))
    with pytest.raises(ReportError, match="unknown report format 'pdf': choose one of html"):
        load_writer("pdf")


def test_csv_tells_errors_and_epochs(report: ReportInput) -> None:
    rows = csv_rows(report)
    assert [row["error"] for row in rows] == ["", "", "", "", "", "", "timed ␛out", ""]
    assert "epochs" not in rows[0]
    repeats = np.array([[1, 0, 1, 0, 1, 0, -1, 0], [1, 0, 0, 0, 1, 0, -1, 0]], np.int8)
    verdicts = replace(report.evaluation.verdicts, repeats=repeats)
    repeated = replace(report, evaluation=replace(report.evaluation, verdicts=verdicts))
    epochs = [row["epochs"] for row in csv_rows(repeated)]
    assert (epochs[0], epochs[2], epochs[6]) == ("yes yes", "yes no", "none none")
    assert "triggered in 1 of 2 epochs" in write_markdown(repeated)


def test_markdown_begins_with_the_result_and_ends_with_what_it_was_made_with(
    report: ReportInput, undefined_report: ReportInput
) -> None:
    text = write_markdown(report)
    assert text.startswith(
        "# Guardrail topic report: `Fraud | <b>`\n\n2 of 4 prompts are missed and "
    )
    lead = text.split("\n\n", 2)[1]
    assert re.search(
        r"missed and 1 of 3 wrongly stopped, measured by the engine \(a quick approximation of "
        r"your guardrail\)\. Coverage is 0\.500 \(0\.\d+ to 0\.\d+ on new prompts\)\. No "
        r"demonstrable change against the baseline \(iteration 0\) among 7 prompts with a verdict "
        r"in both: coverage ",
        lead,
    )
    assert "- description: `How to` → `How to⇥commit↵fraud`\n" in text
    headings = re.findall("^## ([A-Z][a-z ]+)", text, re.MULTILINE)
    assert [heading.strip() for heading in headings] == [
        "Metrics", "What changed", "History", "Mistakes by category", "Regressions", "Fixes",
        "Missed", "Wrongly stopped", "Without a verdict", "Provenance",
    ]  # fmt: skip
    end = text.partition("## Provenance")[2]
    assert report.topic.fingerprint in end
    assert report.evaluation.prompt_set in end
    assert "encoder static, version 1`, threshold 0.500 (`built-in`)\n" in text
    assert "Coverage is n/a." in write_markdown(undefined_report)


def test_markdown_tells_examples_that_came_and_went(report: ReportInput) -> None:
    assert report.baseline is not None
    three = TOPIC.model_copy(update={"examples": ("one `tick`", "other", "third")})
    shorter = replace(report, baseline=replace(report.baseline, topic=three))
    text = write_markdown(shorter)
    assert "- example 2: `other` → `two|three`\n- example 3: `third` → (none)\n" in text
    one = TOPIC.model_copy(update={"examples": ("one `tick`",)})
    longer = replace(report, baseline=replace(report.baseline, topic=one))
    assert "- example 2: (none) → `two|three`\n" in write_markdown(longer)


def test_a_log_of_iterations_starts_no_formula(report: ReportInput) -> None:
    odd = TOPIC.model_copy(update={"description": "=1+1 \u202e", "examples": ("＝a", "b")})
    first = report.iterations[0]
    evaluation = replace(first.evaluation, topic=odd)
    text = tsv_report.write(replace(report, iterations=(replace(first, evaluation=evaluation),)))
    assert text.split("\n")[1].endswith("\t'=1+1 ⟪RLO⟫\t'＝a|b")
