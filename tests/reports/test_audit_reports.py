"""Reports of an audit: nothing foreign acts in any form, and figures agree between them."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.domain.guardrail import measured_by
from guardtui.domain.profile import any_of, decided
from guardtui.domain.profile_evaluation import ProfileEvaluation
from guardtui.domain.profile_labels import ProfileMember
from guardtui.domain.topic import Intent, Topic
from guardtui.reports.audit import AuditReport, audit_document
from guardtui.reports.audit_json import audit_json
from guardtui.reports.formats import DOCUMENT_FORMATS, render
from tests.examples import up_to
from tests.guardrails import engine_settings
from tests.reports.html.reading import read

HOSTILE = (
    "<script>alert(1)</script>",
    "\x1b]52;c;aGk=\x07\x9b31m",
    "</script><img src=x onerror=alert(1)>",
    "`` ` | [x](javascript:alert(1)) | <b>",
    "\u202eevil\u2066 \ud800 \U000e0041",
    "line\nbreak\r\n# heading",
    "[/INST] {{7*7}} ${7*7}",
)


def report(prompts: list[str], name: str = "Tax", note: str = "") -> AuditReport:
    count = len(prompts)
    rows = np.arange(count)
    members = tuple(
        ProfileMember(
            Topic(name=f"{name} {index}", description=name, examples=(name,), intent=intent),
            np.where(rows % 2 == 0, 1, 0).astype(np.int8),
            ((rows + index) % 3 > 0).astype(np.int8),
            (rows + 2).astype(np.int32),
            f"{name}.csv",
        )
        for index, intent in enumerate((Intent.BLOCK, Intent.ALLOW, Intent.BLOCK))
    )
    blocked = any_of([members[0].matches, members[2].matches], count)
    stopped = decided(members[1].matches, blocked, closed=False)
    stopped[-1] = -1
    errors = {count - 1: note or "failed"}
    evaluation = ProfileEvaluation(prompts, members, False, stopped, errors, {0: note})
    settings_ = engine_settings(f"engine {name}", 0.5, "built-in")
    return AuditReport(evaluation, settings_, f"profile {name}", (note,) if note else ())


def written(form: str, made: AuditReport) -> str:
    return audit_json(made) if form == "json" else render(audit_document(made), form)


@pytest.mark.parametrize("form", DOCUMENT_FORMATS)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_inert(form: str, text: str) -> None:
    made = written(form, report([text, "x", text + "2", "y"], text, text))
    made.encode("utf-8")  # no half characters
    controls = re.sub("[\n\t]" if form == "html" else "\n", "", made)
    assert not re.search("[\x00-\x1f\x7f-\x9f]", controls)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]", made)
    if form == "html":
        # Scripts are those of the page, and none of them is foreign.
        assert made.count("<script") == written(form, report(["a", "b", "c", "d"])).count("<script")
        assert "<img" not in made
        assert "<b>" not in made
    if form == "md":
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", made)
        assert "<" not in outside
        assert "javascript" not in outside


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=8, unique=True), st.text())
@settings(max_examples=up_to(60), deadline=None)
def test_any_text_is_written_the_same_twice_and_read_back(prompts: list[str], name: str) -> None:
    for form in DOCUMENT_FORMATS:
        first = written(form, report(prompts, name))
        assert first == written(form, report(prompts, name))
        if form == "json":
            assert [one["prompt"] for one in json.loads(first)["results"]] == prompts
        if form == "table":
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", first)


def test_the_first_sentence_names_the_guardrail() -> None:
    made = report(["a prompt", "another"])
    sentence = measured_by(made.settings)
    assert written("table", made).startswith(f"{sentence}\n")
    lead = read(written("html", made)).all("header")[0].all("p")[0]
    assert lead.text.startswith(f"{sentence} ")
    markdown = written("md", made).splitlines()[2]
    assert markdown.replace("`", "").startswith(f"{sentence} ")


def test_figures_agree_between_forms() -> None:
    made = report([f"prompt {row}" for row in range(12)])
    result = json.loads(written("json", made))
    composite = result["composite"]
    measured = composite["measured"]["counts"]
    counts = (
        f"TP {measured['tp']}, FN {measured['fn']}, FP {measured['fp']}, TN {measured['tn']}, "
        f"no verdict {measured['errors']}"
    )
    assert counts in written("table", made)
    assert counts in written("md", made)
    assert counts in written("html", made)
    codes = [one["outcome"] for one in result["results"]]
    assert codes.count("TP") == measured["tp"]
    assert codes.count("FP") == measured["fp"]
    assert codes.count("contradictory") == composite["contradictory"] > 0
    assert sum(one["conflict"] for one in result["results"]) <= result["conflict_count"]
    for one in result["conflicts"]:
        assert len(one["results"]) == one["prompts"]
        if one["kind"] == "matched_by_both":
            for row in one["results"]:
                assert {one["first"], one["second"]} <= set(result["results"][row]["matched"])
    for one in result["cross_table"]:
        rows = [
            row
            for row in result["results"]
            if row["expected_labels"].get(one["topic"]) is one["expected_label"]
        ]
        assert len(rows) == one["prompts"]
        assert sum(bool(row["stopped"]) for row in rows) == one["stopped"]
        for name, count in one["matched"].items():
            assert sum(name in row["matched"] for row in rows) == count
