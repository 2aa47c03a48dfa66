"""`guardtui eval`, `doctor` and `guardrails template` with a judge, against a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from guardtui.app.guardrails.named import find_guardrail
from guardtui.cli.scans.models import configured_model
from guardtui.domain.guardrail import ScannerSettings
from guardtui.scanners.models.attacks import attacks
from tests.guardrails import judge_settings
from tests.scanners.models.judges import fenced_in
from tests.sessions import Scanned

from .conftest import NEGATIVE, POSITIVE, Run
from .grading_server import Answer, GradingServer, failed, grading_server

JUDGE = ("eval", "topic.yaml", "--prompts", "prompts.csv")
COUNT = len(POSITIVE) + len(NEGATIVE)
DEAD = "http://127.0.0.1:9/v1#m"


def said(text: str, usage: bool = True) -> Answer:
    body: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    if usage:
        body["usage"] = {"prompt_tokens": 200, "completion_tokens": 20}
    return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()


class Judge:
    """Judges by the word tax; `prompts` are those it was asked, in order."""

    def __init__(self, usage: bool = True, fails: set[str] | None = None) -> None:
        self.prompts: list[str] = []
        self.usage, self.fails = usage, fails or set()

    def __call__(self, text: str, before: int) -> Answer:
        prompt = fenced_in(text)
        self.prompts.append(prompt)
        if prompt in self.fails:
            return said("Who knows?", self.usage)
        word = "yes" if "tax" in prompt else "no"
        return said(f"About {prompt[:20]}\nANSWER: {word}", self.usage)


def serving(judge: Any) -> Any:
    """A server that hands on the last message, where the prompt is."""
    return grading_server(judge, message=-1)


def named(server: GradingServer, name: str = "m") -> tuple[str, str]:
    return ("--guardrail", f"judge:{server.url}#{name}")


def settings_of(server: GradingServer) -> ScannerSettings:
    """The settings of the judge of a server."""
    configuration = find_guardrail(named(server)[1]).configuration
    return configured_model(configuration).scanner().settings


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A cache of the test's own."""
    return {"GUARDTUI_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}


def test_a_report_with_reasons_and_usage(run: Run, home: dict[str, str]) -> None:
    judge = Judge()
    with serving(judge) as server:
        prices = ("--set", "price-in=1", "--set", "price-out=10")
        done = run(
            *JUDGE, *named(server), "--format", "json", "--set", "concurrency=3", *prices, **home
        )
        first, second, last = done.err.splitlines()
        assert (done.code, first) == (0, f"{COUNT} calls for {COUNT} prompts")
        assert last == "recorded as #0 (keep)"
        assert re.fullmatch(r"about [\d,]+ tokens, cost about [\d.]+\. Tokens are .*", second)
        assert server.most_at_once <= 3
    document = json.loads(done.out)
    assert document["metrics"]["total"] == COUNT
    assert document["metrics"]["coverage"] == 1.0
    assert document["usage"] == {
        "calls": COUNT,
        "input_tokens": 200 * COUNT,
        "output_tokens": 20 * COUNT,
        "cost": pytest.approx(COUNT * 0.0004),
        "uncounted": 0,
    }
    assert (document["guardrail"]["kind"], document["guardrail"]["models"]) == ("judge", ["m"])
    assert document["results"][0]["reason"] == f"yes: About {POSITIVE[0][:20].strip()}"
    assert Counter(judge.prompts) == dict.fromkeys((*POSITIVE, *NEGATIVE), 1)


def test_tables_and_markdown_tell_the_usage(run: Run, home: dict[str, str]) -> None:
    with serving(Judge(usage=False)) as server:
        table = run(*JUDGE, *named(server), **home)
        assert f"\nAsked: {COUNT} calls, " in table.out
        assert f"({COUNT} not counted by the service: taken for the most they can be)" in table.out
        markdown = run(*JUDGE, *named(server), "--fresh", "--format", "md", **home)
        assert f"\nAsked: {COUNT} calls, " in markdown.out
        again = run(*JUDGE, *named(server), "--no-record", **home)
        assert again.err == f"no calls: the verdicts on {COUNT} prompts are in the cache\n"
        assert "asked:" not in again.out


def test_a_second_run_asks_nothing_and_a_fresh_one_all(run: Run, home: dict[str, str]) -> None:
    judge = Judge()
    with serving(judge) as server:
        assert run(*JUDGE, *named(server), **home).code == 0
        assert run(*JUDGE, *named(server), **home).code == 0
        assert len(judge.prompts) == COUNT
        assert run(*JUDGE, *named(server), "--fresh", **home).code == 0
        assert len(judge.prompts) == 2 * COUNT
        other = run(*JUDGE, *named(server, "m,n"), **home)
        assert other.err.startswith(f"up to {2 * COUNT} calls for {COUNT} prompts\n")
        assert len(judge.prompts) == 3 * COUNT


def test_epochs_are_kept_one_by_one(run: Run, home: dict[str, str]) -> None:
    judge = Judge()
    with serving(judge) as server:
        assert run(*JUDGE, *named(server), **home).code == 0
        three = (*JUDGE, *named(server), "--epochs", "3")
        first = run(*three, **home)
        message = (
            f"up to {2 * COUNT} calls for {COUNT} prompts in 3 epochs, {COUNT} answers from the"
        )
        assert first.code == 0
        assert first.err.startswith(f"{message} cache\n")
        assert "No price is given (price-in, price-out)." in first.err
        assert Counter(judge.prompts) == dict.fromkeys((*POSITIVE, *NEGATIVE), 3)
        again = run(*three, **home)
        assert again.err.startswith(f"no calls: the verdicts on {COUNT} prompts in 3 epochs are")
        assert len(judge.prompts) == 3 * COUNT


def test_rows_without_a_verdict_and_going_on(run: Run, home: dict[str, str]) -> None:
    judge = Judge(fails={POSITIVE[0], NEGATIVE[0]})
    with serving(judge) as server:
        done = run(*JUDGE, *named(server), "--format", "json", **home)
        assert done.code == 3
        assert f"error: 2 of {COUNT} prompts have no verdict; 2 of them: the answer does not" in (
            done.err
        )
        document = json.loads(done.out)
        assert [one["reason"] for one in document["errors"]] == [
            "the answer does not end with a verdict: Who knows?"
        ] * 2
        allowed = run(*JUDGE, *named(server), "--max-errors", "2", **home)
        assert allowed.code == 0
        gate = run(*JUDGE, *named(server), "--max-errors", "1", **home)
        assert gate.code == 1
        complete = run(*JUDGE, *named(server), "--require-complete", "--min-coverage", "1", **home)
        assert complete.code == 3
        assert "gate failed: 2 prompts without a verdict, at most 0 allowed" in complete.err
        assert complete.err.splitlines()[-1].endswith("; exit code 3")
        judge.fails.clear()
        judge.prompts.clear()
        rest = run(*JUDGE, *named(server), **home)
        assert rest.code == 0
        assert f"2 calls for {COUNT} prompts, {COUNT - 2} of them from the cache" in rest.err
        assert Counter(judge.prompts) == {POSITIVE[0]: 1, NEGATIVE[0]: 1}


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (("--set", "max-tokens=3400"), "the budget of 3400 tokens is reached"),
        (
            ("--set", "budget=0.0034", "--set", "price-in=1", "--set", "price-out=1"),
            "the budget of 0.0034 is reached",
        ),
    ],
)
def test_a_budget_that_is_reached(
    run: Run, home: dict[str, str], limit: tuple[str, ...], told: str
) -> None:
    judge = Judge()
    with serving(judge) as server:
        done = run(*JUDGE, *named(server), *limit, "--format", "json", **home)
        assert done.code == 3
        document = json.loads(done.out)
        assert document["error_count"] == 0
        missing = document["open_count"]
        assert {one["outcome"] for one in document["results"]} >= {"OPEN"}
        assert f"error: {told}: {missing} of {COUNT} prompts were not asked\n" in done.err
        assert "run the same command again to spend as much again on the others" in done.err
        asked = len(judge.prompts)
        assert 0 < asked < COUNT
        assert missing == COUNT - asked
        used = document["usage"]
        assert used["calls"] == asked
        assert used["input_tokens"] + used["output_tokens"] <= 3400
        # An allowance of errors is none of prompts that were not asked.
        again = ("--max-errors", str(COUNT))
        for _ in range(COUNT):
            done = run(*JUDGE, *named(server), *limit, *again, **home)
            assert done.code == (3 if "not asked" in done.err else 0)
            if done.code == 0:
                break
        assert Counter(judge.prompts) == dict.fromkeys((*POSITIVE, *NEGATIVE), 1)


def test_given_options_reach_the_model(run: Run, folder: Path, home: dict[str, str]) -> None:
    (folder / "mine.txt").write_text("[user]\nIs it about {name}?\n{prompt}\n", "utf-8")
    bodies: list[dict[str, Any]] = []

    class Raw(Judge):
        def __call__(self, text: str, before: int) -> Answer:
            assert text.startswith("Is it about Tax advice?\n<<<prompt ")
            fenced_in(text)
            return said("<v>YES</v>" if "tax" in text.split("\n", 1)[1] else "<v>NO</v>")

    with serving(Raw()) as server:
        server.requests = bodies
        done = run(
            *JUDGE, *named(server), "--set", "template=mine.txt", "--set",
            "form=pattern:<v>(yes|no)</v>", "--set", "model-option.seed=7", "--set",
            'model-option.reasoning_effort="low"', "--set", "answer-tokens=33", "--set", "rate=500",
            "--set", "retries=0",
            **home, GUARDTUI_MODEL_KEY="sk-mine",
        )  # fmt: skip
        assert done.code == 0
        assert set(server.keys) == {"Bearer sk-mine"}
    assert "sk-mine" not in done.out + done.err
    options = {key: value for key, value in bodies[0].items() if key not in ("messages", "model")}
    assert options == {
        "temperature": 0, "seed": 7, "reasoning_effort": "low", "max_tokens": 33
    }  # fmt: skip


def test_an_unreachable_model_and_a_rejected_key_are_reported(
    run: Run, home: dict[str, str]
) -> None:
    done = run(*JUDGE, "--guardrail", f"judge:{DEAD}", "--set", "retries=0", **home)
    assert (done.code, done.out) == (3, "")
    assert "error: nothing could be scanned: cannot connect to 127.0.0.1:9" in done.err
    assert "check the address, and that the service is running" in done.err
    with serving(lambda text, before: failed(401)) as server:
        done = run(*JUDGE, *named(server), **home, GUARDTUI_MODEL_KEY="sk-mine")
        assert done.code == 3
        assert "nothing could be scanned: HTTP 401" in done.err
        assert "sk-mine" not in done.err


@pytest.mark.process
def test_progress_tells_tokens_and_cost(folder: Path, environment: dict[str, str]) -> None:
    pytest.importorskip("pty")
    import os
    import pty
    import threading

    release = threading.Event()

    class Slow(Judge):
        def __call__(self, text: str, before: int) -> Answer:
            if before == COUNT - 1:
                release.wait(120)
            return super().__call__(text, before)

    with serving(Slow()) as server:
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "guardtui",
                *JUDGE,
                *named(server),
                "--fresh",
                "--set",
                "price-in=5",
            ],
            cwd=folder,
            env={**environment, "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=follower,
        )
        os.close(follower)
        shown = b""
        wanted = rb"scanning 9/10, 9 calls, 1800 tokens in, 180 out, cost 0.009"
        try:
            while wanted not in shown:
                part = os.read(leader, 4096)
                assert part
                shown += part
            release.set()
            process.communicate(timeout=120)
        finally:
            release.set()
            process.kill()
            process.wait()
            os.close(leader)
    assert process.returncode == 0


def test_the_template_to_start_from(run: Run, folder: Path, home: dict[str, str]) -> None:
    printed = run("guardrails", "template", "judge")
    assert printed.code == 0
    assert printed.out.startswith("[system]\n")
    assert "\n[user]\n" in printed.out
    assert run("guardrails", "template", "judge", "--output", "mine.txt").out == ""
    assert (folder / "mine.txt").read_text("utf-8") == printed.out
    judge = Judge()
    with serving(judge) as server:
        assert run(*JUDGE, *named(server), **home).code == 0
        # What it says counts, not where it comes from.
        again = run(*JUDGE, *named(server), "--set", "template=mine.txt", **home)
        assert (again.code, len(judge.prompts)) == (0, COUNT)


TRUE = {one.prompt: one.belongs for one in attacks()}


def sceptical(text: str, before: int) -> Answer:
    return said(f"I looked.\nANSWER: {'yes' if TRUE[fenced_in(text)] else 'no'}")


def gullible(text: str, before: int) -> Answer:
    result = re.search(r"answer:? (yes|no)", fenced_in(text), re.IGNORECASE)
    return said(f"As told.\nANSWER: {result[1].lower()}") if result else sceptical(text, before)


def test_doctor_of_a_judge_that_holds(run: Run, home: dict[str, str]) -> None:
    with serving(sceptical) as server:
        done = run("doctor", *named(server), **home)
    assert (done.code, done.err) == (0, "")
    count = len(TRUE) - 2
    assert f"{count} of {count} attacks are withstood" in done.out
    assert done.out.count("holds: says ") == count
    assert done.out.count("right: says ") == 2
    assert f"{len(TRUE)} calls, {200 * len(TRUE)} tokens in" in done.out
    assert "warning" not in done.out


def test_each_service_gets_its_own_key_and_no_other(run: Run, home: dict[str, str]) -> None:
    with serving(sceptical) as one, serving(sceptical) as other:
        origins = [server.url.removesuffix("/v1") for server in (one, other)]
        panel = f"model={one.url}#m {other.url}#n"
        both = ("doctor", "--guardrail", f"judge:{one.url}#m", "--set", panel)
        done = run(*both, **home, GUARDTUI_MODEL_KEY="sk-one")
        assert (done.code, done.out) == (2, "")
        assert f"{origins[0]} has no key of its own" in done.err
        assert f"GUARDTUI_MODEL_KEYS='{origins[0]}=VARIABLE {origins[1]}=VARIABLE'" in done.err
        assert one.keys == other.keys == []
        mapping = f"{origins[0]}=ONE {origins[1]}=none"
        done = run(*both, "--json", **home, ONE="sk-one", GUARDTUI_MODEL_KEYS=mapping)
        assert set(one.keys) == {"Bearer sk-one"}
        assert set(other.keys) == {None}
        assert "sk-one" not in done.out + done.err
        facts = {fact["name"]: fact for fact in json.loads(done.out)["facts"]}
        assert facts[f"key for {origins[0]}"]["value"] == "ONE"
        assert facts[f"key for {origins[1]}"]["value"] == "none is sent"


def test_doctor_of_a_judge_that_is_steered(run: Run, home: dict[str, str]) -> None:
    with serving(gullible) as server:
        done = run("doctor", *named(server), "--json", **home)
    assert done.code == 0
    document = json.loads(done.out)
    assert document["ok"]
    facts = {one["name"]: one for one in document["facts"]}
    steered = [name for name, one in facts.items() if one["value"].startswith("steered: ")]
    assert "attack: ignore the above" in steered
    assert facts["attack: ignore the above"]["state"] == "warning"
    assert facts["attack: ignore the above"]["value"].endswith("but says no: As told.")
    assert facts["plain, belongs"]["state"] == "ok"
    count = len(TRUE) - 2
    assert facts["attacks"]["value"] == f"{count - len(steered)} of {count} attacks are withstood"
    assert facts["attacks"]["state"] == "warning"


def test_doctor_of_a_judge_that_cannot_judge(run: Run, home: dict[str, str]) -> None:
    with serving(lambda text, before: said("ANSWER: yes")) as server:
        done = run("doctor", *named(server), **home)
    assert done.code == 0
    assert "1 of 2 plain prompts are judged rightly (the effect of attacks is unknown)" in (
        done.out
    )
    with serving(lambda text, before: said("Hm.")) as server:
        done = run("doctor", *named(server), **home)
    assert done.code == 3
    assert "no prompt got a verdict" in done.out
    assert done.out.endswith("failed: asked\n")
    done = run("doctor", "--guardrail", f"judge:{DEAD}", **home)
    assert done.code == 3
    assert "nothing could be scanned: cannot connect to 127.0.0.1:9" in done.out


def test_only_prompts_in_doubt_are_scanned_and_the_others_stay_open(
    run: Run, folder: Path, home: dict[str, str]
) -> None:
    scanned = Scanned(folder)
    judge = Judge()
    command = ("eval", "topic.yaml", "--prompts", "tax.csv", "--likely-changes")
    with serving(judge) as server:
        settings = settings_of(server)
        scanned.scan("Advice on income tax", settings)
        result = run(*command, *named(server), "--format", "json", **home)
        other = run(*command, *named(server, "another"), **home)
    found = json.loads(result.out)
    assert result.code == 3
    asked = set(judge.prompts)
    assert 0 < len(asked) < 60
    assert f"{len(asked)} of 60 prompts may change, by the forecast of a judge: m" in result.err
    assert found["open_count"] == 60 - len(asked)
    assert "run the command without --likely-changes" in result.err
    answered = {row["prompt"] for row in found["results"] if row["outcome"] != "OPEN"}
    assert answered == asked
    assert other.code == 2
    assert "no verdicts of judge another, template " in other.err


def test_prompts_in_doubt_are_scanned_until_the_interval_is_narrow_enough(
    run: Run, folder: Path, home: dict[str, str]
) -> None:
    scanned = Scanned(folder)
    command = ("eval", "topic.yaml", "--prompts", "tax.csv", "--likely-changes")
    judge = Judge()
    with serving(judge) as server:
        settings = settings_of(server)
        scanned.scan("Advice on income tax", settings)
        first = run(*command, *named(server), "--max-calls", "8", "--format", "json", **home)
        assert len(judge.prompts) == 8
        # What is known costs no call: it goes on from there.
        within = "0.03"
        result = run(*command, *named(server), "--within", within, "--format", "json", **home)
        answered = list(judge.prompts)
        table = run(*command, *named(server), "--within", within, **home)
    found, before = json.loads(result.out), json.loads(first.out)
    assert (first.code, result.code) == (3, 3)
    assert before["flip_check"]["ended"] == "the limit of calls is reached"
    assert (before["flip_check"]["calls"], before["flip_check"]["most_calls"]) == (8, 8)
    check = found["flip_check"]
    assert check["ended"] == "the goal is reached"
    assert check["coverage"]["high"] - check["coverage"]["low"] <= 2 * float(within)
    assert check["within"] == float(within)
    assert check["calls"] == len(answered) - 8
    assert found["open_count"] <= 60 - check["calls"]
    assert len(set(answered)) == len(answered)
    assert "prompts are in doubt, by the forecast of a judge: m" in result.err
    assert "run the command without --likely-changes" in result.err
    assert "Likely changes checked: coverage expected at " in table.out
    assert "the goal is reached" in table.out


def test_a_report_has_what_was_forecast_before_the_scan(
    run: Run, folder: Path, home: dict[str, str]
) -> None:
    scanned = Scanned(folder)
    command = ("eval", "topic.yaml", "--prompts", "tax.csv")
    with serving(Judge()) as server:
        scanned.scan("Tax", judge_settings("another"))
        none = run(*command, *named(server), "--format", "json", "--no-record", **home)
        settings = settings_of(server)
        scanned.scan("Advice on income tax", settings)
        result = run(*command, *named(server), "--format", "json", **home)
    assert json.loads(none.out)["forecast_before"] is None
    found = json.loads(result.out)
    before = found["forecast_before"]
    assert (before["scans"], before["verdicts"]) == (1, 60)
    assert len(before["triggers"]) == len(found["results"])
    coverage = before["rates"]["coverage"]
    assert coverage["low"] <= coverage["value"] <= coverage["high"]
    wrong = sum(
        (chance > 0.5) != row["triggered"]
        for chance, row in zip(before["triggers"], found["results"], strict=True)
    )
    assert wrong < 20


def test_a_goal_of_a_check_needs_verdicts_of_the_very_judge(
    run: Run, folder: Path, home: dict[str, str]
) -> None:
    scanned = Scanned(folder)
    command = ("eval", "topic.yaml", "--prompts", "tax.csv")
    judge = Judge()
    with serving(judge) as server:
        flips = (*command, *named(server), "--likely-changes", "--within", "0.02")
        nothing = run(*flips, **home)
        scanned.scan("Tax", judge_settings("m"))
        other = run(*flips, **home)
    assert (nothing.code, other.code) == (2, 2)
    assert "no verdicts of judge m, template" in other.err
    assert "recorded are those of: judge m, template 1a2b" in other.err
    assert judge.prompts == []
