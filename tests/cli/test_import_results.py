"""`import-results` as a process: into the session, or nothing at all."""

from __future__ import annotations

from pathlib import Path

from guardtui.session.imported import read_imported
from guardtui.session.store import SessionStore

from .conftest import Run

LOG = (
    "iteration\tcoverage\ttpr\ttnr\tf1\tstatus\tdescription\texamples\n"
    "0\t0.500\t0.750\t0.500\t0.600\tkeep\tAdvice on taxes\tone|two\n"
    "1\t0.400\t0.400\t0.900\t0.500\tdiscard\tTaxes\tone|two\n"
)


def test_a_log_is_imported_and_again(run: Run, folder: Path) -> None:
    (folder / "results.tsv").write_text(LOG, "utf-8")
    store = SessionStore(folder / "topic.yaml")
    store.update_settings({"encoder": "static"})
    for _ in range(2):
        result = run("import-results", "results.tsv", "topic.yaml")
        assert (result.code, result.out) == (0, "")
        assert result.err.startswith("2 iterations imported")
        found = read_imported(store)
        assert [one.description for one in found] == ["Advice on taxes", "Taxes"]
    assert store.settings()["encoder"] == "static"
    assert store.iterations() == []


def test_invalid_log_changes_nothing(run: Run, folder: Path) -> None:
    (folder / "results.tsv").write_text(LOG.replace("0.900", "90 %"), "utf-8")
    result = run("import-results", "results.tsv", "topic.yaml")
    assert (result.code, result.out) == (2, "")
    assert "results.tsv:3: tnr '90 %' is not a number from 0 to 1" in result.err
    assert not (folder / ".guardtui").exists()


def test_missing_topic_is_an_error(run: Run, folder: Path) -> None:
    (folder / "results.tsv").write_text(LOG, "utf-8")
    result = run("import-results", "results.tsv", "gone.yaml")
    assert result.code == 2
    assert "gone.yaml: no such file" in result.err
    assert run("import-results", "gone.tsv", "topic.yaml").code == 2
