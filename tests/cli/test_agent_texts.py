"""What agents read: every command line of the skill, run against a sandbox."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from ruamel.yaml import YAML

pytest.importorskip("aiohttp")
pytest.importorskip("mcp")

from guardtui.files.topic_files import load_topic, save_topic
from guardtui.session.topic_places import sample_folder

from .conftest import Run, leave_every_other_row
from .sandbox_server import account_variables, sandbox_server

SKILL = files("guardtui.cli.agent").joinpath("SKILL.md").read_text("utf-8")
GUARDRAILS = "test:\n  kind: airs\n  profile: sandbox\n"


def lines(title: str) -> list[str]:
    """Return the command lines in the blocks of a section."""
    _, section = SKILL.split(f"\n## {title}\n")
    section = section.split("\n## ")[0]
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines()]


@pytest.fixture
def shell(run: Run, folder: Path) -> Iterator[Run]:
    """Run a line in a folder with the sample and the guardrail `test`."""
    shutil.copytree(sample_folder(), folder / "sample_data")
    for ending in ("yaml", "csv"):
        shutil.copy(sample_folder() / f"tax-advice.{ending}", folder / f"tax.{ending}")
    (folder / "guardrails.yaml").write_text(GUARDRAILS, "utf-8")
    with sandbox_server() as url:
        yield lambda line: run(*shlex.split(line)[1:], **account_variables(url))


def test_command_prints_a_skill_of_at_most_eighty_lines(run: Run) -> None:
    assert run("agent", "skill") == (0, SKILL, "")
    assert len(SKILL.splitlines()) <= 80
    _, header, _ = SKILL.split("---\n", 2)
    described = YAML(typ="safe").load(header)
    assert list(described) == ["name", "description"]
    assert described["name"] == "guardtui"
    assert len(described["description"]) <= 1024


@pytest.mark.exhaustive
def test_every_command_line_works_in_its_place(shell: Run, folder: Path) -> None:
    path = folder / "tax.yaml"
    leave_every_other_row(folder / "tax.csv")
    blocks = {title: lines(title) for title in ("Begin", "One iteration", "Stop")}
    assert sum(map(len, blocks.values())) == len(re.findall(r"^ *guardtui", SKILL, re.MULTILINE))
    for line in blocks["Begin"]:
        assert shell(line).code == 0, line

    first = load_topic(path).topic
    good = first.model_copy(update={"examples": first.examples[:2]})
    bad = good.model_copy(update={"description": "Advice on what to claim, report or pay"})
    *measure, keep, discard = blocks["One iteration"]
    for edit, codes in ((good, {keep: 0}), (bad, {keep: 4, discard: 0})):
        save_topic(load_topic(path), edit)
        for line in measure:
            done = shell(line)
            assert done.code == 0, (line, done)
        brief = json.loads(done.out)
        assert brief["judgement"]["code"] == ("better" if edit is good else "worse")
        assert brief["next_command"].startswith(keep if edit is good else discard)
        for line, code in codes.items():
            assert shell(line).code == code, line
        assert load_topic(path).topic == good
    named = set(re.findall(r"`([a-z_]+)`", SKILL)) - {"test", "keep", "discard", "better"}
    assert named >= {"false_negatives", "matched", "next_command"}
    assert named - set(brief) - set(brief["false_negatives"][0]) == set()

    decisions = None
    for line in blocks["Stop"]:
        done = shell(line)
        assert done.code == 0, (line, done)
        if "history list" in line:
            decisions = [one["decision"] for one in json.loads(done.out)["iterations"]]
    assert decisions == ["keep", "keep", "discard"]
    for line in re.findall(r"`(guardtui [^`]+)`", SKILL.replace("\n", " ")):
        assert shell(line).code == 0, line
