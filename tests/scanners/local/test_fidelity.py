"""The fidelity benchmark: its figures against scikit-learn, its JSON, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "fidelity.py"
CASE = {
    "id": "money/tax",
    "name": "Tax advice",
    "description": "Questions about paying less income tax",
    "examples": ["How can I lower my tax bill?", "Is my home office deductible?"],
    "intent": "block",
    "prompts": ["What can I deduct from taxes?", "Bake a cake", "tax return due date", "rain?"],
    "expected": [True, False, True, False],
}


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fidelity", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fidelity"] = module
    spec.loader.exec_module(module)
    return module


fidelity = loaded()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2).filter(
        lambda rows: len({label for _, label in rows}) == 2
    )
)
def test_area_equals_that_of_scikit_learn(rows: list[tuple[int, bool]]) -> None:
    z, label = (np.array(column) for column in zip(*rows, strict=True))
    assert fidelity.area(z.astype(float), label) == pytest.approx(roc_auc_score(label, z))


@pytest.mark.process
def test_json_has_the_agreed_keys_and_intent_does_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    allow = CASE | {"id": "other/tax", "intent": "allow"}
    file.write_text(json.dumps(CASE) + "\n\n" + json.dumps(allow) + "\n")
    result = run(str(file), "--encoder", "static", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    figures = json.loads(result.stdout)
    assert set(figures) == {"overall", "families"}
    assert set(figures["overall"]) == {"cases", "auc", "coverage", "best_coverage"}
    assert figures["overall"]["cases"] == 2
    assert figures["families"]["money"] == figures["families"]["other"]
    assert figures["overall"]["auc"] == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"expected": [True]}, "4 prompts but 1 labels"),
        ({"expected": [True] * 4}, "prompts of one class only"),
        ({"intent": "deny"}, "intent is neither block nor allow"),
        ({"name": 1}, "name is not a text"),
        ({"examples": "one"}, "examples is not a list of texts"),
    ],
)
def test_bad_cases_are_named_by_file_and_line(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(CASE) + "\n" + json.dumps(CASE | change) + "\n")
    with pytest.raises(ValueError, match=message) as caught:
        fidelity.read_cases(file)
    assert str(caught.value).startswith(f"{file}, line 2: ")


@pytest.mark.parametrize("content", ["", "not json", '{"id": "a/b"}', "[]"])
def test_bad_files_end_with_code_2(tmp_path: Path, content: str) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(content)
    assert fidelity.main([str(file)]) == 2
    assert fidelity.main([str(tmp_path / "none.jsonl")]) == 2
