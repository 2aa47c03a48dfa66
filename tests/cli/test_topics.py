"""`guardtui topics` against the sandbox: what is shown, asked, done, taken back, and refused."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from guardtui.files.topic_files import load_topic
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.management import ManagementClient
from tests.http.waits import soon

from .conftest import TOPIC, Result, Run
from .terminal import Terminal
from .test_eval_airs import Cloud, cloud

__all__ = ["cloud", "soon"]

pytest.importorskip("aiohttp")
pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="POSIX signals"),
    pytest.mark.usefixtures("soon"),
]

NAME = "Tax advice"
ON = ("--guardrail", "airs:sandbox")
APPLY = ("topics", "apply", "topic.yaml", *ON, "--yes")
REVERT = ("topics", "revert", "topic.yaml", *ON, "--yes")

Topics = Callable[..., Result]


@pytest.fixture
def airs(cloud: Cloud, run: Run) -> Topics:
    def run_(*arguments: str, **extra: str) -> Result:
        done = run(*arguments, **(cloud.all | extra))
        assert "sandbox-key" not in done.out + done.err
        return done

    return run_


def managed(cloud: Cloud, work: Callable[[ManagementClient], Any]) -> Any:
    settings = AirsSettings.load({}, cloud.all, Path("/nonexistent/config.json"))

    async def working() -> Any:
        async with ManagementClient(settings.management()) as client:
            return await work(client)

    return asyncio.run(working())


def policy(cloud: Cloud, profile: str = "sandbox") -> Any:
    return managed(cloud, lambda client: client.profile(profile)).policy


def topics(cloud: Cloud) -> Any:
    return managed(cloud, lambda client: client.topics())


def rewrite(cloud: Cloud, old: str, new: str) -> None:
    path = cloud.folder / "topic.yaml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_apply_list_and_revert_in_one_session(cloud: Cloud, airs: Topics) -> None:
    before = policy(cloud)
    first = airs(*APPLY)
    assert (first.code, first.out) == (0, "")
    assert first.err.splitlines() == [
        "profile sandbox at 127.0.0.1, revision 1:",
        "  topic Tax advice is created",
        "  a topic guardrail is added (entry 1), default allow",
        "  topic Tax advice is added to the block list, revision 1",
        "applied: revision 2 of the profile",
        "in effect: scans use it (at once)",
    ]
    (topic,) = topics(cloud)
    assert airs("topics", "list").out == f"{NAME}\t1\t{topic.topic_id}\n"
    listed = airs("topics", "list", *ON)
    assert listed.out == f"{NAME}\t1\t{topic.topic_id}\tblock, revision 1\n"
    middle = policy(cloud)
    for word in ("business", "corporate"):
        path = cloud.folder / "topic.yaml"
        path.write_text(TOPIC.replace("personal income", word), "utf-8")
        assert airs(*APPLY).code == 0
    assert [one.revision for one in topics(cloud)] == [3]
    last = airs(*REVERT)
    assert last.code == 0
    assert "  topic Tax advice gets its previous text: revision 3 → 4" in last.err
    assert topics(cloud)[0].description == "Advice on filing business tax returns"
    assert airs(*REVERT).code == 0
    assert topics(cloud)[0].description == "Advice on filing personal income tax returns"
    assert policy(cloud) == middle
    out = airs(*REVERT)
    assert "in effect: scans use it" in out.err
    assert policy(cloud) == before
    nothing = airs(*REVERT)
    assert nothing.code == 2
    assert "no applied change of it in profile sandbox" in nothing.err


@pytest.mark.parametrize("profile", ["sandbox", "sandbox-directional"])
def test_back_to_before_the_first(cloud: Cloud, airs: Topics, profile: str) -> None:
    before = policy(cloud, profile)
    on = ("topic.yaml", "--guardrail", f"airs:{profile}")
    back = ("topics", "revert", *on, "--all")
    assert airs("topics", "apply", *on, "-y").code == 0
    rewrites = ("personal income", "business"), ("intent: block", "intent: allow"), (NAME, "Other")
    for old, new in rewrites:
        rewrite(cloud, old, new)
        assert airs("topics", "apply", *on, "-y", "--no-wait").code == 0
    shown = airs(*back, "--dry-run")
    assert (shown.code, shown.err.count("\nprofile sandbox") + 1) == (0, 2)
    done = airs(*back, "--yes")
    assert done.code == 0
    assert "changed since" not in done.err
    assert policy(cloud, profile) == before
    assert {topic.topic_name for topic in topics(cloud)} == {NAME, "Other"}
    assert airs(*back, "--yes").code == 2


def test_after_a_revert_the_verdicts_of_the_old_text_count(cloud: Cloud, airs: Topics) -> None:
    path = cloud.folder / "topic.yaml"
    ask = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--guardrail", "airs", *ON)
    assert airs(*APPLY, "--no-wait").code == 0
    first = airs(*ask)
    path.write_text(TOPIC.replace("personal income", "business"), "utf-8")
    assert airs(*APPLY, "--no-wait").code == 0
    assert airs(*REVERT, "--no-wait").code == 0
    path.write_text(TOPIC, "utf-8")
    (topic,) = topics(cloud)
    assert topic.revision == 3  # the profile pins revision 1, whose text is the same
    asked = cloud.prompts["asked"]["total"]
    again = airs(*ask)
    assert (again.code, again.out.partition("\n\n")[2]) == (0, first.out.partition("\n\n")[2])
    assert again.err.startswith("no calls: the verdicts on 10 prompts are in the cache\n")
    assert cloud.prompts["asked"]["total"] == asked
    doctor = airs("doctor", *ON, "--json")
    (fact,) = [one for one in json.loads(doctor.out)["facts"] if one["name"] == "topic"]
    assert (fact["state"], fact["remedy"]) == ("ok", "")
    assert fact["value"] == (
        "Tax advice: block, revision 1 (entry 1): the text of the newest, revision 3"
    )
    assert "the same text as the newest, revision 3" in airs("topics", "get", NAME, *ON).err
    applied = airs(*APPLY, "--dry-run")
    assert "  has this definition already\n" in applied.err
    # On a machine that never saw revision 1, nothing is claimed about its text.
    other = airs(*ask, GUARDTUI_CACHE=str(cloud.folder / "elsewhere"))
    assert "has another definition" not in other.err
    assert "whether the profile has this definition is unknown: it has revision 1" in other.err


def test_get_is_a_topic_file(cloud: Cloud, airs: Topics) -> None:
    assert airs(*APPLY).code == 0
    path = cloud.folder / "got.yaml"
    got = airs("topics", "get", NAME, *ON)
    path.write_text(got.out, "utf-8")
    assert load_topic(path).topic == load_topic(cloud.folder / "topic.yaml").topic
    assert got.err == "profile sandbox (revision 2): block, pinned at revision 1 (entry 1)\n"
    # What it would change is nothing.
    again = airs("topics", "apply", "got.yaml", *ON, "--dry-run")
    assert "has this definition already" in again.err
    # Without a profile nobody knows the intent.
    bare = airs("topics", "get", topics(cloud)[0].topic_id)
    assert bare.out == got.out.removesuffix("intent: block\n")
    assert "no intent is written" in bare.err
    path.write_text(bare.out, "utf-8")
    assert not load_topic(path).intent_given
    refused = airs("topics", "apply", "got.yaml", *ON, "--yes")
    assert (refused.code, "got.yaml: the intent is missing" in refused.err) == (2, True)
    raw = json.loads(airs("topics", "get", NAME, "--json").out)
    assert (raw["topic_name"], raw["revision"]) == (NAME, 1)
    assert raw["created_by"]


def test_list_as_json_tells_pins(cloud: Cloud, airs: Topics) -> None:
    assert airs(*APPLY).code == 0
    (cloud.folder / "more.yaml").write_text(TOPIC.replace(NAME, "More"), "utf-8")
    made = airs("topics", "create", "more.yaml")
    assert made.code == 0
    document = json.loads(airs("topics", "list", *ON, "--json").out)
    assert document["schema_version"] == 1
    assert document["profile"]["revision"] == 2
    assert [one["name"] for one in document["topics"]] == ["More", NAME]
    assert document["topics"][0]["id"] == made.out.strip()
    assert [one["pins"] for one in document["topics"]] == [
        [],
        [{"place": "entry 1", "action": "block", "revision": 1}],
    ]


def test_all_pages_are_listed_and_names_are_inert(cloud: Cloud, airs: Topics) -> None:
    async def many(client: ManagementClient) -> None:
        for number in range(103):
            await client.create_topic(f"T{number:03}", "d", ("a", "b"))
        await client.create_topic("x\x1b]52;c;AAAA\x07\ty\u202e[/red]", "d", ("a", "b"))

    managed(cloud, many)
    done = airs("topics", "list")
    assert done.code == 0
    lines = done.out.splitlines()
    assert len(lines) == 104
    assert all(line.count("\t") == 2 for line in lines)
    assert not set(done.out) & set("\x1b\x07\u202e")


def test_an_existing_topic_is_not_created_again(airs: Topics, cloud: Cloud) -> None:
    assert airs("topics", "create", "topic.yaml").code == 0
    again = airs("topics", "create", "topic.yaml")
    assert (again.code, again.out) == (2, "")
    assert "topic 'Tax advice' already exists, at revision 1" in again.err
    assert len(topics(cloud)) == 1


def test_a_dry_run_and_a_refusal_to_guess_change_nothing(cloud: Cloud, airs: Topics) -> None:
    before = policy(cloud)
    shown = airs("topics", "apply", "topic.yaml", *ON, "--dry-run")
    assert (shown.code, "topic Tax advice is created" in shown.err) == (0, True)
    refused = airs("topics", "apply", "topic.yaml", *ON)
    assert refused.code == 2
    assert "Apply? There is no terminal to ask" in refused.err
    assert "--yes" in refused.err
    assert (policy(cloud), topics(cloud)) == (before, [])
    assert not (cloud.folder / ".guardtui").exists()


def test_topic_that_a_rename_leaves_in_the_profile_is_named_with_what_takes_it_out(
    cloud: Cloud, airs: Topics
) -> None:
    brief = ("eval", "topic.yaml", "--prompts", "prompts.csv", *ON, "--format", "brief")
    assert airs(*APPLY, "--no-wait").code == 0
    assert json.loads(airs(*brief).out)["cautions"] == []
    rewrite(cloud, NAME, "Taxes")
    told = f"topic '{NAME}', renamed in this file, is still in the profile and stops prompts too"
    line = "guardtui topics revert topic.yaml --guardrail airs:sandbox --all"
    renamed = airs(*APPLY, "--no-wait")
    assert renamed.err.count(f"warning: {told}; '{line}' takes it out, then apply again") == 1
    measured = airs(*brief)
    assert f"warning: profile sandbox: {told}" in measured.err
    report = json.loads(measured.out)
    assert report["cautions"] == [f"T{told[1:]}; '{line}' takes it out, then apply again."]
    assert report["next_command"] == f"{line} --yes"
    assert airs(*shlex.split(report["next_command"])[1:], "--no-wait").code == 0
    assert airs(*APPLY, "--no-wait").code == 0
    assert json.loads(airs(*brief).out)["cautions"] == []


def test_renamed_topic_that_no_revert_takes_out_is_deleted(cloud: Cloud, airs: Topics) -> None:
    path = cloud.folder / "other.yaml"
    path.write_text((cloud.folder / "topic.yaml").read_text("utf-8"), "utf-8")
    assert airs("topics", "apply", "other.yaml", *ON, "--yes", "--no-wait").code == 0
    rewrite(cloud, "personal income", "business")
    assert airs(*APPLY, "--no-wait").code == 0
    rewrite(cloud, NAME, "Taxes")
    renamed = airs(*APPLY, "--no-wait")
    delete = f"guardtui topics delete '{NAME}' --force --updated-by EMAIL"
    assert delete in renamed.err
    words = shlex.split(delete.replace("EMAIL", "a@example.com"))
    assert airs(*words[1:], "--yes").code == 0
    assert NAME not in airs(*APPLY, "--no-wait").err


def test_several_places_are_chosen_from(cloud: Cloud, airs: Topics) -> None:
    async def doubled(client: ManagementClient) -> None:
        row = await client.profile("sandbox-directional")
        assert row is not None
        entries = row.policy["ai-security-profiles"]
        policy_ = {**row.policy, "ai-security-profiles": [*entries, *entries]}
        await client.update_profile(row, policy_)

    managed(cloud, doubled)
    on = ("--guardrail", "airs:sandbox-directional", "--yes")
    refused = airs("topics", "apply", "topic.yaml", *on)
    assert refused.code == 2
    assert "choose one of entry 1, prompt; entry 2, prompt" in refused.err
    for place in ("entry 3, prompt", "entry 1"):
        wrong = airs("topics", "apply", "topic.yaml", *on, "--place", place)
        assert (wrong.code, "existing: entry 1, prompt; " in wrong.err) == (2, True)
    odd = airs("topics", "apply", "topic.yaml", *on, "--place", "everywhere!")
    assert (odd.code, "write 'entry 1, prompt'" in odd.err) == (2, True)
    assert topics(cloud) == []
    done = airs("topics", "apply", "topic.yaml", *on, "--place", "entry 2, prompt")
    assert (done.code, "(entry 2, prompt)" in done.err) == (0, True)


def test_the_wait_tells_when_it_is_in_effect_and_when_not(cloud: Cloud, airs: Topics) -> None:
    cloud.faults(propagation="1h")
    late = airs(*APPLY, "--wait-limit", "0")
    assert late.code == 3
    assert "it is in the profile, but scans do not use it after 0 s: an older revision" in late.err
    assert "the same command waits on" in late.err
    assert cloud.ask("clock", {"advance": "2h"})[0] == 200
    done = airs(*APPLY, "--wait-limit", "0")
    assert (done.code, "has this definition already" in done.err) == (0, True)
    assert "in effect: scans use it" in done.err
    assert airs(*REVERT, "--no-wait").code == 0


def test_a_partly_failed_apply_can_be_reverted(cloud: Cloud, airs: Topics) -> None:
    assert airs(*APPLY).code == 0
    before = policy(cloud)
    rewrite(cloud, "personal income", "business")
    cloud.faults(faults=["400@profile-update=after:0"])
    failed = airs(*APPLY)
    assert failed.code == 3
    assert "the topic has revision 2, but the profile does not use it" in failed.err
    assert "'guardtui topics revert topic.yaml --guardrail airs:sandbox' takes back" in failed.err
    cloud.faults(faults=[])
    back = airs(*REVERT)
    assert (back.code, "warning" in back.err) == (0, False)
    assert topics(cloud)[0].description == "Advice on filing personal income tax returns"
    assert policy(cloud) == before
    assert airs(*REVERT).code == 0  # the first apply is still remembered
    cloud.faults(faults=["500@profile-update=after:0"])
    assert airs(*APPLY).code == 3
    cloud.faults(faults=["500@topics=after:0"])
    cut = airs(*REVERT)
    assert cut.code == 3
    assert "Traceback" not in cut.err


def test_a_rejected_apply_writes_no_undo_journal(cloud: Cloud, airs: Topics) -> None:
    cloud.faults(faults=["400@topic-create=after:0"])
    assert airs(*APPLY).code == 3
    cloud.faults(faults=[])
    assert "no applied change of it" in airs(*REVERT).err


def test_delete_is_refused_while_a_profile_names_it(cloud: Cloud, airs: Topics) -> None:
    assert airs(*APPLY).code == 0
    refused = airs("topics", "delete", NAME, "--yes")
    assert refused.code == 2
    assert "profiles name it\n  sandbox: revision 2 (in effect)\n" in refused.err
    assert airs("topics", "delete", NAME, "--force", "--yes").code == 2
    for address in ("me", "a b@c", "@x", "x@"):
        assert airs("topics", "delete", NAME, "--force", "--updated-by", address, "-y").code == 2
    force = ("topics", "delete", NAME, "--force", "--updated-by", "me@example.com")
    shown = airs(*force, "--dry-run")
    assert (shown.code, "it is taken out of these profiles" in shown.err) == (0, True)
    assert airs(*force).code == 2  # nobody can be asked
    assert len(topics(cloud)) == 1
    cloud.faults(faults=["404@topic-force=after:0"])  # the older path is tried as well
    assert airs(*force, "--yes").code == 0
    assert topics(cloud) == []
    gone = airs("topics", "list", *ON)
    assert gone.out == ""
    assert "no topic" in airs("topics", "delete", NAME, "--yes").err


def test_an_unused_topic_is_deleted(cloud: Cloud, airs: Topics) -> None:
    made = airs("topics", "create", "topic.yaml").out.strip()
    done = airs("topics", "delete", made.upper(), "--yes")
    assert (done.code, topics(cloud)) == (0, [])


@pytest.mark.parametrize(
    ("arguments", "variables", "code", "said"),
    [
        (("list",), {"PANW_MGMT_CLIENT_SECRET": "wrong"}, 3, "account was rejected"),
        (("list",), {"PANW_MGMT_CLIENT_ID": ""}, 2, "set PANW_MGMT_CLIENT_ID"),
        (("list",), {"PANW_MGMT_ENDPOINT": "http://127.0.0.1:1/aisec"}, 3, "127.0.0.1:1"),
        (("list", "--guardrail", "airs:nope"), {}, 2, "named 'nope'; existing: sandbox"),
        (("get", "Tax"), {}, 2, "there is no topic 'Tax'; the tenant has no topics"),
        (("create", "gone.yaml"), {}, 2, "gone.yaml: no such file"),
        (("apply", "gone.yaml", *ON), {}, 2, "gone.yaml: no such file"),
        (("apply", "topic.yaml"), {}, 2, "give --guardrail airs:NAME"),
        (("apply", "topic.yaml", *ON), {"PANW_AI_SEC_API_KEY": ""}, 2, "set PANW_AI_SEC_API_KEY"),
        (("apply", "topic.yaml", *ON, "--set", "region=eu"), {}, 2, "region: 'eu' is not valid"),
        (("apply", "topic.yaml", *ON, "--wait-limit", "nan"), {}, 2, "--wait-limit"),
        (("apply", "topic.yaml", "--guardrail", "airs:x\x1b[31m"), {}, 2, "no profile is named"),
        (("revert", "topic.yaml", *ON), {}, 2, "no applied change of it"),
        (("list",), {"PANW_MGMT_TOKEN_ENDPOINT": ""}, 3, "TOKEN_ENDPOINT is set but empty"),
    ],
)  # fmt: skip
def test_unsupported_requests_are_reported(
    cloud: Cloud,
    airs: Topics,
    arguments: tuple[str, ...],
    variables: dict[str, str],
    code: int,
    said: str,
) -> None:
    done = airs("topics", *arguments, **variables)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "\x1b" not in done.err
    assert not (cloud.folder / ".guardtui").exists()


def test_a_wrong_key_is_reported_after_the_apply(cloud: Cloud, airs: Topics) -> None:
    done = airs(*APPLY, PANW_AI_SEC_API_KEY="a-wrong-key")
    assert done.code == 3
    assert "it is in the profile, but whether scans know it was not learned" in done.err
    assert "Invalid API Key" in done.err
    assert "a-wrong-key" not in done.err
    assert airs(*REVERT, "--no-wait").code == 0


def test_an_invalid_definition_is_reported_before_any_request(cloud: Cloud, airs: Topics) -> None:
    rewrite(cloud, "Advice on", "Advice " * 50)
    for command in ("create", "apply"):
        done = airs("topics", command, "topic.yaml", *(ON if command == "apply" else ()))
        assert (done.code, "AIRS would reject this definition" in done.err) == (2, True)


Begin = Callable[..., Terminal]


@pytest.fixture
def begin(cloud: Cloud, environment: dict[str, str]) -> Iterator[Begin]:
    begun: list[Terminal] = []

    def begin_(*arguments: str) -> Terminal:
        begun.append(
            Terminal(cloud.folder, environment | cloud.all | {"NO_COLOR": "1"}, *arguments)
        )
        return begun[-1]

    yield begin_
    for one in begun:
        one.close()


@pytest.mark.process
def test_the_author_is_asked_at_a_terminal(cloud: Cloud, begin: Begin) -> None:
    for answer, code in (("\n", 130), ("n\n", 130), ("\x04", 130), ("y\n", 0)):
        terminal = begin("topics", "apply", "topic.yaml", *ON)
        terminal.expect("topic Tax advice is created")
        terminal.expect("Apply? [y/N]")
        terminal.type(answer)
        terminal.expect("nothing was changed" if code else "in effect")
        assert terminal.process.wait(120) == code
    assert len(topics(cloud)) == 1


@pytest.mark.process
def test_an_interrupt_says_what_was_done(cloud: Cloud, begin: Begin, airs: Topics) -> None:
    cloud.faults(propagation="1h")
    terminal = begin(*APPLY)
    terminal.expect("waiting for scans")
    terminal.process.send_signal(signal.SIGINT)
    terminal.expect("applied; interrupted while waiting for the change to take effect")
    assert terminal.process.wait(120) == 130
    rewrite(cloud, "personal income", "business")
    cloud.faults(propagation="0", faults=["timeout@profile-update=after:0"])
    terminal = begin(*APPLY)
    terminal.expect("topic Tax advice gets a new text")
    while topics(cloud)[0].revision < 2:
        assert terminal.process.poll() is None
    terminal.process.send_signal(signal.SIGINT)
    terminal.expect("interrupted while applying: the topic or the profile may be changed")
    terminal.expect("guardtui topics revert topic.yaml --guardrail airs:sandbox")
    assert terminal.process.wait(120) == 130
    cloud.faults(faults=[])
    assert airs(*REVERT, "--no-wait").code == 0
    assert topics(cloud)[0].description == "Advice on filing personal income tax returns"


@pytest.mark.process
def test_kill_9_in_the_middle_can_be_taken_back(cloud: Cloud, begin: Begin, airs: Topics) -> None:
    assert airs(*APPLY).code == 0
    before = policy(cloud)
    rewrite(cloud, "personal income", "business")
    cloud.faults(faults=["timeout@profile-update=after:0"])
    terminal = begin(*APPLY)
    while topics(cloud)[0].revision < 2:
        assert terminal.process.poll() is None
    terminal.process.kill()
    assert terminal.process.wait(120) == -signal.SIGKILL
    cloud.faults(faults=[])
    assert airs(*REVERT).code == 0
    assert topics(cloud)[0].description == "Advice on filing personal income tax returns"
    assert policy(cloud) == before


@pytest.mark.process
def test_a_terminal_gets_a_table(cloud: Cloud, begin: Begin, airs: Topics) -> None:
    assert airs(*APPLY).code == 0
    terminal = begin("topics", "list", *ON)
    terminal.expect("name        revision  id")
    terminal.expect("in the profile")
    terminal.expect("block, revision 1")
