"""Make the generated parts of docs/pages: keys, settings, the schema of reports, the pictures.

python scripts/build_docs.py            keys.md, the table in settings.md, report.schema.json
python scripts/build_docs.py pictures   also the pictures of the tutorial, drawn by the app
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from guardtui.reports.json_report import report_schema

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from guardtui.tui.app import GuardtuiApp
    from guardtui.tui.main.screen import MainScreen

PAGES = Path(__file__).parent.parent / "docs" / "pages"
KEYS = PAGES / "keys.md"
SETTINGS = PAGES / "settings.md"
SCHEMA = PAGES / "report.schema.json"
PICTURES = PAGES / "pictures"

EDIT = " and how to declare income"
"""What the tutorial types at the end of the description."""

SEARCHED = "muss ich den gewinn"
"""The prompt that the tutorial takes as an example."""

_SIZE = (120, 40)
_CLOCK = "2026-01-05T09:00:00+00:00"

_KEYS_HEAD = """\
<!-- Made by scripts/build_docs.py from tui/registry/actions.py: edit there, then run it. -->

# Keys

`^` stands for Ctrl: `^q` is Ctrl and Q. A second key is for terminals that swallow the first, or
works outside of text fields only. An action without a key is in the menu; the setting `keys` can
give it one. The last line of the screen shows the keys that are useful where you are.

Ctrl and Space, or a comma outside of text fields, opens the menu: a panel with the next keys, of
which one letter does something or opens a further menu. The column menu says which letters lead to
an action: `s m` is `s`, then `m`. What cannot be done now is dim and says why.

F1, or `?` outside of text fields, explains the pane that has the focus, with its keys; `a` in there
shows this list. Ctrl and P opens the command palette, which has every action under the name used
here. `q` closes pages and dialogs. The id is what the setting `keys` knows an action by; keys that
work outside of text fields only have one of their own, such as `letters.open_menu`.
"""


def keys_page() -> str:
    """The text of keys.md."""
    from guardtui.tui.registry.actions import (
        SCOPE_TITLES,
        binding_ids,
        in_scope,
        key_name,
        key_names,
        menu_path,
    )

    parts = [_KEYS_HEAD]
    for scope, title in SCOPE_TITLES.items():
        parts.append(f"\n## {title}\n\n| key | menu | action | what it does | id |\n")
        parts.append("|---|---|---|---|---|\n")
        for action in in_scope(scope):
            keys = " or ".join(f"`{key}`" for key in key_names(action).split(" or ") if key)
            path = " ".join(map(key_name, menu_path(action)))
            menu = f"`{path}`" if path else ""
            ids = ", ".join(f"`{name}`" for name in binding_ids(action))
            parts.append(
                f"| {keys} | {menu} | {_cell(action.title)} | {_cell(action.tooltip)} | {ids} |\n"
            )
    return "".join(parts)


def settings_page() -> str:
    """The text of settings.md, with the table of the settings as they are declared."""
    from guardtui.config import SETTINGS as DECLARED

    rows = "".join(
        f"| `{setting.key}` | {setting.values} | {setting.show(setting.default) or 'none'} | "
        f"{_cell(setting.documentation)} |\n"
        for setting in DECLARED
    )
    table = f"| setting | values | default | |\n|---|---|---|---|\n{rows}"
    text = SETTINGS.read_text("utf-8")
    return re.sub(r"^\| setting .*?\n(?=\n)", lambda _: table, text, flags=re.M | re.S)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def offline(svg: str) -> str:
    """The picture without the fonts that it would load from elsewhere."""
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)


class Camera:
    """Takes pictures of one run of the app, when nothing in it moves any more."""

    def __init__(self, app: GuardtuiApp, main: MainScreen, pilot: Pilot[int], folder: Path) -> None:
        self._app, self._main, self._pilot, self._folder = app, main, pilot, folder

    async def press(self, *keys: str, typed: str = "") -> None:
        """Press keys, then type a text, and wait for what that starts."""
        await self._pilot.press(*keys, *typed)
        await self._settle()

    async def take(self, name: str) -> None:
        """Write NAME.svg."""
        await self._settle()
        self._app.clear_notifications()
        await self._pilot.pause()
        svg = offline(self._app.export_screenshot(title="guardtui"))
        (self._folder / f"{name}.svg").write_text(svg, "utf-8")

    async def _settle(self) -> None:
        def moves() -> bool:
            evaluation = self._main.state.evaluation
            late = evaluation is None or evaluation.topic != self._main.services.session.topic
            # A dialog waits inside of a worker, and waits for us.
            asked = self._app.screen is not self._main
            return late or (not asked and any(one.is_running for one in self._app.workers))

        await self._pilot.pause()
        while moves():
            await asyncio.sleep(0.02)
        await self._pilot.pause()
        if moves():
            await self._settle()


async def walk(camera: Camera) -> None:
    """The tutorial's way through the sample topic, with its pictures."""
    await camera.take("start")
    await camera.press("tab", typed=EDIT)
    await camera.take("edit")
    await camera.press("f2")
    await camera.press("f5", "f5", "3")
    await camera.press("slash", typed=SEARCHED)
    await camera.press("enter")
    await camera.press("e")
    await camera.press("escape")
    await camera.press("4")
    await camera.take("regressions")
    await camera.press("f12")
    await camera.take("difference")
    await camera.press("f12")
    await camera.press("f3")
    await camera.press("f4")
    await camera.take("history")
    await camera.press("escape")


async def draw(
    folder: Path, way: Callable[[Camera], Awaitable[None]] = walk, encoder: str = "pair"
) -> None:
    """Run the app on a copy of the sample and write the pictures to `folder`."""
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.workspace import Workspace, scratch_sample
    from guardtui.tui.app import GuardtuiApp
    from guardtui.tui.editor.pane import TopicField
    from guardtui.tui.main.screen import MainScreen

    app = GuardtuiApp(Workspace.open(*scratch_sample()), LocalScanner(encoder), threshold="shipped")
    app.animation_level = "none"
    with patch("guardtui.session.workspace.now", lambda: _CLOCK):
        async with app.run_test(size=_SIZE) as pilot:
            main = app.screen_stack[0]
            assert isinstance(main, MainScreen)
            for field in main.query(TopicField):
                field.cursor_blink = False
            await way(Camera(app, main, pilot, folder))


def build_pictures() -> None:
    """Draw all pictures anew; one that is no longer made is removed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GUARDTUI_DATA"] = str(Path(folder) / "data")
        made = Path(folder) / "pictures"
        made.mkdir()
        asyncio.run(draw(made, encoder="minilm"))  # that of the tutorial
        shutil.rmtree(PICTURES, ignore_errors=True)
        shutil.copytree(made, PICTURES)


def main() -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    KEYS.write_text(keys_page(), "utf-8")
    SETTINGS.write_text(settings_page(), "utf-8")
    SCHEMA.write_text(report_schema(), "utf-8")
    print(KEYS, SETTINGS, SCHEMA, sep="\n")
    if "pictures" in sys.argv[1:]:
        build_pictures()
        print(*sorted(PICTURES.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
