"""Several scanners' agreement against scikit-learn, Krippendorff's own figures and brute force."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from guardtui.domain.panel import Panel

ANSWERS = st.sampled_from([-1, 0, 1])


@st.composite
def panels(draw: st.DrawFn, answers: st.SearchStrategy[int] = ANSWERS) -> Panel:
    scanners, prompts = draw(st.integers(1, 5)), draw(st.integers(0, 25))
    row = st.lists(answers, min_size=prompts, max_size=prompts)
    table = draw(st.lists(row, min_size=scanners, max_size=scanners))
    labels = draw(st.lists(st.booleans(), min_size=prompts, max_size=prompts))
    return panel(table, labels)


def panel(table: list[list[int]], labels: list[bool] | None = None) -> Panel:
    answers = np.array(table, np.int8).reshape(len(table), -1)
    names = tuple(f"s{index}" for index in range(len(table)))
    return Panel(names, answers, np.array(labels or [False] * answers.shape[1], bool))


def alpha_of(table: list[list[int]]) -> Fraction | None:
    """Alpha as it is defined: from the coincidences of all ordered pairs of values in a unit."""
    coincidences: Counter[tuple[int, int]] = Counter()
    for unit in zip(*table, strict=True):
        values = [value for value in unit if value >= 0]
        for one, other in permutations(values, 2):
            coincidences[one, other] += Fraction(1, len(values) - 1)
    margins: Counter[int] = Counter()
    for (one, _), weight in coincidences.items():
        margins[one] += weight
    total = sum(margins.values())
    expected = sum(margins[a] * margins[b] for a in margins for b in margins if a != b)
    if not expected:
        return None
    observed = sum(weight for (one, other), weight in coincidences.items() if one != other)
    return 1 - (total - 1) * observed / Fraction(expected)


@given(panels())
def test_alpha_is_that_of_the_coincidences(given_panel: Panel) -> None:
    wanted = alpha_of(given_panel.answers.tolist())
    if wanted is None:
        assert given_panel.alpha is None
    else:
        assert given_panel.alpha == pytest.approx(float(wanted), abs=1e-12)


@given(panels())
def test_alpha_is_that_of_another_program(given_panel: Panel) -> None:
    oracle = pytest.importorskip("krippendorff")
    if given_panel.alpha is None:
        return
    values = np.where(given_panel.answers < 0, np.nan, given_panel.answers)
    wanted = oracle.alpha(values, value_domain=[0, 1], level_of_measurement="nominal")
    assert given_panel.alpha == pytest.approx(wanted, abs=1e-12)


def test_alpha_of_krippendorffs_own_example() -> None:
    # Krippendorff (2011), section A: two observers, ten units, no value missing.
    meg, owen = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert panel([meg, owen]).alpha == pytest.approx(0.095, abs=0.0005)


@given(panels(st.sampled_from([0, 1])))
def test_without_gaps_alpha_is_fleiss_kappa_for_a_small_sample(given_panel: Panel) -> None:
    scanners, prompts = given_panel.answers.shape
    if given_panel.alpha is None:
        return
    # Fleiss (1971): mean share of agreeing pairs beyond the squares of the shares of answers.
    yes = [int(column.sum()) for column in given_panel.answers.T]
    pairs = scanners * (scanners - 1)
    observed = Fraction(
        sum(y * (y - 1) + (scanners - y) * (scanners - y - 1) for y in yes), pairs * prompts
    )
    share = Fraction(sum(yes), scanners * prompts)
    chance = share**2 + (1 - share) ** 2
    kappa = (observed - chance) / (1 - chance)
    total = scanners * prompts
    assert given_panel.alpha == pytest.approx(float(1 - (1 - kappa) * (total - 1) / total))


@given(panels())
def test_pairs_have_cohens_kappa(given_panel: Panel) -> None:
    answers = given_panel.answers
    assert len(given_panel.pairs) == len(answers) * (len(answers) - 1) // 2
    for (first, second), found in given_panel.pairs.items():
        known = (answers[first] >= 0) & (answers[second] >= 0)
        one, other = answers[first][known], answers[second][known]
        assert found.total == len(one)
        if len({*one.tolist(), *other.tolist()}) > 1:
            assert found.kappa == pytest.approx(cohen_kappa_score(one, other), abs=1e-12)
        else:
            assert found.kappa is None


@given(panels())
def test_each_row_by_hand(given_panel: Panel) -> None:
    labels = given_panel.should_trigger.tolist()
    for row, unit in enumerate(given_panel.answers.T.tolist()):
        votes = Counter(value for value in unit if value >= 0)
        assert given_panel.differ[row] == (len(votes) == 2)
        strict = [value for value in votes if 2 * votes[value] > votes.total() >= 2]
        assert given_panel.majority[row] == (strict[0] if strict else -1)
        assert given_panel.against[row] == (bool(strict) and bool(strict[0]) != labels[row])


@given(panels(), st.randoms(use_true_random=False))
def test_the_order_of_scanners_and_prompts_changes_no_figure(given_panel: Panel, random) -> None:  # type: ignore[no-untyped-def]
    rows = list(range(given_panel.answers.shape[0]))
    columns = list(range(given_panel.answers.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    other = Panel(
        given_panel.names,
        given_panel.answers[rows][:, columns],
        given_panel.should_trigger[columns],
    )
    assert other.alpha == given_panel.alpha
    assert other.majority.tolist() == given_panel.majority[columns].tolist()
    assert int(other.against.sum()) == int(given_panel.against.sum())


def test_single_and_tied_verdicts_have_no_majority() -> None:
    result = panel([[1, 1, 1, 0], [-1, 0, 1, 0], [-1, -1, -1, 1]], [False, False, False, True])
    assert result.majority.tolist() == [-1, -1, 1, 0]
    assert result.against.tolist() == [False, False, True, True]
    assert result.differ.tolist() == [False, True, False, True]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="answers for"):
        Panel(("a",), np.zeros((2, 3), np.int8), np.zeros(3, bool))
    with pytest.raises(ValueError, match="answers for"):
        Panel(("a",), np.zeros((1, 3), np.int8), np.zeros(4, bool))
