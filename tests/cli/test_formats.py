"""Forms of reports on the command line: by ending and by name, and findings of `check` as SARIF."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from guardtui.cli.output_options import choose
from guardtui.reports.formats import FORMATS

from .conftest import Run

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json").read_bytes())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.html", "html"),
        ("A.HTM", "html"),
        ("r.md", "md"),
        ("r.json", "json"),
        ("r.airs.json", "airs-json"),
        ("r.brief.json", "brief"),
        ("r.litellm.yaml", "litellm"),
        ("r.csv", "csv"),
        ("results.tsv", "tsv"),
        ("junit.xml", "junit"),
        ("r.junit.xml", "junit"),
        ("r.sarif", "sarif"),
        ("r.sarif.json", "sarif"),
        ("r.txt", "table"),
        ("report", "the default"),
        ("html", "the default"),
        (".json", "json"),
        ("-", "the default"),
    ],
)
def test_the_ending_of_a_file_tells_the_format(name: str, expected: str) -> None:
    (output,) = choose(None, [Path(name)], "the default")
    assert output.format_name == expected


def test_a_switch_of_a_format_is_for_that_format_only(run: Run, folder: Path) -> None:
    command = ["eval", "topic.yaml", "--prompts", "prompts.csv"]
    assert run(*command, "-o", "r.csv", "-o", "r.json", "--excel").code == 0
    assert (folder / "r.csv").read_bytes().startswith("\ufeffline".encode())
    assert (folder / "r.json").read_bytes().startswith(b"{")


COMMANDS = (
    "eval topic.yaml --prompts prompts.csv",
    "eval topic.yaml --prompts prompts.csv --thresholds",
    "refine topic.yaml --prompts prompts.csv --single",
    "check topic.yaml --prompts prompts.csv",
    "audit topic.yaml --prompts topic.yaml=prompts.csv",
    "compare topic.yaml topic.yaml --prompts prompts.csv",
    "score outputs.csv --scorer match()",
)
WITHOUT_FORMATS = (
    "sample",
    "guardrails template judge",
    "guardrails template decision",
    "convert prompts.csv --from lines",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_writes_json_to_a_file_that_ends_so(
    run: Run, folder: Path, command: str
) -> None:
    (folder / "outputs.csv").write_text("input,target,output\nq,a,a\n", "utf-8")
    assert run(*command.split(), "-o", "r.json").out == ""
    assert isinstance(json.loads((folder / "r.json").read_bytes()), dict | list)
    assert run(*command.split(), "-o", "r.txt").out == ""
    with pytest.raises(json.JSONDecodeError):
        json.loads((folder / "r.txt").read_bytes())


@pytest.mark.parametrize("name", ["r.eval", "r.xlsx", "r.xyz", "r.pdf", "R.EVAL"])
@pytest.mark.parametrize("command", [*COMMANDS, *WITHOUT_FORMATS, "export topic.yaml"])
def test_every_command_refuses_an_ending_that_it_cannot_write(
    run: Run, folder: Path, command: str, name: str
) -> None:
    (folder / "outputs.csv").write_text("input,target,output\nq,a,a\n", "utf-8")
    done = run(*command.split(), "-o", name)
    assert (done.code, done.out) == (2, "")
    assert name in done.err
    assert {".txt", ".csv", ".md"} & set(done.err.replace(",", " ").replace(";", " ").split())
    assert not (folder / name).exists()


@pytest.mark.parametrize(
    "words", [["-o", "r.tsv"], ["--format", "tsv"], ["-o", "-", "-o", "r.tsv"]]
)
@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[5]])
def test_one_evaluation_has_no_log_of_iterations(
    run: Run, folder: Path, command: str, words: list[str]
) -> None:
    done = run(*command.split(), *words)
    assert (done.code, done.out) == (2, "")
    assert "'guardtui export TOPIC --format tsv'" in done.err
    assert not (folder / "r.tsv").exists()
    for wrong in (["-o", "r.xyz"], ["--format", "xyz"]):
        assert "tsv" not in run(*command.split(), *wrong).err
    assert run(*command.split(), "--format", "json", "-o", "r.tsv").code == 0  # by its name only


@pytest.mark.parametrize("name", ["r.eval", "r.parquet"])
def test_no_text_is_written_into_a_binary_file_with_a_named_format(
    run: Run, folder: Path, name: str
) -> None:
    done = run(*COMMANDS[0].split(), "--format", "inspect-log", "-o", name)
    assert done.code == 2
    assert f"{name}: {Path(name).suffix} is not the ending of a report, which is a text" in done.err
    assert ".inspect.json" in done.err
    assert not (folder / name).exists()


def test_the_help_names_every_format(run: Run) -> None:
    for command, left_out in (("eval", {"tsv"}), ("export", set[str]())):
        text = re.sub(r"(?<=-)\s+", "", " ".join(run(command, "--help").out.split()))
        named = text.partition("Format of the report: ")[2].partition(".")[0].split(", ")
        assert set(named) == set(FORMATS) - left_out


def test_one_run_writes_the_forms_of_the_endings(run: Run, folder: Path) -> None:
    names = ("r.xml", "r.sarif", "r.airs.json", "r.json", "r.md")
    outputs = [word for name in names for word in ("-o", name)]
    prompts = str(folder / "prompts.csv")  # not relative, and told as relative all the same
    done = run("eval", "topic.yaml", "--prompts", prompts, "--threshold", "0.97", *outputs)
    assert (done.code, done.out) == (0, "")
    root = ET.fromstring((folder / "r.xml").read_bytes())
    assert root.get("tests") == "10"
    assert {suite.get("file") for suite in root} == {"prompts.csv"}
    sarif = json.loads((folder / "r.sarif").read_bytes())
    Draft7Validator(SCHEMA).validate(sarif)
    results = sarif["runs"][0]["results"]
    assert len(results) == int(root.get("failures", "")) > 0
    airs = json.loads((folder / "r.airs.json").read_bytes())
    assert list(airs)[:4] == ["profile", "topic", "intent", "metrics"]
    assert len(airs["false_negatives"]) == len(results)
    paragraphs = (folder / "r.md").read_text("utf-8").split("\n\n")
    assert paragraphs[0].startswith("# Guardrail topic report: `")
    assert " Coverage is " in paragraphs[1]
    lines = (folder / "prompts.csv").read_text("utf-8").splitlines()
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        prompt = result["message"]["text"].rpartition("): ")[2]
        assert prompt in lines[place["region"]["startLine"] - 1]
        assert place["artifactLocation"]["uri"] == "prompts.csv"
