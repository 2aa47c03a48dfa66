"""A JSON report read back as a baseline: whole, or said to be damaged."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.reports import json_report
from guardtui.reports.base import ReportInput
from guardtui.session.report_reader import RecordedError
from tests.examples import up_to
from tests.reports.reading_back import evaluation_from_report

SHARED = settings(
    max_examples=up_to(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([10**400, 1e39, -1, 2, "example 99999", "example 0", "example -5", "\ud800"]),
    st.text(max_size=9),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    results = []
    for key, one in inner:
        results.append((*path, key))
        if isinstance(one, dict | list):
            results += places(one, (*path, key))
    return results


def accept_or_refuse(path: Path, report: ReportInput) -> None:
    """Read the file back; what is accepted can be compared with, and only RecordedError comes."""
    try:
        evaluation = evaluation_from_report(path)
    except RecordedError:
        return
    assert isinstance(evaluation, Evaluation)
    scores = evaluation.verdicts.score
    assert (np.isnan(scores) | ((scores >= 0) & (scores <= 1))).all()
    assert (evaluation.verdicts.matched <= len(evaluation.topic.examples)).all()
    json_report.write(
        ReportInput(
            report.topic,
            report.evaluation,
            report.prompts,
            baseline=evaluation,
            comparison=compare(evaluation, report.evaluation),
        )
    )


def test_notes_topics_and_reasons_are_read(told_report: ReportInput, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json_report.write(told_report), "utf-8")
    found, written = evaluation_from_report(path).verdicts, told_report.evaluation.verdicts
    assert found.errors == written.errors
    assert found.notes == written.notes
    assert found.stopped_by == written.stopped_by


def test_a_report_of_before_is_read(told_report: ReportInput, tmp_path: Path) -> None:
    document = json.loads(json_report.write(told_report))
    for row in document["results"]:
        for key in ("error", "note", "stopped_by"):
            row.pop(key, None)
    for key in ("companions", "coverage_bounds"):
        del document[key]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document), "utf-8")
    evaluation = evaluation_from_report(path)
    assert evaluation.codes.tolist() == told_report.evaluation.codes.tolist()
    assert not evaluation.verdicts.stopped_by


@SHARED
@given(data=st.data(), value=ODD)
def test_an_odd_value_anywhere(
    told_report: ReportInput, tmp_path: Path, data: st.DataObject, value: object
) -> None:
    report = told_report
    document = json.loads(json_report.write(report))
    way = data.draw(st.sampled_from(places(document)))
    changed = copy.deepcopy(document)
    inner = changed
    for key in way[:-1]:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[way[-1]] = value
    else:
        del inner[way[-1]]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(changed), "utf-8")
    accept_or_refuse(path, report)


@SHARED
@given(
    start=st.floats(0, 1),
    length=st.integers(0, 50),
    put=st.one_of(st.binary(max_size=9), st.sampled_from([b"1e400", b"NaN", b"-", b"9" * 5000])),
)
def test_a_piece_replaced_anywhere(
    report: ReportInput, tmp_path: Path, start: float, length: int, put: bytes
) -> None:
    content = json_report.write(report).encode()
    place = int(start * len(content))
    path = tmp_path / "r.json"
    path.write_bytes(content[:place] + put + content[place + length :])
    accept_or_refuse(path, report)


@pytest.mark.parametrize(
    ("key", "value"),
    [("score", x) for x in ("1e400", "NaN", "1e39", "-0.1", "true", '"1"')]
    + [("matched", x) for x in ('"example 9"', '"example 0"', '"example -5"', '"foo"', "1", "[]")]
    + [("threshold", x) for x in ("NaN", "1e999", '"0.5"', "true", "2")]
    + [
        ("prompt_set_fingerprint", "7"),
        ("kind", "null"),
        ("revision", "7"),
        ("schema_version", "true"),
    ],
)
def test_values_that_no_report_has(
    report: ReportInput, tmp_path: Path, key: str, value: str
) -> None:
    lines = json_report.write(report).splitlines()
    changed = []
    for line in lines:
        before, found, after = line.partition(f'"{key}": ')
        if found:
            _, end = json.JSONDecoder().raw_decode(after)
            line = before + found + value + after[end:]
        changed.append(line)
    path = tmp_path / "r.json"
    path.write_text("\n".join(changed), "utf-8")
    assert changed != lines
    with pytest.raises(RecordedError, match=r"is damaged or was edited|has schema_version"):
        evaluation_from_report(path)


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    for path in (Path("/dev/zero"), tmp_path, tmp_path / "gone"):
        with pytest.raises(RecordedError, match="give a JSON report, the number of an iteration"):
            evaluation_from_report(path)
