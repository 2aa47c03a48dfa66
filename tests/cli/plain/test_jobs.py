"""The jobs of an author through a pipe: what they lead to, and that only lines of text come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from guardtui.files.topic_files import load_topic
from guardtui.reports.formats import FORMATS
from tests.cli.conftest import NEGATIVE, POSITIVE, Result, Run
from tests.cli.plain.conftest import FILES, require_plain
from tests.cli.test_eval_judge import Judge, named, serving

pytestmark = pytest.mark.process

Pipe = Callable[..., Result]


@pytest.fixture
def pipe(run_process: Run) -> Pipe:
    """Run these lines as commands in a process of their own; `files` are arguments of `open`."""

    def pipe_(*lines: str, files: Iterable[str] = FILES, **variables: str) -> Result:
        piped = "".join(f"{line}\n" for line in lines).encode()
        words = ("open", "--plain", "--set", "encoder=static", *files)
        result = require_plain(run_process(*words, piped=piped, **variables))
        assert "\x1b" not in result.out + result.err
        return result

    return pipe_


def coverages(result: Result) -> list[float]:
    """The coverage after each command that shows figures."""
    return [
        float(line.split()[2]) for line in result.out.split("\n") if line.startswith("Coverage is ")
    ]


def test_the_next_steps_are_taken_and_kept(
    pipe: Pipe, sample: tuple[str, ...], folder: Path
) -> None:
    result = pipe("next", "take", "y", "keep", "y", files=sample)
    assert (result.code, result.err) == (0, "")
    before, *_, after = coverages(result)
    assert after > before
    assert "Kept as #1 and saved to tax-advice.yaml" in result.out
    assert load_topic(folder / "tax-advice.yaml").topic.examples


def test_a_definition_is_edited_by_hand_from_its_mistakes(
    pipe: Pipe, sample: tuple[str, ...], folder: Path
) -> None:
    before = (folder / "tax-advice.csv").read_bytes()
    result = pipe(
        "mistakes fn", "mistakes 2", "example 4 #2", "y", "take #1", "y", "show", "undo", "undo",
        "description Advice on paying less tax", "discard", "y", files=sample,
    )  # fmt: skip
    assert (result.code, result.err) == (0, "")
    assert "Edited: example 4 added." in result.out
    assert "put back into tax-advice.csv" in result.out
    assert "Discarded as #1; back to #0" in result.out
    assert (folder / "tax-advice.csv").read_bytes() == before


def test_a_topic_is_made_of_prompts_alone(pipe: Pipe, folder: Path) -> None:
    result = pipe(
        "description Tax returns and deductions", "mistakes", "keep", "y", "quit", "name Never",
        files=("prompts.csv",),
    )  # fmt: skip
    assert (result.code, result.err) == (0, "")
    assert "Wrote prompts.yaml." in result.out
    assert "Kept as #" in result.out
    topic = load_topic(folder / "prompts.yaml").topic
    assert (topic.name, topic.description) == ("Prompts", "Tax returns and deductions")


def test_airs_scans_forecasts_and_scans_again(pipe: Pipe, sample: tuple[str, ...]) -> None:
    pytest.importorskip("aiohttp")
    result = pipe(
        "scan", "y", "description Personal tax advice", "show", "scan", "y", "keep", "y",
        "mistakes broke", files=(*sample, "--sandbox"),
    )  # fmt: skip
    assert result.code == 0
    assert "Apply and scan" in result.out
    assert result.out.count("AIRS #") == 2
    assert "Forecast of AIRS" in result.out
    assert "Measured by AIRS on this machine, profile sandbox" in result.out


def test_a_judge_scans_and_its_reasons_are_shown(pipe: Pipe, folder: Path, tmp_path: Path) -> None:
    with (folder / "prompts.csv").open("a", encoding="utf-8") as file:
        file.write("Sourdough,true,block,tax\n")
    judge = Judge(fails={POSITIVE[0]})
    home = {"GUARDTUI_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    with serving(judge) as server:
        result = pipe(
            "scan", "y", "mistakes", "mistakes 1", "mistakes failed", "keep", "k",
            files=(*FILES, *named(server)), **home,
        )  # fmt: skip
    assert set(judge.prompts) == {*POSITIVE, *NEGATIVE, "Sourdough"}
    assert (result.code, result.err) == (3, "")  # a prompt without a verdict
    assert "reason: no: About Sourdough: Sourdough\n" in result.out
    assert "1 without a verdict.\n" in result.out
    assert "Kept as #" in result.out


@pytest.mark.exhaustive
def test_fifty_thousand_prompts_are_measured_edited_and_listed(pipe: Pipe, folder: Path) -> None:
    with (folder / "prompts.csv").open("w", encoding="utf-8") as file:
        file.write("prompt,expected,intent\n")
        for number in range(25_000):
            file.write(f"how do I deduct item {number} from my tax return,true,block\n")
            file.write(f"how do I bake bread number {number} at home,false,block\n")
    result = pipe(
        "show", "mistakes fn", "description Bread", "mistakes", "mistakes more", "discard", "y"
    )
    assert (result.code, result.err) == (0, "")
    assert "topic.yaml × prompts.csv (50,000 prompts)" in result.out
    assert "Discarded as #1; back to #0" in result.out


def test_wrong_input_is_an_error_a_line_and_changes_nothing(
    pipe: Pipe, sample: tuple[str, ...], folder: Path
) -> None:
    before = (folder / "tax-advice.yaml").read_bytes()
    lines = (
        "nonsense", "name", "description \x1b[2J", "example x", "example 9 y", "example 1 #5",
        "mistakes tp", "mistakes 1000", "take 99", "take #1", "export pdf a", "export md",
    )  # fmt: skip
    result = pipe(*lines, "y", files=sample)
    assert result.code == 2
    assert result.err.count("error: ") == len(lines)
    assert "Nothing was asked." in result.out
    assert (folder / "tax-advice.yaml").read_bytes() == before
    (folder / "latin.csv").write_bytes(
        "prompt,expected,intent\nübung,true,block\n".encode("latin-1")
    )
    (folder / "open.csv").write_text('prompt,expected,intent\n"a,true,block\n', "utf-8")
    (folder / "columns.csv").write_text("a,b\n1,2\n", "utf-8")
    for name, problem in (
        ("latin", "latin.csv:2: not UTF-8"),
        ("open", "open.csv:2: the quote that opens here is never closed"),
        ("columns", "columns.csv:1: the column prompt is missing"),
        ("gone", "gone.csv: no such file"),
    ):
        result = pipe("keep", files=(*sample, "--prompts", f"{name}.csv"))
        assert (result.code, result.out) == (2, "")
        assert problem in result.err


def test_every_format_is_exported(pipe: Pipe, sample: tuple[str, ...], folder: Path) -> None:
    result = pipe(*(f"export {name} report.{name}" for name in FORMATS), files=sample)
    assert (result.code, result.err) == (0, "")
    assert result.out.count("Written: ") == len(FORMATS)
    assert all((folder / f"report.{name}").stat().st_size for name in FORMATS)
    result = pipe("export md all/report.md", files=sample)
    assert result.code == 2
    assert not (folder / "all").exists()
