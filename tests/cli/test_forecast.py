"""`guardtui forecast`: what it prints of a session, and what it says where it cannot."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.domain.prompts import PromptSet
from guardtui.files.prompt_files import load_prompts
from tests.guardrails import airs_settings, engine_settings, judge_settings
from tests.sessions import DESCRIPTIONS, JUDGE, Scanned, answers

from .conftest import POSITIVE, Run

COMMAND = ("forecast", "topic.yaml", "--prompts", "tax.csv", "--set", "encoder=static")


@pytest.fixture
def scanned(folder: Path) -> Scanned:
    return Scanned(folder)


def document(run: Run, *more: str) -> dict[str, Any]:
    result = run(*COMMAND, "--format", "json", *more)
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def test_the_table_says_which_guardrail_and_that_it_is_a_forecast(
    run: Run, scanned: Scanned
) -> None:
    scanned.scan("Tax")
    scanned.scan("Advice on income tax")
    result = run(*COMMAND)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == ("Forecast of AIRS, profile prod, revision 3. No service was called.")
    assert "2 scans (#0, #1): 60 of 60 prompts have a verdict" in result.out
    for name in ("coverage", "TPR", "TNR"):
        assert re.search(rf"^{name} +0\.\d{{3}}  0\.\d{{3}} to ", result.out, re.MULTILINE)
    assert "likely that coverage is above 0." in result.out
    assert "that of #1, the newest scan of all prompts" in result.out
    assert lines[-1].startswith("This is a forecast, not a measurement")


def test_json_has_every_prompt_and_what_it_rests_on(run: Run, scanned: Scanned) -> None:
    answered = [scanned.scan("Tax"), scanned.scan("Advice on income tax")]
    found = document(run)
    assert (found["schema_version"], found["kind"]) == (1, "forecast")
    assert found["guardrail"] == {
        "kind": "airs",
        "profile": "prod",
        "revision": "3",
    }
    assert found["grounds"]["iterations"] == [0, 1]
    assert found["grounds"]["never_asked"] == 0
    assert found["compared_with"]["iteration"] == 1
    assert found["compared_with"]["coverage"] == answered[1].metrics.coverage
    assert len(found["prompts"]) == 60
    for rate in found["expected"].values():
        assert 0 <= rate["low"] <= rate["value"] <= rate["high"] <= 1
    for row, last in zip(found["prompts"], answered[1].verdicts.triggered, strict=True):
        assert row["last_verdict"] == bool(last)
        stays = row["probability_triggered"] if last else 1 - row["probability_triggered"]
        assert row["probability_changed"] == pytest.approx(1 - stays)
    assert found["definition"]["description"].startswith("Advice on filing personal")


def test_likely_flips_say_whether_they_would_be_fixes(run: Run, scanned: Scanned) -> None:
    prompts = scanned.prompts
    scanned.scan("Tax")
    # A guardrail that fires on half of what belongs: one odd answer of each kind stands out.
    odd = prompts.expected.copy()
    odd[0], odd[3] = False, True
    for description in ("Tax", "Tax of any kind", "Personal tax returns"):
        scanned.scan(description, triggered=prompts.expected.astype(np.int8))
    scanned.scan("Bread", triggered=odd.astype(np.int8))
    found = document(run)
    changes = {flip["line"]: flip for flip in found["flips"]}
    for flip in changes.values():
        assert flip["probability"] > 0.5
        assert flip["was"] != flip["expected"]
        should = found["prompts"][flip["line"] - 2]["should_trigger"]
        assert (flip["change"] == "fix") == (should == (flip["expected"] == "triggered"))
    assert {2, 5} <= set(changes)
    assert {flip["change"] for flip in changes.values()} == {"fix"}
    table = run(*COMMAND).out
    for line, change in ((2, "not triggered → triggered"), (5, "triggered → not triggered")):
        assert re.search(rf"%  fix +{change} +{line}  ", table)


def test_a_scanned_definition_is_reported_as_measured(run: Run, scanned: Scanned) -> None:
    measured = scanned.scan()
    coverage = measured.metrics.coverage
    assert f"#0 has scanned this very definition, with a coverage of {coverage:.3f}" in (
        run(*COMMAND).out
    )
    assert document(run)["measured_by_iteration"] == 0


def test_prompts_are_shown_inert_and_read_back_as_they_are(run: Run, folder: Path) -> None:
    scanned = Scanned(folder)
    path = folder / "tax.csv"
    path.write_text(path.read_text("utf-8").replace("number 0", "\x1b[31m0"), "utf-8")
    prompts = scanned.prompts
    triggered = prompts.expected.astype(np.int8)
    for description in ("Tax", "Tax of any kind"):
        scanned.scan(description, triggered=triggered)
    triggered = triggered.copy()
    triggered[0] = 0
    scanned.scan("Bread", triggered=triggered)
    table = run(*COMMAND).out
    assert "␛[31m0" in table
    assert "\x1b" not in table
    assert "\x1b" not in run(*COMMAND, "--format", "json").out
    assert document(run)["prompts"][0]["prompt"].endswith("\x1b[31m0")


def test_the_guardrail_that_answered_last_is_taken_and_the_others_named(
    run: Run, scanned: Scanned
) -> None:
    scanned.scan("Tax")
    scanned.scan("Tax", settings=airs_settings("staging", "3"))
    scanned.scan("Tax", settings=JUDGE)
    result = run(*COMMAND)
    assert "Forecast of a judge: model-1, template 1a2b" in result.out
    assert "not verdicts of AIRS, profile staging" in result.err
    assert "AIRS, profile prod" in result.err
    assert document(run)["other_guardrails"][0]["profile"] == "staging"
    assert "AIRS, profile prod" in run(*COMMAND, "--guardrail", "airs:prod").out
    several = run(*COMMAND, "--guardrail", "airs")
    assert (several.code, several.out) == (2, "")
    assert "give one of: AIRS, profile staging; AIRS, profile prod" in several.err


def test_the_profile_with_exactly_this_name_is_forecast(
    run: Run, scanned: Scanned, folder: Path
) -> None:
    for profile, revision in (("prod", "2"), ("prod", "3"), ("preprod", "9")):
        scanned.scan("Tax", settings=airs_settings(profile, revision))
    result = run(*COMMAND, "--guardrail", "airs:prod")
    assert "Forecast of AIRS, profile prod, revision 3" in result.out
    assert "not verdicts of AIRS, profile preprod, revision 9" in result.err
    assert run(*COMMAND, "--guardrail", "airs:PROD").code == 2
    team = folder / "guardrails.yaml"
    team.write_text("ours: {kind: airs, profile: prod}\nall: {kind: airs}\n", "utf-8")
    assert run(*COMMAND, "--guardrail", "ours").out == result.out
    several = run(*COMMAND, "--guardrail", "all")
    assert (several.code, "give one of: " in several.err) == (2, True)


def test_json_and_table_are_written_to_files(run: Run, scanned: Scanned, folder: Path) -> None:
    scanned.scan("Tax")
    result = run(*COMMAND, "-o", "forecast.json", "-o", "forecast.txt")
    assert (result.code, result.out) == (0, "")
    assert json.loads((folder / "forecast.json").read_text("utf-8"))["kind"] == "forecast"
    assert (folder / "forecast.txt").read_text("utf-8").startswith("Forecast of AIRS")
    refused = run("compare", "forecast.json", "forecast.json")
    assert (refused.code, refused.out) == (2, "")
    assert "not a report on prompts" in refused.err


def test_a_session_is_read_and_not_written(run: Run, scanned: Scanned, folder: Path) -> None:
    scanned.scan("Tax")
    assert run(*COMMAND).code == 0
    assert len(document(run)["grounds"]["iterations"]) == 1
    (folder / "other.yaml").write_text((folder / "topic.yaml").read_text("utf-8"), "utf-8")
    result = run("forecast", "other.yaml", "--prompts", "tax.csv")
    assert (result.code, result.out) == (2, "")
    assert "other.yaml: nothing is recorded to forecast from" in result.err


def test_without_a_session_it_says_how_to_get_one_and_makes_none(
    run: Run, scanned: Scanned, folder: Path
) -> None:
    result = run(*COMMAND)
    assert (result.code, result.out) == (2, "")
    assert "topic.yaml: nothing is recorded to forecast from" in result.err
    assert "'guardtui eval topic.yaml --prompts FILE --guardrail NAME'" in result.err
    assert not (folder / ".guardtui").exists()


def _five(prompts: PromptSet) -> np.ndarray:
    return np.where(np.arange(len(prompts)) < 5, answers(prompts, ""), -2)


@pytest.mark.parametrize(
    ("triggered", "said"),
    [
        (lambda prompts: np.full(len(prompts), 1), "triggered on 60 and let pass 0"),
        (_five, "has given a verdict on 5 of these prompts; a forecast needs 20"),
        (lambda prompts: np.full(len(prompts), -1), "has given a verdict on 0 of these prompts"),
    ],
)
def test_too_few_verdicts_are_an_error(
    run: Run, scanned: Scanned, triggered: Any, said: str
) -> None:
    scanned.scan("Tax", triggered=triggered(scanned.prompts))
    result = run(*COMMAND)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: topic.yaml: AIRS ")
    assert said in result.err


def test_only_the_engine_has_answered(run: Run, scanned: Scanned) -> None:
    scanned.scan("Tax", settings=engine_settings())
    result = run(*COMMAND)
    assert (result.code, result.out) == (2, "")
    assert "no verdicts of a guardrail are recorded" in result.err


def test_a_renamed_model_begins_anew_and_the_older_one_is_named(run: Run, scanned: Scanned) -> None:
    scanned.scan("Tax", settings=JUDGE)
    renamed = judge_settings("model-2")
    scanned.scan("Tax", settings=renamed, triggered=_five(scanned.prompts))
    result = run(*COMMAND)
    assert (result.code, result.out) == (2, "")
    assert "has given a verdict on 5 of these prompts" in result.err
    assert "others have verdicts too: a judge: model-1" in result.err
    assert "(--guardrail chooses)" in result.err
    assert (
        "Forecast of a judge: model-1"
        in run(*COMMAND, "--guardrail", "judge:http://localhost/v1#model-1").out
    )


def test_other_prompts_than_the_scanned_ones_are_refused(
    run: Run, scanned: Scanned, folder: Path
) -> None:
    scanned.scan("Tax")
    result = run("forecast", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")
    assert (result.code, result.out) == (2, "")
    assert "AIRS was asked other prompts than these: scan once with this prompt set" in result.err
    assert POSITIVE[0] in (folder / "prompts.csv").read_text("utf-8")


@pytest.mark.parametrize("more", [(), ("--trust",)])
@pytest.mark.parametrize("form", ["md", "html"])
def test_other_formats_have_the_figures_of_the_table(
    run: Run, scanned: Scanned, form: str, more: tuple[str, ...]
) -> None:
    scanned.scan("Tax")
    scanned.scan("Advice on income tax")
    table = run(*COMMAND, *more)
    other = run(*COMMAND, *more, "--format", form)
    assert (other.code, other.err) == (0, "")
    for figure in set(re.findall(r"0\.\d{3} to 0\.\d{3}", table.out)):
        assert figure in other.out
    run(*COMMAND, *more, "-o", f"forecast.{form}")
    assert (scanned.folder / f"forecast.{form}").read_text("utf-8") == other.out


def test_doubts_are_reported_as_cautions(run: Run, scanned: Scanned, folder: Path) -> None:
    first = scanned.scan("Tax").verdicts.triggered.copy()
    first[:15] = 1 - first[:15]
    scanned.scan("Tax", triggered=first)
    lost = first.copy()
    lost[::6] = -1
    scanned.scan("Advice on income tax", triggered=lost)
    more = Scanned(folder, 80)
    assert len(more.prompts) == 80
    out = run(*COMMAND).out
    assert "caution    20 of 80 prompts were never asked" in out
    assert "caution    AIRS contradicts itself: 15 of 60 answers differed" in out
    assert "caution    6% of the prompts that were asked got no verdict" in out
    assert len(document(run)["grounds"]["doubts"]) == 3


def test_coverage_is_not_compared_with_a_scan_of_chosen_prompts(run: Run, scanned: Scanned) -> None:
    whole = scanned.scan("Tax")
    chosen = np.where(np.arange(60) < 10, 0, -2)
    scanned.scan("Advice on income tax", triggered=chosen)
    found = document(run)
    assert found["compared_with"] == {"iteration": 0, "coverage": whole.metrics.coverage}
    assert found["grounds"]["iterations"] == [0, 1]


def test_labels_that_changed_since_are_not_compared(
    run: Run, scanned: Scanned, folder: Path
) -> None:
    scanned.scan("Tax")
    path = folder / "tax.csv"
    path.write_text(path.read_text("utf-8").replace("number 0,true", "number 0,false"), "utf-8")
    assert len(load_prompts(path, scanned.topic.intent)) == 60
    found = document(run)
    assert found["compared_with"] is None
    assert found["probability_better"] is None


# --- forecast --trust ---------------------------------------------------------------------


def test_trust_holds_every_later_scan_against_its_forecast(run: Run, scanned: Scanned) -> None:
    scans = [scanned.scan(description) for description in DESCRIPTIONS]
    found = json.loads(run(*COMMAND, "--trust", "--format", "json").out)
    assert (found["schema_version"], found["kind"]) == (1, "trust")
    assert [one["iteration"] for one in found["scans"]] == [1, 2, 3]
    for one, scan in zip(found["scans"], scans[1:], strict=True):
        assert one["coverage"]["came_true"] == pytest.approx(scan.metrics.coverage)
        assert one["definition"]["description"] == scan.topic.description
        low, high = one["coverage"]["expected"]["low"], one["coverage"]["expected"]["high"]
        assert one["interval_held"] == (low <= one["coverage"]["came_true"] <= high)
        assert one["wrong_verdicts"]["prompts"] == 60
    overall = found["overall"]
    assert overall["intervals"] == 3
    assert overall["intervals_held"] == sum(one["interval_held"] for one in found["scans"])
    assert sum(group["prompts"] for group in found["calibration"]) == 180
    assert found["engine_threshold"] is None  # fitted to each definition
    assert found["summary"].startswith(
        f"Coverage was within its interval in {overall['intervals_held']} of 3 scans"
    )


def test_trust_as_a_table(run: Run, scanned: Scanned) -> None:
    for description in (*DESCRIPTIONS, "Tax"):
        scanned.scan(description)
    result = run(*COMMAND, "--trust")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == (
        "Forecasts of AIRS, profile prod, revision 3, against the scans that followed."
    )
    assert [line.split()[0] for line in lines if line.startswith("#")] == ["#1", "#2", "#3", "#4"]
    assert "#4 =" in result.out
    assert "= the definition had been scanned before" in result.out
    assert "0.0 to 0.1" in result.out
    assert lines[1].startswith("Coverage was within its interval in ")


def test_trust_lists_a_scan_that_no_forecast_could_be_made_for(run: Run, scanned: Scanned) -> None:
    scanned.scan("Tax", triggered=_five(scanned.prompts))
    scanned.scan("Advice on income tax")
    scanned.scan("Personal tax returns")
    result = run(*COMMAND, "--trust")
    assert result.code == 0, result.err
    assert "#1: no forecast: AIRS has given a verdict on 5 of these prompts" in result.out
