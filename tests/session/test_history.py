"""The history: where definitions came from, what is imported, and logs that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.reports import tsv_report
from guardtui.session.history import ImportedRow, history, recorded_history
from guardtui.session.results_log import COLUMNS, read_results
from guardtui.session.session import Decision, Session
from tests.session.test_session import TOPIC, record

HEADER = "\t".join(COLUMNS)
GOOD = "0\t0.800\t0.900\t0.800\t0.840\tkeep\tAdvice on taxes\tone|two"


def described(text: str) -> Topic:
    return TOPIC.model_copy(update={"description": text})


def row(number: int, description: str, file: str = "a.tsv") -> ImportedRow:
    return ImportedRow(number, 0.8, 0.9, 0.8, 0.84, Decision.KEEP, description, ("one",), file)


def test_branch_origin_is_the_most_similar_definition() -> None:
    session = Session(TOPIC)
    for text in ("tax advice", "tax advice on income", "tax fraud, plainly said", "tax advice"):
        record(session, 7, Decision.KEEP, described(text))
    record(session, 7, Decision.KEEP, described("tax advice on income and capital"))
    result = history(session.iterations, (), TOPIC)
    assert [entry.name for entry in result] == ["#0", "#1", "#2", "#3", "#4"]
    origins = [entry.came_from.name if entry.came_from else None for entry in result]
    assert origins == [None, "#0", "#0", "#0", "#1"]
    assert [entry.branched for entry in result] == [False, False, True, True, True]
    assert result[0].what_changed == "first"
    assert result[1].what_changed == "description +“on income”"
    assert result[3].what_changed == "from #0: unchanged"
    assert result[4].what_changed == "from #1: description +“and capital”"


def test_series_of_edits_is_no_branch() -> None:
    session = Session(TOPIC)
    text = "tax"
    for word in ("advice", "on", "income", "of", "persons"):
        text += f" {word}"
        record(session, 5, Decision.DISCARD, described(text))
    assert not any(entry.branched for entry in history(session.iterations, (), TOPIC))


def test_imported_entries_come_first_with_the_topic_name() -> None:
    session = Session(TOPIC)
    record(session, 7, Decision.KEEP)
    result = history(session.iterations, [row(0, "a"), row(1, "a b")], TOPIC)
    assert [entry.name for entry in result] == ["i0", "i1", "#0"]
    assert result[1].topic == Topic(name="Tax", description="a b", examples=("one",))
    assert (result[1].iteration, result[1].scanner, result[1].coverage) == (None, "imported", 0.8)
    assert result[1].what_changed == "description +“b”"
    # What is recorded says the same with an import and without, on the screen and in reports.
    assert result[2].what_changed == recorded_history(session.iterations)[0].what_changed == "first"
    assert history([], (), TOPIC) == []


# --- results.tsv --------------------------------------------------------------------------


def log(folder: Path, *lines: str, end: str = "\n") -> Path:
    path = folder / "results.tsv"
    path.write_bytes(end.join((HEADER, *lines, "")).encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_results_log_is_read(tmp_path: Path, end: str) -> None:
    path = log(tmp_path, GOOD, "", "1\tn/a\t0\t1\t\tDiscard\tx\t", end=end)
    assert read_results(path) == (
        ImportedRow(
            0, 0.8, 0.9, 0.8, 0.84, Decision.KEEP, "Advice on taxes", ("one", "two"), path.name
        ),
        ImportedRow(1, 0.0, 0.0, 1.0, 0.0, Decision.DISCARD, "x", (), path.name),
    )


def test_columns_may_be_in_any_order_with_others_between(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    names = [*reversed(COLUMNS), "Note"]
    cells = [*reversed(GOOD.split("\t")), "said"]
    path.write_text("\ufeff" + "\t".join(names).upper() + "\n" + "\t".join(cells), "utf-8")
    assert read_results(path)[0].description == "Advice on taxes"


def test_exported_log_can_be_imported(tmp_path: Path) -> None:
    from guardtui.reports.base import ReportInput

    session = Session(TOPIC)
    for hits, decision in ((7, Decision.KEEP), (3, Decision.DISCARD), (8, Decision.UNDECIDED)):
        record(session, hits, decision, described(f"tax {hits}"))
    last = session.iterations[-1].evaluation
    report = ReportInput(
        topic=last.topic, evaluation=last, prompts=None, iterations=session.iterations
    )
    path = tmp_path / "results.tsv"
    path.write_text(tsv_report.write(report), "utf-8")
    result = history([], read_results(path), TOPIC)
    expected = history(session.iterations, (), TOPIC)
    for one, other in zip(result, expected, strict=True):
        assert one.topic == other.topic
        assert one.decision is other.decision
        assert one.coverage == pytest.approx(other.coverage, abs=5e-4)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["0\t0.8"], ":2: 2 columns, the header has 8"),
        ([GOOD.replace("0.900", "1.5")], ":2: tpr '1.5' is not a number from 0 to 1"),
        ([GOOD.replace("0.900", "\x1b[31m")], ":2: tpr '␛[31m' is not"),
        ([GOOD.replace("keep", "kept")], ":2: status 'kept' is not keep, discard or undecided"),
        ([GOOD, "-1" + GOOD[1:]], ":3: iteration '-1' is not a number from 0 on"),
        ([GOOD, GOOD], ":3: iteration 0 is already in line 2"),
        ([], "it has no iterations"),
    ],
)
def test_errors_name_their_line(tmp_path: Path, lines: list[str], said: str) -> None:
    path = log(tmp_path, *lines)
    with pytest.raises(FileError) as problem:
        read_results(path)
    assert str(problem.value).startswith(str(path))
    assert said in str(problem.value)


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    path = log(tmp_path, *(GOOD.replace("keep", "x") for _ in range(30)))
    with pytest.raises(FileError) as problem:
        read_results(path)
    text = str(problem.value)
    assert text.count("is not keep") == 20
    assert f"{path}:21: status" in text
    assert "and 10 more" in text


def test_header_without_a_required_column_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("iteration\tcoverage\n0\t1\n")
    with pytest.raises(FileError, match=r"x\.tsv:1: no column 'tpr', 'tnr'"):
        read_results(path)
    path.write_text(HEADER + "\ttpr\n")
    with pytest.raises(FileError, match="'tpr' is duplicated"):
        read_results(path)
