"""`--format brief`: the loop of an agent by one short answer each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run

from .test_history import BETTER, EVAL, WORSE, topic, write

__all__ = ["topic"]  # the fixture


def brief(run: Run, *words: str, code: int = 0) -> dict[str, Any]:
    result = run(*words, "--format", "brief")
    assert result.code == code, result.err
    assert len(result.out.encode()) <= 8_000
    document: dict[str, Any] = json.loads(result.out)
    assert document["kind"] == "brief"
    return document


def test_eval_compares_with_the_baseline_of_the_app(run: Run, topic: Path) -> None:
    first = brief(run, *EVAL)
    assert (first["iteration"], first["baseline"]) == (None, None)
    assert first["judgement"]["code"] == "no_baseline"
    first = brief(run, *EVAL, "--record")
    assert (first["iteration"], first["baseline"]) == (0, None)
    write(BETTER)
    second = brief(run, *EVAL, "--record")
    assert (second["iteration"], second["baseline"]) == (1, 0)
    assert second["judgement"] == {
        "code": "better",
        "text": "better for the engine; a scan of the guardrail decides",
    }
    assert second["metrics"]["fixes"] >= len(second["fixed"]) > 0
    run("history", "keep", "t.yaml")
    write(WORSE)
    assert brief(run, *EVAL)["baseline"] == 1
    worse = brief(run, *EVAL, "--record")
    assert (worse["baseline"], worse["judgement"]["code"]) == (1, "worse")
    run("history", "pin", "0", "t.yaml")
    assert brief(run, *EVAL)["baseline"] == 0
    assert brief(run, *EVAL, "--baseline", "1")["baseline"] == 1


def test_export_of_an_iteration_gives_the_figures_of_its_evaluation(run: Run, topic: Path) -> None:
    brief(run, *EVAL, "--record")
    write(BETTER)
    evaluated = brief(run, *EVAL, "--record")
    exported = brief(run, "export", "t.yaml", "--iteration", "1")
    assert {key: exported[key] for key in exported if key != "next_command"} == {
        key: evaluated[key] for key in evaluated if key != "next_command"
    }
    assert run("export", "t.yaml", "-o", "r.brief.json").code == 0
    assert json.loads(Path("r.brief.json").read_text("utf-8"))["kind"] == "brief"
