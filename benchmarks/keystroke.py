"""Functions of guardtui that one keystroke calls: what a reader of that path must know.

A letter is typed into the description of the sample; counted are the distinct functions that run on
the main thread from the key to the next idle, when its figures are shown.

    python benchmarks/keystroke.py [--list]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

PACKAGE = str(Path(__file__).parents[1] / "guardtui")
QUIET = 1.0
"""Seconds without a call after which the app is idle."""


async def calls_of_a_letter() -> Counter[CodeType]:
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.topic_places import scratch_sample
    from guardtui.session.workspace import Workspace
    from guardtui.tui.app import GuardtuiApp
    from guardtui.tui.main.screen import MainScreen

    calls: Counter[CodeType] = Counter()
    polled: Counter[CodeType] = Counter()
    seen = calls

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            seen[frame.f_code] += 1

    app = GuardtuiApp.of(Workspace.open(*scratch_sample()), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.screen_stack[0]
        assert isinstance(main, MainScreen)

        async def quiet() -> None:
            while not (
                main.state.evaluation is not None
                and main.state.evaluation.topic == main.services.session.topic
                and main.state.ideas is not None
                and main.state.ideas.topic == main.state.evaluation.topic
            ):
                await asyncio.sleep(0.05)
            await asyncio.sleep(QUIET)

        await pilot.press("tab", "end")
        await quiet()
        await pilot.press("a")  # the first one imports what the others need
        await quiet()
        seen = polled  # what runs without a key: timers
        sys.setprofile(called)
        await asyncio.sleep(2.5)
        sys.setprofile(None)
        seen = calls
        sys.setprofile(called)
        await pilot.press("b")
        await quiet()
        sys.setprofile(None)
    for code in polled:
        del calls[code]
    return calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="name each function and its calls")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GUARDTUI_DATA"] = str(Path(folder) / "data")
        os.environ["GUARDTUI_CACHE"] = str(Path(folder) / "cache")
        calls = asyncio.run(calls_of_a_letter())
    for code, count in sorted(calls.items(), key=lambda item: item[0].co_filename):
        if options.list:
            place = Path(code.co_filename).relative_to(PACKAGE)
            print(f"{count:>5}  {place}:{code.co_firstlineno} {code.co_qualname}")
    print(f"{len(calls)} functions of guardtui, {sum(calls.values())} calls")


if __name__ == "__main__":
    main()
