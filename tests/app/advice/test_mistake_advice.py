"""Why a prompt is judged wrong, and what would fix it, without a screen."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from guardtui.app.advice.edit_preview import EDITED_MEANWHILE
from guardtui.app.advice.mistake_advice import MistakeAdvice, why_wrong
from guardtui.domain.comparison import codes_for, compare, whole_coverage
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import is_wrong
from guardtui.scanners.local.explanation import Contribution
from tests.app.bench import written
from tests.app.headless import Loop
from tests.guardrails import airs_settings


async def wrong_rows(app: Loop) -> list[int]:
    soup = ("How do I cook a soup?", "Is soup good for me?")
    topic = app.services.state.topic
    changes = {"description": "Soup", "examples": soup}
    app.services.editing.type(topic.model_copy(update=changes))
    await app.jobs.finished()
    evaluation = app.services.state.evaluation
    assert evaluation is not None
    return np.flatnonzero(is_wrong(evaluation.codes)).tolist()


async def advised(app: Loop, row: int) -> MistakeAdvice | str:
    return await app.services.mistakes.explain(int(app.services.state.prompts.keys[row]))


async def test_each_mistake_has_a_reason_and_edits_that_do_what_they_say(tmp_path: Path) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        row, *_ = await wrong_rows(app)
        advice = await advised(app, row)
        assert isinstance(advice, MistakeAdvice)
        state = app.services.state
        belongs = bool(state.prompts.expected[row])
        assert advice.why.startswith("It belongs to" if belongs else "It does not belong to")
        assert "nearest is" in advice.why
        assert "needed" in advice.why
        found, tried = len(advice.corrections.found), advice.corrections.tried
        assert f"{found} of {tried} edits correct it" in advice.outcome
        assert advice.measured
        key = int(state.prompts.keys[row])
        previews = [correction.preview for correction in advice.measured]
        assert all(preview.corrects(key) for preview in previews)
        preview = next(each for each in previews if each.prompts.row_of(key) is not None)
        # Right before the edit too, as when another prompt was taken out of the fit.
        useless = replace(preview, comparison=compare(preview.after, preview.after))
        assert not useless.corrects(key)


async def test_without_a_description_no_edit_is_tried_and_that_is_said(tmp_path: Path) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        bare = app.services.state.topic.model_copy(
            update={"name": "Soup", "description": "", "examples": ()}
        )
        app.services.editing.replace(bare)
        await app.jobs.finished()
        evaluation = app.services.state.evaluation
        assert evaluation is not None
        advice = await advised(app, int(np.flatnonzero(is_wrong(evaluation.codes))[0]))
        assert isinstance(advice, MistakeAdvice)
        assert advice.outcome == "No edit was tried: write a description within the limits first."
        assert "nearest is the name, at" in advice.why


@pytest.mark.parametrize("threshold", ["fitted", "built-in"])
async def test_an_edit_has_the_same_figures_in_the_list_in_its_preview_and_once_it_is_taken(
    tmp_path: Path, threshold: Literal["fitted", "built-in"]
) -> None:
    async with Loop(written(tmp_path, each=4), threshold=threshold) as app:
        row, *_ = await wrong_rows(app)
        app.author.answers = [True]  # kept anyway
        await app.services.decisions.keep()
        await app.jobs.finished()
        advice = await advised(app, row)
        assert isinstance(advice, MistakeAdvice)
        listed = next(one.preview for one in advice.measured if one.preview.taken_out)
        preview = await app.services.previews.measure(listed.topic)
        assert (preview.rates, preview.lines) == (listed.rates, listed.lines)
        await app.services.previews.take(preview)
        await app.jobs.finished()
        state = app.services.state
        assert state.evaluation is not None
        assert state.comparison is not None
        for side, shown in zip(listed.rates, state.comparison.evaluations, strict=True):
            codes = codes_for(shown, state.prompts.keys, state.prompts.expected)
            assert side["coverage"] == whole_coverage(codes)
        assert state.comparison.deltas["coverage"] == pytest.approx(listed.gain)
        counts = listed.comparison.fixes, listed.comparison.regressions
        assert counts == (state.comparison.fixes, state.comparison.regressions)


async def test_a_prompt_that_is_judged_rightly_is_no_mistake(tmp_path: Path) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        wrong = await wrong_rows(app)
        right = next(row for row in range(len(app.services.state.prompts)) if row not in wrong)
        assert "is not a mistake" in str(await advised(app, right))


async def test_a_definition_that_is_still_evaluated_has_no_reasons(tmp_path: Path) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        app.services.preview.pause = 86_400.0
        app.services.editing.type(Topic(name="Other"))
        assert "still being evaluated" in str(await advised(app, 0))
        app.services.preview.pause = 0


async def test_a_verdict_of_a_guardrail_has_its_reason_or_the_view_of_the_engine(
    tmp_path: Path,
) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        row, *_ = await wrong_rows(app)
        state = app.services.state
        assert state.evaluation is not None
        text = str(state.prompts.prompts[row])
        explanation = app.services.engine.scanner.explain(state.topic, text)
        scan = replace(state.evaluation, settings=airs_settings("prod"))
        said = why_wrong(scan, state.prompts, row, explanation)
        assert " by AIRS" in said
        assert "To the engine, the nearest part is" in said
        judged = replace(scan, verdicts=replace(scan.verdicts, reasons={row: "it is on soup"}))
        assert why_wrong(judged, state.prompts, row, explanation).endswith(
            "The reason given: it is on soup"
        )


async def test_a_word_that_a_prompt_repeats_is_named_once(tmp_path: Path) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        row, *_ = await wrong_rows(app)
        state = app.services.state
        assert state.evaluation is not None
        sign = -1 if state.prompts.expected[row] else 1
        explanation = app.services.engine.scanner.explain(state.topic, "tax Tax")
        words = tuple(
            Contribution(start, start + 3, word, sign * 3.0)
            for start, word in ((0, "tax"), (4, "Tax"))
        )
        repeated = replace(explanation, words=words)
        said = why_wrong(state.evaluation, state.prompts, row, repeated)
        assert said.lower().count("“tax”") == 1
        assert re.search("(lower|raise)s it most", said)


async def test_a_definition_that_is_edited_meanwhile_has_no_advice(tmp_path: Path) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        row, *_ = await wrong_rows(app)
        asked = asyncio.create_task(advised(app, row))
        await asyncio.sleep(0)
        app.services.editing.type(Topic(name="Other"))
        assert await asked == EDITED_MEANWHILE
