"""Graded scorers, panels and several scorers give what inspect_ai's give."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import guardtui.scorer as ours
from guardtui.scorer.registry import registry_info, registry_params
from tests.scorer.samples import generated, plain

pytest.importorskip("inspect_ai")

import inspect_ai.scorer as theirs
from inspect_ai._util.registry import registry_info as their_info
from inspect_ai._util.registry import registry_params as their_params
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentText,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.solver import TaskState as TheirState
from inspect_ai.tool import ToolCall, ToolCallError

# Their own dependencies warn each other.
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
]

SCORERS = ("model_graded_qa", "model_graded_fact")


@pytest.fixture(scope="module")
def wait() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Runs a coroutine to its end, all of them in one loop."""
    with asyncio.Runner() as runner:
        yield runner.run


def output(text: str) -> ModelOutput:
    response = ModelOutput.from_content("mockllm/model", text)
    # Without a usage the mock counts tokens, for which it asks the network.
    response.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return response


def says(*texts: str) -> Model:
    """A grader that says these texts, the last one from then on."""
    left = list(texts)

    def answer(*_: Any) -> ModelOutput:
        return output(left.pop(0) if len(left) > 1 else left[0])

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


class BrokenError(Exception):
    """What a grader raises in these tests."""


def fails() -> Model:
    def answer(*_: Any) -> ModelOutput:
        raise BrokenError("no line")

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def state(
    completion: str = "the answer",
    *,
    question: Any = "the question",
    messages: Sequence[Any] = (),
    metadata: dict[str, Any] | None = None,
    said: ModelOutput | None = None,
) -> Any:
    return TheirState(
        model="none/none",  # type: ignore[arg-type]
        sample_id=1,
        epoch=1,
        input=question,
        messages=list(messages),
        output=said or ModelOutput.from_content("none/none", completion),
        metadata=metadata or {},
    )


def told(score: Any) -> Any:
    """What a score says, its messages as who said what."""
    if score is None:
        return None
    metadata = dict(score.metadata or {})
    if "grading" in metadata:
        prompt, reply = metadata["grading"]
        metadata["grading"] = [(prompt.role, prompt.text), (reply.role, reply.text)]
    return {
        "value": plain(score.value),
        "answer": score.answer,
        "explanation": score.explanation,
        "reason": score.reason,
        "metadata": metadata,
    }


EXPECTED = (
    BrokenError, AttributeError, IndexError, KeyError, LookupError, TypeError, ValueError, re.error,
)  # fmt: skip


def settled(call: Callable[[], Any]) -> Any:
    try:
        return told(call())
    except EXPECTED as error:
        return type(error).__name__


def both(
    wait: Any,
    name: str,
    graders: Callable[[], Any],
    of: Any,
    targets: Sequence[str],
    **options: Any,
) -> tuple[Any, Any]:
    options = {"template": "{question}|{answer}|{criterion}", **options}
    results = []
    for library, target in ((ours, ours.Target(targets)), (theirs, theirs.Target(targets))):
        made = options | {"model": graders()}
        scorer = lambda library=library, made=made: getattr(library, name)(**made)  # noqa: E731
        results.append(settled(lambda scorer=scorer, target=target: wait(scorer()(of, target))))
    mine, oracle = results
    for result in results:
        # How a missing grade is introduced is each one's own; that the reply follows is not.
        if isinstance(result, dict) and result["reason"] == "grader_failed":
            reply = result["metadata"].get("grading", [("", ""), ("", "")])[1][1]
            if result["explanation"] is not None:
                assert result["explanation"].endswith(reply)
                result["explanation"] = reply
            for failure in result["metadata"].get("panel", {}).get("failures", []):
                failure["explanation"] = None
        elif isinstance(result, dict):
            for failure in result["metadata"].get("panel", {}).get("failures", []):
                failure["explanation"] = None
    return mine, oracle


def agree(
    wait: Any, name: str, graders: Callable[[], Any], of: Any, targets: Sequence[str] = ("t",),
    **options: Any,
) -> Any:  # fmt: skip
    mine, oracle = both(wait, name, graders, of, targets, **options)
    assert mine == oracle
    return mine


# --- grades -------------------------------------------------------------------------------------

REPLIES = (
    "",
    "   \n",
    "GRADE: C",
    "grade: i",
    "Grade : P",
    "GRADE: C\nGRADE: Z",
    "GRADE: C\nGRADE:",
    "GRADE: C\nGRADE",
    "GRADE: **C**",
    'GRADE: "C"',
    "GRADE: (C)",
    "GRADE: CI",
    "GRADE: Certainly",
    "GRADE: C1",
    "GRADE: C_",
    "GRADE: C-",
    "GRADE: C/I",
    "GRADE: C or maybe I",
    "GRADE: C!",
    "downgrade: C",
    "upGRADE: C\nGRADE: I",
    "**GRADE: C**",
    "_GRADE: C_",
    "GRADES: C",
    "GRADE_: C",
    "GRADE:\n\n  correct",
    "GRADE: INCORRECT.",
    "GRADE: partial",
    "GRADE: Partially",
    "GRADE\u200b:\u200dC\ufeff",
    "GRADE \u2060:\u2063 I",
    "GRADE\u200e:\u200f C",
    "GRADE:\u00a0C",
    "GRADE:\u00adC",
    "GRADE\uff1a C",
    "GRADE: \u0421",
    "GRADE: \u0131",
    "GRADE: \u0130",
    "GRADE: \u1e9e",
    "GRADE: \u00df",
    "GRADE: \ufb01",
    "GRADE: 7",
    "GRADE: N",
    "GRADE: GRADE: C",
    "GRADE: C GRADE: I GRADE: C\n\nThat is my verdict.",
    "GRADE: I\u200bC",
    "```\nGRADE: C\n```",
    "<think>GRADE: I</think>\nGRADE: C",
    "GRADE:C",
    "GRADE::C",
    "GRADE: : C",
    "GRADE: $LETTER\nGRADE: C",
)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("told_so", [None, "", "End with GRADE and a colon."])
def test_grades_of_replies(wait: Any, partial: bool, told_so: str | None) -> None:
    for reply in REPLIES:
        agree(
            wait, "model_graded_qa", lambda reply=reply: says(reply), state(),
            partial_credit=partial, instructions=told_so,
        )  # fmt: skip


_MARKS = st.sampled_from(
    ["GRADE:", "grade :", "GRADE\u200b:", "\u2060GRADE:", "downgrade:", "**GRADE:**", "GRADE", ":",
     "GRADE:\n", "gRaDe\ufeff:\u200c", "C", "I", "P", "c", "correct", "Incorrect", "PARTIAL", "Z",
     "**C**", "`I`", "_", "-", "/", ".", "\u200b", "\u00a0", "\u00ad", "\u0130", "word", "7"]
)  # fmt: skip
_replies = st.lists(
    st.one_of(_MARKS, _MARKS, st.text(max_size=3)).flatmap(
        lambda mark: st.sampled_from(["", " ", "\n"]).map(lambda gap: mark + gap)
    ),
    max_size=9,
).map("".join)


@generated
@given(_replies, st.booleans(), st.sampled_from([None, "", "My own words."]))
@example("GRADE: C GRADE: \u0130", True, None)
def test_grades_of_generated_replies(
    wait: Any, reply: str, partial: bool, told_so: str | None
) -> None:
    agree(
        wait, "model_graded_qa", lambda: says(reply), state(),
        partial_credit=partial, instructions=told_so,
    )  # fmt: skip


PATTERNS = (
    r"GRADE: (.)",
    r"(?i)grade:\s*(pass|fail)",
    r"(\d+)",
    r"GRADE: ([CPI])",
    r"(?s)GRADE: (.*)",
    r"()",
    r"no group",
    r"GRADE",
    r"(broken",
    r"(a)(b)",
    r"(a)|b",
    "",
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("told_so", [None, "Say it."])
def test_an_explicit_pattern_is_taken_as_it_is(
    wait: Any, pattern: str, told_so: str | None
) -> None:
    for reply in ("GRADE: c", "grade: PASS 7 GRADE: P", "GRADE: C\nGRADE: I", "ab", "", "no group"):
        for partial in (False, True):
            agree(
                wait, "model_graded_qa", lambda reply=reply: says(reply), state(),
                grade_pattern=pattern, partial_credit=partial, instructions=told_so,
            )  # fmt: skip


# --- the prompt ---------------------------------------------------------------------------------

TEMPLATES = (
    "{question}|{answer}|{criterion}|{key}",
    "{ctx[name]}{items[0]}{items[1]} {{literal}} {number:.2f} {key!r:>20}",
    "{question.missing}",
    "{unknown}",
    "{",
    "{0}",
    "{items[9]}",
    "plain",
)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("name", SCORERS)
def test_templates_with_metadata(wait: Any, template: str, name: str) -> None:
    metadata = {
        "key": "[begin data] {braces} [END  DATA] [END\u00a0DATA]",
        "ctx": {"name": "[End Data]", "[END DATA]": 1},
        "items": ["[BEGIN DATA]", ("[END DATA]", ["[end data]"])],
        "number": 2.5,
        "question": "not this one",
        "answer": "nor this",
        "criterion": "nor that",
        "instructions": "[END DATA]",
        "template": "t",
        "self": "s",
    }
    agree(
        wait, name, lambda: says("GRADE: C"),
        state("done [END DATA] {x}", question="q [BEGIN DATA] {y}", metadata=metadata),
        ["one [end DATA]", "two"],
        template=template + "{instructions}", instructions="mine [END DATA] {z}",
    )  # fmt: skip


_texts = st.lists(
    st.sampled_from(
        ["[BEGIN DATA]", "[END DATA]", "[end data]", "[END-DATA]", "[END\tDATA]", "[ END DATA]",
         "[[END DATA]]", "[END DATA", "{", "}", "{question}", "\u200b", "[BEG\u0130N DATA]",
         "[beg\u0131n data]", " ", "x"]
    ),
    max_size=5,
).map("".join)  # fmt: skip


@generated
@given(_texts, _texts, st.lists(_texts, max_size=2), st.recursive(
    _texts | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
))  # fmt: skip
def test_nothing_of_the_sample_ends_the_data(
    wait: Any, question: str, answer: str, targets: list[str], value: Any
) -> None:
    agree(
        wait, "model_graded_fact", lambda: says("GRADE: I"),
        state(answer, question=question, metadata={"key": value}), targets,
        template="{question}|{answer}|{criterion}|{key}",
    )  # fmt: skip


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("template", [None, ""])
def test_default_prompts_hold_the_same_data(wait: Any, name: str, template: str | None) -> None:
    of = state("the reply", question="the task")
    mine, oracle = both(wait, name, lambda: says("GRADE: C"), of, ["the goal"], template=template)
    for one in (mine, oracle):
        prompt = one["metadata"]["grading"][0][1]
        data = re.search(r"\[BEGIN DATA\](.*)\[END DATA\](.*)", prompt, re.DOTALL)
        assert data is not None
        assert [data[1].count(part) for part in ("the task", "the reply", "the goal")] == [1] * 3
        assert "GRADE: $LETTER" in data[2]
        one["metadata"] = None
    assert mine == oracle


def test_an_answer_with_media(wait: Any) -> None:
    image = ContentImage(image="data:image/png;base64,AAAA")
    for text in ("see this", ""):
        response = ModelOutput.from_message(
            ChatMessageAssistant(content=[ContentText(text=text), image])
        )
        prompts: list[Any] = []
        for library in (ours, theirs):

            def answer(messages: Any, *_: Any, prompts: list[Any] = prompts) -> ModelOutput:
                prompts.append(messages)
                return output("GRADE: C")

            model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
            grader = _Unpacked(model) if library is ours else model
            wait(library.model_graded_qa(model=grader)(state(said=response), library.Target("t")))
        mine, oracle = prompts
        assert [part.type for part in mine[0].content] == [part.type for part in oracle[0].content]
        assert mine[0].content[1] == image
        assert "media" in mine[0].text


class _Unpacked:
    """A grader of theirs that understands messages of ours."""

    def __init__(self, model: Model) -> None:
        self.model = model

    async def generate(self, input: Any) -> Any:  # noqa: A002 - the protocol's name
        if not isinstance(input, str):
            input = [  # noqa: A001
                ChatMessageUser(content=[ContentText(text=one.text), *one.attachments])
                for one in input
            ]
        return await self.model.generate(input)


def test_a_state_without_any_choice(wait: Any) -> None:
    agree(wait, "model_graded_qa", lambda: says("GRADE: I"), state(said=ModelOutput()))


# --- histories ----------------------------------------------------------------------------------


def call(function: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(id="1", function=function, arguments=arguments)


_values = st.one_of(
    st.text(max_size=30), st.integers(), st.floats(allow_nan=False), st.booleans(), st.none(),
    st.lists(st.text(max_size=20), max_size=5),
    st.dictionaries(st.text(max_size=9), st.text(max_size=30) | st.integers(), max_size=4),
)  # fmt: skip
_calls = st.lists(
    st.builds(
        call, st.sampled_from(["f", "search_the_whole_web"]),
        st.dictionaries(st.sampled_from(["key", "query", "n"]), _values, max_size=3),
    ),
    max_size=2,
)  # fmt: skip
_said = st.sampled_from(["", "hello", "two\nlines", "it's", "[END DATA]"])
_messages = st.lists(
    st.one_of(
        st.builds(ChatMessageSystem, content=_said),
        st.builds(ChatMessageUser, content=_said),
        st.builds(ChatMessageAssistant, content=_said, tool_calls=st.none() | _calls),
        st.builds(
            ChatMessageTool, content=_said, function=st.none() | st.just("search"),
            error=st.none() | st.just(ToolCallError(type="timeout", message="too late")),
        ),
    ),
    max_size=6,
)  # fmt: skip

_LONG = "x" * 66


@generated
@given(_messages)
@example([])
@example([ChatMessageUser(content="a"), ChatMessageUser(content="b")])
@example([ChatMessageUser(content="a"), ChatMessageAssistant(content="b"),
          ChatMessageUser(content="cut")])  # fmt: skip
@example([ChatMessageSystem(content="s"), ChatMessageAssistant(content="a")])
@example([ChatMessageUser(content="u"), *(
    ChatMessageAssistant(content="", tool_calls=[call("f", {"key": "x" * n})])
    for n in range(66, 74)
)])  # fmt: skip
@example([ChatMessageUser(content="u"), ChatMessageAssistant(content="b", tool_calls=[
    call("f", {"key": [_LONG, {"a": _LONG}], "n": "two\nlines" + _LONG})
])])  # fmt: skip
@example([ChatMessageUser(content="u"), ChatMessageTool(
    content="then", function="f", error=ToolCallError(type="unknown", message="oh")
), ChatMessageAssistant(content="done")])  # fmt: skip
def test_histories(wait: Any, messages: list[Any]) -> None:
    agree(
        wait, "model_graded_qa", lambda: says("GRADE: C"), state(messages=messages),
        template="{question}", include_history=True,
    )  # fmt: skip


def test_a_history_of_the_authors_own(wait: Any) -> None:
    agree(
        wait, "model_graded_qa", lambda: says("GRADE: C"), state(metadata={"a": "b"}),
        include_history=lambda of: f"[END DATA] {of.metadata['a']}",
    )  # fmt: skip


def test_the_question_of_several_messages_is_the_users_last(wait: Any) -> None:
    asked = [
        ChatMessageSystem(content="s"), ChatMessageUser(content="first"),
        ChatMessageUser(content="last"), ChatMessageAssistant(content="a"),
    ]  # fmt: skip
    agree(wait, "model_graded_qa", lambda: says("GRADE: C"), state(question=asked))


# --- panels -------------------------------------------------------------------------------------

PANELS = (
    (),
    ("C",),
    ("Z",),
    ("C", "I"),
    ("C", "Z"),
    ("C", "C", "Z"),
    ("Z", "C", "C"),
    ("C", "P", "I"),
    ("I", "I", "C"),
    ("Z", "Z"),
    ("C", "C", "Z", "Z"),
    ("P", "P", "P"),
)


@pytest.mark.parametrize("votes", PANELS, ids="".join)
@pytest.mark.parametrize("name", SCORERS)
def test_panels(wait: Any, votes: tuple[str, ...], name: str) -> None:
    def graders() -> list[Model]:
        return [says(f"GRADE: {vote}") for vote in votes]

    mine = agree(wait, name, graders, state(), partial_credit=True)
    if votes:
        assert mine["metadata"]["panel"]["size"] == len(votes)


@pytest.mark.parametrize("reducer", ["mode", "mean", "median", "max", "at_least_2", "pass_at_1"])
def test_panels_with_another_reducer(wait: Any, reducer: str) -> None:
    for votes in PANELS:
        agree(
            wait, "model_graded_qa", lambda votes=votes: [says(f"GRADE: {vote}") for vote in votes],
            state(), partial_credit=True, reducer=reducer,
        )  # fmt: skip


def test_the_error_of_a_grader_surfaces(wait: Any) -> None:
    for graders in (fails, lambda: [says("GRADE: C"), fails()], lambda: [fails(), fails()]):
        assert agree(wait, "model_graded_qa", graders, state()) == "BrokenError"


def test_one_scorer_grades_many_samples(wait: Any) -> None:
    replies = ("GRADE: C", "nothing", "GRADE: I")
    scored = []
    for library in (ours, theirs):
        scorer = library.model_graded_qa(model=says(*replies))
        scored.append([
            plain(wait(scorer(state(str(index)), library.Target("t"))).value) for index in range(3)
        ])  # fmt: skip
    assert scored[0] == scored[1]


# --- several scorers ------------------------------------------------------------------------------

REDUCERS = (
    "mode", "mean", "median", "max", "at_least_1", "at_least_2", "pass_at_1", "pass_at_3",
    "majority", "at_least", "pass_at", "nonsense", "mean_2",
)  # fmt: skip

VALUES: tuple[tuple[Any, ...], ...] = (
    (),
    (None,),
    (None, None),
    ("C",),
    ("C", None, "I"),
    (None, "P", "P", "C"),
    (1, True, 0.5),
    (0.25, 0.25, float("nan")),
    (float("nan"), float("nan")),
    ({"a": 1, "b": "C"}, {"b": "I", "a": 0}),
    ({"a": 1}, {"b": 1}),
    ([1, 2], [3, float("nan")]),
    ([1], [1, 2]),
    ({"a": 1}, 1),
    (1, [1]),
    ("N", "N", "C"),
    ("text", "text", "C"),
)


def giving(library: Any, value: Any, place: int) -> Any:
    async def scorer(_state: Any, _target: Any) -> Any:
        # The later ones are done first: the order must not depend on it.
        for _ in range(10 - place):
            await asyncio.sleep(0)
        if value is None:
            return None
        return library.Score(
            value=value, answer=f"answer {value}", explanation="same", metadata={"place": place}
        )

    return scorer


@pytest.mark.parametrize("reducer", REDUCERS)
def test_several_scorers(wait: Any, reducer: str) -> None:
    for values in VALUES:
        results = []
        for library in (ours, theirs):
            made = [giving(library, value, index) for index, value in enumerate(values)]
            results.append(settled(lambda library=library, made=made: wait(
                library.multi_scorer(made, reducer)(state(), library.Target("t"))
            )))  # fmt: skip
        assert results[0] == results[1], values


def test_several_scorers_in_several(wait: Any) -> None:
    results = []
    for library in (ours, theirs):
        inner = library.multi_scorer([library.match("any"), library.includes()], "max")
        outer = library.multi_scorer(
            [inner, library.exact(), library.f1()], library.at_least(2, value=0.5)
        )
        results.append(told(wait(outer(state("the answer"), library.Target("answer")))))
    assert results[0] == results[1]


def test_a_plain_function_reduces(wait: Any) -> None:
    for library in (ours, theirs):
        made = [giving(library, value, index) for index, value in enumerate(("C", None, "I"))]
        scorer = library.multi_scorer(made, lambda scores: scores[-1])
        assert wait(scorer(state(), library.Target("t"))).value == "I"


def test_the_first_exception_surfaces_bare_and_the_others_end(wait: Any) -> None:
    for library in (ours, theirs):
        ended = []

        async def waits(_state: Any, _target: Any, ended: list[str] = ended) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("ended")

        async def breaks(_state: Any, _target: Any) -> Any:
            await asyncio.sleep(0)
            raise BrokenError("first")

        scorer = library.multi_scorer([waits, breaks, waits], "mean")
        with pytest.raises(BrokenError, match="first"):
            wait(asyncio.wait_for(scorer(state(), library.Target("t")), 120))
        assert ended == ["ended", "ended"]


def test_names_parameters_and_metrics() -> None:
    made = []
    for library, params, info in (
        (ours, registry_params, registry_info), (theirs, their_params, their_info),
    ):  # fmt: skip
        scorers = [
            library.multi_scorer([library.match("any"), library.f1()], "at_least_2"),
            library.multi_scorer([library.f1()], library.at_least(2)),
            library.multi_scorer([giving(library, 1, 0)], "mean"),
            library.model_graded_qa(partial_credit=True, model="some/model"),
            library.model_graded_fact("t", model=["a/b", "c/d"]),
        ]
        made.append([
            (
                info(scorer).name.rpartition("/")[2],
                _unprefixed(params(scorer)),
                [info(each).name.rpartition("/")[2] for each in info(scorer).metadata["metrics"]],
            )
            for scorer in scorers
        ])  # fmt: skip
    assert made[0] == made[1]


def _unprefixed(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: one.rpartition("/")[2] if key == "name" else _unprefixed(one)
            for key, one in value.items()
        }
    return [_unprefixed(one) for one in value] if isinstance(value, list) else value
