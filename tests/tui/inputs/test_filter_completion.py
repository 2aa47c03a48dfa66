"""The filter line: completion, highlighted terms, the right arrow and Tab."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from guardtui.domain.prompts import PromptSet
from guardtui.domain.row_filter import parse_filter
from guardtui.files.prompt_files import load_prompts
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.inputs.filter_completion import completed
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.results.pane import prompt_vocabulary
from tests.tui.results_app import on_all, topic_path
from tests.tui.tax_app import until

__all__ = ["topic_path"]


@pytest.fixture
def prompts(topic_path: Path) -> PromptSet:
    return load_prompts(topic_path.with_suffix(".csv"))


@pytest.mark.parametrize(
    ("line", "full"),
    [
        ("", None),
        ("regr", "regression"),
        ("-regr", "-regression"),
        ("fn mis", "fn mistake"),
        ("fn ", None),
        ('"regr', None),
        ('"home office" reg', '"home office" regression'),
        ("sco", "score>"),
        ("exp", "expected:"),
        ("expected:t", "expected:true"),
        ("was:f", "was:fp"),
        ("was:fp", None),
        ("nearest:", "nearest:description"),
        ("cat", "category:"),
        ("Category:wea", "Category:weather"),
        ("category:WEA", "category:WEAther"),
        ("category:plain,att", "category:plain,attack"),
        ('category:"two', 'category:"two words"'),
        ("category:two", None),
        ("ris", "risk:"),
        ("risk:10", None),
        ("[b", None),
        ("nothing:x", None),
    ],
)
def test_terms_are_completed(prompts: PromptSet, line: str, full: str | None) -> None:
    result = completed(line, prompt_vocabulary(prompts))
    assert result == full
    if result:
        assert result.startswith(line)
        if not result.endswith((":", ">")):
            parse_filter(result, prompts.extra_columns)


def test_values_with_signs_are_not_offered(prompts: PromptSet, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(
        'prompt,expected,intent,kind\na,true,block,"x\x1b[31m"\nb,false,block,"\u202ey"\n'
        'c,false,block,"x y"\n',
        "utf-8",
    )
    hostile = load_prompts(path)
    assert completed("kind:x", prompt_vocabulary(hostile)) is None
    assert completed('kind:"x', prompt_vocabulary(hostile)) == 'kind:"x y"'


async def test_the_right_arrow_accepts_and_tab_leaves_the_field(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        line = main.panes.results._input
        await pilot.press("slash", *"category:att")
        await until(pilot, lambda: line._suggestion == "category:attack")
        await pilot.press("right")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 1)
        assert line.value == "category:attack"
        await pilot.press("tab")
        assert main.focused is not line

    await on_all(topic_path, run)


async def test_terms_with_a_meaning_are_bold(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        line = main.panes.results._input
        typed = 'fn tax -regression "fp" risk:7 colour:red'
        text = line.highlighter(typed)
        bold = [text.plain[start:stop] for start, stop, _ in text.spans]
        assert bold == ["fn", "-regression", "risk:7"]

    await on_all(topic_path, run)
