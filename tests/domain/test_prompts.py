"""Prompt sets: labels and intents read, all errors together, doubts with their lines."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.findings import Finding
from guardtui.domain.prompts import (
    PromptSet,
    PromptSetError,
    build_prompt_set,
    check_prompt_set,
    prompt_keys,
)
from guardtui.domain.topic import Intent, Topic

Row = tuple[str, str]
BASE: tuple[Row, ...] = (("a", "true"), ("b", "false"))


def build(rows: tuple[Row, ...] = BASE, intent: str = "block", **extra: list[str]) -> PromptSet:
    columns = {
        "Prompt ": [prompt for prompt, _ in rows],
        "EXPECTED": [label for _, label in rows],
        "intent": [intent] * len(rows),
        **extra,
    }
    raw = pl.DataFrame(columns, dict.fromkeys(columns, pl.String))
    return build_prompt_set(raw, np.arange(2, len(rows) + 2, dtype=np.uint32), "file.csv")


def errors(rows: tuple[Row, ...], intent: str = "block") -> PromptSetError:
    with pytest.raises(PromptSetError) as caught:
        build(rows, intent)
    return caught.value


def by_code(findings: tuple[Finding, ...]) -> dict[str, tuple[int, ...]]:
    return {finding.code: finding.lines for finding in findings}


@pytest.mark.parametrize("true", ["true", "YES", " 1", "t ", "Y"])
@pytest.mark.parametrize("false", ["False", "no", "0", " F", "n"])
def test_spellings_of_labels(true: str, false: str) -> None:
    prompts = build((("a", true), ("b", false)), " BLOCK ")
    assert prompts.expected.tolist() == [True, False]
    assert prompts.intent is Intent.BLOCK


def test_columns_and_types() -> None:
    prompts = build(Note=["x", "y"], Category=["c", ""])
    assert prompts.frame.schema == {
        "key": pl.UInt64,
        "line": pl.UInt32,
        "prompt": pl.String,
        "expected": pl.Boolean,
        "Note": pl.String,
        "Category": pl.String,
    }
    assert prompts.extra_columns == ("Note", "Category")
    assert prompts.category_column == "Category"
    codes, names = prompts.groups("Category")
    assert [names[code] for code in codes] == ["c", "(none)"]
    assert names == sorted(names)
    assert len(prompts) == 2


def test_should_trigger_turns_round_with_the_intent() -> None:
    prompts = build(intent="allow")
    assert prompts.should_trigger().tolist() == [False, True]
    assert prompts.should_trigger(Intent.BLOCK).tolist() == [True, False]


def test_all_errors_come_together_in_the_order_of_lines() -> None:
    error = errors((("a", "maybe"), (" ", "true"), ("c", "")))
    assert [(finding.code, finding.lines) for finding in error.findings] == [
        ("expected", (2,)),
        ("empty-prompt", (3,)),
        ("expected", (4,)),
    ]
    assert "file.csv:2: " in str(error)
    assert "'maybe'" in str(error)


def test_first_20_errors_and_a_count() -> None:
    error = errors((("a", "?"),) * 143)
    assert (len(error.findings), error.total) == (20, 143)
    assert "… and 123 " in str(error)


def test_mixed_intents_name_the_first_line_that_differs() -> None:
    names = ["block", "block", "allow", "allow"]
    raw = pl.DataFrame({"prompt": list("abcd"), "expected": ["1", "0"] * 2, "intent": names})
    with pytest.raises(PromptSetError) as caught:
        build_prompt_set(raw, np.array([2, 3, 7, 8], np.uint32), "f")
    assert [(finding.code, finding.lines) for finding in caught.value.findings] == [
        ("mixed-intent", (7,))
    ]


@pytest.mark.parametrize(
    ("column", "topic", "intent", "given"),
    [
        (["", "allow", " ", None], None, Intent.ALLOW, True),
        (["", "Allow", "", ""], Intent.BLOCK, Intent.ALLOW, True),
        (["", "", "", None], Intent.BLOCK, Intent.BLOCK, False),
    ],
)
def test_rows_without_an_intent_have_that_of_the_others_or_of_the_topic(
    column: list[str | None], topic: Intent | None, intent: Intent, given: bool
) -> None:
    raw = pl.DataFrame({"prompt": list("abcd"), "expected": ["1", "0"] * 2, "intent": column})
    prompts = build_prompt_set(raw, np.arange(2, 6, dtype=np.uint32), "f", topic)
    assert (prompts.intent, prompts.intent_given) == (intent, given)


def test_missing_intent_is_an_error() -> None:
    raw = pl.DataFrame({"prompt": ["a", "b"], "expected": ["1", "0"], "intent": ["", ""]})
    with pytest.raises(PromptSetError, match="intent is empty: write block or allow, here or in"):
        build_prompt_set(raw, np.array([2, 3], np.uint32), "f")


@pytest.mark.parametrize(
    ("label", "intent", "said"),
    [
        ("true", "block", "expected false"),
        ("false", "block", "expected true"),
        ("true", "allow", "expected false"),
        ("false", "allow", "expected true"),
    ],
)
def test_missing_class_is_reported_in_the_terms_of_the_file(
    label: str, intent: str, said: str
) -> None:
    assert said in str(errors((("a", label), ("b", label)), intent))


def test_missing_columns_are_named() -> None:
    raw = pl.DataFrame({"prompt": ["a"], "text": ["b"]})
    with pytest.raises(PromptSetError) as caught:
        build_prompt_set(raw, np.array([2], np.uint32), "f")
    assert "expected" in str(caught.value)
    assert "intent" in str(caught.value)


@given(st.lists(st.sampled_from(["a", "b", "", "\ud800", "é"]), max_size=12))
def test_keys_are_unique_and_depend_on_text_and_occurrence_only(texts: list[str]) -> None:
    keys = prompt_keys(texts)
    assert len(np.unique(keys)) == len(texts)
    order = sorted(range(len(texts)), key=lambda row: texts[row])  # stable: occurrences in order
    assert prompt_keys([texts[row] for row in order]).tolist() == keys[order].tolist()


def test_fingerprint_tells_text_label_order_and_intent_apart() -> None:
    sets = (
        build(),
        build((("b", "false"), ("a", "true"))),
        build((("a", "false"), ("b", "true"))),
        build((("a ", "true"), ("b", "false"))),
        build(intent="allow"),
    )
    assert len({one.fingerprint for one in sets}) == len(sets)
    assert build().fingerprint == build(note=["x", "y"]).fingerprint


def test_repeats_are_found_with_their_lines() -> None:
    rows = (
        *(("same", "true"), ("same", "true")),
        *(("both", "true"), ("both", "false")),
        *(("Case  and", "false"), (" case AND", "false")),
        ("alone", "false"),
    )
    result = by_code(check_prompt_set(build(rows), None))
    assert result["duplicate"] == (2, 3)
    assert result["contradictory-label"] == (4, 5)
    assert result["near-duplicate"] == (6, 7)


@pytest.mark.parametrize(("positive", "warned"), [(80, False), (81, True), (20, False)])
def test_imbalance_is_more_than_80_percent(positive: int, warned: bool) -> None:
    rows = tuple((f"p{i}", str(i < positive)) for i in range(100))
    assert ("imbalance" in by_code(build(rows).findings)) is warned


def test_leakage_newlines_hidden_characters() -> None:
    rows = (("How  DO i", "1"), ("two\nlines", "0"), ("zero\u200bwidth", "0"), ("plain", "1"))
    topic = Topic(name="n", description="d", examples=("how do I ", "other"))
    result = by_code(check_prompt_set(build(rows), topic))
    assert result == {"leakage": (2,), "line-break": (3,), "hidden-characters": (4,)}
    # Line breaks matter to another tool only: commands that merely read the prompts do not warn.
    assert by_code(build(rows).findings) == {"hidden-characters": (4,)}


def test_at_most_20_lines_are_listed() -> None:
    rows = (("same", "true"),) * 30 + (("b", "false"),) * 30
    findings = build(rows).findings
    assert findings
    assert all(len(finding.lines) <= 20 for finding in findings)


def test_a_category_begins_no_line_of_a_message() -> None:
    hostile = "x\n::error::\x1b[31m" + "y" * 500
    result = check_prompt_set(build(category=[hostile] * 2), Topic(name="t"))
    (told,) = [one.message for one in result if "of a category" in one.message]
    assert "x↵::error::␛[31my" in told
    assert len(told) < 200
