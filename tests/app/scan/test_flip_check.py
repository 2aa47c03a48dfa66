"""A check of the likely changes: what it asks in which order, when it ends, and what it leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("aiohttp")

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.scan.plan import FlipGoal, FlipPlan, ScanChoice
from guardtui.domain.verdicts import Triggered
from guardtui.sandbox.judging import TopicMatcher
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.session import Decision
from guardtui.session.workspace import Workspace
from tests.app.cloud import Cloud, remote
from tests.app.scan.test_run import Desk
from tests.guardrails import judge_settings
from tests.http.server import Received, Server, Step
from tests.scanners.models.judges import asked, prompts_of, refused, said
from tests.sessions import Scanned, answers

COUNT = 60
NARROW, WIDE = 0.001, 0.9
TOPIC = """\
name: Tax advice
description: Advice on income tax
examples:
  - How do I deduct my home office?
  - When is my tax return due?
intent: block
"""


def check(within: float, calls: int = COUNT) -> ScanChoice:
    return ScanChoice(apply=True, likely=False, agreed=False, goal=FlipGoal(within, calls))


@pytest.fixture
def scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scanned:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    (tmp_path / "topic.yaml").write_text(TOPIC, "utf-8")
    scanned = Scanned(tmp_path, COUNT)
    (tmp_path / "topic.csv").write_bytes((tmp_path / "tax.csv").read_bytes())
    return scanned


class Model:
    """A judge that errs on some prompts, which depend on the definition as in `answers`."""

    def __init__(self, scanned: Scanned) -> None:
        self._prompts = scanned.prompts
        self.description = "Advice on income tax, briefly"
        self.fails: Callable[[int], bool] = lambda call: False
        self.calls = 0

    def __call__(self, request: Received) -> Step:
        self.calls += 1
        if self.fails(self.calls):
            return refused("no")
        given = dict(
            zip(
                self._prompts.prompts.to_list(),
                answers(self._prompts, self.description).tolist(),
                strict=True,
            )
        )
        return said(f"ANSWER: {'yes' if given[asked(request)] else 'no'}")


@pytest.fixture
async def judged(scanned: Scanned) -> AsyncIterator[tuple[Desk, Server, Model]]:
    """A desk whose judge has scanned one definition, and then an edit."""
    model = Model(scanned)
    async with Server(lambda request: model(request)) as server:
        judge = JudgeOptions(
            (ModelAddress(f"{server.url}/v1", "mock"),), calls=CallOptions(Prices(1, 2), retries=0)
        )
        scanned.scan("Advice on income tax", judge.scanner().settings)
        options = RemoteOptions(environment={}, config=scanned.folder / "none", model=judge)
        desk = Desk(scanned.topic_path, options)
        desk.describe(model.description)
        yield desk, server, model
        await desk.scans.close()


async def checked(desk: Desk, *answers: ScanChoice | None) -> None:
    desk.author.answers.extend(answers)
    desk.scans.check_flips()
    await desk.jobs.finished()


def plan_of(desk: Desk) -> FlipPlan:
    plan = desk.author.questions[-1]
    assert isinstance(plan, FlipPlan)
    return plan


async def test_the_plan_says_what_is_asked_and_dismissing_it_sends_nothing(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, server, _ = judged
    await checked(desk, None)
    plan = plan_of(desk)
    assert plan.scan.judge
    assert plan.scan.title.startswith("mock at ")
    assert 0 < plan.doubtful <= COUNT
    assert plan.calls == plan.doubtful
    assert plan.scans == 1
    assert 0 < plan.coverage.half_width < 0.5
    assert plan.goal == FlipGoal(0.02, 50)
    assert not server.received
    assert desk.step == ""


async def test_a_check_asks_until_the_interval_is_as_narrow_as_was_wanted(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, server, _ = judged
    await checked(desk, None)
    wanted = 0.7 * plan_of(desk).coverage.half_width
    await checked(desk, check(wanted))
    calls = len(server.received)
    assert 0 < calls < COUNT
    (scan, part) = desk.recorded
    assert part.decision is Decision.UNDECIDED
    assert part.evaluation.metrics.total == calls
    assert part.evaluation.metrics.open == COUNT - calls
    assert f"after {calls} calls (wanted ±{wanted:g}); the goal is reached." in desk.step
    told = desk.author.messages[-1]
    assert "keeping the definition needs a full scan" in told
    # The same verdicts in the session give the same interval.
    await checked(desk, None)
    assert plan_of(desk).coverage.half_width <= wanted
    assert scan.number != part.number


async def test_no_more_calls_are_made_than_were_allowed(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, server, _ = judged
    await checked(desk, check(NARROW, 12))
    assert len(server.received) == 12
    assert "the limit of calls is reached" in desk.step
    await checked(desk, check(NARROW, 9))
    assert len(server.received) == 21
    # It went on from the one before, in the same iteration.
    assert [iteration.evaluation.metrics.total for iteration in desk.recorded] == [COUNT, 21]
    assert max(prompts_of(server).values()) == 1
    expense = plan_of(desk).scan.cost.expense
    assert expense is not None
    assert expense.measured
    price = Prices(1, 2).of(expense.input_tokens, expense.output_tokens)
    assert expense.cost(1) == pytest.approx(price)


async def test_the_wanted_goal_is_offered_again(judged: tuple[Desk, Server, Model]) -> None:
    desk, _, _ = judged
    await checked(desk, check(NARROW, 5))
    await checked(desk, None)
    assert plan_of(desk).goal == FlipGoal(NARROW, 5)


async def test_an_interval_that_is_narrow_enough_asks_nothing(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, server, _ = judged
    await checked(desk, check(WIDE))
    assert not server.received
    assert len(desk.recorded) == 1
    assert "after 0 calls" in desk.step
    assert "the goal is reached" in desk.step


async def test_it_ends_when_no_prompt_is_in_doubt(judged: tuple[Desk, Server, Model]) -> None:
    desk, server, _ = judged
    await checked(desk, check(1e-9))
    evaluation = desk.recorded[-1].evaluation
    assert len(server.received) == evaluation.metrics.total
    if evaluation.metrics.open:
        assert "no other prompt is in doubt" in desk.step
    else:
        assert "the goal is reached" in desk.step or "no other" in desk.step


async def test_order_follows_what_was_learnt(judged: tuple[Desk, Server, Model]) -> None:
    """A guardrail that has turned round is asked about other prompts than one that has not."""
    desk, server, model = judged
    await checked(desk, check(NARROW, 40))
    usual = list(prompts_of(server))
    server.received.clear()
    model.description = "Tax"
    desk.describe("Advice on income tax, in brief")
    await checked(desk, check(NARROW, 40))
    assert list(prompts_of(server)) != usual


async def test_failed_prompts_stay_without_a_verdict_and_the_check_goes_on(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, server, model = judged
    model.fails = lambda call: call % 10 == 0
    await checked(desk, check(NARROW, 30))
    metrics = desk.recorded[-1].evaluation.metrics
    assert (len(server.received), metrics.errors, metrics.total) == (30, 3, 27)
    assert desk.store.state.scan is not None
    assert desk.store.state.scan.problem


async def test_it_gives_up_after_as_many_failures_as_a_scan_does(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, server, model = judged
    model.fails = lambda call: call > 5
    await checked(desk, check(NARROW))
    assert 25 <= len(server.received) <= 30
    assert "20 prompts in a row got no verdict" in desk.step


async def test_a_full_scan_of_the_definition_leaves_nothing_to_check(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, _, _ = judged
    desk.describe("Advice on income tax")
    await checked(desk)
    assert desk.author.questions == []
    assert desk.author.messages == ["Every prompt has a verdict, so none is in doubt."]


async def test_a_full_scan_after_a_check_replaces_its_message(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, _, _ = judged
    await checked(desk, check(NARROW, 12))
    assert "the limit of calls is reached" in desk.author.messages[-1]
    desk.author.answers.append(ScanChoice(apply=False, likely=False, agreed=True))
    desk.scans.scan()
    await desk.jobs.finished()
    assert f": {COUNT} prompts scanned" in desk.author.messages[-1]
    assert "limit" not in desk.author.messages[-1] + desk.step


async def test_without_earlier_verdicts_it_says_what_to_do(scanned: Scanned) -> None:
    judge = JudgeOptions((ModelAddress("http://127.0.0.1:9/v1", "mock"),))
    options = RemoteOptions(environment={}, config=scanned.folder / "none", model=judge)
    desk = Desk(scanned.topic_path, options)
    await checked(desk)
    assert desk.author.questions == []
    assert "Judge has not answered for this definition yet: scan once" in desk.step
    await desk.scans.close()


async def test_an_edit_ends_the_check_and_its_verdicts_are_cached(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, server, model = judged

    def edited(call: int) -> bool:
        if call == 12:
            desk.describe("Recipes for soup")
        return False

    model.fails = edited
    await checked(desk, check(NARROW))
    assert desk.step.startswith("stopped by your edit: ")
    assert len(server.received) < COUNT
    assert len(desk.recorded) == 1
    desk.describe(model.description)
    standing = desk.scans.results.standing()
    assert standing is not None
    assert standing.metrics.total > 0


async def test_stopping_keeps_the_verdicts_and_says_what_they_tell(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, _, model = judged

    def stopped(call: int) -> bool:
        if call == 12:
            desk.scans.stop()
        return False

    model.fails = stopped
    await checked(desk, check(NARROW))
    assert desk.step.startswith("stopped: ")
    assert "coverage expected at " in desk.step
    standing = desk.scans.results.standing()
    assert standing is not None
    before = standing.metrics.total
    assert before >= 5
    model.fails = lambda call: False
    # What is left of the check is offered to go on with.
    status = desk.store.state.scan
    assert status is not None
    assert status.check is not None
    await checked(desk, None)
    assert plan_of(desk).goal == FlipGoal(NARROW, COUNT - status.check.calls)
    await checked(desk, check(NARROW, 10))
    # Those that were under way when it was stopped may be cached, and cost no call.
    assert before + 10 <= desk.recorded[-1].evaluation.metrics.total <= before + 15


async def test_progress_tells_calls_and_interval(judged: tuple[Desk, Server, Model]) -> None:
    desk, _, model = judged
    seen = []

    def look(call: int) -> bool:
        desk.scans.poll()
        seen.append(desk.store.state.scan)
        return False

    model.fails = look
    await checked(desk, check(NARROW, 25))
    statuses = [state.check for state in seen if state is not None and state.check is not None]
    assert statuses
    assert all((status.within, status.most_calls) == (NARROW, 25) for status in statuses)
    widths = [status.coverage.half_width for status in statuses]
    assert widths[-1] < widths[0]
    calls = [status.calls for status in statuses]
    assert calls == sorted(calls)
    done = [
        state.progress.done for state in seen if state is not None and state.progress is not None
    ]
    assert done == sorted(done)


async def test_a_check_by_airs_puts_the_definition_into_effect_first(scanned: Scanned) -> None:
    cloud = Cloud(TopicMatcher(), scanned.folder)
    await cloud.start()
    try:
        desk = Desk(scanned.topic_path, remote(cloud))
        whole = ScanChoice(apply=True, likely=False, agreed=False)
        await desk.scan(whole)
        desk.describe("Advice on income tax and refunds")
        asked_before = len(desk.recorded)
        await checked(desk, check(NARROW, 10))
        plan = plan_of(desk)
        assert plan.scan.changes
        assert not plan.scan.judge
        assert cloud.pinned() == ["Advice on income tax and refunds"]
        part = desk.recorded[-1].evaluation
        assert len(desk.recorded) == asked_before + 1
        assert part.metrics.total == 10
        assert np.count_nonzero(part.verdicts.triggered == Triggered.NOT_ASKED) == COUNT - 10
        # Agreeing to a check is no agreement to whole scans.
        assert not desk.connections.agreed
        await desk.scans.close()
    finally:
        await cloud.stop()
    assert cloud.defects == []


async def test_a_scan_is_recorded_with_what_was_forecast_before_it(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, _, _ = judged
    await checked(desk, check(NARROW, 10))
    part = desk.recorded[-1]
    before = part.forecast
    assert before is not None
    assert (before.scans, before.verdicts) == (1, COUNT)
    assert desk.recorded[0].forecast is None
    coverage = before.rates["coverage"]
    assert coverage is not None
    assert coverage.low < coverage.value < coverage.high
    # Completing it keeps what was expected at first.
    desk.scans.scan_missing()
    desk.author.answers.append(ScanChoice(apply=False, likely=False, agreed=False))
    await desk.jobs.finished()
    whole = desk.recorded[-1]
    assert whole.number == part.number
    assert whole.evaluation.metrics.missing == 0
    assert whole.forecast is before
    stored = Workspace.open(desk.workspace.topic_file.path).session.iterations[-1].forecast
    assert stored is not None
    assert stored.rates == before.rates


async def test_verdicts_of_another_judge_are_not_gone_on_from(
    judged: tuple[Desk, Server, Model], scanned: Scanned
) -> None:
    desk, server, model = judged
    other = judge_settings("another")
    few = [1, 0] * 10 + [int(Triggered.NOT_ASKED)] * (COUNT - 20)
    scanned.scan(model.description, other, few)
    desk.session.learn(desk.workspace.store.iterations())
    await checked(desk, check(NARROW, 10))
    part = desk.recorded[-1].evaluation
    assert len(server.received) == part.metrics.total == 10
    assert part.settings.guardrail != other.guardrail


async def test_a_scan_of_likely_changes_leaves_the_other_prompts_open(
    judged: tuple[Desk, Server, Model],
) -> None:
    desk, server, _ = judged
    desk.author.answers.append(ScanChoice(apply=False, likely=True, agreed=False))
    desk.scans.scan_options()
    await desk.jobs.finished()
    cost = desk.plans[-1].cost
    assert 0 < cost.likely < cost.prompts == COUNT
    assert len(server.received) == cost.likely
    partial = desk.recorded[-1]
    assert partial.decision is Decision.UNDECIDED
    assert partial.evaluation.metrics.open == COUNT - cost.likely
    assert f"{COUNT - cost.likely} open" in desk.step
    desk.scans.scan_missing()
    await desk.jobs.finished()
    assert len(server.received) == COUNT
    assert desk.recorded[-1].number == partial.number
    assert desk.recorded[-1].evaluation.metrics.missing == 0
