"""An evaluation by the word that names it: damaged files are said to be, whatever is in them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardtui.session.evaluation_refs import (
    Mistakes,
    find_baseline,
    find_evaluation,
    is_of_session,
    read_files,
)
from guardtui.session.report_reader import RecordedError
from guardtui.session.session import Decision
from guardtui.session.store import SessionStore
from tests.examples import up_to
from tests.guardrails import airs_settings, judge_settings
from tests.sessions import Scanned

AIRS: dict[str, Any] = {
    "profile": "p",
    "topic": "t",
    "intent": "allow",
    "metrics": {"tp": 3, "tn": 2, "fp": 1, "fn": 1, "tpr": 0.75, "total": 7},
    "false_positives": [{"prompt": "one", "expected": False, "actual": True}],
    "false_negatives": [{"prompt": "two", "expected": True, "actual": False}],
}
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just([]), st.just({})
)
SHARED = settings(
    max_examples=up_to(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def written(folder: Path, document: object) -> Path:
    path = folder / "airs.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_airs_json_is_read_completely(tmp_path: Path) -> None:
    result = find_evaluation(str(written(tmp_path, AIRS)))
    assert isinstance(result, Mistakes)
    assert (result.topic, result.intent.value, result.profile) == ("t", "allow", "p")
    assert (result.false_positives, result.false_negatives) == (("one",), ("two",))
    assert (result.metrics.true_positive_rate, result.metrics.total) == (0.75, 7)
    with pytest.raises(RecordedError, match="cannot be a baseline"):
        find_baseline(str(tmp_path / "airs.json"), tmp_path / "topic.yaml")


@SHARED
@given(data=st.data())
def test_mutated_file_is_read_or_rejected(tmp_path: Path, data: st.DataObject) -> None:
    document = copy.deepcopy(AIRS)
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        if data.draw(st.booleans()) and isinstance(place, dict):
            del place[key]
        else:
            place[key] = data.draw(ODD)
        break
    try:
        result = find_evaluation(str(written(tmp_path, document)))
    except RecordedError as error:
        problem = str(error)
    else:
        problem = ""
    if problem:
        assert problem.startswith(str(tmp_path / "airs.json"))
        assert "\n  " in problem
        return
    assert isinstance(result, Mistakes)
    assert result.metrics.fp == len(result.false_positives)


@pytest.mark.parametrize("word", ["last", "best", "pinned", "0", "12"])
def test_session_words_name_iterations(word: str) -> None:
    assert is_of_session(word)


@pytest.mark.parametrize("word", ["", "last.json", "-1", "1.5", "²", "9" * 20, "kept@1"])
def test_other_words_name_files(word: str) -> None:
    assert not is_of_session(word)


def test_read_files_lists_the_files_of_a_word() -> None:
    assert read_files("a.json") == (Path("a.json"),)
    assert read_files("C:/x/tax.yaml@3") == (Path("C:/x/tax.yaml@3"), Path("C:/x/tax.yaml"))


@pytest.mark.parametrize(
    "word", ["", "@", "@3", "\0", "x" * 5000, "a\ud800.json", "a.yaml@" + "9" * 30]
)
def test_unknown_words_are_rejected(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordedError):
        find_evaluation(word)
    assert list(tmp_path.iterdir()) == []


def test_last_baseline_is_what_the_same_kind_of_guardrail_kept_last(tmp_path: Path) -> None:
    (tmp_path / "topic.yaml").write_text("name: Tax\ndescription: Tax\nexamples: []\n")
    scanned = Scanned(tmp_path)
    for guardrail in (airs_settings(), judge_settings("m")):
        scanned.scan(settings=guardrail)
    store = SessionStore(scanned.topic_path)
    for number in (0, 1):
        store.decide(number, Decision.KEEP)
    found = [find_baseline("last", scanned.topic_path, kind).number for kind in ("airs", "engine")]
    assert found == [0, 1]
