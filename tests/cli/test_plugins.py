"""`--plugin` and `--metric`: scorers, metrics and reducers of a user's own file in the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guardtui.scorer import registry

from .conftest import ROOT, TOPIC, Run, prompts_csv

PLUGIN = """
from guardtui.scorer import (
    CORRECT, Metric, SampleScore, Score, Scorer, Target, TaskState, Value, accuracy, metric,
    score, score_reducer, scorer,
)

@scorer(metrics=[accuracy()])
def agreeing() -> Scorer:
    async def judge(state: TaskState, target: Target) -> Score:
        others = await score(state)
        right = all(one.value == CORRECT for one in others)
        return Score(value="C" if right else "I", metadata={"others": len(others)})
    return judge

@metric
def cost(missed: float = 5.0) -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        outcomes = [one.sample_metadata["outcome"] for one in scores]
        return missed * outcomes.count("FN") + outcomes.count("FP")
    return measure

@metric
def nothing() -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        return float("nan")
    return measure

@metric
def broken() -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        raise RuntimeError("no \\x1b[2J good")
    return measure

@score_reducer
def last():
    def reduce(scores):
        return scores[-1]
    return reduce
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    registry.load_own()  # once in a process: not into the copy, which goes with the test
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    Path("mine.py").write_text(PLUGIN, "utf-8")
    Path("topic.yaml").write_text(TOPIC, "utf-8")
    Path("prompts.csv").write_text(prompts_csv(), "utf-8")
    Path("o.csv").write_text("input,target,output\nq,yes,oh yes\nq,yes,yes or no\n", "utf-8")


# --- guardtui score -------------------------------------------------------------------------------

SCORE = ("score", "o.csv", "--plugin", "mine.py", "--scorer")


def test_a_scorer_of_a_file_asks_the_other_scorers(command: Run) -> None:
    words = ("agreeing()", "--scorer", "match()", "--scorer", "includes()", "--format", "json")
    code, out, err = command(*SCORE, *words)
    assert (code, err) == (0, "")
    results = [one for one in json.loads(out)["results"] if one["scorer"] == "agreeing"]
    assert [one["value"] for one in results] == ["C", "I"]
    assert [one["score_metadata"] for one in results] == [{"others": 2}, {"others": 2}]


def test_score_needs_another_scorer(command: Run) -> None:
    code, _, err = command(*SCORE, "agreeing()")
    assert code == 3
    assert "score() needs a task with other scorers" in err


def test_scorers_that_ask_each_other_come_to_an_end(command: Run) -> None:
    words = ("agreeing()", "--scorer", "agreeing()", "--scorer", "match()", "--format", "json")
    code, out, _ = command(*SCORE, *words)
    assert code == 0
    assert [one["value"] for one in json.loads(out)["results"]] == ["C"] * 3 + ["I"] * 3


def test_a_reducer_of_a_file(command: Run) -> None:
    Path("o.csv").write_text("id,epoch,input,target,output\na,1,q,yes,no\na,2,q,yes,yes\n")
    code, out, _ = command(*SCORE, "match()", "--reducer", "last")
    assert code == 0
    assert "epochs by last\naccuracy   1.000\n" in out


@pytest.mark.parametrize("words", [SCORE[:2], ("eval", "topic.yaml", "--prompts", "prompts.csv")])
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import no_such_module\n", "mine.py:1: ModuleNotFoundError: No module named"),
        ("x = 1\ndef f(:\n", "mine.py:2: SyntaxError: "),
        ("\n1 / 0\n", "mine.py:2: ZeroDivisionError: division by zero"),
        ("raise SystemExit(7)\n", "mine.py:1: SystemExit: 7"),
        (None, "mine.py: No such file or directory"),
    ],
)
def test_a_failing_file_is_reported_with_its_line(
    words: tuple[str, ...], code: str | None, told: str, command: Run
) -> None:
    Path("mine.py").unlink()
    if code is not None:
        Path("mine.py").write_text(code, "utf-8")
    scorer = ("--scorer", "match()") if words[0] == "score" else ()
    result = command(*words, *scorer, "--plugin", "mine.py")
    assert result[:2] == (2, "")
    assert told in result[2]


def test_a_file_that_registers_nothing_is_reported(command: Run) -> None:
    Path("mine.py").write_text("print('hello')\n", "utf-8")
    code, out, err = command(*SCORE, "match()")
    assert code == 0
    assert "hello" not in out
    assert "mine.py: it registers nothing" in err


# --- guardtui eval --------------------------------------------------------------------------------

EVAL = (
    "eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static",
    "--plugin", "mine.py",
)  # fmt: skip


def test_a_metric_is_shown_beside_the_built_in_ones(command: Run) -> None:
    words = ("--threshold", "0.99", "--metric", "cost(missed=2)", "--metric", "nothing")
    code, out, err = command(*EVAL, *words, "--metric", "tpr")
    assert (code, err) == (0, "")
    rows = dict(line.split()[:2] for line in out.splitlines() if len(line.split()) > 1)
    assert (rows["cost(missed=2)"], rows["nothing"], rows["tpr"]) == ("4.000", "n/a", "0.600")


@pytest.mark.parametrize("name", ["table", "md", "html", "json"])
def test_reports_have_it(name: str, command: Run) -> None:
    words = ("--threshold", "0.99", "--metric", "cost", "--metric", "nothing", "--format", name)
    code, out, _ = command(*EVAL, *words)
    assert code == 0
    if name == "json":
        assert json.loads(out)["own_metrics"] == [
            {"name": "cost", "value": 10.0, "error": None},
            {"name": "nothing", "value": None, "error": None},
        ]
    else:
        assert "cost" in out
        assert "10.000" in out
        assert "nothing" in out


@pytest.mark.parametrize("name", ["table", "md", "html", "json"])
def test_a_metric_that_raises_is_an_error_and_all_else_is_reported(name: str, command: Run) -> None:
    words = ("--metric", "broken", "--metric", "cost", "--format", name)
    code, out, err = command(*EVAL, *words, "--min-coverage", "0.1")
    assert code == 2
    assert "error: --metric broken: RuntimeError: no " in err
    assert "gate" in err
    assert "\x1b" not in out
    assert "\x1b" not in err
    assert "0.000" in out or "0.0" in out
    assert "cost" in out


def test_an_unknown_metric_fails_before_the_work(
    command: Run,
) -> None:
    code, out, err = command(*EVAL, "--metric", "cosst")
    assert (code, out) == (2, "")
    assert "--metric: no metric is called 'cosst'" in err
    assert "did you mean cost" in err


def test_files_beside_a_topic_are_not_run(command: Run) -> None:
    for name in ("plugin.py", "conftest.py", "sitecustomize.py", "guardtui_plugin.py"):
        Path(name).write_text("raise SystemExit(9)\n", "utf-8")
    assert command(*EVAL[:-2])[0] == 0


def test_the_schema_knows_the_key() -> None:
    schema = json.loads((ROOT / "guardtui/schemas/report.schema.json").read_text("utf-8"))
    assert "own_metrics" in schema["properties"]
