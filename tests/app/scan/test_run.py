"""Remote scans without a screen: what is asked, requested, cancelled, completed and recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("aiohttp")

from guardtui.app.editing.preview import Preview
from guardtui.app.guardrails.named import NamedGuardrail
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.ports import ChooseAnswer
from guardtui.app.scan.forecasting import Forecasting
from guardtui.app.scan.plan import ScanChoice, ScanPlan
from guardtui.app.scan.record import ScanResults
from guardtui.app.scan.run import Scans
from guardtui.app.scan.subject import FigureSubject
from guardtui.app.state import AppState, ScanStatus
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.verdicts import Triggered, Verdict, VerdictColumns
from guardtui.scanners.configuration import configure
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.session import Decision, Iteration, Recorder
from tests.app.cloud import COUNT, PROMPTS, Cloud, RemoteBench, cloud, engine, remote
from tests.guardrails import airs_settings
from tests.http.server import Received, Server, Step, answer
from tests.http.waits import soon
from tests.scanners.models.judges import asked, prompts_of, said
from tests.tui.tax_app import ROWS, topic_path

__all__ = ["cloud", "engine", "soon", "topic_path"]

SCAN = ScanChoice(apply=True, likely=False, agreed=False)
AGREED = ScanChoice(apply=True, likely=False, agreed=True)
AS_IS = ScanChoice(apply=False, likely=False, agreed=False)
IN_FLIGHT = 5
"""Concurrent requests of a scan, where nothing else is set."""
OTHER = ScanChoice(apply=False, likely=False, agreed=False, other=True)


class Desk(RemoteBench):
    """The services of a scan, an author who answers from a list, and what became of it."""

    def __init__(self, topic_path: Path, options: RemoteOptions, *answers: Any) -> None:
        super().__init__(topic_path, options, *answers)
        self.shown: list[Evaluation] = []
        self.refreshed = 0
        self.steps: list[ScanStatus] = []
        subject = FigureSubject(self.context, self.connections)
        self.scans = Scans(
            self.context,
            self.connections,
            self.deployment,
            Forecasting(self.context, subject),
            ScanResults(self.context, self.connections, subject),
            cast("Preview", self),
        )
        self.store.subscribe(self.scans.state_changed)
        self.store.subscribe(self._watch)

    async def show(self, evaluation: Evaluation) -> None:
        """Note an evaluation, as the preview would show it."""
        self.shown.append(evaluation)

    def request(self) -> None:
        """Note that a preview was requested."""
        self.refreshed += 1

    def _watch(self, old: AppState, new: AppState) -> None:
        if new.scan is not None and new.scan != old.scan:
            self.steps.append(new.scan)

    async def scan(self, *answers: Any) -> None:
        """Scan to the end, with these answers."""
        self.author.answers.extend(answers)
        self.scans.scan()
        await self.jobs.finished()

    @property
    def plans(self) -> list[ScanPlan]:
        return [question for question in self.author.questions if isinstance(question, ScanPlan)]

    @property
    def recorded(self) -> list[Iteration]:
        return self.session.iterations

    @property
    def step(self) -> str:
        return "" if self.store.state.scan is None else self.store.state.scan.step


Open = Callable[..., Desk]


@pytest.fixture
async def desk(cloud: Cloud, topic_path: Path) -> AsyncIterator[Open]:
    opened: list[Desk] = []

    def open_(*answers: Any, **options: Any) -> Desk:
        opened.append(Desk(topic_path, remote(cloud, **options), *answers))
        return opened[-1]

    yield open_
    for desk in opened:
        await desk.scans.close()


async def answered(cloud: Cloud, desk: Desk, count: int) -> None:
    """Wait until so many prompts have a verdict and the service holds all that are in flight."""
    held = min(IN_FLIGHT, COUNT - count)
    while True:
        evaluation = desk.scans.results.so_far()
        done = evaluation is not None and evaluation.metrics.total == count
        if done and cloud.turnstile.waiting == held:
            return
        await asyncio.sleep(0.001)


# --- what is asked and recorded -------------------------------------------------------------


async def test_the_plan_names_profile_changes_and_cost_and_dismissing_it_sends_nothing(
    cloud: Cloud, desk: Open
) -> None:
    author = desk()
    await author.scan()
    (plan,) = author.plans
    assert plan.title.startswith("Profile sandbox at 127.0.0.1")
    assert plan.changes
    assert (plan.cost.prompts, plan.cost.known, plan.cost.likely) == (COUNT, 0, COUNT)
    assert plan.cost.calls(plan.cost.prompts, plan.cost.known) == COUNT
    assert cloud.asked == 0
    assert cloud.pinned() == []
    assert author.recorded == []
    assert author.step == ""


async def test_the_first_complete_scan_deploys_the_definition_and_is_kept(
    cloud: Cloud, desk: Open
) -> None:
    author = desk()
    await author.scan(SCAN)
    assert cloud.pinned() == ["Personal tax advice"]
    assert [cloud.times(prompt) for prompt in PROMPTS] == [1] * COUNT
    (iteration,) = author.recorded
    assert iteration.decision is Decision.KEEP
    assert author.store.state.iterations == (iteration,)
    assert author.shown == [iteration.evaluation]
    assert author.step == f"#0: {COUNT} prompts scanned"
    connection = author.store.state.connection
    assert connection is not None
    assert connection.revision == 2


async def test_a_profile_that_is_scanned_in_batches_is_so_in_the_app_too(
    cloud: Cloud, desk: Open
) -> None:
    author = desk(airs=configure("airs", {"profile": "sandbox", "batch": True}))
    await author.scan(SCAN)
    assert [cloud.times(prompt) for prompt in PROMPTS] == [1] * COUNT
    assert cloud.sandbox.control.stats.shown()["endpoints"]["async"] == {"200": 1}


async def test_a_profile_of_another_definition_is_not_scanned_as_it_is(
    cloud: Cloud, desk: Open
) -> None:
    author = desk()
    await author.scan(AS_IS)
    assert (cloud.pinned(), cloud.asked, author.recorded) == ([], 0, [])
    assert author.author.messages == [
        "Not scanned, the definition differs: the tenant does not have the topic."
    ]
    await author.scan(SCAN)
    author.describe("Recipes for soup")
    await author.scan(AS_IS)
    assert (cloud.asked, len(author.recorded)) == (COUNT, 1)
    assert author.author.messages[-1].endswith("from there to the file: description −3 bytes.")


async def test_a_profile_of_an_unknown_text_is_scanned_as_it_is_if_the_author_says_so(
    cloud: Cloud, desk: Open, topic_path: Path
) -> None:
    await cloud.applied_elsewhere(topic_path)
    author = desk()
    before = cloud.pinned()
    await cloud.reworded_elsewhere(author.session.topic.name, "Recipes for soup")
    await author.scan(AS_IS)
    assert [plan.unknown for plan in author.plans] == [1]
    assert (cloud.pinned(), cloud.asked, len(author.recorded)) == (before, COUNT, 1)


async def test_an_agreed_scan_asks_no_question_even_for_a_changed_definition(
    cloud: Cloud, desk: Open
) -> None:
    author = desk()
    await author.scan(AGREED)
    author.describe("Recipes for soup")
    await author.scan()
    assert len(author.plans) == 1
    assert cloud.pinned() == ["Recipes for soup"]
    assert [iteration.decision for iteration in author.recorded] == [
        Decision.KEEP,
        Decision.UNDECIDED,
    ]


async def test_without_agreement_each_scan_is_asked_as_the_first_was(
    cloud: Cloud, desk: Open
) -> None:
    author = desk()
    await author.scan(SCAN)
    await author.scan(SCAN)
    assert len(author.plans) == 2
    assert cloud.asked == COUNT  # all verdicts were cached
    author.describe("Recipes for soup")
    await author.scan()
    assert len(author.plans) == 3
    assert len(author.recorded) == 2


async def test_options_show_the_plan_although_everything_was_agreed(desk: Open) -> None:
    author = desk()
    await author.scan(AGREED)
    author.scans.scan_options()
    await author.jobs.finished()
    assert len(author.plans) == 2
    assert author.plans[1].agreed
    assert author.plans[1].cost.known == COUNT


async def test_a_definition_that_breaks_a_limit_is_not_sent(cloud: Cloud, desk: Open) -> None:
    author = desk()
    author.describe("x" * 251)
    await author.scan(SCAN)
    assert author.author.messages[-1].startswith("Not sent: ")
    assert author.plans == []
    assert cloud.requests == 0


async def test_keys_still_on_their_way_are_part_of_the_scanned_definition(
    cloud: Cloud, desk: Open
) -> None:
    author = desk(SCAN)
    typed = author.session.topic.model_copy(update={"description": "Typed at last"})
    author.author.typing = (typed, "description")
    await author.scan()
    assert cloud.pinned() == ["Typed at last"]


async def test_a_change_that_never_takes_effect_is_asked_about_and_can_be_left(
    cloud: Cloud, desk: Open
) -> None:
    cloud.change(propagation="1h")
    author = desk(SCAN, "wait", None)
    await author.scan()
    asked = [type(question) for question in author.author.questions]
    assert asked == [ScanPlan, ChooseAnswer, ChooseAnswer]
    assert author.step.startswith("not scanned: ")
    assert cloud.asked == 0
    assert author.recorded == []


async def test_a_profile_chosen_for_a_dismissed_scan_is_asked_for_again(
    cloud: Cloud, desk: Open
) -> None:
    nameless = {**cloud.environment, "PANW_AI_SEC_PROFILE_NAME": ""}
    author = desk("sandbox", None, environment=nameless)
    await author.scan()
    assert author.connections.connection is None
    await author.scan("sandbox", SCAN)
    assert len(author.recorded) == 1


@pytest.mark.usefixtures("soon")
async def test_a_failing_service_leaves_a_message_and_the_preview(cloud: Cloud, desk: Open) -> None:
    await cloud.stop()
    author = desk()
    await author.scan(SCAN)
    assert author.step.startswith("not scanned: ")
    assert author.store.state.scan is not None
    assert author.store.state.scan.problem
    assert author.refreshed == 1
    assert author.recorded == []


# --- cost and prediction --------------------------------------------------------------------


async def test_a_prediction_belongs_to_the_scanned_definition_only(desk: Open) -> None:
    author = desk()
    await author.scan(SCAN)
    scan = author.recorded[-1].evaluation
    predicted = author.scans.results.predicted(scan)
    assert predicted is not None
    assert predicted.tolist() == scan.verdicts.triggered.tolist()  # the sandbox is the engine
    author.describe("Recipes for soup")
    await author.scan(SCAN)
    assert author.scans.results.predicted(scan) is None


# --- while it runs --------------------------------------------------------------------------


async def test_a_running_scan_publishes_its_progress_and_the_verdicts_so_far(
    cloud: Cloud, desk: Open
) -> None:
    cloud.turnstile.allow(3)
    author = desk(SCAN)
    author.scans.show_every = 0
    author.scans.scan()
    await answered(cloud, author, 3)
    author.scans.poll()
    status = author.store.state.scan
    assert status is not None
    assert status.progress is not None
    assert status.traffic is not None
    assert (status.progress.done, status.progress.total) == (3, COUNT)
    assert author.scans.results.scanning
    cloud.turnstile.open()
    await author.jobs.finished()
    assert not author.scans.results.scanning
    assert [item.metrics.total for item in author.shown] == [3, COUNT]


async def test_a_stopped_scan_is_kept_in_sight_but_is_no_iteration(
    cloud: Cloud, desk: Open
) -> None:
    cloud.turnstile.allow(3)
    author = desk(SCAN)
    author.scans.scan()
    await answered(cloud, author, 3)
    author.scans.stop()
    assert not author.scans.under_way
    cloud.turnstile.open()
    await author.jobs.finished()
    assert author.step == f"stopped: 3 of {COUNT} verdicts, kept"
    assert author.recorded == []
    standing = author.scans.results.standing()
    assert standing is not None
    assert standing.metrics.open == COUNT - 3
    assert author.refreshed == 1


async def test_resuming_requests_only_what_is_missing_and_is_then_kept(
    cloud: Cloud, desk: Open
) -> None:
    cloud.turnstile.allow(3)
    author = desk(SCAN)
    author.scans.scan()
    await answered(cloud, author, 3)
    author.scans.stop()
    cloud.turnstile.open()
    await author.jobs.finished()
    before = {prompt: cloud.times(prompt) for prompt in PROMPTS}
    standing = author.scans.results.standing()
    assert standing is not None
    done = [PROMPTS[row] for row in range(COUNT) if standing.verdicts.triggered[row] >= 0]
    author.scans.scan_missing()
    await author.jobs.finished()
    (iteration,) = author.recorded
    assert iteration.decision is Decision.KEEP
    assert iteration.evaluation.metrics.missing == 0
    assert all(cloud.times(prompt) == before[prompt] for prompt in done)


async def test_a_scan_asks_only_what_no_log_has_and_completes_what_it_has(
    cloud: Cloud, desk: Open
) -> None:
    at = desk()
    prompts, known = at.workspace.prompts, 3
    columns = VerdictColumns(known + 1)
    columns.put(range(known), Verdict(Triggered.YES))
    rows = np.array([COUNT - 1, *range(known)])[::-1]  # of an earlier prompt set
    evaluation = Evaluation(
        at.session.topic,
        airs_settings("sandbox", sandbox=True),
        "an earlier prompt set",
        prompts.keys[rows],
        prompts.expected[rows],
        columns.verdicts(),
    )
    at.workspace.by = Recorder.LOG
    at.session.record(at.workspace.write(evaluation, Decision.UNDECIDED))
    at.workspace.by = Recorder.APP
    assert at.scans.results.current() is None
    await at.scan(SCAN)
    (plan,) = at.plans
    assert (plan.cost.prompts, plan.cost.logged) == (COUNT - known, known)
    asked_for = [prompt for prompt in PROMPTS if cloud.times(prompt)]
    assert asked_for == PROMPTS[known:]
    (recorded,) = at.recorded
    assert (recorded.by, recorded.decision) == (Recorder.COMPLETED_LOG, Decision.KEEP)
    assert recorded.evaluation.prompt_set == prompts.fingerprint
    assert recorded.evaluation.verdicts.triggered[:known].tolist() == [1] * known
    assert at.scans.results.current() is not None


async def test_a_paused_scan_sends_nothing_more_until_it_goes_on(cloud: Cloud, desk: Open) -> None:
    cloud.turnstile.allow(1)
    author = desk(SCAN)
    author.scans.scan()
    await answered(cloud, author, 1)
    author.scans.pause()
    assert author.scans.held
    cloud.turnstile.open()
    finished = 1 + IN_FLIGHT
    while (so_far := author.scans.results.so_far()) is None or so_far.metrics.total < finished:
        await asyncio.sleep(0.001)
    assert cloud.asked == finished < COUNT
    author.scans.pause()
    assert not author.scans.held
    await author.jobs.finished()
    assert cloud.asked == COUNT
    assert author.author.messages[-2:] == [
        "The scan continues.",
        f"AIRS #0: {COUNT} prompts scanned.",
    ]


async def test_an_edit_cancels_the_scan_of_the_older_definition(cloud: Cloud, desk: Open) -> None:
    cloud.turnstile.allow(2)
    author = desk(SCAN)
    author.scans.scan()
    await answered(cloud, author, 2)
    author.describe("Recipes for soup")
    assert not author.scans.under_way
    cloud.turnstile.open()
    await author.jobs.finished()
    assert author.scans.results.standing() is None
    assert author.recorded == []
    assert cloud.asked < COUNT


async def test_an_edit_while_the_plan_is_shown_cancels_the_scan(cloud: Cloud, desk: Open) -> None:
    author = desk()

    async def edit_instead(question: Any) -> None:
        author.describe("Recipes for soup")
        await asyncio.sleep(0)

    author.author.ask = edit_instead  # type: ignore[assignment,method-assign]
    author.scans.scan()
    await author.jobs.finished()
    assert author.step == "stopped by your edit before anything was scanned"
    assert cloud.asked == 0


async def test_a_second_scan_is_refused_while_one_is_under_way(cloud: Cloud, desk: Open) -> None:
    cloud.turnstile.allow(1)
    author = desk(SCAN)
    author.scans.scan()
    await answered(cloud, author, 1)
    author.scans.scan()
    author.scans.scan_missing()
    assert author.author.messages[-2:] == ["A scan is under way."] * 2
    cloud.turnstile.open()
    await author.jobs.finished()
    assert len(author.recorded) == 1


async def test_an_unfinished_scan_is_never_kept_by_itself(cloud: Cloud, desk: Open) -> None:
    cloud.change(faults=["topic-error@sync=every:3"])
    author = desk()
    await author.scan(SCAN)
    (iteration,) = author.recorded
    assert 0 < iteration.evaluation.metrics.errors < COUNT
    assert iteration.decision is Decision.UNDECIDED
    assert author.store.state.scan is not None
    assert author.store.state.scan.problem


async def test_a_scan_without_any_verdict_is_not_recorded(
    cloud: Cloud, desk: Open, topic_path: Path
) -> None:
    await cloud.applied_elsewhere(topic_path)
    cloud.change(faults=["topic-error@sync=every:1"])
    author = desk()
    await author.scan(AS_IS)
    assert author.recorded == []
    assert author.step.startswith("no prompt got a verdict: ")


async def test_actions_without_a_scan_explain_why(desk: Open) -> None:
    author = desk()
    author.scans.pause()
    author.scans.stop()
    author.scans.scan_missing()
    author.scans.swap_preview()
    assert author.author.messages == [
        "No scan is under way.",
        "No scan is under way.",
        "This definition has not been scanned yet.",
        "This definition has not been scanned: the engine's figures are shown.",
    ]


# --- scan or preview ------------------------------------------------------------------------


async def test_swapping_hides_the_scan_until_swapped_again_also_after_an_edit(desk: Open) -> None:
    author = desk()
    await author.scan(SCAN)
    scan = author.recorded[-1].evaluation
    author.scans.swap_preview()
    assert author.scans.results.standing() is None
    author.scans.swap_preview()
    assert author.scans.results.standing() is scan
    author.scans.swap_preview()
    author.describe("Recipes for soup")
    author.describe("Personal tax advice")
    assert author.scans.results.standing() is None
    author.scans.swap_preview()
    assert author.scans.results.standing() is scan
    assert author.refreshed == 4


async def test_a_scan_of_an_earlier_session_stands_for_the_same_definition(
    cloud: Cloud, desk: Open
) -> None:
    await desk(SCAN).scan()
    requests = cloud.requests
    author = desk()
    standing = author.scans.results.standing()
    assert standing is not None
    assert author.scans.results.is_current(standing)
    author.describe("Recipes for soup")
    assert author.scans.results.standing() is None
    assert not author.scans.results.is_current(standing)
    last = author.scans.results.last()
    assert last is not None
    assert last.topic.description == "Personal tax advice"
    assert cloud.requests == requests


# --- by a judge -----------------------------------------------------------------------------


def by_label(request: Received) -> Step:
    return said(f"ANSWER: {'yes' if dict(ROWS)[asked(request)] else 'no'}")


async def test_a_judge_is_shown_until_the_author_agrees(topic_path: Path) -> None:
    async with Server(by_label) as server:
        judge = JudgeOptions((ModelAddress(f"{server.url}/v1", "mock"),))
        named = NamedGuardrail("ours", configure("judge", {"model": f"{server.url}/v1#mock"}))
        options = RemoteOptions(
            environment={}, config=topic_path / "none", model=judge, guardrail=named
        )
        author = Desk(topic_path, options)
        await author.scan()
        assert not server.received
        await author.scan(AGREED)
        assert [(plan.judge, plan.other) for plan in author.plans] == [(True, "Ask AIRS")] * 2
        (iteration,) = author.recorded
        assert iteration.decision is Decision.KEEP
        assert iteration.evaluation.metrics.coverage == 1.0
        assert iteration.evaluation.settings.guardrail.title == "ours"
        await author.scan()
        assert len(author.plans) == 2
        assert sum(prompts_of(server).values()) == COUNT
        await author.scans.close()


async def test_choosing_the_other_guardrail_asks_for_its_own_plan(cloud: Cloud, desk: Open) -> None:
    async with Server(by_label) as server:
        judge = JudgeOptions((ModelAddress(f"{server.url}/v1", "mock"),))
        author = desk(OTHER, SCAN, model=judge)
        await author.scan()
        assert [plan.judge for plan in author.plans] == [True, False]
        assert author.plans[1].other == "Ask the judge"
        (iteration,) = author.recorded
        assert iteration.evaluation.settings.kind == "airs"
        assert not server.received


# --- by a decision model --------------------------------------------------------------------


def by_probability(request: Received) -> Step:
    """Sure of what belongs, but less sure than half."""
    belongs = dict(ROWS)[request.json["input"]]
    given = {"type": "predicate", "name": "q1", "probability": 0.4 if belongs else 0.1}
    return answer({"model": "decide", "answers": [given]})


async def test_the_threshold_of_a_decision_model_moves_without_a_call(topic_path: Path) -> None:
    async with Server(by_probability) as server:
        model = DecisionOptions(ModelAddress(f"{server.url}/v1", "decide"))
        options = RemoteOptions(environment={}, config=topic_path / "none", model=model)
        author = Desk(topic_path, options)
        await author.scan(AS_IS)
        (plan,) = author.plans
        assert (plan.judge, plan.who, plan.other) == (True, "a decision model", "Ask AIRS")
        assert plan.cost.expense is not None
        assert plan.cost.expense.tokens(1) > 0
        scan = author.scans.results.decided()
        assert scan is not None
        assert scan.metrics.coverage == 0.0
        asked = len(server.received)
        author.scans.use_threshold(0.3)
        moved = author.scans.results.decided()
        assert moved is not None
        assert moved.metrics.coverage == 1.0
        assert np.array_equal(moved.verdicts.score, scan.verdicts.score)
        assert moved is author.scans.results.decided()
        # The same after a restart; the iteration stays as it was recorded.
        again = Desk(topic_path, options)
        kept = again.scans.results.decided()
        assert kept is not None
        assert kept.settings.threshold == 0.3
        assert kept.metrics.coverage == 1.0
        assert again.session.iterations[-1].evaluation.settings.threshold == 0.5
        await again.scan(AS_IS)
        assert len(server.received) == asked
        assert again.recorded[-1].evaluation.settings.threshold == 0.3
        await again.scans.close()
        await author.scans.close()
