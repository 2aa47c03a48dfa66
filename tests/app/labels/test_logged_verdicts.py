"""Verdicts of production: whose they are, of which definition, and as iterations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.app.guardrails.named import GuardrailError
from guardtui.app.labels.inbox import Inbox, InboxError
from guardtui.app.labels.logged_verdicts import UNKNOWN, VerdictSources, add_logged, record_logged
from guardtui.app.scan.record import logged_part
from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.inbox import Production, prompt_id
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered
from guardtui.files.prompt_files import load_prompts
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.files.topic_files import load_topic
from guardtui.session.session import Decision, Iteration, Recorder
from guardtui.session.store import SessionStore
from tests.app.concurrency import evaluation_of
from tests.guardrails import airs_settings

TOPIC = "name: Tax\ndescription: {}\nexamples: [tax, a tax]\nintent: block\n"
CSV = "prompt,expected\na tax,true\na soup,false\n"
PROD = Guardrail("airs", profile="prod")


@pytest.fixture
def topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GUARDTUI_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PANW_AI_SEC_API_ENDPOINT", "PANW_AI_SEC_PROFILE_NAME"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "tax.yaml"
    path.write_text(TOPIC.format("Tax"))
    path.with_suffix(".csv").write_text(CSV)
    return path


def log(*said: Production, first: int = 0, count: int = 6) -> list[LoggedPrompt]:
    """Prompts `p0`, `p1`, … with these verdicts each."""
    return [
        LoggedPrompt(f"p{number}", f"a.log:{number}", said)
        for number in range(first, first + count)
    ]


def label(inbox: Inbox, *numbers: int, expected: bool = True) -> None:
    for number in numbers:
        inbox.label(prompt_id(f"p{number}"), expected)


def iterations(topic: Path) -> list[Iteration]:
    return SessionStore(topic).iterations()


def answers(iteration: Iteration) -> list[int]:
    codes: list[int] = iteration.evaluation.verdicts.triggered.tolist()
    return codes


def scanned(
    topic: Path, definition: Topic | None = None, revision: str = "", **parts: object
) -> Iteration:
    """Record a scan by AIRS, profile prod."""
    prompts = load_prompts(topic.with_suffix(".csv"), Intent.BLOCK)
    evaluation = replace(
        evaluation_of(definition or load_topic(topic).topic, prompts, slice(None), 1.0),
        settings=airs_settings("prod", revision, **parts),
    )
    files = EvaluatedFiles(topic, topic.with_suffix(".csv"), AS_WRITTEN)
    return record_evaluation(files, evaluation)[0]


def test_stated_verdicts_become_a_growing_iteration_as_prompts_are_labelled(topic: Path) -> None:
    inbox = Inbox.of_topic(topic)
    _, lines = add_logged(inbox, topic, log(Production(True)), "airs:prod")
    assert lines == ["6 verdicts of airs:prod in production with this definition"]
    assert record_logged(inbox, topic) == ()
    for number in (2, 4):
        label(inbox, number)
        (changed,) = record_logged(inbox, topic)
        assert record_logged(inbox, topic) == ()
    (recorded,) = iterations(topic)
    assert (recorded.by, recorded.decision) == (Recorder.LOG, Decision.UNDECIDED)
    assert recorded.evaluation.settings == ScannerSettings(PROD)
    assert recorded.evaluation.topic == load_topic(topic).topic
    assert answers(recorded) == answers(changed) == [Triggered.NOT_ASKED] * 2 + [1, 1]
    assert (recorded.evaluation.metrics.total, recorded.evaluation.metrics.open) == (2, 2)
    # A label that is changed or taken back, in the set by whatever program, changes it too.
    csv = topic.with_suffix(".csv")
    csv.write_text(csv.read_text().replace("p2,true", "p2,false").replace("p4,true\n", ""))
    inbox.refresh()
    record_logged(inbox, topic)
    (recorded,) = iterations(topic)
    assert (recorded.evaluation.metrics.fp, recorded.evaluation.metrics.total) == (1, 1)
    csv.write_text(csv.read_text().replace("p2,false\n", ""))
    inbox.refresh()
    (emptied,) = record_logged(inbox, topic)
    assert emptied.evaluation.metrics.total == 0
    assert iterations(topic)[0].evaluation.metrics.total == 0
    assert record_logged(inbox, topic) == ()


def test_verdicts_of_an_unknown_definition_are_in_no_iteration(topic: Path) -> None:
    inbox = Inbox.of_topic(topic)
    said = Production(True, "airs:prod", "77-aa"), Production(False), Production(True, "pii")
    _, lines = add_logged(inbox, topic, log(*said))
    assert lines[:3] == [
        f"6 verdicts of airs:prod in production (77-aa), {UNKNOWN}",
        f"6 verdicts of a guardrail without a name in production, {UNKNOWN}",
        f"6 verdicts of pii in production, {UNKNOWN}",
    ]
    assert "--guardrail NAME" in lines[3]
    label(inbox, 1)
    assert record_logged(inbox, topic) == ()


def test_a_revision_or_definition_that_an_iteration_has_is_known(topic: Path) -> None:
    then = load_topic(topic).topic
    scanned(topic, revision="3 (AB-12)".lower())
    topic.write_text(TOPIC.format("Edited"))
    inbox = Inbox.of_topic(topic)
    said = (
        Production(True, "airs:prod", "ab-12", ("Tax",)),
        Production(True, "airs:prod", "4"),
        Production(True, "airs:other", "ab-12"),
        Production(True, "airs", "ab-12"),
        Production(False, "airs:prod", then.fingerprint),
    )
    sources = VerdictSources(topic, inbox)
    assert [sources.words(one, load_topic(topic).topic) for one in said] == [
        "with the definition of #0", UNKNOWN, UNKNOWN, UNKNOWN, "with the definition of #0",
    ]  # fmt: skip
    inbox.add(log(said[0]))
    label(inbox, 1)
    (recorded,) = record_logged(inbox, topic)
    assert recorded.evaluation.topic == then
    assert recorded.evaluation.verdicts.stopped_by == {2: ("Tax",)}


def test_a_sandbox_on_this_machine_is_not_the_service_that_wrote_the_log(topic: Path) -> None:
    scanned(topic, revision="3 (ab-12)", sandbox=True)
    sources = VerdictSources(topic, Inbox.of_topic(topic))
    assert sources.of(Production(True, "airs:prod", "ab-12")) is None


def test_a_name_of_several_recorded_guardrails_is_none(topic: Path) -> None:
    fingerprint = load_topic(topic).topic.fingerprint
    said = Production(True, "airs:prod", fingerprint)
    for region, known in (("de", "de"), ("in", None)):
        scanned(topic, region=region)
        source = VerdictSources(topic, Inbox.of_topic(topic)).of(said)
        assert (None if source is None else source.settings.guardrail.region) == known


def test_a_statement_leaves_verdicts_of_others_and_of_another_definition(topic: Path) -> None:
    scanned(topic, revision="3 (ab-12)")
    topic.write_text(TOPIC.format("Edited"))
    inbox = Inbox.of_topic(topic)
    logged = [
        *log(Production(True, "airs:prod", "cd-34"), first=0, count=2),
        *log(Production(True, "airs:prod", "ef-56"), first=2, count=1),
        *log(Production(True, "airs:prod", "ab-12"), first=3, count=2),
        *log(Production(True, "airs:staging", "cd-34"), first=5, count=3),
    ]
    _, lines = add_logged(inbox, topic, logged, "airs:prod")
    assert lines[:6] == [
        "3 verdicts of airs:staging, not of airs:prod: left as the log has them (is it the same? "
        "name it so in guardrails.yaml)",
        "2 verdicts of another definition, by their revision: left so",
        "3 verdicts of 2 revisions that no iteration has (cd-34, ef-56): taken as this definition",
        "3 verdicts of airs:prod in production with this definition",
        "2 verdicts of airs:prod in production with the definition of #0",
        f"3 verdicts of airs:staging in production (cd-34), {UNKNOWN}",
    ]


def test_a_statement_that_comes_later_says_more_of_the_same_verdicts(topic: Path) -> None:
    inbox = Inbox.of_topic(topic)
    logged = log(Production(True, "airs:prod", "cd-34"))
    inbox.add(logged)
    Path("guardrails.yaml").write_text("main: {kind: airs, profile: prod}\n")
    for guardrail in ("main", ""):
        _, lines = add_logged(inbox, topic, logged, guardrail)
        assert lines[-1] == "6 verdicts of main in production with this definition"
    # The statement holds, even if the name means another profile later.
    Path("guardrails.yaml").write_text("main: {kind: airs, profile: new}\n")
    topic.write_text(TOPIC.format("Edited"))
    label(inbox, 0)
    (recorded,) = record_logged(inbox, topic)
    assert recorded.evaluation.settings.guardrail == PROD
    assert recorded.evaluation.topic.description == "Tax"


def test_two_answers_of_one_definition_are_counted_and_used_for_nothing(topic: Path) -> None:
    inbox = Inbox.of_topic(topic)
    logged = [*log(Production(True), count=2), *log(Production(False), count=1)]
    _, lines = add_logged(inbox, topic, logged, "airs:prod")
    assert "airs:prod gave both answers to 1 prompt: used for nothing" in lines
    label(inbox, 0, 1)
    (recorded,) = record_logged(inbox, topic)
    assert answers(recorded)[2:] == [Triggered.NOT_ASKED, 1]


def test_the_definition_of_an_iteration_can_be_stated(topic: Path) -> None:
    scanned(topic)
    topic.write_text(TOPIC.format("Edited"))
    inbox = Inbox.of_topic(topic)
    _, lines = add_logged(inbox, topic, log(Production(True)), "airs:prod", 0)
    assert lines == ["6 verdicts of airs:prod in production with the definition of #0"]
    with pytest.raises(InboxError, match="there is no iteration #7"):
        add_logged(inbox, topic, [], "airs:prod", 7)
    with pytest.raises(InboxError, match="only verdicts of AIRS and of judges"):
        add_logged(inbox, topic, [], "engine")
    with pytest.raises(GuardrailError, match="there is no guardrail 'prod'"):
        add_logged(inbox, topic, [], "prod")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_scan_completes_what_a_log_has_and_further_labels_are_another_iteration(
    topic: Path, order: Sequence[int]
) -> None:
    inbox = Inbox.of_topic(topic)
    add_logged(inbox, topic, log(Production(True)), "airs:prod")
    label(inbox, order[0])
    record_logged(inbox, topic)
    inbox.label(prompt_id("p5"), False)  # the scan is of a larger set than the iteration
    definition = load_topic(topic).topic
    prompts = load_prompts(topic.with_suffix(".csv"), Intent.BLOCK)
    logged = logged_part(iterations(topic), PROD, definition, prompts)
    assert logged is not None
    assert np.flatnonzero(logged.verdicts.triggered >= 0).tolist() == [2]
    assert logged_part(iterations(topic), replace(PROD, epochs=3), definition, prompts) is None
    whole = scanned(topic)
    assert (whole.number, whole.by, whole.decision) == (0, Recorder.COMPLETED_LOG, Decision.KEEP)
    assert (whole.evaluation.metrics.missing, whole.evaluation.metrics.prompts) == (0, 4)
    assert whole.evaluation.prompt_set == prompts.fingerprint
    label(inbox, order[1])
    (later,) = record_logged(inbox, topic)
    assert (later.number, later.by) == (1, Recorder.LOG)
    assert answers(later)[2:] == [-2, -2, 1]
    assert iterations(topic)[0].evaluation.prompt_set == prompts.fingerprint


def test_a_scan_that_disagrees_with_a_log_is_an_iteration_of_its_own(topic: Path) -> None:
    inbox = Inbox.of_topic(topic)
    add_logged(inbox, topic, log(Production(False)), "airs:prod")
    label(inbox, 0)
    record_logged(inbox, topic)
    assert scanned(topic).number == 1
    assert [one.by for one in iterations(topic)] == [Recorder.LOG, Recorder.COMMAND]


@pytest.mark.parametrize(("others", "asked"), [("x,true\ny,false\n", 2), ("p0,true\ny,false\n", 1)])
def test_a_scan_of_other_prompts_is_an_iteration_of_its_own_and_a_log_keeps_its_verdicts(
    topic: Path, others: str, asked: int
) -> None:
    inbox = Inbox.of_topic(topic)
    add_logged(inbox, topic, log(Production(True)), "airs:prod")
    label(inbox, 0, 1)
    record_logged(inbox, topic)
    path = topic.with_name("others.csv")
    path.write_text(f"prompt,expected\n{others}")
    definition, prompts = load_topic(topic).topic, load_prompts(path, Intent.BLOCK)
    logged = logged_part(iterations(topic), PROD, definition, prompts)
    assert asked == 2 - (0 if logged is None else logged.metrics.total)
    evaluation = evaluation_of(definition, prompts, slice(None), 1.0)
    evaluation = replace(evaluation, settings=airs_settings("prod"))
    files = EvaluatedFiles(topic, path, AS_WRITTEN)
    scan, is_new = record_evaluation(files, evaluation)
    by = Recorder.COMMAND if logged is None else Recorder.COMPLETED_LOG
    assert (scan.number, scan.by, is_new) == (1, by, True)
    record_logged(inbox, topic)
    known = {
        int(key)
        for one in iterations(topic)
        for key in one.evaluation.keys[one.evaluation.verdicts.triggered >= 0]
    }
    assert {int(prompt_id(name), 16) for name in ("p0", "p1")} <= known
    assert [one.by for one in iterations(topic)] == [Recorder.LOG, by]


def test_a_log_that_was_decided_on_meanwhile_keeps_its_prompts_and_verdicts(topic: Path) -> None:
    inbox = Inbox.of_topic(topic)
    add_logged(inbox, topic, log(Production(True)), "airs:prod")
    label(inbox, 0, 1)
    (known,) = record_logged(inbox, topic)
    label(inbox, 2)
    prompts = load_prompts(topic.with_suffix(".csv"), Intent.BLOCK)
    evaluation = evaluation_of(known.evaluation.topic, prompts, slice(None), 1.0)
    store = SessionStore(topic)
    store.decide(0, Decision.KEEP)
    whole = replace(known, evaluation=replace(evaluation, settings=airs_settings("prod")))
    assert store.complete_iteration(whole, first=True).number == 1
    kept, scan = iterations(topic)
    assert (kept.by, kept.decision, answers(kept)) == (Recorder.LOG, Decision.KEEP, answers(known))
    assert (scan.evaluation.metrics.prompts, scan.decision) == (5, Decision.UNDECIDED)


def test_of_two_programs_that_record_a_log_at_once_only_one_adds_its_iteration(
    topic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox.of_topic(topic)
    add_logged(inbox, topic, log(Production(True)), "airs:prod")
    label(inbox, 0)
    read, others = SessionStore.iterations, list[Iteration]()

    def read_while_another_records(store: SessionStore) -> list[Iteration]:
        before = read(store)
        if not others:
            with monkeypatch.context() as patched:
                patched.setattr(SessionStore, "iterations", read)
                others.extend(record_logged(inbox, topic))
        return before

    monkeypatch.setattr(SessionStore, "iterations", read_while_another_records)
    assert record_logged(inbox, topic) == ()
    assert [one.number for one in iterations(topic)] == [0]


def test_a_name_that_means_another_guardrail_now_cannot_be_stated_of_the_same_definition(
    topic: Path,
) -> None:
    inbox = Inbox.of_topic(topic)
    for profile, first in (("prod", 0), ("new", 3)):
        Path("guardrails.yaml").write_text(f"main: {{kind: airs, profile: {profile}}}\n")
        if first:
            with pytest.raises(InboxError, match="main: an earlier log has verdicts by this name"):
                add_logged(inbox, topic, log(Production(True), first=first), "main")
        else:
            add_logged(inbox, topic, log(Production(True), count=3), "main")
    source = VerdictSources(topic, inbox).of(
        Production(True, "main", load_topic(topic).topic.fingerprint)
    )
    assert source is not None
    assert source.settings.guardrail == PROD


def test_settings_that_nobody_wrote_are_no_statement(topic: Path) -> None:
    store = SessionStore(topic)
    for value in (1, {"a": 1}, [1, {}, {"name": "a", "topic": {}, "guardrail": 3}]):
        store.update_settings({"log-verdicts": value})
        sources = VerdictSources(topic, Inbox.of_topic(topic))
        assert sources.of(Production(True, "a", "b")) is None
    assert json.dumps(value)
