"""`guardtui eval --with`: topics of one profile measured together, as the sandbox judges them."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from .conftest import NEGATIVE, POSITIVE, Run
from .test_eval_airs import Cloud, cloud

__all__ = ["cloud"]

pytest.importorskip("aiohttp")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

EVAL = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")
AIRS = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--guardrail", "airs")
BREAD, HOME = NEGATIVE[0], POSITIVE[2]


def other(folder: Path, name: str, text: str, intent: str = "block") -> str:
    """A topic file that is about one text."""
    path = folder / f"{name.split()[0].lower().strip(':')}.yaml"
    path.write_text(
        f"name: '{name}'\ndescription: {text}\nexamples: ['{text}', '{text}']\nintent: {intent}\n",
        "utf-8",
    )
    return path.name


def results(text: str) -> dict[str, Any]:
    return {one["prompt"]: one for one in json.loads(text)["results"]}


def test_a_prompt_stopped_by_another_topic_names_it(run: Run, folder: Path) -> None:
    bread = other(folder, "Baking", BREAD)
    alone = run(*EVAL, "--format", "json")
    done = run(*EVAL, "--with", bread, "--format", "json")
    assert (done.code, done.err) == (0, "")
    before, after = results(alone.out), results(done.out)
    assert (before[BREAD]["outcome"], after[BREAD]["outcome"]) == ("TN", "FP")
    assert after[BREAD]["stopped_by"] == ["Baking"]
    assert [one["score"] for one in after.values()] == [one["score"] for one in before.values()]
    changed = {text for text in after if after[text]["outcome"] != before[text]["outcome"]}
    assert changed == {BREAD}
    document = json.loads(done.out)
    assert [one["name"] for one in document["companions"]] == ["Baking"]
    assert [topic["name"] for topic in document["guardrail"]["companions"]] == ["Baking"]
    table = run(*EVAL, "--with", bread).out
    assert "with       Baking (block)" in table
    assert ", stopped by Baking: " in table


def test_an_allow_topic_wins_prompts_back(run: Run, folder: Path) -> None:
    home = other(folder, "Allow: home office", HOME, "allow")
    done = run(*EVAL, "--with", home, "--format", "csv")
    rows = {row["prompt"]: row for row in csv.DictReader(io.StringIO(done.out, newline=""))}
    assert (rows[HOME]["outcome"], rows[HOME]["stopped_by"]) == ("FN", "")
    assert "the allow topic is taken to win" in rows[HOME]["note"]
    assert rows[BREAD]["outcome"] == "TN"
    assert "both match" in done.err


@pytest.mark.parametrize("intent", ["block", "allow"])
def test_local_and_service_agree_on_a_profile_of_three(
    cloud: Cloud, run: Run, folder: Path, intent: str
) -> None:
    for name in ("topic.yaml", "prompts.csv"):
        path = folder / name
        text = path.read_text("utf-8").replace("intent: block", f"intent: {intent}")
        path.write_text(text.replace(",block,", f",{intent},"), "utf-8")
    names = [
        other(folder, "Baking", BREAD),
        other(folder, "Allow: home office", HOME, "allow"),
    ]
    cloud.apply()
    for name in names:
        cloud.apply(name)
    both = [part for name in names for part in ("--with", name)]
    local = run(*EVAL, *both, "--format", "json")
    remote = run(*AIRS, *both, "--guardrail", "airs:sandbox", "--format", "json", **cloud.all)
    assert (local.code, remote.code) == (0, 0)
    ours, theirs = results(local.out), results(remote.out)
    assert {text: one["outcome"] for text, one in ours.items()} == {
        text: one["outcome"] for text, one in theirs.items()
    }
    assert {text: one["stopped_by"] for text, one in theirs.items() if "stopped_by" in one} == {
        text: one["stopped_by"]
        for text, one in ours.items()
        if one.get("stopped_by", ["("])[0][0] != "("
    }
    assert "another topic" not in remote.err
    # Not told of them, a prompt that another topic stopped is a surprise.
    untold = run(*AIRS, "--guardrail", "airs:sandbox", **cloud.all).err
    assert "stopped by another topic: Baking" in untold


def test_all_problems_of_companions_are_reported_together(run: Run, folder: Path) -> None:
    (folder / "broken.yaml").write_text("name: [", "utf-8")
    same = other(folder, "Tax advice", BREAD)
    done = run(*EVAL, "--with", "gone.yaml", "--with", "broken.yaml", "--with", same)
    assert (done.code, done.out) == (2, "")
    assert "gone.yaml: no such file" in done.err
    assert "broken.yaml:1: " in done.err
    assert "tax.yaml: another topic is called 'Tax advice' already" in done.err


@pytest.mark.parametrize("default", ["allow", "block"])
def test_eval_and_audit_agree_on_the_verdicts_of_a_profile_file(
    run: Run, folder: Path, default: str
) -> None:
    other(folder, "Baking", BREAD)
    other(folder, "Home office", HOME, "allow")
    (folder / "topic.csv").write_bytes((folder / "prompts.csv").read_bytes())
    text = f"default: {default}\ntopics: [topic.yaml, baking.yaml, home.yaml]\n"
    (folder / "profile.yaml").write_text(text, "utf-8")
    done = run(*EVAL, "--with", "profile.yaml", "--format", "json")
    assert done.code == 0
    document = json.loads(done.out)
    assert [topic["name"] for topic in document["companions"]] == ["Baking", "Home office"]
    assert document["guardrail"]["otherwise"] == default
    audit = json.loads(
        run("audit", "profile.yaml", "--set", "encoder=static", "--format", "json").out
    )
    assert audit["default"] == default
    stopped_by = {row["prompt"]: row["stopped_by"] for row in audit["results"]}
    assert {prompt: one.get("stopped_by", []) for prompt, one in results(done.out).items()} == {
        prompt: stopped_by[prompt] for prompt in results(done.out)
    }


def test_a_profile_file_without_a_default_stands_for_its_topics(run: Run, folder: Path) -> None:
    names = [other(folder, "Baking", BREAD), other(folder, "Home office", HOME, "allow")]
    (folder / "profile.yaml").write_text("topics: [topic.yaml, baking.yaml, home.yaml]\n", "utf-8")
    by_profile = run(*EVAL, "--with", "profile.yaml", "--format", "csv")
    by_name = run(*EVAL, *(part for name in names for part in ("--with", name)), "--format", "csv")
    assert by_profile == by_name


def test_the_report_does_not_replace_a_topic_of_a_profile_file(run: Run, folder: Path) -> None:
    bread = other(folder, "Baking", BREAD)
    (folder / "profile.yaml").write_text(f"topics: [{bread}]\n", "utf-8")
    for name in (bread, "profile.yaml"):
        before = (folder / name).read_bytes()
        done = run(*EVAL, "--with", "profile.yaml", "--output", name)
        assert (done.code, done.out) == (2, "")
        assert (folder / name).read_bytes() == before
