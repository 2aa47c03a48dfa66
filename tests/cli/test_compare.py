"""`guardtui compare`: every word that names an evaluation, every form, and every bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from guardtui.session.evaluation_refs import RecordedEvaluation, find_evaluation
from guardtui.session.session import Decision, Iteration
from guardtui.session.store import SessionStore

from .conftest import NEGATIVE, TOPIC, Run, run_here, write_inputs

EVAL = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """a.json with every prompt triggered, b.json with none, airs.json as `airs` tells b.json."""
    folder = write_inputs(tmp_path_factory.mktemp("evaluations"))
    line: tuple[str, ...] = (*EVAL, "--threshold", "0.0001", "-o", "a.json")
    assert run_here(line, folder, environment).code == 0
    changed = TOPIC.replace("personal income", "=income").replace("When is", "When on earth is")
    (folder / "other.yaml").write_text(changed, "utf-8")
    line = ("eval", "other.yaml", *EVAL[2:], "--threshold", "0.9999", "-o", "b.json")
    assert run_here(line, folder, environment).code == 0
    document = json.loads((folder / "b.json").read_text("utf-8"))
    airs = {key: document[key] for key in ("profile", "topic", "intent", "metrics")}
    for name in ("false_positives", "false_negatives"):
        keys = ("prompt", "expected", "actual")
        airs[name] = [{key: one[key] for key in keys} for one in document[name]]
    (folder / "airs.json").write_text(json.dumps(airs), "utf-8")
    return folder


@pytest.fixture
def reports(folder: Path, evaluations: Path) -> Path:
    """The folder of the test, with the files of the evaluations, which are made once."""
    for name in ("other.yaml", "a.json", "b.json", "airs.json"):
        shutil.copy(evaluations / name, folder)
    return folder


@pytest.fixture
def session(reports: Path, monkeypatch: pytest.MonkeyPatch) -> SessionStore:
    """Iterations 0 (kept, a), 1 (kept, b), 2 (discarded, a); 0 is pinned."""
    monkeypatch.chdir(reports)
    store = SessionStore(reports / "topic.yaml")
    store.use_prompt_file("prompts.csv")
    decisions = (("a", Decision.KEEP), ("b", Decision.KEEP), ("a", Decision.DISCARD))
    for number, (name, decision) in enumerate(decisions):
        result = find_evaluation(f"{name}.json")
        assert isinstance(result, RecordedEvaluation)
        created = f"2026-01-01T00:0{number}:00Z"
        store.add_iteration(Iteration(number, created, decision, result.evaluation))
    store.pin(0)
    return store


def compared(run: Run, before: str, after: str) -> dict[str, Any]:
    done = run("compare", before, after, "--format", "json")
    assert done.code == 0, done.err
    document: dict[str, Any] = json.loads(done.out)
    return document


def test_two_reports(run: Run, reports: Path) -> None:
    document = compared(run, "a.json", "b.json")
    before, after = (json.loads((reports / f"{name}.json").read_text("utf-8")) for name in "ab")
    # Held against each other by hand, from the texts of the two reports.
    then = {one["prompt"]: one["outcome"] for one in before["results"]}
    lost = [
        (one["prompt"], one["line"], then[one["prompt"]], one["outcome"])
        for one in after["results"]
        if then[one["prompt"]] in ("TP", "TN") and one["outcome"] in ("FP", "FN")
    ]
    assert lost
    assert [
        (one["prompt"], one["line"], one["was"], one["outcome"])
        for one in document["results"]
        if one.get("change") == "regression"
    ] == lost
    assert {one["prompt"] for one in document["fixes"]} <= set(NEGATIVE)
    comparison = document["comparison"]
    assert comparison["changes"] == ["description −8 bytes", "example 2 replaced"]
    assert any("different thresholds" in one for one in comparison["caveats"])
    assert (document["name"], comparison["baseline"]["name"]) == ("b.json", "a.json")
    assert comparison["baseline"]["measured"]["rates"] == before["rates"]
    assert document["rates"] == after["rates"]
    # `eval` with a baseline says the same of the same two.
    line = (*EVAL, "--threshold", "0.9999", "--baseline", "a.json", "--format", "json")
    by_eval = json.loads(run("eval", "other.yaml", *line[2:]).out)
    assert by_eval["comparison"]["significance"] == comparison["significance"]
    assert by_eval["comparison"]["deltas"] == comparison["deltas"]
    assert [one["prompt"] for one in by_eval["regressions"]] == [one[0] for one in lost]


def test_every_form(run: Run, reports: Path) -> None:
    table = run("compare", "a.json", "b.json")
    assert (table.code, table.err) == (0, "")
    assert "\nThe baseline: the engine " in table.out
    assert "\nbaseline   a.json\n" in table.out
    assert "\n  description  − Advice on filing personal income tax returns\n" in table.out
    assert "\n               + Advice on filing =income tax returns\n" in table.out
    done = run("compare", "a.json", "b.json", "-o", "c.md", "-o", "c.json", "-o", "c.html")
    assert (done.code, done.out, done.err) == (0, "", "")
    for name, form in (("c.md", "md"), ("c.json", "json"), ("c.html", "html")):
        again = run("compare", "a.json", "b.json", "--format", form)
        assert (reports / name).read_text("utf-8") == again.out
    assert (reports / "c.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_iterations_of_a_session(run: Run, session: SessionStore) -> None:
    for word, number in (
        ("topic.yaml", 0),
        ("topic.yaml@best", 0),
        ("topic.yaml@1", 1),
        ("topic.yaml@last", 2),
        ("topic.yaml@kept", 1),
        ("topic.yaml@pinned", 0),
        ("./topic.yaml@02", 2),
    ):
        comparison = compared(run, word, "b.json")["comparison"]
        best = find_evaluation("topic.yaml@best")
        assert isinstance(best, RecordedEvaluation)
        expected = best.number if word in ("topic.yaml", "topic.yaml@best") else number
        assert (word, comparison["baseline_iteration"]) == (word, expected)
    absolute = str(Path("topic.yaml").resolve())
    assert run("compare", f"{absolute}@0", f"{absolute}@1").code == 0
    table = run("compare", "topic.yaml@0", "topic.yaml@1").out
    assert "\nbaseline   topic.yaml, iteration 0 (keep)\n" in table
    assert NEGATIVE[0] in table  # the texts are those of the session's prompt file


def test_a_session_without_its_files(run: Run, session: SessionStore, folder: Path) -> None:
    shutil.move(folder / "prompts.csv", folder / "away.csv")
    shutil.move(folder / "topic.yaml", folder / "away.yaml")
    done = run("compare", "topic.yaml@0", "topic.yaml@1")
    assert done.code == 0
    assert done.err.count("warning: ") == 1
    assert "the texts of the prompts are missing" in done.err
    assert "(no longer in the prompt file)" in done.out
    assert run("compare", "topic.yaml", "a.json").code == 0


def test_a_name_with_the_sign_in_it_is_a_file_first(run: Run, session: SessionStore) -> None:
    shutil.copy("b.json", "topic.yaml@0")
    comparison = compared(run, "topic.yaml@0", "a.json")["comparison"]
    assert (comparison["baseline"]["name"], comparison["baseline_iteration"]) == (
        "topic.yaml@0",
        None,
    )


def test_json_of_airs_is_compared_by_its_mistakes(run: Run, reports: Path) -> None:
    document = compared(run, "a.json", "airs.json")
    assert document["kind"] == "mistakes"
    before, after = (json.loads((reports / f"{name}.json").read_text("utf-8")) for name in "ab")
    wrong = [
        {one["prompt"] for one in told["results"] if one["outcome"] in ("FP", "FN")}
        for told in (before, after)
    ]
    for key, expected in (
        ("mistakes_only_in_a", wrong[0] - wrong[1]),
        ("mistakes_only_in_b", wrong[1] - wrong[0]),
        ("mistakes_in_both", wrong[0] & wrong[1]),
    ):
        assert {one["prompt"] for one in document[key]} == expected
    assert document["b"]["measured"]["rates"]["tpr"] == after["metrics"]["tpr"]
    done = run("compare", "airs.json", "airs.json")
    assert done.code == 0
    assert "A and B list mistakes only: what the difference is worth cannot be told" in done.out
    for form in ("md", "html"):
        assert run("compare", "a.json", "airs.json", "--format", form).code == 0
    refused = run("compare", "a.json", "airs.json", "--format", "junit")
    assert (refused.code, refused.out) == (2, "")
    assert "of one side only the mistakes are known" in refused.err
    refused = run(*EVAL, "--baseline", "airs.json")
    assert (refused.code, refused.out) == (2, "")
    assert "airs.json: lists only the wrongly judged prompts" in refused.err


def test_a_baseline_may_be_any_iteration(run: Run, session: SessionStore) -> None:
    for word, number in (("last", 1), ("pinned", 0), ("2", 2), ("topic.yaml@last", 2)):
        document = json.loads(run(*EVAL, "--baseline", word, "--format", "json").out)
        assert document["comparison"]["baseline_iteration"] == number


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.json"], "Missing argument 'B'"),
        (["a.json", "gone.json"], "gone.json: no such file"),
        (["gone.yaml", "a.json"], "gone.yaml: no such file"),
        (["gone.yaml@2", "a.json"], "gone.yaml: no such file"),
        (["other.yaml", "a.json"], "other.yaml: no kept iteration"),
        (["topic.yaml@7", "a.json"], "no iteration 7 to compare with\n  existing: 0, 1"),
        (["topic.yaml@x", "a.json"], "topic.yaml: 'x' names no iteration"),
        (["topic.yaml@", "a.json"], "topic.yaml: '' names no iteration"),
        (["topic.yaml@-1", "a.json"], "topic.yaml: '-1' names no iteration"),
        (["a.json", "prompts.csv"], "prompts.csv:1: is not JSON"),
        (["a.json", "."], ".: is a folder"),
        (["a.json", "/dev/null"], "/dev/null"),
        (["a.json", "x\x1b[31m.json"], "␛[31m"),
        (["a.json", "empty.json"], "empty.json: the file is empty"),
        (["a.json", "cut.json"], "cut.json:1: is not JSON"),
        (["a.json", "list.json"], "list.json: not a report of guardtui"),
        (["a.json", "lint.json"], "lint.json: is JSON of guardtui, but not a report on prompts"),
        (["a.json", "newer.json"], "newer.json: has schema_version 99"),
        (["a.json", "counts.json"], "counts 9 false positives"),
        (["a.json", "damaged.json"], "damaged.json: is damaged or was edited"),
        (["a.json", "bare.json"], "bare.json: lacks the texts of its prompts"),
        (["a.json", "b.json", "-o", "b.json"], "b.json: this is an input"),
        (["topic.yaml@0", "b.json", "-o", "topic.yaml"], "topic.yaml: this is an input"),
        (
            ["topic.yaml@0", "b.json", "--format", "md", "-o", "prompts.csv"],
            "prompts.csv: this is an input",
        ),
        (
            ["topic.yaml@0", "b.json", "--format", "md", "-o", ".guardtui/sessions.sqlite3"],
            "sessions.sqlite3: sessions are stored in this folder",
        ),
        (["a.json", "huge.json"], "huge.json: is damaged or was edited"),
        (["a.json", "b.json", "-o", "c.pdf"], "c.pdf: .pdf is not the ending of a report"),
        (["a.json", "b.json", "--format", "pdf"], "unknown report format 'pdf'"),
    ],
)
def test_bad_input_is_reported_with_exit_code_2(
    run: Run, session: SessionStore, folder: Path, words: list[str], said: str
) -> None:
    report = json.loads((folder / "a.json").read_text("utf-8"))
    airs = json.loads((folder / "airs.json").read_text("utf-8"))
    texts = {
        "empty.json": "",
        "cut.json": '{"schema',
        "list.json": "[1]",
        "lint.json": '{"schema_version": 1, "findings": []}',
        "newer.json": json.dumps(report | {"schema_version": 99}),
        "counts.json": json.dumps(airs | {"metrics": airs["metrics"] | {"fp": 9}}),
        "huge.json": json.dumps(airs | {"metrics": airs["metrics"] | {"tp": 10**400}}),
        "damaged.json": json.dumps(airs | {"metrics": {"tp": "many"}}),
        "bare.json": json.dumps(
            report | {"results": [one | {"prompt": None} for one in report["results"]]}
        ),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    kept = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run("compare", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert said in done.err
    assert kept == {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert session.iterations()  # and what is recorded can still be read


def test_compare_writes_nothing(run: Run, reports: Path) -> None:
    before = sorted(path.name for path in reports.rglob("*"))
    assert run("compare", "topic.yaml", "a.json").code == 2
    assert run("compare", "a.json", "b.json").code == 0
    assert sorted(path.name for path in reports.rglob("*")) == before


def test_two_topics_on_one_prompt_set(run: Run, reports: Path) -> None:
    words = ("compare", "topic.yaml", "other.yaml", "--prompts", "prompts.csv")
    line = (*words, "--set", "encoder=static", "--threshold", "0.0001", "--format", "json")
    done = run(*line)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    same = compared(run, "a.json", "a.json")
    baseline = document["comparison"]["baseline"]
    assert document["metrics"] == same["metrics"]
    assert baseline["measured"] == same["comparison"]["baseline"]["measured"]
    assert baseline["name"] == "topic.yaml on prompts.csv"
    # Without a column of intents the topics give it, and a file may be as one likes.
    rows = (reports / "prompts.csv").read_text("utf-8").replace(",block,", ",")
    (reports / "p.csv").write_text(rows.replace(",intent,", ","), "utf-8")
    default = run("compare", "topic.yaml", "other.yaml", "--prompts", "p.csv", "-o", "c.md")
    assert default.code == 0, default.err
    assert "other.yaml on p.csv" in (reports / "c.md").read_text("utf-8")
    assert not (reports / ".guardtui").exists()  # nothing is recorded
