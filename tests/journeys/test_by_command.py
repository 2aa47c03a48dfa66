"""The loop by command: the history that the app would show, for no call more than it makes."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.scan.plan import ScanChoice
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.topic import Topic
from guardtui.files.topic_files import load_topic, save_topic
from guardtui.session.session import Iteration
from tests.app.headless import Loop
from tests.cli.conftest import leave_every_other_row
from tests.cli.sandbox_server import request, sandbox_server
from tests.journeys.conftest import profile_variables
from tests.journeys.shell import Shell

PROMPTS = 100
OWN = "Advice on a person's own taxes: what to deduct, declare or pay"
LAW = "Tax law, dates, rates and history"
WORK = "Advice for me or my business on what to claim, write off, report, sell, gift or pay"
DECIDED = ("keep", "discard", "keep", "discard", "discard")
"""What the rules say of the five `definitions`."""
LOOKUP = Counter({"token": 1, "profile-list": 1, "topic-list": 1})
"""What `eval` requests to know which revision of the profile answers. It cannot rely on what
`topics apply`, another process, knew: the profile may have been changed since."""


class Cloud:
    """A sandbox of its own, and the variables of its clients."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.variables = profile_variables(url) | {"GUARDTUI_MODEL_KEY": "sandbox-key"}

    @property
    def calls(self) -> Counter[str]:
        """Requests of each endpoint so far."""
        endpoints = request(f"{self.url}/_sandbox/stats")[1]["endpoints"]
        return Counter({name: sum(one.values()) for name, one in endpoints.items()})


@contextmanager
def running() -> Iterator[Cloud]:
    with sandbox_server() as url:
        yield Cloud(url)


@pytest.fixture(autouse=True)
def every_other_prompt(folder: Path) -> None:
    leave_every_other_row(folder / "tax-advice.csv")


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with running() as cloud:
        yield cloud


def definitions(topic: Topic) -> list[Topic]:
    """Return five definitions of the sample, the first as in its file."""
    two = topic.examples[:2]
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"description": OWN},
        {"examples": two},
        {"examples": two, "description": LAW},
        {"examples": two, "description": WORK},
    )
    return [topic.model_copy(update=change) for change in changes]


def write(path: Path, topic: Topic) -> None:
    save_topic(load_topic(path), topic)


def figures(entries: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    """Return what a history shows of each iteration, but for its number and who recorded it."""
    names = ("decision", "coverage", "tpr", "tnr", "interval", "definition")
    return [tuple(entry[name] for name in names) for entry in entries]


def entries(shell: Shell) -> list[dict[str, Any]]:
    shell.runs("history", "list", "tax-advice.yaml", "--format", "json").exits(0)
    listed: list[dict[str, Any]] = json.loads(shell.out)["iterations"]
    return [entry for entry in listed if entry["guardrail"]["kind"] != ENGINE]


def decides(shell: Shell) -> str:
    """Keep the newest iteration or, where that is refused, discard it."""
    if shell.runs("history", "keep", "tax-advice.yaml").code == 0:
        return "keep"
    shell.exits(4).runs("history", "discard", "tax-advice.yaml", "--yes").exits(0)
    return "discard"


async def by_the_app(folder: Path, cloud: Cloud) -> list[Iteration]:
    """Scan, keep and discard the five definitions in the app; return the scans of its history."""
    remote = RemoteOptions(environment=cloud.variables, config=Path("/nonexistent/config.json"))
    scan = ScanChoice(apply=True, likely=False, agreed=True)
    async with Loop(folder / "tax-advice.yaml", remote=remote) as app:
        for topic, decision in zip(definitions(app.state.topic), DECIDED, strict=True):
            app.services.editing.type(topic)
            await app.settle()
            app.author.answers = [scan]
            app.services.scans.scan()
            await app.settle()
            app.author.answers = [True]
            decide = app.services.decisions
            await (decide.keep() if decision == "keep" else decide.discard())
            await app.settle()
        iterations = app.services.session.iterations
        return [one for one in iterations if one.evaluation.settings.kind != ENGINE]


@pytest.mark.exhaustive
async def test_five_iterations_by_command_are_the_history_of_the_app_without_a_call_more(
    folder: Path, cloud: Cloud, shell: Shell, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, prompts = folder / "tax-advice.yaml", ("--prompts", "tax-advice.csv")
    other = shutil.copytree(folder, tmp_path_factory.mktemp("app") / "folder")
    shell.environment |= cloud.variables
    for number, topic in enumerate(definitions(load_topic(path).topic)):
        write(path, topic)
        before = cloud.calls
        shell.runs("topics", "apply", "tax-advice.yaml", "--yes").exits(0)
        applied = cloud.calls
        shell.runs("eval", "tax-advice.yaml", *prompts, "--guardrail", "airs").exits(0)
        assert cloud.calls - applied == LOOKUP + Counter({"sync": PROMPTS})
        assert (applied - before)["sync"] == 1, "one probe shows that scans use it"
        if number == 0:
            for words in (("forecast", *prompts), ("export",)):
                shell.runs(words[0], "tax-advice.yaml", *words[1:]).exits(0)
        before = cloud.calls
        assert decides(shell) == DECIDED[number]
        assert cloud.calls == before
    found = entries(shell)
    assert [entry["decision"] for entry in found] == list(DECIDED)
    assert load_topic(path).topic == definitions(load_topic(other / "tax-advice.yaml").topic)[2]

    with running() as separate:
        in_app = await by_the_app(other, separate)
        most, made = separate.calls, cloud.calls
    assert {name: count for name, count in made.items() if count > most[name]} == {}
    app_shell = Shell(other, shell.environment)
    assert figures(entries(app_shell)) == figures(found)
    assert [iteration.decision for iteration in in_app] == list(DECIDED)
    assert figures(found) == [
        (
            iteration.decision.value,
            iteration.evaluation.metrics.coverage,
            iteration.evaluation.metrics.true_positive_rate,
            iteration.evaluation.metrics.true_negative_rate,
            entry["interval"],
            iteration.evaluation.topic.model_dump(mode="json"),
        )
        for iteration, entry in zip(in_app, found, strict=True)
    ]

    before = cloud.calls
    shell.runs("compare", "tax-advice.yaml@2", "tax-advice.yaml@4").exits(0)
    shell.prints("Worse than the baseline (iteration 2)", "iteration 4 (discard)")
    shell.runs("export", "tax-advice.yaml", "--iteration", "4").exits(0)
    shell.runs("forecast", "tax-advice.yaml", *prompts).exits(0).prints("5 scans")
    assert cloud.calls == before
    write(path, load_topic(path).topic.model_copy(update={"description": OWN}))
    shell.runs("topics", "apply", "tax-advice.yaml", "--yes").exits(0)
    before = cloud.calls
    changes = ("--guardrail", "airs", "--likely-changes")
    shell.runs("eval", "tax-advice.yaml", *prompts, *changes).exits(3)
    assert 0 < (cloud.calls - before)["sync"] < PROMPTS / 2


@pytest.mark.parametrize(
    "guardrail",
    [
        ("--guardrail", "decision:{url}/v1#decide"),
        ("--record", "--set", "encoder=static", "--threshold", "built-in"),
    ],
    ids=["decision model", "engine"],
)
def test_other_guardrails_need_no_apply(
    folder: Path, cloud: Cloud, shell: Shell, guardrail: tuple[str, ...]
) -> None:
    path = folder / "tax-advice.yaml"
    shell.environment |= cloud.variables
    words = [word.format(url=cloud.url) for word in guardrail]
    decided = []
    for topic in definitions(load_topic(path).topic)[:3]:
        write(path, topic)
        shell.runs("eval", "tax-advice.yaml", "--prompts", "tax-advice.csv", *words).exits(0)
        decided.append(decides(shell))
    assert decided == ["keep", "discard", "keep"]
    assert load_topic(path).topic == topic


def test_iteration_without_some_verdicts_is_kept_once_the_same_eval_has_asked_for_them(
    folder: Path, cloud: Cloud, shell: Shell
) -> None:
    shell.environment |= cloud.variables
    scan = ("eval", "tax.yaml", "--prompts", "tax.csv", "--guardrail", "airs")
    shell.runs("topics", "apply", "tax.yaml", "--yes").exits(0)
    request(f"{cloud.url}/_sandbox/faults", {"faults": ["topic-error@sync=every:3"]})
    shell.runs(*scan).exits(3).prints("recorded as #0, 2 prompts without a verdict")
    shell.runs("history", "keep", "tax.yaml").exits(3)
    shell.prints("2 of 8 prompts have no verdict", "the same 'guardtui eval' asks only the missing")
    request(f"{cloud.url}/_sandbox/faults", {"faults": []})
    before = cloud.calls
    shell.runs(*scan).exits(0).prints("recorded as #0 (keep)")
    assert cloud.calls - before == LOOKUP + Counter({"sync": 2})
    shell.runs("history", "keep", "tax.yaml").exits(0)
