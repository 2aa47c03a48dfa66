"""What `check` says of a definition's wording and examples, with effects that `eval` confirms."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import TOPIC, Run


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
