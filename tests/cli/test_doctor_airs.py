"""`guardtui doctor` of AIRS and `guardtui config show`: what is told, and what never is."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from guardtui.app.guardrails.check import refusal
from guardtui.cli.doctor import airs as doctor_airs
from guardtui.http.address import Endpoint
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.scanners.airs import credentials, probe
from guardtui.scanners.airs.connectivity import contact
from guardtui.scanners.airs.management import ManagementClient
from tests.http.times import JumpClock

from .conftest import Result, Run
from .test_eval_airs import KEY, Cloud, cloud

__all__ = ["cloud"]

pytest.importorskip("aiohttp")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

AIRS = ("doctor", "--json", "--guardrail", "airs:sandbox")
SECRET = "a-secret-of-the-account"


def facts(done: Result) -> dict[str, Any]:
    for secret in (KEY, SECRET, "a-wrong-key"):
        assert secret not in done.out + done.err
    document = json.loads(done.out)
    assert document["ok"] is (done.code == 0)
    return {one["name"]: one for one in document["facts"]}


def states(found: dict[str, Any], *names: str) -> list[str]:
    return [found[name]["state"] if name in found else "" for name in names]


def test_all_is_well(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    done = run(*AIRS, **cloud.all)
    result = facts(done)
    assert done.code == 0
    assert {one["state"] for one in result.values()} == {"ok"}
    assert result["API key"]["value"] == "••• (PANW_AI_SEC_API_KEY)"
    assert result["client secret"]["value"] == "••• (PANW_MGMT_CLIENT_SECRET)"
    assert "a harmless prompt is not stopped" in result["key accepted"]["value"]
    assert result["profile there"]["value"] == "sandbox, revision 2"
    assert result["topic"]["value"] == "Tax advice: block, revision 1 (entry 1)"
    assert result["clock"]["value"] == "as the service's, within a minute"
    assert cloud.prompts["asked"]["total"] == 1
    table = run("doctor", "--guardrail", "airs:sandbox", **cloud.all)
    assert table.out.endswith("\nnothing is missing\n")


def test_an_older_pin_and_a_deleted_topic_are_reported(cloud: Cloud, run: Run) -> None:
    cloud.apply()
    run(*AIRS, **cloud.all)  # sees the text of revision 1

    async def changed() -> None:
        settings = credentials.AirsSettings.load({}, cloud.all, Path("/nonexistent/config.json"))
        async with ManagementClient(settings.management()) as client:
            (topic,) = await client.topics()
            await client.update_topic(topic.topic_id, topic.topic_name, "Newer", ("a", "b"))

    asyncio.run(changed())
    result = facts(run(*AIRS, **cloud.all))
    assert result["topic"]["state"] == "warning"
    message = "the newest text is revision 2, which this profile does not use"
    assert result["topic"]["remedy"] == message
    elsewhere = {"GUARDTUI_CACHE": str(cloud.folder / "elsewhere")}
    result = facts(run(*AIRS, **(cloud.all | elsewhere)))
    assert result["topic"]["state"] == "warning"
    assert "AIRS does not show whether its text is another" in result["topic"]["remedy"]


def test_a_tenant_of_airs_cli_is_all_that_is_needed(cloud: Cloud, run: Run) -> None:
    config = cloud.folder / "tenant.json"
    values = {
        "airsApiKey": KEY,
        "airsApiEndpoint": cloud.url,
        "mgmtClientId": "sandbox",
        "mgmtClientSecret": "sandbox",
        "mgmtTsgId": "1",
        "mgmtEndpoint": f"{cloud.url}/aisec",
        "mgmtTokenEndpoint": f"{cloud.url}/oauth2/access_token",
    }
    config.write_text(json.dumps(values), "utf-8")
    row = {"name": "mine", "configPath": str(config), "tsgId": "1"}
    registry = cloud.folder / ".local/state/prisma-airs/tenants.json"
    registry.parent.mkdir(parents=True)
    registry.write_text(json.dumps({"version": 1, "active": "mine", "tenants": [row]}), "utf-8")
    home = {"HOME": str(cloud.folder)}
    done = run(*AIRS, **home)
    result = facts(done)
    assert done.code == 0
    assert result["tenant"]["value"] == f"mine ({config})"
    assert result["API key"]["value"] == f"••• (tenant mine, {config}: airsApiKey)"
    endpoint = f"{cloud.url}/aisec (tenant mine, {config}: mgmtEndpoint)"
    assert result["management endpoint"]["value"] == endpoint
    assert "airs.tenant\tmine" in run("config", "show", **home).out
    listed = run("topics", "list", "--set", "tenant=mine", **home)
    assert (listed.code, listed.out) == (0, "")
    wrong = run("topics", "list", "--set", "tenant=other", **home)
    assert wrong.code == 2
    assert "no tenant is named 'other'" in wrong.err


def test_a_wrong_key_and_a_wrong_secret(cloud: Cloud, run: Run) -> None:
    wrong = {"PANW_AI_SEC_API_KEY": "a-wrong-key", "PANW_MGMT_CLIENT_SECRET": SECRET}
    done = run(*AIRS, **(cloud.all | wrong))
    result = facts(done)
    assert done.code == 3
    assert states(result, "reach scans", "key accepted", "management login") == [
        "ok", "failed", "failed",
    ]  # fmt: skip
    assert "wrong, expired or revoked" in result["key accepted"]["value"]
    assert "--all-regions" in result["key accepted"]["remedy"]
    assert "check client id, client secret" in result["management login"]["value"]
    assert "profile there" not in result
    assert "other regions" not in result  # the key is sent nowhere else without being asked


def test_a_wrong_profile(cloud: Cloud, run: Run) -> None:
    done = run("doctor", "--json", "--guardrail", "airs:nope", **cloud.all)
    result = facts(done)
    assert states(result, "scan", "profile there", "management login") == ["failed", "failed", "ok"]
    assert "the key was accepted" in result["scan"]["remedy"]
    assert "existing: sandbox, sandbox-directional" in result["profile there"]["value"]


def test_an_exhausted_quota_does_not_mean_a_wrong_key(cloud: Cloud, run: Run) -> None:
    cloud.faults(faults=["429-none=after:0"])
    result = facts(run(*AIRS, **cloud.all))
    assert states(result, "key accepted") == ["warning"]
    assert "a limit or the quota is used up" in result["key accepted"]["value"]


@pytest.mark.parametrize(
    ("status", "message", "state", "said"),
    [
        (403, "HTTP 403: daily quota exceeded (a guess)", "failed", "its quota is used up"),
        (403, "HTTP 403: Invalid API Key (or its quota is used up)", "failed", "Invalid API Key"),
        (401, "HTTP 401: Not Authenticated", "failed", "Not Authenticated"),
        (429, "HTTP 429: Request exceeds limit", "warning", "a limit or the quota is used up"),
        (503, "HTTP 503: later", "failed", "later"),
    ],
)
def test_a_rejection_is_explained(status: int, message: str, state: str, said: str) -> None:
    error = ServiceError(ErrorKind.CREDENTIALS, message, status=status)
    fact = refusal(error)
    assert (fact.state, fact.value.startswith(said) or said in message) == (state, True)
    quota = fact.value.startswith("its quota is used up")
    assert quota is ("quota exceeded" in message)


async def test_other_regions_are_contacted_only_on_request(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of the account is of the region "de", which is another address of the sandbox."""
    home = cloud.url.replace("127.0.0.1", "localhost")
    closed = "http://127.0.0.1:1"
    regions = {"us": cloud.url, "de": home, "in": closed}
    monkeypatch.setattr(doctor_airs, "REGIONS", regions)
    variables = cloud.scans | {"PANW_AI_SEC_PROFILE_NAME": "sandbox"}
    settings = credentials.AirsSettings.load({}, variables, Path("/nonexistent/config.json"))
    asked: list[str] = []
    scan = probe.scan_probe

    async def only_there(settings: credentials.AirsSettings) -> Any:
        asked.append(settings.scan_endpoint.url)
        if settings.scan_endpoint.url == cloud.url:
            raise ServiceError(ErrorKind.CREDENTIALS, "HTTP 403: Invalid API Key", status=403)
        return await scan(settings)

    monkeypatch.setattr(probe, "scan_probe", only_there)
    alone = [fact.name async for fact in doctor_airs._key(settings, False)]
    assert (alone, asked) == (["key accepted"], [cloud.url])
    asked.clear()
    results = {fact.name: fact async for fact in doctor_airs._key(settings, True)}
    assert asked == [cloud.url, home, closed]
    assert results["region de"].state == "ok"
    assert "--set region=de" in results["region de"].remedy
    assert results["region in"].state == "warning"
    assert "other regions" not in results


def test_missing_settings_are_listed(run: Run, folder: Path) -> None:
    nowhere = {"PANW_AI_SEC_API_ENDPOINT": "http://127.0.0.1:1", "PANW_MGMT_ENDPOINT": ""}
    done = run("doctor", "--guardrail", "airs", "--json", HOME=str(folder), **nowhere)
    result = facts(done)
    assert done.code == 3
    assert states(result, "API key", "client id", "profile", "reach scans", "clock") == [
        "missing", "warning", "warning", "failed", "warning",
    ]  # fmt: skip
    assert result["management endpoint"]["state"] == "warning"
    assert "is set but empty" in result["management endpoint"]["remedy"]
    assert "key accepted" not in result


def test_bad_settings_are_a_fact(run: Run, folder: Path) -> None:
    done = run("doctor", "--guardrail", "airs", "--json", HOME=str(folder), SCAN_CONCURRENCY="many")
    assert done.code == 3
    assert "SCAN_CONCURRENCY" in facts(done)["settings"]["value"]


@pytest.mark.parametrize(("skew", "told"), [(-3600.0, "behind"), (3600.0, "ahead")])
async def test_a_wrong_clock_is_reported(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, skew: float, told: str
) -> None:
    import time

    class Skewed(JumpClock):
        def wall(self) -> float:
            return time.time() + skew

    async def skewed(endpoint: Endpoint, **options: Any) -> Any:
        return await contact(endpoint, clock=Skewed(), **options)

    monkeypatch.setattr(doctor_airs, "contact", skewed)
    settings = credentials.AirsSettings.load({}, cloud.all, Path("/nonexistent/config.json"))
    results = {fact.name: fact async for fact in doctor_airs._contacts(settings)}
    assert results["clock"].state == "warning"
    assert told in results["clock"].value
    assert 3590 < float(results["clock"].value.split()[0]) < 3610


def test_config_show_tells_origins_and_masks_secrets(run: Run, folder: Path) -> None:
    home = folder / "home"
    (home / ".prisma-airs").mkdir(parents=True)
    file = home / ".prisma-airs" / "config.json"
    file.write_text(json.dumps({"mgmtClientSecret": SECRET, "scanConcurrency": 7}), "utf-8")
    variables = {"HOME": str(home), "PANW_AI_SEC_API_KEY": KEY, "PANW_AI_SEC_API_ENDPOINT": ""}
    done = run("config", "show", **variables)
    assert done.code == 0
    assert KEY not in done.out
    assert SECRET not in done.out
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in done.out.splitlines()}
    assert rows["airs.api_key"] == ["•••", "PANW_AI_SEC_API_KEY"]
    assert rows["airs.client_secret"] == ["•••", f"{file}: mgmtClientSecret"]
    assert rows["airs.concurrency"] == ["7", f"{file}: scanConcurrency"]
    assert rows["airs.scan_endpoint"] == [credentials.REGIONS["us"], "default"]
    assert rows["airs.profile"] == ["", "not set"]
    assert rows["theme"][1] == "default"
    assert "PANW_AI_SEC_API_ENDPOINT is set but empty" in done.err
    file.write_text("{", "utf-8")
    broken = run("config", "show", **variables)
    assert (broken.code, broken.out) == (2, "")
    assert f"{file}:1: not JSON" in broken.err
