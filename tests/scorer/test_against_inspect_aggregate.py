"""Epochs, unscored samples and metrics by key are summarised as inspect_ai does it."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import guardtui.scorer as ours
from guardtui.scorer import use_models
from guardtui.scorer.aggregate import scorer_names, summarise
from guardtui.scorer.intermediate import ScoringTask, scoring_task
from tests.scorer.samples import generated

pytest.importorskip("inspect_ai")

import inspect_ai.scorer as theirs
from inspect_ai import Epochs, Task
from inspect_ai import eval as evaluate
from inspect_ai._eval.task.results import ScorerInfo, compute_eval_scores_for_views
from inspect_ai.agent import AgentState
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import Generate, solver
from inspect_ai.solver import TaskState as TheirState

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

NAN = math.nan


class Metrics:
    """Metrics of the tests, made with the decorators of one library."""

    def __init__(self, library: Any) -> None:
        def spread(**more: Any) -> Any:
            @library.metric(name="spread")
            def factory() -> Any:
                def measure(scores: list[library.SampleScore]) -> Any:
                    return {"n": len(scores), "accuracy": 0.5, **more}

                measure.__annotations__["scores"] = list[library.SampleScore]
                return measure

            return factory()

        @library.metric(name="row")
        def row() -> Any:
            def measure(scores: Any) -> Any:
                return [len(scores), 2.5, "7"]

            return measure

        @library.metric(name="text")
        def text() -> Any:
            def measure(scores: list[Any]) -> Any:
                return "12.5"

            return measure

        def kinds(annotation: Any) -> Any:
            @library.metric(name="kind")
            def factory() -> Any:
                def measure(scores):  # type: ignore[no-untyped-def]
                    return float(sum(isinstance(score, library.Score) for score in scores))

                if annotation is not None:
                    measure.__annotations__["scores"] = annotation
                return measure

            return factory()

        @library.metric(name="plain_object")
        class Plain:
            def __call__(self, scores: Any) -> Any:
                return float(sum(isinstance(score, library.Score) for score in scores))

        @library.metric(name="no_parameter")
        def no_parameter() -> Any:
            def measure(*scores: Any) -> Any:
                return float(isinstance(scores[0][0], library.Score)) if scores[0] else 0.0

            return measure

        @library.metric(name="breaks_on_nothing")
        def breaks() -> Any:
            def measure(scores: Any) -> Any:
                return 1 / len(scores)

            return measure

        @library.metric(name="groups")
        def groups() -> Any:
            def measure(scores: Any) -> Any:
                return {"all": len(scores)} if scores else {}

            return measure

        @library.metric(name="constant")
        def constant(value: float) -> Any:
            def measure(scores: Any) -> Any:
                return value

            return measure

        def epochs(view: str) -> Any:
            @library.metric(name=f"epochs_{view}", scores=view)
            def factory() -> Any:
                def measure(scores: Any) -> Any:
                    return len(scores)

                return measure

            return factory()

        accuracy, mean, std = library.accuracy, library.mean, library.std
        self.sets: dict[str, Any] = {
            "usual": [accuracy(), library.stderr()],
            "twice": [accuracy(), accuracy(), spread(none=None), accuracy(), row(), row()],
            "none": [],
            "spread": [spread(), row(), text(), breaks()],
            "old": [kinds(None)],
            "old list": [kinds(list[library.Score])],
            "any": [kinds(Any)],
            "new": [kinds(list[library.SampleScore])],
            "other": [kinds(list[Any])],
            "union": [kinds(list[library.Score] | None)],
            "object": [Plain(), no_parameter()],
            "views": [accuracy(), epochs("unreduced"), epochs("auto"), epochs("reduced")],
            "unreduced only": [epochs("unreduced")],
            "reduced only": [epochs("reduced")],
            "cluster": [library.stderr(cluster="who")],
            "by key": {"a": [mean(), std()], "b": [accuracy()]},
            "globs": {"*": [mean(), row()], "a*": [mean(), spread()], "nothing": [std()]},
            "mixed": [accuracy(), {"a": [mean(), epochs("unreduced")]}, {"*": [std(), breaks()]}],
            "only keys": [{"*": [mean()]}],
            "groups": [groups(), {"a": [groups()]}],
            "first of a name": {"a": [constant(1.0)], "*": [constant(2.0), constant(3.0)]},
        }


OURS, THEIRS = Metrics(ours), Metrics(theirs)

SHAPES: tuple[tuple[tuple[Any, Any], ...], ...] = (
    (),
    ((1, "C"),),
    ((1, "C"), (1, "I"), (2, "P"), (2, "N"), (1, "C")),
    ((1, NAN), (2, NAN)),
    ((1, NAN), (1, "C"), (2, "I"), (3, NAN)),
    ((None, "C"), (1, "C"), ("1", "I")),
    ((1, {"a": 1, "b": "C"}), (2, {"a": 0.5, "b": "I"})),
    ((1, {"a": 1, "b": NAN}), (1, {"a": 0, "b": NAN}), (2, {"a": NAN, "b": "C"}), (3, NAN)),
    ((1, NAN), (2, {"a": 1, "b": 2, "ab": 3})),
    ((1, {"a": 1}), (2, {"b": 1})),
    ((1, {"a": 1}), (2, "C")),
    ((1, {"a": 1}), (1, {"b": 1})),
    ((1, {"a": None}), (2, {"a": True})),
    ((1, [1, 2]), (2, [3, 4])),
    ((1, "unknown"), (2, True), (2, 7)),
)

REDUCERS: tuple[Any, ...] = (None, (), "mean", ("mode", "max"), ("at_least_2", "pass_at_1"))


def reduced(library: Any, reducers: Any) -> Any:
    made = {
        "mean": library.mean_score, "mode": library.mode_score, "max": library.max_score,
        "at_least_2": lambda: library.at_least(2), "pass_at_1": lambda: library.pass_at(1),
    }  # fmt: skip
    if reducers is None:
        return None
    return (
        made[reducers]() if isinstance(reducers, str) else [made[reducer]() for reducer in reducers]
    )


def number(value: Any) -> Any:
    return "nan" if isinstance(value, float) and math.isnan(value) else pytest.approx(float(value))


def settled(call: Callable[[], list[Any]]) -> Any:
    try:
        summaries = call()
    except (TypeError, ValueError, KeyError) as error:
        return type(error).__name__
    return [
        {
            "name": summary.name,
            "scorer": summary.scorer,
            "reducer": summary.reducer,
            "counts": (
                (summary.scored, summary.unscored) if hasattr(summary, "scored")
                else (summary.scored_samples, summary.unscored_samples)
            ),
            "metrics": [
                (key, metric.name, metric.group if hasattr(metric, "group") else None,
                 number(metric.value), dict(metric.params or {}))
                for key, metric in summary.metrics.items()
            ],
        }
        for summary in summaries
    ]  # fmt: skip


def scores_of(library: Any, shape: Any) -> list[Any]:
    return [
        library.SampleScore(
            score=library.Score(value=value), sample_id=name, sample_metadata={"who": name}
        )
        for name, value in shape
    ]


def agree(kind: str, shape: Any, reducers: Any) -> Any:
    names = [reducers] if isinstance(reducers, str) else reducers
    mine = settled(
        lambda: summarise(scores_of(ours, shape), OURS.sets[kind], names, scorer="judge")
    )
    oracle = settled(
        lambda: compute_eval_scores_for_views(
            scores_of(theirs, shape), THEIRS.sets[kind], "judge",
            ScorerInfo("judge", THEIRS.sets[kind]), reduced(theirs, reducers),
        )[0]
    )  # fmt: skip
    assert mine == oracle, (kind, shape, reducers)
    return mine


@pytest.mark.parametrize("kind", OURS.sets)
def test_every_set_of_metrics_over_every_shape(kind: str) -> None:
    results = [agree(kind, shape, reducers) for shape in SHAPES for reducers in REDUCERS]
    assert any(isinstance(result, list) for result in results)


_scalars = st.sampled_from(["C", "I", "P", "N", "yes", "0.25", 0, 1, 0.5, True, NAN])
_ids = st.sampled_from([1, 2, "1", "a", None])


@generated
@given(
    st.one_of(
        st.lists(st.tuples(_ids, _scalars), max_size=9),
        st.lists(
            st.tuples(_ids, st.fixed_dictionaries({"a": _scalars, "ab": _scalars}) | st.just(NAN)),
            max_size=6,
        ),
    ),
    st.sampled_from([kind for kind in OURS.sets if kind != "cluster"]),
    st.sampled_from(REDUCERS),
)
@example([(1, {"a": 1, "ab": 2})], "globs", ())
def test_generated_scores(shape: Any, kind: str, reducers: Any) -> None:
    agree(kind, shape, reducers)


# --- whole evaluations ------------------------------------------------------------------------


def output(text: str) -> ModelOutput:
    response = ModelOutput.from_content("mockllm/model", text)
    # Without a usage the mock counts tokens, for which it asks the network.
    response.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return response


ANSWERS = ("Paris", "I do not know", "paris, of course", "Rome", "", "It is Paris.")


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Puts back the logging that an evaluation of theirs sets up for the whole process."""
    root = logging.getLogger()
    handlers, level, disabled = root.handlers[:], root.level, logging.root.manager.disable
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.disable(disabled)


def evaluated(tmp_path: Path, task: Task, **options: Any) -> Any:
    left = [output(text) for text in ANSWERS]
    logs = evaluate(
        task, model=get_model("mockllm/model", custom_outputs=left, memoize=False),
        log_dir=str(tmp_path), display="none", max_samples=1, log_realtime=False, **options,
    )  # fmt: skip
    assert logs[0].status == "success", logs[0].error
    return logs[0]


@pytest.mark.usefixtures("own_logging")
def test_an_evaluation_from_end_to_end(tmp_path: Path) -> None:
    scorers = [
        theirs.match("any"), theirs.match("begin"), theirs.includes(), theirs.f1(), theirs.match()
    ]  # fmt: skip
    samples = [Sample(input=f"q{index}", target="Paris", id=index) for index in range(3)]
    log = evaluated(tmp_path, Task(
        samples, scorer=scorers, epochs=Epochs(2, [theirs.mean_score(), theirs.at_least(2)])
    ))  # fmt: skip
    names = scorer_names(
        [ours.match("any"), ours.match("begin"), ours.includes(), ours.f1(), ours.match()]
    )
    assert names == ["match", "match1", "includes", "f1", "match2"]
    mine: list[Any] = []
    for name, scorer in zip(
        names,
        [ours.match("any"), ours.match("begin"), ours.includes(), ours.f1(), ours.match()],
        strict=True,
    ):
        scores = [
            ours.SampleScore(
                score=asyncio.run(_score(scorer, sample.output.completion)), sample_id=sample.id
            )
            for sample in log.samples
        ]
        metrics = [
            ours.mean() if name == "f1" else ours.accuracy(), ours.stderr()
        ]  # fmt: skip
        mine += summarise(scores, metrics, ["mean", "at_least_2"], scorer=name)
    results = [
        (one["name"], one["reducer"], one["counts"], [entry[:4] for entry in one["metrics"]])
        for one in settled(lambda: mine)
    ]
    expected = [
        (one["name"], one["reducer"], one["counts"], [entry[:4] for entry in one["metrics"]])
        for one in settled(lambda: log.results.scores)
    ]
    assert results == expected


async def _score(scorer: Any, completion: str) -> Any:
    return await scorer(ours.TaskState(completion), ours.Target("Paris"))


@pytest.mark.usefixtures("own_logging")
def test_scoring_in_the_middle_of_a_task(tmp_path: Path) -> None:
    seen: list[Any] = []

    @theirs.scorer(metrics=[theirs.mean()])
    def declines() -> Any:
        async def score(state: Any, target: Any) -> Any:
            return None

        return score

    @solver
    def asks() -> Any:
        async def solve(state: TheirState, generate: Generate) -> TheirState:
            state = await generate(state)
            other = AgentState(messages=[*state.messages, ChatMessageAssistant(content="Paris")])
            other.output = output("Paris")
            for conversation in (state, other):
                oracle = await theirs.score(conversation)
                logged: list[Any] = []
                task = ScoringTask(
                    state, ours.Target("Paris"),
                    [ours.match("any"), _declining, ours.includes(), _of_messages(ours)],
                    logged.append,
                )  # fmt: skip
                with scoring_task(task):
                    mine = await ours.score(conversation)
                assert logged == mine
                seen.append((_told(mine), _told(oracle), state.output.completion))
            return state

        return solve

    @theirs.scorer(metrics=[theirs.mean()])
    def of_messages() -> Any:
        return _of_messages(theirs)

    evaluated(tmp_path, Task(
        [Sample(input="q", target="Paris", id=index) for index in range(2)], solver=asks(),
        scorer=[theirs.match("any"), declines(), theirs.includes(), of_messages()],
    ))  # fmt: skip
    assert len(seen) == 4
    assert all(mine == oracle for mine, oracle, _ in seen)
    # The state itself is left as it was.
    assert {completion for *_, completion in seen} <= set(ANSWERS)


@pytest.mark.usefixtures("own_logging")
@pytest.mark.parametrize("replies", ["C", "CZI", "CCI"])
def test_graders_by_role(tmp_path: Path, replies: str) -> None:
    def graders() -> Any:
        made = [
            get_model(
                "mockllm/model", memoize=False,
                custom_outputs=lambda *_, reply=reply: output(f"GRADE: {reply}"),
            )
            for reply in replies
        ]  # fmt: skip
        return made if len(made) > 1 else made[0]

    task = Task([Sample(input="q", target="t")], scorer=theirs.model_graded_qa())
    log = evaluated(tmp_path, task, model_roles={"grader": graders()})
    oracle = log.samples[0].scores["model_graded_qa"]
    with use_models(roles={"grader": graders()}):
        mine = asyncio.run(
            ours.model_graded_qa()(ours.TaskState(ANSWERS[0], input="q"), ours.Target("t"))  # type: ignore[arg-type]
        )
    assert mine is not None
    assert (number(mine.as_float()) if mine.value != "C" else "C") == (
        number(oracle.as_float()) if oracle.value != "C" else "C"
    )
    assert (mine.answer, mine.reason) == (oracle.answer, oracle.reason)
    panels = [(one.metadata or {}).get("panel") for one in (mine, oracle)]
    for panel in panels:
        for failure in panel["failures"] if panel else []:
            del failure["explanation"]
    assert panels[0] == panels[1]


def _of_messages(library: Any) -> Any:
    async def score(state: Any, target: Any) -> Any:
        return library.Score(value=len(state.messages), answer=str(state.sample_id))

    return score


async def _declining(state: Any, target: Any) -> None:
    return None


def _told(scores: list[Any]) -> list[Any]:
    return [(score.value, score.answer, score.explanation, score.reason) for score in scores]
