"""The model of a forecast: learns from earlier scans, and says how sure it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from guardtui.forecast.model import NOISE, ScannedDefinition, VerdictModel, noise_of, repeats
from tests.forecast.guardrails import MadeUp


@pytest.mark.parametrize("scans", [1, 3])
def test_other_definitions_are_forecast_better_than_by_the_last_verdicts(scans: int) -> None:
    guardrail = MadeUp()
    model_wrong = kept_wrong = 0
    for _ in range(5):
        seen = [guardrail.scan(guardrail.reading()) for _ in range(scans)]
        coming = guardrail.reading()
        true = guardrail.answers(coming)
        match = VerdictModel(seen).chances(coming).match
        model_wrong += int(((match > 0.5) != true).sum())
        kept_wrong += int((seen[-1].matched != true).sum())
    assert model_wrong < kept_wrong


def test_a_definition_that_was_scanned_is_forecast_as_it_was_answered() -> None:
    guardrail = MadeUp()
    scan = guardrail.scan(guardrail.reading())
    match = VerdictModel([scan]).chances(scan.reading).match
    assert ((match > 0.5) == scan.matched).mean() > 0.98


def test_probabilities_are_as_often_right_as_they_say() -> None:
    guardrail = MadeUp(prompts=2_000)
    model = VerdictModel([guardrail.scan(guardrail.reading()) for _ in range(2)])
    coming = guardrail.reading()
    match, true = model.chances(coming).match, guardrail.answers(coming)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        there = (match >= low) & (match <= high)
        assert there.sum() > 20
        assert low - 0.15 < true[there].mean() < high + 0.15


def test_prompts_never_asked_get_what_the_others_have_taught_and_less_certainty() -> None:
    guardrail = MadeUp(prompts=600)
    scan = guardrail.scan(guardrail.reading())
    asked = np.arange(600) < 300
    half = ScannedDefinition(scan.reading, np.where(asked, scan.matched, -2).astype(np.int8))
    model = VerdictModel([half])
    assert model.asked.tolist() == list(range(300))
    match = model.chances(scan.reading).match
    right = (match > 0.5) == scan.matched
    assert right[~asked].mean() > 0.75  # by the features alone
    unsure = np.minimum(match, 1 - match)
    assert unsure[~asked].mean() > unsure[asked].mean()


def test_a_prompt_that_is_an_example_matches_whatever_it_did_before() -> None:
    guardrail = MadeUp()
    scan = guardrail.scan(guardrail.reading())
    quiet = int(np.flatnonzero(scan.matched == 0)[0])
    coming = guardrail.reading()
    nearest = coming.nearest.copy()
    nearest[quiet] = 1.0
    match = VerdictModel([scan]).chances(replace(coming, nearest=nearest)).match
    assert match[quiet] > 0.99


def test_equal_scans_give_equal_forecasts() -> None:
    guardrail = MadeUp()
    scans = [guardrail.scan(guardrail.reading()) for _ in range(3)]
    coming = guardrail.reading()
    first, second = (VerdictModel(scans).chances(coming).match for _ in range(2))
    assert np.array_equal(first, second)


def test_an_unlike_definition_is_forecast_with_less_certainty() -> None:
    guardrail = MadeUp()
    scan = guardrail.scan(guardrail.reading())
    model = VerdictModel([scan])

    def doubt(match: np.ndarray) -> float:
        return float(np.minimum(match, 1 - match).mean())

    far = guardrail.reading()
    # The same features, so that only the unlikeness of the texts differs.
    moved = replace(scan.reading, description=far.description, examples=far.examples)
    assert doubt(model.chances(moved).match) > doubt(model.chances(scan.reading).match)


def test_a_feature_equal_for_all_prompts_at_first_does_not_decide_later() -> None:
    guardrail = MadeUp()
    scan = guardrail.scan(guardrail.reading())
    constant = scan.reading.columns.copy()
    constant[:, 3] = 0.0
    later = constant.copy()
    later[:10, 3] = 0.05
    model = VerdictModel([replace(scan, reading=replace(scan.reading, columns=constant))])
    match, edited = (
        model.chances(replace(scan.reading, columns=columns)).match for columns in (constant, later)
    )
    assert np.array_equal(edited[10:], match[10:])
    assert np.abs(edited - match).max() < 0.5


# --- noise ------------------------------------------------------------------------------------


def test_only_scans_of_the_same_definition_are_compared() -> None:
    guardrail = MadeUp(prompts=4)
    reading = guardrail.reading()
    answers = ([1, 0, 1, -2], [0, 0, 0, 0], [1, 1, -1, 0])
    scans = [ScannedDefinition(reading, np.array(triggered, np.int8)) for triggered in answers]
    counted = repeats(scans, ["here", "there", "here"])
    assert (counted.pairs, counted.differing) == (2, 1)
    assert repeats(scans, ["a", "b", "c"]).pairs == 0


def test_the_more_repeated_scans_differ_the_more_noise_there_is() -> None:
    noises = []
    for deviation in (0.0, 0.3, 1.0):
        guardrail = MadeUp()
        reading = guardrail.reading()
        scans = [guardrail.scan(reading, deviation) for _ in range(2)]
        chances = VerdictModel(scans).chances(reading)
        noises.append(noise_of(repeats(scans, ["same", "same"]), chances))
    assert noises[0] == NOISE
    assert noises[0] < noises[1] < noises[2]


def test_a_guardrail_that_answers_by_chance_has_the_largest_noise() -> None:
    guardrail = MadeUp()
    reading = guardrail.reading()
    coins = guardrail.random.integers(0, 2, (2, 300)).astype(np.int8)
    scans = [ScannedDefinition(reading, coin) for coin in coins]
    noise = noise_of(repeats(scans, ["same", "same"]), VerdictModel(scans).chances(reading))
    assert noise > 1
