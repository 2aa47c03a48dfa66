"""The built site: strict, whole, at most three levels; it loads nothing, and anyone can use it."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.docs.blocks import PAGES, ROOT
from tests.test_docs import LOADED

AXE = os.environ.get("GUARDTUI_AXE")
"""Path of axe.min.js, of the npm package axe-core, which checks the accessibility of a page."""

_SERIOUS = """axe.run().then((found) => found.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes[0].html}`))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site by the command that CONTRIBUTING.md has."""
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (command,) = re.findall(r"^python (-m mkdocs build .*)$", text, re.MULTILINE)
    assert "--strict" in command
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, *command.split(), "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_every_page_is_in_the_menu_once_at_most_three_levels_deep() -> None:
    def pages(entry: Any, level: int) -> Iterator[tuple[str, int]]:
        if isinstance(entry, str):
            yield entry, level
            return
        for child in entry.values() if isinstance(entry, dict) else entry:
            yield from pages(child, level + isinstance(child, list))

    menu = YAML(typ="safe").load((ROOT / "docs" / "mkdocs.yml").read_text("utf-8"))["nav"]
    found = list(pages(menu, 1))
    assert sorted(name for name, _ in found) == [page.name for page in PAGES]
    assert max(level for _, level in found) <= 3


class _Loads(HTMLParser):
    """Collects what a page loads by itself; links that a reader follows are none."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for name in ("src", "srcset", "data", "poster"):
            self.found.append(values.get(name) or "")
        if tag == "link":
            self.found.append(values.get("href") or "")
        if tag == "img":
            assert values.get("alt"), "a picture has a text in its place"


@pytest.mark.process
def test_site_builds_as_documented_and_loads_nothing(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    for page in pages:
        text = page.read_text("utf-8")
        parser = _Loads()
        parser.feed(text)
        foreign = [one for one in parser.found if re.match(r"(?:https?:)?//", one.strip())]
        assert not foreign, page.name
        assert not LOADED.search(text), page.name
    for sheet in site.rglob("*.css"):
        assert not LOADED.search(sheet.read_text("utf-8")), sheet.name


@pytest.mark.browser
async def test_search_finds_a_page_by_the_words_of_its_author(address: str, tmp_path: Path) -> None:
    browser = pytest.importorskip("tests.cli.test_serve_browser")
    if browser.CHROMIUM is None:
        pytest.skip("no chromium here")
    async with browser.chromium(tmp_path) as (page, _):
        await page.go(f"{address}/index.html")
        await page.wait_for("document.readyState === 'complete' && window.searchWorker != null")
        typed = """(() => { const field = document.querySelector('#mkdocs-search-query');
            field.value = 'wrong label'; field.dispatchEvent(new Event('keyup')); })()"""
        results = "[...document.querySelectorAll('#mkdocs-search-results a')]"
        await page.value(typed)
        await page.wait_for(f"({typed}, {results}.some((one) => one.href.includes('howto')))")


@pytest.mark.browser
async def test_search_opened_from_the_disk_says_what_it_needs(site: Path, tmp_path: Path) -> None:
    browser = pytest.importorskip("tests.cli.test_serve_browser")
    if browser.CHROMIUM is None:
        pytest.skip("no chromium here")
    async with browser.chromium(tmp_path) as (page, _):
        await page.go((site / "index.html").as_uri())
        text = "document.querySelector('#mkdocs_search_modal').textContent"
        await page.wait_for(f"{text}.includes('python -m http.server')")


@pytest.mark.browser
@pytest.mark.skipif(AXE is None, reason="$GUARDTUI_AXE names no axe.min.js")
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (360, "dark")])
async def test_axe_finds_no_serious_violation(
    width: int, scheme: str, site: Path, tmp_path: Path
) -> None:
    browser = pytest.importorskip("tests.cli.test_serve_browser")
    if browser.CHROMIUM is None:
        pytest.skip("no chromium here")
    axe = Path(AXE or "").read_text("utf-8")
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    async with browser.chromium(tmp_path) as (page, _):
        await page.ask("Emulation.setDeviceMetricsOverride", **size)
        await page.ask("Emulation.setEmulatedMedia", features=media)
        for file in sorted(site.glob("*.html")):
            await page.go(file.as_uri())
            await page.wait_for(
                f"document.readyState === 'complete' && location.href.endsWith('{file.name}')"
            )
            await page.ask("Runtime.evaluate", expression=axe)
            assert await page.value(_SERIOUS) == [], file.name
            assert await page.value("document.documentElement.scrollWidth <= innerWidth")
