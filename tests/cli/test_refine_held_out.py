"""`guardtui refine` proposes nothing that is not better on prompts held out by a column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guardtui.cli.diagnostics import Exit

from .conftest import NEGATIVE, POSITIVE, TOPIC, Result, Run

PASTA = (
    "How long do I boil fresh pasta?",
    "Which sauce goes with penne pasta?",
    "How do I make pasta dough at home?",
    "Can I cook pasta in milk?",
    "Why does my pasta stick to the pot?",
    "What pasta shape holds the most sauce?",
)


def prompts_csv(held_out: str) -> str:
    """Return a CSV where pasta belongs to the topic; its held-out labels are `held_out`."""
    rows = ["prompt,expected,intent,split"]
    for split, pasta in (("train", "true"), ("test", held_out)):
        # Words are added, so that no prompt is in both halves.
        end = " please" if split == "train" else " today"
        rows += [f'"{text}{end}",true,block,{split}' for text in POSITIVE]
        rows += [f'"{text}{end}",{pasta},block,{split}' for text in PASTA]
        rows += [f'"{text}{end}",false,block,{split}' for text in NEGATIVE]
    return "\n".join([*rows, ""])


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    (tmp_path / "topic.yaml").write_text(TOPIC, "utf-8")
    (tmp_path / "worse.csv").write_text(prompts_csv("false"), "utf-8")
    (tmp_path / "better.csv").write_text(prompts_csv("true"), "utf-8")
    return tmp_path


@pytest.fixture
def refine(work: Path, command: Run) -> Run:
    """Run `guardtui refine` on a file of prompts, with further ARGUMENTS, in the folder `work`."""

    def run_(prompts: str, *arguments: str) -> Result:
        given = ["topic.yaml", "--prompts", prompts, "--set", "encoder=static", "--time", "10s"]
        return command("refine", *given, "--threshold", "built-in", *arguments)

    return run_


@pytest.mark.parametrize("single", [(), ("--single",)])
def test_a_definition_worse_on_held_out_prompts_is_not_proposed(
    work: Path, refine: Run, single: tuple[str, ...]
) -> None:
    code, out, err = refine("worse.csv", *single, "--write-topic", "new.yaml")
    assert code == Exit.NOT_ENOUGH_EVIDENCE == 4
    assert "first proposal" not in out
    assert "the prompts to choose on (by the column split)" in out
    line = next(line for line in out.splitlines() if line.startswith("The best definition"))
    assert "not better on the held-out prompts: coverage 1.000 → 0." in line
    assert "new.yaml is not written" in err
    assert not (work / "new.yaml").exists()


def test_json_has_no_proposal_and_the_reason(refine: Run) -> None:
    code, out, _ = refine("worse.csv", "--format", "json")
    document = json.loads(out)
    assert code == Exit.NOT_ENOUGH_EVIDENCE
    assert (document["proposal"], document["proposals"]) == (None, [])
    assert "held-out prompts" in document["no_proposal"]["reason"]
    assert document["measured_on"]["prompts"] == document["measured_on"]["held_out"] == 16
    rejected = document["no_proposal"]["rejected"]
    assert rejected["interval"][0] > 0
    held = rejected["held_out"]
    assert held["gain"] <= 0
    after, before = (held[side]["rates"]["coverage"] for side in ("after", "before"))
    assert held["gain"] == pytest.approx(after - before)


def test_a_better_one_is_proposed_with_both_figures(work: Path, refine: Run) -> None:
    code, out, err = refine("better.csv", "--write-topic", "new.yaml")
    assert code == Exit.DONE
    assert "wrote new.yaml" in err
    assert (work / "new.yaml").exists()
    lines = out.splitlines()
    place = lines.index("first proposal")
    assert lines[place + 1].startswith("  coverage for the engine: +0.")
    assert lines[place + 4].startswith("  on the held-out prompts 0.")
    document = json.loads(refine("better.csv", "--format", "json")[1])
    assert document["no_proposal"] is None
    assert document["proposal"]["held_out"]["gain"] > 0
    chosen = {*document["proposal"]["fixed_lines"], *document["proposal"]["broken_lines"]}
    assert max(chosen) <= 17  # rows that are held out are in no list


def test_without_an_edit_to_try_the_exit_code_is_the_same(work: Path, refine: Run) -> None:
    # Nothing to gain: the definition is right about every prompt.
    rows = ["prompt,expected,intent,split"]
    for split in ("train", "test"):
        rows += [f'"tax return and deductions {split} {n}",true,block,{split}' for n in range(5)]
        rows += [f'"bake bread {split} {n}",false,block,{split}' for n in range(5)]
    (work / "right.csv").write_text("\n".join([*rows, ""]), "utf-8")
    code, out, _ = refine("right.csv", "--write-topic", "new.yaml")
    assert code == Exit.NOT_ENOUGH_EVIDENCE
    assert "No edit" in out
    assert not (work / "new.yaml").exists()
