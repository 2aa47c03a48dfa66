"""The filter language: what it lets through, and where it points when it cannot understand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.row_filter import FIELDS, WORDS, FilterError, FilterRows, parse_filter
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import load_prompts
from tests.guardrails import engine_settings

TEXTS = ("Pay less tax", "pay LESS, -regression fn", "soup", "score>0.4 http://x.y", "[a] \\d+ “q”")
EXPECTED = (True, True, False, False, True)
NOW = (1, 0, 1, 0, -2)
BEFORE = (0, 1, 1, 0, 1)
CATEGORIES = ("direct", "Role play", "direct", "", "short")
SCORES = (0.9, 0.4, 0.6, 0.1, np.nan)
MATCHED = (0, 2, 1, -1, -1)
COLUMNS = ("category", "Owner")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> FilterRows:
    path: Path = tmp_path_factory.mktemp("rows") / "p.csv"
    lines = [
        f'"{text}",{str(label).lower()},block,{category},me{row}'
        for row, (text, label, category) in enumerate(zip(TEXTS, EXPECTED, CATEGORIES, strict=True))
    ]
    path.write_text("\n".join(["prompt,expected,intent,category,Owner", *lines]), "utf-8")
    prompts = load_prompts(path)
    now, before = (evaluation(prompts, answers) for answers in (NOW, BEFORE))
    return FilterRows(prompts, now, compare(before, now), Labels())


class Labels:
    """Labels of which the first is in doubt, and the last confirmed."""

    suspect = np.array([True, False, False, False, False])
    confirmed = np.array([False, False, False, False, True])


def evaluation(prompts: PromptSet, answers: tuple[int, ...]) -> Evaluation:
    return Evaluation(
        Topic(),
        engine_settings("x", 0.5),
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        Verdicts(
            np.array(answers, np.int8),
            np.array(SCORES, np.float32),
            np.array(MATCHED, np.int16),
            {} if answers is NOW else {4: "timeout"},
            stopped_by={0: ("Tax", "Money laundering"), 2: ("Money laundering",)},
        ),
    )


@pytest.mark.parametrize(
    ("line", "passing"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("pay", [0, 1]),
        ("PAY less", [0, 1]),
        ('"pay less"', [0, 1]),
        ('"less tax"', [0]),
        ("tax pay", [0]),
        ("-pay", [2, 3, 4]),
        ('"fn"', [1]),
        ('"-regression', [1]),
        ("[a]", [4]),
        (r"\d+", [4]),
        ("http://x.y", [3]),
        ('"score>0.4"', [3]),
        ("tp", [0]),
        ("FN", [1]),
        ("fns", [1]),
        ("fp", [2]),
        ("tn", [3]),
        ("error", []),
        ("open", [4]),
        ("-open", [0, 1, 2, 3]),
        ('"open"', []),
        ("stopped:tax", [0]),
        ("stopped:LAUND", [0, 2]),
        ('stopped:"money laundering" -stopped:tax', [2]),
        ("stopped=nobody", []),
        ("mistakes", [1, 2]),
        ("right", [0, 3]),
        ("suspect", [0]),
        ("suspects -pay", []),
        ("confirmed", [4]),
        ("regression", [1]),
        ("-regression mistake", [2]),
        ("fixes", [0]),
        ("all", [0, 1, 2, 3, 4]),
        ("category:direct", [0, 2]),
        ("category:direct,short", [0, 2, 4]),
        ('category:"role play"', [1]),
        ("-category:direct", [1, 3, 4]),
        ('category:"(none)"', [3]),
        ("owner:ME3", [3]),
        ("category:nobody", []),
        ("score>0.4", [0, 2]),
        ("score>=0.4", [0, 1, 2]),
        ("score<0.5 -tn", [1]),
        ("score=0.6", [2]),
        ("line<4", [0, 1]),
        ("nearest:0", [0]),
        ("nearest:desc", [0]),
        ("nearest:2", [1]),
        ("nearest>=1", [1, 2]),
        ("was:fn", [0]),
        ("was:fp fp", [2]),
        ("expected:false", [2, 3]),
        ("expected:yes fn", [1]),
    ],
)
def test_lets_through(rows: FilterRows, line: str, passing: list[int]) -> None:
    assert np.flatnonzero(parse_filter(line, COLUMNS).mask(rows)).tolist() == passing


def test_without_a_baseline_nothing_changed(rows: FilterRows) -> None:
    alone = FilterRows(rows.prompts, rows.evaluation)
    for line in ("regression", "fix", "was:fn", "suspect", "confirmed"):
        assert not parse_filter(line).mask(alone).any()


def test_the_texts_to_mark_are_those_that_must_be_there() -> None:
    assert parse_filter('pay -soup fn "less tax" score>0.1').texts == ("pay", "less tax")


@pytest.mark.parametrize(
    ("line", "span", "said"),
    [
        ("pay -", (4, 5), "nothing follows the minus"),
        ("fn - tp", (3, 4), "nothing follows the minus"),
        (
            "colour:red",
            (0, 10),
            "no field colour: there are score, line, nearest",
        ),
        ("pay colour>3 tax", (4, 12), "no field colour"),
        ("categry:short", (0, 13), "no field categry: did you mean category? there are"),
        ("score>high", (0, 10), "score is compared with a number, not 'high'"),
        ("fn score>", (3, 9), "nothing follows >"),
        ("category:", (0, 9), "nothing follows :"),
        ("colour:", (0, 7), "nothing follows the colon"),
        ("category>3", (0, 10), "category is compared with : only"),
        ("was:wrong", (0, 9), "was: one of tp, tn, fp, fn, error"),
        ("was>fn", (0, 6), "was is compared with : only"),
        ("expected:maybe", (0, 14), "expected: true or false"),
    ],
)
def test_points_at_what_it_does_not_understand(line: str, span: tuple[int, int], said: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(line, COLUMNS)
    assert (caught.value.start, caught.value.end) == span
    assert said in str(caught.value)


PIECES = [*WORDS, *FIELDS, *'":-<>= ', "score>0.4", "category:", "é", "0.5", "\x1b", "[/INST]"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_line_is_understood_or_pointed_at(rows: FilterRows, line: str) -> None:
    span = (0, 1)
    try:
        result = parse_filter(line, COLUMNS)
    except FilterError as error:
        span = (error.start, error.end)
    else:
        assert result.mask(rows).shape == (len(TEXTS),)
    assert 0 <= span[0] < span[1] <= max(len(line), 1)


@given(st.text(st.characters(exclude_characters='"', exclude_categories=("Cs",)), min_size=1))
def test_a_text_in_quotes_is_a_text(text: str) -> None:
    assert parse_filter(f'"{text}"', COLUMNS).texts == (text,)
