"""`guardtui check`: findings on definitions and prompts, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft7Validator

from guardtui.files.prompt_files import load_prompts

from .conftest import POSITIVE, TOPIC, Run, prompts_csv

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json").read_bytes())


def test_check_of_good_files(run: Run, folder: Path) -> None:
    with (folder / "prompts.csv").open("a", encoding="utf-8") as file:
        file.write("Who invented the income tax return?,false,block,other\n")
    result = run("check", "topic.yaml", "--prompts", "prompts.csv")
    assert (result.code, result.err) == (0, "")
    assert result.out == "nothing is wrong or doubtful\n"


def test_check_lists_everything(run: Run, folder: Path) -> None:
    text = TOPIC.replace("Advice on", "Advice " * 50).replace(
        "  - When is my tax return due?\n", ""
    )
    (folder / "topic.yaml").write_text(text, "utf-8")
    (folder / "prompts.csv").write_text(prompts_csv("allow") + f'"{POSITIVE[0]}",false,allow,x\n')
    result = run("check", "topic.yaml", "--prompts", "prompts.csv", "--format", "json")
    document = json.loads(result.out)
    assert (result.code, result.err) == (2, "")
    codes = [one["code"] for one in document["findings"]]
    assert {"limit.description", "limit.examples"} <= set(codes)
    assert document["errors"] == sum(one["severity"] == "error" for one in document["findings"])
    assert any(2 in one["lines"] and 12 in one["lines"] for one in document["findings"])


def test_check_says_where(run: Run, folder: Path) -> None:
    (folder / "prompts.csv").write_text(prompts_csv() + f'"{POSITIVE[1]}",true,block,tax\n')
    result = run("check", "topic.yaml", "--prompts", "prompts.csv")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("warning: prompts.csv:3: ")
    assert "(lines 3, 12)\n" in result.out
    assert "\n0 errors, 2 warnings\n" in result.out  # all its negatives are far away, too
    assert "Near-duplicates (similarity 0.92 or more): 1 pair, 0 with contradicting" in result.out


def test_check_of_unreadable_labels_exits_2(run: Run, folder: Path) -> None:
    (folder / "prompts.csv").write_text("prompt,expected,intent\nx,maybe,block\n,true,block\n")
    result = run("check", "topic.yaml", "--prompts", "prompts.csv")
    assert (result.code, result.err) == (2, "")
    assert "maybe" in result.out


def test_check_points_out_line_breaks(run: Run, folder: Path) -> None:
    topic = TOPIC.replace("name: Tax advice", 'name: "Tax\\u2028advice"')
    (folder / "topic.yaml").write_text(topic, "utf-8")
    done = run("check", "topic.yaml", "--prompts", "prompts.csv", "--format", "json")
    (found,) = [one for one in json.loads(done.out)["findings"] if "line-break" in one["code"]]
    assert (done.code, found["severity"], found["code"]) == (0, "warning", "line-break.name")
    assert "U+2028" in found["message"]


def test_check_lints_and_measures(run: Run, folder: Path) -> None:
    text = TOPIC.replace("income tax returns", "tax returns, not on baking")
    text = text.replace("When is my tax return due?", "WHO HAS TO FILE A TAX RETURN")
    (folder / "topic.yaml").write_text(text, "utf-8")
    asked = ("check", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")
    result = run(*asked, "--format", "json")
    assert (result.code, result.err) == (0, "")
    results = {one["code"]: one for one in json.loads(result.out)["findings"]}
    assert {"leakage", "lint.exclusion"} <= set(results)
    leak, excluding = results["leakage"], results["lint.exclusion"]
    assert (leak["file"], leak["lines"], leak["severity"]) == ("prompts.csv", [6], "warning")
    assert leak["effect"]["fixes"] is None
    assert excluding["file"] == "topic.yaml"
    assert "“not” (word 7)" in excluding["message"]

    # What the cause does is what `eval` says with it and without it.
    def coverage() -> float:
        evaluated = run("eval", *asked[1:], "--format", "json")
        return float(json.loads(evaluated.out)["metrics"]["coverage"])

    before = coverage()
    (folder / "topic.yaml").write_text(text.replace(", not on baking", ""), "utf-8")
    after = coverage()
    effect = excluding["effect"]
    assert (effect["coverage_before"], effect["coverage_after"]) == (before, after)

    (folder / "topic.yaml").write_text(text, "utf-8")
    table = run(*asked).out
    assert table.count("warning: ") == len(results)
    assert "cut to “Advice on filing personal tax returns”: " in table


def test_check_lints_by_text_where_the_prompts_cannot_be_read(run: Run, folder: Path) -> None:
    (folder / "topic.yaml").write_text(TOPIC.replace("returns", "returns without dates"), "utf-8")
    (folder / "prompts.csv").write_text("prompt,expected,intent\nx,maybe,block\n")
    result = run("check", "topic.yaml", "--prompts", "prompts.csv")
    assert (result.code, result.err) == (2, "")
    assert "“without” (word 8)" in result.out
    assert "n/a" not in result.out  # nothing could be measured, and nothing is told of it


# --- SARIF --------------------------------------------------------------------------------

BAD = """\
# a comment
name: Tax advice
description: Not about stories, except [x](http://e) and {0}
intent: block
examples:
  - How do I deduct my home office?
"""


def test_findings_of_check_as_sarif_at_the_lines_of_the_fields(run: Run, folder: Path) -> None:
    (folder / "topic.yaml").write_text(BAD, "utf-8")
    done = run("check", "topic.yaml", "--format", "sarif")
    assert done.code == 2
    document = json.loads(done.out)
    Draft7Validator(SCHEMA).validate(document)
    (log,) = document["runs"]
    rules = [rule["id"] for rule in log["tool"]["driver"]["rules"]]
    results = {one["ruleId"]: one for one in log["results"]}
    assert set(results) == set(rules)
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in log["results"])
    positions = {
        rule: one["locations"][0]["physicalLocation"]["region"]["startLine"]
        for rule, one in results.items()
    }
    assert positions["limit.examples"] == 5
    assert positions["lint.exclusion"] == 3
    assert results["limit.examples"]["level"] == "error"
    assert results["lint.exclusion"]["level"] == "warning"
    assert "\\[x\\]" in done.out or "[x]" not in done.out


def test_check_as_sarif_points_at_lines_of_prompts(run: Run, folder: Path) -> None:
    text = (folder / "prompts.csv").read_text("utf-8")
    (folder / "prompts.csv").write_text(text + text.splitlines()[1] + "\n", "utf-8")
    done = run(
        "check", "topic.yaml", "--prompts", "prompts.csv", "--format", "sarif", "-o", "c.sarif"
    )
    assert done.code == 0
    document = json.loads((folder / "c.sarif").read_bytes())
    Draft7Validator(SCHEMA).validate(document)
    twice = [one for one in document["runs"][0]["results"] if "duplicate" in one["ruleId"]]
    (one,) = twice
    lines = [
        place["physicalLocation"]["region"]["startLine"]
        for place in (*one["locations"], *one.get("relatedLocations", ()))
    ]
    assert lines == [2, 12]
    assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "prompts.csv"


def test_several_topics_and_a_broken_one(run: Run, folder: Path) -> None:
    (folder / "broken.yaml").write_text("name: [\n", "utf-8")
    done = run("check", "topic.yaml", "broken.yaml", "--format", "sarif")
    assert done.code == 2
    document = json.loads(done.out)
    Draft7Validator(SCHEMA).validate(document)
    (one,) = [one for one in document["runs"][0]["results"] if one["ruleId"] == "file"]
    place = one["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "broken.yaml"
    assert place["region"]["startLine"] >= 1


# --- near misses and languages ------------------------------------------------------------

FAR = ("How do I make onion soup?", "Who won the world cup?", "Why do cats purr at night?")
NEAR = "When was the income tax return invented?"


@pytest.fixture
def misses(folder: Path) -> None:
    """Prompts whose negatives are far from the topic, and a set with a near one."""
    rows = [f"How do I file my {thing} tax return?,true,block" for thing in ("first", "late", "UK")]
    rows += [f"{text},false,block" for text in FAR]
    text = "\n".join(["prompt,expected,intent", *rows, ""])
    (folder / "far.csv").write_text(text, "utf-8")
    (folder / "near.csv").write_text(f"{text}{NEAR},false,block\n", "utf-8")


def check(run: Run, prompts: str, *arguments: str) -> tuple[int, str]:
    words = ("check", "topic.yaml", "--prompts", prompts, "--set", "encoder=static")
    done = run(*words, *arguments)
    return done.code, done.out


def test_the_table_names_the_nearest_with_their_lines(run: Run, misses: None) -> None:
    code, out = check(run, "far.csv")
    assert code == 0
    line = next(line for line in out.splitlines() if "no near misses" in line)
    assert line.startswith("warning: far.csv:5")
    assert "none of 3 prompts that do not belong" in line
    assert "TNR is flattered" in line
    assert "“Who won the world cup?”" in line
    assert check(run, "far.csv", "--strict")[0] == 1


def test_json_and_sarif_have_it(run: Run, misses: None) -> None:
    findings = json.loads(check(run, "far.csv", "--format", "json")[1])["findings"]
    (found,) = [one for one in findings if one["code"] == "no-near-misses"]
    assert (found["file"], found["severity"], found["lines"]) == ("far.csv", "warning", [5, 6, 7])
    (log,) = json.loads(check(run, "far.csv", "--format", "sarif")[1])["runs"]
    (result,) = [one for one in log["results"] if one["ruleId"] == "no-near-misses"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "far.csv"
    assert place["region"]["startLine"] == 5
    (rule,) = [one for one in log["tool"]["driver"]["rules"] if one["id"] == "no-near-misses"]
    assert "another intent" in rule["help"]["text"]


def test_a_set_with_a_near_miss_has_no_finding(run: Run, misses: None) -> None:
    assert "no near misses" not in check(run, "near.csv")[1]


@pytest.fixture
def mixed(folder: Path, misses: None) -> str:
    text = (folder / "near.csv").read_text("utf-8")
    rows = "मैं इस साल कम आयकर कैसे दे सकता हूँ?,true,block\n我今年怎样才能少交所得税？,true,block\n"
    (folder / "mixed.csv").write_text(text + rows, "utf-8")
    return "mixed.csv"


def test_they_are_counted_and_their_lines_named(run: Run, mixed: str) -> None:
    code, out = check(run, mixed)
    assert code == 0
    line = next(line for line in out.splitlines() if "has not learnt" in line)
    assert line.startswith("warning: mixed.csv:9")
    assert "2 prompts are in languages" in line
    assert "Hindi 1" in line
    assert "Chinese 1" in line


def test_json_has_them_and_english_sets_have_none(run: Run, folder: Path, mixed: str) -> None:
    findings = json.loads(check(run, mixed, "--format", "json")[1])["findings"]
    (found,) = [one for one in findings if one["code"] == "unknown-language"]
    assert (found["severity"], found["lines"]) == ("warning", [9, 10])
    assert NEAR in (folder / "near.csv").read_text("utf-8")
    plain = json.loads(check(run, "near.csv", "--format", "json")[1])["findings"]
    assert "unknown-language" not in {one["code"] for one in plain}


# --- near-duplicates, and what to label next ----------------------------------------------

SURVEYED = """\
name: Tax advice
description: Personal tax advice
examples:
  - How can I pay less tax?
  - Can I deduct my home office?
"""
MATTERS = {
    "how can i deduct my {} from my income tax": True,
    "give me a recipe\x1b[31m for {} soup with onions": False,
    "book a cheap flight with {} to Rome": False,
}


def surveyed(run: Run, *words: str) -> str:
    return run("check", *words).out


@pytest.fixture
def files(folder: Path) -> list[str]:
    things = ("car", "shoes", "camera", "dog", "house", "bike")
    rows = [
        f'"{sentence.format(thing)}",{str(label).lower()},block'
        for sentence, label in MATTERS.items()
        for thing in things
    ]
    rows.append("How can I deduct my CAR from my income tax?,false,block")
    (folder / "tax.yaml").write_text(SURVEYED, "utf-8")
    (folder / "tax.csv").write_text("\n".join(["prompt,expected,intent", *rows]), "utf-8")
    return [str(folder / "tax.yaml"), "--prompts", str(folder / "tax.csv")]


def test_the_json_has_every_pair_and_every_suggestion(run: Run, files: list[str]) -> None:
    result = json.loads(surveyed(run, *files, "--format", "json"))
    pairs = result["near_duplicates"]
    assert (pairs["contradicting"], pairs["exact"], pairs["compared"]) == (1, True, 19)
    first = pairs["pairs"][0]
    assert first["contradicts"] is True
    assert {first["first"]["line"], first["second"]["line"]} == {2, 20}
    assert pairs["total"] == len(pairs["pairs"])
    prompts = load_prompts(Path(files[2]))
    lines = set(prompts.frame["line"].to_list())
    for spot in result["label_next"]:
        assert {prompt["line"] for prompt in spot["prompts"]} <= lines
    scores = np.array([spot["score"] for spot in result["label_next"]])
    assert (np.diff(scores) <= 0).all()


def test_the_table_says_the_same_and_is_inert(run: Run, files: list[str]) -> None:
    Path(files[2]).write_text(
        Path(files[2]).read_text("utf-8")
        + "\nGive me a recipe\x1b[31m for CAR soup with onions,true,block\n",
        "utf-8",
    )
    text = surveyed(run, *files)
    result = json.loads(surveyed(run, *files, "--format", "json"))
    assert "\x1b" not in text
    assert "recipe␛[31m" in text
    total = result["near_duplicates"]["total"]
    assert total >= 2
    assert (
        f"Near-duplicates (similarity 0.92 or more): {total} pairs, 2 with contradicting labels."
    ) in text
    assert text.count("\n  contradicting labels, similarity 0.") == 2
    assert ("label next" in text) == bool(result["label_next"])


def test_the_survey_is_that_of_the_wanted_engine(run: Run, files: list[str]) -> None:
    found = [
        json.loads(surveyed(run, *files, "--format", "json", *options))["near_duplicates"]["pairs"]
        for options in ((), ("--set", "encoder=static"))
    ]
    assert [pair["cosine"] for pair in found[0]] != [pair["cosine"] for pair in found[1]]


def test_without_near_duplicates_and_doubts_nothing_is_added(run: Run, files: list[str]) -> None:
    rows = ["How can I pay less tax on my car?,true,block", "Book a flight to Rome,false,block"]
    Path(files[2]).write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    text = surveyed(run, *files)
    assert "near-duplicates" not in text
    assert "label next" not in text


@pytest.mark.parametrize("form", ["table", "json"])
def test_invalid_prompts_have_no_survey(run: Run, files: list[str], form: str) -> None:
    Path(files[2]).write_text("prompt,expected,intent\none,maybe,block\n", "utf-8")
    text = surveyed(run, *files, "--format", form)
    assert "maybe" in text
    assert "near_duplicates" not in text
    Path(files[2]).write_text("prompt,expected,intent\none,true,allow\ntwo,false,allow\n", "utf-8")
    Path(files[0]).write_text(SURVEYED + "intent: block\n", "utf-8")
    text = surveyed(run, *files, "--format", form)
    assert "make the two agree" in text
    assert "near_duplicates" not in text
