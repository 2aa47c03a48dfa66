"""Evaluations in shards, as commands: apart, together, killed, started twice, put together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guardtui.domain.sweep import best_threshold, sweep
from guardtui.shards.large_set import open_set
from guardtui.shards.merge import merge
from guardtui.shards.parts import Run, runs_of
from tests.shards.conftest import write_prompts
from tests.shards.test_merge import said

pytestmark = pytest.mark.process


TOPIC = """\
name: Tax advice
description: Personal advice on taxes, deductions and returns
examples:
  - How do I deduct my car?
  - Which taxes do I owe on my bonus?
intent: block
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "topic.yaml").write_text(TOPIC, encoding="utf-8")
    write_prompts(tmp_path / "prompts.csv", 400)
    return tmp_path


def begin(here: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    outside = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SLURM_", "JOB_COMPLETION", "GITHUB_"))
    }
    return subprocess.Popen(
        [sys.executable, "-m", "guardtui", *words],
        cwd=here,
        env={
            **outside,
            "GUARDTUI_CACHE": str(here / "cache"),
            "GUARDTUI_DATA": str(here / "data"),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


_SLOW = """
import time
from guardtui.shards import work
usual = work.write_part
def write_part(*parts):
    manifest = usual(*parts)
    time.sleep(0.5)
    return manifest
work.write_part = write_part
"""


@pytest.fixture
def slow(tmp_path: Path) -> dict[str, str]:
    """Variables with which a run goes on for long after its first part, so that it is caught."""
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SLOW, encoding="utf-8")
    paths = (str(folder), os.environ.get("PYTHONPATH", ""))
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run(here: Path, *words: str, **environment: str) -> tuple[int, str, str]:
    process = begin(here, *words, **environment)
    out, err = process.communicate()
    return process.returncode, out, err


def evaluate(*more: str, prompts: str = "prompts.csv") -> list[str]:
    return ["eval", "topic.yaml", "--prompts", prompts, "--encoder", "static", *more]


def sayings(folder: Path) -> tuple[bytes, object]:
    """What the run says that was worked on last."""
    return said(merge(runs_of(open_set(folder))[-1]))


def test_killed_and_started_twice_it_is_what_one_run_gives(
    here: Path, slow: dict[str, str]
) -> None:
    assert run(here, *evaluate("--out", "one", "--shards", "1", "--jobs", "1"))[0] == 0
    wanted = sayings(here / "one")

    # One is killed as soon as a part of it stands there; of the others each is started twice.
    victim = begin(here, *evaluate("--out", "many", "--shards", "40", "--jobs", "1"), **slow)
    while not list((here / "many").glob("runs/*/*.json")):
        assert victim.poll() is None
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    twice = [
        begin(here, *evaluate("--out", "many", "--shard", f"{index}/40"))
        for index in (0, 39)
        for _ in range(2)
    ]
    for process in twice:
        assert process.communicate()[1].startswith("shard ")
        assert process.returncode == 0
    code, _, err = run(here, *evaluate("--out", "many", "--shards", "40", "--jobs", "2"))
    assert (code, err) == (0, "")
    assert sayings(here / "many") == wanted


def children(process: int) -> list[int]:
    """Workers of a process, by their numbers."""
    results = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
                if int(parent) == process and b"spawn_main" in (folder / "cmdline").read_bytes():
                    results.append(int(folder.name))
            except OSError:
                continue
    return results


def is_at_work(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="workers are looked for in /proc")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)],
    ids=lambda one: str(one),
)
def test_workers_end_with_the_process_that_began_them(
    here: Path, slow: dict[str, str], number: signal.Signals, code: int
) -> None:
    words = evaluate("--out", "many", "--shards", "60", "--jobs", "3")
    process = begin(here, *words, **slow)
    while not list((here / "many").glob("runs/*/*-of-*.json")):
        assert process.poll() is None
    workers = children(process.pid)
    assert len(workers) == 3
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == code
    assert "Traceback" not in err
    until = time.monotonic() + 120
    while any(map(is_at_work, workers)):
        assert time.monotonic() < until, "a worker goes on without the process that began it"
    assert run(here, *words)[::2] == (0, "")


def test_tasks_of_an_array_and_their_sum(here: Path) -> None:
    for task in (1, 3):
        code, out, err = run(
            here,
            *evaluate("--out", "set"),
            SLURM_ARRAY_TASK_ID=str(task),
            SLURM_ARRAY_TASK_MIN="1",
            SLURM_ARRAY_TASK_COUNT="3",
        )
        assert (code, out) == (0, "")
        assert err.startswith(f"shard {task - 1}/3: ")
    code, out, err = run(here, "merge", "set")
    assert (code, out) == (3, "")
    assert "1 of 3 shards are missing: 1\n" in err
    assert "--prompts prompts.csv --out set --shard 1/3" in err
    code, _, err = run(
        here, *evaluate("--out", "set", "--shard", "auto/3"), JOB_COMPLETION_INDEX="1"
    )
    assert code == 0, err
    code, out, err = run(here, "merge", "set", "--format", "json", "--min-coverage", "0.99")
    assert code == 1
    report = json.loads(out)
    assert len(report["results"]) == 400
    assert "gate failed: coverage" in err
    code, out, _ = run(here, "merge", "set", "--baseline", report_of(here, out))
    assert code == 0
    assert "coverage" in out


def report_of(here: Path, text: str) -> str:
    (here / "report.json").write_text(text, encoding="utf-8")
    return "report.json"


def test_the_report_is_that_of_an_ordinary_evaluation(here: Path) -> None:
    write_prompts(here / "prompts.csv", 3000)
    code, ordinary, err = run(here, *evaluate("--format", "json"))
    assert code == 0, err
    code, by_shards, err = run(here, *evaluate("--out", "set", "--shards", "5", "--format", "json"))
    assert code == 0, err
    one, other = json.loads(ordinary), json.loads(by_shards)
    assert one == other
    assert len(one["results"]) == 3000
    code, again, err = run(here, *evaluate("--format", "json", prompts="set"))
    assert code == 0, err
    assert json.loads(again)["results"] == other["results"]


def array(here: Path, folder: str, *more: str, shards: int = 3) -> None:
    """Evaluate each shard by a task of its own."""
    for index in range(shards):
        words = evaluate("--out", folder, "--shard", f"{index}/{shards}", *more)
        code, _, err = run(here, *words)
        assert code == 0, err


def test_an_array_and_its_sum_report_what_one_command_and_an_ordinary_evaluation_report(
    here: Path,
) -> None:
    _, ordinary, _ = run(here, *evaluate("--format", "json"))
    wanted = json.loads(ordinary)
    assert wanted["threshold_source"] == "fitted to 400 labels"
    assert wanted["operating_point"]["cross_validated"] is not None
    _, together, _ = run(here, *evaluate("--out", "one", "--shards", "3", "--format", "json"))
    assert json.loads(together) == wanted
    array(here, "set")
    (shipped,) = runs_of(open_set(here / "set"))
    assert shipped.settings.threshold_source == "shipped"
    code, out, err = run(here, "merge", "set", "--format", "json")
    assert code == 0, err
    fitted = runs_of(open_set(here / "set"))[-1]
    assert f"run {shipped.id}, at the shipped threshold, judged anew: run {fitted.id}" in err
    merged = json.loads(out)
    # Where the prompts are read from is another place.
    named = {"prompts", "prompt_path", "source"}
    assert {name for name in wanted if merged[name] != wanted[name]} <= named
    # Put together again it is the run that was worked on last, with the same fit.
    _, again, err = run(here, "merge", "set", "--format", "json")
    assert json.loads(again) == merged
    assert "judged anew" not in err
    assert said(merge(fitted)) == sayings(here / "one")


def test_a_sum_at_the_shipped_threshold_on_request(here: Path) -> None:
    array(here, "set")
    code, out, err = run(here, "merge", "set", "--format", "json", "--threshold", "shipped")
    assert (code, err) == (0, "")
    assert json.loads(out)["threshold_source"] == "shipped"
    assert len(runs_of(open_set(here / "set"))) == 1
    _, ordinary, _ = run(here, *evaluate("--format", "json", "--threshold", "shipped"))
    assert json.loads(out)["results"] == json.loads(ordinary)["results"]


def test_too_few_labels_leave_an_array_at_the_shipped_threshold(here: Path) -> None:
    lines = (here / "prompts.csv").read_text("utf-8").splitlines()
    (here / "prompts.csv").write_text("\n".join(lines[:13]) + "\n", "utf-8")
    array(here, "set", shards=2)
    code, out, err = run(here, "merge", "set", "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["threshold_source"] == "shipped"
    code, _, err = run(here, "merge", "set", "--threshold", "fitted")
    assert code == 2
    assert "the threshold cannot be fitted" in err


def test_a_sum_is_fitted_to_its_labels_whatever_its_baseline_was_judged_at(here: Path) -> None:
    words = evaluate("--out", "set", "--shards", "3", "--threshold", "0.7")
    assert run(here, *words)[0] == 0
    (before,) = runs_of(open_set(here / "set"))
    edited = TOPIC.replace("Personal advice on taxes", "Soups and the weather in Paris, not")
    (here / "topic.yaml").write_text(edited, encoding="utf-8")
    array(here, "set")
    code, out, err = run(here, "merge", "set", "--baseline", before.id, "--format", "json")
    assert code == 0, err
    report = json.loads(out)
    assert report["threshold_source"] == "fitted to 400 labels"
    assert any("different thresholds" in caveat for caveat in report["comparison"]["caveats"])


def test_one_command_leaves_what_an_array_began_and_removes_what_it_began_itself(
    here: Path,
) -> None:
    array(here, "set")
    (shipped,) = runs_of(open_set(here / "set"))
    before = sorted(path.name for path in shipped.folder.iterdir())
    assert run(here, *evaluate(prompts="set"))[0] == 0
    first, last = runs_of(open_set(here / "set"))
    assert first.id == shipped.id
    assert last.settings.threshold_source == "fitted to 400 labels"
    assert sorted(path.name for path in shipped.folder.iterdir()) == before
    assert run(here, *evaluate("--out", "one", "--shards", "3"))[0] == 0
    (only,) = runs_of(open_set(here / "one"))
    assert only.id == last.id
    # What a killed command began for itself goes with the end of the next one.
    scores = Run(only.large, only.topic, shipped.settings)
    scores.begin_for_scores()
    assert run(here, *evaluate(prompts="one"))[0] == 0
    assert [one.id for one in runs_of(open_set(here / "one"))] == [last.id]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--shard", "0/3"], "--shard needs --out"),
        (["--jobs", "2"], "--jobs needs --out"),
        (["--out", "set", "--shard", "3/3"], "numbered from 0 to 2"),
        (["--out", "set", "--shard", "three"], "write 0/16"),
        (["--out", "set", "--shard", "auto"], "the environment specifies no shard"),
        (["--out", "set", "--shard", "0/3", "--jobs", "2"], "--jobs does not fit --shard"),
        (["--out", "set", "--executor", "serial", "--jobs", "2"], "omit --jobs"),
        (["--out", "set", "--address", "ray://x:1"], "--address needs --executor ray"),
        (["--out", "set", "--shard", "0/3", "--min-coverage", "0.5"], "guardtui merge"),
        (["--out", "prompts.csv", "--shards", "2"], "prompts.csv"),
        (["--out", "set", "--cluster", "note"], "--cluster does not fit prompts in shards"),
    ],
)
def test_options_that_cannot_be_combined_are_reported(
    here: Path, words: list[str], says: str
) -> None:
    code, out, err = run(here, *evaluate(*words))
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


def test_a_service_with_a_quota_is_not_distributed(here: Path) -> None:
    words = ["eval", "topic.yaml", "--prompts", "prompts.csv", "--out", "set", "--scanner", "airs"]
    code, _, err = run(here, *words)
    assert code == 2
    assert "its rate limit is one for all" in err
    assert not (here / "set").exists()


@pytest.mark.parametrize("name", ["topic.yaml", "nowhere"])
def test_merging_a_folder_without_shards_fails(here: Path, name: str) -> None:
    code, out, err = run(here, "merge", name)
    assert (code, out) == (2, "")
    assert name in err
    assert "Traceback" not in err


def test_a_folder_in_which_nothing_was_evaluated(here: Path) -> None:
    assert run(here, *evaluate("--out", "set", "--shards", "2"))[0] == 0
    for path in (here / "set" / "runs").glob("*/run.json"):
        path.unlink()
    code, _, err = run(here, "merge", "set")
    assert code == 2
    assert "nothing was evaluated here yet" in err


def test_two_definitions_and_their_comparison(here: Path) -> None:
    assert run(here, *evaluate("--out", "set", "--shards", "2"))[0] == 0
    (first,) = (path.name for path in (here / "set" / "runs").iterdir())
    edited = TOPIC.replace("Personal advice on taxes", "Soups and the weather in Paris, not")
    (here / "topic.yaml").write_text(edited, encoding="utf-8")
    assert run(here, *evaluate(prompts="set"))[0] == 0
    code, out, err = run(here, "merge", "set", "--baseline", first, "--max-regressions", "0")
    assert code == 1, err
    assert "regressions" in out
    assert f"others: {first}" in err
    code, _, err = run(here, "merge", "set", "--run", "abc")
    assert code == 2
    assert first in err


def test_a_merged_run_in_several_forms_at_once(here: Path) -> None:
    assert run(here, *evaluate("--out", "big", "--shards", "3", "--jobs", "1"))[0] == 0
    page = (Path(__file__).parents[2] / "docs" / "pages" / "scale.md").read_text("utf-8")
    (line,) = [one for one in page.splitlines() if one.startswith("guardtui merge big -o ")]
    code, out, err = run(here, *line.split()[1:])
    assert (code, out, err) == (0, "", "")
    assert len(json.loads((here / "report.json").read_text("utf-8"))["results"]) == 400
    assert (here / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_thresholds_of_shards_are_those_of_their_scores(here: Path) -> None:
    assert run(here, *evaluate("--out", "set", "--shards", "3"))[0] == 0
    words = [
        "eval",
        "topic.yaml",
        "--thresholds",
        "--encoder",
        "static",
        "--format",
        "json",
        "--prompts",
    ]
    code, out, err = run(here, *words, "set")
    assert code == 0, err
    result = json.loads(out)
    (merged,) = runs_of(open_set(here / "set"))
    evaluation = merge(merged).evaluation
    curve = sweep(evaluation.verdicts.score, evaluation.should_trigger)
    best = best_threshold(curve)
    assert best is not None
    assert result["best"]["threshold"] == pytest.approx(curve.setting(best.index))
    assert result["best"]["in_sample"]["coverage"] == pytest.approx(
        curve.metrics(best.index).coverage
    )
    code, out, err = run(here, *words, "cache")
    assert (code, out) == (2, "")
    assert "cache" in err
