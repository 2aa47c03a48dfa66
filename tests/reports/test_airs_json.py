"""The other tool's JSON: its keys, its order, its zeros, and numbers as JavaScript writes them."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.reports import json_report
from guardtui.reports.airs_json import js_number, write
from guardtui.reports.base import ReportInput

from .conftest import HOSTILE

WHOLE = """\
{
  "profile": "profile|<i>",
  "topic": "Fraud | <b>",
  "intent": "block",
  "metrics": {
    "tp": 2,
    "tn": 2,
    "fp": 1,
    "fn": 2,
    "tpr": 0.5,
    "tnr": 0.6666666666666666,
    "coverage": 0.5,
    "f1": 0.5714285714285715,
    "total": 7
  },
  "false_positives": [
    {
      "prompt": "`` tick ` ``` ticks `",
      "expected": false,
      "actual": true
    }
  ],
  "false_negatives": [
    {
      "prompt": "=HYPERLINK(\\"http://evil.example\\",\\"go\\")",
      "expected": true,
      "actual": false
    },
    {
      "prompt": "[link](javascript:x) ~~a~~ **b** @someone https://evil.example/",
      "expected": true,
      "actual": false
    }
  ]
}
"""


def test_key_for_key_and_digit_for_digit(report: ReportInput) -> None:
    assert write(report) == WHOLE


def test_an_undefined_rate_is_0_and_a_whole_one_has_no_point(
    undefined_report: ReportInput,
) -> None:
    text = write(undefined_report)
    assert '"tpr": 0,\n    "tnr": 1,\n    "coverage": 0,\n    "f1": 0,\n' in text
    assert '"false_positives": [],\n  "false_negatives": []\n}\n' in text


def test_our_json_says_the_same(report: ReportInput, allow_report: ReportInput) -> None:
    for one in (report, allow_report):
        theirs, ours = json.loads(write(one)), json.loads(json_report.write(one))
        assert list(theirs) == [key for key in ours if key in theirs]
        for key in ("profile", "topic", "intent", "metrics"):
            assert theirs[key] == ours[key]
        for key in ("false_positives", "false_negatives"):
            for mistake, told in zip(theirs[key], ours[key], strict=True):
                assert mistake.items() <= told.items()
                assert list(mistake) == ["prompt", "expected", "actual"]


def test_a_prompt_that_is_gone_is_an_empty_text(report: ReportInput) -> None:
    document = json.loads(write(replace(report, prompts=None)))
    assert {one["prompt"] for one in document["false_negatives"]} == {""}


def test_a_text_cannot_pass_for_a_rate(report: ReportInput) -> None:
    odd = report.topic.model_copy(update={"name": 'x\n    "tpr": 1.0,\n'})
    document = json.loads(write(replace(report, topic=odd)))
    assert document["topic"] == odd.name
    assert document["metrics"]["tpr"] == 0.5
    assert HOSTILE[2] == document["false_positives"][0]["prompt"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (2 / 3, "0.6666666666666666"),
        (1e-4, "0.0001"),
        (5e-05, "0.00005"),
        (1 / 30_000, "0.000033333333333333335"),
        (1e-06, "0.000001"),
        (1.5e-07, "1.5e-7"),
        (1e-07, "1e-7"),
        (1e-12, "1e-12"),
    ],
)
def test_numbers_as_javascript_has_them(value: float, text: str) -> None:
    assert js_number(value) == text
    assert float(text) == value


@given(st.floats(0, 1))
def test_a_number_reads_back(value: float) -> None:
    assert float(js_number(value)) == value


@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_writes_the_same_document(report: ReportInput, undefined_report: ReportInput) -> None:
    node = shutil.which("node")
    assert node
    script = (
        "let t='';process.stdin.on('data',d=>t+=d).on('end',()=>"
        "console.log(JSON.stringify(JSON.parse(t),null,2)))"
    )
    for one in (report, undefined_report):
        text = write(one)
        done = subprocess.run([node, "-e", script], input=text.encode(), capture_output=True)
        assert done.stdout.decode() == text


@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_writes_the_same_numbers() -> None:
    node = shutil.which("node")
    assert node
    values = [k / n for n in (3, 7, 97, 30_000, 999_983) for k in range(40)]
    values += [10.0**-k * m for k in range(3, 12) for m in (1, 1.5, 9.99)]
    script = (
        "let t='';process.stdin.on('data',d=>t+=d).on('end',()=>"
        "console.log(JSON.parse(t).map(String).join('\\n')))"
    )
    done = subprocess.run([node, "-e", script], input=json.dumps(values), capture_output=True,
                          text=True)  # fmt: skip
    assert done.stdout.split() == [js_number(value) for value in values]
