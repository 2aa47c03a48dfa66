"""Distribution functions against scipy, which the package itself does not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from guardtui.distributions import (
    binomial_cdf,
    binomial_cdf_along,
    binomial_pmf,
    log_choose,
    log_normal_cdf,
    normal_cdf,
    normal_quantile,
    smallest_beta_quantile,
    t_critical,
)

chances = st.floats(0.001, 0.999)
counts = st.one_of(st.integers(0, 300), st.integers(0, 100_000))


def test_normal_distribution_is_that_of_scipy_from_tail_to_tail() -> None:
    x = np.concatenate([np.linspace(-40, 40, 8_001), [-1e5, -300.0, 300.0]]).reshape(-1, 2)
    np.testing.assert_allclose(normal_cdf(x), special.ndtr(x), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(log_normal_cdf(x), special.log_ndtr(x), rtol=1e-12, atol=1e-15)
    p = np.concatenate([np.linspace(0.0001, 0.9999, 1_001), [1e-300, 1e-12, 1 - 1e-12]])
    np.testing.assert_allclose(normal_quantile(p), special.ndtri(p), rtol=1e-12, atol=1e-15)


@given(counts, counts, st.sampled_from([0, 0.5, 0.75, 1]), chances)
def test_quantile_of_one_beta_variable_is_that_of_scipy(
    right: int, wrong: int, prior: float, probability: float
) -> None:
    shape = (right + prior, wrong + 1 - prior)
    if min(shape) == 0:
        return
    result = smallest_beta_quantile(probability, shape)
    expected = special.betaincinv(*shape, probability)
    assert result == pytest.approx(expected, rel=1e-8, abs=1e-9)


@given(counts, counts, counts, counts, chances)
def test_quantile_of_the_smaller_of_two_beta_variables_has_its_probability(
    tp: int, fn: int, tn: int, fp: int, probability: float
) -> None:
    shapes = ((tp + 0.5, fn + 0.5), (tn + 0.5, fp + 0.5))
    point = smallest_beta_quantile(probability, *shapes)
    larger = [stats.beta.sf(point, *shape) for shape in shapes]
    if 1e-12 < point < 1 - 1e-12:  # nearer to an end, the next float is another probability
        assert 1 - larger[0] * larger[1] == pytest.approx(probability, abs=1e-5)


@given(st.data(), st.integers(1, 50_000), chances)
def test_binomial_distribution_is_that_of_scipy(
    data: st.DataObject, trials: int, rate: float
) -> None:
    hits = data.draw(st.integers(0, trials))
    assert binomial_cdf(hits, trials, rate) == pytest.approx(
        stats.binom.cdf(hits, trials, rate), abs=1e-10
    )
    around = np.arange(hits - 3, hits + 4)
    np.testing.assert_allclose(
        binomial_pmf(around, trials, rate), stats.binom.pmf(around, trials, rate), atol=1e-10
    )


@given(st.lists(st.booleans(), max_size=200), st.integers(-3, 0), chances)
def test_binomial_distribution_along_rising_counts_is_that_of_scipy(
    rises: list[bool], first: int, rate: float
) -> None:
    hits = np.cumsum([first, *rises])
    expected = stats.binom.cdf(hits, np.arange(len(hits)), rate)
    np.testing.assert_allclose(binomial_cdf_along(hits, rate), expected, atol=1e-12)


@given(st.integers(0, 100_000), st.integers(0, 100_000))
def test_number_of_choices_is_that_of_scipy(part: int, rest: int) -> None:
    expected = -special.betaln(part + 1, rest + 1) - np.log(part + rest + 1)
    assert float(log_choose(part + rest, part)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 1_000])
@pytest.mark.parametrize("tail", [5e-17, 1e-9, 0.025, 0.3])
def test_critical_value_of_t_is_that_of_scipy(tail: float, freedom: int) -> None:
    assert t_critical(tail, freedom) == pytest.approx(stats.t.isf(tail, freedom), rel=1e-9)
