"""A scan result read for a topic: never a pass without a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.verdicts import Failure, Triggered
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.answers import read_answer
from guardtui.scanners.airs.models import Report, ResultRow, ScanResponse

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
    found = {"blocked_topics": blocked, "allowed_topics": allowed}
    there = {name: value for name, value in found.items() if value is not None}
    return {"prompt_detection_details": {"topic_guardrails_details": there}}


def test_a_block_topic_matched() -> None:
    answer = read_answer(result(True, **details(["Tax"])), topic="Tax", seconds=0.2)
    assert answer.triggered is Triggered.YES
    assert (answer.note, answer.doubtful) == ("", False)
    assert (answer.topics, answer.allowed_topics) == (("Tax",), ())
    assert (answer.revision, answer.scan_id, answer.seconds) == ("p-1", ID, 0.2)


def test_the_default_stopped_it() -> None:
    answer = read_answer(result(True), topic="Tax")
    assert (answer.triggered, answer.topics, answer.note) == (Triggered.YES, (), "")
    assert not answer.doubtful


@pytest.mark.parametrize("more", [{}, details(allowed=["Tax"]), details([], [])])
def test_it_was_let_through(more: dict[str, Any]) -> None:
    answer = read_answer(result(False, **more), topic="Tax")
    assert (answer.triggered, answer.note, answer.doubtful) == (Triggered.NO, "", False)


def test_another_topic_stopped_it() -> None:
    answer = read_answer(result(True, **details(["Baking", "\x1b[2J"])), topic="Tax")
    assert answer.triggered is Triggered.YES
    assert answer.note == "stopped by another topic: Baking, ␛[2J"
    assert not read_answer(result(True, **details(["Baking", "Tax"])), topic="Tax").note
    assert not read_answer(result(True, **details(["Baking"]))).note


def test_both_matched() -> None:
    answer = read_answer(result(False, **details(["Tax"], ["Help"])), topic="Tax")
    assert (answer.triggered, answer.doubtful) == (Triggered.NO, False)
    assert answer.note == "both matched: block Tax, allow Help"


def test_another_detector_is_no_topic() -> None:
    data = result(False, category="malicious", action="block")
    data["prompt_detected"]["injection"] = True
    answer = read_answer(data, topic="Tax")
    assert (answer.triggered, answer.doubtful) == (Triggered.NO, False)
    assert answer.note == ""


def test_doubtful_stopped_but_nobody_says_so() -> None:
    answer = read_answer(result(False, category="malicious", action="block"), topic="Tax")
    assert (answer.triggered, answer.doubtful) == (Triggered.NO, True)
    assert "no other detector fired" in answer.note


def test_doubtful_a_block_topic_that_did_not_stop() -> None:
    answer = read_answer(result(False, **details(["Tax"])), topic="Tax")
    assert (answer.triggered, answer.doubtful) == (Triggered.NO, True)
    assert "a block topic matched: Tax" in answer.note


@pytest.mark.parametrize("category", ["", "grey", "MALICIOUS?"])
def test_doubtful_category(category: str) -> None:
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
    answer = read_answer({**result(violation), **more}, topic="Tax")
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
def test_another_detector_failed(violation: bool, more: dict[str, Any]) -> None:
    answer = read_answer(result(violation, **more))
    assert (answer.triggered, answer.doubtful) == (violation, True)
    assert "other detectors failed" in answer.note


def test_a_named_block_topic_stands_for_a_missing_field() -> None:
    data = result(**details(["Tax"]), category="malicious")
    data["prompt_detected"] = {"injection": False}
    answer = read_answer(data, topic="Other")
    assert (answer.triggered, answer.doubtful) == (Triggered.YES, True)
    assert answer.note == (
        "topic_violation is missing; a block topic is named; stopped by another topic: Tax"
    )
    del data["prompt_detected"]
    assert read_answer(data).triggered is Triggered.YES
    assert read_answer({**data, "timeout": True}).triggered is Triggered.NO_VERDICT


def test_a_missing_field_says_why() -> None:
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
def test_lists_without_a_block_topic_stand_for_a_missing_field(
    lists: dict[str, Any], detected: Any
) -> None:
    answer = read_answer({**result(**lists), "prompt_detected": detected}, topic="Tax")
    assert (answer.triggered, answer.doubtful, answer.note) == (Triggered.NO, False, "")
    stopped = {"injection": True}
    data = {**result(**lists), "category": "malicious", "prompt_detected": stopped}
    assert read_answer(data, topic="Tax").triggered is Triggered.NO
    assert read_answer({**data, "timeout": True}).triggered is Triggered.NO_VERDICT
    assert (
        read_answer({**data, "errors": [error("topic_violation")]}).triggered
        is Triggered.NO_VERDICT
    )


def test_the_other_side() -> None:
    data = result(True, response_detected={"topic_violation": False})
    assert read_answer(data, side="response").triggered is Triggered.NO
    assert read_answer(result(True), side="response").triggered is Triggered.NO_VERDICT


@pytest.mark.parametrize("data", [None, [], "blocked", 1, {}, {"action": "allow"}])
def test_no_scan_result(data: object) -> None:
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
def test_hostile_results_give_a_verdict_only_when_there_is_one(data: dict[str, Any]) -> None:
    answer = read_answer({**result(True), **data})
    if not answer.decided:
        assert answer.problem
    else:
        detected = {**result(True), **data}["prompt_detected"]
        assert answer.topics or detected["topic_violation"] is bool(answer.triggered)
    assert not any(ord(one) < 32 for one in answer.note)


@pytest.mark.parametrize("status", ["complete", "COMPLETED", " Complete "])
def test_rows_that_are_complete(status: str) -> None:
    row = ResultRow.read({"scan_id": ID, "req_id": 3, "status": status})
    assert (row.complete, row.failed) == (True, False)


@pytest.mark.parametrize(("status", "failed"), [("FAILED", True), ("pending", False), ("", False)])
def test_rows_that_are_not(status: str, failed: bool) -> None:
    row = ResultRow.read({"scan_id": ID, "req_id": 3, "status": status})
    assert (row.complete, row.failed) == (False, failed)


@pytest.mark.parametrize("state", ["matched", "MATCHED", "not_matched", "NOT MATCHED"])
def test_a_report(state: str) -> None:
    topics = {"allowed_topic_list": state, "blocked_topic_list": "?", "blockedTopics": ["Tax"]}
    detection = {
        "data_type": "prompt",
        "detection_service": "topic_guardrails",
        "result_detail": {"topic_guardrails_report": topics, "dlp_report": {}},
    }
    report = Report.read({"report_id": f"R{ID}", "detection_results": [{}, detection]})
    found = report.topics()
    assert found is not None
    assert found.matched == (state.lower() == "matched", None)
    assert found.blocked == ("Tax",)
    assert report.topics("response") is None


def test_a_hostile_report_is_told() -> None:
    with pytest.raises(ServiceError, match=r"detection_results"):
        Report.read({"detection_results": 7})
