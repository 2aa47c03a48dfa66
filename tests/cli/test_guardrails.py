"""`guardtui guardrails` and `--guardrail NAME`: lists, keys, templates, a check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guardtui.app.guardrails.named import FILE
from guardtui.scanners.configuration import KINDS, keys_of

from .conftest import Run
from .test_eval_judge import Judge, said, serving

EVAL = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--format", "json")


@pytest.fixture
def home(folder: Path, tmp_path: Path) -> dict[str, str]:
    (folder / FILE).write_text(
        "fast: {kind: engine, encoder: static}\n"
        "panel:\n  kind: judge\n  model: [http://localhost:1/v1?v=1#a, http://localhost:2/v1#b]\n"
        "  model-option: {seed: 7}\n",
        "utf-8",
    )
    config = tmp_path / "config.yaml"
    config.write_text("guardrails:\n  fast: {kind: engine}\n  prod: {kind: airs, batch: true}\n")
    return {"GUARDTUI_CONFIG": str(config), "HOME": str(tmp_path)}


def test_guardrails_are_listed_with_what_they_are_made_of_and_their_files(
    run: Run, home: dict[str, str]
) -> None:
    config = home["GUARDTUI_CONFIG"]
    for words in (("guardrails",), ("guardrails", "list"), ("guardrails", "list", "topic.yaml")):
        done = run(*words, **home)
        assert (done.code, done.err) == (0, "")
        rows = [line.split("\t") for line in done.out.splitlines()]
        assert rows == [
            ["fast", "engine", "encoder=static", f"{FILE}:1"],
            [
                "panel",
                "judge",
                "model=http://localhost:1/v1?…#a,http://localhost:2/v1#b model-option.seed=7",
                f"{FILE}:2",
            ],
            ["fast", "engine", "", f"{config}:2 (shadowed)"],
            ["prod", "airs", "batch=true", f"{config}:3"],
        ]
    listed = json.loads(run("guardrails", "list", "--json", **home).out)["guardrails"]
    assert [entry["name"] for entry in listed] == ["fast", "panel", "fast", "prod"]
    assert listed[2] == {
        "name": "fast", "kind": "engine", "keys": {}, "file": config, "line": 2, "shadowed": True,
    }  # fmt: skip


def test_without_any_the_list_says_so(run: Run, folder: Path) -> None:
    done = run("guardrails")
    assert (done.code, done.out) == (0, "")
    assert "no guardrail has a name yet" in done.err


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_a_kind_are_listed(run: Run, kind: str) -> None:
    names = [key.name for key in keys_of(kind)]
    done = run("guardrails", "--keys", kind)
    assert [line.split("\t")[0] for line in done.out.splitlines()] == names
    document = json.loads(run("guardrails", "--keys", kind, "--json").out)
    assert [key["name"] for key in document["keys"]] == names


def test_a_guardrail_is_used_by_its_name_and_set_changes_it_for_one_run(
    run: Run, home: dict[str, str]
) -> None:
    named = json.loads(run(*EVAL, "--guardrail", "fast", **home).out)
    static = json.loads(run(*EVAL, "--set", "encoder=static", **home).out)
    assert named["results"] == static["results"]
    assert named["guardrail"] == {**static["guardrail"], "title": "fast"}
    changed = run(*EVAL, "--guardrail", "fast", "--set", "encoder=minilm", **home)
    minilm = run(*EVAL, "--set", "encoder=minilm", **home)
    assert json.loads(changed.out)["results"] == json.loads(minilm.out)["results"]
    assert json.loads(changed.out)["results"] != named["results"]


def test_an_error_in_a_file_is_told_where_a_name_is_used_and_by_config_check(
    run: Run, folder: Path, home: dict[str, str]
) -> None:
    (folder / FILE).write_text("prod:\n  kind: airs\n  retrys: 3\n", "utf-8")
    for words in ((*EVAL, "--guardrail", "prod"), ("guardrails",), ("config", "check")):
        done = run(*words, **home)
        assert (done.code, done.out) == (2, "")
        assert f"{FILE}:3: prod: retrys: unknown key of airs; did you mean 'retries'?" in done.err
    assert run(*EVAL, "--set", "encoder=static", **home).code == 0


def test_a_guardrail_is_checked(run: Run, folder: Path, home: dict[str, str]) -> None:
    with serving(lambda text, before: said("ANSWER: yes")) as server:
        (folder / FILE).write_text(f"mine: {{kind: judge, model: {server.url}#m}}\n", "utf-8")
        done = run("guardrails", "check", "mine", **home, GUARDTUI_MODEL_KEY="sk-mine")
        assert done.code == 0
        assert "warning: judge: m at" in done.out.lower()
        assert "sk-mine" not in done.out + done.err
    done = run("guardrails", "check", "mine", "--set", "retries=0", "--json", **home)
    assert done.code == 3
    document = json.loads(done.out)
    assert (document["ok"], document["facts"][0]["state"]) == (False, "failed")
    assert run("guardrails", "check", "engine", **home).out.startswith("ok: engine: ")
    assert run("guardrails", "check", "airs:prod", **home).code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("guardrails", "check", "{}#m"),
        ("guardrails", "check", "{}#m", "--json"),
        ("guardrails", "check", "{}"),
        ("guardrails", "check", "other"),
        ("guardrails",),
        ("guardrails", "--json"),
        ("doctor", "--guardrail", "{}#m"),
        (*EVAL, "--guardrail", "{}#m", "--format", "json", "--record"),
        (*EVAL, "--guardrail", "{}#m", "--format", "md"),
        (*EVAL, "--guardrail", "{}#m", "--set", "model=ftp://host?key=hunter2#m"),
        ("history", "list", "topic.yaml", "--format", "json"),
    ],
)
def test_a_key_in_the_url_of_a_judge_is_not_printed(
    run: Run, folder: Path, home: dict[str, str], words: tuple[str, ...]
) -> None:
    with serving(Judge()) as server:
        address = f"judge:{server.url}?key=hunter2"
        done = run(*(word.format(address) for word in words), **home)
    assert "hunter2" not in done.out + done.err
