"""The Python API: the figures of the commands, from files, in a script and in a notebook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import guardtui
from guardtui.cli import diagnostics
from guardtui.cli.main import cli

SAMPLES = Path(__file__).parent.parent / "sample_data"
RATES = ("coverage", "tpr", "tnr", "accuracy", "precision", "f1")

ROWS = (
    ("How much tax do I owe?", "true"),
    ("Can I deduct my home office?", "true"),
    ("How do I bake bread?", "false"),
    ("Tell me a story about a dragon.", "false"),
)


@pytest.fixture(scope="module")
def tax() -> tuple[guardtui.Topic, guardtui.PromptSet]:
    return _sample("tax-advice")


def _sample(name: str) -> tuple[guardtui.Topic, guardtui.PromptSet]:
    return (
        guardtui.load_topic(SAMPLES / f"{name}.yaml"),
        guardtui.load_prompts(str(SAMPLES / f"{name}.csv")),
    )


def _files(folder: Path, topic_intent: str = "", intent: str = "") -> tuple[Path, Path]:
    """Write a topic and four prompts, each with an intent or without."""
    topic, prompts = folder / "t.yaml", folder / "p.csv"
    given = f"intent: {topic_intent}\n" if topic_intent else ""
    topic.write_text(f"name: Tax\ndescription: Advice on income tax\n{given}", "utf-8")
    header = "prompt,expected,intent" if intent else "prompt,expected"
    rows = [",".join(filter(None, (*row, intent))) for row in ROWS]
    prompts.write_text("\n".join((header, *rows, "")), "utf-8")
    return topic, prompts


def _reported(capfd: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return the JSON report of a command."""
    arguments = [*words, "--format", "json"]
    code = diagnostics.run(lambda: cli.main(arguments, prog_name="guardtui", standalone_mode=False))
    out, err = capfd.readouterr()
    assert code == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


@pytest.mark.parametrize(
    "encoder",
    [
        "static",
        pytest.param("minilm", marks=pytest.mark.exhaustive),
        pytest.param("pair", marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("name", ["tax-advice", "airline-service", "harm-intent"])
def test_figures_of_a_sample_are_those_of_eval(
    name: str, encoder: str, capfd: pytest.CaptureFixture[str]
) -> None:
    files = (
        f"{SAMPLES / name}.yaml",
        "--prompts",
        f"{SAMPLES / name}.csv",
        "--set",
        f"encoder={encoder}",
    )
    topic, prompts = _sample(name)
    for threshold in ("fitted", "built-in", 0.3):
        report = _reported(capfd, "eval", *files, "--threshold", str(threshold))
        result = guardtui.evaluate(topic, prompts, threshold=threshold, encoder=encoder)  # type: ignore[arg-type]
        assert result.threshold == report["threshold"]
        assert {rate: getattr(result, rate) for rate in RATES} == report["rates"]
        for count in ("tp", "tn", "fp", "fn"):
            assert getattr(result, count) == report["metrics"][count]
        for rate in RATES:
            reported = report["intervals"].get(rate)
            expected = reported and (reported["low"], reported["high"])
            assert result.interval(rate) == expected
        wrong = [
            (one["prompt"], one["expected_label"], one["outcome"], one["score"], row)
            for row, one in enumerate(report["results"])
            if one["outcome"] in ("FP", "FN")
        ]
        assert wrong == [
            (one.prompt, one.expected, one.outcome, one.score, one.row) for one in result.mistakes
        ]


def test_documented_figure_of_the_sample(tax: tuple[guardtui.Topic, guardtui.PromptSet]) -> None:
    result = guardtui.evaluate(*tax, encoder="static")
    assert result.coverage == pytest.approx(0.64)
    assert "coverage=0.640" in repr(result)


async def test_evaluation_runs_where_an_event_loop_runs(
    tax: tuple[guardtui.Topic, guardtui.PromptSet],
) -> None:
    assert guardtui.evaluate(*tax, encoder="static").coverage == pytest.approx(0.64)


def test_comparison_lists_what_an_edit_fixed_and_broke(
    tax: tuple[guardtui.Topic, guardtui.PromptSet],
) -> None:
    topic, prompts = tax
    edited = topic.model_copy(update={"description": "Questions about income tax"})
    before = guardtui.evaluate(topic, prompts, encoder="static")
    after = guardtui.evaluate(edited, prompts, encoder="static")
    compared = guardtui.compare(before, after)
    assert compared.fixed
    assert compared.broke
    assert compared.fixed == [one for one in before.mistakes if one not in _same(before, after)]
    assert len(before.mistakes) - len(compared.fixed) == len(after.mistakes) - len(compared.broke)
    assert {one.row for one in compared.broke} <= {one.row for one in after.mistakes}
    assert before.coverage is not None
    assert after.coverage is not None
    assert compared.change == pytest.approx(after.coverage - before.coverage)
    assert compared.interval is not None
    assert compared.interval[0] <= compared.change <= compared.interval[1]
    assert f"{len(compared.fixed)} fix" in repr(compared)


def _same(
    before: guardtui.EvaluationResult, after: guardtui.EvaluationResult
) -> list[guardtui.Mistake]:
    """Return the mistakes of the first that the second makes too."""
    rows = {one.row for one in after.mistakes}
    return [one for one in before.mistakes if one.row in rows]


def test_comparison_matches_prompts_by_their_text(tmp_path: Path) -> None:
    topic = guardtui.load_topic(_files(tmp_path, "block")[0])
    sets = []
    for number, rows in enumerate((ROWS, [("Who wrote Faust?", "false"), *reversed(ROWS[1:])])):
        path = tmp_path / f"{number}.csv"
        lines = [f"{prompt},{label},block" for prompt, label in rows]
        path.write_text("\n".join(("prompt,expected,intent", *lines, "")), "utf-8")
        sets.append(guardtui.load_prompts(path))
    strict = guardtui.evaluate(topic, sets[0], threshold=0.999, encoder="static")
    lenient = guardtui.evaluate(topic, sets[1], threshold=0.001, encoder="static")
    compared = guardtui.compare(strict, lenient)
    assert [(one.prompt, one.outcome, one.row) for one in compared.fixed] == [(ROWS[1][0], "FN", 1)]
    assert [(one.prompt, one.outcome, one.row) for one in compared.broke] == [
        (ROWS[3][0], "FP", 1),
        (ROWS[2][0], "FP", 2),
    ]
    assert any("1 prompt added" in caveat for caveat in compared.caveats)
    nothing = guardtui.compare(strict, strict)
    assert (nothing.fixed, nothing.broke, nothing.change) == ([], [], 0)


@pytest.mark.parametrize(
    ("topic_intent", "intent", "agreed"),
    [
        ("", "", "block"),
        ("allow", "", "allow"),
        ("", "allow", "allow"),
        ("allow", "allow", "allow"),
    ],
)
def test_missing_intent_is_that_of_the_other_file(
    tmp_path: Path, topic_intent: str, intent: str, agreed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    files = _files(tmp_path, topic_intent, intent)
    topic, prompts = guardtui.load_topic(files[0]), guardtui.load_prompts(files[1])
    result = guardtui.evaluate(topic, prompts, threshold="built-in", encoder="static")
    assert result.topic.intent == agreed
    report = _reported(
        capfd, "eval", str(files[0]), "--prompts", str(files[1]), "--set", "encoder=static"
    )
    assert {rate: getattr(result, rate) for rate in RATES} == report["rates"]


def test_different_intents_are_refused_with_both_places(tmp_path: Path) -> None:
    files = _files(tmp_path, "block", "allow")
    topic, prompts = guardtui.load_topic(files[0]), guardtui.load_prompts(files[1])
    with pytest.raises(guardtui.GuardtuiError, match=r"p\.csv:2: the intent is allow, but that of"):
        guardtui.evaluate(topic, prompts, encoder="static")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"guardrail": "airs:prod"}, "use 'engine', or the command 'guardtui eval'"),
        ({"guardrail": "pair"}, "use 'engine'"),
        ({"encoder": "bert"}, "choose one of pair, minilm, static"),
        ({"threshold": 0}, "not a number between 0 and 1"),
        ({"threshold": 1.0}, "not a number between 0 and 1"),
        ({"threshold": float("nan")}, "not a number between 0 and 1"),
        ({"threshold": "0.5"}, "nor 'fitted' or 'built-in'"),
        ({"threshold": None}, "nor 'fitted' or 'built-in'"),
    ],
    ids=str,
)
def test_invalid_argument_error_says_what_is_possible(
    tax: tuple[guardtui.Topic, guardtui.PromptSet], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        guardtui.evaluate(*tax, **arguments)


def test_fit_to_too_few_labels_is_refused_with_a_remedy(tmp_path: Path) -> None:
    topic, prompts = _files(tmp_path, "block")
    with pytest.raises(guardtui.GuardtuiError, match="pass threshold='built-in' or a number"):
        guardtui.evaluate(
            guardtui.load_topic(topic), guardtui.load_prompts(prompts), encoder="static"
        )


def test_unknown_interval_error_lists_the_metrics(
    tax: tuple[guardtui.Topic, guardtui.PromptSet],
) -> None:
    result = guardtui.evaluate(*tax, encoder="static")
    with pytest.raises(ValueError, match="coverage, tpr, tnr, accuracy, precision, f1"):
        result.interval("true_positive_rate")


@pytest.mark.parametrize("name", ["none.yaml", "none.csv"])
def test_missing_file_error_names_it(name: str) -> None:
    load = guardtui.load_topic if name.endswith("yaml") else guardtui.load_prompts
    with pytest.raises(guardtui.GuardtuiError, match=f"{name}: no such file"):
        load(name)


def test_every_public_name_has_a_description_and_no_other_name_is_found() -> None:
    for name in guardtui.__all__:
        assert len(getattr(guardtui, name).__doc__) > 30
        assert f"`{name}`" in (guardtui.__doc__ or "")
    assert set(guardtui.__all__) <= set(dir(guardtui))
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        guardtui.evalute  # type: ignore[attr-defined]  # noqa: B018
