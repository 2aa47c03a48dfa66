"""The screen of scored outputs: live scoring, pinned scorers, filters, graders, hostile files."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static
from textual.widgets._footer import FooterKey

from guardtui.domain.filter_language import FilterError
from guardtui.files.output_files import OutputSet, load_outputs
from guardtui.scorer import registry
from guardtui.scorer.expression import parse_reducer, parse_scorer
from guardtui.scorer.state import Output
from guardtui.scorer.types import Score
from guardtui.session.score_run import make_judges, score_rows
from guardtui.tui.help.panes import PANES, pane_of
from guardtui.tui.inputs.filter_completion import completed
from guardtui.tui.kit.dialogs import ChoiceDialog, TextPage
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.actions import ACTIONS, SCORES
from guardtui.tui.scores.app import ScoreApp
from guardtui.tui.scores.detail import RowDetail, score_text
from guardtui.tui.scores.open_outputs import OpenOutputsDialog
from guardtui.tui.scores.screen import ScoresScreen
from guardtui.tui.scoring import scorer_run
from guardtui.tui.scoring.regex_probe import searched_for
from guardtui.tui.scoring.row_filter import metadata_values, parse_score_filter, score_vocabulary
from guardtui.tui.scoring.rows import ScoreTable, ScoreView, build_rows, make_table
from guardtui.tui.scoring.runs import ScoreOptions
from guardtui.tui.scoring.scorer_run import NOT_YET, Grading, ScorerRun, uses_models
from tests.tui.stages import first_is_fast, first_row_is_fast
from tests.tui.tax_app import frame, main_screen, make_app, ready, topic_path, until

__all__ = ["topic_path"]

ROWS: list[dict[str, Any]] = [
    {"id": "a", "input": "Capital of France?", "target": "Paris", "output": "It is Paris.",
     "kind": "geo"},
    {"id": "b", "input": "2 + 2?", "target": "4", "output": "4", "kind": "sum"},
    {"id": "c", "input": "3 + 3?", "target": "6", "output": "The 6 of them make 7", "kind": "sum"},
    {"id": "d", "input": "Capital of Italy?", "target": ["Rome", "Roma"], "output": "Milan",
     "kind": "geo"},
]  # fmt: skip
# match() looks at the end, includes() anywhere: they differ on c.
MATCH, INCLUDES = "CCII", "CCCI"

Run = Callable[[Pilot[int], ScoresScreen], Awaitable[None]]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    return written(tmp_path / "outputs.jsonl", ROWS)


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


async def show(
    path: Path, run: Run, *expressions: str, size: tuple[int, int] = (120, 40), **options: Any
) -> ScoreApp:
    app = ScoreApp(load_outputs(path), ScoreOptions(expressions or ("match()",), **options))
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, ScoresScreen)
        await run(pilot, screen)
    return app


def values(screen: ScoresScreen, place: int = -1) -> str:
    """The values of a scorer in the order of the file."""
    columns = screen.pane.scores.columns
    return "".join(columns[place].texts) if columns else ""


def shown(screen: ScoresScreen) -> str:
    """Ids of the rows in the table, in its order."""
    rows = screen.pane.rows
    return "" if rows is None else "".join(screen.outputs.ids[row] for row in rows.order)


async def scored(pilot: Pilot[int], screen: ScoresScreen, wanted: str = MATCH) -> None:
    await until(
        pilot,
        lambda: (
            values(screen) == wanted
            and all(column.run.measured is not None for column in screen.pane.scores.columns)
            and "measuring" not in text_of(screen, "#score-metrics-text")
        ),
    )


async def write(pilot: Pilot[int], screen: ScoresScreen, line: str) -> None:
    screen.line.input.focus()
    screen.line.input.value = line
    await pilot.pause()


def told_by(screen: ScoresScreen, title: str) -> bool:
    return title in text_of(screen, "#score-metrics-text")


async def filtered(pilot: Pilot[int], screen: ScoresScreen, line: str) -> str:
    screen.action_filter_scores()
    screen.pane.filter.value = line
    await until(
        pilot, lambda: screen.pane.rows is not None and screen.pane.rows.view.search == line
    )
    return shown(screen)


def text_of(screen: ScoresScreen, selector: str) -> str:
    return str(screen.query_one(selector, Static).render())


# --- the line -------------------------------------------------------------------------------


async def test_a_scorer_is_tried_at_each_pause_and_measured(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        picture = frame(screen.app)  # type: ignore[arg-type]
        assert "accuracy 0.500 ± 0.289" in picture
        assert "scored 4  unscored 0  errors 0" in picture
        await pilot.press("ctrl+u", *"includes()")
        await scored(pilot, screen, INCLUDES)
        assert "accuracy 0.750 ± 0.250" in frame(screen.app)  # type: ignore[arg-type]
        assert screen.line.input.has_focus

    await show(path, run)


async def test_a_fault_is_pointed_at_and_the_scores_stay(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await write(pilot, screen, 'match("any", nmeric=True)')
        await until(pilot, lambda: "nmeric" in text_of(screen, "#score-problem"))
        assert "▔" in text_of(screen, "#score-problem")
        assert values(screen) == MATCH
        await write(pilot, screen, "mtch()")
        await until(pilot, lambda: "did you mean match" in text_of(screen, "#score-problem"))
        await write(pilot, screen, "")
        await until(pilot, lambda: "Write a scorer" in text_of(screen, "#score-problem"))
        await write(pilot, screen, "includes()")
        await scored(pilot, screen, INCLUDES)
        assert not screen.query_one("#score-problem").display

    await show(path, run)


async def test_of_lines_typed_in_a_row_the_last_one_counts(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        for line in ("exact()", "f1()", 'match("begin")', "includes()"):
            screen.line.input.value = line
            await pilot.pause()
        await scored(pilot, screen, INCLUDES)
        assert [column.run.judge.expression for column in screen.pane.scores.columns] == [
            "includes()"
        ]

    await show(path, run)


async def test_lines_used_before_come_back(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await pilot.press("enter")
        await write(pilot, screen, "includes()")
        await pilot.press("enter", "up")
        assert screen.line.input.value == "match()"
        await pilot.press("down")
        assert screen.line.input.value == "includes()"
        await write(pilot, screen, "exact()")
        await pilot.press("up", "up")
        assert screen.line.input.value == "match()"
        await pilot.press("down", "down")
        assert screen.line.input.value == "exact()"

    await show(path, run)


async def test_scorers_are_listed_with_their_signatures_and_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests in this process register scorers of theirs.
    registry.load_own()
    own = {
        key: factory
        for key, factory in registry._registry.items()
        if factory.__module__.startswith("guardtui.")
    }
    monkeypatch.setattr(registry, "_registry", own)

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(screen.app.screen, ChoiceDialog))
        await until(pilot, lambda: "pattern(pattern, ignore_case=True" in frame(screen.app))  # type: ignore[arg-type]
        await pilot.press("end", "enter")
        await until(pilot, lambda: screen.app.screen is screen)
        assert screen.line.input.value == "precomputed_scores()"

    await show(path, run)


async def test_an_expression_that_never_ends_is_refused_and_the_app_lives(tmp_path: Path) -> None:
    rows = [{"input": "?", "target": "a", "output": "a" * 60 + "!"}]

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen, "C")
        await write(pilot, screen, 'pattern(r"^(a+)+$")')
        await until(pilot, lambda: "far too long" in text_of(screen, "#score-problem"))
        assert values(screen) == "C"
        await write(pilot, screen, 'pattern(r"^(b)")')
        await scored(pilot, screen, "I")

    await show(written(tmp_path / "a.jsonl", rows), run)


def test_expressions_are_found_at_any_depth() -> None:
    text = 'multi_scorer([match(), pattern(r"(a)", ignore_case=False), pattern("b")], "mode")'
    assert searched_for(parse_scorer(text)) == [("(a)", False), ("b", True)]
    assert searched_for(parse_scorer("match()")) == []


# --- several scorers ------------------------------------------------------------------------


async def test_pinned_scorers_stand_beside_and_rows_where_they_differ_are_found(
    path: Path,
) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await pilot.press("f3")
        await write(pilot, screen, "includes()")
        await scored(pilot, screen, INCLUDES)
        assert values(screen, 0) == MATCH
        picture = frame(screen.app)  # type: ignore[arg-type]
        assert "◆ match" in picture
        assert "▶ includes" in picture
        await pilot.press("escape", "d")
        await until(pilot, lambda: shown(screen) == "c")
        assert await filtered(pilot, screen, "scorer:match I") == "cd"
        assert await filtered(pilot, screen, "scorer:includes I") == "d"
        assert await filtered(pilot, screen, "-differ C") == "ab"
        screen.pane.filter.value = ""
        await pilot.press(*"scorer:inc")
        line = screen.pane.filter
        await until(pilot, lambda: line._suggestion == "scorer:includes")
        await pilot.press("right")
        await until(pilot, lambda: screen.pane.filter.value == "scorer:includes")
        await pilot.press("escape")
        await until(pilot, lambda: shown(screen) == "abcd")
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(screen.app.screen, ChoiceDialog))
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: not screen.runs.pinned and screen.line.input.value == "match()")
        await scored(pilot, screen)

    await show(path, run)


async def test_several_of_the_same_name_are_distinguished(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await until(pilot, lambda: len(screen.pane.scores.columns) == 2)
        await scored(pilot, screen, INCLUDES)
        assert [column.name for column in screen.pane.scores.columns] == ["match", "match1"]
        assert await filtered(pilot, screen, "scorer:match1 I") == "d"

    await show(path, run, "match()", 'match("any")')


# --- rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "ids"),
    [
        ("C", "ab"),
        ("-C", "cd"),
        ("value:I", "cd"),
        ("value<0.5", "cd"),
        ("value>=1", "ab"),
        ("kind:sum", "bc"),
        ("KIND:geo C", "a"),
        ("capital", "ad"),
        ('"of italy"', "d"),
        ("roma", "d"),
        ("output:milan", "d"),
        ("-output:milan I", "c"),
        ("answer:4", "b"),
        ("id:a", "a"),
        ("error", ""),
        ("unscored", ""),
    ],
)
async def test_the_filter_shows_rows_that_match_all_terms(path: Path, line: str, ids: str) -> None:
    outputs = load_outputs(path)
    table = await table_of(outputs, "match()")
    order = build_rows(table, ScoreView(line)).order
    assert "".join(outputs.ids[row] for row in order) == ids


async def test_terms_of_the_filter_are_completed(path: Path) -> None:
    outputs = load_outputs(path)
    vocabulary = score_vocabulary(await table_of(outputs, "match()"), metadata_values(outputs))
    (kind, *_), (first, *_) = outputs.metadata, outputs.metadata["kind"]
    for line, full in {
        "dif": "differ",
        "-err": "-error",
        "C ans": "C answer:",
        "scorer:ma": "scorer:match",
        "value:": "value:C",
        kind[:-1]: f"{kind}:",
        f"{kind}:{first[:1]}": f"{kind}:{first}",
        "nothing:x": None,
    }.items():
        assert completed(line, vocabulary) == full, line
        if full and not full.endswith(":"):
            parse_score_filter(full, ["match"], list(outputs.metadata))


@pytest.mark.parametrize(
    ("line", "start", "told"),
    [
        ("C value<x", 2, "with a number, not 'x'"),
        ("scorer:none", 0, "match"),
        ("what:1", 0, "kind"),
        ("kind<2", 0, "kind is compared with : only"),
        ("value:", 0, "nothing follows :"),
        ("-scorer:match", 0, "takes no minus"),
    ],
)
def test_an_error_of_the_filter_is_pointed_at(line: str, start: int, told: str) -> None:
    with pytest.raises(FilterError) as raised:
        parse_score_filter(line, ["match"], ["kind"])
    assert raised.value.start == start
    assert told in str(raised.value)


async def table_of(outputs: OutputSet, *expressions: str) -> ScoreTable:
    runs = []
    for text in expressions:
        (judge,) = make_judges([(text, parse_scorer(text))], None)
        run = ScorerRun(outputs, judge, None)
        await asyncio.to_thread(run.score)
        runs.append(run)
    return make_table(outputs, runs, None, None)


async def test_rows_are_sorted_and_the_chosen_one_stays(path: Path) -> None:
    outputs = load_outputs(path)
    table = await table_of(outputs, "f1()")

    def ids(sort: str, *, descending: bool = False) -> str:
        order = build_rows(table, ScoreView("", sort, descending)).order
        return "".join(outputs.ids[row] for row in order)

    assert ids("value:0")[-1] == "b"
    assert ids("value:0", descending=True)[0] == "b"
    assert ids("output") == "badc"
    assert ids("id", descending=True) == "dcba"

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await pilot.press("escape", "down", "down")
        chosen = screen.pane.table.cursor_row_id
        assert chosen == 2
        await pilot.press("s", "S")
        await until(
            pilot, lambda: screen.pane.rows is not None and screen.pane.rows.view.descending
        )
        assert screen.pane.table.cursor_row_id == chosen
        await pilot.press("f")
        await until(pilot, lambda: screen.pane.filter.value.startswith("value:"))
        await pilot.press("escape")
        await until(pilot, lambda: len(shown(screen)) == 4)
        assert screen.pane.filter.value == ""

    await show(path, run)


async def test_an_empty_list_shows_what_to_do(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        assert await filtered(pilot, screen, "nowhere") == ""
        await until(pilot, lambda: "Esc takes it away" in frame(screen.app))  # type: ignore[arg-type]
        assert "No row is selected" in frame(screen.app)  # type: ignore[arg-type]
        await pilot.press("escape")
        await until(pilot, lambda: shown(screen) == "abcd")

    await show(path, run)


async def test_the_detail_marks_the_answer_with_signs(path: Path) -> None:
    outputs = load_outputs(path)
    table = await table_of(outputs, r'pattern(r"(\d+)")')
    text, signs = score_text(table, 2)
    assert "The ▸6◂ of them make 7" in text.plain
    assert [text.plain[start:end] for start, end in signs] == ["▸", "◂"]
    assert "kind  sum" in text.plain
    assert "2 targets  Rome | Roma" in score_text(table, 3)[0].plain
    plain, none = RowDetail.of(table, 2).drawn(80, marked=False)
    assert "The 6 of them make 7" in plain.plain
    assert none == []
    assert RowDetail.of(table, 2) == RowDetail.of(table, 2) != RowDetail.of(table, 1)


async def test_m_hides_the_signs_and_escape_in_the_detail_goes_a_step_back(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen, "IICI")
        await filtered(pilot, screen, "7")
        screen.detail.focus()
        await until(pilot, lambda: "▸6◂" in frame(screen.app))  # type: ignore[arg-type]
        await pilot.press("m")
        await until(pilot, lambda: "▸6◂" not in frame(screen.app))  # type: ignore[arg-type]
        await pilot.press("escape")
        await until(pilot, lambda: shown(screen) == "abcd")
        assert screen.pane.table.has_focus

    await show(path, run, r'pattern(r"(\d) ")')


# --- graders --------------------------------------------------------------------------------


class Model:
    """Grades as it is told, and waits where it is told to."""

    def __init__(self, wait: bool = False) -> None:
        self.asked = 0
        self.prompts: list[Any] = []
        self.wait = wait

    async def generate(self, input: Any) -> Output:  # noqa: A002
        self.asked += 1
        self.prompts.append(input)
        if self.wait and self.asked > 2:
            await asyncio.Event().wait()
        return Output("GRADE: C" if "Paris" in str(input) else "GRADE: I")


def grading(model: Model) -> Grading:
    return Grading(lambda name: (name, model), ("grader",), concurrency=2)


async def test_a_grader_is_used_only_on_request(path: Path) -> None:
    model = Model()

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await write(pilot, screen, "model_graded_qa()")
        await until(pilot, lambda: "Enter starts it" in text_of(screen, "#score-problem"))
        assert model.asked == 0
        assert values(screen) == MATCH
        await pilot.press("enter")
        await scored(pilot, screen, "CIII")
        assert model.asked == 4
        await pilot.press("f3")
        await write(pilot, screen, "model_graded_fact()")
        await until(pilot, lambda: "Enter starts it" in text_of(screen, "#score-problem"))
        assert model.asked == 4

    await show(path, run, grading=grading(model))


async def test_grading_can_be_stopped_and_resumed(path: Path) -> None:
    model = Model(wait=True)

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await write(pilot, screen, "model_graded_qa()")
        await pilot.press("enter")
        await until(pilot, lambda: screen.runs.shown is not None and screen.runs.shown.done == 2)
        await until(pilot, lambda: "Esc stops" in frame(screen.app))  # type: ignore[arg-type]
        await pilot.press("escape")
        await until(pilot, lambda: screen.runs.live is not None and screen.runs.live.finished)
        await until(pilot, lambda: "stopped at 2 of 4" in frame(screen.app))  # type: ignore[arg-type]
        assert values(screen).count(NOT_YET) == 2
        model.wait = False
        before = model.asked
        await write(pilot, screen, "model_graded_qa()")
        await pilot.press("enter")
        await scored(pilot, screen, "CIII")
        assert model.asked == before + 2  # the other two answers were kept

    await show(path, run, grading=grading(model))


async def test_without_a_model_the_option_is_named(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await write(pilot, screen, "model_graded_qa()")
        await pilot.press("enter")
        await until(pilot, lambda: "--model URL#name" in text_of(screen, "#score-problem"))
        assert values(screen) == MATCH

    await show(path, run)


@pytest.mark.parametrize(
    ("expression", "asks"),
    [
        ("match()", False),
        ('multi_scorer([match(), includes()], "mode")', False),
        ("model_graded_fact()", True),
        ('multi_scorer([match(), model_graded_qa(model="x")], "mode")', True),
    ],
)
def test_which_scorers_ask_models(expression: str, asks: bool) -> None:
    assert uses_models(parse_scorer(expression)) is asks


async def _own(state: Any, target: Any) -> Score:
    return Score(value="C")


def test_a_scorer_of_another_package_counts_as_using_models() -> None:
    assert uses_models(_own)


# --- runs -----------------------------------------------------------------------------------


async def test_a_stopped_run_keeps_its_results(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer_run, "PIECE", 1)
    outputs = load_outputs(path)
    (judge,) = make_judges([("match()", parse_scorer("match()"))], None)
    run = ScorerRun(outputs, judge, None)
    inner = judge.scorer
    seen = 0

    async def stopping(state: Any, target: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == 2:
            run.stop()
        return await inner(state, target)

    run.judge = make_judges([("x", stopping)], [])[0]
    await asyncio.to_thread(run.score)
    assert run.finished
    assert run.texts[0] == "C"
    assert run.texts[2:] == [NOT_YET, NOT_YET]


async def test_rows_that_fail_are_errors_of_their_own(path: Path) -> None:
    outputs = load_outputs(path)

    async def failing(state: Any, target: Any) -> Score | None:
        if state.sample_id == "b":
            raise ValueError("no [b]")
        return None if state.sample_id == "c" else Score.unscored()

    (judge,) = make_judges([("failing", failing)], [])
    run = ScorerRun(outputs, judge, None)
    run.asks = False
    await asyncio.to_thread(run.score)
    table = make_table(outputs, [run], None, None)
    assert run.texts == ["n/a", "error", "–", "n/a"]
    assert table.columns[0].states == {
        "scored": 0, "unscored": 2, "declined": 1, "errors": 1, "to come": 0,
    }  # fmt: skip
    assert "no score: no [b]" in score_text(table, 1)[0].plain


async def test_pieces_give_what_one_run_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer_run, "PIECE", 7)
    outputs = load_outputs(Path("sample_data/outputs.csv"))
    table = await table_of(outputs, 'match("any")', "f1()")
    for column in table.columns:
        (whole,) = await score_rows(outputs, [column.run.judge])
        assert column.run.result.scores == whole.scores
        assert column.run.result.errors == whole.errors


async def test_epochs_are_reduced_as_chosen(tmp_path: Path) -> None:
    rows = [
        {"id": f"s{sample}", "epoch": epoch, "input": "?", "target": "A", "output": answer}
        for sample, answers in enumerate(("AAB", "BBA"))
        for epoch, answer in enumerate(answers, start=1)
    ]

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen, "CCIIIC")
        assert "accuracy 0.500" in text_of(screen, "#score-metrics-text")
        for key, wanted in (("f9", "max"), ("alt+e", "at_least(2)")):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(screen.app.screen, ChoiceDialog))
            screen.app.screen.dismiss(wanted)
            await until(pilot, lambda: screen.app.screen is screen)
            await scored(pilot, screen, "CCIIIC")
            title = f"[{wanted[:3]}"
            await until(pilot, partial(told_by, screen, title))
        assert "accuracy 0.500" in text_of(screen, "#score-metrics-text")

    await show(written(tmp_path / "epochs.jsonl", rows), run)


# --- groups and exports ---------------------------------------------------------------------


async def test_metrics_by_group_on_request(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(screen.app.screen, ChoiceDialog))
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(screen.app.screen, TextPage))
        await until(pilot, lambda: "match by kind" in frame(screen.app))  # type: ignore[arg-type]
        picture = frame(screen.app)  # type: ignore[arg-type]
        assert "geo" in picture
        assert picture.count("accuracy 0.500 ± 0.500") == 2
        await pilot.press("escape")
        await until(pilot, lambda: screen.app.screen is screen)

    await show(path, run)


@pytest.mark.process
async def test_an_export_equals_the_report_of_the_command(path: Path) -> None:
    target = path.with_name("outputs-scores.csv")

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen, INCLUDES)
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(screen.app.screen, ChoiceDialog))
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, target.exists)

    await show(path, run, "match()", "includes()")
    command = [sys.executable, "-m", "guardtui", "score", str(path), "--format", "csv"]
    command += ["--scorer", "match()", "--scorer", "includes()"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [list(csv.reader(io.StringIO(text))) for text in (target.read_text("utf-8"), output)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 9


# --- files ----------------------------------------------------------------------------------

HOSTILE = "\x1b]52;c;aGk=\x07 [/INST] [bold]x[/] \u202eevil\u202c \x00 \u2028 \U000e0041"


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24), (60, 20)))
async def test_nothing_in_a_file_acts_on_the_terminal(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    row = dict.fromkeys(("input", "target", "output", "id"), HOSTILE)
    file = written(tmp_path / "bad.jsonl", [row | {f"col{HOSTILE}": HOSTILE}])

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen, "C")
        pictures = [frame(screen.app)]  # type: ignore[arg-type]
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(screen.app.screen, ChoiceDialog))
        await pilot.pause()
        pictures.append(frame(screen.app))  # type: ignore[arg-type]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(screen.app.screen, TextPage))
        await pilot.pause()
        pictures.append(frame(screen.app))  # type: ignore[arg-type]
        await pilot.press("escape")
        await until(pilot, lambda: screen.app.screen is screen)
        await write(pilot, screen, f"{HOSTILE.replace(chr(10), '')}()")
        await until(pilot, lambda: screen.query_one("#score-problem").display)
        # The line itself is drawn by Textual, and made inert by the filter of the app.
        lines = frame(screen.app).split("\n")  # type: ignore[arg-type]
        pictures.append("\n".join(lines[:1] + lines[2:]))
        for picture in pictures:
            assert all(one.isprintable() for line in picture.split("\n") for one in line)
        assert "[/INST]" in pictures[0]

    await show(file, run, "includes()", size=size)


@pytest.mark.parametrize(
    ("content", "told"),
    first_row_is_fast(
        (None, "no such file"),
        (b"a,b\n1,2\n", "add them to the header"),
        (b"input,target,output\n", "no rows below the header"),
        (b"input,target,output\n\x00\xff", "NUL byte"),
        (b"", "input, target and output"),
    ),
)
async def test_an_unusable_file_is_reported_in_the_dialog(
    topic_path: Path, tmp_path: Path, content: bytes | None, told: str
) -> None:
    file = tmp_path / "outs.csv"
    if content is not None:
        file.write_bytes(content)
    app = make_app(topic_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await pilot.press("alt+a")
        await until(pilot, lambda: isinstance(app.screen, OpenOutputsDialog))
        await until(pilot, lambda: app.focused is not None)
        app.screen.query_one(Input).value = str(file)
        await pilot.press("enter")
        problem = app.screen.query_one("#problem", Static)
        await until(pilot, lambda: told in str(problem.render()))
        assert isinstance(app.screen, OpenOutputsDialog)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))


async def test_over_the_main_screen_and_back(topic_path: Path, path: Path) -> None:
    app = make_app(topic_path)
    async with app.run_test(size=(100, 30)) as pilot:
        main = await ready(pilot, app)
        await pilot.press("shift+f7")
        await until(pilot, lambda: isinstance(app.screen, OpenOutputsDialog))
        await until(pilot, lambda: app.focused is not None)
        app.screen.query_one(Input).value = str(path)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ScoresScreen))
        screen = app.screen
        assert isinstance(screen, ScoresScreen)
        await scored(pilot, screen)
        titles = {one.title for one in app.get_system_commands(app.screen)}
        assert {one.title for one in ACTIONS if one.scope == SCORES} <= titles
        assert "Keep" not in titles
        await pilot.press("f2")  # Keep on the main screen; here it scores
        assert len(main.services.session.iterations) == 1
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        await pilot.press("alt+a")
        await until(pilot, lambda: isinstance(app.screen, OpenOutputsDialog))
        assert app.screen.query_one(Input).value == str(path)  # the one that was open


# --- the frame ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24), (60, 20)))
async def test_everything_is_visible_at_every_size(path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        picture = frame(screen.app)  # type: ignore[arg-type]
        for text in (
            "outputs.jsonl",
            "scorer match()",
            "accuracy 0.500 ± 0.289",
            "It is",
            "line 1",
        ):
            assert text in picture
        keys = [widget.key for widget in screen.query(FooterKey)]
        assert {"f1", "ctrl+space"} <= set(keys)  # the menu leads to all others
        assert len(picture.split("\n")[-1].rstrip()) <= size[0]
        assert screen.pane.table.size.height >= 4

    await show(path, run, size=size)


async def test_every_place_has_help(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        positions = [one for one in screen.query("*") if one.can_focus]
        panes = {pane_of(one) for one in positions}
        assert panes == {
            "score_line", "score_metrics", "score_filter", "score_rows", "score_detail",
        }  # fmt: skip
        for _ in range(4):
            await pilot.press("f5")
        assert screen.line.input.has_focus
        await pilot.press("f1")
        await until(pilot, lambda: PANES["score_line"].title in frame(screen.app))  # type: ignore[arg-type]

    await show(path, run)


async def test_the_quit_key_quits(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen)
        await pilot.press("ctrl+q")

    assert (await show(path, run)).return_code == 0


@pytest.mark.process
def test_without_a_terminal_the_command_says_so(path: Path) -> None:
    command = [sys.executable, "-m", "guardtui", "score", str(path), "--screen"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "--screen needs a terminal" in done.stderr
    assert "Traceback" not in done.stderr


async def test_a_grader_is_sent_the_conversation(tmp_path: Path) -> None:
    model = Model()
    chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    rows = [{"input": "Hello", "target": "Hi", "output": "Hi", "messages": chat}]
    path = written(tmp_path / "outputs.jsonl", rows)
    line = "model_graded_qa(include_history=True, template='Q=[{question}]')"

    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await scored(pilot, screen, "I")
        assert model.prompts == ["Q=[Hello\n\nAssistant: Hi]"]

    await show(path, run, line, grading=grading(model), asked=True)


async def test_a_reducer_without_enough_epochs_is_reported_instead_of_metrics(path: Path) -> None:
    async def run(pilot: Pilot[int], screen: ScoresScreen) -> None:
        await until(
            pilot,
            lambda: "pass_at_5 needs 5 epochs" in text_of(screen, "#score-metrics-text"),
        )
        assert values(screen) == MATCH

    await show(path, run, reducers=[parse_reducer("pass_at(5)")])
