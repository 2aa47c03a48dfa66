"""Files that are read without a trial, for tests whose subject it is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def no_trial_reads() -> Iterator[None]:
    """Start no process that reads workbooks and Parquet files first: a third of a second each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.executable", "/nowhere")
        yield
