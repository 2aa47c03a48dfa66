"""`guardtui check` of topic files alone, the hook for pre-commit, and the workflows shown."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from guardtui.cli.main import cli

from .conftest import ROOT, TOPIC, Run

HOOKS = ROOT / ".pre-commit-hooks.yaml"
PAGE = ROOT / "docs" / "pages" / "ci.md"


def load(text: str) -> Any:
    return YAML(typ="safe").load(text)


def test_several_files_are_reported_together(run: Run, folder: Path) -> None:
    (folder / "not.yaml").write_text(TOPIC.replace("Advice", "Not advice"), "utf-8")
    (folder / "long.yaml").write_text(TOPIC.replace("Advice", "x" * 300), "utf-8")
    (folder / "cut.yaml").write_text("name: [\n", "utf-8")
    (folder / "other.yaml").write_text("steps: 1\n", "utf-8")
    names = ("topic.yaml", "not.yaml", "long.yaml", "cut.yaml", "other.yaml", "gone.yaml")
    done = run("check", *names, "--format", "json")
    assert (done.code, done.err) == (2, "")
    results = [
        (one["file"], one["severity"], one["code"]) for one in json.loads(done.out)["findings"]
    ]
    assert ("not.yaml", "warning", "lint.exclusion") in results
    assert ("long.yaml", "error", "limit.description") in results
    assert [file for file, _, code in results if code == "file"] == list(names[3:])
    assert not [one for one in results if one[0] == "topic.yaml"]
    table = run("check", *names)
    assert table.code == 2
    assert re.search(r"^error: cut\.yaml:\d+: ", table.out, re.MULTILINE)


def test_advice_alone_fails_only_when_strict(run: Run, folder: Path) -> None:
    assert run("check", "topic.yaml", "--strict").code == 0
    (folder / "not.yaml").write_text(TOPIC.replace("Advice", "Not advice"), "utf-8")
    assert run("check", "topic.yaml", "not.yaml").code == 0
    strict = run("check", "topic.yaml", "not.yaml", "--strict")
    assert (strict.code, "warning: not.yaml: " in strict.out) == (1, True)


def test_guardrails_beside_topics_are_checked_as_what_they_are(run: Run, folder: Path) -> None:
    team = folder / "guardrails.yaml"
    team.write_text("prod: {kind: airs, profile: prod}\n", "utf-8")
    for names in (("guardrails.yaml", "topic.yaml"), ("guardrails.yaml",)):
        done = run("check", *names, "--strict")
        assert (done.code, done.out) == (0, "nothing is wrong or doubtful\n")
        assert done.err == "guardrails.yaml: checked as guardrails, not as a topic: 1 guardrail\n"
    team.write_text("prod: {kind: airs, profil: prod}\nother: {kind: none}\n", "utf-8")
    wrong = run("check", "guardrails.yaml", "topic.yaml")
    assert wrong.code == 2
    assert "error: guardrails.yaml:1: prod: profil: " in wrong.out
    assert "error: guardrails.yaml:2: other: kind: " in wrong.out
    team.unlink()
    gone = run("check", "guardrails.yaml")
    assert (gone.code, "no such file" in gone.out) == (2, True)


def test_nothing_in_a_log_of_github_acts(run: Run, folder: Path) -> None:
    (folder / "::error::x.yaml").write_text("name: [\n", "utf-8")
    (folder / "x.yaml").write_text("##[group]x: 1\nname: ##[add-mask]x\n", "utf-8")
    (folder / "y.yaml").write_text("name: x\ndescription: not ##[add-mask]x\n", "utf-8")
    names = ("::error::x.yaml", "x.yaml", "y.yaml", "##[group]gone.yaml")
    done = run("check", *names, GITHUB_ACTIONS="true")
    assert done.code == 2
    assert "##[" not in done.out + done.err
    assert not re.search(r"^\s*::", done.out + done.err, re.MULTILINE)


def test_the_hook_runs_the_command_on_topic_files(run: Run, folder: Path) -> None:
    (hook,) = load(HOOKS.read_text("utf-8"))
    words = shlex.split(hook["entry"])
    assert words[0] == "guardtui"
    assert run(*words[1:], "topic.yaml").code == 0
    pattern = re.compile(hook["files"])
    topics = folder / "topics"
    topics.mkdir()
    (topics / "tax.yaml").write_text(TOPIC, "utf-8")
    (topics / "guardrails.yaml").write_text("prod: {kind: airs, profile: prod}\n", "utf-8")
    names = sorted(path.relative_to(folder).as_posix() for path in topics.iterdir())
    assert all(map(pattern.search, names))
    assert run(*words[1:], *names).code == 0
    for name in ("topics/tax.yaml", "a/topics/b/tax.yml", "topics/tax.json"):
        assert pattern.search(name), name
    for name in (".pre-commit-config.yaml", "topics/tax.csv", "mytopics/tax.yaml"):
        assert not pattern.search(name), name


def test_workflows_that_are_shown_use_options_that_exist() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        load(block)
    context = cli.make_context("guardtui", ["--help"], resilient_parsing=True)
    known = set()
    for name in ("eval", "check"):
        command = cli.get_command(context, name)
        assert command is not None
        known |= {word for one in command.params for word in one.opts}
    workflow = load(blocks[0])
    steps = workflow["jobs"]["topics"]["steps"]
    lines = [one["run"] for one in steps if "guardtui " in one.get("run", "")]
    lines += load(blocks[1])["guardrails"]["script"]
    used = {word for line in lines for word in re.findall(r"(?<!\S)--?[a-z][a-z-]*", line)} - {
        "-f",
        "-p",
    }
    assert used
    assert used <= known
