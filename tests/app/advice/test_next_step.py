"""The next step: each case of a table, from the first label to a kept definition."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.advice.judgement import Code, Judgement, Worth
from guardtui.app.advice.ideas import Idea, IdeaKind, Ideas
from guardtui.app.advice.next_step import Situation, with_next_step
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.verdicts import Triggered
from guardtui.files.topic_files import load_topic
from tests.app.bench import Bench, like_labels, written
from tests.app.headless import Loop, resting_jobs
from tests.guardrails import airs_settings, engine_settings

ENGINE, AIRS = engine_settings("x", 0.5), airs_settings("prod", "3")


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    """The engine's evaluation of a definition, with mistakes."""
    bench = Bench(tmp_path)
    found = bench.evaluated(lambda row, label: like_labels(row, label) ^ (row % 4 == 0))
    return replace(found, settings=ENGINE)


def step(evaluation: Evaluation, code: Code = Code.UNCHANGED, **known: Any) -> Idea:
    judgement = Judgement(code, Worth.NEUTRAL, "")
    now = Situation(evaluation, judgement, **{"best": 1, "file": "tax.yaml"} | known)
    other = Idea(IdeaKind.EXPERIMENT, "other")
    best = with_next_step(Ideas(evaluation.topic, (other,)), now).best
    assert best is not None
    return best


EDITED = {"is_best": False}
CASES: list[tuple[dict[str, Any], str]] = [
    ({"limits": "too long"}, "Bring the definition within the limits. Too long"),
    (
        {"better_edit": "by 0.04 on tests"},
        "Keep the edit shown to be better. Coverage is greater by 0.04 on tests",
    ),
    (EDITED | {"is_forecast": True, "likely": True}, "Scan it: probably better by the forecast"),
    (
        EDITED | {"is_forecast": True, "likely": False},
        "Discard it: probably worse by forecast. Back to #1",
    ),
    (EDITED | {"is_forecast": True}, "Scan it, or edit on. The forecast is not sure"),
    (EDITED | {"code": Code.WORSE}, "Discard it: worse, more than chance. Back to #1"),
    (
        EDITED | {"code": Code.BETTER, "is_better": True, "who": "prod"},
        "Scan it with prod. Better for the engine; the guardrail decides",
    ),
    (
        EDITED | {"code": Code.BETTER, "is_better": True},
        "Keep it: better than #1. Keep saves it to tax.yaml",
    ),
    (
        EDITED | {"code": Code.NOT_SURE, "is_better": True},
        "Keep it, or edit on. A gain on #1 that may be chance",
    ),
    (EDITED | {"code": Code.NOT_SURE}, "other"),
    ({"has_plateau": True}, "Look at a mistake: 5 discards in a row"),
    ({"is_forecast": True}, "Scan it: the guardrail has not judged it"),
    ({"still_discarded": "AIRS"}, "Put #1 back. AIRS has the discarded definition"),
    ({"who": "prod"}, "Scan it with prod. The guardrail has not answered yet"),
    ({}, "other"),
]


@pytest.mark.parametrize(("known", "text"), CASES)
def test_each_case_has_its_step(evaluation: Evaluation, known: dict[str, Any], text: str) -> None:
    assert step(evaluation, **known).text.startswith(text)


def test_the_guardrails_better_edit_is_kept_and_its_missing_verdicts_come_first(
    evaluation: Evaluation,
) -> None:
    known = EDITED | {"code": Code.BETTER, "is_better": True, "who": "prod"}
    scan = replace(evaluation, settings=AIRS)
    assert step(scan, **known).kind is IdeaKind.KEEP
    first = step(scan, is_best=False, best=None, code=Code.NO_BASELINE)
    assert first.text.startswith("Keep it: it is the first that was scanned. Keep saves it to")
    triggered = np.where(np.arange(len(scan.keys)) < 3, Triggered.NOT_ASKED, 1).astype(np.int8)
    part = replace(scan, verdicts=replace(scan.verdicts, triggered=triggered))
    assert step(part, **known).text == "Scan 3 prompts that have no verdict. Only these are asked"


async def test_an_edit_that_is_better_is_to_be_kept_and_then_no_longer(tmp_path: Path) -> None:
    path = written(tmp_path, 12)
    good = load_topic(path).topic
    worse = good.model_copy(update={"description": "Bread", "examples": ("Bread?", "Dragons?")})
    path.write_text(json.dumps(worse.model_dump(mode="json")), "utf-8")
    async with Loop(path, True, jobs=resting_jobs("measured")) as app:
        app.services.editing.replace(good)
        state = await app.settle()
        assert state.evaluation is not None
        assert app.services.session.is_better(state.evaluation)
        assert state.ideas is not None
        assert IdeaKind.KEEP in [idea.kind for idea in state.ideas.ranked]
        await app.services.decisions.keep()
        state = await app.settle()
        assert state.ideas is not None
        assert IdeaKind.KEEP not in [idea.kind for idea in state.ideas.ranked]
