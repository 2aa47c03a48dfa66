"""Options as scanners declare them: which fit which scanner, and what counts as given."""

from __future__ import annotations

import pytest

from guardtui.scanners.options import SCANNERS, all_options, options_of, unfit_option


def test_names_and_keys_of_all_options_are_unique() -> None:
    options = all_options()
    assert len({option.name for option in options}) == len(options)
    assert len({option.key for option in options}) == len(options)


@pytest.mark.parametrize("scanner", SCANNERS)
def test_option_of_another_scanner_is_unfit_and_its_own_is_not(scanner: str) -> None:
    own = options_of(scanner)
    for option in all_options():
        result = unfit_option(scanner, {option.key: "a value"})
        assert result is (None if option in own else option), option.name


@pytest.mark.parametrize("value", [None, (), False])
def test_default_value_counts_as_not_given(value: object) -> None:
    assert unfit_option("engine", {"retries": value}) is None


def test_zero_counts_as_given() -> None:
    option = unfit_option("engine", {"retries": 0})
    assert option is not None
    assert option.name == "--retries"
