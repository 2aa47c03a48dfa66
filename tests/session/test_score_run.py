"""A run of scores: rows, errors, epochs, groups and clusters, beside what summarise gives."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from guardtui.files.output_files import OutputSet, parse_outputs
from guardtui.scorer import (
    SampleScore,
    Score,
    accuracy,
    choice,
    includes,
    match,
    mean,
    metric,
    model_graded_qa,
    parse_reducer,
    scorer,
    stderr,
    use_models,
)
from guardtui.scorer.aggregate import summarise
from guardtui.scorer.reducers import reducer_by_name
from guardtui.scorer.state import Output
from guardtui.session.graders import Graders, ScoreError
from guardtui.session.score_run import (
    RowScores,
    ScorerResult,
    make_judges,
    sample_state,
    score_rows,
    summarised,
    with_standard_errors,
)


def outputs_of(text: str) -> OutputSet:
    return parse_outputs(Path("outputs.csv"), text.encode())


SUMS = outputs_of(
    "id,epoch,input,target,output,kind,person\n"
    "a,1,1+1,2,it is 2,easy,x\n"
    "a,2,1+1,2,it is 3,easy,x\n"
    "b,1,2+2,4,it is 4,hard,y\n"
    "b,2,2+2,4,it is 4,hard,y\n"
    "c,1,3+3,6,it is 5,easy,y\n"
    "c,2,3+3,6,it is 5,easy,y\n"
)


async def scores_of(outputs: OutputSet, one: Any, **options: Any) -> RowScores:
    (found,) = await score_rows(outputs, make_judges([("it()", one)], None), **options)
    return found


def values(result: ScorerResult) -> dict[str, float]:
    return {name: one.value for name, one in result.summaries[0].metrics.items()}


async def test_rows_and_epochs_are_scored_and_reduced() -> None:
    found = await scores_of(SUMS, match())
    assert [one and one.value for one in found.scores] == ["C", "I", "C", "C", "I", "I"]
    result = summarised(SUMS, found)
    assert values(result)["accuracy"] == pytest.approx(0.5)
    assert result.summaries[0].scored == 3
    # (0.5, 1, 0): deviation 0.5, over the root of 3.
    assert values(result)["stderr"] == pytest.approx(0.5 / math.sqrt(3))
    at_least = summarised(SUMS, found, [reducer_by_name("at_least_1"), reducer_by_name("mode")])
    assert [one.reducer for one in at_least.summaries] == ["at_least_1", "mode"]
    assert at_least.summaries[0].metrics["accuracy"].value == pytest.approx(2 / 3)


async def test_run_metrics_equal_those_of_summarise() -> None:
    result = await scores_of(SUMS, match())
    own = [
        SampleScore(score=score, sample_id=name)
        for score, name in zip(result.scores, SUMS.ids, strict=True)
        if score is not None
    ]
    assert summarised(SUMS, result).summaries == summarise(
        own, result.judge.metrics, scorer="match"
    )


async def test_metrics_are_computed_by_group_and_cluster() -> None:
    judges = make_judges([("match()", match())], [mean()])
    judges[0] = type(judges[0])(
        "match", "match()", match(), with_standard_errors(judges[0].metrics, "person")
    )
    (found,) = await score_rows(SUMS, judges)
    result = summarised(SUMS, found, group="kind", cluster="person")
    assert [(group.name, group.rows) for group in result.groups] == [("easy", 4), ("hard", 2)]
    by_group = {
        group.name: {name: metric.value for name, metric in group.summaries[0].metrics.items()}
        for group in result.groups
    }
    assert by_group["easy"]["mean"] == 0.25
    assert by_group["hard"] == {"mean": 1.0, "stderr": 0.0}
    # Means of samples 0.5 (x), 1 and 0 (y) around 0.5: both clusters add up to 0.
    assert values(result)["stderr"] == pytest.approx(0.0)


async def test_clusters_may_use_a_column_outside_the_metadata() -> None:
    judges = make_judges([("match()", match())], with_standard_errors([accuracy()], "id"))
    (found,) = await score_rows(SUMS, judges)
    clustered = values(summarised(SUMS, found, cluster="id"))["stderr"]
    plain = values(summarised(SUMS, await scores_of(SUMS, match())))["stderr"]
    assert clustered == pytest.approx(plain)


def test_standard_errors_are_added_only_once() -> None:
    def names(metrics: Any) -> list[str]:
        return [one.__qualname__.split(".")[0] for one in metrics]

    assert names(with_standard_errors([accuracy()], None)) == ["accuracy", "stderr"]
    assert names(with_standard_errors([stderr(), mean()], "c")) == ["stderr", "mean"]
    by_key = with_standard_errors({"*": [mean()]}, "c")
    assert isinstance(by_key, dict)
    assert names(by_key["*"]) == ["mean", "stderr"]
    (only,) = with_standard_errors([{"*": [mean()]}], None)
    assert isinstance(only, dict)
    assert names(only["*"]) == ["mean", "stderr"]


@scorer(metrics=[accuracy()])
def moody() -> Any:
    """Fails, declines, has no value or gives nonsense, as the output says."""

    async def score(state: Any, target: Any) -> Any:
        completion = state.output.completion
        if completion == "fail":
            raise RuntimeError("a \x1b[31mmood")
        if completion == "key":
            raise KeyError("column")
        if completion == "nonsense":
            return 1
        if completion == "none":
            return None
        return Score(value=math.nan if completion == "nan" else "C")

    return score


async def test_failing_row_does_not_end_the_run() -> None:
    words = ("fail", "good", "none", "nan", "nonsense", "key", "good")
    outputs = outputs_of("input,target,output\n" + "".join(f"q,t,{word}\n" for word in words))
    result = await scores_of(outputs, moody(), concurrency=3)
    assert result.errors == {
        0: "RuntimeError: a \x1b[31mmood",
        4: "the scorer returned no score but int",
        5: "'column' is not a column of the file",
    }
    assert (result.scored, result.unscored, result.declined) == (2, 1, 1)
    (summary,) = summarised(outputs, result).summaries
    assert (summary.metrics["accuracy"].value, summary.scored, summary.unscored) == (1.0, 2, 1)


async def test_metrics_without_scored_rows_are_undefined() -> None:
    outputs = outputs_of("input,target,output\nq,t,fail\n")
    result = summarised(outputs, await scores_of(outputs, moody()))
    assert math.isnan(values(result)["accuracy"])


async def test_choices_are_selected_by_the_output() -> None:
    outputs = outputs_of(
        "input,target,output,choices\n"
        'q,B,ANSWER: B,"[""x"", ""y""]"\n'
        'q,B,ANSWER: A,"[""x"", ""y""]"\n'
        'q,AB,"so\nANSWER: A, B","[""x"", ""y""]"\n'
        'q,A,it is A,"[""x"", ""y""]"\n'
        'q,A,,"[""x"", ""y""]"\n'
        "q,A,ANSWER: A,\n"
        'q,C,ANSWER: A,"[""x"", ""y""]"\n'
    )
    result = await scores_of(outputs, choice())
    scores = [(score.value, score.answer) if score is not None else None for score in result.scores]
    assert scores == [
        ("C", "B"), ("I", "A"), ("C", "A, B"), ("I", ""), ("N", ""), None, None,
    ]  # fmt: skip
    assert "no choices" in result.errors[5]
    assert "not among the choices A to B" in result.errors[6]


def test_state_has_all_fields_that_scorers_read() -> None:
    state = sample_state(SUMS, 3)
    assert (state.input_text, state.output.completion) == ("2+2", "it is 4")
    assert (state.sample_id, state.epoch) == ("b", 2)
    assert state.metadata == {"kind": "hard", "person": "y"}
    assert [(message.role, message.text) for message in state.messages] == [
        ("user", "2+2"), ("assistant", "it is 4"),
    ]  # fmt: skip


def test_messages_column_without_conversations_is_metadata() -> None:
    outputs = outputs_of("input,target,output,messages\nq,t,o,3\nq,t,o,\n")
    assert outputs.metadata["messages"][0] == "3"
    assert [message.text for message in sample_state(outputs, 0).messages] == ["q", "o"]


def test_row_without_messages_uses_its_input() -> None:
    chat = '"[{""role"": ""user"", ""content"": ""first""}]"'
    outputs = outputs_of(f"input,target,output,messages\nq,t,o,{chat}\nq,t,o,\n")
    texts = [[message.text for message in sample_state(outputs, row).messages] for row in range(2)]
    assert texts == [["first", "o"], ["q", "o"]]


async def test_metrics_receive_the_scorer_of_each_score() -> None:
    seen: list[tuple[str | None, str | int | None]] = []

    @metric(scores="unreduced")
    def who() -> Any:
        def measure(scores: list[SampleScore]) -> float:
            seen.extend((one.scorer, one.sample_id) for one in scores)
            return 0.0

        return measure

    judges = make_judges([("match()", match()), ("match()", match("any"))], [who()])
    for one in await score_rows(SUMS, judges):
        summarised(SUMS, one)
    assert {name for name, _ in seen} == {"match"}
    assert len(seen) == 2 * len(SUMS)


@pytest.mark.parametrize("name", ["pass_at(3)", "pass_k(3)", "at_least(3)"])
async def test_reducer_with_too_few_epochs_is_an_error(name: str) -> None:
    scores = await scores_of(SUMS, match())
    with pytest.raises(ScoreError, match=r"needs 3 epochs, but outputs.csv has 2"):
        summarised(SUMS, scores, [parse_reducer(name)])
    summarised(SUMS, scores, [parse_reducer(name.replace("3", "2"))])


async def test_role_without_a_model_is_an_error_of_the_run() -> None:
    graders = Graders(lambda name: (name, Grader()))
    judges = make_judges([("graded()", model_graded_qa(model_role="second"))], None)
    with graders.used(["first"]), pytest.raises(ScoreError, match=r"--model-role second=URL#NAME"):
        await score_rows(SUMS, judges)
    with graders.used(["first"], {"second": ["a", "b"]}):
        (found,) = await score_rows(SUMS, judges)
    assert found.scored == len(SUMS)


async def test_without_a_role_the_first_model_grades() -> None:
    graders = Graders(lambda name: (name, Grader()))
    judges = make_judges([("graded()", model_graded_qa(model_role=None))], None)
    with graders.used(["first", "second"]):
        (found,) = await score_rows(SUMS, judges)
    assert found.scored == len(SUMS)
    assert (graders.get("first").sent, graders.get("second").sent) == (4, 0)


class Grader:
    """Says that everything is right, and how many asked at once."""

    def __init__(self) -> None:
        self.open = self.most = 0

    async def generate(self, input: Any) -> Any:  # noqa: A002
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0)
        self.open -= 1
        return Output("GRADE: C")


@pytest.mark.parametrize("limit", [1, 3])
async def test_graded_rows_respect_the_concurrency(limit: int) -> None:
    grader = Grader()
    running: list[int] = []
    with use_models(grader):
        result = await scores_of(
            SUMS, model_graded_qa(), concurrency=limit, progress=running.append
        )
    assert result.scored == 6
    assert grader.most == limit
    assert running == [1, 2, 3, 4, 5, 6]


async def test_failing_panel_does_not_accumulate_requests() -> None:
    rows = "".join(f"q,t,o{number}\n" for number in range(40))
    outputs = outputs_of("input,target,output\n" + rows)
    slow = Grader()

    class Dead:
        async def generate(self, input: Any) -> Any:  # noqa: A002
            raise RuntimeError("dead")

    models: dict[str, Any] = {"slow": slow, "dead": Dead()}
    graders = Graders(lambda name: (name, models[name]))
    with use_models(roles={"grader": [graders.get("slow"), graders.get("dead")]}):
        result = await scores_of(outputs, model_graded_qa(), concurrency=2, settle=graders.settle)
    await graders.settle()
    assert len(result.errors) == 40
    assert slow.most <= 2
    assert graders.get("slow").sent == 40
    assert len(result.not_asked) >= 20


async def test_grading_without_a_model_is_rejected() -> None:
    with pytest.raises(ScoreError, match="needs a model that grades"):
        await scores_of(SUMS, model_graded_qa())


async def test_scorers_of_a_run_get_distinct_names() -> None:
    judges = make_judges([("match()", match()), ("match", match()), ("x", includes())], None)
    assert [one.name for one in judges] == ["match", "match1", "includes"]
    names: list[int] = []
    results = await score_rows(SUMS, judges, progress=names.append)
    assert names == list(range(1, 19))
    assert [one.scored for one in results] == [6, 6, 6]


async def test_failing_metric_error_names_the_scorer() -> None:
    result = (await score_rows(SUMS, make_judges([("it()", match())], [stderr(cluster="no")])))[0]
    with pytest.raises(ScoreError, match=r"metrics of it\(\) cannot be computed.*'no'"):
        summarised(SUMS, result)
