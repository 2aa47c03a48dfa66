"""Job arrays, an indexed job and a judge by shards, as docs/pages/scale.md tells to run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from .conftest import NEGATIVE, POSITIVE, ROOT, prompts_csv
from .grading_server import grading_server
from .test_eval_judge import Judge
from .test_shards import evaluate, here, run, sayings

__all__ = ["here"]  # a fixture

PAGES = ROOT / "docs" / "pages"
PAGE = (PAGES / "scale.md").read_text("utf-8")

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="scripts for bash")]


@pytest.fixture
def programs(here: Path) -> dict[str, str]:
    """What the scripts call: guardtui, and an srun that notes how it was called."""
    folder = here / "bin"
    folder.mkdir()
    for name, text in (
        ("guardtui", f'exec {sys.executable} -m guardtui "$@"'),
        ("srun", 'echo "$OMP_NUM_THREADS $POLARS_MAX_THREADS $*" >>srun.log\nexec "$@"'),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "TOPIC": "topic.yaml", "OUT": "big"}


def script(here: Path, name: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        ["bash", str(PAGES / name)],
        cwd=here,
        env={
            **os.environ,
            "GUARDTUI_CACHE": str(here / "cache"),
            "GUARDTUI_DATA": str(here / "data"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_an_array_of_slurm_and_a_task_that_is_run_again(
    here: Path, programs: dict[str, str]
) -> None:
    environment = {**programs, "PROMPTS": "prompts.csv", "SLURM_CPUS_PER_TASK": "1"}

    def task(number: int, **more: str) -> tuple[int, str, str]:
        variables = {"SLURM_ARRAY_TASK_ID": str(number), **environment, **more}
        return script(here, "slurm_scale.sh", **variables)

    for number in (0, 1):
        code, out, err = task(number, SLURM_ARRAY_TASK_COUNT="3", SLURM_ARRAY_TASK_MIN="0")
        assert (code, out) == (0, ""), err
        assert err.startswith(f"shard {number}/3: ")
    code, _, err = run(here, "merge", "big")
    assert (code, "1 of 3 shards are missing: 2" in err) == (3, True)
    # Only the third is submitted again: an array of one task that begins at 2.
    code, _, err = task(2, SLURM_ARRAY_TASK_COUNT="1", SLURM_ARRAY_TASK_MIN="2", SHARDS="3")
    assert code == 0, err
    assert run(here, "merge", "big")[0] == 0
    # Tasks that see one shard each have the shipped threshold; the merge fits it to all of them.
    one = evaluate("--out", "one", "--shards", "1", "--jobs", "1")
    assert run(here, *one)[0] == 0
    assert sayings(here / "big") == sayings(here / "one")
    calls = (here / "srun.log").read_text("utf-8").splitlines()
    assert [call[:17] for call in calls] == ["1 1 guardtui eval"] * 3


def test_a_task_that_fails_says_so(here: Path, programs: dict[str, str]) -> None:
    slurm = {"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_COUNT": "2", "PROMPTS": "nowhere.csv"}
    code, out, err = script(here, "slurm_scale.sh", **programs, **slurm)
    assert (code, out) == (2, "")
    assert "nowhere.csv: no such file" in err


def test_an_indexed_job_of_kubernetes(here: Path) -> None:
    job = YAML(typ="safe").load((PAGES / "kubernetes_scale.yaml").read_text("utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["parallelism"] <= spec["completions"]
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"  # what backoffLimitPerIndex asks for
    (container,) = pod["containers"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    (data,) = (mount["mountPath"] for mount in container["volumeMounts"])
    words = [word.replace(data, str(here)) for word in container["command"]]
    assert words[0] == "guardtui"
    assert f"--shard=auto/{spec['completions']}" in words
    shutil.copy(here / "topic.yaml", here / "tax.yaml")
    shutil.copy(here / "prompts.csv", here / "tax.csv")
    environment = {one["name"]: one["value"] for one in container["env"]}
    for name in ("GUARDTUI_CACHE", "GUARDTUI_DATA"):
        environment[name] = str(here / environment[name].rpartition("/")[2])
    assert all(isinstance(value, str) for value in environment.values())
    for index in range(spec["completions"]):
        code, out, err = run(here, *words[1:], JOB_COMPLETION_INDEX=str(index), **environment)
        assert (code, out) == (0, ""), err
        assert err.startswith(f"shard {index}/{spec['completions']}: ")
    assert run(here, "merge", "big")[0] == 0
    # Tasks that see one shard each have the shipped threshold; the merge fits it to all of them.
    one = evaluate("--out", "one", "--shards", "1", "--jobs", "1")
    assert run(here, *one)[0] == 0
    assert sayings(here / "big") == sayings(here / "one")


def test_the_script_for_ray_is_called_as_the_page_says(
    here: Path, programs: dict[str, str]
) -> None:
    # Whether it works is tested where ray is installed: here, what it calls.
    (here / "bin" / "guardtui").write_text('#!/bin/sh\necho "$@"\n', "utf-8")
    code, out, err = script(here, "ray_scale.sh", **programs, PROMPTS="p.csv", CLUSTER="ray://x:1")
    assert (code, err) == (0, "")
    assert out == (
        "eval topic.yaml --prompts p.csv --set encoder=static --out big --executor ray "
        "--address ray://x:1 --jobs 16\n"
    )


def test_a_judge_by_shards_asks_for_each_prompt_once(here: Path) -> None:
    (here / "prompts.csv").write_text(prompts_csv(), "utf-8")
    judge = Judge(fails={NEGATIVE[2]})
    with grading_server(judge, message=-1) as server:
        words = [
            *("eval", "topic.yaml", "--prompts", "prompts.csv", "--out", "judged"),
            *("--guardrail", f"judge:{server.url}#m"),
        ]
        codes = [run(here, *words, "--shard", f"{one}/3", GUARDTUI_CACHE=f"c{one}")[0]
                 for one in range(3)]  # fmt: skip
        assert sorted(codes) == [0, 0, 3]
        assert run(here, "merge", "judged")[0] == 3
        asked = Counter(judge.prompts)
        assert {one for one in asked if asked[one] == 1} >= {*POSITIVE, *NEGATIVE} - judge.fails
        # Taken up again, without the cache: only what had no verdict is asked.
        judge.prompts.clear()
        judge.fails.clear()
        code, _, err = run(here, *words, "--shard", f"{codes.index(3)}/3", GUARDTUI_CACHE="other")
        assert code == 0, err
        assert set(judge.prompts) == {NEGATIVE[2]}
        code, out, err = run(here, "merge", "judged", "--format", "json")
        assert code == 0, err
        assert json.loads(out)["metrics"]["total"] == len(POSITIVE + NEGATIVE)
        # The same as one command: nothing is left to ask.
        judge.prompts.clear()
        assert run(here, *words)[0] == 0
        assert not judge.prompts
    assert (here / "judged" / "journals").is_dir()


def test_the_page_shows_the_scripts() -> None:
    for name in ("slurm_scale.sh", "kubernetes_scale.yaml", "ray_scale.sh"):
        assert f"({name})" in PAGE
    text = (PAGES / "slurm_scale.sh").read_text("utf-8")
    (call,) = re.findall(r"^srun guardtui.*?[^\\]$", text, re.MULTILINE | re.DOTALL)
    assert call in PAGE


def test_the_page_names_every_file_and_field(here: Path) -> None:
    assert run(here, *evaluate("--out", "big", "--shards", "1"))[0] == 0
    assert run(here, "merge", "big")[0] == 0
    (folder,) = (here / "big" / "runs").iterdir()
    fields = json.loads((here / "big" / "set.json").read_text("utf-8")).keys()
    fields |= json.loads((folder / "00000-of-00001.json").read_text("utf-8")).keys()
    for name in fields - {"schema_version"}:
        assert f"`{name}`" in PAGE, name
    listed = PAGE.partition("## The folder")[2]
    for path in (here / "big").rglob("*"):
        if path.is_file():
            ending = path.name.replace("00000-of-00001", "")
            assert ending in listed or path.suffix in listed, path
