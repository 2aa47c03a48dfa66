"""`guardtui audit` as its user runs it: what is found, told and refused; gates."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import NEGATIVE, POSITIVE, Run

AUDIT = ("audit", "--set", "encoder=static")
BREAD, HOME = NEGATIVE[0], POSITIVE[2]


def topic(folder: Path, stem: str, name: str, text: str, intent: str = "block") -> str:
    """A topic file that is about one text."""
    (folder / f"{stem}.yaml").write_text(
        f"name: '{name}'\ndescription: {text}\nexamples: ['{text}', '{text}']\nintent: {intent}\n",
        "utf-8",
    )
    return f"{stem}.yaml"


def prompts(folder: Path, name: str, rows: list[tuple[str, bool]], intent: str = "block") -> str:
    with (folder / name).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["prompt", "expected", "intent"])
        writer.writerows((text, str(label).lower(), intent) for text, label in rows)
    return name


@pytest.fixture
def profile(folder: Path) -> Path:
    """Tax with its prompts beside it, and baking, which stops one of them."""
    (folder / "topic.yaml").rename(folder / "tax.yaml")
    (folder / "prompts.csv").rename(folder / "tax.csv")
    topic(folder, "baking", "Baking", BREAD)
    prompts(folder, "baking.csv", [("How do I bake a loaf of bread?", True), ("Hello", False)])
    return folder


def document(text: str) -> dict[str, Any]:
    result = json.loads(text)
    assert (result["schema_version"], result["kind"]) == (1, "audit")
    return dict(result)


def test_prompts_beside_the_topics_are_found(run: Run, profile: Path) -> None:
    done = run(*AUDIT, "tax.yaml", "baking.yaml", "--format", "json")
    assert (done.code, done.err) == (0, "")
    result = document(done.out)
    assert [one["prompt_file"] for one in result["topics"]] == ["tax.csv", "baking.csv"]
    alone = run(
        "eval", "tax.yaml", "--prompts", "tax.csv", "--set", "encoder=static", "--format", "json"
    )
    metrics, tax = json.loads(alone.out)["metrics"], result["topics"][0]["alone"]["counts"]
    assert {name: tax[name] for name in ("tp", "fn", "fp", "tn")} == {
        name: metrics[name] for name in ("tp", "fn", "fp", "tn")
    }
    (conflict,) = [one for one in result["conflicts"] if one["kind"] == "stopped_by_another"]
    assert (conflict["first"], conflict["second"]) == ("Tax advice", "Baking")
    assert [result["results"][row]["prompt"] for row in conflict["results"]] == [BREAD]
    row = result["results"][conflict["results"][0]]
    assert row["stopped_by"] == ["Baking"]
    assert (row["outcome"], row["undecided"], row["should_stop"]) == ("FP", True, False)
    assert row["places"] == ["tax.csv:7"]
    assert run(*AUDIT, "tax.yaml", "baking.yaml", "--format", "json").out == done.out


def test_the_other_ones_label_ends_the_conflict(run: Run, profile: Path) -> None:
    rows = [("How do I bake a loaf of bread?", True), ("Hello", False), (BREAD, True)]
    prompts(profile, "baking.csv", rows)
    result = document(run(*AUDIT, "tax.yaml", "baking.yaml", "--format", "json").out)
    assert result["conflict_count"] == 0
    (row,) = [one for one in result["results"] if one["prompt"] == BREAD]
    assert row["expected_labels"] == {"Tax advice": False, "Baking": True}
    assert (row["outcome"], row["places"]) == ("TP", ["tax.csv:7", "baking.csv:4"])


def test_every_way_to_name_them_gives_the_same(run: Run, profile: Path) -> None:
    base = run(*AUDIT, "baking.yaml", "tax.yaml", "--format", "json")
    assert run(*AUDIT, ".", "--format", "json").out == base.out
    (profile / "profile.yml").write_text(
        "name: bank\ntopics:\n  - topic: baking.yaml\n    prompts: baking.csv\n  - tax.yaml\n",
        "utf-8",
    )
    for word in ("profile.yml", "."):
        result = document(run(*AUDIT, word, "--format", "json").out)
        assert result.pop("profile") == "bank"
        assert result == {k: v for k, v in document(base.out).items() if k != "profile"}
    (profile / "tax.csv").rename(profile / "other.csv")
    result = document(
        run(*AUDIT, "baking.yaml", "tax.yaml", "--prompts", "tax=other.csv", "--format", "json").out
    )
    assert result["composite"] == document(base.out)["composite"]
    rows: list[dict[str, str]] = []
    for name, file in (("Tax advice", "other.csv"), ("baking", "baking.csv")):
        with (profile / file).open(newline="", encoding="utf-8") as stream:
            rows += [{"topic": name, **row} for row in csv.DictReader(stream)]
    with (profile / "all.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["topic", "prompt", "expected"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    shared = run(*AUDIT, "baking.yaml", "tax.yaml", "--prompts", "all.csv", "--format", "json")
    assert shared.code == 0
    assert document(shared.out)["composite"] == document(base.out)["composite"]


def test_the_prompts_used_last_in_the_app_go_before_those_beside(run: Run, profile: Path) -> None:
    from guardtui.session.store import SessionStore

    prompts(profile, "used.csv", [(HOME, True), ("Hello", False)])
    SessionStore(profile / "tax.yaml").use_prompt_file(str(profile / "used.csv"))
    result = document(run(*AUDIT, "tax.yaml", "baking.yaml", "--format", "json").out)
    assert result["topics"][0]["prompts"] == 2


def test_a_topic_without_prompts_takes_part(run: Run, profile: Path) -> None:
    (profile / "baking.csv").unlink()
    done = run(*AUDIT, "tax.yaml", "baking.yaml", "--format", "json")
    assert done.code == 0
    assert "baking.yaml: no prompt set, so" in done.err
    result = document(done.out)
    assert result["topics"][1]["alone"]["rates"]["coverage"] is None
    assert result["conflict_count"] == 1
    (profile / "tax.csv").unlink()
    none = run(*AUDIT, "tax.yaml", "baking.yaml")
    assert (none.code, none.out) == (2, "")
    assert "--prompts tax=FILE" in none.err


def test_an_allow_topic_and_the_default(run: Run, profile: Path) -> None:
    topic(profile, "home", "Home office", HOME, "allow")
    prompts(profile, "home.csv", [(HOME, True), ("Hello", False)], "allow")
    opened = run(*AUDIT, "tax.yaml", "home.yaml", "--default", "allow", "--format", "json")
    result = document(opened.out)
    (row,) = [one for one in result["results"] if one["prompt"] == HOME]
    assert row["stopped"] is False
    assert (row["outcome"], row["should_stop"]) == ("contradictory", None)
    assert {one["kind"] for one in result["conflicts"]} >= {"matched_by_both", "labels_contradict"}
    closed = run(*AUDIT, "tax.yaml", "home.yaml")
    assert "what no topic matches is stopped" in closed.out
    assert "block topics change no verdict here" in closed.out


@pytest.mark.parametrize(
    ("gate", "code", "told"),
    [
        (("--max-conflicts", "1"), 0, "gate passed: 1 conflict, at most 1 allowed"),
        (("--max-conflicts", "0"), 1, "gate failed: 1 conflict, at most 0 allowed"),
        (("--min-coverage", "1"), 1, "gate failed: coverage of the profile "),
        (("--min-coverage", "0.1"), 0, "gate passed: coverage of the profile "),
        (("--min-topic-coverage", "1"), 0, "gate passed: coverage of Baking 1.000"),
        (
            ("--min-topic-coverage", "1", "--threshold", "0.999"),
            1,
            "gate failed: coverage of Tax advice 0.000 is below 1",
        ),
    ],
)
def test_gates(run: Run, profile: Path, gate: tuple[str, ...], code: int, told: str) -> None:
    done = run(*AUDIT, "tax.yaml", "baking.yaml", *gate)
    assert done.code == code
    assert told in done.err
    assert done.out


def test_all_errors_of_the_input_are_reported_together_and_nothing_is_written(
    run: Run, profile: Path
) -> None:
    (profile / "broken.yaml").write_text("name: [", "utf-8")
    prompts(profile, "bad.csv", [("", True)])
    named = ("--prompts", "baking=bad.csv", "--prompts", "nobody=tax.csv", "-o", "out.json")
    done = run(*AUDIT, "tax.yaml", "baking.yaml", "broken.yaml", "gone.yaml", "tax.yaml", *named)
    assert (done.code, done.out) == (2, "")
    for told in (
        "broken.yaml:1: ",
        "gone.yaml: no such file",
        "tax.yaml: this topic file is in the profile already",
        "bad.csv:2: empty prompt",
        "--prompts nobody=…: no such topic in this audit",
    ):
        assert told in done.err
    assert not (profile / "out.json").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("topics: []\n", "profile.yaml:1: topics is not a list"),
        ("topics:\n- tax.yaml\n- 7\n", "profile.yaml:3: not a valid file name"),
        ("topics:\n- tax.yaml\ndefault: maybe\n", "profile.yaml:3: default is 'maybe'"),
        ("topics:\n- {topic: tax.yaml, prompt: x}\n", "profile.yaml:2: unknown key 'prompt'"),
        ("topic: 1\ntopics:\n- tax.yaml\n", "profile.yaml:1: unknown key 'topic'"),
        ("topics:\n- {prompts: tax.csv}\n", "profile.yaml:2: this entry names no topic file"),
        ("topics:\n- gone.yaml\n", "gone.yaml: no such file"),
        ("topics: [\n", "profile.yaml:2: "),
    ],
)
def test_an_invalid_profile_file_is_rejected(run: Run, profile: Path, text: str, told: str) -> None:
    (profile / "profile.yaml").write_text(text, "utf-8")
    done = run(*AUDIT, "profile.yaml")
    assert (done.code, done.out) == (2, "")
    assert told in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prompt,expected\nhello,true\n", "all.csv:1: the column topic is missing"),
        ("topic,prompt,expected\ntax,hello,true\n,bye,false\n", "all.csv:3: the row has no"),
        (
            "topic,prompt,expected\ntax,hello,true\ntax,bye,false\nsmell,x,true\n",
            "all.csv:4: rows name topics that are not in this audit: 'smell'",
        ),
        ("topic,prompt,expected\ntax,hello,maybe\ntax,bye,false\n", "all.csv:2: "),
        ("topic,prompt,expected\ntax,hello,true\n", "in the rows of topic 'tax'"),
    ],
)
def test_an_invalid_shared_prompt_set_is_rejected(
    run: Run, profile: Path, text: str, told: str
) -> None:
    (profile / "all.csv").write_text(text, "utf-8")
    done = run(*AUDIT, "tax.yaml", "baking.yaml", "--prompts", "all.csv")
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_names_and_intents_must_fit(run: Run, profile: Path) -> None:
    topic(profile, "same", "Baking", HOME)
    done = run(*AUDIT, "baking.yaml", "same.yaml")
    assert "another topic is called 'Baking' already: baking.yaml" in done.err
    prompts(profile, "baking.csv", [("a", True), ("b", False)], "allow")
    done = run(*AUDIT, "tax.yaml", "baking.yaml")
    assert (done.code, "make the two agree" in done.err) == (2, True)


@pytest.mark.parametrize("name", ["tax.yaml", "baking.csv"])
def test_no_input_is_written_over(run: Run, profile: Path, name: str) -> None:
    before = (profile / name).read_bytes()
    done = run(*AUDIT, ".", "--format", "json", "-o", name)
    assert (done.code, done.out) == (2, "")
    assert (profile / name).read_bytes() == before


def test_other_yaml_in_a_folder_is_skipped_and_named_alone_it_is_an_error(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "topic.yaml").write_text("name: Tax\ndescription: Tax advice\n", "utf-8")
    (tmp_path / "topic.csv").write_text(
        "prompt,expected,intent\nmy tax,true,block\nhello,false,block\n", "utf-8"
    )
    other = tmp_path / "compose.yaml"
    other.write_text("services: {}\n", "utf-8")
    result = run("audit", str(tmp_path), "--set", "encoder=static")
    assert result.code == 0
    assert "compose.yaml: not a topic file, skipped" in result.err
    alone = run("audit", str(other), "--set", "encoder=static")
    assert alone.code == 2
    assert "compose.yaml: not a topic: it has none of its keys" in alone.err
