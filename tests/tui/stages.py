"""Which cases of a test of the screen belong to the fast stage, and which to the exhaustive one."""

from __future__ import annotations

from typing import Any

import pytest


def first_is_fast(*cases: Any) -> list[Any]:
    """Parameters of which the fast stage plays the first: an app costs a fifth of a second."""
    return [cases[0], *(pytest.param(case, marks=pytest.mark.exhaustive) for case in cases[1:])]


def first_row_is_fast(*rows: tuple[Any, ...]) -> list[Any]:
    """Rows of several parameters of which the fast stage plays the first."""
    return [rows[0], *(pytest.param(*row, marks=pytest.mark.exhaustive) for row in rows[1:])]
