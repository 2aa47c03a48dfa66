"""Which guardrail figures are about, and its verdicts after the prompts were changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.app.editing.decisions import NOTHING_TO_KEEP
from guardtui.app.scan.record import iteration_behind
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.prompt_edit import Add, Relabel, Remove
from guardtui.domain.verdicts import Outcome, Triggered, VerdictColumns
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.session import Decision, Recorder
from guardtui.session.topic_places import sample_folder
from tests.app.headless import Loop, opened
from tests.guardrails import airs_settings, judge_settings

PROD = airs_settings("prod", "3")
TESTS = airs_settings("tests", "5")
LATER = "2999-01-01T00:00:00Z"


@pytest.fixture
def topic_path(tmp_path: Path) -> Path:
    for name in ("tax-advice.yaml", "tax-advice.csv"):
        (tmp_path / name).write_bytes((sample_folder() / name).read_bytes())
    return tmp_path / "tax-advice.yaml"


def answered(loop: Loop, settings: object = PROD, wrong: int = 8) -> Evaluation:
    """A scan of the definition: the labels, but for every eighth prompt."""
    prompts = loop.services.workspace.prompts
    columns = VerdictColumns(len(prompts)).verdicts()
    triggered = prompts.expected ^ (np.arange(len(prompts)) % wrong == 0)
    verdicts = replace(columns, triggered=triggered.astype(np.int8))
    topic = loop.state.topic
    return Evaluation(
        topic,
        settings,  # type: ignore[arg-type]
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        verdicts,
    )


def recorded(loop: Loop, scan: Evaluation, decision: Decision = Decision.KEEP) -> None:
    workspace = loop.services.workspace
    workspace.session.record(workspace.write(scan, decision))


async def shown(loop: Loop) -> Evaluation:
    """Return the evaluation that the preview shows."""
    loop.services.preview.request()
    state = await loop.settle()
    assert state.evaluation is not None
    return state.evaluation


async def test_verdicts_stay_known_after_a_prompt_left_the_set(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scan = answered(loop)
    recorded(loop, scan)
    taken = int(scan.keys[5])
    await loop.services.sync.edit_prompts(Remove(frozenset({taken})))
    now = await shown(loop)
    assert loop.state.forecast is None
    assert (now.settings, now.metrics.open) == (PROD, 0)
    assert now.keys.tolist() == [key for key in scan.keys.tolist() if key != taken]
    left = scan.keys != taken
    assert np.array_equal(now.verdicts.triggered, scan.verdicts.triggered[left])
    # Nothing is to be asked, and nothing to be kept again.
    assert "Every prompt has a verdict" in loop.services.scans.missing_refusal
    await loop.services.decisions.keep()
    assert loop.author.messages[-1] == NOTHING_TO_KEEP
    await loop.services.close()
    again = await opened(topic_path)
    assert (await shown(again)).settings == PROD
    assert again.state.forecast is None
    await again.services.close()


async def test_verdicts_get_the_labels_of_now(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scan = answered(loop)
    recorded(loop, scan)
    key = int(scan.keys[0])
    before = Outcome(int(scan.codes[0]))
    await loop.services.sync.edit_prompts(Relabel(frozenset({key})))
    now = await shown(loop)
    assert (now.settings, now.metrics.open) == (PROD, 0)
    assert now.expected[0] != scan.expected[0]
    assert (before, Outcome(int(now.codes[0]))) == (Outcome.FN, Outcome.TN)
    assert iteration_behind(loop.services.session, now) is loop.services.session.iterations[-1]
    await loop.services.close()


async def test_a_prompt_that_was_added_since_is_open_and_can_be_scanned(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scan = answered(loop)
    recorded(loop, scan)
    await loop.services.sync.edit_prompts(Add("May I deduct a dog?", True))
    now = await shown(loop)
    assert (now.settings, now.metrics.open) == (PROD, 1)
    assert Outcome(int(now.codes[-1])) is Outcome.OPEN
    assert loop.services.judgement(loop.state, now).text == "not sure yet: 1 open prompt decides"
    assert loop.services.scans.results.current() is now
    await loop.services.close()


async def test_a_scan_of_other_prompts_that_has_few_of_now_is_none(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scan = answered(loop)
    rows = np.arange(40)
    part = replace(scan.verdicts, triggered=scan.verdicts.triggered[rows])
    part = replace(part, score=part.score[rows], matched=part.matched[rows])
    keys, expected = scan.keys[rows], scan.expected[rows]
    other = replace(scan, prompt_set="other", keys=keys, expected=expected, verdicts=part)
    recorded(loop, other)
    await shown(loop)
    assert loop.services.scans.results.current() is None
    await loop.services.close()


async def test_the_scan_with_most_of_the_prompts_is_shown(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scan = answered(loop)
    recorded(loop, scan)
    triggered = np.where(
        np.arange(len(scan.keys)) < 120, scan.verdicts.triggered, Triggered.NOT_ASKED
    )
    newer = replace(scan.verdicts, triggered=triggered.astype(np.int8))
    part = replace(scan, verdicts=newer)
    assert part.metrics.open
    recorded(loop, part, Decision.UNDECIDED)
    assert (await shown(loop)).metrics.open == 0
    await loop.services.close()


async def test_only_the_key_changes_between_guardrail_and_engine(topic_path: Path) -> None:
    loop = await opened(topic_path, (False,))
    recorded(loop, answered(loop))
    await loop.describe("Personal tax advice: what to deduct")
    badges: list[str] = []
    loop.services.store.subscribe(
        lambda old, new: badges.append(
            "" if new.evaluation is None else new.evaluation.settings.kind
        )
    )
    assert loop.state.forecast is not None
    evaluation = await loop.services.preview.current()
    assert evaluation is not None
    assert evaluation.settings.kind == ENGINE  # what a report is about
    await loop.services.decisions.keep()
    await loop.describe("Personal tax advice: what to deduct and to declare")
    loop.services.editing.undo()
    await loop.settle()
    assert {*badges} == {"forecast"}
    loop.services.scans.swap_preview()
    await loop.settle()
    badges.clear()
    await loop.describe("Tax")
    loop.services.editing.undo()
    await loop.settle()
    assert {*badges} == {ENGINE}
    loop.services.scans.swap_preview()
    assert (await loop.settle()).forecast is not None
    await loop.services.close()


async def test_a_discard_goes_back_to_the_best_scan_without_another_view(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scan = answered(loop)
    recorded(loop, scan)
    await loop.describe("Bread")
    assert loop.state.forecast is not None
    kinds: list[str] = []
    loop.services.store.subscribe(
        lambda old, new: kinds.append(
            "" if new.evaluation is None else new.evaluation.settings.kind
        )
    )
    await loop.services.decisions.discard()
    now = await shown(loop)
    assert now.settings == PROD
    assert now.topic == scan.topic
    assert any("Discarded by its forecast" in message for message in loop.author.messages)
    assert loop.services.session.iterations[-1].evaluation.topic == scan.topic
    assert ENGINE not in kinds
    await loop.services.close()


async def test_a_profile_that_only_an_experiment_asked_is_not_the_subject(topic_path: Path) -> None:
    loop = await opened(topic_path)
    workspace = loop.services.workspace
    recorded(loop, answered(loop))
    scan = answered(loop, TESTS, wrong=5)
    other = scan.topic.model_copy(update={"description": "Tax"})
    plan = ExperimentRecord(
        0, "2000-01-01T00:00:00Z", scan.topic, TESTS, scan.prompt_set, scan.keys, scan.expected,
        ((other, {}),), 1,
    )  # fmt: skip
    ExperimentLog(workspace.store).add(plan)
    recorded(loop, scan, Decision.UNDECIDED)
    now = await shown(loop)
    assert now.settings == PROD
    baseline = loop.services.session.baseline
    assert baseline is not None
    assert baseline.evaluation.settings == PROD
    await loop.services.close()
    again = await opened(topic_path)
    assert (await shown(again)).settings == PROD
    await again.services.close()


async def test_without_a_choice_the_guardrail_that_was_scanned_last_is_the_subject(
    topic_path: Path,
) -> None:
    loop = await opened(topic_path)
    judge = judge_settings("m", template="t")
    recorded(loop, answered(loop))
    recorded(loop, answered(loop, judge), Decision.UNDECIDED)
    assert (await shown(loop)).settings == judge
    log = replace(answered(loop), topic=loop.state.topic)
    iteration = loop.services.session.next_iteration(log, Decision.UNDECIDED, LATER)
    loop.services.session.record(replace(iteration, by=Recorder.LOG))
    assert (await shown(loop)).settings == judge
    await loop.services.close()
