"""`guardtui refine --experiment` with a decision model and a judge, against a sandbox."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("aiohttp")

from guardtui.session.experiments import ExperimentLog
from guardtui.session.store import SessionStore
from tests.tui.stages import first_row_is_fast

from .conftest import Run
from .grading_server import Answer, failed, grading_server, said
from .sandbox_server import request, sandbox_server

REFINE = ("refine", "topic.yaml", "--prompts", "prompts.csv", "--experiment")
GOOD = "Advice on personal income taxes, returns, deductions, rates and refunds"
PLACES = (
    *("home office", "car", "laptop", "rent", "books", "travel", "gifts", "phone"),
    *("boat", "desk", "dog", "course", "bicycle", "garden", "loan", "camera"),
    *("piano", "shop", "wedding", "house", "horse", "studio", "suit", "pension"),
)
TAX = ("Can I deduct the {} from my tax?", "What tax do I pay on my {}?", "{}: tax return?")
OTHER = ("Where do I buy a {}?", "Write a poem about my {}", "How big is a {}?")
FEW = PLACES[:12]
COUNT = len(FEW) * (len(TAX) + len(OTHER))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[str]:
    with sandbox_server() as url:
        yield url


@pytest.fixture
def service(sandbox: str, folder: Path) -> Iterator[str]:
    """Return the URL of a sandbox without faults; a poor definition is in the folder."""
    request(f"{sandbox}/_sandbox/faults", method="DELETE")
    request(f"{sandbox}/_sandbox/stats", method="DELETE")
    topic = (folder / "topic.yaml").read_text("utf-8")
    poor = topic.replace("Advice on filing personal income tax returns", "Poems and shopping")
    poor = poor.replace("When is my tax return due?", "Who helps me with my taxes?")
    (folder / "topic.yaml").write_text(poor, "utf-8")
    write_prompts(folder, FEW)
    (folder / "mine.txt").write_text(f"# mine\n{GOOD}\n\nTaxes\n", "utf-8")
    yield sandbox
    request(f"{sandbox}/_sandbox/faults", method="DELETE")


def write_prompts(folder: Path, places: tuple[str, ...]) -> None:
    """Write the prompts on these places, as many that belong to the topic as do not."""
    rows = [f'"{text.format(place)}",true,block' for place in places for text in TAX]
    rows += [f'"{text.format(place)}",false,block' for place in places for text in OTHER]
    (folder / "prompts.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Return variables with a cache of the test's own, and the key."""
    return {
        "GUARDTUI_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "GUARDTUI_MODEL_KEY": "sandbox-key",
    }


def options(url: str, *more: str) -> tuple[str, ...]:
    ours = ("--guardrail", f"decision:{url}/v1#decide", "--set", "encoder=static")
    return (*REFINE, *ours, *more)


def tried(url: str, *more: str) -> tuple[str, ...]:
    return options(url, "--wordings", "mine.txt", *more)


def stats(url: str) -> dict[str, Any]:
    found: dict[str, Any] = request(f"{url}/_sandbox/stats")[1]
    return found


def fault(url: str, text: str) -> None:
    assert request(f"{url}/_sandbox/faults", {"faults": [text]})[0] == 200


def test_the_cost_is_asked_and_a_better_wording_is_better_kept_and_recorded(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    unasked = run(*tried(service, "--set", "price-in=1"), **home)
    assert unasked.code == 2
    assert f" calls on {COUNT} prompts, {COUNT} of them for the definition itself" in unasked.err
    assert "tokens, cost about 0." in unasked.err
    assert stats(service)["requests"] == 0
    done = run(*tried(service, "--yes", "--write-topic", "new.yaml", "--format", "json"), **home)
    assert done.code == 0, done.err
    report = json.loads(done.out)
    best = report["candidates"][report["best"]]
    assert report["ending"] == "better"
    assert report["kept"]
    assert 0 < best["low"] < best["gain"]
    assert report["calls"] <= COUNT + report["calls_of_whole_scans"]
    written = (folder / "new.yaml").read_text("utf-8")
    assert best["topic"]["description"] in written
    assert "comments stay" in written
    # One request has many questions.
    assert stats(service)["requests"] < report["calls"]
    store = SessionStore(folder / "topic.yaml")
    current, kept = (iteration.evaluation for iteration in store.iterations())
    assert not current.metrics.missing
    assert kept.topic.description == best["topic"]["description"]
    assert kept.metrics.total == best["verdicts"]
    # The same again takes the recorded verdicts, and the cached ones.
    again = run(*tried(service, "--yes", "--format", "md"), **home)
    assert again.code == 0
    assert ": 0 to " in again.err  # the cached ones are no calls
    assert store.template(current.settings.guardrail.template)
    assert "with 0 calls" in again.out
    assert "Better, not kept yet" in again.out
    assert "with 95% confidence for all candidates together" in again.out


def test_a_list_of_wordings_is_tried_and_candidates_have_names_of_their_own(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    examples = ["What can I deduct from my tax?", "When is my tax return due?"]
    entries = [{"description": GOOD, "examples": examples}, "Taxes"]
    (folder / "mine.json").write_text(json.dumps(entries), "utf-8")
    ours = options(service, "--wordings", "mine.json", "--yes")
    done = run(*ours, "--format", "json", **home)
    assert done.code == 0, done.err
    tried = json.loads(done.out)["candidates"]
    assert tried[0]["topic"]["examples"] == examples
    assert {"entry 1 of mine.json", "entry 2 of mine.json"} <= {one["origin"] for one in tried}
    assert len({one["name"] for one in tried}) == len(tried)
    table = " ".join(run(*ours, **home).out.split())
    assert f"description 1, examples a, b: “{GOOD[:50]}" in table
    assert f"New examples: a “{examples[0]}”, b “{examples[1]}”." in table


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('["Taxes", {"description": 1}]', "entry 2: not a description, nor an object with one"),
        ('["Taxes", "Taxes"]', "entry 2: the same as entry 1"),
        (json.dumps(["x" * 251]), "entry 1: description has 251 bytes"),
    ],
)
def test_invalid_wordings_end_it_before_anything_is_asked(
    run: Run, service: str, home: dict[str, str], folder: Path, content: str, problem: str
) -> None:
    (folder / "mine.json").write_text(content, "utf-8")
    done = run(*options(service, "--wordings", "mine.json", "--yes"), **home)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: mine.json: {problem}")
    assert '\n  write [{"description": "…", "examples": ["…", "…"]}' in done.err
    assert stats(service)["requests"] == 0


def test_a_better_candidate_is_recorded_once_and_kept_by_the_command_that_is_shown(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    done = run(*tried(service, "--yes"), **home)
    assert done.code == 0, done.err
    hint = "candidate recorded as #1; to keep it: guardtui "
    (line,) = (line for line in done.err.splitlines() if line.startswith(hint))
    assert hint in run(*tried(service, "--yes"), **home).err  # the same one, not another
    words = line.removeprefix(hint).split()
    assert words == ["history", "keep", "topic.yaml", "--iteration", "1", "--anyway"]
    kept = run(*words, **home)
    assert kept.code == 0, kept.err
    store = SessionStore(folder / "topic.yaml")
    assert [iteration.decision.value for iteration in store.iterations()] == ["keep", "keep"]
    description = store.iterations()[1].evaluation.topic.description
    assert description in (folder / "topic.yaml").read_text("utf-8")


def test_prompts_that_a_column_holds_out_are_tried_and_shown_nowhere(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    header, *rows = (folder / "prompts.csv").read_text("utf-8").splitlines()
    held_out = [n for n in range(COUNT) if n % 3 == 0]
    split = [f"{row},{'test' if n in held_out else 'train'}" for n, row in enumerate(rows)]
    (folder / "prompts.csv").write_text("\n".join([f"{header},split", *split, ""]), "utf-8")
    with writing(said(PROPOSALS)) as server:
        arguments = with_writer(service, server.url, "--yes", "--wordings", "mine.txt")
        done = run(*arguments, **keys(home, service, server.url))
    assert done.code in (0, 4), done.err
    assert f"; {len(held_out)} prompts held out by the column split: asked for the" in done.err
    assert json.loads(done.out)["prompts"] == COUNT - len(held_out)
    (message,) = server.requests
    sent = json.dumps(message, ensure_ascii=False)
    assert not [n for n in held_out if rows[n].split('"')[1] in sent]
    log = ExperimentLog(SessionStore(folder / "topic.yaml"))
    (record,) = log.experiments()
    for number, columns in log.verdicts(record).items():
        asked = ~columns.not_asked
        assert asked[held_out].all() if number == 0 else not asked[held_out].any()
        assert asked.any()


def test_wordings_that_prove_nothing_exit_with_4(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    topic = (folder / "topic.yaml").read_text("utf-8")
    (folder / "topic.yaml").write_text(topic.replace("Poems and shopping", GOOD), "utf-8")
    (folder / "mine.txt").write_text("Gardening\nFootball\n", "utf-8")
    done = run(*tried(service, "--yes", "--write-topic", "new.yaml"), **home)
    assert done.code == 4, done.err
    assert not (folder / "new.yaml").exists()
    assert "no proposal: " in done.err


def test_a_limit_of_calls_stops_it_and_resume_goes_on(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    more = ("--unlabelled", "leave-out", "--format", "md")
    first = run(*tried(service, "--calls", "80", *more), **home)
    assert first.code == 3
    assert "not completed: the limit of 80 calls is reached" in first.err
    assert "--prompts prompts.csv --unlabelled leave-out --format md --guardrail " in first.err
    assert "--experiment --resume" in first.err
    mentioned = run(*tried(service), **home)
    assert "is unfinished: --resume goes on with it" in mentioned.err
    done = run(*options(service, "--resume", "--calls", "5000", "--format", "json"), **home)
    assert done.code == 0, done.err
    assert "80 calls made" in done.err
    assert json.loads(done.out)["calls"] > 80
    delivered = stats(service)["prompts"]["delivered"]
    assert delivered["duplicates"] == 0
    over = run(*options(service, "--resume", "--yes"), **home)
    assert over.code == 2
    assert "no experiment is unfinished" in over.err


def test_a_key_in_an_address_is_not_in_the_hint(
    run: Run, service: str, home: dict[str, str]
) -> None:
    address = f"decision:{service}/v1?api-version=1&key=hunter2#decide"
    ours = ("--guardrail", address, "--set", f"model={service}/v1?code=hunter3#decide")
    done = run(*REFINE, *ours, "--wordings", "mine.txt", "--calls", "10", **home)
    assert done.code == 3, done.err
    assert "hunter" not in done.err
    assert f"--guardrail 'decision:{service}/v1?…#decide' --set 'model={service}/v1?…#" in done.err


def test_resume_says_what_was_changed(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    assert run(*tried(service, "--calls", "10"), **home).code == 3
    other = run(*options(service, "--resume", "--yes", "--threshold", "0.7"), **home)
    assert other.code == 2
    assert "give --threshold 0.5" in other.err
    prompts = (folder / "prompts.csv").read_text("utf-8")
    (folder / "prompts.csv").write_text(f'{prompts}"one more tax",true,block\n', "utf-8")
    topic = (folder / "topic.yaml").read_text("utf-8")
    (folder / "topic.yaml").write_text(topic.replace("Poems", "Songs"), "utf-8")
    done = run(*options(service, "--resume", "--yes"), **home)
    assert done.code == 2
    assert "the definition was changed and the prompts were changed" in done.err


def test_a_service_that_dies_midway_is_not_a_verdict(
    run: Run, service: str, home: dict[str, str]
) -> None:
    fault(service, "500@decisions=after:20")
    done = run(*tried(service, "--yes", "--set", "retries=0", "--set", "concurrency=1"), **home)
    assert done.code == 3
    assert "not completed: " in done.err
    assert "HTTP 500" in done.err
    request(f"{service}/_sandbox/faults", method="DELETE")
    again = run(*options(service, "--resume", "--yes"), **home)
    assert again.code == 0, again.err


def test_a_service_that_is_down_is_an_error(run: Run, home: dict[str, str], service: str) -> None:
    done = run(*tried("http://127.0.0.1:9", "--yes", "--set", "retries=0"), **home)
    assert done.code == 3
    assert "check the address, and that the service is running" in done.err


def test_prompts_of_one_label_are_refused(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    (folder / "prompts.csv").write_text('prompt,expected\n"a tax",true\n"b tax",true\n', "utf-8")
    done = run(*tried(service, "--yes"), **home)
    assert done.code == 2
    assert "add prompts that do not belong to the topic" in done.err


def test_a_judge_is_asked_for_each_prompt_and_candidate(
    run: Run, service: str, home: dict[str, str]
) -> None:
    def judged(text: str, before: int) -> Answer:
        prompt = text.partition("<<<prompt")[2]
        belongs = "tax" in prompt and ("home" in prompt or GOOD in text)
        return said(f"ANSWER: {'yes' if belongs else 'no'}")

    with grading_server(judged, message=-1) as server:
        guardrail = ("--guardrail", f"judge:{server.url}#m", "--set", "encoder=static")
        arguments = (*REFINE, *guardrail, "--wordings", "mine.txt", "--yes", "--format", "json")
        done = run(*arguments, **home)
        assert done.code == 0, done.err
        report = json.loads(done.out)
        assert len(server.requests) == report["calls"]
    assert report["guardrail"]["kind"] == "judge"
    assert report["candidates"][report["best"]]["topic"]["description"] == GOOD


@pytest.mark.process
def test_after_sigkill_and_an_interrupt_nothing_that_was_paid_is_asked_again(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    request(f"{service}/_sandbox/settings", {"latency": "50ms"}, "PATCH")
    environment = {**home, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2])}
    slow = ("--set", "concurrency=4")
    arguments, log = (
        tried(service, "--yes", *slow),
        ExperimentLog(SessionStore(folder / "topic.yaml")),
    )
    for number, ending in enumerate((signal.SIGKILL, signal.SIGINT, signal.SIGKILL)):
        process = subprocess.Popen(
            [sys.executable, "-m", "guardtui", *arguments],
            cwd=folder,
            env=environment,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        wanted = 40 * (number + 1)
        while stats(service)["prompts"]["delivered"]["total"] < wanted:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(ending)
        _, said_last = process.communicate()
        if ending == signal.SIGINT:
            assert process.returncode == 130
            assert b"--experiment --yes --resume" in said_last
        arguments = options(service, "--resume", "--yes", *slow)
    done = run(*arguments, "--format", "json", **home)
    assert done.code == 0, done.err
    assert len(log.experiments()) == 1
    assert json.loads(done.out)["best"] is not None
    # Only what was under way at an end was asked for twice.
    assert stats(service)["prompts"]["delivered"]["duplicates"] <= 3 * 4 * 12


# --- wordings of a writer


PROPOSALS = json.dumps(
    {
        "proposals": [
            {"why": "it is about taxes", "description": GOOD, "examples": ["tax", "a return"]},
            {"why": "too long", "description": "y" * 300, "examples": ["tax", "a return"]},
        ]
    }
)


def with_writer(url: str, writer: str, *more: str) -> tuple[str, ...]:
    return options(url, "--writer", f"{writer}#writer", "--format", "json", *more)


def keys(home: dict[str, str], url: str, writer: str) -> dict[str, str]:
    """Return variables with a key for each of the two services."""
    origins = ["{0.scheme}://{0.netloc}".format(urlsplit(text)) for text in (url, writer)]
    mapping = f"{origins[0]}=GUARDTUI_MODEL_KEY {origins[1]}=WRITER_KEY"
    return {**home, "GUARDTUI_MODEL_KEYS": mapping, "WRITER_KEY": "sk-writer"}


def writing(answer: Answer) -> Any:
    """A server that gives one answer; it records the messages of the user."""
    return grading_server(lambda text, before: answer, message=-1)


def test_a_writers_wording_is_tried_with_its_own_examples_and_those_of_the_topic(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    write_prompts(folder, PLACES)  # those that the model is shown count in no figure
    with writing(said(f"Gladly:\n```json\n{PROPOSALS}\n```")) as server:
        variables = keys(home, service, server.url)
        unasked = run(*with_writer(service, server.url), **variables)
        assert unasked.code == 2
        assert server.requests == []
        done = run(*with_writer(service, server.url, "--yes"), **variables)
        assert done.code == 0, done.err
        assert server.keys == ["Bearer sk-writer"]
        assert len(server.requests) == 1
    assert f"writer at {server.url} is sent the definition and " in done.err
    assert "--writer: proposal 2: description has 300 bytes" in done.err
    candidates = json.loads(done.out)["candidates"]
    assert {one["topic"]["description"] for one in candidates} == {GOOD, "Poems and shopping"}
    assert {one["origin"] for one in candidates} == {"the model writer"}
    assert {tuple(one["topic"]["examples"]) for one in candidates} >= {
        ("tax", "a return"),
        ("How do I deduct my home office?", "Who helps me with my taxes?"),
    }


@pytest.mark.parametrize(
    ("answer", "problem"),
    first_row_is_fast(
        (failed(401), "HTTP 401"),
        (said("I cannot help with that."), "holds no proposals as JSON"),
        (None, "cannot connect"),
    ),
    ids=["key refused", "no JSON", "down"],
)
def test_a_writer_that_fails_ends_it_unless_there_are_other_wordings(
    run: Run, service: str, home: dict[str, str], answer: Answer | None, problem: str
) -> None:
    with writing(answer or failed(500)) as server:
        url = "http://127.0.0.1:9/v1" if answer is None else server.url
        arguments = with_writer(service, url, "--yes", "--set", "retries=0")
        variables = keys(home, service, url)
        alone = run(*arguments, **variables)
        done = run(*arguments, "--wordings", "mine.txt", **variables)
    assert alone.code == 3
    assert f"error: writer at {url}: " in alone.err
    assert done.code == 0, done.err
    assert f"warning: --writer writer at {url}: " in done.err
    assert problem in done.err
