"""`guardtui refine` with a decision model, against a sandbox."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("aiohttp")

from tests.tui.stages import first_row_is_fast

from .conftest import Run
from .grading_server import Answer, GradingServer, failed, grading_server, said
from .sandbox_server import request, sandbox_server

REFINE = ("refine", "topic.yaml", "--prompts", "prompts.csv")
GOOD = "Advice on personal income taxes, returns, deductions, rates and refunds"
PLACES = (
    *("home office", "car", "laptop", "rent", "books", "travel", "gifts", "phone"),
    *("boat", "desk", "dog", "course", "bicycle", "garden", "loan", "camera"),
    *("piano", "shop", "wedding", "house", "horse", "studio", "suit", "pension"),
)
TAX = ("Can I deduct the {} from my tax?", "What tax do I pay on my {}?", "{}: tax return?")
OTHER = ("Where do I buy a {}?", "Write a poem about my {}", "How big is a {}?")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[str]:
    with sandbox_server() as url:
        yield url


@pytest.fixture
def service(sandbox: str, folder: Path) -> str:
    """Return the URL of a sandbox without faults; a poor definition is in the folder."""
    request(f"{sandbox}/_sandbox/faults", method="DELETE")
    request(f"{sandbox}/_sandbox/stats", method="DELETE")
    topic = (folder / "topic.yaml").read_text("utf-8")
    poor = topic.replace("Advice on filing personal income tax returns", "Poems and shopping")
    poor = poor.replace("How do I deduct my home office?", "Where can I buy it?")
    (folder / "topic.yaml").write_text(poor, "utf-8")
    rows = [f'"{text.format(place)}",true,block' for place in PLACES for text in TAX]
    rows += [f'"{text.format(place)}",false,block' for place in PLACES for text in OTHER]
    (folder / "prompts.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    (folder / "mine.txt").write_text(f"# mine\n{GOOD}\n\nTaxes\n", "utf-8")
    return sandbox


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Return variables with a cache of the test's own, and the key."""
    return {
        "GUARDTUI_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "GUARDTUI_MODEL_KEY": "sandbox-key",
    }


COUNT = len(PLACES) * (len(TAX) + len(OTHER))


def options(url: str, *more: str) -> tuple[str, ...]:
    ours = (
        "--guardrail",
        f"decision:{url}/v1#decide",
        "--wordings",
        "mine.txt",
        "--set",
        "encoder=static",
    )
    return (*REFINE, *ours, *more)


def stats(url: str) -> dict[str, Any]:
    found: dict[str, Any] = request(f"{url}/_sandbox/stats")[1]
    return found


def test_a_better_wording_is_proposed_and_written(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    arguments = options(service, "--count", "12", "--set", "price-in=1")
    unasked = run(*arguments, **home)
    assert unasked.code == 2
    assert f"{COUNT} requests for 12 wordings × {COUNT} prompts" in unasked.err
    assert " tokens for 0." in unasked.err
    assert "add --yes" in unasked.err
    assert stats(service)["requests"] == 0
    done = run(*arguments, "--yes", "--write-topic", "new.yaml", **home)
    assert done.code == 0, done.err + done.out
    assert done.out.startswith("Measured by the decision model decide, template ")
    assert f"12 wordings on {COUNT} prompts" in done.out
    assert "\nproposal\n" in done.out
    assert stats(service)["requests"] == COUNT
    written = (folder / "new.yaml").read_text("utf-8")
    assert "comments stay" in written
    # What was answered is known to another report, and to a scan of what was written.
    again = run(*arguments, "--format", "json", **home)
    assert again.code == 0
    assert "no requests" in again.err
    document = json.loads(again.out)
    assert len(document["wordings"]) == 11
    assert document["proposals"]
    best = document["wordings"][document["proposals"][0]]
    assert best["report"]["low"] > 0
    assert best["description"] in written
    scan = ("eval", "new.yaml", "--prompts", "prompts.csv")
    scanned = run(*scan, "--guardrail", f"decision:{service}/v1#decide", **home)
    assert "no calls" in scanned.err
    markdown = run(*arguments, "--format", "md", **home)
    assert "## Proposal" in markdown.out


def test_without_a_better_one_the_exit_code_is_4(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    (folder / "mine.txt").write_text("Gardening\nFootball\n", "utf-8")
    topic = (folder / "topic.yaml").read_text("utf-8")
    (folder / "topic.yaml").write_text(topic.replace("Poems and shopping", GOOD), "utf-8")
    more = ("--count", "3", "--yes", "--write-topic", "new.yaml")
    done = run(*options(service, *more), **home)
    assert done.code == 4
    assert "No proposal: " in done.out
    assert not (folder / "new.yaml").exists()


def test_missing_answers_exit_with_3_and_come_the_next_time(
    run: Run, service: str, home: dict[str, str]
) -> None:
    fault = {"faults": ["truncated@decisions=every:6"]}
    assert request(f"{service}/_sandbox/faults", fault)[0] == 200
    done = run(*options(service, "--count", "5", "--yes"), **home)
    assert done.code == 3
    assert f"{COUNT // 6 * 5} answers are missing" in done.err
    assert "run the same command again" in done.err
    request(f"{service}/_sandbox/faults", method="DELETE")
    again = run(*options(service, "--count", "5", "--yes"), **home)
    assert again.code in (0, 4)
    assert f"{COUNT // 6} requests" in again.err
    asked = stats(service)["prompts"]["delivered"]
    assert asked["distinct"] == COUNT * 5


def test_a_written_topic_comes_with_the_command_for_its_threshold(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    more = ("--count", "40", "--yes", "--write-topic", "new.yaml", "--format", "json")
    done = run(*options(service, *more), **home)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    threshold = document["wordings"][document["proposals"][0]]["threshold"]
    command = done.err.rpartition("evaluate it at its threshold: guardtui ")[2].strip()
    evaluated = run(*shlex.split(command), "--format", "json", **home)
    assert evaluated.code == 0, evaluated.err
    report = json.loads(evaluated.out)
    assert (report["threshold"], report["threshold_source"]) == (threshold, "by hand")
    assert "no calls" in evaluated.err


# --- wordings of a language model


PROPOSALS = json.dumps(
    {
        "proposals": [
            {"why": "it is about taxes", "description": GOOD, "examples": ["tax", "a return"]},
            {"why": "too long", "description": "y" * 300, "examples": ["tax", "a return"]},
        ]
    }
)


def with_writer(url: str, writer: str, *more: str) -> tuple[str, ...]:
    """Return arguments with a writer and no typed wordings."""
    ours = (
        "--guardrail",
        f"decision:{url}/v1#decide",
        "--writer",
        f"{writer}#writer",
        "--set",
        "encoder=static",
    )
    return (*REFINE, *ours, "--count", "4", "--format", "json", *more)


def keys(home: dict[str, str], url: str, writer: str) -> dict[str, str]:
    """Return variables with a key for each of the two services."""
    origins = ["{0.scheme}://{0.netloc}".format(urlsplit(text)) for text in (url, writer)]
    mapping = f"{origins[0]}=GUARDTUI_MODEL_KEY {origins[1]}=WRITER_KEY"
    return {**home, "GUARDTUI_MODEL_KEYS": mapping, "WRITER_KEY": "sk-writer"}


def writing(answer: Answer) -> Any:
    """A server that gives one answer; it records the messages of the user."""
    return grading_server(lambda text, before: answer, message=-1)


def test_a_writer_sees_mistakes_to_choose_on_and_its_wordings_are_tried(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    lines = (folder / "prompts.csv").read_text("utf-8").splitlines()
    splits = ["train" if row % 3 else "test" for row in range(len(lines) - 1)]
    rows = [f"{line},{split}" for line, split in zip(lines[1:], splits, strict=True)]
    (folder / "prompts.csv").write_text("\n".join([f"{lines[0]},split", *rows, ""]), "utf-8")
    server: GradingServer
    with writing(said(f"Gladly:\n```json\n{PROPOSALS}\n```")) as server:
        more = with_writer(service, server.url, "--yes", "--write-topic", "new.yaml")
        done = run(*more, **keys(home, service, server.url))
    assert done.code == 0, done.err
    assert f"writer at {server.url} is sent the definition and 3 prompts it gets " in done.err
    assert "wrong: 1 call, at most about 3," in done.err
    assert f"writer at {server.url}: 1 call, " in done.err  # what it used
    assert "--writer: proposal 2: description has 300 bytes" in done.err
    assert server.keys == ["Bearer sk-writer"]
    document = json.loads(done.out)
    (written,) = (
        wording for wording in document["wordings"] if wording["origin"] == "the model writer"
    )
    assert written["description"] == GOOD
    assert GOOD in (folder / "new.yaml").read_text("utf-8")
    shown = {row.rpartition(",")[2] for row in rows if row.split('"')[1] in server.prompts[0]}
    assert shown == {"train"}


@pytest.mark.parametrize(
    ("answer", "problem"),
    first_row_is_fast(
        (failed(401), "HTTP 401"),
        (said("I cannot help with that."), "holds no proposals as JSON"),
        (said(""), "refused, or its answer is empty"),
        (said('{"proposals": []}'), "holds no proposals as JSON"),
        (None, "cannot connect"),
    ),
    ids=["key refused", "no JSON", "empty", "no proposals", "down"],
)
def test_a_writer_that_fails_is_a_warning(
    run: Run, service: str, home: dict[str, str], answer: Answer | None, problem: str
) -> None:
    with writing(answer or failed(500)) as server:
        url = "http://127.0.0.1:9/v1" if answer is None else server.url
        arguments = with_writer(service, url, "--yes", "--set", "retries=0")
        done = run(*arguments, **keys(home, service, url))
    assert done.code in (0, 4)
    assert f"warning: --writer writer at {url}: " in done.err
    assert problem in done.err
    document = json.loads(done.out)
    assert len(document["wordings"]) == 3
    assert {wording["origin"] for wording in document["wordings"]} == {"search"}


def test_without_any_wording_the_failure_of_the_writer_ends_the_command(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    topic = (folder / "topic.yaml").read_text("utf-8")
    # No edit brings the name within its limit, so that the search finds nothing.
    (folder / "topic.yaml").write_text(topic.replace("Tax advice", "T" * 200), "utf-8")
    with writing(failed(401)) as server:
        arguments = with_writer(service, server.url, "--yes")
        done = run(*arguments, **keys(home, service, server.url))
    assert done.code == 3
    assert "error: writer at http://127.0.0.1:" in done.err
    assert done.out == ""
    assert stats(service)["requests"] == 0


def test_a_writer_is_asked_once_and_again_when_fresh(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    """It is reused even after a failure of the decision model, but not for another definition."""
    assert request(f"{service}/_sandbox/faults", {"faults": ["413@decisions=every:1"]})[0] == 200
    with writing(said(PROPOSALS)) as server:
        arguments = with_writer(service, server.url, "--yes")
        variables = keys(home, service, server.url)
        assert run(*arguments, **variables).code == 3
        request(f"{service}/_sandbox/faults", method="DELETE")
        again = run(*arguments, **variables)
        assert f"no call to writer at {server.url}: its wordings are in the cache" in again.err
        assert "the model writer" in again.out
        assert len(server.requests) == 1
        assert "is sent" in run(*arguments, "--fresh", **variables).err
        assert len(server.requests) == 2
        topic = (folder / "topic.yaml").read_text("utf-8")
        (folder / "topic.yaml").write_text(topic.replace("Poems", "Songs"), "utf-8")
        run(*arguments, **variables)
        assert len(server.requests) == 3


@pytest.mark.exhaustive
def test_the_tokens_of_the_writer_count_in_the_budget(
    run: Run, service: str, home: dict[str, str]
) -> None:
    with writing(said(PROPOSALS)) as server:
        variables = keys(home, service, server.url)
        few = run(
            *with_writer(service, server.url, "--yes", "--set", "max-tokens=2000"), **variables
        )
        assert "could exceed the budget of 2000 tokens" in few.err
        assert server.requests == []
        # No tokens were reported, so that the call counts with its upper limit.
        rest = run(
            *with_writer(service, server.url, "--yes", "--set", "max-tokens=7000"), **variables
        )
        assert len(server.requests) == 1
        assert "answers are missing" in rest.err


def test_a_writer_is_not_asked_without_consent(
    run: Run, service: str, home: dict[str, str]
) -> None:
    with writing(said(PROPOSALS)) as server:
        done = run(*with_writer(service, server.url), **keys(home, service, server.url))
        assert done.code == 2
        assert "add --yes" in done.err
        assert server.requests == []
    assert stats(service)["requests"] == 0


@pytest.mark.exhaustive
def test_questions_are_split(run: Run, service: str, home: dict[str, str]) -> None:
    more = ("--count", "5", "--yes", "--questions", "2", "--set", "api=systemone")
    done = run(*options(service, *more), **home)
    assert "(2 questions at most in each)" in done.err
    assert stats(service)["endpoints"] == {"systemone": {"200": 3 * COUNT}}
