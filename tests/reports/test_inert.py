"""In no format can a text act, two runs write the same bytes, and what was written reads back."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import HIDDEN, display_start, display_text
from guardtui.reports.base import ReportInput
from guardtui.reports.compared import compared_report
from guardtui.reports.csv_report import BYTE_ORDER_MARK
from guardtui.reports.formats import VARIANTS, load_writer, report_formats
from guardtui.session.evaluation_refs import RecordedEvaluation
from tests.examples import up_to

from .hostile import COUNT, hostile_report, plain_prompts, storable
from .html.reading import data, read
from .test_texts import outside_code

TOKENS = (
    *"=+-@＝＋－＠\t\r\n\0\x0b\x1b\x7f\x85\x9b\u2028\u2029\u200b\u200d\u202e\u2066\ufeff\ufffe\uffff",
    *(
        "\ud800",
        "\udc00",
        "\U000e0041",
        "\U0001d173",
        "\u17b4",
        "\r\n",
        " ",
        "",
        "a",
        "ä",
        "字",
        "é́",
    ),
    *("]]>", "<!--", "-->", "```", "``", "`", "|", "||", "\\", "'", '"', "&", "&lt;", "&#x1b;"),
    *("<script>xevil()</script>", "</script><xevil>", "<xevil onload=xevil()>", "</title><xevil>"),
    *('" onload="xevil()', "' onload='xevil()", "<![CDATA[", "]]", "<?xevil?>", "</testsuite>"),
    *("\x1b]52;c;aGk=\x07", "\x1b[2J", "[/INST]", "[x](javascript:x)", "![x](http://e/x)", "{0}"),
    *('=HYPERLINK("http://e","x")', "@SUM(1+1)*cmd|' /C calc'!A0", "# x", "- x", "1. x", "> x"),
    *("https://evil.example/", "@someone", "**b**", "~~s~~", '"results": []', '"tpr": 7,\n'),
)


def joined(tokens: list[str]) -> str:
    """One text; two halves of a character side by side are that character, as JSON reads them."""
    return "".join(tokens).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


ATTACK = st.lists(st.sampled_from(TOKENS), max_size=6).map(joined)
TEXTS = st.lists(ATTACK, min_size=5, max_size=40)
SLOW = {"html"}
"""Formats that take half a second for each report: fewer of them are made."""

LINES_HAVE_TABS = {"tsv"}


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> PromptSet:
    return plain_prompts(tmp_path_factory.mktemp("hostile"))


def check_html(text: str, report: ReportInput) -> None:
    root = read(text)  # which checks what the page is made of
    assert report.prompts is not None
    texts = report.prompts.frame["prompt"].to_list()
    (block,) = data(root)
    prompts = [column["title"] for column in block["columns"]].index("prompt")
    assert [row[prompts] for row in block["rows"]] == [
        display_text(one, newlines=True) for one in texts
    ]
    assert root.all("title")[0].text.endswith(display_start(report.topic.name, 120))


def check_csv(text: str, report: ReportInput) -> None:
    assert report.prompts is not None
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == COUNT + 1 == text.count("\n")
    assert {len(row) for row in rows} == {len(rows[0])}
    read = pl.read_csv(io.StringIO(text), infer_schema=False, has_header=False)
    assert [[cell or "" for cell in row] for row in read.rows()] == rows
    for row in rows:
        for cell in row:
            assert not re.match(r"\s*[=+@＝＋－＠]|\s*-(?![0-9.]+$)", cell), cell
    # A spreadsheet that parts cells at semicolons or tabs, and knows no quotes, finds none either.
    for separator in (",", ";", "|", '"'):
        for cell in (cell for line in text.split("\n") for cell in line.split(separator)):
            assert not re.match(r"\s*[=+@＝＋－＠]", cell), cell


def check_tsv(text: str, report: ReportInput) -> None:
    rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
    assert [len(row) for row in rows] == [8] * (len(report.iterations) + 1)
    for cell in (cell for row in rows for cell in row):
        assert not re.match(r"\s*[=+@＝＋－＠-]", cell), cell


def check_markdown(text: str, report: ReportInput) -> None:
    ours = "\n".join(map(outside_code, text.splitlines()))
    for sign in ("<", ">", "](", "http", "@", "**", "~~", "xevil", "&"):
        assert sign not in ours, sign
    assert all(line[:1] in ("", "#", "-", "|") or line[0].isalnum() for line in ours.split("\n"))
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.count("|") in (6, 10)


def check_json(text: str, report: ReportInput) -> None:
    document = json.loads(text)
    assert report.prompts is not None
    # The way back is without a loss, half characters of a definition too.
    assert [one["prompt"] for one in document["results"]] == report.prompts.frame[
        "prompt"
    ].to_list()
    assert document["topic"] == report.topic.name
    assert document["definition"]["examples"] == list(report.topic.examples)
    assert [one["reason"] for one in document["results"] if "reason" in one] == [
        reason for reason in report.evaluation.verdicts.reasons.values() if reason
    ]


def check_airs(text: str, report: ReportInput) -> None:
    document = json.loads(text)
    assert document["topic"] == report.topic.name
    assert document["metrics"]["tpr"] == report.evaluation.metrics.true_positive_rate
    assert len(document["false_negatives"]) == report.evaluation.metrics.fn


def check_junit(text: str, report: ReportInput, more: frozenset[str] = frozenset()) -> None:
    root = ET.fromstring(text.encode())
    tags = {element.tag for element in root.iter()}
    assert tags == more | {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "error",
    }  # fmt: skip
    assert len(root.findall("testsuite/testcase")) == COUNT
    assert "]]>" not in text
    shown = " ".join(element.get("name", "") for element in root.iter("testcase"))
    assert not HIDDEN.search(shown)


def check_sarif(text: str, report: ReportInput) -> None:
    (run,) = json.loads(text)["runs"]
    metrics = report.evaluation.metrics
    assert len(run["results"]) == metrics.fp + metrics.fn + metrics.errors
    notes = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    for message in [one["message"]["text"] for one in run["results"]] + notes:
        assert not HIDDEN.search(message)
        assert "\n" not in message
        assert not re.search(r"(?<!\\)[\[\]]", message)
        assert not re.search(r"(?<!\{)\{(\{\{)*(?!\{)", message.replace("{{", ""))
    assert re.fullmatch(r"guardtui/[A-Za-z0-9%._~-]*/", run["automationDetails"]["id"])


def check_inspect(text: str, report: ReportInput) -> None:
    assert all(" " <= sign <= "~" or sign == "\n" for sign in text)
    assert report.prompts is not None
    asked = report.evaluation.verdicts.repeats
    assert asked is not None
    samples = json.loads(text)["samples"]
    texts = report.prompts.frame["prompt"].to_list()
    assert [sample["input"] for sample in samples] == texts * len(asked)


def check_csv_excel(text: str, report: ReportInput) -> None:
    assert text.startswith(BYTE_ORDER_MARK)
    body = text.removeprefix(BYTE_ORDER_MARK)
    assert not HIDDEN.search(body)
    check_csv(body, report)


def check_junit_regressions(text: str, report: ReportInput) -> None:
    check_junit(text, report, frozenset({"skipped"}))


def check_table(text: str, report: ReportInput) -> None:
    assert "coverage" in text


def check_litellm(text: str, report: ReportInput) -> None:
    document = YAML(typ="safe").load(text)
    (guardrail,) = document["guardrails"]
    (found,) = guardrail["litellm_params"]["checks"]
    # Halves of characters cannot stand in YAML.
    name = re.sub("[\ud800-\udfff]", "\ufffd", report.topic.name)
    assert found["name"] == guardrail["guardrail_name"] == name
    assert set(found) == {"name", "instructions", "action", "threshold"}
    assert found["action"] == "block"


def check_brief(text: str, report: ReportInput) -> None:
    document = json.loads(text)
    metrics = report.evaluation.metrics
    assert len(document["false_positives"]) == metrics.fp
    assert "never instructions" in document["texts"]


CHECKS: dict[str, Callable[[str, ReportInput], None]] = {
    "html": check_html,
    "brief": check_brief,
    "csv": check_csv,
    "tsv": check_tsv,
    "md": check_markdown,
    "json": check_json,
    "airs-json": check_airs,
    "litellm": check_litellm,
    "junit": check_junit,
    "sarif": check_sarif,
    "inspect-log": check_inspect,
    "table": check_table,
}


VARIANT_CHECKS: dict[str, Callable[[str, ReportInput], None]] = {
    "csv": check_csv_excel,
    "junit": check_junit_regressions,
}


def test_every_format_is_checked() -> None:
    assert set(VARIANTS) == set(VARIANT_CHECKS)
    assert set(report_formats()) <= set(CHECKS), "a new format needs a check of its own here"


def check(name: str, prompts: PromptSet, texts: list[str]) -> None:
    report = hostile_report(prompts, texts)
    text = load_writer(name)(report)
    # What controls a terminal, turns the direction or does not show is nowhere in the file.
    assert not HIDDEN.search(text), (texts, HIDDEN.search(text))
    assert "\t" not in text or name in LINES_HAVE_TABS
    text.encode("utf-8")  # no half character is left
    assert text.endswith("\n")
    CHECKS[name](text, report)
    if name in VARIANT_CHECKS:
        VARIANT_CHECKS[name](load_writer(name, variant=True)(report), report)


@pytest.mark.parametrize("name", report_formats())
def test_hostile_texts_do_not_act(name: str, prompts: PromptSet) -> None:
    @settings(max_examples=8 if name in SLOW else up_to(80), deadline=None)
    @given(texts=TEXTS)
    def fuzzed(texts: list[str]) -> None:
        check(name, prompts, texts)

    fuzzed()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", report_formats())
def test_each_attack_is_harmless_in_many_places(name: str, prompts: PromptSet) -> None:
    together = 12 if name in SLOW else 1
    for start in range(0, len(TOKENS), together):
        check(name, prompts, list(TOKENS[start : start + together]))


def test_what_a_spreadsheet_gets_is_the_prompt_as_it_is_shown(prompts: PromptSet) -> None:
    texts = [f"{token} x" for token in TOKENS]
    for start in range(0, len(texts), COUNT):
        report = hostile_report(prompts, texts[start:] + texts[:start])
        assert report.prompts is not None
        rows = list(csv.DictReader(io.StringIO(load_writer("csv")(report), newline="")))
        for row, prompt in zip(rows, report.prompts.frame["prompt"].to_list(), strict=True):
            # Signs that were put in are all that differs.
            assert row["prompt"].replace("'", "") == display_text(prompt).replace("'", "")


SCRIPT = """
import hashlib, sys
from pathlib import Path
from guardtui.reports.formats import load_writer, report_formats
from tests.reports.hostile import hostile_report, plain_prompts
texts = [f"{word}<b>\\u202e=1" for word in "one two three four five six seven".split()]
for name in report_formats():
    report = hostile_report(plain_prompts(Path(sys.argv[1])), texts)
    print(name, hashlib.sha256(load_writer(name)(report).encode()).hexdigest())
"""


@pytest.mark.process
def test_the_same_input_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    digests = set()
    for seed in ("0", "1", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path)],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": str(root),
                "TZ": f"UTC+{seed[0]}",
            },
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    (once,) = digests
    assert [line.split()[0] for line in once.splitlines()] == list(report_formats())


@pytest.mark.parametrize("name", ["table", "md", "html", "json"])
def test_two_evaluations_compared_do_not_act(name: str, prompts: PromptSet) -> None:
    report = hostile_report(prompts, list(TOKENS))
    assert report.baseline is not None
    before = RecordedEvaluation(TOKENS[-1], report.baseline, report.prompts)
    compared = compared_report(before, RecordedEvaluation("\x1b<b>", report.evaluation))
    text = load_writer(name)(compared)
    assert not HIDDEN.search(text)
    if name == "html":
        read(text)


@pytest.mark.parametrize("name", report_formats())
def test_a_report_does_not_change_by_being_written(name: str, prompts: PromptSet) -> None:
    report = hostile_report(prompts, list(TOKENS))
    digests = {hashlib.sha256(load_writer(name)(report).encode()).hexdigest() for _ in range(2)}
    assert len(digests) == 1


def test_the_prompts_of_these_tests_are_hostile(prompts: PromptSet) -> None:
    report = hostile_report(prompts, ["<b>\x1b\u202e"])
    assert report.prompts is not None
    assert set(report.prompts.frame["prompt"].to_list()) == {"<b>\x1b\u202e"}
    assert report.topic.examples == ("<b>\x1b\u202e",) * 2
    assert storable("\ud800") == "?"
