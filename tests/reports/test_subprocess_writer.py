"""Reports made in a process of their own: the same bytes, and what fails there is told here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from guardtui.reports import subprocess_writer
from guardtui.reports.base import ReportError, ReportInput
from guardtui.reports.formats import FORMATS, load_writer
from guardtui.reports.subprocess_writer import report_bytes

pytestmark = pytest.mark.process

PLUGIN = """\
import os

def write(report):
    print("noise on standard output")
    os.write(2, b"and on the other")
    {body}
"""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess_writer, "LARGE", 1)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that is found by the path of this process only, and adds the format `acme`."""
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[guardtui.reports]\nacme = acme_plugin:write\n", "utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "acme_plugin", raising=False)
    return tmp_path / "acme_plugin.py"


@pytest.mark.parametrize("name", FORMATS)
def test_the_bytes_are_those_of_the_writer(report: ReportInput, elsewhere: None, name: str) -> None:
    assert report_bytes(name, report) == load_writer(name)(report).encode("utf-8", "replace")


def test_a_format_of_another_package_is_found_there_too_and_its_noise_is_not(
    report: ReportInput, elsewhere: None, plugin: Path
) -> None:
    plugin.write_text(PLUGIN.format(body='return f"{report.topic.name} {os.getpid()}"'), "utf-8")
    name, pid = report_bytes("acme", report).decode().rsplit(" ", 1)
    assert name == report.topic.name
    assert int(pid) != __import__("os").getpid()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('raise KeyError("the text of a prompt")', "KeyError"),
        ("os._exit(9)", "exit code 9"),
        ("os.kill(os.getpid(), 9)", "exit code -9"),
    ],
)
def test_failures_are_reported_without_their_message(
    report: ReportInput, elsewhere: None, plugin: Path, body: str, told: str
) -> None:
    plugin.write_text(PLUGIN.format(body=body), "utf-8")
    with pytest.raises(ReportError) as caught:
        report_bytes("acme", report)
    assert told in str(caught.value)
    assert "prompt" not in str(caught.value)


def test_failures_of_small_reports_are_reported_alike(report: ReportInput, plugin: Path) -> None:
    plugin.write_text(PLUGIN.format(body='raise KeyError("secret")'), "utf-8")
    with pytest.raises(ReportError, match=r"could not be made \(KeyError\)"):
        report_bytes("acme", report)
    with pytest.raises(ReportError, match="unknown report format"):
        report_bytes("none of this name", report)


def test_without_a_subprocess_the_report_is_made_in_process(
    report: ReportInput, elsewhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert report_bytes("csv", report) == load_writer("csv")(report).encode()
