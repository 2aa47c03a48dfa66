"""A module that is imported late is the module itself, and comes when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from threading import Thread

import numpy as np
import pytest

from guardtui.domain.late import late


def test_what_it_gives_is_what_the_module_has() -> None:
    stand_in = late("numpy")
    assert stand_in.float32 is np.float32
    assert stand_in.linalg.norm is np.linalg.norm
    assert vars(stand_in)["float32"] is np.float32, "the second time needs no import"


def test_a_missing_module_is_told_at_the_first_use() -> None:
    stand_in = late("guardtui_has_no_such_module")
    with pytest.raises(ModuleNotFoundError, match="guardtui_has_no_such_module"):
        stand_in.anything  # noqa: B018 - the use is what is tested
    with pytest.raises(AttributeError, match="no_such_name"):
        late("numpy").no_such_name  # noqa: B018


def test_threads_that_come_at_once_all_get_it() -> None:
    stand_in, found = late("json"), []
    threads = [Thread(target=lambda: found.append(stand_in.dumps([1]))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["[1]"] * 8


@pytest.mark.parametrize(
    "module",
    [
        "guardtui.domain.comparison",
        "guardtui.domain.row_filter",
        "guardtui.session.store",
        "guardtui.scanners.local.scanner",
        "guardtui.scanners.local.calibration",
    ],
)
def test_what_the_first_screen_imports_brings_neither_numpy_nor_polars(module: str) -> None:
    script = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"numpy", "polars", "scipy"} & set(run.stdout.split())
