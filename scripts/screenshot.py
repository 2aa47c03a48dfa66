"""Makes docs/screenshot.svg: the app on its sample topic, one edit in. Run by a maintainer.

python scripts/screenshot.py [TARGET]
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path


async def draw(target: Path) -> None:
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.topic_places import scratch_sample
    from guardtui.session.workspace import Workspace
    from guardtui.tui.app import GuardtuiApp
    from guardtui.tui.main.screen import MainScreen

    app = GuardtuiApp.of(Workspace.open(*scratch_sample()), LocalScanner())
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.screen_stack[0]
        assert isinstance(main, MainScreen)
        while main.features is None or main.rows.results is None:
            await asyncio.sleep(0.05)
        await pilot.press("tab", *" this year, or declaring income from side jobs")
        while (
            main.state.evaluation is None
            or main.state.evaluation.topic != main.services.session.topic
            or main.state.ideas is None
        ):
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)  # the words of the selected prompt
        await pilot.pause()
        target.write_text(app.export_screenshot(title="guardtui"), "utf-8")


def main() -> None:
    default = Path(__file__).parent.parent / "docs" / "screenshot.svg"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GUARDTUI_DATA"] = folder
        asyncio.run(draw(target))
    print(target)


if __name__ == "__main__":
    main()
