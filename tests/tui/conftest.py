"""Options of the tests of the screen."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-frames",
        action="store_true",
        help="write the frames of tests/tui/frames anew; look at what git says changed",
    )
