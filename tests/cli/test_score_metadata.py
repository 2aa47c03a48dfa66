"""`guardtui score`: metadata in reports, roles, reducers that lack epochs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guardtui.scorer import Score, Target, accuracy, registry, scorer

from .conftest import Run
from .grading_server import Answer, GradingServer, grading_server, said


def graded(_: str, before: int) -> Answer:
    return said("=1+1\x1b[2J\nGRADE: " + "CIC"[before % 3])


@pytest.fixture
def server() -> Iterator[GradingServer]:
    with grading_server(graded) as running:
        yield running


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    registry.load_own()  # once in a process: not into the copy, which goes with the test
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    Path("o.csv").write_text("input,target,output\nq,yes,yes\n", "utf-8")


def test_the_votes_of_a_panel_are_in_the_reports(server: GradingServer, score: Run) -> None:
    panel = [word for name in "abc" for word in ("--model", f"{server.url}#{name}")]
    words = ("o.csv", "--scorer", "model_graded_qa()", "--concurrency", "1", *panel, "--format")
    code, out, _ = score(*words, "json")
    assert code == 0
    metadata = json.loads(out)["results"][0]["score_metadata"]
    assert sorted(metadata["panel"]["votes"]) == ["C", "C", "I"]
    assert metadata["panel"]["size"] == 3
    prompt, reply = metadata["grading"]
    assert (prompt["role"], reply["role"]) == ("user", "assistant")
    assert reply["text"].startswith("=1+1\x1b[2J\nGRADE: ")
    code, out, _ = score(*words, "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert "\x1b" not in out
    assert '"votes": ["' in row["score_metadata"]
    assert row["score_metadata"][0] not in "=+-@"


def test_the_metadata_of_a_decorator_are_in_the_reports(
    score: Run,
) -> None:
    @scorer(metrics=[accuracy()], name="dated", revision=3, owner="=cmd()")
    def dated() -> Any:
        async def made(_: Any, __: Target) -> Score:
            return Score(value="C", metadata={"words": {"n": 2.5}})

        return made

    code, out, _ = score("o.csv", "--scorer", "dated()", "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert document["scorers"][0]["metadata"] == {"revision": 3, "owner": "=cmd()"}
    assert document["results"][0]["score_metadata"] == {"words": {"n": 2.5}}
    _, out, _ = score("o.csv", "--scorer", "dated()", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert json.loads(row["scorer_metadata"]) == {"revision": 3, "owner": "'=cmd()"}  # inert
    assert json.loads(row["score_metadata"]) == {"words": {"n": 2.5}}


def test_a_score_without_metadata_has_none(score: Run) -> None:
    _, out, _ = score("o.csv", "--scorer", "match()", "--format", "json")
    document = json.loads(out)
    assert document["scorers"][0]["metadata"] == {}
    assert document["results"][0]["score_metadata"] is None
    _, out, _ = score("o.csv", "--scorer", "match()", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["score_metadata"], row["scorer_metadata"]) == ("", "")


def test_a_role_without_a_model_is_an_error(server: GradingServer, score: Run) -> None:
    words = ("o.csv", "--scorer", "model_graded_qa(model_role='second')")
    model = ("--model", f"{server.url}#m")
    code, out, err = score(*words, *model)
    assert (code, out) == (2, "")
    assert "needs a model for the role 'second'" in err
    assert "--model-role second=URL#NAME" in err
    assert not server.prompts
    code, out, err = score(*words, "--model-role", f"second={server.url}#m")
    assert (code, err) == (0, "")
    assert f"model      {server.url}#m (second)" in out
    assert len(server.prompts) == 1


def test_a_role_of_several_models_is_a_panel(server: GradingServer, score: Run) -> None:
    roles = [word for name in "abc" for word in ("--model-role", f"grader={server.url}#{name}")]
    code, out, err = score("o.csv", "--scorer", "model_graded_qa()", *roles)
    assert (code, err) == (0, "")
    assert len(server.prompts) == 3
    assert "accuracy   1.000" in out
