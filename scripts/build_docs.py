"""Make the generated parts of docs/pages: keys, help, tables, the pictures.

python scripts/build_docs.py            everything but the pictures
python scripts/build_docs.py pictures   also the pictures, drawn by the app and by chromium
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

if TYPE_CHECKING:
    import click
    from textual.pilot import Pilot

    from guardtui.tui.app import GuardtuiApp
    from guardtui.tui.main.screen import MainScreen

PAGES = Path(__file__).parent.parent / "docs" / "pages"
KEYS = PAGES / "keys.md"
SETTINGS = PAGES / "settings.md"
GLOSSARY = PAGES / "index.md"
COMMANDS = PAGES / "commands.md"
PICTURES = PAGES / "pictures"
SAMPLE_LOG = PAGES.parent.parent / "sample_data" / "assistant-log.jsonl"

EDIT = ", including freelance and rental income"
"""What the tutorial types at the end of the description."""

WRONG, SEARCHED = "inheritance before", "loopholes"
"""What the tutorial looks for: a prompt to correct, and one that makes a bad example."""

_SIZE = (120, 40)
_PATIENCE = 120
"""Seconds for the app to come to rest, and for chromium to draw one page."""

_CLOCK = "2026-01-05T09:00:00+00:00"

HELP_PAGES = {
    "editor": ("definition", "intent"),
    "metrics": ("metrics", "figures", "beside"),
    "results": ("results", "filter"),
    "detail": ("detail",),
}
"""Pages of the panes of the main screen: the names of the help that each has."""

_COMMON_KEYS = (
    "Move or scroll; g G: first, last; ^d ^u: half a page",
    "Go to the next place; Shift and Tab: to the one before",
    "Close it; nothing is changed",
)
"""What keys do everywhere: the page of keys says it."""

_HELP_HEAD = (
    "<!-- Made by scripts/build_docs.py from guardtui/tui/help/: edit there, then run it. -->\n\n"
)
_KEYS_HEAD = """\
<!-- Made by scripts/build_docs.py from tui/registry/actions.txt: edit there, then run it. -->

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


def help_pages() -> dict[Path, str]:
    """The texts of the pages that have the help of the panes of the main screen."""
    return {
        PAGES / f"{page}.md": _HELP_HEAD + "\n".join(_help(name, n) for n, name in enumerate(names))
        for page, names in HELP_PAGES.items()
    }


def _help(name: str, number: int) -> str:
    """The help of a pane in Markdown; its title is that of the page if it is the first there."""
    from guardtui.tui.help.panes import panes, with_keys
    from guardtui.tui.registry.actions import SCOPE_TITLES

    pane = panes()[name]
    deeper = "#" * min(number, 1)
    parts = [f"#{deeper} {pane.title}", with_keys(pane.prose)]
    keys = [(key, meaning) for key, meaning in pane.keys if meaning not in _COMMON_KEYS]
    if keys:
        line = "Keys: " + "; ".join(f"`{key}` {meaning}" for key, meaning in keys) + "."
        parts.append("\n".join(textwrap.wrap(line, 120, break_on_hyphens=False)))
    if pane.scopes:
        titles = (SCOPE_TITLES[scope] for scope in pane.scopes)
        links = (f"[{title}](keys.md#{title.lower().replace(' ', '-')})" for title in titles)
        parts.append(f"More keys: {', '.join(links)}.")
    if pane.more:
        parts.append(re.sub("^##", f"##{deeper}", with_keys(pane.more), flags=re.MULTILINE))
    return "\n\n".join(parts) + "\n"


def glossary_page() -> str:
    """The text of index.md, with the table of the words of the help."""
    from guardtui.tui.help.panes import words

    rows = "".join(f"| {word} | {_cell(meaning)} |\n" for word, meaning in words().items())
    table = f"| word | meaning |\n|---|---|\n{rows}"
    text = GLOSSARY.read_text("utf-8")
    return re.sub(r"^\| word .*?\n(?=\n|\Z)", lambda _: table, text, flags=re.M | re.S)


def commands_page() -> str:
    """The text of commands.md, with the table of the options of each command."""
    from guardtui.cli.main import cli

    rows = "".join(f"| `{name}` | {options} |\n" for name, options in _options(cli))
    table = f"| command | options |\n|---|---|\n{rows}"
    text = COMMANDS.read_text("utf-8")
    return re.sub(r"^\| command .*?\n(?=\n)", lambda _: table, text, flags=re.M | re.S)


def _options(group: click.Group, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each command that has options, with their names."""
    import click

    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None, name
            options = (
                parameter for parameter in command.params if isinstance(parameter, click.Option)
            )
            records = (option.get_help_record(context) for option in options)
            names = (record[0] for record in records if record is not None)
            # Markdown has no bar in a cell that every reader shows alike.
            shown = (
                f"<code>{name.replace('|', '&#124;')}</code>" if "|" in name else f"`{name}`"
                for name in names
            )
            if text := ", ".join(shown):
                yield f"{prefix}{name}", text
            if isinstance(command, click.Group):
                yield from _options(command, f"{name} ")


def generated() -> dict[Path, str]:
    """The texts of all pages that are made, or have a part that is made, by their paths."""
    made = {
        KEYS: keys_page(),
        SETTINGS: settings_page(),
        GLOSSARY: glossary_page(),
        COMMANDS: commands_page(),
    }
    return {**made, **help_pages()}


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
            if self._main.features is None:
                return True
            evaluation = self._main.state.evaluation
            late = evaluation is None or evaluation.topic != self._main.services.session.topic
            # A dialog waits inside of a worker, and waits for us.
            asked = self._app.screen is not self._main
            return late or (not asked and any(worker.is_running for worker in self._app.workers))

        try:
            async with asyncio.timeout(_PATIENCE):
                await self._pilot.pause()
                while self._app.is_running and moves():
                    await asyncio.sleep(0.02)
                await self._pilot.pause()
        except TimeoutError:
            running = ", ".join(worker.name for worker in self._app.workers if worker.is_running)
            sys.exit(f"the app is not at rest after {_PATIENCE} seconds; running: {running}")
        if not self._app.is_running:
            # `run_test` raises what ended it.
            sys.exit("the app has ended before its picture was taken")
        if moves():
            await self._settle()


async def walk(camera: Camera) -> None:
    """The tutorial's way through the sample topic, with its pictures."""
    await camera.take("start")
    await camera.press("tab", typed=EDIT)
    await camera.take("edit")
    await camera.press("f2")
    await correct(camera)
    await camera.take("why")
    await camera.press("enter")
    await camera.take("preview")
    await camera.press("enter")
    await camera.press("f2")
    await camera.press("escape", "7")
    await camera.press("slash", typed=SEARCHED)
    await camera.press("enter")
    await camera.press("e")
    await camera.press("y")
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


async def improve(camera: Camera) -> None:
    """Make the first two edits of the tutorial, for the picture of the README."""
    await camera.press("tab", typed=EDIT)
    await correct(camera)
    await camera.press("enter")
    await camera.press("enter")
    await camera.press("escape", "7")
    await camera.take("overview")


async def correct(camera: Camera) -> None:
    """Go to the first prompt of the tutorial, and open what would correct it."""
    await camera.press("f5", "f5", "3")
    await camera.press("slash", typed=WRONG)
    await camera.press("enter")
    await camera.press("w")


async def label(camera: Camera) -> None:
    """The prompts of a log, which wait for labels."""
    await camera.press("f5", "l")
    await camera.take("labels")


async def widen(camera: Camera) -> None:
    """An edit, in a window that has room for all panes."""
    await camera.press("tab", typed=EDIT)
    await camera.take("wide")


@contextmanager
def new_sample() -> Iterator[tuple[Path, Path]]:
    """Yield the topic file and the prompt file of a copy of the sample that nothing has edited."""
    from guardtui.session.topic_places import scratch_sample

    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, {"GUARDTUI_DATA": folder}),
    ):
        yield scratch_sample()


async def draw(
    folder: Path,
    way: Callable[[Camera], Awaitable[None]] = walk,
    *,
    size: tuple[int, int] = _SIZE,
    log: Path | None = None,
) -> None:
    """Run the app on a copy of the sample and write the pictures to `folder`.

    The prompts of `log` wait for labels.
    """
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.workspace import Workspace
    from guardtui.tui.app import GuardtuiApp
    from guardtui.tui.editor.pane import TopicField
    from guardtui.tui.main.screen import MainScreen

    with new_sample() as (topic, prompts):
        if log is not None:
            add = (sys.executable, "-m", "guardtui", "inbox", "add", topic, log)
            subprocess.run(add, check=True, stdout=subprocess.DEVNULL)
        app = GuardtuiApp.of(Workspace.open(topic, prompts), LocalScanner())
        app.animation_level = "none"
        with patch("guardtui.session.workspace.now", lambda: _CLOCK):
            async with app.run_test(size=size) as pilot:
                main = app.screen_stack[0]
                assert isinstance(main, MainScreen)
                for field in main.query(TopicField):
                    field.cursor_blink = False
                await way(Camera(app, main, pilot, folder))


def photograph_report(folder: Path) -> None:
    """Write a picture of the first screen of the HTML report on the tutorial's edit to `folder`.

    Needs chromium, as a browser on a screen of 1100 by 760 pixels shows it.
    """
    page = folder / "report.html"
    with new_sample() as (topic, prompts):
        evaluate = (sys.executable, "-m", "guardtui", "eval", topic, "--prompts", prompts)
        subprocess.run((*evaluate, "--record"), check=True, stdout=subprocess.DEVNULL)
        text = topic.read_text("utf-8")
        topic.write_text(text.replace("a tax bill", f"a tax bill{EDIT}"), "utf-8")
        subprocess.run((*evaluate, "--record", "--baseline", "last", "-o", page), check=True)
    browser = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    picture = (f"--screenshot={folder / 'report.png'}", "--window-size=1100,760")
    with tempfile.TemporaryDirectory() as profile:
        # A profile of its own: chromium waits for another one that uses the same.
        call = (*browser, f"--user-data-dir={profile}", *picture, page.as_uri())
        try:
            subprocess.run(call, check=True, stderr=subprocess.DEVNULL, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            sys.exit(f"chromium has not drawn {page} within {_PATIENCE} seconds; try again")
    page.unlink()


def build_pictures() -> None:
    """Draw all pictures anew; one that is no longer made is removed."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "pictures"
        made.mkdir()
        asyncio.run(draw(made))
        asyncio.run(draw(made, improve))
        asyncio.run(draw(made, label, size=(80, 24), log=SAMPLE_LOG))
        asyncio.run(draw(made, widen, size=(200, 60)))
        photograph_report(made)
        shutil.rmtree(PICTURES, ignore_errors=True)
        shutil.copytree(made, PICTURES)


def main() -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    for path, text in generated().items():
        path.write_text(text, "utf-8")
        print(path)
    if "pictures" in sys.argv[1:]:
        build_pictures()
        print(*sorted(PICTURES.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
