"""The worked example of the page on prompt sets gives the figures that it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from guardtui.cli.check.command import command as check
from guardtui.cli.eval.command import command as evaluate

PAGE = Path(__file__).parents[1] / "docs" / "pages" / "prompt_set.md"


def test_the_worked_example_gives_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    blocks = re.findall(r"```(?:yaml|text)\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    topic, far, far_rates, warning, near, near_rates = blocks
    for name, text in (("parking.yaml", topic), ("far.csv", far), ("near.csv", near)):
        Path(name).write_text(text, "utf-8")
    for name, rates in (("far.csv", far_rates), ("near.csv", near_rates)):
        arguments = ["parking.yaml", "--prompts", name]
        result = CliRunner().invoke(evaluate, arguments, standalone_mode=False)
        shown = [" ".join(line.split()[:2]) for line in result.stdout.splitlines()]
        for rate in rates.splitlines():
            assert " ".join(rate.split()) in shown
    result = CliRunner().invoke(
        check, ["parking.yaml", "--prompts", "far.csv"], standalone_mode=False
    )
    assert " ".join(warning.split()).removesuffix(" …") in result.stdout
    result = CliRunner().invoke(
        check, ["parking.yaml", "--prompts", "near.csv"], standalone_mode=False
    )
    assert "no near misses" not in result.stdout
