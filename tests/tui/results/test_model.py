"""The results: filters, order, search and cells, without a screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.domain.comparison import Change, Comparison, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.profile import NO_ALLOW
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome, Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.tui.results.model import (
    COLUMNS,
    FILTERS,
    PromptSelection,
    Results,
    ResultsView,
    build_results,
)
from tests.examples import up_to
from tests.guardrails import airs_settings, engine_settings

COUNT = 40


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> PromptSet:
    path: Path = tmp_path_factory.mktemp("prompts") / "p.csv"
    rows = [
        f"{text} {row},{str(row % 2 == 0).lower()},block,c{row % 4}"
        for row, text in enumerate(["soup [b]", "Pay LESS tax", "less"] * 14)
        if row < COUNT
    ]
    path.write_text("\n".join(["prompt,expected,intent,category", *rows]))
    return load_prompts(path)


def evaluation(prompts: PromptSet, seed: int) -> Evaluation:
    random = np.random.default_rng(seed)
    return Evaluation(
        Topic(),
        engine_settings("x", 0.5),
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        Verdicts(
            random.integers(-1, 2, COUNT).astype(np.int8),
            random.random(COUNT).astype(np.float32),
            random.integers(-1, 5, COUNT).astype(np.int16),
            repeats=np.array([np.arange(COUNT) % 7 == 3, np.zeros(COUNT)], np.int8),
        ),
    )


def pair(prompts: PromptSet) -> tuple[Evaluation, Comparison]:
    now = evaluation(prompts, 1)
    return now, compare(evaluation(prompts, 0), now)


VIEWS = st.builds(
    ResultsView,
    filter=st.sampled_from(list(FILTERS)),
    category=st.sampled_from([None, "c1", "gone"]),
    search=st.sampled_from(["", "less", "SOUP", "[b]", ".*", "nowhere"]),
    sort=st.sampled_from(COLUMNS),
    descending=st.booleans(),
)


@settings(max_examples=up_to(200), deadline=None)
@given(view=VIEWS, compared=st.booleans())
def test_every_view_shows_its_rows(prompts: PromptSet, view: ResultsView, compared: bool) -> None:
    now, comparison = pair(prompts)
    results = build_results(prompts, now, comparison if compared else None, view)
    changes = comparison.changes if compared else np.zeros(COUNT, np.int8)
    wanted = {
        "mistakes": lambda row: now.codes[row] in (Outcome.FP, Outcome.FN),
        "fp": lambda row: now.codes[row] == Outcome.FP,
        "fn": lambda row: now.codes[row] == Outcome.FN,
        "regressions": lambda row: changes[row] == Change.REGRESSION,
        "fixes": lambda row: changes[row] == Change.FIX,
        "errors": lambda row: now.codes[row] == Outcome.ERROR,
        "all": lambda row: True,
        "flaky": lambda row: row % 7 == 3,
        "open": lambda row: now.codes[row] == Outcome.OPEN,
    }
    counted = {name: sum(map(keep, range(COUNT))) for name, keep in wanted.items()}
    assert results.counts == counted
    shown = [
        row
        for row in range(COUNT)
        if wanted[view.filter](row)
        and view.search.lower() in prompts.prompts[row].lower()
        and (view.category is None or f"c{row % 4}" == view.category)
    ]
    assert sorted(results.order.tolist()) == shown
    assert [results.position_of(row_id) for row_id in results.row_ids.tolist()] == list(
        range(len(results))
    )
    keys = [_sort_key(view, results, index) for index in range(len(results))]
    assert keys == sorted(keys, reverse=view.descending)


def _sort_key(view: ResultsView, results: Results, place: int) -> object:
    row = int(results.order[place])
    now, comparison = results.evaluation, results.comparison
    if view.sort == "change":
        if comparison is None:
            return row
        change = comparison.changes[row]
        rank = {Change.REGRESSION: 0, Change.SAME: 2}.get(Change(int(change)), 1)
        return (rank, row)
    if view.sort == "was" and comparison is not None:
        return int(comparison.before[row])
    if view.sort == "category":
        return row % 4
    if view.sort == "prompt":
        return results.prompts.prompts[row]
    columns = {"score": now.verdicts.score, "matched": now.verdicts.matched}
    return float(columns.get(view.sort, now.codes)[row])


def test_cells_show_outcomes_and_changes(prompts: PromptSet) -> None:
    now, comparison = pair(prompts)
    results = build_results(prompts, now, comparison, ResultsView(filter="all", sort="score"))
    for index, cells in enumerate(results.cells(0, COUNT)):
        row = int(results.order[index])
        mark, outcome, prompt, score, part, was, category = (text for text, _ in cells)
        assert outcome == Outcome(int(now.codes[row])).name
        assert prompt == prompts.prompts[row]
        assert score == f"{now.verdicts.score[row]:.2f}"
        matched = int(now.verdicts.matched[row])
        assert part == (
            "" if matched < 0 else "description" if matched == 0 else f"example {matched}"
        )
        before = Outcome(int(comparison.before[row]))
        assert was == ("" if before == now.codes[row] else f"was {before.name}")
        assert category == f"c{row % 4}"
        marks = {
            Change.REGRESSION: "✗ broke",
            Change.FIX: "✓ fixed",
            Change.NO_VERDICT: "? error",
            Change.SAME: "",
        }
        assert mark == marks[Change(int(comparison.changes[row]))]


def test_the_topic_that_stopped_a_prompt_and_open_prompts_are_shown(prompts: PromptSet) -> None:
    plain = evaluation(prompts, 1)
    topic = Topic(name="own")
    stopped_by = {0: ("own", "other"), 1: ("other",), 2: ("b", "[/b]"), 3: (NO_ALLOW,)}
    triggered = plain.verdicts.triggered.copy()
    triggered[:4], triggered[4:6], triggered[6] = 1, -2, -1
    errors = {5: "not sent", 6: "timeout"}
    verdicts = replace(
        plain.verdicts, triggered=triggered, errors=errors, stopped_by=stopped_by,
        matched=np.zeros(COUNT, np.int16),
    )  # fmt: skip
    now = replace(plain, topic=topic, verdicts=verdicts)
    results = build_results(prompts, now, None, ResultsView(filter="all", sort="change"))
    results = results.with_columns(("outcome", "matched"))
    cells = results.cells(0, COUNT)
    assert [cell[0] for cell in cells[4:7]] == [
        ("OPEN", "dim"),
        ("OPEN", "dim"),
        ("ERROR", "error"),
    ]
    matched = [cell[1][0] for cell in cells[:5]]
    assert matched == ["description", "→ other", "→ b, [/b]", "description", "description"]
    nothing = replace(verdicts, matched=np.full(COUNT, -1, np.int16), stopped_by={0: ("own",)})
    blank = build_results(prompts, replace(now, verdicts=nothing), None, ResultsView())
    assert "matched" not in blank.filled_columns


def test_the_next_regression_goes_round(prompts: PromptSet) -> None:
    now, comparison = pair(prompts)
    results = build_results(prompts, now, comparison, ResultsView(filter="all", sort="prompt"))
    found: list[int | None] = [results.next_regression(None)]
    for _ in range(comparison.regressions):
        found.append(results.next_regression(found[-1]))
    assert len(set(found)) == comparison.regressions
    assert found[0] == found[-1]
    assert build_results(prompts, now, None, ResultsView()).next_regression(None) is None


@given(VIEWS, st.sets(st.integers(0, COUNT - 1)))
@settings(max_examples=up_to(60), deadline=None)
def test_selected_prompts_keep_their_order(
    prompts: PromptSet, view: ResultsView, rows: set[int]
) -> None:
    now, comparison = pair(prompts)
    unknown = np.array([0], np.uint64)
    keys = np.concatenate([prompts.keys[sorted(rows)], unknown])
    every = build_results(prompts, now, comparison, view)
    result = build_results(
        prompts, now, comparison, replace(view, picked=PromptSelection("some", keys))
    )
    assert result.order.tolist() == [row for row in every.order.tolist() if row in rows]
    assert result.counts == every.counts


def test_a_forecast_is_sorted_by_the_probability_of_a_flip(prompts: PromptSet) -> None:
    before = evaluation(prompts, 0)
    chances = np.random.default_rng(3).random(COUNT).astype(np.float32)
    verdicts = Verdicts((chances > 0.5).astype(np.int8), chances, before.verdicts.matched)
    settings = replace(airs_settings(), is_forecast=True)
    now = replace(before, settings=settings, verdicts=verdicts)
    comparison = compare(before, now)
    results = build_results(prompts, now, comparison, ResultsView("all"))
    changes = comparison.changes[results.order]
    assert len(np.unique(changes)) > 2
    first = [Change.REGRESSION] * comparison.regressions + [Change.FIX] * comparison.fixes
    assert changes[: len(first)].tolist() == first
    assert set(changes[len(first) :].tolist()).isdisjoint({Change.REGRESSION, Change.FIX})
    surest = np.maximum(chances, 1 - chances)[results.order]
    for change in (Change.REGRESSION, Change.FIX):
        assert (np.diff(surest[changes == change]) <= 0).all()
    # Of those that are likely to stay, the most doubtful come first.
    assert (np.diff(surest[changes == Change.SAME]) >= 0).all()
    turned = build_results(prompts, now, comparison, ResultsView("all", descending=True))
    assert turned.order.tolist() == results.order.tolist()[::-1]
