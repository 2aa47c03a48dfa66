"""`guardtui score`: reports, graders, what is kept when something breaks, and every bad input."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.text import HIDDEN

from .conftest import ROOT, Run
from .grading_server import Answer, GradingServer, failed, grading_server, said

SAMPLE = str(ROOT / "sample_data" / "outputs.csv")
ROWS = 12


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 12 outputs, and a cache of its own."""
    lines = [f"question {number},right,number {number},g{number % 2}" for number in range(ROWS)]
    text = "\n".join(["input,target,output,group", *lines, ""])
    (folder / "outputs.csv").write_text(text, "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    return folder


def grade_by_number(prompt: str, _: int) -> Answer:
    """Even questions are right."""
    number = int(prompt.partition("number ")[2].split()[0])
    return said("Let me see.\nGRADE: " + ("I" if number % 2 else "C"))


@pytest.fixture
def server() -> Iterator[GradingServer]:
    with grading_server(grade_by_number) as running:
        yield running


# --- text scorers ---------------------------------------------------------------------------------


def test_the_sample_by_match(run: Run) -> None:
    result = run("score", SAMPLE, "--scorer", "match()", "--group", "Category")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        f"outputs    {SAMPLE}: 30 rows\n"
        "\n"
        "scorer     match()\n"
        "rows       scored 30  errors 0\n"
        "\n"
        "accuracy   0.567\n"
        "stderr     0.092\n"
        "\n"
        "category    rows  accuracy  stderr\n"
        "geography      8     0.500   0.189\n"
        "arithmetic     8     0.500   0.189\n"
        "science        8     0.625   0.183\n"
        "literature     6     0.667   0.211\n"
    )


def test_json_is_lossless_and_inert(run: Run, folder: Path) -> None:
    rows = [
        {"input": "q\x1b[2J", "target": ["ü", "b\u202e"], "output": "say ü", "n": 1.5, "id": 7},
        {"input": "q", "target": "b", "output": "c\n", "n": None, "id": "x"},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "outputs.jsonl").write_text(text, "utf-8")
    result = run(
        "score", "outputs.jsonl", "--scorer", "match()", "--scorer", "f1()", "--format", "json",
        "--metric", "mean()", "--metric", "std()",
    )  # fmt: skip
    assert (result.code, result.err) == (0, "")
    assert not HIDDEN.search(result.out)
    assert "\x1b" not in result.out
    document = json.loads(result.out)
    assert document["schema_version"] == 1
    assert [one["name"] for one in document["scorers"]] == ["match", "f1"]
    values = document["scorers"][0]["metrics"][0]["values"]
    assert values == {"mean": 0.5, "std": pytest.approx(0.5**0.5)}
    first, second = document["results"][0], document["results"][3]
    assert first["input"] == "q\x1b[2J"
    assert first["target"] == ["ü", "b\u202e"]
    assert first["metadata"] == {"n": 1.5}
    assert (first["id"], first["line"], first["status"], first["value"]) == ("7", 1, "scored", "C")
    assert (second["scorer"], second["value"], second["answer"]) == ("f1", 0.0, "c\n")


def test_csv_is_inert(run: Run, folder: Path) -> None:
    (folder / "o.csv").write_text(
        'input,target,output,answer\n"=1+1\x07",2,"=cmd()\n@x 2",mine\n', "utf-8"
    )
    result = run("score", "o.csv", "--scorer", "match()", "--format", "csv", "--output", "s.csv")
    assert (result.code, result.out, result.err) == (0, "", "")
    (row,) = csv.DictReader(io.StringIO((folder / "s.csv").read_text("utf-8")))
    assert (row["value"], row["line"], row["id"]) == ("C", "2", "1")
    assert row["input"] == "'=1+1␇"
    assert row["output"].startswith("'=cmd()↵")
    assert row["answer (file)"] == "mine"


def test_epochs_reducers_and_clusters(here: Path, score: Run) -> None:
    (here / "e.csv").write_text(
        "id,epoch,input,target,output,who\n"
        "a,1,q,yes,yes,x\na,2,q,yes,no,x\nb,1,q,yes,yes,y\nb,2,q,yes,yes,y\n"
    )
    arguments = ("e.csv", "--scorer", "exact()", "--reducer", "at_least_2", "--reducer", "max")
    code, out, err = score(*arguments, "--metric", "accuracy()", "--cluster", "who")
    assert (code, err) == (0, "")
    assert "e.csv: 4 rows of 2 samples\ncluster    who\n" in out
    assert "epochs by at_least_2\naccuracy   0.500\nstderr     0.500\n" in out
    assert "epochs by max\naccuracy   1.000\nstderr     0.000\n" in out


def test_rows_that_cannot_be_scored_are_named(here: Path, score: Run) -> None:
    (here / "c.csv").write_text(
        'input,target,output,choices\nq,B,ANSWER: B,"[""x"",""y""]"\nq,A,ANSWER: B,\nq,A,x,\n'
    )
    code, out, err = score("c.csv", "--scorer", "choice()")
    assert code == 3
    assert "rows       scored 1  errors 2" in out
    assert "accuracy   1.000" in out
    assert "line 3, id 2: the sample has no choices" in out
    assert err.startswith("error: 2 of 3 rows could not be scored; the report has the other 1\n")
    assert "c.csv:3 (id 2, choice): the sample has no choices" in err
    assert "likewise lines 4 (2 rows)" in err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("input,output\nq,o\n", "bad.csv: the column target is missing"),
        ("", "the file is empty"),
        ('input,target,output\nq,"[1,null]",o\n', "bad.csv:2: the target holds 'null'"),
        ("input,target,output\nq,t,o,x\nq,t\n", "bad.csv:3: 2 fields where the header has 3"),
        ("input,target,output,c\nq,t,o,\n", "bad.csv:2: 'c' is empty"),
    ],
)
def test_invalid_files_are_reported(here: Path, score: Run, content: str, told: str) -> None:
    (here / "bad.csv").write_text(content)
    code, out, err = score("bad.csv", "--scorer", "match()", "--cluster", "c")
    assert (code, out) == (2, "")
    assert told in err
    assert score("nowhere.csv", "--scorer", "match()")[0] == 2


def test_a_message_points_at_what_is_wrong(here: Path, score: Run) -> None:
    _, _, err = score("outputs.csv", "--scorer", "match(open)")
    assert "    match(open)\n          ^\n" in err


# --- models that grade ----------------------------------------------------------------------------


def graded(url: str, *arguments: str) -> tuple[str, ...]:
    return (
        "outputs.csv", "--scorer", "model_graded_qa()", "--model", f"{url}#m", "--retries", "0",
        *arguments,
    )  # fmt: skip


def test_a_grade_of_a_model_is_cached(
    here: Path, server: GradingServer, score: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("GUARDTUI_MODEL_KEY", "sk-top-secret")
    code, out, err = score(*graded(server.url, "--group", "group"))
    assert (code, err) == (0, "")
    assert f"model      {server.url}#m\ngraders    asked {ROWS}, known before 0\n" in out
    assert "accuracy   0.500" in out
    assert "g0" in out
    assert set(server.keys) == {"Bearer sk-top-secret"}
    code, out, err = score(*graded(server.url, "--format", "json"))
    assert (code, err, len(server.prompts)) == (0, "", ROWS)
    assert "sk-top-secret" not in out
    document = json.loads(out)
    assert (document["asked"], document["known"]) == (0, ROWS)
    assert document["results"][1]["explanation"] == "Let me see.\nGRADE: I"
    assert score(*graded(server.url, "--fresh"))[0] == 0
    assert len(server.prompts) == 2 * ROWS


def test_a_panel_of_models(here: Path, server: GradingServer, score: Run) -> None:
    code, out, err = score(*graded(server.url, "--model", f"{server.url}#n"))
    assert (code, err, len(server.prompts)) == (0, "", 2 * ROWS)
    assert f"asked {2 * ROWS}" in out
    code, out, err = score(*graded(server.url, "--model", f"{server.url}/#m"))
    assert (code, out) == (2, "")
    assert "is given twice" in err


def test_a_key_is_sent_to_no_origin_that_it_is_not_for(
    here: Path, server: GradingServer, score: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("GUARDTUI_MODEL_KEY", "sk-one")
    with grading_server(grade_by_number) as other:
        origins = [one.url.removesuffix("/v1") for one in (server, other)]
        panel = graded(server.url, "--model", f"{other.url}#n")
        inside = ("outputs.csv", "--scorer", f"model_graded_qa(model='{other.url}#n')")
        role = ("--model-role", f"mine={other.url}#n")
        for words in (panel, graded(server.url, *inside[1:]), graded(server.url, *role)):
            code, out, err = score(*words)
            assert (code, out) == (2, "")
            for origin in origins:
                assert f"{origin} has no key of its own" in err
            assert server.keys == other.keys == []
        monkeypatch.setenv("GUARDTUI_MODEL_KEYS", f"{origins[0]}=ONE {origins[1]}=none")
        monkeypatch.setenv("ONE", "sk-its-own")
        code, out, err = score(*panel)
        assert (code, err) == (0, "")
        assert set(server.keys) == {"Bearer sk-its-own"}
        assert set(other.keys) == {None}


def test_a_redirect_takes_no_key_elsewhere(
    here: Path, score: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUARDTUI_MODEL_KEY", "sk-one")
    with grading_server(grade_by_number) as other:
        location = {"Location": f"{other.url}/chat/completions"}
        with grading_server(lambda _, __: failed(307, **location)) as first:
            code, _, err = score(*graded(first.url))
        assert code == 3
        assert "name the address it leads to" in err
        assert set(first.keys) == {"Bearer sk-one"}
        assert other.keys == []


def test_grades_of_a_panel_are_cached_if_another_model_fails(
    here: Path, server: GradingServer, score: Run
) -> None:
    with grading_server(lambda _, __: failed(401)) as other:
        words = graded(server.url, "--model", f"{other.url}#n")
        code, out, err = score(*words)
        assert code == 3
        assert f"scored 0  errors {ROWS}" in out
        assert f"{other.url}#n: HTTP 401" in err
        assert len(server.prompts) == ROWS
        other.respond = grade_by_number
        code, out, err = score(*words)
        assert (code, err, len(server.prompts)) == (0, "", ROWS)
        assert f"asked {ROWS}, known before {ROWS}" in out


HTML = b"<!doctype html><html><body>Please \x1b[31mlog in</body></html>"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (failed(200, HTML, **{"Content-Type": "text/html"}), "OpenAI-compatible API"),
        (failed(401), "set GUARDTUI_MODEL_KEY"),
        (failed(429), "lower --concurrency"),
        (failed(404), "name of the model behind #"),
        (failed(500), "wait until the service is well again"),
        (failed(0), "see that the address is that of an OpenAI-compatible service"),
        (said(""), "returned an empty answer"),
        (failed(200, b"{}"), "OpenAI-compatible API"),
    ],
    ids=["html", "401", "429", "404", "500", "nothing", "no words", "no completion"],
)
def test_a_service_that_does_not_grade(here: Path, score: Run, answer: Answer, told: str) -> None:
    with grading_server(lambda _, __: answer) as server:
        code, out, err = score(*graded(server.url))
        assert code == 3
        assert f"scored 0  errors {ROWS}" in out
        assert "accuracy   n/a" in out
        assert "outputs.csv:2 (id 1, model_graded_qa): " in err
        assert told in err
        assert "\x1b" not in err + out
        # It is not asked for ever.
        assert len(server.prompts) <= ROWS
        server.respond = grade_by_number
        code, out, err = score(*graded(server.url))
        assert (code, err) == (0, "")


def test_repeated_warnings_are_printed_a_few_times_only(here: Path, score: Run) -> None:
    with grading_server(lambda _, before: said(f"verdict: odd\x1b[31m {before % 8}")) as server:
        scorer = 'model_graded_qa(grade_pattern="verdict: (.*)")'
        model = ("--model", f"{server.url}#m", "--concurrency", "1", "--reducer", "mean")
        code, _, err = score("outputs.csv", "--scorer", scorer, *model)
    assert code == 0
    assert err.count("warning: a value cannot be turned into a number") == 5
    assert "(2 times)" in err
    assert "warning: 3 more warnings of this kind\n" in err
    assert "\x1b" not in err


def test_an_unused_model_is_reported(here: Path, score: Run) -> None:
    model = ("--model", "https://host.example/v1#m")
    code, _, err = score("outputs.csv", "--scorer", "match()", *model)
    assert (code, err) == (0, "warning: no scorer used a model: --model has no effect\n")


def test_an_invalid_key_is_reported(
    here: Path, score: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUARDTUI_MODEL_KEY", "two words")
    code, out, err = score(*graded("https://host.example/v1"))
    assert (code, out) == (2, "")
    assert "GUARDTUI_MODEL_KEY holds a blank" in err
    assert "two words" not in err


def test_an_unreachable_model_is_reported(here: Path, score: Run) -> None:
    with grading_server(grade_by_number) as server:
        url = server.url
    code, _, err = score(*graded(url))
    assert code == 3
    assert "see that the service runs" in err


def test_one_row_that_fails_does_not_end_the_run(here: Path, score: Run) -> None:
    def respond(prompt: str, before: int) -> Answer:
        return failed(400) if "number 4\n" in prompt else grade_by_number(prompt, before)

    with grading_server(respond) as server:
        code, out, err = score(*graded(server.url))
        assert code == 3
        assert f"scored {ROWS - 1}  errors 1" in out
        assert f"1 of {ROWS} rows could not be scored; the report has the other {ROWS - 1}\n" in err
        assert "outputs.csv:6 (id 5, model_graded_qa): " in err
        server.respond = grade_by_number
        server.prompts.clear()
        assert score(*graded(server.url))[0] == 0
        assert len(server.prompts) == 1


NAMES = """
from guardtui.scorer import Score, accuracy, mean, scorer
def made(name, metrics, value=1):
    @scorer(metrics=metrics, name=name)
    def factory(value=value):
        async def score(state, target):
            return Score(value=value)
        return score
made("My Name", [accuracy()])
made("my-name 2", [accuracy()])
made("keyed", {"zz": [mean()]}, {"a": 1, "b": 2})
made("bare", [])
"""


@pytest.mark.parametrize(
    ("expression", "accuracy"),
    [
        ("My Name", "1.000"),
        (" My Name() ", "1.000"),
        ('"My Name"', "1.000"),
        ("'My Name'(value=0)", "0.000"),
        ("my-name 2", "1.000"),
        ("multi_scorer(['My Name', 'my-name 2'(value=0)], 'mean')", "0.500"),
    ],
)
def test_a_scorer_with_any_name_is_usable(
    here: Path, score: Run, expression: str, accuracy: str
) -> None:
    (here / "names.py").write_text(NAMES)
    code, out, err = score("outputs.csv", "--plugin", "names.py", "--scorer", expression)
    assert (code, err) == (0, "")
    assert f"accuracy   {accuracy}" in out


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("keyed", "no metric: the values have the keys a, b"),
        ("bare", "no metric: the scorer has none; name one with --metric"),
    ],
)
def test_metrics_that_match_nothing_say_so(
    here: Path, score: Run, expression: str, reason: str
) -> None:
    (here / "names.py").write_text(NAMES)
    words = ["outputs.csv", "--plugin", "names.py", "--scorer", expression]
    code, out, err = score(*words)
    assert (code, err) == (0, "")
    assert f"\n{reason}\n" in out
    code, out, err = score(*words, "--format", "csv")
    assert (code, err) == (0, f"warning: {expression}: {reason}\n")


@pytest.mark.parametrize(
    ("expression", "warned"),
    [
        ("match()", True),
        ("includes()", True),
        ("multi_scorer([exact(), includes()], 'mean')", True),
        ("match('exact')", False),
        ("exact()", False),
        ("f1()", False),
        ("pattern('(a)')", False),
        ("answer('word')", False),
    ],
)
def test_an_empty_target_is_warned_of_where_it_is_found_everywhere(
    here: Path, score: Run, expression: str, warned: bool
) -> None:
    (here / "e.csv").write_text("input,target,output\nq,,a\n")
    code, _, err = score("e.csv", "--scorer", expression)
    assert (code, bool(err)) == (0, warned)


def test_a_model_is_not_called_superfluous_after_an_error(here: Path, score: Run) -> None:
    (here / "template.txt").write_text("{answer} {nope}")
    code, _, err = score("outputs.csv", "--scorer", "model_graded_qa(template='template.txt')",
        "--model", "http://127.0.0.1:9/v1#good",
    )  # fmt: skip
    assert code == 3
    assert "'nope' is not a column of the file" in err
    assert "has no effect" not in err


PLUGIN = """
import time
from guardtui.scorer import Score, accuracy, scorer
@scorer(metrics=[accuracy()])
def endless():
    async def score(state, target):
        while state.output.completion.endswith("!"):
            pass
        return Score(value=1)
    return score
@scorer(metrics=[accuracy()])
def asleep():
    async def score(state, target):
        time.sleep(1000 if state.output.completion.endswith("!") else 0)
        return Score(value=1)
    return score
"""
ENDLESS = [
    "pattern('(a+)+$')", "endless()", "asleep()", "multi_scorer([pattern('(a|aa)+$')], 'mean')",
]  # fmt: skip


def endless_rows(folder: Path) -> list[str]:
    """A file whose second row a scorer of ENDLESS never finishes, and the plug-in."""
    hard = "a" * 60 + "!"
    (folder / "endless.csv").write_text(f"input,target,output\nq,a,a\nq,a,{hard}\nq,a,aa\n")
    (folder / "plugin.py").write_text(PLUGIN)
    return ["endless.csv", "--plugin", "plugin.py"]


@pytest.mark.parametrize("expression", ENDLESS)
def test_a_row_that_never_ends_has_no_score(here: Path, score: Run, expression: str) -> None:
    words = [*endless_rows(here), "--scorer", expression, "--sample-timeout", "0.2"]
    code, out, err = score(*words)
    assert code == 3
    assert "scored 2  errors 1" in out
    assert "1 of 3 rows could not be scored" in err
    assert "endless.csv:3 (id 2, " in err
    assert "it takes longer than 0.2 s\n" in err
    assert "--sample-timeout" in err


@pytest.mark.process
@pytest.mark.parametrize("expression", ENDLESS)
@pytest.mark.parametrize(
    ("number", "background"),
    [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True)],
)
def test_the_first_signal_ends_a_row_that_never_ends(
    here: Path,
    environment: dict[str, str],
    number: signal.Signals,
    expression: str,
    background: bool,
) -> None:
    # A shell lets its background processes ignore Ctrl-C.
    words = ["score", *endless_rows(here), "--scorer", expression, "--sample-timeout", "3600"]
    handler = "signal.SIG_IGN" if background else "signal.default_int_handler"
    script = (
        "import signal, sys\n"
        "from guardtui.cli.main import main\n"
        "from guardtui.session import score_run\n"
        f"signal.signal(signal.SIGINT, {handler})\n"
        "state_of = score_run.sample_state\n"
        "def telling(outputs, row):\n"
        "    if row == 1: print('reached', flush=True)\n"
        "    return state_of(outputs, row)\n"
        "score_run.sample_state = telling\n"
        "main(sys.argv[1:])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words],
        env=environment, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"reached\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    word = {signal.SIGINT: b"interrupted", signal.SIGTERM: b"terminated"}[number]
    assert (process.returncode, out, err.strip()) == (128 + number, b"", word)


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_grades_before_an_interrupt_are_cached(
    here: Path, environment: dict[str, str], number: signal.Signals
) -> None:
    """The service hangs at the 8th prompt; the command is ended there, and goes on from there."""
    reached, release = threading.Event(), threading.Event()

    def respond(prompt: str, before: int) -> Answer:
        if before == 7:
            reached.set()
            release.wait(120)
        return grade_by_number(prompt, before)

    variables = {**environment, "GUARDTUI_CACHE": os.environ["GUARDTUI_CACHE"]}
    with grading_server(respond) as server:
        words = ["score", *graded(server.url, "--concurrency", "1", "--format", "json")]

        def started(**streams: Any) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [sys.executable, "-m", "guardtui", *words], env=variables, cwd=here, **streams
            )

        first = started(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert reached.wait(120)
        first.send_signal(number)
        out, err = first.communicate(timeout=120)
        release.set()
        assert out == b""
        assert b"Traceback" not in err
        if number == signal.SIGKILL:
            assert first.returncode == -signal.SIGKILL
        else:
            assert first.returncode == 128 + number
            assert b"grades are cached: the same command resumes" in err
        server.prompts.clear()
        server.respond = grade_by_number
        second = started(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = second.communicate(timeout=120)
        assert (second.returncode, err) == (0, b"")
        document = json.loads(out)
        assert (document["asked"], document["known"]) == (ROWS - 7, 7)
        assert len(server.prompts) == ROWS - 7
        assert document["scorers"][0]["scored"] == ROWS


@pytest.mark.process
def test_progress_is_shown_on_a_terminal_only(
    here: Path, server: GradingServer, environment: dict[str, str]
) -> None:
    pty = pytest.importorskip("pty")
    own, theirs = pty.openpty()
    shown = bytearray()

    def respond(prompt: str, before: int) -> Answer:
        if before == ROWS - 1:  # the first score has shown a bar
            while b"\x1b[2K" not in shown:
                shown.extend(os.read(own, 4096))
        return grade_by_number(prompt, before)

    server.respond = respond
    words = ["score", *graded(server.url, "--concurrency", "1")]
    variables = {**environment, "GUARDTUI_CACHE": os.environ["GUARDTUI_CACHE"], "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-m", "guardtui", *words], env=variables, cwd=here, stderr=theirs,
        stdout=subprocess.PIPE, check=False, timeout=120,
    )  # fmt: skip
    os.close(theirs)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    os.close(own)
