"""A scan result read for a topic: never a pass without a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.verdicts import Failure, Triggered
from guardtui.scanners.airs.answers import read_answer
from guardtui.scanners.airs.models import ResultRow, ScanResponse

ID = "0c6a2f5e-3f5a-4d0b-9d1b-6c1f2f5b7a10"


def result(violation: Any = False, **more: Any) -> dict[str, Any]:
    stopped = violation is True
    return {
        "scan_id": ID,
        "report_id": f"R{ID}",
        "profile_id": "p-1",
        "profile_name": "mine",
        "category": "malicious" if stopped else "benign",
        "action": "block" if stopped else "allow",
        "timeout": False,
        "error": False,
        "errors": [],
        "prompt_detected": {"topic_violation": violation, "injection": False},
        **more,
    }


def details(blocked: Any = None, allowed: Any = None) -> dict[str, Any]:
    results = {"blocked_topics": blocked, "allowed_topics": allowed}
    there = {name: value for name, value in results.items() if value is not None}
    return {"prompt_detection_details": {"topic_guardrails_details": there}}


def test_matched_block_topic_triggers() -> None:
    answer = read_answer(result(True, **details(["Tax"])), seconds=0.2)
    assert answer.triggered is Triggered.YES
    assert (answer.note, answer.doubtful) == ("", False)
    assert (answer.topics, answer.allowed_topics) == (("Tax",), ())
    assert (answer.revision, answer.scan_id, answer.seconds) == ("p-1", ID, 0.2)


def test_stop_by_default_triggers_without_topics() -> None:
    answer = read_answer(result(True))
    assert (answer.triggered, answer.topics, answer.note) == (Triggered.YES, (), "")
    assert not answer.doubtful


@pytest.mark.parametrize("more", [{}, details(allowed=["Tax"]), details([], [])])
def test_passed_prompt_does_not_trigger(more: dict[str, Any]) -> None:
    answer = read_answer(result(False, **more))
    assert (answer.triggered, answer.note, answer.doubtful) == (Triggered.NO, "", False)


def test_block_and_allow_match_is_noted() -> None:
    answer = read_answer(result(False, **details(["Tax"], ["Help"])))
    assert (answer.triggered, answer.doubtful) == (Triggered.NO, False)
    assert answer.note == "both matched: block Tax, allow Help"


def test_other_detector_does_not_trigger() -> None:
    data = result(False, category="malicious", action="block")
    data["prompt_detected"]["injection"] = True
    answer = read_answer(data)
    assert (answer.triggered, answer.doubtful) == (Triggered.NO, False)
    assert answer.note == ""


def test_unexplained_stop_is_doubtful() -> None:
    answer = read_answer(result(False, category="malicious", action="block"))
    assert (answer.triggered, answer.doubtful) == (Triggered.NO, True)
    assert "no other detector fired" in answer.note


def test_passed_prompt_with_a_block_topic_is_doubtful() -> None:
    answer = read_answer(result(False, **details(["Tax"])))
    assert (answer.triggered, answer.doubtful) == (Triggered.NO, True)
    assert "a block topic matched: Tax" in answer.note


@pytest.mark.parametrize("category", ["", "grey", "MALICIOUS?"])
def test_unknown_category_is_doubtful(category: str) -> None:
    answer = read_answer(result(True, category=category))
    assert (answer.triggered, answer.doubtful) == (Triggered.YES, True)


def error(feature: str, status: str = "error", side: str = "prompt") -> dict[str, str]:
    return {"content_type": side, "feature": feature, "status": status}


@pytest.mark.parametrize(
    "more",
    [
        {"timeout": True},
        {"error": True},
        {"category": "error"},
        {"category": "Timeout"},
        {"errors": [error("topic_violation", "timeout")]},
        {"errors": [error("TOPIC_VIOLATION")], "error": True},
        {"errors": [error("", "error")], "error": True},
        {"errors": [error("topic_violation", side="")], "error": True},
        # One flag is explained by another detector, the other one is not.
        {"errors": [error("dlp", "error")], "error": True, "timeout": True},
        {"errors": [error("dlp"), error("topic_violation", "timeout")], "error": True},
        {"prompt_detected": None},
        {"prompt_detected": {}},
        {"prompt_detected": {"injection": False}},
        {"prompt_detected": {"topic_violation": None}},
        {"prompt_detected": {"topic_violation": "false"}},
        {"prompt_detected": {"topic_violation": 0}},
        {"prompt_detected": [True]},
        {"errors": ["topic_violation"]},
        {"errors": "topic_violation"},
        {"category": 7},
        {"timeout": "perhaps"},
        {"prompt_detection_details": "none"},
    ],
)
@pytest.mark.parametrize("violation", [False, True])
def test_no_verdict_is_never_a_pass(more: dict[str, Any], violation: bool) -> None:
    answer = read_answer({**result(violation), **more})
    assert answer.triggered is Triggered.NO_VERDICT
    assert (answer.failure, bool(answer.problem)) == (Failure.FAILED, True)


@pytest.mark.parametrize("violation", [False, True])
@pytest.mark.parametrize(
    "more",
    [
        {"error": True, "errors": [error("dlp")]},
        {"timeout": True, "errors": [error("injection", "timeout")]},
        {"error": True, "errors": [error("topic_violation", "error", "response")]},
    ],
)
def test_failure_of_another_detector_is_doubtful(violation: bool, more: dict[str, Any]) -> None:
    answer = read_answer(result(violation, **more))
    assert (answer.triggered, answer.doubtful) == (violation, True)
    assert "other detectors failed" in answer.note


def test_named_block_topic_replaces_a_missing_field() -> None:
    data = result(**details(["Tax"]), category="malicious")
    data["prompt_detected"] = {"injection": False}
    answer = read_answer(data)
    assert (answer.triggered, answer.doubtful) == (Triggered.YES, True)
    assert answer.note == "topic_violation is missing, but a block topic is named"
    del data["prompt_detected"]
    assert read_answer(data).triggered is Triggered.YES
    assert read_answer({**data, "timeout": True}).triggered is Triggered.NO_VERDICT


def test_missing_field_problem_names_the_cause() -> None:
    data = result(category="malicious", action="block")
    data["prompt_detected"] = {"injection": False}
    assert "no other detector fired" in read_answer(data).problem
    assert read_answer({**data, **details([], [])}).triggered is Triggered.NO_VERDICT
    data["category"] = "benign"
    assert "are topic guardrails on" in read_answer(data).problem
    assert read_answer({**data, **details()}).triggered is Triggered.NO_VERDICT


@pytest.mark.parametrize(
    "lists", [details(allowed=["Tax"]), details([], ["Tax"]), details([], []), details([])]
)
@pytest.mark.parametrize("detected", [None, {}, {"injection": False}])
def test_lists_without_a_block_topic_replace_a_missing_field(
    lists: dict[str, Any], detected: Any
) -> None:
    answer = read_answer({**result(**lists), "prompt_detected": detected})
    assert (answer.triggered, answer.doubtful, answer.note) == (Triggered.NO, False, "")
    stopped = {"injection": True}
    data = {**result(**lists), "category": "malicious", "prompt_detected": stopped}
    assert read_answer(data).triggered is Triggered.NO
    assert read_answer({**data, "timeout": True}).triggered is Triggered.NO_VERDICT
    assert (
        read_answer({**data, "errors": [error("topic_violation")]}).triggered
        is Triggered.NO_VERDICT
    )


@pytest.mark.parametrize("data", [None, [], "blocked", 1, {}, {"action": "allow"}])
def test_invalid_scan_result_gives_no_verdict(data: object) -> None:
    answer = read_answer(data)
    assert answer.triggered is Triggered.NO_VERDICT
    assert (answer.failure, bool(answer.problem)) == (Failure.FAILED, True)


def test_optional_fields_may_be_missing_or_null() -> None:
    data = result(True)
    for name in ("timeout", "error", "errors"):
        del data[name]
    assert read_answer(data).triggered is Triggered.YES
    nulls = dict.fromkeys(["timeout", "error", "errors", "profile_id", "created_at", "tr_id"])
    assert read_answer({**data, **nulls}).triggered is Triggered.YES


def test_unknown_fields_are_kept() -> None:
    response = ScanResponse.read(result(True, new_thing={"a": [1]}))
    assert response.model_dump()["new_thing"] == {"a": [1]}


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*result(), *details()]), json))
def test_hostile_results_give_only_real_verdicts(data: dict[str, Any]) -> None:
    answer = read_answer({**result(True), **data})
    if not answer.decided:
        assert answer.problem
    else:
        detected = {**result(True), **data}["prompt_detected"]
        assert answer.topics or detected["topic_violation"] is bool(answer.triggered)
    assert not any(ord(one) < 32 for one in answer.note)


@pytest.mark.parametrize("status", ["complete", "COMPLETED", " Complete "])
def test_complete_rows_are_recognised(status: str) -> None:
    row = ResultRow.read({"scan_id": ID, "req_id": 3, "status": status})
    assert (row.complete, row.failed) == (True, False)


@pytest.mark.parametrize(("status", "failed"), [("FAILED", True), ("pending", False), ("", False)])
def test_failed_and_pending_rows_are_recognised(status: str, failed: bool) -> None:
    row = ResultRow.read({"scan_id": ID, "req_id": 3, "status": status})
    assert (row.complete, row.failed) == (False, failed)
