"""What others' pipelines use: the GitHub Action, the hook for pre-commit, the container file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from guardtui.cli.main import cli

ROOT = Path(__file__).parent.parent
BASH = shutil.which("bash")


def loaded(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((ROOT / name).read_text("utf-8"))


def documented(section: str) -> Any:
    """Return the first YAML block of a section of the page."""
    page = (ROOT / "docs" / "pages" / "ci.md").read_text("utf-8")
    block = page.partition(f"\n## {section}\n")[2].partition("```yaml\n")[2].partition("```")[0]
    return YAML(typ="safe", pure=True).load(block)


def step(identity: str) -> dict[str, Any]:
    """Return a step of the action."""
    (found,) = (one for one in loaded("action.yml")["runs"]["steps"] if one["id"] == identity)
    return dict(found)


@pytest.fixture
def action(tmp_path: Path) -> Any:
    """Run the last step of the action with inputs, as the runner does."""
    (tmp_path / "topics").mkdir()
    (tmp_path / "reports").mkdir()
    for ending in ("yaml", "csv"):
        shutil.copy(
            ROOT / "sample_data" / f"tax-advice.{ending}", tmp_path / f"topics/tax.{ending}"
        )
    program = tmp_path / "guardtui"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m guardtui "$@"\n', "utf-8")
    program.chmod(0o755)

    def run(**inputs: str) -> tuple[subprocess.CompletedProcess[str], str]:
        given = {"topic": "topics/tax.yaml", "prompts": "topics/tax.csv", **inputs}
        values = dict.fromkeys(loaded("action.yml")["inputs"], "") | given
        texts = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], text)
            for name, text in step("eval")["env"].items()
        }
        done = subprocess.run(
            [BASH or "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step("eval")["run"]],
            env={
                **os.environ, **texts, "GUARDTUI": str(program), "GITHUB_ACTIONS": "true",
                "GITHUB_OUTPUT": str(tmp_path / "output"),
                "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
                "GUARDTUI_CACHE": str(tmp_path / "cache"),
            },
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done, (tmp_path / "output").read_text("utf-8")

    return run


@pytest.mark.process
@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_the_action_gates_reports_and_keeps_the_exit_code(action: Any, tmp_path: Path) -> None:
    done, output = action(**{"min-coverage": "0.5", "report": "main.json\nr.html\n"})
    assert (done.returncode, output) == (0, "exit-code=0\n"), done.stderr
    assert (tmp_path / "r.html").stat().st_size > 1000
    assert "coverage" in (tmp_path / "summary").read_text("utf-8")
    done, output = action(**{"min-coverage": "0.99", "max-regressions": "0"})
    assert (done.returncode, output) == (1, "exit-code=0\nexit-code=1\n")
    assert "::warning title=guardtui::there is no baseline" in done.stdout
    assert "::error title=guardtui%3A --min-coverage" in done.stderr
    done, output = action(baseline="main.json", **{"max-regressions": "0"})
    assert done.returncode == 0
    assert "gate passed: 0 regressions" in done.stderr
    done, _ = action(topic="$(touch broken); x.yaml")
    assert done.returncode == 2
    assert not (tmp_path / "broken").exists()


@pytest.mark.process
@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_the_documented_steps_of_github_and_gitlab_run(action: Any, tmp_path: Path) -> None:
    steps = documented("GitHub")["jobs"]["topics"]["steps"]
    (inputs,) = (one["with"] for one in steps if "/guardtui@" in one.get("uses", ""))
    assert set(inputs) <= set(loaded("action.yml")["inputs"])
    done, _ = action(**{name: str(value) for name, value in inputs.items()})
    assert done.returncode == 0, done.stderr
    written = {path.name for path in (tmp_path / "reports").iterdir()}
    assert written == {"tax.json", "tax.html", "tax.junit.xml"}
    job = documented("GitLab")["guardrails"]
    lines = [line for line in job["script"] if not line.startswith("pip ")]
    assert len(lines) == 3
    done = subprocess.run(
        [BASH or "bash", "-ec", "\n".join(lines)],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, *job["allow_failure"]["exit_codes"]), done.stderr


def test_the_documented_hooks_are_those_of_the_repository() -> None:
    (hook,) = loaded(".pre-commit-hooks.yaml")
    (repository,) = documented("Before a commit")["repos"]
    assert [one["id"] for one in repository["hooks"]] == [hook["id"]]


def test_the_action_passes_every_input_by_a_variable_and_options_exist() -> None:
    used = re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8"))
    assert set(used) == set(loaded("action.yml")["inputs"])
    for one in loaded("action.yml")["runs"]["steps"]:
        assert "${{" not in one.get("run", "")
    evaluate = cli.commands.get("eval") or cli.get_command(None, "eval")  # type: ignore[arg-type]
    assert evaluate is not None
    options = {option for parameter in evaluate.params for option in parameter.opts}
    assert set(re.findall(r" (--[\w-]+)", step("eval")["run"])) <= options


def test_actions_of_others_are_pinned_and_permissions_are_least() -> None:
    workflows = [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "action.yml"]
    assert len(workflows) == 2
    for path in workflows:
        uses = re.findall(r"uses: (\S+)", path.read_text("utf-8"))
        assert uses
        for name in uses:
            assert re.search(r"@v\d+\.\d+\.\d+$", name), f"{path.name}: {name}"
    assert loaded(".github/workflows/tests.yml")["permissions"] == {"contents": "read"}


def test_the_hook_of_pre_commit_runs_a_command_on_topic_files() -> None:
    (hook,) = loaded(".pre-commit-hooks.yaml")
    assert hook["entry"].split()[0] == "guardtui"
    assert cli.get_command(None, hook["entry"].split()[1]) is not None  # type: ignore[arg-type]
    chosen = ["topics/tax.yaml", "a/topics/b/tax.yml", "topics/tax.json"]
    for name in chosen:
        assert re.search(hook["files"], name)
    for name in ("topics/tax.csv", "tax.yaml", "mytopics/tax.yaml"):
        assert not re.search(hook["files"], name)


def test_the_container_gets_what_the_package_is_built_of_and_runs_without_root() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    copied = {word for line in re.findall(r"^COPY (.*) \S+$", text, re.M) for word in line.split()}
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert copied == {line[1:] for line in ignored if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]
    assert hatch["metadata"]["hooks"]["custom"]["path"] in copied
    assert set(hatch["build"]["targets"]["wheel"]["packages"]) <= copied
    assert re.search(r"^USER 1000:1000$", text, re.M)
