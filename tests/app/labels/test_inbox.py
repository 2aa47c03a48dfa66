"""The inbox: states, undo, imports, several people at once, and no label lost."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from guardtui.app.labels.drift import changes_text
from guardtui.app.labels.inbox import (
    Inbox,
    InboxError,
    LabelledMeanwhileError,
    keep_relabelled,
)
from guardtui.domain.inbox import Production, State, WhyAsked, prompt_id
from guardtui.domain.prompt_edit import Relabel
from guardtui.domain.prompts import chosen_caution
from guardtui.domain.topic import Intent
from guardtui.files.labelled_tables import LabelledRow, read_labelled
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.reports.inbox import inbox_csv
from guardtui.session.workspace import Workspace

CSV = "prompt,expected,intent,note\na,true,block,1\nb,false,block,2\nwaits,,block,3\n"
A, B, WAITS, LOGGED, OTHER = map(prompt_id, ("a", "b", "waits", "logged", "other"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "p.csv"
    path.write_text(CSV)
    return path


def opened(path: Path) -> Inbox:
    return Inbox(path, Intent.BLOCK, path.parent / "backups")


def logged(*texts: str) -> Iterable[LoggedPrompt]:
    return (LoggedPrompt(text, f"log:{line}") for line, text in enumerate(texts, start=1))


@pytest.fixture
def inbox(path: Path) -> Inbox:
    inbox = opened(path)
    inbox.add(logged("logged", "other"))
    inbox.refresh()
    return inbox


def states(inbox: Inbox) -> dict[str, State]:
    return {prompt.text: prompt.state for prompt in inbox.own}


def test_a_text_is_added_once_and_not_if_the_prompt_set_has_it(inbox: Inbox, path: Path) -> None:
    added = inbox.add(logged("x", "x", "a", "waits", "logged", "y\0", "X"))
    assert (added.added, added.repeated, added.in_set, added.in_inbox) == (2, 1, 2, 1)
    assert added.unusable == 1
    assert inbox.add(logged(*["x"] * 10_000)).repeated == 9_999
    inbox.refresh()
    assert list(states(inbox)) == ["waits", "logged", "other", "x", "X"]
    assert inbox.prompts[LOGGED].origin == "log:1"
    assert inbox.prompts[WAITS].origin == "p.csv"


def test_a_log_that_cannot_be_read_changes_nothing(inbox: Inbox, path: Path) -> None:
    def broken() -> Iterable[LoggedPrompt]:
        yield LoggedPrompt("new", "log:1")
        raise FileError("log", "broken")

    before = inbox.path.read_bytes()
    with pytest.raises(FileError, match="broken"):
        inbox.add(broken())
    assert inbox.path.read_bytes() == before
    left = {file.name for file in path.parent.iterdir()}
    # filelock before 3.30 removes the lock.
    assert left - {".p.inbox.jsonl.lock"} == {"p.csv", "p.inbox.jsonl"}


def test_what_another_program_added_meanwhile_is_not_added_again(inbox: Inbox, path: Path) -> None:
    def slow() -> Iterable[LoggedPrompt]:
        yield LoggedPrompt("x", "log:1")
        opened(path).add(logged("x", "y"))

    assert inbox.add(slow()).in_inbox == 1
    inbox.refresh()
    assert list(states(inbox))[-2:] == ["x", "y"]


def test_labels_fill_cells_or_append_rows_and_undo_takes_them_back(
    inbox: Inbox, path: Path
) -> None:
    filled = inbox.label(WAITS, True, "it asks for advice")
    assert (filled.state, filled.expected, filled.in_set) == (State.LABELLED, True, True)
    inbox.label(LOGGED, False)
    assert path.read_text() == CSV.replace("waits,,", "waits,true,") + "logged,false,block,\n"
    assert inbox.counts == {State.UNLABELLED: 1, State.LABELLED: 2, State.SET_ASIDE: 0}
    assert opened(path).prompts[WAITS].reason == "it asks for advice"
    assert inbox.label(LOGGED, True).changes[-1].before is False
    for expected in (False, None):
        undone = inbox.undo()
        assert undone is not None
        assert undone.expected is expected
    assert path.read_text() == CSV.replace("waits,,", "waits,true,")
    assert inbox.undo() == inbox.prompts[WAITS]
    assert path.read_text() == CSV
    assert inbox.undo() is None
    assert (path.parent / "backups" / "p.csv.1.bak").read_text() == CSV


def test_prompts_set_aside_stay_in_the_inbox(inbox: Inbox, path: Path) -> None:
    inbox.set_aside(LOGGED, "unclear")
    inbox.set_aside(WAITS)
    assert path.read_text() == CSV
    assert states(opened(path)) == {
        "logged": State.SET_ASIDE, "other": State.UNLABELLED, "waits": State.SET_ASIDE,
    }  # fmt: skip
    assert len(load_prompts(path).waiting) == 1
    assert inbox.undo() is not None
    assert len(load_prompts(path).waiting) == 2
    inbox.label(LOGGED, True)
    assert inbox.set_aside(LOGGED).state is State.SET_ASIDE
    assert path.read_text() == CSV
    assert inbox.undo() is not None
    assert inbox.prompts[LOGGED].expected is True


def test_labels_make_a_prompt_set_where_there_was_none(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "new.csv", Intent.ALLOW)
    inbox.add(logged("one", "two"))
    inbox.refresh()
    inbox.label(prompt_id("one"), True)
    inbox.label(prompt_id("two"), False)
    assert (tmp_path / "new.csv").read_text() == (
        "prompt,expected,intent\none,true,allow\ntwo,false,allow\n"
    )


def test_the_prompt_set_decides_on_labels(inbox: Inbox, path: Path) -> None:
    inbox.label(LOGGED, True, "why")
    path.write_text(path.read_text().replace("logged,true", "logged,false"))
    changed = opened(path).prompts[LOGGED]
    assert (changed.expected, changed.reason) == (False, "")
    assert [change.after for change in changed.changes] == [True, False]
    path.write_text(CSV)
    inbox.refresh()
    assert inbox.prompts[LOGGED].state is State.UNLABELLED
    assert inbox.label(LOGGED, True).expected is True


def test_changed_labels_are_counted(inbox: Inbox) -> None:
    for expected in (True, False, False, True):
        inbox.label(LOGGED, expected)
    inbox.label(OTHER, True)
    assert changes_text(inbox.own, datetime.now(UTC)) == "2 labels changed today"


def test_why_and_with_which_chance_is_kept(inbox: Inbox, path: Path) -> None:
    inbox.ask({LOGGED: 0.25, WAITS: 1.0}, WhyAsked.AUDIT)
    inbox.label(LOGGED, True)
    inbox.ask({OTHER: None}, WhyAsked.CHOSEN)
    for one in (inbox, opened(path)):
        prompts = one.prompts
        assert (prompts[LOGGED].why_asked, prompts[LOGGED].chance) == (WhyAsked.AUDIT, 0.25)
        assert prompts[LOGGED].changes[0].why_asked is WhyAsked.AUDIT
        assert prompts[LOGGED].asked_at <= prompts[LOGGED].labelled_at
        assert (prompts[OTHER].why_asked, prompts[OTHER].chance) == (WhyAsked.CHOSEN, None)


def test_the_second_person_sees_the_label_of_the_first(inbox: Inbox, path: Path) -> None:
    other = opened(path)
    inbox.label(LOGGED, True, "mine")
    with pytest.raises(LabelledMeanwhileError, match=r"someone else labelled .* true") as caught:
        other.label(LOGGED, False)
    assert caught.value.prompt.reason == "mine"
    assert other.prompts[LOGGED].expected is True
    assert other.label(OTHER, False).expected is False
    with pytest.raises(LabelledMeanwhileError):
        inbox.set_aside(OTHER)
    assert other.label(LOGGED, False).expected is False  # seen now, and changed on purpose
    with pytest.raises(LabelledMeanwhileError):
        inbox.undo()
    assert inbox.prompts[LOGGED].expected is False
    assert len(load_prompts(path)) == 4


def test_an_audit_that_draws_a_labelled_prompt_has_its_label(inbox: Inbox, path: Path) -> None:
    inbox.ask({LOGGED: None}, WhyAsked.CHOSEN)
    inbox.label(LOGGED, True)
    inbox.set_aside(OTHER)
    assert inbox.ask({LOGGED: 0.2, OTHER: 0.3, WAITS: 0.4, A: 0.5}, WhyAsked.AUDIT) == (WAITS,)
    drawn = {one.text: one.chance for one in opened(path).own if one.why_asked is WhyAsked.AUDIT}
    assert drawn == {"logged": 0.2, "other": 0.3, "waits": 0.4, "a": 0.5}
    assert inbox.ask({WAITS: None}, WhyAsked.CHOSEN) == (WAITS,)
    assert (inbox.prompts[WAITS].why_asked, inbox.prompts[WAITS].chance) == (WhyAsked.AUDIT, 0.4)
    assert inbox.prompts[LOGGED].changes[0].why_asked is WhyAsked.CHOSEN


def test_a_prompt_is_put_to_one_person_at_a_time(
    inbox: Inbox, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened(path)
    assert inbox.ask({LOGGED: 0.5, WAITS: 0.5}, WhyAsked.AUDIT) == (LOGGED, WAITS)
    assert other.ask({LOGGED: 0.1, OTHER: 0.1}, WhyAsked.AUDIT) == (OTHER,)
    assert other.prompts[LOGGED].chance == 0.5
    assert inbox.ask({LOGGED: 0.5, OTHER: 0.5}, WhyAsked.CHOSEN) == (LOGGED,)
    other.label(OTHER, True)
    other.set_aside(WAITS)
    assert inbox.ask({OTHER: None, WAITS: None, A: None, "no": None}, WhyAsked.CHOSEN) == ()
    monkeypatch.setattr("guardtui.app.labels.inbox._TAKEN", timedelta(0) - timedelta(seconds=1))
    assert opened(path).ask({LOGGED: 0.3}, WhyAsked.AUDIT) == (LOGGED,)


def test_dropped_prompts_are_gone_for_good(inbox: Inbox, path: Path) -> None:
    other = opened(path)
    inbox.set_aside(LOGGED)
    assert inbox.drop([LOGGED, OTHER]) == 2
    assert "logged" not in inbox.path.read_text()
    assert inbox.undo() is None
    with pytest.raises(InboxError, match="someone else removed it"):
        other.label(LOGGED, True)
    for name in (WAITS, A):
        with pytest.raises(InboxError, match=r"a row of .*p.csv: nothing was removed"):
            inbox.drop([name])
    inbox.add(logged("logged"))
    inbox.refresh()
    assert inbox.prompts[LOGGED].state is State.UNLABELLED


def test_prompts_are_found_by_the_start_of_their_id(inbox: Inbox) -> None:
    assert inbox.find(LOGGED[:6].upper()).text == "logged"
    for word in (LOGGED[:2], "0" * 16, "x"):
        with pytest.raises(InboxError, match="guardtui inbox list"):
            inbox.find(word)


def test_labels_of_an_export_come_back(inbox: Inbox, path: Path, tmp_path: Path) -> None:
    inbox.add(logged("=1+1\x1b", "two\nlines", "rest"))
    inbox.refresh()
    inbox.label(OTHER, True)
    table = tmp_path / "out.csv"
    table.write_text(inbox_csv(inbox.own))
    assert "\x1b" not in table.read_text()
    rows = list(csv.DictReader(table.open()))
    assert all(row["prompt"][:1] not in "=+-@" for row in rows)
    answers = {"logged": "TRUE", "other": "no", "two↵lines": "f", "waits": "true"}
    for row in rows:
        row["expected"] = answers.get(row["prompt"], "yes" if "1+1" in row["prompt"] else "")
        row["reason"] = "elsewhere"
        row["id"] = "" if row["prompt"] in ("logged", "two↵lines") else row["id"]
    rows.append({"prompt": "nobody knows", "expected": "1"})
    rows.append({"prompt": "a", "expected": "1"})
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    imported = inbox.import_labels(read_labelled(table))
    assert (imported.labelled, imported.same, imported.empty) == (4, 1, 1)
    assert [row.prompt for row in imported.unknown] == ["nobody knows"]
    assert [prompt.text for _, prompt in imported.contradicting] == ["other"]
    labels = dict(
        zip(load_prompts(path).prompts, load_prompts(path).expected.tolist(), strict=True)
    )
    assert labels == {
        "a": True, "b": False, "waits": True, "logged": True, "other": True, "=1+1\x1b": True,
        "two\nlines": False,
    }  # fmt: skip
    assert inbox.prompts[LOGGED].reason == "elsewhere"
    replaced = inbox.import_labels(read_labelled(table), replace=True)
    assert (replaced.labelled, replaced.contradicting) == (1, [])
    assert inbox.prompts[OTHER].expected is False


def test_two_labels_for_one_prompt_in_an_import_contradict(inbox: Inbox) -> None:
    rows = [LabelledRow(2, LOGGED, "", True, ""), LabelledRow(3, "", "logged", False, "")]
    imported = inbox.import_labels(rows, replace=True)
    assert (imported.labelled, len(imported.contradicting)) == (1, 1)


def test_verdicts_of_production_are_kept_of_all_prompts_and_all_answers(
    inbox: Inbox, path: Path
) -> None:
    said, other = Production(True, "airs:prod", "r3"), Production(False, "airs:prod", "r3")
    labelled = next(prompt for prompt in inbox.prompts.values() if prompt.expected is not None)
    logged = [
        LoggedPrompt("new", "log:9", (said,)),
        LoggedPrompt("new", "log:10", (said,)),
        LoggedPrompt(labelled.text, "log:11", (other,)),
    ]
    added = inbox.add(logged)
    assert (added.added, added.repeated, added.in_set) == (1, 1, 1)
    assert len(inbox.path.read_text().splitlines()) == 4
    inbox.add(logged)
    assert len(inbox.path.read_text().splitlines()) == 4
    assert opened(path).prompts[prompt_id("new")].production == (said,)
    assert opened(path).prompts[labelled.id].production == (other,)
    assert labelled.id not in {prompt.id for prompt in opened(path).own}
    inbox.add([LoggedPrompt("new", "log:12", (other,))])
    both = (Production(None, "airs:prod", "r3"),)
    assert opened(path).prompts[prompt_id("new")].production == both


def test_a_changed_label_of_a_prompt_that_never_waited_is_kept_as_a_change(path: Path) -> None:
    path.write_text(CSV + "c,true,block,4\nd,false,block,5\n")
    inbox = opened(path)
    inbox.label(A, False, "changed my mind")
    (before, change) = opened(path).prompts[A].changes
    assert (before.at, before.before, before.after) == ("", None, True)
    assert (change.before, change.after, change.reason) == (True, False, "changed my mind")
    # As the app does it, in the results.
    then = load_prompts(path, Intent.BLOCK)
    path.write_text(path.read_text().replace("b,false", "b,true").replace("a,false", "a,true"))
    keep_relabelled(path, then, load_prompts(path, Intent.BLOCK))
    keep_relabelled(path, then, then)
    inbox = opened(path)
    assert [one.after for one in inbox.prompts[A].changes] == [True, False, True]
    assert [one.after for one in inbox.prompts[B].changes] == [False, True]
    assert inbox.prompts[A].labelled_at
    assert changes_text(inbox.prompts.values(), datetime.now(UTC)) == "3 labels changed today"
    assert {prompt.id for prompt in inbox.own} == {WAITS}


def test_labelled_prompts_that_were_chosen_are_counted_unless_the_audit_drew_them(
    inbox: Inbox, path: Path
) -> None:
    for name, why in ((LOGGED, WhyAsked.CHOSEN), (OTHER, WhyAsked.CHOSEN), (WAITS, WhyAsked.AUDIT)):
        inbox.ask({name: None}, why)
    for name in (LOGGED, WAITS):
        inbox.label(name, True)
    assert load_prompts(path).chosen == 1
    inbox.ask({LOGGED: 0.5}, WhyAsked.AUDIT)
    assert load_prompts(path).chosen == 0
    inbox.label(OTHER, False)
    prompts = load_prompts(path)
    assert chosen_caution(prompts).startswith("1 of 5 prompts were chosen since they teach")
    assert chosen_caution(replace(prompts, chosen=0)) == ""


def test_a_failed_write_of_the_prompt_set_leaves_the_inbox(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise FileError("p.csv", "the disk is full")

    before = inbox.path.read_bytes()
    monkeypatch.setattr("guardtui.app.labels.inbox.write_labels", full)
    with pytest.raises(FileError, match="full"):
        inbox.label(LOGGED, True)
    assert inbox.path.read_bytes() == before
    assert inbox.prompts[LOGGED].state is State.UNLABELLED
    assert inbox.undo() is None


def test_a_program_killed_between_the_files_loses_no_label(inbox: Inbox, path: Path) -> None:
    written = path.read_bytes()
    inbox.label(LOGGED, True)
    lines = inbox.path.read_bytes().splitlines(keepends=True)
    for end in (len(lines[-1]), 10):  # the line of the label was not written, or partly
        inbox.path.write_bytes(b"".join(lines)[:-end])
        again = opened(path)
        assert again.prompts[LOGGED].expected is True
        assert again.label(LOGGED, False).expected is False
        assert again.take_back(LOGGED).state is State.UNLABELLED
        path.write_bytes(written)
        opened(path).label(LOGGED, True)
        lines = inbox.path.read_bytes().splitlines(keepends=True)


def test_an_opened_topic_takes_the_labels_of_its_inbox(path: Path) -> None:
    topic = path.with_name("p.yaml")
    topic.write_text("name: n\ndescription: d\nexamples: [x, y]\nintent: block\n")
    workspace = Workspace.open(topic)
    assert len(workspace.prompts.waiting) == 1
    inbox = Inbox.of_workspace(workspace)
    inbox.label(WAITS, True)
    workspace.reread_prompts()
    assert workspace.prompts.prompts.to_list() == ["a", "b", "waits"]
    assert not workspace.prompts.waiting
    assert workspace.changed_prompts() is None
    workspace.edit_prompts(Relabel(frozenset({int(WAITS, 16)})))
    inbox.refresh()
    assert inbox.prompts[WAITS].expected is False
    workspace.undo_prompts()
    inbox.refresh()
    assert inbox.prompts[WAITS].expected is True


# --- any order of the work of two people ----------------------------------------------------------


class TwoPeople(RuleBasedStateMachine):
    """Two objects on one inbox, as two processes have; the model is a dict of states."""

    @initialize()
    def start(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "p.csv")
        self.path.write_text(CSV)
        self.people = [opened(self.path), opened(self.path)]
        self.labels: dict[str, bool | None] = {"a": True, "b": False, "waits": None}
        self.log = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(person=st.integers(0, 1), count=st.integers(1, 3))
    def add(self, person: int, count: int) -> None:
        texts = [f"text {self.log + number}" for number in range(count)]
        self.log += count
        self.people[person].add(logged(*texts, texts[0], "a"))
        self.labels |= dict.fromkeys(texts)

    @rule(
        person=st.integers(0, 1), row=st.integers(0, 50), label=st.sampled_from((True, False, None))
    )
    def label(self, person: int, row: int, label: bool | None) -> None:
        inbox = self.people[person]
        names = list(inbox.prompts)
        name = names[row % len(names)]
        text = inbox.prompts[name].text
        try:
            if label is None:
                inbox.set_aside(name)
            else:
                inbox.label(name, label)
        except LabelledMeanwhileError:
            assert inbox.prompts[name].expected is self.labels[text]
        except InboxError:
            assert text not in self.labels
        else:
            self.labels[text] = label

    @rule(person=st.integers(0, 1))
    def undo(self, person: int) -> None:
        try:
            undone = self.people[person].undo()
        except InboxError:
            return
        if undone is not None:
            self.labels[undone.text] = undone.expected

    @rule(person=st.integers(0, 1), row=st.integers(0, 50))
    def drop(self, person: int, row: int) -> None:
        inbox = self.people[person]
        waiting = [one for one in inbox.own if not one.in_set]
        if waiting:
            dropped = waiting[row % len(waiting)]
            try:
                inbox.drop([dropped.id])
            except InboxError:
                assert self.labels.get(dropped.text) is not None or dropped.text not in self.labels
            else:
                del self.labels[dropped.text]

    @rule(
        person=st.integers(0, 1),
        given=st.lists(st.tuples(st.integers(0, 50), st.booleans())),
        replace=st.booleans(),
    )
    def import_labels(self, person: int, given: list[tuple[int, bool]], replace: bool) -> None:
        inbox = self.people[person]
        texts = [prompt.text for prompt in inbox.prompts.values()]
        named = {texts[row % len(texts)]: label for row, label in given}
        rows = [LabelledRow(1, "", text, label, "") for text, label in named.items()]
        imported = inbox.import_labels(rows, replace=replace)
        refused = {prompt.text for _, prompt in imported.contradicting}
        for text, label in named.items():
            if text in self.labels and text not in refused:
                self.labels[text] = label
            elif text in refused:
                assert self.labels[text] is (not label)

    @invariant()
    def no_label_is_lost(self) -> None:
        if not hasattr(self, "path"):
            return
        with self.path.open(newline="") as file:
            rows = {row["prompt"]: row for row in csv.DictReader(file)}
        words = {True: "true", False: "false"}
        for text, label in self.labels.items():
            if label is not None:
                assert rows[text]["expected"] == words[label]
        assert {text: rows[text]["note"] for text in ("a", "b", "waits")} == {
            "a": "1", "b": "2", "waits": "3",
        }  # fmt: skip
        fresh = opened(self.path)
        found = {prompt.text: prompt.expected for prompt in fresh.prompts.values()}
        assert found == self.labels


@pytest.mark.hypothesis
def test_no_label_is_lost_in_any_order_of_the_work_of_two_people() -> None:
    run_state_machine_as_test(TwoPeople, settings=settings(stateful_step_count=12))  # type: ignore[no-untyped-call]
