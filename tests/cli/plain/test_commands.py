"""Commands of the plain mode: what each does and says, with good and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guardtui.files.topic_files import load_topic
from guardtui.session.session import Decision
from guardtui.session.store import SessionStore
from tests.cli.conftest import NEGATIVE, POSITIVE
from tests.cli.plain.conftest import FILES, Plain
from tests.cli.test_eval_judge import Judge, named, serving


def decisions(topic: Path) -> list[Decision]:
    return [iteration.decision for iteration in SessionStore(topic, reading=True).iterations()]


def test_show_has_definition_figures_and_what_was_edited(plain: Plain) -> None:
    result = plain("description Advice on income tax and its deductions", "show")
    assert (result.code, result.err) == (0, "")
    shown = result.out.partition("\nEdited: description ")[2]
    assert " wrongly stopped, measured by the engine (a quick approximation" in shown
    assert "\nname: Tax advice\ndescription: Advice on income tax and its deductions\n" in shown
    assert "\nexample 2: When is my tax return due?\nintent: block\nedit: " in shown
    assert "\nfile: unsaved edits\n" in shown
    assert "\ncoverage " in shown
    assert "\n  description  − Advice on filing personal income tax returns\n" in shown
    assert "\n               + Advice on income tax and its deductions\n" in shown


def test_figures_stand_with_guardrail_and_judgement(plain: Plain) -> None:
    lines = plain().out.split("\n")
    assert lines[0] == "guardtui  topic.yaml × prompts.csv (10 prompts)"
    assert ", measured by the engine (a quick approximation of your guardrail" in lines[1]
    assert lines[2].startswith("Coverage is ")
    assert lines[3] == "Too few to tell: add 5 to trigger, 5 not to."


def test_an_edit_is_judged_once_with_its_changes(plain: Plain, sample: tuple[str, ...]) -> None:
    lines = plain("description Bread", files=sample).out.split("\n")
    (verdict,) = [line for line in lines if " against #0: " in line]
    assert verdict.startswith("Coverage ")
    assert " regressions against #0: not sure yet" in verdict
    assert not any("demonstrable" in line for line in lines)


def test_fields_are_edited_and_undone(plain: Plain, folder: Path) -> None:
    result = plain(
        "name Taxes", "example 3 Who pays VAT?", "example 1 -", "example 1 New", "undo", "redo",
        "undo", "undo", "show",
    )  # fmt: skip
    assert (result.code, result.err) == (0, "")
    for change in ("name changed", "example 3 added", "example 1 removed", "example 1 replaced"):
        assert f"Edited: {change}." in result.out
    assert "Undone: example 1 replaced." in result.out
    assert "Undone: example 1 removed." in result.out
    assert "Redone: example 1 replaced." in result.out
    shown = result.out.partition("\nname: ")[2]
    assert shown.startswith("Taxes\n")
    assert "example 1: How do I deduct my home office?\n" in shown
    assert "example 3: Who pays VAT?\n" in shown
    assert load_topic(folder / "topic.yaml").topic.name == "Tax advice"


def test_undo_without_an_edit_says_so(plain: Plain) -> None:
    result = plain("undo", "redo", "name Tax advice")
    assert (result.code, result.err) == (0, "")
    assert "Undone: nothing." in result.out
    assert "Redone: nothing." in result.out
    assert "No change." in result.out


def test_a_listed_row_becomes_an_example_and_leaves_the_prompts(plain: Plain, folder: Path) -> None:
    with (folder / "prompts.csv").open("a", encoding="utf-8") as file:
        file.write("Sourdough,true,block,tax\n")
    result = plain("mistakes fn", "mistakes 1", "example 3 #1", "y", "show")
    assert (result.code, result.err) == (0, "")
    assert result.out.count("line 12, missed, score ") == 2  # in the list, and by its number
    assert "It belongs to the topic, and is not recognised: " in result.out
    assert "1 prompt removed from prompts.csv" in result.out
    assert "example 3: Sourdough\n" in result.out
    assert "Sourdough" not in (folder / "prompts.csv").read_text("utf-8")


def test_a_prompt_that_is_too_long_for_an_example_is_refused_and_stays(
    plain: Plain, folder: Path
) -> None:
    file, topic = folder / "prompts.csv", (folder / "topic.yaml").read_bytes()
    with file.open("a", encoding="utf-8") as opened:
        opened.write(f"Sourdough {'bread ' * 50},true,block,tax\n")
    before = file.read_bytes()
    result = plain("mistakes fn", "example 3 #1", "show")
    assert result.code == 2
    assert "error: example 3 has 310 bytes, 60 more than the 250 allowed" in result.err
    assert "Take" not in result.out
    assert "example 3" not in result.out
    assert file.read_bytes() == before
    assert (folder / "topic.yaml").read_bytes() == topic


def test_an_edit_for_a_row_is_listed_and_taken_and_undo_brings_its_prompt_back(
    plain: Plain, sample: tuple[str, ...], folder: Path
) -> None:
    before = (folder / "tax-advice.csv").read_bytes()
    lines = ("mistakes fn", "mistakes 2", "take #2", "y")
    result = plain(*lines, files=sample)
    assert (result.code, result.err) == (0, "")
    assert "\n3. " in result.out
    assert "\ntake #2 N takes one, the first by default.\n" in result.out
    assert "1 prompt becomes an example: it would always match" in result.out
    assert "\nEdited: example " in result.out
    taken = result.out.partition("\ntake #2 N takes one, the first by default.\n")[2]
    edit, figures, _ = taken.partition("\ncoverage ")
    assert edit.startswith("  example ")  # the edit is shown before the question
    assert " + " in edit
    assert figures
    assert len(before.splitlines()) - 1 == len(
        (folder / "tax-advice.csv").read_bytes().splitlines()
    )
    result = plain("undo", "mistakes fn", "take #2 9", "take #1", "n", files=sample)
    assert "1 prompt put back into tax-advice.csv" in result.out
    assert result.err == ("error: take: '9' is not a number from 1 to 3\n  mistakes 2 lists them\n")
    assert (folder / "tax-advice.csv").read_bytes() == before


def test_mistakes_are_listed_by_kind_in_pages(plain: Plain, sample: tuple[str, ...]) -> None:
    result = plain("mistakes", "mistakes more", "mistakes broke", "mistakes more", files=sample)
    assert (result.code, result.err) == (0, "")
    lines = result.out.split("\n")
    assert any(line.endswith(" wrongly stopped, 36 missed.") for line in lines)
    numbers = [line.split(".")[0] for line in lines if ". line " in line]
    assert numbers == [str(number) for number in range(1, 41)]
    assert result.out.count(" more: mistakes more\n") == 2
    assert ": 0 broke.\n" in result.out
    assert "There are no more." in result.out


def test_the_next_step_is_shown_and_taken(plain: Plain, sample: tuple[str, ...]) -> None:
    result = plain("next", "take 1", "y", files=sample)
    assert (result.code, result.err) == (0, "")
    assert "\n2. Look at a mistake. " in result.out
    assert "\ntake N takes one.\n" in result.out
    assert " broke, against the definition in the editor, on " in result.out
    assert "The edit is in the editor; Undo takes it back." in result.out
    assert "\nEdited: " in result.out


def test_the_first_step_that_a_command_can_take_is_taken(
    plain: Plain, sample: tuple[str, ...]
) -> None:
    steps = plain("next", files=sample).out.splitlines()
    mistakes = next(line[0] for line in steps if ". Look at a mistake. " in line)
    result = plain(f"take {mistakes}", files=sample)
    assert (result.code, result.err) == (0, "")
    assert "\n1. line " in result.out
    assert (
        "mistakes ROW says why one is wrong and which edits correct it; take #ROW N" in result.out
    )
    result = plain("take", "n", files=sample)
    assert "Take this edit?" in result.out


def test_a_step_that_is_no_edit_names_its_command(plain: Plain) -> None:
    result = plain("take")
    assert result.code == 2
    assert "add labelled rows to prompts.csv, or: guardtui inbox --help" in result.err


def test_keep_asks_and_saves_and_discard_restores(plain: Plain, folder: Path) -> None:
    result = plain("description Bread and dragons", "keep", "n", "discard", "show")
    assert (result.code, result.err) == (0, "")
    assert "Keep anyway?\ny: Keep\nn: Cancel\n" in result.out
    assert "Discarded as #1; back to #0" in result.out
    assert "\nfile: saved\n" in result.out
    assert decisions(folder / "topic.yaml") == [Decision.KEEP, Decision.DISCARD]
    result = plain("description Bread and dragons", "keep", "yes")
    assert "Kept as #2 and saved to topic.yaml" in result.out
    assert load_topic(folder / "topic.yaml").topic.description == "Bread and dragons"


@pytest.mark.parametrize("answer", [[], ["show"]], ids=["the end", "a command"])
def test_a_question_without_an_answer_declines(
    plain: Plain, folder: Path, answer: list[str]
) -> None:
    result = plain("description Bread and dragons", "keep", *answer)
    assert (result.code, result.err) == (0, "")
    assert "Not answered: nothing is changed.\n" in result.out
    assert ("\nfile: unsaved edits\n" in result.out) == bool(answer)  # the line was a command
    assert decisions(folder / "topic.yaml") == [Decision.KEEP]


def test_a_report_is_written_once_and_over_an_old_one_if_agreed(plain: Plain, folder: Path) -> None:
    (folder / "old.md").write_text("old", "utf-8")
    result = plain(
        "export json new.json", "export md old.md", "n", "export md old.md", "y", "export tsv a b"
    )
    assert (result.code, result.err) == (0, "")
    assert json.loads((folder / "new.json").read_text("utf-8"))["kind"] == "evaluation"
    assert "old.md exists already.\n\nOverwrite it? Its content is lost.\n" in result.out
    assert (folder / "old.md").read_text("utf-8").startswith("# ")
    assert (folder / "a b").exists()


def test_a_scan_without_a_guardrail_fails_with_the_remedy(plain: Plain) -> None:
    result = plain("scan", "show", files=(*FILES, "--guardrail", "engine"))
    assert result.code == 2
    assert result.err == (
        "error: scan: This topic is measured by the engine only.\n"
        "  name one at the start: --guardrail NAME, or --sandbox to try\n"
    )
    assert "\nname: Tax advice\n" in result.out
    result = plain("scan")
    assert result.code == 2
    assert "error: scan: AIRS needs an API key: set " in result.err


def test_a_judge_scans_once_the_author_agrees(plain: Plain, folder: Path, tmp_path: Path) -> None:
    with (folder / "prompts.csv").open("a", encoding="utf-8") as file:
        file.write("Sourdough,true,block,tax\n")
    judge = Judge(fails={POSITIVE[0]})
    with serving(judge) as server:
        files = (*FILES, *named(server))
        home = {"GUARDTUI_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
        assert plain("scan", "n", files=files, **home).code == 0
        assert judge.prompts == []
        result = plain("scan", "y", "mistakes", "mistakes failed", "keep", "k", files=files, **home)
    assert set(judge.prompts) == {*POSITIVE, *NEGATIVE, "Sourdough"}
    assert "\ny: Scan\nn: Cancel, nothing is sent\n" in result.out
    assert "Judge #1: 10 of 11 prompts have a verdict, 1 failed (" in result.out
    assert result.code == 3  # a scan that failed for a prompt is no pass
    assert result.err == ""
    assert "1. line 12, missed, reason: no: About Sourdough: Sourdough\n" in result.out
    assert ": 1 without a verdict.\n1. line 2, no verdict, " in result.out
    assert "m: Scan those first\nk: Keep anyway\nn: Cancel\n" in result.out


def test_help_lists_every_command(plain: Plain) -> None:
    result = plain("help", "HELP")
    assert (result.code, result.out.count("\nexport FORMAT FILE ")) == (0, 2)
    assert "\nexample N TEXT|#ROW|-  " in result.out
    assert "Another line changes nothing and is run as a command." in result.out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("descripton x", "unknown command 'descripton'; did you mean 'description'?"),
        ("qiut", "unknown command 'qiut'; did you mean 'quit'?"),
        ("\x1b[2J", "unknown command '␛[2J'"),
        ("name", "name: no text\n  write it on the same line: name TEXT"),
        ("name a\x07b", "name: it holds a control character"),
        ("name \udcff", "name: it holds bytes that are not UTF-8: type it again"),
        ("example", "example: '' is not a number from 1 to 3"),
        ("example 4 x", "example: '4' is not a number from 1 to 3"),
        ("example 3 -", "example: '3' is not a number from 1 to 2"),
        ("example 1", "example 1: no text"),
        ("example 1 #1", "row 1: no prompts are listed\n  mistakes lists prompts with"),
        ("mistakes tp", "mistakes: 'tp' is no kind"),
        ("mistakes 7", "row 7: no prompts are listed"),
        ("take 99", "take: '99' is not a number from 1 to 1"),
        ("export pdf x", "export: 'pdf' is no format\n  write export FORMAT FILE, with one of"),
        ("export hmtl x", "did you mean 'html'?"),
        ("export md", "export md: no file"),
        ("export md missing/x.md", "missing"),
        ("export md topic.yaml", "would be overwritten"),
    ],
)
def test_bad_input_is_an_error_and_the_next_line_is_run(plain: Plain, line: str, told: str) -> None:
    result = plain(line, "help")
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert told in result.err
    assert "\nkeep " in result.out


def test_a_text_over_the_limit_is_measured_with_a_warning(plain: Plain) -> None:
    result = plain(f"description {'tax ' * 80}")
    assert result.code == 0
    assert (
        "would refuse this definition: description has 319 bytes, 69 more than the 250 allowed"
        in result.err
    )
    assert "Edited: description +" in result.out


def test_an_answer_without_a_question_does_nothing(plain: Plain) -> None:
    result = plain("y", "no")
    assert (result.code, result.err, result.out.count("Nothing was asked.")) == (0, "", 2)
