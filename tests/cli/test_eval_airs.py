"""`guardtui eval` with AIRS, against the sandbox on a socket."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guardtui.app.guardrails.named import FILE
from guardtui.files.topic_files import load_topic
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.lifecycle import apply
from guardtui.scanners.airs.management import ManagementClient
from guardtui.session.report_reader import recorded_topics
from guardtui.session.session import Iteration
from guardtui.session.session_file import session_file
from guardtui.session.store import SessionStore
from tests.guardrails import airs_settings
from tests.sessions import Scanned

from .conftest import NEGATIVE, POSITIVE, Result, Run, full_disk

pytest.importorskip("aiohttp")

from .sandbox_server import account_variables, request, sandbox_server, scan_variables

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

LOCAL = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")
AIRS = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--guardrail", "airs")
NAMED = (*AIRS[:-1], "airs:sandbox")
COUNT = len(POSITIVE) + len(NEGATIVE)
KEY = "sandbox-key"


class Cloud:
    """A sandbox, the variables of a client that has a cache of its own, and its counts."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        own = {"GUARDTUI_CACHE": str(folder / "cache"), "HOME": str(folder)}
        self.scans, self.all = scan_variables(url) | own, account_variables(url) | own

    def apply(self, topic: str = "topic.yaml") -> None:
        settings = AirsSettings.load({}, self.all, Path("/nonexistent/config.json"))

        async def applied() -> None:
            async with ManagementClient(settings.management()) as client:
                await apply(client, load_topic(self.folder / topic).topic, "sandbox")

        asyncio.run(applied())

    def reword(self, description: str) -> None:
        """Give the topic a new text that the profile does not have."""
        settings = AirsSettings.load({}, self.all, Path("/nonexistent/config.json"))

        async def reworded() -> None:
            async with ManagementClient(settings.management()) as client:
                topic = await client.topic("Tax advice")
                assert topic is not None
                await client.update_topic(
                    topic.topic_id, topic.topic_name, description, topic.examples, active=True
                )

        asyncio.run(reworded())

    def faults(self, **settings: Any) -> None:
        assert self.ask("faults", settings)[0] == 200

    @property
    def prompts(self) -> Any:
        return self.ask("stats")[1]["prompts"]

    def ask(self, name: str, body: Any = None) -> tuple[int, Any]:
        """Ask a control endpoint of the sandbox."""
        return request(f"{self.url}/_sandbox/{name}", body)


@pytest.fixture
def cloud(folder: Path) -> Iterator[Cloud]:
    with sandbox_server() as url:
        yield Cloud(url, folder)


def silent_on_secrets(result: Result) -> None:
    assert KEY not in result.out + result.err


def test_the_report_is_that_of_the_local_scanner(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    local = json.loads(run(*LOCAL, "--format", "json").out)
    done = run(
        *NAMED, "--format", "json", "--set", "concurrency=3", "--set", "rate=200", **cloud.all
    )
    message = f"{COUNT} calls for {COUNT} prompts, about a second at 200 a second\n"
    assert (done.code, done.err) == (0, f"{message}recorded as #0 (keep)\n")
    silent_on_secrets(done)
    document = json.loads(done.out)
    same = ("metrics", "rates", "error_count", "by_category")
    assert {name: document[name] for name in same} == {name: local[name] for name in same}
    for name in ("false_positives", "false_negatives"):
        prompts = [one["prompt"] for one in document[name]]
        assert prompts == [one["prompt"] for one in local[name]]
    assert (document["profile"], document["threshold"]) == ("sandbox", None)
    revision = document["guardrail"].pop("revision")
    assert document["guardrail"] == {"kind": "airs", "profile": "sandbox", "sandbox": True}
    assert re.fullmatch(r"\d+ \([0-9a-f-]{36}\)", revision)


def test_prompts_with_a_verdict_in_a_log_are_not_asked_again(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    rows = [{"prompt": text, "triggered": True} for text in (*POSITIVE, "more on tax")]
    (cloud.folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    on = ("--prompts", "prompts.csv", "--guardrail", "airs:sandbox")
    added = run("inbox", "add", "topic.yaml", "log.jsonl", *on, **cloud.all)
    assert f"recorded as #0, from the log: {len(POSITIVE)} of {COUNT} prompts" in added.err
    done = run(*NAMED, "--format", "csv", **cloud.all)
    assert (done.code, cloud.prompts["asked"]["total"]) == (0, len(NEGATIVE))
    assert f"{len(POSITIVE)} verdicts of production, from a log, are used" in done.err
    assert f"{len(NEGATIVE)} calls for {len(NEGATIVE)} prompts" in done.err
    assert "recorded as #0 (keep)" in done.err
    exported = run("export", "topic.yaml", "--format", "table", **cloud.all)
    assert "some of the verdicts are from a log of production" in exported.out
    (recorded,) = iterations(cloud)
    assert (recorded.by.value, recorded.evaluation.metrics.missing) == ("log and scan", 0)
    run(*NAMED, "--fresh", **cloud.all)
    assert cloud.prompts["asked"]["total"] == COUNT + len(NEGATIVE)


def test_report_and_exit_code_stay_where_the_session_cannot_be_written(
    cloud: Cloud, run: Run
) -> None:
    cloud.apply()
    run(*NAMED, **cloud.all)
    sessions = session_file(cloud.folder / "topic.yaml")
    before = sessions.read_bytes()
    with full_disk():
        done = run(
            *NAMED,
            "--fresh",
            "--record",
            "--min-coverage",
            "0.9",
            "--require-significant",
            **cloud.all,
        )
    assert done.code == 4
    assert "Coverage is" in done.out
    (line,) = [line for line in done.err.splitlines() if "not recorded" in line]
    assert line.startswith("warning: not recorded: ")
    assert line.endswith("; check the disk, and free some space on it")
    assert sessions.read_bytes() == before


def test_more_than_five_requests_at_once_come_with_what_throttling_does(
    cloud: Cloud, run: Run
) -> None:
    cloud.apply()
    message = "6 concurrent requests: above 5 AIRS may throttle (429)"
    assert message in run(*NAMED, "--set", "concurrency=6", **cloud.all).err
    assert message not in run(*NAMED, "--set", "concurrency=6", **cloud.all).err  # all in the cache
    assert "throttle" not in run(*NAMED, "--set", "concurrency=5", "--fresh", **cloud.all).err


def test_a_second_run_sends_nothing_and_a_fresh_one_all(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    first = run(*NAMED, **cloud.all)
    assert (first.code, cloud.prompts["asked"]["total"]) == (0, COUNT)
    second = run(*AIRS, **cloud.all, PANW_AI_SEC_PROFILE_NAME="sandbox")
    assert (second.out, second.code) == (first.out, 0)
    assert second.err.splitlines() == [
        f"no calls: the verdicts on {COUNT} prompts are in the cache",
        "recorded already: #0 (keep)",
    ]
    assert cloud.prompts["asked"]["total"] == COUNT
    assert run(*NAMED, "--fresh", **cloud.all).out == first.out
    assert cloud.prompts["asked"]["total"] == 2 * COUNT


def test_an_incomplete_scan_says_how_to_resume(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    cloud.faults(faults=["topic-error=every:2"])
    done = run(*NAMED, "--format", "json", **cloud.all)
    assert done.code == 3
    missing = COUNT // 2
    assert f"\nerror: {missing} of {COUNT} prompts have no verdict; " in done.err
    assert "run the same command again to scan only the others" in done.err
    document = json.loads(done.out)
    assert document["error_count"] == len(document["errors"]) == missing
    assert all(one["error"] for one in document["errors"])
    assert document["metrics"]["total"] == COUNT - missing
    cloud.faults(faults=[])
    allowed = run(*NAMED, "--max-errors", "0", "--min-coverage", "0.1", **cloud.all)
    message = f"{missing} calls for {COUNT} prompts, {COUNT - missing} of them from the cache\n"
    assert (allowed.code, allowed.err.startswith(message)) == (0, True)
    assert cloud.prompts["asked"]["total"] == COUNT + missing


def test_errors_that_are_allowed(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    cloud.faults(faults=["topic-error=every:2"])
    allowed = run(*NAMED, "--max-errors", "5", **cloud.all)
    assert (allowed.code, "\nwarning: 5 of 10 prompts" in allowed.err) == (0, True)
    refused = run(*NAMED, "--max-errors", "0", "--fresh", **cloud.all)
    assert (refused.code, "gate failed: 5 prompts without" in refused.err) == (1, True)
    assert "run the same command again without --fresh" in refused.err


def rewrite(cloud: Cloud, old: str, new: str) -> None:
    path = cloud.folder / "topic.yaml"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def iterations(cloud: Cloud) -> list[Iteration]:
    return SessionStore(cloud.folder / "topic.yaml").iterations()


@pytest.mark.parametrize("more", [(), ("--record",), ("--fresh",), ("--likely-changes",)])
def test_a_profile_with_another_definition_is_not_scanned(
    cloud: Cloud, run: Run, more: tuple[str, ...]
) -> None:
    cloud.apply()
    rows = [f"{text} {n},{label},block" for n in range(3) for texts, label in
            ((POSITIVE, "true"), (NEGATIVE, "false")) for text in texts]  # fmt: skip
    (cloud.folder / "prompts.csv").write_text(
        "\n".join(["prompt,expected,intent", *rows, ""]), "utf-8"
    )
    assert run(*NAMED, **cloud.all).code == 0
    asked = cloud.prompts["asked"]["total"]
    rewrite(cloud, "personal income", "business")
    done = run(*NAMED, *more, **cloud.all)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(
        "error: profile sandbox has another definition: it has revision 1 of the topic; from there "
        "to the file: description −7 bytes\n"
        "  nothing was scanned\n"
        "  to deploy this one: guardtui topics apply topic.yaml --guardrail airs:sandbox\n"
        "  to measure that of the profile: guardtui topics get 'Tax advice' --guardrail "
        "airs:sandbox > deployed.yaml && guardtui eval deployed.yaml --prompts prompts.csv "
        "--guardrail airs:sandbox\n"
    )
    assert cloud.prompts["asked"]["total"] == asked
    assert len(iterations(cloud)) == 1


def test_the_definition_of_a_profile_is_measured_as_the_refusal_says(
    cloud: Cloud, run: Run
) -> None:
    cloud.apply()
    rewrite(cloud, "personal income", "business")
    get = run("topics", "get", "Tax advice", "--guardrail", "airs:sandbox", **cloud.all)
    (cloud.folder / "deployed.yaml").write_text(get.out, "utf-8")
    done = run("eval", "deployed.yaml", *NAMED[2:], **cloud.all)
    assert (done.code, "recorded as #0" in done.err) == (0, True)
    (recorded,) = SessionStore(cloud.folder / "deployed.yaml").iterations()
    assert "personal income" in recorded.evaluation.topic.description
    assert iterations(cloud) == []


def test_a_profile_without_the_topic_or_with_an_older_text_says_so(cloud: Cloud, run: Run) -> None:
    def refusal() -> str:
        done = run(*NAMED, **cloud.all)
        assert (done.code, done.out, cloud.prompts["asked"]["total"]) == (2, "", 0)
        assert "topics get" not in done.err  # there is no text of it that AIRS shows
        return done.err

    assert "another definition: the tenant does not have the topic" in refusal()
    assert run("topics", "create", "topic.yaml", "--guardrail", "airs:sandbox", **cloud.all)[0] == 0
    assert "another definition: it does not have the topic" in refusal()
    cloud.apply()
    assert run("topics", "list", "--guardrail", "airs:sandbox", **cloud.all).code == 0
    cloud.reword("Advice on business tax")
    rewrite(cloud, "Advice on filing personal income tax returns", "Advice on business tax")
    assert "it has revision 1 of the topic, whose text is another" in refusal()


def test_verdicts_of_an_unknown_text_are_recorded_only_on_request(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    sent = cloud.all | {"GUARDTUI_CACHE": str(cloud.folder / "another machine")}
    cloud.reword("Advice on business tax")
    doubt = (
        "whether the profile has this definition is unknown: it has revision 1 of the topic, whose "
        "text AIRS does not show"
    )
    done = run(*NAMED, "-o", "r.json", "-o", "r.md", "-o", "-", **sent)
    assert done.code == 0
    assert f"warning: profile sandbox: {doubt}\n" in done.err
    assert f"\nnot recorded: {doubt}\n  --record records it, if you know that it has\n" in done.err
    sentence = f"W{doubt[1:]}."
    assert sentence in " ".join(done.out.split())
    assert json.loads((cloud.folder / "r.json").read_text("utf-8"))["cautions"] == [sentence]
    assert sentence in (cloud.folder / "r.md").read_text("utf-8")
    assert iterations(cloud) == []
    vouched = run(*NAMED, "--record", **sent)
    assert (vouched.code, "recorded as #0" in vouched.err) == (0, True)
    assert len(iterations(cloud)) == 1


def test_without_a_service_account_verdicts_are_recorded_with_a_caution(
    cloud: Cloud, run: Run
) -> None:
    cloud.apply()
    # One prompt tells which revision judges.
    blind = run(*NAMED, **cloud.scans)
    assert blind.code == 0
    doubt = (
        "whether the profile has this definition is unknown: no service account is set, so it is "
        "not looked up"
    )
    assert blind.err == (
        f"warning: profile sandbox: {doubt}\n"
        f"up to {COUNT} calls for {COUNT} prompts: the first shows what is cached\n"
        "recorded as #0 (keep)\n"
    )
    assert f"W{doubt[1:]}." in " ".join(blind.out.split())
    asked = cloud.prompts["asked"]["total"]
    assert run(*NAMED, **cloud.scans).out == blind.out
    assert cloud.prompts["asked"]["total"] == asked + 1


@pytest.mark.process
@pytest.mark.parametrize(
    ("ending", "code", "recorded"), [("SIGKILL", -9, 0), ("SIGINT", 130, 1), ("SIGTERM", 143, 1)]
)
def test_ended_scan_loses_at_most_what_was_in_flight(
    cloud: Cloud, run: Run, environment: dict[str, str], ending: str, code: int, recorded: int
) -> None:
    cloud.apply()
    rows = [f"{prompt} {n},{str(n % 2 == 0).lower()},block" for n, prompt in
            ((n, POSITIVE[0] if n % 2 == 0 else NEGATIVE[0]) for n in range(60))]  # fmt: skip
    (cloud.folder / "prompts.csv").write_text(
        "\n".join(["prompt,expected,intent", *rows, ""]), "utf-8"
    )
    cloud.faults(faults=["timeout@sync=after:30"])  # and so it is under way when it is killed
    process = subprocess.Popen(
        [sys.executable, "-m", "guardtui", *NAMED, "--set", "concurrency=4"],
        cwd=cloud.folder,
        env={**environment, **cloud.all},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while cloud.prompts["delivered"]["total"] < 15:
        assert process.poll() is None
    process.send_signal(signal.Signals[ending])
    assert process.wait() == code
    assert cloud.prompts["delivered"]["total"] < 60
    assert len(recorded_topics(cloud.folder)) == recorded
    cloud.faults(faults=[])
    done = run(*NAMED, "--format", "json", **cloud.all)
    assert (done.code, json.loads(done.out)["metrics"]["total"]) == (0, 60)
    asked = cloud.prompts["asked"]
    assert asked["distinct"] == 60
    assert asked["duplicates"] <= 4
    (iteration,) = SessionStore(cloud.folder / NAMED[1]).iterations()
    assert (iteration.evaluation.metrics.total, iteration.completions) == (60, recorded)


@pytest.mark.parametrize(
    ("arguments", "missing", "said"),
    [
        (NAMED, "PANW_AI_SEC_API_KEY", "set PANW_AI_SEC_API_KEY"),
        (AIRS, "", "give --guardrail airs:NAME, or set PANW_AI_SEC_PROFILE_NAME"),
        (NAMED, "PANW_MGMT_TSG_ID", "set PANW_MGMT_TSG_ID"),
        ((*AIRS, "--guardrail", "airs:nonesuch"), "", "nonesuch"),
    ],
)
def test_missing_settings_are_named_before_any_request(
    cloud: Cloud, run: Run, arguments: tuple[str, ...], missing: str, said: str
) -> None:
    variables = {name: text for name, text in cloud.all.items() if name != missing}
    done = run(*arguments, **variables)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    silent_on_secrets(done)
    assert cloud.prompts["asked"]["total"] == 0


def test_a_definition_that_no_profile_can_have(cloud: Cloud, run: Run) -> None:
    path = cloud.folder / "topic.yaml"
    path.write_text(path.read_text("utf-8").replace("Advice on", "Advice " * 50), "utf-8")
    done = run(*NAMED, **cloud.all)
    assert (done.code, done.out) == (2, "")
    assert "AIRS would reject this definition" in done.err


def test_a_key_that_is_refused(cloud: Cloud, run: Run) -> None:
    done = run(*NAMED, **(cloud.scans | {"PANW_AI_SEC_API_KEY": "a-wrong-key"}))
    assert (done.code, done.out) == (3, "")
    assert "nothing could be scanned" in done.err
    assert "a-wrong-key" not in done.err


def test_nothing_of_prompts_or_keys_is_in_the_cache(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    assert run(*NAMED, **cloud.all).code == 0
    files = list((cloud.folder / "cache").glob("verdicts-*"))
    assert files
    content = b"".join(path.read_bytes() for path in files)
    assert KEY.encode() not in content
    assert not [one for one in (*POSITIVE, *NEGATIVE) if one.encode() in content]


def test_verdicts_outlive_a_pin(cloud: Cloud, run: Run) -> None:
    """The same definition pinned again judges the same: nothing is paid for twice."""
    cloud.apply()
    assert run(*NAMED, **cloud.all).code == 0
    path = cloud.folder / "topic.yaml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("personal income", "business"), "utf-8")
    cloud.apply()
    path.write_text(text, "utf-8")
    cloud.apply()
    again = run(*NAMED, "--no-record", **cloud.all)
    assert again.err == f"no calls: the verdicts on {COUNT} prompts are in the cache\n"
    assert cloud.prompts["asked"]["total"] == COUNT


def test_batches_give_the_same_report(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    cloud.faults(pending="0")
    batched = run(*NAMED, "--set", "batch=true", "--no-record", **cloud.all)
    assert (batched.code, batched.err) == (0, f"1 batch of up to 20 for {COUNT} prompts\n")
    stats = cloud.ask("stats")[1]
    assert run(*NAMED, "--fresh", **cloud.all).out == batched.out
    assert "async" in json.dumps(stats)


def test_zero_retries_send_each_request_once(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    cloud.faults(faults=["500=first:1"])
    done = run(*NAMED, "--set", "retries=0", **cloud.all)
    assert (done.code, f"1 of {COUNT} prompts have no verdict" in done.err) == (3, True)
    assert cloud.prompts["asked"]["total"] == COUNT - 1  # one was refused before it counted


def test_an_empty_variable_has_a_warning(cloud: Cloud, run: Run) -> None:
    variables = cloud.all | {"PANW_AI_SEC_API_ENDPOINT": ""}
    done = run(*NAMED, "--set", f"scan-endpoint={cloud.url}", **variables)
    assert "is set but empty" not in done.err  # it was not needed
    missing = {name: text for name, text in variables.items() if "KEY" not in name}
    done = run(*NAMED, **missing)
    assert done.code == 2
    assert "warning: PANW_AI_SEC_API_ENDPOINT is set but empty" in done.err
    assert "the address in use is https://service.api.aisecurity" in done.err


def test_a_profile_with_several_places_is_scanned_all_the_same(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    settings = AirsSettings.load({}, cloud.all, Path("/nonexistent/config.json"))

    async def doubled() -> None:
        async with ManagementClient(settings.management()) as client:
            row = await client.profile("sandbox")
            assert row is not None
            entries = row.policy["ai-security-profiles"]
            await client.update_profile(
                row, {**row.policy, "ai-security-profiles": [*entries, *entries]}
            )

    asyncio.run(doubled())
    done = run(*NAMED, **cloud.all)
    assert done.code == 0
    assert "choose one of entry 1; entry 2" in done.err
    assert "\nnot recorded: whether the profile has this definition is unknown" in done.err
    assert f"{COUNT} calls for {COUNT} prompts" in done.err


def test_the_flips_are_forecast_for_exactly_this_profile(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    scanned = Scanned(folder)
    for profile, revision in (("prod", "2"), ("prod", "3"), ("preprod", "9")):
        scanned.scan("Tax", airs_settings(profile, revision, sandbox=True))
    command = ("eval", "topic.yaml", "--prompts", "tax.csv", "--likely-changes")
    nobody = {"PANW_AI_SEC_API_KEY": KEY, "PANW_AI_SEC_API_ENDPOINT": "http://127.0.0.1:9"}
    home = {**nobody, "HOME": str(tmp_path), "GUARDTUI_CACHE": str(tmp_path)}
    result = run(*command, "--guardrail", "airs:prod", **home)
    forecast = "by the forecast of AIRS on this machine, profile prod, revision 3; the others"
    assert forecast in result.err
    (folder / FILE).write_text("ours: {kind: airs, profile: prod}\n", "utf-8")
    assert forecast in run(*command, "--guardrail", "ours", **home).err
    other = run(*command, "--guardrail", "airs:pro", **home)
    assert other.code == 2
    assert "no verdicts of AIRS on this machine, profile pro are recorded" in other.err
