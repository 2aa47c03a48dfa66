"""Reports in a real chromium: found, sorted, scrolled, read by keyboard; nothing acts."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.verdicts import Outcome, Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import load_writer
from tests.guardrails import settings_of
from tests.reports.conftest import TOPIC, evaluation_of

pytest.importorskip("aiohttp")

from tests.cli.test_serve_browser import Page, chromium

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here"),
]
SCREENSHOTS = os.environ.get("GUARDTUI_SCREENSHOTS")
AXE = os.environ.get("GUARDTUI_AXE")
"""Path of axe.min.js, of the npm package axe-core, which checks the accessibility of a page."""
ROWS = 20_000
EVIL = (
    "</script><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "<svg onload=window.hit=1>",
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "<a href='javascript:window.hit=1'>x</a>",
    "\u202egnp.exe \u2066 \u200b",
    "{{constructor.constructor('window.hit=1')()}} ${window.hit=1}",
    "<!-- <script> </style><style>*{display:none}",
    "W" * 100_000,
)

_STEPS = """
const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
const field = document.querySelector('.tools input');
const scroller = document.querySelector('.scroller');
const table = document.querySelector('.port table');
const views = [...document.querySelectorAll('.views button')];
const heads = [...document.querySelectorAll('.port th')];
const status = () => document.querySelector('[role=status]').textContent;
const find = (words) => { field.value = words; field.dispatchEvent(new Event('input')); };
const shown = (column) =>
  [...document.querySelectorAll('.port tbody tr')].map((row) => row.cells[column].textContent);
const press = (key) => table.dispatchEvent(
  new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
const took = async (work) => {
  const start = performance.now(); work(); await frame(); return performance.now() - start; };
"""


async def run(page: Page, script: str) -> Any:
    """What an async function body of JavaScript returns, run in the page."""
    expression = f"(async () => {{ {_STEPS} {script} }})()"
    reply = await page.ask(
        "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
    )
    assert "exceptionDetails" not in reply, reply
    return reply["result"].get("value")


Look = Callable[[Page], Awaitable[None]]


async def shown_in(tmp_path: Path, text: str, look: Look, *, scripts: bool = True) -> None:
    """Open a page from disk, look at it, and see that nothing was loaded and nothing failed."""
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    async with chromium(tmp_path / "profile") as (page, _):
        for domain in ("Page", "Network", "Runtime"):
            await page.ask(f"{domain}.enable")
        await page.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        await page.ask("Page.navigate", url=path.as_uri())
        async with asyncio.timeout(120):
            while await run(page, "return document.readyState") != "complete":
                await asyncio.sleep(0)
        await look(page)
        assert page.problems == []
        assert list(page.requested.values()) == [path.as_uri()]


async def picture(page: Page, name: str, *, dark: bool = False, print_: bool = False) -> bytes:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    await page.ask("Emulation.setEmulatedMedia", media="print" if print_ else "", features=[scheme])
    data = base64.b64decode((await page.ask("Page.captureScreenshot"))["data"])
    if SCREENSHOTS:
        Path(SCREENSHOTS, f"{name}.png").write_bytes(data)
    return data


@pytest.fixture
def large(tmp_path: Path) -> ReportInput:
    """As many prompts as a large set has, every outcome among them."""
    path = tmp_path / "large.csv"
    words = " and something more that a customer may have asked at some time" * 2
    lines = (
        f"prompt {k} of many{words},{'true' if k % 2 else 'false'},block,c{k % 9}"
        for k in range(ROWS)
    )
    path.write_text("\n".join(["prompt,expected,intent,category", *lines]), encoding="utf-8")
    prompts = load_prompts(path)
    random = np.random.default_rng(7)
    score = random.random(ROWS).astype(np.float32)
    verdicts = Verdicts(
        (score >= 0.5).astype(np.int8), score, random.integers(0, 3, ROWS).astype(np.int16)
    )
    template = evaluation_of(prompts, (0,))
    evaluation = Evaluation(
        TOPIC, template.settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )
    return ReportInput(topic=TOPIC, evaluation=evaluation, prompts=prompts)


async def test_a_large_report_is_searched_sorted_and_scrolled(
    large: ReportInput, tmp_path: Path
) -> None:
    evaluation = large.evaluation
    missed = int(np.count_nonzero(evaluation.codes == Outcome.FN))
    lowest = float(evaluation.verdicts.score.min())

    async def look(page: Page) -> None:
        assert await run(page, "return status()") == f"{missed} rows"
        measured = await run(
            page,
            """
            const times = {};
            times.all = await took(() => views.at(-1).click());
            times.first = await took(() => find('prompt 77'));
            const found = [status(), shown(2 - (heads.length < 6))];
            times.second = await took(() => find('"prompt 777 " customer'));
            const one = status();
            times.none = await took(() => find('nowhere'));
            const none = status();
            find('');
            const score = heads.findIndex((head) => head.textContent === 'score');
            times.sort = await took(() => heads[score].querySelector('button').click());
            const least = [shown(score)[0], heads[score].getAttribute('aria-sort')];
            times.back = await took(() => heads[score].querySelector('button').click());
            const most = [shown(score)[0], heads[score].getAttribute('aria-sort')];
            heads[score].querySelector('button').click();
            times.scroll = await took(() => { scroller.scrollTop = scroller.scrollHeight; });
            return { times, found, one, none, least, most, end: shown(0).at(-1),
              drawn: shown(0).length, rows: table.getAttribute('aria-rowcount') };
            """,
        )
        assert measured["found"][0] == f"{sum('77' in str(k) for k in range(ROWS))} of {ROWS} rows"
        assert all("77" in text for text in measured["found"][1])
        assert measured["one"] == f"1 of {ROWS} rows"
        assert measured["none"] == f"0 of {ROWS} rows"
        assert measured["least"] == [f"{lowest:.3f}", "ascending"]
        assert measured["most"] == ["1.000", "descending"]
        assert measured["end"] == str(ROWS + 1)
        assert (measured["drawn"] < 40, measured["rows"]) == (True, str(ROWS + 1))
        # Far above what it takes, so that only a table that draws everything fails.
        assert max(measured["times"].values()) < 1_000, measured["times"]
        await picture(page, "html-1-large")

    await shown_in(tmp_path, load_writer("html")(large), look)


async def test_rows_are_chosen_by_keyboard(report: ReportInput, tmp_path: Path) -> None:
    async def look(page: Page) -> None:
        state = await run(
            page,
            """
            views.at(-1).click();
            const chosen = () => [...document.querySelectorAll('[aria-selected=true]')]
              .map((row) => [row.id === table.getAttribute('aria-activedescendant'),
                row.cells[row.cells.length - 4].textContent]);
            const detail = () => document.querySelector('.chosen-row').textContent;
            const steps = [chosen().length];
            for (const key of ['ArrowDown', 'ArrowDown', 'End', 'ArrowUp', 'Home', 'PageDown']) {
              press(key); steps.push(document.querySelector('[aria-selected=true]').dataset.index);
            }
            press('Home');
            const before = detail();
            find('ordinary');
            return { steps, before, gone: chosen().length, after: detail() };
            """,
        )
        assert state["steps"] == [0, "0", "1", "7", "6", "0", "7"]
        assert "![x](http://evil.example/a.png) <script>alert(1)</script>" in state["before"]
        assert state["gone"] == 0
        assert state["after"].startswith("Choose a row")

    await shown_in(tmp_path, load_writer("html")(report), look)


async def test_hostile_texts_do_not_act(tmp_path: Path, report: ReportInput) -> None:
    path = tmp_path / "evil.csv"
    quoted = [text.replace('"', '""') for text in EVIL]
    lines = [f'"{text}",{"true" if k % 2 else "false"},block' for k, text in enumerate(quoted)]
    path.write_text("\n".join(["prompt,expected,intent", *lines]), encoding="utf-8")
    prompts = load_prompts(path)
    topic = TOPIC.model_copy(update={"name": EVIL[0], "description": EVIL[1], "examples": EVIL})
    evaluation = evaluation_of(prompts, (1, 0, 1, 0, 1, 0, -1, 0, 1), topic)
    settings = replace(settings_of(EVIL[2]), revision=EVIL[3])
    hostile = replace(
        report,
        topic=topic,
        evaluation=replace(evaluation, settings=settings),
        prompts=prompts,
        baseline=None,
        comparison=None,
        profile=EVIL[4],
    )

    async def look(page: Page) -> None:
        state = await run(
            page,
            """
            views.at(-1).click();
            for (let k = 0; k < 9; k += 1) { press('ArrowDown'); await frame(); }
            const foreign = 'img, iframe, object, embed, form, base, link, a:not([href^="#"])';
            return { hit: window.hit === undefined, title: document.title,
              foreign: document.querySelectorAll(foreign).length,
              scripts: document.scripts.length, styles: document.querySelectorAll('style').length,
              wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
              heights: new Set([...document.querySelectorAll('.port tbody tr')]
                .map((row) => row.offsetHeight)).size,
              shown: getComputedStyle(document.body).display };
            """,
        )
        assert state == {
            "hit": True,
            "title": f"Guardrail topic report: {EVIL[0]}",
            "foreign": 0,
            "scripts": 2,
            "styles": 1,
            "wide": 0,
            "heights": 1,
            "shown": "block",
        }
        await picture(page, "html-2-hostile")

    await shown_in(tmp_path, load_writer("html")(hostile), look)


async def test_light_dark_narrow_and_paper(report: ReportInput, tmp_path: Path) -> None:
    """Pictures to be looked at; and that nothing is wider than a telephone, or off the paper."""

    async def look(page: Page) -> None:
        light = await picture(page, "html-3-light")
        assert light != await picture(page, "html-4-dark", dark=True)
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        for name, width, paper in (("narrow", 360, False), ("paper", 720, True)):
            await sized(page, width, 1200)
            await picture(page, f"html-5-{name}", print_=paper)
            assert await run(page, wide) == 0, name
        seen = "return [...document.querySelectorAll('.rows-printed tr, .scroller')]"
        seen += ".map((one) => one.checkVisibility())"
        *rows, live = reversed(await run(page, seen))
        assert (all(rows), live) == (True, False)
        data = base64.b64decode((await page.ask("Page.printToPDF"))["data"])
        assert data.startswith(b"%PDF")

    await shown_in(tmp_path, load_writer("html")(report), look)


async def sized(page: Page, width: int, height: int) -> None:
    await page.ask(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=False,
    )


async def test_the_first_screen_has_verdict_bars_and_iterations(
    report: ReportInput, tmp_path: Path
) -> None:
    """Without scripts too, and the mistakes of a category open without one."""

    async def look(page: Page) -> None:
        ends = "return [...document.querySelectorAll('.verdict, #result svg')]"
        ends += ".map((one) => one.getBoundingClientRect().bottom)"
        await sized(page, 1280, 900)
        verdict, bars, course = await run(page, ends)
        assert verdict < bars < 900
        assert verdict < course < 900
        await sized(page, 360, 780)
        assert max((await run(page, ends))[:2]) < 780
        opened = """
            const group = document.querySelector('#mistakes .group');
            const line = () => group.querySelector('li').checkVisibility();
            const before = line();
            group.querySelector('summary').click();
            return [before, line()];
            """
        assert await run(page, opened) == [False, True]

    await shown_in(tmp_path, load_writer("html")(report), look, scripts=False)


@pytest.mark.skipif(AXE is None, reason="$GUARDTUI_AXE names no axe.min.js")
@pytest.mark.parametrize("name", ["report", "allow_report", "undefined_report", "told_report"])
async def test_axe_finds_no_violation(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    given: ReportInput = request.getfixturevalue(name)
    axe = Path(AXE or "").read_text("utf-8")

    async def look(page: Page) -> None:
        await page.ask("Runtime.evaluate", expression=axe)
        await run(
            page, "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
        )
        for width, dark in ((1280, False), (360, True)):
            await sized(page, width, 900)
            await picture(page, f"html-7-{name}-{width}", dark=dark)
            assert await run(page, "return (await axe.run()).violations.map((one) => one.id)") == []

    await shown_in(tmp_path, load_writer("html")(replace(given, least=0.9)), look)


async def test_the_prompts_are_there_without_scripts(report: ReportInput, tmp_path: Path) -> None:
    async def look(page: Page) -> None:
        seen = "return [...document.querySelectorAll('.rows-printed tr')]"
        await run(page, "document.querySelector('.rows-printed').scrollIntoView()")
        tables = await run(page, f"{seen}.map((one) => [one.checkVisibility(), one.innerText])")
        assert all(visible for visible, _ in tables)
        assert any("@someone https://evil.example/" in text for _, text in tables)
        await picture(page, "html-6-no-script")

    await shown_in(tmp_path, load_writer("html")(report), look, scripts=False)
