"""Noise: read off scans of one definition that differ."""

from __future__ import annotations

import numpy as np

from guardtui.forecast.model import NOISE, ScannedDefinition, VerdictModel
from guardtui.forecast.noise import noise_of, repeats
from tests.forecast.guardrails import MadeUp


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
