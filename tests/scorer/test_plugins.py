"""Files of the user's own that register scorers, metrics and reducers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from guardtui.scorer import parse_metric, parse_reducer, parse_scorer, registry
from guardtui.scorer.plugins import PluginError, load_plugin
from tests.scorer.samples import score_of

CODE = """
from dataclasses import dataclass
from guardtui.scorer import (
    CORRECT, INCORRECT, Metric, SampleScore, Score, Scorer, Target, TaskState, Value, accuracy,
    mean_score, metric, score_reducer, scorer, ScoreReducer,
)

@dataclass
class Option:
    word: str

@scorer(metrics=[accuracy()])
def polite(word: str = "please") -> Scorer:
    '''Whether the output says a word.'''
    async def score(state: TaskState, target: Target) -> Score:
        said = Option(word).word in state.output.completion
        return Score(value=CORRECT if said else INCORRECT)
    return score

@metric
def largest() -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        return max(one.score.as_float() for one in scores)
    return measure

@score_reducer
def last() -> ScoreReducer:
    def reduce(scores: list[Score]) -> Score:
        return scores[-1]
    return reduce
"""


@pytest.fixture(autouse=True)
def _registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.load_own()
    registry.load_own()  # once in a process: not into the copy, which goes with the test
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))


def written(folder: Path, code: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(code, "utf-8")
    return path


def test_what_a_file_registers_is_found_by_its_name(tmp_path: Path) -> None:
    plugin = load_plugin(written(tmp_path, CODE))
    assert plugin.names == (("scorer", "polite"), ("metric", "largest"), ("score_reducer", "last"))
    assert score_of(parse_scorer('polite("yes")'), "oh yes", "").value == "C"
    assert callable(parse_metric("largest()"))
    assert callable(parse_reducer("last"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_a_file_is_run_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "print('run')")
    assert load_plugin(path) is load_plugin(str(path))
    assert capsys.readouterr() == ("", "run\n")


def test_modules_beside_it_can_be_imported(tmp_path: Path) -> None:
    written(tmp_path, "WORD = 'hello'", "words_of_the_plugin.py")
    before = list(sys.path)
    load_plugin(written(tmp_path, "from words_of_the_plugin import WORD\nassert WORD == 'hello'"))
    assert sys.path == before


@pytest.mark.parametrize(
    ("code", "line", "problem"),
    [
        ("x = (\n", 1, "SyntaxError: '(' was never closed"),
        ("\nimport no_such_module\n", 2, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f():\n    raise KeyError('k')\n\nf()\n", 2, "KeyError: 'k'"),
        ("raise SystemExit(3)", 1, "SystemExit: 3"),
        ("# -*- coding: nonsense -*-\n", 1, "SyntaxError: "),
        ("x = '\0'", None, "source code string cannot contain null bytes"),
    ],
)
def test_failing_file_is_reported_with_its_line(
    tmp_path: Path, code: str, line: int | None, problem: str
) -> None:
    path = written(tmp_path, code)
    modules = set(sys.modules)
    with pytest.raises(PluginError) as caught:
        load_plugin(path)
    assert problem in caught.value.problem
    assert str(caught.value).startswith(f"{path}:")
    if line is not None and "coding" not in code:
        assert caught.value.line == line
    assert not [name for name in set(sys.modules) - modules if "plugin" in name]


def test_missing_file_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "none.py", tmp_path):
        with pytest.raises(PluginError):
            load_plugin(path)
