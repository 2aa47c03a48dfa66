"""`guardtui eval`: reports, gates, baselines and every bad input."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import NEGATIVE, POSITIVE, ROOT, TOPIC, Run, prompts_csv

EVAL = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")


@pytest.fixture
def here(folder: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GUARDTUI_CACHE", environment["GUARDTUI_CACHE"])
    return folder


def test_table_on_stdout_and_silence_on_stderr(run: Run) -> None:
    result = run(*EVAL)
    assert (result.code, result.err) == (0, "")
    assert "\ntopic      Tax advice (block)\n" in result.out
    assert "coverage" in result.out


def test_all_lists_every_mistake(run: Run, folder: Path) -> None:
    rows = [f'"Bread number {number} \x1b[31m and tax returns",true,block' for number in range(30)]
    (folder / "prompts.csv").write_text(
        "\n".join(["prompt,expected,intent", "What is rye?,false,block", *rows, ""]), "utf-8"
    )
    few = run(*EVAL, "--threshold", "0.999").out
    every = run(*EVAL, "--threshold", "0.999", "--all").out
    assert "  … and 10 more\n" in few
    assert few.count("Bread number") == 20
    assert "more" not in every
    assert every.count("Bread number") == 30
    assert "\x1b" not in every


@pytest.mark.parametrize(
    ("name", "description", "said"),
    [
        ("", "Tax", "the topic has no name: "),
        ("Tax", "' '", "the topic has no description: "),
        ("''", "", "the topic has no name and no description: "),
    ],
)
def test_a_topic_without_texts_has_a_warning(
    run: Run, folder: Path, name: str, description: str, said: str
) -> None:
    (folder / "topic.yaml").write_text(
        f"name: {name}\ndescription: {description}\nexamples: [How do I deduct it?]\n", "utf-8"
    )
    result = run(*EVAL)
    assert (result.code, f"warning: topic.yaml: {said}" in result.err) == (0, True)


def test_json_counts_every_prompt(run: Run) -> None:
    result = run(*EVAL, "--format", "json", "--threshold", "0.5")
    document = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    assert document["profile"] == ""
    assert (document["threshold"], document["threshold_source"]) == (0.5, "by hand")
    assert document["metrics"]["total"] == len(POSITIVE) + len(NEGATIVE)
    assert [one["prompt"] for one in document["results"]] == [*POSITIVE, *NEGATIVE]


def test_output_goes_to_the_file(run: Run, folder: Path) -> None:
    result = run(*EVAL, "--format", "csv", "--output", "out.csv")
    assert (result.code, result.out, result.err) == (0, "", "")
    rows = list(csv.DictReader(io.StringIO((folder / "out.csv").read_text("utf-8"))))
    assert [row["prompt"].lstrip("'") for row in rows] == [*POSITIVE, *NEGATIVE]
    assert rows[3]["prompt"].startswith("'=")
    assert not (folder / ".guardtui").exists()


@pytest.mark.parametrize(
    ("encoder", "reason"), [("pair", "by another guardrail"), ("static", "at another threshold")]
)
def test_figures_of_another_measure_have_no_verdict(
    run: Run, folder: Path, encoder: str, reason: str
) -> None:
    before = (*EVAL[:-1], f"encoder={encoder}", "--threshold", "0.3", "-o", "before.json")
    assert run(*before).code == 0
    now = (*EVAL, "--threshold", "0.999999", "--baseline", "before.json")
    done = run(*now, "-o", "-", "-o", "r.md", "-o", "r.html")
    assert done.code == 0
    for text in (done.out, *((folder / name).read_text("utf-8") for name in ("r.md", "r.html"))):
        assert f"The baseline is measured {reason}: coverage −" in text
        assert "orse than the baseline" not in text


def test_baseline_of_a_report_gates_regressions(here: Path, command: Run) -> None:
    good = (*EVAL, "--threshold", "0.3", "--format", "json", "--output", "before.json")
    assert command(*good) == (0, "", "")
    before = json.loads((here / "before.json").read_text("utf-8"))
    hits = before["metrics"]["tp"]
    assert hits > 0
    worse = (*EVAL, "--threshold", "0.999999", "--baseline", "before.json", "--format", "json")
    code, out, err = command(*worse, "--max-regressions", str(hits - 1))
    assert code == 1
    assert err.startswith(f"gate failed: {hits} regression")
    assert len(json.loads(out)["regressions"]) == hits
    assert "different thresholds" in json.loads(out)["comparison"]["caveats"][0]
    code, _, err = command(*worse, "--max-regressions", str(hits))
    assert (code, err.splitlines()[-1]) == (0, "gates: 1 passed, 0 failed; exit code 0")


def test_intent_may_be_left_to_the_prompts(here: Path, command: Run) -> None:
    (here / "topic.yaml").write_text(TOPIC.replace("intent: block\n", ""), "utf-8")
    (here / "prompts.csv").write_text(prompts_csv("allow"), "utf-8")
    code, out, err = command(*EVAL, "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["intent"] == "allow"


def test_intents_that_disagree_are_named_with_their_lines(here: Path, command: Run) -> None:
    (here / "prompts.csv").write_text(prompts_csv("allow"), "utf-8")
    code, out, err = command(*EVAL)
    assert (code, out) == (2, "")
    assert "topic.yaml:7: the topic's intent is block, but that of prompts.csv:2 is allow" in err


@pytest.mark.process
def test_a_closed_reader_is_not_an_error(
    run: Run, folder: Path, environment: dict[str, str]
) -> None:
    rows = "".join(f"prompt number {n},{'true' if n % 2 else 'false'},block\n" for n in range(3000))
    (folder / "many.csv").write_text(f"prompt,expected,intent\n{rows}", "utf-8")
    line = [sys.executable, "-m", "guardtui", "eval", "topic.yaml", "--prompts", "many.csv"]
    process = subprocess.Popen(
        [*line, "--set", "encoder=static", "--format", "json"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(120) == 0


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported(folder: Path, environment: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "guardtui", "sample"],
            cwd=folder,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: standard output: No space left on device")


_INTERRUPTED = """
import signal, sys
from guardtui.cli import main
from guardtui.files import inputs
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever runs the tests may ignore it
inputs.load_inputs = lambda *parts, **more: signal.raise_signal(signal.SIGINT)
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.process
def test_interrupting_exits_130(folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, *EVAL],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, b"", b"interrupted")


_LEFT = """
import os, signal, sys
from guardtui.cli import main
from guardtui.files import inputs
from guardtui.scanners.local import scanner
place, number = sys.argv[1], signal.Signals[sys.argv[2]]
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(number, signal.SIG_DFL)
real = os.fsync
def leave(*parts, **more):
    signal.raise_signal(number)
    if place == "write":
        real(*parts)
async def scan(*parts, **more):
    import asyncio
    signal.raise_signal(number)
    await asyncio.Event().wait()
if place == "load":
    inputs.load_inputs = leave
elif place == "scan":
    scanner.LocalScanner.evaluate = scan
else:
    os.fsync = leave
sys.exit(main.main(sys.argv[3:]))
"""


@pytest.mark.process
@pytest.mark.parametrize("place", ["load", "scan", "write"])
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("SIGTERM", 143, b"terminated\n"), ("SIGHUP", 129, b"hung up\n")],
)
def test_a_signal_ends_it_tidily(
    folder: Path, environment: dict[str, str], place: str, name: str, code: int, said: bytes
) -> None:
    (folder / "out.json").write_bytes(b"old")
    before = sorted(folder.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", _LEFT, place, name, *EVAL, "--output", "out.json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.lstrip()) == (code, b"", said)
    assert sorted(folder.iterdir()) == before
    assert (folder / "out.json").read_bytes() == b"old"


@pytest.mark.process
def test_a_signal_that_is_ignored_stays_so(folder: Path, environment: dict[str, str]) -> None:
    script = (
        "import signal, sys; from guardtui.cli import main; from guardtui.files import inputs\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"  # as nohup has it
        "real = inputs.load_inputs\n"
        "def load(*parts): signal.raise_signal(signal.SIGHUP); return real(*parts)\n"
        "inputs.load_inputs = load\n"
        "sys.exit(main.main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *EVAL],
        cwd=folder, env=environment, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "name",
    ["topic.yaml", "prompts.csv", "link.csv", "hard.csv", "base.json", "hard.json"],
)
def test_a_scan_does_not_start_when_its_output_is_an_input(
    here: Path, command: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from guardtui.scanners.local.scanner import LocalScanner

    assert command(*EVAL, "--format", "json", "-o", "base.json")[0] == 0
    (here / "link.csv").symlink_to("prompts.csv")
    (here / "hard.csv").hardlink_to(here / "prompts.csv")
    (here / "hard.json").hardlink_to(here / "base.json")
    before = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    monkeypatch.delattr(LocalScanner, "scan")
    line = (*EVAL, "--baseline", "base.json", "--format", "csv", "-o", name)
    code, out, err = command(*line)
    assert (code, out) == (2, "")
    assert "it would be overwritten" in err
    assert before == {path: path.read_bytes() for path in here.iterdir() if path.is_file()}


def shell(folder: Path, environment: dict[str, str], rest: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        f"{sys.executable} -m guardtui {' '.join(EVAL)} {rest}",
        shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=120, executable="/bin/bash",
    )  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_a_descriptor_is_written_to_and_not_replaced(
    folder: Path, environment: dict[str, str], name: str
) -> None:
    (folder / "link").symlink_to("/dev/stdout")
    (folder / "log").write_text("before\n")
    assert shell(folder, environment, f"--output {name} >> log").returncode == 0
    lines = (folder / "log").read_text().splitlines()
    assert lines[0] == "before"
    assert "topic      Tax advice (block)" in lines
    assert (folder / "link").is_symlink()
    done = shell(folder, environment, f"--output {name} | true; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.process
def test_a_closed_standard_output_fails_before_the_scan(
    folder: Path, environment: dict[str, str]
) -> None:
    for rest in ("", "--output /dev/stdout", "--output -"):
        done = shell(folder, environment, f"{rest} --prompts gone.csv >&-")
        assert (done.returncode, "standard output is closed" in done.stderr) == (2, True)
    assert shell(folder, environment, "--output out.txt >&-").returncode == 0
    assert ", measured by the engine " in (folder / "out.txt").read_text().split(".")[0]


@pytest.mark.process
def test_prompts_come_from_a_substituted_process(folder: Path, environment: dict[str, str]) -> None:
    done = shell(folder, environment, "--prompts <(cat prompts.csv) --baseline <(echo 1)")
    assert (done.returncode, "not a report of guardtui" in done.stderr) == (2, True)
    assert shell(folder, environment, "--prompts <(cat prompts.csv)").returncode == 0
    assert shell(folder, environment, "--prompts /dev/stdin < prompts.csv").returncode == 0
    done = shell(folder, environment, "--baseline /dev/zero")
    assert (done.returncode, "not a regular file" in done.stderr) == (2, True)


@pytest.mark.process
def test_a_pipe_is_read_and_written_as_a_pipe(run: Run, folder: Path) -> None:
    os.mkfifo(folder / "in.csv")
    os.mkfifo(folder / "out.json")
    script = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1]), open(sys.argv[2], 'w'))"
    copy = [sys.executable, "-c", script]
    with (
        subprocess.Popen([*copy, "prompts.csv", "in.csv"], cwd=folder),
        subprocess.Popen([*copy, "out.json", "got"], cwd=folder),
    ):
        options = ("--set", "encoder=static", "--format", "json", "--output", "out.json")
        assert run("eval", "topic.yaml", "--prompts", "in.csv", *options).code == 0
    assert not (folder / "out.json").is_file()
    assert json.loads((folder / "got").read_text())["metrics"]


@pytest.mark.process
def test_a_closed_standard_output_is_not_taken_for_one(run: Run, folder: Path) -> None:
    line = f"{sys.executable} -m guardtui {' '.join(EVAL)} >&-"
    done = subprocess.run(
        line, shell=True, cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, "standard output is closed" in done.stderr) == (2, True)
