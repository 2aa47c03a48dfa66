"""A sitting: which prompt comes, that nobody is asked twice, and that no answer is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from guardtui.advice.label_queue import FIRST
from guardtui.app.labels.audit import Audit
from guardtui.app.labels.inbox import Inbox, LabelledMeanwhileError
from guardtui.app.labels.labelling import sitting_at
from guardtui.app.labels.logged_verdicts import UNKNOWN, VerdictSources
from guardtui.app.labels.sitting import Answer, Purpose, Sitting, Verdict
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.inbox import InboxPrompt, Production, State, WhyAsked
from guardtui.domain.prompts import prompt_keys
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, VerdictColumns
from guardtui.domain.verdicts import Verdict as Given
from guardtui.files.problems import FileError
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import Decision, Iteration
from guardtui.session.store import SessionStore
from tests.guardrails import airs_settings

TOPIC = Topic(name="Tax", description="Personal tax advice", examples=("How can I pay less tax?",))
CSV = "prompt,expected,intent\nMy tax return,true,block\nLentil soup,false,block\n"
THINGS = ("my income tax", "bread and soup", "dragons", "a sorted list", "the Eiffel Tower")


def belongs(text: str) -> bool:
    return "tax" in text


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "p.csv"
    path.write_text(CSV)
    return path


def filled(path: Path, each: int = 8, *, judged: bool = True, origin: str = "app.log") -> Path:
    """Log prompts; the guardrail of production blocks every other one that belongs."""
    texts = [f"tell me more of {thing} in {n} words" for n in range(each) for thing in THINGS]
    Inbox(path, Intent.BLOCK).add(
        LoggedPrompt(
            text,
            f"{origin}:{line}",
            (Production(belongs(text) and line % 2 == 1, "corp"),) if judged else (),
        )
        for line, text in enumerate(texts, start=1)
    )
    return path


def sitting(path: Path, topic: Topic = TOPIC, **more: object) -> Sitting:
    inbox = Inbox(path, topic.intent, path.parent / "backups")
    made = sitting_at(inbox, topic, LocalScanner("static"), lambda _: None, **more)  # type: ignore[arg-type]
    assert made is not None
    return made


def answer(at: Sitting, count: int, says: Callable[[str], bool] = belongs) -> list[InboxPrompt]:
    """Answer so many prompts as they come, each written at once."""
    asked = []
    for _ in range(count):
        prompt = at.draw()
        if prompt is None:
            break
        at.give(prompt, Answer.BELONGS if says(prompt.text) else Answer.DOES_NOT_BELONG)
        assert at.write() == []
        asked.append(prompt)
    return asked


def purposes(at: Sitting) -> list[Purpose]:
    """Return the purposes after that of the audit, up to it."""
    found: list[Purpose] = []
    while not found or at.purpose is not Purpose.AUDIT:
        at.purpose = at.next_purpose
        found.append(at.purpose)
    return found


def audit_of(at: Sitting) -> Audit:
    audit = at.audit()
    assert audit is not None
    return audit


# --- the audit --------------------------------------------------------------------------------


def test_each_prompt_is_asked_once_with_its_chance_and_its_label_is_written(path: Path) -> None:
    at = sitting(filled(path))
    asked = answer(at, 100)
    assert len({prompt.id for prompt in asked}) == len(asked) == 40
    assert all(prompt.why_asked is WhyAsked.AUDIT and prompt.chance for prompt in asked)
    assert path.read_text().startswith(CSV)
    assert path.read_text().count(",true,block") == 1 + 8
    audit = audit_of(at)
    who = "corp (definition unknown, perhaps several)"
    assert (audit.who, audit.labels, audit.prompts, audit.topic) == (who, 40, 40, None)
    # All are labelled: the rates are known.
    assert audit.rates.belonging.low == audit.rates.belonging.high == 0.5
    assert audit.rates.others.value == 1.0
    assert at.line().startswith(
        f"to measure {who} in production, by a random sample of the log\n"
        "enough: coverage 0.50 in production (0.50"
    )


def test_a_later_sitting_goes_on_with_the_same_audit(path: Path) -> None:
    first = sitting(filled(path))
    answer(first, 12)
    left = first.draw()
    assert left is not None
    again = sitting(path)
    again.inbox._asked.add(left.id)  # as after the ten minutes for which it was taken
    assert again.line().endswith(f"\n{FIRST - 12} more labels until the first estimate")
    drawn = again.draw()
    assert drawn is not None
    assert drawn.id == left.id
    strata = {prompt.stratum for prompt in again.inbox.own}
    assert None not in strata
    assert len(strata) > 1
    again.give(drawn, Answer.DOES_NOT_BELONG)
    answer(again, FIRST - 13)
    assert audit_of(again).labels == FIRST


def test_prompts_that_come_later_are_audited_too(path: Path) -> None:
    answer(sitting(filled(path, 2)), 100)
    later = sitting(filled(path, 4))
    assert len(answer(later, 100)) == 10
    assert audit_of(later).labels == 20


def test_a_chosen_prompt_that_the_audit_draws_counts_there_and_is_not_asked(path: Path) -> None:
    at = sitting(filled(path), purpose=Purpose.CHOSEN)
    chosen = answer(at, 10)
    assert all(prompt.why_asked is WhyAsked.CHOSEN for prompt in chosen)
    assert at.audit() is None
    at.purpose = Purpose.AUDIT
    audited = answer(at, 100)
    assert len(audited) == 30
    assert not {prompt.id for prompt in chosen} & {prompt.id for prompt in audited}
    assert audit_of(at).labels == 40
    kept = [at.inbox.prompts[prompt.id] for prompt in chosen]
    assert all(prompt.why_asked is WhyAsked.AUDIT and prompt.chance for prompt in kept)


def test_drafts_are_chosen_and_never_audited(path: Path) -> None:
    filled(path, 1)
    Inbox(path, Intent.BLOCK).add([LoggedPrompt("a draft on tax", "draft: by hand", draft=True)])
    at = sitting(path)
    asked = answer(at, 100)
    assert len(asked) == 5
    at.purpose = Purpose.CHOSEN
    assert [prompt.text for prompt in answer(at, 100)] == ["a draft on tax"]
    assert audit_of(at).prompts == 5


def test_without_verdicts_of_production_the_audit_is_of_the_engine_and_its_definition(
    path: Path,
) -> None:
    at = sitting(filled(path, judged=False))
    answer(at, 40)
    audit = audit_of(at)
    assert (audit.who, audit.topic) == ("the engine", TOPIC)
    assert audit.title == (
        "in production, the engine: estimated from 40 labels on a random sample of a log of 40 "
        "prompts"
    )


@pytest.mark.parametrize(
    ("definition", "who"),
    [(TOPIC.fingerprint, "corp with this definition"), ("rev-7", "corp with definition rev-7")],
)
def test_the_audit_names_the_definition_of_production(
    path: Path, definition: str, who: str
) -> None:
    Inbox(path, Intent.BLOCK).add(
        [
            LoggedPrompt("my tax?", "log:1", (Production(True, "corp", definition),)),
            LoggedPrompt("my soup?", "log:2", (Production(False, "corp", definition),)),
            LoggedPrompt("older", "log:3", (Production(False, "corp", ""),)),
        ]
    )
    at = sitting(path)
    assert len(answer(at, 10)) == 2  # what another definition judged is not in its rates
    audit = audit_of(at)
    assert (audit.who, audit.prompts) == (who, 2)


# --- chosen prompts ---------------------------------------------------------------------------


def test_prompts_like_those_of_the_step_come_first_and_the_line_counts_down(path: Path) -> None:
    at = sitting(filled(path), like=("a word on dragons",), wanted=2, purpose=Purpose.CHOSEN)
    assert "about 2 more would tell" in at.line()
    asked = answer(at, 3)
    assert all("dragons" in prompt.text for prompt in asked)
    assert at.line().endswith("\nenough")
    assert len(answer(at, 100)) == 37
    assert at.draw() is None
    assert at.audit() is None


# --- two definitions --------------------------------------------------------------------------


def test_an_edit_is_compared_by_labels_that_the_audit_keeps(path: Path) -> None:
    poor = TOPIC.model_copy(update={"description": "Lentil soup", "examples": ("Bread and soup",)})
    at = sitting(filled(path), before=(poor, None))
    answer(at, 3)
    assert purposes(at) == [Purpose.COMPARE, Purpose.CHOSEN, Purpose.AUDIT]
    at.purpose = Purpose.COMPARE
    asked = answer(at, 100)
    assert all(prompt.why_asked is WhyAsked.AUDIT for prompt in asked)
    line = at.line()
    assert "by the engine\nenough: your edit is better: coverage +" in line
    at.purpose = Purpose.AUDIT
    assert audit_of(at).rates.belonging.low == audit_of(at).rates.belonging.high == 0.5


@pytest.mark.parametrize("rest", [0, 24])
def test_a_guardrail_that_judged_the_log_by_both_definitions_compares_them(
    path: Path, rest: int
) -> None:
    topic = path.with_suffix(".yaml")
    topic.write_text(TOPIC.model_dump_json())
    before = TOPIC.model_copy(update={"description": "Tax of old"})
    inbox = Inbox(path, Intent.BLOCK)
    texts = [f"tell me more of {thing} in {n} words" for n in range(8) for thing in THINGS]
    for definition, wrong in ((before, 3), (TOPIC, 0)):
        said = [belongs(text) and line % 4 >= wrong for line, text in enumerate(texts)]
        inbox.add(
            LoggedPrompt(text, "log", (Production(triggered, "airs:prod", definition.fingerprint),))
            for text, triggered in zip(texts[rest:], said[rest:], strict=True)
        )
    inbox.add(LoggedPrompt(text, "log") for text in texts)
    _scan(topic, before)
    at = sitting(path, before=(before, None), sources=VerdictSources(topic, inbox))
    at.purpose = Purpose.COMPARE
    answer(at, 100)
    who, decision, *more = at.line().splitlines()
    judged = f" on {40 - rest} of 40 prompts of the log, the engine on the others" if rest else ""
    assert who == f"to compare your edit with the baseline, by AIRS prod{judged}"
    assert decision.startswith("enough: your edit is better: coverage +")
    assert not more
    # What the guardrail was asked of labelled prompts is a figure of its own.
    _scan(topic, TOPIC)
    at = sitting(path, before=(before, None), sources=VerdictSources(topic, inbox))
    assert not at.line().splitlines()[2:]
    at.purpose = Purpose.COMPARE
    *_, by_scans = at.line().splitlines()
    assert by_scans.startswith("AIRS prod, on 3 labelled prompts that it judged by both: coverage")


def _scan(topic: Path, definition: Topic) -> None:
    """Record a scan of the first three prompts, right only by the edit."""
    keys = prompt_keys([f"tell me more of {thing} in 0 words" for thing in THINGS[:3]])
    expected = np.array([belongs(thing) for thing in THINGS[:3]])
    columns = VerdictColumns(3)
    for row, label in enumerate(expected.tolist()):
        columns.put([row], Given(Triggered(label is (definition is TOPIC))))
    evaluation = Evaluation(
        definition, airs_settings("prod"), "other", keys, expected, columns.verdicts()
    )
    store = SessionStore(topic)
    store.add_iteration(Iteration(0, "2026-01-01T00:00:00Z", Decision.UNDECIDED, evaluation))


def test_definitions_whose_verdicts_do_not_differ_are_not_compared(path: Path) -> None:
    same = TOPIC.model_copy(update={"name": "Tax "})
    for before in ((same, None), None):
        assert purposes(sitting(filled(path), before=before)) == [Purpose.CHOSEN, Purpose.AUDIT]


def test_each_definition_is_judged_at_its_own_threshold(path: Path) -> None:
    same = TOPIC.model_copy(update={"name": "Tax "})
    assert Purpose.COMPARE in purposes(sitting(filled(path), before=(same, 0.999)))


# --- machines say nothing before the answer ----------------------------------------------------


@pytest.mark.parametrize(("intent", "blocked"), [(Intent.BLOCK, True), (Intent.ALLOW, False)])
def test_what_machines_said_comes_with_the_answer(
    path: Path, intent: Intent, blocked: bool
) -> None:
    path.unlink()
    Inbox(path, intent).add([LoggedPrompt("My tax?", "log:1", (Production(blocked, "corp"),))])
    at = sitting(path, TOPIC.model_copy(update={"intent": intent}))
    prompt = at.draw()
    assert prompt is not None
    given = at.give(prompt, Answer.BELONGS, "asks")
    assert given.verdicts[0] == Verdict("corp", belongs=True, definition=UNKNOWN)
    assert given.verdicts[1].who == "the engine"
    assert at.write() == []
    assert at.inbox.prompts[prompt.id].reason == "asks"


# --- undo -------------------------------------------------------------------------------------


def test_undo_asks_the_same_prompt_again_and_then_the_one_that_was_shown(path: Path) -> None:
    at = sitting(filled(path))
    (first,) = answer(at, 1)
    shown = at.draw()
    assert shown is not None
    undone = at.undo()
    assert undone is not None
    at.put_back(shown)
    assert undone.id == first.id
    assert path.read_text() == CSV
    assert at.given == []
    at.give(undone, Answer.SET_ASIDE)
    assert at.write() == []
    again = at.draw()
    assert again is not None
    assert again.id == shown.id
    assert at.inbox.prompts[first.id].state is State.SET_ASIDE
    assert at.standing.labelled == 0
    assert at.undo() is not None
    assert at.undo() is None


# --- two people -------------------------------------------------------------------------------


def test_two_people_are_never_asked_the_same_prompt_and_see_each_others_labels(
    path: Path,
) -> None:
    people = [sitting(filled(path)), sitting(path)]
    asked: list[str] = []
    for _ in range(20):
        drawn = [at.draw() for at in people]
        for at, prompt in zip(people, drawn, strict=True):
            assert prompt is not None
            asked.append(prompt.id)
            at.give(prompt, Answer.BELONGS if belongs(prompt.text) else Answer.DOES_NOT_BELONG)
            assert at.write() == []
    assert len(set(asked)) == len(asked) == 40
    assert [at.draw() for at in people] == [None, None]
    assert [audit_of(at).labels for at in people] == [40, 40]
    assert [len(at.given) for at in people] == [20, 20]


@pytest.mark.parametrize("read_before", [False, True])
def test_a_label_that_somebody_else_gave_meanwhile_stands(path: Path, read_before: bool) -> None:
    at = sitting(filled(path))
    prompt = at.draw()
    assert prompt is not None
    Inbox(path, Intent.BLOCK).label(prompt.id, True)
    if read_before:
        assert at.draw() is not None
    at.give(prompt, Answer.DOES_NOT_BELONG)
    (problem,) = at.write()
    assert isinstance(problem, LabelledMeanwhileError)
    assert (at.given, at.unwritten) == ([], 0)
    assert at.inbox.prompts[prompt.id].expected is True


# --- failures ---------------------------------------------------------------------------------


def failing(paths: Sequence[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, *_: object, **__: object) -> None:
        if path in paths:
            raise FileError(path, "no space left on device")

    monkeypatch.setattr("guardtui.files.label_edits.write_atomically", fail)


def test_an_answer_that_cannot_be_written_is_kept_and_written_with_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = sitting(filled(path))
    with monkeypatch.context() as broken:
        failing([path], broken)
        for count in (1, 2):
            prompt = at.draw()
            assert prompt is not None
            at.give(prompt, Answer.BELONGS)
            assert [str(one) for one in at.write()] == [f"{path}: no space left on device"] * count
        assert (at.unwritten, len(at.given)) == (2, 2)
        assert at.standing.waiting == 38
        assert path.read_text() == CSV
    answer(at, 1)
    assert at.unwritten == 0
    assert path.read_text().count("tell me") == 3


def test_an_answer_that_was_never_written_can_be_undone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = sitting(filled(path))
    failing([path], monkeypatch)
    prompt = at.draw()
    assert prompt is not None
    at.give(prompt, Answer.BELONGS)
    assert len(at.write()) == 1
    undone = at.undo()
    assert undone is not None
    assert undone.id == prompt.id
    assert (at.unwritten, at.given) == (0, [])


def test_undo_takes_back_the_last_answer_even_if_an_earlier_one_was_written_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = sitting(filled(path))
    first, label = at.draw(), at.inbox.label
    assert first is not None
    at.give(first, Answer.BELONGS)
    last = at.draw()
    assert last is not None

    def fail(name: str, expected: bool, reason: str = "") -> InboxPrompt:
        if name == first.id:
            raise FileError(path, "another program has it open")
        return label(name, expected, reason)

    at.give(last, Answer.DOES_NOT_BELONG)
    with monkeypatch.context() as patched:
        patched.setattr(at.inbox, "label", fail)
        assert len(at.write()) == 1
    assert at.write() == []
    undone = at.undo()
    assert undone is not None
    assert undone.id == last.id
    assert at.inbox.prompts[last.id].expected is None
    assert at.inbox.prompts[first.id].expected is True


def test_rows_that_another_program_changed_meanwhile_stay(path: Path) -> None:
    at = sitting(filled(path))
    prompt = at.draw()
    assert prompt is not None
    at.give(prompt, Answer.BELONGS)
    path.write_text(CSV + "a row of another program,false,block\n")
    assert at.write() == []
    text = path.read_text()
    assert "a row of another program,false,block\n" in text
    assert prompt.text in text
    path.write_text("broken\n")
    with pytest.raises(FileError, match="column prompt is missing"):
        at.draw()
    path.write_text(text)
    assert at.draw() is not None
