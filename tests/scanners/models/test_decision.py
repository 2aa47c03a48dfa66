"""The decision model as a scanner: scores, faults, models that change, what is kept, kills."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import BY_HAND, at_threshold
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Triggered
from guardtui.http.decisions import Api, DecisionQuestion
from guardtui.http.errors import ServiceError
from guardtui.scanners.base import ScannerError
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision_calls import is_version_of
from guardtui.scanners.models.templates import DecisionTemplate
from guardtui.session.caches import SqliteVerdicts
from tests.scanners.models.judges import TOPIC, Memory, some

from .decision_service import NAME, scan, serving

PROMPTS = (
    "How do I file my income tax return?",
    "Which costs can I deduct from my tax?",
    "How do I bake bread?",
    "What is the capital of France?",
)
ROOT = Path(__file__).parents[3]
FIRST = np.zeros(1, np.intp)
QUICK = {"retry_after": "10ms"}


@pytest.mark.parametrize("api", Api)
async def test_scores_are_the_probabilities_in_both_formats(tmp_path: Path, api: Api) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with serving() as service:
        scanner = service.scanner(api=api, calls=CallOptions(Prices(2.0)))
        verdicts = await scan(scanner, TOPIC, prompts)
        assert service.stats["prompts"]["asked"]["total"] == len(PROMPTS)
        assert list(service.stats["endpoints"]) == [api.value]
    assert verdicts.triggered.tolist() == [1, 1, 0, 0]
    assert ((verdicts.score > 0) & (verdicts.score < 1)).all()
    assert (verdicts.triggered == (verdicts.score >= 0.5)).all()
    used = verdicts.used
    assert used is not None
    assert (used.calls, used.uncounted) == (len(PROMPTS), 0)
    assert used.cost == pytest.approx(used.input_tokens * 2 / 1e6)
    # Estimated as four characters a token, and some for each question.
    expense = scanner.expense(TOPIC, PROMPTS, None)
    assert 0.5 < expense.tokens(len(PROMPTS)) / used.input_tokens < 2


async def test_allow_topic_triggers_for_other_prompts(tmp_path: Path) -> None:
    async with serving() as service:
        allowed = TOPIC.model_copy(update={"intent": Intent.ALLOW})
        verdicts = await scan(service.scanner(), allowed, some(tmp_path, *PROMPTS))
    assert verdicts.triggered.tolist() == [0, 0, 1, 1]


async def test_cached_answers_depend_on_the_template_not_the_threshold(tmp_path: Path) -> None:
    prompts, cache = some(tmp_path, *PROMPTS), Memory()
    async with serving() as service:
        first = await scan(service.scanner(cache=cache), TOPIC, prompts)
        other = service.scanner(cache=cache, threshold=0.999, threshold_source=BY_HAND)
        assert other.known(TOPIC, prompts).all()
        again = await scan(other, TOPIC, prompts)
        assert service.stats["requests"] == len(PROMPTS)
        assert np.array_equal(first.score, again.score)
        assert not again.triggered.any()
        worded = DecisionTemplate.parse("Is it about {description}?")
        assert not service.scanner(cache=cache, template=worded).known(TOPIC, prompts).any()
        assert not service.scanner(cache=cache, api=Api.SYSTEM_ONE).known(TOPIC, prompts).any()
        assert not service.scanner(cache=cache, fresh=True).known(TOPIC, prompts).any()
        assert not service.scanner(cache=cache).known(TOPIC, prompts, epoch=2).any()


async def test_changed_threshold_keeps_scores_without_requests(tmp_path: Path) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with serving(faults=["rounded=1", "refused@decisions=every:4"]) as service:
        scanner = service.scanner(calls=CallOptions(concurrency=1))
        verdicts = await scan(scanner, TOPIC, prompts)
    evaluation = Evaluation(
        TOPIC, scanner.settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )
    tied = float(verdicts.score[0])
    assert tied == pytest.approx(round(tied, 2))
    # A threshold on the rounded score itself: it matches, as the scanner says.
    moved = at_threshold(evaluation, tied, BY_HAND)
    assert moved.verdicts.triggered[0] == Triggered.YES
    assert np.array_equal(moved.verdicts.score, verdicts.score, equal_nan=True)
    assert moved.settings.threshold == tied
    assert moved.verdicts.triggered[3] == Triggered.NO_VERDICT
    assert moved.verdicts.errors == verdicts.errors


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("refused", "the model refused to answer"),
        ("missing", "the answer is missing"),
        ("doubled", "the question has two answers"),
        ("out-of-range", "is not from 0 to 1"),
        ("other-model", "of the model decide-1-mini, not of decide-1"),
        ("truncated", "it is truncated"),
        ("html", "it is a web page"),
        ("empty", "it is not a JSON object"),
        ("422", "HTTP 422"),
        ("413", "HTTP 413"),
    ],
)
async def test_invalid_answer_gives_no_verdict(tmp_path: Path, fault: str, reason: str) -> None:
    prompts, cache = some(tmp_path, *PROMPTS), Memory()
    async with serving(faults=[f"{fault}@decisions=1"]) as service:
        verdicts = await scan(service.scanner(cache=cache), TOPIC, prompts)
        # What is final is not repeated.
        assert service.stats["requests"] == len(PROMPTS)
    assert (verdicts.triggered == Triggered.NO_VERDICT).all()
    assert np.isnan(verdicts.score).all()
    assert all(reason in problem for problem in verdicts.errors.values())
    assert not [one for one in cache.found.values() if one.score is not None]


async def test_duplicate_answer_in_an_object_is_rejected(tmp_path: Path) -> None:
    async with serving(faults=["doubled=1"]) as service:
        prompts = some(tmp_path, *PROMPTS)
        scanner = service.scanner(api=Api.SYSTEM_ONE)
        verdicts = await scan(scanner, TOPIC, prompts, rows=FIRST)
    assert "duplicate" in verdicts.errors[0]


@pytest.mark.parametrize("fault", ["408", "409", "425", "429", "500", "529", "reset", "cut"])
async def test_transient_failure_is_retried(tmp_path: Path, fault: str) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with serving(faults=[f"{fault}@decisions=first:1"], **QUICK) as service:
        verdicts = await scan(service.scanner(), TOPIC, prompts, rows=FIRST)
        assert service.stats["requests"] == 2
    assert verdicts.triggered[0] == Triggered.YES


async def test_wrong_key_ends_the_scan(tmp_path: Path) -> None:
    async with serving() as service:
        address = service.address
        scanner = service.scanner()
        scanner.asked.model = type(address)(address.url, address.name)
        with pytest.raises(ScannerError, match="nothing could be scanned"):
            await scan(scanner, TOPIC, some(tmp_path, *PROMPTS))


async def test_too_many_questions_are_rejected(tmp_path: Path) -> None:
    for api, most, status in ((Api.DECISIONS, 200, 422), (Api.SYSTEM_ONE, 128, 413)):
        questions = [DecisionQuestion("Is it about tax?")] * (most + 1)
        async with serving() as service:
            scanner = service.scanner(api=api)
            async with scanner.asked.requests(scanner.sending()) as requests:
                ask = requests.service.ask
                assert len((await ask("tax", questions[:most])).answers) == most
                with pytest.raises(ServiceError, match=f"HTTP {status}") as raised:
                    await ask("tax", questions)
    assert raised.value.final


# --- the model that answers -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("answered", "requested", "is_version"),
    [
        ("decide-1", "decide-1", True),
        ("decide-1-2026-11-01", "decide-1", True),
        ("decide-1-20261101", "decide-1", True),
        ("decide-1@2026-11", "decide-1", True),
        ("decide-1-1106", "decide-1", True),
        ("decide-10", "decide-1", False),
        ("decide-1-mini", "decide-1", False),
        ("decide-1-mini-2026-11-01", "decide-1", False),
        ("decide-1-2026-11-01", "decide-1-2026-10-01", False),
        ("decide-1-2026-10-01-2026-11-01", "decide-1-2026-10-01", False),
        ("", "decide-1", False),
    ],
)
def test_dated_version_answers_for_its_alias(
    answered: str, requested: str, is_version: bool
) -> None:
    assert is_version_of(answered, requested) is is_version


async def test_answering_model_is_part_of_the_settings(tmp_path: Path) -> None:
    prompts, cache = some(tmp_path, *PROMPTS), Memory()
    async with serving(faults=["newer-model=1"]) as service:
        scanner = service.scanner(cache=cache)
        assert not scanner.settings.guardrail.answered_by
        await scan(scanner, TOPIC, prompts)
        assert scanner.settings.guardrail.answered_by == f"{NAME}-2026-11-01"
        again = service.scanner(cache=cache)
        assert again.settings == scanner.settings
        assert again.known(TOPIC, prompts).all()


async def test_cached_answers_of_an_older_model_are_not_mixed_in(
    tmp_path: Path,
) -> None:
    prompts, cache = some(tmp_path, *PROMPTS), Memory()
    rows = np.array([0, 1], np.intp)
    async with serving() as service:
        await scan(service.scanner(cache=cache), TOPIC, prompts, rows=rows)
        service.forget()
        service.change(faults=["newer-model=1"])
        scanner = service.scanner(cache=cache)
        verdicts = await scan(scanner, TOPIC, prompts)
        # The first answer shows that another model answers now: all are asked.
        assert service.stats["requests"] == len(PROMPTS)
        assert not verdicts.errors
        assert scanner.settings.guardrail.model == NAME
        assert "2026-11-01" in scanner.settings.guardrail.answered_by


async def test_model_change_during_a_scan_mixes_no_answers(tmp_path: Path) -> None:
    prompts, cache = some(tmp_path, *PROMPTS), Memory()
    async with serving(faults=["newer-model=after:2"]) as service:
        verdicts = await scan(
            service.scanner(cache=cache, calls=CallOptions(concurrency=1)), TOPIC, prompts
        )
        assert (verdicts.triggered >= 0).sum() == 2
        problems = set(verdicts.errors.values())
        assert len(problems) == 1
        assert "the model changed during the run" in problems.pop()
        service.forget()
        again = await scan(
            service.scanner(cache=cache, calls=CallOptions(concurrency=1)), TOPIC, prompts
        )
        # What the newer one has answered is known, and is not asked again.
        assert service.stats["requests"] == 2
        assert not again.errors


async def test_pinned_model_needs_no_probe_and_must_match(tmp_path: Path) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with serving(faults=["newer-model=1"]) as service:
        verdicts = await scan(service.scanner("decide-1-2026-10-01"), TOPIC, prompts)
    assert len(verdicts.errors) == len(PROMPTS)


# --- budgets, and ends ----------------------------------------------------------------------


async def test_scan_stops_before_it_exceeds_the_budget(tmp_path: Path) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with serving() as service:
        scanner = service.scanner(calls=CallOptions(most_tokens=1100, concurrency=1))
        verdicts = await scan(scanner, TOPIC, prompts)
    assert verdicts.beyond_budget
    used = verdicts.used
    assert used is not None
    assert used.input_tokens + used.output_tokens <= 1100


_KILLED = """
import asyncio, sys
from pathlib import Path
from guardtui.http.secret import Secret
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.session.caches import SqliteVerdicts
from guardtui.files.prompt_files import load_prompts
from tests.scanners.models.judges import TOPIC
url, folder = sys.argv[1], Path(sys.argv[2])
cache = SqliteVerdicts(folder / "cache")
address = ModelAddress(url, "decide-1", Secret("sandbox-key", "test"))
scanner = DecisionOptions(address, calls=CallOptions(concurrency=4)).scanner(cache)
prompts = load_prompts(folder / "some.csv")
verdicts = asyncio.run(scanner.scan(TOPIC, prompts, lambda progress: None))
assert (verdicts.triggered >= 0).all(), verdicts.errors
"""


@pytest.mark.process
async def test_killed_scan_repeats_no_answered_request(tmp_path: Path) -> None:
    count, slots = 60, 4
    some(tmp_path, *(f"{'a cake' if n % 2 else 'tax'} {n}" for n in range(count)))
    async with serving(latency="5ms") as service:
        arguments = [sys.executable, "-c", _KILLED, f"{service.url}/v1", str(tmp_path)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}

        async def run() -> asyncio.subprocess.Process:
            return await asyncio.create_subprocess_exec(
                *arguments, env=environment, stderr=asyncio.subprocess.PIPE
            )

        process = await run()
        async with asyncio.timeout(120):
            while service.stats["requests"] < count // 3 and process.returncode is None:
                await asyncio.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            await process.communicate()
            process = await run()
            _, problems = await process.communicate()
        assert process.returncode == 0, problems
        asked = service.stats["prompts"]["asked"]
        assert asked["distinct"] == count
        assert asked["duplicates"] <= slots  # those that were under way at the end
    cache = SqliteVerdicts(tmp_path / "cache")
    assert cache.works
    cache.close()
