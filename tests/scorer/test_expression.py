"""Expressions name scorers, metrics and reducers; nothing is evaluated, errors tell the place."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guardtui.scorer import Score, Target, TaskState, metric, scorer
from guardtui.scorer.expression import (
    LONGEST,
    ExpressionError,
    parse_metric,
    parse_metrics,
    parse_reducer,
    parse_scorer,
)
from guardtui.scorer.registry import registry_info, registry_params
from tests.scorer.samples import generated


@scorer(metrics=[])
def spelled(*words: str, times: int = 1, **more: float) -> Any:
    """A scorer with every kind of parameter."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value=" ".join(words) * times, metadata=dict(more))

    return score


@scorer(metrics=[])
def refuses(reason: str) -> Any:
    """A scorer that cannot be made."""
    raise RuntimeError(reason)


@metric
def untyped(value=None) -> Any:  # type: ignore[no-untyped-def]
    """A metric whose parameter may be anything."""
    return lambda scores: 0.0


def named(made: Any) -> tuple[str, dict[str, Any]]:
    return registry_info(made).name.removeprefix("guardtui/"), registry_params(made)


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("match", "match", {}),
        (" match ( )\n", "match", {}),
        ('match("any", numeric=True)', "match", {"location": "any", "numeric": True}),
        ("match(location='begin')", "match", {"location": "begin"}),
        (r'pattern("(\d+)", match_all=True)', "pattern", {"pattern": r"(\d+)", "match_all": True}),
        (r'pattern(r"\b(\w)\b")', "pattern", {"pattern": r"\b(\w)\b"}),
        ('pattern(\n  "no "\n  "group"\n)', "pattern", {"pattern": "no group"}),
        ('f1(stop_words=("the", "a"))', "f1", {"stop_words": ["the", "a"]}),
        ("f1(None)", "f1", {"answer_fn": None}),
        ("guardtui/match('end')", "match", {"location": "end"}),
        ("guardtui.exact", "exact", {}),
        (
            "model_graded_qa('{question} {ctx[a]} {{}}', grade_pattern='(.)', model=['a', 'b'])",
            "model_graded_qa",
            {"template": "{question} {ctx[a]} {{}}", "grade_pattern": "(.)", "model": ["a", "b"]},
        ),
        ("model_graded_fact(grade_pattern='')", "model_graded_fact", {"grade_pattern": ""}),
        ("spelled('a', \"b\", times=+2, x=-1.5)", "spelled",
         {"words": ["a", "b"], "times": 2, "x": -1.5}),
        (
            "multi_scorer([match(), includes(False)], 'at_least_2')",
            "multi_scorer",
            {
                "scorers": [
                    {"type": "scorer", "name": "match", "params": {}},
                    {"type": "scorer", "name": "includes", "params": {"ignore_case": False}},
                ],
                "reducer": "at_least_2",
            },
        ),
        (
            "multi_scorer(reducer=at_least(1, value=0.5), scorers=(multi_scorer([f1], 'mean'),))",
            "multi_scorer",
            {
                "scorers": [
                    {
                        "type": "scorer",
                        "name": "multi_scorer",
                        "params": {
                            "scorers": [{"type": "scorer", "name": "f1", "params": {}}],
                            "reducer": "mean",
                        },
                    }
                ],
                "reducer": {
                    "type": "score_reducer",
                    "name": "at_least",
                    "params": {"k": 1, "value": 0.5},
                },
            },
        ),
    ],
)  # fmt: skip
def test_scorers(text: str, name: str, params: dict[str, Any]) -> None:
    found, given_params = named(parse_scorer(text))
    assert (found, _plain_names(given_params)) == (name, params)


def _plain_names(value: Any) -> Any:
    """Records of nested objects with their names without the package."""
    if isinstance(value, dict):
        return {
            key: one.rpartition("/")[2] if key == "name" else _plain_names(one)
            for key, one in value.items()
        }
    return [_plain_names(one) for one in value] if isinstance(value, list) else value


def test_parsed_expression_scores() -> None:
    made = parse_scorer("multi_scorer([match('any'), includes()], max_score)")
    score = asyncio.run(made(TaskState("Paris, of course"), Target("paris")))
    assert score is not None
    assert score.value == "C"


def test_metrics() -> None:
    assert named(parse_metric('stderr(cluster="who")')) == ("stderr", {"cluster": "who"})
    assert named(parse_metric("untyped([1, {'a': None}])")) == (
        "untyped",
        {"value": [1, {"a": None}]},
    )

    def shape(text: str) -> Any:
        result = parse_metrics(text)
        if isinstance(result, dict):
            return {key: [named(one)[0] for one in some] for key, some in result.items()}
        return [
            {key: [named(each)[0] for each in some] for key, some in one.items()}
            if isinstance(one, dict)
            else named(one)[0]
            for one in result
        ]

    assert shape("accuracy") == ["accuracy"]
    assert shape("accuracy(), stderr()") == ["accuracy", "stderr"]
    assert shape('[tpr("label"), {"a*": [mean(), std], "b": coverage}]') == [
        "tpr", {"a*": ["mean", "std"], "b": ["coverage"]},
    ]  # fmt: skip
    assert shape('{"*": mean()}') == {"*": ["mean"]}


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("mean", "mean", {}),
        ("mean_score()", "mean", {}),
        ("at_least_2", "at_least", {"k": 2}),
        ("at_least(2, value=1)", "at_least", {"k": 2, "value": 1}),
        ("pass_at(k=3)", "pass_at", {"k": 3}),
        ("majority", "majority", {}),
    ],
)
def test_reducers(text: str, name: str, params: dict[str, Any]) -> None:
    assert named(parse_reducer(text)) == (name, params)


MATCH = 'match(location="end", *, ignore_case=True, numeric=False)'


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("mtach()", "mtach", "no scorer is called 'mtach' .*: did you mean match"),
        ("Includes", "Includes", "did you mean includes"),
        ("zzz", "zzz", "the scorers are .*choice, .*match"),
        ("accuracy()", "accuracy", "no scorer is called 'accuracy': it is a metric"),
        ("package/match()", "package/match()", "no scorer is called 'package/match'"),
        ('match("middle")', '"middle"', "'begin', 'end', 'any' or 'exact'.*it takes match"),
        ('match("any", True)', 'match("any", True)', "too many positional arguments"),
        ("pattern()", "pattern()", "missing a required argument: 'pattern'.*takes pattern"),
        ("match(nunmeric=True)", "match(nunmeric=True)", "unexpected keyword argument 'nunmeric'"),
        ("match(numeric=1)", "1", "numeric of match cannot be 1: it should be a valid boolean"),
        ('answer("paragraph")', '"paragraph"', "'letter', 'word' or 'line'"),
        ("spelled('a', 2)", "2", "should be a valid string"),
        ("spelled(x='y')", "'y'", "should be a valid number"),
        ("refuses('not today')", "refuses('not today')", "refuses cannot be made: not today"),
        ('pattern("é(")', '"é("', "broken at its character 2: missing \\)"),
        (r'pattern("\bcat\b")', r'"\bcat\b"', 'backspace.*put an r before the quotes'),
        ("model_graded_qa(grade_pattern='x')", "'x'", "no group.*parentheses"),
        ("model_graded_qa(grade_pattern='(')", "'('", "regular expression is broken"),
        ("model_graded_fact('{')", "'{'", "template is broken"),
        ("model_graded_fact('{} {question}')", "'{} {question}'", "{}, which names nothing"),
        ("model_graded_fact('{0[a]}')", "'{0[a]}'", "names nothing"),
        ("match(é)", "é", 'write "é" if a text is meant'),
        ('match("é", é)', 'match("é", é)', "too many positional"),
        ('spelled("é",\n  "ö", ü)', "ü", "not a value that can stand here"),
        ("spelled(1 + 1)", "1 + 1", "not a value that can stand here"),
        ("spelled(open('x'))", "open('x')", "not a value that can stand here"),
        ("spelled(match())", "match()", "not a value that can stand here"),
        ("spelled([x for x in 'abc'])", "[x for x in 'abc']", "not a value"),
        ("spelled({**a})", "{**a}", "not a value"),
        ("spelled({[1]: 2})", "[1]", "a key is a text or a number"),
        ("spelled({1, 2})", "{1, 2}", "not a value"),
        ("spelled(b'x')", "b'x'", "not a value"),
        ("spelled(2j)", "2j", "not a value"),
        ("spelled(...)", "...", "not a value"),
        ("spelled(-True)", "-True", "not a value"),
        ("spelled(f'{1}')", "f'{1}'", "not a value"),
        ("spelled(*['a'])", "['a']", "cannot be unpacked"),
        ("spelled(**{'a': 1})", "{'a': 1}", "cannot be unpacked"),
        ("__import__('os').getcwd()", "__import__('os').getcwd()", "is not the name of a scorer"),
        ("match().__class__", "match().__class__", "is not the name of a scorer"),
        ("match if True else f1", "match if True else f1", "is not the name of a scorer"),
        ("'no match'", "'no match'", "no scorer is called 'no match'"),
        ("b'match'", "b'match'", "is not the name of a scorer"),
        ("[match()]", "[match()]", "is not the name of a scorer"),
        ("match(", "(", "never closed"),
        ("match;f1", ";", "not an expression"),
        ("  match f1", None, "not an expression"),
        ("match('\0')", None, "not an expression"),
        ("match \ud800", None, "not an expression"),
        ("", "", "no scorer is named.*such as match"),
        (" \n", " \n", "no scorer is named"),
        ("multi_scorer", "multi_scorer", "missing a required argument: 'scorers'"),
        ("multi_scorer(match(), 'mode')", "match()", "takes a list of scorers"),
        ("multi_scorer([], 'mode')", "[]", "has no scorers"),
        ("multi_scorer([match(), mtach], 'mode')", "mtach", "did you mean match"),
        ("multi_scorer([match(), pattern('(')], 'mode')", "'('", "broken"),
        ("multi_scorer([match()], 'mod')", "'mod'", "no reducer.*did you mean mode"),
        ("multi_scorer([match()], 'at_least')", "'at_least'", r"write at_least\(2\) or at_least_2"),
        ("multi_scorer([match()], 3)", "3", "is not the name of a reducer"),
        ("multi_scorer([match()], accuracy())", "accuracy", "it is a metric"),
        ("-" * (LONGEST - 1) + "1", None, "nested too deeply|not an expression"),
        ("(" * 400 + ")" * 400, None, "not an expression"),
        ("match(" + "9" * 5000 + ")", None, ""),
        ("a" * (LONGEST + 1), "a", "more than 20000"),
        ("pattern('" + "(a" * 4000 + ")" * 4000 + "')", None, "too large"),
    ],
)  # fmt: skip
def test_errors_tell_the_place_and_the_remedy(text: str, place: str | None, told: str) -> None:
    with pytest.raises(ExpressionError, match=f"(?s){told}") as raised:
        parse_scorer(text)
    error = raised.value
    assert error.text == text
    assert error.problem
    assert error.remedy
    if place is not None:
        assert text[error.start : error.end] == place


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("match", "match", "it is a scorer"),
        ("[]", "[]", "no metric is named"),
        ("{1: mean()}", "1", "a key of metrics is a text"),
        ("{**a}", "a", "a key of metrics is a text"),
        ("[[mean()]]", "[mean()]", "not the name of a metric"),
        ('{"a": 5}', "5", "not the name of a metric"),
        ("accuracy(to_float='x')", "'x'", r"should be callable.*it takes accuracy\(\)"),
        ("stderr(x=1)", "stderr(x=1)", r"unexpected.*it takes stderr\(cluster=None\)"),
        ("tpr(), tnr(3)", "3", 'it takes tnr\\(expected="expected", intent="intent"\\)'),
    ],
)
def test_errors_of_metrics(text: str, place: str, told: str) -> None:
    with pytest.raises(ExpressionError, match=told) as raised:
        parse_metrics(text)
    assert text[raised.value.start : raised.value.end] == place


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("at_least", "needs a count"),
        ("at_least()", "needs a count"),
        ("at_least(True)", "should be a valid integer"),
        ("at_least_x", "did you mean at_least"),
        ("accuracy", "it is a metric"),
        ("5", "not the name of a reducer"),
    ],
)
def test_errors_of_reducers(text: str, told: str) -> None:
    with pytest.raises(ExpressionError, match=told):
        parse_reducer(text)


def test_python_warnings_are_not_errors() -> None:
    assert named(parse_scorer('pattern("[[a]\\d")')) == ("pattern", {"pattern": "[[a]\\d"})


def test_the_signature_is_shown() -> None:
    with pytest.raises(ExpressionError) as raised:
        parse_scorer("match(1)")
    assert raised.value.remedy == f"it takes {MATCH}"
    with pytest.raises(ExpressionError) as raised:
        parse_scorer("spelled(times='x')")
    assert raised.value.remedy == "it takes spelled(*words, times=1, **more)"


_parts = st.sampled_from(
    ["match", "f1", "multi_scorer", "pattern", "accuracy", "mean", "at_least", "_2", "(", ")", "[",
     "]", "{", "}", ",", "=", ":", "'", '"', "any", "scorers", "reducer", "1", "-", "+", "True",
     "None", "*", "**", ".", "/", "é", "\n", "\r\n", "\t", " ", "\\", "r'", "f'", "lambda ", "\0",
     "\ud800", "\u2028", "\x0c", "if", "#", "match()", "'mode'", "[match(), f1]", "("]
)  # fmt: skip


@generated
@given(st.one_of(st.lists(_parts, max_size=12).map("".join), st.text(max_size=20)))
@example("match(\r\n'any',\r\n é)")
@example("match(\u2028é)")
@example("\x0cmatch(é)")
@example("\ufeffmatch(é)")
@example("match # é")
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_scorer, parse_metric, parse_metrics, parse_reducer):
        made: Any
        try:
            made = parse(text)
        except ExpressionError as error:
            made = error
        if isinstance(made, ExpressionError):
            assert 0 <= made.start <= made.end <= len(text)
            assert str(made).startswith(made.problem)
        else:
            assert callable(made) or isinstance(made, list | dict)


def test_metrics_are_arguments_of_metrics_and_scorers(tmp_path: Path) -> None:
    grouped = registry_params(parse_metric("grouped(mean(), 'cat', all=False)"))
    assert grouped["metric"]["name"] == "mean"
    assert (grouped["group_key"], grouped["all"]) == ("cat", False)
    nested = registry_params(parse_metric("grouped(metric=grouped(mean, 'a'), group_key='b')"))
    assert nested["metric"]["params"]["metric"]["name"] == "mean"
    (tmp_path / "s.json").write_text("[]")
    scorer = parse_scorer(f"precomputed_scores({str(tmp_path / 's.json')!r}, metrics=mean())")
    assert [registry_info(one).name for one in registry_info(scorer).metadata["metrics"]] == [
        "guardtui/mean"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("grouped(5, 'cat')", "5 is not the name of a metric"),
        ("grouped(means(), 'cat')", "no metric is called 'means'"),
        ("grouped(mean(), cat)", "cat is not a value that can stand here"),
        ("grouped(mean())", "missing a required argument: 'group_key'"),
        ("ci(2)", "the level of an interval is between 0 and 1, not 2"),
        ("ci(method='z')", "method of ci cannot be 'z'"),
        ("krippendorff_alpha('ratio')", "level of krippendorff_alpha cannot be 'ratio'"),
    ],
)
def test_errors_of_metrics_with_arguments(text: str, told: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse_metric(text)
    assert told in raised.value.problem
